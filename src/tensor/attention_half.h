/* Attention with bfloat16 operands (attention_half.c); operand_attention.c chooses. */
#ifndef NVDP_SRC_TENSOR_ATTENTION_HALF_H
#define NVDP_SRC_TENSOR_ATTENTION_HALF_H

#include "tensor/bfloat16.h"
#include "tensor/ops.h"

/* Whether the shapes suit: whole vectors of a head; row strides are to be even. */
static inline bool nvdp__attention_half_fits(size_t head_dim) {
    return head_dim % 32 == 0;
}
size_t nvdp__attention_half_scratch(const struct nvdp__device *dev, size_t longest_q,
                                    size_t longest_k, size_t head_dim);
struct nvdp__attention_half {
    const nvdp__bf16 *q, *k, *v;
    const float *bias;
    float *lse;
    nvdp__bf16 *out; /* written by the forward */
    /* backward */
    const nvdp__bf16 *dout;
    nvdp__bf16 *dq, *dk, *dv;
    float *dbias;
    float *scratch;
};
void nvdp__attention_half_forward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                                  const struct nvdp__attention_half *x);
void nvdp__attention_half_backward(const struct nvdp__device *dev,
                                   const struct nvdp__attention *att,
                                   const struct nvdp__attention_half *x);

#endif
