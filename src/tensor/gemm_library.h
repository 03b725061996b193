/* The float32 matrix product of the library that the build chose: gemm_onednn.c or gemm_openblas.c.
 */
#ifndef NVDP_SRC_TENSOR_GEMM_LIBRARY_H
#define NVDP_SRC_TENSOR_GEMM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* C[m,n] = alpha op(A) op(B) + beta C, row-major with row strides; m, n, k > 0; on all threads. The
 * same bits each time for the same sizes, strides and number of threads. */
void nvdp__library_gemm(bool trans_a, bool trans_b, size_t m, size_t n, size_t k, float alpha,
                        const float *a, size_t lda, const float *b, size_t ldb, float beta,
                        float *c, size_t ldc);

#endif
