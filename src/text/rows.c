#include "text/rows.h"

#include "text/tsv.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

enum { COLA_COLUMNS = 4, COLA_LABEL = 1, COLA_SENTENCE = 3, EXPECTED_ROOM = 256 };

static const size_t NO_COLUMN = SIZE_MAX;

/* One file's reading. */
struct reader {
    struct nvdp_context *ctx;
    const struct nvdp_dataset_config *config;
    struct nvdp__layout layout;
    enum nvdp__label_use use;
    struct nvdp__tsv tsv;
    size_t columns;
    size_t text, pair, label, id; /* columns, or NO_COLUMN */
    bool collect;                 /* class names are what the file's rows say */
    bool pending;                 /* the present line is a row already */
    int64_t index;
    struct nvdp__rows *rows;
};

/* ---- header ---- */

static nvdp_status find_column(struct reader *reader, const char *name, bool required,
                               size_t *out) {
    *out = NO_COLUMN;
    if (name == NULL) return NVDP_OK;
    size_t column;
    NVDP_RETURN_IF_FAILED(nvdp__tsv_column(&reader->tsv, name, &column));
    if (column < reader->tsv.fields) {
        *out = column;
    } else if (required) {
        return nvdp__tsv_missing(&reader->tsv, name);
    }
    return NVDP_OK;
}

/* CoLA's train and dev files have no header: source, label, the author's star, sentence. */
static bool is_bare_cola(const struct reader *reader) {
    const struct nvdp__tsv *tsv = &reader->tsv;
    if (reader->layout.task.id != NVDP_TASK_COLA || tsv->fields != COLA_COLUMNS) return false;
    for (size_t i = 0; i < tsv->fields; i++) {
        if (nvdp__field_is(tsv->field[i], reader->layout.text)) return false;
    }
    return true;
}

static nvdp_status read_header(struct reader *reader) {
    struct nvdp__tsv *tsv = &reader->tsv;
    if (!nvdp__tsv_more(tsv))
        return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:1: empty file: expected a header line",
                          tsv->path);
    NVDP_RETURN_IF_FAILED(nvdp__tsv_next(tsv));
    reader->columns = tsv->fields;
    reader->pending = is_bare_cola(reader);
    if (reader->pending) {
        reader->text = COLA_SENTENCE;
        reader->label = COLA_LABEL;
        reader->pair = NO_COLUMN;
        reader->id = NO_COLUMN;
        return NVDP_OK;
    }
    const struct nvdp__layout *layout = &reader->layout;
    NVDP_RETURN_IF_FAILED(find_column(reader, layout->text, true, &reader->text));
    NVDP_RETURN_IF_FAILED(find_column(reader, layout->pair, true, &reader->pair));
    NVDP_RETURN_IF_FAILED(
        find_column(reader, layout->label, reader->use == NVDP__LABELS_REQUIRED, &reader->label));
    NVDP_RETURN_IF_FAILED(find_column(reader, layout->id, false, &reader->id));
    if (layout->task.id != NVDP_TASK_TSV || reader->id != NO_COLUMN) return NVDP_OK;
    return find_column(reader, "index", false, &reader->id);
}

/* ---- labels ---- */

nvdp_status nvdp__labels_copy(struct nvdp_context *ctx, size_t count,
                              const struct nvdp__field *names, const char ***out) {
    size_t bytes = count * sizeof **out;
    for (size_t i = 0; i < count; i++) {
        bytes += names[i].size + 1;
    }
    const char **labels = nvdp__calloc(ctx, bytes, 1);
    if (labels == NULL) return NVDP_ERR_MEMORY;
    char *text = (char *)(labels + count);
    for (size_t i = 0; i < count; i++) {
        labels[i] = text;
        memcpy(text, names[i].text, names[i].size);
        text += names[i].size + 1;
    }
    *out = labels;
    return NVDP_OK;
}

/* Class names given by the caller become the rows' own. */
static nvdp_status adopt_labels(struct reader *reader, const struct nvdp_task *from) {
    nvdp_status status = NVDP_OK;
    struct nvdp__rows *rows = reader->rows;
    size_t count = (size_t)from->classes;
    struct nvdp__field *name = nvdp__calloc(reader->ctx, count, sizeof *name);
    if (name == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t i = 0; i < count; i++) {
        name[i] = (struct nvdp__field){from->labels[i], strlen(from->labels[i])};
    }
    NVDP_TRY(nvdp__labels_copy(reader->ctx, count, name, &rows->labels));
    rows->task.labels = rows->labels;
    rows->task.classes = from->classes;
cleanup:
    free(name);
    return status;
}

static nvdp_status fail_score(struct reader *reader, struct nvdp__field field) {
    const struct nvdp_task *task = &reader->rows->task;
    char expected[EXPECTED_ROOM] = "a finite number";
    if (isfinite(task->label_min))
        snprintf(expected, sizeof expected, "a number from %g to %g", task->label_min,
                 task->label_max);
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%zu: score %s: expected %s",
                      reader->tsv.path, reader->tsv.line, nvdp__quote_field(field).text, expected);
}

static nvdp_status read_score(struct reader *reader, struct nvdp__field field, float *label) {
    const struct nvdp_task *task = &reader->rows->task;
    double score;
    if (!nvdp__field_number(field, &score) || score < task->label_min || score > task->label_max ||
        !isfinite((float)score))
        return fail_score(reader, field);
    *label = (float)score;
    return NVDP_OK;
}

static nvdp_status fail_class(struct reader *reader, struct nvdp__field field) {
    const struct nvdp_task *task = &reader->rows->task;
    char known[EXPECTED_ROOM] = "";
    size_t used = 0;
    for (int i = 0; i < task->classes; i++) {
        if (used + strlen(task->labels[i]) + sizeof ", , ..." > sizeof known) {
            strcpy(known + used, used > 0 ? ", ..." : "...");
            break;
        }
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                 task->labels[i]);
    }
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%zu: label %s: expected one of %s",
                      reader->tsv.path, reader->tsv.line, nvdp__quote_field(field).text, known);
}

static nvdp_status read_class(struct reader *reader, struct nvdp__field field, float *label) {
    const struct nvdp_task *task = &reader->rows->task;
    for (int i = 0; i < task->classes; i++) {
        if (!nvdp__field_is(field, task->labels[i])) continue;
        *label = (float)i;
        return NVDP_OK;
    }
    return fail_class(reader, field);
}

/* A name that is to stand in files and reports. */
static nvdp_status check_name(struct reader *reader, struct nvdp__field field) {
    bool well_formed = field.size > 0;
    for (size_t at = 0; well_formed && at < field.size;) {
        utf8proc_int32_t rune = 0;
        utf8proc_ssize_t step = utf8proc_iterate((const utf8proc_uint8_t *)field.text + at,
                                                 (utf8proc_ssize_t)(field.size - at), &rune);
        well_formed = step > 0 && rune != 0;
        at += step > 0 ? (size_t)step : 1;
    }
    if (well_formed) return NVDP_OK;
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%zu: label %s: expected a name in UTF-8",
                      reader->tsv.path, reader->tsv.line, nvdp__quote_field(field).text);
}

/* Byte order, which is the order of code points in UTF-8. */
static int compare_names(const void *left, const void *right) {
    const struct nvdp__field *a = left;
    const struct nvdp__field *b = right;
    int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (order != 0) return order;
    return (a->size > b->size) - (a->size < b->size);
}

static nvdp_status assign_classes(struct reader *reader, const struct nvdp__field *name,
                                  size_t classes) {
    struct nvdp__rows *rows = reader->rows;
    if (classes < 2)
        return nvdp__fail(reader->ctx, NVDP_ERR_INPUT,
                          "%s: column '%s': expected at least 2 different labels, found only %s",
                          reader->tsv.path, reader->layout.label, nvdp__quote_field(name[0]).text);
    NVDP_RETURN_IF_FAILED(nvdp__labels_copy(reader->ctx, classes, name, &rows->labels));
    rows->task.labels = rows->labels;
    rows->task.classes = (int)classes;
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__field *found =
            bsearch(&rows->row[i].label_text, name, classes, sizeof *name, compare_names);
        rows->row[i].label = (float)(found - name);
    }
    return NVDP_OK;
}

/* The different labels of all rows, in order, become the classes. */
static nvdp_status collect_classes(struct reader *reader) {
    struct nvdp__rows *rows = reader->rows;
    struct nvdp__field *name = nvdp__calloc(reader->ctx, rows->count, sizeof *name);
    if (name == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < rows->count; i++) {
        name[i] = rows->row[i].label_text;
    }
    qsort(name, rows->count, sizeof *name, compare_names);
    size_t classes = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (classes == 0 || compare_names(&name[classes - 1], &name[i]) != 0)
            name[classes++] = name[i];
    }
    nvdp_status status = assign_classes(reader, name, classes);
    free(name);
    return status;
}

static nvdp_status prepare_labels(struct reader *reader) {
    struct nvdp__rows *rows = reader->rows;
    const struct nvdp_task *from = reader->config->labels_from;
    if (reader->use == NVDP__LABELS_IGNORED) reader->label = NO_COLUMN;
    rows->labelled = reader->label != NO_COLUMN;
    if (reader->config->task != NVDP_TASK_TSV || rows->task.regression) return NVDP_OK;
    if (from != NULL && from->labels != NULL) return adopt_labels(reader, from);
    reader->collect = rows->labelled;
    return NVDP_OK;
}

/* ---- rows ---- */

static nvdp_status read_label(struct reader *reader, struct nvdp__row *row) {
    struct nvdp__field field = reader->tsv.field[reader->label];
    row->label_text = field;
    if (reader->rows->task.regression) return read_score(reader, field, &row->label);
    if (reader->collect) return check_name(reader, field);
    return read_class(reader, field, &row->label);
}

/* Annotators did not agree on some of MNLI's pairs. */
static bool lacks_gold(const struct reader *reader) {
    return reader->layout.task.id == NVDP_TASK_MNLI && reader->label != NO_COLUMN &&
           nvdp__field_is(reader->tsv.field[reader->label], "-");
}

static nvdp_status read_row(struct reader *reader) {
    struct nvdp__rows *rows = reader->rows;
    struct nvdp__tsv *tsv = &reader->tsv;
    int64_t index = reader->index++;
    if (!reader->pending) NVDP_RETURN_IF_FAILED(nvdp__tsv_next(tsv));
    reader->pending = false;
    if (tsv->fields != reader->columns)
        return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%zu: expected %zu columns, found %zu",
                          tsv->path, tsv->line, reader->columns, tsv->fields);
    if (lacks_gold(reader)) {
        rows->skipped++;
        return NVDP_OK;
    }
    struct nvdp__row row = {.text = tsv->field[reader->text], .index = index, .label = NAN};
    if (reader->pair != NO_COLUMN) row.pair = tsv->field[reader->pair];
    if (reader->id != NO_COLUMN) row.id = tsv->field[reader->id];
    if (rows->labelled) NVDP_RETURN_IF_FAILED(read_label(reader, &row));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(reader->ctx, &rows->row, &rows->capacity, rows->count + 1, sizeof row));
    rows->row[rows->count++] = row;
    return NVDP_OK;
}

/* Reads all rows; a bad one ends the reading unless it is to be skipped. */
static nvdp_status read_rows(struct reader *reader) {
    struct nvdp_context *ctx = reader->ctx;
    struct nvdp__rows *rows = reader->rows;
    char *first = NULL; /* the first bad row's message */
    size_t bad = 0;
    nvdp_status status = NVDP_OK;
    while (reader->pending || nvdp__tsv_more(&reader->tsv)) {
        status = read_row(reader);
        if (status == NVDP_OK) continue;
        if (status != NVDP_ERR_INPUT || !reader->config->skip_bad_rows) goto cleanup;
        if (bad++ == 0 && ctx != NULL) {
            first = nvdp__strdup(ctx, nvdp_context_error(ctx));
            if (first == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
        }
        status = NVDP_OK;
    }
    if (rows->skipped > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: skipped %zu rows without a gold label",
                  reader->tsv.path, rows->skipped);
    if (bad > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: skipped %zu bad rows; the first: %s", reader->tsv.path,
                  bad, first != NULL ? first : "");
    rows->skipped += bad;
    if (rows->count == 0)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected rows, found none%s",
                            reader->tsv.path, rows->skipped > 0 ? " that can be used" : ""));
cleanup:
    free(first);
    return status;
}

nvdp_status nvdp__rows_parse(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path, const char *bytes,
                             size_t count, struct nvdp__rows *rows) {
    nvdp_status status = NVDP_OK;
    struct nvdp__rows read = {0};
    struct reader reader = {.ctx = ctx, .config = config, .use = use, .rows = &read};
    NVDP_TRY(nvdp__task_resolve(ctx, config, &reader.layout));
    if (use == NVDP__LABELS_REQUIRED && reader.layout.label == NULL)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                            "label_column: expected a column's name, found none"));
    read.task = reader.layout.task;
    nvdp__tsv_open(ctx, path, bytes, count, &reader.tsv);
    NVDP_TRY(read_header(&reader));
    read.has_id = reader.id != NO_COLUMN;
    NVDP_TRY(prepare_labels(&reader));
    NVDP_TRY(read_rows(&reader));
    if (reader.collect) NVDP_TRY(collect_classes(&reader));
    *rows = read;
    read = (struct nvdp__rows){0};
cleanup:
    nvdp__tsv_release(&reader.tsv);
    nvdp__rows_release(&read);
    return status;
}

void nvdp__rows_release(struct nvdp__rows *rows) {
    free(rows->labels);
    free(rows->row);
    *rows = (struct nvdp__rows){0};
}
