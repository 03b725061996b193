/** @file rdp.h
 * Renyi divergences between the shared samples of two texts, and over all pairs of a set of texts.
 *
 * All logarithms are natural: the unit is the nat. For order l > 0, l != 1,
 *
 *     D_l(P || Q) = 1/(l-1) log int P^l Q^(1-l);
 *
 * l = 1 is the Kullback-Leibler divergence, l = INFINITY the max-divergence sup log P/Q (orders from 1e100 on count
 * as INFINITY). The divergence does not decrease in l. +inf is a valid value, which every statistic includes.
 * docs/privacy.md explains the meaning of the numbers.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_RDP_H
#define NVDP_RDP_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/posteriors.h>

NVDP_BEGIN_DECLS

/** Computes D_l between Gaussians with diagonal covariance (van Erven & Harremoes 2014, Eq. 10). With v = (1-l)
 * var_p + l var_q in each dimension, the sum over dimensions of
 *
 *     l (mu_p - mu_q)^2 / (2 v)  +  [ 1/2 log v - (1-l)/2 log var_p - l/2 log var_q ] / (1-l);
 *
 * +inf if any v <= 0. Order infinity is finite only if var_p < var_q in every dimension in which P and Q differ.
 * O(n).
 * @param order l > 0
 * @param n     number of dimensions
 * @param mu_p  [n] means of P
 * @param var_p [n] variances of P, > 0
 * @param mu_q  [n] means of Q
 * @param var_q [n] variances of Q, > 0
 * @return nats, >= 0 or +inf; NaN for an order <= 0, a variance <= 0, or a number that is not finite */
double nvdp_renyi_gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q);

/** Computes D_l between Dirichlet distributions (Gil, Alajaji & Linder 2013). With c = l alpha_p + (1-l) alpha_q and
 * lnB(a) = sum lnGamma(a_i) - lnGamma(sum a),
 *
 *     [ lnB(c) - l lnB(alpha_p) ] / (l-1)  +  lnB(alpha_q);
 *
 * +inf if any c_i <= 0. Order infinity is finite only if every alpha_p >= alpha_q. O(m).
 * @param order   l > 0
 * @param m       number of weights; the divergence is 0 if m < 2
 * @param alpha_p [m] pseudo-counts of P, > 0
 * @param alpha_q [m] pseudo-counts of Q, > 0
 * @return nats, >= 0 or +inf; NaN for an order <= 0, or a pseudo-count <= 0 or not finite */
double nvdp_renyi_dirichlet(double order, size_t m, const double *alpha_p, const double *alpha_q);

/** Computes D_l between two distributions over the same n outcomes (van Erven & Harremoes 2014, Eq. 1): with t = log
 * p/q, 1/(l-1) log sum p exp((l-1) t). Order 1 is sum p t; order infinity is the maximum of t. +inf if some
 * q = 0 < p and l >= 1, and if P and Q have no outcome in common. O(n).
 * @param order l > 0
 * @param n     number of outcomes
 * @param log_p [n] log p <= 0; -inf for probability 0
 * @param log_q [n] log q
 * @return nats, >= 0 or +inf; NaN for an order <= 0 or a NaN */
double nvdp_renyi_discrete(double order, size_t n, const double *log_p, const double *log_q);

/** Returns the largest probability under P of an event whose probability under Q is `chance`, if D_l(P || Q) is at
 * most `divergence`. This is the largest p with d_l(p || chance) <= divergence, where d_l is the divergence between
 * two binary distributions. No processing raises a divergence (van Erven & Harremoes 2014, Theorem 9). Two uses:
 *
 * - the true positive rate of a test between two texts at divergence D_l: `chance` is the false positive rate;
 * - the success of identifying one of N equally likely texts, each at most D_l from a common reference: `chance` is
 *   1/N, or 10/N for the top ten. At order 1, with the mutual information, this is Fano's inequality (Polyanskiy &
 *   Verdu 2010).
 *
 * Returns 1 if divergence >= log(1/chance) and l >= 1.
 * @param order      l > 0
 * @param divergence >= 0, nats
 * @param chance     in (0, 1)
 * @return probability in [chance, 1]; NaN for another order, divergence or chance */
double nvdp_renyi_probability_bound(double order, double divergence, double chance);

/** Computes D_l between two Laplace distributions in R^d with densities ~ exp(-eta |y - x|) and exp(-eta |y - x'|).
 * D_l depends only on eta |x - x'| and has a closed form with modified Bessel functions. With z = eta |x - x'| / 2,
 * w = |2l-1| z, n = d/2 - 1,
 *
 *     1/(l-1) log { z (z/w)^n [ K_{n+1}(z) I_n(w) + z/w K_n(z) I_{n+1}(w) ] };
 *
 * approximately l eta^2 |x - x'|^2 / (2d) for small distances, and at most eta |x - x'|, the divergence of order
 * infinity. rdp/loss.c has the derivation. The relative error is below 1e-11, also near order 1. O(d + log w).
 * @param order    l > 0
 * @param dim      d >= 1
 * @param distance eta |x - x'| >= 0
 * @return nats; NaN for another order, dimension or distance */
double nvdp_renyi_laplace(double order, size_t dim, double distance);

/** Computes D_l between the samples of two texts, summed over everything that one release shares: the divergence of
 * the Dirichlets plus kappa times that of each Gaussian. This is Eq. 7 of the NVDP paper, corrected: the printed
 * equation exchanges the two variances inside sigma'. O(components x p).
 * @param order      l > 0
 * @param posteriors a set that passes nvdp_posteriors_check()
 * @param i          index of the text of P, below posteriors->texts
 * @param j          index of the text of Q
 * @return nats, >= 0 or +inf (also if public lengths differ); NaN for an order <= 0 */
double nvdp_renyi_texts(double order, const struct nvdp_posteriors *posteriors, size_t i, size_t j);

/** Bounds the divergence between the samples of any two texts under a sequence clip (docs/nvib.md). The noise is
 * N(0, 1) in every coordinate, and all means of a text together, as one vector, have norm at most C. Two such
 * vectors are at most 2C apart, so
 *
 *     D_l <= l (2C)^2 / 2.
 *
 * Two texts on opposite sides of the ball attain the bound, which holds for all texts, seen or not. O(1).
 * @param order  l > 0; INFINITY gives +inf if C > 0
 * @param radius C >= 0, in standard deviations of the noise
 * @return nats; NaN for an order <= 0, or a radius < 0 or not finite */
double nvdp_renyi_sequence_bound(double order, double radius);

/** The privacy loss of a pair, L = log P(S)/Q(S) with S ~ P, for Gaussians and Dirichlets; opaque. The distribution of
 * L is known, so (epsilon, delta) are exact. A conversion from Renyi divergences gives only an upper bound, which is a
 * few nats larger, or infinite. Only one thread at a time may use the struct. */
struct nvdp_exact;

/** A point of the privacy curve, with the error rates of the best test between P and Q, "P if L > epsilon". */
struct nvdp_exact_point {
    double epsilon; /**< in nats; may be negative */
    /** E (1 - e^(epsilon - L))_+: the smallest delta with P(S) <= e^epsilon Q(S) + delta for all sets S. */
    double delta;
    double log_delta; /**< log delta; -INFINITY if epsilon is above every loss */
    double rest;      /**< 1 - delta, accurate even if it is small */
    double fpr;       /**< Q(L > epsilon): false positive rate */
    double tpr;       /**< P(L > epsilon): true positive rate, the maximum at this fpr */
};

/** Creates the loss of a pair with n Gaussian dimensions and a Dirichlet of m weights, all independent.
 * @param ctx      records messages
 * @param n        number of dimensions
 * @param mu_p     [n] means of P
 * @param var_p    [n] variances of P, > 0
 * @param mu_q     [n] means of Q
 * @param var_q    [n] variances of Q, > 0
 * @param times    number of draws of each Gaussian per release, at least 1
 * @param m        number of weights; fewer than 2 have no loss
 * @param alpha_p  [m] pseudo-counts of P, > 0
 * @param alpha_q  [m] pseudo-counts of Q, > 0
 * @param releases number of independent samples of the same text, at least 1
 * @param[out] out the loss, freed with nvdp_exact_free()
 * @return NVDP_ERR_ARGUMENT, whose message names the invalid number; NVDP_ERR_MEMORY */
nvdp_status nvdp_exact_create(struct nvdp_context *ctx, size_t n, const double *mu_p,
                              const double *var_p, const double *mu_q, const double *var_q,
                              int times, size_t m, const double *alpha_p, const double *alpha_q,
                              int releases, struct nvdp_exact **out);

/** Creates the loss of two texts of a set, for everything that a release shares, as in nvdp_renyi_texts().
 * @param ctx        records messages
 * @param posteriors a set that passes nvdp_posteriors_check()
 * @param i          index of the text of P, below posteriors->texts
 * @param j          index of the text of Q; delta is 1 if lengths are public and differ
 * @param releases   at least 1
 * @param[out] out   the loss, freed with nvdp_exact_free()
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_exact_texts(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                             size_t i, size_t j, int releases, struct nvdp_exact **out);

/** Frees a loss.
 * @param exact may be NULL */
void nvdp_exact_free(struct nvdp_exact *exact);

/** Returns the limit of the finite moments of the loss: E e^(s L), and the Renyi divergence of order 1 + s, are finite
 * for 0 < s < the limit.
 * @param exact the loss
 * @return above 0; +inf if no variance is larger, and no pseudo-count smaller, under P than under Q */
double nvdp_exact_moment_limit(const struct nvdp_exact *exact);

/** Computes the curve at one epsilon, by an integral of the moment generating function through its saddle point
 * (rdp/exact.c). The relative error of delta is below 1e-10 down to 1e-300, and below 1e-6 in the worst case. The error
 * is larger if a double cannot resolve epsilon: for an epsilon of 1e10, or close to a bound of the loss. Variances
 * may differ by a factor of e^600; pseudo-counts may agree in all but the last digits. O(n + 100 m), a few
 * milliseconds for 10^5 dimensions.
 * @param ctx      records messages
 * @param exact    the loss
 * @param epsilon  finite
 * @param[out] out the point of the curve
 * @return NVDP_ERR_ARGUMENT; NVDP_ERR_NUMERIC if double precision cannot represent the integral: losses around 10^8
 *         nats, or an epsilon at an atom of the loss */
nvdp_status nvdp_exact_delta(struct nvdp_context *ctx, struct nvdp_exact *exact, double epsilon,
                             struct nvdp_exact_point *out);

/** Computes the curve at many epsilons, as nvdp_exact_delta() does at one. Nearby epsilons share a path of integration:
 * a point takes a few microseconds, plus one call of nvdp_exact_delta() per few standard deviations of the loss. The
 * results of the two functions agree to a relative 1e-9.
 * @param ctx      records messages, can cancel
 * @param exact    the loss
 * @param count    number of epsilons
 * @param epsilon  [count] finite, in any order
 * @param[out] out [count] points of the curve; untouched on error
 * @return as nvdp_exact_delta(); NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_exact_curve(struct nvdp_context *ctx, struct nvdp_exact *exact, size_t count,
                             const double *epsilon, struct nvdp_exact_point *out);

/** Computes the smallest epsilon >= 0 whose delta is at most the given delta. Evaluates about ten points of the curve.
 * @param ctx          records messages
 * @param exact        the loss
 * @param delta        in (0, 1)
 * @param[out] epsilon in nats; +inf if P and Q are always distinguishable
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_NUMERIC */
nvdp_status nvdp_exact_epsilon(struct nvdp_context *ctx, struct nvdp_exact *exact, double delta,
                               double *epsilon);

/** Computes a point of the trade-off curve: the best test at a false positive rate (Neyman & Pearson). Evaluates
 * about ten points.
 * @param ctx      records messages
 * @param exact    the loss
 * @param fpr      in (0, 1)
 * @param[out] out the point; no test has a larger true positive rate than its `tpr`; tpr is fpr if P and Q are equal
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_NUMERIC */
nvdp_status nvdp_exact_trade_off(struct nvdp_context *ctx, struct nvdp_exact *exact, double fpr,
                                 struct nvdp_exact_point *out);

/** Computes the smallest mu of Gaussian differential privacy (Dong, Roth & Su 2022) whose curve is nowhere below the
 * curve of the loss. The comparison covers epsilon >= 0, down to the given delta. If variances and pseudo-counts are
 * equal, mu is the distance of the means for every delta. Otherwise no mu holds for all deltas, because a larger
 * variance, for example, leaves an exponential tail.
 * @param ctx     records messages
 * @param exact   the loss
 * @param delta   in (0, 1)
 * @param[out] mu the minimum; +inf if delta(0) rounds to 1, unless variances and pseudo-counts are equal
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_NUMERIC */
nvdp_status nvdp_exact_gdp(struct nvdp_context *ctx, struct nvdp_exact *exact, double delta,
                           double *mu);

/** Computes delta(epsilon) of N(mu, 1) against N(0, 1): Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), without
 * cancellation (Balle & Wang 2018).
 * @param mu      >= 0
 * @param epsilon any number; may be infinite
 * @return delta; 1 for an infinite mu; NaN for another mu */
double nvdp_gdp_delta(double mu, double epsilon);

/** Returns the smallest epsilon >= 0 with nvdp_gdp_delta(mu, epsilon) <= delta, by bisection.
 * @param mu    >= 0
 * @param delta in (0, 1)
 * @return nats, never below the exact value: the epsilon of a delta that is smaller by a relative 1e-12. +inf for a mu
 *         above 1.9e154, whose epsilon is beyond the range of double; NaN for another mu or delta */
double nvdp_gdp_epsilon(double mu, double delta);

/** Returns the largest mu with nvdp_gdp_delta(mu, epsilon) <= delta, by bisection. A Gaussian mechanism with this
 * budget needs noise of standard deviation sensitivity / mu (Balle & Wang 2018). At delta 1e-5, epsilon 1, 2, 4, 8
 * give .26805, .50155, .92493, 1.66603.
 * @param epsilon finite, >= 0
 * @param delta   in (0, 1)
 * @return mu, never above the exact value; NaN for another epsilon or delta */
double nvdp_gdp_mu(double epsilon, double delta);

/** Adjacency: the ordered pairs (i, j), i != j, of texts that statistics include. */
enum nvdp_adjacency {
    NVDP_ADJACENT_ALL,        /**< all texts are adjacent, as in the paper */
    NVDP_ADJACENT_SAME_LENGTH /**< texts of the same length are adjacent */
};

/** Relative error of each divergence. Both settings give the same infinities. */
enum nvdp_pairs_arithmetic {
    NVDP_PAIRS_FAST, /**< at most 1e-6; at most 1e-12 for the reported maxima */
    NVDP_PAIRS_EXACT /**< at most 1e-12 */
};

/** Number of quantiles of a summary. */
#define NVDP_PAIR_QUANTILES 5

/** Statistics of divergences, in nats. */
struct nvdp_divergence_summary {
    double max;  /**< +inf if any pair is infinite */
    double mean; /**< +inf if any pair is infinite */
    /** Maximum over the finite pairs, for comparison: not a privacy guarantee. NaN without finite pairs, and if
     * pairs are drawn and some pair is infinite. */
    double max_finite;
    double mean_finite;                   /**< mean over the finite pairs; NaN if there are none */
    double quantile[NVDP_PAIR_QUANTILES]; /**< nearest rank, infinite pairs included */
    size_t max_p; /**< index of the text of P of the pair that attains max */
    size_t max_q; /**< index of the text of Q of the same pair */
};

/** An interval. */
struct nvdp_interval {
    double low;  /**< lower end */
    double high; /**< upper end */
};

/** Intervals of the statistics of drawn pairs. The intervals are in the unit of `sum`; for per_component and
 * per_component_dim, divide them as the values. */
struct nvdp_pairs_sample {
    /** Number of ordered pairs drawn uniformly with replacement; 0 if all pairs count. */
    size_t drawn;
    /** Number of pairs whose full divergence was computed in the search for the largest divergence. */
    size_t summed;
    double confidence; /**< .95, for each interval separately */
    /** Student's t interval of mean_finite: assumes an approximately normal mean. */
    struct nvdp_interval mean;
    /** Interval of mean_finite by the empirical Bernstein bound (Maurer & Pontil 2009, Theorem 4). It holds for
     * every distribution up to the exact maximum; NaN if some pair is infinite. */
    struct nvdp_interval mean_bound;
    struct nvdp_interval quantile[NVDP_PAIR_QUANTILES]; /**< by order statistics */
    struct nvdp_interval infinite_share;                /**< Clopper & Pearson 1934 */
};

/** Divergences over all pairs of a set of texts. */
struct nvdp_pairs_summary {
    size_t struct_size;                    /**< NVDP_RESULT() sets it */
    double order;                          /**< l */
    enum nvdp_adjacency adjacency;         /**< adjacent pairs */
    enum nvdp_pairs_arithmetic arithmetic; /**< accuracy */
    size_t texts;                          /**< N */
    size_t pairs;                          /**< ordered pairs of adjacent texts */
    size_t infinite; /**< number of infinite pairs; among the drawn pairs if pairs are drawn */
    struct nvdp_pairs_sample sample;    /**< statistics of drawn pairs */
    struct nvdp_divergence_summary sum; /**< divergence of one whole sample: the privacy measure */
    struct nvdp_divergence_summary per_component; /**< sum / (components x kappa) */
    /** sum / (components x kappa x p), as in the published tables; not a privacy guarantee. */
    struct nvdp_divergence_summary per_component_dim;
};

/** Measures all ordered pairs, on the context's threads. The result has the same bits for any number of threads.
 *
 * Without max-pairs: O(N^2 x components x p), both directions at once; components that are padding in both texts are
 * skipped exactly. Memory: 2 N^2 doubles and one double per stored mean; N is at most 20000. With max-pairs: O(N^2)
 * additions, and O(components x p) for every drawn pair and every pair that no bound excludes from the maximum.
 * Memory: O(N + max-pairs).
 * @param ctx        records messages, reports progress, can cancel
 * @param posteriors 2 or more texts; checked
 * @param config     of kind "privacy"; reads order, adjacency, arithmetic, max-pairs and seed; NULL:
 *                   the defaults
 * @param matrix     [N, N] nats, row P, column Q, diagonal 0, NaN for pairs that are not adjacent; may be NULL;
 *                   must be NULL if pairs are drawn
 * @param out        the statistics, in nats
 * @return NVDP_ERR_ARGUMENT for an option or a number of texts out of its range, NVDP_ERR_INPUT for posteriors that
 *         fail nvdp_posteriors_check() or have no adjacent texts, NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                             const struct nvdp_config *config, double *matrix,
                             struct nvdp_pairs_summary *out);

/** Causes of an infinite divergence of order l: the quantity, and whether the position holds tokens or padding. The
 * prior's component is the same in every sample and is never a cause. */
enum nvdp_infinite_cause {
    NVDP_INFINITE_LENGTHS, /**< lengths are public and differ */
    /** Two tokens at one position have var_p >= l/(l-1) var_q in a dimension. */
    NVDP_INFINITE_TOKEN_LOGVAR,
    NVDP_INFINITE_TOKEN_ALPHA,    /**< two tokens have alpha_q >= l/(l-1) alpha_p */
    NVDP_INFINITE_TOKEN_MU,       /**< order infinity: equal variances, different means */
    NVDP_INFINITE_PADDING_LOGVAR, /**< variances, where one text has padding */
    NVDP_INFINITE_PADDING_ALPHA,  /**< pseudo-counts, where one text has padding */
    NVDP_INFINITE_PADDING_MU,     /**< means, where one text has padding */
    NVDP_INFINITE_RANGE,          /**< no other cause: finite, but beyond the range of double */
    NVDP_INFINITE_CAUSES          /**< number of causes */
};

/** Frequency and position of one cause. A pair can have several causes. */
struct nvdp_infinite_part {
    size_t pairs;       /**< number of infinite pairs with this cause */
    size_t place;       /**< most frequent token position of the cause, from 0 */
    size_t place_pairs; /**< number of pairs with the cause at that position */
    size_t dim;         /**< most frequent dimension of the cause; unused for alpha */
    double ratio;       /**< largest var_p/var_q, or alpha_q/alpha_p */
};

/** Causes of the infinite pairs. */
struct nvdp_infinite_summary {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double order;       /**< l */
    double limit;       /**< l/(l-1), the limit of the ratios; +inf for l <= 1 */
    size_t pairs;       /**< number of pairs examined */
    size_t infinite;    /**< number of infinite pairs among them */
    /** Number of all infinite pairs from which `pairs` were drawn, in a report; otherwise equal to `infinite`. */
    size_t of;
    double finite_below; /**< all `pairs` are finite at every order below this; 0 if at no order */
    /** Indexed by enum nvdp_infinite_cause. */
    struct nvdp_infinite_part cause[NVDP_INFINITE_CAUSES];
};

NVDP_END_DECLS
#endif
