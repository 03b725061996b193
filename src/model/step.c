/* Planning, forward, backward of a whole model. */
#include "model/prefix.h"

#include <stdlib.h>

enum { SITE_CLASSIFIER = 1 << 20 }; /* dropout site above the encoder's */

/* Carves everything from the arena (or measures it). */
static nvdp_status carve(struct nvdp_model *model, struct nvdp__arena *arena) {
    const struct nvdp_model_info *info = &model->info;
    size_t width = model->bottleneck.mechanism->width(model->bottleneck.self);
    nvdp__bert_plan(&model->bert, &model->dev, model->max_tokens, model->max_texts, model->longest,
                    arena, &model->cache);
    NVDP_RETURN_IF_FAILED(model->bottleneck.mechanism->plan(
        model->bottleneck.self, &model->dev, model->max_tokens, model->max_texts, model->longest,
        model->training, arena));
    model->head_input = nvdp__arena_take(arena, model->max_texts * width);
    model->logits = nvdp__arena_take(arena, model->max_texts * info->outputs);
    if (model->training) {
        model->d_logits = nvdp__arena_take(arena, model->max_texts * info->outputs);
        model->d_pooled = nvdp__arena_take(arena, model->max_texts * width);
        size_t rows = nvdp__operand_rows(&model->dev, model->max_tokens);
        model->d_hidden = nvdp__arena_take(arena, rows * info->bert.hidden_size);
    }
    return NVDP_OK;
}

static nvdp_status measure(struct nvdp_model *model, size_t texts, size_t longest, bool training,
                           struct nvdp__arena *arena) {
    nvdp__bert_cache_release(&model->cache);
    NVDP_RETURN_IF_FAILED(
        nvdp__bert_cache_create(model->ctx, &model->bert, training, false, &model->cache));
    model->cache.frozen = model->frozen_layers;
    model->training = training;
    model->max_texts = texts;
    model->longest = longest;
    model->max_tokens = texts * longest;
    return carve(model, arena);
}

nvdp_status nvdp__model_plan_size(struct nvdp_model *model, size_t texts, size_t longest,
                                  bool training, size_t *floats) {
    struct nvdp__arena arena = {0};
    NVDP_RETURN_IF_FAILED(measure(model, texts, longest, training, &arena));
    model->max_texts = 0; /* measured, not planned */
    *floats = arena.used;
    return NVDP_OK;
}

static nvdp_status allocate_losses(struct nvdp_model *model, size_t texts) {
    free(model->loss_g);
    model->loss_g = nvdp__calloc(model->ctx, 2 * texts, sizeof *model->loss_g);
    if (model->loss_g == NULL) return NVDP_ERR_MEMORY;
    model->loss_d = model->loss_g + texts;
    return NVDP_OK;
}

nvdp_status nvdp__model_plan(struct nvdp_model *model, size_t texts, size_t longest,
                             bool training) {
    struct nvdp__arena arena = {0};
    NVDP_RETURN_IF_FAILED(measure(model, texts, longest, training, &arena));
    nvdp__arena_release(&model->arena);
    model->max_texts = 0;
    nvdp__weights_changed(&model->dev); /* a plan follows loading, initialising, writing weights */
    NVDP_RETURN_IF_FAILED(allocate_losses(model, texts));
    NVDP_RETURN_IF_FAILED(nvdp__arena_allocate(model->ctx, &arena));
    model->arena = arena;
    model->max_texts = texts;
    return carve(model, &model->arena);
}

size_t nvdp__model_first_layer(const struct nvdp_model *model) {
    return model->prefix != NULL ? model->prefix->layers : 0;
}

static struct nvdp__dropout head_dropout(const struct nvdp__pass *pass, float rate) {
    return (struct nvdp__dropout){.rate = pass->training ? rate : 0,
                                  .seed = pass->seed,
                                  .step = pass->step,
                                  .site = SITE_CLASSIFIER};
}

static nvdp_status check_batch(const struct nvdp_model *model, const struct nvdp__batch *batch) {
    if (batch->texts <= model->max_texts && batch->longest <= model->longest) return NVDP_OK;
    return nvdp__fail(model->ctx, NVDP_ERR_STATE,
                      "a batch of %zu texts of up to %zu tokens exceeds the plan of %zu by %zu",
                      batch->texts, batch->longest, model->max_texts, model->longest);
}

nvdp_status nvdp__model_infer(struct nvdp_model *model, const struct nvdp__batch *batch) {
    const struct nvdp__pass pass = {0};
    NVDP_RETURN_IF_FAILED(check_batch(model, batch));
    nvdp__bert_forward(&model->bert, &model->dev, &model->params, batch, &pass, &model->cache);
    NVDP_RETURN_IF_FAILED(model->bottleneck.mechanism->infer(
        model->bottleneck.self, &model->dev, &model->params, batch,
        model->cache.hidden[model->info.bert.num_hidden_layers]));
    return nvdp__device_status(&model->dev);
}

nvdp_status nvdp__model_forward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                const struct nvdp__pass *pass, const struct nvdp__draw *draw,
                                float classifier_dropout) {
    const struct nvdp__mechanism *mechanism = model->bottleneck.mechanism;
    size_t width = mechanism->width(model->bottleneck.self);
    float *pooled = NULL;
    NVDP_RETURN_IF_FAILED(check_batch(model, batch));
    if (pass->first_layer > 0) NVDP_RETURN_IF_FAILED(nvdp__prefix_fill(model->prefix, batch));
    nvdp__bert_forward(&model->bert, &model->dev, &model->params, batch, pass, &model->cache);
    float *hidden = model->cache.hidden[model->info.bert.num_hidden_layers];
    NVDP_RETURN_IF_FAILED(mechanism->forward(model->bottleneck.self, &model->dev, &model->params,
                                             batch, draw, hidden, &pooled));
    nvdp__copy(&model->dev, batch->texts * width, pooled, model->head_input);
    struct nvdp__dropout drop = head_dropout(pass, classifier_dropout);
    nvdp__dropout_apply(&model->dev, &drop, batch->texts * width, model->head_input);
    nvdp__linear_forward(&model->dev, batch->texts, width, model->info.outputs, model->head_input,
                         nvdp__value(&model->params, model->classifier.weight),
                         nvdp__value(&model->params, model->classifier.bias), model->logits);
    return nvdp__device_status(&model->dev);
}

static double task_loss(struct nvdp_model *model, const struct nvdp__batch *batch) {
    if (model->info.task.regression) {
        return nvdp__mean_squared(&model->dev, batch->texts, model->logits, batch->label, 1.0,
                                  model->d_logits);
    }
    return nvdp__cross_entropy(&model->dev, batch->texts, model->info.outputs, model->logits,
                               batch->label, 1.0, model->d_logits);
}

static void mean_losses(struct nvdp_model *model, size_t texts, struct nvdp__step_losses *losses) {
    losses->loss_g = 0;
    losses->loss_d = 0;
    if (!model->bottleneck.mechanism->private_) return;
    model->bottleneck.mechanism->losses(model->bottleneck.self, &model->dev, model->loss_g,
                                        model->loss_d);
    for (size_t i = 0; i < texts; i++) {
        losses->loss_g += model->loss_g[i] / (double)texts;
        losses->loss_d += model->loss_d[i] / (double)texts;
    }
}

nvdp_status nvdp__model_backward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                 const struct nvdp__pass *pass, double weight_g, double weight_d,
                                 float classifier_dropout, struct nvdp__step_losses *losses) {
    const struct nvdp__mechanism *mechanism = model->bottleneck.mechanism;
    size_t width = mechanism->width(model->bottleneck.self);
    losses->task = task_loss(model, batch);
    mean_losses(model, batch->texts, losses);
    nvdp__linear_backward(&model->dev, batch->texts, width, model->info.outputs, model->head_input,
                          nvdp__value(&model->params, model->classifier.weight), model->d_logits,
                          model->d_pooled, false,
                          nvdp__grad(&model->params, model->classifier.weight),
                          nvdp__grad(&model->params, model->classifier.bias));
    struct nvdp__dropout drop = head_dropout(pass, classifier_dropout);
    nvdp__dropout_apply(&model->dev, &drop, batch->texts * width, model->d_pooled);
    float *hidden = model->cache.hidden[model->info.bert.num_hidden_layers];
    double texts = (double)batch->texts;
    mechanism->backward(model->bottleneck.self, &model->dev, &model->params, batch, hidden,
                        weight_g / texts, weight_d / texts, model->d_pooled, model->d_hidden);
    nvdp__bert_backward(&model->bert, &model->dev, &model->params, batch, pass, &model->cache,
                        model->d_hidden);
    return nvdp__device_status(&model->dev);
}

void nvdp__model_logits(const struct nvdp_model *model, size_t texts, float *out) {
    nvdp__download(&model->dev, texts * model->info.outputs, model->logits, out);
}

struct nvdp__draw nvdp__draw_evaluation(uint64_t seed, uint32_t draw) {
    return (struct nvdp__draw){.noise = {.seed = seed},
                               .gauss = NVDP__PURPOSE_EVAL_GAUSS,
                               .gamma = NVDP__PURPOSE_EVAL_GAMMA,
                               .epoch = draw};
}
