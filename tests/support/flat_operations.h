/* Dense layers, activations and LayerNorm over plain pointers, for tests. */
#ifndef NVDP_TESTS_SUPPORT_FLAT_OPERATIONS_H
#define NVDP_TESTS_SUPPORT_FLAT_OPERATIONS_H

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

#endif
