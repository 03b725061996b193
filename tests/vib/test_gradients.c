/* Every gradient of the mechanisms against central differences of a plain version in double
 * (reference.c), for all kinds, pools, length policies, regularisers, a narrow latent space,
 * clipping.
 *
 * Tolerances: the reference's differences with step 1e-5 are good to some 1e-9; what is left is
 * float32 in the library: forward 1e-5, gradients 1e-4 relative to each tensor's norm (floor 0.1:
 * a key's bias has gradient 0). */
#include "reference.h"
#include "support.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run {
    struct house house;
    struct reference ref;
    double *theta, x[TOKENS * WIDTH];
    float eps[REFERENCE_ROWS * WIDTH], d_pooled[TEXTS * WIDTH];
};

static void start(struct run *run, const struct kind *kind, const struct nvdp_nvib_config *config,
                  uint64_t seed) {
    struct house *house = &run->house;
    house_build(house, kind, config, seed);
    size_t p = house->vib->dim;
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 1, 0);
    nvdp__stream_normals(&stream, REFERENCE_ROWS * WIDTH, run->eps);
    nvdp__stream_normals(&stream, TEXTS * WIDTH, run->d_pooled);
    run->theta = calloc(house->params.total, sizeof *run->theta);
    for (size_t i = 0; i < house->params.total; i++) {
        run->theta[i] = house->params.value[i];
    }
    for (size_t i = 0; i < TOKENS * WIDTH; i++) {
        run->x[i] = house->hidden[i];
    }
    run->ref = (struct reference){.house = house, .eps = run->eps, .weight = 0.7};
    for (size_t i = 0; i < TEXTS * p; i++) {
        run->ref.proj[i] = run->d_pooled[i];
    }
}

static double difference(struct run *run, double *place) {
    const double step = 1e-5;
    double here = *place;
    *place = here + step;
    double up = reference_loss(&run->ref, run->theta, run->x);
    *place = here - step;
    double down = reference_loss(&run->ref, run->theta, run->x);
    *place = here;
    return (up - down) / (2 * step);
}

static void compare(struct run *run, const char *name, size_t n, const float *got, double *place) {
    double *want = calloc(n, sizeof *want);
    double norm = 0;
    for (size_t i = 0; i < n; i++) {
        want[i] = difference(run, place + i);
        norm += want[i] * want[i];
    }
    double error = support_norm_error(n, got, want) * (norm > 0 ? fmin(1, sqrt(norm) / 0.1) : 10);
    cr_expect_lt(error, 1e-4, "%s, %s: relative error %g of a gradient of norm %g",
                 run->house.mechanism->name, name, error, sqrt(norm));
    free(want);
}

static void check_forward(struct run *run, const float *pooled) {
    struct house *house = &run->house;
    double loss_g[TEXTS], loss_d[TEXTS];
    reference_loss(&run->ref, run->theta, run->x);
    cr_expect_lt(support_norm_error(TEXTS * house->vib->dim, pooled, run->ref.pooled), 1e-5);
    house->mechanism->losses(house->vib, &house->dev, loss_g, loss_d);
    for (size_t b = 0; b < TEXTS; b++) {
        cr_expect_lt(support_relative(loss_g[b], run->ref.loss_g[b], 1e-2), 1e-5);
        cr_expect_eq(loss_d[b], 0);
    }
}

static void check(const struct kind *kind, const struct nvdp_nvib_config *config, uint64_t seed) {
    struct run *run = calloc(1, sizeof *run);
    start(run, kind, config, seed);
    struct house *house = &run->house;
    const struct nvdp__draw draw = {.eps = run->eps};
    check_forward(run, house_forward(house, &draw));
    memset(house->params.grad, 0, house->params.total * sizeof *house->params.grad);
    house->mechanism->backward(house->vib, &house->dev, &house->params, &house->batch,
                               house->hidden, run->ref.weight, 1, run->d_pooled, house->d_hidden);
    for (size_t i = 0; i < house->params.count; i++) {
        const struct nvdp__param *entry = &house->params.entry[i];
        if (strncmp(entry->name, "bert.", 5) == 0) continue; /* the encoder below */
        compare(run, entry->name, entry->count, nvdp__grad(&house->params, i),
                run->theta + entry->offset);
    }
    compare(run, "hidden states", TOKENS * WIDTH, house->d_hidden, run->x);
    house_free(house);
    free(run->theta);
    free(run);
}

Test(gradients, pools_policies_regularizers) {
    for (size_t k = 0; k < KINDS; k++) {
        for (int choice = 0; choice < 8; choice++) {
            struct nvdp_nvib_config config = house_config(&kinds[k]);
            config.pool = choice % 2 == 0 ? NVDP_POOL_FIRST : NVDP_POOL_MEAN;
            config.length_policy = choice / 2 % 2 == 0 ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
            config.regularizer = choice / 4 == 0 ? NVDP_REGULARIZER_PUBLISHED : NVDP_REGULARIZER_KL;
            check(&kinds[k], &config, 1 + k);
        }
    }
}

Test(gradients, narrow_latent) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp_nvib_config config = house_config(&kinds[k]);
        config.latent_dim = 3;
        check(&kinds[k], &config, 20 + k);
    }
}

/* Bounds that some of the random posteriors pass and some do not. */
Test(gradients, clipping) {
    for (uint64_t seed = 40; seed < 44; seed++) {
        for (size_t k = 0; k < KINDS; k++) {
            struct nvdp_nvib_config config = house_config(&kinds[k]);
            config.clip.mu_radius = 2;
            config.clip.logvar_min = -1.2;
            config.clip.logvar_max = -0.4;
            config.regularizer = seed % 2 == 0 ? NVDP_REGULARIZER_KL : NVDP_REGULARIZER_PUBLISHED;
            check(&kinds[k], &config, seed);
        }
    }
}
