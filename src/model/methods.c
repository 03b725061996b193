/* The table of methods: name and mechanism, and the trivial mechanism of methods base and reg.  A new
 * mechanism is one file and one row here. */
#include "model/model.h"
#include "nvib/nvib.h"
#include "vib/vib.h"

#include <stdlib.h>
#include <string.h>

/* ---- nothing private: BERT's pooler ---- */

struct none {
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert; /* declared with its pooler */
    size_t max_texts, texts;
    float *first, *pooled, *d_first; /* [texts, D] */
};

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp_nvib_config *config,
                          struct nvdp__params *params, void **self) {
    (void)mechanism;
    (void)config;
    (void)params;
    if (!bert->has_pooler) {
        return nvdp__fail(ctx, NVDP_ERR_STATE,
                          "method base: expected an encoder declared with its pooler");
    }
    struct none *none = nvdp__calloc(ctx, 1, sizeof *none);
    if (none == NULL) return NVDP_ERR_MEMORY;
    none->ctx = ctx;
    none->bert = bert;
    *self = none;
    return NVDP_OK;
}

/* The pooler is the encoder's: initialised or loaded with it. */
static nvdp_status initialise(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden) {
    (void)self;
    (void)dev;
    (void)params;
    (void)seed;
    (void)rows;
    (void)hidden;
    return NVDP_OK;
}

static size_t width(const void *self) {
    const struct none *none = self;
    return none->bert->config.hidden_size;
}

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct none *none = self;
    size_t room = max_texts * width(self);
    (void)dev;
    (void)max_tokens;
    (void)longest;
    none->max_texts = max_texts;
    none->first = nvdp__arena_take(arena, room);
    none->pooled = nvdp__arena_take(arena, room);
    if (training) none->d_first = nvdp__arena_take(arena, room);
    return NVDP_OK;
}

/* tanh(W h_first + b); a text's first row is where its offset points. */
static nvdp_status forward(void *self, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__draw *draw, const float *hidden, float **pooled) {
    struct none *none = self;
    size_t d = width(self);
    (void)draw;
    if (batch->texts > none->max_texts) {
        return nvdp__fail(none->ctx, NVDP_ERR_STATE, "a batch of %zu texts exceeds the plan of %zu",
                          batch->texts, none->max_texts);
    }
    none->texts = batch->texts;
    nvdp__rows_gather(dev, batch->texts, d, batch->offset, hidden, none->first);
    nvdp__linear_forward(dev, batch->texts, d, d, none->first,
                         nvdp__value(params, none->bert->pooler.weight),
                         nvdp__value(params, none->bert->pooler.bias), none->pooled);
    nvdp__act_forward(dev, NVDP__ACT_TANH, batch->texts * d, none->pooled, none->pooled);
    *pooled = none->pooled;
    return NVDP_OK;
}

static void backward(void *self, const struct nvdp__device *dev, const struct nvdp__params *params,
                     const struct nvdp__batch *batch, const float *hidden, double weight_g,
                     double weight_d, float *d_pooled, float *d_hidden) {
    struct none *none = self;
    size_t d = width(self);
    (void)hidden;
    (void)weight_g;
    (void)weight_d;
    nvdp__act_backward(dev, NVDP__ACT_TANH, batch->texts * d, none->pooled, d_pooled, d_pooled);
    nvdp__linear_backward(dev, batch->texts, d, d, none->first,
                          nvdp__value(params, none->bert->pooler.weight), d_pooled, none->d_first,
                          false, nvdp__grad(params, none->bert->pooler.weight),
                          nvdp__grad(params, none->bert->pooler.bias));
    nvdp__zero(dev, batch->tokens * d, d_hidden);
    nvdp__rows_scatter_add(dev, batch->texts, d, batch->offset, none->d_first, d_hidden);
}

static nvdp_status infer(void *self, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const float *hidden) {
    struct none *none = self;
    (void)dev;
    (void)params;
    (void)batch;
    (void)hidden;
    return nvdp__fail(none->ctx, NVDP_ERR_ARGUMENT, "method base has no posterior");
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *sample, float **pooled) {
    struct none *none = self;
    (void)dev;
    (void)params;
    (void)sample;
    (void)pooled;
    return nvdp__fail(none->ctx, NVDP_ERR_ARGUMENT, "method base has no sample to read");
}

static void no_sample(const void *self, struct nvdp__sample *out) {
    (void)self;
    *out = (struct nvdp__sample){0};
}

static void losses(void *self, const struct nvdp__device *dev, double *loss_g, double *loss_d) {
    const struct none *none = self;
    (void)dev;
    for (size_t i = 0; i < none->texts; i++) {
        loss_g[i] = 0;
        loss_d[i] = 0;
    }
}

static nvdp_status posterior(const void *self, const struct nvdp__device *dev,
                             const struct nvdp__batch *batch, size_t first_row,
                             struct nvdp_posteriors *out) {
    const struct none *none = self;
    (void)dev;
    (void)batch;
    (void)first_row;
    (void)out;
    return nvdp__fail(none->ctx, NVDP_ERR_ARGUMENT, "method base has no posterior");
}

static const struct nvdp__mechanism none = {
    .name = "none",
    .private_ = false,
    .create = create,
    .release = free,
    .initialise = initialise,
    .plan = plan,
    .width = width,
    .forward = forward,
    .infer = infer,
    .forward_sample = forward_sample,
    .sample = no_sample,
    .losses = losses,
    .backward = backward,
    .posterior = posterior,
};

/* ---- the table ---- */

static const struct {
    const char *name;
    const struct nvdp__mechanism *mechanism;
} table[] = {
    [NVDP_METHOD_BASE] = {"base", &none},
    [NVDP_METHOD_REG] = {"reg", &none},
    [NVDP_METHOD_VIB_FIXED] = {"vib-fixed", &nvdp__mechanisms_vib[NVDP__VIB_FIXED]},
    [NVDP_METHOD_VIB_LEARNED] = {"vib-learned", &nvdp__mechanisms_vib[NVDP__VIB_LEARNED]},
    [NVDP_METHOD_VTDP] = {"vtdp", &nvdp__mechanisms_vib[NVDP__VIB_VTDP]},
    [NVDP_METHOD_NVDP] = {"nvdp", &nvdp__mechanism_nvdp},
};
enum { METHODS = sizeof table / sizeof table[0] };

const char *nvdp_method_name(enum nvdp_method method) {
    return (size_t)method < METHODS ? table[method].name : "unknown";
}

nvdp_status nvdp_method_find(struct nvdp_context *ctx, const char *name, enum nvdp_method *out) {
    for (size_t i = 0; i < METHODS; i++) {
        if (strcmp(name, table[i].name) == 0) {
            *out = (enum nvdp_method)i;
            return NVDP_OK;
        }
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "method '%s': expected base, reg, vib-fixed, vib-learned, vtdp or nvdp",
                      name);
}

const struct nvdp__mechanism *nvdp__method_mechanism(enum nvdp_method method) {
    return (size_t)method < METHODS ? table[method].mechanism : NULL;
}

bool nvdp__method_private(enum nvdp_method method) {
    const struct nvdp__mechanism *mechanism = nvdp__method_mechanism(method);
    return mechanism != NULL && mechanism->private_;
}

nvdp_status nvdp__method_resolve(struct nvdp_context *ctx, enum nvdp_method method,
                                 const struct nvdp_bert_config *bert,
                                 struct nvdp_nvib_config *config) {
    const struct nvdp__mechanism *mechanism = nvdp__method_mechanism(method);
    if (mechanism == NULL || mechanism->resolve == NULL) return NVDP_OK;
    return mechanism->resolve(mechanism, ctx, bert, config);
}
