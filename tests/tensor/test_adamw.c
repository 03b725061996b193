/* AdamW against its formulas in double. */
#include "tensor_test.h"

static struct nvdp__adamw at_step(int t) {
    return (struct nvdp__adamw){.lr = 1e-2,
                                .beta1 = 0.9,
                                .beta2 = 0.999,
                                .eps = 1e-8,
                                .weight_decay = 0.1,
                                .bias1 = 1 - pow(0.9, t),
                                .bias2 = 1 - pow(0.999, t),
                                .grad_scale = 0.5};
}

/* Applies the paper's formulas (and PyTorch's AdamW) element by element in double. */
static void expected(const struct nvdp__adamw *o, size_t n, const float *g, const float *anchor,
                     double *m, double *v, double *x) {
    for (size_t i = 0; i < n; i++) {
        double grad = o->grad_scale * (double)g[i];
        double from = anchor != NULL ? (double)anchor[i] : 0;
        x[i] -= o->lr * o->weight_decay * (x[i] - from);
        m[i] = o->beta1 * m[i] + (1 - o->beta1) * grad;
        v[i] = o->beta2 * v[i] + (1 - o->beta2) * grad * grad;
        x[i] -= o->lr * (m[i] / o->bias1) / (sqrt(v[i] / o->bias2) + o->eps);
    }
}

/* Takes ten steps, each of which rounds x and m by 6e-8 of their size. */
static void check(size_t n, bool anchored) {
    float *start = test_floats(n, 1);
    float *anchor = anchored ? test_floats(n, 1) : NULL;
    double *m64 = test_zeros64(n), *v64 = test_zeros64(n);
    double *x64 = test_widen(n, start);
    float *m[DEVICES], *v[DEVICES], *x[DEVICES];
    for (size_t d = 0; d < DEVICES; d++) {
        m[d] = test_zeros(n);
        v[d] = test_zeros(n);
        x[d] = test_copy(n, start);
    }
    for (int t = 1; t <= 10; t++) {
        struct nvdp__adamw opt = at_step(t);
        float *g = test_floats(n, 1);
        if (n > 2) g[2] = 0;
        expected(&opt, n, g, anchor, m64, v64, x64);
        for (size_t d = 0; d < DEVICES; d++)
            op_adamw_step(&test_devices[d], &opt, n, g, anchor, m[d], v[d], x[d]);
    }
    for (size_t d = 0; d < DEVICES; d++) {
        test_close("m", n, m[d], m64, FLOAT_TOLERANCE);
        test_close("v", n, v[d], v64, FLOAT_TOLERANCE);
        test_close("x", n, x[d], x64, FLOAT_TOLERANCE);
    }
    test_same("m", n, m[FAST_ONE], m[FAST_TWO]);
    test_same("v", n, v[FAST_ONE], v[FAST_TWO]);
    test_same("x", n, x[FAST_ONE], x[FAST_TWO]);
}

Test(adamw, matches_a_loop_in_double) {
    const size_t lengths[] = {0, 1, 7, 16, 17, 33, 4097, 40000};
    for (size_t l = 0; l < 8; l++) {
        check(lengths[l], false);
        check(lengths[l], true);
    }
}

/* At the first step m/bias1 = g and v/bias2 = g^2: x moves by lr against the gradient's sign. */
Test(adamw, first_step_has_the_size_of_the_learning_rate) {
    for (size_t d = 0; d < DEVICES; d++) {
        struct nvdp__adamw opt = at_step(1);
        opt.weight_decay = 0;
        float g[] = {1e-3f, -5}, m[2] = {0}, v[2] = {0}, x[2] = {0};
        op_adamw_step(&test_devices[d], &opt, 2, g, NULL, m, v, x);
        near((double)x[0], -1e-2, 1e-6);
        near((double)x[1], 1e-2, 1e-6);
    }
}
