/* A word vocabulary of the demo's texts, in BERT's vocab.txt layout. */
#ifndef NVDP_DEMO_VOCABULARY_H
#define NVDP_DEMO_VOCABULARY_H

#include <stddef.h>

enum { DEMO_WORDS = 1024, DEMO_WORD_ROOM = 32 };

struct demo_vocabulary {
    size_t count;
    char word[DEMO_WORDS][DEMO_WORD_ROOM];
};

/* Adds the words of a text (split at spaces). */
void demo_vocabulary_add(struct demo_vocabulary *vocabulary, const char *text);
/* Special tokens, letters and digits as whole words and as continuations, then the words. Returns
 * the number of lines, 0 when the file cannot be written. */
size_t demo_vocabulary_write(const struct demo_vocabulary *vocabulary, const char *path);

#endif
