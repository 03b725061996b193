/* Renyi divergence of diagonal Gaussians. */
#include "rdp/gaussian.h"
#include "rdp/gap.h"
#include "rdp/order.h"
#include <nvdp/rdp.h>

/* One dimension, finite order l = 1 + s.  van Erven & Harremoes 2014, Eq. 10, with
 * v = (1-l) var_p + l var_q:
 *     l (mu_p - mu_q)^2 / (2 v) + [ 1/2 log v - (1-l)/2 log var_p - l/2 log var_q ] / (1-l).
 * Domain: +inf where v <= 0, which is where the integral diverges.  Stable form: with
 * u = var_p/var_q - 1 and v/var_q = 1 - s u the bracket is half of
 *     log(v/var_q) / -s - log(var_p/var_q) = nvdp__log_gap(s, -u, ...),
 * which needs neither a difference of large logarithms nor a division by a small s.
 * l = 1: (mu_p - mu_q)^2 / (2 var_q) + 1/2 (u - log(1+u)), Kullback-Leibler. */
static double dimension(double order, double mu_p, double var_p, double mu_q, double var_q) {
    double s = order - 1;
    double u = (var_p - var_q) / var_q;
    double far = -s * u;
    if (far <= -1) return INFINITY;
    double d = mu_p - mu_q;
    double mean = order * (d * d / var_q) / (1 + far);
    return 0.5 * (mean + nvdp__log_gap(s, -u, var_p / var_q, 1 + far));
}

/* One dimension, order infinity: sup log p(x)/q(x).  The log-ratio is a quadratic in x; it is
 * bounded iff var_p < var_q (or the Gaussians are equal), and then its vertex gives
 *     1/2 log(var_q/var_p) + (mu_p - mu_q)^2 / (2 (var_q - var_p)). */
static double dimension_max(double mu_p, double var_p, double mu_q, double var_q) {
    double d = mu_p - mu_q;
    if (var_p == var_q) return d == 0 ? 0 : INFINITY;
    if (var_p > var_q) return INFINITY;
    double u = (var_p - var_q) / var_q;
    return 0.5 * (d * d / (var_q - var_p) - nvdp__log_ratio(u, var_p / var_q));
}

double nvdp__gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                      const double *mu_q, const double *var_q) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double term = isinf(order) ? dimension_max(mu_p[i], var_p[i], mu_q[i], var_q[i])
                                   : dimension(order, mu_p[i], var_p[i], mu_q[i], var_q[i]);
        /* Only a ratio of variances beyond the range of double gives NaN here. Answering +inf
         * overstates; it never understates. */
        if (!(term < INFINITY)) return INFINITY;
        sum += fmax(term, 0); /* >= 0 in exact arithmetic */
    }
    return sum;
}

static bool valid_variance(double var) {
    return var > 0 && isfinite(var);
}

double nvdp_renyi_gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q) {
    order = nvdp__order(order);
    if (isnan(order)) return NAN;
    for (size_t i = 0; i < n; i++) {
        if (!valid_variance(var_p[i]) || !valid_variance(var_q[i])) return NAN;
        if (!isfinite(mu_p[i]) || !isfinite(mu_q[i])) return NAN;
    }
    return nvdp__gaussian(order, n, mu_p, var_p, mu_q, var_q);
}
