/* The part of a sender's model that readers may have: the sealed block and the classifier. */
#ifndef NVDP_SRC_SHARE_PUBLIC_MODEL_H
#define NVDP_SRC_SHARE_PUBLIC_MODEL_H

#include "model/model.h"

/* Refuses a directory that is not empty, unless `overwrite`. */
nvdp_status nvdp__public_model_check(struct nvdp_context *ctx, const char *directory,
                                     bool overwrite);
nvdp_status nvdp__public_model_write(const struct nvdp_model *model, const char *directory);

#endif
