/* nvdp_pretrain and its plan. */
#include "base/file.h"
#include "pretrain/trainer.h"

#include <math.h>
#include <stdlib.h>

static nvdp_status take_config(struct nvdp__pretrainer *t,
                               const struct nvdp_pretrain_config *config) {
    t->config = *config;
    if (config->resume) {
        if (config->out == NULL)
            return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                              "resume: expected a directory, found none");
        NVDP_RETURN_IF_FAILED(nvdp__pretrain_read_run(t, config->out));
        t->config.out = config->out;
        t->config.resume = true;
        t->config.overwrite = config->overwrite;
        t->config.cache = config->cache;
    }
    nvdp__pretrain_config_resolve(&t->config);
    return nvdp_pretrain_config_check(t->ctx, &t->config);
}

nvdp_status nvdp_pretrain(struct nvdp_context *ctx, const struct nvdp_pretrain_config *config,
                          struct nvdp_pretrain_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pretrainer t = {.ctx = ctx};
    NVDP_TRY(take_config(&t, config));
    NVDP_TRY(nvdp__pretrainer_open(&t));
    NVDP_TRY(nvdp__pretrainer_run(&t));
    struct nvdp_pretrain_result result = {
        .steps = t.state.step,
        .tokens = t.state.tokens,
        .masked = t.state.masked,
        .vocab_size = nvdp_tokenizer_size(t.tokenizer),
        .parameters = nvdp__params_trainable(&t.model.params),
        .loss = t.state.loss,
        .accuracy = t.state.accuracy,
        .coverage = t.coverage,
        .eval_coverage = t.eval_coverage,
        .eval = t.eval,
        .seconds = t.state.seconds,
        .tokens_per_second = (double)t.state.tokens / fmax(t.state.seconds, 1e-9),
    };
    NVDP_TRY(nvdp__pretrain_write_result(&t, &result));
    *out = result;
cleanup:
    nvdp__pretrainer_close(&t);
    return status;
}

/* Pieces that the vocabulary will have. */
static nvdp_status count_pieces(struct nvdp__pretrainer *t, size_t *pieces) {
    const struct nvdp_pretrain_config *c = &t->config;
    *pieces = c->vocab_size; /* at most, where one is trained */
    if (c->vocab == NULL && c->init == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_vocabulary(t));
    *pieces = nvdp_tokenizer_size(t->tokenizer);
    return NVDP_OK;
}

static nvdp_status check_files(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    for (size_t i = 0; i < c->texts + c->eval_texts; i++) {
        const char *path = i < c->texts ? c->text[i] : c->eval_text[i - c->texts];
        if (!nvdp__exists(path) || nvdp__is_directory(path))
            return nvdp__fail(t->ctx, NVDP_ERR_IO, "%s: no such file", path);
    }
    return NVDP_OK;
}

nvdp_status nvdp_pretrain_plan(struct nvdp_context *ctx, const struct nvdp_pretrain_config *config,
                               struct nvdp_pretrain_plan *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pretrainer t = {.ctx = ctx};
    struct nvdp_pretrain_plan plan = {0};
    size_t floats = 0;
    size_t pieces = 0;
    NVDP_TRY(take_config(&t, config));
    const struct nvdp_pretrain_config *c = &t.config;
    NVDP_TRY(check_files(&t));
    NVDP_TRY(count_pieces(&t, &pieces));
    NVDP_TRY(nvdp__pretrainer_bert(&t, pieces, &plan.bert));
    NVDP_TRY(nvdp__pretrainer_model(&t, &plan.bert));
    NVDP_TRY(nvdp__pretrain_model_plan(&t.model, c->batch, c->length,
                                       nvdp__batcher_masked(c->batch, c->length, c->mask_prob),
                                       &floats));
    plan.parameters = nvdp__params_trainable(&t.model.params);
    plan.tokens = c->stop_after * c->batch * c->length;
    size_t vectors = 4; /* values, gradients, two moments */
    plan.memory_bytes = (vectors * t.model.params.total + floats) * sizeof(float);
    *out = plan;
cleanup:
    nvdp__pretrainer_close(&t);
    return status;
}
