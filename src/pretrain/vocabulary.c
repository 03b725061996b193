/* Opens the vocabulary of a pretraining run for open.c: a vocabulary that is trained on the text, read from a file,
 * or copied from the start model. nvdp__pretrainer_open_vocabulary(), near the end, selects one of these. */
#include "pretrain/pretrainer.h"

#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "base/ranks.h"
#include "job/job.h"
#include "text/sentence_folder.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY_LIMIT = 1 << 28, MIN_COUNT = 2 };

bool nvdp__private_vocabulary(const struct nvdp__pretrainer *t) {
    return t->config.words.epsilon > 0;
}

static struct nvdp__normalization normalization_rules(const struct nvdp__pretrain_options *config) {
    return (struct nvdp__normalization){
        .lower_case = !config->cased, .strip_accents = !config->cased, .chinese_characters = true};
}

/* Replaces the counts by counts with noise, so that all later steps, including the log, use only these counts. */
static nvdp_status privatize_counts(struct nvdp__pretrainer *t, struct nvdp__word_counts *counts) {
    struct nvdp__release_key key;
    struct nvdp__word_counts noised = {.ctx = t->ctx};
    NVDP_TRY(nvdp__release_key_create(t->ctx, &key));
    nvdp_status status = nvdp__private_word_counts(counts, &t->words,
                                                   &(struct nvdp__noise){.release = &key}, &noised);
    nvdp__release_key_wipe(&key);
    nvdp__word_counts_release(counts);
    *counts = noised;
    return status;
}

static nvdp_status train_vocabulary(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__normalization normalization = normalization_rules(c);
    struct nvdp__word_rules rules = nvdp__word_rules(&normalization);
    nvdp__auto(nvdp__word_counts_release) struct nvdp__word_counts counts = {
        .ctx = t->ctx,
        .once = nvdp__private_vocabulary(t) && t->words.noise == NVDP__COUNT_GAUSSIAN};
    const struct nvdp__vocabulary_options options = {
        .size = c->vocab_size, .alphabet = c->alphabet, .min_count = MIN_COUNT};
    size_t pieces = 0;
    double start = nvdp__now();
    NVDP_TRY(nvdp__word_counts_read(&counts, &rules, c->text, c->texts, c->words.max_words));
    if (nvdp__private_vocabulary(t)) NVDP_TRY(privatize_counts(t, &counts));
    NVDP_TRY(nvdp__vocabulary_train(t->ctx, &counts, &options, &t->vocabulary, &pieces));
    t->vocabulary_size = strlen(t->vocabulary);
    nvdp__log(t->ctx, NVDP_LOG_INFO, "vocabulary: %zu pieces from %zu distinct %swords in %.1f s%s",
              pieces, counts.words.count, nvdp__private_vocabulary(t) ? "noised " : "",
              nvdp__now() - start,
              pieces < c->vocab_size ? ": the text has no more pairs that occur twice" : "");
    return NVDP_OK;
}

/* Copies the vocabulary of rank 0 to all processes, because a private vocabulary is random. */
static nvdp_status share_vocabulary(struct nvdp__pretrainer *t) {
    if (nvdp__ranks(t->ctx) == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__rank_share(t->ctx, sizeof t->vocabulary_size, &t->vocabulary_size));
    if (nvdp__rank(t->ctx) != 0)
        t->vocabulary = nvdp__calloc(t->ctx, t->vocabulary_size + 1, sizeof *t->vocabulary);
    NVDP_TRY(nvdp__rank_agree(t->ctx, t->vocabulary != NULL ? NVDP_OK : NVDP_ERR_MEMORY));
    return nvdp__rank_share(t->ctx, t->vocabulary_size, t->vocabulary);
}

/* Reads the vocabulary of a directory and its tokenizer_config.json, to which the names of the special tokens are
 * added. Both are written to the model's folder. */
static nvdp_status copy_from(struct nvdp__pretrainer *t, const char *directory) {
    NVDP_TRY(nvdp_tokenizer_load(t->ctx, directory, &t->tokenizer));
    NVDP_TRY(nvdp__wordpiece_only(t->ctx, t->tokenizer));
    if (!t->tokenizer->plain)
        return nvdp__fail(
            t->ctx, NVDP_ERR_UNSUPPORTED,
            "%s: expected a tokenizer of class BertTokenizer without tokens beyond its "
            "vocabulary, since pretraining writes vocab.txt; found another one",
            directory);
    NVDP_TRY(
        nvdp__vocabulary_text(t->ctx, &t->tokenizer->pieces, &t->vocabulary, &t->vocabulary_size));
    struct nvdp__path config;
    NVDP_TRY(nvdp__model_path(t->ctx, directory, "tokenizer_config.json", &config));
    if (!nvdp__exists(config.text)) return NVDP_OK;
    NVDP_TRY(nvdp__json_read(t->ctx, config.text, &t->tokenizer_config));
    json_object_del(t->tokenizer_config, "added_tokens_decoder");
    for (int i = 0; i < NVDP__SPECIALS; i++) {
        const int32_t id = t->tokenizer->special[i];
        if (json_object_set_new(t->tokenizer_config, nvdp__special_keys[i],
                                json_string(nvdp_tokenizer_piece(t->tokenizer, id))) != 0)
            return nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "%s: out of memory", config.text);
    }
    return NVDP_OK;
}

/* Reads or trains vocab.txt, and makes the tokenizer and its configuration. */
static nvdp_status make_tokenizer(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    struct nvdp__normalization rules = normalization_rules(c);
    const char *path = c->vocab != NULL ? c->vocab : "vocab.txt";
    const bool lower = !c->cased;
    NVDP_TRY(NVDP__RANK_0_ONLY(t->ctx, c->vocab != NULL
                                           ? nvdp__read_file(t->ctx, path, VOCABULARY_LIMIT,
                                                             &t->vocabulary, &t->vocabulary_size)
                                           : train_vocabulary(t)));
    NVDP_TRY(share_vocabulary(t));
    NVDP_TRY(nvdp__tokenizer_create(t->ctx, path, t->vocabulary, t->vocabulary_size,
                                    nvdp__special_names, &rules, &t->tokenizer));
    t->tokenizer_config = json_pack(
        "{s:s, s:b, s:b, s:b, s:I, s:s, s:s, s:s, s:s, s:s}", "tokenizer_class", "BertTokenizer",
        "do_lower_case", lower, "strip_accents", lower, "tokenize_chinese_chars", 1,
        "model_max_length", (json_int_t)t->config.max_positions, "pad_token", "[PAD]", "unk_token",
        "[UNK]", "cls_token", "[CLS]", "sep_token", "[SEP]", "mask_token", "[MASK]");
    return t->tokenizer_config != NULL ? NVDP_OK
                                       : nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* Reads the privacy of the vocabulary. A given vocabulary with vocab_privacy.json in its folder may come from the
 * texts to be trained on. */
static nvdp_status read_privacy(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    nvdp__autoptr(json_decref) json_t *read = NULL;
    const json_t *object;
    t->words = c->words;
    t->words.window = c->length - 2; /* without [CLS] and [SEP] */
    if (nvdp__private_vocabulary(t)) return NVDP_OK;
    if (c->resume != NULL) {
        object = json_object_get(t->config_owner, "vocabulary");
    } else {
        if (c->vocab == NULL && c->init == NULL) return NVDP_OK;
        struct nvdp__path vocabulary = nvdp__path_format("%s", c->vocab != NULL ? c->vocab : "");
        NVDP_TRY(nvdp__json_read_optional(t->ctx,
                                          c->vocab != NULL ? dirname(vocabulary.text) : c->init,
                                          "vocab_privacy.json", &read));
        object = read;
    }
    return json_is_object(object)
               ? nvdp__private_words_read(
                     t->ctx, c->resume != NULL ? "pretrain.json" : "vocab_privacy.json", object,
                     &t->words)
               : NVDP_OK;
}

nvdp_status nvdp__pretrainer_open_vocabulary(struct nvdp__pretrainer *t) {
    const struct nvdp__pretrain_options *c = &t->config;
    const char *from = c->resume != NULL ? c->out : c->init;
    NVDP_TRY(read_privacy(t));
    NVDP_TRY(from != NULL ? copy_from(t, from) : make_tokenizer(t));
    return nvdp__pieces_create(t->ctx, t->tokenizer, &t->pieces);
}

nvdp_status nvdp__pretrainer_write_vocabulary(const struct nvdp__pretrainer *t) {
    const struct nvdp__path path = nvdp__path(t->config.out, "vocab.txt");
    NVDP_TRY(nvdp__write_file(t->ctx, path.text, t->vocabulary, t->vocabulary_size));
    if (t->tokenizer_config != NULL)
        NVDP_TRY(nvdp__run_json_write(t->ctx, t->config.out, "tokenizer_config.json",
                                      json_incref(t->tokenizer_config)));
    if (t->secrets.count > 0)
        NVDP_TRY(nvdp__run_json_write(t->ctx, t->config.out, "planted.json",
                                      nvdp__secrets_json(&t->secrets, t->tokenizer)));
    if (t->words.epsilon == 0) return NVDP_OK;
    return nvdp__run_json_write(t->ctx, t->config.out, "vocab_privacy.json",
                                nvdp__private_words_json(t->ctx, &t->words, t->config.length));
}
