/* Characters as BERT's basic tokenizer sees them: what is dropped, what separates, and the fold
 * (lower case, no accents) of a run between separators. */
#ifndef NVDP_SRC_TEXT_NORMALIZE_H
#define NVDP_SRC_TEXT_NORMALIZE_H

#include "base/base.h"

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

/* The code point at text[0..size), size > 0, and its bytes; -1 and one byte where they are not
 * UTF-8. */
int32_t nvdp__decode(const char *text, size_t size, size_t *bytes);
bool nvdp__is_utf8(const char *text, size_t size);
/* Writes up to 4 bytes; returns how many. */
size_t nvdp__encode_rune(int32_t rune, char *bytes);

/* Tab, newline, return and every character of category Z. */
bool nvdp__is_space(int32_t rune);
/* U+0000, U+FFFD, what is not UTF-8 (-1), controls (category Cc) and format characters (Cf); asked
 * after nvdp__is_space. */
bool nvdp__is_dropped(int32_t rune);
/* CJK ideographs; kana and Hangul are written with words and are not meant. */
bool nvdp__is_chinese(int32_t rune);
/* Every character of category P, and the other ASCII signs such as $ + < ^. */
bool nvdp__is_punctuation(int32_t rune);

/* Folds a run without separators into *folded.  Lower case is Unicode's full mapping, with a sigma
 * at a word's end final; stripping accents is NFD and then no character of category Mn. */
nvdp_status nvdp__fold(struct nvdp_context *ctx, const struct nvdp__normalization *normalization,
                       const struct nvdp__runes *run, struct nvdp__runes *folded);

#endif
