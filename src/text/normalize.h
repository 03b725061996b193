/* Splits bytes into words, as BERT's basic tokenizer does. Characters are decoded; control and format characters are
 * dropped; white space separates words. The parts between separators are folded (lower case, accents stripped), and
 * each punctuation mark and ideograph becomes a word. */
#ifndef NVDP_SRC_TEXT_NORMALIZE_H
#define NVDP_SRC_TEXT_NORMALIZE_H

#include "base/base.h"

/* ---- text in messages ---- */

struct nvdp__quote {
    char text[64];
};
/* Returns the field in single quotes on one line, truncated if it is long, with '?' for bytes that are neither
 * printable ASCII nor valid UTF-8. */
struct nvdp__quote nvdp__quote_field(struct nvdp__field field);

/* ---- characters ---- */

/* Decodes the code point at the start of text[0..size), size > 0, and sets *bytes to its length. Returns -1, and sets
 * *bytes to 1, if the bytes are invalid. */
int32_t nvdp__decode(const char *text, size_t size, size_t *bytes);
/* Decodes the last code point of text[0..size) in the same way. */
int32_t nvdp__last_rune(const char *text, size_t size, size_t *bytes);
bool nvdp__is_utf8(const char *text, size_t size);

/* Sets of Unicode's general categories, for files that include utf8proc.h. */
#define NVDP__IN(category) (1U << UTF8PROC_CATEGORY_##category)
#define NVDP__LETTERS (NVDP__IN(LU) | NVDP__IN(LL) | NVDP__IN(LT) | NVDP__IN(LM) | NVDP__IN(LO))
/* Returns true if the category of a valid character is in the set. */
bool nvdp__has_category(int32_t rune, unsigned set);
/* Returns true for letters in circles and squares, which Unicode counts as symbols. */
bool nvdp__is_enclosed_letter(int32_t rune);
/* Returns true for characters with Unicode's property White_Space. */
bool nvdp__is_white_space(int32_t rune);
/* Returns true for marks (Mn, Mc, Me) of Unicode 9, as in the `tokenizers` library. */
bool nvdp__is_mark(int32_t rune);
/* Returns true for U+0000, U+FFFD, invalid UTF-8 (-1), and for control (Cc), format (Cf) and private (Co) characters
 * except white space. */
bool nvdp__is_dropped(int32_t rune);
/* Returns true for CJK ideographs, but not for kana and Hangul, which form words. */
bool nvdp__is_chinese(int32_t rune);
/* Returns true for every character of category P and for the other ASCII symbols such as $ + < ^. Here, and for
 * format characters and accents, categories are those of Unicode 8, as in the `tokenizers` library. */
bool nvdp__is_punctuation(int32_t rune);

/* ---- folding ---- */

struct nvdp__normalization {
    bool lower_case;
    bool strip_accents;
    bool chinese_characters; /* true if each ideograph becomes a word */
    /* true for the rules published with BERT: a capital sigma that ends a word becomes a final sigma */
    bool published;
};

/* A growing list of code points. */
struct nvdp__runes {
    int32_t *at;
    size_t count, capacity;
};
nvdp_status nvdp__runes_push(struct nvdp_context *ctx, struct nvdp__runes *runes, int32_t rune);

/* Folds a run without separators into *folded. Lower case is Unicode's mapping of single characters, unless
 * `published`. Accents are stripped by NFD without the characters of category Mn. */
nvdp_status nvdp__fold(struct nvdp_context *ctx, const struct nvdp__normalization *normalization,
                       const struct nvdp__runes *run, struct nvdp__runes *folded);

enum nvdp__normal_form { NVDP__COMPATIBLE = 1, NVDP__COMPOSED = 2 };
/* Writes a normal form of Unicode for a run: NFD for no flag, NFC (NVDP__COMPOSED), NFKD (NVDP__COMPATIBLE), or
 * NFKC. */
nvdp_status nvdp__normal_form(struct nvdp_context *ctx, const struct nvdp__runes *run,
                              unsigned flags, struct nvdp__runes *out);

/* A text that was normalized; the memory is reused from text to text. The caller sets the struct to zero and
 * releases it with nvdp__normalized_release(). */
struct nvdp__normalized {
    struct nvdp__runes run, folded;
    char *text; /* UTF-8 */
    size_t size, capacity;
    char *other; /* the text before a step (normalizer.c) */
    size_t other_capacity;
};
/* Decodes text; writes U+FFFD for bytes that are not UTF-8. */
nvdp_status nvdp__runes_read(struct nvdp_context *ctx, const char *text, size_t size,
                             struct nvdp__runes *out);
nvdp_status nvdp__runes_write(struct nvdp_context *ctx, const struct nvdp__runes *runes,
                              struct nvdp__normalized *out);
/* Normalizes text[0..size) as a whole: drops characters, replaces white space by spaces, puts
 * spaces around ideographs, and folds. */
nvdp_status nvdp__normalize(struct nvdp_context *ctx,
                            const struct nvdp__normalization *normalization, const char *text,
                            size_t size, struct nvdp__normalized *out);
void nvdp__normalized_release(struct nvdp__normalized *normalized);

/* ---- words ---- */

enum {
    NVDP__BYTE_VALUES = 256,
    NVDP__WORD_CHARACTERS = 200,       /* the max limit of a tokenizer; longer words are unknown */
    NVDP__USUAL_WORD_CHARACTERS = 100, /* the limit of tokenizers that state none */
    NVDP__WORD_BYTES = 4 * NVDP__WORD_CHARACTERS
};

/* The rules for characters, with arrays for ASCII. */
struct nvdp__word_rules {
    struct nvdp__normalization normalization;
    unsigned char kind[NVDP__BYTE_VALUES]; /* kinds of ASCII characters: enum byte_kind */
    char folded[NVDP__BYTE_VALUES];        /* folded ASCII characters: in lower case if required */
};
struct nvdp__word_rules nvdp__word_rules(const struct nvdp__normalization *normalization);

struct nvdp__word {
    char bytes[NVDP__WORD_BYTES]; /* UTF-8 */
    size_t size;
    size_t characters; /* continues to count when `bytes` is full */
};

/* An iterator over words, reusable for many texts. The caller sets the struct to zero, sets the first two members,
 * and releases it with nvdp__words_release(). */
struct nvdp__words {
    const struct nvdp__word_rules *rules;
    struct nvdp_context *ctx; /* for allocation; NULL in parallel regions */
    const char *text;
    size_t size, at;
    size_t plain_end; /* text[at..plain_end) is ASCII without white space */
    struct nvdp__runes run, folded;
    size_t folded_at;
    struct nvdp__word word;
};

/* Starts at the beginning of text[0..size), which must remain valid. */
void nvdp__words_begin(struct nvdp__words *words, const char *text, size_t size);
/* Sets words->word to the next word. At the end, *found is false and the word is empty. */
nvdp_status nvdp__words_next(struct nvdp__words *words, bool *found);
void nvdp__words_release(struct nvdp__words *words);

#endif
