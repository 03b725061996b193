/* pooled = tanh(W h_first + b), h_first the last hidden state of a text's first token. */
#include "bert/encoder.h"

void nvdp__pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          struct nvdp__bert_cache *cache) {
    size_t dim = bert->config.hidden_size;
    const float *last = cache->hidden[bert->config.num_hidden_layers];
    nvdp__rows_gather(dev, batch->texts, dim, batch->offset, last, cache->first);
    nvdp__linear_forward(dev, batch->texts, dim, dim, cache->first,
                         nvdp__value(params, bert->pooler.weight),
                         nvdp__value(params, bert->pooler.bias), cache->pooled);
    nvdp__act_forward(dev, NVDP__ACT_TANH, batch->texts * dim, cache->pooled, cache->pooled);
}

void nvdp__pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           struct nvdp__bert_cache *cache, float *d_pooled, float *d_last) {
    size_t dim = bert->config.hidden_size;
    nvdp__act_backward(dev, NVDP__ACT_TANH, batch->texts * dim, cache->pooled, d_pooled, d_pooled);
    nvdp__linear_backward(dev, batch->texts, dim, dim, cache->first,
                          nvdp__value(params, bert->pooler.weight), d_pooled, cache->d_first, false,
                          nvdp__grad(params, bert->pooler.weight),
                          nvdp__grad(params, bert->pooler.bias));
    nvdp__zero(dev, batch->tokens * dim, d_last);
    nvdp__rows_scatter_add(dev, batch->texts, dim, batch->offset, cache->d_first, d_last);
}
