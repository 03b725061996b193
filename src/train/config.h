/* A training configuration on disk: run.json's "config" object. */
#ifndef NVDP_SRC_TRAIN_CONFIG_H
#define NVDP_SRC_TRAIN_CONFIG_H

#include "base/base.h"
#include <jansson.h>
#include <nvdp/train.h>

/* Every field but resume and overwrite. */
json_t *nvdp__train_config_json(const struct nvdp_train_config *config);
/* The reverse, from `object` of the file `path`.  Strings stay owned by the object. */
nvdp_status nvdp__train_config_from_json(struct nvdp_context *ctx, const char *path,
                                         const json_t *object, struct nvdp_train_config *out);

#endif
