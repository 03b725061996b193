#include "vocabulary.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool known(const struct demo_vocabulary *v, const char *word, size_t size) {
    for (size_t i = 0; i < v->count; i++) {
        if (strlen(v->word[i]) == size && memcmp(v->word[i], word, size) == 0) return true;
    }
    return false;
}

void demo_vocabulary_add(struct demo_vocabulary *v, const char *text) {
    while (*text != '\0') {
        size_t size = strcspn(text, " ");
        bool fits = size > 1 && size < DEMO_WORD_ROOM && v->count < DEMO_WORDS;
        if (fits && !known(v, text, size)) {
            memcpy(v->word[v->count], text, size);
            v->word[v->count++][size] = '\0';
        }
        text += size;
        text += strspn(text, " ");
    }
}

size_t demo_vocabulary_write(const struct demo_vocabulary *v, const char *path) {
    static const char *const special[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    static const char characters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t lines = 0;
    FILE *file = fopen(path, "w");
    if (file == NULL) return 0;
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++, lines++)
        fprintf(file, "%s\n", special[i]);
    for (const char *c = ".,!?'-"; *c != '\0'; c++, lines++)
        fprintf(file, "%c\n", *c);
    for (const char *c = characters; *c != '\0'; c++, lines += 2)
        fprintf(file, "%c\n##%c\n", *c, *c);
    for (size_t i = 0; i < v->count; i++, lines++)
        fprintf(file, "%s\n", v->word[i]);
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed ? lines : 0;
}
