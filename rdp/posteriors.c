/* Sets of posteriors: their arrays, validity checks, drawn subsets and descriptive statistics. */
#include "base/cache.h"
#include "base/own.h"
#include "base/random.h"
#include "rdp/options.h"
#include "rdp/pairs.h"
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

/* Keeps exp(logvar) and the products of variances of a block in the range of double. */
static const double logvar_limit = 300;
/* Keeps ratios of pseudo-counts in the range of double. */
static const double min_alpha = 1e-100;
static const double max_alpha = 1e100;

void nvdp__posteriors_digest(const struct nvdp_posteriors *set, char hex[NVDP__DIGEST_HEX]) {
    const size_t rows = set->offset[set->texts], items = rows * set->dim;
    const double numbers[] = {set->prior_alpha, set->pad_alpha, set->clip_sequence};
    const uint64_t sizes[] = {set->texts, set->dim, (uint64_t)set->kappa, (uint64_t)set->policy,
                              set->length};
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_text(&digest, NVDP_VERSION);
    nvdp__digest_text(&digest, set->method);
    nvdp__digest_bytes(&digest, numbers, sizeof numbers);
    nvdp__digest_bytes(&digest, sizes, sizeof sizes);
    nvdp__digest_bytes(&digest, set->offset, (set->texts + 1) * sizeof *set->offset);
    nvdp__digest_bytes(&digest, set->alpha, set->alpha != NULL ? rows * sizeof *set->alpha : 0);
    nvdp__digest_bytes(&digest, set->mu, items * sizeof *set->mu);
    nvdp__digest_bytes(&digest, set->logvar, items * sizeof *set->logvar);
    nvdp__digest_bytes(&digest, set->label,
                       set->label != NULL ? set->texts * sizeof *set->label : 0);
    nvdp__digest_end(&digest, hex);
}

nvdp_status nvdp_posteriors_create(struct nvdp_context *ctx, size_t texts, size_t rows, size_t dim,
                                   bool with_alpha, struct nvdp_posteriors **out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *made = NULL;
    size_t items = 0;
    if (dim == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "posteriors: expected a width of at least 1, found %zu", dim);
    if (!nvdp__mul(rows, dim, &items) || texts == SIZE_MAX)
        return nvdp__fail(
            ctx, NVDP_ERR_MEMORY,
            "posteriors: expected fewer numbers, found %zu texts with %zu rows of width %zu", texts,
            rows, dim);
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    *made = (struct nvdp_posteriors){.texts = texts,
                                     .dim = dim,
                                     .prior_alpha = 1,
                                     .pad_alpha = 1,
                                     .kappa = 1,
                                     .policy = NVDP_LENGTH_PUBLIC};
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(made->offset, texts + 1),
                          NVDP__ITEMS(made->mu, items), NVDP__ITEMS(made->logvar, items)));
    if (with_alpha) NVDP_TRY(NVDP__NEW(ctx, made->alpha, rows));
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp_posteriors_free(struct nvdp_posteriors *posteriors) {
    if (posteriors == NULL) return;
    free(posteriors->offset);
    free(posteriors->alpha);
    free(posteriors->mu);
    free(posteriors->logvar);
    free(posteriors->id);
    free(posteriors->label);
    free(posteriors);
}

/* --- Validity --- */

/* Checks a pseudo-count in an attribute. */
static nvdp_status check_count(struct nvdp_context *ctx, const char *name, double value) {
    if (value >= min_alpha && value <= max_alpha) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "attribute %s: expected a pseudo-count from %g to %g, found %g", name,
                      min_alpha, max_alpha, value);
}

static nvdp_status check_attributes(struct nvdp_context *ctx, const struct nvdp_posteriors *set) {
    bool hidden = set->policy == NVDP_LENGTH_HIDDEN;
    if (set->kappa < 1)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "attribute kappa: expected at least 1, found %d",
                          set->kappa);
    if (!hidden && set->policy != NVDP_LENGTH_PUBLIC)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "attribute length_policy: expected the value of hidden or public, found %d",
            (int)set->policy);
    if (hidden && set->length == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "attribute length: expected at least 1, found 0");
    if (memchr(set->method, '\0', sizeof set->method) == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "attribute method: expected a name of at most %zu characters",
                          sizeof set->method - 1);
    if (set->alpha == NULL) return NVDP_OK;
    NVDP_TRY(check_count(ctx, "prior_alpha", set->prior_alpha));
    return hidden ? check_count(ctx, "pad_alpha", set->pad_alpha) : NVDP_OK;
}

static nvdp_status check_offsets(struct nvdp_context *ctx, const struct nvdp_posteriors *set) {
    if (set->offset[0] != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "dataset offset, row 0: expected 0, found %zu",
                          set->offset[0]);
    for (size_t i = 0; i < set->texts; i++) {
        if (set->offset[i + 1] < set->offset[i])
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "dataset offset, row %zu: expected at least %zu, found %zu", i + 1,
                              set->offset[i], set->offset[i + 1]);
        if (set->policy == NVDP_LENGTH_HIDDEN && nvdp__row_count(set, i) > set->length)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "dataset offset, row %zu: expected at most %zu rows per text (the "
                              "hidden length), found %zu",
                              i + 1, set->length, nvdp__row_count(set, i));
    }
    return NVDP_OK;
}

static nvdp_status check_rows(struct nvdp_context *ctx, const struct nvdp_posteriors *set) {
    const size_t rows = set->offset[set->texts];
    for (size_t r = 0; set->alpha != NULL && r < rows; r++) {
        if (set->alpha[r] >= min_alpha && set->alpha[r] <= max_alpha) continue;
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "dataset alpha, row %zu: expected a pseudo-count > 0 (%g to %g), "
                          "found %g",
                          r, min_alpha, max_alpha, set->alpha[r]);
    }
    for (size_t k = 0; k < rows * set->dim; k++) {
        if (!isfinite(set->mu[k]))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "dataset mu, row %zu, column %zu: expected a finite number, found %g",
                              k / set->dim, k % set->dim, set->mu[k]);
        if (!(fabs(set->logvar[k]) <= logvar_limit))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "dataset logvar, row %zu, column %zu: expected a number from %g to "
                              "%g, found %g",
                              k / set->dim, k % set->dim, -logvar_limit, logvar_limit,
                              set->logvar[k]);
    }
    return NVDP_OK;
}

/* Checks that the mean of each text lies in the ball, which the bound over all texts requires.
 * 1e-12 allows for the rounding of the norm. */
static nvdp_status check_sequence(struct nvdp_context *ctx, const struct nvdp_posteriors *set) {
    double radius = set->clip_sequence;
    if (radius == 0) return NVDP_OK;
    if (!(radius > 0) || isinf(radius))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "attribute clip_sequence: expected 0 or a finite norm, found %g", radius);
    if (set->policy != NVDP_LENGTH_HIDDEN || set->kappa != 1)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "attribute clip_sequence: needs hidden lengths and kappa 1, found %s "
                          "lengths and kappa %d",
                          set->policy == NVDP_LENGTH_HIDDEN ? "hidden" : "public", set->kappa);
    for (size_t i = 0; i < set->texts; i++) {
        double square = 0;
        for (size_t k = set->offset[i] * set->dim; k < set->offset[i + 1] * set->dim; k++) {
            square += set->mu[k] * set->mu[k];
            if (set->logvar[k] != 0)
                return nvdp__fail(ctx, NVDP_ERR_INPUT,
                                  "dataset logvar, row %zu, column %zu: expected 0 with "
                                  "clip_sequence %g, found %g",
                                  k / set->dim, k % set->dim, radius, set->logvar[k]);
        }
        if (sqrt(square) > radius * (1 + 1e-12))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "dataset mu, text %zu: expected means with a joint norm of at most "
                              "clip_sequence %.9g, found %.9g",
                              i, radius, sqrt(square));
    }
    return NVDP_OK;
}

nvdp_status nvdp_posteriors_check(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors, const char *source) {
    nvdp_status status = check_attributes(ctx, posteriors);
    if (status == NVDP_OK) status = check_offsets(ctx, posteriors);
    if (status == NVDP_OK) status = check_rows(ctx, posteriors);
    if (status == NVDP_OK) status = check_sequence(ctx, posteriors);
    bool named = source != NULL && source[0] != '\0';
    return status != NVDP_OK && named ? nvdp__fail_prefix(ctx, status, source) : status;
}

/* --- Drawn subsets --- */

/* Draws the first `texts` indices of a shuffle, and sorts them. */
nvdp_status nvdp__posteriors_draw(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                  size_t texts, uint64_t seed, size_t *index,
                                  struct nvdp_posteriors **out) {
    const size_t all = from->texts;
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_TEXTS, 0);
    nvdp__autofree int64_t *order = NULL;
    nvdp__autofree bool *drawn = NULL;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(order, all), NVDP__ITEMS(drawn, all)));
    nvdp__stream_permutation(&stream, all, order);
    for (size_t i = 0; i < texts; i++) {
        drawn[order[i]] = true;
    }
    for (size_t i = 0, k = 0; i < all; i++) {
        if (drawn[i]) index[k++] = i;
    }
    return nvdp__posteriors_select(ctx, from, texts, index, out);
}

nvdp_status nvdp__posteriors_like(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                  size_t texts, size_t rows, struct nvdp_posteriors **out) {
    NVDP_TRY(nvdp_posteriors_create(ctx, texts, rows, from->dim, from->alpha != NULL, out));
    struct nvdp_posteriors *made = *out;
    made->prior_alpha = from->prior_alpha;
    made->pad_alpha = from->pad_alpha;
    made->kappa = from->kappa;
    made->policy = from->policy;
    made->length = from->length;
    made->clip_sequence = from->clip_sequence;
    made->split = from->split;
    memcpy(made->method, from->method, sizeof made->method);
    return NVDP_OK;
}

void nvdp__posteriors_copy(const struct nvdp_posteriors *from, size_t first, size_t rows,
                           struct nvdp_posteriors *to, size_t at) {
    const size_t dim = from->dim;
    memcpy(to->mu + at * dim, from->mu + first * dim, rows * dim * sizeof *to->mu);
    memcpy(to->logvar + at * dim, from->logvar + first * dim, rows * dim * sizeof *to->logvar);
    if (from->alpha != NULL) memcpy(to->alpha + at, from->alpha + first, rows * sizeof *to->alpha);
}

nvdp_status nvdp__posteriors_select(struct nvdp_context *ctx, const struct nvdp_posteriors *from,
                                    size_t texts, const size_t *index,
                                    struct nvdp_posteriors **out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *made = NULL;
    size_t rows = 0;
    for (size_t i = 0; i < texts; i++)
        rows += nvdp__row_count(from, index[i]);
    NVDP_TRY(nvdp__posteriors_like(ctx, from, texts, rows, &made));
    if (from->id != NULL) NVDP_TRY(NVDP__NEW(ctx, made->id, texts));
    if (from->label != NULL) NVDP_TRY(NVDP__NEW(ctx, made->label, texts));
    for (size_t i = 0; i < texts; i++) {
        const size_t n = nvdp__row_count(from, index[i]);
        nvdp__posteriors_copy(from, from->offset[index[i]], n, made, made->offset[i]);
        made->offset[i + 1] = made->offset[i] + n;
        if (from->id != NULL) made->id[i] = from->id[index[i]];
        if (from->label != NULL) made->label[i] = from->label[index[i]];
    }
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* --- Descriptive statistics --- */

const double nvdp__spread_level[NVDP_SPREAD_QUANTILES] = {.05, .25, .5, .75, .95};

/* Computes the mean and the quantiles; reorders the values. */
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
            n > 0 ? nvdp__quantile(n, place, nvdp__spread_level[level], values, &place) : NAN;
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

/* With p = a/A over components: -sum p log p = log A - sum a log a / A, and 1/sum p^2 = A^2 /
 * sum a^2; kappa vectors of equal weight per component multiply both numbers by kappa. */
static void count_vectors(const struct nvdp_posteriors *set, size_t i, double *vectors,
                          double *vectors_l2, double *token_share) {
    struct sums sums = {0};
    size_t rows = set->offset[i + 1] - set->offset[i];
    for (size_t r = set->offset[i]; r < set->offset[i + 1]; r++) {
        add(&sums, 1, set->alpha[r]);
    }
    double tokens = sums.alpha;
    add(&sums, 1, set->prior_alpha);
    if (set->policy == NVDP_LENGTH_HIDDEN && set->length > rows)
        add(&sums, (double)(set->length - rows), set->pad_alpha);
    *vectors = set->kappa * exp(log(sums.alpha) - sums.entropy / sums.alpha);
    *vectors_l2 = set->kappa * sums.alpha * sums.alpha / sums.squares;
    *token_share = tokens / sums.alpha;
}

static void count_alpha(const struct nvdp_posteriors *set, size_t tokens,
                        struct nvdp_posterior_summary *to) {
    for (size_t r = 0; r < tokens; r++) {
        double bin = floor((log10(set->alpha[r]) - NVDP_ALPHA_FIRST) / NVDP_ALPHA_WIDTH);
        if (bin < 0) {
            to->alpha_below++;
        } else if (bin >= NVDP_ALPHA_BINS) {
            to->alpha_above++;
        } else {
            to->alpha_bin[(size_t)bin]++;
        }
    }
}

nvdp_status nvdp_posteriors_summarize(struct nvdp_context *ctx,
                                      const struct nvdp_posteriors *posteriors,
                                      struct nvdp_posterior_summary *out) {
    const size_t texts = posteriors->texts;
    struct nvdp_posterior_summary made = {
        .texts = texts, .tokens = posteriors->offset[texts], .weighted = posteriors->alpha != NULL};
    NVDP_TRY(nvdp__can_give(ctx, out));
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *vectors, *vectors_l2, *share;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(vectors, texts), NVDP__ITEMS(vectors_l2, texts),
                          NVDP__ITEMS(share, texts)));
    for (size_t i = 0; made.weighted && i < texts; i++) {
        count_vectors(posteriors, i, &vectors[i], &vectors_l2[i], &share[i]);
    }
    size_t counted = made.weighted ? texts : 0;
    made.vectors = spread(counted, vectors);
    made.vectors_l2 = spread(counted, vectors_l2);
    made.token_share = spread(counted, share);
    if (made.weighted) count_alpha(posteriors, made.tokens, &made);
    const size_t entries = made.tokens * posteriors->dim;
    double mu = 0, sigma = 0;
    for (size_t k = 0; k < entries; k++) {
        mu += fabs(posteriors->mu[k]);
        sigma += exp(posteriors->logvar[k] / 2);
    }
    made.mean_abs_mu = entries > 0 ? mu / (double)entries : NAN;
    made.mean_sigma = entries > 0 ? sigma / (double)entries : NAN;
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

size_t nvdp__release_rows(const struct nvdp_posteriors *posteriors, size_t i) {
    const bool padded = posteriors->policy == NVDP_LENGTH_HIDDEN && posteriors->length > 0;
    const size_t rows = padded ? posteriors->length : nvdp__row_count(posteriors, i);
    return posteriors->alpha != NULL ? (1 + rows) * (size_t)posteriors->kappa : rows;
}
