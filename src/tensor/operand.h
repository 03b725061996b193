/* Operands: tensors that matrix products read.
 *
 * On a float32 device an operand is a float32 tensor; on a bfloat16 device (half.h) it is a
 * bfloat16 one, half the size.  Code above src/tensor/ sees the opaque type alone and is the same
 * for both.  An operand of [rows, dim], and a float32 result of a product, has room for
 * nvdp__operand_rows(rows) rows; operations may overwrite the rows past its end. */
#ifndef NVDP_SRC_TENSOR_OPERAND_H
#define NVDP_SRC_TENSOR_OPERAND_H

#include "tensor/ops.h"

typedef struct nvdp__operand nvdp__operand; /* never defined */

size_t nvdp__operand_rows(const struct nvdp__device *dev, size_t rows);
/* Room for [rows, dim]. */
nvdp__operand *nvdp__arena_take_operand(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                        size_t rows, size_t dim);
/* An operand of n elements in the memory of n floats, whatever the device. */
nvdp__operand *nvdp__operand_in(float *memory);
/* For a float32 tensor and its operand: on a float32 device they are one memory, `shared`; on a
 * bfloat16 device the operand is taken from the arena.  `shared` has the operand's rows. */
nvdp__operand *nvdp__arena_take_copy(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                     size_t rows, size_t dim, float *shared);
/* The operand `elements` further on. */
nvdp__operand *nvdp__operand_at(const struct nvdp__device *dev, nvdp__operand *x, size_t elements);
/* y = x rounded; nothing to do where they are one memory. */
void nvdp__to_operand(const struct nvdp__device *dev, size_t n, const float *x, nvdp__operand *y);
/* x as an operand: x itself on a float32 device, else rounded into `room`, which is returned. */
nvdp__operand *nvdp__rounded(const struct nvdp__device *dev, size_t n, const float *x,
                             nvdp__operand *room);
void nvdp__from_operand(const struct nvdp__device *dev, size_t n, const nvdp__operand *x, float *y);

/* ---- dense layers (operand_linear.c) ---- */
/* y[rows, out] = x[rows, in] w[out, in]^T + b[out] */
struct nvdp__linear {
    size_t rows, in, out;
    const float *w, *b; /* b NULL: none */
    float *dw, *db;     /* gradients; NULL: not wanted */
    bool set;           /* dw is overwritten instead of added to */
};
void nvdp__linear_to_operand(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                             const nvdp__operand *x, nvdp__operand *y);
void nvdp__linear_to_float(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                           const nvdp__operand *x, float *y);
/* dw set or added to; db added to. */
void nvdp__linear_params_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                                  nvdp__operand *x, nvdp__operand *dy);
/* dx = dy w */
void nvdp__linear_back_to_operand(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                                  const nvdp__operand *dy, nvdp__operand *dx);
/* dx = dy w, or dx += dy w where `add`. */
void nvdp__linear_back_to_float(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                                const nvdp__operand *dy, bool add, float *dx);

/* ---- activations (operand_act.c) ---- */
/* y may be x. GELU forms only. */
void nvdp__operand_act_forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                               const nvdp__operand *x, nvdp__operand *y);
/* dx = dy act'(x), dx may be dy; y = act(x), computed again instead of kept. */
void nvdp__operand_act_backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                                const nvdp__operand *x, const nvdp__operand *dy, nvdp__operand *dx,
                                nvdp__operand *y);

/* ---- dropout, residual and LayerNorm in one pass (residual_norm.c) ---- */
struct nvdp__residual_norm {
    size_t rows, dim;
    float eps;
    const float *gamma, *beta;
    float *dgamma, *dbeta;        /* added to by backward */
    float *mean, *rstd;           /* [rows] kept */
    struct nvdp__dropout dropout; /* on the branch; its elements are numbered (row, column) */
};
/* sum = drop(branch) + residual (NULL: 0), y = LN(sum), y_operand = y.  sum may be branch. */
void nvdp__residual_norm_forward(const struct nvdp__device *dev,
                                 const struct nvdp__residual_norm *norm, const float *branch,
                                 const float *residual, float *sum, float *y,
                                 nvdp__operand *y_operand);
/* d, the gradient of y, becomes that of sum (and of the residual); d_branch = drop'(d).  On a
 * float32 device d_branch may be d's memory where there is no dropout. */
void nvdp__residual_norm_backward(const struct nvdp__device *dev,
                                  const struct nvdp__residual_norm *norm, const float *sum,
                                  float *d, nvdp__operand *d_branch);

/* ---- attention (operand_attention.c) ---- */
/* As nvdp__attention_forward and _backward; strides in elements. */
size_t nvdp__operand_attention_scratch(const struct nvdp__device *dev, size_t longest_q,
                                       size_t longest_k, size_t head_dim);
void nvdp__operand_attention_forward(const struct nvdp__device *dev,
                                     const struct nvdp__attention *att, const nvdp__operand *q,
                                     const nvdp__operand *k, const nvdp__operand *v,
                                     const float *bias, nvdp__operand *out, float *lse,
                                     float *scratch);
void nvdp__operand_attention_backward(const struct nvdp__device *dev,
                                      const struct nvdp__attention *att, const nvdp__operand *q,
                                      const nvdp__operand *k, const nvdp__operand *v,
                                      const float *bias, const nvdp__operand *out, float *lse,
                                      const nvdp__operand *dout, nvdp__operand *dq,
                                      nvdp__operand *dk, nvdp__operand *dv, float *dbias,
                                      float *scratch);

#endif
