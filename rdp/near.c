/* Gaussians whose variances are close, both directions at once.
 *
 * With M = var_p + var_q, t = (var_p - var_q)/M, a = 1 + 2s (order l = 1 + s) the two variances
 * v of rdp/gaussian.c are M/2 (1 - a t) for D(P||Q) and M/2 (1 + a t) for D(Q||P).  Hence, with
 * x = t^2, d = mu_p - mu_q and the gaps g(t), g(-t) of rdp/gap.h in either direction,
 *     2 D = sum  d^2/M 2l (1 +- a t)/(1 - a^2 x)  +  x (e(x) +- t o(x)),
 *     e(x) = (g(t) + g(-t)) / 2x,   o(x) = (g(t) - g(-t)) / 2xt,
 * where e and o are even and smooth: polynomials in x.  Nothing is lost for t -> 0, as x is a
 * factor, nor for s -> 0, where the gap has its limit (Kullback-Leibler).  Both directions need
 * the sums of what is even and of what is odd, and no logarithm.
 *
 * The functions are singular at a^2 x = 1 and x = 1.  Interpolated in Chebyshev's points up to a
 * fraction r^2 of the nearest, an error of z^-terms is left, z = y + sqrt(y^2 - 1), y = 2/r^2 - 1:
 * 1e-9 for r = 1/8 and 4 terms, for r = 0.6 and 9 terms. */
#include "rdp/near.h"
#include "rdp/gap.h"
#include <math.h>

enum { FUNCTIONS = 3, CHECKS = 25 };

/* mean: 2l/(1 - a^2 x); even, odd: e and o as above. */
static void functions(double order, double x, double value[FUNCTIONS]) {
    double s = order - 1;
    double a = 1 + 2 * s;
    double t = sqrt(x);
    double up = 2 * t / (1 - t);    /* var_p/var_q - 1 */
    double down = -2 * t / (1 + t); /* var_q/var_p - 1 */
    double to = nvdp__log_gap(s, -up, 1 + up, 1 - s * up);
    double from = nvdp__log_gap(s, -down, 1 + down, 1 - s * down);
    value[0] = 2 * order / (1 - a * a * x);
    value[1] = (to + from) / (2 * x);
    value[2] = (to - from) / (2 * x * t);
}

/* The polynomial through (x[k], y[k]): divided differences, then powers of x. */
static void interpolate(int terms, const double *x, double *y, double *c) {
    for (int step = 1; step < terms; step++) {
        for (int k = terms - 1; k >= step; k--) {
            y[k] = (y[k] - y[k - 1]) / (x[k] - x[k - step]);
        }
    }
    for (int k = 0; k < terms; k++) {
        c[k] = 0;
    }
    for (int k = terms - 1; k >= 0; k--) { /* c <- c (X - x[k]) + y[k] */
        for (int j = terms - 1; j > 0; j--) {
            c[j] = c[j - 1] - x[k] * c[j];
        }
        c[0] = y[k] - x[k] * c[0];
    }
}

static double polynomial(const double *c, int terms, double x) {
    double sum = 0;
    for (int k = terms - 1; k >= 0; k--) {
        sum = sum * x + c[k];
    }
    return sum;
}

/* The largest relative error between the points, of either direction. */
static double deviation(double order, int terms, const struct nvdp__near_fit *fit) {
    double worst = 0;
    for (int k = 0; k < CHECKS; k++) {
        double x = fit->limit * (k + 0.5) / CHECKS;
        double t = sqrt(x);
        double want[FUNCTIONS];
        functions(order, x, want);
        double mean = polynomial(fit->mean, terms, x);
        double even = polynomial(fit->even, terms, x);
        double odd = polynomial(fit->odd, terms, x);
        worst = fmax(worst, fabs(mean / want[0] - 1));
        for (int sign = -1; sign <= 1; sign += 2) {
            double gap = want[1] + sign * t * want[2];
            double error = fabs(even + sign * t * odd - gap) / gap;
            worst = error <= worst ? worst : error; /* a NaN counts */
        }
    }
    return worst;
}

bool nvdp__near_fit(double order, int terms, double reach, struct nvdp__near_fit *fit) {
    const double pi = 3.14159265358979323846264338328;
    double a = 2 * order - 1;
    double most = reach / fmax(1, fabs(a));
    double x[NVDP__MIDDLE_TERMS], y[FUNCTIONS][NVDP__MIDDLE_TERMS];
    *fit = (struct nvdp__near_fit){.limit = most * most, .slope = a};
    for (int k = 0; k < terms; k++) {
        double value[FUNCTIONS];
        x[k] = fit->limit * (1 - cos(pi * (k + 0.5) / terms)) / 2;
        functions(order, x[k], value);
        for (int f = 0; f < FUNCTIONS; f++) {
            y[f][k] = value[f];
        }
    }
    interpolate(terms, x, y[0], fit->mean);
    interpolate(terms, x, y[1], fit->even);
    interpolate(terms, x, y[2], fit->odd);
    bool good = deviation(order, terms, fit) <= NVDP__NEAR_ERROR;
    if (!good) fit->limit = -1;
    return good;
}
