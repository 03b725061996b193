#include "text/words.h"

#include <stdlib.h>

enum byte_kind { BYTE_LETTER, BYTE_PUNCTUATION, BYTE_SPACE, BYTE_DROPPED, BYTE_NOT_ASCII };

struct nvdp__word_rules nvdp__word_rules(const struct nvdp__normalization *normalization) {
    struct nvdp__word_rules rules = {.normalization = *normalization};
    for (int byte = 0; byte < NVDP__BYTE_VALUES; byte++) {
        enum byte_kind kind = BYTE_LETTER;
        if (byte >= 0x80) {
            kind = BYTE_NOT_ASCII;
        } else if (nvdp__is_space(byte)) {
            kind = BYTE_SPACE;
        } else if (nvdp__is_dropped(byte)) {
            kind = BYTE_DROPPED;
        } else if (nvdp__is_punctuation(byte)) {
            kind = BYTE_PUNCTUATION;
        }
        bool capital = normalization->lower_case && byte >= 'A' && byte <= 'Z';
        rules.kind[byte] = (unsigned char)kind;
        rules.folded[byte] = (char)(capital ? byte - 'A' + 'a' : byte);
    }
    return rules;
}

void nvdp__words_begin(struct nvdp__words *words, const char *text, size_t size) {
    words->text = text;
    words->size = size;
    words->at = 0;
    words->plain_end = 0;
    words->folded.count = 0;
    words->folded_at = 0;
}

void nvdp__words_release(struct nvdp__words *words) {
    free(words->run.at);
    free(words->folded.at);
    *words = (struct nvdp__words){0};
}

static enum byte_kind kind_at(const struct nvdp__words *words, size_t at) {
    return (enum byte_kind)words->rules->kind[(unsigned char)words->text[at]];
}

static void extend_ascii(struct nvdp__word *word, char letter) {
    if (word->characters < NVDP__WORD_CHARACTERS) word->bytes[word->size++] = letter;
    word->characters++;
}

static void extend(struct nvdp__word *word, int32_t rune) {
    if (word->characters < NVDP__WORD_CHARACTERS)
        word->size += nvdp__encode_rune(rune, word->bytes + word->size);
    word->characters++;
}

/* The next word of text[at..plain_end); none where only dropped characters are left. */
static void take_plain(struct nvdp__words *words) {
    struct nvdp__word *word = &words->word;
    for (; words->at < words->plain_end; words->at++) {
        enum byte_kind kind = kind_at(words, words->at);
        if (kind == BYTE_DROPPED) continue;
        if (kind == BYTE_PUNCTUATION && word->characters > 0) return;
        extend_ascii(word, words->rules->folded[(unsigned char)words->text[words->at]]);
        if (kind == BYTE_PUNCTUATION) {
            words->at++;
            return;
        }
    }
}

/* Gathers the characters from `at` up to a separator, and passes a white space one.  An ideograph
 * is a run of its own. */
static nvdp_status gather_run(struct nvdp__words *words) {
    bool chinese = words->rules->normalization.chinese_characters;
    struct nvdp__runes *run = &words->run;
    run->count = 0;
    while (words->at < words->size) {
        size_t bytes;
        int32_t rune = nvdp__decode(words->text + words->at, words->size - words->at, &bytes);
        bool alone = chinese && nvdp__is_chinese(rune);
        if (alone && run->count > 0) return NVDP_OK;
        words->at += bytes;
        if (rune >= 0 && nvdp__is_space(rune)) return NVDP_OK;
        if (!nvdp__is_dropped(rune)) NVDP_RETURN_IF_FAILED(nvdp__runes_push(words->ctx, run, rune));
        if (alone) return NVDP_OK;
    }
    return NVDP_OK;
}

/* The next word of the folded run. */
static void take_folded(struct nvdp__words *words) {
    struct nvdp__word *word = &words->word;
    for (; words->folded_at < words->folded.count; words->folded_at++) {
        int32_t rune = words->folded.at[words->folded_at];
        bool alone = nvdp__is_punctuation(rune);
        if (alone && word->characters > 0) return;
        extend(word, rune);
        if (alone) {
            words->folded_at++;
            return;
        }
    }
}

/* Prepares what follows at `at`.  A run up to white space is plain in most texts; where it is not,
 * its characters depend on each other (a final sigma, the order of accents) and are folded
 * together. */
static nvdp_status start_run(struct nvdp__words *words) {
    while (words->at < words->size && kind_at(words, words->at) == BYTE_SPACE) {
        words->at++;
    }
    size_t end = words->at;
    while (end < words->size && kind_at(words, end) != BYTE_SPACE &&
           kind_at(words, end) != BYTE_NOT_ASCII) {
        end++;
    }
    if (end == words->size || kind_at(words, end) == BYTE_SPACE) {
        words->plain_end = end;
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(gather_run(words));
    words->plain_end = words->at;
    words->folded_at = 0;
    return nvdp__fold(words->ctx, &words->rules->normalization, &words->run, &words->folded);
}

nvdp_status nvdp__words_next(struct nvdp__words *words, bool *found) {
    struct nvdp__word *word = &words->word;
    word->size = 0;
    word->characters = 0;
    for (;;) {
        take_folded(words);
        if (word->characters == 0) take_plain(words);
        if (word->characters > 0 || words->at == words->size) break;
        NVDP_RETURN_IF_FAILED(start_run(words));
    }
    *found = word->characters > 0;
    return NVDP_OK;
}
