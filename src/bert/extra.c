#include "bert/extra.h"
#include "bert/run.h"

nvdp_status nvdp__extra_declare(struct nvdp__extra *extra, const struct nvdp__bert *below,
                                const char *prefix, struct nvdp__params *params) {
    extra->bert.config = below->config;
    extra->bert.config.num_hidden_layers = 1;
    extra->bert.layer = nvdp__calloc(params->ctx, 1, sizeof *extra->bert.layer);
    if (extra->bert.layer == NULL) return NVDP_ERR_MEMORY;
    NVDP_RETURN_IF_FAILED(
        nvdp__bert_cache_create(params->ctx, &extra->bert, false, false, &extra->cache));
    extra->cache.above = true;
    extra->cache.keep_hidden = true; /* the output has a place of its own */
    return nvdp__layer_declare(extra->bert.layer, &extra->bert.config, prefix, NVDP__PARAM_OPTIONAL,
                               params);
}

void nvdp__extra_release(struct nvdp__extra *extra) {
    nvdp__bert_cache_release(&extra->cache);
    nvdp__bert_release(&extra->bert);
}

void nvdp__extra_initialise(const struct nvdp__extra *extra, const struct nvdp__bert *below,
                            const struct nvdp__device *dev, struct nvdp__params *params) {
    const struct nvdp__bert_layer *from = &below->layer[below->config.num_hidden_layers - 1];
    const struct nvdp__bert_layer *to = extra->bert.layer;
    const struct {
        const struct nvdp__dense *from, *to;
    } pairs[] = {{&from->query, &to->query},
                 {&from->key, &to->key},
                 {&from->value, &to->value},
                 {&from->attention_output, &to->attention_output},
                 {&from->attention_norm, &to->attention_norm},
                 {&from->intermediate, &to->intermediate},
                 {&from->output, &to->output},
                 {&from->output_norm, &to->output_norm}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        nvdp__dense_copy(dev, params, pairs[i].from, pairs[i].to);
    }
}

void nvdp__extra_plan(struct nvdp__extra *extra, const struct nvdp__device *dev, size_t max_tokens,
                      size_t max_texts, size_t longest, bool training, struct nvdp__arena *arena) {
    extra->cache.training = training;
    nvdp__bert_plan(&extra->bert, dev, max_tokens, max_texts, longest, arena, &extra->cache);
}

const float *nvdp__extra_forward(struct nvdp__extra *extra, const struct nvdp__device *dev,
                                 const struct nvdp__params *params, const struct nvdp__batch *batch,
                                 const float *hidden) {
    static const struct nvdp__pass pass = {.training = false}; /* no dropout */
    struct nvdp__bert_cache *cache = &extra->cache;
    const struct nvdp__bert_run run = {&extra->bert, dev, params, batch, &pass, cache};
    cache->hidden[0] = (float *)hidden;
    cache->operands[0] = nvdp__rounded(dev, batch->tokens * extra->bert.config.hidden_size, hidden,
                                       cache->operands[0]);
    nvdp__layer_forward(&run, 0);
    return cache->hidden[1];
}

void nvdp__extra_backward(struct nvdp__extra *extra, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          float *d) {
    static const struct nvdp__pass pass = {.training = false};
    const struct nvdp__bert_run run = {&extra->bert, dev, params, batch, &pass, &extra->cache};
    nvdp__layer_backward(&run, 0, d);
}
