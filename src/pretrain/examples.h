/* An epoch's training examples: where in the corpus each one's tokens lie.
 *
 * Windows (masked-LM alone): a document is cut into consecutive windows of at most `length` - 2
 * tokens, which with [CLS] and [SEP] fill a row.  In a document longer than one window the first
 * cut is drawn anew each epoch.  No window crosses documents; cuts fall between words.
 *
 * Pairs (with next-sentence prediction; Devlin et al. 2019): a document's sentences are gathered
 * until they fill `length` - 3 tokens (for one pair in ten: a length drawn below that) and divided
 * at a sentence's end that is drawn; the rest is the second segment.  In half of the pairs, and
 * where there is one sentence only, the second segment is drawn from another document instead, and
 * the sentences so replaced are used next.  Too long a pair loses tokens from the end of its longer
 * segment. */
#ifndef NVDP_SRC_PRETRAIN_EXAMPLES_H
#define NVDP_SRC_PRETRAIN_EXAMPLES_H

#include "base/random.h"
#include "pretrain/corpus.h"
#include "pretrain/pieces.h"

struct nvdp__example {
    uint64_t first, second;               /* tokens of the corpus */
    uint32_t first_length, second_length; /* the second 0: a single window */
    bool random;                          /* the second segment is from another document */
};

/* Zero it, set ctx. */
struct nvdp__examples {
    struct nvdp_context *ctx;
    struct nvdp__example *at;
    size_t count, capacity;
};
void nvdp__examples_release(struct nvdp__examples *examples);

/* The windows of an epoch; `seed` NULL: every first cut at the full length (evaluation). */
nvdp_status nvdp__examples_windows(struct nvdp__examples *examples,
                                   const struct nvdp__corpus *corpus,
                                   const struct nvdp__pieces *pieces, size_t length,
                                   const uint64_t *seed, uint32_t epoch);
/* The pairs of an epoch; a corpus of one document is NVDP_ERR_INPUT. */
nvdp_status nvdp__examples_pairs(struct nvdp__examples *examples, const struct nvdp__corpus *corpus,
                                 size_t length, uint64_t seed, uint32_t epoch);

#endif
