/* The demo's texts: made up from templates, with a label and a private attribute in each. */
#ifndef NVDP_DEMO_SENTENCES_H
#define NVDP_DEMO_SENTENCES_H

#include <stdbool.h>
#include <stddef.h>

enum { DEMO_TEXT_SIZE = 256 };

/* One sentence: what someone thought of something. */
struct demo_sentence {
    char text[DEMO_TEXT_SIZE];
    bool positive; /* the task's label */
    int name;      /* who said it: the private attribute, 0 .. demo_names()-1 */
};

struct demo_random {
    unsigned short state[3];
};

void demo_random_start(struct demo_random *random, long seed);
size_t demo_below(struct demo_random *random, size_t n);

int demo_names(void);
const char *demo_name(int name);
void demo_sentence(struct demo_random *random, struct demo_sentence *out);
/* A second sentence about the first: the same opinion in other words (true), or another one. */
void demo_pair(struct demo_random *random, struct demo_sentence *first, char second[DEMO_TEXT_SIZE],
               bool *same);

#endif
