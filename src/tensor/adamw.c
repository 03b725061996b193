/* AdamW (Loshchilov & Hutter 2019): Adam with bias correction, and weight decay apart from the
 * gradient, here towards an anchor.  As in PyTorch, decay acts on the value before the step:
 *     m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2
 *     x -= lr wd (x - anchor) + lr (m / bias1) / (sqrt(v / bias2) + eps)
 */
#include "tensor/ops.h"

#include "tensor/reference.h"
#include "tensor/vector.h"

struct constants {
    float grad_scale, beta1, rest1, beta2, rest2, step, inverse_root_bias2, eps, decay;
    float nothing; /* 0, unknown to the compiler: see decay_block */
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

/* What a step comes to where g, m and v are zero, in the same bits: the sum with a zero step keeps
 * the compiler from contracting it otherwise than there. */
NVDP__CLONES
static void decay_block(struct constants c, size_t n, float *restrict x) {
    for (size_t i = 0; i < n; i++)
        x[i] -= c.decay * x[i] + c.nothing;
}

NVDP__CLONES
static void anchored_decay_block(struct constants c, size_t n, const float *restrict anchor,
                                 float *restrict x) {
    for (size_t i = 0; i < n; i++)
        x[i] -= c.decay * (x[i] - anchor[i]) + c.nothing;
}

static void step_piece(const struct constants *c, size_t n, const float *g, const float *anchor,
                       float *m, float *v, float *x) {
    if (anchor != NULL)
        anchored_block(*c, n, g, anchor, m, v, x);
    else
        step_block(*c, n, g, m, v, x);
}

static void decay_piece(const struct constants *c, size_t n, const float *anchor, float *x) {
    if (anchor != NULL)
        anchored_decay_block(*c, n, anchor, x);
    else
        decay_block(*c, n, x);
}

static const float *shifted(const float *x, size_t at) {
    return x != NULL ? x + at : NULL;
}

void nvdp__adamw_step(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t n,
                      const float *g, const float *anchor, float *m, float *v, float *x) {
    if (dev->reference) {
        nvdp__ref_adamw_step(opt, n, g, anchor, m, v, x);
        return;
    }
    struct constants c = narrow(opt);
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__BLOCK;
        size_t count = nvdp__block_length(n, NVDP__BLOCK, b);
        step_piece(&c, count, g + at, shifted(anchor, at), m + at, v + at, x + at);
    }
}

static void step_span(const struct constants *c, const struct nvdp__span *span, const float *g,
                      const float *anchor, float *m, float *v, float *x) {
    struct constants own = *c;
    size_t at = span->offset;
    if (!span->decays) own.decay = 0;
    if (!span->idle)
        step_piece(&own, span->count, g + at, shifted(anchor, at), m + at, v + at, x + at);
    else if (own.decay > 0)
        decay_piece(&own, span->count, shifted(anchor, at), x + at);
}

static void reference_span(const struct nvdp__adamw *opt, const struct nvdp__span *span,
                           const float *g, const float *anchor, float *m, float *v, float *x) {
    struct nvdp__adamw own = *opt;
    size_t at = span->offset;
    if (!span->decays) own.weight_decay = 0;
    nvdp__ref_adamw_step(&own, span->count, g + at, shifted(anchor, at), m + at, v + at, x + at);
}

void nvdp__adamw_spans(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t spans,
                       const struct nvdp__span *span, const float *g, const float *anchor, float *m,
                       float *v, float *x) {
    struct constants c = narrow(opt);
    int team = nvdp__team(dev, spans * NVDP__SPAN);
#pragma omp parallel for num_threads(team) schedule(dynamic, 32)
    for (size_t i = 0; i < spans; i++) {
        if (span[i].apart) continue;
        if (dev->reference)
            reference_span(opt, &span[i], g, anchor, m, v, x);
        else
            step_span(&c, &span[i], g, anchor, m, v, x);
    }
}
