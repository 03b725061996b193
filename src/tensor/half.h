/* Products of dense layers with bfloat16 operands and float32 sums, through oneDNN.
 *
 * Everything of oneDNN is behind this header; half_none.c stands in where the build lacks it.
 * Numbers of rows are rounded up to a multiple of NVDP__HALF_ROWS, so that batches of nearly the
 * same size share their primitives: every operand has room for that many rows, and operations may
 * overwrite the rows past its end. */
#ifndef NVDP_SRC_TENSOR_HALF_H
#define NVDP_SRC_TENSOR_HALF_H

#include "tensor/bfloat16.h"
#include "tensor/device.h"

enum { NVDP__HALF_ROWS = 32 };

static inline size_t nvdp__half_rows(size_t rows) {
    return (rows + NVDP__HALF_ROWS - 1) / NVDP__HALF_ROWS * NVDP__HALF_ROWS;
}

struct nvdp__half;

/* NVDP_ERR_UNSUPPORTED where nvdp_bf16_missing() says why, NVDP_ERR_MEMORY. */
nvdp_status nvdp__half_create(struct nvdp_context *ctx, struct nvdp__half **out);
void nvdp__half_free(struct nvdp__half *half); /* NULL allowed */
/* The first failure since it was made; operations after it do nothing. */
nvdp_status nvdp__half_status(const struct nvdp__half *half);
/* A weight's bfloat16 copies, in the layouts that the products want, are made when it is first used
 * after this. */
void nvdp__half_weights_changed(struct nvdp__half *half);

struct nvdp__half_shape {
    size_t rows, in, out;
};
/* Where a result goes: one of the two, with room for whole blocks of rows. */
struct nvdp__half_result {
    nvdp__bf16 *half;
    float *single;
    bool add; /* to what `single` holds */
};
/* y [rows, out] = x [rows, in] w [out, in]^T + b [out] (NULL: none). */
void nvdp__half_forward(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                        const nvdp__bf16 *x, const float *w, const float *b,
                        const struct nvdp__half_result *y);
/* dx [rows, in] = dy [rows, out] w [out, in]. */
void nvdp__half_backward_input(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                               const nvdp__bf16 *dy, const float *w,
                               const struct nvdp__half_result *dx);
/* dw [out, in] = dy^T x (added to where `add`); rows of x and dy past the end are zeroed.  oneDNN
 * cuts the sum by the number of threads where rows are thousands and dw has few elements (about
 * 100 x 100): only there do its bits depend on that number. */
void nvdp__half_backward_weight(struct nvdp__half *half, const struct nvdp__half_shape *shape,
                                nvdp__bf16 *x, nvdp__bf16 *dy, bool add, float *dw);

#endif
