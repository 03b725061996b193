/* The arrays of a set of posteriors, and what must hold for them. */
#include "base/base.h"
#include <math.h>
#include <nvdp/posteriors.h>
#include <stdlib.h>
#include <string.h>

/* exp(logvar) and the products of variances of a block stay in the range of double. */
static const double logvar_limit = 300;
/* Ratios of pseudo-counts stay in the range of double. */
static const double alpha_least = 1e-100;
static const double alpha_most = 1e100;

nvdp_status nvdp_posteriors_create(struct nvdp_context *ctx, size_t texts, size_t rows, size_t dim,
                                   bool with_alpha, struct nvdp_posteriors **out) {
    size_t items = 0;
    if (dim == 0 || texts == SIZE_MAX) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "posteriors: expected a width of at least 1, found %zu", dim);
    }
    if (!nvdp__mul(rows, dim, &items)) {
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "posteriors: %zu rows of width %zu are too many",
                          rows, dim);
    }
    struct nvdp_posteriors *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    made->texts = texts;
    made->dim = dim;
    made->prior_alpha = 1;
    made->pad_alpha = 1;
    made->kappa = 1;
    made->policy = NVDP_LENGTH_PUBLIC;
    made->offset = nvdp__calloc(ctx, texts + 1, sizeof *made->offset);
    if (made->offset != NULL && with_alpha) {
        made->alpha = nvdp__calloc(ctx, rows, sizeof *made->alpha);
    }
    if (made->alpha != NULL || !with_alpha) made->mu = nvdp__calloc(ctx, items, sizeof *made->mu);
    if (made->mu != NULL) made->logvar = nvdp__calloc(ctx, items, sizeof *made->logvar);
    if (made->offset == NULL || made->logvar == NULL) {
        nvdp_posteriors_free(made);
        return NVDP_ERR_MEMORY;
    }
    *out = made;
    return NVDP_OK;
}

void nvdp_posteriors_free(struct nvdp_posteriors *posteriors) {
    if (posteriors == NULL) return;
    free(posteriors->offset);
    free(posteriors->alpha);
    free(posteriors->mu);
    free(posteriors->logvar);
    free(posteriors->id);
    free(posteriors);
}

/* What messages need to say where a fault is. */
struct place {
    struct nvdp_context *ctx;
    const char *source;
    const char *separator;
};

static nvdp_status check_offsets(const struct place *at, const struct nvdp_posteriors *set) {
    if (set->offset[0] != 0) {
        return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                          "%s%sdataset offset, row 0: expected 0, found %zu", at->source,
                          at->separator, set->offset[0]);
    }
    for (size_t i = 0; i < set->texts; i++) {
        if (set->offset[i + 1] < set->offset[i]) {
            return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                              "%s%sdataset offset, row %zu: expected at least %zu, found %zu",
                              at->source, at->separator, i + 1, set->offset[i], set->offset[i + 1]);
        }
        size_t rows = set->offset[i + 1] - set->offset[i];
        if (set->policy == NVDP_LENGTH_HIDDEN && rows > set->length) {
            return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                              "%s%sdataset offset, row %zu: expected at most %zu rows a text (the "
                              "hidden length), found %zu",
                              at->source, at->separator, i + 1, set->length, rows);
        }
    }
    return NVDP_OK;
}

/* A pseudo-count that an attribute holds. */
static nvdp_status check_count(const struct place *at, const char *name, double value) {
    if (value >= alpha_least && value <= alpha_most) return NVDP_OK;
    return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                      "%s%sattribute %s: expected a pseudo-count from %g to %g, found %g",
                      at->source, at->separator, name, alpha_least, alpha_most, value);
}

static nvdp_status check_attributes(const struct place *at, const struct nvdp_posteriors *set) {
    if (set->kappa < 1) {
        return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                          "%s%sattribute kappa: expected at least 1, found %d", at->source,
                          at->separator, set->kappa);
    }
    if (set->policy != NVDP_LENGTH_HIDDEN && set->policy != NVDP_LENGTH_PUBLIC) {
        return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                          "%s%sattribute length_policy: expected hidden or public, found %d",
                          at->source, at->separator, (int)set->policy);
    }
    if (set->policy == NVDP_LENGTH_HIDDEN && set->length == 0) {
        return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                          "%s%sattribute length: expected at least 1, found 0", at->source,
                          at->separator);
    }
    if (memchr(set->method, '\0', sizeof set->method) == NULL) {
        return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                          "%s%sattribute method: expected at most %zu characters", at->source,
                          at->separator, sizeof set->method - 1);
    }
    if (set->alpha == NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(check_count(at, "prior_alpha", set->prior_alpha));
    if (set->policy == NVDP_LENGTH_PUBLIC) return NVDP_OK;
    return check_count(at, "pad_alpha", set->pad_alpha);
}

static nvdp_status check_alpha(const struct place *at, const struct nvdp_posteriors *set) {
    size_t rows = set->offset[set->texts];
    for (size_t r = 0; set->alpha != NULL && r < rows; r++) {
        if (!(set->alpha[r] >= alpha_least && set->alpha[r] <= alpha_most)) {
            return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                              "%s%sdataset alpha, row %zu: expected a pseudo-count > 0 (%g to %g), "
                              "found %g",
                              at->source, at->separator, r, alpha_least, alpha_most, set->alpha[r]);
        }
    }
    return NVDP_OK;
}

static nvdp_status check_vectors(const struct place *at, const struct nvdp_posteriors *set) {
    size_t items = set->offset[set->texts] * set->dim;
    for (size_t k = 0; k < items; k++) {
        if (!isfinite(set->mu[k])) {
            return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                              "%s%sdataset mu, row %zu, column %zu: expected a finite number, "
                              "found %g",
                              at->source, at->separator, k / set->dim, k % set->dim, set->mu[k]);
        }
        if (!(fabs(set->logvar[k]) <= logvar_limit)) {
            return nvdp__fail(at->ctx, NVDP_ERR_INPUT,
                              "%s%sdataset logvar, row %zu, column %zu: expected a number from %g "
                              "to %g, found %g",
                              at->source, at->separator, k / set->dim, k % set->dim, -logvar_limit,
                              logvar_limit, set->logvar[k]);
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp_posteriors_check(struct nvdp_context *ctx,
                                  const struct nvdp_posteriors *posteriors, const char *source) {
    struct place at = {.ctx = ctx, .source = source != NULL ? source : "", .separator = ""};
    if (at.source[0] != '\0') at.separator = ": ";
    NVDP_RETURN_IF_FAILED(check_attributes(&at, posteriors));
    NVDP_RETURN_IF_FAILED(check_offsets(&at, posteriors));
    NVDP_RETURN_IF_FAILED(check_alpha(&at, posteriors));
    return check_vectors(&at, posteriors);
}
