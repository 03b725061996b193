/* Privacy losses from drawn samples, a simple method for comparison with nvdp_exact_*. */
#ifndef NVDP_TESTS_SUPPORT_SAMPLED_LOSS_H
#define NVDP_TESTS_SUPPORT_SAMPLED_LOSS_H

#include "base/random.h"

#include <nvdp/rdp.h>
#include <stddef.h>

/* The distributions of two texts: n Gaussian dimensions, m pseudo-counts. Samples are drawn from text [0]. */
struct drawn_pair {
    size_t n, m;
    const double *mu[2], *var[2], *alpha[2];
};

/* Draws `count` values of log P(S)/Q(S), S ~ P. */
void sampled_losses(const struct drawn_pair *pair, struct nvdp__stream *stream, size_t count,
                    double *loss);

/* Returns whether the point's delta and tpr agree with the losses within four standard errors, which
 * are estimated from the losses, plus `floor`. */
bool sampled_losses_agree(const struct nvdp_exact_point *point, size_t count, const double *loss,
                          double floor);
#endif
