/* Writes, reads, compares and hashes releases of any format, for nvdp export, nvdp verify and the formats.  Read
 * release.h first. */
#include "share/release.h"
#include "base/cache.h"
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

nvdp_status nvdp__release_make_column(struct nvdp__release *release, size_t c) {
    release->column[c] = nvdp__calloc(release->ctx, release->shape.texts,
                                      nvdp__h5_stored_size(nvdp__text_columns[c].type));
    return NVDP__MADE(release->column[c]);
}

/* --- stored values --- */

void nvdp__store(enum nvdp__h5_type type, size_t n, const void *values, void *stored) {
    if (type != NVDP__H5_F16 && type != NVDP__H5_I16) {
        memcpy(stored, values, n * nvdp__h5_stored_size(type));
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

/* Finds an attribute of a type.  Whole numbers are real numbers, too. */
static nvdp_status find(const struct nvdp__release *release, const char *name,
                        enum nvdp__attribute_type type, const struct nvdp__attribute **out) {
    static const char *const expected[] = {[NVDP__ATTRIBUTE_TEXT] = "a string",
                                           [NVDP__ATTRIBUTE_WHOLE] = "an integer",
                                           [NVDP__ATTRIBUTE_REAL] = "a number"};
    *out = nvdp__attributes_get(&release->attributes, name);
    if (*out == NULL) return NVDP__BAD_FILE(release, "attribute '%s' is %s", name, "missing");
    const enum nvdp__attribute_type found = (*out)->type;
    if (found == type || (found == NVDP__ATTRIBUTE_WHOLE && type == NVDP__ATTRIBUTE_REAL))
        return NVDP_OK;
    return NVDP__BAD_FILE(release, "attribute '%s': expected %s, found %s", name, expected[type],
                          type_names[found]);
}

nvdp_status nvdp__release_text(const struct nvdp__release *release, const char *name,
                               const char **value) {
    const struct nvdp__attribute *found = NULL;
    NVDP_TRY(find(release, name, NVDP__ATTRIBUTE_TEXT, &found));
    *value = found->text;
    return NVDP_OK;
}

nvdp_status nvdp__release_take(const struct nvdp__release *release, size_t count,
                               const struct nvdp__place_of *place) {
    for (const struct nvdp__place_of *at = place; at < place + count; at++) {
        const struct nvdp__attribute *found = NULL;
        if (at->name == NULL ||
            (at->optional && nvdp__attributes_get(&release->attributes, at->name) == NULL))
            continue;
        NVDP_TRY(find(release, at->name, at->type, &found));
        if (at->type == NVDP__ATTRIBUTE_WHOLE && (found->whole < at->min || found->whole > at->max))
            return NVDP__BAD_FILE(release,
                                  "attribute '%s': expected a number from %" PRId64 " to %" PRId64
                                  ", found %" PRId64,
                                  at->name, at->min, at->max, found->whole);
        if (at->type == NVDP__ATTRIBUTE_TEXT)
            nvdp__snprintf(at->to, (size_t)at->max, "%s", found->text);
        else if (at->type == NVDP__ATTRIBUTE_REAL)
            *(double *)at->to = found->real;
        else
            *(size_t *)at->to = (size_t)found->whole;
    }
    return NVDP_OK;
}

const char *nvdp__file_kind(const struct nvdp__embeddings_shape *shape) {
    return shape->summary ? "summary/1" : nvdp__is_whole(shape) ? "embeddings/2" : "embeddings/1";
}

/* Sets the attributes that follow from the shape. */
static nvdp_status shape_attributes(struct nvdp__release *release) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    struct nvdp__attributes *list = &release->attributes;
    const bool whole = shape->grid != NVDP__H5_F16;
    NVDP_TRY(nvdp__attributes_set_text(list, "nvdp_format", nvdp__file_kind(shape)));
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
    const bool summary = strcmp(format, "summary/1") == 0;
    if (!summary && strcmp(format, "embeddings/1") != 0 && strcmp(format, "embeddings/2") != 0)
        return NVDP__BAD_FILE(release,
                              "metadata 'nvdp_format': expected embeddings/1 or embeddings/2, as "
                              "nvdp export writes, found '%.40s'",
                              format);
    NVDP_TRY(metadata_integer(release, summary ? "items" : "texts", MAX_ROWS, &shape->texts));
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
    *shape =
        (struct nvdp__embeddings_shape){.texts = shape->texts,
                                        .samples = shape->samples,
                                        .rows = rows,
                                        .dim = dim,
                                        .weights = weights,
                                        .summary = summary,
                                        .policy = hidden ? NVDP_LENGTH_HIDDEN : NVDP_LENGTH_PUBLIC,
                                        .sample_rows = hidden ? rows / samples : 0};
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
        const size_t n = nvdp__min(count - done, sizeof there), got = fread(there, 1, n, to->same);
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

/* Allocates the state struct of the format. */
static nvdp_status make_state(struct nvdp__release *release) {
    release->of = nvdp__calloc(release->ctx, 1, release->format->state);
    return NVDP__MADE(release->of);
}

static void close_state(struct nvdp__release *release) {
    if (release->of != NULL && release->format->close != NULL) release->format->close(release);
    nvdp__h5_free(release->h5);
    release->h5 = NULL;
    free(release->of);
    release->of = NULL;
}

nvdp_status nvdp__release_create(struct nvdp__release *release, const struct nvdp__format *format,
                                 const char *path) {
    release->format = format;
    release->path = release->attributes.path = path;
    NVDP_TRY(shape_attributes(release));
    if (!format->hdf5) NVDP_TRY(nvdp__output_open(release->ctx, path, &release->to.output));
    NVDP_TRY(make_state(release));
    return format->open(release);
}

nvdp_status nvdp__release_finish(struct nvdp__release *release) {
    NVDP_TRY(release->format->finish(release));
    return release->to.output.file != NULL ? nvdp__output_flush(&release->to.output) : NVDP_OK;
}

nvdp_status nvdp__release_commit(struct nvdp__release *release, bool replace) {
    return release->h5 != NULL ? nvdp__h5_commit(release->h5, replace)
                               : nvdp__output_commit(&release->to.output, replace);
}

bool nvdp__release_is_unnamed(const struct nvdp__release *release) {
    if (release->of == NULL) return false;
    if (release->h5 != NULL) return nvdp__h5_is_unnamed(release->h5);
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
    size_t max_rows;
    void *z, *log_pi; /* in the memory type */
};

/* Allocates a slice with `z` values of z and `log_pi` values of log_pi per row. */
static nvdp_status open_slice(const struct nvdp__release *release, size_t z, size_t log_pi,
                              struct nvdp__memory *memory, struct slice *slice) {
    const struct nvdp__embeddings_shape *shape = &release->shape;
    const size_t unit = nvdp__row_vectors(shape), width = unit * shape->dim;
    const size_t units = width < SLICE_VALUES ? SLICE_VALUES / width : 1;
    slice->max_rows = nvdp__min(units * unit, shape->rows);
    return NVDP__ARRAYS(release->ctx, memory, {&slice->z, slice->max_rows * z, sizeof(float)},
                        {&slice->log_pi, slice->max_rows * log_pi, sizeof(float)});
}

nvdp_status nvdp__release_copy(struct nvdp__release *from, struct nvdp__release *to) {
    const size_t rows = from->shape.rows;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct slice slice;
    NVDP_TRY(open_slice(from, from->shape.dim, 1, &memory, &slice));
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

/* Writes the file again and compares the bytes.  Values and attributes must determine every byte, so that comments,
 * order or padding cannot hide data. */
static nvdp_status check_bytes(struct nvdp__release *release) {
    nvdp__autoptr(fclose) FILE *same = NULL;
    nvdp__auto(close_state) struct nvdp__release copy =
        *release; /* shares the memory of `release` */
    copy.of = NULL;
    copy.h5 = NULL;
    NVDP_TRY(nvdp__fopen_regular(release->ctx, release->path, &same));
    copy.to = (struct nvdp__sink){.same = same};
    NVDP_TRY(make_state(&copy));
    NVDP_TRY(release->format->open(&copy));
    NVDP_TRY(nvdp__release_copy(release, &copy));
    return fseeko(same, (off_t)copy.to.end, SEEK_SET) == 0 && fgetc(same) == EOF
               ? NVDP_OK
               : differs(release, copy.to.end);
}

nvdp_status nvdp__release_read(struct nvdp_context *ctx, const struct nvdp__format *const *formats,
                               const char *path, struct nvdp__release *out) {
    nvdp__auto(nvdp__release_close) struct nvdp__release release = {
        .ctx = ctx, .path = path, .attributes = {.ctx = ctx, .path = path}};
    const struct nvdp__embeddings_shape *shape = &release.shape;
    unsigned char first[NVDP__FORMAT_HEAD] = {0};
    nvdp__autoptr(fclose) FILE *file = NULL;
    NVDP_TRY(nvdp__check_regular(ctx, path));
    NVDP_TRY(nvdp__fopen_regular(ctx, path, &file));
    const size_t count = fread(first, 1, sizeof first, file);
    release.format = nvdp__format_detect(formats, path, first, count);
    if (release.format == NULL) release.format = formats[0];
    NVDP_TRY(make_state(&release));
    NVDP_TRY(release.format->read(&release));
    if (release.format->canonical) {
        /* Some formats store no offsets of samples of equal length; in other formats, the offsets must equal these. */
        for (size_t k = 0; k <= shape->texts * shape->samples && shape->sample_rows > 0; k++)
            release.offset[k] = (int64_t)(k * shape->sample_rows);
        NVDP_TRY(check_bytes(&release));
    }
    return NVDP__HAND_OVER(out, release);
}

void nvdp__release_close(struct nvdp__release *release) {
    close_state(release);
    nvdp__output_abort(&release->to.output);
    nvdp__attributes_release(&release->attributes);
    free(release->offset);
    for (size_t i = 0; i < NVDP__TEXT_COLUMNS; i++)
        free(release->column[i]);
    *release = (struct nvdp__release){0};
}

/* --- datasets and their digest (docs/formats.md, "What is signed") --- */

static const char *const stored_names[] = {
    [NVDP__H5_F16] = "f16", [NVDP__H5_F32] = "f32", [NVDP__H5_F64] = "f64",
    [NVDP__H5_I64] = "i64", [NVDP__H5_I32] = "i32", [NVDP__H5_I16] = "i16"};

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
    if (release->h5 != NULL) return nvdp__h5_list(release->h5, visit, user);
    const size_t count = list_datasets(release, dataset);
    for (size_t i = 0; i < count; i++)
        visit(dataset[i].name, dataset[i].rank, dataset[i].shape, stored_names[dataset[i].type],
              user);
    return NVDP_OK;
}

static void feed_stored(crypto_hash_sha256_state *sha, enum nvdp__h5_type type, size_t n,
                        const void *values) {
    const size_t size = nvdp__h5_memory_size(type);
    unsigned char buffer[BUFFER * sizeof(int64_t)];
    for (size_t first = 0; first < n; first += BUFFER) {
        const size_t count = nvdp__min(n - first, BUFFER);
        nvdp__store(type, count, (const char *)values + first * size, buffer);
        crypto_hash_sha256_update(sha, buffer, count * nvdp__h5_stored_size(type));
    }
}

/* Feeds name, type, shape and values of a dataset.  The rows of z and log_pi are read slice by slice. */
static nvdp_status feed_dataset(crypto_hash_sha256_state *sha, struct nvdp__release *release,
                                const struct dataset *dataset) {
    const size_t rows = release->shape.rows;
    const bool is_z = strcmp(dataset->name, "z") == 0;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct slice slice;
    crypto_hash_sha256_update(sha, (const unsigned char *)"D", 1);
    nvdp__sha256_text(sha, dataset->name);
    nvdp__sha256_text(sha, stored_names[dataset->type]);
    nvdp__sha256_number(sha, (uint64_t)dataset->rank);
    for (int d = 0; d < dataset->rank; d++)
        nvdp__sha256_number(sha, dataset->shape[d]);
    if (dataset->values != NULL) {
        feed_stored(sha, dataset->type, dataset->shape[0], dataset->values);
        return NVDP_OK;
    }
    NVDP_TRY(open_slice(release, is_z ? release->shape.dim : 0, is_z ? 0 : 1, &memory, &slice));
    for (size_t first = 0; first < rows; first += slice.max_rows) {
        const size_t n = nvdp__min(rows - first, slice.max_rows);
        NVDP_TRY(release->format->rows(release, first, n, is_z ? slice.z : NULL,
                                       is_z ? NULL : slice.log_pi));
        feed_stored(sha, dataset->type, n * (is_z ? release->shape.dim : 1),
                    is_z ? slice.z : slice.log_pi);
    }
    return NVDP_OK;
}

static void feed_attribute(crypto_hash_sha256_state *sha, const struct nvdp__attribute *of) {
    uint64_t bits = (uint64_t)of->whole;
    if (of->type == NVDP__ATTRIBUTE_REAL) memcpy(&bits, &of->real, sizeof bits);
    crypto_hash_sha256_update(sha, (const unsigned char *)"A", 1);
    nvdp__sha256_text(sha, of->name);
    nvdp__sha256_text(sha, of->type == NVDP__ATTRIBUTE_WHOLE  ? "whole"
                           : of->type == NVDP__ATTRIBUTE_REAL ? "real"
                                                              : "text");
    if (of->type == NVDP__ATTRIBUTE_TEXT)
        nvdp__sha256_text(sha, of->text);
    else
        nvdp__sha256_number(sha, bits);
}

nvdp_status nvdp__release_digest(struct nvdp__release *release, enum nvdp__signed covers,
                                 const char *except, unsigned char digest[NVDP__H5_DIGEST]) {
    struct dataset dataset[6];
    crypto_hash_sha256_state sha;
    if (release->h5 != NULL)
        return covers == NVDP__SIGNED_BYTES ? nvdp__h5_file_digest(release->h5, except, digest)
                                            : nvdp__h5_digest(release->h5, except, digest);
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

/* ---- the table of formats ---- */

/* The table of formats, for everything that writes or reads releases.  The row of a format is in the format's own
 * file. */

extern const struct nvdp__format nvdp__format_hdf5, nvdp__format_safetensors, nvdp__format_parquet;

const struct nvdp__format *const nvdp__formats[] = {&nvdp__format_hdf5, &nvdp__format_safetensors,
                                                    &nvdp__format_parquet, NULL};

const char *nvdp__format_endings(char text[NVDP__ENDINGS]) {
    struct nvdp__writer list = {text, NVDP__ENDINGS, 0};
    for (size_t i = 0; nvdp__formats[i] != NULL; i++)
        nvdp__append_item(&list, i, nvdp__formats[i + 1] == NULL, nvdp__formats[i]->extension);
    return text;
}

const struct nvdp__format *nvdp__format_by_ending(const struct nvdp__format *const *formats,
                                                  const char *path) {
    for (size_t i = 0; formats[i] != NULL; i++)
        if (nvdp__ends_with(path, formats[i]->extension)) return formats[i];
    return formats[0];
}

const struct nvdp__format *nvdp__format_detect(const struct nvdp__format *const *formats,
                                               const char *path, const unsigned char *first,
                                               size_t count) {
    for (size_t i = 0; formats[i] != NULL; i++)
        if (formats[i]->detect(path, first, count)) return formats[i];
    return NULL;
}
