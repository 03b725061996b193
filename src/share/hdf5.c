/* Writes and reads releases as HDF5, with one chunked and compressed dataset per array (docs/formats.md).  The row
 * for the table of formats is at the end. */
#include "share/release.h"

#include "hdf5/hdf5.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hdf5 {
    bool ended; /* all bytes except the signature are final */
};

/* --- writing --- */

nvdp_status nvdp__embeddings_create(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__embeddings_shape *shape,
                                    const int64_t *offset, struct nvdp__h5 **out) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    const bool hidden = shape->policy == NVDP_LENGTH_HIDDEN, whole = shape->grid != NVDP__H5_F16;
    const size_t square[] = {shape->texts, shape->samples, shape->sample_rows, shape->dim};
    const size_t ragged[] = {shape->rows, shape->dim}, *extent = hidden ? square : ragged;
    size_t offsets = shape->texts * shape->samples + 1;
    NVDP_TRY(nvdp__h5_create(ctx, path, nvdp__file_kind(shape), &file));
    NVDP_TRY(nvdp__h5_dataset(file, "z", shape->grid, hidden ? 4 : 2, extent));
    if (shape->weights)
        NVDP_TRY(
            nvdp__h5_dataset(file, "log_pi", nvdp__weight_type(shape), hidden ? 3 : 1, extent));
    NVDP_TRY(nvdp__h5_set_string(file, "grid", nvdp__grid_names[shape->grid]));
    if (whole) NVDP_TRY(nvdp__h5_set_real(file, "z_step", ldexp(1, shape->z_exponent)));
    if (whole && shape->weights)
        NVDP_TRY(nvdp__h5_set_real(file, "log_pi_step", ldexp(1, shape->log_pi_exponent)));
    if (!hidden) NVDP_TRY(nvdp__h5_write(file, "offset", NVDP__H5_I64, 1, &offsets, offset));
    return NVDP__HAND_OVER(out, file);
}

nvdp_status nvdp__embeddings_write(struct nvdp__h5 *file,
                                   const struct nvdp__embeddings_shape *shape, size_t first,
                                   size_t texts, size_t first_row, size_t rows, const void *z,
                                   const void *log_pi) {
    bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    size_t from = hidden ? first : first_row, count = hidden ? texts : rows;
    NVDP_TRY(nvdp__h5_write_rows(file, "z", shape->grid, from, count, z));
    if (!shape->weights) return NVDP_OK;
    return nvdp__h5_write_rows(file, "log_pi", nvdp__weight_type(shape), from, count, log_pi);
}

static nvdp_status open_writer(struct nvdp__release *release) {
    const struct nvdp__attributes *list = &release->attributes;
    NVDP_TRY(nvdp__embeddings_create(release->ctx, release->path, &release->shape, release->offset,
                                     &release->h5));
    for (const struct nvdp__attribute *a = list->item; a < list->item + list->count; a++) {
        if (nvdp__attribute_find(a->name) == NVDP__ATTRIBUTE_CREATED) continue;
        NVDP_TRY(a->type == NVDP__ATTRIBUTE_WHOLE ? nvdp__h5_set_int(release->h5, a->name, a->whole)
                 : a->type == NVDP__ATTRIBUTE_REAL
                     ? nvdp__h5_set_real(release->h5, a->name, a->real)
                     : nvdp__h5_set_string(release->h5, a->name, a->text));
    }
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        if (release->column[c] != NULL)
            NVDP_TRY(nvdp__h5_write(release->h5, nvdp__text_columns[c].name,
                                    nvdp__text_columns[c].type, 1, &release->shape.texts,
                                    release->column[c]));
    return NVDP_OK;
}

static nvdp_status append(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi) {
    const size_t unit = nvdp__row_vectors(&release->shape);
    return nvdp__embeddings_write(release->h5, &release->shape, first / unit, rows / unit, first,
                                  rows, z, log_pi);
}

/* Makes the bytes of a signed file final.  A second call replaces the signature. */
static nvdp_status finish(struct nvdp__release *release) {
    struct hdf5 *of = release->of;
    const struct nvdp__attribute *signature =
        nvdp__attributes_get(&release->attributes, "signature");
    if (signature == NULL) return NVDP_OK;
    if (of->ended) return nvdp__h5_replace_text(release->h5, signature->name, signature->text);
    of->ended = true;
    return nvdp__h5_finish(release->h5);
}

/* --- reading --- */

static bool is_hdf5(const char *path, const unsigned char *first, size_t count) {
    static const unsigned char magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    (void)path;
    return count >= sizeof magic && memcmp(first, magic, sizeof magic) == 0;
}

/* Takes an attribute with one number or one text.  Of other attributes, stores only the name and the printed value. */
static nvdp_status take_attribute(const struct nvdp__h5_value *value, void *to) {
    static const enum nvdp__attribute_type types[] = {[NVDP__H5_VALUE_NONE] = NVDP__ATTRIBUTE_NONE,
                                                      [NVDP__H5_VALUE_TEXT] = NVDP__ATTRIBUTE_TEXT,
                                                      [NVDP__H5_VALUE_WHOLE] =
                                                          NVDP__ATTRIBUTE_WHOLE};
    if (value->type == NVDP__H5_VALUE_REAL)
        return nvdp__attributes_set_real(to, value->name, value->real);
    return nvdp__attributes_set(to, value->name, value->text,
                                (struct nvdp__attribute){.type = types[value->type],
                                                         .whole = value->whole,
                                                         .real = value->real});
}

static nvdp_status open_reader(struct nvdp__release *release) {
    nvdp__autofree char *kind = NULL;
    NVDP_TRY(nvdp__h5_open(release->ctx, release->path, NULL, 0, &release->h5));
    if (nvdp__h5_has_attribute(release->h5, "nvdp_format"))
        NVDP_TRY(nvdp__h5_get_string(release->h5, "nvdp_format", &kind));
    release->shape.summary = kind != NULL && strcmp(kind, "summary/1") == 0;
    if (!release->shape.summary) NVDP_TRY(nvdp__h5_check(release->h5, "embeddings", 2));
    return nvdp__h5_list_attributes(release->h5, take_attribute, &release->attributes);
}

static nvdp_status hidden_shape(struct nvdp__release *release) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp__h5 *file = release->h5;
    size_t z[4], log_pi[3], samples;
    NVDP_TRY(nvdp__h5_shape(file, "z", shape->grid, 4, z));
    NVDP_TRY(nvdp__release_check_hidden(release, z));
    shape->texts = z[0];
    shape->sample_rows = z[2];
    shape->dim = z[3];
    if (!nvdp__mul(shape->texts, shape->samples, &samples) ||
        !nvdp__mul(samples, shape->sample_rows, &shape->rows))
        return NVDP__BAD_FILE(release, "dataset '%s': its size overflows", "z");
    if (!shape->weights) return NVDP_OK;
    NVDP_TRY(nvdp__h5_shape(file, "log_pi", nvdp__weight_type(shape), 3, log_pi));
    if (memcmp(log_pi, z, sizeof log_pi) == 0) return NVDP_OK;
    return NVDP__BAD_FILE(
        release,
        "dataset 'log_pi': expected the shape [%zu, %zu, %zu] of 'z', found [%zu, %zu, %zu]", z[0],
        z[1], z[2], log_pi[0], log_pi[1], log_pi[2]);
}

static nvdp_status public_shape(struct nvdp__release *release) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp__h5 *file = release->h5;
    size_t z[2], count;
    NVDP_TRY(nvdp__h5_shape(file, "z", shape->grid, 2, z));
    shape->rows = z[0];
    shape->dim = z[1];
    NVDP_TRY(nvdp__h5_shape(file, "offset", NVDP__H5_I64, 1, &count));
    if (count < 1 || (count - 1) % shape->samples != 0)
        return NVDP__BAD_FILE(release, "dataset 'offset': expected texts x %zu + 1 rows, found %zu",
                              shape->samples, count);
    shape->texts = (count - 1) / shape->samples;
    if (!shape->weights) return NVDP_OK;
    NVDP_TRY(nvdp__h5_shape(file, "log_pi", nvdp__weight_type(shape), 1, &count));
    return count == z[0] ? NVDP_OK
                         : NVDP__BAD_FILE(release, "dataset '%s': expected %zu rows, found %zu",
                                          "log_pi", z[0], count);
}

static nvdp_status load(struct nvdp__release *release) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp__h5 *file = release->h5;
    const bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    shape->weights = nvdp__h5_has(file, "log_pi");
    NVDP_TRY(nvdp__release_check_weights(release));
    NVDP_TRY(hidden ? hidden_shape(release) : public_shape(release));
    if (shape->texts < 1)
        return NVDP__BAD_FILE(release, "expected at least one text, found %s", "none");
    const size_t samples = shape->texts * shape->samples;
    NVDP_TRY(NVDP__NEW(release->ctx, release->offset, samples + 1));
    for (size_t k = 0; k <= samples && hidden; k++)
        release->offset[k] = (int64_t)(k * shape->sample_rows);
    if (!hidden)
        NVDP_TRY(nvdp__h5_read_rows(file, "offset", NVDP__H5_I64, 0, samples + 1, release->offset));
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++) {
        const struct nvdp__text_column *of = &nvdp__text_columns[c];
        if (nvdp__h5_has(file, of->name))
            NVDP_TRY(
                nvdp__h5_read_column(file, of->name, of->type, shape->texts, &release->column[c]));
    }
    return NVDP_OK;
}

static nvdp_status read_rows(struct nvdp__release *release, size_t first, size_t rows, void *z,
                             void *log_pi) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t unit = nvdp__row_vectors(shape), from = first / unit, count = rows / unit;
    struct nvdp__h5 *file = release->h5;
    if (z != NULL) NVDP_TRY(nvdp__h5_read_rows(file, "z", shape->grid, from, count, z));
    return log_pi != NULL
               ? nvdp__h5_read_rows(file, "log_pi", nvdp__weight_type(shape), from, count, log_pi)
               : NVDP_OK;
}

/* --- description and example --- */

static nvdp_status describe_attribute(const struct nvdp__h5_value *value, void *object) {
    nvdp__describe_attribute(object, value->name, value->text,
                             value->type == NVDP__H5_VALUE_WHOLE ||
                                 value->type == NVDP__H5_VALUE_REAL);
    return NVDP_OK;
}

static nvdp_status describe(struct nvdp_context *ctx, const char *path, json_t *object) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    nvdp__autofree char *format = NULL;
    json_t *datasets = NULL, *attributes = NULL;
    NVDP_TRY(nvdp__h5_open(ctx, path, NULL, 0, &file));
    if (nvdp__h5_has_attribute(file, "nvdp_format"))
        NVDP_TRY(nvdp__h5_get_string(file, "nvdp_format", &format));
    NVDP_TRY(nvdp__describe_begin(ctx, path, format != NULL ? format : "HDF5", object, &datasets,
                                  &attributes));
    NVDP_TRY(nvdp__h5_list(file, nvdp__describe_dataset, datasets));
    NVDP_TRY(nvdp__h5_list_attributes(file, describe_attribute, attributes));
    json_object_del(attributes, "nvdp_format");
    return NVDP_OK;
}

static nvdp_status example(struct nvdp__output *to, const struct nvdp__embeddings_shape *shape,
                           const char *name) {
    return nvdp__output_printf(
        to,
        "```python\nimport h5py\nwith h5py.File(%s) as f:\n    z = f[\"z\"][...]%s  # "
        "%s\n```\n",
        name, shape->grid != NVDP__H5_F16 ? " * f.attrs[\"z_step\"]" : "",
        shape->policy == NVDP_LENGTH_HIDDEN
            ? "[texts, samples, vectors, p]"
            : "[rows, p]; sample s of text i: rows offset[i * S + s] to offset[i * S + s + 1]");
}

extern const struct nvdp__format nvdp__format_hdf5; /* used in release.c */
const struct nvdp__format nvdp__format_hdf5 = {.name = "HDF5",
                                               .extension = ".h5",
                                               .state = sizeof(struct hdf5),
                                               .detect = is_hdf5,
                                               .covers = NVDP__SIGNED_BYTES,
                                               .hdf5 = true,
                                               .open = open_writer,
                                               .append = append,
                                               .finish = finish,
                                               .compressed = true,
                                               .read = open_reader,
                                               .load = load,
                                               .rows = read_rows,
                                               .describe = describe,
                                               .example = example};
