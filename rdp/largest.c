/* The largest divergence of a group of texts, by branch and bound over its pairs.
 *
 * The extremes of single dimensions and pseudo-counts decide if a pair is infinite. If no pair is infinite, every
 * divergence is bounded by a number of one text plus a number of the other text. A pair whose bound is below the
 * largest value found so far is not summed. Start with nvdp__pairs_largest() at the end. */
#include "rdp/pairs.h"
#include <omp.h>
#include <stdlib.h>

/* --- Ranges of a group's texts in every dimension of every component --- */

/* The quantities of a component. */
enum kind { MU, LOGVAR, VAR, ALPHA, KINDS };

/* Range of a quantity over the texts of the group, including padding if some text is shorter than the longest text. */
struct span {
    double low, high, mean;
};
struct ranges {
    size_t rows; /* rows of the longest text */
    size_t dim;
    /* [rows, dim] per quantity; ALPHA: [rows], NULL if the set has no weights */
    struct span *of[KINDS];
};

/* Returns the numbers of a text in component `row`: [dim], for ALPHA [1]. Returns NULL after the last token, where
 * padding has `constant`. */
static const double *pair_row(const struct nvdp__pairs *pairs, enum kind kind, size_t text,
                              size_t row, double *constant) {
    const struct nvdp_posteriors *set = pairs->set;
    const double *from[] = {set->mu, set->logvar, pairs->var, set->alpha};
    const double padding[] = {0, 0, 1, set->pad_alpha};
    *constant = padding[kind];
    if (row >= nvdp__row_count(set, text)) return NULL;
    return from[kind] + (set->offset[text] + row) * (kind == ALPHA ? 1 : set->dim);
}

/* Computes the ranges of a group; `memory` owns the arrays. */
static nvdp_status ranges_create(const struct nvdp__pairs *pairs,
                                 const struct nvdp__adjacent_texts *group,
                                 struct nvdp__memory *memory, struct ranges *out) {
    const struct nvdp_posteriors *set = pairs->set;
    const double weight = 1 / (double)group->n;
    *out = (struct ranges){.dim = set->dim};
    for (size_t i = 0; i < group->n; i++)
        out->rows = nvdp__max(out->rows, nvdp__row_count(set, group->text[i]));
    const size_t items = out->rows * out->dim;
    NVDP_TRY(NVDP__ARRAYS(pairs->ctx, memory, NVDP__ITEMS(out->of[MU], items),
                          NVDP__ITEMS(out->of[LOGVAR], items), NVDP__ITEMS(out->of[VAR], items),
                          NVDP__ITEMS(out->of[ALPHA], out->rows)));
    if (set->alpha == NULL) out->of[ALPHA] = NULL;
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(pairs->ctx))
    for (size_t row = 0; row < out->rows; row++) {
        for (enum kind kind = MU; kind < KINDS && out->of[kind] != NULL; kind++) {
            size_t width = kind == ALPHA ? 1 : out->dim;
            struct span *span = out->of[kind] + row * width;
            for (size_t k = 0; k < width; k++) {
                span[k] = (struct span){.low = INFINITY, .high = -INFINITY};
            }
            for (size_t i = 0; i < group->n; i++) {
                double constant;
                const double *from = pair_row(pairs, kind, group->text[i], row, &constant);
                for (size_t k = 0; k < width; k++) {
                    double value = from != NULL ? from[k] : constant;
                    span[k].low = value < span[k].low ? value : span[k].low;
                    span[k].high = value > span[k].high ? value : span[k].high;
                    span[k].mean += weight * value;
                }
            }
        }
    }
    return NVDP_OK;
}

/* --- Infinities, from the ends of the ranges --- */

/* Returns the first text that has this value. */
static size_t text_with(const struct nvdp__pairs *pairs, const struct nvdp__adjacent_texts *group,
                        enum kind kind, size_t row, size_t k, double value) {
    for (size_t i = 0;; i++) {
        double constant;
        const double *from = pair_row(pairs, kind, group->text[i], row, &constant);
        if ((from != NULL ? from[k] : constant) == value) return group->text[i];
    }
}

/* True if the variances at the two ends of the range are outside the domain. Uses the expressions of rdp/gaussian.c:
 * u is monotone in either variance, also in floating point, so the two ends decide for all texts. */
static bool outside(double order, const struct span *var) {
    if (isinf(order)) return var->high > var->low;
    double s = order - 1;
    double u = (var->high - var->low) / var->low;
    return -s * u <= -1;
}

nvdp_status nvdp__group_infinite(const struct nvdp__pairs *pairs, double order,
                                 const struct nvdp__adjacent_texts *group, bool *found, size_t *p,
                                 size_t *q) {
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct ranges ranges;
    NVDP_TRY(ranges_create(pairs, group, &memory, &ranges));
    *found = false;
    for (size_t at = 0; at < ranges.rows * ranges.dim && !*found; at++) {
        const struct span *var = &ranges.of[VAR][at];
        const struct span *mu = &ranges.of[MU][at];
        bool edge = outside(order, var);
        if (!edge && !(isinf(order) && mu->high > mu->low)) continue;
        /* if this is no edge, the variances are equal and the means differ */
        enum kind kind = edge ? VAR : MU;
        *p = text_with(pairs, group, kind, at / ranges.dim, at % ranges.dim,
                       edge ? var->high : mu->high);
        *q = text_with(pairs, group, kind, at / ranges.dim, at % ranges.dim,
                       edge ? var->low : mu->low);
        *found = true;
    }
    for (size_t row = 0; ranges.of[ALPHA] != NULL && row < ranges.rows && !*found; row++) {
        const struct span *alpha = &ranges.of[ALPHA][row];
        bool edge = isinf(order) ? alpha->high > alpha->low
                                 : nvdp__extrapolate(order, alpha->low, alpha->high) <= 0;
        if (!edge) continue;
        *p = text_with(pairs, group, ALPHA, row, 0, alpha->low);
        *q = text_with(pairs, group, ALPHA, row, 0, alpha->high);
        *found = true;
    }
    return NVDP_OK;
}

/* --- Separable upper bounds ---
 *
 * The three parts of 2 D, s = l - 1, v = l var_q - s var_p, e = log var_p - log var_q:
 *
 * mean        l (mu_p - mu_q)^2 / v.  x^2/v is convex and of degree one in (x, v), so for any m and
 *             any tau with s var_p < tau < l var_q (Cauchy-Schwarz)
 *
 *                 (mu_p - mu_q)^2/v  <=  (mu_p - m)^2/(tau - s var_p)
 *                                        + (mu_q - m)^2/(l var_q - tau).
 *
 * difference  G(e) = -log(l - s exp e)/s - e is convex (G'' = l exp e/(l - s exp e)^2), so for any
 *             c and 0 < w < 1, with a = log var_p - c, b = log var_q - c
 *
 *                 G(a - b)  <=  w G(a/w) + (1-w) G(-b/(1-w)).
 *
 *             s = 0: G(e) = exp e - 1 - e.
 *
 * weights     lnG(total) only lowers the divergence (lnG is convex), so D is at most the sum over
 *             components of [lnG(lp - sq) - l lnG(p) + s lnG(q)]/s, and for any z and 0 < w < 1
 *
 *                 lnG(lp - sq)  <=  w lnG(z + l(p-z)/w) + (1-w) lnG(z - s(q-z)/(1-w)).
 *
 *             The divergence does not decrease in its order.  Orders below 1.01 therefore use the bound of
 *             an order up to 1.01, where 1/s does not amplify rounding.
 *
 * m, tau, c, w and z are chosen per dimension or component from the range of the group. The choices are inside the
 * domains exactly when no pair is infinite. The minimum over several sets of choices is a smaller bound. The result
 * includes a slack above the rounding errors; a number beyond the range of double gives the bound +inf. */
enum { CENTERS = 3, TAUS = 3, ROW_BLOCK = 64 };

/* Positions of the centers between the mean and the midpoint of a range, and between the ends of a domain. */
static const double center_share[CENTERS] = {0, 0.5, 1};
static const double tau_share[TAUS] = {0.35, 0.5, 0.65};
static const double difference_center[NVDP__DIFFERENCE_SETS] = {0, 0, 1};
static const double difference_share[NVDP__DIFFERENCE_SETS] = {0.15, 0.5, 0.5};
static const double weight_center[NVDP__WEIGHT_SETS] = {0, 1};
static const double weight_share[NVDP__WEIGHT_SETS] = {0.1, 0.3};

/* The choices of all sets in one dimension, then in one component. */
struct choice {
    double m[CENTERS];
    double tau[TAUS];
    double c[NVDP__DIFFERENCE_SETS], w[NVDP__DIFFERENCE_SETS];
};
struct weight_choice {
    double z[NVDP__WEIGHT_SETS], w[NVDP__WEIGHT_SETS];
};

/* Sums of one text, or of padding from a row on; the rounding error is relative to `size`. */
struct sums {
    double from[NVDP__BOUND_SETS], to[NVDP__BOUND_SETS];
    double size;
};

struct bounding {
    const struct nvdp__pairs *pairs;
    const struct nvdp__adjacent_texts *group;
    double order;
    double weight_order;
    const struct ranges *ranges;
    struct choice *dims;           /* [rows, dim] choices per dimension */
    struct weight_choice *weights; /* [rows] choices per component */
    struct sums *padding;          /* [rows + 1] sums of padding from this row on */
};

static double between(double low, double high, double share) {
    return low + share * (high - low);
}

static struct choice choose(double order, const struct span *mu, const struct span *logvar,
                            const struct span *var) {
    struct choice made;
    double s = order - 1;
    double low = fmax(s * var->high, s * var->low);
    double reach = s > 0 ? log1p(1 / s) : INFINITY; /* G is finite below this */
    for (int k = 0; k < CENTERS; k++) {
        made.m[k] = between(mu->mean, 0.5 * (mu->low + mu->high), center_share[k]);
    }
    for (int k = 0; k < TAUS; k++) {
        made.tau[k] = between(low, order * var->low, tau_share[k]);
    }
    for (int k = 0; k < NVDP__DIFFERENCE_SETS; k++) {
        double c = between(logvar->mean, 0.5 * (logvar->low + logvar->high), difference_center[k]);
        double smallest = fmax(logvar->high - c, 0) / reach;
        double largest_w = 1 - fmax(c - logvar->low, 0) / reach;
        made.c[k] = c;
        made.w[k] = fmin(fmax(between(smallest, largest_w, difference_share[k]), 1e-3), 1 - 1e-3);
    }
    return made;
}

static struct weight_choice choose_weights(double order, const struct span *alpha) {
    struct weight_choice made;
    double s = order - 1;
    double low = s * alpha->high; /* z (l - w) must lie between low and high */
    double high = order * alpha->low;
    for (int k = 0; k < NVDP__WEIGHT_SETS; k++) {
        double z = between(alpha->mean, sqrt(alpha->low * alpha->high), weight_center[k]);
        double w = order - between(low, high, weight_share[k]) / z;
        w = fmin(fmax(w, 0.02), 0.98);
        double smallest = between(low, high, 0.02) / (order - w);
        double largest_w = between(low, high, 0.98) / (order - w);
        made.z[k] = fmin(fmax(z, smallest), largest_w);
        made.w[k] = w;
    }
    return made;
}

/* Adds one dimension to the sums of the mean part and the difference part; the sums are for 2 D. */
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
    for (int k = 0; k < NVDP__DIFFERENCE_SETS; k++) {
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

/* Adds the pseudo-count of one component; if it is outside the domain, the bound is +inf. */
static void add_weight(double order, const struct weight_choice *at, double alpha, double kappa,
                       struct sums *to) {
    double s = order - 1;
    double own = nvdp__log_gamma(alpha / kappa);
    for (int k = 0; k < NVDP__WEIGHT_SETS; k++) {
        double off = alpha - at->z[k];
        double w = at->w[k];
        double p = at->z[k] + order * off / w;
        double q = at->z[k] - s * off / (1 - w);
        double far_p = p > 0 ? nvdp__log_gamma(p / kappa) : INFINITY;
        double far_q = q > 0 ? nvdp__log_gamma(q / kappa) : INFINITY;
        to->from[NVDP__GAUSSIAN_SETS + k] += kappa * (w * far_p - order * own) / s;
        to->to[NVDP__GAUSSIAN_SETS + k] += kappa * ((1 - w) * far_q + s * own) / s;
        to->size += kappa * (fabs(far_p) + fabs(far_q) + order * fabs(own)) / s;
    }
}

/* Adds row `row` of a text, or of padding. */
static void add_row(const struct bounding *work, size_t row, bool padding, size_t at,
                    struct sums *to) {
    const struct nvdp_posteriors *set = work->pairs->set;
    double part_from[NVDP__GAUSSIAN_SETS] = {0};
    double part_to[NVDP__GAUSSIAN_SETS] = {0};
    double size = 0;
    for (size_t k = 0; k < set->dim; k++) {
        const struct choice *choice = &work->dims[row * set->dim + k];
        size_t place = at * set->dim + k;
        add_dimension(work->order, choice, padding ? 0 : set->mu[place],
                      padding ? 0 : set->logvar[place], padding ? 1 : work->pairs->var[place],
                      part_from, part_to, &size);
    }
    for (int k = 0; k < NVDP__GAUSSIAN_SETS; k++) {
        to->from[k] += 0.5 * set->kappa * part_from[k];
        to->to[k] += 0.5 * set->kappa * part_to[k];
    }
    to->size += set->kappa * size;
    if (set->alpha == NULL) return;
    add_weight(work->weight_order, &work->weights[row], padding ? set->pad_alpha : set->alpha[at],
               set->kappa, to);
}

static void add_text(const struct bounding *work, size_t i, struct nvdp__bounds *bounds) {
    const struct nvdp_posteriors *set = work->pairs->set;
    size_t text = work->group->text[i];
    size_t rows = nvdp__row_count(set, text);
    struct sums sums = work->padding[rows];
    for (size_t row = 0; row < rows; row++) {
        add_row(work, row, false, set->offset[text] + row, &sums);
    }
    for (size_t k = 0; k < NVDP__BOUND_SETS; k++) {
        /* 1e-10 of the size exceeds the rounding of a million terms */
        double a = sums.from[k] + 1e-10 * (fabs(sums.from[k]) + sums.size);
        double b = sums.to[k] + 1e-10 * (fabs(sums.to[k]) + sums.size);
        bounds->from[k * bounds->n + i] = isnan(a) ? INFINITY : a;
        bounds->to[k * bounds->n + i] = isnan(b) ? INFINITY : b;
    }
}

/* Returns at least 1.01, or the order that keeps half of the margin within which the weights are finite. */
static double order_of_weights(double order, const struct ranges *ranges) {
    double s = 0.01;
    if (order >= 1 + s) return order;
    for (size_t row = 0; ranges->of[ALPHA] != NULL && row < ranges->rows; row++) {
        const struct span *alpha = &ranges->of[ALPHA][row];
        double wide = alpha->high - alpha->low;
        if (s * wide > 0.5 * alpha->low) s = 0.5 * alpha->low / wide;
    }
    return fmax(order, 1 + s);
}

/* Makes the choices from the ranges of the group, and sums padding. */
static nvdp_status prepare(struct bounding *work, struct nvdp__memory *memory) {
    const struct ranges *ranges = work->ranges;
    size_t rows = ranges->rows;
    size_t items = rows * ranges->dim;
    NVDP_TRY(NVDP__ARRAYS(work->pairs->ctx, memory, NVDP__ITEMS(work->dims, items),
                          NVDP__ITEMS(work->weights, rows), NVDP__ITEMS(work->padding, rows + 1)));
    work->weight_order = order_of_weights(work->order, ranges);
    for (size_t at = 0; at < items; at++) {
        work->dims[at] =
            choose(work->order, &ranges->of[MU][at], &ranges->of[LOGVAR][at], &ranges->of[VAR][at]);
    }
    for (size_t row = 0; ranges->of[ALPHA] != NULL && row < rows; row++) {
        work->weights[row] = choose_weights(work->weight_order, &ranges->of[ALPHA][row]);
    }
    for (size_t row = rows; row > 0; row--) {
        work->padding[row - 1] = work->padding[row];
        add_row(work, row - 1, true, 0, &work->padding[row - 1]);
    }
    return NVDP_OK;
}

nvdp_status nvdp__bounds_create(const struct nvdp__pairs *pairs, double order,
                                const struct nvdp__adjacent_texts *group,
                                struct nvdp__bounds *out) {
    const size_t n = group->n;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct ranges ranges;
    struct bounding work = {.pairs = pairs, .group = group, .order = order, .ranges = &ranges};
    *out = (struct nvdp__bounds){.n = n};
    NVDP_TRY(ranges_create(pairs, group, &memory, &ranges));
    NVDP_TRY(prepare(&work, &memory));
    NVDP_TRY(NVDP__NEW(pairs->ctx, out->from, 2 * NVDP__BOUND_SETS * n));
    out->to = out->from + NVDP__BOUND_SETS * n;
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(pairs->ctx))
    for (size_t i = 0; i < n; i++)
        add_text(&work, i, out);
    return NVDP_OK;
}

void nvdp__bounds_free(struct nvdp__bounds *bounds) {
    /* `to` lies in the same block after `from`, so free(from) also frees `to` */
    free(bounds->from);
}

void nvdp__bounds_row(const struct nvdp__bounds *bounds, size_t i, bool as_q, double *gaussian,
                      double *weights) {
    const struct nvdp__kernels *run = nvdp__kernels();
    size_t n = bounds->n;
    const double *own = (as_q ? bounds->to : bounds->from) + i;
    for (size_t j = 0; j < n; j += ROW_BLOCK) {
        const double *other = (as_q ? bounds->from : bounds->to) + j;
        const size_t second = NVDP__MEAN_SETS * n, third = NVDP__GAUSSIAN_SETS * n;
        size_t count = nvdp__min(ROW_BLOCK, n - j);
        double difference[ROW_BLOCK];
        run->min_sum(own, other, n, NVDP__MEAN_SETS, count, gaussian + j);
        run->min_sum(own + second, other + second, n, NVDP__DIFFERENCE_SETS, count, difference);
        run->min_sum(own + third, other + third, n, NVDP__WEIGHT_SETS, count, weights + j);
        for (size_t k = 0; k < count; k++) {
            gaussian[j + k] += difference[k];
        }
    }
}

/* --- The search ---
 *
 * The search first looks for a large value: it pairs every text as P with the Q of the largest bound, then
 * alternates between the best P for the current Q and the best Q for that P. Then every pair is either ruled out or
 * summed. A pair is ruled out by the separable bound, or by the bound of the Gaussians plus the value of the
 * weights. Sums use fast arithmetic, and exact arithmetic if they may be the largest. Rows of pairs are processed in
 * parallel between two updates of the largest value, so that the result does not depend on the number of threads. */
enum { TURNS = 16, ROWS_A_ROUND = 64 };

struct search {
    const struct nvdp__pairs *pairs;
    const struct nvdp__adjacent_texts *group;
    struct nvdp__plan fast, exact;
    const struct nvdp__bounds *bounds;
    double *scratch; /* [threads, 2 n] scratch buffers */
    struct nvdp__largest best;
};

/* Updates `best` with the divergence of the pair. */
static void sum_pair(const struct search *search, size_t i, size_t j, struct nvdp__largest *best) {
    size_t p = search->group->text[i];
    size_t q = search->group->text[j];
    double value = nvdp__pair_value(search->pairs, &search->fast, p, q);
    best->summed++;
    if (value < (1 - NVDP__DOUBT) * best->value) return;
    if (value < INFINITY) value = nvdp__pair_exact(search->pairs, &search->exact, p, q);
    if (value > best->value) {
        best->value = value;
        best->p = p;
        best->q = q;
    }
}

/* Returns the bound of the Gaussians plus the value of the weights, rounded up. */
static double tighter(const struct search *search, size_t i, size_t j, double gaussian) {
    const bool wanted[2] = {true, false};
    const double rest[2] = {gaussian, 0};
    double value[2];
    if (search->pairs->set->alpha == NULL) return gaussian;
    nvdp__weights_both(&search->fast, &search->pairs->weights, search->group->text[i],
                       search->group->text[j], wanted, rest, value);
    return (1 + NVDP__DOUBT) * (gaussian + value[0]);
}

/* Compares text i as P (or as Q if `as_q`) with all texts that no bound rules out. */
static void search_row(const struct search *search, size_t i, bool as_q, double *scratch,
                       struct nvdp__largest *best) {
    size_t n = search->group->n;
    double *gaussian = scratch;
    double *weights = scratch + n;
    nvdp__bounds_row(search->bounds, i, as_q, gaussian, weights);
    for (size_t j = 0; j < n; j++) {
        size_t p = as_q ? j : i;
        size_t q = as_q ? i : j;
        if (j == i || gaussian[j] + weights[j] < best->value) continue;
        if (tighter(search, p, q, gaussian[j]) < best->value) continue;
        sum_pair(search, p, q, best);
    }
}

/* Compares text i as P with the text that has the largest bound. */
static void probe_row(const struct search *search, size_t i, double *scratch,
                      struct nvdp__largest *best) {
    size_t n = search->group->n;
    size_t at = i == 0 ? 1 : 0;
    nvdp__bounds_row(search->bounds, i, false, scratch, scratch + n);
    for (size_t j = 0; j < n; j++) {
        bool more = scratch[j] + scratch[n + j] > scratch[at] + scratch[n + at];
        if (j != i && more) at = j;
    }
    sum_pair(search, i, at, best);
}

/* Processes all rows; if `probe`, only probes each row. */
static nvdp_status all_rows(struct search *search, bool probe) {
    struct nvdp_context *ctx = search->pairs->ctx;
    const size_t n = search->group->n;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, ctx, "pairs", "text", 0, n);
    for (size_t first = 0; first < n && search->best.value < INFINITY; first += ROWS_A_ROUND) {
        struct nvdp__largest found[ROWS_A_ROUND];
        const size_t end = nvdp__min(first + ROWS_A_ROUND, n);
        NVDP_TRY(nvdp__pairs_go_on(&meter, first, n, "texts"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(ctx))
        for (size_t i = first; i < end; i++) {
            const size_t mine = (size_t)omp_get_thread_num();
            struct nvdp__largest *to = &found[i - first];
            double *scratch = search->scratch + mine * 2 * n;
            *to = search->best;
            to->summed = 0;
            if (probe) {
                probe_row(search, i, scratch, to);
            } else {
                search_row(search, i, false, scratch, to);
            }
        }
        for (size_t i = first; i < end; i++) {
            const struct nvdp__largest *from = &found[i - first];
            size_t summed = search->best.summed + from->summed;
            if (from->value > search->best.value) search->best = *from;
            search->best.summed = summed;
        }
        nvdp__meter_update(&meter, end, (double)end, "text", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

static size_t text_place(const struct nvdp__adjacent_texts *group, size_t text) {
    size_t i = 0;
    while (group->text[i] != text) {
        i++;
    }
    return i;
}

/* Alternates between the best P for the current Q and the best Q for that P while the value
 * grows. */
static void climb(struct search *search) {
    double before = -1;
    for (int turn = 0; turn < TURNS && search->best.value > before; turn++) {
        before = search->best.value;
        size_t q = text_place(search->group, search->best.q);
        search_row(search, q, true, search->scratch, &search->best);
        size_t p = text_place(search->group, search->best.p);
        search_row(search, p, false, search->scratch, &search->best);
    }
}

nvdp_status nvdp__pairs_largest(struct nvdp__pairs *pairs, double order,
                                const struct nvdp__adjacent_texts *group,
                                struct nvdp__largest *out) {
    nvdp__auto(nvdp__bounds_free) struct nvdp__bounds bounds = {0};
    nvdp__autofree double *scratch = NULL;
    bool infinite = false;
    size_t threads = (size_t)nvdp_context_threads(pairs->ctx);
    order = nvdp__order(order);
    struct search search = {.pairs = pairs,
                            .group = group,
                            .bounds = &bounds,
                            .fast = nvdp__plan(order, NVDP_PAIRS_FAST),
                            .exact = nvdp__plan(order, NVDP_PAIRS_EXACT),
                            .best.value = -1};
    nvdp__pairs_padding(pairs, &search.fast);
    size_t p = group->text[0];
    size_t q = group->text[1];
    NVDP_TRY(nvdp__group_infinite(pairs, order, group, &infinite, &p, &q));
    /* at order infinity, a finite divergence means equal texts, so it is 0 */
    if (infinite || isinf(order)) {
        *out = (struct nvdp__largest){.value = infinite ? INFINITY : 0, .p = p, .q = q};
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__bounds_create(pairs, order, group, &bounds));
    NVDP_TRY(NVDP__NEW(pairs->ctx, scratch, threads * 2 * group->n));
    search.scratch = scratch;
    NVDP_TRY(all_rows(&search, true));
    climb(&search);
    NVDP_TRY(all_rows(&search, false));
    *out = search.best;
    return NVDP_OK;
}
