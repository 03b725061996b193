/* A text's words as BERT's basic tokenizer makes them: white space and dropped characters gone,
 * folded (lower case, no accents), punctuation marks and ideographs words of their own. */
#ifndef NVDP_SRC_TEXT_WORDS_H
#define NVDP_SRC_TEXT_WORDS_H

#include "text/normalize.h"
#include "text/wordpiece.h"

enum { NVDP__BYTE_VALUES = 256 };

/* What is done to characters, prepared for ASCII. */
struct nvdp__word_rules {
    struct nvdp__normalization normalization;
    unsigned char kind[NVDP__BYTE_VALUES]; /* of ASCII characters: enum byte_kind in words.c */
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
