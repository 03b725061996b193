/* Encodes texts without privacy, for analysis: hidden states, and sentence vectors pooled as in
 * sentence-transformers. */
#include "bert/encode.h"

#include "base/file.h"
#include "base/json.h"
#include "bert/checkpoint.h"
#include "bert/row.h"
#include "hdf5/hdf5.h"
#include "options/rows.h"
#include "text/batch.h"
#include "text/sentence.h"
#include <errno.h>
#include <math.h>
#include <nvdp/encoder.h>
#include <nvdp/evaluate.h>
#include <nvdp/safetensors.h>
#include <nvdp/tokenizer.h>
#include <nvdp/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_SIZE = 32,
    LINE_LIMIT = 1 << 26,
    MIN_SINGLE = 2, /* with the special tokens */
    MIN_PAIR = 3,
    MIN_LENGTH = MIN_PAIR /* fits every text */
};

/* --- options --- */

enum normalize { NORMALIZE_AUTO, NORMALIZE_NO, NORMALIZE_YES };
static const char *const normalize_names[] = {
    [NORMALIZE_AUTO] = "auto", [NORMALIZE_NO] = "no", [NORMALIZE_YES] = "yes", NULL};

struct options {
    const char *model; /* directory in Hugging Face layout, or RUN/model of a base run */
    size_t
        /* of texts without one; 0: that of the model folder, else the longest supported */
        max_length;
    size_t batch;
    enum nvdp__pooling pooling;
    enum normalize normalize;
    const char *input; /* JSON lines */
    const char *out;
    bool all_layers;
};

#define AT(member) NVDP_OPTION_AT(struct options, member)

static const struct nvdp_option model_rows[] = {
    {"model", NVDP_OPTION_TEXT, "DIR",
     "directory in Hugging Face layout, or RUN/model of a base run", NULL, AT(model),
     .traits = NVDP_TRAIT_REQUIRED},
    {0},
};
static const struct nvdp_option file_rows[] = {
    {"jsonl", NVDP_OPTION_TEXT, "F.jsonl",
     "JSON lines with text, pair, max_length, or with input_ids, token_type_ids; --input is the "
     "same",
     NULL, AT(input), .traits = NVDP_TRAIT_REQUIRED},
    {"input", NVDP_OPTION_TEXT, "F.jsonl", "the same as --jsonl",
     .sets = (const char *const[]){"jsonl", NULL}, .traits = NVDP_TRAIT_HIDDEN},
    {"out", NVDP_OPTION_TEXT, "FILE.h5", "file to write", NULL, AT(out),
     .traits = NVDP_TRAIT_REQUIRED | NVDP_TRAIT_NO_EFFECT},
    {"all-layers", NVDP_OPTION_FLAG, NULL, "write the hidden states of every layer", NULL,
     AT(all_layers)},
    {0},
};
static const struct nvdp_option encoder_rows[] = {
    {"max-length", NVDP_OPTION_INTEGER, "N",
     "maximum number of tokens per text, unless its line says otherwise; 0: as the model's folder "
     "says "
     "(max_seq_length, model_max_length), else as many as it takes",
     "0", AT(max_length), .unit = "tokens"},
    {"pool", NVDP_OPTION_CHOICE, "P",
     "write one vector a text as well: mean of its tokens' last states, cls (the first one's), "
     "max, or none; auto: as modules.json of sentence-transformers says, else none",
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

nvdp_status nvdp_encode_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    return nvdp__config_create(ctx, &encode_schema, out);
}

nvdp_status nvdp_encoder_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    return nvdp__config_create(ctx, &encoder_schema, out);
}

/* --- the texts: JSON lines --- */

struct reader {
    struct nvdp_context *ctx;
    const char *path;
    size_t line; /* from 1 */
    const struct nvdp__encode_limits *limits;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp_tokens tokens;
    struct nvdp__encode_input *input;
};

#define FAIL(reader, format, ...)                                                                  \
    nvdp__fail((reader)->ctx, NVDP_ERR_INPUT, "%s:%zu: " format, (reader)->path, (reader)->line,   \
               __VA_ARGS__)

/* Adds a text of `tokens` tokens; the caller writes its ids and types from *first on. */
static nvdp_status add_text(struct reader *reader, size_t tokens, size_t *first) {
    struct nvdp_context *ctx = reader->ctx;
    struct nvdp__encode_input *input = reader->input;
    struct nvdp_dataset *data = &input->data;
    *first = data->count > 0 ? data->offset[data->count] : 0;
    size_t need = *first + tokens;
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &data->offset, &input->text_capacity, data->count + 2, sizeof(size_t)));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &data->index, &input->index_capacity, data->count + 1, sizeof(int64_t)));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &data->ids, &input->id_capacity, need, sizeof(int32_t)));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &data->types, &input->type_capacity, need, sizeof(int32_t)));
    data->index[data->count] = (int64_t)data->count;
    data->offset[++data->count] = need;
    if (tokens > data->longest) data->longest = tokens;
    return NVDP_OK;
}

static nvdp_status read_small(struct reader *reader, const char *key, const json_t *array, size_t i,
                              size_t limit, int32_t *out) {
    const json_t *item = json_array_get(array, i);
    if (!json_is_integer(item))
        return FAIL(reader, "'%s'[%zu]: expected an integer, found another type", key, i);
    json_int_t value = json_integer_value(item);
    if (value < 0 || (uint64_t)value >= limit)
        return FAIL(reader, "'%s'[%zu]: expected 0 to %zu, found %lld", key, i, limit - 1,
                    (long long)value);
    *out = (int32_t)value;
    return NVDP_OK;
}

static nvdp_status read_ids(struct reader *reader, const json_t *object) {
    const struct nvdp_bert_config *config = reader->limits->config;
    const json_t *ids = json_object_get(object, "input_ids");
    const json_t *types = json_object_get(object, "token_type_ids");
    if (!json_is_array(ids))
        return FAIL(reader, "'%s': expected an array of integers, found another type", "input_ids");
    if (json_is_null(types)) types = NULL;
    if (types != NULL && !json_is_array(types))
        return FAIL(reader, "'%s': expected an array of integers, found another type",
                    "token_type_ids");
    size_t count = json_array_size(ids);
    if (count < 1 || count > config->max_position_embeddings)
        return FAIL(reader, "'input_ids': expected 1 to %zu tokens, found %zu",
                    config->max_position_embeddings, count);
    if (types != NULL && json_array_size(types) != count)
        return FAIL(reader, "'token_type_ids': expected %zu as 'input_ids', found %zu", count,
                    json_array_size(types));
    struct nvdp_dataset *data = &reader->input->data;
    size_t first = 0;
    NVDP_RETURN_IF_FAILED(add_text(reader, count, &first));
    for (size_t i = 0; i < count; i++) {
        NVDP_RETURN_IF_FAILED(
            read_small(reader, "input_ids", ids, i, config->vocab_size, &data->ids[first + i]));
        data->types[first + i] = 0;
        if (types != NULL)
            NVDP_RETURN_IF_FAILED(read_small(reader, "token_type_ids", types, i,
                                             config->type_vocab_size, &data->types[first + i]));
    }
    return NVDP_OK;
}

/* Loads a tokenizer whose pieces all have a row in the table. */
static nvdp_status load_tokenizer(struct nvdp_context *ctx, const char *directory,
                                  const struct nvdp_bert_config *config,
                                  struct nvdp_tokenizer **out) {
    struct nvdp_tokenizer *made = NULL;
    NVDP_RETURN_IF_FAILED(nvdp_tokenizer_load(ctx, directory, &made));
    nvdp_status status = nvdp__bert_check_rows(ctx, directory, config, nvdp_tokenizer_size(made));
    if (status == NVDP_OK)
        *out = made;
    else
        nvdp_tokenizer_free(made);
    return status;
}

static nvdp_status read_max_length(struct reader *reader, const json_t *object, bool pair,
                                   size_t *out) {
    const json_t *item = json_object_get(object, "max_length");
    size_t min = pair ? MIN_PAIR : MIN_SINGLE;
    size_t max = reader->limits->config->max_position_embeddings;
    size_t value = reader->limits->max_length;
    if (item != NULL && !json_is_null(item)) {
        if (!json_is_integer(item))
            return FAIL(reader, "'%s': expected an integer, found another type", "max_length");
        json_int_t found = json_integer_value(item);
        if (found < (json_int_t)min || (uint64_t)found > max)
            return FAIL(reader, "'max_length': expected %zu to %zu, found %lld", min, max,
                        (long long)found);
        value = (size_t)found;
    }
    *out = value;
    return NVDP_OK;
}

static nvdp_status read_text(struct reader *reader, const json_t *object) {
    const json_t *text = json_object_get(object, "text");
    const json_t *pair = json_object_get(object, "pair");
    if (json_is_null(pair)) pair = NULL;
    if (!json_is_string(text))
        return FAIL(reader, "'%s': expected a string, found another type", "text");
    if (pair != NULL && !json_is_string(pair))
        return FAIL(reader, "'%s': expected a string or null, found another type", "pair");
    size_t max_length = 0;
    NVDP_RETURN_IF_FAILED(read_max_length(reader, object, pair != NULL, &max_length));
    const struct nvdp__encode_limits *limits = reader->limits;
    if (reader->tokenizer == NULL)
        NVDP_RETURN_IF_FAILED(
            load_tokenizer(reader->ctx, limits->directory, limits->config, &reader->tokenizer));
    nvdp_status status = nvdp_tokenizer_encode(
        reader->tokenizer, json_string_value(text), json_string_length(text),
        pair != NULL ? json_string_value(pair) : NULL, pair != NULL ? json_string_length(pair) : 0,
        max_length, &reader->tokens);
    if (status != NVDP_OK)
        return nvdp__fail(reader->ctx, status, "%s:%zu: the text could not be tokenized: %s",
                          reader->path, reader->line, nvdp_status_text(status));
    const struct nvdp_tokens *tokens = &reader->tokens;
    struct nvdp_dataset *data = &reader->input->data;
    size_t types = reader->limits->config->type_vocab_size;
    size_t first = 0;
    NVDP_RETURN_IF_FAILED(add_text(reader, tokens->count, &first));
    for (size_t i = 0; i < tokens->count; i++) {
        if ((size_t)tokens->types[i] >= types)
            return FAIL(reader, "a pair needs a model with %d token types, found %zu", 2, types);
        data->ids[first + i] = tokens->ids[i];
        data->types[first + i] = tokens->types[i];
    }
    return NVDP_OK;
}

static nvdp_status read_line(struct reader *reader, const char *line, size_t size) {
    static const char space[] = {' ', '\t', '\r'};
    size_t blank = 0; /* the line does not end with a NUL */
    while (blank < size && memchr(space, line[blank], sizeof space) != NULL)
        blank++;
    if (blank == size) return NVDP_OK;
    if (size > LINE_LIMIT)
        return FAIL(reader, "expected at most %d bytes per line, found %zu", (int)LINE_LIMIT, size);
    json_error_t error;
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (object == NULL && json_error_code(&error) == json_error_out_of_memory)
        return nvdp__fail(reader->ctx, NVDP_ERR_MEMORY, "%s:%zu: out of memory", reader->path,
                          reader->line);
    if (object == NULL) return FAIL(reader, "expected a JSON object, found: %s", error.text);
    nvdp_status status;
    if (!json_is_object(object)) {
        status = FAIL(reader, "expected a JSON object, found %s", "another type");
    } else if (json_object_get(object, "input_ids") != NULL) {
        /* if a line has both, as in test data of tokenizers, the ids take precedence */
        status = read_ids(reader, object);
    } else if (json_object_get(object, "text") != NULL) {
        status = read_text(reader, object);
    } else {
        status = FAIL(reader, "expected '%s' or '%s', found neither", "text", "input_ids");
    }
    json_decref(object);
    return status;
}

nvdp_status nvdp__encode_input_read(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__encode_limits *limits,
                                    struct nvdp__encode_input *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__encode_input input = {0};
    struct reader reader = {.ctx = ctx, .path = path, .limits = limits, .input = &input};
    struct nvdp__lines lines = {0};
    struct nvdp__line line;
    NVDP_TRY(nvdp__lines_open(ctx, path, &lines));
    for (bool found;;) {
        NVDP_TRY(nvdp__lines_next(&lines, &line, &found));
        if (!found) break;
        reader.line = lines.line;
        NVDP_TRY(read_line(&reader, line.text, line.size));
    }
    if (input.data.count == 0)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at least one JSON line, found none",
                            path));
    NVDP__HAND_OVER(out, input);
cleanup:
    nvdp__lines_close(&lines);
    nvdp_tokens_free(&reader.tokens);
    nvdp_tokenizer_free(reader.tokenizer);
    nvdp__encode_input_release(&input);
    return status;
}

void nvdp__encode_input_release(struct nvdp__encode_input *input) {
    free(input->data.offset);
    free(input->data.ids);
    free(input->data.types);
    free(input->data.index);
    *input = (struct nvdp__encode_input){0};
}

/* The encoder, the heads of its checkpoint, and memory for one batch. */
struct nvdp_encoder {
    struct nvdp_context *ctx;
    struct options options;
    nvdp__encoder_accept *accept;
    size_t max_length;
    struct nvdp_tokenizer *tokenizer; /* NULL in nvdp_encode(), whose reader has one */
    struct nvdp__device dev;
    struct nvdp_bert_config config;
    char fingerprint[65];
    bool has_pooler, has_classifier;
    size_t outputs; /* of the classifier */
    struct nvdp__bert bert;
    struct nvdp__dense classifier;
    struct nvdp__params params;
    struct nvdp__bert_cache cache;
    struct nvdp__arena arena;
    float *logits; /* [texts, outputs] */
    struct nvdp__sentence sentence;
    float *vector; /* [texts, d]; NULL: no pooling */
    /* set during a call */
    const struct nvdp_dataset *data;
    struct nvdp__batch *batch;
    float *host; /* [tokens, d] */
    struct nvdp__h5 *file;
    float *states, *vectors; /* the caller's arrays if there is no file; NULL: not needed */
};

/* --- the model --- */

/* True if the file has the pooler of the encoder's pretrained checkpoints, with or without the encoder's prefix. */
static bool has_pooler(const struct nvdp_safetensors *weights, const struct nvdp__names *names) {
    char name[128];
    nvdp__snprintf(name, sizeof name, "%s.weight", names->pooler);
    return nvdp_safetensors_find(weights, name) != NULL ||
           nvdp_safetensors_find(weights, name + strlen(names->prefix) + 1) != NULL;
}

static nvdp_status find_heads(struct nvdp_encoder *encode, const char *path) {
    nvdp_status status = NVDP_OK;
    struct nvdp_safetensors *weights = NULL;
    char name[128];
    const struct nvdp__encoder_row *row = nvdp__encoder_row(encode->config.model_type);
    NVDP_TRY(nvdp_safetensors_open(encode->ctx, path, &weights));
    encode->has_pooler = row->own_pooler && has_pooler(weights, &row->names);
    nvdp__snprintf(name, sizeof name, "%s.weight", row->names.classifier);
    const struct nvdp_tensor_info *head = nvdp_safetensors_find(weights, name);
    if (head == NULL || !encode->has_pooler) goto cleanup;
    if (head->rank != 2 || head->shape[0] < 1 || head->shape[1] != encode->config.hidden_size)
        NVDP_TRY(nvdp__fail(encode->ctx, NVDP_ERR_INPUT,
                            "%s: tensor '%s': expected shape [outputs, %zu], found "
                            "rank %d with %zu rows",
                            path, name, encode->config.hidden_size, head->rank,
                            head->rank > 0 ? head->shape[0] : 0));
    encode->has_classifier = true;
    encode->outputs = head->shape[0];
cleanup:
    nvdp_safetensors_close(weights);
    return status;
}

static nvdp_status load_model(struct nvdp_encoder *encode) {
    nvdp_status status = NVDP_OK;
    const char *directory = encode->options.model;
    char *config = nvdp__model_path(encode->ctx, directory, "config.json");
    char *weights = nvdp__model_path(encode->ctx, directory, "model.safetensors");
    if (config == NULL || weights == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp_bert_config_read(encode->ctx, directory, &encode->config));
    const struct nvdp__encoder_row *row = nvdp__encoder_row(encode->config.model_type);
    if (!row->all_layers && encode->options.all_layers)
        NVDP_TRY(nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                            "%s: option {all-layers}: %s gives its last states alone", config,
                            row->title));
    NVDP_TRY(nvdp__bert_device(encode->ctx, &encode->config, &encode->dev));
    NVDP_TRY(encode->accept(encode->ctx, config));
    NVDP_TRY(find_heads(encode, weights));
    NVDP_TRY(nvdp__file_sha256(encode->ctx, weights, encode->fingerprint));
    NVDP_TRY(
        nvdp__bert_declare(&encode->bert, &encode->config, encode->has_pooler, &encode->params));
    if (encode->has_classifier)
        NVDP_TRY(nvdp__declare_dense(&encode->params, row->names.classifier, encode->outputs,
                                     encode->config.hidden_size, 0, &encode->classifier));
    NVDP_TRY(nvdp__params_allocate(&encode->params, false));
    NVDP_TRY(nvdp__checkpoint_load(&encode->dev, directory, &encode->params));
cleanup:
    free(config);
    free(weights);
    return status;
}

/* Determines pooling, normalization and length: from the options, else from the model's folder. */
static nvdp_status choose(struct nvdp_encoder *encode) {
    const struct options *options = &encode->options;
    struct nvdp__sentence *sentence = &encode->sentence;
    bool pool = options->pooling == NVDP__POOLING_AUTO;
    bool norm = options->pooling != NVDP__POOLING_NONE && options->normalize == NORMALIZE_AUTO;
    NVDP_RETURN_IF_FAILED(nvdp__sentence_read(encode->ctx, options->model, pool || norm,
                                              encode->config.hidden_size, sentence));
    if (!pool) sentence->pooling = options->pooling;
    if (!norm) sentence->normalize = options->normalize == NORMALIZE_YES;
    if (sentence->normalize && sentence->pooling == NVDP__POOLING_NONE)
        return nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                          "normalize: expected a pooling (pool mean, cls or max), found none");
    size_t max = encode->config.max_position_embeddings;
    encode->max_length = options->max_length;
    if (encode->max_length == 0) encode->max_length = sentence->max_length;
    if (encode->max_length == 0 || (options->max_length == 0 && encode->max_length > max))
        encode->max_length = max;
    if (encode->max_length < MIN_LENGTH || encode->max_length > max)
        return nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                          "max_length: expected %d to %zu, found %zu", MIN_LENGTH, max,
                          encode->max_length);
    return NVDP_OK;
}

/* --- memory --- */

static void plan(struct nvdp_encoder *encode, size_t tokens, size_t texts) {
    nvdp__bert_plan(&encode->bert, &encode->dev, tokens, texts, encode->data->longest,
                    &encode->arena, &encode->cache);
    if (encode->has_classifier)
        encode->logits = nvdp__arena_take(&encode->arena, texts * encode->outputs);
    if (encode->sentence.pooling != NVDP__POOLING_NONE)
        encode->vector = nvdp__arena_take(&encode->arena, texts * encode->config.hidden_size);
}

/* Allocates memory for one batch and, with `file`, the host buffer from which the file is
 * written. */
static nvdp_status allocate(struct nvdp_encoder *encode, bool file) {
    const struct nvdp_dataset *data = encode->data;
    size_t batch = encode->options.batch;
    size_t texts = nvdp__min(batch, data->count);
    size_t tokens = 0; /* max of one batch */
    for (size_t first = 0; first < data->count; first += batch) {
        size_t end = first + batch < data->count ? first + batch : data->count;
        if (data->offset[end] - data->offset[first] > tokens)
            tokens = data->offset[end] - data->offset[first];
    }
    size_t wide = encode->config.hidden_size;
    size_t floats = tokens * wide;
    if (texts * encode->outputs > floats) floats = texts * encode->outputs;
    NVDP_RETURN_IF_FAILED(nvdp__bert_cache_create(encode->ctx, &encode->bert, false,
                                                  encode->options.all_layers, &encode->cache));
    NVDP_RETURN_IF_FAILED(nvdp__bert_lanes(&encode->bert, &encode->dev, &encode->cache));
    plan(encode, tokens, texts);
    NVDP_RETURN_IF_FAILED(nvdp__arena_allocate(encode->ctx, &encode->arena));
    plan(encode, tokens, texts);
    NVDP_RETURN_IF_FAILED(nvdp__arena_check(encode->ctx, &encode->arena));
    NVDP_RETURN_IF_FAILED(nvdp__batch_create(encode->ctx, texts, data->longest, &encode->batch));
    return file ? NVDP__NEW(encode->ctx, encode->host, floats) : NVDP_OK;
}

/* --- the file --- */

static size_t first_layer(const struct nvdp_encoder *encode) {
    return encode->options.all_layers ? 0 : encode->config.num_hidden_layers;
}

/* Without --all-layers only the last layer is written, as "hidden". */
static const char *layer_name(const struct nvdp_encoder *encode, size_t layer,
                              char name[NAME_SIZE]) {
    nvdp__snprintf(name, NAME_SIZE, encode->options.all_layers ? "hidden_%zu" : "hidden", layer);
    return name;
}

static nvdp_status create_file(struct nvdp_encoder *encode) {
    const struct nvdp_dataset *data = encode->data;
    const struct nvdp_bert_config *config = &encode->config;
    size_t hidden[] = {data->offset[data->count], config->hidden_size};
    size_t pooled[] = {data->count, config->hidden_size};
    size_t logits[] = {data->count, encode->outputs};
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_create(encode->ctx, encode->options.out, "encoding/1", &encode->file));
    struct nvdp__h5 *file = encode->file;
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "nvdp_version", nvdp_version()));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "model_fingerprint", encode->fingerprint));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "hidden_size", (int64_t)config->hidden_size));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "layers", (int64_t)config->num_hidden_layers));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(
        file, "statement", "Plain hidden states, without noise: not private, not to be shared."));
    NVDP_RETURN_IF_FAILED(nvdp__h5_write_sizes(file, "offset", data->count + 1, data->offset));
    for (size_t l = first_layer(encode); l <= config->num_hidden_layers; l++) {
        char name[NAME_SIZE];
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_dataset(file, layer_name(encode, l, name), NVDP__H5_F32, 2, hidden));
    }
    if (encode->has_pooler)
        NVDP_RETURN_IF_FAILED(nvdp__h5_dataset(file, "pooled", NVDP__H5_F32, 2, pooled));
    if (encode->has_classifier)
        NVDP_RETURN_IF_FAILED(nvdp__h5_dataset(file, "logits", NVDP__H5_F32, 2, logits));
    if (encode->sentence.pooling == NVDP__POOLING_NONE) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_set_string(file, "pooling", nvdp__pooling_names[encode->sentence.pooling]));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "normalized", encode->sentence.normalize));
    return nvdp__h5_dataset(file, "sentence_embedding", NVDP__H5_F32, 2, pooled);
}

static nvdp_status write_rows(struct nvdp_encoder *encode, const char *name, size_t first,
                              size_t rows, size_t width, const float *tensor) {
    nvdp__download(&encode->dev, rows * width, tensor, encode->host);
    return nvdp__h5_write_rows(encode->file, name, NVDP__H5_F32, first, rows, encode->host);
}

static void give_batch(struct nvdp_encoder *encode, size_t first) {
    const size_t wide = encode->config.hidden_size;
    const struct nvdp__batch *batch = encode->batch;
    if (encode->states != NULL)
        nvdp__download(&encode->dev, batch->tokens * wide,
                       encode->cache.hidden[encode->config.num_hidden_layers],
                       encode->states + encode->data->offset[first] * wide);
    if (encode->vectors != NULL)
        nvdp__download(&encode->dev, batch->texts * wide, encode->vector,
                       encode->vectors + first * wide);
}

static nvdp_status write_batch(struct nvdp_encoder *encode, size_t first) {
    size_t wide = encode->config.hidden_size;
    const struct nvdp__batch *batch = encode->batch;
    size_t row = encode->data->offset[first];
    for (size_t l = first_layer(encode); l <= encode->config.num_hidden_layers; l++) {
        char name[NAME_SIZE];
        NVDP_RETURN_IF_FAILED(write_rows(encode, layer_name(encode, l, name), row, batch->tokens,
                                         wide, encode->cache.hidden[l]));
    }
    if (encode->has_pooler)
        NVDP_RETURN_IF_FAILED(
            write_rows(encode, "pooled", first, batch->texts, wide, encode->cache.pooler.pooled));
    if (encode->has_classifier)
        NVDP_RETURN_IF_FAILED(
            write_rows(encode, "logits", first, batch->texts, encode->outputs, encode->logits));
    if (encode->sentence.pooling != NVDP__POOLING_NONE)
        NVDP_RETURN_IF_FAILED(
            write_rows(encode, "sentence_embedding", first, batch->texts, wide, encode->vector));
    return NVDP_OK;
}

/* --- the pass --- */

static void pool(struct nvdp_encoder *encode) {
    const struct nvdp__device *dev = &encode->dev;
    const struct nvdp__batch *batch = encode->batch;
    size_t wide = encode->config.hidden_size;
    const float *last = encode->cache.hidden[encode->config.num_hidden_layers];
    if (encode->sentence.pooling == NVDP__POOLING_CLS)
        nvdp__rows_gather(dev, batch->texts, wide, batch->offset, last, encode->vector);
    else if (encode->sentence.pooling == NVDP__POOLING_MAX)
        nvdp__pool_max_forward(dev, batch->texts, wide, batch->offset, last, encode->vector);
    else
        nvdp__pool_forward(dev, batch->texts, wide, batch->offset, NULL, last, encode->vector);
    if (encode->sentence.normalize) nvdp__rows_normalize(dev, batch->texts, wide, encode->vector);
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
    if (encode->sentence.pooling != NVDP__POOLING_NONE) pool(encode);
    return nvdp__device_status(&encode->dev);
}

static nvdp_status encode_all(struct nvdp_encoder *encode) {
    const struct nvdp_dataset *data = encode->data;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, encode->ctx, "encode", "text", 0, data->count);
    for (size_t first = 0; first < data->count; first += encode->options.batch) {
        size_t left = data->count - first;
        size_t n = nvdp__min(left, encode->options.batch);
        NVDP_RETURN_IF_FAILED(nvdp__check_cancelled(encode->ctx, "encode: cancelled"));
        nvdp__batch_fill(encode->batch, data, NULL, first, n);
        NVDP_RETURN_IF_FAILED(forward(encode));
        if (encode->file == NULL)
            give_batch(encode, first);
        else
            NVDP_RETURN_IF_FAILED(write_batch(encode, first));
        nvdp__meter_update(&meter, first + n, (double)data->offset[first + n], "token", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* --- the whole call --- */

/* Frees the memory of one call; keeps the weights. */
static void release_call(struct nvdp_encoder *encode) {
    nvdp__h5_free(encode->file);
    free(encode->host);
    nvdp__batch_free(encode->batch);
    nvdp__bert_cache_release(&encode->cache);
    nvdp__arena_release(&encode->arena);
    encode->file = NULL;
    encode->host = encode->states = encode->vectors = NULL;
    encode->batch = NULL;
    encode->data = NULL;
}

static void release(struct nvdp_encoder *encode) {
    release_call(encode);
    nvdp_tokenizer_free(encode->tokenizer);
    nvdp__bert_release(&encode->bert);
    nvdp__device_release(&encode->dev);
    nvdp__params_release(&encode->params);
}

static nvdp_status open_model(struct nvdp_context *ctx, struct nvdp_encoder *encode) {
    encode->ctx = ctx;
    nvdp__params_init(&encode->params, ctx);
    NVDP_RETURN_IF_FAILED(load_model(encode));
    return choose(encode);
}

nvdp_status nvdp__encode_file(struct nvdp_context *ctx, const struct nvdp_config *config,
                              nvdp__encoder_accept *accept, struct nvdp_encoding *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_encoder encode = {.accept = accept};
    struct nvdp__encode_input input = {0};
    const struct options *options = &encode.options;
    if (out != NULL) NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    NVDP_RETURN_IF_FAILED(nvdp__config_open(ctx, config, &encode_schema, &encode.options));
    NVDP_TRY(nvdp__refuse_same(ctx, "out", options->out, options->input));
    NVDP_TRY(nvdp__check_folder_of(ctx, options->out));
    NVDP_TRY(open_model(ctx, &encode));
    const struct nvdp__encode_limits limits = {&encode.config, encode.max_length, options->model};
    NVDP_TRY(nvdp__encode_input_read(ctx, options->input, &limits, &input));
    encode.data = &input.data;
    NVDP_TRY(allocate(&encode, true));
    NVDP_TRY(create_file(&encode));
    NVDP_TRY(encode_all(&encode));
    NVDP_TRY(nvdp__h5_commit(encode.file, true));
    if (out != NULL) {
        struct nvdp_encoding result = {.texts = input.data.count,
                                       .max_length = encode.max_length,
                                       .normalized = encode.sentence.normalize};
        nvdp__snprintf(result.pooling, sizeof result.pooling, "%s",
                       nvdp__pooling_names[encode.sentence.pooling]);
        NVDP__GIVE(out, &result);
    }
cleanup:
    release(&encode);
    nvdp__encode_input_release(&input);
    return status;
}

/* --- in memory --- */

nvdp_status nvdp__encoder_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 nvdp__encoder_accept *accept, struct nvdp_encoder **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_encoder *encoder = nvdp__calloc(ctx, 1, sizeof *encoder);
    if (encoder == NULL) return NVDP_ERR_MEMORY;
    struct options *options = &encoder->options;
    encoder->accept = accept;
    NVDP_TRY(nvdp__config_open(ctx, config, &encoder_schema, options));
    NVDP_TRY(open_model(ctx, encoder));
    NVDP_TRY(load_tokenizer(ctx, options->model, &encoder->config, &encoder->tokenizer));
    options->model = NULL; /* owned by the configuration */
    NVDP__HAND_OVER(out, encoder);
cleanup:
    nvdp_encoder_free(encoder);
    return status;
}

void nvdp_encoder_free(struct nvdp_encoder *encoder) {
    if (encoder == NULL) return;
    release(encoder);
    free(encoder);
}

nvdp_status nvdp_encoder_describe(const struct nvdp_encoder *encoder,
                                  struct nvdp_encoder_info *out) {
    NVDP_RETURN_IF_FAILED(nvdp__can_give(encoder->ctx, out));
    struct nvdp_encoder_info info = {.hidden_size = encoder->config.hidden_size,
                                     .max_length = encoder->max_length,
                                     .normalized = encoder->sentence.normalize};
    nvdp__snprintf(info.pooling, sizeof info.pooling, "%s",
                   nvdp__pooling_names[encoder->sentence.pooling]);
    nvdp__snprintf(info.fingerprint, sizeof info.fingerprint, "%s", encoder->fingerprint);
    NVDP__GIVE(out, &info);
    return NVDP_OK;
}

const struct nvdp_tokenizer *nvdp_encoder_tokenizer(const struct nvdp_encoder *encoder) {
    return encoder->tokenizer;
}

static nvdp_status check_texts(const struct nvdp_encoder *encoder,
                               const struct nvdp_dataset *data) {
    const struct nvdp_bert_config *config = &encoder->config;
    if (data->longest > config->max_position_embeddings)
        return nvdp__fail(encoder->ctx, NVDP_ERR_ARGUMENT,
                          "texts: expected at most %zu tokens, found %zu",
                          config->max_position_embeddings, data->longest);
    for (size_t k = 0; k < data->offset[data->count]; k++)
        if ((size_t)data->ids[k] >= config->vocab_size ||
            (size_t)data->types[k] >= config->type_vocab_size)
            return nvdp__fail(encoder->ctx, NVDP_ERR_ARGUMENT,
                              "token %zu: expected an id and a type below %zu and %zu, found %d "
                              "and %d",
                              k, config->vocab_size, config->type_vocab_size, data->ids[k],
                              data->types[k]);
    return NVDP_OK;
}

nvdp_status nvdp_encoder_run(struct nvdp_context *ctx, struct nvdp_encoder *encoder,
                             const struct nvdp_dataset *dataset, float *states, float *vectors) {
    nvdp_status status = NVDP_OK;
    if (vectors != NULL && encoder->sentence.pooling == NVDP__POOLING_NONE)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "vectors: expected an encoder with a pooling (mean, cls or max), found "
                          "none");
    NVDP_RETURN_IF_FAILED(check_texts(encoder, dataset));
    if (dataset->count == 0) return NVDP_OK;
    encoder->data = dataset;
    encoder->states = states;
    encoder->vectors = vectors;
    NVDP_TRY(allocate(encoder, false));
    NVDP_TRY(encode_all(encoder));
cleanup:
    release_call(encoder);
    return status;
}
