/* The arguments of a forward or backward pass, which the functions of an encoder hand on to each other. */
#ifndef NVDP_SRC_BERT_RUN_H
#define NVDP_SRC_BERT_RUN_H

#include "bert/encoder.h"

struct nvdp__encoder_run {
    const struct nvdp__bert *bert;
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
    const struct nvdp__batch *batch;
    const struct nvdp__pass *pass;
    struct nvdp__bert_cache *cache;
};

/* Dropout sites: 0 for the embeddings, then three per layer (struct nvdp__pass). */
enum { NVDP__SITES_PER_LAYER = 3 };

/* `site`: 1 to 3. `width`: numbers per row, for masks of elements; 1 for those of rows. */
static inline struct nvdp__dropout nvdp__run_dropout(const struct nvdp__encoder_run *run,
                                                     float rate, size_t layer, uint32_t site,
                                                     size_t width) {
    return (struct nvdp__dropout){.rate = run->pass->training ? rate : 0,
                                  .seed = run->pass->seed,
                                  .step = run->pass->step,
                                  .site = (uint32_t)layer * NVDP__SITES_PER_LAYER + site,
                                  .first = run->pass->part.tokens * width};
}

/* Returns a declared LayerNorm over the tokens of the batch. */
static inline struct nvdp__norm nvdp__run_norm(const struct nvdp__encoder_run *run,
                                               const struct nvdp__dense *norm, float *mean,
                                               float *rstd) {
    struct nvdp__norm made =
        nvdp__dense_norm(run->params, norm, (float)run->bert->config.layer_norm_eps, mean, rstd);
    made.offset = run->batch->offset;
    return made;
}

/* Returns a declared dense layer over the tokens of the batch, which int8 encoding quantizes. */
static inline struct nvdp__linear nvdp__run_dense(const struct nvdp__encoder_run *run,
                                                  const struct nvdp__dense *dense) {
    struct nvdp__linear layer = nvdp__dense_linear(run->params, dense, run->batch->tokens);
    layer.int8 = true;
    layer.offset = run->batch->offset;
    return layer;
}

/* Returns x as the states of all tokens: [T, D] float32. */
static inline struct nvdp__tensor nvdp__run_state(const struct nvdp__encoder_run *run,
                                                  const float *x) {
    return nvdp__f32(run->batch->tokens, run->bert->config.hidden_size, x);
}

#endif
