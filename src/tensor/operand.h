/* The functions that struct nvdp__tensor replaces, over those that replace them, until nothing calls
 * them any more. */
#ifndef NVDP_SRC_TENSOR_OPERAND_H
#define NVDP_SRC_TENSOR_OPERAND_H

#include "tensor/ops.h"

static inline void nvdp__linear_forward(const struct nvdp__device *dev, size_t rows, size_t in,
                                        size_t out, const float *x, const float *w, const float *b,
                                        float *y) {
    struct nvdp__linear layer = {.in = in, .out = out, .w = w, .b = b, .f32 = true};
    nvdp__dense_forward(dev, &layer, nvdp__f32(rows, in, x), nvdp__f32(rows, out, y));
}
static inline void nvdp__linear_backward(const struct nvdp__device *dev, size_t rows, size_t in,
                                         size_t out, const float *x, const float *w,
                                         const float *dy, float *dx, bool accumulate, float *dw,
                                         float *db) {
    struct nvdp__linear layer = {.in = in, .out = out, .w = w, .dw = dw, .db = db, .f32 = true};
    nvdp__dense_backward(dev, &layer, nvdp__f32(rows, in, x), nvdp__f32(rows, out, dy),
                         nvdp__f32(rows, in, dx), accumulate);
}
static inline void nvdp__act_forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                                     const float *x, float *y) {
    nvdp__activation_forward(dev, act, nvdp__f32(1, n, x), nvdp__f32(1, n, y));
}
static inline void nvdp__act_backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                                      const float *x, const float *dy, float *dx) {
    nvdp__activation_backward(dev, act, nvdp__f32(1, n, x), nvdp__f32(1, n, dy),
                              nvdp__f32(1, n, dx), NVDP__NO_TENSOR);
}
static inline void nvdp__layernorm_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                           float eps, const float *x, const float *residual,
                                           const float *gamma, const float *beta, float *sum,
                                           float *y, float *mean, float *rstd) {
    struct nvdp__norm norm = {.eps = eps, .gamma = gamma, .beta = beta, .mean = mean, .rstd = rstd};
    nvdp__norm_forward(dev, &norm, nvdp__f32(rows, dim, x), nvdp__f32(rows, dim, residual),
                       nvdp__f32(rows, dim, residual != NULL ? sum : NULL), nvdp__f32(rows, dim, y),
                       NVDP__NO_TENSOR);
}
static inline void nvdp__layernorm_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                            const float *sum, const float *gamma, const float *mean,
                                            const float *rstd, const float *dy, float *dx,
                                            float *dgamma, float *dbeta) {
    struct nvdp__norm norm = {.gamma = gamma,
                              .dgamma = dgamma,
                              .dbeta = dbeta,
                              .mean = nvdp__f32(1, rows, mean).data,
                              .rstd = nvdp__f32(1, rows, rstd).data};
    if (dx != dy) nvdp__copy(dev, rows * dim, dy, dx);
    nvdp__norm_backward(dev, &norm, nvdp__f32(rows, dim, sum), nvdp__f32(rows, dim, dx),
                        NVDP__NO_TENSOR);
}
static inline struct nvdp__tensor nvdp__strided(size_t rows, size_t cols, size_t stride,
                                                const float *x) {
    struct nvdp__tensor t = nvdp__f32(rows, cols, x);
    t.stride = stride;
    return t;
}
static inline size_t nvdp__attention_scratch(const struct nvdp__device *dev, size_t longest_q,
                                             size_t longest_k, size_t head_dim) {
    return nvdp__attend_scratch(dev, NVDP__F32, longest_q, longest_k, head_dim);
}
static inline struct nvdp__attention nvdp__attention_of(const struct nvdp__attention *att,
                                                        const float *q, const float *k,
                                                        const float *v, const float *bias,
                                                        const float *out, const float *lse,
                                                        float *scratch) {
    struct nvdp__attention a = *att;
    size_t width = att->heads * att->head_dim;
    size_t queries = (size_t)att->q_offset[att->groups];
    size_t keys = (size_t)att->k_offset[att->groups];
    a.q = nvdp__strided(queries, width, att->q_stride, q);
    a.k = nvdp__strided(keys, width, att->kv_stride, k);
    a.v = nvdp__strided(keys, width, att->kv_stride, v);
    a.out = nvdp__strided(queries, width, att->out_stride, out);
    a.bias = bias;
    a.lse = nvdp__f32(queries, att->heads, lse).data;
    a.scratch = scratch;
    return a;
}
static inline void nvdp__attention_forward(const struct nvdp__device *dev,
                                           const struct nvdp__attention *att, const float *q,
                                           const float *k, const float *v, const float *bias,
                                           float *out, float *lse, float *scratch) {
    struct nvdp__attention a = nvdp__attention_of(att, q, k, v, bias, out, lse, scratch);
    nvdp__attend_forward(dev, &a);
}
static inline void nvdp__attention_backward(const struct nvdp__device *dev,
                                            const struct nvdp__attention *att, const float *q,
                                            const float *k, const float *v, const float *bias,
                                            const float *out, const float *lse, const float *dout,
                                            float *dq, float *dk, float *dv, float *dbias,
                                            float *scratch) {
    struct nvdp__attention a = nvdp__attention_of(att, q, k, v, bias, out, lse, scratch);
    const struct nvdp__attention_gradient d = {
        nvdp__strided(a.q.rows, a.q.cols, a.out.stride, dout),
        nvdp__strided(a.q.rows, a.q.cols, a.q.stride, dq),
        nvdp__strided(a.k.rows, a.k.cols, a.k.stride, dk),
        nvdp__strided(a.k.rows, a.k.cols, a.k.stride, dv), dbias};
    nvdp__attend_backward(dev, &a, &d);
}

#endif
