/* Compares token inversion with closed forms and golden values, and neighbors and sources with
 * brute force. */
#include "made_tables.h"

#include "test_context.h"

static struct nvdp_vectors *golden_table(const json_t *root) {
    const json_t *embedding = json_object_get(root, "embedding");
    const size_t count = json_array_size(embedding),
                 dim = json_array_size(json_array_get(embedding, 0));
    nvdp__autofree double *rows = calloc(count * dim, sizeof *rows);
    for (size_t i = 0; i < count * dim; i++)
        rows[i] = json_number_value(json_array_get(json_array_get(embedding, i / dim), i % dim));
    return vectors_of(ctx, count, dim, rows);
}

/* The golden values have 16 digits. The prior need not sum to 1, and tokens without prior weight
 * are never guessed. */
Test(inversion, known_distributions) {
    json_t *root = support_golden_json("santext.json"), *want;
    struct nvdp_vectors *vectors = golden_table(root);
    const size_t count = nvdp_vectors_count(vectors);
    nvdp__autofree double *log_p = calloc(count * count, sizeof *log_p);
    int32_t *all = calloc(count, sizeof *all);
    size_t c, n;
    double *prior = support_numbers(json_object_get(root, "prior"), &n);
    for (size_t x = 0; x < count; x++)
        all[x] = (int32_t)x;
    json_array_foreach(json_object_get(root, "cases"), c, want) {
        const double epsilon = number_at(want, "epsilon");
        double *n_x = support_numbers(json_object_get(want, "n_x"), &n);
        struct nvdp_inversion got = NVDP_RESULT(struct nvdp_inversion), again = got;
        double nearest = 0, largest = 0, bayes = 0;
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_SANTEXT, epsilon, NULL);
        ok(nvdp_dchi_inversion(ctx, dchi, prior, 0, 1, &got));
        for (size_t x = 0; x < count; x++) {
            nearest += prior[x] * n_x[x];
            largest = fmax(largest, prior[x]);
        }
        near(got.bayes, strtod(text_at(want, "bayes_inversion"), NULL), 1e-12);
        near(got.nearest, nearest, 1e-12);
        near(got.prior, largest, 1e-12);
        cr_expect(got.draws == 0 && got.nearest_error == 0 && got.bayes_error == 0);
        cr_expect(got.bayes >= got.nearest && got.bayes >= got.prior);
        /* Uses only every third token, with weights 7 times as large, on one thread. */
        double sum = 0;
        nvdp__autofree double *some = calloc(count, sizeof *some);
        for (size_t x = 0; x < count; x += 3)
            sum += some[x] = 7 * prior[x];
        ok(nvdp_dchi_log_probabilities(ctx, dchi, count, all, log_p));
        for (size_t y = 0; y < count; y++) {
            double best = 0;
            for (size_t x = 0; x < count; x++)
                best = fmax(best, some[x] / sum * exp(log_p[x * count + y]));
            bayes += best;
        }
        nvdp_context_set_threads(ctx, 1);
        ok(nvdp_dchi_inversion(ctx, dchi, some, 0, 1, &again));
        nvdp_context_set_threads(ctx, 2);
        near(again.bayes, bayes, 1e-12);
    }
    /* random: only the prior helps. */
    struct nvdp_inversion got = NVDP_RESULT(struct nvdp_inversion);
    struct nvdp_dchi *dchi = dchi_of(ctx, vectors, NVDP_DCHI_RANDOM, 0, NULL);
    ok(nvdp_dchi_inversion(ctx, dchi, prior, 0, 1, &got));
    near(got.bayes, got.prior, 1e-12);
    near(got.nearest, 1 / (double)count, 1e-12);
    prior[1] = -1;
    cr_expect_eq(nvdp_dchi_inversion(ctx, dchi, prior, 0, 1, &got), NVDP_ERR_ARGUMENT);
    for (size_t x = 0; x < count; x++)
        prior[x] = 0;
    cr_expect_eq(nvdp_dchi_inversion(ctx, dchi, prior, 0, 1, &got), NVDP_ERR_ARGUMENT);
    free(all);
}

/* Two tokens at distance a on a line, with prior p. With F(u) = 1 - exp(-eta u)/2 for u >= 0,
 * the nearest token is correct with probability F(a/2). Bayes moves the border by s =
 * log(p/(1-p))/(2 eta) and is correct with p F(a/2 + s) + (1-p) F(a/2 - s). Tolerance: five
 * standard errors. */
Test(inversion, noise_on_a_line) {
    static const double rows[2] = {1, 1.5}, prior[2] = {.8, .2};
    struct nvdp_vectors *vectors = vectors_of(ctx, 2, 1, rows);
    static const enum nvdp_dchi_mechanism which[2] = {NVDP_DCHI_LAPLACE, NVDP_DCHI_LAPLACE_NEAREST};
    for (size_t m = 0; m < 2; m++) {
        const double eta = 5, half = .25, s = log(4) / (2 * eta);
        const double near = 1 - exp(-eta * half) / 2;
        const double bayes =
            .8 * (1 - exp(-eta * (half + s)) / 2) + .2 * (1 - exp(-eta * (half - s)) / 2);
        struct nvdp_inversion got = NVDP_RESULT(struct nvdp_inversion), again = got;
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, which[m], eta, NULL);
        ok(nvdp_dchi_inversion(ctx, dchi, prior, 40000, 3, &got));
        cr_expect_eq(got.draws, 40000);
        near(got.prior, .8, 1e-15);
        near(got.nearest, near, 5 * got.nearest_error);
        near(got.bayes, bayes, 5 * got.bayes_error);
        near(got.bayes_error, sqrt(bayes * (1 - bayes) / 40000), 1e-4);
        nvdp_context_set_threads(ctx, 1);
        ok(nvdp_dchi_inversion(ctx, dchi, prior, 40000, 3, &again));
        nvdp_context_set_threads(ctx, 2);
        cr_expect(got.nearest == again.nearest && got.bayes == again.bayes);
        cr_expect_eq(nvdp_dchi_inversion(ctx, dchi, prior, 0, 3, &got), NVDP_ERR_ARGUMENT);
        /* so little noise that all draws are correct, which still does not make the estimate
         * exact */
        dchi = dchi_of(ctx, vectors, which[m], 500, NULL);
        ok(nvdp_dchi_inversion(ctx, dchi, prior, 1000, 3, &got));
        cr_expect(got.nearest == 1 && got.bayes == 1);
        near(got.nearest_error, 1e-3, 1e-6);
        near(got.bayes_error, 1e-3, 1e-6);
    }
}

/* On a line of whole numbers the k-th nearest neighbors are known. */
Test(inversion, neighbors) {
    enum { COUNT = 21, N = 3 };
    double rows[COUNT], got[N * 4];
    for (size_t i = 0; i < COUNT; i++)
        rows[i] = (double)i;
    struct nvdp_vectors *vectors = vectors_of(ctx, COUNT, 1, rows);
    const int32_t tokens[N] = {0, 10, 20};
    const size_t k[4] = {1, 2, 3, 20}, none = 21;
    const double want[N * 4] = {1, 2, 3, 20, 1, 1, 2, 10, 1, 2, 3, 20};
    ok(nvdp__vectors_neighbors(ctx, vectors, N, tokens, 4, k, got));
    cr_expect_arr_eq(got, want, sizeof want);
    cr_expect_eq(nvdp__vectors_neighbors(ctx, vectors, N, tokens, 1, &none, got),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp__vectors_neighbors(ctx, vectors, 1, &(int32_t){21}, 1, k, got),
                 NVDP_ERR_ARGUMENT);
}

/* Compares the counts with single draws, for more tokens than are drawn at once. */
Test(inversion, sources) {
    json_t *root = support_golden_json("santext.json");
    struct nvdp_vectors *vectors = golden_table(root);
    enum { N = 100, DRAWS = 15 };
    const size_t count = nvdp_vectors_count(vectors);
    nvdp__autofree double *got = calloc(count, sizeof *got), *want = calloc(count, sizeof *want);
    int32_t tokens[N], in[DRAWS], out[DRAWS];
    const uint64_t seed = 9;
    for (size_t i = 0; i < N; i++)
        tokens[i] = (int32_t)(i * 7 % count);
    for (int m = NVDP_DCHI_LAPLACE_NEAREST; m <= NVDP_DCHI_SANTEXT; m++) {
        struct nvdp_dchi *dchi = dchi_of(ctx, vectors, (enum nvdp_dchi_mechanism)m, 2, NULL);
        memset(want, 0, count * sizeof *want);
        for (size_t i = 0; i < N; i++) {
            bool *seen = calloc(count, sizeof *seen);
            for (size_t k = 0; k < DRAWS; k++)
                in[k] = tokens[i];
            ok(nvdp_dchi_sample(ctx, dchi, 1, (size_t[]){0, DRAWS}, in, &seed, i, out));
            for (size_t k = 0; k < DRAWS; k++) {
                want[out[k]] += !seen[out[k]];
                seen[out[k]] = true;
            }
            free(seen);
        }
        ok(nvdp__dchi_sources(ctx, dchi, N, tokens, DRAWS, seed, got));
        cr_expect_arr_eq(got, want, count * sizeof *want);
    }
}
