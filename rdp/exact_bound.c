/* Upper bounds of an exact loss from its moments alone, K(s) = log E e^(s L) = s D_{1+s}(P||Q),
 * and exact numbers that fall back on these bounds. For every s > 0 below the strip's end
 * (Canonne, Kamath & Steinke 2020, Proposition 12)
 *
 *     log delta(eps)  <=  K(s) - s eps - log(1 + s) - s log(1 + 1/s),
 *     eps(delta)      <=  [K(s) - log delta - log(1 + s)] / s - log(1 + 1/s).
 *
 * The first bound is convex in s. The second bound is quasiconvex: its sublevel sets are those
 * of a convex function minus s eps. Golden section search over log s finds the minimum. K is
 * rounded up. */
#include "rdp/pairs.h"

#include <float.h>

static const double golden = 0.61803398874989485;

/* Returns the right side of one of the two inequalities: for eps(delta) with `given` = delta, or
 * for log delta(eps) with `given` = eps. */
static double bound_at(const struct nvdp_exact *e, double s, bool of_epsilon, double given) {
    const double moment = nvdp__exact_moment(e, s);
    const double value = of_epsilon ? moment / s + nvdp__epsilon_more(s, given)
                                    : moment - s * given - log1p(s) - s * log1p(1 / s);
    return isnan(value)
               ? INFINITY
               : value + 4 * DBL_EPSILON * (fabs(value) + (of_epsilon ? 0 : s * fabs(given)));
}

static double least_bound(const struct nvdp_exact *e, bool of_epsilon, double given) {
    enum { STEPS = 60 };
    static const double flat = 1e-13;
    const double middle = log(1 / nvdp__exact_deviation(e)), reach = 200;
    double low = middle - reach, high = fmin(middle + reach, log(nvdp_exact_moment_limit(e)));
    double smallest = INFINITY;
    if (!isfinite(middle)) return INFINITY;
    for (int i = 0; i < STEPS; i++) {
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        const double at_left = bound_at(e, exp(left), of_epsilon, given);
        const double at_right = bound_at(e, exp(right), of_epsilon, given);
        smallest = fmin(smallest, fmin(at_left, at_right));
        /* if the bound is flat or infinite, the minimum is at a smaller s */
        const bool falls = at_right < at_left - flat * fabs(at_left);
        *(falls ? &low : &high) = falls ? left : right;
    }
    return smallest;
}

double nvdp__exact_bound(const struct nvdp_exact *e, double delta) {
    const double deviation = nvdp__exact_deviation(e), strip = nvdp_exact_moment_limit(e);
    if (isinf(deviation)) return INFINITY;
    if (deviation == 0) return 0;
    const double usual = sqrt(-2 * log(delta)) / deviation;
    const double tried[] = {fmin(usual, strip / 2), fmin(0.6 * usual, strip / 4),
                            fmin(1.5 * usual, 0.8 * strip)};
    double smallest = INFINITY;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        smallest = fmin(smallest, bound_at(e, tried[i], true, delta));
    return fmax(smallest, 0);
}

nvdp_status nvdp__exact_epsilon(struct nvdp_exact *e, double delta, double *epsilon, bool *bound) {
    nvdp_status status = nvdp_exact_epsilon(NULL, e, delta, epsilon);
    *bound = status == NVDP_ERR_NUMERIC;
    if (!*bound) return status;
    *epsilon = fmax(least_bound(e, true, delta), 0);
    return NVDP_OK;
}

nvdp_status nvdp__exact_delta(struct nvdp_exact *e, double epsilon, double *delta, bool *bound) {
    struct nvdp_exact_point point;
    nvdp_status status = nvdp_exact_delta(NULL, e, epsilon, &point);
    *bound = status == NVDP_ERR_NUMERIC;
    *delta = *bound ? exp(fmin(least_bound(e, false, epsilon), 0)) : point.delta;
    return *bound ? NVDP_OK : status;
}

/* Uses TPR <= delta(eps) + e^eps FPR, which holds for every eps. */
nvdp_status nvdp__exact_tpr(struct nvdp_exact *e, double fpr, double *tpr, bool *bound) {
    struct nvdp_exact_point point;
    nvdp_status status = nvdp_exact_trade_off(NULL, e, fpr, &point);
    *bound = status == NVDP_ERR_NUMERIC;
    *tpr = *bound ? 1 : point.tpr;
    for (double delta = 0.5; *bound && delta > 1e-8; delta /= 4)
        *tpr = fmin(*tpr, delta + exp(least_bound(e, true, delta)) * fpr);
    return *bound ? NVDP_OK : status;
}

nvdp_status nvdp__exact_mu(struct nvdp_exact *e, double delta, double *mu, bool *bound) {
    nvdp_status status = nvdp_exact_gdp(NULL, e, delta, mu);
    *bound = status == NVDP_ERR_NUMERIC;
    if (*bound) *mu = INFINITY;
    return *bound ? NVDP_OK : status;
}
