/* Attention (Vaswani et al. 2017) over packed texts, one tile of scores a (text, head):
 *   s_ij = scale q_i.k_j + bias_j,  p_ij = exp(s_ij - lse_i),  out_i = sum_j f_ij p_ij v_j
 * with f dropout's factors.  Only lse_i = log sum_j exp(s_ij) is kept; backward takes p from it
 * again: dp_ij = f_ij dout_i.v_j,  ds_ij = p_ij (dp_ij - D_i),  D_i = sum_j p_ij dp_ij =
 * dout_i.out_i dv_j = sum_i f_ij p_ij dout_i,  dq_i = scale sum_j ds_ij k_j,  dk_j = scale sum_i
 * ds_ij q_i Threads share out the tiles; a tile is the work of one thread, so nothing depends on
 * their number. */
#include "tensor/dropout.h"

#include "tensor/kernels.h"
#include "tensor/reference.h"
#include <omp.h>

/* One (text, head): n_q rows of q against n_k rows of k and v. */
struct tile {
    size_t first_q, n_q;
    size_t first_k, n_k;
    size_t head;
    size_t q_at, k_at, out_at; /* element offsets of the tile's corner */
};

static struct tile tile_of(const struct nvdp__attention *att, size_t group, size_t head) {
    struct tile t = {.first_q = (size_t)att->q_offset[group],
                     .first_k = (size_t)att->k_offset[group],
                     .head = head};
    t.n_q = (size_t)att->q_offset[group + 1] - t.first_q;
    t.n_k = (size_t)att->k_offset[group + 1] - t.first_k;
    t.q_at = t.first_q * att->q_stride + head * att->head_dim;
    t.k_at = t.first_k * att->kv_stride + head * att->head_dim;
    t.out_at = t.first_q * att->out_stride + head * att->head_dim;
    return t;
}

static size_t line_up(size_t n) {
    return (n + 15) / 16 * 16;
}

static size_t longest(size_t groups, const int32_t *offset) {
    int32_t most = 0;
    for (size_t g = 0; g < groups; g++)
        if (offset[g + 1] - offset[g] > most) most = offset[g + 1] - offset[g];
    return (size_t)most;
}

/* A thread's share: two tiles. */
static size_t thread_scratch(size_t longest_q, size_t longest_k) {
    return 2 * line_up(longest_q * longest_k);
}

size_t nvdp__attention_scratch(const struct nvdp__device *dev, size_t longest_q, size_t longest_k,
                               size_t head_dim) {
    (void)head_dim;
    return (size_t)dev->threads * thread_scratch(longest_q, longest_k);
}

NVDP__INLINE void add_bias(size_t n, const float *restrict bias, float *restrict s) {
    for (size_t j = 0; bias != NULL && j < n; j++)
        s[j] += bias[j];
}

/* The largest of s; NaN is passed over.  In lanes, because compilers keep the order of comparisons.
 */
NVDP__INLINE float row_max(size_t n, const float *s) {
    enum { LANES = 16 };
    float lane[LANES];
    for (size_t l = 0; l < LANES; l++)
        lane[l] = -INFINITY;
    size_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] = s[j + l] > lane[l] ? s[j + l] : lane[l];
    for (; j < n; j++)
        lane[0] = s[j] > lane[0] ? s[j] : lane[0];
    for (size_t l = 1; l < LANES; l++)
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

/* s -> exp(s + bias - highest); returns log-sum-exp, and 1/sum in *inverse. */
NVDP__CLONES
static float softmax_row(size_t n, const float *restrict bias, float *restrict s, float *inverse) {
    add_bias(n, bias, s);
    float highest = row_max(n, s);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < n; j++) {
        float e = nvdp__fast_exp(s[j] - highest);
        s[j] = e;
        sum += (double)e;
    }
    *inverse = (float)(1 / sum);
    return (float)((double)highest + log(sum));
}

NVDP__CLONES
static void scale_row(size_t n, float a, float *p) {
    for (size_t j = 0; j < n; j++)
        p[j] *= a;
}

NVDP__CLONES
static void scale_dropped_row(size_t n, float a, struct nvdp__dropout_key key, int32_t threshold,
                              float factor, float *p) {
    for (uint32_t j = 0; j < (uint32_t)n; j++)
        p[j] *= a * nvdp__dropout_factor(key, threshold, factor, j);
}

static struct nvdp__dropout_key row_key(const struct nvdp__attention *att, const struct tile *t,
                                        size_t i) {
    return nvdp__dropout_key(&att->dropout, (t->first_q + i) * att->heads + t->head);
}

static float keep_scale(const struct nvdp__attention *att) {
    return 1.0f / (1.0f - att->dropout.rate);
}

static void zero_rows(size_t rows, size_t count, size_t stride, float *x) {
    for (size_t r = 0; r < rows; r++)
        memset(x + r * stride, 0, count * sizeof *x);
}

static void forward_tile(const struct nvdp__device *dev, const struct nvdp__attention *att,
                         const struct tile *t, const float *q, const float *k, const float *v,
                         const float *bias, float *out, float *lse, float *scores) {
    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    nvdp__gemm(dev, false, true, t->n_q, t->n_k, att->head_dim, att->scale, q + t->q_at,
               att->q_stride, k + t->k_at, att->kv_stride, 0, scores, t->n_k);
    for (size_t i = 0; i < t->n_q; i++) {
        float *row = scores + i * t->n_k;
        float inverse;
        lse[(t->first_q + i) * att->heads + t->head] =
            softmax_row(t->n_k, bias != NULL ? bias + t->first_k : NULL, row, &inverse);
        if (att->dropout.rate > 0)
            scale_dropped_row(t->n_k, inverse, row_key(att, t, i), threshold, keep_scale(att), row);
        else
            scale_row(t->n_k, inverse, row);
    }
    nvdp__gemm(dev, false, false, t->n_q, att->head_dim, t->n_k, 1, scores, t->n_k, v + t->k_at,
               att->kv_stride, 0, out + t->out_at, att->out_stride);
}

void nvdp__attention_forward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                             const float *q, const float *k, const float *v, const float *bias,
                             float *out, float *lse, float *scratch) {
    if (dev->reference) {
        nvdp__ref_attention_forward(att, q, k, v, bias, out, lse);
        return;
    }
    size_t tiles = att->groups * att->heads;
    size_t share =
        thread_scratch(longest(att->groups, att->q_offset), longest(att->groups, att->k_offset));
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic)
    for (size_t i = 0; i < tiles; i++) {
        struct tile t = tile_of(att, i / att->heads, i % att->heads);
        forward_tile(dev, att, &t, q, k, v, bias, out, lse,
                     scratch + (size_t)omp_get_thread_num() * share);
    }
}

NVDP__CLONES
static float head_dot(size_t n, const float *restrict x, const float *restrict y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += (double)(x[i] * y[i]);
    return (float)sum;
}

/* s -> p, dp (before dropout) -> ds. */
NVDP__CLONES
static void scores_backward_row(size_t n, const float *restrict bias, float lse, float d,
                                float *restrict s, float *restrict dp) {
    add_bias(n, bias, s);
    for (size_t j = 0; j < n; j++) {
        float p = nvdp__fast_exp(s[j] - lse);
        s[j] = p;
        dp[j] = p * (dp[j] - d);
    }
}

/* s -> f p, dp (before dropout) -> ds. */
NVDP__CLONES
static void scores_backward_dropped_row(size_t n, const float *restrict bias, float lse, float d,
                                        struct nvdp__dropout_key key, int32_t threshold,
                                        float factor, float *restrict s, float *restrict dp) {
    add_bias(n, bias, s);
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
        float p = nvdp__fast_exp(s[j] - lse);
        float f = nvdp__dropout_factor(key, threshold, factor, j);
        s[j] = f * p;
        dp[j] = p * (f * dp[j] - d);
    }
}

struct backward {
    const float *q, *k, *v, *bias, *out, *lse, *dout;
    float *dq, *dk, *dv, *dbias;
};

static void backward_rows(const struct nvdp__attention *att, const struct tile *t,
                          const struct backward *b, float *p, float *ds) {
    int32_t threshold = nvdp__dropout_threshold(&att->dropout);
    const float *bias = b->bias != NULL ? b->bias + t->first_k : NULL;
    for (size_t i = 0; i < t->n_q; i++) {
        size_t at = t->out_at + i * att->out_stride;
        float d = head_dot(att->head_dim, b->dout + at, b->out + at);
        float lse = b->lse[(t->first_q + i) * att->heads + t->head];
        if (att->dropout.rate > 0)
            scores_backward_dropped_row(t->n_k, bias, lse, d, row_key(att, t, i), threshold,
                                        keep_scale(att), p + i * t->n_k, ds + i * t->n_k);
        else
            scores_backward_row(t->n_k, bias, lse, d, p + i * t->n_k, ds + i * t->n_k);
    }
}

static void backward_tile(const struct nvdp__device *dev, const struct nvdp__attention *att,
                          const struct tile *t, const struct backward *b, float *scratch) {
    size_t n_q = t->n_q;
    size_t n_k = t->n_k;
    size_t dim = att->head_dim;
    float *p = scratch;
    float *ds = scratch + line_up(n_q * n_k);
    nvdp__gemm(dev, false, true, n_q, n_k, dim, att->scale, b->q + t->q_at, att->q_stride,
               b->k + t->k_at, att->kv_stride, 0, p, n_k);
    nvdp__gemm(dev, false, true, n_q, n_k, dim, 1, b->dout + t->out_at, att->out_stride,
               b->v + t->k_at, att->kv_stride, 0, ds, n_k);
    backward_rows(att, t, b, p, ds);
    nvdp__gemm(dev, true, false, n_k, dim, n_q, 1, p, n_k, b->dout + t->out_at, att->out_stride, 0,
               b->dv + t->k_at, att->kv_stride);
    nvdp__gemm(dev, false, false, n_q, dim, n_k, att->scale, ds, n_k, b->k + t->k_at,
               att->kv_stride, 0, b->dq + t->q_at, att->q_stride);
    nvdp__gemm(dev, true, false, n_k, dim, n_q, att->scale, ds, n_k, b->q + t->q_at, att->q_stride,
               0, b->dk + t->k_at, att->kv_stride);
    for (size_t at = 0; b->dbias != NULL && at < n_k; at += NVDP__COLUMNS)
        nvdp__column_sums(n_q, n_k, n_k - at < NVDP__COLUMNS ? n_k - at : NVDP__COLUMNS, ds + at,
                          b->dbias + t->first_k + at);
}

/* Where dbias is wanted, the heads of a text, which share it, are one thread's work and add up in
 * order. */
void nvdp__attention_backward(const struct nvdp__device *dev, const struct nvdp__attention *att,
                              const float *q, const float *k, const float *v, const float *bias,
                              const float *out, const float *lse, const float *dout, float *dq,
                              float *dk, float *dv, float *dbias, float *scratch) {
    if (dev->reference) {
        nvdp__ref_attention_backward(att, q, k, v, bias, out, lse, dout, dq, dk, dv, dbias);
        return;
    }
    struct backward b = {q, k, v, bias, out, lse, dout, dq, dk, dv, dbias};
    size_t together = dbias != NULL ? att->heads : 1;
    size_t jobs = att->groups * att->heads / together;
    size_t share =
        thread_scratch(longest(att->groups, att->q_offset), longest(att->groups, att->k_offset));
    if (dbias != NULL)
        zero_rows(1, (size_t)(att->k_offset[att->groups] - att->k_offset[0]), 0,
                  dbias + att->k_offset[0]);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic)
    for (size_t i = 0; i < jobs; i++) {
        for (size_t j = i * together; j < (i + 1) * together; j++) {
            struct tile t = tile_of(att, j / att->heads, j % att->heads);
            backward_tile(dev, att, &t, &b, scratch + (size_t)omp_get_thread_num() * share);
        }
    }
}
