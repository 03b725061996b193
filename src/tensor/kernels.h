/* Kernels that several files of this room call from their own parallel loops. */
#ifndef NVDP_SRC_TENSOR_KERNELS_H
#define NVDP_SRC_TENSOR_KERNELS_H

#include <stddef.h>

/* sum[c] += column c of x [rows, count] with row stride `stride`; count <= NVDP__COLUMNS; in double
 * and in row order. */
void nvdp__column_sums(size_t rows, size_t stride, size_t count, const float *x, float *sum);

/* C[m,n] = alpha A B for small sizes, n a multiple of 16; A's element (i, l) lies at
 * a[i * a_row + l * a_col], so that A may be transposed; rows of B [k,n] and C are contiguous. */
void nvdp__small_product(size_t m, size_t n, size_t k, float alpha, const float *a, size_t a_row,
                         size_t a_col, const float *b, size_t ldb, float *c, size_t ldc);
/* y [cols, ldy] = x^T, x [rows, cols] with row stride `stride`; columns rows..ldy of y are zero. */
void nvdp__small_transpose(size_t rows, size_t cols, const float *x, size_t stride, size_t ldy,
                           float *y);

/* One row of LayerNorm (layernorm.c): s = x + residual (residual NULL: s = x, sum not written). */
void nvdp__layernorm_row(size_t dim, double eps, const float *x, const float *residual,
                         const float *gamma, const float *beta, float *sum, float *y, float *mean,
                         float *rstd);
void nvdp__layernorm_row_backward(size_t dim, const float *sum, const float *gamma, float mean,
                                  float rstd, const float *dy, float *dx);
/* dgamma, dbeta of `count` <= NVDP__COLUMNS columns of rows `stride` long, added to. */
void nvdp__layernorm_columns_backward(size_t rows, size_t stride, size_t count, const float *sum,
                                      const float *mean, const float *rstd, const float *dy,
                                      float *dgamma, float *dbeta);

#endif
