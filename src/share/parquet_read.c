/* Reads the Parquet files that parquet.c writes, and no others.  The order: Thrift, footer, pages, values. */
#include "share/parquet.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/f16.h"

enum { MAX_DEPTH = 16 };

/* --- Thrift's compact protocol --- */

/* Bytes of Thrift's compact protocol.  `torn` records a read beyond the end. */
struct thrift {
    const unsigned char *at, *end;
    bool torn;
};

static int take_byte(struct thrift *from) {
    if (from->at < from->end) return *from->at++;
    from->torn = true;
    return 0;
}

static uint64_t take_varint(struct thrift *from) {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        const int byte = take_byte(from);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    from->torn = true;
    return 0;
}

static int64_t take_int(struct thrift *from) {
    const uint64_t value = take_varint(from);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Returns a text in place, without copying it. */
static size_t take_text(struct thrift *from, const char **text) {
    uint64_t size = take_varint(from);
    if (from->torn || size > (uint64_t)(from->end - from->at)) {
        from->torn = true;
        size = 0;
    }
    *text = (const char *)from->at;
    from->at += size;
    return size;
}

/* Returns the type of the next field, or NVDP__T_STOP after the last field or if bytes are missing. */
static int take_field(struct thrift *from, int *field) {
    const int byte = take_byte(from), step = byte >> 4, type = byte & 0xf;
    if (type == NVDP__T_STOP || from->torn) return NVDP__T_STOP;
    *field = step > 0 ? *field + step : (int)take_int(from);
    return from->torn ? NVDP__T_STOP : type;
}

/* Returns the type of the elements. */
static int take_list(struct thrift *from, size_t *count) {
    const int byte = take_byte(from);
    *count = (size_t)(byte >> 4 < 15 ? (uint64_t)(byte >> 4) : take_varint(from));
    if (*count > (size_t)(from->end - from->at)) from->torn = true;
    if (from->torn) *count = 0;
    return byte & 0xf;
}

static void skip(struct thrift *from, int type, int depth) {
    const char *text;
    size_t count;
    int field = 0;
    if (depth == 0) from->torn = true;
    if (from->torn) return;
    switch (type) {
    case NVDP__T_TRUE:
    case NVDP__T_FALSE:
        return;
    case NVDP__T_BYTE:
        (void)take_byte(from);
        return;
    case NVDP__T_BINARY:
        (void)take_text(from, &text);
        return;
    case NVDP__T_LIST:
        type = take_list(from, &count);
        while (count-- > 0 && !from->torn)
            skip(from, type, depth - 1);
        return;
    case NVDP__T_STRUCT:
        while ((type = take_field(from, &field)) != NVDP__T_STOP)
            skip(from, type, depth - 1);
        return;
    case NVDP__T_DOUBLE:
    case NVDP__T_SET:
    case NVDP__T_MAP:
        from->torn = true; /* parquet.c writes none of these */
        return;
    default:
        (void)take_int(from);
    }
}

/* --- the footer --- */

struct parquet {
    struct nvdp__parquet base;
    char *bytes;
    size_t count, rows, group_rows, groups, capacity;
    enum nvdp__of column[NVDP__OFS];
    size_t column_count;
    struct page { /* pages of a row group */
        size_t rows;
        const char *values[NVDP__OFS]; /* NULL: the file lacks the column */
    } * page;
};

static nvdp_status torn(struct nvdp__release *release, const char *where) {
    return NVDP__BAD_FILE(
        release, "expected a Parquet file that nvdp export wrote, found a damaged %s", where);
}

static void take_column(struct parquet *file, const char *name, size_t size) {
    for (int of = NVDP__OF_TEXT; of < NVDP__OFS && file->column_count < NVDP__OFS; of++)
        if (strlen(nvdp__parquet_columns[of].name) == size &&
            memcmp(nvdp__parquet_columns[of].name, name, size) == 0)
            file->column[file->column_count++] = (enum nvdp__of)of;
}

static nvdp_status take_metadata(struct nvdp__release *release, struct thrift *from, size_t count) {
    for (; count > 0; count--) {
        const char *text[3] = {NULL};
        size_t size[3] = {0};
        int type, field = 0;
        while ((type = take_field(from, &field)) != NVDP__T_STOP) {
            if (type == NVDP__T_BINARY && (field == 1 || field == 2))
                size[field] = take_text(from, &text[field]);
            else
                skip(from, type, MAX_DEPTH);
        }
        if (from->torn || text[1] == NULL || text[2] == NULL) return torn(release, "footer");
        char *name = nvdp__format(release->ctx, "%.*s", (int)size[1], text[1]);
        char *value = nvdp__format(release->ctx, "%.*s", (int)size[2], text[2]);
        nvdp_status status = name != NULL && value != NULL
                                 ? nvdp__attributes_parse(&release->attributes, name, value)
                                 : NVDP_ERR_MEMORY;
        free(name);
        free(value);
        NVDP_TRY(status);
    }
    return NVDP_OK;
}

static nvdp_status read_footer(struct nvdp__release *release, struct thrift from) {
    static const char ours[] = "nvdp version ";
    struct parquet *file = release->of;
    const char *writer = "", *text;
    size_t writer_size = 0, count;
    int type, field = 0;
    while ((type = take_field(&from, &field)) != NVDP__T_STOP) {
        if (field == 2 && type == NVDP__T_LIST) {
            (void)take_list(&from, &count);
            while (count-- > 0 && !from.torn) {
                int of = 0;
                while ((type = take_field(&from, &of)) != NVDP__T_STOP) {
                    if (of == 4 && type == NVDP__T_BINARY) {
                        const size_t size = take_text(&from, &text);
                        take_column(file, text, size);
                    } else {
                        skip(&from, type, MAX_DEPTH);
                    }
                }
            }
        } else if (field == 3 && type == NVDP__T_I64) {
            file->rows = (size_t)take_int(&from);
        } else if (field == 5 && type == NVDP__T_LIST) {
            (void)take_list(&from, &count);
            NVDP_TRY(take_metadata(release, &from, count));
        } else if (field == 6 && type == NVDP__T_BINARY) {
            writer_size = take_text(&from, &writer);
        } else {
            skip(&from, type, MAX_DEPTH);
        }
    }
    if (from.torn) return torn(release, "footer");
    if (writer_size < sizeof ours - 1 || memcmp(writer, ours, sizeof ours - 1) != 0)
        return NVDP__BAD_FILE(release,
                              "expected a Parquet file that nvdp export wrote, found one by "
                              "'%.*s'; nvdp cannot read files of other programs",
                              (int)(writer_size < 80 ? writer_size : 80), writer);
    return NVDP_OK;
}

/* --- pages --- */

/* Finds the values of a page, which follow its levels. */
static nvdp_status read_page(struct nvdp__release *release, struct thrift *from, enum nvdp__of of,
                             struct page *page, size_t *values) {
    int type, field = 0, inner = 0;
    int64_t size = -1, count = -1;
    while ((type = take_field(from, &field)) != NVDP__T_STOP) {
        if (field == 3 && type == NVDP__T_I32) {
            size = take_int(from);
        } else if (field == 5 && type == NVDP__T_STRUCT) {
            while ((type = take_field(from, &inner)) != NVDP__T_STOP) {
                if (inner == 1 && type == NVDP__T_I32)
                    count = take_int(from);
                else
                    skip(from, type, MAX_DEPTH);
            }
        } else {
            skip(from, type, MAX_DEPTH);
        }
    }
    if (from->torn || size < 0 || size > from->end - from->at || count < 1 ||
        (uint64_t)count > (uint64_t)size / nvdp__parquet_columns[of].size ||
        (of != NVDP__OF_Z && (uint64_t)size != (uint64_t)count * nvdp__parquet_columns[of].size))
        return torn(release, "page");
    from->at += size;
    *values = (size_t)count;
    page->values[of] = (const char *)from->at - (size_t)count * nvdp__parquet_columns[of].size;
    return NVDP_OK;
}

/* Reads the pages, which lie one after the other, row group by row group. */
static nvdp_status read_pages(struct nvdp__release *release, struct thrift from, size_t *dim) {
    struct parquet *file = release->of;
    size_t values = 0;
    for (size_t done = 0; done < file->rows; done += file->page[file->groups - 1].rows) {
        NVDP_TRY(nvdp__reserve(release->ctx, &file->page, &file->capacity, file->groups + 1,
                               sizeof *file->page));
        struct page *page = &file->page[file->groups++];
        *page = (struct page){0};
        for (size_t c = 0; c < file->column_count; c++) {
            const enum nvdp__of of = file->column[c];
            NVDP_TRY(read_page(release, &from, of, page, &values));
            if (c == 0) page->rows = values;
            if (of == NVDP__OF_Z && *dim == 0) *dim = values / page->rows;
            if (values != page->rows * (of == NVDP__OF_Z ? *dim : 1)) return torn(release, "page");
        }
        if (file->groups == 1) file->group_rows = page->rows;
        if (page->rows > file->rows - done ||
            (page->rows < file->group_rows && page->rows < file->rows - done) ||
            page->rows > file->group_rows)
            return torn(release, "page");
    }
    return NVDP_OK;
}

static const char *value_at(const struct parquet *file, enum nvdp__of of, size_t row) {
    return file->page[row / file->group_rows].values[of] +
           row % file->group_rows * nvdp__parquet_columns[of].size;
}

static bool has(const struct parquet *file, enum nvdp__of of) {
    return file->page[0].values[of] != NULL;
}

/* --- values --- */

/* Fills `offset` and the per-text columns from the columns of all vectors. */
static nvdp_status read_places(struct nvdp__release *release) {
    const struct parquet *file = release->of;
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t samples = shape->texts * shape->samples;
    size_t last = 0, texts = 0;
    void *column[NVDP__TEXT_COLUMNS] = {NULL};
    NVDP_TRY(NVDP__NEW(release->ctx, release->offset, samples + 1));
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++) {
        if (has(file, NVDP__OF_ID + c)) NVDP_TRY(nvdp__release_make_column(release, c, &column[c]));
    }
    for (size_t r = 0; r < shape->rows; r++) {
        int64_t text;
        int32_t sample;
        memcpy(&text, value_at(file, NVDP__OF_TEXT, r), sizeof text);
        memcpy(&sample, value_at(file, NVDP__OF_SAMPLE, r), sizeof sample);
        if (text < 0 || (uint64_t)text >= shape->texts || sample < 0 ||
            (size_t)sample >= shape->samples)
            return NVDP__BAD_FILE(release,
                                  "row %zu: found sample %d of text %" PRId64
                                  ", but the file has only %zu samples of %zu texts",
                                  r, sample, text, shape->samples, shape->texts);
        const size_t i = (size_t)text, k = i * shape->samples + (size_t)sample;
        if (k < last)
            return NVDP__BAD_FILE(release, "row %zu: expected the samples in increasing order", r);
        while (last < k)
            release->offset[++last] = (int64_t)r;
        if (i < texts) continue;
        texts = i + 1;
        for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++) {
            const size_t size = nvdp__parquet_columns[NVDP__OF_ID + c].size;
            if (column[c] != NULL)
                memcpy((char *)column[c] + i * size, value_at(file, NVDP__OF_ID + c, r), size);
        }
    }
    while (last < samples)
        release->offset[++last] = (int64_t)shape->rows;
    return NVDP_OK;
}

static nvdp_status read_vector(struct nvdp__release *release, size_t row, const char *at, void *z) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const bool f16 = shape->grid == NVDP__H5_F16;
    const double limit = f16 ? 65504 : shape->grid == NVDP__H5_I16 ? INT16_MAX : INT32_MAX;
    const double scale = ldexp(1, -shape->z_exponent);
    for (size_t d = 0; d < shape->dim; d++) {
        float value;
        memcpy(&value, at + d * sizeof value, sizeof value);
        const double steps = value * scale;
        if (!(fabs(steps) <= limit))
            return NVDP__BAD_FILE(
                release, "column 'z', row %zu: expected multiples of the grid's step, found %g",
                row, (double)value);
        if (f16)
            ((float *)z)[d] = nvdp__f16_to_float(nvdp__f16_from_float(value));
        else
            ((int32_t *)z)[d] = (int32_t)steps;
    }
    return NVDP_OK;
}

double nvdp__parquet_log_pi(const struct nvdp__embeddings_shape *shape, double pi) {
    return shape->grid == NVDP__H5_F16
               ? nvdp__f16_to_float(nvdp__f16_from_float((float)log(pi)))
               : fmax(rint(ldexp(log(pi), -shape->log_pi_exponent)), INT16_MIN);
}

/* Reads rows on the grid.  The logarithm of a weight is rounded to the nearest step. */
nvdp_status nvdp__parquet_rows(struct nvdp__release *release, size_t first, size_t n, void *z,
                               void *log_pi) {
    const struct parquet *file = release->of;
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t vector = shape->dim * sizeof(float); /* float or int32_t */
    for (size_t r = 0; r < n && z != NULL; r++) {
        const size_t row = first + r;
        const char *at =
            file->page[row / file->group_rows].values[NVDP__OF_Z] + row % file->group_rows * vector;
        NVDP_TRY(read_vector(release, row, at, (char *)z + r * vector));
    }
    for (size_t r = 0; r < n && log_pi != NULL; r++) {
        double pi = 1;
        memcpy(&pi, value_at(file, NVDP__OF_PI, first + r), sizeof pi);
        if (!(pi > 0 && pi <= 1))
            return NVDP__BAD_FILE(release,
                                  "column 'pi', row %zu: expected a weight in (0, 1], found %g",
                                  first + r, pi);
        const double stored = nvdp__parquet_log_pi(shape, pi);
        if (shape->grid == NVDP__H5_F16)
            ((float *)log_pi)[r] = (float)stored;
        else
            ((int32_t *)log_pi)[r] = (int32_t)stored;
    }
    return NVDP_OK;
}

static void close_file(void *of) {
    struct parquet *file = of;
    free(file->bytes);
    free(file->page);
    free(file);
}

nvdp_status nvdp__parquet_read(struct nvdp__release *release) {
    struct parquet *file = NULL;
    uint32_t footer = 0;
    size_t dim = 0;
    NVDP_TRY(NVDP__NEW(release->ctx, file, 1));
    release->of = file;
    file->base.close = close_file;
    NVDP_TRY(
        nvdp__read_file(release->ctx, release->path, SIZE_MAX / 2, &file->bytes, &file->count));
    if (file->count < 12 || memcmp(file->bytes + file->count - 4, "PAR1", 4) != 0)
        return torn(release, "end");
    memcpy(&footer, file->bytes + file->count - 8, sizeof footer);
    if (footer > file->count - 12) return torn(release, "end");
    const unsigned char *bytes = (const unsigned char *)file->bytes;
    const unsigned char *end = bytes + file->count - 8, *data = end - footer;
    NVDP_TRY(read_footer(release, (struct thrift){.at = data, .end = end}));
    NVDP_TRY(read_pages(release, (struct thrift){.at = bytes + 4, .end = data}, &dim));
    const bool all = file->groups > 0 && has(file, NVDP__OF_TEXT) && has(file, NVDP__OF_SAMPLE) &&
                     has(file, NVDP__OF_Z);
    if (!all) return torn(release, "schema");
    NVDP_TRY(nvdp__release_shape(release, file->rows, dim, has(file, NVDP__OF_PI)));
    return read_places(release);
}
