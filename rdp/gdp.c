/* Gaussian differential privacy (Dong, Roth & Su 2022): the curve of N(mu, 1) against N(0, 1),
 *
 *     delta(eps)  =  Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)       (Balle & Wang 2018, Theorem 8),
 *
 * and its inverses, by bisection, rounded to the safe side: they never promise too much. */
#include "rdp/pairs.h"

#include <gsl/gsl_sf_erf.h>
#include <stdlib.h>

/* 1/m - x for Mills' ratio m(x), x >= 5: the continued fraction 1/(x + 2/(x + 3/(x + ...))),
 * whose 64 terms have an error of 1e-17. */
static double mills_rest(double x) {
    double rest = 0;
    for (int k = 64; k > 0; k--)
        rest = k / (x + rest);
    return rest;
}

/* log delta of N(mu, 1) against N(0, 1), epsilon >= 0. With a = eps/mu - mu/2 and m = (1 -
 * Phi)/phi, Mills' ratio,
 *
 *     delta = phi(a) [m(a) - m(a + mu)],    -m'(x) = 1 - x m(x):
 *
 * for large mu a difference, with 1 - Phi(a) for the first term if a is not far in the tail; for
 * small mu the integral of -m' (Gauss & Legendre, five points). Below a = -40, delta is 1 up to
 * 1e-340. */
static double log_gdp_of(double mu, double a) {
    static const double node[] = {0, 0.53846931010568309, 0.90617984593866399};
    static const double weight[] = {0.56888888888888889, 0.47862867049936647, 0.23692688505618909};
    const double scale = -a * a / 2 - log(2 * M_PI) / 2;
    double sum = 0;
    if (a < -40) return 0;
    if (isinf(scale)) return -INFINITY;
    if (mu > 0.2 && a < 5) {
        const double first =
            a < 0 ? log1p(-erfc(-a * M_SQRT1_2) / 2) : gsl_sf_log_erfc(a * M_SQRT1_2) - M_LN2;
        const double less = scale - log(gsl_sf_hazard(a + mu)) - first;
        return first + (less < -M_LN2 ? log1p(-exp(less)) : log(-expm1(less)));
    }
    if (mu > 0.2) sum = 1 / (a + mills_rest(a)) - 1 / (a + mu + mills_rest(a + mu));
    for (int i = -2; i <= 2 && !(mu > 0.2); i++) {
        const double x = a + mu / 2 * (1 + (i < 0 ? -node[-i] : node[i]));
        const double rest = x < 5 ? gsl_sf_hazard(x) - x : mills_rest(x);
        sum += mu / 2 * weight[abs(i)] * rest / (x + rest);
    }
    return scale + log(fmax(sum, 0));
}

/* eps - mu^2/2 is rounded once: for large mu it is small compared with either. */
static double log_gdp(double mu, double epsilon) {
    return log_gdp_of(mu, fma(-mu / 2, mu, epsilon) / mu);
}

double nvdp_gdp_delta(double mu, double epsilon) {
    if (!(mu >= 0) || isnan(epsilon)) return NAN;
    if (epsilon < 0) return -expm1(epsilon) + exp(epsilon) * nvdp_gdp_delta(mu, -epsilon);
    if (mu == 0) return 0;
    return isinf(mu) ? 1 : exp(log_gdp(mu, epsilon));
}

double nvdp__gdp_of(double epsilon, double log_delta) {
    double low = 0, high = 1;
    if (log_delta == -INFINITY) return 0;
    if (log_delta >= 0) return INFINITY;
    while (log_gdp(high, epsilon) < log_delta)
        high *= 2;
    while (high - low > 1e-14 * high) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;
        *(log_gdp(middle, epsilon) < log_delta ? &low : &high) = middle;
    }
    return high;
}

/* log delta minus the possible error of log_gdp: 2e-13 of delta if its two parts are of similar
 * size, a few units in the last place of its exponent. */
static double safe_log(double delta) {
    return log(delta) * (1 + 2e-15) - 1e-12 * (1 - delta);
}

double nvdp_gdp_mu(double epsilon, double delta) {
    if (!(epsilon >= 0) || isinf(epsilon) || !(delta > 0 && delta < 1)) return NAN;
    /* the lower end of its last interval */
    return nextafter(nvdp__gdp_of(epsilon, safe_log(delta)) * (1 - 2e-14), 0);
}

double nvdp_gdp_epsilon(double mu, double delta) {
    const double target = safe_log(delta);
    if (!(mu >= 0) || !(delta > 0 && delta < 1)) return NAN;
    if (isinf(mu)) return INFINITY;
    if (mu == 0 || log_gdp(mu, 0) <= target) return 0;
    /* Searches a in mu^2/2 + a mu if mu is large, where a can be resolved; else epsilon itself. */
    const bool large = mu > 1e3;
    double low = large ? -40 : 0, high = large ? 40 : 1;
    while (!large && log_gdp(mu, high) > target)
        high *= 2;
    while (high - low > 1e-14 * (large ? 1 : high)) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;
        const double here = large ? log_gdp_of(mu, middle) : log_gdp(mu, middle);
        *(here > target ? &low : &high) = middle;
    }
    return large ? mu * (mu / 2 + high) * (1 + 1e-15) : high;
}
