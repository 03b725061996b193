/* Reads rows of fields in every table format: tab-separated values with and without quotes, CSV
 * (RFC 4180), JSON lines. nvdp__tsv_next at the end of the formats chooses. */
#include "text/task.h"

#include "base/file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 64, POOL_BLOCK = 1 << 18 };

/* ---- names in messages ---- */

void nvdp__name_list_add(struct nvdp__name_list *list, size_t max_bytes, const char *name) {
    const char *comma = list->used > 0 ? ", " : "";
    if (list->full) return;
    list->full = list->used + strlen(name) + sizeof ", , ..." > max_bytes;
    list->used += (size_t)nvdp__snprintf(list->text + list->used, sizeof list->text - list->used,
                                         "%s%s", comma, list->full ? "..." : name);
}

/* ---- memory for fields that differ from the file's bytes ---- */

static nvdp_status pool_take(struct nvdp_context *ctx, struct nvdp__pool *pool, size_t n,
                             char **out) {
    if (n > pool->size - pool->used || pool->blocks == 0) {
        const size_t size = nvdp__max(n, POOL_BLOCK);
        NVDP_RETURN_IF_FAILED(nvdp__reserve(ctx, &pool->block, &pool->capacity, pool->blocks + 1,
                                            sizeof *pool->block));
        NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, pool->block[pool->blocks], size));
        pool->blocks++;
        pool->size = size;
        pool->used = 0;
    }
    *out = pool->block[pool->blocks - 1] + pool->used;
    pool->used += n;
    return NVDP_OK;
}

void nvdp__pool_release(struct nvdp__pool *pool) {
    for (size_t i = 0; i < pool->blocks; i++)
        free(pool->block[i]);
    free(pool->block);
    *pool = (struct nvdp__pool){0};
}

/* ---- the cursor ---- */

enum nvdp__table_format nvdp__table_format_of(const char *path) {
    if (nvdp__ends_with(path, ".csv")) return NVDP__TABLE_CSV;
    if (nvdp__ends_with(path, ".jsonl") || nvdp__ends_with(path, ".ndjson"))
        return NVDP__TABLE_JSONL;
    return NVDP__TABLE_TSV;
}

char nvdp__separator(enum nvdp__table_format format) {
    return format == NVDP__TABLE_CSV ? ',' : '\t';
}

const char *const nvdp__table_ends[] = {".tsv", ".csv", ".jsonl", ".ndjson", NULL};

void nvdp__table_log_quotes(struct nvdp_context *ctx, const char *path) {
    nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: fields are quoted as in CSV: quotes are taken off", path);
}

void nvdp__table_log_texts(struct nvdp_context *ctx, const char *path, size_t not_utf8,
                           size_t empty, size_t rows) {
    if (not_utf8 > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "%s: %zu of its rows are not UTF-8; their odd bytes are left out", path,
                  not_utf8);
    if (empty > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: %zu of %zu texts are empty", path, empty, rows);
}

size_t nvdp__byte_order_mark(const char *bytes, size_t count) {
    const size_t mark = sizeof NVDP__BYTE_ORDER_MARK - 1;
    return count >= mark && memcmp(bytes, NVDP__BYTE_ORDER_MARK, mark) == 0 ? mark : 0;
}

void nvdp__tsv_open(struct nvdp_context *ctx, const char *path, const char *bytes, size_t count,
                    struct nvdp__tsv *tsv) {
    const size_t skip = nvdp__byte_order_mark(bytes, count);
    *tsv = (struct nvdp__tsv){.ctx = ctx, .path = path, .at = bytes + skip, .end = bytes + count};
}

/* Empty lines are rows in plain tab-separated values and in plain lines; in other formats they
 * are skipped. */
bool nvdp__tsv_more(struct nvdp__tsv *tsv) {
    const bool any = tsv->format == NVDP__TABLE_TSV || tsv->format == NVDP__TABLE_LINES;
    while (!any && tsv->at < tsv->end) {
        const bool pair = tsv->end - tsv->at > 1 && tsv->at[0] == '\r' && tsv->at[1] == '\n';
        if (*tsv->at != '\n' && !pair) break;
        tsv->at += pair ? 2 : 1;
        tsv->more_lines++;
    }
    return tsv->at < tsv->end;
}

static nvdp_status add_field(struct nvdp__tsv *tsv, const char *text, size_t size) {
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(tsv->ctx, &tsv->field, &tsv->capacity, tsv->fields + 1, sizeof *tsv->field));
    tsv->field[tsv->fields++] = (struct nvdp__field){text, size};
    return NVDP_OK;
}

/* Takes the current line, without its LF or CRLF, and moves the cursor behind it. */
static nvdp_status next_line(struct nvdp__tsv *tsv, struct nvdp__field *line) {
    const char *at = tsv->at;
    const char *stop = memchr(at, '\n', (size_t)(tsv->end - at));
    tsv->at = stop != NULL ? stop + 1 : tsv->end;
    if (stop == NULL) stop = tsv->end;
    if (stop > at && stop[-1] == '\r') stop--;
    *line = (struct nvdp__field){at, (size_t)(stop - at)};
    if (line->size <= NVDP__LINE_LIMIT) return NVDP_OK;
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                      "%s:%zu: expected a line of at most %d bytes, found %zu", tsv->path,
                      tsv->line, NVDP__LINE_LIMIT, line->size);
}

static nvdp_status next_plain(struct nvdp__tsv *tsv) {
    struct nvdp__field line;
    NVDP_RETURN_IF_FAILED(next_line(tsv, &line));
    const char *at = line.text, *stop = line.text + line.size;
    if (tsv->format == NVDP__TABLE_LINES) return add_field(tsv, at, line.size);
    for (;;) {
        const char *tab = memchr(at, '\t', (size_t)(stop - at));
        const char *end = tab != NULL ? tab : stop;
        NVDP_RETURN_IF_FAILED(add_field(tsv, at, (size_t)(end - at)));
        if (tab == NULL) return NVDP_OK;
        at = tab + 1;
    }
}

/* ---- quotes ---- */

/* Adds the bytes between quotes, with doubled quotes reduced to one. */
static nvdp_status add_unquoted(struct nvdp__tsv *tsv, const char *text, size_t size,
                                size_t doubled) {
    char *to = NULL;
    if (doubled == 0) return add_field(tsv, text, size);
    NVDP_RETURN_IF_FAILED(pool_take(tsv->ctx, &tsv->pool, size - doubled, &to));
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        to[n++] = text[i];
        i += text[i] == '"';
    }
    return add_field(tsv, to, n);
}

/* Starts after an opening quote and moves *at behind the closing one. False if there is none
 * within the limit. */
static bool find_close(struct nvdp__tsv *tsv, const char **at, size_t *doubled) {
    const char *start = *at, separator = nvdp__separator(tsv->format);
    *doubled = 0;
    for (const char *c = start; c < tsv->end && c - start <= NVDP__LINE_LIMIT; c++) {
        tsv->more_lines += *c == '\n';
        tsv->needs_quotes |= *c == '\n' || *c == separator;
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

/* RFC 4180 with any separator. Quotes within a field that does not begin with a quote belong to
 * the field. */
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
            NVDP_RETURN_IF_FAILED(add_unquoted(tsv, first, (size_t)(at - 1 - first), doubled));
            stop = at;
        } else {
            while (stop < tsv->end && *stop != separator && *stop != '\n')
                stop++;
        }
        const char *end = stop;
        if (!quoted && stop > at && stop[-1] == '\r' && (stop == tsv->end || *stop == '\n')) end--;
        if (quoted && stop + 1 < tsv->end && stop[0] == '\r' && stop[1] == '\n') stop++;
        if (!quoted) NVDP_RETURN_IF_FAILED(add_field(tsv, at, (size_t)(end - at)));
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
    tsv->at = start; /* the next line may be valid */
    tsv->more_lines = 0;
    (void)next_line(tsv, &line);
    return nvdp__fail(tsv->ctx, NVDP_ERR_INPUT,
                      "%s:%zu: column %zu: expected a closing quote within %d bytes, found none",
                      tsv->path, tsv->line, tsv->fields + 1, NVDP__LINE_LIMIT);
}

bool nvdp__tsv_is_quoted(const char *bytes, size_t count) {
    struct nvdp__tsv tsv;
    bool sound = true, names_quoted = false;
    size_t columns = 0;
    if (memchr(bytes, '"', count) == NULL) return false;
    nvdp__tsv_open(NULL, "", bytes, count, &tsv);
    tsv.format = NVDP__TABLE_QUOTED_TSV;
    for (size_t row = 0; sound && nvdp__tsv_more(&tsv); row++) {
        sound = nvdp__tsv_next(&tsv) == NVDP_OK && (row == 0 || tsv.fields == columns);
        columns = tsv.fields;
        if (row == 0) names_quoted = tsv.quoted; /* the names are quoted */
    }
    sound = sound && (names_quoted || tsv.needs_quotes);
    nvdp__tsv_release(&tsv);
    return sound;
}

/* ---- JSON lines ---- */

static nvdp_status add_copy(struct nvdp__tsv *tsv, const char *text, size_t size) {
    char *to = NULL;
    NVDP_RETURN_IF_FAILED(pool_take(tsv->ctx, &tsv->pool, size + 1, &to));
    memcpy(to, text, size);
    to[size] = '\0';
    return add_field(tsv, to, size);
}

/* Adds a string as it is, and a number or boolean as in JSON; other values have no text. */
static nvdp_status add_value(struct nvdp__tsv *tsv, const json_t *value) {
    char number[NUMBER_SIZE];
    if (json_is_string(value))
        return add_copy(tsv, json_string_value(value), json_string_length(value));
    if (json_is_boolean(value))
        return add_field(tsv, json_is_true(value) ? "true" : "false", json_is_true(value) ? 4 : 5);
    if (!json_is_number(value)) return add_field(tsv, NULL, 0);
    const int n =
        json_is_integer(value)
            ? nvdp__snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value))
            : nvdp__snprintf(number, sizeof number, "%.17g", json_real_value(value));
    return add_copy(tsv, number, (size_t)n);
}

/* The first line is read twice: for the names of its members, which become the columns, and as a
 * row. */
static nvdp_status next_object(struct nvdp__tsv *tsv) {
    nvdp_status status = NVDP_OK;
    struct nvdp__field line;
    const char *begin = tsv->at, *key;
    json_error_t where;
    json_t *member, *object = NULL;
    NVDP_TRY(next_line(tsv, &line));
    object = json_loadb(line.text, line.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!json_is_object(object))
        NVDP_TRY(nvdp__fail(tsv->ctx, NVDP_ERR_INPUT, "%s:%zu: expected a JSON object, found %s%s",
                            tsv->path, tsv->line, object == NULL ? "none: " : "another value",
                            object == NULL ? where.text : ""));
    if (tsv->names == NULL) {
        json_object_foreach(object, key, member) NVDP_TRY(add_copy(tsv, key, strlen(key)));
        NVDP_TRY(NVDP__NEW(tsv->ctx, tsv->names, tsv->fields));
        for (size_t i = 0; i < tsv->fields; i++)
            tsv->names[i] = tsv->field[i].text;
        tsv->name_count = tsv->fields;
        tsv->at = begin;
        tsv->header_is_row = true;
    } else {
        for (size_t i = 0; i < tsv->name_count; i++)
            NVDP_TRY(add_value(tsv, json_object_get(object, tsv->names[i])));
    }
cleanup:
    json_decref(object);
    return status;
}

nvdp_status nvdp__tsv_next(struct nvdp__tsv *tsv) {
    tsv->line += tsv->more_lines + (tsv->header_is_row ? 0 : 1);
    tsv->more_lines = 0;
    tsv->header_is_row = false;
    tsv->fields = 0;
    switch (tsv->format) {
    case NVDP__TABLE_TSV:
    case NVDP__TABLE_LINES:
        break;
    case NVDP__TABLE_QUOTED_TSV:
    case NVDP__TABLE_CSV:
        return next_quoted(tsv);
    case NVDP__TABLE_JSONL:
        return next_object(tsv);
    }
    return next_plain(tsv);
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
    if (order != 0) return order;
    return (a->size > b->size) - (a->size < b->size);
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
                      "%s:%zu: '%s': expected text or a number, found none", tsv->path, tsv->line,
                      tsv->names[column]);
}

/* A hint for the message if the header suggests another format than the file's name. */
static const char *hint(const struct nvdp__tsv *tsv) {
    const struct nvdp__field first = tsv->fields > 0 ? tsv->field[0] : (struct nvdp__field){"", 0};
    if (tsv->fields != 1 || first.size == 0) return "";
    const bool comma = memchr(first.text, ',', first.size) != NULL;
    if (tsv->format == NVDP__TABLE_TSV && first.text[0] == '{')
        return "; it looks like JSON lines, whose files are named .jsonl";
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
    /* Decimal digits only: strtod would also accept spaces, hexadecimal, "inf" and "nan". */
    if (strspn(text, "0123456789+-.eE") != field.size) return false;
    char *end = NULL;
    double value = nvdp__strtod(text, &end);
    if (end != text + field.size || !isfinite(value)) return false;
    *number = value;
    return true;
}
