/* Compares the exact regularizer with integrals of its definition, E_q[log q/p], one variable at
 * a time.
 *
 * Weights: with V_k = pi_k/(pi_k + pi_(k+1) + ...), a one-to-one map of the weights, a
 * Dirichlet(a) makes the V_k independent Beta(a_k, a_(k+1) + a_(k+2) + ...); its divergence is
 * the sum of theirs. Vectors: coordinates are independent. For kappa > 1 every component's
 * weight is kappa weights of a_i/kappa and its vector kappa draws. All of them are shared, so
 * all count. */
#include "fixture.h"
#include <gsl/gsl_integration.h>
#include <gsl/gsl_sf_gamma.h>

/* Makes posteriors, or gradients, from arrays. */
#define NUMBERS(dim, mu, logvar, log_alpha)                                                        \
    (&(const struct nvdp__posterior){0, dim, (float *)(mu), (float *)(logvar),                     \
                                     (float *)(log_alpha)})

static const struct nvdp__device dev = {.threads = 1};
enum { TOKENS = 3, DIM = 2, WEIGHTS = 64, INTERVALS = 2000 };

/* --- one variable --- */

/* Beta(a1, a2) and Beta(b1, b2) as densities of t = log(x/(1-x)), smooth on the whole line. */
struct betas {
    double a1, a2, b1, b2;
};

static double log_beta_density(double a1, double a2, double t) {
    double log_x = t < 0 ? t - log1p(exp(t)) : -log1p(exp(-t));
    return a1 * log_x + a2 * (log_x - t) - gsl_sf_lnbeta(a1, a2);
}

static double beta_integrand(double t, void *user) {
    const struct betas *f = user;
    double log_q = log_beta_density(f->a1, f->a2, t);
    return log_q < -700 ? 0 : exp(log_q) * (log_q - log_beta_density(f->b1, f->b2, t));
}

struct normal {
    double mu, var;
};

static double normal_integrand(double x, void *user) {
    const struct normal *f = user;
    double log_q = -0.5 * ((x - f->mu) * (x - f->mu) / f->var + log(2 * M_PI * f->var));
    double log_p = -0.5 * (x * x + log(2 * M_PI));
    return log_q < -700 ? 0 : exp(log_q) * (log_q - log_p);
}

static double integral(double (*integrand)(double, void *), void *user) {
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(INTERVALS);
    gsl_function f = {integrand, user};
    double value = NAN, error;
    cr_assert_eq(gsl_integration_qagi(&f, 1e-11, 1e-11, INTERVALS, work, &value, &error), 0);
    gsl_integration_workspace_free(work);
    return value;
}

/* --- the whole sample --- */

static double tail(size_t m, const double *a, size_t k) {
    double sum = 0;
    for (size_t i = k + 1; i < m; i++)
        sum += a[i];
    return sum;
}

static double dirichlet_divergence(size_t m, const double *a, const double *b) {
    double sum = 0;
    for (size_t k = 0; k + 1 < m; k++) {
        struct betas f = {a[k], tail(m, a, k), b[k], tail(m, b, k)};
        sum += integral(beta_integrand, &f);
    }
    return sum;
}

static double gaussian_divergence(size_t n, const double *mu, const double *logvar) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        struct normal f = {mu[i], exp(logvar[i])};
        sum += integral(normal_integrand, &f);
    }
    return sum;
}

struct setting {
    double prior_alpha, delta;
    int kappa;
    size_t length; /* 0: public */
};

/* Sets the pseudo-counts of every weight that is shared, of a text and of an empty one. */
static size_t all_weights(const struct setting *s, const double *alpha, double *a, double *b) {
    size_t components = (s->length > 0 ? s->length : TOKENS) + 1, m = 0;
    double empty = (s->prior_alpha + s->delta * (double)(components - 1)) / (double)components;
    for (size_t i = 0; i < components; i++)
        for (int k = 0; k < s->kappa; k++, m++) {
            b[m] = (i == 0 ? s->prior_alpha : empty) / s->kappa;
            a[m] = i >= 1 && i <= TOKENS ? alpha[i - 1] / s->kappa : b[m];
        }
    return m;
}

struct text {
    float mu[TOKENS * DIM], logvar[TOKENS * DIM], log_alpha[TOKENS];
};

static struct nvdp__kl kl_of(double prior_alpha, double pad_alpha, double delta, int kappa,
                             size_t length) {
    return (struct nvdp__kl){NVDP__REGULARIZER_KL, .of = {.weights = true,
                                                          .prior_alpha = prior_alpha,
                                                          .pad_alpha = pad_alpha,
                                                          .delta = delta,
                                                          .kappa = kappa,
                                                          .length = length}};
}

/* `want` is the expected posterior, in double. The quadrature's error is below 1e-10;
 * `tolerance` covers the library's float arguments (1e-7 of each). */
static void compare(const struct setting *s, const struct text *text, const double *mu,
                    const double *logvar, const double *alpha, double tolerance) {
    double a[WEIGHTS], b[WEIGHTS], g, d;
    const int32_t offset[2] = {0, TOKENS};
    size_t m = all_weights(s, alpha, a, b);
    const double length = (double)s->length;
    struct nvdp__kl kl = kl_of(s->prior_alpha, (s->prior_alpha + s->delta * length) / (length + 1),
                               s->delta, s->kappa, s->length);
    nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(DIM, text->mu, text->logvar, text->log_alpha),
                    NULL, &g, &d);
    double want_d = dirichlet_divergence(m, a, b);
    double want_g = s->kappa * gaussian_divergence(TOKENS * DIM, mu, logvar);
    cr_expect_lt(support_relative(d, want_d, 0.01), tolerance, "kappa %d, length %zu: %.12g, %.12g",
                 s->kappa, s->length, d, want_d);
    cr_expect_lt(support_relative(g, want_g, 0.01), tolerance, "kappa %d, length %zu: %.12g, %.12g",
                 s->kappa, s->length, g, want_g);
}

static struct text make_text(double spread) {
    struct text text;
    for (size_t i = 0; i < TOKENS * DIM; i++) {
        text.mu[i] = (float)(spread * sin(2.0 * (double)i + 1));
        text.logvar[i] = (float)(spread * cos(3.0 * (double)i) - 0.5);
    }
    for (size_t i = 0; i < TOKENS; i++)
        text.log_alpha[i] = (float)(spread * ((double)i - 1.2));
    return text;
}

static const struct setting settings[] = {
    {1, 0, 1, 0}, {1.5, 0.5, 1, 0}, {1, 1, 1, 7},   {2, 0.25, 1, 5},
    {1, 1, 2, 0}, {1, 0.5, 3, 5},   {0.8, 1, 2, 3},
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

Test(kl_quadrature, is_the_divergence_of_everything_shared) {
    for (size_t i = 0; i < SETTINGS; i++) {
        struct text text = make_text(1 + 0.2 * (double)i);
        double mu[TOKENS * DIM], logvar[TOKENS * DIM], alpha[TOKENS];
        for (size_t k = 0; k < TOKENS * DIM; k++) {
            mu[k] = text.mu[k];
            logvar[k] = text.logvar[k];
        }
        for (size_t k = 0; k < TOKENS; k++)
            alpha[k] = exp((double)text.log_alpha[k]);
        compare(&settings[i], &text, mu, logvar, alpha, 1e-9);
    }
}

/* The clipped posterior counts: clipped here by its definition, in double. The library's bounds
 * and clipped values are floats, and a scaled mu ends 2e-7 inside the ball. */
Test(kl_quadrature, of_a_clipped_posterior) {
    const double radius = 1.1, logvar_min = -1.2, logvar_max = 0.2, alpha_min = 0.6, alpha_max = 3;
    const struct nvdp__clip clip = {(float)radius,         (float)logvar_min,     (float)logvar_max,
                                    (float)log(alpha_min), (float)log(alpha_max), false};
    for (size_t i = 0; i < SETTINGS; i++) {
        struct text text = make_text(2);
        double mu[TOKENS * DIM], logvar[TOKENS * DIM], alpha[TOKENS];
        float norm[TOKENS], logvar_in[TOKENS * DIM], log_alpha_in[TOKENS];
        int scaled = 0;
        for (size_t t = 0; t < TOKENS; t++) {
            double length = hypot(text.mu[DIM * t], text.mu[DIM * t + 1]);
            scaled += length > radius;
            for (size_t k = DIM * t; k < DIM * (t + 1); k++) {
                mu[k] = text.mu[k] * fmin(1, radius / length);
                logvar[k] = fmin(fmax(text.logvar[k], logvar_min), logvar_max);
            }
            alpha[t] = fmin(fmax(exp((double)text.log_alpha[t]), alpha_min), alpha_max);
        }
        cr_assert_gt(scaled, 0);
        struct nvdp__posterior q = {TOKENS, DIM, text.mu, text.logvar, text.log_alpha};
        struct nvdp__unclipped before = {norm, logvar_in, log_alpha_in};
        nvdp__clip_forward(&dev, &clip, &q, &before);
        compare(&settings[i], &text, mu, logvar, alpha, 2e-6);
    }
}

/* The weights with kappa 1 are sums of the weights with a larger kappa: data processing. */
Test(kl_quadrature, more_vectors_cost_more) {
    struct text text = make_text(1.5);
    const int32_t offset[2] = {0, TOKENS};
    for (size_t length = 0; length <= 6; length += 6) {
        double g[3], d[3];
        for (int kappa = 1; kappa <= 3; kappa++) {
            struct nvdp__kl kl = kl_of(1, 0.6, 0.5, kappa, length);
            nvdp__kl_losses(&dev, &kl, 1, offset,
                            NUMBERS(DIM, text.mu, text.logvar, text.log_alpha), NULL, g + kappa - 1,
                            d + kappa - 1);
        }
        for (int more = 1; more < 3; more++) {
            near(g[more], (more + 1) * g[0], 1e-12 * g[more]);
            cr_expect_gt(d[more], 1.01 * d[0]);
        }
    }
}

/* An empty text costs nothing, whatever the padding. */
Test(kl_quadrature, of_an_empty_text) {
    const struct text text = {{0}, {0}, {0}}; /* pseudo-counts 1, as padding has with delta 1 */
    const double zero[TOKENS * DIM] = {0}, one[TOKENS] = {1, 1, 1};
    const struct setting padded[] = {{1, 1, 1, 9}, {1, 1, 3, 9}, {1, 1, 2, 0}};
    for (size_t i = 0; i < 3; i++)
        compare(&padded[i], &text, zero, zero, one, 1e-9);
}
