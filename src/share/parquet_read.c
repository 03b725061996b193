/* Reads only Parquet files that parquet.c wrote.  The order: Thrift, footer, pages, values. */
#include "share/parquet.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
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
        from->torn = true; /* parquet.c writes no such type */
        return;
    default:
        (void)take_int(from);
    }
}

/* Goes to the next field whose type equals wanted[number of the field], and skips other fields.  Returns false after
 * the last field. */
enum { MAX_FIELD = 8 };
static bool next_field(struct thrift *from, const unsigned char wanted[MAX_FIELD], int *field) {
    for (int type; (type = take_field(from, field)) != NVDP__T_STOP; skip(from, type, MAX_DEPTH))
        if (*field > 0 && *field < MAX_FIELD && wanted[*field] == type) return true;
    return false;
}

/* --- the footer --- */

static nvdp_status torn(struct nvdp__release *release, const char *where) {
    return NVDP__BAD_FILE(
        release, "expected a Parquet file that nvdp export wrote, found a damaged %s", where);
}

static nvdp_status take_metadata(struct nvdp__release *release, struct thrift *from, size_t count) {
    for (; count > 0; count--) {
        static const unsigned char wanted[MAX_FIELD] = {[1] = NVDP__T_BINARY, [2] = NVDP__T_BINARY};
        const char *text[3] = {NULL};
        size_t size[3] = {0};
        int field = 0;
        while (next_field(from, wanted, &field))
            size[field] = take_text(from, &text[field]);
        if (from->torn || text[1] == NULL || text[2] == NULL) return torn(release, "footer");
        nvdp__autofree char *name = nvdp__format(release->ctx, "%.*s", (int)size[1], text[1]);
        nvdp__autofree char *value = nvdp__format(release->ctx, "%.*s", (int)size[2], text[2]);
        NVDP_TRY(NVDP__MADE(name, value));
        NVDP_TRY(nvdp__attributes_parse(&release->attributes, name, value));
    }
    return NVDP_OK;
}

/* Finds the columns of the format in the schema, by name. */
static void take_schema(struct nvdp__parquet *file, struct thrift *from) {
    static const unsigned char wanted[MAX_FIELD] = {[4] = NVDP__T_BINARY};
    const char *text;
    size_t count;
    (void)take_list(from, &count);
    while (count-- > 0 && !from->torn)
        for (int field = 0; next_field(from, wanted, &field);) {
            const size_t size = take_text(from, &text);
            for (int of = NVDP__OF_TEXT; of < NVDP__OFS && file->columns < NVDP__OFS; of++)
                if (strlen(nvdp__parquet_columns[of].name) == size &&
                    memcmp(nvdp__parquet_columns[of].name, text, size) == 0)
                    file->column[file->columns++] = (enum nvdp__of)of;
        }
}

static nvdp_status read_footer(struct nvdp__release *release, struct thrift from) {
    static const char ours[] = "nvdp version ";
    static const unsigned char wanted[MAX_FIELD] = {
        [2] = NVDP__T_LIST, [3] = NVDP__T_I64, [5] = NVDP__T_LIST, [6] = NVDP__T_BINARY};
    struct nvdp__parquet *file = release->of;
    const char *writer = "";
    size_t writer_size = 0, count;
    for (int field = 0; next_field(&from, wanted, &field);) {
        if (field == 2) take_schema(file, &from);
        if (field == 3) file->all_rows = (size_t)take_int(&from);
        if (field == 6) writer_size = take_text(&from, &writer);
        if (field != 5) continue;
        (void)take_list(&from, &count);
        NVDP_TRY(take_metadata(release, &from, count));
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

/* Finds the values of a page, which come after the page's levels. */
static nvdp_status read_page(struct nvdp__release *release, struct thrift *from, enum nvdp__of of,
                             struct page *page, size_t *values) {
    static const unsigned char wanted[MAX_FIELD] = {[3] = NVDP__T_I32, [5] = NVDP__T_STRUCT},
                               in_head[MAX_FIELD] = {[1] = NVDP__T_I32};
    int64_t size = -1, count = -1;
    for (int field = 0, inner = 0; next_field(from, wanted, &field);) {
        if (field == 3) size = take_int(from);
        while (field == 5 && next_field(from, in_head, &inner))
            count = take_int(from);
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

/* Reads the pages, which are stored one after the other, row group by row group. */
static nvdp_status read_pages(struct nvdp__release *release, struct thrift from, size_t *dim) {
    struct nvdp__parquet *file = release->of;
    size_t values = 0;
    for (size_t done = 0; done < file->all_rows; done += file->page[file->groups - 1].rows) {
        NVDP_TRY(
            NVDP__PUSH(release->ctx, file->page, file->groups, file->capacity, (struct page){0}));
        struct page *page = &file->page[file->groups - 1];
        for (size_t c = 0; c < file->columns; c++) {
            const enum nvdp__of of = file->column[c];
            NVDP_TRY(read_page(release, &from, of, page, &values));
            if (c == 0) page->rows = values;
            if (of == NVDP__OF_Z && *dim == 0) *dim = values / page->rows;
            if (values != page->rows * (of == NVDP__OF_Z ? *dim : 1)) return torn(release, "page");
        }
        if (file->groups == 1) file->group_rows = page->rows;
        if (page->rows > file->all_rows - done ||
            (page->rows < file->group_rows && page->rows < file->all_rows - done) ||
            page->rows > file->group_rows)
            return torn(release, "page");
    }
    return NVDP_OK;
}

static const char *value_at(const struct nvdp__parquet *file, enum nvdp__of of, size_t row) {
    return file->page[row / file->group_rows].values[of] +
           row % file->group_rows * nvdp__parquet_columns[of].size;
}

static bool has(const struct nvdp__parquet *file, enum nvdp__of of) {
    return file->page[0].values[of] != NULL;
}

/* --- values --- */

/* Fills `offset` and the per-text columns from the columns of all vectors. */
static nvdp_status read_places(struct nvdp__release *release) {
    const struct nvdp__parquet *file = release->of;
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t samples = shape->texts * shape->samples;
    size_t last = 0, texts = 0;
    NVDP_TRY(NVDP__NEW(release->ctx, release->offset, samples + 1));
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        if (has(file, NVDP__OF_ID + c)) NVDP_TRY(nvdp__release_make_column(release, c));
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
            if (release->column[c] != NULL)
                memcpy((char *)release->column[c] + i * size, value_at(file, NVDP__OF_ID + c, r),
                       size);
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
    const struct nvdp__parquet *file = release->of;
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

nvdp_status nvdp__parquet_read(struct nvdp__release *release) {
    struct nvdp__parquet *file = release->of;
    uint32_t footer = 0;
    size_t dim = 0;
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
    NVDP_TRY(nvdp__release_shape(release, file->all_rows, dim, has(file, NVDP__OF_PI)));
    return read_places(release);
}
