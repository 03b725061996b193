/* A pretraining configuration: ranges, and its form on disk (pretrain.json's "config"). */
#ifndef NVDP_SRC_PRETRAIN_CONFIG_H
#define NVDP_SRC_PRETRAIN_CONFIG_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/pretrain.h>

/* Every field but resume, overwrite and the cache folder, which are of the call. */
json_t *nvdp__pretrain_config_json(const struct nvdp_pretrain_config *config);
/* The reverse, from `object` of the file `path`.  Strings stay owned by the object, the lists of
 * files by *lists (free()). */
nvdp_status nvdp__pretrain_config_from_json(struct nvdp_context *ctx, const char *path,
                                            const json_t *object,
                                            struct nvdp_pretrain_config *config,
                                            const char ***lists);
/* Zeros that stand for a rule are replaced by what it gives. */
void nvdp__pretrain_config_resolve(struct nvdp_pretrain_config *config);
/* BERT's configuration for a vocabulary of so many pieces; the configuration is resolved. */
struct nvdp_bert_config nvdp__pretrain_bert(const struct nvdp_pretrain_config *config,
                                            size_t pieces);

#endif
