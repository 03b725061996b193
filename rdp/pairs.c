/* All ordered pairs.
 *
 * Texts are taken eight by eight.  Within such a tile the Gaussian part walks over the dimensions
 * in chunks, so that sixteen chunks serve sixty-four pairs from the cache: the rows of a text lie
 * one after the other, hence component c of one text faces component c of the other in two flat
 * arrays, whatever the width.  Components that only one text has face padding, which is the same
 * for everyone: those divergences are summed once a text.  Padding against padding is 0. */
#include "rdp/pairs.h"
#include "base/progress.h"
#include "rdp/fast.h"
#include "rdp/gaussian.h"
#include "rdp/order.h"
#include "rdp/sample.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { TILE = 8 };

static size_t rows_of(const struct nvdp_posteriors *set, size_t i) {
    return set->offset[i + 1] - set->offset[i];
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

bool nvdp__adjacent(const struct nvdp_posteriors *set, enum nvdp_adjacency adjacency, size_t i,
                    size_t j) {
    if (i == j) return false;
    return adjacency == NVDP_ADJACENT_ALL || rows_of(set, i) == rows_of(set, j);
}

static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

/* Adds count * lnG(x) to a sum that keeps the size its rounding is relative to: the value, and
 * x psi(x) for the rounding of x itself. */
static void add_log_gamma(double x, double count, double *sum, double *magnitude) {
    double value = count * log_gamma(x);
    *sum += value;
    *magnitude += fabs(value) + fabs(count) * (1 + x);
}

static void prepare_weights(struct nvdp__pairs *pairs, size_t i) {
    const struct nvdp_posteriors *set = pairs->set;
    double kappa = set->kappa;
    double total = set->prior_alpha;
    double sum = 0, magnitude = 0;
    add_log_gamma(set->prior_alpha / kappa, kappa, &sum, &magnitude);
    for (size_t r = set->offset[i]; r < set->offset[i + 1]; r++) {
        total += set->alpha[r];
        add_log_gamma(set->alpha[r] / kappa, kappa, &sum, &magnitude);
    }
    if (set->policy == NVDP_LENGTH_HIDDEN) {
        double padding = (double)(set->length - rows_of(set, i));
        total += padding * set->pad_alpha;
        add_log_gamma(set->pad_alpha / kappa, kappa * padding, &sum, &magnitude);
    }
    add_log_gamma(total, -1, &sum, &magnitude);
    pairs->alpha_sum[i] = total;
    pairs->log_beta[i] = sum;
    pairs->magnitude[i] = magnitude;
}

static nvdp_status allocate(struct nvdp__pairs *pairs) {
    struct nvdp_context *ctx = pairs->ctx;
    const struct nvdp_posteriors *set = pairs->set;
    size_t rows = set->offset[set->texts];
    pairs->var = nvdp__calloc(ctx, rows * set->dim, sizeof(double));
    if (pairs->var == NULL) return NVDP_ERR_MEMORY;
    if (set->policy == NVDP_LENGTH_HIDDEN) {
        pairs->to_pad = nvdp__calloc(ctx, rows, sizeof(double));
        if (pairs->to_pad == NULL) return NVDP_ERR_MEMORY;
        pairs->from_pad = nvdp__calloc(ctx, rows, sizeof(double));
        if (pairs->from_pad == NULL) return NVDP_ERR_MEMORY;
    }
    if (set->alpha == NULL) return NVDP_OK;
    pairs->alpha_sum = nvdp__calloc(ctx, set->texts, sizeof(double));
    if (pairs->alpha_sum == NULL) return NVDP_ERR_MEMORY;
    pairs->log_beta = nvdp__calloc(ctx, set->texts, sizeof(double));
    if (pairs->log_beta == NULL) return NVDP_ERR_MEMORY;
    pairs->magnitude = nvdp__calloc(ctx, set->texts, sizeof(double));
    return pairs->magnitude != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

nvdp_status nvdp__pairs_create(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               struct nvdp__pairs **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__pairs *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    made->ctx = ctx;
    made->set = posteriors;
    NVDP_TRY(allocate(made));
    const size_t items = posteriors->offset[posteriors->texts] * posteriors->dim;
    const size_t texts = posteriors->texts;
    const int threads = nvdp_context_threads(ctx);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t k = 0; k < items; k++) {
        made->var[k] = exp(posteriors->logvar[k]);
    }
    for (size_t i = 0; posteriors->alpha != NULL && i < texts; i++) {
        prepare_weights(made, i);
    }
    *out = made;
    made = NULL;
cleanup:
    nvdp__pairs_free(made);
    return status;
}

void nvdp__pairs_free(struct nvdp__pairs *pairs) {
    if (pairs == NULL) return;
    free(pairs->var);
    free(pairs->alpha_sum);
    free(pairs->log_beta);
    free(pairs->magnitude);
    free(pairs->to_pad);
    free(pairs->from_pad);
    free(pairs);
}

/* A row against padding, both directions. */
static void against_padding(struct nvdp__pairs *pairs, double order, size_t row) {
    const double zero = 0;
    const double one = 1;
    size_t p = pairs->set->dim;
    const double *mu = pairs->set->mu + row * p;
    const double *var = pairs->var + row * p;
    double to = 0, from = 0;
    for (size_t k = 0; k < p; k++) {
        to += nvdp__gaussian(order, 1, mu + k, var + k, &zero, &one);
        from += nvdp__gaussian(order, 1, &zero, &one, mu + k, var + k);
    }
    pairs->to_pad[row] = to;
    pairs->from_pad[row] = from;
}

/* to_pad, from_pad at this order, summed from each row to the text's last. */
static void prepare_padding(struct nvdp__pairs *pairs, double order) {
    const struct nvdp_posteriors *set = pairs->set;
    const size_t texts = set->texts;
    const int threads = nvdp_context_threads(pairs->ctx);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t i = 0; i < texts; i++) {
        for (size_t row = set->offset[i + 1]; row > set->offset[i]; row--) {
            against_padding(pairs, order, row - 1);
            if (row < set->offset[i + 1]) {
                pairs->to_pad[row - 1] += pairs->to_pad[row];
                pairs->from_pad[row - 1] += pairs->from_pad[row];
            }
        }
    }
}

/* The components only one of the two has, against padding; 0 under equal lengths. */
static double unmatched(const struct nvdp__pairs *pairs, size_t i, size_t j) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t rows_i = rows_of(set, i);
    size_t rows_j = rows_of(set, j);
    if (rows_i == rows_j) return 0;
    if (set->policy == NVDP_LENGTH_PUBLIC) return INFINITY;
    return rows_i > rows_j ? pairs->to_pad[set->offset[i] + rows_j]
                           : pairs->from_pad[set->offset[j] + rows_i];
}

/* Components of a pair where the far pseudo-count c = p + s (p - q) decides. */
struct weights {
    double sum;       /* kappa sum lnG(c / kappa) */
    double magnitude; /* the same over absolute values */
    bool near_edge;   /* some c is at or near 0 */
};

static void add_weight(struct weights *to, double s, double p, double q, int kappa, double count) {
    if (count == 0) return;
    double c = p + s * (p - q);
    if (c <= 1e-9 * p) {
        to->near_edge = true;
    } else {
        add_log_gamma(c / kappa, kappa * count, &to->sum, &to->magnitude);
    }
}

static double token_alpha(const struct nvdp_posteriors *set, size_t i, size_t c) {
    return c < rows_of(set, i) ? set->alpha[set->offset[i] + c] : set->pad_alpha;
}

/* Whether some far pseudo-count is clearly below 0: a cheap way to +inf.  Edges are left to
 * those who compute the value. */
static bool clearly_outside(const struct nvdp_posteriors *set, double order, size_t i, size_t j) {
    if (set->alpha == NULL) return false;
    double s = order - 1;
    size_t common = least(rows_of(set, i), rows_of(set, j));
    const double *p = set->alpha + set->offset[i];
    const double *q = set->alpha + set->offset[j];
    for (size_t c = 0; c < common; c++) {
        if (p[c] + s * (p[c] - q[c]) < -1e-9 * q[c]) return true;
    }
    return false;
}

/* The Dirichlet part by [lnB(c) - lnB(p)]/s - [lnB(p) - lnB(q)] from cached values, where its
 * rounding is below 3e-13 of the whole divergence; NaN where it is not, or near an edge. */
static double quick_weights(const struct nvdp__pairs *pairs, double order, size_t i, size_t j,
                            double gaussian) {
    const struct nvdp_posteriors *set = pairs->set;
    double s = order - 1;
    if (s == 0 || isinf(s)) return NAN;
    size_t longest = rows_of(set, i) + rows_of(set, j) - least(rows_of(set, i), rows_of(set, j));
    struct weights far = {0};
    add_weight(&far, s, set->prior_alpha, set->prior_alpha, set->kappa, 1);
    for (size_t c = 0; c < longest; c++) {
        add_weight(&far, s, token_alpha(set, i, c), token_alpha(set, j, c), set->kappa, 1);
        if (far.near_edge) return NAN;
    }
    if (set->policy == NVDP_LENGTH_HIDDEN) {
        double padding = (double)(set->length - longest);
        add_weight(&far, s, set->pad_alpha, set->pad_alpha, set->kappa, padding);
    }
    double total = pairs->alpha_sum[i] + s * (pairs->alpha_sum[i] - pairs->alpha_sum[j]);
    if (!(total > 1e-9 * pairs->alpha_sum[i])) return NAN;
    add_log_gamma(total, -1, &far.sum, &far.magnitude);
    double near = pairs->log_beta[i] - pairs->log_beta[j];
    double value = (far.sum - pairs->log_beta[i]) / s - near;
    double size =
        (far.magnitude + pairs->magnitude[i]) / fabs(s) + pairs->magnitude[i] + pairs->magnitude[j];
    return value > 0 && 2 * DBL_EPSILON * size < 3e-13 * (value + gaussian) ? value : NAN;
}

/* Eight texts against eight. */
struct tile {
    size_t first_i, first_j, count_i, count_j;
    bool wanted[TILE][TILE];
    double value[TILE][TILE];
};

static void tile_begin(const struct nvdp__pairs *pairs, const struct nvdp__pass *pass,
                       const double *matrix, struct tile *tile) {
    const struct nvdp_posteriors *set = pairs->set;
    for (size_t a = 0; a < tile->count_i; a++) {
        for (size_t b = 0; b < tile->count_j; b++) {
            size_t i = tile->first_i + a;
            size_t j = tile->first_j + b;
            double kept = matrix[i * set->texts + j];
            tile->value[a][b] = kept;
            tile->wanted[a][b] = false;
            if (i == j) {
                tile->value[a][b] = 0;
            } else if (!nvdp__adjacent(set, pass->adjacency, i, j)) {
                tile->value[a][b] = NAN;
            } else if (pass->settled != NULL && pass->settled[i] && pass->settled[j]) {
                continue;
            } else if (pass->keep_infinite && isinf(kept)) {
                continue;
            } else {
                double start = unmatched(pairs, i, j);
                bool infinite = isinf(start) || clearly_outside(set, pass->order, i, j);
                tile->value[a][b] = infinite ? INFINITY : start;
                tile->wanted[a][b] = !infinite;
            }
        }
    }
}

/* Adds dimensions [first, first + CHUNK) of every pair's common components. */
static void tile_chunk(const struct nvdp__pairs *pairs, double order, size_t first,
                       struct tile *tile) {
    const struct nvdp_posteriors *set = pairs->set;
    for (size_t a = 0; a < tile->count_i; a++) {
        for (size_t b = 0; b < tile->count_j; b++) {
            if (!tile->wanted[a][b]) continue;
            size_t i = tile->first_i + a;
            size_t j = tile->first_j + b;
            size_t end = least(rows_of(set, i), rows_of(set, j)) * set->dim;
            if (first >= end) continue;
            size_t p = set->offset[i] * set->dim + first;
            size_t q = set->offset[j] * set->dim + first;
            tile->value[a][b] +=
                nvdp__gaussian_fast(order, least(end - first, NVDP__CHUNK), set->mu + p,
                                    pairs->var + p, set->mu + q, pairs->var + q);
            if (isinf(tile->value[a][b])) tile->wanted[a][b] = false;
        }
    }
}

static void tile_finish(const struct nvdp__pairs *pairs, double order, struct tile *tile) {
    const struct nvdp_posteriors *set = pairs->set;
    for (size_t a = 0; a < tile->count_i; a++) {
        for (size_t b = 0; b < tile->count_j; b++) {
            if (!tile->wanted[a][b]) continue;
            size_t i = tile->first_i + a;
            size_t j = tile->first_j + b;
            double value = tile->value[a][b] * set->kappa;
            if (set->alpha != NULL) {
                double part = quick_weights(pairs, order, i, j, value);
                value += isnan(part) ? nvdp__sample_weights(order, set, i, j) : part;
            }
            tile->value[a][b] = value;
        }
    }
}

static void tile_run(const struct nvdp__pairs *pairs, const struct nvdp__pass *pass, size_t ti,
                     size_t tj, double *matrix) {
    const struct nvdp_posteriors *set = pairs->set;
    struct tile tile = {.first_i = ti * TILE, .first_j = tj * TILE};
    tile.count_i = least(TILE, set->texts - tile.first_i);
    tile.count_j = least(TILE, set->texts - tile.first_j);
    size_t longest = 0;
    for (size_t a = 0; a < tile.count_i; a++) {
        size_t rows = rows_of(set, tile.first_i + a);
        longest = rows > longest ? rows : longest;
    }
    tile_begin(pairs, pass, matrix, &tile);
    for (size_t first = 0; first < longest * set->dim; first += NVDP__CHUNK) {
        tile_chunk(pairs, pass->order, first, &tile);
    }
    tile_finish(pairs, pass->order, &tile);
    for (size_t a = 0; a < tile.count_i; a++) {
        for (size_t b = 0; b < tile.count_j; b++) {
            matrix[(tile.first_i + a) * set->texts + tile.first_j + b] = tile.value[a][b];
        }
    }
}

/* Tiles between two looks at the clock and at the wish to stop: about a tenth of a second. */
static size_t tiles_a_round(const struct nvdp_posteriors *set, int threads) {
    double elements = (double)set->offset[set->texts] * (double)set->dim;
    double tile = TILE * TILE * (1 + elements / (double)set->texts);
    double tiles = 5e7 * threads / tile;
    double fewest = 4.0 * threads;
    return (size_t)fmin(fmax(tiles, fewest), 1e6);
}

nvdp_status nvdp__pairs_pass(struct nvdp__pairs *pairs, const struct nvdp__pass *pass,
                             double *matrix) {
    const struct nvdp_posteriors *set = pairs->set;
    struct nvdp__pass normal = *pass;
    normal.order = nvdp__order(pass->order);
    if (set->policy == NVDP_LENGTH_HIDDEN) prepare_padding(pairs, normal.order);
    const int threads = nvdp_context_threads(pairs->ctx);
    const size_t side = (set->texts + TILE - 1) / TILE;
    const size_t tiles = side * side;
    const size_t round = tiles_a_round(set, threads);
    const double total = (double)set->texts * (double)(set->texts - 1);
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, pairs->ctx, "pairs", "pair", 0, (uint64_t)total);
    for (size_t first = 0; first < tiles; first += round) {
        const size_t end = least(first + round, tiles);
        if (nvdp__cancelled(pairs->ctx)) {
            nvdp__meter_end(&meter);
            return nvdp__fail(pairs->ctx, NVDP_ERR_CANCELLED,
                              "pairs: cancelled after %zu of %zu "
                              "tiles",
                              first, tiles);
        }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t t = first; t < end; t++) {
            tile_run(pairs, &normal, t / side, t % side, matrix);
        }
        double done = total * ((double)end / (double)tiles);
        nvdp__meter_update(&meter, (uint64_t)done, done, "pair", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}
