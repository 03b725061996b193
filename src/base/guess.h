/* Suggests the name that a misspelled word, or an old name, was meant to be. */
#ifndef NVDP_SRC_BASE_GUESS_H
#define NVDP_SRC_BASE_GUESS_H

#include <stddef.h>

enum { NVDP__GUESS_SIZE = 64 };

/* Start with the word alone: {.word = word}. */
struct nvdp__guess {
    const char *word;
    size_t distance;             /* of the nearest name so far */
    char text[NVDP__GUESS_SIZE]; /* "; did you mean 'name'?" if a name is near, else "" */
};

/* Compares the word with one more name; NULL is ignored. */
void nvdp__guess(struct nvdp__guess *guess, const char *name);

/* Returns the current name of a preset that may be given by an old name. */
const char *nvdp__preset_name(const char *name);

#endif
