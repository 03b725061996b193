/* Some of the texts of a set of posteriors, drawn. */
#ifndef NVDP_RDP_SUBSET_H
#define NVDP_RDP_SUBSET_H

#include "base/base.h"
#include <nvdp/posteriors.h>

/* Streams of this room (NVDP__PURPOSE_MEASURE); export takes texts from 0. */
enum { NVDP__EPOCH_PAIRS = 1, NVDP__EPOCH_TEXTS = 2 };

/* A uniformly drawn subset of `texts` texts, in their order; index[texts] their numbers. */
nvdp_status nvdp__posteriors_draw(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                  size_t texts, uint64_t seed, size_t *index,
                                  struct nvdp_posteriors **out);

#endif
