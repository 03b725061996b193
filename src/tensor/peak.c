#include "tensor/peak.h"

#include "tensor/half.h"
#include "tensor/operand.h"

#include <math.h>
#include <stdlib.h>

/* A product of 2048 does 17 Gflop on 48 MiB: large enough that starting it does not show. */
enum { SIZE = 2048, PRODUCTS = 9 };

/* c = a b^T in the device's precision; a bfloat16 copy of b is made in the first product. */
static double product_seconds(const struct nvdp__device *dev, const nvdp__operand *a,
                              const float *b, nvdp__operand *c) {
    struct nvdp__linear layer = {.rows = SIZE, .in = SIZE, .out = SIZE, .w = b};
    double start = nvdp__now();
    nvdp__linear_to_operand(dev, &layer, a, c);
    return nvdp__now() - start;
}

double nvdp__gemm_peak(const struct nvdp__device *dev) {
    size_t items = (size_t)SIZE * SIZE;
    float *a = nvdp__calloc(dev->ctx, 4 * items, sizeof *a);
    if (a == NULL) return 0;
    for (size_t i = 0; i < 2 * items; i++) {
        a[i] = (float)(i % 7) - 3; /* zeros could be faster than numbers */
    }
    const nvdp__operand *x = nvdp__rounded(dev, items, a, nvdp__operand_in(a + 3 * items));
    double least = INFINITY;
    for (int i = 0; i < PRODUCTS; i++) {
        least = fmin(least, product_seconds(dev, x, a + items, nvdp__operand_in(a + 2 * items)));
    }
    nvdp__weights_changed(dev); /* b's memory goes */
    free(a);
    return 2 * (double)SIZE * SIZE * SIZE / least;
}
