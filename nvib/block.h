/* The sealed block: denoising attention without a residual, then a feed-forward layer, then
 * pooling.  It reads the sample and nothing else (docs/nvib.md, section "Sealed block"). */
#ifndef NVDP_NVIB_BLOCK_H
#define NVDP_NVIB_BLOCK_H

#include "bottleneck/bottleneck.h"

struct nvdp__block {
    size_t dim; /* p */
    size_t heads;
    size_t inner; /* feed-forward width */
    enum nvdp_activation act;
    float eps;           /* LayerNorm */
    enum nvdp_pool pool; /* resolved: first, mean, weighted */
    int kappa;
    bool clean_query; /* forward is given clean queries */
    float *d_clean;   /* [R, p] where backward sets their gradient, or NULL */
    struct nvdp__dense query, key, value, attention_output, attention_norm, intermediate, output,
        output_norm;
    nvdp__operand *x_room, *dy_room; /* for what products read, rounded: any of its tensors */
    /* activations, index tables: see block.c */
    struct nvdp__block_cache *cache;
};

/* Declares "nvdp.attention.self.query.weight" and so on. */
nvdp_status nvdp__block_declare(struct nvdp__block *block, struct nvdp__params *params);
void nvdp__block_release(struct nvdp__block *block);
/* Normal(0, sd); LayerNorm 1 / 0. */
void nvdp__block_initialise(const struct nvdp__block *block, const struct nvdp__device *dev,
                            struct nvdp__params *params, double sd, uint64_t seed);
/* Room for so many query rows is planned. */
size_t nvdp__block_queries(const struct nvdp__block *block, const struct nvdp__device *dev,
                           size_t max_rows, size_t max_texts);
/* For at most max_rows sample rows of max_texts texts. */
nvdp_status nvdp__block_plan(struct nvdp__block *block, const struct nvdp__device *dev,
                             size_t max_rows, size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena);
/* *pooled [texts, p].  clean_query [R, p] (NULL: from z) is for the leaking comparison variant
 * only. NVDP_ERR_ARGUMENT for a sample outside the plan or with a text too short for its pool. */
nvdp_status nvdp__block_forward(struct nvdp__block *block, const struct nvdp__device *dev,
                                const struct nvdp__params *params,
                                const struct nvdp__sample *sample, const float *clean_query,
                                float **pooled);
/* After the forward of the same sample.  Gradients of parameters are added; dz [R, p] and dlog_pi
 * [R] are set (NULL both: skip). */
void nvdp__block_backward(struct nvdp__block *block, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__sample *sample,
                          const float *d_pooled, float *dz, float *dlog_pi);

#endif
