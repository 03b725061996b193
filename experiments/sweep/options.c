#include "options.h"

#include "train/options.h"
#include <string.h>

enum { QUOTE_ROOM = 64 };

bool nvdp__option_name(const char *given, char name[NVDP__OPTION_ROOM]) {
    size_t length = strlen(given);
    if (length >= NVDP__OPTION_ROOM) return false;
    for (size_t i = 0; i <= length; i++) {
        name[i] = given[i] == '-' ? '_' : given[i];
    }
    if (strcmp(name, "lambdas") == 0 || strcmp(name, "seeds") == 0) name[length - 1] = '\0';
    return true;
}

/* The options that stand for the run as a whole are the sweep's to say; those of one call have no
 * place in a grid. */
static bool find(const char *name, struct nvdp__place *place) {
    static const char *const reserved[] = {"out", "task", "method"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strcmp(name, reserved[i]) == 0) return false;
    }
    return nvdp__schema_find(&nvdp__train_schema, name, place) &&
           (place->row->traits & NVDP_TRAIT_UNSAVED) == 0;
}

bool nvdp__option_exists(const char *name) {
    struct nvdp__place place;
    return find(name, &place);
}

bool nvdp__option_is_private(const char *name) {
    struct nvdp__place place;
    return find(name, &place) && (place.row->traits & NVDP_TRAIT_BOTTLENECK) != 0;
}

nvdp_status nvdp__option_check(struct nvdp_context *ctx, const char *where, const char *name,
                               const json_t *value) {
    struct nvdp__place place;
    const char *expected = "text", *text = json_string_value(value);
    bool good = text != NULL;
    if (!find(name, &place))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'", where, name);
    switch (place.row->type) {
    case NVDP_OPTION_FLAG:
        expected = "true or false";
        good = json_is_boolean(value);
        break;
    case NVDP_OPTION_INTEGER:
    case NVDP_OPTION_SEED:
        expected = "a whole number";
        good = json_is_integer(value);
        break;
    case NVDP_OPTION_REAL: /* JSON files have words for infinities */
        expected = "a number";
        good = json_is_number(value) ||
               (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0));
        break;
    default:
        break;
    }
    if (good) return NVDP_OK;
    char found[QUOTE_ROOM] = "";
    size_t length = json_dumpb(value, found, sizeof found - 1, JSON_COMPACT | JSON_ENCODE_ANY);
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s, found %.*s", where, name,
                      expected, (int)(sizeof found - 1),
                      length > 0 && length < sizeof found ? found : "something else");
}

void nvdp__option_set(json_t *config, const char *name, json_t *value) {
    struct nvdp__place place;
    if (!find(name, &place)) return;
    for (size_t i = 0; place.row->sets != NULL && place.row->sets[i] != NULL; i++) {
        nvdp__option_set(config, place.row->sets[i], value);
    }
    if (place.row->sets != NULL) return;
    json_object_set(place.parent == NULL ? config : json_object_get(config, place.parent),
                    place.key, value);
}
