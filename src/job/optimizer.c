/* Optimizers for job.c (optimizer.h): nvdp__optimizer_create() divides the parameters into
 * spans; nvdp__optimizer_step() clips the gradient and updates the spans. */
#include "job/optimizer.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

static bool is_muons(const struct nvdp__optimizer *optimizer, const struct nvdp__param *tensor) {
    return optimizer->kind == NVDP__OPTIMIZER_MUON && (tensor->flags & NVDP__PARAM_LINEAR) != 0;
}

static nvdp_status add_spans(struct nvdp__optimizer *optimizer, struct nvdp_context *ctx,
                             const struct nvdp__param *tensor, size_t piece) {
    for (size_t at = 0; at < tensor->count; at += piece) {
        const struct nvdp__span span = {.offset = tensor->offset + at,
                                        .count = nvdp__min(tensor->count - at, piece),
                                        .decays = (tensor->flags & NVDP__PARAM_DECAY) != 0,
                                        .by_muon = is_muons(optimizer, tensor)};
        NVDP_TRY(NVDP__PUSH(ctx, optimizer->span, optimizer->spans, optimizer->capacity, span));
    }
    return NVDP_OK;
}

static nvdp_status add_matrix(struct nvdp__optimizer *optimizer, struct nvdp_context *ctx,
                              const struct nvdp__param *tensor) {
    const struct nvdp__matrix matrix = {.offset = tensor->offset,
                                        .rows = tensor->shape[0],
                                        .cols = tensor->shape[1],
                                        .decays = (tensor->flags & NVDP__PARAM_DECAY) != 0};
    return NVDP__PUSH(ctx, optimizer->matrix, optimizer->matrices, optimizer->matrix_capacity,
                      matrix);
}

static nvdp_status make_spans(struct nvdp__optimizer *optimizer, struct nvdp_context *ctx,
                              const struct nvdp__params *params) {
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *tensor = &params->entry[i];
        for (size_t r = 0; r < optimizer->rates; r++)
            if (optimizer->rate[r].tensor == i) optimizer->rate[r].span = optimizer->spans;
        if (tensor->flags & NVDP__PARAM_FROZEN) continue;
        bool tracked = params->use != NULL && params->use->table == i &&
                       tensor->shape[1] <= (size_t)NVDP__SPAN;
        if (tracked) {
            optimizer->first_row = optimizer->spans;
            optimizer->rows = tensor->shape[0];
        }
        NVDP_TRY(
            add_spans(optimizer, ctx, tensor, tracked ? tensor->shape[1] : (size_t)NVDP__SPAN));
        if (is_muons(optimizer, tensor)) NVDP_TRY(add_matrix(optimizer, ctx, tensor));
    }
    return NVDP_OK;
}

nvdp_status nvdp__optimizer_create(struct nvdp_context *ctx, const struct nvdp__params *params,
                                   struct nvdp__optimizer *optimizer) {
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(optimizer->m, params->total),
                          NVDP__ITEMS(optimizer->v, params->total)));
    NVDP_TRY(make_spans(optimizer, ctx, params));
    const size_t scratch = nvdp__muon_scratch(optimizer->matrices, optimizer->matrix);
    return NVDP__ARRAYS(
        ctx, NULL, NVDP__ITEMS(optimizer->part, optimizer->spans),
        NVDP__ITEMS(optimizer->scratch, scratch * (size_t)nvdp_context_threads(ctx) + 1));
}

nvdp_status nvdp__adamw_create(struct nvdp_context *ctx, const struct nvdp__params *params,
                               double rate, double decay, struct nvdp__optimizer *optimizer) {
    nvdp__optimizer_release(optimizer);
    *optimizer = (struct nvdp__optimizer){.adamw = {.lr = rate,
                                                    .beta1 = .9,
                                                    .beta2 = .999,
                                                    .adam_eps = 1e-8,
                                                    .weight_decay = decay,
                                                    .clip_norm = 1}};
    return nvdp__optimizer_create(ctx, params, optimizer);
}

void nvdp__optimizer_release(struct nvdp__optimizer *optimizer) {
    free(optimizer->m);
    free(optimizer->v);
    free(optimizer->anchor);
    free(optimizer->span);
    free(optimizer->part);
    free(optimizer->matrix);
    free(optimizer->scratch);
    /* the members before this offset keep their values */
    const size_t settings = offsetof(struct nvdp__optimizer, steps_taken);
    memset((char *)optimizer + settings, 0, sizeof *optimizer - settings);
}

void nvdp__optimizer_restored(const struct nvdp__optimizer *optimizer,
                              const struct nvdp__params *params) {
    if (params->use == NULL) return;
    const struct nvdp__param *table = &params->entry[params->use->table];
    size_t dim = table->shape[1];
    for (size_t r = 0; r < table->shape[0]; r++) {
        size_t at = table->offset + r * dim;
        for (size_t i = at; i < at + dim && !params->use->ever[r]; i++)
            params->use->ever[r] = optimizer->m[i] != 0 || optimizer->v[i] != 0;
    }
}

/* Marks idle rows. For the norm, these are the rows without a gradient in this step; for the
 * step, the rows that never had a gradient. */
static void mark_rows(const struct nvdp__optimizer *optimizer, const struct nvdp__params *params,
                      bool for_step) {
    const struct nvdp__row_use *use = params->use;
    for (size_t r = 0; r < optimizer->rows; r++) {
        bool live = !use->tracked || use->all || (for_step ? use->ever[r] : use->now[r]);
        optimizer->span[optimizer->first_row + r].idle = !live;
        if (!use->tracked) use->ever[r] = true;
    }
}

double nvdp__lr_factor(uint64_t step, uint64_t steps, double warmup) {
    double rise = warmup * (double)steps;
    if ((double)step < rise) return (double)step / rise;
    double fall = (double)steps - rise;
    return fall > 0 ? fmax(0, ((double)steps - (double)step) / fall) : 1;
}

nvdp_status nvdp__optimizer_step(struct nvdp__optimizer *optimizer, const struct nvdp__device *dev,
                                 struct nvdp__params *params, double factor, double *norm) {
    mark_rows(optimizer, params, false);
    double length = sqrt(nvdp__spans_sum_squares(dev, optimizer->spans, optimizer->span,
                                                 params->grad, optimizer->part));
    if (!isfinite(length))
        return nvdp__fail(dev->ctx, NVDP_ERR_NUMERIC,
                          "the norm of the gradient is %g, which is not finite", length);
    double t = (double)++optimizer->steps_taken;
    struct nvdp__adamw step = {
        .lr = optimizer->adamw.lr * factor,
        .beta1 = optimizer->adamw.beta1,
        .beta2 = optimizer->adamw.beta2,
        .eps = optimizer->adamw.adam_eps,
        .weight_decay = optimizer->adamw.weight_decay,
        .bias1 = 1 - pow(optimizer->adamw.beta1, t),
        .bias2 = 1 - pow(optimizer->adamw.beta2, t),
        .grad_scale = 1,
    };
    if (optimizer->adamw.clip_norm > 0 && length > optimizer->adamw.clip_norm)
        step.grad_scale =
            /* the same as clip_grad_norm_ in PyTorch */
            optimizer->adamw.clip_norm / (length + 1e-6);
    mark_rows(optimizer, params, true);
    for (size_t r = 0, from = 0; r <= optimizer->rates; r++) {
        size_t end = r < optimizer->rates ? optimizer->rate[r].span : optimizer->spans;
        if (r > 0) step.lr = optimizer->rate[r - 1].lr * factor;
        const struct nvdp__sgd sgd = {step.lr, optimizer->momentum, step.weight_decay,
                                      step.grad_scale};
        if (optimizer->kind == NVDP__OPTIMIZER_SGD)
            nvdp__sgd_spans(dev, &sgd, end - from, optimizer->span + from, params->grad,
                            optimizer->anchor, optimizer->m, params->value);
        else
            nvdp__adamw_spans(dev, &step, end - from, optimizer->span + from, params->grad,
                              optimizer->anchor, optimizer->m, optimizer->v, params->value);
        from = end;
    }
    struct nvdp__muon muon = {.lr = optimizer->adamw.lr * factor,
                              .momentum = optimizer->momentum,
                              .weight_decay = step.weight_decay,
                              .grad_scale = step.grad_scale};
    nvdp__muon_step(dev, &muon, optimizer->matrices, optimizer->matrix, optimizer->scratch,
                    params->grad, optimizer->m, params->value);
    nvdp__weights_changed(dev);
    *norm = length;
    return NVDP_OK;
}
