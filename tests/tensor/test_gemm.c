/* Matrix products and linear layers in float32 against plain loops in double. */
#include "tensor_test.h"

Test(gemm, all_transpositions_and_strides_match_double) {
    for (size_t c = 0; c < SIZES * SIZES * 4 * DEVICES; c++) {
        const struct nvdp__device *dev = &test_devices[c % DEVICES];
        bool trans_a = c / DEVICES % 2 == 1, trans_b = c / DEVICES / 2 % 2 == 1;
        size_t m = test_sizes[c / DEVICES / 4 % SIZES], n = test_sizes[c / DEVICES / 4 / SIZES];
        size_t k = test_sizes[(m + n) % (SIZES - 1)];
        size_t lda = (trans_a ? m : k) + 3;
        size_t ldb = (trans_b ? k : n) + 1;
        size_t ldc = n + 2;
        size_t na = (trans_a ? k : m) * lda;
        size_t nb = (trans_b ? n : k) * ldb;
        float *a = test_floats(na, 1), *b = test_floats(nb, 1), *y = test_floats(m * ldc, 1);
        double *want = test_widen(m * ldc, y);
        ref64_gemm(trans_a, trans_b, m, n, k, 0.5, test_widen(na, a), lda, test_widen(nb, b), ldb,
                   -2, want, ldc);
        op_gemm(dev, trans_a, trans_b, m, n, k, 0.5f, a, lda, b, ldb, -2, y, ldc);
        test_close("gemm", m * ldc, y, want, FLOAT_TOLERANCE);
    }
}

Test(gemm, empty_sums_and_empty_results) {
    for (size_t d = 0; d < DEVICES; d++) {
        float x[4] = {1, 2, 3, NAN};
        op_gemm(&test_devices[d], false, false, 0, 2, 2, 1, x, 2, x, 2, 0, x, 2);
        op_gemm(&test_devices[d], false, false, 2, 0, 2, 1, x, 2, x, 2, 0, x, 2);
        cr_expect_eq(x[2], 3);
        op_gemm(&test_devices[d], false, false, 1, 2, 0, 1, x, 0, x, 2, 2, x, 2);
        cr_expect_eq(x[1], 4);
        op_gemm(&test_devices[d], false, false, 2, 2, 0, 1, x, 0, x, 2, 0, x, 2);
        cr_expect_eq(x[3], 0, "beta 0 sets, whatever was there");
    }
}

struct linear {
    size_t rows, in, out;
    double *x, *w, *b, *y, *weight;
};

static double linear_value(void *user) {
    struct linear *l = user;
    ref64_linear_forward(l->rows, l->in, l->out, l->x, l->w, l->b, l->y);
    return test_dot(l->rows * l->out, l->y, l->weight);
}

Test(linear, plain_backward_is_the_derivative) {
    enum { ROWS = 5, IN = 4, OUT = 3 };
    struct linear l = {ROWS,
                       IN,
                       OUT,
                       test_widen(ROWS * IN, test_floats(ROWS * IN, 1)),
                       test_widen(OUT * IN, test_floats(OUT * IN, 1)),
                       test_widen(OUT, test_floats(OUT, 1)),
                       test_zeros64(ROWS * OUT),
                       test_widen(ROWS * OUT, test_floats(ROWS * OUT, 1))};
    double *dx = test_zeros64(ROWS * IN), *dw = test_zeros64(OUT * IN), *db = test_zeros64(OUT);
    ref64_linear_backward(ROWS, IN, OUT, l.x, l.w, l.weight, dx, false, dw, db);
    gradcheck("x", ROWS * IN, l.x, dx, linear_value, &l, GRADCHECK_TOLERANCE);
    gradcheck("w", OUT * IN, l.w, dw, linear_value, &l, GRADCHECK_TOLERANCE);
    gradcheck("b", OUT, l.b, db, linear_value, &l, GRADCHECK_TOLERANCE);
}

static void check_linear(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                         bool bias, bool accumulate) {
    float *x = test_floats(rows * in, 1), *w = test_floats(out * in, 1);
    float *b = bias ? test_floats(out, 1) : NULL;
    float *dy = test_floats(rows * out, 1), *y = test_floats(rows * out, 1);
    float *dx = test_floats(rows * in, 1), *dw = test_floats(out * in, 1);
    float *db = test_floats(out, 1);
    double *y64 = test_zeros64(rows * out);
    double *dx64 = test_widen(rows * in, dx), *dw64 = test_widen(out * in, dw);
    double *db64 = test_widen(out, db), *x64 = test_widen(rows * in, x);
    double *w64 = test_widen(out * in, w);
    ref64_linear_forward(rows, in, out, x64, w64, test_widen(out, b), y64);
    ref64_linear_backward(rows, in, out, x64, w64, test_widen(rows * out, dy), dx64, accumulate,
                          dw64, db64);
    op_linear_forward(dev, rows, in, out, x, w, b, y);
    op_linear_backward(dev, rows, in, out, x, w, dy, dx, accumulate, dw, db);
    test_close("y", rows * out, y, y64, FLOAT_TOLERANCE);
    test_close("dx", rows * in, dx, dx64, FLOAT_TOLERANCE);
    test_close("dw", out * in, dw, dw64, FLOAT_TOLERANCE);
    test_close("db", out, db, db64, FLOAT_TOLERANCE);
    op_linear_backward(dev, rows, in, out, x, w, dy, NULL, false, NULL, NULL);
}

Test(linear, forward_and_backward_match_double) {
    for (size_t d = 0; d < DEVICES; d++) {
        for (size_t i = 0; i < SIZES; i++)
            for (size_t j = 0; j < SIZES; j++)
                check_linear(&test_devices[d], test_sizes[i], test_sizes[j],
                             test_sizes[(i + j) % SIZES], i % 2 == 0, j % 2 == 0);
        check_linear(&test_devices[d], 0, 5, 3, true, true);
        check_linear(&test_devices[d], 600, 20, 90, true, false);
    }
}

Test(linear, bias_gradient_does_not_depend_on_threads) {
    enum { ROWS = 700, OUT = 77 };
    float *dy = test_floats((size_t)ROWS * OUT, 1);
    float *one = test_zeros(OUT), *two = test_zeros(OUT);
    op_linear_backward(&test_devices[FAST_ONE], ROWS, 1, OUT, NULL, NULL, dy, NULL, false, NULL,
                       one);
    op_linear_backward(&test_devices[FAST_TWO], ROWS, 1, OUT, NULL, NULL, dy, NULL, false, NULL,
                       two);
    test_same("db", OUT, one, two);
}
