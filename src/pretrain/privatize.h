/* Privacy-adaptive pretraining (Qu et al. 2021, section 3.4): turns a batch into the form in
 * which a user would send it, and determines the targets.
 *
 * The batch comes masked: [MASK], random pieces and pieces left unchanged (examples.h). Then the
 * mechanism redraws every regular token of the input, including the random pieces, in every
 * step. [UNK] has no vector and becomes a uniform draw, as in nvdp sanitize. [CLS], [SEP] and
 * [MASK] are the provider's and stay. Under laplace the input consists of the noised vectors.
 * Targets are
 *   vanilla     the privatized token: for unchanged tokens the token in the input (under laplace the token
 *               nearest to the vector in the input); for other tokens a separate draw
 *   prob        DRAWS separate draws of equal weight: the empirical distribution
 *   denoising   the original token
 * Draws are keyed by the seed, the step, the row of the batch and the position, so they do not
 * depend on threads or interruptions. */
#ifndef NVDP_SRC_PRETRAIN_PRIVATIZE_H
#define NVDP_SRC_PRETRAIN_PRIVATIZE_H

#include "dchi/dchi.h"
#include "dchi/options.h"
#include "pretrain/model.h"

enum { NVDP__PROB_DRAWS = 10 };

struct nvdp__privatizer {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    enum nvdp__objective objective;
    const struct nvdp__piece_table *pieces;
    const float *table; /* [pieces, D] */
    struct nvdp_sanitizer *sanitizer;
    struct nvdp_dchi *tokens; /* draws tokens: the sanitizer's dchi, or `nearest` for laplace */
    struct nvdp_dchi *nearest;
    int32_t unknown;
    size_t dim;
    size_t *offset;              /* [texts DRAWS + 1] offsets of the tokens below */
    int32_t *token;              /* [tokens or masked DRAWS] rows of the sanitizer's table */
    int32_t *row;                /* [tokens] rows of the batch */
    bool *left;                  /* [masked] masking left the token unchanged */
    double *points;              /* laplace: [tokens, D] */
    float *words;                /* laplace: [tokens, D] */
    struct nvdp__masked targets; /* `row` is borrowed */
    struct nvdp__dchi_scratch scratch;
};

/* Allocates memory for batches of `texts` texts of `length` tokens, `masked` of them masked. The
 * table is the model's; table, pieces and tokenizer must outlive the privatizer. */
nvdp_status nvdp__privatizer_create(struct nvdp_context *ctx,
                                    const struct nvdp__sanitizer_options *options,
                                    enum nvdp__objective objective,
                                    const struct nvdp_tokenizer *tokenizer,
                                    const struct nvdp__piece_table *pieces, size_t dim,
                                    const float *table, size_t texts, size_t length, size_t masked,
                                    struct nvdp__privatizer *privatizer);
void nvdp__privatizer_release(struct nvdp__privatizer *privatizer); /* also a zeroed struct */
/* Returns its size in bytes, without santext's cache of draws. */
size_t nvdp__privatizer_bytes(const struct nvdp__sanitizer_options *options, size_t pieces,
                              size_t dim, size_t texts, size_t length);

struct nvdp__privacy_key {
    uint64_t seed;
    uint32_t step;
    bool evaluation; /* its draws differ from those of training */
    size_t first;    /* number of the batch's first row */
};
/* Privatizes the batch's ids, or its words. Sets *targets, either the privatizer's own or
 * `masked` itself, to the tokens that the model is to predict. */
nvdp_status nvdp__privatize(struct nvdp__privatizer *privatizer, struct nvdp__batch *batch,
                            const struct nvdp__masked *masked, const struct nvdp__privacy_key *key,
                            const struct nvdp__masked **targets);

#endif
