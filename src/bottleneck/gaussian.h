/* What mechanisms with Gaussians share: the means' initial map, the clip set, rows of a posterior.
 */
#ifndef NVDP_SRC_BOTTLENECK_GAUSSIAN_H
#define NVDP_SRC_BOTTLENECK_GAUSSIAN_H

#include "bottleneck/bottleneck.h"

/* clip.c: the clip set in float, its bounds rounded inwards; whether there is one. */
struct nvdp__clip nvdp__clip_set(const struct nvdp_clip_config *config);
bool nvdp__clips(const struct nvdp_clip_config *config);

/* principal.c: `map` [p, D] (host), rows orthonormal: the leading principal directions of `hidden`
 * [rows, D] (host) about its mean, largest first; a random orthonormal map from `seed` where rows <
 * p. */
nvdp_status nvdp__principal_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                                const float *hidden, uint64_t seed, float *map);

/* gaussian.c */
/* The layer [p, D] of the means: mu_tau times the identity, bias 0; for p < D the principal
 * directions of `hidden` [rows, D] (tensor), about its mean and scaled by one factor such that the
 * means' coordinates have root mean square mu_tau on it.  With fewer than p rows: mu_tau times a
 * random orthonormal map, bias 0. */
nvdp_status nvdp__means_initialise(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden);
/* 2 log(stdev_tau), moved inside the clip set where there is one: outside of it a clamp has no
 * gradient, and the variance would never move again. */
double nvdp__start_logvar(const struct nvdp_nvib_config *config);
/* Rows [0, rows) of mu and logvar [rows, out->dim] (tensor) into rows [first_row, +rows) of out;
 * stage: room for a row (host). */
void nvdp__copy_gaussians(const struct nvdp__device *dev, size_t rows, const float *mu,
                          const float *logvar, float *stage, size_t first_row,
                          struct nvdp_posteriors *out);

#endif
