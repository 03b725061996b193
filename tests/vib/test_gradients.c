/* Compares every gradient of the mechanisms with central differences of a plain version in
 * double (reference.c), for all kinds, pools, length policies, regularizers, a narrow latent
 * space and clipping.
 *
 * Tolerances: the reference's differences with step 1e-5 are accurate to about 1e-9, so the
 * library's float32 dominates: forward 1e-5, gradients 1e-4 relative to each tensor's norm
 * (floor 0.1: a key's bias has gradient 0). */
#include "gradient.h"
#include "reference.h"

struct run {
    struct fixture *fixture;
    struct reference ref;
    double *theta, x[TOKENS * WIDTH];
    float eps[REFERENCE_ROWS * WIDTH], d_pooled[TEXTS * WIDTH];
};

static void start(struct run *run, const struct kind *kind, const struct nvdp__nvib_config *config,
                  uint64_t seed) {
    struct fixture *fixture = run->fixture = fixture_build(kind, config, seed);
    size_t p = fixture->vib->gauss.dim;
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 1, 0);
    nvdp__stream_normals(&stream, REFERENCE_ROWS * WIDTH, run->eps);
    nvdp__stream_normals(&stream, TEXTS * WIDTH, run->d_pooled);
    run->theta = support_keep(calloc(fixture->params.total, sizeof *run->theta));
    for (size_t i = 0; i < fixture->params.total; i++)
        run->theta[i] = fixture->params.value[i];
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
        run->x[i] = fixture->hidden[i];
    run->ref = (struct reference){.fixture = fixture, .eps = run->eps, .weight = 0.7};
    for (size_t i = 0; i < TEXTS * p; i++)
        run->ref.proj[i] = run->d_pooled[i];
}

static double loss_of(void *user) {
    struct run *run = user;
    return reference_loss(&run->ref, run->theta, run->x);
}

static void check(const struct kind *kind, const struct nvdp__nvib_config *config, uint64_t seed) {
    nvdp__autofree struct run *run = calloc(1, sizeof *run);
    start(run, kind, config, seed);
    struct fixture *fixture = run->fixture;
    const struct nvdp__draw draw = {.eps = run->eps};
    const float *pooled = fixture_forward(fixture, &draw);
    reference_loss(&run->ref, run->theta, run->x);
    cr_expect_lt(support_norm_error(TEXTS * fixture->vib->gauss.dim, pooled, run->ref.pooled),
                 1e-5);
    double loss_g[TEXTS], loss_d[TEXTS];
    const struct nvdp__penalty penalty = {run->ref.weight, 1, loss_g, loss_d};
    memset(fixture->params.grad, 0, fixture->params.total * sizeof *fixture->params.grad);
    fixture_backward(fixture, &penalty, run->d_pooled);
    for (size_t b = 0; b < TEXTS; b++) {
        cr_expect_lt(support_relative(loss_g[b], run->ref.loss_g[b], 1e-2), 1e-5);
        cr_expect_eq(loss_d[b], 0);
    }
    for (size_t i = 0; i < fixture->params.count; i++) {
        const struct nvdp__param *entry = &fixture->params.entry[i];
        if (strncmp(entry->name, "bert.", 5) == 0) continue; /* a tensor of the encoder below */
        const char *name = support_path("%s, %s", fixture->mechanism->name, entry->name);
        support_expect_gradient(name, loss_of, run, entry->count, nvdp__grad(&fixture->params, i),
                                run->theta + entry->offset, 1e-4);
    }
    support_expect_gradient("hidden states", loss_of, run, TOKENS * WIDTH, fixture->d_hidden,
                            run->x, 1e-4);
}

Test(gradients, pools_policies_regularizers) {
    for (size_t k = 0; k < KINDS; k++) {
        for (int choice = 0; choice < 8; choice++) {
            struct nvdp__nvib_config config = fixture_config(&kinds[k]);
            config.pool = choice % 2 == 0 ? NVDP_POOL_FIRST : NVDP_POOL_MEAN;
            config.length_policy = choice / 2 % 2 == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
            config.regularizer =
                choice / 4 == 0 ? NVDP__REGULARIZER_PUBLISHED : NVDP__REGULARIZER_KL;
            check(&kinds[k], &config, 1 + k);
        }
    }
}

Test(gradients, narrow_latent) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        config.latent_dim = 3;
        check(&kinds[k], &config, 20 + k);
    }
}

/* Some of the random posteriors exceed the bounds and some do not. */
Test(gradients, clipping) {
    for (uint64_t seed = 40; seed < 44; seed++) {
        for (size_t k = 0; k < KINDS; k++) {
            struct nvdp__nvib_config config = fixture_config(&kinds[k]);
            config.clip.mu_radius = 2;
            config.clip.logvar_min = -1.2;
            config.clip.logvar_max = -0.4;
            config.regularizer = seed % 2 == 0 ? NVDP__REGULARIZER_KL : NVDP__REGULARIZER_PUBLISHED;
            check(&kinds[k], &config, seed);
        }
    }
}

/* Uses a radius that every text exceeds, one that some exceed and one that none does, with
 * padding after the tokens, and also gains of rows. */
Test(gradients, sequence_clip) {
    for (int choice = 0; choice < 6; choice++) {
        for (size_t k = 0; k < KINDS; k++) {
            struct nvdp__nvib_config config = fixture_sequence(&kinds[k], choice / 2);
            config.pool = choice % 2 == 0 ? NVDP_POOL_FIRST : NVDP_POOL_MEAN;
            config.regularizer = NVDP__REGULARIZER_KL;
            if (choice >= 3) config.row_index = NVDP__ROW_INDEX_TRAINED;
            check(&kinds[k], &config, 50 + k);
        }
    }
}
