/* Muon: orthogonalization and steps against loops in double. */
#include "tensor_test.h"

/* Computes c [m, n] = a [m, k] b [k, n] in double. */
static void multiply(size_t m, size_t n, size_t k, const double *a, const double *b, double *c) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (size_t l = 0; l < k; l++)
                c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
}

static void transpose(size_t rows, size_t cols, const double *x, double *t) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            t[j * rows + i] = x[i * cols + j];
}

/* Iterates five times in double (Jordan et al. 2024): X = a X + (b S + c S^2) X, S = X X^T. */
static void orthogonal64(size_t rows, size_t cols, double *x) {
    double *t = test_zeros64(rows * cols), *s = test_zeros64(rows * rows);
    double *s2 = test_zeros64(rows * rows), *y = test_zeros64(rows * cols);
    double norm = sqrt(test_dot(rows * cols, x, x));
    for (size_t i = 0; i < rows * cols; i++)
        x[i] /= norm;
    for (int step = 0; step < 5; step++) {
        transpose(rows, cols, x, t);
        multiply(rows, rows, cols, x, t, s);
        multiply(rows, rows, rows, s, s, s2);
        for (size_t i = 0; i < rows * rows; i++)
            s[i] = -4.7750 * s[i] + 2.0315 * s2[i];
        multiply(rows, cols, rows, s, x, y);
        for (size_t i = 0; i < rows * cols; i++)
            x[i] = 3.4445 * x[i] + y[i];
    }
}

static const struct {
    size_t rows, cols;
} shapes[] = {{1, 1}, {1, 9}, {9, 1}, {16, 16}, {24, 40}, {40, 24}, {33, 130}, {128, 64}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static float *room_for(size_t rows, size_t cols) {
    const struct nvdp__matrix matrix = {.rows = rows, .cols = cols};
    return test_zeros(2 * nvdp__muon_scratch(1, &matrix)); /* for two threads */
}

/* Five steps of three products in float32; each step multiplies errors by up to 3.4: 3.4^5 *
 * 6e-8 * a few. */
static const double TOLERANCE = 3e-4;

Test(muon, orthogonalizes_as_a_loop_in_double) {
    for (size_t i = 0; i < SHAPES; i++) {
        size_t rows = shapes[i].rows, cols = shapes[i].cols;
        float *x = test_floats(rows * cols, 3);
        double *want = test_widen(rows * cols, x);
        orthogonal64(rows, cols, want);
        for (size_t d = 0; d < DEVICES; d++) {
            float *got = test_copy(rows * cols, x);
            nvdp__orthogonalize(&test_devices[d], rows, cols, room_for(rows, cols), got);
            test_close("orthogonalised", rows * cols, got, want, TOLERANCE);
        }
    }
}

/* Checks the result's singular values, u^T X v for the input's own singular vectors; the input
 * is built from known ones. */
Test(muon, evens_out_singular_values) {
    enum { N = 32 };
    static const double size[N / 4] = {1, 0.5, 0.2, 0.1, 0.07, 0.05, 0.04, 0.03};
    float *x = test_zeros(N * N);
    for (size_t k = 0; k < N / 4; k++) /* Fourier vectors are orthogonal */
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                x[i * N + j] +=
                    (float)(size[k] * 2 / N * cos(2 * M_PI * (double)((k + 1) * i) / N) *
                            sin(2 * M_PI * (double)((k + 1) * j) / N));
    nvdp__orthogonalize(&test_devices[FAST_TWO], N, N, room_for(N, N), x);
    for (size_t k = 0; k < N / 4; k++) {
        double value = 0;
        for (size_t i = 0; i < N; i++)
            for (size_t j = 0; j < N; j++)
                value += (double)x[i * N + j] * 2 / N * cos(2 * M_PI * (double)((k + 1) * i) / N) *
                         sin(2 * M_PI * (double)((k + 1) * j) / N);
        cr_assert_gt(value, 0.67, "direction %zu: %g", k, value);
        cr_assert_lt(value, 1.21, "direction %zu: %g", k, value);
    }
}

Test(muon, leaves_zero_alone) {
    float *x = test_zeros(12);
    nvdp__orthogonalize(&test_devices[FAST_ONE], 3, 4, room_for(3, 4), x);
    for (size_t i = 0; i < 12; i++)
        cr_assert_eq(x[i], 0);
}

/* Computes momentum, step and decay in double for four steps. */
static void expected(const struct nvdp__muon *o, const struct nvdp__matrix *matrix, const float *g,
                     double *m, double *x) {
    size_t n = matrix->rows * matrix->cols;
    double *update = test_zeros64(n), *turned = test_zeros64(n);
    bool upright = matrix->rows > matrix->cols;
    for (size_t i = 0; i < n; i++) {
        double grad = o->grad_scale * (double)g[matrix->offset + i];
        m[matrix->offset + i] = o->momentum * m[matrix->offset + i] + grad;
        update[i] = grad + o->momentum * m[matrix->offset + i];
    }
    transpose(matrix->rows, matrix->cols, update, turned);
    orthogonal64(upright ? matrix->cols : matrix->rows, upright ? matrix->rows : matrix->cols,
                 upright ? turned : update);
    if (upright) transpose(matrix->cols, matrix->rows, turned, update);
    size_t longer = upright ? matrix->rows : matrix->cols;
    for (size_t i = 0; i < n; i++) {
        double *value = &x[matrix->offset + i];
        if (matrix->decays) *value -= o->lr * o->weight_decay * *value;
        *value -= o->lr * 0.2 * sqrt((double)longer) * update[i];
    }
}

Test(muon, steps_as_a_loop_in_double) {
    static const struct nvdp__matrix matrix[] = {
        {.offset = 0, .rows = 24, .cols = 40, .decays = true},
        {.offset = 960, .rows = 40, .cols = 24},
        {.offset = 1930, .rows = 16, .cols = 16, .decays = true}};
    enum { MATRICES = 3, TOTAL = 2200 };
    const struct nvdp__muon opt = {
        .lr = 0.02, .momentum = 0.95, .weight_decay = 0.1, .grad_scale = 0.5};
    float *start = test_floats(TOTAL, 1);
    float *m[DEVICES], *x[DEVICES];
    double *m64 = test_zeros64(TOTAL), *x64 = test_widen(TOTAL, start);
    for (size_t d = 0; d < DEVICES; d++) {
        m[d] = test_zeros(TOTAL);
        x[d] = test_copy(TOTAL, start);
    }
    for (int step = 0; step < 4; step++) {
        float *g = test_floats(TOTAL, 1);
        for (size_t i = 0; i < MATRICES; i++)
            expected(&opt, &matrix[i], g, m64, x64);
        for (size_t d = 0; d < DEVICES; d++)
            nvdp__muon_step(&test_devices[d], &opt, MATRICES, matrix,
                            test_zeros(2 * nvdp__muon_scratch(MATRICES, matrix)), g, m[d], x[d]);
    }
    for (size_t d = 0; d < DEVICES; d++) {
        test_close("m", TOTAL, m[d], m64, FLOAT_TOLERANCE);
        test_close("x", TOTAL, x[d], x64, TOLERANCE);
    }
    test_same("x", TOTAL, x[FAST_ONE], x[FAST_TWO]);
}
