/* The divergences of all ordered pairs of a set, their statistics, and the causes of infinite ones.
 *
 * Texts are processed in tiles, and both directions of a pair together. Within a tile, the
 * Gaussian part iterates over blocks of dimensions (struct nvdp__pairs), so that the blocks of
 * the tile's texts serve all its pairs from the cache. The rows of a text are contiguous, so
 * component c of one text aligns with component c of the other in two flat arrays of any width.
 * Components that only one text has are compared with padding. Padding is the same for all
 * texts, so these divergences are summed once per text. Padding against padding is 0. Start with
 * nvdp__pairs_pass. */
#include "base/random.h"
#include "rdp/pairs.h"
#include <omp.h>
#include <stdlib.h>

/* A tile has up to TILE x TILE pairs. A pass over a tile takes GROUP rows at a time: GROUP
 * blocks stay in the first-level cache, 2 TILE blocks in the second-level cache. With few texts,
 * tiles are smaller, so that every thread gets some. */
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

/* Returns the entry of the matrix if no computation is needed; else sets *wanted and returns the
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
            if (i >= j) continue; /* the other half of a diagonal tile has this pair */
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
        size_t rows = nvdp__row_count(set, tile->first_i + a);
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

/* Number of tiles, about a tenth of a second of work, between two progress reports and checks
 * for cancellation. */
static size_t tiles_a_round(const struct nvdp_posteriors *set, int threads) {
    double elements = (double)set->offset[set->texts] * (double)set->dim;
    double side = (double)tile_side(set->texts);
    double tile = side * side * (1 + elements / (double)set->texts);
    double tiles = 5e8 * threads / tile;
    double fewest = 4.0 * threads;
    return (size_t)fmin(fmax(tiles, fewest), 1e6);
}

/* Returns tile t of the upper triangle of across x across tiles, counted row by row. */
static struct tile make_tile(size_t texts, size_t across, size_t t) {
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
            struct tile tile = make_tile(set->texts, across, t);
            tile_run(pairs, &normal, &plan, &tile, matrix);
        }
        double done = total * ((double)end / (double)tiles);
        nvdp__meter_update(&meter, (uint64_t)done, done, "pair", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* --- Statistics. An infinite divergence counts in all statistics: it makes the maximum and the
 * mean infinite and is the largest value for the quantiles. Statistics of the finite pairs alone
 * have names of their own --- */

/* Copies the values of the adjacent pairs from the matrix to values[], row by row. Returns the
 * number of values. */
static size_t collect(const struct nvdp_posteriors *set, enum nvdp__unit unit, const double *matrix,
                      double *values, struct nvdp_divergence_summary *out, size_t *infinite) {
    size_t pairs = 0;
    double sum = 0;
    *out = (struct nvdp_divergence_summary){.max = -INFINITY, .max_finite = -INFINITY};
    *infinite = 0;
    for (size_t i = 0; i < set->texts; i++) {
        double row = 0;
        /* all pairs with finite divergences have samples of the same size */
        double by = nvdp__divisor(set, unit, i);
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

/* Recomputes in exact arithmetic the pairs that may hold the largest finite divergence per unit. */
static void refine(const struct nvdp__pairs *pairs, const struct nvdp__pairs_pass *pass,
                   double *matrix, double *values) {
    const struct nvdp_posteriors *set = pairs->set;
    const struct nvdp__plan plan = nvdp__plan(pass->order, NVDP_PAIRS_EXACT);
    for (enum nvdp__unit unit = NVDP__SUM; unit < NVDP__UNITS; unit++) {
        struct nvdp_divergence_summary found;
        size_t infinite;
        collect(set, unit, matrix, values, &found, &infinite);
        double from = (1 - NVDP__DOUBT) * found.max_finite;
        if (!(from > 0)) continue;
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(pairs->ctx))
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
        struct nvdp_divergence_summary *part = nvdp__unit_summary(&made, unit);
        size_t n = collect(set, unit, matrix, values, part, &made.infinite);
        size_t place = 0;
        for (int level = 0; level < NVDP_PAIR_QUANTILES; level++) {
            /* all samples have the same size, so the division keeps the order */
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

/* ---- the causes of infinite divergences ---- */

/* The causes of infinite divergences.
 *
 * A divergence of order l > 1 is the integral of P^l Q^(1-l), which diverges if the tail of Q is
 * too thin for the tail of P (van Erven & Harremoes 2014; Gil, Alajaji & Linder 2013): the
 * divergence is infinite if, in a dimension or at a weight,
 *
 *     var_p   >= l/(l-1) var_q,
 *     alpha_q >= l/(l-1) alpha_p.
 *
 * Means are a cause only at order infinity: dimensions with equal variances then need equal
 * means. The prior's component is the same in every sample, so this component is never a cause.
 * With r the largest of these quotients, all orders below r/(r-1) are finite. */
enum { FEW = 64 }; /* too few pairs for several threads */

/* The findings of one thread for its pairs; after add(), the findings of all threads. */
struct search {
    const struct nvdp_posteriors *set;
    double order;
    double log_limit; /* log(l/(l-1)); +inf if no divergence of this order can be infinite */
    size_t places;    /* components of the longest text */
    size_t *place;    /* [causes, places] number of pairs that have the cause at this component */
    /* [causes, dim] number of components, summed over pairs, that have the cause in this
     * dimension */
    size_t *dim;
    struct nvdp_infinite_summary made;
};

/* Records a cause at component c of the current pair; log_ratio is the logarithm of the
 * quotient. */
static void found(struct search *work, enum nvdp_infinite_cause cause, bool seen[], size_t c,
                  double log_ratio) {
    struct nvdp_infinite_part *part = &work->made.cause[cause];
    part->pairs += !seen[cause];
    seen[cause] = true;
    part->ratio = fmax(part->ratio, exp(log_ratio));
    work->place[cause * work->places + c]++;
}

/* Compares the Gaussians of P and Q at component c. A row of SIZE_MAX is padding, with mean 0
 * and variance 1. */
static void compare_gaussians(struct search *work, bool seen[], size_t c, const size_t row[2]) {
    const struct nvdp_posteriors *set = work->set;
    static const double none = 0;
    const bool padded = row[0] == SIZE_MAX || row[1] == SIZE_MAX;
    const double *mu[2], *logvar[2];
    /* at order infinity, different means also make a pair infinite */
    const bool all = isinf(work->order) != 0;
    size_t step[2];
    double largest = -INFINITY;
    bool means = false;
    for (int side = 0; side < 2; side++) {
        const bool there = row[side] != SIZE_MAX;
        mu[side] = there ? set->mu + row[side] * set->dim : &none;
        logvar[side] = there ? set->logvar + row[side] * set->dim : &none;
        step[side] = there;
    }
    for (size_t k = 0; k < set->dim; k++) {
        const double more = logvar[0][k * step[0]] - logvar[1][k * step[1]];
        largest = more > largest ? more : largest;
    }
    for (size_t k = 0; all && k < set->dim; k++)
        means |= logvar[0][k * step[0]] - logvar[1][k * step[1]] == 0 &&
                 mu[0][k * step[0]] != mu[1][k * step[1]];
    if (means) {
        const enum nvdp_infinite_cause cause =
            padded ? NVDP_INFINITE_PADDING_MU : NVDP_INFINITE_TOKEN_MU;
        found(work, cause, seen, c, 0);
        for (size_t k = 0; k < set->dim; k++)
            work->dim[cause * set->dim + k] += logvar[0][k * step[0]] == logvar[1][k * step[1]] &&
                                               mu[0][k * step[0]] != mu[1][k * step[1]];
    }
    if (!(all ? largest > 0 : largest >= work->log_limit)) return;
    const enum nvdp_infinite_cause cause =
        padded ? NVDP_INFINITE_PADDING_LOGVAR : NVDP_INFINITE_TOKEN_LOGVAR;
    found(work, cause, seen, c, largest);
    for (size_t k = 0; k < set->dim; k++) {
        const double more = logvar[0][k * step[0]] - logvar[1][k * step[1]];
        work->dim[cause * set->dim + k] += all ? more > 0 : more >= work->log_limit;
    }
}

static void look_at(struct search *work, size_t i, size_t j) {
    struct nvdp_infinite_summary *to = &work->made;
    const struct nvdp_posteriors *set = work->set;
    const size_t text[2] = {i, j}, rows[2] = {nvdp__row_count(set, i), nvdp__row_count(set, j)};
    bool seen[NVDP_INFINITE_CAUSES] = {false};
    if (set->policy == NVDP_LENGTH_PUBLIC && rows[0] != rows[1]) {
        to->cause[NVDP_INFINITE_LENGTHS].pairs++;
        to->infinite++;
        return;
    }
    for (size_t c = 0; c < nvdp__max(rows[0], rows[1]); c++) {
        size_t row[2];
        for (int side = 0; side < 2; side++)
            row[side] = c < rows[side] ? set->offset[text[side]] + c : SIZE_MAX;
        compare_gaussians(work, seen, c, row);
        if (set->alpha == NULL) continue;
        const double p = nvdp__token_alpha(set, i, c), q = nvdp__token_alpha(set, j, c);
        if (isinf(work->order) ? p < q : nvdp__extrapolate(work->order, p, q) <= 0)
            found(work,
                  c < nvdp__min(rows[0], rows[1]) ? NVDP_INFINITE_TOKEN_ALPHA
                                                  : NVDP_INFINITE_PADDING_ALPHA,
                  seen, c, log(q) - log(p));
    }
    bool any = false;
    for (int cause = 0; cause < NVDP_INFINITE_CAUSES; cause++)
        any |= seen[cause];
    if (!any && isinf(nvdp_renyi_texts(work->order, set, i, j))) {
        to->cause[NVDP_INFINITE_RANGE].pairs++;
        any = true;
    }
    to->infinite += any;
}

/* Adds the counts and takes the maximum of the quotients, so the result does not depend on the
 * number of threads. */
static void add(struct search *to, const struct search *from) {
    to->made.infinite += from->made.infinite;
    for (int cause = 0; cause < NVDP_INFINITE_CAUSES; cause++) {
        struct nvdp_infinite_part *part = &to->made.cause[cause];
        part->pairs += from->made.cause[cause].pairs;
        part->ratio = fmax(part->ratio, from->made.cause[cause].ratio);
    }
    for (size_t k = 0; k < NVDP_INFINITE_CAUSES * to->places; k++)
        to->place[k] += from->place[k];
    for (size_t k = 0; k < NVDP_INFINITE_CAUSES * to->set->dim; k++)
        to->dim[k] += from->dim[k];
}

/* Returns the index of the largest count. */
static size_t argmax(size_t n, const size_t *count, size_t *largest) {
    size_t best = 0;
    for (size_t k = 1; k < n; k++)
        if (count[k] > count[best]) best = k;
    if (largest != NULL) *largest = n > 0 ? count[best] : 0;
    return best;
}

static void conclude(struct search *work) {
    struct nvdp_infinite_summary *to = &work->made;
    double ratio = 1;
    for (int cause = 0; cause < NVDP_INFINITE_CAUSES; cause++) {
        struct nvdp_infinite_part *part = &to->cause[cause];
        if (part->pairs == 0 || cause == NVDP_INFINITE_LENGTHS || cause == NVDP_INFINITE_RANGE)
            continue;
        part->place = argmax(work->places, work->place + cause * work->places, &part->place_pairs);
        part->dim = argmax(work->set->dim, work->dim + cause * work->set->dim, NULL);
        ratio = fmax(ratio, part->ratio);
    }
    const bool never =
        to->cause[NVDP_INFINITE_LENGTHS].pairs + to->cause[NVDP_INFINITE_RANGE].pairs > 0;
    /* +inf if the ratio is 1 */
    to->finite_below = never ? 0 : isinf(ratio) ? 1 : ratio / (ratio - 1);
}

nvdp_status nvdp__renyi_infinite(struct nvdp_context *ctx, double order,
                                 const struct nvdp_posteriors *posteriors, size_t pairs,
                                 const size_t *pair, struct nvdp_infinite_summary *out) {
    const double normal = nvdp__order(order);
    const size_t threads =
        ctx == NULL ? 1 : nvdp__min((size_t)nvdp_context_threads(ctx), 1 + pairs / FEW);
    size_t places = 0;
    nvdp__autofree size_t *counts = NULL;
    nvdp__autofree struct search *work = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (isnan(normal))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "order: expected a number > 0, found %g", order);
    for (size_t i = 0; i < posteriors->texts; i++)
        places = nvdp__max(places, nvdp__row_count(posteriors, i));
    const double limit = isinf(normal) ? 1 : normal > 1 ? normal / (normal - 1) : INFINITY;
    const size_t each = NVDP_INFINITE_CAUSES * (places + posteriors->dim);
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(work, threads), NVDP__ITEMS(counts, threads * each)));
    for (size_t t = 0; t < threads; t++)
        work[t] = (struct search){.set = posteriors,
                                  .order = normal,
                                  .log_limit = log(limit),
                                  .places = places,
                                  .place = counts + t * each,
                                  .dim = counts + t * each + NVDP_INFINITE_CAUSES * places,
                                  .made = {.order = order, .limit = limit, .pairs = pairs}};
#pragma omp parallel for schedule(static) num_threads((int)threads)
    for (size_t k = 0; k < pairs; k++)
        look_at(&work[omp_get_thread_num()], pair[2 * k], pair[2 * k + 1]);
    for (size_t t = 1; t < threads; t++)
        add(&work[0], &work[t]);
    conclude(&work[0]);
    work[0].made.of = work[0].made.infinite;
    NVDP__GIVE(out, &work[0].made);
    return NVDP_OK;
}

/* A share among 2^14 drawn pairs is within one percentage point of the share among all pairs. */
nvdp_status nvdp__infinite_of_matrix(struct nvdp_context *ctx, double order,
                                     const struct nvdp_posteriors *set, const double *matrix,
                                     struct nvdp_infinite_summary *out) {
    struct nvdp_infinite_summary made = NVDP_RESULT(struct nvdp_infinite_summary);
    const size_t all = set->texts * set->texts;
    size_t infinite = 0, taken = 0;
    nvdp__autofree size_t *pair = NULL;
    for (size_t at = 0; at < all; at++)
        infinite += isinf(matrix[at]) != 0;
    if (infinite == 0) {
        *out = (struct nvdp_infinite_summary){.struct_size = sizeof *out, .order = order};
        return NVDP_OK;
    }
    const size_t wanted = nvdp__min(infinite, NVDP__MAX_INFINITE);
    NVDP_TRY(NVDP__NEW(ctx, pair, 2 * wanted));
    const struct nvdp__noise noise = {.seed = 1};
    struct nvdp__stream stream =
        nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, NVDP__EPOCH_INFINITE, 0);
    for (size_t at = 0, left = infinite; taken < wanted; at++) {
        if (!isinf(matrix[at])) continue;
        if (nvdp__stream_below(&stream, left--) >= wanted - taken) continue;
        pair[2 * taken] = at / set->texts;
        pair[2 * taken + 1] = at % set->texts;
        taken++;
    }
    NVDP_TRY(nvdp__renyi_infinite(ctx, order, set, taken, pair, &made));
    made.of = infinite;
    *out = made;
    return NVDP_OK;
}
