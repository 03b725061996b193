/* h_0 = dropout(LN(word[id] + position[place] + type[segment])) (Devlin et al. 2019). */
#include "bert/run.h"

/* Nothing is dropped before this LayerNorm, but its output is. */
static struct nvdp__residual_norm embedding_norm(const struct nvdp__bert_run *run) {
    struct nvdp__residual_norm norm =
        nvdp__run_norm(run, &run->bert->norm, NVDP__SITE_EMBEDDINGS, run->cache->embedding_mean,
                       run->cache->embedding_rstd);
    norm.dropout.rate = 0;
    return norm;
}

void nvdp__embeddings_forward(const struct nvdp__bert_run *run) {
    const struct nvdp__bert *bert = run->bert;
    const struct nvdp__params *params = run->params;
    const struct nvdp__batch *batch = run->batch;
    struct nvdp__bert_cache *cache = run->cache;
    size_t dim = bert->config.hidden_size;
    nvdp__embed_forward(run->dev, batch->tokens, dim, batch->ids, batch->positions, batch->types,
                        nvdp__value(params, bert->word), nvdp__value(params, bert->position),
                        nvdp__value(params, bert->type), cache->embedding_sum);
    struct nvdp__residual_norm norm = embedding_norm(run);
    struct nvdp__dropout drop =
        nvdp__run_dropout(run, run->pass->hidden_dropout, NVDP__SITE_EMBEDDINGS);
    nvdp__residual_norm_forward(run->dev, &norm, cache->embedding_sum, NULL, cache->embedding_sum,
                                cache->hidden[0], cache->operands[0]);
    if (drop.rate == 0) return;
    nvdp__dropout_apply(run->dev, &drop, batch->tokens * dim, cache->hidden[0]);
    nvdp__to_operand(run->dev, batch->tokens * dim, cache->hidden[0], cache->operands[0]);
}

void nvdp__embeddings_backward(const struct nvdp__bert_run *run, float *d) {
    const struct nvdp__bert *bert = run->bert;
    const struct nvdp__params *params = run->params;
    const struct nvdp__batch *batch = run->batch;
    const struct nvdp__bert_cache *cache = run->cache;
    size_t dim = bert->config.hidden_size;
    struct nvdp__dropout drop =
        nvdp__run_dropout(run, run->pass->hidden_dropout, NVDP__SITE_EMBEDDINGS);
    nvdp__dropout_apply(run->dev, &drop, batch->tokens * dim, d);
    nvdp__layernorm_backward(run->dev, batch->tokens, dim, cache->embedding_sum,
                             nvdp__value(params, bert->norm.weight), cache->embedding_mean,
                             cache->embedding_rstd, d, d, nvdp__grad(params, bert->norm.weight),
                             nvdp__grad(params, bert->norm.bias));
    nvdp__grad_rows(params, batch->tokens, batch->ids);
    nvdp__embed_backward(run->dev, batch->tokens, dim, batch->ids, batch->positions, batch->types,
                         d, nvdp__grad(params, bert->word), nvdp__grad(params, bert->position),
                         nvdp__grad(params, bert->type));
}
