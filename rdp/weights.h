/* The weights' part of a pair's divergences, from what is kept of each text. */
#ifndef NVDP_RDP_WEIGHTS_H
#define NVDP_RDP_WEIGHTS_H

#include "base/base.h"
#include "rdp/fast.h"

/* Of one text. */
struct nvdp__text_weights {
    double total;       /* of its pseudo-counts, prior and padding included */
    double log_gammas;  /* kappa sum over tokens lnG(alpha/kappa) */
    double total_gamma; /* lnG(total) */
    double total_psi;   /* psi(total) */
    double size;        /* what the rounding of the sums is relative to */
};
/* Of all texts, at any order. */
struct nvdp__weights {
    const struct nvdp_posteriors *set;
    double *alpha;                    /* [T] alpha/kappa */
    double *psi;                      /* [T] its digamma */
    double pad_psi;                   /* that of pad_alpha/kappa */
    struct nvdp__text_weights *texts; /* [N] */
};
/* Nothing where the posteriors have no weights; free what was made in any case. */
nvdp_status nvdp__weights_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                 struct nvdp__weights *out);
void nvdp__weights_free(struct nvdp__weights *weights);

/* Whether a common far pseudo-count of D(i || j) is clearly below 0: a cheap way to +inf.  Edges
 * are left to those who compute the value. */
bool nvdp__weights_outside(const struct nvdp__weights *weights, double order, size_t i, size_t j);

/* value[0] = D_dirichlet(i || j), value[1] the other direction, where wanted.  gaussian[] holds
 * the rest of the divergence: accuracy (that of the plan's arithmetic) is relative to the sum. */
void nvdp__weights_both(const struct nvdp__gaussian_plan *plan, const struct nvdp__weights *weights,
                        size_t i, size_t j, const bool wanted[2], const double gaussian[2],
                        double value[2]);

#endif
