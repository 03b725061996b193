/* Opens a finished run: its configuration, its best model and one split of its data. Evaluation
 * and posteriors follow; the last part measures the privacy of texts that a run's users
 * privatize token by token. */
#include "train/run.h"

#include "base/file.h"
#include "base/json.h"
#include "base/outdir.h"
#include "base/own.h"
#include "base/random.h"
#include "bert/encode_texts.h"
#include "dchi/options.h"
#include "dchi/sanitizer.h"
#include "text/dataset.h"
#include "text/task.h"
#include "train/metrics.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- opening --- */

/* Replaces the path of a key by `found` if that exists and is another file than `given`. */
static nvdp_status replace(struct nvdp_context *ctx, json_t *config, const char *key,
                           const char *given, char *found) {
    nvdp_status status = NVDP__MADE(found);
    if (status == NVDP_OK && nvdp__exists(found) && !nvdp__same_file(given, found) &&
        json_object_set_new(config, key, json_string(found)) != 0)
        status = nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    free(found);
    return status;
}

/* Finds the files that run.json names: a relative path from the working directory of the training, which is known if
 * `out` was relative too, and the texts in OUT.data beside a run that was moved with them. */
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
            NVDP_TRY(replace(ctx, config, keys[i], given, nvdp__format(ctx, "%s.data", run)));
        else if (known && given[0] != '/')
            NVDP_TRY(replace(ctx, config, keys[i], given,
                             nvdp__format(ctx, "%.*s%s", (int)(all - length), run, given)));
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
                                  struct nvdp__train_options *config, json_t **owner) {
    nvdp__autoptr(json_decref) json_t *root = NULL;
    nvdp__autofree char *path = nvdp__join(ctx, directory, "run.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__json_read(ctx, path, &root));
    json_t *object = json_object_get(root, "config");
    if (!json_is_object(object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a run of nvdp train, but the object 'config' is missing",
                          path);
    NVDP_TRY(find_files(ctx, directory, object));
    *config = nvdp__train_defaults();
    NVDP_TRY(nvdp__schema_read(ctx, path, object, &nvdp__train_schema, config));
    if (config->noise.mechanism != NVDP__NOISE_NONE &&
        !nvdp__token_row(config->noise.mechanism)->uses_eta)
        config->noise.sanitizer.eta = 0; /* earlier versions wrote and ignored it */
    NVDP__HAND_OVER(owner, root);
    return NVDP_OK;
}

/* Splits depending on the data only, so that seeds are compared on the same texts. */
nvdp_status nvdp__train_holdout(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp_dataset *all, struct nvdp_dataset **train,
                                struct nvdp_dataset **held) {
    return nvdp__dp_wanted(&config->dp)
               ? nvdp__dataset_holdout_each(ctx, all, config->holdout, train, held)
               : nvdp_dataset_holdout(ctx, all, config->holdout, 0, train, held);
}

/* Replaces the dataset by its held-out part. */
static nvdp_status keep_validation(struct nvdp_context *ctx, const struct nvdp__run *run,
                                   struct nvdp_dataset **dataset) {
    struct nvdp_dataset *train = NULL, *held = NULL;
    NVDP_TRY(nvdp__train_holdout(ctx, &run->config, *dataset, &train, &held));
    nvdp_dataset_free(*dataset);
    nvdp_dataset_free(train);
    *dataset = held;
    return NVDP_OK;
}

/* Keeps only the first `limit` texts. */
static nvdp_status cut(struct nvdp_context *ctx, size_t limit, struct nvdp_dataset **dataset) {
    struct nvdp_dataset *part = NULL;
    if (limit == 0 || (*dataset)->count <= limit) return NVDP_OK;
    size_t *rows = nvdp__calloc(ctx, limit, sizeof *rows);
    if (rows == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < limit; i++)
        rows[i] = i;
    nvdp_status status = nvdp_dataset_select(ctx, *dataset, limit, rows, &part);
    free(rows);
    NVDP_TRY(status);
    nvdp_dataset_free(*dataset);
    *dataset = part;
    return NVDP_OK;
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

/* Loads a split by name. "train" has all train rows that the run read (its limit_train applies),
 * including the validation part; "validation" is the held-out part. `limit` (0: all) takes the
 * first texts of train, and a seeded sample of other splits. */
static nvdp_status load_split(struct nvdp_context *ctx, const struct nvdp__run *run,
                              const char *data, const char *split, size_t limit, uint64_t seed,
                              struct nvdp_dataset **out) {
    struct nvdp_dataset_config config = nvdp__run_dataset_config(run, data);
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
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
                 : nvdp__dataset_load_private(ctx, nvdp_model_tokenizer(run->model), &config, which,
                                              nvdp__token_noise_public(run->noise), &dataset));
    if (folds)
        NVDP_TRY(nvdp__dataset_keep_fold(ctx, run->config.folds, run->config.fold, held, &dataset));
    if (validation && holdout) NVDP_TRY(keep_validation(ctx, run, &dataset));
    if (which == NVDP_SPLIT_TRAIN) NVDP_TRY(cut(ctx, limit, &dataset));
    NVDP__HAND_OVER(out, dataset);
    return NVDP_OK;
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

/* Refuses runs with token noise. A run of method base must not be called noiseless if its users
 * add noise. */
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
    nvdp__autofree char *directory = nvdp__join(ctx, config->run, "model");
    NVDP_TRY(NVDP__MADE(directory));
    const struct nvdp__encode_limits limits = {.config = &run->model->info.bert,
                                               .max_length = run->model->info.max_length,
                                               .directory = directory};
    return nvdp__texts_read(ctx, path, &limits, limit, seed, &all, out);
}

static nvdp_status check_task(struct nvdp_context *ctx, const char *path,
                              const struct nvdp__run *run) {
    if (!nvdp__run_has_no_task(run)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected a run of a task, found one without (method %s), which predicts "
                      "nothing; train a receiver on its exported samples with nvdp reuse",
                      path, nvdp_method_name(run->config.method));
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

/* With `bottleneck`, accepts only runs whose texts are shared through the bottleneck; without, only runs of a task. */
static nvdp_status open_run(struct nvdp_context *ctx, const struct nvdp__run_options *config,
                            bool bottleneck, struct nvdp__run *run) {
    nvdp__auto(nvdp__run_close) struct nvdp__run opened = {0};
    nvdp__autofree char *directory = NULL;
    if (config->run == NULL || !nvdp__is_directory(config->run)) {
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s: no such run directory",
                          config->run == NULL ? "" : config->run);
    }
    NVDP_TRY(nvdp__outdir_check_run(ctx, config->run));
    NVDP_TRY(nvdp__run_read_config(ctx, config->run, &opened.config, &opened.config_owner));
    NVDP_TRY(bottleneck ? check_bottleneck(ctx, config->run, &opened.config)
                        : check_task(ctx, config->run, &opened));
    NVDP_TRY(nvdp__outdir_check_ended(ctx, config->run));
    directory = nvdp__join(ctx, config->run, "model");
    NVDP_TRY(NVDP__MADE(directory));
    if (!nvdp__is_directory(directory))
        return nvdp__fail(ctx, NVDP_ERR_STATE,
                          "%s: expected the run's model, but the folder model is missing; a "
                          "sweep with \"keep\": \"results\" removes it",
                          config->run);
    NVDP_TRY(nvdp_model_load(ctx, directory, &opened.model));
    if (opened.config.noise.mechanism != NVDP__NOISE_NONE)
        nvdp__tokenizer_read_names_as_text(opened.model->tokenizer);
    if (opened.config.representations != NULL && config->data != NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {data}: this run reads token representations, so its data can only be %s",
            opened.config.representations);
    if (config->split != NULL) NVDP_TRY(nvdp__run_load_texts(ctx, config, &opened));
    *run = opened;
    opened = (struct nvdp__run){0};
    return NVDP_OK;
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

void nvdp_evaluation_free(struct nvdp_evaluation *evaluation) {
    if (evaluation == NULL) return;
    free(evaluation->scores);
    evaluation->scores = NULL;
}

nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_evaluation *out) {
    size_t count;
    struct nvdp_class_score *classes = NULL;
    NVDP_TRY(nvdp_evaluate_classes(ctx, config, out, &count, &classes));
    free(classes);
    return NVDP_OK;
}

nvdp_status nvdp_evaluate_classes(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  struct nvdp_evaluation *out, size_t *count,
                                  struct nvdp_class_score **classes) {
    struct nvdp_class_score *found = NULL;
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    struct nvdp__run_options options;
    nvdp__auto(nvdp_evaluation_free) struct nvdp_evaluation result =
        NVDP_RESULT(struct nvdp_evaluation);
    NVDP_TRY(NVDP__NEW(ctx, result.scores, 1));
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__evaluate_schema, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__run_open(ctx, &options, &run));
    NVDP_TRY(nvdp__score_whole(ctx, run.model, run.dataset, options.batch, options.seed,
                               options.draws, result.scores, &found));
    const struct nvdp__model_info *info = &run.model->info;
    nvdp__snprintf(result.task, sizeof result.task, "%s", info->task.name);
    nvdp__snprintf(result.method, sizeof result.method, "%s", nvdp_method_name(info->method));
    nvdp__snprintf(result.split, sizeof result.split, "%s", options.split);
    nvdp__snprintf(result.protocol, sizeof result.protocol, "%s",
                   nvdp__protocol_names[run.config.protocol]);
    nvdp_evaluation_free(out);
    NVDP__GIVE(out, &result);
    result.scores = NULL;
    *count = found != NULL ? run.model->info.outputs : 0;
    *classes = found;
    return NVDP_OK;
}

nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                struct nvdp_posteriors **out) {
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *made = NULL;
    struct nvdp__run_options options;
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__run_schema, &options));
    NVDP_TRY(nvdp__run_open_bottleneck(ctx, &options, &run));
    NVDP_TRY(nvdp_model_posteriors(ctx, run.model, run.dataset, options.batch, &made));
    NVDP_TRY(NVDP__NEW(ctx, made->id, made->texts));
    memcpy(made->id, run.dataset->index, made->texts * sizeof *made->id);
    made->split = 1 + (int)run.dataset->split;
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* --- privacy of texts that a run's users privatize token by token --- */

/* The users' tokens in the table, per text and part. [CLS] and [SEP] are left out because they
 * are public. */
struct sent {
    size_t *offset, *first;
    int32_t *token;
};

static nvdp_status list_sent(struct nvdp_context *ctx, const struct nvdp_dataset *dataset,
                             const struct nvdp_tokenizer *tokenizer,
                             const struct nvdp_sanitizer *sanitizer, struct sent *out) {
    const int32_t unknown = nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_UNK);
    size_t n = 0;
    NVDP_TRY(NVDP__NEW(ctx, out->offset, dataset->count + 1));
    NVDP_TRY(NVDP__NEW(ctx, out->first, dataset->count));
    NVDP_TRY(NVDP__NEW(ctx, out->token, dataset->offset[dataset->count]));
    for (size_t i = 0; i < dataset->count; i++) {
        for (size_t k = dataset->offset[i]; k < dataset->offset[i + 1]; k++) {
            const int32_t id = dataset->ids[k], token = nvdp_sanitizer_token(sanitizer, id);
            if (token < 0 && id != unknown) continue;
            out->token[n++] = token;
            out->first[i] += dataset->types[k] == 0;
        }
        out->offset[i + 1] = n;
    }
    return NVDP_OK;
}

/* Opens a run and loads its split's original texts. With `sequence` it requires token-noise
 * sequence-laplace, otherwise another token noise. */
static nvdp_status open_original(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 bool sequence, struct nvdp__privacy_options *measures,
                                 struct nvdp__run_options *options, struct nvdp__run *run) {
    nvdp__auto(nvdp__run_close) struct nvdp__run recorded = {0};
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
    NVDP_TRY(nvdp__run_open(ctx, &bare, run));
    if (!sequence)
        NVDP_TRY(nvdp__token_noise_create(ctx, &run->config.noise, run->config.seed,
                                          run->config.model, nvdp_model_tokenizer(run->model),
                                          &run->noise));
    return load_split(ctx, run, options->data, options->split, options->limit, options->seed,
                      &run->dataset);
}

nvdp_status nvdp_run_text_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  double **matrix, struct nvdp_dchi_report *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__run run = {0};
    struct nvdp__run_options options;
    struct nvdp__privacy_options measures;
    struct sent sent = {0};
    double *made = NULL;
    struct nvdp_dchi_report report = NVDP_RESULT(struct nvdp_dchi_report);
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    NVDP_TRY_OR_CLEAN(open_original(ctx, config, false, &measures, &options, &run));
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(run.model);
    struct nvdp_sanitizer *sanitizer = run.noise->sanitizer;
    NVDP_TRY_OR_CLEAN(list_sent(ctx, run.dataset, tokenizer, sanitizer, &sent));
    const struct nvdp_token_texts texts = {.texts = run.dataset->count,
                                           .offset = sent.offset,
                                           .tokens = sent.token,
                                           .first = sent.first};
    if (matrix != NULL) NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, made, texts.texts * texts.texts));
    NVDP_TRY_OR_CLEAN(
        nvdp__dchi_privacy(ctx, nvdp_sanitizer_dchi(sanitizer), &texts, &measures, made, &report));
    report.insecure_seed = true;
    report.own_choice = nvdp__sanitizer_found(sanitizer, NVDP__OF_SENSITIVE);
    NVDP__GIVE(out, &report);
    if (matrix != NULL) NVDP__HAND_OVER(matrix, made);
cleanup:
    nvdp__run_close(&run);
    free(made);
    free(sent.offset);
    free(sent.first);
    free(sent.token);
    return status;
}

nvdp_status nvdp_run_sequence_privacy(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      double **matrix, struct nvdp_privacy_report *out) {
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    struct nvdp__run_options options;
    struct nvdp__privacy_options measures;
    nvdp__autofree double *states = NULL, *made = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(open_original(ctx, config, true, &measures, &options, &run));
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
