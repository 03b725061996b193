/* The records of a pretraining run. First the result tables (nvdp/result.h), for the coverage of a text, masked-LM
 * scores, a run and the plan of a run. Then the files of a run (docs/formats.md): the run's part of state.ckpt,
 * pretrain.json, the model with config.json, and result.json. */
#include "base/base.h"

#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "base/ranks.h"
#include "encoder/checkpoint.h"
#include "encoder/safetensors.h"
#include "options/result.h"
#include "pretrain/pretrainer.h"
#include <inttypes.h>
#include <nvdp/pretrain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== result tables ==== */

/* --- the coverage of a text --- */

#define COVERAGE(member, ...) NVDP_RESULT_ROW(struct nvdp_coverage, member, __VA_ARGS__)

static const struct nvdp_result_table coverage_table = {
    .name = "coverage",
    .help = "how a vocabulary covers a text",
    .rows = (const struct nvdp_result_row[]){
        COVERAGE(words, "words", NVDP_SCOPE_FILE, 0, "running words and punctuation marks"),
        COVERAGE(unknown, NULL, NVDP_SCOPE_FILE, -1, "share of words that are [UNK]"),
        COVERAGE(pieces_per_word, "tokens", NVDP_SCOPE_FILE, -1, "tokens per word"),
        {0}}};

static void print_coverage(const char *name, const struct nvdp_coverage *coverage,
                           struct nvdp_result_lines *to) {
    nvdp_result_line(to, name, "%.3f pieces per word, %.3f %% of %" PRIu64 " words unknown",
                     coverage->pieces_per_word, 100 * coverage->unknown, coverage->words);
}

/* --- masked-LM scores --- */

#define SCORES(member, ...) NVDP_RESULT_ROW(struct nvdp_mlm_scores, member, __VA_ARGS__)

static void print_perplexity(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_mlm_scores *scores = result;
    nvdp_result_line(to, "perplexity", "%.4f  (%.5f nats)", scores->perplexity, scores->nll);
}

static void print_positions(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_mlm_scores *scores = result;
    nvdp_result_line(to, "positions", "%" PRIu64 " of %" PRIu64 " tokens in %" PRIu64 " windows",
                     scores->masked, scores->tokens, scores->windows);
}

const struct nvdp_result_table nvdp__result_mlm = {
    .name = "mlm",
    .help = "scores of a masked language model on a text",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            SCORES(accuracy, NULL, NVDP_SCOPE_FILE, 1, "top-1 accuracy of the predicted pieces",
                   .label = "masked accuracy", .decimals = 4),
            SCORES(nll, "nats", NVDP_SCOPE_FILE, -1, "mean -log p(right piece)"),
            SCORES(perplexity, NULL, NVDP_SCOPE_FILE, -1, "exp(nll)", .print = print_perplexity),
            SCORES(masked, "tokens", NVDP_SCOPE_FILE, 0, "predicted positions",
                   .print = print_positions),
            SCORES(tokens, "tokens", NVDP_SCOPE_FILE, 0, "tokens of the windows, special ones too"),
            SCORES(windows, "windows", NVDP_SCOPE_FILE, 0, "scored windows"),
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", .keys = (const struct nvdp_result_key[]){{.row = "windows"},
                                                          {.row = "tokens"},
                                                          {.row = "masked"},
                                                          {.row = "accuracy"},
                                                          {.row = "nll"},
                                                          {.row = "perplexity"},
                                                          {0}}},
        {0}}};

/* --- a run --- */

#define RUN(member, ...) NVDP_RESULT_ROW(struct nvdp_pretrain_result, member, __VA_ARGS__)
#define PART(member) NVDP_RESULT_AT(struct nvdp_pretrain_result, member), .indirect = true

static bool has_draws(const void *result) {
    return ((const struct nvdp_pretrain_result *)result)->drawing_seconds > 0;
}

static void print_trained(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_pretrain_result *r = result;
    nvdp_result_line(to, "trained", "%" PRIu64 " steps, %" PRIu64 " tokens", r->steps, r->tokens);
    if (r->steps > 0)
        nvdp_result_line(to, "last loss", "%.4f  (masked accuracy %.4f)", r->loss, r->accuracy);
}

static void print_text(const void *result, struct nvdp_result_lines *to) {
    print_coverage("text", ((const struct nvdp_pretrain_result *)result)->coverage, to);
}

static void print_held_out(const void *result, struct nvdp_result_lines *to) {
    print_coverage("held-out text", ((const struct nvdp_pretrain_result *)result)->eval_coverage,
                   to);
}

static void print_time(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_pretrain_result *r = result;
    nvdp_result_line(to, "time", "%.1f s, %.0f tokens/s", r->seconds, r->tokens_per_second);
    if (has_draws(r))
        nvdp_result_line(to, "drawing", "%.1f s, %.1f %% of the time", r->drawing_seconds,
                         100 * r->drawing_seconds / r->seconds);
}

const struct nvdp_result_table nvdp__result_pretrain = {
    .name = "pretrain",
    .help = "results of a finished run of nvdp pretrain",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            RUN(steps, "steps", NVDP_SCOPE_RUN, 0, "optimizer steps", .print = print_trained),
            RUN(tokens, "tokens", NVDP_SCOPE_RUN, 0, "training tokens, special ones too"),
            RUN(masked, "tokens", NVDP_SCOPE_RUN, 0, "predicted positions"),
            RUN(vocab_size, "pieces", NVDP_SCOPE_MODEL, 0, "size of the vocabulary",
                .label = "vocabulary", .after = " pieces"),
            RUN(parameters, NULL, NVDP_SCOPE_MODEL, 0, "trained parameters", .label = "parameters"),
            RUN(loss, "nats", NVDP_SCOPE_RUN, -1,
                "loss of masked language modeling, mean over the last logged steps"),
            RUN(accuracy, NULL, NVDP_SCOPE_RUN, 1, "top-1 accuracy over the same steps"),
            {"coverage", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE, .help = "of the text",
             PART(coverage), .of = &coverage_table, .print = print_text},
            RUN(seconds, "s", NVDP_SCOPE_RUN, -1, "time of the training steps",
                .print = print_time),
            RUN(tokens_per_second, "tokens/s", NVDP_SCOPE_RUN, 1, "speed of the training steps"),
            RUN(drawing_seconds, "s", NVDP_SCOPE_RUN, -1, "time of the draws for privatize",
                .present = has_draws, .absent = NVDP_ABSENT_OMITTED),
            {"evaluation", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
             .help = "scores on the held-out text", PART(eval), .of = &nvdp__result_mlm,
             .absent = NVDP_ABSENT_OMITTED},
            {"evaluation_coverage", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
             .help = "of the held-out text", PART(eval_coverage), .of = &coverage_table,
             .print = print_held_out, .absent = NVDP_ABSENT_OMITTED},
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", NVDP_ABSENT_NULL,
         (const struct nvdp_result_key[]){
             {.row = "steps"},
             {.row = "tokens"},
             {.row = "masked"},
             {.row = "vocab_size"},
             {.row = "parameters"},
             {.row = "loss", .absent = NVDP_ABSENT_ERROR},
             {.row = "accuracy", .absent = NVDP_ABSENT_ERROR},
             {.row = "drawing_seconds", .absent = NVDP_ABSENT_HIDDEN},
             {.row = "evaluation", .absent = NVDP_ABSENT_HIDDEN},
             {.row = "evaluation_coverage", .absent = NVDP_ABSENT_HIDDEN},
             {0}}},
        {"terminal", .keys = (const struct nvdp_result_key[]){{.row = "vocab_size"},
                                                              {.row = "coverage"},
                                                              {.row = "evaluation_coverage"},
                                                              {.row = "parameters"},
                                                              {.row = "steps"},
                                                              {.row = "evaluation"},
                                                              {0}}},
        {0}}};

/* --- the plan of a run --- */

#define PLAN(member, ...) NVDP_RESULT_ROW(struct nvdp_pretrain_plan, member, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_pretrain_plan = {
    .name = "pretrain_plan",
    .help = "size of a run of nvdp pretrain",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        PLAN(vocab_size, "pieces", NVDP_SCOPE_MODEL, 0, "size of the vocabulary, at most",
             .label = "vocabulary", .after = " pieces"),
        PLAN(parameters, NULL, NVDP_SCOPE_MODEL, 0, "trained parameters", .label = "parameters"),
        PLAN(tokens, "tokens", NVDP_SCOPE_RUN, 0, "training tokens, at most",
             .label = "tokens, at most"),
        PLAN(memory_bytes, "bytes", NVDP_SCOPE_RUN, -1,
             "parameters, optimizer state and activations", .label = "memory",
             .scale = 1. / (1 << 20), .after = " MiB"),
        {0}}};

/* ==== the files of a run ==== */

/* ---- DIR/state.ckpt ---- */

#define COUNT(member) NVDP__COUNT(struct nvdp__pretrain_state, member)
#define REAL(member) NVDP__REAL(struct nvdp__pretrain_state, member)

const struct nvdp__state_member nvdp__pretrain_members[] = {
    COUNT(epoch_row), COUNT(masked),   REAL(drawing),  REAL(sum_nll),
    REAL(sum_masked), REAL(sum_right), REAL(sum_next), REAL(sum_next_right),
    REAL(sum_steps),  REAL(loss),      REAL(accuracy), {0}};

nvdp_status nvdp__pretrainer_check_state(void *trainer, const char *path, const json_t *object) {
    const struct nvdp__pretrainer *t = trainer;
    (void)object;
    if (t->job.step <= t->config.steps) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                      "%s: expected at most %" PRIu64 " steps, found %" PRIu64, path,
                      t->config.steps, t->job.step);
}

/* ---- the run's JSON files ---- */

/* Returns the names without folders, and the SHA-256 digests, of a list of files. */
static json_t *texts_json(const char *const *path, const char (*digest)[NVDP__DIGEST_HEX],
                          size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "name", nvdp__file_name(path[i]), "sha256", digest[i]));
    }
    return list;
}

static json_t *run_texts_json(const struct nvdp__pretrainer *t) {
    return texts_json(t->config.text, (const char(*)[NVDP__DIGEST_HEX])t->digest, t->config.texts);
}

static json_t *coverage_json(const struct nvdp_coverage *coverage) {
    if (coverage->words == 0) return json_null();
    return json_pack("{s:I, s:f, s:f}", "words", (json_int_t)coverage->words, "unknown",
                     coverage->unknown, "pieces_per_word", coverage->pieces_per_word);
}

/* Describes the privatization of the input. */
static json_t *privatize_json(const struct nvdp__pretrain_options *c) {
    const bool uses_p = nvdp__token_row((int)c->sanitizer.mechanism)->uses_p;
    return json_pack("{s:s, s:f, s:o*}", "mechanism",
                     nvdp__token_mechanism_names[c->sanitizer.mechanism], "eta", c->sanitizer.eta,
                     "p", uses_p ? json_real(c->sanitizer.p) : NULL);
}

void nvdp__pretrainer_frozen(const struct nvdp__pretrainer *t, char hex[NVDP__DIGEST_HEX]) {
    const struct nvdp__params *params = &t->model.params;
    struct nvdp__digest digest = nvdp__digest_begin();
    for (size_t i = 0; params->entry[i].offset < nvdp__params_frozen(params); i++)
        nvdp__digest_bytes(&digest, nvdp__value(params, i), params->entry[i].count * sizeof(float));
    nvdp__digest_end(&digest, hex);
}

/* Adds the privacy statement: the object `dp` to root, and the text to `directory`. */
static nvdp_status statement(const struct nvdp__pretrainer *t, const char *directory,
                             json_t *root) {
    char example[400];
    nvdp__snprintf(example, sizeof example,
                   nvdp__next_sentence(t->config.objective)
                       ? "one pair of neighboring parts of one document, with at most %zu tokens, "
                         "in either order%s (no part is in two pairs; a document of k pairs is "
                         "protected as a group of k examples)"
                       : "one window of at most %zu tokens of one document%s (a document of k "
                         "windows is protected as a group of k examples)",
                   t->config.length,
                   t->words.epsilon > 0 ? ", tokenized with the trained private vocabulary" : "");
    nvdp__autofree char *began = NULL;
    NVDP_TRY(nvdp__lineage_sentences(t->ctx, &t->lineage, json_array_size(t->lineage.list) - 1,
                                     t->config.init, true, &began));
    const struct nvdp__dp_scope scope = {
        .example = example,
        .began = began,
        .covers = nvdp__private_vocabulary(t)
                      ? "config.json, model.safetensors and the vocabulary's files"
                      : "config.json, model.safetensors and the given files of the vocabulary"};
    return nvdp__dp_statement(t->job.dp, t->job.step, &scope, directory, root);
}

/* Describes the origin of a model for config.json. *out is NULL if memory is exhausted. */
static nvdp_status provenance(const struct nvdp__pretrainer *t, json_t **out) {
    const struct nvdp__pretrain_options *c = &t->config;
    nvdp__autoptr(json_decref) json_t *object = json_pack(
        "{s:i, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:s, s:s, s:f, s:f, s:f, s:f, s:I, "
        "s:o, s:o*, s:o*, s:o*, s:o*}",
        "version", 1, "objective", nvdp__objective_names[c->objective], "text", run_texts_json(t),
        "steps", (json_int_t)t->job.step, "tokens", (json_int_t)t->job.tokens, "masked",
        (json_int_t)t->state.masked, "batch", (json_int_t)c->batch, "length", (json_int_t)c->length,
        "mask_prob", c->mask_prob, "whole_word", c->whole_word, "start",
        nvdp__start_names[c->start], "optimizer", nvdp__optimizer_names[c->optimizer], "lr",
        c->adamw.lr, "warmup", c->adamw.warmup, "weight_decay", c->adamw.weight_decay, "dropout",
        c->dropout, "seed", (json_int_t)c->seed, "software", nvdp__software_json(), "init",
        c->init != NULL ? json_pack("{s:s, s:O?}", "name", nvdp__file_name(c->init), "pretraining",
                                    t->init_record)
                        : NULL,
        "freeze_layers", c->freeze_layers > 0 ? json_integer((json_int_t)c->freeze_layers) : NULL,
        "privatize", nvdp__adaptive(c->objective) ? privatize_json(c) : NULL, "planted",
        t->secrets.count > 0 ? json_true() : NULL);
    /* the record must reveal nothing about the texts beyond the statement */
    if (t->job.dp != NULL) {
        const char *const hidden[] = {"text", "tokens", "masked"};
        for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
            json_object_del(object, hidden[i]);
        NVDP_TRY(statement(t, NULL, object));
    } else if (c->eval_texts > 0 && t->eval.windows > 0) {
        json_object_set_new(object, "evaluation",
                            nvdp__result_json(&nvdp__result_mlm, "file", &t->eval));
        json_object_set_new(object, "evaluation_text",
                            texts_json(c->eval_text,
                                       (const char(*)[NVDP__DIGEST_HEX])t->digest + c->texts,
                                       c->eval_texts));
    }
    return NVDP__HAND_OVER(out, object);
}

nvdp_status nvdp__pretrainer_save_config(const struct nvdp__pretrainer *t) {
    const enum nvdp__dtype dtype = nvdp__pretrain_dtype(&t->config);
    json_t *record = NULL;
    NVDP_TRY(provenance(t, &record));
    nvdp__autoptr(json_decref) json_t *extra = json_pack("{s:s, s:o}", "torch_dtype",
                                                         dtype == NVDP__DTYPE_F16    ? "float16"
                                                         : dtype == NVDP__DTYPE_BF16 ? "bfloat16"
                                                                                     : "float32",
                                                         "nvdp_pretraining", record);
    if (extra == NULL) return nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
    return nvdp__bert_config_write(t->ctx, t->config.out, &t->model.bert.config,
                                   "BertForPreTraining", extra);
}

/* Writes the weights last, so that the record never counts fewer steps than were done for the weights. */
nvdp_status nvdp__pretrainer_save_model(struct nvdp__pretrainer *t) {
    NVDP_TRY(nvdp__pretrainer_save_config(t));
    return nvdp__checkpoint_save_as(&t->model.dev, t->config.out, &t->model.params,
                                    nvdp__pretrain_dtype(&t->config));
}

nvdp_status nvdp__pretrainer_write_run(const struct nvdp__pretrainer *t) {
    const bool freezes = nvdp__params_frozen(&t->model.params) > 0;
    char frozen[NVDP__DIGEST_HEX];
    json_t *vocabulary = NULL;
    if (freezes) nvdp__pretrainer_frozen(t, frozen);
    if (t->words.epsilon > 0) {
        vocabulary = nvdp__private_words_json(t->ctx, &t->words, t->config.length);
        if (vocabulary == NULL) return NVDP_ERR_MEMORY;
    }
    return nvdp__run_json_write(
        t->ctx, t->config.out, "pretrain.json",
        json_pack(
            "{s:s, s:s*, s:o*, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:O?, s:O}", "nvdp_format",
            "pretrain/1", "frozen", freezes ? frozen : NULL, "vocabulary", vocabulary, "config",
            nvdp__pretrain_options_json(&t->config), "text", run_texts_json(t), "software",
            nvdp__software_json(), "hardware", nvdp__hardware_json(t->ctx), "corpus",
            nvdp__private_vocabulary(t)
                ? json_null()
                : json_pack("{s:I, s:I, s:I, s:o}", "documents", (json_int_t)t->corpus.documents,
                            "sentences", (json_int_t)t->corpus.sentences, "tokens",
                            (json_int_t)t->corpus.tokens, "coverage", coverage_json(&t->coverage)),
            "parameters", (json_int_t)nvdp__params_trainable(&t->model.params), "created",
            nvdp__now_json(), "init_pretraining", t->init_record, NVDP__LINEAGE, t->lineage.list));
}

nvdp_status nvdp__pretrainer_read_run(struct nvdp__pretrainer *t, const char *directory) {
    const struct nvdp__path path = nvdp__path(directory, "pretrain.json");
    NVDP_TRY(nvdp__json_read(t->ctx, path.text, &t->config_owner));
    const json_t *object = json_object_get(t->config_owner, "config");
    if (!json_is_object(object))
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: expected a run of nvdp pretrain, but the object 'config' is missing",
                          path.text);
    NVDP_TRY(nvdp__pretrain_options_read(t->ctx, path.text, object, &t->config, &t->lists));
    const json_t *record = json_object_get(t->config_owner, "init_pretraining");
    if (json_is_object(record)) t->init_record = json_incref((json_t *)record);
    return NVDP_OK;
}

nvdp_status nvdp__pretrainer_check_texts(const struct nvdp__pretrainer *t) {
    const json_t *recorded = json_object_get(t->config_owner, "text");
    for (size_t i = 0; i < t->config.texts; i++) {
        const char *digest =
            json_string_value(json_object_get(json_array_get(recorded, i), "sha256"));
        if (digest == NULL || strcmp(digest, t->digest[i]) != 0)
            return nvdp__fail(
                t->ctx, NVDP_ERR_INPUT,
                "%s: expected the same text as at the beginning of the run (SHA-256 %s), found %s",
                t->config.text[i], digest != NULL ? digest : "which was not recorded",
                t->digest[i]);
    }
    return NVDP_OK;
}

nvdp_status nvdp__pretrainer_write_result(const struct nvdp__pretrainer *t,
                                          const struct nvdp_pretrain_result *r) {
    nvdp__autoptr(json_decref) json_t *root = nvdp__result_json(&nvdp__result_pretrain, "file", r);
    if (nvdp__adaptive(t->config.objective))
        json_object_set_new(root, "drawing_seconds", json_real(r->drawing_seconds));
    if (t->job.sum != NULL) json_object_set_new(root, "sum", nvdp__grad_sum_json(t->job.sum));
    if (root != NULL && t->job.dp != NULL) NVDP_TRY(statement(t, t->config.out, root));
    if (r->eval != NULL) {
        json_object_set_new(root, "evaluation",
                            nvdp__result_json(&nvdp__result_mlm, "file", r->eval));
        json_object_set_new(root, "evaluation_coverage",
                            r->eval_coverage != NULL ? coverage_json(r->eval_coverage)
                                                     : json_null());
    }
    return nvdp__run_json_write(t->ctx, t->config.out, "result.json", json_incref(root));
}
