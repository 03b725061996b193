#include "pretrain/batch.h"

#include <stdlib.h>

nvdp_status nvdp__batcher_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                 const struct nvdp__pieces *pieces, size_t texts, size_t length,
                                 double mask_prob, bool whole_words,
                                 struct nvdp__batcher *batcher) {
    nvdp_status status = NVDP_OK;
    struct nvdp__batcher made = {.corpus = corpus, .pieces = pieces};
    NVDP_TRY(nvdp__batch_create(ctx, texts, length, &made.batch));
    NVDP_TRY(
        nvdp__masked_create(ctx, nvdp__batcher_masked(texts, length, mask_prob), &made.masked));
    NVDP_TRY(nvdp__masker_create(ctx, pieces, mask_prob, whole_words, length, &made.masker));
    *batcher = made;
    made = (struct nvdp__batcher){0};
cleanup:
    nvdp__batcher_release(&made);
    return status;
}

void nvdp__batcher_release(struct nvdp__batcher *batcher) {
    nvdp__batch_free(batcher->batch);
    nvdp__masked_release(&batcher->masked);
    nvdp__masker_release(&batcher->masker);
    *batcher = (struct nvdp__batcher){0};
}

size_t nvdp__batcher_masked(size_t texts, size_t length, double mask_prob) {
    return texts * nvdp__mask_most(mask_prob, length);
}

static size_t put(struct nvdp__batch *batch, size_t at, int32_t id, int32_t type) {
    batch->ids[at] = id;
    batch->types[at] = type;
    return at + 1;
}

static size_t put_tokens(struct nvdp__batcher *b, size_t at, uint64_t first, size_t count,
                         int32_t type) {
    for (size_t i = 0; i < count; i++) {
        at = put(b->batch, at, nvdp__corpus_id(b->corpus, (size_t)first + i), type);
    }
    return put(b->batch, at, b->pieces->sep, type);
}

/* Returns the row behind the example's last. */
static size_t put_example(struct nvdp__batcher *b, const struct nvdp__example *example,
                          size_t start) {
    size_t at = put(b->batch, start, b->pieces->cls, 0);
    at = put_tokens(b, at, example->first, example->first_length, 0);
    if (example->second_length > 0)
        at = put_tokens(b, at, example->second, example->second_length, 1);
    for (size_t t = start; t < at; t++) {
        b->batch->positions[t] = (int32_t)(t - start);
    }
    return at;
}

void nvdp__batcher_fill(struct nvdp__batcher *b, const struct nvdp__examples *examples,
                        const int64_t *order, size_t first, size_t n,
                        const struct nvdp__mask_key *key) {
    struct nvdp__batch *batch = b->batch;
    const struct nvdp__noise noise = {.seed = key->seed};
    size_t used = 0;
    batch->longest = 0;
    b->masked.count = 0;
    for (size_t r = 0; r < n; r++) {
        size_t index = order != NULL ? (size_t)order[r] : first + r;
        size_t end = put_example(b, &examples->at[index], used);
        struct nvdp__stream stream = nvdp__stream_open(&noise, key->purpose, key->number, index);
        nvdp__mask_text(&b->masker, &stream, end - used, batch->ids + used, used, &b->masked);
        batch->offset[r] = (int32_t)used;
        batch->label[r] = examples->at[index].random ? 1 : 0;
        batch->key[r] = index;
        if (end - used > batch->longest) batch->longest = end - used;
        used = end;
    }
    batch->offset[n] = (int32_t)used;
    batch->texts = n;
    batch->tokens = used;
}
