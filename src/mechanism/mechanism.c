/* The parts that mechanisms share: the components of a text, the rows of a batch's sample, and
 * the export of posteriors. */
#include "mechanism/mechanism.h"

#include <math.h>
#include <stdlib.h>

struct nvdp__form nvdp__make_form(const struct nvdp__nvib_config *config, struct nvdp__form of) {
    const double length = (double)config->length;
    const bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    return (struct nvdp__form){.weights = of.weights,
                               .single = of.single,
                               .length = of.single ? 1
                                         : hidden  ? config->length
                                                   : 0,
                               .kappa = config->kappa,
                               .prior_alpha = config->prior_alpha,
                               .pad_alpha =
                                   (config->prior_alpha + config->delta * length) / (length + 1),
                               .delta = config->delta};
}

struct nvdp__form nvdp__form_of_posteriors(const struct nvdp_posteriors *posteriors) {
    bool hidden = posteriors->policy == NVDP_LENGTH_HIDDEN;
    return (struct nvdp__form){.weights = posteriors->alpha != NULL,
                               .length = hidden ? posteriors->length : 0,
                               .kappa = posteriors->alpha != NULL ? posteriors->kappa : 1,
                               .prior_alpha = posteriors->prior_alpha,
                               .pad_alpha = posteriors->pad_alpha};
}

size_t nvdp__form_rows(const struct nvdp__form *form, size_t tokens) {
    size_t components = (form->weights ? 1 : 0) + (form->length > 0 ? form->length : tokens);
    return components * (size_t)form->kappa;
}

int64_t nvdp__form_source(const struct nvdp__form *form, size_t tokens, size_t row) {
    size_t component = row / (size_t)form->kappa;
    if (form->weights && component-- == 0) return NVDP__PRIOR;
    return component < tokens ? (int64_t)component : NVDP__PADDING;
}

double nvdp__form_alpha(const struct nvdp__form *form, int64_t source) {
    return source == NVDP__PRIOR ? form->prior_alpha : form->pad_alpha;
}

/* ---- export of posteriors ---- */

nvdp_status nvdp__posterior_store(struct nvdp_context *ctx, const struct nvdp__posterior *posterior,
                                  size_t first_row, struct nvdp_posteriors *out) {
    size_t rows = out->offset[out->texts];
    bool weights = posterior->log_alpha != NULL;
    if (out->dim != posterior->dim || (out->alpha != NULL) != weights || first_row > rows ||
        rows - first_row < posterior->rows)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "posteriors: expected arrays with %spseudo-counts, width %zu and room "
                          "for %zu rows from row %zu, found width %zu and %zu rows",
                          weights ? "" : "no ", posterior->dim, posterior->rows, first_row,
                          out->dim, rows);
    for (size_t t = 0; t < posterior->rows && weights; t++)
        out->alpha[first_row + t] = exp((double)posterior->log_alpha[t]);
    for (size_t i = 0; i < posterior->rows * posterior->dim; i++) {
        out->mu[first_row * posterior->dim + i] = posterior->mu[i];
        out->logvar[first_row * posterior->dim + i] = posterior->logvar[i];
    }
    return NVDP_OK;
}

/* ==== the mechanism without noise, BERT's pooler, of methods base and reg ==== */

struct none {
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    size_t max_texts;
    struct nvdp__pooler pooler;
};

static nvdp_status none_create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                               const struct nvdp__bert *bert,
                               const struct nvdp__nvib_config *config, struct nvdp__params *params,
                               void **self) {
    (void)mechanism;
    (void)config;
    (void)params;
    struct none *none = nvdp__calloc(ctx, 1, sizeof *none);
    if (none == NULL) return NVDP_ERR_MEMORY;
    none->ctx = ctx;
    none->bert = bert;
    *self = none;
    return NVDP_OK;
}

static struct nvdp__view none_view(const void *self) {
    const struct none *none = self;
    return (struct nvdp__view){.width = none->bert->config.hidden_size};
}

static nvdp_status none_plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                             size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena) {
    struct none *none = self;
    (void)dev;
    (void)max_tokens;
    (void)longest;
    none->max_texts = max_texts;
    /* without a pooler, only the states of words are needed */
    if (!none->bert->has_pooler) return NVDP_OK;
    nvdp__pooler_plan(none->bert, max_texts, training, arena, &none->pooler);
    return NVDP_OK;
}

static nvdp_status none_forward(void *self, const struct nvdp__encoded *in,
                                const struct nvdp__draw *draw, float **pooled) {
    struct none *none = self;
    size_t texts = in->batch->texts;
    (void)draw;
    if (!none->bert->has_pooler)
        return nvdp__fail(none->ctx, NVDP_ERR_STATE, "method base needs an encoder with a pooler");
    if (texts > none->max_texts)
        return nvdp__fail(none->ctx, NVDP_ERR_STATE,
                          "batch: %zu texts exceed the planned maximum of %zu", texts,
                          none->max_texts);
    nvdp__pooler_forward(none->bert, in->dev, in->params, in->batch, in->hidden, &none->pooler);
    *pooled = none->pooler.pooled;
    return NVDP_OK;
}

static void none_backward(void *self, const struct nvdp__encoded *in,
                          const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    struct none *none = self;
    for (size_t i = 0; i < in->batch->texts; i++)
        penalty->loss_g[i] = penalty->loss_d[i] = 0;
    nvdp__pooler_backward(none->bert, in->dev, in->params, in->batch, &none->pooler, d_pooled,
                          d_hidden);
}

static nvdp_status none_infer(void *self, const struct nvdp__encoded *in) {
    (void)in;
    return nvdp__fail(((struct none *)self)->ctx, NVDP_ERR_ARGUMENT,
                      "method base has no posterior");
}

static nvdp_status none_forward_sample(void *self, const struct nvdp__device *dev,
                                       const struct nvdp__params *params,
                                       const struct nvdp__sample *sample, float **pooled) {
    (void)dev;
    (void)params;
    (void)sample;
    (void)pooled;
    return nvdp__fail(((struct none *)self)->ctx, NVDP_ERR_ARGUMENT,
                      "method base has no sample to read");
}

/* There is nothing to initialize, because the pooler belongs to the encoder. */
static const struct nvdp__mechanism none = {
    .name = "none",
    .create = none_create,
    .release = free,
    .plan = none_plan,
    .view = none_view,
    .forward = none_forward,
    .infer = none_infer,
    .forward_sample = none_forward_sample,
    .backward = none_backward,
};

const struct nvdp__method nvdp__method_row_base = {
    .mechanism = &none,
    .description = "BERT and a classifier; shares plain embeddings, so nothing is private"};
const struct nvdp__method nvdp__method_row_reg = {
    .mechanism = &none,
    .description = "method base with dropout and weight decay; nothing is private"};
