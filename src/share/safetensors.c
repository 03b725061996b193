/* Writes and reads releases as safetensors, with one tensor per dataset (docs/formats.md).  The row for the table of
 * formats is at the end. */
#include "encoder/safetensors.h"
#include "share/release.h"

#include "encoder/checkpoint.h"
#include <stdlib.h>

#include "base/f16.h"
#include "base/json.h"
#include "base/own.h"

static const enum nvdp__dtype dtypes[] = {
    [NVDP__H5_F16] = NVDP__DTYPE_F16, [NVDP__H5_F32] = NVDP__DTYPE_F32,
    [NVDP__H5_F64] = NVDP__DTYPE_F64, [NVDP__H5_I64] = NVDP__DTYPE_I64,
    [NVDP__H5_I32] = NVDP__DTYPE_I32, [NVDP__H5_I16] = NVDP__DTYPE_I16};

enum { MAX_TENSORS = 6, BUFFER = 1 << 15 };

struct tensors {
    struct nvdp__safetensors *file; /* file of a reader */
    uint64_t start[MAX_TENSORS]; /* for a writer, first bytes of z, log_pi and the other tensors */
    unsigned char *buffer;       /* [BUFFER] stored values */
};

static struct nvdp__safetensors *tensors_file(const struct nvdp__release *release) {
    return ((struct tensors *)release->of)->file;
}

/* --- writing --- */

static void add_tensor(struct nvdp__tensor_source source[MAX_TENSORS], size_t *count,
                       const char *name, enum nvdp__h5_type type, size_t rows, size_t dim,
                       const void *data) {
    source[(*count)++] = (struct nvdp__tensor_source){.name = name,
                                                      .dtype = dtypes[type],
                                                      .rank = dim > 0 ? 2 : 1,
                                                      .shape = {rows, dim},
                                                      .data = data};
}

/* Lists the tensors.  Rows are stored end to end under both length policies: `offset` has the first row of every
 * sample. */
static size_t list_tensors(const struct nvdp__release *release,
                           struct nvdp__tensor_source source[MAX_TENSORS]) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    size_t count = 0;
    add_tensor(source, &count, "z", shape->grid, shape->rows, shape->dim, NULL);
    if (shape->weights)
        add_tensor(source, &count, "log_pi", nvdp__weight_type(shape), shape->rows, 0, NULL);
    add_tensor(source, &count, "offset", NVDP__H5_I64, shape->texts * shape->samples + 1, 0,
               release->offset);
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        if (release->column[c] != NULL)
            add_tensor(source, &count, nvdp__text_columns[c].name, nvdp__text_columns[c].type,
                       shape->texts, 0, release->column[c]);
    return count;
}

/* Writes the header.  Its length changes only with the lengths of the attributes. */
static nvdp_status write_header(struct nvdp__release *release) {
    struct tensors *of = release->of;
    struct nvdp__tensor_source source[MAX_TENSORS];
    nvdp__autofree const char **words = NULL;
    nvdp__autofree char *header = NULL;
    size_t size = 0;
    NVDP_TRY(nvdp__attributes_words(&release->attributes, &words));
    NVDP_TRY(nvdp__safetensors_header(release->ctx, release->path, list_tensors(release, source),
                                      source, words, &header, &size, of->start));
    return nvdp__release_put(release, 0, size, header);
}

static nvdp_status open_writer(struct nvdp__release *release) {
    struct nvdp__tensor_source source[MAX_TENSORS];
    struct tensors *of = release->of;
    of->buffer = nvdp__calloc(release->ctx, BUFFER, sizeof(int32_t));
    NVDP_TRY(NVDP__MADE(of->buffer));
    NVDP_TRY(write_header(release));
    const size_t count = list_tensors(release, source);
    for (size_t i = 0; i < count; i++)
        if (source[i].data != NULL)
            NVDP_TRY(nvdp__release_put(release, of->start[i],
                                       source[i].shape[0] * nvdp__dtype_size(source[i].dtype),
                                       source[i].data));
    return NVDP_OK;
}

static nvdp_status put_values(struct nvdp__release *release, size_t tensor, enum nvdp__h5_type type,
                              size_t first, size_t n, const void *values) {
    const struct tensors *of = release->of;
    const size_t size = nvdp__h5_stored_size(type);
    for (size_t done = 0; done < n; done += BUFFER) {
        const size_t count = nvdp__min(n - done, BUFFER);
        nvdp__store(type, count, (const int32_t *)values + done, of->buffer); /* float or int32_t */
        NVDP_TRY(nvdp__release_put(release, of->start[tensor] + (first + done) * size, count * size,
                                   of->buffer));
    }
    return NVDP_OK;
}

static nvdp_status append(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t dim = shape->dim;
    NVDP_TRY(put_values(release, 0, shape->grid, first * dim, rows * dim, z));
    return shape->weights ? put_values(release, 1, nvdp__weight_type(shape), first, rows, log_pi)
                          : NVDP_OK;
}

/* --- reading --- */

static nvdp_status find_tensor(struct nvdp__release *release, const char *name,
                               enum nvdp__h5_type type, size_t count,
                               const struct nvdp__tensor_info **out) {
    const enum nvdp__dtype dtype = dtypes[type];
    const struct nvdp__tensor_info *found = nvdp__safetensors_find(tensors_file(release), name);
    if (found == NULL || found->dtype != dtype || found->count != count)
        return NVDP__BAD_FILE(release, "tensor '%s': expected %zu values of type %s, found %zu%s%s",
                              name, count, nvdp__dtype_name(dtype),
                              found != NULL ? found->count : 0, found != NULL ? " of type " : "",
                              found != NULL ? nvdp__dtype_name(found->dtype) : "");
    *out = found;
    return NVDP_OK;
}

/* Converts values [first, first + n) of a tensor to the memory type. */
static void grid_values(const struct nvdp__tensor_info *tensor, size_t first, size_t n, void *out) {
    const size_t size = nvdp__dtype_size(tensor->dtype);
    const char *at = (const char *)tensor->data + first * size;
    for (size_t i = 0; i < n; i++, at += size) {
        uint16_t half;
        int16_t narrow;
        memcpy(&half, at, sizeof half);
        memcpy(&narrow, at, sizeof narrow);
        if (tensor->dtype == NVDP__DTYPE_F16)
            ((float *)out)[i] = nvdp__f16_to_float(half);
        else if (tensor->dtype == NVDP__DTYPE_I16)
            ((int32_t *)out)[i] = narrow;
        else
            memcpy((int32_t *)out + i, at, sizeof(int32_t));
    }
}

static nvdp_status read_rows(struct nvdp__release *release, size_t first, size_t n, void *z,
                             void *log_pi) {
    const struct nvdp__safetensors *file = tensors_file(release);
    const size_t dim = release->shape.dim;
    if (z != NULL) grid_values(nvdp__safetensors_find(file, "z"), first * dim, n * dim, z);
    if (log_pi != NULL) grid_values(nvdp__safetensors_find(file, "log_pi"), first, n, log_pi);
    return NVDP_OK;
}

/* Reads the metadata and refuses duplicate keys. */
static nvdp_status read_metadata(struct nvdp__release *release) {
    nvdp__autoptr(json_decref) json_t *header = NULL;
    json_t *value;
    const char *key;
    nvdp__autofree char *bytes = NULL;
    nvdp__autoptr(fclose) FILE *file = NULL;
    uint64_t size = 0; /* valid: the file was opened before */
    NVDP_TRY(nvdp__fopen_regular(release->ctx, release->path, &file));
    if (fread(&size, sizeof size, 1, file) == 1) bytes = nvdp__calloc(release->ctx, size + 1, 1);
    NVDP_TRY(NVDP__MADE(bytes));
    header = json_loadb(bytes, fread(bytes, 1, size, file), JSON_REJECT_DUPLICATES, NULL);
    json_object_foreach(json_object_get(header, "__metadata__"), key, value) {
        NVDP_TRY(nvdp__attributes_parse(&release->attributes, key, json_string_value(value)));
    }
    return NVDP_OK;
}

static nvdp_status open_reader(struct nvdp__release *release) {
    const struct nvdp__tensor_info *z, *log_pi, *offset = NULL;
    struct tensors *of = release->of;
    NVDP_TRY(nvdp__safetensors_open(release->ctx, release->path, &of->file));
    NVDP_TRY(read_metadata(release));
    z = nvdp__safetensors_find(of->file, "z");
    log_pi = nvdp__safetensors_find(of->file, "log_pi");
    if (z == NULL || z->rank != 2)
        return NVDP__BAD_FILE(release, "tensor 'z': expected two dimensions, found %s",
                              z == NULL ? "none" : "another");
    NVDP_TRY(nvdp__release_shape(release, z->shape[0], z->shape[1], log_pi != NULL));
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t offsets = shape->texts * shape->samples + 1;
    NVDP_TRY(find_tensor(release, "z", shape->grid, shape->rows * shape->dim, &z));
    if (shape->weights)
        NVDP_TRY(find_tensor(release, "log_pi", nvdp__weight_type(shape), shape->rows, &log_pi));
    NVDP_TRY(find_tensor(release, "offset", NVDP__H5_I64, offsets, &offset));
    NVDP_TRY(NVDP__NEW(release->ctx, release->offset, offsets));
    memcpy(release->offset, offset->data, offsets * sizeof *release->offset);
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++) {
        const struct nvdp__text_column *column = &nvdp__text_columns[c];
        const struct nvdp__tensor_info *found = NULL;
        if (nvdp__safetensors_find(of->file, column->name) == NULL) continue;
        NVDP_TRY(find_tensor(release, column->name, column->type, shape->texts, &found));
        NVDP_TRY(nvdp__release_make_column(release, c));
        memcpy(release->column[c], found->data, shape->texts * nvdp__h5_stored_size(column->type));
    }
    return NVDP_OK;
}

static void close_file(struct nvdp__release *release) {
    struct tensors *of = release->of;
    nvdp__safetensors_close(of->file);
    free(of->buffer);
}

/* --- the row for the table of formats --- */

/* Recognizes a length below 2^32 followed by a JSON object, or the extension. */
static bool is_safetensors(const char *path, const unsigned char *first, size_t count) {
    return (count >= NVDP__FORMAT_HEAD && first[8] == '{' &&
            memcmp(first + 4, "\0\0\0\0", 4) == 0) ||
           nvdp__ends_with(path, ".safetensors");
}

static nvdp_status describe(struct nvdp_context *ctx, const char *path, json_t *object) {
    nvdp__autoptr(nvdp__safetensors_close) struct nvdp__safetensors *file = NULL;
    size_t elements = 0;
    NVDP_TRY(nvdp__safetensors_open(ctx, path, &file));
    json_t *tensors = json_array();
    for (size_t i = 0; i < nvdp__safetensors_count(file); i++) {
        const struct nvdp__tensor_info *info = nvdp__safetensors_at(file, i);
        elements += info->count;
        nvdp__describe_dataset(info->name, info->rank, info->shape, nvdp__dtype_name(info->dtype),
                               tensors);
    }
    const char *format = nvdp__safetensors_metadata(file, "nvdp_format");
    const char *statement = nvdp__safetensors_metadata(file, "statement");
    nvdp__describe_start(object, path, "safetensors");
    if (format != NULL && statement != NULL)
        json_object_set_new(object, "attributes",
                            json_pack("{s:o,s:o}", "nvdp_format", nvdp__shown(format), "statement",
                                      nvdp__shown(statement)));
    json_t *counts = json_pack("{s:I,s:I,s:o}", "count", (json_int_t)json_array_size(tensors),
                               "elements", (json_int_t)elements, "tensors", tensors);
    return json_object_update_new(object, counts) == 0
               ? NVDP_OK
               : nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
}

static nvdp_status example(struct nvdp__output *to, const struct nvdp__embeddings_shape *shape,
                           const char *name) {
    return nvdp__output_printf(
        to,
        "```python\nfrom safetensors import safe_open\nwith safe_open(%s, \"np\") as f:\n"
        "    meta = f.metadata()\n    z = f.get_tensor(\"z\")%s  # vectors, [rows, p]\n"
        "    offset = f.get_tensor(\"offset\")  # sample s of text i: rows offset[i * S + s] "
        "to offset[i * S + s + 1]\n```\n",
        name, shape->grid != NVDP__H5_F16 ? " * float(meta[\"z_step\"])" : "");
}

extern const struct nvdp__format nvdp__format_safetensors; /* used in release.c */
const struct nvdp__format nvdp__format_safetensors = {.name = "safetensors",
                                                      .extension = ".safetensors",
                                                      .state = sizeof(struct tensors),
                                                      .detect = is_safetensors,
                                                      .covers = NVDP__SIGNED_VALUES,
                                                      .canonical = true,
                                                      .open = open_writer,
                                                      .append = append,
                                                      .finish = write_header,
                                                      .read = open_reader,
                                                      .rows = read_rows,
                                                      .close = close_file,
                                                      .describe = describe,
                                                      .example = example};
