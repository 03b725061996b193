/* Gaussians, the fast form over long flat arrays. */
#ifndef NVDP_RDP_FAST_H
#define NVDP_RDP_FAST_H

#include <stddef.h>

/* How many dimensions one call of nvdp__gaussian_fast should be given: a chunk of the cache. */
enum { NVDP__CHUNK = 1024 };

/* As nvdp__gaussian (same infinities; within 1e-12 of its value), n <= NVDP__CHUNK. */
double nvdp__gaussian_fast(double order, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q);

#endif
