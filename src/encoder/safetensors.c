/* safetensors files: element types, reading, writing. Everything in a header is checked before
 * it is used. */
#include "encoder/safetensors.h"
#include "encoder/checkpoint.h"

#include "base/f16.h"
#include "base/file.h"
#include "base/own.h"
#include "tensor/bf16.h"
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>

/* ---- element types ---- */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's bytes are used as they are");

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [NVDP__DTYPE_F64] = {"F64", 8}, [NVDP__DTYPE_F32] = {"F32", 4},
    [NVDP__DTYPE_F16] = {"F16", 2}, [NVDP__DTYPE_BF16] = {"BF16", 2},
    [NVDP__DTYPE_I64] = {"I64", 8}, [NVDP__DTYPE_I32] = {"I32", 4},
    [NVDP__DTYPE_I16] = {"I16", 2}, [NVDP__DTYPE_I8] = {"I8", 1},
    [NVDP__DTYPE_U8] = {"U8", 1},   [NVDP__DTYPE_BOOL] = {"BOOL", 1},
};

const char *nvdp__dtype_name(enum nvdp__dtype dtype) {
    return dtypes[dtype].name;
}

size_t nvdp__dtype_size(enum nvdp__dtype dtype) {
    return dtypes[dtype].size;
}

/* Elements may be unaligned in the file, so each element is copied before it is converted. */
#define EACH(type, expression)                                                                     \
    for (size_t i = 0; i < info->count; i++) {                                                     \
        type x;                                                                                    \
        memcpy(&x, bytes + i * sizeof x, sizeof x);                                                \
        out[i] = (float)(expression);                                                              \
    }                                                                                              \
    break;

void nvdp__safetensors_read_f32(const struct nvdp__tensor_info *info, float *out) {
    const unsigned char *bytes = info->data;
    switch (info->dtype) {
    case NVDP__DTYPE_F64:
        EACH(double, x)
    case NVDP__DTYPE_F32:
        EACH(float, x)
    case NVDP__DTYPE_F16:
        EACH(uint16_t, nvdp__f16_to_float(x))
    case NVDP__DTYPE_BF16:
        EACH(uint16_t, nvdp__bfloat16_to_float(x))
    case NVDP__DTYPE_I64:
        EACH(int64_t, x)
    case NVDP__DTYPE_I32:
        EACH(int32_t, x)
    case NVDP__DTYPE_I16:
        EACH(int16_t, x)
    case NVDP__DTYPE_I8:
        EACH(int8_t, x)
    case NVDP__DTYPE_U8:
        EACH(uint8_t, x)
    case NVDP__DTYPE_BOOL:
        EACH(uint8_t, x != 0)
    }
}

/* ---- reading ---- */

enum { PREFIX_BYTES = 8, HEADER_LIMIT = 100 * 1000 * 1000, NAME_SHOWN = 200 };
#define METADATA "__metadata__"

struct nvdp__safetensors {
    struct nvdp_context *ctx;
    char *path;
    unsigned char *map;
    size_t size;
    const unsigned char *data; /* first byte after the header */
    size_t data_size;
    json_t *header; /* owner of the names */
    size_t count;
    struct nvdp__tensor_info *tensor; /* sorted by the position of their bytes */
    const struct nvdp__tensor_info **by_name;
};

/* "PATH: tensor 'NAME': expected ..., found ..." */
#define TENSOR_FAIL(file, name, format, ...)                                                       \
    nvdp__fail((file)->ctx, NVDP_ERR_INPUT, "%s: tensor '%.*s': " format, (file)->path,            \
               NAME_SHOWN, name, __VA_ARGS__)

static nvdp_status parse_header(struct nvdp__safetensors *file) {
    uint64_t length;
    memcpy(&length, file->map, sizeof length);
    size_t rest = file->size - PREFIX_BYTES;
    if (length > HEADER_LIMIT || length > rest)
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: header length: expected at most %zu, found %llu", file->path,
                          rest < HEADER_LIMIT ? rest : HEADER_LIMIT, (unsigned long long)length);
    const char *text = (const char *)file->map + PREFIX_BYTES;
    if (length == 0 || text[0] != '{')
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: header: expected '{' as its first byte, found %s", file->path,
                          length == 0 ? "an empty header" : "another");
    json_error_t error;
    file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (file->header == NULL) {
        if (json_error_code(&error) == json_error_out_of_memory)
            return nvdp__fail(file->ctx, NVDP_ERR_MEMORY, "%s: header: out of memory", file->path);
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: header: expected valid JSON, found an error at byte %d: %s",
                          file->path, error.position, error.text);
    }
    file->data = file->map + PREFIX_BYTES + length;
    file->data_size = rest - length;
    return NVDP_OK;
}

static nvdp_status check_metadata(struct nvdp__safetensors *file, json_t *metadata) {
    if (!json_is_object(metadata))
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: " METADATA ": expected an object, found another type", file->path);
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                              "%s: " METADATA ": '%.*s': expected a string, found another type",
                              file->path, NAME_SHOWN, key);
    }
    return NVDP_OK;
}

static nvdp_status parse_dtype(struct nvdp__safetensors *file, const json_t *entry,
                               struct nvdp__tensor_info *info) {
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    if (name == NULL) return TENSOR_FAIL(file, info->name, "expected a dtype, found %s", "none");
    for (int dtype = NVDP__DTYPE_F64; dtype <= NVDP__DTYPE_BOOL; dtype++) {
        if (strcmp(name, nvdp__dtype_name((enum nvdp__dtype)dtype)) != 0) continue;
        info->dtype = (enum nvdp__dtype)dtype;
        return NVDP_OK;
    }
    return TENSOR_FAIL(file, info->name,
                       "dtype: expected F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL, "
                       "found '%.*s'",
                       NAME_SHOWN, name);
}

/* Reads a size in JSON: an integer >= 0. */
static bool parse_size(const json_t *value, size_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

static nvdp_status parse_shape(struct nvdp__safetensors *file, const json_t *entry,
                               struct nvdp__tensor_info *info) {
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return TENSOR_FAIL(file, info->name, "expected a shape, found %s", "none");
    size_t rank = json_array_size(shape);
    if (rank > NVDP__SAFETENSORS_RANK)
        return TENSOR_FAIL(file, info->name, "expected at most %d dimensions, found %zu",
                           NVDP__SAFETENSORS_RANK, rank);
    info->rank = (int)rank;
    info->count = 1;
    for (size_t i = 0; i < rank; i++) {
        if (!parse_size(json_array_get(shape, i), &info->shape[i]))
            return TENSOR_FAIL(file, info->name,
                               "dimension %zu: expected an integer of at least 0, found another "
                               "value",
                               i);
        if (!nvdp__mul(info->count, info->shape[i], &info->count))
            return TENSOR_FAIL(
                file, info->name,
                "expected fewer than 2^64 elements, found more at dimension %zu of %zu", i,
                info->shape[i]);
    }
    return NVDP_OK;
}

static nvdp_status parse_place(struct nvdp__safetensors *file, const json_t *entry,
                               struct nvdp__tensor_info *info) {
    const json_t *offsets = json_object_get(entry, "data_offsets");
    size_t begin = 0;
    size_t end = 0;
    if (json_array_size(offsets) != 2 || !parse_size(json_array_get(offsets, 0), &begin) ||
        !parse_size(json_array_get(offsets, 1), &end))
        return TENSOR_FAIL(file, info->name, "data_offsets: expected two integers, found %s",
                           offsets == NULL ? "none" : "another value");
    if (begin > end || end > file->data_size)
        return TENSOR_FAIL(file, info->name,
                           "data_offsets: expected a range within 0 to %zu, found %zu to %zu",
                           file->data_size, begin, end);
    size_t bytes;
    if (!nvdp__mul(info->count, nvdp__dtype_size(info->dtype), &bytes) || bytes != end - begin)
        return TENSOR_FAIL(file, info->name,
                           "data_offsets: expected %zu elements of %zu bytes, found %zu bytes",
                           info->count, nvdp__dtype_size(info->dtype), end - begin);
    info->data = file->data + begin;
    return NVDP_OK;
}

static nvdp_status parse_tensors(struct nvdp__safetensors *file) {
    size_t capacity = json_object_size(file->header);
    NVDP_TRY(NVDP__NEW(file->ctx, file->tensor, capacity));
    NVDP_TRY(NVDP__NEW(file->ctx, file->by_name, capacity));
    const char *name;
    json_t *entry;
    json_object_foreach(file->header, name, entry) {
        struct nvdp__tensor_info *info = &file->tensor[file->count];
        if (strcmp(name, METADATA) == 0) {
            NVDP_TRY(check_metadata(file, entry));
            continue;
        }
        info->name = name;
        if (!json_is_object(entry))
            return TENSOR_FAIL(file, name, "expected an object, found %s", "another type");
        NVDP_TRY(parse_dtype(file, entry, info));
        NVDP_TRY(parse_shape(file, entry, info));
        NVDP_TRY(parse_place(file, entry, info));
        file->count++;
    }
    return NVDP_OK;
}

static int compare_position(const void *left, const void *right) {
    const struct nvdp__tensor_info *a = left, *b = right;
    const unsigned char *a_data = a->data, *b_data = b->data;
    if (a_data != b_data) return a_data < b_data ? -1 : 1;
    /* an empty tensor comes before the next tensor at the same position */
    return (a->count > b->count) - (a->count < b->count);
}

/* Checks that the tensors cover the data exactly: no overlap, no gap, and no bytes after the
 * last tensor. */
static nvdp_status check_cover(struct nvdp__safetensors *file) {
    qsort(file->tensor, file->count, sizeof *file->tensor, compare_position);
    size_t at = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct nvdp__tensor_info *info = &file->tensor[i];
        size_t begin = (size_t)((const unsigned char *)info->data - file->data);
        if (begin != at)
            return TENSOR_FAIL(file, info->name,
                               "data_offsets: expected to begin at %zu, found %zu (%s)", at, begin,
                               begin < at ? "an overlap" : "a hole");
        at += info->count * nvdp__dtype_size(info->dtype);
    }
    if (at != file->data_size)
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: expected %zu bytes of data for its tensors, found %zu", file->path,
                          at, file->data_size);
    return NVDP_OK;
}

static int compare_name(const void *left, const void *right) {
    const struct nvdp__tensor_info *const *a = left;
    const struct nvdp__tensor_info *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

nvdp_status nvdp__safetensors_open(struct nvdp_context *ctx, const char *path,
                                   struct nvdp__safetensors **out) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    NVDP_TRY(NVDP__NEW(ctx, file, 1));
    file->ctx = ctx;
    file->path = nvdp__strdup(ctx, path);
    NVDP_TRY(NVDP__MADE(file->path));
    NVDP_TRY(nvdp__map_file(ctx, path, PREFIX_BYTES, "a header length", &file->map, &file->size));
    NVDP_TRY(parse_header(file));
    NVDP_TRY(parse_tensors(file));
    NVDP_TRY(check_cover(file));
    for (size_t i = 0; i < file->count; i++)
        file->by_name[i] = &file->tensor[i];
    qsort(file->by_name, file->count, sizeof *file->by_name, compare_name);
    return NVDP__HAND_OVER(out, file);
}

void nvdp__safetensors_forget(struct nvdp__safetensors *file) {
    (void)madvise(file->map, file->size, MADV_DONTNEED);
}

void nvdp__safetensors_close(struct nvdp__safetensors *file) {
    if (file == NULL) return;
    if (file->map != NULL) munmap(file->map, file->size);
    json_decref(file->header);
    free(file->tensor);
    free(file->by_name);
    free(file->path);
    free(file);
}

size_t nvdp__safetensors_count(const struct nvdp__safetensors *file) {
    return file->count;
}

const struct nvdp__tensor_info *nvdp__safetensors_at(const struct nvdp__safetensors *file,
                                                     size_t i) {
    return i < file->count ? &file->tensor[i] : NULL;
}

const struct nvdp__tensor_info *nvdp__safetensors_find(const struct nvdp__safetensors *file,
                                                       const char *name) {
    const struct nvdp__tensor_info wanted = {.name = name};
    const struct nvdp__tensor_info *key = &wanted;
    const struct nvdp__tensor_info **found =
        bsearch(&key, file->by_name, file->count, sizeof *file->by_name, compare_name);
    return found != NULL ? *found : NULL;
}

const char *nvdp__safetensors_metadata(const struct nvdp__safetensors *file, const char *key) {
    return json_string_value(json_object_get(json_object_get(file->header, METADATA), key));
}

/* ---- writing: the header, then the data, wider element types first, so that every tensor is
 * aligned to its elements ---- */

enum { CHUNK = 4096, ALIGNMENT = 8 };

struct writer {
    struct nvdp_context *ctx;
    const char *path;
    const struct nvdp__tensor_source *tensors;
    nvdp__tensor_fetch fetch;
    void *user;
    struct nvdp__output *output;
};

#define SOURCE_FAIL(writer, source, format, ...)                                                   \
    nvdp__fail((writer)->ctx, NVDP_ERR_ARGUMENT, "%s: tensor '%.200s': " format, (writer)->path,   \
               (source)->name, __VA_ARGS__)

static bool is_rounded(enum nvdp__dtype dtype) {
    return dtype == NVDP__DTYPE_F16 || dtype == NVDP__DTYPE_BF16;
}

static nvdp_status check_source(const struct writer *writer,
                                const struct nvdp__tensor_source *source, size_t *elements) {
    enum nvdp__dtype dtype = source->dtype;
    if (dtype != NVDP__DTYPE_F32 && dtype != NVDP__DTYPE_F64 && dtype != NVDP__DTYPE_I64 &&
        dtype != NVDP__DTYPE_I32 && dtype != NVDP__DTYPE_I16 && !is_rounded(dtype))
        return SOURCE_FAIL(writer, source,
                           "dtype: expected F64, F32, F16, BF16, I64, I32 or I16, found %s",
                           dtype <= NVDP__DTYPE_BOOL ? nvdp__dtype_name(dtype) : "an unknown one");
    if (source->rank < 0 || source->rank > NVDP__SAFETENSORS_RANK)
        return SOURCE_FAIL(writer, source, "expected 0 to %d dimensions, found %d",
                           NVDP__SAFETENSORS_RANK, source->rank);
    size_t count = 1;
    size_t bytes;
    for (int i = 0; i < source->rank; i++) {
        if (!nvdp__mul(count, source->shape[i], &count))
            return SOURCE_FAIL(writer, source,
                               "expected fewer than 2^63 bytes, found dimension %d of %zu", i,
                               source->shape[i]);
    }
    if (!nvdp__mul(count, nvdp__dtype_size(dtype), &bytes) || bytes > INT64_MAX)
        return SOURCE_FAIL(writer, source, "expected fewer than 2^63 bytes, found %zu elements",
                           count);
    *elements = count;
    return NVDP_OK;
}

/* Returns {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}; NULL if memory is
 * exhausted. */
static json_t *describe(const struct nvdp__tensor_source *source, size_t begin, size_t end) {
    nvdp__autoptr(json_decref) json_t *shape = json_array();
    for (int i = 0; i < source->rank; i++)
        if (json_array_append_new(shape, json_integer((json_int_t)source->shape[i])) != 0)
            return NULL;
    return json_pack("{s:s, s:O, s:[I, I]}", "dtype", nvdp__dtype_name(source->dtype), "shape",
                     shape, "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static nvdp_status add_metadata(const struct writer *writer, const char *const *metadata,
                                json_t *header) {
    if (metadata == NULL || metadata[0] == NULL) return NVDP_OK;
    json_t *object = json_object();
    if (json_object_set_new(header, METADATA, object) != 0)
        return nvdp__fail(writer->ctx, NVDP_ERR_MEMORY, "%s: header: out of memory", writer->path);
    for (size_t i = 0; metadata[i] != NULL; i += 2) {
        if (metadata[i + 1] == NULL ||
            json_object_set_new(object, metadata[i], json_string(metadata[i + 1])) != 0)
            return nvdp__fail(writer->ctx, NVDP_ERR_ARGUMENT,
                              "%s: metadata '%.200s': expected a key and a value in UTF-8, found "
                              "other bytes or no value",
                              writer->path, metadata[i]);
    }
    return NVDP_OK;
}

static nvdp_status add_tensor(const struct writer *writer, const struct nvdp__tensor_source *source,
                              size_t *at, json_t *header) {
    size_t elements;
    size_t end;
    NVDP_TRY(check_source(writer, source, &elements));
    if (__builtin_add_overflow(*at, elements * nvdp__dtype_size(source->dtype), &end) ||
        end > INT64_MAX)
        return SOURCE_FAIL(writer, source,
                           "expected a file of fewer than 2^63 bytes, found %zu more", elements);
    if (json_object_get(header, source->name) != NULL)
        return SOURCE_FAIL(writer, source, "expected a unique name, found it %s", "twice");
    if (strcmp(source->name, METADATA) == 0)
        return SOURCE_FAIL(writer, source, "expected a tensor's name, found that of the %s",
                           "metadata");
    if (json_object_set_new(header, source->name, describe(source, *at, end)) != 0)
        return SOURCE_FAIL(writer, source, "expected a name in UTF-8, found %s", "other bytes");
    *at = end;
    return NVDP_OK;
}

nvdp_status nvdp__safetensors_header(struct nvdp_context *ctx, const char *path, size_t count,
                                     const struct nvdp__tensor_source *tensors,
                                     const char *const *metadata, char **bytes, size_t *size,
                                     uint64_t *start) {
    const struct writer writer = {.ctx = ctx, .path = path};
    nvdp__autoptr(json_decref) json_t *header = json_object();
    NVDP_TRY(add_metadata(&writer, metadata, header));
    size_t at = 0, elements;
    for (size_t i = 0; i < count; i++)
        NVDP_TRY(check_source(&writer, &tensors[i], &elements));
    for (size_t width = 8; width > 1; width /= 2)
        for (size_t i = 0; i < count; i++) {
            if (nvdp__dtype_size(tensors[i].dtype) != width) continue;
            if (start != NULL) start[i] = at;
            NVDP_TRY(add_tensor(&writer, &tensors[i], &at, header));
        }
    nvdp__autofree char *text = json_dumps(header, JSON_COMPACT);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: header: out of memory", path);
    const size_t length = strlen(text);
    const uint64_t total = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *size = sizeof total + total;
    *bytes = nvdp__calloc(ctx, *size, 1);
    NVDP_TRY(NVDP__MADE(*bytes));
    memset(*bytes, ' ', *size);
    memcpy(*bytes, &total, sizeof total);
    memcpy(*bytes + sizeof total, text, length);
    for (size_t i = 0; i < count && start != NULL; i++)
        start[i] += *size;
    return NVDP_OK;
}

/* Converts to a narrower type; fails for a finite value beyond the range of this type. */
static nvdp_status narrow(const struct writer *writer, const struct nvdp__tensor_source *source,
                          size_t n, const float *wide, uint16_t *narrowed) {
    for (size_t i = 0; i < n; i++) {
        bool ieee = source->dtype == NVDP__DTYPE_F16;
        narrowed[i] = ieee ? nvdp__f16_from_float(wide[i]) : nvdp__bfloat16_from_float(wide[i]);
        float back = ieee ? nvdp__f16_to_float(narrowed[i]) : nvdp__bfloat16_to_float(narrowed[i]);
        if (isfinite(wide[i]) && !isfinite(back))
            return SOURCE_FAIL(writer, source, "expected values within the range of %s, found %g",
                               nvdp__dtype_name(source->dtype), (double)wide[i]);
    }
    return NVDP_OK;
}

static nvdp_status write_tensor(const struct writer *writer, size_t index) {
    const struct nvdp__tensor_source *source = &writer->tensors[index];
    _Alignas(8) unsigned char chunk[CHUNK * 8];
    uint16_t narrowed[CHUNK];
    size_t size = nvdp__dtype_size(source->dtype);
    size_t elements;
    NVDP_TRY(check_source(writer, source, &elements));
    for (size_t first = 0; first < elements; first += CHUNK) {
        size_t n = nvdp__min(elements - first, CHUNK);
        writer->fetch(index, first, n, chunk, writer->user);
        const void *bytes = chunk;
        if (is_rounded(source->dtype)) {
            NVDP_TRY(narrow(writer, source, n, (const float *)(void *)chunk, narrowed));
            bytes = narrowed;
        }
        NVDP_TRY(nvdp__output_write(writer->output, bytes, n * size));
    }
    return NVDP_OK;
}

nvdp_status nvdp__safetensors_stream(struct nvdp_context *ctx, const char *path, size_t count,
                                     const struct nvdp__tensor_source *tensors,
                                     const char *const *metadata, nvdp__tensor_fetch fetch,
                                     void *user) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output output = {0};
    const struct writer writer = {ctx, path, tensors, fetch, user, &output};
    nvdp__autofree char *header = NULL;
    size_t bytes = 0;
    NVDP_TRY(nvdp__output_open(ctx, path, &output));
    NVDP_TRY(nvdp__safetensors_header(ctx, path, count, tensors, metadata, &header, &bytes, NULL));
    NVDP_TRY(nvdp__output_write(&output, header, bytes));
    for (size_t size = 8; size > 1; size /= 2)
        for (size_t i = 0; i < count; i++)
            if (nvdp__dtype_size(tensors[i].dtype) == size) NVDP_TRY(write_tensor(&writer, i));
    return nvdp__output_commit(&output, true);
}

static void fetch_from_memory(size_t index, size_t first, size_t n, void *out, void *user) {
    const struct nvdp__tensor_source *source = (const struct nvdp__tensor_source *)user + index;
    size_t size = is_rounded(source->dtype) ? sizeof(float) : nvdp__dtype_size(source->dtype);
    memcpy(out, (const unsigned char *)source->data + first * size, n * size);
}

nvdp_status nvdp__safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                    const struct nvdp__tensor_source *tensors,
                                    const char *const *metadata) {
    return nvdp__safetensors_stream(ctx, path, count, tensors, metadata, fetch_from_memory,
                                    (void *)tensors);
}
