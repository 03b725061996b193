/* The vocabulary of a run: trained on its text, a file's, or that of the model it starts from. */
#include "text/vocabulary.h"
#include "base/file.h"
#include "base/json.h"
#include "pretrain/trainer.h"

#include <stdlib.h>
#include <string.h>

enum { VOCABULARY_LIMIT = 1 << 28, MIN_COUNT = 2 };

static struct nvdp__normalization rules_of(const struct nvdp_pretrain_config *config) {
    return (struct nvdp__normalization){
        .lower_case = !config->cased, .strip_accents = !config->cased, .chinese_characters = true};
}

static nvdp_status train(struct nvdp__pretrainer *t) {
    nvdp_status status = NVDP_OK;
    const struct nvdp_pretrain_config *c = &t->config;
    struct nvdp__normalization normalization = rules_of(c);
    struct nvdp__word_rules rules = nvdp__word_rules(&normalization);
    struct nvdp__word_counts counts = {.ctx = t->ctx};
    const struct nvdp__vocabulary_options options = {
        .size = c->vocab_size, .alphabet = c->alphabet, .min_count = MIN_COUNT};
    size_t pieces = 0;
    double start = nvdp__now();
    NVDP_TRY(nvdp__word_counts_read(&counts, &rules, c->text, c->texts));
    NVDP_TRY(nvdp__vocabulary_train(t->ctx, &counts, &options, &t->vocabulary, &pieces));
    t->vocabulary_size = strlen(t->vocabulary);
    nvdp__log(t->ctx, NVDP_LOG_INFO, "vocabulary: %zu pieces from %zu distinct words in %.1f s%s",
              pieces, counts.words.count, nvdp__now() - start,
              pieces < c->vocab_size ? ": the text has no more pairs that are seen twice" : "");
cleanup:
    nvdp__word_counts_release(&counts);
    return status;
}

static nvdp_status read_vocabulary(struct nvdp__pretrainer *t, const char *path) {
    return nvdp__read_file(t->ctx, path, VOCABULARY_LIMIT, &t->vocabulary, &t->vocabulary_size);
}

/* vocab.txt and, where there is one, tokenizer_config.json of a directory. */
static nvdp_status copy_from(struct nvdp__pretrainer *t, const char *directory) {
    nvdp_status status = NVDP_OK;
    char *vocabulary = nvdp__join(t->ctx, directory, "vocab.txt");
    char *config = nvdp__join(t->ctx, directory, "tokenizer_config.json");
    if (vocabulary == NULL || config == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp_tokenizer_load(t->ctx, directory, &t->tokenizer));
    NVDP_TRY(read_vocabulary(t, vocabulary));
    if (nvdp__exists(config)) NVDP_TRY(nvdp__json_read(t->ctx, config, &t->tokenizer_config));
cleanup:
    free(vocabulary);
    free(config);
    return status;
}

static nvdp_status make_config(struct nvdp__pretrainer *t) {
    bool lower = !t->config.cased;
    t->tokenizer_config = json_pack(
        "{s:s, s:b, s:b, s:b, s:I, s:s, s:s, s:s, s:s, s:s}", "tokenizer_class", "BertTokenizer",
        "do_lower_case", lower, "strip_accents", lower, "tokenize_chinese_chars", 1,
        "model_max_length", (json_int_t)t->config.max_positions, "pad_token", "[PAD]", "unk_token",
        "[UNK]", "cls_token", "[CLS]", "sep_token", "[SEP]", "mask_token", "[MASK]");
    return t->tokenizer_config != NULL ? NVDP_OK
                                       : nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
}

nvdp_status nvdp__pretrain_vocabulary(struct nvdp__pretrainer *t) {
    const struct nvdp_pretrain_config *c = &t->config;
    const char *from = c->resume ? c->out : c->init;
    if (from != NULL) {
        NVDP_RETURN_IF_FAILED(copy_from(t, from));
    } else {
        struct nvdp__normalization rules = rules_of(c);
        const char *path = c->vocab != NULL ? c->vocab : "vocab.txt";
        NVDP_RETURN_IF_FAILED(c->vocab != NULL ? read_vocabulary(t, path) : train(t));
        NVDP_RETURN_IF_FAILED(nvdp__tokenizer_create(t->ctx, path, t->vocabulary,
                                                     t->vocabulary_size, nvdp__special_names,
                                                     &rules, &t->tokenizer));
        NVDP_RETURN_IF_FAILED(make_config(t));
    }
    return nvdp__pieces_create(t->ctx, t->tokenizer, &t->pieces);
}

nvdp_status nvdp__pretrain_write_vocabulary(const struct nvdp__pretrainer *t) {
    nvdp_status status = NVDP_OK;
    char *vocabulary = nvdp__join(t->ctx, t->config.out, "vocab.txt");
    char *config = nvdp__join(t->ctx, t->config.out, "tokenizer_config.json");
    if (vocabulary == NULL || config == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__write_file(t->ctx, vocabulary, t->vocabulary, t->vocabulary_size));
    if (t->tokenizer_config != NULL)
        NVDP_TRY(nvdp__json_write(t->ctx, config, t->tokenizer_config));
cleanup:
    free(vocabulary);
    free(config);
    return status;
}
