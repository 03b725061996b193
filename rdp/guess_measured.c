/* The guess bound of measured posteriors for the prior "one of these texts, equally likely" (the
 * theorem is in rdp/guess.c).
 *
 * The reference Q is also a posterior. In each row it has the mean of the texts' pseudo-counts,
 * the mean of their means, and the mean of their variances plus the variance of their means.
 * With D_x = D_l(P_x || Q), S samples and l > 1, the joint distribution of text and sample has
 * the divergence
 *
 *     D  =  log E_x e^((l-1) S D_x) / (l-1)    (at order 1: S E_x D_x, an upper bound of the mutual information)
 *
 * from the distribution in which they are independent. Processing never increases a divergence,
 * so a guess with baseline b is right with probability at most the largest p with d_l(p || b) <=
 * D (nvdp_renyi_probability_bound()). The result is the minimum over orders and, under a sequence
 * clip, of the bound for any texts. */
#include "rdp/likelihood.h"
#include "rdp/pairs.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const double orders[] = {1, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2, 3, 4, 6, 8, 12, 16, 32};

enum { ORDERS = sizeof orders / sizeof *orders };

/* Makes a set of two texts: Q, followed by room for any text of the given set. */
static nvdp_status make_pair(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                             size_t rows, struct nvdp_posteriors **out) {
    NVDP_TRY(nvdp_posteriors_create(ctx, 2, 2 * rows, set->dim, set->alpha != NULL, out));
    (*out)->prior_alpha = set->prior_alpha;
    (*out)->pad_alpha = set->pad_alpha;
    (*out)->kappa = set->kappa;
    (*out)->policy = set->policy;
    (*out)->length = set->length;
    (*out)->offset[1] = (*out)->offset[2] = rows;
    return NVDP_OK;
}

/* Fits row r of Q. Texts that end before it have padding there or, under public lengths, no row. */
static void fit_row(const struct nvdp_posteriors *set, size_t r, struct nvdp_posteriors *to,
                    double *square) {
    const bool hidden = set->policy == NVDP_LENGTH_HIDDEN;
    const size_t dim = set->dim;
    double *mean = to->mu + r * dim, *variance = to->logvar + r * dim, alpha = 0, texts = 0;
    for (size_t i = 0; i < set->texts; i++)
        texts += hidden || r < set->offset[i + 1] - set->offset[i];
    memset(square, 0, dim * sizeof *square);
    for (size_t i = 0; i < set->texts; i++) {
        const bool there = r < set->offset[i + 1] - set->offset[i];
        const size_t row = set->offset[i] + r;
        if (!there && !hidden) continue;
        if (set->alpha != NULL) alpha += there ? set->alpha[row] : set->pad_alpha;
        for (size_t k = 0; k < dim; k++) {
            const double mu = there ? set->mu[row * dim + k] : 0;
            mean[k] += mu / texts;
            square[k] += mu * mu / texts;
            variance[k] += (there ? exp(set->logvar[row * dim + k]) : 1) / texts;
        }
    }
    if (set->alpha != NULL) to->alpha[r] = alpha / texts;
    for (size_t k = 0; k < dim; k++)
        variance[k] = log(variance[k] + fmax(square[k] - mean[k] * mean[k], 0));
}

/* Copies Q from one pair to another. */
static void take_reference(const struct nvdp_posteriors *from, struct nvdp_posteriors *to) {
    const size_t rows = from->offset[1], dim = from->dim;
    memcpy(to->mu, from->mu, rows * dim * sizeof *to->mu);
    memcpy(to->logvar, from->logvar, rows * dim * sizeof *to->logvar);
    if (from->alpha != NULL) memcpy(to->alpha, from->alpha, rows * sizeof *to->alpha);
}

/* Copies text i after Q. */
static void take_text(const struct nvdp_posteriors *set, size_t i, struct nvdp_posteriors *to) {
    const size_t first = set->offset[i], n = set->offset[i + 1] - first, at = to->offset[1],
                 dim = set->dim;
    to->offset[2] = at + n;
    memcpy(to->mu + at * dim, set->mu + first * dim, n * dim * sizeof *to->mu);
    memcpy(to->logvar + at * dim, set->logvar + first * dim, n * dim * sizeof *to->logvar);
    if (set->alpha != NULL) memcpy(to->alpha + at, set->alpha + first, n * sizeof *to->alpha);
}

/* D as defined above; d: [n] divergences of the texts at this order. */
static double joint(double order, size_t n, const double *d, double releases) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, releases * d[i]);
    if (isinf(largest)) return INFINITY;
    for (size_t i = 0; i < n; i++)
        sum += order > 1 ? exp((order - 1) * (releases * d[i] - largest)) : releases * d[i];
    const double mean = order > 1 ? largest + log(sum / (double)n) / (order - 1) : sum / (double)n;
    return mean * (1 + 1e-12);
}

/* d[o N + i]: D_l(P_i || Q) at order o.  pair: [threads]. */
static nvdp_status measure_all(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                               struct nvdp_posteriors **pair, double *d) {
    enum { TEXTS_PER_CHECK = 512 };
    const size_t n = set->texts;
    for (size_t first = 0; first < n; first += TEXTS_PER_CHECK) {
        const size_t end = nvdp__min(first + TEXTS_PER_CHECK, n);
        NVDP_TRY(nvdp__check_cancelled(ctx, "privacy: cancelled"));
#pragma omp parallel for schedule(dynamic, 8) num_threads(nvdp_context_threads(ctx))
        for (size_t i = first; i < end; i++) {
            struct nvdp_posteriors *own = pair[omp_get_thread_num()];
            take_text(set, i, own);
            for (size_t o = 0; o < ORDERS; o++)
                d[o * n + i] = nvdp_renyi_texts(orders[o], own, 1, 0);
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__measure_guesses(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  int releases, struct nvdp_privacy_report *to) {
    nvdp_status status = NVDP_OK;
    const size_t n = set->texts, threads = (size_t)nvdp_context_threads(ctx);
    struct nvdp_posteriors **pair = NULL;
    double *d = NULL, *square = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows = nvdp__max(rows, set->offset[i + 1] - set->offset[i]);
    to->information = log((double)n); /* the prior's own information */
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, pair, threads));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, d, ORDERS * n));
    NVDP_TRY_OR_CLEAN(NVDP__NEW(ctx, square, set->dim));
    for (size_t t = 0; t < threads; t++)
        NVDP_TRY_OR_CLEAN(make_pair(ctx, set, rows, &pair[t]));
    for (size_t r = 0; r < rows; r++) {
        NVDP_TRY_OR_CLEAN(nvdp__check_cancelled(ctx, "privacy: cancelled"));
        fit_row(set, r, pair[0], square);
    }
    for (size_t t = 1; t < threads; t++)
        take_reference(pair[0], pair[t]);
    NVDP_TRY_OR_CLEAN(measure_all(ctx, set, pair, d));
    for (size_t g = 0; g < to->guesses; g++)
        to->guess[g].bound =
            fmin(to->guess[g].bound, nvdp__guess_limit(set, to->guess[g].baseline, releases));
    for (size_t o = 0; o < ORDERS; o++) {
        const double divergence = joint(orders[o], n, d + o * n, releases);
        if (!isfinite(divergence)) break; /* infinite also at every larger order */
        if (orders[o] == 1) to->information = fmin(to->information, divergence);
        for (size_t g = 0; g < to->guesses; g++)
            to->guess[g].bound =
                fmin(to->guess[g].bound,
                     nvdp_renyi_probability_bound(orders[o], divergence, to->guess[g].baseline));
    }
cleanup:
    for (size_t t = 0; t < threads && pair != NULL; t++)
        nvdp_posteriors_free(pair[t]);
    free(pair);
    free(d);
    free(square);
    return status;
}
