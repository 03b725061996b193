/* Hidden states of texts from a plain encoder, in a file or in memory. */
#ifndef NVDP_SRC_BERT_ENCODE_H
#define NVDP_SRC_BERT_ENCODE_H

#include "base/base.h"
#include <nvdp/bert.h>
#include <nvdp/dataset.h>
#include <nvdp/encoder.h>
#include <nvdp/evaluate.h>

/* Fails for a model that must not be used as a plain encoder; called with the path of its
 * config.json before weights are read. */
typedef nvdp_status nvdp__encoder_accept(struct nvdp_context *ctx, const char *path);
/* nvdp_encode() and nvdp_encoder_load() for the models that `accept` allows. */
nvdp_status nvdp__encode_file(struct nvdp_context *ctx, const struct nvdp_config *config,
                              nvdp__encoder_accept *accept, struct nvdp_encoding *out);
nvdp_status nvdp__encoder_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 nvdp__encoder_accept *accept, struct nvdp_encoder **out);

#endif
