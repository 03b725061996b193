#include "text/wordpiece.h"

/* The longest piece at the front of rest[0..size); its length in *taken.  A piece is whole UTF-8,
 * so that a match always ends between characters. */
static int32_t longest_piece(const struct nvdp__vocabulary *vocabulary, bool tail, const char *rest,
                             size_t size, size_t *taken) {
    uint64_t hash[NVDP__WORD_BYTES + 1];
    hash[0] = NVDP__HASH_EMPTY;
    if (tail) hash[0] = nvdp__hash_byte(nvdp__hash_byte(hash[0], '#'), '#');
    if (size > vocabulary->longest) size = vocabulary->longest;
    for (size_t i = 0; i < size; i++) {
        hash[i + 1] = nvdp__hash_byte(hash[i], rest[i]);
    }
    for (size_t length = size; length > 0; length--) {
        int32_t id = nvdp__vocabulary_lookup(vocabulary, hash[length], tail, rest, length);
        if (id < 0) continue;
        *taken = length;
        return id;
    }
    return -1;
}

size_t nvdp__wordpiece(const struct nvdp__vocabulary *vocabulary, int32_t unknown, const char *word,
                       size_t size, int32_t *ids) {
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        size_t taken = 0;
        int32_t id = longest_piece(vocabulary, at > 0, word + at, size - at, &taken);
        if (id < 0) {
            ids[0] = unknown;
            return 1;
        }
        ids[count++] = id;
        at += taken;
    }
    return count;
}
