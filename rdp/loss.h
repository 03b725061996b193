/* The privacy loss L = log p(y)/q(y), y ~ P, of independent parts, and the sum of these losses.
 *
 * The loss of a part is rounded down to a grid of step h, so the sum S of n parts satisfies S <=
 * L < S + n h, and
 *
 *     delta(eps) = E (1 - e^(eps - L))_+  lies between delta of S and delta of S + n h.
 *
 * Masses are tilted by e^(k L) and divided by their sum e^M(k). Fourier transforms compute the
 * sum of parts, which is then accurate at eps instead of where most of the mass is. The tails
 * that were cut off and the rounding of the transforms are a tilted mass `slack`, which
 * contributes at most slack e^(M - k eps) to delta(eps). */
#ifndef NVDP_RDP_LOSS_H
#define NVDP_RDP_LOSS_H

#include "base/array.h"
#include "rdp/divergence.h"

/* Computes nvdp_renyi_laplace() of n distances by interpolation, with an error of at most 1e-14. */
nvdp_status nvdp__renyi_laplaces(struct nvdp_context *ctx, double order, size_t dim, size_t n,
                                 const double *distance, double *out);
/* K_{d/2}(z) / K_{d/2-1}(z), modified Bessel functions; z > 0. */
double nvdp__laplace_k_ratio(size_t dim, double z);

/* The loss of one part on the grid; the caller frees `mass` with free(). */
struct nvdp__loss_part {
    int64_t first;     /* cell i has the loss (first + i) step */
    size_t n;          /* number of cells; 0 if the loss is 0 */
    double *mass;      /* [n] tilted masses, whose sum is 1 - cut */
    double cut;        /* tilted mass that was cut off */
    double log_mean;   /* M(k) of the rounded finite losses */
    double log_finite; /* log P(L < inf); -inf if no loss is finite */
};
/* Finishes a part from mass[0..n), e^scale times the tilted mass at the grid's points.
 * Normalizes the sum to 1 and cuts off at most `cut` at either end; `tails`, on the same scale,
 * is the mass outside mass[]. If the sum is 0 or NaN, nothing is known: the upper bounds are
 * +inf for epsilon and 1 for delta. */
void nvdp__loss_finish(struct nvdp__loss_part *part, double scale, double tails, double cut);
/* Returns M(k), k > 0, of the finite losses of two distributions over n outcomes; -inf if no
 * loss is finite. */
double nvdp__loss_log_mean(size_t n, const double *log_p, const double *log_q, double k);
/* Makes the part of two distributions over n outcomes; at most `cut` of the mass is cut off at
 * either end. */
nvdp_status nvdp__loss_discrete(struct nvdp_context *ctx, size_t n, const double *log_p,
                                const double *log_q, double k, double step, double cut,
                                struct nvdp__loss_part *out);
/* Makes the part of Laplace noise in R^d at distance s = eta |x - x'|. */
nvdp_status nvdp__loss_laplace(struct nvdp_context *ctx, size_t dim, double s, double k,
                               double step, double cut, struct nvdp__loss_part *out);

/* The sum of parts; the caller releases it with nvdp__loss_free(). */
struct nvdp__loss {
    double k, step;
    double log_mean, log_finite, slack; /* sums over all parts */
    double width;                       /* n h: the width of the interval of the true loss */
    int64_t first;
    size_t n;
    struct nvdp__memory memory; /* owner of the arrays */
    /* [n] above[i] = e^(k i h) sum_{j >= i} p_j e^(-k j h), and weighted[i] with k+1 in place of k */
    double *above, *weighted;
};
nvdp_status nvdp__loss_sum(struct nvdp_context *ctx, size_t parts,
                           const struct nvdp__loss_part *part, double k, double step,
                           struct nvdp__loss *out);
void nvdp__loss_free(struct nvdp__loss *loss);
/* Returns the interval that contains delta(eps), eps >= 0. */
struct nvdp_interval nvdp__loss_delta(const struct nvdp__loss *loss, double epsilon);
/* Returns the interval that contains the smallest eps >= 0 with delta(eps) <= delta; +inf if the
 * loss is infinite with a probability above delta. */
struct nvdp_interval nvdp__loss_epsilon(const struct nvdp__loss *loss, double delta);

#endif
