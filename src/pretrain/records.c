/* What a run reads besides its texts, and what it leaves: the vocabulary, the model directory, and
 * the records beside it. */
#include "base/file.h"
#include "base/json.h"
#include "bert/checkpoint.h"
#include "pretrain/trainer.h"
#include "train/rundir.h"

#include <stdlib.h>
#include <string.h>

/* `root` is stolen. */
static nvdp_status write_json(const struct nvdp__pretrainer *t, const char *name, json_t *root) {
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

/* ---- the vocabulary: trained on the text, a file's, or that of the model it starts from ---- */

enum { VOCABULARY_LIMIT = 1 << 28, MIN_COUNT = 2 };

static struct nvdp__normalization rules_of(const struct nvdp__pretrain_options *config) {
    return (struct nvdp__normalization){
        .lower_case = !config->cased, .strip_accents = !config->cased, .chinese_characters = true};
}

static nvdp_status train_vocabulary(struct nvdp__pretrainer *t) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__normalization normalization = rules_of(c);
    struct nvdp__word_rules rules = nvdp__word_rules(&normalization);
    struct nvdp__word_counts counts = {.ctx = t->ctx};
    const struct nvdp__vocabulary_options options = {
        .size = c->vocab_size, .alphabet = c->alphabet, .min_count = MIN_COUNT};
    size_t pieces = 0;
    double start = nvdp__now();
    NVDP_TRY(nvdp__word_counts_read(&counts, &rules, c->text, c->texts));
    NVDP_TRY(nvdp__vocabulary_train(t->ctx, &counts, &options, &t->vocabulary, &pieces));
    t->vocabulary_size = strlen(t->vocabulary);
    nvdp__log(t->ctx, NVDP_LOG_INFO, "vocabulary: %zu pieces from %zu distinct words in %.1f s%s",
              pieces, counts.words.count, nvdp__now() - start,
              pieces < c->vocab_size ? ": the text has no more pairs that are seen twice" : "");
cleanup:
    nvdp__word_counts_release(&counts);
    return status;
}

static nvdp_status read_vocabulary(struct nvdp__pretrainer *t, const char *path) {
    return nvdp__read_file(t->ctx, path, VOCABULARY_LIMIT, &t->vocabulary, &t->vocabulary_size);
}

/* vocab.txt and, where there is one, tokenizer_config.json of a directory. */
static nvdp_status copy_from(struct nvdp__pretrainer *t, const char *directory) {
    NVDP_RETURN_IF_FAILED(nvdp_tokenizer_load(t->ctx, directory, &t->tokenizer));
    char *vocabulary = nvdp__join(t->ctx, directory, "vocab.txt");
    if (vocabulary == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = read_vocabulary(t, vocabulary);
    free(vocabulary);
    NVDP_RETURN_IF_FAILED(status);
    return nvdp__json_read_optional(t->ctx, directory, "tokenizer_config.json",
                                    &t->tokenizer_config);
}

static nvdp_status make_config(struct nvdp__pretrainer *t) {
    bool lower = !t->config.cased;
    t->tokenizer_config = json_pack(
        "{s:s, s:b, s:b, s:b, s:I, s:s, s:s, s:s, s:s, s:s}", "tokenizer_class", "BertTokenizer",
        "do_lower_case", lower, "strip_accents", lower, "tokenize_chinese_chars", 1,
        "model_max_length", (json_int_t)t->config.max_positions, "pad_token", "[PAD]", "unk_token",
        "[UNK]", "cls_token", "[CLS]", "sep_token", "[SEP]", "mask_token", "[MASK]");
    return t->tokenizer_config != NULL ? NVDP_OK
                                       : nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
}

nvdp_status nvdp__pretrain_vocabulary(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    const char *from = c->resume != NULL ? c->out : c->init;
    if (from != NULL) {
        NVDP_RETURN_IF_FAILED(copy_from(t, from));
    } else {
        struct nvdp__normalization rules = rules_of(c);
        const char *path = c->vocab != NULL ? c->vocab : "vocab.txt";
        NVDP_RETURN_IF_FAILED(c->vocab != NULL ? read_vocabulary(t, path) : train_vocabulary(t));
        NVDP_RETURN_IF_FAILED(nvdp__tokenizer_create(t->ctx, path, t->vocabulary,
                                                     t->vocabulary_size, nvdp__special_names,
                                                     &rules, &t->tokenizer));
        NVDP_RETURN_IF_FAILED(make_config(t));
    }
    return nvdp__pieces_create(t->ctx, t->tokenizer, &t->pieces);
}

nvdp_status nvdp__pretrain_write_vocabulary(const struct nvdp__pretrainer *t) {
    char *path = nvdp__join(t->ctx, t->config.out, "vocab.txt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__write_file(t->ctx, path, t->vocabulary, t->vocabulary_size);
    free(path);
    if (status != NVDP_OK || t->tokenizer_config == NULL) return status;
    return write_json(t, "tokenizer_config.json", json_incref(t->tokenizer_config));
}

/* ---- the model ---- */

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
    if (c->eval_texts > 0 && t->eval.windows > 0) {
        json_object_set_new(object, "evaluation", nvdp__mlm_scores_json(&t->eval));
        json_object_set_new(object, "evaluation_text",
                            texts_json(c->eval_text,
                                       (const char(*)[NVDP__DIGEST_HEX])t->digest + c->texts,
                                       c->eval_texts));
    }
    return object;
}

nvdp_status nvdp__pretrain_config_save(const struct nvdp__pretrainer *t) {
    json_t *extra =
        json_pack("{s:s, s:o}", "torch_dtype", dtype_of_torch(nvdp__pretrain_dtype(&t->config)),
                  "nvdp_pretraining", provenance(t));
    if (extra == NULL) return nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
    nvdp_status status = nvdp__bert_config_write(t->ctx, t->config.out, &t->model.bert.config,
                                                 "BertForPreTraining", extra);
    json_decref(extra);
    return status;
}

nvdp_status nvdp__pretrain_model_save(struct nvdp__pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__checkpoint_save_as(&t->model.dev, t->config.out, &t->model.params,
                                                   nvdp__pretrain_dtype(&t->config)));
    return nvdp__pretrain_config_save(t);
}

nvdp_status nvdp__pretrain_write_run(const struct nvdp__pretrainer *t) {
    return write_json(
        t, "pretrain.json",
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:o}, s:I, s:o, s:O?}",
                  "nvdp_format", "pretrain/1", "config", nvdp__pretrain_options_json(&t->config),
                  "text", run_texts_json(t), "software", nvdp__software_json(), "hardware",
                  nvdp__hardware_json(t->ctx), "corpus", "documents",
                  (json_int_t)t->corpus.documents, "sentences", (json_int_t)t->corpus.sentences,
                  "tokens", (json_int_t)t->corpus.tokens, "coverage", coverage_json(&t->coverage),
                  "parameters", (json_int_t)nvdp__params_trainable(&t->model.params), "created",
                  nvdp__now_json(), "init_pretraining", t->init_record));
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
    NVDP_TRY(nvdp__pretrain_options_read(t->ctx, path, object, &t->config, &t->lists));
    const json_t *record = json_object_get(t->config_owner, "init_pretraining");
    if (json_is_object(record)) t->init_record = json_incref((json_t *)record);
cleanup:
    free(path);
    return status;
}

nvdp_status nvdp__pretrain_check_texts(const struct nvdp__pretrainer *t) {
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

nvdp_status nvdp__pretrain_write_result(const struct nvdp__pretrainer *t,
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
