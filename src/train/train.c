/* nvdp_train and its plan: the run directory, a step, the epochs, the whole. */
#include "base/file.h"
#include "base/json.h"
#include "base/ranks.h"
#include "bert/checkpoint.h"
#include "model/model.h"
#include "rdp/options.h"
#include "train/run.h"
#include "train/rundir.h"
#include "train/state.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <nvdp/certificate.h>
#include <stdlib.h>
#include <string.h>

/* --- RUN/state.ckpt --- */

#define COUNT(member) NVDP__COUNT(struct nvdp__train_state, member)
#define REAL(member) NVDP__REAL(struct nvdp__train_state, member)

static const struct nvdp__state_member members[] = {COUNT(optimizer_steps),
                                                    COUNT(epoch),
                                                    COUNT(epoch_step),
                                                    COUNT(step),
                                                    COUNT(best_epoch),
                                                    COUNT(since_best),
                                                    COUNT(metrics_bytes),
                                                    REAL(best_value),
                                                    REAL(sum_task),
                                                    REAL(sum_g),
                                                    REAL(sum_d),
                                                    REAL(epoch_g),
                                                    REAL(epoch_d),
                                                    REAL(seconds),
                                                    REAL(score_seconds),
                                                    REAL(tokens),
                                                    {0}};

/* Digest of the frozen weights, which the state does not hold; "" where all are trained. */
static nvdp_status frozen_digest(struct nvdp__trainer *t, const char **hex) {
    *hex = "";
    return nvdp__params_frozen(&t->model->params) > 0 ? nvdp__prefix_digest(t->model, hex)
                                                      : NVDP_OK;
}

/* Files are rank 0's. */
static bool writes(const struct nvdp__trainer *t) {
    return nvdp__rank(t->ctx) == 0;
}

static nvdp_status save_state(void *trainer) {
    struct nvdp__trainer *t = trainer;
    const char *frozen;
    if (!writes(t)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(frozen_digest(t, &frozen));
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    t->state.optimizer_steps = t->optimizer.steps_taken;
    json_t *object = nvdp__state_object(members, &t->state);
    json_object_set_new(object, "finished", json_boolean(t->state.finished));
    json_object_set_new(object, "early_stopped", json_boolean(t->state.early_stopped));
    json_object_set_new(object, "anchor", json_string(t->anchor));
    json_object_set_new(object, "frozen", json_string(frozen));
    nvdp__dp_state(t->dp, object);
    nvdp_status status = nvdp__state_file_write(path, object, &t->model->params, &t->optimizer);
    if (status == NVDP_OK) t->saved_at = nvdp__now();
    free(path);
    return status;
}

static nvdp_status compare_digest(struct nvdp__trainer *t, const char *path, const json_t *object,
                                  const char *key, const char *what, const char *present) {
    const char *earlier = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(t->ctx, path, object, key, "", &earlier));
    if (strcmp(earlier, present) == 0) return NVDP_OK;
    return nvdp__fail(
        t->ctx, NVDP_ERR_INPUT,
        "%s: expected the weights that %s, found others in %s: the checkpoint changed "
        "since",
        path, what, t->config.model);
}

/* *found false where there is none: start from the beginning. */
static nvdp_status load_state(struct nvdp__trainer *t, bool *found) {
    nvdp_status status = NVDP_OK;
    struct nvdp__train_state s = {0};
    struct nvdp_model *model = t->model;
    const char *frozen;
    json_t *object = NULL;
    char *path = nvdp__join(t->ctx, t->config.out, "state.ckpt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    *found = nvdp__exists(path);
    if (!*found) goto cleanup;
    if (nvdp__params_frozen(&model->params) > 0)
        NVDP_TRY(nvdp__checkpoint_values(&model->dev, t->config.model, &model->params, true,
                                         model->params.value));
    NVDP_TRY(nvdp__state_file_read(path, &model->params, &t->optimizer, &object));
    NVDP_TRY(nvdp__state_values(t->ctx, path, object, members, &s));
    NVDP_TRY(nvdp__json_bool(t->ctx, path, object, "finished", false, &s.finished));
    NVDP_TRY(nvdp__json_bool(t->ctx, path, object, "early_stopped", false, &s.early_stopped));
    NVDP_TRY(compare_digest(t, path, object, "anchor", "the run decays towards", t->anchor));
    NVDP_TRY(frozen_digest(t, &frozen));
    NVDP_TRY(compare_digest(t, path, object, "frozen", "the run keeps", frozen));
    NVDP_TRY(nvdp__dp_continue(t->dp, path, object));
    if (s.step > t->steps || s.epoch_step > t->epoch_steps)
        NVDP_TRY(nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                            "%s: expected at most %" PRIu64 " steps, found %" PRIu64
                            ": the data changed since",
                            path, t->steps, s.step));
    t->state = s;
    t->optimizer.steps_taken = s.optimizer_steps;
    nvdp__weights_changed(&t->model->dev);
cleanup:
    json_decref(object);
    free(path);
    return status;
}

/* --- the run directory's other files --- */

/* What a run writes; --overwrite removes exactly these.  The first ones are what other commands tell of RUN/model, and go
 * when it is another. */
enum { OF_MODEL = 3 };
static const char *const run_files[] = {"predictions_*.tsv",
                                        "privacy.json",
                                        "certificate.json",
                                        "run.json",
                                        "metrics.jsonl",
                                        "result.json",
                                        "state.ckpt",
                                        "dp-statement.txt",
                                        "model/config.json",
                                        "model/model.safetensors",
                                        "model/vocab.txt",
                                        "model/vocab.json",
                                        "model/merges.txt",
                                        "model/tokenizer.json",
                                        "model/tokenizer_config.json",
                                        "model"};

static nvdp_status prepare_directory(struct nvdp__trainer *t) {
    static const char *const first[] = {"base"};
    const size_t files = sizeof run_files / sizeof run_files[0];
    NVDP_RETURN_IF_FAILED(nvdp__outdir_check(t->ctx, t->config.out, t->config.overwrite));
    char *base = nvdp__join(t->ctx, t->config.out, first[0]);
    if (base == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__outdir_remove(t->ctx, base, run_files, files);
    free(base);
    NVDP_RETURN_IF_FAILED(status);
    NVDP_RETURN_IF_FAILED(nvdp__outdir_remove(t->ctx, t->config.out, first, 1));
    NVDP_RETURN_IF_FAILED(nvdp__outdir_remove(t->ctx, t->config.out, run_files, files));
    return nvdp__make_directory(t->ctx, t->config.out);
}

/* Writes `root` (stolen; NULL: out of memory) as RUN/name. */
static nvdp_status write_json(struct nvdp__trainer *t, const char *name, json_t *root) {
    char *path = nvdp__join(t->ctx, t->config.out, name);
    nvdp_status status = NVDP_ERR_MEMORY;
    if (path != NULL)
        status = root == NULL ? nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory")
                              : nvdp__json_write(t->ctx, path, root);
    json_decref(root);
    free(path);
    return status;
}

/* Of so many steps, where they are private; root is released on error. */
static nvdp_status add_statement(struct nvdp__trainer *t, uint64_t steps, const char *directory,
                                 json_t *root) {
    if (t->dp == NULL || root == NULL) return NVDP_OK;
    const char *example =
        t->all->task.tags ? "one sentence of the train file (of a longer one than max_length, a "
                            "part of at most so many tokens)"
                          : "one text, or pair, of the train file";
    nvdp_status status = nvdp__dp_statement(t->dp, steps, example, "model/",
                                            t->config.select == NVDP__SELECT_BEST, directory, root);
    if (status != NVDP_OK) json_decref(root);
    return status;
}

static nvdp_status write_run(struct nvdp__trainer *t) {
    json_t *data =
        json_pack("{s:I,s:I,s:I,s:I}", "train_texts", (json_int_t)t->train->count,
                  "validation_texts", (json_int_t)t->validation->count, "test_texts",
                  (json_int_t)t->test->count, "truncated_texts", (json_int_t)t->all->truncated);
    json_t *root = json_pack("{s:s,s:o,s:o,s:o,s:o,s:I,s:I,s:o}", "nvdp_format", "run/1", "config",
                             nvdp__schema_json(&nvdp__train_schema, &t->config), "software",
                             nvdp__software_json(), "hardware", nvdp__hardware_json(t->ctx), "data",
                             data, "parameters", (json_int_t)t->model->info.parameters, "steps",
                             (json_int_t)t->steps, "created", nvdp__now_json());
    NVDP_RETURN_IF_FAILED(add_statement(t, t->steps, NULL, root));
    return write_json(t, "run.json", root);
}

static nvdp_status write_result(struct nvdp__trainer *t, const struct nvdp_train_result *r) {
    json_t *proven = isfinite(r->certified_epsilon)
                         ? json_pack("{s:f,s:f,s:I,s:f}", "epsilon", r->certified_epsilon, "delta",
                                     r->certified_delta, "releases",
                                     (json_int_t)r->certified_releases, "right", r->certified_right)
                         : json_null();
    json_t *root = json_pack(
        "{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:f,s:b,s:o,s:f,s:f,s:f,s:f,s:f,s:o}", "task",
        t->all->task.name, "method", nvdp_method_name(t->config.method), "protocol",
        nvdp__protocol_names[t->config.protocol], "metric", nvdp_metric_name(r->test.metric[0]),
        "epochs", (json_int_t)r->epochs_run, "best_epoch", (json_int_t)r->best_epoch, "steps",
        (json_int_t)r->steps, "validation", r->best_validation, "early_stopped", r->early_stopped,
        "test", nvdp__scores_json(&r->test), "loss_g", r->loss_g, "loss_d", r->loss_d, "seconds",
        r->seconds, "score_seconds", r->score_seconds, "tokens_per_second", r->tokens_per_second,
        "certified", proven);
    if (root != NULL && t->sum != NULL)
        json_object_set_new(root, "sum", nvdp__grad_sum_json(t->sum));
    NVDP_RETURN_IF_FAILED(add_statement(t, t->state.step, t->config.out, root));
    return write_json(t, "result.json", root);
}

/* Appends one object (stolen) to metrics.jsonl. */
static nvdp_status append_metrics(struct nvdp__trainer *t, json_t *line) {
    if (!writes(t)) {
        json_decref(line);
        return NVDP_OK;
    }
    return nvdp__metrics_file_append(t->ctx, t->config.out, t->metrics, line,
                                     &t->state.metrics_bytes);
}

/* --- steps and epochs --- */

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
        .seed = nvdp__dp_seed(t->dp, t->config.seed),
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

/* What is classified of a text. */
static size_t heads_of(const struct nvdp_dataset *dataset, size_t row) {
    size_t heads = 0;
    if (dataset->tag == NULL) return 1;
    for (size_t k = dataset->offset[row]; k < dataset->offset[row + 1]; k++)
        heads += dataset->tag[k] != NVDP_TAG_NONE;
    return heads;
}

/* So many texts lie before a part. */
static void pass_over(const struct nvdp_dataset *dataset, const int64_t *rows, size_t n,
                      struct nvdp__part *part) {
    for (size_t i = 0; i < n; i++) {
        size_t row = (size_t)rows[i];
        part->tokens += dataset->offset[row + 1] - dataset->offset[row];
        part->heads += heads_of(dataset, row);
    }
}

struct batch_texts {
    const struct nvdp_dataset *dataset;
    const int64_t *rows;
};

static size_t length_of(const void *user, size_t i) {
    const struct batch_texts *texts = user;
    const size_t row = (size_t)texts->rows[i];
    return texts->dataset->offset[row + 1] - texts->dataset->offset[row];
}

void nvdp__trainer_next_batch(struct nvdp__trainer *t) {
    size_t first = t->state.epoch_step * t->config.batch;
    size_t left = t->train->count - first;
    size_t n = left < t->config.batch ? left : t->config.batch;
    const int64_t *rows = t->order + first;
    const struct nvdp__stretch own =
        nvdp__rank_balanced(t->ctx, n, length_of, &(struct batch_texts){t->train, rows});
    t->part = (struct nvdp__part){0};
    if (t->sum != NULL) {
        t->part.all_texts = n;
        pass_over(t->train, rows, own.first, &t->part);
        for (size_t i = 0; i < n; i++)
            t->part.all_heads += heads_of(t->train, (size_t)rows[i]);
    }
    nvdp__batch_fill(t->batch, t->train, rows + own.first, 0, own.count);
}

/* Of t->batch. */
static nvdp_status gradient(struct nvdp__trainer *t, const struct nvdp__pass *pass,
                            const struct nvdp__draw *draw, struct nvdp__step_report *r) {
    float dropout = (float)t->config.classifier_dropout;
    NVDP_RETURN_IF_FAILED(nvdp__model_forward(t->model, t->batch, pass, draw, dropout));
    r->tokens += t->batch->tokens;
    return nvdp__model_backward(t->model, t->batch, pass, t->config.lambda_g * r->weight,
                                t->config.lambda_d * r->weight, dropout, &r->losses);
}

/* Of this process's texts of the epoch's next batch, its part of the sum of all; the losses are its part of
 * the whole batch's. */
static nvdp_status batch_gradient(struct nvdp__trainer *t, struct nvdp__pass *pass,
                                  const struct nvdp__draw *draw, struct nvdp__step_report *r) {
    struct nvdp__params *params = &t->model->params;
    nvdp__trainer_next_batch(t);
    pass->part = t->part;
    const struct nvdp__part *part = &t->part;
    const int64_t *rows = t->order + t->state.epoch_step * t->config.batch;
    for (size_t i = 0; i < part->all_texts; i++) { /* every process's */
        size_t first = t->train->offset[rows[i]], end = t->train->offset[rows[i] + 1];
        nvdp__grad_rows(params, end - first, t->train->ids + first);
    }
    nvdp__grad_sum_begin(t->sum, true);
    if (t->batch->texts == 0) { /* a last batch of fewer texts than processes */
        nvdp__zero(&t->model->dev, params->total, params->grad);
        r->losses = (struct nvdp__step_losses){0};
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(gradient(t, pass, draw, r));
    if (part->all_texts == 0) return NVDP_OK;
    double heads = (double)nvdp__model_heads(t->model, t->batch);
    double texts = (double)t->batch->texts / (double)part->all_texts;
    r->losses.task = heads > 0 ? r->losses.task * heads / (double)part->all_heads : 0;
    r->losses.loss_g *= texts;
    r->losses.loss_d *= texts;
    return NVDP_OK;
}

/* The clipped sum over those whom the step draws, some at a time, with noise.  Nobody may be. */
static nvdp_status private_gradient(struct nvdp__trainer *t, struct nvdp__pass *pass,
                                    struct nvdp__draw *draw, struct nvdp__step_report *r) {
    struct nvdp_model *model = t->model;
    size_t drawn;
    const struct nvdp__stretch own =
        nvdp__dp_start(t->dp, &model->dev, &model->params, t->state.step, t->order, &drawn);
    struct nvdp__step_losses sum = {0};
    pass_over(t->train, t->order, own.first, &pass->part);
    nvdp__grad_sum_begin(t->sum, false);
    pass->divisor = t->dp->divisor;
    draw->epoch = (uint32_t)t->state.step; /* a text may be drawn often in an epoch */
    for (size_t at = 0; at < own.count; at += t->config.batch) {
        size_t n = own.count - at < t->config.batch ? own.count - at : t->config.batch;
        double share = (double)n / (double)drawn;
        nvdp__batch_fill(t->batch, t->train, t->order + own.first + at, 0, n);
        nvdp__dp_begin(t->dp, &model->dev, n);
        nvdp_status status = gradient(t, pass, draw, r);
        if (status == NVDP_OK) status = nvdp__dp_clip(t->dp, &model->dev, at == 0);
        model->dev.per_example = NULL;
        NVDP_RETURN_IF_FAILED(status);
        pass->part.tokens += t->batch->tokens;
        pass->part.heads += nvdp__model_heads(model, t->batch);
        sum.task += share * r->losses.task;
        sum.loss_g += share * r->losses.loss_g;
        sum.loss_d += share * r->losses.loss_d;
    }
    r->losses = sum;
    nvdp__dp_noise(t->dp, &model->dev, &model->params, t->state.step);
    return nvdp__device_status(&model->dev);
}

/* All processes' gradients and losses together. */
static nvdp_status add_up(struct nvdp__trainer *t, struct nvdp__step_report *r) {
    double part[] = {r->losses.task, r->losses.loss_g, r->losses.loss_d, (double)r->tokens};
    if (t->sum == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__grad_sum_finish(t->sum, &t->model->dev));
    NVDP_RETURN_IF_FAILED(nvdp__rank_sum(t->ctx, sizeof part / sizeof *part, part));
    r->losses = (struct nvdp__step_losses){part[0], part[1], part[2]};
    r->tokens = (size_t)part[3];
    return NVDP_OK;
}

nvdp_status nvdp__train_step(struct nvdp__trainer *t, struct nvdp__step_report *r) {
    struct nvdp_model *model = t->model;
    struct nvdp__pass pass = training_pass(t);
    struct nvdp__draw draw = {.noise = {.seed = nvdp__dp_seed(t->dp, t->config.seed)},
                              .gauss = NVDP__PURPOSE_GAUSS,
                              .gamma = NVDP__PURPOSE_GAMMA,
                              .epoch = (uint32_t)t->state.epoch};
    r->weight = nvdp__kl_weight(&t->config, t->state.step, t->steps);
    r->lr = t->config.adamw.lr * nvdp__lr_factor(t->state.step, t->steps, t->config.adamw.warmup);
    r->norm = NAN;
    r->tokens = 0;
    nvdp__grad_begin(&model->dev, &model->params);
    NVDP_RETURN_IF_FAILED(t->dp != NULL ? private_gradient(t, &pass, &draw, r)
                                        : batch_gradient(t, &pass, &draw, r));
    NVDP_RETURN_IF_FAILED(add_up(t, r));
    r->total = r->losses.task + r->weight * (t->config.lambda_g * r->losses.loss_g +
                                             t->config.lambda_d * r->losses.loss_d);
    if (!isfinite(r->total)) return diverged(t, r);
    double factor = nvdp__lr_factor(t->state.step, t->steps, t->config.adamw.warmup);
    nvdp_status status =
        nvdp__optimizer_step(&t->optimizer, &model->dev, &model->params, factor, &r->norm);
    if (status == NVDP_ERR_NUMERIC) return diverged(t, r);
    return status;
}

/* A line with what the steps so far cost. */
static nvdp_status append_spent(struct nvdp__trainer *t, json_t *line) {
    nvdp_status status = nvdp__dp_spent(t->dp, t->state.step, line);
    if (status != NVDP_OK) {
        json_decref(line);
        return status;
    }
    return append_metrics(t, line);
}

static nvdp_status log_step(struct nvdp__trainer *t, const struct nvdp__step_report *r) {
    json_t *line =
        json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "event", "step", "step",
                  (json_int_t)t->state.step, "epoch", (json_int_t)(t->state.epoch + 1), "loss",
                  r->total, "task_loss", r->losses.task, "loss_g", r->losses.loss_g, "loss_d",
                  r->losses.loss_d, "kl_weight", r->weight, "lr", r->lr, "grad_norm", r->norm,
                  "tokens_per_second", t->state.tokens / fmax(t->state.seconds, 1e-9));
    return append_spent(t, line);
}

static void count_step(struct nvdp__trainer *t, const struct nvdp__step_report *r, double seconds) {
    t->state.epoch_step++;
    t->state.step++;
    t->state.sum_task += r->losses.task;
    t->state.sum_g += r->losses.loss_g;
    t->state.sum_d += r->losses.loss_d;
    t->state.seconds += seconds;
    t->state.tokens += (double)r->tokens;
}

static nvdp_status save_and_stop(struct nvdp__trainer *t) {
    NVDP_RETURN_IF_FAILED(save_state(t));
    return nvdp__fail(t->ctx, NVDP_ERR_CANCELLED,
                      "interrupted after step %" PRIu64 " of %" PRIu64
                      "; continue with: nvdp train --resume %s",
                      t->state.step, t->steps, t->config.out);
}

/* Where other processes are gone: what was done before them is kept. */
static nvdp_status keep_state(struct nvdp__trainer *t, nvdp_status status) {
    return nvdp__rank_keep(t->ctx, status, save_state, t, "nvdp train --resume", t->config.out);
}

/* Between steps: save when it is due, stop when asked. */
static nvdp_status pause_point(struct nvdp__trainer *t) {
    bool stop = false;
    NVDP_RETURN_IF_FAILED(
        keep_state(t, nvdp__rank_any(t->ctx, nvdp_context_cancelled(t->ctx), &stop)));
    if (stop) return save_and_stop(t);
    if (nvdp__now() - t->saved_at < t->config.checkpoint_seconds) return NVDP_OK;
    return save_state(t);
}

static nvdp_status epoch_steps(struct nvdp__trainer *t, struct nvdp__meter *meter,
                               double tokens_before) {
    nvdp__epoch_order(t->config.seed, (uint32_t)t->state.epoch, t->train->count, t->order);
    while (t->state.epoch_step < t->epoch_steps && t->state.step < t->steps) {
        struct nvdp__step_report report;
        double start = nvdp__now();
        NVDP_RETURN_IF_FAILED(keep_state(t, nvdp__train_step(t, &report)));
        count_step(t, &report, nvdp__now() - start);
        if (t->state.step % t->config.log_every == 0) NVDP_RETURN_IF_FAILED(log_step(t, &report));
        nvdp__meter_update(meter, t->state.step, t->state.tokens - tokens_before, "tok",
                           report.total);
        NVDP_RETURN_IF_FAILED(pause_point(t));
    }
    return NVDP_OK;
}

/* The last epoch always; an earlier one where the best is chosen.  While the regularisers' weight still
 * rises, a model scores well by sharing more than the run is meant to: such an epoch is never chosen. */
static bool may_be_chosen(const struct nvdp__trainer *t) {
    bool rising = t->model->bottleneck.mechanism->private_ &&
                  t->config.kl_schedule == NVDP__KL_WARMUP &&
                  nvdp__kl_weight(&t->config, t->state.step, t->steps) < 1;
    bool waits = rising || t->config.select == NVDP__SELECT_LAST;
    return !waits || t->state.step == t->steps;
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
    nvdp_status status = NVDP_OK;
    if (writes(t)) status = nvdp__outdir_remove(t->ctx, t->config.out, run_files, OF_MODEL);
    if (writes(t) && status == NVDP_OK)
        status = nvdp__model_save(t->model, directory, t->config.model);
    free(directory);
    t->state.best_epoch = t->state.epoch + 1;
    t->state.best_value = value;
    t->state.since_best = 0;
    return status;
}

static nvdp_status log_epoch(struct nvdp__trainer *t, const struct nvdp_scores *scores) {
    double steps = (double)t->state.epoch_step; /* a budget may end the last epoch early */
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
              : may_be_chosen(t) || t->config.select == NVDP__SELECT_LAST
                  ? ""
                  : " (regularisers still rising)");
    return append_spent(t, line);
}

/* --- a model that says nothing, a sample that holds nothing --- */

/* Below these a first metric that is no accuracy, and the divergence of a text's sample from an empty
 * text's, in nats, are as good as 0. */
static const double NO_SCORE = .02, NO_NATS = .05;
/* Of fewer validation texts chance decides. */
enum { ENOUGH_TEXTS = 30 };

/* Whether always saying the same would do as well. */
static bool says_nothing(const struct nvdp_scores *scores) {
    if (scores->n < ENOUGH_TEXTS) return false;
    if (scores->metric[0] == NVDP_METRIC_ACCURACY) return scores->mean[0] <= scores->majority;
    return fabs(scores->mean[0]) < NO_SCORE;
}

/* About what L_G + L_D of this epoch are in nats: the published ones are means over dimensions and components. */
static double nats(const struct nvdp__trainer *t) {
    const double steps = (double)t->state.epoch_step;
    const double g = t->state.sum_g / steps, d = t->state.sum_d / steps;
    if (t->config.nvib.regularizer != NVDP__REGULARIZER_PUBLISHED) return g + d;
    const double components =
        1 + (double)t->train->offset[t->train->count] / (double)t->train->count;
    return components * (g * (double)t->config.nvib.latent_dim + d);
}

/* Said once, when half of the steps are done. */
static void warn_of_collapse(struct nvdp__trainer *t, const struct nvdp_scores *scores) {
    const double weight = nvdp__kl_weight(&t->config, t->state.step, t->steps);
    const bool pulled = t->model->bottleneck.mechanism->private_ && weight > 0 &&
                        t->config.lambda_g + t->config.lambda_d > 0;
    const bool empty = pulled && nats(t) < NO_NATS, mute = says_nothing(scores);
    char same[96] = "";
    if (t->told || 2 * t->state.step < t->steps || !(empty || mute)) return;
    t->told = true;
    if (!isnan(scores->majority))
        snprintf(same, sizeof same, ", the most frequent class alone %.4f", scores->majority);
    nvdp__log(t->ctx, NVDP_LOG_WARNING,
              "after step %" PRIu64 " of %" PRIu64 " validation %s is %.4f%s%s%s; try %s%s",
              t->state.step, t->steps, nvdp_metric_name(scores->metric[0]), scores->mean[0], same,
              !mute                       ? ""
              : t->state.step == t->steps ? ": nothing is learned"
                                          : ": nothing is learned so far",
              empty ? ", and samples hold nothing of their texts (L_G + L_D near 0)" : "",
              empty           ? "a smaller --lambda, --kl-schedule warmup, "
              : t->dp != NULL ? "a larger budget or --dp-batch, "
                              : "a larger --lr-bottleneck and --lr-head, more --epochs, ",
              t->config.from_base != NULL ? "or another --seed" : "or --from-base RUN");
}

/* Scores of the validation texts. */
static nvdp_status validate(struct nvdp__trainer *t, struct nvdp_scores *scores) {
    const double start = nvdp__now();
    if (t->validation == t->test) t->model->prefix = t->test_prefix;
    nvdp_status status = nvdp__score_model(t->ctx, t->model, t->validation, t->config.eval_batch,
                                           t->config.seed ^ VALIDATION_SEED_MASK,
                                           (uint32_t)t->state.epoch, 1, scores);
    t->model->prefix = t->prefix;
    t->state.score_seconds += nvdp__now() - start;
    return status;
}

/* Under privacy no model is written before the state that it is of: steps that a killed process had done
 * beyond its state are done again with other noise, and are in the account once. */
static nvdp_status end_epoch(struct nvdp__trainer *t) {
    struct nvdp_scores scores;
    if (t->dp != NULL) NVDP_RETURN_IF_FAILED(save_state(t));
    NVDP_RETURN_IF_FAILED(nvdp__params_same(t->ctx, &t->model->params));
    NVDP_RETURN_IF_FAILED(keep_state(t, validate(t, &scores)));
    NVDP_RETURN_IF_FAILED(keep_best(t, scores.mean[0]));
    NVDP_RETURN_IF_FAILED(log_epoch(t, &scores));
    warn_of_collapse(t, &scores);
    t->state.epoch_g = t->state.sum_g / (double)t->state.epoch_step;
    t->state.epoch_d = t->state.sum_d / (double)t->state.epoch_step;
    t->state.sum_task = 0;
    t->state.sum_g = 0;
    t->state.sum_d = 0;
    t->state.epoch_step = 0;
    t->state.epoch++;
    t->state.early_stopped = t->config.patience > 0 && t->state.since_best >= t->config.patience &&
                             t->state.epoch < t->config.epochs;
    t->state.finished = t->state.early_stopped || t->state.step == t->steps;
    return save_state(t);
}

static nvdp_status run_epochs(struct nvdp__trainer *t) {
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

/* --- weights, and what is proven and scored of them --- */

nvdp_status nvdp__trainer_start_weights(struct nvdp__trainer *t) {
    nvdp__model_initialise_head(t->model, t->config.seed);
    NVDP_RETURN_IF_FAILED(
        nvdp__checkpoint_load(&t->model->dev, t->config.model, &t->model->params));
    NVDP_RETURN_IF_FAILED(nvdp__trainer_take_head(t));
    return nvdp__model_initialise_bottleneck(t->model, t->dp == NULL ? t->train : NULL,
                                             t->config.seed);
}

static nvdp_status share_weights(struct nvdp__trainer *t) {
    if (nvdp__ranks(t->ctx) == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__params_share(t->ctx, &t->model->params));
    nvdp__weights_changed(&t->model->dev);
    return NVDP_OK;
}

static nvdp_status start_or_continue(struct nvdp__trainer *t) {
    bool found = false;
    nvdp_status status = NVDP_OK;
    if (t->config.resume != NULL) status = load_state(t, &found);
    if (status == NVDP_OK && !found) status = nvdp__trainer_start_weights(t);
    NVDP_RETURN_IF_FAILED(nvdp__rank_agree(t->ctx, status));
    NVDP_RETURN_IF_FAILED(share_weights(t));
    if (!writes(t)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__outdir_tidy(t->ctx, t->config.out));
    /* Nothing is written, and no earlier run removed, before data and weights are known good. */
    if (t->config.resume == NULL) {
        NVDP_RETURN_IF_FAILED(prepare_directory(t));
        NVDP_RETURN_IF_FAILED(write_run(t));
    }
    return nvdp__metrics_file_open(t->ctx, t->config.out, t->state.metrics_bytes, &t->metrics);
}

/* Of the divergences that reports print, where no other is asked for. */
static const double BOUND_ORDER = 1.1;

/* What is proven of the kept weights' mechanism. */
static nvdp_status certify(struct nvdp__trainer *t, struct nvdp_train_result *result) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    struct nvdp_certificate proven = NVDP_RESULT(struct nvdp_certificate);
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    options.bdp.delta = t->config.certified_delta;
    options.bdp.releases = (int)t->config.certified_releases;
    NVDP_RETURN_IF_FAILED(nvdp_model_limits(t->ctx, t->model, &limits));
    NVDP_RETURN_IF_FAILED(nvdp__certify(t->ctx, &limits, &options, &proven));
    result->certified_epsilon = proven.epsilon;
    result->certified_delta = proven.delta;
    result->certified_releases = t->config.certified_releases;
    result->certified_right = proven.right;
    return NVDP_OK;
}

/* Where nothing was said before: a few validation texts may look better than chance by luck.  Of fewer than
 * so many texts the interval is wide, whatever was learned. */
static void warn_of_chance(struct nvdp__trainer *t, const struct nvdp_scores *scores) {
    enum { ENOUGH = 100 };
    if (t->told || scores->n < ENOUGH || scores->metric[0] != NVDP_METRIC_ACCURACY ||
        !(scores->low[0] <= scores->majority))
        return;
    nvdp__log(t->ctx, NVDP_LOG_WARNING,
              "accuracy %.4f (95 %% over texts: %.4f to %.4f) is not told apart from that of the "
              "most frequent class alone, %.4f: with these %zu texts it cannot be said that "
              "anything was learned",
              scores->mean[0], scores->low[0], scores->high[0], scores->majority, scores->n);
}

/* The best epoch's weights on the test split, with fresh noise. */
static nvdp_status final_score(struct nvdp__trainer *t, struct nvdp_train_result *result) {
    const double start = nvdp__now();
    char *path = nvdp__join(t->ctx, t->config.out, "model/model.safetensors");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP__RANK_0_ONLY(
        t->ctx, nvdp__checkpoint_load_file(&t->model->dev, path, &t->model->params));
    free(path);
    NVDP_RETURN_IF_FAILED(status);
    NVDP_RETURN_IF_FAILED(share_weights(t));
    NVDP_RETURN_IF_FAILED(nvdp__trainer_test_prefix(t));
    status = nvdp__score_whole(t->ctx, t->model, t->test, t->config.eval_batch, t->config.seed,
                               t->config.eval_draws, &result->test, NULL);
    if (status == NVDP_ERR_CANCELLED)
        return nvdp__fail(t->ctx, status,
                          "interrupted while the trained model was scored; continue with: nvdp "
                          "train --resume %s",
                          t->config.out);
    NVDP_RETURN_IF_FAILED(status);
    warn_of_chance(t, &result->test);
    result->epochs_run = t->state.epoch;
    result->best_epoch = t->state.best_epoch;
    result->best_validation = t->state.best_value;
    result->steps = t->state.step;
    result->seconds = t->state.seconds;
    result->score_seconds = t->state.score_seconds + nvdp__now() - start;
    result->tokens_per_second = t->state.tokens / fmax(t->state.seconds, 1e-9);
    result->loss_g = t->state.epoch_g;
    result->loss_d = t->state.epoch_d;
    result->early_stopped = t->state.early_stopped;
    result->bound = nvdp__method_bound(t->config.method, &t->config.nvib, BOUND_ORDER);
    return certify(t, result);
}

nvdp_status nvdp__trainer_take_config(struct nvdp__trainer *t,
                                      const struct nvdp__train_options *options,
                                      const struct nvdp_config *given) {
    const char *run = options->resume;
    t->config = *options;
    if (run == NULL) return nvdp__schema_check(t->ctx, &nvdp__train_schema, &t->config);
    NVDP_RETURN_IF_FAILED(nvdp__run_read_config(t->ctx, run, &t->config, &t->config_owner));
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

/* --- a base run first --- */

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

/* RUN with the configuration of the whole, to be resumed from now on; nothing is written, and no earlier run
 * removed, before data and weights are known good. */
static nvdp_status begin_whole(struct nvdp__trainer *t) {
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = t->ctx;
    struct nvdp__trainer whole = {.ctx = ctx, .config = t->config, .plan = true};
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_open(&whole)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_allocate(&whole, true)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_start_weights(&whole)));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, prepare_directory(&whole)));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, write_run(&whole)));
    t->config.resume = t->config.out;
cleanup:
    nvdp__trainer_close(&whole);
    return status;
}

static nvdp_status train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                         const struct nvdp_config *given, struct nvdp_train_result *out);

/* Whether rank 0 sees the file in RUN/base: the answer is everybody's. */
static nvdp_status base_has(const struct nvdp__trainer *t, const char *name, bool *there) {
    char *path = nvdp__join(t->ctx, t->base_run, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    const bool seen = nvdp__rank(t->ctx) == 0 && nvdp__exists(path);
    free(path);
    return nvdp__rank_any(t->ctx, seen, there);
}

/* Trains RUN/base, or what is left of it, to start from. */
static nvdp_status train_base(struct nvdp__trainer *t) {
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
    nvdp_status status = train(ctx, &base, NULL, &result);
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

/* --- the whole --- */

static nvdp_status train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                         const struct nvdp_config *given, struct nvdp_train_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__trainer t = {.ctx = ctx};
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    NVDP_TRY(nvdp__trainer_take_config(&t, options, given));
    if (t.config.resume == NULL) {
        NVDP_TRY(nvdp__trainer_take_base(&t));
        NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__outdir_check(ctx, t.config.out, t.config.overwrite)));
    }
    if (nvdp__base_first(&t.config)) {
        NVDP_TRY(train_base(&t));
        NVDP_TRY(nvdp__trainer_take_base(&t));
    }
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_open(&t)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_allocate(&t, true)));
    NVDP_TRY(nvdp__dp_share(t.dp));
    NVDP_TRY(nvdp__rank_agree(ctx, start_or_continue(&t)));
    if (!t.state.finished) NVDP_TRY(nvdp__trainer_open_prefix(&t));
    NVDP_TRY(run_epochs(&t));
    NVDP_TRY(final_score(&t, &result));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, write_result(&t, &result)));
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
