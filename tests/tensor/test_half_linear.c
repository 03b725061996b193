/* Dense layers with bfloat16 operands (half.c) against the plain loops on the same operands. */
#include "half_test.h"

#include <string.h>

/* Operands have rows in whole blocks; what is past the end, NaN at first, is followed by GUARD
 * elements that nobody may touch. */
enum { GUARD = 40 };

static nvdp__bf16 *operand(size_t rows, size_t dim) {
    size_t n = nvdp__half_rows(rows) * dim;
    nvdp__bf16 *x = half_nans(n + GUARD);
    if (rows > 0) memcpy(x, half_values(rows * dim, 1), rows * dim * sizeof *x);
    return x;
}

static void untouched(const char *what, size_t rows, size_t dim, const nvdp__bf16 *x) {
    size_t n = nvdp__half_rows(rows) * dim;
    for (size_t i = n; i < n + GUARD; i++)
        cr_assert_eq(x[i], 0xffff, "%s: written past the last block of rows", what);
}

/* Weights that are bfloat16 numbers already, so that nothing is left to round. */
static float *weights(size_t n) {
    return half_floats(n, half_values(n, 1));
}

struct layer {
    struct nvdp__half_shape shape;
    nvdp__bf16 *x, *dy;
    float *w, *b;
    double *x64, *dy64, *w64, *b64;
};

static struct layer make(size_t rows, size_t in, size_t out) {
    struct layer l = {.shape = {rows, in, out},
                      .x = operand(rows, in),
                      .dy = operand(rows, out),
                      .w = weights(in * out),
                      .b = test_floats(out, 1)};
    l.x64 = half_widen(rows * in, l.x);
    l.dy64 = half_widen(rows * out, l.dy);
    l.w64 = test_widen(in * out, l.w);
    l.b64 = test_widen(out, l.b);
    return l;
}

/* [rows, dim] in whole blocks, and a guard. */
static float *room(size_t rows, size_t dim) {
    return test_floats(nvdp__half_rows(rows) * dim + GUARD, 1);
}

/* Sums are float32: FLOAT_TOLERANCE, as for float products; bfloat16 results are rounded once more.
 */
static void check_forward(const struct nvdp__device *dev, const struct layer *l, bool bias) {
    size_t n = l->shape.rows * l->shape.out;
    double *want = test_zeros64(n);
    ref64_linear_forward(l->shape.rows, l->shape.in, l->shape.out, l->x64, l->w64,
                         bias ? l->b64 : NULL, want);
    float *single = room(l->shape.rows, l->shape.out);
    nvdp__bf16 *half = half_nans(nvdp__half_rows(l->shape.rows) * l->shape.out + GUARD);
    struct nvdp__linear layer = {.rows = l->shape.rows,
                                 .in = l->shape.in,
                                 .out = l->shape.out,
                                 .w = l->w,
                                 .b = bias ? l->b : NULL};
    nvdp__linear_to_float(dev, &layer, half_in(l->x), single);
    nvdp__linear_to_operand(dev, &layer, half_in(l->x), half_out(half));
    test_close("forward", n, single, want, FLOAT_TOLERANCE);
    half_close("forward to bfloat16", n, half, want, FLOAT_TOLERANCE);
    untouched("forward", l->shape.rows, l->shape.out, half);
}

static void check_backward_input(const struct nvdp__device *dev, const struct layer *l) {
    size_t n = l->shape.rows * l->shape.in;
    double *want = test_zeros64(n);
    ref64_linear_backward(l->shape.rows, l->shape.in, l->shape.out, NULL, l->w64, l->dy64, want,
                          false, NULL, NULL);
    float *single = room(l->shape.rows, l->shape.in);
    float *sum = test_copy(nvdp__half_rows(l->shape.rows) * l->shape.in + GUARD, single);
    double *want_sum = test_widen(n, sum);
    for (size_t i = 0; i < n; i++)
        want_sum[i] += want[i];
    nvdp__bf16 *half = half_nans(nvdp__half_rows(l->shape.rows) * l->shape.in + GUARD);
    struct nvdp__linear layer = {
        .rows = l->shape.rows, .in = l->shape.in, .out = l->shape.out, .w = l->w};
    nvdp__linear_back_to_float(dev, &layer, half_in(l->dy), false, single);
    nvdp__linear_back_to_float(dev, &layer, half_in(l->dy), true, sum);
    nvdp__linear_back_to_operand(dev, &layer, half_in(l->dy), half_out(half));
    test_close("dx", n, single, want, FLOAT_TOLERANCE);
    test_close("dx added", n, sum, want_sum, FLOAT_TOLERANCE);
    half_close("dx in bfloat16", n, half, want, FLOAT_TOLERANCE);
    untouched("dx", l->shape.rows, l->shape.in, half);
}

static void check_backward_params(const struct nvdp__device *dev, const struct layer *l, bool set) {
    size_t n = l->shape.in * l->shape.out;
    float *dw = test_floats(n + GUARD, 1);
    float *db = test_floats(l->shape.out, 1);
    float *guard = test_copy(n + GUARD, dw);
    double *want = set ? test_zeros64(n) : test_widen(n, dw);
    double *want_b = test_widen(l->shape.out, db);
    ref64_linear_backward(l->shape.rows, l->shape.in, l->shape.out, l->x64, l->w64, l->dy64, NULL,
                          false, want, want_b);
    struct nvdp__linear layer = {.rows = l->shape.rows,
                                 .in = l->shape.in,
                                 .out = l->shape.out,
                                 .w = l->w,
                                 .dw = dw,
                                 .db = db,
                                 .set = set};
    nvdp__linear_params_backward(dev, &layer, half_out(l->x), half_out(l->dy));
    test_close(set ? "dw" : "dw added", n, dw, want, FLOAT_TOLERANCE);
    test_close("db", l->shape.out, db, want_b, FLOAT_TOLERANCE);
    test_same("dw's guard", GUARD, dw + n, guard + n);
    untouched("x", l->shape.rows, l->shape.in, l->x);
    untouched("dy", l->shape.rows, l->shape.out, l->dy);
}

static void check(const struct nvdp__device *dev, size_t rows, size_t in, size_t out) {
    struct layer l = make(rows, in, out);
    check_forward(dev, &l, true);
    check_forward(dev, &l, false);
    check_backward_input(dev, &l);
    nvdp__bf16 *x = l.x, *dy = l.dy;
    for (int set = 0; set < 2; set++) { /* rows past the end are NaN each time */
        l.x = half_copy(nvdp__half_rows(rows) * in + GUARD, x);
        l.dy = half_copy(nvdp__half_rows(rows) * out + GUARD, dy);
        check_backward_params(dev, &l, set == 1);
    }
    cr_assert_eq(nvdp__device_status(dev), NVDP_OK);
    nvdp__weights_changed(dev); /* the memory will be another weight's */
    test_free();
}

Test(half_linear, matches_double_over_shapes) {
    half_or_skip();
    const size_t rows[] = {0, 1, 2, 31, 32, 33, 100};
    const size_t dims[][2] = {{1, 1}, {3, 5}, {16, 17}, {32, 96}, {96, 33}, {130, 2}, {257, 64}};
    for (int threads = 1; threads <= 2; threads++) {
        struct nvdp__device dev = half_device(threads);
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++)
                check(&dev, rows[r], dims[d][0], dims[d][1]);
        nvdp__device_release(&dev);
    }
}

/* A sum of 768 terms of random sign: its rounding, at most 768 x 6e-8 of the largest partial sum,
 * is a tenth of that in practice and still below the tolerance. */
Test(half_linear, sizes_of_an_encoder) {
    half_or_skip();
    struct nvdp__device dev = half_device(2);
    check(&dev, 70, 768, 160);
    check(&dev, 170, 160, 768);
    nvdp__device_release(&dev);
}

static void forward(const struct nvdp__device *dev, const struct layer *l, const float *w,
                    float *y) {
    struct nvdp__half_result to = {.single = y};
    nvdp__half_forward(dev->half, &l->shape, l->x, w, l->b, &to);
}

static void back(const struct nvdp__device *dev, const struct layer *l, const float *w, float *dx) {
    struct nvdp__half_result to = {.single = dx};
    nvdp__half_backward_input(dev->half, &l->shape, l->dy, w, &to);
}

Test(half_linear, weights_are_rounded_to_nearest) {
    half_or_skip();
    enum { ROWS = 9, IN = 70, OUT = 50 };
    struct nvdp__device dev = half_device(1);
    struct layer l = make(ROWS, IN, OUT);
    float *w = test_floats(IN * OUT, 1);
    for (size_t i = 0; i < IN * OUT; i++)
        l.w[i] = nvdp__bfloat16_to_float(nvdp__bfloat16_from_float(w[i]));
    w[0] = 1 + 0x1p-8f; /* ties, to even */
    l.w[0] = 1;
    w[1] = 1 + 0x3p-8f;
    l.w[1] = 1 + 0x1p-6f;
    float *y[2] = {room(ROWS, OUT), room(ROWS, OUT)};
    float *dx[2] = {room(ROWS, IN), room(ROWS, IN)};
    forward(&dev, &l, w, y[0]);
    forward(&dev, &l, l.w, y[1]);
    test_same("y", (size_t)ROWS * OUT, y[0], y[1]);
    back(&dev, &l, w, dx[0]);
    back(&dev, &l, l.w, dx[1]);
    test_same("dx", (size_t)ROWS * IN, dx[0], dx[1]);
    nvdp__device_release(&dev);
    test_free();
}

/* Copies are told apart by the weight's address, and made again after the announcement alone. */
Test(half_linear, weights_of_one_shape_and_their_changes) {
    half_or_skip();
    enum { ROWS = 40, DIM = 48, N = DIM * DIM, WEIGHTS = 5 };
    struct nvdp__device dev = half_device(2);
    struct layer l = make(ROWS, DIM, DIM);
    float *w[WEIGHTS], *y[WEIGHTS], *dx[WEIGHTS];
    float *again = room(ROWS, DIM);
    for (size_t i = 0; i < WEIGHTS; i++) {
        w[i] = weights(N);
        y[i] = room(ROWS, DIM);
        dx[i] = room(ROWS, DIM);
        forward(&dev, &l, w[i], y[i]);
        back(&dev, &l, w[i], dx[i]);
        ref64_linear_forward(ROWS, DIM, DIM, l.x64, test_widen(N, w[i]), l.b64, l.dy64);
        test_close("y", (size_t)ROWS * DIM, y[i], l.dy64, FLOAT_TOLERANCE);
    }
    for (size_t i = 0; i < WEIGHTS; i++) {
        forward(&dev, &l, w[i], again);
        test_same("y again", (size_t)ROWS * DIM, again, y[i]);
        back(&dev, &l, w[i], again);
        test_same("dx again", (size_t)ROWS * DIM, again, dx[i]);
    }
    memcpy(w[0], w[3], N * sizeof *w[0]);
    forward(&dev, &l, w[0], again);
    test_same("y before the announcement", (size_t)ROWS * DIM, again, y[0]);
    nvdp__weights_changed(&dev);
    forward(&dev, &l, w[0], again);
    test_same("y after it", (size_t)ROWS * DIM, again, y[3]);
    back(&dev, &l, w[0], again);
    test_same("dx after it", (size_t)ROWS * DIM, again, dx[3]);
    forward(&dev, &l, w[1], again);
    test_same("another weight", (size_t)ROWS * DIM, again, y[1]);
    nvdp__device_release(&dev);
    test_free();
}

/* The number of rows changes from batch to batch; a weight keeps its copies. */
Test(half_linear, rows_do_not_see_one_another) {
    half_or_skip();
    enum { ROWS = 75, IN = 64, OUT = 96 };
    struct nvdp__device dev = half_device(2);
    struct layer all = make(ROWS, IN, OUT);
    float *y = room(ROWS, OUT);
    forward(&dev, &all, all.w, y);
    for (size_t rows = 1; rows < ROWS; rows += 10) {
        struct layer few = all;
        few.shape.rows = rows; /* its further rows are there, and not NaN */
        float *part = room(ROWS, OUT);
        forward(&dev, &few, all.w, part);
        test_close("part", rows * OUT, part, test_widen(rows * OUT, y), FLOAT_TOLERANCE);
        few.x = half_nans(nvdp__half_rows(rows) * IN);
        memcpy(few.x, all.x, rows * IN * sizeof *few.x);
        float *alone = room(rows, OUT);
        forward(&dev, &few, all.w, alone);
        test_same("alone", rows * OUT, alone, part);
    }
    nvdp__device_release(&dev);
    test_free();
}

struct results {
    float *y, *dx, *dw[2];
};

static struct results run(int threads, const struct layer *l) {
    struct nvdp__device dev = half_device(threads);
    size_t n = l->shape.in * l->shape.out;
    struct results r = {.y = room(l->shape.rows, l->shape.out),
                        .dx = room(l->shape.rows, l->shape.in)};
    forward(&dev, l, l->w, r.y);
    back(&dev, l, l->w, r.dx);
    for (int add = 0; add < 2; add++) {
        r.dw[add] = test_zeros(n);
        nvdp__half_backward_weight(dev.half, &l->shape, l->x, l->dy, add == 1, r.dw[add]);
    }
    cr_assert_eq(nvdp__device_status(&dev), NVDP_OK);
    nvdp__device_release(&dev);
    return r;
}

static void same_on_two_threads(size_t rows, size_t in, size_t out) {
    struct layer l = make(rows, in, out);
    struct results one = run(1, &l);
    struct results two = run(2, &l);
    test_same("y", rows * out, one.y, two.y);
    test_same("dx", rows * in, one.dx, two.dx);
    test_same("dw", in * out, one.dw[0], two.dw[0]);
    test_same("dw added", in * out, one.dw[1], two.dw[1]);
    test_free();
}

/* Below the number of rows at which oneDNN cuts small weights' sums (half.h). */
Test(half_linear, bits_do_not_depend_on_the_number_of_threads) {
    half_or_skip();
    same_on_two_threads(33, 96, 160);
    same_on_two_threads(512, 64, 64);
    same_on_two_threads(1000, 32, 96);
    same_on_two_threads(64, 768, 768);
}

Test(half_linear, out_of_memory_is_told_at_the_end) {
    half_or_skip();
    struct nvdp_context *ctx = NULL;
    cr_assert_eq(nvdp_context_create(&ctx), NVDP_OK);
    struct layer l = make(3, 8, 8);
    uint64_t k = 1;
    for (;; k++) { /* a product, its weight's copy */
        struct nvdp__device dev = {.ctx = ctx, .threads = 1};
        float *y = test_zeros(nvdp__half_rows(3) * 8);
        cr_assert_eq(nvdp__half_create(ctx, &dev.half), NVDP_OK);
        nvdp__fail_allocation(ctx, k);
        forward(&dev, &l, l.w, y);
        nvdp__fail_allocation(ctx, 0);
        forward(&dev, &l, l.w, y); /* does nothing after a failure */
        nvdp_status status = nvdp__device_status(&dev);
        nvdp__device_release(&dev);
        if (status == NVDP_OK) break;
        cr_assert_eq(status, NVDP_ERR_MEMORY);
        cr_assert_eq(y[0], 0);
        cr_assert_lt(k, 20);
    }
    cr_expect_geq(k, 3);
    nvdp_context_free(ctx);
    test_free();
}
