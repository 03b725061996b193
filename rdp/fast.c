/* Gaussians, the fast forms.
 *
 * A divergence over n dimensions (rdp/gaussian.c) with v = var_q - s (var_p - var_q), s = l-1, is
 *     1/2 { l sum d^2/v - [log prod v - log prod var_q] / s - [log prod var_p - log prod var_q] },
 * so products take the place of n logarithms: a mantissa and an integer exponent for each product,
 * one logarithm at the end, and those of the texts' own variances are known.  Order 1:
 *     1/2 { sum (d^2 + var_p - var_q)/var_q - [log prod var_p - log prod var_q] }.
 *
 * The forms, the first that is sure of its digits answers:
 * products  the value is large against the rounding of the products / s;
 * near      (fast) variances within 0.6 of a singularity: polynomials, rdp/near.c;
 * series    (exact) variances within a quarter of each other: the plain form's own series;
 * plain     nvdp__gaussian, which decides every infinity and every case near one.
 *
 * Why doubles also where 1e-6 would do: with products a dimension takes 13 operations for both
 * directions, all on the arrays as they are.  In single precision the logarithms would keep
 * n 2^-24 / s, which bounds nothing at s = 0.1, and polynomials in single precision, which are
 * sure of their digits, take 28 operations: what the wider vectors win they lose. */
#include "rdp/fast.h"
#include "rdp/clones.h"
#include "rdp/gap.h"
#include "rdp/gaussian.h"
#include "rdp/order.h"
#include <float.h>
#include <math.h>

enum { LANES = 8 };

/* A variance v below this share of the largest is left to the plain form: there v carries a
 * rounding of 1e-16 var/v, and so does d^2/v. */
static double floor_share(enum nvdp_pairs_arithmetic arithmetic) {
    return arithmetic == NVDP_PAIRS_EXACT ? 1e-3 : 1e-9;
}

struct nvdp__gaussian_plan nvdp__gaussian_plan(double order,
                                               enum nvdp_pairs_arithmetic arithmetic) {
    struct nvdp__gaussian_plan made = {.order = nvdp__order(order),
                                       .arithmetic = arithmetic,
                                       .kernels = nvdp__kernels(),
                                       .near.limit = -1,
                                       .middle.limit = -1};
    if (arithmetic == NVDP_PAIRS_FAST && !isinf(made.order)) {
        nvdp__near_fit(made.order, NVDP__NEAR_TERMS, 0.125, &made.near);
        nvdp__near_fit(made.order, NVDP__MIDDLE_TERMS, 0.6, &made.middle);
    }
    return made;
}

double nvdp__log_product(size_t n, const double *var) {
    enum { CHAINS = 4, GROUP = 16 }; /* |log var| <= 300: a group stays in range */
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

/* Whether the rounding of a value from products is small: that of n factors and of the logarithms,
 * times 1/|s|.  At order 1 the terms that cancel are below 2 D + n (spread_p + spread_q). For the
 * exact arithmetic roundings are taken as independent, sqrt(n) of them; for the fast one bounded:
 * a factor has three, each at most epsilon/2. */
static bool sure(const struct nvdp__gaussian_plan *plan, size_t n, const struct nvdp__block *p,
                 const struct nvdp__block *q, double value) {
    double s = fabs(plan->order - 1);
    double by = s == 0 ? 1 : 1 + 1 / s;
    if (plan->arithmetic == NVDP_PAIRS_EXACT) {
        double size = sqrt((double)n) + fabs(p->logs) + fabs(q->logs);
        return value < INFINITY && DBL_EPSILON * size * by < 1e-13 * value;
    }
    double size = (double)n * (4 + p->spread + q->spread);
    return value < INFINITY && DBL_EPSILON * size * by < 1e-7 * value;
}

static void from_products(const struct nvdp__gaussian_plan *plan, size_t n,
                          const struct nvdp__block *p, const struct nvdp__block *q, double value[2],
                          bool good[2]) {
    const double ln2 = 0.693147180559945309417232121458;
    double s = plan->order - 1;
    double floor = floor_share(plan->arithmetic) * fmax(p->most, q->most);
    double near = p->logs - q->logs;
    struct nvdp__products got;
    if (s == 0) {
        plan->kernels->products_kl(0, n, p->mu, p->var, q->mu, q->var, &got);
        value[0] = 0.5 * (got.fraction[0] - near);
        value[1] = 0.5 * (got.fraction[1] + near);
    } else {
        plan->kernels->products(s, floor, n, p->mu, p->var, q->mu, q->var, &got);
        double far_p = log(got.mantissa[0]) + (double)got.exponent[0] * ln2;
        double far_q = log(got.mantissa[1]) + (double)got.exponent[1] * ln2;
        value[0] = 0.5 * (plan->order * got.fraction[0] - (far_p - q->logs) / s - near);
        value[1] = 0.5 * (plan->order * got.fraction[1] - (far_q - p->logs) / s + near);
    }
    for (int side = 0; side < 2; side++) {
        good[side] = !got.unsafe[side] && sure(plan, n, p, q, value[side]);
    }
}

/* Variances within a quarter: u and (1-l) u both inside the series' range, else false. */
NVDP_CLONES
static double series(double order, size_t n, const double *mu_p, const double *var_p,
                     const double *mu_q, const double *var_q, bool *inside) {
    double e = 1 - order;
    double limit = 0.24 / fmax(1, fabs(e));
    double part[LANES] = {0};
    double most[LANES] = {0};
    size_t whole = n - n % LANES;
    for (size_t k = 0; k < whole; k += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            double vq = var_q[k + lane];
            double u = (var_p[k + lane] - vq) / vq;
            double d = mu_p[k + lane] - mu_q[k + lane];
            double size = fabs(u);
            most[lane] = size > most[lane] ? size : most[lane];
            double mean = order * (d * d / vq) / (1 + e * u);
            part[lane] += mean + nvdp__log1pmx_near(e * u) / e - nvdp__log1pmx_near(u);
        }
    }
    for (size_t k = whole; k < n; k++) {
        double u = (var_p[k] - var_q[k]) / var_q[k];
        double d = mu_p[k] - mu_q[k];
        most[0] = fabs(u) > most[0] ? fabs(u) : most[0];
        part[0] += order * (d * d / var_q[k]) / (1 + e * u);
        part[0] += nvdp__log1pmx_near(e * u) / e - nvdp__log1pmx_near(u);
    }
    double sum = 0;
    *inside = true;
    for (size_t lane = 0; lane < LANES; lane++) {
        sum += part[lane];
        *inside = *inside && most[lane] < limit;
    }
    return 0.5 * sum;
}

/* By polynomials; below 1e-17 a dimension the variances' own rounding shows, which the plain form
 * is to decide. */
static bool from_polynomials(const struct nvdp__gaussian_plan *plan, size_t n,
                             const struct nvdp__block *p, const struct nvdp__block *q,
                             double value[2]) {
    const struct nvdp__kernels *run = plan->kernels;
    bool good =
        plan->near.limit > 0 && run->near(&plan->near, n, p->mu, p->var, q->mu, q->var, value);
    if (!good && plan->middle.limit > 0) {
        good = run->middle(&plan->middle, n, p->mu, p->var, q->mu, q->var, value);
    }
    if (!good) return false;
    value[0] *= 0.5;
    value[1] *= 0.5;
    double least = 1e-17 * (double)n;
    return value[0] > least && value[1] > least && value[0] < INFINITY && value[1] < INFINITY;
}

static double slowly(const struct nvdp__gaussian_plan *plan, size_t n, const struct nvdp__block *p,
                     const struct nvdp__block *q) {
    if (!isinf(plan->order)) {
        if (plan->order != 1) {
            bool inside = false;
            double value = series(plan->order, n, p->mu, p->var, q->mu, q->var, &inside);
            if (inside) return value;
        }
        if (plan->kernels->outside(plan->order - 1, n, p->var, q->var)) return INFINITY;
    }
    return nvdp__gaussian(plan->order, n, p->mu, p->var, q->mu, q->var);
}

void nvdp__gaussian_both(const struct nvdp__gaussian_plan *plan, size_t n,
                         const struct nvdp__block *p, const struct nvdp__block *q,
                         const bool wanted[2], bool *small, double value[2]) {
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
