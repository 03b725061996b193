/* Options that are numbers, against their ranges. */
#ifndef NVDP_SRC_TRAIN_RANGES_H
#define NVDP_SRC_TRAIN_RANGES_H

#include "base/base.h"

struct nvdp__range {
    const char *field;
    double value, min, max;
};
/* NVDP_ERR_ARGUMENT for the first value outside its range; NaN is in none. */
nvdp_status nvdp__check_ranges(struct nvdp_context *ctx, size_t count,
                               const struct nvdp__range *range);

#endif
