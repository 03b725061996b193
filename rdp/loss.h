/* The loss of two Laplace distributions, internal. */
#ifndef NVDP_RDP_LOSS_H
#define NVDP_RDP_LOSS_H

#include "rdp/divergence.h"

/* K_{d/2}(z) / K_{d/2-1}(z), modified Bessel functions; z > 0. */
double nvdp__laplace_k_ratio(size_t dim, double z);

#endif
