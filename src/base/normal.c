/* Standard normals, by the transform of Box & Muller (1958):
 *
 *     z0 = sqrt(-2 log u) cos(2 pi v),   z1 = sqrt(-2 log u) sin(2 pi v),   u, v in (0,1).
 *
 * u and v are odd multiples of 2^-53, so the logarithm is finite and |z| <= 8.57.  The fast form
 * is branch-free, so that the compiler makes vectors of it, uses no fused multiply-add, and so
 * gives the same bits on every processor. */
#include "base/random.h"
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#define NO_CONTRACTION
#else
#define NO_CONTRACTION __attribute__((optimize("fp-contract=off")))
#endif

enum { LANES = 16 };

INLINE double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

INLINE uint64_t to_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* (2j + 1) / 2^53 with j the high 52 bits of the word: j as mantissa of a number in [1, 2). */
INLINE double open_uniform(uint32_t low, uint32_t high) {
    uint64_t word = (uint64_t)high << 32 | low;
    return from_bits(word >> 12 | UINT64_C(0x3FF0000000000000)) - (1 - 0x1p-53);
}

/* log x for normal x > 0.  x = 2^e m with m in (sqrt(1/2), sqrt(2)], and with s = (m-1)/(m+1)
 * log m = 2 (s + s^3/3 + s^5/5 + ...), |s| < 0.1716; the terms left out are below 1e-17 of it. */
INLINE double log_positive(double x) {
    uint64_t bits = to_bits(x);
    double m = from_bits((bits & UINT64_C(0x000FFFFFFFFFFFFF)) | UINT64_C(0x3FF0000000000000));
    /* The exponent as a double: 2^52 + e has e in its low bits. */
    double e = from_bits(bits >> 52 | UINT64_C(0x4330000000000000)) - (0x1p52 + 1023);
    double half = m > 1.4142135623730951 ? 0.5 : 1.0;
    double carry = m > 1.4142135623730951 ? 1.0 : 0.0;
    m *= half;
    e += carry;
    double s = (m - 1) / (m + 1);
    double q = s * s;
    double sum = 1.0 / 21;
    sum = sum * q + 1.0 / 19;
    sum = sum * q + 1.0 / 17;
    sum = sum * q + 1.0 / 15;
    sum = sum * q + 1.0 / 13;
    sum = sum * q + 1.0 / 11;
    sum = sum * q + 1.0 / 9;
    sum = sum * q + 1.0 / 7;
    sum = sum * q + 1.0 / 5;
    sum = sum * q + 1.0 / 3;
    double log_m = 2 * (s + s * q * sum);
    return e * 0.6931471805599453 + log_m;
}

/* cos(2 pi v) and sin(2 pi v) for v in (0,1).  4v = k + r with k whole and |r| <= 1/2 (exact);
 * Taylor's series in t = r pi/2, |t| <= pi/4, leaves out less than 1e-17; k turns by quarters. */
INLINE void turn(double v, double *cosine, double *sine) {
    double shifted = 4 * v + 0x1.8p52; /* rounds to a whole number in the low bits */
    uint64_t k = to_bits(shifted);
    double t = (4 * v - (shifted - 0x1.8p52)) * 1.5707963267948966;
    double q = t * t;
    double s = -1.0 / 1307674368000;
    s = s * q + 1.0 / 6227020800;
    s = s * q - 1.0 / 39916800;
    s = s * q + 1.0 / 362880;
    s = s * q - 1.0 / 5040;
    s = s * q + 1.0 / 120;
    s = s * q - 1.0 / 6;
    s = t + t * q * s;
    double c = 1.0 / 20922789888000;
    c = c * q - 1.0 / 87178291200;
    c = c * q + 1.0 / 479001600;
    c = c * q - 1.0 / 3628800;
    c = c * q + 1.0 / 40320;
    c = c * q - 1.0 / 720;
    c = c * q + 1.0 / 24;
    c = c * q - 1.0 / 2;
    c = 1 + c * q;
    uint64_t odd = -(k & 1); /* all ones where sine and cosine change places */
    uint64_t s_bits = to_bits(s);
    uint64_t c_bits = to_bits(c);
    uint64_t swap = (s_bits ^ c_bits) & odd;
    *sine = from_bits((s_bits ^ swap) ^ (k & 2) << 62);
    *cosine = from_bits((c_bits ^ swap) ^ ((k + 1) & 2) << 62);
}

INLINE void lanes(int count, const uint32_t *restrict words, double *restrict out) {
#pragma omp simd
    for (int i = 0; i < count; i++) {
        double u = open_uniform(words[4 * i], words[4 * i + 1]);
        double v = open_uniform(words[4 * i + 2], words[4 * i + 3]);
        double radius = sqrt(-2 * log_positive(u));
        double cosine, sine;
        turn(v, &cosine, &sine);
        out[2 * i] = radius * cosine;
        out[2 * i + 1] = radius * sine;
    }
}

INLINE void box_muller(size_t pairs, const uint32_t *words, double *out) {
    size_t i = 0;
    for (; i + LANES <= pairs; i += LANES) {
        lanes(LANES, words + 4 * i, out + 2 * i);
    }
    if (i < pairs) lanes((int)(pairs - i), words + 4 * i, out + 2 * i);
}

NO_CONTRACTION static void box_muller_any(size_t pairs, const uint32_t *words, double *out) {
    box_muller(pairs, words, out);
}

#if defined(__x86_64__)
NO_CONTRACTION __attribute__((target("avx2"))) static void
box_muller_avx2(size_t pairs, const uint32_t *words, double *out) {
    box_muller(pairs, words, out);
}
#endif

void nvdp__box_muller(size_t pairs, const uint32_t *words, double *out) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        box_muller_avx2(pairs, words, out);
        return;
    }
#endif
    box_muller_any(pairs, words, out);
}

void nvdp__box_muller_reference(size_t pairs, const uint32_t *words, double *out) {
    for (size_t i = 0; i < pairs; i++) {
        uint64_t first = (uint64_t)words[4 * i + 1] << 32 | words[4 * i];
        uint64_t second = (uint64_t)words[4 * i + 3] << 32 | words[4 * i + 2];
        double u = (double)(first >> 11 | 1) * 0x1p-53;
        double v = (double)(second >> 11 | 1) * 0x1p-53;
        double radius = sqrt(-2 * log(u));
        out[2 * i] = radius * cos(2 * M_PI * v);
        out[2 * i + 1] = radius * sin(2 * M_PI * v);
    }
}
