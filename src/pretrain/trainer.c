/* nvdp_pretrain: the loop over epochs, the whole run, and the plan of a run. */
#include "pretrain/pretrainer.h"

#include "base/json.h"
#include "base/ranks.h"

#include <math.h>
#include <stdlib.h>

/* ---- the loop ---- */

/* Lists the epoch's examples in shuffled order. */
static nvdp_status load_epoch(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    uint32_t epoch = (uint32_t)t->job.epoch;
    if (t->job.dp != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__next_sentence(c->objective)
                 ? nvdp__examples_pairs(&t->examples, &t->corpus, c->length, c->seed, epoch)
                 : nvdp__examples_windows(&t->examples, &t->corpus, &t->pieces, c->length, &c->seed,
                                          epoch));
    NVDP_TRY(nvdp__examples_planted(&t->examples, &t->plants));
    NVDP_TRY(nvdp__reserve(t->ctx, &t->job.order, &t->order_capacity, t->examples.count,
                           sizeof *t->job.order));
    nvdp__epoch_order(c->seed, epoch, t->examples.count, t->job.order);
    return NVDP_OK;
}

static nvdp_status train(struct nvdp__pretrainer *t) {
    bool loaded = false;
    nvdp__job_start(&t->job, "pretrain");
    while (t->job.step < t->job.steps) {
        if (loaded && t->state.epoch_row == t->examples.count) {
            t->job.epoch++;
            t->state.epoch_row = 0;
            loaded = false;
        }
        if (!loaded) NVDP_TRY(load_epoch(t));
        loaded = true;
        if (t->state.epoch_row >= t->examples.count) continue; /* resumed at an epoch's end */
        NVDP_TRY(nvdp__job_advance(&t->job));
    }
    nvdp__meter_end(&t->job.meter);
    return NVDP_OK;
}

/* ---- nvdp_pretrain and its plan ---- */

/* Sets the options. A resumed run keeps its own configuration, except for the options of this
 * call. */
static nvdp_status take_options(struct nvdp__pretrainer *t,
                                const struct nvdp__pretrain_options *options) {
    t->config = *options;
    if (options->resume != NULL) {
        NVDP_TRY(nvdp__pretrainer_read_run(t, options->resume));
        t->config.out = t->config.resume = options->resume;
        t->config.overwrite = options->overwrite;
        t->config.cache = options->cache;
    }
    nvdp__pretrain_resolve(&t->config);
    return nvdp__schema_check(t->ctx, &nvdp__pretrain_schema, &t->config);
}

void nvdp_pretrain_result_free(struct nvdp_pretrain_result *result) {
    if (result == NULL) return;
    free(result->coverage);
    free(result->eval_coverage);
    free(result->eval);
    result->coverage = result->eval_coverage = NULL;
    result->eval = NULL;
}

static nvdp_status copy_coverage(struct nvdp_context *ctx, const struct nvdp_coverage *from,
                                 struct nvdp_coverage **out) {
    if (from->words == 0) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(ctx, *out, 1));
    **out = *from;
    return NVDP_OK;
}

static nvdp_status take_scores(const struct nvdp__pretrainer *t, struct nvdp_pretrain_result *out) {
    NVDP_TRY(copy_coverage(t->ctx, &t->coverage, &out->coverage));
    if (t->eval.windows == 0) return NVDP_OK;
    NVDP_TRY(copy_coverage(t->ctx, &t->eval_coverage, &out->eval_coverage));
    NVDP_TRY(NVDP__NEW(t->ctx, out->eval, 1));
    *out->eval = t->eval;
    return NVDP_OK;
}

nvdp_status nvdp__pretrain(struct nvdp_context *ctx, const struct nvdp__pretrain_options *options,
                           struct nvdp_pretrain_result *out) {
    nvdp__auto(nvdp__pretrainer_close) struct nvdp__pretrainer t = {.ctx = ctx};
    nvdp__auto(nvdp_pretrain_result_free) struct nvdp_pretrain_result result =
        NVDP_RESULT(struct nvdp_pretrain_result);
    NVDP_TRY(take_options(&t, options));
    NVDP_TRY(nvdp__pretrainer_open(&t));
    NVDP_TRY(train(&t));
    if (nvdp__rank(ctx) == 0) nvdp__dp_warn_left_out(t.job.dp, t.job.left_out);
    NVDP_TRY(nvdp__params_same(ctx, &t.model.params));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__job_save(&t.job)));
    NVDP_TRY(nvdp__pretrainer_evaluate(&t));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__pretrainer_save_model(&t)));
    result = (struct nvdp_pretrain_result){
        .struct_size = sizeof result,
        .steps = t.job.step,
        .tokens = (uint64_t)t.job.tokens,
        .masked = t.state.masked,
        .vocab_size = nvdp_tokenizer_size(t.tokenizer),
        .parameters = nvdp__params_trainable(&t.model.params),
        .loss = t.state.loss,
        .accuracy = t.state.accuracy,
        .seconds = t.job.seconds,
        .tokens_per_second = t.job.tokens / fmax(t.job.seconds, 1e-9),
        .drawing_seconds = t.state.drawing,
    };
    NVDP_TRY(take_scores(&t, &result));
    NVDP_TRY(NVDP__RANK_0_ONLY(ctx, nvdp__pretrainer_write_result(&t, &result)));
    nvdp_pretrain_result_free(out);
    *out = result;
    result = (struct nvdp_pretrain_result){0};
    return NVDP_OK;
}

/* Converts a configuration into a plain struct; free() both elements of `list`, which hold its
 * lists of files. */
static nvdp_status open_config(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp__pretrain_options *options, const char **list[2]) {
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__pretrain_schema, options));
    NVDP_TRY(nvdp__list_split(ctx, options->text_list, &list[0], &options->texts));
    NVDP_TRY(nvdp__list_split(ctx, options->eval_text_list, &list[1], &options->eval_texts));
    options->text = list[0];
    options->eval_text = list[1];
    return NVDP_OK;
}

nvdp_status nvdp_pretrain(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_pretrain_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pretrain_options options;
    struct nvdp_pretrain_result result = NVDP_RESULT(struct nvdp_pretrain_result);
    const char **list[2] = {NULL, NULL};
    NVDP_TRY_OR_CLEAN(open_config(ctx, config, &options, list));
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    NVDP_TRY_OR_CLEAN(nvdp__pretrain(ctx, &options, &result));
    nvdp_pretrain_result_free(out);
    NVDP__GIVE(out, &result);
cleanup:
    free(list[0]);
    free(list[1]);
    return status;
}

nvdp_status nvdp_pretrain_config_json(struct nvdp_context *ctx, const struct nvdp_config *config,
                                      char **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pretrain_options options;
    const char **list[2] = {NULL, NULL};
    NVDP_TRY_OR_CLEAN(open_config(ctx, config, &options, list));
    nvdp__pretrain_resolve(&options);
    NVDP_TRY_OR_CLEAN(
        nvdp__json_text(ctx, nvdp__pretrain_options_json(&options), "configuration", out));
cleanup:
    free(list[0]);
    free(list[1]);
    return status;
}

nvdp_status nvdp_pretrain_plan(struct nvdp_context *ctx, const struct nvdp_config *config,
                               struct nvdp_pretrain_plan *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pretrainer t = {.ctx = ctx};
    struct nvdp__pretrain_options options;
    struct nvdp_bert_config bert;
    const char **list[2] = {NULL, NULL};
    size_t floats = 0;
    NVDP_TRY_OR_CLEAN(nvdp__can_give(ctx, out));
    NVDP_TRY_OR_CLEAN(open_config(ctx, config, &options, list));
    NVDP_TRY_OR_CLEAN(take_options(&t, &options));
    const struct nvdp__pretrain_options *c = &t.config;
    for (size_t i = 0; i < c->texts + c->eval_texts; i++) {
        const char *path = i < c->texts ? c->text[i] : c->eval_text[i - c->texts];
        if (!nvdp__exists(path) || nvdp__is_directory(path))
            NVDP_TRY_OR_CLEAN(nvdp__fail(ctx, NVDP_ERR_IO, "%s: no such file", path));
    }
    size_t pieces = c->vocab_size; /* upper bound if a vocabulary is trained */
    if (c->vocab != NULL || c->init != NULL) {
        NVDP_TRY_OR_CLEAN(nvdp__pretrainer_open_vocabulary(&t));
        pieces = nvdp_tokenizer_size(t.tokenizer);
    }
    NVDP_TRY_OR_CLEAN(nvdp__pretrainer_bert(&t, pieces, &bert));
    NVDP_TRY_OR_CLEAN(nvdp__pretrainer_model(&t, &bert));
    NVDP_TRY_OR_CLEAN(nvdp__pretrain_model_plan(
        &t.model, c->batch, c->length, nvdp__batcher_masked(c->batch, c->length, c->mask_prob),
        &floats));
    size_t vectors = 4; /* values, gradients, two moments */
    size_t privatizer =
        nvdp__adaptive(t.config.objective)
            ? nvdp__privatizer_bytes(&c->sanitizer, pieces, bert.hidden_size, c->batch, c->length)
            : 0;
    const struct nvdp_pretrain_plan plan = {
        .struct_size = sizeof plan,
        .vocab_size = bert.vocab_size,
        .parameters = nvdp__params_trainable(&t.model.params),
        .tokens = c->stop_after * c->batch * c->length,
        .memory_bytes = (vectors * t.model.params.total + floats) * sizeof(float) + privatizer,
    };
    NVDP__GIVE(out, &plan);
cleanup:
    nvdp__pretrainer_close(&t);
    free(list[0]);
    free(list[1]);
    return status;
}
