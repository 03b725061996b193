/* Byte-level byte-pair encoding, as in GPT-2 (Radford et al. 2019) and RoBERTa. A text is a
 * sequence of bytes, each of which is a piece. Within a word, the adjacent pair that is first in
 * the list of merges becomes one piece, repeatedly (Sennrich, Haddow & Birch 2016). Text is not
 * normalized, and nothing is unknown.
 *
 * Words are the matches of GPT-2's pattern:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * In files each byte is written as a character: itself if it is printable in Latin-1, otherwise
 * a character from U+0100 on, so that "Ġ" is a space. */
#ifndef NVDP_SRC_TEXT_BPE_H
#define NVDP_SRC_TEXT_BPE_H

#include "text/vocabulary.h"

/* A token that texts may name directly; on request it includes the spaces around it. */
struct nvdp__added_token {
    int32_t id; /* the piece is its name */
    bool left_spaces, right_spaces;
};

/* Never changes after creation. */
struct nvdp__bpe {
    int32_t byte[NVDP__BYTE_VALUES]; /* pieces of single bytes */
    struct nvdp__strings merges;     /* pairs of ids, in order of rank */
    int32_t *merged;                 /* [merges.count] the resulting pieces */
    struct nvdp__added_token *added; /* [added_count] */
    size_t added_count;
    /* true if the name of an added token begins with this byte */
    bool begins_added[NVDP__BYTE_VALUES];
};

/* Reads merges.txt: two pieces per line, separated by a space, the most frequent pair first. A
 * first line that begins with "#version" is skipped. CRLF and a missing last newline are
 * accepted. NVDP_ERR_INPUT, naming `path` and the line, if a line is not a pair of pieces, is a
 * duplicate, or forms no piece; naming `vocabulary` if one of the 256 bytes is not a piece. */
nvdp_status nvdp__bpe_create(struct nvdp_context *ctx, const char *vocabulary,
                             const struct nvdp__strings *pieces, const char *path,
                             const char *bytes, size_t count, struct nvdp__bpe **out);
/* Adds another token that texts may name; `id` is a piece. */
nvdp_status nvdp__bpe_add(struct nvdp_context *ctx, struct nvdp__bpe *bpe,
                          const struct nvdp__strings *pieces, struct nvdp__added_token token);
void nvdp__bpe_free(struct nvdp__bpe *bpe); /* NULL allowed */

/* Bytes of the first word of text[0..size), size > 0. */
size_t nvdp__bpe_word(const char *text, size_t size);

/* Memory reused from word to word. Zero it; release it with nvdp__bpe_work_release. */
struct nvdp__bpe_work {
    struct nvdp__bpe_symbol *symbol;
    struct nvdp__bpe_candidate *heap;
    size_t symbol_capacity, heap_capacity;
};
void nvdp__bpe_work_release(struct nvdp__bpe_work *work);

struct nvdp__encoder;
/* Adds the ids of text[0..size) to the encoder's until there are `limit` or more. A byte that is
 * not UTF-8 counts as U+FFFD. */
nvdp_status nvdp__bpe_encode(struct nvdp__encoder *encoder, const char *text, size_t size,
                             size_t limit);

#endif
