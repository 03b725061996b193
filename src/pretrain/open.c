/* Opens a pretraining run for trainer.c, in the order of nvdp__pretrainer_open() at the end: texts, secrets, model,
 * lineage, memory, directory. */
#include "base/base.h"
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "pretrain/pretrainer.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/ranks.h"
#include "job/job.h"
#include "tensor/per_example.h"
#include "text/dataset.h"
#include "text/plain_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

/* Compares the lines of the files with the public texts. */
static nvdp_status compare_lines(struct nvdp__pretrainer *t, const char *const *path, size_t files,
                                 struct nvdp__public_texts *public) {
    nvdp__autoptr(nvdp__plain_text_close) struct nvdp__plain_text *plain = NULL;
    struct nvdp__plain_line line;
    bool found = true;
    if (files == 0) return NVDP_OK;
    NVDP_TRY(nvdp__plain_text_open(t->ctx, path, files, &plain));
    for (size_t row = 0;; row++) {
        NVDP_TRY(nvdp__plain_text_next(plain, &line, &found));
        if (!found) break;
        NVDP_TRY(nvdp__public_texts_compare(public, line.text, line.size, row));
    }
    return NVDP_OK;
}

/* Computes the digests of the texts. Fails if a text to privatize is among the public texts that choose the sensitive
 * tokens, or if a resumed run began with other texts. */
static nvdp_status check_texts(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    const char *path = c->sanitizer.sensitive_from;
    nvdp__auto(nvdp__public_texts_release) struct nvdp__public_texts public = {.ctx = t->ctx,
                                                                               .path = path};
    NVDP_TRY(NVDP__NEW(t->ctx, t->digest, c->texts + c->eval_texts));
    for (size_t i = 0; i < c->texts + c->eval_texts; i++)
        NVDP_TRY(nvdp__file_sha256(t->ctx, i < c->texts ? c->text[i] : c->eval_text[i - c->texts],
                                   t->digest[i]));
    if (path != NULL && !c->sanitizer.public_independent) {
        NVDP_TRY(nvdp__public_texts_add_file(&public, path));
        NVDP_TRY(compare_lines(t, c->text, c->texts, &public));
        NVDP_TRY(compare_lines(t, c->eval_text, c->eval_texts, &public));
        NVDP_TRY(nvdp__public_texts_check(&public, "{sensitive-from}"));
    }
    return c->resume != NULL ? nvdp__pretrainer_check_texts(t) : NVDP_OK;
}

static nvdp_status open_corpora(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    const char(*digest)[NVDP__DIGEST_HEX] = (const char(*)[NVDP__DIGEST_HEX])t->digest;
    int32_t unknown = nvdp_tokenizer_special(t->tokenizer, NVDP_TOKEN_UNK);
    NVDP_TRY(
        nvdp__corpus_cached(t->ctx, t->tokenizer, c->text, digest, c->texts, c->cache, &t->corpus));
    if (c->eval_texts > 0)
        NVDP_TRY(nvdp__corpus_cached(t->ctx, t->tokenizer, c->eval_text, digest + c->texts,
                                     c->eval_texts, c->cache, &t->eval_corpus));
    if (!nvdp__private_vocabulary(t))
        t->coverage = nvdp__corpus_coverage(&t->corpus, &t->pieces, unknown);
    if (c->eval_texts > 0)
        t->eval_coverage = nvdp__corpus_coverage(&t->eval_corpus, &t->pieces, unknown);
    /* not logged, because the counts below have no noise */
    if (nvdp__private_vocabulary(t)) return NVDP_OK;
    nvdp__log(t->ctx, NVDP_LOG_INFO,
              "text: %zu documents, %zu sentences, %zu tokens; %.4f pieces per word, %.4f %% "
              "unknown words",
              t->corpus.documents, t->corpus.sentences, t->corpus.tokens,
              t->coverage.pieces_per_word, 100 * t->coverage.unknown);
    return NVDP_OK;
}

/* Reads the secrets, whose words must be in the vocabulary. */
static nvdp_status open_secrets(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    t->secrets.ctx = t->ctx;
    if (c->plant == NULL) return NVDP_OK;
    const struct nvdp__path own = nvdp__path(c->out, "planted.json");
    const char *planted = c->resume == NULL ? c->plant : own.text;
    NVDP_TRY(nvdp__secrets_read(planted, t->tokenizer, &t->secrets));
    for (size_t i = 0; i < t->secrets.count; i++) {
        const struct nvdp__secret *secret = &t->secrets.at[i];
        if (secret->window && nvdp__next_sentence(c->objective))
            return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                              "%s: objective %s trains on pairs, so secrets must be placed in "
                              "the text, found secrets in windows of their own",
                              planted, nvdp__objective_names[c->objective]);
        if (secret->length + 2 > c->length)
            return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                              "%s: form %s: expected at most %zu - 2 words, because of length",
                              planted, secret->form, c->length);
    }
    return NVDP_OK;
}

/* ---- the model ---- */

nvdp_status nvdp__pretrainer_bert(struct nvdp__pretrainer *t, size_t pieces,
                                  struct nvdp_bert_config *bert) {
    struct nvdp__pretrain_options *c = &t->config;
    *bert = nvdp__pretrain_bert(c, pieces);
    if (c->init == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__bert_config_read(t->ctx, c->init, bert));
    NVDP_TRY(nvdp__bert_check_vocabulary(t->ctx, c->init, bert, pieces));
    c->hidden = bert->hidden_size;
    c->layers = bert->num_hidden_layers;
    c->heads = bert->num_attention_heads;
    c->intermediate = bert->intermediate_size;
    c->max_positions = bert->max_position_embeddings;
    c->vocab_size = bert->vocab_size;
    if (c->freeze_layers > c->layers)
        return nvdp__fail(
            t->ctx, NVDP_ERR_ARGUMENT,
            "{freeze-layers}: expected at most %zu, the num_hidden_layers of %s, found %zu",
            c->layers, c->init, c->freeze_layers);
    if (c->length <= c->max_positions) return NVDP_OK;
    return nvdp__fail(
        t->ctx, NVDP_ERR_ARGUMENT,
        "{length}: expected at most %zu, the max_position_embeddings of %s, found %zu",
        c->max_positions, c->init, c->length);
}

nvdp_status nvdp__pretrainer_model(struct nvdp__pretrainer *t,
                                   const struct nvdp_bert_config *bert) {
    enum nvdp_precision callers = nvdp__context_precision(t->ctx);
    nvdp_context_set_precision(t->ctx, t->config.precision);
    nvdp_status status =
        nvdp__pretrain_model_create(t->ctx, bert, t->config.objective, true, &t->model);
    nvdp_context_set_precision(t->ctx, callers);
    if (status == NVDP_OK && t->config.freeze_layers > 0)
        nvdp__pretrain_model_freeze(&t->model, t->config.freeze_layers);
    return status;
}

/* Loads the frozen weights of a resumed run, which the saved state does not hold. Runs from before layers could be
 * frozen call the digest of the frozen weights `words`. */
static nvdp_status load_frozen(struct nvdp__pretrainer *t) {
    const char *recorded = json_string_value(json_object_get(t->config_owner, "frozen"));
    char frozen[NVDP__DIGEST_HEX];
    if (recorded == NULL) recorded = json_string_value(json_object_get(t->config_owner, "words"));
    NVDP_TRY(nvdp__pretrain_model_load(&t->model, t->config.init, false));
    nvdp__pretrainer_frozen(t, frozen);
    if (recorded != NULL && strcmp(recorded, frozen) == 0) return NVDP_OK;
    return nvdp__fail(
        t->ctx, NVDP_ERR_INPUT,
        "%s: expected the same %s as at the beginning of the run (BLAKE2b %s), found %s",
        t->config.init, t->model.frozen > 0 ? "frozen layers" : "word embeddings",
        recorded != NULL ? recorded : "which was not recorded", frozen);
}

/* Opens the model. A resumed run takes the weights from its state and the sizes from its config.json. */
static nvdp_status open_model(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    nvdp__autoptr(json_decref) json_t *start = NULL;
    struct nvdp_bert_config bert;
    size_t pieces = nvdp_tokenizer_size(t->tokenizer);
    if (c->resume != NULL) {
        NVDP_TRY(nvdp__bert_config_read(t->ctx, c->out, &bert));
        NVDP_TRY(nvdp__bert_check_vocabulary(t->ctx, c->out, &bert, pieces));
    } else {
        NVDP_TRY(nvdp__pretrainer_bert(t, pieces, &bert));
    }
    NVDP_TRY(nvdp__pretrainer_model(t, &bert));
    if (c->resume != NULL && nvdp__params_frozen(&t->model.params) > 0) return load_frozen(t);
    if (c->resume != NULL) return NVDP_OK;
    nvdp__pretrain_model_initialise(&t->model, c->seed);
    if (c->init == NULL)
        return c->start == NVDP__START_NEIGHBORS
                   ? nvdp__initialize_neighbor_heads(&t->model.bert, &t->model.dev,
                                                     &t->model.params, c->seed)
                   : NVDP_OK;
    NVDP_TRY(nvdp__json_read_optional(t->ctx, c->init, "config.json", &start));
    t->init_record = json_incref(json_object_get(start, "nvdp_pretraining"));
    return nvdp__pretrain_model_load(&t->model, c->init, false);
}

/* ---- lineage of the start model ---- */

/* Returns the guarantee of the private vocabulary for a document. */
static struct nvdp_dp_guarantee words_of_document(const struct nvdp__pretrainer *t) {
    if (t->words.max_words == 0) return (struct nvdp_dp_guarantee){INFINITY, 1};
    const struct nvdp__example_privacy of = nvdp__private_removal(&t->words, t->words.max_words);
    return (struct nvdp_dp_guarantee){of.epsilon, of.delta};
}

/* Sets t->lineage and t->start. */
static nvdp_status take_lineage(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts texts = {0};
    const struct nvdp__seen seen = {c->texts, (const char(*)[NVDP__DIGEST_HEX])t->digest, c->text,
                                    &texts, c->length};
    const bool trains = c->init == NULL && c->vocab == NULL && !nvdp__private_vocabulary(t);
    const struct nvdp__path vocabulary = nvdp__path_folder(c->vocab != NULL ? c->vocab : "");
    NVDP_TRY(nvdp__seen_texts_of_files(t->ctx, c->text, c->texts, &texts));
    /* the lineage of the start model, or of the model from whose folder only the vocabulary is taken */
    NVDP_TRY(nvdp__lineage_read(t->ctx, c->vocab != NULL ? vocabulary.text : c->init, &t->lineage));
    if (c->vocab != NULL) nvdp__lineage_vocabularies(&t->lineage);
    t->lineage.counts_words = nvdp__dp_wanted(&c->dp) && t->words.epsilon > 0;
    if (nvdp__dp_wanted(&c->dp))
        NVDP_TRY(
            nvdp__lineage_promise(t->ctx, &t->lineage, seen, c->dp.insecure_seed != 0, &t->start));
    NVDP_TRY(nvdp__lineage_add(t->ctx, &t->lineage, c->out, seen, trains));
    if (c->init == NULL && c->vocab == NULL && t->words.epsilon > 0)
        nvdp__lineage_words(&t->lineage, words_of_document(t));
    return NVDP_OK;
}

/* ---- memory ---- */

/* Lists the examples of private training, each a window or a pair; the examples are the same in every step. */
static nvdp_status open_private(struct nvdp__pretrainer *t) {
    struct nvdp__pretrain_options *c = &t->config;
    if (!nvdp__dp_wanted(&c->dp)) return NVDP_OK;
    NVDP_TRY(
        nvdp__next_sentence(c->objective)
            ? nvdp__examples_pairs(&t->examples, &t->corpus, &t->pieces, c->length, c->seed, 0)
            : nvdp__examples_windows(&t->examples, &t->corpus, &t->pieces, c->length, NULL, 0));
    nvdp__lineage_divides(&t->lineage, nvdp__examples_of_document(&t->examples, &t->corpus),
                          nvdp__next_sentence(c->objective) ? 0 : c->length);
    NVDP_TRY(nvdp__examples_planted(&t->examples, &t->plants));
    NVDP_TRY(nvdp__reserve(t->ctx, &t->job.order, &t->order_capacity, t->examples.count,
                           sizeof *t->job.order));
    struct nvdp_dp_guarantee before[NVDP__DP_BEFORE] = {[NVDP__DP_START] = t->start};
    if (t->words.epsilon > 0) {
        const struct nvdp__example_privacy of = nvdp__private_removal(&t->words, c->length - 2);
        before[NVDP__DP_VOCABULARY] = (struct nvdp_dp_guarantee){of.epsilon, of.delta};
    }
    NVDP_TRY(nvdp__dp_create(t->ctx, &c->dp, t->examples.count, 0, c->stop_after, c->batch, before,
                             &t->job.dp));
    c->stop_after = t->job.dp->steps;
    t->model.per_example = true;
    return NVDP_OK;
}

static nvdp_status allocate(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    t->examples.ctx = t->ctx;
    if (t->secrets.count > 0)
        NVDP_TRY(
            nvdp__plants_create(t->ctx, c->plant, &t->secrets, &t->corpus, &t->pieces, &t->plants));
    NVDP_TRY(open_private(t));
    /* In private training, `batch` is the number of examples that are processed at a time. */
    const size_t batch = t->job.dp != NULL ? c->batch : nvdp__rank_max(t->ctx, c->batch);
    const size_t masked = nvdp__batcher_masked(batch, c->length, c->mask_prob);
    t->job = (struct nvdp__job){
        .ctx = t->ctx,
        .kind = &nvdp__pretrain_kind,
        .run = t,
        .state = &t->state,
        .dev = &t->model.dev,
        .params = &t->model.params,
        .optimizer = {.adamw = c->adamw, .kind = c->optimizer, .momentum = c->momentum},
        .dp = t->job.dp,
        .order = t->job.order,
        .batch = c->batch,
        .sums = &t->sums.losses.nll,
        .seed = c->seed,
        .steps = c->stop_after,
        .schedule = c->steps,
        .checkpoint_seconds = c->checkpoint_seconds,
        .out = c->out,
        .lock = t->job.lock,
    };
    NVDP_TRY(nvdp__optimizer_create(t->ctx, &t->model.params, &t->job.optimizer));
    NVDP_TRY(nvdp__grad_sum_create(t->ctx, &t->model.params, 0, &t->job.sum));
    NVDP_TRY(nvdp__pretrain_model_plan(&t->model, batch, c->length, masked, NULL));
    NVDP_TRY(nvdp__batcher_create(t->ctx, &t->corpus, &t->pieces, batch, c->length, c->mask_prob,
                                  c->whole_word, &t->batcher));
    if (t->secrets.count > 0) t->batcher.plants = &t->plants;
    if (t->job.dp != NULL)
        NVDP_TRY(nvdp__per_example_create(&t->model.dev, &t->model.params, batch, c->length, masked,
                                          &t->job.dp->grads));
    if (nvdp__adaptive(t->config.objective))
        NVDP_TRY(nvdp__privatizer_create(t->ctx, &c->sanitizer, c->objective, t->tokenizer,
                                         &t->pieces, c->hidden,
                                         nvdp__value(&t->model.params, t->model.bert.word), batch,
                                         c->length, masked, &t->privatizer));
    if (c->eval_texts == 0) return NVDP_OK;
    const struct nvdp__mlm_options eval = {.length = c->length,
                                           .batch = batch,
                                           .mask_prob = c->mask_prob,
                                           .whole_word = c->whole_word,
                                           .seed = c->seed,
                                           .limit = c->eval_limit};
    NVDP_TRY(nvdp__mlm_evaluator_create(t->ctx, &t->eval_corpus, &t->pieces, &eval, &t->evaluator));
    if (nvdp__adaptive(t->config.objective)) t->evaluator.privatizer = &t->privatizer;
    return NVDP_OK;
}

/* ---- the directory ---- */

/* The files that a run writes; --overwrite removes exactly these files. */
static const char *const files[] = {
    "pretrain.json",      "seen_texts.bin",   "metrics.jsonl",
    "result.json",        "state.ckpt",       "config.json",
    "model.safetensors",  "vocab.txt",        "tokenizer_config.json",
    "vocab_privacy.json", "dp-statement.txt", "planted.json"};

/* Prepares the directory. Vocabulary and weights were checked before anything is written or an earlier run is
 * removed. */
static nvdp_status prepare(struct nvdp__pretrainer *t) {
    NVDP_TRY(nvdp__outdir_lock(t->ctx, t->config.out, &t->job.lock));
    NVDP_TRY(nvdp__outdir_check(t->ctx, t->config.out, t->config.overwrite, NVDP__RUN_WAYS));
    NVDP_TRY(nvdp__outdir_remove(t->ctx, t->config.out, files, sizeof files / sizeof files[0]));
    return nvdp__pretrainer_write_vocabulary(t);
}

/* Fails if the directory is in use, or if the run would start from weights in this directory, which would be
 * removed. */
static nvdp_status check_directory(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    NVDP_TRY(nvdp__outdir_check(t->ctx, c->out, c->overwrite, NVDP__RUN_WAYS));
    if (!nvdp__same_file(c->init, c->out)) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "%s: expected a directory other than the one of the starting model", c->out);
}

/* Writes everything that a resume needs from step 0 on. A resume looks for pretrain.json, so this file is written
 * last. */
static nvdp_status begin(struct nvdp__pretrainer *t) {
    NVDP_TRY(nvdp__pretrainer_save_config(t));
    NVDP_TRY(nvdp__job_save(&t->job));
    NVDP_TRY(nvdp__lineage_write(t->ctx, &t->lineage, t->config.out));
    NVDP_TRY(nvdp__pretrainer_write_run(t));
    return nvdp__job_open_metrics(&t->job);
}

static nvdp_status continue_run(struct nvdp__pretrainer *t) {
    NVDP_TRY(nvdp__job_load(&t->job, NULL));
    if (nvdp__rank(t->ctx) != 0) return NVDP_OK;
    NVDP_TRY(nvdp__outdir_lock(t->ctx, t->config.out, &t->job.lock));
    return nvdp__job_open_metrics(&t->job);
}

/* ---- all of it ---- */

nvdp_status nvdp__pretrainer_open(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    nvdp_status status = NVDP_OK;
    if (c->resume == NULL) NVDP_TRY(NVDP__RANK_0_ONLY(t->ctx, check_directory(t)));
    NVDP_TRY(nvdp__rank_agree(t->ctx, check_texts(t)));
    NVDP_TRY(nvdp__rank_agree(t->ctx, nvdp__pretrainer_open_vocabulary(t)));
    NVDP_TRY(nvdp__rank_agree(t->ctx, open_secrets(t)));
    NVDP_TRY(nvdp__rank_agree(t->ctx, open_model(t)));
    NVDP_TRY(nvdp__rank_agree(t->ctx, take_lineage(t)));
    NVDP_TRY(nvdp__params_share(t->ctx, &t->model.params));
    if (c->resume == NULL) NVDP_TRY(NVDP__RANK_0_ONLY(t->ctx, prepare(t)));
    if (c->cache != NULL) /* rank 0 builds the cache, the other ranks read it */
        NVDP__RANK_0_FIRST(t->ctx, status, open_corpora(t));
    else
        status = nvdp__rank_agree(t->ctx, open_corpora(t));
    NVDP_TRY(status);
    NVDP_TRY(nvdp__rank_agree(t->ctx, allocate(t)));
    NVDP_TRY(nvdp__dp_share(t->job.dp));
    return c->resume != NULL ? nvdp__rank_agree(t->ctx, continue_run(t))
                             : NVDP__RANK_0_ONLY(t->ctx, begin(t));
}

void nvdp__pretrainer_close(struct nvdp__pretrainer *t) {
    nvdp__job_close(&t->job);
    nvdp__mlm_evaluator_release(&t->evaluator);
    nvdp__batcher_release(&t->batcher);
    nvdp__privatizer_release(&t->privatizer);
    nvdp__examples_release(&t->examples);
    nvdp__plants_release(&t->plants);
    nvdp__secrets_release(&t->secrets);
    nvdp__pretrain_model_release(&t->model);
    nvdp__corpus_close(&t->corpus);
    nvdp__corpus_close(&t->eval_corpus);
    nvdp__pieces_release(&t->pieces);
    nvdp_tokenizer_free(t->tokenizer);
    json_decref(t->tokenizer_config);
    json_decref(t->init_record);
    nvdp__lineage_release(&t->lineage);
    free(t->vocabulary);
    free(t->digest);
    free(t->lists);
    json_decref(t->config_owner);
}
