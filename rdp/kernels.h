/* The inner loops over all pairs, compiled for several widths of vectors and chosen at run time. */
#ifndef NVDP_RDP_KERNELS_H
#define NVDP_RDP_KERNELS_H

#include <nvdp/rdp.h>

/* Consecutive dimensions of one text, at most NVDP__CHUNK: a block of the cache. */
enum { NVDP__CHUNK = 768 };
struct nvdp__dim_range {
    const double *mu, *var; /* [n] */
    double logs;            /* log of the product of the variances */
    double most;            /* no variance is above */
    double spread;          /* no |log var| is above */
};

/* [0]: D(P || Q), v = var_q - s (var_p - var_q);  [1]: D(Q || P), v = var_p + s (var_p - var_q). */
struct nvdp__products {
    double fraction[2]; /* sum (mu_p - mu_q)^2 / v;  s = 0: sum [(mu_p - mu_q)^2 + w] / v with
                           w = var_p - var_q, the other direction -w */
    double mantissa[2]; /* prod v = mantissa 2^exponent */
    int64_t exponent[2];
    bool unsafe[2]; /* some v below the floor, or a product outside the range of double */
};

/* Chebyshev fits in x = t^2, t = (var_p - var_q)/(var_p + var_q) (rdp/gaussian.c). */
enum { NVDP__NARROW_TERMS = 4, NVDP__WIDE_TERMS = 9 };
struct nvdp__chebyshev {
    int terms;    /* NVDP__NARROW_TERMS or NVDP__WIDE_TERMS */
    double limit; /* they hold for x <= limit; -1: nowhere */
    double slope; /* a = 1 + 2 s */
    double mean[NVDP__WIDE_TERMS];
    double even[NVDP__WIDE_TERMS];
    double odd[NVDP__WIDE_TERMS];
};

/* Extrapolated pseudo-counts of both directions: [0] p + s (p - q), [1] q - s (p - q). */
struct nvdp__log_gammas {
    double sum[2];  /* sum of lnG */
    double size[2]; /* sum of what cancels within each lnG: rounding is relative to it */
    bool unsafe[2]; /* some count at or below 1e-9 times its text's, or a product out of range */
};

/* The most terms of shifted_logs. */
enum { NVDP__SHIFTS = 16 };

struct nvdp__kernels {
    /* The products of n dimensions of two texts. */
    void (*products)(double s, double floor, size_t n, const struct nvdp__dim_range *p,
                     const struct nvdp__dim_range *q, struct nvdp__products *out);
    /* Both divergences times 2; false where some x is above the limit. */
    bool (*chebyshev)(const struct nvdp__chebyshev *fit, size_t n, const struct nvdp__dim_range *p,
                      const struct nvdp__dim_range *q, double value[2]);
    /* D(P || Q) by the plain form's series; *inside: every variance is within its range. */
    double (*series)(double order, size_t n, const struct nvdp__dim_range *p,
                     const struct nvdp__dim_range *q, bool *inside);
    /* Whether D(P || Q) is +inf for one of the dimensions: decided as by nvdp__gaussian. */
    bool (*outside)(double s, size_t n, const double *var_p, const double *var_q);
    /* n a multiple of 8. */
    void (*log_gammas)(double s, size_t n, const double *p, const double *q,
                       struct nvdp__log_gammas *out);
    /* sum over r < shift of the second difference of -log(p + r); |delta|, |s delta| < p/4. */
    double (*shifted_logs)(double s, double p, double delta, int shift);
    /* Whether some p + s (p - q) is clearly below 0. */
    bool (*any_below)(double s, size_t n, const double *p, const double *q);
    /* least[k] = min over `sets` rows r of own[r stride] + other[r stride + k], k < count. */
    void (*least_sum)(const double *own, const double *other, size_t stride, size_t sets,
                      size_t count, double *least);
};

/* The widest that this processor has. */
const struct nvdp__kernels *nvdp__kernels(void);
/* By the number of doubles in a vector; NULL where the processor or the compiler has no such. */
const struct nvdp__kernels *nvdp__kernels_of(int lanes);

#endif
