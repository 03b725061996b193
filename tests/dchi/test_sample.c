/* Draws: their distributions, the nearest token against a search in double, and streams. */
#include "made_tables.h"
#include "noised_texts.h"
#include <gsl/gsl_cdf.h>

#include "test_context.h"

/* Returns [count, dim] normals times sd. */
static double *normals(size_t count, size_t dim, double sd, uint64_t seed) {
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    double *x = calloc(count * dim, sizeof *x);
    nvdp__stream_normals_f64(&stream, count * dim, x);
    for (size_t i = 0; i < count * dim; i++)
        x[i] *= sd;
    return support_keep(x);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Computes sqrt(n) sup |F_n - F| for values of F; it exceeds 2.5 with probability 2 exp(-2
 * 2.5^2) = 7e-6. */
static double kolmogorov(size_t n, double *u) {
    double largest = 0;
    qsort(u, n, sizeof *u, ascending);
    for (size_t i = 0; i < n; i++)
        largest =
            fmax(largest, fmax(u[i] - (double)i / (double)n, (double)(i + 1) / (double)n - u[i]));
    return sqrt((double)n) * largest;
}

/* The radius is Gamma(d, 1/eta); a direction's projection t on any axis has (t+1)/2 ~
 * Beta((d-1)/2, same). Twelve tests: a false alarm in 10,000 seeds. */
Test(sample, laplace_radius_and_direction) {
    enum { DRAWS = 20000 };
    static const size_t dims[3] = {2, 5, 48};
    const double eta = 7;
    const uint64_t seed = 3;
    nvdp__autofree size_t *offset = calloc(2, sizeof *offset);
    offset[1] = DRAWS;
    nvdp__autofree int32_t *tokens = calloc(DRAWS, sizeof *tokens);
    double *u = calloc(DRAWS, sizeof *u);
    for (size_t c = 0; c < 3; c++) {
        const size_t dim = dims[c];
        const double a = (double)(dim - 1) / 2;
        double *rows = normals(1, dim, 1, 1);
        nvdp__autofree double *y = calloc(DRAWS * dim, sizeof *y);
        double *radius = calloc(DRAWS, sizeof *radius);
        struct nvdp_vectors *vectors = vectors_of(ctx, 1, dim, rows);
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, eta, NULL);
        ok(nvdp_dchi_perturb(ctx, dchi, 1, offset, tokens, &seed, 0, y));
        double mean = 0;
        for (size_t i = 0; i < DRAWS; i++) {
            for (size_t k = 0; k < dim; k++) {
                y[i * dim + k] -= rows[k];
                radius[i] += y[i * dim + k] * y[i * dim + k];
            }
            radius[i] = sqrt(radius[i]);
            mean += radius[i] / DRAWS;
            u[i] = gsl_cdf_gamma_P(radius[i], (double)dim, 1 / eta);
        }
        cr_expect_lt(kolmogorov(DRAWS, u), 2.5, "radius, d = %zu", dim);
        /* E r = d/eta; five standard errors of sqrt(d)/eta/sqrt(n) */
        near(mean, (double)dim / eta, 5 * sqrt((double)dim) / eta / sqrt(DRAWS));
        for (size_t axis = 0; axis < 3; axis++) { /* the first, the last, the diagonal */
            for (size_t i = 0; i < DRAWS; i++) {
                double t = axis == 0 ? y[i * dim] : y[i * dim + dim - 1];
                if (axis == 2) {
                    t = 0;
                    for (size_t k = 0; k < dim; k++)
                        t += y[i * dim + k] / sqrt((double)dim);
                }
                u[i] = gsl_cdf_beta_P((t / radius[i] + 1) / 2, a, a);
            }
            cr_expect_lt(kolmogorov(DRAWS, u), 2.5, "direction %zu, d = %zu", axis, dim);
        }
        free(radius);
    }
    free(u);
}

/* Searches in double; the lowest index wins a tie. */
static int32_t search(size_t count, size_t dim, const double *rows, const double *y) {
    double smallest = INFINITY;
    int32_t found = 0;
    for (size_t j = 0; j < count; j++) {
        double square = 0;
        for (size_t k = 0; k < dim && square < smallest; k++)
            square += (y[k] - rows[j * dim + k]) * (y[k] - rows[j * dim + k]);
        if (square < smallest) {
            smallest = square;
            found = (int32_t)j;
        }
    }
    return found;
}

/* 20,000 perturbed vectors at every eta, with equal words, and words 1e-9 apart, which float32
 * cannot distinguish. The table's mean is far from 0. */
Test(sample, nearest_is_that_of_a_search_in_double) {
    enum { COUNT = 600, DIM = 24, DRAWS = 20000 };
    static const double etas[6] = {50, 75, 100, 125, 150, 175};
    double *rows = normals(COUNT, DIM, .05, 5);
    nvdp__autofree double *y = calloc((size_t)DRAWS * DIM, sizeof *y);
    int32_t *tokens = calloc(DRAWS, sizeof *tokens), *out = calloc(DRAWS, sizeof *out);
    nvdp__autofree int32_t *again = calloc(DRAWS, sizeof *again);
    for (size_t i = 0; i < (size_t)COUNT * DIM; i++)
        rows[i] += 3;
    memcpy(rows + 400 * DIM, rows, 50 * DIM * sizeof *rows);
    for (size_t i = 0; i < 50 * DIM; i++)
        rows[450 * DIM + i] = rows[50 * DIM + i] + 1e-9 * ((double)(i % 3) - 1);
    for (size_t i = 0; i < DRAWS; i++)
        tokens[i] = (int32_t)(i % COUNT);
    const size_t offset[3] = {0, 12345, DRAWS};
    const uint64_t seed = 11;
    struct nvdp_vectors *vectors = vectors_of(ctx, COUNT, DIM, rows);
    size_t kept[6] = {0}, wrong = 0;
    for (size_t e = 0; e < 6; e++) {
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE_NEAREST, etas[e], NULL);
        ok(nvdp_dchi_sample(ctx, dchi, 2, offset, tokens, &seed, 7, out));
        ok(nvdp_dchi_perturb(ctx, dchi, 2, offset, tokens, &seed, 7, y));
        ok(nvdp__vectors_nearest(ctx, vectors, DRAWS, y, again));
        for (size_t i = 0; i < DRAWS; i++) {
            wrong += out[i] != search(COUNT, DIM, rows, y + i * DIM) || again[i] != out[i];
            kept[e] += out[i] == tokens[i];
        }
    }
    cr_expect_eq(wrong, 0, "%zu", wrong);
    for (size_t e = 1; e < 6; e++)
        cr_expect_gt(kept[e], kept[e - 1]);
    cr_expect_gt(kept[0], 0);
    cr_expect_lt(kept[5], DRAWS);
    /* Points may lie far beyond float32. */
    for (size_t k = 0; k < DIM; k++)
        y[k] = k == 0 ? 1e60 : 0;
    ok(nvdp__vectors_nearest(ctx, vectors, 1, y, again));
    cr_expect_eq(again[0], search(COUNT, DIM, rows, y));
    y[3] = NAN;
    cr_expect_eq(nvdp__vectors_nearest(ctx, vectors, 1, y, again), NVDP_ERR_ARGUMENT);
    free(tokens);
    free(out);
}

/* Many points (products of integers, where the processor has them) and few at a time (float32)
 * find the same tokens as a search in double. The table has more rows than a product takes, with
 * rows of zeros and of one large number; the points are near and far, constant ones, and one
 * beyond float32. */
Test(sample, nearest_of_many_and_of_few) {
    enum { COUNT = 4200, DIM = 13, POINTS = 331, FEW = 20 };
    double *rows = normals(COUNT, DIM, 1, 21), *y = normals(POINTS, DIM, 3, 22);
    int32_t many[POINTS], few[POINTS];
    for (size_t k = 0; k < DIM; k++) {
        rows[7 * DIM + k] = rows[4000 * DIM + k] = 0;
        rows[9 * DIM + k] = k == 2 ? 900 : 0;
        y[11 * DIM + k] = 0;
        y[12 * DIM + k] = -4;
        y[13 * DIM + k] = rows[4199 * DIM + k];
        y[14 * DIM + k] = k == 2 ? 1e60 : 0;
        y[15 * DIM + k] *= 1e-9;
        y[16 * DIM + k] *= 1e9;
    }
    struct nvdp_vectors *vectors = vectors_of(ctx, COUNT, DIM, rows);
    ok(nvdp__vectors_nearest(ctx, vectors, POINTS, y, many));
    for (size_t i = 0; i < POINTS; i += FEW)
        ok(nvdp__vectors_nearest(ctx, vectors, POINTS - i < FEW ? POINTS - i : FEW, y + i * DIM,
                                 few + i));
    for (size_t i = 0; i < POINTS; i++) {
        cr_expect_eq(many[i], search(COUNT, DIM, rows, y + i * DIM), "%zu", i);
        cr_expect_eq(few[i], many[i], "%zu", i);
    }
    cr_expect_eq(many[11], 7);
    cr_expect_eq(many[13], 4199);
}

/* Chi-square tests of 60,000 draws of each of two tokens against the exact probabilities;
 * entries that expect fewer than 5 are combined. False alarm 1e-6 each. */
Test(sample, tokens_follow_their_distribution) {
    enum { COUNT = 40, DRAWS = 120000 };
    double *rows = normals(COUNT, 3, 1, 8), log_p[COUNT];
    unsigned char sensitive[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        sensitive[i] = i % 3 != 0;
    struct nvdp_vectors *vectors = vectors_of(ctx, COUNT, 3, rows);
    nvdp__autofree int32_t *tokens = calloc(DRAWS, sizeof *tokens),
                           *out = calloc(DRAWS, sizeof *out);
    for (size_t i = 0; i < DRAWS; i++)
        tokens[i] = i % 2 == 0 ? 3 : 4;
    const size_t offset[2] = {0, DRAWS};
    const uint64_t seed = 21;
    for (int which = NVDP_DCHI_SANTEXT; which <= NVDP_DCHI_RANDOM; which++) {
        struct nvdp_dchi *dchi =
            dchi_of(ctx, vectors, (enum nvdp_dchi_mechanism)which, 4, sensitive);
        ok(nvdp_dchi_sample(ctx, dchi, 1, offset, tokens, &seed, 0, out));
        for (int32_t x = 3; x <= 4; x++) {
            double square = 0, rest = 0, rest_seen = 0;
            size_t seen[COUNT] = {0}, cells = 0;
            for (size_t i = 0; i < DRAWS; i++)
                if (tokens[i] == x) seen[out[i]]++;
            ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, &x, log_p));
            for (size_t y = 0; y < COUNT; y++) {
                double expected = DRAWS / 2 * exp(log_p[y]), d = (double)seen[y] - expected;
                if (log_p[y] == -INFINITY) cr_expect_eq(seen[y], 0);
                if (expected < 5) {
                    rest += expected;
                    rest_seen += (double)seen[y];
                    continue;
                }
                square += d * d / expected;
                cells++;
            }
            if (rest >= 5) {
                square += (rest_seen - rest) * (rest_seen - rest) / rest;
                cells++;
            }
            cr_expect_gt(gsl_cdf_chisq_Q(square, (double)cells - 1), 1e-6, "mechanism %d, token %d",
                         which, x);
        }
    }
}

/* Clusters far apart, whose tokens float32 cannot distinguish, make proposals poor; the draws
 * still have the exact probabilities. Chi-square of 40,000 draws, false alarm 1e-6. */
Test(sample, poor_proposals_change_nothing) {
    enum { COUNT = 24, DRAWS = 40000 };
    double *rows = normals(COUNT, 4, 1e-5, 3), log_p[COUNT], square = 0;
    unsigned char sensitive[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        rows[4 * i] += i % 2 == 0 ? 50 : -50;
        sensitive[i] = i >= 4;
    }
    struct nvdp_vectors *vectors = vectors_of(ctx, COUNT, 4, rows);
    nvdp__autofree int32_t *tokens = calloc(DRAWS, sizeof *tokens),
                           *out = calloc(DRAWS, sizeof *out);
    for (size_t i = 0; i < DRAWS; i++)
        tokens[i] = 2;
    const size_t offset[2] = {0, DRAWS}, one[2] = {0, 100};
    const uint64_t seed = 2;
    struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, 1e5, NULL);
    ok(nvdp_dchi_sample(ctx, dchi, 1, offset, tokens, &seed, 0, out));
    ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, tokens, log_p));
    for (size_t y = 0; y < COUNT; y++) {
        double seen = 0, expected = DRAWS * exp(log_p[y]);
        for (size_t i = 0; i < DRAWS; i++)
            seen += (size_t)out[i] == y;
        if (y % 2 == 1) cr_expect_eq(seen, 0);
        if (y % 2 == 0) square += (seen - expected) * (seen - expected) / expected;
    }
    cr_expect_gt(gsl_cdf_chisq_Q(square, COUNT / 2 - 1), 1e-6);
    /* With eta so large that the nearest token always wins, no proposal is kept and the row is
     * computed. */
    dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT_PLUS, 1e15, sensitive);
    ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, tokens, log_p));
    ok(nvdp_dchi_sample(ctx, dchi, 1, one, tokens, &seed, 0, out));
    size_t kept = 0;
    for (size_t i = 0; i < 100; i++) {
        kept += out[i] == tokens[i];
        cr_expect_geq(log_p[out[i]], log(.3) - 1e-9);
    }
    cr_expect(kept > 40 && kept < 95); /* .7 +- 5.4 standard deviations */
}

/* The 256 MiB for proposals do not hold all of this table's: tokens beyond them are proposed
 * again. Draws are the same alone, among others, and in any order. */
Test(sample, what_is_kept_changes_nothing) {
    enum { COUNT = 12001, DIM = 4, N = 12001 }; /* 288 MB of weights */
    double *rows = normals(COUNT, DIM, 1, 4);
    nvdp__autofree int32_t *tokens = calloc(N, sizeof *tokens), *all = calloc(N, sizeof *all);
    size_t *offset = calloc(N + 1, sizeof *offset);
    for (size_t i = 0; i < N; i++) {
        tokens[i] = (int32_t)(i * 4099 % COUNT);
        offset[i + 1] = i + 1;
    }
    const uint64_t seed = 6;
    struct nvdp_vectors *vectors = vectors_of(ctx, COUNT, DIM, rows);
    struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, 3, NULL);
    struct nvdp_dchi *other = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, 3, NULL);
    ok(nvdp_dchi_sample(ctx, dchi, N, offset, tokens, &seed, 0, all));
    for (size_t i = 0; i < 1500; i += 7) {
        int32_t again;
        ok(nvdp_dchi_sample(ctx, other, 1, offset, tokens + i, &seed, i, &again));
        cr_assert_eq(again, all[i]);
    }
    for (size_t i = N - 40; i < N; i++) { /* the first mechanism kept no proposals for these */
        int32_t again;
        ok(nvdp_dchi_sample(ctx, dchi, 1, offset, tokens + i, &seed, i, &again));
        cr_assert_eq(again, all[i]);
    }
    free(offset);
}

/* Two texts at once on two threads give the same draws as one after the other on one thread; two
 * runs without a seed differ. */
Test(sample, streams) {
    enum { COUNT = 50, N = 200 };
    double *rows = normals(COUNT, 4, 1, 9);
    struct nvdp_vectors *vectors = vectors_of(ctx, COUNT, 4, rows);
    int32_t tokens[N], all[N], part[N];
    for (size_t i = 0; i < N; i++)
        tokens[i] = (int32_t)(i * 7 % COUNT);
    const size_t offset[3] = {0, 90, N}, one[2] = {0, 90}, two[2] = {0, N - 90};
    const uint64_t seed = 5;
    static const enum nvdp_dchi_mechanism which[4] = {NVDP_DCHI_SANTEXT, NVDP_DCHI_SANTEXT_PLUS,
                                                      NVDP_DCHI_RANDOM, NVDP_DCHI_LAPLACE_NEAREST};
    unsigned char sensitive[COUNT] = {1, 1, 1, 0, 1};
    for (size_t m = 0; m < 4; m++) {
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, which[m], 2, sensitive);
        ok(nvdp_dchi_sample(ctx, dchi, 2, offset, tokens, &seed, 4, all));
        int threads = nvdp_context_threads(ctx);
        ok(nvdp_context_set_threads(ctx, 1));
        ok(nvdp_dchi_sample(ctx, dchi, 1, two, tokens + 90, &seed, 5, part + 90));
        ok(nvdp_dchi_sample(ctx, dchi, 1, one, tokens, &seed, 4, part));
        ok(nvdp_context_set_threads(ctx, threads));
        cr_expect_arr_eq(all, part, sizeof all);
        ok(nvdp_dchi_sample(ctx, dchi, 1, one, tokens, &seed, 5, part));
        cr_expect_arr_neq(all, part, 90 * sizeof *all);
        ok(nvdp_dchi_sample(ctx, dchi, 2, offset, tokens, NULL, 4, all));
        ok(nvdp_dchi_sample(ctx, dchi, 2, offset, tokens, NULL, 4, part));
        if (which[m] != NVDP_DCHI_SANTEXT_PLUS) cr_expect_arr_neq(all, part, sizeof all);
    }
    struct nvdp_dchi *laplace = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, 2, NULL);
    cr_expect_eq(nvdp_dchi_sample(ctx, laplace, 1, one, tokens, &seed, 0, all),
                 NVDP_ERR_UNSUPPORTED);
}

/* At a large eta the output is the clipped vector; at smaller ones the noise is the stream's. */
Test(sample, sequence) {
    const double in[4] = {3, 4, .3, .4};
    double sharp[4], noised[4], free_of_clip[4];
    ok(noised_texts(ctx, 1e9, 1, 2, in, sharp));
    const double want[4] = {.6, .8, .3, .4};
    for (size_t k = 0; k < 4; k++) /* r is Gamma(2, 1e-9) */
        near(sharp[k], want[k], 5e-8);
    ok(noised_texts(ctx, 1, 1, 2, in, noised));
    for (size_t k = 0; k < 4; k++)
        near((sharp[k] - want[k]) * 1e9, noised[k] - want[k],
             3e-6); /* 1e9 roundings of the clip, 3e-15 */
    ok(noised_texts(ctx, 1, INFINITY, 2, in, free_of_clip));
    for (size_t k = 0; k < 4; k++)
        near(free_of_clip[k] - in[k], noised[k] - want[k], 1e-14);
    cr_expect_eq(noised_texts(ctx, 1, 0, 2, in, noised), NVDP_ERR_ARGUMENT);
    cr_expect_eq(noised_texts(ctx, INFINITY, 1, 2, in, noised), NVDP_ERR_ARGUMENT);
}
