/** @file rdp.h
 * Renyi divergences between what two texts share, and over all pairs of a data set.
 *
 * Natural logarithms throughout: the unit is the nat.  Of order l > 0, l != 1,
 *
 *     D_l(P || Q) = 1/(l-1) log int P^l Q^(1-l);
 *
 * l = 1 is the Kullback-Leibler divergence, l = INFINITY the max-divergence sup log P/Q (orders
 * from 1e100 on count as INFINITY).  The divergence does not decrease in l.  +inf is a value: it is
 * returned, counted and kept in every statistic.  docs/privacy.md tells what the numbers mean.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_RDP_H
#define NVDP_RDP_H

#include <nvdp/config.h>
#include <nvdp/export.h>
#include <nvdp/posteriors.h>

NVDP_BEGIN_DECLS

/** D_l between Gaussians with diagonal covariance: van Erven & Harremoes 2014, Eq. 10.  With
 * v = (1-l) var_p + l var_q in each dimension, the sum over dimensions of
 *
 *     l (mu_p - mu_q)^2 / (2 v)  +  [ 1/2 log v - (1-l)/2 log var_p - l/2 log var_q ] / (1-l);
 *
 * +inf where a v <= 0.  Order infinity is finite only where var_p < var_q in every dimension in
 * which the two are not equal.  O(n).
 * @param order l > 0
 * @param n     dimensions
 * @param mu_p  [n] means of P
 * @param var_p [n] variances of P, > 0
 * @param mu_q  [n] means of Q
 * @param var_q [n] variances of Q, > 0
 * @return nats, >= 0 or +inf; NaN for an order <= 0, a variance <= 0, anything not finite */
double nvdp_renyi_gaussian(double order, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q);

/** D_l between Dirichlets: Gil, Alajaji & Linder 2013.  With c = l alpha_p + (1-l) alpha_q and
 * lnB(a) = sum lnGamma(a_i) - lnGamma(sum a),
 *
 *     [ lnB(c) - l lnB(alpha_p) ] / (l-1)  +  lnB(alpha_q);
 *
 * +inf where a c_i <= 0.  Order infinity is finite only where every alpha_p >= alpha_q.  O(m).
 * @param order   l > 0
 * @param m       weights; fewer than 2 give 0
 * @param alpha_p [m] pseudo-counts of P, > 0
 * @param alpha_q [m] pseudo-counts of Q, > 0
 * @return nats, >= 0 or +inf; NaN for an order <= 0, a pseudo-count <= 0 or not finite */
double nvdp_renyi_dirichlet(double order, size_t m, const double *alpha_p, const double *alpha_q);

/** D_l between two distributions over the same n outcomes: van Erven & Harremoes 2014, Eq. 1.  With
 * t = log p/q, 1/(l-1) log sum p exp((l-1) t); l = 1 is sum p t, infinity the largest t.  +inf where
 * some q = 0 < p and l >= 1, and where the two have no outcome in common.  O(n).
 * @param order l > 0
 * @param n     outcomes
 * @param log_p [n] log p <= 0, -inf for what cannot happen
 * @param log_q [n] log q
 * @return nats, >= 0 or +inf; NaN for an order <= 0 or a NaN */
double nvdp_renyi_discrete(double order, size_t n, const double *log_p, const double *log_q);

/** What is at most as likely under P as it can be, where it has the probability `chance` under Q and D_l(P || Q) is at most
 * `divergence`: the largest p with d_l(p || chance) <= divergence, d_l of two outcomes, as no processing raises a
 * divergence (van Erven & Harremoes 2014, Theorem 9).  Bounds
 *
 *     the true positives of a test with so many false ones: chance = FPR, of two texts D_l apart;
 *     how often one of N equally likely texts is named, each at most D_l from one of them: chance = 1/N, or 10/N among
 *     ten; at order 1 of the mutual information, which is Fano's inequality (Polyanskiy & Verdu 2010).
 *
 * 1 where divergence >= log(1/chance) and l >= 1.
 * @param order      l > 0
 * @param divergence >= 0, nats
 * @param chance     in (0, 1)
 * @return in [chance, 1]; NaN for another order, divergence or chance */
double nvdp_renyi_most(double order, double divergence, double chance);

/** D_l between two Laplace distributions in R^d, of densities ~ exp(-eta |y - x|) and
 * exp(-eta |y - x'|), which depends on eta |x - x'| alone; closed, by modified Bessel functions.  With
 * z = eta |x - x'| / 2, w = |2l-1| z, n = d/2 - 1,
 *
 *     1/(l-1) log { z (z/w)^n [ K_{n+1}(z) I_n(w) + z/w K_n(z) I_{n+1}(w) ] };
 *
 * near l eta^2 |x - x'|^2 / (2d) for small distances, at most eta |x - x'|, which is that of order
 * infinity.  rdp/laplace.c derives it.  Relative error below 1e-11, near order 1 too.  O(d + log w).
 * @param order    l > 0
 * @param dim      d >= 1
 * @param distance eta |x - x'| >= 0
 * @return nats; NaN for another order, dimension or distance */
double nvdp_renyi_laplace(double order, size_t dim, double distance);

/** D_l between the samples of two texts, summed over everything that one release shares: the
 * Dirichlet's part plus kappa times every Gaussian's (NVDP paper, Eq. 7, in its correct direction:
 * as printed the two variances inside sigma' are exchanged).  O(components x p).
 * @param order      l > 0
 * @param posteriors a set that passes nvdp_posteriors_check()
 * @param i          the text of P, below posteriors->texts
 * @param j          the text of Q
 * @return nats, >= 0 or +inf (public lengths that differ among them); NaN for an order <= 0 */
double nvdp_renyi_texts(double order, const struct nvdp_posteriors *posteriors, size_t i, size_t j);

/** What no two texts' samples exceed where the noise is N(0, 1) in every coordinate and all means of
 * a text together, as one vector, have a norm of at most C (the sequence clip, docs/nvib.md): two
 * such vectors are at most 2C apart, and
 *
 *     D_l <= l (2C)^2 / 2,
 *
 * attained by two texts on opposite sides of the ball.  A bound over all texts, seen or not.  O(1).
 * @param order  l > 0; INFINITY gives +inf where C > 0
 * @param radius C >= 0, in standard deviations of the noise
 * @return nats; NaN for an order <= 0, a radius < 0 or not finite */
double nvdp_renyi_sequence_bound(double order, double radius);

/** The privacy loss of a pair, L = log P(S)/Q(S), S ~ P, of Gaussians and Dirichlets: its distribution is known, so that
 * (epsilon, delta) are exact, where a conversion from Renyi divergences is a bound, a few nats above them or
 * infinite.  One thread at a time. */
struct nvdp_exact;

/** What is true at one epsilon, of the best test between P and Q that it is: "P where L > epsilon". */
struct nvdp_exact_point {
    double epsilon; /**< in nats; may be negative */
    double
        delta; /**< E (1 - e^(epsilon - L))_+: P(S) <= e^epsilon Q(S) + delta for all sets S, attained */
    double log_delta; /**< its logarithm; -INFINITY where epsilon is above every loss */
    double rest;      /**< 1 - delta, accurate where that is small */
    double fpr;       /**< Q(L > epsilon): false positives */
    double tpr;       /**< P(L > epsilon): true positives, the most for so many false ones */
};

/** A pair of n Gaussian dimensions and a Dirichlet of m weights, all independent.
 * @param ctx      records messages
 * @param n        dimensions
 * @param mu_p     [n] means of P
 * @param var_p    [n] variances of P, > 0
 * @param mu_q     [n] means of Q
 * @param var_q    [n] variances of Q, > 0
 * @param times    how often each Gaussian is drawn in a release, at least 1
 * @param m        weights; fewer than 2 tell nothing
 * @param alpha_p  [m] pseudo-counts of P, > 0
 * @param alpha_q  [m] pseudo-counts of Q, > 0
 * @param releases independent samples of the same text, at least 1
 * @param[out] out the loss; nvdp_exact_free()
 * @return NVDP_ERR_ARGUMENT, naming the number, NVDP_ERR_MEMORY */
nvdp_status nvdp_exact_create(struct nvdp_context *ctx, size_t n, const double *mu_p,
                              const double *var_p, const double *mu_q, const double *var_q,
                              int times, size_t m, const double *alpha_p, const double *alpha_q,
                              int releases, struct nvdp_exact **out);

/** The loss of two texts of a set: everything that a release shares, as nvdp_renyi_texts() sums it.
 * @param ctx        records messages
 * @param posteriors a set that passes nvdp_posteriors_check()
 * @param i          the text of P, below posteriors->texts
 * @param j          the text of Q; where lengths are public and differ, delta is 1
 * @param releases   at least 1
 * @param[out] out   the loss; nvdp_exact_free()
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_exact_texts(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                             size_t i, size_t j, int releases, struct nvdp_exact **out);

/** Releases a loss.
 * @param exact NULL is allowed */
void nvdp_exact_free(struct nvdp_exact *exact);

/** Where the moments of the loss end: E e^(s L) is finite for 0 < s < this, the Renyi divergences of order 1 + s with it.
 * @param exact the loss
 * @return above 0; +inf where P's variances are nowhere larger and its pseudo-counts nowhere smaller */
double nvdp_exact_strip(const struct nvdp_exact *exact);

/** The curve at one epsilon, by an integral of the moment generating function through its saddle point (rdp/exact.c).
 * Relative error of delta below 1e-10 down to 1e-300, and below 1e-6 in the worst case, as far as epsilon in double tells the
 * point (an epsilon of 1e10 or one close to a bound of the loss does not); variances may differ by e^600, pseudo-counts may be
 * equal to the last digits.  O(n + 100 m), some milliseconds for 10^5 dimensions.
 * @param ctx     records messages
 * @param exact   the loss
 * @param epsilon finite
 * @param[out] out what is true there
 * @return NVDP_ERR_ARGUMENT; NVDP_ERR_NUMERIC where double precision does not hold the integral: losses of some 10^8 nats,
 *     an epsilon at an atom of the loss */
nvdp_status nvdp_exact_delta(struct nvdp_context *ctx, struct nvdp_exact *exact, double epsilon,
                             struct nvdp_exact_point *out);

/** The least epsilon >= 0 with a delta of at most this.  Some ten points of the curve.
 * @param ctx   records messages
 * @param exact the loss
 * @param delta in (0, 1)
 * @param[out] epsilon in nats; +inf where the two are told apart for certain
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_NUMERIC */
nvdp_status nvdp_exact_epsilon(struct nvdp_context *ctx, struct nvdp_exact *exact, double delta,
                               double *epsilon);

/** The trade-off curve: the best test with so many false positives (Neyman & Pearson).  Some ten points.
 * @param ctx   records messages
 * @param exact the loss
 * @param fpr   in (0, 1)
 * @param[out] out its point, whose `tpr` is what no other test exceeds; of equal P and Q tpr is fpr
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_NUMERIC */
nvdp_status nvdp_exact_trade_off(struct nvdp_context *ctx, struct nvdp_exact *exact, double fpr,
                                 struct nvdp_exact_point *out);

/** The least mu of Gaussian differential privacy (Dong, Roth & Su 2022) whose curve is nowhere below this one for epsilon
 * >= 0 as far as delta is at least `delta`.  For all deltas there is none unless variances and pseudo-counts are equal
 * (then it is their distance, whatever delta): a larger variance, say, leaves an exponential tail.
 * @param ctx   records messages
 * @param exact the loss
 * @param delta in (0, 1)
 * @param[out] mu the least; +inf where delta(0) is 1 to the last digit of a double, unless variances and pseudo-counts are equal
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_NUMERIC */
nvdp_status nvdp_exact_gdp(struct nvdp_context *ctx, struct nvdp_exact *exact, double delta,
                           double *mu);

/** delta(epsilon) of N(mu, 1) against N(0, 1), Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), without cancellation
 * (Balle & Wang 2018).
 * @param mu      >= 0
 * @param epsilon any, also infinite
 * @return delta, 1 for an infinite mu; NaN for another mu */
double nvdp_gdp_delta(double mu, double epsilon);

/** The least epsilon >= 0 with nvdp_gdp_delta(mu, epsilon) <= delta, by bisection.
 * @param mu    >= 0
 * @param delta in (0, 1)
 * @return nats, not below the exact value: that of a delta smaller by 1e-12 of it; +inf beyond double (mu 1.9e154); NaN
 * for another mu or delta */
double nvdp_gdp_epsilon(double mu, double delta);

/** The largest mu with nvdp_gdp_delta(mu, epsilon) <= delta: what a Gaussian mechanism may have whose budget is this
 * (Balle & Wang 2018: noise of standard deviation sensitivity / mu).  By bisection; at delta 1e-5 epsilon
 * 1, 2, 4, 8 give .26805, .50155, .92493, 1.66603.
 * @param epsilon finite, >= 0
 * @param delta   in (0, 1)
 * @return not above the exact value; NaN for another epsilon or delta */
double nvdp_gdp_mu(double epsilon, double delta);

/** Components of a text's sample, prior and padding included.
 * @param posteriors the set
 * @param i          the text
 * @return components; each has kappa vectors */
size_t nvdp_sample_components(const struct nvdp_posteriors *posteriors, size_t i);

/** Which ordered pairs (i, j), i != j, of a data set count. */
enum nvdp_adjacency {
    NVDP_ADJACENT_ALL,        /**< every text is every other's neighbour, as in the paper */
    NVDP_ADJACENT_SAME_LENGTH /**< texts of one length */
};

/** How accurate each divergence is, relatively; infinities are the same in both. */
enum nvdp_pairs_arithmetic {
    NVDP_PAIRS_FAST, /**< within 1e-6 of its value, the reported maxima within 1e-12 */
    NVDP_PAIRS_EXACT /**< within 1e-12 */
};

/** How many quantiles a summary has. */
#define NVDP_PAIR_QUANTILES 5
/** The level of a quantile: .5 .9 .95 .99 .999.
 * @param i from 0
 * @return NaN for i >= NVDP_PAIR_QUANTILES */
double nvdp_pair_quantile_level(size_t i);

/** Statistics of divergences, in nats. */
struct nvdp_divergence_summary {
    double max;         /**< +inf where any pair is infinite */
    double mean;        /**< +inf where any pair is infinite */
    double max_finite;  /**< over the finite pairs, for comparison, not a privacy statement; NaN
                             where none is, and where pairs were drawn and some is infinite */
    double mean_finite; /**< over the finite pairs; NaN where none is */
    double quantile[NVDP_PAIR_QUANTILES]; /**< nearest rank, infinite pairs included */
    size_t max_p;                         /**< the text P of the pair that attains max */
    size_t max_q;                         /**< its text Q */
};

/** An interval. */
struct nvdp_interval {
    double low;  /**< its lower end */
    double high; /**< its upper end */
};

/** What stands on drawn pairs, and how well.  The intervals are of the sum; the other units' are
 * theirs divided likewise. */
struct nvdp_pairs_sample {
    size_t drawn;      /**< ordered pairs, uniformly, with replacement; 0: all were computed */
    size_t summed;     /**< pairs whose full sum the search for the largest computed */
    double confidence; /**< .95, of each interval by itself */
    struct nvdp_interval mean; /**< of mean_finite, Student's t: trusts a near normal mean */
    /** The same by the empirical Bernstein bound (Maurer & Pontil 2009, Theorem 4): holds for any
     * distribution up to the exact maximum; NaN where some pair is infinite. */
    struct nvdp_interval mean_bound;
    struct nvdp_interval quantile[NVDP_PAIR_QUANTILES]; /**< by order statistics */
    struct nvdp_interval infinite_share;                /**< Clopper & Pearson 1934 */
};

/** The divergences over all pairs of a data set. */
struct nvdp_pairs_summary {
    size_t struct_size;                    /**< NVDP_RESULT() sets it */
    double order;                          /**< l */
    enum nvdp_adjacency adjacency;         /**< which pairs */
    enum nvdp_pairs_arithmetic arithmetic; /**< how accurate */
    size_t texts;                          /**< N */
    size_t pairs;                          /**< ordered pairs of adjacent texts */
    size_t infinite; /**< those that are +inf; where pairs were drawn, of the drawn */
    struct nvdp_pairs_sample sample;              /**< what rests on drawn pairs */
    struct nvdp_divergence_summary sum;           /**< of what is shared: the privacy statement */
    struct nvdp_divergence_summary per_component; /**< sum / (components x kappa) */
    /** sum / (components x kappa x p): as in the published tables; not a privacy guarantee. */
    struct nvdp_divergence_summary per_component_dim;
    double reserved[4]; /**< 0: the struct stands inside others and keeps its size */
};

/** Measures all ordered pairs, on the context's threads, with the same bits on any number of them.
 *
 * Every pair: O(N^2 x components x p), both directions at once; components that are padding in both
 * texts are skipped exactly.  Memory: 2 N^2 doubles and one per stored mean; N up to 20000.
 * With max-pairs: O(N^2) additions, and O(components x p) for every drawn pair and every pair that
 * no bound rules out; memory O(N + max-pairs).
 * @param ctx        records messages, reports progress, is asked to cancel
 * @param posteriors 2 or more texts; checked
 * @param config     of nvdp_privacy_config_create(), of which order, adjacency, arithmetic,
 *                   max-pairs and seed are read; NULL: the defaults
 * @param matrix     [N, N] nats, row P, column Q, diagonal 0, NaN where two texts are not adjacent;
 *                   NULL: not wanted, as must be where pairs are drawn
 * @param out        the statistics, in nats
 * @return NVDP_ERR_ARGUMENT for an option or a number of texts out of its range, NVDP_ERR_INPUT for
 *     posteriors that nvdp_posteriors_check() refuses or without adjacent texts,
 *     NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_renyi_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                             const struct nvdp_config *config, double *matrix,
                             struct nvdp_pairs_summary *out);

/** Why a divergence of order l is infinite: where in the sample, and which quantity.  The prior's
 * component is the same in every sample and never is the reason. */
enum nvdp_infinite_cause {
    NVDP_INFINITE_LENGTHS, /**< lengths are public, and differ */
    /** Two tokens at one place, in a dimension: var_p >= l/(l-1) var_q. */
    NVDP_INFINITE_TOKEN_LOGVAR,
    NVDP_INFINITE_TOKEN_ALPHA,    /**< their pseudo-counts: alpha_q >= l/(l-1) alpha_p */
    NVDP_INFINITE_TOKEN_MU,       /**< of order infinity: equal variances, other means */
    NVDP_INFINITE_PADDING_LOGVAR, /**< the same where one of the two texts has padding there */
    NVDP_INFINITE_PADDING_ALPHA,  /**< likewise */
    NVDP_INFINITE_PADDING_MU,     /**< likewise */
    NVDP_INFINITE_RANGE,          /**< none of these: finite, but beyond the range of double */
    NVDP_INFINITE_CAUSES          /**< how many there are */
};

/** How often something is the cause, and where.  Pairs can have several. */
struct nvdp_infinite_part {
    size_t pairs;       /**< infinite pairs that have this cause */
    size_t place;       /**< the token's place, from 0, at which most of them have it */
    size_t place_pairs; /**< how many there */
    size_t dim;         /**< the dimension in which it is most often so; not of alpha */
    double ratio;       /**< largest var_p/var_q, or alpha_q/alpha_p */
};

/** Why pairs are infinite. */
struct nvdp_infinite_summary {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double order;       /**< l */
    double limit;       /**< l/(l-1): quotients must be below it; +inf for l <= 1 */
    size_t pairs;       /**< that were looked at */
    size_t infinite;    /**< those that are infinite */
    size_t
        of; /**< in a report: infinite pairs in all, of which `pairs` were drawn; else `infinite` */
    double finite_below; /**< every order below it makes all of `pairs` finite; 0: none does */
    struct nvdp_infinite_part cause[NVDP_INFINITE_CAUSES]; /**< by enum nvdp_infinite_cause */
    double reserved[4]; /**< 0: the struct stands inside others and keeps its size */
};

/** Finds why pairs of texts are infinitely far apart at an order.  O(pairs components p).
 * @param ctx        records messages; may be NULL
 * @param order      l > 0
 * @param posteriors a set that passes nvdp_posteriors_check()
 * @param pairs      number of pairs
 * @param pair       [pairs, 2] texts of P and of Q, below posteriors->texts
 * @param out        the causes
 * @return NVDP_ERR_ARGUMENT for an order <= 0, NVDP_ERR_MEMORY */
nvdp_status nvdp_renyi_infinite(struct nvdp_context *ctx, double order,
                                const struct nvdp_posteriors *posteriors, size_t pairs,
                                const size_t *pair, struct nvdp_infinite_summary *out);

NVDP_END_DECLS
#endif
