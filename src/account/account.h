/* Internal parts of the accountant: account.c uses Renyi divergences, pld.c uses the privacy loss distribution. */
#ifndef NVDP_SRC_ACCOUNT_ACCOUNT_H
#define NVDP_SRC_ACCOUNT_ACCOUNT_H

#include "base/array.h"
#include <math.h>
#include <nvdp/account.h>

/* The minimum noise that is accounted for; one step with this noise has an epsilon of half a million. */
#define NVDP__NOISE_MIN 1e-3

/* Returns log p/q at z = noise t: log(1 + u), u = rate (e^c - 1), c = t/noise - 1/(2 noise^2). */
static inline double nvdp__step_loss(double t, double noise, double rate) {
    const double c = (t - 1 / (2 * noise)) / noise;
    return rate == 1 ? c : c < 700 ? log1p(rate * expm1(c)) : c + log(rate);
}

/* Computes epsilon >= 0 at delta from the privacy loss distribution (pld.c). */
nvdp_status nvdp__pld_epsilon(struct nvdp_context *ctx, const struct nvdp_dp_run *run, double delta,
                              double *epsilon);
/* Computes delta at epsilon >= 0: delta[0] if the example is absent under P, delta[1] if it is present. */
nvdp_status nvdp__pld_deltas(struct nvdp_context *ctx, const struct nvdp_dp_run *run,
                             double epsilon, double delta[2]);

/* One step of DP-SGD as a pair of distributions over finitely many losses, which dominates the true pair.
 *
 * In units of the noise a step compares N(0, 1), the base, with the mixture (1-q) N(0, 1) + q N(1/sigma, 1):
 * nvdp/account.h. With t the observation, the likelihood ratio and its logarithm are
 *
 *     w(t)  =  1 - q + q e^c,     c  =  t/sigma - 1/(2 sigma^2),     L  =  log w,
 *
 * and w increases with t. Split the line into cells. Replace each t of a cell [a, b] by a or b, at random, such that
 * the mean of w stays the same:
 *
 *     (w(b) - w(t)) / (w(b) - w(a))  to a,      the rest to b.
 *
 * This keeps the total masses of base and mixture. The ratio undergoes a mean-preserving spread under the base, so the
 * pair on the cells' ends is more informative than the true pair, in both directions and after composition (Blackwell
 * 1953; "connecting the dots" of Doroshenko et al. 2022). The error of a log moment is of second order in the cells'
 * width.
 *
 * Outside of [low, high] losses are rounded up: to the nearest end, or to infinity with a probability below
 * `infinite`. */

/* Selects the distribution that is P: the mixture (the example is present), or the base (the example is absent). */
enum nvdp__direction { NVDP__ABSENT, NVDP__PRESENT };

/* Noise and rate of a step, the number of equal steps, and the cells. The cells exist if rate < 1; the Gaussian
 * mechanism needs no cells. */
struct nvdp__step {
    double noise, rate, times;
    double infinite; /* upper bound of the probability that some step has an infinite loss */
    size_t n;
    double *end; /* [n + 1] ends of the cells, ascending in t */
};
/* Makes coarse cells for a step whose loss may be infinite with a probability of at most e^log_infinite;
 * log_infinite < 0. The caller releases them with nvdp__step_free(). */
nvdp_status nvdp__step_cells(struct nvdp_context *ctx, const struct nvdp_dp_steps *of,
                             double log_infinite, struct nvdp__step *out);
/* The region where cells must be narrow. There, delta(epsilon) is about e^log_delta and decreases like e^(-slope x),
 * and the density of the loss of all steps is `density` times delta. At the saddle point of a loss without far
 * tails, the slope is k. */
struct nvdp__local {
    double epsilon, log_delta, k, slope, density;
};
/* Refines the cells so that all steps together overestimate delta by at most a factor of about e^error. */
nvdp_status nvdp__step_refine(struct nvdp_context *ctx, const struct nvdp__step *coarse,
                              enum nvdp__direction direction, const struct nvdp__local *local,
                              double error, struct nvdp__step *out);
void nvdp__step_free(struct nvdp__step *step);

/* The pair of distributions on the ends of the cells. */
struct nvdp__atoms {
    size_t n;
    struct nvdp__memory memory; /* owner of the arrays */
    double *loss;               /* [n] loss L */
    double *log_mass;           /* [n] log of the base's mass */
    /* base - 1 and mixture - base: the masses that the finite losses lack; sums over atoms could not resolve these
     * numbers */
    double base_less, mixture_less;
    enum nvdp__direction direction;
};
nvdp_status nvdp__step_atoms(struct nvdp_context *ctx, const struct nvdp__step *step,
                             enum nvdp__direction direction, struct nvdp__atoms *out);
void nvdp__atoms_free(struct nvdp__atoms *atoms);

/* Returns log E_P e^(kL) of the finite losses, k > 0; if P is the base, E_P e^(-kL). */
double nvdp__atoms_log_moment(const struct nvdp__atoms *atoms, double k);

/* The same moment at k + iu for many u. */
struct nvdp__tilted {
    const struct nvdp__atoms *atoms;
    double x;                   /* exponent of w: k + 1, or -k */
    double top;                 /* factor: the members below are multiplied by e^-top */
    double sum;                 /* E e^(kL) - 1 */
    size_t n;                   /* number of atoms that are not left out */
    struct nvdp__memory memory; /* owner of the arrays */
    double *loss;               /* [n] losses */
    double *weight;             /* [n] b w^x */
    double *rotation;           /* [4 n] scratch buffer */
    double error_parts[4];
};
/* Prepares the moments at k. Leaves out atoms with a total weight below `lost`, which the error includes. The caller
 * releases the arrays with nvdp__memory_release(&out->memory). */
nvdp_status nvdp__tilt(struct nvdp_context *ctx, const struct nvdp__atoms *atoms, double k,
                       double lost, struct nvdp__tilted *out);

/* log E_P e^((k + iu) L), and an upper bound of its rounding error. */
struct nvdp__log_moment {
    double real, imaginary, error;
};
/* Computes the moments at u = 0, spacing, 2 spacing, ... */
void nvdp__tilted_moments(struct nvdp__tilted *tilted, double spacing, size_t n,
                          struct nvdp__log_moment *out);

/* Computes delta(epsilon) of a run at many epsilons, in both directions, by the privacy loss distribution. The curves
 * describe everything that the outputs of the run reveal about one example.
 *
 *     present(e)  =  sup_S  P(S) - e^e Q(S),        absent(e)  =  sup_S  Q(S) - e^e P(S),
 *
 * P: the example is in the training set; Q: it is not. A value at a negative epsilon comes from the other direction:
 * present(-e) = 1 - e^-e + e^-e absent(e). Every value is an upper bound. The success of a guess with success
 * probability b without the run is at most the minimum over l > 0 of l b + present(log l).
 * ctx: records messages
 * run: computations that read the examples
 * n: number of epsilons; about five milliseconds each, up to half a second as in nvdp_account()
 * epsilon: [n] nats, any number except NaN
 * present: [n] [0, 1]; NULL: not wanted; untouched on error
 * absent: [n] [0, 1]; NULL: not wanted; untouched on error
 * Returns NVDP_ERR_ARGUMENT, whose message names value and range; NVDP_ERR_MEMORY */
nvdp_status nvdp__account_deltas(struct nvdp_context *ctx, const struct nvdp_dp_run *run, size_t n,
                                 const double *epsilon, double *present, double *absent);

#endif
