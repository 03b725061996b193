/* Bounds as text: correct digits, rounded to the safe side. */
#include "base/sentence.h"
#include "support.h"

Test(bound, known_texts) {
    static const struct {
        double value;
        const char *text;
    } row[] = {
        {24.3951, "24.4"},
        {4.64297, "4.643"},
        {1.45274, "1.453"},
        {16, "16"},
        {16 * (1 + 1e-12), "16"},
        {16.00001, "16.01"},
        {0, "0"},
        {INFINITY, "inf"},
        {12716.2, "12720"},
        {1e-7 / 3, "3.334e-08"},
        {-1.23456, "-1.234"},
        {9999.5, "10000"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        cr_expect_str_eq(nvdp__bound(row[i].value).text, row[i].text, "%g", row[i].value);
}

Test(bound, lower_bounds) {
    cr_expect_eq(nvdp__lower_bound(1.23999, 3), 1.239);
    cr_expect_eq(nvdp__lower_bound(2.9999, 2), 2.99);
    cr_expect_eq(nvdp__lower_bound(3.984 * (1 - 1e-12), 3), 3.984);
    cr_expect(nvdp__lower_bound(0, 3) == 0 && !signbit(nvdp__lower_bound(0, 3)));
    cr_expect(isnan(nvdp__lower_bound(NAN, 3)));
    static const struct {
        double value;
        const char *text;
    } row[] = {{24.3951, "24.39"}, {16 * (1 - 1e-12), "16"}, {15.99999, "15.99"}, {0, "0"},
               {12719, "12710"},   {-1.23456, "-1.235"},     {INFINITY, "inf"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        cr_expect_str_eq(nvdp__bound_below(row[i].value).text, row[i].text, "%g", row[i].value);
}

Test(bound, known_shares) {
    static const struct {
        double value;
        const char *text;
    } row[] = {
        {.977250, "97.8 %"}, {.13786, "13.8 %"}, {.00289, "0.29 %"},    {.5, "50 %"},
        {.9999, "100 %"},    {1, "100 %"},       {2.34e-5, "0.0024 %"}, {.001346, "0.14 %"},
        {0, "0 %"},          {.147, "14.7 %"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        cr_expect_str_eq(nvdp__share_bound(row[i].value).text, row[i].text, "%g", row[i].value);
}

/* Checks 20,000 values over 40 decades: the text is not below the value, and above it by less than one unit of
 * its last digit. */
Test(bound, safe_side) {
    srand48(5);
    for (int i = 0; i < 20000; i++) {
        const double value = pow(10, 40 * drand48() - 20);
        const double above = strtod(nvdp__bound(value).text, NULL);
        cr_assert(above >= value * (1 - 1e-9) && above < value * (1 + 1.1e-3), "%.17g %s", value,
                  nvdp__bound(value).text);
    }
}
