/* One step of pretraining: examples, their gradient, of one after the other where it is private, the optimiser's step. */
#include "pretrain/pretrainer.h"

#include "base/ranks.h"

#include <inttypes.h>
#include <math.h>

static nvdp_status diverged(struct nvdp__pretrainer *t, const struct nvdp__pretrain_report *r) {
    return nvdp__fail(t->ctx, NVDP_ERR_NUMERIC,
                      "step %" PRIu64 ": pretraining diverged: loss %g, gradient norm %g, learning "
                      "rate %g; try a smaller --lr or a longer --warmup",
                      t->state.step + 1, r->total, r->norm, r->lr);
}

static size_t tokens_of(const struct nvdp__pretrainer *t, const int64_t *order, size_t n) {
    size_t tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += nvdp__example_tokens(&t->examples.at[order[i]]);
    return tokens;
}

struct step_windows {
    const struct nvdp__examples *examples;
    const int64_t *order;
};

static size_t length_of(const void *user, size_t i) {
    const struct step_windows *windows = user;
    return nvdp__example_tokens(&windows->examples->at[windows->order[i]]);
}

/* Of a process without examples. */
static nvdp_status no_gradient(struct nvdp__pretrainer *t) {
    struct nvdp__params *params = &t->model.params;
    nvdp__grad_begin(&t->model.dev, params);
    nvdp__grad_rows(params, 0, NULL);
    nvdp__zero(&t->model.dev, params->total, params->grad);
    return NVDP_OK;
}

/* The gradient of the epoch's next examples: this process's part of the sum of all. */
static nvdp_status gradient(struct nvdp__pretrainer *t, struct nvdp__pass *pass,
                            const struct nvdp__mask_key *key, struct nvdp__pretrain_report *r) {
    const struct nvdp__pretrain_options *c = &t->config;
    size_t first = t->state.epoch_row;
    size_t left = t->examples.count - first;
    r->windows = nvdp__least(left, c->batch);
    const struct nvdp__stretch own = nvdp__rank_balanced(
        t->ctx, r->windows, length_of, &(struct step_windows){&t->examples, t->order + first});
    nvdp__batcher_fill(&t->batcher, &t->examples, t->order + first + own.first, 0, own.count, key);
    const struct nvdp__masked *targets = &t->batcher.masked;
    const struct nvdp__privacy_key draws = {
        .seed = c->seed, .step = (uint32_t)t->state.step, .first = own.first};
    if (nvdp__adaptive(t->config.objective)) {
        const double start = nvdp__now();
        NVDP_RETURN_IF_FAILED(
            nvdp__privatize(&t->privatizer, t->batcher.batch, targets, &draws, &targets));
        r->drawing = nvdp__now() - start;
    }
    r->masked = t->batcher.masked.count;
    r->tokens = t->batcher.batch->tokens;
    if (t->sum != NULL) {
        double masked = (double)r->masked;
        NVDP_RETURN_IF_FAILED(nvdp__rank_sum(t->ctx, 1, &masked));
        pass->part = (struct nvdp__part){.tokens = tokens_of(t, t->order + first, own.first),
                                         .all_texts = r->windows,
                                         .all_heads = (size_t)masked};
    }
    nvdp__grad_sum_begin(t->sum, true);
    if (own.count == 0) return no_gradient(t);
    NVDP_RETURN_IF_FAILED(
        nvdp__pretrain_model_step(&t->model, t->batcher.batch, targets, pass, &r->losses));
    const double share = (double)own.count / (double)r->windows;
    r->losses.next *= share;
    r->losses.next_accuracy *= share;
    return NVDP_OK;
}

/* The clipped sum over the windows that the step draws, some at a time, with noise. */
static nvdp_status private_gradient(struct nvdp__pretrainer *t, struct nvdp__pass *pass,
                                    const struct nvdp__mask_key *key,
                                    struct nvdp__pretrain_report *r) {
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__device *dev = &t->model.dev;
    struct nvdp__params *params = &t->model.params;
    size_t drawn;
    nvdp__grad_begin(dev, params);
    const struct nvdp__stretch own =
        nvdp__dp_start(t->dp, dev, params, t->state.step, t->order, &drawn);
    nvdp__grad_sum_begin(t->sum, false);
    pass->divisor = t->dp->divisor;
    pass->part.tokens = tokens_of(t, t->order, own.first);
    for (size_t at = 0; at < own.count && !r->left; at += c->batch) {
        struct nvdp__pretrain_losses losses;
        size_t n = nvdp__least(own.count - at, c->batch);
        nvdp__batcher_fill(&t->batcher, &t->examples, t->order + own.first + at, 0, n, key);
        nvdp__dp_begin(t->dp, dev, n);
        nvdp_status status = nvdp__pretrain_model_step(&t->model, t->batcher.batch,
                                                       &t->batcher.masked, pass, &losses);
        if (status == NVDP_OK) status = nvdp__dp_clip(t->dp, dev, NULL, NULL, at == 0);
        dev->per_example = NULL;
        NVDP_RETURN_IF_FAILED(status);
        r->losses.nll += nvdp__dp_loss(losses.nll);
        r->losses.right += losses.right;
        r->losses.next += nvdp__dp_loss(losses.next * (double)n / (double)drawn);
        r->losses.next_accuracy += losses.next_accuracy * (double)n / (double)drawn;
        r->masked += t->batcher.masked.count;
        r->tokens += t->batcher.batch->tokens;
        pass->part.tokens += t->batcher.batch->tokens;
        r->left = at + n < own.count && nvdp_context_cancelled(t->ctx);
    }
    r->left_out = t->dp->left_out;
    nvdp__dp_noise(t->dp, dev, params, t->state.step);
    return nvdp__device_status(dev);
}

/* All processes' gradients and losses together. */
static nvdp_status add_up(struct nvdp__pretrainer *t, struct nvdp__pretrain_report *r) {
    struct nvdp__pretrain_losses *l = &r->losses;
    double part[] = {l->nll,           l->right,           l->next,
                     l->next_accuracy, (double)r->masked,  (double)r->tokens,
                     (double)r->left,  (double)r->left_out};
    if (t->sum == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__grad_sum_finish(t->sum, &t->model.dev));
    NVDP_RETURN_IF_FAILED(nvdp__rank_sum(t->ctx, sizeof part / sizeof *part, part));
    *l = (struct nvdp__pretrain_losses){
        .nll = part[0], .right = part[1], .next = part[2], .next_accuracy = part[3]};
    r->masked = (size_t)part[4];
    r->tokens = (size_t)part[5];
    r->left = part[6] > 0;
    r->left_out = (size_t)part[7];
    return NVDP_OK;
}

nvdp_status nvdp__pretrainer_step(struct nvdp__pretrainer *t, struct nvdp__pretrain_report *r) {
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__pass pass = {.training = true,
                              .hidden_dropout = (float)c->dropout,
                              .attention_dropout = (float)c->dropout,
                              .seed = nvdp__dp_seed(t->dp, c->seed),
                              .step = (uint32_t)t->state.step};
    const struct nvdp__mask_key key = {.seed = nvdp__dp_seed(t->dp, c->seed),
                                       .purpose = NVDP__PURPOSE_MASK,
                                       .number = (uint32_t)t->state.step};
    double factor = nvdp__lr_factor(t->state.step, c->steps, c->warmup);
    *r = (struct nvdp__pretrain_report){.lr = c->lr * factor, .norm = NAN};
    NVDP_RETURN_IF_FAILED(t->dp != NULL ? private_gradient(t, &pass, &key, r)
                                        : gradient(t, &pass, &key, r));
    NVDP_RETURN_IF_FAILED(add_up(t, r));
    if (r->left) return nvdp__fail(t->ctx, NVDP_ERR_CANCELLED, "interrupted within a step");
    r->total = r->losses.nll / fmax((double)r->masked, 1) + r->losses.next;
    if (!isfinite(r->total)) return diverged(t, r);
    nvdp_status status =
        nvdp__optimizer_step(&t->optimizer, &t->model.dev, &t->model.params, factor, &r->norm);
    return status == NVDP_ERR_NUMERIC ? diverged(t, r) : status;
}
