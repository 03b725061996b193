/* Options (schema.h). First one option, whose value is parsed from text and JSON and formatted as either; then
 * tables of options, which fill and check the plain structs, and read and write files of options. An unknown option is
 * refused in config.c. */
#include "options/schema.h"

#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ==== one option ==== */

/* --- text --- */

bool nvdp__option_is_text(const struct nvdp_option *row) {
    return row->type == NVDP_OPTION_TEXT || row->type == NVDP_OPTION_LIST;
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

static bool parse_digits(const char *text, uint64_t limit, uint64_t *value) {
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
        if (!parse_digits(text, row->width == sizeof(int) ? INT32_MAX : SIZE_MAX, &whole))
            return false;
        if (row->width == sizeof(int)) value->whole = (int)whole;
        if (row->width != sizeof(int)) value->size = (size_t)whole;
        return true;
    case NVDP_OPTION_SEED:
        return parse_digits(text, UINT64_MAX, &value->seed);
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

struct nvdp__expected nvdp__option_expected(const struct nvdp_option *row, const char *separator) {
    static const char *const expected[] = {[NVDP_OPTION_FLAG] = "true or false",
                                           [NVDP_OPTION_INTEGER] = "a whole number of at least 0",
                                           [NVDP_OPTION_SEED] = "a whole number from 0 to 2^64-1",
                                           [NVDP_OPTION_REAL] = "a number",
                                           [NVDP_OPTION_TEXT] = "a string",
                                           [NVDP_OPTION_LIST] = "a string",
                                           [NVDP_OPTION_CHOICE] = "one of"};
    struct nvdp__expected made;
    struct nvdp__writer to = {made.text, sizeof made.text, 0};
    nvdp__append(&to, "%s", expected[row->type]);
    for (int i = 0; row->type == NVDP_OPTION_CHOICE && row->choices[i] != NULL; i++)
        nvdp__append(&to, "%s%s", i > 0 ? separator : " ", row->choices[i]);
    return made;
}

static double option_number(const struct nvdp_option *row, const union nvdp__value *value) {
    if (row->type == NVDP_OPTION_REAL) return value->real;
    if (row->type == NVDP_OPTION_SEED) return (double)value->seed;
    return row->width == sizeof(int) ? value->whole : (double)value->size;
}

static bool is_number(const struct nvdp_option *row) {
    return row->type == NVDP_OPTION_INTEGER || row->type == NVDP_OPTION_SEED ||
           row->type == NVDP_OPTION_REAL;
}

nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *prefix,
                               const struct nvdp_option *row, const union nvdp__value *value) {
    if (!is_number(row) || (row->min == 0 && row->max == 0)) return NVDP_OK;
    double number = option_number(row, value);
    if (number >= row->min && number <= row->max) return NVDP_OK;
    if ((row->traits & NVDP_TRAIT_NEGATIVE) != 0 && number < 0) return NVDP_OK;
    /* the name as typed, or a key of a file */
    struct nvdp__naming name = nvdp__as_option(ctx, row->name);
    if (prefix != NULL) nvdp__option_key(row, name.text);
    char expected[64];
    if (row->max < DBL_MAX)
        nvdp__snprintf(expected, sizeof expected, "%g to %g", row->min, row->max);
    else if (number < row->min)
        nvdp__snprintf(expected, sizeof expected, "at least %g", row->min);
    else
        nvdp__snprintf(expected, sizeof expected, "a finite number");
    return nvdp__blame_value(ctx, prefix == NULL ? row->name : "",
                             nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s%s%s: expected %s, found %g",
                                        prefix != NULL ? prefix : "", prefix != NULL ? ": " : "",
                                        name.text, expected, number));
}

const char *nvdp__option_format(const struct nvdp_option *row, const union nvdp__value *value,
                                char text[NVDP__NUMBER_TEXT]) {
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
        if (row->width == sizeof(int))
            nvdp__snprintf(text, NVDP__NUMBER_TEXT, "%d", value->whole);
        else
            nvdp__snprintf(text, NVDP__NUMBER_TEXT, "%zu", value->size);
        return text;
    default:
        nvdp__snprintf(text, NVDP__NUMBER_TEXT, "%llu", (unsigned long long)value->seed);
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
    if (!list && json_is_string(value)) return nvdp__strdup(NULL, json_string_value(value));
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

static json_t *option_json(const struct nvdp_option *row, const union nvdp__value *value) {
    switch (row->type) {
    case NVDP_OPTION_FLAG:
        return json_boolean(value->flag);
    case NVDP_OPTION_INTEGER:
        return json_integer(row->width == sizeof(int) ? value->whole : (json_int_t)value->size);
    case NVDP_OPTION_SEED: /* JSON's integers are signed; the 64 bits of a seed are kept */
        return json_integer((json_int_t)value->seed);
    case NVDP_OPTION_REAL:
        return nvdp__json_number(value->real);
    case NVDP_OPTION_CHOICE:
        return json_string(row->choices[value->whole]);
    default:
        return value->text == NULL ? json_null() : json_string(value->text);
    }
}

static nvdp_status option_read(struct nvdp_context *ctx, const char *path, const json_t *member,
                               const struct nvdp__place *place, void *to) {
    const struct nvdp_option *row = place->row;
    union nvdp__value value;
    NVDP_TRY(nvdp__option_check_json(ctx, NVDP_ERR_INPUT, path, place->key, row, member));
    if (nvdp__option_is_text(row) && json_is_string(member)) {
        value.text = json_string_value(member);
    } else if (row->type == NVDP_OPTION_SEED && json_is_integer(member)) {
        value.seed = (uint64_t)json_integer_value(member);
    } else {
        nvdp__autofree char *text = nvdp__option_text(member, false);
        if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
        if (nvdp__option_is_text(row) || !nvdp__option_parse(row, text, &value))
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s, found '%s'", path,
                              place->key, nvdp__option_expected(row, ", ").text, text);
    }
    if (nvdp__option_check(ctx, path, row, &value) != NVDP_OK) return NVDP_ERR_INPUT;
    memcpy(to, &value, row->width);
    return NVDP_OK;
}

/* ==== tables of options ==== */

enum { MAX_RESULT = 1 << 20 };

bool nvdp__schema_row(const struct nvdp__schema *schema, size_t i, struct nvdp__place *place) {
    for (size_t s = 0; s < schema->sections; s++) {
        const struct nvdp__section *section = &schema->section[s];
        const struct nvdp_option *row = section->row;
        for (; row->name != NULL && i > 0; row++)
            i--;
        if (row->name == NULL) continue;
        *place = (struct nvdp__place){
            .row = row,
            .parent = row->parent != NULL ? row->parent : section->parent,
            .group = row->group == NULL && row == section->row ? section->group : row->group,
            .offset = section->offset + row->offset};
        nvdp__option_key(row, place->key);
        return true;
    }
    return false;
}

void nvdp__schema_default(const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    memset(values, 0, schema->size);
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union nvdp__value value = nvdp__option_default(place.row);
        memcpy((char *)values + place.offset, &value, place.row->width);
    }
}

nvdp_status nvdp__schema_check(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                               const void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union nvdp__value value = nvdp__option_at(place.row, (const char *)values + place.offset);
        bool needed = (place.row->traits & NVDP_TRAIT_REQUIRED) != 0;
        if (needed && (value.text == NULL || value.text[0] == '\0'))
            return nvdp__blame_value(
                ctx, place.row->name,
                nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a value, found none", place.key));
        NVDP_TRY(nvdp__option_check(ctx, NULL, place.row, &value));
    }
    return schema->check != NULL ? schema->check(ctx, values) : NVDP_OK;
}

static bool is_saved(const struct nvdp__place *place) {
    return place->row->sets == NULL && (place->row->traits & NVDP_TRAIT_UNSAVED) == 0;
}

nvdp_status nvdp__schema_check_texts(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                     const void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (!is_saved(&place) || !nvdp__option_is_text(place.row)) continue;
        union nvdp__value value = nvdp__option_at(place.row, (const char *)values + place.offset);
        nvdp__autoptr(json_decref) json_t *text =
            value.text == NULL ? NULL : json_string(value.text);
        if (value.text != NULL && text == NULL)
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "%s: expected a value in UTF-8, because it is saved as JSON, found '%s'", place.key,
                value.text);
    }
    return NVDP_OK;
}

json_t *nvdp__schema_json(const struct nvdp__schema *schema, const void *values) {
    struct nvdp__place place;
    nvdp__autoptr(json_decref) json_t *root = json_object();
    int failed = root == NULL;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (!is_saved(&place)) continue;
        union nvdp__value value = nvdp__option_at(place.row, (const char *)values + place.offset);
        json_t *to = place.parent == NULL ? root : json_object_get(root, place.parent);
        if (to == NULL) failed |= json_object_set_new(root, place.parent, to = json_object());
        failed |= json_object_set_new(to, place.key, option_json(place.row, &value));
    }
    return failed == 0 ? json_incref(root) : NULL;
}

nvdp_status nvdp__schema_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        const json_t *from = place.parent == NULL ? object : json_object_get(object, place.parent);
        const json_t *member = json_object_get(from, place.key);
        if (!is_saved(&place) || member == NULL || json_is_null(member)) continue;
        char *at = (char *)values + place.offset;
        NVDP_TRY(option_read(ctx, path, member, &place, at));
        if ((place.row->traits & NVDP_TRAIT_PRESET) != 0) {
            const char *const present = nvdp__preset_name(nvdp__option_at(place.row, at).text);
            memcpy(at, &present, sizeof present);
        }
    }
    return NVDP_OK;
}

/* --- lists --- */

nvdp_status nvdp__list_split(struct nvdp_context *ctx, const char *text, const char ***list,
                             size_t *count) {
    size_t max_items = 1;
    size_t size = strlen(text != NULL ? text : "");
    for (size_t i = 0; i < size; i++)
        max_items += text[i] == ',';
    const char **items = nvdp__calloc(ctx, max_items * sizeof *items + size + 1, 1);
    if (items == NULL) return NVDP_ERR_MEMORY;
    char *to = (char *)(items + max_items);
    *count = 0;
    for (size_t i = 0; i < size; i++) {
        if (i == 0 || to[-1] == '\0') items[(*count)++] = to;
        bool quoted = text[i] == '\\' && text[i + 1] == ',';
        i += quoted;
        *to++ = (char)(text[i] == ',' && !quoted ? '\0' : text[i]);
    }
    *list = items;
    return NVDP_OK;
}

/* --- results --- */

nvdp_status nvdp__can_give(struct nvdp_context *ctx, const void *out) {
    size_t have;
    memcpy(&have, out, sizeof have);
    if (have > sizeof have && have <= MAX_RESULT) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "struct_size: expected the size of a struct, as set by NVDP_RESULT, found %zu", have);
}

nvdp_status nvdp__give(void *out, const void *result, size_t size) {
    size_t have;
    memcpy(&have, out, sizeof have);
    memcpy((char *)out + sizeof have, (const char *)result + sizeof have,
           nvdp__min(have, size) - sizeof have);
    return NVDP_OK;
}
