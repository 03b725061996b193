/* The parts of a step that are specific to training (job/job.h): the gradient of a batch, the
 * gradients of private examples, losses and the log. The table at the end lists them in the
 * order of their calls. */
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
static size_t heads_of(const struct nvdp_dataset *dataset, const int64_t *row, size_t n) {
    size_t heads = 0;
    if (dataset->tag == NULL) return n;
    for (size_t i = 0; i < n; i++)
        for (size_t k = dataset->offset[row[i]]; k < dataset->offset[row[i] + 1]; k++)
            heads += dataset->tag[k] != NVDP_TAG_NONE;
    return heads;
}

static size_t tokens_of(const void *run, int64_t row) {
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
                                      .heads = heads_of(t->train, rows, own.first),
                                      .all_texts = n,
                                      .all_heads = heads_of(t->train, rows, n)};
    nvdp__batch_fill(t->batch, t->train, rows + own.first, 0, own.count);
}

/* Computes the gradient for t->batch. */
static nvdp_status gradient(struct nvdp__trainer *t, const struct nvdp__pass *pass,
                            struct nvdp__step_losses *losses) {
    const float dropout = (float)t->config.classifier_dropout;
    const struct nvdp__draw draw = {.noise = {.seed = pass->seed},
                                    .gauss = NVDP__PURPOSE_GAUSS,
                                    .gamma = NVDP__PURPOSE_GAMMA,
                                    /* private training may draw a text several times in an epoch */
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
    for (size_t i = 0; i < part->all_texts; i++) /* of all processes */
        nvdp__grad_rows(params, tokens_of(t, rows[i]), t->train->ids + t->train->offset[rows[i]]);
    nvdp__grad_sum_begin(t->job.sum, true);
    if (t->batch->texts == 0) { /* the last batch may have fewer texts than processes */
        nvdp__zero(&t->model->dev, params->total, params->grad);
        return NVDP_OK;
    }
    NVDP_TRY(gradient(t, pass, &t->losses));
    if (nvdp__model_replaced(t->model) > 0) t->losses.task = NAN; /* unlike a release, stop */
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
    pass->part.heads = heads_of(t->train, t->job.order, before);
    t->part.all_heads = heads_of(t->train, t->job.order, drawn);
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
    .tokens = tokens_of,
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
