/* Building a model: parameters declared, allocated, initialised. */
#include "model/model.h"

#include "base/random.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLE_ROWS = 4096, SAMPLE_TEXTS = 32 };

static nvdp_status declare(struct nvdp_model *model, const struct nvdp__mechanism *mechanism) {
    struct nvdp_context *ctx = model->ctx;
    const struct nvdp_model_info *info = &model->info;
    bool pooler = !mechanism->private_;
    NVDP_RETURN_IF_FAILED(nvdp__bert_declare(&model->bert, &info->bert, pooler, &model->params));
    NVDP_RETURN_IF_FAILED(
        mechanism->create(ctx, &model->bert, &info->nvib, &model->params, &model->bottleneck.self));
    model->bottleneck.mechanism = mechanism;
    size_t width = mechanism->width(model->bottleneck.self);
    return nvdp__declare_dense(&model->params, "classifier", info->outputs, width,
                               NVDP__PARAM_OPTIONAL, &model->classifier);
}

nvdp_status nvdp__model_build(struct nvdp_context *ctx, const struct nvdp_model_info *info,
                              bool with_grad, struct nvdp_model **out) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__mechanism *mechanism = nvdp__method_mechanism(info->method);
    if (mechanism == NULL) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "method: expected a choice in 0..%d, found %d",
                          (int)NVDP_METHOD_NVDP, (int)info->method);
    }
    struct nvdp_model *model = nvdp__calloc(ctx, 1, sizeof *model);
    if (model == NULL) return NVDP_ERR_MEMORY;
    model->ctx = ctx;
    model->info = *info;
    nvdp__params_init(&model->params, ctx);
    NVDP_TRY(nvdp__bert_device(ctx, &info->bert, &model->dev));
    NVDP_TRY(declare(model, mechanism));
    NVDP_TRY(nvdp__params_allocate(&model->params, with_grad));
    model->info.parameters = nvdp__params_trainable(&model->params);
    *out = model;
    model = NULL;
cleanup:
    nvdp_model_free(model);
    return status;
}

/* The encoder's tensors are declared from the embeddings upwards, its pooler last. */
nvdp_status nvdp__model_freeze(struct nvdp_model *model, size_t layers) {
    size_t all = model->info.bert.num_hidden_layers;
    if (layers < 1 || layers > all)
        return nvdp__fail(model->ctx, NVDP_ERR_ARGUMENT,
                          "freeze_layers: expected 1 to the model's %zu, found %zu", all, layers);
    size_t end = model->bert.layer[layers - 1].output_norm.bias;
    for (size_t i = 0; i <= end; i++)
        model->params.entry[i].flags |= (unsigned)NVDP__PARAM_FROZEN;
    model->frozen_layers = layers;
    model->info.parameters = nvdp__params_trainable(&model->params);
    return NVDP_OK;
}

void nvdp_model_free(struct nvdp_model *model) {
    if (model == NULL) return;
    if (model->bottleneck.mechanism != NULL) {
        model->bottleneck.mechanism->release(model->bottleneck.self);
    }
    nvdp__bert_cache_release(&model->cache);
    nvdp__bert_release(&model->bert);
    nvdp__params_release(&model->params);
    nvdp__arena_release(&model->arena);
    nvdp__device_release(&model->dev);
    nvdp_tokenizer_free(model->tokenizer);
    free(model->loss_g);
    free(model->owned_text);
    free(model->owned_labels);
    free(model);
}

void nvdp__model_initialise(struct nvdp_model *model, uint64_t seed) {
    nvdp__bert_initialise(&model->bert, &model->dev, &model->params, seed);
    nvdp__params_normal(&model->dev, &model->params, model->classifier.weight,
                        model->info.bert.initializer_range, seed);
    nvdp__params_fill(&model->dev, &model->params, model->classifier.bias, 0);
}

/* Encoder outputs of the first texts of epoch 0's order into rows [0, *rows) of hidden. */
static nvdp_status sample_hidden(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                 const int64_t *order, struct nvdp__batch *batch, size_t capacity,
                                 float *hidden, size_t *rows) {
    size_t width = model->info.bert.hidden_size;
    struct nvdp__pass pass = {0};
    *rows = 0;
    for (size_t first = 0; first < dataset->count; first += SAMPLE_TEXTS) {
        size_t n = dataset->count - first < SAMPLE_TEXTS ? dataset->count - first : SAMPLE_TEXTS;
        nvdp__batch_fill(batch, dataset, order + first, 0, n);
        if (*rows + batch->tokens > capacity) break;
        nvdp__bert_forward(&model->bert, &model->dev, &model->params, batch, &pass, &model->cache);
        nvdp__copy(&model->dev, batch->tokens * width,
                   model->cache.hidden[model->info.bert.num_hidden_layers], hidden + *rows * width);
        *rows += batch->tokens;
    }
    return nvdp__device_status(&model->dev);
}

static nvdp_status initialise_from_texts(struct nvdp_model *model,
                                         const struct nvdp_dataset *dataset, uint64_t seed) {
    nvdp_status status = NVDP_OK;
    struct nvdp__batch *batch = NULL;
    struct nvdp__arena arena = {0};
    int64_t *order = nvdp__calloc(model->ctx, dataset->count, sizeof *order);
    if (order == NULL) return NVDP_ERR_MEMORY;
    nvdp__epoch_order(seed, 0, dataset->count, order);
    size_t texts = SAMPLE_TEXTS < dataset->count ? SAMPLE_TEXTS : dataset->count;
    size_t capacity =
        SAMPLE_ROWS > texts * dataset->longest ? SAMPLE_ROWS : texts * dataset->longest;
    size_t rows = 0;
    if (model->max_texts < texts || model->longest < dataset->longest) {
        status = nvdp__fail(model->ctx, NVDP_ERR_STATE,
                            "the model is not planned for %zu texts of %zu tokens", texts,
                            dataset->longest);
        goto cleanup;
    }
    NVDP_TRY(nvdp__batch_create(model->ctx, texts, dataset->longest, &batch));
    nvdp__arena_take(&arena, capacity * model->info.bert.hidden_size);
    NVDP_TRY(nvdp__arena_allocate(model->ctx, &arena));
    float *hidden = nvdp__arena_take(&arena, capacity * model->info.bert.hidden_size);
    NVDP_TRY(sample_hidden(model, dataset, order, batch, capacity, hidden, &rows));
    NVDP_TRY(model->bottleneck.mechanism->initialise(model->bottleneck.self, &model->dev,
                                                     &model->params, seed, rows, hidden));
cleanup:
    nvdp__arena_release(&arena);
    nvdp__batch_free(batch);
    free(order);
    return status;
}

nvdp_status nvdp__model_initialise_bottleneck(struct nvdp_model *model,
                                              const struct nvdp_dataset *dataset, uint64_t seed) {
    const struct nvdp__mechanism *mechanism = model->bottleneck.mechanism;
    void *self = model->bottleneck.self;
    if (mechanism->wants_hidden != NULL && mechanism->wants_hidden(self))
        return initialise_from_texts(model, dataset, seed);
    return mechanism->initialise(self, &model->dev, &model->params, seed, 0, NULL);
}
