/* The model: builds, initializes and plans it, runs the forward and backward passes for training, and computes
 * outputs and posteriors of a data set for evaluation. Each part uses the parts above it. */
#include "model/model.h"
#include "encoder/encoder.h"
#include "mechanism/mechanism.h"

#include "base/base.h"
#include "base/own.h"
#include "base/random.h"
#include "base/ranks.h"
#include "encoder/row.h"
#include "tensor/per_example.h"
#include "text/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE_ROWS = 4096, SAMPLE_TEXTS = 32 };
enum { SITE_CLASSIFIER = 1 << 20 }; /* dropout site above the encoder's sites */

static struct nvdp__view model_view(const struct nvdp_model *model) {
    return model->bottleneck.mechanism->view(model->bottleneck.self);
}

/* ---- building ---- */

/* Returns true if the model encodes texts. A model without layers reads states from batch->words instead. */
static bool encodes(const struct nvdp_model *model) {
    return model->info.bert.num_hidden_layers > 0;
}

static nvdp_status check_tags(struct nvdp_context *ctx, const struct nvdp__model_info *info) {
    if (!info->task.tags) return NVDP_OK;
    if (nvdp_method_is_private(info->method))
        return nvdp__blame_value(
            ctx, "method",
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                       "method: task %s labels every word and needs method base or reg, found %s",
                       info->task.name, nvdp_method_name(info->method)));
    if (!nvdp__encoder_row(info->bert.model_type)->word_states)
        return nvdp__blame_value(
            ctx, "encoder",
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                       "encoder: task %s labels every word and needs encoder bert, found %s",
                       info->task.name, nvdp__model_type_name(info->bert.model_type)));
    return NVDP_OK;
}

nvdp_status nvdp__model_build(struct nvdp_context *ctx, const struct nvdp__model_info *info,
                              bool with_grad, struct nvdp_model **out) {
    const struct nvdp__method *method = nvdp__method_row(info->method);
    if (method == NULL) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method: expected a number from 0 to %d, found %d",
                          (int)nvdp__method_count() - 1, (int)info->method);
    }
    if (with_grad && nvdp__context_precision(ctx) == NVDP_PRECISION_INT8)
        return nvdp__blame_value(
            ctx, "precision",
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                       "precision: expected f32 or bf16 for training, found int8, which works "
                       "for encoding and scoring only"));
    const struct nvdp__encoder_row *row = nvdp__encoder_row(info->bert.model_type);
    const struct nvdp__mechanism *mechanism = method->mechanism;
    const bool pooler = !mechanism->private_ && !info->task.tags;
    if (mechanism->private_ && !row->bottleneck)
        return nvdp__blame_value(ctx, "method",
                                 nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                            "method: expected base or reg with %s, found %s",
                                            row->title, nvdp_method_name(info->method)));
    NVDP_TRY(check_tags(ctx, info));
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    NVDP_TRY(NVDP__NEW(ctx, model, 1));
    model->ctx = ctx;
    model->info = *info;
    nvdp__params_init(&model->params, ctx);
    NVDP_TRY(nvdp__bert_device(ctx, &info->bert, &model->dev));
    model->bert = (struct nvdp__bert){.row = row, .config = info->bert};
    if (encodes(model))
        NVDP_TRY(nvdp__bert_declare(&model->bert, &model->info.bert, pooler, &model->params));
    model->above = model->params.count;
    NVDP_TRY(mechanism->create(mechanism, ctx, &model->bert, &model->info.nvib, &model->params,
                               &model->bottleneck.self));
    model->bottleneck.mechanism = mechanism;
    /* A bottleneck and a tagging task have a head of one layer; the name of a head above a pooler depends on the
     * model type. */
    const char *name = pooler ? nvdp__names(info->bert.model_type)->classifier : "classifier";
    NVDP_TRY(nvdp__declare_dense(&model->params, name, info->outputs, model_view(model).width,
                                 NVDP__PARAM_OPTIONAL, &model->classifier));
    NVDP_TRY(nvdp__params_allocate(&model->params, with_grad));
    model->info.parameters = nvdp__params_trainable(&model->params);
    return NVDP__HAND_OVER(out, model);
}

nvdp_status nvdp__model_freeze(struct nvdp_model *model, size_t layers) {
    size_t all = model->info.bert.num_hidden_layers;
    const struct nvdp__encoder_row *row = model->bert.row;
    if (row->tensors_below == NULL)
        return nvdp__fail(model->ctx, NVDP_ERR_ARGUMENT,
                          "{freeze-layers}: expected 0 with %s, found %zu", row->title, layers);
    if (layers < 1 || layers > all)
        return nvdp__fail(
            model->ctx, NVDP_ERR_ARGUMENT,
            "{freeze-layers}: expected 1 to %zu, the number of layers of the model, found %zu", all,
            layers);
    nvdp__bert_freeze(&model->bert, layers, &model->params);
    model->frozen_layers = layers;
    model->info.parameters = nvdp__params_trainable(&model->params);
    return NVDP_OK;
}

void nvdp__model_freeze_words(struct nvdp_model *model) {
    model->params.entry[model->bert.word].flags |= (unsigned)NVDP__PARAM_FROZEN;
    model->info.parameters = nvdp__params_trainable(&model->params);
}

void nvdp_model_free(struct nvdp_model *model) {
    if (model == NULL) return;
    if (model->bottleneck.mechanism != NULL)
        model->bottleneck.mechanism->release(model->bottleneck.self);
    nvdp__bert_cache_release(&model->cache);
    nvdp__bert_release(&model->bert);
    nvdp__params_release(&model->params);
    nvdp__arena_release(&model->arena);
    nvdp__device_release(&model->dev);
    nvdp_tokenizer_free(model->tokenizer);
    nvdp__memory_release(&model->losses);
    free(model->owned_text);
    free(model->owned_labels);
    free(model);
}

void nvdp__model_initialise(struct nvdp_model *model, uint64_t seed) {
    model->bert.row->initialize(&model->bert, &model->dev, &model->params, seed);
    nvdp__model_initialise_classifier(model, seed);
}

void nvdp__model_initialise_head(struct nvdp_model *model, uint64_t seed) {
    if (encodes(model) && model->bert.row->initialize_new != NULL)
        model->bert.row->initialize_new(&model->bert, &model->dev, &model->params, seed);
    nvdp__model_initialise_classifier(model, seed);
}

void nvdp__model_initialise_classifier(struct nvdp_model *model, uint64_t seed) {
    nvdp__dense_initialize(&model->dev, &model->params, &model->classifier,
                           model->info.bert.initializer_range, seed);
}

/* Initializes the bottleneck from the encoder's outputs on the first texts in the order of epoch 0. */
static nvdp_status initialise_from_texts(struct nvdp_model *model,
                                         const struct nvdp_dataset *dataset, uint64_t seed) {
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    nvdp__auto(nvdp__arena_release) struct nvdp__arena arena = {0};
    nvdp__autofree int64_t *order = NULL;
    NVDP_TRY(NVDP__NEW(model->ctx, order, dataset->count));
    nvdp__epoch_order(seed, 0, dataset->count, order);
    size_t texts = nvdp__min(SAMPLE_TEXTS, dataset->count);
    size_t capacity = nvdp__max(SAMPLE_ROWS, texts * dataset->longest);
    const size_t width = model->info.bert.hidden_size;
    const struct nvdp__pass pass = {0};
    size_t rows = 0;
    if (model->max_texts < texts || model->longest < dataset->longest)
        return nvdp__fail(model->ctx, NVDP_ERR_STATE,
                          "the model has no memory plan for %zu texts of %zu tokens", texts,
                          dataset->longest);
    NVDP_TRY(nvdp__batch_create(model->ctx, texts, dataset->longest, &batch));
    nvdp__arena_take(&arena, capacity * width);
    NVDP_TRY(nvdp__arena_allocate(model->ctx, &arena));
    float *hidden = nvdp__arena_take(&arena, capacity * width);
    for (size_t first = 0; first < dataset->count; first += SAMPLE_TEXTS) {
        size_t n = nvdp__min(dataset->count - first, SAMPLE_TEXTS);
        nvdp__batch_fill(batch, dataset, order + first, 0, n);
        if (rows + batch->tokens > capacity) break;
        nvdp__bert_forward(&model->bert, &model->dev, &model->params, batch, &pass, &model->cache);
        nvdp__copy(&model->dev, batch->tokens * width,
                   model->cache.hidden[model->info.bert.num_hidden_layers], hidden + rows * width);
        rows += batch->tokens;
    }
    NVDP_TRY(nvdp__device_status(&model->dev));
    return model->bottleneck.mechanism->initialize(model->bottleneck.self, &model->dev,
                                                   &model->params, seed, rows, hidden);
}

nvdp_status nvdp__model_initialise_bottleneck(struct nvdp_model *model,
                                              const struct nvdp_dataset *dataset, uint64_t seed) {
    const struct nvdp__mechanism *mechanism = model->bottleneck.mechanism;
    void *self = model->bottleneck.self;
    if (dataset != NULL && mechanism->wants_hidden != NULL && mechanism->wants_hidden(self))
        return initialise_from_texts(model, dataset, seed);
    if (mechanism->initialize == NULL) return NVDP_OK;
    return mechanism->initialize(self, &model->dev, &model->params, seed, 0, NULL);
}

nvdp_status nvdp_model_info(struct nvdp_context *ctx, const struct nvdp_model *model,
                            struct nvdp_model_info *out) {
    const struct nvdp__model_info *info = &model->info;
    struct nvdp_model_info made = {.method = info->method,
                                   .task = info->task.name,
                                   .outputs = info->outputs,
                                   .labels = info->task.labels,
                                   .max_length = info->max_length,
                                   .hidden_size = info->bert.hidden_size,
                                   .parameters = info->parameters};
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (nvdp_method_is_private(info->method)) {
        made.latent_dim = info->nvib.latent_dim;
        made.kappa = (size_t)info->nvib.kappa;
        made.length = nvdp__model_form(model).length;
    }
    memcpy(made.fingerprint, info->fingerprint, sizeof made.fingerprint);
    return NVDP__GIVE(out, &made);
}

const struct nvdp_tokenizer *nvdp_model_tokenizer(const struct nvdp_model *model) {
    return model->tokenizer;
}

/* ---- plan, forward, backward ---- */

/* Takes all buffers from the arena, or measures their size. */
static nvdp_status carve(struct nvdp_model *model, struct nvdp__arena *arena) {
    const struct nvdp__model_info *info = &model->info;
    size_t width = model_view(model).width;
    if (encodes(model))
        nvdp__bert_plan(&model->bert, &model->dev, model->max_tokens, model->max_texts,
                        model->longest, arena, &model->cache);
    NVDP_TRY(model->bottleneck.mechanism->plan(model->bottleneck.self, &model->dev,
                                               model->max_tokens, model->max_texts, model->longest,
                                               model->training, arena));
    size_t heads = info->task.tags ? model->max_tokens : model->max_texts;
    NVDP__TAKE(arena, {&model->head_input, heads * width}, {&model->logits, heads * info->outputs});
    if (model->training)
        NVDP__TAKE(arena, {&model->d_logits, heads * info->outputs},
                   {&model->d_pooled, heads * width},
                   {&model->d_hidden,
                    nvdp__padded_rows(&model->dev, model->max_tokens) * info->bert.hidden_size});
    return NVDP_OK;
}

static nvdp_status measure(struct nvdp_model *model, size_t texts, size_t longest, bool training,
                           struct nvdp__arena *arena) {
    nvdp__bert_cache_release(&model->cache);
    NVDP_TRY(nvdp__bert_cache_create(
        model->ctx, &model->bert, training ? NVDP__KEEP_TRAINING : NVDP__KEEP_LAST, &model->cache));
    NVDP_TRY(nvdp__bert_lanes(&model->bert, &model->dev, &model->cache));
    model->cache.frozen = model->frozen_layers;
    model->cache.per_example = model->per_example;
    model->training = training;
    model->max_texts = texts;
    model->longest = longest;
    model->max_tokens = texts * longest;
    return carve(model, arena);
}

nvdp_status nvdp__model_plan_size(struct nvdp_model *model, size_t texts, size_t longest,
                                  bool training, size_t *floats) {
    struct nvdp__arena arena = {0};
    NVDP_TRY(measure(model, texts, longest, training, &arena));
    model->max_texts = 0; /* measured, not planned */
    *floats = nvdp__arena_floats(&arena);
    return NVDP_OK;
}

nvdp_status nvdp__model_plan(struct nvdp_model *model, size_t texts, size_t longest,
                             bool training) {
    struct nvdp__arena arena = {0};
    NVDP_TRY(measure(model, texts, longest, training, &arena));
    nvdp__arena_release(&model->arena);
    model->max_texts = 0;
    nvdp__weights_changed(&model->dev); /* weights may have been loaded, initialized or written */
    nvdp__memory_release(&model->losses);
    NVDP_TRY(NVDP__ARRAYS(model->ctx, &model->losses, NVDP__ITEMS(model->loss_g, texts),
                          NVDP__ITEMS(model->loss_d, texts)));
    if (model->noise != NULL)
        NVDP_TRY(nvdp__token_noise_plan(model->noise, &model->dev, model->max_tokens, texts,
                                        model->info.bert.hidden_size));
    NVDP_TRY(nvdp__arena_allocate(model->ctx, &arena));
    model->arena = arena;
    model->max_texts = texts;
    NVDP_TRY(carve(model, &model->arena));
    return nvdp__arena_check(model->ctx, &model->arena);
}

nvdp_status nvdp__model_per_example(struct nvdp_model *model, size_t texts,
                                    struct nvdp__per_example **out) {
    const struct nvdp__mechanism *mechanism = model->bottleneck.mechanism;
    struct nvdp__device dev = model->dev;
    size_t longest = model->longest;
    if (!model->bert.row->bf16) dev.bf16 = NULL; /* products of this encoder are in float32 */
    if (mechanism->private_) {
        struct nvdp__form form = nvdp__model_form(model);
        size_t rows = nvdp__form_rows(&form, form.single ? 1 : longest);
        if (rows > longest) longest = rows;
    }
    return nvdp__per_example_create(&dev, &model->params, texts, longest, 0, out);
}

size_t nvdp__model_first_layer(const struct nvdp_model *model) {
    return model->prefix != NULL ? model->prefix->layers : 0;
}

static struct nvdp__dropout head_dropout(const struct nvdp__pass *pass, float rate, size_t width) {
    return (struct nvdp__dropout){.rate = pass->training ? rate : 0,
                                  .seed = pass->seed,
                                  .step = pass->step,
                                  .site = SITE_CLASSIFIER,
                                  .first = pass->part.heads * width};
}

static nvdp_status check_batch(const struct nvdp_model *model, const struct nvdp__batch *batch) {
    if (batch->texts <= model->max_texts && batch->longest <= model->longest) return NVDP_OK;
    return nvdp__fail(model->ctx, NVDP_ERR_STATE,
                      "batch: %zu texts of up to %zu tokens exceed the planned maximum of %zu "
                      "texts of %zu tokens",
                      batch->texts, batch->longest, model->max_texts, model->longest);
}

size_t nvdp__model_heads(const struct nvdp_model *model, const struct nvdp__batch *batch) {
    return model->info.task.tags ? batch->tagged : batch->texts;
}

/* Returns the classifier as a linear layer, in float32 on every device. */
static struct nvdp__linear classifier_linear(const struct nvdp_model *model,
                                             const struct nvdp__batch *batch) {
    size_t rows = nvdp__model_heads(model, batch);
    struct nvdp__linear layer = nvdp__dense_linear(&model->params, &model->classifier, rows);
    layer.f32 = true;
    if (model->info.task.tags) layer.offset = batch->tag_offset;
    return layer;
}

static float *last_hidden(const struct nvdp_model *model) {
    return model->cache.hidden[model->info.bert.num_hidden_layers];
}

static struct nvdp__encoded encoded(const struct nvdp_model *model,
                                    const struct nvdp__batch *batch) {
    return (struct nvdp__encoded){&model->dev, &model->params, batch,
                                  encodes(model) ? last_hidden(model) : batch->words};
}

nvdp_status nvdp__model_infer(struct nvdp_model *model, const struct nvdp__batch *batch) {
    const struct nvdp__pass pass = {0};
    NVDP_TRY(check_batch(model, batch));
    if (encodes(model))
        nvdp__bert_forward(&model->bert, &model->dev, &model->params, batch, &pass, &model->cache);
    struct nvdp__encoded in = encoded(model, batch);
    NVDP_TRY(model->bottleneck.mechanism->infer(model->bottleneck.self, &in));
    return nvdp__device_status(&model->dev);
}

static nvdp_status encode(struct nvdp_model *model, const struct nvdp__batch *batch,
                          const struct nvdp__pass *pass) {
    struct nvdp__batch sent = *batch;
    NVDP_TRY(check_batch(model, batch));
    if (pass->first_layer > 0) NVDP_TRY(nvdp__prefix_fill(model->prefix, batch));
    if (model->noise != NULL)
        NVDP_TRY(nvdp__token_noise_words(model->noise, &model->dev,
                                         nvdp__value(&model->params, model->bert.word), batch,
                                         &sent.words));
    nvdp__bert_forward(&model->bert, &model->dev, &model->params, &sent, pass, &model->cache);
    if (model->noise != NULL)
        nvdp__token_noise_states(model->noise, &model->dev, batch, last_hidden(model));
    return NVDP_OK;
}

/* Computes the logits from the encoder's output, which stays unchanged. The classifier's input is a vector pooled from
 * a sample of each text, or for tagging tasks the state of each word's first token. */
static nvdp_status classify(struct nvdp_model *model, const struct nvdp__batch *batch,
                            const struct nvdp__pass *pass, const struct nvdp__draw *draw,
                            float classifier_dropout) {
    size_t width = model_view(model).width;
    size_t rows = nvdp__model_heads(model, batch);
    struct nvdp__encoded in = encoded(model, batch);
    if (model->info.task.tags) {
        nvdp__rows_gather(&model->dev, batch->tagged, width, batch->tag_row, in.hidden,
                          model->head_input);
    } else {
        float *pooled = NULL;
        NVDP_TRY(model->bottleneck.mechanism->forward(model->bottleneck.self, &in, draw, &pooled));
        nvdp__copy(&model->dev, batch->texts * width, pooled, model->head_input);
    }
    struct nvdp__dropout drop = head_dropout(pass, classifier_dropout, width);
    nvdp__dropout_apply(&model->dev, &drop, rows * width, model->head_input);
    struct nvdp__linear classifier = classifier_linear(model, batch);
    nvdp__dense_forward(&model->dev, &classifier, nvdp__f32(rows, width, model->head_input),
                        nvdp__f32(rows, model->info.outputs, model->logits));
    return nvdp__device_status(&model->dev);
}

nvdp_status nvdp__model_forward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                const struct nvdp__pass *pass, const struct nvdp__draw *draw,
                                float classifier_dropout) {
    NVDP_TRY(encode(model, batch, pass));
    return classify(model, batch, pass, draw, classifier_dropout);
}

/* Returns the mean loss over words. Sets the gradient of the mean times `scale`; if there is a divisor, sets the
 * gradient of the sum of the means per text, divided by the divisor. */
static double tags_loss(struct nvdp_model *model, const struct nvdp__batch *batch, double divisor,
                        double scale) {
    size_t outputs = model->info.outputs;
    if (divisor > 0) scale = (double)batch->tagged / divisor;
    double loss =
        nvdp__weighted_cross_entropy(&model->dev, batch->tagged, outputs, model->logits, batch->tag,
                                     model->class_weight, scale, model->d_logits);
    for (size_t i = 0; divisor > 0 && i < batch->texts; i++) {
        size_t first = (size_t)batch->tag_offset[i];
        size_t words = (size_t)batch->tag_offset[i + 1] - first;
        if (words == 0) continue;
        nvdp__scale(&model->dev, words * outputs, 1 / (float)words,
                    model->d_logits + first * outputs);
    }
    return loss;
}

/* Returns the mean loss. Sets the gradient of the sum of losses divided by pass->divisor; if this divisor is 0,
 * divided by the number of texts, or words, in the whole batch. */
static double task_loss(struct nvdp_model *model, const struct nvdp__batch *batch,
                        const struct nvdp__pass *pass) {
    double heads = (double)nvdp__model_heads(model, batch), all = (double)pass->part.all_heads;
    double scale = pass->divisor > 0 ? heads / pass->divisor : all > 0 ? heads / all : 1;
    if (model->info.task.tags) return tags_loss(model, batch, pass->divisor, scale);
    if (model->info.task.regression) {
        return nvdp__mean_squared(&model->dev, batch->texts, model->logits, batch->label, scale,
                                  model->d_logits);
    }
    return nvdp__weighted_cross_entropy(&model->dev, batch->texts, model->info.outputs,
                                        model->logits, batch->label, model->class_weight, scale,
                                        model->d_logits);
}

/* Propagates d_pooled to d_hidden, the gradient of the encoder's output, and adds the gradients of the regularizers. */
static void pool_backward(struct nvdp_model *model, const struct nvdp__batch *batch,
                          const struct nvdp__pass *pass, double weight_g, double weight_d,
                          struct nvdp__step_losses *losses) {
    const struct nvdp__mechanism *mechanism = model->bottleneck.mechanism;
    double texts = (double)batch->texts, all = (double)pass->part.all_texts;
    double divisor = pass->divisor > 0 ? pass->divisor : all > 0 ? all : texts;
    struct nvdp__encoded in = encoded(model, batch);
    struct nvdp__penalty penalty = {weight_g / divisor, weight_d / divisor, model->loss_g,
                                    model->loss_d};
    losses->loss_g = losses->loss_d = 0;
    if (model->info.task.tags) {
        size_t width = model->info.bert.hidden_size;
        nvdp__zero(&model->dev, batch->tokens * width, model->d_hidden);
        nvdp__rows_scatter_add(&model->dev, batch->tagged, width, batch->tag_row, model->d_pooled,
                               model->d_hidden);
        return;
    }
    mechanism->backward(model->bottleneck.self, &in, &penalty, model->d_pooled, model->d_hidden);
    for (size_t i = 0; i < batch->texts; i++) {
        losses->loss_g += model->loss_g[i] / texts;
        losses->loss_d += model->loss_d[i] / texts;
    }
}

nvdp_status nvdp__model_backward(struct nvdp_model *model, const struct nvdp__batch *batch,
                                 const struct nvdp__pass *pass, double weight_g, double weight_d,
                                 float classifier_dropout, struct nvdp__step_losses *losses) {
    size_t width = model_view(model).width;
    size_t rows = nvdp__model_heads(model, batch);
    losses->task = task_loss(model, batch, pass);
    struct nvdp__linear classifier = classifier_linear(model, batch);
    nvdp__dense_backward(&model->dev, &classifier, nvdp__f32(rows, width, model->head_input),
                         nvdp__f32(rows, model->info.outputs, model->d_logits),
                         nvdp__f32(rows, width, model->d_pooled), false);
    struct nvdp__dropout drop = head_dropout(pass, classifier_dropout, width);
    nvdp__dropout_apply(&model->dev, &drop, rows * width, model->d_pooled);
    pool_backward(model, batch, pass, weight_g, weight_d, losses);
    nvdp__bert_backward(&model->bert, &model->dev, &model->params, batch, pass, &model->cache,
                        model->d_hidden);
    return nvdp__device_status(&model->dev);
}

void nvdp__model_logits(const struct nvdp_model *model, size_t rows, float *out) {
    nvdp__download(&model->dev, rows * model->info.outputs, model->logits, out);
}

struct nvdp__draw nvdp__draw_evaluation(uint64_t seed, uint32_t draw) {
    return (struct nvdp__draw){.noise = {.seed = seed},
                               .gauss = NVDP__PURPOSE_EVAL_GAUSS,
                               .gamma = NVDP__PURPOSE_EVAL_GAMMA,
                               .epoch = draw};
}

/* ---- a data set, batch by batch ---- */

/* Called for each batch: texts [first, first + batch->texts). */
typedef nvdp_status (*batch_fn)(struct nvdp_model *model, const struct nvdp__batch *batch,
                                size_t first, void *user);

static nvdp_status for_each_batch(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                  size_t batch_size, const char *phase, batch_fn visit,
                                  void *user) {
    nvdp__autoptr(nvdp__batch_free) struct nvdp__batch *batch = NULL;
    struct nvdp__meter meter;
    double tokens = 0;
    if (model->max_texts < batch_size || model->longest < dataset->longest) {
        NVDP_TRY(nvdp__model_plan(model, batch_size, dataset->longest, model->training));
    }
    NVDP_TRY(nvdp__batch_create(model->ctx, batch_size, dataset->longest, &batch));
    nvdp__meter_begin(&meter, model->ctx, phase, "text", 0, dataset->count);
    for (size_t first = 0; first < dataset->count; first += batch_size) {
        size_t n = nvdp__min(dataset->count - first, batch_size);
        NVDP_TRY(nvdp__check_cancelled(model->ctx, "interrupted"));
        nvdp__batch_fill(batch, dataset, NULL, first, n);
        NVDP_TRY(visit(model, batch, first, user));
        tokens += (double)batch->tokens;
        nvdp__meter_update(&meter, first + n, tokens, "tok", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

static nvdp_status first_states(struct nvdp_model *model, const struct nvdp__batch *batch,
                                size_t first, void *user) {
    const size_t dim = model->info.bert.hidden_size;
    const struct nvdp__pass pass = {0};
    NVDP_TRY(check_batch(model, batch));
    nvdp__bert_forward(&model->bert, &model->dev, &model->params, batch, &pass, &model->cache);
    nvdp__rows_widen(&model->dev, batch->texts, dim, batch->offset, last_hidden(model),
                     (double *)user + first * dim);
    return nvdp__device_status(&model->dev);
}

nvdp_status nvdp__model_first_states(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                     size_t batch, double *out) {
    return for_each_batch(model, dataset, batch, "encode", first_states, out);
}

struct predictions {
    uint64_t seed;
    uint32_t first_draw;
    size_t draws, rows, at;
    float *outputs; /* [draws, rows, outputs]; the next outputs are written from `at` on */
    size_t batches; /* number of batches so far; the batches are divided among the processes */
};

/* Computes outputs. Runs the encoder once per batch, for all draws. */
static nvdp_status predict(struct nvdp_model *model, const struct nvdp__batch *batch, size_t first,
                           void *user) {
    struct predictions *to = user;
    const size_t rows = nvdp__model_heads(model, batch);
    (void)first;
    struct nvdp__pass pass = {.first_layer = nvdp__model_first_layer(model)};
    bool own = to->batches++ % nvdp__rank_count(model->ctx) == nvdp__rank(model->ctx);
    if (own) NVDP_TRY(encode(model, batch, &pass));
    for (size_t d = 0; own && d < to->draws; d++) {
        struct nvdp__draw draw = nvdp__draw_evaluation(to->seed, to->first_draw + (uint32_t)d);
        NVDP_TRY(classify(model, batch, &pass, &draw, 0));
        nvdp__model_logits(model, rows,
                           to->outputs + (d * to->rows + to->at) * model->info.outputs);
    }
    to->at += rows;
    return NVDP_OK;
}

nvdp_status nvdp__model_predict(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                size_t batch, uint64_t seed, uint32_t first_draw, size_t draws,
                                float *outputs) {
    const size_t rows = nvdp__dataset_outputs(dataset), values = draws * rows * model->info.outputs;
    struct predictions to = {seed, first_draw, draws, rows, 0, outputs, 0};
    if (nvdp__ranks(model->ctx) != NULL) memset(outputs, 0, values * sizeof *outputs);
    nvdp_status status = for_each_batch(model, dataset, batch, "score", predict, &to);
    NVDP_TRY(nvdp__rank_agree(model->ctx, status));
    /* all processes but one have zeros here */
    return nvdp__rank_sum_floats(model->ctx, values, outputs);
}

nvdp_status nvdp__model_posterior(const struct nvdp_model *model, size_t first_row,
                                  struct nvdp_posteriors *out) {
    return nvdp__posterior_store(model->ctx, model_view(model).posterior, first_row, out);
}

size_t nvdp__model_replaced(const struct nvdp_model *model) {
    const struct nvdp__mechanism *mechanism = model->bottleneck.mechanism;
    return mechanism->private_ ? mechanism->replaced(model->bottleneck.self) : 0;
}

void nvdp__model_warn_replaced(const struct nvdp_model *model, size_t replaced, size_t texts) {
    if (replaced == 0) return;
    nvdp__log(model->ctx, NVDP_LOG_WARNING,
              "%zu of %zu texts: the model computed numbers that are not finite; nvdp set the "
              "means to 0, so the samples of these texts contain only noise (this count is "
              "computed without noise; do not publish it)",
              replaced, texts);
}

struct taken {
    struct nvdp_posteriors *posteriors;
    size_t replaced;
};

static nvdp_status take_posterior(struct nvdp_model *model, const struct nvdp__batch *batch,
                                  size_t first, void *user) {
    struct taken *to = user;
    NVDP_TRY(nvdp__model_infer(model, batch));
    to->replaced += nvdp__model_replaced(model);
    return nvdp__model_posterior(model, to->posteriors->offset[first], to->posteriors);
}

struct nvdp__form nvdp__model_form(const struct nvdp_model *model) {
    return model_view(model).form;
}

void nvdp__model_describe(const struct nvdp_model *model, struct nvdp_posteriors *posteriors) {
    struct nvdp__form form = nvdp__model_form(model);
    posteriors->prior_alpha = form.prior_alpha;
    posteriors->kappa = form.kappa;
    posteriors->policy = form.single ? NVDP_LENGTH_HIDDEN : model->info.nvib.length_policy;
    posteriors->length = form.single ? 1 : model->info.nvib.length;
    posteriors->pad_alpha = form.pad_alpha;
    if (nvdp__clips_sequence(&model->info.nvib.clip))
        posteriors->clip_sequence = model->info.nvib.clip.sequence;
    nvdp__snprintf(posteriors->method, sizeof posteriors->method, "%s",
                   nvdp_method_name(model->info.method));
}

nvdp_status nvdp_model_posteriors(struct nvdp_context *ctx, struct nvdp_model *model,
                                  const struct nvdp_dataset *dataset, size_t batch,
                                  struct nvdp_posteriors **out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    if (!model->bottleneck.mechanism->private_) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method '%s' has no bottleneck, so there is no posterior to measure",
                          nvdp_method_name(model->info.method));
    }
    if (batch == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "batch: expected at least 1, found 0");
    size_t dim = model->info.nvib.latent_dim;
    struct nvdp__form form = nvdp__model_form(model);
    size_t rows = form.single ? dataset->count : dataset->offset[dataset->count];
    NVDP_TRY(nvdp_posteriors_create(ctx, dataset->count, rows, dim, form.weights, &posteriors));
    for (size_t i = 0; i <= dataset->count; i++)
        posteriors->offset[i] = form.single ? i : dataset->offset[i];
    if (dataset->label != NULL) {
        NVDP_TRY(NVDP__NEW(ctx, posteriors->label, dataset->count));
        memcpy(posteriors->label, dataset->label, dataset->count * sizeof *dataset->label);
    }
    nvdp__model_describe(model, posteriors);
    struct taken taken = {posteriors, 0};
    NVDP_TRY(for_each_batch(model, dataset, batch, "posteriors", take_posterior, &taken));
    nvdp__model_warn_replaced(model, taken.replaced, dataset->count);
    NVDP_TRY(nvdp_posteriors_check(ctx, posteriors, "posterior"));
    return NVDP__HAND_OVER(out, posteriors);
}
