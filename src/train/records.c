/* The records of a run: the result tables of training (nvdp/result.h), from which JSON, text and documentation are
 * made; then the files of a run (docs/formats.md), training's part of state.ckpt, run.json, the best model and
 * result.json. */
#include "base/base.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/ranks.h"
#include "encoder/checkpoint.h"
#include "options/result.h"
#include "rdp/options.h"
#include "train/trainer.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/evaluate.h>
#include <nvdp/train.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ==== result tables ==== */

/* --- scores --- */

#define SCORES(member, ...) NVDP_RESULT_ROW(struct nvdp_scores, member, __VA_ARGS__)
#define METRIC(member) NVDP_RESULT_AT(struct nvdp_scores, member[0])

static const char *metric_name(int metric) {
    return nvdp_metric_name((enum nvdp_metric)metric);
}

static const struct nvdp_result_table metric_table = {
    .name = "metric",
    .help = "one metric, over draws of the noise",
    .rows = (const struct nvdp_result_row[]){
        {"metric", NVDP_RESULT_ENUM, NULL, NVDP_SCOPE_FILE, 0, "its name", METRIC(metric),
         .word = metric_name},
        {"mean", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_FILE, 1, "mean over the draws", METRIC(mean)},
        {"sd", NVDP_RESULT_REAL, NULL, NVDP_SCOPE_FILE, 0, "standard deviation over the draws",
         METRIC(sd)},
        {"interval", NVDP_RESULT_INTERVAL, NULL, NVDP_SCOPE_FILE, 0, "95 % interval over texts",
         METRIC(low), .high = offsetof(struct nvdp_scores, high), .absent = NVDP_ABSENT_OMITTED},
        {0}}};

/* Prints one line per metric: mean, spread over draws, texts, interval. */
static void print_metrics(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_scores *scores = result;
    const char *what = scores->metric[0] == NVDP_METRIC_ENTITY_F1 ? "words" : "texts";
    for (int i = 0; i < scores->metrics; i++) {
        const char *name = nvdp_metric_name(scores->metric[i]);
        char interval[64] = "";
        if (!isnan(scores->low[i]))
            nvdp__snprintf(interval, sizeof interval, "; 95 %% over texts: %.4f to %.4f",
                           scores->low[i], scores->high[i]);
        if (scores->draws > 1)
            nvdp_result_line(to, name, "%.4f +- %.4f  (%zu %s, %zu draws%s)", scores->mean[i],
                             scores->sd[i], scores->n, what, scores->draws, interval);
        else
            nvdp_result_line(to, name, "%.4f  (%zu %s%s)", scores->mean[i], scores->n, what,
                             interval);
    }
}

static void print_majority(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_scores *scores = result;
    nvdp_result_line(to, "majority class", "%.4f%s", scores->majority,
                     scores->metric[0] == NVDP_METRIC_ACCURACY ? "" : "  (accuracy)");
}

const struct nvdp_result_table nvdp__result_scores = {
    .name = "scores",
    .help = "scores of a model on a split",
    .sized = true,
    .rows =
        (const struct nvdp_result_row[]){
            SCORES(n, "texts", NVDP_SCOPE_FILE, 0,
                   "number of texts, or of words in a task with tags"),
            SCORES(draws, "draws", NVDP_SCOPE_FILE, 0, "number of noise draws"),
            {"metrics", NVDP_RESULT_MAP, .scope = NVDP_SCOPE_FILE,
             .help = "mean and spread of each metric",
             NVDP_RESULT_LENGTH(struct nvdp_scores, metrics), .of = &metric_table,
             .print = print_metrics},
            SCORES(majority, NULL, NVDP_SCOPE_FILE, 0, "accuracy of the most frequent class",
                   .print = print_majority),
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", NVDP_ABSENT_NAN,
         (const struct nvdp_result_key[]){{.row = "n"},
                                          {.row = "draws"},
                                          {.row = "metrics"},
                                          {.row = "majority", .absent = NVDP_ABSENT_OMITTED},
                                          {0}}},
        {"json", .keys = (const struct nvdp_result_key[]){{.row = "metrics"}, {0}}},
        {0}}};

/* --- an evaluation, and the scores of its classes --- */

#define EVALUATION(member, ...)                                                                    \
    NVDP_RESULT_ROW(struct nvdp_evaluation, member, NULL, NVDP_SCOPE_RUN, 0, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_evaluation = {
    .name = "evaluation",
    .help = "what a run was scored on",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        EVALUATION(task, "name of the task", .label = "task"),
        EVALUATION(split, "the texts that were scored", .label = "split"),
        EVALUATION(method, "method of the training", .label = "method"),
        EVALUATION(protocol, "data that selected the epoch: holdout, dev",
                   .label = "epoch chosen on"),
        {0}}};

#define CLASS(member, ...) NVDP_RESULT_ROW(struct nvdp_class_score, member, __VA_ARGS__)

const struct nvdp_result_table nvdp__result_class_score = {
    .name = "class_score",
    .help = "scores of a class, means over draws of the noise",
    .size = sizeof(struct nvdp_class_score),
    .rows = (const struct nvdp_result_row[]){
        {"class", NVDP_RESULT_CHARS, .scope = NVDP_SCOPE_FILE, .help = "its label",
         NVDP_RESULT_AT(struct nvdp_class_score, name), .label = "class"},
        CLASS(precision, NULL, NVDP_SCOPE_FILE, 1, "right share of the predicted texts",
              .label = "precision", .decimals = 4),
        CLASS(recall, NULL, NVDP_SCOPE_FILE, 1, "right share of the class's texts",
              .label = "recall", .decimals = 4),
        CLASS(f1, NULL, NVDP_SCOPE_FILE, 1, "harmonic mean of both", .label = "f1", .decimals = 4),
        CLASS(n, "texts", NVDP_SCOPE_FILE, 0, "texts of the class", .label = "texts"),
        CLASS(said, "texts", NVDP_SCOPE_FILE, 0, "texts predicted as the class"),
        {0}}};

/* --- a run --- */

#define TRAIN(member, ...) NVDP_RESULT_ROW(struct nvdp_train_result, member, __VA_ARGS__)

static bool is_certified(const void *result) {
    return isfinite(((const struct nvdp_train_result *)result)->certified_epsilon);
}

static const struct nvdp_result_table certified_table = {
    .name = "certified",
    .help = "what is proven for the mechanism over all texts",
    .rows =
        (const struct nvdp_result_row[]){
            TRAIN(certified_epsilon, "nats", NVDP_SCOPE_MODEL, -1, "epsilon"),
            TRAIN(certified_delta, NULL, NVDP_SCOPE_MODEL, 0, "delta of epsilon"),
            TRAIN(certified_releases, "samples", NVDP_SCOPE_MODEL, 0,
                  "samples of a text that epsilon covers"),
            TRAIN(certified_right, NULL, NVDP_SCOPE_MODEL, -1,
                  "largest possible share of right guesses which of two texts was sampled"),
            {0}},
    .views = (const struct nvdp_result_view[]){
        {"json", NVDP_ABSENT_ERROR,
         (const struct nvdp_result_key[]){{.row = "certified_epsilon", .key = "epsilon"},
                                          {.row = "certified_delta", .key = "delta"},
                                          {.row = "certified_releases", .key = "releases"},
                                          {.row = "certified_right", .key = "right"},
                                          {0}}},
        {0}}};

static void print_best(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_train_result *r = result;
    nvdp_result_line(to, "best epoch", "%zu of %zu%s", r->best_epoch, r->epochs_run,
                     r->early_stopped ? " (stopped early)" : "");
}

static void print_validation(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_train_result *r = result;
    if (r->test != NULL && r->test->metrics > 0)
        nvdp_result_line(to, "validation", "%.4f  (%s)", r->best_validation,
                         nvdp_metric_name(r->test->metric[0]));
}

static void print_time(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_train_result *r = result;
    if (r->tokens_per_second > 0)
        nvdp_result_line(to, "time", "steps %.1f s (%.0f tokens/s), scores %.1f s", r->seconds,
                         r->tokens_per_second, r->score_seconds);
    else /* scores of embeddings */
        nvdp_result_line(to, "time", "steps %.1f s, scores %.1f s", r->seconds, r->score_seconds);
}

const struct nvdp_result_table nvdp__result_train = {
    .name = "train",
    .help = "results of a finished run of nvdp train",
    .sized = true,
    .rows = (const struct nvdp_result_row
                 []){TRAIN(epochs_run, "epochs", NVDP_SCOPE_RUN, 0, "finished"),
                     TRAIN(best_epoch, NULL, NVDP_SCOPE_RUN, 0,
                           "epoch whose weights were kept, from 1", .print = print_best),
                     TRAIN(steps, "steps", NVDP_SCOPE_RUN, 0, "number of optimizer steps"),
                     TRAIN(best_validation, NULL, NVDP_SCOPE_FILE, 1,
                           "the first metric at the best epoch", .print = print_validation),
                     TRAIN(early_stopped, NULL, NVDP_SCOPE_RUN, 0,
                           "patience ran out before the last epoch"),
                     {"test", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE,
                      .help = "scores on the dev file",
                      NVDP_RESULT_AT(struct nvdp_train_result, test), .indirect = true,
                      .of = &nvdp__result_scores},
                     TRAIN(loss_g, "nats", NVDP_SCOPE_RUN, 0,
                           "Gaussian regularizer, mean over the last epoch, before "
                           "lambda"),
                     TRAIN(loss_d, "nats", NVDP_SCOPE_RUN, 0,
                           "Dirichlet regularizer, mean over the last epoch, before "
                           "lambda"),
                     TRAIN(seconds, "s", NVDP_SCOPE_RUN, -1, "time of the training steps",
                           .print = print_time),
                     TRAIN(score_seconds, "s", NVDP_SCOPE_RUN, -1,
                           "time of the validation and the final score"),
                     TRAIN(tokens_per_second, "tokens/s", NVDP_SCOPE_RUN, 1,
                           "speed of the training steps"),
                     TRAIN(bound, "nats", NVDP_SCOPE_MODEL, -1,
                           "upper bound on the divergence of order 1.1 between any "
                           "two texts; "
                           "+inf: no "
                           "bound is proven"),
                     {"certified", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_MODEL,
                      .help = "proven over all texts", .of = &certified_table,
                      .present = is_certified},
                     {0}},
    .views = (const struct nvdp_result_view[]){
        {"file", NVDP_ABSENT_ERROR,
         (const struct nvdp_result_key[]){{.row = "epochs_run", .key = "epochs"},
                                          {.row = "best_epoch"},
                                          {.row = "steps"},
                                          {.row = "best_validation", .key = "validation"},
                                          {.row = "bound", .absent = NVDP_ABSENT_HIDDEN},
                                          {.row = "certified", .absent = NVDP_ABSENT_HIDDEN},
                                          {0}}},
        {"json",
         .keys = (const struct nvdp_result_key[]){{.row = "epochs_run"},
                                                  {.row = "best_epoch"},
                                                  {.row = "steps"},
                                                  {.row = "early_stopped"},
                                                  {.row = "best_validation", .key = "validation"},
                                                  {0}}},
        {0}}};

/* --- the plan of a run --- */

#define PLAN(member, ...) NVDP_RESULT_ROW(struct nvdp_train_plan, member, __VA_ARGS__)

static void print_frozen(const void *result, struct nvdp_result_lines *to) {
    const size_t frozen = ((const struct nvdp_train_plan *)result)->frozen_parameters;
    if (frozen > 0) nvdp_result_line(to, "frozen parameters", "%zu", frozen);
}

static void print_repeats(const void *result, struct nvdp_result_lines *to) {
    const char *repeats = ((const struct nvdp_train_plan *)result)->repeats;
    if (repeats[0] != '\0') nvdp_result_line(to, "repeated texts", "%s", repeats);
}

const struct nvdp_result_table nvdp__result_train_plan = {
    .name = "train_plan",
    .help = "size and time of a run of nvdp train",
    .sized = true,
    .rows = (const struct nvdp_result_row[]){
        PLAN(train_texts, "texts", NVDP_SCOPE_FILE, 0, "texts to train on", .label = "train texts"),
        PLAN(validation_texts, "texts", NVDP_SCOPE_FILE, 0, "texts that select the epoch",
             .label = "validation texts"),
        PLAN(test_texts, "texts", NVDP_SCOPE_FILE, 0, "texts of the dev file",
             .label = "test texts"),
        PLAN(parameters, NULL, NVDP_SCOPE_MODEL, 0, "trained parameters", .label = "parameters"),
        PLAN(frozen_parameters, NULL, NVDP_SCOPE_MODEL, 0, "parameters of frozen layers",
             .print = print_frozen),
        {"prefix_cache_bytes", NVDP_RESULT_COUNT, "bytes", NVDP_SCOPE_RUN, -1,
         "size of the frozen layers' states in the cache",
         NVDP_RESULT_AT(struct nvdp_train_plan, prefix_bytes)},
        PLAN(steps, "steps", NVDP_SCOPE_RUN, 0, "optimizer steps", .label = "steps"),
        PLAN(memory_bytes, "bytes", NVDP_SCOPE_RUN, -1,
             "parameters, optimizer state and activations", .label = "memory",
             .scale = 1. / (1 << 20), .after = " MiB"),
        PLAN(step_seconds, "s", NVDP_SCOPE_RUN, -1, "time of a step"),
        PLAN(train_seconds, "s", NVDP_SCOPE_RUN, -1, "time of all steps"),
        PLAN(score_seconds, "s", NVDP_SCOPE_RUN, -1, "time of validation and the final score"),
        PLAN(prefix_seconds, "s", NVDP_SCOPE_RUN, -1, "time of the frozen layers' states, once"),
        PLAN(base_seconds, "s", NVDP_SCOPE_RUN, -1, "time of the base run; 0: none"),
        PLAN(repeat_rows, "rows", NVDP_SCOPE_FILE, -1,
             "largest number of rows of one text in train and dev, of a run with a budget"),
        PLAN(repeat_epsilon, "nats", NVDP_SCOPE_FILE, -1,
             "epsilon of these rows together, one sample each"),
        PLAN(repeats, NULL, NVDP_SCOPE_FILE, 0,
             "how often texts repeat in train and dev, and what that costs",
             .print = print_repeats),
        {0}}};

const struct nvdp_result_kind nvdp__scores_kind = {.name = "scores", .rows = &nvdp__result_scores};

/* ==== the files of a run ==== */

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

/* Computes the digest of the frozen weights, which the state does not contain; "" if all weights are trained. */
static nvdp_status frozen_digest(struct nvdp__trainer *t, const char **hex) {
    *hex = "";
    return nvdp__params_frozen(&t->model->params) > 0 ? nvdp__prefix_digest(t->model, hex)
                                                      : NVDP_OK;
}

nvdp_status nvdp__trainer_write_state(void *trainer, json_t *object) {
    struct nvdp__trainer *t = trainer;
    const char *frozen;
    NVDP_TRY(frozen_digest(t, &frozen));
    json_object_update_new(object,
                           json_pack("{s:b, s:b, s:s, s:s, s:s}", "finished", t->state.finished,
                                     "early_stopped", t->state.early_stopped, "anchor", t->anchor,
                                     "frozen", frozen, "texts", t->texts));
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

nvdp_status nvdp__trainer_check_state(void *trainer, const char *path, const json_t *object) {
    struct nvdp__trainer *t = trainer;
    struct nvdp_model *model = t->model;
    struct nvdp__train_state *s = &t->state;
    const char *frozen, *texts;
    if (nvdp__params_frozen(&model->params) > 0)
        NVDP_TRY(nvdp__checkpoint_values(&model->dev, t->config.model, &model->params, true,
                                         model->params.value));
    NVDP_TRY(nvdp__json_bool(t->ctx, path, object, "finished", false, &s->finished));
    NVDP_TRY(nvdp__json_bool(t->ctx, path, object, "early_stopped", false, &s->early_stopped));
    NVDP_TRY(compare_digest(t, path, object, "anchor", "the run decays towards", t->anchor));
    NVDP_TRY(frozen_digest(t, &frozen));
    NVDP_TRY(compare_digest(t, path, object, "frozen", "the run keeps", frozen));
    NVDP_TRY(nvdp__json_string(t->ctx, path, object, "texts", "", &texts));
    /* The number of steps was computed for these texts. States of earlier versions have no digest of the file. */
    if (strcmp(texts, t->texts) != 0 && (*texts != '\0' || t->job.dp != NULL))
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: expected the same train file as at the beginning of the run "
                          "(SHA-256 %s), found %s: the data have changed",
                          path, *texts != '\0' ? texts : "which was not recorded", t->texts);
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
    const struct nvdp__path base = nvdp__path(t->config.out, first[0]);
    NVDP_TRY(nvdp__outdir_tidy(t->ctx, base.text));
    NVDP_TRY(nvdp__outdir_remove(t->ctx, base.text, run_files, files));
    NVDP_TRY(nvdp__outdir_remove(t->ctx, t->config.out, first, 1));
    return nvdp__outdir_remove(t->ctx, t->config.out, run_files, files);
}

/* Adds the privacy statement, with `done` finished steps, if training is private. */
static nvdp_status add_statement(struct nvdp__trainer *t, uint64_t done, const char *directory,
                                 json_t *root) {
    if (t->job.dp == NULL || root == NULL) return NVDP_OK;
    nvdp__autofree char *began = NULL;
    NVDP_TRY(nvdp__lineage_sentences(t->ctx, &t->lineage, json_array_size(t->lineage.list) - 1,
                                     t->config.model, t->texts_known, &began));
    const struct nvdp__dp_scope scope = {
        .example = t->all->task->tags ? "one sentence of the train file (or a part of at most "
                                        "max_length tokens of a longer sentence)"
                                      : "one text or pair of texts of the train file",
        .began = began,
        .covers = "model/",
        .chosen = t->config.select == NVDP__SELECT_BEST,
        .sampled = t->config.limit_train > 0 || t->config.folds > 0};
    return nvdp__dp_statement(t->job.dp, done, &scope, directory, root);
}

nvdp_status nvdp__trainer_begin_records(struct nvdp__trainer *t) {
    NVDP_TRY(nvdp__trainer_prepare_directory(t));
    NVDP_TRY(nvdp__lineage_write(t->ctx, &t->lineage, t->config.out));
    json_t *data =
        json_pack("{s:I,s:I,s:I,s:I}", "train_texts", (json_int_t)t->train->count,
                  "validation_texts", (json_int_t)t->validation->count, "test_texts",
                  (json_int_t)t->test->count, "truncated_texts", (json_int_t)t->all->truncated);
    nvdp__autoptr(json_decref) json_t *root = json_pack(
        "{s:s,s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:O}", "nvdp_format", "run/1", "config",
        nvdp__schema_json(&nvdp__train_schema, &t->config), "software", nvdp__software_json(),
        "hardware", nvdp__hardware_json(t->ctx), "data", data, "parameters",
        (json_int_t)t->model->info.parameters, "steps", (json_int_t)t->job.steps, "created",
        nvdp__now_json(), NVDP__LINEAGE, t->lineage.list);
    NVDP_TRY(add_statement(t, 0, NULL, root));
    return nvdp__run_json_write(t->ctx, t->config.out, "run.json", json_incref(root));
}

nvdp_status nvdp__trainer_open_records(struct nvdp__trainer *t) {
    if (nvdp__rank(t->ctx) != 0) return NVDP_OK;
    NVDP_TRY(t->config.resume == NULL ? nvdp__trainer_begin_records(t)
                                      : nvdp__outdir_lock(t->ctx, t->config.out, &t->job.lock));
    return nvdp__job_open_metrics(&t->job);
}

nvdp_status nvdp__trainer_keep_model(struct nvdp__trainer *t) {
    const struct nvdp__path directory = nvdp__path(t->config.out, "model");
    if (nvdp__rank(t->ctx) != 0) return NVDP_OK;
    NVDP_TRY(nvdp__outdir_remove(t->ctx, t->config.out, run_files, OF_MODEL));
    return nvdp__model_save(t->model, directory.text, t->config.model);
}

nvdp_status nvdp__trainer_write_result(struct nvdp__trainer *t, const struct nvdp_train_result *r) {
    json_t *proven = nvdp__certificate_summary(&t->proven);
    nvdp__autoptr(json_decref) json_t *root = json_pack(
        "{s:s,s:s,s:s,s:s}", "task", t->all->task->name, "method",
        nvdp_method_name(t->config.method), "protocol", nvdp__protocol_names[t->config.protocol],
        "metric", nvdp_metric_name(r->test->metric[0]));
    bool good =
        json_object_update_new(root, nvdp__result_json(&nvdp__result_train, "file", r)) == 0;
    good = json_object_set_new(root, "certified", proven) == 0 && good;
    if (t->job.sum != NULL) json_object_set_new(root, "sum", nvdp__grad_sum_json(t->job.sum));
    if (good) NVDP_TRY(add_statement(t, t->job.step, t->config.out, root));
    return nvdp__run_json_write(t->ctx, t->config.out, "result.json",
                                good ? json_incref(root) : NULL);
}
