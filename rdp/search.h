/* The largest divergence of a group of texts, without all pairs' sums. */
#ifndef NVDP_RDP_SEARCH_H
#define NVDP_RDP_SEARCH_H

#include "rdp/bound.h"

struct nvdp__largest {
    double value; /* in exact arithmetic */
    size_t p, q;
    size_t summed; /* pairs whose full sum was computed */
};

/* n >= 2.  Exact: every pair that is not summed is bounded by one that is.  to_pad and from_pad are
 * left at this order.  The same result on any number of threads.  O(n^2) additions, and the sums of
 * the pairs that no bound rules out. */
nvdp_status nvdp__pairs_largest(struct nvdp__pairs *pairs, double order,
                                const struct nvdp__group *group, struct nvdp__largest *out);

#endif
