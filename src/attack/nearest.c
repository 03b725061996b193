/* Names the token of each vector.  Every token of the public texts gets a Gaussian, whose mean is that of the
 * posteriors' means over the occurrences.  Its variance sums the variance of these means, that of the mean itself,
 * and the noise.  The first of these is shrunk towards that of all tokens if there are few.  The prior is the
 * token's frequency among texts with the label that the attacked file states.  Treating dependent dimensions as
 * independent counts them too much, so densities get an exponent: the one that names the most tokens of held-out public
 * texts. */
#include "attack/texts.h"
#include "rdp/divergence.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

static const double SHRINK = 10; /* occurrences that the pooled variance counts for */
const double nvdp__exponents[NVDP__EXPONENTS] = {1, 0.3, 0.1, 0.03, 0.01};

void nvdp__centroids_release(struct nvdp__centroids *t) {
    nvdp__tokens_release(&t->known);
    free(t->seen);
    free(t->mean);
    free(t->spread);
    free(t->noise);
    free(t->pooled);
    free(t->factor);
    free(t->constant);
    free(t->z);
    free(t->vectors);
    free(t->x);
}

static nvdp_status reserve(struct nvdp__text_attack *a, const char *attacker,
                           struct nvdp__centroids *t) {
    NVDP_TRY(nvdp__tokens_count(a, attacker, &t->known));
    const size_t count = t->known.count, p = t->dim = a->known.set->dim;
    const size_t max_rows = nvdp__max_rows(a), longest = nvdp__longest(a);
    NVDP_TRY(NVDP__NEW(a->ctx, t->seen, count));
    NVDP_TRY(NVDP__NEW(a->ctx, t->mean, count * p));
    NVDP_TRY(NVDP__NEW(a->ctx, t->spread, count * p));
    NVDP_TRY(NVDP__NEW(a->ctx, t->noise, count * p));
    NVDP_TRY(NVDP__NEW(a->ctx, t->pooled, p));
    NVDP_TRY(NVDP__NEW(a->ctx, t->factor, count * 2 * p));
    NVDP_TRY(NVDP__NEW(a->ctx, t->constant, count));
    NVDP_TRY(NVDP__NEW(a->ctx, t->z, max_rows * (p + 1)));
    NVDP_TRY(NVDP__NEW(a->ctx, t->vectors, longest * p));
    NVDP_TRY(NVDP__NEW(a->ctx, t->x, NVDP__ROWS * 2 * p));
    t->log_pi = t->z + max_rows * p;
    return NVDP_OK;
}

static void take_moments(const struct nvdp__text_attack *a, struct nvdp__centroids *t) {
    const struct nvdp_dataset *data = a->known.data;
    const struct nvdp_posteriors *set = a->known.set;
    const size_t p = t->dim, rows = data->offset[t->known.texts];
    double freedom = 0;
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
}

nvdp_status nvdp__centroids_create(struct nvdp__text_attack *a, const char *attacker,
                                   struct nvdp__centroids *t) {
    NVDP_TRY(reserve(a, attacker, t));
    take_moments(a, t);
    return NVDP_OK;
}

/* Without noise, adds a thousandth of the pooled variance, for tokens seen only once. */
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

/* Computes the mean of each token's vectors [n, p] over kappa and releases.  All of them share the spread of the
 * token, so their densities do not multiply; only the spread of their mean counts. */
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
    const size_t p = t->dim, count = t->known.count, n = nvdp__rows(corpus->set, i);
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

/* Chooses the exponent that names the most tokens of the held-out public texts. */
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
        if (nvdp__correct_first(&hits, 0) > best) exponent = nvdp__exponents[k];
        best = fmax(best, nvdp__correct_first(&hits, 0));
    }
    return exponent;
}

static nvdp_status attack_nearest(struct nvdp__text_attack *a) {
    nvdp_status status = NVDP_OK;
    const size_t n = a->attacked.data->count;
    struct nvdp__centroids t = {0};
    struct nvdp__meter meter;
    struct nvdp__correct hits = {0};
    double *score = NULL;
    size_t done = 0;
    NVDP_TRY_OR_CLEAN(nvdp__centroids_create(a, "nearest", &t));
    NVDP_TRY_OR_CLEAN(nvdp__correct_create(a->ctx, a->options->seeds * n, &hits));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(a->ctx, score, NVDP__ROWS * t.known.count));
    nvdp__meter_begin(&meter, a->ctx, "nearest", "text", 0,
                      (nvdp__draws(a, NVDP__OBSERVED_RELEASE) + 2) * n);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t seeds = nvdp__draws(a, observed);
        nvdp__correct_clear(a->options->seeds * n, &hits);
        nvdp__centroids_prepare(a, observed, choose(a, &t, observed, score), &t);
        for (size_t s = 0; s < seeds; s++)
            for (size_t i = 0; i < n; i++) {
                NVDP_TRY_OR_CLEAN(nvdp__check_cancelled(a->ctx, "attack: cancelled"));
                guess(a, &t, &a->attacked, observed, a->options->seed + s, i, s * n + i, score,
                      &hits);
                done++;
                nvdp__meter_update(&meter, done, (double)done, "text", NAN);
            }
        NVDP_TRY_OR_CLEAN(nvdp__add_hits(a, observed, seeds, &t.known, &hits));
    }
    nvdp__meter_end(&meter);
cleanup:
    nvdp__centroids_release(&t);
    free(hits.of[0]);
    free(score);
    return status;
}

static const char *const options[] = {NVDP__LEARNER_OPTIONS, "releases", NULL};

const struct nvdp__attack nvdp__attack_row_nearest = {
    .learn = attack_nearest, .attacker = NVDP_ATTACKER_NEAREST, .options = options, NVDP__LEARNER};
