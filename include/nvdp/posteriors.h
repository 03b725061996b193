/** @file posteriors.h
 * Posteriors: the distributions that a bottleneck assigns to texts, as plain arrays.
 *
 * An NVDP sample of a text with n tokens has component 0 (the prior: mu 0, logvar 0, alpha prior_alpha) and
 * components 1..n (the tokens). Under the hidden length policy, the sample also has components n+1..length (padding:
 * mu 0, logvar 0, alpha pad_alpha). Only the components of tokens are stored. Gaussian mechanisms (vib, vtdp) have no
 * alpha and no prior.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_POSTERIORS_H
#define NVDP_POSTERIORS_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** Length policies: what a release reveals about the length of a text. */
enum nvdp_length_policy {
    /** The length is hidden: texts are padded to `length` tokens, which are all sampled and shared. */
    NVDP_LENGTH_HIDDEN,
    NVDP_LENGTH_PUBLIC /**< n is public; the divergence of texts with different lengths is +inf */
};

/** The posteriors of N texts with T tokens in total, in p dimensions. */
struct nvdp_posteriors {
    size_t texts;   /**< N */
    size_t dim;     /**< p >= 1 */
    size_t *offset; /**< [N+1] text i has the rows offset[i]..offset[i+1]; from 0, ascending */
    double *alpha;  /**< [T] pseudo-counts, 1e-100 to 1e100; NULL for a Gaussian mechanism */
    double *mu;     /**< [T, p] means, row-major */
    double *logvar; /**< [T, p] log variances, -300 to 300 */
    int64_t *id;    /**< [N] identifiers of the texts, or NULL */
    /** [N] labels that a reader of the samples may know, or NULL. A text without a label has NaN. Files of posteriors
     * do not store labels. */
    float *label;
    double prior_alpha; /**< pseudo-count of the prior's component */
    double pad_alpha;   /**< pseudo-count of a padding component; hidden policy only */
    int kappa;          /**< vectors per component, >= 1: weights from Dirichlet(alpha/kappa) */
    enum nvdp_length_policy policy; /**< whether lengths are hidden */
    size_t length;   /**< L, length in tokens to which texts are padded; hidden policy only */
    char method[32]; /**< "nvdp", "vtdp", "vib-fixed", ...; NUL-terminated */
    /** C of a sequence clip; 0 without a clip. With a clip, lengths are hidden, kappa is 1, all variances are 1, and
     * all means of a text as one vector have a norm of at most C (docs/nvib.md). */
    double clip_sequence;
    int split; /**< 1 + the enum nvdp_split of the texts; 0 if unknown */
};

/** Creates a set with arrays of zeros, one vector per component, pseudo-count 1 for prior and padding, public
 * lengths, no `id`, and no `label`.
 * @param ctx        records messages; may be NULL
 * @param texts      N
 * @param rows       T, number of tokens of all texts
 * @param dim        p >= 1
 * @param with_alpha false for a Gaussian mechanism, whose `alpha` is NULL
 * @param out        the set, freed with nvdp_posteriors_free()
 * @return NVDP_ERR_ARGUMENT for dim 0, NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_create(struct nvdp_context *ctx, size_t texts, size_t rows, size_t dim,
                                   bool with_alpha, struct nvdp_posteriors **out);

/** Frees a set with its arrays, including `id` and `label`.
 * @param posteriors may be NULL */
void nvdp_posteriors_free(struct nvdp_posteriors *posteriors);

/** Checks the assumptions of all measures. Offsets ascend from 0. All numbers are finite and in the ranges of struct
 * nvdp_posteriors. Under the hidden policy, no text has more than `length` tokens. O(T p).
 * @param ctx        records messages; may be NULL
 * @param posteriors the set
 * @param source     prefix of messages, such as a path; "" or NULL for no prefix
 * @return NVDP_ERR_INPUT, whose message names dataset or attribute, row, column and the value found */
nvdp_status nvdp_posteriors_check(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors, const char *source);

/** Reads and checks a file of kind posteriors/1 (docs/formats.md).
 * @param ctx  records messages; may be NULL
 * @param path the file
 * @param out  the set, freed with nvdp_posteriors_free()
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT for an invalid file, NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_read(struct nvdp_context *ctx, const char *path,
                                 struct nvdp_posteriors **out);

/** Writes a file of kind posteriors/1. Replaces an existing file only when the new one is complete.
 * @param ctx        records messages; may be NULL
 * @param path       the file
 * @param posteriors a set that passes nvdp_posteriors_check()
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT, NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_write(struct nvdp_context *ctx, const char *path,
                                  const struct nvdp_posteriors *posteriors);

NVDP_END_DECLS
#endif
