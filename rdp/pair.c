/* Renyi divergence of the shared samples of two texts.
 *
 * NVDP paper Eq. 7 (a sample is pi ~ Dirichlet over all weights, and independently one Gaussian
 * vector per weight): the divergences add,
 *
 *     D  =  D_dirichlet(a_i/kappa, each kappa times)  +  kappa sum_i D_gaussian(i).
 *
 * As printed, Eq. 7 swaps the two variances in sigma': the Gaussian part is the one of D(Q'||Q).
 * Here P always comes first.
 *
 * The prior's component is the same Gaussian in both samples and adds 0, but the pseudo-count of
 * the prior is part of the Dirichlet. The same holds for padding against padding. */
#include "rdp/pairs.h"
#include <stdlib.h>

/* --- The plain form --- */

enum { BLOCK = 64 };

size_t nvdp__sample_components(const struct nvdp_posteriors *posteriors, size_t i) {
    size_t tokens = posteriors->policy == NVDP_LENGTH_HIDDEN ? posteriors->length
                                                             : nvdp__row_count(posteriors, i);
    return tokens + (posteriors->alpha != NULL ? 1 : 0);
}

/* Copies mean and variance of n <= BLOCK entries, from `first` on, of component c of text i;
 * after the last token, those of padding. */
static void take(const struct nvdp_posteriors *set, size_t i, size_t c, size_t first, size_t n,
                 double *mu, double *var) {
    bool padding = c >= nvdp__row_count(set, i);
    size_t at = (set->offset[i] + c) * set->dim + first;
    for (size_t k = 0; k < n; k++) {
        mu[k] = padding ? 0 : set->mu[at + k];
        var[k] = padding ? 1 : exp(set->logvar[at + k]);
    }
}

double nvdp_renyi_texts(double order, const struct nvdp_posteriors *posteriors, size_t i,
                        size_t j) {
    const struct nvdp_posteriors *set = posteriors;
    order = nvdp__order(order);
    if (isnan(order)) return NAN;
    size_t longest = nvdp__max(nvdp__row_count(set, i), nvdp__row_count(set, j));
    if (set->policy == NVDP_LENGTH_PUBLIC && nvdp__row_count(set, i) != nvdp__row_count(set, j))
        return INFINITY;
    double sum = 0;
    for (size_t c = 0; c < longest && sum < INFINITY; c++) {
        double row = 0;
        for (size_t first = 0; first < set->dim; first += BLOCK) {
            double mu_p[BLOCK], var_p[BLOCK], mu_q[BLOCK], var_q[BLOCK];
            size_t n = nvdp__min(BLOCK, set->dim - first);
            take(set, i, c, first, n, mu_p, var_p);
            take(set, j, c, first, n, mu_q, var_q);
            row += nvdp__gaussian(order, n, mu_p, var_p, mu_q, var_q);
        }
        sum += row;
    }
    sum *= set->kappa;
    if (set->alpha != NULL && sum < INFINITY) sum += nvdp__dirichlet_texts(order, set, i, j);
    return sum;
}

/* --- Quantities of each text, computed before its pairs --- */

/* Computes the quantities of one text that do not depend on the order. */
static void prepare_text(struct nvdp__pairs *pairs, size_t i) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t first = set->offset[i];
    double spread = 0;
    double top = -INFINITY;
    for (size_t k = first * set->dim; k < set->offset[i + 1] * set->dim; k++) {
        pairs->var[k] = exp(set->logvar[k]);
        double size = fabs(set->logvar[k]);
        spread = size > spread ? size : spread;
        top = set->logvar[k] > top ? set->logvar[k] : top;
    }
    pairs->spread[i] = spread;
    pairs->max_var[i] = exp(top);
    for (size_t row = first; row < set->offset[i + 1]; row++) {
        for (size_t segment = 0; segment < pairs->segments; segment++) {
            size_t at = segment * pairs->width;
            size_t n = nvdp__min(pairs->width, set->dim - at);
            double *logs = &pairs->logs[row * pairs->segments + segment];
            *logs = nvdp__log_product(n, pairs->var + row * set->dim + at);
            if ((row - first) % pairs->block_rows != 0) *logs += *(logs - 1);
        }
    }
}

nvdp_status nvdp__pairs_create(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               struct nvdp__pairs **out) {
    const size_t texts = posteriors->texts;
    const size_t dim = posteriors->dim;
    const size_t rows = posteriors->offset[texts];
    const size_t pads = posteriors->policy == NVDP_LENGTH_HIDDEN ? rows : 0;
    nvdp__autoptr(nvdp__pairs_free) struct nvdp__pairs *made = NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    const size_t segments = (dim + NVDP__CHUNK - 1) / NVDP__CHUNK;
    *made = (struct nvdp__pairs){.ctx = ctx,
                                 .set = posteriors,
                                 .segments = segments,
                                 .block_rows = segments > 1 ? 1 : NVDP__CHUNK / dim,
                                 .width = (dim + segments - 1) / segments,
                                 .shortest = SIZE_MAX};
    NVDP_TRY(NVDP__ARRAYS(ctx, &made->memory, NVDP__ITEMS(made->var, rows * dim),
                          NVDP__ITEMS(made->logs, rows * segments),
                          NVDP__ITEMS(made->max_var, texts), NVDP__ITEMS(made->spread, texts),
                          NVDP__ITEMS(made->to_pad, pads), NVDP__ITEMS(made->from_pad, pads)));
    NVDP_TRY(nvdp__weights_create(ctx, posteriors, &made->weights));
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(ctx))
    for (size_t i = 0; i < texts; i++) {
        prepare_text(made, i);
    }
    for (size_t i = 0; i < texts; i++) {
        made->shortest = nvdp__min(made->shortest, nvdp__row_count(posteriors, i));
    }
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

void nvdp__pairs_free(struct nvdp__pairs *pairs) {
    if (pairs == NULL) return;
    nvdp__memory_release(&pairs->memory);
    nvdp__memory_release(&pairs->weights.memory);
    free(pairs);
}

/* Adds D(row || padding) to value[0] and D(padding || row) to value[1]; the row belongs to text
 * i. */
static void against_padding(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan,
                            size_t i, size_t row, double value[2]) {
    static const double zeros[NVDP__CHUNK];
    double ones[NVDP__CHUNK];
    const struct nvdp_posteriors *set = pairs->set;
    const bool both[2] = {true, true};
    bool small = false;
    for (size_t at = 0; at < set->dim; at += pairs->width) {
        size_t n = nvdp__min(pairs->width, set->dim - at);
        size_t first = row * set->dim + at;
        for (size_t k = 0; k < n; k++) {
            ones[k] = 1;
        }
        struct nvdp__dim_range p = {.mu = set->mu + first,
                                    .var = pairs->var + first,
                                    .logs = nvdp__log_product(n, pairs->var + first),
                                    .max_var = pairs->max_var[i],
                                    .spread = pairs->spread[i]};
        struct nvdp__dim_range q = {.mu = zeros, .var = ones, .max_var = 1};
        double part[2];
        nvdp__gaussian_both(plan, n, &p, &q, both, &small, part);
        value[0] += part[0];
        value[1] += part[1];
    }
}

void nvdp__pairs_padding(struct nvdp__pairs *pairs, const struct nvdp__plan *plan) {
    const struct nvdp_posteriors *set = pairs->set;
    const size_t texts = set->texts;
    if (set->policy != NVDP_LENGTH_HIDDEN) return;
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(pairs->ctx))
    for (size_t i = 0; i < texts; i++) {
        double sum[2] = {0, 0};
        for (size_t row = set->offset[i + 1]; row > set->offset[i] + pairs->shortest; row--) {
            against_padding(pairs, plan, i, row - 1, sum);
            pairs->to_pad[row - 1] = sum[0];
            pairs->from_pad[row - 1] = sum[1];
        }
    }
}

/* --- A pair --- */

double nvdp__unmatched(const struct nvdp__pairs *pairs, size_t i, size_t j) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t rows_i = nvdp__row_count(set, i);
    size_t rows_j = nvdp__row_count(set, j);
    if (rows_i == rows_j) return 0;
    if (set->policy == NVDP_LENGTH_PUBLIC) return INFINITY;
    return rows_i > rows_j ? pairs->to_pad[set->offset[i] + rows_j]
                           : pairs->from_pad[set->offset[j] + rows_i];
}

/* Returns rows [row, row + rows) of text i, or a part of one row. */
static struct nvdp__dim_range row_range(const struct nvdp__pairs *pairs, size_t i, size_t row,
                                        size_t rows, size_t segment) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t first = (set->offset[i] + row) * set->dim + segment * pairs->width;
    size_t last = (set->offset[i] + row + rows - 1) * pairs->segments + segment;
    return (struct nvdp__dim_range){.mu = set->mu + first,
                                    .var = pairs->var + first,
                                    .logs = pairs->logs[last],
                                    .max_var = pairs->max_var[i],
                                    .spread = pairs->spread[i]};
}

void nvdp__pair_block(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                      size_t j, size_t row, size_t segment, struct nvdp__both *pair) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t common = nvdp__min(nvdp__row_count(set, i), nvdp__row_count(set, j));
    if (row >= common) return;
    size_t rows = nvdp__min(pairs->block_rows, common - row);
    size_t n = pairs->segments > 1 ? nvdp__min(pairs->width, set->dim - segment * pairs->width)
                                   : rows * set->dim;
    struct nvdp__dim_range p = row_range(pairs, i, row, rows, segment);
    struct nvdp__dim_range q = row_range(pairs, j, row, rows, segment);
    double part[2];
    nvdp__gaussian_both(plan, n, &p, &q, pair->wanted, &pair->small, part);
    for (int side = 0; side < 2; side++) {
        if (!pair->wanted[side]) continue;
        pair->value[side] += part[side];
        pair->wanted[side] = pair->value[side] < INFINITY;
    }
}

void nvdp__pair_finish(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                       size_t j, struct nvdp__both *pair) {
    const struct nvdp_posteriors *set = pairs->set;
    double part[2] = {0, 0};
    double gaussian[2] = {pair->value[0] * set->kappa, pair->value[1] * set->kappa};
    if (!pair->wanted[0] && !pair->wanted[1]) return;
    if (set->alpha != NULL)
        nvdp__weights_both(plan, &pairs->weights, i, j, pair->wanted, gaussian, part);
    for (int side = 0; side < 2; side++) {
        if (pair->wanted[side]) pair->value[side] = gaussian[side] + part[side];
    }
}

/* Returns D(i || j), given the part of the components that only one text has. */
static double whole_pair(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                         size_t j, double unmatched) {
    struct nvdp__both pair = {.value = {unmatched, 0}, .wanted = {unmatched < INFINITY, false}};
    size_t common = nvdp__min(nvdp__row_count(pairs->set, i), nvdp__row_count(pairs->set, j));
    for (size_t row = 0; row < common; row += pairs->block_rows) {
        for (size_t segment = 0; segment < pairs->segments && pair.wanted[0]; segment++) {
            nvdp__pair_block(pairs, plan, i, j, row, segment, &pair);
        }
    }
    nvdp__pair_finish(pairs, plan, i, j, &pair);
    return pair.value[0];
}

double nvdp__pair_value(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                        size_t j) {
    double unmatched = nvdp__unmatched(pairs, i, j);
    if (isinf(unmatched) || nvdp__weights_outside(&pairs->weights, plan->order, i, j))
        return INFINITY;
    return whole_pair(pairs, plan, i, j, unmatched);
}

double nvdp__pair_exact(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t i,
                        size_t j) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t rows_i = nvdp__row_count(set, i);
    size_t rows_j = nvdp__row_count(set, j);
    if (rows_i != rows_j && set->policy == NVDP_LENGTH_PUBLIC) return INFINITY;
    /* true if text i is longer, so that its last rows are compared with padding */
    bool longer = rows_i > rows_j;
    size_t text = longer ? i : j;
    double unmatched = 0;
    for (size_t row = nvdp__min(rows_i, rows_j); row < nvdp__row_count(set, text); row++) {
        double part[2] = {0, 0};
        against_padding(pairs, plan, text, set->offset[text] + row, part);
        unmatched += longer ? part[0] : part[1];
    }
    return whole_pair(pairs, plan, i, j, unmatched);
}

/* --- Shared by all statistics of pairs --- */

bool nvdp__adjacent(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency, size_t i,
                    size_t j) {
    if (i == j) return false;
    return adjacency == NVDP_ADJACENT_ALL || nvdp__row_count(set, i) == nvdp__row_count(set, j);
}

double nvdp__divisor(const struct nvdp_posteriors *set, enum nvdp__unit unit, size_t i) {
    if (unit == NVDP__SUM) return 1;
    double components = (double)nvdp__sample_components(set, i) * set->kappa;
    return unit == NVDP__PER_COMPONENT ? components : components * (double)set->dim;
}

struct nvdp_divergence_summary *nvdp__unit_summary(struct nvdp_pairs_summary *summary,
                                                   enum nvdp__unit unit) {
    if (unit == NVDP__SUM) return &summary->sum;
    return unit == NVDP__PER_COMPONENT ? &summary->per_component : &summary->per_component_dim;
}

nvdp_status nvdp__pairs_go_on(struct nvdp__meter *meter, size_t done, size_t all,
                              const char *what) {
    if (!nvdp_context_cancelled(meter->ctx)) return NVDP_OK;
    nvdp__meter_end(meter);
    return nvdp__fail(meter->ctx, NVDP_ERR_CANCELLED, "pairs: cancelled after %zu of %zu %s", done,
                      all, what);
}
