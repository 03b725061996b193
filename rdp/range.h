/* What the texts of a group span in every dimension of every component. */
#ifndef NVDP_RDP_RANGE_H
#define NVDP_RDP_RANGE_H

#include "rdp/bound.h"

/* Over the group's texts, padding included where a text is shorter than the longest. */
struct nvdp__span {
    double low, high, mean;
};
struct nvdp__ranges {
    size_t rows; /* of the longest text */
    size_t dim;
    struct nvdp__span *mu;     /* [rows, dim] */
    struct nvdp__span *logvar; /* [rows, dim] */
    struct nvdp__span *var;    /* [rows, dim] */
    struct nvdp__span *alpha;  /* [rows]; NULL where there are none */
};
nvdp_status nvdp__ranges_create(const struct nvdp__pairs *pairs, const struct nvdp__group *group,
                                struct nvdp__ranges *out);
void nvdp__ranges_free(struct nvdp__ranges *ranges);

#endif
