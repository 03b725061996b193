/* Activations in bfloat16, element by element against double. */
#include "bf16_test.h"

#define ROW(NAME, name) NVDP__ACT_##NAME,
static const enum nvdp__act acts[] = {NVDP__ACTIVATIONS(ROW)};
#undef ROW
enum { ACTS = sizeof acts / sizeof acts[0] };

/* Returns every bfloat16 number up to 1e4 in size. */
static nvdp__bf16 *every(size_t *n) {
    nvdp__bf16 *x = bf16_zeros(1 << 16);
    *n = 0;
    for (uint32_t h = 0; h <= 0xffff; h++)
        if (fabsf(nvdp__bfloat16_to_float((nvdp__bf16)h)) <= 1e4f) x[(*n)++] = (nvdp__bf16)h;
    return x;
}

static void forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                    const nvdp__bf16 *x, nvdp__bf16 *y) {
    nvdp__activation_forward(dev, act, bf16_tensor(1, n, x), bf16_tensor(1, n, y));
}

static void backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                     const nvdp__bf16 *x, const nvdp__bf16 *dy, nvdp__bf16 *dx, nvdp__bf16 *y) {
    nvdp__activation_backward(dev, act, bf16_tensor(1, n, x), bf16_tensor(1, n, dy),
                              bf16_tensor(1, n, dx), bf16_tensor(1, n, y));
}

/* Allows one rounding to bfloat16, and before it the float kernels' error (vector.h): 2e-7
 * max(1, |x|), twice that for the slope, times dy. */
static void close_to(const char *what, size_t n, const nvdp__bf16 *got, const double *want,
                     const double *x, const double *dy) {
    for (size_t i = 0; i < n; i++) {
        double found = (double)nvdp__bfloat16_to_float(got[i]);
        double own = 4e-7 * fmax(1, fabs(x[i])) * (dy != NULL ? fabs(dy[i]) : 1);
        cr_assert(fabs(found - want[i]) <= BF16_ROUNDING * fabs(want[i]) + own,
                  "%s: at %.9g: expected %.9g, found %.9g", what, x[i], want[i], found);
    }
}

Test(activation_bf16, every_bfloat16_number) {
    bf16_or_skip();
    size_t n;
    nvdp__bf16 *x = every(&n);
    nvdp__bf16 *dy = bf16_values(n, 2);
    double *x64 = bf16_widen(n, x), *dy64 = bf16_widen(n, dy);
    double *want = test_zeros64(n), *want_dx = test_zeros64(n);
    nvdp__bf16 *y = bf16_nans(n + 1), *dx = bf16_nans(n + 1), *again = bf16_nans(n + 1);
    for (int which = 0; which < BF16_DEVICES; which++)
        for (size_t a = 0; a < ACTS; a++) {
            struct nvdp__device dev = bf16_device(which);
            ref64_act_forward(acts[a], n, x64, want);
            ref64_act_backward(acts[a], n, x64, dy64, want_dx);
            forward(&dev, acts[a], n, x, y);
            backward(&dev, acts[a], n, x, dy, dx, again);
            close_to("forward", n, y, want, x64, NULL);
            close_to("backward", n, dx, want_dx, x64, dy64);
            close_to("forward within backward", n, again, want, x64, NULL);
            cr_assert(y[n] == 0xffff && dx[n] == 0xffff && again[n] == 0xffff);
        }
}

Test(activation_bf16, ends_of_the_range) {
    bf16_or_skip();
    struct nvdp__device dev = bf16_device(BF16_ONE);
    for (size_t a = 0; a < ACTS; a++) {
        nvdp__bf16 x[] = {0x7f80, 0x7fc0, 0x7f7f, 0xc47a}; /* inf, NaN, the largest, -1000 */
        nvdp__bf16 y[4];
        forward(&dev, acts[a], 4, x, y);
        cr_expect_eq(y[0], 0x7f80);
        cr_expect(isnan(nvdp__bfloat16_to_float(y[1])));
        cr_expect_eq(y[2], 0x7f7f);
        cr_expect_eq(nvdp__bfloat16_to_float(y[3]), 0);
    }
}

/* Results may overwrite their operands, as in an encoder's layer. */
static void in_place(const struct nvdp__device *dev, enum nvdp__act act, size_t n) {
    nvdp__bf16 *x = bf16_values(n, 4), *dy = bf16_values(n, 1);
    nvdp__bf16 *y = bf16_nans(n), *dx = bf16_nans(n), *value = bf16_nans(n);
    forward(dev, act, n, x, y);
    backward(dev, act, n, x, dy, dx, value);
    nvdp__bf16 *over = bf16_copy(n, x);
    forward(dev, act, n, over, over);
    bf16_same("y over x", n, over, y);
    memcpy(over, x, n * sizeof *over);
    backward(dev, act, n, over, dy, dy, over);
    bf16_same("dx over dy", n, dy, dx);
    bf16_same("value over x", n, over, value);
}

Test(activation_bf16, may_work_in_place) {
    bf16_or_skip();
    const size_t lengths[] = {0, 1, 15, 33, 4096, 4097, 40000};
    for (int which = 0; which < BF16_DEVICES; which++) {
        struct nvdp__device dev = bf16_device(which);
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
            for (size_t a = 0; a < ACTS; a++)
                in_place(&dev, acts[a], lengths[l]);
    }
}

/* A value recomputed in the backward pass is the forward's, bit for bit, so that the next
 * product reads the same operand. */
Test(activation_bf16, backward_repeats_the_forward) {
    bf16_or_skip();
    struct nvdp__device dev = bf16_device(BF16_ONE);
    size_t n;
    nvdp__bf16 *x = every(&n);
    nvdp__bf16 *dy = bf16_values(n, 1);
    nvdp__bf16 *y = bf16_nans(n), *again = bf16_nans(n);
    for (size_t a = 0; a < ACTS; a++) {
        forward(&dev, acts[a], n, x, y);
        backward(&dev, acts[a], n, x, dy, bf16_nans(n), again);
        bf16_same("value", n, again, y);
    }
}

Test(activation_bf16, float_devices_match_double) {
    enum { N = 5000 };
    for (size_t d = 0; d < DEVICES; d++)
        for (size_t a = 0; a < ACTS; a++) {
            const struct nvdp__device *dev = &test_devices[d];
            float *x = test_floats(N, 5), *dy = test_floats(N, 1);
            double *want = test_zeros64(N), *want_dx = test_zeros64(N);
            ref64_act_forward(acts[a], N, test_widen(N, x), want);
            ref64_act_backward(acts[a], N, test_widen(N, x), test_widen(N, dy), want_dx);
            float *over = test_copy(N, x);
            struct nvdp__tensor y = nvdp__f32(1, N, over), slope = nvdp__f32(1, N, dy);
            bool plain = test_is_plain(dev);
            (plain ? plain_activation_forward : nvdp__activation_forward)(dev, acts[a], y, y);
            test_close("forward", N, over, want, FLOAT_TOLERANCE);
            memcpy(over, x, N * sizeof *over);
            (plain ? plain_activation_backward : nvdp__activation_backward)(dev, acts[a], y, slope,
                                                                            slope, y);
            test_close("dx", N, dy, want_dx, FLOAT_TOLERANCE);
            test_close("value", N, over, want, FLOAT_TOLERANCE);
        }
}
