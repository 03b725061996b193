/* Dense layers forward in 8-bit integers: the encoder's, where texts are encoded or scored.
 *
 * A weight w [out, in] is kept as int8 numbers q of one scale an output, the largest |w| over 127.  A
 * row x of activations becomes uint8 numbers u between its least and its largest value:
 *
 *     w_ck  ~ scale_c q_ck
 *     x_k   ~ least + step u_k,    step = (max x - min x) / 255
 *     y_c   = scale_c (step sum_k u_k q_ck + least sum_k q_ck) + b_c
 *
 * The sums are exact integers: a row's result is the same bits in every batch and on any number of
 * threads.  An error of half a step an element, in x and in w. */
#ifndef NVDP_SRC_TENSOR_INT8_H
#define NVDP_SRC_TENSOR_INT8_H

#include "tensor/tensor.h"

struct nvdp__int8;

/* NVDP_ERR_UNSUPPORTED where nvdp__int8_missing says why, NVDP_ERR_MEMORY. */
nvdp_status nvdp__int8_create(struct nvdp_context *ctx, struct nvdp__int8 **out);
void nvdp__int8_free(struct nvdp__int8 *int8); /* NULL allowed */
/* As nvdp__bf16_lane. */
nvdp_status nvdp__int8_lane(const struct nvdp__int8 *int8, struct nvdp__int8 **out);
/* The first failure since it was made; operations after it do nothing. */
nvdp_status nvdp__int8_status(const struct nvdp__int8 *int8);
/* A weight's int8 copy is made when it is first used after this. */
void nvdp__int8_weights_changed(struct nvdp__int8 *int8);
/* y [rows, out] = x [rows, in] w^T + b (NULL: none), x and y float32 or bfloat16 without gaps. */
void nvdp__int8_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                        struct nvdp__tensor x, struct nvdp__tensor y);

/* ---- the product itself (onednn.c; onednn_none.c stands in) ---- */

const char *nvdp__int8_missing(void); /* why dense layers have none; NULL where they have */
/* The largest x up to which products are exact: 255, or 127, half the digits, where the processor adds two of them in
 * 16 bits first (AVX2); 0: there are no products, or slow ones. */
int nvdp__int8_largest(void);
/* NVDP_ERR_UNSUPPORTED where nvdp__int8_largest() is 0, NVDP_ERR_MEMORY. */
nvdp_status nvdp__int8_products(struct nvdp_context *ctx, struct nvdp__bf16_engine **out);
/* y [rows, out] = x [rows, in] w [out, in]^T, |w| at most 127; x and y have room for nvdp__bf16_rows(rows) rows. */
void nvdp__int8_product(struct nvdp__bf16_engine *products, size_t rows, size_t in, size_t out,
                        uint8_t *x, const int8_t *w, int32_t *y);

#endif
