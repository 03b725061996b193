/* The guess bound of measured posteriors, for the prior "one of these texts, equally likely" (rdp/guess.c has the theorem).
 *
 * The reference Q is a posterior too: row by row the mean of the texts' pseudo-counts, the mean of their means, and the mean
 * of their variances plus the spread of their means.  With D_x = D_l(P_x || Q), S samples and l > 1, the joint distribution
 * of text and sample is
 *
 *     D  =  log E_x e^((l-1) S D_x) / (l-1)          (at order 1: S E_x D_x, a bound of the mutual information)
 *
 * away from that of independent ones.  No processing raises a divergence, so a guess with baseline b is right with
 * probability at most the largest p with d_l(p || b) <= D (nvdp_renyi_most()): the minimum over orders counts. */
#include "rdp/pairs.h"

#include <stdlib.h>
#include <string.h>

static const double orders[] = {1, 1.02, 1.05, 1.1, 1.2, 1.4, 1.7, 2, 3, 4, 6, 8, 12, 16, 32};

/* The texts, and Q behind them. */
static nvdp_status with_reference(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  struct nvdp_posteriors **out) {
    const size_t n = set->texts, dim = set->dim, tokens = set->offset[n];
    const bool hidden = set->policy == NVDP_LENGTH_HIDDEN;
    struct nvdp_posteriors *made = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < n; i++)
        rows = nvdp__most(rows, set->offset[i + 1] - set->offset[i]);
    NVDP_RETURN_IF_FAILED(
        nvdp_posteriors_create(ctx, n + 1, tokens + rows, dim, set->alpha != NULL, &made));
    made->prior_alpha = set->prior_alpha;
    made->pad_alpha = set->pad_alpha;
    made->kappa = set->kappa;
    made->policy = set->policy;
    made->length = set->length;
    memcpy(made->offset, set->offset, (n + 1) * sizeof *made->offset);
    made->offset[n + 1] = tokens + rows;
    memcpy(made->mu, set->mu, tokens * dim * sizeof *made->mu);
    memcpy(made->logvar, set->logvar, tokens * dim * sizeof *made->logvar);
    if (set->alpha != NULL) memcpy(made->alpha, set->alpha, tokens * sizeof *made->alpha);
    for (size_t r = 0; r < rows; r++) {
        double alpha = 0, texts = 0;
        for (size_t i = 0; i < n; i++) {
            const bool there = r < set->offset[i + 1] - set->offset[i];
            if (!there && !hidden) continue;
            texts++;
            if (set->alpha != NULL)
                alpha += there ? set->alpha[set->offset[i] + r] : set->pad_alpha;
        }
        if (set->alpha != NULL) made->alpha[tokens + r] = alpha / texts;
        for (size_t k = 0; k < dim; k++) {
            double mean = 0, square = 0, variance = 0;
            for (size_t i = 0; i < n; i++) {
                const size_t at = (set->offset[i] + r) * dim + k;
                const bool there = r < set->offset[i + 1] - set->offset[i];
                if (!there && !hidden) continue;
                const double mu = there ? set->mu[at] : 0;
                mean += mu / texts;
                square += mu * mu / texts;
                variance += (there ? exp(set->logvar[at]) : 1) / texts;
            }
            made->mu[(tokens + r) * dim + k] = mean;
            made->logvar[(tokens + r) * dim + k] = log(variance + fmax(square - mean * mean, 0));
        }
    }
    *out = made;
    return NVDP_OK;
}

/* D of the file's comment; d: [n] the texts' divergences of this order. */
static double joint(double order, size_t n, const double *d, double releases) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, releases * d[i]);
    if (isinf(largest)) return INFINITY;
    for (size_t i = 0; i < n; i++)
        sum += order > 1 ? exp((order - 1) * (releases * d[i] - largest)) : releases * d[i];
    return order > 1 ? largest + log(sum / (double)n) / (order - 1) : sum / (double)n;
}

nvdp_status nvdp__measure_guesses(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                  int releases, struct nvdp_privacy_report *to) {
    nvdp_status status = NVDP_OK;
    struct nvdp_posteriors *all = NULL;
    double *d = NULL;
    const size_t n = set->texts;
    to->information = log((double)n); /* of the prior itself */
    NVDP_TRY(with_reference(ctx, set, &all));
    NVDP_TRY(NVDP__NEW(ctx, d, n));
    for (size_t o = 0; o < sizeof orders / sizeof *orders; o++) {
        NVDP_TRY(nvdp__check_cancelled(ctx, "privacy: cancelled"));
#pragma omp parallel for schedule(dynamic, 8) num_threads(nvdp_context_threads(ctx))
        for (size_t i = 0; i < n; i++)
            d[i] = nvdp_renyi_texts(orders[o], all, i, n);
        const double divergence = joint(orders[o], n, d, releases);
        if (!isfinite(divergence)) break; /* and so at every larger order */
        if (orders[o] == 1) to->information = fmin(to->information, divergence);
        for (size_t g = 0; g < to->guesses; g++)
            to->guess[g].bound = fmin(
                to->guess[g].bound, nvdp_renyi_most(orders[o], divergence, to->guess[g].baseline));
    }
cleanup:
    nvdp_posteriors_free(all);
    free(d);
    return status;
}
