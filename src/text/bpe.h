/* Byte-level byte-pair encoding, as GPT-2 has it (Radford et al. 2019) and RoBERTa after it: any text
 * is a sequence of bytes, each of which is a piece; within a word the pair of neighbors that stands
 * first in the list of merges becomes one piece, again and again (Sennrich, Haddow & Birch 2016).
 * Nothing is folded, nothing is unknown.
 *
 * Words are what GPT-2's pattern matches:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * In files a byte is a character: itself where it is printable in Latin-1, otherwise one from U+0100
 * on, so that "Ġ" is a space. */
#ifndef NVDP_SRC_TEXT_BPE_H
#define NVDP_SRC_TEXT_BPE_H

#include "text/vocabulary.h"

/* A token whose name in a text stands for it, spaces around it being part of it on request. */
struct nvdp__added_token {
    int32_t id; /* its name is the piece */
    bool left_spaces, right_spaces;
};

/* Never changes once it is made. */
struct nvdp__bpe {
    int32_t byte[NVDP__BYTE_VALUES]; /* the pieces of single bytes */
    struct nvdp__strings merges;     /* pairs of ids, numbered by rank */
    int32_t *merged;                 /* [merges.count] what they become */
    struct nvdp__added_token *added; /* [added_count] */
    size_t added_count;
    bool begins_added[NVDP__BYTE_VALUES]; /* whether one's name begins with the byte */
};

/* Reads merges.txt: two pieces a line, a space between them, the most frequent pair first; a first
 * line that begins with "#version" is none.  CRLF and a missing last newline are normal.
 * NVDP_ERR_INPUT, naming `path` and the line, where a line is no pair of pieces, or is there twice,
 * or what they make is no piece; naming `vocabulary` where one of the 256 bytes is none. */
nvdp_status nvdp__bpe_create(struct nvdp_context *ctx, const char *vocabulary,
                             const struct nvdp__strings *pieces, const char *path,
                             const char *bytes, size_t count, struct nvdp__bpe **out);
/* Another token that texts may name; `id` is a piece. */
nvdp_status nvdp__bpe_add(struct nvdp_context *ctx, struct nvdp__bpe *bpe,
                          const struct nvdp__strings *pieces, struct nvdp__added_token token);
void nvdp__bpe_free(struct nvdp__bpe *bpe); /* NULL allowed */

/* Bytes of the first word of text[0..size), size > 0. */
size_t nvdp__bpe_word(const char *text, size_t size);

/* Memory that is kept from word to word.  Zero it; release it with nvdp__bpe_work_release. */
struct nvdp__bpe_work {
    struct nvdp__bpe_symbol *symbol;
    struct nvdp__bpe_candidate *heap;
    size_t symbol_capacity, heap_capacity;
};
void nvdp__bpe_work_release(struct nvdp__bpe_work *work);

struct nvdp__encoder;
/* Adds the ids of text[0..size) to the encoder's, until there are `limit` or more.  A byte that is
 * not UTF-8 counts as U+FFFD. */
nvdp_status nvdp__bpe_encode(struct nvdp__encoder *encoder, const char *text, size_t size,
                             size_t limit);

#endif
