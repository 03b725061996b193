/* The pretraining loop: epochs of examples, steps, evaluations, saved models and states. */
#include "base/base.h"
#include "pretrain/trainer.h"
#include "train/metrics_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The progress line's loss and accuracy are means that forget by this much a step. */
static const double FORGETTING = 0.98;

struct recent {
    double weight, loss, accuracy;
};

struct step_report {
    struct nvdp__pretrain_losses losses;
    size_t masked;
    double total, lr, norm; /* mean masked-LM loss + next-sentence loss */
};

/* The epoch's examples in their order. */
static nvdp_status load_epoch(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    uint32_t epoch = (uint32_t)t->state.epoch;
    NVDP_RETURN_IF_FAILED(
        c->objective == NVDP_OBJECTIVE_MLM_NSP
            ? nvdp__examples_pairs(&t->examples, &t->corpus, c->length, c->seed, epoch)
            : nvdp__examples_windows(&t->examples, &t->corpus, &t->pieces, c->length, &c->seed,
                                     epoch));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(t->ctx, &t->order, &t->order_capacity, t->examples.count, sizeof *t->order));
    nvdp__epoch_order(c->seed, epoch, t->examples.count, t->order);
    return NVDP_OK;
}

static nvdp_status diverged(struct nvdp__pretrainer *t, const struct step_report *r) {
    return nvdp__fail(t->ctx, NVDP_ERR_NUMERIC,
                      "step %" PRIu64 ": pretraining diverged: loss %g, gradient norm %g, learning "
                      "rate %g; try a smaller --lr or a longer --warmup",
                      t->state.step + 1, r->total, r->norm, r->lr);
}

static void fill_batch(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    size_t first = t->state.epoch_row;
    size_t left = t->examples.count - first;
    const struct nvdp__mask_key key = {
        .seed = c->seed, .purpose = NVDP__PURPOSE_MASK, .number = (uint32_t)t->state.step};
    nvdp__batcher_fill(&t->batcher, &t->examples, t->order + first, 0,
                       left < c->batch ? left : c->batch, &key);
}

/* One optimiser step on the epoch's next examples. */
static nvdp_status train_step(struct nvdp__pretrainer *t, struct step_report *r) {
    const struct nvdp_pretrain_config *c = &t->config;
    const struct nvdp__pass pass = {.training = true,
                                    .hidden_dropout = (float)c->dropout,
                                    .attention_dropout = (float)c->dropout,
                                    .seed = c->seed,
                                    .step = (uint32_t)t->state.step};
    fill_batch(t);
    double factor = nvdp__lr_factor(t->state.step, c->steps, c->warmup);
    r->lr = c->lr * factor;
    r->norm = NAN;
    r->masked = t->batcher.masked.count;
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_model_step(&t->model, t->batcher.batch, &t->batcher.masked,
                                                    &pass, &r->losses));
    r->total = r->losses.nll / fmax((double)r->masked, 1) + r->losses.next;
    if (!isfinite(r->total)) return diverged(t, r);
    nvdp_status status =
        nvdp__optimizer_step(&t->optimizer, &t->model.dev, &t->model.params, factor, &r->norm);
    return status == NVDP_ERR_NUMERIC ? diverged(t, r) : status;
}

static void count_step(struct nvdp__pretrainer *t, const struct step_report *r, double seconds) {
    struct nvdp__pretrain_state *s = &t->state;
    const struct nvdp__batch *batch = t->batcher.batch;
    s->step++;
    s->epoch_row += batch->texts;
    s->tokens += batch->tokens;
    s->masked += r->masked;
    s->seconds += seconds;
    s->sum_nll += r->losses.nll;
    s->sum_masked += (double)r->masked;
    s->sum_right += (double)r->losses.right;
    s->sum_next += r->losses.next;
    s->sum_next_right += r->losses.next_accuracy;
    s->sum_steps++;
}

/* Means since the last line. */
static nvdp_status log_step(struct nvdp__pretrainer *t, const struct step_report *r) {
    struct nvdp__pretrain_state *s = &t->state;
    double masked = fmax(s->sum_masked, 1);
    s->loss = s->sum_nll / masked;
    s->accuracy = s->sum_right / masked;
    json_t *line = json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f}", "event", "step",
                             "step", (json_int_t)s->step, "epoch", (json_int_t)(s->epoch + 1),
                             "tokens", (json_int_t)s->tokens, "loss", s->loss, "accuracy",
                             s->accuracy, "lr", r->lr, "grad_norm", r->norm, "tokens_per_second",
                             (double)s->tokens / fmax(s->seconds, 1e-9));
    if (t->config.objective == NVDP_OBJECTIVE_MLM_NSP) {
        json_object_set_new(line, "next_loss", json_real(s->sum_next / s->sum_steps));
        json_object_set_new(line, "next_accuracy", json_real(s->sum_next_right / s->sum_steps));
    }
    s->sum_nll = s->sum_masked = s->sum_right = 0;
    s->sum_next = s->sum_next_right = s->sum_steps = 0;
    return nvdp__metrics_file_append(t->ctx, t->config.out, t->metrics, line, &s->metrics_bytes);
}

static nvdp_status evaluate(struct nvdp__pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__mlm_score(&t->evaluator, &t->model, NULL, NULL, &t->eval));
    nvdp__log(t->ctx, NVDP_LOG_INFO,
              "step %" PRIu64 "/%" PRIu64 ": held-out masked accuracy %.4f, perplexity %.3f "
              "(%.4f nats) after %.1f M tokens",
              t->state.step, t->config.stop_after, t->eval.accuracy, t->eval.perplexity,
              t->eval.nll, (double)t->state.tokens / 1e6);
    json_t *line = nvdp__mlm_scores_json(&t->eval);
    json_object_set_new(line, "event", json_string("evaluation"));
    json_object_set_new(line, "step", json_integer((json_int_t)t->state.step));
    json_object_set_new(line, "tokens_seen", json_integer((json_int_t)t->state.tokens));
    return nvdp__metrics_file_append(t->ctx, t->config.out, t->metrics, line,
                                     &t->state.metrics_bytes);
}

static bool is_due(const struct nvdp__pretrainer *t, size_t every) {
    return every > 0 && t->state.step % every == 0 && t->state.step < t->config.stop_after;
}

static nvdp_status save_and_stop(struct nvdp__pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_state_save(t));
    return nvdp__fail(t->ctx, NVDP_ERR_CANCELLED,
                      "interrupted after step %" PRIu64 " of %" PRIu64
                      "; continue with: nvdp pretrain --resume %s",
                      t->state.step, t->config.stop_after, t->config.out);
}

/* Between steps: what is due, and stop when asked. */
static nvdp_status pause_point(struct nvdp__pretrainer *t) {
    if (t->config.eval_texts > 0 && is_due(t, t->config.eval_every)) {
        nvdp_status status = evaluate(t);
        if (status == NVDP_ERR_CANCELLED) return save_and_stop(t);
        NVDP_RETURN_IF_FAILED(status);
    }
    if (is_due(t, t->config.save_every)) NVDP_RETURN_IF_FAILED(nvdp__pretrain_model_save(t));
    if (nvdp__cancelled(t->ctx)) return save_and_stop(t);
    if (nvdp__now() - t->saved_at < t->config.checkpoint_seconds) return NVDP_OK;
    return nvdp__pretrain_state_save(t);
}

static void report(struct nvdp__meter *meter, struct recent *recent, uint64_t step, double tokens,
                   const struct step_report *r) {
    double masked = fmax((double)r->masked, 1);
    recent->weight = FORGETTING * recent->weight + 1;
    recent->loss += (r->total - recent->loss) / recent->weight;
    recent->accuracy += ((double)r->losses.right / masked - recent->accuracy) / recent->weight;
    nvdp__meter_accuracy(meter, recent->accuracy);
    nvdp__meter_update(meter, step, tokens, "tok", recent->loss);
}

static nvdp_status train(struct nvdp__pretrainer *t) {
    struct nvdp__meter meter;
    struct recent recent = {0};
    uint64_t tokens_before = t->state.tokens;
    bool loaded = false;
    nvdp__meter_begin(&meter, t->ctx, "pretrain", "step", t->state.step, t->config.stop_after);
    while (t->state.step < t->config.stop_after) {
        struct step_report r;
        if (loaded && t->state.epoch_row == t->examples.count) {
            t->state.epoch++;
            t->state.epoch_row = 0;
            loaded = false;
        }
        if (!loaded) NVDP_RETURN_IF_FAILED(load_epoch(t));
        loaded = true;
        if (t->state.epoch_row >= t->examples.count) continue; /* resumed at an epoch's end */
        double start = nvdp__now();
        NVDP_RETURN_IF_FAILED(train_step(t, &r));
        count_step(t, &r, nvdp__now() - start);
        bool last = t->state.step == t->config.stop_after;
        if (last || t->state.step % t->config.log_every == 0)
            NVDP_RETURN_IF_FAILED(log_step(t, &r));
        report(&meter, &recent, t->state.step, (double)(t->state.tokens - tokens_before), &r);
        NVDP_RETURN_IF_FAILED(pause_point(t));
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

nvdp_status nvdp__pretrainer_run(struct nvdp__pretrainer *t) {
    t->saved_at = nvdp__now();
    NVDP_RETURN_IF_FAILED(train(t));
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_state_save(t));
    if (t->config.eval_texts > 0) {
        nvdp_status status = evaluate(t);
        if (status == NVDP_ERR_CANCELLED) return save_and_stop(t);
        NVDP_RETURN_IF_FAILED(status);
    }
    return nvdp__pretrain_model_save(t);
}
