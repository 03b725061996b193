/* Optimizers: AdamW and SGD over spans of the parameter vector, Muon over its matrices. */
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
    size_t offset, count; /* in the vectors g, m, v and x; count <= NVDP__SPAN */
    bool decays;          /* opt->weight_decay applies */
    bool idle;            /* gradient and moments are zero: only decay */
    bool by_muon;         /* Muon updates it: skipped here */
};
/* Updates m, v and x; decoupled decay x -= lr weight_decay (x - anchor), anchor NULL: 0. */
void nvdp__adamw_spans(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t spans,
                       const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                       float *v, float *x);
/* ---- SGD with momentum ---- */

struct nvdp__sgd {
    double lr, momentum, weight_decay;
    double grad_scale; /* clipping factor of g */
};

/* Updates m and x over spans as above:
 *
 *     m  = momentum m + g
 *     x -= lr weight_decay (x - anchor) + lr m */
void nvdp__sgd_spans(const struct nvdp__device *dev, const struct nvdp__sgd *opt, size_t spans,
                     const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                     float *x);
/* Sum of squares of the elements of all spans, in order, each span in double; idle spans count
 * as 0. `part` has space for one double per span. */
double nvdp__spans_sum_squares(const struct nvdp__device *dev, size_t spans,
                               const struct nvdp__span *span, const float *x, double *part);

/* ---- Muon (Jordan et al. 2024) ----
 *
 * Momentum, followed by orthogonalizing the update of each matrix: all its directions then move
 * equally far, not only the few in which the gradient is largest. */

struct nvdp__muon {
    double lr, momentum, weight_decay;
    double grad_scale; /* clipping factor of g */
};

/* A weight matrix in the parameter vector. */
struct nvdp__matrix {
    size_t offset, rows, cols;
    bool decays; /* weight_decay applies */
};

/* Floats of scratch memory per thread, for the largest of the matrices. */
size_t nvdp__muon_scratch(size_t matrices, const struct nvdp__matrix *matrix);
/* Replaces x [rows, cols], with singular value decomposition U S V^T, approximately by U V^T:
 * five steps of the quintic Newton-Schulz iteration. The singular values then lie between .68
 * and 1.15; those below a hundredth of the largest may stay smaller. A zero matrix stays zero.
 * `scratch` as above. O(min(rows, cols)^2 max(rows, cols)). */
void nvdp__orthogonalize(const struct nvdp__device *dev, size_t rows, size_t cols, float *scratch,
                         float *x);
/* One step over all matrices, which the device's threads process in parallel:
 *
 *     m  = momentum m + g
 *     x -= lr weight_decay x + lr .2 sqrt(max(rows, cols)) orth(g + momentum m)
 *
 * The factor gives updates the size of those of AdamW, so the same learning rates apply (Liu et
 * al. 2025, Muon is scalable for LLM training, Eq. 4). `scratch` has nvdp__muon_scratch floats
 * for each of the device's threads. */
void nvdp__muon_step(const struct nvdp__device *dev, const struct nvdp__muon *opt, size_t matrices,
                     const struct nvdp__matrix *matrix, float *scratch, const float *g, float *m,
                     float *x);

#endif
