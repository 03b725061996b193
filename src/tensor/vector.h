/* Vectorized row kernels: the clones macro, fixed blocks, and fast elementary functions.
 *
 * A kernel is a small static function marked NVDP__CLONES: the compiler makes one version per instruction set, and
 * the loader chooses. Parallel loops call kernels but are not kernels themselves: the body of a parallel region is a
 * separate function, which the attribute does not reach. Kernels have distinct names across files although they are
 * static, because clang 14 makes the functions that choose a version visible to all files. */
#ifndef NVDP_SRC_TENSOR_VECTOR_H
#define NVDP_SRC_TENSOR_VECTOR_H

#include "tensor/tensor.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* gcc selects arch=x86-64-v* by the features of the processor; arch=haswell would only match this one processor.
 * clang supports only single features. */
#if defined NVDP_SANITIZED || !defined __x86_64__
#define NVDP__CLONES
#elif defined __clang__ && __clang_major__ >= 14
#define NVDP__CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#elif !defined __clang__ && __GNUC__ >= 12
#define NVDP__CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define NVDP__CLONES
#endif

#define NVDP__INLINE static inline __attribute__((always_inline))

/* Loops are split into blocks whose size does not depend on the number of threads, so the rounding does not depend
 * on that number either. */
enum { NVDP__BLOCK = 4096 };
/* Number of columns in a few cache lines: the unit of column-wise sums. */
enum { NVDP__COLUMNS = 64 };
/* Min number of elementary operations from which it pays to start threads. */
enum { NVDP__PARALLEL_MIN = 32768 };

/* Returns the number of threads, for `num_threads`, of a loop with this number of elementary operations. An `if`
 * clause is no alternative: clang's runtime would keep the number for the next parallel region, even for a region of
 * BLAS. */
NVDP__INLINE int nvdp__team(const struct nvdp__device *dev, size_t work) {
    return work < NVDP__PARALLEL_MIN ? 1 : dev->threads;
}

/* Returns this number for a loop with `cols` operations per row. */
NVDP__INLINE int nvdp__matrix_team(const struct nvdp__device *dev, size_t rows, size_t cols) {
    return nvdp__team(dev, rows * cols);
}

NVDP__INLINE size_t nvdp__blocks(size_t n, size_t block) {
    return n / block + (n % block != 0);
}

NVDP__INLINE size_t nvdp__block_length(size_t n, size_t block, size_t i) {
    return n - i * block < block ? n - i * block : block;
}

NVDP__INLINE uint32_t nvdp__float_bits(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

NVDP__INLINE float nvdp__bits_float(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Number of floats in 64 bytes. */
enum { NVDP__LINE = 16 };

/* Rows of scores are processed in whole vectors, up to a stride that is a multiple of 16. Scores past n_k are -inf,
 * so that their probability is 0. */
NVDP__INLINE size_t nvdp__whole_lines(size_t ld) {
    /* returns ld, written so that the compiler knows that it is a multiple */
    return ld / NVDP__LINE * NVDP__LINE;
}

/* Maps floats to integers of the same order (NaN outermost) and back. Compilers vectorize only minima and maxima of
 * integers, because the order of integer operations does not matter. */
NVDP__INLINE int32_t nvdp__ordered_bits(int32_t bits) {
    return bits ^ ((bits >> 31) & INT32_MAX);
}

NVDP__INLINE int32_t nvdp__ordered_key(float x) {
    return nvdp__ordered_bits((int32_t)nvdp__float_bits(x));
}

NVDP__INLINE float nvdp__ordered_float(int32_t key) {
    return nvdp__bits_float((uint32_t)nvdp__ordered_bits(key));
}

NVDP__INLINE float nvdp__row_max(size_t ld, const float *s) {
    int32_t highest = INT32_MIN;
    for (size_t j = 0; j < ld; j++) {
        int32_t key = nvdp__ordered_key(s[j]);
        highest = key > highest ? key : highest;
    }
    return nvdp__ordered_float(highest);
}

NVDP__INLINE void nvdp__fold_lanes(size_t half, float *lane) {
    for (size_t l = 0; l < half; l++)
        lane[l] += lane[l + half];
}

/* Adds the lanes of a sum in halves. The compiler would add the lanes one after the other, because it may not
 * reorder a sum of floats. */
NVDP__INLINE float nvdp__lanes_sum(float lane[NVDP__LINE]) {
    nvdp__fold_lanes(8, lane);
    nvdp__fold_lanes(4, lane);
    nvdp__fold_lanes(2, lane);
    nvdp__fold_lanes(1, lane);
    return lane[0];
}

/* Splits x = n ln 2 + r with |r| <= ln(2)/2; returns n. */
NVDP__INLINE uint32_t nvdp__exp_parts(float x, float *r) {
    const float round = 12582912.0f; /* 1.5 * 2^23: adding this number rounds to an integer */
    float shifted = x * 1.44269504f + round;
    float whole = shifted - round;
    *r = x - whole * 0.693359375f;
    *r = *r - whole * -2.12194440e-4f;
    return nvdp__float_bits(shifted) - nvdp__float_bits(round);
}

/* Returns exp(r) by a polynomial (Cephes). */
NVDP__INLINE float nvdp__exp_of_part(float r) {
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r + 1.0f;
}

/* Returns exp(x) with a relative error below 2e-7 for normal results. Subnormal results are rounded to their grid;
 * the results are 0 and inf at the ends; NaN stays NaN. 2^n is applied in two factors, so that neither end leaves
 * the exponent's range too early. */
NVDP__INLINE float nvdp__fast_exp(float x) {
    x = x > 89.0f ? 89.0f : x; /* comparisons written so that NaN passes through */
    x = x < -104.0f ? -104.0f : x;
    float r;
    uint32_t n = nvdp__exp_parts(x, &r);
    uint32_t part = (uint32_t)((int32_t)n >> 1);
    float first = nvdp__bits_float((part + 127u) << 23);
    float second = nvdp__bits_float((n - part + 127u) << 23);
    return nvdp__exp_of_part(r) * first * second;
}

/* Returns exp(x) for x <= 0, or slightly above 0 through rounding: the bits of nvdp__fast_exp() if the result is a
 * normal number, else 0; NaN stays NaN. */
NVDP__INLINE float nvdp__fast_exp_below(float x) {
    float r;
    uint32_t n = nvdp__exp_parts(x, &r);
    float y = nvdp__exp_of_part(r) * nvdp__bits_float((n + 127u) << 23);
    return x < -87.3f ? 0.0f : y;
}

/* Returns tanh(x) with a relative error below 3e-7. Uses an odd polynomial near 0 (Cephes), and 1 - 2/(exp(2|x|) +
 * 1) elsewhere. */
NVDP__INLINE float nvdp__fast_tanh(float x) {
    float a = fabsf(x);
    float s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    p = p * s * x + x;
    float far = copysignf(1.0f - 2.0f / (nvdp__fast_exp(2.0f * a) + 1.0f), x);
    return a > 0.625f ? far : p;
}

/* GELU and its slope, absolute error below 3e-7 max(1, |x|):
 *
 *     gelu(x)      = x Phi(x)                                           (Hendrycks & Gimpel 2016)
 *     gelu'(x)     = Phi(x) + x phi(x)
 *     gelu_new(x)  = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2    (its tanh form) */

/* Returns the normal distribution function: 1/2 + x P(u) with u = 2 x^2 / 5.2^2 - 1 in [-1, 1], absolute error below
 * 2e-7. Beyond 5.2 the function is within 1e-7 of its limit, and the limit is returned. P is the polynomial of
 * degree 13 that minimizes the max error of x P(u) (Lawson's weighted least squares). This form needs no exponential
 * and no division, which halves the time. */
NVDP__INLINE float nvdp__normal_cdf(float x) {
    float u = 7.396449894e-2f * (x * x) - 1.0f;
    float p = -4.911442520e-4f;
    p = p * u + 1.277154777e-3f;
    p = p * u - 1.195492921e-3f;
    p = p * u + 1.778036472e-3f;
    p = p * u - 4.814734217e-3f;
    p = p * u + 8.580844849e-3f;
    p = p * u - 1.249332447e-2f;
    p = p * u + 1.794583723e-2f;
    p = p * u - 2.472614869e-2f;
    p = p * u + 3.199166059e-2f;
    p = p * u - 3.992960230e-2f;
    p = p * u + 5.002440512e-2f;
    p = p * u - 6.774367392e-2f;
    p = p * u + 1.359499991e-1f;
    float cdf = x * p + 0.5f;
    cdf = x > 5.2f ? 1.0f : cdf; /* comparisons written so that NaN passes through */
    return x < -5.2f ? 0.0f : cdf;
}

NVDP__INLINE float nvdp__gelu(float x) {
    return x * nvdp__normal_cdf(x);
}

NVDP__INLINE float nvdp__gelu_and_slope(float x, float *slope) {
    float cdf = nvdp__normal_cdf(x);
    *slope = cdf + x * (0.398942280f * nvdp__fast_exp_below(-0.5f * x * x));
    return x * cdf;
}

NVDP__INLINE float nvdp__gelu_new(float x) {
    float t = nvdp__fast_tanh(0.797884561f * (x + 0.044715f * x * x * x));
    return 0.5f * x * (1.0f + t);
}

NVDP__INLINE float nvdp__gelu_new_and_slope(float x, float *slope) {
    float square = x * x;
    float t = nvdp__fast_tanh(0.797884561f * (x + 0.044715f * x * square));
    float du = 0.797884561f * (1.0f + 0.134145f * square);
    *slope = 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * du;
    return 0.5f * x * (1.0f + t);
}

/* Further activations, with the same error. The slope of ReLU at 0 is 0, as in PyTorch.
 *
 *     relu(x)       = max(x, 0)
 *     silu(x)       = x / (1 + exp(-x))
 *     quick_gelu(x) = x / (1 + exp(-1.702 x))                           (Hendrycks & Gimpel 2016) */

NVDP__INLINE float nvdp__relu(float x) {
    return x < 0 ? 0 : x; /* NaN stays NaN */
}

NVDP__INLINE float nvdp__relu_and_slope(float x, float *slope) {
    *slope = x > 0 ? 1.0f : 0.0f;
    return nvdp__relu(x);
}

/* Returns x sigmoid(a x), and sets the slope. */
NVDP__INLINE float nvdp__gated(float a, float x, float *slope) {
    float s = 1.0f / (1.0f + nvdp__fast_exp(-a * x));
    *slope = s + a * x * s * (1.0f - s);
    return x * s;
}

NVDP__INLINE float nvdp__silu_and_slope(float x, float *slope) {
    return nvdp__gated(1.0f, x, slope);
}

NVDP__INLINE float nvdp__silu(float x) {
    float slope;
    return nvdp__gated(1.0f, x, &slope);
}

NVDP__INLINE float nvdp__quick_gelu_and_slope(float x, float *slope) {
    return nvdp__gated(1.702f, x, slope);
}

NVDP__INLINE float nvdp__quick_gelu(float x) {
    float slope;
    return nvdp__gated(1.702f, x, &slope);
}

#endif
