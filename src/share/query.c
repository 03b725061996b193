/* Writes and reads the public map from a query to its mean, and the decoder of samples (query.h). */
#include "share/query.h"

#include "base/f16.h"
#include <ctype.h>
#include <math.h>
#include <nvdp/share.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 8192, /* numbers per attribute, of four digits each */
    DIGITS = 4,
    MAX_WIDTH = 1 << 16,
    NAME_SIZE = 32
};
static const char MARK[] = "f16:"; /* no attribute is read as a number */

static void write_chunk(size_t n, const float *from, char *to) {
    static const char digit[] = "0123456789abcdef";
    memcpy(to, MARK, sizeof MARK - 1);
    to += sizeof MARK - 1;
    for (size_t i = 0; i < n; i++) {
        const uint16_t bits = nvdp__f16_from_float(from[i]);
        for (int k = 0; k < DIGITS; k++)
            *to++ = digit[bits >> (12 - 4 * k) & 15];
    }
    *to = '\0';
}

static nvdp_status write_array(struct nvdp__attributes *list, const char *prefix, size_t n,
                               const float *from) {
    nvdp__autofree char *text = NULL;
    char name[NAME_SIZE];
    if (from == NULL) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(list->ctx, text, sizeof MARK + DIGITS * CHUNK));
    for (size_t i = 0; i < n; i += CHUNK) {
        nvdp__snprintf(name, sizeof name, "%s_%zu", prefix, i / CHUNK);
        write_chunk(nvdp__min(n - i, CHUNK), from + i, text);
        NVDP_TRY(nvdp__attributes_set_text(list, name, text));
    }
    return NVDP_OK;
}

nvdp_status nvdp__query_attributes(struct nvdp__attributes *list,
                                   const struct nvdp__query_map *query) {
    NVDP_TRY(write_array(list, "center", query->width, query->center));
    NVDP_TRY(write_array(list, "map", query->width * query->dim, query->map));
    return write_array(list, "decoder", query->width * query->dim, query->decoder);
}

static size_t chunks(const float *array, size_t n) {
    return array != NULL ? (n + CHUNK - 1) / CHUNK : 0;
}

size_t nvdp__query_attribute_count(const struct nvdp__query_map *query) {
    if (query == NULL) return 0;
    return chunks(query->center, query->width) + chunks(query->map, query->width * query->dim) +
           chunks(query->decoder, query->width * query->dim);
}

bool nvdp__query_attribute(const char *name) {
    const char *digits = strncmp(name, "center_", 7) == 0    ? name + 7
                         : strncmp(name, "map_", 4) == 0     ? name + 4
                         : strncmp(name, "decoder_", 8) == 0 ? name + 8
                                                             : "";
    const size_t length = strlen(digits);
    return length > 0 && length <= 5 && strspn(digits, "0123456789") == length &&
           (digits[0] != '0' || length == 1);
}

static int value_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Finds an attribute of an array, which must have `count` numbers. */
static nvdp_status find_chunk(const struct nvdp__release *release, const char *prefix, size_t chunk,
                              size_t count, const char **digits) {
    char name[NAME_SIZE];
    const char *text = NULL;
    const size_t mark = sizeof MARK - 1;
    nvdp__snprintf(name, sizeof name, "%s_%zu", prefix, chunk);
    NVDP_TRY(nvdp__release_text(release, name, &text));
    *digits = text + mark;
    if (strncmp(text, MARK, mark) == 0 && strlen(text) == mark + DIGITS * count) return NVDP_OK;
    return NVDP__BAD_FILE(
        release,
        "attribute '%s': expected %s and %zu numbers in float16, four hexadecimal "
        "digits each, found other text",
        name, MARK, count);
}

/* Reads n numbers. Looks for all attributes first, so that memory is bounded by the file's size. */
static nvdp_status read_array(const struct nvdp__release *release, const char *prefix, size_t n,
                              float **out) {
    const char *digits = NULL;
    for (size_t i = 0; i < n; i += CHUNK)
        NVDP_TRY(find_chunk(release, prefix, i / CHUNK, nvdp__min(n - i, CHUNK), &digits));
    NVDP_TRY(NVDP__NEW(release->ctx, *out, n));
    for (size_t i = 0; i < n; i++) {
        int bits = 0;
        bool good = true;
        if (i % CHUNK == 0)
            NVDP_TRY(find_chunk(release, prefix, i / CHUNK, nvdp__min(n - i, CHUNK), &digits));
        for (size_t j = 0; j < DIGITS; j++) {
            const int digit = value_of(digits[DIGITS * (i % CHUNK) + j]);
            good &= digit >= 0;
            bits = bits << 4 | (digit & 15);
        }
        (*out)[i] = nvdp__f16_to_float((uint16_t)bits);
        if (!good || !isfinite((*out)[i]))
            return NVDP__BAD_FILE(release,
                                  "attribute '%s_%zu': expected finite numbers in float16, four "
                                  "hexadecimal digits each, found '%.4s'",
                                  prefix, i / CHUNK, digits + DIGITS * (i % CHUNK));
    }
    return NVDP_OK;
}

static nvdp_status read_count(const struct nvdp__release *release, const char *name, int64_t low,
                              size_t *out) {
    int64_t value = 0;
    NVDP_TRY(nvdp__release_whole(release, name, &value));
    if (value < low || value > MAX_WIDTH)
        return NVDP__BAD_FILE(release,
                              "attribute '%s': expected a number from %lld to %d, found %lld", name,
                              (long long)low, MAX_WIDTH, (long long)value);
    *out = (size_t)value;
    return NVDP_OK;
}

static nvdp_status read_word(const struct nvdp__release *release, const char *name, size_t size,
                             char *out) {
    const char *text = NULL;
    NVDP_TRY(nvdp__release_text(release, name, &text));
    nvdp__snprintf(out, size, "%s", text);
    return NVDP_OK;
}

nvdp_status nvdp__query_read(const struct nvdp__release *release, size_t dim,
                             struct nvdp__query_map **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__query_map *made = NULL;
    *out = NULL;
    if (nvdp__attributes_get(&release->attributes, "encoder") == NULL) return NVDP_OK;
    NVDP_TRY_OR_CLEAN(NVDP__NEW(release->ctx, made, 1));
    made->dim = dim;
    NVDP_TRY_OR_CLEAN(read_word(release, "encoder", sizeof made->encoder, made->encoder));
    NVDP_TRY_OR_CLEAN(read_word(release, "encoder_sha256", sizeof made->sha256, made->sha256));
    NVDP_TRY_OR_CLEAN(read_word(release, "encoder_pool", sizeof made->pool, made->pool));
    NVDP_TRY_OR_CLEAN(read_count(release, "encoder_max_length", 3, &made->max_length));
    NVDP_TRY_OR_CLEAN(read_count(release, "encoder_empty", 0, &made->empty));
    NVDP_TRY_OR_CLEAN(read_count(release, "encoder_width", 1, &made->width));
    if (strcmp(made->pool, "mean") != 0 && strcmp(made->pool, "cls") != 0)
        NVDP_TRY_OR_CLEAN(NVDP__BAD_FILE(
            release, "attribute 'encoder_pool': expected mean or cls, found '%.7s'", made->pool));
    if (dim > made->width)
        NVDP_TRY_OR_CLEAN(
            NVDP__BAD_FILE(release,
                           "attribute 'encoder_width': expected at least %zu, the width of the "
                           "vectors, found %zu",
                           dim, made->width));
    made->independent =
        strcmp(nvdp__attributes_text(&release->attributes, "public_texts"), "declared") == 0;
    NVDP_TRY_OR_CLEAN(read_array(release, "center", made->width, &made->center));
    if (dim < made->width)
        NVDP_TRY_OR_CLEAN(read_array(release, "map", made->width * dim, &made->map));
    if (nvdp__attributes_get(&release->attributes, "decoder_0") != NULL)
        NVDP_TRY_OR_CLEAN(read_array(release, "decoder", made->width * dim, &made->decoder));
    NVDP__HAND_OVER(out, made);
cleanup:
    if (made != NULL) nvdp__query_map_release(made);
    free(made);
    return status;
}
