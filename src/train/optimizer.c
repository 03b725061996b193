#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>

nvdp_status nvdp__optimizer_create(struct nvdp_context *ctx, const struct nvdp__params *params,
                                   struct nvdp__optimizer *optimizer) {
    optimizer->m = nvdp__calloc(ctx, params->total, sizeof *optimizer->m);
    optimizer->v = nvdp__calloc(ctx, params->total, sizeof *optimizer->v);
    optimizer->steps_taken = 0;
    if (optimizer->m != NULL && optimizer->v != NULL) return NVDP_OK;
    nvdp__optimizer_release(optimizer);
    return NVDP_ERR_MEMORY;
}

void nvdp__optimizer_release(struct nvdp__optimizer *optimizer) {
    free(optimizer->m);
    free(optimizer->v);
    optimizer->m = NULL;
    optimizer->v = NULL;
}

double nvdp__lr_factor(uint64_t step, uint64_t steps, double warmup) {
    double rise = warmup * (double)steps;
    if ((double)step < rise) return (double)step / rise;
    double fall = (double)steps - rise;
    return fall > 0 ? fmax(0, ((double)steps - (double)step) / fall) : 1;
}

nvdp_status nvdp__optimizer_step(struct nvdp__optimizer *optimizer, const struct nvdp__device *dev,
                                 struct nvdp__params *params, double factor, double *norm) {
    double length = sqrt(nvdp__sum_squares(dev, params->total, params->grad));
    if (!isfinite(length)) {
        return nvdp__fail(dev->ctx, NVDP_ERR_NUMERIC, "the gradient's norm is %g", length);
    }
    double t = (double)++optimizer->steps_taken;
    struct nvdp__adamw step = {
        .lr = optimizer->lr * factor,
        .beta1 = optimizer->beta1,
        .beta2 = optimizer->beta2,
        .eps = optimizer->eps,
        .bias1 = 1 - pow(optimizer->beta1, t),
        .bias2 = 1 - pow(optimizer->beta2, t),
        .grad_scale = 1,
    };
    if (optimizer->clip_norm > 0 && length > optimizer->clip_norm) {
        step.grad_scale = optimizer->clip_norm / (length + 1e-6); /* as PyTorch's clip_grad_norm_ */
    }
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *p = &params->entry[i];
        if (p->flags & NVDP__PARAM_FROZEN) continue;
        step.weight_decay = p->flags & NVDP__PARAM_DECAY ? optimizer->weight_decay : 0;
        nvdp__adamw_step(dev, &step, p->count, nvdp__grad(params, i), NULL,
                         optimizer->m + p->offset, optimizer->v + p->offset,
                         nvdp__value(params, i));
    }
    *norm = length;
    return NVDP_OK;
}
