/* What a run leaves: the model directory, and the records beside it. */
#include "base/file.h"
#include "base/json.h"
#include "bert/checkpoint.h"
#include "pretrain/trainer.h"
#include "train/machine.h"

#include <stdlib.h>
#include <string.h>

static const char *dtype_of_torch(enum nvdp_dtype dtype) {
    return dtype == NVDP_F16 ? "float16" : dtype == NVDP_BF16 ? "bfloat16" : "float32";
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

static json_t *run_texts_json(const struct nvdp__pretrainer *t) {
    return texts_json(t->config.text, (const char(*)[NVDP__DIGEST_HEX])t->digest, t->config.texts);
}

nvdp_status nvdp__pretrain_read_init(struct nvdp__pretrainer *t) {
    json_t *config = NULL;
    char *path = nvdp__join(t->ctx, t->config.init, "config.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__json_read(t->ctx, path, &config);
    if (status == NVDP_OK)
        t->init_record = json_incref(json_object_get(config, "nvdp_pretraining"));
    json_decref(config);
    free(path);
    return status;
}

static json_t *coverage_json(const struct nvdp_coverage *coverage) {
    return json_pack("{s:I, s:f, s:f}", "words", (json_int_t)coverage->words, "unknown",
                     coverage->unknown, "pieces_per_word", coverage->pieces_per_word);
}

json_t *nvdp__mlm_scores_json(const struct nvdp_mlm_scores *scores) {
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:o}", "windows", (json_int_t)scores->windows,
                     "tokens", (json_int_t)scores->tokens, "masked", (json_int_t)scores->masked,
                     "accuracy", scores->accuracy, "nll", scores->nll, "perplexity",
                     nvdp__json_number(scores->perplexity));
}

/* Where a model comes from, for config.json. */
static json_t *provenance(const struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    json_t *object = json_pack(
        "{s:i, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:b, s:s, s:s, s:f, s:f, s:f, s:f, s:I, "
        "s:o}",
        "version", 1, "objective", nvdp_objective_name(c->objective), "text", run_texts_json(t),
        "steps", (json_int_t)t->state.step, "tokens", (json_int_t)t->state.tokens, "masked",
        (json_int_t)t->state.masked, "batch", (json_int_t)c->batch, "length", (json_int_t)c->length,
        "mask_prob", c->mask_prob, "whole_word", c->whole_word, "start", nvdp_start_name(c->start),
        "optimizer", nvdp_optimizer_name(c->optimizer), "lr", c->lr, "warmup", c->warmup,
        "weight_decay", c->weight_decay, "dropout", c->dropout, "seed", (json_int_t)c->seed,
        "software", nvdp__software_json());
    if (c->init != NULL)
        json_object_set_new(
            object, "init",
            json_pack("{s:s, s:O?}", "name", base_name(c->init), "pretraining", t->init_record));
    if (c->eval_texts > 0 && t->eval.windows > 0) {
        json_object_set_new(object, "evaluation", nvdp__mlm_scores_json(&t->eval));
        json_object_set_new(object, "evaluation_text",
                            texts_json(c->eval_text,
                                       (const char(*)[NVDP__DIGEST_HEX])t->digest + c->texts,
                                       c->eval_texts));
    }
    return object;
}

nvdp_status nvdp__pretrain_config_save(struct nvdp__pretrainer *t) {
    json_t *extra = json_pack("{s:s, s:o}", "torch_dtype", dtype_of_torch(t->config.dtype),
                              "nvdp_pretraining", provenance(t));
    if (extra == NULL) return nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
    nvdp_status status = nvdp__bert_config_write(t->ctx, t->config.out, &t->model.bert.config,
                                                 "BertForPreTraining", extra);
    json_decref(extra);
    return status;
}

nvdp_status nvdp__pretrain_model_save(struct nvdp__pretrainer *t) {
    NVDP_RETURN_IF_FAILED(
        nvdp__checkpoint_save_as(&t->model.dev, t->config.out, &t->model.params, t->config.dtype));
    return nvdp__pretrain_config_save(t);
}

/* ---- records ---- */

/* `root` is stolen. */
static nvdp_status write_json(struct nvdp__pretrainer *t, const char *name, json_t *root) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(t->ctx, t->config.out, name);
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (root == NULL) NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "%s: out of memory", path));
    NVDP_TRY(nvdp__json_write(t->ctx, path, root));
cleanup:
    json_decref(root);
    free(path);
    return status;
}

nvdp_status nvdp__pretrain_write_run(struct nvdp__pretrainer *t) {
    return write_json(
        t, "pretrain.json",
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:o}, s:I, s:o, s:O?}",
                  "nvdp_format", "pretrain/1", "config", nvdp__pretrain_config_json(&t->config),
                  "text", run_texts_json(t), "software", nvdp__software_json(), "hardware",
                  nvdp__hardware_json(t->ctx), "corpus", "documents",
                  (json_int_t)t->corpus.documents, "sentences", (json_int_t)t->corpus.sentences,
                  "tokens", (json_int_t)t->corpus.tokens, "coverage", coverage_json(&t->coverage),
                  "parameters", (json_int_t)nvdp__params_trainable(&t->model.params), "created",
                  nvdp__now_json()));
}

nvdp_status nvdp__pretrain_read_run(struct nvdp__pretrainer *t, const char *directory) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(t->ctx, directory, "pretrain.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__json_read(t->ctx, path, &t->config_owner));
    const json_t *object = json_object_get(t->config_owner, "config");
    if (!json_is_object(object))
        NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                            "%s: no 'config' object: not a run of nvdp pretrain", path));
    NVDP_TRY(nvdp__pretrain_config_from_json(t->ctx, path, object, &t->config, &t->lists));
    const json_t *record = json_object_get(t->config_owner, "init_pretraining");
    if (json_is_object(record)) t->init_record = json_incref((json_t *)record);
cleanup:
    free(path);
    return status;
}

nvdp_status nvdp__pretrain_check_texts(struct nvdp__pretrainer *t) {
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

nvdp_status nvdp__pretrain_write_result(struct nvdp__pretrainer *t,
                                        const struct nvdp_pretrain_result *r) {
    json_t *root = json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:f, s:f}", "steps",
                             (json_int_t)r->steps, "tokens", (json_int_t)r->tokens, "masked",
                             (json_int_t)r->masked, "vocab_size", (json_int_t)r->vocab_size,
                             "parameters", (json_int_t)r->parameters, "loss", r->loss, "accuracy",
                             r->accuracy, "coverage", coverage_json(&r->coverage), "seconds",
                             r->seconds, "tokens_per_second", r->tokens_per_second);
    if (root != NULL && r->eval.windows > 0) {
        json_object_set_new(root, "evaluation", nvdp__mlm_scores_json(&r->eval));
        json_object_set_new(root, "evaluation_coverage", coverage_json(&r->eval_coverage));
    }
    return write_json(t, "result.json", root);
}
