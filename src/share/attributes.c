/* Implements attribute lists, and lists the attributes of a release with types and values. Export and the formats write
 * attributes; verify and describe read them. Read attributes.inc first: it is the table of all attributes. */
#include "mechanism/mechanism.h"
#include "share/release.h"
#include "share/summarize.h"

#include "base/array.h"
#include "base/f16.h"
#include "base/own.h"
#include "base/sentence.h"
#include "hdf5/hdf5.h"
#include "mechanism/bottleneck_options.h"
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

nvdp_status nvdp__attributes_set(struct nvdp__attributes *list, const char *name, const char *text,
                                 struct nvdp__attribute value) {
    nvdp__auto(release_one) struct nvdp__attribute made = value;
    size_t at = 0;
    made.name = nvdp__strdup(list->ctx, name);
    made.text = nvdp__strdup(list->ctx, text);
    NVDP_TRY(NVDP__MADE(made.name, made.text));
    while (at < list->count && strcmp(list->item[at].name, name) != 0)
        at++;
    if (at == MAX_ATTRIBUTES)
        return NVDP__BAD_FILE(list, "expected at most %d attributes, found more", MAX_ATTRIBUTES);
    if (at == list->count)
        NVDP_TRY(NVDP__PUSH(list->ctx, list->item, list->count, list->capacity,
                            (struct nvdp__attribute){0}));
    const struct nvdp__attribute old = list->item[at];
    list->item[at] = made;
    made = old; /* released at the end of the scope */
    return NVDP_OK;
}

nvdp_status nvdp__attributes_set_text(struct nvdp__attributes *list, const char *name,
                                      const char *value) {
    return nvdp__attributes_set(list, name, value,
                                (struct nvdp__attribute){.type = NVDP__ATTRIBUTE_TEXT});
}

nvdp_status nvdp__attributes_set_whole(struct nvdp__attributes *list, const char *name,
                                       int64_t value) {
    char text[NVDP__NUMBER_TEXT];
    nvdp__snprintf(text, sizeof text, "%" PRId64, value);
    return nvdp__attributes_set(list, name, text,
                                (struct nvdp__attribute){.type = NVDP__ATTRIBUTE_WHOLE,
                                                         .whole = value,
                                                         .real = (double)value});
}

nvdp_status nvdp__attributes_set_real(struct nvdp__attributes *list, const char *name,
                                      double value) {
    nvdp__autofree char *text = nvdp__h5_real_text(list->ctx, value);
    NVDP_TRY(NVDP__MADE(text));
    return nvdp__attributes_set(
        list, name, text, (struct nvdp__attribute){.type = NVDP__ATTRIBUTE_REAL, .real = value});
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

void nvdp__attributes_sort(struct nvdp__attributes *list) {
    NVDP__SORT(list->item, list->count, NVDP__UP(struct nvdp__attribute, name));
}

nvdp_status nvdp__attributes_words(struct nvdp__attributes *list, const char ***words) {
    NVDP_TRY(NVDP__NEW(list->ctx, *words, 2 * list->count + 1));
    nvdp__attributes_sort(list);
    for (size_t i = 0; i < list->count; i++) {
        (*words)[2 * i] = list->item[i].name;
        (*words)[2 * i + 1] = list->item[i].text;
    }
    return NVDP_OK;
}

void nvdp__attributes_release(struct nvdp__attributes *list) {
    for (size_t i = 0; i < list->count; i++)
        release_one(&list->item[i]);
    free(list->item);
    *list = (struct nvdp__attributes){.ctx = list->ctx, .path = list->path};
}

/* --- the public map from a query to its mean, and the decoder of samples --- */

enum {
    CHUNK = 8192, /* numbers per attribute, of four digits each */
    DIGITS = 4,
    MAX_WIDTH = 1 << 16,
    NAME_SIZE = 32
};
static const char MARK[] = "f16:"; /* prefix, so that no attribute is read as a number */

static nvdp_status write_array(struct nvdp__attributes *list, const char *prefix, size_t n,
                               const float *from) {
    nvdp__autofree char *text = NULL;
    char name[NAME_SIZE];
    if (from == NULL) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(list->ctx, text, sizeof MARK + DIGITS * CHUNK));
    for (size_t i = 0; i < n; i += CHUNK) {
        nvdp__snprintf(name, sizeof name, "%s_%zu", prefix, i / CHUNK);
        char *to = text + sizeof MARK - 1;
        memcpy(text, MARK, sizeof MARK - 1);
        for (size_t j = i; j < nvdp__min(n, i + CHUNK); j++) {
            const uint16_t bits = nvdp__f16_from_float(from[j]);
            for (int k = 0; k < DIGITS; k++)
                *to++ = "0123456789abcdef"[bits >> (12 - 4 * k) & 15];
        }
        *to = '\0';
        NVDP_TRY(nvdp__attributes_set_text(list, name, text));
    }
    return NVDP_OK;
}

/* Adds center_0, map_0, map_1, ..., decoder_0, ...: hexadecimal digits, at most 32 KiB per attribute, because HDF5
 * limits an attribute to 64 KiB. */
static nvdp_status set_query(struct nvdp__attributes *list, const struct nvdp__query_map *query) {
    NVDP_TRY(write_array(list, "center", query->width, query->center));
    NVDP_TRY(write_array(list, "map", query->width * query->dim, query->map));
    return write_array(list, "decoder", query->width * query->dim, query->decoder);
}

static size_t chunk_count(const float *array, size_t n) {
    return array != NULL ? (n + CHUNK - 1) / CHUNK : 0;
}

size_t nvdp__query_attribute_count(const struct nvdp__query_map *query) {
    if (query == NULL) return 0;
    return chunk_count(query->center, query->width) +
           chunk_count(query->map, query->width * query->dim) +
           chunk_count(query->decoder, query->width * query->dim);
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

/* Reads n numbers. Finds all attributes before it allocates, so the file's size limits the memory. */
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
            const char c = digits[DIGITS * (i % CHUNK) + j];
            good &= (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
            bits = bits << 4 | ((c <= '9' ? c - '0' : c - 'a' + 10) & 15);
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

void nvdp__query_map_free(struct nvdp__query_map *map) {
    if (map != NULL) nvdp__query_map_release(map);
    free(map);
}

nvdp_status nvdp__query_read(const struct nvdp__release *release, size_t dim,
                             struct nvdp__query_map **out) {
    nvdp__autoptr(nvdp__query_map_free) struct nvdp__query_map *made = NULL;
    *out = NULL;
    const char *vectors = nvdp__attributes_text(&release->attributes, "vectors");
    if (vectors[0] == '\0' && nvdp__attributes_get(&release->attributes, "encoder") == NULL)
        return NVDP_OK;
    NVDP_TRY(NVDP__NEW(release->ctx, made, 1));
    made->dim = dim;
    made->vectors = vectors[0] != '\0';
    made->given_ids = strcmp(vectors, "caller-with-ids") == 0;
    const struct nvdp__place_of places[] = {
        NVDP__TO_TEXT("encoder", made->encoder, made->vectors),
        NVDP__TO_TEXT("vectors_source", made->source, true),
        NVDP__TO_TEXT("encoder_sha256", made->sha256, made->vectors),
        NVDP__TO_TEXT("encoder_pool", made->pool, made->vectors),
        NVDP__TO_SIZE("encoder_max_length", made->max_length, 3, MAX_WIDTH, made->vectors),
        NVDP__TO_SIZE("encoder_empty", made->empty, 0, MAX_WIDTH, made->vectors),
        NVDP__TO_SIZE("encoder_width", made->width, 1, MAX_WIDTH, false)};
    NVDP_TRY(nvdp__release_take(release, sizeof places / sizeof *places, places));
    if (made->vectors && made->encoder[0] != '\0')
        return NVDP__BAD_FILE(release, "expected the attribute 'encoder' or 'vectors', found %s",
                              "both");
    if (!made->vectors && strcmp(made->pool, "mean") != 0 && strcmp(made->pool, "cls") != 0)
        return NVDP__BAD_FILE(
            release, "attribute 'encoder_pool': expected mean or cls, found '%.7s'", made->pool);
    if (dim > made->width)
        return NVDP__BAD_FILE(release,
                              "attribute 'encoder_width': expected at least %zu, the width of the "
                              "vectors, found %zu",
                              dim, made->width);
    made->independent =
        strcmp(nvdp__attributes_text(&release->attributes, "public_texts"), "declared") == 0;
    NVDP_TRY(read_array(release, "center", made->width, &made->center));
    if (dim < made->width) NVDP_TRY(read_array(release, "map", made->width * dim, &made->map));
    if (nvdp__attributes_get(&release->attributes, "decoder_0") != NULL)
        NVDP_TRY(read_array(release, "decoder", made->width * dim, &made->decoder));
    return NVDP__HAND_OVER(out, made);
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
    nvdp__autoptr(json_decref) json_t *names = json_loads(text, 0, NULL);
    nvdp__autofree char *again = NULL;
    json_t *name;
    size_t i;
    bool fits = json_is_array(names);
    json_array_foreach(names, i, name) {
        fits = fits && json_is_string(name);
    }
    again = fits ? json_dumps(names, NVDP__LABEL_NAMES_FORM) : NULL;
    return again != NULL && strcmp(again, text) == 0;
}

nvdp_status nvdp__source_text(struct nvdp_context *ctx, const char *name,
                              struct nvdp__query_map *map) {
    nvdp__autoptr(json_decref) json_t *value = json_string(name);
    nvdp__autofree char *text = json_dumps(value, JSON_ENCODE_ANY | NVDP__LABEL_NAMES_FORM);
    if (text == NULL || name[0] == '\0' || strlen(text) >= sizeof map->source ||
        !is_statement(text))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {vectors-source}: expected a name in UTF-8 of 1 to %zu "
                          "characters, fewer if some are escaped, found '%.60s'",
                          sizeof map->source - 3, name);
    nvdp__snprintf(map->source, sizeof map->source, "%s", text);
    return NVDP_OK;
}

/* Accepts the name of an encoder as nvdp__source_text() writes it. */
static bool is_source(const char *text) {
    nvdp__autoptr(json_decref) json_t *name = json_loads(text, JSON_DECODE_ANY, NULL);
    struct nvdp__query_map map;
    return json_is_string(name) &&
           nvdp__source_text(NULL, json_string_value(name), &map) == NVDP_OK &&
           strcmp(map.source, text) == 0;
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
    double min, max;                /* range of a number */
    /* Only older files have it, computed from the texts without noise; readers ignore it. */
    bool old;
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
#define STATED REAL
#define STATED_WHOLE WHOLE
#define ROUNDED REAL
#include "share/attributes.inc"
        {"nvdp_format", NVDP__ATTRIBUTE_CREATED, LIKE("embeddings/1|embeddings/2|summary/1")},
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

typedef nvdp_status take_row(struct nvdp__attributes *list, const struct row *row, void *user);

/* Visits the rows of the table, with their values for a release with these facts. */
static nvdp_status each_row(struct nvdp__attributes *list, const struct nvdp__release_facts *facts,
                            take_row *take, void *user) {
    const struct nvdp__model_info *info = facts->info;
    const struct nvdp__nvib_config *nvib = &info->nvib;
    const struct nvdp__clip_config *clip = &nvib->clip;
    const struct nvdp_privacy_report *report = &facts->privacy;
    bool weights = facts->form.weights, single = facts->form.single;
    const struct nvdp__method *method = nvdp__method_row(info->method);
    static const struct nvdp__summary_facts no_summary;
    const struct nvdp__summary_facts *summary =
        facts->summary != NULL ? facts->summary : &no_summary;
    const bool samples = facts->summary == NULL;
    bool block = method->block,
         hidden = samples && (single || nvib->length_policy == NVDP_LENGTH_HIDDEN);
    bool padded = weights && nvib->length_policy != NVDP_LENGTH_PUBLIC;
    bool measured = facts->measured && facts->publish;
    static const struct nvdp_pairs_summary no_pairs;
    static const struct nvdp_bdp_column no_column;
    const struct nvdp_pairs_summary *pairs = measured ? report->pairs : &no_pairs;
    const struct nvdp_bdp_column *best = measured ? report->bdp.best : &no_column;
    const struct nvdp_bdp_column *published = measured ? report->bdp.published : &no_column;
    bool own_noise = method->own_noise; /* no other attribute implies the scale of the noise */
    double distance = weights && facts->grids != NULL ? nvdp__release_weights_distance(facts) : 0;
    static const struct nvdp__query_map no_query;
    const struct nvdp__query_map *query = facts->query != NULL ? facts->query : &no_query;
    const bool named = facts->query != NULL && !query->vectors; /* the encoder is known */
    /* Name of the encoder, with _ in place of forbidden bytes. */
    char encoder[sizeof query->encoder] = "";
    for (size_t i = 0; query->encoder[i] != '\0'; i++)
        encoder[i] = nvdp__matches(ENCODER, (const char[]){query->encoder[i], '\0'})
                         ? query->encoder[i]
                         : '_';
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
#define STATED REAL
#define STATED_WHOLE WHOLE
#define ROUNDED(name, there, value, low, high)                                                     \
    REAL(name, there, nvdp__public_number(value), low, high)
#include "share/attributes.inc"
    };
    for (const struct row *a = all; a < all + sizeof all / sizeof all[0]; a++)
        NVDP_TRY(take(list, a, user));
    return NVDP_OK;
}

static nvdp_status set_row(struct nvdp__attributes *list, const struct row *row, void *unused) {
    (void)unused;
    if (!row->there) return NVDP_OK;
    return row->type == NVDP__ATTRIBUTE_TEXT ? nvdp__attributes_set_text(list, row->name, row->text)
           : row->type == NVDP__ATTRIBUTE_WHOLE
               ? nvdp__attributes_set_whole(list, row->name, row->whole)
               : nvdp__attributes_set_real(list, row->name, row->real);
}

nvdp_status nvdp__release_attributes(struct nvdp__attributes *list,
                                     const struct nvdp__release_facts *facts) {
    NVDP_TRY(each_row(list, facts, set_row, NULL));
    if (facts->query != NULL) NVDP_TRY(set_query(list, facts->query));
    for (size_t i = 0; i < list->count; i++) /* nvdp verify accepts no other values */
        if (!nvdp__attribute_fits(&list->item[i]))
            return nvdp__fail(list->ctx, NVDP_ERR_UNSUPPORTED,
                              "attribute '%s': cannot write '%s', which the format does not allow",
                              list->item[i].name, list->item[i].text);
    return NVDP_OK;
}

/* Sets the name in `user` to NULL if this is the name of a row that the release does not have. */
static nvdp_status find_absent(struct nvdp__attributes *unused, const struct row *row, void *user) {
    const char **name = user;
    (void)unused;
    if (*name != NULL && !row->there && strcmp(*name, row->name) == 0) *name = NULL;
    return NVDP_OK;
}

bool nvdp__release_lacks(const struct nvdp__release_facts *facts, const char *name) {
    const char *wanted = name;
    (void)each_row(NULL, facts, find_absent, &wanted);
    return wanted == NULL || nvdp__attribute_is_old(name);
}

void nvdp__release_stated(const struct nvdp__attributes *list, struct nvdp__model_info *info,
                          struct nvdp__release_facts *facts) {
    struct nvdp__nvib_config *nvib = &info->nvib;
    struct nvdp__clip_config *clip = &nvib->clip;
    struct nvdp_pairs_summary no_pairs;
    struct nvdp_bdp_column no_column;
    struct nvdp__summary_facts no_summary;
    struct nvdp__summary_facts *summary = facts->summary != NULL ? facts->summary : &no_summary;
    struct nvdp_pairs_summary *pairs =
        facts->privacy.pairs != NULL ? facts->privacy.pairs : &no_pairs;
    struct nvdp_bdp_column *best =
        facts->privacy.bdp.best != NULL ? facts->privacy.bdp.best : &no_column;
    const struct {
        const char *name;
        double *real;
        size_t *whole;
    } all[] = {
#define TEXT(name, there, value, rule)                                                             \
    { 0 }
#define WHOLE(name, there, value, low, high)                                                       \
    { 0 }
#define REAL(name, there, value, low, high)                                                        \
    { 0 }
#define STATED(name, there, value, low, high)                                                      \
    { name, &(value), NULL }
#define STATED_WHOLE(name, there, value, low, high)                                                \
    { name, NULL, &(value) }
#define ROUNDED STATED
#include "share/attributes.inc"
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct nvdp__attribute *found =
            all[i].name != NULL ? nvdp__attributes_get(list, all[i].name) : NULL;
        if (found == NULL) continue;
        const bool whole = found->type == NVDP__ATTRIBUTE_WHOLE;
        if (all[i].real != NULL && (whole || found->type == NVDP__ATTRIBUTE_REAL))
            *all[i].real = found->real;
        if (all[i].whole != NULL && whole && found->whole >= 0)
            *all[i].whole = (size_t)found->whole;
    }
}
