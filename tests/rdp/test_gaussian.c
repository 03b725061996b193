/* The divergence of Gaussians: golden values, quadrature, limits, identities. */
#include "rdp_test.h"

/* The golden values were computed in double by the printed formula, whose division by l - 1
 * loses up to 1e-13 at order 1.01; ours keeps all digits. */
static const double golden_tolerance = 1e-12;

Test(gaussian, golden) {
    json_t *root = support_golden_json("renyi_gaussian.json");
    size_t index;
    json_t *item;
    json_array_foreach(root, index, item) {
        size_t n;
        double *mu_p = support_numbers(json_object_get(item, "mu"), &n);
        double *var_p = support_numbers(json_object_get(item, "sigma"), &n);
        double *mu_q = support_numbers(json_object_get(item, "mu2"), &n);
        double *var_q = support_numbers(json_object_get(item, "sigma2"), &n);
        for (size_t i = 0; i < n; i++) {
            var_p[i] *= var_p[i];
            var_q[i] *= var_q[i];
        }
        double order = support_number(json_object_get(item, "order"));
        double want = support_number(json_object_get(item, "value"));
        double got = nvdp_renyi_gaussian(order, n, mu_p, var_p, mu_q, var_q);
        agrees(got, want, golden_tolerance, "case %zu, order %g", index, order);
    }
}

struct exact {
    double order, mu_p, var_p, mu_q, var_q, value;
};

/* Computed by mpmath with 60 digits from the printed formula at these doubles. */
static const struct exact exact[] = {
    {1.1, 0.0, 1.0, 0.0, 1.000001, 2.7499961495520859084e-13},
    {1.1, 0.0, 1e-09, 0.0, 1.0, 9.8850820199061267208},
    {1.0000001, 0.5, 2.0, 0.0, 1.0, 0.27842645972003154115},
    {1.1, 0.0, 10.99, 0.0, 1.0, 33.340283510707432609},
    {64.0, 0.25, 1.0, 0.0, 1.015, 1.0226298039506872593},
    {0.01, 1.0, 4.0, 0.0, 0.25, 0.010507620211535328208},
    {1.0, 0.0, 1.0000001, 0.0, 1.0, 2.4999998362526814264e-15},
    {INFINITY, 1.0, 0.5, 0.0, 1.0, 1.3465735902799726547},
};

/* 1e-12: at v/var_q = 1e-3 (10.99 above) the input's rounding is amplified a thousandfold. */
Test(gaussian, high_precision) {
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
        const struct exact *e = &exact[k];
        double got = nvdp_renyi_gaussian(e->order, 1, &e->mu_p, &e->var_p, &e->mu_q, &e->var_q);
        agrees(got, e->value, 1e-12, "case %zu", k);
    }
}

static double integrand(double x, void *data) {
    const struct exact *e = data;
    double zp = x - e->mu_p, zq = x - e->mu_q;
    double log_p = -0.5 * (zp * zp / e->var_p + log(2 * M_PI * e->var_p));
    double log_q = -0.5 * (zq * zq / e->var_q + log(2 * M_PI * e->var_q));
    if (e->order == 1) return exp(log_p) * (log_p - log_q);
    return exp(e->order * log_p + (1 - e->order) * log_q);
}

/* Integrates the definition by adaptive quadrature to 1e-11; the quotient by l-1 leaves 1e-9. */
Test(gaussian, quadrature) {
    static const struct exact cases[] = {
        {1.1, 0.3, 0.7, -0.2, 1.3, 0}, {1.1, 0.3, 1.3, -0.2, 0.7, 0}, {2, 1, 0.5, 0, 1, 0},
        {0.5, 1, 0.5, 0, 1, 0},        {1, 1, 0.5, 0, 2, 0},          {5, 0.1, 0.9, 0, 1, 0},
    };
    gsl_integration_workspace *room = gsl_integration_workspace_alloc(1000);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct exact e = cases[k];
        gsl_function f = {.function = integrand, .params = &e};
        double integral, error;
        gsl_integration_qagi(&f, 1e-13, 1e-11, 1000, room, &integral, &error);
        double want = e.order == 1 ? integral : log(integral) / (e.order - 1);
        double got = nvdp_renyi_gaussian(e.order, 1, &e.mu_p, &e.var_p, &e.mu_q, &e.var_q);
        agrees(got, want, 1e-9, "case %zu", k);
    }
    gsl_integration_workspace_free(room);
}

Test(gaussian, infinities_are_exact) {
    const double zero = 0, one = 1, two = 2, three = 3, half = 0.5, eleven = 11;
    /* v = (1-l) var_p + l var_q <= 0 */
    cr_expect_eq(nvdp_renyi_gaussian(2, 1, &zero, &two, &zero, &one), INFINITY);
    cr_expect_eq(nvdp_renyi_gaussian(1.5, 1, &zero, &three, &zero, &one), INFINITY);
    cr_expect_eq(nvdp_renyi_gaussian(1.1, 1, &zero, &eleven, &zero, &one), INFINITY);
    cr_expect(isfinite(nvdp_renyi_gaussian(1.1, 1, &zero, &(double){10.999}, &zero, &one)));
    cr_expect(isfinite(nvdp_renyi_gaussian(2, 1, &zero, &(double){1.9999}, &zero, &one)));
    /* the other direction is always finite */
    cr_expect(isfinite(nvdp_renyi_gaussian(64, 1, &zero, &half, &zero, &one)));
    /* orders up to 1 are always finite */
    cr_expect(isfinite(nvdp_renyi_gaussian(1, 1, &zero, &eleven, &zero, &one)));
    cr_expect(isfinite(nvdp_renyi_gaussian(0.9, 1, &zero, &(double){1e6}, &zero, &one)));
    /* max-divergence */
    cr_expect_eq(nvdp_renyi_gaussian(INFINITY, 1, &zero, &one, &one, &one), INFINITY);
    cr_expect_eq(nvdp_renyi_gaussian(INFINITY, 1, &zero, &one, &zero, &half), INFINITY);
    cr_expect_eq(nvdp_renyi_gaussian(INFINITY, 1, &zero, &one, &zero, &one), 0);
    near(nvdp_renyi_gaussian(INFINITY, 1, &zero, &half, &zero, &one), 0.5 * log(2), 1e-15);
    /* one infinite dimension among finite ones */
    double mu[3] = {0};
    double var_p[3] = {1, 2, 1};
    double var_q[3] = {1, 1, 1};
    cr_expect_eq(nvdp_renyi_gaussian(2, 3, mu, var_p, mu, var_q), INFINITY);
}

Test(gaussian, invalid_is_nan) {
    const double zero = 0, one = 1;
    double bad[] = {0, -1, NAN, INFINITY};
    for (int k = 0; k < 4; k++) {
        cr_expect(isnan(nvdp_renyi_gaussian(1.1, 1, &zero, &bad[k], &zero, &one)));
        cr_expect(isnan(nvdp_renyi_gaussian(1.1, 1, &zero, &one, &zero, &bad[k])));
        if (k < 3) cr_expect(isnan(nvdp_renyi_gaussian(bad[k], 1, &zero, &one, &zero, &one)));
        if (k > 1) cr_expect(isnan(nvdp_renyi_gaussian(1.1, 1, &bad[k], &one, &zero, &one)));
    }
    /* an invalid dimension is not hidden behind an infinite one */
    double mu[2] = {0};
    cr_expect(isnan(nvdp_renyi_gaussian(2, 2, mu, (double[]){2, -1}, mu, (double[]){1, 1})));
}

enum { DIM = 7 };

static void draw(unsigned *seed, double mu[2][DIM], double var[2][DIM]) {
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < DIM; k++) {
            mu[side][k] = made_normal(seed);
            var[side][k] = exp(0.5 * made_normal(seed));
        }
    }
}

static double between(double order, double mu[2][DIM], double var[2][DIM]) {
    return nvdp_renyi_gaussian(order, DIM, mu[0], var[0], mu[1], var[1]);
}

Test(gaussian, not_negative_zero_to_itself_and_monotone) {
    static const double orders[] = {1e-3, 0.1, 0.5, 0.9, 0.999999999, 1,   1.000000001,
                                    1.01, 1.1, 1.5, 2,   5,           100, INFINITY};
    unsigned seed = 5;
    for (int trial = 0; trial < 300; trial++) {
        double mu[2][DIM], var[2][DIM];
        draw(&seed, mu, var);
        double last = 0;
        for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
            double got = between(orders[k], mu, var);
            cr_expect_geq(got, last * (1 - 1e-13), "order %g: %.17g after %.17g", orders[k], got,
                          last);
            last = got;
            cr_expect_eq(nvdp_renyi_gaussian(orders[k], DIM, mu[0], var[0], mu[0], var[0]), 0);
        }
    }
}

/* D_l = D_1 + (l-1)/2 Var_p(log p/q) + ...: at 1e-9 from 1 the two agree to about 1e-9 of the
 * value. */
Test(gaussian, near_one_is_kullback_leibler) {
    unsigned seed = 6;
    for (int trial = 0; trial < 100; trial++) {
        double mu[2][DIM], var[2][DIM];
        draw(&seed, mu, var);
        double exact_one = between(1, mu, var);
        agrees(between(1 + 1e-9, mu, var), exact_one, 1e-6);
        agrees(between(1 - 1e-9, mu, var), exact_one, 1e-6);
        agrees(between(1 + 1e-14, mu, var), exact_one, 1e-11);
        double direct = 0;
        for (int k = 0; k < DIM; k++) {
            double d = mu[0][k] - mu[1][k], r = var[0][k] / var[1][k];
            direct += 0.5 * (d * d / var[1][k] + r - 1 - log(r));
        }
        agrees(exact_one, direct, 1e-14 * DIM);
    }
}

/* The order reversed: D_l(P||Q) = l/(1-l) D_{1-l}(Q||P), 0 < l < 1 (van Erven & Harremoes 2014,
 * Proposition 2). */
Test(gaussian, skew_symmetry_and_additivity) {
    unsigned seed = 7;
    for (int trial = 0; trial < 100; trial++) {
        double mu[2][DIM], var[2][DIM];
        draw(&seed, mu, var);
        double there = between(0.3, mu, var);
        double back = nvdp_renyi_gaussian(0.7, DIM, mu[1], var[1], mu[0], var[0]);
        agrees(there, 0.3 / 0.7 * back, 1e-13);
        double parts = 0;
        for (int k = 0; k < DIM; k++)
            parts += nvdp_renyi_gaussian(0.3, 1, &mu[0][k], &var[0][k], &mu[1][k], &var[1][k]);
        agrees(parts, there, 1e-15);
    }
    cr_expect_eq(nvdp_renyi_gaussian(1.1, 0, NULL, NULL, NULL, NULL), 0);
}

/* Large orders approach the max-divergence from below; orders too large for a double's
 * arithmetic return it. */
Test(gaussian, large_orders) {
    const double mu_p = 0.5, mu_q = 0, var_p = 0.5, var_q = 1;
    double largest = nvdp_renyi_gaussian(INFINITY, 1, &mu_p, &var_p, &mu_q, &var_q);
    double large = nvdp_renyi_gaussian(1e12, 1, &mu_p, &var_p, &mu_q, &var_q);
    cr_expect_leq(large, largest);
    agrees(large, largest, 1e-10);
    cr_expect_eq(nvdp_renyi_gaussian(1e200, 1, &mu_p, &var_p, &mu_q, &var_q), largest);
}
