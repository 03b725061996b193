/* Tests distances and plausible deniability of drawn tokens against explicit sums. */
#include "dchi/dchi.h"
#include "dchi/token_options.h"
#include "sanitize/sanitize.h"
#include "support.h"

#include <nvdp/text_privacy.h>

enum { COUNT = 30, DIM = 3 };

struct fixture {
    struct nvdp_context *ctx;
    struct nvdp_vectors *vectors;
    struct nvdp_dchi *dchi;
    double log_p[COUNT * COUNT];
};

static struct fixture *make(void) {
    struct fixture *f = calloc(1, sizeof *f);
    double row[COUNT * DIM];
    int32_t token[COUNT];
    f->ctx = support_context();
    for (size_t i = 0; i < COUNT * DIM; i++)
        row[i] = sin(1 + 7.3 * (double)i) * (double)(1 + i % 5);
    for (size_t x = 0; x < COUNT; x++)
        token[x] = (int32_t)x;
    ok(nvdp_vectors_create(f->ctx, COUNT, DIM, row, &f->vectors));
    ok(nvdp_dchi_create(f->ctx, f->vectors, NVDP_DCHI_SANTEXT, 1, 0, NULL, &f->dchi));
    ok(nvdp_dchi_log_probabilities(f->ctx, f->dchi, COUNT, token, f->log_p));
    return support_keep(f);
}

Test(analyse, distances_of_all_tokens) {
    struct fixture *f = make();
    struct nvdp_distances got = NVDP_RESULT(struct nvdp_distances);
    double nearest = 0, farthest = 0;
    for (size_t x = 0; x < COUNT; x++) {
        double low = INFINITY, high = 0;
        for (size_t y = 0; y < COUNT; y++) {
            double a[DIM], b[DIM];
            nvdp__vectors_row(f->vectors, x, a);
            nvdp__vectors_row(f->vectors, y, b);
            const double d = sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
            if (x != y) low = fmin(low, d);
            high = fmax(high, d);
        }
        nearest += low / COUNT;
        farthest += high / COUNT;
    }
    ok(nvdp_distances_measure(f->ctx, f->vectors, NULL, 1000, 1, &got));
    cr_expect_eq(got.tokens, COUNT);
    cr_assert_eq(got.neighbors, 12); /* 1 to 10, 20, and the farthest */
    cr_expect_eq(got.k[10], 20);
    cr_expect_eq(got.k[11], COUNT - 1);
    cr_expect_float_eq(got.mean[0], nearest, 1e-12);
    cr_expect_float_eq(got.mean[11], farthest, 1e-12);
    for (size_t j = 1; j < got.neighbors; j++)
        cr_expect_geq(got.mean[j], got.mean[j - 1]);
}

Test(analyse, deniability_of_tokens_drawn_by_weight) {
    struct fixture *f = make();
    struct nvdp_deniability got = NVDP_RESULT(struct nvdp_deniability);
    double prior[COUNT] = {[4] = 2}, n_w = 0;
    ok(nvdp_deniability_measure(f->ctx, f->dchi, prior, 50, 100, 1, &got));
    cr_expect_eq(got.tokens, 50);
    cr_expect_eq(got.inputs, 1); /* the only token with a weight */
    cr_expect_float_eq(got.n_w.mean, exp(f->log_p[4 * COUNT + 4]), 1e-12);
    cr_expect_eq(got.n_w.q05, got.n_w.q95);
    cr_expect_eq(got.s_star.q95, 1);
    cr_expect_float_eq(got.h_inf.median, -f->log_p[4 * COUNT + 4], 1e-12);
    ok(nvdp_deniability_measure(f->ctx, f->dchi, NULL, COUNT, 100, 1, &got));
    for (size_t x = 0; x < COUNT; x++)
        n_w += exp(f->log_p[x * COUNT + x]) / COUNT;
    cr_expect_eq(got.inputs, COUNT);
    cr_expect_float_eq(got.n_w.mean, n_w, 1e-12);
    cr_expect(got.n_w.q05 <= got.n_w.q25 && got.n_w.q25 <= got.n_w.median &&
              got.n_w.median <= got.n_w.q75 && got.n_w.q75 <= got.n_w.q95);
    cr_expect_float_eq(got.h_0.q75, log(got.s_w.q75), 1e-12);
}

Test(analyse, what_it_refuses) {
    struct fixture *f = make();
    struct nvdp_distances distances = NVDP_RESULT(struct nvdp_distances);
    struct nvdp_deniability deniability = NVDP_RESULT(struct nvdp_deniability);
    double prior[COUNT] = {0};
    cr_expect_eq(nvdp_distances_measure(f->ctx, f->vectors, NULL, 0, 1, &distances),
                 NVDP_ERR_ARGUMENT);
    fails(nvdp_distances_measure(f->ctx, f->vectors, prior, 9, 1, &distances), NVDP_ERR_ARGUMENT,
          "found 9 tokens and a sum of 0");
    prior[0] = 2;
    prior[1] = -1;
    cr_expect_eq(nvdp_distances_measure(f->ctx, f->vectors, prior, 9, 1, &distances),
                 NVDP_ERR_ARGUMENT);
    cr_expect_eq(nvdp_deniability_measure(f->ctx, f->dchi, NULL, 9, 0, 1, &deniability),
                 NVDP_ERR_ARGUMENT);
    distances.struct_size = 0;
    cr_expect_eq(nvdp_distances_measure(f->ctx, f->vectors, NULL, 9, 1, &distances),
                 NVDP_ERR_ARGUMENT);
}

Test(analyse, counts_of_texts) {
    const size_t offset[] = {0, 2, 5};
    const int32_t tokens[] = {3, NVDP_DCHI_UNKNOWN, 3, 0, 1};
    const struct nvdp__token_texts texts = {.texts = 2, .offset = offset, .tokens = tokens};
    const double want[4] = {1, 1, 0, 2};
    double counts[4] = {9, 9, 9, 9};
    cr_expect_eq(nvdp__token_texts_count(&texts, 4, counts), 4);
    cr_expect_arr_eq(counts, want, sizeof want);
}
