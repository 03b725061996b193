/* Samples and their streams. */
#include "fixture.h"

enum { WIDTH = 20, HEADS = 2, INNER = 24, LENGTH = 7 };

/* A text draws the same numbers alone and at any place in a batch. Constant projections make
 * pseudo-counts and standard deviations the same in both, because matrix products of other
 * shapes may round otherwise. */
Test(sample, batch_layout_does_not_matter) {
    static const int32_t lengths[3] = {5, 2, 7};
    for (int kappa = 1; kappa <= 2; kappa++) {
        struct nvdp__nvib_config config = fixture_config(LENGTH);
        config.kappa = kappa;
        struct fixture *f = fixture_create(&config, WIDTH, HEADS, INNER, 3, lengths, 4);
        memset(f->hidden, 0, f->batch.tokens * WIDTH * sizeof *f->hidden);
        struct nvdp__draw draw = fixture_draw(8, 2);
        fixture_pooled(f, &draw);
        struct nvdp__sample sample = fixture_sample(f);
        size_t rows = (LENGTH + 1) * (size_t)kappa;
        nvdp__autofree float *z = malloc(rows * WIDTH * sizeof *z),
                             *log_pi = malloc(rows * sizeof *log_pi);
        memcpy(z, sample.z + 2 * rows * WIDTH, rows * WIDTH * sizeof *z);
        memcpy(log_pi, sample.log_pi + 2 * rows, rows * sizeof *log_pi);
        /* The last text, alone. */
        static const int32_t alone[2] = {0, 7};
        f->batch.texts = 1;
        f->batch.tokens = 7;
        f->batch.offset = (int32_t *)alone;
        f->batch.key = f->key + 2;
        fixture_pooled(f, &draw);
        sample = fixture_sample(f);
        cr_expect_arr_eq(z, sample.z, rows * WIDTH * sizeof *z);
        cr_expect_arr_eq(log_pi, sample.log_pi, rows * sizeof *log_pi);
    }
}

static float first_number(struct fixture *f, const struct nvdp__draw *draw, bool weight) {
    fixture_pooled(f, draw);
    struct nvdp__sample sample = fixture_sample(f);
    return weight ? sample.log_pi[1] : sample.z[0];
}

/* Another seed, purpose, epoch or text gives other numbers. */
Test(sample, streams_are_apart) {
    static const int32_t lengths[2] = {3, 3};
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    struct fixture *f = fixture_create(&config, WIDTH, HEADS, INNER, 2, lengths, 4);
    for (int weight = 0; weight < 2; weight++) {
        struct nvdp__draw draw = fixture_draw(8, 2);
        float base = first_number(f, &draw, weight);
        cr_expect_eq(base, first_number(f, &draw, weight));
        struct nvdp__draw other = draw;
        other.epoch++;
        cr_expect_neq(base, first_number(f, &other, weight));
        other = draw;
        other.noise.seed++;
        cr_expect_neq(base, first_number(f, &other, weight));
        other = draw;
        other.gauss = NVDP__PURPOSE_EVAL_GAUSS;
        other.gamma = NVDP__PURPOSE_EVAL_GAMMA;
        cr_expect_neq(base, first_number(f, &other, weight));
        f->key[0]++;
        cr_expect_neq(base, first_number(f, &draw, weight));
        f->key[0]--;
    }
}

/* The posterior written is the clipped one, from which the sample was drawn. */
Test(sample, posterior) {
    static const int32_t lengths[2] = {3, 2};
    struct nvdp__nvib_config config = fixture_config(LENGTH);
    config.latent_dim = 8;
    config.clip = fixture_clip(1, -0.3, 0.2, 0.9, 1.5);
    struct fixture *f = fixture_create(&config, WIDTH, HEADS, INNER, 2, lengths, 4);
    struct nvdp__draw draw = fixture_draw(8, 2);
    first_number(f, &draw, false);
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *out = NULL;
    ok(nvdp_posteriors_create(f->ctx, 3, 6, 8, true, &out));
    out->offset[1] = 1;
    out->offset[2] = 4;
    out->offset[3] = 6;
    ok(nvdp__posterior_store(f->ctx, nvdp__mechanism_nvdp.view(f->nvib).posterior, 1, out));
    int clipped = 0;
    for (size_t t = 1; t < 6; t++) {
        double norm = 0;
        for (size_t i = 0; i < 8; i++) {
            norm += out->mu[t * 8 + i] * out->mu[t * 8 + i];
            cr_expect(out->logvar[t * 8 + i] >= -0.3 && out->logvar[t * 8 + i] <= 0.2);
        }
        cr_expect(norm <= 1, "%.17g", norm);
        if (norm > 0.999) clipped++;
        cr_expect(out->alpha[t] >= 0.9 && out->alpha[t] <= 1.5);
    }
    cr_expect_gt(clipped, 0);
    cr_expect_eq(out->alpha[0], 0, "row 0 belongs to another batch");
    cr_expect_eq(
        nvdp__posterior_store(f->ctx, nvdp__mechanism_nvdp.view(f->nvib).posterior, 2, out),
        NVDP_ERR_ARGUMENT);
}
