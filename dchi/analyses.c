/* Analyses of a mechanism: distances between the vectors of the table, the plausible deniability of draws, and the
 * probability that an attacker guesses the token that a user wrote. */
#include "base/own.h"
#include "base/random.h"
#include "dchi/dchi.h"
#include "options/schema.h"
#include "rdp/pairs.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum { BLOCK = NVDP__DCHI_BLOCK, DRAWN = 256 };

/* ==== distances between the vectors, and plausible deniability ==== */

/* Sorts the values and returns their median; 0 if there are no values. */
static double median(size_t n, double *values) {
    qsort(values, n, sizeof *values, nvdp__by_double);
    return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The rows of n <= BLOCK tokens: pointers into the table, or to copies in `memory`. */
struct block_rows {
    const double *row[BLOCK];
    double memory[BLOCK][NVDP__ROW_WIDEST];
};
static void take_rows(const struct nvdp_vectors *vectors, size_t n, const int32_t *token,
                      struct block_rows *out) {
    for (size_t i = 0; i < n; i++)
        out->row[i] = nvdp__row(vectors, (size_t)token[i], out->memory[i]);
}

/* Computes the distances of block b of the chosen tokens from the chosen tokens that come later. */
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
                         /* number of pairs of tokens before `at` */
                first = at * (2 * n - at - 1) / 2;
            pairs[first + j - at - 1] = nvdp__distance(vectors->dim, rows.row[i], row);
        }
    }
}

nvdp_status nvdp__vectors_geometry(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t tokens, uint64_t seed, struct nvdp_geometry *out) {
    const size_t count = vectors->count, n = tokens == 0 || tokens > count ? count : tokens;
    const int threads = nvdp_context_threads(ctx);
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    struct nvdp_geometry found = {.struct_size = sizeof found, .tokens = n};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    int32_t *token;
    double *nearest, *farthest, *pairs, radius = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(token, count), NVDP__ITEMS(nearest, n),
                          NVDP__ITEMS(farthest, n), NVDP__ITEMS(pairs, n * (n - 1) / 2)));
    for (size_t x = 0; x < count; x++)
        token[x] = (int32_t)x;
    nvdp__dchi_draw(&stream, n, count, token);
    NVDP_TRY(nvdp__vectors_extremes(ctx, vectors, n, token, nearest, farthest));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t b = 0; b < nvdp__blocks(n, BLOCK); b++)
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
    return NVDP__GIVE(out, &found);
}

/* ---- the k-th nearest ---- */

/* Computes distances [n, m] to the k-th nearest tokens, for n <= BLOCK tokens. */
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

nvdp_status nvdp__vectors_neighbors(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
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

/* Number of tokens drawn together, which share the product of their vectors with the table. */
enum { TOGETHER = 64 };

/* Draws `draws` outputs of each token; for laplace, the tokens nearest to the token's noised vectors. Computes the
 * share of draws in which a token is unchanged and the number of distinct outputs; if `inputs` is not NULL, counts
 * the inputs of each output instead. */
static nvdp_status count_draws(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                               const int32_t *tokens, size_t draws, uint64_t seed, double *same,
                               double *distinct, double *inputs) {
    /* a copy with separate cached proposals */
    nvdp__autoptr(nvdp_dchi_free) struct nvdp_dchi *own = NULL;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    size_t offset[TOGETHER + 1] = {0};
    int32_t *in, *drawn; /* [TOGETHER, draws] inputs and outputs */
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(nvdp_dchi_create(ctx, dchi->vectors,
                              dchi->row->gives_vectors ? dchi->row->nearest : dchi->mechanism,
                              dchi->eta, dchi->p, dchi->sensitive, &own));
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(in, TOGETHER * draws),
                          NVDP__ITEMS(drawn, TOGETHER * draws)));
    for (size_t first = 0; first < n; first += TOGETHER) {
        const size_t now = nvdp__min(n - first, TOGETHER);
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
        for (size_t i = 0; i < now; i++) {
            offset[i + 1] = (i + 1) * draws;
            for (size_t k = 0; k < draws; k++)
                in[i * draws + k] = tokens[first + i];
        }
        NVDP_TRY(nvdp_dchi_sample(ctx, own, now, offset, in, &seed, first, drawn));
        for (size_t i = 0; i < now; i++) {
            int32_t *of = drawn + i * draws;
            size_t equal = 0, kinds = 0;
            qsort(of, draws, sizeof *of, nvdp__by_int32);
            for (size_t k = 0; k < draws; k++) {
                const bool another = k == 0 || of[k] != of[k - 1];
                equal += of[k] == tokens[first + i];
                kinds += another;
                if (inputs != NULL) inputs[of[k]] += another;
            }
            if (inputs != NULL) continue;
            same[first + i] = draws > 0 ? (double)equal / (double)draws : 0;
            distinct[first + i] = (double)kinds;
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp__dchi_deniability(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                   const int32_t *tokens, size_t draws, uint64_t seed, double *same,
                                   double *distinct) {
    NVDP_TRY(count_draws(ctx, dchi, n, tokens, draws, seed, same, distinct, NULL));
    return nvdp__dchi_exact(dchi) ? nvdp__dchi_unchanged(ctx, dchi, n, tokens, same) : NVDP_OK;
}

nvdp_status nvdp__dchi_sources(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                               const int32_t *tokens, size_t draws, uint64_t seed, double *inputs) {
    memset(inputs, 0, dchi->vectors->count * sizeof *inputs);
    return count_draws(ctx, dchi, n, tokens, draws, seed, NULL, NULL, inputs);
}

/* ==== token inversion (Qu et al. 2021, section 5.4), exact if the distributions are known, else from drawn tokens
 * ==== */

/* ---- known distributions ----
 *
 *     nearest  sum_x prior(x) P(x|x)         an output token is nearest to itself
 *     Bayes    sum_y max_x prior(x) P(y|x)
 *
 * best [threads, V] has the maxima so far, own receives the terms of `nearest`, and rows [threads, BLOCK, V] is a
 * scratch buffer. */
static void add_block(const struct nvdp_dchi *dchi, size_t n, const int32_t *token,
                      const double *prior, double *rows, double *best, double *own) {
    const size_t count = dchi->vectors->count;
    nvdp__dchi_rows(dchi, n, token, rows);
    for (size_t i = 0; i < n; i++) {
        const double *row = rows + i * count, weight = prior[token[i]];
        own[i] = weight * exp(row[token[i]]);
        for (size_t y = 0; y < count; y++) {
            const double joint = weight * exp(row[y]);
            best[y] = joint > best[y] ? joint : best[y];
        }
    }
}

static nvdp_status invert_exactly(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                  const double *prior, double sum, struct nvdp_inversion *found) {
    const size_t count = dchi->vectors->count;
    const int threads = nvdp_context_threads(ctx);
    const size_t each = (size_t)(BLOCK + 1) * count, chunk = 16 * (size_t)threads;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory block = {0};
    int32_t *token;
    double *memory, *own;
    size_t n = 0;
    NVDP_TRY(NVDP__ARRAYS(ctx, &block, NVDP__ITEMS(token, count), NVDP__ITEMS(own, count),
                          NVDP__ITEMS(memory, (size_t)threads * each)));
    for (size_t x = 0; x < count; x++)
        if (prior[x] > 0) token[n++] = (int32_t)x;
    const size_t blocks = nvdp__blocks(n, BLOCK);
    for (size_t first = 0; first < blocks; first += chunk) {
        const size_t end = blocks - first < chunk ? blocks : first + chunk;
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t b = first; b < end; b++) {
            double *mine = memory + (size_t)omp_get_thread_num() * each;
            add_block(dchi, nvdp__block_length(n, BLOCK, b), token + b * BLOCK, prior, mine + count,
                      mine, own + b * BLOCK);
        }
    }
    for (size_t i = 0; i < n; i++)
        found->nearest += own[i] / sum;
    for (size_t y = 0; y < count; y++) {
        double best = 0;
        for (size_t t = 0; t < (size_t)threads; t++)
            best = memory[t * each + y] > best ? memory[t * each + y] : best;
        found->bayes += best / sum;
    }
    return NVDP_OK;
}

/* ---- noised vectors: tokens drawn from the prior ---- */

/* Returns the token in whose share of [0, sum) `at` falls; `end` has the ends of the shares. */
static int32_t pick(size_t count, const double *end, double at) {
    size_t low = 0, high = count - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (end[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return (int32_t)low;
}

/* Returns argmax_x log prior(x) - eta |v - phi(x)| for a vector v; ties give the lowest index. */
static int32_t likeliest(const struct nvdp_dchi *dchi, const double *log_prior,
                         const double *distance) {
    double best = -INFINITY;
    int32_t found = 0;
    for (size_t x = 0; x < dchi->vectors->count; x++) {
        const double score = log_prior[x] - dchi->eta * distance[x];
        if (score > best) found = (int32_t)x;
        best = score > best ? score : best;
    }
    return found;
}

static nvdp_status invert_drawn(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                const double *prior, size_t draws, uint64_t seed,
                                struct nvdp_inversion *found) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    const size_t count = vectors->count, dim = vectors->dim;
    const int threads = nvdp_context_threads(ctx);
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    int32_t token[DRAWN], near[DRAWN], guess[DRAWN];
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *end, *log_prior, *points, *rows;
    size_t nearest = 0, bayes = 0;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(end, count), NVDP__ITEMS(log_prior, count),
                          NVDP__ITEMS(points, DRAWN * dim),
                          NVDP__ITEMS(rows, (size_t)threads * BLOCK * count)));
    for (size_t x = 0; x < count; x++) {
        end[x] = (x > 0 ? end[x - 1] : 0) + prior[x];
        log_prior[x] = log(prior[x]);
    }
    for (size_t first = 0; first < draws; first += DRAWN) {
        const size_t now = nvdp__min(draws - first, DRAWN);
        const size_t offset[2] = {0, now};
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
        for (size_t i = 0; i < now; i++)
            token[i] = pick(count, end, nvdp__stream_uniform(&stream) * end[count - 1]);
        NVDP_TRY(nvdp_dchi_perturb(ctx, dchi, 1, offset, token, &seed, first, points));
        NVDP_TRY(nvdp__vectors_nearest(ctx, vectors, now, points, near));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t b = 0; b < nvdp__blocks(now, BLOCK); b++) {
            double *row = rows + (size_t)omp_get_thread_num() * BLOCK * count;
            const size_t length = nvdp__block_length(now, BLOCK, b);
            const double *point[BLOCK];
            for (size_t i = 0; i < length; i++)
                point[i] = points + (b * BLOCK + i) * dim;
            nvdp__vectors_distances(vectors, length, point, row);
            for (size_t i = 0; i < length; i++)
                guess[b * BLOCK + i] = likeliest(dchi, log_prior, row + i * count);
        }
        for (size_t i = 0; i < now; i++) {
            nearest += near[i] == token[i];
            bayes += guess[i] == token[i];
        }
    }
    found->draws = draws;
    found->nearest = (double)nearest / (double)draws;
    found->bayes = (double)bayes / (double)draws;
    found->nearest_error = nvdp__share_error(found->nearest, draws);
    found->bayes_error = nvdp__share_error(found->bayes, draws);
    return NVDP_OK;
}

nvdp_status nvdp_dchi_inversion(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                const double *prior, size_t draws, uint64_t seed,
                                struct nvdp_inversion *out) {
    const bool exact = nvdp__dchi_exact(dchi);
    const size_t count = dchi->vectors->count;
    struct nvdp_inversion found = {.struct_size = sizeof found};
    double sum = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    for (size_t x = 0; x < count; x++) {
        if (!(prior[x] >= 0 && isfinite(prior[x])))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "token inversion: token %zu: expected a finite prior weight of at "
                              "least 0, found %g",
                              x, prior[x]);
        sum += prior[x];
    }
    if (!(sum > 0 && isfinite(sum)))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "token inversion: expected a token with a prior weight above 0, found "
                          "weights with the sum %g",
                          sum);
    if (!exact && draws == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "token inversion: expected at least 1 draw, found 0");
    for (size_t x = 0; x < count; x++)
        found.prior = fmax(found.prior, prior[x] / sum);
    NVDP_TRY(exact ? invert_exactly(ctx, dchi, prior, sum, &found)
                   : invert_drawn(ctx, dchi, prior, draws, seed, &found));
    return NVDP__GIVE(out, &found);
}
