/* The exact distributions of santext and similar mechanisms, and how well an output distinguishes two inputs: rows,
 * divergences, then the worst case over the vocabulary. */
#include "base/own.h"
#include "base/random.h"
#include "dchi/dchi.h"
#include "options/schema.h"
#include "tensor/vector.h"
#include <nvdp/rdp.h>

#include <omp.h>
#include <stdlib.h>

enum {
    BLOCK = NVDP__DCHI_BLOCK,
    SHARE = 64 /* number of tokens that one thread handles together */
};

/* ---- the mechanisms with known distributions ---- */

const struct nvdp__token_row nvdp__token_row_santext = {.citation =
                                                            "santext (Yue et al. 2021, Eq. 1)",
                                                        .scale = "epsilon",
                                                        .exact = true,
                                                        .uses_eta = true,
                                                        .unknown = .5,
                                                        .place = 0};
const struct nvdp__token_row nvdp__token_row_santext_plus = {
    .citation = "santext-plus (Yue et al. 2021, Algorithm 2)",
    .scale = "epsilon",
    .exact = true,
    .uses_eta = true,
    .uses_p = true,
    .unknown = .5,
    .place = 1};
const struct nvdp__token_row nvdp__token_row_random = {
    .citation = "random (a uniform draw that ignores the token)",
    .exact = true,
    .unknown = 1,
    .place = 4};

nvdp_status nvdp_dchi_create(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                             enum nvdp_dchi_mechanism mechanism, double eta, double p,
                             const unsigned char *sensitive, struct nvdp_dchi **out) {
    nvdp__autoptr(nvdp_dchi_free) struct nvdp_dchi *made = NULL;
    const struct nvdp__token_row *row = nvdp__dchi_row(mechanism);
    if (row == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "text privatization: no mechanism has the number %d", (int)mechanism);
    if (row->uses_eta && !(eta > 0 && isfinite(eta)))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "text privatization: eta: expected a finite number above 0, found %g",
                          eta);
    if (row->uses_p && !(p > 0 && p < 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "text privatization: p: expected a number between 0 and 1, found %g", p);
    if (row->uses_p &&
        (sensitive == NULL ||
         (sensitive[0] == 0 && memcmp(sensitive, sensitive + 1, vectors->count - 1) == 0)))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "text privatization: %s: expected at least one sensitive token, found none",
            nvdp__dchi_name(mechanism));
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    *made = (struct nvdp_dchi){
        .vectors = vectors, .mechanism = mechanism, .row = row, .eta = eta, .p = p};
    if (row->uses_p) {
        NVDP_TRY(NVDP__NEW(ctx, made->sensitive, vectors->count));
        memcpy(made->sensitive, sensitive, vectors->count);
    }
    return NVDP__HAND_OVER(out, made);
}

void nvdp_dchi_free(struct nvdp_dchi *dchi) {
    if (dchi == NULL) return;
    nvdp__dchi_forget(dchi);
    free(dchi->sensitive);
    free(dchi);
}

nvdp_status nvdp__dchi_check(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                             const int32_t *tokens) {
    for (size_t i = 0; i < n; i++)
        if (tokens[i] != NVDP_DCHI_UNKNOWN &&
            (tokens[i] < 0 || (size_t)tokens[i] >= dchi->vectors->count))
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "text privatization: token %d at position %zu: expected an id from 0 to %zu",
                tokens[i], i, dchi->vectors->count - 1);
    return NVDP_OK;
}

/* ---- distributions ---- */

/* Turns the distances d_y of x into log probabilities (Yue et al. 2021, Eq. 1):
 *
 *     log P(y|x)  =  -eta/2 d_y - m - log sum_y' exp(-eta/2 d_y' - m),    m = max -eta/2 d_y'
 *
 * over the tokens that can be outputs. The sum lies between 1 and V. Returns m + log sum. */
static double exponential(const struct nvdp_dchi *dchi, double *row) {
    const size_t count = dchi->vectors->count;
    for (size_t y = 0; y < count; y++)
        row[y] = nvdp__comes_out(dchi, y) ? -dchi->eta / 2 * row[y] : -INFINITY;
    const double log_sum = nvdp__log_sum(count, row);
    for (size_t y = 0; y < count; y++)
        row[y] -= log_sum;
    return log_sum;
}

void nvdp__dchi_rows(const struct nvdp_dchi *dchi, size_t n, const int32_t *tokens, double *rows) {
    const size_t count = dchi->vectors->count;
    const bool random = nvdp__dchi_uniform(dchi);
    const double *vector[BLOCK] = {0};
    double memory[BLOCK][NVDP__ROW_WIDEST];
    for (size_t i = 0; i < n; i++)
        vector[i] = nvdp__row(dchi->vectors, tokens[i] < 0 ? 0 : (size_t)tokens[i], memory[i]);
    if (!random) nvdp__vectors_distances(dchi->vectors, n, vector, rows);
    for (size_t i = 0; i < n; i++) {
        double *row = rows + i * count;
        if (random || tokens[i] < 0) {
            for (size_t y = 0; y < count; y++)
                row[y] = -log((double)count);
            continue;
        }
        exponential(dchi, row);
        if (nvdp__comes_out(dchi, (size_t)tokens[i])) continue;
        /* Algorithm 2: the token is replaced with probability p */
        for (size_t y = 0; y < count; y++)
            row[y] += log(dchi->p);
        row[tokens[i]] = log1p(-dchi->p);
    }
}

nvdp_status nvdp_dchi_log_probabilities(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                        size_t n, const int32_t *tokens, double *log_p) {
    if (!nvdp__dchi_exact(dchi))
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "text privatization: a Laplace mechanism has no table of output "
                          "probabilities, because its outputs are vectors");
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, n, tokens));
#pragma omp parallel for schedule(dynamic, 1) num_threads(nvdp_context_threads(ctx))
    for (size_t b = 0; b < nvdp__blocks(n, BLOCK); b++)
        nvdp__dchi_rows(dchi, nvdp__block_length(n, BLOCK, b), tokens + b * BLOCK,
                        log_p + b * BLOCK * dchi->vectors->count);
    return NVDP_OK;
}

/* Adds sum_y exp(-eta/2 d_y) over the outputs y, for `n` tokens that can be outputs. With these sums and m = 0,
 * exponential() gives P(x|x) = exp(-log sum). from [n, dim] has the vectors of the tokens; sum [n] is initially 0. */
static void add_weights(const struct nvdp_dchi *dchi, size_t n, const double *from, double *sum) {
    const size_t count = dchi->vectors->count, dim = dchi->vectors->dim;
    double memory[BLOCK][NVDP__ROW_WIDEST], distance[BLOCK];
    const double *row[BLOCK];
    for (size_t y = 0; y < count; y += BLOCK) {
        size_t some = 0;
        for (size_t j = y; j < count && j < y + BLOCK; j++) {
            if (!nvdp__comes_out(dchi, j)) continue;
            row[some] = nvdp__row(dchi->vectors, j, memory[some]);
            some++;
        }
        for (size_t i = 0; i < n; i++) {
            nvdp__distances(dim, from + i * dim, some, row, distance);
            for (size_t j = 0; j < some; j++)
                sum[i] += exp(-dchi->eta / 2 * distance[j]);
        }
    }
}

size_t nvdp__sort_distinct(size_t n, int32_t *token) {
    size_t distinct = 0;
    qsort(token, n, sizeof *token, nvdp__by_int32);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || token[i] != token[i - 1]) token[distinct++] = token[i];
    return distinct;
}

nvdp_status nvdp__dchi_unchanged(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t n,
                                 const int32_t *tokens, double *same) {
    const size_t dim = dchi->vectors->dim;
    nvdp__autofree double *from = NULL, *sum = NULL;
    nvdp__autofree int32_t *token = NULL;
    size_t own = 0;
    NVDP_TRY(NVDP__NEW(ctx, token, n));
    for (size_t i = 0; i < n; i++) {
        if (tokens[i] < 0) continue;
        const bool out = nvdp__comes_out(dchi, (size_t)tokens[i]);
        /* Algorithm 2: the token is replaced with probability p */
        if (!out || nvdp__dchi_uniform(dchi))
            same[i] = exp(out ? -log((double)dchi->vectors->count) : log1p(-dchi->p));
        else
            token[own++] = tokens[i];
    }
    own = nvdp__sort_distinct(own, token);
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(from, own * dim), NVDP__ITEMS(sum, own)));
    for (size_t i = 0; i < own; i++)
        nvdp__vectors_row(dchi->vectors, (size_t)token[i], from + i * dim);
    const int threads = nvdp_context_threads(ctx);
    const size_t share = nvdp__min(nvdp__blocks(own, (size_t)threads), SHARE);
    const size_t shares = own > 0 ? nvdp__blocks(own, share) : 0;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t s = 0; s < shares; s++)
        add_weights(dchi, nvdp__block_length(own, share, s), from + s * share * dim,
                    sum + s * share);
    for (size_t i = 0; i < n && own > 0; i++) {
        const int32_t *at = bsearch(&tokens[i], token, own, sizeof *token, nvdp__by_int32);
        if (at != NULL) same[i] = exp(-log(sum[at - token]));
    }
    return NVDP_OK;
}

/* ---- divergences ---- */

double nvdp__dchi_distance(const struct nvdp_dchi *dchi, int32_t a, int32_t b) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    double largest = 0;
    if (a == b) return 0;
    double scratch[NVDP__ROW_WIDEST];
    const double *from = nvdp__row(vectors, (size_t)(a < 0 ? b : a), scratch);
    if (a >= 0 && b >= 0) return dchi->eta * nvdp__distance_from(vectors, from, (size_t)b);
    if (!dchi->row->gives_vectors) return INFINITY;
    for (size_t y = 0; y < vectors->count; y++) {
        double d = nvdp__distance_from(vectors, from, y);
        largest = d > largest ? d : largest;
    }
    return dchi->eta * largest;
}

void nvdp__dchi_position(const struct nvdp_dchi *dchi, size_t m, const double *orders, int32_t a,
                         int32_t b, double *rows, double *out) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    memset(out, 0, m * sizeof *out);
    if (a == b) return;
    if (!nvdp__dchi_exact(dchi)) {
        const double distance = nvdp__dchi_distance(dchi, a, b);
        for (size_t k = 0; k < m; k++)
            out[k] = nvdp_renyi_laplace(orders[k], vectors->dim, distance);
        return;
    }
    nvdp__dchi_rows(dchi, 2, (const int32_t[]){a, b}, rows);
    for (size_t k = 0; k < m; k++)
        out[k] = nvdp_renyi_discrete(orders[k], vectors->count, rows, rows + vectors->count);
}

nvdp_status nvdp_dchi_divergence(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t m,
                                 const double *orders, size_t length_a, const int32_t *a,
                                 size_t length_b, const int32_t *b, double *out) {
    const size_t count = dchi->vectors->count, length = length_a;
    nvdp__autofree double *part = NULL, *rows = NULL;
    for (size_t k = 0; k < m; k++)
        if (!(orders[k] > 0))
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "text privatization: order: expected a number above 0, found %g",
                              orders[k]);
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, length_a, a));
    NVDP_TRY(nvdp__dchi_check(ctx, dchi, length_b, b));
    if (length_a != length_b) {
        for (size_t k = 0; k < m; k++)
            out[k] = INFINITY;
        return NVDP_OK;
    }
    const int limit = nvdp_context_threads(ctx);
    const int threads = length < (size_t)limit ? (int)length : limit;
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(part, length * m),
                     NVDP__ITEMS(rows, nvdp__dchi_exact(dchi) ? (size_t)threads * 2 * count : 0)));
    if (length > 0) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < length; i++)
            nvdp__dchi_position(dchi, m, orders, a[i], b[i],
                                rows + (size_t)omp_get_thread_num() * 2 * count, part + i * m);
    }
    memset(out, 0, m * sizeof *out);
    for (size_t i = 0; i < length; i++)
        for (size_t k = 0; k < m; k++)
            out[k] += part[i * m + k];
    return NVDP_OK;
}

/* ---- the worst case over the vocabulary ---- */

struct best {
    double value, bound;
    size_t x, x2;
};

/* The tokens of the search: first the protected tokens, then the tokens that may stay unchanged. Only a protected
 * token can be x of a finite ratio. */
struct candidates {
    int32_t *token;
    double *log_sum; /* log sum of exponential() per token; 0 for laplace */
    size_t protected, all;
    double rate;   /* factor by which the distance is multiplied */
    double factor; /* log 1/p: unprotected tokens give this much less to each y */
};

/* Compares the protected tokens of block b with all tokens. */
static struct best search(const struct nvdp_dchi *dchi, const struct candidates *of, size_t b) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    struct best best = {.value = -INFINITY, .bound = -INFINITY};
    double memory[BLOCK][NVDP__ROW_WIDEST], scratch[NVDP__ROW_WIDEST];
    const double *own[BLOCK] = {0};
    for (size_t i = b * BLOCK; i < of->protected && i < (b + 1) * BLOCK; i++)
        own[i % BLOCK] = nvdp__row(vectors, (size_t)of->token[i], memory[i % BLOCK]);
    for (size_t j = 0; j < of->all; j++) {
        const double more = j < of->protected ? 0 : of->factor;
        const double *row = nvdp__row(vectors, (size_t)of->token[j], scratch);
        for (size_t i = b * BLOCK; i < of->protected && i < (b + 1) * BLOCK; i++) {
            if (i == j) continue;
            double d = nvdp__distance(vectors->dim, own[i % BLOCK], row);
            double value = of->rate * d + of->log_sum[j] - of->log_sum[i] + more;
            double bound = dchi->eta * d + more;
            best.bound = bound > best.bound ? bound : best.bound;
            if (value > best.value)
                best = (struct best){value, best.bound, (size_t)of->token[i], (size_t)of->token[j]};
        }
    }
    return best;
}

/* Computes two upper bounds from the distances to the mean, whose sum is at least the distance of two tokens: for
 * two protected tokens, and for a protected and an unprotected token with its factor. Returns the larger bound,
 * times eta. */
static nvdp_status diameter_bound(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                  double factor, double *out) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    nvdp__autofree double *mean = NULL;
    /* [0] of unprotected tokens, [1] of protected tokens */
    double largest[2] = {-INFINITY, -INFINITY};
    double scratch[NVDP__ROW_WIDEST];
    size_t n = 0;
    NVDP_TRY(NVDP__NEW(ctx, mean, vectors->dim));
    for (size_t x = 0; x < vectors->count; x++) {
        if (!nvdp__comes_out(dchi, x)) continue;
        const double *row = nvdp__row(vectors, x, scratch);
        n++;
        for (size_t k = 0; k < vectors->dim; k++)
            mean[k] += row[k];
    }
    for (size_t k = 0; k < vectors->dim; k++)
        mean[k] /= (double)n;
    for (size_t x = 0; x < vectors->count; x++) {
        double d = nvdp__distance_from(vectors, mean, x);
        double *of = &largest[nvdp__comes_out(dchi, x)];
        *of = d > *of ? d : *of;
    }
    *out = fmax(2 * dchi->eta * largest[1], dchi->eta * (largest[0] + largest[1]) + factor);
    return NVDP_OK;
}

void nvdp__dchi_draw(struct nvdp__stream *stream, size_t n, size_t all, int32_t *token) {
    for (size_t i = 0; i < n && n < all; i++) {
        size_t j = i + (size_t)nvdp__stream_below(stream, all - i);
        int32_t swap = token[i];
        token[i] = token[j];
        token[j] = swap;
    }
}

/* Returns log sum from log P(y|x) = -eta/2 d(x, y) - log sum at an output y, which is x itself if x is protected.
 * For unprotected tokens, log p is added first. */
static double log_weight_sum(const struct nvdp_dchi *dchi, const struct candidates *of, size_t i,
                             const double *row) {
    const int32_t x = of->token[i], y = i < of->protected ? x : of->token[0];
    double scratch[NVDP__ROW_WIDEST];
    const double d =
        nvdp__distance_from(dchi->vectors, nvdp__row(dchi->vectors, (size_t)x, scratch), (size_t)y);
    return -dchi->eta / 2 * d - row[y] - (i < of->protected ? 0 : of->factor);
}

/* Computes of->log_sum for a mechanism with known output probabilities. */
static nvdp_status sum_candidates(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                  struct candidates *of) {
    const size_t count = dchi->vectors->count, blocks = nvdp__blocks(of->all, BLOCK);
    const int threads = nvdp_context_threads(ctx);
    const size_t chunk = 16 * (size_t)threads; /* blocks between two checks for cancellation */
    nvdp__autofree double *rows = NULL;
    NVDP_TRY(NVDP__NEW(ctx, rows, (size_t)threads * BLOCK * count));
    for (size_t first = 0; first < blocks; first += chunk) {
        const size_t end = nvdp__min(blocks, first + chunk);
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t b = first; b < end; b++) {
            double *row = rows + (size_t)omp_get_thread_num() * BLOCK * count;
            const size_t length = nvdp__block_length(of->all, BLOCK, b);
            nvdp__dchi_rows(dchi, length, of->token + b * BLOCK, row);
            for (size_t i = 0; i < length; i++)
                of->log_sum[b * BLOCK + i] =
                    log_weight_sum(dchi, of, b * BLOCK + i, row + i * count);
        }
    }
    return NVDP_OK;
}

static nvdp_status search_candidates(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                                     const struct candidates *of, struct best *best) {
    const size_t blocks = nvdp__blocks(of->protected, BLOCK);
    const int threads = nvdp_context_threads(ctx);
    const size_t chunk = 16 * (size_t)threads; /* blocks between two checks for cancellation */
    nvdp__autofree struct best *found = NULL;
    NVDP_TRY(NVDP__NEW(ctx, found, blocks));
    for (size_t first = 0; first < blocks; first += chunk) {
        const size_t end = nvdp__min(blocks, first + chunk);
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t b = first; b < end; b++)
            found[b] = search(dchi, of, b);
    }
    for (size_t b = 0; b < blocks; b++) {
        double bound = fmax(found[b].bound, best->bound);
        if (found[b].value > best->value) *best = found[b];
        best->bound = bound;
    }
    return of->all < dchi->vectors->count ? diameter_bound(ctx, dchi, of->factor, &best->bound)
                                          : NVDP_OK;
}

nvdp_status nvdp_dchi_worst(struct nvdp_context *ctx, const struct nvdp_dchi *dchi, size_t inputs,
                            uint64_t seed, struct nvdp_dchi_worst *out) {
    const bool random = nvdp__dchi_uniform(dchi), exact = nvdp__dchi_exact(dchi) && !random;
    const size_t count = dchi->vectors->count;
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct candidates of = {.rate = exact ? dchi->eta / 2 : dchi->eta,
                            .factor = dchi->sensitive != NULL ? -log(dchi->p) : 0};
    struct best best = {.value = -INFINITY, .bound = -INFINITY};
    size_t protected = 0, end = count;
    NVDP_TRY(nvdp__can_give(ctx, out));
    /* draws up to `inputs` protected and `inputs` other tokens; 0 takes all tokens */
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(of.token, count)));
    for (size_t x = 0; x < count; x++) /* the unprotected tokens are filled in from the end */
        of.token[nvdp__comes_out(dchi, x) ? protected ++ : --end] = (int32_t)x;
    const size_t others = count - protected;
    of.protected = inputs == 0 ? protected : nvdp__min(inputs, protected);
    const size_t some = inputs == 0 ? others : nvdp__min(inputs, others);
    of.all = of.protected + some;
    nvdp__dchi_draw(&stream, of.protected, protected, of.token);
    nvdp__dchi_draw(&stream, some, others, of.token + protected);
    memmove(of.token + of.protected, of.token + protected, some * sizeof *of.token);
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(of.log_sum, of.all)));
    if (exact) NVDP_TRY(sum_candidates(ctx, dchi, &of));
    if (!random) NVDP_TRY(search_candidates(ctx, dchi, &of, &best));
    const double finite = best.value > 0 ? best.value : 0;
    /* a token that stays unchanged with probability 1 - p is not an output of any other token */
    const struct nvdp_dchi_worst worst = {.struct_size = sizeof worst,
                                          .inputs = of.protected,
                                          .finite = finite,
                                          .x = best.x,
                                          .x2 = best.x2,
                                          .bound = best.bound > 0 ? best.bound : 0,
                                          .infinite = (double)others / (double)count,
                                          .value = others > 0 && count > 1 ? INFINITY : finite};
    return NVDP__GIVE(out, &worst);
}
