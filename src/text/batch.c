/* Packed batches (batch.h): filled from a data set, or token by token; the order of an epoch. */
#include "text/batch.h"

#include "base/random.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

nvdp_status nvdp__batch_create(struct nvdp_context *ctx, size_t texts, size_t longest,
                               struct nvdp__batch **out) {
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    size_t tokens;
    if (!nvdp__mul(texts, longest, &tokens) || tokens > INT32_MAX || texts >= INT32_MAX)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "batch: expected at most %d tokens, found %zu texts of %zu", INT32_MAX,
                          texts, longest);
    batch = nvdp__calloc(ctx, 1, sizeof *batch);
    if (batch == NULL) return NVDP_ERR_MEMORY;
    batch->text_capacity = texts;
    batch->token_capacity = tokens;
    batch->offset = nvdp__calloc(ctx, texts + 1, sizeof *batch->offset);
    batch->ids = nvdp__calloc(ctx, tokens, sizeof *batch->ids);
    batch->types = nvdp__calloc(ctx, tokens, sizeof *batch->types);
    batch->positions = nvdp__calloc(ctx, tokens, sizeof *batch->positions);
    batch->label = nvdp__calloc(ctx, texts, sizeof *batch->label);
    batch->key = nvdp__calloc(ctx, texts, sizeof *batch->key);
    batch->tag_row = nvdp__calloc(ctx, tokens, sizeof *batch->tag_row);
    batch->tag = nvdp__calloc(ctx, tokens, sizeof *batch->tag);
    batch->tag_offset = nvdp__calloc(ctx, texts + 1, sizeof *batch->tag_offset);
    NVDP_TRY(NVDP__MADE(batch->offset, batch->ids, batch->types, batch->positions, batch->label,
                        batch->key, batch->tag_row, batch->tag, batch->tag_offset));
    NVDP__HAND_OVER(out, batch);
    return NVDP_OK;
}

void nvdp__batch_free(struct nvdp__batch *batch) {
    if (batch == NULL) return;
    free(batch->offset);
    free(batch->ids);
    free(batch->types);
    free(batch->positions);
    free(batch->label);
    free(batch->key);
    free(batch->tag_row);
    free(batch->tag);
    free(batch->tag_offset);
    free(batch);
}

void nvdp__batch_fill(struct nvdp__batch *batch, const struct nvdp_dataset *dataset,
                      const int64_t *rows, size_t first, size_t n) {
    size_t used = 0;
    batch->longest = batch->tagged = 0;
    batch->split = dataset->split;
    for (size_t i = 0; i < n; i++) {
        size_t row = rows != NULL ? (size_t)rows[i] : first + i;
        size_t start = dataset->offset[row];
        size_t tokens = dataset->offset[row + 1] - start;
        batch->offset[i] = (int32_t)used;
        memcpy(batch->ids + used, dataset->ids + start, tokens * sizeof *batch->ids);
        memcpy(batch->types + used, dataset->types + start, tokens * sizeof *batch->types);
        for (size_t t = 0; t < tokens; t++) {
            batch->positions[used + t] = (int32_t)t;
        }
        for (size_t t = 0; dataset->tag != NULL && t < tokens; t++) {
            if (dataset->tag[start + t] == NVDP_TAG_NONE) continue;
            batch->tag_row[batch->tagged] = (int32_t)(used + t);
            batch->tag[batch->tagged++] = (float)dataset->tag[start + t];
        }
        batch->tag_offset[i + 1] = (int32_t)batch->tagged;
        batch->label[i] = dataset->label != NULL ? dataset->label[row] : NAN;
        batch->key[i] = (uint64_t)dataset->index[row];
        if (tokens > batch->longest) batch->longest = tokens;
        used += tokens;
    }
    batch->offset[n] = (int32_t)used;
    batch->texts = n;
    batch->tokens = used;
}

struct nvdp__batch nvdp__batch_part(const struct nvdp__batch *batch, size_t first, size_t n,
                                    size_t dim, int32_t *offset) {
    struct nvdp__batch part = {.texts = n, .offset = offset, .split = batch->split};
    const size_t start = (size_t)batch->offset[first];
    for (size_t i = 0; i <= n; i++)
        offset[i] = batch->offset[first + i] - (int32_t)start;
    for (size_t i = 0; i < n; i++)
        part.longest = nvdp__max(part.longest, (size_t)(offset[i + 1] - offset[i]));
    part.tokens = (size_t)offset[n];
    part.ids = batch->ids + start;
    part.types = batch->types + start;
    part.positions = batch->positions + start;
    part.words = batch->words != NULL ? batch->words + start * dim : NULL;
    part.mixed = batch->mixed;
    return part;
}

void nvdp__batch_clear(struct nvdp__batch *batch) {
    batch->texts = batch->tokens = batch->longest = batch->tagged = 0;
    batch->offset[0] = 0;
}

void nvdp__batch_put(struct nvdp__batch *batch, int32_t id) {
    const size_t at = batch->tokens++;
    batch->ids[at] = id;
    batch->types[at] = 0;
    batch->positions[at] = (int32_t)at - batch->offset[batch->texts];
}

void nvdp__batch_end(struct nvdp__batch *batch, uint64_t key) {
    const size_t length = batch->tokens - (size_t)batch->offset[batch->texts];
    batch->longest = nvdp__max(length, batch->longest);
    batch->label[batch->texts] = 0;
    batch->key[batch->texts] = key;
    batch->offset[++batch->texts] = (int32_t)batch->tokens;
}

void nvdp__epoch_order(uint64_t seed, uint32_t epoch, size_t n, int64_t *rows) {
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_SHUFFLE, epoch, 0);
    for (size_t i = 0; i < n; i++) {
        rows[i] = (int64_t)i;
    }
    nvdp__stream_shuffle(&stream, n, rows);
}
