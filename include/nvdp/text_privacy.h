/** @file text_privacy.h
 * Privacy of texts under a mechanism of nvdp/dchi.h: the measures of nvdp/privacy.h over all pairs of texts, exact.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_TEXT_PRIVACY_H
#define NVDP_TEXT_PRIVACY_H

#include <nvdp/dchi.h>
#include <nvdp/privacy.h>
#include <nvdp/sanitize.h>

NVDP_BEGIN_DECLS

/* ---- analyses ---- */

/** Mean and quantiles. Later versions add no member. */
struct nvdp_summary {
    double mean;   /**< mean */
    double q05;    /**< quantile .05 */
    double q25;    /**< quantile .25 */
    double median; /**< quantile .5 */
    double q75;    /**< quantile .75 */
    double q95;    /**< quantile .95 */
};

/** Maximum number of neighbors in nvdp_distances. */
enum { NVDP_DISTANCES_NEIGHBORS = 21 /**< maximum length of k and mean */ };
/** Distances between the vectors of a table. */
struct nvdp_distances {
    size_t struct_size;                 /**< NVDP_RESULT() sets it */
    size_t tokens;                      /**< number of measured tokens */
    double nearest_median;              /**< as in nvdp_geometry */
    double pair_median;                 /**< as in nvdp_geometry */
    double diameter_bound;              /**< as in nvdp_geometry */
    size_t neighbors;                   /**< number of entries of k and mean */
    size_t k[NVDP_DISTANCES_NEIGHBORS]; /**< neighbor ranks, ascending, from nearest to farthest */
    double mean[NVDP_DISTANCES_NEIGHBORS]; /**< mean distance to the k-th nearest token */
};
/** Measures the distances of a table from randomly drawn tokens (Qu et al. 2021, Figure 3). O(tokens V (d + log V)).
 * @param ctx      records messages, can cancel, provides threads
 * @param vectors  table
 * @param prior    [V] weights of the draws; NULL for uniform draws, of each token at most once
 * @param tokens   number of draws, at least 1; without prior at most V tokens are drawn
 * @param seed     seed of the draws
 * @param[out] out the distances
 * @return NVDP_ERR_ARGUMENT for no tokens, for weights that are negative or whose sum is not finite and positive,
 *         and for a struct without struct_size; NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_distances_measure(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   const double *prior, size_t tokens, uint64_t seed,
                                   struct nvdp_distances *out);

/** Plausible deniability under a mechanism (Feyisetan et al. 2020; Yue et al. 2021, section 5.5). */
struct nvdp_deniability {
    size_t struct_size;         /**< NVDP_RESULT() sets it */
    size_t tokens;              /**< number of measured tokens */
    size_t inputs;              /**< number of distinct measured tokens */
    size_t draws;               /**< number of draws per token */
    struct nvdp_summary n_w;    /**< N_w over the tokens */
    struct nvdp_summary s_w;    /**< S_w over the tokens */
    struct nvdp_summary s_star; /**< S*_y over the output tokens */
    struct nvdp_summary h_0;    /**< entropy log S_w, nats */
    struct nvdp_summary h_inf;  /**< entropy -log N_w, nats; +inf where N_w is 0 */
};
/** Measures plausible deniability of randomly drawn tokens.
 * @param ctx      records messages, can cancel, provides threads
 * @param dchi     mechanism
 * @param prior    as in nvdp_distances_measure()
 * @param tokens   as in nvdp_distances_measure()
 * @param draws    number of draws per token, at least 1
 * @param seed     seed of the tokens and of the draws
 * @param[out] out the summaries
 * @return as nvdp_distances_measure(); NVDP_ERR_ARGUMENT for no draws */
nvdp_status nvdp_deniability_measure(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     const double *prior, size_t tokens, size_t draws,
                                     uint64_t seed, struct nvdp_deniability *out);

/* ---- the privacy of texts ---- */

/** Privacy of texts under a mechanism. Lengths are public: pairs of different lengths are +inf, and pairs of equal
 * length are reported separately. */
struct nvdp_dchi_report {
    size_t struct_size;                  /**< NVDP_RESULT() sets it */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    struct nvdp_privacy_report *pairs;   /**< the pairs of the option adjacency */
    struct nvdp_privacy_report *same;    /**< pairs of equal length; NULL if there are none */
    size_t equal_length;                 /**< number of ordered pairs of equal length */
    size_t other_length;                 /**< number of ordered pairs of different lengths */
    /** Interval that contains the largest exact epsilon, at bdp_delta, of the pairs of equal length
     * (nvdp_dchi_epsilon()). */
    struct nvdp_interval epsilon;
    size_t epsilon_p; /**< index of the text of P of the pair with the largest epsilon */
    size_t epsilon_q; /**< index of the text of Q of the same pair */
    /** Number of pairs whose epsilon was computed; no other pair can have the largest epsilon. */
    size_t epsilon_pairs;
    enum nvdp_dchi_mechanism mechanism; /**< the mechanism */
    double eta;                         /**< eta of the mechanism */
    double p;                           /**< p of santext-plus */
    size_t vocabulary;                  /**< V */
    size_t dim;                         /**< length of a vector */
    size_t tokens;                      /**< number of tokens of all texts */
    /** Number of tokens of the texts that are not sensitive and may remain unchanged. */
    size_t left;
    size_t unknown; /**< number of tokens of the texts without a vector */
    /** Worst pair of tokens of the vocabulary; from randomly drawn tokens if the vocabulary is large. */
    struct nvdp_dchi_worst *worst;
    /** The vocabulary was chosen with these texts, which is not private: with the words of the texts, or with a file
     * that has one of these texts. Only nvdp_text_privacy() sets it; for a directory, from the directory's record. */
    bool own_words;
    /** The sensitive tokens were counted on at least one of these texts, which is not private. nvdp_text_privacy() and
     * nvdp_run_text_privacy() set it. */
    bool own_choice;
    /** The draws came from a seed: whoever knows the seed can undo them. nvdp_text_privacy() of a folder and
     * nvdp_run_text_privacy() set it. */
    bool insecure_seed;
};

/** Measures the original texts of a split under a sanitizer.
 *
 * With `sanitized`, the sanitizer is the one that made the directory. The directory's privacy.json provides mechanism,
 * eta, p, oov, the share of sensitive tokens, and sensitive-from-data. The caller must give the same vectors, and the
 * same file of sensitive tokens, again; digests are compared. A directory of an older version without digests is
 * accepted with a warning.
 *
 * Options (kind "text-privacy"): the texts, as task, data, text-column, text-pair-column and split (default dev), or as
 * text, a file with one text per line; limit, seed; the options of nvdp_sanitizer_create() and nvdp_privacy_measure();
 * and sanitized, a directory from nvdp_sanitize().
 * @param ctx         reports progress, can cancel
 * @param config      of kind "text-privacy"
 * @param[out] matrix [N, N] as in nvdp_renyi_pairs(), allocated; the caller frees it with free(); may be NULL
 * @param[out] out    the report, freed with nvdp_result_free()
 * @return NVDP_ERR_INPUT for a directory of another mechanism than these options, for texts that cannot be read (the
 *         message names file and line), or if no two texts are adjacent; NVDP_ERR_ARGUMENT for options out of range,
 *         drawn pairs, or the exact loss; NVDP_ERR_IO; NVDP_ERR_MEMORY; else as nvdp_sanitizer_create() */
nvdp_status nvdp_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                              double **matrix, struct nvdp_dchi_report *out);

/** Measures the original texts of a split for a run that was trained with token-noise. Uses the word embeddings with
 * which the run began, and texts cut to the run's max-length.
 * @param ctx         reports progress, can cancel
 * @param config      of kinds "run,privacy"
 * @param[out] matrix as in nvdp_text_privacy()
 * @param[out] out    the report, freed with nvdp_result_free()
 * @return NVDP_ERR_ARGUMENT for a run without token-noise, or with sequence-laplace; else as nvdp_run_posteriors()
 *         and nvdp_text_privacy() */
nvdp_status nvdp_run_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  double **matrix, struct nvdp_dchi_report *out);

/** Measures the noised vectors that a run with token-noise sequence-laplace shares of a split's texts. The vector of a
 * text is the last state of the first token, computed by the run's encoder.
 * @param ctx         reports progress, can cancel
 * @param config      of kinds "run,privacy"
 * @param[out] matrix as in nvdp_text_privacy()
 * @param[out] out    the report, freed with nvdp_result_free()
 * @return NVDP_ERR_ARGUMENT for a run without sequence-laplace; else as nvdp_run_posteriors() and
 *         nvdp_text_privacy() */
nvdp_status nvdp_run_sequence_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      double **matrix, struct nvdp_privacy_report *out);

NVDP_END_DECLS
#endif
