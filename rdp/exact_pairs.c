/* Makes the pairs whose loss is computed exactly: one pair of exact.h from the numbers of two distributions or from
 * two texts, then all pairs of a data set. Delta and epsilon of a pair are computed in exact.c. */
#include "base/array.h"
#include "base/own.h"
#include "base/random.h"
#include "rdp/exact.h"
#include "rdp/pairs.h"
#include <stdio.h>
#include <stdlib.h>

double nvdp_exact_moment_limit(const struct nvdp_exact *e) {
    return e->unit * e->strip;
}

void nvdp_exact_free(struct nvdp_exact *e) {
    if (e == NULL) return;
    nvdp_exact_free(e->mirror);
    nvdp__memory_release(&e->memory);
    free(e);
}

/* Converts all numbers from the loss L to the loss h L. */
static void scale(struct nvdp_exact *e) {
    double largest = sqrt(e->quadratic), psi[3];
    for (size_t i = 0; i < e->n; i++)
        largest = fmax(largest, fmax(fabs(e->y[i]), sqrt(e->q0[i])));
    for (size_t i = 0; i < e->weights; i++) {
        nvdp__digammas(e->a[i], psi);
        largest = fmax(largest, fabs(e->v[i]) / e->a[i] * sqrt(e->a[i] + psi[1]));
    }
    if (!(largest > 0 && isfinite(largest))) return;
    /* limits h, because c is squared and ranges from the inverse of the widest dimension's y to 1/h */
    const double h = e->unit = ldexp(1, -(int)fmin(fmax(ilogb(largest), -400), 500));
    for (size_t i = 0; i < e->n; i++) {
        e->y[i] *= h;
        e->q0[i] *= h * h;
    }
    for (size_t i = 0; i < e->wide; i++)
        e->s[i] *= h;
    for (size_t i = 0; i < e->weights; i++) {
        e->v[i] *= h;
        e->d[i] *= h;
    }
    e->all_v *= h;
    e->mean *= h;
    e->beta.value *= h;
    e->beta.size *= h;
    e->first *= h;
    e->quadratic *= h * h;
    e->strip /= h;
}

static nvdp_status check_numbers(struct nvdp_context *ctx, const char *name, size_t n,
                                 const double *value, bool positive) {
    for (size_t i = 0; i < n; i++)
        if (!isfinite(value[i]) || (positive && !(value[i] > 0)))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "exact loss: %s, entry %zu: expected a finite number%s, found %g",
                              name, i, positive ? " above 0" : "", value[i]);
    return NVDP_OK;
}

static void take_gaussians(struct nvdp_exact *e, size_t n, const double *mu_p, const double *var_p,
                           const double *mu_q, const double *var_q) {
    double sum = 0;
    for (int narrow = 0; narrow < 2; narrow++)
        for (size_t i = 0; i < n; i++) {
            const double ratio = var_p[i] / var_q[i], y = (var_p[i] - var_q[i]) / var_q[i];
            const double square = (mu_p[i] - mu_q[i]) * (mu_p[i] - mu_q[i]) / var_q[i];
            if ((y > 1) == (narrow == 1)) continue;
            if (y == 0) {
                e->quadratic += square;
                continue;
            }
            if (narrow == 0) e->s[e->wide++] = square;
            e->y[e->n] = y;
            e->q0[e->n++] = square * ratio;
            sum -= narrow == 0 ? log(ratio) : nvdp__log1pmx(y, ratio) - square;
            if (y > 0) e->strip = fmin(e->strip, 1 / y);
        }
    e->quadratic *= e->times;
    e->first = e->times * sum / 2 + e->quadratic / 2;
}

static void swap_weights(struct nvdp_exact *e, size_t i, size_t j) {
    double *const list[] = {e->a, e->v, e->d};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        const double kept = list[k][i];
        list[k][i] = list[k][j];
        list[k][j] = kept;
    }
}

static void take_weights(struct nvdp_exact *e, size_t n, const double *p, const double *q) {
    e->all = n;
    for (size_t i = 0; i < n; i++) {
        e->p[i] = p[i];
        e->q[i] = q[i];
        e->all_a += p[i];
        e->all_v += p[i] - q[i];
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = e->weights;
        if (p[i] == q[i]) {
            e->same += p[i];
            continue;
        }
        e->a[at] = p[i];
        e->v[at] = p[i] - q[i];
        e->d[at] = e->v[at] * e->all_a - e->all_v * p[i];
        nvdp__sized_add(&e->beta, nvdp__log_gamma(q[i]));
        nvdp__sized_add(&e->beta, -nvdp__log_gamma(p[i]));
        if (q[i] > p[i]) e->strip = fmin(e->strip, p[i] / (q[i] - p[i]));
        e->weights++;
        if (p[i] > e->a[0]) swap_weights(e, 0, at);
    }
    if (n < 2) e->weights = 0; /* the only weight of a sample is always 1 */
    if (e->weights == 0) return;
    e->mean = nvdp_renyi_dirichlet(1, n, p, q);
    nvdp__sized_add(&e->beta, -nvdp__log_gamma(e->all_a - e->all_v));
    nvdp__sized_add(&e->beta, nvdp__log_gamma(e->all_a));
}

struct side {
    const double *mu, *var, *alpha;
};

static nvdp_status make(struct nvdp_context *ctx, size_t n, size_t m, const struct side *p,
                        const struct side *q, int times, int releases, struct nvdp_exact **out) {
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *made = NULL;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    *made = (struct nvdp_exact){
        .strip = INFINITY, .unit = 1, .releases = releases, .times = (double)times * releases};
    NVDP_TRY(NVDP__ARRAYS(ctx, &made->memory, NVDP__ITEMS(made->y, n), NVDP__ITEMS(made->q0, n),
                          NVDP__ITEMS(made->s, n), NVDP__ITEMS(made->large, 2 * n),
                          NVDP__ITEMS(made->p, m), NVDP__ITEMS(made->q, m), NVDP__ITEMS(made->a, m),
                          NVDP__ITEMS(made->v, m), NVDP__ITEMS(made->d, m)));
    take_gaussians(made, n, p->mu, p->var, q->mu, q->var);
    take_weights(made, m, p->alpha, q->alpha);
    scale(made);
    made->zero = nvdp__exact_derive(made, 0);
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

/* True if 1 - c y or a + c v cancels at c = -1. */
static bool is_narrow(size_t n, const double *p, const double *q, bool narrower) {
    for (size_t i = 0; i < n; i++)
        if (narrower ? p[i] < 1e-4 * q[i] : q[i] < 1e-4 * p[i]) return true;
    return false;
}

nvdp_status nvdp_exact_create(struct nvdp_context *ctx, size_t n, const double *mu_p,
                              const double *var_p, const double *mu_q, const double *var_q,
                              int times, size_t m, const double *alpha_p, const double *alpha_q,
                              int releases, struct nvdp_exact **out) {
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *made = NULL;
    const struct side p = {mu_p, var_p, alpha_p}, q = {mu_q, var_q, alpha_q};
    if (times < 1 || releases < 1)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "exact loss: expected times and releases of at least 1, found %d times and %d releases",
            times, releases);
    NVDP_TRY(check_numbers(ctx, "mu of P", n, mu_p, false));
    NVDP_TRY(check_numbers(ctx, "mu of Q", n, mu_q, false));
    NVDP_TRY(check_numbers(ctx, "variance of P", n, var_p, true));
    NVDP_TRY(check_numbers(ctx, "variance of Q", n, var_q, true));
    NVDP_TRY(check_numbers(ctx, "pseudo-count of P", m, alpha_p, true));
    NVDP_TRY(check_numbers(ctx, "pseudo-count of Q", m, alpha_q, true));
    NVDP_TRY(make(ctx, n, m, &p, &q, times, releases, &made));
    if (is_narrow(n, var_p, var_q, true) || is_narrow(m, alpha_p, alpha_q, false))
        NVDP_TRY(make(ctx, n, m, &q, &p, times, releases, &made->mirror));
    NVDP__HAND_OVER(out, made);
    return NVDP_OK;
}

nvdp_status nvdp_exact_texts(struct nvdp_context *ctx, const struct nvdp_posteriors *set, size_t i,
                             size_t j, int releases, struct nvdp_exact **out) {
    if (i >= set->texts || j >= set->texts)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "exact loss: expected text numbers below %zu, found %zu and %zu",
                          set->texts, i, j);
    const size_t text[] = {i, j}, kappa = (size_t)set->kappa, dim = set->dim;
    const size_t rows = nvdp__max(nvdp__row_count(set, i), nvdp__row_count(set, j));
    const size_t components = set->alpha != NULL ? nvdp__sample_components(set, i) : 0;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *mu[2], *var[2], *alpha[2];
    const bool disjoint =
        set->policy == NVDP_LENGTH_PUBLIC && nvdp__row_count(set, i) != nvdp__row_count(set, j);
    NVDP_TRY(NVDP__ARRAYS(
        ctx, &memory, NVDP__ITEMS(mu[0], rows * dim), NVDP__ITEMS(mu[1], rows * dim),
        NVDP__ITEMS(var[0], rows * dim), NVDP__ITEMS(var[1], rows * dim),
        NVDP__ITEMS(alpha[0], components * kappa), NVDP__ITEMS(alpha[1], components * kappa)));
    for (int side = 0; side < 2; side++) {
        const size_t own = nvdp__row_count(set, text[side]), first = set->offset[text[side]];
        for (size_t k = 0; k < rows * dim; k++) {
            mu[side][k] = k < own * dim ? set->mu[first * dim + k] : 0;
            var[side][k] = k < own * dim ? exp(set->logvar[first * dim + k]) : 1;
        }
        for (size_t k = 0; k < components * kappa; k++)
            alpha[side][k] =
                (k < kappa ? set->prior_alpha : nvdp__token_alpha(set, text[side], k / kappa - 1)) /
                set->kappa;
    }
    NVDP_TRY(nvdp_exact_create(ctx, disjoint ? 0 : rows * dim, mu[0], var[0], mu[1], var[1],
                               set->kappa, disjoint ? 0 : components * kappa, alpha[0], alpha[1],
                               releases, out));
    (*out)->disjoint = disjoint;
    return NVDP_OK;
}

/* --- exact epsilons of all pairs of a data set: the largest epsilon, and the mean of drawn pairs --- */

static const double confidence = 0.95;
static const char CANCELLED[] = "exact epsilons: cancelled";

struct work {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    const struct nvdp__privacy_options *options;
    double *bound;          /* [N, N] upper bounds of epsilon; NaN if two texts are not adjacent */
    struct candidate *list; /* the adjacent pairs by decreasing bound */
    size_t pairs;
};
struct candidate {
    double bound;
    size_t p, q;
};

struct found {
    double epsilon;
    bool is_bound; /* true if the value is an upper bound, not exact */
};

/* Bounds the epsilon of every pair. Each pair has its own orders, because smaller orders may be finite where the
 * orders of a grid are not. `memory` owns the arrays. */
static nvdp_status list_pairs(struct work *work, struct nvdp__memory *memory) {
    const size_t n = work->set->texts;
    const struct nvdp__bdp_options *bdp = &work->options->bdp;
    struct nvdp__meter meter;
    nvdp_status failed = NVDP_OK;
    NVDP_TRY(NVDP__ARRAYS(work->ctx, memory, NVDP__ITEMS(work->bound, n * n)));
    nvdp__meter_begin(&meter, work->ctx, "bounds", "text", 0, n);
    for (size_t p = 0; p < n && failed == NVDP_OK; p++) {
        failed = nvdp__check_cancelled(work->ctx, CANCELLED);
#pragma omp parallel for schedule(dynamic, 8) num_threads(nvdp_context_threads(work->ctx))
        for (size_t q = 0; q < n; q++) {
            nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
            double *bound = &work->bound[p * n + q];
            *bound = NAN;
            if (failed != NVDP_OK ||
                !nvdp__adjacent(work->set, work->options->pairs.adjacency, p, q))
                continue;
            nvdp_status status =
                nvdp_exact_texts(work->ctx, work->set, p, q, bdp->releases, &exact);
            if (status == NVDP_OK) *bound = nvdp__exact_bound(exact, bdp->delta);
            if (status != NVDP_OK) {
#pragma omp atomic write
                failed = status;
            }
        }
        nvdp__meter_update(&meter, p + 1, (double)((p + 1) * n), "pair", NAN);
    }
    nvdp__meter_end(&meter);
    NVDP_TRY(failed);
    for (size_t i = 0; i < n * n; i++)
        work->pairs += !isnan(work->bound[i]);
    NVDP_TRY(NVDP__ARRAYS(work->ctx, memory, NVDP__ITEMS(work->list, work->pairs)));
    for (size_t i = 0, at = 0; i < n * n; i++)
        if (!isnan(work->bound[i]))
            work->list[at++] = (struct candidate){work->bound[i], i / n, i % n};
    NVDP__SORT(work->list, work->pairs, NVDP__DOWN(struct candidate, bound),
               NVDP__UP(struct candidate, p), NVDP__UP(struct candidate, q));
    return NVDP_OK;
}

/* Computes the exact epsilons of pairs[0..n) in parallel. */
static nvdp_status epsilons(const struct work *work, size_t n, const struct candidate *pairs,
                            struct found *found) {
    const struct nvdp__bdp_options *bdp = &work->options->bdp;
    nvdp_status failed = nvdp__check_cancelled(work->ctx, CANCELLED);
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(work->ctx))
    for (size_t i = 0; i < n; i++) {
        nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
        if (failed != NVDP_OK) continue;
        nvdp_status status =
            nvdp_exact_texts(work->ctx, work->set, pairs[i].p, pairs[i].q, bdp->releases, &exact);
        if (status == NVDP_OK)
            status = nvdp__exact_epsilon(exact, bdp->delta, &found[i].epsilon, &found[i].is_bound);
        if (status != NVDP_OK) {
#pragma omp atomic write
            failed = status;
        }
    }
    return failed;
}

/* Evaluates pairs by decreasing bound until a bound is below the largest epsilon found. */
static nvdp_status find_worst(struct work *work, struct nvdp_exact_summary *out) {
    enum { ROUND = 16 };
    struct found found[ROUND];
    out->worst.epsilon = -INFINITY;
    while (out->evaluated < work->pairs && work->list[out->evaluated].bound > out->worst.epsilon) {
        const struct candidate *from = work->list + out->evaluated;
        const size_t n = nvdp__min(ROUND, work->pairs - out->evaluated);
        NVDP_TRY(epsilons(work, n, from, found));
        for (size_t i = 0; i < n; i++) {
            out->bounds.evaluated += found[i].is_bound;
            if (!(found[i].epsilon > out->worst.epsilon)) continue;
            out->worst.epsilon = found[i].epsilon;
            out->worst.p = from[i].p;
            out->worst.q = from[i].q;
        }
        out->evaluated += n;
        if (isinf(out->worst.epsilon)) break;
    }
    return NVDP_OK;
}

/* Draws pairs uniformly with replacement, or takes all pairs if there are no more than the option requests. */
static nvdp_status find_mean(struct work *work, struct nvdp_exact_summary *out) {
    const size_t largest = work->options->exact.mean_pairs, n = nvdp__min(largest, work->pairs);
    nvdp__autofree struct candidate *drawn = NULL;
    nvdp__autofree struct found *found = NULL;
    double sum = 0, square = 0;
    size_t finite = 0, nearest = 0;
    NVDP_TRY(NVDP__ARRAYS(work->ctx, NULL, NVDP__ITEMS(drawn, n), NVDP__ITEMS(found, n)));
    for (size_t k = 0; k < n; k++) {
        const struct nvdp__noise noise = {.seed = work->options->pairs.seed};
        struct nvdp__stream stream =
            nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_EXACT, k);
        drawn[k] = work->list[n < work->pairs ? nvdp__stream_below(&stream, work->pairs) : k];
    }
    NVDP_TRY(epsilons(work, n, drawn, found));
    for (size_t k = 0; k < n; k++) {
        finite += isfinite(found[k].epsilon) != 0;
        sum += isfinite(found[k].epsilon) ? found[k].epsilon : 0;
        out->bounds.drawn += found[k].is_bound;
    }
    out->drawn = n;
    out->infinite = n - finite;
    out->mean_finite = finite > 0 ? sum / (double)finite : NAN;
    out->mean = out->infinite > 0 ? INFINITY : out->mean_finite;
    for (size_t k = 0; k < n; k++) {
        const double off = found[k].epsilon - out->mean_finite;
        if (!isfinite(found[k].epsilon)) continue;
        square += off * off;
        if (!(fabs(off) >= fabs(found[nearest].epsilon - out->mean_finite))) nearest = k;
    }
    out->typical = (struct nvdp_exact_pair){
        .p = drawn[nearest].p, .q = drawn[nearest].q, .epsilon = found[nearest].epsilon};
    const double sd = sqrt(square / (double)nvdp__max(finite > 1 ? finite - 1 : 1, 1));
    out->mean_interval = (struct nvdp_interval){out->mean_finite, out->mean_finite};
    if (n < work->pairs)
        out->mean_interval = nvdp__interval_student(confidence, finite, out->mean_finite, sd);
    return NVDP_OK;
}

const double nvdp__exact_fpr[NVDP_EXACT_FPRS] = {1e-5, 1e-4, 1e-3, 1e-2, 0.05, 0.1, 0.2, 0.5};

double nvdp_exact_fpr(size_t i) {
    return i < NVDP_EXACT_FPRS ? nvdp__exact_fpr[i] : NAN;
}

static nvdp_status describe(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                            const struct nvdp__privacy_options *options,
                            struct nvdp_exact_pair *pair, unsigned *bounds) {
    const struct nvdp__bdp_options *bdp = &options->bdp;
    nvdp__autofree const char **text = NULL, **deltas = NULL;
    size_t points = 0, more = 0;
    nvdp__autoptr(nvdp_exact_free) struct nvdp_exact *exact = NULL;
    bool is_bound = false;
    NVDP_TRY(nvdp__list_split(ctx, options->exact.epsilons, &text, &points));
    NVDP_TRY(nvdp__list_split(ctx, options->exact.deltas, &deltas, &more));
    NVDP_TRY(nvdp_exact_texts(ctx, set, pair->p, pair->q, bdp->releases, &exact));
    pair->strip = nvdp_exact_moment_limit(exact);
    pair->points = nvdp__min(points + more, NVDP_EXACT_POINTS);
    for (size_t i = 0; i < pair->points; i++) {
        double *epsilon = &pair->curve[i].epsilon, *delta = &pair->curve[i].delta;
        *(i < points ? epsilon : delta) =
            nvdp__strtod(i < points ? text[i] : deltas[i - points], NULL);
        NVDP_TRY(i < points ? nvdp__exact_delta(exact, *epsilon, delta, &is_bound)
                            : nvdp__exact_epsilon(exact, *delta, epsilon, &is_bound));
        if (is_bound) *bounds |= NVDP_EXACT_CURVE;
    }
    NVDP_TRY(nvdp__exact_epsilon(exact, bdp->delta, &pair->epsilon, &is_bound));
    if (is_bound) *bounds |= NVDP_EXACT_EPSILON;
    NVDP_TRY(nvdp__exact_mu(exact, bdp->delta, &pair->mu, &is_bound));
    if (is_bound) *bounds |= NVDP_EXACT_MU;
    for (size_t i = 0; i < NVDP_EXACT_FPRS; i++) {
        NVDP_TRY(nvdp__exact_tpr(exact, nvdp__exact_fpr[i], &pair->tpr[i], &is_bound));
        if (is_bound) *bounds |= NVDP_EXACT_TPR;
    }
    return NVDP_OK;
}

nvdp_status nvdp__exact_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                              const struct nvdp__privacy_options *options,
                              struct nvdp_exact_summary *out) {
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct work work = {.ctx = ctx, .set = set, .options = options};
    struct nvdp_exact_summary made = {.struct_size = sizeof made,
                                      .delta = options->bdp.delta,
                                      .releases = options->bdp.releases,
                                      .confidence = confidence};
    const char *pair = options->exact.pair; /* such as "3,17" */
    size_t *p = &made.asked.p, *q = &made.asked.q;
    char more;
    if (pair != NULL && (sscanf(pair, "%zu,%zu%c", p, q, &more) != 2 || *p >= set->texts ||
                         *q >= set->texts || *p == *q))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pair: expected two text numbers below %zu in the form I,J, found '%s'",
                          set->texts, pair);
    NVDP_TRY(list_pairs(&work, &memory));
    if (work.pairs == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "pairs: no two of the %zu texts have the same length", set->texts);
    made.pairs = work.pairs;
    NVDP_TRY(find_worst(&work, &made));
    NVDP_TRY(find_mean(&work, &made));
    NVDP_TRY(describe(ctx, set, options, &made.worst, &made.bounds.worst));
    NVDP_TRY(describe(ctx, set, options, &made.typical, &made.bounds.typical));
    if (pair != NULL) NVDP_TRY(describe(ctx, set, options, &made.asked, &made.bounds.asked));
    *out = made;
    return NVDP_OK;
}
