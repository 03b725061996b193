/* Inference over a data set: outputs and posteriors, batch by batch. */
#include "base/base.h"
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

/* Called after each batch's forward pass: texts [first, first + batch->texts). */
typedef nvdp_status (*batch_fn)(struct nvdp_model *model, const struct nvdp__batch *batch,
                                size_t first, void *user);

/* draw NULL: the posterior alone. */
static nvdp_status for_each_batch(struct nvdp_model *model, const struct nvdp_dataset *dataset,
                                  size_t batch_size, const struct nvdp__draw *draw,
                                  const char *phase, batch_fn visit, void *user) {
    nvdp_status status = NVDP_OK;
    struct nvdp__batch *batch = NULL;
    struct nvdp__pass pass = {.first_layer = nvdp__model_first_layer(model)};
    struct nvdp__meter meter;
    double tokens = 0;
    if (model->max_texts < batch_size || model->longest < dataset->longest) {
        NVDP_TRY(nvdp__model_plan(model, batch_size, dataset->longest, model->training));
    }
    NVDP_TRY(nvdp__batch_create(model->ctx, batch_size, dataset->longest, &batch));
    nvdp__meter_begin(&meter, model->ctx, phase, "text", 0, dataset->count);
    for (size_t first = 0; first < dataset->count; first += batch_size) {
        size_t n = dataset->count - first < batch_size ? dataset->count - first : batch_size;
        if (nvdp__cancelled(model->ctx)) {
            status = nvdp__fail(model->ctx, NVDP_ERR_CANCELLED, "interrupted");
            goto cleanup;
        }
        nvdp__batch_fill(batch, dataset, NULL, first, n);
        NVDP_TRY(draw != NULL ? nvdp__model_forward(model, batch, &pass, draw, 0)
                              : nvdp__model_infer(model, batch));
        NVDP_TRY(visit(model, batch, first, user));
        tokens += (double)batch->tokens;
        nvdp__meter_update(&meter, first + n, tokens, "tok", NAN);
    }
    nvdp__meter_end(&meter);
cleanup:
    nvdp__batch_free(batch);
    return status;
}

static nvdp_status take_logits(struct nvdp_model *model, const struct nvdp__batch *batch,
                               size_t first, void *user) {
    float *outputs = user;
    nvdp__model_logits(model, batch->texts, outputs + first * model->info.outputs);
    return NVDP_OK;
}

nvdp_status nvdp_model_predict(struct nvdp_context *ctx, struct nvdp_model *model,
                               const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                               uint32_t draw, float *outputs) {
    if (batch == 0) return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "batch 0: expected at least 1");
    struct nvdp__draw noise = nvdp__draw_evaluation(seed, draw);
    return for_each_batch(model, dataset, batch, &noise, "score", take_logits, outputs);
}

static nvdp_status take_posterior(struct nvdp_model *model, const struct nvdp__batch *batch,
                                  size_t first, void *user) {
    struct nvdp_posteriors *posteriors = user;
    return model->bottleneck.mechanism->posterior(model->bottleneck.self, &model->dev, batch,
                                                  posteriors->offset[first], posteriors);
}

struct nvdp__form nvdp__model_form(const struct nvdp_model *model) {
    return model->bottleneck.mechanism->form(model->bottleneck.self);
}

void nvdp__model_describe(const struct nvdp_model *model, struct nvdp_posteriors *posteriors) {
    const struct nvdp_nvib_config *nvib = &model->info.nvib;
    bool single = nvdp__model_form(model).single;
    posteriors->prior_alpha = nvib->prior_alpha;
    posteriors->kappa = nvib->kappa;
    posteriors->policy = single ? NVDP_LENGTH_HIDDEN : nvib->length_policy;
    posteriors->length = single ? 1 : nvib->length;
    posteriors->pad_alpha = nvdp_nvib_pad_alpha(nvib);
    const char *name = nvdp_method_name(model->info.method);
    for (size_t i = 0; i + 1 < sizeof posteriors->method && name[i] != '\0'; i++) {
        posteriors->method[i] = name[i];
    }
}

nvdp_status nvdp_model_posteriors(struct nvdp_context *ctx, struct nvdp_model *model,
                                  const struct nvdp_dataset *dataset, size_t batch,
                                  struct nvdp_posteriors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_posteriors *posteriors = NULL;
    if (!model->bottleneck.mechanism->private_) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "method '%s' has no bottleneck: there is no posterior to measure",
                          nvdp_method_name(model->info.method));
    }
    if (batch == 0) return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "batch 0: expected at least 1");
    size_t dim = model->info.nvib.latent_dim;
    struct nvdp__form form = nvdp__model_form(model);
    size_t rows = form.single ? dataset->count : dataset->offset[dataset->count];
    NVDP_TRY(nvdp_posteriors_create(ctx, dataset->count, rows, dim, form.weights, &posteriors));
    for (size_t i = 0; i <= dataset->count; i++)
        posteriors->offset[i] = form.single ? i : dataset->offset[i];
    nvdp__model_describe(model, posteriors);
    NVDP_TRY(for_each_batch(model, dataset, batch, NULL, "posteriors", take_posterior, posteriors));
    NVDP_TRY(nvdp_posteriors_check(ctx, posteriors, "posterior"));
    *out = posteriors;
    posteriors = NULL;
cleanup:
    nvdp_posteriors_free(posteriors);
    return status;
}
