/* nvdp-demo data DIR [SEED [TEXTS]]: writes the demo's data sets, with TEXTS training texts.
 *
 *   DIR/sentiment/{train,dev,test}.tsv    SST-2's columns
 *   DIR/paraphrase/{train,dev,test}.tsv   MRPC's columns
 *   DIR/sentiment/{train,dev}_names.txt   the private attribute, one name per row of the TSV
 *   DIR/names/{train,dev}.tsv             the same texts, labeled with the name
 *
 * nvdp-demo attack RESULT.json ATTACK.json: writes the test scores of a probe in the format that nvdp report reads.
 */
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- the texts, generated from templates, each with a label and a private attribute --- */

enum { TEXT_SIZE = 256 };

/* One sentence: the opinion of a person on a thing. */
struct sentence {
    char text[TEXT_SIZE];
    bool positive; /* the task's label */
    int name;      /* the person: the private attribute, an index of `names` */
};

struct random_state {
    unsigned short state[3];
};

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
/* Words by sentiment; words at the same index of both lists are not related. */
static const char *const good[] = {"wonderful", "superb",     "charming",  "moving",
                                   "brilliant", "delightful", "excellent", "splendid",
                                   "touching",  "clever",     "gorgeous",  "flawless"};
static const char *const bad[] = {"dreadful", "boring", "clumsy",   "tedious",
                                  "awful",    "dull",   "terrible", "shallow",
                                  "lifeless", "messy",  "annoying", "hollow"};
static const char *const degrees[] = {"truly", "quite", "rather", "really", "simply", "deeply"};
static const char *const verbs[] = {"thought",    "said", "found that",
                                    "wrote that", "felt", "insisted that"};

static void start_random(struct random_state *random, long seed) {
    random->state[0] = 0x330e; /* as srand48 */
    random->state[1] = (unsigned short)(seed & 0xffff);
    random->state[2] = (unsigned short)((seed >> 16) & 0xffff);
}

static size_t below(struct random_state *random, size_t n) {
    return (size_t)(erand48(random->state) * (double)n);
}

static const char *pick(struct random_state *random, const char *const *list, size_t n) {
    return list[below(random, n)];
}
#define PICK(random, list) pick(random, list, COUNT(list))

static const char *opinion(struct random_state *random, bool positive) {
    return positive ? PICK(random, good) : PICK(random, bad);
}

/* Writes "the ending was quite moving", or the negated opposite, "... was not dull". */
static void clause(struct random_state *random, const char *subject, bool positive, char *out,
                   size_t size) {
    if (below(random, 4) == 0) {
        snprintf(out, size, "%s was not %s", subject, opinion(random, !positive));
    } else {
        snprintf(out, size, "%s was %s %s", subject, PICK(random, degrees),
                 opinion(random, positive));
    }
}

static void make_sentence(struct random_state *random, struct sentence *out) {
    char subject[48], main_clause[96], aside[96];
    out->positive = below(random, 2) == 1;
    out->name = (int)below(random, COUNT(names));
    snprintf(subject, sizeof subject, "the %s", PICK(random, things));
    clause(random, subject, out->positive, main_clause, sizeof main_clause);
    /* one aside in four has the other sentiment: the main clause decides the label */
    bool contrast = below(random, 4) == 0;
    clause(random, PICK(random, parts), contrast ? !out->positive : out->positive, aside,
           sizeof aside);
    snprintf(out->text, sizeof out->text, "%s from %s , %zu , %s %s %s %s .", names[out->name],
             PICK(random, places), 20 + below(random, 50), PICK(random, verbs), main_clause,
             contrast ? "although" : "and", aside);
}

/* Makes a sentence and a second one, with the same opinion in other words or with the opposite opinion. */
static void make_pair(struct random_state *random, struct sentence *first, char second[TEXT_SIZE],
                      bool *same) {
    char main_clause[96];
    size_t thing = below(random, COUNT(things));
    char subject[48];
    *same = below(random, 2) == 1;
    first->positive = below(random, 2) == 1;
    first->name = (int)below(random, COUNT(names));
    snprintf(subject, sizeof subject, "the %s", things[thing]);
    clause(random, subject, first->positive, main_clause, sizeof main_clause);
    snprintf(first->text, sizeof first->text, "%s from %s %s %s .", names[first->name],
             PICK(random, places), PICK(random, verbs), main_clause);
    clause(random, subject, *same ? first->positive : !first->positive, main_clause,
           sizeof main_clause);
    snprintf(second, TEXT_SIZE, "%s , %s %s .", main_clause, PICK(random, verbs),
             names[first->name]);
}

/* --- the files --- */

enum { TRAIN_TEXTS = 3000, DEV_TEXTS = 400, TEST_TEXTS = 200, PATH_SIZE = 4096 };

struct sizes {
    const char *split;
    size_t texts;
};

__attribute__((format(printf, 1, 2))) static FILE *open_file(const char *format, ...) {
    char path[PATH_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    FILE *file = fopen(path, "w");
    if (file == NULL) perror(path);
    return file;
}

/* Closes a file; returns -1 also after an earlier write error. */
static int close_file(FILE *file) {
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed ? 0 : -1;
}

static int write_sentiment(const char *directory, const struct sizes *split,
                           struct random_state *random) {
    bool hidden = strcmp(split->split, "test") == 0; /* as in GLUE: no labels in test */
    FILE *data = open_file("%s/sentiment/%s.tsv", directory, split->split);
    FILE *private_ = open_file("%s/sentiment/%s_names.txt", directory, split->split);
    FILE *attack = open_file("%s/names/%s.tsv", directory, split->split);
    if (data == NULL || private_ == NULL || attack == NULL) return -1;
    fprintf(data, hidden ? "index\tsentence\n" : "sentence\tlabel\n");
    fprintf(attack, "text\tname\n");
    for (size_t i = 0; i < split->texts; i++) {
        struct sentence s;
        make_sentence(random, &s);
        if (hidden)
            fprintf(data, "%zu\t%s\n", i, s.text);
        else
            fprintf(data, "%s\t%d\n", s.text, s.positive);
        fprintf(private_, "%s\n", names[s.name]);
        fprintf(attack, "%s\t%s\n", s.text, names[s.name]);
    }
    int failed = close_file(data) | close_file(private_) | close_file(attack);
    return failed ? -1 : 0;
}

static int write_paraphrase(const char *directory, const struct sizes *split,
                            struct random_state *random) {
    bool hidden = strcmp(split->split, "test") == 0;
    FILE *data = open_file("%s/paraphrase/%s.tsv", directory, split->split);
    if (data == NULL) return -1;
    fprintf(data, "%s\t#1 ID\t#2 ID\t#1 String\t#2 String\n", hidden ? "index" : "Quality");
    for (size_t i = 0; i < split->texts; i++) {
        struct sentence first;
        char second[TEXT_SIZE];
        bool same;
        make_pair(random, &first, second, &same);
        fprintf(data, "%zu\t%zu\t%zu\t%s\t%s\n", hidden ? i : (size_t)same, 2 * i, 2 * i + 1,
                first.text, second);
    }
    return close_file(data);
}

static int make_directory(const char *directory, const char *name) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s%s%s", directory, name[0] == '\0' ? "" : "/", name);
    if (mkdir(path, 0777) == 0) return 0;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return 0;
    perror(path);
    return -1;
}

static int write_all(const char *directory, long seed, size_t train_texts) {
    const struct sizes splits[] = {
        {"train", train_texts}, {"dev", DEV_TEXTS}, {"test", TEST_TEXTS}};
    struct random_state random;
    int failed = make_directory(directory, "") || make_directory(directory, "sentiment") ||
                 make_directory(directory, "names") || make_directory(directory, "paraphrase");
    start_random(&random, seed);
    for (size_t i = 0; i < sizeof splits / sizeof splits[0] && !failed; i++) {
        failed = write_sentiment(directory, &splits[i], &random) ||
                 write_paraphrase(directory, &splits[i], &random);
    }
    return failed ? -1 : 0;
}

/* Writes the test scores of a probe on a run's embeddings without noise. */
static int write_attack(const char *result, const char *attack) {
    json_error_t error;
    json_t *root = json_load_file(result, 0, &error);
    json_t *test = json_object_get(root, "test");
    int failed = test == NULL || json_dump_file(test, attack, JSON_INDENT(2)) != 0;
    if (failed)
        fprintf(stderr, "nvdp-demo: %s, %s: expected scores and a file to write\n", result, attack);
    json_decref(root);
    return failed ? -1 : 0;
}

int main(int argc, char **argv) {
    if (argc >= 3 && argc <= 5 && strcmp(argv[1], "data") == 0) {
        long seed = argc > 3 ? atol(argv[3]) : 1;
        size_t texts = argc > 4 ? (size_t)atol(argv[4]) : TRAIN_TEXTS;
        return write_all(argv[2], seed, texts) == 0 ? 0 : 1;
    }
    if (argc == 4 && strcmp(argv[1], "attack") == 0)
        return write_attack(argv[2], argv[3]) == 0 ? 0 : 1;
    fprintf(stderr, "usage: nvdp-demo data DIR [SEED [TEXTS]]\n       nvdp-demo attack RESULT.json "
                    "ATTACK.json\n");
    return 2;
}
