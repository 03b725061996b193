/* Dense layers in 8-bit integers, forward only: the encoder uses them when it encodes or scores
 * texts.
 *
 * A weight w [out, in] is stored as int8 numbers q with one scale per output, max |w| / 127. A row x of activations is
 * quantized to uint8 numbers u between the minimum and the maximum of x:
 *
 *     w_ck  ~ scale_c q_ck
 *     x_k   ~ min + step u_k,    step = (max x - min x) / 255
 *     y_c   = scale_c (step sum_k u_k q_ck + min sum_k q_ck) + b_c
 *
 * The sums are exact integers, so a row gives the same bits in every batch and on any number of
 * threads. Each element of x and w has an error of at most half a step. */
#ifndef NVDP_SRC_TENSOR_INT8_H
#define NVDP_SRC_TENSOR_INT8_H

#include "tensor/tensor.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvdp__int8;

/* Creates an engine. Fails with NVDP_ERR_UNSUPPORTED (see nvdp__int8_missing()) or NVDP_ERR_MEMORY. */
nvdp_status nvdp__int8_create(struct nvdp_context *ctx, struct nvdp__int8 **out);
void nvdp__int8_free(struct nvdp__int8 *int8); /* NULL is allowed */
/* Creates a lane, as nvdp__bf16_lane() does. */
nvdp_status nvdp__int8_lane(const struct nvdp__int8 *int8, struct nvdp__int8 **out);
/* Returns the first failure since creation; after a failure, operations do nothing. */
nvdp_status nvdp__int8_status(const struct nvdp__int8 *int8);
/* Invalidates the int8 copies of weights: each copy is made again at the next use. */
void nvdp__int8_weights_changed(struct nvdp__int8 *int8);
/* Computes y [rows, out] = x [rows, in] w^T + b; b is NULL if there is no bias. x and y are contiguous, float32 or
 * bfloat16. */
void nvdp__int8_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                        struct nvdp__tensor x, struct nvdp__tensor y);

/* ---- the integer product (onednn.c, or onednn_none.c in builds without oneDNN) ---- */

/* returns why dense layers have no int8 here; NULL if they have int8 */
const char *nvdp__int8_missing(void);
/* Returns the largest x for which products are exact: 255, or 127 with AVX2, which adds two products in 16 bits
 * first. Returns 0 if there are no products, or only slow ones. */
int nvdp__int8_largest(void);
/* Creates an engine for integer products. Fails with NVDP_ERR_UNSUPPORTED if nvdp__int8_largest() is 0, or with
 * NVDP_ERR_MEMORY. */
nvdp_status nvdp__int8_products(struct nvdp_context *ctx, struct nvdp__bf16_engine **out);
/* Computes y [rows, out] = x [rows, in] w [out, in]^T with |w| <= 127. x and y have room for nvdp__bf16_rows(rows)
 * rows. */
void nvdp__int8_product(struct nvdp__bf16_engine *products, size_t rows, size_t in, size_t out,
                        uint8_t *x, const int8_t *w, int32_t *y);

/* ==== products of small integers ==== */

/* Exact products of small integers for AVX2: u in 0..127 by q in -64..64, for which sums of four products fit 16
 * bits. They are faster than products of whole bytes. */

enum {
    NVDP__BYTE_LARGEST_U = 127,
    NVDP__BYTE_LARGEST_Q = 64,
    NVDP__BYTE_ROWS = 16,   /* rows packed together */
    NVDP__BYTE_POINTS = 64, /* points packed together */
    NVDP__BYTE_DEEP = 16    /* the numbers of a row are padded to a multiple of this */
};

bool nvdp__byte_products(void); /* true if the processor has these products */

static inline size_t nvdp__byte_width(size_t dim) {
    return (dim + NVDP__BYTE_DEEP - 1) / NVDP__BYTE_DEEP * NVDP__BYTE_DEEP;
}

/* Packs n rows [n, dim] into out [NVDP__BYTE_ROWS, width], and n points in the same way. */
void nvdp__byte_pack_rows(size_t n, size_t dim, const int8_t *q, int8_t *out);
void nvdp__byte_pack_points(size_t n, size_t dim, const uint8_t *u, uint8_t *out);
/* Computes y [NVDP__BYTE_POINTS, rows] = u q^T for packed points and rows; `rows` is a multiple of NVDP__BYTE_ROWS. */
void nvdp__byte_product(size_t dim, size_t rows, const uint8_t *u, const int8_t *q, int32_t *y);

#endif
