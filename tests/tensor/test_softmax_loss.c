/* Cross-entropy over many classes against the plain one in double. */
#include "tensor_test.h"

#include "tensor/ops.h"

static void check(const struct nvdp__device *dev, size_t rows, size_t classes, double spread) {
    float *logits = test_floats(rows * classes, spread);
    int32_t *label = test_ints(rows, 0, (int32_t)classes);
    float *label_float = test_zeros(rows);
    double *wide = test_widen(rows * classes, logits);
    double *want = test_zeros64(rows * classes);
    double *nll = test_zeros64(rows);
    int32_t *best = test_ints(rows, -1, 0);
    for (size_t r = 0; r < rows; r++)
        label_float[r] = (float)label[r];
    double mean = ref64_cross_entropy(rows, classes, wide, label_float, 0.5, want);
    op_softmax_loss(dev, rows, classes, logits, label, 0.5 / (double)rows, nll, best);
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        sum += nll[r];
        for (size_t c = 0; c < classes; c++)
            cr_assert(wide[r * classes + c] < wide[r * classes + (size_t)best[r]] ||
                      (wide[r * classes + c] == wide[r * classes + (size_t)best[r]] &&
                       c >= (size_t)best[r]));
    }
    cr_expect_float_eq(sum / (double)rows, mean, FLOAT_TOLERANCE * (1 + spread));
    test_close("dlogits", rows * classes, logits, want, 2 * FLOAT_TOLERANCE);
    test_free();
}

Test(softmax_loss, matches_double) {
    for (size_t d = 0; d < DEVICES; d++)
        for (size_t i = 0; i < SIZES; i++) {
            check(&test_devices[d], 3, test_sizes[i] + 1, 4);
            check(&test_devices[d], test_sizes[i] + 1, 1000, 20);
        }
}

/* The same bits on one thread and two. */
Test(softmax_loss, does_not_depend_on_threads) {
    enum { ROWS = 37, CLASSES = 2011 };
    float *logits = test_floats(ROWS * CLASSES, 8);
    float *copy = test_copy(ROWS * CLASSES, logits);
    int32_t *label = test_ints(ROWS, 0, CLASSES);
    double one[ROWS], two[ROWS];
    int32_t best[ROWS];
    op_softmax_loss(&test_devices[FAST_ONE], ROWS, CLASSES, logits, label, 1, one, best);
    op_softmax_loss(&test_devices[FAST_TWO], ROWS, CLASSES, copy, label, 1, two, best);
    test_same("dlogits", ROWS * CLASSES, logits, copy);
    for (size_t r = 0; r < ROWS; r++)
        cr_assert_eq(one[r], two[r]);
    test_free();
}

Test(softmax_loss, at_the_edges) {
    for (size_t d = 0; d < DEVICES; d++) {
        const struct nvdp__device *dev = &test_devices[d];
        double nll;
        int32_t best;
        float far[] = {-1e30F, 1e30F, 1e30F};
        op_softmax_loss(dev, 1, 3, far, (const int32_t[]){2}, 1, &nll, &best);
        cr_expect_float_eq(nll, log(2), 1e-7);
        cr_expect_eq(best, 1); /* the first on ties */
        cr_expect_float_eq(far[2], -0.5F, 1e-7);
        float wrong[] = {0, 200};
        op_softmax_loss(dev, 1, 2, wrong, (const int32_t[]){0}, 1, &nll, &best);
        cr_expect_float_eq(nll, 200, 1e-4);
        float nan[] = {NAN, 1, 2};
        op_softmax_loss(dev, 1, 3, nan, (const int32_t[]){1}, 1, &nll, &best);
        cr_expect(isnan(nll));
    }
}
