/* The training loop: epochs, steps, validation, best epoch, early stopping. */
#include "base/base.h"
#include "base/file.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Validation noise is numbered by epoch, apart from the test draws. */
static const uint64_t VALIDATION_SEED_MASK = 0x9e3779b97f4a7c15u;

double nvdp__kl_weight(const struct nvdp__train_options *config, uint64_t step, uint64_t steps) {
    double done = (double)step / (double)steps;
    switch (config->kl_schedule) {
    case NVDP__KL_WARMUP:
        if (done < config->kl_delay) return 0;
        return config->kl_ramp > 0 ? fmin(1, (done - config->kl_delay) / config->kl_ramp) : 1;
    case NVDP__KL_DECAY:
        return 1 - done;
    case NVDP__KL_CONSTANT:
        break;
    }
    return 1;
}

static struct nvdp__pass training_pass(const struct nvdp__trainer *t) {
    const struct nvdp_bert_config *bert = &t->model->info.bert;
    bool own = t->config.dropout >= 0;
    return (struct nvdp__pass){
        .training = true,
        .hidden_dropout = (float)(own ? t->config.dropout : bert->hidden_dropout_prob),
        .attention_dropout = (float)(own ? t->config.dropout : bert->attention_probs_dropout_prob),
        .seed = t->config.seed,
        .step = (uint32_t)t->state.step,
        .first_layer = nvdp__model_first_layer(t->model),
    };
}

static nvdp_status diverged(struct nvdp__trainer *t, const struct nvdp__step_report *r) {
    return nvdp__fail(
        t->ctx, NVDP_ERR_NUMERIC,
        "step %" PRIu64 ": training diverged: task loss %g, L_G %g, L_D %g, gradient norm %g; "
        "try a smaller --lr",
        t->state.step + 1, r->losses.task, r->losses.loss_g, r->losses.loss_d, r->norm);
}

void nvdp__trainer_next_batch(struct nvdp__trainer *t) {
    size_t first = t->state.epoch_step * t->config.batch;
    size_t left = t->train->count - first;
    size_t n = left < t->config.batch ? left : t->config.batch;
    nvdp__batch_fill(t->batch, t->train, t->order + first, 0, n);
}

nvdp_status nvdp__train_step(struct nvdp__trainer *t, struct nvdp__step_report *r) {
    struct nvdp_model *model = t->model;
    struct nvdp__pass pass = training_pass(t);
    struct nvdp__draw draw = {.noise = {.seed = t->config.seed},
                              .gauss = NVDP__PURPOSE_GAUSS,
                              .gamma = NVDP__PURPOSE_GAMMA,
                              .epoch = (uint32_t)t->state.epoch};
    float dropout = (float)t->config.classifier_dropout;
    r->weight = nvdp__kl_weight(&t->config, t->state.step, t->steps);
    r->lr = t->config.adamw.lr * nvdp__lr_factor(t->state.step, t->steps, t->config.adamw.warmup);
    r->norm = NAN;
    nvdp__trainer_next_batch(t);
    nvdp__grad_begin(&model->dev, &model->params);
    NVDP_RETURN_IF_FAILED(nvdp__model_forward(model, t->batch, &pass, &draw, dropout));
    NVDP_RETURN_IF_FAILED(
        nvdp__model_backward(model, t->batch, &pass, t->config.lambda_g * r->weight,
                             t->config.lambda_d * r->weight, dropout, &r->losses));
    r->total = r->losses.task + r->weight * (t->config.lambda_g * r->losses.loss_g +
                                             t->config.lambda_d * r->losses.loss_d);
    if (!isfinite(r->total)) return diverged(t, r);
    double factor = nvdp__lr_factor(t->state.step, t->steps, t->config.adamw.warmup);
    nvdp_status status =
        nvdp__optimizer_step(&t->optimizer, &model->dev, &model->params, factor, &r->norm);
    if (status == NVDP_ERR_NUMERIC) return diverged(t, r);
    return status;
}

static nvdp_status log_step(struct nvdp__trainer *t, const struct nvdp__step_report *r) {
    return nvdp__metrics_append(
        t, json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "event", "step", "step",
                     (json_int_t)t->state.step, "epoch", (json_int_t)(t->state.epoch + 1), "loss",
                     r->total, "task_loss", r->losses.task, "loss_g", r->losses.loss_g, "loss_d",
                     r->losses.loss_d, "kl_weight", r->weight, "lr", r->lr, "grad_norm", r->norm,
                     "tokens_per_second", t->state.tokens / fmax(t->state.seconds, 1e-9)));
}

static void count_step(struct nvdp__trainer *t, const struct nvdp__step_report *r, double seconds) {
    t->state.epoch_step++;
    t->state.step++;
    t->state.sum_task += r->losses.task;
    t->state.sum_g += r->losses.loss_g;
    t->state.sum_d += r->losses.loss_d;
    t->state.seconds += seconds;
    t->state.tokens += (double)t->batch->tokens;
}

static nvdp_status save_and_stop(struct nvdp__trainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__state_save(t));
    return nvdp__fail(t->ctx, NVDP_ERR_CANCELLED,
                      "interrupted after step %" PRIu64 " of %" PRIu64
                      "; continue with: nvdp train --resume %s",
                      t->state.step, t->steps, t->config.out);
}

/* Between steps: save when it is due, stop when asked. */
static nvdp_status pause_point(struct nvdp__trainer *t) {
    if (nvdp__cancelled(t->ctx)) return save_and_stop(t);
    if (nvdp__now() - t->saved_at < t->config.checkpoint_seconds) return NVDP_OK;
    return nvdp__state_save(t);
}

static nvdp_status epoch_steps(struct nvdp__trainer *t, struct nvdp__meter *meter,
                               double tokens_before) {
    nvdp__epoch_order(t->config.seed, (uint32_t)t->state.epoch, t->train->count, t->order);
    while (t->state.epoch_step < t->epoch_steps) {
        struct nvdp__step_report report;
        double start = nvdp__now();
        NVDP_RETURN_IF_FAILED(nvdp__train_step(t, &report));
        count_step(t, &report, nvdp__now() - start);
        if (t->state.step % t->config.log_every == 0) NVDP_RETURN_IF_FAILED(log_step(t, &report));
        nvdp__meter_update(meter, t->state.step, t->state.tokens - tokens_before, "tok",
                           report.total);
        NVDP_RETURN_IF_FAILED(pause_point(t));
    }
    return NVDP_OK;
}

/* While the regularisers' weight still rises, a model scores well by sharing more than the run is
 * meant to: such an epoch is never chosen, unless it is the last. */
static bool may_be_chosen(const struct nvdp__trainer *t) {
    bool rising = t->model->bottleneck.mechanism->private_ &&
                  t->config.kl_schedule == NVDP__KL_WARMUP &&
                  nvdp__kl_weight(&t->config, t->state.step, t->steps) < 1;
    return !rising || t->state.epoch + 1 == t->config.epochs;
}

/* A better epoch's model becomes RUN/model, before the state that knows of it. */
static nvdp_status keep_best(struct nvdp__trainer *t, double value) {
    if (!may_be_chosen(t)) return NVDP_OK;
    if (t->state.best_epoch > 0 && !(value > t->state.best_value)) {
        t->state.since_best++;
        return NVDP_OK;
    }
    char *directory = nvdp__join(t->ctx, t->config.out, "model");
    if (directory == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__model_save(t->model, directory, t->config.model);
    free(directory);
    t->state.best_epoch = t->state.epoch + 1;
    t->state.best_value = value;
    t->state.since_best = 0;
    return status;
}

static nvdp_status log_epoch(struct nvdp__trainer *t, const struct nvdp_scores *scores) {
    double steps = (double)t->epoch_steps;
    json_t *line =
        json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:o,s:I}", "event", "epoch", "epoch",
                  (json_int_t)(t->state.epoch + 1), "step", (json_int_t)t->state.step, "task_loss",
                  t->state.sum_task / steps, "loss_g", t->state.sum_g / steps, "loss_d",
                  t->state.sum_d / steps, "validation", nvdp__scores_json(scores), "best_epoch",
                  (json_int_t)t->state.best_epoch);
    nvdp__log(t->ctx, NVDP_LOG_INFO,
              "epoch %" PRIu64 "/%zu: loss %.4f, L_G %.4g, L_D %.4g, validation %s %.4f%s",
              t->state.epoch + 1, t->config.epochs, t->state.sum_task / steps,
              t->state.sum_g / steps, t->state.sum_d / steps, nvdp_metric_name(scores->metric[0]),
              scores->mean[0],
              t->state.best_epoch == t->state.epoch + 1 ? " (best so far)"
              : may_be_chosen(t)                        ? ""
                                                        : " (regularisers still rising)");
    return nvdp__metrics_append(t, line);
}

/* Scores of the validation texts. */
static nvdp_status validate(struct nvdp__trainer *t, struct nvdp_scores *scores) {
    if (t->validation_prefix != NULL) t->model->prefix = t->validation_prefix;
    nvdp_status status = nvdp__score_model(t->ctx, t->model, t->validation, t->config.eval_batch,
                                           t->config.seed ^ VALIDATION_SEED_MASK,
                                           (uint32_t)t->state.epoch, 1, scores);
    t->model->prefix = t->prefix;
    return status;
}

static nvdp_status end_epoch(struct nvdp__trainer *t) {
    struct nvdp_scores scores;
    NVDP_RETURN_IF_FAILED(validate(t, &scores));
    NVDP_RETURN_IF_FAILED(keep_best(t, scores.mean[0]));
    NVDP_RETURN_IF_FAILED(log_epoch(t, &scores));
    t->state.epoch_g = t->state.sum_g / (double)t->epoch_steps;
    t->state.epoch_d = t->state.sum_d / (double)t->epoch_steps;
    t->state.sum_task = 0;
    t->state.sum_g = 0;
    t->state.sum_d = 0;
    t->state.epoch_step = 0;
    t->state.epoch++;
    t->state.early_stopped = t->config.patience > 0 && t->state.since_best >= t->config.patience &&
                             t->state.epoch < t->config.epochs;
    t->state.finished = t->state.early_stopped || t->state.epoch == t->config.epochs;
    return nvdp__state_save(t);
}

nvdp_status nvdp__trainer_run(struct nvdp__trainer *t) {
    struct nvdp__meter meter;
    double tokens_before = t->state.tokens;
    t->saved_at = nvdp__now();
    nvdp__meter_begin(&meter, t->ctx, "train", "step", t->state.step, t->steps);
    while (!t->state.finished) {
        NVDP_RETURN_IF_FAILED(epoch_steps(t, &meter, tokens_before));
        nvdp_status status = end_epoch(t);
        if (status == NVDP_ERR_CANCELLED) return save_and_stop(t); /* during validation */
        NVDP_RETURN_IF_FAILED(status);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}
