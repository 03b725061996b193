/* Dense layers with bfloat16 operands (onednn.c) against the plain loops on the same operands. */
#include "bf16_test.h"

/* Operands have rows in whole blocks. The rows past the end start as NaN and are followed by
 * GUARD elements that must not be touched. */
enum { GUARD = 40 };

static nvdp__bf16 *operand(size_t rows, size_t dim) {
    size_t n = nvdp__bf16_rows(rows) * dim;
    nvdp__bf16 *x = bf16_nans(n + GUARD);
    if (rows > 0) memcpy(x, bf16_values(rows * dim, 1), rows * dim * sizeof *x);
    return x;
}

static void untouched(const char *what, size_t rows, size_t dim, const nvdp__bf16 *x) {
    size_t n = nvdp__bf16_rows(rows) * dim;
    for (size_t i = n; i < n + GUARD; i++)
        cr_assert_eq(x[i], 0xffff, "%s: written past the last block of rows", what);
}

/* Returns weights that are bfloat16 numbers already, so that rounding changes nothing. */
static float *weights(size_t n) {
    return bf16_floats(n, bf16_values(n, 1));
}

struct layer {
    struct {
        size_t rows, in, out;
    } shape;
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
    l.x64 = bf16_widen(rows * in, l.x);
    l.dy64 = bf16_widen(rows * out, l.dy);
    l.w64 = test_widen(in * out, l.w);
    l.b64 = test_widen(out, l.b);
    return l;
}

/* Allocates [rows, dim] in whole blocks, and a guard. */
static float *whole_blocks(size_t rows, size_t dim) {
    return test_floats(nvdp__bf16_rows(rows) * dim + GUARD, 1);
}

/* Sums are float32, with FLOAT_TOLERANCE as for float products; bfloat16 results are then
 * rounded. */
static void check_forward(const struct nvdp__device *dev, const struct layer *l, bool bias) {
    size_t n = l->shape.rows * l->shape.out;
    double *want = test_zeros64(n);
    ref64_linear_forward(l->shape.rows, l->shape.in, l->shape.out, l->x64, l->w64,
                         bias ? l->b64 : NULL, want);
    float *single = whole_blocks(l->shape.rows, l->shape.out);
    nvdp__bf16 *rounded = bf16_nans(nvdp__bf16_rows(l->shape.rows) * l->shape.out + GUARD);
    struct nvdp__linear layer = {.rows = l->shape.rows,
                                 .in = l->shape.in,
                                 .out = l->shape.out,
                                 .w = l->w,
                                 .b = bias ? l->b : NULL};
    struct nvdp__tensor x = bf16_tensor(l->shape.rows, l->shape.in, l->x);
    nvdp__dense_forward(dev, &layer, x, nvdp__f32(l->shape.rows, l->shape.out, single));
    nvdp__dense_forward(dev, &layer, x, bf16_tensor(l->shape.rows, l->shape.out, rounded));
    test_close("forward", n, single, want, FLOAT_TOLERANCE);
    bf16_close("forward to bfloat16", n, rounded, want, FLOAT_TOLERANCE);
    untouched("forward", l->shape.rows, l->shape.out, rounded);
}

static void check_backward_input(const struct nvdp__device *dev, const struct layer *l) {
    size_t n = l->shape.rows * l->shape.in;
    double *want = test_zeros64(n);
    ref64_linear_backward(l->shape.rows, l->shape.in, l->shape.out, NULL, l->w64, l->dy64, want,
                          false, NULL, NULL);
    float *single = whole_blocks(l->shape.rows, l->shape.in);
    float *sum = test_copy(nvdp__bf16_rows(l->shape.rows) * l->shape.in + GUARD, single);
    double *want_sum = test_widen(n, sum);
    for (size_t i = 0; i < n; i++)
        want_sum[i] += want[i];
    nvdp__bf16 *rounded = bf16_nans(nvdp__bf16_rows(l->shape.rows) * l->shape.in + GUARD);
    struct nvdp__linear layer = {
        .rows = l->shape.rows, .in = l->shape.in, .out = l->shape.out, .w = l->w};
    struct nvdp__tensor dy = bf16_tensor(l->shape.rows, l->shape.out, l->dy);
    nvdp__dense_backward(dev, &layer, NVDP__NO_TENSOR, dy,
                         nvdp__f32(l->shape.rows, l->shape.in, single), false);
    nvdp__dense_backward(dev, &layer, NVDP__NO_TENSOR, dy,
                         nvdp__f32(l->shape.rows, l->shape.in, sum), true);
    nvdp__dense_backward(dev, &layer, NVDP__NO_TENSOR, dy,
                         bf16_tensor(l->shape.rows, l->shape.in, rounded), false);
    test_close("dx", n, single, want, FLOAT_TOLERANCE);
    test_close("dx added", n, sum, want_sum, FLOAT_TOLERANCE);
    bf16_close("dx in bfloat16", n, rounded, want, FLOAT_TOLERANCE);
    untouched("dx", l->shape.rows, l->shape.in, rounded);
}

static void check_backward_params(const struct nvdp__device *dev, const struct layer *l, bool set) {
    size_t n = l->shape.in * l->shape.out;
    float *dw = test_floats(n + GUARD, 1), *db = test_floats(l->shape.out, 1);
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
    nvdp__dense_backward(dev, &layer, bf16_tensor(l->shape.rows, l->shape.in, l->x),
                         bf16_tensor(l->shape.rows, l->shape.out, l->dy), NVDP__NO_TENSOR, false);
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
        l.x = bf16_copy(nvdp__bf16_rows(rows) * in + GUARD, x);
        l.dy = bf16_copy(nvdp__bf16_rows(rows) * out + GUARD, dy);
        check_backward_params(dev, &l, set == 1);
    }
    ok(nvdp__device_status(dev));
    nvdp__weights_changed(dev); /* another weight will take this memory */
}

Test(bf16_linear, matches_double_over_shapes) {
    bf16_or_skip();
    const size_t rows[] = {0, 1, 2, 31, 32, 33, 100};
    const size_t dims[][2] = {{1, 1}, {3, 5}, {16, 17}, {32, 96}, {96, 33}, {130, 2}, {257, 64}};
    for (int which = 0; which < BF16_DEVICES; which++) {
        struct nvdp__device dev = bf16_device(which);
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            for (size_t d = 0; d < sizeof dims / sizeof dims[0]; d++)
                check(&dev, rows[r], dims[d][0], dims[d][1]);
    }
}

/* A sum of 768 terms of random sign: its rounding, at most 768 x 6e-8 of the largest partial sum,
 * is a tenth of that in practice and still below the tolerance. */
Test(bf16_linear, sizes_of_an_encoder) {
    bf16_or_skip();
    struct nvdp__device dev = bf16_device(BF16_TWO);
    check(&dev, 70, 768, 160);
    check(&dev, 170, 160, 768);
}

/* Rows added to fill a block belong to no result: few rows, many, and a number whose next
 * multiple of 32 is 53 blocks, which AMX would multiply one row at a time. */
Test(bf16_linear, rows_are_added_up_to_whole_blocks) {
    cr_assert_eq(nvdp__bf16_rows(0), 0);
    cr_assert_eq(nvdp__bf16_rows(1), 32);
    cr_assert_eq(nvdp__bf16_rows(512), 512);
    cr_assert_eq(nvdp__bf16_rows(513), 576);
    cr_assert_eq(nvdp__bf16_rows(1690), 1728);
    for (size_t rows = 1; rows < 4096; rows++)
        cr_assert(nvdp__bf16_rows(rows) >= rows &&
                  nvdp__bf16_rows(rows) >= nvdp__bf16_rows(rows - 1));
    bf16_or_skip();
    struct nvdp__device dev = bf16_device(BF16_TWO);
    check(&dev, 513, 32, 48);
    check(&dev, 1690, 48, 32);
}

static struct nvdp__linear linear_of(const struct layer *l, const float *w) {
    return (struct nvdp__linear){.in = l->shape.in, .out = l->shape.out, .w = w, .b = l->b};
}

static void forward(const struct nvdp__device *dev, const struct layer *l, const float *w,
                    float *y) {
    struct nvdp__linear layer = linear_of(l, w);
    nvdp__dense_forward(dev, &layer, bf16_tensor(l->shape.rows, l->shape.in, l->x),
                        nvdp__f32(l->shape.rows, l->shape.out, y));
}

static void back(const struct nvdp__device *dev, const struct layer *l, const float *w, float *dx) {
    struct nvdp__linear layer = linear_of(l, w);
    nvdp__dense_backward(dev, &layer, NVDP__NO_TENSOR,
                         bf16_tensor(l->shape.rows, l->shape.out, l->dy),
                         nvdp__f32(l->shape.rows, l->shape.in, dx), false);
}

Test(bf16_linear, weights_are_rounded_to_nearest) {
    bf16_or_skip();
    enum { ROWS = 9, IN = 70, OUT = 50 };
    struct nvdp__device dev = bf16_device(BF16_ONE);
    struct layer l = make(ROWS, IN, OUT);
    float *w = test_floats(IN * OUT, 1);
    for (size_t i = 0; i < IN * OUT; i++)
        l.w[i] = nvdp__bfloat16_to_float(nvdp__bfloat16_from_float(w[i]));
    w[0] = 1 + 0x1p-8f; /* ties, to even */
    l.w[0] = 1;
    w[1] = 1 + 0x3p-8f;
    l.w[1] = 1 + 0x1p-6f;
    float *y[2] = {whole_blocks(ROWS, OUT), whole_blocks(ROWS, OUT)};
    float *dx[2] = {whole_blocks(ROWS, IN), whole_blocks(ROWS, IN)};
    forward(&dev, &l, w, y[0]);
    forward(&dev, &l, l.w, y[1]);
    test_same("y", (size_t)ROWS * OUT, y[0], y[1]);
    back(&dev, &l, w, dx[0]);
    back(&dev, &l, l.w, dx[1]);
    test_same("dx", (size_t)ROWS * IN, dx[0], dx[1]);
}

/* Copies are distinguished by the weight's address, and renewed only after
 * nvdp__weights_changed. */
Test(bf16_linear, weights_of_one_shape_and_their_changes) {
    bf16_or_skip();
    enum { ROWS = 40, DIM = 48, N = DIM * DIM, WEIGHTS = 5 };
    struct nvdp__device dev = bf16_device(BF16_TWO);
    struct layer l = make(ROWS, DIM, DIM);
    float *w[WEIGHTS], *y[WEIGHTS], *dx[WEIGHTS];
    float *again = whole_blocks(ROWS, DIM);
    for (size_t i = 0; i < WEIGHTS; i++) {
        w[i] = weights(N);
        y[i] = whole_blocks(ROWS, DIM);
        dx[i] = whole_blocks(ROWS, DIM);
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
}

/* The number of rows changes from batch to batch; a weight keeps its copies. */
Test(bf16_linear, rows_do_not_see_one_another) {
    bf16_or_skip();
    enum { ROWS = 75, IN = 64, OUT = 96 };
    struct nvdp__device dev = bf16_device(BF16_TWO);
    struct layer all = make(ROWS, IN, OUT);
    float *y = whole_blocks(ROWS, OUT);
    forward(&dev, &all, all.w, y);
    for (size_t rows = 1; rows < ROWS; rows += 10) {
        struct layer few = all;
        few.shape.rows = rows; /* its further rows exist, and are not NaN */
        float *part = whole_blocks(ROWS, OUT);
        forward(&dev, &few, all.w, part);
        test_close("part", rows * OUT, part, test_widen(rows * OUT, y), FLOAT_TOLERANCE);
        few.x = bf16_nans(nvdp__bf16_rows(rows) * IN);
        memcpy(few.x, all.x, rows * IN * sizeof *few.x);
        float *alone = whole_blocks(rows, OUT);
        forward(&dev, &few, all.w, alone);
        test_same("alone", rows * OUT, alone, part);
    }
}

struct results {
    float *y, *dx, *dw[2];
};

static struct results run(int which, const struct layer *l) {
    struct nvdp__device dev = bf16_device(which);
    size_t n = l->shape.in * l->shape.out;
    struct results r = {.y = whole_blocks(l->shape.rows, l->shape.out),
                        .dx = whole_blocks(l->shape.rows, l->shape.in)};
    forward(&dev, l, l->w, r.y);
    back(&dev, l, l->w, r.dx);
    for (int add = 0; add < 2; add++) {
        r.dw[add] = test_zeros(n);
        struct nvdp__linear layer = linear_of(l, l->w);
        layer.dw = r.dw[add];
        layer.set = add == 0;
        nvdp__dense_backward(&dev, &layer, bf16_tensor(l->shape.rows, l->shape.in, l->x),
                             bf16_tensor(l->shape.rows, l->shape.out, l->dy), NVDP__NO_TENSOR,
                             false);
    }
    ok(nvdp__device_status(&dev));
    return r;
}

static void same_on_two_threads(size_t rows, size_t in, size_t out) {
    struct layer l = make(rows, in, out);
    struct results one = run(BF16_ONE, &l), two = run(BF16_TWO, &l);
    test_same("y", rows * out, one.y, two.y);
    test_same("dx", rows * in, one.dx, two.dx);
    test_same("dw", in * out, one.dw[0], two.dw[0]);
    test_same("dw added", in * out, one.dw[1], two.dw[1]);
}

/* Stays below the number of rows at which oneDNN splits small weights' sums (bf16.h). */
Test(bf16_linear, bits_do_not_depend_on_the_number_of_threads) {
    bf16_or_skip();
    same_on_two_threads(33, 96, 160);
    same_on_two_threads(512, 64, 64);
    same_on_two_threads(1000, 32, 96);
    same_on_two_threads(64, 768, 768);
}

Test(bf16_linear, out_of_memory_is_told_at_the_end) {
    bf16_or_skip();
    struct nvdp_context *ctx = NULL;
    ok(nvdp_context_create(&ctx));
    struct layer l = make(3, 8, 8);
    uint64_t k = 1;
    for (;; k++) { /* allocations of a product and its weight's copy */
        struct nvdp__device dev = {.ctx = ctx, .threads = 1};
        float *y = test_zeros(nvdp__bf16_rows(3) * 8);
        ok(nvdp__bf16_create(ctx, true, &dev.bf16));
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
}

/* A float32 input or gradient is rounded into scratch and gives the same bits as the bfloat16
 * tensor. Scratch beyond the plan is an error at the end of the pass. */
Test(bf16_linear, rounds_float_tensors_into_planned_scratch) {
    bf16_or_skip();
    enum { ROWS = 45, IN = 40, OUT = 72 };
    struct nvdp__device dev = bf16_device(BF16_TWO);
    struct layer l = make(ROWS, IN, OUT);
    struct nvdp__linear layer = linear_of(&l, l.w);
    struct nvdp__tensor x = nvdp__f32(ROWS, IN, bf16_floats((size_t)ROWS * IN, l.x));
    struct nvdp__tensor dy = nvdp__f32(ROWS, OUT, bf16_floats((size_t)ROWS * OUT, l.dy));
    float *y[2] = {whole_blocks(ROWS, OUT), whole_blocks(ROWS, OUT)};
    float *dx[2] = {whole_blocks(ROWS, IN), whole_blocks(ROWS, IN)};
    float *dw[2] = {test_zeros(IN * OUT), test_zeros(IN * OUT)};
    float *db[2] = {test_zeros(OUT), test_zeros(OUT)};
    nvdp__auto(nvdp__arena_release) struct nvdp__arena arena = {0};
    nvdp__dense_plan(&dev, &arena, ROWS, IN, OUT);
    nvdp__dense_plan(&dev, &arena, 1, OUT, IN);
    cr_assert_eq(nvdp__arena_floats(&arena), 64 * (IN + OUT) / 2, "the largest, whole blocks");
    ok(nvdp__arena_allocate(NULL, &arena));
    nvdp__dense_plan(&dev, &arena, ROWS, IN, OUT);
    for (int i = 0; i < 2; i++) {
        layer.dw = dw[i];
        layer.db = db[i];
        nvdp__dense_forward(&dev, &layer, i == 0 ? x : bf16_tensor(ROWS, IN, l.x),
                            nvdp__f32(ROWS, OUT, y[i]));
        nvdp__dense_backward(&dev, &layer, i == 0 ? x : bf16_tensor(ROWS, IN, l.x),
                             i == 0 ? dy : bf16_tensor(ROWS, OUT, l.dy), nvdp__f32(ROWS, IN, dx[i]),
                             false);
    }
    test_same("y", (size_t)ROWS * OUT, y[0], y[1]);
    test_same("dx", (size_t)ROWS * IN, dx[0], dx[1]);
    test_same("dw", IN * OUT, dw[0], dw[1]);
    test_same("db", OUT, db[0], db[1]);
    ok(nvdp__device_status(&dev));
    nvdp__dense_forward(&dev, &layer, nvdp__f32(2 * ROWS, IN, x.data),
                        nvdp__f32(2 * ROWS, OUT, whole_blocks(2 * ROWS, OUT)));
    cr_expect_eq(nvdp__device_status(&dev), NVDP_ERR_STATE);
}
