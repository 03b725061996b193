/* Functions of every encoder, which call those of its row: parameters, activations, passes. */
#include "bert/row.h"

#include <stdlib.h>

/* ---- parameters ---- */

nvdp_status nvdp__bert_declare(struct nvdp__bert *bert, const struct nvdp_bert_config *config,
                               bool with_pooler, struct nvdp__params *params) {
    NVDP_TRY(nvdp_bert_config_check(params->ctx, config));
    *bert = (struct nvdp__bert){
        .row = nvdp__encoder_row(config->model_type), .config = *config, .has_pooler = with_pooler};
    nvdp_status status = bert->row->declare(bert, params);
    if (status != NVDP_OK) nvdp__bert_release(bert);
    return status;
}

void nvdp__bert_release(struct nvdp__bert *bert) {
    free(bert->layer);
    free(bert->own);
    *bert = (struct nvdp__bert){0};
}

void nvdp__bert_freeze(const struct nvdp__bert *bert, size_t layers, struct nvdp__params *params) {
    for (size_t i = 0; i < bert->row->tensors_below(bert, layers); i++)
        params->entry[i].flags |= (unsigned)NVDP__PARAM_FROZEN;
}

void nvdp__bert_initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           struct nvdp__params *params, uint64_t seed) {
    bert->row->initialize(bert, dev, params, seed);
}

void nvdp__bert_initialize_pooler(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed) {
    if (bert->row->initialize_new != NULL) bert->row->initialize_new(bert, dev, params, seed);
}

nvdp_status nvdp__bert_device(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                              struct nvdp__device *dev) {
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config->model_type);
    size_t head = config->hidden_size / config->num_attention_heads;
    NVDP_TRY(nvdp__device_create(ctx, dev));
    if (dev->bf16 == NULL || (row->bf16 && nvdp__attention_fits_bf16(head))) return NVDP_OK;
    nvdp__device_without_bf16(dev);
    if (!row->bf16)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "precision bf16: %s is computed in f32", row->title);
    else if (dev->int8 == NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "precision bf16: expected heads of a multiple of 32 dimensions, found %zu; "
                  "computing in f32",
                  head);
    return NVDP_OK;
}

/* ---- activations ---- */

nvdp_status nvdp__bert_cache_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    bool training, bool keep_hidden,
                                    struct nvdp__bert_cache *cache) {
    size_t layers = bert->config.num_hidden_layers;
    struct nvdp__bert_cache made = {.training = training, .keep_hidden = keep_hidden};
    made.hidden = nvdp__calloc(ctx, layers + 1, sizeof *made.hidden);
    made.states = nvdp__calloc(ctx, layers + 1, sizeof *made.states);
    made.layer = nvdp__calloc(ctx, layers, sizeof *made.layer);
    nvdp_status status = NVDP__MADE(made.hidden, made.states, made.layer);
    if (status == NVDP_OK && bert->row->pass->cache != NULL)
        status = bert->row->pass->cache(ctx, bert, &made);
    if (status != NVDP_OK) {
        nvdp__bert_cache_release(&made);
        return status;
    }
    *cache = made;
    return NVDP_OK;
}

nvdp_status nvdp__bert_lanes(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                             struct nvdp__bert_cache *cache) {
    const size_t lanes = (size_t)dev->threads;
    if (lanes == 1 || cache->training || cache->keep_hidden || cache->above ||
        !bert->row->pass->lanes)
        return NVDP_OK;
    NVDP_TRY(NVDP__NEW(dev->ctx, cache->lane, lanes));
    for (; cache->lanes < lanes; cache->lanes++) {
        struct nvdp__lane *lane = &cache->lane[cache->lanes];
        NVDP_TRY(nvdp__device_lane(dev, &lane->dev));
        nvdp_status status = nvdp__bert_cache_create(dev->ctx, bert, false, false, &lane->cache);
        if (status != NVDP_OK) {
            nvdp__device_release(&lane->dev);
            return status;
        }
    }
    return NVDP_OK;
}

void nvdp__bert_cache_release(struct nvdp__bert_cache *cache) {
    for (size_t l = 0; l < cache->lanes; l++) {
        nvdp__bert_cache_release(&cache->lane[l].cache);
        nvdp__device_release(&cache->lane[l].dev);
    }
    free(cache->lane);
    if (cache->release_own != NULL) cache->release_own(cache);
    free(cache->hidden);
    free(cache->states);
    free(cache->layer);
    free(cache->own);
    *cache = (struct nvdp__bert_cache){0};
}

void nvdp__bert_plan(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     size_t max_tokens, size_t max_texts, size_t longest, struct nvdp__arena *arena,
                     struct nvdp__bert_cache *cache) {
    bert->row->pass->plan(bert, dev, max_tokens, max_texts, longest, arena, cache);
    if (bert->has_pooler)
        nvdp__pooler_plan(bert, max_texts, cache->training, arena, &cache->pooler);
}

void nvdp__pooler_plan(const struct nvdp__bert *bert, size_t max_texts, bool training,
                       struct nvdp__arena *arena, struct nvdp__pooler *pooler) {
    bert->row->pass->pooler_plan(bert, max_texts, training, arena, pooler);
}

/* ---- passes ---- */

void nvdp__bert_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    bert->row->pass->forward(bert, dev, params, batch, pass, cache);
}

void nvdp__bert_prefix(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       const struct nvdp__params *params, const struct nvdp__batch *batch,
                       size_t layers, struct nvdp__bert_cache *cache) {
    bert->row->pass->prefix(bert, dev, params, batch, layers, cache);
}

void nvdp__bert_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const struct nvdp__pass *pass, struct nvdp__bert_cache *cache,
                         float *d_last) {
    bert->row->pass->backward(bert, dev, params, batch, pass, cache, d_last);
}

void nvdp__pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          const float *hidden, const struct nvdp__pooler *pooler) {
    bert->row->pass->pooler_forward(bert, dev, params, batch, hidden, pooler);
}

void nvdp__pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__pooler *pooler, float *d_pooled, float *d_last) {
    bert->row->pass->pooler_backward(bert, dev, params, batch, pooler, d_pooled, d_last);
}

/* ---- the additional layer ---- */

static const struct nvdp__pass extra_pass = {.training = false}; /* no dropout */

nvdp_status nvdp__extra_declare(struct nvdp__extra *extra, const struct nvdp__bert *below,
                                const char *prefix, struct nvdp__params *params) {
    if (below->row->pass->declare_extra == NULL)
        return nvdp__fail(
            params->ctx, NVDP_ERR_ARGUMENT,
            "method: expected one without an additional layer of the encoder with %s, "
            "found %s",
            below->row->title, prefix);
    extra->bert.row = below->row;
    extra->bert.config = below->config;
    extra->bert.config.num_hidden_layers = 1;
    NVDP_TRY(nvdp__bert_cache_create(params->ctx, &extra->bert, false, false, &extra->cache));
    extra->cache.above = true;
    extra->cache.keep_hidden = true; /* the output has its own buffer */
    return below->row->pass->declare_extra(&extra->bert, below, prefix, params);
}

void nvdp__extra_release(struct nvdp__extra *extra) {
    nvdp__bert_cache_release(&extra->cache);
    nvdp__bert_release(&extra->bert);
}

void nvdp__extra_initialize(const struct nvdp__extra *extra, const struct nvdp__bert *below,
                            const struct nvdp__device *dev, struct nvdp__params *params) {
    below->row->pass->initialize_extra(&extra->bert, below, dev, params);
}

void nvdp__extra_plan(struct nvdp__extra *extra, const struct nvdp__device *dev, size_t max_tokens,
                      size_t max_texts, size_t longest, bool training, struct nvdp__arena *arena) {
    extra->cache.training = training;
    extra->bert.row->pass->plan(&extra->bert, dev, max_tokens, max_texts, longest, arena,
                                &extra->cache);
}

const float *nvdp__extra_forward(struct nvdp__extra *extra, const struct nvdp__device *dev,
                                 const struct nvdp__params *params, const struct nvdp__batch *batch,
                                 const float *hidden) {
    extra->cache.hidden[0] = (float *)hidden;
    nvdp__bert_forward(&extra->bert, dev, params, batch, &extra_pass, &extra->cache);
    return extra->cache.hidden[1];
}

void nvdp__extra_backward(struct nvdp__extra *extra, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          float *d) {
    nvdp__bert_backward(&extra->bert, dev, params, batch, &extra_pass, &extra->cache, d);
}
