/* The pieces of a WordPiece vocabulary: read from vocab.txt, or found in a text.
 *
 * Training finds pieces by byte-pair encoding's merges (Sennrich, Haddow & Birch 2016): words are
 * sequences of characters, all but the first marked by "##"; the most frequent pair of neighbors
 * becomes a piece of its own, again and again.  (Schuster & Nakajima 2012, whose WordPiece BERT's
 * vocabulary comes from, choose by likelihood instead; the tools in use choose by frequency.)  The
 * pieces are then used as WordPiece's: longest match first (tokenizer.c).
 *
 * The outcome is a function of the counted words alone.  Of pairs seen equally often, the one whose
 * left piece stands first in the vocabulary is merged, then the one whose right piece does. */
#ifndef NVDP_SRC_TEXT_VOCABULARY_H
#define NVDP_SRC_TEXT_VOCABULARY_H

#include "text/normalize.h"
#include <nvdp/tokenizer.h>

enum { NVDP__SPECIALS = NVDP_TOKEN_MASK + 1 };
/* "[PAD]", "[UNK]", ... by enum nvdp_special: WordPiece's. */
extern const char *const nvdp__special_names[NVDP__SPECIALS];

/* ---- distinct strings ---- */

/* FNV-1a in 64 bits: it extends byte by byte, so that all prefixes of a word cost one pass. */
#define NVDP__HASH_EMPTY UINT64_C(0xCBF29CE484222325)
static inline uint64_t nvdp__hash_byte(uint64_t hash, char byte) {
    return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001B3);
}

struct nvdp__slot {
    uint32_t hash;   /* upper 32 bits of the string's hash */
    uint32_t number; /* index + 1; 0: free */
};

/* Distinct strings, numbered from 0 in the order of their arrival.  Zero it, set ctx. */
struct nvdp__strings {
    struct nvdp_context *ctx;
    size_t count;
    char *text;     /* end to end, each with a NUL behind it */
    size_t *start;  /* [count+1] into text */
    size_t longest; /* bytes of the longest */
    size_t text_capacity, start_capacity;
    struct nvdp__slot *slot;
    size_t slots;
};
/* The number of bytes[0..size), which is added where it is new. */
nvdp_status nvdp__strings_add(struct nvdp__strings *strings, const char *bytes, size_t size,
                              size_t *index);
/* The number of the string that is `bytes`, or with `tail` "##" and then `bytes`; `hash` is that of
 * the whole string.  SIZE_MAX where it is not there. */
size_t nvdp__strings_lookup(const struct nvdp__strings *strings, uint64_t hash, bool tail,
                            const char *bytes, size_t size);
size_t nvdp__strings_find(const struct nvdp__strings *strings, const char *bytes, size_t size);
void nvdp__strings_release(struct nvdp__strings *strings);
static inline const char *nvdp__string(const struct nvdp__strings *strings, size_t index,
                                       size_t *size) {
    /* There is a start where there is a string: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    *size = strings->start[index + 1] - strings->start[index] - 1;
    return strings->text + strings->start[index];
}

/* Reads vocab.txt: a piece a line, its id the line's number from 0.  A leading byte-order mark,
 * CRLF and a missing last newline are normal.  An empty file or line, a piece that is there twice,
 * a NUL byte or bytes that are not UTF-8: NVDP_ERR_INPUT, naming `path` and the line. */
nvdp_status nvdp__vocabulary_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, struct nvdp__strings *out);

/* ---- training ---- */

/* Distinct words and how often each was seen.  Zero it, set ctx. */
struct nvdp__word_counts {
    struct nvdp_context *ctx;
    struct nvdp__strings words;
    uint64_t *times; /* [words.count] */
    size_t capacity;
};
nvdp_status nvdp__word_counts_add(struct nvdp__word_counts *counts, const char *word, size_t size,
                                  uint64_t times);
void nvdp__word_counts_release(struct nvdp__word_counts *counts);
/* Adds the words of all files (plain_text.h) but those too long for the tokenizer, and of a document
 * those behind the first `most` (0: none).  One thread; memory for the distinct words. */
nvdp_status nvdp__word_counts_read(struct nvdp__word_counts *counts,
                                   const struct nvdp__word_rules *rules, const char *const *path,
                                   size_t files, uint64_t most);

struct nvdp__vocabulary_options {
    size_t size;     /* pieces, special ones included */
    size_t alphabet; /* most characters; words with a rarer one are unknown, and not learned from */
    uint64_t min_count; /* a pair seen less often is not merged */
};

/* vocab.txt as text, free(): the special tokens in the order of enum nvdp_special; the characters,
 * most frequent first, those that begin words before those that go on; the merges in their order.
 * *pieces is below options->size where no pair is frequent enough.  O(characters of the distinct
 * words + pieces x words they are in), a priority queue over pairs. */
nvdp_status nvdp__vocabulary_train(struct nvdp_context *ctx, const struct nvdp__word_counts *counts,
                                   const struct nvdp__vocabulary_options *options, char **text,
                                   size_t *pieces);

#endif
