/* The name that a misspelt word, or an old name, was meant to be. */
#ifndef NVDP_SRC_BASE_GUESS_H
#define NVDP_SRC_BASE_GUESS_H

#include <stddef.h>

enum { NVDP__GUESS_SIZE = 64 };

/* Begins with the word alone: {.word = word}. */
struct nvdp__guess {
    const char *word;
    size_t distance;             /* of the nearest name so far */
    char text[NVDP__GUESS_SIZE]; /* "; did you mean 'name'?" as soon as one is near; else "" */
};

/* One more name that it could be.  NULL is none. */
void nvdp__guess(struct nvdp__guess *guess, const char *name);

/* The present name of a preset, which may be given under an old one. */
const char *nvdp__preset_name(const char *name);

#endif
