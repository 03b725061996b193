/* Implements nvdp_train. In order: the parts of a step that are specific to training (job/job.h), with a table of these
 * parts in the order of calls; options, weights, warnings, the loop over epochs, the final score and certificate, the
 * base run, and train(), which calls all functions. */
#include "model/model.h"

#include "base/array.h"
#include "base/file.h"
#include "base/ranks.h"
#include "encoder/checkpoint.h"
#include "mechanism/mechanism.h"
#include "options/result.h"
#include "rdp/options.h"
#include "train/run.h"
#include "train/sentence_run.h"
#include "train/trainer.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/certificate.h>
#include <stdlib.h>
#include <string.h>

/* ==== the parts of a step ==== */

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

static void begin(void *run, struct nvdp__pass *pass) {
    struct nvdp__trainer *t = run;
    const struct nvdp_bert_config *bert = &t->model->info.bert;
    const bool own = t->config.dropout >= 0;
    pass->hidden_dropout = (float)(own ? t->config.dropout : bert->hidden_dropout_prob);
    pass->attention_dropout = (float)(own ? t->config.dropout : bert->attention_probs_dropout_prob);
    pass->first_layer = nvdp__model_first_layer(t->model);
    t->kl_weight = nvdp__kl_weight(&t->config, t->job.step, t->job.steps);
}

static nvdp_status diverged(void *run) {
    const struct nvdp__trainer *t = run;
    return nvdp__fail(
        t->ctx, NVDP_ERR_NUMERIC,
        "step %" PRIu64
        ": training diverged: task loss %g, L_G %g, L_D %g, gradient norm %g; try a smaller {lr}",
        t->job.step + 1, t->losses.task, t->losses.loss_g, t->losses.loss_d, t->job.last.norm);
}

/* Returns the number of classified texts or words in n texts. */
static size_t head_count(const struct nvdp_dataset *dataset, const int64_t *row, size_t n) {
    size_t heads = 0;
    if (dataset->tag == NULL) return n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = dataset->offset[row[i]]; k < dataset->offset[row[i] + 1]; k++)
            heads += dataset->tag[k] != NVDP_TAG_NONE;
    return heads;
}

static size_t token_count(const void *run, int64_t row) {
    const struct nvdp_dataset *dataset = ((const struct nvdp__trainer *)run)->train;
    return dataset->offset[row + 1] - dataset->offset[row];
}

void nvdp__trainer_next_batch(struct nvdp__trainer *t) {
    const size_t first = t->state.epoch_step * t->config.batch;
    const size_t n = nvdp__min(t->train->count - first, t->config.batch);
    const int64_t *rows = t->job.order + first;
    const struct nvdp__range own = nvdp__job_share(&t->job, rows, n);
    t->part = (struct nvdp__part){0};
    if (t->job.sum != NULL)
        t->part = (struct nvdp__part){.tokens = nvdp__job_tokens(&t->job, rows, own.first),
                                      .heads = head_count(t->train, rows, own.first),
                                      .all_texts = n,
                                      .all_heads = head_count(t->train, rows, n)};
    nvdp__batch_fill(t->batch, t->train, rows + own.first, 0, own.count);
}

/* Computes the gradient for t->batch. */
static nvdp_status gradient(struct nvdp__trainer *t, const struct nvdp__pass *pass,
                            struct nvdp__step_losses *losses) {
    const float dropout = (float)t->config.classifier_dropout;
    const struct nvdp__draw draw = {.noise = {.seed = pass->seed},
                                    .gauss = NVDP__PURPOSE_GAUSS,
                                    .gamma = NVDP__PURPOSE_GAMMA,
                                    /* Private training may draw a text several times per epoch. */
                                    .epoch = t->job.dp != NULL ? (uint32_t)t->job.step
                                                               : (uint32_t)t->job.epoch};
    NVDP_TRY(nvdp__model_forward(t->model, t->batch, pass, &draw, dropout));
    t->job.last.tokens += t->batch->tokens;
    return nvdp__model_backward(t->model, t->batch, pass, t->config.lambda_g * t->kl_weight,
                                t->config.lambda_d * t->kl_weight, dropout, losses);
}

/* Computes the gradient of this process's texts and scales the losses to their share of the
 * whole batch. */
static nvdp_status batch_gradient(void *run, struct nvdp__pass *pass) {
    struct nvdp__trainer *t = run;
    struct nvdp__params *params = &t->model->params;
    nvdp__grad_begin(&t->model->dev, params);
    nvdp__trainer_next_batch(t);
    pass->part = t->part;
    const struct nvdp__part *part = &t->part;
    const int64_t *rows = t->job.order + t->state.epoch_step * t->config.batch;
    for (size_t i = 0; i < part->all_texts; i++) /* texts of all processes */
        nvdp__grad_rows(params, token_count(t, rows[i]), t->train->ids + t->train->offset[rows[i]]);
    nvdp__grad_sum_begin(t->job.sum, true);
    if (t->batch->texts == 0) { /* the last batch may have fewer texts than processes */
        nvdp__zero(&t->model->dev, params->total, params->grad);
        return NVDP_OK;
    }
    NVDP_TRY(gradient(t, pass, &t->losses));
    /* Training stops, unlike a release. */
    if (nvdp__model_replaced(t->model) > 0) t->losses.task = NAN;
    if (part->all_texts == 0) return NVDP_OK;
    double heads = (double)nvdp__model_heads(t->model, t->batch);
    double texts = (double)t->batch->texts / (double)part->all_texts;
    t->losses.task = heads > 0 ? t->losses.task * heads / (double)part->all_heads : 0;
    t->losses.loss_g *= texts;
    t->losses.loss_d *= texts;
    return NVDP_OK;
}

static void drawn_texts(void *run, size_t drawn, size_t before, struct nvdp__pass *pass) {
    struct nvdp__trainer *t = run;
    pass->part.heads = head_count(t->train, t->job.order, before);
    t->part.all_heads = head_count(t->train, t->job.order, drawn);
}

static nvdp_status private_gradients(void *run, const int64_t *row, size_t n, size_t drawn,
                                     struct nvdp__pass *pass) {
    struct nvdp__trainer *t = run;
    struct nvdp__step_losses losses;
    const double share = (double)n / (double)drawn;
    nvdp__batch_fill(t->batch, t->train, row, 0, n);
    NVDP_TRY(gradient(t, pass, &losses));
    const size_t heads = nvdp__model_heads(t->model, t->batch);
    pass->part.tokens += t->batch->tokens;
    pass->part.heads += heads;
    if (heads > 0)
        t->losses.task += nvdp__dp_loss((double)heads / (double)t->part.all_heads * losses.task);
    t->losses.loss_g += nvdp__dp_loss(share * losses.loss_g);
    t->losses.loss_d += nvdp__dp_loss(share * losses.loss_d);
    return NVDP_OK;
}

static double total(void *run) {
    const struct nvdp__trainer *t = run;
    return t->losses.task + t->kl_weight * (t->config.lambda_g * t->losses.loss_g +
                                            t->config.lambda_d * t->losses.loss_d);
}

static nvdp_status count(void *run, double *shown) {
    struct nvdp__trainer *t = run;
    const struct nvdp__job_step *r = &t->job.last;
    t->state.epoch_step++;
    t->state.sum_task += t->losses.task;
    t->state.sum_g += t->losses.loss_g;
    t->state.sum_d += t->losses.loss_d;
    *shown = r->total;
    if (t->job.step % t->config.log_every != 0) return NVDP_OK;
    json_t *line =
        json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "event", "step", "step",
                  (json_int_t)t->job.step, "epoch", (json_int_t)(t->job.epoch + 1), "loss",
                  r->total, "task_loss", t->losses.task, "loss_g", t->losses.loss_g, "loss_d",
                  t->losses.loss_d, "kl_weight", t->kl_weight, "lr", r->lr, "grad_norm", r->norm,
                  "tokens_per_second", t->job.tokens / fmax(t->job.seconds, 1e-9));
    return nvdp__job_log(&t->job, line, true);
}

const struct nvdp__job_kind nvdp__train_kind = {
    .command = "nvdp train",
    .members = nvdp__train_members,
    .sums = sizeof(struct nvdp__step_losses) / sizeof(double),
    .tokens = token_count,
    .begin = begin,
    .batch = batch_gradient,
    .drawn = drawn_texts,
    .examples = private_gradients,
    .total = total,
    .diverged = diverged,
    .count = count,
    .write_state = nvdp__trainer_write_state,
    .check_state = nvdp__trainer_check_state,
};

/* ==== the run ==== */

/* --- its options --- */

nvdp_status nvdp__trainer_take_config(struct nvdp__trainer *t,
                                      const struct nvdp__train_options *options,
                                      const struct nvdp_config *given) {
    const char *run = options->resume;
    t->config = *options;
    if (run == NULL) return nvdp__schema_check(t->ctx, &nvdp__train_schema, &t->config);
    NVDP_TRY(nvdp__run_read_config(t->ctx, run, &t->config, &t->config_owner));
    NVDP_TRY(nvdp__run_check_data(t->ctx, run, &t->config));
    if (given != NULL) {
        NVDP_TRY(nvdp__config_continue(t->ctx, given, &nvdp__train_schema, &t->config));
        if (options->out != NULL && strcmp(options->out, run) != 0)
            return nvdp__fail(
                t->ctx, NVDP_ERR_ARGUMENT,
                "option {out}: a resumed run keeps its configuration: expected %s, found %s", run,
                options->out);
    }
    t->config.out = t->config.resume = run;
    t->config.overwrite = options->overwrite;
    t->config.cache = options->cache;
    t->config.no_prefix_cache = options->no_prefix_cache;
    return nvdp__schema_check(t->ctx, &nvdp__train_schema, &t->config);
}

/* --- weights --- */

static nvdp_status share_weights(struct nvdp__trainer *t) {
    if (nvdp__ranks(t->ctx) == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__params_share(t->ctx, &t->model->params));
    nvdp__weights_changed(&t->model->dev);
    return NVDP_OK;
}

static nvdp_status start_or_continue(struct nvdp__trainer *t) {
    bool found = false;
    nvdp_status status = NVDP_OK;
    if (t->config.resume != NULL) status = nvdp__job_load(&t->job, &found);
    if (status == NVDP_OK && !found) status = nvdp__trainer_start_weights(t);
    NVDP_TRY(nvdp__rank_agree(t->ctx, status));
    NVDP_TRY(share_weights(t));
    return nvdp__trainer_open_records(t);
}

/* --- warnings: nothing is learned, samples hold no information --- */

/* Thresholds below which values count as 0: a first metric that is not an accuracy, and the
 * divergence in nats of a text's sample from an empty text's. */
static const double NO_SCORE = .02, NO_NATS = .05;
/* With fewer validation texts, scores are mostly chance. */
enum { ENOUGH_TEXTS = 30 };

/* Returns whether always predicting the same class would score as well. */
static bool is_trivial(const struct nvdp_scores *scores) {
    if (scores->n < ENOUGH_TEXTS) return false;
    if (scores->metric[0] == NVDP_METRIC_ACCURACY) return scores->mean[0] <= scores->majority;
    return fabs(scores->mean[0]) < NO_SCORE;
}

/* Returns an estimate of L_G + L_D of this epoch in nats, because the published losses are means over dimensions and
 * components. */
static double nats(const struct nvdp__trainer *t) {
    const double steps = (double)t->state.epoch_step;
    const double g = t->state.sum_g / steps, d = t->state.sum_d / steps;
    if (t->config.nvib.regularizer != NVDP__REGULARIZER_PUBLISHED) return g + d;
    const double components =
        1 + (double)t->train->offset[t->train->count] / (double)t->train->count;
    return components * (g * (double)t->config.nvib.latent_dim + d);
}

/* Warns once, after at least half of the steps. */
static void warn_of_collapse(struct nvdp__trainer *t, const struct nvdp_scores *scores) {
    const double weight = nvdp__kl_weight(&t->config, t->job.step, t->job.steps);
    const bool bottleneck = t->model->bottleneck.mechanism->private_;
    const bool pulled = bottleneck && weight > 0 && t->config.lambda_g + t->config.lambda_d > 0;
    const bool empty = pulled && nats(t) < NO_NATS, trivial = is_trivial(scores);
    char same[96] = "";
    if (t->warned || 2 * t->job.step < t->job.steps || !(empty || trivial)) return;
    t->warned = true;
    if (!isnan(scores->majority) && scores->metric[0] == NVDP_METRIC_ACCURACY)
        nvdp__snprintf(same, sizeof same, ", and always guessing the most frequent class %.4f",
                       scores->majority);
    const char *remedy = empty               ? "a smaller {lambda}, {kl-schedule} warmup, "
                         : t->job.dp != NULL ? "a larger {dp-clip}, budget or {dp-batch}, weights "
                                               "for the classes ({class-weights}), "
                         : bottleneck ? "a larger {lr-bottleneck} and {lr-head}, more {epochs}, "
                                      : "another {lr} or {lr-head}, more {epochs}, ";
    nvdp__log(t->ctx, NVDP_LOG_WARNING,
              "after step %" PRIu64 " of %" PRIu64 ", validation %s is %.4f%s%s%s; try %s%s",
              t->job.step, t->job.steps, nvdp_metric_name(scores->metric[0]), scores->mean[0], same,
              !trivial                      ? ""
              : t->job.step == t->job.steps ? ": the model has learned nothing"
                                            : ": the model has learned nothing so far",
              empty ? ", and the samples contain nothing about their texts (L_G + L_D near 0)" : "",
              nvdp__with_options(t->ctx, remedy).text,
              nvdp__with_options(t->ctx, bottleneck && t->config.from_base == NULL
                                             ? "or {from-base} RUN"
                                             : "or another {seed}")
                  .text);
}

/* --- steps and epochs --- */

/* Returns whether this epoch's model may be selected: always for the last epoch, and for earlier
 * epochs if the best is selected. While the regularizers' weight still rises, a model scores
 * well because it shares more than intended, so these epochs are never selected. */
static bool may_be_chosen(const struct nvdp__trainer *t) {
    bool rising = t->model->bottleneck.mechanism->private_ &&
                  t->config.kl_schedule == NVDP__KL_WARMUP &&
                  nvdp__kl_weight(&t->config, t->job.step, t->job.steps) < 1;
    bool waits = rising || t->config.select == NVDP__SELECT_LAST;
    return !waits || t->job.step == t->job.steps;
}

/* Saves a better epoch's model as RUN/model, before the state that refers to it. */
static nvdp_status keep_best(struct nvdp__trainer *t, double value) {
    if (!may_be_chosen(t)) return NVDP_OK;
    if (t->state.best_epoch > 0 && !(value > t->state.best_value)) {
        t->state.since_best++;
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__trainer_keep_model(t));
    t->state.best_epoch = t->job.epoch + 1;
    t->state.best_value = value;
    t->state.since_best = 0;
    return NVDP_OK;
}

static nvdp_status log_epoch(struct nvdp__trainer *t, const struct nvdp_scores *scores) {
    double steps = (double)t->state.epoch_step; /* a budget may end the last epoch early */
    json_t *line = json_pack("{s:s,s:I,s:I,s:f,s:f,s:f,s:o,s:I}", "event", "epoch", "epoch",
                             (json_int_t)(t->job.epoch + 1), "step", (json_int_t)t->job.step,
                             "task_loss", t->state.sum_task / steps, "loss_g",
                             t->state.sum_g / steps, "loss_d", t->state.sum_d / steps, "validation",
                             nvdp__result_json(&nvdp__result_scores, "file", scores), "best_epoch",
                             (json_int_t)t->state.best_epoch);
    nvdp__log(t->ctx, NVDP_LOG_INFO,
              "epoch %" PRIu64 "/%zu: loss %.4f, L_G %.4g, L_D %.4g, validation %s %.4f%s",
              t->job.epoch + 1, t->config.epochs, t->state.sum_task / steps, t->state.sum_g / steps,
              t->state.sum_d / steps, nvdp_metric_name(scores->metric[0]), scores->mean[0],
              t->state.best_epoch == t->job.epoch + 1 ? " (best so far)"
              : may_be_chosen(t) || t->config.select == NVDP__SELECT_LAST
                  ? ""
                  : " (regularizer weights still rising)");
    return nvdp__job_log(&t->job, line, true);
}

/* Validation noise is numbered by epoch and differs from the test draws. */
static const uint64_t VALIDATION_SEED_MASK = 0x9e3779b97f4a7c15u;

/* Scores the validation texts. */
static nvdp_status validate(struct nvdp__trainer *t, struct nvdp_scores *scores) {
    const double start = nvdp__now();
    if (t->validation == t->test) t->model->prefix = t->test_prefix;
    nvdp_status status = nvdp__score_model(t->ctx, t->model, t->validation, t->config.eval_batch,
                                           t->config.seed ^ VALIDATION_SEED_MASK,
                                           (uint32_t)t->job.epoch, 1, false, scores, NULL);
    t->model->prefix = t->prefix;
    t->state.score_seconds += nvdp__now() - start;
    return status;
}

/* Ends an epoch: validates, keeps the best model, saves the state. In private training the state
 * is saved before the model. After a kill, steps beyond the saved state are repeated with other
 * noise but accounted only once, so no model of the first attempt may exist. */
static nvdp_status end_epoch(struct nvdp__trainer *t) {
    struct nvdp_scores scores;
    if (t->job.dp != NULL) NVDP_TRY(nvdp__job_save(&t->job));
    NVDP_TRY(nvdp__params_same(t->ctx, &t->model->params));
    NVDP_TRY(nvdp__job_keep(&t->job, validate(t, &scores)));
    NVDP_TRY(keep_best(t, scores.mean[0]));
    NVDP_TRY(log_epoch(t, &scores));
    warn_of_collapse(t, &scores);
    t->state.epoch_g = t->state.sum_g / (double)t->state.epoch_step;
    t->state.epoch_d = t->state.sum_d / (double)t->state.epoch_step;
    t->state.sum_task = t->state.sum_g = t->state.sum_d = 0;
    t->state.epoch_step = 0;
    t->job.epoch++;
    t->state.early_stopped = t->config.patience > 0 && t->state.since_best >= t->config.patience &&
                             t->job.epoch < t->config.epochs;
    t->state.finished = t->state.early_stopped || t->job.step == t->job.steps;
    return nvdp__job_save(&t->job);
}

static nvdp_status run_epochs(struct nvdp__trainer *t) {
    nvdp__job_start(&t->job, "train");
    while (!t->state.finished) {
        nvdp__epoch_order(t->config.seed, (uint32_t)t->job.epoch, t->train->count, t->job.order);
        while (t->state.epoch_step < t->epoch_steps && t->job.step < t->job.steps)
            NVDP_TRY(nvdp__job_advance(&t->job));
        nvdp_status status = end_epoch(t);
        if (status == NVDP_ERR_CANCELLED) return nvdp__job_stop(&t->job); /* during validation */
        NVDP_TRY(status);
    }
    nvdp__meter_end(&t->job.meter);
    return NVDP_OK;
}

/* --- score and certificate of the trained model --- */

/* The default order of the divergences in reports. */
static const double BOUND_ORDER = 1.1;

nvdp_status nvdp__train_certify(const struct nvdp__train_options *config, struct nvdp_model *model,
                                struct nvdp_train_result *result, struct nvdp_certificate *out) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    struct nvdp_certificate proven = NVDP_RESULT(struct nvdp_certificate);
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    options.bdp.delta = config->certified_delta;
    options.bdp.releases = (int)config->certified_releases;
    NVDP_TRY(nvdp__model_limits(model->ctx, model, &limits));
    NVDP_TRY(nvdp__certify(model->ctx, &limits, &options, &nvdp__remedies, &proven));
    if (proven.word.holds) {
        struct nvdp_certificate word = NVDP_RESULT(struct nvdp_certificate);
        options.bdp.delta = config->word_delta;
        NVDP_TRY(nvdp__certify(model->ctx, &limits, &options, &nvdp__remedies, &word));
        proven.word = word.word;
    }
    *out = proven;
    if (result == NULL) return NVDP_OK;
    result->bound = nvdp__method_bound(config->method, &config->nvib, BOUND_ORDER);
    result->certified_epsilon = proven.epsilon;
    result->certified_delta = proven.delta;
    result->certified_releases = config->certified_releases;
    result->certified_right = proven.right;
    return NVDP_OK;
}

static const struct nvdp_result_kind train_kind = {
    .name = "train",
    .rows = &nvdp__result_train,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_train_result, test))};

/* Scores the best epoch's weights on the test split, with fresh noise. */
static nvdp_status final_score(struct nvdp__trainer *t, struct nvdp_train_result *result) {
    const double start = nvdp__now();
    const struct nvdp__path path = nvdp__path(t->config.out, "model/model.safetensors");
    NVDP_TRY(NVDP__RANK_0_ONLY(
        t->ctx, nvdp__checkpoint_load_file(&t->model->dev, path.text, &t->model->params)));
    NVDP_TRY(share_weights(t));
    NVDP_TRY(nvdp__trainer_test_prefix(t));
    const nvdp_status status =
        nvdp__score_model(t->ctx, t->model, t->test, t->config.eval_batch, t->config.seed, 0,
                          t->config.eval_draws, true, result->test, NULL);
    if (status == NVDP_ERR_CANCELLED)
        return nvdp__fail(t->ctx, status,
                          "interrupted while the trained model was scored; continue with: nvdp "
                          "train --resume %s",
                          t->config.out);
    NVDP_TRY(status);
    /* Otherwise, a warning of a collapse was logged. */
    if (!t->warned) nvdp__warn_of_chance(t->ctx, result->test);
    nvdp__warn_of_few(t->ctx, t->train->count);
    *result = (struct nvdp_train_result){
        .struct_size = sizeof *result,
        .kind = &train_kind,
        .epochs_run = t->job.epoch,
        .best_epoch = t->state.best_epoch,
        .best_validation = t->state.best_value,
        .steps = t->job.step,
        .test = result->test,
        .seconds = t->job.seconds,
        .score_seconds = t->state.score_seconds + nvdp__now() - start,
        .tokens_per_second = t->job.tokens / fmax(t->job.seconds, 1e-9),
        .loss_g = t->state.epoch_g,
        .loss_d = t->state.epoch_d,
        .early_stopped = t->state.early_stopped,
    };
    return nvdp__train_certify(&t->config, t->model, result, &t->proven);
}

/* --- a base run first --- */

/* Begins RUN with the configuration of the whole run, which can be resumed from now on. */
static nvdp_status begin_whole(struct nvdp__trainer *t) {
    struct nvdp_context *ctx = t->ctx;
    nvdp__auto(nvdp__trainer_close) struct nvdp__trainer whole = {
        .ctx = ctx, .config = t->config, .plan = true};
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_open(&whole)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_allocate(&whole, true)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_start_weights(&whole)));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__trainer_begin_records(&whole)));
    t->config.resume = t->config.out;
    t->job.lock = whole.job.lock;
    whole.job.lock = NULL;
    return NVDP_OK;
}

/* Sets *there to true if rank 0 finds the file in RUN/base. */
static nvdp_status base_has(const struct nvdp__trainer *t, const char *name, bool *there) {
    const struct nvdp__path path = nvdp__path(t->base_run, name);
    return nvdp__rank_any(t->ctx, nvdp__rank(t->ctx) == 0 && nvdp__exists(path.text), there);
}

/* Trains RUN/base, or resumes its training. */
static nvdp_status train_base(struct nvdp__trainer *t) {
    struct nvdp_context *ctx = t->ctx;
    nvdp__autoresult struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct nvdp__train_options base;
    bool begun = false, done = false;
    NVDP_TRY(nvdp__base_options(ctx, &t->config, &base));
    if (t->config.resume == NULL)
        NVDP_TRY(begin_whole(t));
    else
        NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__outdir_lock(ctx, t->config.out, &t->job.lock)));
    NVDP_TRY(NVDP__MADE(t->base_run = nvdp__join(ctx, t->config.out, "base")));
    t->config.from_base = t->base_run;
    NVDP_TRY(base_has(t, "result.json", &done));
    NVDP_TRY(base_has(t, "run.json", &begun));
    if (done) return NVDP_OK;
    base.out = t->base_run;
    base.resume = begun ? t->base_run : NULL;
    base.overwrite = !begun;
    nvdp__log(ctx, NVDP_LOG_INFO, "step 1 of 2, fine-tuning of the encoder and a classifier: %s",
              t->base_run);
    nvdp_status status = nvdp__train(ctx, &base, &result);
    if (status == NVDP_ERR_CANCELLED)
        return nvdp__fail(ctx, status,
                          "interrupted in the base run, the first of two steps; continue with: "
                          "nvdp train --resume %s",
                          t->config.out);
    NVDP_TRY(status);
    nvdp__log(ctx, NVDP_LOG_INFO, "base run: %s %.4f; step 2 of 2, training of the bottleneck: %s",
              nvdp_metric_name(result.test->metric[0]), result.test->mean[0], t->config.out);
    return NVDP_OK;
}

/* --- the whole run --- */

static nvdp_status train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                         const struct nvdp_config *given, struct nvdp_train_result *out) {
    nvdp__auto(nvdp__trainer_close) struct nvdp__trainer t = {.ctx = ctx};
    nvdp__autoresult struct nvdp_train_result result =
        NVDP__RESULT(struct nvdp_train_result, train_kind);
    NVDP_TRY(NVDP__NEW(ctx, result.test, 1));
    NVDP_TRY(nvdp__trainer_take_config(&t, options, given));
    const bool distill = t.config.objective == NVDP__TRAIN_DISTILL;
    if (t.config.resume == NULL) {
        if (!distill) NVDP_TRY(nvdp__trainer_take_base(&t));
        NVDP_TRY(NVDP__RANK_0_ONLY(
            ctx, nvdp__outdir_check(ctx, t.config.out, t.config.overwrite, NVDP__RUN_WAYS)));
    }
    if (distill) {
        if (nvdp__rank_count(ctx) > 1)
            return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                              "option {objective} distill: expected one process, found %zu",
                              nvdp__rank_count(ctx));
        if (t.config.resume != NULL) NVDP_TRY(nvdp__outdir_lock(ctx, t.config.out, &t.job.lock));
        NVDP_TRY(nvdp__distill_run(&t, &result));
        goto done;
    }
    if (nvdp__base_first(&t.config)) {
        NVDP_TRY(train_base(&t));
        NVDP_TRY(nvdp__trainer_take_base(&t));
    }
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_open(&t)));
    NVDP_TRY(nvdp__rank_agree(ctx, nvdp__trainer_allocate(&t, true)));
    NVDP_TRY(nvdp__dp_share(t.job.dp));
    NVDP_TRY(nvdp__rank_agree(ctx, start_or_continue(&t)));
    if (!t.state.finished) NVDP_TRY(nvdp__trainer_open_prefix(&t));
    NVDP_TRY(run_epochs(&t));
    if (nvdp__rank(ctx) == 0) nvdp__dp_warn_left_out(t.job.dp, t.job.left_out);
    NVDP_TRY(final_score(&t, &result));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__trainer_write_result(&t, &result)));
done:
    nvdp_result_free(out);
    *out = result;
    result.test = NULL;
    return NVDP_OK;
}

nvdp_status nvdp__train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                        struct nvdp_train_result *out) {
    return train(ctx, options, NULL, out);
}

nvdp_status nvdp_train(struct nvdp_context *ctx, const struct nvdp_config *config,
                       struct nvdp_train_result *out) {
    struct nvdp__train_options options;
    NVDP_TRY(nvdp__train_open(ctx, config, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    NVDP_TRY(nvdp__config_blame(config, train(ctx, &options, config, &result)));
    nvdp_result_free(out);
    return NVDP__GIVE(out, &result);
}
