/* Dense layers in 8-bit integers (int8.h): quantizes weights and rows, and turns integer sums back into floats.
 * Start with forward_chunk(). */
#include "tensor/int8.h"

#include "base/array.h"
#include "tensor/kernels.h"
#include "tensor/vector.h"
#include <math.h>
#include <stdlib.h>

/* Rows per chunk; the int32 sums of a chunk stay in the cache until they are converted to floats. */
enum { CHUNK = 256, BUCKETS = 64 };

/* A quantized weight. */
struct quantized {
    struct quantized *next;
    struct nvdp__memory memory; /* owner of the arrays */
    const float *weight;
    uint64_t version;
    int8_t *q;    /* [out, in] quantized weight */
    float *scale; /* [out] scale of each output */
    float *sum;   /* [out] scale sum_k q */
};

/* The state that lanes share, protected by the lock of the products. */
struct shared {
    nvdp_status status;
    uint64_t version;
    struct quantized *weight[BUCKETS];
};

struct nvdp__int8 {
    struct nvdp_context *ctx;
    struct shared *shared;
    bool lane;
    struct nvdp__bf16_engine *products;
    uint8_t *u;    /* [CHUNK, widest in] quantized rows */
    int32_t *sums; /* [CHUNK, widest out] sums of products */
    size_t widest_u, widest_sums;
    float min[CHUNK], step[CHUNK];
};

/* Creates an engine; if parent is not NULL, creates a lane of `parent`. */
static nvdp_status create(struct nvdp_context *ctx, const struct nvdp__int8 *parent,
                          struct nvdp__int8 **out) {
    struct nvdp__int8 *int8 = nvdp__calloc(ctx, 1, sizeof *int8);
    if (int8 == NULL) return NVDP_ERR_MEMORY;
    int8->ctx = ctx;
    int8->lane = parent != NULL;
    int8->shared = int8->lane ? parent->shared : nvdp__calloc(ctx, 1, sizeof *int8->shared);
    nvdp_status status = NVDP__MADE(int8->shared);
    if (status == NVDP_OK)
        status = int8->lane ? nvdp__bf16_lane(parent->products, &int8->products)
                            : nvdp__int8_products(ctx, &int8->products);
    if (status == NVDP_OK) {
        if (!int8->lane) int8->shared->version = 1;
        *out = int8;
    } else {
        nvdp__int8_free(int8);
    }
    return status;
}

nvdp_status nvdp__int8_create(struct nvdp_context *ctx, struct nvdp__int8 **out) {
    const char *missing = nvdp__int8_missing();
    if (missing != NULL)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED, "precision int8: %s", missing);
    return create(ctx, NULL, out);
}

nvdp_status nvdp__int8_lane(const struct nvdp__int8 *int8, struct nvdp__int8 **out) {
    return create(int8->ctx, int8, out);
}

static void free_quantized(struct quantized *weight) {
    nvdp__memory_release(&weight->memory);
    free(weight);
}

void nvdp__int8_free(struct nvdp__int8 *int8) {
    if (int8 == NULL) return;
    struct shared *const own = int8->lane ? NULL : int8->shared;
    for (size_t i = 0; own != NULL && i < BUCKETS; i++)
        for (struct quantized *w = own->weight[i], *next; w != NULL; w = next) {
            next = w->next;
            free_quantized(w);
        }
    free(own);
    nvdp__bf16_free(int8->products);
    free(int8->u);
    free(int8->sums);
    free(int8);
}

nvdp_status nvdp__int8_status(const struct nvdp__int8 *int8) {
    nvdp_status status = int8->shared->status;
    return status != NVDP_OK ? status : nvdp__bf16_status(int8->products);
}

void nvdp__int8_weights_changed(struct nvdp__int8 *int8) {
    int8->shared->version++;
    nvdp__bf16_weights_changed(int8->products);
}

/* ---- weights ---- */

NVDP__CLONES
static void quantize_output(size_t n, const float *restrict w, int8_t *restrict q, float *scale,
                            float *sum) {
    int32_t largest = 0, total = 0; /* the bits of |w|, which have the same order as |w| */
    for (size_t i = 0; i < n; i++) {
        int32_t bits = (int32_t)(nvdp__float_bits(w[i]) & INT32_MAX);
        largest = bits > largest ? bits : largest;
    }
    float largest_weight = nvdp__bits_float((uint32_t)largest);
    float per_step = largest_weight > 0 ? 127 / largest_weight : 0;
    for (size_t i = 0; i < n; i++) {
        float t = w[i] * per_step;
        t = t > -127 ? t : -127; /* NaN becomes -127; the scale is then NaN */
        t = t < 127 ? t : 127;
        int32_t rounded = (int32_t)(t + copysignf(0.5f, t));
        q[i] = (int8_t)rounded;
        total += rounded;
    }
    *scale = largest_weight / 127;
    *sum = *scale * (float)total;
}

static struct quantized *make_weight(struct nvdp__int8 *int8, const struct nvdp__linear *layer) {
    struct quantized *made = nvdp__calloc(int8->ctx, 1, sizeof *made);
    if (made == NULL) return NULL;
    made->weight = layer->w;
    if (NVDP__ARRAYS(int8->ctx, &made->memory, NVDP__ITEMS(made->q, layer->out * layer->in),
                     NVDP__ITEMS(made->scale, layer->out),
                     NVDP__ITEMS(made->sum, layer->out)) == NVDP_OK)
        return made;
    free_quantized(made);
    return NULL;
}

/* Returns the quantized weight; NULL after a failure. The caller holds the lock. */
static const struct quantized *find_weight(const struct nvdp__device *dev,
                                           const struct nvdp__linear *layer) {
    struct shared *shared = dev->int8->shared;
    struct quantized **at = &shared->weight[((uintptr_t)layer->w >> 6) % BUCKETS];
    struct quantized *weight = *at;
    while (weight != NULL && weight->weight != layer->w)
        weight = weight->next;
    if (weight == NULL) {
        weight = make_weight(dev->int8, layer);
        if (weight == NULL) {
            shared->status = NVDP_ERR_MEMORY;
            return NULL;
        }
        weight->next = *at;
        *at = weight;
    }
    if (weight->version == shared->version) return weight;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, layer->in, layer->out)) schedule(static)
    for (size_t c = 0; c < layer->out; c++)
        quantize_output(layer->in, layer->w + c * layer->in, weight->q + c * layer->in,
                        &weight->scale[c], &weight->sum[c]);
    weight->version = shared->version;
    return weight;
}

/* ---- rows ---- */

NVDP__INLINE float element(bool bf16, const void *x, size_t i) {
    return bf16 ? nvdp__bfloat16_to_float(((const nvdp__bf16 *)x)[i]) : ((const float *)x)[i];
}

NVDP__INLINE void quantize(bool bf16, size_t n, const void *restrict x, uint8_t *restrict u,
                           float *min, float *step) {
    int32_t lowest = INT32_MAX, highest = INT32_MIN;
    for (size_t i = 0; i < n; i++) {
        int32_t key = nvdp__ordered_key(element(bf16, x, i));
        lowest = key < lowest ? key : lowest;
        highest = key > highest ? key : highest;
    }
    float low = nvdp__ordered_float(lowest);
    float range = nvdp__ordered_float(highest) - low;
    float per_step = range > 0 ? 255 / range : 0;
    for (size_t i = 0; i < n; i++) {
        float t = (element(bf16, x, i) - low) * per_step + 0.5f;
        t = t > 0 ? t : 0; /* NaN becomes 0; the step is then NaN */
        u[i] = (uint8_t)(int32_t)(t < 255 ? t : 255);
    }
    *min = low;
    *step = range / 255;
}

NVDP__CLONES
static void quantize_f32(size_t n, const float *x, uint8_t *u, float *min, float *step) {
    quantize(false, n, x, u, min, step);
}

NVDP__CLONES
static void quantize_bf16(size_t n, const nvdp__bf16 *x, uint8_t *u, float *min, float *step) {
    quantize(true, n, x, u, min, step);
}

/* y = scale step sums + min sum + b */
NVDP__CLONES
static void dequantize_f32(size_t n, const int32_t *restrict sums, const struct quantized *w,
                           const float *restrict b, float min, float step, float *restrict y) {
    const float *restrict scale = w->scale;
    const float *restrict sum = w->sum;
    for (size_t c = 0; c < n; c++)
        y[c] = (float)sums[c] * (scale[c] * step) + (min * sum[c] + (b != NULL ? b[c] : 0));
}

NVDP__CLONES
static void dequantize_bf16(size_t n, const int32_t *restrict sums, const struct quantized *w,
                            const float *restrict b, float min, float step,
                            nvdp__bf16 *restrict y) {
    const float *restrict scale = w->scale;
    const float *restrict sum = w->sum;
    for (size_t c = 0; c < n; c++)
        y[c] = nvdp__bfloat16_from_float((float)sums[c] * (scale[c] * step) +
                                         (min * sum[c] + (b != NULL ? b[c] : 0)));
}

/* ---- the layer ---- */

/* Grows the buffers to CHUNK rows of the widest layer so far. The caller holds the lock. */
static bool make_room(struct nvdp__int8 *int8, const struct nvdp__linear *layer) {
    if (layer->in > int8->widest_u) {
        free(int8->u);
        int8->u = nvdp__calloc(int8->ctx, CHUNK, layer->in);
        int8->widest_u = int8->u != NULL ? layer->in : 0;
    }
    if (layer->out > int8->widest_sums) {
        free(int8->sums);
        int8->sums = nvdp__calloc(int8->ctx, CHUNK, layer->out * sizeof *int8->sums);
        int8->widest_sums = int8->sums != NULL ? layer->out : 0;
    }
    if (int8->u == NULL || int8->sums == NULL) int8->shared->status = NVDP_ERR_MEMORY;
    return int8->shared->status == NVDP_OK;
}

/* Computes at most CHUNK rows. */
static void forward_chunk(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                          const struct quantized *weight, struct nvdp__tensor x,
                          struct nvdp__tensor y) {
    struct nvdp__int8 *int8 = dev->int8;
    size_t in = layer->in, out = layer->out;
    int team = nvdp__team(dev, x.rows * in);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < x.rows; r++) {
        uint8_t *u = int8->u + r * in;
        if (x.type == NVDP__BF16)
            quantize_bf16(in, (const nvdp__bf16 *)x.data + r * in, u, &int8->min[r],
                          &int8->step[r]);
        else
            quantize_f32(in, (const float *)x.data + r * in, u, &int8->min[r], &int8->step[r]);
    }
    nvdp__int8_product(int8->products, x.rows, in, out, int8->u, weight->q, int8->sums);
    team = nvdp__team(dev, x.rows * out);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < x.rows; r++) {
        const int32_t *sums = int8->sums + r * out;
        if (y.type == NVDP__BF16)
            dequantize_bf16(out, sums, weight, layer->b, int8->min[r], int8->step[r],
                            (nvdp__bf16 *)y.data + r * out);
        else
            dequantize_f32(out, sums, weight, layer->b, int8->min[r], int8->step[r],
                           (float *)y.data + r * out);
    }
}

void nvdp__int8_forward(const struct nvdp__device *dev, const struct nvdp__linear *layer,
                        struct nvdp__tensor x, struct nvdp__tensor y) {
    struct nvdp__bf16_engine *products = dev->int8->products;
    const struct quantized *weight = NULL;
    nvdp__bf16_lock(products);
    if (nvdp__int8_status(dev->int8) == NVDP_OK && make_room(dev->int8, layer))
        weight = find_weight(dev, layer);
    nvdp__bf16_unlock(products);
    if (weight == NULL) return;
    for (size_t r = 0; r < x.rows; r += CHUNK) {
        size_t rows = nvdp__min(x.rows - r, CHUNK);
        forward_chunk(dev, layer, weight, nvdp__row_slice(x, r, rows), nvdp__row_slice(y, r, rows));
    }
}

/* ==== products of small integers, for processors with VPMADDUBSW ==== */

/* VPMADDUBSW adds pairs of products in 16 bits. A lane of 32 bits is a row, so a step multiplies four numbers of
 * eight rows. The products of two steps are added in 16 bits, because 4 x 127 x 64 < 2^15, before they are widened.
 * The rows' numbers of four steps stay in registers during a loop over the points. */

enum {
    ROWS = NVDP__BYTE_ROWS,
    POINTS = NVDP__BYTE_POINTS,
    DEEP = NVDP__BYTE_DEEP,
    LANE = 4, /* numbers in a lane */
    HALF = 8  /* rows in a vector */
};

/* Packs rows as [chunks, steps, halves, rows, numbers]. */
void nvdp__byte_pack_rows(size_t n, size_t dim, const int8_t *q, int8_t *out) {
    memset(out, 0, ROWS * nvdp__blocks(dim, DEEP) * DEEP);
    for (size_t r = 0; r < n; r++)
        for (size_t k = 0; k < dim; k++)
            out[(k / LANE * ROWS + r) * LANE + k % LANE] = q[r * dim + k];
}

/* Packs points as [chunks, points, numbers]. */
void nvdp__byte_pack_points(size_t n, size_t dim, const uint8_t *u, uint8_t *out) {
    memset(out, 0, POINTS * nvdp__blocks(dim, DEEP) * DEEP);
    for (size_t p = 0; p < n; p++)
        for (size_t k = 0; k < dim; k++)
            out[(k / DEEP * POINTS + p) * DEEP + k % DEEP] = u[p * dim + k];
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

bool nvdp__byte_products(void) {
    return __builtin_cpu_supports("avx2") != 0;
}

AVX2 NVDP__INLINE __m256i four_numbers(const uint8_t *u) {
    int32_t numbers;
    memcpy(&numbers, u, sizeof numbers);
    return _mm256_set1_epi32(numbers);
}

AVX2 NVDP__INLINE __m256i products(const __m256i *x, const __m256i *w) {
    const __m256i even =
        _mm256_add_epi16(_mm256_maddubs_epi16(x[0], w[0]), _mm256_maddubs_epi16(x[2], w[4]));
    const __m256i odd =
        _mm256_add_epi16(_mm256_maddubs_epi16(x[1], w[2]), _mm256_maddubs_epi16(x[3], w[6]));
    const __m256i one = _mm256_set1_epi16(1);
    return _mm256_add_epi32(_mm256_madd_epi16(even, one), _mm256_madd_epi16(odd, one));
}

AVX2 static void multiply_block(size_t chunks, const int8_t *q, const uint8_t *u,
                                __m256i sum[POINTS][ROWS / HALF]) {
    for (size_t c = 0; c < chunks; c++, q += ROWS * DEEP) {
        __m256i w[2 * DEEP / LANE];
        memcpy(w, q, sizeof w);
        for (size_t p = 0; p < POINTS; p++, u += DEEP) {
            const __m256i x[DEEP / LANE] = {four_numbers(u), four_numbers(u + LANE),
                                            four_numbers(u + 2 * LANE), four_numbers(u + 3 * LANE)};
            sum[p][0] = _mm256_add_epi32(sum[p][0], products(x, w));
            sum[p][1] = _mm256_add_epi32(sum[p][1], products(x, w + 1));
        }
    }
}

AVX2 void nvdp__byte_product(size_t dim, size_t rows, const uint8_t *u, const int8_t *q,
                             int32_t *y) {
    const size_t chunks = nvdp__blocks(dim, DEEP);
    __m256i sum[POINTS][ROWS / HALF];
    for (size_t first = 0; first < rows; first += ROWS, q += ROWS * DEEP * chunks) {
        memset(sum, 0, sizeof sum);
        multiply_block(chunks, q, u, sum);
        for (size_t p = 0; p < POINTS; p++)
            memcpy(y + p * rows + first, sum[p], sizeof sum[p]);
    }
}

#else

bool nvdp__byte_products(void) {
    return false;
}

void nvdp__byte_product(size_t dim, size_t rows, const uint8_t *u, const int8_t *q, int32_t *y) {
    (void)dim, (void)rows, (void)u, (void)q, (void)y;
}

#endif
