/* Tasks and their files: the roles of columns, lines of tab-separated values, and checked rows
 * with texts, labels and ids; words with tags. */
#ifndef NVDP_SRC_TEXT_TASK_H
#define NVDP_SRC_TEXT_TASK_H

#include "base/array.h"
#include "base/file.h"
#include "text/dataset.h"
#include "text/normalize.h"
#include <nvdp/dataset.h>

#define NVDP__DATA_LIMIT ((size_t)4 << 30) /* max bytes of a task's file */

/* ---- tasks ---- */

struct nvdp__layout {
    struct nvdp_task task; /* NVDP_TASK_TSV: without labels and pair, which depend on its options */
    const char *text, *pair, *label;                           /* columns by header name */
    const char *id;                                            /* may be missing in a file */
    const char *dev, *dev_mismatched, *test, *test_mismatched; /* file names; NULL: no such split */
};

/* NULL if `id` is not a task. */
const struct nvdp__layout *nvdp__task_layout(enum nvdp_task_id id);
/* Returns the layout with a user's columns and regression inserted. */
nvdp_status nvdp__task_resolve(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__layout *out);
extern const char *const nvdp__split_names[]; /* of enum nvdp_split; ends with NULL */
/* Always fails with NVDP_ERR_ARGUMENT: the task has no such split. */
nvdp_status nvdp__no_split(struct nvdp_context *ctx, const char *task, enum nvdp_split split);
/* NVDP_ERR_ARGUMENT if the task's files are words with tags in columns (conll.c). */
nvdp_status nvdp__task_of_texts(struct nvdp_context *ctx, const struct nvdp__layout *layout);
/* The name of the split's file in the task's directory, for a task of whole texts. */
nvdp_status nvdp__task_file(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            enum nvdp_split split, const char **name);
/* DIRECTORY/FILE, where a file may have another ending of nvdp__table_ends. *out is NULL if there is none.
 * NVDP_ERR_INPUT if there are two. */
nvdp_status nvdp__task_find(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out);
/* The same, but a missing file is NVDP_ERR_IO. */
nvdp_status nvdp__task_path(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out);
/* Always fails with NVDP_ERR_IO: the folder has no file NAME; says what is expected, and lists what is there. */
nvdp_status nvdp__missing_file(struct nvdp_context *ctx, const char *directory, const char *name,
                               const char *expected);

/* ---- rows of fields: tables in text files (table.c) ---- */

enum { NVDP__LINE_LIMIT = 16 << 20 }; /* bytes */

/* A list of names "a, b, ...", truncated when full. Zero it. */
struct nvdp__name_list {
    char text[512];
    size_t used;
    bool full;
};

/* Uses at most `max_bytes` bytes of the list. */
void nvdp__name_list_add(struct nvdp__name_list *list, size_t max_bytes, const char *name);

enum nvdp__table_format {
    NVDP__TABLE_TSV,        /* no quoting, no escapes */
    NVDP__TABLE_QUOTED_TSV, /* RFC 4180 with tabs */
    NVDP__TABLE_CSV,        /* RFC 4180 */
    NVDP__TABLE_JSONL, /* one object per line, or an array of objects; the members of the first are the columns */
    NVDP__TABLE_LINES /* one field per line */
};
/* Recognizes a format by the extension, before .gz or .xz: .csv, .jsonl, .ndjson and .json; else
 * TSV. */
enum nvdp__table_format nvdp__table_format_of(const char *path);
bool nvdp__is_table(const char *path);                /* the name has one of the table_ends */
char nvdp__separator(enum nvdp__table_format format); /* between fields */
static inline bool nvdp__is_quoted(enum nvdp__table_format format) {
    return format == NVDP__TABLE_CSV || format == NVDP__TABLE_QUOTED_TSV;
}
/* The endings in the order in which they are looked for, then NULL. GLUE's files have one of the first
 * NVDP__GLUE_ENDS. */
extern const char *const nvdp__table_ends[];
enum { NVDP__GLUE_ENDS = 3 };
/* Logs the notice that quotes were found in tab-separated values. */
void nvdp__table_log_quotes(struct nvdp_context *ctx, const char *path);
/* Logs the notice that so many texts were read, one per line. */
void nvdp__table_log_lines(struct nvdp_context *ctx, const char *path, size_t texts);
/* Logs the notices about invalid and empty texts among so many rows. */
void nvdp__table_log_texts(struct nvdp_context *ctx, const char *path, size_t not_utf8,
                           size_t empty, size_t rows);
bool nvdp__is_one_of(char c, const char *set);
/* Returns the field without the bytes of the set at its beginning and end. */
struct nvdp__field nvdp__trimmed(struct nvdp__field field, const char *set);
/* Returns the first byte behind a byte-order mark that is not blank; '\0' if there is none. */
char nvdp__first_byte(const char *bytes, size_t count);

/* A cursor over a file in memory, which must outlive it. Zero it, open it, release it. */
struct nvdp__tsv {
    struct nvdp_context *ctx;
    const char *path; /* for messages */
    const char *at, *end;
    enum nvdp__table_format format; /* set it after opening unless it is TSV */
    size_t line;               /* first line of the current row, from 1; 0 before the first row */
    size_t more_lines;         /* further lines of the current row, and empty lines after it */
    struct nvdp__field *field; /* [fields] of the current row; text NULL: no value (JSON) */
    size_t fields, capacity;
    const char **names; /* [name_count] members of JSON objects */
    size_t name_count;
    struct nvdp__field object; /* bytes of the current JSON object */
    bool array, closed;        /* the objects are in an array; its end was read */
    bool
        blank_rows; /* empty lines are rows: set it after opening; so it is in a TSV file of one column */
    bool header_is_row;     /* the line that gave the names is also the first row */
    bool quoted;            /* a quoted field was found */
    bool needs_quotes;      /* a field was found that can only be written in quotes */
    struct nvdp__pool pool; /* memory of fields that differ from the file's bytes */
};

/* Skips a byte-order mark. */
void nvdp__tsv_open(struct nvdp_context *ctx, const char *path, const char *bytes, size_t count,
                    struct nvdp__tsv *tsv);
/* True if there is another row; passes over empty lines. */
bool nvdp__tsv_more(struct nvdp__tsv *tsv);
/* Splits the next row, without its LF or CRLF. A line over the limit, or one that is not a row
 * of the format, is skipped and gives NVDP_ERR_INPUT. */
nvdp_status nvdp__tsv_next(struct nvdp__tsv *tsv);
void nvdp__tsv_release(struct nvdp__tsv *tsv);
/* True if the next JSON object is in an array: its end is not a line's. */
bool nvdp__tsv_in_array(const struct nvdp__tsv *tsv);
/* True if a tab-separated file uses quotes: every row is valid and as wide as the header when
 * read with quotes, and quotes surround the names or a field that needs them. */
bool nvdp__tsv_is_quoted(const char *bytes, size_t count);

/* ---- the same for files of any size, in parts (table.c) ---- */

/* Zero it, open it, close it. */
struct nvdp__table_chunks {
    struct nvdp_context *ctx;
    struct nvdp__tsv tsv; /* the current row; fields are valid until nvdp__table_chunks_read */
    struct nvdp__field
        row;       /* the row's bytes in the file, without LF or CRLF; a JSON object's bytes */
    uint64_t read; /* bytes so far */
    bool quiet;    /* do not record errors of rows */
    struct nvdp__input *input; /* NULL: the bytes are in memory, and owned by the caller */
    char *bytes;
    size_t capacity;
    bool ended;              /* the whole file was read */
    struct nvdp__pool names; /* of the members of JSON objects */
};
/* Determines the format: GLUE's is fixed, a user's depends on the file name; logs the use of
 * quotes. */
nvdp_status nvdp__table_chunks_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                                      const char *path, enum nvdp__table_format *format);
nvdp_status nvdp__table_chunks_open(struct nvdp_context *ctx, const char *path,
                                    enum nvdp__table_format format,
                                    struct nvdp__table_chunks *chunks);
/* Reads a file in memory as the only part; its fields stay valid. Set the format after it unless it is TSV. */
void nvdp__table_chunks_of_bytes(struct nvdp_context *ctx, const char *path, const char *bytes,
                                 size_t count, struct nvdp__table_chunks *chunks);
/* Goes on with the rest of a file of which nothing but its beginning was read; takes it over. */
void nvdp__table_chunks_adopt(struct nvdp__lines *lines, enum nvdp__table_format format,
                              struct nvdp__table_chunks *chunks);
/* Reads the next part and forgets the previous rows. *more is false at the end of the file. */
nvdp_status nvdp__table_chunks_read(struct nvdp__table_chunks *chunks, bool *more);
/* The next row of the part; *row is false at its end. */
nvdp_status nvdp__table_chunks_next(struct nvdp__table_chunks *chunks, bool *row);
/* The next row of the file: reads further parts if none is left; *row is false at the end of the file. */
nvdp_status nvdp__table_chunks_find(struct nvdp__table_chunks *chunks, bool *row);
void nvdp__table_chunks_close(struct nvdp__table_chunks *chunks);

/* Finds a column by its exact name in the header; *column is `fields` if it is missing.
 * NVDP_ERR_INPUT for a duplicate name. */
nvdp_status nvdp__tsv_column(const struct nvdp__tsv *tsv, const char *name, size_t *column);
/* NVDP_ERR_INPUT: "PATH:LINE: missing column 'NAME': found columns 'a', 'b'", with a guess of
 * the file's real format. */
nvdp_status nvdp__tsv_missing(const struct nvdp__tsv *tsv, const char *name);

/* NVDP_ERR_INPUT: the current JSON row has no value in that column. */
nvdp_status nvdp__tsv_no_value(const struct nvdp__tsv *tsv, size_t column);

/* CoLA's train and dev files have no header: source, label, the author's star, sentence. True if
 * the current line is such a row. */
enum { NVDP__COLA_COLUMNS = 4, NVDP__COLA_LABEL = 1, NVDP__COLA_SENTENCE = 3 };
bool nvdp__tsv_bare_cola(const struct nvdp__tsv *tsv, const struct nvdp__layout *layout);

bool nvdp__field_is(struct nvdp__field field, const char *text);
/* Orders by bytes, which is the order of code points in UTF-8; for qsort and bsearch. */
int nvdp__by_field(const void *left, const void *right);
/* Reads the whole field as a finite decimal number, regardless of the locale. */
bool nvdp__field_number(struct nvdp__field field, double *number);

/* ---- names: labels, and the ids of rows ---- */

/* Copies names into one block of memory for free(); `stride` is the number of bytes between
 * fields. */
nvdp_status nvdp__names_copy(struct nvdp_context *ctx, size_t count,
                             const struct nvdp__field *first, size_t stride, const char ***out);
/* The same for name[rows[i]], or name[i] if `rows` is NULL. */
nvdp_status nvdp__names_of(struct nvdp_context *ctx, size_t count, const char *const *name,
                           const size_t *rows, const char ***out);

/* ---- rows ---- */

struct nvdp__text_row {
    struct nvdp__field text, pair, id, label_text;
    int64_t index; /* rows before it in the file, including bad ones */
    float label;
};

/* Zero it, read it, release it. Fields point into the file's bytes or the pool. */
struct nvdp__rows {
    struct nvdp_task task;
    const char **labels;         /* owned: task.labels unless static */
    bool labeled, has_id, lines; /* lines: one text per line */
    bool answered;               /* label_text is set, and nothing else of the label */
    struct nvdp__text_row *row;
    size_t count, capacity;
    size_t skipped;  /* bad rows, if allowed, and MNLI's rows without a gold label */
    size_t not_utf8; /* rows with invalid UTF-8 */
    struct nvdp__pool pool;
};

/* Finds the format of a file of texts whose name is not that of a table, by its first NVDP__LOOK_BYTES: JSON objects, a
 * table separated by tabs, if line 1 has a tab or is the name of the text's column, or one text per line.
 * NVDP_ERR_INPUT for an empty file, and if line 1 is of another table or array, or has line ends of CR alone. */
enum { NVDP__LOOK_BYTES = 1 << 20 };
nvdp_status nvdp__texts_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                               const char *path, const char *bytes, size_t count,
                               enum nvdp__table_format *format);
/* Parses the file's bytes; `path` is for messages. The labels of a user's file come from
 * config->labels_from, or from the file itself. */
nvdp_status nvdp__rows_parse(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path, const char *bytes,
                             size_t count, struct nvdp__rows *rows);
void nvdp__rows_release(struct nvdp__rows *rows);
/* Logs the notice about rows without a gold label, if there are any. */
void nvdp__rows_log_skipped(struct nvdp_context *ctx, const char *path, size_t skipped);

/* The rows of a file of any size, in parts; `path` must outlive it. NVDP__TABLE_LINES: one text
 * per line; the configuration is not used. `begun` NULL: opens the file; else as nvdp__table_chunks_adopt. */
struct nvdp__row_chunks;
nvdp_status nvdp__row_chunks_open(struct nvdp_context *ctx,
                                  const struct nvdp_dataset_config *config,
                                  enum nvdp__label_use use, const char *path,
                                  struct nvdp__lines *begun, enum nvdp__table_format format,
                                  struct nvdp__row_chunks **out);
/* Returns the next rows, valid until the next call; count 0 at the end. If a user's file defines
 * its own classes, labels are NaN, and (*out)->task has the classes at the end. */
nvdp_status nvdp__row_chunks_next(struct nvdp__row_chunks *of, const struct nvdp__rows **out);
void nvdp__row_chunks_close(struct nvdp__row_chunks *of); /* NULL allowed */
NVDP__AUTOPTR(struct nvdp__row_chunks, nvdp__row_chunks_close)

/* ---- words with tags (conll.c) ---- */

/* Files in CoNLL format, words with tags (Tjong Kim Sang & De Meulder 2003): one word per line, its
 * tag in the last column, an empty line after each sentence. BIO, IOB1, IOBES (BMES) and BILOU are told apart by the
 * whole file and read as BIO. */

struct nvdp__conll_word {
    struct nvdp__field text, tag; /* tag as in the file: size 0 if it has none */
    struct nvdp__field type;      /* of the entity; size 0 outside */
    char kind;                    /* of the tag in BIO: 'B', 'I' or 'O' */
    size_t line;
};

/* Describes the tags of a file. */
struct nvdp__tag_scheme {
    size_t first[256];  /* line of the first tag with this letter; 0: none */
    size_t typed, bare; /* lines of the first tags with and without a type */
    size_t entities;
    size_t inner_starts; /* entities whose first tag is not one that begins an entity */
    size_t odd_starts;   /* B where IOB1 writes I */
};

/* The sentences of a file; zero it, read it, release it. Fields point into the file's bytes. */
struct nvdp__conll {
    char *bytes; /* owned; NULL if the caller owns them */
    struct nvdp__conll_word *word;
    size_t words, word_capacity;
    size_t *start;    /* [sentences + 1] */
    size_t *document; /* [sentences] index of the document; all 0 without -DOCSTART- */
    size_t sentences, start_capacity, document_capacity;
    bool tagged; /* the last column of lines is a tag */
    struct nvdp__tag_scheme scheme;
};

/* Columns are separated by tabs, or by spaces in a line without tabs; all lines have the same
 * number. A line whose first column is -DOCSTART- begins a document. NVDP_ERR_INPUT, naming the
 * line, for another number of columns, a tag of no scheme, tags of two schemes, or a file without words. An I after
 * another type or after nothing begins an entity, as in conlleval. */
nvdp_status nvdp__conll_read(struct nvdp_context *ctx, const char *path, const char *bytes,
                             size_t count, struct nvdp__conll *out);
/* The same from a file. */
nvdp_status nvdp__conll_open(struct nvdp_context *ctx, const char *path, struct nvdp__conll *out);
/* Writes the words of a sentence into *text, each followed by a space. Zero *text and *capacity at first; free(*text). */
nvdp_status nvdp__conll_sentence(struct nvdp_context *ctx, const struct nvdp__conll *conll,
                                 size_t sentence, char **text, size_t *capacity, size_t *size);
/* Returns true for a name that ends in .conll, or if the first lines of a regular file that are not empty have two
 * columns, a word and a tag O, B-TYPE or I-TYPE. */
bool nvdp__conll_recognize(struct nvdp_context *ctx, const char *path);
/* The next step if such a file is found where texts are expected. */
#define NVDP__CONLL_HINT "write each sentence in one line, without tags"
void nvdp__conll_release(struct nvdp__conll *conll);

/* Finds the file of a split in a folder: train, dev (or devel, valid) or test, with extension
 * .tsv, .txt or .conll; free() it. NVDP_ERR_IO, naming all candidates, if there is none. */
nvdp_status nvdp__conll_file(struct nvdp_context *ctx, const char *directory, enum nvdp_split split,
                             char **path);

/* Reads and tokenizes: one sentence per text, with the tag on the first piece of each word. The
 * part of a sentence that exceeds config->max_length becomes another text, so that no word is
 * lost. Types that config->labels_from lacks get classes beyond task.classes, which no model predicts. The `index` of a text counts the words before it in the file. */
nvdp_status nvdp__conll_dataset(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct nvdp_dataset_config *config, const char *path,
                                struct nvdp_dataset **out);

#endif
