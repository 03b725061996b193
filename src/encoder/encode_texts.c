/* Reads the texts that an encoder takes, as token ids. The formats are JSON lines, tables, one text per line, and
 * words with tags. */
#include "encoder/encode.h"

#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "text/batch.h"
#include "text/dataset.h"
#include "text/task.h"
#include <nvdp/tokenizer.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_LIMIT = 1 << 26,
    MIN_SINGLE = 2, /* includes the special tokens */
};

#define TEXT "text" /* key of an object, and default column of a table */
#define PAIR "pair" /* key of an object */

struct reader {
    struct nvdp_context *ctx;
    const char *path;
    size_t line; /* number of the current line, from 1 */
    const struct nvdp__encode_limits *limits;
    struct nvdp_tokenizer *tokenizer;
    struct nvdp_tokens tokens;
    struct nvdp__encode_input *input;
};

static void release(struct reader *reader) {
    nvdp_tokens_free(&reader->tokens);
    nvdp_tokenizer_free(reader->tokenizer);
}

#define FAIL(reader, format, ...)                                                                  \
    nvdp__fail((reader)->ctx, NVDP_ERR_INPUT, "%s:%zu: " format, (reader)->path, (reader)->line,   \
               __VA_ARGS__)

/* Adds a text with room for `tokens` tokens; the caller writes the ids and types from *first on. */
static nvdp_status add_text(struct reader *reader, size_t tokens, size_t *first) {
    struct nvdp_context *ctx = reader->ctx;
    struct nvdp__encode_input *input = reader->input;
    struct nvdp_dataset *data = &input->data;
    *first = data->count > 0 ? data->offset[data->count] : 0;
    size_t need = *first + tokens;
    NVDP_TRY(
        nvdp__reserve(ctx, &data->offset, &input->text_capacity, data->count + 2, sizeof(size_t)));
    NVDP_TRY(
        nvdp__reserve(ctx, &data->index, &input->index_capacity, data->count + 1, sizeof(int64_t)));
    NVDP_TRY(nvdp__reserve(ctx, &data->ids, &input->id_capacity, need, sizeof(int32_t)));
    NVDP_TRY(nvdp__reserve(ctx, &data->types, &input->type_capacity, need, sizeof(int32_t)));
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
    NVDP_TRY(add_text(reader, count, &first));
    for (size_t i = 0; i < count; i++) {
        NVDP_TRY(
            read_small(reader, "input_ids", ids, i, config->vocab_size, &data->ids[first + i]));
        data->types[first + i] = 0;
        if (types != NULL)
            NVDP_TRY(read_small(reader, "token_type_ids", types, i, config->type_vocab_size,
                                &data->types[first + i]));
    }
    if (reader->limits->public != NULL)
        return nvdp__public_texts_add_ids(reader->limits->public, count, data->ids + first);
    return NVDP_OK;
}

nvdp_status nvdp__encoder_tokenizer_load(struct nvdp_context *ctx, const char *directory,
                                         const struct nvdp_bert_config *config,
                                         struct nvdp_tokenizer **out) {
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *made = NULL;
    NVDP_TRY(nvdp_tokenizer_load(ctx, directory, &made));
    NVDP_TRY(nvdp__bert_check_rows(ctx, directory, config, nvdp_tokenizer_size(made)));
    return NVDP__HAND_OVER(out, made);
}

/* Adds a text, or a pair of texts if pair.text is not NULL. */
static nvdp_status encode_text(struct reader *reader, struct nvdp__field text,
                               struct nvdp__field pair, size_t max_length) {
    const struct nvdp__encode_limits *limits = reader->limits;
    if (reader->tokenizer == NULL)
        NVDP_TRY(nvdp__encoder_tokenizer_load(reader->ctx, limits->directory, limits->config,
                                              &reader->tokenizer));
    if (limits->public != NULL)
        NVDP_TRY(nvdp__public_texts_add(limits->public, text.text, text.size, max_length));
    if (limits->public != NULL && pair.text != NULL)
        NVDP_TRY(nvdp__public_texts_add(limits->public, pair.text, pair.size, max_length));
    nvdp__autofree char *prompted = NULL;
    if (limits->prompt != NULL) {
        const size_t prompt = strlen(limits->prompt);
        NVDP_TRY(NVDP__NEW(reader->ctx, prompted, prompt + text.size + 1));
        memcpy(prompted, limits->prompt, prompt);
        memcpy(prompted + prompt, text.text, text.size);
        text.text = prompted;
        text.size += prompt;
    }
    nvdp_status status = nvdp_tokenizer_encode(reader->tokenizer, text.text, text.size, pair.text,
                                               pair.size, max_length, &reader->tokens);
    if (status != NVDP_OK)
        return nvdp__fail(reader->ctx, status, "%s:%zu: the text could not be tokenized: %s",
                          reader->path, reader->line, nvdp_status_text(status));
    const struct nvdp_tokens *tokens = &reader->tokens;
    struct nvdp_dataset *data = &reader->input->data;
    size_t types = reader->limits->config->type_vocab_size;
    size_t first = 0;
    NVDP_TRY(add_text(reader, tokens->count, &first));
    for (size_t i = 0; i < tokens->count; i++) {
        if ((size_t)tokens->types[i] >= types)
            return FAIL(reader, "a pair needs a model with %d token types, found %zu", 2, types);
        data->ids[first + i] = tokens->ids[i];
        data->types[first + i] = tokens->types[i];
    }
    return NVDP_OK;
}

static nvdp_status read_text(struct reader *reader, const json_t *object) {
    const json_t *text = json_object_get(object, TEXT);
    const json_t *pair = json_object_get(object, PAIR);
    if (json_is_null(pair)) pair = NULL;
    if (!json_is_string(text))
        return FAIL(reader, "'%s': expected a string, found another type", TEXT);
    if (pair != NULL && !json_is_string(pair))
        return FAIL(reader, "'%s': expected a string or null, found another type", PAIR);
    const json_t *length = json_object_get(object, "max_length");
    const size_t min = pair != NULL ? NVDP__MIN_PAIR : MIN_SINGLE;
    const size_t max = reader->limits->config->max_position_embeddings;
    size_t max_length = reader->limits->max_length;
    if (length != NULL && !json_is_null(length)) {
        if (!json_is_integer(length))
            return FAIL(reader, "'%s': expected an integer, found another type", "max_length");
        const json_int_t found = json_integer_value(length);
        if (found < (json_int_t)min || (uint64_t)found > max)
            return FAIL(reader, "'max_length': expected %zu to %zu, found %lld", min, max,
                        (long long)found);
        max_length = (size_t)found;
    }
    return encode_text(
        reader, (struct nvdp__field){json_string_value(text), json_string_length(text)},
        (struct nvdp__field){json_string_value(pair), json_string_length(pair)}, max_length);
}

static nvdp_status read_line(struct reader *reader, const char *line, size_t size) {
    static const char space[] = {' ', '\t', '\r'};
    size_t blank = 0; /* number of blanks at the start of the line, which does not end with a NUL */
    while (blank < size && memchr(space, line[blank], sizeof space) != NULL)
        blank++;
    if (blank == size) return NVDP_OK;
    if (size > LINE_LIMIT)
        return FAIL(reader, "expected at most %d bytes per line, found %zu", (int)LINE_LIMIT, size);
    json_error_t error;
    nvdp__autoptr(json_decref) json_t *object =
        json_loadb(line, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (object == NULL && json_error_code(&error) == json_error_out_of_memory)
        return nvdp__fail(reader->ctx, NVDP_ERR_MEMORY, "%s:%zu: out of memory", reader->path,
                          reader->line);
    if (object == NULL) return FAIL(reader, "expected a JSON object, found: %s", error.text);
    if (!json_is_object(object))
        return FAIL(reader, "expected a JSON object, found %s", "another type");
    /* if a line has both keys, as in test data of tokenizers, the ids take precedence */
    if (json_object_get(object, "input_ids") != NULL) return read_ids(reader, object);
    return json_object_get(object, TEXT) != NULL
               ? read_text(reader, object)
               : FAIL(reader, "expected '%s' or '%s', found neither", TEXT, "input_ids");
}

/* Reads the rest of the open file as JSON lines. */
static nvdp_status read_objects(struct reader *reader, struct nvdp__lines *lines) {
    struct nvdp__field line;
    for (bool found;;) {
        NVDP_TRY(nvdp__lines_next(lines, &line, &found));
        if (!found) return NVDP_OK;
        reader->line = lines->line;
        NVDP_TRY(read_line(reader, line.text, line.size));
    }
}

static const char *text_column(const struct nvdp__encode_limits *limits) {
    return limits->text_column != NULL ? limits->text_column : TEXT;
}

/* Reads a table, or lines. `lines` is the open file, or NULL to open the file. */
static nvdp_status read_rows(struct reader *reader, struct nvdp__lines *lines,
                             enum nvdp__table_format format) {
    const struct nvdp__encode_limits *limits = reader->limits;
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    nvdp__autoptr(nvdp__row_chunks_close) struct nvdp__row_chunks *chunks = NULL;
    const struct nvdp__rows *rows;
    config.task = NVDP_TASK_TSV;
    config.text_column = text_column(limits);
    config.text_pair_column = limits->text_pair_column;
    if (lines == NULL)
        NVDP_TRY(nvdp__table_chunks_format(reader->ctx, nvdp__task_layout(config.task),
                                           reader->path, &format));
    NVDP_TRY(nvdp__row_chunks_open(reader->ctx, &config, NVDP__LABELS_IGNORED, reader->path, lines,
                                   format, &chunks));
    do {
        NVDP_TRY(nvdp__row_chunks_next(chunks, &rows));
        for (size_t i = 0; i < rows->count; i++)
            NVDP_TRY(encode_text(reader, rows->row[i].text, rows->row[i].pair, limits->max_length));
    } while (rows->count > 0);
    nvdp__table_log_texts(reader->ctx, reader->path, rows->not_utf8, 0, 0);
    return NVDP_OK;
}

/* Reads a file of texts whose name is not the name of a table. The first bytes decide if the file is a table or has
 * one text per line. */
static nvdp_status read_texts(struct reader *reader, struct nvdp__lines *lines,
                              struct nvdp__field head) {
    struct nvdp__layout layout = *nvdp__task_layout(NVDP_TASK_TSV);
    enum nvdp__table_format format = NVDP__TABLE_TSV;
    size_t whole = head.size; /* size of the lines that the first bytes contain completely */
    layout.text = text_column(reader->limits);
    while (!lines->ended && whole > 0 && head.text[whole - 1] != '\n')
        whole--;
    if (reader->limits->text_pair_column == NULL)
        NVDP_TRY(
            nvdp__texts_format(reader->ctx, &layout, reader->path, head.text, head.size, &format));
    else if (nvdp__first_byte(head.text, head.size) == '{')
        format = NVDP__TABLE_JSONL;
    if (format == NVDP__TABLE_TSV && nvdp__check_regular(NULL, reader->path) == NVDP_OK)
        nvdp__lines_close(lines); /* the file can be read twice, to find quotes */
    else if (format == NVDP__TABLE_TSV && nvdp__tsv_is_quoted(head.text, whole)) {
        format = NVDP__TABLE_QUOTED_TSV;
        nvdp__table_log_quotes(reader->ctx, reader->path);
    }
    NVDP_TRY(read_rows(reader, lines->input != NULL ? lines : NULL, format));
    if (format == NVDP__TABLE_LINES && reader->input->data.count > 0)
        nvdp__table_log_lines(reader->ctx, reader->path, reader->input->data.count);
    return NVDP_OK;
}

/* Finds the format by the name, else by the first bytes. */
static nvdp_status read_any(struct reader *reader, struct nvdp__lines *lines) {
    const char *const path = reader->path;
    const bool json = nvdp__path_table_format(path) == NVDP__TABLE_JSONL;
    struct nvdp__field head;
    if (nvdp__is_table(path) && !json) return read_rows(reader, NULL, NVDP__TABLE_TSV);
    NVDP_TRY(nvdp__lines_open(reader->ctx, path, lines));
    NVDP_TRY(nvdp__lines_peek(lines, NVDP__LOOK_BYTES, &head));
    const char first = nvdp__first_byte(head.text, head.size);
    const char *const pair = reader->limits->text_pair_column;
    /* true if the columns are the keys of objects */
    const bool own =
        strcmp(text_column(reader->limits), TEXT) == 0 && (pair == NULL || strcmp(pair, PAIR) == 0);
    if (reader->limits->only_objects || (own && (first == '{' || (json && first != '['))))
        return read_objects(reader, lines);
    return json ? read_rows(reader, lines, NVDP__TABLE_JSONL) : read_texts(reader, lines, head);
}

nvdp_status nvdp__encode_input_read(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__encode_limits *limits,
                                    struct nvdp__encode_input *out) {
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input input = {0};
    nvdp__auto(release) struct reader reader = {
        .ctx = ctx, .path = path, .limits = limits, .input = &input};
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    NVDP_TRY(read_any(&reader, &lines));
    if (input.data.count == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected at least one %s, found none", path,
                          limits->only_objects || nvdp__path_table_format(path) == NVDP__TABLE_JSONL
                              ? "JSON line"
                              : "text");
    return NVDP__HAND_OVER(out, input);
}

void nvdp__encode_input_release(struct nvdp__encode_input *input) {
    free(input->data.offset);
    free(input->data.ids);
    free(input->data.types);
    free(input->data.index);
    *input = (struct nvdp__encode_input){0};
}

/* Copies the first n texts; if `row` is not NULL, the texts of these n rows. */
static nvdp_status pick(struct nvdp_context *ctx, const struct nvdp_dataset *from, size_t n,
                        const int64_t *row, struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *made = NULL;
    NVDP_TRY(nvdp__dataset_create(ctx, n, false, &made));
    for (size_t i = 0; i < n; i++) {
        made->index[i] = row != NULL ? row[i] : (int64_t)i;
        made->offset[i + 1] = from->offset[made->index[i] + 1] - from->offset[made->index[i]];
    }
    NVDP_TRY(nvdp__dataset_lay_out(ctx, made));
    for (size_t i = 0; i < n; i++) {
        const size_t start = from->offset[made->index[i]];
        const size_t bytes = (from->offset[made->index[i] + 1] - start) * sizeof *from->ids;
        memcpy(made->ids + made->offset[i], from->ids + start, bytes);
        memcpy(made->types + made->offset[i], from->types + start, bytes);
    }
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp__texts_read(struct nvdp_context *ctx, const char *path,
                             const struct nvdp__encode_limits *limits, size_t limit, uint64_t seed,
                             size_t *all, struct nvdp_dataset **out) {
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input input = {0};
    nvdp__autoptr(nvdp_tokenizer_free) struct nvdp_tokenizer *tokenizer = NULL;
    nvdp__autofree int64_t *order = NULL;
    if (nvdp__conll_recognize(ctx, path)) {
        NVDP_TRY(nvdp__encoder_tokenizer_load(ctx, limits->directory, limits->config, &tokenizer));
        return nvdp__dataset_load_tagged(ctx, tokenizer, limits->max_length, limit, seed, path, all,
                                         out);
    }
    NVDP_TRY(nvdp__encode_input_read(ctx, path, limits, &input));
    *all = input.data.count;
    if (limit == 0 || limit >= *all) return pick(ctx, &input.data, *all, NULL, out);
    NVDP_TRY(NVDP__NEW(ctx, order, *all));
    nvdp__epoch_order(seed, 0, *all, order);
    return pick(ctx, &input.data, limit, order, out);
}
