/* Tasks and their rows (task.h): the table of tasks, their files, names, then reading of rows,
 * at once or in parts. */
#include "text/task.h"

#include "base/file.h"
#include "text/conll.h"
#include "text/vocabulary.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- tasks ---- */

const char *nvdp_metric_name(enum nvdp_metric metric) {
    static const char *const name[] = {"accuracy",  "f1",        "matthews", "pearson", "spearman",
                                       "entity_f1", "precision", "recall",   "macro_f1"};
    return (unsigned)metric < sizeof name / sizeof name[0] ? name[metric] : "unknown";
}

static const char *const zero_one[] = {"0", "1"};
static const char *const entailment[] = {"entailment", "not_entailment"};
static const char *const inference[] = {"entailment", "neutral", "contradiction"};

#define CLASSES(names) .classes = sizeof(names) / sizeof(names)[0], .labels = (names)
#define ACCURACY .metrics = 1, .metric = {NVDP_METRIC_ACCURACY}
#define ACCURACY_F1 .metrics = 2, .metric = {NVDP_METRIC_ACCURACY, NVDP_METRIC_F1}
#define ACCURACY_MACRO_F1 .metrics = 2, .metric = {NVDP_METRIC_ACCURACY, NVDP_METRIC_MACRO_F1}
#define MATTHEWS .metrics = 1, .metric = {NVDP_METRIC_MATTHEWS}
#define CORRELATIONS .metrics = 2, .metric = {NVDP_METRIC_PEARSON, NVDP_METRIC_SPEARMAN}

#define ENTITIES                                                                                   \
    .metrics = 3, .metric = {NVDP_METRIC_ENTITY_F1, NVDP_METRIC_PRECISION, NVDP_METRIC_RECALL}

#define COLUMNS(text_, pair_, label_, id_) .text = text_, .pair = pair_, .label = label_, .id = id_
#define FILES .dev = "dev.tsv", .test = "test.tsv"
#define MATCHED                                                                                    \
    .dev = "dev_matched.tsv", .dev_mismatched = "dev_mismatched.tsv", .test = "test_matched.tsv",  \
    .test_mismatched = "test_mismatched.tsv"

/* clang-format off */
static const struct nvdp__layout layouts[] = {
    {{NVDP_TASK_MRPC, "mrpc", .pair = true, CLASSES(zero_one), ACCURACY_F1},
     COLUMNS("#1 String", "#2 String", "Quality", "index"), FILES},
    {{NVDP_TASK_STSB, "stsb", .pair = true, .regression = true, .classes = 1, .label_min = 0, .label_max = 5, CORRELATIONS},
     COLUMNS("sentence1", "sentence2", "score", "index"), FILES},
    {{NVDP_TASK_RTE, "rte", .pair = true, CLASSES(entailment), ACCURACY},
     COLUMNS("sentence1", "sentence2", "label", "index"), FILES},
    {{NVDP_TASK_QQP, "qqp", .pair = true, CLASSES(zero_one), ACCURACY_F1},
     COLUMNS("question1", "question2", "is_duplicate", "id"), FILES},
    {{NVDP_TASK_QNLI, "qnli", .pair = true, CLASSES(entailment), ACCURACY},
     COLUMNS("question", "sentence", "label", "index"), FILES},
    {{NVDP_TASK_SST2, "sst2", CLASSES(zero_one), ACCURACY},
     COLUMNS("sentence", NULL, "label", "index"), FILES},
    {{NVDP_TASK_COLA, "cola", CLASSES(zero_one), MATTHEWS},
     COLUMNS("sentence", NULL, "label", "index"), FILES},
    {{NVDP_TASK_MNLI, "mnli", .pair = true, CLASSES(inference), ACCURACY},
     COLUMNS("sentence1", "sentence2", "gold_label", "index"), MATCHED},
    {{NVDP_TASK_TSV, "tsv", ACCURACY_MACRO_F1}, .id = "id", FILES},
    /* conll.c knows its columns and files */
    {{NVDP_TASK_NER, "ner", .tags = true, ENTITIES}, .text = NULL},
};
/* clang-format on */
enum { LAYOUTS = sizeof layouts / sizeof layouts[0], MAX_LISTED = 256 };

nvdp_status nvdp_task_find(struct nvdp_context *ctx, const char *name, enum nvdp_task_id *out) {
    struct nvdp__name_list known = {0};
    for (size_t i = 0; i < LAYOUTS; i++) {
        if (strcmp(name, layouts[i].task.name) == 0) {
            *out = layouts[i].task.id;
            return NVDP_OK;
        }
        nvdp__name_list_add(&known, sizeof known.text, layouts[i].task.name);
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "task '%s': expected one of %s", name, known.text);
}

const struct nvdp__layout *nvdp__task_layout(enum nvdp_task_id id) {
    for (size_t i = 0; i < LAYOUTS; i++) {
        if (layouts[i].task.id == id) return &layouts[i];
    }
    return NULL;
}

nvdp_status nvdp__task_resolve(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__layout *out) {
    const struct nvdp__layout *known = nvdp__task_layout(config->task);
    if (known == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "task: expected 0 to %d, found %d", LAYOUTS - 1,
                          (int)config->task);
    struct nvdp__layout layout = *known;
    if (config->task == NVDP_TASK_TSV) {
        if (config->text_column == NULL)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "{text-column}: expected a column's name, found none");
        layout.text = config->text_column;
        layout.pair = config->text_pair_column;
        layout.label = config->label_column;
        layout.task.pair = layout.pair != NULL;
        if (config->regression) {
            layout.task = (struct nvdp_task){.id = NVDP_TASK_TSV,
                                             .name = layout.task.name,
                                             .pair = layout.task.pair,
                                             .regression = true,
                                             .classes = 1,
                                             .label_min = -INFINITY,
                                             .label_max = INFINITY,
                                             CORRELATIONS};
        }
    }
    if (config->id_column != NULL) layout.id = config->id_column;
    *out = layout;
    return NVDP_OK;
}

const char *const nvdp__split_names[] = {[NVDP_SPLIT_TRAIN] = "train",
                                         [NVDP_SPLIT_DEV] = "dev",
                                         [NVDP_SPLIT_TEST] = "test",
                                         [NVDP_SPLIT_DEV_MISMATCHED] = "dev-mismatched",
                                         [NVDP_SPLIT_TEST_MISMATCHED] = "test-mismatched",
                                         NULL};

nvdp_status nvdp__no_split(struct nvdp_context *ctx, const char *task, enum nvdp_split split) {
    if ((unsigned)split > NVDP_SPLIT_TEST_MISMATCHED)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "split: expected one in 0..%d, found %d",
                          (int)NVDP_SPLIT_TEST_MISMATCHED, (int)split);
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "split: task %s has no split %s", task,
                      nvdp__split_names[split]);
}

nvdp_status nvdp__task_of_texts(struct nvdp_context *ctx, const struct nvdp__layout *layout) {
    if (!layout->task.tags) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "task %s: expected a task of whole texts, found one of words and their tags",
                      layout->task.name);
}

nvdp_status nvdp__task_file(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            enum nvdp_split split, const char **name) {
    const char *const files[] = {
        [NVDP_SPLIT_TRAIN] = "train.tsv",
        [NVDP_SPLIT_DEV] = layout->dev,
        [NVDP_SPLIT_TEST] = layout->test,
        [NVDP_SPLIT_DEV_MISMATCHED] = layout->dev_mismatched,
        [NVDP_SPLIT_TEST_MISMATCHED] = layout->test_mismatched,
    };
    const char *file = (unsigned)split < sizeof files / sizeof files[0] ? files[split] : NULL;
    NVDP_TRY(nvdp__task_of_texts(ctx, layout));
    if (file == NULL) return nvdp__no_split(ctx, layout->task.name, split);
    *name = file;
    return NVDP_OK;
}

#define READ_PARQUET                                                                               \
    ": scripts/from_datasets.py writes Parquet as JSON lines, and nvdp.train() of the Python "     \
    "package reads it; or one line of Python: " NVDP__READ_PARQUET

#define FILE_FOUND "%s: expected a folder with the task's files, found a file"

/* Refuses a file in place of a folder. */
static nvdp_status check_folder(struct nvdp_context *ctx, const char *directory) {
    if (nvdp__is_directory(directory) || !nvdp__exists(directory)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      nvdp__ends_with(directory, ".parquet") ? FILE_FOUND READ_PARQUET
                                                             : FILE_FOUND
                          "; {data} takes the folder",
                      directory);
}

/* The ending that the name of a split's file has in the table, with its stem before it. */
static size_t known_ends(const struct nvdp__layout *layout) {
    size_t n = 0;
    if (layout->task.id != NVDP_TASK_TSV) return NVDP__GLUE_ENDS;
    while (nvdp__table_ends[n] != NULL)
        n++;
    return n;
}

nvdp_status nvdp__task_find(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out) {
    const size_t ends = known_ends(layout);
    const char *name = NULL;
    nvdp__autofree char *found = NULL, *path = NULL;
    NVDP_TRY(nvdp__task_file(ctx, layout, split, &name));
    NVDP_TRY(check_folder(ctx, directory));
    for (size_t i = 0; i < ends; i++) {
        path = nvdp__format(ctx, "%s/%.*s%s", directory, (int)(strlen(name) - 4), name,
                            nvdp__table_ends[i]);
        NVDP_TRY(NVDP__MADE(path));
        const bool there = nvdp__exists(path);
        if (there && found != NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "expected one of %s and %s, found both; remove the one that does "
                              "not count",
                              found, path);
        if (there && found == NULL)
            found = path;
        else
            free(path);
        path = NULL;
    }
    if (found != NULL) NVDP_TRY(nvdp__check_regular(ctx, found));
    *out = found;
    found = NULL;
    return NVDP_OK;
}

nvdp_status nvdp__missing_file(struct nvdp_context *ctx, const char *directory, const char *name,
                               const char *expected) {
    struct nvdp__name_list list = {0};
    struct dirent **entry = NULL;
    const int entries = scandir(directory, &entry, NULL, alphasort);
    bool parquet = false;
    for (int i = 0; i < entries; i++) {
        parquet = parquet || nvdp__ends_with(entry[i]->d_name, ".parquet");
        if (entry[i]->d_name[0] != '.') nvdp__name_list_add(&list, MAX_LISTED, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (entries < 0)
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s/%s: cannot read: %s: there is no such folder",
                          directory, name, strerror(ENOENT));
    return nvdp__fail(ctx, NVDP_ERR_IO, "%s/%s: cannot read: %s; expected %s; the folder has %s%s",
                      directory, name, strerror(ENOENT), expected,
                      list.used > 0 ? list.text : "no files", parquet ? READ_PARQUET : "");
}

nvdp_status nvdp__task_path(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out) {
    const char *name = NULL;
    char *path = NULL, expected[256];
    NVDP_TRY(nvdp__task_find(ctx, layout, directory, split, &path));
    *out = path;
    if (path != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__task_file(ctx, layout, split, &name));
    if (layout->task.id == NVDP_TASK_TSV)
        nvdp__snprintf(expected, sizeof expected,
                       "this file, or one that ends in .csv, .jsonl, .ndjson or .json, also with "
                       ".gz or .xz behind it");
    else
        nvdp__snprintf(expected, sizeof expected,
                       "this file, also with .gz or .xz behind it, as GLUE has it (files of your "
                       "own, with other endings or columns: {task} %s)",
                       nvdp__task_layout(NVDP_TASK_TSV)->task.name);
    return nvdp__missing_file(ctx, directory, name, nvdp__with_options(ctx, expected).text);
}

/* ---- names ---- */

nvdp_status nvdp__names_copy(struct nvdp_context *ctx, size_t count,
                             const struct nvdp__field *first, size_t stride, const char ***out) {
    size_t bytes = count * sizeof **out;
    const char *at = (const char *)first;
    for (size_t i = 0; i < count; i++)
        bytes += ((const struct nvdp__field *)(const void *)(at + i * stride))->size + 1;
    const char **names = nvdp__calloc(ctx, bytes, 1);
    if (names == NULL) return NVDP_ERR_MEMORY;
    char *text = (char *)(names + count);
    for (size_t i = 0; i < count; i++) {
        const struct nvdp__field *name = (const void *)(at + i * stride);
        if (name->size > 0) memcpy(text, name->text, name->size);
        names[i] = text;
        text += name->size + 1;
    }
    *out = names;
    return NVDP_OK;
}

nvdp_status nvdp__names_of(struct nvdp_context *ctx, size_t count, const char *const *name,
                           const size_t *rows, const char ***out) {
    struct nvdp__field *field = nvdp__calloc(ctx, count, sizeof *field);
    if (field == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const char *text = name[rows != NULL ? rows[i] : i];
        field[i] = (struct nvdp__field){text, strlen(text)};
    }
    nvdp_status status = nvdp__names_copy(ctx, count, field, sizeof *field, out);
    free(field);
    return status;
}

/* ---- rows ---- */

enum { KNOWN_LABELS = 256 };
static const size_t NO_COLUMN = SIZE_MAX;

/* State of reading one file. */
struct reader {
    struct nvdp_context *ctx;
    const struct nvdp_dataset_config *config;
    struct nvdp__layout layout;
    enum nvdp__label_use use;
    struct nvdp__table_chunks chunks; /* for a whole file in memory, only the cursor is used */
    size_t columns;
    size_t text, pair, label, id; /* columns, or NO_COLUMN */
    bool collect;                 /* class names come from the file's rows */
    bool pending;                 /* the current line is already a row */
    int64_t index;
    struct nvdp__rows *rows;
};

static nvdp_status find_column(struct reader *reader, const char *name, bool required,
                               size_t *out) {
    *out = NO_COLUMN;
    if (name == NULL) return NVDP_OK;
    size_t column;
    NVDP_TRY(nvdp__tsv_column(&reader->chunks.tsv, name, &column));
    if (column < reader->chunks.tsv.fields) {
        *out = column;
    } else if (required) {
        return nvdp__tsv_missing(&reader->chunks.tsv, name);
    }
    return NVDP_OK;
}

static nvdp_status read_header(struct reader *reader) {
    struct nvdp__tsv *tsv = &reader->chunks.tsv;
    bool row = true, more = true;
    if (reader->chunks.input != NULL) {
        for (row = false; !row && more;) {
            NVDP_TRY(nvdp__table_chunks_read(&reader->chunks, &more));
            if (more) NVDP_TRY(nvdp__table_chunks_next(&reader->chunks, &row));
        }
    } else if ((row = nvdp__tsv_more(tsv))) {
        NVDP_TRY(nvdp__tsv_next(tsv));
    }
    if (!row)
        return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:1: empty file: expected a header line",
                          tsv->path);
    reader->columns = tsv->fields;
    const bool own_id = reader->config != NULL && reader->config->id_column != NULL;
    reader->pending = nvdp__tsv_bare_cola(tsv, &reader->layout);
    if (reader->pending && own_id) return nvdp__tsv_missing(tsv, reader->layout.id);
    if (reader->pending) {
        reader->text = NVDP__COLA_SENTENCE;
        reader->label = NVDP__COLA_LABEL;
        reader->pair = NO_COLUMN;
        reader->id = NO_COLUMN;
        return NVDP_OK;
    }
    const struct nvdp__layout *layout = &reader->layout;
    NVDP_TRY(find_column(reader, layout->text, true, &reader->text));
    NVDP_TRY(find_column(reader, layout->pair, true, &reader->pair));
    NVDP_TRY(
        find_column(reader, layout->label, reader->use == NVDP__LABELS_REQUIRED, &reader->label));
    NVDP_TRY(find_column(reader, layout->id, own_id, &reader->id));
    if (layout->task.id != NVDP_TASK_TSV || reader->id != NO_COLUMN) return NVDP_OK;
    return find_column(reader, "index", false, &reader->id);
}

static nvdp_status read_score(struct reader *reader, struct nvdp__field field, float *label) {
    const struct nvdp_task *task = &reader->rows->task;
    char expected[128] = "a finite number";
    double score;
    if (nvdp__field_number(field, &score) && score >= task->label_min && score <= task->label_max &&
        isfinite((float)score)) {
        *label = (float)score;
        return NVDP_OK;
    }
    if (isfinite(task->label_min))
        nvdp__snprintf(expected, sizeof expected, "a number from %g to %g", task->label_min,
                       task->label_max);
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%zu: score %s: expected %s",
                      reader->chunks.tsv.path, reader->chunks.tsv.line,
                      nvdp__quote_field(field).text, expected);
}

static nvdp_status read_class(struct reader *reader, struct nvdp__field field, float *label) {
    const struct nvdp_task *task = &reader->rows->task;
    struct nvdp__name_list known = {0};
    for (int i = 0; i < task->classes; i++) {
        if (nvdp__field_is(field, task->labels[i])) {
            *label = (float)i;
            return NVDP_OK;
        }
    }
    for (int i = 0; i < task->classes; i++)
        nvdp__name_list_add(&known, KNOWN_LABELS, task->labels[i]);
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%zu: label %s: expected one of %s",
                      reader->chunks.tsv.path, reader->chunks.tsv.line,
                      nvdp__quote_field(field).text, known.text);
}

/* Checks a name that will appear in files and reports. */
static nvdp_status check_name(struct reader *reader, struct nvdp__field field) {
    if (field.size > 0 && memchr(field.text, '\0', field.size) == NULL &&
        nvdp__is_utf8(field.text, field.size))
        return NVDP_OK;
    return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s:%zu: label %s: expected a name in UTF-8",
                      reader->chunks.tsv.path, reader->chunks.tsv.line,
                      nvdp__quote_field(field).text);
}

/* More classes than this that are all numbers suggest scores. */
enum { MANY_NUMBERS = 10 };

/* Refuses labels that are all numbers if one of them, such as 3.7, is not a whole one. A table
 * that is read in parts is not trained on: its labels may be either. */
static nvdp_status check_numbers(const struct reader *reader, size_t classes,
                                 const struct nvdp__field *name) {
    double number;
    const struct nvdp__field *score = NULL;
    const char *path = reader->chunks.tsv.path;
    if (reader->chunks.input != NULL) return NVDP_OK;
    for (size_t i = 0; i < classes; i++) {
        if (!nvdp__field_number(name[i], &number)) return NVDP_OK;
        if (score == NULL && number != floor(number)) score = &name[i];
    }
    if (score != NULL)
        return nvdp__fail(reader->ctx, NVDP_ERR_INPUT,
                          "%s: column '%s': expected names of classes, found numbers such as %s; "
                          "{regression} takes them as scores",
                          path, reader->layout.label, nvdp__quote_field(*score).text);
    if (classes > MANY_NUMBERS)
        nvdp__log(reader->ctx, NVDP_LOG_WARNING,
                  "%s: column '%s' has %zu different labels, all of them numbers: each is a class "
                  "of its own; {regression} takes them as scores",
                  path, reader->layout.label, classes);
    return NVDP_OK;
}

/* Numeric order, for labels that are all numbers: 2 comes before 10. */
static int by_number(const void *left, const void *right) {
    double a = 0, b = 0;
    (void)nvdp__field_number(*(const struct nvdp__field *)left, &a);
    (void)nvdp__field_number(*(const struct nvdp__field *)right, &b);
    return a != b ? (a > b) - (a < b) : nvdp__by_field(left, right);
}

typedef int (*order_fn)(const void *, const void *);

static order_fn label_order(size_t count, const struct nvdp__field *name) {
    double number;
    for (size_t i = 0; i < count; i++)
        if (!nvdp__field_number(name[i], &number)) return nvdp__by_field;
    return by_number;
}

/* Turns the distinct values of `count` labels, in order, into classes. */
static nvdp_status name_classes(struct reader *reader, size_t count, struct nvdp__field *name) {
    const order_fn order = label_order(count, name);
    struct nvdp__rows *rows = reader->rows;
    size_t classes = 0;
    qsort(name, count, sizeof *name, order);
    for (size_t i = 0; i < count; i++) {
        if (classes > 0 && nvdp__by_field(&name[classes - 1], &name[i]) == 0) continue;
        name[classes++] = name[i];
    }
    if (classes < 2)
        return nvdp__fail(reader->ctx, NVDP_ERR_INPUT,
                          "%s: column '%s': expected at least 2 different labels, found only %s",
                          reader->chunks.tsv.path, reader->layout.label,
                          nvdp__quote_field(name[0]).text);
    NVDP_TRY(check_numbers(reader, classes, name));
    NVDP_TRY(nvdp__names_copy(reader->ctx, classes, name, sizeof *name, &rows->labels));
    rows->task.labels = rows->labels;
    rows->task.classes = (int)classes;
    return NVDP_OK;
}

/* Collects the classes of all rows. */
static nvdp_status collect_classes(struct reader *reader) {
    struct nvdp__rows *rows = reader->rows;
    nvdp__autofree struct nvdp__field *name = nvdp__calloc(reader->ctx, rows->count, sizeof *name);
    if (name == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < rows->count; i++)
        name[i] = rows->row[i].label_text;
    NVDP_TRY(name_classes(reader, rows->count, name));
    const order_fn order = label_order((size_t)rows->task.classes, name);
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__field *found = bsearch(&rows->row[i].label_text, name,
                                                  (size_t)rows->task.classes, sizeof *name, order);
        rows->row[i].label = (float)(found - name);
    }
    return NVDP_OK;
}

static nvdp_status prepare_labels(struct reader *reader) {
    struct nvdp__rows *rows = reader->rows;
    const struct nvdp_task *from = reader->config->labels_from;
    if (reader->use == NVDP__LABELS_IGNORED) reader->label = NO_COLUMN;
    rows->labeled = reader->label != NO_COLUMN;
    if (reader->config->task != NVDP_TASK_TSV || rows->task.regression) return NVDP_OK;
    if (from == NULL || from->labels == NULL) {
        reader->collect = rows->labeled;
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__names_of(reader->ctx, (size_t)from->classes, from->labels, NULL, &rows->labels));
    rows->task.labels = rows->labels;
    rows->task.classes = from->classes;
    return NVDP_OK;
}

static nvdp_status read_label(struct reader *reader, struct nvdp__text_row *row) {
    struct nvdp__field field = reader->chunks.tsv.field[reader->label];
    row->label_text = field;
    if (reader->rows->task.regression) return read_score(reader, field, &row->label);
    if (reader->collect) return check_name(reader, field);
    return read_class(reader, field, &row->label);
}

/* Some of MNLI's pairs have no gold label because annotators disagreed. */
static bool lacks_gold(const struct reader *reader) {
    return reader->layout.task.id == NVDP_TASK_MNLI && reader->label != NO_COLUMN &&
           nvdp__field_is(reader->chunks.tsv.field[reader->label], "-");
}

/* Reads the next row; *row_found is false at the end of the file or part. */
static nvdp_status read_row(struct reader *reader, bool *row_found) {
    struct nvdp__rows *rows = reader->rows;
    struct nvdp__tsv *tsv = &reader->chunks.tsv;
    const bool pending = reader->pending, whole = reader->chunks.input == NULL;
    reader->pending = false;
    *row_found = pending;
    if (!pending && whole) *row_found = nvdp__tsv_more(tsv);
    if (!pending && !whole) NVDP_TRY(nvdp__table_chunks_next(&reader->chunks, row_found));
    if (!*row_found) return NVDP_OK;
    int64_t index = reader->index++;
    if (!pending && whole) NVDP_TRY(nvdp__tsv_next(tsv));
    if (tsv->fields != reader->columns)
        return nvdp__fail(
            reader->ctx, NVDP_ERR_INPUT, "%s:%zu: expected %zu columns, found %zu%s", tsv->path,
            tsv->line, reader->columns, tsv->fields,
            whole && reader->use == NVDP__LABELS_REQUIRED && !reader->config->skip_bad_rows
                ? nvdp__with_options(reader->ctx, "; training with {skip-bad-rows} skips such rows")
                      .text
            : reader->config->skip_bad_rows ? ""
                                            : "; correct or remove this row");
    if (lacks_gold(reader)) {
        rows->skipped++;
        return NVDP_OK;
    }
    const size_t needed[] = {reader->text, reader->pair, rows->labeled ? reader->label : NO_COLUMN};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i] != NO_COLUMN && tsv->field[needed[i]].text == NULL)
            return nvdp__tsv_no_value(tsv, needed[i]);
    struct nvdp__text_row row = {.text = tsv->field[reader->text], .index = index, .label = NAN};
    if (reader->pair != NO_COLUMN) row.pair = tsv->field[reader->pair];
    rows->not_utf8 += !nvdp__is_utf8(row.text.text, row.text.size) ||
                      (row.pair.size > 0 && !nvdp__is_utf8(row.pair.text, row.pair.size));
    if (reader->id != NO_COLUMN) row.id = tsv->field[reader->id];
    if (rows->labeled) NVDP_TRY(read_label(reader, &row));
    NVDP_TRY(nvdp__reserve(reader->ctx, &rows->row, &rows->capacity, rows->count + 1, sizeof row));
    rows->row[rows->count++] = row;
    return NVDP_OK;
}

void nvdp__rows_log_skipped(struct nvdp_context *ctx, const char *path, size_t skipped) {
    if (skipped > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: skipped %zu rows without a gold label", path, skipped);
}

/* Reads all rows; stops at a bad row unless bad rows are skipped. */
static nvdp_status read_rows(struct reader *reader) {
    struct nvdp_context *ctx = reader->ctx;
    struct nvdp__rows *rows = reader->rows;
    char *first = NULL; /* the message about the first bad row */
    size_t bad = 0;
    nvdp_status status = NVDP_OK;
    for (bool row = true; row;) {
        status = read_row(reader, &row);
        if (status == NVDP_OK) continue;
        if (status != NVDP_ERR_INPUT || !reader->config->skip_bad_rows) goto cleanup;
        if (bad++ == 0 && ctx != NULL) {
            first = nvdp__strdup(ctx, nvdp_context_error(ctx));
            if (first == NULL) NVDP_TRY_OR_CLEAN(NVDP_ERR_MEMORY);
        }
        status = NVDP_OK;
    }
    nvdp__rows_log_skipped(ctx, reader->chunks.tsv.path, rows->skipped);
    if (bad > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: skipped %zu bad rows; the first: %s",
                  reader->chunks.tsv.path, bad, first != NULL ? first : "");
    rows->skipped += bad;
    if (rows->lines) nvdp__table_log_lines(ctx, reader->chunks.tsv.path, rows->count);
    if (rows->count == 0)
        NVDP_TRY_OR_CLEAN(nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected rows, found none%s",
                                     reader->chunks.tsv.path,
                                     rows->skipped > 0 ? " that can be used" : ""));
cleanup:
    free(first);
    return status;
}

static const char BLANKS[] = " \t\r";

/* True if a line begins an array in JSON: of objects, texts, arrays or numbers. "[1] See below" is a text. */
static bool begins_array(struct nvdp__field line) {
    size_t i = 1;
    if (line.size == 0 || line.text[0] != '[') return false;
    while (i < line.size && nvdp__is_one_of(line.text[i], BLANKS))
        i++;
    if (i == line.size || nvdp__is_one_of(line.text[i], "{\"[")) return true;
    while (i < line.size && nvdp__is_one_of(line.text[i], "0123456789+-.eE, \t\r]"))
        i++;
    return i == line.size;
}

static struct nvdp__field without_blanks(struct nvdp__field field) {
    for (; field.size > 0 && nvdp__is_one_of(field.text[0], BLANKS); field.size--)
        field.text++;
    while (field.size > 0 && nvdp__is_one_of(field.text[field.size - 1], BLANKS))
        field.size--;
    return field;
}

/* True if a field of the line, as other programs write and separate them, is the column's name, and each field is one
 * word: a sentence may have the name between commas. */
static bool names_column(struct nvdp__field line, const char *name) {
    bool named = false;
    for (size_t from = 0, to = 0; from <= line.size; from = ++to) {
        while (to < line.size && !nvdp__is_one_of(line.text[to], ",;|\t"))
            to++;
        struct nvdp__field field =
            without_blanks((struct nvdp__field){line.text + from, to - from});
        const char quote = field.size > 1 ? field.text[0] : '\0';
        if (nvdp__is_one_of(quote, "\"'") && field.text[field.size - 1] == quote)
            field = without_blanks((struct nvdp__field){field.text + 1, field.size - 2});
        const bool is_name =
            field.size == strlen(name) && strncasecmp(field.text, name, field.size) == 0;
        if (!is_name && memchr(field.text, ' ', field.size) != NULL) return false;
        named |= is_name;
    }
    return named;
}

/* Refuses texts whose first line that is not blank, `number`, looks like something else. alone: no LF follows it. */
static nvdp_status check_texts(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                               const char *path, size_t number, struct nvdp__field line,
                               bool alone) {
    const bool array = begins_array(without_blanks(line));
    if (alone && memchr(line.text, '\r', line.size) != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected lines that end in LF or CR LF, found CR alone; convert "
                          "the file, as tr '\\r' '\\n' does",
                          path, number);
    const bool tagged = !array && nvdp__conll_recognize(ctx, path);
    if (!array && !tagged && !names_column(line, layout->text)) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_INPUT,
        "%s:%zu: expected one text per line, found %s, which looks like %s; %s; if it is a text, "
        "put a line '%s' before the texts",
        path, number, nvdp__quote_field(line).text,
        array    ? "an array in JSON"
        : tagged ? "a word with a tag"
                 : "the header of a table",
        tagged ? NVDP__CONLL_HINT
        : layout->task.id != NVDP_TASK_TSV
            ? "a table of this task has columns separated by tabs"
            : "the name of a table ends in .csv, .tsv, .json or .jsonl",
        layout->text);
}

nvdp_status nvdp__texts_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                               const char *path, const char *bytes, size_t count,
                               enum nvdp__table_format *format) {
    const size_t mark = nvdp__byte_order_mark(bytes, count);
    const char *const end = bytes + nvdp__min(count, NVDP__LOOK_BYTES);
    const char first = nvdp__first_byte(bytes, (size_t)(end - bytes)), *at = bytes + mark, *stop;
    if (count == mark)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s:1: empty file: expected texts, one per line, or a table", path);
    *format = first == '{' ? NVDP__TABLE_JSONL : NVDP__TABLE_LINES;
    if (first == '{' || first == '\0') return NVDP_OK;
    struct nvdp__field line;
    for (size_t number = 1; at != NULL; number++, at = stop != NULL ? stop + 1 : NULL) {
        stop = memchr(at, '\n', (size_t)(end - at));
        line = (struct nvdp__field){at, (size_t)((stop != NULL ? stop : end) - at)};
        while (line.size > 0 && line.text[line.size - 1] == '\r')
            line.size--;
        const bool table =
            memchr(at, '\t', line.size) != NULL || nvdp__field_is(line, layout->text);
        if (number == 1 && table) *format = NVDP__TABLE_TSV;
        if (number == 1 && table) return NVDP_OK;
        if (without_blanks(line).size > 0)
            return check_texts(ctx, layout, path, number, line, stop == NULL);
    }
    return NVDP_OK;
}

/* Sets the format: GLUE's files are plain TSV; a user's depend on their name, and tab-separated ones may use quotes. A
 * file of texts whose name is not that of a table may have one per line, unless columns are needed. */
static nvdp_status open_table(struct reader *reader, const char *path, const char *bytes,
                              size_t count) {
    struct nvdp__tsv *tsv = &reader->chunks.tsv;
    const struct nvdp__layout *layout = &reader->layout;
    nvdp__tsv_open(reader->ctx, path, bytes, count, tsv);
    if (reader->use == NVDP__LABELS_FOUND && !nvdp__is_table(path) && layout->pair == NULL &&
        reader->config->id_column == NULL) {
        NVDP_TRY(nvdp__texts_format(reader->ctx, layout, path, bytes, count, &tsv->format));
        reader->rows->lines = tsv->format == NVDP__TABLE_LINES;
        if (tsv->format != NVDP__TABLE_TSV) return NVDP_OK;
    }
    if (layout->task.id != NVDP_TASK_TSV) return NVDP_OK;
    tsv->format = nvdp__table_format_of(path);
    if (tsv->format == NVDP__TABLE_TSV && nvdp__tsv_is_quoted(bytes, count)) {
        tsv->format = NVDP__TABLE_QUOTED_TSV;
        nvdp__table_log_quotes(reader->ctx, path);
    }
    return NVDP_OK;
}

static nvdp_status resolve(struct reader *reader) {
    NVDP_TRY(nvdp__task_resolve(reader->ctx, reader->config, &reader->layout));
    if (reader->use == NVDP__LABELS_REQUIRED && reader->layout.label == NULL)
        return nvdp__fail(reader->ctx, NVDP_ERR_ARGUMENT,
                          "{label-column}: expected a column's name, found none");
    reader->rows->task = reader->layout.task;
    return nvdp__task_of_texts(reader->ctx, &reader->layout);
}

static nvdp_status begin(struct reader *reader) {
    if (reader->chunks.tsv.format == NVDP__TABLE_LINES) {
        reader->columns = 1;
        reader->pair = reader->label = reader->id = NO_COLUMN;
    } else {
        NVDP_TRY(read_header(reader));
    }
    reader->rows->has_id = reader->id != NO_COLUMN;
    return prepare_labels(reader);
}

nvdp_status nvdp__rows_parse(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path, const char *bytes,
                             size_t count, struct nvdp__rows *rows) {
    nvdp_status status = NVDP_OK;
    struct nvdp__rows read = {0};
    struct reader reader = {.ctx = ctx, .config = config, .use = use, .rows = &read};
    NVDP_TRY_OR_CLEAN(resolve(&reader));
    NVDP_TRY_OR_CLEAN(open_table(&reader, path, bytes, count));
    NVDP_TRY_OR_CLEAN(begin(&reader));
    NVDP_TRY_OR_CLEAN(read_rows(&reader));
    if (reader.collect) NVDP_TRY_OR_CLEAN(collect_classes(&reader));
    read.pool = reader.chunks.tsv.pool;
    reader.chunks.tsv.pool = (struct nvdp__pool){0};
    NVDP__HAND_OVER(rows, read);
cleanup:
    nvdp__table_chunks_close(&reader.chunks);
    nvdp__rows_release(&read);
    return status;
}

/* ---- the same in parts ---- */

struct nvdp__row_chunks {
    struct nvdp_dataset_config config;
    struct reader reader;
    struct nvdp__rows rows;
    struct nvdp__strings labels; /* the distinct labels so far, if they are collected */
    bool begun, found, more;
};

nvdp_status nvdp__row_chunks_open(struct nvdp_context *ctx,
                                  const struct nvdp_dataset_config *config,
                                  enum nvdp__label_use use, const char *path,
                                  struct nvdp__lines *begun, enum nvdp__table_format format,
                                  struct nvdp__row_chunks **out) {
    nvdp__autoptr(nvdp__row_chunks_close) struct nvdp__row_chunks *of =
        nvdp__calloc(ctx, 1, sizeof *of);
    if (of == NULL) return NVDP_ERR_MEMORY;
    of->config = *config;
    of->labels.ctx = ctx;
    of->more = true;
    of->reader = (struct reader){.ctx = ctx, .config = &of->config, .use = use, .rows = &of->rows};
    if (begun != NULL)
        nvdp__table_chunks_adopt(begun, format, &of->reader.chunks);
    else
        NVDP_TRY(nvdp__table_chunks_open(ctx, path, format, &of->reader.chunks));
    if (format != NVDP__TABLE_LINES) NVDP_TRY(resolve(&of->reader));
    NVDP_TRY(begin(&of->reader));
    NVDP__HAND_OVER(out, of);
    return NVDP_OK;
}

/* Does at the end what nvdp__rows_parse does after reading all rows. */
static nvdp_status end(struct nvdp__row_chunks *of) {
    struct reader *reader = &of->reader;
    if (!of->found)
        return nvdp__fail(reader->ctx, NVDP_ERR_INPUT, "%s: expected rows, found none%s",
                          reader->chunks.tsv.path, of->rows.skipped > 0 ? " that can be used" : "");
    if (!reader->collect) return NVDP_OK;
    struct nvdp__field *name = nvdp__calloc(reader->ctx, of->labels.count, sizeof *name);
    if (name == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < of->labels.count; i++)
        name[i].text = nvdp__string(&of->labels, i, &name[i].size);
    nvdp_status status = name_classes(reader, of->labels.count, name);
    reader->collect = false;
    free(name);
    return status;
}

nvdp_status nvdp__row_chunks_next(struct nvdp__row_chunks *of, const struct nvdp__rows **out) {
    struct nvdp__rows *rows = &of->rows;
    size_t number;
    rows->count = 0;
    while (rows->count == 0 && of->more) {
        bool row = true;
        if (of->begun) NVDP_TRY(nvdp__table_chunks_read(&of->reader.chunks, &of->more));
        of->begun = true;
        while (row)
            NVDP_TRY(read_row(&of->reader, &row));
    }
    for (size_t i = 0; i < rows->count && of->reader.collect; i++)
        NVDP_TRY(nvdp__strings_add(&of->labels, rows->row[i].label_text.text,
                                   rows->row[i].label_text.size, &number));
    of->found = of->found || rows->count > 0;
    if (rows->count == 0) NVDP_TRY(end(of));
    *out = rows;
    return NVDP_OK;
}

void nvdp__row_chunks_close(struct nvdp__row_chunks *of) {
    if (of == NULL) return;
    nvdp__table_chunks_close(&of->reader.chunks);
    nvdp__rows_release(&of->rows);
    nvdp__strings_release(&of->labels);
    free(of);
}

void nvdp__rows_release(struct nvdp__rows *rows) {
    free(rows->labels);
    free(rows->row);
    nvdp__pool_release(&rows->pool);
    *rows = (struct nvdp__rows){0};
}
