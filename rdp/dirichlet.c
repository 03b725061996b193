/* Renyi divergence of Dirichlets: the plain form, and the forms that serve all pairs.
 *
 * With s = l - 1, c = a_p + s (a_p - a_q) and lnB(a) = sum lnG(a_i) - lnG(sum a)
 *
 *     D_l = [ lnB(c) - lnB(a_p) ] / s  -  [ lnB(a_p) - lnB(a_q) ]
 *
 * (Gil, Alajaji & Linder 2013; also written [lnB(c) - l lnB(a_p)]/(l-1) + lnB(a_q)).
 * Domain: +inf if any c_i <= 0.  Evaluated literally, it loses every digit for large pseudo-counts:
 * at a = e^10 and a hundred components lnB is about 1e7, divided by s = 0.1, while the result may
 * be 1e-2.
 *
 * Stable form.  Write lnG(x) = x log x - x + w(x).  The part x log x of all components and of their
 * total is a difference of two large numbers.  Together it is a sum of Bregman divergences of
 * x log x, each >= 0 (for s > 0).  With the totals A_p, A_q, A_c and
 *
 *     k_i = 1 - a_qi/a_pi,   K = 1 - A_q/A_p,   d_i = k_i - K,
 *
 * component i contributes
 *
 *     a_pi { (A_c/A_p) phi(y1) / s  +  (A_q/A_p) phi(y2) },
 *
 *     phi(y) = (1 + y) log(1 + y) - y,
 *     1 + y1 = (c_i/a_pi) / (A_c/A_p),
 *     1 + y2 = (a_qi/a_pi) / (A_q/A_p),
 *
 * because the terms linear in d_i sum to zero over the components.  The remainder w is of order log x;
 * its second differences have a closed form (below).  For s = 0 the quotients become their limits:
 * Kullback-Leibler.
 *
 * Order infinity: with delta = a_p - a_q,
 *
 *     sup over the simplex of log p/q  =  lnB(a_q) - lnB(a_p) + sup sum delta_i log x_i,
 *
 * finite iff every delta_i >= 0, attained at x_i = delta_i / sum delta.  It is the limit of the
 * form above: (A_c/A_p) phi(y1) / s -> K phi(d_i/K), and the second difference of w becomes
 * w(a_q) - w(a_p). */
#include "rdp/pairs.h"
#include <float.h>
#include <gsl/gsl_sf_psi.h>
#include <stdlib.h>
#include <string.h>

/* --- The second difference of w --- */

/* From this argument on, the six terms of Stirling's series below are exact to rounding. */
static const double stirling_from = NVDP__SHIFTS;
/* lnG(x) - (x - 1/2) log x + x - 1/2 log 2 pi = sum_n b_n / x^(2n-1), b_n = B_2n / (2n (2n-1)). */
static const double stirling[6] = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                   -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};

/* Second difference of x^-j, summed over Stirling's series, for arguments >= stirling_from. With
 * r_c = p/c, r_q = p/q, there is no division by s,
 *
 *     (c^-j - p^-j) / s = -p^-j k (r_c + ... + r_c^j),
 *
 * and the common part of the two halves cancels analytically:
 *
 *     r_q^i - r_c^i = (r_q - r_c) h_i,     r_q - r_c = k (1 + s) r_q r_c,
 *     h_i           = r_q^(i-1) + r_q^(i-2) r_c + ... + r_c^(i-1). */
static double stirling_second_difference(double s, double p, double k, double ratio_q,
                                         double ratio_c) {
    double rq = 1 / ratio_q;
    double rc = 1 / ratio_c;
    double h = 1, power_c = 1; /* h_i and r_c^(i-1), for i = 1 */
    double sums = 1;           /* h_1 + ... + h_i */
    double scale = 1 / p;
    double sum = 0;
    for (int n = 0; n < 6; n++) {
        sum += stirling[n] * scale * sums;
        scale /= p * p;
        for (int twice = 0; twice < 2; twice++) {
            power_c *= rc;
            h = rq * h + power_c;
            sums += h;
        }
    }
    return k * k * (1 + s) * rq * rc * sum;
}

/* w(x) - 1/2 log 2 pi */
static double remainder_value(double x) {
    if (x < stirling_from) return nvdp__log_gamma(x) - x * log(x) + x - NVDP__HALF_LOG_2PI;
    double scale = 1 / x;
    double sum = 0;
    for (int n = 0; n < 6; n++) {
        sum += stirling[n] * scale;
        scale /= x * x;
    }
    return sum - 0.5 * log(x);
}

/* [w(c) - w(p)] / s for p, c >= stirling_from. */
static double remainder_slope(double s, double p, double k, double ratio_c) {
    double rc = 1 / ratio_c;
    double geometric = 1, power = 1, scale = 1 / p;
    double sum = -0.5 * (s == 0 ? k : nvdp__log_ratio(s * k, ratio_c) / s);
    for (int n = 0; n < 6; n++) {
        sum -= stirling[n] * scale * k * rc * geometric;
        scale /= p * p;
        geometric += power * rc * (1 + rc);
        power *= rc * rc;
    }
    return sum;
}

/* Second difference of w(x) = lnG(x) - x log x + x for finite s. For distant points, the values of w are subtracted:
 * w is of order log x, so nothing cancels. If c is near a large p, the slope at p is used, because a shift would
 * leave the rounding error of x log x at p. Close points are computed term by term. Small arguments are raised by n
 * through lnG(x) = lnG(x + n) - sum_{r<n} log(x + r). */
static double remainder_second_difference(double s, double p, double q, double c, double delta) {
    if (delta == 0) return 0;
    if (fabs(delta) >= 0.5 * p && fabs(s * delta) >= 0.5 * p) {
        double at_p = remainder_value(p);
        return (remainder_value(c) - at_p) / s - (at_p - remainder_value(q));
    }
    if (fabs(delta) >= 0.5 * p && fmin(p, c) >= stirling_from)
        return remainder_slope(s, p, delta / p, c / p) - (remainder_value(p) - remainder_value(q));
    double smallest = fmin(p, fmin(q, c));
    int shift = smallest < stirling_from ? (int)ceil(stirling_from - smallest) : 0;
    double sum = 0;
    if (shift > 0) {
        if (fabs(delta) * fmax(1, fabs(s)) < 0.24 * p) {
            sum = nvdp__kernels()->shifted_logs(s, p, delta, shift);
        } else {
            for (int r = 0; r < shift; r++) {
                double x = p + r;
                sum += nvdp__log_second_difference(s, delta / x, (q + r) / x, (c + r) / x);
            }
        }
        double x = p + shift;
        sum += x * nvdp__xlogx_second_difference(s, delta / x, (q + shift) / x, (c + shift) / x);
        sum -= p * nvdp__xlogx_second_difference(s, delta / p, q / p, c / p);
        p += shift;
        q += shift;
        c += shift;
    }
    double k = delta / p;
    return sum + 0.5 * nvdp__log_second_difference(s, k, q / p, c / p) +
           stirling_second_difference(s, p, k, q / p, c / p);
}

/* The sum of the second differences of x log x and w. */
double nvdp__log_gamma_second_difference(double order, double p, double q) {
    const double s = order - 1, delta = p - q, c = nvdp__extrapolate(order, p, q);
    if (c <= 0) return INFINITY;
    return p * nvdp__xlogx_second_difference(s, delta / p, q / p, c / p) +
           remainder_second_difference(s, p, q, c, delta);
}

/* --- The plain form: totals first, then one component at a time, so that samples with implied
 * components (prior, padding, kappa) need no arrays --- */

struct line {
    double order;
    double s;                /* order - 1 */
    double total_p, total_q; /* totals A_p, A_q */
    double delta;            /* A_p - A_q, summed from the components */
    double k;                /* delta / A_p */
    double ratio_q;          /* A_q / A_p = 1 - k */
    double ratio_c;          /* A_c / A_p = 1 + s k; 0 for order infinity, which does not use it */
    double sum;
};

static struct line line_begin(double order, double total_p, double total_q, double delta) {
    struct line line = {.order = order,
                        .s = order - 1,
                        .total_p = total_p,
                        .total_q = total_q,
                        .delta = delta,
                        .k = delta / total_p,
                        .ratio_q = total_q / total_p};
    if (!isinf(order)) line.ratio_c = nvdp__extrapolate(order, total_p, total_q) / total_p;
    return line;
}

/* Returns the Bregman part of one component, divided by a_p; d = k_i - K. */
static double bregman(const struct line *line, double d, double ratio_q, double ratio_c) {
    double y2 = -d / line->ratio_q;
    double q = ratio_q / line->ratio_q; /* 1 + y2 */
    if (isinf(line->order)) {
        double y1 = d / line->k;
        return line->k * nvdp__xlogx(y1, 1 + y1) + line->ratio_q * nvdp__xlogx(y2, q);
    }
    double s = line->s;
    double y1 = s * d / line->ratio_c;
    double c = ratio_c / line->ratio_c; /* 1 + y1 */
    if (fabs(y2) < 0.5) {
        double first = s == 0 ? 0 : line->ratio_c * nvdp__xlogx(y1, c) / s;
        return first + line->ratio_q * nvdp__xlogx(y2, q);
    }
    /* the linear terms +d and -d are large here and are left out */
    double first = s == 0 ? d : ratio_c * nvdp__log_ratio(y1, c) / s;
    return first + (q > 0 ? ratio_q * log(q) : 0);
}

/* Adds `count` components with pseudo-counts p, q, each split into kappa weights. */
static void line_add(struct line *line, double p, double q, int kappa, double count) {
    if (count == 0) return;
    double delta = p - q;
    /* If K is near 1, both k are 1 minus a ratio, and only the ratios keep enough digits to distinguish the two k. */
    double d = fabs(line->k) < 0.5 ? delta / p - line->k : line->ratio_q - q / p;
    if (isinf(line->order)) {
        if (delta < 0) {
            line->sum = INFINITY;
        } else if (line->k > 0) {
            double part = p * bregman(line, d, q / p, 0);
            if (delta != 0) {
                part += kappa * (remainder_value(q / kappa) - remainder_value(p / kappa));
            }
            line->sum += count * part;
        }
        return;
    }
    double c = nvdp__extrapolate(line->order, p, q);
    if (c <= 0) {
        line->sum = INFINITY;
        return;
    }
    double part = p * bregman(line, d, q / p, c / p);
    part += kappa *
            remainder_second_difference(line->s, p / kappa, q / kappa, c / kappa, delta / kappa);
    line->sum += count * part;
}

static double line_end(const struct line *line) {
    if (isinf(line->sum)) return INFINITY;
    double total;
    if (isinf(line->order)) {
        total =
            line->delta == 0 ? 0 : remainder_value(line->total_q) - remainder_value(line->total_p);
    } else {
        double c = nvdp__extrapolate(line->order, line->total_p, line->total_q);
        total = remainder_second_difference(line->s, line->total_p, line->total_q, c, line->delta);
    }
    double value = line->sum - total;
    /* The value is NaN only if a ratio of pseudo-counts exceeds the range of double: returns an upper bound. */
    return isnan(value) ? INFINITY : fmax(value, 0);
}

double nvdp_renyi_dirichlet(double order, size_t m, const double *alpha_p, const double *alpha_q) {
    order = nvdp__order(order);
    if (isnan(order)) return NAN;
    double total_p = 0, total_q = 0, delta = 0;
    for (size_t i = 0; i < m; i++) {
        if (!(alpha_p[i] > 0) || !(alpha_q[i] > 0)) return NAN;
        if (isinf(alpha_p[i]) || isinf(alpha_q[i])) return NAN;
        total_p += alpha_p[i];
        total_q += alpha_q[i];
        delta += alpha_p[i] - alpha_q[i];
    }
    if (m < 2) return 0; /* the only weight of a sample is always 1 */
    struct line line = line_begin(order, total_p, total_q, delta);
    for (size_t i = 0; i < m; i++) {
        line_add(&line, alpha_p[i], alpha_q[i], 1, 1);
    }
    return line_end(&line);
}

/* Components 0 (prior), 1..longest (tokens, or padding in one text), then padding in both. */
double nvdp__dirichlet_texts(double order, const struct nvdp_posteriors *set, size_t i, size_t j) {
    size_t longest = nvdp__max(nvdp__row_count(set, i), nvdp__row_count(set, j));
    double padding = 0;
    if (set->policy == NVDP_LENGTH_HIDDEN) padding = (double)(set->length - longest);
    double total_p = set->prior_alpha;
    double total_q = set->prior_alpha;
    double delta = 0;
    for (size_t c = 0; c < longest; c++) {
        double p = nvdp__token_alpha(set, i, c);
        double q = nvdp__token_alpha(set, j, c);
        total_p += p;
        total_q += q;
        delta += p - q;
    }
    total_p += padding * set->pad_alpha;
    total_q += padding * set->pad_alpha;
    struct line line = line_begin(order, total_p, total_q, delta);
    line_add(&line, set->prior_alpha, set->prior_alpha, set->kappa, 1);
    line_add(&line, set->pad_alpha, set->pad_alpha, set->kappa, padding);
    for (size_t c = 0; c < longest; c++) {
        line_add(&line, nvdp__token_alpha(set, i, c), nvdp__token_alpha(set, j, c), set->kappa, 1);
    }
    return line_end(&line);
}

/* --- All pairs, from values stored per text ---
 *
 *     D(P||Q) = [lnB(c) - lnB(p)] / s  -  [lnB(p) - lnB(q)],    c = p + s (p - q),
 *
 * with lnB of each text computed once: a pair then costs only the lnG of the components of c. At order 1,
 *
 *     lnB(q) - lnB(p) + sum (p - q) psi(p) - (P - Q) psi(P),    P and Q the totals;
 *
 * the digammas are also computed once. Components with the same pseudo-count in both texts (prior, padding against
 * padding) cancel and are left out. The plain form is used if rounding is not small compared with the whole
 * divergence, and near the edge where some c is 0. */

enum { BLOCK = 64 };

/* Adds count * lnG(x) to `sum`. Adds to `size` the magnitude that determines the rounding error: the value, and x
 * psi(x) for the rounding of x itself. */
static void add_log_gamma(double x, double count, double *sum, double *size) {
    double value = count * nvdp__log_gamma(x);
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
        made.total += (double)(set->length - nvdp__row_count(set, i)) * set->pad_alpha;
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
    NVDP_TRY(NVDP__ARRAYS(ctx, &out->memory, NVDP__ITEMS(out->alpha, rows),
                          NVDP__ITEMS(out->psi, rows), NVDP__ITEMS(out->texts, set->texts)));
    /* Arguments lie between 1e-100/kappa and 1e100 rows (nvdp_posteriors_check), where psi
     * cannot fail. */
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

bool nvdp__weights_outside(const struct nvdp__weights *weights, double order, size_t i, size_t j) {
    const struct nvdp_posteriors *set = weights->set;
    if (set->alpha == NULL) return false;
    size_t rows = nvdp__min(nvdp__row_count(set, i), nvdp__row_count(set, j));
    const double *p = weights->alpha + set->offset[i];
    const double *q = weights->alpha + set->offset[j];
    for (size_t first = 0; first < rows; first += BLOCK) {
        size_t n = nvdp__min(BLOCK, rows - first);
        if (nvdp__kernels()->any_below(order - 1, n, p + first, q + first)) return true;
    }
    return false;
}

/* kappa sum lnG(c/kappa) in both directions */
struct extrapolated {
    double sum[2];
    double size[2];
    bool near_edge[2]; /* true if some c is at or near 0 */
};

/* Copies the pseudo-counts [first, first + BLOCK) of text i: padding after the text's tokens, and 1 from `longest`
 * to a whole number of vectors. Equal counts of 1 add nothing, because lnG(1) = 0. */
static void fill(const struct nvdp__weights *weights, size_t i, size_t first, size_t longest,
                 double *to) {
    const struct nvdp_posteriors *set = weights->set;
    const double *alpha = weights->alpha + set->offset[i];
    size_t rows = nvdp__row_count(set, i);
    size_t n = nvdp__min(BLOCK, longest - first);
    size_t tokens = nvdp__min(rows > first ? rows - first : 0, n);
    memcpy(to, alpha + (tokens > 0 ? first : 0), tokens * sizeof *to);
    for (size_t k = tokens; k < n; k++) {
        to[k] = set->pad_alpha / set->kappa;
    }
    for (size_t k = n; k % 8 != 0; k++) {
        to[k] = 1;
    }
}

static struct extrapolated extrapolate_fast(const struct nvdp__plan *plan,
                                            const struct nvdp__weights *weights, size_t i, size_t j,
                                            size_t longest) {
    struct extrapolated made = {0};
    double kappa = weights->set->kappa;
    for (size_t first = 0; first < longest; first += BLOCK) {
        double p[BLOCK], q[BLOCK];
        size_t n = nvdp__min(BLOCK, longest - first);
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

static struct extrapolated extrapolate_exact(double s, const struct nvdp_posteriors *set, size_t i,
                                             size_t j, size_t longest) {
    struct extrapolated made = {0};
    double kappa = set->kappa;
    for (size_t k = 0; k < longest; k++) {
        double alpha[2] = {nvdp__token_alpha(set, i, k), nvdp__token_alpha(set, j, k)};
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

/* lnB over the components of a pair */
struct beta {
    double value, size;
};

static struct beta own_beta(const struct nvdp_posteriors *set,
                            const struct nvdp__text_weights *text, double padding) {
    double kappa = set->kappa;
    struct beta made = {.value = text->log_gammas - text->total_gamma, .size = text->size};
    if (padding > 0)
        add_log_gamma(set->pad_alpha / kappa, kappa * padding, &made.value, &made.size);
    return made;
}

/* True if `rounding`, a few epsilons of the summed magnitudes, is small compared with the whole
 * divergence. */
static bool sure(const struct nvdp__plan *plan, double rounding, double whole) {
    bool exact = plan->arithmetic == NVDP_PAIRS_EXACT;
    return exact ? 2 * rounding < 3e-13 * whole : 8 * rounding < 1e-7 * whole;
}

/* Returns D(i || j) at order 1; NaN if the rounding is not small. */
static double fast_kl(const struct nvdp__plan *plan, const struct nvdp__weights *weights, size_t i,
                      size_t j, const struct beta *p, const struct beta *q, double gaussian) {
    const struct nvdp_posteriors *set = weights->set;
    const double *alpha = weights->alpha + set->offset[i];
    const double *other = weights->alpha + set->offset[j];
    const double *psi = weights->psi + set->offset[i];
    size_t rows = nvdp__row_count(set, i);
    size_t others = nvdp__row_count(set, j);
    double pad = set->pad_alpha / set->kappa;
    double sum = 0, size = 0;
    for (size_t c = 0; c < nvdp__max(rows, others); c++) {
        double delta = (c < rows ? alpha[c] : pad) - (c < others ? other[c] : pad);
        double term = delta * (c < rows ? psi[c] : weights->pad_psi);
        sum += term;
        size += fabs(term);
    }
    double totals =
        (weights->texts[i].total - weights->texts[j].total) * weights->texts[i].total_psi;
    double value = q->value - p->value + set->kappa * sum - totals;
    double rounding = DBL_EPSILON * (p->size + q->size + set->kappa * size + fabs(totals));
    return value > 0 && sure(plan, rounding, value + gaussian) ? value : NAN;
}

/* Returns one direction of the divergence at an order other than 1; NaN if the rounding is not small, or near an
 * edge. */
static double directed_divergence(const struct nvdp__plan *plan,
                                  const struct extrapolated *extrapolated, int side,
                                  const double total[2], const struct beta own[2],
                                  double gaussian) {
    double s = plan->order - 1;
    double c = total[side] + s * (total[side] - total[1 - side]);
    if (extrapolated->near_edge[side] || !(c > 1e-9 * total[side])) return NAN;
    struct beta p = own[side];
    struct beta q = own[1 - side];
    struct beta at = {.value = extrapolated->sum[side], .size = extrapolated->size[side]};
    add_log_gamma(c, -1, &at.value, &at.size);
    double value = (at.value - p.value) / s - (p.value - q.value);
    double rounding = DBL_EPSILON * ((at.size + p.size) / fabs(s) + p.size + q.size);
    return value > 0 && sure(plan, rounding, value + gaussian) ? value : NAN;
}

void nvdp__weights_both(const struct nvdp__plan *plan, const struct nvdp__weights *weights,
                        size_t i, size_t j, const bool wanted[2], const double gaussian[2],
                        double value[2]) {
    const struct nvdp_posteriors *set = weights->set;
    const struct nvdp__text_weights *texts = weights->texts;
    double s = plan->order - 1;
    size_t rows[2] = {nvdp__row_count(set, i), nvdp__row_count(set, j)};
    size_t longest = nvdp__max(rows[0], rows[1]);
    double total[2] = {texts[i].total, texts[j].total};
    struct beta own[2] = {own_beta(set, &texts[i], (double)(longest - rows[0])),
                          own_beta(set, &texts[j], (double)(longest - rows[1]))};
    value[0] = value[1] = NAN;
    if (s == 0 && plan->arithmetic == NVDP_PAIRS_FAST) {
        value[0] = fast_kl(plan, weights, i, j, &own[0], &own[1], gaussian[0]);
        value[1] = fast_kl(plan, weights, j, i, &own[1], &own[0], gaussian[1]);
    } else if (s != 0 && !isinf(s)) {
        struct extrapolated extrapolated = plan->arithmetic == NVDP_PAIRS_EXACT
                                               ? extrapolate_exact(s, set, i, j, longest)
                                               : extrapolate_fast(plan, weights, i, j, longest);
        value[0] = directed_divergence(plan, &extrapolated, 0, total, own, gaussian[0]);
        value[1] = directed_divergence(plan, &extrapolated, 1, total, own, gaussian[1]);
    }
    if (wanted[0] && isnan(value[0])) value[0] = nvdp__dirichlet_texts(plan->order, set, i, j);
    if (wanted[1] && isnan(value[1])) value[1] = nvdp__dirichlet_texts(plan->order, set, j, i);
}
