/* Packed batches: the tokens of all texts are concatenated, with an array of offsets and no
 * padding. */
#ifndef NVDP_SRC_TEXT_BATCH_H
#define NVDP_SRC_TEXT_BATCH_H

#include "base/array.h"
#include <nvdp/dataset.h>

struct nvdp__batch {
    size_t texts, tokens, longest, text_capacity, token_capacity;
    /* owner of the arrays; empty in a part of a batch, which shares the arrays */
    struct nvdp__memory memory;
    int32_t *offset;    /* [texts+1] first token of each text */
    int32_t *ids;       /* [tokens] token ids */
    int32_t *types;     /* [tokens] token types, 0 or 1 */
    int32_t *positions; /* [tokens] position within the text, from 0 */
    float *label;       /* [texts]; NaN if the text has no label */
    /* [texts] the text's index in the data set, which identifies the text for random streams */
    uint64_t *key;
    /* For data sets with tags: the number of first tokens of words, in order, and the classes of
     * words (-2: unknown). */
    size_t tagged;
    int32_t *tag_row;      /* [tagged] index of the token in the batch */
    float *tag;            /* [tagged] class of the word */
    int32_t *tag_offset;   /* [texts+1] first of each text's entries in tag_row and tag */
    enum nvdp_split split; /* split of the data set; split and key identify a text */
    /* [tokens, D] vectors that replace the word embeddings of ids, not owned; NULL if there are
     * none */
    const float *words;
    /* For BERT's family: `words` replaces only the embeddings of tokens whose id is negative,
     * and has a gradient there. The other tokens read the table. */
    bool mixed;
};

/* The position of this process's texts in a step's batch that several processes share. All zeros
 * if this process has all texts. */
struct nvdp__part {
    /* tokens and heads of earlier texts; a head is an item that is classified or predicted: a
     * text, a word with a tag, or a masked token */
    size_t tokens, heads;
    size_t all_texts, all_heads; /* numbers for the whole batch */
};

/* Allocates a batch of at most `texts` texts with at most `longest` tokens each. */
nvdp_status nvdp__batch_create(struct nvdp_context *ctx, size_t texts, size_t longest,
                               struct nvdp__batch **out);
void nvdp__batch_free(struct nvdp__batch *batch);
NVDP__AUTOPTR(struct nvdp__batch, nvdp__batch_free)
/* Fills the batch with the rows rows[0..n) of the data set (rows NULL: first, first+1, ...),
 * which must fit. */
void nvdp__batch_fill(struct nvdp__batch *batch, const struct nvdp_dataset *dataset,
                      const int64_t *rows, size_t first, size_t n);
/* Returns a view of texts [first, first + n) for an encoder, with `dim` numbers per word vector.
 * The view shares the memory of the batch, except offset [n + 1], which this function fills. */
struct nvdp__batch nvdp__batch_part(const struct nvdp__batch *batch, size_t first, size_t n,
                                    size_t dim, int32_t *offset);
/* Build a batch token by token: remove all texts; add a token to the current text; end the text
 * with its key for random streams. */
void nvdp__batch_clear(struct nvdp__batch *batch);
void nvdp__batch_put(struct nvdp__batch *batch, int32_t id);
void nvdp__batch_end(struct nvdp__batch *batch, uint64_t key);
/* Writes the order of an epoch: a permutation of 0..n-1 keyed by (seed, epoch). */
void nvdp__epoch_order(uint64_t seed, uint32_t epoch, size_t n, int64_t *rows);

#endif
