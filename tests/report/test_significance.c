/* Tests of the paired tests against published and closed-form values. */
#include "report/parts.h"
#include "support.h"

/* Student's own data (1908): hours of sleep gained with two drugs by ten patients. R's t.test(paired) prints t =
 * -4.0621, df = 9, p = 0.002833, interval -2.4598858 to -0.7001142, mean -1.58. sd is sqrt(13.616/9), by hand. */
Test(significance, students_sleep) {
    const double a[] = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
    const double b[] = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
    struct report_paired pair = report_paired_t(10, a, b);
    cr_expect_eq(pair.n, 10);
    near(pair.mean, -1.58, 1e-14);
    near(pair.sd, sqrt(13.616 / 9), 1e-14);
    near(pair.t, -4.0621, 5e-5); /* all printed digits */
    near(pair.p, 0.002833, 5e-7);
    near(pair.low, -2.4598858, 5e-8);
    near(pair.high, -0.7001142, 5e-8);
    struct report_paired turned = report_paired_t(10, b, a);
    cr_expect_eq(turned.t, -pair.t);
    cr_expect_eq(turned.p, pair.p);
    near(turned.low, -pair.high, 1e-15);
}

/* One degree of freedom is the Cauchy distribution, p = 1 - 2 atan(t)/pi. With two, p = 1 - t/sqrt(t^2 + 2). */
Test(significance, few_pairs_in_closed_form) {
    const double a[] = {0.71, 0.74, 0.69}, b[] = {0.70, 0.70, 0.67};
    struct report_paired two = report_paired_t(2, a, b), three = report_paired_t(3, a, b);
    near(two.t, 5.0 / 3, 1e-12); /* differences .01, .04: .025 / .015 */
    near(two.p, 1 - 2 * atan(5.0 / 3) / M_PI, 1e-13);
    near(two.high, 0.025 + 0.015 * tan(0.475 * M_PI), 1e-12);
    /* differences .01, .04, .02: mean 7/300, sd^2 = 7/30000 */
    near(three.t, 7.0 / 300 / sqrt(7.0 / 90000), 1e-12);
    near(three.p, 1 - three.t / sqrt(three.t * three.t + 2), 1e-13);
}

/* An offset that both values of a pair share, such as a hard seed or task, has no effect. */
Test(significance, what_pairs_share_does_not_count) {
    const double a[] = {0.5, 0.7, 0.9, 0.6}, b[] = {0.48, 0.69, 0.87, 0.6};
    double c[4], d[4];
    for (int i = 0; i < 4; i++) {
        c[i] = a[i] + i * 10;
        d[i] = b[i] + i * 10;
    }
    near(report_paired_t(4, c, d).p, report_paired_t(4, a, b).p, 1e-12);
}

Test(significance, no_spread_no_verdict) {
    const double a[] = {0.7, 0.8, 0.9}, b[] = {0.6, 0.7, 0.8}; /* .1, up to rounding */
    const double c[] = {0.7, NAN, 0.9}, d[] = {0.7, INFINITY, 0.9};
    struct report_paired same = report_paired_t(3, a, b);
    near(same.mean, 0.1, 1e-15);
    cr_expect(isnan(same.p) && isnan(same.t) && isnan(same.low) && isnan(same.high));
    struct report_paired equal = report_paired_t(3, a, a);
    cr_expect_eq(equal.p, 1);
    cr_expect_eq(equal.sd, 0);
    struct report_paired one = report_paired_t(1, a, b);
    near(one.mean, 0.1, 1e-15);
    cr_expect(isnan(one.sd) && isnan(one.p));
    cr_expect(isnan(report_paired_t(0, NULL, NULL).mean));
    cr_expect(isnan(report_paired_t(3, a, c).p));
    cr_expect(isnan(report_paired_t(3, a, d).p));
}

/* By hand: .005 x 4, .01 x 3, .03 x 2, and .04 x 1, which is raised to .06. */
Test(significance, holm) {
    const double p[] = {0.01, 0.04, NAN, 0.03, 0.005}, want[] = {0.03, 0.06, NAN, 0.06, 0.02};
    double adjusted[5];
    report_holm(5, p, adjusted);
    for (int i = 0; i < 5; i++) {
        if (isnan(want[i]))
            cr_expect(isnan(adjusted[i]));
        else
            near(adjusted[i], want[i], 1e-15, "%d: %g", i, adjusted[i]);
    }
    const double ties[] = {0.4, 0.02, 0.02};
    report_holm(3, ties, adjusted);
    near(adjusted[1], 0.06, 1e-15);
    near(adjusted[2], 0.06, 1e-15);
    near(adjusted[0], 0.4, 1e-15);
    const double large[] = {0.6, 0.9};
    report_holm(2, large, adjusted);
    cr_expect_eq(adjusted[0], 1);
    cr_expect_eq(adjusted[1], 1);
}

/* Scores that GSL's distribution functions do not accept must not reach them: its error handler would end the
 * program. */
Test(significance, scores_out_of_range) {
    const double odd[] = {NAN, INFINITY, -INFINITY, 0, 5e-324, 1e308, -1e308, 1};
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++) {
            const double a[] = {odd[i], odd[j], 1}, b[] = {odd[j], 0.5, odd[i]};
            for (size_t n = 0; n <= 3; n++) {
                struct report_paired pair = report_paired_t(n, a, b);
                cr_expect_eq(pair.n, n);
                cr_expect(isnan(pair.p) || (pair.p >= 0 && pair.p <= 1), "%g", pair.p);
            }
        }
    }
}
