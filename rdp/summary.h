/* Statistics of a matrix of divergences. */
#ifndef NVDP_RDP_SUMMARY_H
#define NVDP_RDP_SUMMARY_H

#include "base/base.h"
#include <nvdp/rdp.h>

/* matrix as nvdp__pairs_pass leaves it. At least one adjacent pair, else NVDP_ERR_INPUT. */
nvdp_status nvdp__pairs_summarize(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  double order, enum nvdp_adjacency adjacency, const double *matrix,
                                  struct nvdp_pairs_summary *out);

/* Nearest rank: the value at place ceil(level n) of the n sorted values.  Reorders
 * values[first..n); values[0..first) must be the smallest already. */
double nvdp__quantile(size_t n, size_t first, double level, double *values, size_t *place);

#endif
