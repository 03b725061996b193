/* Small texts and a vocabulary for tests of pretraining (toy_corpus.h): each sentence is three
 * words or phrases that follow from its subject. */
#include "toy_corpus.h"

/* Subjects, each with the verb and the place that follow from it. */
static const char *const subjects[] = {"the cat", "a dog", "our bird", "this fish", "one horse"};
static const char *const verbs[] = {"sat", "barked", "sang", "swam", "galloped"};
static const char *const places[] = {"on the mat", "at the gate", "in a tree", "under water",
                                     "over the hill"};
enum { SUBJECTS = 5 };

/* Writes a text in which `other` of four sentences are on another subject than the document's. */
static const char *write_text(const char *name, size_t documents, uint64_t seed, uint64_t other) {
    const char *path = support_scratch_path(name);
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    for (size_t d = 0; d < documents; d++) {
        size_t sentences = other > 0 ? 2 + nvdp__stream_below(&stream, 8) : 12;
        size_t subject = nvdp__stream_below(&stream, SUBJECTS);
        for (size_t s = 0; s < sentences; s++) {
            bool same = nvdp__stream_below(&stream, 4) >= other;
            size_t i = same ? subject : nvdp__stream_below(&stream, SUBJECTS);
            bool line = nvdp__stream_below(&stream, 3) == 0;
            fprintf(file, "%s %s %s.%s", subjects[i], verbs[i], places[i], line ? "\n" : " And ");
        }
        fputs("so it was.\n\n", file);
    }
    cr_assert_eq(fclose(file), 0);
    return path;
}

const char *toy_text(const char *name, size_t documents, uint64_t seed) {
    return write_text(name, documents, seed, 1);
}

const char *toy_topics(const char *name, size_t documents, uint64_t seed) {
    return write_text(name, documents, seed, 0);
}

const char *toy_vocabulary(void) {
    const char *path = support_scratch_path("toy_vocab.txt");
    support_write_text(path,
                       "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\na\nour\nthis\none\ncat\ndog\n"
                       "bird\nfish\nhorse\ns\n##at\nbark\n##ed\n##ang\n##wam\ngallop\non\nat\n"
                       "in\nunder\nover\nmat\ngate\ntree\nwater\nhill\n.\nand\nso\nit\nwas\n");
    return path;
}

struct toy toy_open(size_t documents) {
    static const struct nvdp__normalization rules = {true, true, true, false};
    struct toy toy = {.ctx = support_context(), .text = toy_text("toy.txt", documents, 7)};
    char *bytes = support_read(toy_vocabulary());
    ok(nvdp__tokenizer_create(toy.ctx, "vocab.txt", bytes, strlen(bytes), nvdp__special_names,
                              &rules, &toy.tokenizer));
    ok(nvdp__pieces_create(toy.ctx, toy.tokenizer, &toy.pieces));
    const char digest[1][NVDP__DIGEST_HEX] = {"0"};
    ok(nvdp__corpus_cached(toy.ctx, toy.tokenizer, &toy.text, digest, 1, NULL, &toy.corpus));
    return toy;
}

void toy_close(struct toy *toy) {
    nvdp__corpus_close(&toy->corpus);
    nvdp__pieces_release(&toy->pieces);
    nvdp_tokenizer_free(toy->tokenizer);
}

struct nvdp_context *toy_context(void) {
    struct nvdp_context *ctx = support_context();
    ok(nvdp_context_set_threads(ctx, 1));
    return ctx;
}

struct nvdp__pretrain_options toy_config(const char *const *text, const char *out) {
    struct nvdp__pretrain_options config;
    nvdp__schema_default(&nvdp__pretrain_schema, &config);
    config.text = text;
    config.texts = 1;
    config.out = out;
    toy_set(&config, "vocab-size 120 hidden 16 layers 1 heads 2 intermediate 32 steps 60 batch 16 "
                     "length 24 lr 1e-2 log-every 10");
    return config;
}

struct nvdp__pretrain_options toy_options(const char *const *text, const char *out,
                                          const char *options) {
    struct nvdp__pretrain_options config = toy_config(text, out);
    toy_set(&config, options);
    return config;
}

void toy_set(struct nvdp__pretrain_options *config, const char *options) {
    support_values(&nvdp__pretrain_schema, config, options);
}

nvdp_status toy_try(struct nvdp_context *ctx, const struct nvdp__pretrain_options *config,
                    struct nvdp_pretrain_result *result) {
    *result = (struct nvdp_pretrain_result)NVDP_RESULT(struct nvdp_pretrain_result);
    const nvdp_status status = nvdp__pretrain(ctx, config, result);
    support_keep(result->coverage);
    support_keep(result->eval_coverage);
    support_keep(result->eval);
    return status;
}

struct nvdp_pretrain_result toy_train(struct nvdp_context *ctx,
                                      const struct nvdp__pretrain_options *config) {
    struct nvdp_pretrain_result result;
    ok(toy_try(ctx, config, &result));
    return result;
}

nvdp_status toy_status(struct nvdp_context *ctx, const struct nvdp__pretrain_options *config) {
    struct nvdp_pretrain_result result;
    return toy_try(ctx, config, &result);
}

static bool stop(void *user) {
    int *calls = user;
    return --*calls == 0;
}

void toy_stop(struct nvdp_context *ctx, const struct nvdp__pretrain_options *config, int calls) {
    nvdp_context_set_cancel(ctx, stop, &calls);
    fails(toy_status(ctx, config), NVDP_ERR_CANCELLED, "");
    nvdp_context_set_cancel(ctx, NULL, NULL);
}
