/* One step: a batch, its gradient, of one text after the other where it is private, the optimiser's step. */
#include "base/ranks.h"
#include "model/model.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>

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
    size_t n = nvdp__least(left, t->config.batch);
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
    if (nvdp__model_replaced(t->model) > 0) r->losses.task = NAN; /* a release would go on */
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
    size_t drawn, all_heads = 0;
    const struct nvdp__stretch own =
        nvdp__dp_start(t->dp, &model->dev, &model->params, t->state.step, t->order, &drawn);
    const double *weight = model->class_weight == NULL ? t->class_weight : NULL; /* else losses */
    struct nvdp__step_losses sum = {0};
    for (size_t i = 0; i < drawn; i++)
        all_heads += heads_of(t->train, (size_t)t->order[i]);
    pass_over(t->train, t->order, own.first, &pass->part);
    nvdp__grad_sum_begin(t->sum, false);
    pass->divisor = t->dp->divisor;
    draw->epoch = (uint32_t)t->state.step; /* a text may be drawn often in an epoch */
    for (size_t at = 0; at < own.count && !r->left; at += t->config.batch) {
        size_t n = nvdp__least(own.count - at, t->config.batch);
        double share = (double)n / (double)drawn;
        nvdp__batch_fill(t->batch, t->train, t->order + own.first + at, 0, n);
        nvdp__dp_begin(t->dp, &model->dev, n);
        nvdp_status status = gradient(t, pass, draw, r);
        if (status == NVDP_OK)
            status = nvdp__dp_clip(t->dp, &model->dev, t->batch->label, weight, at == 0);
        model->dev.per_example = NULL;
        NVDP_RETURN_IF_FAILED(status);
        const size_t heads = nvdp__model_heads(model, t->batch);
        pass->part.tokens += t->batch->tokens;
        pass->part.heads += heads;
        if (heads > 0)
            sum.task += nvdp__dp_loss((double)heads / (double)all_heads * r->losses.task);
        sum.loss_g += nvdp__dp_loss(share * r->losses.loss_g);
        sum.loss_d += nvdp__dp_loss(share * r->losses.loss_d);
        r->left = at + n < own.count && nvdp_context_cancelled(t->ctx);
    }
    r->losses = sum;
    r->left_out = t->dp->left_out;
    nvdp__dp_noise(t->dp, &model->dev, &model->params, t->state.step);
    return nvdp__device_status(&model->dev);
}

/* All processes' gradients and losses together. */
static nvdp_status add_up(struct nvdp__trainer *t, struct nvdp__step_report *r) {
    double part[] = {r->losses.task,    r->losses.loss_g, r->losses.loss_d,
                     (double)r->tokens, (double)r->left,  (double)r->left_out};
    if (t->sum == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__grad_sum_finish(t->sum, &t->model->dev));
    NVDP_RETURN_IF_FAILED(nvdp__rank_sum(t->ctx, sizeof part / sizeof *part, part));
    r->losses = (struct nvdp__step_losses){part[0], part[1], part[2]};
    r->tokens = (size_t)part[3];
    r->left = part[4] > 0;
    r->left_out = (size_t)part[5];
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
    r->tokens = r->left_out = 0;
    r->left = false;
    nvdp__grad_begin(&model->dev, &model->params);
    NVDP_RETURN_IF_FAILED(t->dp != NULL ? private_gradient(t, &pass, &draw, r)
                                        : batch_gradient(t, &pass, &draw, r));
    NVDP_RETURN_IF_FAILED(add_up(t, r));
    if (r->left) return nvdp__fail(t->ctx, NVDP_ERR_CANCELLED, "interrupted within a step");
    r->total = r->losses.task + r->weight * (t->config.lambda_g * r->losses.loss_g +
                                             t->config.lambda_d * r->losses.loss_d);
    if (!isfinite(r->total)) return diverged(t, r);
    double factor = nvdp__lr_factor(t->state.step, t->steps, t->config.adamw.warmup);
    nvdp_status status =
        nvdp__optimizer_step(&t->optimizer, &model->dev, &model->params, factor, &r->norm);
    if (status == NVDP_ERR_NUMERIC) return diverged(t, r);
    return status;
}
