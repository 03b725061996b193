#include "options.h"

#include <string.h>

/* Options whose name in run.json is another one, or stands in an object that is not searched. */
static const struct {
    const char *name, *parent, *key;
} renamed[] = {
    {"text_column", "columns", "text"},    {"text_pair_column", "columns", "pair"},
    {"label_column", "columns", "label"},  {"regression", "columns", "regression"},
    {"clip_mu", "nvib", "clip_mu_radius"},
};
enum { RENAMED = sizeof renamed / sizeof renamed[0], QUOTE_ROOM = 64 };

bool nvdp__option_name(const char *given, char name[NVDP__OPTION_ROOM]) {
    size_t length = strlen(given);
    if (length >= NVDP__OPTION_ROOM) return false;
    for (size_t i = 0; i <= length; i++) {
        name[i] = given[i] == '-' ? '_' : given[i];
    }
    if (strcmp(name, "lambdas") == 0 || strcmp(name, "seeds") == 0) name[length - 1] = '\0';
    return true;
}

/* Where an option stands: config[parent][key], or config[key] where parent is NULL. */
struct place {
    const char *parent, *key;
};

/* These stand for the run as a whole, or are the sweep's to say. */
static bool is_reserved(const char *name) {
    static const char *const names[] = {"out", "task", "method", "columns"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

static bool find_nested(const json_t *config, const char *name, struct place *place) {
    const char *parent;
    json_t *object;
    json_object_foreach((json_t *)config, parent, object) {
        if (!json_is_object(object) || is_reserved(parent)) continue;
        if (json_object_get(object, name) == NULL) continue;
        *place = (struct place){parent, name};
        return true;
    }
    return false;
}

static bool find(const json_t *config, const char *name, struct place *place) {
    if (is_reserved(name)) return false;
    if (strcmp(name, "lambda") == 0) name = "lambda_g";
    for (size_t i = 0; i < RENAMED; i++) {
        if (strcmp(name, renamed[i].name) != 0) continue;
        *place = (struct place){renamed[i].parent, renamed[i].key};
        return true;
    }
    const json_t *top = json_object_get(config, name);
    if (top == NULL) return find_nested(config, name, place);
    *place = (struct place){NULL, name};
    return !json_is_object(top);
}

static json_t *holder(const json_t *config, const struct place *place) {
    return place->parent == NULL ? (json_t *)config : json_object_get(config, place->parent);
}

const json_t *nvdp__option_value(const json_t *config, const char *name) {
    struct place place;
    return find(config, name, &place) ? json_object_get(holder(config, &place), place.key) : NULL;
}

bool nvdp__option_is_private(const json_t *config, const char *name) {
    struct place place;
    if (!find(config, name, &place)) return false;
    if (place.parent != NULL) return strcmp(place.parent, "columns") != 0;
    return strncmp(name, "lambda", 6) == 0 || strncmp(name, "kl_", 3) == 0;
}

/* A real number's default may be one of the words that JSON files have for infinities. */
static bool is_infinite(const json_t *value) {
    const char *text = json_string_value(value);
    return text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0);
}

static const char *expected_kind(const json_t *fallback) {
    if (json_is_real(fallback) || is_infinite(fallback)) return "a number";
    if (json_is_integer(fallback)) return "a whole number";
    if (json_is_boolean(fallback)) return "true or false";
    return "text";
}

static bool has_kind(const json_t *fallback, const json_t *value) {
    if (json_is_real(fallback) || is_infinite(fallback))
        return json_is_number(value) || is_infinite(value);
    if (json_is_integer(fallback)) return json_is_integer(value);
    if (json_is_boolean(fallback)) return json_is_boolean(value);
    return json_is_string(value);
}

nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *where, const json_t *defaults,
                               const char *name, const json_t *value) {
    const json_t *fallback = nvdp__option_value(defaults, name);
    if (fallback == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'", where, name);
    if (has_kind(fallback, value)) return NVDP_OK;
    char found[QUOTE_ROOM] = "";
    size_t length = json_dumpb(value, found, sizeof found - 1, JSON_COMPACT | JSON_ENCODE_ANY);
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s, found %.*s", where, name,
                      expected_kind(fallback), (int)(sizeof found - 1),
                      length > 0 && length < sizeof found ? found : "something else");
}

void nvdp__option_set(json_t *config, const char *name, json_t *value) {
    struct place place;
    if (!find(config, name, &place)) return;
    json_object_set(holder(config, &place), place.key, value);
    if (strcmp(name, "lambda") == 0) json_object_set(config, "lambda_d", value);
}
