/* Bayesian differential privacy: the moments accountant over the data distribution instead of
 * the worst case. */
#include "rdp/pairs.h"
#include <float.h>
#include <stdlib.h>

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

/* log E_{i ~ Binomial(k+1, q)} e^{(i-1) D_i} for text j (Triastcyn & Faltings 2020). The factor
 * of D_0 and D_1 is 1; an infinite D_i with weight zero does not count. */
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
    return fmax(largest + log(sum), 0); /* >= 0: the mean of e^(a number >= 0) */
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
    double *x = NULL;
    NVDP_TRY(NVDP__NEW(ctx, x, m));
    for (size_t j = 0; j < m; j++) {
        x[j] = subsampled(moment, rate, m, d, j);
    }
    struct nvdp_bdp_cost made = nvdp__bdp_cost(&options, moment, releases, m, x);
    NVDP__GIVE(out, &made);
    free(x);
    return NVDP_OK;
}
