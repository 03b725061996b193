/* nvdp_train and its plan: opening, running and closing a trainer. */
#include "base/file.h"
#include "bert/checkpoint.h"
#include "model/model.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

/* Pretrained weights in, the rest initialised. */
static nvdp_status start_weights(struct nvdp__trainer *t) {
    nvdp__model_initialise(t->model, t->config.seed);
    NVDP_RETURN_IF_FAILED(
        nvdp__checkpoint_load(&t->model->dev, t->config.model, &t->model->params));
    return nvdp__model_initialise_bottleneck(t->model, t->train, t->config.seed);
}

static nvdp_status start_or_continue(struct nvdp__trainer *t) {
    bool found = false;
    if (t->config.resume) NVDP_RETURN_IF_FAILED(nvdp__state_load(t, &found));
    if (!found) NVDP_RETURN_IF_FAILED(start_weights(t));
    /* Nothing is written, and no earlier run removed, before data and weights are known good. */
    if (!t->config.resume) {
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

/* On a resume the configuration is the run's own; only the directory is the caller's. */
static nvdp_status take_config(struct nvdp__trainer *t, const struct nvdp_train_config *config) {
    t->config = *config;
    if (config->resume) {
        if (config->out == NULL) {
            return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                              "resume: expected a run directory, found none");
        }
        NVDP_RETURN_IF_FAILED(
            nvdp__rundir_read_config(t->ctx, config->out, &t->config, &t->config_owner));
        t->config.out = config->out;
        t->config.resume = true;
        t->config.cache = config->cache;
        t->config.recompute_prefix = config->recompute_prefix;
    }
    return nvdp_train_config_check(t->ctx, &t->config);
}

nvdp_status nvdp_train(struct nvdp_context *ctx, const struct nvdp_train_config *config,
                       struct nvdp_train_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__trainer t = {.ctx = ctx};
    struct nvdp_train_result result = {0};
    NVDP_TRY(take_config(&t, config));
    if (!t.config.resume) NVDP_TRY(nvdp__rundir_check(&t));
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

nvdp_status nvdp_train_plan(struct nvdp_context *ctx, const struct nvdp_train_config *config,
                            struct nvdp_train_plan *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__trainer t = {.ctx = ctx};
    size_t floats = 0;
    NVDP_TRY(take_config(&t, config));
    t.config.cache = NULL; /* a plan writes nothing */
    NVDP_TRY(nvdp__trainer_open(&t));
    NVDP_TRY(
        nvdp__model_plan_size(t.model, t.config.batch, nvdp__trainer_longest(&t), true, &floats));
    size_t vectors = 4; /* values, gradients, two moments */
    /* bfloat16 copies of the weights in two layouts: together as large as the values */
    if (t.model->dev.bf16 != NULL) vectors++;
    if (t.config.decay_to == NVDP_DECAY_TO_PRETRAINED) vectors++;
    *out = (struct nvdp_train_plan){
        .train_texts = t.train->count,
        .validation_texts = t.validation->count,
        .test_texts = t.test->count,
        .parameters = t.model->info.parameters,
        .frozen_parameters = frozen_parameters(t.model),
        .prefix_bytes = prefix_bytes(&t),
        .steps = t.steps,
        .memory_bytes = (vectors * t.model->params.total + floats) * sizeof(float),
        .nvib = t.config.nvib,
    };
cleanup:
    nvdp__trainer_close(&t);
    return status;
}
