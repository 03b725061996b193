/* Devices, arrays and comparisons for the tests of bfloat16 operations. */
#include "bf16_test.h"

#include <omp.h>

void bf16_or_skip(void) {
    if (nvdp__bf16_missing(true) != NULL) cr_skip_test("bf16: %s", nvdp__bf16_missing(true));
}

struct nvdp__device bf16_device(int which) {
    struct nvdp__device dev = {.threads = which == BF16_TWO ? 2 : 1};
    bool plain = which == BF16_PLAIN || nvdp__bf16_missing(false) != NULL;
    if (plain)
        dev.unit = NVDP__BF16_PLAIN;
    else if (which == BF16_TILES && nvdp__bf16_has_tiles())
        dev.unit = NVDP__BF16_TILES;
    omp_set_num_threads(dev.threads); /* as a context does */
    ok(nvdp__bf16_create(NULL, plain, &dev.bf16));
    support_keep(dev.bf16);
    return dev;
}

nvdp__bf16 *bf16_zeros(size_t n) {
    return (nvdp__bf16 *)(void *)test_zeros((n + 1) / 2);
}

nvdp__bf16 *bf16_values(size_t n, double scale) {
    float *x = test_floats(n, scale);
    nvdp__bf16 *y = bf16_zeros(n);
    for (size_t i = 0; i < n; i++) {
        float away = x[i] < 0 ? -1e-4f : 1e-4f; /* products flush subnormals */
        y[i] = nvdp__bfloat16_from_float(x[i] + away * (float)scale);
    }
    return y;
}

nvdp__bf16 *bf16_copy(size_t n, const nvdp__bf16 *x) {
    nvdp__bf16 *y = bf16_zeros(n);
    memcpy(y, x, n * sizeof *y);
    return y;
}

nvdp__bf16 *bf16_nans(size_t n) {
    nvdp__bf16 *x = bf16_zeros(n);
    memset(x, 0xff, n * sizeof *x);
    return x;
}

double *bf16_widen(size_t n, const nvdp__bf16 *x) {
    double *y = test_zeros64(n);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)nvdp__bfloat16_to_float(x[i]);
    return y;
}

float *bf16_floats(size_t n, const nvdp__bf16 *x) {
    float *y = test_zeros(n);
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_to_float(x[i]);
    return y;
}

void bf16_close(const char *what, size_t n, const nvdp__bf16 *got, const double *want,
                double tolerance) {
    double largest = 1e-30;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        double found = (double)nvdp__bfloat16_to_float(got[i]);
        double allowed = BF16_ROUNDING * fabs(want[i]) + tolerance * largest;
        cr_assert(fabs(found - want[i]) <= allowed,
                  "%s: element %zu of %zu: expected %.9g, found %.9g (largest %.3g)", what, i, n,
                  want[i], found, largest);
    }
}

void bf16_same(const char *what, size_t n, const nvdp__bf16 *a, const nvdp__bf16 *b) {
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(a[i], b[i], "%s: element %zu of %zu: bits %04x and %04x", what, i, n, a[i],
                     b[i]);
}
