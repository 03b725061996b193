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
    /* for NVDP_TASK_TSV without labels and pair, which depend on the options */
    struct nvdp_task task;
    const char *text, *pair, *label; /* columns by name in the header */
    /* column that may be missing in a file */
    const char *id;
    /* file names; NULL if there is no such split */
    const char *dev, *dev_mismatched, *test, *test_mismatched;
};

/* Returns the layout of a task; NULL if `id` is not a task. */
const struct nvdp__layout *nvdp__task_layout(enum nvdp_task_id id);
/* Returns the layout, with a user's columns and regression inserted. */
nvdp_status nvdp__task_resolve(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__layout *out);
extern const char *const nvdp__split_names[]; /* names of enum nvdp_split; ended by NULL */
/* Always fails with NVDP_ERR_ARGUMENT: the task has no such split. */
nvdp_status nvdp__no_split(struct nvdp_context *ctx, const char *task, enum nvdp_split split);
/* Fails with NVDP_ERR_ARGUMENT if the files of the task are words with tags in columns (conll.c). */
nvdp_status nvdp__task_of_texts(struct nvdp_context *ctx, const struct nvdp__layout *layout);
/* Returns the name of the split's file in the task's directory, for a task of whole texts. */
nvdp_status nvdp__task_file(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            enum nvdp_split split, const char **name);
/* Finds DIRECTORY/FILE, where a file may have another ending of nvdp__table_ends. *out is NULL if there is no such
 * file. Fails with NVDP_ERR_INPUT if there are two. */
nvdp_status nvdp__task_find(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out);
/* Finds the file in the same way, but fails with NVDP_ERR_IO if there is none. */
nvdp_status nvdp__task_path(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            const char *directory, enum nvdp_split split, char **out);
/* Always fails with NVDP_ERR_IO, because the folder has no file NAME; the message has what was expected, and lists
 * the folder's files. */
nvdp_status nvdp__missing_file(struct nvdp_context *ctx, const char *directory, const char *name,
                               const char *expected);

/* ---- rows of fields: tables in text files (table.c) ---- */

enum { NVDP__LINE_LIMIT = 16 << 20 }; /* maximum length of a line in bytes */

/* A list of names "a, b, ...", truncated when full. The caller sets the struct to zero. */
struct nvdp__name_list {
    char text[512];
    size_t used;
    bool full;
};

/* Adds a name, using at most `max_bytes` bytes of the list. */
void nvdp__name_list_add(struct nvdp__name_list *list, size_t max_bytes, const char *name);

enum nvdp__table_format {
    NVDP__TABLE_TSV,        /* without quotes and escapes */
    NVDP__TABLE_QUOTED_TSV, /* RFC 4180 with tabs */
    NVDP__TABLE_CSV,        /* RFC 4180 */
    /* one object per line, or an array of objects; the members of the first object are the columns */
    NVDP__TABLE_JSONL,
    NVDP__TABLE_LINES /* one field per line */
};
/* Recognizes a format by the extension, before .gz or .xz: .csv, .jsonl, .ndjson and .json; any other extension is
 * TSV. */
enum nvdp__table_format nvdp__path_table_format(const char *path);
/* true if the name has one of the nvdp__table_ends */
bool nvdp__is_table(const char *path);
char nvdp__separator(enum nvdp__table_format format); /* returns the separator between fields */
static inline bool nvdp__is_quoted(enum nvdp__table_format format) {
    return format == NVDP__TABLE_CSV || format == NVDP__TABLE_QUOTED_TSV;
}
/* The endings, in the order in which they are tried, then NULL. GLUE's files have one of the first NVDP__GLUE_ENDS
 * endings. */
extern const char *const nvdp__table_ends[];
enum { NVDP__GLUE_ENDS = 3 };
/* Logs the notice that quotes were found in tab-separated values. */
void nvdp__table_log_quotes(struct nvdp_context *ctx, const char *path);
/* Logs the notice that this number of texts was read, one per line. */
void nvdp__table_log_lines(struct nvdp_context *ctx, const char *path, size_t texts);
/* Logs the notices about invalid and empty texts among this number of rows. */
void nvdp__table_log_texts(struct nvdp_context *ctx, const char *path, size_t not_utf8,
                           size_t empty, size_t rows);
bool nvdp__is_in_set(char c, const char *set);
/* Returns the field without those bytes at its beginning and end that are in the set. */
struct nvdp__field nvdp__trimmed(struct nvdp__field field, const char *set);
/* Returns the first byte after a byte-order mark that is not blank; '\0' if there is none. */
char nvdp__first_byte(const char *bytes, size_t count);

/* A cursor over a file in memory; the memory must outlive the cursor. The caller sets the struct to zero, opens it,
 * and releases it. */
struct nvdp__tsv {
    struct nvdp_context *ctx;
    const char *path; /* path for messages */
    const char *at, *end;
    enum nvdp__table_format format; /* to be set after opening, unless it is TSV */
    size_t line; /* first line of the current row, from 1; 0 before the first row */
    /* number of further lines of the current row, and of empty lines after it */
    size_t more_lines;
    /* [fields] of the current row; text is NULL if there is no value (JSON) */
    struct nvdp__field *field;
    size_t fields, capacity;
    const char **names; /* [name_count] names of the members of JSON objects */
    size_t name_count;
    struct nvdp__field object; /* bytes of the current JSON object */
    /* true if the objects are in an array; true if the end of the array was read */
    bool array, closed;
    /* true if empty lines are rows, as in a TSV file of one column; to be set after opening */
    bool blank_rows;
    bool header_is_row;     /* true if the line with the names is also the first row */
    bool quoted;            /* true if a quoted field was found */
    bool needs_quotes;      /* true if a field was found that can only be written in quotes */
    struct nvdp__pool pool; /* memory of fields that differ from the file's bytes */
};

/* Opens the cursor and skips a byte-order mark. */
void nvdp__tsv_open(struct nvdp_context *ctx, const char *path, const char *bytes, size_t count,
                    struct nvdp__tsv *tsv);
/* Returns true if there is another row; skips empty lines. */
bool nvdp__tsv_more(struct nvdp__tsv *tsv);
/* Splits the next row, without its LF or CRLF. A line over the limit, or a line that is not a row of the format, is
 * skipped, and NVDP_ERR_INPUT is returned. */
nvdp_status nvdp__tsv_next(struct nvdp__tsv *tsv);
void nvdp__tsv_release(struct nvdp__tsv *tsv);
/* Returns true if the next JSON object is in an array, so that its end is not the end of a line. */
bool nvdp__tsv_in_array(const struct nvdp__tsv *tsv);
/* Returns true if a tab-separated file uses quotes: read with quotes, every row is valid and as wide as the header,
 * and quotes surround the names or a field that needs quotes. */
bool nvdp__tsv_is_quoted(const char *bytes, size_t count);

/* ---- tables in files of any size, read in parts (table.c) ---- */

/* A table that is read in parts. The caller sets the struct to zero, opens it, and closes it. */
struct nvdp__table_chunks {
    struct nvdp_context *ctx;
    /* the current row; its fields are valid until nvdp__table_chunks_read() */
    struct nvdp__tsv tsv;
    /* bytes of the row in the file, without LF or CRLF; for JSON, bytes of the object */
    struct nvdp__field row;
    uint64_t read;             /* number of bytes so far */
    bool quiet;                /* true to record no errors of rows */
    struct nvdp__input *input; /* NULL if the bytes are in memory, which the caller owns */
    char *bytes;
    size_t capacity;
    bool ended;              /* true if the whole file was read */
    struct nvdp__pool names; /* names of the members of JSON objects */
};
/* Determines the format: GLUE's format is fixed, the format of a user's file depends on its name. Logs the use of
 * quotes. */
nvdp_status nvdp__table_chunks_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                                      const char *path, enum nvdp__table_format *format);
nvdp_status nvdp__table_chunks_open(struct nvdp_context *ctx, const char *path,
                                    enum nvdp__table_format format,
                                    struct nvdp__table_chunks *chunks);
/* Reads a file in memory as the only part; the fields stay valid. The format must be set after this call unless it
 * is TSV. */
void nvdp__table_chunks_of_bytes(struct nvdp_context *ctx, const char *path, const char *bytes,
                                 size_t count, struct nvdp__table_chunks *chunks);
/* Continues with a file of which only the beginning was read; takes over the file. */
void nvdp__table_chunks_adopt(struct nvdp__lines *lines, enum nvdp__table_format format,
                              struct nvdp__table_chunks *chunks);
/* Reads the next part and forgets the previous rows. *more is false at the end of the file. */
nvdp_status nvdp__table_chunks_read(struct nvdp__table_chunks *chunks, bool *more);
/* Returns the next row of the part; *row is false at the end of the part. */
nvdp_status nvdp__table_chunks_next(struct nvdp__table_chunks *chunks, bool *row);
/* Returns the next row of the file: reads further parts if no row is left; *row is false at the end of the file. */
nvdp_status nvdp__table_chunks_find(struct nvdp__table_chunks *chunks, bool *row);
void nvdp__table_chunks_close(struct nvdp__table_chunks *chunks);

/* Finds a column by its exact name in the header; *column is `fields` if the column is missing. Fails with
 * NVDP_ERR_INPUT for a duplicate name. */
nvdp_status nvdp__tsv_column(const struct nvdp__tsv *tsv, const char *name, size_t *column);
/* Always fails with NVDP_ERR_INPUT: "PATH:LINE: missing column 'NAME': found columns 'a', 'b'", with a guess of the
 * file's real format. */
nvdp_status nvdp__tsv_missing(const struct nvdp__tsv *tsv, const char *name);

/* Always fails with NVDP_ERR_INPUT, because the current JSON row has no value in that column. */
nvdp_status nvdp__tsv_no_value(const struct nvdp__tsv *tsv, size_t column);

/* CoLA's train and dev files have no header, but the columns source, label, the author's star, sentence. Returns
 * true if the current line is such a row. */
enum { NVDP__COLA_COLUMNS = 4, NVDP__COLA_LABEL = 1, NVDP__COLA_SENTENCE = 3 };
bool nvdp__tsv_bare_cola(const struct nvdp__tsv *tsv, const struct nvdp__layout *layout);

bool nvdp__field_is(struct nvdp__field field, const char *text);
/* Compares by bytes, which is the order of code points in UTF-8; for qsort and bsearch. */
int nvdp__by_field(const void *left, const void *right);
/* Reads the whole field as a finite decimal number, regardless of the locale. */
bool nvdp__field_number(struct nvdp__field field, double *number);

/* ---- names: labels, and the ids of rows ---- */

/* Copies names into one block of memory, which the caller frees with free(); `stride` is the number of bytes between
 * fields. */
nvdp_status nvdp__names_copy(struct nvdp_context *ctx, size_t count,
                             const struct nvdp__field *first, size_t stride, const char ***out);
/* Copies name[rows[i]] in the same way; name[i] if `rows` is NULL. */
nvdp_status nvdp__names_select(struct nvdp_context *ctx, size_t count, const char *const *name,
                               const size_t *rows, const char ***out);

/* ---- rows ---- */

struct nvdp__text_row {
    struct nvdp__field text, pair, id, label_text;
    int64_t index; /* number of rows before this row in the file, including bad rows */
    float label;
};

/* Rows of a file. The caller sets the struct to zero, reads it, and releases it. Fields point into the file's bytes
 * or the pool. */
struct nvdp__rows {
    struct nvdp_task task;
    const char **labels;         /* owned: task.labels, unless these are static */
    bool labeled, has_id, lines; /* `lines` is true for one text per line */
    bool answered;               /* true if label_text is set, and nothing else of the label */
    struct nvdp__text_row *row;
    size_t count, capacity;
    size_t skipped;  /* number of bad rows, if allowed, and of MNLI's rows without a gold label */
    size_t not_utf8; /* number of rows with invalid UTF-8 */
    size_t odd;      /* number of classes with a notice */
    struct nvdp__pool pool;
};

/* Finds the format of a file of texts by its first NVDP__LOOK_BYTES, if its name is not the name of a table: JSON
 * objects; a tab-separated table, if line 1 has a tab or is the name of the text's column; or one text per line.
 * Fails with NVDP_ERR_INPUT for an empty file, and if line 1 belongs to another kind of table or array, or if lines
 * end with CR only. */
enum { NVDP__LOOK_BYTES = 1 << 20 };
nvdp_status nvdp__texts_format(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                               const char *path, const char *bytes, size_t count,
                               enum nvdp__table_format *format);
/* Parses the bytes of a file; `path` is for messages. The labels of a user's file come from config->labels_from, or
 * from the file itself. */
nvdp_status nvdp__rows_parse(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path, const char *bytes,
                             size_t count, struct nvdp__rows *rows);
void nvdp__rows_release(struct nvdp__rows *rows);
/* Logs the notice about rows without a gold label, if there are any. */
void nvdp__rows_log_skipped(struct nvdp_context *ctx, const char *path, size_t skipped);

/* Finds the format of a file as nvdp__rows_parse() does, and logs the use of quotes. The file is regular. */
nvdp_status nvdp__rows_format(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                              enum nvdp__label_use use, const char *path,
                              enum nvdp__table_format *format);
/* Counts the rows of a file of this format. */
nvdp_status nvdp__rows_count(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                             enum nvdp__label_use use, const char *path,
                             enum nvdp__table_format format, size_t *count);
/* The rows of a file of any size, in parts; `path` must outlive this object. For NVDP__TABLE_LINES, there is one
 * text per line, and the configuration is not used. `begun` is NULL to open the file, or as in
 * nvdp__table_chunks_adopt(). */
struct nvdp__row_chunks;
nvdp_status nvdp__row_chunks_open(struct nvdp_context *ctx,
                                  const struct nvdp_dataset_config *config,
                                  enum nvdp__label_use use, const char *path,
                                  struct nvdp__lines *begun, enum nvdp__table_format format,
                                  struct nvdp__row_chunks **out);
/* Returns the next rows, valid until the next call; count is 0 at the end. If a user's file defines the classes
 * itself, labels are NaN, and (*out)->task has the classes at the end. */
nvdp_status nvdp__row_chunks_next(struct nvdp__row_chunks *of, const struct nvdp__rows **out);
void nvdp__row_chunks_close(struct nvdp__row_chunks *of); /* NULL is allowed */
NVDP__AUTOPTR(struct nvdp__row_chunks, nvdp__row_chunks_close)

/* ---- a file of texts in parts (load.c) ---- */

/* Counts of a pass over the texts of a file, for notices. */
struct nvdp__findings {
    size_t texts, tokens;      /* numbers of texts, and of tokens that are not special */
    size_t empty, unknown;     /* texts without tokens; tokens that are not in the vocabulary */
    size_t truncated, longest; /* texts that were cut; length of the longest text in tokens */
};

/* A file of texts that is read and tokenized in parts, as often as the caller wants, so that memory does not grow with
 * the file. All members are for reading. */
struct nvdp__dataset_parts {
    struct nvdp_context *ctx;
    const struct nvdp_tokenizer *tokenizer;
    struct nvdp_dataset_config config;
    enum nvdp__label_use use;
    const char *path;
    struct nvdp__public_texts *public;
    enum nvdp__table_format format;
    bool *chosen;                  /* [max_rows] rows that are chosen; NULL for all rows */
    size_t max_rows;               /* number of rows of the file; SIZE_MAX if it is not known yet */
    struct nvdp__row_chunks *rows; /* the file; NULL between two passes */
    size_t read;                   /* number of rows of this pass so far */
    struct nvdp__content content;  /* .known is set when the first pass ended */
    struct nvdp__findings findings; /* of the first pass */
};
/* Returns true for a file that can be read several times and is too large to be read as a whole. */
bool nvdp__dataset_has_parts(const struct nvdp_dataset_config *config, const char *path);
/* Opens a file whose texts are those of nvdp__dataset_load_rows(). The arguments must outlive the parts. */
nvdp_status nvdp__dataset_parts_open(struct nvdp_context *ctx,
                                     const struct nvdp_tokenizer *tokenizer,
                                     const struct nvdp_dataset_config *config,
                                     enum nvdp__label_use use, const char *path,
                                     struct nvdp__public_texts *public,
                                     struct nvdp__dataset_parts *out);
/* Frees *data, and replaces it by the next texts, or by NULL at the end of the file, from where the next call begins
 * again. The first pass compares the texts with the public texts, and logs the notices about the texts.
 * NVDP_ERR_INPUT if the texts or their ids are not those of the first pass. */
nvdp_status nvdp__dataset_parts_next(struct nvdp__dataset_parts *parts, struct nvdp_dataset **data);
/* Ends a pass before the end of the file. */
void nvdp__dataset_parts_rewind(struct nvdp__dataset_parts *parts);
void nvdp__dataset_parts_close(struct nvdp__dataset_parts *parts);

/* ---- words with tags (conll.c) ---- */

/* Files in CoNLL format, words with tags (Tjong Kim Sang & De Meulder 2003): one word per line, the word's tag in
 * the last column, an empty line after each sentence. The tags of the whole file decide if the scheme is BIO, IOB1,
 * IOBES (BMES) or BILOU; all are read as BIO. */

struct nvdp__conll_word {
    /* `tag` is the tag as in the file; its size is 0 if there is no tag */
    struct nvdp__field text, tag;
    struct nvdp__field type; /* type of the entity; size 0 outside of entities */
    char kind;               /* letter of the tag in BIO: 'B', 'I' or 'O' */
    size_t line;
};

/* Describes the tags of a file. */
struct nvdp__tag_scheme {
    size_t first[256];  /* line of the first tag with this letter; 0 if there is none */
    size_t typed, bare; /* lines of the first tag with a type and of the first tag without a type */
    size_t entities;
    size_t inner_starts; /* number of entities whose first tag cannot begin an entity */
    size_t odd_starts;   /* number of B tags where IOB1 has I */
};

/* The sentences of a file. The caller sets the struct to zero, reads it, and releases it. Fields point into the
 * file's bytes. */
struct nvdp__conll {
    char *bytes; /* owned; NULL if the caller owns the bytes */
    struct nvdp__conll_word *word;
    size_t words, word_capacity;
    size_t *start;    /* [sentences + 1] first word of each sentence */
    size_t *document; /* [sentences] index of the document; all 0 if there is no -DOCSTART- */
    size_t sentences, start_capacity, document_capacity;
    bool tagged; /* true if the last column of lines is a tag */
    struct nvdp__tag_scheme scheme;
};

/* Reads the sentences. Columns are separated by tabs; in a line without tabs, by spaces. All lines have the same
 * number of columns. A line whose first column is -DOCSTART- begins a document. Fails with NVDP_ERR_INPUT for
 * another number of columns, a tag of no scheme, tags of two schemes, or a file without words; the message has the
 * line. An I after another type or after no entity begins an entity, as in conlleval. */
nvdp_status nvdp__conll_read(struct nvdp_context *ctx, const char *path, const char *bytes,
                             size_t count, struct nvdp__conll *out);
/* Reads the sentences of a file in the same way. */
nvdp_status nvdp__conll_open(struct nvdp_context *ctx, const char *path, struct nvdp__conll *out);
/* Writes the words of a sentence into *text, each followed by a space. *text and *capacity are initially zero; the
 * caller frees *text with free(). */
nvdp_status nvdp__conll_sentence(struct nvdp_context *ctx, const struct nvdp__conll *conll,
                                 size_t sentence, char **text, size_t *capacity, size_t *size);
/* Returns true for a name that ends in .conll, or for a regular file whose first lines that are not empty have two
 * columns: a word and a tag O, B-TYPE or I-TYPE. */
bool nvdp__conll_recognize(struct nvdp_context *ctx, const char *path);
/* The next step, for messages, if such a file is found where texts are expected. */
#define NVDP__CONLL_HINT "write each sentence in one line, without tags"
void nvdp__conll_release(struct nvdp__conll *conll);

/* Finds the file of a split in a folder: train, dev (or devel, valid) or test, with extension .tsv, .txt or .conll;
 * the caller frees the path with free(). Fails with NVDP_ERR_IO if there is none; the message has all candidates. */
nvdp_status nvdp__conll_file(struct nvdp_context *ctx, const char *directory, enum nvdp_split split,
                             char **path);

/* Reads and tokenizes a file: one sentence per text, with the tag on the first piece of each word. The part of a
 * sentence that exceeds config->max_length becomes another text, so that no word is lost. Types that
 * config->labels_from lacks get classes beyond task.classes, which no model predicts. The `index` of a text is the
 * number of words before it in the file. */
nvdp_status nvdp__conll_dataset(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                                const struct nvdp_dataset_config *config, const char *path,
                                struct nvdp_dataset **out);

#endif
