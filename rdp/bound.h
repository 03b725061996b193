/* Upper bounds of D(i || j) that are a number of text i plus a number of text j. */
#ifndef NVDP_RDP_BOUND_H
#define NVDP_RDP_BOUND_H

#include "rdp/pair.h"

/* Texts any two of which are adjacent and not apart by their public length. */
struct nvdp__group {
    const size_t *text; /* [n] */
    size_t n;
};

/* A pair that is +inf, found from the extremes of every dimension and pseudo-count: where none is
 * found no pair of the group is.  The decision is that of the exact form. */
nvdp_status nvdp__group_infinite(const struct nvdp__pairs *pairs, double order,
                                 const struct nvdp__group *group, bool *found, size_t *p,
                                 size_t *q);

/* The divergence is at most mean + gap + weights, and each of these at most from[set][i] +
 * to[set][j] for every one of its sets. */
enum { NVDP__MEAN_SETS = 9, NVDP__GAP_SETS = 3, NVDP__WEIGHT_SETS = 2 };
enum { NVDP__BOUND_SETS = NVDP__MEAN_SETS + NVDP__GAP_SETS + NVDP__WEIGHT_SETS };

struct nvdp__bounds {
    size_t n;
    double *from; /* [sets, n] */
    double *to;   /* [sets, n] */
};

/* For a finite order at which no pair of the group is infinite. */
nvdp_status nvdp__bounds_create(const struct nvdp__pairs *pairs, double order,
                                const struct nvdp__group *group, struct nvdp__bounds *out);
void nvdp__bounds_free(struct nvdp__bounds *bounds);
/* Bounds of the i-th text of the group as P (as Q: `as_q`) against each: gaussian[n] (mean + gap),
 * weights[n]. */
void nvdp__bounds_row(const struct nvdp__bounds *bounds, size_t i, bool as_q, double *gaussian,
                      double *weights);

#endif
