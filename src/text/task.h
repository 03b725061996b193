/* Tasks and their files: which columns hold what, lines of tab-separated values, and rows with
 * their texts, labels and ids, each row checked. */
#ifndef NVDP_SRC_TEXT_TASK_H
#define NVDP_SRC_TEXT_TASK_H

#include "text/normalize.h"
#include <nvdp/dataset.h>

#define NVDP__DATA_LIMIT ((size_t)4 << 30) /* bytes of a task's file */

/* ---- tasks ---- */

struct nvdp__layout {
    struct nvdp_task task; /* NVDP_TASK_TSV: without labels and pair, which its options decide */
    const char *text, *pair, *label;                           /* columns by header name */
    const char *id;                                            /* may be missing from a file */
    const char *dev, *dev_mismatched, *test, *test_mismatched; /* file names; NULL: no such split */
};

/* NULL where `id` is no task. */
const struct nvdp__layout *nvdp__task_layout(enum nvdp_task_id id);
/* The layout with a user's columns and regression put in. */
nvdp_status nvdp__task_resolve(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__layout *out);
extern const char *const nvdp__split_names[]; /* of enum nvdp_split; ends with NULL */
/* NVDP_ERR_ARGUMENT, always: of a task without this split. */
nvdp_status nvdp__no_split(struct nvdp_context *ctx, const char *task, enum nvdp_split split);
/* NVDP_ERR_ARGUMENT where the task's files have words and their tags in columns (conll.h). */
nvdp_status nvdp__task_of_texts(struct nvdp_context *ctx, const struct nvdp__layout *layout);
/* The split's file within the task's directory, of a task of whole texts. */
nvdp_status nvdp__task_file(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            enum nvdp_split split, const char **name);
/* DIRECTORY/FILE; a user's own may end with .csv or .jsonl in place of .tsv.  NVDP_ERR_INPUT where there are two. */
nvdp_status nvdp__task_path(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out);

/* ---- rows of fields: tables in text files (table.c) ---- */

enum { NVDP__LINE_LIMIT = 16 << 20 }; /* bytes */

/* Names after one another, "a, b, ...", cut where the list is full.  Zero it. */
struct nvdp__name_list {
    char text[512];
    size_t used;
    bool full;
};

/* At most `most` bytes of it. */
void nvdp__name_list_add(struct nvdp__name_list *list, size_t most, const char *name);

enum nvdp__table_format {
    NVDP__TABLE_TSV,        /* no quoting, no escapes */
    NVDP__TABLE_QUOTED_TSV, /* RFC 4180 with tabs */
    NVDP__TABLE_CSV,        /* RFC 4180 */
    NVDP__TABLE_JSONL,      /* an object a line; the first one's members are the columns */
    NVDP__TABLE_LINES       /* a field a line */
};
/* By the name's end: .csv, .jsonl and .ndjson; else TSV. */
enum nvdp__table_format nvdp__table_format_of(const char *path);
char nvdp__separator(enum nvdp__table_format format); /* of fields */
/* ".tsv" and the others, then NULL. */
extern const char *const nvdp__table_ends[];
/* The notice that quotes were found in tab-separated values. */
void nvdp__table_tell_quotes(struct nvdp_context *ctx, const char *path);
/* Those about texts, of so many rows. */
void nvdp__table_tell_texts(struct nvdp_context *ctx, const char *path, size_t not_utf8,
                            size_t empty, size_t rows);
/* Bytes of a mark that the text begins with. */
size_t nvdp__byte_order_mark(const char *bytes, size_t count);

/* Memory that goes all at once. */
struct nvdp__pool {
    char **block;
    size_t blocks, capacity, used, size; /* of the last one */
};
void nvdp__pool_release(struct nvdp__pool *pool);

/* A cursor over a file in memory, which must outlive it.  Zero it, open it, release it. */
struct nvdp__tsv {
    struct nvdp_context *ctx;
    const char *path; /* for messages */
    const char *at, *end;
    enum nvdp__table_format format; /* set it after opening where it is not TSV */
    size_t line;                    /* where the present row begins, from 1; 0 before the first */
    size_t more_lines;              /* of the present row, and empty ones after it */
    struct nvdp__field *field; /* [fields] of the present row; text NULL: no such value (JSON) */
    size_t fields, capacity;
    const char **names; /* [name_count] of JSON's members */
    size_t name_count;
    bool again;             /* the line that told the names is the first row, too */
    bool quoted;            /* some field so far was */
    bool needs_quotes;      /* some quoted field so far would be another without its quotes */
    struct nvdp__pool pool; /* what fields point to that are not as in the file */
};

/* Steps over a leading byte-order mark. */
void nvdp__tsv_open(struct nvdp_context *ctx, const char *path, const char *bytes, size_t count,
                    struct nvdp__tsv *tsv);
/* Whether another line is there. */
bool nvdp__tsv_more(struct nvdp__tsv *tsv);
/* Splits the next row, without its LF or CRLF.  A line over the limit, or what is no row of the format, is
 * passed over and is NVDP_ERR_INPUT. */
nvdp_status nvdp__tsv_next(struct nvdp__tsv *tsv);
void nvdp__tsv_release(struct nvdp__tsv *tsv);
/* Whether a tab-separated file is one with quotes: every row is sound and as wide as the header when it is
 * read so, and quotes are around its names or around what could not stand without them. */
bool nvdp__tsv_is_quoted(const char *bytes, size_t count);

/* ---- the same of files of any size, a piece at a time (pieces.c) ---- */

/* Zero it, open it, close it. */
struct nvdp__table_chunks {
    struct nvdp_context *ctx;
    struct nvdp__tsv tsv;   /* of the present row; fields are valid until nvdp__table_chunks_read */
    struct nvdp__field row; /* its bytes in the file, without its LF or CRLF */
    uint64_t read;          /* bytes so far */
    bool quiet;             /* errors of rows are not recorded */
    struct nvdp__input *input;
    char *bytes;
    size_t capacity;
    bool ended;              /* the file is read */
    struct nvdp__pool names; /* of JSON's members */
};
/* How the file's rows are read: GLUE's as they are, a user's own by their name; quoted ones are told. */
nvdp_status nvdp__table_chunks_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                                      const char *path, enum nvdp__table_format *format);
nvdp_status nvdp__table_chunks_open(struct nvdp_context *ctx, const char *path,
                                    enum nvdp__table_format format,
                                    struct nvdp__table_chunks *pieces);
/* The next piece: forgets the rows before.  *more false: there is nothing left. */
nvdp_status nvdp__table_chunks_read(struct nvdp__table_chunks *pieces, bool *more);
/* The next row of the piece; *row false: there is none left in it. */
nvdp_status nvdp__table_chunks_next(struct nvdp__table_chunks *pieces, bool *row);
void nvdp__table_chunks_close(struct nvdp__table_chunks *pieces);

/* Finds a header's column by its exact name; *column is `fields` where it is missing.  A name that
 * is there twice: NVDP_ERR_INPUT. */
nvdp_status nvdp__tsv_column(const struct nvdp__tsv *tsv, const char *name, size_t *column);
/* NVDP_ERR_INPUT: "PATH:LINE: missing column 'NAME': found columns 'a', 'b'", and what the file rather is. */
nvdp_status nvdp__tsv_missing(const struct nvdp__tsv *tsv, const char *name);

/* NVDP_ERR_INPUT: the present row, of JSON, has no value in that column. */
nvdp_status nvdp__tsv_no_value(const struct nvdp__tsv *tsv, size_t column);

/* CoLA's train and dev files have no header: source, label, the author's star, sentence.  Whether the
 * present line is such a row. */
enum { NVDP__COLA_COLUMNS = 4, NVDP__COLA_LABEL = 1, NVDP__COLA_SENTENCE = 3 };
bool nvdp__tsv_bare_cola(const struct nvdp__tsv *tsv, const struct nvdp__layout *layout);

bool nvdp__field_is(struct nvdp__field field, const char *text);
/* By bytes, which is the order of code points in UTF-8; for qsort and bsearch. */
int nvdp__by_field(const void *left, const void *right);
/* The whole field as a finite decimal number, whatever the locale. */
bool nvdp__field_number(struct nvdp__field field, double *number);

/* ---- names: labels, and the ids of rows ---- */

/* Copies as one block of memory for free(); from field to field it is `stride` bytes. */
nvdp_status nvdp__names_copy(struct nvdp_context *ctx, size_t count,
                             const struct nvdp__field *first, size_t stride, const char ***out);
/* The same of name[rows[i]], or of name[i] where `rows` is NULL. */
nvdp_status nvdp__names_of(struct nvdp_context *ctx, size_t count, const char *const *name,
                           const size_t *rows, const char ***out);

/* ---- rows ---- */

enum nvdp__label_use {
    NVDP__LABELS_REQUIRED, /* training and scoring */
    NVDP__LABELS_FOUND,    /* where the file has the column */
    NVDP__LABELS_IGNORED   /* hidden test labels */
};

struct nvdp__text_row {
    struct nvdp__field text, pair, id, label_text;
    int64_t index; /* rows before it in the file, bad ones too */
    float label;
};

/* Zero it, read it, release it.  Fields point into the file's bytes, or the pool. */
struct nvdp__rows {
    struct nvdp_task task;
    const char **labels; /* owned: task.labels where they are not static */
    bool labeled, has_id;
    struct nvdp__text_row *row;
    size_t count, capacity;
    size_t skipped;  /* bad ones on request, and MNLI's without a gold label */
    size_t not_utf8; /* rows with such a text */
    struct nvdp__pool pool;
};

/* Parses the file's bytes; `path` is for messages.  The labels of a user's file come from
 * config->labels_from or else from the file itself. */
nvdp_status nvdp__rows_parse(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path, const char *bytes,
                             size_t count, struct nvdp__rows *rows);
void nvdp__rows_release(struct nvdp__rows *rows);
/* The notice about rows without a gold label, where there are some. */
void nvdp__rows_tell_skipped(struct nvdp_context *ctx, const char *path, size_t skipped);

/* The rows of a file of any size, a piece at a time; `path` must outlive it.  NVDP__TABLE_LINES: a text a line, and
 * the configuration is not read. */
struct nvdp__row_chunks;
nvdp_status nvdp__row_chunks_open(struct nvdp_context *ctx,
                                  const struct nvdp_dataset_config *config,
                                  enum nvdp__label_use use, const char *path,
                                  enum nvdp__table_format format, struct nvdp__row_chunks **out);
/* The next rows, until the next call; count 0: there are none left.  Where a user's file tells its classes itself,
 * labels are NaN, and (*out)->task has the classes when there are none left. */
nvdp_status nvdp__row_chunks_next(struct nvdp__row_chunks *of, const struct nvdp__rows **out);
void nvdp__row_chunks_close(struct nvdp__row_chunks *of); /* NULL allowed */

#endif
