#include "pretrain/mask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MASK_SHARE = 0.8;
static const double CHANGED_SHARE = 0.9; /* [MASK] or a random piece */

nvdp_status nvdp__masked_create(struct nvdp_context *ctx, size_t capacity,
                                struct nvdp__masked *masked) {
    struct nvdp__masked made = {
        .capacity = capacity,
        .row = nvdp__calloc(ctx, capacity, sizeof *made.row),
        .label = nvdp__calloc(ctx, capacity, sizeof *made.label),
    };
    if (made.row == NULL || made.label == NULL) {
        nvdp__masked_release(&made);
        return NVDP_ERR_MEMORY;
    }
    *masked = made;
    return NVDP_OK;
}

void nvdp__masked_release(struct nvdp__masked *masked) {
    free(masked->row);
    free(masked->label);
    *masked = (struct nvdp__masked){0};
}

nvdp_status nvdp__masker_create(struct nvdp_context *ctx, const struct nvdp__pieces *pieces,
                                double share, bool whole_words, size_t longest,
                                struct nvdp__masker *masker) {
    struct nvdp__masker made = {
        .pieces = pieces,
        .share = share,
        .whole_words = whole_words,
        .longest = longest,
        .unit = nvdp__calloc(ctx, longest, sizeof *made.unit),
        .drawn = nvdp__calloc(ctx, longest, sizeof *made.drawn),
    };
    if (made.unit == NULL || made.drawn == NULL) {
        nvdp__masker_release(&made);
        return NVDP_ERR_MEMORY;
    }
    *masker = made;
    return NVDP_OK;
}

void nvdp__masker_release(struct nvdp__masker *masker) {
    free(masker->unit);
    free(masker->drawn);
    *masker = (struct nvdp__masker){0};
}

size_t nvdp__mask_most(double share, size_t tokens) {
    size_t most = (size_t)llround(share * (double)tokens);
    if (tokens == 0) return 0;
    return most > 0 ? most : 1;
}

/* Finds the units: tokens, or words as runs of tokens.  *tokens counts their tokens. */
static size_t find_units(struct nvdp__masker *m, size_t count, const int32_t *ids, size_t *tokens) {
    size_t units = 0;
    bool in_word = false;
    *tokens = 0;
    for (size_t i = 0; i < count; i++) {
        bool special = m->pieces->special[ids[i]];
        if (!special && !(m->whole_words && in_word && m->pieces->continues[ids[i]]))
            m->unit[units++] = (int32_t)i;
        *tokens += !special;
        in_word = !special;
    }
    return units;
}

/* Tokens of the unit that starts at `start`. */
static size_t unit_length(const struct nvdp__masker *m, size_t start, size_t count,
                          const int32_t *ids) {
    size_t end = start + 1;
    while (m->whole_words && end < count && !m->pieces->special[ids[end]] &&
           m->pieces->continues[ids[end]]) {
        end++;
    }
    return end - start;
}

/* Marks drawn tokens. */
static void draw(struct nvdp__masker *m, struct nvdp__stream *stream, size_t count,
                 const int32_t *ids) {
    size_t tokens = 0;
    size_t units = find_units(m, count, ids, &tokens);
    size_t left = nvdp__mask_most(m->share, tokens);
    memset(m->drawn, 0, count);
    /* Fisher-Yates from the front, as far as it is needed. */
    for (size_t i = 0; i < units && left > 0; i++) {
        size_t other = i + (size_t)nvdp__stream_below(stream, units - i);
        int32_t start = m->unit[other];
        m->unit[other] = m->unit[i];
        size_t length = unit_length(m, (size_t)start, count, ids);
        if (length > left) continue;
        memset(m->drawn + start, 1, length);
        left -= length;
    }
}

static int32_t replacement(const struct nvdp__masker *m, struct nvdp__stream *stream, int32_t id) {
    double u = nvdp__stream_uniform(stream);
    if (u < MASK_SHARE) return m->pieces->mask;
    if (u >= CHANGED_SHARE) return id;
    return m->pieces->ordinary[nvdp__stream_below(stream, m->pieces->ordinary_count)];
}

void nvdp__mask_text(struct nvdp__masker *m, struct nvdp__stream *stream, size_t count,
                     int32_t *ids, size_t first_row, struct nvdp__masked *masked) {
    draw(m, stream, count, ids);
    for (size_t i = 0; i < count; i++) {
        if (!m->drawn[i]) continue;
        masked->row[masked->count] = (int32_t)(first_row + i);
        masked->label[masked->count++] = ids[i];
        ids[i] = replacement(m, stream, ids[i]);
    }
}
