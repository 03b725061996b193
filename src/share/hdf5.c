/* Writes and reads releases as HDF5, with one chunked and compressed dataset per array (docs/formats.md).  The row
 * for the table of formats is at the end. */
#include "share/release.h"

#include "hdf5/hdf5.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hdf5 {
    struct nvdp__h5 *file;
    bool ended; /* all bytes except the signature are final */
};

static struct nvdp__h5 *file_of(const struct nvdp__release *release) {
    return ((struct hdf5 *)release->of)->file;
}

/* --- writing --- */

nvdp_status nvdp__embeddings_create(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__embeddings_shape *shape,
                                    const int64_t *offset, struct nvdp__h5 **out) {
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    const bool hidden = shape->policy == NVDP_LENGTH_HIDDEN, whole = shape->grid != NVDP__H5_F16;
    const size_t square[] = {shape->texts, shape->samples, shape->sample_rows, shape->dim};
    const size_t ragged[] = {shape->rows, shape->dim};
    const size_t *extent = hidden ? square : ragged;
    size_t offsets = shape->texts * shape->samples + 1;
    NVDP_TRY(nvdp__h5_create(ctx, path, whole ? "embeddings/2" : "embeddings/1", &file));
    NVDP_TRY(nvdp__h5_dataset(file, "z", shape->grid, hidden ? 4 : 2, extent));
    if (shape->weights)
        NVDP_TRY(
            nvdp__h5_dataset(file, "log_pi", nvdp__weight_type(shape), hidden ? 3 : 1, extent));
    NVDP_TRY(nvdp__h5_set_string(file, "grid", nvdp__grid_names[shape->grid]));
    if (whole) NVDP_TRY(nvdp__h5_set_real(file, "z_step", ldexp(1, shape->z_exponent)));
    if (whole && shape->weights)
        NVDP_TRY(nvdp__h5_set_real(file, "log_pi_step", ldexp(1, shape->log_pi_exponent)));
    if (!hidden) NVDP_TRY(nvdp__h5_write(file, "offset", NVDP__H5_I64, 1, &offsets, offset));
    NVDP__HAND_OVER(out, file);
    return NVDP_OK;
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

static nvdp_status write_attributes(struct nvdp__h5 *file, const struct nvdp__attributes *list) {
    for (const struct nvdp__attribute *a = list->item; a < list->item + list->count; a++) {
        if (nvdp__attribute_find(a->name) == NVDP__ATTRIBUTE_CREATED) continue;
        NVDP_TRY(a->type == NVDP__ATTRIBUTE_WHOLE  ? nvdp__h5_set_int(file, a->name, a->whole)
                 : a->type == NVDP__ATTRIBUTE_REAL ? nvdp__h5_set_real(file, a->name, a->real)
                                                   : nvdp__h5_set_string(file, a->name, a->text));
    }
    return NVDP_OK;
}

static nvdp_status open_writer(struct nvdp__release *release) {
    struct hdf5 *of = NULL;
    NVDP_TRY(NVDP__NEW(release->ctx, of, 1));
    release->of = of;
    NVDP_TRY(nvdp__embeddings_create(release->ctx, release->path, &release->shape, release->offset,
                                     &of->file));
    NVDP_TRY(write_attributes(of->file, &release->attributes));
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++) {
        const void *values = nvdp__release_column(release, c);
        if (values != NULL)
            NVDP_TRY(nvdp__h5_write(of->file, nvdp__text_columns[c].name,
                                    nvdp__text_columns[c].type, 1, &release->shape.texts, values));
    }
    return NVDP_OK;
}

static nvdp_status append(struct nvdp__release *release, size_t first, size_t rows, const void *z,
                          const void *log_pi) {
    const size_t unit = nvdp__row_vectors(&release->shape);
    return nvdp__embeddings_write(file_of(release), &release->shape, first / unit, rows / unit,
                                  first, rows, z, log_pi);
}

/* Makes the bytes of a signed file final.  A second call replaces the signature. */
static nvdp_status finish(struct nvdp__release *release) {
    struct hdf5 *of = release->of;
    const struct nvdp__attribute *signature =
        nvdp__attributes_get(&release->attributes, "signature");
    if (signature == NULL) return NVDP_OK;
    if (of->ended) return nvdp__h5_replace_text(of->file, signature->name, signature->text);
    of->ended = true;
    return nvdp__h5_finish(of->file);
}

static nvdp_status commit(struct nvdp__release *release, bool replace) {
    return nvdp__h5_commit(file_of(release), replace);
}

static bool is_unnamed(const struct nvdp__release *release) {
    return release->of != NULL && file_of(release) != NULL && nvdp__h5_is_unnamed(file_of(release));
}

/* --- reading --- */

static bool is_hdf5(const char *path, const unsigned char *first, size_t count) {
    static const unsigned char magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    (void)path;
    return count >= sizeof magic && memcmp(first, magic, sizeof magic) == 0;
}

struct taken {
    struct nvdp__release *release;
    nvdp_status status;
};

/* Takes an attribute with one number or one text.  Keeps only the name and the printed value of other attributes. */
static void take_attribute(const char *name, const char *printed, void *user) {
    struct taken *taken = user;
    struct nvdp__attributes *to = &taken->release->attributes;
    struct nvdp__h5 *file = file_of(taken->release);
    int64_t whole = 0;
    double real = 0;
    char *text = NULL;
    if (taken->status != NVDP_OK) return;
    if (nvdp__h5_is_text(file, name)) {
        taken->status = nvdp__h5_get_string(file, name, &text);
        if (taken->status == NVDP_OK) taken->status = nvdp__attributes_set_text(to, name, text);
        free(text);
    } else if (!nvdp__h5_is_number(file, name)) {
        taken->status = NVDP_ERR_INPUT;
    } else {
        taken->status = nvdp__h5_get_real(file, name, &real);
        if (taken->status == NVDP_OK)
            taken->status = nvdp__h5_get_int(file, name, &whole) == NVDP_OK
                                ? nvdp__attributes_set_whole(to, name, whole)
                                : nvdp__attributes_set_real(to, name, real);
    }
    if (taken->status == NVDP_ERR_INPUT) {
        taken->status = nvdp__attributes_set_text(to, name, printed);
        if (taken->status == NVDP_OK) to->item[to->count - 1].type = NVDP__ATTRIBUTE_NONE;
    }
}

static nvdp_status open_reader(struct nvdp__release *release) {
    struct taken taken = {.release = release};
    struct hdf5 *of = NULL;
    NVDP_TRY(NVDP__NEW(release->ctx, of, 1));
    release->of = of;
    NVDP_TRY(nvdp__h5_open(release->ctx, release->path, "embeddings", 2, &of->file));
    NVDP_TRY(nvdp__h5_list_attributes(of->file, take_attribute, &taken));
    return taken.status;
}

static nvdp_status hidden_shape(struct nvdp__release *release) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp__h5 *file = file_of(release);
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
    struct nvdp__h5 *file = file_of(release);
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

static nvdp_status read_offset(struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t samples = shape->texts * shape->samples;
    const bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    NVDP_TRY(NVDP__NEW(release->ctx, release->offset, samples + 1));
    for (size_t k = 0; k <= samples && hidden; k++)
        release->offset[k] = (int64_t)(k * shape->sample_rows);
    return hidden ? NVDP_OK
                  : nvdp__h5_read_rows(file_of(release), "offset", NVDP__H5_I64, 0, samples + 1,
                                       release->offset);
}

static nvdp_status load(struct nvdp__release *release) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp__h5 *file = file_of(release);
    shape->weights = nvdp__h5_has(file, "log_pi");
    NVDP_TRY(nvdp__release_check_weights(release));
    NVDP_TRY(shape->policy == NVDP_LENGTH_HIDDEN ? hidden_shape(release) : public_shape(release));
    if (shape->texts < 1)
        return NVDP__BAD_FILE(release, "expected at least one text, found %s", "none");
    NVDP_TRY(read_offset(release));
    void *const column[] = {&release->id, &release->split, &release->label};
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++) {
        const struct nvdp__text_column *of = &nvdp__text_columns[c];
        if (nvdp__h5_has(file, of->name))
            NVDP_TRY(nvdp__h5_read_column(file, of->name, of->type, shape->texts, column[c]));
    }
    return NVDP_OK;
}

static nvdp_status read_rows(struct nvdp__release *release, size_t first, size_t rows, void *z,
                             void *log_pi) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t unit = nvdp__row_vectors(shape), from = first / unit, count = rows / unit;
    struct nvdp__h5 *file = file_of(release);
    if (z != NULL) NVDP_TRY(nvdp__h5_read_rows(file, "z", shape->grid, from, count, z));
    return log_pi != NULL
               ? nvdp__h5_read_rows(file, "log_pi", nvdp__weight_type(shape), from, count, log_pi)
               : NVDP_OK;
}

static nvdp_status list_datasets(struct nvdp__release *release, nvdp__dataset_visit *visit,
                                 void *user) {
    return nvdp__h5_list(file_of(release), visit, user);
}

static nvdp_status digest(struct nvdp__release *release, enum nvdp__signed covers,
                          const char *except, unsigned char out[NVDP__H5_DIGEST]) {
    return covers == NVDP__SIGNED_BYTES ? nvdp__h5_file_digest(file_of(release), except, out)
                                        : nvdp__h5_digest(file_of(release), except, out);
}

static nvdp_status audit(struct nvdp__release *release, struct nvdp__h5_audit *out) {
    return nvdp__h5_audit(file_of(release), out);
}

static void close_file(struct nvdp__release *release) {
    struct hdf5 *of = release->of;
    if (of != NULL) nvdp__h5_free(of->file);
    free(of);
    release->of = NULL;
}

/* --- description and example --- */

struct described {
    struct nvdp__h5 *file;
    json_t *object;
};

static void describe_attribute(const char *name, const char *value, void *user) {
    const struct described *to = user;
    nvdp__describe_attribute(to->object, name, value, nvdp__h5_is_number(to->file, name));
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
    NVDP_TRY(nvdp__h5_list_attributes(file, describe_attribute,
                                      &(struct described){.file = file, .object = attributes}));
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

extern const struct nvdp__format nvdp__format_hdf5; /* used in formats.c */
const struct nvdp__format nvdp__format_hdf5 = {.name = "HDF5",
                                               .extension = ".h5",
                                               .detect = is_hdf5,
                                               .covers = NVDP__SIGNED_BYTES,
                                               .open = open_writer,
                                               .append = append,
                                               .finish = finish,
                                               .commit = commit,
                                               .is_unnamed = is_unnamed,
                                               .compressed = true,
                                               .read = open_reader,
                                               .load = load,
                                               .rows = read_rows,
                                               .close = close_file,
                                               .datasets = list_datasets,
                                               .digest = digest,
                                               .audit = audit,
                                               .describe = describe,
                                               .example = example};
