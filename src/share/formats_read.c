/* Shared files in other programs' layouts, back into their HDF5 form, which everything that reads a shared file then reads.
 *
 * The form is made among the system's temporary files and has no name there once it is whole.  From it the file is written
 * again, and must be the same: there is no byte in it, of a comment, an order, a padding, that the form does not decide.  So
 * what is signed of the form (sign.h) is signed of every byte. */
#include "share/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/safetensors.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/f16.h"
#include "base/json.h"

enum {
    SLICE_VALUES = 1 << 18,
    MAGIC = 9,
    MOST_ROWS = INT32_MAX,
    MOST_DIM = 1 << 20,
    MOST_EXPONENT = 30,
    MOST_COLUMNS = 8,
    MOST_DEPTH = 16
};

/* A file in memory, and what its form will be of. */
struct source {
    struct nvdp_context *ctx;
    const char *path;
    struct nvdp__sayings words;
    struct nvdp__embeddings_shape shape;
    int64_t *offset; /* [N S + 1] */
    /* [N]; NULL: none */
    int64_t *id;
    int32_t *split;
    float *label;
    /* Rows [first, first + n): z [n, p] and log_pi [n], float where the grid is float16, else int32_t. */
    nvdp_status (*rows)(struct source *source, size_t first, size_t n, void *z, void *log_pi);
    struct nvdp_safetensors *tensors;
    struct parquet *parquet;
    struct nvdp__h5 *form;
};

#define FAIL(source, format, ...)                                                                  \
    nvdp__fail((source)->ctx, NVDP_ERR_INPUT, "%s: " format, (source)->path, __VA_ARGS__)

/* --- what the words say of the shape --- */

static const char *word(const struct source *source, const char *name) {
    for (size_t i = 0; i + 1 < source->words.count; i += 2) {
        if (strcmp(source->words.text[i], name) == 0) return source->words.text[i + 1];
    }
    return "";
}

static nvdp_status whole_word(struct source *source, const char *name, int64_t most, size_t *out) {
    const char *text = word(source, name);
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > most)
        return FAIL(source, "metadata '%s': expected 1 to %" PRId64 ", found '%.40s'", name, most,
                    text);
    *out = (size_t)value;
    return NVDP_OK;
}

/* A step is a power of two. */
static nvdp_status exponent_word(struct source *source, const char *name, int *out) {
    const char *text = word(source, name);
    int exponent = 0;
    const double step = strtod(text, NULL);
    if (!(step > 0 && isfinite(step)) || frexp(step, &exponent) != 0.5 ||
        abs(exponent - 1) > MOST_EXPONENT)
        return FAIL(source, "metadata '%s': expected a power of two, found '%.40s'", name, text);
    *out = exponent - 1;
    return NVDP_OK;
}

/* `rows` vectors of `dim` numbers are there, with weights or without. */
static nvdp_status read_shape(struct source *source, size_t rows, size_t dim, bool weights) {
    struct nvdp__embeddings_shape *shape = &source->shape;
    const char *format = word(source, "nvdp_format"), *grid = word(source, "grid");
    const bool hidden = strcmp(word(source, "length_policy"), "hidden") == 0;
    if (strcmp(format, "embeddings/1") != 0 && strcmp(format, "embeddings/2") != 0)
        return FAIL(source,
                    "expected what nvdp export writes, 'nvdp_format' embeddings/1 or /2, found "
                    "'%.40s'",
                    format);
    NVDP_RETURN_IF_FAILED(whole_word(source, "texts", MOST_ROWS, &shape->texts));
    NVDP_RETURN_IF_FAILED(whole_word(source, "releases", MOST_ROWS, &shape->samples));
    if (rows < 1 || rows > MOST_ROWS || dim < 1 || dim > MOST_DIM ||
        shape->texts > MOST_ROWS / shape->samples)
        return FAIL(source,
                    "%zu vectors of %zu numbers of %zu texts: more or less than there can be", rows,
                    dim, shape->texts);
    const size_t samples = shape->texts * shape->samples;
    if (samples > rows || (hidden && rows % samples != 0))
        return FAIL(source, "expected vectors in each of %zu samples, %sfound %zu in all", samples,
                    hidden ? "as many in all of them, " : "", rows);
    shape->rows = rows;
    shape->dim = dim;
    shape->weights = weights;
    shape->policy = hidden ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
    shape->sample_rows = hidden ? rows / samples : 0;
    shape->grid = strcmp(grid, "int16") == 0   ? NVDP__H5_I16
                  : strcmp(grid, "int32") == 0 ? NVDP__H5_I32
                                               : NVDP__H5_F16;
    if (shape->grid == NVDP__H5_F16) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(exponent_word(source, "z_step", &shape->z_exponent));
    return weights ? exponent_word(source, "log_pi_step", &shape->log_pi_exponent) : NVDP_OK;
}

/* --- safetensors --- */

static nvdp_status find_tensor(struct source *source, const char *name, enum nvdp_dtype dtype,
                               size_t count, const struct nvdp_tensor_info **out) {
    const struct nvdp_tensor_info *found = nvdp_safetensors_find(source->tensors, name);
    if (found == NULL || found->dtype != dtype || found->count != count)
        return FAIL(source, "tensor '%s': expected %zu values of type %s, found %zu%s%s", name,
                    count, nvdp_dtype_name(dtype), found != NULL ? found->count : 0,
                    found != NULL ? " of type " : "",
                    found != NULL ? nvdp_dtype_name(found->dtype) : "");
    *out = found;
    return NVDP_OK;
}

/* Values [first, first + n) of a tensor on the grid. */
static void grid_values(const struct nvdp_tensor_info *tensor, size_t first, size_t n, void *out) {
    const size_t size = nvdp_dtype_size(tensor->dtype);
    const char *at = (const char *)tensor->data + first * size;
    for (size_t i = 0; i < n; i++, at += size) {
        uint16_t half;
        int16_t narrow;
        memcpy(&half, at, sizeof half);
        memcpy(&narrow, at, sizeof narrow);
        if (tensor->dtype == NVDP_DTYPE_F16)
            ((float *)out)[i] = nvdp__f16_to_float(half);
        else if (tensor->dtype == NVDP_DTYPE_I16)
            ((int32_t *)out)[i] = narrow;
        else
            memcpy((int32_t *)out + i, at, sizeof(int32_t));
    }
}

static nvdp_status tensor_rows(struct source *source, size_t first, size_t n, void *z,
                               void *log_pi) {
    const size_t dim = source->shape.dim;
    grid_values(nvdp_safetensors_find(source->tensors, "z"), first * dim, n * dim, z);
    if (source->shape.weights)
        grid_values(nvdp_safetensors_find(source->tensors, "log_pi"), first, n, log_pi);
    return NVDP_OK;
}

/* A value a text, where the tensor is there; *out points at a pointer. */
static nvdp_status tensor_column(struct source *source, const char *name, enum nvdp_dtype dtype,
                                 void *out) {
    const struct nvdp_tensor_info *found = NULL;
    const size_t texts = source->shape.texts, size = nvdp_dtype_size(dtype);
    if (nvdp_safetensors_find(source->tensors, name) == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(find_tensor(source, name, dtype, texts, &found));
    void *values = nvdp__calloc(source->ctx, texts, size);
    if (values == NULL) return NVDP_ERR_MEMORY;
    memcpy(values, found->data, texts * size);
    memcpy(out, &values, sizeof values);
    return NVDP_OK;
}

/* The metadata in the file's order: attributes are made in it. */
static nvdp_status read_metadata(struct source *source) {
    nvdp_status status = NVDP_OK;
    json_t *header = NULL, *value;
    const char *key;
    char *bytes = NULL;
    FILE *file = NULL;
    uint64_t size = 0; /* sound: the file was opened before */
    NVDP_TRY(nvdp__stream_to_read(source->ctx, source->path, &file));
    if (fread(&size, sizeof size, 1, file) == 1) bytes = nvdp__calloc(source->ctx, size + 1, 1);
    NVDP_TRY(NVDP__MADE(bytes));
    header = json_loadb(bytes, fread(bytes, 1, size, file), JSON_REJECT_DUPLICATES, NULL);
    json_object_foreach(json_object_get(header, "__metadata__"), key, value) {
        NVDP_TRY(nvdp__sayings_add(&source->words, key, json_string_value(value)));
    }
cleanup:
    json_decref(header);
    if (file != NULL) fclose(file);
    free(bytes);
    return status;
}

static nvdp_status read_safetensors(struct source *source) {
    const struct nvdp_tensor_info *z, *log_pi, *offset = NULL;
    NVDP_RETURN_IF_FAILED(nvdp_safetensors_open(source->ctx, source->path, &source->tensors));
    NVDP_RETURN_IF_FAILED(read_metadata(source));
    z = nvdp_safetensors_find(source->tensors, "z");
    log_pi = nvdp_safetensors_find(source->tensors, "log_pi");
    if (z == NULL || z->rank != 2)
        return FAIL(source, "tensor 'z': expected one of two dimensions, found %s",
                    z == NULL ? "none" : "another");
    NVDP_RETURN_IF_FAILED(read_shape(source, z->shape[0], z->shape[1], log_pi != NULL));
    const struct nvdp__embeddings_shape *shape = &source->shape;
    const bool f16 = shape->grid == NVDP__H5_F16;
    const enum nvdp_dtype dtype = f16                           ? NVDP_DTYPE_F16
                                  : shape->grid == NVDP__H5_I16 ? NVDP_DTYPE_I16
                                                                : NVDP_DTYPE_I32;
    const size_t offsets = shape->texts * shape->samples + 1;
    NVDP_RETURN_IF_FAILED(find_tensor(source, "z", dtype, shape->rows * shape->dim, &z));
    if (shape->weights)
        NVDP_RETURN_IF_FAILED(find_tensor(source, "log_pi", f16 ? NVDP_DTYPE_F16 : NVDP_DTYPE_I16,
                                          shape->rows, &log_pi));
    NVDP_RETURN_IF_FAILED(find_tensor(source, "offset", NVDP_DTYPE_I64, offsets, &offset));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(source->ctx, source->offset, offsets));
    memcpy(source->offset, offset->data, offsets * sizeof *source->offset);
    NVDP_RETURN_IF_FAILED(tensor_column(source, "id", NVDP_DTYPE_I64, &source->id));
    NVDP_RETURN_IF_FAILED(tensor_column(source, "split", NVDP_DTYPE_I32, &source->split));
    NVDP_RETURN_IF_FAILED(tensor_column(source, "label", NVDP_DTYPE_F32, &source->label));
    source->rows = tensor_rows;
    return NVDP_OK;
}

/* --- Parquet: what parquet.c writes --- */

/* Bytes of Thrift's compact protocol; what goes beyond them is told at the end. */
struct thrift {
    const unsigned char *at, *end;
    bool torn;
};

enum { T_STOP = 0, T_TRUE = 1, T_FALSE = 2, T_BYTE = 3, T_DOUBLE = 7, T_BINARY = 8, T_LIST = 9 };
enum { T_SET = 10, T_MAP = 11, T_STRUCT = 12 };

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

/* A text as it lies there. */
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

/* The next field's type; T_STOP after the last, and where bytes are missing. */
static int take_field(struct thrift *from, int *field) {
    const int byte = take_byte(from), step = byte >> 4, type = byte & 0xf;
    if (type == T_STOP || from->torn) return T_STOP;
    *field = step > 0 ? *field + step : (int)take_int(from);
    return from->torn ? T_STOP : type;
}

/* The elements' type. */
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
    case T_TRUE:
    case T_FALSE:
        return;
    case T_BYTE:
        (void)take_byte(from);
        return;
    case T_BINARY:
        (void)take_text(from, &text);
        return;
    case T_LIST:
        type = take_list(from, &count);
        while (count-- > 0 && !from->torn)
            skip(from, type, depth - 1);
        return;
    case T_STRUCT:
        while ((type = take_field(from, &field)) != T_STOP)
            skip(from, type, depth - 1);
        return;
    case T_DOUBLE:
    case T_SET:
    case T_MAP:
        from->torn = true; /* there are none */
        return;
    default:
        (void)take_int(from);
    }
}

enum of { TEXT, SAMPLE, ROW, PI, Z, ID, SPLIT, LABEL, OFS };
static const struct {
    const char *name;
    size_t size;
} columns[OFS] = {{"text", 8}, {"sample", 4}, {"row", 4},   {"pi", 8},
                  {"z", 4},    {"id", 8},     {"split", 4}, {"label", 4}};

struct parquet {
    char *bytes;
    size_t count, rows, group_rows, groups, capacity;
    enum of column[MOST_COLUMNS];
    size_t column_count;
    struct page { /* of a row group */
        size_t rows;
        const char *values[OFS]; /* NULL: no such column */
    } * page;
};

static nvdp_status torn(struct source *source, const char *where) {
    return FAIL(source, "expected a Parquet file that nvdp export wrote, found a damaged %s",
                where);
}

static void take_column(struct parquet *file, const char *name, size_t size) {
    for (int of = TEXT; of < OFS && file->column_count < MOST_COLUMNS; of++)
        if (strlen(columns[of].name) == size && memcmp(columns[of].name, name, size) == 0)
            file->column[file->column_count++] = (enum of)of;
}

static nvdp_status take_words(struct source *source, struct thrift *from, size_t count) {
    for (; count > 0; count--) {
        const char *text[3] = {NULL};
        size_t size[3] = {0};
        int type, field = 0;
        while ((type = take_field(from, &field)) != T_STOP) {
            if (type == T_BINARY && (field == 1 || field == 2))
                size[field] = take_text(from, &text[field]);
            else
                skip(from, type, MOST_DEPTH);
        }
        if (from->torn || text[1] == NULL || text[2] == NULL) return torn(source, "footer");
        char *name = nvdp__format(source->ctx, "%.*s", (int)size[1], text[1]);
        char *value = nvdp__format(source->ctx, "%.*s", (int)size[2], text[2]);
        nvdp_status status = name != NULL && value != NULL
                                 ? nvdp__sayings_add(&source->words, name, value)
                                 : NVDP_ERR_MEMORY;
        free(name);
        free(value);
        NVDP_RETURN_IF_FAILED(status);
    }
    return NVDP_OK;
}

static nvdp_status read_footer(struct source *source, struct thrift from) {
    static const char ours[] = "nvdp version ";
    struct parquet *file = source->parquet;
    const char *writer = "", *text;
    size_t writer_size = 0, count;
    int type, field = 0;
    while ((type = take_field(&from, &field)) != T_STOP) {
        if (field == 2 && type == T_LIST) {
            (void)take_list(&from, &count);
            while (count-- > 0 && !from.torn) {
                int of = 0;
                while ((type = take_field(&from, &of)) != T_STOP) {
                    if (of == 4 && type == T_BINARY) {
                        const size_t size = take_text(&from, &text);
                        take_column(file, text, size);
                    } else {
                        skip(&from, type, MOST_DEPTH);
                    }
                }
            }
        } else if (field == 3 && type == 6) {
            file->rows = (size_t)take_int(&from);
        } else if (field == 5 && type == T_LIST) {
            (void)take_list(&from, &count);
            NVDP_RETURN_IF_FAILED(take_words(source, &from, count));
        } else if (field == 6 && type == T_BINARY) {
            writer_size = take_text(&from, &writer);
        } else {
            skip(&from, type, MOST_DEPTH);
        }
    }
    if (from.torn) return torn(source, "footer");
    if (writer_size < sizeof ours - 1 || memcmp(writer, ours, sizeof ours - 1) != 0)
        return FAIL(source,
                    "expected a Parquet file that nvdp export wrote, found one of '%.*s': other "
                    "programs' files are not read",
                    (int)(writer_size < 80 ? writer_size : 80), writer);
    return NVDP_OK;
}

/* Of one page its values, behind their levels. */
static nvdp_status read_page(struct source *source, struct thrift *from, enum of of,
                             struct page *page, size_t *values) {
    int type, field = 0, inner = 0;
    int64_t size = -1, count = -1;
    while ((type = take_field(from, &field)) != T_STOP) {
        if (field == 3 && type == 5) {
            size = take_int(from);
        } else if (field == 5 && type == T_STRUCT) {
            while ((type = take_field(from, &inner)) != T_STOP) {
                if (inner == 1 && type == 5)
                    count = take_int(from);
                else
                    skip(from, type, MOST_DEPTH);
            }
        } else {
            skip(from, type, MOST_DEPTH);
        }
    }
    if (from->torn || size < 0 || size > from->end - from->at || count < 1 ||
        (uint64_t)count > (uint64_t)size / columns[of].size ||
        (of != Z && (uint64_t)size != (uint64_t)count * columns[of].size))
        return torn(source, "page");
    from->at += size;
    *values = (size_t)count;
    page->values[of] = (const char *)from->at - (size_t)count * columns[of].size;
    return NVDP_OK;
}

/* Pages lie one behind the other, group after group. */
static nvdp_status read_pages(struct source *source, struct thrift from, size_t *dim) {
    struct parquet *file = source->parquet;
    size_t values = 0;
    for (size_t done = 0; done < file->rows; done += file->page[file->groups - 1].rows) {
        NVDP_RETURN_IF_FAILED(nvdp__reserve(source->ctx, &file->page, &file->capacity,
                                            file->groups + 1, sizeof *file->page));
        struct page *page = &file->page[file->groups++];
        *page = (struct page){0};
        for (size_t c = 0; c < file->column_count; c++) {
            const enum of of = file->column[c];
            NVDP_RETURN_IF_FAILED(read_page(source, &from, of, page, &values));
            if (c == 0) page->rows = values;
            if (of == Z && *dim == 0) *dim = values / page->rows;
            if (values != page->rows * (of == Z ? *dim : 1)) return torn(source, "page");
        }
        if (file->groups == 1) file->group_rows = page->rows;
        if (page->rows > file->rows - done ||
            (page->rows < file->group_rows && page->rows < file->rows - done) ||
            page->rows > file->group_rows)
            return torn(source, "page");
    }
    return NVDP_OK;
}

static const char *value_at(const struct parquet *file, enum of of, size_t row) {
    return file->page[row / file->group_rows].values[of] +
           row % file->group_rows * columns[of].size;
}

static bool has(const struct parquet *file, enum of of) {
    return file->page[0].values[of] != NULL;
}

/* offset, and the columns of the texts, from every vector's own. */
static nvdp_status read_places(struct source *source) {
    nvdp_status status = NVDP_OK;
    const struct parquet *file = source->parquet;
    const struct nvdp__embeddings_shape *shape = &source->shape;
    const size_t samples = shape->texts * shape->samples;
    size_t last = 0, texts = 0;
    NVDP_TRY(NVDP__NEW(source->ctx, source->offset, samples + 1));
    if (has(file, ID)) NVDP_TRY(NVDP__NEW(source->ctx, source->id, shape->texts));
    if (has(file, SPLIT)) NVDP_TRY(NVDP__NEW(source->ctx, source->split, shape->texts));
    if (has(file, LABEL)) NVDP_TRY(NVDP__NEW(source->ctx, source->label, shape->texts));
    for (size_t r = 0; r < shape->rows; r++) {
        int64_t text;
        int32_t sample;
        memcpy(&text, value_at(file, TEXT, r), sizeof text);
        memcpy(&sample, value_at(file, SAMPLE, r), sizeof sample);
        if (text < 0 || (uint64_t)text >= shape->texts || sample < 0 ||
            (size_t)sample >= shape->samples)
            NVDP_TRY(FAIL(source, "row %zu: sample %d of text %" PRId64 ": there are %zu of %zu", r,
                          sample, text, shape->samples, shape->texts));
        const size_t i = (size_t)text, k = i * shape->samples + (size_t)sample;
        if (k < last) NVDP_TRY(FAIL(source, "row %zu: expected samples in their order", r));
        while (last < k)
            source->offset[++last] = (int64_t)r;
        if (i < texts) continue;
        texts = i + 1;
        if (source->id != NULL) memcpy(&source->id[i], value_at(file, ID, r), 8);
        if (source->split != NULL) memcpy(&source->split[i], value_at(file, SPLIT, r), 4);
        if (source->label != NULL) memcpy(&source->label[i], value_at(file, LABEL, r), 4);
    }
    while (last < samples)
        source->offset[++last] = (int64_t)shape->rows;
cleanup:
    return status;
}

/* z on its grid; a weight's logarithm is the nearest step. */
static nvdp_status parquet_rows(struct source *source, size_t first, size_t n, void *z,
                                void *log_pi) {
    const struct parquet *file = source->parquet;
    const struct nvdp__embeddings_shape *shape = &source->shape;
    const bool f16 = shape->grid == NVDP__H5_F16;
    const double most = f16 ? 65504 : shape->grid == NVDP__H5_I16 ? INT16_MAX : INT32_MAX;
    const size_t dim = shape->dim;
    for (size_t r = 0; r < n; r++) {
        const size_t group = (first + r) / file->group_rows, row = (first + r) % file->group_rows;
        const char *at = file->page[group].values[Z] + row * dim * sizeof(float);
        for (size_t d = 0; d < dim; d++) {
            float value;
            memcpy(&value, at + d * sizeof value, sizeof value);
            const double steps = ldexp(value, -shape->z_exponent);
            if (!(fabs(steps) <= most))
                return FAIL(source, "column 'z', row %zu: expected values on the grid, found %g",
                            first + r, (double)value);
            if (f16)
                ((float *)z)[r * dim + d] = value;
            else
                ((int32_t *)z)[r * dim + d] = (int32_t)steps;
        }
        double pi = 1;
        if (!shape->weights) continue;
        memcpy(&pi, value_at(file, PI, first + r), sizeof pi);
        if (!(pi > 0 && pi <= 1))
            return FAIL(source, "column 'pi', row %zu: expected a weight above 0, found %g",
                        first + r, pi);
        if (f16)
            ((float *)log_pi)[r] = nvdp__f16_to_float(nvdp__f16_from_float((float)log(pi)));
        else
            ((int32_t *)log_pi)[r] =
                (int32_t)fmax(rint(ldexp(log(pi), -shape->log_pi_exponent)), INT16_MIN);
    }
    return NVDP_OK;
}

static nvdp_status read_parquet(struct source *source) {
    struct parquet *file = NULL;
    uint32_t footer = 0;
    size_t dim = 0;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(source->ctx, file, 1));
    source->parquet = file;
    NVDP_RETURN_IF_FAILED(
        nvdp__read_file(source->ctx, source->path, SIZE_MAX / 2, &file->bytes, &file->count));
    if (file->count < 12 || memcmp(file->bytes + file->count - 4, "PAR1", 4) != 0)
        return torn(source, "end");
    memcpy(&footer, file->bytes + file->count - 8, sizeof footer);
    if (footer > file->count - 12) return torn(source, "end");
    const unsigned char *bytes = (const unsigned char *)file->bytes;
    const unsigned char *end = bytes + file->count - 8, *data = end - footer;
    NVDP_RETURN_IF_FAILED(read_footer(source, (struct thrift){.at = data, .end = end}));
    NVDP_RETURN_IF_FAILED(read_pages(source, (struct thrift){.at = bytes + 4, .end = data}, &dim));
    const bool all = file->groups > 0 && has(file, TEXT) && has(file, SAMPLE) && has(file, Z);
    if (!all) return torn(source, "schema");
    NVDP_RETURN_IF_FAILED(read_shape(source, file->rows, dim, has(file, PI)));
    source->rows = parquet_rows;
    return read_places(source);
}

/* --- the form --- */

static bool is_one_of(const char *name, const char *const *names) {
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* As nvdp__release_attributes sets them. */
static nvdp_status set_word(struct source *source, const char *name, const char *value) {
    static const char *const made[] = {"nvdp_format", "grid", "z_step", "log_pi_step", NULL};
    static const char *const wholes[] = {"length",
                                         "kappa",
                                         "latent_heads",
                                         "divergence_texts",
                                         "divergence_pairs",
                                         "texts",
                                         "releases",
                                         "bdp_releases",
                                         NULL};
    static const char *const texts[] = {"method",        "task",
                                        "length_policy", "pool",
                                        "certificate",   "weights",
                                        "row_index",     "regularizer",
                                        "model_id",      "divergence_adjacency",
                                        "generator",     "divergence_normalisations",
                                        "nvdp_version",  "created",
                                        "statement",     "public_key",
                                        "signature",     NULL};
    if (is_one_of(name, made)) return NVDP_OK;
    if (is_one_of(name, texts)) return nvdp__h5_set_string(source->form, name, value);
    if (is_one_of(name, wholes))
        return nvdp__h5_set_int(source->form, name, strtoll(value, NULL, 10));
    char *end = NULL;
    const double number = strtod(value, &end);
    return end != value && *end == '\0' ? nvdp__h5_set_real(source->form, name, number)
                                        : nvdp__h5_set_string(source->form, name, value);
}

static nvdp_status write_rows(struct source *source) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__embeddings_shape *shape = &source->shape;
    const bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    const size_t unit = hidden ? shape->samples * shape->sample_rows : 1; /* rows of a text */
    const size_t count = shape->rows / unit, width = unit * shape->dim;
    const size_t most = width < SLICE_VALUES ? SLICE_VALUES / width : 1;
    const size_t step = most < count ? most : count;
    float *z = nvdp__calloc(source->ctx, step * width, sizeof *z); /* or int32_t */
    float *log_pi = nvdp__calloc(source->ctx, step * unit, sizeof *log_pi);
    NVDP_TRY(NVDP__MADE(z, log_pi));
    for (size_t first = 0; first < count; first += step) {
        const size_t n = count - first < step ? count - first : step;
        NVDP_TRY(source->rows(source, first * unit, n * unit, z, log_pi));
        NVDP_TRY(nvdp__embeddings_write(source->form, shape, first, n, first, n, z, log_pi));
    }
cleanup:
    free(z);
    free(log_pi);
    return status;
}

static nvdp_status write_form(struct source *source, const char *path) {
    const struct nvdp__embeddings_shape *shape = &source->shape;
    /* the form has none where lengths are hidden: then they are as they must be */
    for (size_t k = 0; k <= shape->texts * shape->samples && shape->sample_rows > 0; k++)
        source->offset[k] = (int64_t)(k * shape->sample_rows);
    NVDP_RETURN_IF_FAILED(
        nvdp__embeddings_create(source->ctx, path, shape, source->offset, &source->form));
    for (size_t i = 0; i + 1 < source->words.count; i += 2)
        NVDP_RETURN_IF_FAILED(set_word(source, source->words.text[i], source->words.text[i + 1]));
    if (source->id != NULL)
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_write(source->form, "id", NVDP__H5_I64, 1, &shape->texts, source->id));
    if (source->split != NULL)
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_write(source->form, "split", NVDP__H5_I32, 1, &shape->texts, source->split));
    if (source->label != NULL)
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_write(source->form, "label", NVDP__H5_F32, 1, &shape->texts, source->label));
    return write_rows(source);
}

/* --- the same bytes again --- */

static nvdp_status same_bytes(struct source *source, FILE *again) {
    nvdp_status status = NVDP_OK;
    enum { BYTES = 1 << 16 };
    FILE *file = NULL;
    char *one = nvdp__calloc(source->ctx, 2 * BYTES, 1), *two = one + BYTES;
    if (one == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__stream_to_read(source->ctx, source->path, &file));
    for (size_t at = 0, n = BYTES; n == BYTES; at += n) {
        n = fread(one, 1, BYTES, file);
        const size_t m = fread(two, 1, BYTES, again);
        size_t i = 0;
        while (i < n && i < m && one[i] == two[i])
            i++;
        if (n != m || i < n)
            NVDP_TRY(FAIL(source,
                          "expected what nvdp export writes of these values and words, byte by "
                          "byte, found another byte at %zu",
                          at + i));
    }
cleanup:
    if (file != NULL) fclose(file);
    free(one);
    return status;
}

static nvdp_status check_bytes(struct source *source, const char *folder) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__shared shared = {source->ctx, source->form, &source->shape, source->offset};
    struct nvdp__output output = {0};
    FILE *again = NULL;
    char *path = nvdp__join(source->ctx, folder, "again");
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(nvdp__output_open(source->ctx, path, &output));
    NVDP_TRY(nvdp__format_put(
        &shared, source->parquet != NULL ? NVDP__FORMAT_PARQUET : NVDP__FORMAT_SAFETENSORS,
        &output));
    if (fflush(output.file) != 0)
        NVDP_TRY(nvdp__fail_errno(source->ctx, errno, "%s: cannot write", path));
    NVDP_TRY(nvdp__stream_to_read(source->ctx, output.beside, &again));
    NVDP_TRY(same_bytes(source, again));
cleanup:
    if (again != NULL) fclose(again);
    nvdp__output_abort(&output);
    free(path);
    return status;
}

static nvdp_status make_form(struct source *source) {
    nvdp_status status = NVDP_OK;
    const char *place = getenv("TMPDIR");
    char *path = NULL;
    bool made = false;
    char *folder =
        nvdp__join(source->ctx, place != NULL && place[0] != '\0' ? place : "/tmp", "nvdp-XXXXXX");
    NVDP_TRY(NVDP__MADE(folder));
    made = mkdtemp(folder) != NULL;
    if (!made)
        NVDP_TRY(nvdp__fail_errno(source->ctx, errno,
                                  "%s: cannot make a folder for the HDF5 form of %s", folder,
                                  source->path));
    path = nvdp__join(source->ctx, folder, "form.h5");
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(write_form(source, path));
    NVDP_TRY(nvdp__h5_detach(source->form, source->path));
    NVDP_TRY(check_bytes(source, folder));
cleanup:
    if (status != NVDP_OK) {
        nvdp__h5_free(source->form);
        source->form = NULL;
    }
    if (made) rmdir(folder);
    free(folder);
    free(path);
    return status;
}

/* --- any of them --- */

static nvdp_status first_bytes(struct nvdp_context *ctx, const char *path,
                               unsigned char magic[MAGIC], size_t *count) {
    FILE *file = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__stream_to_read(ctx, path, &file));
    *count = fread(magic, 1, MAGIC, file);
    fclose(file);
    return NVDP_OK;
}

nvdp_status nvdp__embeddings_open(struct nvdp_context *ctx, const char *path,
                                  struct nvdp__h5 **out) {
    nvdp_status status = NVDP_OK;
    unsigned char magic[MAGIC] = {0};
    struct source source = {.ctx = ctx, .path = path, .words = {.ctx = ctx}};
    size_t count = 0;
    NVDP_RETURN_IF_FAILED(nvdp__check_regular(ctx, path));
    NVDP_RETURN_IF_FAILED(first_bytes(ctx, path, magic, &count));
    const bool parquet = memcmp(magic, "PAR1", 4) == 0;
    const bool safetensors = magic[MAGIC - 1] == '{'; /* behind the header's length */
    if (!parquet && !safetensors) return nvdp__h5_open(ctx, path, "embeddings", 2, out);
    NVDP_TRY(parquet ? read_parquet(&source) : read_safetensors(&source));
    NVDP_TRY(make_form(&source));
    *out = source.form;
cleanup:
    nvdp_safetensors_close(source.tensors);
    if (source.parquet != NULL) {
        free(source.parquet->bytes);
        free(source.parquet->page);
        free(source.parquet);
    }
    nvdp__sayings_release(&source.words);
    free(source.offset);
    free(source.id);
    free(source.split);
    free(source.label);
    return status;
}
