/* Elementwise operations: zero, copy, sums, activations, dropout. */
#include "tensor/kernels.h"

/* Computes y[0..n) from x (and u, or y itself) and the constant a; a kernel ignores arguments
 * that it does not need. Arguments may share memory, so kernels use `omp simd` instead of
 * restrict. */
typedef void kernel(size_t n, float a, const float *x, const float *u, float *y);

static void run(const struct nvdp__device *dev, kernel *call, size_t n, float a, const float *x,
                const float *u, float *y) {
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t i = 0; i < blocks; i++) {
        size_t at = i * NVDP__BLOCK;
        call(nvdp__block_length(n, NVDP__BLOCK, i), a, x + at, u + at, y + at);
    }
}

static void zero_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)a, (void)x, (void)u;
    memset(y, 0, n * sizeof *y);
}

static void copy_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)a, (void)u;
    memcpy(y, x, n * sizeof *y);
}

NVDP__CLONES
static void axpy_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)u;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] += a * x[i];
}

NVDP__CLONES
static void scale_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)x, (void)u;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] *= a;
}

NVDP__CLONES
static void multiply_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)a, (void)u;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] *= x[i];
}

void nvdp__zero(const struct nvdp__device *dev, size_t n, float *x) {
    run(dev, zero_block, n, 0, x, x, x);
}

void nvdp__copy(const struct nvdp__device *dev, size_t n, const float *x, float *y) {
    run(dev, copy_block, n, 0, x, x, y);
}

void nvdp__add(const struct nvdp__device *dev, size_t n, const float *x, float *y) {
    run(dev, axpy_block, n, 1, x, x, y);
}

void nvdp__scale(const struct nvdp__device *dev, size_t n, float a, float *x) {
    run(dev, scale_block, n, a, x, x, x);
}

void nvdp__multiply(const struct nvdp__device *dev, size_t n, const float *x, float *y) {
    run(dev, multiply_block, n, 0, x, x, y);
}

/* ---- activations ---- */

NVDP__CLONES
static void gelu_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)a, (void)u;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__gelu(x[i]);
}

NVDP__CLONES
static void gelu_slope_block(size_t n, float a, const float *x, const float *dy, float *dx) {
    (void)a;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float slope;
        nvdp__gelu_and_slope(x[i], &slope);
        dx[i] = dy[i] * slope;
    }
}

NVDP__CLONES
static void gelu_new_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)a, (void)u;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__gelu_new(x[i]);
}

NVDP__CLONES
static void gelu_new_slope_block(size_t n, float a, const float *x, const float *dy, float *dx) {
    (void)a;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float slope;
        nvdp__gelu_new_and_slope(x[i], &slope);
        dx[i] = dy[i] * slope;
    }
}

NVDP__CLONES
static void tanh_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)a, (void)u;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__fast_tanh(x[i]);
}

NVDP__CLONES
static void tanh_slope_block(size_t n, float a, const float *y, const float *dy, float *dx) {
    (void)a;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dx[i] = dy[i] * (1.0f - y[i] * y[i]);
}

NVDP__CLONES
static void relu_block(size_t n, float a, const float *x, const float *u, float *y) {
    (void)a, (void)u;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i]; /* NaN stays NaN */
}

/* The slope at 0 is 0, as in PyTorch. */
NVDP__CLONES
static void relu_slope_block(size_t n, float a, const float *y, const float *dy, float *dx) {
    (void)a;
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        dx[i] = y[i] > 0 ? dy[i] : 0;
}

NVDP__CLONES
static void gelu_bf16(size_t n, const nvdp__bf16 *x, float *restrict y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__gelu(nvdp__bfloat16_to_float(x[i]));
}

NVDP__CLONES
static void gelu_new_bf16(size_t n, const nvdp__bf16 *x, float *restrict y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__gelu_new(nvdp__bfloat16_to_float(x[i]));
}

/* In bfloat16, one pass computes both the slope and the value. */

NVDP__CLONES
static void gelu_bf16_backward(size_t n, const nvdp__bf16 *x, const nvdp__bf16 *dy,
                               float *restrict dx, float *restrict y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float slope;
        y[i] = nvdp__gelu_and_slope(nvdp__bfloat16_to_float(x[i]), &slope);
        dx[i] = nvdp__bfloat16_to_float(dy[i]) * slope;
    }
}

NVDP__CLONES
static void gelu_new_bf16_backward(size_t n, const nvdp__bf16 *x, const nvdp__bf16 *dy,
                                   float *restrict dx, float *restrict y) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float slope;
        y[i] = nvdp__gelu_new_and_slope(nvdp__bfloat16_to_float(x[i]), &slope);
        dx[i] = nvdp__bfloat16_to_float(dy[i]) * slope;
    }
}

void nvdp__activation_forward(const struct nvdp__device *dev, enum nvdp__act act,
                              struct nvdp__tensor x, struct nvdp__tensor y) {
    static kernel *const kernels[] = {[NVDP__ACT_GELU] = gelu_block,
                                      [NVDP__ACT_GELU_NEW] = gelu_new_block,
                                      [NVDP__ACT_TANH] = tanh_block,
                                      [NVDP__ACT_RELU] = relu_block};
    size_t n = x.rows * x.cols;
    if (x.type == NVDP__F32) {
        run(dev, kernels[act], n, 0, x.data, x.data, y.data);
        return;
    }
    const nvdp__bf16 *from = x.data;
    nvdp__bf16 *to = y.data;
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__BLOCK;
        size_t count = nvdp__block_length(n, NVDP__BLOCK, b);
        float value[NVDP__BLOCK];
        (act == NVDP__ACT_GELU_NEW ? gelu_new_bf16 : gelu_bf16)(count, from + at, value);
        nvdp__round_row(count, value, to + at);
    }
}

void nvdp__activation_backward(const struct nvdp__device *dev, enum nvdp__act act,
                               struct nvdp__tensor x, struct nvdp__tensor dy,
                               struct nvdp__tensor dx, struct nvdp__tensor y) {
    static kernel *const kernels[] = {[NVDP__ACT_GELU] = gelu_slope_block,
                                      [NVDP__ACT_GELU_NEW] = gelu_new_slope_block,
                                      [NVDP__ACT_TANH] = tanh_slope_block,
                                      [NVDP__ACT_RELU] = relu_slope_block};
    size_t n = x.rows * x.cols;
    if (x.type == NVDP__F32) {
        run(dev, kernels[act], n, 0, x.data, dy.data, dx.data);
        if (nvdp__is_tensor(y)) nvdp__activation_forward(dev, act, x, y);
        return;
    }
    const nvdp__bf16 *from = x.data;
    const nvdp__bf16 *gradient = dy.data;
    nvdp__bf16 *to = dx.data, *to_y = y.data;
    size_t blocks = nvdp__blocks(n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__BLOCK;
        size_t count = nvdp__block_length(n, NVDP__BLOCK, b);
        float product[NVDP__BLOCK], value[NVDP__BLOCK];
        (act == NVDP__ACT_GELU_NEW ? gelu_new_bf16_backward : gelu_bf16_backward)(
            count, from + at, gradient + at, product, value);
        nvdp__round_row(count, product, to + at);
        nvdp__round_row(count, value, to_y + at);
    }
}

/* ---- dropout ---- */

NVDP__CLONES
static void dropout_block(struct nvdp__dropout_key key, int32_t threshold, float scale,
                          uint32_t first, size_t n, float *x) {
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
        int32_t bits = nvdp__dropout_bits(key, first + j);
        x[j] = bits >= threshold ? x[j] * scale : 0.0f; /* a dropped NaN or inf becomes 0 too */
    }
}

int32_t nvdp__dropout_threshold(const struct nvdp__dropout *drop) {
    double threshold = (double)drop->rate * 2147483648.0 + 0.5;
    return threshold < 2147483647.0 ? (int32_t)threshold : INT32_MAX;
}

void nvdp__dropout_apply(const struct nvdp__device *dev, const struct nvdp__dropout *drop, size_t n,
                         float *x) {
    if (drop->rate <= 0) return;
    int32_t threshold = nvdp__dropout_threshold(drop);
    float scale = 1.0f / (1.0f - drop->rate);
    /* Blocks are those of the whole tensor, of which x is a part. */
    size_t block = drop->first / NVDP__BLOCK, before = drop->first % NVDP__BLOCK;
    size_t blocks = nvdp__blocks(before + n, NVDP__BLOCK);
    int team = nvdp__team(dev, n);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t skip = b == 0 ? before : 0, at = b * NVDP__BLOCK + skip - before;
        dropout_block(nvdp__dropout_key(drop, block + b), threshold, scale, (uint32_t)skip,
                      nvdp__block_length(before + n, NVDP__BLOCK, b) - skip, x + at);
    }
}
