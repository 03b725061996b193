/* Small products with bfloat16 operands and float32 sums (AVX512_BF16), and the layouts that they
 * read: a word holds two consecutive elements of the summed dimension, the first in the lower half.
 * To be called only where nvdp_bf16_missing() is NULL. */
#ifndef NVDP_SRC_TENSOR_HALF_PRODUCT_H
#define NVDP_SRC_TENSOR_HALF_PRODUCT_H

#include "tensor/bfloat16.h"
#include <stdbool.h>
#include <stddef.h>

/* Lanes of a vector: widths of packed operands are multiples of it. */
enum { NVDP__HALF_LANES = 16 };

/* C [m, n] (added to where `add`) = A B.  A [m, k] bfloat16 with row stride lda, an even number of
 * elements; B [ceil(k/2), n] words with row stride ldb; n a multiple of NVDP__HALF_LANES.  For odd
 * k the upper halves of B's last row are 0, and A's element k is finite. */
void nvdp__half_product(size_t m, size_t n, size_t k, bool add, const nvdp__bf16 *a, size_t lda,
                        const uint32_t *b, size_t ldb, float *c, size_t ldc);

/* For A B with B = x^T: y [dim/2, ldy] words, word (p, r) holding x[r][2p], x[r][2p + 1]; columns
 * from `rows` to ldy are 0.  dim a multiple of 2 NVDP__HALF_LANES, ldy one of NVDP__HALF_LANES, ldx
 * even. */
void nvdp__half_pack_transposed(size_t rows, size_t dim, const nvdp__bf16 *x, size_t ldx,
                                size_t ldy, uint32_t *y);
/* For A B with B = x: y [ceil(rows/2), dim] words, word (p, d) holding x[2p][d], x[2p + 1][d]. dim
 * a multiple of NVDP__HALF_LANES. */
void nvdp__half_pack(size_t rows, size_t dim, const nvdp__bf16 *x, size_t ldx, uint32_t *y);
/* y [cols, ldy] words = x^T, x [rows, cols] words: of a packed matrix it makes the rows of the
 * transposed one. cols a multiple of NVDP__HALF_LANES; columns from `rows` to ldy, a multiple of
 * NVDP__HALF_LANES, are 0. */
void nvdp__half_transpose(size_t rows, size_t cols, const uint32_t *x, size_t ldy, uint32_t *y);

#endif
