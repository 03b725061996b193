/* Reads rows of fields in every table format: tab-separated values with and without quotes, CSV (RFC 4180), JSON
 * lines. nvdp__tsv_next(), after the functions of the formats, selects the format. */
#include "text/task.h"

#include "base/file.h"
#include "base/own.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_SIZE = 64 };

/* ---- names in messages ---- */

void nvdp__name_list_add(struct nvdp__name_list *list, size_t max_bytes, const char *name) {
    const char *comma = list->used > 0 ? ", " : "";
    if (list->full) return;
    list->full = list->used + strlen(name) + sizeof ", , ..." > max_bytes;
    list->used += (size_t)nvdp__snprintf(list->text + list->used, sizeof list->text - list->used,
                                         "%s%s", comma, list->full ? "..." : name);
}

/* ---- the cursor ---- */

/* Returns true if a path has this ending, also with .gz or .xz after it. Upper case counts too, because Windows has
 * .CSV and .TSV. */
static bool has_end(const char *path, const char *end) {
    const bool packed = nvdp__ends_with(path, ".gz") || nvdp__ends_with(path, ".xz");
    const size_t size = strlen(path) - (packed ? strlen(".gz") : 0), n = strlen(end);
    return size > n && strncasecmp(path + size - n, end, n) == 0;
}

enum nvdp__table_format nvdp__path_table_format(const char *path) {
    if (has_end(path, ".csv")) return NVDP__TABLE_CSV;
    if (has_end(path, ".jsonl") || has_end(path, ".ndjson") || has_end(path, ".json"))
        return NVDP__TABLE_JSONL;
    return NVDP__TABLE_TSV;
}

bool nvdp__is_table(const char *path) {
    return has_end(path, ".tsv") || nvdp__path_table_format(path) != NVDP__TABLE_TSV;
}

char nvdp__separator(enum nvdp__table_format format) {
    return format == NVDP__TABLE_CSV ? ',' : '\t';
}

/* clang-format off */
const char *const nvdp__table_ends[] = {".tsv", ".tsv.gz", ".tsv.xz",
                                        ".csv", ".csv.gz", ".csv.xz",
                                        ".jsonl", ".jsonl.gz", ".jsonl.xz",
                                        ".ndjson", ".ndjson.gz", ".ndjson.xz",
                                        ".json", ".json.gz", ".json.xz", NULL};
/* clang-format on */

void nvdp__table_log_quotes(struct nvdp_context *ctx, const char *path) {
    nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: fields are quoted as in CSV: quotes are taken off", path);
}

void nvdp__table_log_lines(struct nvdp_context *ctx, const char *path, size_t texts) {
    nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: %zu texts, one per line", path, texts);
}

void nvdp__table_log_texts(struct nvdp_context *ctx, const char *path, size_t not_utf8,
                           size_t empty, size_t rows) {
    if (not_utf8 > 0)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%s: %zu of its rows are not UTF-8; their odd bytes are left out: convert the "
                  "file first, such as with iconv -f WINDOWS-1252 -t UTF-8",
                  path, not_utf8);
    if (empty > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: %zu of %zu texts are empty", path, empty, rows);
}

bool nvdp__is_in_set(char c, const char *set) {
    return c != '\0' && strchr(set, c) != NULL;
}

struct nvdp__field nvdp__trimmed(struct nvdp__field field, const char *set) {
    for (; field.size > 0 && nvdp__is_in_set(field.text[0], set); field.size--)
        field.text++;
    while (field.size > 0 && nvdp__is_in_set(field.text[field.size - 1], set))
        field.size--;
    return field;
}

static const char JSON_BLANKS[] = "\n\r\t ";

char nvdp__first_byte(const char *bytes, size_t count) {
    for (size_t at = nvdp__byte_order_mark(bytes, count); at < count; at++)
        if (memchr(JSON_BLANKS, bytes[at], sizeof JSON_BLANKS - 1) == NULL) return bytes[at];
    return '\0';
}

void nvdp__tsv_open(struct nvdp_context *ctx, const char *path, const char *bytes, size_t count,
                    struct nvdp__tsv *tsv) {
    const size_t skip = nvdp__byte_order_mark(bytes, count);
    *tsv = (struct nvdp__tsv){.ctx = ctx, .path = path, .at = bytes + skip, .end = bytes + count};
}

/* Returns the number of blanks in a line that has nothing but blanks; else 0. */
static size_t only_blanks(const struct nvdp__tsv *tsv) {
    const char *at = tsv->at;
    while (at < tsv->end && *at == ' ')
        at++;
    return at < tsv->end && (*at == '\n' || *at == '\r') ? (size_t)(at - tsv->at) : 0;
}

/* Skips empty lines; in TSV also lines of spaces only, and in JSON all blanks. */
bool nvdp__tsv_more(struct nvdp__tsv *tsv) {
    const bool rows = tsv->blank_rows || tsv->format == NVDP__TABLE_LINES;
    const size_t blanks = tsv->format == NVDP__TABLE_JSONL ? sizeof JSON_BLANKS - 1 : 1;
    while (!rows && tsv->at < tsv->end) {
        if (tsv->format == NVDP__TABLE_TSV) tsv->at += only_blanks(tsv);
        const bool pair = tsv->end - tsv->at > 1 && tsv->at[0] == '\r' && tsv->at[1] == '\n';
        if (!pair && memchr(JSON_BLANKS, *tsv->at, blanks) == NULL) break;
        tsv->more_lines += pair || *tsv->at == '\n';
        tsv->at += pair ? 2 : 1;
    }
    return tsv->at < tsv->end;
}

static nvdp_status add_field(struct nvdp__tsv *tsv, struct nvdp__field field) {
    return NVDP__PUSH(tsv->ctx, tsv->field, tsv->fields, tsv->capacity, field);
}

/* Takes the current line, without its LF or CRLF, and moves the cursor to the next line. */
static nvdp_status next_line(struct nvdp__tsv *tsv, struct nvdp__field *line) {
    struct nvdp__field rest = {tsv->at, (size_t)(tsv->end - tsv->at)};
    *line = nvdp__take_part(&rest, '\n');
    tsv->at = rest.text != NULL ? rest.text : tsv->end;
    if (line->size > 0 && line->text[line->size - 1] == '\r') line->size--;
    if (line->size <= NVDP__LINE_LIMIT) return NVDP_OK;
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                      "%s:%zu: expected a line of at most %d bytes, found %zu", tsv->path,
                      tsv->line, NVDP__LINE_LIMIT, line->size);
}

/* ---- quotes ---- */

/* Adds the bytes between quotes, with each doubled quote reduced to one quote. */
static nvdp_status add_unquoted(struct nvdp__tsv *tsv, struct nvdp__field field, size_t doubled) {
    char *to = NULL;
    if (doubled == 0) return add_field(tsv, field);
    NVDP_TRY(nvdp__pool_take(tsv->ctx, &tsv->pool, field.size - doubled, &to));
    size_t n = 0;
    for (size_t i = 0; i < field.size; i++) {
        to[n++] = field.text[i];
        i += field.text[i] == '"';
    }
    return add_field(tsv, (struct nvdp__field){to, n});
}

/* Starts after an opening quote and moves *at to the byte after the closing quote. Returns false if there is no
 * closing quote within the limit. */
static bool find_close(struct nvdp__tsv *tsv, const char **at, size_t *doubled) {
    const char *start = *at;
    *doubled = 0;
    for (const char *c = start; c < tsv->end && c - start <= NVDP__LINE_LIMIT; c++) {
        tsv->more_lines += *c == '\n';
        if (*c != '"') continue;
        if (c + 1 < tsv->end && c[1] == '"') {
            ++*doubled;
            tsv->needs_quotes = true;
            c++;
            continue;
        }
        *at = c + 1;
        return true;
    }
    return false;
}

/* Splits a row by RFC 4180, with any separator. Quotes within a field that does not begin with a quote belong to the
 * field. */
static nvdp_status next_quoted(struct nvdp__tsv *tsv) {
    const char *start = tsv->at, *at = start, separator = nvdp__separator(tsv->format);
    struct nvdp__field line;
    for (;;) {
        const bool quoted = at < tsv->end && *at == '"';
        const char *stop = at;
        size_t doubled = 0;
        tsv->quoted |= quoted;
        if (quoted) {
            const char *first = ++at;
            if (!find_close(tsv, &at, &doubled)) break;
            const struct nvdp__field field = {first, (size_t)(at - 1 - first)};
            NVDP_TRY(add_unquoted(tsv, field, doubled));
            stop = at;
        } else {
            while (stop < tsv->end && *stop != separator && *stop != '\n')
                stop++;
        }
        const char *end = stop;
        if (!quoted && stop > at && stop[-1] == '\r' && (stop == tsv->end || *stop == '\n')) end--;
        if (quoted && stop + 1 < tsv->end && stop[0] == '\r' && stop[1] == '\n') stop++;
        if (!quoted) NVDP_TRY(add_field(tsv, (struct nvdp__field){at, (size_t)(end - at)}));
        if (stop - start > NVDP__LINE_LIMIT) {
            tsv->at = stop;
            (void)next_line(tsv, &line);
            return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: expected a row of at most %d bytes, found more", tsv->path,
                              tsv->line, NVDP__LINE_LIMIT);
        }
        if (stop < tsv->end && *stop == separator) {
            at = stop + 1;
            continue;
        }
        if (stop < tsv->end && *stop != '\n') {
            tsv->at = stop;
            (void)next_line(tsv, &line);
            return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: column %zu: expected the end of the field after its closing "
                              "quote, found %s (a quote within quotes is written twice)",
                              tsv->path, tsv->line, tsv->fields,
                              nvdp__quote_field((struct nvdp__field){stop, 1}).text);
        }
        tsv->at = stop < tsv->end ? stop + 1 : stop;
        return NVDP_OK;
    }
    tsv->at = start; /* continues after this line, because the next line may be valid */
    tsv->more_lines = 0;
    (void)next_line(tsv, &line);
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                      "%s:%zu: column %zu: expected a closing quote within %d bytes, found none",
                      tsv->path, tsv->line, tsv->fields + 1, NVDP__LINE_LIMIT);
}

/* ---- JSON: one object per line, or one array of objects ---- */

static nvdp_status add_copy(struct nvdp__tsv *tsv, const char *text, size_t size) {
    char *to = NULL;
    NVDP_TRY(nvdp__pool_take(tsv->ctx, &tsv->pool, size + 1, &to));
    memcpy(to, text, size);
    to[size] = '\0';
    return add_field(tsv, (struct nvdp__field){to, size});
}

/* Adds a string without its quotes, and a number or boolean as in JSON; other values have no text. */
static nvdp_status add_value(struct nvdp__tsv *tsv, const json_t *value) {
    char number[NUMBER_SIZE];
    if (json_is_string(value))
        return add_copy(tsv, json_string_value(value), json_string_length(value));
    if (json_is_boolean(value))
        return add_field(tsv, json_is_true(value) ? (struct nvdp__field){"true", 4}
                                                  : (struct nvdp__field){"false", 5});
    if (!json_is_number(value)) return add_field(tsv, (struct nvdp__field){0});
    if (json_is_integer(value))
        nvdp__snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
    else
        nvdp__real_text(json_real_value(value), number);
    return add_copy(tsv, number, strlen(number));
}

/* Takes the next element of an array and moves the cursor past the comma or bracket after the element. */
static nvdp_status next_element(struct nvdp__tsv *tsv, struct nvdp__field *element) {
    const char *const start = tsv->at;
    bool text = false;
    size_t depth = 0;
    if (tsv->closed) {
        tsv->at = tsv->end;
        return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected the end of the file after the array, found %s",
                          tsv->path, tsv->line,
                          nvdp__quote_field((struct nvdp__field){start, 1}).text);
    }
    for (const char *at = start; at < tsv->end; at++) {
        tsv->more_lines += *at == '\n';
        if (text && *at == '\\' && at + 1 < tsv->end) {
            at++;
        } else if (*at == '"') {
            text = !text;
        } else if (!text && depth == 0 && (*at == ',' || *at == ']' || *at == '}')) {
            tsv->at = at + 1;
            tsv->closed = *at != ',';
            while (at > start && memchr(JSON_BLANKS, at[-1], sizeof JSON_BLANKS - 1) != NULL)
                at--;
            *element = (struct nvdp__field){start, (size_t)(at - start)};
            if (element->size <= NVDP__LINE_LIMIT) return NVDP_OK;
            return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: expected an object of at most %d bytes, found %zu",
                              tsv->path, tsv->line, NVDP__LINE_LIMIT, element->size);
        } else if (!text && (*at == '{' || *at == '[')) {
            depth++;
        } else if (!text && (*at == '}' || *at == ']')) {
            depth--;
        }
    }
    tsv->at = tsv->end;
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                      "%s:%zu: expected a comma or the end of the array after the object that "
                      "begins here, found the end of the file: it is cut",
                      tsv->path, tsv->line);
}

bool nvdp__tsv_in_array(const struct nvdp__tsv *tsv) {
    return tsv->array || (tsv->format == NVDP__TABLE_JSONL && tsv->names == NULL &&
                          tsv->at < tsv->end && *tsv->at == '[');
}

/* Reads the next object. The first object is read twice: for the names of its members, which become the columns, and
 * as a row. */
static nvdp_status next_object(struct nvdp__tsv *tsv) {
    const char *key;
    json_error_t where;
    json_t *member;
    nvdp__autoptr(json_decref) json_t *object = NULL;
    const bool in_array = nvdp__tsv_in_array(tsv);
    if (in_array && !tsv->array) { /* at the beginning of the array */
        tsv->array = true;
        tsv->at++;
        tsv->more_lines = 0;
        (void)nvdp__tsv_more(tsv);
        tsv->line += tsv->more_lines;
        tsv->more_lines = 0;
    }
    NVDP_TRY(in_array ? next_element(tsv, &tsv->object) : next_line(tsv, &tsv->object));
    object = json_loadb(tsv->object.text, tsv->object.size,
                        JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &where);
    if (!json_is_object(object))
        return nvdp__fail(
            tsv->ctx, NVDP_ERR_INPUT, "%s:%zu: expected a JSON object, found %s%s%s", tsv->path,
            tsv->line, object == NULL ? "none: " : "another value",
            object == NULL ? where.text : "",
            tsv->array || tsv->names != NULL
                ? ""
                : "; such a file has one object per line, or is one array of objects");
    if (tsv->names == NULL) {
        json_object_foreach(object, key, member) NVDP_TRY(add_copy(tsv, key, strlen(key)));
        NVDP_TRY(NVDP__NEW(tsv->ctx, tsv->names, tsv->fields));
        for (size_t i = 0; i < tsv->fields; i++)
            tsv->names[i] = tsv->field[i].text;
        tsv->name_count = tsv->fields;
        tsv->at = tsv->object.text;
        tsv->closed = false;
        tsv->more_lines = 0;
        tsv->header_is_row = true;
    } else {
        for (size_t i = 0; i < tsv->name_count; i++)
            NVDP_TRY(add_value(tsv, json_object_get(object, tsv->names[i])));
    }
    return NVDP_OK;
}

nvdp_status nvdp__tsv_next(struct nvdp__tsv *tsv) {
    tsv->line += tsv->more_lines + (tsv->header_is_row || tsv->array ? 0 : 1);
    tsv->more_lines = 0;
    tsv->header_is_row = false;
    tsv->fields = 0;
    if (nvdp__is_quoted(tsv->format)) return next_quoted(tsv);
    if (tsv->format == NVDP__TABLE_JSONL) return next_object(tsv);
    struct nvdp__field rest;
    NVDP_TRY(next_line(tsv, &rest));
    if (tsv->format == NVDP__TABLE_LINES) return add_field(tsv, rest);
    while (rest.text != NULL)
        NVDP_TRY(add_field(tsv, nvdp__take_part(&rest, '\t')));
    /* in a table of one column, an empty line is an empty text */
    if (tsv->line == 1 && tsv->fields == 1) tsv->blank_rows = true;
    return NVDP_OK;
}

void nvdp__tsv_release(struct nvdp__tsv *tsv) {
    free(tsv->field);
    free(tsv->names);
    nvdp__pool_release(&tsv->pool);
    *tsv = (struct nvdp__tsv){0};
}

/* ---- fields and columns ---- */

bool nvdp__field_is(struct nvdp__field field, const char *text) {
    return field.size == strlen(text) && memcmp(field.text, text, field.size) == 0;
}

int nvdp__by_field(const void *left, const void *right) {
    const struct nvdp__field *a = left;
    const struct nvdp__field *b = right;
    int order = memcmp(a->text, b->text, nvdp__min(a->size, b->size));
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

nvdp_status nvdp__tsv_column(const struct nvdp__tsv *tsv, const char *name, size_t *column) {
    size_t found = tsv->fields;
    for (size_t i = 0; i < tsv->fields; i++) {
        if (!nvdp__field_is(tsv->field[i], name)) continue;
        if (found < tsv->fields)
            return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                              "%s:%zu: expected one column '%s', found it as %zu and %zu",
                              tsv->path, tsv->line, name, found + 1, i + 1);
        found = i;
    }
    *column = found;
    return NVDP_OK;
}

nvdp_status nvdp__tsv_no_value(const struct nvdp__tsv *tsv, size_t column) {
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                      "%s:%zu: '%s': expected text or a number, found none: no value, null, a list "
                      "or an object",
                      tsv->path, tsv->line, tsv->names[column]);
}

/* Returns a hint for the message if the header suggests another format than the name of the file. */
static const char *hint(const struct nvdp__tsv *tsv) {
    const struct nvdp__field first = tsv->fields > 0 ? tsv->field[0] : (struct nvdp__field){"", 0};
    if (nvdp__conll_recognize(tsv->ctx, tsv->path))
        return "; it looks like words with tags: " NVDP__CONLL_HINT;
    for (size_t i = 0; i < tsv->fields; i++)
        if (tsv->field[i].size > 0 && memchr(tsv->field[i].text, '\r', tsv->field[i].size) != NULL)
            return "; expected lines that end in LF or CR LF, found CR alone: tr '\\r' '\\n' "
                   "converts the file";
    if (tsv->fields != 1 || first.size == 0) return "";
    const bool comma = memchr(first.text, ',', first.size) != NULL;
    if (tsv->format == NVDP__TABLE_TSV && first.text[0] == '{')
        return "; it looks like JSON, whose files are named .jsonl or .json";
    if (first.text[0] == '<') return "; it looks like a web page: download the file itself";
    if (tsv->format == NVDP__TABLE_TSV && comma)
        return "; expected tabs between columns, found commas: CSV files are named .csv";
    if (tsv->format == NVDP__TABLE_CSV && memchr(first.text, '\t', first.size) != NULL)
        return "; expected commas between columns, found tabs: such files are named .tsv";
    if (tsv->format == NVDP__TABLE_CSV && memchr(first.text, ';', first.size) != NULL)
        return "; expected commas between columns, found semicolons";
    return "";
}

nvdp_status nvdp__tsv_missing(const struct nvdp__tsv *tsv, const char *name) {
    struct nvdp__name_list list = {0};
    for (size_t i = 0; i < tsv->fields; i++)
        nvdp__name_list_add(&list, sizeof list.text, nvdp__quote_field(tsv->field[i]).text);
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT, "%s:%zu: missing column '%s': found columns %s%s",
                      tsv->path, tsv->line, name, list.text, hint(tsv));
}

bool nvdp__tsv_bare_cola(const struct nvdp__tsv *tsv, const struct nvdp__layout *layout) {
    if (layout->task.id != NVDP_TASK_COLA || tsv->fields != NVDP__COLA_COLUMNS) return false;
    for (size_t i = 0; i < tsv->fields; i++) {
        if (nvdp__field_is(tsv->field[i], layout->text)) return false;
    }
    return true;
}

bool nvdp__field_number(struct nvdp__field field, double *number) {
    char text[NUMBER_SIZE];
    if (field.size == 0 || field.size >= sizeof text) return false;
    memcpy(text, field.text, field.size);
    text[field.size] = '\0';
    /* Accepts only decimal digits: strtod would also accept spaces, hexadecimal numbers, "inf" and "nan". */
    if (strspn(text, "0123456789+-.eE") != field.size) return false;
    char *end = NULL;
    double value = nvdp__strtod(text, &end);
    if (end != text + field.size || !isfinite(value)) return false;
    *number = value;
    return true;
}

/* ==== tables of any size in parts, with the same rows as reading the whole file ==== */

/* Upper bound of the size of a row: the last field begins within the limit and ends within another limit. */
enum { PIECE = 1 << 19, LONGEST_ROW = 2 * NVDP__LINE_LIMIT + 4 };

nvdp_status nvdp__table_chunks_open(struct nvdp_context *ctx, const char *path,
                                    enum nvdp__table_format format,
                                    struct nvdp__table_chunks *chunks) {
    *chunks = (struct nvdp__table_chunks){.ctx = ctx};
    chunks->tsv = (struct nvdp__tsv){.ctx = ctx, .path = path, .format = format};
    return nvdp__input_open(ctx, path, &chunks->input);
}

void nvdp__table_chunks_of_bytes(struct nvdp_context *ctx, const char *path, const char *bytes,
                                 size_t count, struct nvdp__table_chunks *chunks) {
    *chunks = (struct nvdp__table_chunks){.ctx = ctx, .ended = true};
    nvdp__tsv_open(ctx, path, bytes, count, &chunks->tsv);
}

void nvdp__table_chunks_adopt(struct nvdp__lines *lines, enum nvdp__table_format format,
                              struct nvdp__table_chunks *chunks) {
    *chunks = (struct nvdp__table_chunks){.ctx = lines->ctx,
                                          .read = lines->read,
                                          .input = lines->input,
                                          .bytes = lines->buffer,
                                          .capacity = lines->capacity,
                                          .ended = lines->ended};
    chunks->tsv = (struct nvdp__tsv){.ctx = lines->ctx,
                                     .path = lines->path,
                                     .format = format,
                                     .at = lines->buffer + lines->used,
                                     .end = lines->buffer + lines->have};
    chunks->tsv.at += nvdp__byte_order_mark(chunks->tsv.at, lines->have - lines->used);
    *lines = (struct nvdp__lines){0};
}

void nvdp__table_chunks_close(struct nvdp__table_chunks *chunks) {
    nvdp__input_close(chunks->input);
    nvdp__tsv_release(&chunks->tsv);
    nvdp__pool_release(&chunks->names);
    free(chunks->bytes);
    *chunks = (struct nvdp__table_chunks){0};
}

nvdp_status nvdp__table_chunks_read(struct nvdp__table_chunks *chunks, bool *more) {
    struct nvdp__tsv *tsv = &chunks->tsv;
    const size_t left = (size_t)(tsv->end - tsv->at);
    const bool first = chunks->bytes == NULL;
    *more = left > 0;
    if (chunks->input == NULL) return NVDP_OK;
    nvdp__pool_release(&tsv->pool);
    if (left > 0) memmove(chunks->bytes, tsv->at, left);
    if (2 * left >= chunks->capacity)
        NVDP_TRY(nvdp__reserve(chunks->ctx, &chunks->bytes, &chunks->capacity,
                               left > 0 ? 2 * left : PIECE, 1));
    size_t have = left;
    while (!chunks->ended && have < chunks->capacity) {
        size_t count;
        NVDP_TRY(
            nvdp__input_read(chunks->input, chunks->capacity - have, chunks->bytes + have, &count));
        chunks->ended = count == 0;
        if (chunks->ended && !chunks->quiet) nvdp__input_log(chunks->input);
        chunks->read += count;
        have += count;
    }
    tsv->at = chunks->bytes;
    tsv->end = chunks->bytes + have;
    if (first) tsv->at += nvdp__byte_order_mark(chunks->bytes, have);
    *more = tsv->at < tsv->end;
    return NVDP_OK;
}

/* Returns the next row. A row that ends at the end of the part may continue in the next part; an unfinished row may
 * be complete there. */
nvdp_status nvdp__table_chunks_next(struct nvdp__table_chunks *chunks, bool *row) {
    struct nvdp__tsv *tsv = &chunks->tsv;
    *row = false;
    if (!nvdp__tsv_more(tsv)) return NVDP_OK;
    const struct nvdp__tsv before = *tsv;
    const char *const start = tsv->at;
    const bool final = chunks->ended || tsv->end - start > LONGEST_ROW;
    const bool tried = !final && (nvdp__is_quoted(tsv->format) || nvdp__tsv_in_array(tsv));
    if (!final && !tried && memchr(start, '\n', (size_t)(tsv->end - start)) == NULL) return NVDP_OK;
    tsv->ctx = tried || chunks->quiet ? NULL : chunks->ctx;
    nvdp_status status = nvdp__tsv_next(tsv);
    tsv->ctx = chunks->ctx;
    if (tried && status != NVDP_ERR_MEMORY && (status != NVDP_OK || tsv->at == tsv->end)) {
        tsv->at = start;
        tsv->line = before.line;
        tsv->more_lines = before.more_lines;
        tsv->quoted = before.quoted;
        tsv->needs_quotes = before.needs_quotes;
        tsv->array = before.array;
        tsv->closed = before.closed;
        tsv->header_is_row = before.header_is_row;
        return NVDP_OK;
    }
    *row = true;
    NVDP_TRY(status);
    if (tsv->names != NULL && chunks->names.blocks == 0) /* the names must outlive the part */
        NVDP__HAND_OVER(&chunks->names, tsv->pool);
    chunks->row = tsv->format == NVDP__TABLE_JSONL
                      ? tsv->object
                      : (struct nvdp__field){start, (size_t)(tsv->at - start)};
    while (chunks->row.size > 0 && (chunks->row.text[chunks->row.size - 1] == '\n' ||
                                    chunks->row.text[chunks->row.size - 1] == '\r'))
        chunks->row.size--;
    return NVDP_OK;
}

nvdp_status nvdp__table_chunks_find(struct nvdp__table_chunks *chunks, bool *row) {
    bool more = true;
    for (*row = false; !*row && more;) {
        NVDP_TRY(nvdp__table_chunks_next(chunks, row));
        if (!*row) NVDP_TRY(nvdp__table_chunks_read(chunks, &more));
    }
    return NVDP_OK;
}

/* Returns true if some line of a row that was read with quotes does not have `columns` fields when read without
 * quotes. Else the quotes may be part of the texts, because a quotation can begin in one row and end in a later row. */
static bool needs_quotes(struct nvdp__field row, size_t columns) {
    size_t lines = 0;
    while (row.size > 0) {
        const struct nvdp__field line = nvdp__take_part(&row, '\n');
        size_t fields = 1;
        for (size_t i = 0; i < line.size; i++)
            fields += line.text[i] == '\t';
        if (line.size == 0 || nvdp__field_is(line, "\r")) continue;
        if (fields != columns || (columns == 1 && lines > 0)) return true;
        lines++;
    }
    return false;
}

/* Reads a table with quotes to its end, or to the first row that is not valid or not as wide as the header. */
static nvdp_status find_quotes(struct nvdp__table_chunks *chunks, bool *quoted) {
    struct nvdp__tsv *tsv = &chunks->tsv;
    bool more = true, row, names_quoted = false, sound = true;
    size_t columns = 0;
    chunks->quiet = true;
    tsv->format = NVDP__TABLE_QUOTED_TSV;
    while (sound && more) {
        NVDP_TRY(nvdp__table_chunks_read(chunks, &more));
        for (row = more; sound && row;) {
            const nvdp_status status = nvdp__table_chunks_next(chunks, &row);
            if (status == NVDP_ERR_MEMORY) return status;
            sound = status == NVDP_OK && (!row || columns == 0 || tsv->fields == columns);
            if (!row || !sound) continue;
            if (columns == 0) names_quoted = tsv->quoted;
            columns = tsv->fields;
            tsv->needs_quotes |= needs_quotes(chunks->row, columns);
        }
    }
    *quoted = sound && (names_quoted || tsv->needs_quotes);
    return NVDP_OK;
}

bool nvdp__tsv_is_quoted(const char *bytes, size_t count) {
    nvdp__auto(nvdp__table_chunks_close) struct nvdp__table_chunks chunks = {0};
    bool quoted = false;
    if (memchr(bytes, '"', count) == NULL) return false;
    nvdp__table_chunks_of_bytes(NULL, "", bytes, count, &chunks);
    return find_quotes(&chunks, &quoted) == NVDP_OK && quoted;
}

nvdp_status nvdp__table_chunks_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                                      const char *path, enum nvdp__table_format *format) {
    nvdp__auto(nvdp__table_chunks_close) struct nvdp__table_chunks chunks = {0};
    bool quoted = false;
    *format = NVDP__TABLE_TSV;
    if (layout->task.id != NVDP_TASK_TSV) return NVDP_OK;
    *format = nvdp__path_table_format(path);
    if (*format != NVDP__TABLE_TSV) return NVDP_OK;
    NVDP_TRY(nvdp__table_chunks_open(ctx, path, *format, &chunks));
    NVDP_TRY(find_quotes(&chunks, &quoted));
    if (quoted) *format = NVDP__TABLE_QUOTED_TSV;
    if (quoted) nvdp__table_log_quotes(ctx, path);
    return NVDP_OK;
}
