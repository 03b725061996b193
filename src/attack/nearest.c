/* Which token is this vector of?  Every token that the public texts have gets a Gaussian: the mean of its posteriors' means
 * over its occurrences, their variance (drawn towards that of all tokens where there are few) and that of the mean, and the
 * noise's; a token is as likely as it is frequent.  Dimensions that go together count too much where they are taken for
 * independent: densities have an exponent, that which names the most tokens of public texts that were left out. */
#include "attack/texts.h"
#include "rdp/divergence.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 128 };
static const double SHRINK = 10; /* occurrences that the variance of all tokens counts for */
static const double EXPONENTS[] = {1, 0.3, 0.1, 0.03, 0.01};
enum { TRIES = sizeof EXPONENTS / sizeof *EXPONENTS };

struct centroids {
    struct nvdp__tokens known; /* `count` of them */
    size_t dim;
    double *seen;                  /* [count] */
    double *mean, *spread, *noise; /* [count, p] */
    double *pooled;                /* [p] variance of means within tokens */
    double *factor;                /* [count, 2 p] of z^2 and z in the log density */
    double *constant;              /* [count] */
};

static void release(struct centroids *t) {
    nvdp__tokens_release(&t->known);
    free(t->seen);
    free(t->mean);
    free(t->spread);
    free(t->noise);
    free(t->pooled);
    free(t->factor);
    free(t->constant);
}

static nvdp_status reserve(struct nvdp__text_attack *a, struct centroids *t) {
    NVDP_RETURN_IF_FAILED(nvdp__tokens_count(a, "nearest", &t->known));
    const size_t count = t->known.count, p = t->dim = a->known.set->dim;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->seen, count));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->mean, count * p));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->spread, count * p));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->noise, count * p));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->pooled, p));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->factor, count * 2 * p));
    return NVDP__NEW(a->ctx, t->constant, count);
}

static void take_moments(const struct nvdp__text_attack *a, struct centroids *t) {
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

/* The log densities' coefficients; without noise a thousandth of the spread is left, for what was seen once. */
static void prepare(const struct nvdp__text_attack *a, struct centroids *t,
                    enum nvdp__observed observed, double exponent) {
    const size_t p = t->dim;
    const double kappa = a->known.set->kappa;
    for (size_t k = 0; k < t->known.count; k++) {
        t->constant[k] = log(t->known.times[k]);
        for (size_t d = 0; d < p && observed != NVDP__OBSERVED_PRIOR; d++) {
            const double mean = t->mean[k * p + d];
            double var =
                (t->spread[k * p + d] + SHRINK * t->pooled[d]) / (t->known.times[k] - 1 + SHRINK);
            var *= 1 + 1 / t->known.times[k];
            var += observed == NVDP__OBSERVED_RELEASE ? t->noise[k * p + d] / kappa
                                                      : 1e-3 * t->pooled[d] + 1e-12;
            t->factor[k * 2 * p + d] = -exponent / (2 * var);
            t->factor[k * 2 * p + p + d] = exponent * mean / var;
            t->constant[k] -= exponent * (mean * mean / var + log(var)) / 2;
        }
    }
}

/* What one observation at a time needs. */
struct scratch {
    double *z, *log_pi, *x, *score; /* a sample, [ROWS, 2 p], [ROWS, count] */
};

/* The tokens of text i, whose counts are those of `text`. */
static void guess(struct nvdp__text_attack *a, struct centroids *t,
                  const struct nvdp__corpus *corpus, enum nvdp__observed observed, uint64_t seed,
                  size_t i, size_t text, const struct scratch *at, const struct nvdp__hits *hits) {
    const struct nvdp_dataset *data = corpus->data;
    const struct nvdp_posteriors *set = corpus->set;
    const size_t p = t->dim, kappa = (size_t)set->kappa, prior = set->alpha != NULL ? kappa : 0;
    const size_t n = data->offset[i + 1] - data->offset[i];
    const bool blind = observed == NVDP__OBSERVED_PRIOR;
    if (!blind) nvdp__observe(corpus, observed, seed, 0, i, prior + n * kappa, at->z, at->log_pi);
    for (size_t j = 0; j < n; j += ROWS) {
        const size_t rows = nvdp__least(n - j, ROWS);
        for (size_t r = 0; r < rows; r++) {
            double *to = at->x + r * 2 * p;
            memset(to, 0, 2 * p * sizeof *to);
            for (size_t k = 0; k < kappa && !blind; k++)
                cblas_daxpy((int)p, 1 / (double)kappa, at->z + (prior + (j + r) * kappa + k) * p, 1,
                            to + p, 1);
            for (size_t d = 0; d < p; d++)
                to[d] = to[p + d] * to[p + d];
            memcpy(at->score + r * t->known.count, t->constant, t->known.count * sizeof *at->score);
        }
        if (!blind)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)t->known.count,
                        (int)(2 * p), 1, at->x, (int)(2 * p), t->factor, (int)(2 * p), 1, at->score,
                        (int)t->known.count);
        for (size_t r = 0; r < rows; r++) {
            const int32_t id = data->ids[data->offset[i] + j + r];
            if (nvdp__token_counts(a, id))
                nvdp__judge(&t->known, text, id, at->score + r * t->known.count, hits);
        }
    }
    nvdp__judge_set(&t->known, a, data, i, text, hits);
}

/* The exponent that names the most tokens of the public texts that were left out. */
static double choose(struct nvdp__text_attack *a, struct centroids *t, enum nvdp__observed observed,
                     const struct scratch *at) {
    double best = -1, exponent = 1;
    for (size_t k = 0; k < TRIES && observed != NVDP__OBSERVED_PRIOR; k++) {
        double count[NVDP__HITS] = {0};
        struct nvdp__hits hits;
        for (size_t c = 0; c < NVDP__HITS; c++)
            hits.of[c] = count + c;
        prepare(a, t, observed, EXPONENTS[k]);
        for (size_t i = t->known.texts; i < a->known.data->count; i++)
            guess(a, t, &a->known, observed, a->options->seed, i, 0, at, &hits);
        if (nvdp__hits_first(&hits, 0) > best) exponent = EXPONENTS[k];
        best = fmax(best, nvdp__hits_first(&hits, 0));
    }
    return exponent;
}

nvdp_status nvdp__attack_nearest(struct nvdp__text_attack *a) {
    nvdp_status status = NVDP_OK;
    const struct nvdp_posteriors *set = a->attacked.set;
    const size_t n = a->attacked.data->count, p = set->dim, most = nvdp__most_rows(a);
    struct centroids t = {0};
    struct nvdp__meter meter;
    struct scratch at = {0};
    struct nvdp__hits hits = {0};
    size_t done = 0;
    NVDP_TRY(reserve(a, &t));
    take_moments(a, &t);
    NVDP_TRY(nvdp__hits_create(a->ctx, n, &hits));
    NVDP_TRY(NVDP__NEW(a->ctx, at.z, most * (p + 1)));
    NVDP_TRY(NVDP__NEW(a->ctx, at.x, ROWS * 2 * p));
    NVDP_TRY(NVDP__NEW(a->ctx, at.score, ROWS * t.known.count));
    at.log_pi = at.z + most * p;
    nvdp__meter_begin(&meter, a->ctx, "nearest", "text", 0, (a->options->seeds + 2) * n);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t seeds = observed == NVDP__OBSERVED_RELEASE ? a->options->seeds : 1;
        nvdp__hits_clear(n, &hits);
        prepare(a, &t, observed, choose(a, &t, observed, &at));
        for (size_t s = 0; s < seeds; s++)
            for (size_t i = 0; i < n; i++) {
                if (nvdp_context_cancelled(a->ctx))
                    NVDP_TRY(nvdp__fail(a->ctx, NVDP_ERR_CANCELLED, "attack: cancelled"));
                guess(a, &t, &a->attacked, observed, a->options->seed + s, i, i, &at, &hits);
                done++;
                nvdp__meter_update(&meter, done, (double)done, "text", NAN);
            }
        NVDP_TRY(nvdp__add_hits(a, observed, &hits));
    }
    nvdp__meter_end(&meter);
cleanup:
    release(&t);
    free(hits.of[0]);
    free(at.z);
    free(at.x);
    free(at.score);
    return status;
}
