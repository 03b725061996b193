/* Devices, arrays, comparisons and operations by device for the tensor tests. */
#include "tensor_test.h"

const struct nvdp__device test_devices[DEVICES] = {
    {.threads = 1}, {.threads = 2}, {.threads = 1, .unit = NVDP__BF16_PLAIN}};
const size_t test_sizes[SIZES] = {1, 7, 16, 17, 33, 200};

static uint64_t state = 1;

static void *keep(size_t bytes) {
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    cr_assert_not_null(memory);
    return support_keep(memory);
}

static double uniform(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

float *test_floats(size_t n, double scale) {
    float *x = keep(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((2 * uniform() - 1) * scale);
    return x;
}

float *test_zeros(size_t n) {
    return keep(n * sizeof(float));
}

float *test_copy(size_t n, const float *x) {
    float *y = keep(n * sizeof *y);
    memcpy(y, x, n * sizeof *y);
    return y;
}

double *test_widen(size_t n, const float *x) {
    if (x == NULL) return NULL;
    double *y = keep(n * sizeof *y);
    for (size_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

double *test_zeros64(size_t n) {
    return keep(n * sizeof(double));
}

int32_t *test_ints(size_t n, int32_t low, int32_t high) {
    int32_t *x = keep(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = low + (int32_t)(uniform() * (high - low));
    return x;
}

void test_close(const char *what, size_t n, const float *got, const double *want,
                double tolerance) {
    double largest = 1e-30;
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(want[i]));
    for (size_t i = 0; i < n; i++) {
        if ((double)got[i] == want[i]) continue; /* infinities too */
        cr_assert(fabs((double)got[i] - want[i]) <= tolerance * largest,
                  "%s: element %zu of %zu: expected %.9g, found %.9g (largest %.3g)", what, i, n,
                  want[i], (double)got[i], largest);
    }
}

void test_same(const char *what, size_t n, const float *a, const float *b) {
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(memcmp(a + i, b + i, sizeof *a), 0, "%s: element %zu of %zu: %.9g and %.9g",
                     what, i, n, (double)a[i], (double)b[i]);
}

struct ref_attention test_attention(size_t groups, const int32_t *q_offset, const int32_t *k_offset,
                                    size_t heads, size_t head_dim, size_t pad, float rate) {
    size_t width = heads * head_dim;
    return (struct ref_attention){.groups = groups,
                                  .heads = heads,
                                  .head_dim = head_dim,
                                  .scale = (float)(1 / sqrt((double)head_dim)),
                                  .q_offset = q_offset,
                                  .k_offset = k_offset,
                                  .q_stride = width + pad,
                                  .kv_stride = width + 2 * pad,
                                  .out_stride = width + 3 * pad,
                                  .dropout = {.rate = rate, .seed = 4, .step = 1, .site = 9}};
}

size_t test_longest(size_t groups, const int32_t *offset) {
    int32_t longest = 0;
    for (size_t g = 0; g < groups; g++)
        longest = offset[g + 1] - offset[g] > longest ? offset[g + 1] - offset[g] : longest;
    return (size_t)longest;
}

double test_dot(size_t n, const double *x, const double *y) {
    return ref64_dot(n, x, y);
}

/* ---- operations by device ---- */

/* A float32 device reads `unit` nowhere else, so the tests mark the plain one with it. */
bool test_is_plain(const struct nvdp__device *dev) {
    return dev->unit == NVDP__BF16_PLAIN && dev->bf16 == NULL;
}

static struct nvdp__tensor strided(size_t rows, size_t cols, size_t stride, const float *x) {
    struct nvdp__tensor t = nvdp__f32(rows, cols, x);
    t.stride = stride;
    return t;
}

void op_gemm(const struct nvdp__device *dev, bool trans_a, bool trans_b, size_t m, size_t n,
             size_t k, float alpha, const float *a, size_t lda, const float *b, size_t ldb,
             float beta, float *c, size_t ldc) {
    if (test_is_plain(dev))
        ref32_gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    else
        nvdp__gemm(dev, alpha,
                   (trans_a ? NVDP__TRANSPOSE_A : 0) | (trans_b ? NVDP__TRANSPOSE_B : 0),
                   strided(trans_a ? k : m, trans_a ? m : k, lda, a),
                   strided(trans_b ? n : k, trans_b ? k : n, ldb, b), beta, strided(m, n, ldc, c));
}

void op_linear_forward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                       const float *x, const float *w, const float *b, float *y) {
    struct nvdp__linear layer = {.in = in, .out = out, .w = w, .b = b};
    (test_is_plain(dev) ? plain_dense_forward : nvdp__dense_forward)(
        dev, &layer, nvdp__f32(rows, in, x), nvdp__f32(rows, out, y));
}

void op_linear_backward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                        const float *x, const float *w, const float *dy, float *dx, bool accumulate,
                        float *dw, float *db) {
    struct nvdp__linear layer = {.in = in, .out = out, .w = w, .dw = dw, .db = db};
    static const float unread;
    if (x == NULL) x = &unread; /* only the bias's gradient is wanted */
    (test_is_plain(dev) ? plain_dense_backward : nvdp__dense_backward)(
        dev, &layer, nvdp__f32(rows, in, x), nvdp__f32(rows, out, dy), nvdp__f32(rows, in, dx),
        accumulate);
}

void op_act_forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n, const float *x,
                    float *y) {
    (test_is_plain(dev) ? plain_activation_forward : nvdp__activation_forward)(
        dev, act, nvdp__f32(1, n, x), nvdp__f32(1, n, y));
}

void op_act_backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n, const float *x,
                     const float *dy, float *dx) {
    (test_is_plain(dev) ? plain_activation_backward : nvdp__activation_backward)(
        dev, act, nvdp__f32(1, n, x), nvdp__f32(1, n, dy), nvdp__f32(1, n, dx), NVDP__NO_TENSOR);
}

void op_norm_forward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                     struct nvdp__tensor x, struct nvdp__tensor residual, struct nvdp__tensor sum,
                     struct nvdp__tensor y, struct nvdp__tensor rounded) {
    (test_is_plain(dev) ? plain_norm_forward : nvdp__norm_forward)(dev, norm, x, residual, sum, y,
                                                                   rounded);
}

void op_norm_backward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                      struct nvdp__tensor sum, struct nvdp__tensor d, struct nvdp__tensor d_x) {
    (test_is_plain(dev) ? plain_norm_backward : nvdp__norm_backward)(dev, norm, sum, d, d_x);
}

void op_layernorm_forward(const struct nvdp__device *dev, size_t rows, size_t dim, float eps,
                          const float *x, const float *residual, const float *gamma,
                          const float *beta, float *sum, float *y, float *mean, float *rstd) {
    struct nvdp__norm norm = {.eps = eps, .gamma = gamma, .beta = beta, .mean = mean, .rstd = rstd};
    op_norm_forward(dev, &norm, nvdp__f32(rows, dim, x), nvdp__f32(rows, dim, residual),
                    nvdp__f32(rows, dim, residual != NULL ? sum : NULL), nvdp__f32(rows, dim, y),
                    NVDP__NO_TENSOR);
}

void op_layernorm_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                           const float *sum, const float *gamma, const float *mean,
                           const float *rstd, const float *dy, float *dx, float *dgamma,
                           float *dbeta) {
    struct nvdp__norm norm = {.gamma = gamma,
                              .dgamma = dgamma,
                              .dbeta = dbeta,
                              .mean = nvdp__f32(1, rows, mean).data,
                              .rstd = nvdp__f32(1, rows, rstd).data};
    if (dx != dy && rows > 0) memcpy(dx, dy, rows * dim * sizeof *dx);
    op_norm_backward(dev, &norm, nvdp__f32(rows, dim, sum), nvdp__f32(rows, dim, dx),
                     NVDP__NO_TENSOR);
}

void op_embed_forward(const struct nvdp__device *dev, const struct nvdp__embedding *tables,
                      struct nvdp__tensor y) {
    (test_is_plain(dev) ? plain_embed_forward : nvdp__embed_forward)(dev, tables, y);
}

void op_embed_backward(const struct nvdp__device *dev, const struct nvdp__embedding *gradients,
                       struct nvdp__tensor dy) {
    (test_is_plain(dev) ? plain_embed_backward : nvdp__embed_backward)(dev, gradients, dy);
}

void op_rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                         const int32_t *index, const float *y, float *x) {
    (test_is_plain(dev) ? plain_rows_scatter_add : nvdp__rows_scatter_add)(dev, rows, dim, index, y,
                                                                           x);
}

void op_pool_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                     const int32_t *offset, const float *weight, const float *x, float *y) {
    if (test_is_plain(dev))
        ref32_pool_forward(groups, dim, offset, weight, x, y);
    else
        nvdp__pool_forward(dev, groups, dim, offset, weight, x, y);
}

void op_pool_backward(const struct nvdp__device *dev, size_t groups, size_t dim,
                      const int32_t *offset, const float *weight, const float *x, const float *dy,
                      float *dx, float *dweight) {
    if (test_is_plain(dev))
        ref32_pool_backward(groups, dim, offset, weight, x, dy, dx, dweight);
    else
        nvdp__pool_backward(dev, groups, dim, offset, weight, x, dy, dx, dweight);
}

void op_dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                      float *x) {
    (test_is_plain(dev) ? plain_dropout_apply : nvdp__dropout_apply)(dev, drop, n, x);
}

size_t op_attention_scratch(const struct nvdp__device *dev, enum nvdp__type type, size_t longest_q,
                            size_t longest_k, size_t head_dim) {
    return nvdp__attend_scratch(dev, type, longest_q, longest_k, head_dim);
}

static struct nvdp__tensor of_type(enum nvdp__type type, size_t rows, size_t cols, size_t stride,
                                   const void *x) {
    struct nvdp__tensor t = strided(rows, cols, stride, x);
    t.type = type;
    return t;
}

static struct nvdp__attention attention_of(enum nvdp__type type, const struct ref_attention *att,
                                           const struct test_attention_data *x, float *scratch) {
    size_t width = att->heads * att->head_dim, queries = (size_t)att->q_offset[att->groups];
    size_t keys = (size_t)att->k_offset[att->groups];
    return (struct nvdp__attention){.groups = att->groups,
                                    .heads = att->heads,
                                    .scale = att->scale,
                                    .q_offset = att->q_offset,
                                    .k_offset = att->k_offset,
                                    .dropout = att->dropout,
                                    .q = of_type(type, queries, width, att->q_stride, x->q),
                                    .k = of_type(type, keys, width, att->kv_stride, x->k),
                                    .v = of_type(type, keys, width, att->kv_stride, x->v),
                                    .out = of_type(type, queries, width, att->out_stride, x->out),
                                    .bias = x->bias,
                                    .lse = x->lse,
                                    .scratch = scratch};
}

void op_attention_forward(const struct nvdp__device *dev, enum nvdp__type type,
                          const struct ref_attention *att, const struct test_attention_data *x,
                          float *scratch) {
    struct nvdp__attention a = attention_of(type, att, x, scratch);
    (test_is_plain(dev) ? plain_attend_forward : nvdp__attend_forward)(dev, &a);
}

void op_attention_backward(const struct nvdp__device *dev, enum nvdp__type type,
                           const struct ref_attention *att, const struct test_attention_data *x,
                           float *scratch) {
    struct nvdp__attention a = attention_of(type, att, x, scratch);
    const struct nvdp__attention_gradient d = {
        of_type(type, a.q.rows, a.q.cols, a.out.stride, x->dout),
        of_type(type, a.q.rows, a.q.cols, a.q.stride, x->dq),
        of_type(type, a.k.rows, a.k.cols, a.k.stride, x->dk),
        of_type(type, a.k.rows, a.k.cols, a.k.stride, x->dv), x->dbias};
    (test_is_plain(dev) ? plain_attend_backward : nvdp__attend_backward)(dev, &a, &d);
}

void op_softmax_loss(const struct nvdp__device *dev, size_t rows, size_t classes, float *logits,
                     size_t labels, const int32_t *label, double scale, double *nll,
                     int32_t *best) {
    (test_is_plain(dev) ? plain_softmax_loss : nvdp__softmax_loss)(dev, rows, classes, logits,
                                                                   labels, label, scale, nll, best);
}

void op_adamw_step(const struct nvdp__device *dev, const struct nvdp__adamw *opt, size_t n,
                   const float *g, const float *anchor, float *m, float *v, float *x) {
    if (test_is_plain(dev))
        ref32_adamw_step(opt, n, g, anchor, m, v, x);
    else
        support_adamw_step(dev, opt, n, g, anchor, m, v, x);
}
