/* Statistics of a matrix of divergences. */
#ifndef NVDP_RDP_SUMMARY_H
#define NVDP_RDP_SUMMARY_H

#include "base/base.h"
#include "rdp/pairs.h"

/* matrix as nvdp__pairs_pass leaves it. At least one adjacent pair, else NVDP_ERR_INPUT. */
nvdp_status nvdp__pairs_summarize(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  const struct nvdp__pass *pass, const double *matrix,
                                  struct nvdp_pairs_summary *out);

/* What a divergence is divided by. */
enum nvdp__unit { NVDP__SUM, NVDP__PER_COMPONENT, NVDP__PER_COMPONENT_DIM };
/* Of the pairs of text i: finite ones have samples of one size. */
double nvdp__divisor(const struct nvdp_posteriors *set, enum nvdp__unit unit, size_t i);

/* Nearest rank: the value at place ceil(level n) of the n sorted values.  Reorders
 * values[first..n); values[0..first) must be the smallest already. */
double nvdp__quantile(size_t n, size_t first, double level, double *values, size_t *place);

#endif
