/* Vectors of a sample, and their gradient. */
#include "nvib/nvib.h"
#include "support.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 2, DIM = 11, TOKENS = 3, ROWS = 12 };
static const int32_t offset[TEXTS + 1] = {0, 6, 12};
static const int32_t src[ROWS] = {-1, -1, 0, 0, 1, 1, -1, -1, 2, 2, -1, -1};
static const uint64_t key[TEXTS] = {5, 6};

static void fill(size_t n, double scale, double phase, float *x) {
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(scale * sin(1.7 * (double)i + phase));
    }
}

static struct nvdp__device device(int threads) {
    return (struct nvdp__device){.threads = threads};
}

static void draw(int threads, const float *mu, const float *logvar, const float *eps, float *z) {
    struct nvdp__device dev = device(threads);
    struct nvdp__noise noise = {.seed = 4};
    nvdp__gauss_sample(&dev, &noise, NVDP__PURPOSE_GAUSS, 3, TEXTS, offset, key, DIM, src, mu,
                       logvar, eps, z);
}

Test(gauss, given_noise) {
    float mu[TOKENS * DIM], logvar[TOKENS * DIM], eps[ROWS * DIM], z[ROWS * DIM];
    fill(TOKENS * DIM, 2, 0, mu);
    fill(TOKENS * DIM, 3, 1, logvar);
    fill(ROWS * DIM, 2, 2, eps);
    draw(2, mu, logvar, eps, z);
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < DIM; i++) {
            double want = eps[r * DIM + i];
            if (src[r] >= 0) {
                size_t at = (size_t)src[r] * DIM + i;
                want = mu[at] + exp(logvar[at] / 2.0) * want;
            }
            cr_expect_float_eq(z[r * DIM + i], want, 2e-6); /* float32 at |z| <= 10 */
        }
    }
}

Test(gauss, streams) {
    float mu[TOKENS * DIM], logvar[TOKENS * DIM], one[ROWS * DIM], two[ROWS * DIM];
    fill(TOKENS * DIM, 2, 0, mu);
    fill(TOKENS * DIM, 3, 1, logvar);
    draw(1, mu, logvar, NULL, one);
    draw(2, mu, logvar, NULL, two);
    cr_expect_eq(memcmp(one, two, sizeof one), 0);
    const int32_t alone[2] = {0, 6};
    struct nvdp__device dev = device(1);
    struct nvdp__noise noise = {.seed = 4};
    nvdp__gauss_sample(&dev, &noise, NVDP__PURPOSE_GAUSS, 3, 1, alone, key + 1, DIM, src + 6, mu,
                       logvar, NULL, two);
    cr_expect_eq(memcmp(one + 6 * DIM, two, 6 * DIM * sizeof *one), 0);
    for (size_t r = 1; r < ROWS; r++) { /* no row repeats another's noise */
        cr_expect_neq(memcmp(one, one + r * DIM, DIM * sizeof *one), 0);
    }
}

/* 40000 prior rows' numbers: mean and variance within 5 standard errors, 6e-7 each. */
Test(gauss, standard_normal_where_there_is_no_token) {
    enum { WIDE = 40000 };
    static float z[WIDE];
    const int32_t one[2] = {0, 1}, none[1] = {-1};
    struct nvdp__device dev = device(1);
    struct nvdp__noise noise = {.seed = 4};
    nvdp__gauss_sample(&dev, &noise, NVDP__PURPOSE_GAUSS, 0, 1, one, key, WIDE, none, NULL, NULL,
                       NULL, z);
    double mean = 0, square = 0;
    for (size_t i = 0; i < WIDE; i++) {
        mean += z[i] / (double)WIDE;
        square += z[i] * (double)z[i] / WIDE;
    }
    cr_expect_lt(fabs(mean), 5 / sqrt(WIDE));
    cr_expect_lt(fabs(square - 1), 5 * sqrt(2.0 / WIDE));
}

/* dmu = sum of the token's dz; dlogvar = sum of dz exp(logvar/2) eps / 2: added to what is there.
 */
Test(gauss, gradient) {
    float mu[TOKENS * DIM], logvar[TOKENS * DIM], eps[ROWS * DIM], z[ROWS * DIM], dz[ROWS * DIM];
    float dmu[TOKENS * DIM], dlogvar[TOKENS * DIM];
    double want_mu[TOKENS * DIM], want_logvar[TOKENS * DIM];
    fill(TOKENS * DIM, 2, 0, mu);
    fill(TOKENS * DIM, 1, 1, logvar);
    fill(ROWS * DIM, 2, 2, eps);
    fill(ROWS * DIM, 1, 3, dz);
    draw(1, mu, logvar, eps, z);
    for (size_t i = 0; i < TOKENS * DIM; i++) {
        dmu[i] = dlogvar[i] = 0.5f;
        want_mu[i] = want_logvar[i] = 0.5;
    }
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; src[r] >= 0 && i < DIM; i++) {
            size_t at = (size_t)src[r] * DIM + i;
            want_mu[at] += dz[r * DIM + i];
            want_logvar[at] += 0.5 * dz[r * DIM + i] * exp(logvar[at] / 2.0) * eps[r * DIM + i];
        }
    }
    struct nvdp__device dev = device(2);
    nvdp__gauss_sample_backward(&dev, ROWS, DIM, src, mu, z, dz, dmu, dlogvar);
    cr_expect_lt(support_norm_error(TOKENS * DIM, dmu, want_mu), 1e-6);
    cr_expect_lt(support_norm_error(TOKENS * DIM, dlogvar, want_logvar), 1e-6);
}

/* Rows wide enough for threads to be worth it. */
Test(gauss, threads) {
    enum { WIDE = 3001 };
    static float mu[TOKENS * WIDE], logvar[TOKENS * WIDE], z[2][ROWS * WIDE];
    static float dmu[2][TOKENS * WIDE], dlogvar[2][TOKENS * WIDE];
    fill(TOKENS * WIDE, 2, 0, mu);
    fill(TOKENS * WIDE, 1, 1, logvar);
    for (int k = 0; k < 2; k++) {
        struct nvdp__device dev = device(1 + 2 * k);
        struct nvdp__noise noise = {.seed = 4};
        nvdp__gauss_sample(&dev, &noise, NVDP__PURPOSE_GAUSS, 3, TEXTS, offset, key, WIDE, src, mu,
                           logvar, NULL, z[k]);
        nvdp__gauss_sample_backward(&dev, ROWS, WIDE, src, mu, z[k], z[k], dmu[k], dlogvar[k]);
    }
    cr_expect_eq(memcmp(z[0], z[1], sizeof z[0]), 0);
    cr_expect_eq(memcmp(dmu[0], dmu[1], sizeof dmu[0]), 0);
    cr_expect_eq(memcmp(dlogvar[0], dlogvar[1], sizeof dlogvar[0]), 0);
}
