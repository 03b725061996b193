/* Writing safetensors files: header, then the data, wider element types first so that every tensor
 * is aligned to its elements. */
#include "bert/safetensors_write.h"

#include "base/f16.h"
#include "base/file.h"
#include "tensor/bf16.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

enum { PIECE = 4096, ALIGNMENT = 8 };

struct writer {
    struct nvdp_context *ctx;
    const char *path;
    size_t count;
    const struct nvdp_tensor_source *tensors;
    nvdp__tensor_fetch fetch;
    void *user;
    struct nvdp__output output;
};

#define SOURCE_FAIL(writer, source, format, ...)                                                   \
    nvdp__fail((writer)->ctx, NVDP_ERR_ARGUMENT, "%s: tensor '%.200s': " format, (writer)->path,   \
               (source)->name, __VA_ARGS__)

static bool is_half(enum nvdp_dtype dtype) {
    return dtype == NVDP_F16 || dtype == NVDP_BF16;
}

static nvdp_status check_source(const struct writer *writer,
                                const struct nvdp_tensor_source *source, size_t *elements) {
    enum nvdp_dtype dtype = source->dtype;
    if (dtype != NVDP_F32 && dtype != NVDP_F64 && dtype != NVDP_I64 && dtype != NVDP_I32 &&
        !is_half(dtype))
        return SOURCE_FAIL(writer, source,
                           "dtype: expected F64, F32, F16, BF16, I64 or I32, found %s",
                           dtype <= NVDP_BOOL ? nvdp_dtype_name(dtype) : "an unknown one");
    if (source->rank < 0 || source->rank > NVDP_SAFETENSORS_RANK)
        return SOURCE_FAIL(writer, source, "expected 0 to %d dimensions, found %d",
                           NVDP_SAFETENSORS_RANK, source->rank);
    size_t count = 1;
    size_t bytes;
    for (int i = 0; i < source->rank; i++) {
        if (!nvdp__mul(count, source->shape[i], &count))
            return SOURCE_FAIL(writer, source,
                               "expected fewer than 2^63 bytes, found dimension %d of %zu", i,
                               source->shape[i]);
    }
    if (!nvdp__mul(count, nvdp_dtype_size(dtype), &bytes) || bytes > INT64_MAX)
        return SOURCE_FAIL(writer, source, "expected fewer than 2^63 bytes, found %zu elements",
                           count);
    *elements = count;
    return NVDP_OK;
}

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}; NULL without memory. */
static json_t *describe(const struct nvdp_tensor_source *source, size_t begin, size_t end) {
    json_t *shape = json_array();
    for (int i = 0; i < source->rank; i++) {
        if (json_array_append_new(shape, json_integer((json_int_t)source->shape[i])) != 0) {
            json_decref(shape);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", nvdp_dtype_name(source->dtype), "shape",
                     shape, "data_offsets", (json_int_t)begin, (json_int_t)end);
}

static nvdp_status add_metadata(const struct writer *writer, const char *const *metadata,
                                json_t *header) {
    if (metadata == NULL || metadata[0] == NULL) return NVDP_OK;
    json_t *object = json_object();
    if (json_object_set_new(header, "__metadata__", object) != 0)
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

static nvdp_status add_tensor(const struct writer *writer, const struct nvdp_tensor_source *source,
                              size_t *at, json_t *header) {
    size_t elements;
    size_t end;
    NVDP_RETURN_IF_FAILED(check_source(writer, source, &elements));
    if (__builtin_add_overflow(*at, elements * nvdp_dtype_size(source->dtype), &end) ||
        end > INT64_MAX)
        return SOURCE_FAIL(writer, source,
                           "expected a file of fewer than 2^63 bytes, found %zu more", elements);
    if (json_object_get(header, source->name) != NULL)
        return SOURCE_FAIL(writer, source, "expected a name of its own, found it %s", "twice");
    if (json_object_set_new(header, source->name, describe(source, *at, end)) != 0)
        return SOURCE_FAIL(writer, source, "expected a name in UTF-8, found %s", "other bytes");
    *at = end;
    return NVDP_OK;
}

static nvdp_status write_header(struct writer *writer, const char *const *metadata) {
    nvdp_status status = NVDP_OK;
    char *text = NULL;
    json_t *header = json_object();
    NVDP_TRY(add_metadata(writer, metadata, header));
    size_t at = 0;
    size_t elements;
    for (size_t i = 0; i < writer->count; i++) {
        NVDP_TRY(check_source(writer, &writer->tensors[i], &elements));
    }
    for (size_t size = 8; size > 1; size /= 2) {
        for (size_t i = 0; i < writer->count; i++) {
            const struct nvdp_tensor_source *source = &writer->tensors[i];
            if (nvdp_dtype_size(source->dtype) == size)
                NVDP_TRY(add_tensor(writer, source, &at, header));
        }
    }
    text = json_dumps(header, JSON_COMPACT);
    if (text == NULL)
        NVDP_TRY(
            nvdp__fail(writer->ctx, NVDP_ERR_MEMORY, "%s: header: out of memory", writer->path));
    size_t length = strlen(text);
    int padding = (int)((ALIGNMENT - length % ALIGNMENT) % ALIGNMENT);
    uint64_t total = length + (size_t)padding;
    NVDP_TRY(nvdp__output_write(&writer->output, &total, sizeof total));
    NVDP_TRY(nvdp__output_write(&writer->output, text, length));
    NVDP_TRY(nvdp__output_write(&writer->output, "       ", (size_t)padding));
cleanup:
    json_decref(header);
    free(text);
    return status;
}

/* A finite value that the narrower type cannot hold would be lost. */
static nvdp_status narrow(const struct writer *writer, const struct nvdp_tensor_source *source,
                          size_t n, const float *wide, uint16_t *half) {
    for (size_t i = 0; i < n; i++) {
        bool ieee = source->dtype == NVDP_F16;
        half[i] = ieee ? nvdp__f16_from_float(wide[i]) : nvdp__bfloat16_from_float(wide[i]);
        float back = ieee ? nvdp__f16_to_float(half[i]) : nvdp__bfloat16_to_float(half[i]);
        if (isfinite(wide[i]) && !isfinite(back))
            return SOURCE_FAIL(writer, source, "expected values within the range of %s, found %g",
                               nvdp_dtype_name(source->dtype), (double)wide[i]);
    }
    return NVDP_OK;
}

static nvdp_status write_tensor(struct writer *writer, size_t index) {
    const struct nvdp_tensor_source *source = &writer->tensors[index];
    _Alignas(8) unsigned char piece[PIECE * 8];
    uint16_t half[PIECE];
    size_t size = nvdp_dtype_size(source->dtype);
    size_t elements;
    NVDP_RETURN_IF_FAILED(check_source(writer, source, &elements));
    for (size_t first = 0; first < elements; first += PIECE) {
        size_t n = elements - first < PIECE ? elements - first : PIECE;
        writer->fetch(index, first, n, piece, writer->user);
        const void *bytes = piece;
        if (is_half(source->dtype)) {
            NVDP_RETURN_IF_FAILED(narrow(writer, source, n, (const float *)(void *)piece, half));
            bytes = half;
        }
        NVDP_RETURN_IF_FAILED(nvdp__output_write(&writer->output, bytes, n * size));
    }
    return NVDP_OK;
}

nvdp_status nvdp__safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                    const struct nvdp_tensor_source *tensors,
                                    const char *const *metadata, nvdp__tensor_fetch fetch,
                                    void *user) {
    nvdp_status status = NVDP_OK;
    struct writer writer = {ctx, path, count, tensors, fetch, user, {0}};
    NVDP_TRY(nvdp__output_open(ctx, path, &writer.output));
    NVDP_TRY(write_header(&writer, metadata));
    for (size_t size = 8; size > 1; size /= 2) {
        for (size_t i = 0; i < count; i++) {
            if (nvdp_dtype_size(tensors[i].dtype) == size) NVDP_TRY(write_tensor(&writer, i));
        }
    }
    NVDP_TRY(nvdp__output_commit(&writer.output));
cleanup:
    nvdp__output_abort(&writer.output);
    return status;
}

static void fetch_from_memory(size_t index, size_t first, size_t n, void *out, void *user) {
    const struct nvdp_tensor_source *source = (const struct nvdp_tensor_source *)user + index;
    size_t size = is_half(source->dtype) ? sizeof(float) : nvdp_dtype_size(source->dtype);
    memcpy(out, (const unsigned char *)source->data + first * size, n * size);
}

nvdp_status nvdp_safetensors_write(struct nvdp_context *ctx, const char *path, size_t count,
                                   const struct nvdp_tensor_source *tensors,
                                   const char *const *metadata) {
    return nvdp__safetensors_write(ctx, path, count, tensors, metadata, fetch_from_memory,
                                   (void *)tensors);
}
