#include "half_test.h"

#include <omp.h>
#include <string.h>

void half_or_skip(void) {
    if (nvdp_bf16_missing() != NULL) cr_skip_test("bf16: %s", nvdp_bf16_missing());
}

struct nvdp__device half_device(int threads) {
    struct nvdp__device dev = {.threads = threads};
    omp_set_num_threads(threads); /* as a context does */
    cr_assert_eq(nvdp__half_create(NULL, &dev.half), NVDP_OK);
    return dev;
}

nvdp__bf16 *half_zeros(size_t n) {
    return (nvdp__bf16 *)(void *)test_zeros((n + 1) / 2);
}

nvdp__bf16 *half_values(size_t n, double scale) {
    float *x = test_floats(n, scale);
    nvdp__bf16 *y = half_zeros(n);
    for (size_t i = 0; i < n; i++) {
        float away = x[i] < 0 ? -1e-4f : 1e-4f; /* products flush subnormals */
        y[i] = nvdp__bfloat16_from_float(x[i] + away * (float)scale);
    }
    return y;
}

nvdp__bf16 *half_copy(size_t n, const nvdp__bf16 *x) {
    nvdp__bf16 *y = half_zeros(n);
    memcpy(y, x, n * sizeof *y);
    return y;
}

nvdp__bf16 *half_nans(size_t n) {
    nvdp__bf16 *x = half_zeros(n);
    memset(x, 0xff, n * sizeof *x);
    return x;
}

double *half_widen(size_t n, const nvdp__bf16 *x) {
    double *y = test_zeros64(n);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)nvdp__bfloat16_to_float(x[i]);
    return y;
}

float *half_floats(size_t n, const nvdp__bf16 *x) {
    float *y = test_zeros(n);
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_to_float(x[i]);
    return y;
}

void half_close(const char *what, size_t n, const nvdp__bf16 *got, const double *want,
                double tolerance) {
    double largest = 1e-30;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        double found = (double)nvdp__bfloat16_to_float(got[i]);
        double allowed = HALF_ROUNDING * fabs(want[i]) + tolerance * largest;
        cr_assert(fabs(found - want[i]) <= allowed,
                  "%s: element %zu of %zu: expected %.9g, found %.9g (largest %.3g)", what, i, n,
                  want[i], found, largest);
    }
}

void half_same(const char *what, size_t n, const nvdp__bf16 *a, const nvdp__bf16 *b) {
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(a[i], b[i], "%s: element %zu of %zu: bits %04x and %04x", what, i, n, a[i],
                     b[i]);
}
