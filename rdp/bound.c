/* Separable upper bounds of a divergence.
 *
 * The three parts of 2 D, s = l - 1, v = l var_q - s var_p, e = log var_p - log var_q:
 *
 * mean     l (mu_p - mu_q)^2 / v.  x^2/v is convex and of degree one in (x, v), so for any m and
 *          any tau with s var_p < tau < l var_q (Cauchy-Schwarz)
 *              (mu_p - mu_q)^2/v <= (mu_p - m)^2/(tau - s var_p) + (mu_q - m)^2/(l var_q - tau).
 * gap      G(e) = -log(l - s exp e)/s - e is convex (G'' = l exp e/(l - s exp e)^2), so for any c
 *          and 0 < w < 1, with a = log var_p - c, b = log var_q - c
 *              G(a - b) <= w G(a/w) + (1-w) G(-b/(1-w)).
 *          s = 0: G(e) = exp e - 1 - e.
 * weights  lnG(total) only lowers the divergence (lnG is convex), so D is at most the sum over
 *          components of [lnG(lp - sq) - l lnG(p) + s lnG(q)]/s, and for any z and 0 < w < 1
 *              lnG(lp - sq) <= w lnG(z + l(p-z)/w) + (1-w) lnG(z - s(q-z)/(1-w)).
 *          The divergence does not decrease in its order: below 1.01 the bound is that of an order
 *          up to 1.01, where 1/s amplifies no rounding.
 *
 * m, tau, c, w and z are chosen in each dimension or component from what the group spans; domains
 * are respected exactly where no pair is infinite (rdp/range.c).  Several choices bound better than
 * one: the sets.  Arithmetic adds a slack above its rounding; what leaves the range of double
 * bounds nothing, +inf. */
#include "rdp/bound.h"
#include "rdp/clones.h"
#include "rdp/range.h"
#include <math.h>
#include <stdlib.h>

enum { CENTERS = 3, TAUS = 3, ROW_BLOCK = 64 };

/* From a span's mean to its middle, and between the ends of a domain. */
static const double center_share[CENTERS] = {0, 0.5, 1};
static const double tau_share[TAUS] = {0.35, 0.5, 0.65};
static const double gap_center[NVDP__GAP_SETS] = {0, 0, 1};
static const double gap_share[NVDP__GAP_SETS] = {0.15, 0.5, 0.5};
static const double weight_center[NVDP__WEIGHT_SETS] = {0, 1};
static const double weight_share[NVDP__WEIGHT_SETS] = {0.1, 0.3};

/* What the sets chose in one dimension. */
struct choice {
    double m[CENTERS];
    double tau[TAUS];
    double c[NVDP__GAP_SETS], w[NVDP__GAP_SETS];
};

/* In one component. */
struct weight_choice {
    double z[NVDP__WEIGHT_SETS], w[NVDP__WEIGHT_SETS];
};

/* Sums of one text, or of padding from a row on; their rounding is relative to `size`. */
struct sums {
    double from[NVDP__BOUND_SETS], to[NVDP__BOUND_SETS];
    double size;
};

struct work {
    const struct nvdp__pairs *pairs;
    const struct nvdp__group *group;
    double order;
    double weight_order;
    struct nvdp__ranges ranges;
    struct choice *dims;           /* [rows, dim] */
    struct weight_choice *weights; /* [rows] */
    struct sums *padding;          /* [rows + 1]: padding from this row on */
};

static double between(double low, double high, double share) {
    return low + share * (high - low);
}

static struct choice choose(double order, const struct nvdp__span *mu,
                            const struct nvdp__span *logvar, const struct nvdp__span *var) {
    struct choice made;
    double s = order - 1;
    double low = fmax(s * var->high, s * var->low);
    double reach = s > 0 ? log1p(1 / s) : INFINITY; /* G is finite below it */
    for (int k = 0; k < CENTERS; k++) {
        made.m[k] = between(mu->mean, 0.5 * (mu->low + mu->high), center_share[k]);
    }
    for (int k = 0; k < TAUS; k++) {
        made.tau[k] = between(low, order * var->low, tau_share[k]);
    }
    for (int k = 0; k < NVDP__GAP_SETS; k++) {
        double c = between(logvar->mean, 0.5 * (logvar->low + logvar->high), gap_center[k]);
        double least = fmax(logvar->high - c, 0) / reach;
        double most = 1 - fmax(c - logvar->low, 0) / reach;
        made.c[k] = c;
        made.w[k] = fmin(fmax(between(least, most, gap_share[k]), 1e-3), 1 - 1e-3);
    }
    return made;
}

static struct weight_choice choose_weights(double order, const struct nvdp__span *alpha) {
    struct weight_choice made;
    double s = order - 1;
    double low = s * alpha->high; /* z (l - w) is to be between these */
    double high = order * alpha->low;
    for (int k = 0; k < NVDP__WEIGHT_SETS; k++) {
        double z = between(alpha->mean, sqrt(alpha->low * alpha->high), weight_center[k]);
        double w = order - between(low, high, weight_share[k]) / z;
        w = fmin(fmax(w, 0.02), 0.98);
        double least = between(low, high, 0.02) / (order - w);
        double most = between(low, high, 0.98) / (order - w);
        made.z[k] = fmin(fmax(z, least), most);
        made.w[k] = w;
    }
    return made;
}

enum { FIRST_WEIGHT = NVDP__MEAN_SETS + NVDP__GAP_SETS };

/* Adds one dimension to the sets of mean and gap; sums are of 2 D. */
static void add_dimension(double order, const struct choice *at, double mu, double logvar,
                          double var, double *from, double *to, double *size) {
    double s = order - 1;
    for (int t = 0; t < TAUS; t++) {
        double by_from = order / (at->tau[t] - s * var);
        double by_to = order / (order * var - at->tau[t]);
        for (int c = 0; c < CENTERS; c++) {
            double d = mu - at->m[c];
            from[c * TAUS + t] += d * d * by_from;
            to[c * TAUS + t] += d * d * by_to;
        }
    }
    for (int k = 0; k < NVDP__GAP_SETS; k++) {
        double e = logvar - at->c[k];
        double w = at->w[k];
        double up = expm1(e / w);
        double down = expm1(-e / (1 - w));
        double far_from = w * (s == 0 ? up : -log1p(-s * up) / s);
        double far_to = (1 - w) * (s == 0 ? down : -log1p(-s * down) / s);
        from[NVDP__MEAN_SETS + k] += far_from - e;
        to[NVDP__MEAN_SETS + k] += far_to + e;
        *size += fabs(far_from) + fabs(far_to) + fabs(e);
    }
}

static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* Adds one component's pseudo-count; x outside its domain bounds nothing. */
static void add_weight(double order, const struct weight_choice *at, double alpha, double kappa,
                       struct sums *to) {
    double s = order - 1;
    double own = log_gamma(alpha / kappa);
    for (int k = 0; k < NVDP__WEIGHT_SETS; k++) {
        double off = alpha - at->z[k];
        double w = at->w[k];
        double p = at->z[k] + order * off / w;
        double q = at->z[k] - s * off / (1 - w);
        double far_p = p > 0 ? log_gamma(p / kappa) : INFINITY;
        double far_q = q > 0 ? log_gamma(q / kappa) : INFINITY;
        to->from[FIRST_WEIGHT + k] += kappa * (w * far_p - order * own) / s;
        to->to[FIRST_WEIGHT + k] += kappa * ((1 - w) * far_q + s * own) / s;
        to->size += kappa * (fabs(far_p) + fabs(far_q) + order * fabs(own)) / s;
    }
}

/* Row `row` of a text, or padding. */
static void add_row(const struct work *work, size_t row, bool padding, size_t at, struct sums *to) {
    const struct nvdp_posteriors *set = work->pairs->set;
    double part_from[FIRST_WEIGHT] = {0};
    double part_to[FIRST_WEIGHT] = {0};
    double size = 0;
    for (size_t k = 0; k < set->dim; k++) {
        const struct choice *choice = &work->dims[row * set->dim + k];
        size_t place = at * set->dim + k;
        add_dimension(work->order, choice, padding ? 0 : set->mu[place],
                      padding ? 0 : set->logvar[place], padding ? 1 : work->pairs->var[place],
                      part_from, part_to, &size);
    }
    for (int k = 0; k < FIRST_WEIGHT; k++) {
        to->from[k] += 0.5 * set->kappa * part_from[k];
        to->to[k] += 0.5 * set->kappa * part_to[k];
    }
    to->size += set->kappa * size;
    if (set->alpha == NULL) return;
    add_weight(work->weight_order, &work->weights[row], padding ? set->pad_alpha : set->alpha[at],
               set->kappa, to);
}

static void add_text(const struct work *work, size_t i, struct nvdp__bounds *bounds) {
    const struct nvdp_posteriors *set = work->pairs->set;
    size_t text = work->group->text[i];
    size_t rows = nvdp__rows(set, text);
    struct sums sums = work->padding[rows];
    for (size_t row = 0; row < rows; row++) {
        add_row(work, row, false, set->offset[text] + row, &sums);
    }
    for (int k = 0; k < NVDP__BOUND_SETS; k++) {
        /* a share of the size is above the rounding of a million terms */
        double a = sums.from[k] + 1e-10 * (fabs(sums.from[k]) + sums.size);
        double b = sums.to[k] + 1e-10 * (fabs(sums.to[k]) + sums.size);
        bounds->from[(size_t)k * bounds->n + i] = isnan(a) ? INFINITY : a;
        bounds->to[(size_t)k * bounds->n + i] = isnan(b) ? INFINITY : b;
    }
}

/* An order from 1.01 on, or one at which half of what keeps the weights finite is left. */
static double order_of_weights(double order, const struct nvdp__ranges *ranges) {
    double s = 0.01;
    if (order >= 1 + s) return order;
    for (size_t row = 0; ranges->alpha != NULL && row < ranges->rows; row++) {
        const struct nvdp__span *alpha = &ranges->alpha[row];
        double wide = alpha->high - alpha->low;
        if (s * wide > 0.5 * alpha->low) s = 0.5 * alpha->low / wide;
    }
    return fmax(order, 1 + s);
}

static nvdp_status prepare(struct work *work) {
    struct nvdp_context *ctx = work->pairs->ctx;
    size_t rows = work->ranges.rows;
    size_t dim = work->ranges.dim;
    work->dims = nvdp__calloc(ctx, rows * dim, sizeof *work->dims);
    if (work->dims == NULL) return NVDP_ERR_MEMORY;
    work->weights = nvdp__calloc(ctx, rows, sizeof *work->weights);
    if (work->weights == NULL) return NVDP_ERR_MEMORY;
    work->padding = nvdp__calloc(ctx, rows + 1, sizeof *work->padding);
    if (work->padding == NULL) return NVDP_ERR_MEMORY;
    const struct nvdp__ranges *ranges = &work->ranges;
    work->weight_order = order_of_weights(work->order, ranges);
    for (size_t at = 0; at < rows * dim; at++) {
        work->dims[at] =
            choose(work->order, &ranges->mu[at], &ranges->logvar[at], &ranges->var[at]);
    }
    for (size_t row = 0; ranges->alpha != NULL && row < rows; row++) {
        work->weights[row] = choose_weights(work->weight_order, &ranges->alpha[row]);
    }
    for (size_t row = rows; row > 0; row--) {
        work->padding[row - 1] = work->padding[row];
        add_row(work, row - 1, true, 0, &work->padding[row - 1]);
    }
    return NVDP_OK;
}

nvdp_status nvdp__bounds_create(const struct nvdp__pairs *pairs, double order,
                                const struct nvdp__group *group, struct nvdp__bounds *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__bounds made = {.n = group->n};
    struct work work = {.pairs = pairs, .group = group, .order = order};
    NVDP_TRY(nvdp__ranges_create(pairs, group, &work.ranges));
    NVDP_TRY(prepare(&work));
    made.from = nvdp__calloc(pairs->ctx, NVDP__BOUND_SETS * group->n, sizeof *made.from);
    if (made.from != NULL) {
        made.to = nvdp__calloc(pairs->ctx, NVDP__BOUND_SETS * group->n, sizeof *made.to);
    }
    if (made.to == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    const size_t n = group->n;
    const int threads = nvdp_context_threads(pairs->ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        add_text(&work, i, &made);
    }
    *out = made;
    made = (struct nvdp__bounds){0};
cleanup:
    nvdp__bounds_free(&made);
    nvdp__ranges_free(&work.ranges);
    free(work.dims);
    free(work.weights);
    free(work.padding);
    return status;
}

void nvdp__bounds_free(struct nvdp__bounds *bounds) {
    free(bounds->from);
    free(bounds->to);
}

/* The least of the sets [first, end) of own[i] + other, for up to ROW_BLOCK texts from j on. */
NVDP_CLONES
static void least_of(const double *own, const double *other, size_t n, size_t first, size_t end,
                     size_t i, size_t j, size_t count, double *restrict least) {
    for (size_t k = 0; k < count; k++) {
        least[k] = INFINITY;
    }
    for (size_t set = first; set < end; set++) {
        double mine = own[set * n + i];
        const double *theirs = other + set * n + j;
        for (size_t k = 0; k < count; k++) {
            double sum = mine + theirs[k];
            least[k] = sum < least[k] ? sum : least[k];
        }
    }
}

void nvdp__bounds_row(const struct nvdp__bounds *bounds, size_t i, bool as_q, double *gaussian,
                      double *weights) {
    size_t n = bounds->n;
    const double *own = as_q ? bounds->to : bounds->from;
    const double *other = as_q ? bounds->from : bounds->to;
    for (size_t j = 0; j < n; j += ROW_BLOCK) {
        size_t count = nvdp__least(ROW_BLOCK, n - j);
        double gap[ROW_BLOCK];
        least_of(own, other, n, 0, NVDP__MEAN_SETS, i, j, count, gaussian + j);
        least_of(own, other, n, NVDP__MEAN_SETS, FIRST_WEIGHT, i, j, count, gap);
        least_of(own, other, n, FIRST_WEIGHT, NVDP__BOUND_SETS, i, j, count, weights + j);
        for (size_t k = 0; k < count; k++) {
            gaussian[j + k] += gap[k];
        }
    }
}
