/* Compiles the encoder's source again over the plain kernels (plain_encoder.h); the defines
 * rename its symbols. */
#define PLAIN_KERNELS
#include "plain_kernels.h"

#define nvdp__transformer_pass plain_transformer_pass
#define nvdp__pre_norm_pass plain_pre_norm_pass

#include "encoder/transformer.c"

#include "plain_encoder.h"

/* Encoders that are not of BERT's family run on their own pass. */
static const struct nvdp__encoder_pass *pass_of(const struct nvdp__bert *bert) {
    return bert->row->position_vectors ? &plain_transformer_pass : bert->row->pass;
}

void plain_bert_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    pass_of(bert)->forward(bert, dev, params, batch, pass, cache);
}

void plain_bert_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const struct nvdp__pass *pass, struct nvdp__bert_cache *cache,
                         float *d_last) {
    pass_of(bert)->backward(bert, dev, params, batch, pass, cache, d_last);
}

void plain_pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__batch *batch,
                          const float *hidden, const struct nvdp__pooler *pooler) {
    pass_of(bert)->pooler_forward(bert, dev, params, batch, hidden, pooler);
}

void plain_pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__pooler *pooler, float *d_pooled, float *d_last) {
    pass_of(bert)->pooler_backward(bert, dev, params, batch, pooler, d_pooled, d_last);
}
