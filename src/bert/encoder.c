/* The encoder's passes, from parts. */
#include "bert/run.h"

struct nvdp__dropout nvdp__run_dropout(const struct nvdp__bert_run *run, float rate,
                                       uint32_t site) {
    return (struct nvdp__dropout){.rate = run->pass->training ? rate : 0,
                                  .seed = run->pass->seed,
                                  .step = run->pass->step,
                                  .site = site};
}

void nvdp__bert_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    const struct nvdp__bert_run run = {bert, dev, params, batch, pass, cache};
    size_t first = pass->first_layer;
    if (first == 0) nvdp__embeddings_forward(&run);
    if (first > 0)
        nvdp__to_operand(dev, batch->tokens * bert->config.hidden_size, cache->hidden[first],
                         cache->operands[first]);
    for (size_t i = first; i < bert->config.num_hidden_layers; i++) {
        nvdp__layer_forward(&run, i);
    }
}

void nvdp__bert_prefix(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       const struct nvdp__params *params, const struct nvdp__batch *batch,
                       size_t layers, struct nvdp__bert_cache *cache) {
    const struct nvdp__pass pass = {.training = false};
    const struct nvdp__bert_run run = {bert, dev, params, batch, &pass, cache};
    nvdp__embeddings_forward(&run);
    for (size_t i = 0; i < layers; i++) {
        nvdp__layer_forward(&run, i);
    }
}

void nvdp__bert_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const struct nvdp__pass *pass, struct nvdp__bert_cache *cache,
                         float *d_last) {
    const struct nvdp__bert_run run = {bert, dev, params, batch, pass, cache};
    for (size_t i = bert->config.num_hidden_layers; i-- > pass->first_layer;) {
        nvdp__layer_backward(&run, i, d_last);
    }
    if (pass->first_layer == 0) nvdp__embeddings_backward(&run, d_last);
}
