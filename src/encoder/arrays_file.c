/* Writes named arrays to HDF5, NumPy (.npz, .npy) and safetensors, and to a table in Parquet. The shapes are known
 * before the first row is written, so the position of each row in the file is known, too.
 *
 * This file has, in this order, the struct, HDF5, bytes at positions, safetensors, NumPy, Parquet, the table of
 * formats and the functions. */
#include "encoder/arrays_file.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/own.h"
#include "base/parquet.h"
#include "base/zip.h"
#include "encoder/checkpoint.h"
#include "encoder/safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { NAME_SIZE = 32, MAX_ATTRIBUTES = 12 };

struct array {
    char name[NAME_SIZE];
    enum nvdp__h5_type type;
    size_t rows, width; /* width 0 stands for an array with one dimension */
    uint64_t start;     /* position of the first row in the file */
    uint64_t bytes;     /* size of all rows */
    uint64_t local;     /* .npz: position of the member in the file */
    uint32_t checksum;  /* .npz: checksum of the bytes of the member so far */
    float *buffer;      /* .parquet: [group_rows, width] rows that are not written yet */
    size_t buffered, group;
};

struct attribute {
    const char *name;
    char *text;
    int64_t whole; /* value of a number */
    bool number;
};

struct format {
    const char *suffix;
    const char *only; /* name of the only array that the file takes; NULL if the file takes all */
    bool table;       /* true if the file takes only arrays with one row per text */
    bool checksums;
    nvdp_status (*open)(struct nvdp__arrays *file, const char *format);
    nvdp_status (*begin)(struct nvdp__arrays *file);
    nvdp_status (*rows)(struct nvdp__arrays *file, struct array *array, size_t first, size_t rows,
                        const void *data);
    nvdp_status (*commit)(struct nvdp__arrays *file);
};

struct nvdp__arrays {
    struct nvdp_context *ctx;
    const char *path; /* owned by the caller */
    const struct format *format;
    const char *only;
    struct array *array; /* [count] the arrays of the file */
    size_t count, capacity;
    struct attribute attribute[MAX_ATTRIBUTES];
    size_t attributes;
    struct nvdp__h5 *h5;        /* output for HDF5 */
    struct nvdp__output output; /* output for all other formats */
    struct nvdp__parquet_table table;
    struct nvdp__parquet_field *field;
    size_t group_rows; /* rows per group of a table */
};

/* --- HDF5 --- */

static nvdp_status h5_open(struct nvdp__arrays *file, const char *format) {
    return nvdp__h5_create(file->ctx, file->path, format, &file->h5);
}

static nvdp_status h5_begin(struct nvdp__arrays *file) {
    for (const struct attribute *at = file->attribute; at < file->attribute + file->attributes;
         at++)
        if (at->number)
            NVDP_TRY(nvdp__h5_set_int(file->h5, at->name, at->whole));
        else
            NVDP_TRY(nvdp__h5_set_string(file->h5, at->name, at->text));
    for (const struct array *a = file->array; a < file->array + file->count; a++) {
        const size_t shape[] = {a->rows, a->width};
        NVDP_TRY(nvdp__h5_dataset(file->h5, a->name, a->type, a->width > 0 ? 2 : 1, shape));
    }
    return NVDP_OK;
}

static nvdp_status h5_rows(struct nvdp__arrays *file, struct array *array, size_t first,
                           size_t rows, const void *data) {
    return nvdp__h5_write_rows(file->h5, array->name, array->type, first, rows, data);
}

static nvdp_status h5_commit(struct nvdp__arrays *file) {
    return nvdp__h5_commit(file->h5, true);
}

/* --- bytes at positions, for all other formats --- */

static nvdp_status open_output(struct nvdp__arrays *file, const char *format) {
    NVDP_TRY(nvdp__output_open(file->ctx, file->path, &file->output));
    return nvdp__arrays_set_text(file, "nvdp_format", format);
}

static nvdp_status put(struct nvdp__arrays *file, uint64_t at, size_t count, const void *bytes) {
    return nvdp__write_at(fileno(file->output.file), bytes, count, at)
               ? NVDP_OK
               : nvdp__fail_errno(file->ctx, errno, "%s: cannot write", file->path);
}

static nvdp_status put_rows(struct nvdp__arrays *file, struct array *array, size_t first,
                            size_t rows, const void *data) {
    if (array->rows == 0) return NVDP_OK;
    const size_t row = array->bytes / array->rows;
    if (file->format->checksums)
        array->checksum = (uint32_t)crc32_z(array->checksum, data, rows * row);
    return put(file, array->start + first * row, rows * row, data);
}

enum { WORDS = 2 * MAX_ATTRIBUTES + 1 };

/* Lists the attributes: name, value, name, value, ..., NULL. */
static void list_words(const struct nvdp__arrays *file, const char *words[WORDS]) {
    size_t n = 0;
    for (size_t i = 0; i < file->attributes; i++) {
        words[n++] = file->attribute[i].name;
        words[n++] = file->attribute[i].text;
    }
    words[n] = NULL;
}

static nvdp_status commit_output(struct nvdp__arrays *file) {
    return nvdp__output_commit(&file->output, true);
}

/* --- safetensors --- */

static nvdp_status safetensors_begin(struct nvdp__arrays *file) {
    nvdp__autofree struct nvdp__tensor_source *source = NULL;
    nvdp__autofree uint64_t *start = NULL;
    nvdp__autofree char *header = NULL;
    const char *words[WORDS];
    size_t size = 0;
    NVDP_TRY(NVDP__NEW(file->ctx, source, file->count));
    NVDP_TRY(NVDP__NEW(file->ctx, start, file->count));
    list_words(file, words);
    for (size_t i = 0; i < file->count; i++) {
        const struct array *a = &file->array[i];
        source[i] = (struct nvdp__tensor_source){.name = a->name,
                                                 .dtype = a->type == NVDP__H5_I64 ? NVDP__DTYPE_I64
                                                                                  : NVDP__DTYPE_F32,
                                                 .rank = a->width > 0 ? 2 : 1,
                                                 .shape = {a->rows, a->width}};
    }
    NVDP_TRY(nvdp__safetensors_header(file->ctx, file->path, file->count, source, words, &header,
                                      &size, start));
    for (size_t i = 0; i < file->count; i++)
        file->array[i].start = start[i];
    return put(file, 0, size, header);
}

/* --- NumPy: an NPY file, or a ZIP file of uncompressed NPY files --- */

static nvdp_status put_npy_head(struct nvdp__arrays *file, struct array *a) {
    char head[NVDP__NPY_HEAD];
    nvdp__npy_put_head(head, a->type == NVDP__H5_I64 ? "<i8" : "<f4", a->rows, a->width);
    a->checksum = (uint32_t)crc32_z(0, (const unsigned char *)head, sizeof head);
    return put(file, a->start - sizeof head, sizeof head, head);
}

static nvdp_status npy_begin(struct nvdp__arrays *file) {
    file->array[0].start = NVDP__NPY_HEAD;
    return put_npy_head(file, file->array);
}

static nvdp_status npz_begin(struct nvdp__arrays *file) {
    uint64_t at = 0;
    for (struct array *a = file->array; a < file->array + file->count; a++) {
        a->local = at;
        a->start = at + NVDP__ZIP_LOCAL + strlen(a->name) + strlen(".npy") + NVDP__NPY_HEAD;
        at = a->start + a->bytes;
        NVDP_TRY(put_npy_head(file, a));
    }
    return NVDP_OK;
}

/* Writes the headers in front of the members, their list and the end of the archive. */
static nvdp_status npz_commit(struct nvdp__arrays *file) {
    char name[NAME_SIZE + 4];
    unsigned char local[NVDP__ZIP_LOCAL + sizeof name], listed[NVDP__ZIP_LISTED + sizeof name],
        last[NVDP__ZIP_END];
    const uint64_t list = file->array[file->count - 1].start + file->array[file->count - 1].bytes;
    uint64_t end = list;
    for (const struct array *a = file->array; a < file->array + file->count; a++) {
        const struct nvdp__zip_member member = {
            .name = name,
            .length = (size_t)nvdp__snprintf(name, sizeof name, "%s.npy", a->name),
            .size = NVDP__NPY_HEAD + a->bytes,
            .local = a->local,
            .checksum = a->checksum};
        NVDP_TRY(put(file, a->local, nvdp__zip_put_local(local, &member), local));
        const size_t size = nvdp__zip_put_listed(listed, &member);
        NVDP_TRY(put(file, end, size, listed));
        end += size;
    }
    nvdp__zip_put_end(last, file->count, list, end);
    NVDP_TRY(put(file, end, sizeof last, last));
    return commit_output(file);
}

/* --- Parquet: a row per text, and a column with lists per array --- */

enum { GROUP_VALUES = 1 << 21 };

static nvdp_status put_parquet(void *user, uint64_t at, size_t count, const void *bytes) {
    return put(user, at, count, bytes);
}

static nvdp_status parquet_begin(struct nvdp__arrays *file) {
    size_t widest = 1;
    if (file->count == 0)
        return nvdp__fail(file->ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected an array with one row per text (option {pool} mean, cls or "
                          "max), found only hidden states of tokens, which .h5, .npz and "
                          ".safetensors take",
                          file->path);
    const size_t rows = file->array[0].rows;
    NVDP_TRY(NVDP__NEW(file->ctx, file->field, file->count));
    for (size_t i = 0; i < file->count; i++) {
        file->field[i] = (struct nvdp__parquet_field){file->array[i].name, NVDP__FLOAT, true};
        widest = nvdp__max(widest, file->array[i].width);
    }
    file->group_rows = nvdp__max(nvdp__min(GROUP_VALUES / widest, rows), 1);
    for (size_t i = 0; i < file->count; i++)
        NVDP_TRY(
            NVDP__NEW(file->ctx, file->array[i].buffer, file->group_rows * file->array[i].width));
    file->table =
        (struct nvdp__parquet_table){.ctx = file->ctx,
                                     .put = put_parquet,
                                     .user = file,
                                     .field = file->field,
                                     .columns = file->count,
                                     .groups = (rows + file->group_rows - 1) / file->group_rows,
                                     .rows = rows};
    NVDP_TRY(NVDP__NEW(file->ctx, file->table.chunk, file->table.groups * file->count));
    return nvdp__parquet_begin(&file->table);
}

/* Buffers rows, and writes a page when a group of rows, or the array, is complete. */
static nvdp_status parquet_rows(struct nvdp__arrays *file, struct array *array, size_t first,
                                size_t rows, const void *data) {
    const float *values = data;
    const size_t width = array->width;
    for (size_t done = 0; done < rows;) {
        const size_t n = nvdp__min(rows - done, file->group_rows - array->buffered);
        memcpy(array->buffer + array->buffered * width, values + done * width,
               n * width * sizeof *values);
        array->buffered += n;
        done += n;
        if (array->buffered < file->group_rows && first + done < array->rows) continue;
        const size_t count = array->buffered * width;
        nvdp__parquet_lists(&file->table, array->buffered, width);
        nvdp__parquet_put(&file->table.body, count * sizeof *values, array->buffer);
        NVDP_TRY(nvdp__parquet_page(&file->table, array->group++, (size_t)(array - file->array),
                                    array->buffered, count));
        array->buffered = 0;
    }
    return NVDP_OK;
}

static nvdp_status parquet_commit(struct nvdp__arrays *file) {
    const char *words[WORDS];
    list_words(file, words);
    NVDP_TRY(nvdp__parquet_end(&file->table, words));
    return commit_output(file);
}

/* --- the table of formats --- */

static const struct format formats[] = {
    {".h5", NULL, false, false, h5_open, h5_begin, h5_rows, h5_commit},
    {".hdf5", NULL, false, false, h5_open, h5_begin, h5_rows, h5_commit},
    {".npz", NULL, false, true, open_output, npz_begin, put_rows, npz_commit},
    {".npy", NVDP__SENTENCES, false, false, open_output, npy_begin, put_rows, commit_output},
    {".parquet", NULL, true, false, open_output, parquet_begin, parquet_rows, parquet_commit},
    {".safetensors", NULL, false, false, open_output, safetensors_begin, put_rows, commit_output},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* --- functions --- */

nvdp_status nvdp__arrays_open(struct nvdp_context *ctx, const char *path, const char *format,
                              const char *only, struct nvdp__arrays **out) {
    nvdp__autoptr(nvdp__arrays_free) struct nvdp__arrays *file = NULL;
    size_t i = 0;
    while (i < FORMATS && !nvdp__ends_with(path, formats[i].suffix))
        i++;
    if (i == FORMATS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{out}: expected a name that ends in .h5, .hdf5, .npz, .npy, "
                          ".parquet or .safetensors, found '%s'",
                          nvdp__file_name(path));
    NVDP_TRY(NVDP__NEW(ctx, file, 1));
    file->ctx = ctx;
    file->path = path;
    file->format = &formats[i];
    file->only = only != NULL ? only : formats[i].only;
    NVDP_TRY(file->format->open(file, format));
    return NVDP__HAND_OVER(out, file);
}

const char *nvdp__arrays_only(const struct nvdp__arrays *file) {
    return file->only;
}

nvdp_status nvdp__arrays_set_text(struct nvdp__arrays *file, const char *name, const char *value) {
    struct attribute *to = &file->attribute[file->attributes++];
    to->name = name;
    to->text = nvdp__format(file->ctx, "%s", value);
    return NVDP__MADE(to->text);
}

nvdp_status nvdp__arrays_set_int(struct nvdp__arrays *file, const char *name, size_t value) {
    struct attribute *to = &file->attribute[file->attributes++];
    to->name = name;
    to->number = true;
    to->whole = (int64_t)value;
    to->text = nvdp__format(file->ctx, "%zu", value);
    return NVDP__MADE(to->text);
}

nvdp_status nvdp__arrays_add(struct nvdp__arrays *file, const char *name, enum nvdp__h5_type type,
                             size_t rows, size_t width, bool per_text) {
    if (file->only != NULL && strcmp(name, file->only) != 0) return NVDP_OK;
    if (file->format->table && !per_text) return NVDP_OK;
    NVDP_TRY(nvdp__reserve(file->ctx, &file->array, &file->capacity, file->count + 1,
                           sizeof *file->array));
    struct array *a = &file->array[file->count++];
    *a = (struct array){.type = type, .rows = rows, .width = width};
    a->bytes = (uint64_t)rows * nvdp__max(width, 1) * nvdp__h5_stored_size(type);
    nvdp__snprintf(a->name, NAME_SIZE, "%s", name);
    return NVDP_OK;
}

nvdp_status nvdp__arrays_begin(struct nvdp__arrays *file) {
    return file->format->begin(file);
}

static struct array *find(const struct nvdp__arrays *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->array[i].name, name) == 0) return &file->array[i];
    return NULL;
}

bool nvdp__arrays_has(const struct nvdp__arrays *file, const char *name) {
    return find(file, name) != NULL;
}

nvdp_status nvdp__arrays_write(struct nvdp__arrays *file, const char *name, size_t first,
                               size_t rows, const void *data) {
    return file->format->rows(file, find(file, name), first, rows, data);
}

nvdp_status nvdp__arrays_commit(struct nvdp__arrays *file) {
    return file->format->commit(file);
}

void nvdp__arrays_free(struct nvdp__arrays *file) {
    if (file == NULL) return;
    for (size_t i = 0; i < file->attributes; i++)
        free(file->attribute[i].text);
    nvdp__h5_free(file->h5);
    nvdp__output_abort(&file->output);
    for (size_t i = 0; i < file->count; i++)
        free(file->array[i].buffer);
    nvdp__parquet_release(&file->table);
    free(file->table.chunk);
    free(file->field);
    free(file->array);
    free(file);
}
