/* The privacy loss of two texts: delta at an epsilon, and epsilon at a delta. */
#include "rdp/loss.h"
#include "dchi/dchi.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Tilts are tried from .01 on, five per decade; MAX_POINTS bounds the grid. */
enum { TILTS = 25, MAX_POINTS = 1 << 22 };
static const double min_tilt = 0.01;

/* Upper bound of n h, the width that the grid leaves open, in units of 1/k. The uncertainty of
 * delta, a share 2e-7 of a tilted mass, grows by e^(k n h), so larger tilts do not help. */
static const double max_tilted = 12;
/* For a Laplace mechanism: beyond this range, its losses come from angles within s^(-1/2) of pi,
 * for which double has too few digits. */
static const double max_range = 1e12;

/* The positions at which two texts of the same length have different output distributions, and the question: epsilon at
 * delta, or delta at epsilon if delta is NaN. */
struct pair {
    struct nvdp_context *ctx;
    const struct nvdp_dchi *dchi;
    double delta, epsilon, precision; /* precision: width of the answer in proportion to it */
    size_t length;
    const int32_t *a, *b; /* [length] */
    int threads;
    size_t n, *position;          /* [n] */
    double *rows;                 /* [threads, 2, V] */
    double *means;                /* [n, TILTS] M(k) of each position */
    double *range;                /* [n] max difference of two losses */
    bool *equal;                  /* [n] both outputs have the same distribution */
    struct nvdp__loss_part *part; /* [n] */
};

static double distance(const struct pair *of, size_t i) {
    return nvdp__dchi_distance(of->dchi, of->a[of->position[i]], of->b[of->position[i]]);
}

/* Both rows of position i; NULL for laplace. */
static double *rows_of(const struct pair *of, size_t i) {
    if (!nvdp__dchi_exact(of->dchi)) return NULL;
    double *rows = of->rows + (size_t)omp_get_thread_num() * 2 * of->dchi->vectors->count;
    const size_t at = of->position[i];
    nvdp__dchi_rows(of->dchi, 2, (const int32_t[]){of->a[at], of->b[at]}, rows);
    return rows;
}

static double tilt(int t) {
    return min_tilt * pow(10, t / 5.0);
}

static void means(const struct pair *of, size_t i) {
    const size_t count = of->dchi->vectors->count, dim = of->dchi->vectors->dim;
    const double *rows = rows_of(of, i), s = rows == NULL ? distance(of, i) : 0;
    double low = -s, high = s;
    for (size_t y = 0; y < count && rows != NULL; y++) {
        const double t = rows[y] - rows[count + y];
        if (!isfinite(t)) continue;
        low = fmin(low, t);
        high = fmax(high, t);
    }
    of->range[i] = high - low;
    of->equal[i] = rows != NULL ? memcmp(rows, rows + count, count * sizeof *rows) == 0 : s == 0;
    for (int t = 0; t < TILTS; t++)
        of->means[i * TILTS + (size_t)t] =
            rows != NULL ? nvdp__loss_log_mean(count, rows, rows + count, tilt(t))
                         : tilt(t) * nvdp_renyi_laplace(1 + tilt(t), dim, s);
}

/* Removes positions with equal distributions, because the grid would round their zero losses up. */
static void remove_equal(struct pair *of) {
    size_t n = 0;
    for (size_t i = 0; i < of->n; i++) {
        if (of->equal[i]) continue;
        memmove(of->means + n * TILTS, of->means + i * TILTS, TILTS * sizeof *of->means);
        of->range[n] = of->range[i];
        of->position[n++] = of->position[i];
    }
    of->n = n;
}

static nvdp_status find_positions(struct pair *of) {
    const size_t count = of->dchi->vectors->count;
    NVDP_TRY(NVDP__NEW(of->ctx, of->position, of->length));
    for (size_t i = 0; i < of->length; i++)
        if (of->a[i] != of->b[i]) of->position[of->n++] = i;
    const int limit = nvdp_context_threads(of->ctx);
    of->threads = of->n < (size_t)limit ? (int)(of->n > 0 ? of->n : 1) : limit;
    NVDP_TRY(NVDP__NEW(of->ctx, of->rows,
                       nvdp__dchi_exact(of->dchi) ? (size_t)of->threads * 2 * count : 0));
    NVDP_TRY(NVDP__NEW(of->ctx, of->means, of->n * TILTS));
    NVDP_TRY(NVDP__NEW(of->ctx, of->range, of->n));
    NVDP_TRY(NVDP__NEW(of->ctx, of->equal, of->n));
    NVDP_TRY(NVDP__NEW(of->ctx, of->part, of->n));
#pragma omp parallel for schedule(dynamic, 1) num_threads(of->threads)
    for (size_t i = 0; i < of->n; i++)
        means(of, i);
    remove_equal(of);
    return NVDP_OK;
}

static void release(struct pair *of) {
    for (size_t i = 0; i < of->n && of->part != NULL; i++)
        free(of->part[i].mass);
    free(of->part);
    free(of->position);
    free(of->rows);
    free(of->means);
    free(of->range);
    free(of->equal);
}

/* Returns the tilt with the best bound, and the bound: Canonne, Kamath & Steinke 2020, Proposition 12, in either
 * direction. */
static double best_tilt(const struct pair *of, double *bound) {
    double best = tilt(0);
    *bound = INFINITY;
    for (int t = 0; t < TILTS; t++) {
        const double k = tilt(t), gain = k * log(k / (k + 1)) - log1p(k);
        double sum = 0;
        for (size_t i = 0; i < of->n; i++)
            sum += of->means[i * TILTS + (size_t)t];
        const double found =
            isnan(of->delta) ? sum + gain - k * of->epsilon : (sum + gain - log(of->delta)) / k;
        if (found < *bound) best = k;
        *bound = fmin(found, *bound);
    }
    return best;
}

/* Computes the loss of each position on the grid. */
static nvdp_status grid_losses(const struct pair *of, double k, double step) {
    const size_t count = of->dchi->vectors->count, dim = of->dchi->vectors->dim;
    const double cut = 1e-7 / (double)of->n;
    nvdp_status failed = NVDP_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(of->threads)
    for (size_t i = 0; i < of->n; i++) {
        const double *rows = rows_of(of, i);
        nvdp_status made = rows != NULL ? nvdp__loss_discrete(of->ctx, count, rows, rows + count, k,
                                                              step, cut, &of->part[i])
                                        : nvdp__loss_laplace(of->ctx, dim, distance(of, i), k, step,
                                                             cut, &of->part[i]);
        if (made != NVDP_OK) {
#pragma omp critical
            failed = made;
        }
    }
    return failed;
}

/* Returns true if a position has only an upper bound of its loss. */
static bool only_bounded(const struct pair *of) {
    bool only = of->dchi->row->bound_of != NULL;
    for (size_t i = 0; i < of->n && !nvdp__dchi_exact(of->dchi); i++)
        only |= of->a[of->position[i]] < 0 || of->b[of->position[i]] < 0;
    return only;
}

static nvdp_status epsilon_or_delta(struct pair *of, struct nvdp_interval *out) {
    nvdp_status status = NVDP_OK;
    const bool asks_delta = isnan(of->delta);
    struct nvdp__loss loss = {0};
    double range = 0, bound;
    NVDP_TRY_OR_CLEAN(find_positions(of));
    if (of->n == 0) {
        *out = (struct nvdp_interval){0, 0};
        goto cleanup;
    }
    for (size_t i = 0; i < of->n; i++)
        range += of->range[i];
    if (isinf(range) || (!nvdp__dchi_exact(of->dchi) && range > max_range)) {
        /* because |L| <= range/2 */
        *out = (struct nvdp_interval){0, asks_delta ? of->epsilon < range / 2 : range / 2};
        goto cleanup;
    }
    const double best = best_tilt(of, &bound), size = asks_delta ? of->epsilon : bound;
    const double step =
        fmax(of->precision * fmax(size, 0.1) / (double)of->n, range / (double)MAX_POINTS);
    const double k = fmin(best, max_tilted / (step * (double)of->n));
    NVDP_TRY_OR_CLEAN(grid_losses(of, k, step));
    NVDP_TRY_OR_CLEAN(nvdp__loss_sum(of->ctx, of->n, of->part, k, step, &loss));
    *out = asks_delta ? nvdp__loss_delta(&loss, of->epsilon) : nvdp__loss_epsilon(&loss, of->delta);
    if (only_bounded(of)) out->low = 0;
cleanup:
    nvdp__loss_free(&loss);
    release(of);
    return status;
}

nvdp_status nvdp__dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                               double precision, size_t length, const int32_t *a, const int32_t *b,
                               struct nvdp_interval *out) {
    struct pair of = {.ctx = ctx,
                      .dchi = dchi,
                      .delta = delta,
                      .epsilon = NAN,
                      .precision = precision,
                      .length = length,
                      .a = a,
                      .b = b};
    return epsilon_or_delta(&of, out);
}

static nvdp_status check_texts(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                               size_t length_a, const int32_t *a, size_t length_b,
                               const int32_t *b) {
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, length_a, a));
    return nvdp__dchi_check(ctx, dchi, length_b, b);
}

static const double precise = 1e-3;

nvdp_status nvdp_dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                              size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                              struct nvdp_interval *out) {
    if (!(delta > 0 && delta < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "text privatization: delta: expected a number between 0 and 1, found %g",
                          delta);
    NVDP_TRY(check_texts(ctx, dchi, length_a, a, length_b, b));
    if (length_a == length_b)
        return nvdp__dchi_epsilon(ctx, dchi, delta, precise, length_a, a, b, out);
    *out = (struct nvdp_interval){INFINITY, INFINITY};
    return NVDP_OK;
}

nvdp_status nvdp_dchi_delta(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double epsilon,
                            size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                            struct nvdp_interval *out) {
    if (!(epsilon >= 0 && isfinite(epsilon)))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "text privatization: epsilon: expected a finite number of at least 0, found %g",
            epsilon);
    NVDP_TRY(check_texts(ctx, dchi, length_a, a, length_b, b));
    struct pair of = {.ctx = ctx,
                      .dchi = dchi,
                      .delta = NAN,
                      .epsilon = epsilon,
                      .precision = precise,
                      .length = length_a,
                      .a = a,
                      .b = b};
    if (length_a == length_b) return epsilon_or_delta(&of, out);
    *out = (struct nvdp_interval){1, 1};
    return NVDP_OK;
}
