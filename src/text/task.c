/* Tasks and their rows (task.h): the table of tasks, the files of tasks, names, then the reading of rows, all
 * together or in parts. */
#include "text/task.h"

#include "base/file.h"
#include "base/sentence.h"
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

/* In the order of enum nvdp_task_id. */
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
    /* conll.c has the columns and files of this task */
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
    return (unsigned)id < LAYOUTS ? &layouts[id] : NULL;
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

nvdp_status nvdp__task_find(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out) {
    const size_t ends = layout->task.id == NVDP_TASK_TSV ? SIZE_MAX : NVDP__GLUE_ENDS;
    const char *name = NULL;
    struct nvdp__path found = {""};
    NVDP_TRY(nvdp__task_file(ctx, layout, split, &name));
    if (nvdp__exists(directory) && !nvdp__is_directory(directory))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          nvdp__ends_with(directory, ".parquet") ? FILE_FOUND READ_PARQUET
                                                                 : FILE_FOUND
                              "; {data} takes the folder",
                          directory);
    for (size_t i = 0; i < ends && nvdp__table_ends[i] != NULL; i++) {
        const struct nvdp__path path = nvdp__path_format(
            "%s/%.*s%s", directory, (int)(strlen(name) - 4), name, nvdp__table_ends[i]);
        if (!nvdp__exists(path.text)) continue;
        if (found.text[0] != '\0')
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "expected one of %s and %s, found both; remove the one that does "
                              "not count",
                              found.text, path.text);
        found = path;
    }
    *out = NULL;
    if (found.text[0] == '\0') return NVDP_OK;
    NVDP_TRY(nvdp__check_regular(ctx, found.text));
    return NVDP__MADE(*out = nvdp__strdup(ctx, found.text));
}

nvdp_status nvdp__missing_file(struct nvdp_context *ctx, const char *directory, const char *name,
                               const char *expected) {
    struct nvdp__name_list list = {0};
    struct dirent **entry = NULL;
    if (nvdp__exists(directory) && !nvdp__is_directory(directory))
        return nvdp__fail(ctx, NVDP_ERR_IO, "%s: expected a folder with the file %s, found a file",
                          directory, name);
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
    char expected[256];
    NVDP_TRY(nvdp__task_find(ctx, layout, directory, split, out));
    if (*out != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__task_file(ctx, layout, split, &name));
    nvdp__snprintf(expected, sizeof expected,
                   layout->task.id == NVDP_TASK_TSV
                       ? "this file, or one that ends in .csv, .jsonl, .ndjson or .json, also with "
                         ".gz or .xz behind it%s"
                       : "this file, also with .gz or .xz behind it, as GLUE has it (files of your "
                         "own, with other endings or columns: {task} %s)",
                   layout->task.id != NVDP_TASK_TSV ? nvdp__task_layout(NVDP_TASK_TSV)->task.name
                   : split == NVDP_SPLIT_DEV        ? " (training with {folds} needs no dev file)"
                                                    : "");
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
    NVDP_TRY(NVDP__MADE(names));
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

nvdp_status nvdp__names_select(struct nvdp_context *ctx, size_t count, const char *const *name,
                               const size_t *rows, const char ***out) {
    nvdp__autofree struct nvdp__field *field = NULL;
    NVDP_TRY(NVDP__NEW(ctx, field, count));
    for (size_t i = 0; i < count; i++) {
        const char *text = name[rows != NULL ? rows[i] : i];
        field[i] = (struct nvdp__field){text, strlen(text)};
    }
    return nvdp__names_copy(ctx, count, field, sizeof *field, out);
}

/* ---- rows ---- */

enum { KNOWN_LABELS = 256 };
static const size_t NO_COLUMN = SIZE_MAX;

/* The state of reading one file, as a whole or in parts. */
struct nvdp__row_chunks {
    struct nvdp_context *ctx;
    struct nvdp_dataset_config config;
    struct nvdp__layout layout;
    enum nvdp__label_use use;
    /* true if the file is in memory, as its only part, and texts may be used for training */
    bool whole;
    struct nvdp__table_chunks chunks;
    size_t columns;
    size_t text, pair, label, id; /* indices of columns, or NO_COLUMN */
    bool collect;                 /* true if class names come from the rows of the file */
    bool pending;                 /* true if the current line is already a row */
    bool begun, found, more;
    int64_t index;
    struct nvdp__rows rows;
    struct nvdp__strings labels; /* the distinct labels so far, if they are collected */
};

static void release(struct nvdp__row_chunks *of) {
    nvdp__table_chunks_close(&of->chunks);
    nvdp__rows_release(&of->rows);
    nvdp__strings_release(&of->labels);
}

static nvdp_status find_column(struct nvdp__row_chunks *of, const char *name, bool required,
                               size_t *out) {
    const struct nvdp__tsv *tsv = &of->chunks.tsv;
    size_t column;
    *out = NO_COLUMN;
    if (name == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__tsv_column(tsv, name, &column));
    if (column < tsv->fields) *out = column;
    return column == tsv->fields && required ? nvdp__tsv_missing(tsv, name) : NVDP_OK;
}

static nvdp_status read_header(struct nvdp__row_chunks *of) {
    struct nvdp__tsv *tsv = &of->chunks.tsv;
    const struct nvdp__layout *layout = &of->layout;
    const bool own_id = of->config.id_column != NULL;
    bool row;
    NVDP_TRY(nvdp__table_chunks_find(&of->chunks, &row));
    if (!row)
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT, "%s:1: empty file: expected a header line",
                          tsv->path);
    of->columns = tsv->fields;
    of->pending = nvdp__tsv_bare_cola(tsv, layout);
    if (of->pending && own_id) return nvdp__tsv_missing(tsv, layout->id);
    if (of->pending) {
        of->text = NVDP__COLA_SENTENCE;
        of->label = NVDP__COLA_LABEL;
        of->pair = of->id = NO_COLUMN;
        return NVDP_OK;
    }
    NVDP_TRY(find_column(of, layout->text, true, &of->text));
    NVDP_TRY(find_column(of, layout->pair, true, &of->pair));
    NVDP_TRY(find_column(of, layout->label,
                         of->use == NVDP__LABELS_REQUIRED || of->use == NVDP__LABELS_AS_TEXT,
                         &of->label));
    NVDP_TRY(find_column(of, layout->id, own_id, &of->id));
    if (layout->task.id != NVDP_TASK_TSV || of->id != NO_COLUMN) return NVDP_OK;
    return find_column(of, "index", false, &of->id);
}

static nvdp_status read_score(struct nvdp__row_chunks *of, struct nvdp__field field, float *label) {
    const struct nvdp_task *task = &of->rows.task;
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
    return nvdp__fail(of->ctx, NVDP_ERR_INPUT, "%s:%zu: score %s: expected %s", of->chunks.tsv.path,
                      of->chunks.tsv.line, nvdp__quote_field(field).text, expected);
}

static nvdp_status read_class(struct nvdp__row_chunks *of, struct nvdp__field field, float *label) {
    const struct nvdp_task *task = &of->rows.task;
    struct nvdp__name_list known = {0};
    for (int i = 0; i < task->classes; i++) {
        if (nvdp__field_is(field, task->labels[i])) {
            *label = (float)i;
            return NVDP_OK;
        }
    }
    for (int i = 0; i < task->classes; i++)
        nvdp__name_list_add(&known, KNOWN_LABELS, task->labels[i]);
    return nvdp__fail(of->ctx, NVDP_ERR_INPUT, "%s:%zu: label %s: expected one of %s",
                      of->chunks.tsv.path, of->chunks.tsv.line, nvdp__quote_field(field).text,
                      known.text);
}

/* If there are more classes than this, and all are numbers, the labels are probably scores. */
enum { MANY_NUMBERS = 10 };

/* Refuses labels that are all numbers if one of them, such as 3.7, is not a whole number. A table that is read in
 * parts is not used for training, so its labels may be classes or scores. */
static nvdp_status check_numbers(const struct nvdp__row_chunks *of, size_t classes,
                                 const struct nvdp__field *name) {
    double number;
    const struct nvdp__field *score = NULL;
    const char *path = of->chunks.tsv.path;
    if (!of->whole) return NVDP_OK;
    for (size_t i = 0; i < classes; i++) {
        if (!nvdp__field_number(name[i], &number)) return NVDP_OK;
        if (score == NULL && number != floor(number)) score = &name[i];
    }
    if (score != NULL)
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT,
                          "%s: column '%s': expected names of classes, found numbers such as %s; "
                          "{regression} takes them as scores",
                          path, of->layout.label, nvdp__quote_field(*score).text);
    if (classes > MANY_NUMBERS)
        nvdp__log(of->ctx, NVDP_LOG_WARNING,
                  "%s: column '%s' has %zu different labels, all of them numbers: each is a class "
                  "of its own; {regression} takes them as scores",
                  path, of->layout.label, classes);
    return NVDP_OK;
}

enum { NUMBER_TEXT = 32 };

/* Writes a name in lower case without blanks, true and false as 1 and 0, and a whole number without decimals. */
static size_t fold_name(struct nvdp__field name, char *to) {
    double number;
    size_t size = 0;
    for (size_t i = 0; i < name.size; i++) {
        const char c = name.text[i];
        if (!nvdp__is_in_set(c, " \t\r\n")) to[size++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    const struct nvdp__field folded = {to, size};
    const bool no = nvdp__field_is(folded, "false"), yes = nvdp__field_is(folded, "true");
    if (no || yes)
        number = yes;
    else if (!nvdp__field_number(folded, &number) || number != floor(number) || fabs(number) > 1e15)
        return size;
    return (size_t)nvdp__snprintf(to, size + NUMBER_TEXT, "%.0f", number);
}

/* Logs notices of classes that may be meant as one, such as good and "good ", true and 1, and of a class that may be a missing
 * label. */
static nvdp_status note_odd_names(struct nvdp__row_chunks *of, size_t classes,
                                  const struct nvdp__field *name) {
    static const char missing[] = " nan none null na n/a <na> ";
    const char *path = of->chunks.tsv.path, *column = of->layout.label;
    nvdp__auto(nvdp__strings_release) struct nvdp__strings seen = {.ctx = of->ctx};
    nvdp__autofree size_t *first = NULL; /* [seen.count] the first class of this look */
    NVDP_TRY(NVDP__NEW(of->ctx, first, classes));
    for (size_t i = 0; of->whole && i < classes; i++) {
        nvdp__autofree char *folded = NULL;
        size_t look;
        NVDP_TRY(NVDP__NEW(of->ctx, folded, name[i].size + NUMBER_TEXT));
        const size_t size = fold_name(name[i], folded), before = seen.count;
        NVDP_TRY(nvdp__strings_add(&seen, folded, size, &look));
        const bool none =
            strstr(missing, nvdp__short_text(" %.*s ", (int)size, folded).text) != NULL;
        of->rows.odd += none + (look != before);
        if (look == before)
            first[look] = i;
        else
            nvdp__log(of->ctx, NVDP_LOG_NOTICE,
                      "%s: column '%s': %s and %s are two classes; if they mean the same, write "
                      "them alike",
                      path, column, nvdp__quote_field(name[first[look]]).text,
                      nvdp__quote_field(name[i]).text);
        if (none)
            nvdp__log(of->ctx, NVDP_LOG_NOTICE,
                      "%s: column '%s': %s is a class; if it means that there is no label, remove "
                      "these rows",
                      path, column, nvdp__quote_field(name[i]).text);
    }
    return NVDP_OK;
}

/* Compares labels in numeric order, if all labels are numbers: 2 comes before 10. */
static int by_number(const void *left, const void *right) {
    double a = 0, b = 0;
    (void)nvdp__field_number(*(const struct nvdp__field *)left, &a);
    (void)nvdp__field_number(*(const struct nvdp__field *)right, &b);
    return a != b ? (a > b) - (a < b) : nvdp__by_field(left, right);
}

static nvdp_status read_label(struct nvdp__row_chunks *of, struct nvdp__text_row *row) {
    const struct nvdp__field field = of->chunks.tsv.field[of->label];
    size_t number;
    row->label_text = field;
    if (of->rows.task.regression) return read_score(of, field, &row->label);
    if (!of->collect) return read_class(of, field, &row->label);
    if (field.size == 0)
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT,
                          "%s:%zu: '%s': expected the name of a class, found no label",
                          of->chunks.tsv.path, of->chunks.tsv.line, of->layout.label);
    /* the name will appear in files and reports */
    if (memchr(field.text, '\0', field.size) != NULL || !nvdp__is_utf8(field.text, field.size))
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT, "%s:%zu: label %s: expected a name in UTF-8",
                          of->chunks.tsv.path, of->chunks.tsv.line, nvdp__quote_field(field).text);
    return nvdp__strings_add(&of->labels, field.text, field.size, &number);
}

/* Reads the next row; *row_found is false at the end of the file or part. */
static nvdp_status read_row(struct nvdp__row_chunks *of, bool *row_found) {
    struct nvdp__rows *rows = &of->rows;
    struct nvdp__tsv *tsv = &of->chunks.tsv;
    nvdp_status status = NVDP_OK;
    *row_found = of->pending;
    if (!of->pending) status = nvdp__table_chunks_next(&of->chunks, row_found);
    of->pending = false;
    if (!*row_found) return NVDP_OK;
    int64_t index = of->index++;
    NVDP_TRY(status);
    if (tsv->fields != of->columns)
        return nvdp__fail(
            of->ctx, NVDP_ERR_INPUT, "%s:%zu: expected %zu columns, found %zu%s", tsv->path,
            tsv->line, of->columns, tsv->fields,
            of->config.skip_bad_rows ? ""
            : of->whole && of->use == NVDP__LABELS_REQUIRED
                ? nvdp__with_options(of->ctx, "; training with {skip-bad-rows} skips such rows")
                      .text
                : "; correct or remove this row");
    /* some pairs of MNLI have no gold label because annotators disagreed */
    if (of->layout.task.id == NVDP_TASK_MNLI && of->label != NO_COLUMN &&
        nvdp__field_is(tsv->field[of->label], "-")) {
        rows->skipped++;
        return NVDP_OK;
    }
    const size_t needed[] = {of->text, of->pair, rows->labeled ? of->label : NO_COLUMN};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i] != NO_COLUMN && tsv->field[needed[i]].text == NULL)
            return nvdp__tsv_no_value(tsv, needed[i]);
    struct nvdp__text_row row = {.text = tsv->field[of->text], .index = index, .label = NAN};
    if (of->pair != NO_COLUMN) row.pair = tsv->field[of->pair];
    rows->not_utf8 += !nvdp__is_utf8(row.text.text, row.text.size) ||
                      (row.pair.size > 0 && !nvdp__is_utf8(row.pair.text, row.pair.size));
    if (of->id != NO_COLUMN) row.id = tsv->field[of->id];
    if (rows->answered) row.label_text = tsv->field[of->label];
    if (rows->labeled) NVDP_TRY(read_label(of, &row));
    return NVDP__PUSH(of->ctx, rows->row, rows->count, rows->capacity, row);
}

void nvdp__rows_log_skipped(struct nvdp_context *ctx, const char *path, size_t skipped) {
    if (skipped > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: skipped %zu rows without a gold label", path, skipped);
}

/* Ends a file. Turns the collected labels, if any, into classes, in order, and sets the classes of the rows of a
 * whole file. */
static nvdp_status end(struct nvdp__row_chunks *of) {
    struct nvdp__rows *rows = &of->rows;
    if (!of->found)
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT, "%s: expected rows, found none%s",
                          of->chunks.tsv.path, of->rows.skipped > 0 ? " that can be used" : "");
    if (!of->collect) return NVDP_OK;
    of->collect = false;
    const size_t classes = of->labels.count;
    int (*order)(const void *, const void *) = by_number;
    nvdp__autofree struct nvdp__field *name = NULL;
    double number;
    NVDP_TRY(NVDP__NEW(of->ctx, name, classes));
    for (size_t i = 0; i < classes; i++) {
        name[i] = nvdp__string(&of->labels, i);
        if (!nvdp__field_number(name[i], &number)) order = nvdp__by_field;
    }
    qsort(name, classes, sizeof *name, order);
    if (classes < 2)
        return nvdp__fail(of->ctx, NVDP_ERR_INPUT,
                          "%s: column '%s': expected at least 2 different labels, found only %s",
                          of->chunks.tsv.path, of->layout.label, nvdp__quote_field(name[0]).text);
    NVDP_TRY(check_numbers(of, classes, name));
    NVDP_TRY(note_odd_names(of, classes, name));
    NVDP_TRY(nvdp__names_copy(of->ctx, classes, name, sizeof *name, &rows->labels));
    rows->task.labels = rows->labels;
    rows->task.classes = (int)classes;
    for (size_t i = 0; i < rows->count; i++) {
        const struct nvdp__field *found =
            bsearch(&rows->row[i].label_text, name, classes, sizeof *name, order);
        rows->row[i].label = (float)(found - name);
    }
    return NVDP_OK;
}

static const char BLANKS[] = " \t\r";

/* Returns true if a line begins an array in JSON: an array of objects, texts, arrays or numbers. "[1] See below" is
 * a text. */
static bool begins_array(struct nvdp__field line) {
    size_t i = 1;
    if (line.size == 0 || line.text[0] != '[') return false;
    while (i < line.size && nvdp__is_in_set(line.text[i], BLANKS))
        i++;
    if (i == line.size || nvdp__is_in_set(line.text[i], "{\"[")) return true;
    while (i < line.size && nvdp__is_in_set(line.text[i], "0123456789+-.eE, \t\r]"))
        i++;
    return i == line.size;
}

/* Returns true if the line looks like the header of another program: split at commas, semicolons, bars and tabs,
 * some field is the name of the column, and every other field is one word. A sentence may have the name between
 * commas, but other parts of a sentence have several words. */
static bool names_column(struct nvdp__field line, const char *name) {
    bool named = false;
    for (size_t from = 0, to = 0; from <= line.size; from = ++to) {
        while (to < line.size && !nvdp__is_in_set(line.text[to], ",;|\t"))
            to++;
        struct nvdp__field field =
            nvdp__trimmed((struct nvdp__field){line.text + from, to - from}, BLANKS);
        const char quote = field.size > 1 ? field.text[0] : '\0';
        if (nvdp__is_in_set(quote, "\"'") && field.text[field.size - 1] == quote)
            field = nvdp__trimmed((struct nvdp__field){field.text + 1, field.size - 2}, BLANKS);
        const bool is_name =
            field.size == strlen(name) && strncasecmp(field.text, name, field.size) == 0;
        if (!is_name && memchr(field.text, ' ', field.size) != NULL) return false;
        named |= is_name;
    }
    return named;
}

/* Refuses texts whose first line that is not blank, `number`, looks like another format. `alone` is true if no LF
 * follows this line. */
static nvdp_status check_texts(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                               const char *path, size_t number, struct nvdp__field line,
                               bool alone) {
    const bool array = begins_array(nvdp__trimmed(line, BLANKS));
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
    const char first = nvdp__first_byte(bytes, (size_t)(end - bytes));
    struct nvdp__field rest = {bytes + mark, (size_t)(end - bytes) - mark};
    if (count == mark)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s:1: empty file: expected texts, one per line, or a table", path);
    *format = first == '{' ? NVDP__TABLE_JSONL : NVDP__TABLE_LINES;
    if (first == '{' || first == '\0') return NVDP_OK;
    for (size_t number = 1; rest.text != NULL; number++) {
        struct nvdp__field line = nvdp__take_part(&rest, '\n');
        while (line.size > 0 && line.text[line.size - 1] == '\r')
            line.size--;
        const bool table =
            memchr(line.text, '\t', line.size) != NULL || nvdp__field_is(line, layout->text);
        if (number == 1 && table) *format = NVDP__TABLE_TSV;
        if (number == 1 && table) return NVDP_OK;
        if (nvdp__trimmed(line, BLANKS).size > 0)
            return check_texts(ctx, layout, path, number, line, rest.text == NULL);
    }
    return NVDP_OK;
}

/* Returns true if a file may have one text per line: its name is not the name of a table, and no columns are needed. */
static bool may_be_lines(const struct nvdp_dataset_config *config,
                         const struct nvdp__layout *layout, enum nvdp__label_use use,
                         const char *path) {
    return use == NVDP__LABELS_FOUND && !nvdp__is_table(path) && layout->pair == NULL &&
           config->id_column == NULL;
}

/* Sets the format. GLUE's files are plain TSV. The format of a user's file depends on the file's name, and
 * tab-separated files may have quotes. A file of texts whose name is not the name of a table may have one text per
 * line, unless columns are needed. */
static nvdp_status open_table(struct nvdp__row_chunks *of, const char *path, const char *bytes,
                              size_t count) {
    struct nvdp__tsv *tsv = &of->chunks.tsv;
    const struct nvdp__layout *layout = &of->layout;
    nvdp__table_chunks_of_bytes(of->ctx, path, bytes, count, &of->chunks);
    if (may_be_lines(&of->config, layout, of->use, path)) {
        NVDP_TRY(nvdp__texts_format(of->ctx, layout, path, bytes, count, &tsv->format));
        of->rows.lines = tsv->format == NVDP__TABLE_LINES;
        if (tsv->format != NVDP__TABLE_TSV) return NVDP_OK;
    }
    if (layout->task.id != NVDP_TASK_TSV) return NVDP_OK;
    tsv->format = nvdp__path_table_format(path);
    if (tsv->format == NVDP__TABLE_TSV && nvdp__tsv_is_quoted(bytes, count)) {
        tsv->format = NVDP__TABLE_QUOTED_TSV;
        nvdp__table_log_quotes(of->ctx, path);
    }
    return NVDP_OK;
}

static nvdp_status resolve(struct nvdp__row_chunks *of) {
    NVDP_TRY(nvdp__task_resolve(of->ctx, &of->config, &of->layout));
    if (of->use == NVDP__LABELS_REQUIRED && of->layout.label == NULL)
        return nvdp__fail(of->ctx, NVDP_ERR_ARGUMENT,
                          "{label-column}: expected a column's name, found none");
    of->rows.task = of->layout.task;
    return nvdp__task_of_texts(of->ctx, &of->layout);
}

/* Reads the header, unless the file has lines of text, and finds the classes or how to find them. */
static nvdp_status begin(struct nvdp__row_chunks *of) {
    struct nvdp__rows *rows = &of->rows;
    const struct nvdp_task *from = of->config.labels_from;
    of->columns = 1;
    of->pair = of->label = of->id = NO_COLUMN;
    if (of->chunks.tsv.format != NVDP__TABLE_LINES) NVDP_TRY(read_header(of));
    if (of->use == NVDP__LABELS_IGNORED) of->label = NO_COLUMN;
    rows->has_id = of->id != NO_COLUMN;
    rows->answered = of->use == NVDP__LABELS_AS_TEXT;
    rows->labeled = of->label != NO_COLUMN && !rows->answered;
    if (of->config.task != NVDP_TASK_TSV || rows->task.regression) return NVDP_OK;
    of->collect = rows->labeled && (from == NULL || from->labels == NULL);
    if (from == NULL || from->labels == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__names_select(of->ctx, (size_t)from->classes, from->labels, NULL, &rows->labels));
    rows->task.labels = rows->labels;
    rows->task.classes = from->classes;
    return NVDP_OK;
}

nvdp_status nvdp__rows_parse(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path, const char *bytes,
                             size_t count, struct nvdp__rows *rows) {
    nvdp__auto(release) struct nvdp__row_chunks of = {
        .ctx = ctx, .config = *config, .use = use, .whole = true, .labels = {.ctx = ctx}};
    nvdp__autofree char *first = NULL; /* the message about the first bad row */
    size_t bad = 0;
    NVDP_TRY(resolve(&of));
    NVDP_TRY(open_table(&of, path, bytes, count));
    NVDP_TRY(begin(&of));
    for (bool row = true; row;) { /* stops at a bad row unless bad rows are skipped */
        const nvdp_status status = read_row(&of, &row);
        if (status == NVDP_OK) continue;
        if (status != NVDP_ERR_INPUT || !of.config.skip_bad_rows) return status;
        if (bad++ == 0 && ctx != NULL)
            NVDP_TRY(NVDP__MADE(first = nvdp__strdup(ctx, nvdp_context_error(ctx))));
    }
    nvdp__rows_log_skipped(ctx, path, of.rows.skipped);
    if (bad > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "%s: skipped %zu bad rows; the first: %s", path, bad,
                  first != NULL ? first : "");
    of.rows.skipped += bad;
    if (of.rows.lines) nvdp__table_log_lines(ctx, path, of.rows.count);
    of.found = of.rows.count > 0;
    NVDP_TRY(end(&of));
    NVDP__HAND_OVER(&of.rows.pool, of.chunks.tsv.pool);
    return NVDP__HAND_OVER(rows, of.rows);
}

nvdp_status nvdp__rows_format(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                              enum nvdp__label_use use, const char *path,
                              enum nvdp__table_format *format) {
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    struct nvdp__layout layout;
    struct nvdp__field head;
    NVDP_TRY(nvdp__task_resolve(ctx, config, &layout));
    if (may_be_lines(config, &layout, use, path)) {
        NVDP_TRY(nvdp__lines_open(ctx, path, &lines));
        NVDP_TRY(nvdp__lines_peek(&lines, NVDP__LOOK_BYTES, &head));
        NVDP_TRY(nvdp__texts_format(ctx, &layout, path, head.text, head.size, format));
        if (*format != NVDP__TABLE_TSV) return NVDP_OK;
    }
    return nvdp__table_chunks_format(ctx, &layout, path, format);
}

nvdp_status nvdp__rows_count(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path,
                             enum nvdp__table_format format, size_t *count) {
    nvdp__autoptr(nvdp__row_chunks_close) struct nvdp__row_chunks *chunks = NULL;
    const struct nvdp__rows *rows;
    NVDP_TRY(nvdp__row_chunks_open(ctx, config, use, path, NULL, format, &chunks));
    *count = 0;
    do {
        NVDP_TRY(nvdp__row_chunks_next(chunks, &rows));
        *count += rows->count;
    } while (rows->count > 0);
    return NVDP_OK;
}

nvdp_status nvdp__row_chunks_open(struct nvdp_context *ctx,
                                  const struct nvdp_dataset_config *config,
                                  enum nvdp__label_use use, const char *path,
                                  struct nvdp__lines *begun, enum nvdp__table_format format,
                                  struct nvdp__row_chunks **out) {
    nvdp__autoptr(nvdp__row_chunks_close) struct nvdp__row_chunks *of = NULL;
    NVDP_TRY(NVDP__NEW(ctx, of, 1));
    *of = (struct nvdp__row_chunks){
        .ctx = ctx, .config = *config, .use = use, .more = true, .labels = {.ctx = ctx}};
    if (begun != NULL)
        nvdp__table_chunks_adopt(begun, format, &of->chunks);
    else
        NVDP_TRY(nvdp__table_chunks_open(ctx, path, format, &of->chunks));
    if (format != NVDP__TABLE_LINES) NVDP_TRY(resolve(of));
    NVDP_TRY(begin(of));
    return NVDP__HAND_OVER(out, of);
}

nvdp_status nvdp__row_chunks_next(struct nvdp__row_chunks *of, const struct nvdp__rows **out) {
    struct nvdp__rows *rows = &of->rows;
    rows->count = 0;
    while (rows->count == 0 && of->more) {
        if (of->begun) NVDP_TRY(nvdp__table_chunks_read(&of->chunks, &of->more));
        of->begun = true;
        for (bool row = true; row;)
            NVDP_TRY(read_row(of, &row));
    }
    of->found = of->found || rows->count > 0;
    if (rows->count == 0) NVDP_TRY(end(of));
    *out = rows;
    return NVDP_OK;
}

void nvdp__row_chunks_close(struct nvdp__row_chunks *of) {
    if (of == NULL) return;
    release(of);
    free(of);
}

void nvdp__rows_release(struct nvdp__rows *rows) {
    free(rows->labels);
    free(rows->row);
    nvdp__pool_release(&rows->pool);
    *rows = (struct nvdp__rows){0};
}
