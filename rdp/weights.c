/* The weights' part of a pair's divergences.
 *
 *     D(P||Q) = [lnB(c) - lnB(p)]/s - [lnB(p) - lnB(q)],   c = p + s (p - q),
 * with lnB of the texts computed once, so that a pair costs the far pseudo-counts' lnG only.
 * Order 1: lnB(q) - lnB(p) + sum (p - q) psi(p) - (P - Q) psi(P), P and Q the totals; the digammas
 * are computed once as well.  Components with the same pseudo-count in both texts (prior, padding
 * against padding) cancel and are left out.  Where the rounding is not small against the whole
 * divergence, and near the edge where a c is 0, the stable form of rdp/dirichlet.c answers. */
#include "rdp/weights.h"
#include "rdp/clones.h"
#include "rdp/sample.h"
#include <float.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 64 };

static size_t rows_of(const struct nvdp_posteriors *set, size_t i) {
    return set->offset[i + 1] - set->offset[i];
}

static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* Adds count * lnG(x) to a sum that keeps the size its rounding is relative to: the value, and
 * x psi(x) for the rounding of x itself. */
static void add_log_gamma(double x, double count, double *sum, double *size) {
    double value = count * log_gamma(x);
    *sum += value;
    *size += fabs(value) + fabs(count) * (1 + x);
}

static struct nvdp__text_weights text_weights(const struct nvdp_posteriors *set, size_t i) {
    struct nvdp__text_weights made = {.total = set->prior_alpha};
    double kappa = set->kappa;
    for (size_t r = set->offset[i]; r < set->offset[i + 1]; r++) {
        made.total += set->alpha[r];
        add_log_gamma(set->alpha[r] / kappa, kappa, &made.log_gammas, &made.size);
    }
    if (set->policy == NVDP_LENGTH_HIDDEN) {
        made.total += (double)(set->length - rows_of(set, i)) * set->pad_alpha;
    }
    add_log_gamma(made.total, 1, &made.total_gamma, &made.size);
    made.total_psi = gsl_sf_psi(made.total);
    return made;
}

nvdp_status nvdp__weights_create(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                                 struct nvdp__weights *out) {
    *out = (struct nvdp__weights){.set = set};
    if (set->alpha == NULL) return NVDP_OK;
    size_t rows = set->offset[set->texts];
    out->alpha = nvdp__calloc(ctx, rows, sizeof *out->alpha);
    if (out->alpha == NULL) return NVDP_ERR_MEMORY;
    out->psi = nvdp__calloc(ctx, rows, sizeof *out->psi);
    if (out->psi == NULL) return NVDP_ERR_MEMORY;
    out->texts = nvdp__calloc(ctx, set->texts, sizeof *out->texts);
    if (out->texts == NULL) return NVDP_ERR_MEMORY;
    for (size_t r = 0; r < rows; r++) {
        out->alpha[r] = set->alpha[r] / set->kappa;
        out->psi[r] = gsl_sf_psi(out->alpha[r]);
    }
    if (set->policy == NVDP_LENGTH_HIDDEN) out->pad_psi = gsl_sf_psi(set->pad_alpha / set->kappa);
    for (size_t i = 0; i < set->texts; i++) {
        out->texts[i] = text_weights(set, i);
    }
    return NVDP_OK;
}

void nvdp__weights_free(struct nvdp__weights *weights) {
    free(weights->alpha);
    free(weights->psi);
    free(weights->texts);
}

NVDP_CLONES
static bool any_below(double s, size_t n, const double *p, const double *q) {
    int found = 0;
    for (size_t k = 0; k < n; k++) {
        found |= p[k] + s * (p[k] - q[k]) < -1e-9 * q[k];
    }
    return found != 0;
}

bool nvdp__weights_outside(const struct nvdp__weights *weights, double order, size_t i, size_t j) {
    const struct nvdp_posteriors *set = weights->set;
    if (set->alpha == NULL) return false;
    size_t rows = rows_of(set, i) < rows_of(set, j) ? rows_of(set, i) : rows_of(set, j);
    const double *p = weights->alpha + set->offset[i];
    const double *q = weights->alpha + set->offset[j];
    for (size_t first = 0; first < rows; first += BLOCK) {
        size_t n = rows - first < BLOCK ? rows - first : BLOCK;
        if (any_below(order - 1, n, p + first, q + first)) return true;
    }
    return false;
}

/* kappa sum lnG(c/kappa) of both directions. */
struct far {
    double sum[2];
    double size[2];
    bool near_edge[2]; /* some c is at or near 0 */
};

static double token_alpha(const struct nvdp_posteriors *set, size_t i, size_t c) {
    return c < rows_of(set, i) ? set->alpha[set->offset[i] + c] : set->pad_alpha;
}

/* Counts [first, first + BLOCK) of text i, padding after its tokens, 1 from `longest` to a whole
 * number of vectors: equal counts there, and lnG(1) = 0. */
static void fill(const struct nvdp__weights *weights, size_t i, size_t first, size_t longest,
                 double *to) {
    const struct nvdp_posteriors *set = weights->set;
    const double *alpha = weights->alpha + set->offset[i];
    size_t rows = rows_of(set, i);
    size_t tokens = rows > first ? rows - first : 0;
    size_t n = longest - first;
    if (n > BLOCK) n = BLOCK;
    if (tokens > n) tokens = n;
    memcpy(to, alpha + (tokens > 0 ? first : 0), tokens * sizeof *to);
    for (size_t k = tokens; k < n; k++) {
        to[k] = set->pad_alpha / set->kappa;
    }
    for (size_t k = n; k % 8 != 0; k++) {
        to[k] = 1;
    }
}

static struct far far_fast(const struct nvdp__gaussian_plan *plan,
                           const struct nvdp__weights *weights, size_t i, size_t j,
                           size_t longest) {
    struct far made = {0};
    double kappa = weights->set->kappa;
    for (size_t first = 0; first < longest; first += BLOCK) {
        double p[BLOCK], q[BLOCK];
        size_t n = longest - first < BLOCK ? longest - first : BLOCK;
        fill(weights, i, first, longest, p);
        fill(weights, j, first, longest, q);
        struct nvdp__log_gammas got;
        plan->kernels->log_gammas(plan->order - 1, (n + 7) / 8 * 8, p, q, &got);
        for (int side = 0; side < 2; side++) {
            made.sum[side] += kappa * got.sum[side];
            made.size[side] += kappa * got.size[side];
            made.near_edge[side] = made.near_edge[side] || got.unsafe[side];
        }
    }
    return made;
}

static struct far far_exact(double s, const struct nvdp_posteriors *set, size_t i, size_t j,
                            size_t longest) {
    struct far made = {0};
    double kappa = set->kappa;
    for (size_t k = 0; k < longest; k++) {
        double alpha[2] = {token_alpha(set, i, k), token_alpha(set, j, k)};
        for (int side = 0; side < 2; side++) {
            double p = alpha[side];
            double c = p + s * (p - alpha[1 - side]);
            if (c <= 1e-9 * p) {
                made.near_edge[side] = true;
            } else {
                add_log_gamma(c / kappa, kappa, &made.sum[side], &made.size[side]);
            }
        }
    }
    return made;
}

/* lnB over the components of a pair. */
struct beta {
    double value, size;
};

static struct beta near_beta(const struct nvdp_posteriors *set,
                             const struct nvdp__text_weights *text, double padding) {
    double kappa = set->kappa;
    struct beta made = {.value = text->log_gammas - text->total_gamma, .size = text->size};
    if (padding > 0) {
        add_log_gamma(set->pad_alpha / kappa, kappa * padding, &made.value, &made.size);
    }
    return made;
}

/* Whether `rounding`, a few epsilons of what was added, is small against the whole divergence. */
static bool sure(const struct nvdp__gaussian_plan *plan, double rounding, double whole) {
    bool exact = plan->arithmetic == NVDP_PAIRS_EXACT;
    return exact ? 2 * rounding < 3e-13 * whole : 8 * rounding < 1e-7 * whole;
}

/* Order 1, one direction; NaN where the rounding is not small. */
static double quick_kl(const struct nvdp__gaussian_plan *plan, const struct nvdp__weights *weights,
                       size_t i, size_t j, const struct beta *p, const struct beta *q,
                       double gaussian) {
    const struct nvdp_posteriors *set = weights->set;
    const double *alpha = weights->alpha + set->offset[i];
    const double *other = weights->alpha + set->offset[j];
    const double *psi = weights->psi + set->offset[i];
    size_t rows = rows_of(set, i);
    size_t others = rows_of(set, j);
    double pad = set->pad_alpha / set->kappa;
    double sum = 0, size = 0;
    for (size_t c = 0; c < rows; c++) {
        double term = (alpha[c] - (c < others ? other[c] : pad)) * psi[c];
        sum += term;
        size += fabs(term);
    }
    for (size_t c = rows; c < others; c++) {
        double term = (pad - other[c]) * weights->pad_psi;
        sum += term;
        size += fabs(term);
    }
    double totals =
        (weights->texts[i].total - weights->texts[j].total) * weights->texts[i].total_psi;
    double value = q->value - p->value + set->kappa * sum - totals;
    double rounding = DBL_EPSILON * (p->size + q->size + set->kappa * size + fabs(totals));
    return value > 0 && sure(plan, rounding, value + gaussian) ? value : NAN;
}

/* Other orders, one direction; NaN near an edge as well. */
static double quick(const struct nvdp__gaussian_plan *plan, const struct far *far, int side,
                    const double total[2], const struct beta near[2], double gaussian) {
    double s = plan->order - 1;
    double c = total[side] + s * (total[side] - total[1 - side]);
    if (far->near_edge[side] || !(c > 1e-9 * total[side])) return NAN;
    struct beta p = near[side];
    struct beta q = near[1 - side];
    struct beta at = {.value = far->sum[side], .size = far->size[side]};
    add_log_gamma(c, -1, &at.value, &at.size);
    double value = (at.value - p.value) / s - (p.value - q.value);
    double rounding = DBL_EPSILON * ((at.size + p.size) / fabs(s) + p.size + q.size);
    return value > 0 && sure(plan, rounding, value + gaussian) ? value : NAN;
}

void nvdp__weights_both(const struct nvdp__gaussian_plan *plan, const struct nvdp__weights *weights,
                        size_t i, size_t j, const bool wanted[2], const double gaussian[2],
                        double value[2]) {
    const struct nvdp_posteriors *set = weights->set;
    const struct nvdp__text_weights *texts = weights->texts;
    double s = plan->order - 1;
    size_t rows[2] = {rows_of(set, i), rows_of(set, j)};
    size_t longest = rows[0] > rows[1] ? rows[0] : rows[1];
    double total[2] = {texts[i].total, texts[j].total};
    struct beta near[2] = {near_beta(set, &texts[i], (double)(longest - rows[0])),
                           near_beta(set, &texts[j], (double)(longest - rows[1]))};
    value[0] = value[1] = NAN;
    if (s == 0 && plan->arithmetic == NVDP_PAIRS_FAST) {
        value[0] = quick_kl(plan, weights, i, j, &near[0], &near[1], gaussian[0]);
        value[1] = quick_kl(plan, weights, j, i, &near[1], &near[0], gaussian[1]);
    } else if (s != 0 && !isinf(s)) {
        struct far far = plan->arithmetic == NVDP_PAIRS_EXACT
                             ? far_exact(s, set, i, j, longest)
                             : far_fast(plan, weights, i, j, longest);
        value[0] = quick(plan, &far, 0, total, near, gaussian[0]);
        value[1] = quick(plan, &far, 1, total, near, gaussian[1]);
    }
    if (wanted[0] && isnan(value[0])) {
        value[0] = nvdp__sample_weights(plan->order, set, i, j);
    }
    if (wanted[1] && isnan(value[1])) {
        value[1] = nvdp__sample_weights(plan->order, set, j, i);
    }
}
