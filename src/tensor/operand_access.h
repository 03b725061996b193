/* What an operand is, for this room alone. */
#ifndef NVDP_SRC_TENSOR_OPERAND_ACCESS_H
#define NVDP_SRC_TENSOR_OPERAND_ACCESS_H

#include "tensor/bfloat16.h"
#include "tensor/operand.h"
#include "tensor/vector.h"

NVDP__INLINE const float *nvdp__op_f32(const nvdp__operand *x) {
    return (const float *)(const void *)x;
}
NVDP__INLINE float *nvdp__op_f32_out(nvdp__operand *x) {
    return (float *)(void *)x;
}
NVDP__INLINE const nvdp__bf16 *nvdp__op_bf16(const nvdp__operand *x) {
    return (const nvdp__bf16 *)(const void *)x;
}
NVDP__INLINE nvdp__bf16 *nvdp__op_bf16_out(nvdp__operand *x) {
    return (nvdp__bf16 *)(void *)x;
}
NVDP__INLINE nvdp__operand *nvdp__f32_op(float *x) {
    return (nvdp__operand *)(void *)x;
}

/* Rows to bfloat16 and back, for loops of other kernels. */
void nvdp__round_row(size_t n, const float *x, nvdp__bf16 *y);
void nvdp__widen_row(size_t n, const nvdp__bf16 *x, float *y);

#endif
