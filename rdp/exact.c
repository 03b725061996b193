/* The exact privacy loss of a pair: delta(eps), its inverse, the trade-off curve.
 *
 * L = log P(S)/Q(S), S ~ P, has the moment generating function M(z) = E e^(z L) = exp K(z), K(z) = z D_{z+1}(P||Q),
 * analytic except for cuts and poles on the real axis, left of -1 and right of some s > 0. With
 *
 *     W(z)     =  e^(K(z) - z eps) / (z (z+1)),     J_g  =  1/(2 pi i) int g(z) W(z) dz
 *
 * upward along a path that crosses the real axis at c > 0,
 *
 *     J_1      =  delta(eps)  =  E (1 - e^(eps-L))_+,
 *     J_{z+1}  =  P(L > eps),     J_z  =  e^eps Q(L > eps);
 *
 * for -1 < c < 0 the path passes the pole at 0 on its other side: J_1 = delta - 1, J_{z+1} = P(L > eps) - 1, J_z is
 * the same (Lugannani & Rice 1980 do this for sums). c is where |W| is smallest on the real axis, on the side of 0
 * on which the mean of e^(c L) P reaches eps. Nothing cancels there, and the value is as accurate as the exponent,
 * however small.
 *
 * Path: the hyperbola through the saddle that follows the path of steepest descent to second order,
 *
 *     z(u)  =  c + k (i sinh u + b (cosh u - 1)),     k = f''^(-1/2),   b = k f'''/(3 f''),   f = log |W|,
 *
 * or one bent by 1/2 to either side if |W| decreases sooner there: if only a few dimensions have unequal variances,
 * W decreases like a power along a straight path but exponentially along a bent one. As f'' >= 1/c^2, 1/(1+c)^2 and
 * as much for each singularity, the nearest singularity is at least k away. W is therefore analytic in a strip of u
 * at least half a unit wide, and the error of the trapezoidal rule decreases like exp(-2 pi 1/2 / h) or faster
 * (Trefethen & Weideman 2014). The step is halved until two sums agree. From h = 1/100 on their difference is only
 * rounding, of which up to 1e-8 is accepted. If it is larger, or the rounding of K(c) - c eps is, the pair has no
 * exact number: exact_bound.c.
 *
 * The contribution of a dimension to K, with r = var_P/var_Q, y = r-1, q0 = var_P (mu_P-mu_Q)^2/var_Q^2,
 * x = 1 - c y, q = q0/x, d = y/x:
 *
 *     K(c)           =  c E + c^2 q/2 - [log(1 - c y) + c y]/2,      E = -[log r - y]/2 + (mu_P-mu_Q)^2/(2 var_Q),
 *     K(c+t) - K(c)  =  t K'(c) + [(c+t)^2 q/(1 - d t) - c^2 q - t (2 c q + c^2 q d)]/2 - [log(1 - d t) + d t]/2;
 *
 * every term is of second order in y and mu_P - mu_Q. If y > 1, this form has no advantage: c y, which occurs in
 * both E and the logarithm, is as large as the ratio of the variances, and its rounding would remain in their sum.
 * Without it, with s = (mu_P - mu_Q)^2/var_Q,
 *
 *     K(c)   =  -c log(r)/2 + c (1+c) s/(2 x) - log(1 - c y)/2,
 *     K'(c)  =  -log(r)/2 + (1 + 2 c - c^2 y) s/(2 x^2) + d/2.
 *
 * Dimensions with |d t| <= 1/4 all along the path enter through their power sums, which are the same for all points.
 * Few others remain, because sum d^2 t^2 is of order 100 where W has become negligible.
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
 * is of order log x. Weights that P and Q share have v = 0 and enter the sum as one.
 *
 * Unit: with h, a power of 2 near the inverse of the largest dimension's spread, everything is stored for the loss h
 * L,
 *
 *     c h for c,   h eps for eps,   h y, h^2 q0, h s, h E, h (alpha_P - alpha_Q) for those above,
 *     W  =  e^(K(c) - c eps) / (c (1 + h c)),     J_z  =  h/(2 pi i) int c W(c) dc:
 *
 * this keeps numbers within range for very distant and very close pairs. */
#include "rdp/pairs.h"

#include <complex.h>
#include <float.h>
#include <gsl/gsl_cdf.h>
#include <stdlib.h>
#include <string.h>

enum {
    TERMS = 26, /* number of power sums: (1/4)^26 = 2e-16 */
    LANES = 8,
    MAX_HALVINGS = 9,
    MAX_STEPS = 200 /* of a root search */
};
static const double max_u = 40;         /* no path extends beyond this u */
static const double negligible = 1e-20; /* relative size of a negligible term */
static const double agree = 1e-12;      /* required agreement of two sums */
/* With steps below `fine`, two sums differ only by rounding: at most by `noise`. */
static const double fine = 1. / 100, noise = 1e-8;
static const double max_growth = 1e4; /* |W| grows this much on a path past the next singularity */
/* bound of c times the spread; beyond, epsilon exceeds every loss */
static const double max_slope = 1e12;
static const double log_underflow = -800; /* below this logarithm, a probability is 0 in double */
/* Max error of the logarithm of an exact probability if its exponent is large. */
static const double rounding = 1e-6;
/* From this mu on, only the closed form is used for Gaussians of equal variances. */
static const double far_apart = 1e6;

struct derivatives {
    double first, second, third; /* K', K'', K''' */
};

/* A sum, and the magnitude that determines its rounding. */
struct sized {
    double value, size;
};

static void add(struct sized *sum, double part) {
    sum->value += part;
    sum->size += fabs(part);
}

struct nvdp_exact {
    /* The pair in the other direction, if P is so much narrower that 1 + c must be small too;
     * else NULL. */
    struct nvdp_exact *mirror;
    bool disjoint;  /* P and Q are disjoint: delta is 1 */
    double unit;    /* h: all following members are for the loss h L */
    size_t n, wide; /* dimensions of unequal variances; those with y > 1 come first */
    double *y, *q0; /* [n] */
    double *s;      /* [wide] */
    double times;   /* multiplicity of each dimension */
    double first;   /* times sum E over all dimensions; for wide ones times sum -log(r)/2 */
    /* times sum q0 over those of equal variances: they add (c^2 + c/h)/2 of it to K, of which
     * the c/h part is in `first` */
    double quadratic;
    double *large;     /* [n, 2] scratch */
    size_t all;        /* weights */
    double *p, *q;     /* [all] pseudo-counts */
    size_t weights;    /* with different pseudo-counts in P and Q; the largest is first */
    double *a, *v, *d; /* [weights] of P; P's minus Q's; v A - V a */
    double all_a, all_v, releases; /* A and V of all weights */
    double same;                   /* sum of the pseudo-counts that P and Q share */
    double mean;                   /* K'(0) of the weights: their Kullback-Leibler divergence */
    struct sized beta;             /* lnB(q) - lnB(p) */
    double strip;                  /* s */
    struct derivatives zero;       /* at 0: mean, variance and third cumulant of the loss */
};

/* ---- real c ---- */

/* psi(u) - log u, u^2 psi'(u) - u and u^3 psi''(u) + u, without cancellation for large u: DLMF
 * 5.15.8 and its derivatives from u = 16 on, the recurrence below. u <= 0, which occurs if c was
 * rounded to the strip's end, is treated as 0. */
static void digammas(double u, double out[3]) {
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

/* K' of the wide dimensions without the part in `first`. */
static double wide_slope(const struct nvdp_exact *e, double c) {
    double sum = 0;
    for (size_t i = 0; i < e->wide; i++) {
        const double inverse = 1 / (1 - c * e->y[i]), d = e->y[i] * inverse;
        sum += e->s[i] * inverse * ((1 + 2 * e->unit * c) * inverse - e->unit * c * c * d) + d;
    }
    return sum / 2;
}

/* K', K'' and K''' of the weights. K' is summed in two ways: from 0 on, which keeps its digits
 * for close pairs, and directly as beta + sum v psi(x) - V psi(X), which keeps them for distant
 * pairs. The sum with the smaller parts is used. */
static struct derivatives derive_weights(const struct nvdp_exact *e, double c) {
    const double total = e->all_a + c * e->all_v;
    const double slope = e->all_v / e->all_a, rate = e->all_v / total;
    double end[3], near[3], own[3], gap = 0, second = 0, third = 0;
    struct sized from_0 = {e->mean, e->mean}, direct = e->beta;
    digammas(e->all_a, near);
    digammas(total, end);
    add(&from_0, -e->all_v * (end[0] - near[0]));
    add(&direct, -e->all_v * (end[0] + log(total)));
    for (size_t i = 0; i < e->weights; i++) {
        const double a = e->a[i], v = e->v[i], d = e->d[i], x = fmax(a + c * v, 1e-100);
        const double y = c * d / (a * total), ratio = x / a * (e->all_a / total);
        const double r = v / x, off = d / (x * total);
        digammas(a, near);
        digammas(x, own);
        add(&from_0, d / e->all_a * nvdp__log_ratio(y, ratio));
        add(&from_0, slope * a * nvdp__log1pmx(y, ratio));
        add(&from_0, v * (own[0] - near[0]));
        add(&direct, v * (own[0] + log(x)));
        gap = x * off * off;
        /* the part of the total is subtracted from that of the largest weight */
        second += gap + (i == 0 ? off * (r + rate) * own[1] + rate * rate * (own[1] - end[1])
                                : r * r * own[1]);
        third += r * r * r * own[2] - gap * (r + 2 * rate);
    }
    if (e->same > 0) {
        const double y = -c * e->all_v / total, ratio = e->all_a / total;
        gap = e->same * rate * rate;
        add(&from_0, e->same * slope * (nvdp__log1pmx(y, ratio) - nvdp__log_ratio(y, ratio)));
        second += gap;
        third -= 2 * gap * rate;
    }
    third -= rate * rate * rate * end[2];
    return (struct derivatives){from_0.size < direct.size ? from_0.value : direct.value, second,
                                third};
}

static struct derivatives derive(const struct nvdp_exact *e, double c) {
    struct derivatives k = {0, 0, 0};
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
    const struct derivatives w = derive_weights(e, c);
    k.first += e->releases * w.first;
    k.second += e->releases * w.second;
    k.third += e->releases * w.third;
    return k;
}

/* ---- complex arguments ---- */

/* C11's CMPLX, which not every compiler has. */
static double complex complex_of(double real, double imaginary) {
    const union {
        double part[2];
        double complex number;
    } made = {{real, imaginary}};
    return made.number;
}

static double complex log_of_1_plus(double complex w) {
    const double x = creal(w), y = cimag(w);
    if (fabs(x) + fabs(y) > 0.5) return clog(1 + w);
    return complex_of(log1p(x * (2 + x) + y * y) / 2, atan2(y, 1 + x));
}

/* 1/z without protection against overflow. */
static double complex inverse_of(double complex z) {
    const double square = creal(z) * creal(z) + cimag(z) * cimag(z);
    return complex_of(creal(z) / square, -cimag(z) / square);
}

/* The part of Stirling's series that tends to 0 (DLMF 5.11.1): at |z| >= 16 its error is 1e-17
 * (1e-14 in a sector of 120 degrees to either side). */
static double complex stirling(double complex z) {
    static const double b[] = {1. / 12,   -1. / 360,      1. / 1260, -1. / 1680,
                               1. / 1188, -691. / 360360, 1. / 156,  -3617. / 122400};
    const double complex inverse = inverse_of(z), square = inverse * inverse;
    double complex sum = 0;
    for (int k = 7; k >= 0; k--)
        sum = sum * square + b[k];
    return sum * inverse;
}

/* log(1 + y) - y; as in divergence.h. */
static double complex log_rest(double complex y) {
    if (fabs(creal(y)) + fabs(cimag(y)) > 0.25) return clog(1 + y) - y;
    const double complex u = y * inverse_of(2 + y), z = u * u;
    double complex tail = 1. / 21;
    for (int n = 19; n > 1; n -= 2)
        tail = tail * z + 1. / n;
    return 2 * u * z * tail - y * u;
}

/* phi(y) = (1 + y) log(1 + y) - y */
static double complex bregman(double complex y) {
    return y * y + (1 + y) * log_rest(y);
}

/* lnGamma(x + w) - lnGamma(x) - w psi(x) - x phi(w/x), x > 0, w off the real axis or small:
 * Stirling's series from x = 16 on. The recurrence raises smaller x to that range; its
 * logarithms are principal on either side of the axis. */
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

/* The data for K(c+t) - K(c): with w = q (1 + c d)^2 of a dimension,
 *
 *     (c+t)^2 q/(1 - d t) - c^2 q - t (2 c q + c^2 q d)  =  t^2 w / (1 - d t).
 *
 * t is stored in units of the radius R, d as d R, w as w R^2, because high powers of each alone
 * exceed the range of double. */
struct expansion {
    struct nvdp_exact *of;
    double c, first; /* K'(c) */
    double radius;   /* max |t| for which this holds */
    double log_power[TERMS],
        w_power[TERMS]; /* sums over small dimensions of (d R)^(k+2)/(k+2) and w R^2 (d R)^k */
    size_t large;       /* number of other dimensions, whose d and w are in of->large */
};

static void expand(struct expansion *x, double radius) {
    struct nvdp_exact *e = x->of;
    const double c = x->c;
    double part[TERMS][2][LANES] = {0}, first = 0;
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
        for (size_t k = 0; k < TERMS; k++) {
            for (size_t i = 0; i < LANES; i++) {
                part[k][0][i] += power[i] * d[i] * d[i];
                part[k][1][i] += power[i] * w[i];
                power[i] *= d[i];
            }
        }
    }
    x->first = e->first + e->times * (first + wide_slope(e, c)) + c * e->quadratic;
    if (e->weights > 0) x->first += e->releases * derive_weights(e, c).first;
    for (size_t k = 0; k < TERMS; k++) {
        x->log_power[k] = x->w_power[k] = 0;
        for (size_t i = 0; i < LANES; i++) {
            x->log_power[k] += part[k][0][i] / (double)(k + 2);
            x->w_power[k] += part[k][1][i];
        }
    }
}

/* K(c+t) - K(c) - t K'(c) of the weights. */
static double complex weights_rest(const struct nvdp_exact *e, double c, double complex t) {
    const double total = e->all_a + c * e->all_v;
    const double complex moved = t * e->all_v, end = total + moved, step = t * inverse_of(end);
    double complex gap = e->same > 0 ? e->same * bregman(-step * e->all_v) : 0;
    double complex sum = -log_gamma_rest(total, moved);
    for (size_t i = 0; i < e->weights; i++) {
        const double x = fmax(e->a[i] + c * e->v[i], 1e-100);
        gap += x * bregman(step * (e->d[i] / x));
        sum += log_gamma_rest(x, t * e->v[i]);
    }
    return sum + gap * end / total;
}

/* Sum over the weights of the Bregman divergences of x log x from c to 0. */
static double weights_gap(const struct nvdp_exact *e, double c) {
    const double total = e->all_a + c * e->all_v, last = -c * e->all_v / total;
    double gap = e->same > 0 ? e->same * nvdp__xlogx(last, e->all_a / total) : 0;
    for (size_t i = 0; i < e->weights; i++) {
        const double a = e->a[i], x = a + c * e->v[i];
        gap += a * nvdp__xlogx(c * e->d[i] / (a * total), x / a * (e->all_a / total));
    }
    return gap * total / e->all_a;
}

/* True if no pseudo-count at c is below half of its value at 0: Stirling's series holds. */
static bool is_inside(const struct nvdp_exact *e, double c) {
    bool inside = c * e->all_v > -e->all_a / 2;
    for (size_t i = 0; i < e->weights; i++)
        inside = inside && c * e->v[i] > -e->a[i] / 2;
    return inside;
}

/* K(c) of the weights, for one release. Near 0 it does not use the order 1 + h c, which may lose
 * c; if both ways fail, its size is infinite. Left of 0, the parts of the divergence have both
 * signs. */
static struct sized weights_moment(const struct nvdp_exact *e, double c) {
    static const double near = 1e-3, nearest = 1e-8;
    const double s = e->unit * c;
    struct sized made = {0, 0};
    if (fabs(s) < near && is_inside(e, c)) {
        add(&made, c * e->mean);
        add(&made, creal(weights_rest(e, 0, c)));
    } else if (fabs(s) < nearest) {
        made.size = INFINITY;
    } else {
        add(&made, s * nvdp_renyi_dirichlet(1 + s, e->all, e->p, e->q));
        if (s < 0) made.size += weights_gap(e, c) - s * weights_gap(e, -1 / e->unit);
    }
    return made;
}

/* K(c) = c D_{c+1}; *size is the magnitude that determines its rounding. */
static double log_moment(const struct nvdp_exact *e, double c, double *size) {
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
        const struct sized weights = weights_moment(e, c);
        sum += e->releases * weights.value;
        *size += e->releases * weights.size;
    }
    return sum;
}

/* K(c+t) - K(c) - t eps */
static double complex exponent(struct expansion *x, double epsilon, double complex t) {
    const struct nvdp_exact *e = x->of;
    double complex logs = 0, quotients = 0;
    if (cabs(t) > x->radius) expand(x, 2 * cabs(t));
    const double complex at = t / x->radius;
    for (size_t k = TERMS; k-- > 0;) {
        logs = logs * at + x->log_power[k];
        quotients = quotients * at + x->w_power[k];
    }
    logs *= at * at;
    for (size_t i = 0; i < x->large; i++) {
        const double complex w = -e->large[2 * i] * at;
        logs -= log_of_1_plus(w) - w;
        quotients += e->large[2 * i + 1] * inverse_of(1 + w);
    }
    const double quadratic = e->quadratic * x->radius * x->radius;
    double complex sum = t * (x->first - epsilon) +
                         (e->times * (logs + at * at * quotients) + at * at * quadratic) / 2;
    return e->weights == 0 ? sum : sum + e->releases * weights_rest(e, x->c, t);
}

/* ---- the integrals ---- */

struct path {
    struct expansion at;
    double epsilon, c, k, b;
    /* 1/c and h/(1 + h c), the inverse distances of the saddle from the poles */
    double inverse_c, inverse_c1;
    double order;        /* 1/(1 + h c) */
    double moment, size; /* K(c), and the magnitude that determines its rounding */
    double end, step;    /* of u */
    double error;        /* relative error of the integrals */
};

enum { OF_1, OF_Z, OF_Z_PLUS_1, INTEGRALS };

/* g(z(u)) z'(u) W(z(u)) / (i k W(c)) for g = 1, z and (z+1)/(1 + h c). */
static void integrand(struct path *path, double u, double complex out[INTEGRALS]) {
    const double c = path->c, half = sinh(u / 2);
    const double complex t = path->k * complex_of(2 * path->b * half * half, sinh(u));
    const double complex speed = complex_of(cosh(u), -path->b * sinh(u));
    out[OF_Z_PLUS_1] =
        cexp(exponent(&path->at, path->epsilon, t)) * speed / (1 + t * path->inverse_c);
    out[OF_1] = out[OF_Z_PLUS_1] / (1 + t * path->inverse_c1);
    out[OF_Z] = out[OF_1] * (c + t);
}

static bool is_lost(const double complex value[INTEGRALS], double c) {
    return !(cabs(value[OF_1]) > negligible) && !(cabs(value[OF_Z]) > negligible * fabs(c)) &&
           !(cabs(value[OF_Z_PLUS_1]) > negligible);
}

/* The u from which the integrand is negligible (at two points a quarter apart); INFINITY if
 * there is none. */
static double reach(struct path *path) {
    double complex value[INTEGRALS];
    bool before = false;
    for (double u = 0.25; u <= max_u; u += 0.25) {
        integrand(path, u, value);
        if (!(cabs(value[OF_1]) < max_growth)) return INFINITY;
        const bool now = is_lost(value, path->c);
        if (now && before) return u;
        before = now;
    }
    return INFINITY;
}

/* The relative difference of two sums. The last integral may cancel: it is compared with the first one's part in it. */
static double difference(const struct path *path, int g, const double now[INTEGRALS],
                         double before) {
    const double smallest = g == OF_Z_PLUS_1 ? fabs(now[OF_1]) * path->order : 0;
    return now[g] == before ? 0 : fabs(now[g] - before) / fmax(fabs(now[g]), smallest);
}

/* Computes the integrals of these functions over 2 pi. */
static bool integrate(struct path *path, double out[INTEGRALS]) {
    const double skew = path->b, bends[] = {skew, 0.5, -0.5, 0};
    double end = INFINITY, chosen = skew;
    for (size_t i = 0; i < sizeof bends / sizeof *bends && !(end < 8); i++) {
        path->b = bends[i];
        const double here = reach(path);
        if (here < end) chosen = bends[i];
        end = fmin(end, here);
    }
    if (isinf(end)) return false;
    path->b = chosen;
    double step = 0.5, sum[INTEGRALS], last[INTEGRALS] = {NAN, NAN, NAN};
    double complex value[INTEGRALS];
    integrand(path, 0, value);
    for (int g = 0; g < INTEGRALS; g++)
        sum[g] = creal(value[g]) / 2;
    for (int halving = 0; halving < MAX_HALVINGS; halving++) {
        for (double u = halving == 0 ? step : step / 2; u <= end; u += step) {
            integrand(path, u, value);
            for (int g = 0; g < INTEGRALS; g++)
                sum[g] += creal(value[g]);
        }
        if (halving > 0) step /= 2;
        path->error = 0;
        for (int g = 0; g < INTEGRALS; g++) {
            out[g] = sum[g] * step * path->k / M_PI;
            const double off = difference(path, g, out, last[g]);
            if (!(off <= path->error)) path->error = off;
            last[g] = out[g];
        }
        path->end = end;
        path->step = step;
        if (path->error <= (step < fine ? noise : agree)) return true;
    }
    return false;
}

/* ---- the saddle ---- */

/* The minimum of |W| on c's side of 0: the root of K'(c) - eps - 1/c - h/(1 + h c), which
 * increases. Beyond `max_slope` there is none. Newton's method starts from the root of K'(0) + c
 * K''(0) - eps - m/c with m poles. If the loss is far from normal, the root can be hundreds of
 * decades away; then bisection of the logarithm finds it. */
static double saddle(const struct nvdp_exact *e, double epsilon, bool right,
                     struct derivatives *k) {
    const double h = e->unit;
    double low = right ? 0 : -1 / h, high = right ? e->strip : 0;
    const double v = e->zero.second, g = epsilon - e->zero.first, m = right ? 2 : 1;
    const double r = hypot(g, sqrt(4 * m * v));
    double c = right ? fmin(g > 0 ? (g + r) / (2 * v) : 2 * m / (r - g), high / 2)
                     : fmax(g < 0 ? (g - r) / (2 * v) : -2 * m / (r + g), low / 2);
    for (int i = 0; i < MAX_STEPS; i++) {
        const double inverse_c = 1 / c, inverse_c1 = h / (1 + h * c);
        *k = derive(e, c);
        const double f = k->first - epsilon - inverse_c - inverse_c1;
        const double slope = k->second + inverse_c * inverse_c + inverse_c1 * inverse_c1;
        if (right && g > 0 && c * sqrt(v) > max_slope) return INFINITY;
        *(f > 0 ? &high : &low) = c;
        double next = c - f / slope;
        if (!(next > low && next < high))
            next = isinf(high) ? 4 * c : low + (high - low) * (f > 0 ? 0.25 : 0.75);
        if (fabs(next - c) * sqrt(slope) < 0.01) return c; /* near the root, c is as good */
        if (i > 8 && i % 2 == 0 && low != 0 && high != 0 && isfinite(high))
            next = (right ? 1 : -1) * sqrt(fabs(low)) * sqrt(fabs(high));
        c = next;
    }
    return c;
}

/* ---- points of the curve ---- */

static struct nvdp_exact_point certain(const struct nvdp_exact *e, double epsilon) {
    const double one = e->disjoint ? 1 : 0; /* else epsilon exceeds every loss */
    return (struct nvdp_exact_point){.epsilon = epsilon,
                                     .delta = one,
                                     .log_delta = log(one),
                                     .rest = 1 - one,
                                     .tpr = one,
                                     .fpr = 0};
}

/* Two equal distributions, whose loss is 0: the integrand would not decrease. */
static struct nvdp_exact_point equal(double epsilon) {
    const double one = epsilon < 0 ? 1 : 0, delta = fmax(-expm1(epsilon), 0);
    return (struct nvdp_exact_point){.epsilon = epsilon,
                                     .delta = delta,
                                     .log_delta = log(delta),
                                     .rest = 1 - delta,
                                     .tpr = one,
                                     .fpr = one};
}

/* The results of the integrals, as logarithms. */
struct values {
    bool right;          /* the saddle is right of 0 */
    double side;         /* delta; if the saddle is left of 0, 1 - delta */
    double positive;     /* P(L > eps); if the saddle is left of 0, P(L <= eps) */
    double fpr, weighed; /* Q(L > eps), and e^eps times it */
    double error;        /* of the integrals */
};

static const struct values none = {true, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 0};

static bool probabilities(const struct values *v) {
    return v->side <= rounding && v->positive <= rounding && v->fpr <= rounding;
}

static bool through(struct nvdp_exact *e, double epsilon, bool right, struct values *out);

/* The values from the pair in the other direction, at -eps, with its loss -L:
 *
 *     1 - delta  =  e^eps (1 - delta'),   Q(L > eps)  =  1 - P'(L' > -eps),   P(L <= eps)  =  Q'(L' > -eps). */
static bool mirrored(struct nvdp_exact *e, double epsilon, struct values *out) {
    struct values v;
    if (!through(e, -epsilon, e->zero.first <= -e->unit * epsilon, &v)) return false;
    const double rest = v.right ? log1p(-exp(fmin(v.side, 0))) : v.side;
    const double fpr = v.right ? log1p(-exp(fmin(v.positive, 0))) : v.positive;
    *out = (struct values){false, epsilon + rest, v.fpr, fpr, epsilon + fpr, v.error};
    return true;
}

/* True if P(L > eps) <= e^(K - c eps) (Chernoff) is 0 in double. This holds for any saddle, even
 * one at the very end of the strip. */
static bool is_beyond(const struct nvdp_exact *e, double c, double epsilon) {
    const double inside = fmin(c, e->strip / 2);
    double size;
    const double exponent = log_moment(e, inside, &size) - inside * epsilon;
    return exponent + 4 * DBL_EPSILON * (size + fabs(inside * epsilon)) < log_underflow;
}

/* The path through the saddle c, at which k are the derivatives of K. */
static struct path lay(struct nvdp_exact *e, double scaled, double c, const struct derivatives *k) {
    const double h = e->unit, inverse_c = 1 / c, inverse_c1 = h / (1 + h * c);
    const double second = k->second + inverse_c * inverse_c + inverse_c1 * inverse_c1;
    const double third =
        k->third - 2 * (inverse_c * inverse_c * inverse_c + inverse_c1 * inverse_c1 * inverse_c1);
    struct path path = {.at = {.of = e, .c = c},
                        .epsilon = scaled,
                        .c = c,
                        .k = 1 / sqrt(second),
                        .inverse_c = inverse_c,
                        .inverse_c1 = inverse_c1,
                        .order = 1 / (1 + h * c)};
    path.moment = log_moment(e, c, &path.size);
    if (isfinite(third)) path.b = fmin(fmax(path.k * third / (3 * second), -0.7), 0.7);
    expand(&path.at, 17 / sqrt(k->second));
    return path;
}

/* True if double precision knows the exponent of W(c). */
static bool is_known(const struct path *path, double scaled) {
    return 4 * DBL_EPSILON * (path->size + fabs(path->c * scaled)) < rounding;
}

/* The values from the integrals `part` along a path that crosses the axis at c. */
static bool evaluate(const struct path *path, double epsilon, bool right,
                     const double part[INTEGRALS], struct values *out) {
    const double h = path->at.of->unit, c = path->c, scaled = h * epsilon;
    const double order = log1p(h * c), height = path->moment - log(fabs(c)) - order;
    const double of_q = height + log(fabs(part[OF_Z])) + log(h);
    out->right = right;
    out->side = height - c * scaled + log(part[OF_1]);
    out->positive = height - c * scaled + order + log(fmax(part[OF_Z_PLUS_1], 0));
    out->weighed = of_q - c * scaled;
    out->fpr = of_q - (1 + h * c) * epsilon;
    out->error = path->error;
    if (probabilities(out)) return true;
    *out = none;
    return false;
}

/* Computes the values by a path on this side of 0. */
static bool through(struct nvdp_exact *e, double epsilon, bool right, struct values *out) {
    struct derivatives k = {0, 0, 0};
    double part[INTEGRALS];
    *out = none;
    if (!isfinite(e->zero.first) || !isfinite(e->zero.second)) return false;
    const double h = e->unit, scaled = h * epsilon, c = saddle(e, scaled, right, &k);
    if (isinf(c)) return true;
    if (e->mirror != NULL && 1 + h * c < 1e-4) return mirrored(e->mirror, epsilon, out);
    struct path path = lay(e, scaled, c, &k);
    if (is_known(&path, scaled) && integrate(&path, part) &&
        evaluate(&path, epsilon, right, part, out))
        return true;
    return right && is_beyond(e, c, scaled);
}

/* ---- one path for many epsilons ---- */

/* The exponent K(z) - z eps of another epsilon differs by -z (eps' - eps), so one path serves all epsilons for which
 * its integrals still converge: those within about 3 standard deviations of the loss, as at c, from the epsilon of the
 * saddle. Beyond, W(c) exceeds the integral so much that digits cancel. */
enum { POINTS = 1024, WAIT = 32 };
/* Standard deviations from the first epsilon of a path to that of its saddle. A path that fails is laid nearer. */
static const double max_ahead = 2.5, min_ahead = 0.1;
static const double max_cancelled = 1e3; /* sum of magnitudes over the sum */
static const double max_end = 1e-15;     /* relative size of the last term */

struct shared_path {
    struct path path;
    double ahead;
    size_t points, wait; /* points of the path; epsilons to compute without it, after a failure */
    double complex t[POINTS];                /* z - c */
    double complex value[POINTS][INTEGRALS]; /* of the integrand, at half of the path's step */
};

/* Lays the path that serves from `epsilon` on, up to `last`; without one, points is 0. */
static void lay_shared(struct nvdp_exact *e, double epsilon, double last, bool right,
                       struct shared_path *shared) {
    struct derivatives k = {0, 0, 0};
    double part[INTEGRALS];
    const double h = e->unit;
    shared->points = 0;
    if (!isfinite(e->zero.first) || !isfinite(e->zero.second)) return;
    double c = saddle(e, h * epsilon, right, &k);
    if (isinf(c)) return;
    const double scaled = fmin(h * epsilon + shared->ahead * sqrt(k.second), h * last);
    c = saddle(e, scaled, right, &k);
    if (isinf(c) || (e->mirror != NULL && 1 + h * c < 1e-4)) return;
    shared->path = lay(e, scaled, c, &k);
    struct path *path = &shared->path;
    if (!is_known(path, scaled) || !integrate(path, part)) return;
    path->step /= 2;
    if (!(path->end / path->step < POINTS - 1)) return;
    for (double u = 0; u <= path->end; u += path->step, shared->points++) {
        const double half = sinh(u / 2);
        shared->t[shared->points] = path->k * complex_of(2 * path->b * half * half, sinh(u));
        integrand(path, u, shared->value[shared->points]);
    }
    for (int g = 0; g < INTEGRALS; g++)
        shared->value[0][g] /= 2;
}

/* Computes the integrals for another epsilon; false if they need a path of their own. */
static bool integrate_shared(struct shared_path *shared, double scaled, double out[INTEGRALS]) {
    struct path *path = &shared->path;
    const double shift = scaled - path->epsilon;
    double half[INTEGRALS] = {0}, size[INTEGRALS] = {0}, end[INTEGRALS] = {0};
    for (int g = 0; g < INTEGRALS; g++)
        out[g] = 0;
    for (size_t j = 0; j < shared->points; j++) {
        const double x = creal(shared->t[j]) * shift, y = cimag(shared->t[j]) * shift,
                     scale = exp(-x);
        const double real = scale * cos(y),
                     imaginary = scale * sin(y); /* of e^(-t shift), its conjugate */
        for (int g = 0; g < INTEGRALS; g++) {
            const double part =
                creal(shared->value[j][g]) * real + cimag(shared->value[j][g]) * imaginary;
            out[g] += part;
            half[g] += j % 2 == 0 ? 2 * part : 0;
            size[g] += fabs(part);
            end[g] = fabs(part);
        }
    }
    path->error = 0;
    bool good = true;
    for (int g = 0; g < INTEGRALS; g++) {
        const double off = difference(path, g, out, half[g]);
        const double whole =
            fmax(fabs(out[g]), g == OF_Z_PLUS_1 ? fabs(out[OF_1]) * path->order : 0);
        good =
            good && off <= agree && size[g] <= max_cancelled * whole && end[g] <= max_end * whole;
        path->error = fmax(path->error, off);
    }
    for (int g = 0; g < INTEGRALS; g++)
        out[g] *= path->step * path->k / M_PI;
    return good;
}

/* As through(), by the shared paths [left of 0, right of 0], if there are some: they serve epsilons in ascending
 * order, up to `last`. */
static bool through_shared(struct nvdp_exact *e, double epsilon, double last, bool right,
                           struct shared_path *shared, struct values *out) {
    double part[INTEGRALS];
    if (shared == NULL) return through(e, epsilon, right, out);
    shared += right;
    if (shared->wait > 0) shared->wait--;
    for (bool fresh = false; shared->wait == 0; fresh = true) {
        if (shared->points > 0 && is_known(&shared->path, e->unit * epsilon) &&
            integrate_shared(shared, e->unit * epsilon, part) &&
            evaluate(&shared->path, epsilon, right, part, out))
            return true;
        if (fresh) shared->ahead *= 0.5;
        if (shared->ahead >= min_ahead) lay_shared(e, epsilon, last, right, shared);
        if (shared->ahead < min_ahead || shared->points == 0) {
            shared->ahead = max_ahead;
            shared->wait = WAIT;
        }
    }
    return through(e, epsilon, right, out);
}

/* One path gives delta or 1 - delta with all digits, and the other as the complement. It gives 1
 * - delta left of 0, where the mean of the loss is above epsilon, except for close pairs, whose
 * delta is small for every epsilon. The other side of 0 is used if this side was wrong, failed,
 * or gave fewer digits. */
static nvdp_status values_at(struct nvdp_context *ctx, struct nvdp_exact *e, double epsilon,
                             double last, struct shared_path *shared, struct values *out) {
    const double h = e->unit;
    const bool near = e->zero.first < h / 2 && epsilon > -0.5;
    const bool right = near || e->zero.first <= h * epsilon;
    struct values other;
    const bool found = through_shared(e, epsilon, last, right, shared, out);
    if (found && out->error <= agree && out->side < log(0.9)) return NVDP_OK;
    if (through_shared(e, epsilon, last, !right, shared, &other)) {
        if (!found || other.error <= fmax(agree, out->error)) *out = other;
    } else if (!found) {
        return nvdp__fail(
            ctx, NVDP_ERR_NUMERIC,
            "exact loss: the integral for epsilon %g did not converge to a probability", epsilon);
    }
    return NVDP_OK;
}

static struct nvdp_exact_point point_of(double epsilon, const struct values *v) {
    const double side = exp(fmin(v->side, 0)), positive = exp(fmin(v->positive, 0));
    return (struct nvdp_exact_point){.epsilon = epsilon,
                                     .delta = v->right ? side : 1 - side,
                                     .log_delta = v->right ? fmin(v->side, 0) : log1p(-side),
                                     .rest = v->right ? 1 - side : side,
                                     .tpr = v->right ? positive : 1 - positive,
                                     .fpr = exp(fmin(v->fpr, 0))};
}

/* mu of Gaussians of equal variances, whose loss is N(mu^2/2, mu^2), if it is at least
 * `far_apart`; else 0. */
static double far_mu(const struct nvdp_exact *e) {
    const double mu = e->n == 0 && e->weights == 0 ? sqrt(e->quadratic) / e->unit : 0;
    return mu >= far_apart ? mu : 0;
}

/* Their point; a: standard deviations of the loss above its mean. */
static struct nvdp_exact_point far_point(double mu, double a, double epsilon) {
    const double delta = epsilon < 0 ? 1 : nvdp_gdp_delta(mu, epsilon);
    return (struct nvdp_exact_point){.epsilon = epsilon,
                                     .delta = delta,
                                     .log_delta = log(delta),
                                     .rest = gsl_cdf_ugaussian_P(a),
                                     .tpr = gsl_cdf_ugaussian_Q(a),
                                     .fpr = gsl_cdf_ugaussian_Q(a + mu)};
}

/* The point at an epsilon, with `shared` paths or NULL: see through_shared(). */
static nvdp_status point_at(struct nvdp_context *ctx, struct nvdp_exact *e, double epsilon,
                            double last, struct shared_path *shared, struct nvdp_exact_point *out) {
    struct values v;
    const double mu = far_mu(e);
    if (!isfinite(epsilon))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "epsilon: expected a finite number, found %g",
                          epsilon);
    *out = e->disjoint ? certain(e, epsilon) : equal(epsilon);
    if (e->disjoint || e->zero.second == 0) return NVDP_OK;
    if (mu > 0) {
        *out = far_point(mu, fma(-mu / 2, mu, epsilon) / mu, epsilon);
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(values_at(ctx, e, epsilon, last, shared, &v));
    *out = point_of(epsilon, &v);
    return NVDP_OK;
}

nvdp_status nvdp_exact_delta(struct nvdp_context *ctx, struct nvdp_exact *e, double epsilon,
                             struct nvdp_exact_point *out) {
    return point_at(ctx, e, epsilon, epsilon, NULL, out);
}

struct ranked {
    double epsilon;
    size_t at;
};

static int by_epsilon(const void *left, const void *right) {
    const struct ranked *a = left, *b = right;
    return (a->epsilon > b->epsilon) - (a->epsilon < b->epsilon);
}

nvdp_status nvdp_exact_curve(struct nvdp_context *ctx, struct nvdp_exact *e, size_t count,
                             const double *epsilon, struct nvdp_exact_point *out) {
    nvdp_status status = NVDP_OK;
    struct shared_path *shared = NULL;
    struct nvdp_exact_point *made = NULL;
    struct ranked *order = NULL;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(epsilon[i]))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "epsilon, number %zu: expected a finite number, found %g", i,
                              epsilon[i]);
    NVDP_TRY(NVDP__NEW(ctx, order, count));
    NVDP_TRY(NVDP__NEW(ctx, made, count));
    if (count > 2) {
        NVDP_TRY(NVDP__NEW(ctx, shared, 2));
        shared[0].ahead = shared[1].ahead = max_ahead;
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (struct ranked){epsilon[i], i};
    if (count > 0) qsort(order, count, sizeof *order, by_epsilon);
    for (size_t i = 0; i < count; i++) {
        const double last = order[count - 1].epsilon, at = order[i].epsilon;
        struct nvdp_exact_point *point = &made[order[i].at];
        if (i % 64 == 0) NVDP_TRY(nvdp__check_cancelled(ctx, "interrupted within a privacy curve"));
        if (i > 0) *point = made[order[i - 1].at];
        point->epsilon = at;
        /* the epsilons above one that exceeds every loss do so too */
        if (i == 0 || point->log_delta > -INFINITY)
            NVDP_TRY(point_at(ctx, e, at, last, shared, point));
    }
    if (count > 0) memcpy(out, made, count * sizeof *out);
cleanup:
    free(shared);
    free(made);
    free(order);
    return status;
}

/* True if 1 - delta(0) <= E e^(-L/2) is 0 in double. */
static bool is_certain(const struct nvdp_exact *e) {
    double size;
    const double moment = log_moment(e, -0.5 / e->unit, &size);
    return moment + 4 * DBL_EPSILON * size < log_underflow;
}

/* Finds the epsilon at which g(point) is `target`; g decreases in epsilon and is above the
 * target at `low`. Starts at `start`. */
static nvdp_status find(struct nvdp_context *ctx, struct nvdp_exact *e, double low, double start,
                        double spread, double target, bool positives,
                        struct nvdp_exact_point *out) {
    const double unit = fmin(spread, 1);
    double high = INFINITY, at = fmax(start, low), above = NAN, under = NAN;
    for (int i = 0; i < MAX_STEPS; i++) {
        struct values v;
        NVDP_RETURN_IF_FAILED(values_at(ctx, e, at, at, NULL, &v));
        *out = point_of(at, &v);
        const double g = (positives ? v.fpr : out->log_delta) - target;
        /* d log delta / d eps = -e^eps fpr / delta; for fpr only values are known */
        double next = at + g * exp(out->log_delta - v.weighed);
        if (g > 0) {
            low = at;
            above = g;
        } else {
            high = at;
            under = g;
        }
        if (positives) next = low + (high - low) * above / (above - under);
        /* bisects every third step, in case a secant stays at one end */
        if (positives && i % 3 == 2) next = (low + high) / 2;
        if (isinf(high)) next = positives || !(next > low) ? at + spread : next;
        if (isinf(low)) next = at - spread;
        if (isinf(high) || isinf(low)) spread *= 2;
        if (!(next > low && next < high)) next = (low + high) / 2;
        if (g == 0 || !(fabs(next - at) > 1e-13 * (unit + fabs(at)))) return NVDP_OK;
        if (high - low <= 1e-13 * (unit + fabs(at))) return NVDP_OK;
        at = next;
    }
    return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                      "exact loss: the search for epsilon did not converge; last value %g", at);
}

nvdp_status nvdp_exact_epsilon(struct nvdp_context *ctx, struct nvdp_exact *e, double delta,
                               double *epsilon) {
    struct nvdp_exact_point point;
    if (!(delta > 0 && delta < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "delta: expected a number in (0, 1), found %g",
                          delta);
    *epsilon = e->disjoint ? INFINITY : nvdp_gdp_epsilon(far_mu(e), delta);
    if (*epsilon > 0) return NVDP_OK;
    if (!is_certain(e)) {
        NVDP_RETURN_IF_FAILED(nvdp_exact_delta(ctx, e, 0, &point));
        if (point.delta <= delta) return NVDP_OK;
    }
    const double mean = e->zero.first / e->unit, spread = sqrt(e->zero.second) / e->unit;
    NVDP_RETURN_IF_FAILED(
        find(ctx, e, 0, mean + spread * sqrt(-2 * log(delta)), spread, log(delta), false, &point));
    *epsilon = point.epsilon;
    return NVDP_OK;
}

nvdp_status nvdp_exact_trade_off(struct nvdp_context *ctx, struct nvdp_exact *e, double fpr,
                                 struct nvdp_exact_point *out) {
    if (!(fpr > 0 && fpr < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "fpr: expected a number in (0, 1), found %g",
                          fpr);
    const struct nvdp_exact *of = e->mirror != NULL ? e->mirror : e;
    const struct derivatives k = e->mirror != NULL ? of->zero : derive(e, -1 / e->unit);
    *out = certain(e, INFINITY);
    out->fpr = fpr;
    out->tpr = e->disjoint ? 1 : fpr;
    if (e->disjoint || k.second == 0) return NVDP_OK;
    if (far_mu(e) > 0) {
        const double mu = far_mu(e), a = gsl_cdf_ugaussian_Qinv(fpr) - mu;
        *out = far_point(mu, a, mu * (mu / 2 + a));
        out->fpr = fpr;
        return NVDP_OK;
    }
    const double mean = (e->mirror != NULL ? -k.first : k.first) / of->unit;
    const double spread = sqrt(k.second) / of->unit;
    NVDP_RETURN_IF_FAILED(find(ctx, e, -INFINITY, mean + spread * gsl_cdf_ugaussian_Qinv(fpr),
                               spread / 4, log(fpr), true, out));
    /* The tangent delta + e^eps FPR: the curve itself, and where the loss has an atom the chord
     * between its ends. For large epsilon the exponential is inaccurate; tpr - delta is then
     * e^eps times the FPR of the point. */
    const double slope =
        out->epsilon < 100 ? exp(out->epsilon) : (out->tpr - out->delta) / out->fpr;
    out->tpr = fmin(out->delta + slope * fpr, 1);
    out->fpr = fpr;
    return NVDP_OK;
}

/* ---- the tightest Gaussian mechanism ---- */

static nvdp_status gdp_at(struct nvdp_context *ctx, struct nvdp_exact *e, double epsilon,
                          double *mu) {
    struct nvdp_exact_point point;
    NVDP_RETURN_IF_FAILED(nvdp_exact_delta(ctx, e, epsilon, &point));
    *mu = nvdp__gdp_of(epsilon, point.log_delta);
    return NVDP_OK;
}

nvdp_status nvdp_exact_gdp(struct nvdp_context *ctx, struct nvdp_exact *e, double delta,
                           double *mu) {
    enum { GRID = 8, REFINED = 24 };
    static const double golden = 0.61803398874989485;
    double end, largest = 0;
    size_t best = 0;
    NVDP_RETURN_IF_FAILED(nvdp_exact_epsilon(ctx, e, delta, &end));
    *mu = e->disjoint ? INFINITY : sqrt(e->quadratic) / e->unit;
    if (e->disjoint || (e->n == 0 && e->weights == 0)) return NVDP_OK;
    *mu = INFINITY;
    if (is_certain(e)) return NVDP_OK;
    for (size_t i = 0; i <= GRID; i++) {
        double here;
        NVDP_RETURN_IF_FAILED(gdp_at(ctx, e, end * (double)i / GRID, &here));
        if (here > largest) best = i;
        largest = fmax(largest, here);
    }
    double low = end * (best > 0 ? (double)best - 1 : 0) / GRID;
    double high = end * fmin((double)best + 1, GRID) / GRID;
    for (int i = 0; i < REFINED && end > 0; i++) {
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        double a, b;
        NVDP_RETURN_IF_FAILED(gdp_at(ctx, e, left, &a));
        NVDP_RETURN_IF_FAILED(gdp_at(ctx, e, right, &b));
        largest = fmax(largest, fmax(a, b));
        *(a > b ? &high : &low) = a > b ? right : left;
    }
    *mu = largest;
    return NVDP_OK;
}

/* ---- moments ---- */

double nvdp__exact_moment(const struct nvdp_exact *e, double s) {
    double size;
    if (!(s < nvdp_exact_strip(e))) return INFINITY;
    const double moment = log_moment(e, s / e->unit, &size);
    return moment + 8 * DBL_EPSILON * size;
}

double nvdp__exact_deviation(const struct nvdp_exact *e) {
    return e->disjoint ? INFINITY : sqrt(e->zero.second) / e->unit;
}

/* ---- creation ---- */

double nvdp_exact_strip(const struct nvdp_exact *e) {
    return e->unit * e->strip;
}

void nvdp_exact_free(struct nvdp_exact *e) {
    if (e == NULL) return;
    nvdp_exact_free(e->mirror);
    free(e->y);
    free(e->q0);
    free(e->s);
    free(e->large);
    free(e->p);
    free(e->q);
    free(e->a);
    free(e->v);
    free(e->d);
    free(e);
}

/* Converts everything from the loss L to h L. */
static void scale(struct nvdp_exact *e) {
    double largest = sqrt(e->quadratic), psi[3];
    for (size_t i = 0; i < e->n; i++)
        largest = fmax(largest, fmax(fabs(e->y[i]), sqrt(e->q0[i])));
    for (size_t i = 0; i < e->weights; i++) {
        digammas(e->a[i], psi);
        largest = fmax(largest, fabs(e->v[i]) / e->a[i] * sqrt(e->a[i] + psi[1]));
    }
    if (!(largest > 0 && isfinite(largest))) return;
    /* limits: c is squared, and ranges from the inverse of the widest dimension's y to 1/h */
    const double h = e->unit = ldexp(1, -(int)fmin(fmax(ilogb(largest), -400), 500));
    for (size_t i = 0; i < e->n; i++) {
        e->y[i] *= h;
        e->q0[i] *= h * h;
    }
    for (size_t i = 0; i < e->wide; i++)
        e->s[i] *= h;
    for (size_t i = 0; i < e->weights; i++) {
        e->v[i] *= h;
        e->d[i] *= h;
    }
    e->all_v *= h;
    e->mean *= h;
    e->beta.value *= h;
    e->beta.size *= h;
    e->first *= h;
    e->quadratic *= h * h;
    e->strip /= h;
}

static nvdp_status check_numbers(struct nvdp_context *ctx, const char *name, size_t n,
                                 const double *value, bool positive) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(value[i]) || (positive && !(value[i] > 0)))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "exact loss: %s, entry %zu: expected a finite number%s, found %g",
                              name, i, positive ? " above 0" : "", value[i]);
    return NVDP_OK;
}

static void take_gaussians(struct nvdp_exact *e, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q) {
    double sum = 0;
    for (int narrow = 0; narrow < 2; narrow++)
        for (size_t i = 0; i < n; i++) {
            const double ratio = var_p[i] / var_q[i], y = (var_p[i] - var_q[i]) / var_q[i];
            const double square = (mu_p[i] - mu_q[i]) * (mu_p[i] - mu_q[i]) / var_q[i];
            if ((y > 1) == (narrow == 1)) continue;
            if (y == 0) {
                e->quadratic += square;
                continue;
            }
            if (narrow == 0) e->s[e->wide++] = square;
            e->y[e->n] = y;
            e->q0[e->n++] = square * ratio;
            sum -= narrow == 0 ? log(ratio) : nvdp__log1pmx(y, ratio) - square;
            if (y > 0) e->strip = fmin(e->strip, 1 / y);
        }
    e->quadratic *= e->times;
    e->first = e->times * sum / 2 + e->quadratic / 2;
}

static void swap_weights(struct nvdp_exact *e, size_t i, size_t j) {
    double *const list[] = {e->a, e->v, e->d};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        const double kept = list[k][i];
        list[k][i] = list[k][j];
        list[k][j] = kept;
    }
}

static void take_weights(struct nvdp_exact *e, size_t n, const double *p, const double *q) {
    e->all = n;
    for (size_t i = 0; i < n; i++) {
        e->p[i] = p[i];
        e->q[i] = q[i];
        e->all_a += p[i];
        e->all_v += p[i] - q[i];
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = e->weights;
        if (p[i] == q[i]) {
            e->same += p[i];
            continue;
        }
        e->a[at] = p[i];
        e->v[at] = p[i] - q[i];
        e->d[at] = e->v[at] * e->all_a - e->all_v * p[i];
        add(&e->beta, nvdp__log_gamma(q[i]));
        add(&e->beta, -nvdp__log_gamma(p[i]));
        if (q[i] > p[i]) e->strip = fmin(e->strip, p[i] / (q[i] - p[i]));
        e->weights++;
        if (p[i] > e->a[0]) swap_weights(e, 0, at);
    }
    if (n < 2) e->weights = 0; /* the only weight is 1 */
    if (e->weights == 0) return;
    e->mean = nvdp_renyi_dirichlet(1, n, p, q);
    add(&e->beta, -nvdp__log_gamma(e->all_a - e->all_v));
    add(&e->beta, nvdp__log_gamma(e->all_a));
}

struct side {
    const double *mu, *var, *alpha;
};

static nvdp_status make(struct nvdp_context *ctx, size_t n, size_t m, const struct side *p,
                        const struct side *q, int times, int releases, struct nvdp_exact **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_exact *made = NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    made->strip = INFINITY;
    made->unit = 1;
    made->releases = releases;
    made->times = (double)times * releases;
    NVDP_TRY(NVDP__NEW(ctx, made->y, n));
    NVDP_TRY(NVDP__NEW(ctx, made->q0, n));
    NVDP_TRY(NVDP__NEW(ctx, made->s, n));
    NVDP_TRY(NVDP__NEW(ctx, made->large, 2 * n));
    NVDP_TRY(NVDP__NEW(ctx, made->p, m));
    NVDP_TRY(NVDP__NEW(ctx, made->q, m));
    NVDP_TRY(NVDP__NEW(ctx, made->a, m));
    NVDP_TRY(NVDP__NEW(ctx, made->v, m));
    NVDP_TRY(NVDP__NEW(ctx, made->d, m));
    take_gaussians(made, n, p->mu, p->var, q->mu, q->var);
    take_weights(made, m, p->alpha, q->alpha);
    scale(made);
    made->zero = derive(made, 0);
    NVDP__HAND_OVER(out, made);
cleanup:
    nvdp_exact_free(made);
    return status;
}

/* True if 1 - c y or a + c v cancels at c = -1. */
static bool is_narrow(size_t n, const double *p, const double *q, bool narrower) {
    for (size_t i = 0; i < n; i++)
        if (narrower ? p[i] < 1e-4 * q[i] : q[i] < 1e-4 * p[i]) return true;
    return false;
}

nvdp_status nvdp_exact_create(struct nvdp_context *ctx, size_t n, const double *mu_p,
                              const double *var_p, const double *mu_q, const double *var_q,
                              int times, size_t m, const double *alpha_p, const double *alpha_q,
                              int releases, struct nvdp_exact **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_exact *made = NULL;
    const struct side p = {mu_p, var_p, alpha_p}, q = {mu_q, var_q, alpha_q};
    if (times < 1 || releases < 1)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "exact loss: expected times and releases of at least 1, found %d times and %d releases",
            times, releases);
    NVDP_TRY(check_numbers(ctx, "mu of P", n, mu_p, false));
    NVDP_TRY(check_numbers(ctx, "mu of Q", n, mu_q, false));
    NVDP_TRY(check_numbers(ctx, "variance of P", n, var_p, true));
    NVDP_TRY(check_numbers(ctx, "variance of Q", n, var_q, true));
    NVDP_TRY(check_numbers(ctx, "pseudo-count of P", m, alpha_p, true));
    NVDP_TRY(check_numbers(ctx, "pseudo-count of Q", m, alpha_q, true));
    NVDP_TRY(make(ctx, n, m, &p, &q, times, releases, &made));
    if (is_narrow(n, var_p, var_q, true) || is_narrow(m, alpha_p, alpha_q, false))
        NVDP_TRY(make(ctx, n, m, &q, &p, times, releases, &made->mirror));
    NVDP__HAND_OVER(out, made);
cleanup:
    nvdp_exact_free(made);
    return status;
}

nvdp_status nvdp_exact_texts(struct nvdp_context *ctx, const struct nvdp_posteriors *set, size_t i,
                             size_t j, int releases, struct nvdp_exact **out) {
    nvdp_status status = NVDP_OK;
    if (i >= set->texts || j >= set->texts)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "exact loss: expected text numbers below %zu, found %zu and %zu",
                          set->texts, i, j);
    const size_t text[] = {i, j}, kappa = (size_t)set->kappa, dim = set->dim;
    const size_t rows = nvdp__max(nvdp__rows(set, i), nvdp__rows(set, j));
    const size_t components = set->alpha != NULL ? nvdp_sample_components(set, i) : 0;
    double *mu[2] = {NULL, NULL}, *var[2] = {NULL, NULL}, *alpha[2] = {NULL, NULL};
    const bool disjoint =
        set->policy == NVDP_LENGTH_PUBLIC && nvdp__rows(set, i) != nvdp__rows(set, j);
    for (int side = 0; side < 2; side++) {
        const size_t own = nvdp__rows(set, text[side]), first = set->offset[text[side]];
        NVDP_TRY(NVDP__NEW(ctx, mu[side], rows * dim));
        NVDP_TRY(NVDP__NEW(ctx, var[side], rows * dim));
        NVDP_TRY(NVDP__NEW(ctx, alpha[side], components * kappa));
        for (size_t k = 0; k < rows * dim; k++) {
            mu[side][k] = k < own * dim ? set->mu[first * dim + k] : 0;
            var[side][k] = k < own * dim ? exp(set->logvar[first * dim + k]) : 1;
        }
        for (size_t k = 0; k < components * kappa; k++)
            alpha[side][k] =
                (k < kappa ? set->prior_alpha : nvdp__token_alpha(set, text[side], k / kappa - 1)) /
                set->kappa;
    }
    NVDP_TRY(nvdp_exact_create(ctx, disjoint ? 0 : rows * dim, mu[0], var[0], mu[1], var[1],
                               set->kappa, disjoint ? 0 : components * kappa, alpha[0], alpha[1],
                               releases, out));
    (*out)->disjoint = disjoint;
cleanup:
    for (int side = 0; side < 2; side++) {
        free(mu[side]);
        free(var[side]);
        free(alpha[side]);
    }
    return status;
}
