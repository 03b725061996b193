/* Branch and bound over pairs.
 *
 * A large value is found first: of every text as P against the Q of its largest bound, then by
 * turns the best P for the Q found and the best Q for that P.  Then every pair is ruled out by its
 * separable bound (rdp/bound.h) alone, or by the bound of its Gaussians and the value of its
 * weights, or its sum is computed: in fast arithmetic, and in exact where it may be the largest.
 * Rows of pairs run in parallel between two updates of the largest, so that what is computed does
 * not depend on threads. */
#include "rdp/search.h"
#include "base/base.h"
#include "rdp/order.h"
#include <math.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { TURNS = 16, ROWS_A_ROUND = 64 };

/* Above the error of the fast arithmetic. */
static const double doubt = 2e-6;

struct search {
    const struct nvdp__pairs *pairs;
    const struct nvdp__group *group;
    struct nvdp__gaussian_plan fast, exact;
    struct nvdp__bounds bounds;
    double *scratch; /* [threads, 2 n] */
    struct nvdp__largest best;
};

/* Takes the pair's value into `best`. */
static void sum_pair(const struct search *search, size_t i, size_t j, struct nvdp__largest *best) {
    size_t p = search->group->text[i];
    size_t q = search->group->text[j];
    double value = nvdp__pair_value(search->pairs, &search->fast, p, q);
    best->summed++;
    if (value < (1 - doubt) * best->value) return;
    if (value < INFINITY) value = nvdp__pair_exact(search->pairs, &search->exact, p, q);
    if (value > best->value) {
        best->value = value;
        best->p = p;
        best->q = q;
    }
}

/* The bound of the Gaussians plus the weights' own value, and its rounding. */
static double tighter(const struct search *search, size_t i, size_t j, double gaussian) {
    const bool wanted[2] = {true, false};
    const double rest[2] = {gaussian, 0};
    double value[2];
    if (search->pairs->set->alpha == NULL) return gaussian;
    nvdp__weights_both(&search->fast, &search->pairs->weights, search->group->text[i],
                       search->group->text[j], wanted, rest, value);
    return (1 + doubt) * (gaussian + value[0]);
}

/* Text i as P (as Q: `as_q`) against all: what no bound rules out. */
static void search_row(const struct search *search, size_t i, bool as_q, double *scratch,
                       struct nvdp__largest *best) {
    size_t n = search->group->n;
    double *gaussian = scratch;
    double *weights = scratch + n;
    nvdp__bounds_row(&search->bounds, i, as_q, gaussian, weights);
    for (size_t j = 0; j < n; j++) {
        size_t p = as_q ? j : i;
        size_t q = as_q ? i : j;
        if (j == i || gaussian[j] + weights[j] < best->value) continue;
        if (tighter(search, p, q, gaussian[j]) < best->value) continue;
        sum_pair(search, p, q, best);
    }
}

/* Text i as P against the text of the largest bound. */
static void probe_row(const struct search *search, size_t i, double *scratch,
                      struct nvdp__largest *best) {
    size_t n = search->group->n;
    size_t at = i == 0 ? 1 : 0;
    nvdp__bounds_row(&search->bounds, i, false, scratch, scratch + n);
    for (size_t j = 0; j < n; j++) {
        bool more = scratch[j] + scratch[n + j] > scratch[at] + scratch[n + at];
        if (j != i && more) at = j;
    }
    sum_pair(search, i, at, best);
}

static void take(struct nvdp__largest *to, const struct nvdp__largest *from) {
    to->summed += from->summed;
    if (!(from->value > to->value)) return;
    to->value = from->value;
    to->p = from->p;
    to->q = from->q;
}

/* All rows, or a probe of each. */
static nvdp_status all_rows(struct search *search, bool probe) {
    struct nvdp_context *ctx = search->pairs->ctx;
    const size_t n = search->group->n;
    const int threads = nvdp_context_threads(ctx);
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, ctx, "pairs", "text", 0, n);
    for (size_t first = 0; first < n && search->best.value < INFINITY; first += ROWS_A_ROUND) {
        struct nvdp__largest found[ROWS_A_ROUND];
        const size_t end = nvdp__least(first + ROWS_A_ROUND, n);
        if (nvdp__cancelled(ctx)) {
            nvdp__meter_end(&meter);
            return nvdp__fail(ctx, NVDP_ERR_CANCELLED, "pairs: cancelled after %zu of %zu texts",
                              first, n);
        }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = first; i < end; i++) {
            size_t mine = 0;
#ifdef _OPENMP
            mine = (size_t)omp_get_thread_num();
#endif
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
            take(&search->best, &found[i - first]);
        }
        nvdp__meter_update(&meter, end, (double)end, "text", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

static size_t place_of(const struct nvdp__group *group, size_t text) {
    size_t i = 0;
    while (group->text[i] != text) {
        i++;
    }
    return i;
}

/* The best P for the Q found, the best Q for that P, and so on while it grows. */
static void climb(struct search *search) {
    double before = -1;
    for (int turn = 0; turn < TURNS && search->best.value > before; turn++) {
        before = search->best.value;
        size_t q = place_of(search->group, search->best.q);
        search_row(search, q, true, search->scratch, &search->best);
        size_t p = place_of(search->group, search->best.p);
        search_row(search, p, false, search->scratch, &search->best);
    }
}

nvdp_status nvdp__pairs_largest(struct nvdp__pairs *pairs, double order,
                                const struct nvdp__group *group, struct nvdp__largest *out) {
    nvdp_status status = NVDP_OK;
    bool infinite = false;
    size_t threads = (size_t)nvdp_context_threads(pairs->ctx);
    order = nvdp__order(order);
    struct search search = {.pairs = pairs,
                            .group = group,
                            .fast = nvdp__gaussian_plan(order, NVDP_PAIRS_FAST),
                            .exact = nvdp__gaussian_plan(order, NVDP_PAIRS_EXACT),
                            .best.value = -1};
    nvdp__pairs_padding(pairs, &search.fast);
    size_t p = group->text[0];
    size_t q = group->text[1];
    NVDP_TRY(nvdp__group_infinite(pairs, order, group, &infinite, &p, &q));
    if (infinite || isinf(order)) { /* at order infinity: else all are equal */
        *out = (struct nvdp__largest){.value = infinite ? INFINITY : 0, .p = p, .q = q};
        goto cleanup;
    }
    NVDP_TRY(nvdp__bounds_create(pairs, order, group, &search.bounds));
    search.scratch = nvdp__calloc(pairs->ctx, threads * 2 * group->n, sizeof *search.scratch);
    if (search.scratch == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    NVDP_TRY(all_rows(&search, true));
    climb(&search);
    NVDP_TRY(all_rows(&search, false));
    *out = search.best;
cleanup:
    nvdp__bounds_free(&search.bounds);
    free(search.scratch);
    return status;
}
