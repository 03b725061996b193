#include "share/embeddings_file.h"

#include "base/f16.h"
#include "mechanism/options.h"
#include "model/model.h"
#include "options/schema.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/share.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICE_FLOATS = 1 << 20, /* read at once */
    MAX_DIM = 1 << 20,
    MAX_LENGTH = 1 << 16,
    MAX_KAPPA = 1000,
    MAX_SAMPLES = 1 << 20,
    MAX_SPLIT = 4,
    MOST_EXPONENT = 30
};

const char *const nvdp__grid_names[] = {
    [NVDP__H5_F16] = "float16", [NVDP__H5_I16] = "int16", [NVDP__H5_I32] = "int32"};

static bool whole(const struct nvdp__embeddings_shape *shape) {
    return shape->grid != NVDP__H5_F16;
}

bool nvdp__grid_find(const char *name, enum nvdp__h5_type *grid) {
    for (size_t k = 0; k < sizeof nvdp__grid_names / sizeof *nvdp__grid_names; k++) {
        if (nvdp__grid_names[k] == NULL || strcmp(name, nvdp__grid_names[k]) != 0) continue;
        *grid = (enum nvdp__h5_type)k;
        return true;
    }
    return false;
}

enum nvdp__h5_type nvdp__weight_type(const struct nvdp__embeddings_shape *shape) {
    return whole(shape) ? NVDP__H5_I16 : NVDP__H5_F16;
}

size_t nvdp__row_vectors(const struct nvdp__embeddings_shape *shape) {
    return shape->policy == NVDP_LENGTH_HIDDEN ? shape->samples * shape->sample_rows : 1;
}

bool nvdp__step_exponent(double step, int *exponent) {
    int above = 0; /* step = 0.5 * 2^above */
    if (frexp(step, &above) != 0.5 || abs(above - 1) > MOST_EXPONENT) return false;
    *exponent = above - 1;
    return true;
}

enum nvdp_pool nvdp__pool_find(const char *name) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        if (strcmp(name, nvdp__pool_names[pool]) == 0) return pool;
    }
    return NVDP_POOL_AUTO;
}

/* --- writing --- */

nvdp_status nvdp__embeddings_create(struct nvdp_context *ctx, const char *path,
                                    const struct nvdp__embeddings_shape *shape,
                                    const int64_t *offset, struct nvdp__h5 **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__h5 *file = NULL;
    bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    const size_t square[] = {shape->texts, shape->samples, shape->sample_rows, shape->dim};
    const size_t ragged[] = {shape->rows, shape->dim};
    const size_t *extent = hidden ? square : ragged;
    size_t offsets = shape->texts * shape->samples + 1;
    NVDP_TRY(nvdp__h5_create(ctx, path, whole(shape) ? "embeddings/2" : "embeddings/1", &file));
    NVDP_TRY(nvdp__h5_dataset(file, "z", shape->grid, hidden ? 4 : 2, extent));
    if (shape->weights)
        NVDP_TRY(
            nvdp__h5_dataset(file, "log_pi", nvdp__weight_type(shape), hidden ? 3 : 1, extent));
    NVDP_TRY(nvdp__h5_set_string(file, "grid", nvdp__grid_names[shape->grid]));
    if (whole(shape)) NVDP_TRY(nvdp__h5_set_real(file, "z_step", ldexp(1, shape->z_exponent)));
    if (whole(shape) && shape->weights)
        NVDP_TRY(nvdp__h5_set_real(file, "log_pi_step", ldexp(1, shape->log_pi_exponent)));
    if (!hidden) NVDP_TRY(nvdp__h5_write(file, "offset", NVDP__H5_I64, 1, &offsets, offset));
    NVDP__HAND_OVER(out, file);
cleanup:
    nvdp__h5_free(file);
    return status;
}

nvdp_status nvdp__embeddings_write(struct nvdp__h5 *file,
                                   const struct nvdp__embeddings_shape *shape, size_t first,
                                   size_t texts, size_t first_row, size_t rows, const void *z,
                                   const void *log_pi) {
    bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    size_t from = hidden ? first : first_row, count = hidden ? texts : rows;
    NVDP_RETURN_IF_FAILED(nvdp__h5_write_rows(file, "z", shape->grid, from, count, z));
    if (!shape->weights) return NVDP_OK;
    return nvdp__h5_write_rows(file, "log_pi", nvdp__weight_type(shape), from, count, log_pi);
}

/* --- reading: attributes --- */

struct source {
    struct nvdp_context *ctx;
    const char *path;
    struct nvdp__h5 *file;
    nvdp__embeddings_visit *visit; /* NULL: z is held */
    void *user;
    struct nvdp__embeddings *to;
};

static nvdp_status read_size(struct source *source, const char *name, int64_t max, size_t *out) {
    int64_t value = 0;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_int(source->file, name, &value));
    if (value < 1 || value > max)
        return NVDP__BAD_FILE(source, "attribute '%s': expected 1 to %" PRId64 ", found %" PRId64,
                              name, max, value);
    *out = (size_t)value;
    return NVDP_OK;
}

/* A string that need not be there; too long a one is cut. */
static nvdp_status read_string(struct source *source, const char *name, size_t size, char *out) {
    if (!nvdp__h5_has_attribute(source->file, name)) return NVDP_OK;
    char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_string(source->file, name, &text));
    snprintf(out, size, "%s", text);
    free(text);
    return NVDP_OK;
}

/* One of two words: *second says which. */
static nvdp_status read_word(struct source *source, const char *name, const char *a, const char *b,
                             bool *second) {
    char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_string(source->file, name, &text));
    *second = strcmp(text, b) == 0;
    nvdp_status status = NVDP_OK;
    if (!*second && strcmp(text, a) != 0)
        status = NVDP__BAD_FILE(source, "attribute '%s': expected %s or %s, found '%.64s'", name, a,
                                b, text);
    free(text);
    return status;
}

static nvdp_status read_grid(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_string(source->file, "grid", &text));
    const bool found = nvdp__grid_find(text, &shape->grid);
    const nvdp_status status =
        found ? NVDP_OK
              : NVDP__BAD_FILE(source,
                               "attribute 'grid': expected float16, int16 or int32, found '%.64s'",
                               text);
    free(text);
    return status;
}

/* A power of two, whose exponent is set. */
static nvdp_status read_step(struct source *source, const char *name, int *exponent) {
    double step = 0;
    NVDP_RETURN_IF_FAILED(nvdp__h5_get_real(source->file, name, &step));
    if (!nvdp__step_exponent(step, exponent))
        return NVDP__BAD_FILE(source,
                              "attribute '%s': expected a power of two within 2^%d, found %g", name,
                              MOST_EXPONENT, step);
    return NVDP_OK;
}

static nvdp_status read_attributes(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    struct nvdp__embeddings_shape *shape = &to->shape;
    bool public = false;
    size_t kappa = 0;
    char pool[16] = "", row_index[16] = "";
    NVDP_RETURN_IF_FAILED(read_word(source, "length_policy", "hidden", "public", &public));
    NVDP_RETURN_IF_FAILED(read_grid(source));
    if (whole(shape)) {
        NVDP_RETURN_IF_FAILED(read_step(source, "z_step", &shape->z_exponent));
        to->z_step = ldexp(1, shape->z_exponent);
    }
    NVDP_RETURN_IF_FAILED(read_size(source, "kappa", MAX_KAPPA, &kappa));
    NVDP_RETURN_IF_FAILED(read_size(source, "releases", MAX_SAMPLES, &shape->samples));
    if (!public) NVDP_RETURN_IF_FAILED(read_size(source, "length", MAX_LENGTH, &shape->length));
    if (nvdp__h5_has_attribute(source->file, "latent_heads"))
        NVDP_RETURN_IF_FAILED(read_size(source, "latent_heads", MAX_DIM, &to->heads));
    NVDP_RETURN_IF_FAILED(read_string(source, "pool", sizeof pool, pool));
    shape->policy = public ? NVDP_LENGTH_PUBLIC : NVDP_LENGTH_HIDDEN;
    shape->kappa = (int)kappa;
    to->pool = nvdp__pool_find(pool);
    NVDP_RETURN_IF_FAILED(read_string(source, "row_index", sizeof row_index, row_index));
    to->row_index = !public && strcmp(row_index, "trained") == 0;
    NVDP_RETURN_IF_FAILED(read_string(source, "method", sizeof to->method, to->method));
    return read_string(source, "task", sizeof to->task, to->task);
}

/* --- reading: shapes --- */

static nvdp_status wrong_size(struct source *source, const char *dataset, size_t expected,
                              size_t found) {
    return NVDP__BAD_FILE(source, "dataset '%s': expected %zu rows, found %zu", dataset, expected,
                          found);
}

static nvdp_status hidden_shape(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    size_t z[4];
    size_t log_pi[3];
    size_t implied = /* rows of a sample, by the attributes */
        shape->weights ? (shape->length + 1) * (size_t)shape->kappa : shape->length;
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "z", shape->grid, 4, z));
    if (z[1] != shape->samples || z[2] != implied)
        return NVDP__BAD_FILE(
            source,
            "dataset 'z': expected shape [texts, %zu, %zu, p] as the attributes say, found "
            "[%zu, %zu, %zu, %zu]",
            shape->samples, implied, z[0], z[1], z[2], z[3]);
    shape->texts = z[0];
    shape->sample_rows = z[2];
    shape->dim = z[3];
    size_t samples;
    if (!nvdp__mul(shape->texts, shape->samples, &samples) ||
        !nvdp__mul(samples, shape->sample_rows, &shape->rows))
        return NVDP__BAD_FILE(source, "dataset '%s': its size overflows", "z");
    if (!shape->weights) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_shape(source->file, "log_pi", nvdp__weight_type(shape), 3, log_pi));
    if (memcmp(log_pi, z, sizeof log_pi) == 0) return NVDP_OK;
    return NVDP__BAD_FILE(
        source, "dataset 'log_pi': expected shape [%zu, %zu, %zu] as 'z', found [%zu, %zu, %zu]",
        z[0], z[1], z[2], log_pi[0], log_pi[1], log_pi[2]);
}

static nvdp_status public_shape(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    size_t z[2];
    size_t count;
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "z", shape->grid, 2, z));
    shape->rows = z[0];
    shape->dim = z[1];
    NVDP_RETURN_IF_FAILED(nvdp__h5_shape(source->file, "offset", NVDP__H5_I64, 1, &count));
    if (count < 1 || (count - 1) % shape->samples != 0)
        return NVDP__BAD_FILE(source, "dataset 'offset': expected texts x %zu + 1 rows, found %zu",
                              shape->samples, count);
    shape->texts = (count - 1) / shape->samples;
    if (!shape->weights) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_shape(source->file, "log_pi", nvdp__weight_type(shape), 1, &count));
    return count == z[0] ? NVDP_OK : wrong_size(source, "log_pi", z[0], count);
}

static nvdp_status read_shape(struct source *source) {
    struct nvdp__embeddings_shape *shape = &source->to->shape;
    shape->weights = nvdp__h5_has(source->file, "log_pi");
    char weights[16] = "";
    NVDP_RETURN_IF_FAILED(read_string(source, "weights", sizeof weights, weights));
    if (!shape->weights && strcmp(source->to->method, "nvdp") == 0 &&
        strcmp(weights, "constant") != 0)
        return NVDP__BAD_FILE(source, "dataset '%s' is missing", "log_pi");
    NVDP_RETURN_IF_FAILED(shape->policy == NVDP_LENGTH_HIDDEN ? hidden_shape(source)
                                                              : public_shape(source));
    if (shape->weights && whole(shape))
        NVDP_RETURN_IF_FAILED(read_step(source, "log_pi_step", &shape->log_pi_exponent));
    if (shape->texts < 1)
        return NVDP__BAD_FILE(source, "expected at least one text, found %s", "none");
    if (shape->dim < 1 || shape->dim > MAX_DIM)
        return NVDP__BAD_FILE(source, "dataset 'z': expected vectors of 1 to %d values, found %zu",
                              MAX_DIM, shape->dim);
    return NVDP_OK;
}

/* --- reading: values --- */

static nvdp_status read_offset(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    const struct nvdp__embeddings_shape *shape = &to->shape;
    size_t samples = shape->texts * shape->samples;
    int64_t *offset = nvdp__calloc(source->ctx, samples + 1, sizeof *offset);
    to->offset = offset;
    if (offset == NULL) return NVDP_ERR_MEMORY;
    if (shape->policy == NVDP_LENGTH_HIDDEN) {
        for (size_t i = 0; i <= samples; i++) {
            offset[i] = (int64_t)(i * shape->sample_rows);
        }
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_read_rows(source->file, "offset", NVDP__H5_I64, 0, samples + 1, offset));
    if (offset[0] != 0 || offset[samples] != (int64_t)shape->rows)
        return NVDP__BAD_FILE(source,
                              "dataset 'offset': expected 0 to %zu, found %" PRId64 " to %" PRId64,
                              shape->rows, offset[0], offset[samples]);
    for (size_t i = 0; i < samples; i++) {
        bool rises = offset[i + 1] > offset[i] && offset[i + 1] - offset[i] <= INT32_MAX;
        if (!rises || (offset[i + 1] - offset[i]) % shape->kappa != 0)
            return NVDP__BAD_FILE(
                source,
                "dataset 'offset': expected rising multiples of kappa %d, found %" PRId64
                " after %" PRId64 " at row %zu",
                shape->kappa, offset[i + 1], offset[i], i + 1);
    }
    return NVDP_OK;
}

static nvdp_status bad_value(struct source *source, const char *dataset, size_t row, double found,
                             const char *expected) {
    return NVDP__BAD_FILE(source, "dataset '%s': row %zu: expected %s, found %g", dataset, row,
                          expected, found);
}

/* How z is held: f16, int16 or int32. */
static size_t item_size(const struct nvdp__embeddings_shape *shape) {
    return shape->grid == NVDP__H5_I32 ? sizeof(int32_t) : sizeof(uint16_t);
}

static nvdp_status bad_vector(struct source *source, size_t value, double found,
                              const char *expected) {
    return bad_value(source, "z", value / source->to->shape.dim, found, expected);
}

/* Checks values [first, first + n) of z, in the memory type, and stores them at `z` as they lie in the file. */
static nvdp_status narrow(struct source *source, size_t first, size_t n, const void *slice,
                          void *z) {
    const float *real = slice;
    const int32_t *step = slice;
    uint16_t *f16 = z;
    int16_t *i16 = z;
    switch (source->to->shape.grid) {
    case NVDP__H5_I32:
        memcpy(z, step, n * sizeof *step);
        return NVDP_OK;
    case NVDP__H5_I16:
        for (size_t i = 0; i < n; i++) {
            if (step[i] < INT16_MIN || step[i] > INT16_MAX)
                return bad_vector(source, first + i, step[i], "steps of 16 bits");
            i16[i] = (int16_t)step[i];
        }
        return NVDP_OK;
    default:
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(real[i]) || fabsf(real[i]) > 65504)
                return bad_vector(source, first + i, real[i], "values of -65504 to 65504");
            f16[i] = nvdp__f16_from_float(real[i]);
        }
        return NVDP_OK;
    }
}

void nvdp__embeddings_values(const struct nvdp__embeddings *embeddings, size_t first, size_t count,
                             float *out) {
    const uint16_t *f16 = (const uint16_t *)embeddings->z + first;
    const int16_t *i16 = (const int16_t *)embeddings->z + first;
    const int32_t *i32 = (const int32_t *)embeddings->z + first;
    const double step = embeddings->z_step;
    for (size_t i = 0; i < count; i++) {
        out[i] = embeddings->shape.grid == NVDP__H5_F16   ? nvdp__f16_to_float(f16[i])
                 : embeddings->shape.grid == NVDP__H5_I16 ? (float)(i16[i] * step)
                                                          : (float)(i32[i] * step);
    }
}

/* Slice by slice; a dataset's row holds one vector, or under the hidden policy all of a text. */
static nvdp_status read_z(struct source *source) {
    nvdp_status status = NVDP_OK;
    struct nvdp__embeddings *to = source->to;
    size_t vectors = nvdp__row_vectors(&to->shape);
    size_t count = to->shape.rows / vectors;
    size_t width = vectors * to->shape.dim;
    size_t step = width < SLICE_FLOATS ? SLICE_FLOATS / width : 1;
    if (step > count) step = count;
    const bool hold = source->visit == NULL;
    const size_t item = item_size(&to->shape);
    void *slice = nvdp__calloc(source->ctx, step * width, sizeof(float)); /* or int32_t */
    float *values = nvdp__calloc(source->ctx, hold ? 1 : step * width, sizeof *values);
    to->z = nvdp__calloc(source->ctx, hold ? to->shape.rows * to->shape.dim : step * width, item);
    NVDP_TRY(NVDP__MADE(slice, values, to->z));
    for (size_t first = 0; first < count; first += step) {
        size_t n = nvdp__least(count - first, step);
        void *z = hold ? (char *)to->z + first * width * item : to->z;
        NVDP_TRY(nvdp__h5_read_rows(source->file, "z", to->shape.grid, first, n, slice));
        NVDP_TRY(narrow(source, first * width, n * width, slice, z));
        if (hold) continue;
        nvdp__embeddings_values(to, 0, n * width, values);
        source->visit(n * width, values, source->user);
    }
cleanup:
    if (!hold) {
        free(to->z);
        to->z = NULL;
    }
    free(slice);
    free(values);
    return status;
}

static nvdp_status read_log_pi(struct source *source) {
    nvdp_status status = NVDP_OK;
    struct nvdp__embeddings *to = source->to;
    const struct nvdp__embeddings_shape *shape = &to->shape;
    if (!shape->weights) return NVDP_OK;
    size_t count = shape->policy == NVDP_LENGTH_HIDDEN ? shape->texts : shape->rows;
    int32_t *steps = whole(shape) ? nvdp__calloc(source->ctx, shape->rows, sizeof *steps) : NULL;
    to->log_pi = nvdp__calloc(source->ctx, shape->rows, sizeof *to->log_pi);
    if (to->log_pi == NULL || (whole(shape) && steps == NULL)) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__h5_read_rows(source->file, "log_pi", nvdp__weight_type(shape), 0, count,
                                whole(shape) ? (void *)steps : to->log_pi));
    for (size_t r = 0; r < shape->rows; r++) {
        if (steps != NULL) to->log_pi[r] = ldexpf((float)steps[r], shape->log_pi_exponent);
        if (!isfinite(to->log_pi[r]) || to->log_pi[r] > 0)
            NVDP_TRY(bad_value(source, "log_pi", r, to->log_pi[r], "finite logarithms of weights"));
    }
cleanup:
    free(steps);
    return status;
}

static nvdp_status read_columns(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    const size_t texts = to->shape.texts;
    if (nvdp__h5_has(source->file, "label"))
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_read_column(source->file, "label", NVDP__H5_F32, texts, &to->label));
    if (nvdp__h5_has(source->file, "split"))
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_read_column(source->file, "split", NVDP__H5_I32, texts, &to->split));
    if (nvdp__h5_has(source->file, "id"))
        NVDP_RETURN_IF_FAILED(
            nvdp__h5_read_column(source->file, "id", NVDP__H5_I64, texts, &to->id));
    for (size_t i = 0; i < texts; i++) {
        if (to->label != NULL && isinf(to->label[i]))
            return bad_value(source, "label", i, to->label[i], "a finite number or NaN");
        if (to->split != NULL && (to->split[i] < 0 || to->split[i] > MAX_SPLIT))
            return bad_value(source, "split", i, to->split[i], "0 to 4");
    }
    return NVDP_OK;
}

nvdp_status nvdp__embeddings_take(struct nvdp_context *ctx, const char *path, struct nvdp__h5 *file,
                                  nvdp__embeddings_visit *visit, void *user,
                                  struct nvdp__embeddings **out) {
    nvdp_status status = NVDP_OK;
    struct source source = {.ctx = ctx, .path = path, .file = file, .visit = visit, .user = user};
    NVDP_TRY(NVDP__NEW(ctx, source.to, 1));
    NVDP_TRY(read_attributes(&source));
    NVDP_TRY(read_shape(&source));
    NVDP_TRY(read_offset(&source));
    NVDP_TRY(read_z(&source));
    NVDP_TRY(read_log_pi(&source));
    NVDP_TRY(read_columns(&source));
    NVDP__HAND_OVER(out, source.to);
cleanup:
    nvdp__embeddings_free(source.to);
    return status;
}

nvdp_status nvdp__embeddings_read(struct nvdp_context *ctx, const char *path,
                                  struct nvdp__embeddings **out) {
    struct nvdp__h5 *file = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__embeddings_open(ctx, path, &file));
    nvdp_status status = nvdp__embeddings_take(ctx, path, file, NULL, NULL, out);
    nvdp__h5_free(file);
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

/* --- for everybody --- */

struct nvdp_shared {
    struct nvdp__embeddings *of;
};

nvdp_status nvdp_shared_read(struct nvdp_context *ctx, const char *path, struct nvdp_shared **out) {
    struct nvdp_shared *shared = nvdp__calloc(ctx, 1, sizeof *shared);
    if (shared == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__embeddings_read(ctx, path, &shared->of);
    if (status == NVDP_OK)
        *out = shared;
    else
        free(shared);
    return status;
}

void nvdp_shared_free(struct nvdp_shared *shared) {
    if (shared == NULL) return;
    nvdp__embeddings_free(shared->of);
    free(shared);
}

nvdp_status nvdp_shared_describe(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                 struct nvdp_shared_info *out) {
    const struct nvdp__embeddings *of = shared->of;
    const struct nvdp__embeddings_shape *shape = &of->shape;
    struct nvdp_shared_info info = {.texts = shape->texts,
                                    .samples = shape->samples,
                                    .dim = shape->dim,
                                    .rows = shape->rows,
                                    .sample_rows = shape->sample_rows,
                                    .kappa = shape->kappa,
                                    .policy = shape->policy,
                                    .z_step = of->z_step,
                                    .offset = of->offset,
                                    .log_pi = of->log_pi,
                                    .label = of->label,
                                    .split = of->split,
                                    .id = of->id};
    NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    memcpy(info.method, of->method, sizeof info.method);
    memcpy(info.task, of->task, sizeof info.task);
    NVDP__GIVE(out, &info);
    return NVDP_OK;
}

nvdp_status nvdp_shared_vectors(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                size_t first, size_t rows, float *z) {
    const struct nvdp__embeddings_shape *shape = &shared->of->shape;
    if (first > shape->rows || rows > shape->rows - first)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "rows %zu to %zu: expected at most %zu", first,
                          first + rows, shape->rows);
    nvdp__embeddings_values(shared->of, first * shape->dim, rows * shape->dim, z);
    return NVDP_OK;
}
