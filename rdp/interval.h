/* Confidence intervals, each side failing with at most half of what the confidence leaves. */
#ifndef NVDP_RDP_INTERVAL_H
#define NVDP_RDP_INTERVAL_H

#include <nvdp/rdp.h>

/* Of a mean from n values: Student's t, which supposes a mean near normal; NaN for n < 2. */
struct nvdp_interval nvdp__interval_student(double confidence, size_t n, double mean, double sd);
/* The same for values in [0, most], whatever their distribution; n < 2: [0, most]. */
struct nvdp_interval nvdp__interval_bernstein(double confidence, size_t n, double mean, double sd,
                                              double most);
/* Of a quantile, as places in the n sorted values; low may be 0 (nothing is below) and high n + 1
 * (nothing is above): places count from 1. */
void nvdp__interval_ranks(double confidence, size_t n, double level, size_t *low, size_t *high);
/* Of a share of which `hits` of n were found. */
struct nvdp_interval nvdp__interval_share(double confidence, size_t n, size_t hits);

#endif
