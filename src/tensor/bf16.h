/* bfloat16, the upper half of a float: conversions, and products of bfloat16 operands that sum in
 * float32.
 *
 * The products of dense layers go through oneDNN (onednn.c; onednn_none.c stands in where the build
 * lacks it).  Numbers of rows are rounded up (nvdp__bf16_rows), so that batches of nearly the same
 * size share their primitives: every operand has room for that many rows, and operations may
 * overwrite the rows past its end.  The small products of attention are our own
 * (bf16_product.c). */
#ifndef NVDP_SRC_TENSOR_BF16_H
#define NVDP_SRC_TENSOR_BF16_H

#include "tensor/tensor.h"
#include <stdint.h>
#include <string.h>

typedef uint16_t nvdp__bf16;

/* Exact. */
static inline float nvdp__bfloat16_to_float(nvdp__bf16 bits16) {
    uint32_t bits = (uint32_t)bits16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* To nearest, ties to even; NaN stays NaN.  Without a branch, so that it vectorizes. */
static inline nvdp__bf16 nvdp__bfloat16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    uint32_t quiet = bits | 0x00400000u;
    uint32_t chosen = (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
    return (nvdp__bf16)(chosen >> 16);
}

/* ---- dense layers: oneDNN ---- */

/* Few rows to a multiple of 32, more than 512 to one of 64: oneDNN 2 cuts rows into blocks of equal
 * height, 32 to 64, and AMX multiplies a block of 53, 59 or 61 rows one row at a time, a block of 51
 * or 57 three at a time.  Odd multiples of 32 from 928 on can be cut so, with three to eleven times
 * the time (experiments/results/performance.md). */
static inline size_t nvdp__bf16_rows(size_t rows) {
    size_t block = rows <= 512 ? 32 : 64;
    return (rows + block - 1) / block * block;
}

/* Why there are no such products, NULL where there are.  `plain`: also on a processor with AVX-512
 * but without its bfloat16 instructions, where oneDNN computes them otherwise, and slowly. */
const char *nvdp__bf16_missing(bool plain);
/* NVDP_ERR_UNSUPPORTED where nvdp__bf16_missing says why, NVDP_ERR_MEMORY. */
nvdp_status nvdp__bf16_create(struct nvdp_context *ctx, bool plain, struct nvdp__bf16_engine **out);
void nvdp__bf16_free(struct nvdp__bf16_engine *bf16); /* NULL allowed */
/* The same products for another thread at the same time, its primitives and its workspace its own: to be freed
 * before `bf16`, which tells its failures too. */
nvdp_status nvdp__bf16_lane(struct nvdp__bf16_engine *bf16, struct nvdp__bf16_engine **out);
/* Around what lanes share. */
void nvdp__bf16_lock(struct nvdp__bf16_engine *bf16);
void nvdp__bf16_unlock(struct nvdp__bf16_engine *bf16);
/* The first failure since it was made; operations after it do nothing. */
nvdp_status nvdp__bf16_status(const struct nvdp__bf16_engine *bf16);
/* A weight's bfloat16 copies, in the layouts that the products want, are made when it is first used
 * after this. */
void nvdp__bf16_weights_changed(struct nvdp__bf16_engine *bf16);

/* Where float32 inputs and gradients are rounded to, so many elements each; not owned. */
void nvdp__bf16_scratch(struct nvdp__bf16_engine *bf16, nvdp__bf16 *input, size_t inputs,
                        nvdp__bf16 *gradient, size_t gradients);
/* x [rows, cols] in bfloat16: itself, or rounded into the first (input) or second scratch.  Without
 * data where that has no room: an error that nvdp__bf16_status tells. */
struct nvdp__tensor nvdp__bf16_rounded(const struct nvdp__device *dev, bool gradient,
                                       struct nvdp__tensor x);

/* y [rows, out] = x [rows, in] w [out, in]^T + b [out] (NULL: none); y float32 or bfloat16. */
void nvdp__bf16_forward(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                        struct nvdp__tensor x, struct nvdp__tensor y);
/* dx [rows, in] = dy [rows, out] w [out, in]; added to a float32 dx where `add`. */
void nvdp__bf16_backward_input(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                               struct nvdp__tensor dy, struct nvdp__tensor dx, bool add);
/* dw [out, in] = dy^T x, set or added to; rows of x and dy past the end are zeroed.  oneDNN cuts the
 * sum by the number of threads where rows are thousands and dw has few elements (about 100 x 100):
 * only there do its bits depend on that number. */
void nvdp__bf16_backward_weight(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                                struct nvdp__tensor x, struct nvdp__tensor dy);

/* The float32 product C = alpha op(A) op(B) + beta C through oneDNN, none of them empty; on all
 * threads.  The same bits each time for the same sizes, strides and
 * number of threads.  False where OpenBLAS is to do it: nothing was written. */
bool nvdp__onednn_gemm(float alpha, bool trans_a, struct nvdp__tensor a, bool trans_b,
                       struct nvdp__tensor b, float beta, struct nvdp__tensor c);

/* ---- small products (bf16_product.c) ---- */

/* They read packed layouts: a word holds two consecutive elements of the summed dimension, the
 * first in the lower 16 bits.  Units round their sums in different orders. */

/* Whether the processor has AMX and the kernel lets this process use it; it is asked each time. */
bool nvdp__bf16_has_tiles(void);

/* Lanes of a vector: widths of packed operands are multiples of it. */
enum { NVDP__BF16_LANES = 16 };

/* C [m, n] (added to where `add`) = A B, n a multiple of NVDP__BF16_LANES.  For odd k the upper
 * 16 bits of the words of B's last row are 0, and A's element k is finite. */
struct nvdp__bf16_product {
    size_t m, n, k;
    bool add;
    const nvdp__bf16 *a; /* [m, k] */
    size_t lda;          /* elements from row to row, an even number */
    const uint32_t *b;   /* [ceil(k/2), n] words */
    size_t ldb;
    float *c;
    size_t ldc;
};
void nvdp__bf16_product(enum nvdp__bf16_unit unit, struct nvdp__bf16_product p);

/* For A B with B = x^T: y [dim/2, ldy] words, word (p, r) holding x[r][2p], x[r][2p + 1]; columns
 * from `rows` to ldy are 0.  dim a multiple of 2 NVDP__BF16_LANES, ldy one of NVDP__BF16_LANES, ldx
 * even. */
void nvdp__bf16_pack_transposed(enum nvdp__bf16_unit unit, size_t rows, size_t dim,
                                const nvdp__bf16 *x, size_t ldx, size_t ldy, uint32_t *y);
/* For A B with B = x: y [ceil(rows/2), dim] words, word (p, d) holding x[2p][d], x[2p + 1][d]. dim
 * a multiple of NVDP__BF16_LANES. */
void nvdp__bf16_pack(enum nvdp__bf16_unit unit, size_t rows, size_t dim, const nvdp__bf16 *x,
                     size_t ldx, uint32_t *y);
/* y [cols, ldy] words = x^T, x [rows, cols] words: of a packed matrix it makes the rows of the
 * transposed one. cols a multiple of NVDP__BF16_LANES; columns from `rows` to ldy, a multiple of
 * NVDP__BF16_LANES, are 0. */
void nvdp__bf16_transpose(enum nvdp__bf16_unit unit, size_t rows, size_t cols, const uint32_t *x,
                          size_t ldy, uint32_t *y);

#endif
