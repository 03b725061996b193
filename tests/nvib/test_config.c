/* The mechanism's configuration: defaults, derived values, refusals. */
#include "encoder/checkpoint.h"
#include "fixture.h"

#include "test_context.h"

static struct nvdp__nvib_config valid(void) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    config.length = 16;
    return config;
}

Test(config, default_is_the_published_run) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    cr_expect_eq(config.mu_tau, 1);
    cr_expect_eq(config.stdev_tau, 0.1);
    cr_expect_eq(config.alpha_tau, -10);
    cr_expect_eq(config.prior_alpha, 1);
    cr_expect_eq(config.delta, 0);
    cr_expect_eq(config.kappa, 1);
    cr_expect_eq(config.length_policy, NVDP_LENGTH_HIDDEN);
    cr_expect_eq(config.query, NVDP__QUERY_SAMPLED);
}

static void refuse(struct nvdp__nvib_config config, const char *field) {
    fails(nvdp__nvib_config_check(ctx, &config, NVDP__LEAST_DIM, 32, 4), NVDP_ERR_ARGUMENT, field);
}

#define REFUSE_AS(key, field, bad)                                                                 \
    do {                                                                                           \
        struct nvdp__nvib_config refused = valid();                                                \
        refused.field = bad;                                                                       \
        refuse(refused, key);                                                                      \
    } while (0)
#define REFUSE(field, bad) REFUSE_AS(#field, field, bad)

Test(config, refuses_by_name) {
    REFUSE_AS("--latent-dim", latent_dim, 33);
    REFUSE_AS("--latent-dim", latent_dim, 1);
    REFUSE_AS("--latent-heads", latent_heads, 3);
    REFUSE_AS("--mu-tau", mu_tau, NAN);
    REFUSE_AS("--stdev-tau", stdev_tau, 0);
    REFUSE_AS("--alpha-tau", alpha_tau, INFINITY);
    REFUSE_AS("--prior-alpha", prior_alpha, 0);
    REFUSE(delta, -0.1);
    REFUSE(kappa, 0);
    REFUSE(length, 0);
    REFUSE(length_policy, (enum nvdp_length_policy)7);
    REFUSE(pool, (enum nvdp_pool)9);
    REFUSE(query, (enum nvdp__query)9);
    REFUSE(regularizer, (enum nvdp__regularizer)9);
    REFUSE_AS("--clip-mu", clip.mu_radius, 0);
    REFUSE_AS("--clip-logvar-min", clip.logvar_min, NAN);
    REFUSE_AS("--clip-logvar-max", clip.logvar_max, -INFINITY);
    REFUSE_AS("--clip-alpha-min", clip.alpha_min, -1);
    REFUSE_AS("--clip-alpha-max", clip.alpha_max, NAN);
    REFUSE_AS("clip_gradient", clip.gradient, (enum nvdp__clip_gradient)2);
    struct nvdp__nvib_config crossed = valid();
    crossed.clip.logvar_min = 1;
    crossed.clip.logvar_max = 0;
    refuse(crossed, "--clip-logvar-min");
    crossed = valid();
    crossed.clip.alpha_min = 3;
    crossed.clip.alpha_max = 2;
    refuse(crossed, "--clip-alpha-min");
}

Test(config, public_needs_no_length) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    config.length_policy = NVDP_LENGTH_PUBLIC;
    ok(nvdp__nvib_config_check(ctx, &config, NVDP__LEAST_DIM, 32, 4));
}

Test(config, resolve) {
    struct nvdp__nvib_config config = valid();
    ok(nvdp__nvib_config_resolve(ctx, &config, 32, 4));
    cr_expect_eq(config.latent_dim, 32);
    cr_expect_eq(config.latent_heads, 4);
    cr_expect_eq(config.pool, NVDP_POOL_FIRST);
    config = valid();
    config.latent_dim = 15;
    ok(nvdp__nvib_config_resolve(ctx, &config, 32, 4));
    cr_expect_eq(config.latent_heads, 3, "the largest divisor of 15 up to 4");
    cr_expect_eq(config.pool, NVDP_POOL_WEIGHTED);
    config = valid();
    config.length_policy = NVDP_LENGTH_PUBLIC;
    ok(nvdp__nvib_config_resolve(ctx, &config, 32, 4));
    cr_expect_eq(config.pool, NVDP_POOL_MEAN);
    config.pool = NVDP_POOL_WEIGHTED;
    ok(nvdp__nvib_config_resolve(ctx, &config, 32, 4));
    cr_expect_eq(config.pool, NVDP_POOL_WEIGHTED, "a choice stays");
    config.latent_dim = 7;
    config.latent_heads = 2;
    struct nvdp__nvib_config before = config;
    cr_expect_eq(nvdp__nvib_config_resolve(ctx, &config, 32, 4), NVDP_ERR_ARGUMENT);
    cr_expect_arr_eq(&before, &config, sizeof config, "untouched on error");
}

/* The padding's pseudo-count is A_p/K, K = L+1: 1/(L+1) for delta 0, 1 for delta 1. */
Test(config, pad_alpha) {
    struct nvdp__nvib_config config = valid();
    cr_expect_eq(nvdp__make_form(&config, (struct nvdp__form){.weights = true}).pad_alpha, 1. / 17);
    config.delta = 1;
    cr_expect_eq(nvdp__make_form(&config, (struct nvdp__form){.weights = true}).pad_alpha, 1);
}

/* Rounded to float, bounds may only become tighter. */
Test(config, clip_bounds_round_inwards) {
    struct nvdp__clip_config config = {.sequence = INFINITY,
                                       .mu_radius = 3.1,
                                       .logvar_min = log(0.1 / 1.1),
                                       .logvar_max = 0.3,
                                       .alpha_min = 1e-3,
                                       .alpha_max = 1.1};
    struct nvdp__clip clip = nvdp__clip_set(&config);
    cr_expect((double)clip.radius <= 3.1 && clip.radius > 3.0999f);
    cr_expect((double)clip.logvar_min >= config.logvar_min);
    cr_expect((double)clip.logvar_max <= 0.3);
    cr_expect(exp((double)clip.log_alpha_min) >= 1e-3);
    cr_expect(exp((double)clip.log_alpha_max) <= 1.1 && exp((double)clip.log_alpha_max) > 1.0999);
}

static void refused_by_nvdp(const struct nvdp__nvib_config *config, const char *words) {
    struct nvdp_bert_config bert = nvdp__bert_config_default();
    struct nvdp__nvib_config changed = *config;
    fails(nvdp__mechanism_nvdp.resolve(&nvdp__mechanism_nvdp, ctx, &bert, &changed),
          NVDP_ERR_ARGUMENT, words);
}

#define REFUSED_BY_NVDP(words, change)                                                             \
    do {                                                                                           \
        struct nvdp__nvib_config config = fixture_sequence(8, 3);                                  \
        change;                                                                                    \
        refused_by_nvdp(&config, words);                                                           \
    } while (0)

/* Configurations for which the bound of a sequence clip would not hold are refused. */
Test(config, what_contradicts_a_sequence_clip_is_refused) {
    REFUSED_BY_NVDP("--weights: with --clip-sequence 3 expected constant, or learned with",
                    config.weights = NVDP__WEIGHTS_LEARNED);
    REFUSED_BY_NVDP("--weights: with --clip-sequence 3 expected constant",
                    config.weights = NVDP__WEIGHTS_LEARNED;
                    config.clip.alpha_max = 2);
    REFUSED_BY_NVDP("clip_alpha_min: expected no value with weights constant",
                    config.clip.alpha_min = 0.5);
    REFUSED_BY_NVDP("pool: expected auto, first or mean with weights constant",
                    config.pool = NVDP_POOL_WEIGHTED);
    REFUSED_BY_NVDP("kappa: expected 1", config.kappa = 2);
    REFUSED_BY_NVDP("option --query: expected sampled with --clip-sequence 3",
                    config.query = NVDP__QUERY_CLEAN);
    REFUSED_BY_NVDP("option --clip-mu: expected inf (no clip) with --clip-sequence 3",
                    config.clip.mu_radius = 3);
    REFUSED_BY_NVDP("option --length-policy: expected hidden with --clip-sequence 3",
                    config.length_policy = NVDP_LENGTH_PUBLIC);
    REFUSED_BY_NVDP("--row-index: expected none with --length-policy public",
                    config.length_policy = NVDP_LENGTH_PUBLIC;
                    config.row_index = NVDP__ROW_INDEX_TRAINED);
}
