/* Parquet (parquet-format 2.x, the part that everybody reads): one table, a row a vector, row groups of some MB, a data
 * page of version 1 each column, encoding PLAIN, not compressed; metadata in Thrift's compact protocol.
 *
 * The order of the file: Thrift, the columns, their pages, the footer, all of it. */
#include "share/parquet.h"
#include "share/formats.h"

#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>

static const char magic[] = {'P', 'A', 'R', '1'};

/* --- bytes, and Thrift's compact protocol in them --- */

struct bytes {
    struct nvdp_context *ctx;
    unsigned char *at;
    size_t count, capacity;
    nvdp_status status; /* what fails is told at the end */
    int field;          /* the last of the struct that is being written */
};

static void put(struct bytes *to, size_t count, const void *bytes) {
    if (to->status == NVDP_OK)
        to->status = nvdp__reserve(to->ctx, &to->at, &to->capacity, to->count + count, 1);
    if (to->status != NVDP_OK) return;
    memcpy(to->at + to->count, bytes, count);
    to->count += count;
}

static void put_byte(struct bytes *to, int byte) {
    const unsigned char one = (unsigned char)byte;
    put(to, 1, &one);
}

static void put_varint(struct bytes *to, uint64_t value) {
    while (value > 0x7f) {
        put_byte(to, (int)(0x80 | (value & 0x7f)));
        value >>= 7;
    }
    put_byte(to, (int)value);
}

static void put_field(struct bytes *to, int field, int type) {
    put_byte(to, (field - to->field) << 4 | type); /* fields rise by less than 16 */
    to->field = field;
}

static void put_zigzag(struct bytes *to, int64_t value) {
    put_varint(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_int(struct bytes *to, int field, int type, int64_t value) {
    put_field(to, field, type);
    put_zigzag(to, value);
}

static void put_text(struct bytes *to, const char *text) {
    put_varint(to, strlen(text));
    put(to, strlen(text), text);
}

static void put_list(struct bytes *to, int field, int type, size_t count) {
    put_field(to, field, NVDP__T_LIST);
    put_byte(to, (int)(count < 15 ? count : 15) << 4 | type);
    if (count >= 15) put_varint(to, count);
}

/* A struct within the present one, whose last field is given back to end_struct(). */
static int begin_struct(struct bytes *to) {
    const int outer = to->field;
    to->field = 0;
    return outer;
}

static void end_struct(struct bytes *to, int outer) {
    put_byte(to, 0);
    to->field = outer;
}

/* --- the columns --- */

enum { REQUIRED, REPEATED = 2 }; /* FieldRepetitionType */
enum { PLAIN = 0, RLE = 3, LIST = 3 /* ConvertedType */, UNCOMPRESSED = 0, DATA_PAGE = 0 };
enum { GROUP_VALUES = 1 << 21 };

const struct nvdp__parquet_column nvdp__parquet_columns[] = {
    {"text", NVDP__INT64, 8},  {"sample", NVDP__INT32, 4}, {"row", NVDP__INT32, 4},
    {"pi", NVDP__DOUBLE, 8},   {"z", NVDP__FLOAT, 4},      {"id", NVDP__INT64, 8},
    {"split", NVDP__INT32, 4}, {"label", NVDP__FLOAT, 4}};

struct chunk { /* of a column in a row group */
    uint64_t offset, bytes, values;
};

struct table {
    const struct nvdp__shared *shared;
    struct nvdp__output *to;
    uint64_t written;
    size_t columns;
    struct {
        enum nvdp__of of;
        struct nvdp__column from; /* of pi and z, of what is told of texts */
    } column[NVDP__OFS];
    size_t group_rows, groups;
    struct chunk *chunk; /* [groups][columns] */
    /* of the present group */
    size_t first, rows;
    int64_t *sample; /* [rows] of the file's samples, the one that a row is of */
    struct bytes page;
    void *values; /* [rows p] as stored */
};

static nvdp_status add_column(struct table *table, enum nvdp__of of, const char *dataset,
                              enum nvdp__h5_type type, size_t width, size_t count) {
    if (dataset != NULL && !nvdp__h5_has(table->shared->file, dataset)) return NVDP_OK;
    if (dataset != NULL)
        NVDP_RETURN_IF_FAILED(nvdp__column_open(table->shared, dataset, type, width, count,
                                                &table->column[table->columns].from));
    table->column[table->columns++].of = of;
    return NVDP_OK;
}

static nvdp_status open_table(struct table *table) {
    const struct nvdp__embeddings_shape *shape = table->shared->shape;
    struct nvdp_context *ctx = table->shared->ctx;
    const size_t vectors = nvdp__row_vectors(shape);
    NVDP_RETURN_IF_FAILED(add_column(table, NVDP__OF_TEXT, NULL, 0, 0, 0));
    NVDP_RETURN_IF_FAILED(add_column(table, NVDP__OF_SAMPLE, NULL, 0, 0, 0));
    NVDP_RETURN_IF_FAILED(add_column(table, NVDP__OF_ROW, NULL, 0, 0, 0));
    NVDP_RETURN_IF_FAILED(
        add_column(table, NVDP__OF_PI, "log_pi", nvdp__weight_type(shape), vectors, shape->rows));
    NVDP_RETURN_IF_FAILED(add_column(table, NVDP__OF_Z, "z", shape->grid, vectors * shape->dim,
                                     shape->rows * shape->dim));
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        NVDP_RETURN_IF_FAILED(add_column(table, NVDP__OF_ID + c, nvdp__text_columns[c].name,
                                         nvdp__text_columns[c].type, 1, shape->texts));
    table->group_rows = shape->dim < GROUP_VALUES ? GROUP_VALUES / shape->dim : 1;
    if (table->group_rows > shape->rows && shape->rows > 0) table->group_rows = shape->rows;
    table->groups = (shape->rows + table->group_rows - 1) / table->group_rows;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, table->chunk, table->groups * table->columns));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, table->sample, table->group_rows));
    table->values = nvdp__calloc(ctx, table->group_rows * shape->dim, sizeof(float));
    return table->values != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

static void close_table(struct table *table) {
    for (size_t c = 0; c < table->columns; c++) {
        nvdp__column_close(&table->column[c].from);
    }
    free(table->chunk);
    free(table->sample);
    free(table->values);
    free(table->page.at);
}

/* --- their values --- */

/* A column that the datasets of texts or the place of the row tell; `from` NULL: the latter. */
static nvdp_status put_place(struct table *table, enum nvdp__of of, struct nvdp__column *from) {
    const struct nvdp__shared *shared = table->shared;
    const size_t samples = shared->shape->samples;
    for (size_t r = 0; r < table->rows; r++) {
        const int64_t k = table->sample[r], text = k / (int64_t)samples;
        const int64_t sample = k % (int64_t)samples;
        const int64_t row = (int64_t)(table->first + r) - shared->offset[k];
        int64_t value = of == NVDP__OF_TEXT ? text : of == NVDP__OF_SAMPLE ? sample : row;
        if (from != NULL)
            NVDP_RETURN_IF_FAILED(nvdp__column_read(shared, from, (size_t)text, 1, &value));
        /* little-endian: the first bytes are those of a narrower number */
        put(&table->page, nvdp__parquet_columns[of].size, &value);
    }
    return NVDP_OK;
}

/* i16 log weights of steps, or float. */
static nvdp_status put_weights(struct table *table, struct nvdp__column *from) {
    const struct nvdp__embeddings_shape *shape = table->shared->shape;
    NVDP_RETURN_IF_FAILED(
        nvdp__column_read(table->shared, from, table->first, table->rows, table->values));
    for (size_t r = 0; r < table->rows; r++) {
        const double log_pi =
            shape->grid == NVDP__H5_F16
                ? ((const float *)table->values)[r]
                : ldexp(((const int16_t *)table->values)[r], shape->log_pi_exponent);
        const double pi = (double)expl(log_pi); /* the same on every processor */
        put(&table->page, sizeof pi, &pi);
    }
    return NVDP_OK;
}

/* Levels of one bit in runs: which value begins a list, and that every one is there. */
static void put_run(struct bytes *to, size_t count, int level) {
    if (count == 0) return;
    put_varint(to, (uint64_t)count << 1);
    put_byte(to, level);
}

static void put_levels(struct bytes *to, size_t rows, size_t dim, bool starts) {
    const size_t at = to->count;
    uint32_t size = 0;
    put(to, sizeof size, &size);
    if (!starts) put_run(to, rows * dim, 1);
    for (size_t r = 0; r < rows && starts; r++) {
        put_run(to, 1, 0);
        put_run(to, dim - 1, 1);
    }
    size = (uint32_t)(to->count - at - sizeof size);
    if (to->status == NVDP_OK) memcpy(to->at + at, &size, sizeof size);
}

static nvdp_status put_vectors(struct table *table, struct nvdp__column *from) {
    const struct nvdp__embeddings_shape *shape = table->shared->shape;
    const size_t n = table->rows * shape->dim;
    put_levels(&table->page, table->rows, shape->dim, true);
    put_levels(&table->page, table->rows, shape->dim, false);
    NVDP_RETURN_IF_FAILED(
        nvdp__column_read(table->shared, from, table->first * shape->dim, n, table->values));
    for (size_t i = 0; i < n; i++) {
        const float value =
            shape->grid == NVDP__H5_F16 ? ((const float *)table->values)[i]
            : shape->grid == NVDP__H5_I16
                ? ldexpf(((const int16_t *)table->values)[i], shape->z_exponent)
                : (float)ldexp(((const int32_t *)table->values)[i], shape->z_exponent);
        put(&table->page, sizeof value, &value);
    }
    return NVDP_OK;
}

/* --- a page is a column chunk --- */

static nvdp_status write(struct table *table, size_t count, const void *bytes) {
    table->written += count;
    return nvdp__output_write(table->to, bytes, count);
}

static nvdp_status write_page(struct table *table, struct chunk *chunk) {
    struct bytes head = {.ctx = table->shared->ctx};
    const int64_t size = (int64_t)table->page.count;
    NVDP_RETURN_IF_FAILED(table->page.status);
    put_int(&head, 1, NVDP__T_I32, DATA_PAGE);
    put_int(&head, 2, NVDP__T_I32, size);
    put_int(&head, 3, NVDP__T_I32, size);
    put_field(&head, 5, NVDP__T_STRUCT);
    const int outer = begin_struct(&head);
    put_int(&head, 1, NVDP__T_I32, (int64_t)chunk->values);
    put_int(&head, 2, NVDP__T_I32, PLAIN);
    put_int(&head, 3, NVDP__T_I32, RLE); /* of definition levels, of repetition levels */
    put_int(&head, 4, NVDP__T_I32, RLE);
    end_struct(&head, outer);
    end_struct(&head, 0);
    nvdp_status status = head.status;
    chunk->offset = table->written;
    chunk->bytes = head.count + table->page.count;
    if (status == NVDP_OK) status = write(table, head.count, head.at);
    if (status == NVDP_OK) status = write(table, table->page.count, table->page.at);
    free(head.at);
    return status;
}

static nvdp_status write_group(struct table *table, size_t group, int64_t *sample) {
    const struct nvdp__shared *shared = table->shared;
    table->first = group * table->group_rows;
    table->rows = shared->shape->rows - table->first;
    if (table->rows > table->group_rows) table->rows = table->group_rows;
    for (size_t r = 0; r < table->rows; r++) {
        while ((int64_t)(table->first + r) >= shared->offset[*sample + 1]) {
            ++*sample;
        }
        table->sample[r] = *sample;
    }
    for (size_t c = 0; c < table->columns; c++) {
        const enum nvdp__of of = table->column[c].of;
        struct nvdp__column *from = &table->column[c].from;
        struct chunk *chunk = &table->chunk[group * table->columns + c];
        table->page.ctx = shared->ctx;
        table->page.count = 0;
        chunk->values = table->rows * (of == NVDP__OF_Z ? shared->shape->dim : 1);
        NVDP_RETURN_IF_FAILED(of == NVDP__OF_Z ? put_vectors(table, from)
                              : of == NVDP__OF_PI
                                  ? put_weights(table, from)
                                  : put_place(table, of, from->buffer != NULL ? from : NULL));
        NVDP_RETURN_IF_FAILED(write_page(table, chunk));
    }
    return NVDP_OK;
}

/* --- the footer --- */

/* A list is a group of a repeated group of its elements. */
static void put_element(struct bytes *to, const char *name, int type, int repetition, int children,
                        bool list) {
    const int outer = begin_struct(to);
    if (type > 0) put_int(to, 1, NVDP__T_I32, type);
    if (repetition >= 0) put_int(to, 3, NVDP__T_I32, repetition);
    put_field(to, 4, NVDP__T_BINARY);
    put_text(to, name);
    if (children > 0) put_int(to, 5, NVDP__T_I32, children);
    if (list) put_int(to, 6, NVDP__T_I32, LIST);
    end_struct(to, outer);
}

static void put_schema(struct bytes *to, const struct table *table) {
    put_list(to, 2, NVDP__T_STRUCT, table->columns + 3);
    put_element(to, "schema", 0, -1, (int)table->columns, false);
    for (size_t c = 0; c < table->columns; c++) {
        const enum nvdp__of of = table->column[c].of;
        if (of != NVDP__OF_Z) {
            put_element(to, nvdp__parquet_columns[of].name, nvdp__parquet_columns[of].type,
                        REQUIRED, 0, false);
            continue;
        }
        put_element(to, nvdp__parquet_columns[of].name, 0, REQUIRED, 1, true);
        put_element(to, "list", 0, REPEATED, 1, false);
        put_element(to, "element", nvdp__parquet_columns[of].type, REQUIRED, 0, false);
    }
}

static void put_chunk(struct bytes *to, enum nvdp__of of, const struct chunk *chunk) {
    const int outer = begin_struct(to);
    put_int(to, 2, NVDP__T_I64, (int64_t)chunk->offset);
    put_field(to, 3, NVDP__T_STRUCT);
    const int inner = begin_struct(to);
    put_int(to, 1, NVDP__T_I32, nvdp__parquet_columns[of].type);
    put_list(to, 2, NVDP__T_I32, 2);
    put_zigzag(to, PLAIN);
    put_zigzag(to, RLE);
    put_list(to, 3, NVDP__T_BINARY, of == NVDP__OF_Z ? 3 : 1);
    put_text(to, nvdp__parquet_columns[of].name);
    if (of == NVDP__OF_Z) put_text(to, "list");
    if (of == NVDP__OF_Z) put_text(to, "element");
    put_int(to, 4, NVDP__T_I32, UNCOMPRESSED);
    put_int(to, 5, NVDP__T_I64, (int64_t)chunk->values);
    put_int(to, 6, NVDP__T_I64, (int64_t)chunk->bytes);
    put_int(to, 7, NVDP__T_I64, (int64_t)chunk->bytes);
    put_int(to, 9, NVDP__T_I64, (int64_t)chunk->offset);
    end_struct(to, inner);
    end_struct(to, outer);
}

static void put_group(struct bytes *to, const struct table *table, size_t group) {
    const struct chunk *chunk = &table->chunk[group * table->columns];
    const int outer = begin_struct(to);
    uint64_t bytes = 0;
    put_list(to, 1, NVDP__T_STRUCT, table->columns);
    for (size_t c = 0; c < table->columns; c++) {
        put_chunk(to, table->column[c].of, &chunk[c]);
        bytes += chunk[c].bytes;
    }
    put_int(to, 2, NVDP__T_I64, (int64_t)bytes);
    put_int(to, 3, NVDP__T_I64, (int64_t)chunk[0].values); /* of a column with one value a row */
    end_struct(to, outer);
}

static void put_words(struct bytes *to, const struct nvdp__sayings *words) {
    put_list(to, 5, NVDP__T_STRUCT, words->count / 2);
    for (size_t i = 0; i + 1 < words->count; i += 2) {
        const int outer = begin_struct(to);
        put_field(to, 1, NVDP__T_BINARY);
        put_text(to, words->text[i]);
        put_field(to, 2, NVDP__T_BINARY);
        put_text(to, words->text[i + 1]);
        end_struct(to, outer);
    }
}

static nvdp_status write_footer(struct table *table, const struct nvdp__sayings *words) {
    struct bytes footer = {.ctx = table->shared->ctx};
    put_int(&footer, 1, NVDP__T_I32, 1); /* version */
    put_schema(&footer, table);
    put_int(&footer, 3, NVDP__T_I64, (int64_t)table->shared->shape->rows);
    put_list(&footer, 4, NVDP__T_STRUCT, table->groups);
    for (size_t group = 0; group < table->groups; group++) {
        put_group(&footer, table, group);
    }
    put_words(&footer, words);
    put_field(&footer, 6, NVDP__T_BINARY);
    put_text(&footer, "nvdp version " NVDP_VERSION);
    end_struct(&footer, 0);
    const uint32_t size = (uint32_t)footer.count;
    put(&footer, sizeof size, &size);
    put(&footer, sizeof magic, magic);
    nvdp_status status = footer.status;
    if (status == NVDP_OK) status = write(table, footer.count, footer.at);
    free(footer.at);
    return status;
}

nvdp_status nvdp__parquet_put(const struct nvdp__shared *shared, const struct nvdp__sayings *words,
                              struct nvdp__output *to) {
    nvdp_status status = NVDP_OK;
    struct table table = {.shared = shared, .to = to};
    int64_t sample = 0;
    NVDP_TRY(open_table(&table));
    NVDP_TRY(write(&table, sizeof magic, magic));
    for (size_t group = 0; group < table.groups; group++) {
        NVDP_TRY(write_group(&table, group, &sample));
    }
    NVDP_TRY(write_footer(&table, words));
cleanup:
    close_table(&table);
    return status;
}
