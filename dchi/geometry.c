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

/* Compares block b of the chosen tokens with all tokens: the nearest neighbor of each, its
 * distances from later chosen tokens, and the largest distance, which is returned; rows [BLOCK,
 * V] is scratch. */
static double measure_block(const struct nvdp_vectors *vectors, size_t n, const int32_t *token,
                            size_t b, double *rows, double *nearest, double *pairs) {
    const size_t length = nvdp__block_length(n, BLOCK, b);
    const double *vector[BLOCK];
    double largest = 0;
    for (size_t i = 0; i < length; i++)
        vector[i] = nvdp_vectors_row(vectors, (size_t)token[b * BLOCK + i]);
    nvdp__vectors_distances(vectors, length, vector, rows);
    for (size_t i = 0; i < length; i++) {
        const double *row = rows + i * vectors->count;
        /* pairs before those of `at` */
        const size_t at = b * BLOCK + i, first = at * (2 * n - at - 1) / 2;
        double smallest = INFINITY;
        for (size_t y = 0; y < vectors->count; y++) {
            if (y == (size_t)token[at]) continue;
            smallest = row[y] < smallest ? row[y] : smallest;
            largest = row[y] > largest ? row[y] : largest;
        }
        nearest[at] = smallest;
        for (size_t j = at + 1; j < n; j++)
            pairs[first + j - at - 1] = row[token[j]];
    }
    return largest;
}

nvdp_status nvdp_vectors_geometry(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  size_t tokens, uint64_t seed, struct nvdp_geometry *out) {
    nvdp_status status = NVDP_OK;
    const size_t count = vectors->count, n = tokens == 0 || tokens > count ? count : tokens;
    const size_t blocks = nvdp__blocks(n, BLOCK);
    const int threads = nvdp_context_threads(ctx);
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    struct nvdp_geometry found = {.struct_size = sizeof found, .tokens = n};
    int32_t *token = NULL;
    double *rows = NULL, *nearest = NULL, *pairs = NULL, largest = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(NVDP__NEW(ctx, token, count));
    NVDP_TRY(NVDP__NEW(ctx, nearest, n));
    NVDP_TRY(NVDP__NEW(ctx, pairs, n * (n - 1) / 2));
    NVDP_TRY(NVDP__NEW(ctx, rows, (size_t)threads * BLOCK * count));
    for (size_t x = 0; x < count; x++)
        token[x] = (int32_t)x;
    nvdp__dchi_draw(&stream, n, count, token);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(max : largest)
    for (size_t b = 0; b < blocks; b++) {
        double far =
            measure_block(vectors, n, token, b, rows + (size_t)omp_get_thread_num() * BLOCK * count,
                          nearest, pairs);
        largest = far > largest ? far : largest;
    }
    found.nearest_median = count > 1 ? median(n, nearest) : 0;
    found.pair_median = median(n * (n - 1) / 2, pairs);
    found.pair_max = largest;
    for (size_t x = 0; x < count; x++) {
        double d = nvdp__distance(vectors->dim, nvdp_vectors_row(vectors, x), vectors->mean);
        found.diameter_bound = 2 * d > found.diameter_bound ? 2 * d : found.diameter_bound;
    }
    if (n == count) found.diameter_bound = largest;
    NVDP__GIVE(out, &found);
cleanup:
    free(token);
    free(rows);
    free(nearest);
    free(pairs);
    return status;
}

/* ---- the k-th nearest ---- */

/* For tokens [0, n), n <= BLOCK: distance [n, m]. */
static void find_neighbors(const struct nvdp_vectors *vectors, size_t n, const int32_t *token,
                           size_t m, const size_t *k, double *rows, double *distance) {
    const size_t count = vectors->count;
    const double *vector[BLOCK];
    for (size_t i = 0; i < n; i++)
        vector[i] = nvdp_vectors_row(vectors, (size_t)token[i]);
    nvdp__vectors_distances(vectors, n, vector, rows);
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
    nvdp_status status = NVDP_OK;
    const size_t count = vectors->count, blocks = nvdp__blocks(n, BLOCK);
    const int threads = nvdp_context_threads(ctx);
    const size_t chunk = 16 * (size_t)threads;
    double *rows = NULL;
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
cleanup:
    free(rows);
    return status;
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
    NVDP_RETURN_IF_FAILED(nvdp_dchi_create(
        ctx, dchi->vectors, dchi->row->gives_vectors ? dchi->row->nearest : dchi->mechanism,
        dchi->eta, dchi->p, dchi->sensitive, &d->dchi));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, d->in, TOGETHER * draws));
    return NVDP__NEW(ctx, d->drawn, TOGETHER * draws);
}

/* Draws for tokens[0, n), n <= TOGETHER, and sorts the draws of each; the first token has index
 * `first`. */
static nvdp_status draw_together(struct nvdp_context *ctx, struct drawing *d, size_t n,
                                 const int32_t *tokens, uint64_t seed, size_t first) {
    NVDP_RETURN_IF_FAILED(nvdp__check_cancelled(ctx, "cancelled"));
    for (size_t i = 0; i < n; i++) {
        d->offset[i + 1] = (i + 1) * d->draws;
        for (size_t k = 0; k < d->draws; k++)
            d->in[i * d->draws + k] = tokens[i];
    }
    NVDP_RETURN_IF_FAILED(
        nvdp_dchi_sample(ctx, d->dchi, n, d->offset, d->in, &seed, first, d->drawn));
    for (size_t i = 0; i < n; i++)
        qsort(d->drawn + i * d->draws, d->draws, sizeof *d->drawn, nvdp__by_int32);
    return NVDP_OK;
}

nvdp_status nvdp_dchi_deniability(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                  const int32_t *tokens, size_t draws, uint64_t seed, double *same,
                                  double *distinct) {
    nvdp_status status = NVDP_OK;
    const bool exact = nvdp__dchi_exact(dchi);
    struct drawing d = {0};
    double *row = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(drawing_begin(ctx, dchi, draws, &d));
    NVDP_TRY(NVDP__NEW(ctx, row, exact ? dchi->vectors->count : 0));
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
        if (!exact || tokens[i] < 0) continue;
        NVDP_TRY(nvdp_dchi_log_probabilities(ctx, dchi, 1, tokens + i, row));
        same[i] = exp(row[tokens[i]]);
    }
cleanup:
    drawing_end(&d);
    free(row);
    return status;
}

nvdp_status nvdp_dchi_sources(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                              const int32_t *tokens, size_t draws, uint64_t seed, double *inputs) {
    nvdp_status status = NVDP_OK;
    struct drawing d = {0};
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(drawing_begin(ctx, dchi, draws, &d));
    memset(inputs, 0, dchi->vectors->count * sizeof *inputs);
    for (size_t i = 0; i < n; i++) {
        const int32_t *drawn = d.drawn + i % TOGETHER * draws;
        if (i % TOGETHER == 0)
            NVDP_TRY(draw_together(ctx, &d, nvdp__min(n - i, TOGETHER), tokens + i, seed, i));
        for (size_t k = 0; k < draws; k++)
            inputs[drawn[k]] += k == 0 || drawn[k] != drawn[k - 1];
    }
cleanup:
    drawing_end(&d);
    return status;
}
