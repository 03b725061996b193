/* The exponent K(z) of a pair's moment generating function (exact.h), at real and at complex
 * arguments.
 *
 * The contribution of a dimension, with r = var_P/var_Q, y = r-1, q0 = var_P (mu_P-mu_Q)^2/var_Q^2,
 * x = 1 - c y, q = q0/x, d = y/x:
 *
 *     K(c)           =  c E + c^2 q/2 - [log(1 - c y) + c y]/2,      E = -[log r - y]/2 + (mu_P-mu_Q)^2/(2 var_Q),
 *     K(c+t) - K(c)  =  t K'(c) + [(c+t)^2 q/(1 - d t) - c^2 q - t (2 c q + c^2 q d)]/2 - [log(1 - d t) + d t]/2;
 *
 * every term is of second order in y and mu_P - mu_Q. If y > 1, this form has no advantage: c y, which occurs in both E
 * and the logarithm, is as large as the ratio of the variances, and the rounding of c y would remain in the sum. The
 * form without c y is, with s = (mu_P - mu_Q)^2/var_Q,
 *
 *     K(c)   =  -c log(r)/2 + c (1+c) s/(2 x) - log(1 - c y)/2,
 *     K'(c)  =  -log(r)/2 + (1 + 2 c - c^2 y) s/(2 x^2) + d/2.
 *
 * Dimensions with |d t| <= 1/4 all along the path enter through their power sums, which are the same for all points.
 * Few dimensions remain, because sum d^2 t^2 is of order 100 where exact.c's integrand has become negligible.
 *
 * The weights contribute lnB(x), x = alpha_P + c v, v = alpha_P - alpha_Q, and parts linear in c. As in dirichlet.c,
 * the x log x of all components and of their total are combined. With X, V, A the sums of x, v, alpha_P, d_i = v_i
 * A - V alpha_Pi and phi(y) = (1 + y) log(1 + y) - y,
 *
 *     K(c+t) - K(c) - t K'(c)  =  (1 + V t/X) sum x_i phi(y_i) + sum tau(x_i, v_i t) - tau(X, V t),
 *     y_i                      =  d_i t / (x_i (X + V t)),       1 + y_i  =  (1 + v_i t/x_i) / (1 + V t/X),
 *     tau(x, w)                =  lnGamma(x + w) - lnGamma(x) - w psi(x) - x phi(w/x);
 *
 * sum x_i y_i = 0, every y_i is of first order in the distance of the pseudo-counts from proportional ones, and tau
 * is of order log x. Weights that P and Q share have v = 0 and enter the sum as one weight. */
#include "rdp/exact.h"

#include <float.h>

enum { LANES = 8 };

/* ---- real c ---- */

/* Uses DLMF 5.15.8 and its derivatives from u = 16 on, and the recurrence below 16. If c was rounded to the end of
 * the strip, u may be <= 0, which is treated as 0. */
void nvdp__digammas(double u, double out[3]) {
    double shift[3] = {0, 0, 0}, at = u = fmax(u, 1e-100);
    for (; at < 16; at++) {
        const double inverse = 1 / at;
        shift[0] -= inverse;
        shift[1] += inverse * inverse;
        shift[2] -= 2 * inverse * inverse * inverse;
    }
    const double x = 1 / at, z = x * x;
    out[0] = -x / 2 - z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z / 132))));
    out[1] = 1. / 2 + x * (1. / 6 - z * (1. / 30 - z * (1. / 42 - z * (1. / 30 - z * 5 / 66))));
    out[2] = -1 - x * (1. / 2 - z * (1. / 6 - z * (1. / 6 - z * (3. / 10 - z * 5 / 6))));
    if (at == u) return;
    out[0] += log(at / u) + shift[0];
    out[1] = u * (u * (shift[1] + x + z * out[1]) - 1);
    out[2] = u * (u * u * (shift[2] - z + z * x * out[2]) + 1);
}

/* Returns K' of the wide dimensions without the part that `first` contains. */
static double wide_slope(const struct nvdp_exact *e, double c) {
    double sum = 0;
    for (size_t i = 0; i < e->wide; i++) {
        const double inverse = 1 / (1 - c * e->y[i]), d = e->y[i] * inverse;
        sum += e->s[i] * inverse * ((1 + 2 * e->unit * c) * inverse - e->unit * c * c * d) + d;
    }
    return sum / 2;
}

/* Computes K', K'' and K''' of the weights. K' is summed in two ways. The sum from 0 on keeps its digits for close
 * pairs; the direct sum beta + sum v psi(x) - V psi(X) keeps them for distant pairs. The sum with the smaller parts
 * is used. */
static struct nvdp__derivatives derive_weights(const struct nvdp_exact *e, double c) {
    const double total = e->all_a + c * e->all_v;
    const double slope = e->all_v / e->all_a, rate = e->all_v / total;
    double end[3], near[3], own[3], gap = 0, second = 0, third = 0;
    struct nvdp__sized from_0 = {e->mean, e->mean}, direct = e->beta;
    nvdp__digammas(e->all_a, near);
    nvdp__digammas(total, end);
    nvdp__sized_add(&from_0, -e->all_v * (end[0] - near[0]));
    nvdp__sized_add(&direct, -e->all_v * (end[0] + log(total)));
    for (size_t i = 0; i < e->weights; i++) {
        const double a = e->a[i], v = e->v[i], d = e->d[i], x = fmax(a + c * v, 1e-100);
        const double y = c * d / (a * total), ratio = x / a * (e->all_a / total);
        const double r = v / x, off = d / (x * total);
        nvdp__digammas(a, near);
        nvdp__digammas(x, own);
        nvdp__sized_add(&from_0, d / e->all_a * nvdp__log_ratio(y, ratio));
        nvdp__sized_add(&from_0, slope * a * nvdp__log1pmx(y, ratio));
        nvdp__sized_add(&from_0, v * (own[0] - near[0]));
        nvdp__sized_add(&direct, v * (own[0] + log(x)));
        gap = x * off * off;
        /* the term of the total is subtracted from the term of the largest weight */
        second += gap + (i == 0 ? off * (r + rate) * own[1] + rate * rate * (own[1] - end[1])
                                : r * r * own[1]);
        third += r * r * r * own[2] - gap * (r + 2 * rate);
    }
    if (e->same > 0) {
        const double y = -c * e->all_v / total, ratio = e->all_a / total;
        gap = e->same * rate * rate;
        nvdp__sized_add(&from_0,
                        e->same * slope * (nvdp__log1pmx(y, ratio) - nvdp__log_ratio(y, ratio)));
        second += gap;
        third -= 2 * gap * rate;
    }
    third -= rate * rate * rate * end[2];
    return (struct nvdp__derivatives){from_0.size < direct.size ? from_0.value : direct.value,
                                      second, third};
}

struct nvdp__derivatives nvdp__exact_derive(const struct nvdp_exact *e, double c) {
    struct nvdp__derivatives k = {0, 0, 0};
    double first = 0, second = 0, third = 0;
    for (size_t i = 0; i < e->wide; i++) {
        const double inverse = 1 / (1 - c * e->y[i]), q = e->q0[i] * inverse, d = e->y[i] * inverse;
        second += q * inverse * inverse + d * d / 2;
        third += 3 * q * d * inverse * inverse + d * d * d;
    }
#pragma omp simd reduction(+ : first, second, third)
    for (size_t i = e->wide; i < e->n; i++) {
        const double inverse = 1 / (1 - c * e->y[i]), q = e->q0[i] * inverse, d = e->y[i] * inverse;
        first += c * q * (1 + c * d / 2) + c * e->y[i] * d / 2;
        second += q * inverse * inverse + d * d / 2;
        third += 3 * q * d * inverse * inverse + d * d * d;
    }
    k.first = e->first + e->times * (first + wide_slope(e, c)) + c * e->quadratic;
    k.second = e->times * second + e->quadratic;
    k.third = e->times * third;
    if (e->weights == 0) return k;
    const struct nvdp__derivatives w = derive_weights(e, c);
    k.first += e->releases * w.first;
    k.second += e->releases * w.second;
    k.third += e->releases * w.third;
    return k;
}

/* ---- complex arguments ---- */

static double complex log_of_1_plus(double complex w) {
    const double x = creal(w), y = cimag(w);
    if (fabs(x) + fabs(y) > 0.5) return clog(1 + w);
    return nvdp__complex(log1p(x * (2 + x) + y * y) / 2, atan2(y, 1 + x));
}

/* Returns 1/z without protection against overflow. */
static double complex plain_inverse(double complex z) {
    const double square = creal(z) * creal(z) + cimag(z) * cimag(z);
    return nvdp__complex(creal(z) / square, -cimag(z) / square);
}

/* The part of Stirling's series that tends to 0 (DLMF 5.11.1). At |z| >= 16 the error is 1e-17 (1e-14 in a sector of
 * 120 degrees to either side). */
static double complex stirling(double complex z) {
    static const double b[] = {1. / 12,   -1. / 360,      1. / 1260, -1. / 1680,
                               1. / 1188, -691. / 360360, 1. / 156,  -3617. / 122400};
    const double complex inverse = plain_inverse(z), square = inverse * inverse;
    double complex sum = 0;
    for (int k = 7; k >= 0; k--)
        sum = sum * square + b[k];
    return sum * inverse;
}

/* log(1 + y) - y, computed as in divergence.h */
static double complex log_rest(double complex y) {
    if (fabs(creal(y)) + fabs(cimag(y)) > 0.25) return clog(1 + y) - y;
    const double complex u = y * plain_inverse(2 + y), z = u * u;
    double complex tail = 1. / 21;
    for (int n = 19; n > 1; n -= 2)
        tail = tail * z + 1. / n;
    return 2 * u * z * tail - y * u;
}

/* phi(y) = (1 + y) log(1 + y) - y */
static double complex bregman(double complex y) {
    return y * y + (1 + y) * log_rest(y);
}

/* lnGamma(x + w) - lnGamma(x) - w psi(x) - x phi(w/x), for x > 0 and w off the real axis or small. Uses Stirling's
 * series from x = 16 on. The recurrence raises smaller x to that range; the logarithms of the recurrence are
 * principal on either side of the axis. */
static double complex log_gamma_rest(double x, double complex w) {
    double complex sum = 0;
    if (x < 16) {
        const double complex own = x * bregman(w / x);
        for (; x < 16; x++)
            sum -= log_rest(w / x);
        sum += x * bregman(w / x) - own;
    }
    const double z = 1 / (x * x);
    const double slope = z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z / 132))));
    return sum - log_rest(w / x) / 2 + stirling(x + w) - stirling(x) + w * slope;
}

void nvdp__exact_expand(struct nvdp__expansion *x, double radius) {
    struct nvdp_exact *e = x->of;
    const double c = x->c;
    double part[NVDP__EXACT_TERMS][2][LANES] = {0}, first = 0;
    x->radius = radius;
    x->large = 0;
    for (size_t from = 0; from < e->n; from += LANES) {
        double d[LANES] = {0}, w[LANES] = {0}, power[LANES];
        for (size_t i = 0; i < LANES && from + i < e->n; i++) {
            const double y = e->y[from + i], inverse = 1 / (1 - c * y),
                         q = e->q0[from + i] * inverse;
            d[i] = y * inverse;
            if (from + i >= e->wide) first += c * q * (1 + c * d[i] / 2) + c * y * d[i] / 2;
            d[i] *= radius;
            w[i] = q * (radius * inverse) * (radius * inverse);
            if (fabs(d[i]) <= 0.25) continue;
            e->large[2 * x->large] = d[i];
            e->large[2 * x->large++ + 1] = w[i];
            d[i] = w[i] = 0;
        }
        for (size_t i = 0; i < LANES; i++)
            power[i] = 1;
        for (size_t k = 0; k < NVDP__EXACT_TERMS; k++) {
            for (size_t i = 0; i < LANES; i++) {
                part[k][0][i] += power[i] * d[i] * d[i];
                part[k][1][i] += power[i] * w[i];
                power[i] *= d[i];
            }
        }
    }
    x->first = e->first + e->times * (first + wide_slope(e, c)) + c * e->quadratic;
    if (e->weights > 0) x->first += e->releases * derive_weights(e, c).first;
    for (size_t k = 0; k < NVDP__EXACT_TERMS; k++) {
        x->log_power[k] = x->w_power[k] = 0;
        for (size_t i = 0; i < LANES; i++) {
            x->log_power[k] += part[k][0][i] / (double)(k + 2);
            x->w_power[k] += part[k][1][i];
        }
    }
}

/* Returns the part of K(c+t) - K(c) - t K'(c) that comes from the weights. */
static double complex weights_rest(const struct nvdp_exact *e, double c, double complex t) {
    const double total = e->all_a + c * e->all_v;
    const double complex moved = t * e->all_v, end = total + moved, step = t * plain_inverse(end);
    double complex gap = e->same > 0 ? e->same * bregman(-step * e->all_v) : 0;
    double complex sum = -log_gamma_rest(total, moved);
    for (size_t i = 0; i < e->weights; i++) {
        const double x = fmax(e->a[i] + c * e->v[i], 1e-100);
        gap += x * bregman(step * (e->d[i] / x));
        sum += log_gamma_rest(x, t * e->v[i]);
    }
    return sum + gap * end / total;
}

/* Returns the sum over the weights of the Bregman divergences of x log x from c to 0. */
static double weights_gap(const struct nvdp_exact *e, double c) {
    const double total = e->all_a + c * e->all_v, last = -c * e->all_v / total;
    double gap = e->same > 0 ? e->same * nvdp__xlogx(last, e->all_a / total) : 0;
    for (size_t i = 0; i < e->weights; i++) {
        const double a = e->a[i], x = a + c * e->v[i];
        gap += a * nvdp__xlogx(c * e->d[i] / (a * total), x / a * (e->all_a / total));
    }
    return gap * total / e->all_a;
}

/* True if no pseudo-count at c is below half of the pseudo-count at 0, so that Stirling's series holds. */
static bool is_inside(const struct nvdp_exact *e, double c) {
    bool inside = c * e->all_v > -e->all_a / 2;
    for (size_t i = 0; i < e->weights; i++)
        inside = inside && c * e->v[i] > -e->a[i] / 2;
    return inside;
}

/* Computes K(c) of the weights for one release. Near 0, the order 1 + h c may lose c, so it is not used. If both
 * ways fail, the size of the result is infinite. Left of 0, the parts of the divergence have both signs. */
static struct nvdp__sized weights_moment(const struct nvdp_exact *e, double c) {
    static const double near = 1e-3, nearest = 1e-8;
    const double s = e->unit * c;
    struct nvdp__sized made = {0, 0};
    if (fabs(s) < near && is_inside(e, c)) {
        nvdp__sized_add(&made, c * e->mean);
        nvdp__sized_add(&made, creal(weights_rest(e, 0, c)));
    } else if (fabs(s) < nearest) {
        made.size = INFINITY;
    } else {
        nvdp__sized_add(&made, s * nvdp_renyi_dirichlet(1 + s, e->all, e->p, e->q));
        if (s < 0) made.size += weights_gap(e, c) - s * weights_gap(e, -1 / e->unit);
    }
    return made;
}

double nvdp__exact_log_moment(const struct nvdp_exact *e, double c, double *size) {
    const double order = 1 + e->unit * c;
    double sum = 0, all = 0;
    for (size_t i = 0; i < e->wide; i++) {
        const double y = -c * e->y[i], part = c * order * e->s[i] / (1 + y), less = log1p(y);
        sum += part - less;
        all += fabs(part) + fabs(less);
    }
    for (size_t i = e->wide; i < e->n; i++) {
        const double y = -c * e->y[i];
        sum += c * c * e->q0[i] / (1 + y) - nvdp__log1pmx(y, 1 + y);
    }
    *size = fabs(c * e->first) + e->times * (all + fabs(sum)) / 2 + c * c * e->quadratic / 2;
    sum = c * e->first + e->times * sum / 2 + c * c * e->quadratic / 2;
    if (e->weights > 0) {
        const struct nvdp__sized weights = weights_moment(e, c);
        sum += e->releases * weights.value;
        *size += e->releases * weights.size;
    }
    return sum;
}

double complex nvdp__exact_exponent(struct nvdp__expansion *x, double epsilon, double complex t) {
    const struct nvdp_exact *e = x->of;
    double complex logs = 0, quotients = 0;
    if (cabs(t) > x->radius) nvdp__exact_expand(x, 2 * cabs(t));
    const double complex at = t / x->radius;
    for (size_t k = NVDP__EXACT_TERMS; k-- > 0;) {
        logs = logs * at + x->log_power[k];
        quotients = quotients * at + x->w_power[k];
    }
    logs *= at * at;
    for (size_t i = 0; i < x->large; i++) {
        const double complex w = -e->large[2 * i] * at;
        logs -= log_of_1_plus(w) - w;
        quotients += e->large[2 * i + 1] * plain_inverse(1 + w);
    }
    const double quadratic = e->quadratic * x->radius * x->radius;
    double complex sum = t * (x->first - epsilon) +
                         (e->times * (logs + at * at * quotients) + at * at * quadratic) / 2;
    return e->weights == 0 ? sum : sum + e->releases * weights_rest(e, x->c, t);
}

/* ---- moments ---- */

double nvdp__exact_moment(const struct nvdp_exact *e, double s) {
    double size;
    if (!(s < nvdp_exact_moment_limit(e))) return INFINITY;
    const double moment = nvdp__exact_log_moment(e, s / e->unit, &size);
    return moment + 8 * DBL_EPSILON * size;
}

double nvdp__exact_deviation(const struct nvdp_exact *e) {
    return e->disjoint ? INFINITY : sqrt(e->zero.second) / e->unit;
}
