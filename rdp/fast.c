/* Gaussians, the fast form.
 *
 * A divergence over n dimensions (rdp/gaussian.c) with v = var_q + (1-l)(var_p - var_q) is
 *     1/2 { l sum d^2/v + [log prod v/prod var_q] / (1-l) - log (prod var_p/prod var_q) },
 * so products take the place of n logarithms: a mantissa and an integer exponent for each product,
 * and one logarithm at the end.  The sum of fractions is kept as one fraction over eight
 * dimensions, num/den -> (num v + d^2 den)/(den v), so that there is one division for eight.
 *
 * Three forms, the first that is sure of its digits answers for the chunk:
 * products  all v well above 0, and the value large against the rounding of the products / (1-l);
 * series    variances within a quarter of each other: the plain form's own series;
 * plain     nvdp__gaussian, which decides every infinity and every case near one. */
#include "rdp/fast.h"
#include "rdp/clones.h"
#include "rdp/gap.h"
#include "rdp/gaussian.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LANES = 8, STEPS = 8 };

typedef double lanes __attribute__((vector_size(8 * sizeof(double))));
typedef int64_t counts __attribute__((vector_size(8 * sizeof(int64_t))));
/* The same at any address of double. */
typedef double loose_lanes __attribute__((vector_size(8 * sizeof(double)), aligned(8), may_alias));

/* What the products of a chunk come to. */
struct products {
    double fraction;    /* sum d^2 / v */
    double mantissa[3]; /* of prod v, prod var_q, prod var_p, over lanes */
    int64_t exponent[3];
    bool unsafe; /* some v near 0, or a product outside the range of double */
};

/* Moves the exponent of x to `sum`.  `unsafe` collects sign bits: set by a zero or subnormal
 * (exponent field 0), an infinity or NaN (0x7ff), and a negative number. */
#define SPLIT(x, sum)                                                                              \
    do {                                                                                           \
        counts bits_ = (counts)(x);                                                                \
        counts power_ = (bits_ >> 52) & 0x7ff;                                                     \
        unsafe |= (power_ - 1) | (0x7fe - power_) | bits_;                                         \
        sum += power_ - 1023;                                                                      \
        (x) = (lanes)((bits_ & 0x000fffffffffffff) | 0x3ff0000000000000);                          \
    } while (0)

/* One step of eight dimensions; unsafe where v is not well above 0. */
#define STEP(mp, vp, mq, vq)                                                                       \
    do {                                                                                           \
        lanes v_ = (vq) + e * ((vp) - (vq));                                                       \
        lanes d_ = (mp) - (mq);                                                                    \
        unsafe |= (counts)(v_ - 1e-9 * (vq));                                                      \
        num = num * v_ + d_ * d_ * den;                                                            \
        den *= v_;                                                                                 \
        prod_q *= (vq);                                                                            \
        prod_p *= (vp);                                                                            \
    } while (0)

NVDP_CLONES
static void multiply(double e, size_t n, const double *mu_p, const double *var_p,
                     const double *mu_q, const double *var_q, struct products *out) {
    const lanes one = {1, 1, 1, 1, 1, 1, 1, 1};
    lanes fraction = {0};
    lanes all_v = one, all_q = one, all_p = one;
    counts power_v = {0}, power_q = {0}, power_p = {0};
    counts unsafe = {0};
    size_t k = 0;
    while (k < n) {
        lanes num = {0};
        lanes den = one, prod_q = one, prod_p = one;
        if (n - k >= (size_t)LANES * STEPS) {
            for (size_t step = 0; step < STEPS; step++, k += LANES) {
                lanes mp = *(const loose_lanes *)(mu_p + k);
                lanes vp = *(const loose_lanes *)(var_p + k);
                lanes mq = *(const loose_lanes *)(mu_q + k);
                lanes vq = *(const loose_lanes *)(var_q + k);
                STEP(mp, vp, mq, vq);
            }
        } else {
            for (; k < n; k += LANES) {
                size_t rest = (n - k < LANES ? n - k : LANES) * sizeof(double);
                lanes mp = {0}, mq = {0};
                lanes vp = one, vq = one;
                memcpy(&mp, mu_p + k, rest);
                memcpy(&vp, var_p + k, rest);
                memcpy(&mq, mu_q + k, rest);
                memcpy(&vq, var_q + k, rest);
                STEP(mp, vp, mq, vq);
            }
        }
        fraction += num / den;
        SPLIT(den, power_v);
        SPLIT(prod_q, power_q);
        SPLIT(prod_p, power_p);
        all_v *= den;
        all_q *= prod_q;
        all_p *= prod_p;
        SPLIT(all_v, power_v);
        SPLIT(all_q, power_q);
        SPLIT(all_p, power_p);
    }
    *out = (struct products){.mantissa = {1, 1, 1}};
    for (int lane = 0; lane < LANES; lane++) {
        out->fraction += fraction[lane];
        out->mantissa[0] *= all_v[lane];
        out->mantissa[1] *= all_q[lane];
        out->mantissa[2] *= all_p[lane];
        out->exponent[0] += power_v[lane];
        out->exponent[1] += power_q[lane];
        out->exponent[2] += power_p[lane];
        out->unsafe = out->unsafe || unsafe[lane] < 0;
    }
}

static bool from_products(double order, size_t n, const double *mu_p, const double *var_p,
                          const double *mu_q, const double *var_q, double *value) {
    const double ln2 = 0.693147180559945309417232121458;
    double e = 1 - order;
    struct products got;
    multiply(e, n, mu_p, var_p, mu_q, var_q, &got);
    if (got.unsafe) return false;
    double far =
        (double)(got.exponent[0] - got.exponent[1]) * ln2 + log(got.mantissa[0] / got.mantissa[1]);
    double near =
        (double)(got.exponent[2] - got.exponent[1]) * ln2 + log(got.mantissa[2] / got.mantissa[1]);
    *value = 0.5 * (order * got.fraction + far / e - near);
    /* Each factor is off by about an epsilon, at random: sqrt(n) of them in a product, and 1/|e|
     * more in the quotient.  Accept where that is below 1e-13 of the value. */
    double rounding = sqrt((double)n) * DBL_EPSILON * (1 + 1 / fabs(e));
    return *value < INFINITY && rounding < 1e-13 * *value;
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

double nvdp__gaussian_fast(double order, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q) {
    double value = 0;
    bool inside = false;
    if (order != 1 && !isinf(order)) {
        if (from_products(order, n, mu_p, var_p, mu_q, var_q, &value)) return value;
        value = series(order, n, mu_p, var_p, mu_q, var_q, &inside);
        if (inside) return value;
    }
    return nvdp__gaussian(order, n, mu_p, var_p, mu_q, var_q);
}
