/* Greedy longest-match-first pieces of one word (Wu et al. 2016, as published with BERT). */
#ifndef NVDP_SRC_TEXT_WORDPIECE_H
#define NVDP_SRC_TEXT_WORDPIECE_H

#include "text/vocabulary.h"

enum {
    /* Longer words are unknown.  BERT's own tokenizer says 200, which the reference ids confirm;
     * some later ones say 100. */
    NVDP__WORD_CHARACTERS = 200,
    NVDP__WORD_BYTES = 4 * NVDP__WORD_CHARACTERS
};

/* Writes the ids of word[0..size) (UTF-8, 1 to NVDP__WORD_BYTES bytes) and returns how many they
 * are, at most one a character; a single `unknown` where pieces do not cover the word. */
size_t nvdp__wordpiece(const struct nvdp__vocabulary *vocabulary, int32_t unknown, const char *word,
                       size_t size, int32_t *ids);

#endif
