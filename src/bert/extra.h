/* One more layer on top of an encoder, for mechanisms that have one: without dropout, its weights
 * apart from the encoder's. */
#ifndef NVDP_SRC_BERT_EXTRA_H
#define NVDP_SRC_BERT_EXTRA_H

#include "bert/encoder.h"

struct nvdp__extra {
    struct nvdp__bert bert; /* of one layer, without embeddings */
    struct nvdp__bert_cache cache;
};

/* A layer of the encoder's sizes, "<prefix>.attention.self.query.weight" and so on; a checkpoint
 * may lack it. */
nvdp_status nvdp__extra_declare(struct nvdp__extra *extra, const struct nvdp__bert *below,
                                const char *prefix, struct nvdp__params *params);
/* Harmless on a zeroed struct. */
void nvdp__extra_release(struct nvdp__extra *extra);
/* A copy of the last layer below. */
void nvdp__extra_initialise(const struct nvdp__extra *extra, const struct nvdp__bert *below,
                            const struct nvdp__device *dev, struct nvdp__params *params);
/* As nvdp__bert_plan. */
void nvdp__extra_plan(struct nvdp__extra *extra, const struct nvdp__device *dev, size_t max_tokens,
                      size_t max_texts, size_t longest, bool training, struct nvdp__arena *arena);
/* The layer's output [T, D] from the encoder's, `hidden`, which stays untouched and is read again
 * by backward; both have room for nvdp__operand_rows(T) rows. */
const float *nvdp__extra_forward(struct nvdp__extra *extra, const struct nvdp__device *dev,
                                 const struct nvdp__params *params, const struct nvdp__batch *batch,
                                 const float *hidden);
/* Once after a forward pass.  d [T, D] with room as above: the gradient of the output becomes that
 * of `hidden`. */
void nvdp__extra_backward(struct nvdp__extra *extra, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          float *d);

#endif
