/* Finds the text that is the source of samples. First the log densities of samples under the posteriors of texts, then
 * the attack and its result.
 *
 * Log densities. For K samples of one text, with M = K kappa vectors per token, their mean m and their sum of squares s
 * about it,
 *
 *     sum log N(z; mu, v) - log N(z; 0, 1)  =  -[ (M (m - mu)^2 + s) / v - sum z^2 + M log v ] / 2
 *
 * in every dimension. K samples cost as much as one sample, and squares of differences do not cancel for small v. The
 * weights contribute, with a = alpha/kappa of the tokens' rows, a_0 of padding (1 under public lengths) and A the sum
 * over all rows,
 *
 *     K [ lnG(A) - kappa sum (lnG(a) - lnG(a_0)) ] + sum (a - a_0) sum log pi.
 *
 * A grid ends at some log weight e; lower weights become e. As G(a)^-1 int_-inf^e exp(a x) dx = exp(a e) / G(a + 1)
 * (the sum of all Gammas is near A, not near 0), such a row has lnG(a + 1) instead of lnG(a): log a is subtracted. */
#include "base/random.h"
#include "base/sentence.h"
#include "options/result.h"
#include "rdp/divergence.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"
#include "rdp/report.h"
#include "tensor/vector.h"
#include <nvdp/guess.h>
#include <stdlib.h>

/* --- evidence --- */

nvdp_status nvdp__evidence_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                  const struct nvdp_posteriors *set, size_t room, size_t count,
                                  struct nvdp__evidence *out) {
    for (struct nvdp__evidence *made = out; made < out + count; made++) {
        *made = (struct nvdp__evidence){.room = room};
        NVDP_TRY(NVDP__ARRAYS(ctx, memory, NVDP__ITEMS(made->mean, room * set->dim),
                              NVDP__ITEMS(made->spread, room * set->dim),
                              NVDP__ITEMS(made->log_pi, room), NVDP__ITEMS(made->cut, room),
                              NVDP__ITEMS(made->squares, room + 1)));
    }
    return NVDP_OK;
}

void nvdp__evidence_begin(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set,
                          size_t i) {
    const size_t p = set->dim;
    evidence->tokens = set->policy == NVDP_LENGTH_HIDDEN ? set->length : nvdp__row_count(set, i);
    evidence->rows = nvdp__min(evidence->room, evidence->tokens);
    evidence->samples = 0;
    memset(evidence->mean, 0, evidence->rows * p * sizeof *evidence->mean);
    memset(evidence->spread, 0, evidence->rows * p * sizeof *evidence->spread);
    memset(evidence->log_pi, 0, evidence->rows * sizeof *evidence->log_pi);
    memset(evidence->cut, 0, evidence->rows * sizeof *evidence->cut);
}

void nvdp__evidence_add(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set,
                        const double *z, const double *log_pi, double end) {
    const size_t p = set->dim, kappa = (size_t)set->kappa;
    const size_t first = set->alpha != NULL ? kappa : 0; /* number of rows of the prior */
    for (size_t j = 0; j < evidence->rows; j++) {
        double *mean = evidence->mean + j * p, *spread = evidence->spread + j * p;
        for (size_t k = 0; k < kappa; k++) { /* Welford 1962 */
            const size_t row = first + j * kappa + k;
            const double share = 1 / (double)((size_t)evidence->samples * kappa + k + 1);
            for (size_t d = 0; d < p; d++) {
                const double off = z[row * p + d] - mean[d];
                mean[d] += off * share;
                spread[d] += off * off * (1 - share);
            }
            if (set->alpha == NULL) continue;
            evidence->log_pi[j] += log_pi[row];
            evidence->cut[j] += log_pi[row] <= end;
        }
    }
    evidence->samples++;
}

void nvdp__evidence_finish(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set) {
    const size_t p = set->dim;
    const double times = (double)evidence->samples * set->kappa;
    for (size_t j = 0; j < evidence->rows; j++) {
        double sum = 0;
        for (size_t d = 0; d < p; d++) {
            const double mean = evidence->mean[j * p + d];
            sum += times * mean * mean + evidence->spread[j * p + d];
        }
        evidence->squares[j + 1] = evidence->squares[j] + sum;
    }
}

/* --- texts --- */

/* Computes the constant and the exponents of one text's Dirichlet density. */
static void take_weights(struct nvdp__likelihood *to, size_t t) {
    const struct nvdp_posteriors *set = to->set;
    const bool hidden = set->policy == NVDP_LENGTH_HIDDEN;
    /* pseudo-count of padding per vector */
    const double kappa = set->kappa, a_0 = hidden ? set->pad_alpha / kappa : 1;
    const size_t tokens = nvdp__row_count(set, t);
    double all = set->prior_alpha + (hidden ? (double)(set->length - tokens) * set->pad_alpha : 0);
    double sum = 0;
    for (size_t r = set->offset[t]; r < set->offset[t + 1]; r++) {
        const double a = set->alpha[r] / kappa;
        all += set->alpha[r];
        sum += nvdp__log_gamma(a) - nvdp__log_gamma(a_0);
        to->tilt[r] = a - a_0;
        to->log_tilt[r] = log(a / a_0);
    }
    to->weights[t] = nvdp__log_gamma(all) - kappa * sum;
}

nvdp_status nvdp__likelihood_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                    struct nvdp__likelihood *out) {
    *out = (struct nvdp__likelihood){.set = set};
    const size_t rows = set->offset[set->texts], p = set->dim;
    NVDP_TRY(NVDP__ARRAYS(ctx, &out->memory, NVDP__ITEMS(out->precision, rows * p),
                          NVDP__ITEMS(out->logvar, rows), NVDP__ITEMS(out->tilt, rows),
                          NVDP__ITEMS(out->log_tilt, rows), NVDP__ITEMS(out->weights, set->texts)));
#pragma omp parallel for num_threads(nvdp_context_threads(ctx))
    for (size_t r = 0; r < rows; r++)
        for (size_t k = r * p; k < (r + 1) * p; k++) {
            out->precision[k] = exp(-set->logvar[k]);
            out->logvar[r] += set->logvar[k];
        }
    for (size_t t = 0; t < set->texts && set->alpha != NULL; t++)
        take_weights(out, t);
    return NVDP_OK;
}

void nvdp__likelihood_release(struct nvdp__likelihood *likelihood) {
    nvdp__memory_release(&likelihood->memory);
    *likelihood = (struct nvdp__likelihood){0};
}

/* --- densities --- */

/* sum of (times (mean - mu)^2 + spread) precision */
NVDP__CLONES
static double quadratic(size_t n, double times, const double *restrict mean,
                        const double *restrict spread, const double *restrict mu,
                        const double *restrict precision) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n; d++) {
        const double off = mean[d] - mu[d];
        sum += (times * off * off + spread[d]) * precision[d];
    }
    return sum;
}

/* The same sum for a single vector. */
NVDP__CLONES
static double quadratic_of_one(size_t n, const double *restrict z, const double *restrict mu,
                               const double *restrict precision) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t d = 0; d < n; d++) {
        const double off = z[d] - mu[d];
        sum += off * off * precision[d];
    }
    return sum;
}

static bool lengths_fit(const struct nvdp_posteriors *set, const struct nvdp__evidence *evidence,
                        size_t t) {
    return set->policy == NVDP_LENGTH_HIDDEN || nvdp__row_count(set, t) == evidence->tokens;
}

/* Returns the contribution of token j of text t. */
static double token(const struct nvdp__likelihood *of, const struct nvdp__evidence *evidence,
                    size_t t, size_t j) {
    const struct nvdp_posteriors *set = of->set;
    const size_t p = set->dim, r = set->offset[t] + j;
    const double times = (double)evidence->samples * set->kappa;
    const double *mean = evidence->mean + j * p;
    double sum = times == 1 ? quadratic_of_one(p, mean, set->mu + r * p, of->precision + r * p)
                            : quadratic(p, times, mean, evidence->spread + j * p, set->mu + r * p,
                                        of->precision + r * p);
    sum = -(sum + times * of->logvar[r]) / 2;
    if (set->alpha == NULL) return sum;
    return sum + of->tilt[r] * evidence->log_pi[j] - of->log_tilt[r] * evidence->cut[j];
}

/* Processes a few texts against some of the evidence token by token, so that rows stay in the cache. */
enum { TEXTS = 8, EVIDENCE = 16 };

static void tile(const struct nvdp__likelihood *of, size_t n, const struct nvdp__evidence *evidence,
                 size_t texts, const size_t *text, size_t columns, double *out) {
    const struct nvdp_posteriors *set = of->set;
    size_t longest = 0;
    for (size_t t = 0; t < texts; t++) {
        const size_t tokens = nvdp__row_count(set, text[t]);
        longest = nvdp__max(longest, tokens);
        for (size_t i = 0; i < n; i++) {
            const struct nvdp__evidence *e = &evidence[i];
            const bool fit = lengths_fit(set, e, text[t]);
            out[i * columns + t] = fit ? e->squares[tokens] / 2 : -INFINITY;
            if (fit && set->alpha != NULL)
                out[i * columns + t] += e->samples * of->weights[text[t]];
        }
    }
    for (size_t j = 0; j < longest; j++)
        for (size_t t = 0; t < texts; t++)
            for (size_t i = 0; i < n && j < nvdp__row_count(set, text[t]); i++)
                if (lengths_fit(set, &evidence[i], text[t]))
                    out[i * columns + t] += token(of, &evidence[i], text[t], j);
}

void nvdp__likelihoods(const struct nvdp__likelihood *likelihood, int threads, size_t n,
                       const struct nvdp__evidence *evidence, size_t texts, const size_t *text,
                       double *out) {
#pragma omp parallel for collapse(2) schedule(dynamic, 1) num_threads(threads)
    for (size_t first = 0; first < texts; first += TEXTS)
        for (size_t from = 0; from < n; from += EVIDENCE) {
            size_t chosen[TEXTS];
            const size_t some = nvdp__min(TEXTS, texts - first);
            for (size_t t = 0; t < some; t++)
                chosen[t] = text != NULL ? text[first + t] : first + t;
            tile(likelihood, nvdp__min(EVIDENCE, n - from), evidence + from, some, chosen, texts,
                 out + from * texts + first);
        }
}

/* ---- the linkage attack: computes every text's likelihood for the samples of every trial, and the ranks of the right
 * texts ---- */

enum { TEN = 10, MAX_EVIDENCE = 64, MIN_EVIDENCE = 16 };
static const size_t MAX_BYTES = (size_t)1 << 28; /* max bytes of evidence in memory */
static const double CONFIDENCE = 0.95;

/* --- samples --- */

size_t nvdp__linkage_rows(const struct nvdp_posteriors *set, size_t n, const size_t *text) {
    size_t longest = 0;
    for (size_t i = 0; i < (text != NULL ? n : set->texts); i++)
        longest = nvdp__max(longest, nvdp__row_count(set, text != NULL ? text[i] : i));
    return longest;
}

nvdp_status nvdp__linkage_collect(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  const struct nvdp__sample_source *source, size_t n,
                                  const struct nvdp__trial *trial, int releases,
                                  struct nvdp__evidence *evidence) {
    const int threads = nvdp_context_threads(ctx);
    const size_t kappa = (size_t)set->kappa;
    /* max number of vectors per row of samples: room for vectors, and for weights */
    size_t room = 0, rows = 0;
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

/* --- the control without noise, and the proven bound --- */

static uint64_t add_numbers(uint64_t key, size_t n, const double *x) {
    for (size_t i = 0; i < n; i++) {
        uint64_t bits;
        const double value = x[i] == 0 ? 0 : x[i]; /* replaces -0 by 0 */
        memcpy(&bits, &value, sizeof bits);
        key = nvdp__fnv1a(key, bits);
    }
    return key;
}

uint64_t nvdp__posterior_key(const struct nvdp_posteriors *set, size_t i) {
    const size_t at = set->offset[i], rows = nvdp__row_count(set, i), p = set->dim;
    uint64_t key = nvdp__fnv1a(NVDP__FNV1A, rows);
    key = add_numbers(key, rows * p, set->mu + at * p);
    key = add_numbers(key, rows * p, set->logvar + at * p);
    return set->alpha != NULL ? add_numbers(key, rows, set->alpha + at) : key;
}

/* Texts with the same posterior share a guess, so each distinct posterior is identified once. */
static nvdp_status named_without_noise(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                       double *share) {
    nvdp__autofree int64_t *key = NULL;
    size_t different = 0;
    NVDP_TRY(NVDP__NEW(ctx, key, set->texts));
    for (size_t i = 0; i < set->texts; i++)
        key[i] = (int64_t)nvdp__posterior_key(set, i);
    qsort(key, set->texts, sizeof *key, nvdp__by_int64);
    for (size_t i = 0; i < set->texts; i++)
        different += i == 0 || key[i] != key[i - 1];
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
    double first, ten; /* numbers of hits: the right text is first, or among the first ten */
};
struct information {
    double sum, square;
};

/* Adds the hits of one trial to the tally. `group` [texts] limits the candidates to the texts in the group of the
 * right text; NULL: all texts. Texts as likely as the right text share its ranks. */
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

/* Sets the share of hits and its interval; ties give fractional hits. */
static void set_share(double hits, size_t trials, double *share, struct nvdp_interval *interval) {
    *share = hits / (double)trials;
    interval->low = nvdp__interval_share(CONFIDENCE, trials, (size_t)floor(hits)).low;
    interval->high =
        nvdp__interval_share(CONFIDENCE, trials, nvdp__min(trials, (size_t)ceil(hits))).high;
}

/* Sets the mean information of the trials and the interval of this mean. */
static void set_information(const struct information *of, struct nvdp_linkage *out) {
    const double n = (double)out->trials, mean = of->sum / n;
    const double sd = sqrt(fmax(0, of->square / n - mean * mean) * n / fmax(1, n - 1));
    out->information = mean;
    out->information_interval = nvdp__interval_student(CONFIDENCE, out->trials, mean, sd);
}

/* --- labels --- */

struct labeled {
    float label;
    size_t text;
};

/* Compares labels; missing labels (NaN) come last. */
static int by_label(const void *left, const void *right) {
    const struct labeled *a = left, *b = right;
    if (isnan(a->label) || isnan(b->label)) return isnan(a->label) - isnan(b->label);
    return (a->label > b->label) - (a->label < b->label);
}

nvdp_status nvdp__label_groups(struct nvdp_context *ctx, size_t n, const float *label,
                               size_t *group, size_t *groups) {
    nvdp__autofree struct labeled *sorted = NULL;
    size_t count = 0;
    NVDP_TRY(NVDP__NEW(ctx, sorted, n));
    for (size_t i = 0; i < n; i++)
        sorted[i] = (struct labeled){label[i], i};
    qsort(sorted, n, sizeof *sorted, by_label);
    for (size_t i = 0; i < n; i++) {
        count += i == 0 || by_label(&sorted[i - 1], &sorted[i]) != 0;
        group[sorted[i].text] = count - 1;
    }
    *groups = count;
    return NVDP_OK;
}

/* Groups the texts by label: group [texts]. Side information y has the baseline E_y max_x p(x | y). A label of n of
 * N texts adds n/N 1/n to this baseline, and n/N min(10, n)/n for ten guesses (docs/proofs.md, section 4). */
static nvdp_status group_labels(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                int releases, size_t *group, struct nvdp_linkage_labeled *out) {
    const size_t n = set->texts;
    nvdp__autofree size_t *texts = NULL;
    size_t ten = 0;
    NVDP_TRY(nvdp__label_groups(ctx, n, set->label, group, &out->labels));
    NVDP_TRY(NVDP__NEW(ctx, texts, out->labels));
    for (size_t i = 0; i < n; i++)
        ten += ++texts[group[i]] <= TEN;
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
    nvdp__auto(nvdp__likelihood_release) struct nvdp__likelihood likelihood = {0};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct nvdp__evidence evidence[MAX_EVIDENCE];
    struct nvdp__trial trial[MAX_EVIDENCE];
    struct tally tally = {0}, labeled = {0};
    struct information information = {0};
    struct nvdp__meter meter;
    double *log_density = NULL;
    size_t *group = NULL; /* [n] group of the texts with the same label */
    const size_t n = set->texts, rows = nvdp__linkage_rows(set, n, NULL);
    const size_t fit = MAX_BYTES / (2 * sizeof(double) * (rows * set->dim + 1));
    const size_t block = nvdp__min(MAX_EVIDENCE, nvdp__max(MIN_EVIDENCE, fit));
    const double nn = (double)n;
    struct nvdp_linkage made = {.struct_size = sizeof made,
                                .kind = &nvdp__linkage_kind,
                                .texts = n,
                                .of_texts = n,
                                .releases = releases,
                                .trials = n * draws,
                                .confidence = CONFIDENCE,
                                .first_chance = 1 / nn,
                                .ten_chance = fmin(1, TEN / nn),
                                .labeled = NO_LABELS};
    NVDP_TRY(named_without_noise(ctx, set, &made.states));
    made.first_bound = nvdp__guess_limit(set, made.first_chance, releases);
    made.ten_bound = nvdp__guess_limit(set, made.ten_chance, releases);
    if (set->label != NULL) {
        NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(group, n)));
        NVDP_TRY(group_labels(ctx, set, releases, group, &made.labeled));
    }
    NVDP_TRY(nvdp__likelihood_create(ctx, set, &likelihood));
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(log_density, block * n)));
    NVDP_TRY(nvdp__evidence_create(ctx, &memory, set, rows, block, evidence));
    nvdp__meter_begin(&meter, ctx, "linkage", "sample", 0, made.trials);
    for (size_t first = 0; first < made.trials; first += block) {
        const size_t some = nvdp__min(block, made.trials - first);
        NVDP_TRY(nvdp__check_cancelled(ctx, "linkage: cancelled"));
        for (size_t i = 0; i < some; i++)
            trial[i] = (struct nvdp__trial){(first + i) % n, (first + i) / n * (size_t)releases};
        NVDP_TRY(nvdp__linkage_collect(ctx, set, source, some, trial, releases, evidence));
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
    set_share(tally.first, made.trials, &made.first, &made.first_interval);
    set_share(tally.ten, made.trials, &made.ten, &made.ten_interval);
    set_information(&information, &made);
    if (group != NULL) {
        struct nvdp_linkage_labeled *to = &made.labeled;
        set_share(labeled.first, made.trials, &to->first, &to->first_interval);
        set_share(labeled.ten, made.trials, &to->ten, &to->ten_interval);
    }
    const bool more = made.labeled.first > made.first; /* false if the share is NaN */
    made.named = more ? made.labeled.first : made.first;
    made.named_interval = more ? made.labeled.first_interval : made.first_interval;
    *out = made;
    return NVDP_OK;
}

/* ---- the result as a sentence, as rows and as JSON ---- */

/* Returns a percentage with two digits, or three digits near 100; a share below 1 never becomes 100. */
static struct nvdp__short_text percent(double share) {
    const double per_cent = 100 * share;
    const bool near = per_cent >= 99.5 && per_cent < 100;
    if (share < 1 && per_cent > 99.9) return nvdp__short_text("more than 99.9");
    return nvdp__short_text(per_cent < 9.95 ? "%.2g" : near ? "%.1f" : "%.0f", per_cent);
}

struct nvdp__claim_text nvdp__linkage_sentence(const struct nvdp_linkage *linkage) {
    struct nvdp__claim_text made;
    const struct nvdp_linkage_labeled *labeled = &linkage->labeled;
    char drawn[64] = "", given[64] = "the samples", labels[160] = "";
    if (labeled->labels > 1)
        nvdp__snprintf(labels, sizeof labels,
                       "; a reader who also has the labels of the samples, for %s %% (%s to %s %%; "
                       "chance: %s %%)",
                       percent(labeled->first).text, percent(labeled->first_interval.low).text,
                       percent(labeled->first_interval.high).text,
                       percent(labeled->first_chance).text);
    if (linkage->of_texts > linkage->texts)
        nvdp__snprintf(drawn, sizeof drawn, ", drawn from %zu,", linkage->of_texts);
    if (linkage->releases > 1)
        nvdp__snprintf(given, sizeof given, "the texts, given %d samples each", linkage->releases);
    nvdp__snprintf(made.text, sizeof made.text,
                   "Someone who has the model and these %zu texts%s names the right text for %s %% "
                   "of %s (%g %% interval: %s to %s %%; chance: %s %%)%s.",
                   linkage->texts, drawn, percent(linkage->first).text, given,
                   100 * linkage->confidence, percent(linkage->first_interval.low).text,
                   percent(linkage->first_interval.high).text, percent(linkage->first_chance).text,
                   labels);
    return made;
}

static void print_share(struct nvdp_result_lines *to, const char *name, double share,
                        const struct nvdp_interval *interval, double chance, double bound) {
    nvdp_result_line(to, name, "%.2f %% (%.2f to %.2f), chance %.2f %%%s%s", 100 * share,
                     100 * interval->low, 100 * interval->high, 100 * chance,
                     isnan(bound) ? "" : ", proven at most ",
                     isnan(bound) ? "" : nvdp__share_bound(bound).text);
}

static void print_guesses(const void *result, struct nvdp_result_lines *to) {
    const struct nvdp_linkage *found = result;
    const struct nvdp_linkage_labeled *labeled = &found->labeled;
    nvdp_result_line(to, "guesses",
                     "%zu with %d sample%s each, among %zu texts; intervals at %g %%",
                     found->trials, found->releases, found->releases == 1 ? "" : "s", found->texts,
                     100 * found->confidence);
    print_share(to, "the right text", found->first, &found->first_interval, found->first_chance,
                found->first_bound);
    print_share(to, "among the top ten", found->ten, &found->ten_interval, found->ten_chance,
                found->ten_bound);
    if (labeled->labels > 1) {
        print_share(to, "with the label", labeled->first, &labeled->first_interval,
                    labeled->first_chance, labeled->first_bound);
        print_share(to, "ten with label", labeled->ten, &labeled->ten_interval, labeled->ten_chance,
                    labeled->ten_bound);
    }
    nvdp_result_line(to, "without noise",
                     "%.2f %% name the right text; texts with equal posteriors share a guess",
                     100 * found->states);
    nvdp_result_line(to, "information", "%.3f nats (%.3f to %.3f) of the possible log %zu = %.3f",
                     found->information, found->information_interval.low,
                     found->information_interval.high, found->texts, log((double)found->texts));
}

static bool has_labels(const void *linkage) {
    return ((const struct nvdp_linkage *)linkage)->labeled.labels > 0;
}

/* clang-format off */
#define LINKAGE(member, unit, better, ...) \
    NVDP_RESULT_ROW(struct nvdp_linkage, member, unit, NVDP_SCOPE_FILE, better, __VA_ARGS__)
#define LABELED(member, better, ...) \
    NVDP_RESULT_ROW(struct nvdp_linkage_labeled, member, NULL, NVDP_SCOPE_FILE, better, __VA_ARGS__)
#define INTERVAL(type, member) \
    {#member "_interval", NVDP_RESULT_INTERVAL, .help = "its interval at the confidence", \
     NVDP_RESULT_AT(type, member##_interval.low), .high = offsetof(type, member##_interval.high)}

static const struct nvdp_result_table labeled_table = {
    .name = "labeled", .help = "the same for a reader who has the label of each sample's text",
    .size = sizeof(struct nvdp_linkage_labeled),
    .rows = (const struct nvdp_result_row[]){
        LABELED(labels, 0, "number of different labels"),
        LABELED(first, -1, "share of samples whose text is the most likely one among the texts with the same label"),
        INTERVAL(struct nvdp_linkage_labeled, first),
        LABELED(first_chance, 0, "the same without samples: labels/texts"),
        LABELED(ten, -1, "share of samples whose text is among the ten most likely texts with the same label"),
        INTERVAL(struct nvdp_linkage_labeled, ten),
        LABELED(ten_chance, 0, "the same without samples"),
        LABELED(first_bound, -1, "proven bound of first"),
        LABELED(ten_bound, -1, "proven bound of ten"),
        {0}}};

const struct nvdp_result_table nvdp__result_linkage = {
    .name = "linkage", .help = "how often the text of a sample is named among all texts", .sized = true,
    .rows = (const struct nvdp_result_row[]){
        LINKAGE(texts, "texts", 0, "texts to name"),
        LINKAGE(of_texts, "texts", 0, "texts that they were drawn from"),
        LINKAGE(releases, "samples", 0, "samples per guess"),
        LINKAGE(trials, "guesses", 0, "number of guesses", .print = print_guesses),
        LINKAGE(confidence, NULL, 0, "confidence of the intervals"),
        LINKAGE(first, NULL, -1, "share whose text is the most likely"),
        INTERVAL(struct nvdp_linkage, first),
        LINKAGE(first_chance, NULL, 0, "the same without samples"),
        LINKAGE(ten, NULL, -1, "share whose text is among the ten most likely"),
        INTERVAL(struct nvdp_linkage, ten),
        LINKAGE(ten_chance, NULL, 0, "the same without samples"),
        LINKAGE(information, "nats", -1, "estimated information between text and samples"),
        INTERVAL(struct nvdp_linkage, information),
        LINKAGE(states, NULL, -1, "share named without noise"),
        LINKAGE(first_bound, NULL, -1, "proven bound of first"),
        LINKAGE(ten_bound, NULL, -1, "proven bound of ten"),
        {"labeled", NVDP_RESULT_TABLE, .scope = NVDP_SCOPE_FILE, .help = "the same with labels; absent if the texts have none", .of = &labeled_table,
         .present = has_labels, NVDP_RESULT_AT(struct nvdp_linkage, labeled)},
        LINKAGE(named, NULL, -1, "the larger one of the shares first and labeled.first"),
        INTERVAL(struct nvdp_linkage, named),
        {0}}};
/* clang-format on */

bool nvdp__linkage_measured(const struct nvdp_linkage *linkage) {
    return linkage != NULL && linkage->texts > 0;
}

json_t *nvdp__linkage_pack(const void *linkage) {
    if (!nvdp__linkage_measured(linkage)) return json_null();
    return nvdp__result_put(json_pack("{s:s}", "sentence", nvdp__linkage_sentence(linkage).text),
                            &nvdp__result_linkage, "json", linkage);
}

const struct nvdp_result_kind nvdp__linkage_kind = {.name = "linkage", .pack = nvdp__linkage_pack};
