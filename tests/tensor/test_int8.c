/* Compares dense layers in 8-bit integers (int8.c) with plain loops. */
#include "bf16_test.h"

enum { ROWS = 300, OUT = 45, GUARD = 40 }; /* more rows than one pass takes */
static const size_t widths[] = {1, 37, 64, 384};

static struct nvdp__device int8_device(struct nvdp_context **ctx) {
    struct nvdp__device dev;
    const char *missing = nvdp__int8_missing();
    if (missing != NULL) cr_skip_test("%s", missing);
    *ctx = support_context();
    nvdp_context_set_precision(*ctx, NVDP_PRECISION_INT8);
    ok(nvdp__device_create(*ctx, &dev));
    cr_assert_eq(nvdp__device_precision(&dev), NVDP_PRECISION_INT8);
    return dev;
}

static void done(struct nvdp__device *dev) {
    ok(nvdp__device_status(dev));
    nvdp__device_release(dev);
}

static struct nvdp__linear layer_of(size_t rows, size_t in, const float *w, const float *b) {
    return (struct nvdp__linear){.rows = rows, .in = in, .out = OUT, .w = w, .b = b, .int8 = true};
}

/* Returns whole numbers, with the ends of the range in every row: steps and scales are 1. */
static float *whole(size_t rows, size_t in, int32_t low, int32_t high) {
    float *x = test_zeros(rows * in);
    int32_t *drawn = test_ints(rows * in, low, high + 1);
    for (size_t i = 0; i < rows * in; i++)
        x[i] = (float)drawn[i];
    for (size_t r = 0; r < rows; r++) {
        x[r * in] = (float)high;
        if (in > 1) x[r * in + r % (in - 1) + 1] = (float)low;
    }
    return x;
}

static double *plain(size_t rows, size_t in, const float *x, const float *w, const float *b) {
    double *y = test_zeros64(rows * OUT);
    ref64_linear_forward(rows, in, OUT, test_widen(rows * in, x), test_widen(OUT * in, w),
                         test_widen(OUT, b), y);
    return y;
}

/* 384 * 255 * 127 is below 2^24: float32 rounds only the bias, added to numbers of 1e6. */
Test(int8, whole_numbers_are_multiplied_exactly) {
    struct nvdp_context *ctx;
    struct nvdp__device dev = int8_device(&ctx);
    for (size_t i = 1; i < sizeof widths / sizeof widths[0]; i++) {
        size_t in = widths[i];
        float *x = whole(ROWS, in, 0, 255), *w = whole(OUT, in, -127, 127);
        float *y = test_floats(ROWS * OUT + GUARD, 1), *guard = test_copy(GUARD, y + ROWS * OUT);
        struct nvdp__linear layer = layer_of(ROWS, in, w, NULL);
        double *want = plain(ROWS, in, x, w, NULL);
        nvdp__weights_changed(&dev); /* another w may lie where the last one did */
        nvdp__dense_forward(&dev, &layer, nvdp__f32(ROWS, in, x), nvdp__f32(ROWS, OUT, y));
        test_close("int8", ROWS * OUT, y, want, 0x1p-23);
        test_same("past the end", GUARD, y + ROWS * OUT, guard);
        nvdp__bf16 *x16 = bf16_zeros(ROWS * in), *y16 = bf16_zeros(ROWS * OUT);
        for (size_t k = 0; k < ROWS * in; k++)
            x16[k] = nvdp__bfloat16_from_float(x[k]); /* exact: eight bits */
        layer.b = test_floats(OUT, 1);
        nvdp__dense_forward(&dev, &layer, bf16_tensor(ROWS, in, x16), bf16_tensor(ROWS, OUT, y16));
        bf16_close("int8 in bfloat16", ROWS * OUT, y16, plain(ROWS, in, x, w, layer.b), 0x1p-22);
    }
    done(&dev);
}

/* Errors of half a step in n activations and n weights add up as a walk of n steps does. Each
 * has a standard deviation of step / sqrt(12), with steps 2/255 and 1/127; the bound is seven of
 * those. */
Test(int8, errors_are_those_of_half_steps) {
    struct nvdp_context *ctx;
    struct nvdp__device dev = int8_device(&ctx);
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        size_t in = widths[i];
        float *x = test_floats(ROWS * in, 1), *w = test_floats(OUT * in, 1);
        float *b = test_floats(OUT, 1), *y = test_zeros(ROWS * OUT);
        struct nvdp__linear layer = layer_of(ROWS, in, w, b);
        double *want = plain(ROWS, in, x, w, b);
        nvdp__weights_changed(&dev);
        nvdp__dense_forward(&dev, &layer, nvdp__f32(ROWS, in, x), nvdp__f32(ROWS, OUT, y));
        double allowed = 7 * sqrt((double)in / 3 / 12 * (pow(2. / 255, 2) + pow(1. / 127, 2)));
        for (size_t k = 0; k < ROWS * OUT; k++)
            cr_assert_leq(fabs((double)y[k] - want[k]), allowed, "width %zu: %g, expected %g", in,
                          (double)y[k], want[k]);
    }
    done(&dev);
}

Test(int8, a_row_is_the_same_in_every_batch_and_on_any_threads) {
    enum { IN = 64 };
    struct nvdp_context *ctx;
    struct nvdp__device dev = int8_device(&ctx);
    float *x = test_floats(ROWS * IN, 1), *w = test_floats(OUT * IN, 1), *b = test_floats(OUT, 1);
    float *y = test_zeros(ROWS * OUT), *alone = test_zeros(OUT);
    struct nvdp__linear layer = layer_of(ROWS, IN, w, b);
    nvdp__dense_forward(&dev, &layer, nvdp__f32(ROWS, IN, x), nvdp__f32(ROWS, OUT, y));
    layer.rows = 1;
    dev.threads = 1;
    for (size_t r = 0; r < ROWS; r += 23) {
        nvdp__dense_forward(&dev, &layer, nvdp__f32(1, IN, x + r * IN), nvdp__f32(1, OUT, alone));
        test_same("a row alone", OUT, alone, y + r * OUT);
    }
    done(&dev);
}

/* A row of one value has no steps, and an output of zeros no scale; NaN stays in its row. */
Test(int8, rows_without_a_range) {
    enum { IN = 32, FEW = 4 };
    struct nvdp_context *ctx;
    struct nvdp__device dev = int8_device(&ctx);
    float *x = test_floats(FEW * IN, 1), *w = whole(OUT, IN, -127, 127), *y = test_zeros(FEW * OUT);
    struct nvdp__linear layer = layer_of(FEW, IN, w, NULL);
    for (size_t k = 0; k < IN; k++) {
        x[k] = 0.25f;
        x[IN + k] = 0;
        w[k] = 0;
    }
    x[2 * IN + 5] = NAN;
    double *want = plain(2, IN, x, w, NULL);
    nvdp__dense_forward(&dev, &layer, nvdp__f32(FEW, IN, x), nvdp__f32(FEW, OUT, y));
    test_close("one value", 2 * OUT, y, want, 0);
    for (size_t c = 0; c < OUT; c++) {
        cr_expect(isnan(y[2 * OUT + c]));
        cr_expect(isfinite(y[3 * OUT + c]));
    }
    cr_expect_eq(y[3 * OUT], 0);
    done(&dev);
}

Test(int8, changed_weights_are_taken_up) {
    enum { IN = 32 };
    struct nvdp_context *ctx;
    struct nvdp__device dev = int8_device(&ctx);
    float *x = whole(ROWS, IN, 0, 255), *w = whole(OUT, IN, -127, 127), *y = test_zeros(ROWS * OUT);
    struct nvdp__linear layer = layer_of(ROWS, IN, w, NULL);
    nvdp__dense_forward(&dev, &layer, nvdp__f32(ROWS, IN, x), nvdp__f32(ROWS, OUT, y));
    for (size_t i = 0; i < OUT * IN; i++)
        w[i] *= -2;
    nvdp__weights_changed(&dev);
    nvdp__dense_forward(&dev, &layer, nvdp__f32(ROWS, IN, x), nvdp__f32(ROWS, OUT, y));
    test_close("new weights", ROWS * OUT, y, plain(ROWS, IN, x, w, NULL), 0x1p-22);
    done(&dev);
}

/* The ends of both ranges are adjacent, where sums of two products in 16 bits would overflow
 * first. */
Test(int8, sums_are_exact_up_to_the_largest) {
    const int largest = nvdp__int8_largest();
    if (largest == 0) cr_skip_test("no products of 8-bit integers");
    struct nvdp_context *ctx = support_context();
    struct nvdp__bf16_engine *products;
    ok(nvdp__int8_products(ctx, &products));
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const size_t in = widths[i];
        nvdp__autofree uint8_t *x = calloc(nvdp__bf16_rows(ROWS), in);
        int8_t *w = calloc(OUT, in);
        nvdp__autofree int32_t *y = calloc(nvdp__bf16_rows(ROWS) * OUT, sizeof *y);
        const int32_t *drawn = test_ints(ROWS * in, 0, 2 * largest);
        const int32_t *sign = test_ints(OUT * in, -200, 200);
        for (size_t k = 0; k < ROWS * in; k++)
            x[k] = (uint8_t)(drawn[k] < largest ? drawn[k] : largest);
        for (size_t k = 0; k < OUT * in; k++)
            w[k] = (int8_t)(k < in ? 127 : sign[k] < -127 ? -127 : sign[k] > 127 ? 127 : sign[k]);
        nvdp__int8_product(products, ROWS, in, OUT, x, w, y);
        ok(nvdp__bf16_status(products));
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < OUT; c++) {
                int32_t sum = 0;
                for (size_t k = 0; k < in; k++)
                    sum += x[r * in + k] * w[c * in + k];
                cr_assert_eq(y[r * OUT + c], sum, "%zu wide, row %zu, column %zu", in, r, c);
            }
        free(w);
    }
    nvdp__bf16_free(products);
}

Test(int8, missing_is_an_error) {
    struct nvdp_context *ctx = support_context();
    nvdp__auto(nvdp__device_release) struct nvdp__device dev;
    const char *missing = nvdp__int8_missing();
    nvdp_context_set_precision(ctx, NVDP_PRECISION_INT8);
    nvdp_status status = nvdp__device_create(ctx, &dev);
    cr_expect_eq(status, missing == NULL ? NVDP_OK : NVDP_ERR_UNSUPPORTED);
    if (missing != NULL) support_contains(nvdp_context_error(ctx), missing);
}
