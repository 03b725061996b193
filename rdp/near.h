/* Polynomials for Gaussians whose variances are close, at one order. */
#ifndef NVDP_RDP_NEAR_H
#define NVDP_RDP_NEAR_H

#include "rdp/kernels.h"

/* How far the polynomials may be from the functions, relatively. */
#define NVDP__NEAR_ERROR 2e-8

/* Fits with `terms` coefficients for a |t| and |t| up to `reach` < 1.  False, with a limit that
 * admits nothing, where NVDP__NEAR_ERROR is missed (orders of 1e-3 and less). */
bool nvdp__near_fit(double order, int terms, double reach, struct nvdp__near_fit *fit);

#endif
