/* Examples as packed batches: [CLS] window [SEP], or [CLS] A [SEP] B [SEP] with types 0 and 1. */
#ifndef NVDP_SRC_PRETRAIN_BATCH_H
#define NVDP_SRC_PRETRAIN_BATCH_H

#include "pretrain/corpus.h"
#include "pretrain/examples.h"
#include "pretrain/mask.h"
#include "text/batch.h"

struct nvdp__batcher {
    const struct nvdp__corpus *corpus;
    const struct nvdp__pieces *pieces;
    struct nvdp__batch *batch;
    struct nvdp__masked masked;
    struct nvdp__masker masker;
};

nvdp_status nvdp__batcher_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                 const struct nvdp__pieces *pieces, size_t texts, size_t length,
                                 double mask_prob, bool whole_words, struct nvdp__batcher *batcher);
void nvdp__batcher_release(struct nvdp__batcher *batcher);
/* Most masked tokens of a batch. */
size_t nvdp__batcher_masked(size_t texts, size_t length, double mask_prob);

/* Fills with examples order[0..n) (NULL: first, first + 1, ...) and masks row r of the batch with
 * the stream (seed, purpose, number, its example).  Labels: 1 where the second segment is random.
 */
struct nvdp__mask_key {
    uint64_t seed;
    enum nvdp__purpose purpose;
    uint32_t number; /* the step */
};
void nvdp__batcher_fill(struct nvdp__batcher *batcher, const struct nvdp__examples *examples,
                        const int64_t *order, size_t first, size_t n,
                        const struct nvdp__mask_key *key);

#endif
