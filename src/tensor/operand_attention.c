/* Attention over operands: attention.c in float32, attention_half.c in bfloat16. */
#include "tensor/operand_access.h"

#include "tensor/attention_half.h"

size_t nvdp__operand_attention_scratch(const struct nvdp__device *dev, size_t longest_q,
                                       size_t longest_k, size_t head_dim) {
    if (dev->half == NULL) return nvdp__attention_scratch(dev, longest_q, longest_k, head_dim);
    return nvdp__attention_half_scratch(dev, longest_q, longest_k, head_dim);
}

void nvdp__operand_attention_forward(const struct nvdp__device *dev,
                                     const struct nvdp__attention *att, const nvdp__operand *q,
                                     const nvdp__operand *k, const nvdp__operand *v,
                                     const float *bias, nvdp__operand *out, float *lse,
                                     float *scratch) {
    if (dev->half == NULL) {
        nvdp__attention_forward(dev, att, nvdp__op_f32(q), nvdp__op_f32(k), nvdp__op_f32(v), bias,
                                nvdp__op_f32_out(out), lse, scratch);
        return;
    }
    struct nvdp__attention_half x = {.q = nvdp__op_bf16(q),
                                     .k = nvdp__op_bf16(k),
                                     .v = nvdp__op_bf16(v),
                                     .bias = bias,
                                     .lse = lse,
                                     .out = nvdp__op_bf16_out(out),
                                     .scratch = scratch};
    nvdp__attention_half_forward(dev, att, &x);
}

void nvdp__operand_attention_backward(const struct nvdp__device *dev,
                                      const struct nvdp__attention *att, const nvdp__operand *q,
                                      const nvdp__operand *k, const nvdp__operand *v,
                                      const float *bias, const nvdp__operand *out, float *lse,
                                      const nvdp__operand *dout, nvdp__operand *dq,
                                      nvdp__operand *dk, nvdp__operand *dv, float *dbias,
                                      float *scratch) {
    if (dev->half == NULL) {
        nvdp__attention_backward(dev, att, nvdp__op_f32(q), nvdp__op_f32(k), nvdp__op_f32(v), bias,
                                 nvdp__op_f32(out), lse, nvdp__op_f32(dout), nvdp__op_f32_out(dq),
                                 nvdp__op_f32_out(dk), nvdp__op_f32_out(dv), dbias, scratch);
        return;
    }
    struct nvdp__attention_half x = {.q = nvdp__op_bf16(q),
                                     .k = nvdp__op_bf16(k),
                                     .v = nvdp__op_bf16(v),
                                     .bias = bias,
                                     .lse = lse,
                                     .dout = nvdp__op_bf16(dout),
                                     .dq = nvdp__op_bf16_out(dq),
                                     .dk = nvdp__op_bf16_out(dk),
                                     .dv = nvdp__op_bf16_out(dv),
                                     .dbias = dbias,
                                     .scratch = scratch};
    nvdp__attention_half_backward(dev, att, &x);
}
