/* Shared files as safetensors: a tensor a dataset, written and read back (docs/formats.md). */
#include "share/formats_read.h"

#include "bert/checkpoint.h"
#include <nvdp/safetensors.h>
#include <stdlib.h>

#include "base/f16.h"
#include "base/json.h"

static const enum nvdp_dtype dtypes[] = {
    [NVDP__H5_F16] = NVDP_DTYPE_F16, [NVDP__H5_F32] = NVDP_DTYPE_F32,
    [NVDP__H5_F64] = NVDP_DTYPE_F64, [NVDP__H5_I64] = NVDP_DTYPE_I64,
    [NVDP__H5_I32] = NVDP_DTYPE_I32, [NVDP__H5_I16] = NVDP_DTYPE_I16};

/* --- writing --- */

enum { MOST_TENSORS = 6 };

struct tensors {
    const struct nvdp__shared *shared;
    struct nvdp_tensor_source source[MOST_TENSORS];
    struct nvdp__column column[MOST_TENSORS];
    size_t count;
    nvdp_status status;
};

static nvdp_status add_tensor(struct tensors *to, const char *name, enum nvdp__h5_type type,
                              size_t width, size_t rows, size_t dim) {
    if (width > 0 && !nvdp__h5_has(to->shared->file, name)) return NVDP_OK;
    to->source[to->count] = (struct nvdp_tensor_source){
        .name = name, .dtype = dtypes[type], .rank = dim > 0 ? 2 : 1, .shape = {rows, dim}};
    if (width > 0)
        NVDP_RETURN_IF_FAILED(nvdp__column_open(
            to->shared, name, type, width, rows * (dim > 0 ? dim : 1), &to->column[to->count]));
    to->count++;
    return NVDP_OK;
}

static void fetch(size_t index, size_t first, size_t n, void *out, void *user) {
    struct tensors *from = user;
    if (from->column[index].buffer == NULL) /* known here */
        memcpy(out, from->shared->offset + first, n * sizeof *from->shared->offset);
    else if (from->status == NVDP_OK)
        from->status = nvdp__column_read(from->shared, &from->column[index], first, n, out);
}

/* Rows end to end whether lengths are hidden or not: the first row of every sample is in `offset`. */
nvdp_status nvdp__tensors_put(const struct nvdp__shared *shared, const struct nvdp__sayings *words,
                              struct nvdp__output *to) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__embeddings_shape *shape = shared->shape;
    const size_t samples = shape->texts * shape->samples;
    const size_t vectors = nvdp__row_vectors(shape);
    struct tensors tensors = {.shared = shared};
    NVDP_TRY(add_tensor(&tensors, "z", shape->grid, vectors * shape->dim, shape->rows, shape->dim));
    NVDP_TRY(add_tensor(&tensors, "log_pi", nvdp__weight_type(shape), vectors, shape->rows, 0));
    NVDP_TRY(add_tensor(&tensors, "offset", NVDP__H5_I64, 0, samples + 1, 0));
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        NVDP_TRY(add_tensor(&tensors, nvdp__text_columns[c].name, nvdp__text_columns[c].type, 1,
                            shape->texts, 0));
    NVDP_TRY(nvdp__safetensors_put(to, tensors.count, tensors.source,
                                   (const char *const *)words->text, fetch, &tensors));
    status = tensors.status;
cleanup:
    for (size_t i = 0; i < MOST_TENSORS; i++) {
        nvdp__column_close(&tensors.column[i]);
    }
    return status;
}

/* --- reading --- */

static nvdp_status find_tensor(struct nvdp__source *source, const char *name,
                               enum nvdp__h5_type type, size_t count,
                               const struct nvdp_tensor_info **out) {
    const enum nvdp_dtype dtype = dtypes[type];
    const struct nvdp_tensor_info *found = nvdp_safetensors_find(source->of, name);
    if (found == NULL || found->dtype != dtype || found->count != count)
        return NVDP__BAD_FILE(source, "tensor '%s': expected %zu values of type %s, found %zu%s%s",
                              name, count, nvdp_dtype_name(dtype), found != NULL ? found->count : 0,
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

static nvdp_status read_rows(struct nvdp__source *source, size_t first, size_t n, void *z,
                             void *log_pi) {
    const size_t dim = source->shape.dim;
    grid_values(nvdp_safetensors_find(source->of, "z"), first * dim, n * dim, z);
    if (source->shape.weights)
        grid_values(nvdp_safetensors_find(source->of, "log_pi"), first, n, log_pi);
    return NVDP_OK;
}

/* What is told of every text, where it is. */
static nvdp_status read_column(struct nvdp__source *source, size_t c) {
    const struct nvdp__text_column *column = &nvdp__text_columns[c];
    const struct nvdp_tensor_info *found = NULL;
    const size_t texts = source->shape.texts, size = nvdp_dtype_size(dtypes[column->type]);
    if (nvdp_safetensors_find(source->of, column->name) == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(find_tensor(source, column->name, column->type, texts, &found));
    source->column[c] = nvdp__calloc(source->ctx, texts, size);
    if (source->column[c] == NULL) return NVDP_ERR_MEMORY;
    memcpy(source->column[c], found->data, texts * size);
    return NVDP_OK;
}

/* The metadata in the file's order: attributes are made in it. */
static nvdp_status read_metadata(struct nvdp__source *source) {
    nvdp_status status = NVDP_OK;
    json_t *header = NULL, *value;
    const char *key;
    char *bytes = NULL;
    FILE *file = NULL;
    uint64_t size = 0; /* sound: the file was opened before */
    NVDP_TRY(nvdp__fopen_regular(source->ctx, source->path, &file));
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

static nvdp_status open_file(struct nvdp__source *source) {
    const struct nvdp_tensor_info *z, *log_pi, *offset = NULL;
    struct nvdp_safetensors *file = NULL;
    NVDP_RETURN_IF_FAILED(nvdp_safetensors_open(source->ctx, source->path, &file));
    source->of = file;
    NVDP_RETURN_IF_FAILED(read_metadata(source));
    z = nvdp_safetensors_find(source->of, "z");
    log_pi = nvdp_safetensors_find(source->of, "log_pi");
    if (z == NULL || z->rank != 2)
        return NVDP__BAD_FILE(source, "tensor 'z': expected one of two dimensions, found %s",
                              z == NULL ? "none" : "another");
    NVDP_RETURN_IF_FAILED(nvdp__source_shape(source, z->shape[0], z->shape[1], log_pi != NULL));
    const struct nvdp__embeddings_shape *shape = &source->shape;
    const size_t offsets = shape->texts * shape->samples + 1;
    NVDP_RETURN_IF_FAILED(find_tensor(source, "z", shape->grid, shape->rows * shape->dim, &z));
    if (shape->weights)
        NVDP_RETURN_IF_FAILED(
            find_tensor(source, "log_pi", nvdp__weight_type(shape), shape->rows, &log_pi));
    NVDP_RETURN_IF_FAILED(find_tensor(source, "offset", NVDP__H5_I64, offsets, &offset));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(source->ctx, source->offset, offsets));
    memcpy(source->offset, offset->data, offsets * sizeof *source->offset);
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        NVDP_RETURN_IF_FAILED(read_column(source, c));
    return NVDP_OK;
}

static void close_file(void *of) {
    nvdp_safetensors_close(of);
}

const struct nvdp__shared_reader nvdp__safetensors_reader = {NVDP__SHARED_SAFETENSORS, open_file,
                                                             read_rows, close_file};
