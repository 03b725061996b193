/* The inner loops over all pairs, compiled for several widths of vectors and chosen at run time. */
#ifndef NVDP_RDP_KERNELS_H
#define NVDP_RDP_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [0]: D(P || Q), v = var_q - s (var_p - var_q);  [1]: D(Q || P), v = var_p + s (var_p - var_q). */
struct nvdp__products {
    double fraction[2]; /* sum (mu_p - mu_q)^2 / v */
    double mantissa[2]; /* prod v = mantissa 2^exponent */
    int64_t exponent[2];
    bool unsafe[2]; /* some v below the floor, or a product outside the range of double */
};

/* Polynomials in x = t^2, t = (var_p - var_q)/(var_p + var_q) (rdp/near.c). */
enum { NVDP__NEAR_TERMS = 4, NVDP__MIDDLE_TERMS = 9 };
struct nvdp__near_fit {
    double limit; /* they hold for x <= limit */
    double slope; /* a = 1 + 2 s */
    double mean[NVDP__MIDDLE_TERMS];
    double even[NVDP__MIDDLE_TERMS];
    double odd[NVDP__MIDDLE_TERMS];
};

/* Far pseudo-counts of both directions: [0] p + s (p - q), [1] q - s (p - q). */
struct nvdp__log_gammas {
    double sum[2];  /* sum of lnG */
    double size[2]; /* sum of what cancels within each lnG: rounding is relative to it */
    bool unsafe[2]; /* some count at or below 1e-9 times its near one, or a product out of range */
};

struct nvdp__kernels {
    /* n dimensions of two texts. */
    void (*products)(double s, double floor, size_t n, const double *mu_p, const double *var_p,
                     const double *mu_q, const double *var_q, struct nvdp__products *out);
    /* Order 1: fraction[0] is sum (d^2 + var_p - var_q)/var_q, fraction[1] the other direction; the
     * rest as above at s = 0. */
    void (*products_kl)(double floor, size_t n, const double *mu_p, const double *var_p,
                        const double *mu_q, const double *var_q, struct nvdp__products *out);
    /* Both divergences times 2; false where some x is above the limit. */
    bool (*near)(const struct nvdp__near_fit *fit, size_t n, const double *mu_p,
                 const double *var_p, const double *mu_q, const double *var_q, double value[2]);
    bool (*middle)(const struct nvdp__near_fit *fit, size_t n, const double *mu_p,
                   const double *var_p, const double *mu_q, const double *var_q, double value[2]);
    /* Whether D(P || Q) is +inf for one of the dimensions: decided as by nvdp__gaussian. */
    bool (*outside)(double s, size_t n, const double *var_p, const double *var_q);
    /* n a multiple of 8. */
    void (*log_gammas)(double s, size_t n, const double *p, const double *q,
                       struct nvdp__log_gammas *out);
};

/* The widest that this processor has. */
const struct nvdp__kernels *nvdp__kernels(void);

/* By the number of doubles in a vector; NULL where the processor or the compiler has no such. */
const struct nvdp__kernels *nvdp__kernels_of(int lanes);

/* What the files of one width define. */
extern const struct nvdp__kernels nvdp__kernels_2;
extern const struct nvdp__kernels nvdp__kernels_4;
extern const struct nvdp__kernels nvdp__kernels_8;

#if defined(__x86_64__)
#define NVDP__X86_KERNELS
#endif

#endif
