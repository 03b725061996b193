/* Options: rows of tables, the plain structs they fill, configurations by name. */
#include "base/schema.h"

#include "base/file.h"
#include "base/guess.h"
#include "base/json.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_SIZE = 32, EXPECTED_SIZE = 512, DIGITS = 17, RESULT_MOST = 1 << 20 };

/* A value of any type but text. */
union value {
    bool flag;
    int whole;
    size_t size;
    uint64_t seed;
    double real;
    const char *text;
};

/* --- one value: text to bytes, bytes to text --- */

static bool is_text(const struct nvdp_option *row) {
    return row->type == NVDP_OPTION_TEXT || row->type == NVDP_OPTION_LIST;
}

static bool is_number(const struct nvdp_option *row) {
    return row->type == NVDP_OPTION_INTEGER || row->type == NVDP_OPTION_SEED ||
           row->type == NVDP_OPTION_REAL;
}

/* '_' counts as '-'. */
static bool same_name(const char *name, const char *given) {
    for (; *name != '\0' && *given != '\0'; name++, given++) {
        if (*name != (*given == '_' ? '-' : *given)) return false;
    }
    return *name == *given;
}

/* The row's key in files: its own, or the name with '_' for '-'. */
static void key_of(const struct nvdp_option *row, char key[NVDP__KEY_SIZE]) {
    snprintf(key, NVDP__KEY_SIZE, "%s", row->key != NULL ? row->key : row->name);
    for (char *c = key; row->key == NULL && *c != '\0'; c++) {
        if (*c == '-') *c = '_';
    }
}

/* Bytes of a value: the row's where it fills a struct. */
static size_t width_of(const struct nvdp_option *row) {
    static const size_t width[] = {
        [NVDP_OPTION_FLAG] = sizeof(bool),         [NVDP_OPTION_INTEGER] = sizeof(size_t),
        [NVDP_OPTION_SEED] = sizeof(uint64_t),     [NVDP_OPTION_REAL] = sizeof(double),
        [NVDP_OPTION_TEXT] = sizeof(const char *), [NVDP_OPTION_LIST] = sizeof(const char *),
        [NVDP_OPTION_CHOICE] = sizeof(int)};
    return row->width != 0 ? row->width : width[row->type];
}

static bool read_whole(const char *text, uint64_t limit, uint64_t *value) {
    if (*text < '0' || *text > '9') return false; /* strtoull would take signs and spaces */
    char *end;
    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || read > limit) return false;
    *value = read;
    return true;
}

/* The value that `text` says; false where it says none. */
static bool parse(const struct nvdp_option *row, const char *text, union value *value) {
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
        value->real = strtod(text, &end);
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

/* What parse() takes, for messages; `separator` stands between choices. */
static const char *expected_of(const struct nvdp_option *row, const char *separator,
                               char text[EXPECTED_SIZE]) {
    static const char *const expected[] = {[NVDP_OPTION_FLAG] = "true or false",
                                           [NVDP_OPTION_INTEGER] = "a whole number of at least 0",
                                           [NVDP_OPTION_SEED] = "a whole number from 0 to 2^64-1",
                                           [NVDP_OPTION_REAL] = "a number",
                                           [NVDP_OPTION_TEXT] = "a string",
                                           [NVDP_OPTION_LIST] = "a string",
                                           [NVDP_OPTION_CHOICE] = "one of"};
    size_t used = (size_t)snprintf(text, EXPECTED_SIZE, "%s", expected[row->type]);
    for (int i = 0; row->type == NVDP_OPTION_CHOICE && row->choices[i] != NULL; i++) {
        snprintf(text + used, EXPECTED_SIZE - used, "%s%s", i > 0 ? separator : " ",
                 row->choices[i]);
        used = strlen(text);
    }
    return text;
}

static double number_of(const struct nvdp_option *row, const union value *value) {
    if (row->type == NVDP_OPTION_REAL) return value->real;
    if (row->type == NVDP_OPTION_SEED) return (double)value->seed;
    return row->width == sizeof(int) ? value->whole : (double)value->size;
}

/* `prefix` (NULL: none) stands before the message: the file that says so. */
static nvdp_status check_range(struct nvdp_context *ctx, const char *prefix,
                               const struct nvdp_option *row, const union value *value) {
    if (!is_number(row) || (row->min == 0 && row->max == 0)) return NVDP_OK;
    char key[NVDP__KEY_SIZE];
    double number = number_of(row, value);
    if (number >= row->min && number <= row->max) return NVDP_OK;
    if ((row->traits & NVDP_TRAIT_NEGATIVE) != 0 && number < 0) return NVDP_OK;
    key_of(row, key);
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s%s%s: expected %g to %g, found %g",
                      prefix != NULL ? prefix : "", prefix != NULL ? ": " : "", key, row->min,
                      row->max, number);
}

/* Numbers in as few digits as give the same bits again. */
static const char *format(const struct nvdp_option *row, const union value *value,
                          char text[NUMBER_SIZE]) {
    switch (row->type) {
    case NVDP_OPTION_FLAG:
        return value->flag ? "true" : "false";
    case NVDP_OPTION_CHOICE:
        return row->choices[value->whole];
    case NVDP_OPTION_REAL:
        for (int digits = DIGITS - 2; digits <= DIGITS; digits++) {
            snprintf(text, NUMBER_SIZE, "%.*g", digits, value->real);
            if (strtod(text, NULL) == value->real) break;
        }
        return text;
    case NVDP_OPTION_TEXT:
    case NVDP_OPTION_LIST:
        return value->text;
    case NVDP_OPTION_INTEGER:
        if (row->width == sizeof(int)) {
            snprintf(text, NUMBER_SIZE, "%d", value->whole);
            return text;
        }
        snprintf(text, NUMBER_SIZE, "%zu", value->size);
        return text;
    default:
        snprintf(text, NUMBER_SIZE, "%llu", (unsigned long long)value->seed);
        return text;
    }
}

/* The type's zero where the row tells no default. */
static union value default_of(const struct nvdp_option *row) {
    union value value;
    memset(&value, 0, sizeof value);
    if (row->default_value != NULL) (void)parse(row, row->default_value, &value);
    return value;
}

static union value value_at(const struct nvdp_option *row, const void *at) {
    union value value;
    memset(&value, 0, sizeof value);
    memcpy(&value, at, width_of(row));
    return value;
}

/* --- schemas and plain structs --- */

bool nvdp__schema_row(const struct nvdp__schema *schema, size_t i, struct nvdp__place *place) {
    for (size_t s = 0; s < schema->sections; s++) {
        const struct nvdp__section *section = &schema->section[s];
        const struct nvdp_option *row = section->row;
        for (; row->name != NULL && i > 0; row++)
            i--;
        if (row->name == NULL) continue;
        *place = (struct nvdp__place){.row = row,
                                      .parent = row->parent != NULL ? row->parent : section->parent,
                                      .offset = section->offset + row->offset};
        key_of(row, place->key);
        return true;
    }
    return false;
}

bool nvdp__schema_find(const struct nvdp__schema *schema, const char *name,
                       struct nvdp__place *place) {
    for (size_t i = 0; nvdp__schema_row(schema, i, place); i++) {
        if (same_name(place->row->name, name)) return true;
    }
    return false;
}

void nvdp__schema_default(const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    memset(values, 0, schema->size);
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union value value = default_of(place.row);
        memcpy((char *)values + place.offset, &value, place.row->width);
    }
}

/* Whether an option's present value implies another's. */
static bool implies(const struct nvdp__implied *implied, const struct nvdp_option *when,
                    const char *present) {
    char text[NUMBER_SIZE];
    union value usual = default_of(when);
    const char *is = implied->is != NULL ? implied->is : format(when, &usual, text);
    if (present == NULL || is == NULL)
        return present != NULL; /* a text that none is the usual one of */
    return (strcmp(present, is) == 0) == (implied->is != NULL);
}

void nvdp__schema_imply(const struct nvdp__schema *schema, void *values) {
    struct nvdp__place when, option;
    for (size_t i = 0; i < schema->implications; i++) {
        const struct nvdp__implied *implied = &schema->implied[i];
        char text[NUMBER_SIZE];
        (void)nvdp__schema_find(schema, implied->when, &when);
        (void)nvdp__schema_find(schema, implied->option, &option);
        union value value = value_at(when.row, (const char *)values + when.offset);
        if (!implies(implied, when.row, format(when.row, &value, text))) continue;
        (void)parse(option.row, implied->value, &value);
        memcpy((char *)values + option.offset, &value, option.row->width);
    }
}

nvdp_status nvdp__schema_check(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                               const void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union value value = value_at(place.row, (const char *)values + place.offset);
        bool needed = (place.row->traits & NVDP_TRAIT_REQUIRED) != 0;
        if (needed && (value.text == NULL || value.text[0] == '\0'))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a value, found none",
                              place.key);
        NVDP_RETURN_IF_FAILED(check_range(ctx, NULL, place.row, &value));
    }
    return schema->check != NULL ? schema->check(ctx, values) : NVDP_OK;
}

static json_t *value_json(const struct nvdp_option *row, const union value *value) {
    switch (row->type) {
    case NVDP_OPTION_FLAG:
        return json_boolean(value->flag);
    case NVDP_OPTION_INTEGER:
        return json_integer(row->width == sizeof(int) ? value->whole : (json_int_t)value->size);
    case NVDP_OPTION_SEED: /* JSON's integers have a sign: the same 64 bits */
        return json_integer((json_int_t)value->seed);
    case NVDP_OPTION_REAL:
        return nvdp__json_number(value->real);
    case NVDP_OPTION_CHOICE:
        return json_string(row->choices[value->whole]);
    default:
        return value->text == NULL ? json_null() : json_string(value->text);
    }
}

json_t *nvdp__schema_json(const struct nvdp__schema *schema, const void *values) {
    struct nvdp__place place;
    json_t *root = json_object();
    int failed = root == NULL;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL || (place.row->traits & NVDP_TRAIT_UNSAVED) != 0) continue;
        union value value = value_at(place.row, (const char *)values + place.offset);
        json_t *to = place.parent == NULL ? root : json_object_get(root, place.parent);
        if (to == NULL) failed |= json_object_set_new(root, place.parent, to = json_object());
        failed |= json_object_set_new(to, place.key, value_json(place.row, &value));
    }
    if (failed == 0) return root;
    json_decref(root);
    return NULL;
}

/* --- values in files --- */

static const char *type_of(const json_t *value) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "a boolean",
        [JSON_FALSE] = "a boolean",  [JSON_NULL] = "null"};
    return names[json_typeof(value)];
}

/* The text that would stand on the command line; where `list`, a single string is one item,
 * whatever commas it has.  NULL: out of memory. */
static char *text_of(const json_t *value, bool list) {
    if (!list && json_is_string(value)) return strdup(json_string_value(value));
    if (!list && !json_is_array(value))
        return json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
    char *all = NULL;
    size_t size = 0, items = json_is_array(value) ? json_array_size(value) : 1;
    FILE *joined = open_memstream(&all, &size);
    if (joined == NULL) return NULL;
    for (size_t i = 0; i < items; i++) {
        char *text = text_of(json_is_array(value) ? json_array_get(value, i) : value, false);
        if (i > 0) fputc(',', joined);
        for (const char *at = text; at != NULL && *at != '\0'; at++)
            fprintf(joined, *at == ',' ? "\\%c" : "%c", *at);
        free(text);
    }
    if (fclose(joined) == 0) return all;
    free(all);
    return NULL;
}

nvdp_status nvdp__list_split(struct nvdp_context *ctx, const char *text, const char ***list,
                             size_t *count) {
    size_t most = 1;
    size_t size = strlen(text != NULL ? text : "");
    for (size_t i = 0; i < size; i++)
        most += text[i] == ',';
    const char **items = nvdp__calloc(ctx, most * sizeof *items + size + 1, 1);
    if (items == NULL) return NVDP_ERR_MEMORY;
    char *to = (char *)(items + most);
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

/* Whether a file's value can be one of the row's; `status` is for messages. */
static nvdp_status check_type(struct nvdp_context *ctx, nvdp_status status, const char *path,
                              const char *key, const struct nvdp_option *row, const json_t *value) {
    bool list = row->type == NVDP_OPTION_LIST && json_is_array(value);
    if (row->type == NVDP_OPTION_FLAG ? json_is_boolean(value)
                                      : list || json_is_string(value) || json_is_number(value))
        return NVDP_OK;
    return nvdp__fail(ctx, status, "%s: key '%s': expected %s, found %s", path, key,
                      row->type == NVDP_OPTION_FLAG ? "true or false" : "a string or a number",
                      type_of(value));
}

static nvdp_status read_member(struct nvdp_context *ctx, const char *path, const json_t *member,
                               const struct nvdp__place *place, void *to) {
    const struct nvdp_option *row = place->row;
    union value value;
    char expected[EXPECTED_SIZE];
    NVDP_RETURN_IF_FAILED(check_type(ctx, NVDP_ERR_INPUT, path, place->key, row, member));
    if (is_text(row) && json_is_string(member)) {
        value.text = json_string_value(member);
    } else if (row->type == NVDP_OPTION_SEED && json_is_integer(member)) {
        value.seed = (uint64_t)json_integer_value(member);
    } else {
        char *text = text_of(member, false);
        if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
        nvdp_status status = NVDP_OK;
        if (is_text(row) || !parse(row, text, &value))
            status = nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s, found '%s'", path,
                                place->key, expected_of(row, ", ", expected), text);
        free(text);
        NVDP_RETURN_IF_FAILED(status);
    }
    if (check_range(ctx, path, row, &value) != NVDP_OK) return NVDP_ERR_INPUT;
    memcpy(to, &value, row->width);
    return NVDP_OK;
}

nvdp_status nvdp__schema_read(struct nvdp_context *ctx, const char *path, const json_t *object,
                              const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        const json_t *from = place.parent == NULL ? object : json_object_get(object, place.parent);
        const json_t *member = json_object_get(from, place.key);
        if (place.row->sets != NULL || (place.row->traits & NVDP_TRAIT_UNSAVED) != 0) continue;
        if (member == NULL || json_is_null(member)) continue;
        NVDP_RETURN_IF_FAILED(
            read_member(ctx, path, member, &place, (char *)values + place.offset));
    }
    return NVDP_OK;
}

/* --- configurations --- */

struct entry {
    struct nvdp_option row; /* with its parent, its place and its default filled in */
    void *at;               /* where its value is; NULL for synonyms */
    struct entry *twin; /* the option of this name of another kind of work; has the same value */
    bool own;           /* a program's */
    bool given;
    const char *as;       /* the name under which it was given: its own, or a synonym's */
    size_t source;        /* the file, counted from 1, that gave it; 0: none */
    union value kept;     /* of rows that fill no struct */
    union value fallback; /* of a program's row without a default: what the struct held */
    char *text;           /* the present value */
    char *usual;          /* the default */
    char *preset, *next;  /* the preset's value; that of one which is being read; NULL: none */
};

enum { PARTS = 4 };

/* One kind of work, and the struct that its options fill. */
struct part {
    const struct nvdp__schema *schema;
    void *values;
};

struct nvdp_config {
    struct nvdp_context *ctx;
    struct part part[PARTS];
    size_t parts;
    struct entry **entry; /* in the order of help */
    size_t entries, capacity;
    size_t files; /* that were read */
};

static nvdp_status out_of_memory(const struct nvdp_config *config) {
    return nvdp__fail(config->ctx, NVDP_ERR_MEMORY, "out of memory");
}

static struct entry *find(const struct nvdp_config *config, const char *name) {
    for (size_t i = 0; i < config->entries; i++) {
        if (same_name(config->entry[i]->row.name, name)) return config->entry[i];
    }
    return NULL;
}

static void free_entry(struct entry *entry) {
    while (entry != NULL) {
        struct entry *twin = entry->twin;
        free(entry->text);
        free(entry->usual);
        free(entry->preset);
        free(entry->next);
        free(entry);
        entry = twin;
    }
}

/* Gives an entry a value; texts are copied. */
static nvdp_status store(struct nvdp_config *config, struct entry *entry, union value value) {
    char number[NUMBER_SIZE];
    const char *text = format(&entry->row, &value, number);
    char *copy = text == NULL ? NULL : strdup(text);
    if (text != NULL && copy == NULL) return out_of_memory(config);
    free(entry->text);
    entry->text = copy;
    if (is_text(&entry->row)) value.text = copy;
    for (; entry != NULL; entry = entry->twin)
        memcpy(entry->at, &value, width_of(&entry->row));
    return NVDP_OK;
}

/* Puts an entry behind the option that it names, or last; owns it. */
static nvdp_status add_entry(struct nvdp_config *config, struct entry *entry) {
    size_t at = config->entries;
    struct entry *known = find(config, entry->row.name);
    if (known != NULL) {
        struct entry *last = entry; /* of its own twins */
        while (last->twin != NULL)
            last = last->twin;
        last->twin = known->twin;
        known->twin = entry;
        return known->at == NULL ? NVDP_OK : store(config, known, value_at(&known->row, known->at));
    }
    NVDP_RETURN_IF_FAILED(nvdp__reserve(config->ctx, &config->entry, &config->capacity,
                                        config->entries + 1, sizeof *config->entry));
    for (size_t i = 0; i < config->entries && entry->row.after != NULL; i++) {
        if (same_name(config->entry[i]->row.name, entry->row.after)) at = i + 1;
    }
    memmove(&config->entry[at + 1], &config->entry[at],
            (config->entries - at) * sizeof *config->entry);
    config->entry[at] = entry;
    config->entries++;
    return NVDP_OK;
}

static nvdp_status add_row(struct nvdp_config *config, const struct nvdp_option *row, void *base,
                           bool own) {
    struct entry *entry = nvdp__calloc(config->ctx, 1, sizeof *entry);
    if (entry == NULL) return NVDP_ERR_MEMORY;
    entry->row = *row;
    entry->own = own;
    if (row->sets == NULL)
        entry->at = row->width == 0 ? (void *)&entry->kept : (char *)base + row->offset;
    bool holds = own && row->width != 0 && row->default_value == NULL && row->sets == NULL;
    entry->fallback = holds ? value_at(row, entry->at) : default_of(row);
    nvdp_status status = add_entry(config, entry);
    if (status != NVDP_OK) free(entry);
    if (status != NVDP_OK || row->sets != NULL) return status;
    NVDP_RETURN_IF_FAILED(store(config, entry, entry->fallback));
    if (entry->text != NULL) entry->usual = nvdp__strdup(config->ctx, entry->text);
    entry->row.default_value = entry->usual;
    return entry->text != NULL && entry->usual == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}

nvdp_status nvdp__config_create(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                struct nvdp_config **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__place place;
    struct nvdp_config *config = nvdp__calloc(ctx, 1, sizeof *config);
    if (config == NULL) return NVDP_ERR_MEMORY;
    config->ctx = ctx;
    if (schema != NULL) {
        config->part[0] = (struct part){schema, nvdp__calloc(ctx, 1, schema->size)};
        config->parts = 1;
        if (config->part[0].values == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    }
    for (size_t i = 0; schema != NULL && nvdp__schema_row(schema, i, &place); i++) {
        struct nvdp_option row = *place.row;
        row.parent = place.parent;
        row.offset = place.offset;
        NVDP_TRY(add_row(config, &row, config->part[0].values, false));
    }
    NVDP__HAND_OVER(out, config);
cleanup:
    nvdp_config_free(config);
    return status;
}

nvdp_status nvdp_config_create(struct nvdp_context *ctx, struct nvdp_config **out) {
    return nvdp__config_create(ctx, NULL, out);
}

nvdp_status nvdp_config_join(struct nvdp_config *config, struct nvdp_config *other) {
    nvdp_status status = NVDP_OK;
    if (config->parts + other->parts > PARTS)
        NVDP_TRY(
            nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT, "expected at most %d kinds of work", PARTS));
    for (size_t i = 0; i < other->parts; i++) {
        config->part[config->parts++] = other->part[i];
    }
    other->parts = 0;
    for (size_t i = 0; i < other->entries; i++) {
        struct entry *entry = other->entry[i];
        other->entry[i] = NULL;
        status = status == NVDP_OK ? add_entry(config, entry) : status;
        if (status != NVDP_OK) free_entry(entry);
    }
cleanup:
    nvdp_config_free(other);
    return status;
}

nvdp_status nvdp_config_copy(const struct nvdp_config *config, struct nvdp_config **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_config *copy = NULL, *next = NULL;
    NVDP_TRY(nvdp_config_create(config->ctx, &copy));
    for (size_t i = 0; i < config->parts; i++) {
        NVDP_TRY(nvdp__config_create(config->ctx, config->part[i].schema, &next));
        NVDP_TRY(nvdp_config_join(copy, next));
    }
    for (size_t i = 0; i < copy->entries; i++) {
        struct entry *to = copy->entry[i];
        const struct entry *from = find(config, to->row.name);
        to->given = from->given;
        to->as = from->as;
        to->source = from->source;
        if (from->preset != NULL) to->preset = nvdp__strdup(config->ctx, from->preset);
        if (from->preset != NULL && to->preset == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
        if (to->at != NULL) NVDP_TRY(store(copy, to, value_at(&from->row, from->at)));
    }
    NVDP__HAND_OVER(out, copy);
cleanup:
    nvdp_config_free(copy);
    return status;
}

void nvdp_config_free(struct nvdp_config *config) {
    if (config == NULL) return;
    for (size_t i = 0; i < config->entries; i++)
        free_entry(config->entry[i]);
    for (size_t i = 0; i < config->parts; i++)
        free(config->part[i].values);
    free(config->entry);
    free(config);
}

nvdp_status nvdp_config_add(struct nvdp_config *config, const struct nvdp_option *rows,
                            size_t row_size, void *values) {
    for (size_t i = 0;; i++) {
        struct nvdp_option row = {0};
        memcpy(&row, (const char *)rows + i * row_size,
               row_size < sizeof row ? row_size : sizeof row);
        if (row.name == NULL) return NVDP_OK;
        union value value;
        char expected[EXPECTED_SIZE];
        if (find(config, row.name) != NULL)
            return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT, "option --%s: there is one already",
                              row.name);
        if (row.type == NVDP_OPTION_CHOICE && row.choices == NULL)
            return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT, "option --%s: expected choices",
                              row.name);
        if (row.default_value != NULL && !parse(&row, row.default_value, &value))
            return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                              "option --%s: expected %s as its default, found '%s'", row.name,
                              expected_of(&row, " ", expected), row.default_value);
        NVDP_RETURN_IF_FAILED(add_row(config, &row, values, true));
    }
}

/* Given itself, or by the preset. */
static bool said(const struct entry *entry) {
    return entry->given || entry->preset != NULL;
}

/* What follows from other options, where nothing else was given. */
static nvdp_status imply(struct nvdp_config *config, const struct nvdp__schema *schema) {
    for (size_t i = 0; i < schema->implications; i++) {
        struct entry *entry = find(config, schema->implied[i].option);
        if (!said(entry)) NVDP_RETURN_IF_FAILED(store(config, entry, entry->fallback));
    }
    for (size_t i = 0; i < schema->implications; i++) {
        const struct nvdp__implied *implied = &schema->implied[i];
        const struct entry *when = find(config, implied->when);
        struct entry *entry = find(config, implied->option);
        union value value;
        if (said(entry) || !implies(implied, &when->row, when->text)) continue;
        (void)parse(&entry->row, implied->value, &value);
        NVDP_RETURN_IF_FAILED(store(config, entry, value));
    }
    return NVDP_OK;
}

/* The value that `text` tells.  `path` (NULL: none) is the file that gives it. */
static nvdp_status read_value(struct nvdp_config *config, const struct entry *entry,
                              const char *path, const char *text, union value *value) {
    char expected[EXPECTED_SIZE];
    if (!parse(&entry->row, text, value))
        return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                          path != NULL ? "%s: key '%s': expected %s, found '%s'"
                                       : "%soption --%s: expected %s, found '%s'",
                          path != NULL ? path : "", entry->row.name,
                          expected_of(&entry->row, path != NULL ? ", " : " ", expected), text);
    return check_range(config->ctx, path, &entry->row, value);
}

/* Who gives a value: the caller, or a preset that is being read. */
enum giver { GIVEN, PRESET };

static nvdp_status take_preset(struct nvdp_config *config, const char *name);

/* An option under two of its names, both by the caller or both in one file: no order says which counts. */
static nvdp_status check_name(struct nvdp_config *config, const struct entry *entry, const char *as,
                              const char *path) {
    const size_t source = path != NULL ? config->files : 0;
    if (!entry->given || entry->source != source || strcmp(entry->as, as) == 0) return NVDP_OK;
    return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                      path != NULL ? "%s: keys '%s' and '%s' are one option: expected one of them"
                                   : "%soptions --%s and --%s are one: expected one of them",
                      path != NULL ? path : "", entry->as, as);
}

/* `as` is the name by which the caller has it. */
static nvdp_status give(struct nvdp_config *config, struct entry *entry, const char *as,
                        const char *path, const char *text, enum giver giver) {
    union value value = entry->fallback;
    const char *const *sets = entry->row.sets;
    const char *tells = text != NULL ? text : entry->preset;
    if (tells != NULL) NVDP_RETURN_IF_FAILED(read_value(config, entry, path, tells, &value));
    for (size_t i = 0; sets != NULL && sets[i] != NULL; i++)
        NVDP_RETURN_IF_FAILED(
            give(config, find(config, sets[i]), sets[1] == NULL ? as : sets[i], path, text, giver));
    if (sets != NULL) return NVDP_OK;
    if (giver == PRESET) {
        free(entry->next);
        entry->next = nvdp__strdup(config->ctx, text);
        return entry->next == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
    }
    if (text != NULL) NVDP_RETURN_IF_FAILED(check_name(config, entry, as, path));
    if ((entry->row.traits & NVDP_TRAIT_PRESET) != 0)
        NVDP_RETURN_IF_FAILED(take_preset(config, text));
    NVDP_RETURN_IF_FAILED(store(config, entry, value));
    entry->given = text != NULL;
    entry->as = as;
    entry->source = path != NULL ? config->files : 0;
    for (size_t i = 0; i < config->parts; i++)
        NVDP_RETURN_IF_FAILED(imply(config, config->part[i].schema));
    return NVDP_OK;
}

nvdp_status nvdp_config_set(struct nvdp_config *config, const char *name, const char *value) {
    struct entry *entry = find(config, name);
    if (entry == NULL) {
        struct nvdp__guess guess = {.word = name};
        for (size_t i = 0; i < config->entries; i++)
            nvdp__guess(&guess, config->entry[i]->row.name);
        return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT, "unknown option '--%s'%s", name,
                          guess.text);
    }
    return give(config, entry, entry->row.name, NULL, value, GIVEN);
}

const char *nvdp_config_get(const struct nvdp_config *config, const char *name) {
    const struct entry *entry = find(config, name);
    if (entry == NULL) return NULL;
    if (entry->row.sets == NULL) return entry->text;
    const char *first = nvdp_config_get(config, entry->row.sets[0]);
    for (size_t i = 1; first != NULL && entry->row.sets[i] != NULL; i++) {
        const char *other = nvdp_config_get(config, entry->row.sets[i]);
        if (other == NULL || strcmp(first, other) != 0) return NULL;
    }
    return first;
}

bool nvdp_config_is_set(const struct nvdp_config *config, const char *name) {
    const struct entry *entry = find(config, name);
    if (entry == NULL) return false;
    for (size_t i = 0; entry->row.sets != NULL && entry->row.sets[i] != NULL; i++) {
        if (nvdp_config_is_set(config, entry->row.sets[i])) return true;
    }
    return entry->given;
}

size_t nvdp_config_count(const struct nvdp_config *config) {
    return config->entries;
}

const struct nvdp_option *nvdp_config_option(const struct nvdp_config *config, size_t i) {
    return i < config->entries ? &config->entry[i]->row : NULL;
}

/* The option of a file's key, in the object `parent` (NULL: the outermost, where names do too). */
static struct entry *find_key(const struct nvdp_config *config, const char *parent,
                              const char *key) {
    for (size_t i = 0; i < config->entries; i++) {
        char own[NVDP__KEY_SIZE];
        const struct nvdp_option *row = &config->entry[i]->row;
        key_of(row, own);
        bool here = parent == NULL || (row->parent != NULL && strcmp(parent, row->parent) == 0);
        if (here && ((parent == NULL && same_name(row->name, key)) || strcmp(own, key) == 0))
            return config->entry[i];
    }
    return NULL;
}

/* A key that is not there, and the one that may have been meant. */
static nvdp_status unknown_key(const struct nvdp_config *config, const char *path,
                               const char *parent, const char *key) {
    struct nvdp__guess guess = {.word = key};
    for (size_t i = 0; i < config->entries; i++) {
        char own[NVDP__KEY_SIZE];
        const struct nvdp_option *row = &config->entry[i]->row;
        key_of(row, own);
        if (find_key(config, parent, own) != NULL) nvdp__guess(&guess, own);
    }
    return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT, "%s: unknown key '%s'%s", path, key,
                      guess.text);
}

static bool is_parent(const struct nvdp_config *config, const char *key) {
    for (size_t i = 0; i < config->entries; i++) {
        const char *parent = config->entry[i]->row.parent;
        if (parent != NULL && strcmp(parent, key) == 0) return true;
    }
    return false;
}

static nvdp_status load_members(struct nvdp_config *config, const char *path, const char *parent,
                                const json_t *object, enum giver giver) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        if (parent == NULL && json_is_object(value) && is_parent(config, key)) {
            NVDP_RETURN_IF_FAILED(load_members(config, path, key, value, giver));
            continue;
        }
        struct entry *entry = find_key(config, parent, key);
        bool remark = entry == NULL && parent == NULL && strcmp(key, "description") == 0;
        if (remark && json_is_string(value)) continue;
        if (entry != NULL && giver == PRESET && (entry->row.traits & NVDP_TRAIT_PRESET) != 0)
            return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                              "%s: key '%s': a preset cannot name another", path, key);
        if (entry == NULL || (entry->own && (entry->row.traits & NVDP_TRAIT_UNSAVED) != 0))
            return unknown_key(config, path, parent, key);
        if (json_is_null(value) && is_text(&entry->row)) continue;
        NVDP_RETURN_IF_FAILED(
            check_type(config->ctx, NVDP_ERR_ARGUMENT, path, key, &entry->row, value));
        /* saved lists are strings of joined items; of others, written by hand, a string is one */
        bool list =
            entry->row.type == NVDP_OPTION_LIST && (entry->row.traits & NVDP_TRAIT_UNSAVED) != 0;
        char *text = text_of(value, list);
        if (text == NULL) return out_of_memory(config);
        nvdp_status status = give(config, entry, entry->row.name, path, text, giver);
        free(text);
        NVDP_RETURN_IF_FAILED(status);
    }
    return NVDP_OK;
}

/* Takes over root, which came from `path`. */
static nvdp_status load(struct nvdp_config *config, const char *path, json_t *root,
                        const json_error_t *error, enum giver giver) {
    if (root == NULL)
        return nvdp__fail(config->ctx, NVDP_ERR_INPUT, "%s:%d: %s", path, error->line, error->text);
    config->files += giver == GIVEN;
    nvdp_status status =
        json_is_object(root)
            ? load_members(config, path, NULL, root, giver)
            : nvdp__fail(config->ctx, NVDP_ERR_INPUT, "%s: expected an object of options, found %s",
                         path, type_of(root));
    json_decref(root);
    return status;
}

static nvdp_status load_file(struct nvdp_config *config, const char *path, enum giver giver) {
    json_error_t error;
    FILE *file = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__stream_to_read(config->ctx, path, &file));
    json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    (void)fclose(file);
    return load(config, path, root, &error, giver);
}

static nvdp_status load_text(struct nvdp_config *config, const char *source, const char *text,
                             enum giver giver) {
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    return load(config, source, root, &error, giver);
}

nvdp_status nvdp_config_load(struct nvdp_config *config, const char *path) {
    return load_file(config, path, GIVEN);
}

nvdp_status nvdp_config_load_text(struct nvdp_config *config, const char *source,
                                  const char *text) {
    return load_text(config, source, text, GIVEN);
}

/* --- presets --- */

const char *nvdp_preset(size_t i, const char **text) {
    size_t last = 0;
    while (last < i && nvdp__presets[last].name != NULL)
        last++;
    if (text != NULL) *text = nvdp__presets[last].text;
    return nvdp__presets[last].name;
}

static nvdp_status no_such_preset(struct nvdp_config *config, const char *name) {
    char *list = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&list, &size);
    if (lines == NULL) return out_of_memory(config);
    for (const struct nvdp__preset *preset = nvdp__presets; preset->name != NULL; preset++) {
        json_t *root = json_loads(preset->text, 0, NULL);
        const char *line = json_string_value(json_object_get(root, "description"));
        fprintf(lines, "%s%s (%s)", preset == nvdp__presets ? "" : ", ", preset->name,
                line != NULL ? line : "");
        json_decref(root);
    }
    nvdp_status status =
        fclose(lines) != 0
            ? out_of_memory(config)
            : nvdp__fail(
                  config->ctx, NVDP_ERR_ARGUMENT,
                  "option --preset: expected %s, or the path of a file of options (with a '/', "
                  "or .json at its end), found '%s'",
                  list, name);
    free(list);
    return status;
}

static bool is_path(const char *name) {
    return strchr(name, '/') != NULL || nvdp__ends_with(name, ".json");
}

/* Its values as `next` of its options. */
static nvdp_status read_preset(struct nvdp_config *config, const char *name) {
    char source[NVDP__KEY_SIZE];
    const struct nvdp__preset *preset = nvdp__presets;
    if (is_path(name)) return load_file(config, name, PRESET);
    while (preset->name != NULL && strcmp(preset->name, name) != 0)
        preset++;
    if (preset->name == NULL) return no_such_preset(config, name);
    snprintf(source, sizeof source, "preset %s", name);
    return load_text(config, source, preset->text, PRESET);
}

/* In place of the one before; NULL: none.  Where it cannot be read nothing changes. */
static nvdp_status take_preset(struct nvdp_config *config, const char *name) {
    nvdp_status status = name != NULL ? read_preset(config, name) : NVDP_OK;
    bool read = status == NVDP_OK;
    for (size_t i = 0; i < config->entries; i++) {
        struct entry *entry = config->entry[i];
        bool changes = read && (entry->preset != NULL || entry->next != NULL);
        char *unused = changes ? entry->preset : entry->next;
        union value value = entry->fallback;
        if (changes) entry->preset = entry->next;
        entry->next = NULL;
        free(unused);
        if (entry->preset != NULL) (void)parse(&entry->row, entry->preset, &value);
        if (changes && !entry->given && status == NVDP_OK) status = store(config, entry, value);
    }
    return status;
}

bool nvdp_config_is_preset(const struct nvdp_config *config, const char *name) {
    const struct entry *entry = find(config, name);
    if (entry == NULL) return false;
    for (size_t i = 0; entry->row.sets != NULL && entry->row.sets[i] != NULL; i++)
        if (!nvdp_config_is_preset(config, entry->row.sets[i])) return false;
    return entry->row.sets != NULL || (entry->preset != NULL && !entry->given);
}

nvdp_status nvdp_config_check(const struct nvdp_config *config) {
    for (size_t i = 0; i < config->parts; i++) {
        const struct part *part = &config->part[i];
        NVDP_RETURN_IF_FAILED(nvdp__schema_check(config->ctx, part->schema, part->values));
    }
    return NVDP_OK;
}

nvdp_status nvdp_config_json(const struct nvdp_config *config, char **out) {
    json_t *object = json_object();
    int failed = object == NULL;
    for (size_t i = 0; i < config->parts; i++) {
        json_t *part = nvdp__schema_json(config->part[i].schema, config->part[i].values);
        failed |= json_object_update(object, part);
        json_decref(part);
    }
    char *text =
        failed != 0 ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS));
    json_decref(object);
    if (text == NULL) return out_of_memory(config);
    *out = text;
    return NVDP_OK;
}

nvdp_status nvdp__config_values(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp__schema *schema, void *values) {
    for (size_t i = 0; config != NULL && i < config->parts; i++) {
        if (config->part[i].schema != schema) continue;
        memcpy(values, config->part[i].values, schema->size);
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "expected a configuration of %s, found %s",
                      schema->kind,
                      config == NULL || config->parts == 0 ? "none" : config->part[0].schema->kind);
}

nvdp_status nvdp__config_open(struct nvdp_context *ctx, const struct nvdp_config *config,
                              const struct nvdp__schema *schema, void *values) {
    NVDP_RETURN_IF_FAILED(nvdp__config_values(ctx, config, schema, values));
    return nvdp__schema_check(ctx, schema, values);
}

nvdp_status nvdp__config_continue(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        const struct entry *entry = find(config, place.row->name);
        const struct nvdp_option *row = place.row;
        if (entry->at == NULL) continue;
        char number[NUMBER_SIZE];
        void *at = (char *)values + place.offset;
        union value value = value_at(row, at);
        const char *earlier = format(row, &value, number);
        if ((row->traits & NVDP_TRAIT_NO_EFFECT) != 0) {
            bool call =
                (row->traits & NVDP_TRAIT_UNSAVED) != 0; /* nothing is known of the earlier */
            if (entry->given || call) memcpy(at, entry->at, row->width);
        } else if (entry->given &&
                   (earlier == NULL || entry->text == NULL || strcmp(earlier, entry->text) != 0)) {
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "option --%s: a resumed run keeps its own configuration: %s, found "
                              "%s",
                              row->name, earlier != NULL ? earlier : "none",
                              entry->text != NULL ? entry->text : "none");
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__config_take(struct nvdp_config *config, const struct nvdp__schema *schema,
                              const void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union value value = value_at(place.row, (const char *)values + place.offset);
        NVDP_RETURN_IF_FAILED(store(config, find(config, place.row->name), value));
    }
    return NVDP_OK;
}

/* --- results --- */

nvdp_status nvdp__can_give(struct nvdp_context *ctx, const void *out) {
    size_t have;
    memcpy(&have, out, sizeof have);
    if (have > sizeof have && have <= RESULT_MOST) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "struct_size: expected a result's size, as NVDP_RESULT sets it, found %zu",
                      have);
}

void nvdp__give(void *out, const void *result, size_t size) {
    size_t have;
    memcpy(&have, out, sizeof have);
    memcpy((char *)out + sizeof have, (const char *)result + sizeof have,
           (have < size ? have : size) - sizeof have);
}
