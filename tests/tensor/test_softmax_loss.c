/* Compares cross-entropy over many classes with the plain one in double. */
#include "tensor_test.h"

static void check(const struct nvdp__device *dev, size_t rows, size_t classes, double spread) {
    float *logits = test_floats(rows * classes, spread);
    int32_t *label = test_ints(rows, 0, (int32_t)classes);
    float *label_float = test_zeros(rows);
    double *wide = test_widen(rows * classes, logits);
    double *want = test_zeros64(rows * classes), *nll = test_zeros64(rows);
    int32_t *best = test_ints(rows, -1, 0);
    for (size_t r = 0; r < rows; r++)
        label_float[r] = (float)label[r];
    double mean = ref64_cross_entropy(rows, classes, wide, label_float, 0.5, want);
    op_softmax_loss(dev, rows, classes, logits, 1, label, 0.5 / (double)rows, nll, best);
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        sum += nll[r];
        for (size_t c = 0; c < classes; c++)
            cr_assert(wide[r * classes + c] < wide[r * classes + (size_t)best[r]] ||
                      (wide[r * classes + c] == wide[r * classes + (size_t)best[r]] &&
                       c >= (size_t)best[r]));
    }
    near(sum / (double)rows, mean, FLOAT_TOLERANCE * (1 + spread));
    test_close("dlogits", rows * classes, logits, want, 2 * FLOAT_TOLERANCE);
}

Test(softmax_loss, matches_double) {
    for (size_t d = 0; d < DEVICES; d++)
        for (size_t i = 0; i < SIZES; i++) {
            check(&test_devices[d], 3, test_sizes[i] + 1, 4);
            check(&test_devices[d], test_sizes[i] + 1, 1000, 20);
        }
}

/* The bits are the same on one thread and two. */
Test(softmax_loss, does_not_depend_on_threads) {
    enum { ROWS = 37, CLASSES = 2011 };
    float *logits = test_floats(ROWS * CLASSES, 8);
    float *copy = test_copy(ROWS * CLASSES, logits);
    int32_t *label = test_ints(ROWS, 0, CLASSES);
    double one[ROWS], two[ROWS];
    int32_t best[ROWS];
    op_softmax_loss(&test_devices[FAST_ONE], ROWS, CLASSES, logits, 1, label, 1, one, best);
    op_softmax_loss(&test_devices[FAST_TWO], ROWS, CLASSES, copy, 1, label, 1, two, best);
    test_same("dlogits", ROWS * CLASSES, logits, copy);
    for (size_t r = 0; r < ROWS; r++)
        cr_assert_eq(one[r], two[r]);
}

/* Several labels, one of them three times: target probabilities 3/5, 1/5, 1/5. */
Test(softmax_loss, several_labels_are_a_distribution) {
    enum { CLASSES = 301 };
    for (size_t d = 0; d < DEVICES; d++) {
        float *logits = test_floats(CLASSES, 5);
        const int32_t label[5] = {7, 300, 7, 0, 7};
        double target[CLASSES] = {[7] = .6, [300] = .2, [0] = .2}, want[CLASSES], sum = 0,
               entropy = 0;
        for (size_t c = 0; c < CLASSES; c++)
            sum += exp((double)logits[c]);
        for (size_t c = 0; c < CLASSES; c++) {
            double p = exp((double)logits[c]) / sum;
            entropy -= target[c] * log(p);
            want[c] = 2 * (p - target[c]);
        }
        double nll;
        int32_t best;
        op_softmax_loss(&test_devices[d], 1, CLASSES, logits, 5, label, 2, &nll, &best);
        near(nll, entropy, 5 * FLOAT_TOLERANCE);
        test_close("dlogits", CLASSES, logits, want, 2 * FLOAT_TOLERANCE);
    }
}

Test(softmax_loss, at_the_edges) {
    for (size_t d = 0; d < DEVICES; d++) {
        const struct nvdp__device *dev = &test_devices[d];
        double nll;
        int32_t best;
        float far[] = {-1e30F, 1e30F, 1e30F};
        op_softmax_loss(dev, 1, 3, far, 1, (const int32_t[]){2}, 1, &nll, &best);
        near(nll, log(2), 1e-7);
        cr_expect_eq(best, 1); /* the first on ties */
        near(far[2], -0.5F, 1e-7);
        float wrong[] = {0, 200};
        op_softmax_loss(dev, 1, 2, wrong, 1, (const int32_t[]){0}, 1, &nll, &best);
        near(nll, 200, 1e-4);
        float nan[] = {NAN, 1, 2};
        op_softmax_loss(dev, 1, 3, nan, 1, (const int32_t[]){1}, 1, &nll, &best);
        cr_expect(isnan(nll));
    }
}
