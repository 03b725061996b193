/* Implements the library's tensor operations over the reference kernels (plain_kernels.h), in
 * the order of the header; the last part calls the library's own operations. */
#include "plain_kernels.h"

#include "reference_kernels.h"
#include "tensor/kernels.h"
#include <criterion/criterion.h>
#include <math.h>

void plain_dense_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                         struct nvdp__tensor x, struct nvdp__tensor y) {
    (void)dev;
    ref32_linear_forward(x.rows, layer->in, layer->out, x.data, layer->w, layer->b, y.data);
}

void plain_dense_backward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                          struct nvdp__tensor x, struct nvdp__tensor dy, struct nvdp__tensor dx,
                          bool add) {
    bool params = nvdp__is_tensor(x);
    if (params && layer->set && layer->dw != NULL)
        nvdp__zero(dev, layer->in * layer->out, layer->dw);
    ref32_linear_backward(dy.rows, layer->in, layer->out, x.data, layer->w, dy.data, dx.data, add,
                          params ? layer->dw : NULL, params ? layer->db : NULL);
}

void plain_activation_forward(const struct nvdp__device *dev, enum nvdp__act act,
                              struct nvdp__tensor x, struct nvdp__tensor y) {
    (void)dev;
    ref32_act_forward(act, x.rows * x.cols, x.data, y.data);
}

void plain_activation_backward(const struct nvdp__device *dev, enum nvdp__act act,
                               struct nvdp__tensor x, struct nvdp__tensor dy,
                               struct nvdp__tensor dx, struct nvdp__tensor y) {
    ref32_act_backward(act, x.rows * x.cols, x.data, dy.data, dx.data);
    if (nvdp__is_tensor(y)) plain_activation_forward(dev, act, x, y);
}

void plain_dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                         float *x) {
    (void)dev;
    if (drop->rate > 0) ref32_dropout_apply(drop, n, x);
}

/* Applies dropout to x; a dropped NaN becomes 0. */
static float reference_drop(const struct nvdp__norm *norm, size_t r, size_t i, float x) {
    if (norm->dropout.rate <= 0) return x;
    float factor = nvdp__dropout_factor(nvdp__dropout_key(&norm->dropout, r),
                                        nvdp__dropout_threshold(&norm->dropout),
                                        1.0f / (1.0f - norm->dropout.rate), (uint32_t)i);
    return factor > 0 ? x * factor : 0.0f;
}

void plain_norm_forward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                        struct nvdp__tensor x, struct nvdp__tensor residual,
                        struct nvdp__tensor sum, struct nvdp__tensor y,
                        struct nvdp__tensor rounded) {
    const float *branch = x.data;
    float *dropped = sum.data;
    if (sum.data != NULL) {
        for (size_t r = 0; r < x.rows; r++)
            for (size_t i = 0; i < x.cols; i++)
                dropped[r * x.cols + i] = reference_drop(norm, r, i, branch[r * x.cols + i]);
        branch = dropped;
    }
    ref32_layernorm_forward(x.rows, x.cols, (double)norm->eps, branch, residual.data, norm->gamma,
                            norm->beta, sum.data, y.data, norm->mean, norm->rstd);
    if (nvdp__is_tensor(rounded)) nvdp__convert(dev, y, rounded);
}

void plain_norm_backward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                         struct nvdp__tensor sum, struct nvdp__tensor d, struct nvdp__tensor d_x) {
    const float *from = d.data;
    float *to = d_x.data;
    (void)dev;
    ref32_layernorm_backward(d.rows, d.cols, sum.data, norm->gamma, norm->mean, norm->rstd, d.data,
                             d.data, norm->dgamma, norm->dbeta);
    if (to == NULL) return;
    for (size_t r = 0; r < d.rows; r++)
        for (size_t i = 0; i < d.cols; i++)
            to[r * d.cols + i] = reference_drop(norm, r, i, from[r * d.cols + i]);
}

static struct ref_attention attention_of(const struct nvdp__attention *att) {
    return (struct ref_attention){.groups = att->groups,
                                  .heads = att->heads,
                                  .head_dim = att->q.cols / att->heads,
                                  .scale = att->scale,
                                  .q_offset = att->q_offset,
                                  .k_offset = att->k_offset,
                                  .q_stride = att->q.stride,
                                  .kv_stride = att->k.stride,
                                  .out_stride = att->out.stride,
                                  .dropout = att->dropout};
}

void plain_attend_forward(const struct nvdp__device *dev, const struct nvdp__attention *att) {
    struct ref_attention ref = attention_of(att);
    (void)dev;
    ref32_attention_forward(&ref, att->q.data, att->k.data, att->v.data, att->bias, att->out.data,
                            att->lse);
}

void plain_attend_backward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                           const struct nvdp__attention_gradient *d) {
    struct ref_attention ref = attention_of(att);
    (void)dev;
    ref32_attention_backward(&ref, att->q.data, att->k.data, att->v.data, att->bias, att->out.data,
                             att->lse, d->dout.data, d->dq.data, d->dk.data, d->dv.data, d->dbias);
}

void plain_embed_forward(const struct nvdp__device *dev, const struct nvdp__embedding *tables,
                         struct nvdp__tensor y) {
    const size_t dim = y.cols;
    float *to = y.data;
    (void)dev;
    ref32_embed_forward(y.rows, dim, tables->ids, tables->positions, tables->types, tables->word,
                        tables->position, tables->type, to);
    for (size_t i = 0; tables->given != NULL && i < y.rows * dim; i++)
        to[i] = tables->given[i] +
                tables->position[(size_t)tables->positions[i / dim] * dim + i % dim] +
                tables->type[(size_t)tables->types[i / dim] * dim + i % dim];
}

void plain_embed_backward(const struct nvdp__device *dev, const struct nvdp__embedding *gradients,
                          struct nvdp__tensor dy) {
    const struct nvdp__embedding *g = gradients;
    (void)dev;
    if (g->word != NULL) ref32_rows_scatter_add(dy.rows, dy.cols, g->ids, dy.data, g->word);
    ref32_rows_scatter_add(dy.rows, dy.cols, g->positions, dy.data, g->position);
    ref32_rows_scatter_add(dy.rows, dy.cols, g->types, dy.data, g->type);
}

void plain_rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const int32_t *index, const float *y, float *x) {
    (void)dev;
    ref32_rows_scatter_add(rows, dim, index, y, x);
}

/* Computes one row in double throughout. */
static void one_row_reference(size_t classes, float *logits, size_t labels, const int32_t *label,
                              double scale, double *nll, int32_t *best) {
    double shift = -INFINITY;
    double sum = 0, target = 0;
    *best = 0;
    for (size_t i = 0; i < classes; i++) {
        if (!((double)logits[i] > shift)) continue;
        shift = (double)logits[i];
        *best = (int32_t)i;
    }
    for (size_t i = 0; i < classes; i++)
        sum += exp((double)logits[i] - shift);
    for (size_t k = 0; k < labels; k++)
        target += (double)logits[label[k]] / (double)labels;
    *nll = log(sum) + (shift - target);
    for (size_t i = 0; i < classes; i++) {
        double share = exp((double)logits[i] - shift) / sum;
        for (size_t k = 0; k < labels; k++)
            share -= (i == (size_t)label[k] ? 1 : 0) / (double)labels;
        logits[i] = (float)(scale * share);
    }
}

void plain_softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                        size_t labels, const int32_t *label, double scale, double *nll,
                        int32_t *best) {
    (void)dev;
    for (size_t r = 0; r < rows; r++)
        one_row_reference(classes, logits + r * classes, labels, label + r * labels, scale, nll + r,
                          best + r);
}

void support_adamw_step(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t n,
                        const float *g, const float *anchor, float *m, float *v, float *x) {
    size_t spans = n / NVDP__SPAN + 1;
    struct nvdp__span *span = calloc(spans, sizeof *span);
    cr_assert_not_null(span);
    for (size_t i = 0; i < spans; i++) {
        size_t at = i * NVDP__SPAN;
        span[i] = (struct nvdp__span){
            .offset = at, .count = n - at < NVDP__SPAN ? n - at : NVDP__SPAN, .decays = true};
    }
    nvdp__adamw_spans(dev, opt, spans, span, g, anchor, m, v, x);
    free(span);
}

double support_dot(size_t n, const float *x, const float *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}
