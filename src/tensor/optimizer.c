/* The optimizers of optimizer.h: AdamW, SGD with momentum, the norm of the gradient, and Muon. */
#include "tensor/optimizer.h"

#include "tensor/kernels.h"
#include "tensor/ops.h"
#include "tensor/vector.h"
#include <omp.h>

/* ---- AdamW (Loshchilov & Hutter 2019) ----
 *
 * Adam with bias correction and decoupled weight decay, here toward an anchor.  As in PyTorch, decay
 * acts on the value before the step:
 *
 *     m  = b1 m + (1 - b1) g
 *     v  = b2 v + (1 - b2) g^2
 *     x -= lr wd (x - anchor) + lr (m / bias1) / (sqrt(v / bias2) + eps)
 */

struct constants {
    float grad_scale, beta1, rest1, beta2, rest2, step, inverse_root_bias2, eps, decay;
    float zero; /* 0, but the compiler cannot know this: see decay_block() */
};

static struct constants narrow(const struct nvdp__adamw *opt) {
    return (struct constants){.grad_scale = (float)opt->grad_scale,
                              .beta1 = (float)opt->beta1,
                              .rest1 = (float)(1 - opt->beta1),
                              .beta2 = (float)opt->beta2,
                              .rest2 = (float)(1 - opt->beta2),
                              .step = (float)(opt->lr / opt->bias1),
                              .inverse_root_bias2 = (float)(1 / sqrt(opt->bias2)),
                              .eps = (float)opt->eps,
                              .decay = (float)(opt->lr * opt->weight_decay)};
}

NVDP__INLINE void update(const struct constants *c, float g, float from, float *m, float *v,
                         float *x) {
    float grad = c->grad_scale * g;
    float first = c->beta1 * *m + c->rest1 * grad;
    float second = c->beta2 * *v + c->rest2 * (grad * grad);
    float step = c->step * first / (sqrtf(second) * c->inverse_root_bias2 + c->eps);
    *m = first;
    *v = second;
    *x -= c->decay * (*x - from) + step;
}

NVDP__CLONES
static void step_block(struct constants c, size_t n, const float *restrict g, float *restrict m,
                       float *restrict v, float *restrict x) {
    for (size_t i = 0; i < n; i++)
        update(&c, g[i], 0.0f, m + i, v + i, x + i);
}

NVDP__CLONES
static void anchored_block(struct constants c, size_t n, const float *restrict g,
                           const float *restrict anchor, float *restrict m, float *restrict v,
                           float *restrict x) {
    for (size_t i = 0; i < n; i++)
        update(&c, g[i], anchor[i], m + i, v + i, x + i);
}

/* The update for g, m and v of zero, with the same bits as update(). Adds a step of zero whose value the compiler
 * does not know; otherwise the compiler would contract the expression differently than in update(). */
NVDP__CLONES
static void decay_block(struct constants c, size_t n, float *restrict x) {
    for (size_t i = 0; i < n; i++)
        x[i] -= c.decay * x[i] + c.zero;
}

NVDP__CLONES
static void anchored_decay_block(struct constants c, size_t n, const float *restrict anchor,
                                 float *restrict x) {
    for (size_t i = 0; i < n; i++)
        x[i] -= c.decay * (x[i] - anchor[i]) + c.zero;
}

static void step_span(const struct constants *c, const struct nvdp__span *span, const float *g,
                      const float *anchor, float *m, float *v, float *x) {
    struct constants own = *c;
    size_t at = span->offset;
    size_t n = span->count;
    if (!span->decays) own.decay = 0;
    if (span->idle && own.decay <= 0) return;
    if (span->idle && anchor != NULL)
        anchored_decay_block(own, n, anchor + at, x + at);
    else if (span->idle)
        decay_block(own, n, x + at);
    else if (anchor != NULL)
        anchored_block(own, n, g + at, anchor + at, m + at, v + at, x + at);
    else
        step_block(own, n, g + at, m + at, v + at, x + at);
}

void nvdp__adamw_spans(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t spans,
                       const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                       float *v, float *x) {
    struct constants c = narrow(opt);
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, spans, NVDP__SPAN))                    \
    schedule(dynamic, 32)
    for (size_t i = 0; i < spans; i++) {
        if (!span[i].by_muon) step_span(&c, &span[i], g, anchor, m, v, x);
    }
}

/* ---- SGD as in PyTorch, but with decoupled weight decay ---- */

struct descent {
    float grad_scale, momentum, step, decay;
};

NVDP__CLONES
static void descend_block(struct descent c, size_t n, const float *restrict g, float *restrict m,
                          float *restrict x) {
    for (size_t i = 0; i < n; i++) {
        m[i] = c.momentum * m[i] + c.grad_scale * g[i];
        x[i] -= c.decay * x[i] + c.step * m[i];
    }
}

NVDP__CLONES
static void anchored_descend_block(struct descent c, size_t n, const float *restrict g,
                                   const float *restrict anchor, float *restrict m,
                                   float *restrict x) {
    for (size_t i = 0; i < n; i++) {
        m[i] = c.momentum * m[i] + c.grad_scale * g[i];
        x[i] -= c.decay * (x[i] - anchor[i]) + c.step * m[i];
    }
}

void nvdp__sgd_spans(const struct nvdp__device *dev, const struct nvdp__sgd *opt, size_t spans,
                     const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                     float *x) {
    const struct descent all = {.grad_scale = (float)opt->grad_scale,
                                .momentum = (float)opt->momentum,
                                .step = (float)opt->lr,
                                .decay = (float)(opt->lr * opt->weight_decay)};
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, spans, NVDP__SPAN))                    \
    schedule(dynamic, 32)
    for (size_t i = 0; i < spans; i++) {
        const struct constants idle = {.decay = all.decay};
        struct descent own = all;
        size_t at = span[i].offset, n = span[i].count;
        if (!span[i].decays) own.decay = 0;
        if (span[i].idle && own.decay <= 0) continue;
        if (span[i].idle && anchor != NULL)
            anchored_decay_block(idle, n, anchor + at, x + at);
        else if (span[i].idle)
            decay_block(idle, n, x + at);
        else if (anchor != NULL)
            anchored_descend_block(own, n, g + at, anchor + at, m + at, x + at);
        else
            descend_block(own, n, g + at, m + at, x + at);
    }
}

/* ---- the gradient's norm ---- */

double nvdp__spans_sum_squares(const struct nvdp__device *dev, size_t spans,
                               const struct nvdp__span *span, const float *x, double *part) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, spans, NVDP__SPAN))                    \
    schedule(dynamic, 32)
    for (size_t i = 0; i < spans; i++) {
        const float *own = x + span[i].offset;
        part[i] = span[i].idle ? 0 : nvdp__dot(span[i].count, own, own);
    }
    double sum = 0;
    for (size_t i = 0; i < spans; i++)
        sum += part[i];
    return sum;
}

/* ---- Muon ---- */

/* The polynomial f(s) = a s + b s^3 + c s^5, which is steep at 0 (Jordan et al. 2024). */
static const float A = 3.4445F, B = -4.7750F, C = 2.0315F;
enum { ITERATIONS = 5 };
static const double UPDATE_SIZE = 0.2; /* root mean square of AdamW's updates */

size_t nvdp__muon_scratch(size_t matrices, const struct nvdp__matrix *matrix) {
    size_t largest = 0;
    for (size_t i = 0; i < matrices; i++) {
        size_t side = nvdp__min(matrix[i].rows, matrix[i].cols);
        size_t scratch = 2 * side * side + 2 * matrix[i].rows * matrix[i].cols;
        if (scratch > largest) largest = scratch;
    }
    return largest;
}

static void scale(size_t n, float by, float *x) {
    for (size_t i = 0; i < n; i++)
        x[i] *= by;
}

/* Computes x = a x + (b S + c S^2) x with S = x x^T on the left, or S = x^T x on the right if that is smaller. */
static void iterate(const struct nvdp__device *dev, size_t rows, size_t cols, float *scratch,
                    float *x) {
    bool left = rows <= cols;
    size_t side = left ? rows : cols;
    struct nvdp__tensor matrix = nvdp__f32(rows, cols, x);
    struct nvdp__tensor gram = nvdp__f32(side, side, scratch);
    struct nvdp__tensor poly = nvdp__f32(side, side, scratch + side * side);
    struct nvdp__tensor next = nvdp__f32(rows, cols, scratch + 2 * side * side);
    nvdp__gemm(dev, 1, left ? NVDP__TRANSPOSE_B : NVDP__TRANSPOSE_A, matrix, matrix, 0, gram);
    memcpy(poly.data, gram.data, side * side * sizeof *x);
    nvdp__gemm(dev, C, NVDP__AS_STORED, gram, gram, B, poly);
    memcpy(next.data, x, rows * cols * sizeof *x);
    if (left)
        nvdp__gemm(dev, 1, NVDP__AS_STORED, poly, matrix, A, next);
    else
        nvdp__gemm(dev, 1, NVDP__AS_STORED, matrix, poly, A, next);
    memcpy(x, next.data, rows * cols * sizeof *x);
}

void nvdp__orthogonalize(const struct nvdp__device *dev, size_t rows, size_t cols, float *scratch,
                         float *x) {
    double square = 0;
    for (size_t i = 0; i < rows * cols; i++)
        square += (double)x[i] * (double)x[i];
    if (square == 0) return;
    scale(rows * cols, (float)(1 / sqrt(square)), x);
    for (int i = 0; i < ITERATIONS; i++)
        iterate(dev, rows, cols, scratch, x);
}

static void momentum(const struct nvdp__muon *opt, size_t n, const float *g, float *m,
                     float *update) {
    float grad_scale = (float)opt->grad_scale, keep = (float)opt->momentum;
    for (size_t i = 0; i < n; i++) {
        float grad = grad_scale * g[i];
        m[i] = keep * m[i] + grad;
        update[i] = grad + keep * m[i];
    }
}

static void step_matrix(const struct nvdp__device *dev, const struct nvdp__muon *opt,
                        const struct nvdp__matrix *matrix, float *scratch, const float *g, float *m,
                        float *x) {
    size_t n = matrix->rows * matrix->cols;
    float *update = scratch;
    momentum(opt, n, g, m, update);
    nvdp__orthogonalize(dev, matrix->rows, matrix->cols, scratch + n, update);
    size_t longer = nvdp__max(matrix->rows, matrix->cols);
    float step = (float)(opt->lr * UPDATE_SIZE * sqrt((double)longer));
    float decay = matrix->decays ? (float)(opt->lr * opt->weight_decay) : 0;
    for (size_t i = 0; i < n; i++)
        x[i] -= decay * x[i] + step * update[i];
}

void nvdp__muon_step(const struct nvdp__device *dev, const struct nvdp__muon *opt, size_t matrices,
                     const struct nvdp__matrix *matrix, float *scratch, const float *g, float *m,
                     float *x) {
    size_t each = nvdp__muon_scratch(matrices, matrix);
#pragma omp parallel for num_threads(nvdp__team(dev, SIZE_MAX)) schedule(dynamic, 1)
    for (size_t i = 0; i < matrices; i++) {
        size_t at = matrix[i].offset;
        float *own = scratch + each * (size_t)omp_get_thread_num();
        step_matrix(dev, opt, &matrix[i], own, g + at, m + at, x + at);
    }
}
