/* The attack on planted secrets: exposure.c asks the model, groups.c adds up. */
#ifndef NVDP_SRC_ATTACK_EXPOSURE_H
#define NVDP_SRC_ATTACK_EXPOSURE_H

#include "attack/options.h"

/* [*groups] for free(): by form, canary or not, place, occurrences.  `bits`: log2 of the candidates. */
nvdp_status nvdp__exposure_groups(struct nvdp_context *ctx, size_t n,
                                  const struct nvdp_secret_exposure *found, double bits,
                                  struct nvdp_exposure_group **out, size_t *groups);

#endif
