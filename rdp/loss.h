/* The privacy loss L = log p(y)/q(y), y ~ P, of independent parts, and its sum.
 *
 * The loss of a part is rounded down to a grid of step h, so the sum S of n parts satisfies S <=
 * L < S + n h, and
 *
 *     delta(eps) = E (1 - e^(eps - L))_+  lies between that of S and that of S + n h.
 *
 * Masses are tilted by e^(k L) and divided by their sum e^M(k). The sum of parts, by Fourier
 * transforms, is then accurate at eps instead of where most of the mass is. The tails that were
 * cut off and the rounding of the transforms are a tilted mass `slack`, which contributes at
 * most slack e^(M - k eps) to delta(eps). */
#ifndef NVDP_RDP_LOSS_H
#define NVDP_RDP_LOSS_H

#include "base/array.h"
#include "rdp/divergence.h"

/* nvdp_renyi_laplace() of n distances by interpolation, with an error of at most 1e-14. */
nvdp_status nvdp__renyi_laplaces(struct nvdp_context *ctx, double order, size_t dim, size_t n,
                                 const double *distance, double *out);
/* K_{d/2}(z) / K_{d/2-1}(z), modified Bessel functions; z > 0. */
double nvdp__laplace_k_ratio(size_t dim, double z);

/* One part; free(mass). */
struct nvdp__loss_part {
    int64_t first;     /* [n] tilted, with sum 1 - cut */
    size_t n;          /* 0: the loss is 0 */
    double *mass;      /* [n] tilted, of sum 1 - cut */
    double cut;        /* mass cut off */
    double log_mean;   /* M(k) of the rounded finite losses */
    double log_finite; /* log P(L < inf), -inf if no loss is finite */
};
/* Finishes a part from mass[0..n), e^scale times the tilted mass at the grid's points.
 * Normalizes the sum to 1 and cuts off at most `cut` at either end; `tails`, on the same scale,
 * is the mass outside mass[]. If the sum is 0 or NaN, nothing is known: epsilon is only below
 * infinity, delta at most 1. */
void nvdp__loss_finish(struct nvdp__loss_part *part, double scale, double tails, double cut);
/* M(k), k > 0, of the finite losses of two distributions over n outcomes; -inf if none is
 * finite. */
double nvdp__loss_log_mean(size_t n, const double *log_p, const double *log_q, double k);
/* Makes their part; at most `cut` is cut off at either end. */
nvdp_status nvdp__loss_discrete(struct nvdp_context *ctx, size_t n, const double *log_p,
                                const double *log_q, double k, double step, double cut,
                                struct nvdp__loss_part *out);
/* Makes the part of Laplace noise in R^d at distance s = eta |x - x'|. */
nvdp_status nvdp__loss_laplace(struct nvdp_context *ctx, size_t dim, double s, double k,
                               double step, double cut, struct nvdp__loss_part *out);

/* The sum of parts; release with nvdp__loss_free. */
struct nvdp__loss {
    double k, step;
    double log_mean, log_finite, slack; /* of all parts */
    double width;                       /* n h */
    int64_t first;
    size_t n;
    struct nvdp__memory memory; /* of the arrays */
    double *above, *weighted;   /* [n] e^(k i h) sum_{j >= i} p_j e^(-k j h), the same with k+1 */
};
nvdp_status nvdp__loss_sum(struct nvdp_context *ctx, size_t parts,
                           const struct nvdp__loss_part *part, double k, double step,
                           struct nvdp__loss *out);
void nvdp__loss_free(struct nvdp__loss *loss);
/* The interval that contains delta(eps), eps >= 0. */
struct nvdp_interval nvdp__loss_delta(const struct nvdp__loss *loss, double epsilon);
/* The interval that contains the smallest eps >= 0 with delta(eps) <= delta; +inf if the loss is
 * infinite with more than delta. */
struct nvdp_interval nvdp__loss_epsilon(const struct nvdp__loss *loss, double delta);

#endif
