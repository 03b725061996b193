/* Activations over operands, element by element against double. */
#include "half_test.h"

#include <string.h>

static const enum nvdp__act acts[] = {NVDP__ACT_GELU, NVDP__ACT_GELU_NEW};

/* Every bfloat16 number up to 1e4 in size. */
static nvdp__bf16 *every(size_t *n) {
    nvdp__bf16 *x = half_zeros(1 << 16);
    *n = 0;
    for (uint32_t h = 0; h <= 0xffff; h++)
        if (fabsf(nvdp__bfloat16_to_float((nvdp__bf16)h)) <= 1e4f) x[(*n)++] = (nvdp__bf16)h;
    return x;
}

/* One rounding to bfloat16, and before it the float kernels' error (gelu.h): 2e-7 max(1, |x|),
 * twice that for the slope, times dy. */
static void close_to(const char *what, size_t n, const nvdp__bf16 *got, const double *want,
                     const double *x, const double *dy) {
    for (size_t i = 0; i < n; i++) {
        double found = (double)nvdp__bfloat16_to_float(got[i]);
        double own = 4e-7 * fmax(1, fabs(x[i])) * (dy != NULL ? fabs(dy[i]) : 1);
        cr_assert(fabs(found - want[i]) <= HALF_ROUNDING * fabs(want[i]) + own,
                  "%s: at %.9g: expected %.9g, found %.9g", what, x[i], want[i], found);
    }
}

Test(operand_act, every_bfloat16_number) {
    half_or_skip();
    size_t n;
    nvdp__bf16 *x = every(&n);
    nvdp__bf16 *dy = half_values(n, 2);
    double *x64 = half_widen(n, x);
    double *dy64 = half_widen(n, dy);
    double *want = test_zeros64(n);
    double *want_dx = test_zeros64(n);
    nvdp__bf16 *y = half_nans(n + 1), *dx = half_nans(n + 1), *again = half_nans(n + 1);
    for (int threads = 1; threads <= 2; threads++)
        for (size_t a = 0; a < 2; a++) {
            struct nvdp__device dev = half_device(threads);
            ref64_act_forward(acts[a], n, x64, want);
            ref64_act_backward(acts[a], n, x64, dy64, want_dx);
            nvdp__operand_act_forward(&dev, acts[a], n, half_in(x), half_out(y));
            nvdp__operand_act_backward(&dev, acts[a], n, half_in(x), half_in(dy), half_out(dx),
                                       half_out(again));
            close_to("forward", n, y, want, x64, NULL);
            close_to("backward", n, dx, want_dx, x64, dy64);
            close_to("forward within backward", n, again, want, x64, NULL);
            cr_assert(y[n] == 0xffff && dx[n] == 0xffff && again[n] == 0xffff);
            nvdp__device_release(&dev);
        }
    test_free();
}

Test(operand_act, ends_of_the_range) {
    half_or_skip();
    struct nvdp__device dev = half_device(1);
    for (size_t a = 0; a < 2; a++) {
        nvdp__bf16 x[] = {0x7f80, 0x7fc0, 0x7f7f, 0xc47a}; /* inf, NaN, the largest, -1000 */
        nvdp__bf16 y[4];
        nvdp__operand_act_forward(&dev, acts[a], 4, half_in(x), half_out(y));
        cr_expect_eq(y[0], 0x7f80);
        cr_expect(isnan(nvdp__bfloat16_to_float(y[1])));
        cr_expect_eq(y[2], 0x7f7f);
        cr_expect_eq(nvdp__bfloat16_to_float(y[3]), 0);
    }
    nvdp__device_release(&dev);
}

/* An encoder's layer lets the results overwrite what they are made of. */
static void in_place(const struct nvdp__device *dev, enum nvdp__act act, size_t n) {
    nvdp__bf16 *x = half_values(n, 4);
    nvdp__bf16 *dy = half_values(n, 1);
    nvdp__bf16 *y = half_nans(n), *dx = half_nans(n), *value = half_nans(n);
    nvdp__operand_act_forward(dev, act, n, half_in(x), half_out(y));
    nvdp__operand_act_backward(dev, act, n, half_in(x), half_in(dy), half_out(dx), half_out(value));
    nvdp__bf16 *over = half_copy(n, x);
    nvdp__operand_act_forward(dev, act, n, half_in(over), half_out(over));
    half_same("y over x", n, over, y);
    memcpy(over, x, n * sizeof *over);
    nvdp__operand_act_backward(dev, act, n, half_in(over), half_in(dy), half_out(dy),
                               half_out(over));
    half_same("dx over dy", n, dy, dx);
    half_same("value over x", n, over, value);
    test_free();
}

Test(operand_act, may_work_in_place) {
    half_or_skip();
    const size_t lengths[] = {0, 1, 15, 33, 4096, 4097, 40000};
    for (int threads = 1; threads <= 2; threads++) {
        struct nvdp__device dev = half_device(threads);
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
            for (size_t a = 0; a < 2; a++)
                in_place(&dev, acts[a], lengths[l]);
        nvdp__device_release(&dev);
    }
}

/* A value made again in the backward pass is the forward's, bit for bit: what the next product
 * reads is what it read. */
Test(operand_act, backward_repeats_the_forward) {
    half_or_skip();
    struct nvdp__device dev = half_device(1);
    size_t n;
    nvdp__bf16 *x = every(&n);
    nvdp__bf16 *dy = half_values(n, 1);
    nvdp__bf16 *y = half_nans(n), *again = half_nans(n);
    for (size_t a = 0; a < 2; a++) {
        nvdp__operand_act_forward(&dev, acts[a], n, half_in(x), half_out(y));
        nvdp__operand_act_backward(&dev, acts[a], n, half_in(x), half_in(dy),
                                   half_out(half_nans(n)), half_out(again));
        half_same("value", n, again, y);
    }
    nvdp__device_release(&dev);
    test_free();
}

Test(operand_act, float_devices_match_double) {
    enum { N = 5000 };
    for (size_t d = 0; d < DEVICES; d++)
        for (size_t a = 0; a < 2; a++) {
            const struct nvdp__device *dev = &test_devices[d];
            float *x = test_floats(N, 5);
            float *dy = test_floats(N, 1);
            double *want = test_zeros64(N);
            double *want_dx = test_zeros64(N);
            ref64_act_forward(acts[a], N, test_widen(N, x), want);
            ref64_act_backward(acts[a], N, test_widen(N, x), test_widen(N, dy), want_dx);
            float *over = test_copy(N, x);
            nvdp__operand_act_forward(dev, acts[a], N, nvdp__operand_in(over),
                                      nvdp__operand_in(over));
            test_close("forward", N, over, want, FLOAT_TOLERANCE);
            memcpy(over, x, N * sizeof *over);
            nvdp__operand_act_backward(dev, acts[a], N, nvdp__operand_in(over),
                                       nvdp__operand_in(dy), nvdp__operand_in(dy),
                                       nvdp__operand_in(over));
            test_close("dx", N, dy, want_dx, FLOAT_TOLERANCE);
            test_close("value", N, over, want, FLOAT_TOLERANCE);
            test_free();
        }
}
