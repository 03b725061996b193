/* The privacy loss of independent parts, and its sum: L = log p(y)/q(y), y ~ P.
 *
 * A part's loss is rounded down to a grid of step h, so that the sum S of n parts has S <= L < S + n h, and
 *
 *     delta(eps) = E (1 - e^(eps - L))_+        lies between that of S and that of S + n h.
 *
 * Masses are tilted by e^(k L) and divided by their sum e^M(k), so that the sum of parts, by Fourier
 * transforms, is accurate where eps is and not where most of the mass is; what tails were cut off and the
 * rounding of the transforms, a tilted mass `slack`, is at most slack e^(M - k eps) of delta(eps). */
#ifndef NVDP_RDP_LOSS_H
#define NVDP_RDP_LOSS_H

#include "base/base.h"
#include "rdp/divergence.h"

/* nvdp_renyi_laplace() of n distances, within 1e-14 of it: interpolated. */
nvdp_status nvdp__renyi_laplaces(struct nvdp_context *ctx, double order, size_t dim, size_t n,
                                 const double *distance, double *out);
/* K_{d/2}(z) / K_{d/2-1}(z), modified Bessel functions; z > 0. */
double nvdp__laplace_k_ratio(size_t dim, double z);

/* One part; free(mass). */
struct nvdp__loss_part {
    int64_t first;     /* mass[i] is at (first + i) h */
    size_t n;          /* 0: the loss is 0 */
    double *mass;      /* [n] tilted, of sum 1 - cut */
    double cut;        /* what was cut off */
    double log_mean;   /* M(k) of the rounded finite losses */
    double log_finite; /* log P(L < inf), -inf where there is no finite loss */
};
/* mass[0..n), times e^scale the tilted one at the grid's points, becomes 1 in sum; at most `cut` is cut off at
 * either end, beside what the tails that are not among it have, on the same scale.  A sum that is 0 or no number tells
 * nothing: epsilon is below infinity, delta at most 1. */
void nvdp__loss_finish(struct nvdp__loss_part *part, double scale, double tails, double cut);
/* M(k), k > 0, of two distributions over n outcomes, of their finite losses; -inf where none is. */
double nvdp__loss_log_mean(size_t n, const double *log_p, const double *log_q, double k);
/* Their part; at most `cut` is cut off at either end. */
nvdp_status nvdp__loss_discrete(struct nvdp_context *ctx, size_t n, const double *log_p,
                                const double *log_q, double k, double step, double cut,
                                struct nvdp__loss_part *out);
/* That of Laplace noise in R^d at distance s = eta |x - x'|. */
nvdp_status nvdp__loss_laplace(struct nvdp_context *ctx, size_t dim, double s, double k,
                               double step, double cut, struct nvdp__loss_part *out);

/* The sum; _free. */
struct nvdp__loss {
    double k, step;
    double log_mean, log_finite, slack; /* of all parts */
    double width;                       /* n h */
    int64_t first;
    size_t n;
    double *above, *weighted; /* [n] e^(k i h) sum_{j >= i} p_j e^(-k j h), the same with k+1 */
};
nvdp_status nvdp__loss_sum(struct nvdp_context *ctx, size_t parts,
                           const struct nvdp__loss_part *part, double k, double step,
                           struct nvdp__loss *out);
void nvdp__loss_free(struct nvdp__loss *loss);
/* What delta(eps) lies in, eps >= 0. */
struct nvdp_interval nvdp__loss_delta(const struct nvdp__loss *loss, double epsilon);
/* What the least eps >= 0 with delta(eps) <= delta lies in; +inf where the loss is, with more than delta. */
struct nvdp_interval nvdp__loss_epsilon(const struct nvdp__loss *loss, double delta);

#endif
