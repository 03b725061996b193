/* Everything that two texts of a set share, and all pairs of texts: the module's inner face. */
#ifndef NVDP_RDP_PAIRS_H
#define NVDP_RDP_PAIRS_H

#include "rdp/divergence.h"
#include "rdp/kernels.h"
#include "rdp/options.h"
#include <nvdp/audit.h>

/* --- gaussian.c: long flat arrays, both directions at once --- */

/* What depends on the order alone. */
struct nvdp__plan {
    double order; /* as nvdp__order gives it */
    enum nvdp_pairs_arithmetic arithmetic;
    const struct nvdp__kernels *kernels;
    struct nvdp__chebyshev narrow, wide; /* fast arithmetic only */
};
struct nvdp__plan nvdp__plan(double order, enum nvdp_pairs_arithmetic arithmetic);

/* Fits with `terms` coefficients for |a t| and |t| up to `reach` < 1, within 2e-8 of the functions.
 * False, with a limit that admits nothing, where this is missed (orders of 1e-3 and less). */
bool nvdp__chebyshev_fit(double order, int terms, double reach, struct nvdp__chebyshev *fit);
/* log prod var. */
double nvdp__log_product(size_t n, const double *var);
/* value[0] = D(P||Q), value[1] = D(Q||P) where wanted, n <= NVDP__CHUNK.  The same infinities as
 * nvdp__gaussian; exact arithmetic: within 1e-12 of its value, fast: within 2e-7.  *small is a
 * hint from the pair's last block to its next: begin with false. */
void nvdp__gaussian_both(const struct nvdp__plan *plan, size_t n, const struct nvdp__dim_range *p,
                         const struct nvdp__dim_range *q, const bool wanted[2], bool *small,
                         double value[2]);

/* --- dirichlet.c: the weights' part of a pair, from what is kept of each text --- */

struct nvdp__text_weights {
    double total;       /* of its pseudo-counts, prior and padding included */
    double log_gammas;  /* kappa sum over tokens lnG(alpha/kappa) */
    double total_gamma; /* lnG(total) */
    double total_psi;   /* psi(total) */
    double size;        /* what the rounding of the sums is relative to */
};
struct nvdp__weights {
    const struct nvdp_posteriors *set;
    double *alpha;                    /* [T] alpha/kappa */
    double *psi;                      /* [T] its digamma */
    double pad_psi;                   /* that of pad_alpha/kappa */
    struct nvdp__text_weights *texts; /* [N] */
};
/* Nothing where the posteriors have no weights; free what was made in any case. */
nvdp_status nvdp__weights_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                 struct nvdp__weights *out);
void nvdp__weights_free(struct nvdp__weights *weights);
/* Whether a common extrapolated pseudo-count of D(i || j) is clearly below 0: a cheap way to +inf.
 * Edges are left to those who compute the value. */
bool nvdp__weights_outside(const struct nvdp__weights *weights, double order, size_t i, size_t j);
/* value[0] = D_dirichlet(i || j), value[1] the other direction, where wanted.  gaussian[] holds
 * the rest of the divergence: accuracy (that of the plan's arithmetic) is relative to the sum. */
void nvdp__weights_both(const struct nvdp__plan *plan, const struct nvdp__weights *weights,
                        size_t i, size_t j, const bool wanted[2], const double gaussian[2],
                        double value[2]);

/* --- pair.c: one pair --- */

/* What does not depend on the order, computed once per set.  The dimensions of a text are cut into
 * blocks: whole rows where several fit into NVDP__CHUNK, else parts of a row. */
struct nvdp__pairs {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    size_t block_rows; /* of a block; 1 where a row is cut */
    size_t pieces;     /* of a row; 1 where rows are whole */
    size_t width;      /* of a piece; the last one of a row may be narrower */
    double *var;       /* [T, p] exp(logvar) */
    double *logs;      /* [T, pieces] log product of the variances, from the block's begin on */
    double *most;      /* [N] largest variance */
    double *spread;    /* [N] largest |logvar| */
    struct nvdp__weights weights;
    size_t shortest;  /* rows of the shortest text */
    double *to_pad;   /* [T] at the current order: D(rows from this one on || padding), summed;
                         only from row `shortest` of a text on */
    double *from_pad; /* [T] the other direction */
};
nvdp_status nvdp__pairs_create(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               struct nvdp__pairs **out);
void nvdp__pairs_free(struct nvdp__pairs *pairs);
/* to_pad and from_pad at the plan's order. */
void nvdp__pairs_padding(struct nvdp__pairs *pairs, const struct nvdp__plan *plan);

/* [0] D(i || j), [1] D(j || i), while they are summed. */
struct nvdp__both {
    double value[2];
    bool wanted[2];
    bool small; /* hint of nvdp__gaussian_both */
};
/* The components only one of the two has, D(i || j), from to_pad and from_pad; 0 under equal
 * lengths. */
double nvdp__unmatched(const struct nvdp__pairs *pairs, size_t i, size_t j);
/* Adds one block of the pair's common components: block_rows rows from `row` on, or a piece of one.
 * What has become +inf is no longer wanted. */
void nvdp__pair_block(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                      size_t j, size_t row, size_t piece, struct nvdp__both *pair);
/* Times kappa, plus the weights, where wanted. */
void nvdp__pair_finish(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                       size_t j, struct nvdp__both *pair);
/* D(i || j) at the order of to_pad and from_pad. */
double nvdp__pair_value(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                        size_t j);
/* D(i || j) with a plan of exact arithmetic, whatever the pass before. */
double nvdp__pair_exact(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                        size_t j);

bool nvdp__adjacent(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency, size_t i,
                    size_t j);

/* What a divergence is divided by. */
enum nvdp__unit { NVDP__SUM, NVDP__PER_COMPONENT, NVDP__PER_COMPONENT_DIM, NVDP__UNITS };
/* Of the pairs of text i: finite ones have samples of one size. */
double nvdp__divisor(const struct nvdp_posteriors *set, enum nvdp__unit unit, size_t i);
struct nvdp_divergence_summary *nvdp__summary_of(struct nvdp_pairs_summary *summary,
                                                 enum nvdp__unit unit);

/* Statistics of a matrix's pairs, without those that are NaN; values[pairs] is overwritten.  Their
 * number. */
size_t nvdp__matrix_summarize(const struct nvdp_posteriors *set, const double *matrix,
                              double *values, struct nvdp_divergence_summary *out,
                              size_t *infinite);

/* Between two rounds of work: NVDP_ERR_CANCELLED, and the end of the meter, where that is wished. */
nvdp_status nvdp__pairs_go_on(struct nvdp__meter *meter, size_t done, size_t all, const char *what);

/* Above twice the error of the fast arithmetic: nothing that much below can be the maximum. */
#define NVDP__DOUBT 2e-6

/* --- statistics.c --- */

/* Nearest rank: the value at place ceil(level n) of the n sorted values.  Reorders
 * values[first..n); values[0..first) must be the smallest already. */
double nvdp__quantile(size_t n, size_t first, double level, double *values, size_t *place);
/* The place of that value, from 0. */
size_t nvdp__quantile_place(size_t n, double level);

/* Confidence intervals, each side failing with at most half of what the confidence leaves. */
/* Of a mean from n values: Student's t, which supposes a mean near normal; NaN for n < 2. */
struct nvdp_interval nvdp__interval_student(double confidence, size_t n, double mean, double sd);
/* The same for values in [0, most], whatever their distribution; n < 2: [0, most]. */
struct nvdp_interval nvdp__interval_bernstein(double confidence, size_t n, double mean, double sd,
                                              double most);
/* Of a quantile, as places in the n sorted values; low may be 0 (nothing is below) and high n + 1
 * (nothing is above): places count from 1. */
void nvdp__interval_ranks(double confidence, size_t n, double level, size_t *low, size_t *high);
/* Of a share of which `hits` of n were found. */
struct nvdp_interval nvdp__interval_share(double confidence, size_t n, size_t hits);
/* Standard error of a share of n trials; of none and all as if it had been one, and all but one: 0 is of what is exact. */
double nvdp__share_error(double share, size_t n);
/* The upper `tail` quantile of Student's t; NaN unless 0 < tail < 1 and freedom >= 1. */
double nvdp__student_quantile(double tail, double freedom);

/* --- all_pairs.c --- */

struct nvdp__pairs_pass {
    double order; /* > 0 */
    enum nvdp_adjacency adjacency;
    enum nvdp_pairs_arithmetic arithmetic;
    /* The matrix holds a pass at a smaller order: what is +inf there stays so (a divergence does
     * not decrease in its order). */
    bool keep_infinite;
    /* [N] or NULL: pairs of two settled texts are left as they are, where no larger order can lower
     * their epsilon either: releases x what the matrix holds + more is at least that. */
    const bool *settled;
    const double *epsilon; /* [N, N] */
    double releases, more;
};
/* Fills matrix[i * N + j] = D(i || j); 0 on the diagonal, NaN where two texts are not adjacent.
 * Every entry is computed by itself in a fixed order: the same bits on any number of threads. */
nvdp_status nvdp__pairs_pass(struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                             double *matrix);
/* After a pass: its largest entries of any unit in exact arithmetic, and the statistics.  At least
 * one adjacent pair, else NVDP_ERR_INPUT. */
nvdp_status nvdp__pairs_summarize(struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                                  double *matrix, struct nvdp_pairs_summary *out);

/* --- largest.c: the largest divergence of a group of texts, without all pairs' sums --- */

/* Texts any two of which are adjacent and not apart by their public length. */
struct nvdp__adjacent_texts {
    const size_t *text; /* [n] */
    size_t n;
};
/* A pair that is +inf, found from the extremes of every dimension and pseudo-count: where none is
 * found no pair of the group is.  The decision is that of the exact form. */
nvdp_status nvdp__group_infinite(const struct nvdp__pairs *pairs, double order,
                                 const struct nvdp__adjacent_texts *group, bool *found, size_t *p,
                                 size_t *q);

/* The divergence is at most mean + difference + weights, and each of these at most from[set][i] +
 * to[set][j] for every one of its sets. */
enum { NVDP__MEAN_SETS = 9, NVDP__DIFFERENCE_SETS = 3, NVDP__WEIGHT_SETS = 2 };
enum {
    NVDP__GAUSSIAN_SETS = NVDP__MEAN_SETS + NVDP__DIFFERENCE_SETS,
    NVDP__BOUND_SETS = NVDP__GAUSSIAN_SETS + NVDP__WEIGHT_SETS
};
struct nvdp__bounds {
    size_t n;
    double *from; /* [sets, n] */
    double *to;   /* [sets, n] */
};
/* For a finite order at which no pair of the group is infinite. */
nvdp_status nvdp__bounds_create(const struct nvdp__pairs *pairs, double order,
                                const struct nvdp__adjacent_texts *group, struct nvdp__bounds *out);
void nvdp__bounds_free(struct nvdp__bounds *bounds);
/* Bounds of the i-th text of the group as P (as Q: `as_q`) against each: gaussian[n] (mean +
 * difference), weights[n]. */
void nvdp__bounds_row(const struct nvdp__bounds *bounds, size_t i, bool as_q, double *gaussian,
                      double *weights);

struct nvdp__largest {
    double value; /* in exact arithmetic */
    size_t p, q;
    size_t summed; /* pairs whose full sum was computed */
};
/* n >= 2.  Exact: every pair that is not summed is bounded by one that is.  to_pad and from_pad are
 * left at this order.  The same result on any number of threads.  O(n^2) additions, and the sums of
 * the pairs that no bound rules out. */
nvdp_status nvdp__pairs_largest(struct nvdp__pairs *pairs, double order,
                                const struct nvdp__adjacent_texts *group,
                                struct nvdp__largest *out);

/* --- sampled.c: the largest by bounds, the rest from drawn pairs --- */

/* Whether the configuration's max_pairs is below the number of ordered pairs. */
nvdp_status nvdp__pairs_is_sampled(struct nvdp_context *ctx,
                                   const struct nvdp_posteriors *posteriors,
                                   const struct nvdp__pairs_options *config, bool *sampled);
/* O(max_pairs) divergences besides the search's.  infinite: why drawn pairs are, and the largest; may be NULL. */
nvdp_status nvdp__pairs_sampled(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                const struct nvdp__pairs_options *config,
                                struct nvdp_pairs_summary *out,
                                struct nvdp_infinite_summary *infinite);

/* --- infinite.c --- */

/* The most pairs whose causes are looked for. */
enum { NVDP__INFINITE_MOST = 1 << 14 };
/* Of the infinite ones of a matrix, drawn uniformly where there are more. */
nvdp_status nvdp__infinite_of_matrix(struct nvdp_context *ctx, double order,
                                     const struct nvdp_posteriors *set, const double *matrix,
                                     struct nvdp_infinite_summary *out);

/* --- measure.c --- */

/* Where divergences of pairs come from that are not those of posteriors: fill() writes all of one
 * order, as nvdp__pairs_pass() does. */
struct nvdp__divergence_source {
    nvdp_status (*fill)(void *of, double order, double *matrix);
    void *of;
};
/* nvdp_privacy_measure() from a source.  Of `shape`, whose lengths are public, offset, dim, kappa and
 * method are read.  Lengths apart are the source's business.  epsilon [N, N]: every pair's; NULL: not
 * wanted. */
nvdp_status nvdp__privacy_measure_source(struct nvdp_context *ctx,
                                         const struct nvdp_posteriors *shape,
                                         const struct nvdp__divergence_source *source,
                                         const struct nvdp__privacy_options *options,
                                         double *matrix, double *epsilon,
                                         struct nvdp_privacy_report *out);

/* --- gdp.c --- */

/* The mu whose curve has this point, epsilon >= 0. */
double nvdp__gdp_of(double epsilon, double log_delta);

/* --- exact.c, exact_bound.c, exact_pairs.c --- */

/* K(s) = s D_{1+s}(P||Q), s > 0, rounded up; +inf from the strip's end on. */
double nvdp__exact_moment(const struct nvdp_exact *exact, double s);
/* Standard deviation of the loss under P; +inf where public lengths tell the pair apart. */
double nvdp__exact_deviation(const struct nvdp_exact *exact);
/* Above epsilon at this delta: what divergences of three orders below 1 + strip give, finite for every pair that
 * is not apart for certain. */
double nvdp__exact_bound(const struct nvdp_exact *exact, double delta);
/* nvdp_exact_epsilon() and its siblings.  Where the integral fails, *bound is true and the number is an upper bound, which
 * may be +inf (of delta and the true positive rate 1). */
nvdp_status nvdp__exact_epsilon(struct nvdp_exact *exact, double delta, double *epsilon,
                                bool *bound);
nvdp_status nvdp__exact_delta(struct nvdp_exact *exact, double epsilon, double *delta, bool *bound);
nvdp_status nvdp__exact_tpr(struct nvdp_exact *exact, double fpr, double *tpr, bool *bound);
nvdp_status nvdp__exact_mu(struct nvdp_exact *exact, double delta, double *mu, bool *bound);
/* What the option exact asks for, of a set that was checked.  O(N^2 components p) for the bounds, memory 40 N^2 bytes. */
nvdp_status nvdp__exact_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                              const struct nvdp__privacy_options *options,
                              struct nvdp_exact_summary *out, struct nvdp_exact_bounds *bounds);

/* --- posteriors.c --- */

/* Rows of text i's sample: (1 + L) kappa or (1 + tokens) kappa with weights; without weights L, or
 * the tokens. */
size_t nvdp__release_rows(const struct nvdp_posteriors *posteriors, size_t i);

/* Streams of this module (NVDP__PURPOSE_MEASURE); export takes texts from 0. */
enum {
    NVDP__EPOCH_PAIRS = 1,
    NVDP__EPOCH_TEXTS = 2,
    NVDP__EPOCH_EXACT = 3,
    NVDP__EPOCH_INFINITE = 4,
    NVDP__EPOCH_ATTACK = 5
};
/* Some of the texts, by their numbers, with their ids. */
nvdp_status nvdp__posteriors_select(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                    size_t texts, const size_t *index,
                                    struct nvdp_posteriors **out);
/* A uniformly drawn subset of `texts` texts, in their order; index[texts] their numbers. */
nvdp_status nvdp__posteriors_draw(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                  size_t texts, uint64_t seed, size_t *index,
                                  struct nvdp_posteriors **out);

/* --- bdp.c: the arithmetic without a context --- */

/* From X_j = scale x[j] >= 0, at a valid configuration; m >= 2. */
struct nvdp_bdp_cost nvdp__bdp_cost(const struct nvdp__bdp_options *config, double moment,
                                    double scale, size_t m, const double *x);
/* What nvdp_renyi_epsilon() adds to a divergence of order 1 + s: s may be far below the rounding of the order. */
double nvdp__epsilon_more(double s, double delta);
/* [calls cost - log(delta - (1 - (1-gamma)^calls))] / moment */
double nvdp__bdp_epsilon(const struct nvdp__bdp_options *config, double moment, int calls,
                         double cost);

/* The tables behind nvdp_spread_level() and its siblings. */
extern const double nvdp__spread_level[NVDP_SPREAD_QUANTILES];
extern const double nvdp__exact_fpr[NVDP_EXACT_FPRS];
extern const double nvdp__pair_quantile_level[NVDP_PAIR_QUANTILES];

#endif
