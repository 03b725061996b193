/* The largest divergence of any two posteriors within bounds, which certificates sum (worst.c). */
#ifndef NVDP_RDP_WORST_H
#define NVDP_RDP_WORST_H

#include "base/base.h"

/* Gaussians in `dim` dimensions whose means have norm at most `radius` and whose variances lie
 * in [low, high]: an upper bound, attained for orders >= 1. order >= 1; +inf if v may be 0. */
double nvdp__worst_gaussian(double order, size_t dim, double radius, double low, double high);

/* Dirichlets with one component of pseudo-count `fixed` and m others in [low, high], kappa
 * weights each: a proven upper bound, at most 1e-3 above the largest; *found is attained by two
 * Dirichlets. order >= 1; +inf if a c_i may be 0. */
double nvdp__worst_dirichlet(double order, size_t m, double fixed, double low, double high,
                             int kappa, double *found);

/* The order from which on both are infinite: the largest is s + 1, s = low/(high - low). */
double nvdp__worst_order(double low, double high);

#endif
