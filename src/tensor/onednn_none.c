/* Replaces onednn.c in builds without oneDNN: the products do not exist, so callers fall back to
 * float32. */
#include "tensor/bf16.h"
#include "tensor/int8.h"

bool nvdp__onednn_gemm(float alpha, unsigned flags, struct nvdp__tensor a, struct nvdp__tensor b,
                       float beta, struct nvdp__tensor c) {
    (void)alpha, (void)flags, (void)a, (void)b, (void)beta, (void)c;
    return false;
}

const char *nvdp__bf16_missing(bool plain) {
    (void)plain;
    return "this build does not include oneDNN";
}

nvdp_status nvdp__bf16_create(struct nvdp_context *ctx, bool plain,
                              struct nvdp__bf16_engine **out) {
    (void)out;
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "bf16: %s", nvdp__bf16_missing(plain));
}

const char *nvdp__int8_missing(void) {
    return nvdp__bf16_missing(false);
}

int nvdp__int8_largest(void) {
    return 0;
}

nvdp_status nvdp__int8_products(struct nvdp_context *ctx, struct nvdp__bf16_engine **out) {
    (void)out;
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "this build has no products of 8-bit integers");
}

/* The functions below are never reached, because no device with these products can be created. */

void nvdp__bf16_free(struct nvdp__bf16_engine *bf16) {
    (void)bf16;
}

nvdp_status nvdp__bf16_lane(struct nvdp__bf16_engine *bf16, struct nvdp__bf16_engine **out) {
    (void)bf16, (void)out;
    return NVDP_ERR_UNSUPPORTED;
}

void nvdp__bf16_lock(struct nvdp__bf16_engine *bf16) {
    (void)bf16;
}

void nvdp__bf16_unlock(struct nvdp__bf16_engine *bf16) {
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

void nvdp__int8_product(struct nvdp__bf16_engine *products, size_t rows, size_t in, size_t out,
                        uint8_t *x, const int8_t *w, int32_t *y) {
    (void)products, (void)rows, (void)in, (void)out, (void)x, (void)w, (void)y;
}
