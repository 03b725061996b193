/* Writes and reads the files of a pretraining run (docs/formats.md): its part of state.ckpt,
 * then pretrain.json, the model with config.json, and result.json. */
#include "pretrain/pretrainer.h"

#include "base/json.h"
#include "base/ranks.h"
#include "bert/checkpoint.h"
#include "options/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char *dtype_of_torch(enum nvdp_dtype dtype) {
    return dtype == NVDP_DTYPE_F16 ? "float16" : dtype == NVDP_DTYPE_BF16 ? "bfloat16" : "float32";
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Returns names without folders, and SHA-256 digests, of a list of files. */
static json_t *texts_json(const char *const *path, const char (*digest)[NVDP__DIGEST_HEX],
                          size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(
            list, json_pack("{s:s, s:s}", "name", base_name(path[i]), "sha256", digest[i]));
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
    json_t *object =
        json_pack("{s:s, s:f}", "mechanism", nvdp__token_mechanism_names[c->sanitizer.mechanism],
                  "eta", c->sanitizer.eta);
    if (nvdp__token_row((int)c->sanitizer.mechanism)->uses_p)
        json_object_set_new(object, "p", json_real(c->sanitizer.p));
    return object;
}

void nvdp__pretrainer_frozen(const struct nvdp__pretrainer *t, char hex[NVDP__DIGEST_HEX]) {
    const struct nvdp__params *params = &t->model.params;
    struct nvdp__digest digest;
    nvdp__digest_begin(&digest);
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
    char *began = NULL;
    nvdp_status status = nvdp__lineage_sentences(
        t->ctx, &t->lineage, json_array_size(t->lineage.list) - 1, t->config.init, true, &began);
    const struct nvdp__dp_scope scope = {
        .example = example,
        .began = began,
        .covers = nvdp__private_vocabulary(t)
                      ? "config.json, model.safetensors and the vocabulary's files"
                      : "config.json, model.safetensors and the given files of the vocabulary"};
    if (status == NVDP_OK)
        status = nvdp__dp_statement(t->job.dp, t->job.step, &scope, directory, root);
    free(began);
    return status;
}

/* Describes the origin of a model for config.json. *out is NULL if memory is short. */
static nvdp_status provenance(const struct nvdp__pretrainer *t, json_t **out) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__pretrain_options *c = &t->config;
    json_t *object = json_pack(
        "{s:i, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:s, s:s, s:f, s:f, s:f, s:f, s:I, "
        "s:o}",
        "version", 1, "objective", nvdp__objective_names[c->objective], "text", run_texts_json(t),
        "steps", (json_int_t)t->job.step, "tokens", (json_int_t)t->job.tokens, "masked",
        (json_int_t)t->state.masked, "batch", (json_int_t)c->batch, "length", (json_int_t)c->length,
        "mask_prob", c->mask_prob, "whole_word", c->whole_word, "start",
        nvdp__start_names[c->start], "optimizer", nvdp__optimizer_names[c->optimizer], "lr",
        c->adamw.lr, "warmup", c->adamw.warmup, "weight_decay", c->adamw.weight_decay, "dropout",
        c->dropout, "seed", (json_int_t)c->seed, "software", nvdp__software_json());
    if (c->init != NULL)
        json_object_set_new(
            object, "init",
            json_pack("{s:s, s:O?}", "name", base_name(c->init), "pretraining", t->init_record));
    if (c->freeze_layers > 0)
        json_object_set_new(object, "freeze_layers", json_integer((json_int_t)c->freeze_layers));
    if (nvdp__adaptive(t->config.objective))
        json_object_set_new(object, "privatize", privatize_json(c));
    if (t->secrets.count > 0) json_object_set_new(object, "planted", json_true());
    if (t->job.dp != NULL) { /* reveal nothing of the texts beyond the statement */
        const char *const hidden[] = {"text", "tokens", "masked"};
        for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
            json_object_del(object, hidden[i]);
        status = statement(t, NULL, object);
    } else if (c->eval_texts > 0 && t->eval.windows > 0) {
        json_object_set_new(object, "evaluation",
                            nvdp__result_json(&nvdp__result_mlm, "file", &t->eval));
        json_object_set_new(object, "evaluation_text",
                            texts_json(c->eval_text,
                                       (const char(*)[NVDP__DIGEST_HEX])t->digest + c->texts,
                                       c->eval_texts));
    }
    if (status == NVDP_OK)
        *out = object;
    else
        json_decref(object);
    return status;
}

nvdp_status nvdp__pretrainer_save_config(const struct nvdp__pretrainer *t) {
    json_t *record = NULL;
    NVDP_TRY(provenance(t, &record));
    json_t *extra =
        json_pack("{s:s, s:o}", "torch_dtype", dtype_of_torch(nvdp__pretrain_dtype(&t->config)),
                  "nvdp_pretraining", record);
    if (extra == NULL) return nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
    nvdp_status status = nvdp__bert_config_write(t->ctx, t->config.out, &t->model.bert.config,
                                                 "BertForPreTraining", extra);
    json_decref(extra);
    return status;
}

/* Writes the weights last, so that the record never counts fewer steps than the weights had. */
nvdp_status nvdp__pretrainer_save_model(struct nvdp__pretrainer *t) {
    NVDP_TRY(nvdp__pretrainer_save_config(t));
    return nvdp__checkpoint_save_as(&t->model.dev, t->config.out, &t->model.params,
                                    nvdp__pretrain_dtype(&t->config));
}

static json_t *corpus_json(const struct nvdp__pretrainer *t) {
    return json_pack("{s:I, s:I, s:I, s:o}", "documents", (json_int_t)t->corpus.documents,
                     "sentences", (json_int_t)t->corpus.sentences, "tokens",
                     (json_int_t)t->corpus.tokens, "coverage", coverage_json(&t->coverage));
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
        json_pack("{s:s, s:s*, s:o*, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:O?, s:O}", "nvdp_format",
                  "pretrain/1", "frozen", freezes ? frozen : NULL, "vocabulary", vocabulary,
                  "config", nvdp__pretrain_options_json(&t->config), "text", run_texts_json(t),
                  "software", nvdp__software_json(), "hardware", nvdp__hardware_json(t->ctx),
                  "corpus", nvdp__private_vocabulary(t) ? json_null() : corpus_json(t),
                  "parameters", (json_int_t)nvdp__params_trainable(&t->model.params), "created",
                  nvdp__now_json(), "init_pretraining", t->init_record, NVDP__LINEAGE,
                  t->lineage.list));
}

nvdp_status nvdp__pretrainer_read_run(struct nvdp__pretrainer *t, const char *directory) {
    nvdp__autofree char *path = nvdp__join(t->ctx, directory, "pretrain.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__json_read(t->ctx, path, &t->config_owner));
    const json_t *object = json_object_get(t->config_owner, "config");
    if (!json_is_object(object))
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: expected a run of nvdp pretrain, but the object 'config' is missing",
                          path);
    NVDP_TRY(nvdp__pretrain_options_read(t->ctx, path, object, &t->config, &t->lists));
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
    json_t *root = nvdp__result_json(&nvdp__result_pretrain, "file", r);
    if (root != NULL && nvdp__adaptive(t->config.objective))
        json_object_set_new(root, "drawing_seconds", json_real(r->drawing_seconds));
    if (root != NULL && t->job.sum != NULL)
        json_object_set_new(root, "sum", nvdp__grad_sum_json(t->job.sum));
    if (root != NULL && t->job.dp != NULL) {
        nvdp_status status = statement(t, t->config.out, root);
        if (status != NVDP_OK) {
            json_decref(root);
            return status;
        }
    }
    if (root != NULL && r->eval != NULL) {
        json_object_set_new(root, "evaluation",
                            nvdp__result_json(&nvdp__result_mlm, "file", r->eval));
        json_object_set_new(root, "evaluation_coverage",
                            r->eval_coverage != NULL ? coverage_json(r->eval_coverage)
                                                     : json_null());
    }
    return nvdp__run_json_write(t->ctx, t->config.out, "result.json", root);
}
