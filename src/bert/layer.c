/* One post-LN layer (Devlin et al. 2019; Vaswani et al. 2017):
 *
 *   a = LN(h + drop(W_o attention(W_q h, W_k h, W_v h))),  h' = LN(a + drop(W_2 gelu(W_1 a)))
 *
 * with softmax(q k^T / sqrt(head size)) over the text's own tokens, dropout on it. */
#include "bert/run.h"

#include <math.h>

static struct nvdp__linear linear_of(const struct nvdp__bert_run *run,
                                     const struct nvdp__dense *dense) {
    return nvdp__dense_linear(run->params, dense, run->batch->tokens);
}

/* Query, key and value as one layer. */
static struct nvdp__linear qkv_of(const struct nvdp__bert_run *run, size_t index) {
    struct nvdp__linear layer = linear_of(run, &run->bert->layer[index].query);
    layer.out *= 3;
    return layer;
}

/* Query, key and value lie side by side in rows of 3D. */
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
        .q_stride = 3 * config->hidden_size,
        .kv_stride = 3 * config->hidden_size,
        .out_stride = config->hidden_size,
        .dropout = nvdp__run_dropout(run, run->pass->attention_dropout,
                                     nvdp__layer_site(layer, NVDP__SITE_PROBABILITIES)),
    };
}

static enum nvdp__act activation(const struct nvdp__bert_run *run) {
    return run->bert->config.hidden_act == NVDP_GELU ? NVDP__ACT_GELU : NVDP__ACT_GELU_NEW;
}

static size_t wide(const struct nvdp__bert_run *run) {
    return run->batch->tokens * run->bert->config.intermediate_size;
}

struct nvdp__residual_norm nvdp__run_norm(const struct nvdp__bert_run *run,
                                          const struct nvdp__dense *norm, uint32_t site,
                                          float *mean, float *rstd) {
    return (struct nvdp__residual_norm){
        .rows = run->batch->tokens,
        .dim = run->bert->config.hidden_size,
        .eps = (float)run->bert->config.layer_norm_eps,
        .gamma = nvdp__value(run->params, norm->weight),
        .beta = nvdp__value(run->params, norm->bias),
        .dgamma = nvdp__grad(run->params, norm->weight),
        .dbeta = nvdp__grad(run->params, norm->bias),
        .mean = mean,
        .rstd = rstd,
        .dropout = nvdp__run_dropout(run, run->pass->hidden_dropout, site)};
}

static struct nvdp__residual_norm attention_norm(const struct nvdp__bert_run *run, size_t index) {
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    return nvdp__run_norm(run, &run->bert->layer[index].attention_norm,
                          nvdp__layer_site(index, NVDP__SITE_ATTENTION), cache->attention_mean,
                          cache->attention_rstd);
}

static struct nvdp__residual_norm output_norm(const struct nvdp__bert_run *run, size_t index) {
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    return nvdp__run_norm(run, &run->bert->layer[index].output_norm,
                          nvdp__layer_site(index, NVDP__SITE_OUTPUT), cache->output_mean,
                          cache->output_rstd);
}

static void attention_forward(const struct nvdp__bert_run *run, size_t index) {
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    size_t d = run->bert->config.hidden_size;
    struct nvdp__attention attention = attention_of(run, index);
    struct nvdp__linear qkv = qkv_of(run, index);
    struct nvdp__linear out = linear_of(run, &run->bert->layer[index].attention_output);
    struct nvdp__residual_norm norm = attention_norm(run, index);
    nvdp__linear_to_operand(run->dev, &qkv, run->cache->operands[index], cache->qkv);
    nvdp__operand_attention_forward(run->dev, &attention, cache->qkv,
                                    nvdp__operand_at(run->dev, cache->qkv, d),
                                    nvdp__operand_at(run->dev, cache->qkv, 2 * d), NULL,
                                    cache->context, cache->lse, run->cache->scratch);
    nvdp__linear_to_float(run->dev, &out, cache->context, cache->attention_sum);
    nvdp__residual_norm_forward(run->dev, &norm, cache->attention_sum, run->cache->hidden[index],
                                cache->attention_sum, cache->attention_out,
                                cache->attention_operand);
}

static void feed_forward(const struct nvdp__bert_run *run, size_t index) {
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    struct nvdp__linear inner = linear_of(run, &layer->intermediate);
    struct nvdp__linear out = linear_of(run, &layer->output);
    struct nvdp__residual_norm norm = output_norm(run, index);
    nvdp__linear_to_operand(run->dev, &inner, cache->attention_operand, cache->inner);
    nvdp__operand_act_forward(run->dev, activation(run), wide(run), cache->inner, cache->activated);
    nvdp__linear_to_float(run->dev, &out, cache->activated, cache->output_sum);
    nvdp__residual_norm_forward(run->dev, &norm, cache->output_sum, cache->attention_out,
                                cache->output_sum, run->cache->hidden[index + 1],
                                run->cache->operands[index + 1]);
}

void nvdp__layer_forward(const struct nvdp__bert_run *run, size_t layer) {
    attention_forward(run, layer);
    feed_forward(run, layer);
}

/* d: the gradient of the layer's output becomes that of attention_out. */
static void feed_backward(const struct nvdp__bert_run *run, size_t index, float *d) {
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    nvdp__operand *d_branch = run->cache->d_branch;
    nvdp__operand *d_wide = run->cache->d_wide;
    struct nvdp__linear inner = linear_of(run, &layer->intermediate);
    struct nvdp__linear out = linear_of(run, &layer->output);
    struct nvdp__residual_norm norm = output_norm(run, index);
    nvdp__residual_norm_backward(run->dev, &norm, cache->output_sum, d, d_branch);
    nvdp__linear_back_to_operand(run->dev, &out, d_branch, d_wide);
    /* Once more gelu(inner), over inner itself, which nobody reads after this. */
    nvdp__operand_act_backward(run->dev, activation(run), wide(run), cache->inner, d_wide, d_wide,
                               cache->inner);
    nvdp__linear_params_backward(run->dev, &out, cache->inner, d_branch);
    nvdp__linear_params_backward(run->dev, &inner, cache->attention_operand, d_wide);
    nvdp__linear_back_to_float(run->dev, &inner, d_wide, true, d);
}

/* d: the gradient of attention_out becomes that of the layer's input. */
static void attention_backward(const struct nvdp__bert_run *run, size_t index, float *d) {
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    struct nvdp__bert_cache *all = run->cache;
    const struct nvdp__device *dev = run->dev;
    size_t width = run->bert->config.hidden_size;
    struct nvdp__attention attention = attention_of(run, index);
    struct nvdp__linear qkv = qkv_of(run, index);
    struct nvdp__linear out = linear_of(run, &run->bert->layer[index].attention_output);
    struct nvdp__residual_norm norm = attention_norm(run, index);
    nvdp__residual_norm_backward(dev, &norm, cache->attention_sum, d, all->d_branch);
    nvdp__linear_back_to_operand(dev, &out, all->d_branch, all->d_context);
    nvdp__linear_params_backward(dev, &out, cache->context, all->d_branch);
    nvdp__operand_attention_backward(
        dev, &attention, cache->qkv, nvdp__operand_at(dev, cache->qkv, width),
        nvdp__operand_at(dev, cache->qkv, 2 * width), NULL, cache->context, cache->lse,
        all->d_context, all->d_qkv, nvdp__operand_at(dev, all->d_qkv, width),
        nvdp__operand_at(dev, all->d_qkv, 2 * width), NULL, all->scratch);
    nvdp__linear_params_backward(dev, &qkv, all->operands[index], all->d_qkv);
    nvdp__linear_back_to_float(dev, &qkv, all->d_qkv, true, d);
}

void nvdp__layer_backward(const struct nvdp__bert_run *run, size_t layer, float *d) {
    feed_backward(run, layer, d);
    attention_backward(run, layer, d);
}
