/* One step of DP-SGD as a pair of distributions over finitely many losses, which dominates the true pair.
 *
 * In units of the noise a step compares N(0, 1), the base, with the mixture (1-q) N(0, 1) + q N(1/sigma, 1): account.h.
 * With t the observation the likelihood ratio and its logarithm are
 *
 *     w(t)  =  1 - q + q e^c,        c  =  t/sigma - 1/(2 sigma^2),        L  =  log w,
 *
 * and w rises with t.  Cut the line into cells.  Replace each t of a cell [a, b] by a or b, at random, such that the mean
 * of w stays:
 *
 *     (w(b) - w(t)) / (w(b) - w(a))  to a,      the rest to b.
 *
 * The masses of both distributions stay.  The ratio undergoes a mean-preserving spread under the base, so that the pair on
 * the cells' ends is more informative than the true pair, in both directions and after composition (Blackwell 1953;
 * "connecting the dots" of Doroshenko et al. 2022).  The error of a log moment is of second order in the cells' width.
 *
 * Outside of [low, high] losses are rounded up: to the nearest end, or to infinity with a probability below `infinite`. */
#ifndef NVDP_SRC_ACCOUNT_STEP_H
#define NVDP_SRC_ACCOUNT_STEP_H

#include "account/account.h"

/* Which of the two distributions is P: the mixture, where the example is present, or the base. */
enum nvdp__direction { NVDP__ABSENT, NVDP__PRESENT };

/* A step's noise and rate, how many times it is taken, and its cells.  rate < 1: the Gaussian mechanism needs none. */
struct nvdp__step {
    double noise, rate, times;
    double infinite; /* probability of a loss of infinity in all steps, at most */
    size_t n;
    double *end; /* [n + 1] ascending t */
};
/* Coarse cells for a step of which at most `infinite` may be lost; log_infinite < 0.  _free. */
nvdp_status nvdp__step_cells(struct nvdp_context *ctx, const struct nvdp_dp_steps *of,
                             double log_infinite, struct nvdp__step *out);
/* Where cells have to be narrow: delta(epsilon) is about e^log_delta, falls like e^(-slope x) there, and the density of the
 * loss of all steps is `density` times delta.  At the saddle point of a loss without far tails slope is k. */
struct nvdp__local {
    double epsilon, log_delta, k, slope, density;
};
/* Divides the cells such that all steps together make delta at most e^error times as large, about. */
nvdp_status nvdp__step_refine(struct nvdp_context *ctx, const struct nvdp__step *coarse,
                              enum nvdp__direction direction, const struct nvdp__local *local,
                              double error, struct nvdp__step *out);
void nvdp__step_free(struct nvdp__step *step);

/* The pair on the cells' ends. */
struct nvdp__atoms {
    size_t n;
    double *loss;     /* [n] L */
    double *log_mass; /* [n] log of the base's mass */
    /* base - 1 and mixture - base: what the masses of the finite losses lack, which sums of atoms would not resolve */
    double base_less, mixture_less;
    enum nvdp__direction direction;
};
nvdp_status nvdp__step_atoms(struct nvdp_context *ctx, const struct nvdp__step *step,
                             enum nvdp__direction direction, struct nvdp__atoms *out);
void nvdp__atoms_free(struct nvdp__atoms *atoms);

/* log E_P e^(kL) of the finite losses, k > 0 (absent: of the losses -L). */
double nvdp__atoms_log_moment(const struct nvdp__atoms *atoms, double k);

/* The same at k + iu for many u. */
struct nvdp__tilted {
    const struct nvdp__atoms *atoms;
    double x;       /* the exponent of w: k + 1, or -k */
    double top;     /* what follows is times e^-top */
    double sum;     /* E e^(kL) - 1 */
    size_t n;       /* atoms that count */
    double *loss;   /* [n] */
    double *weight; /* [n] b w^x */
    double *turn;   /* [4 n] scratch */
    double trust[4];
};
/* Leaves out atoms whose weights make up less than `lost`; the error has it. */
nvdp_status nvdp__tilt(struct nvdp_context *ctx, const struct nvdp__atoms *atoms, double k,
                       double lost, struct nvdp__tilted *out);
void nvdp__tilted_free(struct nvdp__tilted *tilted);
/* log E_P e^((k + iu) L), and a bound on its rounding error. */
struct nvdp__log_moment {
    double real, imaginary, error;
};
/* At u = 0, spacing, 2 spacing, ... */
void nvdp__tilted_moments(struct nvdp__tilted *tilted, double spacing, size_t n,
                          struct nvdp__log_moment *out);

#endif
