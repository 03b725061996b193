/* The largest divergence of any two posteriors within bounds: what certificates add up (worst.c). */
#ifndef NVDP_RDP_WORST_H
#define NVDP_RDP_WORST_H

#include "base/base.h"

/* Of Gaussians in `dim` dimensions whose means have norm `radius` at most and whose variances lie in
 * [low, high]: at least the largest, equal to it for orders >= 1.  order >= 1; +inf where v may be 0. */
double nvdp__worst_gaussian(double order, size_t dim, double radius, double low, double high);

/* Of Dirichlets of one component with the pseudo-count `fixed` and m others in [low, high], kappa weights
 * each: proven, at most 1e-3 above the largest; *found is that of two given Dirichlets.  order >= 1; +inf where a
 * c_i may be 0. */
double nvdp__worst_dirichlet(double order, size_t m, double fixed, double low, double high,
                             int kappa, double *found);

/* The order from which on the two are infinite: the largest s + 1, s = low/(high - low). */
double nvdp__worst_order(double low, double high);

#endif
