/* What posteriors look like: effective number of vectors, pseudo-counts, means and deviations. */
#include "base/base.h"
#include "rdp/summary.h"
#include <math.h>
#include <nvdp/privacy.h>
#include <stdlib.h>

const double nvdp_spread_level[NVDP_SPREAD_QUANTILES] = {.05, .25, .5, .75, .95};
const double nvdp_alpha_first = -8;
const double nvdp_alpha_width = .25;

/* Reorders values. */
static struct nvdp_spread spread(size_t n, double *values) {
    struct nvdp_spread made = {.mean = NAN};
    double sum = 0;
    size_t place = 0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
    }
    if (n > 0) made.mean = sum / (double)n;
    for (int level = 0; level < NVDP_SPREAD_QUANTILES; level++) {
        made.quantile[level] =
            n > 0 ? nvdp__quantile(n, place, nvdp_spread_level[level], values, &place) : NAN;
    }
    return made;
}

/* Sums over the components of one text's sample. */
struct sums {
    double alpha;   /* sum a */
    double squares; /* sum a^2 */
    double entropy; /* sum a log a */
};

static void add(struct sums *to, double count, double alpha) {
    to->alpha += count * alpha;
    to->squares += count * alpha * alpha;
    to->entropy += count * alpha * log(alpha);
}

/* With p = a/A over components: -sum p log p = log A - sum a log a / A, and 1/sum p^2 = A^2 / sum
 * a^2; kappa vectors of equal weight a component make either number kappa times as large. */
static void count_vectors(const struct nvdp_posteriors *set, size_t i, double *vectors,
                          double *vectors_l2, double *token_share) {
    struct sums sums = {0};
    size_t rows = set->offset[i + 1] - set->offset[i];
    for (size_t r = set->offset[i]; r < set->offset[i + 1]; r++) {
        add(&sums, 1, set->alpha[r]);
    }
    double tokens = sums.alpha;
    add(&sums, 1, set->prior_alpha);
    if (set->policy == NVDP_LENGTH_HIDDEN && set->length > rows) {
        add(&sums, (double)(set->length - rows), set->pad_alpha);
    }
    *vectors = set->kappa * exp(log(sums.alpha) - sums.entropy / sums.alpha);
    *vectors_l2 = set->kappa * sums.alpha * sums.alpha / sums.squares;
    *token_share = tokens / sums.alpha;
}

static void count_alpha(const struct nvdp_posteriors *set, size_t tokens,
                        struct nvdp_posterior_summary *to) {
    for (size_t r = 0; r < tokens; r++) {
        double bin = floor((log10(set->alpha[r]) - nvdp_alpha_first) / nvdp_alpha_width);
        if (bin < 0) {
            to->alpha_below++;
        } else if (bin >= NVDP_ALPHA_BINS) {
            to->alpha_above++;
        } else {
            to->alpha_bin[(size_t)bin]++;
        }
    }
}

static void mean_gaussians(const struct nvdp_posteriors *set, size_t tokens,
                           struct nvdp_posterior_summary *to) {
    size_t entries = tokens * set->dim;
    double mu = 0, sigma = 0;
    for (size_t k = 0; k < entries; k++) {
        mu += fabs(set->mu[k]);
        sigma += exp(set->logvar[k] / 2);
    }
    to->mean_abs_mu = entries > 0 ? mu / (double)entries : NAN;
    to->mean_sigma = entries > 0 ? sigma / (double)entries : NAN;
}

nvdp_status nvdp_posteriors_summarize(struct nvdp_context *ctx,
                                      const struct nvdp_posteriors *posteriors,
                                      struct nvdp_posterior_summary *out) {
    const size_t texts = posteriors->texts;
    struct nvdp_posterior_summary made = {
        .texts = texts, .tokens = posteriors->offset[texts], .weighted = posteriors->alpha != NULL};
    double *values = nvdp__calloc(ctx, texts, 3 * sizeof *values);
    if (values == NULL) return NVDP_ERR_MEMORY;
    double *vectors = values, *vectors_l2 = values + texts, *share = values + 2 * texts;
    for (size_t i = 0; made.weighted && i < texts; i++) {
        count_vectors(posteriors, i, &vectors[i], &vectors_l2[i], &share[i]);
    }
    size_t counted = made.weighted ? texts : 0;
    made.vectors = spread(counted, vectors);
    made.vectors_l2 = spread(counted, vectors_l2);
    made.token_share = spread(counted, share);
    if (made.weighted) count_alpha(posteriors, made.tokens, &made);
    mean_gaussians(posteriors, made.tokens, &made);
    free(values);
    *out = made;
    return NVDP_OK;
}
