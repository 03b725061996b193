/* Distances between the table's vectors, and the plausible deniability of a mechanism's draws. */
#include "base/random.h"
#include "dchi/dchi.h"
#include "options/schema.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum { BLOCK = NVDP__DCHI_BLOCK };

/* Sorts the values; 0 if there are none. */
static double median(size_t n, double *values) {
    qsort(values, n, sizeof *values, nvdp__by_double);
    return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The rows of n <= BLOCK tokens: in the table, or written to `memory`. */
struct block_rows {
    const double *row[BLOCK];
    double memory[BLOCK][NVDP__ROW_WIDEST];
};
static void take_rows(const struct nvdp_vectors *vectors, size_t n, const int32_t *token,
                      struct block_rows *out) {
    for (size_t i = 0; i < n; i++)
        out->row[i] = nvdp__row(vectors, (size_t)token[i], out->memory[i]);
}

/* The distances of block b of the chosen tokens from later chosen ones. */
static void measure_pairs(const struct nvdp_vectors *vectors, size_t n, const int32_t *token,
                          size_t b, double *pairs) {
    struct block_rows rows = {0};
    double scratch[NVDP__ROW_WIDEST];
    const size_t from = b * BLOCK, length = nvdp__block_length(n, BLOCK, b);
    take_rows(vectors, length, token + from, &rows);
    for (size_t j = from + 1; j < n; j++) {
        const double *row = nvdp__row(vectors, (size_t)token[j], scratch);
        for (size_t i = 0; i < length && from + i < j; i++) {
            const size_t at = from + i,
                         first = at * (2 * n - at - 1) / 2; /* pairs before its own */
            pairs[first + j - at - 1] = nvdp__distance(vectors->dim, rows.row[i], row);
        }
    }
}

nvdp_status nvdp_vectors_geometry(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  size_t tokens, uint64_t seed, struct nvdp_geometry *out) {
    const size_t count = vectors->count, n = tokens == 0 || tokens > count ? count : tokens;
    const size_t blocks = nvdp__blocks(n, BLOCK);
    const int threads = nvdp_context_threads(ctx);
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    struct nvdp_geometry found = {.struct_size = sizeof found, .tokens = n};
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *nearest = NULL, *farthest = NULL, *pairs = NULL;
    double radius = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(NVDP__NEW(ctx, token, count));
    NVDP_TRY(NVDP__NEW(ctx, nearest, n));
    NVDP_TRY(NVDP__NEW(ctx, farthest, n));
    NVDP_TRY(NVDP__NEW(ctx, pairs, n * (n - 1) / 2));
    for (size_t x = 0; x < count; x++)
        token[x] = (int32_t)x;
    nvdp__dchi_draw(&stream, n, count, token);
    NVDP_TRY(nvdp__vectors_extremes(ctx, vectors, n, token, nearest, farthest));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t b = 0; b < blocks; b++)
        measure_pairs(vectors, n, token, b, pairs);
    for (size_t i = 0; i < n; i++)
        found.pair_max = farthest[i] > found.pair_max ? farthest[i] : found.pair_max;
    found.nearest_median = count > 1 ? median(n, nearest) : 0;
    found.pair_median = median(n * (n - 1) / 2, pairs);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : radius)
    for (size_t x = 0; x < count; x++) {
        double d = nvdp__distance_from(vectors, vectors->mean, x);
        radius = d > radius ? d : radius;
    }
    found.diameter_bound = n == count ? found.pair_max : 2 * radius;
    NVDP__GIVE(out, &found);
    return NVDP_OK;
}

/* ---- the k-th nearest ---- */

/* For tokens [0, n), n <= BLOCK: distance [n, m]. */
static void find_neighbors(const struct nvdp_vectors *vectors, size_t n, const int32_t *token,
                           size_t m, const size_t *k, double *rows, double *distance) {
    const size_t count = vectors->count;
    struct block_rows own = {0};
    take_rows(vectors, n, token, &own);
    nvdp__vectors_distances(vectors, n, own.row, rows);
    for (size_t i = 0; i < n; i++) {
        double *row = rows + i * count;
        row[token[i]] = row[count - 1]; /* excludes the token itself */
        qsort(row, count - 1, sizeof *row, nvdp__by_double);
        for (size_t j = 0; j < m; j++)
            distance[i * m + j] = row[k[j] - 1];
    }
}

nvdp_status nvdp_vectors_neighbors(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t n, const int32_t *tokens, size_t m, const size_t *k,
                                   double *distance) {
    const size_t count = vectors->count, blocks = nvdp__blocks(n, BLOCK);
    const int threads = nvdp_context_threads(ctx);
    const size_t chunk = 16 * (size_t)threads;
    nvdp__autofree double *rows = NULL;
    for (size_t i = 0; i < n; i++)
        if (tokens[i] < 0 || (size_t)tokens[i] >= count)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "neighbors: token %d: expected an id from 0 to %zu", tokens[i],
                              count - 1);
    for (size_t j = 0; j < m; j++)
        if (k[j] < 1 || k[j] >= count)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "neighbors: found the neighbor number %zu, expected 1 to %zu", k[j],
                              count - 1);
    NVDP_TRY(NVDP__NEW(ctx, rows, (size_t)threads * BLOCK * count));
    for (size_t first = 0; first < blocks; first += chunk) {
        const size_t end = blocks - first < chunk ? blocks : first + chunk;
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t b = first; b < end; b++)
            find_neighbors(vectors, nvdp__block_length(n, BLOCK, b), tokens + b * BLOCK, m, k,
                           rows + (size_t)omp_get_thread_num() * BLOCK * count,
                           distance + b * BLOCK * m);
    }
    return NVDP_OK;
}

/* ---- plausible deniability ---- */

/* Tokens drawn together: they share the product of their vectors with the table. */
enum { TOGETHER = 64 };

struct drawing {
    struct nvdp_dchi *dchi; /* has its own cached proposals */
    size_t draws, offset[TOGETHER + 1];
    int32_t *in, *drawn; /* [TOGETHER, draws] */
};

static void drawing_end(struct drawing *d) {
    nvdp_dchi_free(d->dchi);
    free(d->in);
    free(d->drawn);
}

static nvdp_status drawing_begin(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                 size_t draws, struct drawing *d) {
    *d = (struct drawing){.draws = draws};
    NVDP_TRY(nvdp_dchi_create(ctx, dchi->vectors,
                              dchi->row->gives_vectors ? dchi->row->nearest : dchi->mechanism,
                              dchi->eta, dchi->p, dchi->sensitive, &d->dchi));
    NVDP_TRY(NVDP__NEW(ctx, d->in, TOGETHER * draws));
    return NVDP__NEW(ctx, d->drawn, TOGETHER * draws);
}

/* Draws for tokens[0, n), n <= TOGETHER, and sorts the draws of each; the first token has index
 * `first`. */
static nvdp_status draw_together(struct nvdp_context *ctx, struct drawing *d, size_t n,
                                 const int32_t *tokens, uint64_t seed, size_t first) {
    NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
    for (size_t i = 0; i < n; i++) {
        d->offset[i + 1] = (i + 1) * d->draws;
        for (size_t k = 0; k < d->draws; k++)
            d->in[i * d->draws + k] = tokens[i];
    }
    NVDP_TRY(nvdp_dchi_sample(ctx, d->dchi, n, d->offset, d->in, &seed, first, d->drawn));
    for (size_t i = 0; i < n; i++)
        qsort(d->drawn + i * d->draws, d->draws, sizeof *d->drawn, nvdp__by_int32);
    return NVDP_OK;
}

nvdp_status nvdp_dchi_deniability(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                  const int32_t *tokens, size_t draws, uint64_t seed, double *same,
                                  double *distinct) {
    const bool exact = nvdp__dchi_exact(dchi);
    nvdp__auto(drawing_end) struct drawing d = {0};
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(drawing_begin(ctx, dchi, draws, &d));
    for (size_t i = 0; i < n; i++) {
        const int32_t *drawn = d.drawn + i % TOGETHER * draws;
        size_t equal = 0, kinds = 0;
        if (i % TOGETHER == 0)
            NVDP_TRY(draw_together(ctx, &d, nvdp__min(n - i, TOGETHER), tokens + i, seed, i));
        for (size_t k = 0; k < draws; k++) {
            equal += drawn[k] == tokens[i];
            kinds += k == 0 || drawn[k] != drawn[k - 1];
        }
        same[i] = draws > 0 ? (double)equal / (double)draws : 0;
        distinct[i] = (double)kinds;
    }
    if (exact) NVDP_TRY(nvdp__dchi_unchanged(ctx, dchi, n, tokens, same));
    return NVDP_OK;
}

nvdp_status nvdp_dchi_sources(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                              const int32_t *tokens, size_t draws, uint64_t seed, double *inputs) {
    nvdp__auto(drawing_end) struct drawing d = {0};
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(drawing_begin(ctx, dchi, draws, &d));
    memset(inputs, 0, dchi->vectors->count * sizeof *inputs);
    for (size_t i = 0; i < n; i++) {
        const int32_t *drawn = d.drawn + i % TOGETHER * draws;
        if (i % TOGETHER == 0)
            NVDP_TRY(draw_together(ctx, &d, nvdp__min(n - i, TOGETHER), tokens + i, seed, i));
        for (size_t k = 0; k < draws; k++)
            inputs[drawn[k]] += k == 0 || drawn[k] != drawn[k - 1];
    }
    return NVDP_OK;
}
