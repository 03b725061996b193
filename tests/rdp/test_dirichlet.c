/* The divergence of Dirichlets: golden values, quadrature, limits, identities. */
#include "rdp_test.h"

Test(dirichlet, golden) {
    json_t *root = support_golden_json("renyi_dirichlet.json");
    size_t index;
    json_t *item;
    json_array_foreach(root, index, item) {
        size_t m;
        double *p = support_numbers(json_object_get(item, "alpha"), &m);
        double *q = support_numbers(json_object_get(item, "alpha2"), &m);
        double order = support_number(json_object_get(item, "order"));
        double want = support_number(json_object_get(item, "value"));
        double got = nvdp_renyi_dirichlet(order, m, p, q);
        /* the golden values lost 1e-13 in their division by l - 1 */
        agrees(got, want, 1e-12, "case %zu, order %g", index, order);
    }
}

struct exact {
    double order;
    int m;
    double base, spread, scale, value;
};

/* alpha_p = base (1 + i/16), alpha_q = alpha_p scale (1 + ((7 i mod 5) - 2) spread), in double;
 * the value by mpmath, 60 digits, from the printed formula. e^10 = 22026.47 and e^-10 = 4.54e-5
 * are the range of pseudo-counts. In double the printed formula has errors of 1e-7 (fifth case:
 * 1e-6). */
static const struct exact exact[] = {
    {1.1, 3, 22026.465794806718, 0.01, 1.0, 10.27083418814513903},
    {1.1, 100, 22026.465794806718, 0.01, 1.0, 984.170849778609796},
    {1.1, 100, 22026.465794806718, 0.0001, 1.0, 0.098419682611404587786},
    {1.1, 100, 22026.465794806718, 0.001, 0.9, 9.0599514754169622556},
    {1.1, 512, 22026.465794806718, 1e-06, 0.5, 52.440447594951843447},
    {1.01, 100, 22026.465794806718, 0.05, 1.0, 22613.671803618952171},
    {2.0, 100, 22026.465794806718, 0.05, 1.0, 44799.536505933272209},
    {32.0, 40, 22026.465794806718, 0.005, 0.99, 1175.7203863827850308},
    {1.0, 100, 22026.465794806718, 0.01, 1.0, 894.69751081157406779},
    {1.0, 512, 22026.465794806718, 1e-06, 0.5, 49.349307392639334601},
    {INFINITY, 40, 22026.465794806718, 0.01, 0.5, 206.18341913426722861},
    {0.5, 100, 22026.465794806718, 0.1, 2.0, 60289.219530379055973},
    {1.1, 100, 4.5399929762484854e-05, 0.2, 1.0, 4.7037750842411511815},
    {1.1, 20, 1000000000.0, 0.01, 0.7, 2333962.2320624061613},
    {1.1, 20, 1.0, 0.2, 0.8, 1.9694059892318655015},
    {1.0, 20, 1.0, 0.2, 0.8, 1.83831049518854206},
    {2.0, 20, 0.01, 0.2, 0.8, 2.0021865472367647917},
    {INFINITY, 20, 1.0, 0.2, 0.7, 7.7974666193463849955},
    {1.1, 130, 0.0078125, 0.25, 0.25, 92.959172820494049562},
};

/* 1e-12: the sums have up to 512 components, and a total of 2e8 pseudo-counts leaves an error of
 * about 1e-13 in the terms of order one. */
Test(dirichlet, high_precision) {
    for (size_t k = 0; k < sizeof exact / sizeof *exact; k++) {
        const struct exact *e = &exact[k];
        double p[512], q[512];
        for (int i = 0; i < e->m; i++) {
            p[i] = e->base * (1 + i / 16.0);
            q[i] = p[i] * e->scale * (1 + ((i * 7) % 5 - 2) * e->spread);
        }
        double got = nvdp_renyi_dirichlet(e->order, (size_t)e->m, p, q);
        agrees(got, e->value, 1e-12, "case %zu (%.1e)", k, support_relative(got, e->value, 0));
    }
}

struct beta {
    double order, p[2], q[2];
};

static double log_density(double x, const double a[2]) {
    return (a[0] - 1) * log(x) + (a[1] - 1) * log1p(-x) + lgamma(a[0] + a[1]) - lgamma(a[0]) -
           lgamma(a[1]);
}

static double integrand(double x, void *data) {
    const struct beta *b = data;
    double log_p = log_density(x, b->p), log_q = log_density(x, b->q);
    if (b->order == 1) return exp(log_p) * (log_p - log_q);
    return exp(b->order * log_p + (1 - b->order) * log_q);
}

/* Integrates the definition for two components by adaptive quadrature (1e-10); the quotient by
 * l-1 leaves 1e-8. */
Test(dirichlet, quadrature) {
    static const struct beta cases[] = {
        {1.1, {2, 3}, {1.5, 4}},   {1.1, {1.2, 1.4}, {3, 2}}, {2, {3, 3}, {2, 3.5}},
        {0.5, {1.5, 2}, {4, 1.2}}, {1, {2.5, 1.5}, {1, 1}},   {4, {30, 20}, {28, 20}},
    };
    gsl_integration_workspace *room = gsl_integration_workspace_alloc(1000);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct beta b = cases[k];
        gsl_function f = {.function = integrand, .params = &b};
        double integral, error;
        gsl_integration_qags(&f, 0, 1, 1e-13, 1e-10, 1000, room, &integral, &error);
        double want = b.order == 1 ? integral : log(integral) / (b.order - 1);
        double got = nvdp_renyi_dirichlet(b.order, 2, b.p, b.q);
        agrees(got, want, 1e-8, "case %zu", k);
    }
    gsl_integration_workspace_free(room);
}

/* Compares the supremum of the log density ratio with a fine grid of the simplex (from below). */
Test(dirichlet, max_divergence_is_the_supremum) {
    const double p[2] = {2.5, 4}, q[2] = {2, 1.5};
    double largest = -INFINITY;
    for (int k = 1; k < 100000; k++) {
        double x = k / 1e5;
        largest = fmax(largest, log_density(x, p) - log_density(x, q));
    }
    double got = nvdp_renyi_dirichlet(INFINITY, 2, p, q);
    cr_expect_geq(got, largest);
    cr_expect_leq(got, largest + 1e-8);
    const double same_first[2] = {2, 4};
    cr_expect(isfinite(nvdp_renyi_dirichlet(INFINITY, 2, same_first, q)));
    const double less[2] = {1.999, 40};
    cr_expect_eq(nvdp_renyi_dirichlet(INFINITY, 2, less, q), INFINITY);
    cr_expect_eq(nvdp_renyi_dirichlet(INFINITY, 2, q, q), 0);
}

Test(dirichlet, infinities_are_exact) {
    /* c = l a_p + (1-l) a_q <= 0 */
    cr_expect_eq(nvdp_renyi_dirichlet(2, 2, (double[]){1, 5}, (double[]){2, 5}), INFINITY);
    cr_expect(isfinite(nvdp_renyi_dirichlet(2, 2, (double[]){1, 5}, (double[]){1.9999, 5})));
    cr_expect_eq(nvdp_renyi_dirichlet(1.1, 2, (double[]){1, 5}, (double[]){11, 5}), INFINITY);
    cr_expect(isfinite(nvdp_renyi_dirichlet(1.1, 2, (double[]){1, 5}, (double[]){10.99, 5})));
    cr_expect(isfinite(nvdp_renyi_dirichlet(1, 2, (double[]){1e-3, 5}, (double[]){1e3, 5})));
    cr_expect(isfinite(nvdp_renyi_dirichlet(0.5, 2, (double[]){1e-3, 5}, (double[]){1e3, 5})));
}

Test(dirichlet, invalid_is_nan) {
    double bad[] = {0, -1, NAN, INFINITY};
    for (int k = 0; k < 4; k++) {
        cr_expect(isnan(nvdp_renyi_dirichlet(1.1, 2, (double[]){1, bad[k]}, (double[]){1, 1})));
        cr_expect(isnan(nvdp_renyi_dirichlet(1.1, 2, (double[]){1, 1}, (double[]){bad[k], 1})));
        if (k < 3)
            cr_expect(isnan(nvdp_renyi_dirichlet(bad[k], 2, (double[]){1, 1}, (double[]){1, 1})));
    }
}

Test(dirichlet, one_weight_is_no_information) {
    cr_expect_eq(nvdp_renyi_dirichlet(2, 1, (double[]){1}, (double[]){7}), 0);
    cr_expect_eq(nvdp_renyi_dirichlet(2, 0, NULL, NULL), 0);
}

enum { PARTS = 9 };

static void draw(unsigned *seed, double range, double p[PARTS], double q[PARTS]) {
    double level = range * (2 * made_uniform(seed) - 1);
    for (int k = 0; k < PARTS; k++) {
        p[k] = exp(level + made_normal(seed));
        q[k] = p[k] * exp(0.3 * made_normal(seed));
    }
}

Test(dirichlet, not_negative_zero_to_itself_and_monotone) {
    static const double orders[] = {1e-3, 0.1, 0.5, 0.9, 0.999999999, 1,   1.000000001,
                                    1.01, 1.1, 1.5, 2,   5,           100, INFINITY};
    unsigned seed = 5;
    for (int trial = 0; trial < 300; trial++) {
        double p[PARTS], q[PARTS];
        draw(&seed, 10, p, q);
        double last = 0;
        for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
            double got = nvdp_renyi_dirichlet(orders[k], PARTS, p, q);
            cr_expect_geq(got, last * (1 - 1e-11), "order %g: %.17g after %.17g", orders[k], got,
                          last);
            last = got;
            cr_expect_eq(nvdp_renyi_dirichlet(orders[k], PARTS, p, p), 0);
        }
    }
}

Test(dirichlet, near_one_is_kullback_leibler) {
    unsigned seed = 6;
    for (int trial = 0; trial < 100; trial++) {
        double p[PARTS], q[PARTS];
        draw(&seed, 5, p, q);
        double one = nvdp_renyi_dirichlet(1, PARTS, p, q);
        agrees(nvdp_renyi_dirichlet(1 + 1e-9, PARTS, p, q), one, 1e-6);
        agrees(nvdp_renyi_dirichlet(1 - 1e-9, PARTS, p, q), one, 1e-6);
        agrees(nvdp_renyi_dirichlet(1 + 1e-14, PARTS, p, q), one, 1e-11);
    }
}

/* Checks van Erven & Harremoes 2014, Proposition 2. */
Test(dirichlet, skew_symmetry) {
    unsigned seed = 7;
    for (int trial = 0; trial < 100; trial++) {
        double p[PARTS], q[PARTS];
        draw(&seed, 10, p, q);
        double there = nvdp_renyi_dirichlet(0.3, PARTS, p, q);
        double back = nvdp_renyi_dirichlet(0.7, PARTS, q, p);
        agrees(there, 0.3 / 0.7 * back, 1e-10);
    }
}

/* Merging components is a function of the weights and cannot raise a divergence (data
 * processing). */
Test(dirichlet, merging_does_not_raise) {
    unsigned seed = 8;
    for (int trial = 0; trial < 200; trial++) {
        double p[PARTS], q[PARTS];
        draw(&seed, 8, p, q);
        double fine = nvdp_renyi_dirichlet(1.5, PARTS, p, q);
        p[0] += p[1];
        q[0] += q[1];
        p[1] = p[PARTS - 1];
        q[1] = q[PARTS - 1];
        double coarse = nvdp_renyi_dirichlet(1.5, PARTS - 1, p, q);
        cr_expect_leq(coarse, fine * (1 + 1e-11));
    }
}

/* Ratios of pseudo-counts that differ by 1e15 and more, large counts next to tiny ones, and
 * counts that differ in their last digits: D_l by its definition with 120 digits of mpmath or
 * more. 1e-12 is the header's promise. */
Test(dirichlet, ratios_very_unequal_and_very_near) {
    static const double orders[] = {.5, 1, 1.1, 10};
    static const struct {
        double p[3], q[3], want[4]; /* 0: not computed */
    } cases[] = {
        {{3.359e+27, 1.174e+37, 9.268e+24},
         {225.1, 3.012e+16, 3.607e+20},
         {0, 1.0051478168878184817e+22, 1.0051478806971347214e+22, 0}},
        {{2010.0, 1560000000.0, 1.029e+17},
         {9.612e-21, 2776000.0, 6.11e-11},
         {49978333.037481590169, 49980801.887330551883, 49981026.48518502117, 0}},
        {{1.0, 2.0, 3.0},
         {1.0000001, 2.0, 2.99999985},
         {6.2205122142750563924e-15, 1.2441024585889959858e-14, 1.3685127079093725257e-14,
          1.2441027418009734895e-13}},
        {{1.0, 2.0, 3.0},
         {1.000000000001, 2.0, 2.9999999999985},
         {6.2216185093242255858e-25, 1.244323701865002499e-24, 1.3687560720515374834e-24,
          1.244323701867835372e-23}},
        {{20.0, 40.0, 60.0},
         {20.000000000020002, 40.0, 59.99999999997},
         {8.7001018971001787074e-24, 1.7400203794201480347e-23, 1.9140224173621876973e-23,
          1.7400203794221693133e-22}},
        {{100000000.0, 200000000.0, 300000000.0},
         {100000000.10000001, 200000000.0, 299999999.84999996},
         {4.270834577431836242e-11, 8.5416691553873993471e-11, 9.3958360710413599504e-11,
          8.5416691648144829668e-10}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < 4; k++) {
            if (cases[i].want[k] == 0) continue;
            const double got = nvdp_renyi_dirichlet(orders[k], 3, cases[i].p, cases[i].q);
            agrees(got, cases[i].want[k], 1e-12, "case %zu, order %g", i, orders[k]);
        }
}
