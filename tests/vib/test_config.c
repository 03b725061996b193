/* Settings that a mechanism without weights reads from its configuration, and those it refuses. */
#include "fixture.h"

#include "test_context.h"

static nvdp_status resolve(size_t k, struct nvdp__nvib_config *config) {
    struct nvdp_bert_config bert = nvdp__bert_config_default();
    bert.hidden_size = 16;
    bert.num_attention_heads = 4;
    return kinds[k].mechanism->resolve(kinds[k].mechanism, ctx, &bert, config);
}

Test(config, defaults_are_resolved) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        config.kappa = 3; /* settings of nvdp only are ignored: a grid may hold all methods */
        config.query = NVDP__QUERY_CLEAN;
        config.clip.alpha_max = 1;
        ok(resolve(k, &config));
        cr_expect_eq(config.latent_dim, 16);
        cr_expect_eq(config.pool, k == 2 ? NVDP_POOL_MEAN : NVDP_POOL_FIRST);
        cr_expect_eq(config.kappa, 1);
        cr_expect_eq(config.query, NVDP__QUERY_SAMPLED);
        cr_expect(isinf(config.clip.alpha_max));
        near(config.vib.sigma, 0.55, 1e-15);
        struct nvdp__nvib_config again = config;
        ok(resolve(k, &again));
        cr_expect_eq(memcmp(&again, &config, sizeof config), 0);
    }
}

static void refused(size_t k, const struct nvdp__nvib_config *config, const char *words) {
    struct nvdp__nvib_config changed = *config;
    fails(resolve(k, &changed), NVDP_ERR_ARGUMENT, words);
    cr_expect_eq(memcmp(&changed, config, sizeof changed), 0, "untouched on error");
}

Test(config, what_makes_no_sense_is_refused_by_name) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        config.pool = NVDP_POOL_WEIGHTED;
        refused(k, &config, "has no weights: expected auto, first or mean");
        config = fixture_config(&kinds[k]);
        config.latent_dim = 17;
        refused(k, &config, "--latent-dim");
        config = fixture_config(&kinds[k]);
        config.vib.sigma = 0;
        refused(k, &config, "--vib-sigma: expected 1e-09 to 1e+06, found 0");
        config = fixture_config(&kinds[k]);
        config.vib.vtdp_pool = (enum nvdp__vtdp_pool)2;
        refused(k, &config, "vtdp_pool: expected a choice from 0 to 1, found 2");
    }
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_sequence(&kinds[k], 1);
        config.clip.mu_radius = 3;
        refused(k, &config, "option --clip-mu: expected inf (no clip) with --clip-sequence 3");
        config = fixture_sequence(&kinds[k], 1);
        config.clip.logvar_max = 0;
        refused(k, &config,
                "option --clip-logvar-max: expected inf (no clip) with --clip-sequence 3");
        config = fixture_sequence(&kinds[k], 1);
        config.stdev_tau = 0.1;
        refused(k, &config, "option --stdev-tau: expected 1 with --clip-sequence 3");
        config = fixture_sequence(&kinds[k], 1);
        config.length_policy = NVDP_LENGTH_PUBLIC;
        refused(k, &config, "option --length-policy: expected hidden with --clip-sequence 3");
        config = fixture_sequence(&kinds[k], 1);
        config.clip.sequence = 0;
        refused(k, &config, "--clip-sequence: expected at least 1e-06, found 0");
    }
    struct nvdp__nvib_config config = fixture_sequence(&kinds[0], 1);
    config.vib.sigma = 0.55;
    refused(0, &config, "--vib-sigma: expected 1 with --clip-sequence 3");
    config = fixture_config(&kinds[0]);
    config.clip.logvar_min = -1; /* 2 log .55 = -1.196 */
    refused(0, &config, "--vib-sigma: expected a log variance in the clip range [-1, inf]");
}
