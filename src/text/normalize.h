/* From bytes to words, as BERT's basic tokenizer does it: characters are decoded, control and format
 * characters dropped, white space separates; what lies between separators is folded (lower case, no
 * accents), and punctuation marks and ideographs are words of their own. */
#ifndef NVDP_SRC_TEXT_NORMALIZE_H
#define NVDP_SRC_TEXT_NORMALIZE_H

#include "base/base.h"

/* ---- text in messages ---- */

/* Bytes somewhere in a text that another owns; not NUL-terminated. */
struct nvdp__field {
    const char *text;
    size_t size;
};

struct nvdp__quote {
    char text[64];
};
/* The field between single quotes, on one line: cut where it is long, '?' for bytes that are not
 * printable ASCII or well-formed UTF-8. */
struct nvdp__quote nvdp__quote_field(struct nvdp__field field);

/* ---- characters ---- */

#define NVDP__BYTE_ORDER_MARK "\xEF\xBB\xBF"

/* The code point at text[0..size), size > 0, and its bytes; -1 and one byte where they are not
 * UTF-8. */
int32_t nvdp__decode(const char *text, size_t size, size_t *bytes);
bool nvdp__is_utf8(const char *text, size_t size);

/* U+0000, U+FFFD, what is not UTF-8 (-1), controls (category Cc) and format characters (Cf) that
 * are no white space. */
bool nvdp__is_dropped(int32_t rune);
/* CJK ideographs; kana and Hangul are written with words and are not meant. */
bool nvdp__is_chinese(int32_t rune);
/* Every character of category P, and the other ASCII signs such as $ + < ^. */
bool nvdp__is_punctuation(int32_t rune);

/* ---- folding ---- */

struct nvdp__normalization {
    bool lower_case;
    bool strip_accents;
    bool chinese_characters; /* each is a word of its own */
};

/* A growing list of code points. */
struct nvdp__runes {
    int32_t *at;
    size_t count, capacity;
};
nvdp_status nvdp__runes_push(struct nvdp_context *ctx, struct nvdp__runes *runes, int32_t rune);

/* Folds a run without separators into *folded.  Lower case is Unicode's full mapping, with a sigma
 * at a word's end final; stripping accents is NFD and then no character of category Mn. */
nvdp_status nvdp__fold(struct nvdp_context *ctx, const struct nvdp__normalization *normalization,
                       const struct nvdp__runes *run, struct nvdp__runes *folded);

/* ---- words ---- */

enum {
    NVDP__BYTE_VALUES = 256,
    /* Longer words are unknown.  BERT's own tokenizer says 200, which the reference ids confirm;
     * some later ones say 100. */
    NVDP__WORD_CHARACTERS = 200,
    NVDP__WORD_BYTES = 4 * NVDP__WORD_CHARACTERS
};

/* What is done to characters, prepared for ASCII. */
struct nvdp__word_rules {
    struct nvdp__normalization normalization;
    unsigned char kind[NVDP__BYTE_VALUES]; /* of ASCII characters: enum byte_kind */
    char folded[NVDP__BYTE_VALUES];        /* ASCII in lower case, where that is asked for */
};
struct nvdp__word_rules nvdp__word_rules(const struct nvdp__normalization *normalization);

struct nvdp__word {
    char bytes[NVDP__WORD_BYTES]; /* UTF-8 */
    size_t size;
    size_t characters; /* counts on where `bytes` is full */
};

/* An iterator, used for many texts in turn.  Zero it, set the first two members, release it with
 * nvdp__words_release. */
struct nvdp__words {
    const struct nvdp__word_rules *rules;
    struct nvdp_context *ctx; /* for allocation; NULL within parallel regions */
    const char *text;
    size_t size, at;
    size_t plain_end; /* text[at..plain_end) is ASCII without white space */
    struct nvdp__runes run, folded;
    size_t folded_at;
    struct nvdp__word word;
};

/* Starts text[0..size), which must stay in place. */
void nvdp__words_begin(struct nvdp__words *words, const char *text, size_t size);
/* words->word becomes the next word; *found is false, and the word empty, where there is none. */
nvdp_status nvdp__words_next(struct nvdp__words *words, bool *found);
void nvdp__words_release(struct nvdp__words *words);

#endif
