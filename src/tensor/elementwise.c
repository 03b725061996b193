#include "tensor/ops.h"

#include "tensor/gelu.h"
#include "tensor/reference.h"
#include "tensor/vector.h"

/* y[0..n) from x (and u, or y itself) and the constant a; absent arguments are ignored.  Arguments
 * may be the same memory, hence `omp simd` in place of restrict. */
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

void nvdp__zero(const struct nvdp__device *dev, size_t n, float *x) {
    run(dev, zero_block, n, 0, x, x, x);
}

void nvdp__copy(const struct nvdp__device *dev, size_t n, const float *x, float *y) {
    run(dev, copy_block, n, 0, x, x, y);
}

void nvdp__add(const struct nvdp__device *dev, size_t n, const float *x, float *y) {
    run(dev, axpy_block, n, 1, x, x, y);
}

void nvdp__axpy(const struct nvdp__device *dev, size_t n, float a, const float *x, float *y) {
    run(dev, axpy_block, n, a, x, x, y);
}

void nvdp__scale(const struct nvdp__device *dev, size_t n, float a, float *x) {
    run(dev, scale_block, n, a, x, x, x);
}

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

void nvdp__act_forward(const struct nvdp__device *dev, enum nvdp__act act, size_t n, const float *x,
                       float *y) {
    if (dev->reference) {
        nvdp__ref_act_forward(act, n, x, y);
        return;
    }
    switch (act) {
    case NVDP__ACT_GELU:
        run(dev, gelu_block, n, 0, x, x, y);
        break;
    case NVDP__ACT_GELU_NEW:
        run(dev, gelu_new_block, n, 0, x, x, y);
        break;
    case NVDP__ACT_TANH:
        run(dev, tanh_block, n, 0, x, x, y);
        break;
    }
}

void nvdp__act_backward(const struct nvdp__device *dev, enum nvdp__act act, size_t n,
                        const float *x, const float *dy, float *dx) {
    if (dev->reference) {
        nvdp__ref_act_backward(act, n, x, dy, dx);
        return;
    }
    switch (act) {
    case NVDP__ACT_GELU:
        run(dev, gelu_slope_block, n, 0, x, dy, dx);
        break;
    case NVDP__ACT_GELU_NEW:
        run(dev, gelu_new_slope_block, n, 0, x, dy, dx);
        break;
    case NVDP__ACT_TANH:
        run(dev, tanh_slope_block, n, 0, x, dy, dx);
        break;
    }
}
