/* In place of half.c where the build has no oneDNN. */
#include "tensor/half.h"

const char *nvdp_bf16_missing(void) {
    return "this build is without oneDNN";
}

nvdp_status nvdp__half_create(struct nvdp_context *ctx, struct nvdp__half **out) {
    (void)out;
    return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "bf16: %s", nvdp_bf16_missing());
}

/* Without a device that was made nothing below is reached. */

void nvdp__half_free(struct nvdp__half *half) {
    (void)half;
}

nvdp_status nvdp__half_status(const struct nvdp__half *half) {
    (void)half;
    return NVDP_ERR_UNSUPPORTED;
}

void nvdp__half_weights_changed(struct nvdp__half *half) {
    (void)half;
}

void nvdp__half_forward(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                        const nvdp__bf16 *x, const float *w, const float *b,
                        const struct nvdp__half_result *y) {
    (void)half, (void)shape, (void)x, (void)w, (void)b, (void)y;
}

void nvdp__half_backward_input(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                               const nvdp__bf16 *dy, const float *w,
                               const struct nvdp__half_result *dx) {
    (void)half, (void)shape, (void)dy, (void)w, (void)dx;
}

void nvdp__half_backward_weight(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                                nvdp__bf16 *x, nvdp__bf16 *dy, bool add, float *dw) {
    (void)half, (void)shape, (void)x, (void)dy, (void)add, (void)dw;
}
