/* The pieces of a WordPiece vocabulary: read from vocab.txt, or trained on texts.
 *
 * Training uses the merges of byte-pair encoding (Sennrich, Haddow & Birch 2016). Words are
 * sequences of characters, all but the first marked by "##". The most frequent adjacent pair
 * becomes a piece, repeatedly. (Schuster & Nakajima 2012, whose WordPiece is the origin of
 * BERT's vocabulary, choose by likelihood; the tools in use choose by frequency.) The pieces are
 * then used as in WordPiece: longest match first (tokenizer.c).
 *
 * The result depends only on the counted words. Among equally frequent pairs, the one whose left
 * piece comes first in the vocabulary is merged first, then the one whose right piece does. */
#ifndef NVDP_SRC_TEXT_VOCABULARY_H
#define NVDP_SRC_TEXT_VOCABULARY_H

#include "text/normalize.h"
#include <nvdp/tokenizer.h>

enum { NVDP__SPECIALS = NVDP_TOKEN_MASK + 1 };
/* "[PAD]", "[UNK]", ... by enum nvdp_special: those of WordPiece. */
extern const char *const nvdp__special_names[NVDP__SPECIALS];

/* ---- distinct strings ---- */

/* 64-bit FNV-1a: it extends byte by byte, so that all prefixes of a word take one pass. */
#define NVDP__HASH_EMPTY UINT64_C(0xCBF29CE484222325)
static inline uint64_t nvdp__hash_byte(uint64_t hash, char byte) {
    return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001B3);
}

struct nvdp__slot {
    uint32_t hash;   /* upper 32 bits of the string's hash */
    uint32_t number; /* index + 1; 0: free */
};

/* Distinct strings, numbered from 0 in the order of insertion. Zero it, set ctx. */
struct nvdp__strings {
    struct nvdp_context *ctx;
    size_t count;
    char *text;     /* concatenated, each followed by a NUL */
    size_t *start;  /* [count+1] into text */
    size_t longest; /* bytes of the longest string */
    size_t text_capacity, start_capacity;
    struct nvdp__slot *slot;
    size_t slots;
};
/* Returns the index of bytes[0..size); adds it if it is new. */
nvdp_status nvdp__strings_add(struct nvdp__strings *strings, const char *bytes, size_t size,
                              size_t *index);
/* Appends bytes[0..size) as a new string, even if there is an equal one, which then becomes empty
 * and is not found again. */
nvdp_status nvdp__strings_append(struct nvdp__strings *strings, const char *bytes, size_t size);
/* Returns the index of `bytes`, or, with `tail`, of "##" followed by `bytes`; `hash` is that of
 * the whole string. SIZE_MAX if it is missing. */
size_t nvdp__strings_lookup(const struct nvdp__strings *strings, uint64_t hash, bool tail,
                            const char *bytes, size_t size);
size_t nvdp__strings_find(const struct nvdp__strings *strings, const char *bytes, size_t size);
void nvdp__strings_release(struct nvdp__strings *strings);
static inline const char *nvdp__string(const struct nvdp__strings *strings, size_t index,
                                       size_t *size) {
    /* a string has a start: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    *size = strings->start[index + 1] - strings->start[index] - 1;
    return strings->text + strings->start[index];
}

/* Reads vocab.txt: one piece per line, whose id is the line number from 0. White space at the end
 * of a line is not part of the piece. An empty line takes an id, and so does the earlier of two
 * equal lines; their pieces are empty. A byte-order mark, CRLF and a missing last newline are
 * accepted. NVDP_ERR_INPUT, naming `path` and the line, for a NUL byte and invalid UTF-8, and for
 * a file without pieces. */
nvdp_status nvdp__vocabulary_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, struct nvdp__strings *out);

/* ---- training ---- */

/* Distinct words with their counts. Zero it, set ctx. */
struct nvdp__word_counts {
    struct nvdp_context *ctx;
    struct nvdp__strings words;
    uint64_t *times; /* [words.count] */
    size_t capacity;
};
nvdp_status nvdp__word_counts_add(struct nvdp__word_counts *counts, const char *word, size_t size,
                                  uint64_t times);
void nvdp__word_counts_release(struct nvdp__word_counts *counts);
/* Adds the words of all files (plain_text.h), except words too long for the tokenizer and, per
 * document, words after the first `max_words` (0: no limit). Uses one thread, and memory for the
 * distinct words. */
nvdp_status nvdp__word_counts_read(struct nvdp__word_counts *counts,
                                   const struct nvdp__word_rules *rules, const char *const *path,
                                   size_t files, uint64_t max);

struct nvdp__vocabulary_options {
    size_t size; /* pieces, including special ones */
    /* max number of characters; words with a rarer one are unknown and not used in training */
    size_t alphabet;
    uint64_t min_count; /* rarer pairs are not merged */
};

/* Returns vocab.txt as text, free() it: the special tokens in the order of enum nvdp_special;
 * the characters by decreasing frequency, first those that begin words, then those that continue
 * them; the merges in their order. *pieces is below options->size if no more pair is frequent
 * enough. O(characters of the distinct words + pieces x words they are in), with a priority
 * queue of pairs. */
nvdp_status nvdp__vocabulary_train(struct nvdp_context *ctx, const struct nvdp__word_counts *counts,
                                   const struct nvdp__vocabulary_options *options, char **text,
                                   size_t *pieces);

#endif
