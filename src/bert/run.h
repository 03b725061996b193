/* A pass through the encoder, as its parts see it. */
#ifndef NVDP_SRC_BERT_RUN_H
#define NVDP_SRC_BERT_RUN_H

#include "bert/encoder.h"

struct nvdp__bert_run {
    const struct nvdp__bert *bert;
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
    const struct nvdp__batch *batch;
    const struct nvdp__pass *pass;
    struct nvdp__bert_cache *cache;
};

/* Dropout sites: the embeddings' is 0, then three a layer. */
enum {
    NVDP__SITE_EMBEDDINGS = 0,
    NVDP__SITE_PROBABILITIES = 1,
    NVDP__SITE_ATTENTION = 2,
    NVDP__SITE_OUTPUT = 3,
    NVDP__SITES_A_LAYER = 3
};
static inline uint32_t nvdp__layer_site(size_t layer, uint32_t site) {
    return (uint32_t)layer * NVDP__SITES_A_LAYER + site;
}
struct nvdp__dropout nvdp__run_dropout(const struct nvdp__bert_run *run, float rate, uint32_t site);

/* A declared LayerNorm over the batch's tokens, with the dropout of `site` before it. */
struct nvdp__residual_norm nvdp__run_norm(const struct nvdp__bert_run *run,
                                          const struct nvdp__dense *norm, uint32_t site,
                                          float *mean, float *rstd);

/* hidden[0] from the batch's ids. */
void nvdp__embeddings_forward(const struct nvdp__bert_run *run);
/* d [T, D], the gradient of hidden[0], is overwritten. */
void nvdp__embeddings_backward(const struct nvdp__bert_run *run, float *d);
/* hidden[layer + 1] from hidden[layer]. */
void nvdp__layer_forward(const struct nvdp__bert_run *run, size_t layer);
/* d [T, D]: the gradient of hidden[layer + 1] becomes that of hidden[layer]. */
void nvdp__layer_backward(const struct nvdp__bert_run *run, size_t layer, float *d);

#endif
