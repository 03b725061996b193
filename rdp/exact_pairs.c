/* Exact epsilons over all pairs of a data set: the largest one, and the mean of drawn pairs. */
#include "base/own.h"
#include "base/random.h"
#include "rdp/pairs.h"

#include <stdio.h>
#include <stdlib.h>

static const double confidence = 0.95;

struct work {
    struct nvdp_context *ctx;
    const struct nvdp_posteriors *set;
    const struct nvdp__privacy_options *options;
    double *bound;          /* [N, N] upper bounds of epsilon; NaN: not adjacent */
    struct candidate *list; /* the adjacent pairs by decreasing bound */
    size_t pairs;
    struct nvdp_exact_bounds bounds; /* which results are only bounds */
};
struct candidate {
    double bound;
    size_t p, q;
};

struct found {
    double epsilon;
    bool is_bound; /* an upper bound instead of the exact value */
};

static int descending(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    if (a->bound != b->bound) return a->bound > b->bound ? -1 : 1;
    if (a->p != b->p) return a->p < b->p ? -1 : 1;
    return (a->q > b->q) - (a->q < b->q);
}

static nvdp_status cancelled(const struct work *work) {
    return nvdp__check_cancelled(work->ctx, "exact epsilons: cancelled");
}

/* Bounds every pair with its own orders: smaller orders may be finite where those of a grid are
 * not. */
static nvdp_status list_pairs(struct work *work) {
    const size_t n = work->set->texts;
    const struct nvdp__bdp_options *bdp = &work->options->bdp;
    const int threads = nvdp_context_threads(work->ctx);
    struct nvdp__meter meter;
    nvdp_status failed = NVDP_OK;
    NVDP_TRY(NVDP__NEW(work->ctx, work->bound, n * n));
    nvdp__meter_begin(&meter, work->ctx, "bounds", "text", 0, n);
    for (size_t p = 0; p < n && failed == NVDP_OK; p++) {
        failed = cancelled(work);
#pragma omp parallel for schedule(dynamic, 8) num_threads(threads)
        for (size_t q = 0; q < n; q++) {
            struct nvdp_exact *exact = NULL;
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
            nvdp_exact_free(exact);
        }
        nvdp__meter_update(&meter, p + 1, (double)((p + 1) * n), "pair", NAN);
    }
    nvdp__meter_end(&meter);
    NVDP_TRY(failed);
    for (size_t i = 0; i < n * n; i++)
        work->pairs += !isnan(work->bound[i]);
    NVDP_TRY(NVDP__NEW(work->ctx, work->list, work->pairs));
    for (size_t i = 0, at = 0; i < n * n; i++)
        if (!isnan(work->bound[i]))
            work->list[at++] = (struct candidate){work->bound[i], i / n, i % n};
    qsort(work->list, work->pairs, sizeof *work->list, descending);
    return NVDP_OK;
}

static nvdp_status epsilon_of(const struct work *work, size_t p, size_t q, struct found *found) {
    struct nvdp_exact *exact = NULL;
    const struct nvdp__bdp_options *bdp = &work->options->bdp;
    nvdp_status status = nvdp_exact_texts(work->ctx, work->set, p, q, bdp->releases, &exact);
    if (status == NVDP_OK)
        status = nvdp__exact_epsilon(exact, bdp->delta, &found->epsilon, &found->is_bound);
    nvdp_exact_free(exact);
    return status;
}

/* Computes pairs[0..n) in parallel. */
static nvdp_status epsilons(const struct work *work, size_t n, const struct candidate *pairs,
                            struct found *found) {
    nvdp_status failed = cancelled(work);
    const int threads = nvdp_context_threads(work->ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        if (failed != NVDP_OK) continue;
        nvdp_status status = epsilon_of(work, pairs[i].p, pairs[i].q, &found[i]);
        if (status != NVDP_OK) {
#pragma omp atomic write
            failed = status;
        }
    }
    return failed;
}

/* Evaluates pairs by decreasing bound until a bound is below the largest value found. */
static nvdp_status find_worst(struct work *work, struct nvdp_exact_summary *out) {
    enum { ROUND = 16 };
    struct found found[ROUND];
    out->worst.epsilon = -INFINITY;
    while (out->evaluated < work->pairs && work->list[out->evaluated].bound > out->worst.epsilon) {
        const struct candidate *from = work->list + out->evaluated;
        const size_t n = nvdp__min(ROUND, work->pairs - out->evaluated);
        NVDP_TRY(epsilons(work, n, from, found));
        for (size_t i = 0; i < n; i++) {
            work->bounds.evaluated += found[i].is_bound;
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

/* Draws pairs uniformly with replacement, or takes all if there are not more. */
static nvdp_status find_mean(struct work *work, struct nvdp_exact_summary *out) {
    const size_t largest = work->options->exact.mean_pairs, n = nvdp__min(largest, work->pairs);
    nvdp__autofree struct candidate *drawn = NULL;
    nvdp__autofree struct found *found = NULL;
    double sum = 0, square = 0;
    size_t finite = 0, nearest = 0;
    NVDP_TRY(NVDP__NEW(work->ctx, drawn, n));
    NVDP_TRY(NVDP__NEW(work->ctx, found, n));
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
        work->bounds.drawn += found[k].is_bound;
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
    pair->strip = nvdp_exact_strip(exact);
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

/* "3,17" */
static nvdp_status read_pair(struct nvdp_context *ctx, const char *text, size_t texts,
                             struct nvdp_exact_pair *pair) {
    char more;
    const bool two = sscanf(text, "%zu,%zu%c", &pair->p, &pair->q, &more) == 2;
    if (two && pair->p < texts && pair->q < texts && pair->p != pair->q) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "pair: expected two text numbers below %zu in the form I,J, found '%s'",
                      texts, text);
}

nvdp_status nvdp__exact_pairs(struct nvdp_context *ctx, const struct nvdp_posteriors *set,
                              const struct nvdp__privacy_options *options,
                              struct nvdp_exact_summary *out, struct nvdp_exact_bounds *bounds) {
    nvdp_status status = NVDP_OK;
    struct work work = {.ctx = ctx, .set = set, .options = options};
    struct nvdp_exact_summary made = {.struct_size = sizeof made,
                                      .delta = options->bdp.delta,
                                      .releases = options->bdp.releases,
                                      .confidence = confidence};
    if (options->exact.pair != NULL)
        NVDP_TRY_OR_CLEAN(read_pair(ctx, options->exact.pair, set->texts, &made.asked));
    NVDP_TRY_OR_CLEAN(list_pairs(&work));
    if (work.pairs == 0)
        NVDP_TRY_OR_CLEAN(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                     "pairs: no two of the %zu texts have the same length",
                                     set->texts));
    made.pairs = work.pairs;
    NVDP_TRY_OR_CLEAN(find_worst(&work, &made));
    NVDP_TRY_OR_CLEAN(find_mean(&work, &made));
    NVDP_TRY_OR_CLEAN(describe(ctx, set, options, &made.worst, &work.bounds.worst));
    NVDP_TRY_OR_CLEAN(describe(ctx, set, options, &made.typical, &work.bounds.typical));
    if (options->exact.pair != NULL)
        NVDP_TRY_OR_CLEAN(describe(ctx, set, options, &made.asked, &work.bounds.asked));
    *out = made;
    *bounds = work.bounds;
cleanup:
    free(work.bound);
    free(work.list);
    return status;
}
