/* Writes files of kind representations/1 for nvdp sanitize: the word vector of every token with noise, from which a
 * provider trains (docs/formats.md).
 *
 *     phi(x) + N,  density of N ~ exp(-eta |N|)                           Qu et al. 2021, Eq. 3
 *
 * The vectors are drawn in double and rounded to a grid that depends only on the table and eta: the possible values and
 * their spacing must not depend on the token (Mironov 2012). The grid is {-2048 ... 2048} h, where h is the smallest
 * power of two for which the grid reaches
 *
 *     max |phi_k|  +  8 sqrt(d + 1) / eta,        sqrt(d + 1) / eta: sd of a coordinate of N.
 *
 * Every point of the grid is a float16. */
#include "sanitize/sanitize.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "hdf5/hdf5.h"
#include "text/task.h"

#include <inttypes.h>
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { GRID_STEPS = 2048, CHUNK_TEXTS = 4096, CHUNK_VALUES = 1 << 22, VERSION = 1 };

/* ---- the grid ---- */

static double grid_step(const struct nvdp_vectors *vectors, double eta) {
    const size_t count = nvdp_vectors_count(vectors), dim = nvdp_vectors_dim(vectors);
    double largest = 0, scratch[NVDP__ROW_WIDEST];
    for (size_t x = 0; x < count; x++) {
        const double *row = nvdp__row(vectors, x, scratch);
        for (size_t k = 0; k < dim; k++)
            largest = fmax(largest, fabs(row[k]));
    }
    const double step = exp2(ceil(log2((largest + 8 * sqrt((double)dim + 1) / eta) / GRID_STEPS)));
    /* the smallest step of float16; and the grid must end below 65504 */
    return fmin(fmax(step, 0x1p-24), 16);
}

static void to_grid(size_t n, const double *x, double step, float *out) {
    for (size_t i = 0; i < n; i++)
        out[i] = (float)(step * fmin(fmax(rint(x[i] / step), -GRID_STEPS), GRID_STEPS));
}

/* ---- writing ---- */

/* The state of writing. The files are read twice, in chunks: first to count, then to draw. */
struct writer {
    struct nvdp_context *ctx;
    const struct nvdp__represent *of;
    struct nvdp__sanitized *done;
    struct nvdp_dataset_config config;
    enum nvdp__table_format format[NVDP__SANITIZE_SPLITS];
    struct nvdp__row_chunks *classes; /* the file that defines the classes */
    struct nvdp__row_chunks *file_rows;
    struct nvdp__text_batch batch;
    size_t columns, rows; /* texts per row; number of rows of all files */
    bool labeled;
    size_t empty; /* number of rows of the current file without a word */
    /* position in the second pass */
    size_t row, token;
    double step;
    /* values of CHUNK_TEXTS rows */
    int64_t *offset, *id;
    int32_t *split;
    float *label;
    double *points;
    float *values;
    size_t point_capacity, value_capacity;
    struct nvdp__h5 *file;
    struct nvdp__meter meter;
    struct nvdp__memory memory;
};

static void release(struct writer *writer) {
    nvdp__h5_free(writer->file);
    nvdp__row_chunks_close(writer->classes);
    nvdp__row_chunks_close(writer->file_rows);
    nvdp__text_batch_release(&writer->batch);
    nvdp__memory_release(&writer->memory);
    free(writer->points);
    free(writer->values);
}

/* Draws as many texts at a time as fit into CHUNK_VALUES. */
static nvdp_status draw_batch(struct writer *writer, uint64_t number) {
    const struct nvdp__text_batch *batch = &writer->batch;
    const size_t dim = writer->done->info.dim;
    for (size_t first = 0, next; first < batch->texts; first = next) {
        const size_t start = batch->offset[first];
        for (next = first + 1; next < batch->texts; next++)
            if ((batch->offset[next + 1] - start) * dim > CHUNK_VALUES) break;
        const size_t tokens = batch->offset[next] - start, n = tokens * dim;
        size_t *offset = batch->offset + first;
        NVDP_TRY(nvdp__reserve(writer->ctx, &writer->points, &writer->point_capacity, n,
                               sizeof *writer->points));
        NVDP_TRY(nvdp__reserve(writer->ctx, &writer->values, &writer->value_capacity, n,
                               sizeof *writer->values));
        /* the call needs offsets of these texts that begin at 0 */
        for (size_t i = first; i <= next; i++)
            batch->offset[i] -= start;
        nvdp_status status = nvdp_dchi_perturb(
            writer->ctx, nvdp_sanitizer_dchi(writer->of->sanitizer), next - first, offset,
            batch->token + start, writer->of->noise, number + first, writer->points);
        for (size_t i = first; i <= next; i++)
            batch->offset[i] += start;
        NVDP_TRY(status);
        to_grid(n, writer->points, writer->step, writer->values);
        if (tokens > 0)
            NVDP_TRY(nvdp__h5_write_rows(writer->file, "z", NVDP__H5_F16, writer->token + start,
                                         tokens, writer->values));
    }
    return NVDP_OK;
}

/* Writes the columns that have a value per row: offset, id, split and label. */
static nvdp_status write_columns(struct writer *writer, int32_t split,
                                 const struct nvdp__text_row *row, size_t n) {
    const size_t texts = n * writer->columns;
    for (size_t i = 0; i <= texts; i++)
        writer->offset[i] = (int64_t)(writer->token + writer->batch.offset[i]);
    for (size_t i = 0; i < n; i++) {
        writer->id[i] = row[i].index;
        writer->split[i] = split;
        writer->label[i] = row[i].label;
    }
    NVDP_TRY(nvdp__h5_write_rows(writer->file, "offset", NVDP__H5_I64,
                                 writer->row * writer->columns, texts + 1, writer->offset));
    NVDP_TRY(nvdp__h5_write_rows(writer->file, "id", NVDP__H5_I64, writer->row, n, writer->id));
    if (!writer->of->lines)
        NVDP_TRY(nvdp__h5_write_rows(writer->file, "split", NVDP__H5_I32, writer->row, n,
                                     writer->split));
    return writer->labeled ? nvdp__h5_write_rows(writer->file, "label", NVDP__H5_F32, writer->row,
                                                 n, writer->label)
                           : NVDP_OK;
}

static nvdp_status changed(const struct writer *writer) {
    return nvdp__fail(writer->ctx, NVDP_ERR_INPUT,
                      "the input files changed while they were read twice: expected the same %zu "
                      "rows again, found other rows",
                      writer->rows);
}

/* Counts or draws some rows of a split. `first` is the index of the first text in its file. */
static nvdp_status take(struct writer *writer, size_t s, const struct nvdp__text_row *row, size_t n,
                        uint64_t first, bool draw) {
    struct nvdp__sanitized *done = writer->done;
    struct nvdp__text_batch *batch = &writer->batch;
    NVDP_TRY(nvdp__check_cancelled(writer->ctx, "sanitize: cancelled"));
    nvdp__text_batch_clear(batch);
    for (size_t i = 0; i < n * writer->columns; i++) {
        const struct nvdp__text_row *of = &row[i / writer->columns];
        NVDP_TRY(nvdp__text_batch_add(writer->ctx, batch,
                                      i % writer->columns == 0 ? of->text : of->pair));
    }
    NVDP_TRY(nvdp__text_batch_tokenize(writer->ctx, writer->of->sanitizer, batch));
    if (draw) {
        const size_t tokens = batch->offset[batch->texts];
        if (writer->row + n > writer->rows || writer->token + tokens > done->tokens)
            return changed(writer);
        NVDP_TRY(write_columns(writer, (int32_t)s, row, n));
        NVDP_TRY(draw_batch(writer, ((uint64_t)s << 56) + first));
        writer->row += n;
        writer->token += tokens;
    } else {
        writer->empty += nvdp__sanitized_count(done, batch, writer->columns);
        writer->rows += n;
        for (size_t i = 0; i < n; i++)
            writer->labeled = writer->labeled || row[i].label_text.size > 0;
    }
    nvdp__meter_update(&writer->meter, draw ? writer->row : writer->rows, (double)done->tokens,
                       "tokens", NAN);
    return NVDP_OK;
}

static nvdp_status read_split(struct writer *writer, size_t s, bool draw) {
    const struct nvdp__represent *of = writer->of;
    const enum nvdp_task_id task = of->config.task;
    const enum nvdp__label_use use =
        task == NVDP_TASK_TSV ? NVDP__LABELS_FOUND : nvdp__label_use(task, (enum nvdp_split)s);
    const struct nvdp__rows *rows = NULL;
    uint64_t texts = 0;
    writer->empty = 0;
    NVDP_TRY(nvdp__row_chunks_open(writer->ctx, &writer->config, use, of->path[s], NULL,
                                   writer->format[s], &writer->file_rows));
    do {
        NVDP_TRY(nvdp__row_chunks_next(writer->file_rows, &rows));
        writer->columns = rows->task.pair ? 2 : 1;
        for (size_t first = 0; first < rows->count; first += CHUNK_TEXTS) {
            const size_t left = rows->count - first, n = nvdp__min(left, CHUNK_TEXTS);
            NVDP_TRY(take(writer, s, rows->row + first, n, texts, draw));
            texts += n * writer->columns;
        }
    } while (rows->count > 0);
    if (!draw && !of->lines) {
        nvdp__rows_log_skipped(writer->ctx, of->path[s], rows->skipped);
        nvdp__table_log_texts(writer->ctx, of->path[s], rows->not_utf8, writer->empty,
                              texts / writer->columns);
    }
    if (writer->classes == NULL && rows->labels != NULL) {
        writer->classes = writer->file_rows;
        writer->config.labels_from = &rows->task;
    } else {
        nvdp__row_chunks_close(writer->file_rows);
    }
    writer->file_rows = NULL;
    return NVDP_OK;
}

static nvdp_status pass(struct writer *writer, bool draw) {
    nvdp__meter_begin(&writer->meter, writer->ctx, draw ? "sanitizing" : "counting", "rows", 0,
                      writer->rows);
    for (size_t s = 0; s < NVDP__SANITIZE_SPLITS; s++)
        if (writer->of->path[s] != NULL) NVDP_TRY(read_split(writer, s, draw));
    nvdp__meter_end(&writer->meter);
    return !draw || (writer->row == writer->rows && writer->token == writer->done->tokens)
               ? NVDP_OK
               : changed(writer);
}

/* Creates the file with its attributes and with datasets without values. */
static nvdp_status create_file(struct writer *writer, const char *statement) {
    const size_t offsets = writer->rows * writer->columns + 1;
    const struct nvdp__sanitized *done = writer->done;
    const struct nvdp__layout *layout = nvdp__task_layout(writer->of->config.task);
    char created[32];
    NVDP_TRY(nvdp__creation_date(writer->ctx, created));
    NVDP_TRY(nvdp__h5_create(writer->ctx, writer->of->out, "representations/1", &writer->file));
    struct nvdp__h5 *file = writer->file;
    const struct {
        const char *name, *text;
    } texts[] = {{"task", writer->of->lines ? "none" : layout->task.name},
                 {"mechanism", nvdp__dchi_name(done->info.mechanism)},
                 {"vocabulary", done->source},
                 {"tokens", done->info.pieces ? "pieces" : "words"},
                 {"oov", done->info.drops ? "drop" : "uniform"},
                 {"length_policy", "public"},
                 {"generator", done->generator},
                 {"nvdp_version", nvdp_version()},
                 {"created", created},
                 {"statement", statement}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        NVDP_TRY(nvdp__h5_set_string(file, texts[i].name, texts[i].text));
    NVDP_TRY(nvdp__h5_set_int(file, "columns", (int64_t)writer->columns));
    NVDP_TRY(nvdp__h5_set_real(file, "eta", done->info.eta));
    NVDP_TRY(nvdp__h5_set_real(file, "grid_step", writer->step));
    NVDP_TRY(nvdp__h5_dataset(file, "offset", NVDP__H5_I64, 1, &offsets));
    NVDP_TRY(nvdp__h5_dataset(file, "id", NVDP__H5_I64, 1, &writer->rows));
    if (!writer->of->lines)
        NVDP_TRY(nvdp__h5_dataset(file, "split", NVDP__H5_I32, 1, &writer->rows));
    if (writer->labeled) NVDP_TRY(nvdp__h5_dataset(file, "label", NVDP__H5_F32, 1, &writer->rows));
    return nvdp__h5_dataset(file, "z", NVDP__H5_F16, 2, (size_t[]){done->tokens, done->info.dim});
}

nvdp_status nvdp__represent(struct nvdp_context *ctx, const struct nvdp__represent *of,
                            struct nvdp__sanitized *done, size_t size, char *statement) {
    nvdp__auto(release) struct writer writer = {
        .ctx = ctx, .of = of, .done = done, .config = of->config, .columns = 1};
    NVDP_TRY(NVDP__ARRAYS(ctx, &writer.memory, NVDP__ITEMS(writer.offset, 2 * CHUNK_TEXTS + 1),
                          NVDP__ITEMS(writer.id, CHUNK_TEXTS),
                          NVDP__ITEMS(writer.split, CHUNK_TEXTS),
                          NVDP__ITEMS(writer.label, CHUNK_TEXTS)));
    for (size_t s = 0; s < NVDP__SANITIZE_SPLITS; s++) {
        if (of->path[s] == NULL) continue;
        NVDP_TRY(nvdp__check_regular(ctx, of->path[s])); /* the file is read twice */
        writer.format[s] = NVDP__TABLE_LINES;
        if (!of->lines)
            NVDP_TRY(nvdp__table_chunks_format(ctx, nvdp__task_layout(of->config.task), of->path[s],
                                               &writer.format[s]));
    }
    writer.step = grid_step(nvdp_sanitizer_vectors(of->sanitizer), done->info.eta);
    NVDP_TRY(pass(&writer, false));
    if (done->tokens == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "expected texts with tokens, found none");
    NVDP_TRY(nvdp__sanitized_measure(ctx, done));
    nvdp__sanitized_statement(done, size, statement);
    NVDP_TRY(create_file(&writer, statement));
    NVDP_TRY(pass(&writer, true));
    return nvdp__h5_commit(writer.file, true);
}
