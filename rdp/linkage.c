/* Linkage attack: from which text do samples come? Computes every text's likelihood for the
 * samples of every trial, and the ranks of the right texts. */
#include "base/random.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"

#include <nvdp/guess.h>
#include <stdlib.h>

enum { TEN = 10, MAX_EVIDENCE = 64, MIN_EVIDENCE = 16 };
static const size_t MAX_BYTES = (size_t)1 << 28; /* max bytes of evidence in memory */
static const double CONFIDENCE = 0.95;

/* --- samples --- */

size_t nvdp__linkage_rows(const struct nvdp_posteriors *set, size_t n, const size_t *text) {
    size_t longest = 0;
    for (size_t i = 0; i < (text != NULL ? n : set->texts); i++)
        longest = nvdp__max(longest, nvdp__rows(set, text != NULL ? text[i] : i));
    return longest;
}

nvdp_status nvdp__linkage_collect(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  const struct nvdp__sample_source *source, size_t n,
                                  const struct nvdp__trial *trial, int releases,
                                  struct nvdp__evidence *evidence) {
    const int threads = nvdp_context_threads(ctx);
    const size_t kappa = (size_t)set->kappa;
    size_t room = 0, rows = 0; /* vectors, weights */
    nvdp_status failed = NVDP_OK;
    for (size_t i = 0; i < n; i++) {
        room = nvdp__max(room, (evidence[i].room + 1) * kappa);
        rows = nvdp__max(rows, nvdp__release_rows(set, trial[i].text));
    }
#pragma omp parallel num_threads(threads)
    {
        double *z = nvdp__calloc(ctx, room * set->dim + rows, sizeof *z);
        if (z == NULL) {
#pragma omp atomic write
            failed = NVDP_ERR_MEMORY;
        }
#pragma omp for schedule(dynamic, 4)
        for (size_t i = 0; i < n; i++) {
            if (z == NULL) continue;
            nvdp__evidence_begin(&evidence[i], set, trial[i].text);
            const size_t vectors = (evidence[i].rows + (set->alpha != NULL)) * kappa;
            for (size_t k = 0; k < (size_t)releases; k++) {
                source->take(source->of, trial[i].text, trial[i].first + k, vectors, z,
                             z + room * set->dim);
                nvdp__evidence_add(&evidence[i], set, z, z + room * set->dim, source->end);
            }
            nvdp__evidence_finish(&evidence[i], set);
        }
        free(z);
    }
    return failed;
}

/* --- the control without noise, the proven bound --- */

static uint64_t add_numbers(uint64_t key, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        const double value = x[i] == 0 ? 0 : x[i]; /* -0 becomes 0 */
        memcpy(&bits, &value, sizeof bits);
        key = nvdp__fnv1a(key, bits);
    }
    return key;
}

uint64_t nvdp__posterior_key(const struct nvdp_posteriors *set, size_t i) {
    const size_t at = set->offset[i], rows = nvdp__rows(set, i), p = set->dim;
    uint64_t key = nvdp__fnv1a(NVDP__FNV1A, rows);
    key = add_numbers(key, rows * p, set->mu + at * p);
    key = add_numbers(key, rows * p, set->logvar + at * p);
    return set->alpha != NULL ? add_numbers(key, rows, set->alpha + at) : key;
}

/* Texts with the same posterior share a guess, so each distinct posterior is identified once. */
static nvdp_status named_without_noise(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                       double *share) {
    int64_t *key = NULL;
    size_t different = 0;
    NVDP_TRY(NVDP__NEW(ctx, key, set->texts));
    for (size_t i = 0; i < set->texts; i++)
        key[i] = (int64_t)nvdp__posterior_key(set, i);
    qsort(key, set->texts, sizeof *key, nvdp__by_int64);
    for (size_t i = 0; i < set->texts; i++)
        different += i == 0 || key[i] != key[i - 1];
    free(key);
    *share = (double)different / (double)set->texts;
    return NVDP_OK;
}

double nvdp__guess_limit(const struct nvdp_posteriors *set, double baseline, int releases) {
    if (!nvdp__clip_proves(set)) return NAN;
    return nvdp_guess_bound(baseline, set->clip_sequence, releases,
                            nvdp__release_rows(set, 0) * set->dim);
}

/* --- guesses --- */

struct tally {
    double first, ten; /* of hits */
};
struct information {
    double sum, square;
};

/* Adds the hits of one trial to the tally. `group` [texts] (NULL: one group) limits the texts to those in the group of
 * the right one. Texts as likely as the right one share its ranks. */
static void count_hits(size_t texts, const double *log_density, size_t right, const size_t *group,
                       struct tally *tally) {
    const double own = log_density[right];
    double above = 0, equal = 0;
    for (size_t t = 0; t < texts; t++) {
        if (group != NULL && group[t] != group[right]) continue;
        above += log_density[t] > own;
        equal += log_density[t] == own;
    }
    tally->first += fmin(1, fmax(0, 1 - above) / equal);
    tally->ten += fmin(1, fmax(0, TEN - above) / equal);
}

static void add_information(size_t texts, const double *log_density, size_t right,
                            struct information *to) {
    double total = 0, top = log_density[right];
    for (size_t t = 0; t < texts; t++)
        top = fmax(top, log_density[t]);
    for (size_t t = 0; t < texts; t++)
        total += exp(log_density[t] - top);
    const double information = log((double)texts) + log_density[right] - top - log(total);
    to->sum += information;
    to->square += information * information;
}

/* Returns the interval of a share; ties give fractional hits. */
static struct nvdp_interval interval_of(double hits, size_t trials) {
    return (struct nvdp_interval){
        nvdp__interval_share(CONFIDENCE, trials, (size_t)floor(hits)).low,
        nvdp__interval_share(CONFIDENCE, trials, nvdp__min(trials, (size_t)ceil(hits))).high};
}

static void summarize(const struct tally *tally, const struct information *information,
                      struct nvdp_linkage *out) {
    const double n = (double)out->trials, mean = information->sum / n;
    const double sd = sqrt(fmax(0, information->square / n - mean * mean) * n / fmax(1, n - 1));
    out->first = tally->first / n;
    out->ten = tally->ten / n;
    out->first_interval = interval_of(tally->first, out->trials);
    out->ten_interval = interval_of(tally->ten, out->trials);
    out->information = mean;
    out->information_interval = nvdp__interval_student(CONFIDENCE, out->trials, mean, sd);
}

/* --- labels --- */

struct labeled {
    float label;
    size_t text;
};

/* Sorts missing labels, NaN, behind all others. */
static int by_label(const void *left, const void *right) {
    const struct labeled *a = left, *b = right;
    if (isnan(a->label) || isnan(b->label)) return isnan(a->label) - isnan(b->label);
    return (a->label > b->label) - (a->label < b->label);
}

nvdp_status nvdp__label_groups(struct nvdp_context *ctx, size_t n, const float *label,
                               size_t *group, size_t *groups) {
    struct labeled *sorted = NULL;
    size_t count = 0;
    NVDP_TRY(NVDP__NEW(ctx, sorted, n));
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct labeled){label[i], i};
    qsort(sorted, n, sizeof *sorted, by_label);
    for (size_t i = 0; i < n; i++) {
        count += i == 0 || by_label(&sorted[i - 1], &sorted[i]) != 0;
        group[sorted[i].text] = count - 1;
    }
    free(sorted);
    *groups = count;
    return NVDP_OK;
}

/* Groups the texts by label: group [texts]. Side information y has the baseline E_y max_x p(x | y), so a label of n
 * of N texts adds n/N 1/n to it, and n/N min(10, n)/n for ten guesses (docs/proofs.md, section 4). */
static nvdp_status group_labels(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                int releases, size_t *group, struct nvdp_linkage_labeled *out) {
    const size_t n = set->texts;
    size_t *texts = NULL, ten = 0;
    NVDP_TRY(nvdp__label_groups(ctx, n, set->label, group, &out->labels));
    NVDP_TRY(NVDP__NEW(ctx, texts, out->labels));
    for (size_t i = 0; i < n; i++)
        ten += ++texts[group[i]] <= TEN;
    free(texts);
    out->first_chance = (double)out->labels / (double)n;
    out->ten_chance = (double)ten / (double)n;
    out->first_bound = nvdp__guess_limit(set, out->first_chance, releases);
    out->ten_bound = nvdp__guess_limit(set, out->ten_chance, releases);
    return NVDP_OK;
}

static const struct nvdp_linkage_labeled NO_LABELS = {.first = NAN,
                                                      .first_interval = {NAN, NAN},
                                                      .first_chance = NAN,
                                                      .ten = NAN,
                                                      .ten_interval = {NAN, NAN},
                                                      .ten_chance = NAN,
                                                      .first_bound = NAN,
                                                      .ten_bound = NAN};

nvdp_status nvdp__linkage(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                          const struct nvdp__sample_source *source, int releases, size_t draws,
                          struct nvdp_linkage *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__likelihood likelihood = {0};
    struct nvdp__evidence evidence[MAX_EVIDENCE] = {0};
    struct nvdp__trial trial[MAX_EVIDENCE];
    struct tally tally = {0}, labeled = {0};
    struct information information = {0};
    struct nvdp__meter meter;
    double *log_density = NULL;
    size_t *group = NULL; /* of each text: its label */
    const size_t n = set->texts, rows = nvdp__linkage_rows(set, n, NULL);
    const size_t fit = MAX_BYTES / (2 * sizeof(double) * (rows * set->dim + 1));
    const size_t block = nvdp__min(MAX_EVIDENCE, nvdp__max(MIN_EVIDENCE, fit));
    const double nn = (double)n;
    struct nvdp_linkage made = {.struct_size = sizeof made,
                                .texts = n,
                                .of_texts = n,
                                .releases = releases,
                                .trials = n * draws,
                                .confidence = CONFIDENCE,
                                .first_chance = 1 / nn,
                                .ten_chance = fmin(1, TEN / nn),
                                .labeled = NO_LABELS};
    NVDP_TRY_OR_CLEAN(named_without_noise(ctx, set, &made.states));
    made.first_bound = nvdp__guess_limit(set, made.first_chance, releases);
    made.ten_bound = nvdp__guess_limit(set, made.ten_chance, releases);
    if (set->label != NULL) {
        NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, group, n));
        NVDP_TRY_OR_CLEAN(group_labels(ctx, set, releases, group, &made.labeled));
    }
    NVDP_TRY_OR_CLEAN(nvdp__likelihood_create(ctx, set, &likelihood));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, log_density, block * n));
    for (size_t i = 0; i < block; i++)
        NVDP_TRY_OR_CLEAN(nvdp__evidence_create(ctx, set, rows, &evidence[i]));
    nvdp__meter_begin(&meter, ctx, "linkage", "sample", 0, made.trials);
    for (size_t first = 0; first < made.trials; first += block) {
        const size_t some = nvdp__min(block, made.trials - first);
        NVDP_TRY_OR_CLEAN(nvdp__check_cancelled(ctx, "linkage: cancelled"));
        for (size_t i = 0; i < some; i++)
            trial[i] = (struct nvdp__trial){(first + i) % n, (first + i) / n * (size_t)releases};
        NVDP_TRY_OR_CLEAN(nvdp__linkage_collect(ctx, set, source, some, trial, releases, evidence));
        nvdp__likelihoods(&likelihood, nvdp_context_threads(ctx), some, evidence, n, NULL,
                          log_density);
        for (size_t i = 0; i < some; i++) {
            count_hits(n, log_density + i * n, trial[i].text, NULL, &tally);
            if (group != NULL) count_hits(n, log_density + i * n, trial[i].text, group, &labeled);
            add_information(n, log_density + i * n, trial[i].text, &information);
        }
        nvdp__meter_update(&meter, first + some, (double)((first + some) * n), "guess", NAN);
    }
    nvdp__meter_end(&meter);
    summarize(&tally, &information, &made);
    if (group != NULL) {
        made.labeled.first = labeled.first / (double)made.trials;
        made.labeled.ten = labeled.ten / (double)made.trials;
        made.labeled.first_interval = interval_of(labeled.first, made.trials);
        made.labeled.ten_interval = interval_of(labeled.ten, made.trials);
    }
    const bool more = made.labeled.first > made.first; /* false for NaN */
    made.named = more ? made.labeled.first : made.first;
    made.named_interval = more ? made.labeled.first_interval : made.first_interval;
    *out = made;
cleanup:
    for (size_t i = 0; i < block; i++)
        nvdp__evidence_release(&evidence[i]);
    nvdp__likelihood_release(&likelihood);
    free(log_density);
    free(group);
    return status;
}
