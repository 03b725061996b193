#include "sentences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const char *const names[] = {"anna",  "boris", "chloe", "david",
                                    "elena", "farid", "greta", "hugo"};
static const char *const places[] = {"zurich", "lagos",  "lima",   "oslo",
                                     "delhi",  "quebec", "athens", "kyoto"};
static const char *const things[] = {"film",  "novel", "concert", "meal",    "hotel", "play",
                                     "album", "tour",  "museum",  "lecture", "game",  "series"};
static const char *const parts[] = {"the opening",    "the ending",   "the service", "the music",
                                    "the staff",      "the pace",     "the story",   "the price",
                                    "the first half", "the last hour"};
/* Index by sentiment: words in the same place of both lists are not related. */
static const char *const good[] = {"wonderful", "superb",     "charming",  "moving",
                                   "brilliant", "delightful", "excellent", "splendid",
                                   "touching",  "clever",     "gorgeous",  "flawless"};
static const char *const bad[] = {"dreadful", "boring", "clumsy",   "tedious",
                                  "awful",    "dull",   "terrible", "shallow",
                                  "lifeless", "messy",  "annoying", "hollow"};
static const char *const degrees[] = {"truly", "quite", "rather", "really", "simply", "deeply"};
static const char *const verbs[] = {"thought",    "said", "found that",
                                    "wrote that", "felt", "insisted that"};

void demo_random_start(struct demo_random *random, long seed) {
    random->state[0] = 0x330e; /* as srand48 */
    random->state[1] = (unsigned short)(seed & 0xffff);
    random->state[2] = (unsigned short)((seed >> 16) & 0xffff);
}

size_t demo_below(struct demo_random *random, size_t n) {
    return (size_t)(erand48(random->state) * (double)n);
}

static const char *pick(struct demo_random *random, const char *const *list, size_t n) {
    return list[demo_below(random, n)];
}
#define PICK(random, list) pick(random, list, COUNT(list))

int demo_names(void) {
    return (int)COUNT(names);
}

const char *demo_name(int name) {
    return names[name];
}

static const char *opinion(struct demo_random *random, bool positive) {
    return positive ? PICK(random, good) : PICK(random, bad);
}

/* "the ending was quite moving" or its negation of the opposite, "... was not dull". */
static void clause(struct demo_random *random, const char *subject, bool positive, char *out,
                   size_t size) {
    if (demo_below(random, 4) == 0) {
        snprintf(out, size, "%s was not %s", subject, opinion(random, !positive));
    } else {
        snprintf(out, size, "%s was %s %s", subject, PICK(random, degrees),
                 opinion(random, positive));
    }
}

void demo_sentence(struct demo_random *random, struct demo_sentence *out) {
    char subject[48], main_clause[96], aside[96];
    out->positive = demo_below(random, 2) == 1;
    out->name = (int)demo_below(random, COUNT(names));
    snprintf(subject, sizeof subject, "the %s", PICK(random, things));
    clause(random, subject, out->positive, main_clause, sizeof main_clause);
    /* an aside of the other sentiment in one text of four: the main clause decides */
    bool contrast = demo_below(random, 4) == 0;
    clause(random, PICK(random, parts), contrast ? !out->positive : out->positive, aside,
           sizeof aside);
    snprintf(out->text, sizeof out->text, "%s from %s , %zu , %s %s %s %s .", names[out->name],
             PICK(random, places), 20 + demo_below(random, 50), PICK(random, verbs), main_clause,
             contrast ? "although" : "and", aside);
}

void demo_pair(struct demo_random *random, struct demo_sentence *first, char second[DEMO_TEXT_SIZE],
               bool *same) {
    char main_clause[96];
    size_t thing = demo_below(random, COUNT(things));
    char subject[48];
    *same = demo_below(random, 2) == 1;
    first->positive = demo_below(random, 2) == 1;
    first->name = (int)demo_below(random, COUNT(names));
    snprintf(subject, sizeof subject, "the %s", things[thing]);
    clause(random, subject, first->positive, main_clause, sizeof main_clause);
    snprintf(first->text, sizeof first->text, "%s from %s %s %s .", names[first->name],
             PICK(random, places), PICK(random, verbs), main_clause);
    clause(random, subject, *same ? first->positive : !first->positive, main_clause,
           sizeof main_clause);
    snprintf(second, DEMO_TEXT_SIZE, "%s , %s %s .", main_clause, PICK(random, verbs),
             names[first->name]);
}
