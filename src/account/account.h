/* Internal parts of the accountant: account.c with Renyi divergences, and pld.c with the privacy
 * loss distribution. */
#ifndef NVDP_SRC_ACCOUNT_ACCOUNT_H
#define NVDP_SRC_ACCOUNT_ACCOUNT_H

#include "base/base.h"
#include <math.h>
#include <nvdp/account.h>

/* log E_Q (P/Q)^order of a subsampled Gaussian step (nvdp_renyi_subsampled), order > 1. */
double nvdp__log_moment(double order, double noise, double rate);
/* log p/q at z = noise t: log(1 + u), u = rate (e^c - 1), c = t/noise - 1/(2 noise^2). */
static inline double nvdp__step_loss(double t, double noise, double rate) {
    const double c = (t - 1 / (2 * noise)) / noise;
    return rate == 1 ? c : c < 700 ? log1p(rate * expm1(c)) : c + log(rate);
}

/* Epsilon >= 0 at delta from the privacy loss distribution (pld.c). */
nvdp_status nvdp__pld_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double delta,
                              double *epsilon);
/* delta at epsilon >= 0. delta[0]: the example is absent under P; delta[1]: present. */
nvdp_status nvdp__pld_deltas(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                             double epsilon, double delta[2]);

#endif
