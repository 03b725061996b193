/* nvdp-demo data DIR [SEED [TEXTS]]: writes the demo's data sets, with so many training texts.
 *
 *   DIR/sentiment/{train,dev,test}.tsv    SST-2's columns
 *   DIR/paraphrase/{train,dev,test}.tsv   MRPC's columns
 *   DIR/sentiment/{train,dev}_names.txt   the private attribute, one name a row of the TSV
 *   DIR/names/{train,dev}.tsv             the same texts, labelled with the name
 *
 * nvdp-demo attack RESULT.json ATTACK.json: the test scores of a probe as nvdp report reads them.
 */
#include "sentences.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TRAIN_TEXTS = 3000, DEV_TEXTS = 400, TEST_TEXTS = 200, PATH_SIZE = 4096 };

struct sizes {
    const char *split;
    size_t texts;
};

static FILE *open_file(const char *format, ...) __attribute__((format(printf, 1, 2)));
static FILE *open_file(const char *format, ...) {
    char path[PATH_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    FILE *file = fopen(path, "w");
    if (file == NULL) perror(path);
    return file;
}

/* fclose that notices an earlier write error. */
static int close_file(FILE *file) {
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed ? 0 : -1;
}

static int write_sentiment(const char *directory, const struct sizes *split,
                           struct demo_random *random) {
    bool hidden = strcmp(split->split, "test") == 0; /* as in GLUE: no labels in test */
    FILE *data = open_file("%s/sentiment/%s.tsv", directory, split->split);
    FILE *private_ = open_file("%s/sentiment/%s_names.txt", directory, split->split);
    FILE *attack = open_file("%s/names/%s.tsv", directory, split->split);
    if (data == NULL || private_ == NULL || attack == NULL) return -1;
    fprintf(data, hidden ? "index\tsentence\n" : "sentence\tlabel\n");
    fprintf(attack, "text\tname\n");
    for (size_t i = 0; i < split->texts; i++) {
        struct demo_sentence s;
        demo_sentence(random, &s);
        if (hidden) {
            fprintf(data, "%zu\t%s\n", i, s.text);
        } else {
            fprintf(data, "%s\t%d\n", s.text, s.positive);
        }
        fprintf(private_, "%s\n", demo_name(s.name));
        fprintf(attack, "%s\t%s\n", s.text, demo_name(s.name));
    }
    int failed = close_file(data) | close_file(private_) | close_file(attack);
    return failed ? -1 : 0;
}

static int write_paraphrase(const char *directory, const struct sizes *split,
                            struct demo_random *random) {
    bool hidden = strcmp(split->split, "test") == 0;
    FILE *data = open_file("%s/paraphrase/%s.tsv", directory, split->split);
    if (data == NULL) return -1;
    fprintf(data, "%s\t#1 ID\t#2 ID\t#1 String\t#2 String\n", hidden ? "index" : "Quality");
    for (size_t i = 0; i < split->texts; i++) {
        struct demo_sentence first;
        char second[DEMO_TEXT_SIZE];
        bool same;
        demo_pair(random, &first, second, &same);
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
    struct demo_random random;
    int failed = make_directory(directory, "") || make_directory(directory, "sentiment") ||
                 make_directory(directory, "names") || make_directory(directory, "paraphrase");
    demo_random_start(&random, seed);
    for (size_t i = 0; i < sizeof splits / sizeof splits[0] && !failed; i++) {
        failed = write_sentiment(directory, &splits[i], &random) ||
                 write_paraphrase(directory, &splits[i], &random);
    }
    return failed ? -1 : 0;
}

/* What a probe on a run's plain embeddings found out, beside the run. */
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
