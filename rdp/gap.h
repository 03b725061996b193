/* Second differences of log x and x log x along a line: the building stones of every divergence
 * here.
 *
 * A Renyi divergence of order l = 1 + s between members of an exponential family is a difference of
 * two slopes of the log-partition function along the line q -> p -> c = p + s (p - q)
 * (Gil, Alajaji & Linder 2013).  For G = log x and
 * G = x log x
 *     [G(c) - G(p)] / s  -  [G(p) - G(q)]
 * is written below in k = (p - q)/p, q/p = 1 - k and c/p = 1 + s k.  The terms linear in k cancel
 * exactly, so they are left out: what remains has one sign and keeps its digits for q -> p and for
 * s -> 0, where the quotient is replaced by its limit (Kullback-Leibler). */
#ifndef NVDP_RDP_GAP_H
#define NVDP_RDP_GAP_H

#include <math.h>

/* log(1 + x) - x, |x| < 1/4, to a few units in the last place.
 * With y = x / (2 + x): log(1+x) = 2 atanh y and 2 y - x = -x y, hence
 *     -x y + 2 y^3 (1/3 + y^2/5 + y^4/7 + ...),   y^2 <= 1/49; ten terms leave < 1e-17. */
static inline double nvdp__log1pmx_near(double x) {
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

/* log(1 + y) where `ratio` is 1 + y computed without the cancellation y may carry near -1. */
static inline double nvdp__log_ratio(double y, double ratio) {
    return fabs(y) < 0.5 ? log1p(y) : log(ratio);
}

/* log(1 + y) - y <= 0 */
static inline double nvdp__log1pmx(double y, double ratio) {
    return fabs(y) < 0.25 ? nvdp__log1pmx_near(y) : nvdp__log_ratio(y, ratio) - y;
}

/* (1 + y) log(1 + y) - y >= 0, with its limit 1 at y = -1 */
static inline double nvdp__xlogx(double y, double ratio) {
    if (fabs(y) < 0.25) return y * y + (1 + y) * nvdp__log1pmx_near(y);
    return ratio > 0 ? ratio * nvdp__log_ratio(y, ratio) - y : -y;
}

/* -( log(c/p) / s + log(q/p) ) >= 0 for s > -1, finite s; k = 1 - q/p. */
static inline double nvdp__log_gap(double s, double k, double ratio_q, double ratio_c) {
    if (fabs(k) < 0.5) {
        double far = s == 0 ? 0 : nvdp__log1pmx(s * k, ratio_c) / s;
        return -(far + nvdp__log1pmx(-k, ratio_q));
    }
    double far = s == 0 ? k : nvdp__log_ratio(s * k, ratio_c) / s;
    return -(far + log(ratio_q));
}

/* (c/p) log(c/p) / s + (q/p) log(q/p) >= 0 for s > -1, finite s: p times it is the second
 * difference of x log x. */
static inline double nvdp__xlogx_gap(double s, double k, double ratio_q, double ratio_c) {
    if (fabs(k) < 0.5) {
        double far = s == 0 ? 0 : nvdp__xlogx(s * k, ratio_c) / s;
        return far + nvdp__xlogx(-k, ratio_q);
    }
    double far = s == 0 ? k : ratio_c * nvdp__log_ratio(s * k, ratio_c) / s;
    return far + (ratio_q > 0 ? ratio_q * log(ratio_q) : 0);
}

#endif
