/* Losses of few classes and of scores, and their gradients. */
#include "tensor_test.h"

struct entropy {
    size_t rows, classes;
    double *logits;
    const float *label;
};

static double entropy_value(void *user) {
    struct entropy *e = user;
    return 3 * ref64_cross_entropy(e->rows, e->classes, e->logits, e->label, 1, NULL);
}

Test(loss, cross_entropy_gradient_is_the_derivative) {
    enum { ROWS = 4, CLASSES = 5 };
    const float label[ROWS] = {0, 4, 2, 2};
    struct entropy e = {ROWS, CLASSES, test_widen(ROWS * CLASSES, test_floats(ROWS * CLASSES, 2)),
                        label};
    double *dlogits = test_zeros64(ROWS * CLASSES);
    ref64_cross_entropy(ROWS, CLASSES, e.logits, label, 3, dlogits);
    gradcheck("logits", ROWS * CLASSES, e.logits, dlogits, entropy_value, &e, GRADCHECK_TOLERANCE);
}

Test(loss, cross_entropy_matches_double) {
    for (size_t d = 0; d < DEVICES; d++)
        for (size_t i = 0; i < SIZES; i++) {
            size_t rows = test_sizes[i];
            float *logits = test_floats(rows * 3, 5);
            float *label = test_zeros(rows);
            for (size_t r = 0; r < rows; r++)
                label[r] = (float)(r % 3);
            float *dlogits = test_zeros(rows * 3);
            double *want = test_zeros64(rows * 3);
            double loss64 =
                ref64_cross_entropy(rows, 3, test_widen(rows * 3, logits), label, 0.5, want);
            double loss =
                nvdp__cross_entropy(&test_devices[d], rows, 3, logits, label, 0.5, dlogits);
            near(loss, loss64, 1e-12);
            test_close("dlogits", rows * 3, dlogits, want, FLOAT_TOLERANCE);
            cr_expect_eq(nvdp__cross_entropy(&test_devices[d], rows, 3, logits, label, 0.5, NULL),
                         loss);
        }
}

/* Each row's part times its label's weight. */
Test(loss, weighted_cross_entropy) {
    enum { ROWS = 7, CLASSES = 3 };
    const struct nvdp__device *dev = &test_devices[0];
    const double weight[CLASSES] = {.25, 3, 0};
    float *logits = test_floats(ROWS * CLASSES, 4), label[ROWS], all[ROWS * CLASSES], one[CLASSES];
    double sum = 0;
    for (size_t r = 0; r < ROWS; r++)
        label[r] = (float)(r % CLASSES);
    const double loss =
        nvdp__weighted_cross_entropy(dev, ROWS, CLASSES, logits, label, weight, 2, all);
    for (size_t r = 0; r < ROWS; r++) {
        const double w = weight[r % CLASSES];
        sum += w * nvdp__cross_entropy(dev, 1, CLASSES, logits + r * CLASSES, label + r, 2, one);
        for (size_t c = 0; c < CLASSES; c++) /* rounded twice */
            near(all[r * CLASSES + c], w * (double)one[c] / ROWS, 1e-6);
    }
    near(loss, sum / ROWS, 1e-12);
    cr_expect_eq(nvdp__weighted_cross_entropy(dev, ROWS, CLASSES, logits, label, NULL, 2, NULL),
                 nvdp__cross_entropy(dev, ROWS, CLASSES, logits, label, 2, NULL));
}

Test(loss, cross_entropy_at_the_edges) {
    const struct nvdp__device *dev = &test_devices[0];
    const float huge[] = {1e30f, -1e30f};
    cr_expect_eq(nvdp__cross_entropy(dev, 1, 2, huge, (const float[]){0}, 1, NULL), 0);
    near(nvdp__cross_entropy(dev, 1, 2, huge, (const float[]){1}, 1, NULL), 2e30, 1e24);
    const float nan_first[] = {NAN, 0}, nan_last[] = {0, NAN};
    cr_expect(isnan(nvdp__cross_entropy(dev, 1, 2, nan_first, (const float[]){1}, 1, NULL)));
    cr_expect(isnan(nvdp__cross_entropy(dev, 1, 2, nan_last, (const float[]){0}, 1, NULL)));
    const float even[] = {0, 0};
    cr_expect(isnan(nvdp__cross_entropy(dev, 1, 2, even, (const float[]){2}, 1, NULL)));
    cr_expect(isnan(nvdp__cross_entropy(dev, 1, 2, even, (const float[]){NAN}, 1, NULL)));
    near(nvdp__cross_entropy(dev, 1, 2, even, (const float[]){1}, 1, NULL), log(2), 1e-15);
}

struct squared {
    size_t rows;
    double *y;
    const float *label;
};

static double squared_value(void *user) {
    struct squared *s = user;
    return 2 * ref64_mean_squared(s->rows, s->y, s->label, 1, NULL);
}

Test(loss, mean_squared_matches_double_and_its_derivative) {
    enum { ROWS = 17 };
    float *y = test_floats(ROWS, 3), *label = test_floats(ROWS, 3);
    float *dy = test_zeros(ROWS);
    double *want = test_zeros64(ROWS);
    struct squared s = {ROWS, test_widen(ROWS, y), label};
    double loss = ref64_mean_squared(ROWS, s.y, label, 2, want);
    gradcheck("y", ROWS, s.y, want, squared_value, &s, GRADCHECK_TOLERANCE);
    for (size_t d = 0; d < DEVICES; d++) {
        near(nvdp__mean_squared(&test_devices[d], ROWS, y, label, 2, dy), loss, 1e-12);
        test_close("dy", ROWS, dy, want, FLOAT_TOLERANCE);
    }
    y[3] = NAN;
    cr_expect(isnan(nvdp__mean_squared(&test_devices[0], ROWS, y, label, 2, NULL)));
}
