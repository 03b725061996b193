#include "tensor/special.h"

#include <math.h>

double nvdp__log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* Both functions: the recurrence in x raises the argument to 10, then the asymptotic series in
 * 1/x^2 (Abramowitz & Stegun 6.3.18, 6.4.12), whose first term left out is below 1e-15 there.
 * Near the zero of psi at 1.46 the error is absolute, about 1e-15. */
enum { ASYMPTOTIC = 10 };

double nvdp__digamma(double x) {
    if (!(x > 0)) return NAN;
    double sum = 0;
    for (; x < ASYMPTOTIC; x++) {
        sum -= 1 / x;
    }
    double r = 1 / x;
    double q = r * r;
    double tail = 1.0 / 12;
    tail = 691.0 / 32760 - q * tail;
    tail = 1.0 / 132 - q * tail;
    tail = 1.0 / 240 - q * tail;
    tail = 1.0 / 252 - q * tail;
    tail = 1.0 / 120 - q * tail;
    tail = 1.0 / 12 - q * tail;
    return sum + log(x) - 0.5 * r - q * tail;
}

double nvdp__trigamma(double x) {
    if (!(x > 0)) return NAN;
    double sum = 0;
    for (; x < ASYMPTOTIC; x++) {
        sum += 1 / (x * x);
    }
    double r = 1 / x;
    double q = r * r;
    double tail = 7.0 / 6;
    tail = 691.0 / 2730 - q * tail;
    tail = 5.0 / 66 - q * tail;
    tail = 1.0 / 30 - q * tail;
    tail = 1.0 / 42 - q * tail;
    tail = 1.0 / 30 - q * tail;
    tail = 1.0 / 6 - q * tail;
    return sum + r + 0.5 * q + r * q * tail;
}

enum { ASYMPTOTIC_FROM = 20 }; /* there the series below end with relative errors under 1e-14 */

/* Differences of the asymptotic series of log Gamma and psi (Abramowitz & Stegun 6.1.41, 6.3.18): x
 * log x and x cancel term by term. */
double nvdp__log_gamma_excess(double x) {
    if (x < ASYMPTOTIC_FROM) return nvdp__log_gamma(x) - x * nvdp__digamma(x) + x;
    const double constant = 1.4189385332046727418; /* (1 + log 2 pi)/2 */
    double y = 1 / x, y2 = y * y;
    double series =
        y * (1.0 / 6 - y2 * (1.0 / 90 - y2 * (1.0 / 210 - y2 * (1.0 / 210 - y2 * (5.0 / 594)))));
    return constant - 0.5 * log(x) + series;
}

/* Abramowitz & Stegun 6.4.12 without its first term. */
double nvdp__trigamma_excess(double x) {
    if (x < ASYMPTOTIC_FROM) return nvdp__trigamma(x) - 1 / x;
    double y = 1 / x, y2 = y * y;
    return y2 * (0.5 + y * (1.0 / 6 -
                            y2 * (1.0 / 30 - y2 * (1.0 / 42 - y2 * (1.0 / 30 - y2 * (5.0 / 66))))));
}
