/* Writes releases as Parquet (parquet-format 2.x, the subset that all readers support): one table with a row per
 * vector, in row groups of a few MB.  Each column has one data page of version 1, in encoding PLAIN, not compressed.
 * Metadata are in Thrift's compact protocol.
 *
 * The order of this file: Thrift, columns, values, pages, footer, the row for the table of formats. */
#include "share/parquet.h"
#include "base/array.h"

#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>

static const char magic[] = {'P', 'A', 'R', '1'};

/* --- Thrift's compact protocol --- */

static void put(struct nvdp__thrift_bytes *to, size_t count, const void *bytes) {
    if (to->status == NVDP_OK)
        to->status = nvdp__reserve(to->ctx, &to->at, &to->capacity, to->count + count, 1);
    if (to->status != NVDP_OK) return;
    memcpy(to->at + to->count, bytes, count);
    to->count += count;
}

static void put_byte(struct nvdp__thrift_bytes *to, int byte) {
    const unsigned char one = (unsigned char)byte;
    put(to, 1, &one);
}

static void put_varint(struct nvdp__thrift_bytes *to, uint64_t value) {
    while (value > 0x7f) {
        put_byte(to, (int)(0x80 | (value & 0x7f)));
        value >>= 7;
    }
    put_byte(to, (int)value);
}

static void put_field(struct nvdp__thrift_bytes *to, int field, int type) {
    put_byte(to, (field - to->field) << 4 | type); /* field numbers rise by less than 16 */
    to->field = field;
}

static void put_zigzag(struct nvdp__thrift_bytes *to, int64_t value) {
    put_varint(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_int(struct nvdp__thrift_bytes *to, int field, int type, int64_t value) {
    put_field(to, field, type);
    put_zigzag(to, value);
}

/* Writes fields whose values are whole numbers. */
struct int_field {
    int field, type;
    int64_t value;
};
static void put_ints(struct nvdp__thrift_bytes *to, size_t count, const struct int_field *of) {
    for (size_t i = 0; i < count; i++)
        put_int(to, of[i].field, of[i].type, of[i].value);
}
#define PUT_INTS(to, ...)                                                                          \
    put_ints(to, sizeof((struct int_field[]){__VA_ARGS__}) / sizeof(struct int_field),             \
             (const struct int_field[]){__VA_ARGS__})

static void put_text(struct nvdp__thrift_bytes *to, const char *text) {
    put_varint(to, strlen(text));
    put(to, strlen(text), text);
}

static void put_text_field(struct nvdp__thrift_bytes *to, int field, const char *text) {
    put_field(to, field, NVDP__T_BINARY);
    put_text(to, text);
}

static void put_list(struct nvdp__thrift_bytes *to, int field, int type, size_t count) {
    put_field(to, field, NVDP__T_LIST);
    put_byte(to, (int)(count < 15 ? count : 15) << 4 | type);
    if (count >= 15) put_varint(to, count);
}

/* Begins a nested struct.  Returns the last field of the outer struct, for end_struct(). */
static int begin_struct(struct nvdp__thrift_bytes *to) {
    const int outer = to->field;
    to->field = 0;
    return outer;
}

static void end_struct(struct nvdp__thrift_bytes *to, int outer) {
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

static nvdp_status write(struct nvdp__release *release, size_t count, const void *bytes) {
    struct nvdp__parquet *table = release->of;
    NVDP_TRY(nvdp__release_put(release, table->written, count, bytes));
    table->written += count;
    return NVDP_OK;
}

static nvdp_status open_table(struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp_context *ctx = release->ctx;
    struct nvdp__parquet *table = release->of;
    table->head.ctx = table->body.ctx = ctx;
    for (enum nvdp__of of = NVDP__OF_TEXT; of < NVDP__OFS; of++)
        if (of >= NVDP__OF_ID ? release->column[of - NVDP__OF_ID] != NULL
                              : of != NVDP__OF_PI || shape->weights)
            table->column[table->columns++] = of;
    table->group_rows = shape->dim < GROUP_VALUES ? GROUP_VALUES / shape->dim : 1;
    if (table->group_rows > shape->rows && shape->rows > 0) table->group_rows = shape->rows;
    table->groups = (shape->rows + table->group_rows - 1) / table->group_rows;
    NVDP_TRY(NVDP__ARRAYS(ctx, &table->memory,
                          NVDP__ITEMS(table->chunk, table->groups * table->columns),
                          NVDP__ITEMS(table->sample, table->group_rows),
                          {&table->z, table->group_rows * shape->dim, sizeof(float)},
                          {&table->log_pi, table->group_rows, sizeof(float)}));
    return write(release, sizeof magic, magic);
}

/* --- values of the columns --- */

/* Writes a per-text column, or the text, sample or row index of every row. */
static void put_place(struct nvdp__release *release, struct nvdp__parquet *table,
                      enum nvdp__of of) {
    const size_t samples = release->shape.samples, size = nvdp__parquet_columns[of].size;
    const char *values = of >= NVDP__OF_ID ? release->column[of - NVDP__OF_ID] : NULL;
    for (size_t r = 0; r < table->rows; r++) {
        const int64_t k = table->sample[r], text = k / (int64_t)samples,
                      sample = k % (int64_t)samples;
        const int64_t row = (int64_t)(table->first + r) - release->offset[k];
        const int64_t value = of == NVDP__OF_TEXT ? text : of == NVDP__OF_SAMPLE ? sample : row;
        /* little-endian: the first bytes are the narrower number */
        put(&table->body, size,
            values != NULL ? values + (size_t)text * size : (const char *)&value);
    }
}

static void put_weights(struct nvdp__release *release, struct nvdp__parquet *table) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const bool f16 = shape->grid == NVDP__H5_F16;
    for (size_t r = 0; r < table->rows; r++) {
        const double stored =
            f16 ? ((const float *)table->log_pi)[r] : ((const int32_t *)table->log_pi)[r];
        const double log_pi = f16 ? stored : ldexp(stored, shape->log_pi_exponent);
        const double pi = (double)expl(log_pi); /* the same on every processor */
        put(&table->body, sizeof pi, &pi);
        if (!(pi > 0 && nvdp__parquet_log_pi(shape, pi) == stored)) release->lossy = true;
    }
}

/* Writes a run of equal one-bit levels.  Repetition levels mark the value that begins a list; definition levels mark
 * that every value exists. */
static void put_run(struct nvdp__thrift_bytes *to, size_t count, int level) {
    if (count == 0) return;
    put_varint(to, (uint64_t)count << 1);
    put_byte(to, level);
}

static void put_levels(struct nvdp__thrift_bytes *to, size_t rows, size_t dim, bool starts) {
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

static void put_vectors(struct nvdp__release *release, struct nvdp__parquet *table) {
    enum { BUFFER = 1024 };
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t n = table->rows * shape->dim;
    const double step = ldexp(1, shape->z_exponent);
    float buffer[BUFFER];
    put_levels(&table->body, table->rows, shape->dim, true);
    put_levels(&table->body, table->rows, shape->dim, false);
    if (shape->grid == NVDP__H5_F16) {
        put(&table->body, n * sizeof(float), table->z);
        return;
    }
    for (size_t first = 0; first < n; first += BUFFER) {
        const size_t count = nvdp__min(n - first, BUFFER);
        const int32_t *steps = (const int32_t *)table->z + first;
        for (size_t i = 0; i < count; i++) {
            const double value = steps[i] * step; /* exact */
            buffer[i] = (float)value;
            if (buffer[i] != value) release->lossy = true;
        }
        put(&table->body, count * sizeof(float), buffer);
    }
}

/* --- pages: one per column chunk --- */

static nvdp_status write_page(struct nvdp__release *release, struct nvdp__parquet *table,
                              struct chunk *chunk) {
    struct nvdp__thrift_bytes *head = &table->head;
    const int64_t size = (int64_t)table->body.count;
    NVDP_TRY(table->body.status);
    head->count = 0;
    PUT_INTS(head, {1, NVDP__T_I32, DATA_PAGE}, {2, NVDP__T_I32, size}, {3, NVDP__T_I32, size});
    put_field(head, 5, NVDP__T_STRUCT);
    const int outer = begin_struct(head);
    /* the last two: the encoding of definition levels, then of repetition levels */
    PUT_INTS(head, {1, NVDP__T_I32, (int64_t)chunk->values}, {2, NVDP__T_I32, PLAIN},
             {3, NVDP__T_I32, RLE}, {4, NVDP__T_I32, RLE});
    end_struct(head, outer);
    end_struct(head, 0);
    NVDP_TRY(head->status);
    chunk->offset = table->written;
    chunk->bytes = head->count + table->body.count;
    NVDP_TRY(write(release, head->count, head->at));
    return write(release, table->body.count, table->body.at);
}

/* Writes the buffered rows as one row group. */
static nvdp_status write_group(struct nvdp__release *release) {
    struct nvdp__parquet *table = release->of;
    for (size_t r = 0; r < table->rows; r++) {
        while ((int64_t)(table->first + r) >= release->offset[table->next + 1]) {
            ++table->next;
        }
        table->sample[r] = table->next;
    }
    for (size_t c = 0; c < table->columns; c++) {
        const enum nvdp__of of = table->column[c];
        struct chunk *chunk = &table->chunk[table->group * table->columns + c];
        table->body.count = 0;
        chunk->values = table->rows * (of == NVDP__OF_Z ? release->shape.dim : 1);
        if (of == NVDP__OF_Z)
            put_vectors(release, table);
        else if (of == NVDP__OF_PI)
            put_weights(release, table);
        else
            put_place(release, table, of);
        NVDP_TRY(write_page(release, table, chunk));
    }
    table->group++;
    table->first += table->rows;
    table->rows = 0;
    return NVDP_OK;
}

static nvdp_status append(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi) {
    struct nvdp__parquet *table = release->of;
    const size_t vector = release->shape.dim * sizeof(float); /* float or int32_t */
    (void)first;
    for (size_t done = 0; done < rows;) {
        const size_t n = nvdp__min(rows - done, table->group_rows - table->rows);
        memcpy((char *)table->z + table->rows * vector, (const char *)z + done * vector,
               n * vector);
        if (release->shape.weights)
            memcpy((float *)table->log_pi + table->rows, (const float *)log_pi + done,
                   n * sizeof(float));
        table->rows += n;
        done += n;
        if (table->rows == table->group_rows) NVDP_TRY(write_group(release));
    }
    return NVDP_OK;
}

/* --- the footer --- */

/* Writes an element of the schema.  A list is a group of a repeated group of its elements. */
static void put_element(struct nvdp__thrift_bytes *to, const char *name, int type, int repetition,
                        int children, bool list) {
    const int outer = begin_struct(to);
    if (type > 0) put_int(to, 1, NVDP__T_I32, type);
    if (repetition >= 0) put_int(to, 3, NVDP__T_I32, repetition);
    put_text_field(to, 4, name);
    if (children > 0) put_int(to, 5, NVDP__T_I32, children);
    if (list) put_int(to, 6, NVDP__T_I32, LIST);
    end_struct(to, outer);
}

static void put_schema(struct nvdp__thrift_bytes *to, const struct nvdp__parquet *table) {
    put_list(to, 2, NVDP__T_STRUCT, table->columns + 3);
    put_element(to, "schema", 0, -1, (int)table->columns, false);
    for (size_t c = 0; c < table->columns; c++) {
        const enum nvdp__of of = table->column[c];
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

static void put_chunk(struct nvdp__thrift_bytes *to, enum nvdp__of of, const struct chunk *chunk) {
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
    const int64_t values = (int64_t)chunk->values, bytes = (int64_t)chunk->bytes;
    PUT_INTS(to, {4, NVDP__T_I32, UNCOMPRESSED}, {5, NVDP__T_I64, values}, {6, NVDP__T_I64, bytes},
             {7, NVDP__T_I64, bytes}, {9, NVDP__T_I64, (int64_t)chunk->offset});
    end_struct(to, inner);
    end_struct(to, outer);
}

static nvdp_status write_footer(struct nvdp__release *release) {
    struct nvdp__parquet *table = release->of;
    const struct nvdp__attributes *list = &release->attributes;
    struct nvdp__thrift_bytes *footer = &table->head;
    footer->count = 0;
    put_int(footer, 1, NVDP__T_I32, 1); /* version */
    put_schema(footer, table);
    put_int(footer, 3, NVDP__T_I64, (int64_t)release->shape.rows);
    put_list(footer, 4, NVDP__T_STRUCT, table->groups);
    for (size_t group = 0; group < table->groups; group++) {
        const struct chunk *chunk = &table->chunk[group * table->columns];
        const int outer = begin_struct(footer);
        int64_t bytes = 0;
        put_list(footer, 1, NVDP__T_STRUCT, table->columns);
        for (size_t c = 0; c < table->columns; c++) {
            put_chunk(footer, table->column[c], &chunk[c]);
            bytes += (int64_t)chunk[c].bytes;
        }
        /* the bytes, and the number of rows: of a column with one value per row */
        PUT_INTS(footer, {2, NVDP__T_I64, bytes}, {3, NVDP__T_I64, (int64_t)chunk[0].values});
        end_struct(footer, outer);
    }
    put_list(footer, 5, NVDP__T_STRUCT, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const int outer = begin_struct(footer);
        put_text_field(footer, 1, list->item[i].name);
        put_text_field(footer, 2, list->item[i].text);
        end_struct(footer, outer);
    }
    put_text_field(footer, 6, "nvdp version " NVDP_VERSION);
    end_struct(footer, 0);
    const uint32_t size = (uint32_t)footer->count;
    put(footer, sizeof size, &size);
    put(footer, sizeof magic, magic);
    NVDP_TRY(footer->status);
    return nvdp__release_put(release, table->written, footer->count, footer->at);
}

static nvdp_status finish(struct nvdp__release *release) {
    struct nvdp__parquet *table = release->of;
    nvdp__attributes_sort(&release->attributes);
    if (!table->ended && table->rows > 0) NVDP_TRY(write_group(release));
    table->ended = true;
    return write_footer(release);
}

/* --- the row for the table of formats --- */

static bool is_parquet(const char *path, const unsigned char *first, size_t count) {
    (void)path;
    return count >= NVDP__FORMAT_HEAD && memcmp(first, magic, sizeof magic) == 0;
}

static void close_file(struct nvdp__release *release) {
    struct nvdp__parquet *of = release->of;
    nvdp__memory_release(&of->memory);
    free(of->body.at);
    free(of->head.at);
    free(of->bytes);
    free(of->page);
}

static nvdp_status example(struct nvdp__output *to, const struct nvdp__embeddings_shape *shape,
                           const char *name) {
    return nvdp__output_printf(to,
                               "```python\nimport pandas as pd\ntable = "
                               "pd.read_parquet(%s)  # a row per vector: text, "
                               "sample, row, z%s\n```\n",
                               name, shape->weights ? ", pi" : "");
}

extern const struct nvdp__format nvdp__format_parquet; /* used in release.c */
const struct nvdp__format nvdp__format_parquet = {.name = "Parquet",
                                                  .extension = ".parquet",
                                                  .state = sizeof(struct nvdp__parquet),
                                                  .detect = is_parquet,
                                                  .covers = NVDP__SIGNED_VALUES,
                                                  .canonical = true,
                                                  .table = true,
                                                  .open = open_table,
                                                  .append = append,
                                                  .finish = finish,
                                                  .read = nvdp__parquet_read,
                                                  .rows = nvdp__parquet_rows,
                                                  .close = close_file,
                                                  .example = example};
