/* The implicit gradient of Gamma draws, and the draws themselves. */
#include "fixture.h"
#include <gsl/gsl_cdf.h>

#include "quantile_slope.inc"

/* Computes dg/da of g ~ Gamma(a, 1) at fixed randomness. */
static double implicit_gradient(double alpha, double g) {
    if (g == 0) return 0;
    return g / alpha * nvdp__gamma_implicit_log_gradient(alpha, log(g));
}

/* The reference values are correct to their printed digits. */
Test(gamma, golden_gradients) {
    json_error_t error;
    nvdp__autoptr(json_decref) json_t *all =
        json_load_file(support_golden("gamma_implicit_gradient.json"), 0, &error);
    cr_assert_not_null(all);
    double worst = 0;
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *item = json_array_get(all, i);
        double alpha = number_at(item, "alpha");
        double g = number_at(item, "gamma");
        double want = number_at(item, "dgamma_dalpha");
        double wrong = support_relative(implicit_gradient(alpha, g), want, 0);
        worst = fmax(worst, wrong);
        cr_expect_lt(wrong, 1e-11, "alpha %g, g %g: %g", alpha, g, wrong);
    }
    cr_log_info("worst relative error of %zu: %.2g", json_array_size(all), worst);
}

/* The three forms lose at most three digits of sixteen to cancellation. */
Test(gamma, slopes_of_quantiles) {
    size_t count = sizeof quantile_slope / sizeof quantile_slope[0];
    for (size_t i = 0; i < count; i++) {
        const double *row = quantile_slope[i];
        double got = nvdp__gamma_implicit_log_gradient(row[0], row[1]);
        agrees(got, row[2], 1e-11, "alpha %g, log g %g: %.17g, not %.17g", row[0], row[1], got,
               row[2]);
    }
}

/* Compares both sides of a seam, so near that the function itself moves by less than 1e-11 of
 * its value. */
static void seam(double alpha1, double log_g1, double alpha2, double log_g2) {
    double one = nvdp__gamma_implicit_log_gradient(alpha1, log_g1);
    double other = nvdp__gamma_implicit_log_gradient(alpha2, log_g2);
    agrees(one, other, 1e-11, "alpha %g, log g %g: %.17g and %.17g", alpha1, log_g1, one, other);
}

Test(gamma, continuous) {
    const double near = 1e-13;
    for (double log_a = -10; log_a <= 10; log_a += 0.25) {
        double alpha = exp(log_a);
        double edge = log(alpha + 3 * sqrt(alpha) + 2);
        seam(alpha, edge - near, alpha, edge + near);
        seam(alpha, log_a + 1 - near, alpha, log_a + 1 + near);
        seam(alpha, log_a - 1 - near, alpha, log_a - 1 + near);
    }
    for (double t = -1; t <= 1; t += 0.125)
        seam(64 * (1 - near), log(64) + t, 64 * (1 + near), log(64) + t);
}

Test(gamma, ends) {
    /* For g -> 0 the slope is psi(alpha + 1) - log g, also where g itself underflows. */
    near(nvdp__gamma_implicit_log_gradient(0.5, -1e6), nvdp__digamma(1.5) + 1e6, 1e-9);
    cr_expect_eq(implicit_gradient(0.5, 0), 0);
    /* For large alpha, g moves with alpha, one for one. */
    near(nvdp__gamma_implicit_log_gradient(1e12, log(1e12)), 1, 1e-11);
    for (double log_a = -11.5; log_a <= 11.5; log_a += 0.5) {
        for (double log_g = -60; log_g <= 14; log_g += 0.5) {
            double y = nvdp__gamma_implicit_log_gradient(exp(log_a), log_g);
            cr_expect(isfinite(y) && y > 0, "alpha e^%g, log g %g: %g", log_a, log_g, y);
        }
    }
    cr_expect(isnan(nvdp__gamma_implicit_log_gradient(0, 1)));
    cr_expect(isnan(nvdp__gamma_implicit_log_gradient(INFINITY, 1)));
    cr_expect(isnan(nvdp__gamma_implicit_log_gradient(1, NAN)));
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Computes P(alpha, g) from log g. For tiny g, uses the first term of its series, alpha log g -
 * log Gamma(alpha+1). */
static double cdf(double alpha, double log_g) {
    if (log_g < -40) return exp(alpha * log_g - nvdp__log_abs_gamma(alpha + 1));
    return gsl_cdf_gamma_P(exp(log_g), alpha, 1);
}

/* A Kolmogorov-Smirnov test on P(alpha, g), which is uniform: on this scale a small alpha's log
 * g shows all its values. sqrt(n) D > 2.4 has probability 2 exp(-2 2.4^2) = 2e-5 per alpha, 2e-4
 * in all; the seed is fixed. */
Test(gamma, draws_follow_the_distribution) {
    enum { N = 20000 };
    static double u[N];
    const double alphas[] = {4.5399929762484854e-5, 1e-3, 0.05, 0.3, 0.999, 1, 2.5, 40, 1000, 1e5};
    for (size_t k = 0; k < sizeof alphas / sizeof alphas[0]; k++) {
        struct nvdp__noise noise = {.seed = 2024};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_GAMMA, (uint32_t)k, 1);
        for (size_t i = 0; i < N; i++)
            u[i] = cdf(alphas[k], nvdp__gamma_log_draw(&stream, alphas[k]));
        qsort(u, N, sizeof u[0], ascending);
        double distance = 0;
        for (size_t i = 0; i < N; i++) {
            distance = fmax(distance, fabs(u[i] - (double)i / N));
            distance = fmax(distance, fabs(u[i] - (double)(i + 1) / N));
        }
        cr_expect_lt(sqrt(N) * distance, 2.4, "alpha %g: %g", alphas[k], sqrt(N) * distance);
    }
}

/* The gradient is that of a distribution: E[dg/dalpha] = d E[g]/dalpha = 1. The mean of 20000
 * lies within 5 standard errors: 6e-7 per alpha. */
Test(gamma, mean_gradient_is_one) {
    enum { N = 20000 };
    const double alphas[] = {0.05, 0.7, 3, 63, 65, 5000};
    for (size_t k = 0; k < sizeof alphas / sizeof alphas[0]; k++) {
        struct nvdp__noise noise = {.seed = 7};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_GAMMA, (uint32_t)k, 2);
        double sum = 0, squares = 0;
        for (size_t i = 0; i < N; i++) {
            double g = exp(nvdp__gamma_log_draw(&stream, alphas[k]));
            double d = implicit_gradient(alphas[k], g);
            sum += d;
            squares += d * d;
        }
        double mean = sum / N;
        double error = sqrt((squares / N - mean * mean) / N);
        cr_expect_lt(fabs(mean - 1), 5 * error, "alpha %g: %g +- %g", alphas[k], mean, error);
    }
}

Test(gamma, draws_of_no_distribution) {
    struct nvdp__noise noise = {.seed = 7};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_GAMMA, 0, 2);
    cr_expect(isnan(nvdp__gamma_log_draw(&stream, NAN)));
    cr_expect(isnan(nvdp__gamma_log_draw(&stream, 0)));
    cr_expect(isnan(nvdp__gamma_log_draw(&stream, INFINITY)));
    cr_expect(isfinite(nvdp__gamma_log_draw(&stream, 1e-300)));
}
