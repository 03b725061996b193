/* The pieces of a WordPiece vocabulary and a hash table over them. */
#ifndef NVDP_SRC_TEXT_VOCABULARY_H
#define NVDP_SRC_TEXT_VOCABULARY_H

#include "base/base.h"

struct nvdp__slot {
    uint32_t hash; /* upper half of the piece's hash */
    int32_t id;    /* -1: free */
};

struct nvdp__vocabulary {
    size_t count;
    char *text;     /* the pieces, each with a NUL behind it */
    size_t *start;  /* [count+1] into text */
    size_t longest; /* bytes of the longest piece */
    size_t mask;    /* slots - 1 */
    struct nvdp__slot *slot;
};

/* Parses vocab.txt: a piece a line, its id the line's number from 0.  A leading byte-order mark,
 * CRLF and a missing last newline are normal.  An empty file or line, a piece that is there twice,
 * a NUL byte or bytes that are not UTF-8: NVDP_ERR_INPUT, naming `path` and the line. */
nvdp_status nvdp__vocabulary_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, struct nvdp__vocabulary **out);
void nvdp__vocabulary_free(struct nvdp__vocabulary *vocabulary);

/* FNV-1a in 64 bits: it extends byte by byte, so that all prefixes of a word cost one pass. */
#define NVDP__HASH_EMPTY UINT64_C(0xCBF29CE484222325)
static inline uint64_t nvdp__hash_byte(uint64_t hash, char byte) {
    return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001B3);
}

static inline uint64_t nvdp__hash_bytes(const char *bytes, size_t size) {
    uint64_t hash = NVDP__HASH_EMPTY;
    for (size_t i = 0; i < size; i++) {
        hash = nvdp__hash_byte(hash, bytes[i]);
    }
    return hash;
}

/* The id of the piece that is `bytes`, or with `tail` "##" and then `bytes`; `hash` is that of the
 * whole piece.  -1 where there is none. */
int32_t nvdp__vocabulary_lookup(const struct nvdp__vocabulary *vocabulary, uint64_t hash, bool tail,
                                const char *bytes, size_t size);
int32_t nvdp__vocabulary_find(const struct nvdp__vocabulary *vocabulary, const char *piece,
                              size_t size);

#endif
