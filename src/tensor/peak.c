#include "tensor/peak.h"

#include "tensor/ops.h"

#include <math.h>
#include <stdlib.h>

/* A product of 2048 does 17 Gflop on 48 MiB: large enough that starting it does not show. */
enum { SIZE = 2048, PRODUCTS = 9 };

static double product_seconds(const struct nvdp__device *dev, const float *a, const float *b,
                              float *c) {
    double start = nvdp__now();
    nvdp__gemm(dev, false, true, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE);
    return nvdp__now() - start;
}

double nvdp__gemm_peak(const struct nvdp__device *dev) {
    size_t items = (size_t)SIZE * SIZE;
    float *a = nvdp__calloc(dev->ctx, 3 * items, sizeof *a);
    if (a == NULL) return 0;
    for (size_t i = 0; i < 2 * items; i++) {
        a[i] = (float)(i % 7) - 3; /* zeros could be faster than numbers */
    }
    double least = INFINITY;
    for (int i = 0; i < PRODUCTS; i++) {
        least = fmin(least, product_seconds(dev, a, a + items, a + 2 * items));
    }
    free(a);
    return 2 * (double)SIZE * SIZE * SIZE / least;
}
