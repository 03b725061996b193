/* The internal interface of the module: quantities of two texts of a set, and of all pairs of texts. */
#ifndef NVDP_RDP_PAIRS_H
#define NVDP_RDP_PAIRS_H

#include "base/array.h"
#include "rdp/divergence.h"
#include "rdp/kernels.h"
#include "rdp/options.h"
#include <nvdp/audit.h>

/* --- gaussian.c: long flat arrays, both directions at once --- */

/* Quantities that depend only on the order. */
struct nvdp__plan {
    double order; /* from nvdp__order() */
    enum nvdp_pairs_arithmetic arithmetic;
    const struct nvdp__kernels *kernels;
    struct nvdp__chebyshev narrow, wide; /* for fast arithmetic only */
};
struct nvdp__plan nvdp__plan(double order, enum nvdp_pairs_arithmetic arithmetic);

/* Fits `terms` coefficients for |a t| and |t| up to `reach` < 1, with an error of at most 2e-8. If the fit fails
 * (orders of 1e-3 and less), returns false and sets a limit that excludes every x. */
bool nvdp__chebyshev_fit(double order, int terms, double reach, struct nvdp__chebyshev *fit);
/* Returns the logarithm of the product of the variances. */
double nvdp__log_product(size_t n, const double *var);
/* Computes value[0] = D(P||Q) and value[1] = D(Q||P), if wanted; n <= NVDP__CHUNK. The infinities are those of
 * nvdp__gaussian(). The relative error is at most 1e-12 in exact arithmetic and 2e-7 in fast arithmetic. *small is a
 * hint from one block of the pair to the next; initially false. */
void nvdp__gaussian_both(const struct nvdp__plan *plan, size_t n, const struct nvdp__dim_range *p,
                         const struct nvdp__dim_range *q, const bool wanted[2], bool *small,
                         double value[2]);

/* --- dirichlet.c: the weights' part of a pair, from values stored per text --- */

struct nvdp__text_weights {
    double total;       /* sum of the text's pseudo-counts, including prior and padding */
    double log_gammas;  /* kappa sum over tokens lnG(alpha/kappa) */
    double total_gamma; /* lnG(total), the log-gamma function of the total */
    double total_psi;   /* psi(total), the digamma function of the total */
    double size;        /* magnitude that determines the rounding error of the sums */
};
struct nvdp__weights {
    struct nvdp__memory memory; /* owner of the arrays */
    const struct nvdp_posteriors *set;
    double *alpha;                    /* [T] alpha/kappa */
    double *psi;                      /* [T] digamma of alpha */
    double pad_psi;                   /* digamma of pad_alpha/kappa */
    struct nvdp__text_weights *texts; /* [N] sums per text */
};
/* Computes the weights' quantities; creates nothing if the posteriors have no weights. The caller releases
 * out->memory. */
nvdp_status nvdp__weights_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                 struct nvdp__weights *out);

/* True if an extrapolated pseudo-count of D(i || j), at a component that both texts have, is clearly below 0: a
 * cheap test for +inf. The functions that compute the value decide the borderline cases. */
bool nvdp__weights_outside(const struct nvdp__weights *weights, double order, size_t i, size_t j);
/* Computes value[0] = D_dirichlet(i || j) and value[1] = D_dirichlet(j || i), if wanted. gaussian[] holds the rest
 * of the divergence, because the accuracy of the plan's arithmetic is relative to the sum. */
void nvdp__weights_both(const struct nvdp__plan *plan, const struct nvdp__weights *weights,
                        size_t i, size_t j, const bool wanted[2], const double gaussian[2],
                        double value[2]);

/* --- pair.c: one pair --- */

/* Quantities that do not depend on the order, computed once per set. The dimensions of a text
 * are split into blocks: whole rows if several fit into NVDP__CHUNK, else parts of a row. */
struct nvdp__pairs {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    struct nvdp__memory memory; /* owner of the arrays */
    size_t block_rows;          /* rows per block; 1 if rows are split */
    size_t segments;            /* parts per row; 1 if rows are whole */
    size_t width;               /* dimensions per part; the last part of a row may be smaller */
    double *var;                /* [T, p] exp(logvar) */
    double *logs;    /* [T, segments] log product of the variances from the block's beginning */
    double *max_var; /* [N] largest variance of each text */
    double *spread;  /* [N] largest |logvar| of each text */
    struct nvdp__weights weights;
    size_t shortest;  /* number of rows of the shortest text */
    double *to_pad;   /* [T] at the current order: sum of D(row || padding) from this row on;
                       * computed only from row `shortest` of a text on */
    double *from_pad; /* [T] sum of D(padding || row) from this row on */
};
nvdp_status nvdp__pairs_create(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               struct nvdp__pairs **out);
void nvdp__pairs_free(struct nvdp__pairs *pairs);
NVDP__AUTOPTR(struct nvdp__pairs, nvdp__pairs_free)
/* Computes to_pad and from_pad at the plan's order. */
void nvdp__pairs_padding(struct nvdp__pairs *pairs, const struct nvdp__plan *plan);

/* Partial sums: [0] of D(i || j), [1] of D(j || i). */
struct nvdp__both {
    double value[2];
    bool wanted[2];
    bool small; /* hint for nvdp__gaussian_both() */
};
/* Returns the part of D(i || j) from components that only one text has, from to_pad and from_pad; 0 for equal
 * lengths. */
double nvdp__unmatched(const struct nvdp__pairs *pairs, size_t i, size_t j);
/* Adds one block of the pair's common components: block_rows rows from `row` on, or a part of a row. Clears the flag
 * of a direction once its sum is +inf, so that the direction is no longer computed. */
void nvdp__pair_block(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                      size_t j, size_t row, size_t segment, struct nvdp__both *pair);
/* Multiplies the sums by kappa and adds the weights, if wanted. */
void nvdp__pair_finish(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                       size_t j, struct nvdp__both *pair);
/* Returns D(i || j) at the order of to_pad and from_pad. */
double nvdp__pair_value(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                        size_t j);
/* Returns D(i || j) with a plan of exact arithmetic, independent of earlier passes. */
double nvdp__pair_exact(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                        size_t j);

bool nvdp__adjacent(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency, size_t i,
                    size_t j);

/* The unit of a divergence, which selects the divisor. */
enum nvdp__unit { NVDP__SUM, NVDP__PER_COMPONENT, NVDP__PER_COMPONENT_DIM, NVDP__UNITS };
/* Returns the divisor for the pairs of text i: pairs with finite divergences have samples of the same size. */
double nvdp__divisor(const struct nvdp_posteriors *set, enum nvdp__unit unit, size_t i);
struct nvdp_divergence_summary *nvdp__unit_summary(struct nvdp_pairs_summary *summary,
                                                   enum nvdp__unit unit);

/* Computes the statistics of the matrix entries that are not NaN; overwrites values[pairs]. Returns the number of
 * entries. */
size_t nvdp__matrix_summarize(const struct nvdp_posteriors *set, const double *matrix,
                              double *values, struct nvdp_divergence_summary *out,
                              size_t *infinite);

/* Reports progress between two rounds of work. On cancellation, ends the meter and fails with NVDP_ERR_CANCELLED. */
nvdp_status nvdp__pairs_go_on(struct nvdp__meter *meter, size_t done, size_t all, const char *what);

/* More than twice the error of fast arithmetic: a value this much below the maximum cannot be the true maximum. */
#define NVDP__DOUBT 2e-6

/* --- sampled.c: quantiles and intervals --- */

/* Returns the quantile by nearest rank: the value at rank ceil(level n) of the n sorted values. Reorders
 * values[first..n); values[0..first) must already be the smallest. */
double nvdp__quantile(size_t n, size_t first, double level, double *values, size_t *place);
/* Returns the index, from 0, of the quantile in the sorted values. */
size_t nvdp__quantile_place(size_t n, double level);

/* --- confidence intervals; each side fails with at most half of 1 - confidence --- */
/* Returns the interval for a mean of n values by Student's t, which assumes an approximately normal mean; NaN for n
 * < 2. */
struct nvdp_interval nvdp__interval_student(double confidence, size_t n, double mean, double sd);
/* Returns the interval for the mean of values in [0, max] of any distribution; [0, max] for n < 2. */
struct nvdp_interval nvdp__interval_bernstein(double confidence, size_t n, double mean, double sd,
                                              double max);
/* Computes the interval for a quantile, as ranks from 1 in the n sorted values. low may be 0 (no lower bound) and
 * high may be n + 1 (no upper bound). */
void nvdp__interval_ranks(double confidence, size_t n, double level, size_t *low, size_t *high);
/* Returns the interval for a probability of which `successes` of n trials succeeded. */
struct nvdp_interval nvdp__interval_share(double confidence, size_t n, size_t successes);
/* Returns the standard error of a share of n trials. For the shares 0 and 1, the error of 1 and n - 1 hits is
 * returned, because an error of 0 would mean that the share is exact. */
double nvdp__share_error(double share, size_t n);
/* Returns the upper `tail` quantile of Student's t; NaN unless 0 < tail < 1 and freedom >= 1. */
double nvdp__student_quantile(double tail, double freedom);

/* --- all_pairs.c --- */

struct nvdp__pairs_pass {
    double order; /* > 0 */
    enum nvdp_adjacency adjacency;
    enum nvdp_pairs_arithmetic arithmetic;
    /* true if the matrix holds a pass at a smaller order: entries that are +inf stay +inf, because a divergence does
     * not decrease in the order */
    bool keep_infinite;
    /* [N], or NULL. A pair of two settled texts is left as it is if no larger order can lower its epsilon: that is,
     * if releases x the matrix entry + more is at least that epsilon. */
    const bool *settled;
    const double *epsilon; /* [N, N] smallest epsilon of each pair so far */
    double releases, more;
};
/* Fills matrix[i * N + j] = D(i || j); 0 on the diagonal, NaN if two texts are not adjacent. Every entry is computed
 * separately in a fixed order, so the bits are the same on any number of threads. */
nvdp_status nvdp__pairs_pass(struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                             double *matrix);
/* Computes the statistics of a pass, after recomputing the largest entries per unit in exact arithmetic. Fails with
 * NVDP_ERR_INPUT if no two texts are adjacent. */
nvdp_status nvdp__pairs_summarize(struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                                  double *matrix, struct nvdp_pairs_summary *out);

/* --- largest.c: the largest divergence of a group of texts, without summing all pairs --- */

/* Texts that are pairwise adjacent and whose public lengths do not differ. */
struct nvdp__adjacent_texts {
    const size_t *text; /* [n] indices of the texts */
    size_t n;
};
/* Finds a pair that is +inf from the extremes of every dimension and pseudo-count. If *found is false, no pair of
 * the group is infinite. The decision is the same as in the exact form. */
nvdp_status nvdp__group_infinite(const struct nvdp__pairs *pairs, double order,
                                 const struct nvdp__adjacent_texts *group, bool *found, size_t *p,
                                 size_t *q);

/* The divergence is at most mean + difference + weights. Each of these three parts has several sets of bounds, and
 * is at most from[set][i] + to[set][j] for each set. */
enum { NVDP__MEAN_SETS = 9, NVDP__DIFFERENCE_SETS = 3, NVDP__WEIGHT_SETS = 2 };
enum {
    NVDP__GAUSSIAN_SETS = NVDP__MEAN_SETS + NVDP__DIFFERENCE_SETS,
    NVDP__BOUND_SETS = NVDP__GAUSSIAN_SETS + NVDP__WEIGHT_SETS
};
struct nvdp__bounds {
    size_t n;
    double *from; /* [sets, n] bounds of text i as P */
    double *to;   /* [sets, n] bounds of text j as Q */
};
/* Computes the bounds of a group at a finite order at which no pair of the group is infinite. */
nvdp_status nvdp__bounds_create(const struct nvdp__pairs *pairs, double order,
                                const struct nvdp__adjacent_texts *group, struct nvdp__bounds *out);
void nvdp__bounds_free(struct nvdp__bounds *bounds);
/* Bounds the i-th text of the group as P (or as Q if `as_q`) against every text: gaussian[n] is the bound of mean +
 * difference, weights[n] the bound of the weights. */
void nvdp__bounds_row(const struct nvdp__bounds *bounds, size_t i, bool as_q, double *gaussian,
                      double *weights);

struct nvdp__largest {
    double value; /* the divergence, in exact arithmetic */
    size_t p, q;
    size_t summed; /* number of pairs that were fully summed */
};
/* Finds the largest divergence of a group of n >= 2 texts. The result is exact: every pair that is not summed is
 * bounded by a summed pair. Leaves to_pad and from_pad at this order. The result is the same on any number of
 * threads. O(n^2) additions, plus the sums of the pairs that no bound rules out. */
nvdp_status nvdp__pairs_largest(struct nvdp__pairs *pairs, double order,
                                const struct nvdp__adjacent_texts *group,
                                struct nvdp__largest *out);

/* --- sampled.c: the largest divergence by bounds, the other statistics from drawn pairs --- */

/* True if the configuration's max_pairs is below the number of ordered pairs. */
nvdp_status nvdp__pairs_is_sampled(struct nvdp_context *ctx,
                                   const struct nvdp_posteriors *posteriors,
                                   const struct nvdp__pairs_options *config, bool *sampled);
/* Computes the statistics from drawn pairs, with O(max_pairs) divergences in addition to the search. `infinite`
 * receives the causes of infinite drawn pairs and of the largest pair; may be NULL. */
nvdp_status nvdp__pairs_sampled(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                const struct nvdp__pairs_options *config,
                                struct nvdp_pairs_summary *out,
                                struct nvdp_infinite_summary *infinite);

/* --- all_pairs.c: causes of infinite pairs --- */

/* Max number of pairs whose causes are determined. */
enum { NVDP__MAX_INFINITE = 1 << 14 };
/* Explains the infinite entries of a matrix; if there are more than the maximum, explains uniformly drawn entries. */
nvdp_status nvdp__infinite_of_matrix(struct nvdp_context *ctx, double order,
                                     const struct nvdp_posteriors *set, const double *matrix,
                                     struct nvdp_infinite_summary *out);

/* --- measure.c --- */

/* A source of divergences other than posteriors: fill() writes the matrix of one order, as nvdp__pairs_pass() does. */
struct nvdp__divergence_source {
    nvdp_status (*fill)(void *of, double order, double *matrix);
    void *of;
};
/* Does what nvdp_privacy_measure() does, with divergences from a source. `shape` provides offset, dim, kappa and
 * method, and must have public lengths; the source handles different lengths. epsilon [N, N] receives the epsilon of
 * every pair; NULL if the caller does not need it. */
nvdp_status nvdp__privacy_measure_source(struct nvdp_context *ctx,
                                         const struct nvdp_posteriors *shape,
                                         const struct nvdp__divergence_source *source,
                                         const struct nvdp__privacy_options *options,
                                         double *matrix, double *epsilon,
                                         struct nvdp_privacy_report *out);

/* --- conversions.c: Gaussian DP --- */

/* Returns the mu whose curve contains this point, epsilon >= 0. */
double nvdp__gdp_mu(double epsilon, double log_delta);

/* --- exact_exponent.c, exact_bound.c, exact_pairs.c --- */

/* Returns K(s) = s D_{1+s}(P||Q), s > 0, rounded up; +inf from the end of the strip on. */
double nvdp__exact_moment(const struct nvdp_exact *exact, double s);
/* Returns the standard deviation of the loss under P; +inf if public lengths differ. */
double nvdp__exact_deviation(const struct nvdp_exact *exact);
/* Returns an upper bound of epsilon at this delta, from divergences of three orders below 1 + strip; finite for
 * every pair that is not disjoint. */
double nvdp__exact_bound(const struct nvdp_exact *exact, double delta);
/* Compute the numbers of nvdp_exact_epsilon() and similar functions. If the integral fails, *bound is true and the
 * number is an upper bound, which may be +inf (1 for delta and for the true positive rate). */
nvdp_status nvdp__exact_epsilon(struct nvdp_exact *exact, double delta, double *epsilon,
                                bool *bound);
nvdp_status nvdp__exact_delta(struct nvdp_exact *exact, double epsilon, double *delta, bool *bound);
nvdp_status nvdp__exact_tpr(struct nvdp_exact *exact, double fpr, double *tpr, bool *bound);
nvdp_status nvdp__exact_mu(struct nvdp_exact *exact, double delta, double *mu, bool *bound);
/* Computes the results that the option exact requests for a checked set. The bounds take O(N^2 components p) and 40
 * N^2 bytes. */
nvdp_status nvdp__exact_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                              const struct nvdp__privacy_options *options,
                              struct nvdp_exact_summary *out);

/* --- posteriors.c --- */

/* Returns true if a sequence clip bounds any two texts, which requires that no weights add to the vectors. */
static inline bool nvdp__clip_proves(const struct nvdp_posteriors *set) {
    return set->clip_sequence > 0 && set->alpha == NULL;
}

/* Returns the number of rows of text i's sample: (1 + L) kappa or (1 + tokens) kappa with weights; L or tokens
 * without weights. L is the common length of the hidden policy. */
size_t nvdp__release_rows(const struct nvdp_posteriors *posteriors, size_t i);

/* Random streams of this module (NVDP__PURPOSE_MEASURE); an export uses one stream per text, from 0. */
enum {
    NVDP__EPOCH_PAIRS = 1,
    NVDP__EPOCH_TEXTS = 2,
    NVDP__EPOCH_EXACT = 3,
    NVDP__EPOCH_INFINITE = 4,
    NVDP__EPOCH_ATTACK = 5
};
/* Creates a set of `texts` texts and `rows` rows with the attributes of another set. */
nvdp_status nvdp__posteriors_like(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                  size_t texts, size_t rows, struct nvdp_posteriors **out);
/* Copies rows [first, +rows) to row `at` of a set with the same width. */
void nvdp__posteriors_copy(const struct nvdp_posteriors *from, size_t first, size_t rows,
                           struct nvdp_posteriors *to, size_t at);
/* Selects texts by index, and copies their ids. */
nvdp_status nvdp__posteriors_select(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                    size_t texts, const size_t *index,
                                    struct nvdp_posteriors **out);
/* Draws a subset of `texts` texts uniformly, in ascending order; index[texts] receives their indices. */
nvdp_status nvdp__posteriors_draw(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                  size_t texts, uint64_t seed, size_t *index,
                                  struct nvdp_posteriors **out);

/* --- conversions.c: arithmetic of Bayesian DP without a context --- */

/* Computes the cost from X_j = scale x[j] >= 0, for a valid configuration and m >= 2. */
struct nvdp_bdp_cost nvdp__bdp_cost(const struct nvdp__bdp_options *config, double moment,
                                    double scale, size_t m, const double *x);
/* Returns the term that nvdp_renyi_epsilon() adds to a divergence of order 1 + s; s may be far below the rounding of
 * the order. */
double nvdp__epsilon_more(double s, double delta);
/* Returns [calls cost - log(delta - (1 - (1-gamma)^calls))] / moment. */
double nvdp__bdp_epsilon(const struct nvdp__bdp_options *config, double moment, int calls,
                         double cost);

/* The levels of the quantiles in struct nvdp_spread. */
extern const double nvdp__spread_level[NVDP_SPREAD_QUANTILES];
extern const double nvdp__exact_fpr[NVDP_EXACT_FPRS];
extern const double nvdp__pair_quantile_level[NVDP_PAIR_QUANTILES];

/* --- posteriors_file.c --- */

/* Writes the divergences of all ordered pairs of n texts to a file of kind pairs/1: dataset `rd`, attribute `order`.
 * matrix [n, n] is in nats, row P, column Q; infinities are kept. `id` [n] has the row numbers of the texts, which are
 * written as dataset `id`; NULL: none. The file appears when it is complete. Returns NVDP_ERR_ARGUMENT without texts or
 * matrix. */
nvdp_status nvdp__pairs_write(struct nvdp_context *ctx, const char *path, size_t n, double order,
                              const double *matrix, const int64_t *id);

/* Finds the causes of infinite divergences of pairs of texts at an order. O(pairs components p).
 * ctx: records messages; may be NULL
 * order: l > 0
 * posteriors: a set that passes nvdp_posteriors_check()
 * pairs: number of pairs
 * pair: [pairs, 2] indices of the texts of P and of Q, below posteriors->texts
 * out: the causes
 * Returns NVDP_ERR_ARGUMENT for an order <= 0, NVDP_ERR_MEMORY */
nvdp_status nvdp__renyi_infinite(struct nvdp_context *ctx, double order,
                                 const struct nvdp_posteriors *posteriors, size_t pairs,
                                 const size_t *pair, struct nvdp_infinite_summary *out);

/* Returns the number of components of a text's sample, including prior and padding.
 * posteriors: the set
 * i: index of the text
 * Returns number of components; each has kappa vectors */
size_t nvdp__sample_components(const struct nvdp_posteriors *posteriors, size_t i);

#endif
