/* The privacy loss of a pair, L = log P(S)/Q(S), S ~ P. Its moment generating function is
 *
 *     M(z)  =  E e^(z L)  =  exp K(z),     K(z)  =  z D_{z+1}(P||Q),
 *
 * analytic except for cuts and poles on the real axis, left of -1 and right of some s > 0.
 * exact_pairs.c stores a pair, exact_exponent.c computes K, and exact.c integrates M to delta(eps).
 *
 * Unit: with h, a power of 2 near the inverse of the largest dimension's spread, everything is stored for the loss h
 * L: c h for c, h eps for eps, h y, h^2 q0, h s, h E and h v for these numbers of exact_exponent.c. These units keep
 * the numbers of very distant and very close pairs within the range of double. */
#ifndef NVDP_RDP_EXACT_H
#define NVDP_RDP_EXACT_H

#include "rdp/pairs.h"

#include <complex.h>

/* --- exact_pairs.c: the pair --- */

struct nvdp__derivatives {
    double first, second, third; /* K', K'', K''' */
};

/* A sum, and the magnitude that determines the rounding error of the sum. */
struct nvdp__sized {
    double value, size;
};

static inline void nvdp__sized_add(struct nvdp__sized *sum, double part) {
    sum->value += part;
    sum->size += fabs(part);
}

/* A pair of distributions, in the units of h. */
struct nvdp_exact {
    /* The pair in the other direction if P is so much narrower than Q that 1 + c must be small too; else NULL. */
    struct nvdp_exact *mirror;
    struct nvdp__memory memory; /* owner of the arrays */
    bool disjoint;              /* P and Q are disjoint: delta is 1 */
    double unit;                /* h; all members below are for the loss h L */
    /* numbers of dimensions with unequal variances, and of those with y > 1, which come first */
    size_t n, wide;
    double *y, *q0; /* [n] per dimension */
    double *s;      /* [wide] per dimension with y > 1 */
    double times;   /* multiplicity of each dimension */
    /* times sum E over all dimensions; wide dimensions have -log(r)/2 in place of E */
    double first;
    /* times sum q0 over the dimensions of equal variances. These dimensions add (c^2 + c/h)/2 of this sum to K;
     * `first` contains the part of c/h. */
    double quadratic;
    double *large; /* [n, 2] scratch buffer */
    size_t all;    /* number of weights */
    double *p, *q; /* [all] pseudo-counts */
    /* number of weights whose pseudo-counts in P and Q differ; the largest is first */
    size_t weights;
    /* [weights] pseudo-counts of P; pseudo-counts of P minus those of Q; v A - V a */
    double *a, *v, *d;
    double all_a, all_v, releases; /* A and V of all weights */
    double same;                   /* sum of the pseudo-counts that P and Q share */
    double mean;                   /* K'(0) of the weights: their Kullback-Leibler divergence */
    struct nvdp__sized beta;       /* lnB(q) - lnB(p) */
    double strip;                  /* s: K is finite for -1/h < c < strip */
    /* derivatives of K at 0: mean, variance and third cumulant of the loss */
    struct nvdp__derivatives zero;
};

/* --- exact_exponent.c: K --- */

/* Sets out to psi(u) - log u, u^2 psi'(u) - u and u^3 psi''(u) + u, without cancellation for large u. */
void nvdp__digammas(double u, double out[3]);
/* Returns the derivatives of K at a real c in (-1/h, strip). */
struct nvdp__derivatives nvdp__exact_derive(const struct nvdp_exact *e, double c);
/* Returns K(c) = c D_{c+1}; *size is the magnitude that determines the rounding error. */
double nvdp__exact_log_moment(const struct nvdp_exact *e, double c, double *size);

enum { NVDP__EXACT_TERMS = 26 }; /* number of power sums: (1/4)^26 = 2e-16 */

/* The data for K(c+t) - K(c): with w = q (1 + c d)^2 of a dimension,
 *
 *     (c+t)^2 q/(1 - d t) - c^2 q - t (2 c q + c^2 q d)  =  t^2 w / (1 - d t).
 *
 * t is stored in units of the radius R, d as d R, w as w R^2, because high powers of t, d or w alone exceed the
 * range of double. */
struct nvdp__expansion {
    struct nvdp_exact *of;
    double c, first; /* c; K'(c) */
    double radius;   /* max |t| for which the expansion holds */
    /* sums over small dimensions of (d R)^(k+2)/(k+2), and of w R^2 (d R)^k */
    double log_power[NVDP__EXACT_TERMS], w_power[NVDP__EXACT_TERMS];
    size_t large; /* number of dimensions that are not in the sums; of->large has their d and w */
};
/* Computes the sums for |t| <= radius; the caller has set `of` and `c`. */
void nvdp__exact_expand(struct nvdp__expansion *x, double radius);
/* Returns K(c+t) - K(c) - t eps. If |t| exceeds the radius, computes the sums for a larger radius first. */
double complex nvdp__exact_exponent(struct nvdp__expansion *x, double epsilon, double complex t);

/* Replaces C11's CMPLX, which some compilers lack. */
static inline double complex nvdp__complex(double real, double imaginary) {
    const union {
        double part[2];
        double complex number;
    } made = {{real, imaginary}};
    return made.number;
}

#endif
