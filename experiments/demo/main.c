/* nvdp-demo data DIR [SEED]: writes the demo's data sets and its starting model.
 *
 *   DIR/sentiment/{train,dev,test}.tsv    SST-2's columns
 *   DIR/paraphrase/{train,dev,test}.tsv   MRPC's columns
 *   DIR/sentiment/{train,dev}_names.txt   the private attribute, one name a row of the TSV
 *   DIR/model/                            a small BERT with random weights and the texts'
 * vocabulary */
#include "sentences.h"
#include "table.h"
#include "vocabulary.h"

#include <nvdp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TRAIN_TEXTS = 3000, DEV_TEXTS = 400, TEST_TEXTS = 200, PATH_ROOM = 4096 };

struct sizes {
    const char *split;
    size_t texts;
};
static const struct sizes splits[] = {
    {"train", TRAIN_TEXTS}, {"dev", DEV_TEXTS}, {"test", TEST_TEXTS}};

static FILE *open_file(const char *format, ...) __attribute__((format(printf, 1, 2)));
static FILE *open_file(const char *format, ...) {
    char path[PATH_ROOM];
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
                           struct demo_random *random, struct demo_vocabulary *vocabulary) {
    bool hidden = strcmp(split->split, "test") == 0; /* as in GLUE: no labels in test */
    FILE *data = open_file("%s/sentiment/%s.tsv", directory, split->split);
    FILE *private_ = open_file("%s/sentiment/%s_names.txt", directory, split->split);
    if (data == NULL || private_ == NULL) return -1;
    fprintf(data, hidden ? "index\tsentence\n" : "sentence\tlabel\n");
    for (size_t i = 0; i < split->texts; i++) {
        struct demo_sentence s;
        demo_sentence(random, &s);
        demo_vocabulary_add(vocabulary, s.text);
        if (hidden) {
            fprintf(data, "%zu\t%s\n", i, s.text);
        } else {
            fprintf(data, "%s\t%d\n", s.text, s.positive);
        }
        fprintf(private_, "%s\n", demo_name(s.name));
    }
    return close_file(data) == 0 && close_file(private_) == 0 ? 0 : -1;
}

static int write_paraphrase(const char *directory, const struct sizes *split,
                            struct demo_random *random, struct demo_vocabulary *vocabulary) {
    bool hidden = strcmp(split->split, "test") == 0;
    FILE *data = open_file("%s/paraphrase/%s.tsv", directory, split->split);
    if (data == NULL) return -1;
    fprintf(data, "%s\t#1 ID\t#2 ID\t#1 String\t#2 String\n", hidden ? "index" : "Quality");
    for (size_t i = 0; i < split->texts; i++) {
        struct demo_sentence first;
        char second[DEMO_TEXT_ROOM];
        bool same;
        demo_pair(random, &first, second, &same);
        demo_vocabulary_add(vocabulary, first.text);
        demo_vocabulary_add(vocabulary, second);
        fprintf(data, "%zu\t%zu\t%zu\t%s\t%s\n", hidden ? i : (size_t)same, 2 * i, 2 * i + 1,
                first.text, second);
    }
    return close_file(data);
}

static int make_directory(const char *directory, const char *name) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s%s%s", directory, name[0] == '\0' ? "" : "/", name);
    if (mkdir(path, 0777) == 0) return 0;
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return 0;
    perror(path);
    return -1;
}

/* BERT with random weights: 2 layers, 64 wide. */
static int write_model(const char *directory, const struct demo_vocabulary *vocabulary,
                       uint64_t seed) {
    char list[PATH_ROOM], model[PATH_ROOM];
    struct nvdp_context *ctx = NULL;
    snprintf(list, sizeof list, "%s/vocab.txt", directory);
    snprintf(model, sizeof model, "%s/model", directory);
    size_t pieces = demo_vocabulary_write(vocabulary, list);
    if (pieces == 0 || nvdp_context_create(&ctx) != NVDP_OK) {
        perror(list);
        return -1;
    }
    struct nvdp_bert_config config = nvdp_bert_config_default();
    config.hidden_size = 64;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 4;
    config.intermediate_size = 256;
    config.max_position_embeddings = 128;
    config.vocab_size = pieces;
    nvdp_status status = nvdp_bert_create_random(ctx, &config, seed, list, model);
    if (status != NVDP_OK) fprintf(stderr, "nvdp-demo: %s\n", nvdp_context_error(ctx));
    nvdp_context_free(ctx);
    return status == NVDP_OK ? 0 : -1;
}

static int write_all(const char *directory, long seed) {
    struct demo_random random;
    struct demo_vocabulary *vocabulary = calloc(1, sizeof *vocabulary);
    if (vocabulary == NULL) return -1;
    int failed = make_directory(directory, "") || make_directory(directory, "sentiment") ||
                 make_directory(directory, "paraphrase");
    demo_random_start(&random, seed);
    for (size_t i = 0; i < sizeof splits / sizeof splits[0] && !failed; i++) {
        failed = write_sentiment(directory, &splits[i], &random, vocabulary) ||
                 write_paraphrase(directory, &splits[i], &random, vocabulary);
    }
    if (!failed) failed = write_model(directory, vocabulary, (uint64_t)seed);
    free(vocabulary);
    return failed ? -1 : 0;
}

int main(int argc, char **argv) {
    if (argc >= 3 && argc <= 4 && strcmp(argv[1], "data") == 0) {
        return write_all(argv[2], argc == 4 ? atol(argv[3]) : 1) == 0 ? 0 : 1;
    }
    if (argc >= 4 && strcmp(argv[1], "table") == 0) {
        return demo_table(argv[2], argc - 3, argv + 3) == 0 ? 0 : 1;
    }
    fprintf(stderr, "usage: nvdp-demo data DIR [SEED]\n       nvdp-demo table OUT RUN...\n");
    return 2;
}
