/* The vectors of a sample, and their gradient. */
#include "fixture.h"

enum { TEXTS = 2, DIM = 11, TOKENS = 3, ROWS = 12 };
static int32_t offset[TEXTS + 1] = {0, 6, 12};
static int32_t src[ROWS] = {-1, -1, 0, 0, 1, 1, -1, -1, 2, 2, -1, -1};
static const uint64_t key[TEXTS] = {5, 6};

static void fill(size_t n, double scale, double phase, float *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * sin(1.7 * (double)i + phase));
}

static struct nvdp__device device(int threads) {
    return (struct nvdp__device){.threads = threads};
}

static struct nvdp__posterior posterior(size_t dim, float *mu, float *logvar) {
    return (struct nvdp__posterior){TOKENS, dim, mu, logvar, NULL};
}

static const struct nvdp__sample_rows rows = {
    .texts = TEXTS, .rows = ROWS, .offset = offset, .src = src, .key = key};

static struct nvdp__draw draws(uint32_t epoch, const float *eps) {
    return (struct nvdp__draw){
        .noise = {.seed = 4}, .gauss = NVDP__PURPOSE_GAUSS, .epoch = epoch, .eps = eps};
}

static void draw(int threads, float *mu, float *logvar, const float *eps, float *z) {
    struct nvdp__device dev = device(threads);
    struct nvdp__draw draw = draws(3, eps);
    struct nvdp__posterior q = posterior(DIM, mu, logvar);
    nvdp__gauss_sample(&dev, &draw, &rows, &q, z);
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
            near(z[r * DIM + i], want, 2e-6); /* float32 at |z| <= 10 */
        }
    }
}

Test(gauss, streams) {
    float mu[TOKENS * DIM], logvar[TOKENS * DIM], one[ROWS * DIM], two[ROWS * DIM];
    fill(TOKENS * DIM, 2, 0, mu);
    fill(TOKENS * DIM, 3, 1, logvar);
    draw(1, mu, logvar, NULL, one);
    draw(2, mu, logvar, NULL, two);
    cr_expect_arr_eq(one, two, sizeof one);
    int32_t alone[2] = {0, 6};
    struct nvdp__device dev = device(1);
    struct nvdp__draw again = draws(3, NULL);
    struct nvdp__posterior q = posterior(DIM, mu, logvar);
    struct nvdp__sample_rows last = {
        .texts = 1, .rows = 6, .offset = alone, .src = src + 6, .key = key + 1};
    nvdp__gauss_sample(&dev, &again, &last, &q, two);
    cr_expect_arr_eq(one + 6 * DIM, two, 6 * DIM * sizeof *one);
    for (size_t r = 1; r < ROWS; r++) { /* every row has its own noise */
        cr_expect_neq(memcmp(one, one + r * DIM, DIM * sizeof *one), 0);
    }
}

/* Checks the numbers of 40000 prior rows: mean and variance within 5 standard errors, 6e-7 each. */
Test(gauss, standard_normal_where_there_is_no_token) {
    enum { WIDE = 40000 };
    static float z[WIDE];
    int32_t one[2] = {0, 1}, none[1] = {NVDP__PRIOR};
    struct nvdp__device dev = device(1);
    struct nvdp__draw wide = draws(0, NULL);
    struct nvdp__posterior q = posterior(WIDE, NULL, NULL);
    struct nvdp__sample_rows single = {
        .texts = 1, .rows = 1, .offset = one, .src = none, .key = key};
    nvdp__gauss_sample(&dev, &wide, &single, &q, z);
    double mean = 0, square = 0;
    for (size_t i = 0; i < WIDE; i++) {
        mean += z[i] / (double)WIDE;
        square += z[i] * (double)z[i] / WIDE;
    }
    cr_expect_lt(fabs(mean), 5 / sqrt(WIDE));
    cr_expect_lt(fabs(square - 1), 5 * sqrt(2.0 / WIDE));
}

/* dmu = sum of the token's dz; dlogvar = sum of dz exp(logvar/2) eps / 2. Both are added to
 * earlier values. */
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
    struct nvdp__posterior q = posterior(DIM, mu, logvar), dq = posterior(DIM, dmu, dlogvar);
    nvdp__gauss_sample_backward(&dev, &rows, &q, z, dz, &dq);
    cr_expect_lt(support_norm_error(TOKENS * DIM, dmu, want_mu), 1e-6);
    cr_expect_lt(support_norm_error(TOKENS * DIM, dlogvar, want_logvar), 1e-6);
}

/* Has rows wide enough for the loops to use threads. */
Test(gauss, threads) {
    enum { WIDE = 3001 };
    static float mu[TOKENS * WIDE], logvar[TOKENS * WIDE], z[2][ROWS * WIDE];
    static float dmu[2][TOKENS * WIDE], dlogvar[2][TOKENS * WIDE];
    fill(TOKENS * WIDE, 2, 0, mu);
    fill(TOKENS * WIDE, 1, 1, logvar);
    for (int k = 0; k < 2; k++) {
        struct nvdp__device dev = device(1 + 2 * k);
        struct nvdp__draw wide = draws(3, NULL);
        struct nvdp__posterior q = posterior(WIDE, mu, logvar);
        struct nvdp__posterior dq = posterior(WIDE, dmu[k], dlogvar[k]);
        nvdp__gauss_sample(&dev, &wide, &rows, &q, z[k]);
        nvdp__gauss_sample_backward(&dev, &rows, &q, z[k], z[k], &dq);
    }
    cr_expect_arr_eq(z[0], z[1], sizeof z[0]);
    cr_expect_arr_eq(dmu[0], dmu[1], sizeof dmu[0]);
    cr_expect_arr_eq(dlogvar[0], dlogvar[1], sizeof dlogvar[0]);
}
