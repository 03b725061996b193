/* nvdp_train and its plan: opening, running and closing a trainer. */
#include "base/file.h"
#include "bert/checkpoint.h"
#include "model/model.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pretrained weights in, the rest initialised. */
static nvdp_status start_weights(struct nvdp__trainer *t) {
    nvdp__model_initialise(t->model, t->config.seed);
    NVDP_RETURN_IF_FAILED(
        nvdp__checkpoint_load(&t->model->dev, t->config.model, &t->model->params));
    return nvdp__model_initialise_bottleneck(t->model, t->train, t->config.seed);
}

static nvdp_status start_or_continue(struct nvdp__trainer *t) {
    bool found = false;
    if (t->config.resume != NULL) NVDP_RETURN_IF_FAILED(nvdp__state_load(t, &found));
    if (!found) NVDP_RETURN_IF_FAILED(start_weights(t));
    /* Nothing is written, and no earlier run removed, before data and weights are known good. */
    if (t->config.resume == NULL) {
        NVDP_RETURN_IF_FAILED(nvdp__rundir_prepare(t));
        NVDP_RETURN_IF_FAILED(nvdp__rundir_write_run(t));
    }
    return nvdp__metrics_open(t);
}

/* The best epoch's weights on the test split, with fresh noise. */
static nvdp_status final_score(struct nvdp__trainer *t, struct nvdp_train_result *result) {
    char *path = nvdp__join(t->ctx, t->config.out, "model/model.safetensors");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__checkpoint_load_file(&t->model->dev, path, &t->model->params);
    free(path);
    NVDP_RETURN_IF_FAILED(status);
    status = nvdp__score_model(t->ctx, t->model, t->test, t->config.eval_batch, t->config.seed, 0,
                               t->config.eval_draws, &result->test);
    if (status == NVDP_ERR_CANCELLED)
        return nvdp__fail(t->ctx, status,
                          "interrupted while the trained model was scored; continue with: nvdp "
                          "train --resume %s",
                          t->config.out);
    NVDP_RETURN_IF_FAILED(status);
    result->epochs_run = t->state.epoch;
    result->best_epoch = t->state.best_epoch;
    result->best_validation = t->state.best_value;
    result->steps = t->state.step;
    result->seconds = t->state.seconds;
    result->tokens_per_second = t->state.tokens / fmax(t->state.seconds, 1e-9);
    result->loss_g = t->state.epoch_g;
    result->loss_d = t->state.epoch_d;
    result->early_stopped = t->state.early_stopped;
    return NVDP_OK;
}

/* On a resume the configuration is the run's own; what is given (`given`, NULL: only what the
 * plain struct says of the call) must not contradict it. */
static nvdp_status take_config(struct nvdp__trainer *t, const struct nvdp__train_options *options,
                               const struct nvdp_config *given) {
    const char *run = options->resume;
    t->config = *options;
    if (run == NULL) return nvdp__schema_check(t->ctx, &nvdp__train_schema, &t->config);
    NVDP_RETURN_IF_FAILED(nvdp__rundir_read_config(t->ctx, run, &t->config, &t->config_owner));
    if (given != NULL) {
        NVDP_RETURN_IF_FAILED(
            nvdp__config_continue(t->ctx, given, &nvdp__train_schema, &t->config));
        if (options->out != NULL && strcmp(options->out, run) != 0)
            return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                              "option --out: a resumed run keeps its own configuration: %s, found "
                              "%s",
                              run, options->out);
    }
    t->config.out = run;
    t->config.resume = run;
    t->config.overwrite = options->overwrite;
    t->config.cache = options->cache;
    t->config.no_prefix_cache = options->no_prefix_cache;
    return nvdp__schema_check(t->ctx, &nvdp__train_schema, &t->config);
}

static nvdp_status train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                         const struct nvdp_config *given, struct nvdp_train_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__trainer t = {.ctx = ctx};
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    NVDP_TRY(take_config(&t, options, given));
    if (t.config.resume == NULL) NVDP_TRY(nvdp__rundir_check(&t));
    NVDP_TRY(nvdp__trainer_open(&t));
    NVDP_TRY(nvdp__trainer_allocate(&t, true));
    NVDP_TRY(start_or_continue(&t));
    if (!t.state.finished) NVDP_TRY(nvdp__trainer_open_prefix(&t));
    NVDP_TRY(nvdp__trainer_run(&t));
    nvdp__trainer_close_prefix(&t);
    NVDP_TRY(final_score(&t, &result));
    NVDP_TRY(nvdp__rundir_write_result(&t, &result));
    *out = result;
cleanup:
    nvdp__trainer_close(&t);
    return status;
}

nvdp_status nvdp__train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                        struct nvdp_train_result *out) {
    return train(ctx, options, NULL, out);
}

nvdp_status nvdp_train(struct nvdp_context *ctx, const struct nvdp_config *config,
                       struct nvdp_train_result *out) {
    struct nvdp__train_options options;
    struct nvdp_train_result result;
    NVDP_RETURN_IF_FAILED(nvdp__config_values(ctx, config, &nvdp__train_schema, &options));
    NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    NVDP_RETURN_IF_FAILED(train(ctx, &options, config, &result));
    NVDP__GIVE(out, &result);
    return NVDP_OK;
}

static size_t frozen_parameters(const struct nvdp_model *model) {
    size_t frozen = 0;
    for (size_t i = 0; i < model->params.count; i++) {
        const struct nvdp__param *entry = &model->params.entry[i];
        if (entry->flags & NVDP__PARAM_FROZEN) frozen += entry->count;
    }
    return frozen;
}

static size_t prefix_bytes(const struct nvdp__trainer *t) {
    const struct nvdp_bert_config *bert = &t->model->info.bert;
    if (t->config.freeze_layers == 0) return 0;
    size_t bytes = nvdp__prefix_bytes(bert, t->all);
    return t->validation == t->test ? bytes + nvdp__prefix_bytes(bert, t->test) : bytes;
}

nvdp_status nvdp__train_plan(struct nvdp_context *ctx, struct nvdp__train_options *options,
                             struct nvdp_train_plan *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__trainer t = {.ctx = ctx};
    size_t floats = 0;
    NVDP_TRY(take_config(&t, options, NULL));
    t.config.cache = NULL; /* a plan writes nothing */
    NVDP_TRY(nvdp__trainer_open(&t));
    NVDP_TRY(
        nvdp__model_plan_size(t.model, t.config.batch, nvdp__trainer_longest(&t), true, &floats));
    size_t vectors = 4; /* values, gradients, two moments */
    /* bfloat16 copies of the weights in two layouts: together as large as the values */
    if (t.model->dev.bf16 != NULL) vectors++;
    if (t.config.decay_to == NVDP__DECAY_TO_PRETRAINED) vectors++;
    options->nvib = t.config.nvib;
    *out = (struct nvdp_train_plan){
        .struct_size = sizeof *out,
        .train_texts = t.train->count,
        .validation_texts = t.validation->count,
        .test_texts = t.test->count,
        .parameters = t.model->info.parameters,
        .frozen_parameters = frozen_parameters(t.model),
        .prefix_bytes = prefix_bytes(&t),
        .steps = t.steps,
        .memory_bytes = (vectors * t.model->params.total + floats) * sizeof(float),
    };
cleanup:
    nvdp__trainer_close(&t);
    return status;
}

nvdp_status nvdp_train_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                            struct nvdp_config **resolved, struct nvdp_train_plan *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__train_options options;
    struct nvdp_train_plan plan;
    struct nvdp_config *copy = NULL;
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__train_schema, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__train_plan(ctx, &options, &plan));
    if (resolved != NULL) {
        NVDP_TRY(nvdp_config_copy(config, &copy));
        NVDP_TRY(nvdp__config_take(copy, &nvdp__train_schema, &options));
        *resolved = copy;
        copy = NULL;
    }
    NVDP__GIVE(out, &plan);
cleanup:
    nvdp_config_free(copy);
    return status;
}
