/* Checks names, values and counts of a shared file (verify.h). */
#include "base/array.h"
#include "mechanism/mechanism.h"
#include "share/release.h"
#include "share/verify.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

/* --- names: the file contains nothing else --- */

struct names {
    struct nvdp__verify *v;
    size_t seen;
    char other
        /* The first name that the format does not define; "" if there is none. */
        [2 * NVDP__VERIFY_NAME];
};

static void take_name(struct names *names, const char *name, bool known, bool right_type) {
    names->seen++;
    if ((known && right_type) || names->other[0] != '\0') return;
    nvdp__snprintf(names->other, sizeof names->other, ", one of them: %.*s%s", NVDP__VERIFY_NAME,
                   name, known ? ", whose type can hold more than the values need" : "");
}

/* Takes a dataset.  Reports floats that are wider than the format's floats: reading truncates them, and the lost digits
 * could hide data. */
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

/* Checks the names.  In a canonical format, the comparison of bytes has checked them. */
nvdp_status nvdp__verify_names(struct nvdp__verify *v) {
    static const char what[] = "the file has only what the format defines";
    struct names datasets = {.v = v}, attributes = {.v = v};
    struct nvdp__h5_audit audit = {0};
    NVDP_TRY(nvdp__release_datasets(&v->release, take_dataset, &datasets));
    for (size_t i = 0; i < v->release.attributes.count; i++) {
        const struct nvdp__attribute *of = &v->release.attributes.item[i];
        const enum nvdp__attribute_type type = nvdp__attribute_find(of->name);
        const bool number = of->type == NVDP__ATTRIBUTE_WHOLE || of->type == NVDP__ATTRIBUTE_REAL;
        take_name(&attributes, of->name, type != NVDP__ATTRIBUTE_NONE,
                  type == NVDP__ATTRIBUTE_WHOLE || type == NVDP__ATTRIBUTE_REAL ? number
                  : type == NVDP__ATTRIBUTE_TEXT ? of->type == NVDP__ATTRIBUTE_TEXT
                                                 : true);
    }
    const char *other = datasets.other[0] != '\0' ? datasets.other : attributes.other;
    if (other[0] != '\0')
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what, "%zu datasets, %zu attributes%s",
                                  datasets.seen, attributes.seen, other);
    if (v->release.format->canonical) {
        return nvdp__verify_check(
            v, NVDP_VERDICT_YES, what,
            "%zu datasets, %zu attributes, which determine every byte of the file", datasets.seen,
            attributes.seen);
    }
    nvdp_status status = nvdp__h5_audit(v->release.h5, &audit);
    if (status != NVDP_OK && status != NVDP_ERR_INPUT) return status;
    if (status != NVDP_OK)
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what, "%s",
                                  v->ctx != NULL ? nvdp_context_error(v->ctx) : "");
    if (audit.fault[0] != '\0')
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what, "%zu datasets, %zu attributes, and %s",
                                  datasets.seen, attributes.seen, audit.fault);
    return nvdp__verify_check(v, NVDP_VERDICT_YES, what,
                              "%zu datasets, %zu attributes and the structures of %s in %" PRIu64
                              " bytes; %" PRIu64 " more are unused and zero",
                              datasets.seen, attributes.seen, v->release.format->name,
                              audit.size - audit.unused, audit.unused);
}

void nvdp__verify_attributes(struct nvdp__verify *v) {
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
    if (!nvdp__is_whole(&v->held->shape)) {
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

/* Checks the values.  Let S be the sum of squares of n values, which belong to N samples with means of norm at most C
 * and noise of variance 1.  With probability at least 1 - 2 e^-x, S lies between n - 2 sqrt(n x) and n + N C^2 + 2
 * sqrt((n + 2 N C^2) x) + 2x (Birge 2001, Lemma 8.1).  Rounding every value by at most h/2 changes S by at most h
 * sqrt(n S) + n h. */
static void check_values(struct nvdp__verify *v) {
    static const double x = 50;
    const double largest = v->largest, square = v->square;
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double limit = nvdp__is_whole(&v->held->shape)
                             ? ldexp(v->grids.z.limit, shape->z_exponent)
                             : 65504; /* largest float16 */
    nvdp__verify_check(v, nvdp__verdict(v->largest <= (float)limit),
                       "the values are finite and within the grid",
                       "largest value %.6g (at most %.6g)", v->largest, limit);
    const double clip = nvdp__verify_real(v, "clip_sequence", INFINITY);
    if (!isfinite(clip) || !nvdp__is_whole(&v->held->shape)) return;
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

/* Checks the sum of each sample's weights.  The logarithms of the weights were rounded to the nearest step, or in
 * float16 by a relative 2^-11. */
static void check_weights(struct nvdp__verify *v) {
    const struct nvdp_shared *held = v->held;
    const struct nvdp__embeddings_shape *shape = &held->shape;
    const double step = nvdp__is_whole(&v->held->shape) ? ldexp(1, shape->log_pi_exponent) : 0;
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

void nvdp__sort_places(struct nvdp__verify_place *place, size_t count) {
    NVDP__SORT(place, count, NVDP__UP(struct nvdp__verify_place, split),
               NVDP__UP(struct nvdp__verify_place, id));
}

bool nvdp__same_place(const struct nvdp__verify_place *a, const struct nvdp__verify_place *b) {
    return a->split == b->split && a->id == b->id;
}

const char nvdp__no_row_twice[] = "no row number of the texts' file occurs twice";

/* Checks that no row number occurs twice: that row would be released twice as often as the file states.  Two rows may
 * have the same text. */
static nvdp_status check_ids(struct nvdp__verify *v) {
    const struct nvdp_shared *held = v->held;
    nvdp__autofree struct nvdp__verify_place *place = NULL;
    if (held->id == NULL)
        return nvdp__verify_text_is(v, "unit", "person")
                   ? NVDP_OK
                   : nvdp__verify_check(v, NVDP_VERDICT_OPEN, nvdp__no_row_twice,
                                        "the file has no row numbers");
    NVDP_TRY(NVDP__NEW(v->ctx, place, held->shape.texts));
    for (size_t i = 0; i < held->shape.texts; i++)
        place[i] =
            (struct nvdp__verify_place){held->id[i], held->split != NULL ? held->split[i] : 0};
    nvdp__sort_places(place, held->shape.texts);
    bool holds = true;
    int64_t twice = 0;
    for (size_t i = 0; i < held->shape.texts && holds; i++) {
        holds = place[i].id >= 0 && (i == 0 || !nvdp__same_place(&place[i - 1], &place[i]));
        twice = place[i].id;
    }
    if (held->split != NULL) {
        NVDP__HAND_OVER(&v->place, place);
        v->places = held->shape.texts;
    }
    return nvdp__verify_check(v, nvdp__verdict(holds), nvdp__no_row_twice,
                              holds ? "all row numbers differ"
                                    : "row number %" PRId64 " is negative or occurs twice",
                              twice);
}

static void check_counts(struct nvdp__verify *v) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const int64_t texts = nvdp__verify_whole(v, "texts", 0);
    const bool stated = nvdp__verify_has(v, "texts");
    const char *unit = nvdp__verify_text_is(v, "unit", "person") ? "person" : "text";
    char what[64];
    nvdp__snprintf(what, sizeof what, "the number of %ss is the stated one", unit);
    nvdp__verify_check(
        v, stated ? nvdp__verdict(texts > 0 && (uint64_t)texts == shape->texts) : NVDP_VERDICT_OPEN,
        what,
        stated ? "%zu %ss with %zu sample%s each; the file states %" PRId64 " %ss"
               : "the file does not state a number",
        shape->texts, unit, shape->samples, shape->samples == 1 ? "" : "s", texts, unit);
}

void nvdp__verify_generator(struct nvdp__verify *v) {
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
    nvdp__verify_attributes(v);
    check_grid(v);
    check_values(v);
    check_weights(v);
    check_counts(v);
    NVDP_TRY(check_ids(v));
    nvdp__verify_generator(v);
    return NVDP_OK;
}

/* ---- single rows ---- */

/* Checks single rows of z of a shared file (verify.h): lengths that the stated noise does not give, rows of zeros,
 * equal rows.
 *
 * The noise of a row has p independent Gaussian numbers whose variances lie between v and V, and its mean has norm at
 * most r. An honest file fails with probability below NVDP__ROW_ALARM: each of the four tests, over all R rows, may
 * fail with a quarter of this probability.
 *
 * Short rows.  By Anderson's inequality, |mean + noise| is at most s with probability at most P(v chi^2_p <= s^2), and
 * Chernoff's bound is
 *
 *     P(chi^2_p <= p t) <= exp(p/2 (1 - t + ln t)),   t < 1.
 *
 * Long rows.  With probability at least 1 - e^-x (Birge 2001, Lemma 8.1, whose proof bounds moments that rise with V)
 *
 *     |row|^2 <= V (p + l + 2 sqrt((p + 2 l) x) + 2 x),   l = r^2 / V.
 *
 * Cells.  A coordinate's density is at most 1 / sqrt(2 pi v), so a row is rounded to a given point of the grid, whose
 * cells have widths h_i, with probability at most
 *
 *     q = prod_i min(1, h_i / sqrt(2 pi v)).
 *
 * A row of zeros is a fault if R q is small enough. Two equal rows are a fault if R^2 q / 2 is: P(two rows at points
 * with q <= c are equal) <= sum over these points of P_1 P_2 <= c. */

/* --- the law of a row --- */

/* Returns the largest distance between a row before rounding and a rounded row of this norm. */
static double rounding(const struct nvdp__row_law *law, double norm) {
    const double p = (double)law->dim;
    return law->step > 0 ? law->step / 2 * sqrt(p) : 0x1p-11 * norm * 1.01 + 0x1p-25 * sqrt(p);
}

/* Returns the logarithm of the probability that each of four tests may have per row. */
static double log_alarm(const struct nvdp__row_law *law) {
    return log(law->alarm / 4) - log(fmax(law->rows, 1));
}

bool nvdp__row_too_short(const struct nvdp__row_law *law, double square) {
    const double p = (double)law->dim, norm = sqrt(square) + rounding(law, sqrt(square)),
                 t = norm * norm / (law->variance_min * p);
    return law->variance_min > 0 && t < 1 && p / 2 * (1 - t + log(t)) < log_alarm(law);
}

bool nvdp__row_too_long(const struct nvdp__row_law *law, double square) {
    const double p = (double)law->dim, most = law->variance_max, x = -log_alarm(law),
                 l = law->radius * law->radius / most,
                 norm = fmax(sqrt(square) - rounding(law, sqrt(square)), 0);
    return isfinite(most) && isfinite(law->radius) &&
           norm * norm > most * (p + l + 2 * sqrt((p + 2 * l) * x) + 2 * x);
}

/* Returns an upper bound on the logarithm of the probability that a row is rounded to `row`. */
static double log_cell(const struct nvdp__row_law *law, const float *row) {
    const double scale = sqrt(2 * M_PI * law->variance_min);
    double sum = 0;
    for (size_t d = 0; d < law->dim; d++) {
        const double size = fabs((double)row[d]);
        const double width = law->step > 0 ? law->step : fmax(0x1p-10 * size, 0x1p-24);
        /* All values beyond the limit are rounded to the same value. */
        if (size < law->limit) sum += fmin(0, log(width / scale));
    }
    return sum;
}

bool nvdp__row_is_fault(const struct nvdp__row_law *law, const float *row, bool pair) {
    const double choices = pair ? log(fmax(law->rows, 1) / 2) : 0;
    return law->variance_min > 0 && log_cell(law, row) + choices < log_alarm(law);
}

/* Sets the distribution of a row from the limits that the file states.  With weights, rows of prior and padding have
 * variance 1. */
static struct nvdp__row_law row_law(const struct nvdp__verify *v) {
    const struct nvdp_limits *limits = &v->facts.limits;
    const bool others = nvdp__method_row(v->info.method)->block;
    struct nvdp__row_law law = {.dim = v->held->shape.dim,
                                .rows = (double)v->held->shape.rows,
                                .radius = fmin(limits->clip_sequence, limits->clip_mu),
                                .variance_min = exp(limits->logvar_min),
                                .variance_max = exp(limits->logvar_max),
                                .step = nvdp__is_whole(&v->held->shape) ? v->held->z_step : 0,
                                .limit = 65504,
                                .alarm = NVDP__ROW_ALARM};
    if (law.step > 0) law.limit = ldexp(v->grids.z.limit, v->held->shape.z_exponent);
    if (others) {
        law.variance_min = fmin(law.variance_min, 1);
        law.variance_max = fmax(law.variance_max, 1);
    }
    return law;
}

/* --- the pass over the file --- */

void nvdp__verify_sum(size_t count, const float *values, void *user) {
    struct nvdp__verify *v = user;
    struct nvdp__row_keys *rows = &v->rows;
    const size_t dim = v->release.shape.dim;
    if (rows->key == NULL) {
        rows->key = nvdp__calloc(v->ctx, v->release.shape.rows, sizeof *rows->key);
        if (rows->key == NULL) v->status = NVDP_ERR_MEMORY;
        randombytes_buf(rows->secret, sizeof rows->secret);
        rows->shortest = INFINITY;
    }
    for (size_t i = 0; i + dim <= count && rows->key != NULL; i += dim) {
        const float *row = values + i;
        double square = 0;
        unsigned char hash[crypto_shorthash_BYTES];
        for (size_t d = 0; d < dim; d++) {
            square += (double)row[d] * (double)row[d];
            v->largest = fmax(v->largest, fabs((double)row[d]));
        }
        v->square += square;
        if (square < rows->shortest) {
            rows->shortest = square;
            rows->shortest_row = rows->count;
        }
        if (square > rows->longest) {
            rows->longest = square;
            rows->longest_row = rows->count;
        }
        (void)crypto_shorthash(hash, (const unsigned char *)row, dim * sizeof *row, rows->secret);
        memcpy(&rows->key[rows->count].hash, hash, sizeof hash);
        rows->key[rows->count].row = rows->count;
        rows->count++;
    }
}

/* --- equal rows --- */

/* Reads a row of the file: steps in int32_t, or float. */
static nvdp_status read_row(struct nvdp__verify *v, size_t row, void *buffer, void *out) {
    const size_t unit = nvdp__row_vectors(&v->held->shape), dim = v->held->shape.dim;
    NVDP_TRY(v->release.format->rows(&v->release, row - row % unit, unit, buffer, NULL));
    memcpy(out, (const char *)buffer + row % unit * dim * sizeof(float), dim * sizeof(float));
    return NVDP_OK;
}

/* Finds two equal rows that are a fault.  Compares the values of rows with the same hash. */
static nvdp_status find_equal(struct nvdp__verify *v, const struct nvdp__row_law *law, bool *found,
                              size_t pair[2]) {
    const size_t dim = v->held->shape.dim, unit = nvdp__row_vectors(&v->held->shape);
    struct nvdp__row_keys *rows = &v->rows;
    nvdp__autofree float *buffer = NULL, *values = NULL;
    nvdp__autofree unsigned char *one = NULL, *two = NULL;
    NVDP_TRY(NVDP__ARRAYS(v->ctx, NULL, NVDP__ITEMS(one, dim * sizeof(float)),
                          NVDP__ITEMS(two, dim * sizeof(float)), NVDP__ITEMS(values, dim),
                          NVDP__ITEMS(buffer, unit * dim)));
    NVDP__SORT(rows->key, rows->count, NVDP__UP(struct nvdp__row_key, hash),
               NVDP__UP(struct nvdp__row_key, row));
    for (size_t i = 1; i < rows->count && !*found; i++) {
        if (rows->key[i].hash != rows->key[i - 1].hash) continue;
        NVDP_TRY(read_row(v, rows->key[i - 1].row, buffer, one));
        NVDP_TRY(read_row(v, rows->key[i].row, buffer, two));
        if (memcmp(one, two, dim * sizeof(float)) != 0) continue;
        for (size_t d = 0; d < dim; d++) {
            int32_t step;
            memcpy(&step, one + d * sizeof step, sizeof step);
            memcpy(&values[d], one + d * sizeof *values, sizeof *values);
            if (law->step > 0) values[d] = (float)(step * law->step);
        }
        *found = nvdp__row_is_fault(law, values, true);
        pair[0] = rows->key[i - 1].row;
        pair[1] = rows->key[i].row;
    }
    return NVDP_OK;
}

/* --- the check --- */

nvdp_status nvdp__verify_rows(struct nvdp__verify *v) {
    static const char what[] = "every row has noise of its own, of the stated size";
    const struct nvdp__row_law law = row_law(v);
    const struct nvdp__row_keys *rows = &v->rows;
    bool equal = false;
    size_t pair[2] = {0};
    nvdp__autofree float *zeros = NULL;
    NVDP_TRY(NVDP__NEW(v->ctx, zeros, law.dim));
    if (!(law.variance_min > 0))
        return nvdp__verify_check(v, NVDP_VERDICT_OPEN, what,
                                  "the file states no lower bound of the noise");
    NVDP_TRY(find_equal(v, &law, &equal, pair));
    if (rows->shortest == 0 && nvdp__row_is_fault(&law, zeros, false))
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what, "row %zu, counted from 0, is zero",
                                  rows->shortest_row);
    if (equal)
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                                  "rows %zu and %zu, counted from 0, are equal", pair[0], pair[1]);
    if (nvdp__row_too_short(&law, rows->shortest))
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                                  "row %zu, counted from 0, is too short: mean square %.4g",
                                  rows->shortest_row, rows->shortest / (double)law.dim);
    if (nvdp__row_too_long(&law, rows->longest))
        return nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                                  "row %zu, counted from 0, is too long: mean square %.4g",
                                  rows->longest_row, rows->longest / (double)law.dim);
    return nvdp__verify_check(
        v, NVDP_VERDICT_YES, what,
        "mean squares of single rows from %.4g to %.4g; no two rows are equal",
        rows->shortest / (double)law.dim, rows->longest / (double)law.dim);
}
