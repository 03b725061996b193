/* Gaussians over long flat arrays, both directions at once. */
#ifndef NVDP_RDP_FAST_H
#define NVDP_RDP_FAST_H

#include "rdp/near.h"
#include <nvdp/rdp.h>

/* The most dimensions of one call: a block of the cache. */
enum { NVDP__CHUNK = 768 };

/* What depends on the order alone. */
struct nvdp__gaussian_plan {
    double order; /* as nvdp__order gives it */
    enum nvdp_pairs_arithmetic arithmetic;
    const struct nvdp__kernels *kernels;
    struct nvdp__near_fit near, middle; /* fast arithmetic only */
};
struct nvdp__gaussian_plan nvdp__gaussian_plan(double order, enum nvdp_pairs_arithmetic arithmetic);

/* Some dimensions of one text. */
struct nvdp__block {
    const double *mu, *var; /* [n] */
    double logs;            /* log of the product of the variances */
    double most;            /* no variance is above */
    double spread;          /* no |log var| is above */
};
/* log prod var. */
double nvdp__log_product(size_t n, const double *var);

/* value[0] = D(P||Q), value[1] = D(Q||P) where wanted, n <= NVDP__CHUNK.  The same infinities as
 * nvdp__gaussian; exact arithmetic: within 1e-12 of its value, fast: within 2e-7.  *small is a
 * hint from the pair's last block to its next: begin with false. */
void nvdp__gaussian_both(const struct nvdp__gaussian_plan *plan, size_t n,
                         const struct nvdp__block *p, const struct nvdp__block *q,
                         const bool wanted[2], bool *small, double value[2]);

#endif
