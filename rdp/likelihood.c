/* Log densities of samples under the posteriors of texts. For K samples of one text, with M = K
 * kappa vectors per token, their mean m and their sum of squares s about it,
 *
 *     sum log N(z; mu, v) - log N(z; 0, 1)  =  -[ (M (m - mu)^2 + s) / v - sum z^2 + M log v ] / 2
 *
 * in every dimension. K samples cost as much as one, and squares of differences do not cancel
 * for small v. For the weights, with a = alpha/kappa of the tokens' rows, a_0 of padding (1
 * under public lengths) and A the sum over all rows,
 *
 *     K [ lnG(A) - kappa sum (lnG(a) - lnG(a_0)) ] + sum (a - a_0) sum log pi.
 *
 * A grid ends at some log weight e; lower weights become e. As G(a)^-1 int_-inf^e exp(a x) dx =
 * exp(a e) / G(a + 1) (the sum of all Gammas is near A, not near 0), such a row has lnG(a + 1)
 * instead of lnG(a): log a is subtracted. */
#include "rdp/likelihood.h"
#include "rdp/divergence.h"
#include "tensor/vector.h"

#include <stdlib.h>

/* --- evidence --- */

nvdp_status nvdp__evidence_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  size_t room, struct nvdp__evidence *out) {
    nvdp__auto(nvdp__evidence_release) struct nvdp__evidence made = {.room = room};
    NVDP_TRY(NVDP__NEW(ctx, made.mean, room * set->dim));
    NVDP_TRY(NVDP__NEW(ctx, made.spread, room * set->dim));
    NVDP_TRY(NVDP__NEW(ctx, made.log_pi, room));
    NVDP_TRY(NVDP__NEW(ctx, made.cut, room));
    NVDP_TRY(NVDP__NEW(ctx, made.squares, room + 1));
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__evidence_release(struct nvdp__evidence *evidence) {
    free(evidence->mean);
    free(evidence->spread);
    free(evidence->log_pi);
    free(evidence->cut);
    free(evidence->squares);
    *evidence = (struct nvdp__evidence){0};
}

void nvdp__evidence_begin(struct nvdp__evidence *evidence, const struct nvdp_posteriors *set,
                          size_t i) {
    const size_t p = set->dim;
    evidence->tokens = set->policy == NVDP_LENGTH_HIDDEN ? set->length : nvdp__rows(set, i);
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
    const size_t first = set->alpha != NULL ? kappa : 0; /* rows of the prior */
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

/* a_0 = alpha/kappa of padding. */
static double reference(const struct nvdp_posteriors *set) {
    return set->policy == NVDP_LENGTH_HIDDEN ? set->pad_alpha / set->kappa : 1;
}

/* The constant and the exponents of one text's Dirichlet. */
static void take_weights(struct nvdp__likelihood *to, size_t t) {
    const struct nvdp_posteriors *set = to->set;
    const bool hidden = set->policy == NVDP_LENGTH_HIDDEN;
    const double kappa = set->kappa, a_0 = reference(set);
    const size_t tokens = nvdp__rows(set, t);
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
    nvdp__auto(nvdp__likelihood_release) struct nvdp__likelihood made = {.set = set};
    const size_t rows = set->offset[set->texts], p = set->dim;
    const int threads = nvdp_context_threads(ctx);
    NVDP_TRY(NVDP__NEW(ctx, made.precision, rows * p));
    NVDP_TRY(NVDP__NEW(ctx, made.logvar, rows));
    NVDP_TRY(NVDP__NEW(ctx, made.tilt, rows));
    NVDP_TRY(NVDP__NEW(ctx, made.log_tilt, rows));
    NVDP_TRY(NVDP__NEW(ctx, made.weights, set->texts));
#pragma omp parallel for num_threads(threads)
    for (size_t r = 0; r < rows; r++)
        for (size_t k = r * p; k < (r + 1) * p; k++) {
            made.precision[k] = exp(-set->logvar[k]);
            made.logvar[r] += set->logvar[k];
        }
    for (size_t t = 0; t < set->texts && set->alpha != NULL; t++)
        take_weights(&made, t);
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__likelihood_release(struct nvdp__likelihood *likelihood) {
    free(likelihood->precision);
    free(likelihood->logvar);
    free(likelihood->tilt);
    free(likelihood->log_tilt);
    free(likelihood->weights);
    *likelihood = (struct nvdp__likelihood){0};
}

/* --- densities --- */

/* sum (times (mean - mu)^2 + spread) precision */
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

/* The same for a single vector. */
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
    return set->policy == NVDP_LENGTH_HIDDEN || nvdp__rows(set, t) == evidence->tokens;
}

/* The contribution of token j of the text. */
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

/* Processes a few texts against some evidence token by token, so that rows stay in the cache. */
enum { TEXTS = 8, EVIDENCE = 16 };

static void tile(const struct nvdp__likelihood *of, size_t n, const struct nvdp__evidence *evidence,
                 size_t texts, const size_t *text, size_t columns, double *out) {
    const struct nvdp_posteriors *set = of->set;
    size_t longest = 0;
    for (size_t t = 0; t < texts; t++) {
        const size_t tokens = nvdp__rows(set, text[t]);
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
            for (size_t i = 0; i < n && j < nvdp__rows(set, text[t]); i++)
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
