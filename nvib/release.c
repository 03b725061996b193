/* The weights of a release: Dirichlet draws in 113 bits, rounded onto a grid, and an upper bound on the distance of
 * the distribution of these draws from the exact distribution. The draws come first, then the bound with the proof.
 * The Gaussian noise of a release is drawn in share/sampler.c. */
#include "nvib/nvib.h"

#include <float.h>
#include <math.h>

#if LDBL_MANT_DIG < 113 && defined __x86_64__ && defined __GLIBC__
typedef __float128 wide;
extern wide logf128(wide), log1pf128(wide), expm1f128(wide), expf128(wide), sqrtf128(wide);
#define WIDE(function) function##f128
static const double EPSILON = 0x1p-112;
#else
typedef long double wide;
#define WIDE(function) function##l
static const double EPSILON = LDBL_EPSILON;
#endif

enum { MIN_SHAPE = 4, WORDS = 4 };
static const double MAX_TOTAL = 1 << 20;

/* Returns -log u, u ~ U(0, 1), with full relative precision at both ends: u is w/2 or 1 - w/2, and w is below 2^-k
 * only with probability 2^-k. */
static wide exponential(struct nvdp__digits *digits) {
    wide w = 0;
    for (int i = 0; i < WORDS; i++) {
        w = (w + (wide)nvdp__digits_next(digits)) * (wide)0x1p-64;
    }
    w = (w + (wide)0x1p-257) / 2; /* w is never 0 */
    return nvdp__digits_next(digits) >> 63 ? -WIDE(log)(w) : -WIDE(log1p)(-w);
}

/* Draws log g by Marsaglia & Tsang (2000) as in gamma.c, for alpha >= 4, with exact normals. */
static wide log_draw(struct nvdp__digits *digits, wide alpha) {
    wide d = alpha - (wide)1 / 3;
    wide c = 1 / WIDE(sqrt)(9 * d);
    for (;;) {
        struct nvdp__exact_normal normal;
        nvdp__exact_normal(digits, &normal);
        wide x = (wide)nvdp__uniform_digit(digits, &normal.fraction, 1) * (wide)0x1p-64;
        x = normal.whole + (x + (wide)normal.fraction.digit[0]) * (wide)0x1p-64;
        wide t = normal.negative ? -c * x : c * x;
        wide e = exponential(digits);
        if (!(t > -1)) continue;
        wide log_v = 3 * WIDE(log1p)(t);
        if (e > -(x * x / 2 + d * (log_v - WIDE(expm1)(log_v)))) return WIDE(log)(d) + log_v;
    }
}

/* log g of g ~ Gamma(alpha, 1). Shapes below 4 are raised to at least 4, where draws near 0 are
 * rare:
 *
 *     log g = log g' - e_0/alpha - e_1/(alpha + 1) - ...,   g' ~ Gamma(alpha + n, 1),  e_k ~ Exp(1) */
static wide log_gamma_draw(struct nvdp__digits *digits, double alpha) {
    wide shape = (wide)alpha, down = 0;
    for (; shape < MIN_SHAPE; shape += 1) {
        down += exponential(digits) / shape;
    }
    return log_draw(digits, shape) - down;
}

size_t nvdp__release_scratch(size_t rows) {
    return rows * sizeof(wide);
}

bool nvdp__release_takes(size_t rows, const double *alpha) {
    double total = 0;
    for (size_t r = 0; r < rows; r++) {
        if (!(alpha[r] > 0)) return false;
        total += alpha[r];
    }
    return total <= MAX_TOTAL;
}

void nvdp__release_weights(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                           size_t rows, const double *alpha, void *scratch, int32_t *out) {
    wide *log_g = scratch, top = 0, sum = 0;
    const wide steps = (wide)ldexp(1, -grid->exponent);
    for (size_t r = 0; r < rows; r++) {
        log_g[r] = log_gamma_draw(digits, alpha[r]);
        top = r == 0 || log_g[r] > top ? log_g[r] : top;
    }
    for (size_t r = 0; r < rows; r++) {
        sum += WIDE(exp)(log_g[r] - top);
    }
    wide total = top + WIDE(log)(sum);
    for (size_t r = 0; r < rows; r++) {
        wide n = (total - log_g[r]) * steps + (wide)0.5;
        out[r] = n < grid->limit ? -(int32_t)n : -grid->limit;
    }
}

/* The distance of a text's weights from exact Dirichlet weights, by coupling: the distance is at most the probability
 * that this code and exact arithmetic, given the same random digits, return different weights. m is the number of
 * weights, a_i their pseudo-counts, A = sum a_i <= 2^20, G = sum g, h the step of the grid, u = 2^-112. Library
 * functions have errors of at most two units in the last place. The weights differ for one of three reasons.
 *
 * 1. A decision differs.  A proposal x, v = (1 + c x)^3, d = a - 1/3, is accepted if an exponential exceeds
 *    H = -x^2/2 - d (1 - v + log v).  An error dH changes the decision with probability at most 2 E[dH], the mean over
 *    accepted proposals, for which d v is Gamma(a):
 *
 *        dH  <=  u [2 x^2 + d |1 - v| (12 v^(-1/3) + 9 + 2 |log v|) + 2 d |1 - v|].
 *
 *    By Cauchy & Schwarz with E (1 - v)^2 <= 1.67/d, E v^(-2/3) <= 2.04, E log^2 v <= 1.68 for a >= 1, E[dH] is at most
 *    48 sqrt(d) u.  The probability is therefore at most 100 sqrt(a + 1) u per weight.
 * 2. A draw is extreme.  Shapes below 4 are drawn from one of 4 to 5 and lowered by exponentials, so v < 2^-24 has
 *    probability 2^-93.  Uniforms have 256 bits; fewer than 113 are significant with probability 2^-143.  The sum is at
 *    most 2^-92 per weight.
 * 3. A rounding differs.  Otherwise log g_i has an error of at most u (3234 + 10 log a + 7 |log g_i|): the error of v
 *    is u 12 v^(-1/3), at most 2^8 times 12 u, and that of an exponential is relative.  Then log pi_i = log g_i - log G
 *    has, above -128, an error of at most
 *
 *        D  =  u (8000 + 20 log(2^20 + 4) + 26 log m + 2 m + 18 |log G|),        E |log G|  <=  |log A| + 2/A + 1,
 *
 *    and G is independent of the weights.  The density f of log pi_i, the logarithm of a Beta(a_i, A - a_i), is
 *    log-concave or increasing.  Edges of the grid are at -h/2 and below.  h times the sum of f over all edges is at
 *    most 1 + h max f <= 4 + 3 a_i: max f <= 1/sd <= a_i if A - a_i >= 1, else f is at most 2.01 (a_i + 1)/h at -h/2.
 *    An edge is crossed with probability at most 2 E[D]/h (4 m + 3 A).
 *
 * The code uses the largest A; for |log A| it also considers the prior's pseudo-count, the smallest A. */
double nvdp__release_distance(const struct nvdp__rounding_grid *grid, size_t rows,
                              double prior_alpha) {
    const double m = (double)rows, largest = log(MAX_TOTAL + MIN_SHAPE);
    double decisions = 100 * sqrt(MAX_TOTAL + MIN_SHAPE + 1) * EPSILON + 0x1p-92;
    double log_total = fmax(fabs(log(prior_alpha)), largest) + 2 / prior_alpha + 1;
    double error = (8000 + 20 * largest + 26 * log(m) + 2 * m + 18 * log_total) * EPSILON;
    double crossings = 2 * ldexp(error, -grid->exponent) * (4 * m + 3 * MAX_TOTAL);
    return m * decisions + crossings;
}
