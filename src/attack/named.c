/* Parts that attackers share which guess the token of each vector: the possible tokens, and the counts of right
 * guesses. The order: tokens, counts, best guesses without samples, scores. */
#include "attack/attack.h"
#include "attack/texts.h"
#include "base/random.h"
#include "rdp/divergence.h"
#include "rdp/likelihood.h"
#include "rdp/pairs.h"
#include "share/sampler.h"
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { TOP = 10, RARE = 10, HELD_OUT = 10, MAX_HELD = 200, BOUNDED = 5 };
/* Number of occurrences as which a prior counts: the prior P(label), and the variance of all tokens. */
enum { SHRINK = 10 };

bool nvdp__token_counts(const struct nvdp__text_attack *a, int32_t id) {
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(a->run.model);
    return id != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS) &&
           id != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
}

size_t nvdp__known_labels(const struct nvdp__text_attack *a) {
    const struct nvdp_task *task = a->known.data->task;
    return a->attacked.set->label != NULL && a->known.set->label != NULL && !task->regression &&
                   task->classes > 1
               ? (size_t)task->classes
               : 0;
}

size_t nvdp__known_label(const struct nvdp__texts *corpus, size_t i, size_t labels) {
    const float label = labels > 0 ? corpus->set->label[i] : NAN;
    return label >= 0 && label < (float)labels ? (size_t)label : SIZE_MAX; /* NaN without a label */
}

const double *nvdp__tokens_lift(const struct nvdp__tokens *t, const struct nvdp__texts *corpus,
                                size_t i) {
    const size_t label = nvdp__known_label(corpus, i, t->labels);
    return label < t->labels ? t->lift + label * t->count : NULL;
}

void nvdp__label_lift(size_t labels, size_t count, const double *times, double *lift) {
    double all = 0;
    for (size_t k = 0; k < labels * count; k++)
        all += lift[k];
    for (size_t label = 0; label < labels; label++) {
        double *of = lift + label * count, share = 0;
        for (size_t k = 0; k < count; k++)
            share += of[k] / all;
        for (size_t k = 0; k < count; k++)
            of[k] = share > 0 ? log((of[k] + SHRINK * share) / ((times[k] + SHRINK) * share)) : 0;
    }
}

static nvdp_status learn_lift(struct nvdp__text_attack *a, struct nvdp__tokens *t) {
    const struct nvdp_dataset *data = a->known.data;
    t->labels = nvdp__known_labels(a);
    if (t->labels == 0) return NVDP_OK;
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(t->lift, t->labels * t->count)));
    for (size_t i = 0; i < t->texts; i++) {
        const size_t label = nvdp__known_label(&a->known, i, t->labels);
        for (size_t r = data->offset[i]; label < t->labels && r < data->offset[i + 1]; r++) {
            const size_t place = t->place[data->ids[r]];
            if (place > 0) t->lift[label * t->count + place - 1]++;
        }
    }
    nvdp__label_lift(t->labels, t->count, t->times, t->lift);
    return NVDP_OK;
}

nvdp_status nvdp__tokens_count(struct nvdp__text_attack *a, const char *attacker,
                               struct nvdp__tokens *t) {
    const struct nvdp_dataset *data = a->known.data;
    const size_t vocabulary = nvdp_tokenizer_size(nvdp_model_tokenizer(a->run.model));
    if (nvdp__model_form(a->run.model).single)
        return nvdp__fail(a->ctx, NVDP_ERR_ARGUMENT,
                          "attack %s: expected a method with one vector per token, found %s, which "
                          "has one vector per text",
                          attacker, a->attacked.set->method);
    t->texts = data->count - nvdp__min(data->count / HELD_OUT, MAX_HELD);
    const size_t rows = data->offset[t->texts];
    t->stamp = 1;
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(t->place, vocabulary),
                                 NVDP__ITEMS(t->id, vocabulary), NVDP__ITEMS(t->named, vocabulary),
                                 NVDP__ITEMS(t->there, vocabulary),
                                 NVDP__ITEMS(t->times, vocabulary)));
    for (size_t r = 0; r < rows; r++) {
        const int32_t id = data->ids[r];
        if (!nvdp__token_counts(a, id)) continue;
        if (t->place[id] == 0) {
            t->id[t->count] = id;
            t->place[id] = ++t->count;
        }
        t->times[t->place[id] - 1]++;
    }
    return learn_lift(a, t);
}

size_t nvdp__top(size_t count, const double *score) {
    size_t top = 0;
    for (size_t k = 1; k < count; k++)
        if (score[k] > score[top]) top = k;
    return top;
}

double nvdp__log_frequency(size_t n, const double *times, double *log_f) {
    double all = 0;
    for (size_t k = 0; k < n; k++)
        all += times[k];
    for (size_t k = 0; k < n; k++)
        log_f[k] = log(times[k] / all);
    return all;
}

/* The counts per text. */
enum {
    FIRST = NVDP__NAMED_FIRST,
    AMONG_TEN,
    TOKENS,
    RARE_FIRST,
    RARE_TEN,
    RARE_TOKENS,
    WHOLE,
    TEXTS,
    RIGHT,
    NAMED,
    WORDS,
    TWICE,
    BOTH
};
_Static_assert(BOTH + 1 == NVDP__GUESS_COUNTS, "one array each");

nvdp_status nvdp__correct_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                 size_t texts, struct nvdp__correct *hits) {
    NVDP_TRY(NVDP__ARRAYS(ctx, memory, NVDP__ITEMS(hits->of[0], NVDP__GUESS_COUNTS * texts)));
    for (size_t c = 1; c < NVDP__GUESS_COUNTS; c++)
        hits->of[c] = hits->of[0] + c * texts;
    return NVDP_OK;
}

void nvdp__correct_clear(size_t texts, const struct nvdp__correct *hits) {
    memset(hits->of[0], 0, NVDP__GUESS_COUNTS * texts * sizeof *hits->of[0]);
}

static bool is_rare(const struct nvdp__tokens *t, int32_t id) {
    return t->place[id] == 0 || t->times[t->place[id] - 1] < RARE;
}

void nvdp__count_guess(struct nvdp__tokens *t, size_t text, int32_t id, const double *score,
                       const struct nvdp__correct *hits) {
    const size_t place = t->place[id];
    const bool rare = is_rare(t, id);
    size_t above = 0, top = 0;
    for (size_t k = 0; k < t->count; k++) {
        above += place > 0 && nvdp__goes_before(score[k], k, score[place - 1], place - 1);
        if (score[k] > score[top]) top = k;
    }
    hits->of[TOKENS][text]++;
    hits->of[FIRST][text] += place > 0 && above == 0;
    hits->of[AMONG_TEN][text] += place > 0 && above < TOP;
    hits->of[RARE_TOKENS][text] += rare;
    hits->of[RARE_FIRST][text] += rare && place > 0 && above == 0;
    hits->of[RARE_TEN][text] += rare && place > 0 && above < TOP;
    hits->of[NAMED][text] += t->named[t->id[top]] != t->stamp;
    t->named[t->id[top]] = t->stamp;
}

void nvdp__count_guessed_set(struct nvdp__tokens *t, const struct nvdp__text_attack *a,
                             const struct nvdp_dataset *data, size_t i, size_t text,
                             const struct nvdp__correct *hits) {
    for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
        const int32_t id = data->ids[r];
        if (!nvdp__token_counts(a, id) || t->there[id] == t->stamp) continue;
        t->there[id] = t->stamp;
        hits->of[WORDS][text]++;
        hits->of[RIGHT][text] += t->named[id] == t->stamp;
    }
    hits->of[TEXTS][text] = hits->of[TOKENS][text] > 0;
    hits->of[WHOLE][text] =
        hits->of[TEXTS][text] > 0 && hits->of[FIRST][text] == hits->of[TOKENS][text];
    t->stamp++;
}

/* --- the best guesses without samples --- */

double nvdp__most_frequent(size_t n, struct nvdp__spot *spot, bool rare, size_t top,
                           double *times) {
    double sum = 0;
    NVDP__SORT(spot, n, NVDP__UP(struct nvdp__spot, length), NVDP__UP(struct nvdp__spot, label),
               NVDP__UP(struct nvdp__spot, place), NVDP__UP(struct nvdp__spot, key));
    for (size_t i = 0, end; i < n; i = end) {
        size_t keys = 0;
        for (end = i; end < n && spot[end].length == spot[i].length &&
                      spot[end].label == spot[i].label && spot[end].place == spot[i].place;
             end++) {
            if (end == i || spot[end].key != spot[end - 1].key) times[keys++] = 0;
            times[keys - 1] += !rare || spot[end].rare;
        }
        qsort(times, keys, sizeof *times, nvdp__by_double); /* ascending */
        for (size_t k = 0; k < nvdp__min(top, keys); k++)
            sum += times[keys - 1 - k];
    }
    return sum;
}

/* Computes the success of the best guesses without samples, share [BOUNDED], in the order of the first scores below.
 * Attackers know the length of each text, the place of each token, and the label that the file states.  The best guess
 * is the most frequent token (ten tokens, whole text) among the attacked texts with the same length, place and label.
 * */
static nvdp_status best_guesses(struct nvdp__text_attack *a, const struct nvdp__tokens *t,
                                double *share) {
    const struct nvdp_dataset *data = a->attacked.data;
    const size_t rows = data->offset[data->count];
    struct nvdp__spot *spot;
    double *times, rare = 0;
    size_t n = 0, texts = 0, labels, *label; /* [texts] */
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(label, data->count), NVDP__ITEMS(spot, rows),
                                 NVDP__ITEMS(times, rows)));
    if (a->attacked.set->label != NULL)
        NVDP_TRY(nvdp__label_groups(a->ctx, data->count, a->attacked.set->label, label, &labels));
    for (size_t i = 0; i < data->count; i++)
        for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
            const int32_t id = data->ids[r];
            if (!nvdp__token_counts(a, id)) continue;
            spot[n++] = (struct nvdp__spot){data->offset[i + 1] - data->offset[i], label[i],
                                            r - data->offset[i], id, is_rare(t, id)};
            rare += is_rare(t, id);
        }
    share[0] = nvdp__most_frequent(n, spot, false, 1, times) / (double)n;
    share[1] = nvdp__most_frequent(n, spot, false, TOP, times) / (double)n;
    share[2] = nvdp__most_frequent(n, spot, true, 1, times) / rare;
    share[3] = nvdp__most_frequent(n, spot, true, TOP, times) / rare;
    for (size_t i = 0; i < data->count; i++) {
        uint64_t key = NVDP__FNV1A;
        bool any = false;
        for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
            key = nvdp__fnv1a(key, (uint64_t)data->ids[r]);
            any |= nvdp__token_counts(a, data->ids[r]);
        }
        if (any)
            spot[texts++] = (struct nvdp__spot){data->offset[i + 1] - data->offset[i], label[i], 0,
                                                (int64_t)key, false};
    }
    share[4] = nvdp__most_frequent(texts, spot, false, 1, times) / (double)texts;
    return NVDP_OK;
}

nvdp_status nvdp__add_hits(struct nvdp__text_attack *a, enum nvdp__observed observed, size_t seeds,
                           const struct nvdp__tokens *t, const struct nvdp__correct *hits) {
    static const struct {
        enum nvdp__text_metric metric;
        int hits, of;
    } score[] = {{NVDP__TEXT_METRIC_FIRST, FIRST,
                  /* The first BOUNDED scores are successes of guesses that are always made. */
                  TOKENS},
                 {NVDP__TEXT_METRIC_AMONG_TEN, AMONG_TEN, TOKENS},
                 {NVDP__TEXT_METRIC_RARE_FIRST, RARE_FIRST, RARE_TOKENS},
                 {NVDP__TEXT_METRIC_RARE_AMONG_TEN, RARE_TEN, RARE_TOKENS},
                 {NVDP__TEXT_METRIC_WHOLE_TEXT, WHOLE, TEXTS},
                 {NVDP__TEXT_METRIC_SET_PRECISION, RIGHT, NAMED},
                 {NVDP__TEXT_METRIC_SET_RECALL, RIGHT, WORDS},
                 {NVDP__TEXT_METRIC_SET_F1, TWICE, BOTH}};
    const size_t n = a->attacked.data->count;
    double best[BOUNDED];
    if (observed == NVDP__OBSERVED_RELEASE) NVDP_TRY(best_guesses(a, t, best));
    for (size_t i = 0; i < seeds * n; i++) {
        hits->of[TWICE][i] = 2 * hits->of[RIGHT][i];
        hits->of[BOTH][i] = hits->of[NAMED][i] + hits->of[WORDS][i];
    }
    for (size_t k = 0; k < sizeof score / sizeof *score; k++) {
        NVDP_TRY(nvdp__add_score(a, observed, score[k].metric, seeds, n, hits->of[score[k].hits],
                                 hits->of[score[k].of], 0));
        if (observed == NVDP__OBSERVED_RELEASE && k < BOUNDED && !isnan(best[k]))
            nvdp__bound_score(a, best[k],
                              nvdp__guess_limit(a->attacked.set, best[k], a->options->releases));
    }
    return NVDP_OK;
}

nvdp_status nvdp__add_gain(struct nvdp__text_attack *a, enum nvdp__observed observed, size_t seeds,
                           const struct nvdp__correct *hits, const struct nvdp__correct *nearest) {
    static const struct {
        enum nvdp__text_metric metric, gain;
        int hits, of;
    } score[] = {
        {NVDP__TEXT_METRIC_NEAREST_FIRST, NVDP__TEXT_METRIC_FIRST_OVER_NEAREST, FIRST, TOKENS},
        {NVDP__TEXT_METRIC_NEAREST_RARE_FIRST, NVDP__TEXT_METRIC_RARE_OVER_NEAREST, RARE_FIRST,
         RARE_TOKENS},
        {NVDP__TEXT_METRIC_NEAREST_WHOLE_TEXT, NVDP__TEXT_METRIC_WHOLE_OVER_NEAREST, WHOLE, TEXTS}};
    const size_t n = a->attacked.data->count;
    for (size_t k = 0; k < sizeof score / sizeof *score; k++) {
        double *more = hits->of[score[k].hits], *of = nearest->of[score[k].of];
        NVDP_TRY(nvdp__add_score(a, observed, score[k].metric, seeds, n, nearest->of[score[k].hits],
                                 of, 0));
        for (size_t i = 0; i < seeds * n; i++)
            more[i] -= nearest->of[score[k].hits][i];
        NVDP_TRY(nvdp__add_score(a, observed, score[k].gain, seeds, n, more, of, -1));
    }
    return NVDP_OK;
}

/* ---- the attack nearest: a Gaussian for each token ---- */

/* Guesses the token of each vector.  Every token of the public texts gets a Gaussian, whose mean is the mean of the
 * posteriors' means over the token's occurrences.  The variance of the Gaussian is the sum of three variances: the
 * variance of these means, the variance of their mean, and the variance of the noise.  If there are few occurrences,
 * the first variance is shrunk towards the variance of all tokens.  The prior is the token's frequency among texts with
 * the label that the attacked file states.  Treating dependent dimensions as independent gives them too much weight, so
 * densities get the exponent that identifies the most tokens of held-out public texts. */

const double nvdp__exponents[NVDP__EXPONENTS] = {1, 0.3, 0.1, 0.03, 0.01};

nvdp_status nvdp__centroids_create(struct nvdp__text_attack *a, const char *attacker,
                                   struct nvdp__centroids *t) {
    const struct nvdp_dataset *data = a->known.data;
    const struct nvdp_posteriors *set = a->known.set;
    double freedom = 0;
    NVDP_TRY(nvdp__tokens_count(a, attacker, &t->known));
    const size_t count = t->known.count, p = t->dim = set->dim;
    const size_t max_rows = nvdp__max_rows(a), rows = data->offset[t->known.texts];
    NVDP_TRY(NVDP__ATTACK_ARRAYS(
        a, NVDP__ITEMS(t->seen, count), NVDP__ITEMS(t->mean, count * p),
        NVDP__ITEMS(t->spread, count * p), NVDP__ITEMS(t->noise, count * p),
        NVDP__ITEMS(t->pooled, p), NVDP__ITEMS(t->factor, count * 2 * p),
        NVDP__ITEMS(t->constant, count), NVDP__ITEMS(t->z, max_rows * p),
        NVDP__ITEMS(t->log_pi, max_rows), NVDP__ITEMS(t->vectors, nvdp__max_token_count(a) * p),
        NVDP__ITEMS(t->x, NVDP__ROWS * 2 * p)));
    for (size_t r = 0; r < rows; r++) { /* Welford 1962 */
        if (!nvdp__token_counts(a, data->ids[r])) continue;
        const size_t k = t->known.place[data->ids[r]] - 1;
        const double share = 1 / ++t->seen[k];
        for (size_t d = 0; d < p; d++) {
            const double off = set->mu[r * p + d] - t->mean[k * p + d];
            t->mean[k * p + d] += off * share;
            t->spread[k * p + d] += off * off * (1 - share);
            t->noise[k * p + d] += (exp(set->logvar[r * p + d]) - t->noise[k * p + d]) * share;
            t->pooled[d] += off * off * (1 - share);
        }
        freedom += share < 1;
    }
    cblas_dscal((int)p, 1 / fmax(1, freedom), t->pooled, 1);
    return NVDP_OK;
}

/* Prepares the densities.  Without noise, adds a thousandth of the pooled variance, for tokens that occur only once. */
void nvdp__centroids_prepare(const struct nvdp__text_attack *a, enum nvdp__observed observed,
                             double exponent, struct nvdp__centroids *t) {
    const size_t p = t->dim;
    const double samples = (double)a->known.set->kappa * (double)a->options->releases;
    for (size_t k = 0; k < t->known.count; k++) {
        t->constant[k] = log(t->known.times[k]);
        for (size_t d = 0; d < p && observed != NVDP__OBSERVED_PRIOR; d++) {
            const double mean = t->mean[k * p + d];
            double var =
                (t->spread[k * p + d] + SHRINK * t->pooled[d]) / (t->known.times[k] - 1 + SHRINK);
            var *= 1 + 1 / t->known.times[k];
            var += observed == NVDP__OBSERVED_RELEASE ? t->noise[k * p + d] / samples
                                                      : 1e-3 * t->pooled[d] + 1e-12;
            t->factor[k * 2 * p + d] = -exponent / (2 * var);
            t->factor[k * 2 * p + p + d] = exponent * mean / var;
            t->constant[k] -= exponent * (mean * mean / var + log(var)) / 2;
        }
    }
}

/* Computes the mean of each token's vectors [n, p] over kappa and releases.  These vectors share the spread of the
 * token, so their densities cannot be multiplied; the density of their mean is used. */
static void observe(const struct nvdp__text_attack *a, const struct nvdp__texts *corpus,
                    enum nvdp__observed observed, uint64_t seed, size_t i, size_t n,
                    const struct nvdp__centroids *t) {
    const struct nvdp_posteriors *set = corpus->set;
    const size_t p = t->dim, kappa = (size_t)set->kappa, prior = set->alpha != NULL ? kappa : 0;
    const size_t draws = observed == NVDP__OBSERVED_RELEASE ? (size_t)a->options->releases : 1;
    const double share = 1 / (double)(kappa * draws);
    memset(t->vectors, 0, n * p * sizeof *t->vectors);
    for (size_t draw = 0; draw < draws; draw++) {
        nvdp__observe(corpus, observed, seed, (uint32_t)draw, i, prior + n * kappa, t->z,
                      t->log_pi);
        for (size_t k = 0; k < n * kappa; k++)
            cblas_daxpy((int)p, share, t->z + (prior + k) * p, 1, t->vectors + k / kappa * p, 1);
    }
}

void nvdp__centroids_score(const struct nvdp__text_attack *a, const struct nvdp__texts *corpus,
                           enum nvdp__observed observed, uint64_t seed, size_t i, size_t first,
                           size_t rows, const struct nvdp__centroids *t, double *score) {
    const size_t p = t->dim, count = t->known.count, n = nvdp__row_count(corpus->set, i);
    const bool blind = observed == NVDP__OBSERVED_PRIOR;
    if (first == 0 && !blind) observe(a, corpus, observed, seed, i, n, t);
    for (size_t r = 0; r < rows; r++)
        memcpy(score + r * count, t->constant, count * sizeof *score);
    if (blind) return;
    for (size_t r = 0; r < rows; r++)
        for (size_t d = 0; d < p; d++) {
            const double z = t->vectors[(first + r) * p + d];
            t->x[r * 2 * p + d] = z * z;
            t->x[r * 2 * p + p + d] = z;
        }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)count, (int)(2 * p), 1,
                t->x, (int)(2 * p), t->factor, (int)(2 * p), 1, score, (int)count);
}

/* Guesses the tokens of text i and counts the result for `text`.  score is [NVDP__ROWS, count]. */
static void guess(struct nvdp__text_attack *a, struct nvdp__centroids *t,
                  const struct nvdp__texts *corpus, enum nvdp__observed observed, uint64_t seed,
                  size_t i, size_t text, double *score, const struct nvdp__correct *hits) {
    const struct nvdp_dataset *data = corpus->data;
    const size_t n = data->offset[i + 1] - data->offset[i];
    const double *lift = nvdp__tokens_lift(&t->known, corpus, i);
    for (size_t j = 0; j < n; j += NVDP__ROWS) {
        const size_t rows = nvdp__min(n - j, NVDP__ROWS);
        nvdp__centroids_score(a, corpus, observed, seed, i, j, rows, t, score);
        for (size_t r = 0; r < rows; r++) {
            if (lift != NULL)
                cblas_daxpy((int)t->known.count, 1, lift, 1, score + r * t->known.count, 1);
            const int32_t id = data->ids[data->offset[i] + j + r];
            if (nvdp__token_counts(a, id))
                nvdp__count_guess(&t->known, text, id, score + r * t->known.count, hits);
        }
    }
    nvdp__count_guessed_set(&t->known, a, data, i, text, hits);
}

/* Chooses the exponent that identifies the most tokens of the held-out public texts. */
static double choose(struct nvdp__text_attack *a, struct nvdp__centroids *t,
                     enum nvdp__observed observed, double *score) {
    double best = -1, exponent = 1;
    for (size_t k = 0; k < NVDP__EXPONENTS && observed != NVDP__OBSERVED_PRIOR; k++) {
        double count[NVDP__GUESS_COUNTS] = {0};
        struct nvdp__correct hits;
        for (size_t c = 0; c < NVDP__GUESS_COUNTS; c++)
            hits.of[c] = count + c;
        nvdp__centroids_prepare(a, observed, nvdp__exponents[k], t);
        for (size_t i = t->known.texts; i < a->known.data->count; i++)
            guess(a, t, &a->known, observed, a->options->seed, i, 0, score, &hits);
        if (count[NVDP__NAMED_FIRST] > best) exponent = nvdp__exponents[k];
        best = fmax(best, count[NVDP__NAMED_FIRST]);
    }
    return exponent;
}

static nvdp_status attack_nearest(struct nvdp__text_attack *a) {
    const size_t n = a->attacked.data->count;
    struct nvdp__centroids t = {0};
    struct nvdp__correct hits;
    double *score;
    NVDP_TRY(nvdp__centroids_create(a, "nearest", &t));
    NVDP_TRY(nvdp__correct_create(a->ctx, &a->memory, a->options->seeds * n, &hits));
    NVDP_TRY(NVDP__ATTACK_ARRAYS(a, NVDP__ITEMS(score, NVDP__ROWS * t.known.count)));
    nvdp__attack_begin(a, "nearest", "text", (nvdp__draw_count(a, NVDP__OBSERVED_RELEASE) + 2) * n);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t seeds = nvdp__draw_count(a, observed);
        nvdp__correct_clear(a->options->seeds * n, &hits);
        nvdp__centroids_prepare(a, observed, choose(a, &t, observed, score), &t);
        for (size_t s = 0; s < seeds; s++)
            for (size_t i = 0; i < n; i++) {
                guess(a, &t, &a->attacked, observed, a->options->seed + s, i, s * n + i, score,
                      &hits);
                NVDP_TRY(nvdp__attack_advance(a, 1, NAN));
            }
        NVDP_TRY(nvdp__add_hits(a, observed, seeds, &t.known, &hits));
    }
    nvdp__meter_end(&a->meter);
    return NVDP_OK;
}

static const char *const options[] = {NVDP__LEARNER_OPTIONS, "releases", NULL};

const struct nvdp__attack nvdp__attack_row_nearest = {
    .learn = attack_nearest, .options = options, NVDP__LEARNER};
