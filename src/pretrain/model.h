/* BERT with pretraining heads (Devlin et al. 2019) over one parameter vector and one arena. The names of the parameters
 * are those of Hugging Face checkpoints:
 *  masked LM      t = LN(gelu(W h + b)),  logits = E t + c     cls.predictions.transform.*, .bias
 *  next sentence  logits = W' tanh(pooler) + b'                cls.seq_relationship.*
 * E is the table of word embeddings. The gradient of E is the sum of a part from the head of the masked LM and a part
 * from the encoder's input. Only masked tokens pass the head of the masked LM. The logits of masked tokens [masked, V]
 * exist one block of rows at a time: loss and gradient of a block are computed before the next block. */
#ifndef NVDP_SRC_PRETRAIN_MODEL_H
#define NVDP_SRC_PRETRAIN_MODEL_H

#include "base/array.h"
#include "dchi/dchi.h"
#include "dchi/token_options.h"
#include "encoder/encoder.h"
#include "pretrain/examples.h"

/* Each objective is followed by the same objective with next-sentence prediction, which predicts if the second
 * segment follows the first. The objectives of Qu et al. 2021, section 3.4, use privatized input. With these, the
 * word embeddings belong to the user and stay fixed, at the input and in the decoder. */
enum nvdp__objective {
    NVDP__OBJECTIVE_MLM, /* predicts masked tokens of single windows */
    NVDP__OBJECTIVE_MLM_NSP,
    NVDP__OBJECTIVE_VANILLA, /* predicts the privatized token */
    NVDP__OBJECTIVE_VANILLA_NSP,
    NVDP__OBJECTIVE_PROB, /* predicts the distribution of privatized tokens */
    NVDP__OBJECTIVE_PROB_NSP,
    NVDP__OBJECTIVE_DENOISING, /* predicts the original token */
    NVDP__OBJECTIVE_DENOISING_NSP
};
static inline bool nvdp__next_sentence(enum nvdp__objective objective) {
    return objective % 2 == 1;
}
static inline bool nvdp__adaptive(enum nvdp__objective objective) {
    return objective >= NVDP__OBJECTIVE_VANILLA;
}

struct nvdp__heads {
    struct nvdp__dense transform, norm;
    size_t bias; /* index of the bias [V] */
    struct nvdp__dense next;
    /* planned tensor memory: [masked, D]; means and rstds are [masked] */
    float *gathered, *inner, *activated, *normed, *mean, *rstd, *d_normed;
    float *d_gathered;
    /* [block, V] logits of the last `block` or fewer masked tokens. After a pass without training, it holds the
     * softmax of each row's logits, up to a factor. */
    float *logits;
    size_t block;
    float *next_logits, *d_next, *d_pooled; /* [texts, 2] x2, [texts, D] */
};

struct nvdp__pretrain_model {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert;
    struct nvdp__heads heads;
    struct nvdp__bert_cache cache;
    struct nvdp__arena arena;
    enum nvdp__objective objective;
    float *d_last; /* [tokens, D] gradient of the last hidden states */
    double *nll;   /* host [masked], nats */
    int32_t *best; /* host [masked], predicted tokens */
    bool training;
    /* number of frozen layers; the embeddings are then frozen, too; 0 if nothing is frozen */
    size_t frozen;
    /* Set before the plan: true to compute the gradients of each window or pair separately (tensor/per_example.h).
     * The loss of an example is the mean over its masked tokens. */
    bool per_example;
    int32_t *masked_offset; /* [texts+1] first masked token of each text */
    float *masked_weight;   /* [masked] 1 / number of masked tokens in the text */
    struct nvdp__memory memory;
};

/* Declares and allocates the parameters, for a device in the context's precision. Without next-sentence prediction,
 * the pooler and its head are frozen, and are written as they were initialized or read. Under an adaptive objective
 * the word embeddings are frozen. */
nvdp_status nvdp__pretrain_model_create(struct nvdp_context *ctx,
                                        const struct nvdp_bert_config *config,
                                        enum nvdp__objective objective, bool training,
                                        struct nvdp__pretrain_model *model);
/* Freezes the embeddings, which include the decoder, and the first `layers` layers (at least 1): they are not
 * trained and have no dropout. To be called before the plan. */
void nvdp__pretrain_model_freeze(struct nvdp__pretrain_model *model, size_t layers);
void nvdp__pretrain_model_release(struct nvdp__pretrain_model *model);
/* Initializes all weights from a normal distribution, as BERT does. */
void nvdp__pretrain_model_initialise(struct nvdp__pretrain_model *model, uint64_t seed);
/* Sets initial weights, after row->initialize, with which up to four heads of the first two layers attend to
 * neighboring tokens. Requires heads of even size and D >= 8. */
nvdp_status nvdp__initialize_neighbor_heads(const struct nvdp__bert *bert,
                                            const struct nvdp__device *dev,
                                            struct nvdp__params *params, uint64_t seed);
/* Loads the weights of a directory; unless `all`, the heads and the pooler may be missing. */
nvdp_status nvdp__pretrain_model_load(struct nvdp__pretrain_model *model, const char *directory,
                                      bool all);
/* Allocates memory for batches of up to `texts` texts of `longest` tokens, with up to `masked` masked tokens. If
 * `floats` is not NULL, only computes the number of floats and allocates nothing. */
nvdp_status nvdp__pretrain_model_plan(struct nvdp__pretrain_model *model, size_t texts,
                                      size_t longest, size_t masked, size_t *floats);

struct nvdp__pretrain_losses {
    double nll;           /* sum over masked positions, nats */
    double next;          /* mean over pairs, nats */
    double next_accuracy; /* share of correct pairs */
    /* number of correct masked positions; with several labels, the sum of the correct shares */
    double right;
};
/* Computes losses, model->nll and model->best of a batch; in a training pass also sets the gradients of mean nll +
 * next-sentence loss. If pass->divisor is not 0, adds the gradients of the sum over texts of each text's mean nll
 * and next-sentence loss, divided by the divisor; the caller initializes the gradients. The label of a pair is 0 if
 * its second segment follows the first, 1 if it is random. */
nvdp_status nvdp__pretrain_model_step(struct nvdp__pretrain_model *model,
                                      const struct nvdp__batch *batch,
                                      const struct nvdp__masked *masked,
                                      const struct nvdp__pass *pass,
                                      struct nvdp__pretrain_losses *losses);

/* ==== privatized inputs and targets (privatize.c) ==== */

/* Privacy-adaptive pretraining (Qu et al. 2021, section 3.4): turns a batch into the form in
 * which a user would send it, and determines the targets.
 *
 * The tokens of the batch are already masked: [MASK], random pieces and pieces left unchanged (examples.h). In every
 * step, the mechanism then draws every regular token of the input anew, including the random pieces. [UNK] has no
 * vector and becomes a uniform draw, as in nvdp sanitize. The provider adds [CLS], [SEP] and [MASK], which stay. Under
 * laplace, the input consists of the vectors with noise. Targets are
 *   vanilla     the privatized token: for unchanged tokens the token in the input (under laplace the token
 *               nearest to the vector in the input); for other tokens a separate draw
 *   prob        DRAWS separate draws of equal weight: the empirical distribution
 *   denoising   the original token
 * Draws are keyed by the seed, the step, the row of the batch and the position, so they do not
 * depend on threads or interruptions. */

enum { NVDP__PROB_DRAWS = 10 };

struct nvdp__privatizer {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    enum nvdp__objective objective;
    const struct nvdp__piece_table *pieces;
    const float *table; /* [pieces, D] word embeddings */
    struct nvdp_sanitizer *sanitizer;
    /* mechanism that draws tokens: the sanitizer's dchi, or `nearest` for laplace */
    struct nvdp_dchi *tokens;
    struct nvdp_dchi *nearest;
    int32_t unknown;
    size_t dim;
    size_t *offset; /* [texts DRAWS + 1] first of the tokens below, per text */
    int32_t *token; /* [tokens or masked DRAWS] row in the sanitizer's table */
    int32_t *row;   /* [tokens] row of the batch */
    bool *left;     /* [masked] true if masking left the token unchanged */
    double *points; /* for laplace: [tokens, D] vectors with noise, in double */
    /* for laplace: [tokens, D] vectors with noise, the input of the model */
    float *words;
    struct nvdp__masked targets; /* `row` is not owned */
    struct nvdp__memory memory;
    struct nvdp__dchi_scratch scratch;
};

/* Allocates memory for batches of `texts` texts of `length` tokens, with up to `masked` masked tokens. The table
 * belongs to the model; table, pieces and tokenizer must outlive the privatizer. */
nvdp_status nvdp__privatizer_create(struct nvdp_context *ctx,
                                    const struct nvdp__sanitizer_options *options,
                                    enum nvdp__objective objective,
                                    const struct nvdp_tokenizer *tokenizer,
                                    const struct nvdp__piece_table *pieces, size_t dim,
                                    const float *table, size_t texts, size_t length, size_t masked,
                                    struct nvdp__privatizer *privatizer);
void nvdp__privatizer_release(struct nvdp__privatizer *privatizer); /* accepts a struct of zeros */
/* Returns the size of a privatizer in bytes, without santext's cache of draws. */
size_t nvdp__privatizer_bytes(const struct nvdp__sanitizer_options *options, size_t pieces,
                              size_t dim, size_t texts, size_t length);

struct nvdp__privacy_key {
    uint64_t seed;
    uint32_t step;
    bool evaluation; /* true for evaluation, whose draws differ from the draws of training */
    size_t first;    /* number of the batch's first row */
};
/* Privatizes the batch's ids, or the batch's words. Sets *targets to the tokens that the model must predict: targets
 * of the privatizer, or `masked` itself. */
nvdp_status nvdp__privatize(struct nvdp__privatizer *privatizer, struct nvdp__batch *batch,
                            const struct nvdp__masked *masked, const struct nvdp__privacy_key *key,
                            const struct nvdp__masked **targets);

#endif
