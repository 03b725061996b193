/* The privacy of a data set's texts under a mechanism: exact divergences of all pairs.
 *
 * Positions are drawn independently. The divergence of two texts of the same length is therefore the sum, over
 * positions, of the divergences between two tokens. Every distinct pair of tokens is computed once, at all orders
 * together. Start with nvdp__dchi_privacy() at the end. */
#include "dchi/dchi.h"
#include "dchi/token_options.h"

#include "base/array.h"
#include "base/random.h"
#include "base/result.h"
#include "rdp/loss.h"
#include "rdp/pairs.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

/* ---- the orders ---- */

/* The ways to compute the sum over outputs y of w_a e^(k (t - h)), where k = order - 1, t = log w_a/w_b and h >=
 * |t|. */
enum way {
    BASE,    /* from a quotient of stored powers, which every token has */
    DIRECT,  /* from one exponential per y */
    PRODUCT, /* from e^(k1 t) e^(k2 t) of two earlier orders */
    KL,      /* for order 1, the Kullback-Leibler divergence */
    TOP,     /* for order infinity, from the largest t */
    SLOW     /* for an order below 1, from both distributions */
};
struct order {
    double order, k;
    enum way way;
    /* for PRODUCT, the two orders; for BASE, `first` is the index of the power */
    size_t first, second;
};

/* number of outputs per tile: the powers of all tokens are stored for one tile at a time */
enum { WIDTH = 64 };

/* Two tokens, by their indices among the distinct ones. */
struct token_pair {
    uint32_t a, b;
};

/* A hash table with open addressing that finds the index of a token pair; it has at least twice as many slots as
 * pairs. */
struct table {
    uint32_t *slot; /* index + 1; 0 if the slot is empty */
    size_t slots;
};

struct work {
    struct nvdp_context *ctx;
    const struct nvdp_dchi *dchi;
    const struct nvdp__token_texts *texts;
    /* true if pairs of different lengths are skipped; false if their divergence is +inf */
    bool same_length;
    struct order *orders;
    size_t m, bases;
    int32_t *token; /* [tokens] distinct tokens, ascending */
    size_t tokens;
    struct nvdp__memory memory; /* owner of all arrays except `pair` and those of the table */
    /* [N] indices of the texts, sorted so that texts of the same shape are adjacent */
    size_t *by_shape;
    /* [N] per text in sorted order: the end of the texts of the same shape */
    size_t *group;
    size_t *begin; /* [N + 1] per text in sorted order: the first entry */
    /* for each pair of texts of the same shape and each position: 2 * index of the token
     * pair + reversed */
    uint32_t *entry;
    struct token_pair *pair;
    size_t pairs, capacity;
    struct table table; /* finds a pair while the pairs are being listed */
    double *value;      /* [pairs, 2, m] divergences in both directions at all orders */
};

static nvdp_status plan(struct work *work, const struct nvdp__privacy_options *options,
                        double reach) {
    nvdp__autofree const char **text = NULL;
    size_t n = 0, m = 0;
    NVDP_TRY(nvdp__list_split(work->ctx, options->moments, &text, &n));
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &work->memory, NVDP__ITEMS(work->orders, n + 2)));
    for (size_t i = 0; i < n; i++)
        work->orders[i] = (struct order){.order = nvdp__strtod(text[i], NULL) + 1};
    work->orders[n++] = (struct order){.order = options->bdp.published_moment + 1};
    work->orders[n++] = (struct order){.order = options->pairs.order};
    NVDP__SORT(work->orders, n, NVDP__UP(struct order, order));
    for (size_t i = 0; i < n; i++) {
        struct order made = work->orders[i];
        if (m > 0 && work->orders[m - 1].order == made.order) continue;
        made.k = made.order - 1;
        made.way = made.order < 1           ? SLOW
                   : made.order == 1        ? KL
                   : made.order >= 1e100    ? TOP
                   : made.k * reach < 600.0 ? BASE
                                            : DIRECT;
        for (size_t a = 0; a < m && made.k > 0 && made.way != TOP && made.way != PRODUCT; a++) {
            for (size_t b = a; b < m; b++) {
                const double sum = work->orders[a].k + work->orders[b].k;
                if (!(work->orders[a].k > 0 && fabs(sum - made.k) <= 1e-14 * made.k)) continue;
                made.way = PRODUCT;
                made.first = a;
                made.second = b;
                break;
            }
        }
        if (made.way == BASE) made.first = work->bases++;
        work->orders[m++] = made;
    }
    work->m = m;
    return NVDP_OK;
}

/* ---- the pairs of tokens at the same position ---- */

static size_t first_token(const struct nvdp__token_texts *texts, size_t i) {
    return texts->first != NULL ? texts->first[i] : 0;
}

static size_t text_length(const struct nvdp__token_texts *texts, size_t i) {
    return texts->offset[i + 1] - texts->offset[i];
}

struct shaped {
    size_t length, first, text;
};

/* Sorts the texts by shape, and lists the distinct tokens. */
static nvdp_status sort_texts(struct work *work) {
    const struct nvdp__token_texts *texts = work->texts;
    const size_t n = texts->texts, tokens = texts->offset[n];
    nvdp__autofree struct shaped *shaped = NULL;
    NVDP_TRY(NVDP__NEW(work->ctx, shaped, n));
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &work->memory, NVDP__ITEMS(work->by_shape, n),
                          NVDP__ITEMS(work->group, n), NVDP__ITEMS(work->begin, n + 1),
                          NVDP__ITEMS(work->token, tokens)));
    for (size_t i = 0; i < n; i++)
        shaped[i] = (struct shaped){text_length(texts, i), first_token(texts, i), i};
    NVDP__SORT(shaped, n, NVDP__UP(struct shaped, length), NVDP__UP(struct shaped, first),
               NVDP__UP(struct shaped, text));
    for (size_t i = 0; i < n; i++)
        work->by_shape[i] = shaped[i].text;
    for (size_t i = n; i-- > 0;)
        work->group[i] = i + 1 < n && shaped[i].length == shaped[i + 1].length &&
                                 shaped[i].first == shaped[i + 1].first
                             ? work->group[i + 1]
                             : i + 1;
    memcpy(work->token, texts->tokens, tokens * sizeof *work->token);
    work->tokens = nvdp__sort_distinct(tokens, work->token);
    return NVDP_OK;
}

static size_t pair_slot(const struct table *table, struct token_pair pair) {
    const uint64_t hash = (((uint64_t)pair.a << 32) | pair.b) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash >> 20) & (table->slots - 1);
}

static nvdp_status grow(struct work *work) {
    struct table *table = &work->table;
    struct table made = {.slots = table->slots == 0 ? 1024 : 2 * table->slots};
    NVDP_TRY(NVDP__NEW(work->ctx, made.slot, made.slots));
    for (size_t i = 0; i < work->pairs; i++) {
        size_t at = pair_slot(&made, work->pair[i]);
        while (made.slot[at] != 0)
            at = (at + 1) & (made.slots - 1);
        made.slot[at] = (uint32_t)i + 1;
    }
    free(table->slot);
    *table = made;
    return NVDP_OK;
}

static nvdp_status number_pair(struct work *work, struct token_pair pair, uint32_t *number) {
    struct table *table = &work->table;
    if (table->slot == NULL || 2 * (work->pairs + 1) > table->slots) NVDP_TRY(grow(work));
    size_t at = pair_slot(table, pair);
    for (; table->slot[at] != 0; at = (at + 1) & (table->slots - 1)) {
        const struct token_pair *known = &work->pair[table->slot[at] - 1];
        if (known->a == pair.a && known->b == pair.b) break;
    }
    if (table->slot[at] == 0) {
        if (work->pairs >= UINT32_MAX / 2 - 1)
            return nvdp__fail(work->ctx, NVDP_ERR_UNSUPPORTED,
                              "pairs: expected at most %zu pairs of tokens, found more: measure a "
                              "sample of the texts",
                              work->pairs);
        NVDP_TRY(NVDP__PUSH(work->ctx, work->pair, work->pairs, work->capacity, pair));
        table->slot[at] = (uint32_t)work->pairs;
    }
    *number = table->slot[at] - 1;
    return NVDP_OK;
}

static nvdp_status list_pairs(struct work *work) {
    const struct nvdp__token_texts *texts = work->texts;
    const size_t n = texts->texts;
    nvdp__autofree uint32_t *token_index = NULL;
    size_t entries = 0, tokens = texts->offset[n];
    NVDP_TRY(NVDP__NEW(work->ctx, token_index, tokens));
    for (size_t i = 0; i < tokens; i++)
        token_index[i] =
            (uint32_t)((const int32_t *)bsearch(&texts->tokens[i], work->token, work->tokens,
                                                sizeof *work->token, nvdp__by_int32) -
                       work->token);
    for (size_t i = 0; i < n; i++)
        entries += (work->group[i] - i - 1) * text_length(texts, work->by_shape[i]);
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &work->memory, NVDP__ITEMS(work->entry, entries)));
    entries = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t *a = token_index + texts->offset[work->by_shape[i]];
        work->begin[i] = entries;
        for (size_t j = i + 1; j < work->group[i]; j++) {
            const uint32_t *b = token_index + texts->offset[work->by_shape[j]];
            for (size_t k = 0; k < text_length(texts, work->by_shape[i]); k++) {
                uint32_t *entry = &work->entry[entries++];
                const bool reversed = a[k] > b[k];
                *entry = UINT32_MAX;
                if (a[k] == b[k]) continue;
                NVDP_TRY(number_pair(work,
                                     reversed ? (struct token_pair){b[k], a[k]}
                                              : (struct token_pair){a[k], b[k]},
                                     entry));
                *entry = 2 * *entry + reversed;
            }
        }
    }
    work->begin[n] = entries;
    return NVDP_OK;
}

/* ---- token pairs of a Laplace mechanism, whose divergence is a function of the distance ---- */

static nvdp_status laplace_pairs(struct work *work) {
    const size_t dim = work->dchi->vectors->dim, m = work->m;
    nvdp__autofree double *distance = NULL, *value = NULL;
    NVDP_TRY(NVDP__ARRAYS(work->ctx, NULL, NVDP__ITEMS(distance, work->pairs),
                          NVDP__ITEMS(value, work->pairs)));
#pragma omp parallel for schedule(dynamic, 64) num_threads(nvdp_context_threads(work->ctx))
    for (size_t i = 0; i < work->pairs; i++)
        distance[i] = nvdp__dchi_distance(work->dchi, work->token[work->pair[i].a],
                                          work->token[work->pair[i].b]);
    for (size_t k = 0; k < m; k++) {
        NVDP_TRY(nvdp__renyi_laplaces(work->ctx, work->orders[k].order, dim, work->pairs, distance,
                                      value));
        for (size_t i = 0; i < work->pairs; i++)
            work->value[(2 * i) * m + k] = work->value[(2 * i + 1) * m + k] = value[i];
    }
    return NVDP_OK;
}

/* ---- token pairs of santext and santext-plus ----
 *
 * With weights w_x(y) = exp(-eta/2 d(x, y)) over the V_S possible outputs, Z_x their sum, and f
 * = 1, or p for a token that is not sensitive,
 *
 *     D_l(a || b) = 1/k { log sum_y w_a e^(k t) - l log Z_a + k log Z_b } + log 1/f_b,   t = log w_a/w_b,
 *
 * for a sensitive a; else +inf. |t| <= h = eta/2 d(a, b), with equality at y = a; k h is factored out of the sum.
 * The largest weight of a sensitive token is the weight 1 of the token itself. All weights of any other token may be
 * too small for a double, so the largest weight is factored out of Z. */
struct tile {
    double *weight, *log_weight; /* [tokens, WIDTH] weights of the tile's outputs for each token */
    double *power;               /* [tokens, bases, WIDTH] e^(k log_weight) */
    double *outputs;             /* [WIDTH, dim] vectors of the outputs */
    size_t width;
};

/* Adds the outputs of the tile to the sums of a pair in both directions, for each order. */
NVDP__CLONES
static void add_pair(const struct work *work, const struct tile *tile, size_t pair,
                     double *scratch) {
    const struct order *orders = work->orders;
    const struct token_pair *tokens = &work->pair[pair];
    const size_t m = work->m, from = tokens->a * (size_t)WIDTH, to = tokens->b * (size_t)WIDTH;
    const double h =
        nvdp__dchi_distance(work->dchi, work->token[tokens->a], work->token[tokens->b]) / 2;
    const double *w_a = tile->weight + from, *w_b = tile->weight + to;
    const double *log_a = tile->log_weight + from, *log_b = tile->log_weight + to;
    const double *power_a = tile->power + from * work->bases;
    const double *power_b = tile->power + to * work->bases;
    double *value = work->value + pair * 2 * m;
    for (size_t k = 0; k < m; k++) {
        double *u = scratch + 2 * k * WIDTH, *v = u + WIDTH, forward = 0, backward = 0;
        const struct order *of = &orders[k];
        if (of->way == BASE) {
            const double scale = exp(-of->k * h);
            const double *a = power_a + of->first * WIDTH, *b = power_b + of->first * WIDTH;
            for (size_t y = 0; y < WIDTH; y++) {
                u[y] = a[y] / b[y] * scale;
                v[y] = b[y] / a[y] * scale;
            }
        } else if (of->way == PRODUCT) {
            const double *a = scratch + 2 * of->first * WIDTH,
                         *b = scratch + 2 * of->second * WIDTH;
            for (size_t y = 0; y < 2 * (size_t)WIDTH; y++)
                u[y] = a[y] * b[y];
        } else if (of->way == DIRECT) {
            for (size_t y = 0; y < WIDTH; y++) {
                u[y] = exp(of->k * (log_a[y] - log_b[y] - h));
                v[y] = exp(of->k * (log_b[y] - log_a[y] - h));
            }
        } else if (of->way == KL) {
            for (size_t y = 0; y < WIDTH; y++) {
                u[y] = log_a[y] - log_b[y];
                v[y] = -u[y];
            }
        } else {
            continue;
        }
#pragma omp simd reduction(+ : forward, backward)
        for (size_t y = 0; y < WIDTH; y++) {
            forward += w_a[y] * u[y];
            backward += w_b[y] * v[y];
        }
        value[k] += forward;
        value[m + k] += backward;
    }
}

/* A sum e^max sum, where max is the largest logarithm so far. */
struct scaled {
    double largest, sum;
};

static void fill_tile(const struct work *work, struct tile *tile, size_t x, struct scaled *z) {
    const struct nvdp_vectors *vectors = work->dchi->vectors;
    double *weight = tile->weight + x * WIDTH, *log_weight = tile->log_weight + x * WIDTH;
    if (work->token[x] < 0) return;
    double scratch[NVDP__ROW_WIDEST];
    const double *from = nvdp__row(vectors, (size_t)work->token[x], scratch);
    for (size_t y = 0; y < WIDTH; y++) {
        const bool used = y < tile->width;
        log_weight[y] =
            used ? -work->dchi->eta / 2 *
                       nvdp__distance(vectors->dim, from, tile->outputs + y * vectors->dim)
                 : 0;
        weight[y] = used ? exp(log_weight[y]) : 0;
    }
    double largest = z->largest;
    for (size_t y = 0; y < tile->width && largest < 0; y++)
        largest = fmax(largest, log_weight[y]);
    z->sum *= largest > z->largest ? exp(z->largest - largest) : 1;
    z->largest = largest;
    for (size_t y = 0; y < tile->width; y++)
        z->sum += largest == 0 ? weight[y] : exp(log_weight[y] - largest);
    for (size_t k = 0; k < work->m; k++) {
        const struct order *of = &work->orders[k];
        if (of->way != BASE) continue;
        double *power = tile->power + (x * work->bases + of->first) * WIDTH;
        for (size_t y = 0; y < WIDTH; y++)
            power[y] = exp(of->k * log_weight[y]);
    }
}

static bool is_sensitive(const struct work *work, uint32_t token_index) {
    const int32_t token = work->token[token_index];
    return work->dchi->sensitive == NULL || (token >= 0 && work->dchi->sensitive[token] != 0);
}

/* Turns the sums of a token pair into divergences in one direction. */
static void divergences(const struct work *work, uint32_t a, uint32_t b, double h,
                        const double *log_sum, double *value) {
    const double factor = is_sensitive(work, b) ? 0 : -log(work->dchi->p);
    for (size_t i = 0; i < work->m; i++) {
        const struct order *of = &work->orders[i];
        const double k = of->k;
        if (of->way == SLOW) continue;
        if (!is_sensitive(work, a)) {
            value[i] = INFINITY;
            continue;
        }
        const double made = of->way == TOP ? h + log_sum[b] - log_sum[a]
                            : of->way == KL
                                ? value[i] / exp(log_sum[a]) + log_sum[b] - log_sum[a]
                                : h + (log(value[i]) - log_sum[a]) / k + log_sum[b] - log_sum[a];
        value[i] = isnan(made) ? INFINITY : fmax(made + factor, 0);
    }
}

/* Computes the token pairs with an unknown token, and all orders below 1, from both distributions. */
static nvdp_status slow_pairs(struct work *work) {
    const size_t count = work->dchi->vectors->count, m = work->m;
    const int threads = nvdp_context_threads(work->ctx);
    nvdp__autofree double *rows = NULL, *orders = NULL, *out = NULL;
    /* only an order below 1 is slow, and the orders of moments are above 1 */
    const size_t slow = work->orders[0].way == SLOW;
    NVDP_TRY(NVDP__ARRAYS(work->ctx, NULL, NVDP__ITEMS(rows, (size_t)threads * 2 * count),
                          NVDP__ITEMS(out, (size_t)threads * m), NVDP__ITEMS(orders, m)));
    for (size_t k = 0; k < m; k++)
        orders[k] = work->orders[k].order;
    for (size_t first = 0; first < work->pairs; first += 4096) {
        const size_t end = first + 4096 < work->pairs ? first + 4096 : work->pairs;
        NVDP_TRY(nvdp__check_cancelled(work->ctx, "cancelled"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = first; i < end; i++) {
            const size_t thread = (size_t)omp_get_thread_num();
            const int32_t a = work->token[work->pair[i].a], b = work->token[work->pair[i].b];
            const size_t n = a < 0 || b < 0 ? m : slow;
            double *row = rows + thread * 2 * count, *value = out + thread * m;
            if (n == 0) continue;
            nvdp__dchi_position(work->dchi, n, orders, a, b, row, value);
            memcpy(work->value + 2 * i * m, value, n * sizeof *value);
            nvdp__dchi_position(work->dchi, n, orders, b, a, row, value);
            memcpy(work->value + (2 * i + 1) * m, value, n * sizeof *value);
        }
    }
    return NVDP_OK;
}

static nvdp_status santext_pairs(struct work *work) {
    const struct nvdp_dchi *dchi = work->dchi;
    const size_t count = dchi->vectors->count, dim = dchi->vectors->dim, m = work->m;
    const int threads = nvdp_context_threads(work->ctx);
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    struct tile tile = {0};
    struct scaled *z;
    double *log_sum, *scratch;
    /* [n] pairs of known tokens with at least one sensitive token: these pairs have finite divergences */
    uint32_t *summed;
    size_t n = 0;
    nvdp__auto(nvdp__meter_end) struct nvdp__meter meter = {0};
    nvdp__meter_begin(&meter, work->ctx, "pairs", "output", 0, count);
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &memory, NVDP__ITEMS(tile.weight, work->tokens * WIDTH),
                          NVDP__ITEMS(tile.log_weight, work->tokens * WIDTH),
                          NVDP__ITEMS(tile.power, work->tokens * work->bases * WIDTH),
                          NVDP__ITEMS(tile.outputs, dim * WIDTH), NVDP__ITEMS(z, work->tokens),
                          NVDP__ITEMS(log_sum, work->tokens),
                          NVDP__ITEMS(scratch, (size_t)threads * 2 * m * WIDTH),
                          NVDP__ITEMS(summed, work->pairs)));
    for (size_t x = 0; x < work->tokens; x++)
        z[x].largest = is_sensitive(work, (uint32_t)x) ? 0 : -INFINITY;
    for (size_t i = 0; i < work->pairs; i++) {
        const struct token_pair *pair = &work->pair[i];
        const bool known = work->token[pair->a] >= 0 && work->token[pair->b] >= 0;
        if (known && (is_sensitive(work, pair->a) || is_sensitive(work, pair->b)))
            summed[n++] = (uint32_t)i;
    }
    for (size_t y = 0; y < count && n > 0;) {
        for (tile.width = 0; y < count && tile.width < WIDTH; y++)
            if (dchi->sensitive == NULL || dchi->sensitive[y] != 0)
                nvdp__vectors_row(dchi->vectors, y, tile.outputs + tile.width++ * dim);
        NVDP_TRY(nvdp__check_cancelled(work->ctx, "cancelled"));
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (size_t x = 0; x < work->tokens; x++)
            fill_tile(work, &tile, x, &z[x]);
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads)
        for (size_t i = 0; i < n; i++)
            add_pair(work, &tile, summed[i],
                     scratch + (size_t)omp_get_thread_num() * 2 * m * WIDTH);
        nvdp__meter_update(&meter, y, (double)y, "output", NAN);
    }
    for (size_t x = 0; x < work->tokens; x++)
        log_sum[x] = z[x].largest + log(z[x].sum);
    for (size_t i = 0; i < work->pairs; i++) {
        const uint32_t a = work->pair[i].a, b = work->pair[i].b;
        if (work->token[a] < 0 || work->token[b] < 0) continue;
        const double h = nvdp__dchi_distance(dchi, work->token[a], work->token[b]) / 2;
        divergences(work, a, b, h, log_sum, work->value + 2 * i * m);
        divergences(work, b, a, h, log_sum, work->value + (2 * i + 1) * m);
    }
    return slow_pairs(work);
}

/* ---- the texts ---- */

/* Fills the matrix with sums over positions, in order, for struct nvdp__divergence_source. */
static nvdp_status fill(void *of, double order, double *matrix) {
    const struct work *work = of;
    const size_t n = work->texts->texts, m = work->m;
    size_t k = 0;
    while (work->orders[k].order != order)
        k++;
    for (size_t i = 0; i < n * n; i++)
        matrix[i] = work->same_length ? NAN : INFINITY;
    for (size_t i = 0; i < n; i++)
        matrix[i * n + i] = 0;
#pragma omp parallel for schedule(dynamic, 8) num_threads(nvdp_context_threads(work->ctx))
    for (size_t i = 0; i < n; i++) {
        const uint32_t *entry = work->entry + work->begin[i];
        const size_t text = work->by_shape[i], length = text_length(work->texts, text);
        for (size_t j = i + 1; j < work->group[i]; j++) {
            const size_t other = work->by_shape[j];
            double forward = 0, backward = 0;
            for (size_t p = 0; p < length; p++, entry++) {
                if (*entry == UINT32_MAX) continue;
                const double *value = work->value + (size_t)(*entry / 2) * 2 * m + k;
                forward += value[*entry % 2 == 0 ? 0 : m];
                backward += value[*entry % 2 == 0 ? m : 0];
            }
            matrix[text * n + other] = forward;
            matrix[other * n + text] = backward;
        }
    }
    return nvdp__check_cancelled(work->ctx, "cancelled");
}

static void release(struct work *work) {
    nvdp__memory_release(&work->memory);
    free(work->pair);
}

/* Returns an upper bound of eta/2 times the distance of two vectors. */
static double largest_distance(const struct nvdp_dchi *dchi) {
    const struct nvdp_vectors *vectors = dchi->vectors;
    double largest = 0, scratch[NVDP__ROW_WIDEST];
    for (size_t x = 0; x < vectors->count; x++) {
        const double *row = nvdp__row(vectors, x, scratch);
        double square = 0;
        for (size_t k = 0; k < vectors->dim; k++)
            square += row[k] * row[k];
        largest = square > largest ? square : largest;
    }
    return dchi->eta * sqrt(largest);
}

static nvdp_status prepare(struct work *work, const struct nvdp__privacy_options *options) {
    const bool random = nvdp__dchi_uniform(work->dchi);
    NVDP_TRY(plan(work, options, random ? 0 : largest_distance(work->dchi)));
    NVDP_TRY(sort_texts(work));
    const nvdp_status listed = list_pairs(work);
    free(work->table.slot);
    NVDP_TRY(listed);
    NVDP_TRY(NVDP__ARRAYS(work->ctx, &work->memory,
                          NVDP__ITEMS(work->value, work->pairs * 2 * work->m)));
    if (random) return NVDP_OK;
    return nvdp__dchi_exact(work->dchi) ? santext_pairs(work) : laplace_pairs(work);
}

/* ---- the exact epsilon of the worst pair ---- */

enum { MAX_EVALUATED = 64 };
struct candidate {
    double epsilon;
    size_t p, q;
};

/* Computes the exact epsilon of a pair. Several releases count as one longer text, because releases are independent. */
static nvdp_status exact_epsilon(struct work *work, int releases, double delta, size_t p, size_t q,
                                 struct nvdp_interval *out) {
    const struct nvdp__token_texts *texts = work->texts;
    const size_t length = text_length(texts, p);
    nvdp__autofree int32_t *a = NULL;
    NVDP_TRY(NVDP__NEW(work->ctx, a, 2 * (size_t)releases * length));
    int32_t *b = a + (size_t)releases * length;
    for (size_t r = 0; r < (size_t)releases; r++) {
        memcpy(a + r * length, texts->tokens + texts->offset[p], length * sizeof *a);
        memcpy(b + r * length, texts->tokens + texts->offset[q], length * sizeof *b);
    }
    return nvdp__dchi_epsilon(work->ctx, work->dchi, delta, 5e-3, (size_t)releases * length, a, b,
                              out);
}

/* True if two texts of the same shape have the same output distribution. */
static bool same_output(const struct work *work, size_t p, size_t q) {
    const struct nvdp__token_texts *texts = work->texts;
    return nvdp__dchi_uniform(work->dchi) ||
           memcmp(texts->tokens + texts->offset[p], texts->tokens + texts->offset[q],
                  text_length(texts, p) * sizeof *texts->tokens) == 0;
}

/* Finds the largest exact epsilon. The conversion of a divergence is an upper bound of the exact epsilon, also if
 * the exact epsilon is known to be 0. Evaluates pairs in decreasing order of their conversions until a conversion is
 * below the largest exact value found. */
static nvdp_status largest_epsilon(struct work *work, const struct nvdp__privacy_options *options,
                                   const double *epsilon, struct nvdp_dchi_report *out) {
    const size_t n = work->texts->texts;
    nvdp__autofree struct candidate *list = NULL;
    size_t candidates = 0, done = 0;
    NVDP_TRY(NVDP__NEW(work->ctx, list, out->same->pairs->pairs));
    for (size_t p = 0; p < n; p++)
        for (size_t q = 0; q < n; q++)
            if (p != q && !isnan(epsilon[p * n + q]))
                list[candidates++] =
                    (struct candidate){same_output(work, p, q) ? 0 : epsilon[p * n + q], p, q};
    NVDP__SORT(list, candidates, NVDP__DOWN(struct candidate, epsilon),
               NVDP__UP(struct candidate, p), NVDP__UP(struct candidate, q));
    for (; done < candidates && done < MAX_EVALUATED; done++) {
        struct nvdp_interval found;
        if (done > 0 && list[done].epsilon <= out->epsilon.high) break;
        NVDP_TRY(nvdp__check_cancelled(work->ctx, "cancelled"));
        NVDP_TRY(exact_epsilon(work, options->bdp.releases, options->bdp.delta, list[done].p,
                               list[done].q, &found));
        found.high = fmin(found.high, list[done].epsilon); /* both numbers are upper bounds */
        if (done == 0 || found.high > out->epsilon.high) {
            out->epsilon_p = list[done].p;
            out->epsilon_q = list[done].q;
        }
        out->epsilon.low = done == 0 ? found.low : fmax(out->epsilon.low, found.low);
        out->epsilon.high = done == 0 ? found.high : fmax(out->epsilon.high, found.high);
    }
    if (done == MAX_EVALUATED && done < candidates)
        out->epsilon.high = fmax(out->epsilon.high, list[done].epsilon);
    out->epsilon_pairs = done;
    return NVDP_OK;
}

/* ---- everything ---- */

static nvdp_status check_texts(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                               const struct nvdp__token_texts *texts) {
    for (size_t i = 0; i < texts->texts; i++)
        if (first_token(texts, i) > text_length(texts, i))
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "pairs: text %zu: expected at most %zu tokens in its first part, found %zu", i,
                text_length(texts, i), first_token(texts, i));
    return nvdp__dchi_check(ctx, dchi, texts->offset[texts->texts], texts->tokens);
}

static void describe(const struct work *work, struct nvdp_dchi_report *out) {
    const struct nvdp__token_texts *texts = work->texts;
    const size_t n = texts->texts;
    out->mechanism = work->dchi->mechanism;
    out->eta = work->dchi->eta;
    out->p = work->dchi->p;
    out->vocabulary = work->dchi->vectors->count;
    out->dim = work->dchi->vectors->dim;
    out->tokens = texts->offset[n];
    for (size_t i = 0; i < out->tokens; i++) {
        const int32_t token = texts->tokens[i];
        out->unknown += token < 0;
        out->left +=
            token >= 0 && work->dchi->sensitive != NULL && work->dchi->sensitive[token] == 0;
    }
    for (size_t i = 0; i < n; i++)
        out->equal_length += 2 * (work->group[i] - i - 1);
    out->other_length = n * (n - 1) - out->equal_length;
}

/* The structs to which a report refers, in one block. */
struct parts {
    struct nvdp_privacy_report pairs,
        same; /* `pairs` is the first member, so that its address is the address of the block */
    struct nvdp_dchi_worst worst;
};

nvdp_status nvdp__dchi_privacy(struct nvdp_context *ctx, const struct nvdp_dchi *dchi,
                               const struct nvdp__token_texts *texts,
                               const struct nvdp__privacy_options *options, double *matrix,
                               struct nvdp_dchi_report *out) {
    static const double max_work = 1.5e10; /* max work for the worst case over the vocabulary */
    const bool vectors = dchi->row->gives_vectors;
    nvdp__auto(release) struct work work = {.ctx = ctx, .dchi = dchi, .texts = texts};
    const struct nvdp__divergence_source source = {fill, &work};
    struct nvdp_posteriors shape = {.texts = texts->texts,
                                    .offset = (size_t *)texts->offset,
                                    .dim = vectors ? dchi->vectors->dim : 1,
                                    .kappa = 1,
                                    .policy = NVDP_LENGTH_PUBLIC};
    struct nvdp__privacy_options same = *options;
    nvdp__autoresult struct nvdp_dchi_report made =
        NVDP__RESULT(struct nvdp_dchi_report, nvdp__dchi_report_kind);
    struct parts *parts = NULL;
    nvdp__autofree double *epsilon = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(NVDP__NEW(ctx, parts, 1));
    *parts = (struct parts){.pairs = NVDP_RESULT(struct nvdp_privacy_report),
                            .same = NVDP_RESULT(struct nvdp_privacy_report),
                            .worst = NVDP_RESULT(struct nvdp_dchi_worst)};
    made.pairs = &parts->pairs;
    made.worst = &parts->worst;
    NVDP_TRY(nvdp__schema_check(ctx, &nvdp__privacy_schema, options));
    NVDP_TRY(check_texts(ctx, dchi, texts));
    nvdp__snprintf(shape.method, sizeof shape.method, "%s", nvdp__dchi_name(dchi->mechanism));
    NVDP_TRY(NVDP__NEW(ctx, epsilon, texts->texts * texts->texts));
    NVDP_TRY(prepare(&work, options));
    describe(&work, &made);
    work.same_length = options->pairs.adjacency == NVDP_ADJACENT_SAME_LENGTH;
    if (made.equal_length == 0 && work.same_length)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "pairs: no two of the %zu texts have the same length", texts->texts);
    NVDP_TRY(
        nvdp__privacy_measure_source(ctx, &shape, &source, options, matrix, epsilon, made.pairs));
    if (made.equal_length > 0) {
        made.same = &parts->same;
        work.same_length = true;
        same.pairs.adjacency = NVDP_ADJACENT_SAME_LENGTH;
        NVDP_TRY(
            nvdp__privacy_measure_source(ctx, &shape, &source, &same, NULL, epsilon, made.same));
        NVDP_TRY(largest_epsilon(&work, options, epsilon, &made));
    }
    const double inputs = max_work / ((double)dchi->vectors->count * (double)dchi->vectors->dim);
    NVDP_TRY(nvdp_dchi_worst(ctx, dchi,
                             inputs >= (double)dchi->vectors->count ? 0 : (size_t)fmax(inputs, 16),
                             options->pairs.seed, made.worst));
    NVDP__GIVE(out, &made);
    made.pairs = made.same = NULL;
    return NVDP_OK;
}
