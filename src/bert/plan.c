/* Where the encoder's activations lie.
 *
 * Training keeps what the backward pass reads.  A layer takes, a token: in float32 8 D + I + heads
 * + 4 floats; in bfloat16 2 D + heads + 4 floats (the sums that LayerNorm saw) and 6 D + I halves,
 * because the float32 hidden states pass through buffers that the layers share.  The activated
 * inner state is never kept: the backward pass computes it again.  Inference shares one set of
 * buffers between all layers, 5 D + I + heads + 2 floats a token in all: what a step has read for
 * the last time is where a later one writes, the hidden state included; so do frozen layers. */
#include "bert/encoder.h"

#include <stdlib.h>

nvdp_status nvdp__bert_cache_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    bool training, bool keep_hidden,
                                    struct nvdp__bert_cache *cache) {
    size_t layers = bert->config.num_hidden_layers;
    struct nvdp__bert_cache made = {.training = training, .keep_hidden = keep_hidden};
    made.hidden = nvdp__calloc(ctx, layers + 1, sizeof *made.hidden);
    made.operands = nvdp__calloc(ctx, layers + 1, sizeof *made.operands);
    made.layer = nvdp__calloc(ctx, layers, sizeof *made.layer);
    if (made.hidden == NULL || made.operands == NULL || made.layer == NULL) {
        nvdp__bert_cache_release(&made);
        return NVDP_ERR_MEMORY;
    }
    *cache = made;
    return NVDP_OK;
}

void nvdp__bert_cache_release(struct nvdp__bert_cache *cache) {
    free(cache->hidden);
    free(cache->operands);
    free(cache->layer);
    *cache = (struct nvdp__bert_cache){0};
}

/* What a plan is made of. */
struct plan {
    const struct nvdp__device *dev;
    struct nvdp__arena *arena;
    size_t tokens, dim, wide, heads; /* tokens: room for the rows that products round up to */
};

static float *take(const struct plan *plan, size_t width) {
    return nvdp__arena_take(plan->arena, plan->tokens * width);
}

static nvdp__operand *take_operand(const struct plan *plan, size_t width) {
    return nvdp__arena_take_operand(plan->arena, plan->dev, plan->tokens, width);
}

/* A hidden state that only its operand outlives: `shared` where float32 and operand are two. */
static float *take_state(const struct plan *plan, float *shared) {
    return plan->dev->half != NULL ? shared : take(plan, plan->dim);
}

static nvdp__operand *take_copy(const struct plan *plan, float *state) {
    return nvdp__arena_take_copy(plan->arena, plan->dev, plan->tokens, plan->dim, state);
}

static void plan_training_layer(const struct plan *plan, float *shared, nvdp__operand *activated,
                                struct nvdp__bert_layer_cache *layer) {
    layer->qkv = take_operand(plan, 3 * plan->dim);
    layer->context = take_operand(plan, plan->dim);
    layer->lse = take(plan, plan->heads);
    layer->attention_sum = take(plan, plan->dim);
    layer->attention_mean = take(plan, 1);
    layer->attention_rstd = take(plan, 1);
    layer->attention_out = take_state(plan, shared);
    layer->attention_operand = take_copy(plan, layer->attention_out);
    layer->inner = take_operand(plan, plan->wide);
    layer->activated = activated;
    layer->output_sum = take(plan, plan->dim);
    layer->output_mean = take(plan, 1);
    layer->output_rstd = take(plan, 1);
}

/* The embeddings and the first `layers` layers, whose activations nobody reads again. */
static void plan_shared(const struct plan *plan, size_t layers, struct nvdp__bert_cache *cache) {
    struct nvdp__bert_layer_cache shared = {0};
    float *room = take(plan, 3 * plan->dim);
    size_t state = plan->tokens * plan->dim;
    shared.qkv = nvdp__operand_in(room);
    shared.context = take_operand(plan, plan->dim);
    shared.lse = take(plan, plan->heads);
    shared.attention_mean = take(plan, 1);
    shared.attention_rstd = take(plan, 1);
    shared.inner = take_operand(plan, plan->wide);
    /* Query, key and value are done with when the attention is. */
    shared.attention_sum = room;
    shared.attention_out = room != NULL ? room + state : NULL;
    shared.output_sum = room != NULL ? room + 2 * state : NULL;
    shared.attention_operand = take_copy(plan, shared.attention_out);
    shared.activated = shared.inner;
    shared.output_mean = shared.attention_mean;
    shared.output_rstd = shared.attention_rstd;
    cache->embedding_sum = room;
    cache->embedding_mean = shared.attention_mean;
    cache->embedding_rstd = shared.attention_rstd;
    cache->hidden[0] = cache->above ? NULL : take(plan, plan->dim);
    cache->operands[0] = take_copy(plan, cache->hidden[0]);
    for (size_t i = 0; i < layers; i++) {
        /* A layer reads hidden[i] for the last time before it writes hidden[i + 1]. */
        cache->hidden[i + 1] = cache->keep_hidden ? take(plan, plan->dim) : cache->hidden[i];
        cache->operands[i + 1] =
            plan->dev->half != NULL ? cache->operands[0] : nvdp__operand_in(cache->hidden[i + 1]);
        cache->layer[i] = shared;
    }
}

static void plan_training(const struct nvdp__bert *bert, const struct plan *plan,
                          struct nvdp__bert_cache *cache) {
    bool apart = plan->dev->half != NULL;
    /* A layer reads one hidden state while it writes the next. */
    float *state[2] = {apart ? take(plan, plan->dim) : NULL, apart ? take(plan, plan->dim) : NULL};
    float *between = apart ? take(plan, plan->dim) : NULL;
    /* One after the other: the forward pass's activated inner state, then the gradients of a
     * layer's inner state and of its queries, keys and values. */
    size_t widest = plan->wide > 3 * plan->dim ? plan->wide : 3 * plan->dim;
    nvdp__operand *room = take_operand(plan, widest);
    if (cache->frozen > 0) {
        plan_shared(plan, cache->frozen, cache);
    } else if (cache->above) {
        cache->operands[0] = take_copy(plan, NULL);
    } else {
        cache->embedding_sum = take(plan, plan->dim);
        cache->embedding_mean = take(plan, 1);
        cache->embedding_rstd = take(plan, 1);
        cache->hidden[0] = take_state(plan, state[0]);
        cache->operands[0] = take_copy(plan, cache->hidden[0]);
    }
    for (size_t i = cache->frozen; i < bert->config.num_hidden_layers; i++) {
        plan_training_layer(plan, between, room, &cache->layer[i]);
        cache->hidden[i + 1] = take_state(plan, state[(i + 1) % 2]);
        cache->operands[i + 1] = take_copy(plan, cache->hidden[i + 1]);
    }
    cache->d_branch = take_operand(plan, plan->dim);
    cache->d_wide = room;
    cache->d_qkv = room;
    cache->d_context = take_operand(plan, plan->dim);
}

void nvdp__bert_plan(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     size_t max_tokens, size_t max_texts, size_t longest, struct nvdp__arena *arena,
                     struct nvdp__bert_cache *cache) {
    const struct nvdp_bert_config *config = &bert->config;
    struct plan plan = {dev,
                        arena,
                        nvdp__operand_rows(dev, max_tokens),
                        config->hidden_size,
                        config->intermediate_size,
                        config->num_attention_heads};
    if (cache->training) {
        plan_training(bert, &plan, cache);
    } else {
        plan_shared(&plan, config->num_hidden_layers, cache);
    }
    size_t head_dim = config->hidden_size / config->num_attention_heads;
    cache->scratch =
        nvdp__arena_take(arena, nvdp__operand_attention_scratch(dev, longest, longest, head_dim));
    if (!bert->has_pooler) return;
    cache->first = nvdp__arena_take(arena, max_texts * config->hidden_size);
    cache->pooled = nvdp__arena_take(arena, max_texts * config->hidden_size);
    if (cache->training) cache->d_first = nvdp__arena_take(arena, max_texts * config->hidden_size);
}
