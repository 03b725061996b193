/* Quantiles and confidence intervals.
 *
 * No call of GSL here can reach its error handler, which aborts: arguments are checked before.
 * GSL's iterative inverse of the beta distribution may fail to converge, so bisection replaces
 * it. */
#include "rdp/pairs.h"
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>

const double nvdp__pair_quantile_level[NVDP_PAIR_QUANTILES] = {.5, .9, .95, .99, .999};

double nvdp_pair_quantile_level(size_t i) {
    return i < NVDP_PAIR_QUANTILES ? nvdp__pair_quantile_level[i] : NAN;
}

size_t nvdp__quantile_place(size_t n, double level) {
    double rank = ceil(level * (double)n - 1e-9); /* .95 * 20 is 19 */
    return nvdp__min(rank < 1 ? 0 : (size_t)rank - 1, n - 1);
}

double nvdp__quantile(size_t n, size_t first, double level, double *values, size_t *place) {
    size_t at = nvdp__quantile_place(n, level);
    if (at >= first) gsl_stats_select(values + first, 1, n - first, at - first);
    *place = at;
    return values[at];
}

double nvdp__student_quantile(double tail, double freedom) {
    if (!(tail > 0 && tail < 1 && freedom >= 1)) return NAN;
    return gsl_cdf_tdist_Qinv(tail, freedom);
}

struct nvdp_interval nvdp__interval_student(double confidence, size_t n, double mean, double sd) {
    if (n < 2) return (struct nvdp_interval){NAN, NAN};
    double t = nvdp__student_quantile((1 - confidence) / 2, (double)(n - 1));
    double reach = t * sd / sqrt((double)n);
    return (struct nvdp_interval){mean - reach, mean + reach};
}

/* Maurer & Pontil 2009, Theorem 4, on either side with probability alpha/2 = 1/x:
 *
 *     sd sqrt(2 log(2x) / n)  +  7 max log(2x) / (3 (n-1)),    sd with n-1. */
struct nvdp_interval nvdp__interval_bernstein(double confidence, size_t n, double mean, double sd,
                                              double max) {
    if (n < 2) return (struct nvdp_interval){0, max};
    double tail = log(2 / ((1 - confidence) / 2));
    double reach = sd * sqrt(2 * tail / (double)n) + 7 * max * tail / (3 * ((double)n - 1));
    return (struct nvdp_interval){fmax(mean - reach, 0), fmin(mean + reach, max)};
}

/* P(Binomial(n, p) <= k) = 1 - I_p(k+1, n-k). */
static double binomial(size_t n, double p, size_t k) {
    return k >= n ? 1 : gsl_cdf_beta_Q(p, (double)k + 1, (double)(n - k));
}

/* The smallest k with P(Binomial(n, p) <= k) >= probability. */
static size_t binomial_inverse(size_t n, double p, double probability) {
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (binomial(n, p, middle) >= probability) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The number of values at or below the quantile is Binomial(n, >= level), the number below it
 * Binomial(n, <= level). Value `low` is above it with P(Bin <= low - 1) <= alpha/2, value `high`
 * below it with P(Bin >= high) <= alpha/2. */
void nvdp__interval_ranks(double confidence, size_t n, double level, size_t *low, size_t *high) {
    double tail = (1 - confidence) / 2;
    size_t smallest = binomial_inverse(n, level, tail);
    *low = binomial(n, level, smallest) <= tail ? smallest + 1 : smallest;
    *high = binomial_inverse(n, level, 1 - tail) + 1;
}

/* The x in (0, 1) at which gsl_cdf_beta_P(x, a, b) reaches `probability`, to the last bit.
 * gsl_cdf_beta_Pinv fails, through the error handler, from a + b = 1e5 on. */
static double beta_inverse(double probability, double a, double b) {
    double low = 0, high = 1;
    for (;;) {
        double x = low + (high - low) / 2;
        if (!(x > low && x < high)) return x;
        if (gsl_cdf_beta_P(x, a, b) < probability) {
            low = x;
        } else {
            high = x;
        }
    }
}

/* Clopper & Pearson 1934; the upper end is one minus the lower end of the complement. */
struct nvdp_interval nvdp__interval_share(double confidence, size_t n, size_t successes) {
    double tail = (1 - confidence) / 2;
    struct nvdp_interval made = {0, 1};
    if (successes > 0)
        made.low = beta_inverse(tail, (double)successes, (double)(n - successes) + 1);
    if (successes < n)
        made.high = 1 - beta_inverse(tail, (double)(n - successes), (double)successes + 1);
    return made;
}

double nvdp__share_error(double share, size_t n) {
    const double one = 1 / (double)n, inner = fmin(fmax(share, one), 1 - one);
    return sqrt(inner * (1 - inner) / (double)n);
}
