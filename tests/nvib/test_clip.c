/* The clips keep their bounds for every input: huge, denormal and infinite numbers and NaN. */
#include "fixture.h"

enum { TEXTS = 60, LONGEST = 5, DIM = 19, ROWS = TEXTS * LONGEST, VALUES = ROWS * DIM };
static const struct nvdp__device dev = {.threads = 2};
static const double radii[] = {1e-6, 0.25, 2, 1e5};
enum { RADII = sizeof radii / sizeof radii[0] };

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 32;
}

/* Returns any float: random bits, among them NaN and infinities. */
static float any(uint64_t *state) {
    uint32_t bits = (uint32_t)next(state);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Fills x with numbers of one kind per text; some texts have one number of another kind. */
static void fill(uint64_t *state, size_t n, float *x) {
    static const float scale[] = {1, 3e38F, 1e30F, 1e-40F, 1e-3F};
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3.4e38F, 1e-45F};
    const uint64_t kind = next(state) % 6;
    for (size_t i = 0; i < n; i++) {
        const float unit = (float)next(state) * 0x1p-31F - 1;
        x[i] = kind == 5 ? any(state) : unit * scale[kind];
    }
    if (next(state) % 4 == 0) x[next(state) % n] = odd[next(state) % 5];
}

static bool all_finite(size_t n, const float *x) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

static double norm(size_t n, const float *x) {
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (long double)x[i] * x[i];
    return (double)sqrtl(sum);
}

struct case_ {
    float raw[VALUES], mu[VALUES], logvar[VALUES], log_alpha[ROWS];
    float norm[ROWS], logvar_in[VALUES], log_alpha_in[ROWS], factor[TEXTS];
    float dmu[VALUES], dlogvar[VALUES], dlog_alpha[ROWS];
    int32_t offset[TEXTS + 1];
};

static struct case_ *made(uint64_t *state) {
    struct case_ *c = calloc(1, sizeof *c);
    for (size_t b = 0; b < TEXTS; b++) {
        const size_t rows = 1 + next(state) % LONGEST, first = (size_t)c->offset[b];
        c->offset[b + 1] = (int32_t)(first + rows);
        fill(state, rows * DIM, c->raw + first * DIM);
        fill(state, rows * DIM, c->logvar + first * DIM);
        fill(state, rows, c->log_alpha + first);
    }
    memcpy(c->mu, c->raw, sizeof c->mu);
    for (size_t i = 0; i < VALUES; i++)
        c->dmu[i] = c->dlogvar[i] = 1;
    for (size_t i = 0; i < ROWS; i++)
        c->dlog_alpha[i] = 1;
    return support_keep(c);
}

/* Checks 4 x 10 x 60 texts. */
Test(clip, sequence_is_total_and_keeps_to_its_ball) {
    uint64_t state = 1;
    size_t replaced = 0, scaled = 0;
    for (size_t round = 0; round < 10 * RADII; round++) {
        struct case_ *c = made(&state);
        const double radius = radii[round % RADII];
        const struct nvdp__posterior q = {(size_t)c->offset[TEXTS], DIM, c->mu, c->logvar, NULL};
        const struct nvdp__posterior d = {q.rows, DIM, c->dmu, c->dlogvar, NULL};
        nvdp__clip_sequence_forward(&dev, radius, TEXTS, c->offset, &q, c->factor);
        nvdp__clip_sequence_backward(&dev, TEXTS, c->offset, &q, c->factor, &d);
        for (size_t b = 0; b < TEXTS; b++) {
            const size_t first = (size_t)c->offset[b] * DIM;
            const size_t n = (size_t)c->offset[b + 1] * DIM - first;
            const float *m = c->mu + first, *raw = c->raw + first;
            cr_assert(all_finite(n, m), "round %zu, text %zu", round, b);
            cr_assert(all_finite(n, c->dmu + first), "round %zu, text %zu: gradient", round, b);
            cr_assert_leq(norm(n, m), radius, "round %zu, text %zu", round, b);
            if (!all_finite(n, raw)) {
                cr_assert(norm(n, m) == 0 && norm(n, c->dmu + first) == 0);
                replaced++;
            } else if (norm(n, raw) > radius) {
                near(norm(n, m), radius, 4e-7 * radius);
                scaled++;
            } else {
                cr_assert(memcmp(m, raw, n * sizeof *m) == 0 || norm(n, raw) > radius * (1 - 1e-6));
            }
        }
        const struct nvdp__sample_rows layout = {.texts = TEXTS, .source_offset = c->offset};
        size_t lost = 0;
        for (size_t b = 0; b < TEXTS; b++)
            lost += isnan(c->factor[b]);
        cr_assert_eq(nvdp__clip_replaced(&layout, DIM, &(struct nvdp__unclipped){.mu_norm = NULL},
                                         c->factor),
                     lost);
    }
    cr_expect(replaced > 200 && scaled > 500, "%zu, %zu", replaced, scaled);
}

/* Checks each vector's bounds with and without a clip: without one, those of
 * nvdp_posteriors_check(). */
Test(clip, vectors_are_total_and_keep_to_their_bounds) {
    uint64_t state = 2;
    for (size_t round = 0; round < 10 * (RADII + 1); round++) {
        struct case_ *c = made(&state);
        const bool off = round % (RADII + 1) == RADII;
        const double radius = off ? INFINITY : radii[round % (RADII + 1)];
        const struct nvdp__clip_config config = {.sequence = INFINITY,
                                                 .mu_radius = radius,
                                                 .logvar_min = off ? -INFINITY : -1.1,
                                                 .logvar_max = off ? INFINITY : 0.3,
                                                 .alpha_min = off ? 0 : 0.01,
                                                 .alpha_max = off ? INFINITY : 7};
        const struct nvdp__clip clip = nvdp__clip_applied(&config);
        const struct nvdp__posterior q = {(size_t)c->offset[TEXTS], DIM, c->mu, c->logvar,
                                          c->log_alpha};
        const struct nvdp__posterior d = {q.rows, DIM, c->dmu, c->dlogvar, c->dlog_alpha};
        const struct nvdp__unclipped before = {c->norm, c->logvar_in, c->log_alpha_in};
        nvdp__clip_forward(&dev, &clip, &q, &before);
        nvdp__clip_backward(&dev, &clip, &q, &before, &d);
        for (size_t t = 0; t < q.rows; t++) {
            const float *m = c->mu + t * DIM, *raw = c->raw + t * DIM;
            cr_assert(all_finite(DIM, m) && all_finite(DIM, c->dmu + t * DIM), "round %zu, row %zu",
                      round, t);
            /* the margin of rdp/certificate.c: the comparison is in float */
            cr_assert_leq(norm(DIM, m), radius * (1 + 0x1p-23), "round %zu, row %zu", round, t);
            if (!all_finite(DIM, raw))
                cr_assert(norm(DIM, m) == 0 && norm(DIM, c->dmu + t * DIM) == 0);
            if (off && all_finite(DIM, raw)) cr_assert_arr_eq(m, raw, DIM * sizeof *m);
            const double alpha = exp((double)c->log_alpha[t]);
            cr_assert(alpha >= fmax(config.alpha_min, 1e-100) &&
                          alpha <= fmin(config.alpha_max, 1e100),
                      "round %zu, row %zu: %g", round, t, alpha);
        }
        for (size_t i = 0; i < q.rows * DIM; i++)
            cr_assert(c->logvar[i] >= fmax(config.logvar_min, -300) &&
                          c->logvar[i] <= fmin(config.logvar_max, 300),
                      "round %zu, %zu: %g", round, i, (double)c->logvar[i]);
    }
}
