/* The attack on planted secrets: exposure.c asks the model, groups.c averages over secrets of one kind. */
#ifndef NVDP_SRC_ATTACK_EXPOSURE_H
#define NVDP_SRC_ATTACK_EXPOSURE_H

#include "attack/options.h"

/* Groups secrets by form, canary or not, place and occurrences.  `bits` is log2 of the number of candidates.  The
 * caller frees *out [*groups]. */
nvdp_status nvdp__exposure_groups(struct nvdp_context *ctx, size_t n,
                                  const struct nvdp_secret_exposure *found, double bits,
                                  struct nvdp_exposure_group **out, size_t *groups);

#endif
