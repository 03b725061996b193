/* Elementwise operations: zero, copy, sums, activations, dropout, gates. */
#include "tensor/kernels.h"

/* Computes y[0..n) from x (and u, or y itself) and the constant a; each kernel ignores arguments
 * that it does not need. Arguments may share memory, so kernels use `omp simd` instead of
 * restrict. */
typedef void kernel(size_t n, float a, const float *x, const float *u, float *y);

static void run(const struct nvdp__device *dev, kernel *call, size_t n, float a, const float *x,
                const float *u, float *y) {
#pragma omp parallel for num_threads(nvdp__team(dev, n)) schedule(static)
    for (size_t at = 0; at < n; at += NVDP__BLOCK) {
        call(nvdp__min(n - at, NVDP__BLOCK), a, x + at, u + at, y + at);
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

void nvdp__scale(const struct nvdp__device *dev, size_t n, float a, float *x) {
    run(dev, scale_block, n, a, x, x, x);
}

/* ---- activations ---- */

/* Defines the kernels of an activation from nvdp__NAME and nvdp__NAME_and_slope. In bfloat16,
 * and with a gate, one pass computes both the slope and the value. */
#define KERNELS(NAME, name)                                                                        \
    NVDP__CLONES                                                                                   \
    static void name##_block(size_t n, float a, const float *x, const float *u, float *y) {        \
        (void)a, (void)u;                                                                          \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) y[i] = nvdp__##name(x[i]);              \
    }                                                                                              \
    NVDP__CLONES                                                                                   \
    static void name##_slope_block(size_t n, float a, const float *x, const float *dy,             \
                                   float *dx) {                                                    \
        (void)a;                                                                                   \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                       \
            float slope;                                                                           \
            nvdp__##name##_and_slope(x[i], &slope);                                                \
            dx[i] = dy[i] * slope;                                                                 \
        }                                                                                          \
    }                                                                                              \
    NVDP__CLONES                                                                                   \
    static void name##_bf16(size_t n, const nvdp__bf16 *x, float *restrict y) {                    \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) y[i] =                                  \
            nvdp__##name(nvdp__bfloat16_to_float(x[i]));                                           \
    }                                                                                              \
    NVDP__CLONES                                                                                   \
    static void name##_bf16_backward(size_t n, const nvdp__bf16 *x, const nvdp__bf16 *dy,          \
                                     float *restrict dx, float *restrict y) {                      \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                       \
            float slope;                                                                           \
            y[i] = nvdp__##name##_and_slope(nvdp__bfloat16_to_float(x[i]), &slope);                \
            dx[i] = nvdp__bfloat16_to_float(dy[i]) * slope;                                        \
        }                                                                                          \
    }                                                                                              \
    NVDP__CLONES                                                                                   \
    static void name##_gated(size_t n, const float *restrict x, const float *restrict gate,        \
                             float *restrict y) {                                                  \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) y[i] = nvdp__##name(x[i]) * gate[i];    \
    }                                                                                              \
    NVDP__CLONES                                                                                   \
    static void name##_gated_backward(size_t n, float *restrict x, float *restrict gate,           \
                                      const float *restrict dy, float *restrict y) {               \
        _Pragma("omp simd") for (size_t i = 0; i < n; i++) {                                       \
            float slope, value = nvdp__##name##_and_slope(x[i], &slope);                           \
            y[i] = value * gate[i];                                                                \
            x[i] = dy[i] * gate[i] * slope;                                                        \
            gate[i] = dy[i] * value;                                                               \
        }                                                                                          \
    }
NVDP__ACTIVATIONS(KERNELS)

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

static const struct {
    kernel *forward, *backward;
    void (*forward_bf16)(size_t n, const nvdp__bf16 *x, float *restrict y);
    void (*backward_bf16)(size_t n, const nvdp__bf16 *x, const nvdp__bf16 *dy, float *restrict dx,
                          float *restrict y);
    void (*gated)(size_t n, const float *restrict x, const float *restrict gate, float *restrict y);
    /* replaces x and gate by their gradients */
    void (*gated_backward)(size_t n, float *restrict x, float *restrict gate,
                           const float *restrict dy, float *restrict y);
} activations[] = {
#define ROW(NAME, name)                                                                            \
    [NVDP__ACT_##NAME] = {name##_block,         name##_slope_block, name##_bf16,                   \
                          name##_bf16_backward, name##_gated,       name##_gated_backward},
    NVDP__ACTIVATIONS(ROW)
#undef ROW
        [NVDP__ACT_TANH] = {tanh_block, tanh_slope_block, NULL, NULL, NULL, NULL}};

void nvdp__activation_forward(const struct nvdp__device *dev, enum nvdp__act act,
                              struct nvdp__tensor x, struct nvdp__tensor y) {
    size_t n = x.rows * x.cols;
    if (x.type == NVDP__F32) {
        run(dev, activations[act].forward, n, 0, x.data, x.data, y.data);
        return;
    }
    const nvdp__bf16 *from = x.data;
    nvdp__bf16 *to = y.data;
#pragma omp parallel for num_threads(nvdp__team(dev, n)) schedule(static)
    for (size_t at = 0; at < n; at += NVDP__BLOCK) {
        size_t count = nvdp__min(n - at, NVDP__BLOCK);
        float value[NVDP__BLOCK];
        activations[act].forward_bf16(count, from + at, value);
        nvdp__round_row(count, value, to + at);
    }
}

void nvdp__activation_backward(const struct nvdp__device *dev, enum nvdp__act act,
                               struct nvdp__tensor x, struct nvdp__tensor dy,
                               struct nvdp__tensor dx, struct nvdp__tensor y) {
    size_t n = x.rows * x.cols;
    if (x.type == NVDP__F32) {
        run(dev, activations[act].backward, n, 0, x.data, dy.data, dx.data);
        if (nvdp__is_tensor(y)) nvdp__activation_forward(dev, act, x, y);
        return;
    }
    const nvdp__bf16 *from = x.data;
    const nvdp__bf16 *gradient = dy.data;
    nvdp__bf16 *to = dx.data, *to_y = y.data;
#pragma omp parallel for num_threads(nvdp__team(dev, n)) schedule(static)
    for (size_t at = 0; at < n; at += NVDP__BLOCK) {
        size_t count = nvdp__min(n - at, NVDP__BLOCK);
        float product[NVDP__BLOCK], value[NVDP__BLOCK];
        activations[act].backward_bf16(count, from + at, gradient + at, product, value);
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
        /* a dropped NaN or infinity also becomes 0 */
        x[j] = bits >= threshold ? x[j] * scale : 0.0f;
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
    /* Blocks are counted in the whole tensor, of which x is a part. */
    size_t block = drop->first / NVDP__BLOCK, before = drop->first % NVDP__BLOCK;
#pragma omp parallel for num_threads(nvdp__team(dev, n)) schedule(static)
    for (size_t b = 0; b < nvdp__blocks(before + n, NVDP__BLOCK); b++) {
        size_t skip = b == 0 ? before : 0, at = b * NVDP__BLOCK + skip - before;
        dropout_block(nvdp__dropout_key(drop, block + b), threshold, scale, (uint32_t)skip,
                      nvdp__block_length(before + n, NVDP__BLOCK, b) - skip, x + at);
    }
}

/* ---- gated inner layers ---- */

/* Number of columns of a row that are computed together, in float32. */
enum { COLUMNS = 512 };

/* Reads the columns [at, at + n) of row r, in float32. */
static void read_columns(struct nvdp__tensor x, size_t r, size_t at, size_t n, float *to) {
    const size_t first = r * x.stride + at;
    if (x.type == NVDP__F32)
        memcpy(to, (const float *)x.data + first, n * sizeof *to);
    else
        for (size_t i = 0; i < n; i++)
            to[i] = nvdp__bfloat16_to_float(((const nvdp__bf16 *)x.data)[first + i]);
}

static void write_columns(struct nvdp__tensor x, size_t r, size_t at, size_t n, const float *from) {
    const size_t first = r * x.stride + at;
    if (x.type == NVDP__F32)
        memcpy((float *)x.data + first, from, n * sizeof *from);
    else
        nvdp__round_row(n, from, (nvdp__bf16 *)x.data + first);
}

static void drop_columns(const struct nvdp__dropout *drop, size_t r, size_t at, size_t n,
                         float *x) {
    if (drop->rate > 0)
        dropout_block(nvdp__dropout_key(drop, drop->first + r), nvdp__dropout_threshold(drop),
                      1.0f / (1.0f - drop->rate), (uint32_t)at, n, x);
}

void nvdp__gated_forward(const struct nvdp__device *dev, enum nvdp__act act,
                         const struct nvdp__dropout *drop, struct nvdp__tensor x,
                         struct nvdp__tensor y) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, x.rows, x.cols)) schedule(static)
    for (size_t r = 0; r < y.rows; r++)
        for (size_t at = 0; at < y.cols; at += COLUMNS) {
            const size_t n = nvdp__min(y.cols - at, COLUMNS);
            float inner[COLUMNS], gate[COLUMNS], out[COLUMNS];
            read_columns(x, r, at, n, inner);
            read_columns(x, r, y.cols + at, n, gate);
            activations[act].gated(n, inner, gate, out);
            drop_columns(drop, r, at, n, out);
            write_columns(y, r, at, n, out);
        }
}

void nvdp__gated_backward(const struct nvdp__device *dev, enum nvdp__act act,
                          const struct nvdp__dropout *drop, struct nvdp__tensor x,
                          struct nvdp__tensor dy, struct nvdp__tensor dx, struct nvdp__tensor y) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, x.rows, x.cols)) schedule(static)
    for (size_t r = 0; r < y.rows; r++)
        for (size_t at = 0; at < y.cols; at += COLUMNS) {
            const size_t n = nvdp__min(y.cols - at, COLUMNS);
            float inner[COLUMNS], gate[COLUMNS], d[COLUMNS], out[COLUMNS];
            read_columns(x, r, at, n, inner);
            read_columns(x, r, y.cols + at, n, gate);
            read_columns(dy, r, at, n, d);
            drop_columns(drop, r, at, n, d);
            activations[act].gated_backward(n, inner, gate, d, out);
            drop_columns(drop, r, at, n, out);
            write_columns(dx, r, at, n, inner);
            write_columns(dx, r, y.cols + at, n, gate);
            write_columns(y, r, at, n, out);
        }
}
