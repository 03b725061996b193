/* Bayesian DP, internal: the arithmetic without a context. */
#ifndef NVDP_RDP_BDP_H
#define NVDP_RDP_BDP_H

#include "base/base.h"
#include <nvdp/privacy.h>

nvdp_status nvdp__bdp_check(struct nvdp_context *ctx, const struct nvdp_bdp_config *config);
/* From X_j = scale x[j] >= 0, at a valid configuration; m >= 2. */
struct nvdp_bdp_cost nvdp__bdp_cost(const struct nvdp_bdp_config *config, double moment,
                                    double scale, size_t m, const double *x);
/* [calls cost - log(delta - (1 - (1-gamma)^calls))] / moment */
double nvdp__bdp_epsilon(const struct nvdp_bdp_config *config, double moment, int calls,
                         double cost);

#endif
