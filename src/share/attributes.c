/* Implements attribute lists, and lists the attributes of a release with their types and values. Export and the
 * formats write them; verify and describe read them. Read attributes.inc first: it is the table of all attributes. */
#include "mechanism/method.h"
#include "share/query.h"
#include "share/release.h"

#include "hdf5/hdf5.h"
#include "mechanism/options.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "rdp/options.h"
#include <inttypes.h>
#include <math.h>
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
    NVDP_TRY(NVDP__MADE(value.text, value.name));
    while (at < list->count && strcmp(list->item[at].name, name) != 0)
        at++;
    if (at == MAX_ATTRIBUTES)
        NVDP_TRY(
            NVDP__BAD_FILE(list, "expected at most %d attributes, found more", MAX_ATTRIBUTES));
    if (at == list->count) {
        NVDP_TRY(nvdp__reserve(list->ctx, &list->item, &list->capacity, at + 1, sizeof value));
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

/* --- the attributes of a release --- */

enum nvdp__attribute_type nvdp__attribute_find(const char *name) {
    static const struct {
        const char *name;
        enum nvdp__attribute_type type;
    } all[] = {
#define TEXT(name, there, value) {name, NVDP__ATTRIBUTE_TEXT}
#define WHOLE(name, there, value)                                                                  \
    { name, NVDP__ATTRIBUTE_WHOLE }
#define REAL(name, there, value)                                                                   \
    { name, NVDP__ATTRIBUTE_REAL }
#include "share/attributes.inc"
#undef TEXT
#undef WHOLE
#undef REAL
        {"nvdp_format", NVDP__ATTRIBUTE_CREATED},
        {"grid", NVDP__ATTRIBUTE_CREATED},
        {"z_step", NVDP__ATTRIBUTE_CREATED},
        {"log_pi_step", NVDP__ATTRIBUTE_CREATED},
        {"public_key", NVDP__ATTRIBUTE_TEXT}, /* set in sign.c */
        {"signature", NVDP__ATTRIBUTE_TEXT},
        {"model_fingerprint", NVDP__ATTRIBUTE_TEXT}, /* name of model_id in older files */
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (strcmp(all[k].name, name) == 0) return all[k].type;
    return nvdp__query_attribute(name) ? NVDP__ATTRIBUTE_TEXT : NVDP__ATTRIBUTE_NONE;
}

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
    char statement[NVDP_STATEMENT_SIZE];
    nvdp__statement(facts, sizeof statement, statement);
    const struct row all[] = {
#define TEXT(name, there, value)                                                                   \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_TEXT, {                                                       \
            .text = (value)                                                                        \
        }                                                                                          \
    }
#define WHOLE(name, there, value)                                                                  \
    {                                                                                              \
        name, there, NVDP__ATTRIBUTE_WHOLE, {                                                      \
            .whole = (int64_t)(value)                                                              \
        }                                                                                          \
    }
#define REAL(name, there, value)                                                                   \
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
        NVDP_RETURN_IF_FAILED(
            a->type == NVDP__ATTRIBUTE_TEXT    ? nvdp__attributes_set_text(list, a->name, a->text)
            : a->type == NVDP__ATTRIBUTE_WHOLE ? nvdp__attributes_set_whole(list, a->name, a->whole)
                                               : nvdp__attributes_set_real(list, a->name, a->real));
    }
    return facts->query != NULL ? nvdp__query_attributes(list, facts->query) : NVDP_OK;
}
