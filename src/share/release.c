/* Writes, reads, compares and hashes releases of any format, for nvdp export, nvdp verify and the formats.  Read
 * release.h first. */
#include "share/release.h"

#include "base/digest.h"
#include "base/f16.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    SLICE_VALUES = 1 << 18,
    BUFFER = 4096, /* values converted at once */
    COMPARED = 1 << 16,
    MAX_ROWS = INT32_MAX,
    MAX_DIM = 1 << 20
};

/* --- the per-text columns --- */

const struct nvdp__text_column nvdp__text_columns[] = {
    {"id", NVDP__H5_I64}, {"split", NVDP__H5_I32}, {"label", NVDP__H5_F32}};

void *nvdp__release_column(const struct nvdp__release *release, size_t c) {
    return c == 0 ? (void *)release->id : c == 1 ? (void *)release->split : release->label;
}

nvdp_status nvdp__release_make_column(struct nvdp__release *release, size_t c, void **values) {
    const size_t texts = release->shape.texts;
    nvdp_status status = c == 0   ? NVDP__NEW(release->ctx, release->id, texts)
                         : c == 1 ? NVDP__NEW(release->ctx, release->split, texts)
                                  : NVDP__NEW(release->ctx, release->label, texts);
    *values = nvdp__release_column(release, c);
    return status;
}

/* --- stored values --- */

size_t nvdp__stored_size(enum nvdp__h5_type type) {
    static const size_t sizes[] = {[NVDP__H5_F16] = 2, [NVDP__H5_F32] = 4, [NVDP__H5_F64] = 8,
                                   [NVDP__H5_I64] = 8, [NVDP__H5_I32] = 4, [NVDP__H5_I16] = 2};
    return sizes[type];
}

void nvdp__store(enum nvdp__h5_type type, size_t n, const void *values, void *stored) {
    if (type != NVDP__H5_F16 && type != NVDP__H5_I16) {
        memcpy(stored, values, n * nvdp__stored_size(type));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (type == NVDP__H5_F16)
            ((uint16_t *)stored)[i] = nvdp__f16_from_float(((const float *)values)[i]);
        else
            ((int16_t *)stored)[i] = (int16_t)((const int32_t *)values)[i];
    }
}

/* --- attributes --- */

static const char *const type_names[] = {[NVDP__ATTRIBUTE_NONE] = "another type",
                                         [NVDP__ATTRIBUTE_TEXT] = "string",
                                         [NVDP__ATTRIBUTE_WHOLE] = "i64",
                                         [NVDP__ATTRIBUTE_REAL] = "f64"};

static nvdp_status find(const struct nvdp__release *release, const char *name, const char *expected,
                        bool (*fits)(enum nvdp__attribute_type type),
                        const struct nvdp__attribute **out) {
    const struct nvdp__attribute *found = nvdp__attributes_get(&release->attributes, name);
    if (found == NULL) return NVDP__BAD_FILE(release, "attribute '%s' is %s", name, "missing");
    if (!fits(found->type))
        return NVDP__BAD_FILE(release, "attribute '%s': expected %s, found %s", name, expected,
                              type_names[found->type]);
    *out = found;
    return NVDP_OK;
}

static bool is_text(enum nvdp__attribute_type type) {
    return type == NVDP__ATTRIBUTE_TEXT;
}

static bool is_whole(enum nvdp__attribute_type type) {
    return type == NVDP__ATTRIBUTE_WHOLE;
}

static bool is_number(enum nvdp__attribute_type type) {
    return type == NVDP__ATTRIBUTE_WHOLE || type == NVDP__ATTRIBUTE_REAL;
}

nvdp_status nvdp__release_text(const struct nvdp__release *release, const char *name,
                               const char **value) {
    const struct nvdp__attribute *found = NULL;
    NVDP_TRY(find(release, name, "a string", is_text, &found));
    *value = found->text;
    return NVDP_OK;
}

nvdp_status nvdp__release_whole(const struct nvdp__release *release, const char *name,
                                int64_t *value) {
    const struct nvdp__attribute *found = NULL;
    NVDP_TRY(find(release, name, "an integer", is_whole, &found));
    *value = found->whole;
    return NVDP_OK;
}

nvdp_status nvdp__release_real(const struct nvdp__release *release, const char *name,
                               double *value) {
    const struct nvdp__attribute *found = NULL;
    NVDP_TRY(find(release, name, "a number", is_number, &found));
    *value = found->real;
    return NVDP_OK;
}

/* Sets the attributes that the shape decides. */
static nvdp_status shape_attributes(struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp__attributes *list = &release->attributes;
    const bool whole = shape->grid != NVDP__H5_F16;
    NVDP_TRY(
        nvdp__attributes_set_text(list, "nvdp_format", whole ? "embeddings/2" : "embeddings/1"));
    NVDP_TRY(nvdp__attributes_set_text(list, "grid", nvdp__grid_names[shape->grid]));
    if (whole) NVDP_TRY(nvdp__attributes_set_real(list, "z_step", ldexp(1, shape->z_exponent)));
    return whole && shape->weights
               ? nvdp__attributes_set_real(list, "log_pi_step", ldexp(1, shape->log_pi_exponent))
               : NVDP_OK;
}

static nvdp_status metadata_integer(struct nvdp__release *release, const char *name, int64_t max,
                                    size_t *out) {
    const char *text = nvdp__attributes_text(&release->attributes, name);
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > max)
        return NVDP__BAD_FILE(
            release, "metadata '%s': expected a number from 1 to %" PRId64 ", found '%.40s'", name,
            max, text);
    *out = (size_t)value;
    return NVDP_OK;
}

static nvdp_status metadata_exponent(struct nvdp__release *release, const char *name, int *out) {
    const char *text = nvdp__attributes_text(&release->attributes, name);
    if (!nvdp__step_exponent(nvdp__strtod(text, NULL), out))
        return NVDP__BAD_FILE(release, "metadata '%s': expected a power of two, found '%.40s'",
                              name, text);
    return NVDP_OK;
}

nvdp_status nvdp__release_shape(struct nvdp__release *release, size_t rows, size_t dim,
                                bool weights) {
    struct nvdp__embeddings_shape *shape = &release->shape;
    const char *format = nvdp__attributes_text(&release->attributes, "nvdp_format");
    const char *grid = nvdp__attributes_text(&release->attributes, "grid");
    const char *policy = nvdp__attributes_text(&release->attributes, "length_policy");
    const bool hidden = strcmp(policy, "hidden") == 0;
    if (strcmp(format, "embeddings/1") != 0 && strcmp(format, "embeddings/2") != 0)
        return NVDP__BAD_FILE(release,
                              "metadata 'nvdp_format': expected embeddings/1 or embeddings/2, as "
                              "nvdp export writes, found '%.40s'",
                              format);
    NVDP_TRY(metadata_integer(release, "texts", MAX_ROWS, &shape->texts));
    NVDP_TRY(metadata_integer(release, "releases", MAX_ROWS, &shape->samples));
    if (rows < 1 || rows > MAX_ROWS || dim < 1 || dim > MAX_DIM ||
        shape->texts > MAX_ROWS / shape->samples)
        return NVDP__BAD_FILE(
            release, "expected a possible size, found %zu vectors of %zu numbers for %zu texts",
            rows, dim, shape->texts);
    const size_t samples = shape->texts * shape->samples;
    if (samples > rows || (hidden && rows % samples != 0))
        return NVDP__BAD_FILE(release,
                              "expected vectors in each of %zu samples, %sfound %zu in total",
                              samples, hidden ? "equally many in each, " : "", rows);
    shape->rows = rows;
    shape->dim = dim;
    shape->weights = weights;
    shape->policy = hidden ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC;
    shape->sample_rows = hidden ? rows / samples : 0;
    if (!nvdp__grid_find(grid, &shape->grid))
        return NVDP__BAD_FILE(
            release, "metadata 'grid': expected float16, int16 or int32, found '%.40s'", grid);
    if (shape->grid != NVDP__H5_F16) {
        NVDP_TRY(metadata_exponent(release, "z_step", &shape->z_exponent));
        if (weights) NVDP_TRY(metadata_exponent(release, "log_pi_step", &shape->log_pi_exponent));
    }
    return shape_attributes(release); /* as nvdp export prints them */
}

/* --- writing --- */

static nvdp_status differs(struct nvdp__release *release, uint64_t at) {
    return NVDP__BAD_FILE(release,
                          "expected exactly the bytes that nvdp export writes for these values and "
                          "texts, found a difference at byte %" PRIu64,
                          at);
}

static nvdp_status compare(struct nvdp__release *release, size_t count, const void *bytes) {
    unsigned char there[COMPARED];
    struct nvdp__sink *to = &release->to;
    for (size_t done = 0; done < count;) {
        const size_t n = nvdp__min(count - done, sizeof there);
        const size_t got = fread(there, 1, n, to->same);
        const unsigned char *expected = (const unsigned char *)bytes + done;
        size_t i = 0;
        while (i < got && there[i] == expected[i])
            i++;
        if (i < n) return differs(release, to->at + done + i);
        done += n;
    }
    return NVDP_OK;
}

nvdp_status nvdp__release_put(struct nvdp__release *release, uint64_t at, size_t count,
                              const void *bytes) {
    struct nvdp__sink *to = &release->to;
    FILE *file = to->same != NULL ? to->same : to->output.file;
    if (at != to->at && fseeko(file, (off_t)at, SEEK_SET) != 0)
        return nvdp__fail_errno(release->ctx, errno, "%s: cannot write", release->path);
    to->at = at;
    NVDP_TRY(to->same != NULL ? compare(release, count, bytes)
                              : nvdp__output_write(&to->output, bytes, count));
    to->at += count;
    if (to->at > to->end) to->end = to->at;
    return NVDP_OK;
}

nvdp_status nvdp__release_create(struct nvdp__release *release, const struct nvdp__format *format,
                                 const char *path) {
    release->format = format;
    release->path = release->attributes.path = path;
    NVDP_TRY(shape_attributes(release));
    if (format->commit == NULL)
        NVDP_TRY(nvdp__output_open(release->ctx, path, &release->to.output));
    return format->open(release);
}

nvdp_status nvdp__release_finish(struct nvdp__release *release) {
    NVDP_TRY(release->format->finish(release));
    return release->to.output.file != NULL ? nvdp__output_flush(&release->to.output) : NVDP_OK;
}

nvdp_status nvdp__release_commit(struct nvdp__release *release, bool replace) {
    return release->format->commit != NULL ? release->format->commit(release, replace)
                                           : nvdp__output_commit(&release->to.output, replace);
}

bool nvdp__release_is_unnamed(const struct nvdp__release *release) {
    if (release->format == NULL) return false;
    if (release->format->commit != NULL) return release->format->is_unnamed(release);
    return release->to.output.temporary != NULL && nvdp__is_unnamed(release->to.output.temporary);
}

uint64_t nvdp__release_bytes(const struct nvdp__release *release) {
    enum { HEAD = 1 << 16, COLUMNS = 6 * sizeof(int64_t) };
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const uint64_t row = (shape->dim + shape->weights) * sizeof(float) + COLUMNS;
    return HEAD + (uint64_t)shape->rows * row + (uint64_t)shape->texts * shape->samples * COLUMNS;
}

/* --- rows, slice by slice --- */

struct slice {
    size_t max_rows;  /* max. rows */
    void *z, *log_pi; /* in the memory type; NULL: not read */
};

static nvdp_status open_slice(const struct nvdp__release *release, bool z, bool log_pi,
                              struct slice *slice) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t unit = nvdp__row_vectors(shape), width = unit * shape->dim;
    const size_t units = width < SLICE_VALUES ? SLICE_VALUES / width : 1;
    slice->max_rows = nvdp__min(units * unit, shape->rows);
    if (z) slice->z = nvdp__calloc(release->ctx, slice->max_rows * shape->dim, sizeof(float));
    if (log_pi) slice->log_pi = nvdp__calloc(release->ctx, slice->max_rows, sizeof(float));
    return (z && slice->z == NULL) || (log_pi && slice->log_pi == NULL) ? NVDP_ERR_MEMORY : NVDP_OK;
}

static void close_slice(struct slice *slice) {
    free(slice->z);
    free(slice->log_pi);
}

nvdp_status nvdp__release_copy(struct nvdp__release *from, struct nvdp__release *to) {
    const size_t rows = from->shape.rows;
    nvdp__auto(close_slice) struct slice slice = {0};
    NVDP_TRY(open_slice(from, true, true, &slice));
    for (size_t first = 0; first < rows; first += slice.max_rows) {
        const size_t n = nvdp__min(rows - first, slice.max_rows);
        NVDP_TRY(nvdp__check_cancelled(from->ctx, "reading: cancelled"));
        NVDP_TRY(
            from->format->rows(from, first, n, slice.z, from->shape.weights ? slice.log_pi : NULL));
        NVDP_TRY(to->format->append(to, first, n, slice.z, slice.log_pi));
    }
    return nvdp__release_finish(to);
}

/* --- reading --- */

/* Writes the file again and compares: no byte, such as a comment, an order or padding, may exist that the values and
 * attributes do not determine. */
static nvdp_status check_bytes(struct nvdp__release *release) {
    nvdp_status status = NVDP_OK;
    struct nvdp__release copy = *release; /* shares the memory of `release` */
    copy.of = NULL;
    copy.to = (struct nvdp__sink){0};
    NVDP_TRY_OR_CLEAN(nvdp__fopen_regular(release->ctx, release->path, &copy.to.same));
    NVDP_TRY_OR_CLEAN(release->format->open(&copy));
    NVDP_TRY_OR_CLEAN(nvdp__release_copy(release, &copy));
    if (fseeko(copy.to.same, (off_t)copy.to.end, SEEK_SET) != 0 || fgetc(copy.to.same) != EOF)
        NVDP_TRY_OR_CLEAN(differs(release, copy.to.end));
cleanup:
    release->format->close(&copy);
    if (copy.to.same != NULL) fclose(copy.to.same);
    return status;
}

static nvdp_status detect(struct nvdp__release *release,
                          const struct nvdp__format *const *formats) {
    unsigned char first[NVDP__FORMAT_HEAD] = {0};
    FILE *file = NULL;
    NVDP_TRY(nvdp__fopen_regular(release->ctx, release->path, &file));
    const size_t count = fread(first, 1, sizeof first, file);
    fclose(file);
    release->format = nvdp__format_detect(formats, release->path, first, count);
    if (release->format == NULL) release->format = formats[0];
    return NVDP_OK;
}

/* Sets the offsets of samples of equal length.  Some formats store no offsets; in others they must equal these. */
static void set_hidden_offsets(struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    for (size_t k = 0; k <= shape->texts * shape->samples && shape->sample_rows > 0; k++)
        release->offset[k] = (int64_t)(k * shape->sample_rows);
}

nvdp_status nvdp__release_read(struct nvdp_context *ctx, const struct nvdp__format *const *formats,
                               const char *path, struct nvdp__release *out) {
    nvdp__auto(nvdp__release_close) struct nvdp__release release = {
        .ctx = ctx, .path = path, .attributes = {.ctx = ctx, .path = path}};
    NVDP_TRY(nvdp__check_regular(ctx, path));
    NVDP_TRY(detect(&release, formats));
    NVDP_TRY(release.format->read(&release));
    if (release.format->canonical) {
        set_hidden_offsets(&release);
        NVDP_TRY(check_bytes(&release));
    }
    NVDP__HAND_OVER(out, release);
    return NVDP_OK;
}

void nvdp__release_close(struct nvdp__release *release) {
    if (release->format != NULL) release->format->close(release);
    nvdp__output_abort(&release->to.output);
    nvdp__attributes_release(&release->attributes);
    free(release->offset);
    free(release->id);
    free(release->split);
    free(release->label);
    *release = (struct nvdp__release){0};
}

/* --- datasets and their digest (docs/formats.md, "What is signed") --- */

static const char *type_name(enum nvdp__h5_type type) {
    static const char *const names[] = {
        [NVDP__H5_F16] = "f16", [NVDP__H5_F32] = "f32", [NVDP__H5_F64] = "f64",
        [NVDP__H5_I64] = "i64", [NVDP__H5_I32] = "i32", [NVDP__H5_I16] = "i16"};
    return names[type];
}

struct dataset {
    const char *name;
    enum nvdp__h5_type type;
    int rank;
    size_t shape[4];
    const void *values; /* NULL for z and log_pi */
};

/* Lists the datasets by name, as HDF5 orders them. */
static size_t list_datasets(const struct nvdp__release *release, struct dataset out[6]) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t texts = shape->texts, samples = shape->samples;
    const bool hidden = shape->policy == NVDP_LENGTH_HIDDEN;
    size_t count = 0;
    const struct dataset all[] = {
        {"id", NVDP__H5_I64, 1, {texts}, release->id},
        {"label", NVDP__H5_F32, 1, {texts}, release->label},
        hidden ? (struct dataset){"log_pi",
                                  nvdp__weight_type(shape),
                                  3,
                                  {texts, samples, shape->sample_rows},
                                  NULL}
               : (struct dataset){"log_pi", nvdp__weight_type(shape), 1, {shape->rows}, NULL},
        {"offset", NVDP__H5_I64, 1, {texts * samples + 1}, release->offset},
        {"split", NVDP__H5_I32, 1, {texts}, release->split},
        hidden ? (struct dataset){"z",
                                  shape->grid,
                                  4,
                                  {texts, samples, shape->sample_rows, shape->dim},
                                  NULL}
               : (struct dataset){"z", shape->grid, 2, {shape->rows, shape->dim}, NULL}};
    const bool there[] = {release->id != NULL,    release->label != NULL,
                          shape->weights,         !hidden,
                          release->split != NULL, true};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (there[i]) out[count++] = all[i];
    return count;
}

nvdp_status nvdp__release_datasets(struct nvdp__release *release, nvdp__dataset_visit *visit,
                                   void *user) {
    struct dataset dataset[6];
    if (release->format->datasets != NULL) return release->format->datasets(release, visit, user);
    const size_t count = list_datasets(release, dataset);
    for (size_t i = 0; i < count; i++)
        visit(dataset[i].name, dataset[i].rank, dataset[i].shape, type_name(dataset[i].type), user);
    return NVDP_OK;
}

static void feed_stored(crypto_hash_sha256_state *sha, enum nvdp__h5_type type, size_t n,
                        const void *values) {
    const bool wide = type == NVDP__H5_I64 || type == NVDP__H5_F64;
    unsigned char buffer[BUFFER * sizeof(int64_t)];
    for (size_t first = 0; first < n; first += BUFFER) {
        const size_t count = nvdp__min(n - first, BUFFER);
        nvdp__store(type, count, (const char *)values + first * (wide ? 8 : 4), buffer);
        crypto_hash_sha256_update(sha, buffer, count * nvdp__stored_size(type));
    }
}

static nvdp_status feed_rows(crypto_hash_sha256_state *sha, struct nvdp__release *release,
                             const struct dataset *dataset) {
    const size_t rows = release->shape.rows;
    const bool is_z = strcmp(dataset->name, "z") == 0;
    nvdp__auto(close_slice) struct slice slice = {0};
    NVDP_TRY(open_slice(release, is_z, !is_z, &slice));
    for (size_t first = 0; first < rows; first += slice.max_rows) {
        const size_t n = nvdp__min(rows - first, slice.max_rows);
        NVDP_TRY(release->format->rows(release, first, n, slice.z, slice.log_pi));
        feed_stored(sha, dataset->type, n * (is_z ? release->shape.dim : 1),
                    is_z ? slice.z : slice.log_pi);
    }
    return NVDP_OK;
}

static nvdp_status feed_dataset(crypto_hash_sha256_state *sha, struct nvdp__release *release,
                                const struct dataset *dataset) {
    crypto_hash_sha256_update(sha, (const unsigned char *)"D", 1);
    nvdp__sha256_text(sha, dataset->name);
    nvdp__sha256_text(sha, type_name(dataset->type));
    nvdp__sha256_number(sha, (uint64_t)dataset->rank);
    for (int d = 0; d < dataset->rank; d++)
        nvdp__sha256_number(sha, dataset->shape[d]);
    if (dataset->values == NULL) return feed_rows(sha, release, dataset);
    feed_stored(sha, dataset->type, dataset->shape[0], dataset->values);
    return NVDP_OK;
}

static void feed_attribute(crypto_hash_sha256_state *sha, const struct nvdp__attribute *of) {
    uint64_t bits = 0;
    crypto_hash_sha256_update(sha, (const unsigned char *)"A", 1);
    nvdp__sha256_text(sha, of->name);
    nvdp__sha256_text(sha, of->type == NVDP__ATTRIBUTE_WHOLE  ? "whole"
                           : of->type == NVDP__ATTRIBUTE_REAL ? "real"
                                                              : "text");
    if (of->type == NVDP__ATTRIBUTE_WHOLE)
        memcpy(&bits, &of->whole, sizeof bits);
    else
        memcpy(&bits, &of->real, sizeof bits);
    if (of->type == NVDP__ATTRIBUTE_TEXT)
        nvdp__sha256_text(sha, of->text);
    else
        nvdp__sha256_number(sha, bits);
}

nvdp_status nvdp__release_digest(struct nvdp__release *release, enum nvdp__signed covers,
                                 const char *except, unsigned char digest[NVDP__H5_DIGEST]) {
    struct dataset dataset[6];
    crypto_hash_sha256_state sha;
    if (release->format->digest != NULL)
        return release->format->digest(release, covers, except, digest);
    crypto_hash_sha256_init(&sha);
    nvdp__sha256_text(&sha, "nvdp digest/1");
    const size_t count = list_datasets(release, dataset);
    for (size_t i = 0; i < count; i++)
        NVDP_TRY(feed_dataset(&sha, release, &dataset[i]));
    nvdp__attributes_sort(&release->attributes);
    for (size_t i = 0; i < release->attributes.count; i++)
        if (strcmp(release->attributes.item[i].name, except) != 0)
            feed_attribute(&sha, &release->attributes.item[i]);
    crypto_hash_sha256_final(&sha, digest);
    return NVDP_OK;
}
