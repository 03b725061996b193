/* Reading safetensors files.  Nothing of the header is believed before it has been checked. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <nvdp/safetensors.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PREFIX_BYTES = 8, HEADER_LIMIT = 100 * 1000 * 1000, NAME_SHOWN = 200 };
#define METADATA "__metadata__"

struct nvdp_safetensors {
    struct nvdp_context *ctx;
    char *path;
    unsigned char *map;
    size_t size;
    const unsigned char *data; /* after the header */
    size_t data_size;
    json_t *header; /* owns the names */
    size_t count;
    struct nvdp_tensor_info *tensor; /* in the order of their bytes */
    const struct nvdp_tensor_info **by_name;
};

/* "PATH: tensor 'NAME': expected ..., found ..." */
#define TENSOR_FAIL(file, name, format, ...)                                                       \
    nvdp__fail((file)->ctx, NVDP_ERR_INPUT, "%s: tensor '%.*s': " format, (file)->path,            \
               NAME_SHOWN, name, __VA_ARGS__)

static nvdp_status map_file(struct nvdp_safetensors *file) {
    nvdp_status status = NVDP_OK;
    struct stat info;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0)
        NVDP_TRY(nvdp__fail_errno(file->ctx, errno, "%s: cannot read", file->path));
    if (!S_ISREG(info.st_mode))
        NVDP_TRY(nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                            "%s: expected a regular file, found something else", file->path));
    size_t size = (size_t)info.st_size;
    if (size < PREFIX_BYTES)
        NVDP_TRY(nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                            "%s: expected a header length of %d bytes, found a file of %zu",
                            file->path, PREFIX_BYTES, size));
    void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        NVDP_TRY(nvdp__fail_errno(file->ctx, errno, "%s: cannot map", file->path));
    file->map = map;
    file->size = size;
cleanup:
    if (fd >= 0) close(fd);
    return status;
}

static nvdp_status parse_header(struct nvdp_safetensors *file) {
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
                          "%s: header: expected valid JSON, found at its byte %d: %s", file->path,
                          error.position, error.text);
    }
    file->data = file->map + PREFIX_BYTES + length;
    file->data_size = rest - length;
    return NVDP_OK;
}

static nvdp_status check_metadata(struct nvdp_safetensors *file, json_t *metadata) {
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

static nvdp_status parse_dtype(struct nvdp_safetensors *file, const json_t *entry,
                               struct nvdp_tensor_info *info) {
    const char *name = json_string_value(json_object_get(entry, "dtype"));
    if (name == NULL) return TENSOR_FAIL(file, info->name, "expected a dtype, found %s", "none");
    for (int dtype = NVDP_F64; dtype <= NVDP_BOOL; dtype++) {
        if (strcmp(name, nvdp_dtype_name((enum nvdp_dtype)dtype)) != 0) continue;
        info->dtype = (enum nvdp_dtype)dtype;
        return NVDP_OK;
    }
    return TENSOR_FAIL(file, info->name,
                       "dtype: expected F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL, "
                       "found '%.*s'",
                       NAME_SHOWN, name);
}

/* A size in JSON: an integer, not negative. */
static bool parse_size(const json_t *value, size_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
    *out = (size_t)json_integer_value(value);
    return true;
}

static nvdp_status parse_shape(struct nvdp_safetensors *file, const json_t *entry,
                               struct nvdp_tensor_info *info) {
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape))
        return TENSOR_FAIL(file, info->name, "expected a shape, found %s", "none");
    size_t rank = json_array_size(shape);
    if (rank > NVDP_SAFETENSORS_RANK)
        return TENSOR_FAIL(file, info->name, "expected at most %d dimensions, found %zu",
                           NVDP_SAFETENSORS_RANK, rank);
    info->rank = (int)rank;
    info->count = 1;
    for (size_t i = 0; i < rank; i++) {
        if (!parse_size(json_array_get(shape, i), &info->shape[i]))
            return TENSOR_FAIL(file, info->name,
                               "dimension %zu: expected an integer of at least 0, found another "
                               "value",
                               i);
        if (!nvdp__mul(info->count, info->shape[i], &info->count))
            return TENSOR_FAIL(file, info->name,
                               "expected a number of elements below 2^64, found dimension %zu of "
                               "%zu beyond it",
                               i, info->shape[i]);
    }
    return NVDP_OK;
}

static nvdp_status parse_place(struct nvdp_safetensors *file, const json_t *entry,
                               struct nvdp_tensor_info *info) {
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
    if (!nvdp__mul(info->count, nvdp_dtype_size(info->dtype), &bytes) || bytes != end - begin)
        return TENSOR_FAIL(file, info->name,
                           "data_offsets: expected %zu elements of %zu bytes, found %zu bytes",
                           info->count, nvdp_dtype_size(info->dtype), end - begin);
    info->data = file->data + begin;
    return NVDP_OK;
}

static nvdp_status parse_tensor(struct nvdp_safetensors *file, const char *name,
                                const json_t *entry, struct nvdp_tensor_info *info) {
    info->name = name;
    if (!json_is_object(entry))
        return TENSOR_FAIL(file, name, "expected an object, found %s", "another type");
    NVDP_RETURN_IF_FAILED(parse_dtype(file, entry, info));
    NVDP_RETURN_IF_FAILED(parse_shape(file, entry, info));
    return parse_place(file, entry, info);
}

static nvdp_status parse_tensors(struct nvdp_safetensors *file) {
    size_t room = json_object_size(file->header);
    file->tensor = nvdp__calloc(file->ctx, room, sizeof *file->tensor);
    file->by_name = nvdp__calloc(file->ctx, room, sizeof *file->by_name);
    if (file->tensor == NULL || file->by_name == NULL) return NVDP_ERR_MEMORY;
    const char *name;
    json_t *entry;
    json_object_foreach(file->header, name, entry) {
        if (strcmp(name, METADATA) == 0) {
            NVDP_RETURN_IF_FAILED(check_metadata(file, entry));
        } else {
            NVDP_RETURN_IF_FAILED(parse_tensor(file, name, entry, &file->tensor[file->count]));
            file->count++;
        }
    }
    return NVDP_OK;
}

static size_t byte_count(const struct nvdp_tensor_info *info) {
    return info->count * nvdp_dtype_size(info->dtype);
}

static int compare_place(const void *left, const void *right) {
    const struct nvdp_tensor_info *a = left;
    const struct nvdp_tensor_info *b = right;
    const unsigned char *a_data = a->data;
    const unsigned char *b_data = b->data;
    if (a_data != b_data) return a_data < b_data ? -1 : 1;
    size_t a_bytes = byte_count(a);
    size_t b_bytes = byte_count(b);
    return (a_bytes > b_bytes) - (a_bytes < b_bytes); /* empty tensors before what follows them */
}

/* The tensors must cover the data end to end: no overlap, no hole, nothing behind the last. */
static nvdp_status check_cover(struct nvdp_safetensors *file) {
    qsort(file->tensor, file->count, sizeof *file->tensor, compare_place);
    size_t at = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct nvdp_tensor_info *info = &file->tensor[i];
        size_t begin = (size_t)((const unsigned char *)info->data - file->data);
        if (begin != at)
            return TENSOR_FAIL(file, info->name,
                               "data_offsets: expected to begin at %zu, found %zu (%s)", at, begin,
                               begin < at ? "an overlap" : "a hole");
        at += byte_count(info);
    }
    if (at != file->data_size)
        return nvdp__fail(file->ctx, NVDP_ERR_INPUT,
                          "%s: expected %zu bytes of data for its tensors, found %zu", file->path,
                          at, file->data_size);
    return NVDP_OK;
}

static int compare_name(const void *left, const void *right) {
    const struct nvdp_tensor_info *const *a = left;
    const struct nvdp_tensor_info *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

nvdp_status nvdp_safetensors_open(struct nvdp_context *ctx, const char *path,
                                  struct nvdp_safetensors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_safetensors *file = nvdp__calloc(ctx, 1, sizeof *file);
    if (file == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    file->ctx = ctx;
    file->path = nvdp__strdup(ctx, path);
    if (file->path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(map_file(file));
    NVDP_TRY(parse_header(file));
    NVDP_TRY(parse_tensors(file));
    NVDP_TRY(check_cover(file));
    for (size_t i = 0; i < file->count; i++) {
        file->by_name[i] = &file->tensor[i];
    }
    qsort(file->by_name, file->count, sizeof *file->by_name, compare_name);
    *out = file;
    file = NULL;
cleanup:
    nvdp_safetensors_close(file);
    return status;
}

void nvdp_safetensors_close(struct nvdp_safetensors *file) {
    if (file == NULL) return;
    if (file->map != NULL) munmap(file->map, file->size);
    json_decref(file->header);
    free(file->tensor);
    free(file->by_name);
    free(file->path);
    free(file);
}

size_t nvdp_safetensors_count(const struct nvdp_safetensors *file) {
    return file->count;
}

const struct nvdp_tensor_info *nvdp_safetensors_at(const struct nvdp_safetensors *file, size_t i) {
    return i < file->count ? &file->tensor[i] : NULL;
}

const struct nvdp_tensor_info *nvdp_safetensors_find(const struct nvdp_safetensors *file,
                                                     const char *name) {
    const struct nvdp_tensor_info wanted = {.name = name};
    const struct nvdp_tensor_info *key = &wanted;
    const struct nvdp_tensor_info **found =
        bsearch(&key, file->by_name, file->count, sizeof *file->by_name, compare_name);
    return found != NULL ? *found : NULL;
}

const char *nvdp_safetensors_metadata(const struct nvdp_safetensors *file, const char *key) {
    return json_string_value(json_object_get(json_object_get(file->header, METADATA), key));
}
