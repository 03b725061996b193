/* Checks the two losses against independent values, integrals, averages over samples and
 * differences. */
#include "fixture.h"
#include <gsl/gsl_integration.h>

#include "test_context.h"

/* Makes posteriors, or gradients, from arrays. */
#define NUMBERS(dim, mu, logvar, log_alpha)                                                        \
    (&(const struct nvdp__posterior){0, dim, (float *)(mu), (float *)(logvar),                     \
                                     (float *)(log_alpha)})

static const struct nvdp__device dev = {.threads = 2};

struct dirichlet_case {
    int tokens;
    float log_alpha[3];
    double prior_alpha, delta;
    int kappa;
    size_t length; /* 0: public */
    double published, exact;
};
/* Computed with mpmath 1.2.1 in 50 digits from the definitions; the exact form sums over each of
 * the kappa m weights. */
static const struct dirichlet_case dirichlet_cases[] = {
    {3, {10, 9.5, 10}, 1, 0, 1, 0, 3.986504744828711, 21.18311927128998},
    {3, {-10, -9, -10}, 1, 0, 1, 0, 1.522024120223297e-8, 13010.95252411534},
    {3, {10, -10, 0.5}, 1, 1, 1, 8, 2.931088228558941, 22078.00615436064},
    {3, {2, -3, 1}, 2.5, 0.5, 3, 5, 0.9088622283060166, 45.41753231612955},
    {2, {0.25, -1.5, 0}, 1, 0, 2, 0, 0.4468987201787186, 1.420317993445575},
    {3, {-8, -8, -8}, 1, 1, 1, 64, 0.9997149839011422, 8917.53199482105},
    {3, {5, 6, 7}, 1, 0, 1, 64, 2.655173236821514, 27.44734696891517},
};

static const enum nvdp__regularizer forms[] = {NVDP__REGULARIZER_PUBLISHED, NVDP__REGULARIZER_KL};

static struct nvdp__kl kl_with(enum nvdp__regularizer form, double prior_alpha, double pad_alpha,
                               double delta, int kappa, size_t length) {
    return (struct nvdp__kl){form, .of = {.weights = true,
                                          .prior_alpha = prior_alpha,
                                          .pad_alpha = pad_alpha,
                                          .delta = delta,
                                          .kappa = kappa,
                                          .length = length}};
}

static struct nvdp__kl kl_of(const struct dirichlet_case *c, enum nvdp__regularizer form) {
    const double length = (double)c->length;
    return kl_with(form, c->prior_alpha, (c->prior_alpha + c->delta * length) / (length + 1),
                   c->delta, c->kappa, c->length);
}

Test(loss, dirichlet_values) {
    for (size_t i = 0; i < sizeof dirichlet_cases / sizeof dirichlet_cases[0]; i++) {
        const struct dirichlet_case *c = &dirichlet_cases[i];
        const int32_t offset[2] = {0, c->tokens};
        const float zero[3] = {0};
        for (int form = 0; form < 2; form++) {
            struct nvdp__kl kl = kl_of(c, forms[form]);
            double g, d, want = form == 0 ? c->published : c->exact;
            nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(1, zero, zero, c->log_alpha), NULL, &g,
                            &d);
            cr_expect_eq(g, 0, "mu 0, logvar 0 costs nothing");
            cr_expect_lt(support_relative(d, want, 1e-3), 1e-11, "case %zu, form %d: %.17g", i,
                         form, d);
        }
    }
}

/* Pseudo-counts as a wide, untrained encoder starts them: log Gamma of their sum is near 1e19,
 * the loss near 17. Values and gradients are from mpmath in 60 digits; the arguments are floats,
 * which changes nothing here. */
Test(loss, huge_pseudo_counts) {
    const float log_alpha[5] = {38, 36, 40, 20, -3}, zero[5] = {0};
    const int32_t offset[2] = {0, 5};
    const double value[2] = {16.663253013617718, 113.45636451466169};
    const double slope[2][5] = {
        {0.048879344840253081, 0.0066150999783757139, 0.36117222110360644, 0, 0},
        {0.56423459866325036, 0.42222673592734243, 1.6135386629081176, 0.40000000274175753,
         -1.0621727070839445}};
    for (int form = 0; form < 2; form++) {
        struct nvdp__kl kl = kl_with(forms[form], 1, 0.1, 0, 1, 9);
        kl.weight_d = 1;
        float dmu[5] = {0}, dlogvar[5] = {0}, dlog_alpha[5] = {0};
        double g, d;
        nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(1, zero, zero, log_alpha),
                        NUMBERS(1, dmu, dlogvar, dlog_alpha), &g, &d);
        cr_expect_lt(support_relative(d, value[form], 1), 1e-12, "form %d: %.17g", form, d);
        for (int i = 0; i < 5; i++) /* float32 sums */
            near(dlog_alpha[i], slope[form][i], 2e-7, "form %d, %d: %.9g", form, i,
                 (double)dlog_alpha[i]);
    }
}

/* A posterior equal to the prior costs nothing (published: equal in its sum; exact: in every
 * component). */
Test(loss, zero_at_the_prior) {
    const float zero[4] = {0};
    const int32_t offset[2] = {0, 4};
    for (int form = 0; form < 2; form++) {
        struct nvdp__kl kl = kl_with(forms[form], 1, 1, 1, 2, 9);
        kl.weight_g = 1;
        kl.weight_d = 1;
        double g, d;
        float dmu[4] = {0}, dlogvar[4] = {0}, dlog_alpha[4] = {0};
        nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(1, zero, zero, zero),
                        NUMBERS(1, dmu, dlogvar, dlog_alpha), &g, &d);
        cr_expect_eq(g, 0);
        near(d, 0, 1e-12);
        for (size_t i = 0; i < 4; i++)
            cr_expect(dmu[i] == 0 && dlogvar[i] == 0 && fabsf(dlog_alpha[i]) < 1e-12f);
    }
}

struct pair {
    double a[2], b[2];
};

static double log_beta_density(const double *a, double x) {
    return (a[0] - 1) * log(x) + (a[1] - 1) * log1p(-x) + nvdp__log_abs_gamma(a[0] + a[1]) -
           nvdp__log_abs_gamma(a[0]) - nvdp__log_abs_gamma(a[1]);
}

static double beta_integrand(double x, void *user) {
    const struct pair *pair = user;
    double log_q = log_beta_density(pair->a, x);
    return exp(log_q) * (log_q - log_beta_density(pair->b, x));
}

struct normal {
    double mu, sd;
};

static double normal_integrand(double x, void *user) {
    const struct normal *n = user;
    double u = (x - n->mu) / n->sd;
    double log_q = -0.5 * u * u - log(n->sd);
    double log_p = -0.5 * x * x;
    return exp(log_q) / sqrt(2 * M_PI) * (log_q - log_p);
}

/* One token, public length: computes E_q[log q/p] by adaptive quadrature, separately for weights
 * and vectors. */
Test(loss, exact_form_is_the_integral) {
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(1000);
    const int32_t offset[2] = {0, 1};
    const float log_alphas[] = {0.5f, 1.5f, 3, -0.3f};
    for (size_t i = 0; i < 4; i++) {
        struct nvdp__kl kl = kl_with(NVDP__REGULARIZER_KL, 1.25, 0, 0.5, 1, 0);
        float mu = 0.7f, logvar = -1.2f;
        double g, d, want_d, want_g, error;
        nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(1, &mu, &logvar, log_alphas + i), NULL, &g,
                        &d);
        struct pair pair = {{1.25, exp((double)log_alphas[i])}, {1.25, 1.75 / 2}};
        gsl_function f = {beta_integrand, &pair};
        gsl_integration_qags(&f, 0, 1, 1e-10, 1e-10, 1000, work, &want_d, &error);
        struct normal normal = {0.7f, exp(-0.6)};
        f = (gsl_function){normal_integrand, &normal};
        gsl_integration_qagi(&f, 1e-10, 1e-10, 1000, work, &want_g, &error);
        near(d, want_d, 1e-8);
        near(g, want_g, 1e-6); /* logvar is a float */
    }
    gsl_integration_workspace_free(work);
}

/* Without weights the loss is the integral's sum over dimensions and rows, and in the published
 * form its mean over the rows of a text. */
Test(loss, gaussians_alone_are_the_integral) {
    enum { DIM = 2, ROWS = 4 };
    const int32_t offset[3] = {0, 3, ROWS};
    const float mu[ROWS * DIM] = {0.7f, -2, 0, 1.5f, 0.25f, 3, -1, 0.1f};
    const float logvar[ROWS * DIM] = {-1.2f, 0.5f, 0, -3, 1.1f, -0.4f, -6, 0.9f};
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(1000);
    double want[2] = {0, 0}, exact[2], published[2], part, error;
    for (size_t i = 0; i < ROWS * DIM; i++) {
        struct normal normal = {mu[i], exp(0.5 * logvar[i])};
        gsl_function f = {normal_integrand, &normal};
        gsl_integration_qag(&f, mu[i] - 30 * normal.sd, mu[i] + 30 * normal.sd, 1e-12, 1e-10, 1000,
                            GSL_INTEG_GAUSS61, work, &part, &error);
        want[i / DIM >= 3] += part;
    }
    gsl_integration_workspace_free(work);
    nvdp__gaussian_losses(&dev, NVDP__REGULARIZER_KL, 0, 2, offset, NUMBERS(DIM, mu, logvar, NULL),
                          NULL, exact);
    nvdp__gaussian_losses(&dev, NVDP__REGULARIZER_PUBLISHED, 0, 2, offset,
                          NUMBERS(DIM, mu, logvar, NULL), NULL, published);
    for (size_t b = 0; b < 2; b++) {
        agrees(exact[b], want[b], 1e-9); /* quadrature */
        agrees(published[b], want[b] / (b == 0 ? 3 : 1), 1e-9);
    }
}

/* Adds d/dmu = w mu and d/dlogvar = w (e^logvar - 1)/2, divided by the number of rows in the
 * published form. */
Test(loss, gradients_of_gaussians_alone) {
    const int32_t offset[2] = {0, 2};
    const float mu[2] = {0.5f, -3}, logvar[2] = {-2, 1};
    for (int published = 0; published < 2; published++) {
        float dmu[2] = {1, 1}, dlogvar[2] = {1, 1};
        nvdp__gaussian_losses(&dev, forms[!published], 0.8, 1, offset, NUMBERS(1, mu, logvar, NULL),
                              NUMBERS(1, dmu, dlogvar, NULL), NULL);
        for (size_t i = 0; i < 2; i++) {
            double weight = published ? 0.4 : 0.8;
            near(dmu[i], 1 + weight * mu[i], 1e-6);
            near(dlogvar[i], 1 + weight * 0.5 * expm1(logvar[i]), 1e-6);
        }
    }
}

/* Computes the log density of Dirichlet weights from their logarithms. */
static double log_dirichlet(size_t m, const double *a, const float *log_pi) {
    double sum = 0, density = 0;
    for (size_t i = 0; i < m; i++) {
        sum += a[i];
        density += (a[i] - 1) * log_pi[i] - nvdp__log_abs_gamma(a[i]);
    }
    return density + nvdp__log_abs_gamma(sum);
}

/* 3 tokens, length 4, kappa 2: takes the mean of log q/p over 20000 samples of the library's own
 * weights, within 5 standard errors (6e-7). */
Test(loss, exact_form_is_the_mean_over_samples) {
    enum { N = 20000, ROWS = 10 };
    const float log_alpha[3] = {1.5f, 0, 2.5f}, zero[3] = {0};
    const int32_t token_offset[2] = {0, 3};
    int32_t offset[2] = {0, ROWS};
    int32_t src[ROWS] = {NVDP__PRIOR, NVDP__PRIOR, 0, 0, 1, 1, 2, 2, NVDP__PADDING, NVDP__PADDING};
    const float base[ROWS] = {1, 1, 0, 0, 0, 0, 0, 0, 0.6f, 0.6f};
    const uint64_t key = 1;
    struct nvdp__kl kl = kl_with(NVDP__REGULARIZER_KL, 1, 0.6f, 0.5, 2, 4);
    double g, d, q[ROWS], p[ROWS], sum = 0, squares = 0;
    nvdp__kl_losses(&dev, &kl, 1, token_offset, NUMBERS(1, zero, zero, log_alpha), NULL, &g, &d);
    for (size_t r = 0; r < ROWS; r++) {
        q[r] = (src[r] < 0 ? base[r] : exp((double)log_alpha[src[r]])) / 2;
        p[r] = (src[r] < 0 ? (double)base[r] : 0.6f) / 2;
    }
    struct nvdp__draw draw = {.noise = {.seed = 77}, .gamma = NVDP__PURPOSE_GAMMA};
    struct nvdp__sample_rows rows = {
        .texts = 1, .rows = ROWS, .offset = offset, .src = src, .key = &key};
    for (draw.epoch = 0; draw.epoch < N; draw.epoch++) {
        float log_pi[ROWS];
        nvdp__dirichlet_sample(&dev, &draw, &kl.of, &rows, log_alpha, log_pi, NULL);
        double ratio = log_dirichlet(ROWS, q, log_pi) - log_dirichlet(ROWS, p, log_pi);
        sum += ratio;
        squares += ratio * ratio;
    }
    double mean = sum / N;
    double error = sqrt((squares / N - mean * mean) / N);
    cr_expect_lt(fabs(mean - d), 5 * error, "%g +- %g, not %g", mean, error, d);
}

/* The exact form is the order-1 divergence from an empty text, which rdp/ computes
 * independently. */
Test(loss, exact_form_is_the_divergence_of_order_one) {
    enum { DIM = 3, TOKENS = 4, LENGTH = 6 };
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    ok(nvdp_posteriors_create(ctx, 2, TOKENS, DIM, true, &posteriors));
    const int32_t offset[2] = {0, TOKENS};
    float mu[TOKENS * DIM], logvar[TOKENS * DIM], log_alpha[TOKENS];
    for (size_t i = 0; i < TOKENS * DIM; i++) {
        posteriors->mu[i] = mu[i] = (float)sin(2.0 * (double)i);
        posteriors->logvar[i] = logvar[i] = (float)cos(3.0 * (double)i) - 1;
    }
    for (size_t t = 0; t < TOKENS; t++) {
        log_alpha[t] = (float)t - 1.5f;
        posteriors->alpha[t] = exp((double)log_alpha[t]);
    }
    posteriors->offset[1] = posteriors->offset[2] = TOKENS; /* the second text is empty */
    for (int kappa = 1; kappa <= 3; kappa++) {
        posteriors->prior_alpha = 1;
        posteriors->pad_alpha = 0.4;
        posteriors->kappa = kappa;
        posteriors->policy = NVDP_LENGTH_HIDDEN;
        posteriors->length = LENGTH;
        struct nvdp__kl kl = kl_with(NVDP__REGULARIZER_KL, 1, 0.4, 0.3, kappa, LENGTH);
        double g, d;
        nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(DIM, mu, logvar, log_alpha), NULL, &g, &d);
        double want = nvdp_renyi_texts(1, posteriors, 0, 1);
        agrees(g + d, want, 1e-9, "kappa %d: %.12g, %.12g", kappa, g + d, want);
    }
}

/* For large and small pseudo-counts the losses are never negative. */
Test(loss, not_negative) {
    const int32_t offset[2] = {0, 2};
    const float zero[2] = {0};
    for (int form = 0; form < 2; form++) {
        for (double x = -12; x <= 12; x += 0.5) {
            for (double y = -12; y <= 12; y += 3) {
                struct nvdp__kl kl = kl_with(forms[form], 1, 0, 0, 1, 0);
                float log_alpha[2] = {(float)x, (float)y};
                double g, d;
                nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(1, zero, zero, log_alpha), NULL, &g,
                                &d);
                cr_expect(isfinite(d) && d > -1e-9, "form %d, %g, %g: %g", form, x, y, d);
            }
        }
    }
}

/* Checks gradients against differences of the library's own double results. The inputs are
 * floats, so the step is a power of two, 2^-8, exact in float at these sizes; the four-point
 * rule's error is about h^4 = 2e-10. */
enum { TEXTS = 3, TOKENS = 6, DIM = 5 };
struct point {
    struct nvdp__kl kl;
    float mu[TOKENS * DIM], logvar[TOKENS * DIM], log_alpha[TOKENS];
};
static const int32_t token_offset[TEXTS + 1] = {0, 3, 4, 6};

static double weighted(const struct point *at) {
    double g[TEXTS], d[TEXTS], total = 0;
    nvdp__kl_losses(&dev, &at->kl, TEXTS, token_offset,
                    NUMBERS(DIM, at->mu, at->logvar, at->log_alpha), NULL, g, d);
    for (size_t b = 0; b < TEXTS; b++)
        total += at->kl.weight_g * g[b] + at->kl.weight_d * d[b];
    return total;
}

static double moved(const struct point *at, float *place, float by) {
    float here = *place;
    *place = here + by;
    double value = weighted(at);
    *place = here;
    return value;
}

static void check_gradient(const struct point *at, size_t n, float *place, const float *got) {
    double want[TOKENS * DIM];
    const float h = 0x1p-8f;
    for (size_t i = 0; i < n; i++) {
        double near = moved(at, place + i, h) - moved(at, place + i, -h);
        double far = moved(at, place + i, 2 * h) - moved(at, place + i, -2 * h);
        want[i] = (8 * near - far) / (12 * (double)h) + 0.25;
    }
    cr_expect_lt(support_norm_error(n, got, want), 1e-6);
}

Test(loss, gradients) {
    for (int form = 0; form < 2; form++) {
        for (int kappa = 1; kappa <= 3; kappa += 2) {
            for (size_t length = 0; length <= 7; length += 7) {
                struct point at = {.kl = kl_with(forms[form], 1.5, 0.3, 0.25, kappa, length)};
                at.kl.weight_g = 0.7;
                at.kl.weight_d = 0.3;
                for (size_t i = 0; i < TOKENS * DIM; i++) { /* multiples of 2^-10 */
                    at.mu[i] = (float)round(1024 * sin(2.0 * (double)i)) / 1024;
                    at.logvar[i] = (float)round(1024 * cos(3.0 * (double)i)) / 1024;
                }
                for (size_t t = 0; t < TOKENS; t++)
                    at.log_alpha[t] = (float)t - 2;
                float dmu[TOKENS * DIM], dlogvar[TOKENS * DIM], dlog_alpha[TOKENS];
                for (size_t i = 0; i < TOKENS * DIM; i++) {
                    dmu[i] = dlogvar[i] = 0.25f; /* gradients are added */
                    dlog_alpha[i % TOKENS] = 0.25f;
                }
                nvdp__kl_losses(&dev, &at.kl, TEXTS, token_offset,
                                NUMBERS(DIM, at.mu, at.logvar, at.log_alpha),
                                NUMBERS(DIM, dmu, dlogvar, dlog_alpha), NULL, NULL);
                check_gradient(&at, TOKENS * DIM, at.mu, dmu);
                check_gradient(&at, TOKENS * DIM, at.logvar, dlogvar);
                check_gradient(&at, TOKENS, at.log_alpha, dlog_alpha);
            }
        }
    }
}

/* 1/2 (var + mu^2 - 1 - log var) keeps its digits where the posterior is nearly the prior. */
Test(loss, gaussian_near_the_prior) {
    const int32_t offset[2] = {0, 1};
    const float logvars[] = {1e-6f, -1e-4f, 0.3f, -5, 20, -80};
    struct nvdp__kl kl = kl_with(NVDP__REGULARIZER_KL, 1, 0, 0, 1, 0);
    for (size_t i = 0; i < sizeof logvars / sizeof logvars[0]; i++) {
        float row[17], zero[17] = {0}, log_alpha = 0;
        double g, d, v = logvars[i];
        for (size_t k = 0; k < 17; k++)
            row[k] = logvars[i];
        nvdp__kl_losses(&dev, &kl, 1, offset, NUMBERS(17, zero, row, &log_alpha), NULL, &g, &d);
        double want = fabs(v) < 1e-3 ? v * v / 2 * (1 + v / 3 + v * v / 12) : expm1(v) - v;
        agrees(g, 17 * 0.5 * want, 1e-9, "logvar %g", v);
    }
}

Test(loss, threads) {
    enum { MANY = 600 }; /* enough for the loops to use threads */
    static float mu[MANY * 8], logvar[MANY * 8], log_alpha[MANY], grad[2][MANY * 17];
    int32_t offset[MANY / 2 + 1];
    double loss[2][MANY];
    for (size_t i = 0; i < MANY * 8; i++) {
        mu[i] = (float)sin((double)i);
        logvar[i] = (float)cos((double)i);
        log_alpha[i % MANY] = (float)sin(3.0 * (double)i);
    }
    for (size_t b = 0; b <= MANY / 2; b++)
        offset[b] = (int32_t)(2 * b);
    for (int threads = 1; threads <= 2; threads++) {
        struct nvdp__device now = {.threads = threads};
        struct nvdp__kl kl = kl_with(NVDP__REGULARIZER_KL, 1, 0, 0, 1, 0);
        kl.weight_g = 1;
        kl.weight_d = 1;
        float *at = grad[threads - 1];
        nvdp__kl_losses(&now, &kl, MANY / 2, offset, NUMBERS(8, mu, logvar, log_alpha),
                        NUMBERS(8, at, at + 8 * MANY, at + 16 * MANY), loss[threads - 1],
                        loss[threads - 1] + MANY / 2);
    }
    cr_expect_arr_eq(loss[0], loss[1], sizeof loss[0]);
    cr_expect_arr_eq(grad[0], grad[1], sizeof grad[0]);
}
