/* All pairs' statistics without all pairs: the largest by bounds, the rest from drawn pairs. */
#ifndef NVDP_RDP_SAMPLED_H
#define NVDP_RDP_SAMPLED_H

#include "rdp/groups.h"

/* Whether the configuration's max_pairs is below the number of ordered pairs. */
nvdp_status nvdp__pairs_is_sampled(struct nvdp_context *ctx,
                                   const struct nvdp_posteriors *posteriors,
                                   const struct nvdp_pairs_config *config, bool *sampled);
/* O(max_pairs) divergences besides the search's. */
nvdp_status nvdp__pairs_sampled(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                const struct nvdp_pairs_config *config,
                                struct nvdp_pairs_summary *out);

#endif
