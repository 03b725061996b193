/* How far apart the table's vectors are, and what that makes of a mechanism's draws. */
#include "base/random.h"
#include "base/schema.h"
#include "dchi/dchi.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum { BLOCK = NVDP__DCHI_BLOCK };

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts; 0 of none. */
static double median(size_t n, double *values) {
    qsort(values, n, sizeof *values, ascending);
    return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Block b of the chosen tokens against all: each one's nearest, its distances from the chosen behind
 * it, and the largest of all; rows [BLOCK, V]. */
static double measure_block(const struct nvdp_vectors *vectors, size_t n, const int32_t *token,
                            size_t b, double *rows, double *nearest, double *pairs) {
    const size_t length = nvdp__block_length(n, BLOCK, b);
    const double *vector[BLOCK];
    double most = 0;
    for (size_t i = 0; i < length; i++)
        vector[i] = nvdp_vectors_row(vectors, (size_t)token[b * BLOCK + i]);
    nvdp__vectors_distances(vectors, length, vector, rows);
    for (size_t i = 0; i < length; i++) {
        const double *row = rows + i * vectors->count;
        const size_t at = b * BLOCK + i, first = at * (2 * n - at - 1) / 2; /* pairs before at's */
        double least = INFINITY;
        for (size_t y = 0; y < vectors->count; y++) {
            if (y == (size_t)token[at]) continue;
            least = row[y] < least ? row[y] : least;
            most = row[y] > most ? row[y] : most;
        }
        nearest[at] = least;
        for (size_t j = at + 1; j < n; j++)
            pairs[first + j - at - 1] = row[token[j]];
    }
    return most;
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
    double *rows = NULL, *nearest = NULL, *pairs = NULL, most = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(NVDP__NEW(ctx, token, count));
    NVDP_TRY(NVDP__NEW(ctx, nearest, n));
    NVDP_TRY(NVDP__NEW(ctx, pairs, n * (n - 1) / 2));
    NVDP_TRY(NVDP__NEW(ctx, rows, (size_t)threads * BLOCK * count));
    for (size_t x = 0; x < count; x++)
        token[x] = (int32_t)x;
    nvdp__dchi_draw(&stream, n, count, token);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) reduction(max : most)
    for (size_t b = 0; b < blocks; b++) {
        double far =
            measure_block(vectors, n, token, b, rows + (size_t)omp_get_thread_num() * BLOCK * count,
                          nearest, pairs);
        most = far > most ? far : most;
    }
    found.nearest_median = count > 1 ? median(n, nearest) : 0;
    found.pair_median = median(n * (n - 1) / 2, pairs);
    found.pair_max = most;
    for (size_t x = 0; x < count; x++) {
        double d = nvdp__distance(vectors->dim, nvdp_vectors_row(vectors, x), vectors->mean);
        found.diameter_bound = 2 * d > found.diameter_bound ? 2 * d : found.diameter_bound;
    }
    if (n == count) found.diameter_bound = most;
    NVDP__GIVE(out, &found);
cleanup:
    free(token);
    free(rows);
    free(nearest);
    free(pairs);
    return status;
}

/* ---- plausible deniability ---- */

static int by_token(const void *left, const void *right) {
    int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
    return (a > b) - (a < b);
}

nvdp_status nvdp_dchi_deniability(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                  const int32_t *tokens, size_t draws, uint64_t seed, double *same,
                                  double *distinct) {
    nvdp_status status = NVDP_OK;
    const size_t count = dchi->vectors->count;
    struct nvdp_dchi *drawing = NULL; /* whose kept weights are not the caller's */
    int32_t *in = NULL, *drawn = NULL;
    double *row = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, n, tokens));
    const bool exact = nvdp__dchi_exact(dchi);
    NVDP_TRY(nvdp_dchi_create(ctx, dchi->vectors,
                              exact ? dchi->mechanism : NVDP_DCHI_LAPLACE_NEAREST, dchi->eta,
                              dchi->p, dchi->sensitive, &drawing));
    NVDP_TRY(NVDP__NEW(ctx, in, draws));
    NVDP_TRY(NVDP__NEW(ctx, drawn, draws));
    NVDP_TRY(NVDP__NEW(ctx, row, exact ? count : 0));
    for (size_t i = 0; i < n; i++) {
        size_t equal = 0, kinds = 0;
        if (nvdp_context_cancelled(ctx)) NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_CANCELLED, "cancelled"));
        for (size_t k = 0; k < draws; k++)
            in[k] = tokens[i];
        NVDP_TRY(nvdp_dchi_sample(ctx, drawing, 1, (size_t[]){0, draws}, in, &seed, i, drawn));
        qsort(drawn, draws, sizeof *drawn, by_token);
        for (size_t k = 0; k < draws; k++) {
            equal += drawn[k] == tokens[i];
            kinds += k == 0 || drawn[k] != drawn[k - 1];
        }
        same[i] = draws > 0 ? (double)equal / (double)draws : 0;
        distinct[i] = (double)kinds;
        if (!exact || tokens[i] < 0) continue;
        NVDP_TRY(nvdp_dchi_log_probabilities(ctx, drawing, 1, tokens + i, row));
        same[i] = exp(row[tokens[i]]);
    }
cleanup:
    nvdp_dchi_free(drawing);
    free(in);
    free(drawn);
    free(row);
    return status;
}
