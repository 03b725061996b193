/* Encodes texts without privacy, for analysis: hidden states, and sentence vectors pooled as in
 * sentence-transformers. */
#include "encoder/encode.h"
#include "encoder/safetensors.h"

#include "base/own.h"
#include "encoder/arrays_file.h"
#include "encoder/checkpoint.h"
#include "encoder/row.h"
#include "options/rows.h"
#include "text/batch.h"
#include "text/dataset.h"
#include "text/sentence_folder.h"
#include <math.h>
#include <nvdp/encoder.h>
#include <nvdp/evaluate.h>
#include <nvdp/tokenizer.h>
#include <nvdp/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_SIZE = 32,
};

/* Name of the pooler's output. Files before version 0.1 call it "pooled". */
#define POOLER_OUTPUT "pooler_output"

/* --- options --- */

enum normalize { NORMALIZE_AUTO, NORMALIZE_NO, NORMALIZE_YES };
static const char *const normalize_names[] = {
    [NORMALIZE_AUTO] = "auto", [NORMALIZE_NO] = "no", [NORMALIZE_YES] = "yes", NULL};

struct options {
    const char *model; /* directory in Hugging Face layout, or RUN/model of a base run */
    /* max length of texts that state none; 0: the length of the model folder, else the
     * longest supported length */
    size_t max_length;
    size_t batch;
    enum nvdp__pooling pooling;
    enum normalize normalize;
    /* file of texts in any format; file of JSON lines. One of the two is NULL */
    const char *input, *jsonl;
    const char *text_column, *text_pair_column;
    const char *out;
    bool all_layers, only_embeddings;
};

#define AT(member) NVDP_OPTION_AT(struct options, member)

static const struct nvdp_option model_rows[] = {
    {"model", NVDP_OPTION_TEXT, "DIR",
     "directory in Hugging Face layout, or RUN/model of a base run", NULL, AT(model),
     .traits = NVDP_TRAIT_REQUIRED},
    {0},
};
static const struct nvdp_option file_rows[] = {
    {"input", NVDP_OPTION_TEXT, "FILE",
     "texts: one per line; or JSON lines with text, pair, max_length, or with input_ids, "
     "token_type_ids; or a table (.tsv, .csv, .json), whose texts are in --text-column, else in "
     "text; -: standard input",
     NULL, AT(input)},
    {"jsonl", NVDP_OPTION_TEXT, "F.jsonl", "the same, but only JSON lines are accepted", NULL,
     AT(jsonl)},
    NVDP__TEXT_COLUMN_ROW(AT(text_column)),
    NVDP__TEXT_PAIR_COLUMN_ROW(AT(text_pair_column)),
    {"out", NVDP_OPTION_TEXT, "FILE",
     "file to write; its name says the format: .h5, .hdf5, .npz, .safetensors, .parquet (a row "
     "per text), or .npy, which has only the sentence embeddings",
     NULL, AT(out), .traits = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_NO_EFFECT},
    {"all-layers", NVDP_OPTION_FLAG, NULL, "write the hidden states of every layer", NULL,
     AT(all_layers)},
    {"only-embeddings", NVDP_OPTION_FLAG, NULL,
     "write the sentence embeddings, and leave out the hidden states of the tokens, which take "
     "several times as much room",
     NULL, AT(only_embeddings)},
    {0},
};
static const struct nvdp_option encoder_rows[] = {
    {"max-length", NVDP_OPTION_INTEGER, "N",
     "maximum number of tokens per text, unless its line says otherwise; 0: as the model's folder "
     "says (max_seq_length, model_max_length), else as many as it takes",
     "0", AT(max_length), .unit = "tokens"},
    {"pool", NVDP_OPTION_CHOICE, "P",
     "write one vector per text as well: mean of its tokens' last states, cls (the first one's), "
     "max, mean_sqrt_len_tokens (sum / sqrt(n)), weightedmean (by the tokens' numbers), lasttoken, "
     "or none; auto: as modules.json of sentence-transformers says, with its Dense layers, else "
     "none",
     "auto", AT(pooling), .choices = nvdp__pooling_names},
    {"normalize", NVDP_OPTION_CHOICE, "N",
     "give that vector unit length: yes or no; auto: as modules.json says", "auto", AT(normalize),
     .choices = normalize_names},
    NVDP__TEXTS_PER_BATCH_ROW(AT(batch)),
    {0},
};
static const struct nvdp__section encode_sections[] = {
    {.row = model_rows}, {.row = file_rows}, {.row = encoder_rows}};
static const struct nvdp__section encoder_sections[] = {{.row = model_rows}, {.row = encoder_rows}};
static const struct nvdp__schema encode_schema = {
    .kind = "encoding", .size = sizeof(struct options), .section = encode_sections, .sections = 3};
static const struct nvdp__schema encoder_schema = {
    .kind = "encoder", .size = sizeof(struct options), .section = encoder_sections, .sections = 2};

const struct nvdp__kind nvdp__kind_encode = {"encode", {&encode_schema}};

const struct nvdp__kind nvdp__kind_encoder = {"encoder", {&encoder_schema}};

/* A dense layer after the pooling of sentence vectors. */
struct layer {
    struct nvdp__params params;
    struct nvdp__dense dense; /* has a bias only if the step has one */
    /* parameter that projects the input for the residual; SIZE_MAX if there is none */
    size_t residual;
};

/* The encoder, the heads of its checkpoint, and memory for one batch. */
struct nvdp_encoder {
    struct nvdp_context *ctx;
    struct options options;
    nvdp__encoder_accept *accept;
    size_t max_length;
    /* NULL in nvdp_encode(), where the reader owns the tokenizer */
    struct nvdp_tokenizer *tokenizer;
    struct nvdp__device dev;
    struct nvdp_bert_config config;
    char fingerprint[65];
    bool has_pooler, has_classifier;
    size_t outputs; /* number of outputs of the classifier */
    struct nvdp__bert bert;
    struct nvdp__dense classifier;
    struct nvdp__params params;
    struct nvdp__bert_cache cache;
    struct nvdp__arena arena;
    float *logits; /* [texts, outputs] */
    struct nvdp__sentence sentence;
    struct layer layer[NVDP__SENTENCE_STEPS]; /* layers of the sentence's dense steps */
    float *vector;                            /* [texts, p]; NULL if there is no pooling */
    float *buffer[2];                         /* [texts, widest] vectors before and after a step */
    float *part;   /* [texts, max(d, p)] the result of one of several poolings; a residual */
    float *weight; /* [tokens] weights of the tokens in the vector of their text */
    int32_t *last; /* [texts] index of each text's last token */
    /* members set during a call */
    const struct nvdp_dataset *data;
    struct nvdp__batch *batch;
    float *host; /* [tokens, d] copy of the states in host memory */
    struct nvdp__arrays *file;
    float *states, *vectors; /* the caller's arrays if there is no file; NULL if not wanted */
};

/* --- the model --- */

/* Finds a tensor by its name, with or without the encoder's prefix. */
static const struct nvdp__weight *find_tensor(const struct nvdp__weight_files *weights,
                                              const struct nvdp__names *names, const char *part) {
    char name[128];
    const size_t prefix = strlen(names->prefix);
    nvdp__snprintf(name, sizeof name, "%s.weight", part);
    const struct nvdp__weight *found = nvdp__weights_find_tensor(weights, name);
    const bool inside = strncmp(name, names->prefix, prefix) == 0 && name[prefix] == '.';
    return found != NULL || !inside ? found : nvdp__weights_find_tensor(weights, name + prefix + 1);
}

/* Loads the encoder, with the pooler and the classifier of its checkpoint. */
static nvdp_status load_model(struct nvdp_encoder *encode) {
    const char *directory = encode->options.model;
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    struct nvdp__path config;
    NVDP_TRY(nvdp__model_path(encode->ctx, directory, "config.json", &config));
    NVDP_TRY(nvdp__bert_config_read(encode->ctx, directory, &encode->config));
    const size_t width = encode->config.hidden_size;
    const struct nvdp__encoder_row *row = nvdp__encoder_row(encode->config.model_type);
    if (!row->all_layers && encode->options.all_layers)
        return nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                          "%s: option {all-layers}: %s gives only its last states", config.text,
                          row->title);
    NVDP_TRY(nvdp__bert_device(encode->ctx, &encode->config, &encode->dev));
    NVDP_TRY(encode->accept(encode->ctx, config.text));
    NVDP_TRY(nvdp__weights_open(encode->ctx, directory, &weights));
    NVDP_TRY(nvdp__weights_sha256(weights, encode->fingerprint));
    encode->has_pooler =
        row->own_pooler && find_tensor(weights, &row->names, row->names.pooler) != NULL;
    const struct nvdp__weight *head = find_tensor(weights, &row->names, row->names.classifier);
    if (head != NULL && encode->has_pooler) {
        const struct nvdp__tensor_info *info = &head->info;
        if (info->rank != 2 || info->shape[0] < 1 || info->shape[1] != width)
            return nvdp__fail(encode->ctx, NVDP_ERR_INPUT,
                              "%s: tensor '%s': expected shape [outputs, %zu], found "
                              "rank %d with %zu rows",
                              head->path, info->name, width, info->rank,
                              info->rank > 0 ? info->shape[0] : 0);
        encode->has_classifier = true;
        encode->outputs = info->shape[0];
    }
    NVDP_TRY(
        nvdp__bert_declare(&encode->bert, &encode->config, encode->has_pooler, &encode->params));
    if (encode->has_classifier)
        NVDP_TRY(nvdp__declare_dense(&encode->params, row->names.classifier, encode->outputs, width,
                                     0, &encode->classifier));
    NVDP_TRY(nvdp__params_allocate(&encode->params, false));
    return nvdp__checkpoint_load(&encode->dev, directory, &encode->params);
}

/* Loads the weights of the dense steps. */
static nvdp_status load_layers(struct nvdp_encoder *encode) {
    for (size_t i = 0; i < encode->sentence.steps; i++) {
        const struct nvdp__sentence_step *step = &encode->sentence.step[i];
        struct layer *layer = &encode->layer[i];
        if (!step->dense) continue;
        nvdp__params_init(&layer->params, encode->ctx);
        NVDP_TRY(nvdp__params_add(&layer->params, "linear.weight", 2, step->out, step->in, 0,
                                  &layer->dense.weight));
        if (step->bias)
            NVDP_TRY(nvdp__params_add(&layer->params, "linear.bias", 1, step->out, 1, 0,
                                      &layer->dense.bias));
        layer->residual = SIZE_MAX;
        if (step->residual && step->in != step->out)
            NVDP_TRY(nvdp__params_add(&layer->params, "residual.weight", 2, step->out, step->in, 0,
                                      &layer->residual));
        NVDP_TRY(nvdp__params_allocate(&layer->params, false));
        NVDP_TRY(nvdp__checkpoint_load(&encode->dev, step->folder, &layer->params));
    }
    return NVDP_OK;
}

/* Determines pooling, normalization and length from the options, else from the model's folder. */
static nvdp_status choose(struct nvdp_encoder *encode) {
    const struct options *options = &encode->options;
    struct nvdp__sentence *sentence = &encode->sentence;
    bool pool = options->pooling == NVDP__POOLING_AUTO;
    bool norm = options->pooling != NVDP__POOLING_NONE && options->normalize == NORMALIZE_AUTO;
    NVDP_TRY(nvdp__sentence_read(encode->ctx, options->model, pool || norm,
                                 encode->config.hidden_size, sentence));
    const bool unit =
        norm ? nvdp__sentence_normalizes(sentence) : options->normalize == NORMALIZE_YES;
    if (!pool) nvdp__sentence_pool(sentence, options->pooling, encode->config.hidden_size);
    if (unit && sentence->poolings == 0)
        return nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                          "normalize: expected a pooling (pool mean, cls or max), found none");
    const struct nvdp__encoder_row *row = nvdp__encoder_row(encode->config.model_type);
    if (row->bare_texts && sentence->poolings > 0 && sentence->pooling[0] != NVDP__POOLING_MEAN)
        return nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                          "option {pool}: expected mean or none, because texts without tokens have "
                          "only a mean with %s, found %s",
                          row->title, nvdp__pooling_names[sentence->pooling[0]]);
    nvdp__sentence_normalize(sentence, unit);
    NVDP_TRY(load_layers(encode));
    size_t max = encode->config.max_position_embeddings;
    encode->max_length = options->max_length;
    if (encode->max_length == 0) encode->max_length = sentence->max_length;
    if (encode->max_length == 0 || (options->max_length == 0 && encode->max_length > max))
        encode->max_length = max;
    if (encode->max_length < NVDP__MIN_PAIR || encode->max_length > max)
        return nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                          "{max-length}: expected %d to %zu, found %zu", NVDP__MIN_PAIR, max,
                          encode->max_length);
    return NVDP_OK;
}

/* --- memory --- */

static void plan(struct nvdp_encoder *encode, size_t tokens, size_t texts) {
    nvdp__bert_plan(&encode->bert, &encode->dev, tokens, texts, encode->data->longest,
                    &encode->arena, &encode->cache);
    if (encode->has_classifier)
        encode->logits = nvdp__arena_take(&encode->arena, texts * encode->outputs);
    const struct nvdp__sentence *sentence = &encode->sentence;
    if (sentence->poolings == 0) return;
    /* width of a vector before, between and after the steps */
    size_t widest = sentence->poolings * encode->config.hidden_size;
    for (size_t i = 0; i < sentence->steps; i++)
        widest = nvdp__max(widest, sentence->step[i].out);
    const size_t floats = texts * widest;
    NVDP__TAKE(&encode->arena, {&encode->buffer[0], floats}, {&encode->buffer[1], floats},
               {&encode->part, floats}, {&encode->weight, tokens}, {&encode->last, texts});
}

/* Allocates memory for one batch and, with `file`, the host buffer from which the file is
 * written. */
static nvdp_status allocate(struct nvdp_encoder *encode, bool file) {
    const struct nvdp_dataset *data = encode->data;
    size_t batch = encode->options.batch;
    size_t texts = nvdp__min(batch, data->count);
    size_t tokens = 0; /* max number of tokens of a batch */
    for (size_t first = 0; first < data->count; first += batch) {
        const size_t end = nvdp__min(first + batch, data->count);
        tokens = nvdp__max(tokens, data->offset[end] - data->offset[first]);
    }
    const size_t floats = nvdp__max(tokens * encode->config.hidden_size,
                                    texts * nvdp__max(encode->outputs, encode->sentence.width));
    NVDP_TRY(nvdp__bert_cache_create(
        encode->ctx, &encode->bert,
        encode->options.all_layers ? NVDP__KEEP_HIDDEN : NVDP__KEEP_LAST, &encode->cache));
    NVDP_TRY(nvdp__bert_lanes(&encode->bert, &encode->dev, &encode->cache));
    plan(encode, tokens, texts);
    NVDP_TRY(nvdp__arena_allocate(encode->ctx, &encode->arena));
    plan(encode, tokens, texts);
    NVDP_TRY(nvdp__arena_check(encode->ctx, &encode->arena));
    NVDP_TRY(nvdp__batch_create(encode->ctx, texts, data->longest, &encode->batch));
    return file ? NVDP__NEW(encode->ctx, encode->host, floats) : NVDP_OK;
}

/* --- the file --- */

static size_t first_layer(const struct nvdp_encoder *encode) {
    return encode->options.all_layers ? 0 : encode->config.num_hidden_layers;
}

/* Returns the dataset's name of a layer. Without --all-layers, only the last layer is written,
 * as "hidden". */
static const char *layer_name(const struct nvdp_encoder *encode, size_t layer,
                              char name[NAME_SIZE]) {
    nvdp__snprintf(name, NAME_SIZE, encode->options.all_layers ? "hidden_%zu" : "hidden", layer);
    return name;
}

static nvdp_status create_file(struct nvdp_encoder *encode) {
    const struct nvdp_dataset *data = encode->data;
    const struct nvdp_bert_config *config = &encode->config;
    const size_t texts = data->count, wide = config->hidden_size;
    struct nvdp__arrays *file = encode->file;
    nvdp__autofree int64_t *offset = NULL;
    char pooling[NVDP__POOLING_TEXT];
    NVDP_TRY(nvdp__arrays_set_text(file, "nvdp_version", nvdp_version()));
    NVDP_TRY(nvdp__arrays_set_text(file, "model_fingerprint", encode->fingerprint));
    NVDP_TRY(nvdp__arrays_set_int(file, "hidden_size", wide));
    NVDP_TRY(nvdp__arrays_set_int(file, "layers", config->num_hidden_layers));
    NVDP_TRY(nvdp__arrays_set_text(
        file, "statement", "Plain hidden states, without noise: not private, not to be shared."));
    NVDP_TRY(nvdp__arrays_add(file, "offset", NVDP__H5_I64, texts + 1, 0, false));
    for (size_t l = first_layer(encode); l <= config->num_hidden_layers; l++) {
        char name[NAME_SIZE];
        NVDP_TRY(nvdp__arrays_add(file, layer_name(encode, l, name), NVDP__H5_F32,
                                  data->offset[texts], wide, false));
    }
    if (encode->has_pooler) {
        NVDP_TRY(nvdp__arrays_add(file, POOLER_OUTPUT, NVDP__H5_F32, texts, wide, true));
        NVDP_TRY(nvdp__arrays_set_text(
            file, "pooler_output_meaning",
            "The model's pooler, tanh(W h + b) of each text's first token, which is made for "
            "classifiers: not a sentence embedding."));
    }
    if (encode->has_classifier)
        NVDP_TRY(nvdp__arrays_add(file, "logits", NVDP__H5_F32, texts, encode->outputs, true));
    if (encode->sentence.poolings > 0) {
        const bool unit = nvdp__sentence_normalizes(&encode->sentence);
        NVDP_TRY(
            nvdp__arrays_set_text(file, "pooling", nvdp__pooling_text(&encode->sentence, pooling)));
        NVDP_TRY(nvdp__arrays_set_int(file, "normalized", unit));
        NVDP_TRY(nvdp__arrays_add(file, NVDP__SENTENCES, NVDP__H5_F32, texts,
                                  encode->sentence.width, true));
    }
    NVDP_TRY(nvdp__arrays_begin(file));
    if (!nvdp__arrays_has(file, "offset")) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(encode->ctx, offset, texts + 1));
    for (size_t i = 0; i <= texts; i++)
        offset[i] = (int64_t)data->offset[i];
    return nvdp__arrays_write(file, "offset", 0, texts + 1, offset);
}

static nvdp_status write_rows(struct nvdp_encoder *encode, const char *name, size_t first,
                              size_t rows, size_t width, const float *tensor) {
    if (!nvdp__arrays_has(encode->file, name)) return NVDP_OK;
    nvdp__download(&encode->dev, rows * width, tensor, encode->host);
    return nvdp__arrays_write(encode->file, name, first, rows, encode->host);
}

static void give_batch(struct nvdp_encoder *encode, size_t first) {
    const size_t wide = encode->config.hidden_size;
    const struct nvdp__batch *batch = encode->batch;
    if (encode->states != NULL)
        nvdp__download(&encode->dev, batch->tokens * wide,
                       encode->cache.hidden[encode->config.num_hidden_layers],
                       encode->states + encode->data->offset[first] * wide);
    if (encode->vectors != NULL)
        nvdp__download(&encode->dev, batch->texts * encode->sentence.width, encode->vector,
                       encode->vectors + first * encode->sentence.width);
}

static nvdp_status write_batch(struct nvdp_encoder *encode, size_t first) {
    size_t wide = encode->config.hidden_size;
    const struct nvdp__batch *batch = encode->batch;
    size_t row = encode->data->offset[first];
    for (size_t l = first_layer(encode); l <= encode->config.num_hidden_layers; l++) {
        char name[NAME_SIZE];
        NVDP_TRY(write_rows(encode, layer_name(encode, l, name), row, batch->tokens, wide,
                            encode->cache.hidden[l]));
    }
    if (encode->has_pooler)
        NVDP_TRY(write_rows(encode, POOLER_OUTPUT, first, batch->texts, wide,
                            encode->cache.pooler.pooled));
    if (encode->has_classifier)
        NVDP_TRY(
            write_rows(encode, "logits", first, batch->texts, encode->outputs, encode->logits));
    return encode->sentence.poolings > 0 ? write_rows(encode, NVDP__SENTENCES, first, batch->texts,
                                                      encode->sentence.width, encode->vector)
                                         : NVDP_OK;
}

/* --- the pass --- */

/* Pools the last states [T, d] into `to` [texts, d]. */
static void pool_one(struct nvdp_encoder *encode, enum nvdp__pooling pooling, float *to) {
    const struct nvdp__device *dev = &encode->dev;
    const struct nvdp__batch *batch = encode->batch;
    const size_t wide = encode->config.hidden_size, texts = batch->texts;
    const float *states = encode->cache.hidden[encode->config.num_hidden_layers];
    switch (pooling) {
    case NVDP__POOLING_CLS:
        nvdp__rows_gather(dev, texts, wide, batch->offset, states, to);
        break;
    case NVDP__POOLING_LAST:
        for (size_t i = 0; i < texts; i++)
            encode->last[i] = batch->offset[i + 1] - 1;
        nvdp__rows_gather(dev, texts, wide, encode->last, states, to);
        break;
    case NVDP__POOLING_MAX:
        nvdp__pool_max_forward(dev, texts, wide, batch->offset, states, to);
        break;
    case NVDP__POOLING_MEAN_SQRT_LEN:
    case NVDP__POOLING_WEIGHTED_MEAN:
        /* weights of the tokens in a sum: 1/sqrt(n), or the token's number over the sum of all
         * numbers */
        for (size_t i = 0; i < texts; i++) {
            const int32_t first = batch->offset[i], end = batch->offset[i + 1];
            const double n = (double)(end - first);
            for (int32_t k = first; k < end; k++)
                encode->weight[k] = (float)(pooling == NVDP__POOLING_MEAN_SQRT_LEN
                                                ? 1 / sqrt(n)
                                                : (k - first + 1) / (n * (n + 1) / 2));
        }
        nvdp__pool_forward(dev, texts, wide, batch->offset, encode->weight, states, to);
        break;
    default:
        nvdp__pool_forward(dev, texts, wide, batch->offset, NULL, states, to);
    }
}

/* Computes act(W x + b); for a residual step, adds x or the projection of x. */
static void dense_step(struct nvdp_encoder *encode, const struct nvdp__sentence_step *step,
                       const struct layer *layer, const float *from, float *to) {
    const struct nvdp__device *dev = &encode->dev;
    const size_t texts = encode->batch->texts;
    struct nvdp__linear linear = {.rows = texts,
                                  .in = step->in,
                                  .out = step->out,
                                  .w = nvdp__value(&layer->params, layer->dense.weight),
                                  .f32 = true};
    if (step->bias) linear.b = nvdp__value(&layer->params, layer->dense.bias);
    const struct nvdp__tensor x = nvdp__f32(texts, step->in, from);
    const struct nvdp__tensor y = nvdp__f32(texts, step->out, to);
    nvdp__dense_forward(dev, &linear, x, y);
    if (!step->identity) nvdp__activation_forward(dev, step->act, y, y);
    if (!step->residual) return;
    if (layer->residual != SIZE_MAX) {
        linear.w = nvdp__value(&layer->params, layer->residual);
        linear.b = NULL;
        nvdp__dense_forward(dev, &linear, x, nvdp__f32(texts, step->out, encode->part));
        from = encode->part;
    }
    nvdp__add(dev, texts * step->out, from, to);
}

static void pool(struct nvdp_encoder *encode) {
    const struct nvdp__device *dev = &encode->dev;
    const struct nvdp__sentence *sentence = &encode->sentence;
    const size_t texts = encode->batch->texts, wide = encode->config.hidden_size;
    size_t width = sentence->poolings * wide;
    int at = 0; /* index of the buffer with the current vectors */
    for (size_t m = 0; m < sentence->poolings; m++) {
        float *to = sentence->poolings == 1 ? encode->buffer[at] : encode->part;
        pool_one(encode, sentence->pooling[m], to);
        for (size_t i = 0; sentence->poolings > 1 && i < texts; i++)
            nvdp__copy(dev, wide, to + i * wide, encode->buffer[at] + i * width + m * wide);
    }
    for (size_t i = 0; i < sentence->steps; i++) {
        const struct nvdp__sentence_step *step = &sentence->step[i];
        if (!step->dense && step->out == 0) {
            nvdp__rows_normalize(dev, texts, width, encode->buffer[at]);
            continue;
        }
        if (!step->dense) {
            for (size_t r = 0; r < texts; r++) /* in place: rows move towards the start */
                memmove(encode->buffer[at] + r * step->out, encode->buffer[at] + r * width,
                        step->out * sizeof(float));
            width = step->out;
            continue;
        }
        dense_step(encode, step, &encode->layer[i], encode->buffer[at], encode->buffer[1 - at]);
        at = 1 - at;
        width = step->out;
    }
    encode->vector = encode->buffer[at];
}

static nvdp_status forward(struct nvdp_encoder *encode) {
    const struct nvdp__pass pass = {.training = false};
    nvdp__bert_forward(&encode->bert, &encode->dev, &encode->params, encode->batch, &pass,
                       &encode->cache);
    if (encode->has_pooler)
        nvdp__pooler_forward(&encode->bert, &encode->dev, &encode->params, encode->batch,
                             encode->cache.hidden[encode->config.num_hidden_layers],
                             &encode->cache.pooler);
    if (encode->has_classifier) {
        size_t texts = encode->batch->texts;
        struct nvdp__linear dense = nvdp__dense_linear(&encode->params, &encode->classifier, texts);
        dense.f32 = true;
        nvdp__dense_forward(
            &encode->dev, &dense,
            nvdp__f32(texts, encode->config.hidden_size, encode->cache.pooler.pooled),
            nvdp__f32(texts, encode->outputs, encode->logits));
    }
    if (encode->sentence.poolings > 0) pool(encode);
    return nvdp__device_status(&encode->dev);
}

static nvdp_status encode_all(struct nvdp_encoder *encode) {
    const struct nvdp_dataset *data = encode->data;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, encode->ctx, "encode", "text", 0, data->count);
    for (size_t first = 0; first < data->count; first += encode->options.batch) {
        size_t left = data->count - first;
        size_t n = nvdp__min(left, encode->options.batch);
        NVDP_TRY(nvdp__check_cancelled(encode->ctx, "encode: cancelled"));
        nvdp__batch_fill(encode->batch, data, NULL, first, n);
        NVDP_TRY(forward(encode));
        if (encode->file == NULL)
            give_batch(encode, first);
        else
            NVDP_TRY(write_batch(encode, first));
        nvdp__meter_update(&meter, first + n, (double)data->offset[first + n], "token", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* --- the whole call --- */

/* Frees the memory of one call, but keeps the weights. */
static void release_call(struct nvdp_encoder *encode) {
    nvdp__arrays_free(encode->file);
    free(encode->host);
    nvdp__batch_free(encode->batch);
    nvdp__bert_cache_release(&encode->cache);
    nvdp__arena_release(&encode->arena);
    encode->file = NULL;
    encode->host = encode->states = encode->vectors = NULL;
    encode->batch = NULL;
    encode->data = NULL;
}

NVDP__AUTOPTR(struct nvdp_encoder, release_call)

static void release(struct nvdp_encoder *encode) {
    release_call(encode);
    nvdp_tokenizer_free(encode->tokenizer);
    nvdp__bert_release(&encode->bert);
    for (size_t i = 0; i < NVDP__SENTENCE_STEPS; i++)
        nvdp__params_release(&encode->layer[i].params);
    nvdp__sentence_release(&encode->sentence);
    nvdp__device_release(&encode->dev);
    nvdp__params_release(&encode->params);
}

static nvdp_status open_model(struct nvdp_context *ctx, struct nvdp_encoder *encode) {
    encode->ctx = ctx;
    nvdp__params_init(&encode->params, ctx);
    NVDP_TRY(load_model(encode));
    return choose(encode);
}

nvdp_status nvdp__encode_file(struct nvdp_context *ctx, const struct nvdp_config *config,
                              nvdp__encoder_accept *accept, struct nvdp_encoding *out) {
    nvdp__auto(release) struct nvdp_encoder encode = {.accept = accept};
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input input = {0};
    const struct options *options = &encode.options;
    if (out != NULL) NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__config_open(ctx, config, &encode_schema, &encode.options));
    const char *path = options->jsonl != NULL ? options->jsonl : options->input;
    if ((options->jsonl != NULL) == (options->input != NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{input} or {jsonl}: expected one, found %s",
                          path != NULL ? "both" : "neither");
    NVDP_TRY(nvdp__refuse_same(ctx, "out", options->out, path));
    NVDP_TRY(nvdp__check_parent_folder(ctx, options->out));
    NVDP_TRY(nvdp__arrays_open(ctx, options->out, "encoding/1",
                               options->only_embeddings ? NVDP__SENTENCES : NULL, &encode.file));
    NVDP_TRY(open_model(ctx, &encode));
    if (nvdp__arrays_only(encode.file) != NULL && encode.sentence.poolings == 0)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "%s: expected sentence embeddings, found no pooling in the model's folder "
            "or {pool} none; {pool} mean, cls or max chooses one",
            options->out);
    const struct nvdp__encode_limits limits = {.config = &encode.config,
                                               .max_length = encode.max_length,
                                               .directory = options->model,
                                               .prompt = encode.sentence.prompt,
                                               .only_objects = options->jsonl != NULL,
                                               .text_column = options->text_column,
                                               .text_pair_column = options->text_pair_column};
    NVDP_TRY(nvdp__encode_input_read(ctx, path, &limits, &input));
    if (encode.sentence.prompt != NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: its default prompt '%.100s' is put before each text",
                  options->model, encode.sentence.prompt);
    encode.data = &input.data;
    NVDP_TRY(allocate(&encode, true));
    NVDP_TRY(create_file(&encode));
    NVDP_TRY(encode_all(&encode));
    NVDP_TRY(nvdp__arrays_commit(encode.file));
    if (out != NULL) {
        struct nvdp_encoding result = {.texts = input.data.count,
                                       .max_length = encode.max_length,
                                       .normalized = nvdp__sentence_normalizes(&encode.sentence)};
        nvdp__pooling_text(&encode.sentence, result.pooling);
        NVDP__GIVE(out, &result);
    }
    return NVDP_OK;
}

/* --- in memory --- */

nvdp_status nvdp__encoder_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 nvdp__encoder_accept *accept, struct nvdp_encoder **out) {
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    NVDP_TRY(NVDP__NEW(ctx, encoder, 1));
    struct options *options = &encoder->options;
    encoder->accept = accept;
    NVDP_TRY(nvdp__config_open(ctx, config, &encoder_schema, options));
    NVDP_TRY(open_model(ctx, encoder));
    NVDP_TRY(
        nvdp__encoder_tokenizer_load(ctx, options->model, &encoder->config, &encoder->tokenizer));
    options->model = NULL; /* the configuration owns these strings */
    return NVDP__HAND_OVER(out, encoder);
}

void nvdp_encoder_free(struct nvdp_encoder *encoder) {
    if (encoder == NULL) return;
    release(encoder);
    free(encoder);
}

nvdp_status nvdp_encoder_describe(const struct nvdp_encoder *encoder,
                                  struct nvdp_encoder_info *out) {
    NVDP_TRY(nvdp__can_give(encoder->ctx, out));
    struct nvdp_encoder_info info = {.hidden_size = encoder->config.hidden_size,
                                     .max_length = encoder->max_length,
                                     .normalized = nvdp__sentence_normalizes(&encoder->sentence)};
    nvdp__pooling_text(&encoder->sentence, info.pooling);
    if (encoder->sentence.poolings > 0) info.vector_size = encoder->sentence.width;
    info.prompt = encoder->sentence.prompt;
    nvdp__snprintf(info.fingerprint, sizeof info.fingerprint, "%s", encoder->fingerprint);
    return NVDP__GIVE(out, &info);
}

const struct nvdp_tokenizer *nvdp_encoder_tokenizer(const struct nvdp_encoder *encoder) {
    return encoder->tokenizer;
}

nvdp_status nvdp_encoder_run(struct nvdp_context *ctx, struct nvdp_encoder *encoder,
                             const struct nvdp_dataset *dataset, float *states, float *vectors) {
    nvdp__autoptr(release_call) struct nvdp_encoder *call = encoder;
    if (vectors != NULL && encoder->sentence.poolings == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "vectors: expected an encoder with a pooling (mean, cls or max), found "
                          "none");
    const struct nvdp_bert_config *config = &encoder->config;
    if (dataset->longest > config->max_position_embeddings)
        return nvdp__fail(encoder->ctx, NVDP_ERR_ARGUMENT,
                          "texts: expected at most %zu tokens, found %zu",
                          config->max_position_embeddings, dataset->longest);
    for (size_t k = 0; k < dataset->offset[dataset->count]; k++)
        if ((size_t)dataset->ids[k] >= config->vocab_size ||
            (size_t)dataset->types[k] >= config->type_vocab_size)
            return nvdp__fail(encoder->ctx, NVDP_ERR_ARGUMENT,
                              "token %zu: expected an id and a type below %zu and %zu, found %d "
                              "and %d",
                              k, config->vocab_size, config->type_vocab_size, dataset->ids[k],
                              dataset->types[k]);
    if (dataset->count == 0) return NVDP_OK;
    encoder->data = dataset;
    encoder->states = states;
    encoder->vectors = vectors;
    NVDP_TRY(allocate(call, false));
    return encode_all(call);
}
