/* Devices, views of tensors, conversion between types, the threads of the libraries that this
 * library calls, and the arena (tensor.h). */
#include "tensor/tensor.h"
#include "base/base.h"
#include "tensor/bf16.h"

#include "tensor/int8.h"
#include "tensor/kernels.h"
#include "tensor/ops.h"
#include <omp.h>
#include <stdlib.h>

const char *nvdp_precision_name(enum nvdp_precision precision) {
    switch (precision) {
    case NVDP_PRECISION_INT8:
        return "int8";
    case NVDP_PRECISION_BF16:
        return "bf16";
    default:
        return "f32";
    }
}

/* ---- device ---- */

struct nvdp__device nvdp__device_cpu(struct nvdp_context *ctx) {
    return (struct nvdp__device){.ctx = ctx, .threads = nvdp_context_threads(ctx)};
}

nvdp_status nvdp__device_create(struct nvdp_context *ctx, struct nvdp__device *dev) {
    *dev = nvdp__device_cpu(ctx);
    enum nvdp_precision precision = nvdp__context_precision(ctx);
    if (precision == NVDP_PRECISION_F32) return NVDP_OK;
    bool plain = nvdp__plain_bf16(ctx);
    const char *missing = nvdp__bf16_missing(plain);
    if (precision == NVDP_PRECISION_INT8) {
        NVDP_TRY(nvdp__int8_create(ctx, &dev->int8));
        if (missing != NULL) return NVDP_OK;
    } else if (missing != NULL) {
        nvdp__log(ctx, NVDP_LOG_NOTICE, "precision bf16: %s, so nvdp computes in f32", missing);
        return NVDP_OK;
    }
    dev->unit = plain                    ? NVDP__BF16_PLAIN
                : nvdp__bf16_has_tiles() ? NVDP__BF16_TILES
                                         : NVDP__BF16_VECTORS;
    nvdp_status status = nvdp__bf16_create(ctx, plain, &dev->bf16);
    if (status != NVDP_OK) nvdp__device_release(dev);
    return status;
}

nvdp_status nvdp__device_lane(const struct nvdp__device *dev, struct nvdp__device *lane) {
    nvdp_status status = NVDP_OK;
    *lane = (struct nvdp__device){.ctx = dev->ctx, .threads = 1, .unit = dev->unit};
    if (dev->bf16 != NULL) status = nvdp__bf16_lane(dev->bf16, &lane->bf16);
    if (status == NVDP_OK && dev->int8 != NULL) status = nvdp__int8_lane(dev->int8, &lane->int8);
    if (status != NVDP_OK) nvdp__device_release(lane);
    return status;
}

void nvdp__device_without_bf16(struct nvdp__device *dev) {
    nvdp__bf16_free(dev->bf16);
    dev->bf16 = NULL;
}

void nvdp__device_release(struct nvdp__device *dev) {
    nvdp__device_without_bf16(dev);
    nvdp__int8_free(dev->int8);
    dev->int8 = NULL;
}

enum nvdp_precision nvdp__device_precision(const struct nvdp__device *dev) {
    return dev->int8 != NULL   ? NVDP_PRECISION_INT8
           : dev->bf16 != NULL ? NVDP_PRECISION_BF16
                               : NVDP_PRECISION_F32;
}

void nvdp__weights_changed(const struct nvdp__device *dev) {
    if (dev->bf16 != NULL) nvdp__bf16_weights_changed(dev->bf16);
    if (dev->int8 != NULL) nvdp__int8_weights_changed(dev->int8);
}

nvdp_status nvdp__device_status(const struct nvdp__device *dev) {
    nvdp_status status = dev->int8 != NULL ? nvdp__int8_status(dev->int8) : NVDP_OK;
    return status == NVDP_OK && dev->bf16 != NULL ? nvdp__bf16_status(dev->bf16) : status;
}

void nvdp__upload(const struct nvdp__device *dev, size_t n, const float *host, float *tensor) {
    (void)dev;
    if (n > 0) memcpy(tensor, host, n * sizeof *tensor);
}

void nvdp__download(const struct nvdp__device *dev, size_t n, const float *tensor, float *host) {
    (void)dev;
    if (n > 0) memcpy(host, tensor, n * sizeof *host);
}

/* ---- tensors ---- */

bool nvdp__is_tensor(struct nvdp__tensor x) {
    return x.data != NULL;
}

struct nvdp__tensor nvdp__with_rows(struct nvdp__tensor x, size_t rows) {
    x.rows = rows;
    return x;
}

struct nvdp__tensor nvdp__f32(size_t rows, size_t cols, const float *data) {
    union {
        const void *read;
        void *given; /* operations do not write to inputs */
    } pointer = {.read = data};
    return (struct nvdp__tensor){NVDP__F32, rows, cols, cols, pointer.given};
}

static struct nvdp__tensor shifted(struct nvdp__tensor x, size_t elements) {
    size_t size = x.type == NVDP__BF16 ? sizeof(nvdp__bf16) : sizeof(float);
    if (x.data != NULL) x.data = (char *)x.data + elements * size;
    return x;
}

struct nvdp__tensor nvdp__row_slice(struct nvdp__tensor x, size_t first, size_t rows) {
    x.rows = rows;
    return shifted(x, first * x.stride);
}

struct nvdp__tensor nvdp__col_slice(struct nvdp__tensor x, size_t first, size_t cols) {
    x.cols = cols;
    return shifted(x, first);
}

size_t nvdp__padded_rows(const struct nvdp__device *dev, size_t rows) {
    return dev->bf16 != NULL ? nvdp__bf16_rows(rows) : rows;
}

NVDP__CLONES
static void round_block(size_t n, const float *restrict x, nvdp__bf16 *restrict y) {
    for (size_t i = 0; i < n; i++)
        y[i] = nvdp__bfloat16_from_float(x[i]);
}

#ifdef __x86_64__

#include <immintrin.h>

/* The instruction rounds as the function does, but treats subnormal numbers as 0. */
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) static void
round_vectors(size_t n, const float *x, nvdp__bf16 *y) {
    for (; n >= NVDP__LINE; n -= NVDP__LINE, x += NVDP__LINE, y += NVDP__LINE)
        _mm256_storeu_si256((__m256i_u *)y, (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(x)));
    __mmask16 rest = (__mmask16)((1U << n) - 1);
    __m512 last = _mm512_maskz_loadu_ps(rest, x);
    _mm256_mask_storeu_epi16(y, rest, (__m256i)_mm512_cvtneps_pbh(last));
}

void nvdp__round_row(size_t n, const float *x, nvdp__bf16 *y) {
    (__builtin_cpu_supports("avx512bf16") ? round_vectors : round_block)(n, x, y);
}

#else

void nvdp__round_row(size_t n, const float *x, nvdp__bf16 *y) {
    round_block(n, x, y);
}

#endif

void nvdp__convert(const struct nvdp__device *dev, struct nvdp__tensor x, struct nvdp__tensor y) {
    size_t n = x.rows * x.cols;
    if (x.data == y.data) return;
    if (x.type == y.type) {
        nvdp__copy(dev, n, x.data, y.data);
        return;
    }
    const float *from = x.data;
    nvdp__bf16 *to = y.data;
#pragma omp parallel for num_threads(nvdp__team(dev, n)) schedule(static)
    for (size_t at = 0; at < n; at += NVDP__BLOCK)
        nvdp__round_row(nvdp__min(n - at, NVDP__BLOCK), from + at, to + at);
}

/* ---- threads of the libraries that this library calls ---- */

int nvdp__threads_set(int threads) {
    int before = omp_get_max_threads();
    if (before != threads && !omp_in_parallel()) omp_set_num_threads(threads);
    return before;
}

void nvdp__threads_restore(int before) {
    if (before != omp_get_max_threads()) omp_set_num_threads(before);
}

/* ---- arena ---- */

enum { LINE = 16 }; /* floats in 64 bytes */

static size_t whole_lines(size_t n) {
    return (n + LINE - 1) / LINE * LINE;
}

float *nvdp__arena_take(struct nvdp__arena *arena, size_t n) {
    size_t start = arena->used;
    arena->used += whole_lines(n);
    bool fits = arena->used + arena->scratch[0] + arena->scratch[1] <= arena->capacity;
    return arena->base != NULL && fits ? arena->base + start : NULL;
}

void nvdp__arena_take_parts(struct nvdp__arena *arena, const struct nvdp__arena_part *part,
                            size_t parts) {
    for (size_t i = 0; i < parts; i++) {
        void *const taken = nvdp__arena_take(arena, part[i].items);
        memcpy(part[i].pointer, &taken, sizeof taken);
    }
}

static size_t tensor_floats(const struct nvdp__device *dev, enum nvdp__type type, size_t rows,
                            size_t cols) {
    size_t elements = nvdp__padded_rows(dev, rows) * cols;
    return type == NVDP__BF16 ? (elements + 1) / 2 : elements;
}

struct nvdp__tensor nvdp__arena_tensor(struct nvdp__arena *arena, const struct nvdp__device *dev,
                                       enum nvdp__type type, size_t rows, size_t cols) {
    return (struct nvdp__tensor){type, rows, cols, cols,
                                 nvdp__arena_take(arena, tensor_floats(dev, type, rows, cols))};
}

size_t nvdp__arena_floats(const struct nvdp__arena *arena) {
    return arena->used + arena->scratch[0] + arena->scratch[1];
}

/* The scratch memory lies after the tensors, because its size is known only after all tensors
 * were taken. */
nvdp_status nvdp__arena_allocate(struct nvdp_context *ctx, struct nvdp__arena *arena) {
    size_t floats = nvdp__arena_floats(arena);
    float *base = nvdp__calloc(ctx, floats, sizeof *base);
    if (base == NULL) return NVDP_ERR_MEMORY;
    arena->base = base;
    arena->capacity = floats;
    arena->used = 0;
    return NVDP_OK;
}

nvdp_status nvdp__arena_check(struct nvdp_context *ctx, const struct nvdp__arena *arena) {
    size_t floats = nvdp__arena_floats(arena);
    if (floats <= arena->capacity) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_STATE,
                      "internal error: a plan took %zu floats, but %zu were measured", floats,
                      arena->capacity);
}

void nvdp__arena_release(struct nvdp__arena *arena) {
    free(arena->base);
    *arena = (struct nvdp__arena){0};
}

void nvdp__dense_plan(const struct nvdp__device *dev, struct nvdp__arena *arena, size_t rows,
                      size_t in, size_t out) {
    if (dev->bf16 == NULL) return;
    const size_t wanted[] = {whole_lines(tensor_floats(dev, NVDP__BF16, rows, in)),
                             whole_lines(tensor_floats(dev, NVDP__BF16, rows, out))};
    for (size_t i = 0; i < 2; i++)
        if (arena->base == NULL && wanted[i] > arena->scratch[i]) arena->scratch[i] = wanted[i];
    if (arena->base == NULL) return;
    float *input = arena->base + arena->capacity - arena->scratch[0] - arena->scratch[1];
    nvdp__bf16_scratch(dev->bf16, (nvdp__bf16 *)(void *)input, 2 * arena->scratch[0],
                       (nvdp__bf16 *)(void *)(input + arena->scratch[0]), 2 * arena->scratch[1]);
}
