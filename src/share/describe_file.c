/* Files: HDF5 of any kind, safetensors, vocabularies. */
#include "base/file.h"
#include "base/hdf5.h"
#include "share/describe.h"
#include <errno.h>
#include <nvdp/safetensors.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { HEAD = 9 };
static const size_t VOCABULARY_LIMIT = (size_t)64 << 20;

static json_t *shape_json(int rank, const size_t *shape) {
    json_t *array = json_array();
    for (int d = 0; d < rank; d++) {
        json_array_append_new(array, json_integer((json_int_t)shape[d]));
    }
    return array;
}

static nvdp_status no_memory(struct nvdp_context *ctx, const char *path) {
    return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
}

static json_t *start(const char *path, const char *kind) {
    struct stat info = {0};
    json_t *object = json_object();
    if (stat(path, &info) != 0) info.st_size = 0;
    json_object_set_new(object, "kind", nvdp__shown(kind));
    json_object_set_new(object, "bytes", json_integer((json_int_t)info.st_size));
    return object;
}

/* --- HDF5 --- */

static void add_dataset(const char *name, int rank, const size_t *shape, const char *type,
                        void *user) {
    json_array_append_new(user, json_pack("{s:o,s:s,s:o}", "name", nvdp__shown(name), "type", type,
                                          "shape", shape_json(rank, shape)));
}

static void add_attribute(const char *name, const char *value, void *user) {
    json_t *key = nvdp__shown(name);
    if (key != NULL) json_object_set_new(user, json_string_value(key), nvdp__shown(value));
    json_decref(key);
}

static nvdp_status describe_hdf5(struct nvdp_context *ctx, const char *path, json_t **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = NULL;
    char *format = NULL;
    json_t *object = NULL;
    json_t *datasets = json_array();
    json_t *attributes = json_object();
    if (datasets == NULL || attributes == NULL) NVDP_TRY(no_memory(ctx, path));
    NVDP_TRY(nvdp__h5_open(ctx, path, NULL, 0, &file));
    if (nvdp__h5_has_attribute(file, "nvdp_format"))
        NVDP_TRY(nvdp__h5_get_string(file, "nvdp_format", &format));
    NVDP_TRY(nvdp__h5_list(file, add_dataset, datasets));
    NVDP_TRY(nvdp__h5_list_attributes(file, add_attribute, attributes));
    json_object_del(attributes, "nvdp_format");
    object = start(path, format != NULL ? format : "HDF5");
    if (json_object_set(object, "datasets", datasets) != 0 ||
        json_object_set(object, "attributes", attributes) != 0)
        NVDP_TRY(no_memory(ctx, path));
    *out = object;
    object = NULL;
cleanup:
    json_decref(object);
    json_decref(datasets);
    json_decref(attributes);
    free(format);
    nvdp__h5_free(file);
    return status;
}

/* --- safetensors --- */

static nvdp_status describe_safetensors(struct nvdp_context *ctx, const char *path, json_t **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_safetensors *file = NULL;
    json_t *object = NULL;
    json_t *tensors = NULL;
    size_t elements = 0;
    NVDP_TRY(nvdp_safetensors_open(ctx, path, &file));
    tensors = json_array();
    for (size_t i = 0; i < nvdp_safetensors_count(file); i++) {
        const struct nvdp_tensor_info *info = nvdp_safetensors_at(file, i);
        elements += info->count;
        json_array_append_new(tensors, json_pack("{s:o,s:s,s:o}", "name", nvdp__shown(info->name),
                                                 "type", nvdp_dtype_name(info->dtype), "shape",
                                                 shape_json(info->rank, info->shape)));
    }
    object = start(path, "safetensors");
    json_object_set_new(object, "count", json_integer((json_int_t)json_array_size(tensors)));
    json_object_set_new(object, "elements", json_integer((json_int_t)elements));
    if (json_object_set(object, "tensors", tensors) != 0) NVDP_TRY(no_memory(ctx, path));
    *out = object;
    object = NULL;
cleanup:
    json_decref(object);
    json_decref(tensors);
    nvdp_safetensors_close(file);
    return status;
}

/* --- vocabularies --- */

struct vocabulary {
    size_t pieces, continuations, longest; /* bytes */
    size_t empty, spaced;                  /* lines that no vocabulary has */
    bool unknown;                          /* has [UNK] */
};

static void count_piece(struct vocabulary *counts, const char *line, size_t size) {
    if (size > 0 && line[size - 1] == '\r') size--;
    counts->pieces++;
    counts->empty += size == 0;
    counts->spaced += memchr(line, ' ', size) != NULL || memchr(line, '\t', size) != NULL ||
                      memchr(line, '\0', size) != NULL;
    counts->continuations += size > 2 && memcmp(line, "##", 2) == 0;
    if (size > counts->longest) counts->longest = size;
    if (size == 5 && memcmp(line, "[UNK]", 5) == 0) counts->unknown = true;
}

static nvdp_status describe_vocabulary(struct nvdp_context *ctx, const char *path, json_t **out) {
    struct vocabulary counts = {0};
    char *bytes = NULL;
    size_t size = 0;
    NVDP_RETURN_IF_FAILED(nvdp__read_file(ctx, path, VOCABULARY_LIMIT, &bytes, &size));
    for (const char *at = bytes; at < bytes + size;) {
        const char *end = memchr(at, '\n', (size_t)(bytes + size - at));
        if (end == NULL) end = bytes + size;
        count_piece(&counts, at, (size_t)(end - at));
        at = end + 1;
    }
    free(bytes);
    if (!counts.unknown || counts.spaced > 0)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected HDF5, safetensors or a vocabulary with [UNK], found another "
            "kind of file",
            path);
    json_t *object = start(path, "vocabulary");
    json_object_set_new(object, "pieces", json_integer((json_int_t)counts.pieces));
    json_object_set_new(object, "continuations", json_integer((json_int_t)counts.continuations));
    json_object_set_new(object, "longest_bytes", json_integer((json_int_t)counts.longest));
    json_object_set_new(object, "empty_lines", json_integer((json_int_t)counts.empty));
    *out = object;
    return object != NULL ? NVDP_OK : no_memory(ctx, path);
}

/* --- which --- */

static bool ends_with(const char *text, const char *tail) {
    size_t length = strlen(text);
    size_t least = strlen(tail);
    return length >= least && strcmp(text + length - least, tail) == 0;
}

nvdp_status nvdp__describe_file(struct nvdp_context *ctx, const char *path, json_t **out) {
    static const unsigned char hdf5[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char head[HEAD] = {0};
    FILE *file = fopen(path, "rbe");
    if (file == NULL) return nvdp__fail_errno(ctx, errno, "%s: cannot read", path);
    size_t size = fread(head, 1, HEAD, file);
    fclose(file);
    if (size >= sizeof hdf5 && memcmp(head, hdf5, sizeof hdf5) == 0)
        return describe_hdf5(ctx, path, out);
    /* a length below 2^32, then a JSON object */
    bool tensors = size == HEAD && head[8] == '{' && memcmp(head + 4, "\0\0\0\0", 4) == 0;
    if (tensors || ends_with(path, ".safetensors")) return describe_safetensors(ctx, path, out);
    return describe_vocabulary(ctx, path, out);
}
