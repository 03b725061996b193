/* Opens a finished run: its configuration, its best model and one split of its data. Evaluation
 * and posteriors follow; the last part measures the privacy of texts that a run's users
 * privatize token by token. */
#include "train/run.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/random.h"
#include "dchi/token_options.h"
#include "encoder/encode.h"
#include "options/result.h"
#include "sanitize/sanitize.h"
#include "text/dataset.h"
#include "text/task.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- opening --- */

/* Replaces the path of a key by `found` if `found` exists and is another file than `given`. */
static nvdp_status replace(struct nvdp_context *ctx, json_t *config, const char *key,
                           const char *given, const struct nvdp__path found) {
    if (nvdp__exists(found.text) && !nvdp__same_file(given, found.text) &&
        json_object_set_new(config, key, json_string(found.text)) != 0)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    return NVDP_OK;
}

/* Finds the files whose paths run.json has. A relative path starts at the working directory of the training, which is
 * known if `out` was relative, too. Texts in OUT.data may have been moved together with the run. */
static nvdp_status find_files(struct nvdp_context *ctx, const char *directory, json_t *config) {
    static const char *const keys[] = {"data",           "representations", "model", "from_base",
                                       "sensitive_from", "sensitive_list",  "input"};
    const char *out = json_string_value(json_object_get(config, "out"));
    nvdp__autofree char *run = realpath(directory, NULL);
    if (run == NULL || out == NULL) return NVDP_OK; /* the caller reports a missing run */
    const size_t length = strlen(out), all = strlen(run);
    const bool known = length > 0 && out[0] != '/' && all > length &&
                       run[all - length - 1] == '/' && strcmp(run + all - length, out) == 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *given = json_string_value(json_object_get(config, keys[i]));
        if (given == NULL || given[0] == '\0') continue;
        if (i == 0 && !nvdp__exists(given) && strncmp(given, out, length) == 0 &&
            strcmp(given + length, ".data") == 0)
            NVDP_TRY(replace(ctx, config, keys[i], given, nvdp__path_format("%s.data", run)));
        else if (known && given[0] != '/')
            NVDP_TRY(replace(ctx, config, keys[i], given,
                             nvdp__path_format("%.*s%s", (int)(all - length), run, given)));
    }
    return NVDP_OK;
}

nvdp_status nvdp__run_check_data(struct nvdp_context *ctx, const char *directory,
                                 const struct nvdp__train_options *config) {
    if (config->representations != NULL || config->data == NULL || nvdp__exists(config->data))
        return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_IO,
        "%s: the data of the run is gone: expected %s (run.json, key 'data'), found nothing there; "
        "put it back, or name another place with {data} to measure the run",
        directory, config->data);
}

nvdp_status nvdp__run_read_config(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__train_options *config, json_t **record) {
    const struct nvdp__path path = nvdp__path(directory, "run.json");
    if (*record == NULL) NVDP_TRY(nvdp__json_read(ctx, path.text, record));
    json_t *object = json_object_get(*record, "config");
    if (!json_is_object(object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a run of nvdp train, but the object 'config' is missing",
                          path.text);
    NVDP_TRY(find_files(ctx, directory, object));
    *config = nvdp__train_defaults();
    NVDP_TRY(nvdp__schema_read(ctx, path.text, object, &nvdp__train_schema, config));
    if (config->noise.mechanism != NVDP__NOISE_NONE &&
        !nvdp__token_row(config->noise.mechanism)->uses_eta)
        config->noise.sanitizer.eta = 0; /* earlier versions wrote the number but ignored it */
    return NVDP_OK;
}

/* Divides texts by the data only, so that all seeds are compared on the same texts. */
nvdp_status nvdp__train_holdout(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp_dataset *all, struct nvdp_dataset **train,
                                struct nvdp_dataset **held) {
    return nvdp__dp_wanted(&config->dp)
               ? nvdp__dataset_holdout(ctx, all, config->holdout, NULL, train, held)
               : nvdp__dataset_holdout(ctx, all, config->holdout, &(const uint64_t){0}, train,
                                       held);
}

nvdp_status nvdp__first_texts(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t n,
                              struct nvdp_dataset **out) {
    nvdp__autofree size_t *row = NULL;
    NVDP_TRY(NVDP__NEW(ctx, row, n));
    for (size_t i = 0; i < n; i++)
        row[i] = i;
    return nvdp__dataset_select(ctx, from, n, row, out);
}

struct nvdp_dataset_config nvdp__run_dataset_config(const struct nvdp__run *run, const char *data) {
    const struct nvdp__model_info *info = &run->model->info;
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    config.task = info->task.id;
    config.directory = data != NULL ? data : run->config.data;
    nvdp__set_columns(&config, &info->columns);
    config.max_length = info->max_length;
    config.skip_bad_rows = run->config.skip_bad_rows;
    if (info->task.id == NVDP_TASK_TSV || info->task.tags) config.labels_from = &info->task;
    return config;
}

void nvdp__run_note_sample(struct nvdp_context *ctx, const struct nvdp__run *run,
                           enum nvdp_split split, size_t texts) {
    const size_t sample = run->config.limit_train;
    if (split != NVDP_SPLIT_TRAIN || sample == 0 || texts < sample) return;
    if (texts == sample)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "split train: only the %zu texts that the run's {limit-train} selected", texts);
    else
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "split train: %zu texts, not only the %zu on which the run was trained: its "
                  "{limit-train} limits training, and {limit} limits what is exported",
                  texts, sample);
}

/* Loads a split by name. "train" has all train rows that the run read (limit_train of the run applies), including the
 * validation part; "validation" is the held-out part. `limit` takes the first texts of train, and a seeded sample of
 * other splits; 0 takes all texts. */
static nvdp_status load_split(struct nvdp_context *ctx, const struct nvdp__run *run,
                              const char *data, const char *split, size_t limit, uint64_t seed,
                              struct nvdp_dataset **out) {
    struct nvdp_dataset_config config = nvdp__run_dataset_config(run, data);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL, *whole = NULL,
                                                         *rest = NULL;
    bool holdout = run->config.protocol == NVDP_PROTOCOL_HOLDOUT;
    bool validation = strcmp(split, "validation") == 0;
    enum nvdp_split which = holdout ? NVDP_SPLIT_TRAIN : NVDP_SPLIT_DEV;
    if (!validation) NVDP_TRY(nvdp__find_split(ctx, split, "validation, ", &which));
    bool held = which == NVDP_SPLIT_DEV, folds = held || which == NVDP_SPLIT_TRAIN;
    if (run->config.folds > 0 && held) which = NVDP_SPLIT_TRAIN;
    config.limit = which == NVDP_SPLIT_TRAIN ? run->config.limit_train : limit;
    config.limit_seed = which == NVDP_SPLIT_TRAIN ? run->config.seed : seed;
    NVDP_TRY(run->given != NULL
                 ? nvdp__token_file_texts(ctx, run->given, nvdp_model_tokenizer(run->model),
                                          config.max_length, which, config.limit, config.limit_seed,
                                          &dataset)
                 : nvdp__dataset_load(ctx, nvdp_model_tokenizer(run->model), &config, which,
                                      nvdp__token_noise_public(run->noise), &dataset));
    if (!validation && !held) nvdp__run_note_sample(ctx, run, which, dataset->count);
    if (folds)
        NVDP_TRY(nvdp__dataset_keep_fold(ctx, run->config.folds, run->config.fold, held, &dataset));
    if (validation && holdout) {
        NVDP__HAND_OVER(&whole, dataset);
        NVDP_TRY(nvdp__train_holdout(ctx, &run->config, whole, &rest, &dataset));
    }
    if (which == NVDP_SPLIT_TRAIN && limit > 0 && dataset->count > limit)
        return nvdp__first_texts(ctx, dataset, limit, out);
    return NVDP__HAND_OVER(out, dataset);
}

nvdp_status nvdp__run_privatize(struct nvdp_context *ctx, struct nvdp__run *run) {
    const struct nvdp__train_options *config = &run->config;
    run->model->noise = run->noise; /* the noise of a file of representations, or NULL */
    if (config->noise.mechanism == NVDP__NOISE_NONE || run->dataset == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__token_noise_create(ctx, &config->noise, config->seed, config->model,
                                      nvdp_model_tokenizer(run->model), &run->noise));
    run->model->noise = run->noise;
    return nvdp__token_noise_texts(run->noise, run->dataset, NULL);
}

/* Refuses runs with token noise, with a message of its own: a run of method base must not be called noiseless if the
 * users add noise. */
static nvdp_status check_bottleneck(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp__train_options *config) {
    const int noise = config->noise.mechanism;
    if (noise == NVDP__NOISE_NONE) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "%s: expected a run with a bottleneck, found one with token-noise %s, whose users add "
        "noise to their own texts; nvdp privacy shows what is proven and measured for it%s",
        directory, nvdp__text_noise_names[noise],
        nvdp__token_row(noise)->on_sequence
            ? ""
            : nvdp__with_options(ctx, ", nvdp sanitize writes such texts to give away, and nvdp "
                                      "sanitize {analyse} inversion attacks them")
                  .text);
}

bool nvdp__run_has_no_task(const struct nvdp__run *run) {
    return run->config.data == NULL && run->config.representations == NULL;
}

nvdp_status nvdp__run_texts(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                            const struct nvdp__run *run, const char *path, size_t limit,
                            uint64_t seed, struct nvdp_dataset **out) {
    size_t all;
    const struct nvdp__path directory = nvdp__path(config->run, "model");
    const struct nvdp__encode_limits limits = {.config = &run->model->info.bert,
                                               .max_length = run->model->info.max_length,
                                               .directory = directory.text};
    return nvdp__texts_read(ctx, path, &limits, limit, seed, &all, out);
}

nvdp_status nvdp__run_load_texts(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                                 struct nvdp__run *run) {
    if (run->config.representations != NULL)
        NVDP_TRY(nvdp__token_file_open(ctx, &run->config, nvdp_model_tokenizer(run->model),
                                       &run->given, &run->noise));
    if (nvdp__run_has_no_task(run)) {
        if (config->data == NULL)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "%s: the run has no task, so it has no data; name a file of texts, "
                              "one per line or a table, with {data}",
                              config->run);
        return nvdp__run_texts(ctx, config, run, config->data, config->limit, config->seed,
                               &run->dataset);
    }
    if (config->data == NULL) NVDP_TRY(nvdp__run_check_data(ctx, config->run, &run->config));
    NVDP_TRY(load_split(ctx, run, config->data, config->split, config->limit, config->seed,
                        &run->dataset));
    return nvdp__run_privatize(ctx, run);
}

/* With `bottleneck`, accepts only runs whose texts are shared through the bottleneck; otherwise, only runs with a
 * task. */
static nvdp_status open_run(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                            bool bottleneck, struct nvdp__run *run) {
    nvdp__auto(nvdp__run_close) struct nvdp__run opened = {0};
    if (config->run == NULL || !nvdp__is_directory(config->run)) {
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s: no such run directory",
                          config->run == NULL ? "" : config->run);
    }
    NVDP_TRY(nvdp__outdir_check_run(ctx, config->run));
    opened.config_owner = json_incref(config->record);
    NVDP_TRY(nvdp__run_read_config(ctx, config->run, &opened.config, &opened.config_owner));
    if (bottleneck) NVDP_TRY(check_bottleneck(ctx, config->run, &opened.config));
    if (!bottleneck && nvdp__run_has_no_task(&opened))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a run of a task, found one without (method %s), which "
                          "predicts nothing; train a receiver on its exported samples with nvdp "
                          "reuse",
                          config->run, nvdp_method_name(opened.config.method));
    NVDP_TRY(nvdp__outdir_check_ended(ctx, config->run));
    const struct nvdp__path directory = nvdp__path(config->run, "model");
    if (!nvdp__is_directory(directory.text))
        return nvdp__fail(ctx, NVDP_ERR_STATE,
                          "%s: expected the run's model, but the folder model is missing; a "
                          "sweep with \"keep\": \"results\" removes it",
                          config->run);
    NVDP_TRY(nvdp_model_load(ctx, directory.text, &opened.model));
    if (opened.config.noise.mechanism != NVDP__NOISE_NONE)
        nvdp__tokenizer_read_names_as_text(opened.model->tokenizer);
    if (opened.config.representations != NULL && config->data != NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {data}: this run reads token representations, so its data can only be %s",
            opened.config.representations);
    if (config->split != NULL) NVDP_TRY(nvdp__run_load_texts(ctx, config, &opened));
    return NVDP__HAND_OVER(run, opened);
}

nvdp_status nvdp__run_open(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                           struct nvdp__run *run) {
    return open_run(ctx, config, false, run);
}

nvdp_status nvdp__run_open_bottleneck(struct nvdp_context *ctx,
                                      const struct nvdp__run_options *config,
                                      struct nvdp__run *run) {
    return open_run(ctx, config, true, run);
}

void nvdp__run_close(struct nvdp__run *run) {
    nvdp_dataset_free(run->dataset);
    nvdp_model_free(run->model);
    nvdp__token_noise_free(run->noise);
    nvdp__token_file_close(run->given);
    json_decref(run->config_owner);
}

/* --- scores and posteriors --- */

static const struct nvdp_result_kind evaluation_kind = {
    .name = "evaluation",
    .rows = &nvdp__result_evaluation,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_evaluation, scores))};

nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_evaluation *out) {
    size_t count;
    nvdp__autofree struct nvdp_class_score *classes = NULL;
    return nvdp_evaluate_classes(ctx, config, out, &count, &classes);
}

nvdp_status nvdp_evaluate_classes(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_evaluation *out, size_t *count,
                                  struct nvdp_class_score **classes) {
    struct nvdp_class_score *found = NULL;
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    struct nvdp__run_options options;
    nvdp__autoresult struct nvdp_evaluation result =
        NVDP__RESULT(struct nvdp_evaluation, evaluation_kind);
    NVDP_TRY(NVDP__NEW(ctx, result.scores, 1));
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__evaluate_schema, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__run_open(ctx, &options, &run));
    NVDP_TRY(nvdp__score_model(ctx, run.model, run.dataset, options.batch, options.seed, 0,
                               options.draws, true, result.scores, &found));
    const struct nvdp__model_info *info = &run.model->info;
    nvdp__snprintf(result.task, sizeof result.task, "%s", info->task.name);
    nvdp__snprintf(result.method, sizeof result.method, "%s", nvdp_method_name(info->method));
    nvdp__snprintf(result.split, sizeof result.split, "%s", options.split);
    nvdp__snprintf(result.protocol, sizeof result.protocol, "%s",
                   nvdp__protocol_names[run.config.protocol]);
    nvdp_result_free(out);
    NVDP__GIVE(out, &result);
    result.scores = NULL;
    *count = found != NULL ? run.model->info.outputs : 0;
    *classes = found;
    return NVDP_OK;
}

nvdp_status nvdp__run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 json_t *record, struct nvdp_posteriors **out) {
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *made = NULL;
    struct nvdp__run_options options;
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__run_schema, &options));
    options.record = record;
    NVDP_TRY(nvdp__run_open_bottleneck(ctx, &options, &run));
    NVDP_TRY(nvdp_model_posteriors(ctx, run.model, run.dataset, options.batch, &made));
    NVDP_TRY(NVDP__NEW(ctx, made->id, made->texts));
    memcpy(made->id, run.dataset->index, made->texts * sizeof *made->id);
    made->split = 1 + (int)run.dataset->split;
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                struct nvdp_posteriors **out) {
    return nvdp__run_posteriors(ctx, config, NULL, out);
}

/* --- privacy of texts that a run's users privatize token by token --- */

/* Lists the users' tokens in the table, per text and part: offset [texts + 1], first [texts], token [tokens]. [CLS] and
 * [SEP] are left out because they are public. */
static void list_sent(const struct nvdp_dataset *dataset, const struct nvdp_tokenizer *tokenizer,
                      const struct nvdp_sanitizer *sanitizer, size_t *offset, size_t *first,
                      int32_t *token) {
    const int32_t unknown = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK);
    size_t n = 0;
    for (size_t i = 0; i < dataset->count; i++) {
        for (size_t k = dataset->offset[i]; k < dataset->offset[i + 1]; k++) {
            const int32_t id = dataset->ids[k];
            token[n] = nvdp__sanitizer_token(sanitizer, id);
            if (token[n] < 0 && id != unknown) continue;
            first[i] += dataset->types[k] == 0;
            n++;
        }
        offset[i + 1] = n;
    }
}

/* Opens a run and loads the original texts of a split. With `sequence`, requires token-noise sequence-laplace;
 * otherwise requires another token noise. */
static nvdp_status open_original(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 json_t *record, bool sequence,
                                 struct nvdp__privacy_options *measures,
                                 struct nvdp__run_options *options, struct nvdp__run *run) {
    nvdp__auto(nvdp__run_close) struct nvdp__run recorded = {.config_owner = json_incref(record)};
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__run_schema, options));
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__privacy_schema, measures));
    NVDP_TRY(nvdp__privacy_check_source(ctx, measures));
    NVDP_TRY(nvdp__run_read_config(ctx, options->run, &recorded.config, &recorded.config_owner));
    const int mechanism = recorded.config.noise.mechanism;
    if (mechanism == NVDP__NOISE_NONE || nvdp__token_row(mechanism)->on_sequence != sequence)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT, "%s: expected a run with %s, found %s", options->run,
            sequence ? "token-noise sequence-laplace" : "token-noise of tokens or word vectors",
            nvdp__text_noise_names[mechanism]);
    nvdp__warn_seeded_draws(ctx, options->run);
    struct nvdp__run_options bare = *options;
    bare.split = NULL;
    bare.record = recorded.config_owner;
    NVDP_TRY(nvdp__run_open(ctx, &bare, run));
    if (!sequence)
        NVDP_TRY(nvdp__token_noise_create(ctx, &run->config.noise, run->config.seed,
                                          run->config.model, nvdp_model_tokenizer(run->model),
                                          &run->noise));
    return load_split(ctx, run, options->data, options->split, options->limit, options->seed,
                      &run->dataset);
}

nvdp_status nvdp__run_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                   json_t *record, double **matrix, struct nvdp_dchi_report *out) {
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    struct nvdp__run_options options;
    struct nvdp__privacy_options measures;
    nvdp__autofree size_t *offset = NULL, *first = NULL;
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *made = NULL;
    struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(open_original(ctx, config, record, false, &measures, &options, &run));
    const struct nvdp_dataset *dataset = run.dataset;
    struct nvdp_sanitizer *sanitizer = run.noise->sanitizer;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(offset, dataset->count + 1),
                          NVDP__ITEMS(first, dataset->count),
                          NVDP__ITEMS(token, dataset->offset[dataset->count])));
    list_sent(dataset, nvdp_model_tokenizer(run.model), sanitizer, offset, first, token);
    const struct nvdp__token_texts texts = {
        .texts = dataset->count, .offset = offset, .tokens = token, .first = first};
    if (matrix != NULL) NVDP_TRY(NVDP__NEW(ctx, made, texts.texts * texts.texts));
    NVDP_TRY(
        nvdp__dchi_privacy(ctx, nvdp_sanitizer_dchi(sanitizer), &texts, &measures, made, &report));
    report.insecure_seed = true;
    report.own_choice = sanitizer->public[NVDP__OF_SENSITIVE].found > 0;
    NVDP__GIVE(out, &report);
    if (matrix != NULL) NVDP__HAND_OVER(matrix, made);
    return NVDP_OK;
}

nvdp_status nvdp_run_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  double **matrix, struct nvdp_dchi_report *out) {
    return nvdp__run_text_privacy(ctx, config, NULL, matrix, out);
}

nvdp_status nvdp__run_sequence_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                       json_t *record, double **matrix,
                                       struct nvdp_privacy_report *out) {
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    struct nvdp__run_options options;
    struct nvdp__privacy_options measures;
    nvdp__autofree double *states = NULL, *made = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(open_original(ctx, config, record, true, &measures, &options, &run));
    const struct nvdp__token_noise_options *noise = &run.config.noise;
    const size_t texts = run.dataset->count, dim = run.model->info.bert.hidden_size;
    NVDP_TRY(NVDP__NEW(ctx, states, texts * dim));
    NVDP_TRY(nvdp__model_first_states(run.model, run.dataset, options.batch, states));
    if (matrix != NULL) NVDP_TRY(NVDP__NEW(ctx, made, texts * texts));
    NVDP_TRY(nvdp__sequence_privacy(ctx, noise->sanitizer.eta,
                                    noise->clip > 0 ? noise->clip : INFINITY, texts, dim, states,
                                    &measures, made, out));
    if (matrix != NULL) NVDP__HAND_OVER(matrix, made);
    return NVDP_OK;
}

nvdp_status nvdp_run_sequence_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      double **matrix, struct nvdp_privacy_report *out) {
    return nvdp__run_sequence_privacy(ctx, config, NULL, matrix, out);
}
