/* Analyzes a table of word vectors and a mechanism over it, for analyses in the program and in the library:
 * distances and plausible deniability (nvdp/text_privacy.h). */
#include "base/random.h"
#include "dchi/dchi.h"
#include "options/schema.h"
#include <nvdp/text_privacy.h>

#include <math.h>
#include <stdlib.h>

size_t nvdp_token_texts_count(const struct nvdp_token_texts *texts, size_t vocabulary,
                              double *counts) {
    size_t known = 0;
    memset(counts, 0, vocabulary * sizeof *counts);
    for (size_t i = 0; i < texts->offset[texts->texts]; i++) {
        const int32_t token = texts->tokens[i];
        if (token < 0) continue;
        counts[token]++;
        known++;
    }
    return known;
}

/* Draws *n tokens with the probabilities `prior`.  If prior is NULL, draws at most count tokens without replacement. */
static nvdp_status choose_tokens(struct nvdp_context *ctx, size_t count, const double *prior,
                                 uint64_t seed, size_t *n, int32_t **out) {
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 1, 0);
    nvdp__autofree int32_t *all = NULL, *token = NULL;
    double total = 0;
    bool valid = true;
    if (prior == NULL && *n > count) *n = count;
    for (size_t x = 0; x < count && prior != NULL; x++) {
        valid &= prior[x] >= 0;
        total += prior[x];
    }
    if (*n == 0 || (prior != NULL && !(valid && total > 0 && isfinite(total))))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "analysis: expected at least 1 token and weights with a finite sum above "
                          "0, found %zu tokens and a sum of %g",
                          *n, total);
    NVDP_TRY(NVDP__NEW(ctx, all, count));
    NVDP_TRY(NVDP__NEW(ctx, token, *n));
    for (size_t x = 0; x < count; x++)
        all[x] = (int32_t)x;
    for (size_t i = 0; i < *n; i++) {
        if (prior == NULL) {
            const size_t j = i + (size_t)nvdp__stream_below(&stream, count - i);
            token[i] = all[j];
            all[j] = all[i];
            continue;
        }
        double left = nvdp__stream_uniform(&stream) * total;
        for (size_t x = 0; x < count && left >= 0; x++)
            if (prior[x] > 0) {
                left -= prior[x];
                token[i] = (int32_t)x;
            }
    }
    *out = token;
    token = NULL;
    return NVDP_OK;
}

/* ---- distances ---- */

nvdp_status nvdp_distances_measure(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   const double *prior, size_t tokens, uint64_t seed,
                                   struct nvdp_distances *out) {
    static const size_t all[] = {1,  2,  3,   4,   5,   6,    7,    8,    9,     10,
                                 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000};
    _Static_assert(sizeof all / sizeof *all + 1 == NVDP_DISTANCES_NEIGHBORS, "the farthest one");
    const size_t count = nvdp_vectors_count(vectors);
    struct nvdp_geometry geometry = NVDP_RESULT(struct nvdp_geometry);
    struct nvdp_distances made = {.struct_size = sizeof made, .tokens = tokens};
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *distance = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(choose_tokens(ctx, count, prior, seed, &made.tokens, &token));
    while (made.neighbors < sizeof all / sizeof *all && all[made.neighbors] < count - 1) {
        made.k[made.neighbors] = all[made.neighbors];
        made.neighbors++;
    }
    if (count > 1) made.k[made.neighbors++] = count - 1;
    NVDP_TRY(NVDP__NEW(ctx, distance, made.tokens * made.neighbors));
    NVDP_TRY(nvdp_vectors_geometry(ctx, vectors, made.tokens, seed, &geometry));
    NVDP_TRY(
        nvdp_vectors_neighbors(ctx, vectors, made.tokens, token, made.neighbors, made.k, distance));
    for (size_t j = 0; j < made.neighbors; j++)
        for (size_t i = 0; i < made.tokens; i++)
            made.mean[j] += distance[i * made.neighbors + j] / (double)made.tokens;
    made.nearest_median = geometry.nearest_median;
    made.pair_median = geometry.pair_median;
    made.diameter_bound = geometry.diameter_bound;
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

/* ---- deniability ---- */

/* Summarizes n values, and sorts them. */
static struct nvdp_summary summary_of(size_t n, double *value) {
    static const double share[5] = {.05, .25, .5, .75, .95};
    double quantile[5] = {0}, sum = 0;
    qsort(value, n, sizeof *value, nvdp__by_double);
    for (size_t i = 0; i < n; i++)
        sum += value[i];
    for (size_t q = 0; q < 5; q++)
        quantile[q] = value[(size_t)(share[q] * (double)(n - 1) + .5)];
    return (struct nvdp_summary){sum / (double)n, quantile[0], quantile[1],
                                 quantile[2],     quantile[3], quantile[4]};
}

nvdp_status nvdp_deniability_measure(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     const double *prior, size_t tokens, size_t draws,
                                     uint64_t seed, struct nvdp_deniability *out) {
    const size_t count = nvdp_vectors_count(dchi->vectors);
    struct nvdp_deniability made = {.struct_size = sizeof made, .tokens = tokens, .draws = draws};
    nvdp__autofree int32_t *token = NULL;
    nvdp__autofree double *same = NULL, *distinct = NULL, *sources = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    if (draws == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "draws: expected at least 1, found 0");
    NVDP_TRY(choose_tokens(ctx, count, prior, seed, &made.tokens, &token));
    NVDP_TRY(NVDP__NEW(ctx, same, made.tokens));
    NVDP_TRY(NVDP__NEW(ctx, distinct, made.tokens));
    NVDP_TRY(NVDP__NEW(ctx, sources, count));
    NVDP_TRY(nvdp_dchi_deniability(ctx, dchi, made.tokens, token, draws, seed, same, distinct));
    qsort(token, made.tokens, sizeof *token, nvdp__by_int32);
    for (size_t i = 0; i < made.tokens; i++)
        if (made.inputs == 0 || token[i] != token[made.inputs - 1]) token[made.inputs++] = token[i];
    NVDP_TRY(nvdp_dchi_sources(ctx, dchi, made.inputs, token, draws, seed, sources));
    size_t came_out = 0;
    for (size_t y = 0; y < count; y++)
        if (sources[y] > 0) sources[came_out++] = sources[y];
    made.n_w = summary_of(made.tokens, same);
    made.s_w = summary_of(made.tokens, distinct);
    made.s_star = summary_of(came_out, sources);
    for (size_t i = 0; i < made.tokens; i++) {
        same[i] = fabs(log(same[i])); /* 0, not -0 */
        distinct[i] = log(distinct[i]);
    }
    made.h_0 = summary_of(made.tokens, distinct);
    made.h_inf = summary_of(made.tokens, same);
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}
