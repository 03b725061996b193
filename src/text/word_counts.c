#include "text/word_counts.h"

#include "base/base.h"
#include "text/plain_text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1 << 10, LINES_A_REPORT = 256 };

static bool is_string(const struct nvdp__strings *strings, size_t index, const char *bytes,
                      size_t size) {
    size_t have;
    const char *text = nvdp__string(strings, index, &have);
    return have == size && memcmp(text, bytes, size) == 0;
}

/* The slot of the string, or the free one where it belongs. */
static size_t find_slot(const struct nvdp__strings *strings, const char *bytes, size_t size) {
    size_t mask = strings->slots - 1;
    uint64_t hash = nvdp__hash_bytes(bytes, size);
    size_t at = (hash ^ hash >> 32) & mask;
    while (strings->slot[at] != 0 && !is_string(strings, strings->slot[at] - 1, bytes, size)) {
        at = (at + 1) & mask;
    }
    return at;
}

/* At most half of the slots are taken. */
static nvdp_status reserve_slots(struct nvdp__strings *strings) {
    if (2 * (strings->count + 1) <= strings->slots) return NVDP_OK;
    size_t slots = strings->slots == 0 ? FIRST_SLOTS : 2 * strings->slots;
    uint32_t *slot = nvdp__calloc(strings->ctx, slots, sizeof *slot);
    if (slot == NULL) return NVDP_ERR_MEMORY;
    free(strings->slot);
    strings->slot = slot;
    strings->slots = slots;
    for (size_t i = 0; i < strings->count; i++) {
        size_t size;
        const char *text = nvdp__string(strings, i, &size);
        slot[find_slot(strings, text, size)] = (uint32_t)(i + 1);
    }
    return NVDP_OK;
}

nvdp_status nvdp__strings_add(struct nvdp__strings *strings, const char *bytes, size_t size,
                              size_t *index) {
    NVDP_RETURN_IF_FAILED(reserve_slots(strings));
    size_t at = find_slot(strings, bytes, size);
    if (strings->slot[at] != 0) {
        *index = strings->slot[at] - 1;
        return NVDP_OK;
    }
    if (strings->count >= UINT32_MAX - 1)
        return nvdp__fail(strings->ctx, NVDP_ERR_UNSUPPORTED, "more than 2^32 distinct words");
    NVDP_RETURN_IF_FAILED(nvdp__reserve(strings->ctx, &strings->start, &strings->start_capacity,
                                        strings->count + 2, sizeof *strings->start));
    size_t end = strings->start[strings->count];
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(strings->ctx, &strings->text, &strings->text_capacity, end + size + 1, 1));
    memcpy(strings->text + end, bytes, size);
    strings->start[strings->count + 1] = end + size;
    *index = strings->count++;
    strings->slot[at] = (uint32_t)strings->count;
    return NVDP_OK;
}

size_t nvdp__strings_find(const struct nvdp__strings *strings, const char *bytes, size_t size) {
    if (strings->slots == 0) return SIZE_MAX;
    uint32_t slot = strings->slot[find_slot(strings, bytes, size)];
    return slot != 0 ? slot - 1 : SIZE_MAX;
}

void nvdp__strings_release(struct nvdp__strings *strings) {
    free(strings->text);
    free(strings->start);
    free(strings->slot);
    *strings = (struct nvdp__strings){0};
}

nvdp_status nvdp__word_counts_add(struct nvdp__word_counts *counts, const char *word, size_t size,
                                  uint64_t times) {
    size_t index = 0;
    counts->words.ctx = counts->ctx;
    NVDP_RETURN_IF_FAILED(nvdp__strings_add(&counts->words, word, size, &index));
    NVDP_RETURN_IF_FAILED(nvdp__reserve(counts->ctx, &counts->times, &counts->capacity, index + 1,
                                        sizeof *counts->times));
    counts->times[index] += times;
    return NVDP_OK;
}

void nvdp__word_counts_release(struct nvdp__word_counts *counts) {
    nvdp__strings_release(&counts->words);
    free(counts->times);
    *counts = (struct nvdp__word_counts){0};
}

static nvdp_status count_line(struct nvdp__word_counts *counts, struct nvdp__words *words,
                              const struct nvdp__plain_line *line) {
    nvdp__words_begin(words, line->text, line->size);
    for (;;) {
        bool found;
        NVDP_RETURN_IF_FAILED(nvdp__words_next(words, &found));
        if (!found) return NVDP_OK;
        if (words->word.characters > NVDP__WORD_CHARACTERS) continue;
        NVDP_RETURN_IF_FAILED(
            nvdp__word_counts_add(counts, words->word.bytes, words->word.size, 1));
    }
}

nvdp_status nvdp__word_counts_read(struct nvdp__word_counts *counts,
                                   const struct nvdp__word_rules *rules, const char *const *path,
                                   size_t files) {
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = counts->ctx;
    struct nvdp__plain_text *plain = NULL;
    struct nvdp__words words = {.rules = rules, .ctx = ctx};
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, ctx, "words", "line", 0, 0);
    NVDP_TRY(nvdp__plain_text_open(ctx, path, files, &plain));
    for (uint64_t lines = 0;; lines++) {
        struct nvdp__plain_line line;
        bool found;
        NVDP_TRY(nvdp__plain_text_next(plain, &line, &found));
        if (!found) break;
        NVDP_TRY(count_line(counts, &words, &line));
        if (lines % LINES_A_REPORT != 0) continue;
        nvdp__meter_update(&meter, lines, (double)nvdp__plain_text_bytes(plain) / 1e6, "MB", NAN);
        if (nvdp__cancelled(ctx))
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_CANCELLED, "interrupted while words were counted"));
    }
    nvdp__meter_end(&meter);
cleanup:
    nvdp__words_release(&words);
    nvdp__plain_text_close(plain);
    return status;
}
