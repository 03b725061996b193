/** @file posteriors.h
 * Posteriors: the distributions that a bottleneck assigns to texts, as plain arrays.
 *
 * An NVDP sample of a text with n tokens has the components 0 (the prior: mu 0, logvar 0, alpha
 * prior_alpha), 1..n (the tokens), and under the hidden length policy n+1..length (padding: mu 0,
 * logvar 0, alpha pad_alpha).  Only the tokens are stored.  Gaussian mechanisms (vib, vtdp) have no
 * alpha and no prior.
 *
 * Stable: later versions add to it. */
#ifndef NVDP_POSTERIORS_H
#define NVDP_POSTERIORS_H

#include <nvdp/context.h>
#include <nvdp/export.h>

NVDP_BEGIN_DECLS

/** What a release tells about the length of a text. */
enum nvdp_length_policy {
    NVDP_LENGTH_HIDDEN, /**< nothing: texts are padded to `length` tokens, all sampled and shared */
    NVDP_LENGTH_PUBLIC  /**< n is released; the divergence between different lengths is +inf */
};

/** The posteriors of N texts with T tokens in all, in p dimensions. */
struct nvdp_posteriors {
    size_t texts;       /**< N */
    size_t dim;         /**< p >= 1 */
    size_t *offset;     /**< [N+1] tokens of text i: rows offset[i]..offset[i+1]; from 0, rising */
    double *alpha;      /**< [T] pseudo-counts, 1e-100 to 1e100; NULL: a Gaussian mechanism */
    double *mu;         /**< [T, p] means, row by row */
    double *logvar;     /**< [T, p] natural logarithms of the variances, -300 to 300 */
    int64_t *id;        /**< [N] the texts' own numbers, or NULL */
    double prior_alpha; /**< pseudo-count of the prior's component */
    double pad_alpha;   /**< of a padding component; hidden policy only */
    int kappa;          /**< vectors per component, >= 1: weights from Dirichlet(alpha/kappa) */
    enum nvdp_length_policy policy; /**< whether lengths are hidden */
    size_t length;   /**< L: tokens that every text is padded to; hidden policy only */
    char method[32]; /**< "nvdp", "vtdp", "vib-fixed", ...; ends with 0 */
    /** C where a sequence clip holds: hidden lengths, kappa 1, all variances 1, and all means of a
     * text, as one vector, of norm at most C (docs/nvib.md).  0: none. */
    double clip_sequence;
    int split; /**< 1 + the enum nvdp_split that the texts are of; 0: not known */
};

/** Makes a set with arrays of zeros, one vector per component, prior and padding of pseudo-count 1,
 * public lengths, no `id`.
 * @param ctx        records messages; may be NULL
 * @param texts      N
 * @param rows       T: tokens of all texts
 * @param dim        p >= 1
 * @param with_alpha false: a Gaussian mechanism, `alpha` stays NULL
 * @param out        the set; nvdp_posteriors_free()
 * @return NVDP_ERR_ARGUMENT for a width of 0, NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_create(struct nvdp_context *ctx, size_t texts, size_t rows, size_t dim,
                                   bool with_alpha, struct nvdp_posteriors **out);

/** Releases a set with its arrays, `id` included.
 * @param posteriors NULL is allowed */
void nvdp_posteriors_free(struct nvdp_posteriors *posteriors);

/** Checks what all measures rely on: offsets that rise from 0, everything finite and in the ranges
 * of struct nvdp_posteriors, at most `length` tokens per text under the hidden policy.  O(T p).
 * @param ctx        records messages; may be NULL
 * @param posteriors the set
 * @param source     what messages begin with: a path, or "" or NULL for none
 * @return NVDP_ERR_INPUT, naming dataset or attribute, row, column and what was found */
nvdp_status nvdp_posteriors_check(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors, const char *source);

/** Reads a file of kind posteriors/1 (docs/formats.md), and checks everything.
 * @param ctx  records messages; may be NULL
 * @param path the file
 * @param out  the set; nvdp_posteriors_free()
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT where the file is malformed, NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_read(struct nvdp_context *ctx, const char *path,
                                 struct nvdp_posteriors **out);

/** Writes a file of kind posteriors/1, in place of one of that name only when it is whole.
 * @param ctx        records messages; may be NULL
 * @param path       the file
 * @param posteriors a set that passes nvdp_posteriors_check()
 * @return NVDP_ERR_IO, NVDP_ERR_INPUT, NVDP_ERR_MEMORY */
nvdp_status nvdp_posteriors_write(struct nvdp_context *ctx, const char *path,
                                  const struct nvdp_posteriors *posteriors);

NVDP_END_DECLS
#endif
