/* JSON files and their members (json.h), then numbers and dates. */
#include "base/json.h"

#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JSON_LIMIT = 1 << 28, QUOTE_SIZE = 64, INDENT = 2, DIGITS = 17 };
/* 2^53: below this, every integer is exact in double */
static const double EXACT = 9007199254740992;

/* Turns reals that are integers back into integers. */
static json_t *with_integers(json_t *value) {
    const char *key;
    json_t *item;
    size_t i;
    void *next;
    json_object_foreach_safe(value, next, key, item)
        json_object_set_new(value, key, with_integers(json_incref(item)));
    json_array_foreach(value, i, item)
        json_array_set_new(value, i, with_integers(json_incref(item)));
    double real = json_real_value(value);
    if (!json_is_real(value) || !(fabs(real) < EXACT) || real != trunc(real)) return value;
    json_decref(value);
    return json_integer((json_int_t)real);
}

/* Parses JSON. Reads integers beyond 64 bits as reals, because tokenizers without a limit write
 * model_max_length as 10^30. */
static json_t *parse(const char *bytes, size_t count, json_error_t *error) {
    json_t *value = json_loadb(bytes, count, JSON_REJECT_DUPLICATES, error);
    if (value != NULL || json_error_code(error) != json_error_numeric_overflow) return value;
    value = json_loadb(bytes, count, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, error);
    return value != NULL ? with_integers(value) : NULL;
}

static nvdp_status read_value(struct nvdp_context *ctx, const char *path, bool array,
                              json_t **out) {
    nvdp__autofree char *bytes = NULL;
    size_t count = 0;
    nvdp__autoptr(json_decref) json_t *value = NULL;
    json_error_t error;
    NVDP_TRY(nvdp__read_file(ctx, path, JSON_LIMIT, &bytes, &count));
    const size_t mark = nvdp__byte_order_mark(bytes, count);
    value = parse(bytes + mark, count - mark, &error);
    if (value == NULL && json_error_code(&error) == json_error_out_of_memory)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path);
    if (value == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: line %d: expected JSON, found %s", path,
                          error.line, error.text);
    if (json_is_array(value) != array)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected a JSON %s, found an %s", path,
                          array ? "array" : "object", array ? "object" : "array");
    return NVDP__HAND_OVER(out, value);
}

nvdp_status nvdp__json_read(struct nvdp_context *ctx, const char *path, json_t **out) {
    return read_value(ctx, path, false, out);
}

nvdp_status nvdp__json_read_array(struct nvdp_context *ctx, const char *path, json_t **out) {
    return read_value(ctx, path, true, out);
}

nvdp_status nvdp__json_read_optional(struct nvdp_context *ctx, const char *directory,
                                     const char *name, json_t **out) {
    const struct nvdp__path path = nvdp__path(directory, name);
    return nvdp__exists(path.text) ? nvdp__json_read(ctx, path.text, out) : NVDP_OK;
}

nvdp_status nvdp__json_text(struct nvdp_context *ctx, json_t *value, const char *what, char **out) {
    const size_t flags = JSON_INDENT(INDENT) | JSON_REAL_PRECISION(DIGITS);
    char *text = value != NULL ? json_dumps(value, flags) : NULL;
    json_decref(value);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", what);
    *out = text;
    return NVDP_OK;
}

json_t *nvdp__json_taken(char *text) {
    json_t *value = text != NULL ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return value;
}

nvdp_status nvdp__json_put(struct nvdp__output *out, const json_t *value) {
    nvdp__autofree char *text =
        json_dumps(value, JSON_INDENT(INDENT) | JSON_REAL_PRECISION(DIGITS) | JSON_ENCODE_ANY);
    if (text != NULL) return nvdp__output_printf(out, "%s\n", text);
    return nvdp__fail(out->ctx, NVDP_ERR_MEMORY,
                      "%s: cannot write JSON: out of memory, or a text that is not UTF-8",
                      out->path);
}

nvdp_status nvdp__json_write(struct nvdp_context *ctx, const char *path, const json_t *value) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output output = {0};
    NVDP_TRY(nvdp__output_open(ctx, path, &output));
    NVDP_TRY(nvdp__json_put(&output, value));
    return nvdp__output_commit(&output, true);
}

/* Fails with the value that was found, truncated to a reasonable length. */
static nvdp_status wrong(struct nvdp_context *ctx, const char *path, const char *key,
                         const json_t *found, const char *expected) {
    nvdp__autofree char *text =
        json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
    bool cut = text != NULL && strlen(text) > QUOTE_SIZE;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected %s, found %.*s%s", path, key,
                      expected, QUOTE_SIZE, text != NULL ? text : "something else",
                      cut ? "..." : "");
}

/* Returns a member. A null value counts as missing, because checkpoints write defaults this way. */
static const json_t *member(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

nvdp_status nvdp__json_int(struct nvdp_context *ctx, const char *path, const json_t *object,
                           const char *key, int64_t fallback, int64_t min, int64_t max,
                           int64_t *out) {
    const json_t *value = member(object, key);
    json_int_t whole = json_integer_value(value);
    if (value != NULL && (!json_is_integer(value) || whole < min || whole > max)) {
        char expected[96];
        nvdp__snprintf(expected, sizeof expected, "an integer from %lld to %lld", (long long)min,
                       (long long)max);
        return wrong(ctx, path, key, value, expected);
    }
    *out = value != NULL ? whole : fallback;
    return NVDP_OK;
}

nvdp_status nvdp__json_int_required(struct nvdp_context *ctx, const char *path,
                                    const json_t *object, const char *key, int64_t min, int64_t max,
                                    int64_t *out) {
    if (member(object, key) != NULL)
        return nvdp__json_int(ctx, path, object, key, min, min, max, out);
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected an integer, found none", path, key);
}

nvdp_status nvdp__json_real(struct nvdp_context *ctx, const char *path, const json_t *object,
                            const char *key, double fallback, double min, double max, double *out) {
    const json_t *value = member(object, key);
    if (value == NULL) {
        *out = fallback;
        return NVDP_OK;
    }
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    double real = json_is_number(value)       ? json_number_value(value)
                  : strcmp(text, "inf") == 0  ? INFINITY
                  : strcmp(text, "-inf") == 0 ? -INFINITY
                                              : NAN;
    if (!(real >= min && real <= max)) { /* also refuses NaN */
        char expected[96];
        nvdp__snprintf(expected, sizeof expected, "a number from %.9g to %.9g", min, max);
        return wrong(ctx, path, key, value, expected);
    }
    *out = real;
    return NVDP_OK;
}

nvdp_status nvdp__json_bool(struct nvdp_context *ctx, const char *path, const json_t *object,
                            const char *key, bool fallback, bool *out) {
    const json_t *value = member(object, key);
    if (value != NULL && !json_is_boolean(value))
        return wrong(ctx, path, key, value, "true or false");
    *out = value != NULL ? json_is_true(value) : fallback;
    return NVDP_OK;
}

nvdp_status nvdp__json_string(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const char *key, const char *fallback, const char **out) {
    const json_t *value = member(object, key);
    if (value != NULL && !json_is_string(value)) return wrong(ctx, path, key, value, "a string");
    *out = value != NULL ? json_string_value(value) : fallback;
    return NVDP_OK;
}

json_t *nvdp__json_number(double value) {
    if (isnan(value)) return json_string("nan");
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

json_t *nvdp__json_finite(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *nvdp__json_known(double value) {
    return isnan(value) ? json_null() : nvdp__json_number(value);
}

/* Writes a time in UTC, ISO 8601. */
static void write_time(time_t time, char out[32]) {
    struct tm utc = {0};
    gmtime_r(&time, &utc);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

nvdp_status nvdp__creation_date(struct nvdp_context *ctx, char out[32]) {
    static const long long last = 253402300799; /* the last second of the year 9999 */
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    write_time(time(NULL), out);
    if (epoch == NULL || *epoch == '\0') return NVDP_OK;
    char *end = NULL;
    errno = 0;
    const long long seconds = strtoll(epoch, &end, 10);
    if (*end != '\0' || errno != 0 || seconds < 0 || seconds > last)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "SOURCE_DATE_EPOCH: expected seconds since 1970, found '%s'", epoch);
    write_time((time_t)seconds, out);
    return NVDP_OK;
}

json_t *nvdp__now_json(void) {
    char text[32];
    write_time(time(NULL), text);
    return json_string(text);
}
