/** @file privacy.h
 * Privacy measures of a set of posteriors: Bayesian differential privacy (Triastcyn & Faltings 2020), epsilons, and
 * the full report.
 *
 * All numbers are measured on the given texts and are not bounds over all texts. The exception is the bound that a
 * sequence clip proves, which the report lists separately.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_PRIVACY_H
#define NVDP_PRIVACY_H

#include <nvdp/export.h>
#include <nvdp/guess.h>
#include <nvdp/linkage.h>

NVDP_BEGIN_DECLS

/** Bayesian DP of one text at one moment, with all intermediate results. */
struct nvdp_bdp_cost {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double moment;      /**< moment k */
    double cost;        /**< c(k) in nats; +inf if any divergence is infinite */
    double epsilon;     /**< [T cost - log(delta - spent)] / k in nats, spent = 1 - (1-gamma)^T */
    size_t m;           /**< m, number of texts in the population */
    double t;           /**< upper gamma-quantile of Student's t with m-1 degrees of freedom */
    double log_mean;    /**< log M */
    double log_sd;      /**< log S; -inf if all divergences are equal */
    double max;         /**< max X */
    /** 0; the size of this struct is fixed, because other structs contain it. */
    double reserved[2];
};

/** Computes the Bayesian DP of one text from a finite population (Triastcyn & Faltings 2020, Theorem 2). With X_j =
 * T k d_j,
 *
 *     cost(k) = 1/T log[ M + t S / sqrt(m-1) ],
 *
 * where M is the mean and S the population standard deviation of e^X. O(m); does not overflow.
 * @param ctx      records messages; may be NULL
 * @param delta    delta_mu in (0, 1)
 * @param gamma    in (0, 0.5)
 * @param releases T >= 1
 * @param moment   k, in (0, 1e6]
 * @param m        number of texts in the population, >= 2; the estimate is unreliable below 64
 * @param d        [m] nats: max(D_{k+1}(P||Q_j), D_{k+1}(Q_j||P)), >= 0 or +inf
 * @param out      cost and epsilon
 * @return NVDP_ERR_ARGUMENT for a value out of its range, or delta <= 1 - (1-gamma)^T */
nvdp_status nvdp_bdp(struct nvdp_context *ctx, double delta, double gamma, int releases,
                     double moment, size_t m, const double *d, struct nvdp_bdp_cost *out);

/** Computes the Bayesian DP of one text under Poisson subsampling, where each text is in the sample with probability
 * q. For integer moments,
 *
 *     cost = log E_x E_{j ~ Binomial(k+1, q)} e^{(j-1) D_j}
 *
 * with the bound of the estimate as in nvdp_bdp() (Triastcyn & Faltings 2020). O(k m).
 * @param ctx      records messages; may be NULL
 * @param delta    delta_mu in (0, 1)
 * @param gamma    in (0, 0.5)
 * @param releases T >= 1
 * @param moment   k, an integer >= 1
 * @param rate     q, in (0, 1]
 * @param m        number of texts in the population, >= 2
 * @param d        [k+2, m] nats: row j holds the divergences of order j; rows 0 and 1 are not read
 * @param out      cost and epsilon
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_MEMORY */
nvdp_status nvdp_bdp_subsampled(struct nvdp_context *ctx, double delta, double gamma, int releases,
                                int moment, double rate, size_t m, const double *d,
                                struct nvdp_bdp_cost *out);

/** Bayesian DP over a set of texts. */
struct nvdp_bdp_column {
    struct nvdp_bdp_cost worst; /**< text with the largest epsilon */
    double mean_epsilon;        /**< mean over texts, in nats; +inf if any epsilon is infinite */
    size_t worst_text;          /**< index of the text of `worst`, from 0 */
    double floor; /**< log(1/delta)/k at the worst text's k: epsilon if all divergences were 0 */
    size_t infinite_texts; /**< number of texts whose epsilon is infinite */
    /** Causes of infinite pairs at the order of the published moment. For the best moment, at the order of the smallest
     * moment of the grid. NULL if the input is not posteriors. */
    struct nvdp_infinite_summary *infinite_pairs;
};

/** Converts a Renyi divergence of one order to the epsilon of (epsilon, delta)-indistinguishability (Canonne, Kamath
 * & Steinke 2020, Proposition 12):
 *
 *     D + log((l-1)/l) - log(delta l) / (l-1),    at least 0.
 *
 * The minimum over orders is an upper bound, often a few nats above the exact value.
 * @param order      l > 1
 * @param divergence D_l of everything that is shared, >= 0 or +inf
 * @param delta      in (0, 1)
 * @return nats; NaN for another order, divergence or delta */
double nvdp_renyi_epsilon(double order, double divergence, double delta);

/** Epsilons of all pairs at one delta. The epsilon of a pair is the minimum of nvdp_renyi_epsilon() over the orders of
 * Bayesian DP (options moments and published-moment). */
struct nvdp_epsilon_summary {
    double delta;                       /**< the option delta */
    int releases;                       /**< T, a factor of the divergences */
    size_t texts;                       /**< number of texts; a random subset if pairs are drawn */
    size_t pairs;                       /**< number of ordered adjacent pairs of these texts */
    size_t infinite;                    /**< pairs whose divergence is infinite at every order */
    struct nvdp_divergence_summary sum; /**< statistics of the pairs' epsilons, in nats */
};

/** Number of quantiles of a spread. */
#define NVDP_SPREAD_QUANTILES 5

/** Mean and quantiles of a per-text number; NaN without texts. */
struct nvdp_spread {
    double mean;                            /**< mean over texts */
    double quantile[NVDP_SPREAD_QUANTILES]; /**< nearest rank */
};

/** Number of histogram bins for log10 of the tokens' pseudo-counts. */
#define NVDP_ALPHA_BINS 48
/** Lower end of bin 0. */
#define NVDP_ALPHA_FIRST (-8.)
/** Width of a bin. */
#define NVDP_ALPHA_WIDTH .25

/** Statistics that describe posteriors, for somebody who trains them; they guarantee nothing. A sample consists of the
 * vectors r = 1..R of all components (prior, tokens, padding; kappa vectors per component). The expected weight of
 * vector r, of component i, is p_r = (alpha_i/kappa) / sum of all alpha. */
struct nvdp_posterior_summary {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t texts;       /**< N */
    size_t tokens;      /**< T */
    bool weighted;      /**< samples have weights; if false, statistics of alpha are NaN or 0 */
    /** Effective number of vectors exp(-sum p_r log p_r) (Hill 1973, order 1): from 1 (one vector has all weight) to
     * R (equal weights). */
    struct nvdp_spread vectors;
    /** Effective number of vectors 1 / sum p_r^2, order 2: the same range, at most `vectors`. */
    struct nvdp_spread vectors_l2;
    struct nvdp_spread token_share; /**< share of the tokens in the sum of all alpha */
    double mean_abs_mu; /**< mean |mu| over all entries of the tokens' means; NaN without tokens */
    double mean_sigma;  /**< mean standard deviation over these entries */
    size_t alpha_bin[NVDP_ALPHA_BINS]; /**< number of tokens per bin */
    size_t alpha_below;                /**< number of tokens below the first bin */
    size_t alpha_above;                /**< number of tokens above the last bin */
};

/** Computes statistics of a set of posteriors. O(T p).
 * @param ctx        records messages; may be NULL
 * @param posteriors a set that passes nvdp_posteriors_check(); the statistics of other sets are undefined
 * @param out        the statistics
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_summarize(struct nvdp_context *ctx,
                                      const struct nvdp_posteriors *posteriors,
                                      struct nvdp_posterior_summary *out);

/** Maximum number of points of a curve. */
#define NVDP_EXACT_POINTS 32
/** Number of false positive rates at which the true positive rate is computed. */
#define NVDP_EXACT_FPRS 8
/** Returns the i-th of the false positive rates 1e-5 1e-4 1e-3 .01 .05 .1 .2 .5.
 * @param i index, from 0
 * @return NaN for i >= NVDP_EXACT_FPRS */
double nvdp_exact_fpr(size_t i);

/** Exact loss of one pair (nvdp_exact_texts()). */
struct nvdp_exact_pair {
    size_t p; /**< index of the text of P, from 0 */
    size_t q; /**< index of the text of Q */
    /** Epsilon at the delta of the summary; +inf if the public lengths differ. It is an upper bound if
     * nvdp_exact_bounds marks it. */
    double epsilon;
    double strip;  /**< nvdp_exact_moment_limit() */
    double mu;     /**< nvdp_exact_gdp() down to the delta of the summary */
    size_t points; /**< number of points of the curve */
    struct {
        double epsilon;
        double delta;
    } curve[NVDP_EXACT_POINTS]; /**< points of the option at-epsilon, then of at-delta */
    /** True positive rate of the best test at the false positive rate nvdp_exact_fpr(). */
    double tpr[NVDP_EXACT_FPRS];
};

/** Flags for the numbers of a pair's exact loss. */
enum nvdp_exact_number {
    NVDP_EXACT_EPSILON = 1, /**< epsilon at the summary's delta */
    NVDP_EXACT_CURVE = 2,   /**< any point of the curve */
    NVDP_EXACT_MU = 4,      /**< mu */
    NVDP_EXACT_TPR = 8      /**< any true positive rate */
};

/** Marks the numbers of an exact summary that are upper bounds, from Renyi divergences of the pair's best orders. A
 * number is an upper bound if double precision cannot represent its integral, for example if variances differ so much
 * that epsilon is around 10^8 nats. */
struct nvdp_exact_bounds {
    size_t evaluated; /**< number of nvdp_exact_summary.evaluated pairs with a bound */
    size_t drawn;     /**< number of drawn pairs with a bound; if > 0, the means are upper bounds */
    /** Flags (enum nvdp_exact_number) of the worst pair's numbers that are bounds. */
    unsigned worst;
    unsigned typical; /**< flags of the typical pair */
    unsigned asked;   /**< flags of the pair of the option pair */
};

/** Exact epsilons at one delta, over all pairs. The search for the largest epsilon first bounds the epsilon of every
 * pair by Renyi divergences of orders chosen for that pair. Then the search integrates only the pairs whose bound
 * exceeds the largest epsilon found so far. */
struct nvdp_exact_summary {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    double delta;       /**< the option delta */
    int releases;       /**< T, number of samples per text */
    size_t pairs;       /**< number of ordered adjacent pairs */
    size_t evaluated;   /**< number of pairs that the search for the largest epsilon integrated */
    /** Number of pairs drawn for the mean, uniformly with replacement, or all pairs if there are not more. */
    size_t drawn;
    size_t infinite;    /**< drawn pairs whose public lengths differ */
    double mean;        /**< mean over the drawn pairs; +inf if any epsilon is infinite */
    double mean_finite; /**< mean over the finite drawn pairs; NaN if there are none */
    double confidence;  /**< confidence of mean_interval: .95 */
    /** Student's t interval of the mean over all finite pairs. */
    struct nvdp_interval mean_interval;
    struct nvdp_exact_pair worst;    /**< pair with the largest epsilon */
    struct nvdp_exact_pair typical;  /**< drawn pair nearest to mean_finite */
    struct nvdp_exact_pair asked;    /**< pair of the option pair; points is 0 without the option */
    struct nvdp_exact_bounds bounds; /**< numbers of this summary that are upper bounds */
};

/** Content of a sample. */
struct nvdp_sample_shape {
    size_t components;              /**< number of components of the longest sample */
    size_t dim;                     /**< p */
    int kappa;                      /**< vectors per component */
    enum nvdp_length_policy policy; /**< whether the length policy hides lengths */
    char method[32];                /**< method of the posteriors */
};

/** Rows of the two texts whose divergence is the largest: pairs.sum.max_p and pairs.sum.max_q. */
struct nvdp_pair_rows {
    /** nvdp_posteriors.id of P (for a run, its row number in the file, from 0); -1 without ids. */
    int64_t p;
    int64_t q; /**< nvdp_posteriors.id of Q */
    /** Split of these rows, such as "dev"; the caller may set it before the report is printed. */
    char split[24];
};

/** Upper bounds that a sequence clip proves for one release of any two texts, measured or not. */
struct nvdp_clip_bound {
    double clip_sequence; /**< C of the posteriors' sequence clip; 0 without a clip */
    /** Upper bound of the divergence at the option order (nvdp_renyi_sequence_bound()). +inf without a sequence clip,
     * and for shared weights, which that bound does not cover. */
    double sum;
    /** Upper bound of the divergence at every order, and so of every log density ratio; +inf for Gaussians. */
    double loss;
};

/** Bayesian DP at the published moment and at the best moment. */
struct nvdp_bdp_summary {
    double delta; /**< delta_mu */
    double gamma; /**< failure probability of the estimate */
    int releases; /**< T */
    size_t texts; /**< number of texts; a random subset if pairs are drawn */
    /** Some text has fewer than 64 adjacent texts, so the bound of Bayesian DP is unreliable. */
    bool small_population;
    struct nvdp_bdp_column *published; /**< at the published moment */
    struct nvdp_bdp_column *best;      /**< at each text's best moment of the grid */
};

/** Guess bounds for all `bdp.releases` samples and the prior "one of these texts". The bounds are measured and do not
 * hold for other texts. */
struct nvdp_guess_summary {
    /** Number of baselines of the option baseline, or 0 if the input is not posteriors. */
    size_t count;
    struct nvdp_bounded_guess guess[NVDP_GUESSES]; /**< baselines and upper bounds */
    /** Upper bound of the mutual information between these texts and their samples, in nats. */
    double information;
};

/** All measures of a set of posteriors, freed with nvdp_result_free(). The report owns the structs that it points to.
 * */
struct nvdp_privacy_report {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    struct nvdp_sample_shape shape;      /**< content of a sample */
    struct nvdp_pairs_summary *pairs;    /**< divergences over all pairs */
    /** Causes of infinite pairs at the order of the divergences, or NULL if the input is not posteriors. */
    struct nvdp_infinite_summary *infinite;
    struct nvdp_pair_rows argmax_rows; /**< rows of the pair with the largest divergence */
    struct nvdp_clip_bound bound;      /**< bounds that a sequence clip proves */
    /** Epsilon at bdp.delta, converted from divergences; at most the epsilon of a sequence clip. */
    struct nvdp_epsilon_summary *epsilon;
    struct nvdp_exact_summary *exact; /**< NULL unless the option exact is true */
    struct nvdp_bdp_summary bdp;      /**< Bayesian DP */
    /** Statistics of the posteriors, or NULL if the input is not posteriors. */
    struct nvdp_posterior_summary *posterior;
    /** Re-identification, which the caller measures (nvdp_linkage_measure()); linkage->texts is 0 until then. NULL if
     * the input is not posteriors. */
    struct nvdp_linkage *linkage;
    struct nvdp_guess_summary guesses; /**< guess bounds */
    /** Digest, hexadecimal, of the measured posteriors and the library's version: equal only for the same texts under
     * the same model. The digest confirms a guess of all texts, so do not publish it. "" if the input is not
     * posteriors. */
    char digest[65];
};

/** Measures everything: one pass over all pairs at the order of the divergences, and one pass per order k+1 of the
 * moments. Memory: 3 N^2 doubles. With max-pairs, Bayesian DP is measured on a random subset of texts: as many as
 * have at most max-pairs ordered pairs.
 *
 * Options (kind "privacy"):
 *
 *     order             order l > 0 of the divergences; 1.1
 *     adjacency         all, same-length: enum nvdp_adjacency; all
 *     arithmetic        fast, exact: enum nvdp_pairs_arithmetic; fast
 *     max-pairs         0 for every pair.  If there are more ordered pairs than this number (at least
 *                       2), the largest divergence is still found exactly, by bounds; mean, quantiles
 *                       and the share of infinite pairs are estimated from this number of pairs, drawn
 *                       uniformly.  Needs no N x N memory and allows N > 20000; 0
 *     seed              seed of the drawn pairs; 1
 *     delta             delta_mu in (0, 1), failure probability of the statement; 1e-5
 *     gamma             failure probability of the estimate by Student's t, in (0, 0.5); 1e-6
 *     releases          T >= 1, number of samples shared per text; 1
 *     published-moment  k in (0, 1e6] of the `published` column, whose order is k+1; 1.1
 *     moments           grid of k for the `best` column, each in (0, 1e6]; .05 to 64
 *     baseline          baselines of guesses, each in (0, 1), at most NVDP_GUESSES; .5, .001, 1e-6
 *     exact             also compute the exact loss (struct nvdp_exact_summary) of posteriors; needs
 *                       every pair; false
 *     exact-pairs       number of pairs drawn for the mean of the exact loss; 200
 *     at-epsilon        epsilons of the curves of the exact loss; 0 to 32
 *     at-delta          deltas of these curves, each in (0, 1); none
 *     pair              "I,J": a pair whose curve is computed, as for the worst and a typical pair
 * @param ctx        records messages, reports progress, can cancel
 * @param posteriors 2 or more texts; checked
 * @param config     of kind "privacy"; NULL for the defaults
 * @param matrix     as in nvdp_renyi_pairs()
 * @param out        the report, freed with nvdp_result_free()
 * @return as nvdp_renyi_pairs() and nvdp_bdp() */
nvdp_status nvdp_privacy_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 const struct nvdp_config *config, double *matrix,
                                 struct nvdp_privacy_report *out);

NVDP_END_DECLS
#endif
