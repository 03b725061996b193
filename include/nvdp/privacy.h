/** @file privacy.h
 * Data-set measures on top of divergences: Bayesian DP (Triastcyn & Faltings 2020), and the full
 * report of a set of posteriors.
 *
 * Everything here is measured on the given texts, and no bound over all texts; but for what a sequence
 * clip proves, which the report names apart.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_PRIVACY_H
#define NVDP_PRIVACY_H

#include <nvdp/export.h>
#include <nvdp/guess.h>
#include <nvdp/linkage.h>

NVDP_BEGIN_DECLS

/** The options of nvdp_renyi_pairs() and nvdp_privacy_measure():
 *
 *     order             l > 0 of the divergences; 1.1
 *     adjacency         all, same-length: enum nvdp_adjacency; all
 *     arithmetic        fast, exact: enum nvdp_pairs_arithmetic; fast
 *     max-pairs         0: every pair.  Where there are more ordered pairs than this (at least 2):
 *                       the largest is found by bounds, exactly, and mean, quantiles and the share
 *                       of infinite pairs are estimated from so many pairs, drawn uniformly.  No
 *                       N x N memory, N beyond 20000; 0
 *     seed              of the drawn pairs; 1
 *     delta             delta_mu in (0, 1), failure probability of the statement; 1e-5
 *     gamma             failure mass of its estimate by Student's t, in (0, 0.5); 1e-6
 *     releases          T >= 1: samples given away of the same text; 1
 *     published-moment  k in (0, 1e6] of the published column, whose order is k+1; 1.1
 *     moments           grid of k for the `best` column, each in (0, 1e6]; .05 to 64
 *     baseline          baselines of guesses, each in (0, 1), at most NVDP_GUESSES; .5, .001, 1e-6
 *     exact             the exact loss too (struct nvdp_exact_summary), of posteriors, every pair; false
 *     exact-pairs       pairs drawn for its mean; 200
 *     at-epsilon        epsilons of its curves; 0 to 32
 *     at-delta          deltas of them, too, each in (0, 1); none
 *     pair              "I,J": a pair whose curve is wanted beside those of the worst and a typical one
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_privacy_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** The cost of one text at one moment, with everything that enters it. */
struct nvdp_bdp_cost {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double moment;      /**< k */
    double cost;        /**< c(k) in nats, +inf where any divergence is */
    double epsilon;     /**< [T cost - log(delta - spent)] / k in nats, spent = 1 - (1-gamma)^T */
    size_t m;           /**< texts in the population */
    double t;           /**< upper gamma-quantile of Student's t with m-1 degrees of freedom */
    double log_mean;    /**< log M */
    double log_sd;      /**< log S, -inf where all are equal */
    double max;         /**< max X */
    double reserved[2]; /**< 0: the struct stands inside others and keeps its size */
};

/** Bayesian DP of one text: Triastcyn & Faltings 2020, Theorem 2, from a finite population.  With
 * X_j = T k d_j,
 *
 *     cost(k) = 1/T log[ M + t S / sqrt(m-1) ],
 *
 * M the mean of e^X, S their population standard deviation.  O(m), nothing overflows.
 * @param ctx      records messages; may be NULL
 * @param delta    delta_mu in (0, 1)
 * @param gamma    in (0, 0.5)
 * @param releases T >= 1
 * @param moment   k, in (0, 1e6]
 * @param m        texts in the population, >= 2; below 64 the estimate is not to be trusted
 * @param d        [m] nats: max(D_{k+1}(P||Q_j), D_{k+1}(Q_j||P)), >= 0 or +inf
 * @param out      cost and epsilon
 * @return NVDP_ERR_ARGUMENT for a value out of its range, or delta <= 1 - (1-gamma)^T */
nvdp_status nvdp_bdp(struct nvdp_context *ctx, double delta, double gamma, int releases,
                     double moment, size_t m, const double *d, struct nvdp_bdp_cost *out);

/** The same where every text is in the sample with probability q only (Poisson subsampling), for
 * integer moments:
 *
 *     cost = log E_x E_{j ~ Binomial(k+1, q)} e^{(j-1) D_j}
 *
 * with the same bound of the estimate (Triastcyn & Faltings 2020).  O(k m).
 * @param ctx      records messages; may be NULL
 * @param delta    delta_mu in (0, 1)
 * @param gamma    in (0, 0.5)
 * @param releases T >= 1
 * @param moment   k, an integer >= 1
 * @param rate     q, in (0, 1]
 * @param m        texts in the population, >= 2
 * @param d        [k+2, m] nats: row j holds the divergences of order j; rows 0 and 1 are not read
 * @param out      cost and epsilon
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_bdp_subsampled(struct nvdp_context *ctx, double delta, double gamma, int releases,
                                int moment, double rate, size_t m, const double *d,
                                struct nvdp_bdp_cost *out);

/** Bayesian DP over a data set. */
struct nvdp_bdp_column {
    struct nvdp_bdp_cost worst; /**< of the text with the largest epsilon */
    double mean_epsilon;        /**< over texts, in nats; +inf where any is */
    size_t worst_text;          /**< its number, from 0 */
    double floor;               /**< log(1/delta)/k at its k: what the best data would print */
    size_t infinite_texts;      /**< texts whose epsilon is +inf */
};

/** The epsilon of (epsilon, delta)-indistinguishability that Renyi divergences of one order give
 * (Canonne, Kamath & Steinke 2020, Proposition 12):
 *
 *     D + log((l-1)/l) - log(delta l) / (l-1),    at least 0.
 *
 * The least over orders is a bound, often a few nats above the exact value.
 * @param order      l > 1
 * @param divergence D_l >= 0 or +inf, of all that is shared
 * @param delta      in (0, 1)
 * @return nats; NaN for another order, divergence or delta */
double nvdp_renyi_epsilon(double order, double divergence, double delta);

/** Epsilon at a delta, of pairs: from their divergences of all orders that Bayesian DP looks at
 * (moments, published-moment), the least that nvdp_renyi_epsilon() gives. */
struct nvdp_epsilon_summary {
    double delta;    /**< that of the options */
    int releases;    /**< of which this is: divergences times so many */
    size_t texts;    /**< fewer than all where pairs were drawn: drawn as well */
    size_t pairs;    /**< ordered pairs of these that are adjacent */
    size_t infinite; /**< those without a finite divergence of any of the orders */
    struct nvdp_divergence_summary sum; /**< of the pairs' epsilons, in nats */
};

/** How many quantiles a spread has. */
#define NVDP_SPREAD_QUANTILES 5
/** The level of a quantile: .05 .25 .5 .75 .95.
 * @param i from 0
 * @return NaN for i >= NVDP_SPREAD_QUANTILES */
double nvdp_spread_level(size_t i);

/** A number that every text has, over texts; NaN where there is none. */
struct nvdp_spread {
    double mean;                            /**< over texts */
    double quantile[NVDP_SPREAD_QUANTILES]; /**< nearest rank */
};

/** Bins of log10 of the tokens' pseudo-counts. */
#define NVDP_ALPHA_BINS 48
/** The lower end of bin 0. */
#define NVDP_ALPHA_FIRST (-8.)
/** The width of a bin. */
#define NVDP_ALPHA_WIDTH .25

/** What posteriors look like, for people who train them: it promises nothing.  A sample has the
 * vectors r = 1..R of all its components (prior, tokens, padding; kappa each) with the expected
 * weights p_r = (alpha_i/kappa) / sum of all alpha. */
struct nvdp_posterior_summary {
    size_t struct_size;         /**< NVDP_RESULT() sets it */
    size_t texts;               /**< N */
    size_t tokens;              /**< T */
    bool weighted;              /**< false: a Gaussian mechanism; what rests on alpha is NaN or 0 */
    struct nvdp_spread vectors; /**< exp(-sum p_r log p_r): 1 (one has all) to R (all alike); Hill
                                     1973, order 1 */
    struct nvdp_spread
        vectors_l2; /**< 1 / sum p_r^2, order 2: the same bounds, at most `vectors` */
    struct nvdp_spread token_share; /**< the tokens' part of all alpha */
    double mean_abs_mu; /**< over all entries of the tokens' means; NaN without tokens */
    double mean_sigma;  /**< likewise, of the standard deviations */
    size_t alpha_bin[NVDP_ALPHA_BINS]; /**< tokens per bin */
    size_t alpha_below;                /**< tokens below the first bin */
    size_t alpha_above;                /**< tokens above the last */
    double reserved[4];                /**< 0: the struct stands inside others and keeps its size */
};

/** Describes a set of posteriors.  O(T p).
 * @param ctx        records messages; may be NULL
 * @param posteriors a set that passes nvdp_posteriors_check(); others give what they give
 * @param out        the description
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_summarize(struct nvdp_context *ctx,
                                      const struct nvdp_posteriors *posteriors,
                                      struct nvdp_posterior_summary *out);

/** Most epsilons of a curve. */
#define NVDP_EXACT_POINTS 32
/** How many false positive rates it is told at. */
#define NVDP_EXACT_FPRS 8
/** A false positive rate: 1e-5 1e-4 1e-3 .01 .05 .1 .2 .5.
 * @param i from 0
 * @return NaN for i >= NVDP_EXACT_FPRS */
double nvdp_exact_fpr(size_t i);

/** The exact loss of one pair (nvdp_exact_texts()). */
struct nvdp_exact_pair {
    size_t p; /**< the text of P, from 0 */
    size_t q; /**< the text of Q */
    double
        epsilon; /**< at the summary's delta; +inf where public lengths tell them apart; a number here may be an
                         upper bound (struct nvdp_exact_bounds) */
    double strip;  /**< nvdp_exact_strip() */
    double mu;     /**< nvdp_exact_gdp() as far as that delta */
    size_t points; /**< of the curve */
    struct {
        double epsilon;
        double delta;
    } curve
        [NVDP_EXACT_POINTS]; /**< delta of at-epsilon's epsilons, then epsilon >= 0 of at-delta's deltas */
    double tpr
        [NVDP_EXACT_FPRS]; /**< true positives of the best test with nvdp_exact_fpr() false ones */
};

/** Exact epsilons at one delta, over all pairs.  The largest is found by bounds: every pair has one from Renyi
 * divergences of its own orders, and only pairs whose bound is above what was found are integrated. */
struct nvdp_exact_summary {
    size_t struct_size; /**< 0: not asked for */
    double delta;       /**< that of the options */
    int releases;       /**< of which this is */
    size_t pairs;       /**< ordered pairs that are adjacent */
    size_t evaluated;   /**< those that the search for the largest integrated */
    size_t drawn; /**< pairs of the mean, uniformly with replacement; all where they are no more */
    size_t infinite;                    /**< of the drawn, those told apart by public lengths */
    double mean;                        /**< of the drawn; +inf where any is */
    double mean_finite;                 /**< of the finite ones; NaN where none is */
    double confidence;                  /**< of mean_interval: .95 */
    struct nvdp_interval mean_interval; /**< of the finite ones' mean over all pairs, Student's t */
    struct nvdp_exact_pair worst;       /**< the pair with the largest epsilon */
    struct nvdp_exact_pair typical;     /**< the drawn one nearest to mean_finite */
    struct nvdp_exact_pair asked; /**< that of the option pair; points is 0 where none was given */
};

/** Numbers of a pair's exact loss; bits of a set. */
enum nvdp_exact_number {
    NVDP_EXACT_EPSILON = 1, /**< epsilon at the summary's delta */
    NVDP_EXACT_CURVE = 2,   /**< a point of its curve */
    NVDP_EXACT_MU = 4,      /**< mu */
    NVDP_EXACT_TPR = 8      /**< a true positive rate */
};

/** Numbers of an exact summary that are upper bounds, from Renyi divergences of the pair's own best orders, because double
 * precision does not hold the integral: variances so far apart that epsilon is some 10^8 nats, for example. */
struct nvdp_exact_bounds {
    size_t evaluated; /**< of nvdp_exact_summary.evaluated, pairs whose epsilon is a bound */
    size_t drawn;     /**< of nvdp_exact_summary.drawn; where there are any, the means are bounds */
    unsigned
        worst; /**< of the worst pair, those numbers (enum nvdp_exact_number) that are bounds */
    unsigned typical; /**< of the typical pair */
    unsigned asked;   /**< of the pair asked for */
};

/** Everything that is measured of a set of posteriors. */
struct nvdp_privacy_report {
    size_t struct_size;                      /**< NVDP_RESULT() sets it */
    struct nvdp_pairs_summary pairs;         /**< divergences over all pairs */
    struct nvdp_posterior_summary posterior; /**< what the posteriors look like */
    double bdp_delta;                        /**< delta_mu of Bayesian DP */
    double bdp_gamma;                        /**< its gamma */
    int bdp_releases;                        /**< its T */
    struct nvdp_bdp_column published;        /**< at the published moment */
    struct nvdp_bdp_column best;             /**< at every text's best moment of the grid */
    size_t bdp_texts; /**< fewer than pairs.texts where pairs were drawn: drawn as well */
    bool
        small_population; /**< some text has fewer than 64 others: the bound is not to be trusted */
    size_t components;    /**< of the longest sample */
    size_t dim;           /**< p */
    int kappa;            /**< vectors per component */
    enum nvdp_length_policy policy; /**< whether lengths are hidden */
    char method[32];                /**< the posteriors' */
    double clip_sequence;           /**< C of the posteriors' sequence clip; 0: none */
    double bound; /**< with a sequence clip: what no two texts, seen or not, exceed at this order
                       (nvdp_renyi_sequence_bound()); +inf where weights are shared, which it leaves
                       out */
    struct nvdp_epsilon_summary epsilon; /**< epsilon at bdp_delta, converted */
    double bound_loss; /**< likewise of every order: no log ratio of densities exceeds it; +inf of
                            Gaussians */
    struct nvdp_exact_summary exact; /**< with the option exact */
    struct nvdp_infinite_summary
        infinite; /**< why pairs are, at the order of the divergences; order 0: not of posteriors */
    struct nvdp_infinite_summary
        infinite_published; /**< the same at the order of the published moment */
    struct nvdp_infinite_summary infinite_best; /**< at that of the least moment of the grid */
    struct nvdp_linkage linkage; /**< whose sample is it: the caller's, of nvdp_linkage_measure() */
    int64_t row_p; /**< nvdp_posteriors.id of pairs.sum.max_p: of a run its row in the file, from 0;
                         -1 where texts have none */
    int64_t row_q; /**< of max_q */
    char split
        [24]; /**< of which they are rows: "dev"; the caller may set it before the report is told */
    size_t guesses; /**< baselines of the option baseline; 0: not of posteriors */
    /** Guess bounds of all `bdp_releases` samples for the prior "one of these texts": measured, no bound over other texts. */
    struct nvdp_guess guess[NVDP_GUESSES];
    double
        information; /**< bound of the mutual information of these texts and their samples, nats */
    struct nvdp_exact_bounds exact_bounds; /**< which numbers of `exact` are upper bounds */
};

/** Measures everything: one pass over all pairs at the order of the divergences, and one per order
 * k+1 of the moments; memory 3 N^2 doubles.  With max-pairs Bayesian DP is that of drawn texts, as many as have so
 * many pairs among themselves.
 * @param ctx        records messages, reports progress, is asked to cancel
 * @param posteriors 2 or more texts; checked
 * @param config     of nvdp_privacy_config_create(); NULL: the defaults
 * @param matrix     as that of nvdp_renyi_pairs()
 * @param out        the report
 * @return as nvdp_renyi_pairs() and nvdp_bdp() */
nvdp_status nvdp_privacy_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 const struct nvdp_config *config, double *matrix,
                                 struct nvdp_privacy_report *out);

/** The report as one JSON object (docs/formats.md).
 * @param ctx    records messages; may be NULL
 * @param report the report
 * @param out    the text; free()
 * @return NVDP_ERR_NUMERIC where the method's name is not UTF-8, NVDP_ERR_MEMORY */
nvdp_status nvdp_privacy_report_json(struct nvdp_context *ctx,
                                     const struct nvdp_privacy_report *report, char **out);

/** The report's first numbers for people: naming, guess bounds, the largest and the mean divergence and epsilon.
 * @param ctx    records messages
 * @param report the report
 * @param out    the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_privacy_report_summary(struct nvdp_context *ctx,
                                        const struct nvdp_privacy_report *report, char **out);

/** The report for people: aligned tables, with units and scope.
 * @param ctx    records messages
 * @param report the report
 * @param out    the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_privacy_report_text(struct nvdp_context *ctx,
                                     const struct nvdp_privacy_report *report, char **out);

NVDP_END_DECLS
#endif
