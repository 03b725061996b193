/* Frozen layers in a run: who gives their states, in training and in validation. */
#include "model/model.h"
#include "train/trainer.h"

static nvdp_status open_prefix(struct nvdp__trainer *t, const struct nvdp_dataset *dataset,
                               struct nvdp__prefix **out) {
    NVDP_RETURN_IF_FAILED(nvdp__prefix_create(t->model, out));
    if (t->config.cache == NULL || t->config.no_prefix_cache) return NVDP_OK;
    nvdp_status status = nvdp__prefix_keep(*out, t->config.cache, dataset, t->config.eval_batch);
    if (status != NVDP_ERR_CANCELLED) return status;
    return nvdp__fail(t->ctx, status, "%s; continue with: nvdp train --resume %s",
                      nvdp_context_error(t->ctx), t->config.out);
}

nvdp_status nvdp__trainer_open_prefix(struct nvdp__trainer *t) {
    if (t->config.freeze_layers == 0) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(open_prefix(t, t->all, &t->prefix));
    /* A part of the train file, but with the dev protocol: then it is another file. */
    bool apart = t->validation != NULL && t->validation == t->test;
    if (apart) NVDP_RETURN_IF_FAILED(open_prefix(t, t->validation, &t->validation_prefix));
    t->model->prefix = t->prefix;
    return NVDP_OK;
}

void nvdp__trainer_close_prefix(struct nvdp__trainer *t) {
    if (t->model != NULL) t->model->prefix = NULL;
    nvdp__prefix_free(t->prefix);
    nvdp__prefix_free(t->validation_prefix);
    t->prefix = NULL;
    t->validation_prefix = NULL;
}

nvdp_status nvdp__trainer_validate(struct nvdp__trainer *t, uint64_t seed,
                                   struct nvdp_scores *scores) {
    if (t->validation_prefix != NULL) t->model->prefix = t->validation_prefix;
    nvdp_status status = nvdp__score_model(t->ctx, t->model, t->validation, t->config.eval_batch,
                                           seed, (uint32_t)t->state.epoch, 1, scores);
    t->model->prefix = t->prefix;
    return status;
}
