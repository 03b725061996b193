/* Writes tables as Parquet.
 *
 * The file has, in this order, Thrift, levels, pages and the end of a file. */
#include "base/parquet.h"

#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = {'P', 'A', 'R', '1'};

/* --- Thrift's compact protocol --- */

void nvdp__parquet_put(struct nvdp__thrift_bytes *to, size_t count, const void *bytes) {
    if (to->status == NVDP_OK)
        to->status = nvdp__reserve(to->ctx, &to->at, &to->capacity, to->count + count, 1);
    if (to->status != NVDP_OK) return;
    memcpy(to->at + to->count, bytes, count);
    to->count += count;
}

static void put_byte(struct nvdp__thrift_bytes *to, int byte) {
    const unsigned char one = (unsigned char)byte;
    nvdp__parquet_put(to, 1, &one);
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
    nvdp__parquet_put(to, strlen(text), text);
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

/* Begins a nested struct. Returns the last field of the outer struct, which end_struct() needs. */
static int begin_struct(struct nvdp__thrift_bytes *to) {
    const int outer = to->field;
    to->field = 0;
    return outer;
}

static void end_struct(struct nvdp__thrift_bytes *to, int outer) {
    put_byte(to, 0);
    to->field = outer;
}

/* --- levels --- */

enum { REQUIRED, REPEATED = 2 }; /* FieldRepetitionType */
enum { PLAIN = 0, RLE = 3, LIST = 3 /* ConvertedType */, UNCOMPRESSED = 0, DATA_PAGE = 0 };

/* Writes a run of equal one-bit levels. Repetition levels mark the value that begins a list; definition levels mark
 * that every value exists. */
static void put_run(struct nvdp__thrift_bytes *to, size_t count, int level) {
    if (count == 0) return;
    put_varint(to, (uint64_t)count << 1);
    put_byte(to, level);
}

static void put_levels(struct nvdp__thrift_bytes *to, size_t rows, size_t dim, bool starts) {
    const size_t at = to->count;
    uint32_t size = 0;
    nvdp__parquet_put(to, sizeof size, &size);
    if (!starts) put_run(to, rows * dim, 1);
    for (size_t r = 0; r < rows && starts; r++) {
        put_run(to, 1, 0);
        put_run(to, dim - 1, 1);
    }
    size = (uint32_t)(to->count - at - sizeof size);
    if (to->status == NVDP_OK) memcpy(to->at + at, &size, sizeof size);
}

void nvdp__parquet_lists(struct nvdp__parquet_table *table, size_t rows, size_t width) {
    put_levels(&table->body, rows, width, true);
    put_levels(&table->body, rows, width, false);
}

/* --- pages: one per column chunk --- */

static nvdp_status write(struct nvdp__parquet_table *table, size_t count, const void *bytes) {
    NVDP_TRY(table->put(table->user, table->written, count, bytes));
    table->written += count;
    return NVDP_OK;
}

nvdp_status nvdp__parquet_begin(struct nvdp__parquet_table *table) {
    table->head.ctx = table->body.ctx = table->ctx;
    return write(table, sizeof magic, magic);
}

nvdp_status nvdp__parquet_page(struct nvdp__parquet_table *table, size_t group, size_t column,
                               size_t rows, size_t values) {
    struct nvdp__parquet_chunk *chunk = &table->chunk[group * table->columns + column];
    struct nvdp__thrift_bytes *head = &table->head;
    const int64_t size = (int64_t)table->body.count;
    NVDP_TRY(table->body.status);
    head->count = 0;
    PUT_INTS(head, {1, NVDP__T_I32, DATA_PAGE}, {2, NVDP__T_I32, size}, {3, NVDP__T_I32, size});
    put_field(head, 5, NVDP__T_STRUCT);
    const int outer = begin_struct(head);
    /* the last two numbers: the encodings of definition levels and of repetition levels */
    PUT_INTS(head, {1, NVDP__T_I32, (int64_t)values}, {2, NVDP__T_I32, PLAIN},
             {3, NVDP__T_I32, RLE}, {4, NVDP__T_I32, RLE});
    end_struct(head, outer);
    end_struct(head, 0);
    NVDP_TRY(head->status);
    *chunk = (struct nvdp__parquet_chunk){.offset = table->written,
                                          .bytes = head->count + table->body.count,
                                          .values = values,
                                          .rows = rows};
    NVDP_TRY(write(table, head->count, head->at));
    NVDP_TRY(write(table, table->body.count, table->body.at));
    table->body.count = 0;
    return NVDP_OK;
}

/* --- the end of a file --- */

/* Writes an element of the schema. A list is a group that contains a repeated group of elements. */
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

static void put_schema(struct nvdp__thrift_bytes *to, const struct nvdp__parquet_table *table) {
    size_t lists = 0;
    for (size_t c = 0; c < table->columns; c++)
        lists += table->field[c].list;
    put_list(to, 2, NVDP__T_STRUCT, table->columns + 1 + 2 * lists);
    put_element(to, "schema", 0, -1, (int)table->columns, false);
    for (const struct nvdp__parquet_field *f = table->field; f < table->field + table->columns;
         f++) {
        if (!f->list) {
            put_element(to, f->name, (int)f->type, REQUIRED, 0, false);
            continue;
        }
        put_element(to, f->name, 0, REQUIRED, 1, true);
        put_element(to, "list", 0, REPEATED, 1, false);
        put_element(to, "element", (int)f->type, REQUIRED, 0, false);
    }
}

static void put_chunk(struct nvdp__thrift_bytes *to, const struct nvdp__parquet_field *field,
                      const struct nvdp__parquet_chunk *chunk) {
    const int outer = begin_struct(to);
    put_int(to, 2, NVDP__T_I64, (int64_t)chunk->offset);
    put_field(to, 3, NVDP__T_STRUCT);
    const int inner = begin_struct(to);
    put_int(to, 1, NVDP__T_I32, field->type);
    put_list(to, 2, NVDP__T_I32, 2);
    put_zigzag(to, PLAIN);
    put_zigzag(to, RLE);
    put_list(to, 3, NVDP__T_BINARY, field->list ? 3 : 1);
    put_text(to, field->name);
    if (field->list) put_text(to, "list");
    if (field->list) put_text(to, "element");
    const int64_t values = (int64_t)chunk->values, bytes = (int64_t)chunk->bytes;
    PUT_INTS(to, {4, NVDP__T_I32, UNCOMPRESSED}, {5, NVDP__T_I64, values}, {6, NVDP__T_I64, bytes},
             {7, NVDP__T_I64, bytes}, {9, NVDP__T_I64, (int64_t)chunk->offset});
    end_struct(to, inner);
    end_struct(to, outer);
}

nvdp_status nvdp__parquet_end(struct nvdp__parquet_table *table, const char *const *metadata) {
    struct nvdp__thrift_bytes *footer = &table->head;
    size_t pairs = 0;
    while (metadata[2 * pairs] != NULL)
        pairs++;
    footer->count = 0;
    put_int(footer, 1, NVDP__T_I32, 1); /* version of the format */
    put_schema(footer, table);
    put_int(footer, 3, NVDP__T_I64, (int64_t)table->rows);
    put_list(footer, 4, NVDP__T_STRUCT, table->groups);
    for (size_t group = 0; group < table->groups; group++) {
        const struct nvdp__parquet_chunk *chunk = &table->chunk[group * table->columns];
        const int outer = begin_struct(footer);
        int64_t bytes = 0;
        put_list(footer, 1, NVDP__T_STRUCT, table->columns);
        for (size_t c = 0; c < table->columns; c++) {
            put_chunk(footer, &table->field[c], &chunk[c]);
            bytes += (int64_t)chunk[c].bytes;
        }
        PUT_INTS(footer, {2, NVDP__T_I64, bytes}, {3, NVDP__T_I64, (int64_t)chunk[0].rows});
        end_struct(footer, outer);
    }
    put_list(footer, 5, NVDP__T_STRUCT, pairs);
    for (size_t i = 0; i < pairs; i++) {
        const int outer = begin_struct(footer);
        put_text_field(footer, 1, metadata[2 * i]);
        put_text_field(footer, 2, metadata[2 * i + 1]);
        end_struct(footer, outer);
    }
    put_text_field(footer, 6, "nvdp version " NVDP_VERSION);
    end_struct(footer, 0);
    const uint32_t size = (uint32_t)footer->count;
    nvdp__parquet_put(footer, sizeof size, &size);
    nvdp__parquet_put(footer, sizeof magic, magic);
    NVDP_TRY(footer->status);
    return table->put(table->user, table->written, footer->count, footer->at);
}

void nvdp__parquet_release(struct nvdp__parquet_table *table) {
    free(table->body.at);
    free(table->head.at);
}
