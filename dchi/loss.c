/* The privacy loss of two texts: delta at an epsilon, and epsilon at a delta. Then the privacy of one noised vector
 * per text (Qu et al. 2021, section 3.2.3), over all pairs of a data set. */
#include "rdp/loss.h"

#include "dchi/dchi.h"
#include "dchi/token_options.h"
#include "rdp/pairs.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Tilts are tried from .01 on, five per decade; MAX_POINTS bounds the grid. */
enum { TILTS = 25, MAX_POINTS = 1 << 22 };
static const double min_tilt = 0.01;

/* Upper bound of n h, the width of the interval that the grid leaves, in units of 1/k. The uncertainty of delta, a
 * share 2e-7 of a tilted mass, grows by e^(k n h), so larger tilts do not help. */
static const double max_tilted = 12;
/* Max range of the loss of a Laplace mechanism: beyond, the losses come from angles within s^(-1/2) of pi, for which
 * double has too few digits. */
static const double max_range = 1e12;

/* The positions at which two texts of the same length have different output distributions, and the question: epsilon
 * at delta or, if delta is NaN, delta at epsilon. */
struct pair {
    struct nvdp_context *ctx;
    const struct nvdp_dchi *dchi;
    double delta, epsilon;
    size_t length;
    const int32_t *a, *b; /* [length] tokens of the two texts */
    int threads;
    size_t n, *position;          /* [n] positions */
    struct nvdp__memory memory;   /* owner of the arrays below */
    double *rows;                 /* [threads, 2, V] scratch buffers */
    double *means;                /* [n, TILTS] M(k) of each position */
    double *range;                /* [n] max difference of two losses */
    bool *equal;                  /* [n] true if both outputs have the same distribution */
    struct nvdp__loss_part *part; /* [n] loss of each position on the grid */
};

static double distance(const struct pair *of, size_t i) {
    return nvdp__dchi_distance(of->dchi, of->a[of->position[i]], of->b[of->position[i]]);
}

/* Returns both rows of position i; NULL for laplace. */
static double *pair_rows(const struct pair *of, size_t i) {
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
    const double *rows = pair_rows(of, i), s = rows == NULL ? distance(of, i) : 0;
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

/* Finds the positions whose outputs differ. Positions with equal distributions are left out, because the grid would
 * round their zero losses up. */
static nvdp_status find_positions(struct pair *of) {
    const size_t count = of->dchi->vectors->count;
    size_t n = 0;
    NVDP_TRY(NVDP__NEW(of->ctx, of->position, of->length));
    for (size_t i = 0; i < of->length; i++)
        if (of->a[i] != of->b[i]) of->position[of->n++] = i;
    const int limit = nvdp_context_threads(of->ctx);
    of->threads = of->n < (size_t)limit ? (int)(of->n > 0 ? of->n : 1) : limit;
    const size_t rows = nvdp__dchi_exact(of->dchi) ? (size_t)of->threads * 2 * count : 0;
    NVDP_TRY(NVDP__ARRAYS(of->ctx, &of->memory, NVDP__ITEMS(of->rows, rows),
                          NVDP__ITEMS(of->means, of->n * TILTS), NVDP__ITEMS(of->range, of->n),
                          NVDP__ITEMS(of->equal, of->n), NVDP__ITEMS(of->part, of->n)));
#pragma omp parallel for schedule(dynamic, 1) num_threads(of->threads)
    for (size_t i = 0; i < of->n; i++)
        means(of, i);
    for (size_t i = 0; i < of->n; i++) {
        if (of->equal[i]) continue;
        memmove(of->means + n * TILTS, of->means + i * TILTS, TILTS * sizeof *of->means);
        of->range[n] = of->range[i];
        of->position[n++] = of->position[i];
    }
    of->n = n;
    return NVDP_OK;
}

static void release(struct pair *of) {
    for (size_t i = 0; i < of->n && of->part != NULL; i++)
        free(of->part[i].mass);
    free(of->position);
    nvdp__memory_release(&of->memory);
}

/* Returns the tilt with the smallest bound, and the bound, by Canonne, Kamath & Steinke 2020, Proposition 12, in
 * either direction. */
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
        const double *rows = pair_rows(of, i);
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

/* Answers the question about two texts: epsilon at delta or, if delta is NaN, delta at epsilon. `precision` is the
 * width of the answer's interval relative to the answer. */
static nvdp_status ask(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                       double epsilon, double precision, size_t length_a, const int32_t *a,
                       size_t length_b, const int32_t *b, struct nvdp_interval *out) {
    const bool asks_delta = isnan(delta);
    const double other_length = asks_delta ? 1 : INFINITY;
    nvdp__auto(nvdp__loss_free) struct nvdp__loss loss = {0};
    nvdp__auto(release) struct pair of = {.ctx = ctx,
                                          .dchi = dchi,
                                          .delta = delta,
                                          .epsilon = epsilon,
                                          .length = length_a,
                                          .a = a,
                                          .b = b};
    double range = 0, bound;
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, length_a, a));
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, length_b, b));
    if (length_a != length_b) {
        *out = (struct nvdp_interval){other_length, other_length};
        return NVDP_OK;
    }
    NVDP_TRY(find_positions(&of));
    *out = (struct nvdp_interval){0, 0};
    if (of.n == 0) return NVDP_OK;
    for (size_t i = 0; i < of.n; i++)
        range += of.range[i];
    if (isinf(range) || (!nvdp__dchi_exact(dchi) && range > max_range)) {
        /* |L| <= range/2 */
        out->high = asks_delta ? epsilon < range / 2 : range / 2;
        return NVDP_OK;
    }
    const double best = best_tilt(&of, &bound), size = asks_delta ? epsilon : bound;
    const double step =
        fmax(precision * fmax(size, 0.1) / (double)of.n, range / (double)MAX_POINTS);
    const double k = fmin(best, max_tilted / (step * (double)of.n));
    NVDP_TRY(grid_losses(&of, k, step));
    NVDP_TRY(nvdp__loss_sum(ctx, of.n, of.part, k, step, &loss));
    *out = asks_delta ? nvdp__loss_delta(&loss, epsilon) : nvdp__loss_epsilon(&loss, delta);
    if (only_bounded(&of)) out->low = 0;
    return NVDP_OK;
}

nvdp_status nvdp__dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                               double precision, size_t length, const int32_t *a, const int32_t *b,
                               struct nvdp_interval *out) {
    return ask(ctx, dchi, delta, NAN, precision, length, a, length, b, out);
}

static const double precise = 1e-3;

nvdp_status nvdp_dchi_epsilon(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double delta,
                              size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                              struct nvdp_interval *out) {
    if (!(delta > 0 && delta < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "text privatization: delta: expected a number between 0 and 1, found %g",
                          delta);
    return ask(ctx, dchi, delta, NAN, precise, length_a, a, length_b, b, out);
}

nvdp_status nvdp_dchi_delta(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, double epsilon,
                            size_t length_a, const int32_t *a, size_t length_b, const int32_t *b,
                            struct nvdp_interval *out) {
    if (!(epsilon >= 0 && isfinite(epsilon)))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "text privatization: epsilon: expected a finite number of at least 0, found %g",
            epsilon);
    return ask(ctx, dchi, NAN, epsilon, precise, length_a, a, length_b, b, out);
}

/* ==== one noised vector per text ==== */

struct work {
    struct nvdp_context *ctx;
    size_t texts, dim;
    /* [N (N-1) / 2] per pair of texts i > j, in order: eta |s - s'|; D_l */
    double *distance, *value;
};

/* Fills the matrix, for struct nvdp__divergence_source. Both texts of a pair have the same noise, so both directions
 * are equal. */
static nvdp_status fill(void *of, double order, double *matrix) {
    const struct work *work = of;
    const size_t n = work->texts;
    NVDP_TRY(nvdp__renyi_laplaces(work->ctx, order, work->dim, n * (n - 1) / 2, work->distance,
                                  work->value));
    for (size_t i = 0, at = 0; i < n; i++) {
        matrix[i * n + i] = 0;
        for (size_t j = 0; j < i; j++)
            matrix[i * n + j] = matrix[j * n + i] = work->value[at++];
    }
    return nvdp__check_cancelled(work->ctx, "cancelled");
}

nvdp_status nvdp__sequence_privacy(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                   size_t dim, const double *states,
                                   const struct nvdp__privacy_options *options, double *matrix,
                                   struct nvdp_privacy_report *out) {
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *clipped; /* [N, d] vectors after the clip */
    struct work work = {.ctx = ctx, .texts = texts, .dim = dim};
    const struct nvdp__divergence_source source = {fill, &work};
    struct nvdp_posteriors shape = {.texts = texts,
                                    .dim = dim,
                                    .kappa = 1,
                                    .policy = NVDP_LENGTH_PUBLIC, /* every sample has one row */
                                    .method = "sequence-laplace"};
    struct nvdp_privacy_report made = NVDP_RESULT(struct nvdp_privacy_report);
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__schema_check(ctx, &nvdp__privacy_schema, options));
    NVDP_TRY(nvdp__sequence_check(ctx, eta, clip, dim));
    if (options->pairs.adjacency != NVDP_ADJACENT_ALL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "adjacency: expected all with sequence-laplace, which shares one vector "
                          "per text whatever the length of the text");
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(shape.offset, texts + 1),
                          NVDP__ITEMS(work.distance, texts * (texts - 1) / 2),
                          NVDP__ITEMS(work.value, texts * (texts - 1) / 2),
                          NVDP__ITEMS(clipped, texts * dim)));
    for (size_t i = 0; i <= texts; i++)
        shape.offset[i] = i;
    for (size_t i = 0; i < texts; i++)
        nvdp__sequence_clip(dim, clip, states + i * dim, clipped + i * dim);
#pragma omp parallel for schedule(dynamic, 8) num_threads(nvdp_context_threads(ctx))
    for (size_t i = 0; i < texts; i++)
        for (size_t j = 0; j < i; j++)
            work.distance[i * (i - 1) / 2 + j] =
                eta * nvdp__distance(dim, clipped + i * dim, clipped + j * dim);
    NVDP_TRY(nvdp__privacy_measure_source(ctx, &shape, &source, options, matrix, NULL, &made));
    made.shape.policy = NVDP_LENGTH_HIDDEN;
    if (isfinite(clip)) {
        made.bound.clip_sequence = clip;
        made.bound.sum = nvdp_renyi_laplace(options->pairs.order, dim, 2 * clip * eta);
        made.bound.loss = 2 * clip * eta;
    }
    return NVDP__GIVE(out, &made);
}
