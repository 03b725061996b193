/* The representation that a user sends in place of a text (Qu et al. 2021, sections 3.2 and 3.3;
 * docs/text-privatization.md). A provider trains on these representations and receives them in
 * requests.
 *
 *   laplace-nearest, santext, santext-plus, random    other tokens; the provider has a whole model
 *   laplace                                           noised word vectors; the word embeddings belong to
 *                                                     the user and stay fixed
 *   sequence-laplace                                  the noised last state of the first token; the encoder
 *                                                     belongs to the user and stays fixed
 *
 * The provider adds [CLS], [SEP], positions and types, which get no noise. [UNK] has no vector and becomes a uniform
 * draw.
 *
 * Each text is drawn once. The key of the noise consists of the seed, the split, the text's row in the file and the
 * token's position. The noise does not depend on when or in which batch the text is read. */
#ifndef NVDP_SRC_MODEL_NOISE_H
#define NVDP_SRC_MODEL_NOISE_H

#include "base/array.h"
#include "base/random.h"
#include "dchi/token_options.h"
#include "tensor/tensor.h"
#include "text/batch.h"

/* begins with the values of enum nvdp__token_mechanism; only tests set other values than `none` */
enum nvdp__text_noise {
    NVDP__NOISE_NONE = NVDP__TOKENS_AS_THEY_ARE,
    NVDP__NOISE_LAPLACE = NVDP__TOKENS_LAPLACE,
    NVDP__NOISE_SEQUENCE = NVDP__TOKENS_RANDOM + 1
};

struct nvdp__token_noise_options {
    /* value of enum nvdp__text_noise, or a token mechanism */
    int mechanism;
    struct nvdp__sanitizer_options sanitizer; /* the member `mechanism` is not used */
    double clip; /* sequence-laplace: max norm of the states; 0 if states are not clipped */
};
nvdp_status nvdp__token_noise_check(struct nvdp_context *ctx,
                                    const struct nvdp__token_noise_options *options);

/* Reads word vectors that were drawn elsewhere, and overwrites the rows of the user's tokens in words [tokens, dim].
 * On entry, words holds the table's rows of all ids. */
typedef nvdp_status (*nvdp__words_reader)(void *reader, const struct nvdp__batch *batch,
                                          float *words);

struct nvdp__token_noise {
    struct nvdp_context *ctx;
    struct nvdp__token_noise_options options;
    struct nvdp__noise noise;
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp_sanitizer *sanitizer; /* NULL for sequence-laplace, and if `read` is set */
    nvdp__words_reader read;          /* NULL if vectors are drawn here */
    void *reader;
    /* set by the plan; one entry per token, or per text for sequence-laplace */
    size_t dim;
    struct nvdp__token_place *place;
    int32_t *token, *row;
    double *point, *scratch;
    float *words; /* [tokens, dim] vectors with noise */
    struct nvdp__memory memory;
};

/* Creates the noise over the word embeddings of the folder `model`. The tokenizer must belong to this folder and
 * outlive the noise. */
nvdp_status nvdp__token_noise_create(struct nvdp_context *ctx,
                                     const struct nvdp__token_noise_options *options, uint64_t seed,
                                     const char *model, const struct nvdp_tokenizer *tokenizer,
                                     struct nvdp__token_noise **out);
/* Creates noise that takes word vectors of `dim` numbers from `read`; the reader must outlive the noise. */
nvdp_status nvdp__token_noise_given(struct nvdp_context *ctx, size_t dim, nvdp__words_reader read,
                                    void *reader, struct nvdp__token_noise **out);
void nvdp__token_noise_free(struct nvdp__token_noise *noise); /* NULL is allowed */
NVDP__AUTOPTR(struct nvdp__token_noise, nvdp__token_noise_free)
/* Returns the public texts with which the texts to privatize must be compared; NULL if there are none. `noise` may
 * be NULL. */
struct nvdp__public_texts *nvdp__token_noise_public(const struct nvdp__token_noise *noise);

/* Replaces the tokens of a data set as it was read, with ascending rows, if the mechanism gives tokens; does nothing
 * for other mechanisms. The draws are kept in, and read from, the folder `cache`; NULL if they are not kept. */
nvdp_status nvdp__token_noise_texts(struct nvdp__token_noise *noise, struct nvdp_dataset *dataset,
                                    const char *cache);

/* Allocates memory for batches; `dim` is the width of the states. */
nvdp_status nvdp__token_noise_plan(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                                   size_t max_tokens, size_t max_texts, size_t dim);
/* For laplace, sets *words, for batch->words, to the rows of `table` with noise. For other mechanisms, sets *words
 * to NULL. */
nvdp_status nvdp__token_noise_words(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                                    const float *table, const struct nvdp__batch *batch,
                                    const float **words);
/* For sequence-laplace, adds noise to the states of the first tokens in [tokens, dim]. For other mechanisms, the
 * states do not change. */
void nvdp__token_noise_states(struct nvdp__token_noise *noise, const struct nvdp__device *dev,
                              const struct nvdp__batch *batch, float *hidden);

#endif
