/* Adjacent texts in groups: any two texts of a group are adjacent, no two of different groups. */
#ifndef NVDP_RDP_GROUPS_H
#define NVDP_RDP_GROUPS_H

#include "rdp/bound.h"

struct nvdp__groups {
    size_t *text;              /* [N] group after group, ascending in each */
    struct nvdp__group *group; /* [count] of at least two texts each */
    size_t count;
    uint64_t pairs; /* ordered */
};
nvdp_status nvdp__groups_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                enum nvdp_adjacency adjacency, struct nvdp__groups *out);
void nvdp__groups_free(struct nvdp__groups *groups);
/* The ordered pair number `at` < pairs. */
void nvdp__groups_pair(const struct nvdp__groups *groups, uint64_t at, size_t *i, size_t *j);

#endif
