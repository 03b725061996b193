/* The mechanism without noise, BERT's pooler, of methods base and reg. */
#include "mechanism/mechanism.h"
#include "mechanism/method.h"

#include <stdlib.h>

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
    if (!none->bert->has_pooler) return NVDP_OK; /* only the states of words are needed */
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

/* Needs no initialization: the pooler belongs to the encoder. */
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
