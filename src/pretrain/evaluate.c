/* Scores a masked language model on held-out text (evaluate.h), for pretraining and for
 * nvdp_mlm_evaluate, the last part. First come the windows, the file of predictions and the
 * scores. */
#include "pretrain/evaluate.h"

#include "base/ranks.h"

#include "base/base.h"
#include "base/file.h"
#include "bert/checkpoint.h"
#include "bert/weights.h"
#include <math.h>
#include <nvdp/safetensors.h>
#include <stdlib.h>
#include <string.h>

enum { SPECIALS = 2 }; /* [CLS] window [SEP] */

/* ---- windows ---- */

nvdp_status nvdp__mlm_evaluator_create(struct nvdp_context *ctx, const struct nvdp__corpus *corpus,
                                       const struct nvdp__piece_table *pieces,
                                       const struct nvdp__mlm_options *config,
                                       struct nvdp__mlm_evaluator *evaluator) {
    nvdp__auto(nvdp__mlm_evaluator_release) struct nvdp__mlm_evaluator made = {
        .ctx = ctx, .windows = {.ctx = ctx}, .batch = config->batch, .seed = config->seed};
    NVDP_TRY(nvdp__batcher_create(ctx, corpus, pieces, config->batch, config->length,
                                  config->mask_prob, config->whole_word, &made.batcher));
    NVDP_TRY(nvdp__examples_windows(&made.windows, corpus, pieces, config->length, NULL, 0));
    size_t all = made.windows.count;
    made.count = config->limit > 0 && config->limit < all ? config->limit : all;
    made.order = nvdp__calloc(ctx, made.count, sizeof *made.order);
    if (made.order == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < made.count; i++) {
        made.order[i] = (int64_t)((__uint128_t)i * all / made.count);
    }
    NVDP__HAND_OVER(evaluator, made);
    return NVDP_OK;
}

void nvdp__mlm_evaluator_release(struct nvdp__mlm_evaluator *evaluator) {
    nvdp__batcher_release(&evaluator->batcher);
    nvdp__examples_release(&evaluator->windows);
    free(evaluator->order);
    *evaluator = (struct nvdp__mlm_evaluator){0};
}

/* ---- the file of predictions ---- */

struct nvdp__positions {
    int64_t *offset, *row;
    int32_t *id, *label, *best;
    double *nll;
    size_t windows, tokens, masked;
};

/* Allocates memory for all scored windows. */
static nvdp_status create_positions(const struct nvdp__mlm_evaluator *e, double mask_prob,
                                    struct nvdp__positions *p) {
    size_t tokens = 0;
    size_t masked = 0;
    for (size_t i = 0; i < e->count; i++) {
        size_t length = e->windows.at[e->order[i]].first_length;
        tokens += length + SPECIALS;
        masked += nvdp__mask_most(mask_prob, length);
    }
    p->offset = nvdp__calloc(e->ctx, e->count + 1, sizeof *p->offset);
    p->id = nvdp__calloc(e->ctx, tokens, sizeof *p->id);
    p->row = nvdp__calloc(e->ctx, masked, sizeof *p->row);
    p->label = nvdp__calloc(e->ctx, masked, sizeof *p->label);
    p->best = nvdp__calloc(e->ctx, masked, sizeof *p->best);
    p->nll = nvdp__calloc(e->ctx, masked, sizeof *p->nll);
    return NVDP__MADE(p->offset, p->id, p->row, p->label, p->best, p->nll);
}

static void add_positions(struct nvdp__positions *p, const struct nvdp__batcher *batcher,
                          const double *nll, const int32_t *best) {
    const struct nvdp__batch *batch = batcher->batch;
    const struct nvdp__masked *masked = &batcher->masked;
    memcpy(p->id + p->tokens, batch->ids, batch->tokens * sizeof *p->id);
    for (size_t i = 0; i < masked->count; i++) {
        p->row[p->masked + i] = (int64_t)p->tokens + masked->row[i];
        p->label[p->masked + i] = masked->label[i];
        p->best[p->masked + i] = best[i];
        p->nll[p->masked + i] = nll[i];
    }
    for (size_t i = 0; i < batch->texts; i++)
        p->offset[p->windows + i + 1] = (int64_t)p->tokens + batch->offset[i + 1];
    p->windows += batch->texts;
    p->tokens += batch->tokens;
    p->masked += masked->count;
}

static nvdp_status write_positions(struct nvdp_context *ctx, const struct nvdp__positions *p,
                                   const char *path) {
    const struct nvdp_tensor_source tensors[] = {
        {"offset", NVDP_DTYPE_I64, 1, {p->windows + 1}, p->offset},
        {"input_ids", NVDP_DTYPE_I32, 1, {p->tokens}, p->id},
        {"row", NVDP_DTYPE_I64, 1, {p->masked}, p->row},
        {"label", NVDP_DTYPE_I32, 1, {p->masked}, p->label},
        {"predicted", NVDP_DTYPE_I32, 1, {p->masked}, p->best},
        {"nll", NVDP_DTYPE_F64, 1, {p->masked}, p->nll},
    };
    static const char *const metadata[] = {"nvdp_format", "mlm-positions/1", "unit", "nats", NULL};
    return nvdp_safetensors_write(ctx, path, sizeof tensors / sizeof tensors[0], tensors, metadata);
}

static void release_positions(struct nvdp__positions *p) {
    free(p->offset);
    free(p->id);
    free(p->row);
    free(p->label);
    free(p->best);
    free(p->nll);
}

/* ---- scores ---- */

/* Sums over batches; processes that train together add them up. */
struct sums {
    double tokens, masked, nll, right;
};

static nvdp_status score_batch(struct nvdp__mlm_evaluator *e, struct nvdp__pretrain_model *model,
                               size_t first, size_t n, struct sums *sum) {
    const struct nvdp__pass pass = {0};
    const struct nvdp__mask_key key = {.seed = e->seed, .purpose = NVDP__PURPOSE_EVAL_MASK};
    const struct nvdp__privacy_key draws = {e->seed, 0, true, first};
    const struct nvdp__masked *targets = &e->batcher.masked;
    struct nvdp__pretrain_losses losses;
    nvdp__batcher_fill(&e->batcher, &e->windows, e->order + first, 0, n, &key);
    if (e->privatizer != NULL)
        NVDP_TRY(nvdp__privatize(e->privatizer, e->batcher.batch, targets, &draws, &targets));
    NVDP_TRY(nvdp__pretrain_model_step(model, e->batcher.batch, targets, &pass, &losses));
    sum->tokens += (double)e->batcher.batch->tokens;
    sum->masked += (double)e->batcher.masked.count;
    sum->nll += losses.nll;
    sum->right += losses.right;
    return NVDP_OK;
}

nvdp_status nvdp__mlm_score(struct nvdp__mlm_evaluator *e, struct nvdp__pretrain_model *model,
                            struct nvdp__positions *positions, struct nvdp_mlm_scores *scores) {
    struct sums of = {0};
    struct nvdp_mlm_scores sum = {.struct_size = sizeof sum, .windows = e->count};
    struct nvdp__meter meter;
    nvdp_status status = NVDP_OK;
    nvdp__meter_begin(&meter, e->ctx, "evaluate", "window", 0, e->count);
    for (size_t first = 0; first < e->count && status == NVDP_OK; first += e->batch) {
        size_t n = nvdp__min(e->count - first, e->batch);
        if (first / e->batch % nvdp__rank_count(e->ctx) == nvdp__rank(e->ctx))
            status = score_batch(e, model, first, n, &of);
        if (positions != NULL && status == NVDP_OK)
            add_positions(positions, &e->batcher, model->nll, model->best);
        nvdp__meter_update(&meter, first + n, of.tokens, "tok", NAN);
        if (status == NVDP_OK && nvdp_context_cancelled(e->ctx))
            status = nvdp__fail(e->ctx, NVDP_ERR_CANCELLED, "interrupted during evaluation");
    }
    nvdp__meter_end(&meter);
    NVDP_TRY(nvdp__rank_agree(e->ctx, status));
    NVDP_TRY(nvdp__rank_sum(e->ctx, sizeof of / sizeof of.tokens, &of.tokens));
    sum.tokens = (uint64_t)of.tokens;
    sum.masked = (uint64_t)of.masked;
    double masked = (double)(sum.masked > 0 ? sum.masked : 1);
    sum.accuracy = of.right / masked;
    sum.nll = of.nll / masked;
    sum.perplexity = exp(sum.nll);
    *scores = sum;
    return NVDP_OK;
}

struct nvdp_coverage nvdp__corpus_coverage(const struct nvdp__corpus *corpus,
                                           const struct nvdp__piece_table *pieces,
                                           int32_t unknown) {
    uint64_t words = 0;
    uint64_t missing = 0;
    for (size_t i = 0; i < corpus->tokens; i++) {
        int32_t id = nvdp__corpus_id(corpus, i);
        words += !pieces->continues[id];
        missing += id == unknown;
    }
    double each = (double)(words > 0 ? words : 1);
    return (struct nvdp_coverage){.words = words,
                                  .unknown = (double)missing / each,
                                  .pieces_per_word = (double)corpus->tokens / each};
}

/* ---- opening a model ---- */

static nvdp_status check_head(struct nvdp_context *ctx, const char *directory) {
    static const char head[] = "cls.predictions.transform.dense.weight";
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weights *weights = NULL;
    NVDP_TRY(nvdp__weights_open(ctx, directory, &weights));
    if (nvdp__weights_find_tensor(weights, head) == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a model with a masked-LM head, found an encoder without "
                          "one (tensor '%s' is missing); train a head with nvdp pretrain --init",
                          nvdp__weights_path(weights), head);
    return NVDP_OK;
}

nvdp_status nvdp__mlm_open(struct nvdp_context *ctx, const char *directory, bool training,
                           struct nvdp_bert_config *config, struct nvdp_tokenizer **tokenizer,
                           struct nvdp__pretrain_model *model) {
    NVDP_TRY(nvdp__bert_config_read(ctx, directory, config));
    NVDP_TRY(nvdp__pretrain_model_create(ctx, config, NVDP__OBJECTIVE_MLM, training, model));
    NVDP_TRY(nvdp_tokenizer_load(ctx, directory, tokenizer));
    NVDP_TRY(nvdp__wordpiece_only(ctx, *tokenizer));
    NVDP_TRY(nvdp_bert_check_vocabulary(ctx, directory, config, nvdp_tokenizer_size(*tokenizer)));
    NVDP_TRY(check_head(ctx, directory));
    return nvdp__pretrain_model_load(model, directory, true);
}

nvdp_status nvdp__mlm_check_length(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                                   size_t length) {
    if (length >= 4 && length <= config->max_position_embeddings) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "{length}: expected 4 to %zu, the model's max_position_embeddings, found %zu",
                      config->max_position_embeddings, length);
}

/* ---- nvdp_mlm_evaluate ---- */

struct evaluation {
    struct nvdp_context *ctx;
    const struct nvdp__mlm_options *config;
    char (*digest)[NVDP__DIGEST_HEX];
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__piece_table pieces;
    struct nvdp__corpus corpus;
    struct nvdp__pretrain_model model;
    struct nvdp__mlm_evaluator evaluator;
    struct nvdp__positions positions;
};

static nvdp_status open_text(struct evaluation *e) {
    const struct nvdp__mlm_options *c = e->config;
    e->digest = nvdp__calloc(e->ctx, c->texts, sizeof *e->digest);
    if (e->digest == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < c->texts; i++) {
        NVDP_TRY(nvdp__file_sha256(e->ctx, c->text[i], e->digest[i]));
    }
    return nvdp__corpus_cached(e->ctx, e->tokenizer, c->text,
                               (const char(*)[NVDP__DIGEST_HEX])e->digest, c->texts, c->cache,
                               &e->corpus);
}

static nvdp_status open_model(struct evaluation *e) {
    const struct nvdp__mlm_options *c = e->config;
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__mlm_open(e->ctx, c->model, false, &bert, &e->tokenizer, &e->model));
    NVDP_TRY(nvdp__mlm_check_length(e->ctx, &bert, c->length));
    NVDP_TRY(nvdp__pieces_create(e->ctx, e->tokenizer, &e->pieces));
    return nvdp__pretrain_model_plan(&e->model, c->batch, c->length,
                                     nvdp__batcher_masked(c->batch, c->length, c->mask_prob), NULL);
}

nvdp_status nvdp__mlm_evaluate(struct nvdp_context *ctx, const struct nvdp__mlm_options *config,
                               struct nvdp_mlm_scores *out) {
    nvdp_status status = NVDP_OK;
    struct evaluation e = {.ctx = ctx, .config = config};
    if (config->model == NULL || config->texts == 0)
        NVDP_TRY_OR_CLEAN(
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                       "expected the options model and text, found only one or neither"));
    NVDP_TRY_OR_CLEAN(nvdp__schema_check(ctx, &nvdp__mlm_schema, config));
    NVDP_TRY_OR_CLEAN(open_model(&e));
    NVDP_TRY_OR_CLEAN(open_text(&e));
    NVDP_TRY_OR_CLEAN(nvdp__mlm_evaluator_create(ctx, &e.corpus, &e.pieces, config, &e.evaluator));
    bool keep = config->positions != NULL;
    struct nvdp_mlm_scores scores;
    if (keep) NVDP_TRY_OR_CLEAN(create_positions(&e.evaluator, config->mask_prob, &e.positions));
    NVDP_TRY_OR_CLEAN(nvdp__mlm_score(&e.evaluator, &e.model, keep ? &e.positions : NULL, &scores));
    if (keep) NVDP_TRY_OR_CLEAN(write_positions(ctx, &e.positions, config->positions));
    *out = scores;
cleanup:
    release_positions(&e.positions);
    nvdp__mlm_evaluator_release(&e.evaluator);
    if (e.model.ctx != NULL) nvdp__pretrain_model_release(&e.model);
    nvdp__corpus_close(&e.corpus);
    nvdp__pieces_release(&e.pieces);
    nvdp_tokenizer_free(e.tokenizer);
    free(e.digest);
    return status;
}

nvdp_status nvdp_mlm_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                              struct nvdp_mlm_scores *out) {
    struct nvdp__mlm_options options;
    struct nvdp_mlm_scores scores;
    nvdp__autofree const char **list = NULL;
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__mlm_schema, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__check_folder_of(ctx, options.positions));
    NVDP_TRY(nvdp__list_split(ctx, options.text_list, &list, &options.texts));
    options.text = list;
    NVDP_TRY(nvdp__mlm_evaluate(ctx, &options, &scores));
    NVDP__GIVE(out, &scores);
    return NVDP_OK;
}
