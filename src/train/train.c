/* nvdp_train. In order: options, weights, warnings, the loop over epochs (steps: step.c), the
 * final score and certificate, the base run, and train(), which calls them all. */
#include "base/file.h"
#include "base/outdir.h"
#include "base/ranks.h"
#include "bert/checkpoint.h"
#include "mechanism/method.h"
#include "model/model.h"
#include "options/result.h"
#include "rdp/options.h"
#include "train/metrics.h"
#include "train/run.h"
#include "train/sentence.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <nvdp/certificate.h>
#include <stdlib.h>
#include <string.h>

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
    t->config.out = run;
    t->config.resume = run;
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

/* Returns about L_G + L_D of this epoch in nats. The published losses are means over dimensions
 * and components. */
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
 * well because it shares more than intended; such epochs are never selected. */
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
    nvdp_status status =
        nvdp__score_model(t->ctx, t->model, t->validation, t->config.eval_batch,
                          t->config.seed ^ VALIDATION_SEED_MASK, (uint32_t)t->job.epoch, 1, scores);
    t->model->prefix = t->prefix;
    t->state.score_seconds += nvdp__now() - start;
    return status;
}

/* Ends an epoch: validates, keeps the best model, saves the state. In private training the state
 * is saved before the model. After a kill, steps beyond the saved state are repeated with other
 * noise but accounted once, so no model of these steps may exist. */
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
    t->state.sum_task = 0;
    t->state.sum_g = 0;
    t->state.sum_d = 0;
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

/* Certifies the mechanism with the kept weights. */
static nvdp_status certify(struct nvdp__trainer *t, struct nvdp_train_result *result) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    struct nvdp_certificate proven = NVDP_RESULT(struct nvdp_certificate);
    struct nvdp__privacy_options options = nvdp__privacy_defaults();
    options.bdp.delta = t->config.certified_delta;
    options.bdp.releases = (int)t->config.certified_releases;
    NVDP_TRY(nvdp_model_limits(t->ctx, t->model, &limits));
    NVDP_TRY(nvdp__certify(t->ctx, &limits, &options, &nvdp__remedies, &proven));
    if (proven.word.holds) {
        struct nvdp_certificate word = NVDP_RESULT(struct nvdp_certificate);
        options.bdp.delta = t->config.word_delta;
        NVDP_TRY(nvdp__certify(t->ctx, &limits, &options, &nvdp__remedies, &word));
        proven.word = word.word;
    }
    result->certified_epsilon = proven.epsilon;
    result->certified_delta = proven.delta;
    result->certified_releases = t->config.certified_releases;
    result->certified_right = proven.right;
    t->proven = proven;
    return NVDP_OK;
}

/* Scores the best epoch's weights on the test split, with fresh noise. */
static nvdp_status final_score(struct nvdp__trainer *t, struct nvdp_train_result *result) {
    const double start = nvdp__now();
    char *path = nvdp__join(t->ctx, t->config.out, "model/model.safetensors");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP__RANK_0_ONLY(
        t->ctx, nvdp__checkpoint_load_file(&t->model->dev, path, &t->model->params));
    free(path);
    NVDP_TRY(status);
    NVDP_TRY(share_weights(t));
    NVDP_TRY(nvdp__trainer_test_prefix(t));
    status = nvdp__score_whole(t->ctx, t->model, t->test, t->config.eval_batch, t->config.seed,
                               t->config.eval_draws, result->test, NULL);
    if (status == NVDP_ERR_CANCELLED)
        return nvdp__fail(t->ctx, status,
                          "interrupted while the trained model was scored; continue with: nvdp "
                          "train --resume %s",
                          t->config.out);
    NVDP_TRY(status);
    if (!t->warned) nvdp__warn_of_chance(t->ctx, result->test); /* else of a collapse */
    nvdp__warn_of_few(t->ctx, t->train->count);
    result->epochs_run = t->job.epoch;
    result->best_epoch = t->state.best_epoch;
    result->best_validation = t->state.best_value;
    result->steps = t->job.step;
    result->seconds = t->job.seconds;
    result->score_seconds = t->state.score_seconds + nvdp__now() - start;
    result->tokens_per_second = t->job.tokens / fmax(t->job.seconds, 1e-9);
    result->loss_g = t->state.epoch_g;
    result->loss_d = t->state.epoch_d;
    result->early_stopped = t->state.early_stopped;
    result->bound = nvdp__method_bound(t->config.method, &t->config.nvib, BOUND_ORDER);
    return certify(t, result);
}

/* --- a base run first --- */

/* Begins RUN with the configuration of the whole run, so that it can be resumed from now on. */
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

/* Asks rank 0 whether the file is in RUN/base. */
static nvdp_status base_has(const struct nvdp__trainer *t, const char *name, bool *there) {
    char *path = nvdp__join(t->ctx, t->base_run, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    const bool seen = nvdp__rank(t->ctx) == 0 && nvdp__exists(path);
    free(path);
    return nvdp__rank_any(t->ctx, seen, there);
}

/* Trains RUN/base, or the rest of it if it was begun before. */
static nvdp_status train_base(struct nvdp__trainer *t) {
    struct nvdp_context *ctx = t->ctx;
    struct nvdp_train_result result = NVDP_RESULT(struct nvdp_train_result);
    struct nvdp__train_options base;
    bool begun = false, done = false;
    NVDP_TRY(nvdp__base_options(ctx, &t->config, &base));
    if (t->config.resume == NULL)
        NVDP_TRY(begin_whole(t));
    else
        NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__outdir_lock(ctx, t->config.out, &t->job.lock)));
    t->base_run = nvdp__join(ctx, t->config.out, "base");
    if (t->base_run == NULL) return NVDP_ERR_MEMORY;
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
    nvdp_train_result_free(&result);
    return NVDP_OK;
}

/* --- the objective distill --- */

static nvdp_status train_distill(struct nvdp__trainer *t, struct nvdp_train_result *result) {
    struct nvdp_context *ctx = t->ctx;
    if (nvdp__rank_count(ctx) > 1)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "option {objective} distill: expected one process, found %zu",
                          nvdp__rank_count(ctx));
    if (t->config.resume != NULL) NVDP_TRY(nvdp__outdir_lock(ctx, t->config.out, &t->job.lock));
    return nvdp__distill_run(t, result);
}

/* --- the whole run --- */

void nvdp_train_result_free(struct nvdp_train_result *result) {
    if (result == NULL) return;
    free(result->test);
    result->test = NULL;
}

static nvdp_status train(struct nvdp_context *ctx, const struct nvdp__train_options *options,
                         const struct nvdp_config *given, struct nvdp_train_result *out) {
    nvdp__auto(nvdp__trainer_close) struct nvdp__trainer t = {.ctx = ctx};
    nvdp__auto(nvdp_train_result_free) struct nvdp_train_result result =
        NVDP_RESULT(struct nvdp_train_result);
    NVDP_TRY(NVDP__NEW(ctx, result.test, 1));
    NVDP_TRY(nvdp__trainer_take_config(&t, options, given));
    const bool distill = t.config.objective == NVDP__TRAIN_DISTILL;
    if (t.config.resume == NULL) {
        if (!distill) NVDP_TRY(nvdp__trainer_take_base(&t));
        NVDP_TRY(NVDP__RANK_0_ONLY(
            ctx, nvdp__outdir_check(ctx, t.config.out, t.config.overwrite, NVDP__RUN_WAYS)));
    }
    if (distill) {
        NVDP_TRY(train_distill(&t, &result));
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
    nvdp_train_result_free(out);
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
    nvdp_train_result_free(out);
    NVDP__GIVE(out, &result);
    return NVDP_OK;
}
