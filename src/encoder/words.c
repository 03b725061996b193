/* Encoders that are tables of vectors: the state of a token is the vector of its piece, regardless of the other tokens.
 * These encoders have no layers, no positions and no dropout.
 *
 *     words                          the word embeddings of another model, which the method `word` uses
 *     static-embedding, model2vec    published tables, whose sentence embedding is the mean
 *
 * The size of the vocabulary and the width of a published table are read from the shape of its tensor. */
#include "encoder/checkpoint.h"
#include "encoder/row.h"

#include <string.h>

#define STATIC "static"
#define TABLE "embedding"

/* Sets the members that config.json does not have for these types. */
static void complete(struct nvdp_bert_config *config) {
    config->num_hidden_layers = 1; /* the table counts as one layer */
    config->num_attention_heads = 1;
    config->max_position_embeddings = NVDP__ANY_LENGTH;
    config->type_vocab_size = 1;
}

static struct nvdp_bert_config over_words(const struct nvdp_bert_config *from,
                                          const struct nvdp__over_words *how) {
    struct nvdp_bert_config config = *from;
    (void)how;
    config.model_type = NVDP_MODEL_WORDS;
    config.hidden_size = nvdp__word_width(from);
    complete(&config);
    return config;
}

static nvdp_status read_config(struct nvdp_context *ctx, const char *path, const json_t *json,
                               struct nvdp_bert_config *config) {
    (void)ctx;
    (void)path;
    (void)json;
    complete(config);
    return NVDP_OK;
}

/* Reads the sizes of the table from the weights beside config.json. */
static nvdp_status read_sizes(struct nvdp_context *ctx, const char *path, const json_t *json,
                              struct nvdp_bert_config *config) {
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    const char *slash = strrchr(path, '/');
    const struct nvdp__path folder = slash != NULL
                                         ? nvdp__path_format("%.*s", (int)(slash - path), path)
                                         : nvdp__path_format(".");
    static const char name[] = STATIC "." TABLE ".weight";
    (void)json;
    NVDP_TRY(nvdp__weights_open(ctx, folder.text, &weights));
    const struct nvdp__weight *table = nvdp__weights_find_tensor(weights, name + sizeof STATIC);
    if (table == NULL) table = nvdp__weights_find_tensor(weights, name);
    if (table == NULL || table->info.rank != 2)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a tensor '" TABLE ".weight' or 'embeddings' of shape "
                          "[tokens, numbers], found %s",
                          weights->path, table == NULL ? "none" : "one of another rank");
    config->vocab_size = table->info.shape[0];
    config->hidden_size = table->info.shape[1];
    complete(config);
    return NVDP_OK;
}

static size_t parameter_count(const struct nvdp_bert_config *config) {
    return config->vocab_size * config->hidden_size;
}

static nvdp_status declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp_bert_config *config = &bert->config;
    const struct nvdp__names *names = &bert->row->names;
    const struct nvdp__path name =
        nvdp__path_format("%s.%s.weight", names->prefix, nvdp__words_name(names));
    return nvdp__params_add(params, name.text, 2, config->vocab_size, config->hidden_size,
                            NVDP__PARAM_DECAY | NVDP__PARAM_ROWS, &bert->word);
}

static void initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       struct nvdp__params *params, uint64_t seed) {
    nvdp__params_normal(dev, params, bert->word, bert->config.initializer_range, seed);
}

static void plan(const struct nvdp__bert *bert, const struct nvdp__device *dev, size_t max_tokens,
                 size_t max_texts, size_t longest, struct nvdp__arena *arena,
                 struct nvdp__bert_cache *cache) {
    (void)dev;
    (void)max_texts;
    (void)longest;
    cache->hidden[bert->config.num_hidden_layers] =
        nvdp__arena_take(arena, max_tokens * bert->config.hidden_size);
}

static void forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    (void)pass;
    nvdp__rows_gather(dev, batch->tokens, bert->config.hidden_size, batch->ids,
                      nvdp__value(params, bert->word),
                      cache->hidden[bert->config.num_hidden_layers]);
}

static void backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last) {
    const struct nvdp__embedding gradients = {
        .ids = batch->ids, .word = nvdp__grad(params, bert->word), .offset = batch->offset};
    (void)pass;
    (void)cache;
    if (gradients.word == NULL) return;
    nvdp__grad_rows(params, batch->tokens, batch->ids);
    nvdp__embed_backward(dev, &gradients,
                         nvdp__f32(batch->tokens, bert->config.hidden_size, d_last));
}

static const struct nvdp__encoder_pass words_pass = {
    .plan = plan, .forward = forward, .backward = backward};

const struct nvdp__encoder_row nvdp__encoder_words = {
    .title = "a table of word embeddings",
    .names = {.type = "words",
              .encoder = "Words",
              .classification = "WordsForSequenceClassification",
              .tagging = "WordsForTokenClassification",
              .prefix = "words",
              .classifier = "classifier"},
    .key = {[NVDP__KEY_HIDDEN_SIZE] = "hidden_size",
            [NVDP__KEY_VOCAB_SIZE] = "vocab_size",
            [NVDP__KEY_INITIALIZER_RANGE] = "initializer_range"},
    .bottleneck = true,
    .per_example = true,
    .word_local = true,
    .over_words = over_words,
    .read = read_config,
    .parameter_count = parameter_count,
    .declare = declare,
    .initialize = initialize,
    .pass = &words_pass};

#define STATIC_ROW(type_name, class_name)                                                          \
    {                                                                                              \
        .title = "a table of static embeddings",                                                   \
        .names = {.type = type_name,                                                               \
                  .encoder = class_name,                                                           \
                  .classification = class_name "ForSequenceClassification",                        \
                  .tagging = class_name "ForTokenClassification",                                  \
                  .prefix = STATIC,                                                                \
                  .words = TABLE,                                                                  \
                  .classifier = "classifier"},                                                     \
        .bare_texts = true, .bottleneck = true, .word_local = true, .read = read_sizes,            \
        .parameter_count = parameter_count, .declare = declare, .initialize = initialize,          \
        .pass = &words_pass                                                                        \
    }

const struct nvdp__encoder_row nvdp__encoder_static_embedding =
    STATIC_ROW("static-embedding", "StaticEmbedding");
const struct nvdp__encoder_row nvdp__encoder_model2vec = STATIC_ROW("model2vec", "StaticModel");
