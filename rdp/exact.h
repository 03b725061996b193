/* The privacy loss of a pair, L = log P(S)/Q(S), S ~ P. Its moment generating function is
 *
 *     M(z)  =  E e^(z L)  =  exp K(z),     K(z)  =  z D_{z+1}(P||Q),
 *
 * analytic except for cuts and poles on the real axis, left of -1 and right of some s > 0.
 * exact_pairs.c stores a pair, exact_exponent.c computes K, and exact.c integrates M to delta(eps).
 *
 * Unit: with h, a power of 2 near the inverse of the largest dimension's spread, everything is
 * stored for the loss h L: c h for c, h eps for eps, h y, h^2 q0, h s, h E and h v for these numbers
 * of exact_exponent.c. This keeps numbers within range for very distant and very close pairs. */
#ifndef NVDP_RDP_EXACT_H
#define NVDP_RDP_EXACT_H

#include "rdp/pairs.h"

#include <complex.h>

/* --- exact_pairs.c: the pair --- */

struct nvdp__derivatives {
    double first, second, third; /* K', K'', K''' */
};

/* A sum, and the magnitude that determines its rounding. */
struct nvdp__sized {
    double value, size;
};

static inline void nvdp__sized_add(struct nvdp__sized *sum, double part) {
    sum->value += part;
    sum->size += fabs(part);
}

/* A pair, in these units. */
struct nvdp_exact {
    /* The pair in the other direction, if P is so much narrower that 1 + c must be small too;
     * else NULL. */
    struct nvdp_exact *mirror;
    struct nvdp__memory memory; /* of the arrays */
    bool disjoint;              /* P and Q are disjoint: delta is 1 */
    double unit;                /* h: all following members are for the loss h L */
    size_t n, wide;             /* dimensions of unequal variances; those with y > 1 come first */
    double *y, *q0;             /* [n] */
    double *s;                  /* [wide] */
    double times;               /* multiplicity of each dimension */
    double first; /* times sum E over all dimensions; for wide ones times sum -log(r)/2 */
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
    struct nvdp__sized beta;       /* lnB(q) - lnB(p) */
    double strip;                  /* s */
    struct nvdp__derivatives zero; /* at 0: mean, variance and third cumulant of the loss */
};

/* --- exact_exponent.c: K --- */

/* psi(u) - log u, u^2 psi'(u) - u and u^3 psi''(u) + u, without cancellation for large u. */
void nvdp__digammas(double u, double out[3]);
/* Derivatives at a real c in (-1/h, strip). */
struct nvdp__derivatives nvdp__exact_derive(const struct nvdp_exact *e, double c);
/* K(c) = c D_{c+1}; *size is the magnitude that determines its rounding. */
double nvdp__exact_log_moment(const struct nvdp_exact *e, double c, double *size);

enum { NVDP__EXACT_TERMS = 26 }; /* number of power sums: (1/4)^26 = 2e-16 */

/* The data for K(c+t) - K(c): with w = q (1 + c d)^2 of a dimension,
 *
 *     (c+t)^2 q/(1 - d t) - c^2 q - t (2 c q + c^2 q d)  =  t^2 w / (1 - d t).
 *
 * t is stored in units of the radius R, d as d R, w as w R^2, because high powers of each alone
 * exceed the range of double. */
struct nvdp__expansion {
    struct nvdp_exact *of;
    double c, first; /* K'(c) */
    double radius;   /* max |t| for which this holds */
    /* sums over small dimensions of (d R)^(k+2)/(k+2), and of w R^2 (d R)^k */
    double log_power[NVDP__EXACT_TERMS], w_power[NVDP__EXACT_TERMS];
    size_t large; /* number of other dimensions, whose d and w are in of->large */
};
/* Computes the data for |t| <= radius; `of` and `c` are given. */
void nvdp__exact_expand(struct nvdp__expansion *x, double radius);
/* K(c+t) - K(c) - t eps. Expands again if |t| exceeds the radius. */
double complex nvdp__exact_exponent(struct nvdp__expansion *x, double epsilon, double complex t);

/* C11's CMPLX, which not every compiler has. */
static inline double complex nvdp__complex(double real, double imaginary) {
    const union {
        double part[2];
        double complex number;
    } made = {{real, imaginary}};
    return made.number;
}

#endif
