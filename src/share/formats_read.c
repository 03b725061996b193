/* Shared files in other programs' formats, back into their HDF5 form, which everything that reads a shared file then reads.
 *
 * The form is made among the system's temporary files and has no name there once it is whole.  From it the file is written
 * again, and must be the same: there is no byte in it, of a comment, an order, a padding, that the form does not decide.  So
 * what is signed of the form (sign.h) is signed of every byte. */
#include "share/formats_read.h"
#include "share/attributes.h"
#include "share/statement.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLICE_VALUES = 1 << 18, MAGIC = 9, MOST_ROWS = INT32_MAX, MOST_DIM = 1 << 20 };

/* --- what the words say of the shape --- */

static nvdp_status whole_word(struct nvdp__source *source, const char *name, int64_t most,
                              size_t *out) {
    const char *text = nvdp__sayings_find(&source->words, name);
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > most)
        return NVDP__BAD_FILE(source, "metadata '%s': expected 1 to %" PRId64 ", found '%.40s'",
                              name, most, text);
    *out = (size_t)value;
    return NVDP_OK;
}

static nvdp_status exponent_word(struct nvdp__source *source, const char *name, int *out) {
    const char *text = nvdp__sayings_find(&source->words, name);
    if (!nvdp__step_exponent(strtod(text, NULL), out))
        return NVDP__BAD_FILE(source, "metadata '%s': expected a power of two, found '%.40s'", name,
                              text);
    return NVDP_OK;
}

nvdp_status nvdp__source_shape(struct nvdp__source *source, size_t rows, size_t dim, bool weights) {
    struct nvdp__embeddings_shape *shape = &source->shape;
    const char *format = nvdp__sayings_find(&source->words, "nvdp_format");
    const char *grid = nvdp__sayings_find(&source->words, "grid");
    const bool hidden = strcmp(nvdp__sayings_find(&source->words, "length_policy"), "hidden") == 0;
    if (strcmp(format, "embeddings/1") != 0 && strcmp(format, "embeddings/2") != 0)
        return NVDP__BAD_FILE(
            source,
            "expected what nvdp export writes, 'nvdp_format' embeddings/1 or /2, found "
            "'%.40s'",
            format);
    NVDP_RETURN_IF_FAILED(whole_word(source, "texts", MOST_ROWS, &shape->texts));
    NVDP_RETURN_IF_FAILED(whole_word(source, "releases", MOST_ROWS, &shape->samples));
    if (rows < 1 || rows > MOST_ROWS || dim < 1 || dim > MOST_DIM ||
        shape->texts > MOST_ROWS / shape->samples)
        return NVDP__BAD_FILE(
            source, "%zu vectors of %zu numbers of %zu texts: more or less than there can be", rows,
            dim, shape->texts);
    const size_t samples = shape->texts * shape->samples;
    if (samples > rows || (hidden && rows % samples != 0))
        return NVDP__BAD_FILE(source, "expected vectors in each of %zu samples, %sfound %zu in all",
                              samples, hidden ? "as many in all of them, " : "", rows);
    shape->rows = rows;
    shape->dim = dim;
    shape->weights = weights;
    shape->policy = hidden ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
    shape->sample_rows = hidden ? rows / samples : 0;
    if (!nvdp__grid_find(grid, &shape->grid))
        return NVDP__BAD_FILE(
            source, "metadata 'grid': expected float16, int16 or int32, found '%.40s'", grid);
    if (shape->grid == NVDP__H5_F16) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(exponent_word(source, "z_step", &shape->z_exponent));
    return weights ? exponent_word(source, "log_pi_step", &shape->log_pi_exponent) : NVDP_OK;
}

/* --- the form --- */

/* As nvdp__release_attributes sets them. */
static nvdp_status set_word(struct nvdp__source *source, const char *name, const char *value) {
    const enum nvdp__attribute type = nvdp__attribute_find(name);
    char *end = NULL;
    const double number = strtod(value, &end);
    if (type == NVDP__ATTRIBUTE_CREATED) return NVDP_OK;
    if (type == NVDP__ATTRIBUTE_WHOLE)
        return nvdp__h5_set_int(source->form, name, strtoll(value, NULL, 10));
    if (type == NVDP__ATTRIBUTE_TEXT || end == value || *end != '\0')
        return nvdp__h5_set_string(source->form, name, value);
    return nvdp__h5_set_real(source->form, name, number);
}

static nvdp_status write_rows(struct nvdp__source *source) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__embeddings_shape *shape = &source->shape;
    const size_t unit = nvdp__row_vectors(shape); /* rows there, of one here */
    const size_t count = shape->rows / unit, width = unit * shape->dim;
    const size_t most = width < SLICE_VALUES ? SLICE_VALUES / width : 1;
    const size_t step = nvdp__least(most, count);
    float *z = nvdp__calloc(source->ctx, step * width, sizeof *z); /* or int32_t */
    float *log_pi = nvdp__calloc(source->ctx, step * unit, sizeof *log_pi);
    NVDP_TRY(NVDP__MADE(z, log_pi));
    for (size_t first = 0; first < count; first += step) {
        const size_t n = nvdp__least(count - first, step);
        NVDP_TRY(source->reader->rows(source, first * unit, n * unit, z, log_pi));
        NVDP_TRY(nvdp__embeddings_write(source->form, shape, first, n, first, n, z, log_pi));
    }
cleanup:
    free(z);
    free(log_pi);
    return status;
}

static nvdp_status write_form(struct nvdp__source *source, const char *path) {
    const struct nvdp__embeddings_shape *shape = &source->shape;
    /* the form has none where lengths are hidden: then they are as they must be */
    for (size_t k = 0; k <= shape->texts * shape->samples && shape->sample_rows > 0; k++)
        source->offset[k] = (int64_t)(k * shape->sample_rows);
    NVDP_RETURN_IF_FAILED(
        nvdp__embeddings_create(source->ctx, path, shape, source->offset, &source->form));
    for (size_t i = 0; i + 1 < source->words.count; i += 2)
        NVDP_RETURN_IF_FAILED(set_word(source, source->words.text[i], source->words.text[i + 1]));
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        if (source->column[c] != NULL)
            NVDP_RETURN_IF_FAILED(nvdp__h5_write(source->form, nvdp__text_columns[c].name,
                                                 nvdp__text_columns[c].type, 1, &shape->texts,
                                                 source->column[c]));
    return write_rows(source);
}

/* --- the same bytes again --- */

static nvdp_status same_bytes(struct nvdp__source *source, FILE *again) {
    nvdp_status status = NVDP_OK;
    enum { BYTES = 1 << 16 };
    FILE *file = NULL;
    char *one = nvdp__calloc(source->ctx, 2 * BYTES, 1), *two = one + BYTES;
    if (one == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__fopen_regular(source->ctx, source->path, &file));
    for (size_t at = 0, n = BYTES; n == BYTES; at += n) {
        n = fread(one, 1, BYTES, file);
        const size_t m = fread(two, 1, BYTES, again);
        size_t i = 0;
        while (i < n && i < m && one[i] == two[i])
            i++;
        if (n != m || i < n)
            NVDP_TRY(NVDP__BAD_FILE(
                source,
                "expected what nvdp export writes of these values and words, byte by "
                "byte, found another byte at %zu",
                at + i));
    }
cleanup:
    if (file != NULL) fclose(file);
    free(one);
    return status;
}

static nvdp_status check_bytes(struct nvdp__source *source, const char *folder) {
    nvdp_status status = NVDP_OK;
    const struct nvdp__shared shared = {source->ctx, source->form, &source->shape, source->offset};
    struct nvdp__output output = {0};
    FILE *again = NULL;
    char *path = nvdp__join(source->ctx, folder, "again");
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(nvdp__output_open(source->ctx, path, &output));
    NVDP_TRY(nvdp__shared_put(&shared, source->reader->format, &output));
    if (fflush(output.file) != 0)
        NVDP_TRY(nvdp__fail_errno(source->ctx, errno, "%s: cannot write", path));
    NVDP_TRY(nvdp__fopen_regular(source->ctx, output.beside, &again));
    NVDP_TRY(same_bytes(source, again));
cleanup:
    if (again != NULL) fclose(again);
    nvdp__output_abort(&output);
    free(path);
    return status;
}

static nvdp_status make_form(struct nvdp__source *source) {
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

static void close_source(struct nvdp__source *source) {
    if (source->reader != NULL) source->reader->close(source->of);
    nvdp__sayings_release(&source->words);
    free(source->offset);
    for (size_t c = 0; c < NVDP__TEXT_COLUMNS; c++)
        free(source->column[c]);
}

/* NULL: of HDF5. */
static nvdp_status find_reader(struct nvdp_context *ctx, const char *path,
                               const struct nvdp__shared_reader **reader) {
    unsigned char magic[MAGIC] = {0};
    FILE *file = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__fopen_regular(ctx, path, &file));
    (void)fread(magic, 1, MAGIC, file);
    fclose(file);
    *reader = memcmp(magic, "PAR1", 4) == 0 ? &nvdp__parquet_reader
              : magic[MAGIC - 1] == '{' ? &nvdp__safetensors_reader /* behind the header's length */
                                        : NULL;
    return NVDP_OK;
}

nvdp_status nvdp__embeddings_open(struct nvdp_context *ctx, const char *path,
                                  struct nvdp__h5 **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__source source = {.ctx = ctx, .path = path, .words = {.ctx = ctx}};
    NVDP_RETURN_IF_FAILED(nvdp__check_regular(ctx, path));
    NVDP_RETURN_IF_FAILED(find_reader(ctx, path, &source.reader));
    if (source.reader == NULL) return nvdp__h5_open(ctx, path, "embeddings", 2, out);
    NVDP_TRY(source.reader->open(&source));
    NVDP_TRY(make_form(&source));
    *out = source.form;
cleanup:
    close_source(&source);
    return status;
}
