/* A run from its configuration to its result: what it reads besides its texts and what it leaves,
 * opening, steps, the end. */
#include "pretrain/trainer.h"

#include "base/cache.h"
#include "base/json.h"
#include "base/outdir.h"
#include "base/ranks.h"
#include "bert/checkpoint.h"
#include "text/sentence.h"
#include "train/grad_sum.h"
#include "train/rundir.h"
#include "train/state.h"

#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <nvdp/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What changes from step to step beyond parameters and moments; saved with them. */
struct state {
    uint64_t step;            /* steps done */
    uint64_t optimizer_steps; /* as the optimiser counts; set when the state is saved */
    uint64_t epoch;           /* running, from 0 */
    uint64_t epoch_row;       /* examples used of it */
    uint64_t tokens, masked;
    uint64_t metrics_bytes; /* length of metrics.jsonl that belongs to this state */
    double seconds;         /* of training steps */
    double drawing;         /* of them, for privatized input and targets */
    /* since the last line in metrics.jsonl */
    double sum_nll, sum_masked, sum_right, sum_next, sum_next_right, sum_steps;
    double loss, accuracy; /* of that last line */
};

struct pretrainer {
    struct nvdp_context *ctx;
    struct nvdp__pretrain_options config; /* resolved */
    json_t *config_owner;                 /* backs the strings after a resume, with `lists` */
    const char **lists;
    char (*digest)[NVDP__DIGEST_HEX]; /* [texts + eval_texts] SHA-256 of the files */
    /* the vocabulary: vocab.txt, tokenizer_config.json, and what they make */
    char *vocabulary;
    size_t vocabulary_size;
    struct nvdp__private_words words; /* how private it is; epsilon 0: not, or nothing says so */
    json_t *tokenizer_config;
    json_t *init_record; /* how the model it starts from was pretrained; NULL: not known */
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__pieces pieces;
    struct nvdp__corpus corpus, eval_corpus;
    struct nvdp__secrets secrets; /* count 0: none */
    struct nvdp__plants plants;
    struct nvdp_coverage coverage, eval_coverage;
    struct nvdp__pretrain_model model;
    struct nvdp__optimizer optimizer;
    struct nvdp__examples examples;
    struct nvdp__dp *dp;        /* NULL: not private */
    struct nvdp__grad_sum *sum; /* NULL: this process is alone */
    int64_t *order;
    size_t order_capacity;
    struct nvdp__batcher batcher;
    struct nvdp__privatizer privatizer; /* of an adaptive objective */
    struct nvdp__mlm_evaluator evaluator;
    struct state state;
    struct nvdp_mlm_scores eval; /* the last; windows 0: none */
    FILE *metrics;
    double saved_at;
};

/* ---- DIR/state.ckpt ---- */

#define COUNT(member) NVDP__COUNT(struct state, member)
#define REAL(member) NVDP__REAL(struct state, member)

static const struct nvdp__state_member members[] = {COUNT(optimizer_steps), COUNT(step),
                                                    COUNT(epoch),           COUNT(epoch_row),
                                                    COUNT(tokens),          COUNT(masked),
                                                    COUNT(metrics_bytes),   REAL(seconds),
                                                    REAL(drawing),          REAL(sum_nll),
                                                    REAL(sum_masked),       REAL(sum_right),
                                                    REAL(sum_next),         REAL(sum_next_right),
                                                    REAL(sum_steps),        REAL(loss),
                                                    REAL(accuracy),         {0}};

/* Files are rank 0's. */
static bool writes(const struct pretrainer *t) {
    return nvdp__rank(t->ctx) == 0;
}

static nvdp_status state_save(void *pretrainer) {
    struct pretrainer *t = pretrainer;
    if (!writes(t)) return NVDP_OK;
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    t->state.optimizer_steps = t->optimizer.steps_taken;
    json_t *object = nvdp__state_object(members, &t->state);
    nvdp__dp_state(t->dp, object);
    nvdp_status status = nvdp__state_file_write(path, object, &t->model.params, &t->optimizer);
    if (status == NVDP_OK) t->saved_at = nvdp__now();
    free(path);
    return status;
}

static nvdp_status state_load(struct pretrainer *t) {
    nvdp_status status = NVDP_OK;
    json_t *object = NULL;
    struct state state = {0};
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__state_file_read(path, &t->model.params, &t->optimizer, &object));
    NVDP_TRY(nvdp__state_values(t->ctx, path, object, members, &state));
    NVDP_TRY(nvdp__dp_continue(t->dp, path, object));
    if (state.step > t->config.steps)
        NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                            "%s: expected at most %" PRIu64 " steps, found %" PRIu64, path,
                            t->config.steps, state.step));
    nvdp__weights_changed(&t->model.dev);
    t->state = state;
    t->optimizer.steps_taken = state.optimizer_steps;
cleanup:
    json_decref(object);
    free(path);
    return status;
}

/* ---- the records of a run ---- */

/* Whether the vocabulary is trained on noised counts. */
static bool is_private(const struct pretrainer *t) {
    return t->config.words.epsilon > 0;
}

/* ---- the vocabulary: trained on the text, a file's, or that of the model it starts from ---- */

enum { VOCABULARY_LIMIT = 1 << 28, MIN_COUNT = 2 };

static struct nvdp__normalization rules_of(const struct nvdp__pretrain_options *config) {
    return (struct nvdp__normalization){
        .lower_case = !config->cased, .strip_accents = !config->cased, .chinese_characters = true};
}

/* The counts give way to noised ones: what follows, what is logged included, sees only these. */
static nvdp_status privatize_counts(struct pretrainer *t, struct nvdp__word_counts *counts) {
    struct nvdp__release_key key;
    struct nvdp__word_counts noised = {.ctx = t->ctx};
    NVDP_RETURN_IF_FAILED(nvdp__release_key_create(t->ctx, &key));
    nvdp_status status = nvdp__private_word_counts(counts, &t->config.words,
                                                   &(struct nvdp__noise){.release = &key}, &noised);
    nvdp__release_key_wipe(&key);
    nvdp__word_counts_release(counts);
    *counts = noised;
    return status;
}

static nvdp_status train_vocabulary(struct pretrainer *t) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__normalization normalization = rules_of(c);
    struct nvdp__word_rules rules = nvdp__word_rules(&normalization);
    struct nvdp__word_counts counts = {.ctx = t->ctx};
    const struct nvdp__vocabulary_options options = {
        .size = c->vocab_size, .alphabet = c->alphabet, .min_count = MIN_COUNT};
    size_t pieces = 0;
    double start = nvdp__now();
    NVDP_TRY(nvdp__word_counts_read(&counts, &rules, c->text, c->texts, c->words.max_words));
    if (is_private(t)) NVDP_TRY(privatize_counts(t, &counts));
    NVDP_TRY(nvdp__vocabulary_train(t->ctx, &counts, &options, &t->vocabulary, &pieces));
    t->vocabulary_size = strlen(t->vocabulary);
    nvdp__log(t->ctx, NVDP_LOG_INFO, "vocabulary: %zu pieces from %zu distinct %swords in %.1f s%s",
              pieces, counts.words.count, is_private(t) ? "noised " : "", nvdp__now() - start,
              pieces < c->vocab_size ? ": the text has no more pairs that are seen twice" : "");
cleanup:
    nvdp__word_counts_release(&counts);
    return status;
}

/* Rank 0's for all: a private one is drawn. */
static nvdp_status share_vocabulary(struct pretrainer *t) {
    if (nvdp__ranks(t->ctx) == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__rank_share(t->ctx, sizeof t->vocabulary_size, &t->vocabulary_size));
    if (!writes(t))
        t->vocabulary = nvdp__calloc(t->ctx, t->vocabulary_size + 1, sizeof *t->vocabulary);
    NVDP_RETURN_IF_FAILED(
        nvdp__rank_agree(t->ctx, t->vocabulary != NULL ? NVDP_OK : NVDP_ERR_MEMORY));
    return nvdp__rank_share(t->ctx, t->vocabulary_size, t->vocabulary);
}

static nvdp_status read_vocabulary(struct pretrainer *t, const char *path) {
    return nvdp__read_file(t->ctx, path, VOCABULARY_LIMIT, &t->vocabulary, &t->vocabulary_size);
}

/* vocab.txt and, where there is one, tokenizer_config.json of a directory. */
static nvdp_status copy_from(struct pretrainer *t, const char *directory) {
    NVDP_RETURN_IF_FAILED(nvdp_tokenizer_load(t->ctx, directory, &t->tokenizer));
    NVDP_RETURN_IF_FAILED(nvdp__wordpiece_only(t->ctx, t->tokenizer));
    nvdp_status status = NVDP_OK;
    char *vocabulary = nvdp__model_path(t->ctx, directory, "vocab.txt");
    char *config = nvdp__model_path(t->ctx, directory, "tokenizer_config.json");
    NVDP_TRY(NVDP__MADE(vocabulary, config));
    NVDP_TRY(read_vocabulary(t, vocabulary));
    if (nvdp__exists(config)) NVDP_TRY(nvdp__json_read(t->ctx, config, &t->tokenizer_config));
cleanup:
    free(vocabulary);
    free(config);
    return status;
}

static nvdp_status make_config(struct pretrainer *t) {
    bool lower = !t->config.cased;
    t->tokenizer_config = json_pack(
        "{s:s, s:b, s:b, s:b, s:I, s:s, s:s, s:s, s:s, s:s}", "tokenizer_class", "BertTokenizer",
        "do_lower_case", lower, "strip_accents", lower, "tokenize_chinese_chars", 1,
        "model_max_length", (json_int_t)t->config.max_positions, "pad_token", "[PAD]", "unk_token",
        "[UNK]", "cls_token", "[CLS]", "sep_token", "[SEP]", "mask_token", "[MASK]");
    return t->tokenizer_config != NULL ? NVDP_OK
                                       : nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* Where a given vocabulary has vocab_privacy.json beside it, it may be that of the texts to be trained on. */
static nvdp_status read_privacy(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    nvdp_status status = NVDP_OK;
    json_t *read = NULL;
    const json_t *object;
    char *copy = NULL;
    t->words = c->words;
    if (is_private(t)) return NVDP_OK;
    if (c->resume != NULL) {
        object = json_object_get(t->config_owner, "vocabulary");
    } else {
        if (c->vocab == NULL && c->init == NULL) return NVDP_OK;
        if (c->vocab != NULL && (copy = strdup(c->vocab)) == NULL)
            NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory"));
        NVDP_TRY(nvdp__json_read_optional(t->ctx, copy != NULL ? dirname(copy) : c->init,
                                          "vocab_privacy.json", &read));
        object = read;
    }
    if (json_is_object(object))
        NVDP_TRY(nvdp__private_words_read(
            t->ctx, c->resume != NULL ? "pretrain.json" : "vocab_privacy.json", object, &t->words));
cleanup:
    json_decref(read);
    free(copy);
    return status;
}

static nvdp_status open_vocabulary(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    const char *from = c->resume != NULL ? c->out : c->init;
    NVDP_RETURN_IF_FAILED(read_privacy(t));
    if (from != NULL) {
        NVDP_RETURN_IF_FAILED(copy_from(t, from));
    } else {
        struct nvdp__normalization rules = rules_of(c);
        const char *path = c->vocab != NULL ? c->vocab : "vocab.txt";
        NVDP_RETURN_IF_FAILED(NVDP__RANK_0_ONLY(t->ctx, c->vocab != NULL ? read_vocabulary(t, path)
                                                                         : train_vocabulary(t)));
        NVDP_RETURN_IF_FAILED(share_vocabulary(t));
        NVDP_RETURN_IF_FAILED(nvdp__tokenizer_create(t->ctx, path, t->vocabulary,
                                                     t->vocabulary_size, nvdp__special_names,
                                                     &rules, &t->tokenizer));
        NVDP_RETURN_IF_FAILED(make_config(t));
    }
    return nvdp__pieces_create(t->ctx, t->tokenizer, &t->pieces);
}

static nvdp_status write_vocabulary(const struct pretrainer *t) {
    char *path = nvdp__join(t->ctx, t->config.out, "vocab.txt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__write_file(t->ctx, path, t->vocabulary, t->vocabulary_size);
    free(path);
    if (status == NVDP_OK && t->tokenizer_config != NULL)
        status = nvdp__run_json_write(t->ctx, t->config.out, "tokenizer_config.json",
                                      json_incref(t->tokenizer_config));
    if (status == NVDP_OK && t->secrets.count > 0)
        status = nvdp__run_json_write(t->ctx, t->config.out, "planted.json",
                                      nvdp__secrets_json(&t->secrets, t->tokenizer));
    if (status == NVDP_OK && t->words.epsilon > 0)
        status =
            nvdp__run_json_write(t->ctx, t->config.out, "vocab_privacy.json",
                                 nvdp__private_words_json(t->ctx, &t->words, t->config.length));
    return status;
}

/* ---- secrets: words of the vocabulary ---- */

static nvdp_status open_secrets(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    t->secrets.ctx = t->ctx;
    if (c->plant == NULL) return NVDP_OK;
    char *planted = c->resume == NULL ? nvdp__strdup(t->ctx, c->plant)
                                      : nvdp__join(t->ctx, c->out, "planted.json");
    if (planted == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__secrets_read(planted, t->tokenizer, &t->secrets);
    for (size_t i = 0; status == NVDP_OK && i < t->secrets.count; i++) {
        const struct nvdp__secret *secret = &t->secrets.at[i];
        if (secret->window && nvdp__next_sentence(c->objective))
            status = nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                                "%s: expected secrets placed in the text with objective %s, whose "
                                "examples are pairs, found windows of their own",
                                planted, nvdp__objective_names[c->objective]);
        else if (secret->length + 2 > c->length)
            status = nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                                "%s: form %s: expected at most length %zu - 2 words", planted,
                                secret->form, c->length);
    }
    free(planted);
    return status;
}

/* ---- the model ---- */

static const char *dtype_of_torch(enum nvdp_dtype dtype) {
    return dtype == NVDP_DTYPE_F16 ? "float16" : dtype == NVDP_DTYPE_BF16 ? "bfloat16" : "float32";
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Names without their folders and SHA-256 digests of a list of files. */
static json_t *texts_json(const char *const *path, const char (*digest)[NVDP__DIGEST_HEX],
                          size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "name", base_name(path[i]), "sha256", digest[i]));
    }
    return list;
}

static json_t *run_texts_json(const struct pretrainer *t) {
    return texts_json(t->config.text, (const char(*)[NVDP__DIGEST_HEX])t->digest, t->config.texts);
}

static nvdp_status read_init(struct pretrainer *t) {
    json_t *config = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_read_optional(t->ctx, t->config.init, "config.json", &config));
    t->init_record = json_incref(json_object_get(config, "nvdp_pretraining"));
    json_decref(config);
    return NVDP_OK;
}

static json_t *coverage_json(const struct nvdp_coverage *coverage) {
    if (coverage->words == 0) return json_null();
    return json_pack("{s:I, s:f, s:f}", "words", (json_int_t)coverage->words, "unknown",
                     coverage->unknown, "pieces_per_word", coverage->pieces_per_word);
}

static json_t *scores_json(const struct nvdp_mlm_scores *scores) {
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:o}", "windows", (json_int_t)scores->windows,
                     "tokens", (json_int_t)scores->tokens, "masked", (json_int_t)scores->masked,
                     "accuracy", scores->accuracy, "nll", scores->nll, "perplexity",
                     nvdp__json_number(scores->perplexity));
}

static bool is_adaptive(const struct pretrainer *t) {
    return nvdp__adaptive(t->config.objective);
}

/* What the input was privatized by. */
static json_t *privatize_json(const struct nvdp__pretrain_options *c) {
    json_t *object =
        json_pack("{s:s, s:f}", "mechanism", nvdp__token_mechanism_names[c->sanitizer.mechanism],
                  "eta", c->sanitizer.eta);
    if (c->sanitizer.mechanism == NVDP__TOKENS_SANTEXT_PLUS)
        json_object_set_new(object, "p", json_real(c->sanitizer.p));
    return object;
}

/* The word embeddings, which a run that leaves them as they are takes from the model it starts from. */
static void words_digest(const struct pretrainer *t, char hex[NVDP__DIGEST_HEX]) {
    const struct nvdp__params *params = &t->model.params;
    const struct nvdp__param *table = &params->entry[t->model.bert.word];
    struct nvdp__digest digest;
    nvdp__digest_begin(&digest);
    nvdp__digest_bytes(&digest, params->value + table->offset, table->count * sizeof(float));
    nvdp__digest_end(&digest, hex);
}

/* Of the steps so far: the object `dp`, and in `directory` the words. */
static nvdp_status statement(const struct pretrainer *t, const char *directory, json_t *root) {
    char example[400];
    snprintf(example, sizeof example,
             nvdp__next_sentence(t->config.objective)
                 ? "one pair of neighbouring parts of one document, of at most %zu tokens, in "
                   "their order "
                   "or the other way round%s (no text is in two pairs; a document of k pairs is "
                   "protected as a group of k examples)"
                 : "one window of at most %zu tokens of one document%s (a document of k windows is "
                   "protected as a group of k examples)",
             t->config.length,
             t->words.epsilon > 0 ? ", as the vocabulary that came out, which is private, cuts it"
                                  : "");
    return nvdp__dp_statement(
        t->dp, t->state.step > 0 ? t->state.step : t->dp->steps, example,
        is_private(t)
            ? "config.json, model.safetensors and the vocabulary's files"
            : "config.json, model.safetensors and the vocabulary's files, which were given,",
        false, directory, root);
}

/* Where a model comes from, for config.json. */
static json_t *provenance(const struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    json_t *object = json_pack(
        "{s:i, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:s, s:s, s:f, s:f, s:f, s:f, s:I, "
        "s:o}",
        "version", 1, "objective", nvdp__objective_names[c->objective], "text", run_texts_json(t),
        "steps", (json_int_t)t->state.step, "tokens", (json_int_t)t->state.tokens, "masked",
        (json_int_t)t->state.masked, "batch", (json_int_t)c->batch, "length", (json_int_t)c->length,
        "mask_prob", c->mask_prob, "whole_word", c->whole_word, "start",
        nvdp__start_names[c->start], "optimizer", nvdp__optimizer_names[c->optimizer], "lr", c->lr,
        "warmup", c->warmup, "weight_decay", c->weight_decay, "dropout", c->dropout, "seed",
        (json_int_t)c->seed, "software", nvdp__software_json());
    if (c->init != NULL)
        json_object_set_new(
            object, "init",
            json_pack("{s:s, s:O?}", "name", base_name(c->init), "pretraining", t->init_record));
    if (is_adaptive(t)) json_object_set_new(object, "privatize", privatize_json(c));
    if (t->secrets.count > 0) json_object_set_new(object, "planted", json_true());
    if (t->dp != NULL) { /* nothing of the texts but what the statement allows */
        const char *const hidden[] = {"text", "tokens", "masked"};
        for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
            json_object_del(object, hidden[i]);
        if (statement(t, NULL, object) == NVDP_OK) return object;
        json_decref(object);
        return NULL;
    }
    if (c->eval_texts > 0 && t->eval.windows > 0) {
        json_object_set_new(object, "evaluation", scores_json(&t->eval));
        json_object_set_new(object, "evaluation_text",
                            texts_json(c->eval_text,
                                       (const char(*)[NVDP__DIGEST_HEX])t->digest + c->texts,
                                       c->eval_texts));
    }
    return object;
}

static nvdp_status save_config(const struct pretrainer *t) {
    json_t *extra =
        json_pack("{s:s, s:o}", "torch_dtype", dtype_of_torch(nvdp__pretrain_dtype(&t->config)),
                  "nvdp_pretraining", provenance(t));
    if (extra == NULL) return nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
    nvdp_status status = nvdp__bert_config_write(t->ctx, t->config.out, &t->model.bert.config,
                                                 "BertForPreTraining", extra);
    json_decref(extra);
    return status;
}

static nvdp_status save_model(struct pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__checkpoint_save_as(&t->model.dev, t->config.out, &t->model.params,
                                                   nvdp__pretrain_dtype(&t->config)));
    return save_config(t);
}

static json_t *corpus_json(const struct pretrainer *t) {
    return json_pack("{s:I, s:I, s:I, s:o}", "documents", (json_int_t)t->corpus.documents,
                     "sentences", (json_int_t)t->corpus.sentences, "tokens",
                     (json_int_t)t->corpus.tokens, "coverage", coverage_json(&t->coverage));
}

static nvdp_status write_run(const struct pretrainer *t) {
    char words[NVDP__DIGEST_HEX] = "";
    json_t *vocabulary = NULL;
    if (is_adaptive(t)) words_digest(t, words);
    if (t->words.epsilon > 0) {
        vocabulary = nvdp__private_words_json(t->ctx, &t->words, t->config.length);
        if (vocabulary == NULL) return NVDP_ERR_MEMORY;
    }
    return nvdp__run_json_write(
        t->ctx, t->config.out, "pretrain.json",
        json_pack("{s:s, s:s*, s:o*, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:O?}", "nvdp_format",
                  "pretrain/1", "words", is_adaptive(t) ? words : NULL, "vocabulary", vocabulary,
                  "config", nvdp__pretrain_options_json(&t->config), "text", run_texts_json(t),
                  "software", nvdp__software_json(), "hardware", nvdp__hardware_json(t->ctx),
                  "corpus", is_private(t) ? json_null() : corpus_json(t), "parameters",
                  (json_int_t)nvdp__params_trainable(&t->model.params), "created", nvdp__now_json(),
                  "init_pretraining", t->init_record));
}

static nvdp_status read_run(struct pretrainer *t, const char *directory) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(t->ctx, directory, "pretrain.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__json_read(t->ctx, path, &t->config_owner));
    const json_t *object = json_object_get(t->config_owner, "config");
    if (!json_is_object(object))
        NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                            "%s: no 'config' object: not a run of nvdp pretrain", path));
    NVDP_TRY(nvdp__pretrain_options_read(t->ctx, path, object, &t->config, &t->lists));
    const json_t *record = json_object_get(t->config_owner, "init_pretraining");
    if (json_is_object(record)) t->init_record = json_incref((json_t *)record);
cleanup:
    free(path);
    return status;
}

static nvdp_status check_texts(const struct pretrainer *t) {
    const json_t *recorded = json_object_get(t->config_owner, "text");
    for (size_t i = 0; i < t->config.texts; i++) {
        const char *digest =
            json_string_value(json_object_get(json_array_get(recorded, i), "sha256"));
        if (digest == NULL || strcmp(digest, t->digest[i]) != 0)
            return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                              "%s: expected the text that the run began with (SHA-256 %s), found "
                              "%s",
                              t->config.text[i], digest != NULL ? digest : "not recorded",
                              t->digest[i]);
    }
    return NVDP_OK;
}

static nvdp_status write_result(const struct pretrainer *t, const struct nvdp_pretrain_result *r) {
    json_t *root = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:f, s:f}", "steps",
                             (json_int_t)r->steps, "tokens", (json_int_t)r->tokens, "masked",
                             (json_int_t)r->masked, "vocab_size", (json_int_t)r->vocab_size,
                             "parameters", (json_int_t)r->parameters, "loss", r->loss, "accuracy",
                             r->accuracy, "coverage", coverage_json(&r->coverage), "seconds",
                             r->seconds, "tokens_per_second", r->tokens_per_second);
    if (root != NULL && is_adaptive(t))
        json_object_set_new(root, "drawing_seconds", json_real(r->drawing_seconds));
    if (root != NULL && t->sum != NULL)
        json_object_set_new(root, "sum", nvdp__grad_sum_json(t->sum));
    if (root != NULL && t->dp != NULL) {
        nvdp_status status = statement(t, t->config.out, root);
        if (status != NVDP_OK) {
            json_decref(root);
            return status;
        }
    }
    if (root != NULL && r->eval.windows > 0) {
        json_object_set_new(root, "evaluation", scores_json(&r->eval));
        json_object_set_new(root, "evaluation_coverage", coverage_json(&r->eval_coverage));
    }
    return nvdp__run_json_write(t->ctx, t->config.out, "result.json", root);
}

/* What a run writes; --overwrite removes exactly these. */
static const char *const files[] = {
    "pretrain.json",      "metrics.jsonl",     "result.json", "state.ckpt",
    "config.json",        "model.safetensors", "vocab.txt",   "tokenizer_config.json",
    "vocab_privacy.json", "dp-statement.txt",  "planted.json"};

/* ---- opening: texts, vocabulary, model, directory, memory ---- */

static nvdp_status hash_texts(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    t->digest = nvdp__calloc(t->ctx, c->texts + c->eval_texts, sizeof *t->digest);
    if (t->digest == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < c->texts + c->eval_texts; i++) {
        const char *path = i < c->texts ? c->text[i] : c->eval_text[i - c->texts];
        NVDP_RETURN_IF_FAILED(nvdp__file_sha256(t->ctx, path, t->digest[i]));
    }
    return NVDP_OK;
}

static nvdp_status open_corpora(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    const char(*digest)[NVDP__DIGEST_HEX] = (const char(*)[NVDP__DIGEST_HEX])t->digest;
    int32_t unknown = nvdp_tokenizer_special(t->tokenizer, NVDP_TOKEN_UNK);
    NVDP_RETURN_IF_FAILED(
        nvdp__corpus_cached(t->ctx, t->tokenizer, c->text, digest, c->texts, c->cache, &t->corpus));
    if (c->eval_texts > 0)
        NVDP_RETURN_IF_FAILED(nvdp__corpus_cached(t->ctx, t->tokenizer, c->eval_text,
                                                  digest + c->texts, c->eval_texts, c->cache,
                                                  &t->eval_corpus));
    if (!is_private(t)) t->coverage = nvdp__corpus_coverage(&t->corpus, &t->pieces, unknown);
    if (c->eval_texts > 0)
        t->eval_coverage = nvdp__corpus_coverage(&t->eval_corpus, &t->pieces, unknown);
    if (is_private(t)) return NVDP_OK; /* the words' counts, without noise */
    nvdp__log(t->ctx, NVDP_LOG_INFO,
              "text: %zu documents, %zu sentences, %zu tokens; %.4f pieces a word, %.4f %% unknown",
              t->corpus.documents, t->corpus.sentences, t->corpus.tokens,
              t->coverage.pieces_per_word, 100 * t->coverage.unknown);
    return NVDP_OK;
}

static nvdp_status pretrainer_bert(struct pretrainer *t, size_t pieces,
                                   struct nvdp_bert_config *bert) {
    struct nvdp__pretrain_options *c = &t->config;
    *bert = nvdp__pretrain_bert(c, pieces);
    if (c->init == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp_bert_config_read(t->ctx, c->init, bert));
    NVDP_RETURN_IF_FAILED(nvdp_bert_check_vocabulary(t->ctx, c->init, bert, pieces));
    c->hidden = bert->hidden_size;
    c->layers = bert->num_hidden_layers;
    c->heads = bert->num_attention_heads;
    c->intermediate = bert->intermediate_size;
    c->max_positions = bert->max_position_embeddings;
    c->vocab_size = bert->vocab_size;
    if (c->length <= c->max_positions) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "length: expected at most max_position_embeddings %zu of %s, found %zu",
                      c->max_positions, c->init, c->length);
}

static nvdp_status pretrainer_model(struct pretrainer *t, const struct nvdp_bert_config *bert) {
    enum nvdp_precision callers = nvdp_context_precision(t->ctx);
    nvdp_context_set_precision(t->ctx, t->config.precision);
    nvdp_status status =
        nvdp__pretrain_model_create(t->ctx, bert, t->config.objective, true, &t->model);
    nvdp_context_set_precision(t->ctx, callers);
    return status;
}

/* The frozen word embeddings of a resumed run, which its state does not hold. */
static nvdp_status load_words(struct pretrainer *t) {
    const char *recorded = json_string_value(json_object_get(t->config_owner, "words"));
    char words[NVDP__DIGEST_HEX];
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_model_load(&t->model, t->config.init, false));
    words_digest(t, words);
    if (recorded != NULL && strcmp(recorded, words) == 0) return NVDP_OK;
    return nvdp__fail(
        t->ctx, NVDP_ERR_INPUT,
        "%s: expected the word embeddings that the run began with (BLAKE2b %s), found "
        "%s",
        t->config.init, recorded != NULL ? recorded : "not recorded", words);
}

/* A resumed run's weights come from its state, its sizes from its own config.json. */
static nvdp_status open_model(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp_bert_config bert;
    size_t pieces = nvdp_tokenizer_size(t->tokenizer);
    if (c->resume != NULL) {
        NVDP_RETURN_IF_FAILED(nvdp_bert_config_read(t->ctx, c->out, &bert));
        NVDP_RETURN_IF_FAILED(nvdp_bert_check_vocabulary(t->ctx, c->out, &bert, pieces));
    } else {
        NVDP_RETURN_IF_FAILED(pretrainer_bert(t, pieces, &bert));
    }
    NVDP_RETURN_IF_FAILED(pretrainer_model(t, &bert));
    if (c->resume != NULL && is_adaptive(t)) return load_words(t);
    if (c->resume != NULL) return NVDP_OK;
    nvdp__pretrain_model_initialise(&t->model, c->seed);
    if (c->init == NULL)
        return c->start == NVDP__START_NEIGHBOURS
                   ? nvdp__initialise_neighbours(&t->model.bert, &t->model.dev, &t->model.params,
                                                 c->seed)
                   : NVDP_OK;
    NVDP_RETURN_IF_FAILED(read_init(t));
    return nvdp__pretrain_model_load(&t->model, c->init, false);
}

/* Windows or pairs of which each is an example of private training: always the same. */
static nvdp_status open_private(struct pretrainer *t) {
    struct nvdp__pretrain_options *c = &t->config;
    if (!nvdp__dp_wanted(&c->dp)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(
        nvdp__next_sentence(c->objective)
            ? nvdp__examples_own_pairs(&t->examples, &t->corpus, &t->pieces, c->length, c->seed)
            : nvdp__examples_windows(&t->examples, &t->corpus, &t->pieces, c->length, NULL, 0));
    NVDP_RETURN_IF_FAILED(nvdp__examples_planted(&t->examples, &t->plants));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(t->ctx, &t->order, &t->order_capacity, t->examples.count, sizeof *t->order));
    struct nvdp_dp_guarantee vocabulary = {0, 0};
    if (t->words.epsilon > 0) {
        const struct nvdp__example_privacy of = nvdp__private_removal(&t->words, c->length - 2);
        vocabulary = (struct nvdp_dp_guarantee){of.epsilon, of.delta};
    }
    NVDP_RETURN_IF_FAILED(nvdp__dp_create(t->ctx, &c->dp, t->examples.count, 0, c->stop_after,
                                          c->batch, &vocabulary, &t->dp));
    c->stop_after = t->dp->steps;
    t->model.per_example = true;
    return NVDP_OK;
}

static nvdp_status allocate(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    t->examples.ctx = t->ctx;
    if (t->secrets.count > 0)
        NVDP_RETURN_IF_FAILED(
            nvdp__plants_create(t->ctx, c->plant, &t->secrets, &t->corpus, &t->pieces, &t->plants));
    NVDP_RETURN_IF_FAILED(open_private(t));
    /* Private training works on so many at a time. */
    const size_t batch = t->dp != NULL ? c->batch : nvdp__rank_most(t->ctx, c->batch);
    const size_t masked = nvdp__batcher_masked(batch, c->length, c->mask_prob);
    t->optimizer = (struct nvdp__optimizer){
        .lr = c->lr,
        .beta1 = c->beta1,
        .beta2 = c->beta2,
        .eps = c->adam_eps,
        .weight_decay = c->weight_decay,
        .clip_norm = c->clip_norm,
        .kind = c->optimizer,
        .momentum = c->momentum,
    };
    NVDP_RETURN_IF_FAILED(nvdp__optimizer_create(t->ctx, &t->model.params, &t->optimizer));
    NVDP_RETURN_IF_FAILED(nvdp__grad_sum_create(t->ctx, &t->model.params, 0, &t->sum));
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_model_plan(&t->model, batch, c->length, masked, NULL));
    NVDP_RETURN_IF_FAILED(nvdp__batcher_create(t->ctx, &t->corpus, &t->pieces, batch, c->length,
                                               c->mask_prob, c->whole_word, &t->batcher));
    if (t->secrets.count > 0) t->batcher.plants = &t->plants;
    if (t->dp != NULL)
        NVDP_RETURN_IF_FAILED(
            nvdp__pretrain_model_per_example(&t->model, batch, c->length, masked, &t->dp->grads));
    if (is_adaptive(t))
        NVDP_RETURN_IF_FAILED(
            nvdp__privatizer_create(t->ctx, &c->sanitizer, c->objective, t->tokenizer, &t->pieces,
                                    c->hidden, nvdp__value(&t->model.params, t->model.bert.word),
                                    batch, c->length, masked, &t->privatizer));
    if (c->eval_texts == 0) return NVDP_OK;
    const struct nvdp__mlm_options eval = {.length = c->length,
                                           .batch = batch,
                                           .mask_prob = c->mask_prob,
                                           .whole_word = c->whole_word,
                                           .seed = c->seed,
                                           .limit = c->eval_limit};
    NVDP_RETURN_IF_FAILED(
        nvdp__mlm_evaluator_create(t->ctx, &t->eval_corpus, &t->pieces, &eval, &t->evaluator));
    if (is_adaptive(t)) t->evaluator.privatizer = &t->privatizer;
    return NVDP_OK;
}

/* Nothing is written, and no earlier run removed, before vocabulary and weights are known good. */
static nvdp_status prepare(struct pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__outdir_check(t->ctx, t->config.out, t->config.overwrite));
    NVDP_RETURN_IF_FAILED(nvdp__outdir_tidy(t->ctx, t->config.out));
    NVDP_RETURN_IF_FAILED(
        nvdp__outdir_remove(t->ctx, t->config.out, files, sizeof files / sizeof files[0]));
    NVDP_RETURN_IF_FAILED(nvdp__make_directory(t->ctx, t->config.out));
    return write_vocabulary(t);
}

/* Where a run is to start from itself, its weights would be gone. */
static nvdp_status check_init(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    char *init = c->init == NULL ? NULL : realpath(c->init, NULL);
    char *out = realpath(c->out, NULL);
    bool same = init != NULL && out != NULL && strcmp(init, out) == 0;
    free(init);
    free(out);
    if (!same) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected another directory than the model to start from", c->out);
}

/* What a resume needs, from step 0 on; pretrain.json, which it looks for, comes last. */
static nvdp_status begin(struct pretrainer *t) {
    NVDP_RETURN_IF_FAILED(save_config(t));
    NVDP_RETURN_IF_FAILED(state_save(t));
    NVDP_RETURN_IF_FAILED(write_run(t));
    return nvdp__metrics_file_open(t->ctx, t->config.out, 0, &t->metrics);
}

static nvdp_status go_on(struct pretrainer *t) {
    NVDP_RETURN_IF_FAILED(state_load(t));
    if (!writes(t)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__outdir_tidy(t->ctx, t->config.out));
    return nvdp__metrics_file_open(t->ctx, t->config.out, t->state.metrics_bytes, &t->metrics);
}

static nvdp_status pretrainer_open(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    nvdp_status status = NVDP_OK;
    if (c->resume == NULL) {
        NVDP_RETURN_IF_FAILED(
            NVDP__RANK_0_ONLY(t->ctx, nvdp__outdir_check(t->ctx, c->out, c->overwrite)));
        NVDP_RETURN_IF_FAILED(NVDP__RANK_0_ONLY(t->ctx, check_init(t)));
    }
    status = hash_texts(t);
    if (status == NVDP_OK && c->resume != NULL) status = check_texts(t);
    NVDP_RETURN_IF_FAILED(nvdp__rank_agree(t->ctx, status));
    NVDP_RETURN_IF_FAILED(nvdp__rank_agree(t->ctx, open_vocabulary(t)));
    NVDP_RETURN_IF_FAILED(nvdp__rank_agree(t->ctx, open_secrets(t)));
    NVDP_RETURN_IF_FAILED(nvdp__rank_agree(t->ctx, open_model(t)));
    NVDP_RETURN_IF_FAILED(nvdp__params_share(t->ctx, &t->model.params));
    if (c->resume == NULL) NVDP_RETURN_IF_FAILED(NVDP__RANK_0_ONLY(t->ctx, prepare(t)));
    if (c->cache != NULL) /* rank 0 makes what the others find */
        NVDP__RANK_0_FIRST(t->ctx, status, open_corpora(t));
    else
        status = nvdp__rank_agree(t->ctx, open_corpora(t));
    NVDP_RETURN_IF_FAILED(status);
    NVDP_RETURN_IF_FAILED(nvdp__rank_agree(t->ctx, allocate(t)));
    NVDP_RETURN_IF_FAILED(nvdp__dp_share(t->dp));
    return c->resume != NULL ? nvdp__rank_agree(t->ctx, go_on(t))
                             : NVDP__RANK_0_ONLY(t->ctx, begin(t));
}

static void pretrainer_close(struct pretrainer *t) {
    if (t->metrics != NULL) fclose(t->metrics);
    nvdp__mlm_evaluator_release(&t->evaluator);
    nvdp__batcher_release(&t->batcher);
    nvdp__privatizer_release(&t->privatizer);
    nvdp__examples_release(&t->examples);
    nvdp__plants_release(&t->plants);
    nvdp__secrets_release(&t->secrets);
    nvdp__dp_free(t->dp);
    free(t->order);
    nvdp__grad_sum_free(t->sum);
    nvdp__optimizer_release(&t->optimizer);
    if (t->model.ctx != NULL) nvdp__pretrain_model_release(&t->model);
    nvdp__corpus_close(&t->corpus);
    nvdp__corpus_close(&t->eval_corpus);
    nvdp__pieces_release(&t->pieces);
    nvdp_tokenizer_free(t->tokenizer);
    json_decref(t->tokenizer_config);
    json_decref(t->init_record);
    free(t->vocabulary);
    free(t->digest);
    free(t->lists);
    json_decref(t->config_owner);
}

/* ---- the loop: epochs of examples, steps, evaluations, saved models and states ---- */

/* The progress line's loss and accuracy are means that forget by this much a step. */
static const double FORGETTING = 0.98;

struct recent {
    double weight, loss, accuracy;
};

struct step_report {
    struct nvdp__pretrain_losses losses;
    size_t masked, tokens, windows;
    double drawing;         /* seconds */
    double total, lr, norm; /* mean masked-LM loss + next-sentence loss */
};

/* The epoch's examples in their order. */
static nvdp_status load_epoch(struct pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    uint32_t epoch = (uint32_t)t->state.epoch;
    if (t->dp != NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(
        nvdp__next_sentence(c->objective)
            ? nvdp__examples_pairs(&t->examples, &t->corpus, c->length, c->seed, epoch)
            : nvdp__examples_windows(&t->examples, &t->corpus, &t->pieces, c->length, &c->seed,
                                     epoch));
    NVDP_RETURN_IF_FAILED(nvdp__examples_planted(&t->examples, &t->plants));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(t->ctx, &t->order, &t->order_capacity, t->examples.count, sizeof *t->order));
    nvdp__epoch_order(c->seed, epoch, t->examples.count, t->order);
    return NVDP_OK;
}

static nvdp_status diverged(struct pretrainer *t, const struct step_report *r) {
    return nvdp__fail(t->ctx, NVDP_ERR_NUMERIC,
                      "step %" PRIu64 ": pretraining diverged: loss %g, gradient norm %g, learning "
                      "rate %g; try a smaller --lr or a longer --warmup",
                      t->state.step + 1, r->total, r->norm, r->lr);
}

static size_t tokens_of(const struct pretrainer *t, const int64_t *order, size_t n) {
    size_t tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += nvdp__example_tokens(&t->examples.at[order[i]]);
    return tokens;
}

struct step_windows {
    const struct nvdp__examples *examples;
    const int64_t *order;
};

static size_t length_of(const void *user, size_t i) {
    const struct step_windows *windows = user;
    return nvdp__example_tokens(&windows->examples->at[windows->order[i]]);
}

/* Of a process without examples. */
static nvdp_status no_gradient(struct pretrainer *t) {
    struct nvdp__params *params = &t->model.params;
    nvdp__grad_begin(&t->model.dev, params);
    nvdp__grad_rows(params, 0, NULL);
    nvdp__zero(&t->model.dev, params->total, params->grad);
    return NVDP_OK;
}

/* The gradient of the epoch's next examples: this process's part of the sum of all. */
static nvdp_status gradient(struct pretrainer *t, struct nvdp__pass *pass,
                            const struct nvdp__mask_key *key, struct step_report *r) {
    const struct nvdp__pretrain_options *c = &t->config;
    size_t first = t->state.epoch_row;
    size_t left = t->examples.count - first;
    r->windows = left < c->batch ? left : c->batch;
    const struct nvdp__stretch own = nvdp__rank_balanced(
        t->ctx, r->windows, length_of, &(struct step_windows){&t->examples, t->order + first});
    nvdp__batcher_fill(&t->batcher, &t->examples, t->order + first + own.first, 0, own.count, key);
    const struct nvdp__masked *targets = &t->batcher.masked;
    const struct nvdp__privacy_key draws = {
        .seed = c->seed, .step = (uint32_t)t->state.step, .first = own.first};
    double start = nvdp__now();
    if (is_adaptive(t))
        NVDP_RETURN_IF_FAILED(
            nvdp__privatize(&t->privatizer, t->batcher.batch, targets, &draws, &targets));
    r->drawing = nvdp__now() - start;
    r->masked = t->batcher.masked.count;
    r->tokens = t->batcher.batch->tokens;
    if (t->sum != NULL) {
        double masked = (double)r->masked;
        NVDP_RETURN_IF_FAILED(nvdp__rank_sum(t->ctx, 1, &masked));
        pass->part = (struct nvdp__part){.tokens = tokens_of(t, t->order + first, own.first),
                                         .all_texts = r->windows,
                                         .all_heads = (size_t)masked};
    }
    nvdp__grad_sum_begin(t->sum, true);
    if (own.count == 0) return no_gradient(t);
    NVDP_RETURN_IF_FAILED(
        nvdp__pretrain_model_step(&t->model, t->batcher.batch, targets, pass, &r->losses));
    const double share = (double)own.count / (double)r->windows;
    r->losses.next *= share;
    r->losses.next_accuracy *= share;
    return NVDP_OK;
}

/* The clipped sum over the windows that the step draws, some at a time, with noise. */
static nvdp_status private_gradient(struct pretrainer *t, struct nvdp__pass *pass,
                                    const struct nvdp__mask_key *key, struct step_report *r) {
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__device *dev = &t->model.dev;
    struct nvdp__params *params = &t->model.params;
    size_t drawn;
    nvdp__grad_begin(dev, params);
    const struct nvdp__stretch own =
        nvdp__dp_start(t->dp, dev, params, t->state.step, t->order, &drawn);
    nvdp__grad_sum_begin(t->sum, false);
    pass->divisor = t->dp->divisor;
    pass->part.tokens = tokens_of(t, t->order, own.first);
    for (size_t at = 0; at < own.count; at += c->batch) {
        struct nvdp__pretrain_losses losses;
        size_t n = own.count - at < c->batch ? own.count - at : c->batch;
        nvdp__batcher_fill(&t->batcher, &t->examples, t->order + own.first + at, 0, n, key);
        nvdp__dp_begin(t->dp, dev, n);
        nvdp_status status = nvdp__pretrain_model_step(&t->model, t->batcher.batch,
                                                       &t->batcher.masked, pass, &losses);
        if (status == NVDP_OK) status = nvdp__dp_clip(t->dp, dev, at == 0);
        dev->per_example = NULL;
        NVDP_RETURN_IF_FAILED(status);
        r->losses.nll += losses.nll;
        r->losses.right += losses.right;
        r->losses.next += losses.next * (double)n / (double)drawn;
        r->losses.next_accuracy += losses.next_accuracy * (double)n / (double)drawn;
        r->masked += t->batcher.masked.count;
        r->tokens += t->batcher.batch->tokens;
        pass->part.tokens += t->batcher.batch->tokens;
    }
    nvdp__dp_noise(t->dp, dev, params, t->state.step);
    return nvdp__device_status(dev);
}

/* All processes' gradients and losses together. */
static nvdp_status add_up(struct pretrainer *t, struct step_report *r) {
    struct nvdp__pretrain_losses *l = &r->losses;
    double part[] = {l->nll,           l->right,          l->next,
                     l->next_accuracy, (double)r->masked, (double)r->tokens};
    if (t->sum == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__grad_sum_finish(t->sum, &t->model.dev));
    NVDP_RETURN_IF_FAILED(nvdp__rank_sum(t->ctx, sizeof part / sizeof *part, part));
    *l = (struct nvdp__pretrain_losses){
        .nll = part[0], .right = part[1], .next = part[2], .next_accuracy = part[3]};
    r->masked = (size_t)part[4];
    r->tokens = (size_t)part[5];
    return NVDP_OK;
}

/* One optimiser step. */
static nvdp_status train_step(struct pretrainer *t, struct step_report *r) {
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__pass pass = {.training = true,
                              .hidden_dropout = (float)c->dropout,
                              .attention_dropout = (float)c->dropout,
                              .seed = nvdp__dp_seed(t->dp, c->seed),
                              .step = (uint32_t)t->state.step};
    const struct nvdp__mask_key key = {.seed = nvdp__dp_seed(t->dp, c->seed),
                                       .purpose = NVDP__PURPOSE_MASK,
                                       .number = (uint32_t)t->state.step};
    double factor = nvdp__lr_factor(t->state.step, c->steps, c->warmup);
    *r = (struct step_report){.lr = c->lr * factor, .norm = NAN};
    NVDP_RETURN_IF_FAILED(t->dp != NULL ? private_gradient(t, &pass, &key, r)
                                        : gradient(t, &pass, &key, r));
    NVDP_RETURN_IF_FAILED(add_up(t, r));
    r->total = r->losses.nll / fmax((double)r->masked, 1) + r->losses.next;
    if (!isfinite(r->total)) return diverged(t, r);
    nvdp_status status =
        nvdp__optimizer_step(&t->optimizer, &t->model.dev, &t->model.params, factor, &r->norm);
    return status == NVDP_ERR_NUMERIC ? diverged(t, r) : status;
}

static void count_step(struct pretrainer *t, const struct step_report *r, double seconds) {
    struct state *s = &t->state;
    s->step++;
    s->epoch_row += r->windows;
    s->tokens += r->tokens;
    s->masked += r->masked;
    s->seconds += seconds;
    s->drawing += r->drawing;
    s->sum_nll += r->losses.nll;
    s->sum_masked += (double)r->masked;
    s->sum_right += r->losses.right;
    s->sum_next += r->losses.next;
    s->sum_next_right += r->losses.next_accuracy;
    s->sum_steps++;
}

/* `line` is stolen. */
static nvdp_status append_metrics(struct pretrainer *t, json_t *line) {
    if (writes(t))
        return nvdp__metrics_file_append(t->ctx, t->config.out, t->metrics, line,
                                         &t->state.metrics_bytes);
    json_decref(line);
    return NVDP_OK;
}

/* Means since the last line. */
static nvdp_status log_step(struct pretrainer *t, const struct step_report *r) {
    struct state *s = &t->state;
    double masked = fmax(s->sum_masked, 1);
    s->loss = s->sum_nll / masked;
    s->accuracy = s->sum_right / masked;
    json_t *line = json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "event", "step",
                             "step", (json_int_t)s->step, "epoch", (json_int_t)(s->epoch + 1),
                             "tokens", (json_int_t)s->tokens, "loss", s->loss, "accuracy",
                             s->accuracy, "lr", r->lr, "grad_norm", r->norm, "tokens_per_second",
                             (double)s->tokens / fmax(s->seconds, 1e-9));
    if (nvdp__next_sentence(t->config.objective)) {
        json_object_set_new(line, "next_loss", json_real(s->sum_next / s->sum_steps));
        json_object_set_new(line, "next_accuracy", json_real(s->sum_next_right / s->sum_steps));
    }
    nvdp_status status = nvdp__dp_spent(t->dp, s->step, line);
    if (status != NVDP_OK) {
        json_decref(line);
        return status;
    }
    s->sum_nll = s->sum_masked = s->sum_right = 0;
    s->sum_next = s->sum_next_right = s->sum_steps = 0;
    return append_metrics(t, line);
}

static nvdp_status save_and_stop(struct pretrainer *t) {
    NVDP_RETURN_IF_FAILED(state_save(t));
    return nvdp__fail(t->ctx, NVDP_ERR_CANCELLED,
                      "interrupted after step %" PRIu64 " of %" PRIu64
                      "; continue with: nvdp pretrain --resume %s",
                      t->state.step, t->config.stop_after, t->config.out);
}

/* Where other processes are gone: what was done before them is kept. */
static nvdp_status keep_state(struct pretrainer *t, nvdp_status status) {
    return nvdp__rank_keep(t->ctx, status, state_save, t, "nvdp pretrain --resume", t->config.out);
}

static nvdp_status evaluate(struct pretrainer *t) {
    if (t->config.eval_texts == 0) return NVDP_OK;
    nvdp_status status = keep_state(t, nvdp__mlm_score(&t->evaluator, &t->model, NULL, &t->eval));
    if (status == NVDP_ERR_CANCELLED) return save_and_stop(t);
    NVDP_RETURN_IF_FAILED(status);
    nvdp__log(t->ctx, NVDP_LOG_INFO,
              "step %" PRIu64 "/%" PRIu64 ": held-out masked accuracy %.4f, perplexity %.3f "
              "(%.4f nats) after %.1f M tokens",
              t->state.step, t->config.stop_after, t->eval.accuracy, t->eval.perplexity,
              t->eval.nll, (double)t->state.tokens / 1e6);
    json_t *line = scores_json(&t->eval);
    json_object_set_new(line, "event", json_string("evaluation"));
    json_object_set_new(line, "step", json_integer((json_int_t)t->state.step));
    json_object_set_new(line, "tokens_seen", json_integer((json_int_t)t->state.tokens));
    return append_metrics(t, line);
}

static bool is_due(const struct pretrainer *t, size_t every) {
    return every > 0 && t->state.step % every == 0 && t->state.step < t->config.stop_after;
}

/* Between steps: what is due, and stop when asked. */
static nvdp_status pause_point(struct pretrainer *t) {
    bool stop = false;
    if (is_due(t, t->config.eval_every) || is_due(t, t->config.save_every))
        NVDP_RETURN_IF_FAILED(nvdp__params_same(t->ctx, &t->model.params));
    if (is_due(t, t->config.eval_every)) NVDP_RETURN_IF_FAILED(evaluate(t));
    if (is_due(t, t->config.save_every) && writes(t)) {
        if (t->dp != NULL) NVDP_RETURN_IF_FAILED(state_save(t)); /* no model of steps done again */
        NVDP_RETURN_IF_FAILED(save_model(t));
    }
    NVDP_RETURN_IF_FAILED(
        keep_state(t, nvdp__rank_any(t->ctx, nvdp_context_cancelled(t->ctx), &stop)));
    if (stop) return save_and_stop(t);
    if (nvdp__now() - t->saved_at < t->config.checkpoint_seconds) return NVDP_OK;
    return state_save(t);
}

static void report(struct nvdp__meter *meter, struct recent *recent, uint64_t step, double tokens,
                   const struct step_report *r) {
    double masked = fmax((double)r->masked, 1);
    recent->weight = FORGETTING * recent->weight + 1;
    recent->loss += (r->total - recent->loss) / recent->weight;
    recent->accuracy += (r->losses.right / masked - recent->accuracy) / recent->weight;
    meter->report.accuracy = recent->accuracy;
    nvdp__meter_update(meter, step, tokens, "tok", recent->loss);
}

static nvdp_status train(struct pretrainer *t) {
    struct nvdp__meter meter;
    struct recent recent = {0};
    uint64_t tokens_before = t->state.tokens;
    bool loaded = false;
    nvdp__meter_begin(&meter, t->ctx, "pretrain", "step", t->state.step, t->config.stop_after);
    while (t->state.step < t->config.stop_after) {
        struct step_report r;
        if (loaded && t->state.epoch_row == t->examples.count) {
            t->state.epoch++;
            t->state.epoch_row = 0;
            loaded = false;
        }
        if (!loaded) NVDP_RETURN_IF_FAILED(load_epoch(t));
        loaded = true;
        if (t->state.epoch_row >= t->examples.count) continue; /* resumed at an epoch's end */
        double start = nvdp__now();
        NVDP_RETURN_IF_FAILED(keep_state(t, train_step(t, &r)));
        count_step(t, &r, nvdp__now() - start);
        bool last = t->state.step == t->config.stop_after;
        if (last || t->state.step % t->config.log_every == 0)
            NVDP_RETURN_IF_FAILED(log_step(t, &r));
        report(&meter, &recent, t->state.step, (double)(t->state.tokens - tokens_before), &r);
        NVDP_RETURN_IF_FAILED(pause_point(t));
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* ---- nvdp_pretrain and its plan ---- */

/* A resumed run keeps its own configuration but for what says how this call works. */
static nvdp_status take_options(struct pretrainer *t,
                                const struct nvdp__pretrain_options *options) {
    t->config = *options;
    if (options->resume != NULL) {
        NVDP_RETURN_IF_FAILED(read_run(t, options->resume));
        t->config.out = t->config.resume = options->resume;
        t->config.overwrite = options->overwrite;
        t->config.cache = options->cache;
    }
    nvdp__pretrain_resolve(&t->config);
    return nvdp__schema_check(t->ctx, &nvdp__pretrain_schema, &t->config);
}

nvdp_status nvdp__pretrain(struct nvdp_context *ctx, const struct nvdp__pretrain_options *options,
                           struct nvdp_pretrain_result *out) {
    nvdp_status status = NVDP_OK;
    struct pretrainer t = {.ctx = ctx};
    NVDP_TRY(take_options(&t, options));
    NVDP_TRY(pretrainer_open(&t));
    t.saved_at = nvdp__now();
    NVDP_TRY(train(&t));
    NVDP_TRY(nvdp__params_same(ctx, &t.model.params));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, state_save(&t)));
    NVDP_TRY(evaluate(&t));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, save_model(&t)));
    struct nvdp_pretrain_result result = {
        .struct_size = sizeof result,
        .steps = t.state.step,
        .tokens = t.state.tokens,
        .masked = t.state.masked,
        .vocab_size = nvdp_tokenizer_size(t.tokenizer),
        .parameters = nvdp__params_trainable(&t.model.params),
        .loss = t.state.loss,
        .accuracy = t.state.accuracy,
        .coverage = t.coverage,
        .eval_coverage = t.eval_coverage,
        .eval = t.eval,
        .seconds = t.state.seconds,
        .tokens_per_second = (double)t.state.tokens / fmax(t.state.seconds, 1e-9),
        .drawing_seconds = t.state.drawing,
    };
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, write_result(&t, &result)));
    *out = result;
cleanup:
    pretrainer_close(&t);
    return status;
}

/* A configuration as a plain struct; *list, for free(), has its lists of files. */
static nvdp_status open_config(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp__pretrain_options *options, const char **list[2]) {
    NVDP_RETURN_IF_FAILED(nvdp__config_values(ctx, config, &nvdp__pretrain_schema, options));
    NVDP_RETURN_IF_FAILED(nvdp__list_split(ctx, options->text_list, &list[0], &options->texts));
    NVDP_RETURN_IF_FAILED(
        nvdp__list_split(ctx, options->eval_text_list, &list[1], &options->eval_texts));
    options->text = list[0];
    options->eval_text = list[1];
    return NVDP_OK;
}

nvdp_status nvdp_pretrain(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_pretrain_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pretrain_options options;
    struct nvdp_pretrain_result result;
    const char **list[2] = {NULL, NULL};
    NVDP_TRY(open_config(ctx, config, &options, list));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__pretrain(ctx, &options, &result));
    NVDP__GIVE(out, &result);
cleanup:
    free(list[0]);
    free(list[1]);
    return status;
}

nvdp_status nvdp_pretrain_config_json(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      char **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pretrain_options options;
    const char **list[2] = {NULL, NULL};
    json_t *object = NULL;
    NVDP_TRY(open_config(ctx, config, &options, list));
    nvdp__pretrain_resolve(&options);
    object = nvdp__pretrain_options_json(&options);
    char *text =
        object == NULL ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text == NULL) NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory"));
    *out = text;
cleanup:
    json_decref(object);
    free(list[0]);
    free(list[1]);
    return status;
}

nvdp_status nvdp_pretrain_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp_pretrain_plan *out) {
    nvdp_status status = NVDP_OK;
    struct pretrainer t = {.ctx = ctx};
    struct nvdp__pretrain_options options;
    struct nvdp_bert_config bert;
    const char **list[2] = {NULL, NULL};
    size_t floats = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(open_config(ctx, config, &options, list));
    NVDP_TRY(take_options(&t, &options));
    const struct nvdp__pretrain_options *c = &t.config;
    for (size_t i = 0; i < c->texts + c->eval_texts; i++) {
        const char *path = i < c->texts ? c->text[i] : c->eval_text[i - c->texts];
        if (!nvdp__exists(path) || nvdp__is_directory(path))
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_IO, "%s: no such file", path));
    }
    size_t pieces = c->vocab_size; /* at most, where a vocabulary is trained */
    if (c->vocab != NULL || c->init != NULL) {
        NVDP_TRY(open_vocabulary(&t));
        pieces = nvdp_tokenizer_size(t.tokenizer);
    }
    NVDP_TRY(pretrainer_bert(&t, pieces, &bert));
    NVDP_TRY(pretrainer_model(&t, &bert));
    NVDP_TRY(nvdp__pretrain_model_plan(&t.model, c->batch, c->length,
                                       nvdp__batcher_masked(c->batch, c->length, c->mask_prob),
                                       &floats));
    size_t vectors = 4; /* values, gradients, two moments */
    size_t privatizer =
        is_adaptive(&t)
            ? nvdp__privatizer_bytes(&c->sanitizer, pieces, bert.hidden_size, c->batch, c->length)
            : 0;
    const struct nvdp_pretrain_plan plan = {
        .struct_size = sizeof plan,
        .vocab_size = bert.vocab_size,
        .parameters = nvdp__params_trainable(&t.model.params),
        .tokens = c->stop_after * c->batch * c->length,
        .memory_bytes = (vectors * t.model.params.total + floats) * sizeof(float) + privatizer,
    };
    NVDP__GIVE(out, &plan);
cleanup:
    pretrainer_close(&t);
    free(list[0]);
    free(list[1]);
    return status;
}
