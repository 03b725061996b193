/* Where the encoder's activations lie.
 *
 * Training keeps what the backward pass reads: a layer takes 8 D + 2 I + heads + 4 floats a token.
 * Inference shares one set of buffers between all layers, 5 D + I + heads + 2 floats a token in
 * all: what a step has read for the last time is where a later one writes, the hidden state
 * included. */
#include "bert/encoder.h"

#include <stdlib.h>

nvdp_status nvdp__bert_cache_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    bool training, bool keep_hidden,
                                    struct nvdp__bert_cache *cache) {
    size_t layers = bert->config.num_hidden_layers;
    struct nvdp__bert_cache made = {.training = training, .keep_hidden = keep_hidden};
    made.hidden = nvdp__calloc(ctx, layers + 1, sizeof *made.hidden);
    made.layer = nvdp__calloc(ctx, layers, sizeof *made.layer);
    if (made.hidden == NULL || made.layer == NULL) {
        nvdp__bert_cache_release(&made);
        return NVDP_ERR_MEMORY;
    }
    *cache = made;
    return NVDP_OK;
}

void nvdp__bert_cache_release(struct nvdp__bert_cache *cache) {
    free(cache->hidden);
    free(cache->layer);
    *cache = (struct nvdp__bert_cache){0};
}

struct sizes {
    size_t tokens, wide, hidden, heads; /* floats: [T], [T,I], [T,D], [T,heads] */
};

static void plan_training_layer(const struct sizes *size, struct nvdp__arena *arena,
                                struct nvdp__bert_layer_cache *layer) {
    layer->query = nvdp__arena_take(arena, size->hidden);
    layer->key = nvdp__arena_take(arena, size->hidden);
    layer->value = nvdp__arena_take(arena, size->hidden);
    layer->context = nvdp__arena_take(arena, size->hidden);
    layer->lse = nvdp__arena_take(arena, size->heads);
    layer->attention_sum = nvdp__arena_take(arena, size->hidden);
    layer->attention_mean = nvdp__arena_take(arena, size->tokens);
    layer->attention_rstd = nvdp__arena_take(arena, size->tokens);
    layer->attention_out = nvdp__arena_take(arena, size->hidden);
    layer->inner = nvdp__arena_take(arena, size->wide);
    layer->activated = nvdp__arena_take(arena, size->wide);
    layer->output_sum = nvdp__arena_take(arena, size->hidden);
    layer->output_mean = nvdp__arena_take(arena, size->tokens);
    layer->output_rstd = nvdp__arena_take(arena, size->tokens);
    layer->output = nvdp__arena_take(arena, size->hidden);
}

static void plan_training(const struct nvdp__bert *bert, const struct sizes *size,
                          struct nvdp__arena *arena, struct nvdp__bert_cache *cache) {
    cache->embedding_sum = nvdp__arena_take(arena, size->hidden);
    cache->embedding_mean = nvdp__arena_take(arena, size->tokens);
    cache->embedding_rstd = nvdp__arena_take(arena, size->tokens);
    cache->hidden[0] = nvdp__arena_take(arena, size->hidden);
    for (size_t i = 0; i < bert->config.num_hidden_layers; i++) {
        plan_training_layer(size, arena, &cache->layer[i]);
        cache->hidden[i + 1] = cache->layer[i].output;
    }
    cache->d_hidden = nvdp__arena_take(arena, size->hidden);
    cache->d_wide = nvdp__arena_take(arena, size->wide);
    cache->d_query = nvdp__arena_take(arena, size->hidden);
    cache->d_key = nvdp__arena_take(arena, size->hidden);
    cache->d_value = nvdp__arena_take(arena, size->hidden);
    cache->d_context = nvdp__arena_take(arena, size->hidden);
}

static void plan_inference(const struct nvdp__bert *bert, const struct sizes *size,
                           struct nvdp__arena *arena, struct nvdp__bert_cache *cache) {
    struct nvdp__bert_layer_cache shared = {0};
    shared.query = nvdp__arena_take(arena, size->hidden);
    shared.key = nvdp__arena_take(arena, size->hidden);
    shared.value = nvdp__arena_take(arena, size->hidden);
    shared.context = nvdp__arena_take(arena, size->hidden);
    shared.lse = nvdp__arena_take(arena, size->heads);
    shared.attention_mean = nvdp__arena_take(arena, size->tokens);
    shared.attention_rstd = nvdp__arena_take(arena, size->tokens);
    shared.inner = nvdp__arena_take(arena, size->wide);
    /* Query, key and value are done with when the attention is. */
    shared.attention_sum = shared.query;
    shared.attention_out = shared.key;
    shared.activated = shared.inner;
    shared.output_sum = shared.value;
    shared.output_mean = shared.attention_mean;
    shared.output_rstd = shared.attention_rstd;
    cache->embedding_sum = shared.query;
    cache->embedding_mean = shared.attention_mean;
    cache->embedding_rstd = shared.attention_rstd;
    cache->hidden[0] = nvdp__arena_take(arena, size->hidden);
    for (size_t i = 0; i < bert->config.num_hidden_layers; i++) {
        /* A layer reads hidden[i] for the last time before it writes hidden[i + 1]. */
        cache->hidden[i + 1] =
            cache->keep_hidden ? nvdp__arena_take(arena, size->hidden) : cache->hidden[i];
        cache->layer[i] = shared;
        cache->layer[i].output = cache->hidden[i + 1];
    }
}

void nvdp__bert_plan(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     size_t max_tokens, size_t max_texts, size_t longest, struct nvdp__arena *arena,
                     struct nvdp__bert_cache *cache) {
    const struct nvdp_bert_config *config = &bert->config;
    struct sizes size = {max_tokens, max_tokens * config->intermediate_size,
                         max_tokens * config->hidden_size,
                         max_tokens * config->num_attention_heads};
    if (cache->training) {
        plan_training(bert, &size, arena, cache);
    } else {
        plan_inference(bert, &size, arena, cache);
    }
    size_t head_dim = config->hidden_size / config->num_attention_heads;
    cache->scratch =
        nvdp__arena_take(arena, nvdp__attention_scratch(dev, longest, longest, head_dim));
    if (!bert->has_pooler) return;
    cache->first = nvdp__arena_take(arena, max_texts * config->hidden_size);
    cache->pooled = nvdp__arena_take(arena, max_texts * config->hidden_size);
    if (cache->training) cache->d_first = nvdp__arena_take(arena, max_texts * config->hidden_size);
}
