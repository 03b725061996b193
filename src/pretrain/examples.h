/* Turns a corpus into batches: the examples of an epoch, the tokens to be predicted, and packed batches.
 *
 * Windows (for masked-LM without next-sentence prediction): a document is cut into consecutive windows of up to
 * `length` - 2 tokens, which with [CLS] and [SEP] fill a row. In a document longer than one window the first cut is
 * redrawn each epoch. No window crosses documents; cuts fall between words.
 *
 * Pairs (with next-sentence prediction; Devlin et al. 2019): a document's sentences are gathered until they fill
 * `length` - 3 tokens, or, for one pair in ten, a random shorter length. These sentences are divided at a random end of
 * a sentence; the second part is the second segment. In half of the pairs, and for single sentences, the second segment
 * is drawn from another document instead, and the replaced sentences are used next. If a pair is too long, its longer
 * segment loses tokens from the end.
 *
 * Own pairs (private training): pairs as above, but the same pairs in every epoch, and no text is in two pairs. In half
 * of the pairs the two segments are swapped (Lan et al. 2020). The pairs of a document depend only on this document. A
 * single sentence is divided near its middle, before a word if possible; a sentence of one token is left out.
 *
 * Masks (Devlin et al. 2019): a share of a row's tokens is drawn without replacement to be predicted; of the drawn
 * tokens, 80 % become [MASK], 10 % become a random ordinary piece, and 10 % stay. Special tokens are never drawn.
 * With whole words, words are drawn until the share is reached; a word that would exceed the share is skipped. */
#ifndef NVDP_SRC_PRETRAIN_EXAMPLES_H
#define NVDP_SRC_PRETRAIN_EXAMPLES_H

#include "base/random.h"
#include "pretrain/corpus.h"
#include "text/batch.h"

/* ---- examples: positions of their tokens in the corpus ---- */

struct nvdp__example {
    uint64_t first, second;               /* first tokens in the corpus, or among planted secrets */
    uint32_t first_length, second_length; /* second_length is 0 for a single window */
    bool random;                          /* true if the second segment does not follow the first */
};

/* Returns the number of tokens of the example's row in a batch, including special tokens. */
static inline size_t nvdp__example_tokens(const struct nvdp__example *example) {
    return 2 + (size_t)example->first_length +
           (example->second_length > 0 ? (size_t)example->second_length + 1 : 0);
}

/* The caller sets the struct to zero, then sets ctx. */
struct nvdp__examples {
    struct nvdp_context *ctx;
    struct nvdp__example *at;
    size_t count, capacity;
};
void nvdp__examples_release(struct nvdp__examples *examples);

/* Lists the windows of an epoch. If `seed` is NULL, all first cuts are at the full length, for evaluation. */
nvdp_status nvdp__examples_windows(struct nvdp__examples *examples,
                                   const struct nvdp__corpus *corpus,
                                   const struct nvdp__piece_table *pieces, size_t length,
                                   const uint64_t *seed, uint32_t epoch);
/* Lists the pairs of an epoch. With the table `own`, lists own pairs; if own is NULL, lists other pairs, and fails
 * with NVDP_ERR_INPUT for a corpus of one document. */
nvdp_status nvdp__examples_pairs(struct nvdp__examples *examples, const struct nvdp__corpus *corpus,
                                 const struct nvdp__piece_table *own, size_t length, uint64_t seed,
                                 uint32_t epoch);
/* Returns the max number of examples from one document. To be called before examples are planted. */
size_t nvdp__examples_of_document(const struct nvdp__examples *examples,
                                  const struct nvdp__corpus *corpus);
/* Adds the planted secrets that are separate windows. */
nvdp_status nvdp__examples_planted(struct nvdp__examples *examples,
                                   const struct nvdp__plants *plants);

/* ---- masks ---- */

/* The masked tokens of a batch, in ascending order of rows. */
struct nvdp__masked {
    size_t count, capacity;
    int32_t *row;   /* [masked] row among the batch's tokens */
    int32_t *label; /* the original tokens */
    /* number of labels per row, of equal weight: 1, or several draws (privatize.c) */
    size_t labels;
};

struct nvdp__masker {
    const struct nvdp__piece_table *pieces;
    double share;
    bool whole_words;
    /* buffers for texts of up to `longest` tokens */
    size_t longest;
    int32_t *unit;        /* [longest] first token of each unit, which is a token or a word */
    unsigned char *drawn; /* [longest] true for a drawn token */
};

/* Create the structs; the caller releases both, also if creating them failed. */
nvdp_status nvdp__masked_create(struct nvdp_context *ctx, size_t capacity,
                                struct nvdp__masked *masked);
void nvdp__masked_release(struct nvdp__masked *masked);
nvdp_status nvdp__masker_create(struct nvdp_context *ctx, const struct nvdp__piece_table *pieces,
                                double share, bool whole_words, size_t longest,
                                struct nvdp__masker *masker);
void nvdp__masker_release(struct nvdp__masker *masker);
/* Returns the max number of masked tokens in a text of `tokens` ordinary tokens: the share, rounded, but at least 1. */
size_t nvdp__mask_most(double share, size_t tokens);
/* Masks ids[0..count), which are the batch's tokens from first_row on, and appends the masked tokens to `masked`. */
void nvdp__mask_text(struct nvdp__masker *masker, struct nvdp__stream *stream, size_t count,
                     int32_t *ids, size_t first_row, struct nvdp__masked *masked);

/* ---- batches: [CLS] window [SEP], or [CLS] A [SEP] B [SEP] with types 0 and 1 ---- */

struct nvdp__batcher {
    const struct nvdp__corpus *corpus;
    const struct nvdp__piece_table *pieces;
    const struct nvdp__plants *plants; /* not owned; NULL if no secrets are planted */
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    struct nvdp__masker masker;
};

nvdp_status nvdp__batcher_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                 const struct nvdp__piece_table *pieces, size_t texts,
                                 size_t length, double mask_prob, bool whole_words,
                                 struct nvdp__batcher *batcher);
void nvdp__batcher_release(struct nvdp__batcher *batcher);
/* Returns the max number of masked tokens of a batch. */
size_t nvdp__batcher_masked(size_t texts, size_t length, double mask_prob);

/* Fills the batch with the examples order[0..n) (order NULL: first, first + 1, ...) and masks row r with the stream
 * (seed, purpose, number, example of the row). The label of a pair is 1 if the second segment is random. */
struct nvdp__mask_key {
    uint64_t seed;
    enum nvdp__purpose purpose;
    uint32_t number; /* the step */
};
void nvdp__batcher_fill(struct nvdp__batcher *batcher, const struct nvdp__examples *examples,
                        const int64_t *order, size_t first, size_t n,
                        const struct nvdp__mask_key *key);

#endif
