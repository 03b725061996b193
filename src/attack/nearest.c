/* Which token is this vector of?  Every token that the public texts have gets a Gaussian: the mean of its posteriors' means
 * over its occurrences, their variance (drawn towards that of all tokens where there are few) and that of the mean, and the
 * noise's; a token is as likely as it is frequent.  Dimensions that go together count too much where they are taken for
 * independent: densities have an exponent, that which names the most tokens of public texts that were left out. */
#include "attack/texts.h"
#include "rdp/divergence.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { ROWS = 128, TOP = 10, RARE = 10, HELD_OUT = 10, MOST_HELD = 200 };
static const double SHRINK = 10; /* occurrences that the variance of all tokens counts for */
static const double EXPONENTS[] = {1, 0.3, 0.1, 0.03, 0.01};
enum { TRIES = sizeof EXPONENTS / sizeof *EXPONENTS };

struct tokens {
    size_t vocabulary, count, dim;
    size_t texts;  /* public ones that are learned from; the others choose the exponent */
    size_t *place; /* [vocabulary] + 1 among `count`; 0: not seen */
    int32_t *id;   /* [count] */
    size_t *named,
        *there; /* [vocabulary] the last text, counted up, for which it was named; that has it */
    size_t stamp;
    double *times;                 /* [count] */
    double *mean, *spread, *noise; /* [count, p] */
    double *pooled;                /* [p] variance of means within tokens */
    double *factor;                /* [count, 2 p] of z^2 and z in the log density */
    double *constant;              /* [count] */
};

static void release(struct tokens *t) {
    free(t->place);
    free(t->id);
    free(t->named);
    free(t->there);
    free(t->times);
    free(t->mean);
    free(t->spread);
    free(t->noise);
    free(t->pooled);
    free(t->factor);
    free(t->constant);
}

/* Not [CLS] and [SEP], which are everybody's. */
static bool own(const struct nvdp__text_attack *a, int32_t id) {
    const struct nvdp_tokenizer *tokenizer = nvdp_model_tokenizer(a->run.model);
    return id != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_CLS) &&
           id != nvdp_tokenizer_special(tokenizer, NVDP_TOKEN_SEP);
}

static nvdp_status count_tokens(struct nvdp__text_attack *a, struct tokens *t) {
    const struct nvdp_dataset *data = a->known.data;
    t->texts = data->count - nvdp__least(data->count / HELD_OUT, MOST_HELD);
    const size_t rows = data->offset[t->texts];
    t->vocabulary = nvdp_tokenizer_size(nvdp_model_tokenizer(a->run.model));
    t->dim = a->known.set->dim;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->place, t->vocabulary));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->id, t->vocabulary));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->named, t->vocabulary));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->there, t->vocabulary));
    for (size_t r = 0; r < rows; r++) {
        const int32_t id = data->ids[r];
        if (!own(a, id) || t->place[id] != 0) continue;
        t->id[t->count] = id;
        t->place[id] = ++t->count;
    }
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->times, t->count));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->mean, t->count * t->dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->spread, t->count * t->dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->noise, t->count * t->dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->pooled, t->dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(a->ctx, t->factor, t->count * 2 * t->dim));
    return NVDP__NEW(a->ctx, t->constant, t->count);
}

static void take_moments(const struct nvdp__text_attack *a, struct tokens *t) {
    const struct nvdp_dataset *data = a->known.data;
    const struct nvdp_posteriors *set = a->known.set;
    const size_t p = t->dim, rows = data->offset[t->texts];
    double freedom = 0;
    for (size_t r = 0; r < rows; r++) { /* Welford 1962 */
        if (!own(a, data->ids[r])) continue;
        const size_t k = t->place[data->ids[r]] - 1;
        const double share = 1 / ++t->times[k];
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
static void prepare(const struct nvdp__text_attack *a, struct tokens *t,
                    enum nvdp__observed observed, double exponent) {
    const size_t p = t->dim;
    const double kappa = a->known.set->kappa;
    for (size_t k = 0; k < t->count; k++) {
        t->constant[k] = log(t->times[k]);
        for (size_t d = 0; d < p && observed != NVDP__OBSERVED_PRIOR; d++) {
            const double mean = t->mean[k * p + d];
            double var =
                (t->spread[k * p + d] + SHRINK * t->pooled[d]) / (t->times[k] - 1 + SHRINK);
            var *= 1 + 1 / t->times[k];
            var += observed == NVDP__OBSERVED_RELEASE ? t->noise[k * p + d] / kappa
                                                      : 1e-3 * t->pooled[d] + 1e-12;
            t->factor[k * 2 * p + d] = -exponent / (2 * var);
            t->factor[k * 2 * p + p + d] = exponent * mean / var;
            t->constant[k] -= exponent * (mean * mean / var + log(var)) / 2;
        }
    }
}

/* What is counted of every text. */
enum { FIRST, AMONG_TEN, TOKENS, RARE_TEN, RARE_TOKENS, RIGHT, NAMED, WORDS, TWICE, BOTH, COUNTS };
struct hits {
    double *of[COUNTS]; /* [texts]: of tokens; of the set of all that were named first */
};

static void judge(struct tokens *t, size_t text, int32_t id, const double *score,
                  struct hits *hits) {
    const size_t place = t->place[id];
    const bool rare = place == 0 || t->times[place - 1] < RARE;
    size_t above = 0, top = 0;
    for (size_t k = 0; k < t->count; k++) {
        above += place > 0 && score[k] > score[place - 1];
        if (score[k] > score[top]) top = k;
    }
    hits->of[TOKENS][text]++;
    hits->of[FIRST][text] += place > 0 && above == 0;
    hits->of[AMONG_TEN][text] += place > 0 && above < TOP;
    hits->of[RARE_TOKENS][text] += rare;
    hits->of[RARE_TEN][text] += rare && place > 0 && above < TOP;
    hits->of[NAMED][text] += t->named[t->id[top]] != t->stamp;
    t->named[t->id[top]] = t->stamp;
}

/* The text's words that were named, of the text that was judged last. */
static void compare(struct tokens *t, const struct nvdp__text_attack *a,
                    const struct nvdp_dataset *data, size_t i, size_t text, struct hits *hits) {
    for (size_t r = data->offset[i]; r < data->offset[i + 1]; r++) {
        const int32_t id = data->ids[r];
        if (!own(a, id) || t->there[id] == t->stamp) continue;
        t->there[id] = t->stamp;
        hits->of[WORDS][text]++;
        hits->of[RIGHT][text] += t->named[id] == t->stamp;
    }
}

/* What one observation at a time needs. */
struct scratch {
    double *z, *log_pi, *x, *score; /* a sample, [ROWS, 2 p], [ROWS, count] */
};

/* The tokens of text i, whose counts are those of `text`. */
static void guess(struct nvdp__text_attack *a, struct tokens *t, const struct nvdp__corpus *corpus,
                  enum nvdp__observed observed, uint64_t seed, size_t i, size_t text,
                  const struct scratch *at, struct hits *hits) {
    const struct nvdp_dataset *data = corpus->data;
    const struct nvdp_posteriors *set = corpus->set;
    const size_t p = t->dim, kappa = (size_t)set->kappa, prior = set->alpha != NULL ? kappa : 0;
    const size_t n = data->offset[i + 1] - data->offset[i];
    const bool blind = observed == NVDP__OBSERVED_PRIOR;
    t->stamp++;
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
            memcpy(at->score + r * t->count, t->constant, t->count * sizeof *at->score);
        }
        if (!blind)
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)rows, (int)t->count,
                        (int)(2 * p), 1, at->x, (int)(2 * p), t->factor, (int)(2 * p), 1, at->score,
                        (int)t->count);
        for (size_t r = 0; r < rows; r++) {
            const int32_t id = data->ids[data->offset[i] + j + r];
            if (own(a, id)) judge(t, text, id, at->score + r * t->count, hits);
        }
    }
    compare(t, a, data, i, text, hits);
}

/* The exponent that names the most tokens of the public texts that were left out. */
static double choose(struct nvdp__text_attack *a, struct tokens *t, enum nvdp__observed observed,
                     const struct scratch *at) {
    double best = -1, exponent = 1;
    for (size_t k = 0; k < TRIES && observed != NVDP__OBSERVED_PRIOR; k++) {
        double count[COUNTS] = {0};
        struct hits hits;
        for (size_t c = 0; c < COUNTS; c++)
            hits.of[c] = count + c;
        prepare(a, t, observed, EXPONENTS[k]);
        for (size_t i = t->texts; i < a->known.data->count; i++)
            guess(a, t, &a->known, observed, a->options->seed, i, 0, at, &hits);
        if (count[FIRST] > best) exponent = EXPONENTS[k];
        best = fmax(best, count[FIRST]);
    }
    return exponent;
}

nvdp_status nvdp__attack_nearest(struct nvdp__text_attack *a) {
    static const struct {
        const char *metric;
        int hits, of;
    } score[] = {{"first", FIRST, TOKENS},
                 {"among ten", AMONG_TEN, TOKENS},
                 {"rare, among ten", RARE_TEN, RARE_TOKENS},
                 {"set, precision", RIGHT, NAMED},
                 {"set, recall", RIGHT, WORDS},
                 {"set, F1", TWICE, BOTH}};
    nvdp_status status = NVDP_OK;
    const struct nvdp_posteriors *set = a->attacked.set;
    const size_t n = a->attacked.data->count, p = set->dim;
    struct tokens t = {0};
    struct nvdp__meter meter;
    struct scratch at = {0};
    double *counts = NULL;
    size_t most = 0, done = 0;
    if (nvdp__model_form(a->run.model).single)
        NVDP_TRY(nvdp__fail(a->ctx, NVDP_ERR_UNSUPPORTED,
                            "nearest: expected a method with a vector for each token, found %s",
                            set->method));
    for (size_t i = 0; i < n; i++)
        most = nvdp__most(most, nvdp__release_rows(set, i));
    for (size_t i = 0; i < a->known.data->count; i++)
        most = nvdp__most(most, nvdp__release_rows(a->known.set, i));
    NVDP_TRY(count_tokens(a, &t));
    take_moments(a, &t);
    NVDP_TRY(NVDP__NEW(a->ctx, counts, COUNTS * n));
    NVDP_TRY(NVDP__NEW(a->ctx, at.z, most * (p + 1)));
    NVDP_TRY(NVDP__NEW(a->ctx, at.x, ROWS * 2 * p));
    NVDP_TRY(NVDP__NEW(a->ctx, at.score, ROWS * t.count));
    at.log_pi = at.z + most * p;
    struct hits hits;
    for (size_t c = 0; c < COUNTS; c++)
        hits.of[c] = counts + c * n;
    nvdp__meter_begin(&meter, a->ctx, "nearest", "text", 0, (a->options->seeds + 2) * n);
    for (int observed = 0; observed < NVDP__OBSERVEDS; observed++) {
        const size_t seeds = observed == NVDP__OBSERVED_RELEASE ? a->options->seeds : 1;
        memset(counts, 0, COUNTS * n * sizeof *counts);
        prepare(a, &t, observed, choose(a, &t, observed, &at));
        for (size_t s = 0; s < seeds; s++)
            for (size_t i = 0; i < n; i++) {
                if (nvdp_context_cancelled(a->ctx))
                    NVDP_TRY(nvdp__fail(a->ctx, NVDP_ERR_CANCELLED, "attack: cancelled"));
                guess(a, &t, &a->attacked, observed, a->options->seed + s, i, i, &at, &hits);
                done++;
                nvdp__meter_update(&meter, done, (double)done, "text", NAN);
            }
        for (size_t i = 0; i < n; i++) {
            hits.of[TWICE][i] = 2 * hits.of[RIGHT][i];
            hits.of[BOTH][i] = hits.of[NAMED][i] + hits.of[WORDS][i];
        }
        for (size_t k = 0; k < sizeof score / sizeof *score; k++)
            NVDP_TRY(nvdp__add_score(a, observed, score[k].metric, n, hits.of[score[k].hits],
                                     hits.of[score[k].of]));
    }
    nvdp__meter_end(&meter);
cleanup:
    release(&t);
    free(counts);
    free(at.z);
    free(at.x);
    free(at.score);
    return status;
}
