/* Options that are numbers, against their ranges. */
#ifndef NVDP_SRC_TRAIN_RANGES_H
#define NVDP_SRC_TRAIN_RANGES_H

#include "base/base.h"

struct nvdp__range {
    const char *field;
    double value, min, max;
};
/* Rows for a configuration's optimiser. */
#define NVDP__ADAMW_RANGES(c)                                                                      \
    {"lr", (c)->lr, 0, 10}, {"weight_decay", (c)->weight_decay, 0, 10},                            \
        {"warmup", (c)->warmup, 0, 1}, {"clip_norm", (c)->clip_norm, 0, 1e9},                      \
        {"beta1", (c)->beta1, 0, 0.999999}, {"beta2", (c)->beta2, 0, 0.999999999}, {               \
        "adam_eps", (c)->adam_eps, 1e-30, 1                                                        \
    }
/* NVDP_ERR_ARGUMENT for the first value outside its range; NaN is in none. */
nvdp_status nvdp__check_ranges(struct nvdp_context *ctx, size_t count,
                               const struct nvdp__range *range);

#endif
