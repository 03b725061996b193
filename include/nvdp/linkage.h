/** @file linkage.h
 * Whose sample is it?  How often somebody who has the model and a list of texts names the text that a sample was made
 * of: the best guess there is, measured.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_LINKAGE_H
#define NVDP_LINKAGE_H

#include <nvdp/rdp.h>

NVDP_BEGIN_DECLS

/** How often the right text is named.  A trial is all samples of one text; its text is guessed among all by the
 * likelihood of each, which no other way of guessing exceeds where every text is as likely as any other. */
struct nvdp_linkage {
    size_t struct_size;                  /**< 0: not measured */
    size_t texts;                        /**< N: the list, and whose samples were tried */
    size_t of_texts;                     /**< more where N were drawn of so many */
    int releases;                        /**< K: samples of one text that are known to be of one */
    size_t trials;                       /**< guesses that were made */
    double confidence;                   /**< of the intervals: .95 */
    double first;                        /**< share of trials whose text is the likeliest */
    struct nvdp_interval first_interval; /**< Clopper & Pearson 1934 */
    double first_chance;                 /**< 1/N */
    double ten;                          /**< share whose text is among the ten likeliest */
    struct nvdp_interval ten_interval;   /**< likewise */
    double ten_chance;                   /**< 10/N, 1 at most */
    double
        information; /**< what a trial tells of which text it is, nats: mean of log N P(text | samples), log N at
                             most: the mutual information */
    struct nvdp_interval information_interval; /**< Student's t */
    /** Share that would be named from the posteriors themselves, without noise: less than 1 where texts have the same. */
    double states;
    double
        first_bound; /**< largest `first` that is proven (nvdp_guess_bound() of first_chance); NaN: none is */
    double ten_bound;   /**< likewise of `ten` */
    double reserved[1]; /**< 0: the struct stands inside others and keeps its size */
};

/** How many texts nvdp privacy and sweeps guess among at most. */
#define NVDP_LINKAGE_TEXTS 1000

/** Draws samples of each text, as nvdp_export() does but with a seed and without the grid, and guesses whose they are,
 * K at a time, by the exact log density of their weights and vectors under each text's posterior.  Equally likely
 * texts share a guess.  Each text has as many trials, 1000 or more in all.
 *
 * O(trials x N x tokens x p), a second for 872 texts of 30 tokens in 384 dimensions.
 * @param ctx        records messages, reports progress, is asked to cancel
 * @param posteriors 2 or more texts; checked
 * @param releases   K >= 1
 * @param texts      at most so many, drawn from the seed; 0: all
 * @param seed       of samples and texts
 * @param[out] out   what was found; untouched on error
 * @return NVDP_ERR_ARGUMENT, NVDP_ERR_INPUT for posteriors that do not pass nvdp_posteriors_check(),
 *         NVDP_ERR_CANCELLED, NVDP_ERR_MEMORY */
nvdp_status nvdp_linkage_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 int releases, size_t texts, uint64_t seed,
                                 struct nvdp_linkage *out);

/** Bytes of a sentence of nvdp_linkage_sentence(), its NUL included. */
#define NVDP_LINKAGE_SENTENCE 320

/** "Someone who has the model and these 872 texts names the right text for 21 % of the samples (95 %: 18 to 24 %; chance
 * 0.11 %)."
 * @param linkage of nvdp_linkage_measure()
 * @param[out] out the sentence, in printable ASCII */
void nvdp_linkage_sentence(const struct nvdp_linkage *linkage, char out[NVDP_LINKAGE_SENTENCE]);

/** The same and all numbers as one JSON object (docs/formats.md).
 * @param ctx      records messages; may be NULL
 * @param linkage  of nvdp_linkage_measure()
 * @param[out] out the text; free()
 * @return NVDP_ERR_MEMORY */
nvdp_status nvdp_linkage_json(struct nvdp_context *ctx, const struct nvdp_linkage *linkage,
                              char **out);

NVDP_END_DECLS
#endif
