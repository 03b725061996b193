/* Values and attributes of an HDF5 file that our own reader parsed (read.h), converted to memory
 * types, and the file's digests. */
#include "hdf5/hdf5.h"

#include "base/digest.h"
#include "base/f16.h"
#include "hdf5/read.h"
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLICE_BYTES = 1 << 18 };

nvdp_status nvdp__h5_outside(struct nvdp_context *ctx, const char *path, const char *name,
                             uint64_t there, size_t first, size_t rows) {
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "%s: dataset '%s': expected a range within its %" PRIu64
                      " rows, found %zu rows from row %zu",
                      path, name, there, rows, first);
}

/* --- datasets --- */

static void type_text(const struct nvdp__h5_stored *type, char text[16]) {
    const int bits = type->size <= 8 ? (int)type->size * 8 : 0; /* for numbers */
    switch (type->kind) {
    case NVDP__H5_INTEGER:
        nvdp__snprintf(text, 16, "%c%d", type->is_signed ? 'i' : 'u', bits);
        return;
    case NVDP__H5_REAL:
        nvdp__snprintf(text, 16, "f%d", bits);
        return;
    default:
        nvdp__snprintf(text, 16, "%s", type->kind == NVDP__H5_OTHER ? "other" : "string");
    }
}

bool nvdp__h5_has(struct nvdp__h5 *file, const char *name) {
    struct nvdp__h5_image *image = NULL;
    return nvdp__h5_contents(file, &image) == NVDP_OK && nvdp__h5_image_find(image, name) != NULL;
}

static nvdp_status find(struct nvdp__h5_image *image, const char *name, enum nvdp__h5_type type,
                        struct nvdp__h5_object **out) {
    char text[16];
    struct nvdp__h5_object *found = nvdp__h5_image_find(image, name);
    if (found == NULL) return NVDP__H5_INPUT_ERROR(image, "dataset", name, " is %s", "missing");
    if (found->stored.kind != (nvdp__h5_is_integer(type) ? NVDP__H5_INTEGER : NVDP__H5_REAL)) {
        type_text(&found->stored, text);
        return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": expected %s, found %s",
                                    nvdp__h5_is_integer(type) ? "integers" : "floats", text);
    }
    if (found->space.none || found->space.rank < 1 || found->space.rank > NVDP__H5_RANK)
        return NVDP__H5_INPUT_ERROR(image, "dataset", name,
                                    ": expected 1 to %d dimensions, found %d", NVDP__H5_RANK,
                                    found->space.rank);
    NVDP_TRY(nvdp__h5_image_readable(image, found));
    *out = found;
    return NVDP_OK;
}

nvdp_status nvdp__h5_shape(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, size_t *shape) {
    struct nvdp__h5_image *image = NULL;
    struct nvdp__h5_object *found = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    NVDP_TRY(find(image, name, type, &found));
    if (found->space.rank != rank)
        return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": expected %d dimension%s, found %d",
                                    rank, rank == 1 ? "" : "s", found->space.rank);
    for (int d = 0; d < rank; d++) {
        shape[d] = (size_t)found->space.shape[d];
    }
    return NVDP_OK;
}

/* The bits of a stored number. */
static uint64_t bits_at(const struct nvdp__h5_stored *type, const unsigned char *at) {
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (type->size) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return type->big_endian ? __builtin_bswap16(two) : two;
    case 4:
        memcpy(&four, at, sizeof four);
        return type->big_endian ? __builtin_bswap32(four) : four;
    default:
        memcpy(&eight, at, sizeof eight);
        return type->big_endian ? __builtin_bswap64(eight) : eight;
    }
}

static double real_at(const struct nvdp__h5_stored *type, const unsigned char *at) {
    const uint64_t bits = bits_at(type, at);
    const uint32_t low = (uint32_t)bits;
    float single;
    double real;
    if (type->size == 2) return nvdp__f16_to_float((uint16_t)bits);
    memcpy(&single, &low, sizeof single);
    memcpy(&real, &bits, sizeof real);
    return type->size == 4 ? single : real;
}

/* Reads an integer; false if int64_t cannot hold it. */
static bool integer_at(const struct nvdp__h5_stored *type, const unsigned char *at, int64_t *out) {
    const int unused = 64 - 8 * (int)type->size;
    const uint64_t bits = bits_at(type, at);
    *out = type->is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return type->is_signed || bits <= INT64_MAX;
}

/* Converts raw values to the memory type. */
static nvdp_status convert(struct nvdp__h5_image *image, const struct nvdp__h5_object *from,
                           enum nvdp__h5_type type, size_t items, const unsigned char *raw,
                           void *data) {
    const struct nvdp__h5_stored *stored = &from->stored;
    const size_t size = stored->size;
    if (nvdp__h5_is_integer(type)) {
        const bool wide = type == NVDP__H5_I64;
        for (size_t i = 0; i < items; i++) {
            int64_t value;
            if (!integer_at(stored, raw + i * size, &value) ||
                (!wide && (value < INT32_MIN || value > INT32_MAX)))
                return NVDP__H5_INPUT_ERROR(
                    image, "dataset", from->name,
                    ": expected signed integers of at most %d bits, found a larger one",
                    wide ? 64 : 32);
            if (wide)
                ((int64_t *)data)[i] = value;
            else
                ((int32_t *)data)[i] = (int32_t)value;
        }
        return NVDP_OK;
    }
    for (size_t i = 0; i < items; i++) {
        const double value = real_at(stored, raw + i * size);
        if (type == NVDP__H5_F64)
            ((double *)data)[i] = value;
        else
            ((float *)data)[i] = (float)value;
    }
    return NVDP_OK;
}

static size_t memory_size(enum nvdp__h5_type type) {
    return type == NVDP__H5_F64 || type == NVDP__H5_I64 ? 8 : 4;
}

/* True if stored values have the layout of the memory type. */
static bool is_memory(const struct nvdp__h5_stored *stored, enum nvdp__h5_type type) {
    return stored->size == memory_size(type) && !stored->big_endian &&
           (stored->kind == NVDP__H5_REAL || stored->is_signed);
}

/* Computes the number of values in `rows` rows and their bytes; false on overflow. */
static bool row_size(const struct nvdp__h5_object *object, size_t rows, size_t *items,
                     size_t *bytes) {
    *items = rows;
    for (int d = 1; d < object->space.rank; d++) {
        if (!nvdp__mul(*items, (size_t)object->space.shape[d], items)) return false;
    }
    return nvdp__mul(*items, sizeof(double), bytes) && /* upper bound in memory */
           nvdp__mul(*items, object->stored.size, bytes);
}

nvdp_status nvdp__h5_read_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                               size_t first, size_t rows, void *data) {
    struct nvdp__h5_image *image = NULL;
    struct nvdp__h5_object *from = NULL;
    nvdp__autofree unsigned char *raw = NULL;
    size_t items, bytes;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    NVDP_TRY(find(image, name, type, &from));
    const uint64_t there = from->space.shape[0];
    if (first > there || rows > there - first)
        NVDP_TRY(nvdp__h5_outside(image->ctx, image->path, name, there, first, rows));
    if (!row_size(from, rows, &items, &bytes))
        NVDP_TRY(NVDP__H5_INPUT_ERROR(image, "dataset", name, ": its size %s", "overflows"));
    if (is_memory(&from->stored, type)) {
        return nvdp__h5_image_rows(image, from, first, rows, data);
    }
    raw = nvdp__calloc(image->ctx, bytes, 1);
    if (raw == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__h5_image_rows(image, from, first, rows, raw));
    return convert(image, from, type, items, raw, data);
}

nvdp_status nvdp__h5_read_column(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                                 size_t rows, void *column) {
    struct nvdp__h5_image *image = NULL;
    size_t there = 0;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    NVDP_TRY(nvdp__h5_shape(file, name, type, 1, &there));
    if (there != rows)
        return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": expected %zu rows, found %zu", rows,
                                    there);
    void *values = nvdp__calloc(image->ctx, rows, memory_size(type));
    if (values == NULL) return NVDP_ERR_MEMORY;
    memcpy(column, &values, sizeof values);
    return nvdp__h5_read_rows(file, name, type, 0, rows, values);
}

nvdp_status nvdp__h5_list(struct nvdp__h5 *file,
                          void (*visit)(const char *name, int rank, const size_t *shape,
                                        const char *type, void *user),
                          void *user) {
    struct nvdp__h5_image *image = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    for (size_t i = 0; i < image->objects; i++) {
        const struct nvdp__h5_object *object = &image->object[i];
        size_t shape[NVDP__H5_MAX_RANK] = {0};
        char text[16];
        for (int d = 0; d < object->space.rank; d++) {
            shape[d] = (size_t)object->space.shape[d];
        }
        type_text(&object->stored, text);
        visit(object->name, object->space.rank, shape, text, user);
    }
    return NVDP_OK;
}

/* --- attributes of the root group --- */

bool nvdp__h5_has_attribute(struct nvdp__h5 *file, const char *name) {
    struct nvdp__h5_image *image = NULL;
    return nvdp__h5_contents(file, &image) == NVDP_OK &&
           nvdp__h5_image_attribute(image, name) != NULL;
}

bool nvdp__h5_is_number(struct nvdp__h5 *file, const char *name) {
    struct nvdp__h5_image *image = NULL;
    if (nvdp__h5_contents(file, &image) != NVDP_OK) return false;
    const struct nvdp__h5_attribute *attribute = nvdp__h5_image_attribute(image, name);
    return attribute != NULL &&
           (attribute->stored.kind == NVDP__H5_REAL || attribute->stored.kind == NVDP__H5_INTEGER);
}

static bool is_text(const struct nvdp__h5_attribute *attribute) {
    return attribute->stored.kind == NVDP__H5_TEXT || attribute->stored.kind == NVDP__H5_HEAPTEXT;
}

bool nvdp__h5_is_text(struct nvdp__h5 *file, const char *name) {
    struct nvdp__h5_image *image = NULL;
    if (nvdp__h5_contents(file, &image) != NVDP_OK) return false;
    const struct nvdp__h5_attribute *attribute = nvdp__h5_image_attribute(image, name);
    return attribute != NULL && is_text(attribute);
}

/* Finds an attribute, which must have one value. */
static nvdp_status find_attribute(struct nvdp__h5_image *image, const char *name,
                                  const struct nvdp__h5_attribute **out) {
    const struct nvdp__h5_attribute *found = nvdp__h5_image_attribute(image, name);
    if (found == NULL) return NVDP__H5_INPUT_ERROR(image, "attribute", name, " is %s", "missing");
    if (found->count != 1)
        return NVDP__H5_INPUT_ERROR(image, "attribute", name,
                                    ": expected one value, found %" PRIu64, found->count);
    *out = found;
    return NVDP_OK;
}

static nvdp_status wrong_class(struct nvdp__h5_image *image, const struct nvdp__h5_attribute *found,
                               const char *expected) {
    char text[16];
    type_text(&found->stored, text);
    return NVDP__H5_INPUT_ERROR(image, "attribute", found->name, ": expected %s, found %s",
                                expected, text);
}

static nvdp_status read_int(struct nvdp__h5_image *image,
                            const struct nvdp__h5_attribute *attribute, int64_t *value) {
    int64_t read;
    if (!integer_at(&attribute->stored, attribute->bytes, &read))
        return NVDP__H5_INPUT_ERROR(image, "attribute", attribute->name,
                                    ": expected an integer of at most %d bits, found a larger one",
                                    64);
    *value = read;
    return NVDP_OK;
}

nvdp_status nvdp__h5_get_string(struct nvdp__h5 *file, const char *name, char **value) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *attribute = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    NVDP_TRY(find_attribute(image, name, &attribute));
    return is_text(attribute) ? nvdp__h5_image_text(image, attribute, value)
                              : wrong_class(image, attribute, "a string");
}

nvdp_status nvdp__h5_get_real(struct nvdp__h5 *file, const char *name, double *value) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *attribute = NULL;
    int64_t whole;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    NVDP_TRY(find_attribute(image, name, &attribute));
    if (attribute->stored.kind == NVDP__H5_REAL) {
        *value = real_at(&attribute->stored, attribute->bytes);
    } else if (attribute->stored.kind == NVDP__H5_INTEGER) {
        *value = integer_at(&attribute->stored, attribute->bytes, &whole)
                     ? (double)whole
                     : (double)bits_at(&attribute->stored, attribute->bytes);
    } else {
        return wrong_class(image, attribute, "a number");
    }
    return NVDP_OK;
}

nvdp_status nvdp__h5_get_int(struct nvdp__h5 *file, const char *name, int64_t *value) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *attribute = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    NVDP_TRY(find_attribute(image, name, &attribute));
    return attribute->stored.kind == NVDP__H5_INTEGER ? read_int(image, attribute, value)
                                                      : wrong_class(image, attribute, "an integer");
}

char *nvdp__h5_real_text(struct nvdp_context *ctx, double value) {
    char *printed = nvdp__format(ctx, "%.15g", value);
    if (printed == NULL || nvdp__strtod(printed, NULL) == value || isnan(value)) return printed;
    free(printed);
    return nvdp__format(ctx, "%.17g", value);
}

/* The value of an attribute as text; free() it. */
static nvdp_status print_attribute(struct nvdp__h5_image *image, const char *name, char **text) {
    const struct nvdp__h5_attribute *attribute = NULL;
    int64_t whole = 0;
    char *printed;
    NVDP_TRY(find_attribute(image, name, &attribute));
    if (is_text(attribute)) return nvdp__h5_image_text(image, attribute, text);
    if (attribute->stored.kind == NVDP__H5_INTEGER) {
        NVDP_TRY(read_int(image, attribute, &whole));
        printed = nvdp__format(image->ctx, "%lld", (long long)whole);
    } else if (attribute->stored.kind == NVDP__H5_REAL) {
        printed = nvdp__h5_real_text(image->ctx, real_at(&attribute->stored, attribute->bytes));
    } else {
        printed = nvdp__strdup(image->ctx, "(of another type)");
    }
    if (printed == NULL) return NVDP_ERR_MEMORY;
    *text = printed;
    return NVDP_OK;
}

nvdp_status nvdp__h5_list_attributes(struct nvdp__h5 *file,
                                     void (*visit)(const char *name, const char *value, void *user),
                                     void *user) {
    struct nvdp__h5_image *image = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    for (size_t i = 0; i < image->attributes; i++) {
        const char *name = image->attribute[i].name;
        char *text = NULL;
        nvdp_status status = print_attribute(image, name, &text);
        if (status != NVDP_OK && status != NVDP_ERR_INPUT) return status;
        /* an array or a damaged value; the other attributes are still listed */
        visit(name, status == NVDP_OK ? text : "(not a single value)", user);
        free(text);
    }
    return NVDP_OK;
}

/* --- digests of the bytes, and of the contents regardless of layout --- */

nvdp_status nvdp__h5_file_digest(struct nvdp__h5 *file, const char *except,
                                 unsigned char digest[NVDP__H5_DIGEST]) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *attribute = NULL;
    crypto_hash_sha256_state sha;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    NVDP_TRY(find_attribute(image, except, &attribute));
    if (attribute->stored.kind != NVDP__H5_TEXT)
        return wrong_class(image, attribute, "a string of fixed length");
    const size_t first = (size_t)(attribute->bytes - image->at);
    const size_t length = strnlen((const char *)attribute->bytes, attribute->stored.size);
    crypto_hash_sha256_init(&sha);
    crypto_hash_sha256_update(&sha, image->at, first);
    for (size_t i = 0; i < length; i++)
        crypto_hash_sha256_update(&sha, (const unsigned char *)"0", 1);
    crypto_hash_sha256_update(&sha, image->at + first + length, image->size - first - length);
    crypto_hash_sha256_final(&sha, digest);
    return NVDP_OK;
}

struct digest {
    struct nvdp__h5_image *image;
    crypto_hash_sha256_state sha;
};

static void feed(struct digest *to, size_t count, const void *bytes) {
    crypto_hash_sha256_update(&to->sha, bytes, count);
}

static nvdp_status feed_values(struct digest *to, struct nvdp__h5_object *object, size_t rows,
                               size_t row_bytes) {
    struct nvdp__h5_image *image = to->image;
    size_t step = row_bytes > 0 && row_bytes < SLICE_BYTES ? SLICE_BYTES / row_bytes : 1;
    nvdp__autofree unsigned char *bytes = nvdp__calloc(image->ctx, step, row_bytes);
    if (bytes == NULL) return NVDP_ERR_MEMORY;
    for (size_t first = 0; first < rows && row_bytes > 0; first += step) {
        size_t n = nvdp__min(rows - first, step);
        NVDP_TRY(nvdp__h5_image_rows(image, object, first, n, bytes));
        feed(to, n * row_bytes, bytes);
    }
    return NVDP_OK;
}

static nvdp_status feed_dataset(struct digest *to, struct nvdp__h5_object *object) {
    const struct nvdp__h5_stored *stored = &object->stored;
    const char *name = object->name;
    char text[16];
    size_t row_bytes = stored->size;
    type_text(stored, text);
    if ((stored->kind != NVDP__H5_REAL && stored->kind != NVDP__H5_INTEGER) || stored->size == 1)
        return NVDP__H5_INPUT_ERROR(to->image, "dataset", name,
                                    ": expected f16 to f64 or i16 to i64, found %s", text);
    if (!stored->plain)
        return NVDP__H5_INPUT_ERROR(
            to->image, "dataset", name,
            ": expected standard %s values, found a nonstandard representation", text);
    if (object->attributes > 0)
        return NVDP__H5_INPUT_ERROR(to->image, "dataset", name,
                                    ": expected no attributes, found %s", "some");
    if (object->space.none || object->space.rank < 1 || object->space.rank > NVDP__H5_RANK)
        return NVDP__H5_INPUT_ERROR(to->image, "dataset", name,
                                    ": expected 1 to %d dimensions, found %d", NVDP__H5_RANK,
                                    object->space.rank);
    NVDP_TRY(nvdp__h5_image_readable(to->image, object));
    feed(to, 1, "D");
    nvdp__sha256_text(&to->sha, name);
    nvdp__sha256_text(&to->sha, text);
    nvdp__sha256_number(&to->sha, (uint64_t)object->space.rank);
    for (int d = 0; d < object->space.rank; d++) {
        nvdp__sha256_number(&to->sha, object->space.shape[d]);
        if (d > 0 && !nvdp__mul(row_bytes, (size_t)object->space.shape[d], &row_bytes))
            return NVDP__H5_INPUT_ERROR(to->image, "dataset", name, ": its size %s", "overflows");
    }
    return feed_values(to, object, (size_t)object->space.shape[0], row_bytes);
}

/* Feeds an attribute, which must be stored as our writer stores it, so that all readers see the
 * same value. */
static nvdp_status feed_attribute(struct digest *to, const char *name) {
    const struct nvdp__h5_attribute *attribute = NULL;
    char *text = NULL;
    NVDP_TRY(find_attribute(to->image, name, &attribute));
    if (!attribute->stored.plain ||
        (attribute->stored.kind != NVDP__H5_TEXT && attribute->stored.size != 8))
        return wrong_class(to->image, attribute, "the type that nvdp writes");
    feed(to, 1, "A");
    nvdp__sha256_text(&to->sha, name);
    if (attribute->stored.kind == NVDP__H5_TEXT) {
        NVDP_TRY(nvdp__h5_image_text(to->image, attribute, &text));
        nvdp__sha256_text(&to->sha, "text");
        nvdp__sha256_text(&to->sha, text);
        free(text);
    } else {
        nvdp__sha256_text(&to->sha, attribute->stored.kind == NVDP__H5_INTEGER ? "whole" : "real");
        nvdp__sha256_number(&to->sha, bits_at(&attribute->stored, attribute->bytes));
    }
    return NVDP_OK;
}

nvdp_status nvdp__h5_digest(struct nvdp__h5 *file, const char *except,
                            unsigned char digest[NVDP__H5_DIGEST]) {
    struct nvdp__h5_image *image = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    struct digest to = {.image = image};
    if (image->other != NULL)
        return NVDP__H5_INPUT_ERROR(image, "member", image->other,
                                    ": expected only datasets, found %s", "another object");
    crypto_hash_sha256_init(&to.sha);
    nvdp__sha256_text(&to.sha, "nvdp digest/1");
    for (size_t i = 0; i < image->objects; i++) {
        NVDP_TRY(feed_dataset(&to, &image->object[i]));
    }
    for (size_t i = 0; i < image->attributes; i++) {
        if (except == NULL || strcmp(image->attribute[i].name, except) != 0)
            NVDP_TRY(feed_attribute(&to, image->attribute[i].name));
    }
    crypto_hash_sha256_final(&to.sha, digest);
    return NVDP_OK;
}
