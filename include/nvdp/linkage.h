/** @file linkage.h
 * Re-identification: how often an attacker who has the model and a list of texts identifies the text of a sample, by
 * the best possible guess. The share is measured, not proven.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_LINKAGE_H
#define NVDP_LINKAGE_H

#include <nvdp/rdp.h>
#include <nvdp/result.h>

NVDP_BEGIN_DECLS

/** Success of re-identification by an attacker who also knows the label of each sample's text, because a file states
 * labels. The attacker ranks the listed texts with this label. The members are as in struct nvdp_linkage. */
struct nvdp_linkage_labeled {
    /** Number of different labels of the N texts. 0 if the texts have no labels; then all other members are NaN. */
    size_t labels;
    double first;                        /**< share of trials whose text is the most likely */
    struct nvdp_interval first_interval; /**< Clopper & Pearson 1934 */
    /** Success without samples, labels/N: a text that shares its label with n texts is right in one of n guesses. */
    double first_chance;
    double ten; /**< share of trials whose text is among the ten most likely */
    struct nvdp_interval ten_interval; /**< Clopper & Pearson 1934 */
    double ten_chance;  /**< sum over labels of min(10, texts with the label), divided by N */
    double first_bound; /**< nvdp_guess_bound() of first_chance; NaN if nothing is proven */
    double ten_bound;   /**< nvdp_guess_bound() of ten_chance; NaN if nothing is proven */
};

/** Success of re-identification. A trial is all samples of one text. The attacker ranks the listed texts by their
 * likelihood; no other guess is better if all texts are equally likely. */
struct nvdp_linkage {
    size_t struct_size;                  /**< 0 if nothing was measured */
    const struct nvdp_result_kind *kind; /**< the library sets it, for nvdp_result_free() */
    size_t texts;                        /**< N: the listed texts, whose samples are the trials */
    size_t of_texts;                     /**< number of texts from which the N texts were drawn */
    int releases;      /**< K, samples per trial, which the attacker knows to be of one text */
    size_t trials;     /**< number of guesses */
    double confidence; /**< confidence of the intervals: .95 */
    double first;      /**< share of trials whose text is the most likely */
    struct nvdp_interval first_interval; /**< Clopper & Pearson 1934 */
    double first_chance;                 /**< 1/N */
    double ten; /**< share of trials whose text is among the ten most likely */
    struct nvdp_interval ten_interval; /**< Clopper & Pearson 1934 */
    double ten_chance;                 /**< 10/N, at most 1 */
    /** Estimated mutual information between the text and the samples of a trial, in nats: mean of log N P(text |
     * samples), at most log N. */
    double information;
    struct nvdp_interval information_interval; /**< Student's t */
    /** Share of texts that the attacker would identify from the posterior, without noise. It is below 1 if several
     * texts have the same posterior. */
    double states;
    /** Proven upper bound of `first` (nvdp_guess_bound() of first_chance); NaN if nothing is proven. */
    double first_bound;
    /** Proven upper bound of `ten`; NaN if nothing is proven. */
    double ten_bound;
    struct nvdp_linkage_labeled labeled; /**< success if the attacker knows labels */
    /** The larger of `first` and labeled.first, because an export may state the labels. */
    double named;
    struct nvdp_interval named_interval; /**< interval of `named` */
};

/** Maximum number of texts that nvdp privacy and sweeps guess among. */
#define NVDP_LINKAGE_TEXTS 1000

/** Measures re-identification: draws samples of each text and guesses the text of K samples at a time. Samples are
 * drawn as in nvdp_export(), but from a seed and without the grid. The guess uses the exact log density of weights
 * and vectors under each text's posterior. Equally likely texts share a guess. Each text has the same number of
 * trials, 1000 or more in all.
 *
 * O(trials x N x tokens x p); one second for 872 texts of 30 tokens in 384 dimensions.
 * @param ctx        records messages, reports progress, can cancel
 * @param posteriors 2 or more texts; checked
 * @param releases   K >= 1
 * @param texts      maximum number of texts, drawn with the seed, at least 2; 0 for all texts
 * @param seed       seed of samples and texts
 * @param[out] out   the result; untouched on error
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_INPUT for posteriors that do not pass nvdp_posteriors_check(),
 *         NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_linkage_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 int releases, size_t texts, uint64_t seed,
                                 struct nvdp_linkage *out);

/** Size in bytes of a sentence about linkage, including its NUL. */
#define NVDP_LINKAGE_SENTENCE 480

NVDP_END_DECLS
#endif
