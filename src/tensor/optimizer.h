/* Optimizers: AdamW and SGD over spans of the parameter vector, and Muon over the matrices in
 * this vector. */
#ifndef NVDP_SRC_TENSOR_OPTIMIZER_H
#define NVDP_SRC_TENSOR_OPTIMIZER_H

#include "tensor/tensor.h"

/* ---- AdamW ---- */

struct nvdp__adamw {
    double lr, beta1, beta2, eps, weight_decay;
    double bias1, bias2; /* 1 - beta^t */
    double grad_scale;   /* clipping factor of g */
};

/* One pass updates many tensors, in spans whose length does not depend on the number of threads. */
enum { NVDP__SPAN = 16384 };
struct nvdp__span {
    size_t offset, count; /* range in the vectors g, m, v and x; count <= NVDP__SPAN */
    bool decays;          /* true if opt->weight_decay applies */
    bool idle;            /* true if gradient and moments are zero, so that only decay is needed */
    bool by_muon;         /* true if Muon updates this span, which is then skipped here */
};
/* Updates m, v and x, with decoupled decay x -= lr weight_decay (x - anchor); anchor is NULL for
 * 0. */
void nvdp__adamw_spans(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t spans,
                       const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                       float *v, float *x);
/* ---- SGD with momentum ---- */

struct nvdp__sgd {
    double lr, momentum, weight_decay;
    double grad_scale; /* clipping factor of g */
};

/* Updates m and x over spans, as nvdp__adamw_spans() does:
 *
 *     m  = momentum m + g
 *     x -= lr weight_decay (x - anchor) + lr m */
void nvdp__sgd_spans(const struct nvdp__device *dev, const struct nvdp__sgd *opt, size_t spans,
                     const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                     float *x);
/* Returns the sum of squares of the elements of all spans, in order, each span in double; idle
 * spans count as 0. `part` has room for one double per span. */
double nvdp__spans_sum_squares(const struct nvdp__device *dev, size_t spans,
                               const struct nvdp__span *span, const float *x, double *part);

/* ---- Muon (Jordan et al. 2024) ----
 *
 * Momentum, followed by orthogonalizing the update of each matrix: all directions of the matrix
 * then move equally far, not only the few directions in which the gradient is largest. */

struct nvdp__muon {
    double lr, momentum, weight_decay;
    double grad_scale; /* factor by which clipping scales the gradient g */
};

/* A weight matrix in the parameter vector. */
struct nvdp__matrix {
    size_t offset, rows, cols;
    bool decays; /* true if weight_decay applies */
};

/* Returns the floats of scratch memory per thread, for the largest of the matrices. */
size_t nvdp__muon_scratch(size_t matrices, const struct nvdp__matrix *matrix);
/* Replaces x [rows, cols], with singular value decomposition U S V^T, approximately by U V^T:
 * five steps of the quintic Newton-Schulz iteration. The singular values then lie between .68
 * and 1.15; values below a hundredth of the largest singular value may stay smaller. A zero
 * matrix stays zero. `scratch` has nvdp__muon_scratch() floats. O(min(rows, cols)^2 max(rows,
 * cols)). */
void nvdp__orthogonalize(const struct nvdp__device *dev, size_t rows, size_t cols, float *scratch,
                         float *x);
/* One step over all matrices, which the device's threads process in parallel:
 *
 *     m  = momentum m + g
 *     x -= lr weight_decay x + lr .2 sqrt(max(rows, cols)) orth(g + momentum m)
 *
 * The factor gives updates the size of AdamW's updates, so the same learning rates apply (Liu et
 * al. 2025, Muon is scalable for LLM training, Eq. 4). `scratch` has nvdp__muon_scratch floats
 * for each of the device's threads. */
void nvdp__muon_step(const struct nvdp__device *dev, const struct nvdp__muon *opt, size_t matrices,
                     const struct nvdp__matrix *matrix, float *scratch, const float *g, float *m,
                     float *x);

#endif
