/* Gamma variables: draws in log space, and the derivative of a draw with respect to its shape.
 *
 * The pseudo-count a of a token may be e^-10 and smaller, where most draws g underflow, so all functions take and
 * return log g. The file has the draws first, then the three forms of the implicit gradient. */
#include "nvib/nvib.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>

/* ---- special functions ---- */

double nvdp__log_abs_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* Guards a call of GSL. GSL calls its error handler, which ends the program, for an argument outside the domain, and
 * if psi' overflows or underflows. This happens even in functions that return a status. The conditions below never
 * let such an argument through. */
double nvdp__digamma(double x) {
    gsl_sf_result psi;
    return x > 0 && gsl_sf_psi_e(x, &psi) == GSL_SUCCESS ? psi.val : NAN;
}

/* psi'(x) = 1/x^2 + O(1) for x -> 0,  1/x + O(1/x^2) for x -> infinity */
double nvdp__trigamma(double x) {
    gsl_sf_result psi;
    if (x > 0 && x < 1e-100) return 1 / (x * x);
    if (x > 1e100) return 1 / x;
    return x > 0 && gsl_sf_psi_1_e(x, &psi) == GSL_SUCCESS ? psi.val : NAN;
}

/* Differences of the asymptotic series of log Gamma, psi and psi' (Abramowitz & Stegun 6.1.41, 6.3.18, 6.4.12). They
 * are used from x = 20 on, where the truncated series have relative errors below 1e-14; x log x, x and 1/x cancel term
 * by term:
 *
 *     log Gamma(x) - x psi(x) + x = (1 + log 2 pi)/2 - log(x)/2 + 1/(6x) - 1/(90 x^3) + 1/(210 x^5) - ...
 *     psi'(x) - 1/x               = 1/(2x^2)        + 1/(6x^3)  - 1/(30 x^5) + 1/(42 x^7)  - ... */
enum { ASYMPTOTIC_FROM = 20 };

double nvdp__log_gamma_excess(double x) {
    if (x < ASYMPTOTIC_FROM) return nvdp__log_abs_gamma(x) - x * nvdp__digamma(x) + x;
    const double constant = 1.4189385332046727418;
    double y = 1 / x, y2 = y * y;
    double series =
        y * (1.0 / 6 - y2 * (1.0 / 90 - y2 * (1.0 / 210 - y2 * (1.0 / 210 - y2 * (5.0 / 594)))));
    return constant - 0.5 * log(x) + series;
}

double nvdp__trigamma_excess(double x) {
    if (x < ASYMPTOTIC_FROM) return nvdp__trigamma(x) - 1 / x;
    double y = 1 / x, y2 = y * y;
    return y2 * (0.5 + y * (1.0 / 6 -
                            y2 * (1.0 / 30 - y2 * (1.0 / 42 - y2 * (1.0 / 30 - y2 * (5.0 / 66))))));
}

/* ---- draws ---- */

/* log g of g ~ Gamma(alpha, 1). For alpha >= 1, the method of Marsaglia & Tsang (2000) is used, with d = alpha - 1/3, c
 * = 1/sqrt(9 d), x ~ N(0, 1), u ~ U(0, 1):
 *
 *     g = d v,  v = (1 + c x)^3,  accepted if  log u < x^2/2 + d (1 - v + log v)
 *
 * For alpha < 1, a draw for alpha + 1 is converted, because most draws for alpha are below the smallest double:
 *
 *     log g = log g' + log(u)/alpha,   g' ~ Gamma(alpha + 1, 1) */
static double log_draw_above_one(struct nvdp__stream *stream, double alpha) {
    double d = alpha - 1.0 / 3;
    double c = 1 / sqrt(9 * d);
    for (;;) {
        double x = nvdp__stream_normal(stream);
        double u = nvdp__stream_uniform(stream);
        if (!(c * x > -1)) continue;
        double log_v = 3 * log1p(c * x);
        if (log(u) < 0.5 * x * x + d * (log_v - expm1(log_v))) return log(d) + log_v;
    }
}

double nvdp__gamma_log_draw(struct nvdp__stream *stream, double alpha) {
    if (!(alpha > 0) || isinf(alpha)) return NAN; /* otherwise the rejection loop might not end */
    if (alpha >= 1) return log_draw_above_one(stream, alpha);
    double above = log_draw_above_one(stream, alpha + 1);
    return above + log(nvdp__stream_uniform(stream)) / alpha;
}

/* ---- the implicit gradient ----
 *
 * At fixed randomness u = P(a, g), with P the regularized lower incomplete gamma function and p
 * the density, implicit reparameterization gives the derivative of the draw g (Figurnov, Mohamed
 * & Mnih 2018, Eq. 7):
 *
 *     dg/da = -(dP(a,g)/da) / p(g; a)
 *
 * The code computes y = d log g / d log a = (a/g) dg/da from log g, so no digits are lost when g underflows. y is of
 * order 1 for a >> 1 and of order log(1/u)/a for a << 1. Three forms cover the plane. Each is a sum whose
 * cancellation is bounded, and neighboring forms agree at their border to 1e-11 (tests/nvib/test_gamma.c). */

/* For g below a + 3 sqrt(a) + 2: the power series of P, differentiated term by term:
 *
 *     P   = g^a e^-g / Gamma(a+1) sum_k t_k
 *     t_k = g^k / ((a+1)...(a+k))
 *     h_k = 1/(a+1) + ... + 1/(a+k)
 *     y   = (psi(a+1) - log g) sum_k t_k + sum_k t_k h_k
 *
 * All terms are positive while log g < psi(a+1). For larger g, up to the bound, the difference loses at most three
 * digits. At g = 0 the result is the limit psi(a+1) - log g. */
static double by_series(double a, double log_g, double g) {
    double term = 1;
    double sum = 1;
    double harmonic = 0;
    double weighted = 0;
    for (double k = 1;; k++) {
        double r = 1 / (a + k);
        term *= g * r;
        harmonic += r;
        sum += term;
        weighted += term * harmonic;
        /* The terms decrease from k > g - a on; the remainder is below a geometric series. */
        if (a + k > g && term * (1 + harmonic) <= 1e-17 * sum) break;
    }
    return (nvdp__digamma(a + 1) - log_g) * sum + weighted;
}

/* For larger g: the even continued fraction of the upper tail (Abramowitz & Stegun 6.5.31),
 * summed by Steed's algorithm together with its derivative in a, F' > 0:
 *
 *     Gamma(a,g) = g^a e^-g F
 *     F          = 1/(g+1-a - 1(1-a)/(g+3-a - 2(2-a)/(g+5-a - ...)))
 *     y          = a (F (log g - psi(a)) + F')
 *                = F (a (log g - psi(a+1)) + 1) + a F' */
static double by_fraction(double a, double log_g, double g) {
    double b = g + 1 - a;
    double d = 1 / b;
    double dd = d * d; /* derivative of d: -(db/da) d^2, with db/da = -1 */
    double step = d;
    double dstep = dd;
    double f = step;
    double df = dstep;
    for (double n = 1; n < 10000; n++) {
        double c = n * (a - n);
        b += 2;
        double next = 1 / (b + c * d);
        double dnext = -next * next * (n * d + c * dd - 1);
        d = next;
        dd = dnext;
        double factor = b * d - 1;
        dstep = (b * dd - d) * step + factor * dstep;
        step *= factor;
        f += step;
        df += dstep;
        if (fabs(step) <= 1e-16 * f && fabs(dstep) <= 1e-16 * fabs(df)) break;
    }
    return f * (a * (log_g - nvdp__digamma(a + 1)) + 1) + a * df;
}

/* For a >= 64 and |log(g/a)| <= 1, which includes every draw within 8 standard deviations. The
 * definition gives an equation for w = dg/da; put g = a e^t and compare powers of a:
 *
 *     dw/dg + w ((a-1)/g - 1) = psi(a) - log g
 *     psi(a) - log a          ~ sum_k d_k a^-k
 *     w                       = sum_k f_k(t) a^-k
 *     f_0                     = t/(1 - e^-t)
 *     f_k                     = [d_k + e^-t (f_(k-1) - f'_(k-1))] / (e^-t - 1)
 *
 * Each f_k is regular at t = 0, so the expansion is uniform over the mode. The rows are the
 * Taylor coefficients of y_k = f_k e^-t for k = 1..5, computed from this recurrence in rational
 * arithmetic; y_0 = t/(e^t - 1). The omitted terms are below 5e-14 at a = 64 and decrease with
 * a. */
enum { TERMS = 5, DEGREE = 15 };
static const double expansion[TERMS][DEGREE + 1] = {
    {1.0 / 6, -1.0 / 12, 1.0 / 120, 1.0 / 360, -0.000496031746031746, -9.9206349206349206e-05,
     2.3148148148148147e-05, 3.306878306878307e-06, -9.3945406445406449e-07,
     -1.0438378493934049e-07, 3.4875654915337455e-08, 3.1705140832124957e-09,
     -1.2178108242923058e-09, -9.3677755714792755e-11, 4.0676163555870997e-11,
     2.7117442370580662e-12},
    {1.0 / 60, 0, -0.0047619047619047623, 0.0011904761904761906, 0.00019841269841269841,
     -9.9206349206349206e-05, -4.2087542087542085e-06, 5.7118807118807122e-06,
     -8.0111687254544398e-08, -2.7323316013792205e-07, 1.4031016015142999e-08,
     1.1649689229054309e-08, -9.3740732357290101e-10, -4.5894228219936281e-10,
     4.8312927009727368e-11, 1.7063609221963791e-11},
    {-0.0095238095238095247, 1.0 / 120, -0.0017857142857142857, -0.00059523809523809529,
     0.00030212842712842711, 6.3131313131313131e-06, -2.4154086654086653e-05,
     2.0003145003145002e-06, 1.3856431267145554e-06, -2.2182127836889742e-07,
     -6.4429558623069363e-08, 1.5559324178605223e-08, 2.5485078721468308e-09,
     -8.840221894559127e-10},
    {-0.0035714285714285713, 0, 0.0018037518037518038, -0.0007215007215007215,
     -5.5037555037555035e-05, 9.1575091575091575e-05, -9.7895931229264555e-06,
     -6.4750064750064753e-06, 1.5218629539357831e-06, 3.1000702102476147e-07,
     -1.299476614090764e-07, -9.3481959912742752e-09},
    {0.0036075036075036075, -0.003968253968253968, 0.0011627261627261628, 0.00038757538757538756,
     -0.00031103156103156102, 2.5206275206275207e-05, 3.0367689681415171e-05,
     -7.7819913254086925e-06, -1.6086154571153835e-06, 8.5929568925252583e-07},
};

static double by_expansion(double a, double t) {
    double y = 0;
    for (int k = TERMS - 1; k >= 0; k--) {
        double row = 0;
        for (int n = DEGREE; n >= 0; n--) {
            row = row * t + expansion[k][n];
        }
        y = (y + row) / a;
    }
    return y + (t == 0 ? 1 : t / expm1(t));
}

double nvdp__gamma_implicit_log_gradient(double alpha, double log_g) {
    if (!(alpha > 0) || isinf(alpha) || isnan(log_g)) return NAN;
    if (alpha >= 64) {
        double t = log_g - log(alpha);
        if (fabs(t) <= 1) return by_expansion(alpha, t);
    }
    double g = exp(log_g);
    if (g <= alpha + 3 * sqrt(alpha) + 2) return by_series(alpha, log_g, g);
    return by_fraction(alpha, log_g, g);
}
