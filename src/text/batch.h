/* Packed batches: the tokens of all texts are concatenated, with an array of offsets and no
 * padding. */
#ifndef NVDP_SRC_TEXT_BATCH_H
#define NVDP_SRC_TEXT_BATCH_H

#include "base/array.h"
#include <nvdp/dataset.h>

struct nvdp__batch {
    size_t texts, tokens, longest, text_capacity, token_capacity;
    struct nvdp__memory memory; /* of the arrays; empty in a part, which shares them */
    int32_t *offset;            /* [texts+1] */
    int32_t *ids;               /* [tokens] */
    int32_t *types;             /* [tokens] */
    int32_t *positions;         /* [tokens] position within the text, from 0 */
    float *label;               /* [texts], NaN if there is no label */
    uint64_t *key; /* [texts] identifies the text for random streams: its index in the data set */
    /* Data sets with tags: the first tokens of words, in order, and their classes (-2: unknown). */
    size_t tagged;
    int32_t *tag_row;      /* [tagged] index among the tokens */
    float *tag;            /* [tagged] */
    int32_t *tag_offset;   /* [texts+1] offsets of each text in tag_row and tag */
    enum nvdp_split split; /* of the data set; split and key identify a text */
    /* [tokens, D] vectors that replace the word embeddings of ids; not owned; NULL: none */
    const float *words;
    /* BERT's family: words replace only the embeddings of tokens whose id is negative, and have a
     * gradient there. The other tokens read the table. */
    bool mixed;
};

/* The position of this process's texts in a step's batch that is divided among processes. Zeros:
 * it has all texts. */
struct nvdp__part {
    /* in earlier texts; heads are classified or predicted items: texts, words with tags, masked
     * tokens */
    size_t tokens, heads;
    size_t all_texts, all_heads; /* of the whole batch */
};

/* Allocates for at most `texts` texts of at most `longest` tokens. */
nvdp_status nvdp__batch_create(struct nvdp_context *ctx, size_t texts, size_t longest,
                               struct nvdp__batch **out);
void nvdp__batch_free(struct nvdp__batch *batch);
NVDP__AUTOPTR(struct nvdp__batch, nvdp__batch_free)
/* Fills with data set rows rows[0..n) (NULL: first, first+1, ...), which must fit. */
void nvdp__batch_fill(struct nvdp__batch *batch, const struct nvdp_dataset *dataset,
                      const int64_t *rows, size_t first, size_t n);
/* A view of texts [first, first + n) for an encoder, with `dim` numbers per word vector. It
 * shares the batch's memory except `offset` [n + 1], which it fills. */
struct nvdp__batch nvdp__batch_part(const struct nvdp__batch *batch, size_t first, size_t n,
                                    size_t dim, int32_t *offset);
/* Build a batch token by token: remove all texts; add a token to the current text; end the text,
 * with its key for random streams. */
void nvdp__batch_clear(struct nvdp__batch *batch);
void nvdp__batch_put(struct nvdp__batch *batch, int32_t id);
void nvdp__batch_end(struct nvdp__batch *batch, uint64_t key);
/* The order of an epoch: a permutation of 0..n-1 keyed by (seed, epoch). */
void nvdp__epoch_order(uint64_t seed, uint32_t epoch, size_t n, int64_t *rows);

#endif
