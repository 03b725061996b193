/* Laplace distributions in R^d: their divergence against closed forms, golden values and
 * integrals. */
#include "rdp_test.h"

/* d = 1: Mironov 2017, Proposition 6, with limits for orders 1 and infinity. */
Test(laplace, one_dimension) {
    static const double orders[] = {.1, .3, .55, .9, 1.0001, 1.1, 2, 7.5, 65};
    static const double distances[] = {1e-6, .01, .5, 3, 40, 900};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
            /* Long double, because the printed form cancels at small distances and near order
             * 1/2. */
            const long double l = orders[i], s = distances[k], a = l / (2 * l - 1);
            long double want = fabsl((l - 1) * s) < .1L
                                   ? log1pl(a * expm1l((l - 1) * s) + (1 - a) * expm1l(-l * s))
                                   : (l - 1) * s + logl(a + (1 - a) * expl(-(2 * l - 1) * s));
            want /= l - 1;
            double got = nvdp_renyi_laplace(orders[i], 1, distances[k]);
            double tolerance = distances[k] < 1e-3 ? 1e-7 : 1e-11; /* the error of the form above */
            agrees(got, (double)want, tolerance, "order %g, %g", orders[i], distances[k]);
        }
    }
    for (size_t k = 0; k < sizeof distances / sizeof *distances; k++) {
        double s = distances[k], kl = s < 1e-3 ? s * s / 2 - s * s * s / 6 : s + expm1(-s);
        agrees(nvdp_renyi_laplace(1, 1, s), kl, 1e-12);
        cr_expect_eq(nvdp_renyi_laplace(INFINITY, 1, s), s);
    }
}

/* The form with Bessel functions, evaluated with 50 digits (mpmath). */
Test(laplace, golden) {
    static const struct {
        double order;
        size_t dim;
        double distance, value;
    } golden[] = {
        {.3, 2, 1.5, 0.14739879240630137},    {.8, 3, 20, 16.352415453139378},
        {1, 2, 4, 2.4075426652551865},        {1, 384, 30, 1.1700922491214975},
        {1.1, 2, .01, 2.7498964579516489e-5}, {1.1, 50, 8, 0.69861743834926249},
        {1.1, 300, 120, 25.225931738903822},  {1.1, 384, .05, 3.580729148167483e-6},
        {2, 5, 1, 0.19250303368755868},       {2.1, 768, 700, 411.68087984860588},
        {3, 51, 25, 12.641396562356843},      {17, 384, 60, 37.296358032376742},
        {65, 50, 300, 298.16100080284655},    {65, 768, 4000, 3971.4380276551734},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        double got = nvdp_renyi_laplace(golden[i].order, golden[i].dim, golden[i].distance);
        agrees(got, golden[i].value, 1e-11, "order %g, d %zu, %g", golden[i].order, golden[i].dim,
               golden[i].distance);
    }
}

/* The divergence grows in order and distance, stays below the largest log ratio, is continuous
 * at 1 and starts as l s^2/(2d). */
Test(laplace, shape) {
    static const size_t dims[] = {1, 2, 3, 50, 384, 1024};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        const size_t d = dims[i];
        double last = 0;
        for (double order = .05; order < 5e5; order *= 1.7) {
            double value = nvdp_renyi_laplace(order, d, 12);
            cr_expect(value >= last * (1 - 1e-12) && value <= 12,
                      "order %g, d %zu: %.17g after %.17g", order, d, value, last);
            last = value;
        }
        near(last, 12, 1e-3 * (double)d);
        double near = nvdp_renyi_laplace(1 + 1e-7, d, 12), one = nvdp_renyi_laplace(1, d, 12);
        agrees(near, one, 1e-5);
        agrees(nvdp_renyi_laplace(3, d, 1e-5), 1.5e-10 / (double)d, 1e-4);
        cr_expect_eq(nvdp_renyi_laplace(3, d, 0), 0);
        cr_expect_eq(nvdp_renyi_laplace(3, d, INFINITY), INFINITY);
    }
    cr_expect(isnan(nvdp_renyi_laplace(0, 3, 1)) && isnan(nvdp_renyi_laplace(2, 0, 1)) &&
              isnan(nvdp_renyi_laplace(2, 3, -1)) && isnan(nvdp_renyi_laplace(2, 3, NAN)));
}

/* Cases where w - z is a small part of z, where both are far out, and where only the exponents
 * remain. Values: the Bessel functions' form with 60 digits and more (mpmath; for 40001 and
 * 20000 dimensions by the series of I). The tolerance is at least a hundred units in the last
 * place: no digits are lost, which 1e-11 would hide. */
Test(laplace, orders_near_one_and_far_distances, .timeout = 60) {
    static const struct {
        double order;
        size_t dim;
        double distance, value;
    } golden[] = {
        {1 + 0x1p-49, 3, 1e-6, 1.6666666666665861e-13},
        {1 + 0x1p-40, 3, 1e6, 999997.000004},
        {1 + 0x1p-30, 3, 1e9, 999999997.00000001},
        {1 + 0x1p-52, 768, 50, 1.6258831290602375},
        {1 - 0x1p-53, 2, 1e4, 9998.0001500000019},
        {1 - 0x1p-40, 384, 30, 1.1700922491204365},
        {1 + 0x1p-20, 2, 1e12, 999999999998.0},
        {2, 3, 1e18, 1e18},
        {.7, 50, 1e15, 999999999999923.3},
        {.3, 3, 1e10, 4285714283.6058476},
        {0x1p-30, 5, 7, 3.3321231744536252e-9},
        {1 + 0x1p-49, 3, 1e-150, 1.6666666666666696e-301},
        {0x1p300, 2, 0x1p-298, 1.1904418103989701e-90},
        {7, 40001, 3e4, 23274.697678377705},
        {.7, 20000, 5e4, 28447.042681903365},
    };
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        double got = nvdp_renyi_laplace(golden[i].order, golden[i].dim, golden[i].distance);
        agrees(got, golden[i].value, 1e-13, "order %.17g, d %zu, %g", golden[i].order,
               golden[i].dim, golden[i].distance);
    }
    /* Orders l < 1/2 use l/(1-l) D_{1-l}; for an infinite distance the divergence is the
     * distance. */
    static const double orders[] = {.1, .5, .8, 1, 1 + 0x1p-52, 2, 1e99};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        for (double distance = 1e20; distance < 1e307; distance *= 1e11) {
            const double l = orders[i], want = l < .5 ? l / (1 - l) * distance : distance;
            agrees(nvdp_renyi_laplace(l, 3, distance), want, 1e-13, "order %g, %g", l, distance);
        }
    }
    /* D grows with the order, except for rounding, by at most (l-1)/2 distance^2: |L| <=
     * distance (Hoeffding's lemma). */
    for (double distance = 1e-5; distance < 1e13; distance *= 100) {
        const double one = nvdp_renyi_laplace(1, 3, distance);
        double last = one;
        for (double more = 0x1p-52; more < 1e-3; more *= 3) {
            const double value = nvdp_renyi_laplace(1 + more, 3, distance);
            cr_expect(value >= last * (1 - 1e-14) &&
                          value - one <= more / 2 * distance * distance + 1e-14 * one,
                      "order 1 + %g, %g: %.17g after %.17g", more, distance, value, last);
            last = value;
        }
    }
}
