#include "text/vocabulary.h"

#include "text/normalize.h"
#include "text/quote.h"
#include <stdlib.h>
#include <string.h>

enum { HASH_SHIFT = 32 };

static const char BYTE_ORDER_MARK[] = "\xEF\xBB\xBF";

static size_t piece_size(const struct nvdp__vocabulary *vocabulary, int32_t id) {
    return vocabulary->start[id + 1] - vocabulary->start[id] - 1;
}

/* Multiplication carries a byte's influence upwards only, so the table's index mixes both halves.
 */
static size_t first_slot(const struct nvdp__vocabulary *vocabulary, uint64_t hash) {
    return (hash ^ hash >> HASH_SHIFT) & vocabulary->mask;
}

int32_t nvdp__vocabulary_lookup(const struct nvdp__vocabulary *vocabulary, uint64_t hash, bool tail,
                                const char *bytes, size_t size) {
    const size_t mark = tail ? 2 : 0;
    for (size_t at = first_slot(vocabulary, hash);; at = (at + 1) & vocabulary->mask) {
        struct nvdp__slot slot = vocabulary->slot[at];
        if (slot.id < 0) return -1;
        if (slot.hash != hash >> HASH_SHIFT || piece_size(vocabulary, slot.id) != size + mark)
            continue;
        const char *piece = vocabulary->text + vocabulary->start[slot.id];
        if (memcmp(piece, "##", mark) == 0 && memcmp(piece + mark, bytes, size) == 0)
            return slot.id;
    }
}

int32_t nvdp__vocabulary_find(const struct nvdp__vocabulary *vocabulary, const char *piece,
                              size_t size) {
    return nvdp__vocabulary_lookup(vocabulary, nvdp__hash_bytes(piece, size), false, piece, size);
}

static nvdp_status check_piece(struct nvdp_context *ctx, const char *path, size_t line,
                               const char *piece, size_t size) {
    if (size == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected a piece, found an empty line",
                          path, line);
    if (memchr(piece, '\0', size) != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected text, found a NUL byte", path,
                          line);
    if (!nvdp__is_utf8(piece, size))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected UTF-8, found piece %s", path, line,
                          nvdp__quote_field((struct nvdp__field){piece, size}).text);
    return NVDP_OK;
}

static size_t count_lines(const char *bytes, size_t count) {
    size_t lines = 0;
    for (size_t at = 0; at < count; lines++) {
        const char *end = memchr(bytes + at, '\n', count - at);
        at = end != NULL ? (size_t)(end - bytes) + 1 : count;
    }
    return lines;
}

/* Copies the lines' texts; ids are counted up, lines are checked. */
static nvdp_status read_pieces(struct nvdp_context *ctx, const char *path, const char *bytes,
                               size_t count, struct nvdp__vocabulary *vocabulary) {
    size_t used = 0;
    for (size_t at = 0; at < count;) {
        const char *line = bytes + at;
        const char *end = memchr(line, '\n', count - at);
        size_t size = end != NULL ? (size_t)(end - line) : count - at;
        at += size + 1;
        if (size > 0 && line[size - 1] == '\r') size--;
        NVDP_RETURN_IF_FAILED(check_piece(ctx, path, vocabulary->count + 1, line, size));
        memcpy(vocabulary->text + used, line, size);
        used += size + 1;
        vocabulary->start[++vocabulary->count] = used;
        if (size > vocabulary->longest) vocabulary->longest = size;
    }
    return NVDP_OK;
}

static nvdp_status fill_table(struct nvdp_context *ctx, const char *path,
                              struct nvdp__vocabulary *vocabulary) {
    for (size_t at = 0; at <= vocabulary->mask; at++) {
        vocabulary->slot[at].id = -1;
    }
    for (size_t id = 0; id < vocabulary->count; id++) {
        const char *piece = vocabulary->text + vocabulary->start[id];
        size_t size = piece_size(vocabulary, (int32_t)id);
        uint64_t hash = nvdp__hash_bytes(piece, size);
        int32_t same = nvdp__vocabulary_lookup(vocabulary, hash, false, piece, size);
        if (same >= 0)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: piece %s is on line %d already", path,
                              id + 1, nvdp__quote_field((struct nvdp__field){piece, size}).text,
                              same + 1);
        size_t at = first_slot(vocabulary, hash);
        while (vocabulary->slot[at].id >= 0) {
            at = (at + 1) & vocabulary->mask;
        }
        vocabulary->slot[at] = (struct nvdp__slot){(uint32_t)(hash >> HASH_SHIFT), (int32_t)id};
    }
    return NVDP_OK;
}

nvdp_status nvdp__vocabulary_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, struct nvdp__vocabulary **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__vocabulary *vocabulary = NULL;
    const size_t mark = sizeof BYTE_ORDER_MARK - 1;
    if (count >= mark && memcmp(bytes, BYTE_ORDER_MARK, mark) == 0) {
        bytes += mark;
        count -= mark;
    }
    size_t lines = count_lines(bytes, count);
    if (lines == 0)
        NVDP_TRY(
            nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:1: empty file: expected a piece a line", path));
    if (lines > INT32_MAX)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at most %d lines, found %zu", path,
                            INT32_MAX, lines));
    size_t slots = 2;
    while (slots < 2 * lines) {
        slots *= 2;
    }
    vocabulary = nvdp__calloc(ctx, 1, sizeof *vocabulary);
    if (vocabulary == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    vocabulary->mask = slots - 1;
    vocabulary->text = nvdp__calloc(ctx, count + 1, 1);
    vocabulary->start = nvdp__calloc(ctx, lines + 1, sizeof *vocabulary->start);
    vocabulary->slot = nvdp__calloc(ctx, slots, sizeof *vocabulary->slot);
    if (vocabulary->text == NULL || vocabulary->start == NULL || vocabulary->slot == NULL)
        NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(read_pieces(ctx, path, bytes, count, vocabulary));
    NVDP_TRY(fill_table(ctx, path, vocabulary));
    *out = vocabulary;
    vocabulary = NULL;
cleanup:
    nvdp__vocabulary_free(vocabulary);
    return status;
}

void nvdp__vocabulary_free(struct nvdp__vocabulary *vocabulary) {
    if (vocabulary == NULL) return;
    free(vocabulary->slot);
    free(vocabulary->start);
    free(vocabulary->text);
    free(vocabulary);
}
