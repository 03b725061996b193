/* Implements attribute lists, and lists the attributes of a release with their types and values. Export and the
 * formats write them; verify and describe read them. Read attributes.inc first: it is the table of all attributes. */
#include "mechanism/method.h"
#include "share/query.h"
#include "share/release.h"

#include "base/pattern.h"
#include "hdf5/hdf5.h"
#include "mechanism/options.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "rdp/options.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <nvdp/dataset.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ATTRIBUTES = 4096 };

/* --- attribute lists --- */

const struct nvdp__attribute *nvdp__attributes_get(const struct nvdp__attributes *list,
                                                   const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->item[i].name, name) == 0) return &list->item[i];
    return NULL;
}

const char *nvdp__attributes_text(const struct nvdp__attributes *list, const char *name) {
    const struct nvdp__attribute *found = nvdp__attributes_get(list, name);
    return found != NULL ? found->text : "";
}

static void release_one(struct nvdp__attribute *item) {
    free(item->name);
    free(item->text);
}

/* Takes ownership of `text`. */
static nvdp_status set(struct nvdp__attributes *list, const char *name, char *text,
                       struct nvdp__attribute value) {
    nvdp_status status = NVDP_OK;
    size_t at = 0;
    value.text = text;
    value.name = nvdp__strdup(list->ctx, name);
    NVDP_TRY_OR_CLEAN(NVDP__MADE(value.text, value.name));
    while (at < list->count && strcmp(list->item[at].name, name) != 0)
        at++;
    if (at == MAX_ATTRIBUTES)
        NVDP_TRY_OR_CLEAN(
            NVDP__BAD_FILE(list, "expected at most %d attributes, found more", MAX_ATTRIBUTES));
    if (at == list->count) {
        NVDP_TRY_OR_CLEAN(
            nvdp__reserve(list->ctx, &list->item, &list->capacity, at + 1, sizeof value));
        list->count++;
    } else {
        release_one(&list->item[at]);
    }
    NVDP__HAND_OVER(&list->item[at], value);
cleanup:
    release_one(&value);
    return status;
}

nvdp_status nvdp__attributes_set_text(struct nvdp__attributes *list, const char *name,
                                      const char *value) {
    return set(list, name, nvdp__strdup(list->ctx, value),
               (struct nvdp__attribute){.type = NVDP__ATTRIBUTE_TEXT});
}

nvdp_status nvdp__attributes_set_whole(struct nvdp__attributes *list, const char *name,
                                       int64_t value) {
    return set(list, name, nvdp__format(list->ctx, "%" PRId64, value),
               (struct nvdp__attribute){
                   .type = NVDP__ATTRIBUTE_WHOLE, .whole = value, .real = (double)value});
}

nvdp_status nvdp__attributes_set_real(struct nvdp__attributes *list, const char *name,
                                      double value) {
    return set(list, name, nvdp__h5_real_text(list->ctx, value),
               (struct nvdp__attribute){.type = NVDP__ATTRIBUTE_REAL, .real = value});
}

nvdp_status nvdp__attributes_parse(struct nvdp__attributes *list, const char *name,
                                   const char *text) {
    const enum nvdp__attribute_type type = nvdp__attribute_find(name);
    char *end = NULL;
    const double number = nvdp__strtod(text, &end);
    if (type == NVDP__ATTRIBUTE_WHOLE)
        return nvdp__attributes_set_whole(list, name, strtoll(text, NULL, 10));
    if (type == NVDP__ATTRIBUTE_TEXT || end == text || *end != '\0')
        return nvdp__attributes_set_text(list, name, text);
    return nvdp__attributes_set_real(list, name, number);
}

static int by_name(const void *a, const void *b) {
    const struct nvdp__attribute *one = a, *two = b;
    return strcmp(one->name, two->name);
}

void nvdp__attributes_sort(struct nvdp__attributes *list) {
    if (list->count > 1) qsort(list->item, list->count, sizeof *list->item, by_name);
}

void nvdp__attributes_release(struct nvdp__attributes *list) {
    for (size_t i = 0; i < list->count; i++)
        release_one(&list->item[i]);
    free(list->item);
    *list = (struct nvdp__attributes){.ctx = list->ctx, .path = list->path};
}

/* --- the values that attributes may have --- */

static bool is_method(const char *text) {
    return nvdp__method_named(text) != NULL;
}

static bool is_task(const char *text) {
    enum nvdp_task_id task;
    return nvdp_task_find(NULL, text, &task) == NVDP_OK;
}

/* Accepts the lines of a statement: printable ASCII, and ends of lines. */
static bool is_statement(const char *text) {
    for (; *text != '\0'; text++)
        if ((*text < 0x20 || *text > 0x7e) && *text != '\n') return false;
    return true;
}

/* Accepts a JSON array of strings as nvdp export writes it. */
static bool is_label_names(const char *text) {
    json_t *names = json_loads(text, 0, NULL), *name;
    size_t i;
    bool fits = json_is_array(names);
    json_array_foreach(names, i, name) {
        fits = fits && json_is_string(name);
    }
    char *again = fits ? json_dumps(names, NVDP__LABEL_NAMES_FORM) : NULL;
    fits = again != NULL && strcmp(again, text) == 0;
    free(again);
    json_decref(names);
    return fits;
}

static const char ENCODER[] = "[A-Za-z0-9._-]{1,63}"; /* as names of models at Hugging Face */
static const char NORMALISATIONS[] =
    "sum: one sample of a text, all that is shared of it, in nats; per_component_dim: sum / "
    "(components x dim), as in the published tables, not a privacy guarantee";
enum { MAX_COUNT = 1LL << 53 }; /* doubles represent smaller whole numbers exactly */

struct rule {
    const char *name;
    enum nvdp__attribute_type type;
    const char *like;               /* a pattern, or NULL */
    bool (*fits)(const char *text); /* a function, or NULL */
    double min, max;                /* of a number */
    bool old; /* of older files, computed from the texts without noise; readers ignore it */
};

static const struct rule *find_rule(const char *name) {
    static const struct rule all[] = {
#define LIKE(pattern) .like = (pattern)
#define FITS(function) .fits = (function)
#define TEXT(name, there, value, rule) {name, NVDP__ATTRIBUTE_TEXT, rule}
#define WHOLE(name, there, value, low, high)                                                       \
    { name, NVDP__ATTRIBUTE_WHOLE, .min = (low), .max = (high) }
#define REAL(name, there, value, low, high)                                                        \
    { name, NVDP__ATTRIBUTE_REAL, .min = (low), .max = (high) }
#include "share/attributes.inc"
#undef TEXT
#undef WHOLE
#undef REAL
        {"nvdp_format", NVDP__ATTRIBUTE_CREATED, LIKE("embeddings/1|embeddings/2")},
        {"grid", NVDP__ATTRIBUTE_CREATED, LIKE("float16|int16|int32")},
        {"z_step", NVDP__ATTRIBUTE_CREATED, .min = 0x1p-30, .max = 0x1p30},
        {"log_pi_step", NVDP__ATTRIBUTE_CREATED, .min = 0x1p-30, .max = 0x1p30},
        {"public_key", NVDP__ATTRIBUTE_TEXT, LIKE("[0-9a-f]{64}")}, /* set in sign.c */
        {"signature", NVDP__ATTRIBUTE_TEXT, LIKE("[0-9a-f]{128}")},
#define OLD(name, type, high) {name, NVDP__ATTRIBUTE_##type, .min = 0, .max = (high), .old = true}
        {"named_share", NVDP__ATTRIBUTE_TEXT, LIKE("above 50 %"), .old = true},
        OLD("ledger_samples", WHOLE, MAX_COUNT),
        OLD("ledger_epsilon", REAL, INFINITY),
        OLD("ledger_delta", REAL, 1),
        OLD("ledger_word_mu", REAL, INFINITY),
        OLD("ledger_persons", WHOLE, MAX_COUNT),
        OLD("ledger_person_texts", WHOLE, MAX_COUNT),
        OLD("ledger_person_samples", WHOLE, MAX_COUNT),
        OLD("ledger_person_epsilon", REAL, INFINITY),
        OLD("ledger_person_mu", REAL, INFINITY),
#undef OLD
        /* name of model_id in older files */
        {"model_fingerprint", NVDP__ATTRIBUTE_TEXT, LIKE("[0-9a-f]{16,64}")},
    };
    static const struct rule map = {"", NVDP__ATTRIBUTE_TEXT, LIKE("f16:[0-9a-f]{4,32768}")};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (strcmp(all[k].name, name) == 0) return &all[k];
    return nvdp__query_attribute(name) ? &map : NULL;
}

enum nvdp__attribute_type nvdp__attribute_find(const char *name) {
    const struct rule *rule = find_rule(name);
    return rule != NULL ? rule->type : NVDP__ATTRIBUTE_NONE;
}

bool nvdp__attribute_is_old(const char *name) {
    const struct rule *rule = find_rule(name);
    return rule != NULL && rule->old;
}

bool nvdp__attribute_fits(const struct nvdp__attribute *attribute) {
    const struct rule *rule = find_rule(attribute->name);
    if (rule == NULL) return false;
    if (rule->like != NULL || rule->fits != NULL)
        return attribute->type == NVDP__ATTRIBUTE_TEXT &&
               (rule->like == NULL || nvdp__matches(rule->like, attribute->text)) &&
               (rule->fits == NULL || rule->fits(attribute->text));
    const bool whole = attribute->type == NVDP__ATTRIBUTE_WHOLE;
    return (whole || attribute->type == NVDP__ATTRIBUTE_REAL) && rule->min <= attribute->real &&
           attribute->real <= rule->max &&
           (whole || rule->type != NVDP__ATTRIBUTE_WHOLE ||
            attribute->real == floor(attribute->real));
}

/* --- the attributes of a release --- */

struct row {
    const char *name;
    bool there;
    enum nvdp__attribute_type type;
    union {
        const char *text;
        int64_t whole;
        double real;
    };
};

/* Copies the name of an encoder's folder, with _ in place of each byte that the attribute may not have. */
static void plain_name(const char *from, char *to) {
    for (; *from != '\0'; from++, to++) {
        const char byte[] = {*from, '\0'};
        *to = nvdp__matches(ENCODER, byte) ? *from : '_';
    }
    *to = '\0';
}

/* Fails if a value is not one that nvdp verify accepts. */
static nvdp_status check_values(const struct nvdp__attributes *list) {
    for (size_t i = 0; i < list->count; i++)
        if (!nvdp__attribute_fits(&list->item[i]))
            return nvdp__fail(list->ctx, NVDP_ERR_UNSUPPORTED,
                              "attribute '%s': cannot write '%s', which the format does not allow",
                              list->item[i].name, list->item[i].text);
    return NVDP_OK;
}

nvdp_status nvdp__release_attributes(struct nvdp__attributes *list,
                                     const struct nvdp__release_facts *facts) {
    const struct nvdp__model_info *info = facts->info;
    const struct nvdp__nvib_config *nvib = &info->nvib;
    const struct nvdp__clip_config *clip = &nvib->clip;
    const struct nvdp_privacy_report *report = &facts->privacy;
    bool weights = facts->form.weights;
    bool single = facts->form.single;
    const struct nvdp__method *method = nvdp__method_row(info->method);
    bool block = method->block;
    bool hidden = single || nvib->length_policy == NVDP_LENGTH_HIDDEN;
    bool padded = weights && nvib->length_policy != NVDP_LENGTH_PUBLIC;
    bool measured = facts->measured && facts->publish;
    static const struct nvdp_pairs_summary no_pairs;
    static const struct nvdp_bdp_column no_column;
    const struct nvdp_pairs_summary *pairs = measured ? report->pairs : &no_pairs;
    const struct nvdp_bdp_column *best = measured ? report->best : &no_column;
    const struct nvdp_bdp_column *published = measured ? report->published : &no_column;
    bool own_noise = method->own_noise; /* the noise has a scale that no other attribute implies */
    double distance = weights && facts->grids != NULL ? nvdp__release_weights_distance(facts) : 0;
    static const struct nvdp__query_map no_query;
    const struct nvdp__query_map *query = facts->query != NULL ? facts->query : &no_query;
    char encoder[sizeof query->encoder];
    plain_name(query->encoder, encoder);
    char statement[NVDP_STATEMENT_SIZE];
    nvdp__statement(facts, sizeof statement, statement);
    const struct row all[] = {
#define TEXT(name, there, value, rule)                                                             \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_TEXT, {                                                       \
            .text = (value)                                                                        \
        }                                                                                          \
    }
#define WHOLE(name, there, value, low, high)                                                       \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_WHOLE, {                                                      \
            .whole = (int64_t)(value)                                                              \
        }                                                                                          \
    }
#define REAL(name, there, value, low, high)                                                        \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_REAL, {                                                       \
            .real = (value)                                                                        \
        }                                                                                          \
    }
#include "share/attributes.inc"
#undef TEXT
#undef WHOLE
#undef REAL
    };
    for (const struct row *a = all; a < all + sizeof all / sizeof all[0]; a++) {
        if (!a->there) continue;
        NVDP_TRY(a->type == NVDP__ATTRIBUTE_TEXT ? nvdp__attributes_set_text(list, a->name, a->text)
                 : a->type == NVDP__ATTRIBUTE_WHOLE
                     ? nvdp__attributes_set_whole(list, a->name, a->whole)
                     : nvdp__attributes_set_real(list, a->name, a->real));
    }
    if (facts->query != NULL) NVDP_TRY(nvdp__query_attributes(list, facts->query));
    return check_values(list);
}
