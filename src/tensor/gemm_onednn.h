/* The float32 matrix product through oneDNN; gemm_onednn_none.c stands in where the build lacks it.
 */
#ifndef NVDP_SRC_TENSOR_GEMM_ONEDNN_H
#define NVDP_SRC_TENSOR_GEMM_ONEDNN_H

#include <stdbool.h>
#include <stddef.h>

/* C[m,n] = alpha op(A) op(B) + beta C, row-major with row strides; m, n, k > 0; on all threads. The
 * same bits each time for the same sizes, strides and number of threads.  False where OpenBLAS is
 * to do it: nothing was written. */
bool nvdp__onednn_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                       const float *a, size_t lda, const float *b, size_t ldb, float beta, float *c,
                       size_t ldc);

#endif
