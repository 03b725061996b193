#include "share/embeddings_file.h"

#include "base/f16.h"
#include "share/pool.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    VERSION = 1,
    SLICE_FLOATS = 1 << 20,
    MAX_DIM = 1 << 20,
    MAX_LENGTH = 1 << 16,
    MAX_KAPPA = 1000,
    MAX_SAMPLES = 1 << 20,
    MAX_SPLIT = 4,
    DEFLATE_RATIO = 1100, /* deflate never does better than 1032 to 1 */
    SMALL_FILE = 1 << 20
};

size_t nvdp__slice_rows(size_t row) {
    size_t rows = row > 0 ? SLICE_FLOATS / row : SLICE_FLOATS;
    return rows > 0 ? rows : 1;
}

/* --- writing --- */

static nvdp_status create_samples(struct nvdp__h5 *file,
                                  const struct nvdp__embeddings_shape *shape) {
    bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    size_t square[] = {shape->texts, shape->samples, shape->sample_rows, shape->dim};
    size_t ragged[] = {shape->rows, shape->dim};
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_dataset(file, "z", NVDP__H5_F16, hidden ? 4 : 2, hidden ? square : ragged));
    if (!shape->weights) return NVDP_OK;
    return nvdp__h5_dataset(file, "log_pi", NVDP__H5_F16, hidden ? 3 : 1, hidden ? square : ragged);
}

nvdp_status nvdp__embeddings_create(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__embeddings_shape *shape,
                                    const int64_t *offset, struct nvdp__embeddings_writer *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__embeddings_writer writer = {.shape = *shape};
    size_t offsets = shape->texts * shape->samples + 1;
    NVDP_TRY(nvdp__h5_create(ctx, path, "embeddings/1", &writer.file));
    NVDP_TRY(create_samples(writer.file, shape));
    if (shape->policy == NVDP_LENGTH_PUBLIC)
        NVDP_TRY(nvdp__h5_write(writer.file, "offset", NVDP__H5_I64, 1, &offsets, offset));
    *out = writer;
cleanup:
    if (status != NVDP_OK) nvdp__embeddings_abort(&writer);
    return status;
}

nvdp_status nvdp__embeddings_write(struct nvdp__embeddings_writer *writer, size_t first,
                                   size_t texts, size_t first_row, size_t rows, const float *z,
                                   const float *log_pi) {
    bool hidden = writer->shape.policy == NVDP_LENGTH_HIDDEN;
    size_t from = hidden ? first : first_row;
    size_t count = hidden ? texts : rows;
    NVDP_RETURN_IF_FAILED(nvdp__h5_write_rows(writer->file, "z", NVDP__H5_F16, from, count, z));
    if (!writer->shape.weights) return NVDP_OK;
    return nvdp__h5_write_rows(writer->file, "log_pi", NVDP__H5_F16, from, count, log_pi);
}

nvdp_status nvdp__embeddings_commit(struct nvdp__embeddings_writer *writer) {
    nvdp_status status = nvdp__h5_commit(writer->file);
    nvdp__embeddings_abort(writer);
    return status;
}

void nvdp__embeddings_abort(struct nvdp__embeddings_writer *writer) {
    nvdp__h5_free(writer->file);
    *writer = (struct nvdp__embeddings_writer){0};
}

/* --- reading: attributes --- */

struct source {
    struct nvdp_context *ctx;
    const char *path;
    struct nvdp__h5 *file;
    struct nvdp__embeddings *to;
};

static nvdp_status ranged_int(struct source *source, const char *name, int64_t min, int64_t max,
                              int64_t *out) {
    int64_t value = 0;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_int(source->file, name, &value));
    if (value < min || value > max)
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                          "%s: attribute '%s': expected %" PRId64 " to %" PRId64 ", found %" PRId64,
                          source->path, name, min, max, value);
    *out = value;
    return NVDP_OK;
}

/* One of two words: *second says which. */
static nvdp_status one_of(struct source *source, const char *name, const char *a, const char *b,
                          bool *second) {
    nvdp_status status = NVDP_OK;
    char *text = NULL;
    NVDP_TRY(nvdp__h5_get_string(source->file, name, &text));
    *second = strcmp(text, b) == 0;
    if (!*second && strcmp(text, a) != 0)
        NVDP_TRY(nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                            "%s: attribute '%s': expected %s or %s, found '%.64s'", source->path,
                            name, a, b, text));
cleanup:
    free(text);
    return status;
}

/* A string that need not be there; too long a one is cut. */
static nvdp_status optional_string(struct source *source, const char *name, size_t room,
                                   char *out) {
    if (!nvdp__h5_has_attribute(source->file, name)) return NVDP_OK;
    char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_string(source->file, name, &text));
    snprintf(out, room, "%s", text);
    free(text);
    return NVDP_OK;
}

static nvdp_status read_attributes(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    bool public = false;
    bool same = false;
    int64_t value = 0;
    NVDP_RETURN_IF_FAILED(one_of(source, "length_policy", "hidden", "public", &public));
    shape->policy = public ? NVDP_LENGTH_PUBLIC : NVDP_LENGTH_HIDDEN;
    NVDP_RETURN_IF_FAILED(one_of(source, "grid", "float16", "float16", &same));
    NVDP_RETURN_IF_FAILED(ranged_int(source, "kappa", 1, MAX_KAPPA, &value));
    shape->kappa = (int)value;
    NVDP_RETURN_IF_FAILED(ranged_int(source, "releases", 1, MAX_SAMPLES, &value));
    shape->samples = (size_t)value;
    if (!public) {
        NVDP_RETURN_IF_FAILED(ranged_int(source, "length", 1, MAX_LENGTH, &value));
        shape->length = (size_t)value;
    }
    if (nvdp__h5_has_attribute(source->file, "latent_heads")) {
        NVDP_RETURN_IF_FAILED(ranged_int(source, "latent_heads", 1, MAX_DIM, &value));
        source->to->heads = (size_t)value;
    }
    char pool[16] = "";
    NVDP_RETURN_IF_FAILED(optional_string(source, "pool", sizeof pool, pool));
    source->to->pool = nvdp__pool_find(pool);
    NVDP_RETURN_IF_FAILED(
        optional_string(source, "method", sizeof source->to->method, source->to->method));
    return optional_string(source, "task", sizeof source->to->task, source->to->task);
}

/* --- reading: shapes --- */

static nvdp_status wrong_size(struct source *source, const char *dataset, size_t expected,
                              size_t found) {
    return nvdp__fail(source->ctx, NVDP_ERR_INPUT, "%s: dataset '%s': expected %zu rows, found %zu",
                      source->path, dataset, expected, found);
}

/* Rows of a sample that the attributes imply. */
static size_t implied_rows(const struct nvdp__embeddings_shape *shape) {
    return shape->weights ? (shape->length + 1) * (size_t)shape->kappa : shape->length;
}

static nvdp_status hidden_shape(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    size_t z[4];
    size_t log_pi[3];
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "z", NVDP__H5_F16, 4, z));
    if (z[1] != shape->samples || z[2] != implied_rows(shape))
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                          "%s: dataset 'z': expected shape [texts, %zu, %zu, p] as the attributes "
                          "say, found [%zu, %zu, %zu, %zu]",
                          source->path, shape->samples, implied_rows(shape), z[0], z[1], z[2],
                          z[3]);
    shape->texts = z[0];
    shape->sample_rows = z[2];
    shape->dim = z[3];
    size_t samples;
    if (!nvdp__mul(shape->texts, shape->samples, &samples) ||
        !nvdp__mul(samples, shape->sample_rows, &shape->rows))
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT, "%s: dataset 'z': its size overflows",
                          source->path);
    if (!shape->weights) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "log_pi", NVDP__H5_F16, 3, log_pi));
    if (memcmp(log_pi, z, sizeof log_pi) == 0) return NVDP_OK;
    return nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                      "%s: dataset 'log_pi': expected shape [%zu, %zu, %zu] as 'z', found [%zu, "
                      "%zu, %zu]",
                      source->path, z[0], z[1], z[2], log_pi[0], log_pi[1], log_pi[2]);
}

static nvdp_status public_shape(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    size_t z[2];
    size_t count;
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "z", NVDP__H5_F16, 2, z));
    shape->rows = z[0];
    shape->dim = z[1];
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "offset", NVDP__H5_I64, 1, &count));
    if (count < 1 || (count - 1) % shape->samples != 0)
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                          "%s: dataset 'offset': expected texts x %zu + 1 rows, found %zu",
                          source->path, shape->samples, count);
    shape->texts = (count - 1) / shape->samples;
    if (!shape->weights) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "log_pi", NVDP__H5_F16, 1, &count));
    return count == z[0] ? NVDP_OK : wrong_size(source, "log_pi", z[0], count);
}

/* A small file may declare an enormous dataset that it does not hold. */
static nvdp_status check_room(struct source *source) {
    const struct nvdp__embeddings_shape *shape = &source->to->shape;
    struct stat info;
    size_t items;
    size_t bytes;
    double held = SMALL_FILE;
    if (stat(source->path, &info) == 0) held += (double)info.st_size * DEFLATE_RATIO;
    bool fits = nvdp__mul(shape->rows, shape->dim, &items) &&
                nvdp__mul(items, sizeof(uint16_t), &bytes) && (double)bytes <= held &&
                (double)shape->texts * (double)shape->samples * sizeof(int64_t) <= held;
    if (fits) return NVDP_OK;
    return nvdp__fail(
        source->ctx, NVDP_ERR_INPUT,
        "%s: dataset 'z': %zu rows of %zu values are declared, more than the file can "
        "hold",
        source->path, shape->rows, shape->dim);
}

static nvdp_status read_shape(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    shape->weights = nvdp__h5_has(source->file, "log_pi");
    if (!shape->weights && strcmp(source->to->method, "nvdp") == 0)
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT, "%s: dataset 'log_pi' is missing",
                          source->path);
    NVDP_RETURN_IF_FAILED(shape->policy == NVDP_LENGTH_HIDDEN ? hidden_shape(source)
                                                              : public_shape(source));
    if (shape->texts < 1)
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT, "%s: expected at least one text, found none",
                          source->path);
    if (shape->dim < 1 || shape->dim > MAX_DIM)
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                          "%s: dataset 'z': expected vectors of 1 to %d values, found %zu",
                          source->path, MAX_DIM, shape->dim);
    return check_room(source);
}

/* --- reading: values --- */

static nvdp_status check_offset(struct source *source) {
    const struct nvdp__embeddings_shape *shape = &source->to->shape;
    const int64_t *offset = source->to->offset;
    size_t samples = shape->texts * shape->samples;
    if (offset[0] != 0 || offset[samples] != (int64_t)shape->rows)
        return nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                          "%s: dataset 'offset': expected 0 to %zu, found %" PRId64 " to %" PRId64,
                          source->path, shape->rows, offset[0], offset[samples]);
    for (size_t i = 0; i < samples; i++) {
        int64_t rows = offset[i + 1] - offset[i];
        if (offset[i + 1] > offset[i] && rows <= INT32_MAX && rows % shape->kappa == 0) continue;
        return nvdp__fail(
            source->ctx, NVDP_ERR_INPUT,
            "%s: dataset 'offset': expected rising multiples of kappa %d, found %" PRId64
            " after %" PRId64 " at row %zu",
            source->path, shape->kappa, offset[i + 1], offset[i], i + 1);
    }
    return NVDP_OK;
}

static nvdp_status read_offset(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    size_t samples = to->shape.texts * to->shape.samples;
    to->offset = nvdp__calloc(source->ctx, samples + 1, sizeof *to->offset);
    if (to->offset == NULL) return NVDP_ERR_MEMORY;
    if (to->shape.policy == NVDP_LENGTH_PUBLIC) {
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_read_rows(source->file, "offset", NVDP__H5_I64, 0, samples + 1, to->offset));
        return check_offset(source);
    }
    for (size_t i = 0; i <= samples; i++) {
        to->offset[i] = (int64_t)(i * to->shape.sample_rows);
    }
    return NVDP_OK;
}

static nvdp_status bad_value(struct source *source, const char *dataset, size_t row, double found,
                             const char *expected) {
    return nvdp__fail(source->ctx, NVDP_ERR_INPUT,
                      "%s: dataset '%s': row %zu: expected %s, found %g", source->path, dataset,
                      row, expected, found);
}

static nvdp_status store_z(struct source *source, size_t first_row, size_t items,
                           const float *slice) {
    struct nvdp__embeddings *to = source->to;
    uint16_t *z = to->z + first_row * to->shape.dim;
    for (size_t i = 0; i < items; i++) {
        if (!isfinite(slice[i]) || fabsf(slice[i]) > 65504)
            return bad_value(source, "z", first_row + i / to->shape.dim, slice[i],
                             "values of -65504 to 65504");
        z[i] = nvdp__f16_from_float(slice[i]);
    }
    return NVDP_OK;
}

/* Reads dataset rows slice by slice; `per` vectors a dataset row. */
static nvdp_status read_z(struct source *source) {
    nvdp_status status = NVDP_OK;
    struct nvdp__embeddings *to = source->to;
    bool hidden = to->shape.policy == NVDP_LENGTH_HIDDEN;
    size_t per = hidden ? to->shape.samples * to->shape.sample_rows : 1;
    size_t count = hidden ? to->shape.texts : to->shape.rows;
    size_t width = per * to->shape.dim;
    size_t step = nvdp__slice_rows(width);
    if (step > count) step = count;
    float *slice = nvdp__calloc(source->ctx, step * width, sizeof *slice);
    to->z = nvdp__calloc(source->ctx, to->shape.rows * to->shape.dim, sizeof *to->z);
    if (slice == NULL || to->z == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t first = 0; first < count; first += step) {
        size_t n = count - first < step ? count - first : step;
        NVDP_TRY(nvdp__h5_read_rows(source->file, "z", NVDP__H5_F16, first, n, slice));
        NVDP_TRY(store_z(source, first * per, n * width, slice));
    }
cleanup:
    free(slice);
    return status;
}

static nvdp_status read_log_pi(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    if (!to->shape.weights) return NVDP_OK;
    to->log_pi = nvdp__calloc(source->ctx, to->shape.rows, sizeof *to->log_pi);
    if (to->log_pi == NULL) return NVDP_ERR_MEMORY;
    size_t count = to->shape.policy == NVDP_LENGTH_HIDDEN ? to->shape.texts : to->shape.rows;
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_read_rows(source->file, "log_pi", NVDP__H5_F16, 0, count, to->log_pi));
    for (size_t r = 0; r < to->shape.rows; r++) {
        if (!isfinite(to->log_pi[r]) || to->log_pi[r] > 0)
            return bad_value(source, "log_pi", r, to->log_pi[r], "finite logarithms of weights");
    }
    return NVDP_OK;
}

/* An array of one value a text that need not be there. */
static nvdp_status read_column(struct source *source, const char *name, enum nvdp__h5_type type,
                               size_t size, void **out) {
    if (!nvdp__h5_has(source->file, name)) return NVDP_OK;
    size_t texts = source->to->shape.texts;
    size_t count;
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, name, type, 1, &count));
    if (count != texts) return wrong_size(source, name, texts, count);
    *out = nvdp__calloc(source->ctx, texts, size);
    if (*out == NULL) return NVDP_ERR_MEMORY;
    return nvdp__h5_read_rows(source->file, name, type, 0, texts, *out);
}

static nvdp_status read_columns(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    void *label = NULL;
    void *split = NULL;
    void *id = NULL;
    nvdp_status status = NVDP_OK;
    NVDP_TRY(read_column(source, "label", NVDP__H5_F32, sizeof(float), &label));
    NVDP_TRY(read_column(source, "split", NVDP__H5_I32, sizeof(int32_t), &split));
    NVDP_TRY(read_column(source, "id", NVDP__H5_I64, sizeof(int64_t), &id));
cleanup:
    to->label = label;
    to->split = split;
    to->id = id;
    if (status != NVDP_OK) return status;
    for (size_t i = 0; i < to->shape.texts; i++) {
        if (to->label != NULL && isinf(to->label[i]))
            return bad_value(source, "label", i, to->label[i], "a finite number or NaN");
        if (to->split != NULL && (to->split[i] < 0 || to->split[i] > MAX_SPLIT))
            return bad_value(source, "split", i, to->split[i], "0 to 4");
    }
    return NVDP_OK;
}

nvdp_status nvdp__embeddings_read(struct nvdp_context *ctx, const char *path,
                                  struct nvdp__embeddings **out) {
    nvdp_status status = NVDP_OK;
    struct source source = {.ctx = ctx, .path = path};
    NVDP_TRY(nvdp__h5_open(ctx, path, "embeddings", VERSION, &source.file));
    source.to = nvdp__calloc(ctx, 1, sizeof *source.to);
    if (source.to == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(read_attributes(&source));
    NVDP_TRY(read_shape(&source));
    NVDP_TRY(read_offset(&source));
    NVDP_TRY(read_z(&source));
    NVDP_TRY(read_log_pi(&source));
    NVDP_TRY(read_columns(&source));
    *out = source.to;
    source.to = NULL;
cleanup:
    nvdp__embeddings_free(source.to);
    nvdp__h5_free(source.file);
    return status;
}

void nvdp__embeddings_free(struct nvdp__embeddings *embeddings) {
    if (embeddings == NULL) return;
    free(embeddings->offset);
    free(embeddings->z);
    free(embeddings->log_pi);
    free(embeddings->label);
    free(embeddings->split);
    free(embeddings->id);
    free(embeddings);
}
