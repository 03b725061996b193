/* The inner loops over all pairs, compiled for several vector widths and chosen at run time. */
#ifndef NVDP_RDP_KERNELS_H
#define NVDP_RDP_KERNELS_H

#include <nvdp/rdp.h>

/* Consecutive dimensions of one text, at most NVDP__CHUNK, so that the block fits the cache. */
enum { NVDP__CHUNK = 768 };
struct nvdp__dim_range {
    const double *mu, *var; /* [n] */
    double logs;            /* log of the product of the variances */
    double max_var;         /* max variance of the block, or an upper bound */
    double spread;          /* max |log var| of the block, or an upper bound */
};

/* [0]: D(P || Q), v = var_q - s (var_p - var_q);  [1]: D(Q || P), v = var_p + s (var_p - var_q). */
struct nvdp__products {
    double fraction[2]; /* sum (mu_p - mu_q)^2 / v; for s = 0 sum [(mu_p - mu_q)^2 + w] / v with
                         * w = var_p - var_q in direction 0 and -w in direction 1 */
    double mantissa[2]; /* prod v = mantissa 2^exponent */
    int64_t exponent[2];
    bool unsafe[2]; /* some v is below the floor, or a product exceeds the range of double */
};

/* Chebyshev fits in x = t^2, t = (var_p - var_q)/(var_p + var_q) (rdp/gaussian.c). */
enum { NVDP__NARROW_TERMS = 4, NVDP__WIDE_TERMS = 9 };
struct nvdp__chebyshev {
    int terms;    /* NVDP__NARROW_TERMS or NVDP__WIDE_TERMS */
    double limit; /* the fit holds for x <= limit; -1 if the fit failed */
    double slope; /* a = 1 + 2 s */
    double mean[NVDP__WIDE_TERMS];
    double even[NVDP__WIDE_TERMS];
    double odd[NVDP__WIDE_TERMS];
};

/* Extrapolated pseudo-counts of both directions: [0] p + s (p - q), [1] q - s (p - q). */
struct nvdp__log_gammas {
    double sum[2]; /* sum of lnG */
    /* sum of the magnitudes that cancel within each lnG; the rounding error is relative to this
     * sum */
    double size[2];
    /* some count is at most 1e-9 times the count of its text, or a product is out of range */
    bool unsafe[2];
};

/* Max number of terms of shifted_logs. */
enum { NVDP__SHIFTS = 16 };

struct nvdp__kernels {
    /* Computes the products over n dimensions of two texts. */
    void (*products)(double s, double floor, size_t n, const struct nvdp__dim_range *p,
                     const struct nvdp__dim_range *q, struct nvdp__products *out);
    /* Computes both divergences times 2; returns false if some x is above the limit. */
    bool (*chebyshev)(const struct nvdp__chebyshev *fit, size_t n, const struct nvdp__dim_range *p,
                      const struct nvdp__dim_range *q, double value[2]);
    /* Returns D(P || Q) by the series of the plain form; sets *inside to true if every variance
     * is within the range of the series. */
    double (*series)(double order, size_t n, const struct nvdp__dim_range *p,
                     const struct nvdp__dim_range *q, bool *inside);
    /* True if D(P || Q) is +inf because of one of the dimensions, decided as in nvdp__gaussian. */
    bool (*outside)(double s, size_t n, const double *var_p, const double *var_q);
    /* n is a multiple of 8. */
    void (*log_gammas)(double s, size_t n, const double *p, const double *q,
                       struct nvdp__log_gammas *out);
    /* Returns the sum over r < shift of the second difference of -log(p + r); |delta|, |s delta|
     * < p/4. */
    double (*shifted_logs)(double s, double p, double delta, int shift);
    /* True if some p + s (p - q) is clearly below 0. */
    bool (*any_below)(double s, size_t n, const double *p, const double *q);
    /* Computes min[k] = min over `sets` rows r of own[r stride] + other[r stride + k], k <
     * count. */
    void (*min_sum)(const double *own, const double *other, size_t stride, size_t sets,
                    size_t count, double *min);
};

/* Returns the widest kernels that this processor supports. */
const struct nvdp__kernels *nvdp__kernels(void);
/* Returns the kernels for vectors of `lanes` doubles; NULL if the processor or the compiler does
 * not support that width. */
const struct nvdp__kernels *nvdp__lane_kernels(int lanes);

#endif
