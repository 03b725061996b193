/* Privacy-adaptive pretraining (Qu et al. 2021, section 3.4): a batch as a user would have sent it, and
 * what is to be predicted of it.
 *
 * The batch comes masked: [MASK], random pieces and pieces left as they are (examples.h).  Then every
 * regular token of the input, the random ones too, is drawn by the mechanism, each time anew; [UNK], which
 * has no vector, becomes a uniform draw, as in nvdp sanitize; [CLS], [SEP] and [MASK] are the
 * provider's and stay.  Under laplace the input are the noised vectors.  Targets are
 *
 *     vanilla     the privatized token: where it was left, the one in the input (under laplace the nearest to
 *                 the vector in the input); elsewhere a draw of its own
 *     prob        DRAWS draws of their own, of equal weight: the empirical distribution
 *     denoising   the original token
 *
 * Draws are keyed by the seed, the step, the row of the batch and the position: neither threads nor an
 * interruption changes them. */
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
    struct nvdp_dchi *tokens; /* draws tokens: the sanitizer's own, or its laplace's nearest ones */
    struct nvdp_dchi *nearest;
    int32_t unknown;
    size_t dim;
    size_t *offset;              /* [texts DRAWS + 1] of the tokens below */
    int32_t *token;              /* [tokens or masked DRAWS] rows of the sanitizer's table */
    int32_t *row;                /* [tokens] of the batch */
    bool *left;                  /* [masked] neither [MASK] nor another piece stands there */
    double *points;              /* laplace: [tokens, D] */
    float *words;                /* laplace: [tokens, D] */
    struct nvdp__masked targets; /* row is another's */
    struct nvdp__dchi_scratch scratch;
};

/* Memory for batches of `texts` texts of `length` tokens, `masked` of them masked.  The table is the
 * model's, which outlives it, as pieces and tokenizer do. */
nvdp_status nvdp__privatizer_create(struct nvdp_context *ctx,
                                    const struct nvdp__sanitizer_options *options,
                                    enum nvdp__objective objective,
                                    const struct nvdp_tokenizer *tokenizer,
                                    const struct nvdp__piece_table *pieces, size_t dim,
                                    const float *table, size_t texts, size_t length, size_t masked,
                                    struct nvdp__privatizer *privatizer);
void nvdp__privatizer_release(struct nvdp__privatizer *privatizer); /* also one that is all zeros */
/* Bytes it takes, without what santext keeps of its draws. */
size_t nvdp__privatizer_bytes(const struct nvdp__sanitizer_options *options, size_t pieces,
                              size_t dim, size_t texts, size_t length);

struct nvdp__privacy_key {
    uint64_t seed;
    uint32_t step;
    bool evaluation; /* apart from the training's draws */
    size_t first;    /* number of the batch's first row */
};
/* The batch's ids, or its words, become what is sent; *targets, the privatizer's or `masked` itself, is
 * what the model is to predict. */
nvdp_status nvdp__privatize(struct nvdp__privatizer *privatizer, struct nvdp__batch *batch,
                            const struct nvdp__masked *masked, const struct nvdp__privacy_key *key,
                            const struct nvdp__masked **targets);

#endif
