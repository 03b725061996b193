/* Scores a masked language model on held-out text (evaluate.h), for pretraining and for
 * nvdp_mlm_evaluate(). The file has, in this order, the windows, the file of predictions, the
 * scores, and nvdp_mlm_evaluate(). */
#include "pretrain/evaluate.h"
#include "encoder/encoder.h"
#include "encoder/safetensors.h"

#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "base/ranks.h"
#include "encoder/checkpoint.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPECIALS = 2 }; /* number of special tokens in [CLS] window [SEP] */

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
    NVDP_TRY(NVDP__NEW(ctx, made.order, made.count));
    for (size_t i = 0; i < made.count; i++) {
        made.order[i] = (int64_t)((__uint128_t)i * all / made.count);
    }
    return NVDP__HAND_OVER(evaluator, made);
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
                                    struct nvdp__memory *memory, struct nvdp__positions *p) {
    size_t tokens = 0;
    size_t masked = 0;
    for (size_t i = 0; i < e->count; i++) {
        size_t length = e->windows.at[e->order[i]].first_length;
        tokens += length + SPECIALS;
        masked += nvdp__mask_most(mask_prob, length);
    }
    return NVDP__ARRAYS(e->ctx, memory, NVDP__ITEMS(p->offset, e->count + 1),
                        NVDP__ITEMS(p->id, tokens), NVDP__ITEMS(p->row, masked),
                        NVDP__ITEMS(p->label, masked), NVDP__ITEMS(p->best, masked),
                        NVDP__ITEMS(p->nll, masked));
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
    const struct nvdp__tensor_source tensors[] = {
        {"offset", NVDP__DTYPE_I64, 1, {p->windows + 1}, p->offset},
        {"input_ids", NVDP__DTYPE_I32, 1, {p->tokens}, p->id},
        {"row", NVDP__DTYPE_I64, 1, {p->masked}, p->row},
        {"label", NVDP__DTYPE_I32, 1, {p->masked}, p->label},
        {"predicted", NVDP__DTYPE_I32, 1, {p->masked}, p->best},
        {"nll", NVDP__DTYPE_F64, 1, {p->masked}, p->nll},
    };
    static const char *const metadata[] = {"nvdp_format", "mlm-positions/1", "unit", "nats", NULL};
    return nvdp__safetensors_write(ctx, path, sizeof tensors / sizeof tensors[0], tensors,
                                   metadata);
}

/* ---- scores ---- */

/* Sums over batches; processes that train together add up their sums. */
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

nvdp_status nvdp__mlm_open(struct nvdp_context *ctx, const char *directory, bool training,
                           struct nvdp_bert_config *config, struct nvdp_tokenizer **tokenizer,
                           struct nvdp__pretrain_model *model) {
    static const char head[] = "cls.predictions.transform.dense.weight";
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    NVDP_TRY(nvdp__bert_config_read(ctx, directory, config));
    NVDP_TRY(nvdp__pretrain_model_create(ctx, config, NVDP__OBJECTIVE_MLM, training, model));
    NVDP_TRY(nvdp_tokenizer_load(ctx, directory, tokenizer));
    NVDP_TRY(nvdp__wordpiece_only(ctx, *tokenizer));
    NVDP_TRY(nvdp__bert_check_vocabulary(ctx, directory, config, nvdp_tokenizer_size(*tokenizer)));
    NVDP_TRY(nvdp__weights_open(ctx, directory, &weights));
    if (nvdp__weights_find_tensor(weights, head) == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a model with a masked-LM head, found an encoder without "
                          "one (tensor '%s' is missing); train a head with nvdp pretrain --init",
                          weights->path, head);
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

nvdp_status nvdp__mlm_evaluate(struct nvdp_context *ctx, const struct nvdp__mlm_options *config,
                               struct nvdp_mlm_scores *out) {
    nvdp__autofree char(*digest)[NVDP__DIGEST_HEX] = NULL;
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    nvdp__auto(nvdp__pieces_release) struct nvdp__piece_table pieces = {0};
    nvdp__auto(nvdp__corpus_close) struct nvdp__corpus corpus = {0};
    nvdp__auto(nvdp__pretrain_model_release) struct nvdp__pretrain_model model = {0};
    nvdp__auto(nvdp__mlm_evaluator_release) struct nvdp__mlm_evaluator evaluator = {0};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct nvdp__positions positions = {0};
    struct nvdp_bert_config bert;
    const bool keep = config->positions != NULL;
    if (config->model == NULL || config->texts == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "expected the options model and text, found only one or neither");
    NVDP_TRY(nvdp__schema_check(ctx, &nvdp__mlm_schema, config));
    NVDP_TRY(nvdp__mlm_open(ctx, config->model, false, &bert, &tokenizer, &model));
    NVDP_TRY(nvdp__mlm_check_length(ctx, &bert, config->length));
    NVDP_TRY(nvdp__pieces_create(ctx, tokenizer, &pieces));
    NVDP_TRY(nvdp__pretrain_model_plan(
        &model, config->batch, config->length,
        nvdp__batcher_masked(config->batch, config->length, config->mask_prob), NULL));
    NVDP_TRY(NVDP__NEW(ctx, digest, config->texts));
    for (size_t i = 0; i < config->texts; i++)
        NVDP_TRY(nvdp__file_sha256(ctx, config->text[i], digest[i]));
    NVDP_TRY(nvdp__corpus_cached(ctx, tokenizer, config->text,
                                 (const char(*)[NVDP__DIGEST_HEX])digest, config->texts,
                                 config->cache, &corpus));
    NVDP_TRY(nvdp__mlm_evaluator_create(ctx, &corpus, &pieces, config, &evaluator));
    if (keep) NVDP_TRY(create_positions(&evaluator, config->mask_prob, &memory, &positions));
    NVDP_TRY(nvdp__mlm_score(&evaluator, &model, keep ? &positions : NULL, out));
    return keep ? write_positions(ctx, &positions, config->positions) : NVDP_OK;
}

nvdp_status nvdp_mlm_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                              struct nvdp_mlm_scores *out) {
    struct nvdp__mlm_options options;
    struct nvdp_mlm_scores scores;
    nvdp__autofree const char **list = NULL;
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__mlm_schema, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__check_parent_folder(ctx, options.positions));
    NVDP_TRY(nvdp__list_split(ctx, options.text_list, &list, &options.texts));
    options.text = list;
    NVDP_TRY(nvdp__mlm_evaluate(ctx, &options, &scores));
    return NVDP__GIVE(out, &scores);
}
