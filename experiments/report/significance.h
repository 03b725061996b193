/* Whether methods differ beyond chance: a test on scores that belong together in pairs, such as two
 * methods' with the same task, settings and seed.  Pure functions of arrays. */
#ifndef NVDP_EXPERIMENTS_REPORT_SIGNIFICANCE_H
#define NVDP_EXPERIMENTS_REPORT_SIGNIFICANCE_H

#include <stddef.h>

struct nvdp__paired {
    size_t n;         /* pairs */
    double mean, sd;  /* of a - b; sd with divisor n-1, NaN for fewer than two */
    double t;         /* mean / (sd / sqrt(n)) */
    double p;         /* two-sided */
    double low, high; /* 95 % confidence interval of the mean difference */
};

/* Student's paired t-test (1908) of a[n] against b[n], n-1 degrees of freedom.  It takes the
 * differences as normal draws, one a seed: for differences between seeds a usual approximation, and
 * with five seeds a rough one.  t, p, low and high are NaN where there is no spread to judge by:
 * fewer than two pairs, a score that is not finite, or differences that are all the same (to 1e-12
 * of the scores); but p is 1 where all differences are 0. */
struct nvdp__paired nvdp__paired_t(size_t n, const double *a, const double *b);

/* Holm (1979): p-values of n tests made together, adjusted such that calling all below x
 * significant errs at all with probability x at most, whatever their dependence.  NaN is no test:
 * it is not counted and stays.  `adjusted` may not be p. O(n^2). */
void nvdp__holm(size_t n, const double *p, double *adjusted);

#endif
