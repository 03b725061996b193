/* Writes the files of a run (docs/formats.md) for train.c: training's part of state.ckpt, then
 * run.json, the best model and result.json. */
#include "base/file.h"
#include "base/json.h"
#include "base/ranks.h"
#include "bert/checkpoint.h"
#include "options/result.h"
#include "rdp/options.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- RUN/state.ckpt --- */

#define COUNT(member) NVDP__COUNT(struct nvdp__train_state, member)
#define REAL(member) NVDP__REAL(struct nvdp__train_state, member)

const struct nvdp__state_member nvdp__train_members[] = {COUNT(epoch_step),
                                                         COUNT(best_epoch),
                                                         COUNT(since_best),
                                                         REAL(best_value),
                                                         REAL(sum_task),
                                                         REAL(sum_g),
                                                         REAL(sum_d),
                                                         REAL(epoch_g),
                                                         REAL(epoch_d),
                                                         REAL(score_seconds),
                                                         {0}};

/* Computes the digest of the frozen weights, which the state does not hold; "" if all weights
 * are trained. */
static nvdp_status frozen_digest(struct nvdp__trainer *t, const char **hex) {
    *hex = "";
    return nvdp__params_frozen(&t->model->params) > 0 ? nvdp__prefix_digest(t->model, hex)
                                                      : NVDP_OK;
}

nvdp_status nvdp__trainer_write_state(void *trainer, json_t *object) {
    struct nvdp__trainer *t = trainer;
    const char *frozen;
    NVDP_TRY(frozen_digest(t, &frozen));
    json_object_set_new(object, "finished", json_boolean(t->state.finished));
    json_object_set_new(object, "early_stopped", json_boolean(t->state.early_stopped));
    json_object_set_new(object, "anchor", json_string(t->anchor));
    json_object_set_new(object, "frozen", json_string(frozen));
    json_object_set_new(object, "texts", json_string(t->texts));
    return NVDP_OK;
}

static nvdp_status compare_digest(struct nvdp__trainer *t, const char *path, const json_t *object,
                                  const char *key, const char *what, const char *present) {
    const char *earlier = NULL;
    NVDP_TRY(nvdp__json_string(t->ctx, path, object, key, "", &earlier));
    if (strcmp(earlier, present) == 0) return NVDP_OK;
    return nvdp__fail(
        t->ctx, NVDP_ERR_INPUT,
        "%s: expected the weights that %s, found other weights in %s: the checkpoint has changed",
        path, what, t->config.model);
}

/* Fails if the train file changed: the number of steps was computed for other texts. States of
 * earlier versions do not name the file. */
static nvdp_status compare_texts(const struct nvdp__trainer *t, const char *path,
                                 const json_t *object) {
    const char *earlier = NULL;
    NVDP_TRY(nvdp__json_string(t->ctx, path, object, "texts", "", &earlier));
    if (strcmp(earlier, t->texts) == 0 || (*earlier == '\0' && t->job.dp == NULL)) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                      "%s: expected the same train file as at the beginning of the run (SHA-256 "
                      "%s), found %s: the data have changed",
                      path, *earlier != '\0' ? earlier : "which was not recorded", t->texts);
}

nvdp_status nvdp__trainer_check_state(void *trainer, const char *path, const json_t *object) {
    struct nvdp__trainer *t = trainer;
    struct nvdp_model *model = t->model;
    struct nvdp__train_state *s = &t->state;
    const char *frozen;
    if (nvdp__params_frozen(&model->params) > 0)
        NVDP_TRY(nvdp__checkpoint_values(&model->dev, t->config.model, &model->params, true,
                                         model->params.value));
    NVDP_TRY(nvdp__json_bool(t->ctx, path, object, "finished", false, &s->finished));
    NVDP_TRY(nvdp__json_bool(t->ctx, path, object, "early_stopped", false, &s->early_stopped));
    NVDP_TRY(compare_digest(t, path, object, "anchor", "the run decays towards", t->anchor));
    NVDP_TRY(frozen_digest(t, &frozen));
    NVDP_TRY(compare_digest(t, path, object, "frozen", "the run keeps", frozen));
    NVDP_TRY(compare_texts(t, path, object));
    if (t->job.step <= t->job.steps && s->epoch_step <= t->epoch_steps) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                      "%s: expected at most %" PRIu64 " steps, found %" PRIu64
                      ": the data have changed",
                      path, t->job.steps, t->job.step);
}

/* --- other files of the run directory --- */

/* The files that a run writes; --overwrite removes exactly these. The first OF_MODEL describe
 * RUN/model and are removed when the model is replaced. Without result.json the run counts as
 * unfinished. */
enum { OF_MODEL = 9 };
static const char *const run_files[] = {"result.json",
                                        "dp-statement.txt",
                                        "predictions_*.tsv",
                                        "privacy.json",
                                        "privacy-*.json",
                                        "certificate.json",
                                        "certificate-*.json",
                                        "reuse.json",
                                        "attack.json",
                                        "run.json",
                                        "labels.json",
                                        "seen_texts.bin",
                                        "metrics.jsonl",
                                        "state.ckpt",
                                        "decoder.safetensors",
                                        "model/config.json",
                                        "model/model.safetensors",
                                        "model/vocab.txt",
                                        "model/vocab.json",
                                        "model/merges.txt",
                                        "model/tokenizer.json",
                                        "model/tokenizer_config.json",
                                        "model/special_tokens_map.json",
                                        "model/added_tokens.json",
                                        "model/sentence_bert_config.json",
                                        "model"};

nvdp_status nvdp__trainer_prepare_directory(struct nvdp__trainer *t) {
    static const char *const first[] = {"base"};
    const size_t files = sizeof run_files / sizeof run_files[0];
    NVDP_TRY(nvdp__outdir_lock(t->ctx, t->config.out, &t->job.lock));
    NVDP_TRY(nvdp__outdir_check(t->ctx, t->config.out, t->config.overwrite, NVDP__RUN_WAYS));
    char *base = nvdp__join(t->ctx, t->config.out, first[0]);
    if (base == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__outdir_tidy(t->ctx, base);
    if (status == NVDP_OK) status = nvdp__outdir_remove(t->ctx, base, run_files, files);
    free(base);
    NVDP_TRY(status);
    NVDP_TRY(nvdp__outdir_remove(t->ctx, t->config.out, first, 1));
    return nvdp__outdir_remove(t->ctx, t->config.out, run_files, files);
}

/* Adds the privacy statement, of which `done` steps are done, if training is private; releases root
 * on error. */
static nvdp_status add_statement(struct nvdp__trainer *t, uint64_t done, const char *directory,
                                 json_t *root) {
    if (t->job.dp == NULL || root == NULL) return NVDP_OK;
    char *began = NULL;
    struct nvdp__dp_scope scope = {
        .example = t->all->task->tags ? "one sentence of the train file (or a part of at most "
                                        "max_length tokens of a longer sentence)"
                                      : "one text or pair of texts of the train file",
        .covers = "model/",
        .chosen = t->config.select == NVDP__SELECT_BEST,
        .sampled = t->config.limit_train > 0 || t->config.folds > 0};
    nvdp_status status =
        nvdp__lineage_sentences(t->ctx, &t->lineage, json_array_size(t->lineage.list) - 1,
                                t->config.model, t->texts_known, &began);
    scope.began = began;
    if (status == NVDP_OK) status = nvdp__dp_statement(t->job.dp, done, &scope, directory, root);
    if (status != NVDP_OK) json_decref(root);
    free(began);
    return status;
}

static nvdp_status write_run(struct nvdp__trainer *t) {
    json_t *data =
        json_pack("{s:I,s:I,s:I,s:I}", "train_texts", (json_int_t)t->train->count,
                  "validation_texts", (json_int_t)t->validation->count, "test_texts",
                  (json_int_t)t->test->count, "truncated_texts", (json_int_t)t->all->truncated);
    json_t *root = json_pack(
        "{s:s,s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:O}", "nvdp_format", "run/1", "config",
        nvdp__schema_json(&nvdp__train_schema, &t->config), "software", nvdp__software_json(),
        "hardware", nvdp__hardware_json(t->ctx), "data", data, "parameters",
        (json_int_t)t->model->info.parameters, "steps", (json_int_t)t->job.steps, "created",
        nvdp__now_json(), NVDP__LINEAGE, t->lineage.list);
    NVDP_TRY(add_statement(t, 0, NULL, root));
    return nvdp__run_json_write(t->ctx, t->config.out, "run.json", root);
}

nvdp_status nvdp__trainer_begin_records(struct nvdp__trainer *t) {
    NVDP_TRY(nvdp__trainer_prepare_directory(t));
    NVDP_TRY(nvdp__lineage_write(t->ctx, &t->lineage, t->config.out));
    return write_run(t);
}

nvdp_status nvdp__trainer_open_records(struct nvdp__trainer *t) {
    if (nvdp__rank(t->ctx) != 0) return NVDP_OK;
    NVDP_TRY(t->config.resume == NULL ? nvdp__trainer_begin_records(t)
                                      : nvdp__outdir_lock(t->ctx, t->config.out, &t->job.lock));
    return nvdp__job_open_metrics(&t->job);
}

nvdp_status nvdp__trainer_keep_model(struct nvdp__trainer *t) {
    char *directory = nvdp__join(t->ctx, t->config.out, "model");
    if (directory == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP_OK;
    if (nvdp__rank(t->ctx) == 0) {
        status = nvdp__outdir_remove(t->ctx, t->config.out, run_files, OF_MODEL);
        if (status == NVDP_OK) status = nvdp__model_save(t->model, directory, t->config.model);
    }
    free(directory);
    return status;
}

nvdp_status nvdp__trainer_write_result(struct nvdp__trainer *t, const struct nvdp_train_result *r) {
    json_t *proven = nvdp__certificate_summary(&t->proven);
    json_t *root = json_pack("{s:s,s:s,s:s,s:s}", "task", t->all->task->name, "method",
                             nvdp_method_name(t->config.method), "protocol",
                             nvdp__protocol_names[t->config.protocol], "metric",
                             nvdp_metric_name(r->test->metric[0]));
    bool good = nvdp__result_put(root, &nvdp__result_train, "file", r);
    good = json_object_set_new(root, "certified", proven) == 0 && good;
    if (!good) {
        json_decref(root);
        root = NULL;
    }
    if (root != NULL && t->job.sum != NULL)
        json_object_set_new(root, "sum", nvdp__grad_sum_json(t->job.sum));
    NVDP_TRY(add_statement(t, t->job.step, t->config.out, root));
    return nvdp__run_json_write(t->ctx, t->config.out, "result.json", root);
}
