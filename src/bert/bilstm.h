/* The BiLSTM behind the encoder's functions: encoder.c calls these where the model's type is
 * NVDP_MODEL_BILSTM. */
#ifndef NVDP_SRC_BERT_BILSTM_H
#define NVDP_SRC_BERT_BILSTM_H

#include "bert/encoder.h"

/* Two layers of `units` a direction over the word embeddings of `from`. */
struct nvdp_bert_config nvdp__bilstm_config(const struct nvdp_bert_config *from, size_t units);

nvdp_status nvdp__bilstm_declare(struct nvdp__bert *bert, struct nvdp__params *params);
/* All but the embeddings, which are a checkpoint's. */
void nvdp__bilstm_initialise(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                             struct nvdp__params *params, uint64_t seed);
/* free() */
nvdp_status nvdp__bilstm_cache_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                      struct nvdp__bilstm_cache **out);
void nvdp__bilstm_plan(const struct nvdp__bert *bert, size_t max_tokens, size_t max_texts,
                       size_t longest, struct nvdp__arena *arena, struct nvdp__bert_cache *cache);
void nvdp__bilstm_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          const struct nvdp__pass *pass, struct nvdp__bert_cache *cache);
void nvdp__bilstm_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           struct nvdp__bert_cache *cache, const float *d_last);
void nvdp__bilstm_pooler_plan(const struct nvdp__bert *bert, size_t max_texts,
                              struct nvdp__arena *arena, struct nvdp__pooler *pooler);
void nvdp__bilstm_pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                                 const struct nvdp__batch *batch, const float *hidden,
                                 const struct nvdp__pooler *pooler);
void nvdp__bilstm_pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                                  const struct nvdp__batch *batch,
                                  const struct nvdp__pooler *pooler, const float *d_pooled,
                                  float *d_last);

#endif
