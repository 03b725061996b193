/* Lists the shards of a release, checks that they belong together, and reads them as one file. */
#include "base/array.h"
#include "base/f16.h"
#include "base/own.h"
#include "mechanism/bottleneck_options.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "options/schema.h"
#include "share/release.h"
#include "share/summarize.h"
#include "tensor/vector.h"
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/share.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nvdp__shards_close(struct nvdp__shards *shards) {
    for (size_t i = 0; i < shards->count; i++)
        free(shards->path[i]);
    free(shards->path);
    *shards = (struct nvdp__shards){0};
}

/* --- the files of a folder --- */

static bool is_shard(const char *name) {
    for (size_t i = 0; nvdp__formats[i] != NULL; i++)
        if (nvdp__ends_with(name, nvdp__formats[i]->extension)) return name[0] != '.';
    return false;
}

bool nvdp__shards_in(const char *folder) {
    nvdp__autoptr(closedir) DIR *opened = opendir(folder);
    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;)
        if (is_shard(entry->d_name)) return true;
    return false;
}

/* --- one run and one mechanism --- */

/* Attributes that describe a single file.  Those that begin with bdp_ or divergence_ are measurements, except the
 * bound, which is proven. */
bool nvdp__shard_attribute(const char *name) {
    static const char *const names[] = {
        "texts",          "ledger",       "created",         "signature",        "statement",
        "training_texts", "nvdp_version", "statement_words", "weights_distance", "public_texts"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return nvdp__attribute_is_old(name) || strncmp(name, "bdp_", 4) == 0 ||
           (strncmp(name, "divergence_", 11) == 0 && strncmp(name, "divergence_bound", 16) != 0);
}

/* Finds an attribute of `a` that `b` lacks or has with another value. */
static const struct nvdp__attribute *differing(const struct nvdp__attributes *a,
                                               const struct nvdp__attributes *b) {
    for (size_t i = 0; i < a->count; i++) {
        const char *name = a->item[i].name;
        const struct nvdp__attribute *other = nvdp__attributes_get(b, name);
        if (!nvdp__shard_attribute(name) &&
            (other == NULL || strcmp(other->text, a->item[i].text) != 0))
            return &a->item[i];
    }
    return NULL;
}

static nvdp_status compare(struct nvdp_context *ctx, const struct nvdp__release *first,
                           const struct nvdp__release *other) {
    const struct nvdp__attribute *found = differing(&first->attributes, &other->attributes);
    if (found == NULL) found = differing(&other->attributes, &first->attributes);
    if (found == NULL) return NVDP_OK;
    const struct nvdp__attribute *a = nvdp__attributes_get(&first->attributes, found->name);
    const struct nvdp__attribute *b = nvdp__attributes_get(&other->attributes, found->name);
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: attribute '%.64s': expected '%.64s' as in %s, found '%.64s'; a folder "
                      "holds the files of one release, written by one run with the same {model-id}",
                      other->path, found->name, a != NULL ? a->text : "none",
                      nvdp__file_name(first->path), b != NULL ? b->text : "none");
}

nvdp_status nvdp__shards_open(struct nvdp_context *ctx, const char *path,
                              struct nvdp__shards *out) {
    nvdp__auto(nvdp__shards_close) struct nvdp__shards made = {0};
    nvdp__autoptr(closedir) DIR *opened = nvdp__is_directory(path) ? opendir(path) : NULL;
    size_t capacity = 0;
    bool run = false;
    char endings[NVDP__ENDINGS];
    if (opened == NULL) {
        NVDP_TRY(NVDP__NEW(ctx, made.path, 1));
        made.path[made.count++] = nvdp__strdup(ctx, path);
        NVDP_TRY(NVDP__MADE(made.path[0]));
    } else {
        nvdp__auto(nvdp__release_close) struct nvdp__release first = {0};
        for (const struct dirent *entry; (entry = readdir(opened)) != NULL;) {
            run = run || strcmp(entry->d_name, "run.json") == 0;
            if (!is_shard(entry->d_name)) continue;
            NVDP_TRY(NVDP__PUSH(ctx, made.path, made.count, capacity,
                                nvdp__join(ctx, path, entry->d_name)));
            NVDP_TRY(NVDP__MADE(made.path[made.count - 1]));
        }
        if (made.count == 0)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected a folder with the files of a release (%s), found %s",
                              path, nvdp__format_endings(endings),
                              run ? "a run; nvdp export writes a file of its samples" : "none");
        NVDP__SORT(made.path, made.count, NVDP__UP_ITEM(char *));
        NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, made.path[0], &first));
        if (first.shape.summary)
            return NVDP__BAD_FILE(&first, "expected the samples of a release, found %s",
                                  "a summary, which is a release of its own: name the file");
        for (size_t i = 1; i < made.count; i++) {
            nvdp__auto(nvdp__release_close) struct nvdp__release other = {0};
            NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, made.path[i], &other));
            NVDP_TRY(compare(ctx, &first, &other));
        }
    }
    return NVDP__HAND_OVER(out, made);
}

/* --- as one --- */

/* A dataset of two files: an array of `have` items that grows by `more` items of `from`. */
struct part {
    const char *name;
    void *array; /* address of the pointer to the items */
    const void *from;
    size_t have, more, size;
};

/* Adds the texts of `more`, which has the same attributes. */
static nvdp_status join(struct nvdp_context *ctx, const char *path, struct nvdp_shared *to,
                        const struct nvdp_shared *more) {
    struct nvdp__embeddings_shape *a = &to->shape;
    const struct nvdp__embeddings_shape *b = &more->shape;
    const size_t had = a->texts * a->samples, adds = b->texts * b->samples;
    if (a->dim != b->dim || a->sample_rows != b->sample_rows)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected samples of %zu rows of width %zu as in the files before, "
                          "found %zu rows of width %zu",
                          path, a->sample_rows, a->dim, b->sample_rows, b->dim);
    const struct part parts[] = {
        {"z", &to->z, more->z, a->rows * a->dim, b->rows * b->dim, nvdp__embeddings_item(a)},
        {"log_pi", &to->log_pi, more->log_pi, a->rows, b->rows, sizeof *to->log_pi},
        {"label", &to->label, more->label, a->texts, b->texts, sizeof *to->label},
        {"split", &to->split, more->split, a->texts, b->texts, sizeof *to->split},
        {"id", &to->id, more->id, a->texts, b->texts, sizeof *to->id},
        {"offset", &to->offset, more->offset + 1, had + 1, adds, sizeof *to->offset},
    };
    for (const struct part *part = parts; part < parts + sizeof parts / sizeof *parts; part++) {
        size_t bytes;
        void *there = NULL;
        memcpy(&there, part->array, sizeof there);
        if ((there == NULL) != (part->from == NULL))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected %s dataset '%s' as in the files before, found %s", path,
                              part->from == NULL ? "the" : "no", part->name,
                              part->from == NULL ? "none" : "one");
        if (part->from == NULL) continue;
        void *made = part->have <= SIZE_MAX - part->more &&
                             nvdp__mul(part->have + part->more, part->size, &bytes)
                         ? realloc(there, bytes > 0 ? bytes : 1)
                         : NULL;
        if (made == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
        memcpy((char *)made + part->have * part->size, part->from, part->more * part->size);
        memcpy(part->array, &made, sizeof made);
    }
    for (size_t k = 1; k <= adds; k++)
        to->offset[had + k] += (int64_t)a->rows;
    a->texts += b->texts;
    a->rows += b->rows;
    return NVDP_OK;
}

nvdp_status nvdp__shared_or_summary(struct nvdp_context *ctx, const char *path,
                                    struct nvdp_shared **shared, struct nvdp_collection **summary) {
    nvdp__auto(nvdp__shards_close) struct nvdp__shards shards = {0};
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *all = NULL;
    NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
    for (size_t i = 0; i < shards.count; i++) {
        nvdp__auto(nvdp__release_close) struct nvdp__release release = {0};
        nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *more = NULL;
        NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, shards.path[i], &release));
        if (release.shape.summary && summary == NULL)
            return NVDP__BAD_FILE(&release, "expected samples of texts, found %s",
                                  "a summary of a collection, which has none; nvdp reuse and "
                                  "nvdp_collection_read() read it");
        if (release.shape.summary) return nvdp__summary_take(&release, summary);
        NVDP_TRY(nvdp__embeddings_take(&release, NULL, NULL, i == 0 ? &all : &more));
        if (i > 0) NVDP_TRY(join(ctx, shards.path[i], all, more));
    }
    return NVDP__HAND_OVER(shared, all);
}

nvdp_status nvdp_shared_read(struct nvdp_context *ctx, const char *path, struct nvdp_shared **out) {
    return nvdp__shared_or_summary(ctx, path, out, NULL);
}

/* ---- one file ---- */

/* Reads and checks files of embeddings, for nvdp reuse, nvdp verify and users of the library (nvdp_shared_read).
 * The order: attributes, shapes, values, public functions. */

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

bool nvdp__grid_find(const char *name, enum nvdp__h5_type *grid) {
    for (size_t k = 0; k < sizeof nvdp__grid_names / sizeof *nvdp__grid_names; k++) {
        if (nvdp__grid_names[k] == NULL || strcmp(name, nvdp__grid_names[k]) != 0) continue;
        *grid = (enum nvdp__h5_type)k;
        return true;
    }
    return false;
}

enum nvdp__h5_type nvdp__weight_type(const struct nvdp__embeddings_shape *shape) {
    return nvdp__is_whole(shape) ? NVDP__H5_I16 : NVDP__H5_F16;
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

/* Reads a step and finds its exponent.  Fails unless the step is a power of two. */
static nvdp_status read_step(const struct nvdp__release *release, const char *name, int *exponent) {
    double step = 0;
    const struct nvdp__place_of place = NVDP__TO_REAL(name, step, false);
    NVDP_TRY(nvdp__release_take(release, 1, &place));
    if (!nvdp__step_exponent(step, exponent))
        return NVDP__BAD_FILE(release,
                              "attribute '%s': expected a power of two with an exponent of at most "
                              "%d in size, found %g",
                              name, MAX_EXPONENT, step);
    return NVDP_OK;
}

static nvdp_status read_attributes(struct nvdp__release *release, struct nvdp_shared *to) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    const char *policy = NULL, *grid = NULL, *names = NULL;
    size_t kappa = 0;
    char pool[16] = "", row_index[16] = "";
    NVDP_TRY(nvdp__release_text(release, "length_policy", &policy));
    const bool public = strcmp(policy, "public") == 0;
    if (!public && strcmp(policy, "hidden") != 0)
        return NVDP__BAD_FILE(
            release, "attribute 'length_policy': expected hidden or public, found '%.64s'", policy);
    NVDP_TRY(nvdp__release_text(release, "grid", &grid));
    if (!nvdp__grid_find(grid, &shape->grid))
        return NVDP__BAD_FILE(
            release, "attribute 'grid': expected float16, int16 or int32, found '%.64s'", grid);
    if (nvdp__is_whole(shape)) {
        NVDP_TRY(read_step(release, "z_step", &shape->z_exponent));
        to->z_step = ldexp(1, shape->z_exponent);
    }
    to->clip_sequence = INFINITY;
    const struct nvdp__place_of places[] = {
        NVDP__TO_SIZE("kappa", kappa, 1, MAX_KAPPA, false),
        NVDP__TO_SIZE("releases", shape->samples, 1, MAX_SAMPLES, false),
        NVDP__TO_SIZE(public ? NULL : "length", shape->length, 1, MAX_LENGTH, false),
        NVDP__TO_SIZE("latent_heads", to->heads, 1, MAX_DIM, true),
        NVDP__TO_TEXT("pool", pool, true),
        NVDP__TO_TEXT("row_index", row_index, true),
        NVDP__TO_TEXT("method", to->method, true),
        NVDP__TO_TEXT("task", to->task, true),
        NVDP__TO_REAL("clip_sequence", to->clip_sequence, true)};
    NVDP_TRY(nvdp__release_take(release, sizeof places / sizeof *places, places));
    shape->policy = public ? NVDP_LENGTH_PUBLIC : NVDP_LENGTH_HIDDEN;
    shape->kappa = (int)kappa;
    to->pool = nvdp__pool_find(pool);
    to->row_index = !public && strcmp(row_index, "trained") == 0;
    if (nvdp__attributes_get(&release->attributes, "label_names") == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__release_text(release, "label_names", &names));
    to->label_names = nvdp__strdup(release->ctx, names);
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

static nvdp_status read_shape(struct nvdp__release *release, struct nvdp_shared *to) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    if (release->format->load != NULL) {
        NVDP_TRY(release->format->load(release));
    } else {
        const size_t z[4] = {shape->texts, shape->samples, shape->sample_rows, shape->dim};
        NVDP_TRY(nvdp__release_check_weights(release));
        if (shape->policy == NVDP_LENGTH_HIDDEN) NVDP_TRY(nvdp__release_check_hidden(release, z));
    }
    if (shape->weights && nvdp__is_whole(shape))
        NVDP_TRY(read_step(release, "log_pi_step", &shape->log_pi_exponent));
    if (shape->dim < 1 || shape->dim > MAX_DIM)
        return NVDP__BAD_FILE(release,
                              "dataset 'z': expected vectors of 1 to %d numbers, found %zu",
                              MAX_DIM, shape->dim);
    to->shape = *shape;
    return NVDP_OK;
}

/* --- reading: values --- */

/* Copies an array of the release and stores the pointer at `out`.  Does nothing if `from` is NULL. */
static nvdp_status copy(const struct nvdp__release *release, const void *from, size_t count,
                        size_t size, void *out) {
    if (from == NULL) return NVDP_OK;
    void *made = nvdp__calloc(release->ctx, count, size);
    NVDP_TRY(NVDP__MADE(made));
    memcpy(made, from, count * size);
    memcpy(out, &made, sizeof made);
    return NVDP_OK;
}

static nvdp_status check_offset(const struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t samples = shape->texts * shape->samples;
    const int64_t *offset = release->offset;
    if (shape->policy == NVDP_LENGTH_HIDDEN) return NVDP_OK;
    if (offset[0] != 0 || offset[samples] != (int64_t)shape->rows)
        return NVDP__BAD_FILE(release,
                              "dataset 'offset': expected offsets from 0 to %zu, found %" PRId64
                              " to %" PRId64,
                              shape->rows, offset[0], offset[samples]);
    for (size_t i = 0; i < samples; i++) {
        const int64_t rows = offset[i + 1] - offset[i];
        if (offset[i + 1] <= offset[i] || rows > INT32_MAX || rows % shape->kappa != 0)
            return NVDP__BAD_FILE(
                release,
                "dataset 'offset': expected increasing multiples of kappa %d, found %" PRId64
                " after %" PRId64 " at row %zu",
                shape->kappa, offset[i + 1], offset[i], i + 1);
    }
    return NVDP_OK;
}

static nvdp_status bad_value(const struct nvdp__release *release, const char *dataset, size_t row,
                             double found, const char *expected) {
    return NVDP__BAD_FILE(release, "dataset '%s': row %zu: expected %s, found %g", dataset, row,
                          expected, found);
}

/* Returns the size of a stored value of z: float16, int16 or int32. */
size_t nvdp__embeddings_item(const struct nvdp__embeddings_shape *shape) {
    return shape->grid == NVDP__H5_I32 ? sizeof(int32_t) : sizeof(uint16_t);
}

/* Checks values [first, first + n) of z, given in the memory type, and stores them at `z` in the type of the file. */
static nvdp_status narrow(const struct nvdp__release *release, size_t first, size_t n,
                          const void *slice, void *z) {
    const float *real = slice;
    const int32_t *step = slice;
    uint16_t *f16 = z;
    int16_t *i16 = z;
    const size_t dim = release->shape.dim;
    switch (release->shape.grid) {
    case NVDP__H5_I32:
        memcpy(z, step, n * sizeof *step);
        return NVDP_OK;
    case NVDP__H5_I16:
        for (size_t i = 0; i < n; i++) {
            if (step[i] < INT16_MIN || step[i] > INT16_MAX)
                return bad_value(release, "z", (first + i) / dim, step[i],
                                 "multiples of the step in 16 bits");
            i16[i] = (int16_t)step[i];
        }
        return NVDP_OK;
    default:
        for (size_t i = 0; i < n; i++) {
            if (!isfinite(real[i]) || fabsf(real[i]) > 65504)
                return bad_value(release, "z", (first + i) / dim, real[i],
                                 "values of -65504 to 65504");
            f16[i] = nvdp__f16_from_float(real[i]);
        }
        return NVDP_OK;
    }
}

void nvdp__embeddings_values(const struct nvdp_shared *embeddings, size_t first, size_t count,
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

/* Reads z slice by slice.  Under the hidden length policy, every slice has whole texts.  With `visit`, z is not
 * stored. */
static nvdp_status read_z(struct nvdp__release *release, nvdp__embeddings_visit *visit, void *user,
                          struct nvdp_shared *to) {
    const size_t dim = to->shape.dim, rows = to->shape.rows;
    const size_t unit = nvdp__row_vectors(&to->shape), width = unit * dim;
    const size_t fitting = (width < SLICE_FLOATS ? SLICE_FLOATS / width : 1) * unit;
    const size_t step = nvdp__min(fitting, rows), item = nvdp__embeddings_item(&to->shape);
    const bool hold = visit == NULL;
    nvdp__autofree void *slice =
        nvdp__calloc(release->ctx, step * dim, sizeof(float)); /* float or int32_t */
    nvdp__autofree float *values =
        nvdp__calloc(release->ctx, hold ? 1 : step * dim, sizeof *values);
    to->z = nvdp__calloc(release->ctx, hold ? rows * dim : step * dim, item);
    NVDP_TRY(NVDP__MADE(slice, values, to->z));
    for (size_t first = 0; first < rows; first += step) {
        size_t n = nvdp__min(rows - first, step);
        void *z = hold ? (char *)to->z + first * dim * item : to->z;
        NVDP_TRY(release->format->rows(release, first, n, slice, NULL));
        NVDP_TRY(narrow(release, first * dim, n * dim, slice, z));
        if (hold) continue;
        nvdp__embeddings_values(to, 0, n * dim, values);
        visit(n * dim, values, user);
    }
    if (hold) return NVDP_OK;
    free(to->z);
    to->z = NULL;
    return NVDP_OK;
}

static nvdp_status read_log_pi(struct nvdp__release *release, struct nvdp_shared *to) {
    const struct nvdp__embeddings_shape *shape = &to->shape;
    if (!shape->weights) return NVDP_OK;
    nvdp__autofree int32_t *steps = NULL; /* on a grid of whole steps */
    if (nvdp__is_whole(shape)) NVDP_TRY(NVDP__NEW(release->ctx, steps, shape->rows));
    NVDP_TRY(NVDP__NEW(release->ctx, to->log_pi, shape->rows));
    NVDP_TRY(release->format->rows(release, 0, shape->rows, NULL,
                                   steps != NULL ? (void *)steps : to->log_pi));
    for (size_t r = 0; r < shape->rows; r++) {
        if (steps != NULL) to->log_pi[r] = ldexpf((float)steps[r], shape->log_pi_exponent);
        if (!isfinite(to->log_pi[r]) || to->log_pi[r] > 0)
            return bad_value(release, "log_pi", r, to->log_pi[r], "finite log weights");
    }
    return NVDP_OK;
}

nvdp_status nvdp__embeddings_take(struct nvdp__release *release, nvdp__embeddings_visit *visit,
                                  void *user, struct nvdp_shared **out) {
    nvdp__autoptr(nvdp_shared_free) struct nvdp_shared *made = NULL;
    NVDP_TRY(NVDP__NEW(release->ctx, made, 1));
    NVDP_TRY(read_attributes(release, made));
    NVDP_TRY(read_shape(release, made));
    size_t dim = made->shape.dim; /* width of a vector, which is only a part of a summary's row */
    const struct nvdp__place_of width = NVDP__TO_SIZE("vector_width", dim, 1, MAX_DIM, false);
    if (made->shape.summary) NVDP_TRY(nvdp__release_take(release, 1, &width));
    const char *features = nvdp__attributes_text(&release->attributes, "pair_features");
    if (features[0] != '\0' && strcmp(features, NVDP__PAIR_JOINT) != 0)
        dim /= 2; /* the vectors of two texts */
    NVDP_TRY(nvdp__query_read(release, dim, &made->query));
    const size_t texts = made->shape.texts;
    NVDP_TRY(copy(release, release->offset, texts * made->shape.samples + 1, sizeof(int64_t),
                  &made->offset));
    NVDP_TRY(check_offset(release));
    NVDP_TRY(read_z(release, visit, user, made));
    NVDP_TRY(read_log_pi(release, made));
    NVDP_TRY(copy(release, release->label, texts, sizeof *made->label, &made->label));
    NVDP_TRY(copy(release, release->split, texts, sizeof *made->split, &made->split));
    NVDP_TRY(copy(release, release->id, texts, sizeof *made->id, &made->id));
    for (size_t i = 0; i < texts; i++) {
        if (made->label != NULL && isinf(made->label[i]))
            return bad_value(release, "label", i, made->label[i], "a finite number or NaN");
        if (made->split != NULL && (made->split[i] < 0 || made->split[i] > MAX_SPLIT))
            return bad_value(release, "split", i, made->split[i], "0 to 4");
    }
    return NVDP__HAND_OVER(out, made);
}

void nvdp_shared_free(struct nvdp_shared *shared) {
    if (shared == NULL) return;
    void *const memory[] = {shared->offset, shared->z,  shared->log_pi,     shared->label,
                            shared->split,  shared->id, shared->label_names};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
    nvdp__query_map_free(shared->query);
    free(shared);
}

/* --- public functions --- */

nvdp_status nvdp_shared_describe(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                 struct nvdp_shared_info *out) {
    const struct nvdp__embeddings_shape *shape = &shared->shape;
    struct nvdp_shared_info info = {.texts = shape->texts,
                                    .samples = shape->samples,
                                    .dim = shape->dim,
                                    .rows = shape->rows,
                                    .sample_rows = shape->sample_rows,
                                    .kappa = shape->kappa,
                                    .policy = shape->policy,
                                    .z_step = shared->z_step,
                                    .offset = shared->offset,
                                    .log_pi = shared->log_pi,
                                    .label = shared->label,
                                    .split = shared->split,
                                    .id = shared->id,
                                    .label_names = shared->label_names};
    NVDP_TRY(nvdp__can_give(ctx, out));
    memcpy(info.method, shared->method, sizeof info.method);
    memcpy(info.task, shared->task, sizeof info.task);
    return NVDP__GIVE(out, &info);
}

nvdp_status nvdp_shared_vectors(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                                size_t first, size_t rows, float *z) {
    const struct nvdp__embeddings_shape *shape = &shared->shape;
    if (first > shape->rows || rows > shape->rows - first)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "rows %zu to %zu: expected rows below %zu", first,
                          first + rows, shape->rows);
    nvdp__embeddings_values(shared, first * shape->dim, rows * shape->dim, z);
    return NVDP_OK;
}

nvdp_status nvdp_shared_decode(struct nvdp_context *ctx, const struct nvdp_shared *shared,
                               size_t first, size_t texts, float *out, size_t *width) {
    const struct nvdp__embeddings_shape *shape = &shared->shape;
    const struct nvdp__query_map *query = shared->query;
    const size_t p = shape->dim, samples = shape->samples;
    if (query == NULL || query->decoder == NULL || shape->rows != shape->texts * samples)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "expected a file with a decoder, from a run of nvdp train {objective} "
                          "distill, found method '%s' without one",
                          shared->method);
    if (first > shape->texts || texts > shape->texts - first)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "texts %zu to %zu: expected texts below %zu",
                          first, first + texts, shape->texts);
    const size_t d = query->width;
    if (width != NULL) *width = d;
    if (out == NULL) return NVDP_OK;
    nvdp__autofree float *z = NULL;
    NVDP_TRY(NVDP__NEW(ctx, z, samples * p));
    for (size_t i = 0; i < texts; i++) {
        nvdp__embeddings_values(shared, (first + i) * samples * p, samples * p, z);
        for (size_t k = p; k < samples * p; k++)
            z[k % p] += z[k];
        for (size_t j = 0; j < d; j++)
            out[i * d + j] = (float)(nvdp__dot_f64(p, query->decoder + j * p, z) / (double)samples);
    }
    return NVDP_OK;
}
