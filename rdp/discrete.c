/* Renyi divergence of two distributions over the same finite set, given by their logarithms, and
 * the largest probability that a divergence allows. */
#include "rdp/divergence.h"

#include <float.h>

/* Van Erven & Harremoes 2014, Eq. 1, with t = log p/q, over the y with p > 0:
 *
 *     l = 1       sum p t
 *     l = inf     max t
 *     otherwise   1/(l-1) log sum p exp((l-1) t).
 *
 * Near order 1 the sum is near 1: if no |(l-1) t| exceeds 1/2, it is computed as 1 + sum p
 * expm1((l-1) t), and its logarithm as a log1p. Otherwise the largest exponent is factored out.
 * q = 0 < p gives +inf for l >= 1 and adds nothing to the sum for l < 1. l < 1 is +inf if the
 * supports are disjoint. The rounding error is at most 4 DBL_EPSILON *size. */
static double discrete(double order, size_t n, const double *log_p, const double *log_q,
                       double *size) {
    order = nvdp__order(order);
    *size = 0;
    if (isnan(order)) return NAN;
    const double s = order - 1;
    double max = -INFINITY, widest = 0, top = -INFINITY;
    for (size_t y = 0; y < n; y++) {
        if (isnan(log_p[y]) || isnan(log_q[y])) return NAN;
        if (log_p[y] == -INFINITY) continue;
        double t = log_p[y] - log_q[y];
        max = t > max ? t : max;
        widest = fabs(t) > widest ? fabs(t) : widest;
        double exponent = log_p[y] + s * t;
        top = exponent > top ? exponent : top;
    }
    if (isinf(order) || (max == INFINITY && s >= 0)) return max > 0 ? max : 0;
    if (top == -INFINITY) return INFINITY;
    const bool near = fabs(s) * widest <= 0.5;
    double sum = 0, parts = 0;
    for (size_t y = 0; y < n; y++) {
        if (log_p[y] == -INFINITY) continue;
        const double t = log_p[y] - log_q[y], logs = fabs(log_p[y]) + fabs(log_q[y]);
        const double p = exp(log_p[y]), tilted = near ? 0 : exp(log_p[y] + s * t - top);
        sum += s == 0 ? p * t : near ? p * expm1(s * t) : tilted;
        parts += near ? p * logs * (2 + fabs(log_p[y])) : tilted * (1 + fabs(s)) * logs;
    }
    *size = near ? parts : (1 + fabs(top) + parts / sum) / fabs(s);
    double value = s == 0 ? sum : (near ? log1p(sum) : log(sum) + top) / s;
    return value > 0 ? value : 0;
}

double nvdp_renyi_discrete(double order, size_t n, const double *log_p, const double *log_q) {
    double size;
    return discrete(order, n, log_p, log_q, &size);
}

/* Works in logits t, p = 1/(1 + e^-t), which resolve p near 1. The divergence of two outcomes
 * increases with p from q on. Returns the upper end of the last interval. */
double nvdp_renyi_probability_bound(double order, double divergence, double chance) {
    enum { HALVINGS = 200 };
    const double log_q[] = {log(chance), log1p(-chance)};
    double low = log_q[0] - log_q[1], high = 745;
    if (!(order > 0) || !(divergence >= 0) || !(chance > 0 && chance < 1)) return NAN;
    if (divergence == 0) return chance;
    for (int i = 0; i < HALVINGS; i++) {
        const double t = (low + high) / 2, both = log1p(exp(-fabs(t)));
        const double log_p[] = {fmin(t, 0) - both, -fmax(t, 0) - both};
        double size;
        const double here = discrete(order, 2, log_p, log_q, &size);
        *(here - 4 * DBL_EPSILON * size <= divergence ? &low : &high) = t;
    }
    const double p = high < -700 ? exp(high) : 1 / (1 + exp(-high));
    return low > 744 ? 1 : fmin(fmax(p * (1 + 4 * DBL_EPSILON), nextafter(chance, 1)), 1);
}
