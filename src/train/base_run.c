/* A base run, whose model a private run starts from: another run (--from-base), or one that it trains itself, in RUN/base
 * (--base-epochs). */
#include "base/file.h"
#include "base/json.h"
#include "base/ranks.h"
#include "model/model.h"
#include "text/conll.h"
#include "text/task.h"
#include "train/run.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* --- its model is where this run starts --- */

/* The model given beside it, if any, must be the base run's or the one that it was trained from. */
static nvdp_status check_base(const struct nvdp__trainer *t, const struct nvdp__train_options *base,
                              const char *model) {
    const char *run = t->config.from_base, *given = t->config.model;
    if (nvdp_method_is_private(base->method))
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "option --from-base: %s: expected a run of base or reg, found %s", run,
                          nvdp_method_name(base->method));
    if (given != NULL && strcmp(given, model) != 0 && strcmp(given, base->model) != 0)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "option --model: expected none, or %s, which the run of --from-base was "
                          "trained from, found %s",
                          base->model, given);
    return NVDP_OK;
}

nvdp_status nvdp__trainer_take_base(struct nvdp__trainer *t) {
    nvdp_status status = NVDP_OK;
    struct nvdp__train_options base = {0};
    json_t *owner = NULL;
    const char *run = t->config.from_base;
    char *model = NULL, *result = NULL;
    if (run == NULL) return NVDP_OK;
    if (!nvdp__is_directory(run))
        return nvdp__fail(t->ctx, NVDP_ERR_IO, "option --from-base: %s: no such run directory",
                          run);
    NVDP_TRY(nvdp__run_read_config(t->ctx, run, &base, &owner));
    model = nvdp__join(t->ctx, run, "model");
    result = nvdp__join(t->ctx, run, "result.json");
    if (model == NULL || result == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(check_base(t, &base, model));
    if (!nvdp__exists(result))
        NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_STATE,
                            "option --from-base: %s: expected result.json, found none: the run has "
                            "not finished; continue it with: nvdp train --resume %s",
                            run, run));
    t->config.model = t->base_model = model;
    model = NULL;
cleanup:
    json_decref(owner);
    free(model);
    free(result);
    return status;
}

/* Whether a run was trained on the texts of this one: of the same folder, or of a train file with the same bytes. */
static nvdp_status same_texts(const struct nvdp__trainer *t, const struct nvdp__train_options *base,
                              bool *same) {
    nvdp_status status = NVDP_OK;
    const char *data[] = {t->config.data, base->data};
    char *file[2] = {NULL}, digest[2][65];
    enum nvdp_task_id id;
    *same = nvdp__same_file(data[0], data[1]) ||
            nvdp__same_file(t->config.representations, base->representations);
    if (*same || data[0] == NULL || data[1] == NULL || strcmp(t->config.task, base->task) != 0)
        return NVDP_OK;
    if (!nvdp__is_directory(data[1])) return NVDP_OK; /* gone */
    NVDP_TRY(nvdp_task_find(t->ctx, base->task, &id));
    const struct nvdp__layout *layout = nvdp__task_layout(id);
    for (int i = 0; i < 2; i++) {
        NVDP_TRY(layout->task.tags
                     ? nvdp__conll_file(t->ctx, data[i], NVDP_SPLIT_TRAIN, &file[i])
                     : nvdp__task_path(t->ctx, layout, data[i], NVDP_SPLIT_TRAIN, &file[i]));
        if (!nvdp__exists(file[i])) goto cleanup;
        NVDP_TRY(nvdp__file_sha256(t->ctx, file[i], digest[i]));
    }
    *same = strcmp(digest[0], digest[1]) == 0;
cleanup:
    free(file[0]);
    free(file[1]);
    return status;
}

/* Runs of which each begins from the next: folders may say that they go round. */
enum { MOST_RUNS = 64 };

/* The run whose model this one begins from: that of --from-base, or the one that --model lies in; *out NULL: none that is there. */
static nvdp_status run_before(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                              char **out) {
    nvdp_status status = NVDP_OK;
    json_t *object = NULL;
    char *run = options->from_base != NULL ? nvdp__join(ctx, options->from_base, "")
                : options->model != NULL   ? nvdp__join(ctx, options->model, "..")
                                           : NULL;
    *out = NULL;
    if (run == NULL || !nvdp__is_directory(run)) goto cleanup;
    NVDP_TRY(nvdp__json_read_optional(ctx, run, "run.json", &object));
    const char *format = json_string_value(json_object_get(object, "nvdp_format"));
    if (format != NULL && strcmp(format, "run/1") == 0) NVDP__HAND_OVER(out, run);
cleanup:
    json_decref(object);
    free(run);
    return status;
}

nvdp_status nvdp__trainer_base_privacy(const struct nvdp__trainer *t,
                                       struct nvdp_dp_guarantee *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__train_options base = t->config;
    json_t *owner = NULL, *result = NULL;
    char *run = NULL;
    bool counted = false; /* the last one's promise has those before it in it */
    *out = (struct nvdp_dp_guarantee){0, 0};
    for (int back = 0; back < MOST_RUNS; back++) {
        struct nvdp_dp_guarantee of;
        json_t *read = NULL;
        bool same = false;
        free(run);
        NVDP_TRY(run_before(t->ctx, &base, &run));
        if (run == NULL) break;
        NVDP_TRY(nvdp__run_read_config(t->ctx, run, &base, &read));
        json_decref(owner);
        owner = read;
        NVDP_TRY(same_texts(t, &base, &same));
        if (!same) continue;
        json_decref(result);
        result = NULL;
        NVDP_TRY(nvdp__json_read_optional(t->ctx, run, "result.json", &result));
        if (!nvdp__dp_promise(json_object_get(result, "dp"), t->config.dp.insecure_seed != 0, &of))
            NVDP_TRY(nvdp__fail(
                t->ctx, NVDP_ERR_ARGUMENT,
                "private training: expected a model to begin from that did not see these texts, or "
                "saw them privately, found that of %s, which was trained on them without privacy, "
                "or with noise from a seed: what it learned of them stays, whatever noise is added "
                "now (train that with --dp-batch and --target-epsilon, or begin from a public "
                "--model)",
                run));
        if (!counted) *out = of;
        counted = true;
    }
cleanup:
    free(run);
    json_decref(owner);
    json_decref(result);
    return status;
}

/* Whether two tasks' outputs mean the same. */
static bool same_outputs(const struct nvdp_task *a, const struct nvdp_task *b) {
    if (strcmp(a->name, b->name) != 0 || a->regression != b->regression || a->classes != b->classes)
        return false;
    for (int i = 0; !a->regression && i < a->classes; i++)
        if (strcmp(a->labels[i], b->labels[i]) != 0) return false;
    return true;
}

nvdp_status nvdp__trainer_take_head(struct nvdp__trainer *t) {
    struct nvdp__model_info info;
    char *owned = NULL;
    const char **labels = NULL;
    if (t->config.from_base == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__model_info_read(t->ctx, t->config.model, &info, &owned, &labels));
    bool same = same_outputs(&info.task, &t->all->task);
    if (!same)
        nvdp__log(
            t->ctx, NVDP_LOG_NOTICE,
            "option --from-base: %s is of task %s with %zu outputs: its encoder is taken, the "
            "classifier initialised",
            t->config.from_base, info.task.name, info.outputs);
    if (!same || nvdp_method_is_private(t->config.method))
        nvdp__model_initialise_classifier(t->model, t->config.seed);
    free(owned);
    free(labels);
    return NVDP_OK;
}

/* --- one of its own first --- */

/* A classifier needs no more than this, small data sets no less (as of method reg). */
static const double BASE_DROPOUT = 0.1;

bool nvdp__base_first(const struct nvdp__train_options *config) {
    return config->base_epochs > 0 && config->from_base == NULL &&
           nvdp_method_is_private(config->method) && !nvdp__dp_wanted(&config->dp);
}

nvdp_status nvdp__base_options(struct nvdp_context *ctx, struct nvdp__train_options *config,
                               struct nvdp__train_options *base) {
    struct nvdp_bert_config bert;
    NVDP_RETURN_IF_FAILED(nvdp_bert_config_read(ctx, config->model, &bert));
    if (config->freeze_layers == 0) config->freeze_layers = bert.num_hidden_layers;
    *base = *config;
    base->preset = NULL;
    base->method = NVDP_METHOD_BASE;
    base->epochs = config->base_epochs;
    base->base_epochs = base->freeze_layers = 0;
    base->dropout = base->classifier_dropout = BASE_DROPOUT;
    base->lr_bottleneck = base->lr_head = -1;
    base->certified_epsilon = 0;
    return NVDP_OK;
}

/* RUN with the configuration of the whole, to be resumed from now on. */
static nvdp_status begin_whole(struct nvdp__trainer *t) {
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = t->ctx;
    struct nvdp__trainer whole = {.ctx = ctx, .config = t->config, .plan = true};
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_open(&whole)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_allocate(&whole, true)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_start_weights(&whole)));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__trainer_begin_records(&whole)));
    t->config.resume = t->config.out;
cleanup:
    nvdp__trainer_close(&whole);
    return status;
}

/* Whether rank 0 sees the file in RUN/base: the answer is everybody's. */
static nvdp_status base_has(const struct nvdp__trainer *t, const char *name, bool *there) {
    char *path = nvdp__join(t->ctx, t->base_run, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    const bool seen = nvdp__trainer_writes(t) && nvdp__exists(path);
    free(path);
    return nvdp__rank_any(t->ctx, seen, there);
}

nvdp_status nvdp__trainer_train_base(struct nvdp__trainer *t) {
    struct nvdp_context *ctx = t->ctx;
    struct nvdp_train_result result;
    struct nvdp__train_options base;
    bool begun = false, done = false;
    NVDP_RETURN_IF_FAILED(nvdp__base_options(ctx, &t->config, &base));
    if (t->config.resume == NULL) NVDP_RETURN_IF_FAILED(begin_whole(t));
    t->base_run = nvdp__join(ctx, t->config.out, "base");
    if (t->base_run == NULL) return NVDP_ERR_MEMORY;
    t->config.from_base = t->base_run;
    NVDP_RETURN_IF_FAILED(base_has(t, "result.json", &done));
    NVDP_RETURN_IF_FAILED(base_has(t, "run.json", &begun));
    if (done) return NVDP_OK;
    base.out = t->base_run;
    base.resume = begun ? t->base_run : NULL;
    base.overwrite = !begun;
    nvdp__log(ctx, NVDP_LOG_INFO, "first the encoder and a classifier: %s", t->base_run);
    nvdp_status status = nvdp__train(ctx, &base, &result);
    if (status == NVDP_ERR_CANCELLED)
        return nvdp__fail(ctx, status,
                          "interrupted in the base run that comes first; continue with: nvdp train "
                          "--resume %s",
                          t->config.out);
    NVDP_RETURN_IF_FAILED(status);
    nvdp__log(ctx, NVDP_LOG_INFO, "base: %s %.4f; now the bottleneck: %s",
              nvdp_metric_name(result.test.metric[0]), result.test.mean[0], t->config.out);
    return NVDP_OK;
}
