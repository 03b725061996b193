#include "tensor/dropout.h"

#include "tensor/reference.h"

NVDP__CLONES
static void dropout_block(struct nvdp__dropout_key key, int32_t threshold, float scale, size_t n,
                          float *x) {
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
        int32_t bits = nvdp__dropout_bits(key, j);
        x[j] = bits >= threshold ? x[j] * scale : 0.0f; /* a dropped NaN or inf is gone too */
    }
}

void nvdp__dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                         float *x) {
    if (drop->rate <= 0) return;
    if (dev->reference) {
        nvdp__ref_dropout_apply(drop, n, x);
        return;
    }
    int32_t threshold = nvdp__dropout_threshold(drop);
    float scale = 1.0f / (1.0f - drop->rate);
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++)
        dropout_block(nvdp__dropout_key(drop, b), threshold, scale,
                      nvdp__block_length(n, NVDP__BLOCK, b), x + b * NVDP__BLOCK);
}
