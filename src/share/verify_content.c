/* Checks names, values and counts of a shared file (verify.h). */
#include "share/query.h"
#include "share/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- names: nothing else is in the file --- */

struct names {
    struct nvdp__verify *v;
    size_t seen;
    char other[2 * NVDP__VERIFY_NAME]; /* the first name that is not of the format; "": none */
};

static void take_name(struct names *names, const char *name, bool known, bool right_type) {
    names->seen++;
    if ((known && right_type) || names->other[0] != '\0') return;
    nvdp__snprintf(names->other, sizeof names->other, ", one of them: %.*s%s", NVDP__VERIFY_NAME,
                   name, known ? ", whose type can hold more than the values need" : "");
}

static void take_attribute(struct names *names, const struct nvdp__attribute *attribute) {
    const enum nvdp__attribute_type type = nvdp__attribute_find(attribute->name);
    const bool number = type == NVDP__ATTRIBUTE_WHOLE || type == NVDP__ATTRIBUTE_REAL;
    take_name(names, attribute->name, type != NVDP__ATTRIBUTE_NONE,
              number ? attribute->type == NVDP__ATTRIBUTE_WHOLE ||
                           attribute->type == NVDP__ATTRIBUTE_REAL
                     : type != NVDP__ATTRIBUTE_TEXT || attribute->type == NVDP__ATTRIBUTE_TEXT);
}

/* Takes a dataset.  Reading truncates floats that are wider than the format's, and the lost digits could carry a
 * message. */
static void take_dataset(const char *name, int rank, const size_t *shape, const char *type,
                         void *user) {
    static const struct {
        const char *name, *wider; /* first digits of the types of wider floats */
    } all[] = {{"id", ""},     {"label", "6"}, {"log_pi", "36"},
               {"offset", ""}, {"split", ""},  {"z", "36"}};
    struct names *names = user;
    bool known = false, right_type = true;
    (void)rank;
    (void)shape;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(name, all[i].name) != 0) continue;
        known = strcmp(name, "offset") != 0 ||
                nvdp__verify_text_is(names->v, "length_policy", "public");
        right_type = type[0] != 'f' || strchr(all[i].wider, type[1]) == NULL;
    }
    take_name(names, name, known, right_type);
}

/* In a canonical format the comparison of bytes has shown this. */
nvdp_status nvdp__verify_names(struct nvdp__verify *v) {
    static const char what[] = "the file has only what the format defines";
    struct names datasets = {.v = v}, attributes = {.v = v};
    struct nvdp__h5_audit audit = {0};
    NVDP_TRY(nvdp__release_datasets(&v->release, take_dataset, &datasets));
    for (size_t i = 0; i < v->release.attributes.count; i++)
        take_attribute(&attributes, &v->release.attributes.item[i]);
    const char *other = datasets.other[0] != '\0' ? datasets.other : attributes.other;
    if (other[0] != '\0') {
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "%zu datasets, %zu attributes%s",
                           datasets.seen, attributes.seen, other);
        return NVDP_OK;
    }
    if (v->release.format->canonical) {
        nvdp__verify_check(v, NVDP_VERDICT_YES, what,
                           "%zu datasets, %zu attributes, which determine every byte of the file",
                           datasets.seen, attributes.seen);
        return NVDP_OK;
    }
    nvdp_status status = v->release.format->audit(&v->release, &audit);
    if (status != NVDP_OK && status != NVDP_ERR_INPUT) return status;
    if (status != NVDP_OK)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "%s",
                           v->ctx != NULL ? nvdp_context_error(v->ctx) : "");
    else if (audit.fault[0] != '\0')
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "%zu datasets, %zu attributes, and %s",
                           datasets.seen, attributes.seen, audit.fault);
    else
        nvdp__verify_check(v, NVDP_VERDICT_YES, what,
                           "%zu datasets, %zu attributes and the structures of %s in %" PRIu64
                           " bytes; %" PRIu64 " more are unused and zero",
                           datasets.seen, attributes.seen, v->release.format->name,
                           audit.size - audit.unused, audit.unused);
    return NVDP_OK;
}

/* Checks the values of all attributes of the format. */
static void check_attributes(struct nvdp__verify *v) {
    static const char what[] = "every attribute has a value that its name allows";
    const struct nvdp__attributes *list = &v->release.attributes;
    const char *other = NULL;
    size_t maps = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct nvdp__attribute *item = &list->item[i];
        maps += nvdp__query_attribute(item->name);
        if (nvdp__attribute_find(item->name) == NVDP__ATTRIBUTE_NONE) continue;
        if (other == NULL && !nvdp__attribute_fits(item)) other = item->name;
    }
    const size_t needed = nvdp__query_attribute_count(v->held->query);
    if (other != NULL)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "attribute '%.*s' has another value",
                           NVDP__VERIFY_NAME, other);
    else
        nvdp__verify_check(v, nvdp__verdict(maps == needed), what,
                           "%zu attributes, %zu of them for searchers (expected %zu)", list->count,
                           maps, needed);
}

/* --- values --- */

static void check_grid(struct nvdp__verify *v) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double clip = nvdp__verify_real(v, "clip_sequence", INFINITY);
    v->grids = nvdp__release_grids(isfinite(clip) ? clip : 0);
    if (!nvdp__verify_is_whole(v)) {
        nvdp__verify_check(v,
                           nvdp__verdict(nvdp__verify_text_is(v, "nvdp_format", "embeddings/1") &&
                                         !isfinite(clip)),
                           "the grid is the one of the format", "float16%s",
                           isfinite(clip) ? ", whose noise no proof for a sequence clip covers"
                                          : "");
        return;
    }
    bool right = nvdp__verify_text_is(v, "nvdp_format", "embeddings/2") &&
                 shape->grid == v->grids.type && shape->z_exponent == v->grids.z.exponent &&
                 (!shape->weights || shape->log_pi_exponent == v->grids.log_pi.exponent);
    nvdp__verify_check(v, nvdp__verdict(right),
                       "the grid is the mechanism's, the same for every text",
                       "%s, steps of 2^%d; expected %s, 2^%d", nvdp__grid_names[shape->grid],
                       shape->z_exponent, nvdp__grid_names[v->grids.type], v->grids.z.exponent);
}

/* Let S be the sum of squares of n values, which belong to N samples with means of norm at most C and noise of
 * variance 1.  With probability at least 1 - 2 e^-x, S lies between n - 2 sqrt(n x) and n + N C^2 + 2 sqrt((n + 2 N
 * C^2) x) + 2x (Birge 2001, Lemma 8.1).  Rounding every value by at most h/2 changes S by at most h sqrt(n S) + n h. */
static void check_spread(struct nvdp__verify *v) {
    static const double x = 50;
    const double largest = v->largest, square = v->square;
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double clip = nvdp__verify_real(v, "clip_sequence", INFINITY);
    if (!isfinite(clip) || !nvdp__verify_is_whole(v)) return;
    const double n = (double)shape->rows * (double)shape->dim;
    const double means = (double)shape->texts * (double)shape->samples * clip * clip;
    const double rounding = v->held->z_step * (sqrt(n * square) + n);
    const double low = n - 2 * sqrt(n * x) - rounding;
    const double high = n + means + 2 * sqrt((n + 2 * means) * x) + 2 * x + rounding;
    /* a normal exceeds 13 with probability 1e-38 */
    const bool holds = square >= low && square <= high && largest <= clip + 13;
    nvdp__verify_check(
        v, nvdp__verdict(holds),
        "the values spread like noise of variance 1 around means within the clip",
        "mean square %.6g (allowed: %.6g to %.6g), largest value %.4g (at most %.4g)", square / n,
        fmax(low, 0) / n, high / n, largest, clip + 13);
}

static void check_values(struct nvdp__verify *v) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double limit = nvdp__verify_is_whole(v) ? ldexp(v->grids.z.limit, shape->z_exponent)
                                                  : 65504; /* largest float16 */
    nvdp__verify_check(v, nvdp__verdict(v->largest <= (float)limit),
                       "the values are finite and within the grid",
                       "largest value %.6g (at most %.6g)", v->largest, limit);
    check_spread(v);
}

/* Checks the sum of each sample's weights.  Their logarithms were rounded to the nearest step, or in float16 by a
 * relative 2^-11. */
static void check_weights(struct nvdp__verify *v) {
    const struct nvdp__embeddings *held = v->held;
    const struct nvdp__embeddings_shape *shape = &held->shape;
    const double step = nvdp__verify_is_whole(v) ? ldexp(1, shape->log_pi_exponent) : 0;
    double worst = 0, least = 0;
    size_t at = 0;
    bool holds = true;
    if (!shape->weights) return;
    for (size_t k = 0; k < shape->texts * shape->samples; k++) {
        double sum = 0, allowed = 1e-9;
        for (int64_t r = held->offset[k]; r < held->offset[k + 1]; r++) {
            const double weight = exp(held->log_pi[r]);
            const double rounding = step > 0 ? step / 2 : 0x1.01p-11 * fabsf(held->log_pi[r]);
            sum += weight;
            allowed += weight * expm1(rounding);
            least = fmin(least, held->log_pi[r]);
        }
        const double off = fabs(sum - 1);
        holds = holds && off <= allowed * (1 + 1e-6);
        if (off <= worst) continue;
        worst = off;
        at = k;
    }
    const double lowest = step > 0 ? -v->grids.log_pi.limit * step : -INFINITY;
    nvdp__verify_check(
        v, nvdp__verdict(holds && least >= lowest),
        "the weights of every sample sum to 1, up to rounding to the grid",
        "largest error %.3g, in sample %zu of text %zu, counted from 0; smallest log weight %.6g "
        "(at least %.6g)",
        worst, at % shape->samples, at / shape->samples, least, lowest);
}

/* --- counts --- */

int nvdp__by_place(const void *a, const void *b) {
    const struct nvdp__verify_place *p = a, *q = b;
    if (p->split != q->split) return p->split < q->split ? -1 : 1;
    return p->id < q->id ? -1 : p->id > q->id;
}

const char nvdp__no_row_twice[] = "no row number of the texts' file occurs twice";

/* Checks that no row number occurs twice: such a row was released twice as often as the file states.  Two rows may
 * have the same text. */
static nvdp_status check_ids(struct nvdp__verify *v) {
    const struct nvdp__embeddings *held = v->held;
    struct nvdp__verify_place *place = NULL;
    if (held->id == NULL) {
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, nvdp__no_row_twice, "the file has no row numbers");
        return NVDP_OK;
    }
    NVDP_TRY(NVDP__NEW(v->ctx, place, held->shape.texts));
    for (size_t i = 0; i < held->shape.texts; i++) {
        place[i] =
            (struct nvdp__verify_place){held->id[i], held->split != NULL ? held->split[i] : 0};
    }
    qsort(place, held->shape.texts, sizeof *place, nvdp__by_place);
    bool holds = true;
    int64_t twice = 0;
    for (size_t i = 0; i < held->shape.texts && holds; i++) {
        holds = place[i].id >= 0 && (i == 0 || nvdp__by_place(&place[i - 1], &place[i]) != 0);
        twice = place[i].id;
    }
    if (held->split != NULL) {
        v->place = place;
        v->places = held->shape.texts;
    } else {
        free(place);
    }
    nvdp__verify_check(v, nvdp__verdict(holds), nvdp__no_row_twice,
                       holds ? "all row numbers differ"
                             : "row number %" PRId64 " is negative or occurs twice",
                       twice);
    return NVDP_OK;
}

static void check_counts(struct nvdp__verify *v) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    int64_t texts = 0;
    if (!nvdp__verify_has(v, "texts")) {
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, "the number of texts is the stated one",
                           "the file does not state a number");
        return;
    }
    const bool read = nvdp__verify_read(v, nvdp__release_whole(&v->release, "texts", &texts));
    nvdp__verify_check(v, nvdp__verdict(read && texts >= 0 && (uint64_t)texts == shape->texts),
                       "the number of texts is the stated one",
                       "%zu texts with %zu sample%s each; the file states %" PRId64 " texts",
                       shape->texts, shape->samples, shape->samples == 1 ? "" : "s", texts);
}

static void check_generator(struct nvdp__verify *v) {
    char name[NVDP__VERIFY_NAME];
    if (!nvdp__verify_text(v, "generator", sizeof name, name)) {
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, "the noise does not come from a seed",
                           "the file does not state the source of the noise");
        return;
    }
    const bool os = strcmp(name, "os") == 0;
    v->facts.insecure_seed = !os;
    nvdp__verify_check(v, nvdp__verdict(os), "the noise does not come from a seed",
                       os ? "the file states the operating system's generator"
                          : "the file states the generator '%.60s'",
                       name);
}

nvdp_status nvdp__verify_content(struct nvdp__verify *v) {
    nvdp__verify_check(v, NVDP_VERDICT_YES,
                       "the datasets have the shapes, types and ranges of the format",
                       "%zu vectors of %zu numbers%s", v->held->shape.rows, v->held->shape.dim,
                       v->held->shape.weights ? ", with weights" : "");
    check_attributes(v);
    check_grid(v);
    check_values(v);
    check_weights(v);
    check_counts(v);
    NVDP_TRY(check_ids(v));
    check_generator(v);
    return NVDP_OK;
}
