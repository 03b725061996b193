/* Reads and checks files of embeddings, for nvdp reuse, nvdp verify and users of the library (nvdp_shared_read).
 * The order: attributes, shapes, values, public functions. */
#include "share/embeddings_file.h"
#include "mechanism/method.h"

#include "base/f16.h"
#include "mechanism/options.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "options/schema.h"
#include "share/query.h"
#include "share/release.h"
#include "tensor/vector.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/share.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLICE_FLOATS = 1 << 20, /* values per slice */
    MAX_DIM = 1 << 20,
    MAX_LENGTH = 1 << 16,
    MAX_KAPPA = 1000,
    MAX_SAMPLES = 1 << 20,
    MAX_SPLIT = 4,
    MAX_EXPONENT = 30
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
    if (frexp(step, &above) != 0.5 || abs(above - 1) > MAX_EXPONENT) return false;
    *exponent = above - 1;
    return true;
}

enum nvdp_pool nvdp__pool_find(const char *name) {
    for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_WEIGHTED; pool++) {
        if (strcmp(name, nvdp__pool_names[pool]) == 0) return pool;
    }
    return NVDP_POOL_AUTO;
}

/* --- reading: attributes --- */

struct source {
    struct nvdp_context *ctx;
    const char *path;
    struct nvdp__release *release;
    nvdp__embeddings_visit *visit; /* NULL: keep z in memory */
    void *user;
    struct nvdp__embeddings *to;
};

static nvdp_status read_size(struct source *source, const char *name, int64_t max, size_t *out) {
    int64_t value = 0;
    NVDP_TRY(nvdp__release_whole(source->release, name, &value));
    if (value < 1 || value > max)
        return NVDP__BAD_FILE(
            source, "attribute '%s': expected a number from 1 to %" PRId64 ", found %" PRId64, name,
            max, value);
    *out = (size_t)value;
    return NVDP_OK;
}

static bool has(const struct source *source, const char *name) {
    return nvdp__attributes_get(&source->release->attributes, name) != NULL;
}

/* Reads a string attribute if the file has it, cut to `size`. */
static nvdp_status read_string(struct source *source, const char *name, size_t size, char *out) {
    const char *text = NULL;
    if (!has(source, name)) return NVDP_OK;
    NVDP_TRY(nvdp__release_text(source->release, name, &text));
    nvdp__snprintf(out, size, "%s", text);
    return NVDP_OK;
}

/* Reads an attribute that is `a` or `b`.  Sets *second if it is `b`. */
static nvdp_status read_word(struct source *source, const char *name, const char *a, const char *b,
                             bool *second) {
    const char *text = NULL;
    NVDP_TRY(nvdp__release_text(source->release, name, &text));
    *second = strcmp(text, b) == 0;
    return *second || strcmp(text, a) == 0
               ? NVDP_OK
               : NVDP__BAD_FILE(source, "attribute '%s': expected %s or %s, found '%.64s'", name, a,
                                b, text);
}

static nvdp_status read_grid(struct source *source) {
    const char *text = NULL;
    NVDP_TRY(nvdp__release_text(source->release, "grid", &text));
    return nvdp__grid_find(text, &source->release->shape.grid)
               ? NVDP_OK
               : NVDP__BAD_FILE(source,
                                "attribute 'grid': expected float16, int16 or int32, found '%.64s'",
                                text);
}

/* Reads a step and finds its exponent.  Fails unless the step is a power of two. */
static nvdp_status read_step(struct source *source, const char *name, int *exponent) {
    double step = 0;
    NVDP_TRY(nvdp__release_real(source->release, name, &step));
    if (!nvdp__step_exponent(step, exponent))
        return NVDP__BAD_FILE(source,
                              "attribute '%s': expected a power of two with an exponent of at most "
                              "%d in size, found %g",
                              name, MAX_EXPONENT, step);
    return NVDP_OK;
}

static nvdp_status read_attributes(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    struct nvdp__embeddings_shape *shape = &source->release->shape;
    bool public = false;
    size_t kappa = 0;
    char pool[16] = "", row_index[16] = "";
    NVDP_TRY(read_word(source, "length_policy", "hidden", "public", &public));
    NVDP_TRY(read_grid(source));
    if (whole(shape)) {
        NVDP_TRY(read_step(source, "z_step", &shape->z_exponent));
        to->z_step = ldexp(1, shape->z_exponent);
    }
    NVDP_TRY(read_size(source, "kappa", MAX_KAPPA, &kappa));
    NVDP_TRY(read_size(source, "releases", MAX_SAMPLES, &shape->samples));
    if (!public) NVDP_TRY(read_size(source, "length", MAX_LENGTH, &shape->length));
    if (has(source, "latent_heads"))
        NVDP_TRY(read_size(source, "latent_heads", MAX_DIM, &to->heads));
    NVDP_TRY(read_string(source, "pool", sizeof pool, pool));
    shape->policy = public ? NVDP_LENGTH_PUBLIC : NVDP_LENGTH_HIDDEN;
    shape->kappa = (int)kappa;
    to->pool = nvdp__pool_find(pool);
    NVDP_TRY(read_string(source, "row_index", sizeof row_index, row_index));
    to->row_index = !public && strcmp(row_index, "trained") == 0;
    NVDP_TRY(read_string(source, "method", sizeof to->method, to->method));
    NVDP_TRY(read_string(source, "task", sizeof to->task, to->task));
    to->clip_sequence = INFINITY;
    if (has(source, "clip_sequence"))
        NVDP_TRY(nvdp__release_real(source->release, "clip_sequence", &to->clip_sequence));
    if (!has(source, "label_names")) return NVDP_OK;
    const char *names = NULL;
    NVDP_TRY(nvdp__release_text(source->release, "label_names", &names));
    to->label_names = nvdp__strdup(source->release->ctx, names);
    return NVDP__MADE(to->label_names);
}

/* --- reading: shapes --- */

nvdp_status nvdp__release_check_hidden(const struct nvdp__release *release, const size_t z[4]) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t implied = /* rows per sample, from the attributes */
        shape->weights ? (shape->length + 1) * (size_t)shape->kappa : shape->length;
    if (z[1] == shape->samples && z[2] == implied) return NVDP_OK;
    return NVDP__BAD_FILE(release,
                          "dataset 'z': expected the shape [texts, %zu, %zu, p] of the attributes, "
                          "found [%zu, %zu, %zu, %zu]",
                          shape->samples, implied, z[0], z[1], z[2], z[3]);
}

nvdp_status nvdp__release_check_weights(const struct nvdp__release *release) {
    const struct nvdp__attributes *list = &release->attributes;
    const struct nvdp__method *method = nvdp__method_named(nvdp__attributes_text(list, "method"));
    if (!release->shape.weights && method != NULL && method->weights &&
        strcmp(nvdp__attributes_text(list, "weights"), "constant") != 0)
        return NVDP__BAD_FILE(release, "dataset '%s' is missing", "log_pi");
    return NVDP_OK;
}

static nvdp_status read_shape(struct source *source) {
    struct nvdp__release *release = source->release;
    struct nvdp__embeddings_shape *shape = &release->shape;
    if (release->format->load != NULL) {
        NVDP_TRY(release->format->load(release));
    } else {
        const size_t z[4] = {shape->texts, shape->samples, shape->sample_rows, shape->dim};
        NVDP_TRY(nvdp__release_check_weights(release));
        if (shape->policy == NVDP_LENGTH_HIDDEN) NVDP_TRY(nvdp__release_check_hidden(release, z));
    }
    if (shape->weights && whole(shape))
        NVDP_TRY(read_step(source, "log_pi_step", &shape->log_pi_exponent));
    if (shape->dim < 1 || shape->dim > MAX_DIM)
        return NVDP__BAD_FILE(source, "dataset 'z': expected vectors of 1 to %d numbers, found %zu",
                              MAX_DIM, shape->dim);
    source->to->shape = *shape;
    return NVDP_OK;
}

/* --- reading: values --- */

/* Copies an array of the release and stores the pointer at `out`.  Does nothing if `from` is NULL. */
static nvdp_status copy(struct source *source, const void *from, size_t count, size_t size,
                        void *out) {
    if (from == NULL) return NVDP_OK;
    void *made = nvdp__calloc(source->ctx, count, size);
    if (made == NULL) return NVDP_ERR_MEMORY;
    memcpy(made, from, count * size);
    memcpy(out, &made, sizeof made);
    return NVDP_OK;
}

static nvdp_status check_offset(struct source *source) {
    const struct nvdp__embeddings_shape *shape = &source->to->shape;
    const size_t samples = shape->texts * shape->samples;
    const int64_t *offset = source->to->offset;
    if (shape->policy == NVDP_LENGTH_HIDDEN) return NVDP_OK;
    if (offset[0] != 0 || offset[samples] != (int64_t)shape->rows)
        return NVDP__BAD_FILE(source,
                              "dataset 'offset': expected offsets from 0 to %zu, found %" PRId64
                              " to %" PRId64,
                              shape->rows, offset[0], offset[samples]);
    for (size_t i = 0; i < samples; i++) {
        bool rises = offset[i + 1] > offset[i] && offset[i + 1] - offset[i] <= INT32_MAX;
        if (!rises || (offset[i + 1] - offset[i]) % shape->kappa != 0)
            return NVDP__BAD_FILE(
                source,
                "dataset 'offset': expected increasing multiples of kappa %d, found %" PRId64
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

/* Returns the size of a stored value of z: float16, int16 or int32. */
size_t nvdp__embeddings_item(const struct nvdp__embeddings_shape *shape) {
    return shape->grid == NVDP__H5_I32 ? sizeof(int32_t) : sizeof(uint16_t);
}

static nvdp_status bad_vector(struct source *source, size_t value, double found,
                              const char *expected) {
    return bad_value(source, "z", value / source->to->shape.dim, found, expected);
}

/* Checks values [first, first + n) of z, given in the memory type, and stores them at `z` in the type of the file. */
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
                return bad_vector(source, first + i, step[i], "multiples of the step in 16 bits");
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

/* Reads z slice by slice.  Under the hidden length policy every slice has whole texts. */
static nvdp_status read_z(struct source *source) {
    nvdp_status status = NVDP_OK;
    struct nvdp__embeddings *to = source->to;
    const size_t dim = to->shape.dim, rows = to->shape.rows;
    const size_t unit = nvdp__row_vectors(&to->shape), width = unit * dim;
    const size_t fitting = (width < SLICE_FLOATS ? SLICE_FLOATS / width : 1) * unit;
    const size_t step = nvdp__min(fitting, rows);
    const bool hold = source->visit == NULL;
    const size_t item = nvdp__embeddings_item(&to->shape);
    void *slice = nvdp__calloc(source->ctx, step * dim, sizeof(float)); /* float or int32_t */
    float *values = nvdp__calloc(source->ctx, hold ? 1 : step * dim, sizeof *values);
    to->z = nvdp__calloc(source->ctx, hold ? rows * dim : step * dim, item);
    NVDP_TRY_OR_CLEAN(NVDP__MADE(slice, values, to->z));
    for (size_t first = 0; first < rows; first += step) {
        size_t n = nvdp__min(rows - first, step);
        void *z = hold ? (char *)to->z + first * dim * item : to->z;
        NVDP_TRY_OR_CLEAN(source->release->format->rows(source->release, first, n, slice, NULL));
        NVDP_TRY_OR_CLEAN(narrow(source, first * dim, n * dim, slice, z));
        if (hold) continue;
        nvdp__embeddings_values(to, 0, n * dim, values);
        source->visit(n * dim, values, source->user);
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
    struct nvdp__embeddings *to = source->to;
    const struct nvdp__embeddings_shape *shape = &to->shape;
    if (!shape->weights) return NVDP_OK;
    nvdp__autofree int32_t *steps =
        whole(shape) ? nvdp__calloc(source->ctx, shape->rows, sizeof *steps) : NULL;
    to->log_pi = nvdp__calloc(source->ctx, shape->rows, sizeof *to->log_pi);
    if (to->log_pi == NULL || (whole(shape) && steps == NULL)) return NVDP_ERR_MEMORY;
    NVDP_TRY(source->release->format->rows(source->release, 0, shape->rows, NULL,
                                           whole(shape) ? (void *)steps : to->log_pi));
    for (size_t r = 0; r < shape->rows; r++) {
        if (steps != NULL) to->log_pi[r] = ldexpf((float)steps[r], shape->log_pi_exponent);
        if (!isfinite(to->log_pi[r]) || to->log_pi[r] > 0)
            NVDP_TRY(bad_value(source, "log_pi", r, to->log_pi[r], "finite log weights"));
    }
    return NVDP_OK;
}

static nvdp_status read_columns(struct source *source) {
    struct nvdp__embeddings *to = source->to;
    const struct nvdp__release *from = source->release;
    const size_t texts = to->shape.texts;
    NVDP_TRY(copy(source, from->label, texts, sizeof *to->label, &to->label));
    NVDP_TRY(copy(source, from->split, texts, sizeof *to->split, &to->split));
    NVDP_TRY(copy(source, from->id, texts, sizeof *to->id, &to->id));
    for (size_t i = 0; i < texts; i++) {
        if (to->label != NULL && isinf(to->label[i]))
            return bad_value(source, "label", i, to->label[i], "a finite number or NaN");
        if (to->split != NULL && (to->split[i] < 0 || to->split[i] > MAX_SPLIT))
            return bad_value(source, "split", i, to->split[i], "0 to 4");
    }
    return NVDP_OK;
}

nvdp_status nvdp__embeddings_take(struct nvdp__release *release, nvdp__embeddings_visit *visit,
                                  void *user, struct nvdp__embeddings **out) {
    nvdp_status status = NVDP_OK;
    struct source source = {release->ctx, release->path, release, visit, user, NULL};
    NVDP_TRY_OR_CLEAN(NVDP__NEW(release->ctx, source.to, 1));
    NVDP_TRY_OR_CLEAN(read_attributes(&source));
    NVDP_TRY_OR_CLEAN(read_shape(&source));
    NVDP_TRY_OR_CLEAN(nvdp__query_read(release, source.to->shape.dim, &source.to->query));
    NVDP_TRY_OR_CLEAN(copy(&source, release->offset,
                           source.to->shape.texts * source.to->shape.samples + 1, sizeof(int64_t),
                           &source.to->offset));
    NVDP_TRY_OR_CLEAN(check_offset(&source));
    NVDP_TRY_OR_CLEAN(read_z(&source));
    NVDP_TRY_OR_CLEAN(read_log_pi(&source));
    NVDP_TRY_OR_CLEAN(read_columns(&source));
    NVDP__HAND_OVER(out, source.to);
cleanup:
    nvdp__embeddings_free(source.to);
    return status;
}

void nvdp__embeddings_free(struct nvdp__embeddings *embeddings) {
    if (embeddings == NULL) return;
    free(embeddings->offset);
    free(embeddings->z);
    free(embeddings->log_pi);
    free(embeddings->label);
    free(embeddings->label_names);
    free(embeddings->split);
    free(embeddings->id);
    if (embeddings->query != NULL) nvdp__query_map_release(embeddings->query);
    free(embeddings->query);
    free(embeddings);
}

/* --- public functions --- */

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
                                    .id = of->id,
                                    .label_names = of->label_names};
    NVDP_TRY(nvdp__can_give(ctx, out));
    memcpy(info.method, of->method, sizeof info.method);
    memcpy(info.task, of->task, sizeof info.task);
    NVDP__GIVE(out, &info);
    return NVDP_OK;
}

nvdp_status nvdp_shared_vectors(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                size_t first, size_t rows, float *z) {
    const struct nvdp__embeddings_shape *shape = &shared->of->shape;
    if (first > shape->rows || rows > shape->rows - first)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "rows %zu to %zu: expected rows below %zu", first,
                          first + rows, shape->rows);
    nvdp__embeddings_values(shared->of, first * shape->dim, rows * shape->dim, z);
    return NVDP_OK;
}

nvdp_status nvdp_shared_decode(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                               size_t first, size_t texts, float *out, size_t *width) {
    const struct nvdp__embeddings *of = shared->of;
    const struct nvdp__embeddings_shape *shape = &of->shape;
    const struct nvdp__query_map *query = of->query;
    const size_t p = shape->dim, samples = shape->samples;
    if (query == NULL || query->decoder == NULL || shape->rows != shape->texts * samples)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "expected a file with a decoder, from a run of nvdp train {objective} "
                          "distill, found method '%s' without one",
                          of->method);
    if (first > shape->texts || texts > shape->texts - first)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "texts %zu to %zu: expected texts below %zu",
                          first, first + texts, shape->texts);
    const size_t d = query->width;
    if (width != NULL) *width = d;
    if (out == NULL) return NVDP_OK;
    float *z = nvdp__calloc(ctx, samples * p, sizeof *z);
    if (z == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < texts; i++) {
        nvdp__embeddings_values(of, (first + i) * samples * p, samples * p, z);
        for (size_t k = p; k < samples * p; k++)
            z[k % p] += z[k];
        for (size_t j = 0; j < d; j++)
            out[i * d + j] = (float)(nvdp__dot_f64(p, query->decoder + j * p, z) / (double)samples);
    }
    free(z);
    return NVDP_OK;
}
