/* Converts divergences of samples into other numbers: the largest probability of a guess, epsilon and delta of
 * Gaussian DP, and the cost and epsilon of Bayesian DP. */
#include "rdp/divergence.h"
#include "rdp/pairs.h"
#include <float.h>
#include <gsl/gsl_sf_erf.h>
#include <stdlib.h>

/* --- Renyi divergence of two distributions over the same finite set, given by their logarithms, and the largest
 * probability that a divergence allows --- */

/* Van Erven & Harremoes 2014, Eq. 1, with t = log p/q, over the y with p > 0:
 *
 *     l = 1       sum p t
 *     l = inf     max t
 *     otherwise   1/(l-1) log sum p exp((l-1) t).
 *
 * Near order 1 the sum is near 1: if no |(l-1) t| exceeds 1/2, it is computed as 1 + sum p
 * expm1((l-1) t), and its logarithm as a log1p. Otherwise the largest exponent is factored out.
 * q = 0 < p gives +inf for l >= 1 and adds nothing to the sum for l < 1. l < 1 is +inf if the
 * supports are disjoint. The rounding error is at most 4 DBL_EPSILON *size. */
static double discrete(double order, size_t n, const double *log_p, const double *log_q,
                       double *size) {
    order = nvdp__order(order);
    *size = 0;
    if (isnan(order)) return NAN;
    const double s = order - 1;
    double max = -INFINITY, widest = 0, top = -INFINITY;
    for (size_t y = 0; y < n; y++) {
        if (isnan(log_p[y]) || isnan(log_q[y])) return NAN;
        if (log_p[y] == -INFINITY) continue;
        double t = log_p[y] - log_q[y];
        max = t > max ? t : max;
        widest = fabs(t) > widest ? fabs(t) : widest;
        double exponent = log_p[y] + s * t;
        top = exponent > top ? exponent : top;
    }
    if (isinf(order) || (max == INFINITY && s >= 0)) return max > 0 ? max : 0;
    if (top == -INFINITY) return INFINITY;
    const bool near = fabs(s) * widest <= 0.5;
    double sum = 0, parts = 0;
    for (size_t y = 0; y < n; y++) {
        if (log_p[y] == -INFINITY) continue;
        const double t = log_p[y] - log_q[y], logs = fabs(log_p[y]) + fabs(log_q[y]);
        const double p = exp(log_p[y]), tilted = near ? 0 : exp(log_p[y] + s * t - top);
        sum += s == 0 ? p * t : near ? p * expm1(s * t) : tilted;
        parts += near ? p * logs * (2 + fabs(log_p[y])) : tilted * (1 + fabs(s)) * logs;
    }
    *size = near ? parts : (1 + fabs(top) + parts / sum) / fabs(s);
    double value = s == 0 ? sum : (near ? log1p(sum) : log(sum) + top) / s;
    return value > 0 ? value : 0;
}

double nvdp_renyi_discrete(double order, size_t n, const double *log_p, const double *log_q) {
    double size;
    return discrete(order, n, log_p, log_q, &size);
}

/* Bisects in logits t, p = 1/(1 + e^-t), because logits resolve p near 1. The divergence of two outcomes increases
 * with p for p >= q. Returns the upper end of the last interval. */
double nvdp_renyi_probability_bound(double order, double divergence, double chance) {
    enum { HALVINGS = 200 };
    const double log_q[] = {log(chance), log1p(-chance)};
    double low = log_q[0] - log_q[1], high = 745;
    if (!(order > 0) || !(divergence >= 0) || !(chance > 0 && chance < 1)) return NAN;
    if (divergence == 0) return chance;
    for (int i = 0; i < HALVINGS; i++) {
        const double t = (low + high) / 2, both = log1p(exp(-fabs(t)));
        const double log_p[] = {fmin(t, 0) - both, -fmax(t, 0) - both};
        double size;
        const double here = discrete(order, 2, log_p, log_q, &size);
        *(here - 4 * DBL_EPSILON * size <= divergence ? &low : &high) = t;
    }
    const double p = high < -700 ? exp(high) : 1 / (1 + exp(-high));
    return low > 744 ? 1 : fmin(fmax(p * (1 + 4 * DBL_EPSILON), nextafter(chance, 1)), 1);
}

/* --- Gaussian DP --- */

/* Gaussian differential privacy (Dong, Roth & Su 2022): the curve of N(mu, 1) against N(0, 1),
 *
 *     delta(eps)  =  Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)       (Balle & Wang 2018, Theorem 8),
 *
 * and the inverses of this curve. The inverses are found by bisection and rounded so that they never promise too
 * much. */

/* 1/m - x for Mills' ratio m(x), x >= 5: the continued fraction 1/(x + 2/(x + 3/(x + ...))),
 * whose 64 terms have an error of 1e-17. */
static double mills_rest(double x) {
    double rest = 0;
    for (int k = 64; k > 0; k--)
        rest = k / (x + rest);
    return rest;
}

/* log delta of N(mu, 1) against N(0, 1), epsilon >= 0. With a = eps/mu - mu/2 and m = (1 -
 * Phi)/phi, Mills' ratio,
 *
 *     delta = phi(a) [m(a) - m(a + mu)],    -m'(x) = 1 - x m(x):
 *
 * for large mu a difference, with 1 - Phi(a) for the first term if a is not far in the tail; for
 * small mu the integral of -m' (Gauss & Legendre, five points). Below a = -40, delta is 1 up to
 * 1e-340. */
static double log_gdp_at(double mu, double a) {
    static const double node[] = {0, 0.53846931010568309, 0.90617984593866399};
    static const double weight[] = {0.56888888888888889, 0.47862867049936647, 0.23692688505618909};
    const double scale = -a * a / 2 - log(2 * M_PI) / 2;
    double sum = 0;
    if (a < -40) return 0;
    if (isinf(scale)) return -INFINITY;
    if (mu > 0.2 && a < 5) {
        const double first =
            a < 0 ? log1p(-erfc(-a * M_SQRT1_2) / 2) : gsl_sf_log_erfc(a * M_SQRT1_2) - M_LN2;
        const double less = scale - log(gsl_sf_hazard(a + mu)) - first;
        return first + (less < -M_LN2 ? log1p(-exp(less)) : log(-expm1(less)));
    }
    if (mu > 0.2) sum = 1 / (a + mills_rest(a)) - 1 / (a + mu + mills_rest(a + mu));
    for (int i = -2; i <= 2 && !(mu > 0.2); i++) {
        const double x = a + mu / 2 * (1 + (i < 0 ? -node[-i] : node[i]));
        const double rest = x < 5 ? gsl_sf_hazard(x) - x : mills_rest(x);
        sum += mu / 2 * weight[abs(i)] * rest / (x + rest);
    }
    return scale + log(fmax(sum, 0));
}

/* eps - mu^2/2 is rounded only once, because for large mu the difference is small compared with eps and with mu^2/2. */
static double log_gdp(double mu, double epsilon) {
    return log_gdp_at(mu, fma(-mu / 2, mu, epsilon) / mu);
}

double nvdp_gdp_delta(double mu, double epsilon) {
    if (!(mu >= 0) || isnan(epsilon)) return NAN;
    if (epsilon < 0) return -expm1(epsilon) + exp(epsilon) * nvdp_gdp_delta(mu, -epsilon);
    if (mu == 0) return 0;
    return isinf(mu) ? 1 : exp(log_gdp(mu, epsilon));
}

double nvdp__gdp_mu(double epsilon, double log_delta) {
    double low = 0, high = 1;
    if (log_delta == -INFINITY) return 0;
    if (log_delta >= 0) return INFINITY;
    while (log_gdp(high, epsilon) < log_delta)
        high *= 2;
    while (high - low > 1e-14 * high) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;
        *(log_gdp(middle, epsilon) < log_delta ? &low : &high) = middle;
    }
    return high;
}

/* Subtracts the possible error of log_gdp() from log delta. The error is 2e-13 of delta if the two parts of delta
 * have similar size, else a few units in the last place of the exponent. */
static double safe_log(double delta) {
    return log(delta) * (1 + 2e-15) - 1e-12 * (1 - delta);
}

double nvdp_gdp_mu(double epsilon, double delta) {
    if (!(epsilon >= 0) || isinf(epsilon) || !(delta > 0 && delta < 1)) return NAN;
    /* the lower end of the last interval */
    return nextafter(nvdp__gdp_mu(epsilon, safe_log(delta)) * (1 - 2e-14), 0);
}

double nvdp_gdp_epsilon(double mu, double delta) {
    const double target = safe_log(delta);
    if (!(mu >= 0) || !(delta > 0 && delta < 1)) return NAN;
    if (isinf(mu)) return INFINITY;
    if (mu == 0 || log_gdp(mu, 0) <= target) return 0;
    /* For large mu, searches a in epsilon = mu^2/2 + a mu, because a keeps its digits; else searches epsilon itself. */
    const bool large = mu > 1e3;
    double low = large ? -40 : 0, high = large ? 40 : 1;
    while (!large && log_gdp(mu, high) > target)
        high *= 2;
    while (high - low > 1e-14 * (large ? 1 : high)) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) break;
        const double here = large ? log_gdp_at(mu, middle) : log_gdp(mu, middle);
        *(here > target ? &low : &high) = middle;
    }
    return large ? mu * (mu / 2 + high) * (1 + 1e-15) : high;
}

/* --- Bayesian differential privacy: the moments accountant over the data distribution instead of the worst case --- */

double nvdp__bdp_epsilon(const struct nvdp__bdp_options *options, double moment, int calls,
                         double cost) {
    return (calls * cost - log(options->delta - nvdp__bdp_spent(options->gamma, calls))) / moment;
}

/* Triastcyn & Faltings 2020, Theorem 2, in its finite-sample form: for one text, X_j over a
 * population of m others, T releases,
 *     cost = 1/T log[ M + t S / sqrt(m-1) ],   M = mean e^X, S = population deviation of e^X,
 * t the upper gamma-quantile of Student's t with m-1 degrees of freedom. Domain: m >= 2, X >= 0.
 * Two passes over e^(X - max X) avoid overflow. Any X = +inf makes the cost +inf. If all X are
 * equal, S is 0 (log S = -inf) and the cost is X/T. */
struct nvdp_bdp_cost nvdp__bdp_cost(const struct nvdp__bdp_options *options, double moment,
                                    double scale, size_t m, const double *x) {
    struct nvdp_bdp_cost made = {.struct_size = sizeof made, .moment = moment, .m = m};
    double max = 0;
    for (size_t j = 0; j < m; j++) {
        max = fmax(max, scale * x[j]);
    }
    made.max = max;
    made.t = nvdp__student_quantile(options->gamma, (double)(m - 1));
    if (isinf(max)) {
        made.cost = made.epsilon = made.log_mean = made.log_sd = INFINITY;
        return made;
    }
    double sum = 0;
    for (size_t j = 0; j < m; j++) {
        sum += exp(scale * x[j] - max);
    }
    double mean = sum / (double)m;
    double squares = 0;
    for (size_t j = 0; j < m; j++) {
        double off = exp(scale * x[j] - max) - mean;
        squares += off * off;
    }
    double deviation = sqrt(squares / (double)m);
    made.log_mean = max + log(mean);
    made.log_sd = max + log(deviation);
    double bound = mean + made.t * deviation / sqrt((double)m - 1);
    made.cost = (max + log(bound)) / options->releases;
    made.epsilon = nvdp__bdp_epsilon(options, moment, options->releases, made.cost);
    return made;
}

double nvdp__epsilon_more(double s, double delta) {
    return -log1p(1 / s) - (log(delta) + log1p(s)) / s;
}

double nvdp_renyi_epsilon(double order, double divergence, double delta) {
    if (!(order > 1 && divergence >= 0 && delta > 0 && delta < 1)) return NAN;
    if (isinf(order)) return divergence;
    const double s = order - 1, parts = log1p(1 / s) + (log1p(s) - log(delta)) / s;
    const double rounding = 4 * DBL_EPSILON * (divergence + parts);
    return fmax(divergence + nvdp__epsilon_more(s, delta) + rounding, 0);
}

static nvdp_status check_statement(struct nvdp_context *ctx,
                                   const struct nvdp__bdp_options *options, size_t m) {
    double moment = options->published_moment;
    if (!(moment > 0 && moment <= 1e6))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "moment: expected a number in (0, 1e6], found %g",
                          moment);
    if (m < 2)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "population: expected at least 2 other texts, found %zu", m);
    return nvdp__bdp_check(ctx, options);
}

static nvdp_status check_divergences(struct nvdp_context *ctx, size_t m, const double *d) {
    for (size_t j = 0; j < m; j++) {
        if (d[j] >= 0) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "divergence %zu: expected a number >= 0 or +inf, found %g", j, d[j]);
    }
    return NVDP_OK;
}

nvdp_status nvdp_bdp(struct nvdp_context *ctx, double delta, double gamma, int releases,
                     double moment, size_t m, const double *d, struct nvdp_bdp_cost *out) {
    const struct nvdp__bdp_options options = {delta, gamma, releases, moment};
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check_statement(ctx, &options, m));
    NVDP_TRY(check_divergences(ctx, m, d));
    struct nvdp_bdp_cost made = nvdp__bdp_cost(&options, moment, releases * moment, m, d);
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

/* log P(Binomial(n, q) = i) */
static double log_binomial(int n, int i, double q) {
    double choose =
        nvdp__log_gamma(n + 1.0) - nvdp__log_gamma(i + 1.0) - nvdp__log_gamma(n - i + 1.0);
    double hit = i > 0 ? i * log(q) : 0;
    double miss = i < n ? (n - i) * log1p(-q) : 0;
    return choose + hit + miss;
}

/* log E_{i ~ Binomial(k+1, q)} e^{(i-1) D_i} for text j (Triastcyn & Faltings 2020). The terms of D_0 and D_1 have
 * the factor 1. An infinite D_i with weight zero does not count. */
static double subsampled(int moment, double rate, size_t m, const double *d, size_t j) {
    double largest = -INFINITY;
    double sum = 0;
    for (int i = 0; i <= moment + 1; i++) {
        double weight = log_binomial(moment + 1, i, rate);
        if (isinf(weight)) continue;
        double term = weight + (i < 2 ? 0 : (i - 1) * d[(size_t)i * m + j]);
        if (isinf(term)) return INFINITY;
        if (term > largest) {
            sum = sum * exp(largest - term) + 1;
            largest = term;
        } else {
            sum += exp(term - largest);
        }
    }
    /* the sum is the mean of numbers >= 1, so its logarithm is >= 0 */
    return fmax(largest + log(sum), 0);
}

nvdp_status nvdp_bdp_subsampled(struct nvdp_context *ctx, double delta, double gamma, int releases,
                                int moment, double rate, size_t m, const double *d,
                                struct nvdp_bdp_cost *out) {
    const struct nvdp__bdp_options options = {delta, gamma, releases, moment};
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(check_statement(ctx, &options, m));
    if (!(rate > 0 && rate <= 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "rate: expected a number in (0, 1], found %g",
                          rate);
    for (int i = 2; i <= moment + 1; i++) {
        NVDP_TRY(check_divergences(ctx, m, d + (size_t)i * m));
    }
    nvdp__autofree double *x = NULL;
    NVDP_TRY(NVDP__NEW(ctx, x, m));
    for (size_t j = 0; j < m; j++) {
        x[j] = subsampled(moment, rate, m, d, j);
    }
    struct nvdp_bdp_cost made = nvdp__bdp_cost(&options, moment, releases, m, x);
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}
