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

/* The positions at which two texts of the same length have different output distributions. */
struct pair {
    const struct nvdp_dchi *dchi;
    const int32_t *a, *b;
    size_t n, *position;
    double *rows;  /* [threads, 2, V] */
    double *means; /* [n, TILTS] M(k) of each position */
    double *range; /* [n] max difference of two losses */
    bool *equal;   /* [n] both outputs have the same distribution */
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

/* Computes epsilon at a delta, or delta at an epsilon (delta is NaN). */
static nvdp_status between(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                           double epsilon, double precision, size_t length, const int32_t *a,
                           const int32_t *b, struct nvdp_interval *out) {
    nvdp_status status = NVDP_OK;
    const size_t count = dchi->vectors->count, dim = dchi->vectors->dim;
    struct pair of = {.dchi = dchi, .a = a, .b = b};
    struct nvdp__loss_part *part = NULL;
    struct nvdp__loss loss = {0};
    nvdp_status failed = NVDP_OK;
    int best = 0;
    double smallest = INFINITY, range = 0;
    NVDP_TRY(NVDP__NEW(ctx, of.position, length));
    for (size_t i = 0; i < length; i++)
        if (a[i] != b[i]) of.position[of.n++] = i;
    const int limit = nvdp_context_threads(ctx);
    const int threads = of.n < (size_t)limit ? (int)(of.n > 0 ? of.n : 1) : limit;
    NVDP_TRY(NVDP__NEW(ctx, of.rows, nvdp__dchi_exact(dchi) ? (size_t)threads * 2 * count : 0));
    NVDP_TRY(NVDP__NEW(ctx, of.means, of.n * TILTS));
    NVDP_TRY(NVDP__NEW(ctx, of.range, of.n));
    NVDP_TRY(NVDP__NEW(ctx, of.equal, of.n));
    NVDP_TRY(NVDP__NEW(ctx, part, of.n));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < of.n; i++)
        means(&of, i);
    remove_equal(&of);
    if (of.n == 0) {
        *out = (struct nvdp_interval){0, 0};
        goto cleanup;
    }
    for (size_t i = 0; i < of.n; i++)
        range += of.range[i];
    if (isinf(range) || (!nvdp__dchi_exact(dchi) && range > max_range)) {
        /* because |L| <= range/2 */
        *out = (struct nvdp_interval){0, isnan(delta) ? epsilon < range / 2 : range / 2};
        goto cleanup;
    }
    bool only_bound = dchi->row->bound_of != NULL;
    for (size_t i = 0; i < of.n; i++)
        only_bound |= !nvdp__dchi_exact(dchi) && (a[of.position[i]] < 0 || b[of.position[i]] < 0);
    for (int t = 0; t < TILTS; t++) {
        const double k = tilt(t);
        double sum = 0;
        for (size_t i = 0; i < of.n; i++)
            sum += of.means[i * TILTS + (size_t)t];
        /* Canonne, Kamath & Steinke 2020, Proposition 12, in either direction: chooses the tilt
         * with the best bound. */
        const double gain = k * log(k / (k + 1)) - log1p(k);
        const double bound =
            isnan(delta) ? sum + gain - k * epsilon : (sum + gain - log(delta)) / k;
        if (bound < smallest) {
            smallest = bound;
            best = t;
        }
    }
    const double size = isnan(delta) ? epsilon : smallest;
    const double step =
        fmax(precision * fmax(size, 0.1) / (double)of.n, range / (double)MAX_POINTS);
    const double k = fmin(tilt(best), max_tilted / (step * (double)of.n));
    const double cut = 1e-7 / (double)of.n;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < of.n; i++) {
        const double *rows = rows_of(&of, i);
        nvdp_status made =
            rows != NULL
                ? nvdp__loss_discrete(ctx, count, rows, rows + count, k, step, cut, &part[i])
                : nvdp__loss_laplace(ctx, dim, distance(&of, i), k, step, cut, &part[i]);
        if (made != NVDP_OK) {
#pragma omp critical
            failed = made;
        }
    }
    NVDP_TRY(failed);
    NVDP_TRY(nvdp__loss_sum(ctx, of.n, part, k, step, &loss));
    *out = isnan(delta) ? nvdp__loss_delta(&loss, epsilon) : nvdp__loss_epsilon(&loss, delta);
    if (only_bound) out->low = 0; /* only an upper bound is known */
cleanup:
    for (size_t i = 0; i < of.n && part != NULL; i++)
        free(part[i].mass);
    free(part);
    nvdp__loss_free(&loss);
    free(of.position);
    free(of.rows);
    free(of.means);
    free(of.range);
    free(of.equal);
    return status;
}

nvdp_status nvdp__dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                               double precision, size_t length, const int32_t *a, const int32_t *b,
                               struct nvdp_interval *out) {
    return between(ctx, dchi, delta, NAN, precision, length, a, b, out);
}

static nvdp_status check_texts(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                               size_t length_a, const int32_t *a, size_t length_b,
                               const int32_t *b) {
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, length_a, a));
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
    NVDP_RETURN_IF_FAILED(check_texts(ctx, dchi, length_a, a, length_b, b));
    if (length_a == length_b) return between(ctx, dchi, delta, NAN, precise, length_a, a, b, out);
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
    NVDP_RETURN_IF_FAILED(check_texts(ctx, dchi, length_a, a, length_b, b));
    if (length_a == length_b) return between(ctx, dchi, NAN, epsilon, precise, length_a, a, b, out);
    *out = (struct nvdp_interval){1, 1};
    return NVDP_OK;
}
