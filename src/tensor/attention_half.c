/* Attention over packed texts with bfloat16 operands; formulas as in attention.c.
 *
 * A (text, head) is one thread's work.  Its queries pass in blocks of QUERIES rows, so that scores,
 * float32, never take more than QUERIES rows of keys and stay in the cache; probabilities and their
 * gradients are rounded to bfloat16 for the products that read them.  D_i = sum_j p_ij dp_ij is
 * summed from the tile, not from the rounded output, so that each row of ds sums to 0. */
#include "tensor/attention_half.h"

#include "tensor/attention_tile.h"
#include "tensor/half_product.h"
#include "tensor/kernels.h"
#include "tensor/operand_access.h"
#include <omp.h>

enum { QUERIES = 128 };
_Static_assert((int)NVDP__LINE == (int)NVDP__HALF_LANES,
               "rows of scores are whole vectors of products");

/* A thread's scratch: [QUERIES] rows of queries, n_k keys in whole vectors. */
struct room {
    float *scores, *d_scores;  /* [QUERIES, ld] */
    nvdp__bf16 *rows, *kept;   /* [QUERIES, ld] rounded: p or ds; p after dropout */
    uint32_t *pairs, *columns; /* [QUERIES/2, ld] packed, [ld, QUERIES/2] transposed */
    uint32_t *key_t, *value_t; /* [dim/2, ld] */
    uint32_t *key_or_value;    /* [ld/2, dim] */
    uint32_t *query, *d_out;   /* [QUERIES/2, dim] */
    float *product;            /* [QUERIES, dim] */
    float *d_key, *d_value;    /* [ld, dim] */
};

/* Carves the room from `base`, or only measures: returns floats. */
static size_t carve(size_t longest_k, size_t dim, float *base, struct room *room) {
    size_t ld = nvdp__line_up(longest_k);
    size_t sizes[] = {QUERIES * ld,     QUERIES * ld,      QUERIES * ld / 2,  QUERIES * ld / 2,
                      QUERIES / 2 * ld, ld * QUERIES / 2,  dim / 2 * ld,      dim / 2 * ld,
                      ld / 2 * dim,     QUERIES / 2 * dim, QUERIES / 2 * dim, QUERIES * dim,
                      ld * dim,         ld * dim};
    float *at[sizeof sizes / sizeof sizes[0]];
    size_t used = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        at[i] = base != NULL ? base + used : NULL;
        used += nvdp__line_up(sizes[i]);
    }
    if (base == NULL) return used;
    *room = (struct room){.scores = at[0],
                          .d_scores = at[1],
                          .rows = (nvdp__bf16 *)(void *)at[2],
                          .kept = (nvdp__bf16 *)(void *)at[3],
                          .pairs = (uint32_t *)(void *)at[4],
                          .columns = (uint32_t *)(void *)at[5],
                          .key_t = (uint32_t *)(void *)at[6],
                          .value_t = (uint32_t *)(void *)at[7],
                          .key_or_value = (uint32_t *)(void *)at[8],
                          .query = (uint32_t *)(void *)at[9],
                          .d_out = (uint32_t *)(void *)at[10],
                          .product = at[11],
                          .d_key = at[12],
                          .d_value = at[13]};
    return used;
}

size_t nvdp__attention_half_scratch(const struct nvdp__device *dev, size_t longest_q,
                                    size_t longest_k, size_t head_dim) {
    (void)longest_q;
    return (size_t)dev->threads * carve(longest_k, head_dim, NULL, NULL);
}

static struct room own_room(const struct nvdp__attention *att, float *scratch) {
    size_t longest = nvdp__longest_group(att->groups, att->k_offset);
    struct room room;
    size_t size = carve(longest, att->head_dim, NULL, NULL);
    carve(longest, att->head_dim, scratch + (size_t)omp_get_thread_num() * size, &room);
    return room;
}

/* s = scale s + bias, -inf past n. */
NVDP__INLINE void finish_scores(size_t n, size_t ld, float scale, const float *restrict bias,
                                float *restrict s) {
    if (bias != NULL)
        for (size_t j = 0; j < n; j++)
            s[j] = scale * s[j] + bias[j];
    else
        for (size_t j = 0; j < n; j++)
            s[j] *= scale;
    for (size_t j = n; j < ld; j++)
        s[j] = -INFINITY;
}

/* scores -> e^(s - highest); log-sum-exp, and 1/sum in *inverse. */
NVDP__CLONES
static float exp_row(size_t n, size_t ld, float scale, const float *restrict bias,
                     float *restrict s, float *inverse) {
    finish_scores(n, ld, scale, bias, s);
    ld = nvdp__whole_lines(ld);
    float highest = nvdp__row_max(ld, s);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < ld; j++) {
        float e = nvdp__fast_exp(s[j] - highest);
        s[j] = e;
        sum += e;
    }
    double total = (double)sum;
    *inverse = (float)(1 / total);
    return (float)((double)highest + log(total));
}

NVDP__CLONES
static void round_scaled(size_t ld, float a, const float *restrict e, nvdp__bf16 *restrict p) {
    ld = nvdp__whole_lines(ld);
    for (size_t j = 0; j < ld; j++)
        p[j] = nvdp__bfloat16_from_float(a * e[j]);
}

NVDP__CLONES
static void round_dropped(size_t ld, float a, struct nvdp__dropout_key key, int32_t threshold,
                          const float *restrict e, nvdp__bf16 *restrict p) {
    ld = nvdp__whole_lines(ld);
    for (uint32_t j = 0; j < (uint32_t)ld; j++) {
        float kept = nvdp__dropout_bits(key, j) >= threshold ? a * e[j] : 0.0f;
        p[j] = nvdp__bfloat16_from_float(kept);
    }
}

static void round_rows(size_t rows, size_t dim, float scale, const float *x, size_t ldy,
                       nvdp__bf16 *y) {
    for (size_t r = 0; r < rows; r++)
        round_scaled(dim, scale, x + r * dim, y + r * ldy);
}

/* Queries [first, first + n) of a tile, keys and values packed. */
static void forward_block(const struct nvdp__attention *att, const struct nvdp__tile *t,
                          size_t first, size_t n, const struct nvdp__attention_half *x,
                          const struct room *room) {
    size_t dim = att->head_dim;
    nvdp__half_product(n, t->ld, dim, false, x->q + t->q_at + first * att->q_stride, att->q_stride,
                       room->key_t, t->ld, room->scores, t->ld);
    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    for (size_t i = 0; i < n; i++) {
        float *row = room->scores + i * t->ld;
        float inverse;
        x->lse[(t->first_q + first + i) * att->heads + t->head] =
            exp_row(t->n_k, t->ld, att->scale, x->bias != NULL ? x->bias + t->first_k : NULL, row,
                    &inverse);
        if (att->dropout.rate > 0)
            round_dropped(t->ld, inverse * nvdp__keep_scale(att), nvdp__tile_key(att, t, first + i),
                          threshold, row, room->rows + i * t->ld);
        else
            round_scaled(t->ld, inverse, row, room->rows + i * t->ld);
    }
    nvdp__half_product(n, dim, t->n_k, false, room->rows, t->ld, room->key_or_value, dim,
                       room->product, dim);
    round_rows(n, dim, 1, room->product, att->out_stride,
               x->out + t->out_at + first * att->out_stride);
}

/* Without keys there is nothing to attend to: the sum is empty. */
static void zero_tile(const struct nvdp__attention *att, const struct nvdp__tile *t,
                      const struct nvdp__attention_half *x) {
    for (size_t i = 0; i < t->n_q; i++) {
        x->lse[(t->first_q + i) * att->heads + t->head] = -INFINITY;
        memset(x->out + t->out_at + i * att->out_stride, 0, att->head_dim * sizeof *x->out);
    }
}

static void forward_tile(const struct nvdp__attention *att, const struct nvdp__tile *t,
                         const struct nvdp__attention_half *x, const struct room *room) {
    if (t->n_k == 0) {
        zero_tile(att, t, x);
        return;
    }
    nvdp__half_pack_transposed(t->n_k, att->head_dim, x->k + t->k_at, att->kv_stride, t->ld,
                               room->key_t);
    nvdp__half_pack(t->n_k, att->head_dim, x->v + t->k_at, att->kv_stride, room->key_or_value);
    for (size_t first = 0; first < t->n_q; first += QUERIES)
        forward_block(att, t, first, nvdp__block_length(t->n_q, QUERIES, first / QUERIES), x, room);
}

void nvdp__attention_half_forward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                                  const struct nvdp__attention_half *x) {
    size_t tiles = att->groups * att->heads;
#pragma omp parallel num_threads(dev->threads)
    {
        struct room room = own_room(att, x->scratch);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < tiles; i++) {
            struct nvdp__tile t = nvdp__tile_of(att, i / att->heads, i % att->heads);
            forward_tile(att, &t, x, &room);
        }
    }
}

/* s -> p, negative where dropout takes it; returns sum_j f_j p_j dp_j, f the factors. */
NVDP__CLONES
static float probability_row(size_t n, size_t ld, float scale, const float *restrict bias,
                             float lse, bool drops, struct nvdp__dropout_key key, int32_t threshold,
                             float factor, float *restrict s, const float *restrict dp) {
    finish_scores(n, ld, scale, bias, s);
    ld = nvdp__whole_lines(ld);
    float total = 0;
    if (drops) {
#pragma omp simd reduction(+ : total)
        for (uint32_t j = 0; j < (uint32_t)ld; j++) {
            float p = nvdp__fast_exp(s[j] - lse);
            bool kept = nvdp__dropout_bits(key, j) >= threshold;
            float weight = kept ? 1.0f : 0.0f;
            s[j] = nvdp__bits_float(nvdp__float_bits(p) | (kept ? 0 : 0x80000000u));
            total += weight * (p * dp[j]);
        }
    } else {
#pragma omp simd reduction(+ : total)
        for (size_t j = 0; j < ld; j++) {
            float p = nvdp__fast_exp(s[j] - lse);
            s[j] = p;
            total += p * dp[j];
        }
    }
    return total * factor;
}

/* s (from probability_row) -> f p rounded, in `p`; dp -> ds, also rounded in `ds`. */
NVDP__CLONES
static void score_gradient_row(size_t ld, float factor, float d, const float *restrict s,
                               float *restrict dp, nvdp__bf16 *restrict p,
                               nvdp__bf16 *restrict ds) {
    ld = nvdp__whole_lines(ld);
    for (size_t j = 0; j < ld; j++) {
        float kept = s[j] > 0 ? s[j] * factor : 0.0f;
        float gradient = kept * dp[j] - fabsf(s[j]) * d;
        dp[j] = gradient;
        p[j] = nvdp__bfloat16_from_float(kept);
        ds[j] = nvdp__bfloat16_from_float(gradient);
    }
}

/* y [n_k, dim] += p^T x for p [n, ld] rounded and x [n, dim] packed in pairs of rows. */
static void add_columns(const struct nvdp__tile *t, size_t n, size_t dim, const nvdp__bf16 *p,
                        const uint32_t *x, const struct room *room, float *y) {
    size_t pairs = (n + 1) / 2;
    size_t ld = nvdp__line_up(pairs);
    nvdp__half_pack(n, t->ld, p, t->ld, room->pairs);
    nvdp__half_transpose(pairs, t->ld, room->pairs, ld, room->columns);
    nvdp__half_product(t->n_k, dim, n, true, (const nvdp__bf16 *)(const void *)room->columns,
                       2 * ld, x, dim, y, dim);
}

static void backward_rows(const struct nvdp__attention *att, const struct nvdp__tile *t,
                          size_t first, size_t n, const struct nvdp__attention_half *x,
                          const struct room *room) {
    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    bool drops = att->dropout.rate > 0;
    float factor = drops ? nvdp__keep_scale(att) : 1.0f;
    for (size_t i = 0; i < n; i++) {
        float *s = room->scores + i * t->ld;
        float *dp = room->d_scores + i * t->ld;
        struct nvdp__dropout_key key = {0};
        if (drops) key = nvdp__tile_key(att, t, first + i);
        float d = probability_row(t->n_k, t->ld, att->scale,
                                  x->bias != NULL ? x->bias + t->first_k : NULL,
                                  x->lse[(t->first_q + first + i) * att->heads + t->head], drops,
                                  key, threshold, factor, s, dp);
        score_gradient_row(t->ld, factor, d, s, dp, room->kept + i * t->ld, room->rows + i * t->ld);
    }
}

static void add_bias_gradient(const struct nvdp__tile *t, size_t n, const struct room *room,
                              float *dbias) {
    for (size_t at = 0; at < t->n_k; at += NVDP__COLUMNS)
        nvdp__column_sums(n, t->ld, t->n_k - at < NVDP__COLUMNS ? t->n_k - at : NVDP__COLUMNS,
                          room->d_scores + at, dbias + t->first_k + at);
}

static void backward_block(const struct nvdp__attention *att, const struct nvdp__tile *t,
                           size_t first, size_t n, const struct nvdp__attention_half *x,
                           const struct room *room) {
    size_t dim = att->head_dim;
    const nvdp__bf16 *q = x->q + t->q_at + first * att->q_stride;
    const nvdp__bf16 *dout = x->dout + t->out_at + first * att->out_stride;
    nvdp__half_product(n, t->ld, dim, false, q, att->q_stride, room->key_t, t->ld, room->scores,
                       t->ld);
    nvdp__half_product(n, t->ld, dim, false, dout, att->out_stride, room->value_t, t->ld,
                       room->d_scores, t->ld);
    backward_rows(att, t, first, n, x, room);
    nvdp__half_pack(n, dim, dout, att->out_stride, room->d_out);
    nvdp__half_pack(n, dim, q, att->q_stride, room->query);
    add_columns(t, n, dim, room->kept, room->d_out, room, room->d_value);
    add_columns(t, n, dim, room->rows, room->query, room, room->d_key);
    nvdp__half_product(n, dim, t->n_k, false, room->rows, t->ld, room->key_or_value, dim,
                       room->product, dim);
    round_rows(n, dim, att->scale, room->product, att->q_stride,
               x->dq + t->q_at + first * att->q_stride);
    if (x->dbias != NULL) add_bias_gradient(t, n, room, x->dbias);
}

static void backward_tile(const struct nvdp__attention *att, const struct nvdp__tile *t,
                          const struct nvdp__attention_half *x, const struct room *room) {
    size_t dim = att->head_dim;
    nvdp__half_pack_transposed(t->n_k, dim, x->k + t->k_at, att->kv_stride, t->ld, room->key_t);
    nvdp__half_pack_transposed(t->n_k, dim, x->v + t->k_at, att->kv_stride, t->ld, room->value_t);
    nvdp__half_pack(t->n_k, dim, x->k + t->k_at, att->kv_stride, room->key_or_value);
    memset(room->d_key, 0, t->n_k * dim * sizeof *room->d_key);
    memset(room->d_value, 0, t->n_k * dim * sizeof *room->d_value);
    for (size_t first = 0; first < t->n_q; first += QUERIES)
        backward_block(att, t, first, nvdp__block_length(t->n_q, QUERIES, first / QUERIES), x,
                       room);
    round_rows(t->n_k, dim, att->scale, room->d_key, att->kv_stride, x->dk + t->k_at);
    round_rows(t->n_k, dim, 1, room->d_value, att->kv_stride, x->dv + t->k_at);
}

/* Where dbias is wanted, the heads of a text, which share it, are one thread's work and add up in
 * order. */
void nvdp__attention_half_backward(const struct nvdp__device *dev,
                                   const struct nvdp__attention *att,
                                   const struct nvdp__attention_half *x) {
    size_t together = x->dbias != NULL ? att->heads : 1;
    size_t jobs = att->groups * att->heads / together;
    for (int32_t j = att->k_offset[0]; x->dbias != NULL && j < att->k_offset[att->groups]; j++)
        x->dbias[j] = 0;
#pragma omp parallel num_threads(dev->threads)
    {
        struct room room = own_room(att, x->scratch);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < jobs; i++)
            for (size_t j = i * together; j < (i + 1) * together; j++) {
                struct nvdp__tile t = nvdp__tile_of(att, j / att->heads, j % att->heads);
                backward_tile(att, &t, x, &room);
            }
    }
}
