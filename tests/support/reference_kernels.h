/* Plain versions of the tensor operations: one thread, loops as in the formulas, sums and
 * functions in double. Tests compare the fast kernels with the double version (ref64_). The float
 * version (ref32_) runs a whole encoder, too (plain_kernels.h). */
#ifndef NVDP_TESTS_SUPPORT_REFERENCE_KERNELS_H
#define NVDP_TESTS_SUPPORT_REFERENCE_KERNELS_H

#include "tensor/ops.h"
#include "tensor/optimizer.h"

/* Attention over rows of these strides. */
struct ref_attention {
    size_t groups, heads, head_dim;
    float scale;
    const int32_t *q_offset, *k_offset;
    size_t q_stride, kv_stride, out_stride;
    struct nvdp__dropout dropout;
};

#define REAL double
#define REF(name) ref64_##name
#include "reference_kernels_api.inc"
#undef REAL
#undef REF
#define REAL float
#define REF(name) ref32_##name
#include "reference_kernels_api.inc"
#undef REAL
#undef REF

#endif
