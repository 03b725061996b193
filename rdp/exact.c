/* The exact privacy loss of a pair: delta(eps), its inverse, the trade-off curve. With M = exp K of exact.h,
 *
 *     W(z)     =  e^(K(z) - z eps) / (z (z+1)),     J_g  =  1/(2 pi i) int g(z) W(z) dz
 *
 * upward along a path that crosses the real axis at c > 0,
 *
 *     J_1      =  delta(eps)  =  E (1 - e^(eps-L))_+,
 *     J_{z+1}  =  P(L > eps),     J_z  =  e^eps Q(L > eps);
 *
 * for -1 < c < 0 the path passes the pole at 0 on the other side of the pole: J_1 = delta - 1, J_{z+1} = P(L > eps) -
 * 1, J_z is the same (Lugannani & Rice 1980 do this for sums). c is where |W| is smallest on the real axis, on the side
 * of 0 on which the mean of e^(c L) P reaches eps. Nothing cancels there, and the value is as accurate as the exponent,
 * however small.
 *
 * Path: the hyperbola through the saddle that follows the path of steepest descent to second order,
 *
 *     z(u)  =  c + k (i sinh u + b (cosh u - 1)),     k = f''^(-1/2),   b = k f'''/(3 f''),   f = log |W|,
 *
 * or one bent by 1/2 to either side if |W| decreases sooner there: if only a few dimensions have unequal variances, W
 * decreases like a power along a straight path but exponentially along a bent one. As f'' >= 1/c^2, 1/(1+c)^2 and as
 * much for each singularity, the nearest singularity is at least k away. W is therefore analytic in a strip of u at
 * least half a unit wide, and the error of the trapezoidal rule decreases like exp(-pi / step) or faster (Trefethen &
 * Weideman 2014). The step is halved until two sums agree. From a step of 1/100 on, the difference of two sums is only
 * rounding, of which up to 1e-8 is accepted. If this rounding or the rounding of K(c) - c eps is larger, the pair has
 * no exact number, and exact_bound.c computes a bound.
 *
 * In units of h, with c for z,
 *
 *     W  =  e^(K(c) - c eps) / (c (1 + h c)),     J_z  =  h/(2 pi i) int c W(c) dc. */
#include "rdp/exact.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_HALVINGS = 9,
    MAX_STEPS = 200 /* max steps of a root search */
};
static const double max_u = 40;         /* max u of a path */
static const double negligible = 1e-20; /* relative size of a negligible term */
static const double agree = 1e-12;      /* required agreement of two sums */
/* With steps below `fine`, two sums differ only by rounding, and by at most `noise`. */
static const double fine = 1. / 100, noise = 1e-8;
static const double max_growth = 1e4; /* max growth of |W| on a path past the next singularity */
/* max product of c and the spread of the loss; beyond, epsilon exceeds every loss */
static const double max_slope = 1e12;
static const double log_underflow = -800; /* below this logarithm, a probability is 0 in double */
/* Max error of the logarithm of an exact probability if its exponent is large. */
static const double rounding = 1e-6;
/* From this mu on, Gaussians of equal variances use only the closed form. */
static const double far_apart = 1e6;

/* ---- the integrals ---- */

struct path {
    struct nvdp__expansion at;
    double epsilon, c, k, b;
    /* 1/c and h/(1 + h c), the inverse distances of the saddle from the poles */
    double inverse_c, inverse_c1;
    double order;        /* 1/(1 + h c) */
    double moment, size; /* K(c), and the magnitude that determines its rounding */
    double end, step;    /* the range of u ends here; step of u */
    double error;        /* relative error of the integrals */
};

enum { OF_1, OF_Z, OF_Z_PLUS_1, INTEGRALS };

/* g(z(u)) z'(u) W(z(u)) / (i k W(c)) for g = 1, z and (z+1)/(1 + h c). */
static void integrand(struct path *path, double u, double complex out[INTEGRALS]) {
    const double c = path->c, half = sinh(u / 2);
    const double complex t = path->k * nvdp__complex(2 * path->b * half * half, sinh(u));
    const double complex speed = nvdp__complex(cosh(u), -path->b * sinh(u));
    out[OF_Z_PLUS_1] =
        cexp(nvdp__exact_exponent(&path->at, path->epsilon, t)) * speed / (1 + t * path->inverse_c);
    out[OF_1] = out[OF_Z_PLUS_1] / (1 + t * path->inverse_c1);
    out[OF_Z] = out[OF_1] * (c + t);
}

static bool is_lost(const double complex value[INTEGRALS], double c) {
    return !(cabs(value[OF_1]) > negligible) && !(cabs(value[OF_Z]) > negligible * fabs(c)) &&
           !(cabs(value[OF_Z_PLUS_1]) > negligible);
}

/* Returns the u from which the integrand is negligible at two points a quarter apart; INFINITY if there is no such
 * u. */
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

/* Returns the relative difference of two sums. The last integral may cancel, so its difference is relative to the
 * part of the first integral in it. */
static double difference(const struct path *path, int g, const double now[INTEGRALS],
                         double before) {
    const double smallest = g == OF_Z_PLUS_1 ? fabs(now[OF_1]) * path->order : 0;
    return now[g] == before ? 0 : fabs(now[g] - before) / fmax(fabs(now[g]), smallest);
}

/* Computes the integrals, divided by 2 pi, of all functions along the path. */
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

/* Returns the minimum of |W| on c's side of 0: the root of K'(c) - eps - 1/c - h/(1 + h c), which increases in c.
 * Beyond `max_slope` there is no root. Newton's method starts from the root of K'(0) + c K''(0) - eps - m/c with m
 * poles. If the loss is far from normal, the root can be hundreds of decades away, and bisection of the logarithm
 * finds the root. */
static double saddle(const struct nvdp_exact *e, double epsilon, bool right,
                     struct nvdp__derivatives *k) {
    const double h = e->unit;
    double low = right ? 0 : -1 / h, high = right ? e->strip : 0;
    const double v = e->zero.second, g = epsilon - e->zero.first, m = right ? 2 : 1;
    const double r = hypot(g, sqrt(4 * m * v));
    double c = right ? fmin(g > 0 ? (g + r) / (2 * v) : 2 * m / (r - g), high / 2)
                     : fmax(g < 0 ? (g - r) / (2 * v) : -2 * m / (r + g), low / 2);
    for (int i = 0; i < MAX_STEPS; i++) {
        const double inverse_c = 1 / c, inverse_c1 = h / (1 + h * c);
        *k = nvdp__exact_derive(e, c);
        const double f = k->first - epsilon - inverse_c - inverse_c1;
        const double slope = k->second + inverse_c * inverse_c + inverse_c1 * inverse_c1;
        if (right && g > 0 && c * sqrt(v) > max_slope) return INFINITY;
        *(f > 0 ? &high : &low) = c;
        double next = c - f / slope;
        if (!(next > low && next < high))
            next = isinf(high) ? 4 * c : low + (high - low) * (f > 0 ? 0.25 : 0.75);
        /* this near to the root, c is as good as the root */
        if (fabs(next - c) * sqrt(slope) < 0.01) return c;
        if (i > 8 && i % 2 == 0 && low != 0 && high != 0 && isfinite(high))
            next = (right ? 1 : -1) * sqrt(fabs(low)) * sqrt(fabs(high));
        c = next;
    }
    return c;
}

/* ---- points of the curve ---- */

static struct nvdp_exact_point certain(const struct nvdp_exact *e, double epsilon) {
    /* 1 if P and Q are disjoint; 0 if epsilon exceeds every loss */
    const double one = e->disjoint ? 1 : 0;
    return (struct nvdp_exact_point){.epsilon = epsilon,
                                     .delta = one,
                                     .log_delta = log(one),
                                     .rest = 1 - one,
                                     .tpr = one,
                                     .fpr = 0};
}

/* Returns the point of two equal distributions. The loss is 0, and the integrand would not decrease. */
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
    bool right;          /* true if the saddle is right of 0 */
    double side;         /* delta; if the saddle is left of 0, 1 - delta */
    double positive;     /* P(L > eps); if the saddle is left of 0, P(L <= eps) */
    double fpr, weighed; /* Q(L > eps), and e^eps Q(L > eps) */
    double error;        /* relative error of the integrals */
};

static const struct values none = {true, -INFINITY, -INFINITY, -INFINITY, -INFINITY, 0};

static bool probabilities(const struct values *v) {
    return v->side <= rounding && v->positive <= rounding && v->fpr <= rounding;
}

static bool through(struct nvdp_exact *e, double epsilon, bool right, struct values *out);

/* Computes the values from the pair in the other direction, at -eps, with the loss L' = -L:
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

/* True if P(L > eps) is 0 in double, because P(L > eps) <= e^(K - c eps) (Chernoff). The inequality holds for any
 * saddle c, even at the very end of the strip. */
static bool is_beyond(const struct nvdp_exact *e, double c, double epsilon) {
    const double inside = fmin(c, e->strip / 2);
    double size;
    const double exponent = nvdp__exact_log_moment(e, inside, &size) - inside * epsilon;
    return exponent + 4 * DBL_EPSILON * (size + fabs(inside * epsilon)) < log_underflow;
}

/* Returns the path through the saddle c; k are the derivatives of K at c. */
static struct path lay(struct nvdp_exact *e, double scaled, double c,
                       const struct nvdp__derivatives *k) {
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
    path.moment = nvdp__exact_log_moment(e, c, &path.size);
    if (isfinite(third)) path.b = fmin(fmax(path.k * third / (3 * second), -0.7), 0.7);
    nvdp__exact_expand(&path.at, 17 / sqrt(k->second));
    return path;
}

/* True if double precision is enough for the exponent of W(c). */
static bool is_known(const struct path *path, double scaled) {
    return 4 * DBL_EPSILON * (path->size + fabs(path->c * scaled)) < rounding;
}

/* Computes the values from the integrals `part` along a path that crosses the axis at c. */
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

/* Computes the values by a path on the right or the left of 0. */
static bool through(struct nvdp_exact *e, double epsilon, bool right, struct values *out) {
    struct nvdp__derivatives k = {0, 0, 0};
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
 * its integrals still converge. These epsilons lie within about 3 standard deviations of the loss (as at c) from the
 * epsilon of the saddle. Beyond, W(c) exceeds the integral so much that digits cancel. */
enum { POINTS = 1024, WAIT = 32 };
/* Standard deviations from the first epsilon of a path to the epsilon of the saddle. If a path fails, the next path
 * has a smaller distance. */
static const double max_ahead = 2.5, min_ahead = 0.1;
static const double max_cancelled = 1e3; /* max ratio of the sum of magnitudes to the sum */
static const double max_end = 1e-15;     /* max relative size of the last term */

struct shared_path {
    struct path path;
    double ahead;
    /* number of points of the path; number of epsilons to compute without a shared path, after a failure */
    size_t points, wait;
    double complex t[POINTS]; /* z - c */
    /* values of the integrand, at half of the path's step */
    double complex value[POINTS][INTEGRALS];
};

/* Makes the path for the epsilons from `epsilon` to at most `last`; if this fails, points is 0. */
static void lay_shared(struct nvdp_exact *e, double epsilon, double last, bool right,
                       struct shared_path *shared) {
    struct nvdp__derivatives k = {0, 0, 0};
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
        shared->t[shared->points] = path->k * nvdp__complex(2 * path->b * half * half, sinh(u));
        integrand(path, u, shared->value[shared->points]);
    }
    for (int g = 0; g < INTEGRALS; g++)
        shared->value[0][g] /= 2;
}

/* Computes the integrals for another epsilon; returns false if this epsilon needs a new path. */
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
                     /* imaginary part of e^(-t shift), with the sign of the conjugate */
            imaginary = scale * sin(y);
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

/* Does what through() does. Uses the shared paths [left of 0, right of 0] unless `shared` is NULL; the epsilons must
 * then ascend, up to `last`. */
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

static struct nvdp_exact_point make_point(double epsilon, const struct values *v) {
    const double side = exp(fmin(v->side, 0)), positive = exp(fmin(v->positive, 0));
    return (struct nvdp_exact_point){.epsilon = epsilon,
                                     .delta = v->right ? side : 1 - side,
                                     .log_delta = v->right ? fmin(v->side, 0) : log1p(-side),
                                     .rest = v->right ? 1 - side : side,
                                     .tpr = v->right ? positive : 1 - positive,
                                     .fpr = exp(fmin(v->fpr, 0))};
}

/* Returns mu of Gaussians with equal variances, whose loss is N(mu^2/2, mu^2), if mu is at least `far_apart`; else
 * 0. */
static double far_mu(const struct nvdp_exact *e) {
    const double mu = e->n == 0 && e->weights == 0 ? sqrt(e->quadratic) / e->unit : 0;
    return mu >= far_apart ? mu : 0;
}

/* Returns the point of Gaussians with this mu; a is the distance of epsilon from the mean of the loss, in standard
 * deviations. */
static struct nvdp_exact_point far_point(double mu, double a, double epsilon) {
    const double delta = epsilon < 0 ? 1 : nvdp_gdp_delta(mu, epsilon);
    return (struct nvdp_exact_point){.epsilon = epsilon,
                                     .delta = delta,
                                     .log_delta = log(delta),
                                     .rest = gsl_cdf_ugaussian_P(a),
                                     .tpr = gsl_cdf_ugaussian_Q(a),
                                     .fpr = gsl_cdf_ugaussian_Q(a + mu)};
}

/* Computes the point at an epsilon; `shared` is NULL or the paths of through_shared(). */
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
    NVDP_TRY(values_at(ctx, e, epsilon, last, shared, &v));
    *out = make_point(epsilon, &v);
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
    nvdp__autofree struct shared_path *shared = NULL;
    nvdp__autofree struct nvdp_exact_point *made = NULL;
    nvdp__autofree struct ranked *order = NULL;
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
        /* once an epsilon exceeds every loss, all larger epsilons do too */
        if (i == 0 || point->log_delta > -INFINITY)
            NVDP_TRY(point_at(ctx, e, at, last, shared, point));
    }
    if (count > 0) memcpy(out, made, count * sizeof *out);
    return NVDP_OK;
}

/* True if 1 - delta(0) <= E e^(-L/2) is 0 in double. */
static bool is_certain(const struct nvdp_exact *e) {
    double size;
    const double moment = nvdp__exact_log_moment(e, -0.5 / e->unit, &size);
    return moment + 4 * DBL_EPSILON * size < log_underflow;
}

/* Finds the epsilon at which g(point) is `target`. g decreases in epsilon and is above the target at `low`. The
 * search starts at `start`. */
static nvdp_status find(struct nvdp_context *ctx, struct nvdp_exact *e, double low, double start,
                        double spread, double target, bool positives,
                        struct nvdp_exact_point *out) {
    const double unit = fmin(spread, 1);
    double high = INFINITY, at = fmax(start, low), above = NAN, under = NAN;
    for (int i = 0; i < MAX_STEPS; i++) {
        struct values v;
        NVDP_TRY(values_at(ctx, e, at, at, NULL, &v));
        *out = make_point(at, &v);
        const double g = (positives ? v.fpr : out->log_delta) - target;
        /* Newton's step for log delta: d log delta / d eps = -e^eps fpr / delta. For fpr, only values are known. */
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
        NVDP_TRY(nvdp_exact_delta(ctx, e, 0, &point));
        if (point.delta <= delta) return NVDP_OK;
    }
    const double mean = e->zero.first / e->unit, spread = sqrt(e->zero.second) / e->unit;
    NVDP_TRY(
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
    const struct nvdp__derivatives k =
        e->mirror != NULL ? of->zero : nvdp__exact_derive(e, -1 / e->unit);
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
    NVDP_TRY(find(ctx, e, -INFINITY, mean + spread * gsl_cdf_ugaussian_Qinv(fpr), spread / 4,
                  log(fpr), true, out));
    /* The tangent delta + e^eps FPR is the curve itself, or the chord between two ends of the curve if the loss has
     * an atom. For large epsilon the exponential is inaccurate, and (tpr - delta) / fpr of the point replaces e^eps. */
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
    NVDP_TRY(nvdp_exact_delta(ctx, e, epsilon, &point));
    *mu = nvdp__gdp_mu(epsilon, point.log_delta);
    return NVDP_OK;
}

nvdp_status nvdp_exact_gdp(struct nvdp_context *ctx, struct nvdp_exact *e, double delta,
                           double *mu) {
    enum { GRID = 8, REFINED = 24 };
    static const double golden = 0.61803398874989485;
    double end, largest = 0;
    size_t best = 0;
    NVDP_TRY(nvdp_exact_epsilon(ctx, e, delta, &end));
    *mu = e->disjoint ? INFINITY : sqrt(e->quadratic) / e->unit;
    if (e->disjoint || (e->n == 0 && e->weights == 0)) return NVDP_OK;
    *mu = INFINITY;
    if (is_certain(e)) return NVDP_OK;
    for (size_t i = 0; i <= GRID; i++) {
        double here;
        NVDP_TRY(gdp_at(ctx, e, end * (double)i / GRID, &here));
        if (here > largest) best = i;
        largest = fmax(largest, here);
    }
    double low = end * (best > 0 ? (double)best - 1 : 0) / GRID;
    double high = end * fmin((double)best + 1, GRID) / GRID;
    for (int i = 0; i < REFINED && end > 0; i++) {
        const double left = high - golden * (high - low), right = low + golden * (high - low);
        double a, b;
        NVDP_TRY(gdp_at(ctx, e, left, &a));
        NVDP_TRY(gdp_at(ctx, e, right, &b));
        largest = fmax(largest, fmax(a, b));
        *(a > b ? &high : &low) = a > b ? right : left;
    }
    *mu = largest;
    return NVDP_OK;
}
