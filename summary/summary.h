/* A summary: one noisy matrix of second moments of a whole collection, in place of a sample of each text.
 *
 *     z_j = (alpha, beta x_j, tau y_j),   |x_j| <= 1, |y_j| <= 1,   alpha^2 + beta^2 + tau^2 = 1
 *     P_u = 1/m sum_j z_j z_j^T           over the m rows of a unit u: a row, or all rows of a person
 *     M   = sum_u P_u                     over the n units
 *
 * M + E is released. E is symmetric, with independent normals of standard deviation sigma on the diagonal and sigma /
 * sqrt(2) above it.
 *
 * Theorem 1. |P_u - P_v|_F <= sqrt(2) for any two units, attained if their z are orthogonal: both are positive
 * semidefinite, so <P_u, P_v> >= 0, and each has a norm of at most its trace, which is at most 1. In the orthonormal
 * coordinates of symmetric matrices, E is N(0, sigma^2 I). So M + E is a Gaussian mechanism with mu = sqrt(2) / sigma
 * for the replacement of any one unit. (Dwork, Talwar, Thakurta & Zhang 2014 release this matrix for one row more or
 * less, with equal noise in all entries.) Units that change together, such as copies of a text, have k mu: they share
 * the noise.
 *
 * Exactness. 2^bits z is rounded toward zero to integers whose squares add up to at most 4^bits / m for each row, so
 * theorem 1 holds for what is added. 4^bits M is an exact sum of integers. The exact sampler rounds M + E, not E,
 * onto the grid of the output, whose step is 2^(32 - 2 bits): float32 holds the output, and the step is far below
 * sigma. */
#ifndef NVDP_SUMMARY_SUMMARY_H
#define NVDP_SUMMARY_SUMMARY_H

#include "base/array.h"
#include "base/exact_normal.h"

/* The public facts of a summary, which follow from options and from the number of units alone. */
struct nvdp__summary {
    size_t units, dim; /* n; d, the length of x */
    /* K, the length of y: 1 for two classes (-1, 1) or a score, else one number per class; 0 if there is no y */
    size_t answers;
    double alpha, beta, tau; /* weights of the parts of z; alpha is 0 if z has no constant */
    size_t width;            /* D, the length of z */
    int bits;
    /* standard deviation of the noise on the diagonal, and off the diagonal; rounded up */
    double sigma, sigma_off;
    double mu; /* mu of the replacement of one unit, rounded up */
    struct nvdp__rounding_grid grid;
};

/* Chooses the weights, the precision, and the noise with which the release proves epsilon at delta for the
 * replacement of one unit. alpha^2 is .1 if y is one number, so that means are known. With several classes, the
 * matrix contains the sums of each class, and alpha is 0. beta = tau gives the sums of x y the least noise. Fails
 * with NVDP_ERR_ARGUMENT if epsilon or delta is out of range, or if epsilon is so small that the noise exceeds the
 * grid. */
nvdp_status nvdp__summary_plan(struct nvdp_context *ctx, size_t units, size_t dim, size_t answers,
                               double epsilon, double delta, struct nvdp__summary *out);
/* Returns the number of directions that a summary of these units, answers and noise carries. The noise adds sqrt(k) s to
 * the eigenvalues of the covariance in k directions, s = sigma_off / (n beta^2) per entry, and an eigenvalue of k directions
 * is 1/k on average. Their ratio is k^(3/2) s, which is DIRECTIONS at the returned k. Depends on neither plan->dim nor
 * rows. */
size_t nvdp__summary_directions(const struct nvdp__summary *plan);
/* Returns the number of entries on and above the diagonal, which are stored row by row. */
static inline size_t nvdp__summary_entries(const struct nvdp__summary *of) {
    return of->width * (of->width + 1) / 2;
}

/* Writes 2^bits z of one of the `rows` rows of a unit as integers to z [D]; zeros if there are 0 or more than 4^bits
 * rows. A vector x [d] or y [K] that is longer than 1 is scaled down; a number that is not finite becomes 0. */
void nvdp__summary_row(const struct nvdp__summary *of, size_t rows, const float *x, const float *y,
                       int32_t *z);
/* Adds z z^T of `count` rows z [count, D] to the sum [entries] of integers, with this number of threads. O(count
 * D^2). */
void nvdp__summary_add(const struct nvdp__summary *of, int threads, size_t count, const int32_t *z,
                       int64_t *sum);
/* Draws the release of a sum: out [entries], in steps of 2^grid.exponent. A key of the operating system must serve
 * only one draw, because a second draw would have the same noise. Noise from a seed proves nothing. Returns
 * NVDP_ERR_MEMORY. */
nvdp_status nvdp__summary_draw(struct nvdp_context *ctx, const struct nvdp__summary *of,
                               const struct nvdp__noise *noise, const int64_t *sum, int32_t *out);

/* Theorem 2. With the release, every guess of a secret about one unit succeeds with probability at most Phi(Phi^-1(b) +
 * C), where b is the probability of the best guess given all other units. Returns C for a secret with this number of
 * possible answers; 0 stands for any secret:
 *
 *     mu sqrt((m - 1) / (2 m))    Jung's theorem: m points at distances of at most mu lie in a ball of this radius
 *     mu radius / sqrt(2)         the ball around the center of all P: radius^2 = 1 - 1/D, or for rows of classes
 *                                 (alpha 0) 1 - beta^4 / d - tau^4 / K
 *
 * mu / 2 would be wrong for more than two answers: three orthogonal units attain more. k units together have k C. */
double nvdp__summary_guess(const struct nvdp__summary *of, size_t answers);

/* --- moments.c: what a receiver computes from the matrix, at no cost of privacy --- */

/* Estimates from M + E. Divisions by the shares of classes are guarded; no variance is negative, and E |x|^2 is at
 * most 1. */
struct nvdp__moments {
    size_t dim, answers, classes; /* `classes` is 2 for K = 1; 0 for scores, or if there is no y */
    double *mean, *answer;        /* [d], [K] means of x and y */
    double *cross;                /* [K, d] covariances of y and x */
    double answer_variance;       /* variance of the score */
    double *share,
        /* [classes], [classes, d]: shares and means of classes; the means are shrunk by the known noise */
        *class_mean;
    double *
        /* [d, d] covariance of all x: the covariance within the classes, shrunk, plus the covariance of the classes'
         * means */
        covariance;
    double *noisy; /* [d, d] covariance of all x as the matrix has it, with noise */
    double *
        /* [d, d] R with R R^T the covariance of x within the classes; of all x if there are no classes */
        root;
    /* standard deviation of the noise in an entry of the covariance off the diagonal */
    double noise;
};
/* Computes the moments; `memory` owns the arrays. `scores` is true if y is a score, not one of two classes. O(d^3).
 * Returns NVDP_ERR_ARGUMENT for scores of more than one number; NVDP_ERR_MEMORY. */
nvdp_status nvdp__summary_moments(struct nvdp_context *ctx, const struct nvdp__summary *of,
                                  bool scores, const int32_t *matrix, struct nvdp__memory *memory,
                                  struct nvdp__moments *out);
/* Computes the ridge regression of y on x: weight [K, d] = cross (C + penalty)^-1, bias [K]. C is the noisy
 * covariance with shrunk eigenvalues, regardless of classes. The penalty sqrt(d) noise needs no tuning. O(d^3).
 * Returns NVDP_ERR_MEMORY; NVDP_ERR_NUMERIC if the penalty is negative or so small that the sum is singular. */
nvdp_status nvdp__summary_ridge(struct nvdp_context *ctx, const struct nvdp__moments *of,
                                double penalty, double *weight, double *bias);
/* Draws synthetic row number `row`, which belongs to no text. x [d] comes from the Gaussian of a class; for scores,
 * x comes from the Gaussian of all rows and y from the ridge regression `weight`, `bias`. Returns the class or the
 * score; NaN if there is no y. line [2 d] is a scratch buffer. O(d^2). */
double nvdp__summary_synthetic(const struct nvdp__moments *of, const double *weight,
                               const double *bias, uint64_t seed, uint64_t row, double *line,
                               float *x);

#endif
