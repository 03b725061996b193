/* Compares distances within a table and plausible deniability with explicit sums. */
#include "made_tables.h"

#include "test_context.h"

enum { COUNT = 60, DIM = 3 };

static double row[COUNT * DIM];

static struct nvdp_vectors *table(void) {
    for (size_t i = 0; i < COUNT * DIM; i++)
        row[i] = sin(1 + 7.3 * (double)i) * (double)(1 + i % 5);
    return vectors_of(ctx, COUNT, DIM, row);
}

static double distance(size_t a, size_t b) {
    double square = 0;
    for (size_t k = 0; k < DIM; k++)
        square += pow(row[a * DIM + k] - row[b * DIM + k], 2);
    return sqrt(square);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Draws of vectors must not differ if their distance is 0 because its square is too small for a double. */
Test(geometry, vectors_that_differ_are_apart) {
    static const double values[2][2] = {{1e-170, 3e-130}, {0, 2e-130}};
    const double eta = 1e130;
    for (size_t k = 0; k < 2; k++) { /* too small a difference, and a small one */
        struct nvdp_dchi_worst worst = NVDP_RESULT(struct nvdp_dchi_worst);
        double got[2];
        struct nvdp_vectors *vectors =
            vectors_of(ctx, 2, 1, (double[]){values[0][k], values[1][k]});
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, eta, NULL);
        ok(nvdp_dchi_worst(ctx, dchi, 0, 0, &worst));
        nvdp__vectors_row(vectors, 0, &got[0]);
        nvdp__vectors_row(vectors, 1, &got[1]);
        near(worst.bound, eta * fabs(got[0] - got[1]), 1e-12);
        cr_expect_eq(worst.bound > 0, k == 1);
        cr_expect_eq(got[0] == got[1], k == 0);
    }
}

Test(geometry, medians_and_bounds) {
    struct nvdp_vectors *vectors = table();
    double nearest[COUNT], pairs[COUNT * (COUNT - 1) / 2];
    size_t n = 0;
    for (size_t a = 0; a < COUNT; a++) {
        nearest[a] = INFINITY;
        for (size_t b = 0; b < COUNT; b++) {
            if (a != b) nearest[a] = fmin(nearest[a], distance(a, b));
            if (a < b) pairs[n++] = distance(a, b);
        }
    }
    qsort(nearest, COUNT, sizeof *nearest, ascending);
    qsort(pairs, n, sizeof *pairs, ascending);
    struct nvdp_geometry got = NVDP_RESULT(struct nvdp_geometry), part = got;
    ok(nvdp__vectors_geometry(ctx, vectors, 0, 1, &got));
    cr_expect_eq(got.tokens, COUNT);
    near(got.nearest_median, (nearest[COUNT / 2 - 1] + nearest[COUNT / 2]) / 2, 1e-13);
    near(got.pair_median, (pairs[n / 2 - 1] + pairs[n / 2]) / 2, 1e-13);
    near(got.pair_max, pairs[n - 1], 1e-13);
    cr_expect_eq(got.diameter_bound, got.pair_max);
    ok(nvdp__vectors_geometry(ctx, vectors, 7, 1, &part));
    cr_expect_eq(part.tokens, 7);
    cr_expect_leq(part.pair_max, got.pair_max);
    cr_expect_geq(part.diameter_bound, got.pair_max);
    cr_expect_leq(part.diameter_bound, 2 * got.pair_max);
}

/* N_w is P(x|x), S_w the expected number of different draws, sum over y of 1 - (1 - P(y|x))^n.
 * For laplace-nearest, N_w is estimated and checked against its own draws. */
Test(geometry, deniability) {
    struct nvdp_vectors *vectors = table();
    enum { N = 20, DRAWS = 400 };
    int32_t tokens[N];
    double same[N], distinct[N], log_p[COUNT], got = 0, want = 0, variance = 0;
    for (int32_t i = 0; i < N; i++)
        tokens[i] = 3 * i;
    struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, 2, NULL);
    ok(nvdp__dchi_deniability(ctx, dchi, N, tokens, DRAWS, 5, same, distinct));
    for (size_t i = 0; i < N; i++) {
        ok(nvdp_dchi_log_probabilities(ctx, dchi, 1, tokens + i, log_p));
        near(same[i], exp(log_p[tokens[i]]), 1e-14);
        got += distinct[i];
        for (size_t y = 0; y < COUNT; y++) {
            double seen = -expm1(DRAWS * log1p(-exp(log_p[y])));
            want += seen;
            variance += seen * (1 - seen); /* an upper bound: they are negatively correlated */
        }
    }
    near(got, want, 5 * sqrt(variance));
    dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE, 4, NULL);
    ok(nvdp__dchi_deniability(ctx, dchi, N, tokens, DRAWS, 5, same, distinct));
    dchi = dchi_of(ctx, vectors, NVDP_DCHI_LAPLACE_NEAREST, 4, NULL);
    for (size_t i = 0; i < N; i++) {
        int32_t in[DRAWS], out[DRAWS];
        size_t kept = 0, seen[COUNT] = {0}, kinds = 0;
        const uint64_t seed = 5;
        for (size_t k = 0; k < DRAWS; k++)
            in[k] = tokens[i];
        ok(nvdp_dchi_sample(ctx, dchi, 1, (size_t[]){0, DRAWS}, in, &seed, i, out));
        for (size_t k = 0; k < DRAWS; k++) {
            kept += out[k] == tokens[i];
            kinds += seen[out[k]]++ == 0;
        }
        near(same[i], (double)kept / DRAWS, 1e-15);
        cr_expect_eq(distinct[i], (double)kinds);
    }
}
