/* Attention over packed texts with bfloat16 operands; the formulas are in attention.c.
 *
 * One thread computes one head of a text. The queries are processed in blocks of QUERIES rows,
 * so that the float32 scores never take more than QUERIES rows of keys and stay in the cache.
 * Probabilities and their gradients are rounded to bfloat16 for the products that read them. D_i
 * = sum_j p_ij dp_ij is summed from the tile, not from the rounded output, so that each row of
 * ds sums to 0. */
#include "tensor/kernels.h"

enum { QUERIES = 128 };
_Static_assert((int)NVDP__LINE == (int)NVDP__BF16_LANES,
               "the rows of scores are multiples of a vector of products");

/* A thread's scratch buffers for QUERIES queries and n_k keys, rounded up to whole vectors (ld). */
struct scratch {
    enum nvdp__bf16_unit unit; /* kind of instructions for the products */
    float *scores, *d_scores;  /* [QUERIES, ld] scores; gradients of the scores */
    nvdp__bf16 *rows, *kept;   /* [QUERIES, ld] rounded to bfloat16: p or ds; p after dropout */
    uint32_t *pairs, *columns; /* [QUERIES/2, ld] packed, [ld, QUERIES/2] transposed */
    uint32_t *key_t, *value_t; /* [dim/2, ld] packed, transposed keys and values */
    uint32_t *key_or_value;    /* [ld/2, dim] packed keys or values */
    uint32_t *query, *d_out;   /* [QUERIES/2, dim] packed queries and output gradients */
    float *product;            /* [QUERIES, dim] result of a product */
    float *d_key, *d_value;    /* [ld, dim] gradients of keys and values */
};

/* Assigns the scratch buffers from `base`, or only counts if base is NULL. Returns the number of
 * floats. */
static size_t carve(size_t longest_k, size_t dim, float *base, struct scratch *own) {
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
    *own = (struct scratch){.scores = at[0],
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

size_t nvdp__attention_bf16_scratch(size_t longest_k, size_t head_dim) {
    return carve(longest_k, head_dim, NULL, NULL);
}

/* Returns the scratch buffers of a tile, at `base`. */
static struct scratch tile_scratch(const struct nvdp__device *dev,
                                   const struct nvdp__attention *att, const struct nvdp__tile *t,
                                   float *base) {
    struct scratch own;
    carve(t->n_k, nvdp__head_dim(att), base, &own);
    own.unit = dev->unit;
    return own;
}

static nvdp__bf16 *bits(struct nvdp__tensor x, size_t at) {
    return (nvdp__bf16 *)x.data + at;
}

/* Sets s = scale s + bias for the first n elements, and -inf after them. */
NVDP__INLINE void finish_scores(size_t n, size_t ld, float scale, const float *restrict bias,
                                float *restrict s) {
    for (size_t j = 0; bias != NULL && j < n; j++)
        s[j] = scale * s[j] + bias[j];
    if (bias != NULL) scale = 1;
    ld = nvdp__whole_lines(ld);
    /* The indices are compared as floats: with an integer comparison, the compiler splits the
     * loop into two loops, each with a scalar remainder. */
    const float end = (float)n;
    for (int32_t j = 0; j < (int32_t)ld; j++)
        s[j] = (float)j < end ? scale * s[j] : -INFINITY;
}

/* Replaces scores by exp(s - max). Returns 1/sum, and sets *lse to the log-sum-exp unless lse is
 * NULL. */
NVDP__CLONES
static float exp_row(size_t n, size_t ld, float scale, const float *restrict bias,
                     float *restrict s, float *lse) {
    finish_scores(n, ld, scale, bias, s);
    ld = nvdp__whole_lines(ld);
    float highest = nvdp__row_max(ld, s);
    float lane[NVDP__LINE] = {0};
    for (size_t j = 0; j < ld; j += NVDP__LINE)
        for (size_t l = 0; l < NVDP__LINE; l++) {
            float e = nvdp__fast_exp_below(s[j + l] - highest);
            s[j + l] = e;
            lane[l] += e;
        }
    float sum = nvdp__lanes_sum(lane);
    if (lse != NULL) *lse = (float)((double)highest + log((double)sum));
    return 1 / sum;
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

/* Processes the queries [first, first + n) of a tile; keys and values are packed. */
static void forward_block(const struct nvdp__attention *att, const struct nvdp__tile *t,
                          size_t first, size_t n, const struct scratch *own) {
    size_t dim = nvdp__head_dim(att);
    nvdp__bf16_product(own->unit,
                       (struct nvdp__bf16_product){
                           n, t->ld, dim, false, bits(att->q, t->q_at + first * att->q.stride),
                           att->q.stride, own->key_t, t->ld, own->scores, t->ld});
    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    float inverse[QUERIES];
    for (size_t i = 0; i < n; i++) {
        float *row = own->scores + i * t->ld;
        inverse[i] = exp_row(t->n_k, t->ld, att->scale, nvdp__row_bias(att, t, first + i), row,
                             nvdp__row_lse(att, t, first + i));
        if (att->dropout.rate > 0)
            round_dropped(t->ld, nvdp__keep_scale(att), nvdp__tile_key(att, t, first + i),
                          threshold, row, own->rows + i * t->ld);
    }
    if (att->dropout.rate == 0) nvdp__round_row(n * t->ld, own->scores, own->rows);
    nvdp__bf16_product(own->unit,
                       (struct nvdp__bf16_product){n, dim, t->n_k, false, own->rows, t->ld,
                                                   own->key_or_value, dim, own->product, dim});
    nvdp__bf16 *out = bits(att->out, t->out_at + first * att->out.stride);
    /* The products are sums of rounded exponentials; the division by the sum of the exponentials
     * comes last. */
    for (size_t i = 0; i < n; i++)
        round_scaled(dim, inverse[i], own->product + i * dim, out + i * att->out.stride);
}

void nvdp__attention_bf16_forward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                                  const struct nvdp__tile *t, float *scratch) {
    const struct scratch own = tile_scratch(dev, att, t, scratch);
    size_t dim = nvdp__head_dim(att);
    nvdp__bf16_pack_transposed(own.unit, t->n_k, dim, bits(att->k, t->k_at), att->k.stride, t->ld,
                               own.key_t);
    nvdp__bf16_pack(own.unit, t->n_k, dim, bits(att->v, t->k_at), att->k.stride, own.key_or_value);
    for (size_t first = 0; first < t->n_q; first += QUERIES)
        forward_block(att, t, first, nvdp__block_length(t->n_q, QUERIES, first / QUERIES), &own);
}

/* Replaces s by p, negative for dropped elements. Returns sum_j f_j p_j dp_j, with f the factors
 * of dropout. */
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

/* Computes p = f s, rounded, from the s of probability_row(), and ds from dp; ds is also rounded
 * into `ds`. */
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

/* y [n_k, dim] += p^T x for rounded p [n, ld] and x [n, dim] packed in pairs of rows. */
static void add_columns(const struct nvdp__tile *t, size_t n, size_t dim, const nvdp__bf16 *p,
                        const uint32_t *x, const struct scratch *own, float *y) {
    size_t pairs = (n + 1) / 2;
    size_t ld = nvdp__line_up(pairs);
    nvdp__bf16_pack(own->unit, n, t->ld, p, t->ld, own->pairs);
    nvdp__bf16_transpose(own->unit, pairs, t->ld, own->pairs, ld, own->columns);
    nvdp__bf16_product(own->unit,
                       (struct nvdp__bf16_product){t->n_k, dim, n, true,
                                                   (const nvdp__bf16 *)(const void *)own->columns,
                                                   2 * ld, x, dim, y, dim});
}

static void backward_rows(const struct nvdp__attention *att, const struct nvdp__tile *t,
                          size_t first, size_t n, const struct scratch *own) {
    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    bool drops = att->dropout.rate > 0;
    float factor = drops ? nvdp__keep_scale(att) : 1.0f;
    for (size_t i = 0; i < n; i++) {
        const float *bias = nvdp__row_bias(att, t, first + i);
        float *s = own->scores + i * t->ld;
        float *dp = own->d_scores + i * t->ld;
        float lse = *nvdp__row_lse(att, t, first + i);
        struct nvdp__dropout_key key = {0};
        if (drops) key = nvdp__tile_key(att, t, first + i);
        float d = probability_row(t->n_k, t->ld, att->scale, bias, lse, drops, key, threshold,
                                  factor, s, dp);
        score_gradient_row(t->ld, factor, d, s, dp, own->kept + i * t->ld, own->rows + i * t->ld);
    }
}

static void backward_block(const struct nvdp__attention *att, const struct nvdp__tile *t,
                           size_t first, size_t n, const struct nvdp__attention_gradient *d,
                           const struct scratch *own, double *sums) {
    size_t dim = nvdp__head_dim(att);
    enum nvdp__bf16_unit unit = own->unit;
    const nvdp__bf16 *q = bits(att->q, t->q_at + first * att->q.stride);
    const nvdp__bf16 *dout = bits(d->dout, t->out_at + first * att->out.stride);
    nvdp__bf16_product(unit, (struct nvdp__bf16_product){n, t->ld, dim, false, q, att->q.stride,
                                                         own->key_t, t->ld, own->scores, t->ld});
    nvdp__bf16_product(unit,
                       (struct nvdp__bf16_product){n, t->ld, dim, false, dout, att->out.stride,
                                                   own->value_t, t->ld, own->d_scores, t->ld});
    backward_rows(att, t, first, n, own);
    nvdp__bf16_pack(unit, n, dim, dout, att->out.stride, own->d_out);
    nvdp__bf16_pack(unit, n, dim, q, att->q.stride, own->query);
    add_columns(t, n, dim, own->kept, own->d_out, own, own->d_value);
    add_columns(t, n, dim, own->rows, own->query, own, own->d_key);
    nvdp__bf16_product(unit,
                       (struct nvdp__bf16_product){n, dim, t->n_k, false, own->rows, t->ld,
                                                   own->key_or_value, dim, own->product, dim});
    round_rows(n, dim, att->scale, own->product, att->q.stride,
               bits(d->dq, t->q_at + first * att->q.stride));
    for (size_t at = 0; d->dbias != NULL && at < t->n_k; at += NVDP__COLUMNS)
        nvdp__column_sums(n, t->ld, nvdp__min(t->n_k - at, NVDP__COLUMNS), own->d_scores + at,
                          d->dbias + t->first_k + at);
    if (sums != NULL) nvdp__relative_rows(att, t, first, n, own->d_scores, sums);
}

void nvdp__attention_bf16_backward(const struct nvdp__device *dev,
                                   const struct nvdp__attention *att, const struct nvdp__tile *t,
                                   const struct nvdp__attention_gradient *d, float *scratch) {
    const struct scratch own = tile_scratch(dev, att, t, scratch);
    size_t dim = nvdp__head_dim(att);
    size_t stride = att->k.stride;
    const nvdp__bf16 *k = bits(att->k, t->k_at);
    nvdp__bf16_pack_transposed(own.unit, t->n_k, dim, k, stride, t->ld, own.key_t);
    nvdp__bf16_pack_transposed(own.unit, t->n_k, dim, bits(att->v, t->k_at), stride, t->ld,
                               own.value_t);
    nvdp__bf16_pack(own.unit, t->n_k, dim, k, stride, own.key_or_value);
    double *sums = nvdp__relative_begin(att);
    memset(own.d_key, 0, t->n_k * dim * sizeof *own.d_key);
    memset(own.d_value, 0, t->n_k * dim * sizeof *own.d_value);
    for (size_t first = 0; first < t->n_q; first += QUERIES)
        backward_block(att, t, first, nvdp__block_length(t->n_q, QUERIES, first / QUERIES), d, &own,
                       sums);
    if (sums != NULL) nvdp__relative_end(att, t, sums);
    round_rows(t->n_k, dim, att->scale, own.d_key, stride, bits(d->dk, t->k_at));
    round_rows(t->n_k, dim, 1, own.d_value, stride, bits(d->dv, t->k_at));
}
