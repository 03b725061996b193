/* The divergences of all ordered pairs of a set, and their statistics.
 *
 * Texts are processed in tiles, and both directions of a pair together. Within a tile, the
 * Gaussian part iterates over blocks of dimensions (struct nvdp__pairs), so that the blocks of
 * the tile's texts serve all its pairs from the cache. The rows of a text are contiguous, so
 * component c of one text aligns with component c of the other in two flat arrays of any width.
 * Components that only one text has are compared with padding, which is the same for all texts:
 * these divergences are summed once per text. Padding against padding is 0. Start with
 * nvdp__pairs_pass. */
#include "rdp/pairs.h"
#include <stdlib.h>

/* A tile has up to TILE x TILE pairs, processed GROUP rows at a time: GROUP blocks stay in the
 * first-level cache, 2 TILE blocks in the second-level cache. If there are few texts, tiles are
 * smaller, so that there are enough for all threads. */
enum { TILE = 32, MIN_TILE = 8, GROUP = 2 };

static size_t tile_side(size_t texts) {
    size_t side = texts / 8;
    if (side < MIN_TILE) return MIN_TILE;
    return nvdp__min(side, TILE);
}

struct tile {
    size_t first_i, first_j, count_i, count_j;
    struct nvdp__both pair[TILE][TILE];
};

/* Returns the matrix entry if nothing needs to be computed; else sets *wanted and returns the
 * initial value. */
static double begin(const struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                    double kept, size_t i, size_t j, bool *wanted) {
    const struct nvdp_posteriors *set = pairs->set;
    *wanted = false;
    if (i == j) return 0;
    if (!nvdp__adjacent(set, pass->adjacency, i, j)) return NAN;
    if (pass->settled != NULL && pass->settled[i] && pass->settled[j] &&
        pass->releases * kept + pass->more >= pass->epsilon[i * set->texts + j])
        return kept;
    if (pass->keep_infinite && isinf(kept)) return kept;
    double start = nvdp__unmatched(pairs, i, j);
    if (isinf(start) || nvdp__weights_outside(&pairs->weights, pass->order, i, j)) return INFINITY;
    *wanted = true;
    return start;
}

static void tile_begin(const struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                       const double *matrix, struct tile *tile) {
    size_t texts = pairs->set->texts;
    for (size_t a = 0; a < tile->count_i; a++) {
        for (size_t b = 0; b < tile->count_j; b++) {
            size_t i = tile->first_i + a;
            size_t j = tile->first_j + b;
            struct nvdp__both *pair = &tile->pair[a][b];
            *pair = (struct nvdp__both){.small = false};
            if (i >= j) continue; /* in a diagonal tile, the other half has this pair */
            pair->value[0] = begin(pairs, pass, matrix[i * texts + j], i, j, &pair->wanted[0]);
            pair->value[1] = begin(pairs, pass, matrix[j * texts + i], j, i, &pair->wanted[1]);
        }
    }
}

/* Adds a block of every pair, GROUP texts at a time. */
static void tile_block(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan, size_t row,
                       size_t segment, struct tile *tile) {
    for (size_t group = 0; group < tile->count_j; group += GROUP) {
        for (size_t a = 0; a < tile->count_i; a++) {
            for (size_t b = group; b < nvdp__min(group + GROUP, tile->count_j); b++) {
                struct nvdp__both *pair = &tile->pair[a][b];
                if (!pair->wanted[0] && !pair->wanted[1]) continue;
                nvdp__pair_block(pairs, plan, tile->first_i + a, tile->first_j + b, row, segment,
                                 pair);
            }
        }
    }
}

static void tile_end(const struct nvdp__pairs *pairs, const struct nvdp__plan *plan,
                     struct tile *tile, double *matrix) {
    size_t texts = pairs->set->texts;
    for (size_t a = 0; a < tile->count_i; a++) {
        for (size_t b = 0; b < tile->count_j; b++) {
            size_t i = tile->first_i + a;
            size_t j = tile->first_j + b;
            if (i > j) continue;
            struct nvdp__both *pair = &tile->pair[a][b];
            nvdp__pair_finish(pairs, plan, i, j, pair);
            matrix[i * texts + j] = pair->value[0];
            matrix[j * texts + i] = pair->value[1];
        }
    }
}

static void tile_run(const struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                     const struct nvdp__plan *plan, struct tile *tile, double *matrix) {
    const struct nvdp_posteriors *set = pairs->set;
    size_t longest = 0;
    for (size_t a = 0; a < tile->count_i; a++) {
        size_t rows = nvdp__rows(set, tile->first_i + a);
        longest = nvdp__max(rows, longest);
    }
    tile_begin(pairs, pass, matrix, tile);
    for (size_t row = 0; row < longest; row += pairs->block_rows) {
        for (size_t segment = 0; segment < pairs->segments; segment++) {
            tile_block(pairs, plan, row, segment, tile);
        }
    }
    tile_end(pairs, plan, tile, matrix);
}

/* Number of tiles between two progress reports and checks for cancellation: about a tenth of a
 * second. */
static size_t tiles_a_round(const struct nvdp_posteriors *set, int threads) {
    double elements = (double)set->offset[set->texts] * (double)set->dim;
    double side = (double)tile_side(set->texts);
    double tile = side * side * (1 + elements / (double)set->texts);
    double tiles = 5e8 * threads / tile;
    double fewest = 4.0 * threads;
    return (size_t)fmin(fmax(tiles, fewest), 1e6);
}

/* Tile t of the upper triangle of across x across tiles, row by row. */
static struct tile tile_of(size_t texts, size_t across, size_t t) {
    size_t row = 0;
    while (t >= across - row) {
        t -= across - row;
        row++;
    }
    size_t side = tile_side(texts);
    struct tile made = {.first_i = row * side, .first_j = (row + t) * side};
    made.count_i = nvdp__min(side, texts - made.first_i);
    made.count_j = nvdp__min(side, texts - made.first_j);
    return made;
}

nvdp_status nvdp__pairs_pass(struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                             double *matrix) {
    const struct nvdp_posteriors *set = pairs->set;
    struct nvdp__pairs_pass normal = *pass;
    normal.order = nvdp__order(pass->order);
    const struct nvdp__plan plan = nvdp__plan(pass->order, pass->arithmetic);
    nvdp__pairs_padding(pairs, &plan);
    const int threads = nvdp_context_threads(pairs->ctx);
    const size_t across = (set->texts + tile_side(set->texts) - 1) / tile_side(set->texts);
    const size_t tiles = across * (across + 1) / 2;
    const size_t round = tiles_a_round(set, threads);
    const double total = (double)set->texts * (double)(set->texts - 1);
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, pairs->ctx, "pairs", "pair", 0, (uint64_t)total);
    for (size_t first = 0; first < tiles; first += round) {
        const size_t end = nvdp__min(first + round, tiles);
        NVDP_TRY(nvdp__pairs_go_on(&meter, first, tiles, "tiles"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t t = first; t < end; t++) {
            struct tile tile = tile_of(set->texts, across, t);
            tile_run(pairs, &normal, &plan, &tile, matrix);
        }
        double done = total * ((double)end / (double)tiles);
        nvdp__meter_update(&meter, (uint64_t)done, done, "pair", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* --- Statistics. An infinite divergence counts in all of them: it makes the maximum and the
 * mean infinite and is above all others in the quantiles. Statistics of the finite pairs alone
 * have names of their own --- */

/* One pass over the matrix: values[] receives the values of the adjacent pairs, row by row.
 * Returns their number. */
static size_t collect(const struct nvdp_posteriors *set, enum nvdp__unit unit, const double *matrix,
                      double *values, struct nvdp_divergence_summary *out, size_t *infinite) {
    size_t pairs = 0;
    double sum = 0;
    *out = (struct nvdp_divergence_summary){.max = -INFINITY, .max_finite = -INFINITY};
    *infinite = 0;
    for (size_t i = 0; i < set->texts; i++) {
        double row = 0;
        double by = nvdp__divisor(set, unit, i); /* finite pairs have samples of the same size */
        for (size_t j = 0; j < set->texts; j++) {
            double value = matrix[i * set->texts + j] / by;
            if (i == j || isnan(value)) continue; /* not adjacent */
            values[pairs++] = value;
            if (value > out->max) {
                out->max = value;
                out->max_p = i;
                out->max_q = j;
            }
            if (isinf(value)) {
                *infinite += 1;
            } else {
                row += value;
                out->max_finite = fmax(out->max_finite, value);
            }
        }
        sum += row;
    }
    size_t finite = pairs - *infinite;
    out->mean_finite = finite > 0 ? sum / (double)finite : NAN;
    if (finite == 0) out->max_finite = NAN;
    out->mean = *infinite > 0 ? INFINITY : out->mean_finite;
    return pairs;
}

/* Recomputes in exact arithmetic the pairs that may hold the largest finite value of a unit. */
static void refine(const struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                   double *matrix, double *values) {
    const struct nvdp_posteriors *set = pairs->set;
    const struct nvdp__plan plan = nvdp__plan(pass->order, NVDP_PAIRS_EXACT);
    const int threads = nvdp_context_threads(pairs->ctx);
    for (enum nvdp__unit unit = NVDP__SUM; unit < NVDP__UNITS; unit++) {
        struct nvdp_divergence_summary found;
        size_t infinite;
        collect(set, unit, matrix, values, &found, &infinite);
        double from = (1 - NVDP__DOUBT) * found.max_finite;
        if (!(from > 0)) continue;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < set->texts; i++) {
            double by = nvdp__divisor(set, unit, i);
            for (size_t j = 0; j < set->texts; j++) {
                double *value = &matrix[i * set->texts + j];
                if (!(*value / by >= from && *value / by < INFINITY)) continue;
                if (i == j) continue;
                *value = nvdp__pair_exact(pairs, &plan, i, j);
            }
        }
    }
}

size_t nvdp__matrix_summarize(const struct nvdp_posteriors *set, const double *matrix,
                              double *values, struct nvdp_divergence_summary *out,
                              size_t *infinite) {
    size_t n = collect(set, NVDP__SUM, matrix, values, out, infinite), place = 0;
    for (int level = 0; level < NVDP_PAIR_QUANTILES; level++)
        out->quantile[level] =
            nvdp__quantile(n, place, nvdp__pair_quantile_level[level], values, &place);
    return n;
}

nvdp_status nvdp__pairs_summarize(struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                                  double *matrix, struct nvdp_pairs_summary *out) {
    const struct nvdp_posteriors *set = pairs->set;
    struct nvdp_pairs_summary made = {.struct_size = sizeof made,
                                      .order = pass->order,
                                      .texts = set->texts,
                                      .adjacency = pass->adjacency,
                                      .arithmetic = pass->arithmetic};
    double *values = NULL;
    for (size_t i = 0; i < set->texts; i++) {
        for (size_t j = 0; j < set->texts; j++) {
            made.pairs += i != j && !isnan(matrix[i * set->texts + j]) ? 1 : 0;
        }
    }
    if (made.pairs == 0)
        return nvdp__fail(pairs->ctx, NVDP_ERR_INPUT,
                          "pairs: no two of the %zu texts have the same length", set->texts);
    NVDP_TRY(NVDP__NEW(pairs->ctx, values, made.pairs));
    if (pass->arithmetic == NVDP_PAIRS_FAST) refine(pairs, pass, matrix, values);
    for (enum nvdp__unit unit = NVDP__SUM; unit < NVDP__UNITS; unit++) {
        struct nvdp_divergence_summary *part = nvdp__summary_of(&made, unit);
        size_t n = collect(set, unit, matrix, values, part, &made.infinite);
        size_t place = 0;
        for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
            /* samples have the same size, so dividing keeps the order */
            part->quantile[level] =
                unit != NVDP__SUM && set->policy == NVDP_LENGTH_HIDDEN
                    ? made.sum.quantile[level] / nvdp__divisor(set, unit, 0)
                    : nvdp__quantile(n, place, nvdp__pair_quantile_level[level], values, &place);
        }
    }
    free(values);
    *out = made;
    return NVDP_OK;
}
