/* One post-LN layer (Devlin et al. 2019; Vaswani et al. 2017):
 *
 *   a = LN(h + drop(W_o attention(W_q h, W_k h, W_v h))),  h' = LN(a + drop(W_2 gelu(W_1 a)))
 *
 * with softmax(q k^T / sqrt(head size)) over the text's own tokens, dropout on it. */
#include "bert/run.h"

#include <math.h>

static struct nvdp__attention attention_of(const struct nvdp__bert_run *run, size_t layer) {
    const struct nvdp_bert_config *config = &run->bert->config;
    size_t head_dim = config->hidden_size / config->num_attention_heads;
    return (struct nvdp__attention){
        .groups = run->batch->texts,
        .heads = config->num_attention_heads,
        .head_dim = head_dim,
        .scale = (float)(1 / sqrt((double)head_dim)),
        .q_offset = run->batch->offset,
        .k_offset = run->batch->offset,
        .q_stride = config->hidden_size,
        .kv_stride = config->hidden_size,
        .out_stride = config->hidden_size,
        .dropout = nvdp__run_dropout(run, run->pass->attention_dropout,
                                     nvdp__layer_site(layer, NVDP__SITE_PROBABILITIES)),
    };
}

static enum nvdp__act activation(const struct nvdp__bert_run *run) {
    return run->bert->config.hidden_act == NVDP_GELU ? NVDP__ACT_GELU : NVDP__ACT_GELU_NEW;
}

static struct nvdp__dropout hidden_dropout(const struct nvdp__bert_run *run, size_t layer,
                                           uint32_t site) {
    return nvdp__run_dropout(run, run->pass->hidden_dropout, nvdp__layer_site(layer, site));
}

/* y = LN(drop(sum) + residual); sum keeps what LN saw. */
static void add_and_norm(const struct nvdp__bert_run *run, const struct nvdp__dense *norm,
                         const struct nvdp__dropout *drop, const float *residual, float *sum,
                         float *y, float *mean, float *rstd) {
    const struct nvdp_bert_config *config = &run->bert->config;
    nvdp__dropout_apply(run->dev, drop, run->batch->tokens * config->hidden_size, sum);
    nvdp__layernorm_forward(run->dev, run->batch->tokens, config->hidden_size,
                            (float)config->layer_norm_eps, sum, residual,
                            nvdp__value(run->params, norm->weight),
                            nvdp__value(run->params, norm->bias), sum, y, mean, rstd);
}

static void attention_forward(const struct nvdp__bert_run *run, size_t index) {
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    const float *hidden = run->cache->hidden[index];
    struct nvdp__attention attention = attention_of(run, index);
    nvdp__dense_forward(run, &layer->query, hidden, cache->query);
    nvdp__dense_forward(run, &layer->key, hidden, cache->key);
    nvdp__dense_forward(run, &layer->value, hidden, cache->value);
    nvdp__attention_forward(run->dev, &attention, cache->query, cache->key, cache->value, NULL,
                            cache->context, cache->lse, run->cache->scratch);
    nvdp__dense_forward(run, &layer->attention_output, cache->context, cache->attention_sum);
    struct nvdp__dropout drop = hidden_dropout(run, index, NVDP__SITE_ATTENTION);
    add_and_norm(run, &layer->attention_norm, &drop, hidden, cache->attention_sum,
                 cache->attention_out, cache->attention_mean, cache->attention_rstd);
}

static void feed_forward(const struct nvdp__bert_run *run, size_t index) {
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    nvdp__dense_forward(run, &layer->intermediate, cache->attention_out, cache->inner);
    nvdp__act_forward(run->dev, activation(run),
                      run->batch->tokens * run->bert->config.intermediate_size, cache->inner,
                      cache->activated);
    nvdp__dense_forward(run, &layer->output, cache->activated, cache->output_sum);
    struct nvdp__dropout drop = hidden_dropout(run, index, NVDP__SITE_OUTPUT);
    add_and_norm(run, &layer->output_norm, &drop, cache->attention_out, cache->output_sum,
                 cache->output, cache->output_mean, cache->output_rstd);
}

void nvdp__layer_forward(const struct nvdp__bert_run *run, size_t layer) {
    attention_forward(run, layer);
    feed_forward(run, layer);
}

/* d: the gradient of LN's output becomes that of its input. */
static void norm_backward(const struct nvdp__bert_run *run, const struct nvdp__dense *norm,
                          const float *sum, const float *mean, const float *rstd, float *d) {
    nvdp__layernorm_backward(run->dev, run->batch->tokens, run->bert->config.hidden_size, sum,
                             nvdp__value(run->params, norm->weight), mean, rstd, d, d,
                             nvdp__grad(run->params, norm->weight),
                             nvdp__grad(run->params, norm->bias));
}

/* The gradient of what went through the dropout; d itself stays the residual's. */
static const float *dropped(const struct nvdp__bert_run *run, const struct nvdp__dropout *drop,
                            const float *d) {
    if (drop->rate == 0) return d;
    size_t n = run->batch->tokens * run->bert->config.hidden_size;
    nvdp__copy(run->dev, n, d, run->cache->d_hidden);
    nvdp__dropout_apply(run->dev, drop, n, run->cache->d_hidden);
    return run->cache->d_hidden;
}

/* d: the gradient of the layer's output becomes that of attention_out. */
static void feed_backward(const struct nvdp__bert_run *run, size_t index, float *d) {
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    float *d_wide = run->cache->d_wide;
    norm_backward(run, &layer->output_norm, cache->output_sum, cache->output_mean,
                  cache->output_rstd, d);
    struct nvdp__dropout drop = hidden_dropout(run, index, NVDP__SITE_OUTPUT);
    nvdp__dense_backward(run, &layer->output, cache->activated, dropped(run, &drop, d), d_wide,
                         false);
    nvdp__act_backward(run->dev, activation(run),
                       run->batch->tokens * run->bert->config.intermediate_size, cache->inner,
                       d_wide, d_wide);
    nvdp__dense_backward(run, &layer->intermediate, cache->attention_out, d_wide, d, true);
}

/* d: the gradient of attention_out becomes that of the layer's input. */
static void attention_backward(const struct nvdp__bert_run *run, size_t index, float *d) {
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    struct nvdp__bert_cache *all = run->cache;
    const float *hidden = all->hidden[index];
    struct nvdp__attention attention = attention_of(run, index);
    norm_backward(run, &layer->attention_norm, cache->attention_sum, cache->attention_mean,
                  cache->attention_rstd, d);
    struct nvdp__dropout drop = hidden_dropout(run, index, NVDP__SITE_ATTENTION);
    nvdp__dense_backward(run, &layer->attention_output, cache->context, dropped(run, &drop, d),
                         all->d_context, false);
    nvdp__attention_backward(run->dev, &attention, cache->query, cache->key, cache->value, NULL,
                             cache->context, cache->lse, all->d_context, all->d_query, all->d_key,
                             all->d_value, NULL, all->scratch);
    nvdp__dense_backward(run, &layer->query, hidden, all->d_query, d, true);
    nvdp__dense_backward(run, &layer->key, hidden, all->d_key, d, true);
    nvdp__dense_backward(run, &layer->value, hidden, all->d_value, d, true);
}

void nvdp__layer_backward(const struct nvdp__bert_run *run, size_t layer, float *d) {
    feed_backward(run, layer, d);
    attention_backward(run, layer, d);
}
