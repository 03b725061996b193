/* Opening a run: texts, vocabulary, model, directory, memory. */
#include "base/file.h"
#include "pretrain/trainer.h"
#include "train/metrics_file.h"
#include "train/outdir.h"

#include <stdlib.h>
#include <string.h>

/* What a run writes; --overwrite removes exactly these. */
static const char *const files[] = {"pretrain.json", "metrics.jsonl",        "result.json",
                                    "state.ckpt",    "config.json",          "model.safetensors",
                                    "vocab.txt",     "tokenizer_config.json"};

/* ---- texts ---- */

static nvdp_status hash_texts(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    t->digest = nvdp__calloc(t->ctx, c->texts + c->eval_texts, sizeof *t->digest);
    if (t->digest == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < c->texts + c->eval_texts; i++) {
        const char *path = i < c->texts ? c->text[i] : c->eval_text[i - c->texts];
        NVDP_RETURN_IF_FAILED(nvdp__file_sha256(t->ctx, path, t->digest[i]));
    }
    return NVDP_OK;
}

static nvdp_status open_corpora(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    const char(*digest)[NVDP__DIGEST_HEX] = (const char(*)[NVDP__DIGEST_HEX])t->digest;
    int32_t unknown = nvdp_tokenizer_special(t->tokenizer, NVDP_TOKEN_UNK);
    NVDP_RETURN_IF_FAILED(
        nvdp__corpus_cached(t->ctx, t->tokenizer, c->text, digest, c->texts, c->cache, &t->corpus));
    if (c->eval_texts > 0)
        NVDP_RETURN_IF_FAILED(nvdp__corpus_cached(t->ctx, t->tokenizer, c->eval_text,
                                                  digest + c->texts, c->eval_texts, c->cache,
                                                  &t->eval_corpus));
    t->coverage = nvdp__corpus_coverage(&t->corpus, &t->pieces, unknown);
    if (c->eval_texts > 0)
        t->eval_coverage = nvdp__corpus_coverage(&t->eval_corpus, &t->pieces, unknown);
    nvdp__log(t->ctx, NVDP_LOG_INFO,
              "text: %zu documents, %zu sentences, %zu tokens; %.4f pieces a word, %.4f %% unknown",
              t->corpus.documents, t->corpus.sentences, t->corpus.tokens,
              t->coverage.pieces_per_word, 100 * t->coverage.unknown);
    return NVDP_OK;
}

/* ---- the model ---- */

nvdp_status nvdp__pretrainer_bert(struct nvdp__pretrainer *t, size_t pieces,
                                  struct nvdp_bert_config *bert) {
    struct nvdp_pretrain_config *c = &t->config;
    *bert = nvdp__pretrain_bert(c, pieces);
    if (c->init == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp_bert_config_read(t->ctx, c->init, bert));
    NVDP_RETURN_IF_FAILED(nvdp_bert_check_vocabulary(t->ctx, c->init, bert, pieces));
    c->hidden = bert->hidden_size;
    c->layers = bert->num_hidden_layers;
    c->heads = bert->num_attention_heads;
    c->intermediate = bert->intermediate_size;
    c->max_positions = bert->max_position_embeddings;
    c->vocab_size = bert->vocab_size;
    if (c->length <= c->max_positions) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "length: expected at most max_position_embeddings %zu of %s, found %zu",
                      c->max_positions, c->init, c->length);
}

nvdp_status nvdp__pretrainer_model(struct nvdp__pretrainer *t,
                                   const struct nvdp_bert_config *bert) {
    enum nvdp_precision callers = nvdp_context_precision(t->ctx);
    nvdp_context_set_precision(t->ctx, t->config.precision);
    nvdp_status status =
        nvdp__pretrain_model_create(t->ctx, bert, t->config.objective, true, &t->model);
    nvdp_context_set_precision(t->ctx, callers);
    return status;
}

/* A resumed run's weights come from its state, its sizes from its own config.json. */
static nvdp_status open_model(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    struct nvdp_bert_config bert;
    size_t pieces = nvdp_tokenizer_size(t->tokenizer);
    if (c->resume) {
        NVDP_RETURN_IF_FAILED(nvdp_bert_config_read(t->ctx, c->out, &bert));
        NVDP_RETURN_IF_FAILED(nvdp_bert_check_vocabulary(t->ctx, c->out, &bert, pieces));
    } else {
        NVDP_RETURN_IF_FAILED(nvdp__pretrainer_bert(t, pieces, &bert));
    }
    NVDP_RETURN_IF_FAILED(nvdp__pretrainer_model(t, &bert));
    if (c->resume) return NVDP_OK;
    nvdp__pretrain_model_initialise(&t->model, c->seed);
    if (c->init == NULL)
        return c->start == NVDP_START_NEIGHBOURS
                   ? nvdp__initialise_neighbours(&t->model.bert, &t->model.dev, &t->model.params,
                                                 c->seed)
                   : NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_read_init(t));
    return nvdp__pretrain_model_load(&t->model, c->init, false);
}

static nvdp_status allocate(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    t->optimizer = (struct nvdp__optimizer){
        .lr = c->lr,
        .beta1 = c->beta1,
        .beta2 = c->beta2,
        .eps = c->adam_eps,
        .weight_decay = c->weight_decay,
        .clip_norm = c->clip_norm,
        .muon = c->optimizer == NVDP_OPTIMIZER_MUON,
        .momentum = c->momentum,
    };
    NVDP_RETURN_IF_FAILED(nvdp__optimizer_create(t->ctx, &t->model.params, &t->optimizer));
    NVDP_RETURN_IF_FAILED(
        nvdp__pretrain_model_plan(&t->model, c->batch, c->length,
                                  nvdp__batcher_masked(c->batch, c->length, c->mask_prob), NULL));
    NVDP_RETURN_IF_FAILED(nvdp__batcher_create(t->ctx, &t->corpus, &t->pieces, c->batch, c->length,
                                               c->mask_prob, c->whole_word, &t->batcher));
    t->examples.ctx = t->ctx;
    if (c->eval_texts == 0) return NVDP_OK;
    const struct nvdp_mlm_config eval = {.length = c->length,
                                         .batch = c->batch,
                                         .mask_prob = c->mask_prob,
                                         .whole_word = c->whole_word,
                                         .seed = c->seed,
                                         .limit = c->eval_limit};
    return nvdp__mlm_evaluator_create(t->ctx, &t->eval_corpus, &t->pieces, &eval, &t->evaluator);
}

/* ---- the directory ---- */

/* Nothing is written, and no earlier run removed, before vocabulary and weights are known good. */
static nvdp_status prepare(struct nvdp__pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__outdir_check(t->ctx, t->config.out, t->config.overwrite));
    NVDP_RETURN_IF_FAILED(
        nvdp__outdir_remove(t->ctx, t->config.out, files, sizeof files / sizeof files[0]));
    NVDP_RETURN_IF_FAILED(nvdp__make_directory(t->ctx, t->config.out));
    return nvdp__pretrain_write_vocabulary(t);
}

/* What a resume needs, from step 0 on; pretrain.json, which it looks for, comes last. */
static nvdp_status begin(struct nvdp__pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_config_save(t));
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_state_save(t));
    return nvdp__pretrain_write_run(t);
}

/* Where a run is to start from itself, its weights would be gone. */
static nvdp_status check_init(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    char *init = c->init == NULL ? NULL : realpath(c->init, NULL);
    char *out = realpath(c->out, NULL);
    bool same = init != NULL && out != NULL && strcmp(init, out) == 0;
    free(init);
    free(out);
    if (!same) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected another directory than the model to start from", c->out);
}

static nvdp_status check_place(struct nvdp__pretrainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__outdir_check(t->ctx, t->config.out, t->config.overwrite));
    return check_init(t);
}

nvdp_status nvdp__pretrainer_open(struct nvdp__pretrainer *t) {
    bool resume = t->config.resume;
    if (!resume) NVDP_RETURN_IF_FAILED(check_place(t));
    NVDP_RETURN_IF_FAILED(hash_texts(t));
    if (resume) NVDP_RETURN_IF_FAILED(nvdp__pretrain_check_texts(t));
    NVDP_RETURN_IF_FAILED(nvdp__pretrain_vocabulary(t));
    NVDP_RETURN_IF_FAILED(open_model(t));
    if (!resume) NVDP_RETURN_IF_FAILED(prepare(t));
    NVDP_RETURN_IF_FAILED(open_corpora(t));
    NVDP_RETURN_IF_FAILED(allocate(t));
    NVDP_RETURN_IF_FAILED(resume ? nvdp__pretrain_state_load(t) : begin(t));
    return nvdp__metrics_file_open(t->ctx, t->config.out, t->state.metrics_bytes, &t->metrics);
}

void nvdp__pretrainer_close(struct nvdp__pretrainer *t) {
    if (t->metrics != NULL) fclose(t->metrics);
    nvdp__mlm_evaluator_release(&t->evaluator);
    nvdp__batcher_release(&t->batcher);
    nvdp__examples_release(&t->examples);
    free(t->order);
    nvdp__optimizer_release(&t->optimizer);
    if (t->model.ctx != NULL) nvdp__pretrain_model_release(&t->model);
    nvdp__corpus_close(&t->corpus);
    nvdp__corpus_close(&t->eval_corpus);
    nvdp__pieces_release(&t->pieces);
    nvdp_tokenizer_free(t->tokenizer);
    json_decref(t->tokenizer_config);
    json_decref(t->init_record);
    free(t->vocabulary);
    free(t->digest);
    free(t->lists);
    json_decref(t->config_owner);
}
