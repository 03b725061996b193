/** @file text_privacy.h
 * What a mechanism of nvdp/dchi.h tells of the texts of a data set: the measures of nvdp/privacy.h over all
 * pairs, exact.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_TEXT_PRIVACY_H
#define NVDP_TEXT_PRIVACY_H

#include <nvdp/dchi.h>
#include <nvdp/privacy.h>
#include <nvdp/sanitize.h>

NVDP_BEGIN_DECLS

/** Texts as tokens of a table. */
struct nvdp_token_texts {
    size_t texts;          /**< N */
    const size_t *offset;  /**< [N + 1] where each one's tokens begin, from 0 */
    const int32_t *tokens; /**< [offset[N]] below V, or NVDP_DCHI_UNKNOWN */
    const size_t
        *first;     /**< [N] tokens of the first of two texts, of pairs; NULL: single texts.  Texts
                                are of one length where both parts are */
    size_t unknown; /**< words without a vector, also where they were left out; not read back */
};

/** The options of nvdp_token_texts_read(): task, data, text-column, text-pair-column, split (default dev);
 * or text, a file with a text a line; limit, seed.
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_token_texts_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Reads the texts of a task's split, or of a file, as a sanitizer's tokens.  Where V_S is to come from the
 * texts themselves, those of every split are counted, as nvdp_sanitize() does, and it is chosen.
 * O(bytes), memory for the file.
 * @param ctx       records messages
 * @param config    of nvdp_token_texts_config_create(), or with its options
 * @param sanitizer whose tokens they become
 * @param[out] out  the texts, with `limit` a seeded sample in the file's order;
 *                  nvdp_token_texts_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for options out of range; NVDP_ERR_INPUT, naming file and line;
 *         NVDP_ERR_IO; NVDP_ERR_MEMORY */
nvdp_status nvdp_token_texts_read(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_sanitizer *sanitizer, struct nvdp_token_texts *out);
/** Frees the arrays and zeroes the struct.
 * @param texts what nvdp_token_texts_read() filled, or zeros */
void nvdp_token_texts_free(struct nvdp_token_texts *texts);
/** Counts each token of texts: an attacker's prior.  O(V + tokens).
 * @param texts      texts
 * @param vocabulary V
 * @param counts     [V] how often each token occurs
 * @return tokens that have a vector, the sum of the counts */
size_t nvdp_token_texts_count(const struct nvdp_token_texts *texts, size_t vocabulary,
                              double *counts);

/* ---- analyses ---- */

/** Mean and quantiles; no member is ever added. */
struct nvdp_summary {
    double mean;   /**< mean */
    double q05;    /**< quantile .05 */
    double q25;    /**< quantile .25 */
    double median; /**< quantile .5 */
    double q75;    /**< quantile .75 */
    double q95;    /**< quantile .95 */
};

/** Sizes of nvdp_distances. */
enum { NVDP_DISTANCES_NEIGHBORS = 21 /**< numbers in k and mean, at most */ };
/** Distances between the vectors of a table. */
struct nvdp_distances {
    size_t struct_size;                    /**< NVDP_RESULT() sets it */
    size_t tokens;                         /**< that were measured */
    double nearest_median;                 /**< nvdp_geometry's */
    double pair_median;                    /**< nvdp_geometry's */
    double diameter_bound;                 /**< nvdp_geometry's */
    size_t neighbors;                      /**< numbers in k and mean */
    size_t k[NVDP_DISTANCES_NEIGHBORS];    /**< rising, from the nearest to the farthest token */
    double mean[NVDP_DISTANCES_NEIGHBORS]; /**< mean distance to the k-th nearest token */
};
/** Measures the distances of a table from tokens that are drawn (Qu et al. 2021, Figure 3).  O(tokens V (d + log V)).
 * @param ctx     records messages, is asked to cancel, lends threads
 * @param vectors table
 * @param prior   [V] weights that the tokens are drawn by; NULL: uniformly, each token once
 * @param tokens  how many are drawn, at least 1; without prior at most V are
 * @param seed    of the drawing
 * @param[out] out the distances
 * @return NVDP_ERR_ARGUMENT for no tokens, for weights that are negative or have no finite sum above 0, and for a struct
 *         without its size; NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_distances_measure(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   const double *prior, size_t tokens, uint64_t seed,
                                   struct nvdp_distances *out);

/** Plausible deniability under a mechanism (Feyisetan et al. 2020; Yue et al. 2021, section 5.5). */
struct nvdp_deniability {
    size_t struct_size;         /**< NVDP_RESULT() sets it */
    size_t tokens;              /**< that were measured */
    size_t inputs;              /**< different tokens among them */
    size_t draws;               /**< of each */
    struct nvdp_summary n_w;    /**< N_w over the tokens: nvdp_dchi_deniability() */
    struct nvdp_summary s_w;    /**< S_w over the tokens: nvdp_dchi_deniability() */
    struct nvdp_summary s_star; /**< S*_y over the tokens that came out: nvdp_dchi_sources() */
    struct nvdp_summary h_0;    /**< entropy log S_w, nats */
    struct nvdp_summary h_inf;  /**< entropy -log N_w, nats; +inf where N_w is 0 */
};
/** Measures plausible deniability of tokens that are drawn.
 * @param ctx    records messages, is asked to cancel, lends threads
 * @param dchi   mechanism
 * @param prior  as in nvdp_distances_measure()
 * @param tokens as in nvdp_distances_measure()
 * @param draws  of each token, at least 1
 * @param seed   of the drawing and of the draws
 * @param[out] out the summaries
 * @return as nvdp_distances_measure(); NVDP_ERR_ARGUMENT for no draws */
nvdp_status nvdp_deniability_measure(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     const double *prior, size_t tokens, size_t draws,
                                     uint64_t seed, struct nvdp_deniability *out);

/* ---- the privacy of texts ---- */

/** The privacy of texts under a mechanism.  Lengths are public: pairs of other lengths are +inf, and what
 * pairs of one length say is told apart. */
struct nvdp_dchi_report {
    size_t struct_size;               /**< NVDP_RESULT() sets it */
    struct nvdp_privacy_report pairs; /**< of the pairs that the option adjacency names */
    struct nvdp_privacy_report
        same;            /**< of the pairs of one length; pairs.texts is 0 where there are
                                             none */
    size_t equal_length; /**< ordered pairs of one length */
    size_t other_length; /**< ordered pairs that their lengths alone tell apart */
    struct nvdp_interval
        epsilon;          /**< what the largest exact epsilon at bdp_delta of the pairs of one
                                             length lies in (nvdp_dchi_epsilon()) */
    size_t epsilon_p;     /**< the text P of that pair */
    size_t epsilon_q;     /**< its text Q */
    size_t epsilon_pairs; /**< pairs for which it was computed: no other can have it */
    enum nvdp_dchi_mechanism mechanism; /**< which */
    double eta;                         /**< its eta */
    double p;                           /**< of santext-plus */
    size_t vocabulary;                  /**< V */
    size_t dim;                         /**< of a vector */
    size_t tokens;                      /**< of all texts */
    size_t left;                  /**< of these, not sensitive: they may be left as they are */
    size_t unknown;               /**< of these, without a vector */
    struct nvdp_dchi_worst worst; /**< of the vocabulary; where it is large, of drawn tokens */
    bool
        own_words; /**< nvdp_text_privacy(): the vocabulary is that of these texts, which is not private */
};

/** Measures all ordered pairs of texts, as nvdp_privacy_measure() does of posteriors: sums over positions of
 * the divergences of nvdp_dchi_divergence(), within 1e-12 nats (over order - 1 where that is smaller) a token.
 * Of laplace-nearest these are laplace's, which bound them.  max-pairs is not supported.
 *
 * A pair of tokens is computed once, at all orders together.  O(P V) for P distinct pairs of tokens that face
 * each other in texts of one length, and O(T V d) for T distinct tokens; of laplace O(P d).  Memory 400 P
 * bytes, 1 KiB a token, and 4 N^2 doubles.
 * @param ctx    records messages, reports progress, is asked to cancel, lends threads: the same bits on any
 *               number
 * @param dchi   mechanism
 * @param texts  2 to 20000
 * @param config of nvdp_privacy_config_create(); NULL: the defaults
 * @param matrix [N, N] as that of nvdp_renyi_pairs(); NULL: not wanted
 * @param[out] out the report
 * @return NVDP_ERR_ARGUMENT for an option, a token or a number of texts out of its range, drawn
 *     pairs, the exact loss; NVDP_ERR_INPUT without adjacent texts, NVDP_ERR_CANCELLED,
 *     NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_privacy(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                              const struct nvdp_token_texts *texts,
                              const struct nvdp_config *config, double *matrix,
                              struct nvdp_dchi_report *out);

/** The report as one JSON object (docs/formats.md): that of nvdp_privacy_report_json() and more.
 * @param ctx    records messages; may be NULL
 * @param report the report
 * @param out    the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_report_json(struct nvdp_context *ctx, const struct nvdp_dchi_report *report,
                                  char **out);

/** The report for people.
 * @param ctx    records messages
 * @param report the report
 * @param out    the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_dchi_report_text(struct nvdp_context *ctx, const struct nvdp_dchi_report *report,
                                  char **out);

/** The privacy of one noised vector a text (nvdp_sequence_laplace()), as nvdp_privacy_measure() tells that of
 * posteriors: D_l of every pair is nvdp_renyi_laplace(l, d, eta |s - s'|), within 1e-12 of it.  With
 * a clip the report has what no two texts exceed: that of distance 2 C eta.  A vector tells no
 * length.  max-pairs is not supported.  O(N^2 d), memory 4 N^2 doubles.
 * @param ctx    records messages, reports progress, is asked to cancel, lends threads
 * @param eta    > 0 and finite
 * @param clip   C > 0, to whose norm vectors are scaled at most; INFINITY: as they are
 * @param texts  N, 2 to 20000
 * @param dim    d, at least 1
 * @param states [N, d] vectors before clip and noise; one with a number that is not finite counts as 0, as it is sent
 * @param config of nvdp_privacy_config_create(); NULL: the defaults
 * @param matrix [N, N] as that of nvdp_renyi_pairs(); NULL: not wanted
 * @param[out] out the report
 * @return NVDP_ERR_ARGUMENT for a value or an option out of its range, drawn pairs, the exact
 *     loss; NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_sequence_privacy(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                  size_t dim, const double *states,
                                  const struct nvdp_config *config, double *matrix,
                                  struct nvdp_privacy_report *out);

/** The options of nvdp_text_privacy(): those of nvdp_token_texts_read(); those of nvdp_sanitizer_create(), and of nvdp_privacy_config_create();
 * sanitized, a folder that nvdp_sanitize() wrote.
 * @param ctx outlives the configuration
 * @param[out] out the configuration; nvdp_config_free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_text_privacy_config_create(struct nvdp_context *ctx, struct nvdp_config **out);

/** Measures a split's own texts, not yet sanitized, under a sanitizer.
 *
 * With `sanitized` that is the folder's: mechanism, eta, p, oov and the share of sensitive tokens come from its
 * privacy.json, and so does sensitive-from-data; vectors, and a file that tells the sensitive tokens, are given again
 * and have to be the same.  A folder that was written before it told them apart is read with a warning.
 * @param ctx    as that of nvdp_dchi_privacy()
 * @param config of nvdp_text_privacy_config_create()
 * @param[out] matrix [N, N] as that of nvdp_renyi_pairs(), made for the caller; free(); NULL: not wanted
 * @param[out] out the report
 * @return NVDP_ERR_INPUT for a folder under another mechanism than these options; else as
 *         nvdp_sanitizer_create(), nvdp_dataset_load() and nvdp_dchi_privacy() */
nvdp_status nvdp_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                              double **matrix, struct nvdp_dchi_report *out);

/** Measures a split's texts, as they are before they are sent, of a run that was trained with token-noise:
 * over the word embeddings that the run began with, cut to its max-length.
 * @param ctx    as that of nvdp_dchi_privacy()
 * @param config of nvdp_run_config_create() joined with nvdp_privacy_config_create()
 * @param[out] matrix as that of nvdp_text_privacy()
 * @param[out] out the report
 * @return NVDP_ERR_ARGUMENT for a run without token-noise, or with sequence-laplace; else as
 *     nvdp_run_posteriors() and nvdp_dchi_privacy() */
nvdp_status nvdp_run_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  double **matrix, struct nvdp_dchi_report *out);

/** Measures what is shared of a split's texts by a run with token-noise sequence-laplace: the first tokens' last
 * states, of the encoder that the run has.
 * @param ctx    as that of nvdp_sequence_privacy()
 * @param config of nvdp_run_config_create() joined with nvdp_privacy_config_create()
 * @param[out] matrix as that of nvdp_text_privacy()
 * @param[out] out the report
 * @return NVDP_ERR_ARGUMENT for a run without sequence-laplace; else as nvdp_run_posteriors() and
 *     nvdp_sequence_privacy() */
nvdp_status nvdp_run_sequence_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      double **matrix, struct nvdp_privacy_report *out);

NVDP_END_DECLS
#endif
