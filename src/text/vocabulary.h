/* The pieces of a WordPiece vocabulary: read from vocab.txt, or trained on texts.
 *
 * Training uses the merges of byte-pair encoding (Sennrich, Haddow & Birch 2016). Words are
 * sequences of characters, all but the first marked by "##". The most frequent adjacent pair
 * becomes a piece, repeatedly. (Schuster & Nakajima 2012, whose WordPiece is the origin of
 * BERT's vocabulary, choose by likelihood; the tools in use choose by frequency.) The pieces are
 * then used as in WordPiece: longest match first (tokenizer.c).
 *
 * The result depends only on the counted words. Equally frequent pairs are merged in the order of their left pieces
 * in the vocabulary, then in the order of their right pieces. */
#ifndef NVDP_SRC_TEXT_VOCABULARY_H
#define NVDP_SRC_TEXT_VOCABULARY_H

#include "base/random.h"
#include "text/normalize.h"
#include <jansson.h>
#include <nvdp/tokenizer.h>

enum { NVDP__SPECIALS = NVDP_TOKEN_MASK + 1 };
/* "[PAD]", "[UNK]", ..., by enum nvdp_special: the names of WordPiece. */
extern const char *const nvdp__special_names[NVDP__SPECIALS];

/* ---- distinct strings ---- */

/* Computes 64-bit FNV-1a, which extends byte by byte, so that the hashes of all prefixes of a word take one pass. */
#define NVDP__HASH_EMPTY UINT64_C(0xCBF29CE484222325)
static inline uint64_t nvdp__hash_byte(uint64_t hash, char byte) {
    return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001B3);
}

struct nvdp__slot {
    uint32_t hash;   /* upper 32 bits of the string's hash */
    uint32_t number; /* index + 1; 0 if the slot is free */
};

/* Distinct strings, numbered from 0 in the order of insertion. The caller sets the struct to zero, then sets ctx. */
struct nvdp__strings {
    struct nvdp_context *ctx;
    size_t count;
    char *text;     /* concatenated strings, each followed by a NUL */
    size_t *start;  /* [count+1] first byte of each string in `text` */
    size_t longest; /* bytes of the longest string */
    size_t text_capacity, start_capacity;
    struct nvdp__slot *slot;
    size_t slots;
};
/* Returns the index of the string bytes[0..size); adds the string if it is new. */
nvdp_status nvdp__strings_add(struct nvdp__strings *strings, const char *bytes, size_t size,
                              size_t *index);
/* Appends bytes[0..size) as a new string. If there is an equal string, that string becomes empty and is not found
 * again. */
nvdp_status nvdp__strings_append(struct nvdp__strings *strings, const char *bytes, size_t size);
/* Returns the index of `bytes`; if `tail`, of "##" followed by `bytes`. `hash` is the hash of the whole string.
 * Returns SIZE_MAX if the string is missing. */
size_t nvdp__strings_lookup(const struct nvdp__strings *strings, uint64_t hash, bool tail,
                            const char *bytes, size_t size);
size_t nvdp__strings_find(const struct nvdp__strings *strings, const char *bytes, size_t size);
void nvdp__strings_release(struct nvdp__strings *strings);
/* Returns a string; a NUL follows its bytes. */
static inline struct nvdp__field nvdp__string(const struct nvdp__strings *strings, size_t index) {
    const size_t *start = strings->start + index;
    /* a string has a start: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    return (struct nvdp__field){strings->text + start[0], start[1] - start[0] - 1};
}

/* Reads vocab.txt: one piece per line, whose id is the line number from 0. White space at the end of a line is not
 * part of the piece. An empty line and the earlier of two equal lines also take an id; the pieces of these ids are
 * empty. A byte-order mark, CRLF and a missing last newline are accepted. Fails with NVDP_ERR_INPUT for a NUL byte,
 * invalid UTF-8, or a file without pieces; the message has `path` and the line. */
nvdp_status nvdp__vocabulary_parse(struct nvdp_context *ctx, const char *path, const char *bytes,
                                   size_t count, struct nvdp__strings *out);

/* Returns the pieces in the form of vocab.txt; the caller frees the string with free(). */
nvdp_status nvdp__vocabulary_text(struct nvdp_context *ctx, const struct nvdp__strings *pieces,
                                  char **out, size_t *size);

/* ---- training ---- */

/* Distinct words with their counts. The caller sets the struct to zero, then sets ctx and once. */
struct nvdp__word_counts {
    struct nvdp_context *ctx;
    bool once; /* count a word once per document */
    struct nvdp__strings words;
    struct nvdp__word_entry {
        uint64_t times,
            document; /* count of the word; number of the last document that has the word */
    } * entry;        /* [words.count] */
    size_t capacity;
    uint64_t document; /* number of the current document, from 1 */
};
nvdp_status nvdp__word_counts_add(struct nvdp__word_counts *counts, const char *word, size_t size,
                                  uint64_t times);
void nvdp__word_counts_release(struct nvdp__word_counts *counts);
/* Counts the words of all files (plain_text.h), except words too long for the tokenizer and, per document, words
 * after the first `max` (0: no limit). Uses one thread, and memory for the distinct words. */
nvdp_status nvdp__word_counts_read(struct nvdp__word_counts *counts,
                                   const struct nvdp__word_rules *rules, const char *const *path,
                                   size_t files, uint64_t max);

struct nvdp__vocabulary_options {
    size_t size; /* number of pieces, including special pieces */
    /* max number of characters; words with a rarer character are unknown and not used in training */
    size_t alphabet;
    uint64_t min_count; /* min count of a pair that is merged */
};

/* Returns vocab.txt as a string, which the caller frees with free(): the special tokens in the order of enum
 * nvdp_special; the characters by decreasing frequency, first those that begin words, then those that continue
 * words; the merges in order. *pieces is below options->size if no more pair is frequent enough. O(characters of the
 * distinct words + pieces x words with the piece), with a priority queue of pairs. */
nvdp_status nvdp__vocabulary_train(struct nvdp_context *ctx, const struct nvdp__word_counts *counts,
                                   const struct nvdp__vocabulary_options *options, char **text,
                                   size_t *pieces);

#endif
