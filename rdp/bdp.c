/* Bayesian differential privacy: the moments accountant over data instead of over the worst case.
 */
#include "rdp/pairs.h"
#include <stdlib.h>

struct nvdp_bdp_config nvdp_bdp_config_default(void) {
    return (struct nvdp_bdp_config){
        .delta = 1e-5, .gamma = 1e-6, .releases = 1, .published_moment = 1.1};
}

/* 1 - (1-gamma)^calls: the probability that one of the Student bounds fails. */
static double spent(double gamma, int calls) {
    return -expm1(calls * log1p(-gamma));
}

nvdp_status nvdp__bdp_check(struct nvdp_context *ctx, const struct nvdp_bdp_config *config) {
    if (!(config->delta > 0 && config->delta < 1)) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "delta: expected a number in (0, 1), found %g",
                          config->delta);
    }
    if (!(config->gamma > 0 && config->gamma < 0.5)) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "gamma: expected a number in (0, 0.5), found %g",
                          config->gamma);
    }
    if (config->releases < 1) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "releases: expected at least 1, found %d",
                          config->releases);
    }
    if (!(config->published_moment > 0 && config->published_moment <= 1e6)) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "published_moment: expected a number in (0, 1e6], found %g",
                          config->published_moment);
    }
    double failure = spent(config->gamma, config->releases);
    if (!(config->delta > failure)) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "delta: expected more than 1-(1-gamma)^releases = %g, found %g: choose a "
                          "smaller gamma",
                          failure, config->delta);
    }
    return NVDP_OK;
}

double nvdp__bdp_epsilon(const struct nvdp_bdp_config *config, double moment, int calls,
                         double cost) {
    return (calls * cost - log(config->delta - spent(config->gamma, calls))) / moment;
}

/* Triastcyn & Faltings 2020, Theorem 2, in its finite-sample form: for one text,
 * X_j over a population of m others, T releases,
 *     cost = 1/T log[ M + t S / sqrt(m-1) ],   M = mean e^X, S = population deviation of e^X,
 * t the upper gamma-quantile of Student's t with m-1 degrees of freedom.
 * Domain: m >= 2, X >= 0.  Two passes over e^(X - max X), so nothing overflows; any X = +inf makes
 * the cost +inf; all X equal makes S 0 (log S = -inf) and the cost X/T. */
struct nvdp_bdp_cost nvdp__bdp_cost(const struct nvdp_bdp_config *config, double moment,
                                    double scale, size_t m, const double *x) {
    struct nvdp_bdp_cost made = {.struct_size = sizeof made, .moment = moment, .m = m};
    double max = 0;
    for (size_t j = 0; j < m; j++) {
        max = fmax(max, scale * x[j]);
    }
    made.max = max;
    made.t = nvdp__student_quantile(config->gamma, (double)(m - 1));
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
    made.cost = (max + log(bound)) / config->releases;
    made.epsilon = nvdp__bdp_epsilon(config, moment, config->releases, made.cost);
    return made;
}

static nvdp_status check_population(struct nvdp_context *ctx, size_t m, double moment) {
    if (!(moment > 0 && moment <= 1e6)) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "moment: expected a number in (0, 1e6], found %g",
                          moment);
    }
    if (m < 2) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "population: expected at least 2 other texts, found %zu", m);
    }
    return NVDP_OK;
}

static nvdp_status check_divergences(struct nvdp_context *ctx, size_t m, const double *d) {
    for (size_t j = 0; j < m; j++) {
        if (d[j] >= 0) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "divergence %zu: expected a number >= 0 or +inf, found %g", j, d[j]);
    }
    return NVDP_OK;
}

nvdp_status nvdp_bdp(struct nvdp_context *ctx, const struct nvdp_bdp_config *config, double moment,
                     size_t m, const double *d, struct nvdp_bdp_cost *out) {
    NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    NVDP_RETURN_IF_FAILED(nvdp__bdp_check(ctx, config));
    NVDP_RETURN_IF_FAILED(check_population(ctx, m, moment));
    NVDP_RETURN_IF_FAILED(check_divergences(ctx, m, d));
    struct nvdp_bdp_cost made = nvdp__bdp_cost(config, moment, config->releases * moment, m, d);
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

/* log E_{i ~ Binomial(k+1, q)} e^{(i-1) D_i} for text j (Triastcyn & Faltings 2020).
 * D_0 = D_1's factor is 1; a weight of zero silences an infinite D_i. */
static double subsampled(int moment, double rate, const double *const *d, size_t j) {
    double most = -INFINITY;
    double sum = 0;
    for (int i = 0; i <= moment + 1; i++) {
        double weight = log_binomial(moment + 1, i, rate);
        if (isinf(weight)) continue;
        double term = weight + (i < 2 ? 0 : (i - 1) * d[i][j]);
        if (isinf(term)) return INFINITY;
        if (term > most) {
            sum = sum * exp(most - term) + 1;
            most = term;
        } else {
            sum += exp(term - most);
        }
    }
    return fmax(most + log(sum), 0); /* >= 0: a mean of e^(something >= 0) */
}

nvdp_status nvdp_bdp_subsampled(struct nvdp_context *ctx, const struct nvdp_bdp_config *config,
                                int moment, double rate, size_t m, const double *const *d,
                                struct nvdp_bdp_cost *out) {
    NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    NVDP_RETURN_IF_FAILED(nvdp__bdp_check(ctx, config));
    NVDP_RETURN_IF_FAILED(check_population(ctx, m, moment));
    if (!(rate > 0 && rate <= 1)) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "rate: expected a number in (0, 1], found %g",
                          rate);
    }
    for (int i = 2; i <= moment + 1; i++) {
        NVDP_RETURN_IF_FAILED(check_divergences(ctx, m, d[i]));
    }
    double *x = nvdp__calloc(ctx, m, sizeof *x);
    if (x == NULL) return NVDP_ERR_MEMORY;
    for (size_t j = 0; j < m; j++) {
        x[j] = subsampled(moment, rate, d, j);
    }
    struct nvdp_bdp_cost made = nvdp__bdp_cost(config, moment, config->releases, m, x);
    NVDP__GIVE(out, &made);
    free(x);
    return NVDP_OK;
}
