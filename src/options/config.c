/* Configurations: options by name, for one or several kinds of work, with presets and files. The file has, in this
 * order, entries, values, files, presets, conflicts of presets and structs. nvdp_config_set() refuses an unknown
 * option; on the command line, getopt refuses the option (cli/arguments.c). */
#include "options/schema.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct nvdp_option row; /* the row, with parent, place and default filled in */
    void *at;               /* address of the value; NULL for synonyms */
    /* the option of the same name in another kind of work, which has the same value */
    struct entry *twin;
    bool own; /* true for an option of the program */
    bool given;
    const char *as; /* the name that the caller used: the option's name or a synonym */
    /* number of the file that gave the option, from 1; 0 if no file gave it */
    size_t source;
    union nvdp__value kept; /* value of a row that fills no struct */
    /* the default; if a program's row has no default, the previous value in the struct */
    union nvdp__value fallback;
    char *text;  /* text of the current value */
    char *usual; /* text of the default */
    /* value from the preset; value from the preset that is being read; NULL if there is none */
    char *preset, *next;
};

enum {
    PARTS = NVDP__CONFIG_PARTS,
    KNOWN_SIZE = 512,
    MAX_FILE = 1 << 24 /* max bytes of a configuration file */
};

/* One kind of work, and the struct that its options fill. */
struct part {
    const struct nvdp__schema *schema;
    void *values;
};

struct nvdp_config {
    struct nvdp_context *ctx;
    struct part part[PARTS];
    size_t parts;
    struct entry **entry; /* in the order of the help */
    size_t entries, capacity;
    size_t files; /* number of files read */
};

static nvdp_status out_of_memory(const struct nvdp_config *config) {
    return nvdp__fail(config->ctx, NVDP_ERR_MEMORY, "out of memory");
}

static const char threads_name[] = "threads";

static struct entry *find(const struct nvdp_config *config, const char *name) {
    for (size_t i = 0; i < config->entries; i++) {
        if (nvdp__option_same(config->entry[i]->row.name, name)) return config->entry[i];
    }
    return NULL;
}

/* Sets the value of an entry. Copies strings. */
static nvdp_status store(struct nvdp_config *config, struct entry *entry, union nvdp__value value) {
    char number[NVDP__NUMBER_TEXT];
    const char *text = nvdp__option_format(&entry->row, &value, number);
    char *copy = text == NULL ? NULL : nvdp__strdup(config->ctx, text);
    if (text != NULL && copy == NULL) return NVDP_ERR_MEMORY;
    free(entry->text);
    entry->text = copy;
    if (nvdp__option_is_text(&entry->row)) value.text = copy;
    for (; entry != NULL; entry = entry->twin)
        memcpy(entry->at, &value, nvdp__option_width(&entry->row));
    return NVDP_OK;
}

/* Inserts an entry after the option that the row refers to, or at the end but before `threads`. Takes over the
 * entry. */
static nvdp_status add_entry(struct nvdp_config *config, struct entry *entry) {
    size_t at = config->entries;
    if (at > 0 && strcmp(config->entry[at - 1]->row.name, threads_name) == 0) at--;
    struct entry *known = find(config, entry->row.name);
    if (known != NULL) {
        struct entry *last = entry; /* the last of the entry's twins */
        while (last->twin != NULL)
            last = last->twin;
        last->twin = known->twin;
        known->twin = entry;
        nvdp_status status = NVDP_OK;
        if (known->at != NULL)
            status = store(config, known, nvdp__option_at(&known->row, known->at));
        if (status != NVDP_OK) { /* after a failure, the caller still owns `entry` */
            known->twin = last->twin;
            last->twin = NULL;
        }
        return status;
    }
    for (size_t i = 0; i < config->entries && entry->row.after != NULL; i++)
        if (nvdp__option_same(config->entry[i]->row.name, entry->row.after)) at = i + 1;
    NVDP_TRY(NVDP__PUSH(config->ctx, config->entry, config->entries, config->capacity, entry));
    memmove(&config->entry[at + 1], &config->entry[at],
            (config->entries - 1 - at) * sizeof *config->entry);
    config->entry[at] = entry;
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
    entry->fallback = holds ? nvdp__option_at(row, entry->at) : nvdp__option_default(row);
    nvdp_status status = add_entry(config, entry);
    if (status != NVDP_OK) free(entry);
    if (status != NVDP_OK || row->sets != NULL) return status;
    NVDP_TRY(store(config, entry, entry->fallback));
    if (entry->text != NULL) entry->usual = nvdp__strdup(config->ctx, entry->text);
    entry->row.default_value = entry->usual;
    return entry->text != NULL && entry->usual == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}

nvdp_status nvdp__config_create(struct nvdp_context *ctx, const struct nvdp__schema *schema,
                                struct nvdp_config **out) {
    struct nvdp__place place;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config =
        nvdp__calloc(ctx, 1, sizeof *config);
    if (config == NULL) return NVDP_ERR_MEMORY;
    config->ctx = ctx;
    if (schema != NULL) {
        config->part[0] = (struct part){schema, nvdp__calloc(ctx, 1, schema->size + sizeof(int))};
        config->parts = 1;
        if (config->part[0].values == NULL) return NVDP_ERR_MEMORY;
        for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
            struct nvdp_option row = *place.row;
            row.parent = place.parent;
            row.group = place.group;
            row.offset = place.offset;
            NVDP_TRY(add_row(config, &row, config->part[0].values, false));
        }
        /* Every kind of work has this option. Its value is stored after the struct of the schema. */
        char usual[NVDP__NUMBER_TEXT];
        nvdp__snprintf(usual, sizeof usual, "%d", nvdp_context_threads(ctx));
        const struct nvdp_option threads = {.name = threads_name,
                                            .type = NVDP_OPTION_INTEGER,
                                            .placeholder = "N",
                                            .help = "number of threads (default: all processors)",
                                            .default_value = usual,
                                            .min = 1,
                                            .max = 1024,
                                            .group = "Common options:",
                                            .traits = NVDP_TRAIT_NO_EFFECT | NVDP_TRAIT_NO_DEFAULT |
                                                      NVDP_TRAIT_UNSAVED,
                                            .offset = schema->size,
                                            .width = sizeof(int)};
        NVDP_TRY(add_row(config, &threads, config->part[0].values, false));
    }
    return NVDP__HAND_OVER(out, config);
}

nvdp_status nvdp__config_join(struct nvdp_config *config, struct nvdp_config *other) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *owned = other;
    if (config->parts + owned->parts > PARTS)
        return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                          "expected a configuration with at most %d parts", PARTS);
    for (size_t i = 0; i < owned->parts; i++)
        config->part[config->parts++] = owned->part[i];
    owned->parts = 0;
    for (size_t i = 0; i < owned->entries; i++) {
        NVDP_TRY(add_entry(config, owned->entry[i]));
        owned->entry[i] = NULL;
    }
    return NVDP_OK;
}

#define KIND(name) &nvdp__kind_##name,
const struct nvdp__kind *const nvdp__kinds[] = {
#include "options/kinds.inc"
    NULL};
#undef KIND

/* Finds the kind of work whose name is the first `size` bytes of `name`. */
static nvdp_status find_kind(struct nvdp_context *ctx, const char *name, size_t size,
                             const struct nvdp__kind **out) {
    char known[KNOWN_SIZE];
    struct nvdp__writer writer = {known, sizeof known, 0};
    nvdp__autofree char *given = nvdp__format(ctx, "%.*s", (int)size, name);
    if (given == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; nvdp__kinds[i] != NULL; i++) {
        *out = nvdp__kinds[i];
        if (nvdp__option_same((*out)->name, given)) return NVDP_OK;
        nvdp__append(&writer, "%s%s", i > 0 ? ", " : "", (*out)->name);
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "kind: expected one of %s, found '%s'", known, given);
}

nvdp_status nvdp_config_create(struct nvdp_context *ctx, const char *kinds,
                               struct nvdp_config **out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *config = NULL;
    struct nvdp_config *next = NULL;
    const struct nvdp__kind *kind = NULL;
    if (kinds == NULL) return nvdp__config_create(ctx, NULL, out);
    for (const char *name = kinds, *end = name; end != NULL; name = end + 1) {
        end = strchr(name, ',');
        NVDP_TRY(find_kind(ctx, name, end != NULL ? (size_t)(end - name) : strlen(name), &kind));
        for (size_t i = 0; i < PARTS && kind->part[i] != NULL; i++) {
            NVDP_TRY(nvdp__config_create(ctx, kind->part[i], &next));
            if (config != NULL)
                NVDP_TRY(nvdp__config_join(config, next));
            else
                config = next;
        }
    }
    return NVDP__HAND_OVER(out, config);
}

nvdp_status nvdp_config_copy(const struct nvdp_config *config, struct nvdp_config **out) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *copy = NULL;
    struct nvdp_config *next = NULL;
    NVDP_TRY(nvdp__config_create(config->ctx, NULL, &copy));
    for (size_t i = 0; i < config->parts; i++) {
        NVDP_TRY(nvdp__config_create(config->ctx, config->part[i].schema, &next));
        NVDP_TRY(nvdp__config_join(copy, next));
    }
    for (size_t i = 0; i < copy->entries; i++) {
        struct entry *to = copy->entry[i];
        const struct entry *from = find(config, to->row.name);
        to->given = from->given;
        to->as = from->as;
        to->source = from->source;
        if (from->preset != NULL) to->preset = nvdp__strdup(config->ctx, from->preset);
        if (from->preset != NULL && to->preset == NULL) return NVDP_ERR_MEMORY;
        if (to->at != NULL) NVDP_TRY(store(copy, to, nvdp__option_at(&from->row, from->at)));
    }
    return NVDP__HAND_OVER(out, copy);
}

void nvdp_config_free(struct nvdp_config *config) {
    if (config == NULL) return;
    for (size_t i = 0; i < config->entries; i++)
        for (struct entry *entry = config->entry[i], *twin; entry != NULL; entry = twin) {
            twin = entry->twin;
            free(entry->text);
            free(entry->usual);
            free(entry->preset);
            free(entry->next);
            free(entry);
        }
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
        union nvdp__value value;
        if (find(config, row.name) != NULL)
            return nvdp__fail_option(config->ctx, NVDP_ERR_ARGUMENT, row.name, " is defined twice");
        if (row.type == NVDP_OPTION_CHOICE && row.choices == NULL)
            return nvdp__fail_option(config->ctx, NVDP_ERR_ARGUMENT, row.name,
                                     ": expected a list of choices, found none");
        const struct nvdp_option usual = {.type = row.type};
        const bool whole = row.type == NVDP_OPTION_INTEGER && row.width == sizeof(int);
        if (row.width != 0 && !whole && row.width != nvdp__option_width(&usual))
            return nvdp__fail_option(config->ctx, NVDP_ERR_ARGUMENT, row.name,
                                     ": expected a struct member of %zu bytes, found one of %zu",
                                     nvdp__option_width(&usual), row.width);
        if (row.default_value != NULL && !nvdp__option_parse(&row, row.default_value, &value))
            return nvdp__fail_option(config->ctx, NVDP_ERR_ARGUMENT, row.name,
                                     ": expected %s as its default, found '%s'",
                                     nvdp__option_expected(&row, " ").text, row.default_value);
        NVDP_TRY(add_row(config, &row, values, true));
    }
}

/* Returns true if the caller or the preset gave a value. */
static bool is_set(const struct entry *entry) {
    return entry->given || entry->preset != NULL;
}

static bool implies(const struct nvdp__implied *implied, const struct entry *when) {
    const char *is = implied->is != NULL ? implied->is : when->usual;
    if (when->text == NULL || is == NULL)
        return when->text != NULL; /* a value without text is the default */
    return (strcmp(when->text, is) == 0) == (implied->is != NULL);
}

/* Applies implied defaults to options that were not given. */
static nvdp_status imply(struct nvdp_config *config, const struct nvdp__schema *schema) {
    for (size_t i = 0; i < schema->implications; i++) {
        struct entry *entry = find(config, schema->implied[i].option);
        if (!is_set(entry)) NVDP_TRY(store(config, entry, entry->fallback));
    }
    for (size_t i = 0; i < schema->implications; i++) {
        const struct nvdp__implied *implied = &schema->implied[i];
        struct entry *entry = find(config, implied->option);
        union nvdp__value value;
        if (is_set(entry) || !implies(implied, find(config, implied->when))) continue;
        (void)nvdp__option_parse(&entry->row, implied->value, &value);
        NVDP_TRY(store(config, entry, value));
    }
    return NVDP_OK;
}

/* Parses `text`. `path` is the file that gives the text; NULL if no file does. */
static nvdp_status read_value(struct nvdp_config *config, const struct entry *entry,
                              const char *path, const char *text, union nvdp__value *value) {
    if (!nvdp__option_parse(&entry->row, text, value))
        return path != NULL
                   ? nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                                "%s: key '%s': expected %s, found '%s'", path, entry->row.name,
                                nvdp__option_expected(&entry->row, ", ").text, text)
                   : nvdp__fail_option(config->ctx, NVDP_ERR_ARGUMENT, entry->row.name,
                                       ": expected %s, found '%s'",
                                       nvdp__option_expected(&entry->row, " ").text, text);
    return nvdp__option_check(config->ctx, path, &entry->row, value);
}

/* The source of a value: the caller, or a preset that is being read. */
enum origin { GIVEN, PRESET };

static nvdp_status take_preset(struct nvdp_config *config, const char *name);

/* Fails if the caller, or one file, gives an option under two of its names, because no order decides which value
 * counts. */
static nvdp_status check_name(struct nvdp_config *config, const struct entry *entry, const char *as,
                              const char *path) {
    const size_t source = path != NULL ? config->files : 0;
    if (!entry->given || entry->source != source || strcmp(entry->as, as) == 0) return NVDP_OK;
    return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                      path != NULL ? "%s: keys '%s' and '%s' set the same option; keep one of them"
                                   : "%soptions %s and %s set the same option; keep one of them",
                      path != NULL ? path : "",
                      path != NULL ? entry->as : nvdp__as_option(config->ctx, entry->as).text,
                      path != NULL ? as : nvdp__as_option(config->ctx, as).text);
}

/* Gives a value to an option. `as` is the name that the caller used. */
static nvdp_status give(struct nvdp_config *config, struct entry *entry, const char *as,
                        const char *path, const char *text, enum origin origin) {
    union nvdp__value value = entry->fallback;
    const char *const *sets = entry->row.sets;
    const bool preset = (entry->row.traits & NVDP_TRAIT_PRESET) != 0;
    if (preset && nvdp__preset_name(text) != text) {
        nvdp__log(config->ctx, NVDP_LOG_NOTICE,
                  "preset %s is now called %s: it sets a price per nat of divergence and gives no "
                  "guarantee over all texts; preset certified gives one",
                  text, nvdp__preset_name(text));
        text = nvdp__preset_name(text);
    }
    const char *value_text = text != NULL ? text : entry->preset;
    if (value_text != NULL) NVDP_TRY(read_value(config, entry, path, value_text, &value));
    for (size_t i = 0; sets != NULL && sets[i] != NULL; i++)
        NVDP_TRY(give(config, find(config, sets[i]), sets[1] == NULL ? as : sets[i], path, text,
                      origin));
    if (sets != NULL) return NVDP_OK;
    if (origin == PRESET) {
        free(entry->next);
        entry->next = nvdp__strdup(config->ctx, text);
        return entry->next == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
    }
    if (text != NULL) NVDP_TRY(check_name(config, entry, as, path));
    if (preset) NVDP_TRY(take_preset(config, text));
    NVDP_TRY(store(config, entry, value));
    entry->given = text != NULL;
    entry->as = as;
    entry->source = path != NULL ? config->files : 0;
    for (size_t i = 0; i < config->parts; i++)
        NVDP_TRY(imply(config, config->part[i].schema));
    return NVDP_OK;
}

nvdp_status nvdp_config_set(struct nvdp_config *config, const char *name, const char *value) {
    struct entry *entry = find(config, name);
    if (entry == NULL) {
        struct nvdp__guess guess = {.word = name};
        for (size_t i = 0; i < config->entries; i++)
            nvdp__guess(&guess, config->entry[i]->row.name);
        const bool names = nvdp_context_option_style(config->ctx) == NVDP_OPTION_STYLE_NAME;
        for (char *c = guess.text; names && *c != '\0'; c++)
            if (*c == '-') *c = '_';
        return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT, "unknown option '%s'%s",
                          nvdp__as_option(config->ctx, name).text, guess.text);
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

const char *nvdp__config_given(const struct nvdp_config *config, const char *const *names) {
    for (size_t i = 0; i < config->entries; i++) {
        const struct entry *entry = config->entry[i];
        const char *const *known = names;
        while (*known != NULL && strcmp(*known, entry->row.name) != 0)
            known++;
        if (*known != NULL && entry->given) return *known;
    }
    return NULL;
}

size_t nvdp_config_count(const struct nvdp_config *config) {
    return config->entries;
}

const struct nvdp_option *nvdp_config_option(const struct nvdp_config *config, size_t i) {
    return i < config->entries ? &config->entry[i]->row : NULL;
}

/* Finds the option for a file's key in the object `parent`. If parent is NULL, the key is in the outermost object,
 * where names of options are accepted, too. */
static struct entry *find_key(const struct nvdp_config *config, const char *parent,
                              const char *key) {
    for (size_t i = 0; i < config->entries; i++) {
        char own[NVDP__KEY_SIZE];
        const struct nvdp_option *row = &config->entry[i]->row;
        nvdp__option_key(row, own);
        bool here = parent == NULL || (row->parent != NULL && strcmp(parent, row->parent) == 0);
        if (here &&
            ((parent == NULL && nvdp__option_same(row->name, key)) || strcmp(own, key) == 0))
            return config->entry[i];
    }
    return NULL;
}

/* Fails because of an unknown key, and suggests a similar one. */
static nvdp_status unknown_key(const struct nvdp_config *config, const char *path,
                               const char *parent, const char *key) {
    struct nvdp__guess guess = {.word = key};
    for (size_t i = 0; i < config->entries; i++) {
        char own[NVDP__KEY_SIZE];
        const struct nvdp_option *row = &config->entry[i]->row;
        nvdp__option_key(row, own);
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
                                const json_t *object, enum origin origin) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        if (parent == NULL && json_is_object(value) && is_parent(config, key)) {
            NVDP_TRY(load_members(config, path, key, value, origin));
            continue;
        }
        struct entry *entry = find_key(config, parent, key);
        bool remark = entry == NULL && parent == NULL && strcmp(key, "description") == 0;
        if (remark && json_is_string(value)) continue;
        if (entry != NULL && origin == PRESET && (entry->row.traits & NVDP_TRAIT_PRESET) != 0)
            return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                              "%s: key '%s': a preset cannot name another preset", path, key);
        if (entry == NULL || (entry->own && (entry->row.traits & NVDP_TRAIT_UNSAVED) != 0))
            return unknown_key(config, path, parent, key);
        if (json_is_null(value) && nvdp__option_is_text(&entry->row)) continue;
        NVDP_TRY(
            nvdp__option_check_json(config->ctx, NVDP_ERR_ARGUMENT, path, key, &entry->row, value));
        /* saved lists are strings of joined items; in a hand-written list, a string is one item */
        bool list =
            entry->row.type == NVDP_OPTION_LIST && (entry->row.traits & NVDP_TRAIT_UNSAVED) != 0;
        nvdp__autofree char *text = nvdp__option_text(value, list);
        if (text == NULL) return out_of_memory(config);
        NVDP_TRY(give(config, entry, entry->row.name, path, text, origin));
    }
    return NVDP_OK;
}

/* Loads the contents of a file; `path` is where they came from. */
static nvdp_status load(struct nvdp_config *config, const char *path, const char *bytes,
                        size_t count, enum origin origin) {
    json_error_t error;
    nvdp__autoptr(json_decref) json_t *root =
        json_loadb(bytes, count, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
        return nvdp__fail(config->ctx, NVDP_ERR_INPUT, "%s:%d: %s", path, error.line, error.text);
    config->files += origin == GIVEN;
    if (json_is_object(root)) return load_members(config, path, NULL, root, origin);
    return nvdp__fail(config->ctx, NVDP_ERR_INPUT, "%s: expected an object of options, found %s",
                      path, nvdp__json_type(root));
}

static nvdp_status load_file(struct nvdp_config *config, const char *path, enum origin origin) {
    nvdp__autofree char *bytes = NULL;
    size_t count = 0;
    NVDP_TRY(nvdp__read_stream(config->ctx, path, MAX_FILE, &bytes, &count));
    const size_t mark = nvdp__byte_order_mark(bytes, count);
    return load(config, path, bytes + mark, count - mark, origin);
}

nvdp_status nvdp_config_load(struct nvdp_config *config, const char *path) {
    return load_file(config, path, GIVEN);
}

nvdp_status nvdp_config_load_text(struct nvdp_config *config, const char *source,
                                  const char *text) {
    return load(config, source, text, strlen(text), GIVEN);
}

/* --- presets --- */

const char *nvdp_preset(size_t i, const char **text) {
    size_t last = 0;
    while (last < i && nvdp__presets[last].name != NULL)
        last++;
    if (text != NULL) *text = nvdp__presets[last].text;
    return nvdp__presets[last].name;
}

/* Reads the values of a preset into `next` of the preset's options. */
static nvdp_status read_preset(struct nvdp_config *config, const char *name) {
    char source[NVDP__KEY_SIZE];
    const struct nvdp__preset *preset = nvdp__presets;
    if (strchr(name, '/') != NULL || nvdp__ends_with(name, ".json"))
        return load_file(config, name, PRESET);
    while (preset->name != NULL && strcmp(preset->name, name) != 0)
        preset++;
    if (preset->name == NULL) {
        char text[NVDP__MESSAGE_SIZE] = "";
        struct nvdp__writer list = {text, sizeof text, 0};
        for (const struct nvdp__preset *one = nvdp__presets; one->name != NULL; one++) {
            nvdp__autoptr(json_decref) json_t *root = json_loads(one->text, 0, NULL);
            const char *line = json_string_value(json_object_get(root, "description"));
            nvdp__append(&list, "%s%s (%s)", one == nvdp__presets ? "" : ", ", one->name,
                         line != NULL ? line : "");
        }
        return nvdp__fail(config->ctx, NVDP_ERR_ARGUMENT,
                          "option {preset}: expected %s, or the path of an options file (with '/' "
                          "or ending in .json), found '%s'",
                          text, name);
    }
    nvdp__snprintf(source, sizeof source, "preset %s", name);
    return load(config, source, preset->text, strlen(preset->text), PRESET);
}

/* Replaces the previous preset; NULL removes it. Changes nothing if the new preset cannot be read. */
static nvdp_status take_preset(struct nvdp_config *config, const char *name) {
    nvdp_status status = name != NULL ? read_preset(config, name) : NVDP_OK;
    bool read = status == NVDP_OK;
    for (size_t i = 0; i < config->entries; i++) {
        struct entry *entry = config->entry[i];
        bool changes = read && (entry->preset != NULL || entry->next != NULL);
        char *unused = changes ? entry->preset : entry->next;
        union nvdp__value value = entry->fallback;
        if (changes) entry->preset = entry->next;
        entry->next = NULL;
        free(unused);
        if (entry->preset != NULL) (void)nvdp__option_parse(&entry->row, entry->preset, &value);
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

static nvdp_status check_parts(const struct nvdp_config *config) {
    for (size_t i = 0; i < config->parts; i++) {
        const struct part *part = &config->part[i];
        NVDP_TRY(nvdp__schema_check(config->ctx, part->schema, part->values));
    }
    return NVDP_OK;
}

/* ---- conflicts between a preset and given options ---- */

/* Returns true if the options become consistent when the option `without` is not given or loses the preset's value. */
static bool repairs(const struct nvdp_config *config, const struct entry *without) {
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *copy = NULL;
    if (nvdp_config_copy(config, &copy) != NVDP_OK) return false;
    struct entry *entry = find(copy, without->row.name);
    /* NULL for an option of the program, which has no effect on results */
    if (entry != NULL && !entry->given) {
        free(entry->preset);
        entry->preset = NULL;
    }
    return entry != NULL && nvdp_config_set(copy, entry->row.name, NULL) == NVDP_OK &&
           check_parts(copy) == NVDP_OK;
}

static bool of_preset(const struct entry *entry) {
    return entry->preset != NULL && !entry->given;
}

nvdp_status nvdp__config_blame(const struct nvdp_config *config, nvdp_status status) {
    const struct entry *preset = NULL, *given = NULL, *set = NULL;
    char reason[NVDP__MESSAGE_SIZE];
    for (size_t i = 0; i < config->entries; i++)
        if ((config->entry[i]->row.traits & NVDP_TRAIT_PRESET) != 0) preset = config->entry[i];
    if (status != NVDP_ERR_ARGUMENT || preset == NULL || preset->text == NULL) return status;
    nvdp__snprintf(reason, sizeof reason, "%s", nvdp_context_error(config->ctx));
    const struct nvdp__blame blame = nvdp__blame(config->ctx);
    const struct entry *named = find(config, blame.option);
    if (named == preset) return status;
    if (named != NULL && of_preset(named)) set = named;
    const bool conflict = check_parts(config) != NVDP_OK && repairs(config, preset);
    if (conflict && named != NULL && named->given && repairs(config, named)) given = named;
    for (size_t i = 0; conflict && i < config->entries; i++) {
        const struct entry *entry = config->entry[i];
        if (given == NULL && entry->given && entry != preset && repairs(config, entry))
            given = entry;
        if (set == NULL && of_preset(entry) && repairs(config, entry)) set = entry;
    }
    if (!conflict && set == NULL) {
        nvdp_context_set_error(config->ctx, reason);
        nvdp__set_blame(config->ctx, blame);
        return status;
    }
    char sets[256] = "", with[256] = "the other options";
    if (set != NULL)
        nvdp__snprintf(sets, sizeof sets, " sets %s %s%s",
                       nvdp__as_option(config->ctx, set->row.name).text, set->text,
                       conflict ? ", which" : "");
    if (given != NULL)
        nvdp__snprintf(with, sizeof with, "%s %s", nvdp__as_option(config->ctx, given->as).text,
                       given->text);
    return nvdp__fail(config->ctx, status, "option {preset}: %s%s%s%s (%s)", preset->text, sets,
                      conflict ? " conflicts with " : "", conflict ? with : "", reason);
}

nvdp_status nvdp_config_check(const struct nvdp_config *config) {
    return nvdp__config_blame(config, check_parts(config));
}

nvdp_status nvdp_config_json(const struct nvdp_config *config, char **out) {
    for (size_t i = 0; i < config->parts; i++)
        NVDP_TRY(
            nvdp__schema_check_texts(config->ctx, config->part[i].schema, config->part[i].values));
    nvdp__autoptr(json_decref) json_t *object = json_object();
    for (size_t i = 0; i < config->parts; i++)
        if (json_object_update_new(
                object, nvdp__schema_json(config->part[i].schema, config->part[i].values)) != 0)
            return out_of_memory(config);
    return nvdp__json_text(config->ctx, json_incref(object), "configuration", out);
}

nvdp_status nvdp__config_values(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp__schema *schema, void *values) {
    for (size_t i = 0; config != NULL && i < config->parts; i++) {
        const struct entry *threads = find(config, threads_name);
        if (config->part[i].schema != schema) continue;
        memcpy(values, config->part[i].values, schema->size);
        if (!is_set(threads)) return NVDP_OK;
        return nvdp_context_set_threads(ctx, nvdp__option_at(&threads->row, threads->at).whole);
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "expected a configuration of %s, found %s",
                      schema->kind,
                      config == NULL || config->parts == 0 ? "none" : config->part[0].schema->kind);
}

nvdp_status nvdp__config_open(struct nvdp_context *ctx, const struct nvdp_config *config,
                              const struct nvdp__schema *schema, void *values) {
    NVDP_TRY(nvdp__config_values(ctx, config, schema, values));
    return nvdp__config_blame(config, nvdp__schema_check(ctx, schema, values));
}

nvdp_status nvdp__config_continue(struct nvdp_context *ctx, const struct nvdp_config *config,
                                  const struct nvdp__schema *schema, void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        const struct entry *entry = find(config, place.row->name);
        const struct nvdp_option *row = place.row;
        if (entry->at == NULL) continue;
        char number[NVDP__NUMBER_TEXT];
        void *at = (char *)values + place.offset;
        union nvdp__value value = nvdp__option_at(row, at);
        const char *earlier = nvdp__option_format(row, &value, number);
        if ((row->traits & NVDP_TRAIT_NO_EFFECT) != 0) {
            bool call =
                /* nothing is known about the earlier call */
                (row->traits & NVDP_TRAIT_UNSAVED) != 0;
            if (entry->given || call) memcpy(at, entry->at, row->width);
        } else if (entry->given &&
                   (earlier == NULL || entry->text == NULL || strcmp(earlier, entry->text) != 0)) {
            return nvdp__fail_option(
                ctx, NVDP_ERR_ARGUMENT, row->name,
                ": a resumed run keeps its configuration: expected %s, found %s",
                earlier != NULL ? earlier : "none", entry->text != NULL ? entry->text : "none");
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__config_take(struct nvdp_config *config, const struct nvdp__schema *schema,
                              const void *values) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(schema, i, &place); i++) {
        if (place.row->sets != NULL) continue;
        union nvdp__value value = nvdp__option_at(place.row, (const char *)values + place.offset);
        NVDP_TRY(store(config, find(config, place.row->name), value));
    }
    return NVDP_OK;
}
