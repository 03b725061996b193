/* One option: parses its value from text and JSON, and formats it as both.  Read option.h first. */
#include "options/option.h"

#include "base/json.h"
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- text --- */

bool nvdp__option_is_text(const struct nvdp_option *row) {
    return row->type == NVDP_OPTION_TEXT || row->type == NVDP_OPTION_LIST;
}

static bool is_number(const struct nvdp_option *row) {
    return row->type == NVDP_OPTION_INTEGER || row->type == NVDP_OPTION_SEED ||
           row->type == NVDP_OPTION_REAL;
}

bool nvdp__option_same(const char *name, const char *given) {
    for (; *name != '\0' && *given != '\0'; name++, given++) {
        if (*name != (*given == '_' ? '-' : *given)) return false;
    }
    return *name == *given;
}

void nvdp__option_key(const struct nvdp_option *row, char key[NVDP__KEY_SIZE]) {
    nvdp__snprintf(key, NVDP__KEY_SIZE, "%s", row->key != NULL ? row->key : row->name);
    for (char *c = key; row->key == NULL && *c != '\0'; c++) {
        if (*c == '-') *c = '_';
    }
}

size_t nvdp__option_width(const struct nvdp_option *row) {
    static const size_t width[] = {
        [NVDP_OPTION_FLAG] = sizeof(bool),         [NVDP_OPTION_INTEGER] = sizeof(size_t),
        [NVDP_OPTION_SEED] = sizeof(uint64_t),     [NVDP_OPTION_REAL] = sizeof(double),
        [NVDP_OPTION_TEXT] = sizeof(const char *), [NVDP_OPTION_LIST] = sizeof(const char *),
        [NVDP_OPTION_CHOICE] = sizeof(int)};
    return row->width != 0 ? row->width : width[row->type];
}

static bool read_whole(const char *text, uint64_t limit, uint64_t *value) {
    if (*text < '0' || *text > '9') return false; /* strtoull would accept signs and spaces */
    char *end;
    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || read > limit) return false;
    *value = read;
    return true;
}

bool nvdp__option_parse(const struct nvdp_option *row, const char *text, union nvdp__value *value) {
    char *end;
    uint64_t whole = 0;
    switch (row->type) {
    case NVDP_OPTION_FLAG:
        value->flag = strcmp(text, "true") == 0;
        return value->flag || strcmp(text, "false") == 0;
    case NVDP_OPTION_INTEGER:
        if (!read_whole(text, row->width == sizeof(int) ? INT32_MAX : SIZE_MAX, &whole))
            return false;
        if (row->width == sizeof(int)) value->whole = (int)whole;
        if (row->width != sizeof(int)) value->size = (size_t)whole;
        return true;
    case NVDP_OPTION_SEED:
        return read_whole(text, UINT64_MAX, &value->seed);
    case NVDP_OPTION_REAL:
        value->real = nvdp__strtod(text, &end);
        return end != text && *end == '\0' && !isnan(value->real);
    case NVDP_OPTION_CHOICE:
        value->whole = 0;
        while (row->choices[value->whole] != NULL && strcmp(row->choices[value->whole], text) != 0)
            value->whole++;
        return row->choices[value->whole] != NULL;
    default:
        value->text = text;
        return true;
    }
}

const char *nvdp__option_expected(const struct nvdp_option *row, const char *separator,
                                  char text[NVDP__EXPECTED_SIZE]) {
    static const char *const expected[] = {[NVDP_OPTION_FLAG] = "true or false",
                                           [NVDP_OPTION_INTEGER] = "a whole number of at least 0",
                                           [NVDP_OPTION_SEED] = "a whole number from 0 to 2^64-1",
                                           [NVDP_OPTION_REAL] = "a number",
                                           [NVDP_OPTION_TEXT] = "a string",
                                           [NVDP_OPTION_LIST] = "a string",
                                           [NVDP_OPTION_CHOICE] = "one of"};
    size_t used = (size_t)nvdp__snprintf(text, NVDP__EXPECTED_SIZE, "%s", expected[row->type]);
    for (int i = 0; row->type == NVDP_OPTION_CHOICE && row->choices[i] != NULL; i++) {
        nvdp__snprintf(text + used, NVDP__EXPECTED_SIZE - used, "%s%s", i > 0 ? separator : " ",
                       row->choices[i]);
        used = strlen(text);
    }
    return text;
}

static double number_of(const struct nvdp_option *row, const union nvdp__value *value) {
    if (row->type == NVDP_OPTION_REAL) return value->real;
    if (row->type == NVDP_OPTION_SEED) return (double)value->seed;
    return row->width == sizeof(int) ? value->whole : (double)value->size;
}

nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *prefix,
                               const struct nvdp_option *row, const union nvdp__value *value) {
    if (!is_number(row) || (row->min == 0 && row->max == 0)) return NVDP_OK;
    double number = number_of(row, value);
    if (number >= row->min && number <= row->max) return NVDP_OK;
    if ((row->traits & NVDP_TRAIT_NEGATIVE) != 0 && number < 0) return NVDP_OK;
    struct nvdp__naming name = nvdp__as_option(ctx, row->name); /* as typed, or a key of a file */
    if (prefix != NULL) nvdp__option_key(row, name.text);
    char expected[NVDP__EXPECTED_SIZE];
    if (row->max < DBL_MAX)
        nvdp__snprintf(expected, sizeof expected, "%g to %g", row->min, row->max);
    else if (number < row->min)
        nvdp__snprintf(expected, sizeof expected, "at least %g", row->min);
    else
        nvdp__snprintf(expected, sizeof expected, "a finite number");
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s%s%s: expected %s, found %g",
                      prefix != NULL ? prefix : "", prefix != NULL ? ": " : "", name.text, expected,
                      number);
}

const char *nvdp__option_format(const struct nvdp_option *row, const union nvdp__value *value,
                                char text[NVDP__NUMBER_SIZE]) {
    switch (row->type) {
    case NVDP_OPTION_FLAG:
        return value->flag ? "true" : "false";
    case NVDP_OPTION_CHOICE:
        return row->choices[value->whole];
    case NVDP_OPTION_REAL:
        return nvdp__real_text(value->real, text);
    case NVDP_OPTION_TEXT:
    case NVDP_OPTION_LIST:
        return value->text;
    case NVDP_OPTION_INTEGER:
        if (row->width == sizeof(int)) {
            nvdp__snprintf(text, NVDP__NUMBER_SIZE, "%d", value->whole);
            return text;
        }
        nvdp__snprintf(text, NVDP__NUMBER_SIZE, "%zu", value->size);
        return text;
    default:
        nvdp__snprintf(text, NVDP__NUMBER_SIZE, "%llu", (unsigned long long)value->seed);
        return text;
    }
}

union nvdp__value nvdp__option_default(const struct nvdp_option *row) {
    union nvdp__value value;
    memset(&value, 0, sizeof value);
    if (row->default_value != NULL) (void)nvdp__option_parse(row, row->default_value, &value);
    return value;
}

union nvdp__value nvdp__option_at(const struct nvdp_option *row, const void *at) {
    union nvdp__value value;
    memset(&value, 0, sizeof value);
    memcpy(&value, at, nvdp__option_width(row));
    return value;
}

/* --- JSON --- */

const char *nvdp__json_type(const json_t *value) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "a boolean",
        [JSON_FALSE] = "a boolean",  [JSON_NULL] = "null"};
    return names[json_typeof(value)];
}

char *nvdp__option_text(const json_t *value, bool list) {
    if (!list && json_is_string(value)) return strdup(json_string_value(value));
    if (!list && !json_is_array(value))
        return json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(NVDP__REAL_DIGITS));
    char *all = NULL;
    size_t size = 0, items = json_is_array(value) ? json_array_size(value) : 1;
    FILE *joined = open_memstream(&all, &size);
    if (joined == NULL) return NULL;
    for (size_t i = 0; i < items; i++) {
        char *text =
            nvdp__option_text(json_is_array(value) ? json_array_get(value, i) : value, false);
        if (i > 0) fputc(',', joined);
        for (const char *at = text; at != NULL && *at != '\0'; at++)
            nvdp__fprintf(joined, *at == ',' ? "\\%c" : "%c", *at);
        free(text);
    }
    if (fclose(joined) == 0) return all;
    free(all);
    return NULL;
}

nvdp_status nvdp__option_check_json(struct nvdp_context *ctx, nvdp_status status, const char *path,
                                    const char *key, const struct nvdp_option *row,
                                    const json_t *value) {
    bool list = row->type == NVDP_OPTION_LIST && json_is_array(value);
    if (row->type == NVDP_OPTION_FLAG ? json_is_boolean(value)
                                      : list || json_is_string(value) || json_is_number(value))
        return NVDP_OK;
    return nvdp__fail(ctx, status, "%s: key '%s': expected %s, found %s", path, key,
                      row->type == NVDP_OPTION_FLAG ? "true or false" : "a string or a number",
                      nvdp__json_type(value));
}

json_t *nvdp__option_json(const struct nvdp_option *row, const union nvdp__value *value) {
    switch (row->type) {
    case NVDP_OPTION_FLAG:
        return json_boolean(value->flag);
    case NVDP_OPTION_INTEGER:
        return json_integer(row->width == sizeof(int) ? value->whole : (json_int_t)value->size);
    case NVDP_OPTION_SEED: /* JSON's integers are signed: keeps the 64 bits */
        return json_integer((json_int_t)value->seed);
    case NVDP_OPTION_REAL:
        return nvdp__json_number(value->real);
    case NVDP_OPTION_CHOICE:
        return json_string(row->choices[value->whole]);
    default:
        return value->text == NULL ? json_null() : json_string(value->text);
    }
}

nvdp_status nvdp__option_read(struct nvdp_context *ctx, const char *path, const json_t *member,
                              const struct nvdp__place *place, void *to) {
    const struct nvdp_option *row = place->row;
    union nvdp__value value;
    char expected[NVDP__EXPECTED_SIZE];
    NVDP_TRY(nvdp__option_check_json(ctx, NVDP_ERR_INPUT, path, place->key, row, member));
    if (nvdp__option_is_text(row) && json_is_string(member)) {
        value.text = json_string_value(member);
    } else if (row->type == NVDP_OPTION_SEED && json_is_integer(member)) {
        value.seed = (uint64_t)json_integer_value(member);
    } else {
        char *text = nvdp__option_text(member, false);
        if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
        nvdp_status status = NVDP_OK;
        if (nvdp__option_is_text(row) || !nvdp__option_parse(row, text, &value))
            status = nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s, found '%s'", path,
                                place->key, nvdp__option_expected(row, ", ", expected), text);
        free(text);
        NVDP_TRY(status);
    }
    if (nvdp__option_check(ctx, path, row, &value) != NVDP_OK) return NVDP_ERR_INPUT;
    memcpy(to, &value, row->width);
    return NVDP_OK;
}
