#include "support.h"
#include "tensor/special.h"
#include <criterion/criterion.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>
#include <math.h>

/* GSL's own error estimates are a few 1e-15 relative to the larger of the value and 1. */
Test(special, like_gsl) {
    for (double log_x = -11; log_x <= 14; log_x += 0.03125) {
        double x = exp(log_x);
        cr_expect_lt(support_relative(nvdp__digamma(x), gsl_sf_psi(x), 1), 1e-13, "%g", x);
        cr_expect_lt(support_relative(nvdp__trigamma(x), gsl_sf_psi_1(x), 0), 1e-13, "%g", x);
        cr_expect_lt(support_relative(nvdp__log_gamma(x), gsl_sf_lngamma(x), 1), 1e-13, "%g", x);
    }
}

Test(special, known_values) {
    cr_expect_float_eq(nvdp__digamma(1), -0.57721566490153286, 1e-15);
    cr_expect_float_eq(nvdp__trigamma(1), 1.6449340668482264, 1e-15);
    cr_expect_float_eq(nvdp__digamma(1.4616321449683623), 0, 1e-15);
    cr_expect(isnan(nvdp__digamma(0)) && isnan(nvdp__digamma(-1)) && isnan(nvdp__digamma(NAN)));
    cr_expect(isnan(nvdp__trigamma(0)) && isnan(nvdp__trigamma(NAN)));
}
