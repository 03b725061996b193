/* The worst case within bounds: the largest Renyi divergence of two posteriors, and how far one word moves a text's
 * mean.
 *
 * The largest Renyi divergence of two posteriors within bounds, l = 1 + s.
 *
 * Both parts are second differences of a convex G (divergence.h),
 *
 *     g(p, q)  =  [G(c) - G(p)] / s - [G(p) - G(q)],      c = p + s (p - q),
 *     dg/dp    =  l/s [G'(c) - G'(p)],      dg/dq  =  G'(q) - G'(c),
 *
 * and as G' increases, g grows when either argument moves away from the other.  Its largest value over a square [low,
 * high]^2 is g(high, low) or g(low, high).
 *
 * Gaussians: G = -1/2 log of the precision 1/var of each dimension, and the means' l |d|^2 / (2 v), v = var_q - s
 * (var_p - var_q), |d| <= 2R.  The latter is largest for the smallest v = low - s (high - low), at var_p = high and
 * var_q = low.  For l >= 1 these also have the larger g, and the bound is attained.
 *
 * Dirichlets, m components and a fixed one, with the totals P, Q of all:
 *
 *     D  =  sum_i g(p_i, q_i) - g(P, Q),      G = lnGamma.
 *
 * With a, b in [0, 1] such that p = low + a (high - low), q = low + b (high - low),
 *
 *     g(p, q)  <=  a (1 - b) k1 + b (1 - a) k2,
 *     k1       =   max over p of g(p, low) / a,      k2  =  g(low, high):
 *
 * g is convex in q, so it lies below its chord from q = low to high.  g(p, high) is convex in p, because its second
 * derivative there, l/s [l G''(c) - G''(p)], is positive: c < p, and G'' decreases.  k1 is bounded in each cell of a
 * grid, as both g(p, low) and a increase.  So with u = sum a, v = sum b, and sum a b >= x = max(0, u + v - m), and with
 * b - a b and a - a b summed,
 *
 *     D  <=  max over 0 <= u, v <= m of   (u - x) k1 + (v - x) k2 - g(P(u), Q(v)),
 *
 * which depends on only two numbers.  Their square is divided into quarters until no quarter's bound exceeds the
 * largest value found by more than TOLERANCE.  The first part is bounded by its monotone halves, the last by its
 * smallest value, because g grows with the distance. */
#include "rdp/divergence.h"
#include "rdp/pairs.h"
#include "rdp/word.h"
#include <float.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>

enum { CELLS = 1024, DEEPEST = 48 };
static const double TOLERANCE = 1e-4;

double nvdp__worst_order(double low, double high) {
    return 1 + low / (high - low);
}

double nvdp__worst_gaussian(double order, size_t dim, double radius, double low, double high) {
    const double s = order - 1, v = low - s * (high - low) - 4 * DBL_EPSILON * low;
    if (!(v > 0)) return INFINITY;
    const double up = (high - low) / low, down = (high - low) / high;
    /* P is the wider one */
    const double wide = nvdp__log_second_difference(s, -up, high / low, v / low);
    const double narrow = nvdp__log_second_difference(s, down, low / high, 1 + s * down);
    return (2 * order * radius * radius / v + (double)dim * fmax(wide, narrow) / 2) * (1 + 1e-13);
}

struct box {
    double order, low, high, kappa;
    double m, fixed;
    double k1, k2;
};

/* Returns g of a component's kappa weights. */
static double part(const struct box *box, double p, double q) {
    return box->kappa *
           nvdp__log_gamma_second_difference(box->order, p / box->kappa, q / box->kappa);
}

/* Returns psi'(x); at the far ends of the range, where GSL would stop the program, returns an upper bound (Qi & Guo
 * 2010: 1/x + 1/x^2). */
static double trigamma(double x) {
    return x > 1e-100 && x < 1e100 ? gsl_sf_psi_1(x) : 1 / x + 1 / x / x;
}

/* Returns an upper bound of g(p, low) / a. */
static double steepest(const struct box *box) {
    const double step = (box->high - box->low) / CELLS;
    /* in the first cell, dg/dp <= l (p - low) psi'(low) */
    double largest =
        box->order * step * (box->high - box->low) / box->kappa * trigamma(box->low / box->kappa);
    for (size_t i = 1; i < CELLS; i++) {
        const double p = i + 1 < CELLS ? box->low + step * (double)(i + 1) : box->high;
        largest = fmax(largest, part(box, p, box->low) * CELLS / (double)i);
    }
    return largest;
}

/* A quarter of the square: u and v lie between [0] and [1]. */
struct quarter {
    double u[2], v[2];
    int depth;
};

static double total(const struct box *box, double at) {
    return box->fixed + box->m * box->low + at * (box->high - box->low);
}

static double bound(const struct box *box, const struct quarter *x) {
    const double rising = x->u[1] * box->k1 + x->v[1] * box->k2;
    const double falling = (box->m - x->v[0]) * box->k1 + (box->m - x->u[0]) * box->k2;
    const double p[] = {total(box, x->u[0]), total(box, x->u[1])};
    const double q[] = {total(box, x->v[0]), total(box, x->v[1])};
    const double smallest = p[0] > q[1] ? nvdp__log_gamma_second_difference(box->order, p[0], q[1])
                            : q[0] > p[1]
                                ? nvdp__log_gamma_second_difference(box->order, p[1], q[0])
                                : 0;
    return fmin(rising, falling) - smallest;
}

/* The maximum of the relaxed form and its position. */
static double maximize(const struct box *box, double at[2]) {
    struct quarter stack[3 * DEEPEST + 4] = {{{0, box->m}, {0, box->m}, 0}};
    double best = 0;
    size_t open = 1;
    while (open > 0) {
        const struct quarter x = stack[--open];
        const double middle[] = {(x.u[0] + x.u[1]) / 2, (x.v[0] + x.v[1]) / 2};
        const struct quarter point = {{middle[0], middle[0]}, {middle[1], middle[1]}, 0};
        const double here = bound(box, &point);
        if (here > best) {
            best = here;
            at[0] = middle[0];
            at[1] = middle[1];
        }
        const double above = bound(box, &x);
        if (!(above > best * (1 + TOLERANCE))) continue;
        if (x.depth == DEEPEST) {
            best = above; /* the quarter is so small that it counts as a point */
            continue;
        }
        for (int k = 0; k < 4; k++)
            stack[open++] =
                (struct quarter){{k & 1 ? middle[0] : x.u[0], k & 1 ? x.u[1] : middle[0]},
                                 {k & 2 ? middle[1] : x.v[0], k & 2 ? x.v[1] : middle[1]},
                                 x.depth + 1};
    }
    return best * (1 + TOLERANCE);
}

/* Returns the divergence of pseudo-counts at the ends of the range: `u` components of P are high, and `v` other
 * components of Q are high. */
static double vertex(const struct box *box, double u, double v) {
    if (u + v > box->m) return 0;
    return u * part(box, box->high, box->low) + v * part(box, box->low, box->high) -
           nvdp__log_gamma_second_difference(box->order, total(box, u), total(box, v));
}

double nvdp__worst_dirichlet(double order, size_t m, double fixed, double low, double high,
                             int kappa, double *found) {
    double at[2] = {0, 0};
    struct box box = {
        .order = order, .low = low, .high = high, .kappa = kappa, .m = (double)m, .fixed = fixed};
    *found = 0;
    if (low == high) return 0;
    if (order >= nvdp__worst_order(low, high)) return *found = INFINITY;
    box.k1 = steepest(&box);
    box.k2 = part(&box, low, high);
    const double largest = maximize(&box, at);
    for (int k = 0; k < 4; k++)
        *found = fmax(*found, vertex(&box, floor(at[0]) + (k & 1), floor(at[1]) + (k >> 1)));
    return largest;
}

/* --- the certificate per word (word.h has the theorem and its proof). Every result is rounded to the safe side --- */

static const double SLACK = 0x1p-21; /* slack of both texts: above 2 (3 2^-24 + 2^-30) */
static const double STEP = 0x1p-30;  /* rounding step of both texts: above 2 2^-32 */
static const double UP = 1 + 0x1p-50;
static const double SPARE = 256;

double nvdp__word_shift(const struct nvdp__word_clip *clip, size_t before, size_t after) {
    const double windows = 4 * clip->window + (double)before + (double)after;
    return before + after > 0 ? windows * clip->word : 0;
}

static double slack(const struct nvdp__word_clip *clip) {
    return SLACK * clip->text + STEP;
}

double nvdp__word_mu(const struct nvdp__word_clip *clip, size_t before, size_t after,
                     int releases) {
    const double moved = (nvdp__word_shift(clip, before, after) + slack(clip)) * UP;
    return sqrt((double)releases) * fmin(moved, 2 * clip->text) * UP;
}

/* |M - M_0| <= min(c (2r + K), C), K = words. M_0 is 0 for the bound C. Otherwise M_0 lacks exactly the windows
 * centered on the K words or on one of the r words on either side. Each of these windows adds at most c. The
 * rounding of arithmetic moves only M, so half the slack of two texts is enough. */
double nvdp__word_radius(const struct nvdp__word_clip *clip, size_t words) {
    const double windows = 2 * clip->window + (double)words;
    return fmin((windows * clip->word + slack(clip) / 2) * UP, clip->text);
}

double nvdp__word_spare(double word) {
    return SPARE * word;
}

/* Solves mu = 2cR + SLACK C + STEP for c, with C given or C = SPARE c. */
double nvdp__word_clip_for(const struct nvdp__word_clip *clip, double mu) {
    const double windows = 4 * clip->window + 2;
    const double fixed = isinf(clip->text) ? STEP : slack(clip);
    const double slope = isinf(clip->text) ? windows + SLACK * SPARE : windows;
    const double word = (mu - fixed) / slope * (1 - 0x1p-48);
    return word > 0 ? word : NAN;
}
