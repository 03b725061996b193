/* The representation that a user sends in the place of a text (Qu et al. 2021, sections 3.2 and 3.3; docs/text-privatization.md), and a
 * provider trains on and is asked with:
 *
 *     laplace-nearest, santext, santext-plus, random    other tokens; the provider has a whole model
 *     laplace                                           noised word vectors; the word embeddings, which are the user's,
 *                                                       stay as they are
 *     sequence-laplace                                  the noised last state of the first token; so does the encoder
 *
 * [CLS], [SEP], positions and types are the provider's, without noise; [UNK], which has no vector, becomes a uniform draw.
 * A text is drawn once: its noise is keyed by the seed, the split, the text's row in the file and the place among its tokens,
 * the same whenever and beside whatever it is read. */
#ifndef NVDP_SRC_MODEL_NOISE_H
#define NVDP_SRC_MODEL_NOISE_H

#include "base/random.h"
#include "dchi/options.h"
#include "tensor/tensor.h"
#include "text/batch.h"

enum nvdp__text_noise { /* begins as enum nvdp__token_mechanism does; only tests name more than none */
                        NVDP__NOISE_NONE = NVDP__TOKENS_AS_THEY_ARE,
                        NVDP__NOISE_LAPLACE = NVDP__TOKENS_LAPLACE,
                        NVDP__NOISE_SEQUENCE = NVDP__TOKENS_RANDOM + 1
};

struct nvdp__token_noise_options {
    int mechanism;                            /* enum nvdp__text_noise, or a token mechanism */
    struct nvdp__sanitizer_options sanitizer; /* its mechanism is not read */
    double clip; /* sequence-laplace: states are scaled to this norm at most; 0: as they are */
};
nvdp_status nvdp__token_noise_check(struct nvdp_context *ctx,
                                    const struct nvdp__token_noise_options *options);

/* Vectors that were drawn elsewhere: of the user's tokens into their rows of words [tokens, dim], where the
 * table's rows of all ids stand. */
typedef nvdp_status (*nvdp__words_reader)(void *reader, const struct nvdp__batch *batch,
                                          float *words);

struct nvdp__token_noise {
    struct nvdp_context *ctx;
    struct nvdp__token_noise_options options;
    struct nvdp__noise noise;
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp_sanitizer *sanitizer; /* NULL: sequence-laplace, or read */
    nvdp__words_reader read;          /* NULL: drawn here */
    void *reader;
    /* planned; tokens, or texts of sequence-laplace */
    size_t dim;
    struct nvdp__token_place *place;
    int32_t *token, *row;
    double *point, *scratch;
    float *words; /* [tokens, dim] */
};

/* Over the word embeddings of the folder `model`; the tokenizer, which is that folder's, outlives it. */
nvdp_status nvdp__token_noise_create(struct nvdp_context *ctx,
                                     const struct nvdp__token_noise_options *options, uint64_t seed,
                                     const char *model, const struct nvdp_tokenizer *tokenizer,
                                     struct nvdp__token_noise **out);
/* Noised word vectors of `dim` numbers that `read` gives; the reader outlives it. */
nvdp_status nvdp__token_noise_given(struct nvdp_context *ctx, size_t dim, nvdp__words_reader read,
                                    void *reader, struct nvdp__token_noise **out);
void nvdp__token_noise_free(struct nvdp__token_noise *noise); /* NULL allowed */

/* Mechanisms that give tokens: those of a data set as it was read, rows rising, are replaced.  The
 * others leave it.  The draws are kept in the folder `cache` (NULL: nowhere), and read from there. */
nvdp_status nvdp__token_noise_texts(struct nvdp__token_noise *noise, struct nvdp_dataset *dataset,
                                    const char *cache);

/* Memory for batches; states of `dim` numbers. */
nvdp_status nvdp__token_noise_plan(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                                   size_t max_tokens, size_t max_texts, size_t dim);
/* laplace: what stands in the place of the rows of `table`, for batch->words; else NULL. */
nvdp_status nvdp__token_noise_words(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                                    const float *table, const struct nvdp__batch *batch,
                                    const float **words);
/* sequence-laplace: noise on the states [tokens, dim] of first tokens; else they stay. */
void nvdp__token_noise_states(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                              const struct nvdp__batch *batch, float *hidden);

#endif
