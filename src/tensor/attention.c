/* Attention (Vaswani et al. 2017) over packed texts in float32, one tile of scores per text and head:
 *
 *     s_ij   = scale q_i.k_j + bias_j    or + bias_{b(j-i)}, by the bucket b of the distance
 *     lse_i  = log sum_j exp(s_ij)
 *     p_ij   = exp(s_ij - lse_i)
 *     out_i  = sum_j f_ij p_ij v_j
 *
 * f are the factors of dropout.  Only lse is kept; backward recomputes p from it:
 *
 *     dp_ij  = f_ij dout_i.v_j
 *     D_i    = sum_j p_ij dp_ij = dout_i.out_i
 *     ds_ij  = p_ij (dp_ij - D_i)
 *     dv_j   = sum_i f_ij p_ij dout_i
 *     dq_i   = scale sum_j ds_ij k_j
 *     dk_j   = scale sum_i ds_ij q_i
 *     dbias_j = sum_i ds_ij              or dbias_b = sum_{ij: b(j-i) = b} ds_ij
 *
 * Each tile is computed by one thread, so results do not depend on the number of threads. A group without keys has
 * out 0 and lse -inf. Start with forward_tile() and backward_tile(). */
#include "tensor/kernels.h"

#include <omp.h>

/* ---- tiles ---- */

size_t nvdp__line_up(size_t n) {
    return (n + NVDP__LINE - 1) / NVDP__LINE * NVDP__LINE;
}

size_t nvdp__head_dim(const struct nvdp__attention *att) {
    return att->q.cols / att->heads;
}

static struct nvdp__tile head_tile(const struct nvdp__attention *att, size_t group, size_t head) {
    size_t column = head * nvdp__head_dim(att);
    struct nvdp__tile t = {.first_q = (size_t)att->q_offset[group],
                           .first_k = (size_t)att->k_offset[group],
                           .group = group,
                           .head = head};
    t.n_q = (size_t)att->q_offset[group + 1] - t.first_q;
    t.n_k = (size_t)att->k_offset[group + 1] - t.first_k;
    t.ld = nvdp__line_up(t.n_k);
    t.q_at = t.first_q * att->q.stride + column;
    t.k_at = t.first_k * att->k.stride + column;
    t.out_at = t.first_q * att->out.stride + column;
    return t;
}

static size_t longest_group(size_t groups, const int32_t *offset) {
    int32_t longest = 0;
    for (size_t g = 0; g < groups; g++)
        if (offset[g + 1] - offset[g] > longest) longest = offset[g + 1] - offset[g];
    return (size_t)longest;
}

/* Max rows for which the kernels of this library are faster than BLAS (measured with AVX2 and AVX-512). */
enum { SMALL = 128 };

/* Returns true if the kernels of this library, not BLAS, compute the tile's products. */
static bool is_small(const struct nvdp__tile *t, size_t dim) {
    return t->n_q <= SMALL && t->n_k <= SMALL && dim % NVDP__LINE == 0;
}

/* Returns the floats of scratch memory per thread. In float32: two tiles of scores, and k or v of a short text
 * transposed. */
static size_t thread_scratch(enum nvdp__type type, size_t longest_q, size_t longest_k,
                             size_t head_dim) {
    if (type == NVDP__BF16) return nvdp__attention_bf16_scratch(longest_k, head_dim);
    size_t columns = nvdp__min(longest_k, SMALL);
    return nvdp__line_up(2 * longest_q * nvdp__line_up(longest_k) +
                         head_dim * nvdp__line_up(columns));
}

size_t nvdp__attend_scratch(const struct nvdp__device *dev, enum nvdp__type type, size_t longest_q,
                            size_t longest_k, size_t head_dim) {
    return (size_t)dev->threads * thread_scratch(type, longest_q, longest_k, head_dim);
}

/* Returns this thread's part of the scratch memory. */
static float *own_scratch(const struct nvdp__attention *att) {
    size_t longest_q = longest_group(att->groups, att->q_offset);
    size_t longest_k = longest_group(att->groups, att->k_offset);
    return att->scratch + (size_t)omp_get_thread_num() * thread_scratch(att->q.type, longest_q,
                                                                        longest_k,
                                                                        nvdp__head_dim(att));
}

/* Returns a view of a tile's part of a tensor. */
static struct nvdp__tensor view(const float *x, size_t rows, size_t cols, size_t stride) {
    struct nvdp__tensor t = nvdp__f32(rows, cols, x);
    t.stride = stride;
    return t;
}

/* The products of a tile. Scores are [n_q, n_k] with row stride t->ld. x and y are the tile's parts of q, k, v, out, or
 * of the gradients; they have dim columns.
 *
 * scores = scale x y^T, with x shaped as q and y shaped as k; `spare` is a scratch buffer for y^T. */
static void score_product(const struct nvdp__device *dev, const struct nvdp__tile *t, float scale,
                          struct nvdp__tensor x, struct nvdp__tensor y, float *spare,
                          float *scores) {
    if (is_small(t, x.cols)) {
        nvdp__small_transpose(t->n_k, y.cols, y.data, y.stride, t->ld, spare);
        nvdp__small_product((struct nvdp__small_product){t->n_q, t->ld, x.cols, scale, x.data,
                                                         x.stride, 1, spare, t->ld, scores, t->ld});
    } else {
        nvdp__gemm(dev, scale, NVDP__TRANSPOSE_B, x, y, 0, view(scores, t->n_q, t->n_k, t->ld));
    }
}

/* y [n_q, dim] = scale p x, with p shaped as scores and x shaped as k. */
static void row_product(const struct nvdp__device *dev, const struct nvdp__tile *t, size_t dim,
                        float scale, const float *p, const float *x, size_t ldx, float *y,
                        size_t ldy) {
    if (is_small(t, dim))
        nvdp__small_product(
            (struct nvdp__small_product){t->n_q, dim, t->n_k, scale, p, t->ld, 1, x, ldx, y, ldy});
    else
        nvdp__gemm(dev, scale, NVDP__AS_STORED, view(p, t->n_q, t->n_k, t->ld),
                   view(x, t->n_k, dim, ldx), 0, view(y, t->n_q, dim, ldy));
}

/* y [n_k, dim] = scale p^T x, with p shaped as scores and x shaped as q. */
static void column_product(const struct nvdp__device *dev, const struct nvdp__tile *t, size_t dim,
                           float scale, const float *p, const float *x, size_t ldx, float *y,
                           size_t ldy) {
    if (is_small(t, dim))
        nvdp__small_product(
            (struct nvdp__small_product){t->n_k, dim, t->n_q, scale, p, 1, t->ld, x, ldx, y, ldy});
    else
        nvdp__gemm(dev, scale, NVDP__TRANSPOSE_A, view(p, t->n_q, t->n_k, t->ld),
                   view(x, t->n_q, dim, ldx), 0, view(y, t->n_k, dim, ldy));
}

/* ---- relative position biases ----
 *
 * The biases of query i are bias[reach - i ...] of the head: contiguous over the keys. The sums to which the row
 * ds_i adds are contiguous, too. One thread computes a tile, and only this tile adds to the gradients of its text
 * and head. */

void nvdp__relative_fill(const struct nvdp__device *dev, size_t heads, const float *table,
                         const struct nvdp__relative *relative) {
    const size_t width = 2 * relative->reach + 1;
    (void)dev;
    for (size_t h = 0; h < heads; h++)
        for (size_t d = 0; d < width; d++)
            relative->bias[h * width + d] = table[(size_t)relative->bucket[d] * heads + h];
}

void nvdp__relative_add(const struct nvdp__device *dev, size_t groups, size_t heads,
                        const struct nvdp__relative *relative, float *d_table) {
    const size_t n = relative->buckets * heads;
    (void)dev;
    for (size_t at = 0; at < n; at += NVDP__COLUMNS)
        nvdp__column_sums(groups, n, nvdp__min(n - at, NVDP__COLUMNS), relative->gradient + at,
                          d_table + at);
}

void nvdp__window_fill(size_t heads, size_t window, const struct nvdp__relative *relative) {
    const size_t width = 2 * relative->reach + 1;
    for (size_t h = 0; h < heads; h++)
        for (size_t d = 0; d < width; d++) {
            const size_t distance = d > relative->reach ? d - relative->reach : relative->reach - d;
            relative->bias[h * width + d] = distance <= window ? 0 : -INFINITY;
        }
}

double *nvdp__relative_begin(const struct nvdp__attention *att) {
    const struct nvdp__relative *relative = att->relative;
    if (relative == NULL || relative->gradient == NULL) return NULL;
    const size_t width = 2 * relative->reach + 1;
    double *sums = relative->sums + (size_t)omp_get_thread_num() * width;
    memset(sums, 0, width * sizeof *sums);
    return sums;
}

NVDP__CLONES
static void add_widened(size_t n, const float *restrict x, double *restrict sum) {
    for (size_t i = 0; i < n; i++)
        sum[i] += (double)x[i];
}

void nvdp__relative_rows(const struct nvdp__attention *att, const struct nvdp__tile *t,
                         size_t first, size_t n, const float *ds, double *sums) {
    for (size_t i = 0; i < n; i++)
        add_widened(t->n_k, ds + i * t->ld, sums + att->relative->reach - (first + i));
}

void nvdp__relative_end(const struct nvdp__attention *att, const struct nvdp__tile *t,
                        const double *sums) {
    const struct nvdp__relative *relative = att->relative;
    float *to = relative->gradient + t->group * relative->buckets * att->heads + t->head;
    const size_t near = relative->reach - (t->n_q - 1);
    for (size_t d = near; d + 1 < near + 2 * t->n_q; d++) {
        float *sum = to + (size_t)relative->bucket[d] * att->heads;
        *sum = (float)((double)*sum + sums[d]);
    }
}

NVDP__INLINE void complete_row(size_t n, size_t ld, const float *restrict bias, float *restrict s) {
    for (size_t j = 0; bias != NULL && j < n; j++)
        s[j] += bias[j];
    for (size_t j = n; j < ld; j++)
        s[j] = -INFINITY;
}

/* Replaces s by exp(s + bias - max). Returns 1/sum, and sets *lse to the log-sum-exp unless lse is NULL. */
NVDP__CLONES
static float softmax_row(size_t n, size_t ld, const float *restrict bias, float *restrict s,
                         float *lse) {
    complete_row(n, ld, bias, s);
    ld = nvdp__whole_lines(ld);
    float highest = nvdp__row_max(ld, s);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < ld; j++) {
        float e = nvdp__fast_exp_below(s[j] - highest);
        s[j] = e;
        sum += (double)e;
    }
    if (lse != NULL) *lse = (float)((double)highest + log(sum));
    return (float)(1 / sum);
}

NVDP__CLONES
static void scale_row(size_t ld, float a, float *p) {
    ld = nvdp__whole_lines(ld);
    for (size_t j = 0; j < ld; j++)
        p[j] *= a;
}

NVDP__CLONES
static void scale_dropped_row(size_t ld, float a, struct nvdp__dropout_key key, int32_t threshold,
                              float factor, float *p) {
    ld = nvdp__whole_lines(ld);
    for (uint32_t j = 0; j < (uint32_t)ld; j++)
        p[j] *= a * nvdp__dropout_factor(key, threshold, factor, j);
}

/* Sets the outputs of a text without keys. */
static void forward_without_keys(const struct nvdp__attention *att, const struct nvdp__tile *t) {
    const size_t size = att->out.type == NVDP__BF16 ? sizeof(nvdp__bf16) : sizeof(float);
    char *out = (char *)att->out.data + t->out_at * size;
    for (size_t i = 0; i < t->n_q; i++) {
        float *lse = nvdp__row_lse(att, t, i);
        if (lse != NULL) *lse = -INFINITY;
        memset(out + i * att->out.stride * size, 0, nvdp__head_dim(att) * size);
    }
}

static void forward_tile(const struct nvdp__device *dev, const struct nvdp__attention *att,
                         const struct nvdp__tile *t, float *scores) {
    size_t dim = nvdp__head_dim(att);
    const float *q = (const float *)att->q.data + t->q_at;
    const float *k = (const float *)att->k.data + t->k_at;
    const float *v = (const float *)att->v.data + t->k_at;
    float *out = (float *)att->out.data + t->out_at;

    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    float *spare = scores + t->n_q * t->ld;
    score_product(dev, t, att->scale, view(q, t->n_q, dim, att->q.stride),
                  view(k, t->n_k, dim, att->k.stride), spare, scores);
    for (size_t i = 0; i < t->n_q; i++) {
        float *row = scores + i * t->ld;
        float inverse =
            softmax_row(t->n_k, t->ld, nvdp__row_bias(att, t, i), row, nvdp__row_lse(att, t, i));
        if (att->dropout.rate > 0)
            scale_dropped_row(t->ld, inverse, nvdp__tile_key(att, t, i), threshold,
                              nvdp__keep_scale(att), row);
        else
            scale_row(t->ld, inverse, row);
    }
    row_product(dev, t, dim, 1, scores, v, att->k.stride, out, att->out.stride);
}

NVDP__CLONES
static float head_dot(size_t n, const float *restrict x, const float *restrict y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += (double)(x[i] * y[i]);
    return (float)sum;
}

/* Replaces s by p, and dp (before dropout) by ds. */
NVDP__CLONES
static void scores_backward_row(size_t n, size_t ld, const float *restrict bias, float lse, float d,
                                float *restrict s, float *restrict dp) {
    complete_row(n, ld, bias, s);
    ld = nvdp__whole_lines(ld);
    for (size_t j = 0; j < ld; j++) {
        float p = nvdp__fast_exp(s[j] - lse);
        s[j] = p;
        dp[j] = p * (dp[j] - d);
    }
}

/* Replaces s by f p, and dp (before dropout) by ds. */
NVDP__CLONES
static void scores_backward_dropped_row(size_t n, size_t ld, const float *restrict bias, float lse,
                                        float d, struct nvdp__dropout_key key, int32_t threshold,
                                        float factor, float *restrict s, float *restrict dp) {
    complete_row(n, ld, bias, s);
    ld = nvdp__whole_lines(ld);
    for (uint32_t j = 0; j < (uint32_t)ld; j++) {
        float p = nvdp__fast_exp(s[j] - lse);
        float f = nvdp__dropout_factor(key, threshold, factor, j);
        s[j] = f * p;
        dp[j] = p * (f * dp[j] - d);
    }
}

/* Processes the rows of a tile. p holds scores on entry and f p on return; ds holds dout v^T on entry and ds on
 * return. */
static void backward_rows(const struct nvdp__attention *att, const struct nvdp__tile *t,
                          const float *dout, const float *out, float *p, float *ds) {
    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    for (size_t i = 0; i < t->n_q; i++) {
        const float *bias = nvdp__row_bias(att, t, i);
        size_t at = i * att->out.stride;
        float d = head_dot(nvdp__head_dim(att), dout + at, out + at);
        float lse = *nvdp__row_lse(att, t, i);
        if (att->dropout.rate > 0)
            scores_backward_dropped_row(t->n_k, t->ld, bias, lse, d, nvdp__tile_key(att, t, i),
                                        threshold, nvdp__keep_scale(att), p + i * t->ld,
                                        ds + i * t->ld);
        else
            scores_backward_row(t->n_k, t->ld, bias, lse, d, p + i * t->ld, ds + i * t->ld);
    }
}

static void backward_tile(const struct nvdp__device *dev, const struct nvdp__attention *att,
                          const struct nvdp__tile *t, const struct nvdp__attention_gradient *d,
                          float *scratch) {
    size_t dim = nvdp__head_dim(att);
    size_t ldq = att->q.stride;
    size_t ldk = att->k.stride;
    size_t ldo = att->out.stride;
    const float *q = (const float *)att->q.data + t->q_at;
    const float *k = (const float *)att->k.data + t->k_at;
    const float *v = (const float *)att->v.data + t->k_at;
    const float *dout = (const float *)d->dout.data + t->out_at;
    float *p = scratch;
    float *ds = p + t->n_q * t->ld;
    float *spare = ds + t->n_q * t->ld;
    score_product(dev, t, att->scale, view(q, t->n_q, dim, ldq), view(k, t->n_k, dim, ldk), spare,
                  p);
    score_product(dev, t, 1, view(dout, t->n_q, dim, ldo), view(v, t->n_k, dim, ldk), spare, ds);
    backward_rows(att, t, dout, (const float *)att->out.data + t->out_at, p, ds);
    column_product(dev, t, dim, 1, p, dout, ldo, (float *)d->dv.data + t->k_at, ldk);
    row_product(dev, t, dim, att->scale, ds, k, ldk, (float *)d->dq.data + t->q_at, ldq);
    column_product(dev, t, dim, att->scale, ds, q, ldq, (float *)d->dk.data + t->k_at, ldk);
    for (size_t at = 0; d->dbias != NULL && at < t->n_k; at += NVDP__COLUMNS)
        nvdp__column_sums(t->n_q, t->ld, nvdp__min(t->n_k - at, NVDP__COLUMNS), ds + at,
                          d->dbias + t->first_k + at);
    double *sums = nvdp__relative_begin(att);
    if (sums == NULL) return;
    nvdp__relative_rows(att, t, 0, t->n_q, ds, sums);
    nvdp__relative_end(att, t, sums);
}

/* Processes all tiles; d is NULL in the forward pass. If dbias is computed, one thread processes all heads of a
 * text, because the heads share dbias and must add to it in order. */
static void for_tiles(const struct nvdp__device *dev, const struct nvdp__attention *att,
                      const struct nvdp__attention_gradient *d) {
    const bool bf16 = att->q.type == NVDP__BF16;
    size_t heads_per_job = d != NULL && d->dbias != NULL ? att->heads : 1;
    size_t jobs = att->groups * att->heads / heads_per_job;
#pragma omp parallel num_threads(dev->threads)
    {
        float *own = own_scratch(att);
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < jobs; i++)
            for (size_t j = i * heads_per_job; j < (i + 1) * heads_per_job; j++) {
                struct nvdp__tile t = head_tile(att, j / att->heads, j % att->heads);
                if (d == NULL && t.n_k == 0)
                    forward_without_keys(att, &t);
                else if (d == NULL)
                    (bf16 ? nvdp__attention_bf16_forward : forward_tile)(dev, att, &t, own);
                else
                    (bf16 ? nvdp__attention_bf16_backward : backward_tile)(dev, att, &t, d, own);
            }
    }
}

void nvdp__attend_forward(const struct nvdp__device *dev, const struct nvdp__attention *att) {
    for_tiles(dev, att, NULL);
}

void nvdp__attend_backward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                           const struct nvdp__attention_gradient *d) {
    for (int32_t j = att->k_offset[0]; d->dbias != NULL && j < att->k_offset[att->groups]; j++)
        d->dbias[j] = 0;
    for_tiles(dev, att, d);
}

/* ==== rotary positions ==== */

/* Rotary position embeddings (Su et al. 2021): a query at position m and a key at position n, each rotated by the
 * angles of its position, have a product that depends only on n - m.
 *
 *     angle(p, i) = p theta^(-2i/h),  0 <= i < h/2
 *     y_i         = x_i cos - x_(i+h/2) sin
 *     y_(i+h/2)   = x_(i+h/2) cos + x_i sin
 *
 * The gradient of a rotation is the inverse rotation. Frequencies and angles are rounded to float32, as in the
 * library transformers, with which the checkpoints were trained. bfloat16 vectors are rotated in float32. */

/* The loop over one head; READ and WRITE convert elements to floats and back. */
#define ROTATE_HEAD(name, type, READ, WRITE)                                                       \
    NVDP__CLONES                                                                                   \
    static void name(size_t half, float sign, const float *restrict cosine,                        \
                     const float *restrict sine, type *restrict x, type *restrict y) {             \
        for (size_t i = 0; i < half; i++) {                                                        \
            const float a = READ(x[i]), b = READ(y[i]), s = sign * sine[i];                        \
            x[i] = WRITE(a * cosine[i] - b * s);                                                   \
            y[i] = WRITE(b * cosine[i] + a * s);                                                   \
        }                                                                                          \
    }
ROTATE_HEAD(rotate_head, float, , )
ROTATE_HEAD(rotate_head_bf16, nvdp__bf16, nvdp__bfloat16_to_float, nvdp__bfloat16_from_float)

void nvdp__rotate(const struct nvdp__device *dev, enum nvdp__rotation rotation, size_t heads,
                  const int32_t *position, const float *cosine, const float *sine,
                  struct nvdp__tensor x) {
    const size_t half = x.cols / heads / 2;
    const float sign = (float)rotation;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, x.rows, x.cols)) schedule(static)
    for (size_t r = 0; r < x.rows; r++) {
        const size_t at = (size_t)position[r] * half;
        for (size_t h = 0; h < heads; h++) {
            const size_t from = r * x.stride + h * 2 * half;
            float *head = (float *)x.data + from;
            nvdp__bf16 *rounded = (nvdp__bf16 *)x.data + from;
            if (x.type == NVDP__F32)
                rotate_head(half, sign, cosine + at, sine + at, head, head + half);
            else
                rotate_head_bf16(half, sign, cosine + at, sine + at, rounded, rounded + half);
        }
    }
}

void nvdp__rotary_fill(size_t positions, size_t head_dim, double theta, float *cosine,
                       float *sine) {
    const size_t half = head_dim / 2;
    for (size_t i = 0; i < half; i++) {
        const float frequency =
            1.0f / (float)pow(theta, (double)((float)(2 * i) / (float)head_dim));
        for (size_t p = 0; p < positions; p++) {
            const double angle = (double)((float)p * frequency);
            cosine[p * half + i] = (float)cos(angle);
            sine[p * half + i] = (float)sin(angle);
        }
    }
}
