/* In place of onednn.c where the build has no oneDNN. */
#include "tensor/bf16.h"

bool nvdp__onednn_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                       const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                       size_t ldc) {
    (void)trans_a, (void)trans_b, (void)m, (void)n, (void)k, (void)alpha, (void)a, (void)lda;
    (void)b, (void)ldb, (void)beta, (void)c, (void)ldc;
    return false;
}

const char *nvdp__bf16_missing(bool plain) {
    (void)plain;
    return "this build is without oneDNN";
}

nvdp_status nvdp__bf16_create(struct nvdp_context *ctx, bool plain,
                              struct nvdp__bf16_engine **out) {
    (void)out;
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "bf16: %s", nvdp__bf16_missing(plain));
}

/* Without a device that was made nothing below is reached. */

void nvdp__bf16_free(struct nvdp__bf16_engine *bf16) {
    (void)bf16;
}

nvdp_status nvdp__bf16_status(const struct nvdp__bf16_engine *bf16) {
    (void)bf16;
    return NVDP_ERR_UNSUPPORTED;
}

void nvdp__bf16_weights_changed(struct nvdp__bf16_engine *bf16) {
    (void)bf16;
}

void nvdp__bf16_scratch(struct nvdp__bf16_engine *bf16, nvdp__bf16 *input, size_t inputs,
                        nvdp__bf16 *gradient, size_t gradients) {
    (void)bf16, (void)input, (void)inputs, (void)gradient, (void)gradients;
}

struct nvdp__tensor nvdp__bf16_rounded(const struct nvdp__device *dev, bool gradient,
                                       struct nvdp__tensor x) {
    (void)dev, (void)gradient;
    return x;
}

void nvdp__bf16_forward(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                        struct nvdp__tensor x, struct nvdp__tensor y) {
    (void)bf16, (void)layer, (void)x, (void)y;
}

void nvdp__bf16_backward_input(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                               struct nvdp__tensor dy, struct nvdp__tensor dx, bool add) {
    (void)bf16, (void)layer, (void)dy, (void)dx, (void)add;
}

void nvdp__bf16_backward_weight(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                                struct nvdp__tensor x, struct nvdp__tensor dy) {
    (void)bf16, (void)layer, (void)x, (void)dy;
}
