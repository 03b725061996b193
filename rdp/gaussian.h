/* Gaussians, the plain form: what every faster form is tested against and falls back on. */
#ifndef NVDP_RDP_GAUSSIAN_H
#define NVDP_RDP_GAUSSIAN_H

#include <stddef.h>

/* As nvdp_renyi_gaussian, for an order that went through nvdp__order and valid parameters. */
double nvdp__gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                      const double *mu_q, const double *var_q);

#endif
