/* Implements nvdp_pretrain(). First the parts of a step that are specific to pretraining (job/job.h): the gradient
 * of a batch, the gradients of private examples, losses, the log, and evaluations and models between steps. Then the
 * loop over epochs, the whole run, and the plan of a run. */
#include "pretrain/pretrainer.h"

#include "base/json.h"
#include "base/ranks.h"
#include "options/result.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ==== the parts of a step ==== */

static size_t token_count(const void *run, int64_t row) {
    const struct nvdp__pretrainer *t = run;
    return nvdp__example_tokens(&t->examples.at[row]);
}

static void begin(void *run, struct nvdp__pass *pass) {
    const struct nvdp__pretrainer *t = run;
    pass->hidden_dropout = pass->attention_dropout = (float)t->config.dropout;
}

static void fill(struct nvdp__pretrainer *t, const int64_t *row, size_t n,
                 const struct nvdp__pass *pass) {
    const struct nvdp__mask_key key = {
        .seed = pass->seed, .purpose = NVDP__PURPOSE_MASK, .number = pass->step};
    nvdp__batcher_fill(&t->batcher, &t->examples, row, 0, n, &key);
    t->sums.masked += (double)t->batcher.masked.count;
    t->job.last.tokens += t->batcher.batch->tokens;
}

static size_t batch_windows(const struct nvdp__pretrainer *t) {
    return nvdp__min(t->examples.count - t->state.epoch_row, t->config.batch);
}

static nvdp_status batch_gradient(void *run, struct nvdp__pass *pass) {
    struct nvdp__pretrainer *t = run;
    const size_t windows = batch_windows(t);
    const int64_t *rows = t->job.order + t->state.epoch_row;
    const struct nvdp__range own = nvdp__job_share(&t->job, rows, windows);
    fill(t, rows + own.first, own.count, pass);
    const struct nvdp__masked *targets = &t->batcher.masked;
    const struct nvdp__privacy_key draws = {
        .seed = t->config.seed, .step = pass->step, .first = own.first};
    if (nvdp__adaptive(t->config.objective)) {
        const double start = nvdp__now();
        NVDP_TRY(nvdp__privatize(&t->privatizer, t->batcher.batch, targets, &draws, &targets));
        t->state.drawing += nvdp__now() - start;
    }
    if (t->job.sum != NULL) {
        double masked = t->sums.masked;
        NVDP_TRY(nvdp__rank_sum(t->ctx, 1, &masked));
        pass->part = (struct nvdp__part){.tokens = nvdp__job_tokens(&t->job, rows, own.first),
                                         .all_texts = windows,
                                         .all_heads = (size_t)masked};
    }
    nvdp__grad_sum_begin(t->job.sum, true);
    if (own.count == 0) { /* this process has no examples */
        struct nvdp__params *params = &t->model.params;
        nvdp__grad_begin(&t->model.dev, params);
        nvdp__grad_rows(params, 0, NULL);
        nvdp__zero(&t->model.dev, params->total, params->grad);
        return NVDP_OK;
    }
    NVDP_TRY(
        nvdp__pretrain_model_step(&t->model, t->batcher.batch, targets, pass, &t->sums.losses));
    const double share = (double)own.count / (double)windows;
    t->sums.losses.next *= share;
    t->sums.losses.next_accuracy *= share;
    return NVDP_OK;
}

static nvdp_status private_gradients(void *run, const int64_t *row, size_t n, size_t drawn,
                                     struct nvdp__pass *pass) {
    struct nvdp__pretrainer *t = run;
    struct nvdp__pretrain_losses losses, *sum = &t->sums.losses;
    fill(t, row, n, pass);
    NVDP_TRY(
        nvdp__pretrain_model_step(&t->model, t->batcher.batch, &t->batcher.masked, pass, &losses));
    sum->nll += nvdp__dp_loss(losses.nll);
    sum->right += losses.right;
    sum->next += nvdp__dp_loss(losses.next * (double)n / (double)drawn);
    sum->next_accuracy += losses.next_accuracy * (double)n / (double)drawn;
    pass->part.tokens += t->batcher.batch->tokens;
    return NVDP_OK;
}

static double total(void *run) {
    const struct nvdp__pretrainer *t = run;
    return t->sums.losses.nll / fmax(t->sums.masked, 1) + t->sums.losses.next;
}

static nvdp_status diverged(void *run) {
    const struct nvdp__pretrainer *t = run;
    const struct nvdp__job_step *r = &t->job.last;
    return nvdp__fail(t->ctx, NVDP_ERR_NUMERIC,
                      "step %" PRIu64 ": pretraining diverged: loss %g, gradient norm %g, learning "
                      "rate %g; try a smaller {lr} or a longer {warmup}",
                      t->job.step + 1, r->total, r->norm, r->lr);
}

/* Logs the means since the last line. */
static nvdp_status log_step(struct nvdp__pretrainer *t) {
    struct nvdp__pretrain_state *s = &t->state;
    double masked = fmax(s->sum_masked, 1);
    s->loss = s->sum_nll / masked;
    s->accuracy = s->sum_right / masked;
    json_t *line =
        json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "event", "step", "step",
                  (json_int_t)t->job.step, "epoch", (json_int_t)(t->job.epoch + 1), "tokens",
                  (json_int_t)t->job.tokens, "loss", s->loss, "accuracy", s->accuracy, "lr",
                  t->job.last.lr, "grad_norm", t->job.last.norm, "tokens_per_second",
                  t->job.tokens / fmax(t->job.seconds, 1e-9));
    if (nvdp__next_sentence(t->config.objective)) {
        json_object_set_new(line, "next_loss", json_real(s->sum_next / s->sum_steps));
        json_object_set_new(line, "next_accuracy", json_real(s->sum_next_right / s->sum_steps));
    }
    s->sum_nll = s->sum_masked = s->sum_right = 0;
    s->sum_next = s->sum_next_right = s->sum_steps = 0;
    return nvdp__job_log(&t->job, line, true);
}

/* Decay per step of the moving averages that the progress line shows. */
static const double DECAY = 0.98;

static nvdp_status count(void *run, double *shown) {
    struct nvdp__pretrainer *t = run;
    struct nvdp__pretrain_state *s = &t->state;
    const struct nvdp__pretrain_losses *losses = &t->sums.losses;
    struct nvdp__recent *recent = &t->recent;
    if (t->job.dp == NULL) s->epoch_row += batch_windows(t);
    s->masked += (uint64_t)t->sums.masked;
    s->sum_nll += losses->nll;
    s->sum_masked += t->sums.masked;
    s->sum_right += losses->right;
    s->sum_next += losses->next;
    s->sum_next_right += losses->next_accuracy;
    s->sum_steps++;
    recent->weight = DECAY * recent->weight + 1;
    recent->loss += (t->job.last.total - recent->loss) / recent->weight;
    recent->accuracy +=
        (losses->right / fmax(t->sums.masked, 1) - recent->accuracy) / recent->weight;
    t->job.meter.report.accuracy = recent->accuracy;
    *shown = recent->loss;
    const bool last = t->job.step == t->job.steps;
    return last || t->job.step % t->config.log_every == 0 ? log_step(t) : NVDP_OK;
}

nvdp_status nvdp__pretrainer_evaluate(struct nvdp__pretrainer *t) {
    if (t->config.eval_texts == 0) return NVDP_OK;
    nvdp_status status =
        nvdp__job_keep(&t->job, nvdp__mlm_score(&t->evaluator, &t->model, NULL, &t->eval));
    if (status == NVDP_ERR_CANCELLED) return nvdp__job_stop(&t->job);
    NVDP_TRY(status);
    nvdp__log(
        t->ctx, NVDP_LOG_INFO,
        "step %" PRIu64 "/%" PRIu64
        ": held-out text: masked accuracy %.4f, perplexity %.3f (%.4f nats) after %.1f M tokens",
        t->job.step, t->config.stop_after, t->eval.accuracy, t->eval.perplexity, t->eval.nll,
        t->job.tokens / 1e6);
    json_t *line = nvdp__result_json(&nvdp__result_mlm, "file", &t->eval);
    json_object_update_new(line, json_pack("{s:s, s:I, s:I}", "event", "evaluation", "step",
                                           (json_int_t)t->job.step, "tokens_seen",
                                           (json_int_t)t->job.tokens));
    return nvdp__job_log(&t->job, line, false);
}

static bool is_due(const struct nvdp__pretrainer *t, size_t every) {
    return every > 0 && t->job.step % every == 0 && t->job.step < t->config.stop_after;
}

static nvdp_status due(void *run) {
    struct nvdp__pretrainer *t = run;
    if (is_due(t, t->config.eval_every) || is_due(t, t->config.save_every))
        NVDP_TRY(nvdp__params_same(t->ctx, &t->model.params));
    if (is_due(t, t->config.eval_every)) NVDP_TRY(nvdp__pretrainer_evaluate(t));
    if (!is_due(t, t->config.save_every) || nvdp__rank(t->ctx) != 0) return NVDP_OK;
    /* saves the state before the model of the same step */
    if (t->job.dp != NULL) NVDP_TRY(nvdp__job_save(&t->job));
    return nvdp__pretrainer_save_model(t);
}

const struct nvdp__job_kind nvdp__pretrain_kind = {
    .command = "nvdp pretrain",
    .members = nvdp__pretrain_members,
    .sums = sizeof(struct nvdp__pretrain_sums) / sizeof(double),
    .tokens = token_count,
    .begin = begin,
    .batch = batch_gradient,
    .examples = private_gradients,
    .total = total,
    .diverged = diverged,
    .count = count,
    .due = due,
    .check_state = nvdp__pretrainer_check_state,
};

/* ==== the run ==== */

/* ---- the loop ---- */

/* Lists the epoch's examples in shuffled order. */
static nvdp_status load_epoch(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    uint32_t epoch = (uint32_t)t->job.epoch;
    if (t->job.dp != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__next_sentence(c->objective)
                 ? nvdp__examples_pairs(&t->examples, &t->corpus, NULL, c->length, c->seed, epoch)
                 : nvdp__examples_windows(&t->examples, &t->corpus, &t->pieces, c->length, &c->seed,
                                          epoch));
    NVDP_TRY(nvdp__examples_planted(&t->examples, &t->plants));
    NVDP_TRY(nvdp__reserve(t->ctx, &t->job.order, &t->order_capacity, t->examples.count,
                           sizeof *t->job.order));
    nvdp__epoch_order(c->seed, epoch, t->examples.count, t->job.order);
    return NVDP_OK;
}

static nvdp_status train(struct nvdp__pretrainer *t) {
    bool loaded = false;
    nvdp__job_start(&t->job, "pretrain");
    while (t->job.step < t->job.steps) {
        if (loaded && t->state.epoch_row == t->examples.count) {
            t->job.epoch++;
            t->state.epoch_row = 0;
            loaded = false;
        }
        if (!loaded) NVDP_TRY(load_epoch(t));
        loaded = true;
        /* the run was resumed at the end of an epoch */
        if (t->state.epoch_row >= t->examples.count) continue;
        NVDP_TRY(nvdp__job_advance(&t->job));
    }
    nvdp__meter_end(&t->job.meter);
    return NVDP_OK;
}

/* ---- nvdp_pretrain and its plan ---- */

/* Sets the options. A resumed run keeps its configuration, except for options that concern only this call. */
static nvdp_status take_options(struct nvdp__pretrainer *t,
                                const struct nvdp__pretrain_options *options) {
    t->config = *options;
    if (options->resume != NULL) {
        NVDP_TRY(nvdp__pretrainer_read_run(t, options->resume));
        t->config.out = t->config.resume = options->resume;
        t->config.overwrite = options->overwrite;
        t->config.cache = options->cache;
    }
    nvdp__pretrain_resolve(&t->config);
    return nvdp__schema_check(t->ctx, &nvdp__pretrain_schema, &t->config);
}

static const struct nvdp_result_kind pretrain_kind = {
    .name = "pretrain",
    .rows = &nvdp__result_pretrain,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_pretrain_result, coverage),
                            offsetof(struct nvdp_pretrain_result, eval_coverage),
                            offsetof(struct nvdp_pretrain_result, eval))};

static nvdp_status copy_coverage(struct nvdp_context *ctx, const struct nvdp_coverage *from,
                                 struct nvdp_coverage **out) {
    if (from->words == 0) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(ctx, *out, 1));
    **out = *from;
    return NVDP_OK;
}

nvdp_status nvdp__pretrain(struct nvdp_context *ctx, const struct nvdp__pretrain_options *options,
                           struct nvdp_pretrain_result *out) {
    nvdp__auto(nvdp__pretrainer_close) struct nvdp__pretrainer t = {.ctx = ctx};
    nvdp__autoresult struct nvdp_pretrain_result result =
        NVDP__RESULT(struct nvdp_pretrain_result, pretrain_kind);
    NVDP_TRY(take_options(&t, options));
    NVDP_TRY(nvdp__pretrainer_open(&t));
    NVDP_TRY(train(&t));
    if (nvdp__rank(ctx) == 0) nvdp__dp_warn_left_out(t.job.dp, t.job.left_out);
    NVDP_TRY(nvdp__params_same(ctx, &t.model.params));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__job_save(&t.job)));
    NVDP_TRY(nvdp__pretrainer_evaluate(&t));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__pretrainer_save_model(&t)));
    result = (struct nvdp_pretrain_result){
        .struct_size = sizeof result,
        .kind = &pretrain_kind,
        .steps = t.job.step,
        .tokens = (uint64_t)t.job.tokens,
        .masked = t.state.masked,
        .vocab_size = nvdp_tokenizer_size(t.tokenizer),
        .parameters = nvdp__params_trainable(&t.model.params),
        .loss = t.state.loss,
        .accuracy = t.state.accuracy,
        .seconds = t.job.seconds,
        .tokens_per_second = t.job.tokens / fmax(t.job.seconds, 1e-9),
        .drawing_seconds = t.state.drawing,
    };
    NVDP_TRY(copy_coverage(ctx, &t.coverage, &result.coverage));
    if (t.eval.windows > 0) {
        NVDP_TRY(copy_coverage(ctx, &t.eval_coverage, &result.eval_coverage));
        NVDP_TRY(NVDP__NEW(ctx, result.eval, 1));
        *result.eval = t.eval;
    }
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__pretrainer_write_result(&t, &result)));
    nvdp_result_free(out);
    return NVDP__HAND_OVER(out, result);
}

/* Converts a configuration into a plain struct; the caller frees the lists of files, *text and *eval_text, with
 * free(). */
static nvdp_status open_config(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp__pretrain_options *options, const char ***text,
                               const char ***eval_text) {
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__pretrain_schema, options));
    NVDP_TRY(nvdp__list_split(ctx, options->text_list, text, &options->texts));
    NVDP_TRY(nvdp__list_split(ctx, options->eval_text_list, eval_text, &options->eval_texts));
    options->text = *text;
    options->eval_text = *eval_text;
    return NVDP_OK;
}

nvdp_status nvdp_pretrain(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_pretrain_result *out) {
    struct nvdp__pretrain_options options;
    struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    nvdp__autofree const char **text = NULL, **eval_text = NULL;
    NVDP_TRY(open_config(ctx, config, &options, &text, &eval_text));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__pretrain(ctx, &options, &result));
    nvdp_result_free(out);
    return NVDP__GIVE(out, &result);
}

nvdp_status nvdp_pretrain_config_json(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      char **out) {
    struct nvdp__pretrain_options options;
    nvdp__autofree const char **text = NULL, **eval_text = NULL;
    NVDP_TRY(open_config(ctx, config, &options, &text, &eval_text));
    nvdp__pretrain_resolve(&options);
    return nvdp__json_text(ctx, nvdp__pretrain_options_json(&options), "configuration", out);
}

nvdp_status nvdp_pretrain_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp_pretrain_plan *out) {
    nvdp__autofree const char **text = NULL, **eval_text = NULL;
    nvdp__auto(nvdp__pretrainer_close) struct nvdp__pretrainer t = {.ctx = ctx};
    struct nvdp__pretrain_options options;
    struct nvdp_bert_config bert;
    size_t floats = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(open_config(ctx, config, &options, &text, &eval_text));
    NVDP_TRY(take_options(&t, &options));
    const struct nvdp__pretrain_options *c = &t.config;
    for (size_t i = 0; i < c->texts + c->eval_texts; i++) {
        const char *path = i < c->texts ? c->text[i] : c->eval_text[i - c->texts];
        if (!nvdp__exists(path) || nvdp__is_directory(path))
            return nvdp__fail(ctx, NVDP_ERR_IO, "%s: no such file", path);
    }
    size_t pieces = c->vocab_size; /* an upper bound if a vocabulary is trained */
    if (c->vocab != NULL || c->init != NULL) {
        NVDP_TRY(nvdp__pretrainer_open_vocabulary(&t));
        pieces = nvdp_tokenizer_size(t.tokenizer);
    }
    NVDP_TRY(nvdp__pretrainer_bert(&t, pieces, &bert));
    NVDP_TRY(nvdp__pretrainer_model(&t, &bert));
    NVDP_TRY(nvdp__pretrain_model_plan(&t.model, c->batch, c->length,
                                       nvdp__batcher_masked(c->batch, c->length, c->mask_prob),
                                       &floats));
    size_t vectors = 4; /* values, gradients and two moments */
    size_t privatizer =
        nvdp__adaptive(t.config.objective)
            ? nvdp__privatizer_bytes(&c->sanitizer, pieces, bert.hidden_size, c->batch, c->length)
            : 0;
    const struct nvdp_pretrain_plan plan = {
        .struct_size = sizeof plan,
        .vocab_size = bert.vocab_size,
        .parameters = nvdp__params_trainable(&t.model.params),
        .tokens = c->stop_after * c->batch * c->length,
        .memory_bytes = (vectors * t.model.params.total + floats) * sizeof(float) + privatizer,
    };
    return NVDP__GIVE(out, &plan);
}
