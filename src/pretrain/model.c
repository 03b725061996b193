#include "pretrain/model.h"

#include "bert/checkpoint.h"
#include <stdlib.h>

static void freeze(struct nvdp__params *params, const struct nvdp__dense *dense) {
    params->entry[dense->weight].flags |= NVDP__PARAM_FROZEN;
    params->entry[dense->bias].flags |= NVDP__PARAM_FROZEN;
}

nvdp_status nvdp__pretrain_model_create(struct nvdp_context *ctx,
                                        const struct nvdp_bert_config *config,
                                        enum nvdp_objective objective, bool training,
                                        struct nvdp__pretrain_model *model) {
    nvdp_status status = NVDP_OK;
    *model =
        (struct nvdp__pretrain_model){.ctx = ctx, .objective = objective, .training = training};
    nvdp__params_init(&model->params, ctx);
    NVDP_TRY(nvdp__bert_device(ctx, config, &model->dev));
    NVDP_TRY(nvdp__bert_declare(&model->bert, config, true, &model->params));
    NVDP_TRY(nvdp__heads_declare(&model->heads, config, 0, &model->params));
    if (objective == NVDP_OBJECTIVE_MLM) {
        freeze(&model->params, &model->bert.pooler);
        freeze(&model->params, &model->heads.next);
    }
    NVDP_TRY(nvdp__params_allocate(&model->params, training));
cleanup:
    if (status != NVDP_OK) nvdp__pretrain_model_release(model);
    return status;
}

void nvdp__pretrain_model_release(struct nvdp__pretrain_model *model) {
    nvdp__bert_cache_release(&model->cache);
    nvdp__bert_release(&model->bert);
    nvdp__params_release(&model->params);
    nvdp__arena_release(&model->arena);
    nvdp__device_release(&model->dev);
    free(model->nll);
    free(model->best);
    *model = (struct nvdp__pretrain_model){0};
}

void nvdp__pretrain_model_initialise(struct nvdp__pretrain_model *model, uint64_t seed) {
    nvdp__bert_initialise(&model->bert, &model->dev, &model->params, seed);
    nvdp__heads_initialise(&model->heads, &model->bert.config, &model->dev, &model->params, seed);
}

nvdp_status nvdp__pretrain_model_load(struct nvdp__pretrain_model *model, const char *directory,
                                      bool all) {
    struct nvdp__params *params = &model->params;
    size_t first = nvdp__params_find(params, "bert.pooler.dense.weight"); /* heads lie behind */
    for (size_t i = first; i < params->count; i++) {
        bool next = i == model->bert.pooler.weight || i == model->bert.pooler.bias ||
                    i == model->heads.next.weight || i == model->heads.next.bias;
        if (!all || (next && model->objective == NVDP_OBJECTIVE_MLM))
            params->entry[i].flags |= NVDP__PARAM_OPTIONAL;
        else
            params->entry[i].flags &= ~(unsigned)NVDP__PARAM_OPTIONAL;
    }
    return nvdp__checkpoint_load(&model->dev, directory, params);
}

static void carve(struct nvdp__pretrain_model *model, size_t texts, size_t longest, size_t masked) {
    const struct nvdp_bert_config *config = &model->bert.config;
    size_t tokens = texts * longest;
    nvdp__bert_plan(&model->bert, &model->dev, tokens, texts, longest, &model->arena,
                    &model->cache);
    nvdp__heads_plan(&model->heads, config, &model->dev, masked, texts, &model->arena);
    if (!model->training) return;
    size_t rows = nvdp__operand_rows(&model->dev, tokens);
    model->d_last = nvdp__arena_take(&model->arena, rows * config->hidden_size);
}

nvdp_status nvdp__pretrain_model_plan(struct nvdp__pretrain_model *model, size_t texts,
                                      size_t longest, size_t masked, size_t *floats) {
    nvdp__bert_cache_release(&model->cache);
    nvdp__arena_release(&model->arena);
    NVDP_RETURN_IF_FAILED(
        nvdp__bert_cache_create(model->ctx, &model->bert, model->training, false, &model->cache));
    carve(model, texts, longest, masked);
    if (floats != NULL) {
        *floats = model->arena.used;
        return NVDP_OK;
    }
    nvdp__weights_changed(&model->dev); /* a plan follows initialising and loading */
    NVDP_RETURN_IF_FAILED(nvdp__arena_allocate(model->ctx, &model->arena));
    carve(model, texts, longest, masked);
    free(model->nll);
    free(model->best);
    model->nll = nvdp__calloc(model->ctx, masked, sizeof *model->nll);
    model->best = nvdp__calloc(model->ctx, masked, sizeof *model->best);
    return model->nll == NULL || model->best == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}

static void add_up(const struct nvdp__pretrain_model *model, const struct nvdp__masked *masked,
                   struct nvdp__pretrain_losses *losses) {
    for (size_t i = 0; i < masked->count; i++) {
        losses->nll += model->nll[i];
        losses->right += model->best[i] == masked->label[i];
    }
}

nvdp_status nvdp__pretrain_model_step(struct nvdp__pretrain_model *model,
                                      const struct nvdp__batch *batch,
                                      const struct nvdp__masked *masked,
                                      const struct nvdp__pass *pass,
                                      struct nvdp__pretrain_losses *losses) {
    const struct nvdp__device *dev = &model->dev;
    const struct nvdp__heads_pass heads = {&model->bert, dev, &model->params, batch, &model->cache};
    bool training = pass->training;
    float *d_last = training ? model->d_last : NULL;
    *losses = (struct nvdp__pretrain_losses){0};
    if (training) {
        nvdp__grad_begin(dev, &model->params);
        nvdp__grad_rows(&model->params, 0, NULL); /* the decoder reads every row of the table */
    }
    nvdp__bert_forward(&model->bert, dev, &model->params, batch, pass, &model->cache);
    if (training && model->objective == NVDP_OBJECTIVE_MLM_NSP) {
        losses->next = nvdp__next_loss(&model->heads, &heads, d_last, &losses->next_accuracy);
    } else if (training) {
        nvdp__zero(dev, batch->tokens * model->bert.config.hidden_size, d_last);
    }
    nvdp__mlm_loss(&model->heads, &heads, masked, d_last, model->nll, model->best);
    add_up(model, masked, losses);
    if (training)
        nvdp__bert_backward(&model->bert, dev, &model->params, batch, pass, &model->cache, d_last);
    return nvdp__device_status(dev);
}
