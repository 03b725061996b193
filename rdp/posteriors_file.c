/* Files of the privacy measures.
 *
 * Kind posteriors/1: offset [N+1] i64, alpha [T], mu [T, p], logvar [T, p] f32 or f64, optional
 * id [N] i64; attributes prior_alpha, kappa, length_policy, length, pad_alpha, method. Only
 * tokens are stored; prior and padding components follow from the attributes.
 *
 * The same in a file of numpy.savez: arrays with these names, and attributes as arrays of one value.
 *
 * Kind pairs/1: rd [N, N] f64, the divergence of every ordered pair of texts, row against
 * column, for one release; attribute order. */
#include "base/file.h"
#include "base/npy.h"
#include "base/own.h"
#include "hdf5/hdf5.h"
#include "rdp/pairs.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/posteriors.h>
#include <nvdp/share.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- reading posteriors --- */

struct source {
    struct nvdp_context *ctx;
    const char *path;
    struct nvdp__h5 *file; /* NULL: the arrays are in npz */
    struct nvdp__npz npz;
    size_t texts, rows, dim; /* common sizes of the shapes */
    bool with_alpha, with_id;
    struct nvdp_posteriors *to;
};

static void close_source(struct source *source) {
    nvdp__h5_free(source->file);
    nvdp__npz_release(&source->npz);
}

/* Returns the array of this name in a file of numpy.savez, or NULL. */
static const struct nvdp__npy *named_array(const struct source *source, const char *name) {
    for (size_t i = 0; i < source->npz.count; i++) {
        const struct nvdp__npz_array *array = &source->npz.array[i];
        if (array->name.size == strlen(name) &&
            memcmp(array->name.text, name, array->name.size) == 0)
            return &array->npy;
    }
    return NULL;
}

static bool has(const struct source *source, const char *dataset) {
    return source->file != NULL ? nvdp__h5_has(source->file, dataset)
                                : named_array(source, dataset) != NULL;
}

static bool has_attribute(const struct source *source, const char *name) {
    return source->file != NULL ? nvdp__h5_has_attribute(source->file, name)
                                : named_array(source, name) != NULL;
}

/* Finds an array of `rank` dimensions with values of one of the kinds; an attribute may have one dimension of one value. */
static nvdp_status find_array(const struct source *source, const char *name, const char *kinds,
                              size_t rank, const struct nvdp__npy **out) {
    const struct nvdp__npy *array = named_array(source, name);
    if (array == NULL)
        return NVDP__BAD_FILE(source, "array %s is missing: expected one of %zu dimensions", name,
                              rank);
    const bool one = rank == 0 && array->rank == 1 && array->shape[0] == 1;
    const bool number = strchr(kinds, 'U') == NULL;
    if ((array->rank != rank && !one) || strchr(kinds, array->kind) == NULL ||
        (number && array->size != 2 && array->size != 4 && array->size != 8) ||
        (array->kind == 'f' && array->size > 8))
        return NVDP__BAD_FILE(
            source, "array %s: expected %s [%zu dimensions], found kind %c%zu, %zu dimensions",
            name,
            !number           ? "text"
            : kinds[0] == 'i' ? "whole numbers of 2 to 8 bytes"
                              : "numbers of 2 to 8 bytes",
            rank, array->kind, array->size, array->rank);
    *out = array;
    return nvdp__npy_check_values(array);
}

static const char *numpy_kinds(enum nvdp__h5_type type) {
    return nvdp__h5_is_integer(type) ? "iu" : "fiu";
}

static nvdp_status get_shape(const struct source *source, const char *dataset,
                             enum nvdp__h5_type type, int rank, size_t *shape) {
    const struct nvdp__npy *array = NULL;
    if (source->file != NULL) return nvdp__h5_shape(source->file, dataset, type, rank, shape);
    NVDP_TRY(find_array(source, dataset, numpy_kinds(type), (size_t)rank, &array));
    memcpy(shape, array->shape, (size_t)rank * sizeof *shape);
    return NVDP_OK;
}

/* Returns a number of at most 8 bytes, whole or not. */
static double real_at(const struct nvdp__npy *array, size_t i, int64_t *whole) {
    const unsigned char *at = (const unsigned char *)array->values + i * array->size;
    const uint64_t bits = nvdp__npy_bits(at, array->size, array->order == '>');
    const int unused = 64 - 8 * (int)array->size;
    if (array->kind == 'f') return nvdp__npy_real(bits, array->size);
    *whole = array->kind == 'u' ? (int64_t)nvdp__min(bits, (uint64_t)INT64_MAX)
                                : (int64_t)(bits << unused) >> unused;
    return (double)*whole;
}

/* Reads all rows, as double or, of whole numbers, as int64_t. */
static nvdp_status read_rows(const struct source *source, const char *dataset,
                             enum nvdp__h5_type type, size_t rows, size_t width, void *to) {
    const struct nvdp__npy *array = named_array(source, dataset);
    if (source->file != NULL) return nvdp__h5_read_rows(source->file, dataset, type, 0, rows, to);
    for (size_t i = 0; i < rows * width; i++) {
        int64_t whole = 0;
        const double real = real_at(array, i, &whole);
        if (type == NVDP__H5_I64)
            ((int64_t *)to)[i] = whole;
        else
            ((double *)to)[i] = real;
    }
    return NVDP_OK;
}

static nvdp_status get_real(const struct source *source, const char *name, double *value) {
    const struct nvdp__npy *array = NULL;
    int64_t whole = 0;
    if (source->file != NULL) return nvdp__h5_get_real(source->file, name, value);
    NVDP_TRY(find_array(source, name, "fiu", 0, &array));
    *value = real_at(array, 0, &whole);
    return NVDP_OK;
}

/* Reads a text, whose characters beyond ASCII become question marks; free() it. */
static nvdp_status get_text(const struct source *source, const char *name, char **out) {
    const struct nvdp__npy *array = NULL;
    if (source->file != NULL) return nvdp__h5_get_string(source->file, name, out);
    NVDP_TRY(find_array(source, name, "SU", 0, &array));
    const size_t unit = array->kind == 'U' ? 4 : 1;
    nvdp__autofree char *text = NULL;
    NVDP_TRY(NVDP__NEW(source->ctx, text, array->size + 1));
    for (size_t i = 0; i < array->size; i++) {
        const uint64_t c = nvdp__npy_bits((const unsigned char *)array->values + i * unit, unit,
                                          array->order == '>');
        text[i] = c < 128 ? (char)c : '?';
    }
    return NVDP__HAND_OVER(out, text);
}

/* Opens HDF5, or a file of numpy.savez, which begins as a ZIP file. */
static nvdp_status open_source(struct source *source) {
    char head[2] = "";
    nvdp__autoptr(fclose) FILE *file = NULL;
    NVDP_TRY(nvdp__fopen_regular(source->ctx, source->path, &file));
    if (fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, "PK", sizeof head) == 0)
        return nvdp__npz_read(source->ctx, source->path, &source->npz);
    return nvdp__h5_open(source->ctx, source->path, "posteriors", 1, &source->file);
}

static nvdp_status expect_rows(const struct source *source, const char *dataset, size_t expected,
                               const char *because, size_t found) {
    if (found == expected) return NVDP_OK;
    return NVDP__BAD_FILE(source, "dataset %s: expected %zu rows, %s, found %zu", dataset, expected,
                          because, found);
}

static nvdp_status read_shapes(struct source *source) {
    size_t shape[2] = {0};
    NVDP_TRY(get_shape(source, "offset", NVDP__H5_I64, 1, shape));
    if (shape[0] < 1)
        return NVDP__BAD_FILE(source, "dataset %s: expected N+1 rows for N texts, found 0",
                              "offset");
    source->texts = shape[0] - 1;
    NVDP_TRY(get_shape(source, "mu", NVDP__H5_F64, 2, shape));
    source->rows = shape[0];
    source->dim = shape[1];
    if (source->dim == 0)
        return NVDP__BAD_FILE(source, "dataset %s: expected at least 1 column, found 0", "mu");
    NVDP_TRY(get_shape(source, "logvar", NVDP__H5_F64, 2, shape));
    NVDP_TRY(expect_rows(source, "logvar", source->rows, "as many as in mu", shape[0]));
    if (shape[1] != source->dim)
        return NVDP__BAD_FILE(source, "dataset logvar: expected %zu columns (as mu), found %zu",
                              source->dim, shape[1]);
    source->with_alpha = has(source, "alpha");
    if (source->with_alpha) {
        NVDP_TRY(get_shape(source, "alpha", NVDP__H5_F64, 1, shape));
        NVDP_TRY(expect_rows(source, "alpha", source->rows, "as many as in mu", shape[0]));
    }
    source->with_id = has(source, "id");
    if (source->with_id) {
        NVDP_TRY(get_shape(source, "id", NVDP__H5_I64, 1, shape));
        NVDP_TRY(expect_rows(source, "id", source->texts, "one per text", shape[0]));
    }
    return NVDP_OK;
}

/* Rejects implausible sizes: a file of a few bytes may declare terabytes that were never stored.
 * Deflate, the strongest of the usual filters, compresses about a thousand to one. */
static nvdp_status check_size(const struct source *source) {
    struct stat info;
    if (stat(source->path, &info) != 0)
        return nvdp__fail_errno(source->ctx, errno, "%s: cannot read", source->path);
    double max = 2000.0 * (double)info.st_size;
    bool vectors_fit = 4.0 * (double)source->rows * (double)source->dim <= max;
    if (vectors_fit && 8.0 * (double)source->texts <= max) return NVDP_OK;
    return NVDP__BAD_FILE(source,
                          "dataset %s: expected a size that fits into a file of %lld bytes, found "
                          "%zu rows of width %zu in %zu texts: the file is damaged",
                          vectors_fit ? "offset" : "mu", (long long)info.st_size, source->rows,
                          source->dim, source->texts);
}

static nvdp_status missing(const struct source *source, const char *attribute, const char *why) {
    return NVDP__BAD_FILE(source, "attribute %s is missing: expected a value (%s)", attribute, why);
}

static nvdp_status read_policy(const struct source *source) {
    if (!has_attribute(source, "length_policy")) {
        if (source->with_alpha) return missing(source, "length_policy", "hidden or public");
        source->to->policy = NVDP_LENGTH_PUBLIC;
        return NVDP_OK;
    }
    nvdp__autofree char *text = NULL;
    NVDP_TRY(get_text(source, "length_policy", &text));
    bool hidden = strcmp(text, "hidden") == 0;
    source->to->policy = hidden ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
    if (hidden || strcmp(text, "public") == 0) return NVDP_OK;
    return NVDP__BAD_FILE(source, "attribute length_policy: expected hidden or public, found '%s'",
                          text);
}

/* Reads an integer >= 1, which h5py users may have written as a float. */
static nvdp_status read_positive_integer(const struct source *source, const char *name, int *out) {
    double value = 0;
    NVDP_TRY(get_real(source, name, &value));
    if (!(value >= 1 && value <= INT32_MAX) || value != floor(value))
        return NVDP__BAD_FILE(source,
                              "attribute %s: expected a whole number from 1 to %d, found %g", name,
                              INT32_MAX, value);
    *out = (int)value;
    return NVDP_OK;
}

/* Reads the attributes of the hidden policy: the common length and the pseudo-count of padding. */
static nvdp_status read_hidden(const struct source *source) {
    struct nvdp_posteriors *to = source->to;
    int length = 0;
    if (to->policy != NVDP_LENGTH_HIDDEN) return NVDP_OK;
    if (!has_attribute(source, "length"))
        return missing(source, "length", "required by length_policy hidden");
    NVDP_TRY(read_positive_integer(source, "length", &length));
    to->length = (size_t)length;
    if (has_attribute(source, "clip_sequence"))
        NVDP_TRY(get_real(source, "clip_sequence", &to->clip_sequence));
    if (to->alpha == NULL) return NVDP_OK;
    if (!has_attribute(source, "pad_alpha"))
        return missing(source, "pad_alpha", "required by length_policy hidden");
    return get_real(source, "pad_alpha", &to->pad_alpha);
}

static nvdp_status read_method(const struct source *source) {
    struct nvdp_posteriors *to = source->to;
    if (!has_attribute(source, "method")) {
        if (to->alpha == NULL) return missing(source, "method", "required without a dataset alpha");
        memcpy(to->method, "nvdp", sizeof "nvdp");
        return NVDP_OK;
    }
    nvdp__autofree char *text = NULL;
    NVDP_TRY(get_text(source, "method", &text));
    size_t size = strlen(text) + 1;
    if (size > sizeof to->method)
        return NVDP__BAD_FILE(source,
                              "attribute method: expected at most %zu characters, found %zu",
                              sizeof to->method - 1, size - 1);
    memcpy(to->method, text, size);
    return NVDP_OK;
}

/* Reads the file's signed offsets; nvdp_posteriors_check checks their order. */
static nvdp_status read_offsets(const struct source *source) {
    size_t texts = source->texts;
    size_t *offset = source->to->offset;
    nvdp__autofree int64_t *raw = NULL;
    NVDP_TRY(NVDP__NEW(source->ctx, raw, texts + 1));
    NVDP_TRY(read_rows(source, "offset", NVDP__H5_I64, texts + 1, 1, raw));
    for (size_t i = 0; i <= texts; i++) {
        if (raw[i] < 0 || (uint64_t)raw[i] > source->rows)
            return NVDP__BAD_FILE(source,
                                  "dataset offset, row %zu: expected a number from 0 to %zu, the "
                                  "number of rows of mu, found %" PRId64,
                                  i, source->rows, raw[i]);
        offset[i] = (size_t)raw[i];
    }
    if (offset[texts] != source->rows)
        return NVDP__BAD_FILE(
            source,
            "dataset offset, last row %zu: expected %zu, the number of rows of mu, found %zu",
            texts, source->rows, offset[texts]);
    return NVDP_OK;
}

nvdp_status nvdp_posteriors_read(struct nvdp_context *ctx, const char *path,
                                 struct nvdp_posteriors **out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *made = NULL;
    nvdp__auto(close_source) struct source source = {.ctx = ctx, .path = path};
    NVDP_TRY(open_source(&source));
    NVDP_TRY(read_shapes(&source));
    NVDP_TRY(check_size(&source));
    NVDP_TRY(nvdp_posteriors_create(ctx, source.texts, source.rows, source.dim, source.with_alpha,
                                    &made));
    source.to = made;
    if (has_attribute(&source, "prior_alpha"))
        NVDP_TRY(get_real(&source, "prior_alpha", &made->prior_alpha));
    if (has_attribute(&source, "kappa"))
        NVDP_TRY(read_positive_integer(&source, "kappa", &made->kappa));
    NVDP_TRY(read_policy(&source));
    NVDP_TRY(read_hidden(&source));
    NVDP_TRY(read_method(&source));
    NVDP_TRY(read_offsets(&source));
    NVDP_TRY(read_rows(&source, "mu", NVDP__H5_F64, source.rows, source.dim, made->mu));
    NVDP_TRY(read_rows(&source, "logvar", NVDP__H5_F64, source.rows, source.dim, made->logvar));
    if (source.with_alpha)
        NVDP_TRY(read_rows(&source, "alpha", NVDP__H5_F64, source.rows, 1, made->alpha));
    if (source.with_id) {
        NVDP_TRY(NVDP__NEW(ctx, made->id, source.texts));
        NVDP_TRY(read_rows(&source, "id", NVDP__H5_I64, source.texts, 1, made->id));
    }
    NVDP_TRY(nvdp_posteriors_check(ctx, made, path));
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* --- writing posteriors --- */

/* Writes float32 if every value is a float, which takes half the bytes without loss. */
static nvdp_status write_reals(struct nvdp_context *ctx, struct nvdp__h5 *file, const char *name,
                               int rank, const size_t *shape, const double *values) {
    const size_t width = rank == 2 ? shape[1] : 1;
    /* number of rows that are converted together */
    const size_t slice = 1 + ((size_t)1 << 16) / width;
    for (size_t k = 0; k < shape[0] * width; k++) {
        if ((double)(float)values[k] != values[k])
            return nvdp__h5_write(file, name, NVDP__H5_F64, rank, shape, values);
    }
    nvdp__autofree float *narrow = NULL;
    NVDP_TRY(NVDP__NEW(ctx, narrow, slice * width));
    NVDP_TRY(nvdp__h5_dataset(file, name, NVDP__H5_F32, rank, shape));
    for (size_t first = 0; first < shape[0]; first += slice) {
        size_t rows = shape[0] - first < slice ? shape[0] - first : slice;
        for (size_t k = 0; k < rows * width; k++) {
            narrow[k] = (float)values[first * width + k];
        }
        NVDP_TRY(nvdp__h5_write_rows(file, name, NVDP__H5_F32, first, rows, narrow));
    }
    return NVDP_OK;
}

nvdp_status nvdp_posteriors_write(struct nvdp_context *ctx, const char *path,
                                  const struct nvdp_posteriors *posteriors) {
    const struct nvdp_posteriors *from = posteriors;
    const size_t shape[2] = {from->offset[from->texts], from->dim};
    const bool hidden = from->policy == NVDP_LENGTH_HIDDEN;
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    NVDP_TRY(nvdp_posteriors_check(ctx, from, ""));
    if (from->alpha == NULL && from->method[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: posteriors without alpha need the name of a method, found none",
                          path);
    NVDP_TRY(nvdp__h5_create(ctx, path, "posteriors/1", &file));
    NVDP_TRY(nvdp__h5_set_string(file, "method", from->method));
    NVDP_TRY(nvdp__h5_set_string(file, "length_policy", hidden ? "hidden" : "public"));
    NVDP_TRY(nvdp__h5_set_int(file, "kappa", from->kappa));
    if (hidden) NVDP_TRY(nvdp__h5_set_int(file, "length", (int64_t)from->length));
    if (from->clip_sequence > 0)
        NVDP_TRY(nvdp__h5_set_real(file, "clip_sequence", from->clip_sequence));
    if (from->alpha != NULL) NVDP_TRY(nvdp__h5_set_real(file, "prior_alpha", from->prior_alpha));
    if (from->alpha != NULL && hidden)
        NVDP_TRY(nvdp__h5_set_real(file, "pad_alpha", from->pad_alpha));
    NVDP_TRY(nvdp__h5_write_sizes(file, "offset", from->texts + 1, from->offset));
    if (from->alpha != NULL) NVDP_TRY(write_reals(ctx, file, "alpha", 1, shape, from->alpha));
    NVDP_TRY(write_reals(ctx, file, "mu", 2, shape, from->mu));
    NVDP_TRY(write_reals(ctx, file, "logvar", 2, shape, from->logvar));
    if (from->id != NULL)
        NVDP_TRY(nvdp__h5_write(file, "id", NVDP__H5_I64, 1, &from->texts, from->id));
    return nvdp__h5_commit(file, true);
}

/* --- pairs --- */

nvdp_status nvdp__pairs_write(struct nvdp_context *ctx, const char *path, size_t n, double order,
                              const double *matrix, const int64_t *id) {
    if (n == 0 || matrix == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: no pairs were measured, so there is nothing to write", path);
    nvdp__autoptr(nvdp__h5_free) struct nvdp__h5 *file = NULL;
    NVDP_TRY(nvdp__h5_create(ctx, path, "pairs/1", &file));
    NVDP_TRY(nvdp__h5_set_real(file, "order", order));
    NVDP_TRY(nvdp__h5_set_string(file, "unit", "nats"));
    NVDP_TRY(nvdp__h5_set_string(file, "normalisation", "sum"));
    NVDP_TRY(nvdp__h5_set_string(file, "direction", "rd[p, q] = D(P of text p || Q of text q)"));
    NVDP_TRY(nvdp__h5_write(file, "rd", NVDP__H5_F64, 2, (const size_t[]){n, n}, matrix));
    if (id != NULL) NVDP_TRY(nvdp__h5_write(file, "id", NVDP__H5_I64, 1, (const size_t[]){n}, id));
    return nvdp__h5_commit(file, true);
}
