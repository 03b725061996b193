/* Files of kind posteriors/1: offset [N+1] i64, alpha [T], mu [T, p], logvar [T, p] f32 or f64,
 * optional id [N] i64; attributes prior_alpha, kappa, length_policy, length, pad_alpha, method.
 * Only tokens are stored; prior and padding components follow from the attributes. */
#include "base/base.h"
#include "base/hdf5.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/posteriors.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- reading --- */

/* Counts that the shapes must agree on. */
struct extent {
    size_t texts, rows, dim;
    bool with_alpha, with_id;
};

static nvdp_status expect_rows(struct nvdp_context *ctx, const char *path, const char *dataset,
                               size_t expected, const char *because, size_t found) {
    if (found == expected) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: dataset %s: expected %zu rows (%s), found %zu",
                      path, dataset, expected, because, found);
}

static nvdp_status read_extent(struct nvdp_context *ctx, struct nvdp__h5 *file,
                               struct extent *out) {
    const char *path = nvdp__h5_path(file);
    struct extent made = {0};
    size_t shape[2] = {0};
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(file, "offset", NVDP__H5_I64, 1, shape));
    if (shape[0] < 1) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: dataset offset: expected N+1 rows for N texts, found 0", path);
    }
    made.texts = shape[0] - 1;
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(file, "mu", NVDP__H5_F64, 2, shape));
    made.rows = shape[0];
    made.dim = shape[1];
    if (made.dim == 0) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: dataset mu: expected at least 1 column, found 0", path);
    }
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(file, "logvar", NVDP__H5_F64, 2, shape));
    NVDP_RETURN_IF_FAILED(expect_rows(ctx, path, "logvar", made.rows, "as mu", shape[0]));
    if (shape[1] != made.dim) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: dataset logvar: expected %zu columns (as mu), found %zu", path,
                          made.dim, shape[1]);
    }
    made.with_alpha = nvdp__h5_has(file, "alpha");
    if (made.with_alpha) {
        NVDP_RETURN_IF_FAILED(nvdp__h5_shape(file, "alpha", NVDP__H5_F64, 1, shape));
        NVDP_RETURN_IF_FAILED(expect_rows(ctx, path, "alpha", made.rows, "as mu", shape[0]));
    }
    made.with_id = nvdp__h5_has(file, "id");
    if (made.with_id) {
        NVDP_RETURN_IF_FAILED(nvdp__h5_shape(file, "id", NVDP__H5_I64, 1, shape));
        NVDP_RETURN_IF_FAILED(expect_rows(ctx, path, "id", made.texts, "one a text", shape[0]));
    }
    *out = made;
    return NVDP_OK;
}

/* A file of a few bytes may declare terabytes that were never stored.  Deflate, the tightest of the
 * usual filters, packs about a thousand to one. */
static nvdp_status check_size(struct nvdp_context *ctx, const char *path,
                              const struct extent *extent) {
    struct stat info;
    if (stat(path, &info) != 0) return nvdp__fail_errno(ctx, errno, "%s: cannot read", path);
    double most = 2000.0 * (double)info.st_size;
    double vectors = 4.0 * (double)extent->rows * (double)extent->dim;
    const char *dataset = vectors > most ? "mu" : "offset";
    if (vectors <= most && 8.0 * (double)extent->texts <= most) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: dataset %s: expected what a file of %lld bytes can hold, found %zu rows "
                      "of width %zu in %zu texts",
                      path, dataset, (long long)info.st_size, extent->rows, extent->dim,
                      extent->texts);
}

static nvdp_status missing(struct nvdp_context *ctx, const char *path, const char *attribute,
                           const char *why) {
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: attribute %s: expected a value (%s), found none",
                      path, attribute, why);
}

static nvdp_status read_policy(struct nvdp_context *ctx, struct nvdp__h5 *file,
                               struct nvdp_posteriors *to) {
    const char *path = nvdp__h5_path(file);
    if (!nvdp__h5_has_attribute(file, "length_policy")) {
        if (to->alpha != NULL) {
            return missing(ctx, path, "length_policy", "hidden or public");
        }
        to->policy = NVDP_LENGTH_PUBLIC;
        return NVDP_OK;
    }
    char *text = NULL;
    nvdp_status status = NVDP_OK;
    NVDP_TRY(nvdp__h5_get_string(file, "length_policy", &text));
    if (strcmp(text, "hidden") == 0) {
        to->policy = NVDP_LENGTH_HIDDEN;
    } else if (strcmp(text, "public") == 0) {
        to->policy = NVDP_LENGTH_PUBLIC;
    } else {
        status = nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "%s: attribute length_policy: expected hidden or public, found '%s'",
                            path, text);
    }
cleanup:
    free(text);
    return status;
}

/* A whole number from 1 on; h5py users may have written it as a float. */
static nvdp_status read_whole(struct nvdp_context *ctx, struct nvdp__h5 *file, const char *name,
                              int *out) {
    double value = 0;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_real(file, name, &value));
    if (!(value >= 1 && value <= INT32_MAX) || value != floor(value)) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: attribute %s: expected a whole number from 1 to %d, found %g",
                          nvdp__h5_path(file), name, INT32_MAX, value);
    }
    *out = (int)value;
    return NVDP_OK;
}

/* What the hidden policy needs: the common length and the padding's pseudo-count. */
static nvdp_status read_hidden(struct nvdp_context *ctx, struct nvdp__h5 *file,
                               struct nvdp_posteriors *to) {
    const char *path = nvdp__h5_path(file);
    int length = 0;
    if (to->policy != NVDP_LENGTH_HIDDEN) return NVDP_OK;
    if (!nvdp__h5_has_attribute(file, "length")) {
        return missing(ctx, path, "length", "length_policy is hidden");
    }
    NVDP_RETURN_IF_FAILED(read_whole(ctx, file, "length", &length));
    to->length = (size_t)length;
    if (to->alpha == NULL) return NVDP_OK;
    if (!nvdp__h5_has_attribute(file, "pad_alpha")) {
        return missing(ctx, path, "pad_alpha", "length_policy is hidden");
    }
    return nvdp__h5_get_real(file, "pad_alpha", &to->pad_alpha);
}

static nvdp_status read_method(struct nvdp_context *ctx, struct nvdp__h5 *file,
                               struct nvdp_posteriors *to) {
    const char *path = nvdp__h5_path(file);
    if (!nvdp__h5_has_attribute(file, "method")) {
        if (to->alpha == NULL) return missing(ctx, path, "method", "there is no dataset alpha");
        memcpy(to->method, "nvdp", sizeof "nvdp");
        return NVDP_OK;
    }
    char *text = NULL;
    nvdp_status status = NVDP_OK;
    NVDP_TRY(nvdp__h5_get_string(file, "method", &text));
    size_t size = strlen(text) + 1;
    if (size > sizeof to->method) {
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "%s: attribute method: expected at most %zu characters, found %zu",
                            path, sizeof to->method - 1, size - 1));
    }
    memcpy(to->method, text, size);
cleanup:
    free(text);
    return status;
}

static nvdp_status read_attributes(struct nvdp_context *ctx, struct nvdp__h5 *file,
                                   struct nvdp_posteriors *to) {
    if (nvdp__h5_has_attribute(file, "prior_alpha")) {
        NVDP_RETURN_IF_FAILED(nvdp__h5_get_real(file, "prior_alpha", &to->prior_alpha));
    }
    if (nvdp__h5_has_attribute(file, "kappa")) {
        NVDP_RETURN_IF_FAILED(read_whole(ctx, file, "kappa", &to->kappa));
    }
    NVDP_RETURN_IF_FAILED(read_policy(ctx, file, to));
    NVDP_RETURN_IF_FAILED(read_hidden(ctx, file, to));
    return read_method(ctx, file, to);
}

/* The file's signed offsets; order among them is nvdp_posteriors_check's business. */
static nvdp_status read_offsets(struct nvdp_context *ctx, struct nvdp__h5 *file, size_t rows,
                                struct nvdp_posteriors *to) {
    const char *path = nvdp__h5_path(file);
    nvdp_status status = NVDP_OK;
    int64_t *raw = nvdp__calloc(ctx, to->texts + 1, sizeof *raw);
    if (raw == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__h5_read_rows(file, "offset", NVDP__H5_I64, 0, to->texts + 1, raw));
    for (size_t i = 0; i <= to->texts; i++) {
        if (raw[i] < 0 || (uint64_t)raw[i] > rows) {
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "%s: dataset offset, row %zu: expected 0 to %zu (the rows of mu), "
                                "found %" PRId64,
                                path, i, rows, raw[i]));
        }
        to->offset[i] = (size_t)raw[i];
    }
    if (to->offset[to->texts] != rows) {
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "%s: dataset offset, row %zu: expected %zu (the rows of mu), found %zu",
                            path, to->texts, rows, to->offset[to->texts]));
    }
cleanup:
    free(raw);
    return status;
}

static nvdp_status read_arrays(struct nvdp_context *ctx, struct nvdp__h5 *file,
                               const struct extent *extent, struct nvdp_posteriors *to) {
    NVDP_RETURN_IF_FAILED(read_offsets(ctx, file, extent->rows, to));
    NVDP_RETURN_IF_FAILED(nvdp__h5_read_rows(file, "mu", NVDP__H5_F64, 0, extent->rows, to->mu));
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_read_rows(file, "logvar", NVDP__H5_F64, 0, extent->rows, to->logvar));
    if (extent->with_alpha) {
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_read_rows(file, "alpha", NVDP__H5_F64, 0, extent->rows, to->alpha));
    }
    if (!extent->with_id) return NVDP_OK;
    to->id = nvdp__calloc(ctx, extent->texts, sizeof *to->id);
    if (to->id == NULL) return NVDP_ERR_MEMORY;
    return nvdp__h5_read_rows(file, "id", NVDP__H5_I64, 0, extent->texts, to->id);
}

nvdp_status nvdp_posteriors_read(struct nvdp_context *ctx, const char *path,
                                 struct nvdp_posteriors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = NULL;
    struct nvdp_posteriors *made = NULL;
    struct extent extent = {0};
    NVDP_TRY(nvdp__h5_open(ctx, path, "posteriors", 1, &file));
    NVDP_TRY(read_extent(ctx, file, &extent));
    NVDP_TRY(check_size(ctx, path, &extent));
    NVDP_TRY(nvdp_posteriors_create(ctx, extent.texts, extent.rows, extent.dim, extent.with_alpha,
                                    &made));
    NVDP_TRY(read_attributes(ctx, file, made));
    NVDP_TRY(read_arrays(ctx, file, &extent, made));
    NVDP_TRY(nvdp_posteriors_check(ctx, made, path));
    *out = made;
    made = NULL;
cleanup:
    nvdp_posteriors_free(made);
    nvdp__h5_free(file);
    return status;
}

/* --- writing --- */

/* Whether every value is a float: half the bytes, and nothing lost. */
static bool all_floats(const double *values, size_t count) {
    for (size_t k = 0; k < count; k++) {
        if ((double)(float)values[k] != values[k]) return false;
    }
    return true;
}

static nvdp_status write_reals(struct nvdp_context *ctx, struct nvdp__h5 *file, const char *name,
                               int rank, const size_t *shape, const double *values) {
    const size_t width = rank == 2 ? shape[1] : 1;
    const size_t slice = 1 + ((size_t)1 << 16) / width; /* rows converted at a time */
    if (!all_floats(values, shape[0] * width)) {
        return nvdp__h5_write(file, name, NVDP__H5_F64, rank, shape, values);
    }
    nvdp_status status = NVDP_OK;
    float *narrow = nvdp__calloc(ctx, slice * width, sizeof *narrow);
    if (narrow == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__h5_dataset(file, name, NVDP__H5_F32, rank, shape));
    for (size_t first = 0; first < shape[0]; first += slice) {
        size_t rows = shape[0] - first < slice ? shape[0] - first : slice;
        for (size_t k = 0; k < rows * width; k++) {
            narrow[k] = (float)values[first * width + k];
        }
        NVDP_TRY(nvdp__h5_write_rows(file, name, NVDP__H5_F32, first, rows, narrow));
    }
cleanup:
    free(narrow);
    return status;
}

static nvdp_status write_offsets(struct nvdp_context *ctx, struct nvdp__h5 *file,
                                 const struct nvdp_posteriors *from) {
    size_t count = from->texts + 1;
    int64_t *raw = nvdp__calloc(ctx, count, sizeof *raw);
    if (raw == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        raw[i] = (int64_t)from->offset[i];
    }
    nvdp_status status = nvdp__h5_write(file, "offset", NVDP__H5_I64, 1, &count, raw);
    free(raw);
    return status;
}

static nvdp_status write_attributes(struct nvdp__h5 *file, const struct nvdp_posteriors *from) {
    bool hidden = from->policy == NVDP_LENGTH_HIDDEN;
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "method", from->method));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "length_policy", hidden ? "hidden" : "public"));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "kappa", from->kappa));
    if (hidden) {
        NVDP_RETURN_IF_FAILED(nvdp__h5_set_int(file, "length", (int64_t)from->length));
    }
    if (from->alpha == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_real(file, "prior_alpha", from->prior_alpha));
    return hidden ? nvdp__h5_set_real(file, "pad_alpha", from->pad_alpha) : NVDP_OK;
}

static nvdp_status write_arrays(struct nvdp_context *ctx, struct nvdp__h5 *file,
                                const struct nvdp_posteriors *from) {
    size_t shape[2] = {from->offset[from->texts], from->dim};
    NVDP_RETURN_IF_FAILED(write_offsets(ctx, file, from));
    if (from->alpha != NULL) {
        NVDP_RETURN_IF_FAILED(write_reals(ctx, file, "alpha", 1, shape, from->alpha));
    }
    NVDP_RETURN_IF_FAILED(write_reals(ctx, file, "mu", 2, shape, from->mu));
    NVDP_RETURN_IF_FAILED(write_reals(ctx, file, "logvar", 2, shape, from->logvar));
    if (from->id == NULL) return NVDP_OK;
    return nvdp__h5_write(file, "id", NVDP__H5_I64, 1, &from->texts, from->id);
}

nvdp_status nvdp_posteriors_write(struct nvdp_context *ctx, const char *path,
                                  const struct nvdp_posteriors *posteriors) {
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = NULL;
    NVDP_RETURN_IF_FAILED(nvdp_posteriors_check(ctx, posteriors, ""));
    if (posteriors->alpha == NULL && posteriors->method[0] == '\0') {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: posteriors without alpha: expected a method's name, found none",
                          path);
    }
    NVDP_TRY(nvdp__h5_create(ctx, path, "posteriors/1", &file));
    NVDP_TRY(write_attributes(file, posteriors));
    NVDP_TRY(write_arrays(ctx, file, posteriors));
    NVDP_TRY(nvdp__h5_commit(file));
cleanup:
    nvdp__h5_free(file);
    return status;
}
