/* The encoder on the plain kernels (plain_kernels.h): the encoder's source is compiled again with these kernels. */
#ifndef NVDP_TESTS_SUPPORT_PLAIN_ENCODER_H
#define NVDP_TESTS_SUPPORT_PLAIN_ENCODER_H

#include "encoder/encoder.h"

void plain_bert_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass, struct nvdp__bert_cache *cache);
void plain_bert_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const struct nvdp__pass *pass, struct nvdp__bert_cache *cache,
                         float *d_last);
void plain_pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          const float *hidden, const struct nvdp__pooler *pooler);
void plain_pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__pooler *pooler, float *d_pooled, float *d_last);

#endif
