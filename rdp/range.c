/* Spans of a group of texts, and infinities from their ends. */
#include "rdp/range.h"
#include "rdp/dirichlet.h"
#include <math.h>
#include <stdlib.h>

static void widen(struct nvdp__span *span, double value, double weight) {
    span->low = value < span->low ? value : span->low;
    span->high = value > span->high ? value : span->high;
    span->mean += weight * value;
}

/* One component of all texts. */
static void measure_row(const struct nvdp__pairs *pairs, const struct nvdp__group *group,
                        size_t row, struct nvdp__ranges *to) {
    const struct nvdp_posteriors *set = pairs->set;
    const struct nvdp__span empty = {.low = INFINITY, .high = -INFINITY};
    double weight = 1 / (double)group->n;
    struct nvdp__span *mu = to->mu + row * to->dim;
    struct nvdp__span *logvar = to->logvar + row * to->dim;
    struct nvdp__span *var = to->var + row * to->dim;
    for (size_t k = 0; k < to->dim; k++) {
        mu[k] = logvar[k] = var[k] = empty;
    }
    if (to->alpha != NULL) to->alpha[row] = empty;
    for (size_t i = 0; i < group->n; i++) {
        size_t text = group->text[i];
        bool padding = row >= nvdp__rows(set, text);
        size_t at = set->offset[text] + row;
        for (size_t k = 0; k < to->dim; k++) {
            widen(&mu[k], padding ? 0 : set->mu[at * to->dim + k], weight);
            widen(&logvar[k], padding ? 0 : set->logvar[at * to->dim + k], weight);
            widen(&var[k], padding ? 1 : pairs->var[at * to->dim + k], weight);
        }
        if (to->alpha != NULL) {
            widen(&to->alpha[row], padding ? set->pad_alpha : set->alpha[at], weight);
        }
    }
}

nvdp_status nvdp__ranges_create(const struct nvdp__pairs *pairs, const struct nvdp__group *group,
                                struct nvdp__ranges *out) {
    nvdp_status status = NVDP_OK;
    const struct nvdp_posteriors *set = pairs->set;
    struct nvdp__ranges made = {.dim = set->dim};
    for (size_t i = 0; i < group->n; i++) {
        size_t rows = nvdp__rows(set, group->text[i]);
        made.rows = rows > made.rows ? rows : made.rows;
    }
    size_t items = made.rows * made.dim;
    struct nvdp__span **parts[] = {&made.mu, &made.logvar, &made.var, &made.alpha};
    for (int k = 0; k < (set->alpha != NULL ? 4 : 3); k++) {
        *parts[k] = nvdp__calloc(pairs->ctx, k < 3 ? items : made.rows, sizeof **parts[k]);
        if (*parts[k] == NULL) {
            status = NVDP_ERR_MEMORY;
            goto cleanup;
        }
    }
    const int threads = nvdp_context_threads(pairs->ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t row = 0; row < made.rows; row++) {
        measure_row(pairs, group, row, &made);
    }
    *out = made;
    return NVDP_OK;
cleanup:
    nvdp__ranges_free(&made);
    return status;
}

void nvdp__ranges_free(struct nvdp__ranges *ranges) {
    free(ranges->mu);
    free(ranges->logvar);
    free(ranges->var);
    free(ranges->alpha);
}

/* Which of a component's numbers. */
enum kind { MU, VAR, ALPHA };

static double entry(const struct nvdp__pairs *pairs, enum kind kind, size_t text, size_t row,
                    size_t k) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t at = set->offset[text] + row;
    bool padding = row >= nvdp__rows(set, text);
    if (kind == ALPHA) return padding ? set->pad_alpha : set->alpha[at];
    if (kind == VAR) return padding ? 1 : pairs->var[at * set->dim + k];
    return padding ? 0 : set->mu[at * set->dim + k];
}

static size_t holder(const struct nvdp__pairs *pairs, const struct nvdp__group *group,
                     enum kind kind, size_t row, size_t k, double value) {
    size_t i = 0;
    while (entry(pairs, kind, group->text[i], row, k) != value) {
        i++;
    }
    return group->text[i];
}

/* The expressions of rdp/gaussian.c: u, and with it far, is monotone in either variance, in
 * floating point as well, so that the ends decide for all. */
static bool outside(double order, const struct nvdp__span *var) {
    if (isinf(order)) return var->high > var->low;
    double s = order - 1;
    double u = (var->high - var->low) / var->low;
    return -s * u <= -1;
}

nvdp_status nvdp__group_infinite(const struct nvdp__pairs *pairs, double order,
                                 const struct nvdp__group *group, bool *found, size_t *p,
                                 size_t *q) {
    struct nvdp__ranges ranges;
    NVDP_RETURN_IF_FAILED(nvdp__ranges_create(pairs, group, &ranges));
    *found = false;
    for (size_t at = 0; at < ranges.rows * ranges.dim && !*found; at++) {
        const struct nvdp__span *var = &ranges.var[at];
        const struct nvdp__span *mu = &ranges.mu[at];
        size_t row = at / ranges.dim;
        size_t k = at % ranges.dim;
        if (outside(order, var)) {
            *p = holder(pairs, group, VAR, row, k, var->high);
            *q = holder(pairs, group, VAR, row, k, var->low);
            *found = true;
        } else if (isinf(order) && mu->high > mu->low) { /* equal variances, other means */
            *p = holder(pairs, group, MU, row, k, mu->high);
            *q = holder(pairs, group, MU, row, k, mu->low);
            *found = true;
        }
    }
    for (size_t row = 0; ranges.alpha != NULL && row < ranges.rows && !*found; row++) {
        const struct nvdp__span *alpha = &ranges.alpha[row];
        bool edge = isinf(order) ? alpha->high > alpha->low
                                 : nvdp__far_point(order, alpha->low, alpha->high) <= 0;
        if (!edge) continue;
        *p = holder(pairs, group, ALPHA, row, 0, alpha->low);
        *q = holder(pairs, group, ALPHA, row, 0, alpha->high);
        *found = true;
    }
    nvdp__ranges_free(&ranges);
    return NVDP_OK;
}
