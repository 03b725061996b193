/* Token inversion (Qu et al. 2021, section 5.4): the probability that an attacker guesses the
 * token that a user wrote, exact if distributions are known, else from drawn tokens. */
#include "base/random.h"
#include "dchi/dchi.h"
#include "options/schema.h"
#include "rdp/pairs.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum { BLOCK = NVDP__DCHI_BLOCK, DRAWN = 256 };

static nvdp_status check_prior(struct nvdp_context *ctx, size_t count, const double *prior,
                               double *sum) {
    *sum = 0;
    for (size_t x = 0; x < count; x++) {
        if (!(prior[x] >= 0 && isfinite(prior[x])))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "token inversion: token %zu: expected a finite prior weight of at "
                              "least 0, found %g",
                              x, prior[x]);
        *sum += prior[x];
    }
    if (*sum > 0 && isfinite(*sum)) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "token inversion: expected a token with a prior weight above 0, found "
                      "weights with the sum %g",
                      *sum);
}

/* ---- known distributions ----
 *
 *     nearest  sum_x prior(x) P(x|x)         an output token is nearest to itself
 *     Bayes    sum_y max_x prior(x) P(y|x)
 *
 * best [threads, V]: the maxima so far; own [threads]; rows [threads, BLOCK, V]. */
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
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *memory = NULL, *own = NULL;
    size_t n = 0;
    NVDP_TRY(NVDP__NEW(ctx, token, count));
    NVDP_TRY(NVDP__NEW(ctx, own, count));
    NVDP_TRY(NVDP__NEW(ctx, memory, (size_t)threads * each));
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

/* The token in whose share of [0, sum) `at` falls; `end` has the ends of the shares. */
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

/* For a vector v: argmax_x log prior(x) - eta |v - phi(x)|; ties give the lowest index. */
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
    nvdp__autofree double *end = NULL, *log_prior = NULL, *points = NULL, *rows = NULL;
    size_t nearest = 0, bayes = 0;
    NVDP_TRY(NVDP__NEW(ctx, end, count));
    NVDP_TRY(NVDP__NEW(ctx, log_prior, count));
    NVDP_TRY(NVDP__NEW(ctx, points, DRAWN * dim));
    NVDP_TRY(NVDP__NEW(ctx, rows, (size_t)threads * BLOCK * count));
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
        NVDP_TRY(nvdp_vectors_nearest(ctx, vectors, now, points, near));
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
    struct nvdp_inversion found = {.struct_size = sizeof found};
    double sum = 0;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check_prior(ctx, dchi->vectors->count, prior, &sum));
    if (!exact && draws == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "token inversion: expected at least 1 draw, found 0");
    for (size_t x = 0; x < dchi->vectors->count; x++)
        found.prior = fmax(found.prior, prior[x] / sum);
    NVDP_TRY(exact ? invert_exactly(ctx, dchi, prior, sum, &found)
                   : invert_drawn(ctx, dchi, prior, draws, seed, &found));
    NVDP__GIVE(out, &found);
    return NVDP_OK;
}
