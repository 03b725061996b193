/* Renyi divergence of diagonal Gaussians: the plain form, and forms for long flat arrays that
 * serve all pairs, both directions together.
 *
 * van Erven & Harremoes 2014, Eq. 10, per dimension, with v = (1-l) var_p + l var_q:
 *
 *     D_l = l (mu_p - mu_q)^2 / (2 v)
 *           + [ 1/2 log v - (1-l)/2 log var_p - l/2 log var_q ] / (1-l),
 *
 * +inf if v <= 0, where the integral diverges. */
#include "rdp/pairs.h"
#include <float.h>
#include <gsl/gsl_poly.h>

/* --- The plain form --- */

/* One dimension, finite order l = 1 + s. With u = var_p/var_q - 1 and v/var_q = 1 - s u, the
 * bracket above is half of
 *
 *     log(v/var_q) / -s  -  log(var_p/var_q)  =  nvdp__log_second_difference(s, -u, ...),
 *
 * which needs neither a difference of large logarithms nor a division by a small s. For l = 1,
 * Kullback-Leibler, (mu_p - mu_q)^2 / (2 var_q) + 1/2 (u - log(1+u)). */
static double dimension(double order, double mu_p, double var_p, double mu_q, double var_q) {
    double s = order - 1;
    double u = (var_p - var_q) / var_q;
    double far = -s * u;
    if (far <= -1) return INFINITY;
    double d = mu_p - mu_q;
    double mean = order * (d * d / var_q) / (1 + far);
    return 0.5 * (mean + nvdp__log_second_difference(s, -u, var_p / var_q, 1 + far));
}

/* One dimension, order infinity: sup log p(x)/q(x). The log-ratio is a quadratic in x. The
 * log-ratio is bounded iff var_p < var_q (or the Gaussians are equal). The vertex of the quadratic
 * is then
 *
 *     1/2 log(var_q/var_p)  +  (mu_p - mu_q)^2 / (2 (var_q - var_p)). */
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
        /* The term is NaN only if a ratio of variances exceeds the range of double: returns the
         * upper bound +inf. */
        if (!(term < INFINITY)) return INFINITY;
        sum += fmax(term, 0); /* a term is >= 0 in exact arithmetic */
    }
    return sum;
}

double nvdp_renyi_gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q) {
    order = nvdp__order(order);
    if (isnan(order)) return NAN;
    for (size_t i = 0; i < n; i++) {
        if (!(var_p[i] > 0 && var_q[i] > 0)) return NAN;
        if (!isfinite(var_p[i]) || !isfinite(var_q[i])) return NAN;
        if (!isfinite(mu_p[i]) || !isfinite(mu_q[i])) return NAN;
    }
    return nvdp__gaussian(order, n, mu_p, var_p, mu_q, var_q);
}

/* The divergence of N(M, I) and N(M', I) is l |M - M'|^2 / 2 (the formula above with equal
 * variances), and |M - M'| <= |M| + |M'| <= 2C: replacing a text moves M by up to the diameter
 * of the ball, not its radius. */
double nvdp_renyi_sequence_bound(double order, double radius) {
    order = nvdp__order(order);
    if (isnan(order) || !(radius >= 0) || isinf(radius)) return NAN;
    return radius > 0 ? 2 * order * radius * radius : 0;
}

/* --- Chebyshev fits for close variances ---
 *
 * With M = var_p + var_q, t = (var_p - var_q)/M and a = 1 + 2 s, the two variances v above are
 * M/2 (1 - a t) for D(P||Q) and M/2 (1 + a t) for D(Q||P). Hence, with x = t^2, d = mu_p - mu_q
 * and the second differences g(t), g(-t) of the logarithm in either direction,
 *
 *     2 D  = sum  d^2/M 2l (1 +- a t)/(1 - a^2 x)  +  x (e(x) +- t o(x)),
 *     e(x) = (g(t) + g(-t)) / (2 x),
 *     o(x) = (g(t) - g(-t)) / (2 x t),
 *
 * where e and o are even and smooth: polynomials in x. Nothing cancels for t -> 0, because x is
 * a factor, nor for s -> 0, where g has its limit (Kullback-Leibler). Both directions need only
 * the even and the odd sums, and no logarithm.
 *
 * The functions are singular at a^2 x = 1 and x = 1. Interpolation at Chebyshev points up to a
 * fraction r^2 of the nearest singularity has the error z^-terms, z = y + sqrt(y^2 - 1), y =
 * 2/r^2 - 1. The error is 1e-9 for r = 1/8 and 4 terms, and for r = 0.6 and 9 terms. */
enum { FUNCTIONS = 3, CHECKS = 25 };

/* Max relative error of the polynomials. */
static const double fit_error = 2e-8;

/* Computes 2l/(1 - a^2 x), e and o as defined above. */
static void functions(double order, double x, double value[FUNCTIONS]) {
    double s = order - 1;
    double a = 1 + 2 * s;
    double t = sqrt(x);
    double up = 2 * t / (1 - t);    /* var_p/var_q - 1 */
    double down = -2 * t / (1 + t); /* var_q/var_p - 1 */
    double to = nvdp__log_second_difference(s, -up, 1 + up, 1 - s * up);
    double from = nvdp__log_second_difference(s, -down, 1 + down, 1 - s * down);
    value[0] = 2 * order / (1 - a * a * x);
    value[1] = (to + from) / (2 * x);
    value[2] = (to - from) / (2 * x * t);
}

/* Returns the largest relative error between the interpolation points, in either direction. */
static double deviation(double order, const struct nvdp__chebyshev *fit) {
    double worst = 0;
    for (int k = 0; k < CHECKS; k++) {
        double x = fit->limit * (k + 0.5) / CHECKS;
        double t = sqrt(x);
        double want[FUNCTIONS];
        functions(order, x, want);
        worst = fmax(worst, fabs(gsl_poly_eval(fit->mean, fit->terms, x) / want[0] - 1));
        double even = gsl_poly_eval(fit->even, fit->terms, x);
        double odd = gsl_poly_eval(fit->odd, fit->terms, x);
        for (int sign = -1; sign <= 1; sign += 2) {
            double g = want[1] + sign * t * want[2];
            double error = fabs(even + sign * t * odd - g) / g;
            worst = error <= worst ? worst : error; /* a NaN counts as the worst error */
        }
    }
    return worst;
}

bool nvdp__chebyshev_fit(double order, int terms, double reach, struct nvdp__chebyshev *fit) {
    const double pi = 3.14159265358979323846264338328;
    double a = 2 * order - 1;
    double limit_t = reach / fmax(1, fabs(a));
    double x[NVDP__WIDE_TERMS], y[FUNCTIONS][NVDP__WIDE_TERMS];
    *fit = (struct nvdp__chebyshev){.terms = terms, .limit = limit_t * limit_t, .slope = a};
    for (int k = 0; k < terms; k++) {
        double value[FUNCTIONS];
        x[k] = fit->limit * (1 - cos(pi * (k + 0.5) / terms)) / 2;
        functions(order, x[k], value);
        for (int f = 0; f < FUNCTIONS; f++) {
            y[f][k] = value[f];
        }
    }
    double *powers[FUNCTIONS] = {fit->mean, fit->even, fit->odd};
    for (int f = 0; f < FUNCTIONS; f++) {
        double divided[NVDP__WIDE_TERMS], work[NVDP__WIDE_TERMS];
        gsl_poly_dd_init(divided, x, y[f], (size_t)terms);
        gsl_poly_dd_taylor(powers[f], 0, divided, x, (size_t)terms, work);
    }
    bool good = deviation(order, fit) <= fit_error;
    if (!good) fit->limit = -1;
    return good;
}

/* --- Blocks of dimensions, both directions ---
 *
 * A divergence over n dimensions with v = var_q - s (var_p - var_q) is
 *
 *     1/2 { l sum d^2/v  -  [log prod v - log prod var_q] / s
 *                        -  [log prod var_p - log prod var_q] },
 *
 * so products replace n logarithms: a mantissa and an integer exponent for each product and one
 * logarithm at the end; the logarithms of the texts' own variances are known. Order 1:
 *
 *     1/2 { sum (d^2 + var_p - var_q)/var_q  -  [log prod var_p - log prod var_q] }.
 *
 * The first form with reliable digits is used:
 *     products   the value is large compared with the rounding of the products / s;
 *     Chebyshev  (fast) variances within 0.6 of a singularity;
 *     series     (exact) variances within a quarter of each other: the plain form's own series;
 *     plain      nvdp__gaussian, which decides every infinity and every case near one.
 *
 * Doubles are used even if 1e-6 would suffice: with products, a dimension takes 13 operations
 * for both directions, all on the arrays as they are. In single precision, the logarithms would
 * have an error of n 2^-24 / s, which is no useful bound at s = 0.1. Polynomials in single
 * precision are accurate but take 28 operations, which cancels the gain of wider vectors. */

/* A variance v below this fraction of the largest variance is left to the plain form: the
 * rounding error of v is 1e-16 var/v, and the error of d^2/v is as large. */
static const double floor_share[] = {[NVDP_PAIRS_FAST] = 1e-9, [NVDP_PAIRS_EXACT] = 1e-3};

struct nvdp__plan nvdp__plan(double order, enum nvdp_pairs_arithmetic arithmetic) {
    struct nvdp__plan made = {.order = nvdp__order(order),
                              .arithmetic = arithmetic,
                              .kernels = nvdp__kernels(),
                              .narrow.limit = -1,
                              .wide.limit = -1};
    if (arithmetic == NVDP_PAIRS_FAST && !isinf(made.order)) {
        nvdp__chebyshev_fit(made.order, NVDP__NARROW_TERMS, 0.125, &made.narrow);
        nvdp__chebyshev_fit(made.order, NVDP__WIDE_TERMS, 0.6, &made.wide);
    }
    return made;
}

double nvdp__log_product(size_t n, const double *var) {
    /* with |log var| <= 300, the product of a group stays in the range of double */
    enum { CHAINS = 4, GROUP = 16 };
    long double whole = 1;
    long power = 0;
    for (size_t first = 0; first < n; first += GROUP) {
        long double chain[CHAINS] = {1, 1, 1, 1};
        for (size_t k = first; k < n && k < first + GROUP; k++) {
            chain[k % CHAINS] *= (long double)var[k];
        }
        int moved;
        whole = frexpl(whole * (chain[0] * chain[1]) * (chain[2] * chain[3]), &moved);
        power += moved;
    }
    return (double)(logl(whole) + (long double)power * 0.693147180559945309417232121458176568L);
}

/* True if the rounding of a value from products is small: the rounding of n factors and of the
 * logarithms, times 1/|s|. At order 1, the terms that cancel are below 2 D + n (spread_p +
 * spread_q). Exact arithmetic assumes independent roundings and counts sqrt(n) of them. Fast
 * arithmetic uses an upper bound: a factor has three roundings, each at most epsilon/2. */
static bool sure(const struct nvdp__plan *plan, size_t n, const struct nvdp__dim_range *p,
                 const struct nvdp__dim_range *q, double value) {
    double s = fabs(plan->order - 1);
    double by = s == 0 ? 1 : 1 + 1 / s;
    if (plan->arithmetic == NVDP_PAIRS_EXACT) {
        double size = sqrt((double)n) + fabs(p->logs) + fabs(q->logs);
        return value < INFINITY && DBL_EPSILON * size * by < 1e-13 * value;
    }
    double size = (double)n * (4 + p->spread + q->spread);
    return value < INFINITY && DBL_EPSILON * size * by < 1e-7 * value;
}

static void from_products(const struct nvdp__plan *plan, size_t n, const struct nvdp__dim_range *p,
                          const struct nvdp__dim_range *q, double value[2], bool good[2]) {
    double s = plan->order - 1;
    double floor = s == 0 ? 0 : floor_share[plan->arithmetic] * fmax(p->max_var, q->max_var);
    double own = p->logs - q->logs;
    struct nvdp__products got;
    plan->kernels->products(s, floor, n, p, q, &got);
    if (s == 0) {
        value[0] = 0.5 * (got.fraction[0] - own);
        value[1] = 0.5 * (got.fraction[1] + own);
    } else {
        double far_p = log(got.mantissa[0]) + (double)got.exponent[0] * NVDP__LN2;
        double far_q = log(got.mantissa[1]) + (double)got.exponent[1] * NVDP__LN2;
        value[0] = 0.5 * (plan->order * got.fraction[0] - (far_p - q->logs) / s - own);
        value[1] = 0.5 * (plan->order * got.fraction[1] - (far_q - p->logs) / s + own);
    }
    for (int side = 0; side < 2; side++) {
        good[side] = !got.unsafe[side] && sure(plan, n, p, q, value[side]);
    }
}

/* Evaluates the polynomials; returns false if the plain form must decide. Below 1e-17 per
 * dimension, the rounding of the variances matters. */
static bool from_polynomials(const struct nvdp__plan *plan, size_t n,
                             const struct nvdp__dim_range *p, const struct nvdp__dim_range *q,
                             double value[2]) {
    const struct nvdp__kernels *run = plan->kernels;
    if (!(plan->narrow.limit > 0 && run->chebyshev(&plan->narrow, n, p, q, value)) &&
        !(plan->wide.limit > 0 && run->chebyshev(&plan->wide, n, p, q, value))) {
        return false;
    }
    value[0] *= 0.5;
    value[1] *= 0.5;
    double threshold = 1e-17 * (double)n;
    return value[0] > threshold && value[1] > threshold && value[0] < INFINITY &&
           value[1] < INFINITY;
}

static double slowly(const struct nvdp__plan *plan, size_t n, const struct nvdp__dim_range *p,
                     const struct nvdp__dim_range *q) {
    if (!isinf(plan->order)) {
        if (plan->order != 1) {
            bool inside = false;
            double value = plan->kernels->series(plan->order, n, p, q, &inside);
            if (inside) return value;
        }
        if (plan->kernels->outside(plan->order - 1, n, p->var, q->var)) return INFINITY;
    }
    return nvdp__gaussian(plan->order, n, p->mu, p->var, q->mu, q->var);
}

void nvdp__gaussian_both(const struct nvdp__plan *plan, size_t n, const struct nvdp__dim_range *p,
                         const struct nvdp__dim_range *q, const bool wanted[2], bool *small,
                         double value[2]) {
    bool good[2] = {false, false};
    bool fast = plan->arithmetic == NVDP_PAIRS_FAST && !isinf(plan->order);
    if (fast && *small && from_polynomials(plan, n, p, q, value)) return;
    if (!isinf(plan->order) && (fast || plan->order != 1)) {
        from_products(plan, n, p, q, value, good);
    }
    if ((good[0] || !wanted[0]) && (good[1] || !wanted[1])) {
        *small = false;
        return;
    }
    double other[2];
    if (fast && !*small && from_polynomials(plan, n, p, q, other)) {
        *small = true;
        value[0] = other[0];
        value[1] = other[1];
        return;
    }
    if (wanted[0] && !good[0]) value[0] = slowly(plan, n, p, q);
    if (wanted[1] && !good[1]) value[1] = slowly(plan, n, q, p);
}
