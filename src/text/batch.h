/* Packed batches: the tokens of all texts lie end to end, with a table of offsets; no padding. */
#ifndef NVDP_SRC_TEXT_BATCH_H
#define NVDP_SRC_TEXT_BATCH_H

#include "base/base.h"
#include <nvdp/dataset.h>

struct nvdp__batch {
    size_t texts;
    size_t tokens;
    size_t longest;
    size_t text_capacity, token_capacity;
    int32_t *offset;    /* [texts+1] */
    int32_t *ids;       /* [tokens] */
    int32_t *types;     /* [tokens] */
    int32_t *positions; /* [tokens] 0.. within the text */
    float *label;       /* [texts], NaN where there is none */
    uint64_t *key;      /* [texts] identifies the text for random streams: the data set's index */
    /* of a data set with tags: the words' first tokens in order, their classes (-2: not known) */
    size_t tagged;
    int32_t *tag_row;      /* [tagged] among the tokens */
    float *tag;            /* [tagged] */
    int32_t *tag_offset;   /* [texts+1] where each text\'s begin */
    enum nvdp_split split; /* the data set's: with the key it names the text */
    /* [tokens, D] in place of the word embeddings of ids, another's memory; NULL: none */
    const float *words;
};

/* A step's batch that is shared out: where this process's texts stand in it.  Zeros: they are all. */
struct nvdp__part {
    size_t tokens, heads; /* of the texts before them; heads are what is classified or predicted:
                                    texts, words with tags, masked tokens */
    size_t all_texts, all_heads; /* of the whole batch */
};

/* Allocates for at most `texts` texts of `longest` tokens. */
nvdp_status nvdp__batch_create(struct nvdp_context *ctx, size_t texts, size_t longest,
                               struct nvdp__batch **out);
void nvdp__batch_free(struct nvdp__batch *batch);
/* Fills with data set rows rows[0..n) (NULL: first, first+1, ...). n must fit. */
void nvdp__batch_fill(struct nvdp__batch *batch, const struct nvdp_dataset *dataset,
                      const int64_t *rows, size_t first, size_t n);
/* What an encoder reads of texts [first, first + n), words of `dim` numbers: the batch's memory, but `offset` [n + 1],
 * which is filled. */
struct nvdp__batch nvdp__batch_part(const struct nvdp__batch *batch, size_t first, size_t n,
                                    size_t dim, int32_t *offset);
/* The same token by token: no text; the next token of the next text; its end, with one key for random streams. */
void nvdp__batch_clear(struct nvdp__batch *batch);
void nvdp__batch_put(struct nvdp__batch *batch, int32_t id);
void nvdp__batch_end(struct nvdp__batch *batch, uint64_t key);
/* The order of an epoch: a permutation of 0..n-1 keyed by (seed, epoch). */
void nvdp__epoch_order(uint64_t seed, uint32_t epoch, size_t n, int64_t *rows);

#endif
