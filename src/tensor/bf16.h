/* bfloat16, the upper half of a float: conversions, and products with bfloat16 operands and
 * float32 sums.
 *
 * The products of dense layers go through oneDNN (onednn.c; onednn_none.c replaces it in builds without oneDNN). Row
 * counts are rounded up (nvdp__bf16_rows), so that batches of nearly the same size share their primitives. Every
 * operand therefore has room for that many rows, and operations may overwrite the rows past the operand's end.
 * bf16_product.c computes the small products of attention. */
#ifndef NVDP_SRC_TENSOR_BF16_H
#define NVDP_SRC_TENSOR_BF16_H

#include "tensor/tensor.h"
#include <stdint.h>
#include <string.h>

typedef uint16_t nvdp__bf16;

/* Converts without rounding. */
static inline float nvdp__bfloat16_to_float(nvdp__bf16 bits16) {
    uint32_t bits = (uint32_t)bits16 << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to nearest, ties to even; NaN stays NaN. The function has no branch, so that loops vectorize. */
static inline nvdp__bf16 nvdp__bfloat16_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    uint32_t quiet = bits | 0x00400000u;
    uint32_t chosen = (bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded;
    return (nvdp__bf16)(chosen >> 16);
}

/* ---- dense layers: oneDNN ---- */

/* Rounds up to a multiple of 32, or of 64 above 512 rows. oneDNN 2 cuts rows into blocks of
 * equal height between 32 and 64. AMX multiplies a block of 53, 59 or 61 rows one row at a time,
 * and a block of 51 or 57 three rows at a time. Odd multiples of 32 from 928 on can be cut into
 * such blocks and then take three to eleven times as long (experiments/results/performance.md). */
static inline size_t nvdp__bf16_rows(size_t rows) {
    size_t block = rows <= 512 ? 32 : 64;
    return (rows + block - 1) / block * block;
}

/* Returns why bfloat16 products are not available, or NULL if they are. `plain` also accepts a
 * processor with AVX-512 but without its bfloat16 instructions: oneDNN then emulates them,
 * slowly. */
const char *nvdp__bf16_missing(bool plain);
/* Creates an engine. Fails with NVDP_ERR_UNSUPPORTED (see nvdp__bf16_missing()) or NVDP_ERR_MEMORY. */
nvdp_status nvdp__bf16_create(struct nvdp_context *ctx, bool plain, struct nvdp__bf16_engine **out);
void nvdp__bf16_free(struct nvdp__bf16_engine *bf16); /* NULL is allowed */
/* Creates an engine for another thread that computes at the same time. The new engine has separate primitives and a
 * separate workspace, and shares the copies of weights. Free it before `bf16`; its failures also count in the status
 * of `bf16`. */
nvdp_status nvdp__bf16_lane(struct nvdp__bf16_engine *bf16, struct nvdp__bf16_engine **out);
/* Lock and unlock the state that lanes share. */
void nvdp__bf16_lock(struct nvdp__bf16_engine *bf16);
void nvdp__bf16_unlock(struct nvdp__bf16_engine *bf16);
/* Returns the first failure since creation; after a failure, operations do nothing. */
nvdp_status nvdp__bf16_status(const struct nvdp__bf16_engine *bf16);
/* Invalidates the bfloat16 copies of weights: each copy is made again at the next use. */
void nvdp__bf16_weights_changed(struct nvdp__bf16_engine *bf16);

/* Sets the buffers, and their sizes in elements, into which float32 inputs and gradients are rounded. The caller
 * owns the buffers. */
void nvdp__bf16_scratch(struct nvdp__bf16_engine *bf16, nvdp__bf16 *input, size_t inputs,
                        nvdp__bf16 *gradient, size_t gradients);
/* Returns x [rows, cols] in bfloat16: x itself, or x rounded into the input or gradient buffer.
 * If the buffer is too small, the result has no data and nvdp__bf16_status reports the error. */
struct nvdp__tensor nvdp__bf16_rounded(const struct nvdp__device *dev, bool gradient,
                                       struct nvdp__tensor x);

/* Computes y [rows, out] = x [rows, in] w [out, in]^T + b [out]; b is NULL if there is no bias. y is float32 or
 * bfloat16. */
void nvdp__bf16_forward(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                        struct nvdp__tensor x, struct nvdp__tensor y);
/* Computes dx [rows, in] = dy [rows, out] w [out, in]; if `add`, adds this to a float32 dx. */
void nvdp__bf16_backward_input(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                               struct nvdp__tensor dy, struct nvdp__tensor dx, bool add);
/* Sets dw [out, in] to dy^T x, or adds dy^T x to dw; zeroes the rows of x and dy past their end. With thousands of
 * rows and few elements of dw (about 100 x 100), oneDNN splits the sum by the number of threads. Only then do the
 * bits of dw depend on that number. */
void nvdp__bf16_backward_weight(struct nvdp__bf16_engine *bf16, const struct nvdp__linear *layer,
                                struct nvdp__tensor x, struct nvdp__tensor dy);

/* Computes the float32 product C = alpha op(A) op(B) + beta C of nonempty matrices through oneDNN, on all threads.
 * The same sizes, strides and number of threads give the same bits. Returns false, without writing, if OpenBLAS
 * should compute the product. */
bool nvdp__onednn_gemm(float alpha, unsigned flags, struct nvdp__tensor a, struct nvdp__tensor b,
                       float beta, struct nvdp__tensor c);

/* ---- small products (bf16_product.c) ---- */

/* The products of bf16_product.c read packed layouts: a word holds two consecutive elements of the summed dimension,
 * the first in the lower 16 bits. Different units round the sums in different orders. */

/* Returns true if the processor has AMX and the kernel lets this process use AMX. Asks the kernel at each call. */
bool nvdp__bf16_has_tiles(void);

/* Lanes of a vector; the widths of packed operands are multiples of this. */
enum { NVDP__BF16_LANES = 16 };

/* A product C [m, n] = A B, which is added to C if `add`; n is a multiple of NVDP__BF16_LANES. If k is odd, the
 * upper 16 bits of each word in B's last row are 0, and A's element k is finite. */
struct nvdp__bf16_product {
    size_t m, n, k;
    bool add;
    const nvdp__bf16 *a; /* [m, k] left operand */
    size_t lda;          /* elements from row to row, an even number */
    const uint32_t *b;   /* [ceil(k/2), n] words */
    size_t ldb;
    float *c;
    size_t ldc;
};
void nvdp__bf16_product(enum nvdp__bf16_unit unit, struct nvdp__bf16_product p);

/* Packs B = x^T for a product A B: y [dim/2, ldy] words, where word (p, r) holds x[r][2p] and
 * x[r][2p + 1]. Columns from `rows` to ldy are 0. dim is a multiple of 2 NVDP__BF16_LANES, ldy a
 * multiple of NVDP__BF16_LANES, and ldx is even. */
void nvdp__bf16_pack_transposed(enum nvdp__bf16_unit unit, size_t rows, size_t dim,
                                const nvdp__bf16 *x, size_t ldx, size_t ldy, uint32_t *y);
/* Packs B = x for a product A B: y [ceil(rows/2), dim] words, where word (p, d) holds x[2p][d]
 * and x[2p + 1][d]. dim is a multiple of NVDP__BF16_LANES. */
void nvdp__bf16_pack(enum nvdp__bf16_unit unit, size_t rows, size_t dim, const nvdp__bf16 *x,
                     size_t ldx, uint32_t *y);
/* y [cols, ldy] words = x^T for x [rows, cols] words: turns a packed matrix into the rows of its
 * transpose. cols and ldy are multiples of NVDP__BF16_LANES; columns from `rows` to ldy are 0. */
void nvdp__bf16_transpose(enum nvdp__bf16_unit unit, size_t rows, size_t cols, const uint32_t *x,
                          size_t ldy, uint32_t *y);

#endif
