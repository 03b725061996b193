/* What ran where, for the records that runs leave. */
#ifndef NVDP_SRC_TRAIN_MACHINE_H
#define NVDP_SRC_TRAIN_MACHINE_H

#include "base/base.h"
#include <jansson.h>

json_t *nvdp__software_json(void);
json_t *nvdp__hardware_json(const struct nvdp_context *ctx);

#endif
