/* Special functions against GSL and known values. */
#include "fixture.h"
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>

/* GSL's own error estimates are a few 1e-15 relative to the larger of the value and 1. */
Test(special, like_gsl) {
    for (double log_x = -11; log_x <= 14; log_x += 0.03125) {
        double x = exp(log_x);
        cr_expect_lt(support_relative(nvdp__digamma(x), gsl_sf_psi(x), 1), 1e-13, "%g", x);
        agrees(nvdp__trigamma(x), gsl_sf_psi_1(x), 1e-13, "%g", x);
        cr_expect_lt(support_relative(nvdp__log_abs_gamma(x), gsl_sf_lngamma(x), 1), 1e-13, "%g",
                     x);
    }
}

Test(special, known_values) {
    near(nvdp__digamma(1), -0.57721566490153286, 1e-15);
    near(nvdp__trigamma(1), 1.6449340668482264, 1e-15);
    near(nvdp__digamma(1.4616321449683623), 0, 1e-15);
    cr_expect(isnan(nvdp__digamma(0)) && isnan(nvdp__digamma(-1)) && isnan(nvdp__digamma(NAN)));
    cr_expect(isnan(nvdp__trigamma(0)) && isnan(nvdp__trigamma(NAN)));
}

/* Compares the functions without their leading terms with mpmath in 60 digits, and checks that
 * no step appears where the series takes over. */
Test(special, excess) {
    near(nvdp__log_gamma_excess(20), -0.070595657643486981, 1e-14);
    near(nvdp__log_gamma_excess(1e6), -5.4888165791107976, 1e-14);
    near(nvdp__log_gamma_excess(1e18), -19.304327303741738, 1e-14);
    agrees(nvdp__trigamma_excess(20), 0.0012708229352031198, 1e-14);
    agrees(nvdp__trigamma_excess(1e6), 5.0000016666666667e-13, 1e-15);
    double below = nextafter(20, 0);
    near(nvdp__log_gamma_excess(below), nvdp__log_gamma_excess(20), 1e-13);
    near(nvdp__trigamma_excess(below), nvdp__trigamma_excess(20), 1e-15);
}

/* Arguments at which GSL would call its error handler, which ends the program. */
Test(special, ends_of_the_range) {
    const double tiny[] = {5e-324, 1e-310, 1e-200, 1e-154};
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
        agrees(nvdp__trigamma(tiny[i]), 1 / (tiny[i] * tiny[i]), 1e-13);
        cr_expect_lt(nvdp__digamma(tiny[i]), -1e150);
    }
    cr_expect_eq(nvdp__trigamma(1e200), 1e-200);
    cr_expect_eq(nvdp__trigamma(INFINITY), 0);
    agrees(nvdp__digamma(1e300), log(1e300), 1e-13);
    cr_expect(isnan(nvdp__trigamma(-1)) && isnan(nvdp__digamma(-INFINITY)));
    cr_expect_not(isfinite(nvdp__digamma(INFINITY)));
}
