/* Renyi divergence of two distributions over the same finite set, given by their logarithms. */
#include "rdp/divergence.h"

/* Van Erven & Harremoes 2014, Eq. 1, with t = log p/q, over the y with p > 0:
 *
 *     l = 1          sum p t
 *     l = inf        max t
 *     otherwise      1/(l-1) log sum p exp((l-1) t).
 *
 * Near order 1 the sum is near 1: where no |(l-1) t| exceeds 1/2 it is 1 + sum p expm1((l-1) t), and
 * its logarithm a log1p.  Elsewhere the largest exponent is taken out.  q = 0 < p is +inf from l = 1
 * on, and leaves nothing to the sum below; l < 1 is +inf where the supports have nothing in common. */
double nvdp_renyi_discrete(double order, size_t n, const double *log_p, const double *log_q) {
    order = nvdp__order(order);
    if (isnan(order)) return NAN;
    const double s = order - 1;
    double most = -INFINITY, widest = 0, top = -INFINITY;
    for (size_t y = 0; y < n; y++) {
        if (isnan(log_p[y]) || isnan(log_q[y])) return NAN;
        if (log_p[y] == -INFINITY) continue;
        double t = log_p[y] - log_q[y];
        most = t > most ? t : most;
        widest = fabs(t) > widest ? fabs(t) : widest;
        double exponent = log_p[y] + s * t;
        top = exponent > top ? exponent : top;
    }
    if (isinf(order) || (most == INFINITY && s >= 0)) return most > 0 ? most : 0;
    if (top == -INFINITY) return INFINITY;
    const bool near = fabs(s) * widest <= 0.5;
    double sum = 0;
    for (size_t y = 0; y < n; y++) {
        if (log_p[y] == -INFINITY) continue;
        double t = log_p[y] - log_q[y];
        if (s == 0)
            sum += exp(log_p[y]) * t;
        else if (near)
            sum += exp(log_p[y]) * expm1(s * t);
        else
            sum += exp(log_p[y] + s * t - top);
    }
    double value = s == 0 ? sum : (near ? log1p(sum) : log(sum) + top) / s;
    return value > 0 ? value : 0;
}
