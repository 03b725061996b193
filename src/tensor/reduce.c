/* Reductions of long vectors: at most CHUNKS chunks whose bounds depend on the length alone, each
 * summed in double, then added up in order; so a sum does not depend on the number of threads. */
#include "tensor/ops.h"

#include "tensor/reference.h"
#include "tensor/vector.h"

enum { CHUNKS = 256 };

static size_t chunk_size(size_t n) {
    return nvdp__blocks(nvdp__blocks(n, CHUNKS), NVDP__BLOCK) * NVDP__BLOCK;
}

NVDP__CLONES
static double dot_chunk(size_t n, const float *x, const float *y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

double nvdp__dot(const struct nvdp__device *dev, size_t n, const float *x, const float *y) {
    if (dev->reference) return nvdp__ref_dot(n, x, y);
    if (n == 0) return 0;
    double part[CHUNKS];
    size_t size = chunk_size(n);
    size_t chunks = nvdp__blocks(n, size);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t i = 0; i < chunks; i++)
        part[i] = dot_chunk(nvdp__block_length(n, size, i), x + i * size, y + i * size);
    double sum = 0;
    for (size_t i = 0; i < chunks; i++)
        sum += part[i];
    return sum;
}

double nvdp__sum_squares(const struct nvdp__device *dev, size_t n, const float *x) {
    return nvdp__dot(dev, n, x, x);
}

double nvdp__spans_sum_squares(const struct nvdp__device *dev, size_t spans,
                               const struct nvdp__span *span, const float *x, double *part) {
    int team = nvdp__team(dev, spans * NVDP__SPAN);
#pragma omp parallel for num_threads(team) schedule(dynamic, 32)
    for (size_t i = 0; i < spans; i++) {
        const float *from = x + span[i].offset;
        part[i] = span[i].idle ? 0 : dot_chunk(span[i].count, from, from);
    }
    double sum = 0;
    for (size_t i = 0; i < spans; i++)
        sum += part[i];
    return sum;
}

/* An infinity or NaN has all exponent bits set. */
NVDP__CLONES
static uint32_t infinite_in_block(size_t n, const float *x) {
    uint32_t found = 0;
    for (size_t i = 0; i < n; i++)
        found |= (nvdp__float_bits(x[i]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
    return found;
}

bool nvdp__all_finite(const struct nvdp__device *dev, size_t n, const float *x) {
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
    uint32_t found = 0;
#pragma omp parallel for num_threads(team) reduction(| : found)
    for (size_t b = 0; b < blocks; b++)
        found |= infinite_in_block(nvdp__block_length(n, NVDP__BLOCK, b), x + b * NVDP__BLOCK);
    return found == 0;
}
