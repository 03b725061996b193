/* The functions of every encoder, which call the functions of the encoder's row: parameters,
 * activations, passes. */
#include "encoder/encoder.h"
#include "encoder/row.h"

#include <stdlib.h>

/* ---- parameters ---- */

nvdp_status nvdp__bert_declare(struct nvdp__bert *bert, const struct nvdp_bert_config *config,
                               bool with_pooler, struct nvdp__params *params) {
    NVDP_TRY(nvdp__bert_config_check(params->ctx, config));
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
                                    enum nvdp__cache_use use, struct nvdp__bert_cache *cache) {
    size_t layers = bert->config.num_hidden_layers;
    nvdp__auto(nvdp__bert_cache_release) struct nvdp__bert_cache made = {
        .training = use == NVDP__KEEP_TRAINING, .keep_hidden = use == NVDP__KEEP_HIDDEN};
    NVDP_TRY(NVDP__ARRAYS(ctx, &made.memory, NVDP__ITEMS(made.hidden, layers + 1),
                          NVDP__ITEMS(made.states, layers + 1), NVDP__ITEMS(made.layer, layers)));
    if (bert->row->pass->cache != NULL) NVDP_TRY(bert->row->pass->cache(ctx, bert, &made));
    return NVDP__HAND_OVER(cache, made);
}

nvdp_status nvdp__bert_lanes(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                             struct nvdp__bert_cache *cache) {
    const size_t lanes = (size_t)dev->threads;
    if (lanes == 1 || cache->training || cache->keep_hidden || cache->above ||
        !bert->row->pass->lanes)
        return NVDP_OK;
    NVDP_TRY(NVDP__ARRAYS(dev->ctx, &cache->memory, NVDP__ITEMS(cache->lane, lanes)));
    while (cache->lanes < lanes) {
        struct nvdp__lane *lane = &cache->lane[cache->lanes++];
        NVDP_TRY(nvdp__device_lane(dev, &lane->dev));
        NVDP_TRY(nvdp__bert_cache_create(dev->ctx, bert, NVDP__KEEP_LAST, &lane->cache));
    }
    return NVDP_OK;
}

void nvdp__bert_cache_release(struct nvdp__bert_cache *cache) {
    for (size_t l = 0; l < cache->lanes; l++) {
        nvdp__bert_cache_release(&cache->lane[l].cache);
        nvdp__device_release(&cache->lane[l].dev);
    }
    if (cache->release_own != NULL) cache->release_own(cache);
    nvdp__memory_release(&cache->memory);
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
    const struct nvdp__pass pass = {.layers = layers};
    nvdp__bert_forward(bert, dev, params, batch, &pass, cache);
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
