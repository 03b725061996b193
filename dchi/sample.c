/* Draws: Laplace noise in R^d, tokens by alias tables. */
#include "base/random.h"
#include "dchi/dchi.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum { KEPT_BYTES = 256 << 20, PERTURBED = 1 << 20 };

/* Where the draws of a call come from. */
struct source {
    struct nvdp__release_key key;
    struct nvdp__noise noise;
};

static nvdp_status open_source(struct nvdp_context *ctx, const uint64_t *seed, struct source *out) {
    out->noise = (struct nvdp__noise){.seed = seed != NULL ? *seed : 0};
    if (seed != NULL) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__release_key_create(ctx, &out->key));
    out->noise.release = &out->key;
    return NVDP_OK;
}

/* Which text each token is of, and where in it. */
struct place {
    uint64_t text;
    uint32_t position;
};

static nvdp_status find_places(struct nvdp_context *ctx, size_t texts, const size_t *offset,
                               uint64_t first, struct place **out) {
    struct place *place = NULL;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, place, offset[texts]));
    for (size_t t = 0; t < texts; t++)
        for (size_t i = offset[t]; i < offset[t + 1]; i++)
            place[i] = (struct place){first + t, (uint32_t)(i - offset[t])};
    *out = place;
    return NVDP_OK;
}

/* ---- Laplace noise in R^d ----
 *
 * Density ~ exp(-eta |N|) (Feyisetan et al. 2020; Qu et al. 2021, Eq. 3): N = r u with u uniform on the
 * sphere, a normal vector over its norm, and r of density r^(d-1) exp(-eta r), which is the Gamma
 * distribution of shape d and scale 1/eta: for a whole d the sum of d exponentials,
 *
 *     r  =  -1/eta log (U_1 ... U_d),    16 factors a logarithm: above 2^-848. */
static void add_noise(struct nvdp__stream *stream, double eta, size_t dim, const double *x,
                      double *noise, double *out) {
    double radius = 0, square = 0;
    while (square == 0) {
        nvdp__stream_normals_f64(stream, dim, noise);
        for (size_t k = 0; k < dim; k++)
            square += noise[k] * noise[k];
    }
    for (size_t k = 0; k < dim; k += 16) {
        double product = 1;
        for (size_t i = k; i < dim && i < k + 16; i++)
            product *= nvdp__stream_uniform(stream);
        radius -= log(product);
    }
    const double scale = radius / eta / sqrt(square);
    for (size_t k = 0; k < dim; k++)
        out[k] = x[k] + scale * noise[k];
}

static int32_t any_token(const struct nvdp_dchi *dchi, struct nvdp__stream *stream) {
    return (int32_t)nvdp__stream_below(stream, dchi->vectors->count);
}

/* Tokens [0, n) of `place`; scratch [threads, dim]. */
static void perturb(const struct nvdp_dchi *dchi, const struct source *source, int threads,
                    size_t n, const struct place *place, const int32_t *tokens, double *scratch,
                    double *out) {
    const size_t dim = dchi->vectors->dim;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < n; i++) {
        struct nvdp__stream stream = nvdp__stream_open(&source->noise, NVDP__PURPOSE_TOKEN,
                                                       place[i].position, place[i].text);
        const int32_t x = tokens[i] < 0 ? any_token(dchi, &stream) : tokens[i];
        add_noise(&stream, dchi->eta, dim, nvdp_vectors_row(dchi->vectors, (size_t)x),
                  scratch + (size_t)omp_get_thread_num() * dim, out + i * dim);
    }
}

nvdp_status nvdp_dchi_perturb(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t texts,
                              const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                              uint64_t first, double *out) {
    nvdp_status status = NVDP_OK;
    const int threads = nvdp_context_threads(ctx);
    struct source source = {0};
    struct place *place = NULL;
    double *scratch = NULL;
    if (nvdp__dchi_exact(dchi))
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: only a Laplace mechanism noises vectors");
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, offset[texts], tokens));
    NVDP_TRY(find_places(ctx, texts, offset, first, &place));
    NVDP_TRY(NVDP__NEW(ctx, scratch, (size_t)threads * dchi->vectors->dim));
    NVDP_TRY(open_source(ctx, seed, &source));
    perturb(dchi, &source, threads, offset[texts], place, tokens, scratch, out);
cleanup:
    nvdp__release_key_wipe(&source.key);
    free(place);
    free(scratch);
    return status;
}

nvdp_status nvdp_sequence_laplace(struct nvdp_context *ctx, double eta, double clip, size_t texts,
                                  size_t dim, const double *in, const uint64_t *seed,
                                  uint64_t first, double *out) {
    nvdp_status status = NVDP_OK;
    const int threads = nvdp_context_threads(ctx);
    struct source source = {0};
    double *scratch = NULL;
    if (!(eta > 0 && isfinite(eta)) || !(clip > 0) || dim < 1)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "sequence-laplace: eta %g, clip %g, dimension %zu: expected a finite eta, a "
            "clip and a dimension above 0",
            eta, clip, dim);
    for (size_t i = 0; i < texts * dim; i++)
        if (!isfinite(in[i]))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "sequence-laplace: text %zu, dimension %zu is %g, expected a finite "
                              "number",
                              i / dim, i % dim, in[i]);
    NVDP_TRY(NVDP__NEW(ctx, scratch, (size_t)threads * dim));
    NVDP_TRY(open_source(ctx, seed, &source));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < texts; i++) {
        struct nvdp__stream stream =
            nvdp__stream_open(&source.noise, NVDP__PURPOSE_TOKEN, 0, first + i);
        double norm = 0;
        for (size_t k = 0; k < dim; k++)
            norm = hypot(norm, in[i * dim + k]);
        for (size_t k = 0; k < dim; k++)
            out[i * dim + k] = in[i * dim + k] * (norm > clip ? clip / norm : 1);
        add_noise(&stream, eta, dim, out + i * dim, scratch + (size_t)omp_get_thread_num() * dim,
                  out + i * dim);
    }
cleanup:
    nvdp__release_key_wipe(&source.key);
    free(scratch);
    return status;
}

/* ---- tokens ---- */

/* Vose 1991: q_y = V P(y).  An entry below 1 is filled up by one above, which keeps the rest.  What
 * rounding leaves below 1 at the end is filled up by the likeliest, so that what has probability 0
 * never comes out.  row: log P, overwritten by q; stack [V]. */
static void make_alias(size_t count, double *row, int32_t *stack, struct nvdp__alias *alias) {
    size_t small = 0, large = count, likeliest = 0;
    for (size_t y = 0; y < count; y++) {
        likeliest = row[y] > row[likeliest] ? y : likeliest;
        row[y] = exp(row[y]) * (double)count;
    }
    for (size_t y = 0; y < count; y++) { /* the small from the front, the large from the back */
        alias->other[y] = (int32_t)likeliest;
        if (row[y] < 1)
            stack[small++] = (int32_t)y;
        else
            stack[--large] = (int32_t)y;
    }
    while (small > 0 && large < count) {
        int32_t low = stack[--small], high = stack[large];
        alias->threshold[low] = row[low];
        alias->other[low] = high;
        row[high] = (row[high] + row[low]) - 1;
        if (row[high] >= 1) continue;
        large++;
        stack[small++] = high;
    }
    while (small > 0) {
        int32_t low = stack[--small];
        alias->threshold[low] = row[low];
    }
    while (large < count)
        alias->threshold[stack[large++]] = 1;
}

void nvdp__dchi_forget(struct nvdp_dchi *dchi) {
    for (size_t x = 0; dchi->alias != NULL && x < dchi->vectors->count; x++) {
        free(dchi->alias[x].threshold);
        free(dchi->alias[x].other);
    }
    free(dchi->alias);
}

/* Room for x's table if it has none yet. */
static nvdp_status make_room(struct nvdp_context *ctx, struct nvdp_dchi *dchi, int32_t x) {
    struct nvdp__alias *alias = &dchi->alias[x];
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, alias->threshold, dchi->vectors->count));
    if (NVDP__NEW(ctx, alias->other, dchi->vectors->count) == NVDP_OK) return NVDP_OK;
    free(alias->threshold);
    alias->threshold = NULL;
    return NVDP_ERR_MEMORY;
}

/* Positions of one token are a list: head[x], then next[i], from the last to the first; -1 ends. */
struct lists {
    int64_t *head, *next;
    int32_t *distinct;
    size_t n;
};

static nvdp_status make_lists(struct nvdp_context *ctx, size_t count, size_t n,
                              const int32_t *tokens, struct lists *lists) {
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, lists->head, count));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, lists->next, n));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, lists->distinct, count < n ? count : n));
    for (size_t x = 0; x < count; x++)
        lists->head[x] = -1;
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] < 0) continue;
        if (lists->head[tokens[i]] < 0) lists->distinct[lists->n++] = tokens[i];
        lists->next[i] = lists->head[tokens[i]];
        lists->head[tokens[i]] = (int64_t)i;
    }
    return NVDP_OK;
}

static nvdp_status sample_exact(struct nvdp_context *ctx, struct nvdp_dchi *dchi,
                                const struct source *source, size_t n, const struct place *place,
                                const int32_t *tokens, int32_t *out) {
    nvdp_status status = NVDP_OK;
    const size_t count = dchi->vectors->count, bytes = count * (sizeof(double) + sizeof(int32_t));
    const int threads = nvdp_context_threads(ctx);
    const size_t chunk = 4 * (size_t)threads;
    struct lists lists = {0};
    double *rows = NULL;
    int32_t *stacks = NULL;
    bool *fresh = NULL;
    NVDP_TRY(make_lists(ctx, count, n, tokens, &lists));
    NVDP_TRY(NVDP__NEW(ctx, rows, (size_t)threads * count));
    NVDP_TRY(NVDP__NEW(ctx, stacks, (size_t)threads * count));
    NVDP_TRY(NVDP__NEW(ctx, fresh, chunk));
    if (dchi->alias == NULL) NVDP_TRY(NVDP__NEW(ctx, dchi->alias, count));
    for (size_t first = 0; first < lists.n; first += chunk) {
        const size_t now = lists.n - first < chunk ? lists.n - first : chunk;
        for (size_t d = 0; d < now; d++) {
            const int32_t x = lists.distinct[first + d];
            fresh[d] = dchi->alias[x].threshold == NULL;
            if (fresh[d] && make_room(ctx, dchi, x) != NVDP_OK) {
                for (size_t e = 0; e <= d; e++) /* tables without contents */
                    if (fresh[e]) {
                        struct nvdp__alias *empty = &dchi->alias[lists.distinct[first + e]];
                        free(empty->threshold);
                        free(empty->other);
                        *empty = (struct nvdp__alias){0};
                    }
                NVDP_TRY(NVDP_ERR_MEMORY);
            }
        }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t d = 0; d < now; d++) {
            const int32_t x = lists.distinct[first + d];
            const size_t thread = (size_t)omp_get_thread_num();
            const struct nvdp__alias *alias = &dchi->alias[x];
            if (fresh[d]) {
                nvdp__dchi_rows(dchi, 1, &x, rows + thread * count);
                make_alias(count, rows + thread * count, stacks + thread * count, &dchi->alias[x]);
            }
            for (int64_t i = lists.head[x]; i >= 0; i = lists.next[i]) {
                struct nvdp__stream stream = nvdp__stream_open(&source->noise, NVDP__PURPOSE_TOKEN,
                                                               place[i].position, place[i].text);
                const size_t y = (size_t)nvdp__stream_below(&stream, count);
                out[i] = nvdp__stream_uniform(&stream) < alias->threshold[y] ? (int32_t)y
                                                                             : alias->other[y];
            }
        }
        for (size_t d = 0; d < now; d++) {
            if (!fresh[d]) continue;
            struct nvdp__alias *made = &dchi->alias[lists.distinct[first + d]];
            if (dchi->kept + bytes <= KEPT_BYTES) {
                dchi->kept += bytes;
                continue;
            }
            free(made->threshold);
            free(made->other);
            *made = (struct nvdp__alias){0};
        }
    }
cleanup:
    free(lists.head);
    free(lists.next);
    free(lists.distinct);
    free(rows);
    free(stacks);
    free(fresh);
    return status;
}

static nvdp_status sample_nearest(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                  const struct source *source, size_t n, const struct place *place,
                                  const int32_t *tokens, int32_t *out) {
    nvdp_status status = NVDP_OK;
    const size_t dim = dchi->vectors->dim, fit = PERTURBED / dim;
    const size_t most = fit < 1 ? 1 : fit, block = n < most ? n : most;
    const int threads = nvdp_context_threads(ctx);
    double *points = NULL, *scratch = NULL;
    NVDP_TRY(NVDP__NEW(ctx, points, block * dim));
    NVDP_TRY(NVDP__NEW(ctx, scratch, (size_t)threads * dim));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = n - first < block ? n - first : block;
        perturb(dchi, source, threads, now, place + first, tokens + first, scratch, points);
        NVDP_TRY(nvdp_vectors_nearest(ctx, dchi->vectors, now, points, out + first));
    }
cleanup:
    free(points);
    free(scratch);
    return status;
}

nvdp_status nvdp_dchi_sample(struct nvdp_context *ctx, struct nvdp_dchi *dchi, size_t texts,
                             const size_t *offset, const int32_t *tokens, const uint64_t *seed,
                             uint64_t first, int32_t *out) {
    nvdp_status status = NVDP_OK;
    struct source source = {0};
    struct place *place = NULL;
    const size_t n = offset[texts];
    int32_t *drawn = NULL;
    if (dchi->mechanism == NVDP_DCHI_LAPLACE)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: laplace gives vectors, not tokens");
    NVDP_RETURN_IF_FAILED(nvdp__dchi_check(ctx, dchi, n, tokens));
    NVDP_TRY(find_places(ctx, texts, offset, first, &place));
    NVDP_TRY(NVDP__NEW(ctx, drawn, n));
    NVDP_TRY(open_source(ctx, seed, &source));
    NVDP_TRY((nvdp__dchi_exact(dchi)
                  ? sample_exact(ctx, dchi, &source, n, place, tokens, drawn)
                  : sample_nearest(ctx, dchi, &source, n, place, tokens, drawn)));
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] >= 0) continue;
        struct nvdp__stream stream =
            nvdp__stream_open(&source.noise, NVDP__PURPOSE_TOKEN, place[i].position, place[i].text);
        drawn[i] = any_token(dchi, &stream);
    }
    memcpy(out, drawn, n * sizeof *out);
cleanup:
    nvdp__release_key_wipe(&source.key);
    free(place);
    free(drawn);
    return status;
}
