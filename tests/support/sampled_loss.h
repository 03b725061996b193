/* Privacy losses by drawing samples: the plain way, to compare nvdp_exact_* with. */
#ifndef NVDP_TESTS_SUPPORT_SAMPLED_LOSS_H
#define NVDP_TESTS_SUPPORT_SAMPLED_LOSS_H

#include "base/random.h"

#include <nvdp/rdp.h>
#include <stddef.h>

/* Two texts' distributions, [0] the one that samples are drawn from: n Gaussian dimensions, m pseudo-counts. */
struct drawn_pair {
    size_t n, m;
    const double *mu[2], *var[2], *alpha[2];
};

/* `count` draws of log P(S)/Q(S), S ~ P. */
void sampled_losses(const struct drawn_pair *pair, struct nvdp__stream *stream, size_t count,
                    double *loss);

/* The point's delta and tpr are the losses' within four standard errors, estimated from them, and `floor`. */
bool sampled_losses_agree(const struct nvdp_exact_point *point, size_t count, const double *loss,
                          double floor);
#endif
