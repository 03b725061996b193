/* Searches a shared file of method sentence (include/nvdp/search.h): queries, estimates of one block of texts, the best
 * texts of each thread, a prior from all estimates, hits. */
#include "base/array.h"
#include "base/f16.h"
#include "base/file.h"
#include "base/own.h"
#include "mechanism/mechanism.h"
#include "share/release.h"
#include "tensor/vector.h"
#include "text/dataset.h"
#include "train/linear.h"
#include <ctype.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <nvdp/encoder.h>
#include <nvdp/search.h>
#include <nvdp/share.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Each range of blocks has separate sums, so sums do not depend on the number of threads. */
enum { BLOCK_FLOATS = 6144, BLOCKS_PER_CHECK = 1 << 16, RANGES = 64 };

struct nvdp_search {
    struct nvdp_context *ctx;
    const struct nvdp_shared *of;
    struct nvdp_encoder *encoder;
    struct nvdp_search_info info;
};

/* --- opening --- */

nvdp_status nvdp_search_open(struct nvdp_context *ctx, const struct nvdp_shared *of,
                             const char *model, struct nvdp_search **out) {
    const struct nvdp__method *method = nvdp__method_named(of->method);
    nvdp__autoptr(nvdp_search_free) struct nvdp_search *search = NULL;
    if (of->query == NULL || method == NULL || !method->untrained)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "the file cannot be searched: expected method sentence, whose files state the encoder "
            "and the center that a query needs (nvdp export --model makes one), found method "
            "'%s'%s",
            of->method, of->query == NULL ? " without them" : "");
    const struct nvdp__embeddings_shape *shape = &of->shape;
    if (!(of->clip_sequence > 0 && of->clip_sequence < 1e6) || shape->weights ||
        shape->rows != shape->texts * shape->samples)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "search: expected one vector per sample and a clip_sequence above 0, "
                          "found %zu vectors for %zu samples and clip_sequence %g",
                          shape->rows, shape->texts * shape->samples, of->clip_sequence);
    NVDP_TRY(NVDP__NEW(ctx, search, 1));
    const double deviation = 1 / (of->clip_sequence * sqrt((double)shape->samples));
    *search = (struct nvdp_search){
        .ctx = ctx,
        .of = of,
        .info = {.texts = shape->texts,
                 .dim = shape->dim,
                 .clip = of->clip_sequence,
                 .deviation = deviation,
                 .margin = deviation * gsl_cdf_ugaussian_Qinv(.025),
                 .margin_all = deviation *
                               gsl_cdf_ugaussian_Qinv(.025 / (double)nvdp__max(shape->texts, 1))}};
    nvdp__snprintf(search->info.encoder, sizeof search->info.encoder, "%s", of->query->encoder);
    nvdp__snprintf(search->info.sha256, sizeof search->info.sha256, "%s", of->query->sha256);
    if (!of->query->vectors || model != NULL)
        NVDP_TRY(nvdp__query_encoder(ctx, of->query, model, &search->encoder));
    return NVDP__HAND_OVER(out, search);
}

void nvdp_search_free(struct nvdp_search *search) {
    if (search == NULL) return;
    nvdp_encoder_free(search->encoder);
    free(search);
}

nvdp_status nvdp_search_describe(const struct nvdp_search *search, struct nvdp_search_info *out) {
    NVDP_TRY(nvdp__can_give(search->ctx, out));
    struct nvdp_search_info info = search->info;
    return NVDP__GIVE(out, &info);
}

/* --- queries --- */

/* Computes the unit vectors u [queries, p]. */
static nvdp_status embed(struct nvdp_context *ctx, const struct nvdp_search *search,
                         const char *file, size_t queries, const char *const *text, float *u) {
    const struct nvdp__query_map *query = search->of->query;
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    nvdp__autofree bool *there = NULL;
    if (search->encoder == NULL) /* of vectors, which no encoder is stated for: fails */
        return nvdp__query_encoder(ctx, query, NULL, &(struct nvdp_encoder *){NULL});
    NVDP_TRY(nvdp_dataset_from_texts(ctx, nvdp_encoder_tokenizer(search->encoder),
                                     query->max_length, queries, text, NULL, &data));
    size_t cut = 0; /* the first query that is cut */
    while (data->truncated > 0 && !nvdp__dataset_storage(data)->cut[cut])
        cut++;
    if (data->truncated > 0)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "%s%c%zu: the query is cut to %zu tokens, the limit that the file states (%zu of "
                  "%zu queries are cut)",
                  NVDP__QUERY(file, cut), query->max_length, data->truncated, data->count);
    NVDP_TRY(NVDP__NEW(ctx, there, queries));
    NVDP_TRY(nvdp__query_embed(ctx, query, search->encoder, data, u, there));
    for (size_t q = 0; q < queries; q++)
        if (!there[q])
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "%s%c%zu: expected a text with tokens, found '%.100s', whose "
                              "embedding is 0",
                              NVDP__QUERY(file, q), text[q]);
    return NVDP_OK;
}

/* --- estimates of a block --- */

NVDP__CLONES static void search_widen(size_t n, const int32_t *from, float *to) {
    for (size_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

NVDP__CLONES static void search_widen16(size_t n, const int16_t *from, float *to) {
    for (size_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

/* Converts values to multiples of the step. */
static void widen(const struct nvdp_shared *of, size_t first, size_t n, float *to) {
    if (of->shape.grid == NVDP__H5_I32) {
        search_widen(n, (const int32_t *)of->z + first, to);
    } else if (of->shape.grid == NVDP__H5_I16) {
        search_widen16(n, (const int16_t *)of->z + first, to);
    } else {
        for (size_t i = 0; i < n; i++)
            to[i] = nvdp__f16_to_float(((const uint16_t *)of->z)[first + i]);
    }
}

enum { LANES = 32 };

NVDP__CLONES static float search_dot(size_t n, const float *a, const float *b) {
    float lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        lane[i % LANES] += a[i] * b[i];
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            lane[k] += lane[k + half];
    return lane[0];
}

/* --- the best texts --- */

struct found {
    float estimate; /* in steps, summed over samples */
    size_t text;
};

/* Returns true if a ranks before b. */
static bool before(struct found a, struct found b) {
    return a.estimate != b.estimate ? a.estimate > b.estimate : a.text < b.text;
}

/* Restores a heap of the best texts, in which the worst text comes first. */
static void sink(struct found *heap, size_t n, size_t at) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(heap[child], heap[child + 1])) child++;
        if (!before(heap[at], heap[child])) return;
        const struct found other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

static void offer(struct found *heap, size_t *n, size_t room, struct found next) {
    if (*n < room) {
        heap[(*n)++] = next;
        for (size_t at = *n / 2; *n == room && at-- > 0;)
            sink(heap, room, at);
    } else if (before(next, heap[0])) {
        heap[0] = next;
        sink(heap, room, 0);
    }
}

struct sums {
    double value, square;
};

struct scan {
    const struct nvdp_shared *of;
    size_t queries, room;
    size_t block;       /* texts per block */
    float *u;           /* [queries, p] */
    struct found *best; /* [threads, queries, room] */
    size_t *count;      /* [threads, queries] */
    float *values;      /* [threads, block, S, p] */
    struct sums *sums;  /* [RANGES, queries] over the estimates of all texts, in steps */
};

static void scan_block(const struct scan *scan, size_t first, size_t end, size_t thread,
                       struct sums *sums) {
    const struct nvdp__embeddings_shape *shape = &scan->of->shape;
    const size_t p = shape->dim, samples = shape->samples, width = samples * p;
    float *values = scan->values + thread * scan->block * width;
    widen(scan->of, first * width, (end - first) * width, values);
    for (size_t i = first; samples > 1 && i < end; i++) {
        float *sum = values + (i - first) * width;
        for (size_t s = 1; s < samples; s++)
            for (size_t j = 0; j < p; j++)
                sum[j] += sum[s * p + j];
    }
    for (size_t q = 0; q < scan->queries; q++) {
        const size_t slot = thread * scan->queries + q;
        for (size_t i = first; i < end; i++) {
            const struct found next = {search_dot(p, values + (i - first) * width, scan->u + q * p),
                                       i};
            sums[q].value += (double)next.estimate;
            sums[q].square += (double)next.estimate * (double)next.estimate;
            offer(scan->best + slot * scan->room, &scan->count[slot], scan->room, next);
        }
    }
}

/* --- the prior --- */

struct prior {
    double mean, shrinkage;
};

/* Fits a normal prior of the true cosines to the estimates of all N texts (Efron 2011, "Tweedie's formula and selection
 * bias", JASA 106). An estimate is c | t ~ N(t, sigma^2). With the prior t ~ N(m, tau^2), estimates are distributed
 * as N(m, tau^2 + sigma^2), so m is their mean and tau^2 = max(0, their variance - sigma^2). Tweedie's formula
 * E(t | c) = c + sigma^2 d/dc log p(c), p the density of estimates, then gives
 *
 *     t | c ~ N(m + s (c - m), s sigma^2),    s = tau^2/(tau^2 + sigma^2).
 *
 * Given c, the distribution of t does not depend on how the text was selected by the estimates, so it holds for hits,
 * too. The difference of two texts has mean s (c - c') and variance 2 s sigma^2, so it is above 0 with probability
 * Phi(sqrt(s) (c - c')/(sqrt(2) sigma)).
 *
 * If the estimates vary no more than the noise, s is 0: every text has the mean m, and the probability is 1/2.
 * A text far above the normal prior, such as the only duplicate of a query, is shrunken too far: the mean and the
 * probability are too small. A single text has no selection: m = c. */
static struct prior fit_prior(const struct scan *scan, size_t q, double scale, double deviation) {
    const double n = (double)scan->of->shape.texts;
    double sum = 0, square = 0;
    for (size_t r = 0; r < RANGES; r++) {
        sum += scan->sums[r * scan->queries + q].value * scale;
        square += scan->sums[r * scan->queries + q].square * scale * scale;
    }
    const double mean = sum / n, variance = (square - sum * mean) / fmax(n - 1, 1);
    const double noise = deviation * deviation;
    return (struct prior){mean, 1 - noise / fmax(variance, noise)};
}

/* --- hits --- */

/* Merges the threads' best texts of a query into hits. */
static void give_hits(const struct nvdp_search *search, const struct scan *scan, size_t q,
                      size_t threads, struct found *merged, size_t top, struct nvdp_hit *hit) {
    const struct nvdp_shared *of = search->of;
    const struct nvdp__embeddings_shape *shape = &of->shape;
    const double scale = (shape->grid == NVDP__H5_F16 ? 1 : of->z_step) /
                         ((double)shape->samples * search->info.clip);
    const double sigma = search->info.deviation;
    const struct prior prior = fit_prior(scan, q, scale, sigma);
    size_t n = 0;
    for (size_t t = 0; t < threads; t++) {
        const size_t slot = t * scan->queries + q;
        memcpy(merged + n, scan->best + slot * scan->room, scan->count[slot] * sizeof *merged);
        n += scan->count[slot];
    }
    NVDP__SORT(merged, n, NVDP__DOWN(struct found, estimate), NVDP__UP(struct found, text));
    for (size_t k = 0; k < top; k++) {
        const double c = merged[k].estimate * scale,
                     gap = n > top ? c - merged[top].estimate * scale : NAN;
        hit[k] = (struct nvdp_hit){
            .text = merged[k].text,
            .id = of->id != NULL ? of->id[merged[k].text] : (int64_t)merged[k].text,
            .estimate = c,
            .shrunken = prior.mean + prior.shrinkage * (c - prior.mean),
            .above = gsl_cdf_ugaussian_P(sqrt(prior.shrinkage) * gap / (sqrt(2) * sigma))};
    }
}

/* Finds the hits of queries whose unit vectors u [queries, p] are known. */
static nvdp_status find_hits(struct nvdp_context *ctx, struct nvdp_search *search, size_t queries,
                             float *u, size_t top, struct nvdp_hit *hit) {
    const struct nvdp__embeddings_shape *shape = &search->of->shape;
    const size_t threads = (size_t)nvdp_context_threads(ctx), width = shape->samples * shape->dim;
    struct scan scan = {.of = search->of,
                        .queries = queries,
                        .u = u,
                        .room = nvdp__min(top, shape->texts) + 1,
                        .block = nvdp__max(BLOCK_FLOATS / width, 1)};
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct found *merged;
    const size_t slots = threads * queries, blocks = (shape->texts + scan.block - 1) / scan.block;
    size_t size;
    if (!nvdp__mul(slots, scan.room, &size))
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "search: too many queries and hits");
    NVDP_TRY(NVDP__ARRAYS(
        ctx, &memory, NVDP__ITEMS(scan.best, size), NVDP__ITEMS(scan.count, slots),
        NVDP__ITEMS(scan.values, threads * scan.block * width),
        NVDP__ITEMS(scan.sums, RANGES * queries), NVDP__ITEMS(merged, threads * scan.room)));
    for (size_t begin = 0; begin < blocks; begin += BLOCKS_PER_CHECK) {
        const size_t stop = nvdp__min(blocks, begin + BLOCKS_PER_CHECK);
        NVDP_TRY(nvdp__check_cancelled(ctx, "search: cancelled"));
#pragma omp parallel for num_threads((int)threads) schedule(static)
        for (size_t r = 0; r < RANGES; r++)
            for (size_t b = begin + (stop - begin) * r / RANGES;
                 b < begin + (stop - begin) * (r + 1) / RANGES; b++)
                scan_block(&scan, b * scan.block, nvdp__min(shape->texts, (b + 1) * scan.block),
                           (size_t)omp_get_thread_num(), scan.sums + r * queries);
    }
    const size_t hits = nvdp__min(top, shape->texts);
    for (size_t q = 0; q < queries; q++)
        give_hits(search, &scan, q, threads, merged, hits, hit + q * hits);
    return NVDP_OK;
}

/* Allocates the unit vectors of the queries. */
static nvdp_status begin(struct nvdp_context *ctx, const struct nvdp_search *search, size_t queries,
                         size_t top, float **u) {
    if (queries == 0 || top == 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "search: expected at least one query and one hit, found %zu and %zu",
                          queries, top);
    return NVDP__NEW(ctx, *u, queries * search->info.dim);
}

nvdp_status nvdp_search_texts(struct nvdp_context *ctx, struct nvdp_search *search,
                              const char *file, size_t queries, const char *const *query,
                              size_t top, struct nvdp_hit *hit) {
    nvdp__autofree float *u = NULL;
    NVDP_TRY(begin(ctx, search, queries, top, &u));
    NVDP_TRY(embed(ctx, search, file, queries, query, u));
    return find_hits(ctx, search, queries, u, top, hit);
}

/* Computes the unit vectors u [queries, p] of the caller's vectors. */
static nvdp_status directions(struct nvdp_context *ctx, const struct nvdp_search *search,
                              size_t queries, size_t width, const float *x, float *u) {
    const struct nvdp__query_map *query = search->of->query;
    nvdp__autofree float *copy = NULL;
    NVDP_TRY(NVDP__NEW(ctx, copy, width));
    if (width != query->width)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "search: expected query vectors of %zu numbers, the width of the file's "
                          "encoder, found %zu",
                          query->width, width);
    for (size_t q = 0; q < queries; q++) {
        memcpy(copy, x + q * width, width * sizeof *copy);
        if (!nvdp__query_direction(query, copy, u + q * query->dim))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "search: query vector %zu: expected finite numbers that differ from "
                              "the file's center, found others",
                              q);
    }
    return NVDP_OK;
}

nvdp_status nvdp_search_vectors(struct nvdp_context *ctx, struct nvdp_search *search,
                                size_t queries, size_t width, const float *x, size_t top,
                                struct nvdp_hit *hit) {
    nvdp__autofree float *u = NULL;
    NVDP_TRY(begin(ctx, search, queries, top, &u));
    NVDP_TRY(directions(ctx, search, queries, width, x, u));
    return find_hits(ctx, search, queries, u, top, hit);
}

nvdp_status nvdp_search_means(struct nvdp_context *ctx, struct nvdp_search *search, size_t queries,
                              size_t width, const float *x, float *mean) {
    NVDP_TRY(directions(ctx, search, queries, width, x, mean));
    for (size_t k = 0; k < queries * search->info.dim; k++)
        mean[k] *= (float)search->info.clip;
    return NVDP_OK;
}
