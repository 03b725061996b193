#include "share/encode_input.h"

#include <errno.h>
#include <jansson.h>
#include <nvdp/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_LIMIT = 1 << 26, SHORTEST_SINGLE = 2, SHORTEST_PAIR = 3 };

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

/* --- gathering --- */

static nvdp_status reserve(struct reader *reader, size_t tokens) {
    struct nvdp__encode_input *input = reader->input;
    struct nvdp_dataset *data = &input->data;
    struct nvdp_context *ctx = reader->ctx;
    size_t used = data->count > 0 ? data->offset[data->count] : 0;
    size_t need = used + tokens;
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &data->offset, &input->text_capacity, data->count + 2, sizeof(size_t)));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &data->index, &input->index_capacity, data->count + 1, sizeof(int64_t)));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &data->ids, &input->id_capacity, need, sizeof(int32_t)));
    return nvdp__reserve(ctx, &data->types, &input->type_capacity, need, sizeof(int32_t));
}

/* Closes a text whose `tokens` ids and types already lie behind the others. */
static void close_text(struct reader *reader, size_t tokens) {
    struct nvdp_dataset *data = &reader->input->data;
    data->offset[data->count + 1] = data->offset[data->count] + tokens;
    data->index[data->count] = (int64_t)data->count;
    data->count++;
    if (tokens > data->longest) data->longest = tokens;
}

/* --- token ids --- */

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
    NVDP_RETURN_IF_FAILED(reserve(reader, count));
    struct nvdp_dataset *data = &reader->input->data;
    size_t first = data->offset[data->count];
    for (size_t i = 0; i < count; i++) {
        NVDP_RETURN_IF_FAILED(
            read_small(reader, "input_ids", ids, i, config->vocab_size, &data->ids[first + i]));
        data->types[first + i] = 0;
        if (types != NULL)
            NVDP_RETURN_IF_FAILED(read_small(reader, "token_type_ids", types, i,
                                             config->type_vocab_size, &data->types[first + i]));
    }
    close_text(reader, count);
    return NVDP_OK;
}

/* --- texts --- */

static nvdp_status load_tokenizer(struct reader *reader) {
    if (reader->tokenizer != NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(
        nvdp_tokenizer_load(reader->ctx, reader->limits->directory, &reader->tokenizer));
    size_t size = nvdp_tokenizer_size(reader->tokenizer);
    if (size <= reader->limits->config->vocab_size) return NVDP_OK;
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT,
                      "%s/vocab.txt: expected at most %zu pieces (config.json's vocab_size), found "
                      "%zu",
                      reader->limits->directory, reader->limits->config->vocab_size, size);
}

static nvdp_status read_max_length(struct reader *reader, const json_t *object, bool pair,
                                   size_t *out) {
    const json_t *item = json_object_get(object, "max_length");
    size_t least = pair ? SHORTEST_PAIR : SHORTEST_SINGLE;
    size_t most = reader->limits->config->max_position_embeddings;
    size_t value = reader->limits->max_length;
    if (item != NULL && !json_is_null(item)) {
        if (!json_is_integer(item))
            return FAIL(reader, "'%s': expected an integer, found another type", "max_length");
        json_int_t found = json_integer_value(item);
        if (found < (json_int_t)least || (uint64_t)found > most)
            return FAIL(reader, "'max_length': expected %zu to %zu, found %lld", least, most,
                        (long long)found);
        value = (size_t)found;
    }
    *out = value;
    return NVDP_OK;
}

static nvdp_status copy_tokens(struct reader *reader) {
    const struct nvdp_tokens *tokens = &reader->tokens;
    size_t types = reader->limits->config->type_vocab_size;
    NVDP_RETURN_IF_FAILED(reserve(reader, tokens->count));
    struct nvdp_dataset *data = &reader->input->data;
    size_t first = data->offset[data->count];
    for (size_t i = 0; i < tokens->count; i++) {
        if ((size_t)tokens->types[i] >= types)
            return FAIL(reader, "a pair needs a model with %d token types, found %zu", 2, types);
        data->ids[first + i] = tokens->ids[i];
        data->types[first + i] = tokens->types[i];
    }
    close_text(reader, tokens->count);
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
    NVDP_RETURN_IF_FAILED(load_tokenizer(reader));
    nvdp_status status = nvdp_tokenizer_encode(
        reader->tokenizer, json_string_value(text), json_string_length(text),
        pair != NULL ? json_string_value(pair) : NULL, pair != NULL ? json_string_length(pair) : 0,
        max_length, &reader->tokens);
    if (status != NVDP_OK)
        return nvdp__fail(reader->ctx, status, "%s:%zu: the text could not be tokenized: %s",
                          reader->path, reader->line, nvdp_status_text(status));
    return copy_tokens(reader);
}

/* --- lines --- */

static nvdp_status read_object(struct reader *reader, const json_t *object) {
    if (!json_is_object(object))
        return FAIL(reader, "expected a JSON object, found %s", "another type");
    /* A line may have both, as a tokenizer's test data does: the ids need no guessing. */
    if (json_object_get(object, "input_ids") != NULL) return read_ids(reader, object);
    if (json_object_get(object, "text") != NULL) return read_text(reader, object);
    return FAIL(reader, "expected '%s' or '%s', found neither", "text", "input_ids");
}

static bool blank(const char *line, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r' && line[i] != '\n') return false;
    }
    return true;
}

static nvdp_status read_line(struct reader *reader, const char *line, size_t size) {
    if (blank(line, size)) return NVDP_OK;
    if (size > LINE_LIMIT)
        return FAIL(reader, "expected at most %d bytes a line, found %zu", (int)LINE_LIMIT, size);
    json_error_t error;
    json_t *object = json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (object == NULL && json_error_code(&error) == json_error_out_of_memory)
        return nvdp__fail(reader->ctx, NVDP_ERR_MEMORY, "%s:%zu: out of memory", reader->path,
                          reader->line);
    if (object == NULL) return FAIL(reader, "expected a JSON object, found: %s", error.text);
    nvdp_status status = read_object(reader, object);
    json_decref(object);
    return status;
}

static nvdp_status read_lines(struct reader *reader, FILE *file) {
    nvdp_status status = NVDP_OK;
    char *line = NULL;
    size_t room = 0;
    for (;;) {
        errno = 0;
        ssize_t size = getline(&line, &room, file);
        if (size < 0 && ferror(file))
            NVDP_TRY(nvdp__fail_errno(reader->ctx, errno, "%s: cannot read", reader->path));
        if (size < 0) break;
        reader->line++;
        NVDP_TRY(read_line(reader, line, (size_t)size));
    }
    if (reader->input->data.count == 0)
        NVDP_TRY(nvdp__fail(reader->ctx, NVDP_ERR_INPUT,
                            "%s: expected at least one JSON line, found none", reader->path));
cleanup:
    free(line);
    return status;
}

nvdp_status nvdp__encode_input_read(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__encode_limits *limits,
                                    struct nvdp__encode_input *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__encode_input input = {0};
    struct reader reader = {.ctx = ctx, .path = path, .limits = limits, .input = &input};
    FILE *file = fopen(path, "rbe");
    if (file == NULL) NVDP_TRY(nvdp__fail_errno(ctx, errno, "%s: cannot read", path));
    NVDP_TRY(read_lines(&reader, file));
    *out = input;
    input = (struct nvdp__encode_input){0};
cleanup:
    if (file != NULL) fclose(file);
    nvdp_tokens_release(&reader.tokens);
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
