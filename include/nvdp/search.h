/** @file search.h
 * Search in a shared file of method sentence (nvdp_export() with the option "model"): ranks the texts of the file by
 * similarity to a query.
 *
 * The searcher embeds the query without noise, with the encoder that the file names and the public center and principal
 * directions that the file states. Let v(x) be the centered, projected embedding of a text and u the unit vector of
 * v(q). The mean of a text's sample z is M(x) = C v(x)/|v(x)|, so z.u/C, averaged over the S samples of the text, is an
 * unbiased estimate of the cosine of v(x) and v(q). The error of the estimate is Gaussian with standard deviation
 * 1/(C sqrt(S)), for any p. A text without tokens has M = 0, and the cosine 0. Because v is centered, thresholds for
 * cosines of the plain encoder do not apply.
 *
 * Whoever guesses a text can check the guess by a search, as far as the noise allows. Only the proven guarantee of the
 * file limits the success of guesses. Lengths are not in the file, so no search can filter by length.
 *
 * Experimental: may change in any version. */
#ifndef NVDP_SEARCH_H
#define NVDP_SEARCH_H

#include <nvdp/share.h>

NVDP_BEGIN_DECLS

/** A file prepared for searches, with the encoder; opaque. Only one call at a time may use a search. */
struct nvdp_search;

/** Properties of the estimates. */
struct nvdp_search_info {
    size_t struct_size; /**< NVDP_RESULT() sets it */
    size_t texts;       /**< N */
    size_t dim;         /**< p */
    double clip;        /**< C, the norm of the mean M(x) of every text */
    double deviation;   /**< 1/(C sqrt(S)), the standard deviation of an estimate */
    /** Half the width of the 95 % interval of a text that was chosen without looking at the file. It does not hold for
     * a hit, which was chosen by its estimate. */
    double margin;
    /** Half the width of intervals that hold for all N texts together with 95 %, and so for the hits of one query. */
    double margin_all;
    char encoder[64]; /**< name of the encoder's folder, as the sender states it */
    char sha256[65];  /**< SHA-256 of the encoder's weights */
};

/** One hit. */
struct nvdp_hit {
    size_t text; /**< index of the text in the file, from 0 */
    int64_t id;  /**< row of the text in the sender's input */
    /** Unbiased estimate of the cosine; with noise, it can be beyond -1 and 1. The estimates of the top hits are too
     * large on average, because hits have the largest of N estimates. estimate +- margin_all holds for hits. */
    double estimate;
    /** Expected cosine: m + s (estimate - m), s = tau^2/(tau^2 + deviation^2), under a normal prior whose mean m and
     * variance tau^2 are fitted to the estimates of all N texts. This value holds for hits, too, but is too small for a
     * text that is much closer to the query than all other texts. It is m if the estimates vary no more than the
     * noise. */
    double shrunken;
    /** Probability, under this prior, that the cosine of this text is above the cosine of the text after the last hit:
     * Phi(sqrt(s) (estimate - e)/(sqrt(2) deviation)), where e is the estimate of the text after the last hit. Too
     * small for a text that is much closer to the query than all other texts. 1/2 if the estimates vary no more than
     * the noise; NaN if no text comes after the last hit. */
    double above;
};

/** Loads the encoder for a file.
 * @param ctx      outlives the search
 * @param shared   the file; outlives the search
 * @param model    folder of the encoder; NULL for models/NAME or NAME in the working directory, where the file states
 *                 NAME. A file of vectors of another program states none; nvdp_search_vectors() searches it
 * @param[out] out the search, freed with nvdp_search_free(); untouched on error
 * @return NVDP_ERR_ARGUMENT for a file of another method; NVDP_ERR_INPUT for an encoder with other weights than the
 *         sender's encoder; errors of nvdp_encoder_load() */
nvdp_status nvdp_search_open(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                             const char *model, struct nvdp_search **out);
/** Frees a search.
 * @param search may be NULL */
void nvdp_search_free(struct nvdp_search *search);
/** Describes the estimates.
 * @param search the search
 * @param[in,out] out filled up to its struct_size
 * @return NVDP_ERR_ARGUMENT for a struct without struct_size */
nvdp_status nvdp_search_describe(const struct nvdp_search *search, struct nvdp_search_info *out);
/** Finds the texts with the largest estimates for each query. Reads the vectors once for all queries: O(N p) memory
 * traffic, O(N p Q) operations. Ties keep the order of the file. The hits do not depend on the number of threads.
 * @param ctx     as in nvdp_search_open(); can cancel
 * @param search  the search
 * @param file    file of the queries, one per line, whose lines messages name; NULL: messages count queries from 1
 * @param queries Q
 * @param query   [Q] texts, UTF-8
 * @param top     k, at least 1; a file of fewer texts has fewer hits
 * @param hit     [Q, min(k, N)] hits of each query by decreasing estimate
 * @return NVDP_ERR_ARGUMENT without queries, for k = 0, and for a query without tokens, whose mean is 0;
 *         NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_search_texts(struct nvdp_context *ctx, struct nvdp_search *search,
                              const char *file, size_t queries, const char *const *query,
                              size_t top, struct nvdp_hit *hit);
/** Finds the texts with the largest estimates for vectors that the caller computed with the sender's encoder, as
 * nvdp_search_texts() does for texts: the search of a file of vectors of another program.
 * @param ctx     as in nvdp_search_open(); can cancel
 * @param search  the search
 * @param queries Q
 * @param width   numbers per vector, as the sender's vectors have
 * @param x       [Q, width] vectors of any length
 * @param top     k, at least 1; a file of fewer texts has fewer hits
 * @param hit     [Q, min(k, N)] hits of each query by decreasing estimate
 * @return NVDP_ERR_ARGUMENT without queries, for k = 0, for another width, and for a vector without a direction;
 *         NVDP_ERR_CANCELLED; NVDP_ERR_MEMORY */
nvdp_status nvdp_search_vectors(struct nvdp_context *ctx, struct nvdp_search *search,
                                size_t queries, size_t width, const float *x, size_t top,
                                struct nvdp_hit *hit);
/** Computes the means of the samples that these vectors would have, without noise, for a search by other programs. They
 * are not private.
 * @param ctx     as in nvdp_search_open()
 * @param search  the search
 * @param queries number of vectors
 * @param width   numbers per vector, as the sender's vectors have
 * @param x       [queries, width] vectors of any length
 * @param mean    [queries, p] the means, in standard deviations of the noise
 * @return NVDP_ERR_ARGUMENT for another width, and for a vector without a direction; NVDP_ERR_MEMORY */
nvdp_status nvdp_search_means(struct nvdp_context *ctx, struct nvdp_search *search, size_t queries,
                              size_t width, const float *x, float *mean);

NVDP_END_DECLS
#endif
