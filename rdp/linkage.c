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
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, key, set->texts));
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
    double first, ten, sum, square; /* of hits, of information and of its squares */
};

/* Adds one trial to the tally. Texts as likely as the right one share its ranks. */
static void score_trial(size_t texts, const double *log_density, size_t right,
                        struct tally *tally) {
    const double own = log_density[right];
    double above = 0, equal = 0, total = 0, top = own;
    for (size_t t = 0; t < texts; t++)
        top = fmax(top, log_density[t]);
    for (size_t t = 0; t < texts; t++) {
        above += log_density[t] > own;
        equal += log_density[t] == own;
        total += exp(log_density[t] - top);
    }
    const double information = log((double)texts) + own - top - log(total);
    tally->first += fmin(1, fmax(0, 1 - above) / equal);
    tally->ten += fmin(1, fmax(0, TEN - above) / equal);
    tally->sum += information;
    tally->square += information * information;
}

static void summarize(const struct tally *tally, struct nvdp_linkage *out) {
    const double n = (double)out->trials, mean = tally->sum / n;
    const double sd = sqrt(fmax(0, tally->square / n - mean * mean) * n / fmax(1, n - 1));
    const double successes[] = {tally->first, tally->ten};
    struct nvdp_interval *const interval[] = {&out->first_interval, &out->ten_interval};
    out->first = tally->first / n;
    out->ten = tally->ten / n;
    for (size_t i = 0; i < 2; i++) { /* ties give fractional hits */
        interval[i]->low =
            nvdp__interval_share(CONFIDENCE, out->trials, (size_t)floor(successes[i])).low;
        interval[i]->high =
            nvdp__interval_share(CONFIDENCE, out->trials, (size_t)fmin(n, ceil(successes[i]))).high;
    }
    out->information = mean;
    out->information_interval = nvdp__interval_student(CONFIDENCE, out->trials, mean, sd);
}

nvdp_status nvdp__linkage(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                          const struct nvdp__sample_source *source, int releases, size_t draws,
                          struct nvdp_linkage *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__likelihood likelihood = {0};
    struct nvdp__evidence evidence[MAX_EVIDENCE] = {0};
    struct nvdp__trial trial[MAX_EVIDENCE];
    struct tally tally = {0};
    struct nvdp__meter meter;
    double *log_density = NULL;
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
                                .ten_chance = fmin(1, TEN / nn)};
    NVDP_TRY(named_without_noise(ctx, set, &made.states));
    made.first_bound = nvdp__guess_limit(set, made.first_chance, releases);
    made.ten_bound = nvdp__guess_limit(set, made.ten_chance, releases);
    NVDP_TRY(nvdp__likelihood_create(ctx, set, &likelihood));
    NVDP_TRY(NVDP__NEW(ctx, log_density, block * n));
    for (size_t i = 0; i < block; i++)
        NVDP_TRY(nvdp__evidence_create(ctx, set, rows, &evidence[i]));
    nvdp__meter_begin(&meter, ctx, "linkage", "sample", 0, made.trials);
    for (size_t first = 0; first < made.trials; first += block) {
        const size_t some = nvdp__min(block, made.trials - first);
        NVDP_TRY(nvdp__check_cancelled(ctx, "linkage: cancelled"));
        for (size_t i = 0; i < some; i++)
            trial[i] = (struct nvdp__trial){(first + i) % n, (first + i) / n * (size_t)releases};
        NVDP_TRY(nvdp__linkage_collect(ctx, set, source, some, trial, releases, evidence));
        nvdp__likelihoods(&likelihood, nvdp_context_threads(ctx), some, evidence, n, NULL,
                          log_density);
        for (size_t i = 0; i < some; i++)
            score_trial(n, log_density + i * n, trial[i].text, &tally);
        nvdp__meter_update(&meter, first + some, (double)((first + some) * n), "guess", NAN);
    }
    nvdp__meter_end(&meter);
    summarize(&tally, &made);
    *out = made;
cleanup:
    for (size_t i = 0; i < block; i++)
        nvdp__evidence_release(&evidence[i]);
    nvdp__likelihood_release(&likelihood);
    free(log_density);
    return status;
}
