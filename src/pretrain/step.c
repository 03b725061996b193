/* The parts of a step that are specific to pretraining (job/job.h): the gradient of a batch, the
 * gradients of private examples, losses, the log, and evaluations and models between steps. */
#include "pretrain/pretrainer.h"

#include "base/ranks.h"
#include "options/result.h"

#include <inttypes.h>
#include <math.h>

static size_t tokens_of(const void *run, int64_t row) {
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

/* Sets the gradient to 0 in a process without examples. */
static nvdp_status no_gradient(struct nvdp__pretrainer *t) {
    struct nvdp__params *params = &t->model.params;
    nvdp__grad_begin(&t->model.dev, params);
    nvdp__grad_rows(params, 0, NULL);
    nvdp__zero(&t->model.dev, params->total, params->grad);
    return NVDP_OK;
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
    if (own.count == 0) return no_gradient(t);
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

/* Logs means since the last line. */
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
    json_object_set_new(line, "event", json_string("evaluation"));
    json_object_set_new(line, "step", json_integer((json_int_t)t->job.step));
    json_object_set_new(line, "tokens_seen", json_integer((json_int_t)t->job.tokens));
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
    if (t->job.dp != NULL) NVDP_TRY(nvdp__job_save(&t->job)); /* before the model of its steps */
    return nvdp__pretrainer_save_model(t);
}

const struct nvdp__job_kind nvdp__pretrain_kind = {
    .command = "nvdp pretrain",
    .members = nvdp__pretrain_members,
    .sums = sizeof(struct nvdp__pretrain_sums) / sizeof(double),
    .tokens = tokens_of,
    .begin = begin,
    .batch = batch_gradient,
    .examples = private_gradients,
    .total = total,
    .diverged = diverged,
    .count = count,
    .due = due,
    .check_state = nvdp__pretrainer_check_state,
};
