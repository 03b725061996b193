/* Orders of a Renyi divergence. */
#ifndef NVDP_RDP_ORDER_H
#define NVDP_RDP_ORDER_H

#include <math.h>

/* NaN where the order is not > 0.  Orders from 1e100 on are answered with the max-divergence, which
 * is never smaller (the divergence does not decrease in its order) and where the two agree to
 * rounding. */
static inline double nvdp__order(double order) {
    if (!(order > 0)) return NAN;
    return order >= 1e100 ? INFINITY : order;
}

#endif
