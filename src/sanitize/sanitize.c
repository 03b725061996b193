/* Implements nvdp sanitize: privatizes texts token by token, in a task's files, which keep their layout, or in the
 * lines of a text.
 *
 * A file is read in chunks of some thousand rows, which are tokenized, drawn and written to a temporary file. The
 * files get their final names when all files are complete. */
#include "sanitize/sanitize.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "options/result.h"
#include "text/task.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SPLITS = NVDP__SANITIZE_SPLITS, CHUNK_ROWS = 4096 };

struct options {
    struct nvdp__sanitize_source source;
    const char *out, *model;
    struct nvdp__sanitizer_options sanitizer;
    uint64_t seed, insecure_seed;
    bool overwrite;
    size_t measure_tokens, draws;
    bool insecure, seeded; /* true if the options insecure-seed and seed were given */
};

/* --- options --- */

#define SOURCE(member) NVDP_OPTION_AT(struct nvdp__sanitize_source, member)
#define AT(member) NVDP_OPTION_AT(struct options, member)

const struct nvdp_option nvdp__sanitize_source_rows[] = {
    {"task", NVDP_OPTION_TEXT, "TASK",
     "sst2, mrpc, stsb, rte, qqp, qnli, cola, mnli, or tsv (your own files)", NULL, SOURCE(task),
     .traits = NVDP_TRAIT_BASIC},
    {"data", NVDP_OPTION_TEXT, "DIR", "folder of the task, with the original texts", NULL,
     SOURCE(data), .traits = NVDP_TRAIT_BASIC},
    NVDP__TEXT_COLUMN_ROW(SOURCE(columns.text_column)),
    NVDP__TEXT_PAIR_COLUMN_ROW(SOURCE(columns.text_pair_column)),
    {"text", NVDP_OPTION_TEXT, "FILE",
     "file in place of a task: one text per line (-: standard input), or a .tsv, .csv or .json "
     "table",
     NULL, SOURCE(text), .traits = NVDP_TRAIT_BASIC},
    {"input", NVDP_OPTION_TEXT, "FILE", "another name of --text",
     .sets = (const char *const[]){"text", NULL}, .traits = NVDP_TRAIT_HIDDEN},
    {0},
};

static const struct nvdp_option output_rows[] = {
    NVDP__LABEL_COLUMN_ROW(AT(source.columns.label_column)),
    {"out", NVDP_OPTION_TEXT, "DIR",
     "output: a folder with all splits of the task, or a file with --text (else standard output) "
     "and with laplace",
     NULL, AT(out), .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_NO_EFFECT},
    NVDP__OVERWRITE_ROW(AT(overwrite)),
    {0},
};

static const struct nvdp_option mechanism_rows[] = {
    NVDP__MECHANISM_ROW(AT(sanitizer.mechanism), .group = "Text privatization:"),
    NVDP__WORDS_MODEL_ROW(AT(model)),
    {0},
};

static const struct nvdp_option noise_rows[] = {
    NVDP__INSECURE_SEED_ROW(AT(insecure_seed), .group = "Randomness and measurement:"),
    {"seed", NVDP_OPTION_SEED, "N", "seed of the draws of --analyse", "1", AT(seed)},
    {"measure-tokens", NVDP_OPTION_INTEGER, "N",
     "number of tokens, drawn by their frequency in the texts, whose N_w and S_w are measured",
     "100", AT(measure_tokens), .max = 1 << 20},
    {"draws", NVDP_OPTION_INTEGER, "N", "draws per token", "200", AT(draws), .min = 1,
     .max = 1 << 24},
    {0},
};

struct nvdp_dataset_config nvdp__sanitize_table(const struct nvdp__sanitize_source *source) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    config.task = NVDP_TASK_TSV;
    nvdp__set_columns(&config, &source->columns);
    if (config.text_column == NULL) config.text_column = "text";
    return config;
}

nvdp_status nvdp__sanitize_source_check(struct nvdp_context *ctx,
                                        const struct nvdp__sanitize_source *source) {
    if ((source->task == NULL) == (source->text == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{task} or {text}: expected exactly one of these options, found %s",
                          source->task == NULL ? "neither" : "both");
    if (source->task != NULL && source->data == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{data}: expected the folder with the task's files, found none");
    return NVDP_OK;
}

static nvdp_status check(struct nvdp_context *ctx, const void *values) {
    const struct options *options = values;
    const enum nvdp__token_mechanism mechanism = options->sanitizer.mechanism;
    if (mechanism == NVDP__TOKENS_AS_THEY_ARE)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{mechanism}: expected laplace-nearest, santext, santext-plus or random, found "
            "none");
    const struct nvdp__token_row *row = nvdp__token_row((int)mechanism);
    if (row->gives_vectors && options->out == NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{mechanism}: %s outputs vectors, not words; give a file for them ({out}), or use %s",
            nvdp__token_mechanism_names[mechanism], nvdp__dchi_name(row->nearest));
    if ((options->model == NULL) == (options->sanitizer.vectors == NULL))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{model} or {vectors}: expected exactly one of these options, found %s",
                          options->model == NULL ? "neither" : "both");
    NVDP_TRY(nvdp__sanitize_source_check(ctx, &options->source));
    if (options->source.task != NULL && options->out == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{out}: expected a folder for the task's files, found none");
    return nvdp__sanitizer_check(ctx, &options->sanitizer);
}

static const struct nvdp__section sections[] = {
    {.row = nvdp__sanitize_source_rows,
     .offset = offsetof(struct options, source),
     .group = "Texts:"},
    {.row = output_rows},
    {.row = mechanism_rows},
    {.row = nvdp__sanitizer_table_rows, .offset = offsetof(struct options, sanitizer)},
    {.row = nvdp__sanitizer_rows, .offset = offsetof(struct options, sanitizer)},
    {.row = noise_rows},
};
static const struct nvdp__schema schema = {.kind = "sanitize",
                                           .size = sizeof(struct options),
                                           .section = sections,
                                           .sections = sizeof sections / sizeof *sections,
                                           .check = check};

const struct nvdp__kind nvdp__kind_sanitize = {"sanitize", {&schema}};

/* --- state --- */

/* One file: a split of the task, or lines. */
struct part {
    char *path;       /* path to read */
    const char *name; /* name of the file of a split; NULL for lines */
    char *made_name;  /* owned: name of the output, if the output has a name */
    enum nvdp__table_format format;
    size_t columns; /* number of columns in the header */
    size_t text[2]; /* indices of the columns with texts */
    size_t texts;   /* texts per row: 1 or 2 */
    /* [columns] true if the column is derived from a text column and is therefore emptied */
    bool *made;
    json_t *names[3]; /* names of the columns that are privatized, emptied and kept */
    size_t not_utf8, empty;
    struct nvdp__output output;
};

struct sanitize {
    struct nvdp_context *ctx;
    const struct nvdp__sanitize_source *source;
    const struct options *options;          /* NULL if the texts are only counted */
    struct nvdp_sanitizer *sanitizer, *own; /* `own` is the sanitizer if this struct owns it */
    struct nvdp__layout layout;
    struct part part[SPLITS];
    size_t parts;
    nvdp_write_fn write; /* receives the lines if there is no option `out` */
    void *user;
    const uint64_t *noise; /* seed of the draws; NULL for the randomness of the operating system */
    struct nvdp__sanitized done;
    struct nvdp_sanitize_result result;
    struct nvdp__meter meter;
    pthread_t digesting; /* thread that computes the digest of the vectors, if there are many */
    bool digests;
    uint64_t bytes; /* number of bytes read from the previous files */
    struct nvdp_dataset_config config;
    bool vectors;                     /* true to write vectors, as one file */
    bool folder;                      /* true to write a folder; false to write a file or lines */
    DIR *lock;                        /* lock of the folder */
    struct nvdp__table_chunks *input; /* input of the current pass over a file */
    /* rows of one chunk */
    struct chunk {
        struct nvdp__field *field; /* [rows][columns] the fields */
        struct nvdp__field *bytes; /* [rows] bytes of each row as in the file */
        size_t rows, field_capacity, bytes_capacity;
        uint64_t row; /* index of the row in the file */
    } chunk;
    struct nvdp__text_batch batch;
    char *text; /* output of the current rows */
    size_t size, text_capacity;
};

/* The purposes for which texts are read. */
enum purpose { COMPARE, COUNT, WRITE };

/* --- columns --- */

enum { PRIVATIZED, EMPTIED, KEPT };

/* Returns true for a column that repeats a text, such as MNLI's sentence1_parse: its name begins with the name of
 * the text's column. */
static bool is_derived_column(const struct nvdp__layout *layout, struct nvdp__field name,
                              const char *text) {
    const size_t size = text == NULL ? 0 : strlen(text);
    if ((layout->label != NULL && nvdp__field_is(name, layout->label)) ||
        (layout->id != NULL && nvdp__field_is(name, layout->id)))
        return false;
    return size > 0 && name.size > size && memcmp(name.text, text, size) == 0 &&
           name.text[size] == '_';
}

/* Returns the use of a column according to its name. *which is the index of the text. */
static int column_use(const struct nvdp__layout *layout, struct nvdp__field name, size_t *which) {
    const char *const texts[2] = {layout->text, layout->pair};
    for (size_t i = 0; i < 2; i++) {
        *which = i;
        if (texts[i] != NULL && nvdp__field_is(name, texts[i])) return PRIVATIZED;
    }
    return is_derived_column(layout, name, texts[0]) || is_derived_column(layout, name, texts[1])
               ? EMPTIED
               : KEPT;
}

/* Reports a column, once. A name that is not UTF-8 is reported with escapes, as in messages, but without quotes. */
static nvdp_status report_column(struct sanitize *work, struct part *part, int use,
                                 struct nvdp__field name) {
    const json_t *item;
    size_t i;
    json_array_foreach(part->names[use], i, item) {
        if (json_string_length(item) == name.size &&
            memcmp(json_string_value(item), name.text, name.size) == 0)
            return NVDP_OK;
    }
    const struct nvdp__quote quote = nvdp__quote_field(name);
    const bool utf8 = nvdp__is_utf8(name.text, name.size);
    json_t *added = utf8 ? json_stringn(name.text, name.size)
                         : json_stringn(quote.text + 1, strlen(quote.text) - 2);
    return json_array_append_new(part->names[use], added) == 0
               ? NVDP_OK
               : nvdp__fail(work->ctx, NVDP_ERR_MEMORY, "out of memory");
}

/* Reads the header from the first row of the file. *pending is set if that row has data. */
static nvdp_status read_header(struct sanitize *work, struct part *part, bool *pending) {
    const struct nvdp__layout *layout = &work->layout;
    const struct nvdp__tsv *tsv = &work->input->tsv;
    const char *const names[2] = {layout->text, layout->pair};
    const size_t texts = layout->pair != NULL ? 2 : 1;
    size_t which;
    part->columns = tsv->fields;
    part->texts = texts;
    free(part->made);
    part->made = NULL;
    NVDP_TRY(NVDP__NEW(work->ctx, part->made, part->columns));
    *pending = nvdp__tsv_bare_cola(tsv, layout);
    if (*pending) {
        part->text[0] = NVDP__COLA_SENTENCE;
        return json_object_set_new(work->done.files, part->name,
                                   json_pack("{s:[i]}", "privatized", NVDP__COLA_SENTENCE)) == 0
                   ? NVDP_OK
                   : nvdp__fail(work->ctx, NVDP_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < texts; i++) {
        NVDP_TRY(nvdp__tsv_column(tsv, names[i], &part->text[i]));
        if (part->text[i] == tsv->fields) return nvdp__tsv_missing(tsv, names[i]);
    }
    json_t *columns = json_pack("{s:[], s:[], s:[]}", "privatized", "emptied", "kept");
    if (json_object_set_new(work->done.files, part->name, columns) != 0)
        return nvdp__fail(work->ctx, NVDP_ERR_MEMORY, "out of memory");
    part->names[PRIVATIZED] = json_object_get(columns, "privatized");
    part->names[EMPTIED] = json_object_get(columns, "emptied");
    part->names[KEPT] = json_object_get(columns, "kept");
    for (size_t i = 0; i < part->columns; i++) {
        const int use = column_use(layout, tsv->field[i], &which);
        part->made[i] = use == EMPTIED;
        NVDP_TRY(report_column(work, part, use, tsv->field[i]));
    }
    return NVDP_OK;
}

/* --- output --- */

static nvdp_status put(struct sanitize *work, const char *bytes, size_t count) {
    return NVDP__PUSH_ALL(work->ctx, work->text, work->size, work->text_capacity, count, bytes);
}

/* Writes a cell. In a format with quotes, the cell is quoted if it needs quotes or if `always`. Quotes inside are
 * doubled (RFC 4180). */
static nvdp_status put_cell(struct sanitize *work, enum nvdp__table_format format,
                            struct nvdp__field cell, bool always) {
    const char separator = nvdp__separator(format);
    bool needed = always;
    for (size_t i = 0; i < cell.size && !needed; i++)
        needed = cell.text[i] == separator || strchr("\"\r\n", cell.text[i]) != NULL;
    if (!needed || !nvdp__is_quoted(format)) return put(work, cell.text, cell.size);
    NVDP_TRY(put(work, "\"", 1));
    for (size_t i = 0; i < cell.size; i++)
        NVDP_TRY(cell.text[i] == '"' ? put(work, "\"\"", 2) : put(work, &cell.text[i], 1));
    return put(work, "\"", 1);
}

/* Writes a row with new texts, or the header if `texts` is NULL. Quoted TSV is recognized by quotes around the names
 * of columns, so these names are always quoted. */
static nvdp_status put_row(struct sanitize *work, const struct part *part,
                           const struct nvdp__field *field, const struct nvdp__batch_text *texts) {
    const enum nvdp__table_format format = part->format;
    for (size_t c = 0; c < part->columns; c++) {
        const char *text = NULL;
        for (size_t t = part->texts; texts != NULL && t-- > 0;)
            if (c == part->text[t]) text = texts[t].out;
        if (texts != NULL && text == NULL && part->made[c]) text = "";
        const struct nvdp__field cell =
            text != NULL ? (struct nvdp__field){text, strlen(text)} : field[c];
        if (c > 0) NVDP_TRY(put(work, (char[]){nvdp__separator(format)}, 1));
        /* an empty line would not be read as a row */
        const bool alone = part->columns == 1 && cell.size == 0;
        NVDP_TRY(put_cell(work, format, cell,
                          alone || (texts == NULL && format == NVDP__TABLE_QUOTED_TSV)));
    }
    return NVDP_OK;
}

/* Writes the buffered output: to the part's file, or to the caller if there is no file. */
static nvdp_status emit(struct sanitize *work, struct part *part) {
    if (part->output.file != NULL) return nvdp__output_write(&part->output, work->text, work->size);
    if (work->write(work->text, work->size, work->user)) return NVDP_OK;
    return nvdp__fail(work->ctx, NVDP_ERR_IO, "standard output: cannot write");
}

static nvdp_status put_json_string(struct sanitize *work, const char *text) {
    char escape[8];
    NVDP_TRY(put(work, "\"", 1));
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool plain = c >= 0x20 && c != '"' && c != '\\';
        if (!plain) nvdp__snprintf(escape, sizeof escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
        NVDP_TRY(plain ? put(work, text, 1) : put(work, escape, strlen(escape)));
    }
    return put(work, "\"", 1);
}

/* --- JSON objects that are known to be valid: members are found in place --- */

/* Parses the value at *at, and moves *at to the end of the value and of the blanks after it. */
static nvdp_status take_value(struct sanitize *work, const char **at, const char *end,
                              json_t **out) {
    json_error_t where;
    *out = json_loadb(*at, (size_t)(end - *at),
                      JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, &where);
    if (*out == NULL) return nvdp__fail(work->ctx, NVDP_ERR_MEMORY, "out of memory");
    for (*at += where.position; *at < end && nvdp__is_in_set(**at, " \t\r\n");)
        ++*at;
    return NVDP_OK;
}

/* Writes the line with new values for the texts and for members that repeat the texts. Copies everything else byte
 * by byte. */
static nvdp_status put_object(struct sanitize *work, struct part *part, struct nvdp__field line,
                              const struct nvdp__batch_text *texts) {
    const char *at = memchr(line.text, '{', line.size), *const end = line.text + line.size;
    const char *copied = line.text;
    const size_t start = work->size;
    while (at < end && (at = memchr(at, '"', (size_t)(end - at))) != NULL) {
        nvdp__autoptr(json_decref) json_t *key = NULL, *value = NULL;
        size_t which;
        NVDP_TRY(take_value(work, &at, end, &key)); /* the key may have escapes */
        const struct nvdp__field name = {json_string_value(key), json_string_length(key)};
        const int use = column_use(&work->layout, name, &which);
        NVDP_TRY(report_column(work, part, use, name));
        for (at++; nvdp__is_in_set(*at, " \t\r\n");) /* after the colon */
            at++;
        const size_t before = (size_t)(at - copied);
        NVDP_TRY(take_value(work, &at, end, &value));
        if (use != KEPT) {
            NVDP_TRY(put(work, copied, before));
            NVDP_TRY(put_json_string(work, use == PRIVATIZED ? texts[which].out : ""));
            copied = at;
        }
    }
    NVDP_TRY(put(work, copied, (size_t)(end - copied)));
    for (size_t i = start; i < work->size; i++) /* an object in an array may have several lines */
        if (work->text[i] == '\n' || work->text[i] == '\r') work->text[i] = ' ';
    return NVDP_OK;
}

/* --- a chunk of rows --- */

/* Adds the current row to the chunk. */
static nvdp_status add_row(struct sanitize *work, struct part *part) {
    struct chunk *chunk = &work->chunk;
    const struct nvdp__tsv *tsv = &work->input->tsv;
    const struct nvdp__field bytes = work->input->row;
    if (tsv->fields != part->columns) {
        const bool quoted = part->format == NVDP__TABLE_TSV && tsv->fields > part->columns &&
                            memchr(bytes.text, '"', bytes.size) != NULL;
        return nvdp__fail(work->ctx, NVDP_ERR_INPUT, "%s:%zu: expected %zu columns, found %zu%s",
                          part->path, tsv->line, part->columns, tsv->fields,
                          quoted ? " (tabs also separate columns inside quotes)" : "");
    }
    bool utf8 = true;
    for (size_t t = 0; t < part->texts; t++) {
        const struct nvdp__field text = tsv->field[part->text[t]];
        if (text.text == NULL) return nvdp__tsv_no_value(tsv, part->text[t]);
        utf8 = utf8 && nvdp__is_utf8(text.text, text.size);
    }
    part->not_utf8 += !utf8;
    NVDP_TRY(nvdp__reserve(work->ctx, &chunk->field, &chunk->field_capacity,
                           (chunk->rows + 1) * part->columns, sizeof *chunk->field));
    memcpy(chunk->field + chunk->rows * part->columns, tsv->field,
           part->columns * sizeof *tsv->field);
    return NVDP__PUSH(work->ctx, chunk->bytes, chunk->rows, chunk->bytes_capacity, bytes);
}

static void copy_example(struct nvdp__field from, char to[NVDP_SANITIZE_EXAMPLE_SIZE]) {
    size_t size =
        from.size < NVDP_SANITIZE_EXAMPLE_SIZE ? from.size : NVDP_SANITIZE_EXAMPLE_SIZE - 1;
    while (size > 0 && size < from.size && ((unsigned char)from.text[size] & 0xC0) == 0x80)
        size--; /* moves out of the middle of a character */
    memcpy(to, from.text, size);
    to[size] = '\0';
}

static void count_batch(struct sanitize *work, struct part *part) {
    const struct nvdp__text_batch *batch = &work->batch;
    const unsigned char *sensitive = work->sanitizer->sensitive;
    struct nvdp__sanitized *done = &work->done;
    part->empty += nvdp__sanitized_count(done, batch, part->texts);
    for (size_t i = 0; i < batch->texts; i++) {
        const struct nvdp__batch_text *item = &batch->item[i];
        if (work->result.examples == NVDP_SANITIZE_EXAMPLES || item->list.count == 0) continue;
        copy_example(item->text, work->result.before[work->result.examples]);
        copy_example((struct nvdp__field){item->out, strlen(item->out)},
                     work->result.after[work->result.examples++]);
    }
    for (size_t i = 0; i < batch->offset[batch->texts]; i++) {
        const int32_t x = batch->token[i];
        done->changed += batch->drawn[i] != x;
        done->kept += x >= 0 && sensitive != NULL && !sensitive[x];
    }
}

/* Compares, counts or draws the rows of the chunk, according to the purpose of the pass. */
static nvdp_status flush(struct sanitize *work, struct part *part, enum purpose purpose) {
    struct chunk *chunk = &work->chunk;
    struct nvdp__text_batch *batch = &work->batch;
    /* Each split has separate streams, which do not depend on the presence of other splits. */
    const uint64_t split = (uint64_t)(part - work->part);
    if (chunk->rows == 0) return NVDP_OK;
    NVDP_TRY(nvdp__check_cancelled(work->ctx, "sanitize: cancelled"));
    nvdp__text_batch_clear(batch);
    for (size_t i = 0; i < chunk->rows; i++)
        for (size_t t = 0; t < part->texts; t++)
            NVDP_TRY(nvdp__text_batch_add(work->ctx, batch,
                                          chunk->field[i * part->columns + part->text[t]]));
    for (size_t i = 0; purpose == COMPARE && i < batch->texts; i++)
        NVDP_TRY(nvdp__sanitizer_compare(work->sanitizer, batch->item[i].text,
                                         (size_t)chunk->row + i / part->texts));
    if (purpose != COMPARE) NVDP_TRY(nvdp__text_batch_tokenize(work->ctx, work->sanitizer, batch));
    if (purpose == COUNT) {
        nvdp__sanitizer_count_tokens(work->sanitizer, batch->offset[batch->texts], batch->token);
    } else if (purpose == WRITE) {
        NVDP_TRY(nvdp__text_batch_draw(work->ctx, work->sanitizer, batch, work->noise,
                                       (split << 56) + chunk->row * part->texts));
        count_batch(work, part);
        work->size = 0;
        for (size_t i = 0; i < chunk->rows; i++) {
            const struct nvdp__batch_text *texts = batch->item + i * part->texts;
            NVDP_TRY(part->format == NVDP__TABLE_JSONL
                         ? put_object(work, part, chunk->bytes[i], texts)
                         : put_row(work, part, chunk->field + i * part->columns, texts));
            NVDP_TRY(put(work, "\n", 1));
        }
        NVDP_TRY(emit(work, part));
    }
    chunk->row += chunk->rows;
    chunk->rows = 0;
    nvdp__meter_update(&work->meter, work->bytes + work->input->read, (double)work->done.tokens,
                       "tokens", NAN);
    return NVDP_OK;
}

/* --- a file --- */

/* Reads the first row. This row has names, except in files of lines and in CoLA files without a header. */
static nvdp_status begin_file(struct sanitize *work, struct part *part, enum purpose purpose) {
    bool pending = true, row;
    part->not_utf8 = part->empty = 0;
    if (part->name == NULL) {
        part->columns = part->texts = 1;
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__table_chunks_find(work->input, &row));
    if (!row)
        return nvdp__fail(work->ctx, NVDP_ERR_INPUT,
                          "%s:1: expected a header line, found an empty file", part->path);
    NVDP_TRY(read_header(work, part, &pending));
    if (pending) return add_row(work, part);
    if (purpose != WRITE || part->format == NVDP__TABLE_JSONL) return NVDP_OK;
    work->size = 0;
    NVDP_TRY(put_row(work, part, work->input->tsv.field, NULL));
    NVDP_TRY(put(work, "\n", 1));
    return emit(work, part);
}

static nvdp_status pass(struct sanitize *work, struct part *part, enum purpose purpose) {
    nvdp__auto(nvdp__table_chunks_close) struct nvdp__table_chunks input = {0};
    bool more = true, row = true;
    work->input = &input;
    work->chunk.row = work->chunk.rows = 0;
    NVDP_TRY(nvdp__table_chunks_open(work->ctx, part->path, part->format, &input));
    NVDP_TRY(begin_file(work, part, purpose));
    while (more) {
        NVDP_TRY(nvdp__table_chunks_next(&input, &row));
        if (row) NVDP_TRY(add_row(work, part));
        if (!row || work->chunk.rows == CHUNK_ROWS) NVDP_TRY(flush(work, part, purpose));
        if (!row) NVDP_TRY(nvdp__table_chunks_read(&input, &more));
    }
    if (work->chunk.row == 0 && part->name != NULL)
        return nvdp__fail(work->ctx, NVDP_ERR_INPUT, "%s: expected rows, found none", part->path);
    if (purpose == WRITE && part->name != NULL) /* in the words that training uses */
        nvdp__table_log_texts(work->ctx, part->path, part->not_utf8, part->empty, work->chunk.row);
    work->bytes += input.read;
    return NVDP_OK;
}

static uint64_t file_bytes(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

static nvdp_status pass_all(struct sanitize *work, enum purpose purpose) {
    static const char *const names[] = {
        [COMPARE] = "comparing", [COUNT] = "counting", [WRITE] = "sanitizing"};
    uint64_t total = 0;
    for (size_t i = 0; i < SPLITS; i++) {
        const char *path = work->part[i].path;
        if (path == NULL) continue;
        /* the file is read again */
        if (purpose != WRITE) NVDP_TRY(nvdp__check_regular(work->ctx, path));
        total += file_bytes(path);
    }
    work->bytes = 0;
    nvdp__meter_begin(&work->meter, work->ctx, names[purpose], "bytes", 0, total);
    for (size_t i = 0; i < SPLITS; i++)
        if (work->part[i].path != NULL) NVDP_TRY(pass(work, &work->part[i], purpose));
    nvdp__meter_end(&work->meter);
    return NVDP_OK;
}

/* --- input and output files --- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

/* Gives the output the name of the input, without .gz or .xz; an array of objects becomes JSON lines. */
static nvdp_status name_output(struct sanitize *work, struct part *part) {
    NVDP_TRY(NVDP__MADE(part->made_name = nvdp__strdup(work->ctx, base_name(part->path))));
    char *end = strrchr(part->made_name, '.');
    if (strcmp(end, ".gz") == 0 || strcmp(end, ".xz") == 0) *end = '\0';
    if (!nvdp__ends_with(part->made_name, ".json")) {
        part->name = part->made_name;
        return NVDP_OK;
    }
    char *lines = nvdp__format(work->ctx, "%sl", part->made_name);
    free(part->made_name);
    part->name = part->made_name = lines;
    return NVDP__MADE(lines);
}

/* Finds the existing splits. */
static nvdp_status find_splits(struct sanitize *work) {
    const struct nvdp__sanitize_source *source = work->source;
    struct nvdp_context *ctx = work->ctx;
    work->config = nvdp__dataset_config_default();
    NVDP_TRY(nvdp_task_find(ctx, source->task, &work->config.task));
    nvdp__set_columns(&work->config, &source->columns);
    NVDP_TRY(nvdp__task_resolve(ctx, &work->config, &work->layout));
    NVDP_TRY(nvdp__task_of_texts(ctx, &work->layout));
    for (int s = 0; s < SPLITS; s++) {
        struct part *part = &work->part[s];
        if (nvdp__task_file(NULL, &work->layout, (enum nvdp_split)s, &part->name) != NVDP_OK)
            continue;
        NVDP_TRY(
            nvdp__task_find(ctx, &work->layout, source->data, (enum nvdp_split)s, &part->path));
        if (part->path == NULL) continue;
        work->parts++;
        NVDP_TRY(nvdp__table_chunks_format(ctx, &work->layout, part->path, &part->format));
        NVDP_TRY(name_output(work, part));
    }
    if (work->parts > 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_IO,
                      "%s: expected one of the files train.tsv, %s and %s, found none",
                      source->data, work->layout.dev, work->layout.test);
}

/* Finds the files of the task, or the file of lines or of a table. */
static nvdp_status find_sources(struct sanitize *work) {
    struct part *part = &work->part[0];
    if (work->source->task != NULL) return find_splits(work);
    part->format = NVDP__TABLE_LINES;
    NVDP_TRY(NVDP__MADE(part->path = nvdp__strdup(work->ctx, work->source->text)));
    if (!nvdp__is_table(part->path)) return NVDP_OK;
    if (work->vectors)
        return nvdp__fail(
            work->ctx, NVDP_ERR_ARGUMENT,
            "%s: expected one text per line, or {task} and {data}, for vectors; found "
            "a table",
            part->path);
    part->name = base_name(part->path);
    work->config = nvdp__sanitize_table(work->source);
    NVDP_TRY(nvdp__task_resolve(work->ctx, &work->config, &work->layout));
    return nvdp__table_chunks_format(work->ctx, &work->layout, part->path, &part->format);
}

static nvdp_status open_outputs(struct sanitize *work) {
    const char *folder = work->options->out;
    if (work->source->text != NULL && folder == NULL) return NVDP_OK;
    if (work->source->text != NULL) {
        const size_t longest = NAME_MAX - strlen(".statement.txt");
        const size_t length = strlen(nvdp__file_name(folder));
        if (length > longest)
            return nvdp__fail(
                work->ctx, NVDP_ERR_ARGUMENT,
                "{out}: expected a name of at most %zu bytes, because FILE.privacy.json "
                "and FILE.statement.txt stand beside it, found %zu",
                longest, length);
        return nvdp__output_open(work->ctx, folder, &work->part[0].output);
    }
    NVDP_TRY(nvdp__outdir_lock(work->ctx, folder,
                               &work->lock)); /* removes the draws of an interrupted call */
    NVDP_TRY(nvdp__outdir_check(work->ctx, folder, work->options->overwrite, "{overwrite}"));
    for (size_t i = 0; i < SPLITS; i++) {
        if (work->part[i].path == NULL) continue;
        const struct nvdp__path path = nvdp__path(folder, work->part[i].name);
        NVDP_TRY(nvdp__output_open(work->ctx, path.text, &work->part[i].output));
    }
    return NVDP_OK;
}

/* Returns DIR/name, or FILE.name. */
static struct nvdp__path statement_path(const struct sanitize *work, const char *name) {
    return work->folder ? nvdp__path(work->options->out, name)
                        : nvdp__path_format("%s.%s", work->options->out, name);
}

/* Removes files with the name of the split that will not be replaced, because they have other texts. */
static nvdp_status remove_older(const struct sanitize *work, const struct part *part) {
    const int stem = (int)(strrchr(part->name, '.') - part->name);
    for (size_t i = 0; nvdp__table_ends[i] != NULL; i++) {
        char name[64];
        const char *const one = name;
        nvdp__snprintf(name, sizeof name, "%.*s%s", stem, part->name, nvdp__table_ends[i]);
        if (part->output.file == NULL || strcmp(name, part->name) != 0)
            NVDP_TRY(nvdp__outdir_remove(work->ctx, work->options->out, &one, 1));
        if (work->layout.task.id != NVDP_TASK_TSV && i + 1 == NVDP__GLUE_ENDS) break;
    }
    return NVDP_OK;
}

/* Commits the texts, then the statements, once everything is on disk. */
static nvdp_status publish(struct sanitize *work) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output privacy = {0}, statement = {0};
    static const char *const names[] = {"privacy.json", "statement.txt", "measured.json",
                                        "measured-*.json"};
    const bool has_statement = work->options->out != NULL;
    for (size_t i = 0; i < SPLITS; i++)
        if (work->part[i].output.file != NULL) NVDP_TRY(nvdp__output_flush(&work->part[i].output));
    if (has_statement) { /* writes the statements to temporary files on the disk */
        nvdp__autoptr(json_decref) json_t *object =
            nvdp__sanitized_json(&work->done, work->result.statement);
        if (object == NULL) return nvdp__fail(work->ctx, NVDP_ERR_MEMORY, "out of memory");
        NVDP_TRY(nvdp__output_open(work->ctx, statement_path(work, names[0]).text, &privacy));
        NVDP_TRY(nvdp__json_put(&privacy, object));
        NVDP_TRY(nvdp__output_flush(&privacy));
        NVDP_TRY(nvdp__output_open(work->ctx, statement_path(work, names[1]).text, &statement));
        NVDP_TRY(nvdp__output_printf(&statement, "%s\n", work->result.statement));
        NVDP_TRY(nvdp__output_flush(&statement));
    }
    /* statements and measurements of earlier texts are removed before new texts appear, so that no failure leaves
     * false statements */
    if (work->folder) NVDP_TRY(nvdp__outdir_remove(work->ctx, work->options->out, names, 4));
    for (size_t i = 0; i < 2 && has_statement && !work->folder; i++)
        NVDP_TRY(nvdp__remove(work->ctx, statement_path(work, names[i]).text));
    for (size_t i = 0; i < SPLITS; i++) {
        struct part *part = &work->part[i];
        if (work->folder && part->name != NULL) NVDP_TRY(remove_older(work, part));
        if (part->output.file != NULL) NVDP_TRY(nvdp__output_commit(&part->output, true));
    }
    if (has_statement) NVDP_TRY(nvdp__output_commit(&privacy, true));
    return has_statement ? nvdp__output_commit(&statement, true) : NVDP_OK;
}

/* Fails if the vocabulary consists of the words of another task: the task must be the task of the texts. */
static nvdp_status check_own_words(struct nvdp_context *ctx, const struct nvdp_sanitizer *sanitizer,
                                   const char *task) {
    enum nvdp_task_id given;
    if (!sanitizer->own_words ||
        (task != NULL && nvdp_task_find(NULL, task, &given) == NVDP_OK && given == sanitizer->task))
        return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "{vocabulary-from}: expected the task of the texts, %s, or a file (./NAME if "
                      "its name is that of a task), found another task",
                      task != NULL ? task : "but these texts belong to none");
}

static nvdp_status begin(struct sanitize *work) {
    const struct options *options = work->options;
    struct nvdp_context *ctx = work->ctx;
    struct nvdp__sanitized *done = &work->done;
    if (options->seeded)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{seed}: expected none, because texts are drawn from the operating "
                          "system's generator; for tests and experiments use {insecure-seed}");
    work->noise = options->insecure ? &options->insecure_seed : NULL;
    if (options->insecure) nvdp__warn_insecure_seed(ctx);
    work->vectors = nvdp__token_row((int)options->sanitizer.mechanism)->gives_vectors;
    work->folder = options->source.task != NULL && !work->vectors;
    if (work->folder) {
        NVDP_TRY(nvdp__outdir_check(ctx, options->out, options->overwrite, "{overwrite}"));
        NVDP_TRY(nvdp__refuse_same(ctx, "out", options->out, options->source.data));
    }
    NVDP_TRY(find_sources(work));
    if (!work->folder && options->out != NULL) {
        if (nvdp__is_directory(options->out) ||
            (!options->overwrite && file_bytes(options->out) > 0))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: the file exists; use {overwrite}",
                              options->out);
        NVDP_TRY(nvdp__refuse_same(ctx, "out", options->out,
                                   options->source.text != NULL ? options->source.text
                                                                : options->source.data));
        NVDP_TRY(nvdp__check_parent_folder(ctx, options->out));
    }
    NVDP_TRY(nvdp__sanitizer_create(ctx, &options->sanitizer, options->model, &work->own));
    work->sanitizer = work->own;
    NVDP_TRY(check_own_words(ctx, work->sanitizer, options->source.task));
    const char *from = options->sanitizer.vocabulary_from;
    *done = (struct nvdp__sanitized){
        .from = from != NULL ? base_name(from) : NULL,
        .sanitizer = work->sanitizer,
        .source = base_name(options->model != NULL ? options->model : options->sanitizer.vectors),
        .chosen = options->sanitizer.sensitive_from_data      ? "sensitive-from-data"
                  : options->sanitizer.sensitive_list != NULL ? "sensitive-list"
                                                              : "sensitive-from",
        .public = options->sanitizer.public_independent ? "declared"
                  : options->sanitizer.sensitive_from != NULL ||
                          (from != NULL && !work->sanitizer->own_words)
                      ? "compared"
                      : NULL,
        .sensitive_from = options->sanitizer.sensitive_from != NULL
                              ? base_name(options->sanitizer.sensitive_from)
                              : NULL,
        .rare = options->sanitizer.sensitive_list != NULL ? NAN : options->sanitizer.sensitive,
        .generator = options->insecure ? "insecure-seed" : "os",
        .measured = options->measure_tokens,
        .draws = options->draws,
        .seed = options->seed,
        .files = json_object(),
    };
    if (done->files == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    return NVDP__NEW(ctx, done->seen, nvdp_vectors_count(nvdp_sanitizer_vectors(work->sanitizer)));
}

static const struct nvdp_result_kind sanitize_kind = {
    .name = "sanitize",
    .rows = &nvdp__result_sanitize,
    .memory = NVDP__OFFSETS(offsetof(struct nvdp_sanitize_result, geometry),
                            offsetof(struct nvdp_sanitize_result, sanitizer))};

static nvdp_status give(struct sanitize *work, struct nvdp_sanitize_result *out) {
    const struct nvdp__sanitized *done = &work->done;
    const uint64_t words = nvdp__sanitized_words(done);
    struct nvdp_sanitize_result *result = &work->result;
    result->texts = done->texts;
    result->tokens = done->tokens;
    result->changed = work->vectors ? NAN : nvdp__share(done->changed, done->tokens);
    result->oov = nvdp__share(done->unknown, words);
    result->n_w = done->same;
    result->s_w = done->distinct;
    result->draws = done->draws;
    result->measured = done->sampled;
    result->struct_size = sizeof *result;
    result->kind = &sanitize_kind;
    NVDP_TRY(NVDP__ARRAYS(work->ctx, NULL, NVDP__ITEMS(result->sanitizer, 1),
                          NVDP__ITEMS(result->geometry, 1)));
    *result->sanitizer = done->info;
    *result->geometry = done->geometry;
    result->epsilon = nvdp__sanitized_epsilon(done);
    result->oov_epsilon = nvdp__sanitized_oov_epsilon(done);
    result->row_epsilon = nvdp__sanitized_row_epsilon(done);
    result->insecure_seed = work->noise != NULL;
    nvdp_result_free(out);
    NVDP__GIVE(out, result);
    result->sanitizer = NULL;
    result->geometry = NULL;
    return NVDP_OK;
}

static void *digest(void *user) {
    struct sanitize *work = user;
    nvdp__sanitizer_table_digest(work->sanitizer, work->done.table);
    return NULL;
}

static void end_digest(struct sanitize *work) {
    if (work->digests) pthread_join(work->digesting, NULL);
    work->digests = false;
}

/* Chooses the sensitive words, and describes the sanitizer. Counts the tokens first if the choice depends on the
 * counts. Fails, before anything is written, if a private text is among the public texts. */
static nvdp_status choose(struct sanitize *work) {
    if (nvdp_sanitizer_dchi(work->sanitizer) == NULL) NVDP_TRY(pass_all(work, COUNT));
    NVDP_TRY(nvdp__sanitizer_choose(work->ctx, work->sanitizer));
    const struct nvdp__public_texts *public = work->sanitizer->public;
    /* true if there are public texts that the owner does not declare to be chosen independently */
    const bool compared =
        public[NVDP__OF_VOCABULARY].keys.count + public[NVDP__OF_SENSITIVE].keys.count > 0;
    const char *text = work->source->text;
    if (compared && text != NULL && nvdp__check_regular(NULL, text) != NVDP_OK)
        return nvdp__fail(work->ctx, NVDP_ERR_ARGUMENT,
                          "{text}: %s: expected a file that can be read twice, because its texts "
                          "are compared with the public ones before anything is written; or "
                          "declare the public ones with {public-independent}",
                          text);
    if (compared) NVDP_TRY(pass_all(work, COMPARE));
    if (compared) NVDP_TRY(nvdp__sanitizer_check_public(work->sanitizer));
    work->done.info = (struct nvdp_sanitizer_info)NVDP_RESULT(struct nvdp_sanitizer_info);
    /* a digest takes seconds per gigabyte in one thread, so other work continues meanwhile */
    const struct nvdp_vectors *vectors = work->sanitizer->vectors;
    work->digests = nvdp_context_threads(work->ctx) > 1 &&
                    vectors->count > NVDP__FEW_NUMBERS / vectors->dim &&
                    pthread_create(&work->digesting, NULL, digest, work) == 0;
    if (!work->digests) digest(work);
    nvdp__sanitizer_sensitive_digest(work->sanitizer, work->done.sensitive);
    NVDP_TRY(nvdp_sanitizer_describe(work->sanitizer, &work->done.info));
    work->done.own_choice = work->options->sanitizer.sensitive_from_data;
    return NVDP_OK;
}

/* Privatizes the texts token by token; with a mechanism of vectors, writes the vectors of tokens. */
static nvdp_status privatize(struct sanitize *work) {
    if (!work->vectors) {
        NVDP_TRY(open_outputs(work));
        NVDP_TRY(pass_all(work, WRITE));
        NVDP_TRY(nvdp__sanitized_measure(work->ctx, &work->done));
        nvdp__sanitized_statement(&work->done, sizeof work->result.statement,
                                  work->result.statement);
        return NVDP_OK;
    }
    struct nvdp__represent represent = {.sanitizer = work->sanitizer,
                                        .lines = work->source->text != NULL,
                                        .config = work->config,
                                        .out = work->options->out,
                                        .noise = work->noise};
    for (size_t s = 0; s < SPLITS; s++)
        represent.path[s] = work->part[s].path;
    return nvdp__represent(work->ctx, &represent, &work->done, sizeof work->result.statement,
                           work->result.statement);
}

static void release(struct sanitize *work) {
    end_digest(work);
    nvdp_result_free(&work->result);
    for (size_t i = 0; i < SPLITS; i++) {
        nvdp__output_abort(&work->part[i].output);
        free(work->part[i].path);
        free(work->part[i].made_name);
        free(work->part[i].made);
    }
    nvdp__outdir_unlock(work->lock);
    nvdp__text_batch_release(&work->batch);
    json_decref(work->done.files);
    free(work->done.seen);
    free(work->chunk.field);
    free(work->chunk.bytes);
    free(work->text);
    nvdp_sanitizer_free(work->own);
}

nvdp_status nvdp__sanitize_count(struct nvdp_context *ctx,
                                 const struct nvdp__sanitize_source *source,
                                 struct nvdp_sanitizer *sanitizer) {
    nvdp__auto(release) struct sanitize work = {
        .ctx = ctx, .source = source, .sanitizer = sanitizer, .done = {.files = json_object()}};
    if (work.done.files == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    NVDP_TRY(check_own_words(ctx, sanitizer, source->task));
    NVDP_TRY(find_sources(&work));
    return pass_all(&work, COUNT);
}

nvdp_status nvdp_sanitize(struct nvdp_context *ctx, const struct nvdp_config *config,
                          nvdp_write_fn write, void *user, struct nvdp_sanitize_result *out) {
    struct options options;
    nvdp__auto(release) struct sanitize work = {
        .ctx = ctx, .source = &options.source, .options = &options, .write = write, .user = user};
    NVDP_TRY(nvdp__config_open(ctx, config, &schema, &options));
    options.insecure = nvdp_config_is_set(config, "insecure-seed");
    options.seeded = nvdp_config_is_set(config, "seed");
    if (out != NULL) NVDP_TRY(nvdp__can_give(ctx, out));
    if (options.out == NULL && write == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{out}: expected a file or folder, found none");
    NVDP_TRY(begin(&work));
    NVDP_TRY(choose(&work));
    NVDP_TRY(privatize(&work));
    const struct nvdp__sanitized *done = &work.done;
    const uint64_t words = nvdp__sanitized_words(done);
    if (2 * done->unknown > words)
        nvdp__log(ctx, NVDP_LOG_WARNING,
                  "%.3g%% of the words have no vector and are %s, so the output says little about "
                  "the texts; use vectors for the language and spelling of these texts",
                  100 * (double)done->unknown / (double)words,
                  done->info.drops ? "left out" : "drawn uniformly");
    end_digest(&work);
    NVDP_TRY(publish(&work));
    return out != NULL ? give(&work, out) : NVDP_OK;
}
