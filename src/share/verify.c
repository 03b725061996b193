/* Implements nvdp verify: checks that a shared file is consistent with itself and with what its attributes claim.
 *
 * The order of this file: checks and attributes, names, values, counts, the mechanism and its certificate, the
 * statement, the signature, the ledger. */
#include "mechanism/method.h"
#include "share/ledger.h"
#include "share/release.h"
#include "share/shards.h"
#include "share/sign.h"
#include "share/statement.h"

#include "base/sentence.h"
#include "model/model.h"
#include "rdp/options.h"
#include <inttypes.h>
#include <math.h>
#include <nvdp/version.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 };

/* A row of a split, or of an input file (split 0). */
struct place {
    int64_t id;
    int32_t split;
};

struct verify {
    struct nvdp_context *ctx;
    struct nvdp__release release;
    struct nvdp__embeddings *held;
    struct nvdp_verification found;
    /* of each check the epsilon that it shows, else 0: of several files the largest counts */
    double number[NVDP_CHECKS];
    double epsilon; /* of all samples of a text that the file counts */
    size_t texts;
    struct place *place; /* [places] rows of splits, sorted; free() it */
    size_t places;
    double largest, square; /* of z: max |z|, sum of squares */
    nvdp_status status; /* NVDP_ERR_MEMORY once memory was short, which is no fault of the file */
    /* from the attributes */
    struct nvdp__model_info info;
    struct nvdp__release_facts facts;
    struct nvdp__release_grids grids;
    char task[16];
};

/* --- checks --- */

/* Replaces what a terminal could obey, except `kept` (0: nothing). */
static void make_printable(char *text, char kept) {
    for (; *text != '\0'; text++) {
        if ((*text < 0x20 && *text != kept) || *text > 0x7e) *text = '?';
    }
}

static __attribute__((format(printf, 4, 5))) void check(struct verify *v, enum nvdp_verdict verdict,
                                                        const char *what, const char *found, ...) {
    struct nvdp_check *made = &v->found.check[v->found.checks];
    va_list args;
    if (verdict == NVDP_VERDICT_NO) v->found.holds = false;
    if (v->found.checks == NVDP_CHECKS) return;
    v->found.checks++;
    made->verdict = verdict;
    nvdp__snprintf(made->what, sizeof made->what, "%s", what);
    va_start(args, found);
    nvdp__vsnprintf(made->found, sizeof made->found, found, args);
    va_end(args);
    make_printable(made->found, 0);
}

/* Sets the number of the last check. */
static void weigh(struct verify *v, double number) {
    v->number[v->found.checks - 1] = number;
}

static struct nvdp_verification nothing_found(void) {
    return (struct nvdp_verification){.struct_size = sizeof(struct nvdp_verification),
                                      .holds = true,
                                      .epsilon = INFINITY,
                                      .delta = NAN,
                                      .mu = NAN,
                                      .word_epsilon = INFINITY,
                                      .word_mu = INFINITY,
                                      .spent_epsilon = NAN};
}

static enum nvdp_verdict verdict_of(bool holds) {
    return holds ? NVDP_VERDICT_YES : NVDP_VERDICT_NO;
}

/* --- attributes: `fallback` if missing or of another type --- */

static bool was_read(struct verify *v, nvdp_status status) {
    if (status == NVDP_ERR_MEMORY) v->status = status;
    return status == NVDP_OK;
}

static bool has(const struct verify *v, const char *name) {
    return nvdp__attributes_get(&v->release.attributes, name) != NULL;
}

static double real_of(struct verify *v, const char *name, double fallback) {
    double value = fallback;
    return has(v, name) && was_read(v, nvdp__release_real(&v->release, name, &value)) ? value
                                                                                      : fallback;
}

static int64_t whole_of(struct verify *v, const char *name, int64_t fallback) {
    int64_t value = fallback;
    return has(v, name) && was_read(v, nvdp__release_whole(&v->release, name, &value)) ? value
                                                                                       : fallback;
}

static bool text_of(struct verify *v, const char *name, size_t size, char *out) {
    const char *text = NULL;
    out[0] = '\0';
    if (!has(v, name) || !was_read(v, nvdp__release_text(&v->release, name, &text))) return false;
    nvdp__snprintf(out, size, "%s", text);
    return true;
}

static bool text_is(struct verify *v, const char *name, const char *word) {
    char text[NAME_SIZE];
    return text_of(v, name, sizeof text, text) && strcmp(text, word) == 0;
}

/* Compares two numbers that different builds computed: this one, and the writer's. */
static bool agree(double a, double b) {
    return a == b || fabs(a - b) <= 1e-6 * fmax(fabs(a), fabs(b));
}

/* --- names: nothing else is in the file --- */

struct names {
    struct verify *v;
    size_t seen;
    char other[2 * NAME_SIZE]; /* the first name that is not of the format; "": none */
};

static void take_name(struct names *names, const char *name, bool known, bool right_type) {
    names->seen++;
    if ((known && right_type) || names->other[0] != '\0') return;
    nvdp__snprintf(names->other, sizeof names->other, ", one of them: %.*s%s", NAME_SIZE, name,
                   known ? ", whose type can hold more than the values need" : "");
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
        known = strcmp(name, "offset") != 0 || text_is(names->v, "length_policy", "public");
        right_type = type[0] != 'f' || strchr(all[i].wider, type[1]) == NULL;
    }
    take_name(names, name, known, right_type);
}

/* Checks that the file has nothing else.  In a canonical format the comparison of bytes has shown this. */
static nvdp_status check_names(struct verify *v) {
    static const char what[] = "the file has only what the format defines";
    struct names datasets = {.v = v}, attributes = {.v = v};
    struct nvdp__h5_audit audit = {0};
    NVDP_RETURN_IF_FAILED(nvdp__release_datasets(&v->release, take_dataset, &datasets));
    for (size_t i = 0; i < v->release.attributes.count; i++)
        take_attribute(&attributes, &v->release.attributes.item[i]);
    const char *other = datasets.other[0] != '\0' ? datasets.other : attributes.other;
    if (other[0] != '\0') {
        check(v, NVDP_VERDICT_NO, what, "%zu datasets, %zu attributes%s", datasets.seen,
              attributes.seen, other);
        return NVDP_OK;
    }
    if (v->release.format->canonical) {
        check(v, NVDP_VERDICT_YES, what,
              "%zu datasets, %zu attributes, which determine every byte of the file", datasets.seen,
              attributes.seen);
        return NVDP_OK;
    }
    nvdp_status status = v->release.format->audit(&v->release, &audit);
    if (status != NVDP_OK && status != NVDP_ERR_INPUT) return status;
    if (status != NVDP_OK)
        check(v, NVDP_VERDICT_NO, what, "%s", v->ctx != NULL ? nvdp_context_error(v->ctx) : "");
    else if (audit.fault[0] != '\0')
        check(v, NVDP_VERDICT_NO, what, "%zu datasets, %zu attributes, and %s", datasets.seen,
              attributes.seen, audit.fault);
    else
        check(v, NVDP_VERDICT_YES, what,
              "%zu datasets, %zu attributes and the structures of %s in %" PRIu64 " bytes; %" PRIu64
              " more are unused and zero",
              datasets.seen, attributes.seen, v->release.format->name, audit.size - audit.unused,
              audit.unused);
    return NVDP_OK;
}

/* --- values --- */

static bool is_whole(const struct verify *v) {
    return v->held->shape.grid != NVDP__H5_F16;
}

static void check_grid(struct verify *v) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double clip = real_of(v, "clip_sequence", INFINITY);
    v->grids = nvdp__release_grids(isfinite(clip) ? clip : 0);
    if (!is_whole(v)) {
        check(v, verdict_of(text_is(v, "nvdp_format", "embeddings/1") && !isfinite(clip)),
              "the grid is the one of the format", "float16%s",
              isfinite(clip) ? ", whose noise no proof for a sequence clip covers" : "");
        return;
    }
    bool right = text_is(v, "nvdp_format", "embeddings/2") && shape->grid == v->grids.type &&
                 shape->z_exponent == v->grids.z.exponent &&
                 (!shape->weights || shape->log_pi_exponent == v->grids.log_pi.exponent);
    check(v, verdict_of(right), "the grid is the mechanism's, the same for every text",
          "%s, steps of 2^%d; expected %s, 2^%d", nvdp__grid_names[shape->grid], shape->z_exponent,
          nvdp__grid_names[v->grids.type], v->grids.z.exponent);
}

/* Adds values of z to the sums while the file is read. */
static void sum_values(size_t count, const float *values, void *user) {
    struct verify *v = user;
    for (size_t i = 0; i < count; i++) {
        v->largest = fmax(v->largest, fabs((double)values[i]));
        v->square += (double)values[i] * (double)values[i];
    }
}

/* Let S be the sum of squares of n values, which belong to N samples with means of norm at most C and noise of
 * variance 1.  With probability at least 1 - 2 e^-x, S lies between n - 2 sqrt(n x) and n + N C^2 + 2 sqrt((n + 2 N
 * C^2) x) + 2x (Birge 2001, Lemma 8.1).  Rounding every value by at most h/2 changes S by at most h sqrt(n S) + n h. */
static void check_spread(struct verify *v) {
    static const double x = 50;
    const double largest = v->largest, square = v->square;
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double clip = real_of(v, "clip_sequence", INFINITY);
    if (!isfinite(clip) || !is_whole(v)) return;
    const double n = (double)shape->rows * (double)shape->dim;
    const double means = (double)shape->texts * (double)shape->samples * clip * clip;
    const double rounding = v->held->z_step * (sqrt(n * square) + n);
    const double low = n - 2 * sqrt(n * x) - rounding;
    const double high = n + means + 2 * sqrt((n + 2 * means) * x) + 2 * x + rounding;
    /* a normal exceeds 13 with probability 1e-38 */
    const bool holds = square >= low && square <= high && largest <= clip + 13;
    check(v, verdict_of(holds),
          "the values spread like noise of variance 1 around means within the clip",
          "mean square %.6g (allowed: %.6g to %.6g), largest value %.4g (at most %.4g)", square / n,
          fmax(low, 0) / n, high / n, largest, clip + 13);
}

static void check_values(struct verify *v) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    const double limit =
        is_whole(v) ? ldexp(v->grids.z.limit, shape->z_exponent) : 65504; /* largest float16 */
    check(v, verdict_of(v->largest <= (float)limit), "the values are finite and within the grid",
          "largest value %.6g (at most %.6g)", v->largest, limit);
    check_spread(v);
}

/* Checks the sum of each sample's weights.  Their logarithms were rounded to the nearest step, or in float16 by a
 * relative 2^-11. */
static void check_weights(struct verify *v) {
    const struct nvdp__embeddings *held = v->held;
    const struct nvdp__embeddings_shape *shape = &held->shape;
    const double step = is_whole(v) ? ldexp(1, shape->log_pi_exponent) : 0;
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
    check(v, verdict_of(holds && least >= lowest),
          "the weights of every sample sum to 1, up to rounding to the grid",
          "largest error %.3g, in sample %zu of text %zu, counted from 0; smallest log weight %.6g "
          "(at least %.6g)",
          worst, at % shape->samples, at / shape->samples, least, lowest);
}

/* --- counts --- */

static int by_place(const void *a, const void *b) {
    const struct place *p = a, *q = b;
    if (p->split != q->split) return p->split < q->split ? -1 : 1;
    return p->id < q->id ? -1 : p->id > q->id;
}

static const char no_row_twice[] = "no row number of the texts' file occurs twice";

/* Checks that no row number occurs twice: such a row was released twice as often as the file states.  Two rows may
 * have the same text. */
static nvdp_status check_ids(struct verify *v) {
    const struct nvdp__embeddings *held = v->held;
    struct place *place = NULL;
    if (held->id == NULL) {
        check(v, NVDP_VERDICT_OPEN, no_row_twice, "the file has no row numbers");
        return NVDP_OK;
    }
    NVDP_RETURN_IF_FAILED(NVDP__NEW(v->ctx, place, held->shape.texts));
    for (size_t i = 0; i < held->shape.texts; i++) {
        place[i] = (struct place){held->id[i], held->split != NULL ? held->split[i] : 0};
    }
    qsort(place, held->shape.texts, sizeof *place, by_place);
    bool holds = true;
    int64_t twice = 0;
    for (size_t i = 0; i < held->shape.texts && holds; i++) {
        holds = place[i].id >= 0 && (i == 0 || by_place(&place[i - 1], &place[i]) != 0);
        twice = place[i].id;
    }
    if (held->split != NULL) {
        v->place = place;
        v->places = held->shape.texts;
    } else {
        free(place);
    }
    check(v, verdict_of(holds), no_row_twice,
          holds ? "all row numbers differ" : "row number %" PRId64 " is negative or occurs twice",
          twice);
    return NVDP_OK;
}

static void check_counts(struct verify *v) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    int64_t texts = 0;
    if (!has(v, "texts")) {
        check(v, NVDP_VERDICT_OPEN, "the number of texts is the stated one",
              "the file does not state a number");
        return;
    }
    const bool read = was_read(v, nvdp__release_whole(&v->release, "texts", &texts));
    check(v, verdict_of(read && texts >= 0 && (uint64_t)texts == shape->texts),
          "the number of texts is the stated one",
          "%zu texts with %zu sample%s each; the file states %" PRId64 " texts", shape->texts,
          shape->samples, shape->samples == 1 ? "" : "s", texts);
}

static void check_generator(struct verify *v) {
    char name[NAME_SIZE];
    if (!text_of(v, "generator", sizeof name, name)) {
        check(v, NVDP_VERDICT_OPEN, "the noise does not come from a seed",
              "the file does not state the source of the noise");
        return;
    }
    const bool os = strcmp(name, "os") == 0;
    v->facts.insecure_seed = !os;
    check(v, verdict_of(os), "the noise does not come from a seed",
          os ? "the file states the operating system's generator"
             : "the file states the generator '%.60s'",
          name);
}

/* --- the mechanism --- */

/* Determines from the splits whether all, some or possibly none of the texts were training texts. */
static enum nvdp__training training_of(const struct nvdp__embeddings *held) {
    size_t train = 0;
    for (size_t i = 0; held->split != NULL && i < held->shape.texts; i++) {
        train += held->split[i] == NVDP_SPLIT_TRAIN;
    }
    return train == 0                   ? NVDP__TRAINING_MAYBE
           : train == held->shape.texts ? NVDP__TRAINING_ALL
                                        : NVDP__TRAINING_SOME;
}

/* Takes the mechanism's parameters. */
static void take_parameters(struct verify *v, bool single) {
    const struct nvdp__embeddings_shape *shape = &v->held->shape;
    struct nvdp__nvib_config *nvib = &v->info.nvib;
    *nvib = nvdp__nvib_config_default();
    nvib->latent_dim = shape->dim;
    nvib->kappa = shape->kappa;
    nvib->length_policy = shape->policy;
    nvib->length = shape->length;
    nvib->query = NVDP__QUERY_SAMPLED; /* nvdp export refuses other models */
    nvib->weights =
        text_is(v, "weights", "constant") ? NVDP__WEIGHTS_CONSTANT : NVDP__WEIGHTS_LEARNED;
    nvib->prior_alpha = real_of(v, "prior_alpha", nvib->prior_alpha);
    nvib->delta = real_of(v, "nvib_delta", nvib->delta);
    nvib->vib.vtdp_pool = single ? NVDP__VTDP_POOL_FIRST : NVDP__VTDP_POOL_LAST;
    nvib->clip.mu_radius = real_of(v, "clip_mu_radius", INFINITY);
    nvib->clip.logvar_min = real_of(v, "clip_logvar_min", -INFINITY);
    nvib->clip.logvar_max = real_of(v, "clip_logvar_max", INFINITY);
    nvib->clip.sequence = real_of(v, "clip_sequence", INFINITY);
    nvib->clip.word = real_of(v, "clip_word", INFINITY);
    nvib->clip.window = (size_t)fmax((double)whole_of(v, "word_window", 0), 0);
    nvib->clip.alpha_min = real_of(v, "clip_alpha_min", 0);
    nvib->clip.alpha_max = real_of(v, "clip_alpha_max", INFINITY);
}

/* Takes what the ledger counted when the file was written. */
static void take_counted(struct verify *v) {
    struct nvdp__spent *spent = &v->facts.spent;
    spent->seen_before = text_is(v, "ledger", "again");
    v->facts.counted = spent->seen_before > 0 || text_is(v, "ledger", "first");
    spent->samples = (uint64_t)whole_of(v, "ledger_samples", 0);
    spent->epsilon = real_of(v, "ledger_epsilon", INFINITY);
    spent->word_mu = real_of(v, "ledger_word_mu", INFINITY);
    spent->persons = (uint64_t)whole_of(v, "ledger_persons", 0);
    spent->person_texts = (uint64_t)whole_of(v, "ledger_person_texts", 0);
    spent->person_samples = (uint64_t)whole_of(v, "ledger_person_samples", 0);
    spent->person_epsilon = real_of(v, "ledger_person_epsilon", INFINITY);
    spent->person_mu = real_of(v, "ledger_person_mu", INFINITY);
}

/* Takes the attributes of the mechanism.  Returns false if they are missing. */
static bool take_mechanism(struct verify *v) {
    static const char *const needed[] = {"clip_mu_radius", "clip_logvar_min", "clip_logvar_max",
                                         "clip_sequence", "texts"};
    const struct nvdp__embeddings *held = v->held;
    const struct nvdp__embeddings_shape *shape = &held->shape;
    struct nvdp__nvib_config *nvib = &v->info.nvib;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!has(v, needed[i])) return false;
    }
    if (nvdp_method_find(NULL, held->method, &v->info.method) != NVDP_OK) return false;
    const struct nvdp__method *method = nvdp__method_row(v->info.method);
    const bool single = method->single != NULL && !has(v, "pool");
    take_parameters(v, single);
    nvdp__snprintf(v->task, sizeof v->task, "%s", held->task);
    v->info.task.name = v->task;
    v->info.task.pair = text_is(v, "text_unit", "pair");
    v->facts.info = &v->info;
    v->facts.form = nvdp__form_of(nvib, shape->weights, single);
    v->facts.limits = nvdp__method_limits(v->info.method, nvib);
    if (method->own_noise) { /* trained, or an option: no other attribute implies it */
        v->facts.limits.logvar_min = real_of(v, "noise_logvar_min", -INFINITY);
        v->facts.limits.logvar_max = real_of(v, "noise_logvar_max", INFINITY);
    }
    v->facts.texts = shape->texts;
    v->facts.samples = shape->samples;
    v->facts.labels = held->label != NULL;
    v->facts.query = held->query;
    v->facts.grids = is_whole(v) ? &v->grids : NULL;
    for (size_t k = 0; k < shape->texts * shape->samples; k++) {
        const size_t rows = (size_t)(held->offset[k + 1] - held->offset[k]);
        if (rows > v->facts.rows) v->facts.rows = rows;
    }
    v->facts.bound_order = real_of(v, "divergence_bound_order", 1.1);
    v->facts.training = training_of(held);
    v->facts.training_epsilon = real_of(v, "training_epsilon", NAN);
    v->facts.training_delta = real_of(v, "training_delta", NAN);
    v->facts.named = has(v, "named_share");
    take_counted(v);
    nvdp__spent_persons(&v->facts.spent, &v->found.person);
    v->found.samples = shape->samples;
    v->found.spent_samples = v->facts.counted ? v->facts.spent.samples : 0;
    v->found.spent_epsilon = v->facts.counted ? v->facts.spent.epsilon : NAN;
    return true;
}

static void check_training(struct verify *v) {
    static const char what[] = "the stated training texts agree with the splits";
    const char *expected = nvdp__training_names[v->facts.training];
    char *found = v->found.training_texts;
    if (!text_of(v, "training_texts", sizeof v->found.training_texts, found))
        check(v, NVDP_VERDICT_OPEN, what, "the file does not state the training texts");
    else
        check(v, verdict_of(strcmp(found, expected) == 0), what, "stated: %s; by the splits: %s",
              found, expected);
    make_printable(found, 0);
    char epsilon[NVDP__BOUND_TEXT], delta[NVDP__BOUND_TEXT];
    if (!isnan(v->facts.training_epsilon))
        check(v, NVDP_VERDICT_OPEN, "the encoder was trained privately",
              "its owner states epsilon %s at delta %s for one training example (zero-out)",
              nvdp__bound(epsilon, v->facts.training_epsilon),
              nvdp__bound(delta, v->facts.training_delta));
}

/* Checks that the ledger's count in the file covers at least the samples of the file.  The ledger stays with its
 * owner. */
static void check_count(struct verify *v) {
    static const char what[] = "the sender's ledger counts the file's samples";
    const struct nvdp__release_facts *facts = &v->facts;
    const struct nvdp__spent *spent = &facts->spent;
    char epsilon[NVDP__SPENT_TEXT];
    const double least = facts->certified ? facts->certificate.epsilon : INFINITY;
    const struct nvdp_word_claim *word = &facts->certificate.word;
    const bool words = !facts->certified || !word->holds || !has(v, "ledger_word_mu") ||
                       spent->word_mu >= word->mu * (1 - 1e-6);
    const bool sampled =
        !facts->certified || !facts->form.weights || isinf(spent->epsilon) ||
        nvdp__distance_negligible(spent->epsilon, nvdp__release_weights_distance(facts),
                                  NVDP__LEDGER_DELTA);
    if (!has(v, "ledger"))
        check(v, NVDP_VERDICT_OPEN, what, "the file does not state whether a ledger counts them");
    else if (!facts->counted)
        check(v, NVDP_VERDICT_OPEN, what, "the file states that no ledger counts them");
    else
        check(v,
              verdict_of(spent->samples >= facts->samples && spent->epsilon >= least * (1 - 1e-6) &&
                         words && sampled && real_of(v, "ledger_delta", NAN) == NVDP__LEDGER_DELTA),
              what, "up to %" PRIu64 " samples of a text, %zu of them in this file; %s",
              spent->samples, facts->samples,
              nvdp__spent_text(spent->epsilon, nvdp__spent_word_epsilon(spent), epsilon));
    weigh(v, facts->counted ? spent->epsilon : 0);
}

/* Checks the sums of a person.  Of P persons of N texts, one has N/P texts of this file or more.  All samples of a text
 * count for its person. */
static void check_persons(struct verify *v) {
    static const char what[] = "the sums of a person cover the file, and their epsilon follows";
    const struct nvdp__release_facts *facts = &v->facts;
    const struct nvdp__spent *spent = &facts->spent;
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    if (!has(v, "ledger_persons") && !has(v, "ledger_person_epsilon") &&
        !has(v, "ledger_person_mu") && !has(v, "ledger_person_texts") &&
        !has(v, "ledger_person_samples"))
        return;
    const double rows = ceil((double)facts->texts / fmax((double)spent->persons, 1));
    const double mu = facts->certified && facts->certificate.theorem == NVDP_THEOREM_SEQUENCE
                          ? facts->certificate.mu * sqrt(rows)
                      : facts->certified ? 0
                                         : INFINITY;
    const double epsilon = isfinite(spent->person_mu)
                               ? nvdp_gdp_epsilon(spent->person_mu, NVDP__LEDGER_DELTA)
                               : spent->person_epsilon;
    const double least =
        fmax(facts->certified ? facts->certificate.epsilon : INFINITY, spent->epsilon);
    const bool holds =
        facts->counted && spent->persons > 0 && spent->persons <= facts->texts &&
        spent->person_texts > 0 && spent->person_texts <= spent->person_samples &&
        (double)spent->person_samples >= rows * (double)facts->samples &&
        spent->person_samples >= spent->samples && spent->person_mu >= mu * (1 - 1e-6) &&
        spent->person_epsilon >= least * (1 - 1e-6) && agree(spent->person_epsilon, epsilon);
    check(v, verdict_of(holds), what,
          "%" PRIu64 " persons for %zu texts; up to %" PRIu64 " texts and %" PRIu64
          " samples of one; epsilon %s, computed %s, at delta %g",
          spent->persons, facts->texts, spent->person_texts, spent->person_samples,
          nvdp__bound(a, spent->person_epsilon), nvdp__bound(b, epsilon), NVDP__LEDGER_DELTA);
    weigh(v, spent->person_epsilon);
}

static void check_pseudo_counts(struct verify *v) {
    if (!v->facts.form.weights) return;
    if (has(v, "pad_alpha")) {
        const double stated = real_of(v, "pad_alpha", NAN);
        check(v, verdict_of(agree(stated, v->facts.form.pad_alpha)),
              "the padding's pseudo-count is the mechanism's", "stated %.6g, computed %.6g", stated,
              v->facts.form.pad_alpha);
    }
    if (!is_whole(v)) return;
    const double stated = real_of(v, "weights_distance", NAN);
    const double made = nvdp__release_weights_distance(&v->facts);
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    check(v, verdict_of(agree(stated, made)),
          "the sampler of the weights is as close to a Dirichlet as stated",
          "stated %s, computed %s", nvdp__bound(a, stated), nvdp__bound(b, made));
}

static void check_bound(struct verify *v) {
    const bool clipped = nvdp__clips_sequence(&v->info.nvib.clip);
    const bool stated = has(v, "divergence_bound");
    if (!clipped && !stated) return;
    const double is = real_of(v, "divergence_bound", NAN);
    const double made = nvdp__public_bound(nvdp__release_bound(&v->facts));
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    const bool applies = clipped && v->facts.limits.rows > 0 && v->facts.limits.kappa == 1;
    check(v, verdict_of(applies && agree(is, made)), "the divergence bound follows from the clip",
          "stated %s nats at order %g for one sample, computed %s", nvdp__bound(a, is),
          v->facts.bound_order, nvdp__bound(b, made));
}

/* Checks what the file claims per word. */
static void check_word(struct verify *v, const char *samples) {
    const struct nvdp_word_claim *made = &v->facts.certificate.word;
    const bool stated =
        has(v, "certificate_word_epsilon") || has(v, "certificate_word_mu") || has(v, "clip_word");
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    if (!stated && !made->holds) return;
    const double epsilon = real_of(v, "certificate_word_epsilon", NAN),
                 mu = real_of(v, "certificate_word_mu", NAN);
    check(v, verdict_of(made->holds && agree(epsilon, made->epsilon) && agree(mu, made->mu)),
          "the stated epsilon per word follows from the certificate",
          "stated %s, mu %.6g; computed %s, mu %.6g, at delta %g, for %s", nvdp__bound(a, epsilon),
          mu, nvdp__bound(b, made->epsilon), made->mu, made->delta, samples);
}

/* Checks that the limits in the file prove the certificate that it claims. */
static nvdp_status check_certificate(struct verify *v) {
    char letter[NAME_SIZE];
    if (!text_of(v, "certificate", sizeof letter, letter)) {
        check(v, NVDP_VERDICT_OPEN, "a certificate", "the file states no certificate");
        return NVDP_OK;
    }
    nvdp_status status = nvdp__release_certify(v->ctx, &v->facts);
    if (status == NVDP_ERR_MEMORY) return status;
    if (status != NVDP_OK) {
        check(v, NVDP_VERDICT_NO, "the stated properties of the mechanism are possible", "%s",
              v->ctx != NULL ? nvdp_context_error(v->ctx) : "they are not");
        return NVDP_OK;
    }
    const struct nvdp_certificate *made = &v->facts.certificate;
    if (strcmp(letter, "none") == 0) {
        check(v, verdict_of(!v->facts.certified),
              "the stated guarantee over all texts is the provable one",
              v->facts.certified ? "theorem (%s) holds, but the file states none"
                                 : "nothing is provable, and nothing is stated",
              nvdp__theorem_letter(made->theorem));
        return NVDP_OK;
    }
    int theorem = 0;
    while (theorem < NVDP_THEOREMS &&
           strcmp(letter, nvdp__theorem_letter((enum nvdp_theorem)theorem)) != 0) {
        theorem++;
    }
    const struct nvdp_claim *claim = theorem < NVDP_THEOREMS ? &made->claim[theorem] : NULL;
    for (size_t i = 0; claim != NULL && i < claim->conditions; i++) {
        const struct nvdp_condition *condition = &claim->condition[i];
        check(v, verdict_of(condition->holds), condition->what, "%s", condition->found);
    }
    const bool right = v->facts.certified && (int)made->theorem == theorem;
    check(v, verdict_of(right), "the certificate names the theorem with the strongest bound",
          "stated (%.40s), found (%s)", letter,
          v->facts.certified ? nvdp__theorem_letter(made->theorem) : "none");
    if (!right) return NVDP_OK;
    char samples[64] = "one sample of a text", a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    if (v->facts.samples > 1)
        nvdp__snprintf(samples, sizeof samples, "all %zu samples of a text together",
                       v->facts.samples);
    const double epsilon = real_of(v, "certificate_epsilon", NAN),
                 delta = real_of(v, "certificate_delta", NAN),
                 mu = real_of(v, "certificate_mu", NAN);
    check(v, verdict_of(agree(epsilon, made->epsilon) && agree(delta, made->delta)),
          "the stated epsilon follows from the certificate",
          "stated %s at delta %g, computed %s at delta %g, for %s", nvdp__bound(a, epsilon), delta,
          nvdp__bound(b, made->epsilon), made->delta, samples);
    if (!isnan(made->mu) || !isnan(mu))
        check(v, verdict_of(agree(mu, made->mu)), "the stated mu follows from the certificate",
              "stated %s, computed %s, for %s", nvdp__bound(a, mu), nvdp__bound(b, made->mu),
              samples);
    check_word(v, samples);
    v->found.certified = true;
    v->found.epsilon = made->epsilon;
    v->found.delta = made->delta;
    v->found.mu = made->mu;
    return NVDP_OK;
}

/* --- the statement --- */

/* Checks the line of published measurements, except for its sentence about linkage. */
static bool published_fits(struct verify *v, const char *line) {
    struct nvdp_pairs_summary pairs = {.order = real_of(v, "divergence_order", NAN),
                                       .texts = (size_t)whole_of(v, "divergence_texts", 0),
                                       .sum = {.max = real_of(v, "divergence_sum_max", NAN),
                                               .mean = real_of(v, "divergence_sum_mean", NAN)}};
    struct nvdp_bdp_column best = {.worst.epsilon = real_of(v, "bdp_epsilon", NAN)};
    struct nvdp__release_facts facts = v->facts;
    facts.privacy = (struct nvdp_privacy_report){.pairs = &pairs, .best = &best};
    facts.delta = real_of(v, "bdp_delta", NAN);
    if (strncmp(line, nvdp__measured_words, strlen(nvdp__measured_words)) != 0 ||
        strchr(line, '\n') != NULL)
        return false;
    for (int few = 0; few < 2; few++) {
        char end[NVDP_STATEMENT_SIZE];
        facts.privacy.small_population = few == 1;
        nvdp__statement_divergences(&facts, real_of(v, "divergence_infinite_share", NAN),
                                    sizeof end, end);
        if (nvdp__ends_with(line, end)) return true;
    }
    return false;
}

/* Checks the line of what was measured. */
static bool measured_fits(struct verify *v, const char *line) {
    if (has(v, "divergence_texts")) return published_fits(v, line);
    for (int i = 0; i < 2; i++) {
        char whole[NVDP_STATEMENT_SIZE];
        struct nvdp__release_facts facts = v->facts;
        facts.measured = i == 1;
        facts.publish = false;
        nvdp__statement_measured(&facts, sizeof whole, whole);
        if (strcmp(line, whole) == 0) return true;
    }
    return false;
}

/* Compares word by word. */
static bool statement_fits(struct verify *v, const char *text) {
    char computed[NVDP_STATEMENT_SIZE];
    nvdp__statement_computed(&v->facts, sizeof computed, computed);
    const size_t size = strlen(computed);
    return strncmp(text, computed, size) == 0 && measured_fits(v, text + size);
}

static void check_statement(struct verify *v, bool known) {
    static const char what[] = "the statement agrees with the attributes";
    char text[NVDP_STATEMENT_SIZE];
    const bool there = text_of(v, "statement", sizeof text, text);
    nvdp__snprintf(v->found.statement, sizeof v->found.statement, "%s", text);
    make_printable(v->found.statement, '\n');
    if (!there)
        check(v, NVDP_VERDICT_OPEN, what, "the file has no statement");
    else if (!known)
        check(v, NVDP_VERDICT_OPEN, what,
              "not compared, because the file does not describe the mechanism");
    else if (!text_is(v, "nvdp_version", nvdp_version()) ||
             real_of(v, "statement_words", 1) != NVDP__STATEMENT_WORDS)
        check(v, NVDP_VERDICT_OPEN, what,
              "not compared, because another version of this program wrote it");
    else
        check(v, verdict_of(statement_fits(v, text)), what, "compared word for word%s",
              has(v, "divergence_texts") ? " except for the share of named samples" : "");
}

/* --- the signature --- */

static nvdp_status check_signature(struct verify *v, const unsigned char *wanted) {
    static const char what[] = "the file is signed and unchanged since";
    unsigned char key[NVDP__PUBLIC_KEY];
    const bool there = has(v, "signature") || has(v, "public_key");
    enum nvdp__signed covers = NVDP__SIGNED_NOTHING;
    if (!there) {
        check(v, wanted != NULL ? NVDP_VERDICT_NO : NVDP_VERDICT_OPEN, what,
              "the file is not signed");
        return NVDP_OK;
    }
    nvdp_status status = nvdp__signature_check(&v->release, key, &covers);
    if (status != NVDP_OK && status != NVDP_ERR_INPUT) return status;
    const bool valid = covers != NVDP__SIGNED_NOTHING;
    const bool old = covers != v->release.format->covers && valid;
    const bool known = valid && wanted != NULL && sodium_memcmp(key, wanted, sizeof key) == 0;
    sodium_bin2hex(v->found.public_key, sizeof v->found.public_key, key, sizeof key);
    v->found.is_signed = valid;
    v->found.is_known = known;
    check(
        v, verdict_of(valid),
        old ? "the file is signed, and its values and attributes are unchanged since" : what,
        "%s key %s%s", valid ? "by" : "not by", v->found.public_key,
        covers == NVDP__SIGNED_BYTES ? ", which covers every byte of the file"
        : valid && !old
            ? ", which covers every value and attribute, and these determine every byte of the file"
            : "");
    if (old)
        check(v, NVDP_VERDICT_OPEN, what,
              "the signature covers only values and attributes, as in older versions; the way they "
              "are stored may have changed");
    if (wanted == NULL)
        check(v, NVDP_VERDICT_OPEN, "the signature is the expected sender's",
              "anyone can sign with a key of their own; give the sender's public key (%s)",
              nvdp__as_option(v->ctx, "public-key").text);
    else
        check(v, verdict_of(known), "the signature is the expected sender's",
              known ? "signed by the given key" : "not signed by the given key");
    return NVDP_OK;
}

/* --- nvdp_verify --- */

/* Runs the checks that need whole datasets. */
static nvdp_status check_content(struct verify *v) {
    check(v, NVDP_VERDICT_YES, "the datasets have the shapes, types and ranges of the format",
          "%zu vectors of %zu numbers%s", v->held->shape.rows, v->held->shape.dim,
          v->held->shape.weights ? ", with weights" : "");
    check_grid(v);
    check_values(v);
    check_weights(v);
    check_counts(v);
    NVDP_RETURN_IF_FAILED(check_ids(v));
    check_generator(v);
    const bool known = take_mechanism(v);
    if (known) {
        check_pseudo_counts(v);
        check_bound(v);
        NVDP_RETURN_IF_FAILED(check_certificate(v));
        check_count(v);
        check_persons(v);
        check_training(v);
        NVDP_RETURN_IF_FAILED(nvdp__release_guarantee(v->ctx, &v->facts));
        v->found.useful = v->facts.useful;
        nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee, "%s", v->facts.guarantee);
    } else {
        nvdp__snprintf(v->found.guarantee, sizeof v->found.guarantee,
                       "No guarantee: the file does not state how its samples were drawn.");
        check(v, has(v, "certificate") ? NVDP_VERDICT_NO : NVDP_VERDICT_OPEN,
              "the mechanism is described", "method '%.31s' is unknown, or its clips are missing",
              v->held->method);
    }
    check_statement(v, known);
    return NVDP_OK;
}

/* Runs all checks of one file. */
static nvdp_status verify_file(struct nvdp_context *ctx, const char *path,
                               const unsigned char *wanted, struct verify *v) {
    nvdp_status status = NVDP_OK;
    *v = (struct verify){.ctx = ctx, .found = nothing_found()};
    NVDP_TRY(nvdp__release_read(ctx, nvdp__formats, path, &v->release));
    NVDP_TRY(check_names(v));
    status = nvdp__embeddings_take(&v->release, sum_values, v, &v->held);
    if (status == NVDP_ERR_INPUT)
        check(v, NVDP_VERDICT_NO, "the datasets have the shapes, types and ranges of the format",
              "%s", ctx != NULL ? nvdp_context_error(ctx) : "they do not");
    else
        NVDP_TRY(status);
    if (v->held != NULL) NVDP_TRY(check_content(v));
    NVDP_TRY(check_signature(v, wanted));
    NVDP_TRY(v->status);
    if (v->facts.word.holds) {
        v->found.word_mu = v->facts.word.mu;
        v->found.word_epsilon = nvdp_gdp_epsilon(v->found.word_mu, NVDP__LEDGER_DELTA);
    }
    v->texts = v->held != NULL ? v->held->shape.texts : 0;
    v->epsilon = nvdp__counts_more(&v->facts) ? v->facts.spent.epsilon : v->found.epsilon;
cleanup:
    nvdp__embeddings_free(v->held);
    nvdp__release_close(&v->release);
    return status;
}

/* --- the files of a folder --- */

/* Adds the checks of the shard `name`: of the same check of several files, the one that fails, or else is open, or else
 * has the largest number, or else the first one counts. */
static void merge_checks(struct verify *all, const char *name, const struct verify *of) {
    struct nvdp_verification *to = &all->found;
    to->holds = to->holds && of->found.holds;
    for (size_t i = 0; i < of->found.checks; i++) {
        static const int rank[] = {
            [NVDP_VERDICT_NO] = 0, [NVDP_VERDICT_OPEN] = 1, [NVDP_VERDICT_YES] = 2};
        const struct nvdp_check *from = &of->found.check[i];
        size_t k = 0;
        while (k < to->checks && strcmp(to->check[k].what, from->what) != 0)
            k++;
        if (k == NVDP_CHECKS) continue;
        const int worse =
            k < to->checks ? rank[to->check[k].verdict] - rank[from->verdict] : 1; /* than before */
        if (worse < 0 || (worse == 0 && !(of->number[i] > all->number[k]))) continue;
        if (k == to->checks) to->checks++;
        to->check[k] = *from;
        all->number[k] = of->number[i];
        nvdp__snprintf(to->check[k].found, sizeof to->check[k].found, "%.60s: %.160s", name,
                       from->found);
        make_printable(to->check[k].found, 0);
    }
}

/* Takes the statement and the guarantee of the file with the weakest guarantee over all texts. If another file proves
 * less per word, or has a larger epsilon but its texts are not named, both say so first: they must hold for every file.
 * So does a text with samples in several files, which only a ledger knows of. The statement also begins with a larger
 * epsilon per person of another file. */
static void take_weakest(struct verify *all, const char *name, size_t files, bool counted,
                         const struct verify *weakest) {
    struct nvdp_verification *to = &all->found;
    const struct nvdp_verification *of = &weakest->found;
    char name_of[64], first[448] = "", bound[NVDP__BOUND_TEXT];
    struct nvdp__writer writer = {first, sizeof first, 0};
    const bool words = to->word_mu > of->word_mu, larger = all->epsilon > weakest->epsilon,
               persons = of->person.persons > 0 &&
                         (to->person.persons == 0 || to->person.epsilon > of->person.epsilon);
    nvdp__snprintf(name_of, sizeof name_of, "%.60s", name);
    if (files > 1 && !counted)
        nvdp__append(&writer,
                     "No ledger counts all of these files%s: the samples of a text that is in "
                     "several of them add up. ",
                     isnan(to->spent_epsilon) ? "" : ", unless they are of different data");
    if (words && isinf(to->word_mu))
        nvdp__append(&writer, "Per word nothing is proven of some of the files. ");
    else if (words)
        nvdp__append(&writer, "Per word only epsilon %s at delta %g is proven of all files. ",
                     nvdp__bound(bound, to->word_epsilon), NVDP__LEDGER_DELTA);
    if (larger)
        nvdp__append(&writer, "Over all texts only epsilon %s at delta %g is proven of all files. ",
                     nvdp__bound(bound, all->epsilon), NVDP__LEDGER_DELTA);
    nvdp__snprintf(to->guarantee, sizeof to->guarantee, "%s%s%s", first,
                   larger  ? "The file with the weakest guarantee: "
                   : words ? "The file that proves least over all texts: "
                           : "",
                   of->guarantee);
    if (persons && (to->person.persons == 0 || isinf(to->person.epsilon)))
        nvdp__append(&writer, "Per person nothing is proven of some of the files. ");
    else if (persons)
        nvdp__append(&writer, "Per person only epsilon %s at delta %g is proven of all files. ",
                     nvdp__bound(bound, to->person.epsilon), NVDP__LEDGER_DELTA);
    nvdp__snprintf(
        to->statement, sizeof to->statement,
        "%zu files of one release hold %zu texts. %sThe file with the weakest guarantee%s, "
        "%s, says:\n%.*s",
        files, all->texts, first, words && !larger ? " over all texts" : "", name_of,
        (int)(sizeof to->statement - 640), of->statement);
    make_printable(to->statement, '\n');
    to->useful = of->useful;
    to->certified = of->certified;
    to->epsilon = of->epsilon;
    to->delta = of->delta;
    to->mu = of->mu;
    to->samples = of->samples;
}

/* Takes the largest sums that a file states.  One that states none leaves them unknown. */
static void take_sums(struct nvdp_verification *to, const struct nvdp_verification *of,
                      bool first) {
    if (first || isnan(of->spent_epsilon) || of->spent_epsilon > to->spent_epsilon)
        to->spent_epsilon = !first && isnan(to->spent_epsilon) ? NAN : of->spent_epsilon;
    to->spent_samples =
        isnan(to->spent_epsilon) ? 0 : nvdp__max(to->spent_samples, of->spent_samples);
    if (first || of->person.persons == 0 ||
        (to->person.persons > 0 && of->person.epsilon > to->person.epsilon))
        to->person = of->person;
    if (first || of->word_mu > to->word_mu) {
        to->word_mu = of->word_mu;
        to->word_epsilon = of->word_epsilon;
    }
}

/* Checks the rows of splits of all files.  Returns false if a row has more samples than the ledger counts of a text: then
 * the files are of different data, or more than one ledger counts them. */
static bool check_rows(struct verify *all, size_t samples, size_t places, struct place *place) {
    size_t same = 0, most = 0, at = 0;
    if (places > 1) qsort(place, places, sizeof *place, by_place);
    for (size_t i = 0; i < places; i++) {
        same = i > 0 && by_place(&place[i - 1], &place[i]) == 0 ? same + 1 : 1;
        if (same > most) at = i;
        most = nvdp__max(most, same);
    }
    if (isnan(all->found.spent_epsilon)) return false;
    if (most * samples <= all->found.spent_samples) return true;
    for (size_t k = 0; k < all->found.checks; k++)
        if (strcmp(all->found.check[k].what, no_row_twice) == 0 &&
            all->found.check[k].verdict == NVDP_VERDICT_YES) {
            all->found.check[k].verdict = NVDP_VERDICT_OPEN;
            nvdp__snprintf(all->found.check[k].found, sizeof all->found.check[k].found,
                           "row %" PRId64
                           " of split %d is in %zu files, and the ledger counts %" PRIu64
                           " samples of a text at most: the files are of different data, or "
                           "of several ledgers",
                           place[at].id, (int)place[at].split, most, all->found.spent_samples);
        }
    return false;
}

static nvdp_status verify_folder(struct verify *all, const struct nvdp__shards *shards,
                                 const unsigned char *wanted) {
    static const char *const training[] = {"all", "some", "maybe", ""}; /* the most first */
    nvdp_status status = NVDP_OK;
    struct verify one = {0}, weakest = {0};
    struct place *place = NULL;
    size_t places = 0, room = 0;
    size_t at = 0, most = sizeof training / sizeof *training - 1;
    check(all, NVDP_VERDICT_YES, "all files are of one run and one mechanism",
          "%zu files, which agree in every attribute of the mechanism", shards->count);
    all->found.is_signed = all->found.is_known = true;
    for (size_t i = 0; i < shards->count; i++) {
        NVDP_TRY(verify_file(all->ctx, shards->path[i], wanted, &one));
        NVDP_TRY(nvdp__reserve(all->ctx, &place, &room, places + one.places, sizeof *place));
        if (one.places > 0) memcpy(place + places, one.place, one.places * sizeof *place);
        places += one.places;
        free(one.place);
        one.place = NULL;
        const struct nvdp_verification *found = &one.found;
        merge_checks(all, nvdp__shard_name(shards->path[i]), &one);
        all->found.is_signed = all->found.is_signed && found->is_signed;
        all->found.is_known = all->found.is_known && found->is_known;
        all->texts += one.texts;
        all->epsilon = fmax(all->epsilon, one.epsilon);
        take_sums(&all->found, found, i == 0);
        for (size_t k = 0; k < most; k++)
            if (strcmp(found->training_texts, training[k]) == 0) most = k;
        if (i > 0 && (found->useful > weakest.found.useful ||
                      (found->useful == weakest.found.useful && one.epsilon <= weakest.epsilon)))
            continue;
        weakest = one;
        at = i;
    }
    memcpy(all->found.public_key, one.found.public_key, sizeof one.found.public_key);
    nvdp__snprintf(all->found.training_texts, sizeof all->found.training_texts, "%s",
                   training[most]);
    const bool counted = check_rows(all, weakest.found.samples, places, place);
    take_weakest(all, nvdp__shard_name(shards->path[at]), shards->count, counted, &weakest);
cleanup:
    free(one.place);
    free(place);
    return status;
}

nvdp_status nvdp_verify(struct nvdp_context *ctx, const char *path, const char *public_key,
                        struct nvdp_verification *out) {
    nvdp_status status = NVDP_OK;
    unsigned char key[NVDP__PUBLIC_KEY];
    const unsigned char *wanted = public_key != NULL ? key : NULL;
    struct nvdp__shards shards = {0};
    struct verify v = {.ctx = ctx, .found = nothing_found()};
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (path == NULL)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "path: expected a file, found none"));
    if (public_key != NULL) NVDP_TRY(nvdp__public_key_read(ctx, public_key, key));
    if (nvdp__is_directory(path)) {
        NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
        NVDP_TRY(verify_folder(&v, &shards, wanted));
    } else {
        NVDP_TRY(verify_file(ctx, path, wanted, &v));
    }
    NVDP__GIVE(out, &v.found);
cleanup:
    free(v.place);
    nvdp__shards_close(&shards);
    return status;
}

/* --- the owner's ledger --- */

static nvdp_status check_spent(struct verify *v, const struct nvdp__ledger *ledger,
                               const struct nvdp__ledger_release *release) {
    struct nvdp__spent worst;
    struct nvdp__budget budget;
    char samples[32] = "none", epsilon[32] = "none", person[32] = "none", bound[NVDP__BOUND_TEXT];
    NVDP_RETURN_IF_FAILED(nvdp__ledger_worst(ledger, release, &worst, &budget));
    if (budget.samples > 0) nvdp__snprintf(samples, sizeof samples, "%" PRIu64, budget.samples);
    if (budget.epsilon > 0) nvdp__snprintf(epsilon, sizeof epsilon, "%g", budget.epsilon);
    check(v, verdict_of(nvdp__within_budget(&budget, &worst)),
          "no text of the file has exceeded the budget, all releases together",
          "at most %" PRIu64 " samples (budget: %s), epsilon %s (budget: %s) at delta %g",
          worst.samples, samples, nvdp__bound(bound, worst.epsilon), epsilon, NVDP__LEDGER_DELTA);
    weigh(v, worst.epsilon);
    v->facts.spent = worst;
    if (worst.person_budget > 0) nvdp__snprintf(person, sizeof person, "%g", worst.person_budget);
    if (worst.persons > 0) {
        check(v,
              verdict_of(worst.person_budget == 0 || worst.person_epsilon <= worst.person_budget),
              "no person of the file has exceeded the budget, all texts and releases together",
              "up to %" PRIu64 " texts and %" PRIu64
              " samples of a person, epsilon %s (budget: %s) at delta %g",
              worst.person_texts, worst.person_samples, nvdp__bound(bound, worst.person_epsilon),
              person, NVDP__LEDGER_DELTA);
        weigh(v, worst.person_epsilon);
    }
    if (worst.receivers > 0) {
        check(v, NVDP_VERDICT_YES, "the ledger names receivers, whose files count together above",
              "a text has up to %" PRIu64 " samples at a single one of %" PRIu64
              " receivers, epsilon %s at delta %g",
              worst.receiver_samples, worst.receivers, nvdp__bound(bound, worst.receiver_epsilon),
              NVDP__LEDGER_DELTA);
        weigh(v, worst.receiver_epsilon);
    }
    return NVDP_OK;
}

static void check_words(struct verify *v) {
    const struct nvdp__spent *worst = &v->facts.spent;
    const double word = nvdp_gdp_epsilon(worst->word_mu, NVDP__LEDGER_DELTA);
    char bound[NVDP__BOUND_TEXT];
    if (word < worst->epsilon && word <= NVDP_USEFUL_EPSILON)
        check(v, NVDP_VERDICT_YES, "the ledger proves privacy per word, all releases together",
              "epsilon %s at delta %g, for one word in place of another", nvdp__bound(bound, word),
              NVDP__LEDGER_DELTA);
}

/* Begins the guarantee with the ledger's sums if they are above those that the file states: it counts later exports. */
static void begin_with_ledger(struct verify *v) {
    const double room = 1 + 1e-6;
    const struct nvdp__spent *now = &v->facts.spent;
    struct nvdp_verification *to = &v->found;
    const double word = nvdp__spent_word_epsilon(now),
                 before = isnan(to->spent_epsilon) ? to->epsilon : to->spent_epsilon;
    char old[NVDP_GUARANTEE_SIZE], epsilon[NVDP__SPENT_TEXT];
    if (now->epsilon <= before * room && word <= fmin(to->word_epsilon, before) * room) return;
    nvdp__snprintf(old, sizeof old, "%s", to->guarantee);
    nvdp__snprintf(to->guarantee, sizeof to->guarantee,
                   "The ledger now counts up to %" PRIu64 " samples of a text, which together "
                   "have %s. The file states: %s",
                   now->samples, nvdp__spent_text(now->epsilon, word, epsilon), old);
    to->useful = to->useful && now->epsilon <= NVDP_USEFUL_EPSILON;
}

/* Adds the checks and takes the sums. */
static void append_checks(struct verify *to, const struct verify *from) {
    to->facts.spent = from->facts.spent;
    for (size_t i = 0; i < from->found.checks; i++) {
        check(to, from->found.check[i].verdict, from->found.check[i].what, "%s",
              from->found.check[i].found);
        weigh(to, from->number[i]);
    }
}

/* Adds the checks and the sums of one release. */
static void merge_spent(struct verify *all, const char *path, const struct verify *of) {
    struct nvdp__spent *to = &all->facts.spent;
    const struct nvdp__spent *from = &of->facts.spent;
    merge_checks(all, nvdp__shard_name(path), of);
    to->samples = nvdp__max(to->samples, from->samples);
    to->epsilon = fmax(to->epsilon, from->epsilon);
    to->word_mu = fmax(to->word_mu, from->word_mu);
    to->persons = nvdp__max(to->persons, from->persons);
    to->person_samples = nvdp__max(to->person_samples, from->person_samples);
    to->person_epsilon = fmax(to->person_epsilon, from->person_epsilon);
}

/* Checks the sums of the release, and those of similar ones of the same id if the file's name does not tell them apart. */
static nvdp_status check_similar(struct verify *v, const struct nvdp__ledger *ledger,
                                 const struct nvdp__ledger_release *release, const char *path) {
    const bool named = strcmp(nvdp__shard_name(release->file), nvdp__shard_name(path)) == 0;
    if (named || nvdp__ledger_like(ledger, release) == NULL) return check_spent(v, ledger, release);
    for (; release != NULL; release = nvdp__ledger_like(ledger, release)) {
        struct verify one = {.ctx = v->ctx, .found = nothing_found()};
        NVDP_RETURN_IF_FAILED(check_spent(&one, ledger, release));
        merge_spent(v, path, &one);
    }
    return NVDP_OK;
}

/* Writes what the file states and the ledger does not count, or "": another ledger counts it, or records are missing. */
static void find_uncounted(struct verify *v, const struct nvdp__spent *now, size_t size,
                           char *text) {
    const double room = 1 + 1e-6;
    const struct nvdp__spent *stated = &v->facts.spent;
    char a[NVDP__BOUND_TEXT], b[NVDP__BOUND_TEXT];
    text[0] = '\0';
    take_counted(v);
    const bool more = stated->samples > now->samples || stated->epsilon > now->epsilon * room ||
                      (has(v, "ledger_word_mu") && stated->word_mu > now->word_mu * room),
               persons =
                   stated->persons > 0 && (stated->person_samples > now->person_samples ||
                                           stated->person_epsilon > now->person_epsilon * room);
    if (has(v, "ledger") && !v->facts.counted)
        nvdp__snprintf(text, size, "the file states that no ledger counts it");
    else if (v->facts.counted && (more || persons))
        nvdp__snprintf(text, size,
                       "it counts %" PRIu64 " samples of a %s, epsilon %s; the file states %" PRIu64
                       ", epsilon %s: another ledger counts the file, or records are missing",
                       more ? now->samples : now->person_samples, more ? "text" : "person",
                       nvdp__bound(a, more ? now->epsilon : now->person_epsilon),
                       more ? stated->samples : stated->person_samples,
                       nvdp__bound(b, more ? stated->epsilon : stated->person_epsilon));
}

/* Checks the release of file i of a folder, or of a single file (i = 0).  Sets texts[i]; the files before set theirs. */
static nvdp_status check_listed(struct verify *v, const struct nvdp__ledger *ledger,
                                const char *path, size_t i, int64_t *texts) {
    static const char what[] = "the ledger lists the file's release";
    nvdp_status status = NVDP_OK;
    struct verify sums = {.ctx = v->ctx, .found = nothing_found()};
    char id[NAME_SIZE], uncounted[sizeof v->found.check->found];
    int64_t samples = 0;
    size_t before = 0;
    NVDP_TRY(nvdp__release_read(v->ctx, nvdp__formats, path, &v->release));
    text_of(v, "model_id", sizeof id, id);
    was_read(v, nvdp__release_whole(&v->release, "texts", &texts[i]));
    was_read(v, nvdp__release_whole(&v->release, "releases", &samples));
    const struct nvdp__ledger_release *release =
        nvdp__ledger_find(ledger, id, path, (uint64_t)texts[i], (uint64_t)samples);
    if (release == NULL) {
        check(v, NVDP_VERDICT_NO, what, "none of its %zu releases has model_id '%s'",
              nvdp__ledger_count(ledger), id);
        goto cleanup;
    }
    NVDP_TRY(check_similar(&sums, ledger, release, path));
    find_uncounted(v, &sums.facts.spent, sizeof uncounted, uncounted);
    for (size_t k = 0; k < i; k++)
        before += texts[k] == texts[i];
    const size_t alike = nvdp__ledger_alike(ledger, release);
    if ((uint64_t)texts[i] != release->texts || (uint64_t)samples != release->samples)
        check(v, NVDP_VERDICT_NO, what,
              "the ledger lists %" PRIu64 " texts with %" PRIu64
              " samples each; the file states %" PRId64 " texts with %" PRId64 " samples each",
              release->texts, release->samples, texts[i], samples);
    else if (before >= alike)
        check(v, NVDP_VERDICT_NO, what,
              "the folder has %zu files of %" PRId64 " texts, and the ledger lists %zu", before + 1,
              texts[i], alike);
    else if (uncounted[0] != '\0')
        check(v, NVDP_VERDICT_NO, what, "%s", uncounted);
    else
        check(v, NVDP_VERDICT_YES, what, "%" PRIu64 " texts with %" PRIu64 " sample%s each",
              release->texts, release->samples, release->samples == 1 ? "" : "s");
    append_checks(v, &sums);
    NVDP_TRY(v->status);
cleanup:
    nvdp__release_close(&v->release);
    return status;
}

nvdp_status nvdp_verify_ledger(struct nvdp_context *ctx, const char *path, const char *ledger_path,
                               const char *key, struct nvdp_verification *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__ledger *ledger = NULL;
    struct nvdp__shards shards = {0};
    struct verify v = {.ctx = ctx};
    char *key_path = NULL;
    int64_t *texts = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (path == NULL || ledger_path == NULL)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                            "ledger: expected a file and its ledger, found only one or neither"));
    if (key == NULL) {
        key_path = nvdp__format(ctx, "%s.key", ledger_path);
        NVDP_TRY(NVDP__MADE(key_path));
        key = key_path;
    }
    memcpy(&v.found, out, out->struct_size < sizeof v.found ? out->struct_size : sizeof v.found);
    NVDP_TRY(nvdp__shards_open(ctx, path, &shards));
    NVDP_TRY(nvdp__ledger_open(ctx, ledger_path, key, NULL, &ledger));
    NVDP_TRY(NVDP__NEW(ctx, texts, shards.count));
    if (!nvdp__is_directory(path)) NVDP_TRY(check_listed(&v, ledger, path, 0, texts));
    for (size_t i = 0; i < shards.count && nvdp__is_directory(path); i++) {
        struct verify one = {.ctx = ctx, .found = nothing_found()};
        NVDP_TRY(check_listed(&one, ledger, shards.path[i], i, texts));
        merge_spent(&v, shards.path[i], &one);
    }
    check_words(&v);
    begin_with_ledger(&v);
    NVDP__GIVE(out, &v.found);
cleanup:
    free(key_path);
    free(texts);
    nvdp__ledger_close(ledger);
    nvdp__shards_close(&shards);
    return status;
}
