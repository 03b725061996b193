/* Embeddings, gather and scatter, and pooling of rows. */
#include "tensor_test.h"

static void check_embed(size_t rows, size_t dim) {
    enum { WORDS = 11, POSITIONS = 5, TYPES = 2 };
    int32_t *ids = test_ints(rows, 0, WORDS), *positions = test_ints(rows, 0, POSITIONS);
    int32_t *types = test_ints(rows, 0, TYPES);
    float *word = test_floats(WORDS * dim, 1), *position = test_floats(POSITIONS * dim, 1);
    float *type = test_floats(TYPES * dim, 1), *dy = test_floats(rows * dim, 1);
    double *y64 = test_zeros64(rows * dim);
    double *dword64 = test_widen(WORDS * dim, word);
    double *dposition64 = test_widen(POSITIONS * dim, position);
    double *dtype64 = test_widen(TYPES * dim, type);
    ref64_embed_forward(rows, dim, ids, positions, types, dword64, dposition64, dtype64, y64);
    ref64_embed_backward(rows, dim, ids, positions, types, test_widen(rows * dim, dy), dword64,
                         dposition64, dtype64);
    float *dword[DEVICES], *dposition[DEVICES], *dtype[DEVICES];
    for (size_t d = 0; d < DEVICES; d++) {
        float *y = test_zeros(rows * dim);
        dword[d] = test_copy(WORDS * dim, word);
        dposition[d] = test_copy(POSITIONS * dim, position);
        dtype[d] = test_copy(TYPES * dim, type);
        struct nvdp__embedding tables = {.ids = ids, .positions = positions, .types = types};
        struct nvdp__embedding gradients = tables;
        tables.word = word;
        tables.position = position;
        tables.type = type;
        gradients.word = dword[d];
        gradients.position = dposition[d];
        gradients.type = dtype[d];
        op_embed_forward(&test_devices[d], &tables, nvdp__f32(rows, dim, y));
        op_embed_backward(&test_devices[d], &gradients, nvdp__f32(rows, dim, dy));
        test_close("y", rows * dim, y, y64, FLOAT_TOLERANCE);
        test_close("dword", WORDS * dim, dword[d], dword64, FLOAT_TOLERANCE);
        test_close("dposition", POSITIONS * dim, dposition[d], dposition64, FLOAT_TOLERANCE);
        test_close("dtype", TYPES * dim, dtype[d], dtype64, FLOAT_TOLERANCE);
    }
    test_same("dword", WORDS * dim, dword[FAST_ONE], dword[FAST_TWO]);
    test_same("dtype", TYPES * dim, dtype[FAST_ONE], dtype[FAST_TWO]);
}

Test(rows, embeddings_match_double_on_any_number_of_threads) {
    for (size_t i = 0; i < SIZES; i++)
        for (size_t j = 0; j < SIZES; j++)
            check_embed(test_sizes[i], test_sizes[j]);
    check_embed(0, 16);
    check_embed(300, 130);
}

Test(rows, gather_takes_rows_and_zeros) {
    for (size_t d = 0; d < DEVICES; d++) {
        const float x[] = {1, 2, 3, 4};
        float y[6] = {9, 9, 9, 9, 9, 9};
        nvdp__rows_gather(&test_devices[d], 3, 2, (const int32_t[]){1, -1, 0}, x, y);
        test_same("gather", 6, y, (const float[]){3, 4, 0, 0, 1, 2});
    }
}

Test(rows, scatter_adds_and_skips_negative_rows) {
    for (size_t d = 0; d < DEVICES; d++) {
        const float y[] = {1, 2, 3, 4, 5, 6};
        float x[4] = {10, 20, 30, 40};
        op_rows_scatter_add(&test_devices[d], 3, 2, (const int32_t[]){1, -1, 1}, y, x);
        test_same("scatter", 4, x, (const float[]){10, 20, 36, 48});
    }
}

/* <gather(x), y> = <x, scatter(y)>: each is the other's backward. */
Test(rows, gather_and_scatter_are_adjoint) {
    enum { FROM = 9, ROWS = 33, DIM = 17 };
    int32_t *index = test_ints(ROWS, -1, FROM);
    double *x = test_widen(FROM * DIM, test_floats(FROM * DIM, 1));
    double *y = test_widen(ROWS * DIM, test_floats(ROWS * DIM, 1));
    double *gathered = test_zeros64(ROWS * DIM), *scattered = test_zeros64(FROM * DIM);
    ref64_rows_gather(ROWS, DIM, index, x, gathered);
    ref64_rows_scatter_add(ROWS, DIM, index, y, scattered);
    near(test_dot(ROWS * DIM, gathered, y), test_dot(FROM * DIM, x, scattered), 1e-12);
}

struct pool {
    const int32_t *offset;
    size_t groups, rows, dim;
    double *weight, *x, *y, *dy;
};

static double pool_value(void *user) {
    struct pool *p = user;
    ref64_pool_forward(p->groups, p->dim, p->offset, p->weight, p->x, p->y);
    return test_dot(p->groups * p->dim, p->y, p->dy);
}

static const int32_t few_groups[] = {0, 3, 3, 4, 9}; /* one of them empty */

Test(pool, plain_backward_is_the_derivative) {
    for (int weighted = 0; weighted < 2; weighted++) {
        enum { GROUPS = 4, ROWS = 9, DIM = 5 };
        struct pool p = {few_groups,
                         GROUPS,
                         ROWS,
                         DIM,
                         weighted ? test_widen(ROWS, test_floats(ROWS, 1)) : NULL,
                         test_widen(ROWS * DIM, test_floats(ROWS * DIM, 1)),
                         test_zeros64(GROUPS * DIM),
                         test_widen(GROUPS * DIM, test_floats(GROUPS * DIM, 1))};
        double *dx = test_zeros64(ROWS * DIM), *dweight = test_zeros64(ROWS);
        ref64_pool_backward(GROUPS, DIM, p.offset, p.weight, p.x, p.dy, dx,
                            weighted ? dweight : NULL);
        gradcheck("x", ROWS * DIM, p.x, dx, pool_value, &p, GRADCHECK_TOLERANCE);
        if (weighted)
            gradcheck("weight", ROWS, p.weight, dweight, pool_value, &p, GRADCHECK_TOLERANCE);
    }
}

static void check_pool(size_t groups, const int32_t *offset, size_t dim, bool weighted) {
    size_t rows = (size_t)offset[groups];
    float *weight = weighted ? test_floats(rows, 1) : NULL;
    float *x = test_floats(rows * dim, 1), *dy = test_floats(groups * dim, 1);
    double *weight64 = test_widen(rows, weight), *x64 = test_widen(rows * dim, x);
    double *y64 = test_zeros64(groups * dim), *dx64 = test_zeros64(rows * dim);
    double *dweight64 = test_zeros64(rows);
    ref64_pool_forward(groups, dim, offset, weight64, x64, y64);
    ref64_pool_backward(groups, dim, offset, weight64, x64, test_widen(groups * dim, dy), dx64,
                        dweight64);
    for (size_t d = 0; d < DEVICES; d++) {
        float *y = test_floats(groups * dim, 1), *dx = test_floats(rows * dim, 1);
        float *dweight = test_floats(rows, 1);
        op_pool_forward(&test_devices[d], groups, dim, offset, weight, x, y);
        op_pool_backward(&test_devices[d], groups, dim, offset, weight, x, dy, dx,
                         weighted ? dweight : NULL);
        test_close("y", groups * dim, y, y64, FLOAT_TOLERANCE);
        test_close("dx", rows * dim, dx, dx64, FLOAT_TOLERANCE);
        if (weighted) test_close("dweight", rows, dweight, dweight64, FLOAT_TOLERANCE);
    }
}

Test(pool, matches_double) {
    const int32_t many[] = {0, 17, 17, 50, 51, 250};
    for (size_t j = 0; j < SIZES; j++)
        for (int weighted = 0; weighted < 2; weighted++) {
            check_pool(4, few_groups, test_sizes[j], weighted == 1);
            check_pool(5, many, test_sizes[j], weighted == 1);
        }
    check_pool(0, many, 3, true);
}

Test(pool, max_and_unit_length_match_double) {
    const int32_t offset[] = {0, 3, 3, 4, 21};
    enum { GROUPS = 4, ROWS = 21 };
    for (size_t j = 0; j < SIZES; j++) {
        size_t dim = test_sizes[j];
        float *x = test_floats(ROWS * dim, 1);
        for (size_t d = 0; d < DEVICES; d++) {
            float *y = test_floats(GROUPS * dim, 1);
            double *want = test_zeros64(GROUPS * dim);
            nvdp__pool_max_forward(&test_devices[d], GROUPS, dim, offset, x, y);
            for (size_t g = 0; g < GROUPS; g++) {
                for (int32_t r = offset[g]; r < offset[g + 1]; r++) {
                    for (size_t i = 0; i < dim; i++) {
                        double value = (double)x[(size_t)r * dim + i];
                        if (r == offset[g] || value > want[g * dim + i]) want[g * dim + i] = value;
                    }
                }
            }
            test_close("max", GROUPS * dim, y, want, 0);
            nvdp__rows_normalize(&test_devices[d], GROUPS, dim, y);
            for (size_t g = 0; g < GROUPS; g++) {
                double squares = 0;
                for (size_t i = 0; i < dim; i++)
                    squares += want[g * dim + i] * want[g * dim + i];
                for (size_t i = 0; i < dim; i++)
                    want[g * dim + i] /= squares > 0 ? sqrt(squares) : 1;
            }
            test_close("unit length", GROUPS * dim, y, want, FLOAT_TOLERANCE);
        }
    }
}
