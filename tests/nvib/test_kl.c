/* For whole texts, the exact regularizer is the order-1 divergence of the privacy reports: of a
 * text's sample from that of an empty text with as many components. */
#include "fixture.h"

enum { WIDTH = 8, HEADS = 2, INNER = 16, TEXTS = 3 };
static const int32_t lengths[TEXTS] = {3, 1, 5};

/* Returns the fixture's posteriors and one empty text for each: no tokens, only padding. Under
 * public lengths an empty text has as many tokens, all like the prior's conditional, (a_p +
 * delta n)/(n + 1). */
static struct nvdp_posteriors *with_empty_texts(const struct fixture *f) {
    const struct nvdp__nvib_config *config = &f->nvib->gauss.config;
    struct nvdp_posteriors *all = NULL;
    bool open = config->length_policy == NVDP_LENGTH_PUBLIC;
    size_t tokens = f->batch.tokens, rows = open ? 2 * tokens : tokens;
    ok(nvdp_posteriors_create(f->ctx, 2 * TEXTS, rows, f->nvib->gauss.dim, true, &all));
    all->prior_alpha = config->prior_alpha;
    all->pad_alpha = nvdp__make_form(config, (struct nvdp__form){.weights = true}).pad_alpha;
    all->kappa = config->kappa;
    all->policy = config->length_policy;
    all->length = config->length;
    for (size_t i = 0; i < 2 * TEXTS; i++) {
        size_t n = i < TEXTS || open ? (size_t)lengths[i % TEXTS] : 0;
        all->offset[i + 1] = all->offset[i] + n;
        for (size_t r = all->offset[i]; i >= TEXTS && r < all->offset[i + 1]; r++)
            all->alpha[r] = (config->prior_alpha + config->delta * (double)n) / ((double)n + 1);
    }
    ok(nvdp__posterior_store(f->ctx, nvdp__mechanism_nvdp.view(f->nvib).posterior, 0, all));
    return support_keep(all);
}

static void check(const struct nvdp__nvib_config *config, uint64_t seed) {
    struct fixture *f = fixture_create(config, WIDTH, HEADS, INNER, TEXTS, lengths, seed);
    double loss_g[TEXTS], loss_d[TEXTS];
    struct nvdp__draw draw = fixture_draw(seed, 0);
    fixture_pooled(f, &draw);
    fixture_losses(f, loss_g, loss_d);
    struct nvdp_posteriors *all = with_empty_texts(f);
    for (size_t i = 0; i < TEXTS; i++) {
        double loss = loss_g[i] + loss_d[i];
        double at_one = nvdp_renyi_texts(1, all, i, TEXTS + i);
        cr_expect_gt(loss, 0.1);
        /* both in double from the same numbers */
        agrees(loss, at_one, 1e-9, "text %zu: %.12g, %.12g", i, loss, at_one);
        /* Extrapolated from above to order 1 as a straight line: wrong by h^2 times a few tens,
         * and by roundings of 1e-14 over h. */
        const double h = 1e-5;
        double limit = 2 * nvdp_renyi_texts(1 + h, all, i, TEXTS + i) -
                       nvdp_renyi_texts(1 + 2 * h, all, i, TEXTS + i);
        cr_expect_lt(support_relative(loss, limit, 1), 1e-7, "text %zu: %.12g, %.12g", i, loss,
                     limit);
    }
}

static struct nvdp__nvib_config kl_config(enum nvdp_length_policy policy, int kappa) {
    struct nvdp__nvib_config config = fixture_config(7);
    config.regularizer = NVDP__REGULARIZER_KL;
    config.latent_dim = 4;
    config.prior_alpha = 1.25;
    config.delta = 0.5;
    config.kappa = kappa;
    config.length_policy = policy;
    return config;
}

Test(kl, is_the_divergence_from_an_empty_text) {
    for (int kappa = 1; kappa <= 3; kappa++)
        for (int policy = 0; policy < 2; policy++) {
            struct nvdp__nvib_config config =
                kl_config(policy == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC, kappa);
            check(&config, 10 + (uint64_t)(2 * kappa + policy));
        }
}

Test(kl, is_that_of_the_clipped_posterior) {
    for (int kappa = 1; kappa <= 2; kappa++) {
        struct nvdp__nvib_config config = kl_config(NVDP_LENGTH_HIDDEN, kappa);
        config.clip = fixture_clip(1, -0.4, 0.3, 0.7, 1.8);
        check(&config, 20 + (uint64_t)kappa);
    }
}
