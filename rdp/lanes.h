/* The kernels, for a width of vectors: LANES doubles, TARGET the attribute of functions that use
 * them, KERNELS the name of the table.  Included once by each of kernels_2.c, _4.c, _8.c, hence no
 * guard.
 *
 * Bits of sign are collected in `unsafe`, which costs one instruction where a comparison costs
 * two. */
#include <math.h>
#include <string.h>

enum { STEPS = 8 };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));
typedef uint64_t words __attribute__((vector_size(LANES * sizeof(uint64_t))));
/* The same at any address of double. */
typedef double loose_lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline)) TARGET

/* Moves the exponent of x to `sum` (1023 too much each time).  Unsafe: a zero or subnormal
 * (exponent field 0), an infinity or NaN (0x7ff), and a negative number. */
#define SPLIT(x, sum, unsafe)                                                                      \
    do {                                                                                           \
        words bits_ = (words)(x);                                                                  \
        words power_ = bits_ >> 52;                                                                \
        (unsafe) |= (power_ - 1) | (0x7fe - power_);                                               \
        (sum) += power_;                                                                           \
        (x) = (lanes)((bits_ & 0x000fffffffffffff) | 0x3ff0000000000000);                          \
    } while (0)

INLINE lanes all(double x) {
    lanes made;
    for (int lane = 0; lane < LANES; lane++) {
        made[lane] = x;
    }
    return made;
}

INLINE double total(lanes x) {
    double sum = 0;
    for (int lane = 0; lane < LANES; lane++) {
        sum += x[lane];
    }
    return sum;
}

INLINE double product(lanes x) {
    double made = 1;
    for (int lane = 0; lane < LANES; lane++) {
        made *= x[lane];
    }
    return made;
}

INLINE bool any_sign(words x) {
    uint64_t bits = 0;
    for (int lane = 0; lane < LANES; lane++) {
        bits |= x[lane];
    }
    return bits >> 63 != 0;
}

/* Dimensions of two texts from one place on. */
struct dims {
    lanes mu_p, var_p, mu_q, var_q;
};

/* The last n < LANES; what is missing are equal Gaussians of variance 1. */
INLINE struct dims few(size_t n, const double *mu_p, const double *var_p, const double *mu_q,
                       const double *var_q) {
    struct dims at = {.mu_p = all(0), .var_p = all(1), .mu_q = all(0), .var_q = all(1)};
    memcpy(&at.mu_p, mu_p, n * sizeof(double));
    memcpy(&at.var_p, var_p, n * sizeof(double));
    memcpy(&at.mu_q, mu_q, n * sizeof(double));
    memcpy(&at.var_q, var_q, n * sizeof(double));
    return at;
}

INLINE struct dims take(size_t k, const double *mu_p, const double *var_p, const double *mu_q,
                        const double *var_q) {
    return (struct dims){.mu_p = *(const loose_lanes *)(mu_p + k),
                         .var_p = *(const loose_lanes *)(var_p + k),
                         .mu_q = *(const loose_lanes *)(mu_q + k),
                         .var_q = *(const loose_lanes *)(var_q + k)};
}

/* Both directions over up to STEPS vectors of dimensions: the sum of fractions as one fraction,
 * num/den -> (num v + d^2 den)/(den v), so that one division serves STEPS. */
struct group {
    lanes num[2], den[2];
    words unsafe[2];
};

INLINE void group_add(struct group *to, const struct dims *at, double s, double floor, bool kl) {
    lanes w = at->var_p - at->var_q;
    lanes d = at->mu_p - at->mu_q;
    lanes v0 = kl ? at->var_q : at->var_q - s * w;
    lanes v1 = kl ? at->var_p : at->var_p + s * w;
    lanes square = d * d;
    to->unsafe[0] |= (words)(v0 - floor);
    to->unsafe[1] |= (words)(v1 - floor);
    to->num[0] = to->num[0] * v0 + (kl ? square + w : square) * to->den[0];
    to->num[1] = to->num[1] * v1 + (kl ? square - w : square) * to->den[1];
    to->den[0] *= v0;
    to->den[1] *= v1;
}

INLINE void multiply(double s, double floor, size_t n, const double *mu_p, const double *var_p,
                     const double *mu_q, const double *var_q, bool kl, struct nvdp__products *out) {
    lanes fraction[2] = {all(0), all(0)};
    lanes whole[2] = {all(1), all(1)};
    words power[2] = {{0}, {0}};
    words unsafe[2] = {{0}, {0}};
    int64_t groups = 0;
    for (size_t k = 0; k < n; groups++) {
        struct group part = {.num = {all(0), all(0)}, .den = {all(1), all(1)}};
        if (n - k >= (size_t)LANES * STEPS) {
            for (int step = 0; step < STEPS; step++, k += LANES) {
                struct dims at = take(k, mu_p, var_p, mu_q, var_q);
                group_add(&part, &at, s, floor, kl);
            }
        } else {
            for (; n - k >= LANES; k += LANES) {
                struct dims at = take(k, mu_p, var_p, mu_q, var_q);
                group_add(&part, &at, s, floor, kl);
            }
            if (k < n) {
                struct dims at = few(n - k, mu_p + k, var_p + k, mu_q + k, var_q + k);
                group_add(&part, &at, s, floor, kl);
                k = n;
            }
        }
        for (int side = 0; side < 2; side++) {
            fraction[side] += part.num[side] / part.den[side];
            unsafe[side] |= part.unsafe[side];
            SPLIT(part.den[side], power[side], unsafe[side]);
            whole[side] *= part.den[side];
        }
    }
    for (int side = 0; side < 2; side++) {
        out->fraction[side] = total(fraction[side]);
        out->mantissa[side] = product(whole[side]);
        out->exponent[side] = -1023 * groups * LANES;
        for (int lane = 0; lane < LANES; lane++) {
            out->exponent[side] += (int64_t)power[side][lane];
        }
        out->unsafe[side] = any_sign(unsafe[side]);
    }
}

TARGET static void products(double s, double floor, size_t n, const double *mu_p,
                            const double *var_p, const double *mu_q, const double *var_q,
                            struct nvdp__products *out) {
    multiply(s, floor, n, mu_p, var_p, mu_q, var_q, false, out);
}

TARGET static void products_kl(double floor, size_t n, const double *mu_p, const double *var_p,
                               const double *mu_q, const double *var_q,
                               struct nvdp__products *out) {
    multiply(0, floor, n, mu_p, var_p, mu_q, var_q, true, out);
}

INLINE lanes polynomial(const double *c, int terms, lanes x) {
    lanes sum = all(c[terms - 1]);
    for (int k = terms - 2; k >= 0; k--) {
        sum = sum * x + c[k];
    }
    return sum;
}

/* The parts of 2 D that both directions share, and those that change sign (rdp/near.c). */
struct halves {
    lanes even, odd;
    words above;
};

INLINE void halves_add(struct halves *to, const struct nvdp__near_fit *fit, int terms,
                       const struct dims *at) {
    lanes inverse = 1 / (at->var_p + at->var_q);
    lanes d = at->mu_p - at->mu_q;
    lanes t = (at->var_p - at->var_q) * inverse;
    lanes x = t * t;
    to->above |= (words)(fit->limit - x);
    lanes mean = d * d * inverse * polynomial(fit->mean, terms, x);
    to->even += mean + x * polynomial(fit->even, terms, x);
    to->odd += t * (fit->slope * mean + x * polynomial(fit->odd, terms, x));
}

INLINE bool close(const struct nvdp__near_fit *fit, int terms, size_t n, const double *mu_p,
                  const double *var_p, const double *mu_q, const double *var_q, double value[2]) {
    struct halves sum = {.even = all(0), .odd = all(0)};
    size_t k = 0;
    for (; n - k >= LANES; k += LANES) {
        struct dims at = take(k, mu_p, var_p, mu_q, var_q);
        halves_add(&sum, fit, terms, &at);
    }
    if (k < n) {
        struct dims at = few(n - k, mu_p + k, var_p + k, mu_q + k, var_q + k);
        halves_add(&sum, fit, terms, &at);
    }
    value[0] = total(sum.even) + total(sum.odd);
    value[1] = total(sum.even) - total(sum.odd);
    return !any_sign(sum.above);
}

TARGET static bool near(const struct nvdp__near_fit *fit, size_t n, const double *mu_p,
                        const double *var_p, const double *mu_q, const double *var_q,
                        double value[2]) {
    return close(fit, NVDP__NEAR_TERMS, n, mu_p, var_p, mu_q, var_q, value);
}

TARGET static bool middle(const struct nvdp__near_fit *fit, size_t n, const double *mu_p,
                          const double *var_p, const double *mu_q, const double *var_q,
                          double value[2]) {
    return close(fit, NVDP__MIDDLE_TERMS, n, mu_p, var_p, mu_q, var_q, value);
}

/* The expression of rdp/gaussian.c without a product that is added to: the same bits. */
TARGET static bool outside(double s, size_t n, const double *var_p, const double *var_q) {
    for (size_t first = 0; first < n; first += 64) {
        bool found = false;
        for (size_t k = first; k < n && k < first + 64; k++) {
            double u = (var_p[k] - var_q[k]) / var_q[k];
            found |= -s * u <= -1;
        }
        if (found) return true;
    }
    return false;
}

/* log x of positive normal numbers, to about two units: x = m 2^e, m in [2^-1/2, 2^1/2), and
 * log m = 2 atanh f, f = (m-1)/(m+1), |f| <= 0.172, by its series. */
INLINE lanes logarithm(lanes x) {
    words bits = (words)x;
    /* m >= 2^1/2 is halved: carries one into the exponent. */
    words carry = ((bits & 0x000fffffffffffff) + 0x95f619980c433) & 0x0010000000000000;
    words mantissa = ((bits & 0x000fffffffffffff) | 0x3ff0000000000000) - carry;
    lanes power = (lanes)(((bits + carry) >> 52) | 0x4330000000000000) - 4503599627371519.0;
    lanes m = (lanes)mantissa;
    lanes f = (m - 1) / (m + 1);
    lanes z = f * f;
    static const double atanh_terms[10] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                                           1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19};
    return power * 0.693147180559945309417232121458 + 2 * f * polynomial(atanh_terms, 10, z);
}

/* lnG(x) = lnG(x + 8) - log x (x+1) ... (x+7), and Stirling's series from 8 on: seven terms leave
 * 1e-14.  The products' logarithms are taken together. */
struct gammas {
    lanes sum, size, whole;
    words power, unsafe;
};

INLINE void gammas_add(struct gammas *to, lanes x) {
    lanes raised = x;
    for (int k = 1; k < 8; k++) {
        raised *= x + (double)k;
    }
    lanes y = x + 8;
    lanes inverse = 1 / y;
    static const double stirling[7] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                       1.0 / 1188, -691.0 / 360360, 1.0 / 156};
    lanes main = (y - 0.5) * logarithm(y);
    to->sum += main - y + 0.918938533204672741780329736406 +
               inverse * polynomial(stirling, 7, inverse * inverse);
    to->size += main + y;
    SPLIT(raised, to->power, to->unsafe);
    to->whole *= raised;
    SPLIT(to->whole, to->power, to->unsafe);
}

INLINE void gammas_end(const struct gammas *from, int64_t splits, double *sum, double *size,
                       bool *unsafe) {
    int64_t power = -1023 * splits;
    for (int lane = 0; lane < LANES; lane++) {
        power += (int64_t)from->power[lane];
    }
    double logs = log(product(from->whole)) + (double)power * 0.693147180559945309417232121458;
    *sum = total(from->sum) - logs;
    *size = total(from->size) + fabs(logs);
    *unsafe = any_sign(from->unsafe);
}

TARGET static void log_gammas(double s, size_t n, const double *p, const double *q,
                              struct nvdp__log_gammas *out) {
    struct gammas part[2] = {{.whole = all(1)}, {.whole = all(1)}};
    for (size_t k = 0; k < n; k += LANES) {
        lanes near_p = *(const loose_lanes *)(p + k);
        lanes near_q = *(const loose_lanes *)(q + k);
        lanes step = s * (near_p - near_q);
        lanes far_p = near_p + step;
        lanes far_q = near_q - step;
        part[0].unsafe |= (words)(far_p - 1e-9 * near_p);
        part[1].unsafe |= (words)(far_q - 1e-9 * near_q);
        gammas_add(&part[0], far_p);
        gammas_add(&part[1], far_q);
    }
    for (int side = 0; side < 2; side++) {
        gammas_end(&part[side], (int64_t)(2 * n), &out->sum[side], &out->size[side],
                   &out->unsafe[side]);
    }
}

const struct nvdp__kernels KERNELS = {.products = products,
                                      .products_kl = products_kl,
                                      .near = near,
                                      .middle = middle,
                                      .outside = outside,
                                      .log_gammas = log_gammas};
