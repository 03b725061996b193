/* Values and attributes of an HDF5 file that read.c parsed, converted to the types in memory, and the digests of the
 * file. */
#include "hdf5/hdf5.h"

#include "base/cache.h"
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
    const int bits = type->size <= 8 ? (int)type->size * 8 : 0; /* meaningful only for numbers */
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

/* Fails if the values have an unsupported rank or cannot be read. */
static nvdp_status check_values(struct nvdp__h5_image *image,
                                const struct nvdp__h5_object *object) {
    if (object->space.none || object->space.rank < 1 || object->space.rank > NVDP__H5_RANK)
        return NVDP__H5_INPUT_ERROR(image, "dataset", object->name,
                                    ": expected 1 to %d dimensions, found %d", NVDP__H5_RANK,
                                    object->space.rank);
    return nvdp__h5_image_readable(image, object);
}

/* Finds a dataset of numbers of this class in the current contents of the file. */
static nvdp_status find(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                        struct nvdp__h5_image **contents, struct nvdp__h5_object **out) {
    char text[16];
    NVDP_TRY(nvdp__h5_contents(file, contents));
    struct nvdp__h5_image *image = *contents;
    *out = nvdp__h5_image_find(image, name);
    if (*out == NULL) return NVDP__H5_INPUT_ERROR(image, "dataset", name, " is %s", "missing");
    if ((*out)->stored.kind != (nvdp__h5_is_integer(type) ? NVDP__H5_INTEGER : NVDP__H5_REAL)) {
        type_text(&(*out)->stored, text);
        return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": expected %s, found %s",
                                    nvdp__h5_is_integer(type) ? "integers" : "floats", text);
    }
    return check_values(image, *out);
}

nvdp_status nvdp__h5_shape(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                           int rank, size_t *shape) {
    struct nvdp__h5_image *image = NULL;
    struct nvdp__h5_object *found = NULL;
    NVDP_TRY(find(file, name, type, &image, &found));
    if (found->space.rank != rank)
        return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": expected %d dimension%s, found %d",
                                    rank, rank == 1 ? "" : "s", found->space.rank);
    for (int d = 0; d < rank; d++) {
        shape[d] = (size_t)found->space.shape[d];
    }
    return NVDP_OK;
}

/* Returns the bits of a stored number. */
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

/* Reads an integer; returns false if int64_t cannot hold it. */
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

nvdp_status nvdp__h5_read_rows(struct nvdp__h5 *file, const char *name, enum nvdp__h5_type type,
                               size_t first, size_t rows, void *data) {
    struct nvdp__h5_image *image = NULL;
    struct nvdp__h5_object *from = NULL;
    nvdp__autofree unsigned char *raw = NULL;
    size_t items = rows, bytes = 0;
    NVDP_TRY(find(file, name, type, &image, &from));
    const struct nvdp__h5_stored *stored = &from->stored;
    const uint64_t there = from->space.shape[0];
    if (first > there || rows > there - first)
        return nvdp__h5_outside(image->ctx, image->path, name, there, first, rows);
    bool fits =
        /* the number of values fits size_t, and so do their bytes in the file and in memory */
        true;
    for (int d = 1; d < from->space.rank; d++)
        fits = fits && nvdp__mul(items, (size_t)from->space.shape[d], &items);
    if (!fits || !nvdp__mul(items, sizeof(double), &bytes) ||
        !nvdp__mul(items, stored->size, &bytes))
        return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": its size %s", "overflows");
    /* true if values are stored in the layout of the type in memory */
    if (stored->size == nvdp__h5_memory_size(type) && !stored->big_endian &&
        (stored->kind == NVDP__H5_REAL || stored->is_signed))
        return nvdp__h5_image_rows(image, from, first, rows, data);
    NVDP_TRY(NVDP__NEW(image->ctx, raw, bytes));
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
    void *values = nvdp__calloc(image->ctx, rows, nvdp__h5_memory_size(type));
    NVDP_TRY(NVDP__MADE(values));
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

static nvdp_status check_single(struct nvdp__h5_image *image,
                                const struct nvdp__h5_attribute *attribute) {
    return attribute->count == 1
               ? NVDP_OK
               : NVDP__H5_INPUT_ERROR(image, "attribute", attribute->name,
                                      ": expected one value, found %" PRIu64, attribute->count);
}

static nvdp_status wrong_class(struct nvdp__h5_image *image, const struct nvdp__h5_attribute *found,
                               const char *expected) {
    char text[16];
    type_text(&found->stored, text);
    return NVDP__H5_INPUT_ERROR(image, "attribute", found->name, ": expected %s, found %s",
                                expected, text);
}

/* Finds an attribute in the current contents of the file. The attribute must have one value of a kind in the mask
 * `kinds`. */
static nvdp_status find_attribute(struct nvdp__h5 *file, const char *name, unsigned kinds,
                                  const char *expected, struct nvdp__h5_image **image,
                                  const struct nvdp__h5_attribute **out) {
    NVDP_TRY(nvdp__h5_contents(file, image));
    *out = nvdp__h5_image_attribute(*image, name);
    if (*out == NULL) return NVDP__H5_INPUT_ERROR(*image, "attribute", name, " is %s", "missing");
    NVDP_TRY(check_single(*image, *out));
    return (kinds & 1U << (*out)->stored.kind) != 0 ? NVDP_OK : wrong_class(*image, *out, expected);
}

nvdp_status nvdp__h5_get_string(struct nvdp__h5 *file, const char *name, char **value) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *found = NULL;
    NVDP_TRY(find_attribute(file, name, 1U << NVDP__H5_TEXT | 1U << NVDP__H5_HEAPTEXT, "a string",
                            &image, &found));
    return nvdp__h5_image_text(image, found, value);
}

/* Returns a number that is stored as a real number or as an integer. */
static double number_at(const struct nvdp__h5_attribute *attribute) {
    const struct nvdp__h5_stored *stored = &attribute->stored;
    int64_t whole;
    if (stored->kind == NVDP__H5_REAL) return real_at(stored, attribute->bytes);
    return integer_at(stored, attribute->bytes, &whole) ? (double)whole
                                                        : (double)bits_at(stored, attribute->bytes);
}

nvdp_status nvdp__h5_get_real(struct nvdp__h5 *file, const char *name, double *value) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *found = NULL;
    NVDP_TRY(find_attribute(file, name, 1U << NVDP__H5_REAL | 1U << NVDP__H5_INTEGER, "a number",
                            &image, &found));
    *value = number_at(found);
    return NVDP_OK;
}

nvdp_status nvdp__h5_get_int(struct nvdp__h5 *file, const char *name, int64_t *value) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *found = NULL;
    int64_t read;
    NVDP_TRY(find_attribute(file, name, 1U << NVDP__H5_INTEGER, "an integer", &image, &found));
    if (!integer_at(&found->stored, found->bytes, &read))
        return NVDP__H5_INPUT_ERROR(image, "attribute", name,
                                    ": expected an integer of at most %d bits, found a larger one",
                                    64);
    *value = read;
    return NVDP_OK;
}

char *nvdp__h5_real_text(struct nvdp_context *ctx, double value) {
    char *printed = nvdp__format(ctx, "%.15g", value);
    if (printed == NULL || nvdp__strtod(printed, NULL) == value || isnan(value)) return printed;
    free(printed);
    return nvdp__format(ctx, "%.17g", value);
}

/* Fills the value and its type. *text is the value as a string; NULL for an integer that int64_t cannot hold. */
static nvdp_status read_value(struct nvdp__h5_image *image,
                              const struct nvdp__h5_attribute *attribute,
                              struct nvdp__h5_value *value, char **text) {
    NVDP_TRY(check_single(image, attribute));
    if (attribute->stored.kind == NVDP__H5_TEXT || attribute->stored.kind == NVDP__H5_HEAPTEXT) {
        NVDP_TRY(nvdp__h5_image_text(image, attribute, text));
        value->type = NVDP__H5_VALUE_TEXT;
        return NVDP_OK;
    }
    if (attribute->stored.kind != NVDP__H5_REAL && attribute->stored.kind != NVDP__H5_INTEGER) {
        *text = nvdp__strdup(image->ctx, "(of another type)");
        return NVDP__MADE(*text);
    }
    value->real = number_at(attribute);
    value->type = NVDP__H5_VALUE_REAL;
    if (attribute->stored.kind == NVDP__H5_REAL) {
        *text = nvdp__h5_real_text(image->ctx, value->real);
        return NVDP__MADE(*text);
    }
    if (!integer_at(&attribute->stored, attribute->bytes, &value->whole)) return NVDP_OK;
    value->type = NVDP__H5_VALUE_WHOLE;
    *text = nvdp__format(image->ctx, "%" PRId64, value->whole);
    return NVDP__MADE(*text);
}

nvdp_status nvdp__h5_list_attributes(struct nvdp__h5 *file, nvdp__h5_visit_value *visit,
                                     void *user) {
    struct nvdp__h5_image *image = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    for (size_t i = 0; i < image->attributes; i++) {
        struct nvdp__h5_value value = {.name = image->attribute[i].name};
        nvdp__autofree char *text = NULL;
        nvdp_status status = read_value(image, &image->attribute[i], &value, &text);
        if (status != NVDP_OK && status != NVDP_ERR_INPUT) return status;
        /* an array, or a damaged value; the remaining attributes are still listed */
        value.text = text != NULL ? text : "(not a single value)";
        NVDP_TRY(visit(&value, user));
    }
    return NVDP_OK;
}

/* --- digests of the bytes, and of the contents regardless of layout --- */

nvdp_status nvdp__h5_file_digest(struct nvdp__h5 *file, const char *except,
                                 unsigned char digest[NVDP__H5_DIGEST]) {
    struct nvdp__h5_image *image = NULL;
    const struct nvdp__h5_attribute *attribute = NULL;
    crypto_hash_sha256_state sha;
    NVDP_TRY(find_attribute(file, except, 1U << NVDP__H5_TEXT, "a string of fixed length", &image,
                            &attribute));
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

/* Adds name, type, shape and values of a dataset to the digest, the values slice by slice. */
static nvdp_status feed_dataset(struct nvdp__h5_image *image, struct nvdp__h5_object *object,
                                crypto_hash_sha256_state *sha) {
    const struct nvdp__h5_stored *stored = &object->stored;
    const struct nvdp__h5_space *space = &object->space;
    const char *name = object->name;
    char text[16];
    size_t row_bytes = stored->size;
    type_text(stored, text);
    if ((stored->kind != NVDP__H5_REAL && stored->kind != NVDP__H5_INTEGER) || stored->size == 1)
        return NVDP__H5_INPUT_ERROR(image, "dataset", name,
                                    ": expected f16 to f64 or i16 to i64, found %s", text);
    if (!stored->plain)
        return NVDP__H5_INPUT_ERROR(
            image, "dataset", name,
            ": expected standard %s values, found a nonstandard representation", text);
    if (object->attributes > 0)
        return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": expected no attributes, found %s",
                                    "some");
    NVDP_TRY(check_values(image, object));
    crypto_hash_sha256_update(sha, (const unsigned char *)"D", 1);
    nvdp__sha256_text(sha, name);
    nvdp__sha256_text(sha, text);
    nvdp__sha256_number(sha, (uint64_t)space->rank);
    for (int d = 0; d < space->rank; d++) {
        nvdp__sha256_number(sha, space->shape[d]);
        if (d > 0 && !nvdp__mul(row_bytes, (size_t)space->shape[d], &row_bytes))
            return NVDP__H5_INPUT_ERROR(image, "dataset", name, ": its size %s", "overflows");
    }
    const size_t rows = (size_t)space->shape[0];
    const size_t step = row_bytes > 0 && row_bytes < SLICE_BYTES ? SLICE_BYTES / row_bytes : 1;
    nvdp__autofree unsigned char *bytes = nvdp__calloc(image->ctx, step, row_bytes);
    NVDP_TRY(NVDP__MADE(bytes));
    for (size_t first = 0; first < rows && row_bytes > 0; first += step) {
        const size_t n = nvdp__min(rows - first, step);
        NVDP_TRY(nvdp__h5_image_rows(image, object, first, n, bytes));
        crypto_hash_sha256_update(sha, bytes, n * row_bytes);
    }
    return NVDP_OK;
}

/* Adds an attribute to the digest. The attribute must be stored as this library stores it, so that all readers see
 * the same value. */
static nvdp_status feed_attribute(struct nvdp__h5_image *image,
                                  const struct nvdp__h5_attribute *attribute,
                                  crypto_hash_sha256_state *sha) {
    const struct nvdp__h5_stored *stored = &attribute->stored;
    nvdp__autofree char *text = NULL;
    NVDP_TRY(check_single(image, attribute));
    if (!stored->plain || (stored->kind != NVDP__H5_TEXT && stored->size != 8))
        return wrong_class(image, attribute, "the type that nvdp writes");
    if (stored->kind == NVDP__H5_TEXT) NVDP_TRY(nvdp__h5_image_text(image, attribute, &text));
    crypto_hash_sha256_update(sha, (const unsigned char *)"A", 1);
    nvdp__sha256_text(sha, attribute->name);
    nvdp__sha256_text(sha, text != NULL                       ? "text"
                           : stored->kind == NVDP__H5_INTEGER ? "whole"
                                                              : "real");
    if (text != NULL)
        nvdp__sha256_text(sha, text);
    else
        nvdp__sha256_number(sha, bits_at(stored, attribute->bytes));
    return NVDP_OK;
}

nvdp_status nvdp__h5_digest(struct nvdp__h5 *file, const char *except,
                            unsigned char digest[NVDP__H5_DIGEST]) {
    struct nvdp__h5_image *image = NULL;
    NVDP_TRY(nvdp__h5_contents(file, &image));
    crypto_hash_sha256_state sha;
    if (image->other != NULL)
        return NVDP__H5_INPUT_ERROR(image, "member", image->other,
                                    ": expected only datasets, found %s", "another object");
    crypto_hash_sha256_init(&sha);
    nvdp__sha256_text(&sha, "nvdp digest/1");
    for (size_t i = 0; i < image->objects; i++)
        NVDP_TRY(feed_dataset(image, &image->object[i], &sha));
    for (size_t i = 0; i < image->attributes; i++) {
        if (except == NULL || strcmp(image->attribute[i].name, except) != 0)
            NVDP_TRY(feed_attribute(image, &image->attribute[i], &sha));
    }
    crypto_hash_sha256_final(&sha, digest);
    return NVDP_OK;
}
