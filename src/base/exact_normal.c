/* Exact normal deviates (Karney 2016) and their rounding onto a grid. The file has, in this
 * order, the digits of a stream, the deviate and the grid. exact_normal.h explains why exact
 * deviates are needed. */
#include "base/exact_normal.h"

#include <math.h>
#include <sodium.h>

#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK = 64,           /* number of deviates drawn ahead */
    LARGEST_WHOLE = 1023, /* a deviate of 1023 has probability e^-523264 */
    SIGNIFICANT = 53
};

/* --- digits --- */

void nvdp__digits_open(const struct nvdp__stream *stream, struct nvdp__digits *digits) {
    digits->stream = *stream;
    digits->used = NVDP__DIGIT_WORDS;
}

void nvdp__digits_wipe(struct nvdp__digits *digits) {
    sodium_memzero(digits, sizeof *digits);
}

__attribute__((noinline)) static void refill(struct nvdp__digits *digits) {
    nvdp__stream_words(&digits->stream, 2 * NVDP__DIGIT_WORDS, digits->word);
    digits->used = 0;
}

INLINE uint64_t next(struct nvdp__digits *digits) {
    if (__builtin_expect(digits->used == NVDP__DIGIT_WORDS, 0)) refill(digits);
    return digits->word[digits->used++];
}

INLINE void fresh(struct nvdp__digits *digits, struct nvdp__uniform *u) {
    u->digit[0] = next(digits);
    u->have = 1;
}

uint64_t nvdp__digits_next(struct nvdp__digits *digits) {
    return next(digits);
}

uint64_t nvdp__uniform_digit(struct nvdp__digits *digits, struct nvdp__uniform *u, int i) {
    while (u->have <= i) {
        u->digit[u->have++] = next(digits);
    }
    return u->digit[i];
}

__attribute__((noinline)) static bool tie_below(struct nvdp__digits *digits,
                                                struct nvdp__uniform *a, struct nvdp__uniform *b) {
    for (int i = 1; i < NVDP__DIGITS; i++) {
        uint64_t x = nvdp__uniform_digit(digits, a, i), y = nvdp__uniform_digit(digits, b, i);
        if (x != y) return x < y;
    }
    return false;
}

INLINE bool below(struct nvdp__digits *digits, struct nvdp__uniform *a, struct nvdp__uniform *b) {
    if (__builtin_expect(a->digit[0] == b->digit[0], 0)) return tie_below(digits, a, b);
    return a->digit[0] < b->digit[0];
}

/* --- Karney (2016), "Sampling exactly from the normal distribution", algorithm N ---
 *
 * Draw k >= 0 with probability ~ e^(-k/2) and accept it with probability e^(-k (k-1)/2), which
 * gives ~ e^(-k^2/2). Draw x uniform and accept it with probability e^(-x (2k + x)/2). Together
 * the density is ~ e^(-(k + x)^2/2).
 *
 * These probabilities come from von Neumann's (1951) comparisons. With y_0 = x, and y_1, y_2,
 * ... uniform,
 *
 *     P(y_0 > y_1 > ... > y_n) = x^n/n!,  so the length of the decreasing run is even
 *     with probability           1 - x + x^2/2! - ... = e^-x.
 *
 * If each further step also needs an event of probability p, the run is even with probability
 * e^(-p x). */

/* x = 1/2: the comparison with y_1 is one bit. */
bool nvdp__exact_half(struct nvdp__digits *digits) {
    struct nvdp__uniform y[2];
    fresh(digits, &y[0]);
    if (y[0].digit[0] >> 63) return true;
    for (int n = 1;; n++) {
        fresh(digits, &y[n & 1]);
        if (!below(digits, &y[n & 1], &y[~n & 1])) return n % 2 == 0;
    }
}

/* Returns true with probability (2k + x)/(2k + 2). Divides the unit interval into 2k + 2 equal
 * parts and accepts the first 2k parts, and the share x of the next part. The part is drawn
 * without bias (Lemire 2019). */
INLINE bool in_part(struct nvdp__digits *digits, uint32_t k, struct nvdp__uniform *x) {
    uint64_t parts = 2 * (uint64_t)k + 2;
    unsigned __int128 product = (unsigned __int128)next(digits) * parts;
    while ((uint64_t)product < parts && (uint64_t)product < -parts % parts) {
        product = (unsigned __int128)next(digits) * parts;
    }
    uint64_t part = (uint64_t)(product >> 64);
    if (part != 2 * (uint64_t)k) return part < 2 * (uint64_t)k;
    struct nvdp__uniform r;
    fresh(digits, &r);
    return below(digits, &r, x);
}

/* Returns true with probability e^(-x (2k + x)/(2k + 2)); k + 1 such events give e^(-x (2k +
 * x)/2). */
INLINE bool keep_once(struct nvdp__digits *digits, uint32_t k, struct nvdp__uniform *x) {
    struct nvdp__uniform y[2];
    struct nvdp__uniform *last = x;
    for (int n = 0;; n++) {
        struct nvdp__uniform *now = &y[n & 1];
        fresh(digits, now);
        if (!below(digits, now, last) || !in_part(digits, k, x)) return n % 2 == 0;
        last = now;
    }
}

bool nvdp__exact_fraction(struct nvdp__digits *digits, uint32_t k, struct nvdp__uniform *x) {
    fresh(digits, x);
    for (uint32_t i = 0; i <= k; i++) {
        if (!keep_once(digits, k, x)) return false;
    }
    return true;
}

INLINE bool halves(struct nvdp__digits *digits, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (!nvdp__exact_half(digits)) return false;
    }
    return true;
}

void nvdp__exact_normal(struct nvdp__digits *digits, struct nvdp__exact_normal *out) {
    uint32_t k;
    do {
        for (k = 0; k < LARGEST_WHOLE && nvdp__exact_half(digits);) {
            k++;
        }
    } while ((k > 1 && !halves(digits, k * (k - 1))) ||
             !nvdp__exact_fraction(digits, k, &out->fraction));
    out->whole = k;
    out->negative = next(digits) >> 63;
}

double nvdp__exact_normal_value(const struct nvdp__exact_normal *normal) {
    /* an odd last bit represents the remaining digits, so that the sum rounds once */
    uint64_t rest = normal->fraction.digit[0];
    long double value = (long double)normal->whole + (long double)(rest | 1) * 0x1p-64L;
    return normal->negative ? -(double)value : (double)value;
}

/* --- the grid ---
 *
 * In units of u = 2^-32 steps, the mean is an integer b. The deviation is sigma = S 2^(q-52)
 * steps with an integer S < 2^53. A negative deviate changes the sign of the mean and of the
 * result; ties have probability 0. For a positive deviate
 *
 *     (mean + sigma eps)/u = b + v,   v = S Y 2^-s,   Y = 2^64 (k + x),   s = 84 - q
 *     n                    = floor((b + 2^31 + v)/2^32)
 *
 * Y lies between the integer y of its known digits and y + 1, so n is decided if both ends of [S y,
 * S (y + 1)) give the same n. The two ends differ with probability (1 + S 2^-s)/2^32. In this case,
 *
 *     b + 2^31 + v >= n 2^32   <=>   k + x >= (n 2^32 - b - 2^31) 2^(s-64) / S
 *
 * is decided by a comparison with as many digits of the quotient as necessary. */

int64_t nvdp__grid_mean(const struct nvdp__rounding_grid *grid, double mean) {
    const double max = ldexp(1, NVDP__GRID_RANGE + NVDP__MEAN_BITS);
    double units = ldexp(mean, NVDP__MEAN_BITS - grid->exponent);
    return (int64_t)fmax(-max, fmin(max, units));
}

bool nvdp__grid_takes(const struct nvdp__rounding_grid *grid, double sigma) {
    double steps = ldexp(sigma, -grid->exponent);
    return steps >= ldexp(1, -NVDP__GRID_RANGE) && steps <= ldexp(1, NVDP__GRID_RANGE);
}

/* sigma in steps: the significand in [2^52, 2^53), and s. */
struct scale {
    uint64_t significand;
    int shift;
};

INLINE struct scale grid_scale(const struct nvdp__rounding_grid *grid, double sigma) {
    union {
        double value;
        uint64_t bits;
    } s = {sigma}; /* a normal and positive number: see nvdp__grid_takes() */
    int q = (int)(s.bits >> (SIGNIFICANT - 1)) - 1023 - grid->exponent;
    return (struct scale){(s.bits & ((UINT64_C(1) << (SIGNIFICANT - 1)) - 1)) |
                              UINT64_C(1) << (SIGNIFICANT - 1),
                          64 + SIGNIFICANT - 1 - NVDP__MEAN_BITS - q};
}

typedef unsigned __int128 wide;

/* Returns true if k + x >= distance 2^(s-64) / S. */
__attribute__((noinline)) static bool reaches(struct nvdp__digits *digits,
                                              struct nvdp__exact_normal *normal, struct scale scale,
                                              wide distance) {
    wide above = scale.shift > 64 ? distance << (scale.shift - 64) : distance;
    wide under =
        scale.shift > 64 ? scale.significand : (wide)scale.significand << (64 - scale.shift);
    wide whole = above / under, rest = above % under;
    if (whole != normal->whole) return normal->whole > whole;
    for (int i = 0; i < NVDP__DIGITS; i++) {
        wide shifted = rest << 64;
        uint64_t bound = (uint64_t)(shifted / under),
                 mine = nvdp__uniform_digit(digits, &normal->fraction, i);
        if (bound != mine) return mine > bound;
        rest = shifted % under;
    }
    return true;
}

INLINE int32_t round_one(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                         int64_t mean, struct scale scale, struct nvdp__exact_normal *normal) {
    __int128 from = (normal->negative ? -mean : mean) + (INT64_C(1) << (NVDP__MEAN_BITS - 1));
    wide product = ((wide)(scale.significand * normal->whole) << 64) +
                   (wide)scale.significand * normal->fraction.digit[0];
    __int128 n = (from + (__int128)(product >> scale.shift)) >> NVDP__MEAN_BITS;
    __int128 max =
        (from + (__int128)((product + scale.significand - 1) >> scale.shift)) >> NVDP__MEAN_BITS;
    if (__builtin_expect(n != max, 0) &&
        reaches(digits, normal, scale, (wide)(max * ((__int128)1 << NVDP__MEAN_BITS) - from)))
        n = max;
    n = n > grid->limit ? grid->limit : n < -grid->limit ? -grid->limit : n;
    return (int32_t)(normal->negative ? -n : n);
}

int32_t nvdp__grid_round(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                         int64_t mean, double sigma, struct nvdp__exact_normal *normal) {
    return round_one(digits, grid, mean, grid_scale(grid, sigma), normal);
}

void nvdp__grid_draw(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid, size_t n,
                     const int64_t *mean, const double *sigma, int32_t *out) {
    struct nvdp__exact_normal normal[BLOCK];
    struct scale scale = grid_scale(grid, 1);
    for (size_t first = 0; first < n; first += BLOCK) {
        size_t count = nvdp__min(n - first, BLOCK);
        for (size_t i = 0; i < count; i++) {
            nvdp__exact_normal(digits, &normal[i]);
        }
        for (size_t i = 0; i < count; i++) {
            if (sigma != NULL) scale = grid_scale(grid, sigma[first + i]);
            out[first + i] = round_one(digits, grid, mean[first + i], scale, &normal[i]);
        }
    }
    sodium_memzero(normal, sizeof normal);
}
