/* The plain forms of the divergences, term by term: one Gaussian, one Dirichlet, two texts. Faster forms fall back on
 * the plain forms, use the plain forms to decide infinities, and are tested against the plain forms.
 *
 * The Renyi divergence of order l = 1 + s between two members of an exponential family is a difference of two slopes of
 * the log-partition function. The slopes are along the line q -> p -> c = p + s (p - q) (Gil, Alajaji & Linder 2013).
 * For G = log x and G = x log x this second difference,
 *
 *     [G(c) - G(p)] / s  -  [G(p) - G(q)],
 *
 * is written below in k = (p - q)/p, with q/p = 1 - k and c/p = 1 + s k. The terms linear in k
 * cancel exactly and are left out. The remainder has one sign and keeps its digits for q -> p
 * and for s -> 0, where the quotient becomes its limit (Kullback-Leibler). */
#ifndef NVDP_RDP_DIVERGENCE_H
#define NVDP_RDP_DIVERGENCE_H

#include "base/base.h"
#include <math.h>
#include <nvdp/rdp.h>

#define NVDP__LN2 0.693147180559945309417232121458
#define NVDP__HALF_LOG_2PI 0.918938533204672741780329736406

/* Returns the order, or NaN unless the order is > 0. Orders from 1e100 on become infinity: the max-divergence is
 * equal up to rounding and never smaller, because divergences do not decrease in the order. */
static inline double nvdp__order(double order) {
    if (!(order > 0)) return NAN;
    return order >= 1e100 ? INFINITY : order;
}

static inline double nvdp__log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* log(1 + x) - x for |x| < 1/4, to a few units in the last place. With y = x / (2 + x),
 *
 *     log(1 + x)      = 2 atanh y,
 *     2 y - x         = -x y,
 *     log(1 + x) - x  = -x y + 2 y^3 (1/3 + y^2/5 + y^4/7 + ...),    y^2 <= 1/49;
 *
 * ten terms leave an error below 1e-17. */
static inline __attribute__((always_inline)) double nvdp__log1pmx_series(double x) {
    double y = x / (2 + x);
    double z = y * y;
    double tail = 1.0 / 21;
    tail = tail * z + 1.0 / 19;
    tail = tail * z + 1.0 / 17;
    tail = tail * z + 1.0 / 15;
    tail = tail * z + 1.0 / 13;
    tail = tail * z + 1.0 / 11;
    tail = tail * z + 1.0 / 9;
    tail = tail * z + 1.0 / 7;
    tail = tail * z + 1.0 / 5;
    tail = tail * z + 1.0 / 3;
    return 2 * y * z * tail - x * y;
}

/* log(1 + y); `ratio` is 1 + y, computed without the cancellation that 1 + y has for y near -1 */
static inline double nvdp__log_ratio(double y, double ratio) {
    return fabs(y) < 0.5 ? log1p(y) : log(ratio);
}

/* log(1 + y) - y <= 0 */
static inline double nvdp__log1pmx(double y, double ratio) {
    return fabs(y) < 0.25 ? nvdp__log1pmx_series(y) : nvdp__log_ratio(y, ratio) - y;
}

/* (1 + y) log(1 + y) - y >= 0, with its limit 1 at y = -1 */
static inline double nvdp__xlogx(double y, double ratio) {
    if (fabs(y) < 0.25) return y * y + (1 + y) * nvdp__log1pmx_series(y);
    return ratio > 0 ? ratio * nvdp__log_ratio(y, ratio) - y : -y;
}

/* The second difference of -log x,  -[ log(c/p) / s + log(q/p) ] >= 0,  for finite s > -1; k = 1
 * - q/p. */
static inline double nvdp__log_second_difference(double s, double k, double ratio_q,
                                                 double ratio_c) {
    if (fabs(k) < 0.5) {
        double far = s == 0 ? 0 : nvdp__log1pmx(s * k, ratio_c) / s;
        return -(far + nvdp__log1pmx(-k, ratio_q));
    }
    double far = s == 0 ? k : nvdp__log_ratio(s * k, ratio_c) / s;
    return -(far + log(ratio_q));
}

/* (c/p) log(c/p) / s + (q/p) log(q/p) >= 0,  for finite s > -1. Multiplied by p, it is the
 * second difference of x log x. */
static inline double nvdp__xlogx_second_difference(double s, double k, double ratio_q,
                                                   double ratio_c) {
    if (fabs(k) < 0.5) {
        double far = s == 0 ? 0 : nvdp__xlogx(s * k, ratio_c) / s;
        return far + nvdp__xlogx(-k, ratio_q);
    }
    double far = s == 0 ? k : ratio_c * nvdp__log_ratio(s * k, ratio_c) / s;
    return far + (ratio_q > 0 ? ratio_q * log(ratio_q) : 0);
}

/* --- gaussian.c --- */
/* Computes nvdp_renyi_gaussian() for valid parameters and an order from nvdp__order(). */
double nvdp__gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                      const double *mu_q, const double *var_q);

/* --- dirichlet.c --- */
/* c = l p + (1-l) q, without avoidable cancellation. Monotone in p and q. */
static inline double nvdp__extrapolate(double order, double p, double q) {
    double s = order - 1;
    return s < 0 ? order * p - s * q : p + s * (p - q);
}

/* The second difference of lnGamma, [lnG(c) - lnG(p)]/s - [lnG(p) - lnG(q)] >= 0, for a finite
 * order; +inf if c <= 0. */
double nvdp__log_gamma_second_difference(double order, double p, double q);
/* D_l between the weights of texts i and j in its stable form, for an order from nvdp__order: the Dirichlets have
 * the pseudo-counts alpha/kappa of prior, tokens and padding, each kappa times. The caller handles different public
 * lengths, which make the divergence +inf. */
double nvdp__dirichlet_texts(double order, const struct nvdp_posteriors *set, size_t i, size_t j);

/* Number of tokens of text i. */
static inline size_t nvdp__row_count(const struct nvdp_posteriors *set, size_t i) {
    return set->offset[i + 1] - set->offset[i];
}

/* Pseudo-count of component c of text i: the pseudo-count of a token, or of padding after the last token. */
static inline double nvdp__token_alpha(const struct nvdp_posteriors *set, size_t i, size_t c) {
    return c < nvdp__row_count(set, i) ? set->alpha[set->offset[i] + c] : set->pad_alpha;
}

/* ---- worst.c: the largest divergence of any two posteriors within bounds, which certificates sum ---- */

/* Upper bound of the divergence of two Gaussians in `dim` dimensions whose means have norm at most `radius` and
 * whose variances lie in [low, high]. order >= 1, for which the bound is attained. +inf if v may be 0. */
double nvdp__worst_gaussian(double order, size_t dim, double radius, double low, double high);

/* Upper bound of the divergence of two Dirichlets with one component of pseudo-count `fixed` and m components in
 * [low, high], each of kappa weights. The bound is proven and at most 1e-3 above the largest divergence; *found is a
 * divergence that two Dirichlets have. order >= 1; +inf if a c_i may be 0. */
double nvdp__worst_dirichlet(double order, size_t m, double fixed, double low, double high,
                             int kappa, double *found);

/* The order from which on both upper bounds are infinite: the largest finite s is low/(high - low), and the order is
 * s + 1. */
double nvdp__worst_order(double low, double high);

#endif
