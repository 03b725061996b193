/* Bounds as text: correct digits, rounded to the safe side. */
#include "base/sentence.h"
#include "support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

Test(bound, known_texts) {
    static const struct {
        double value;
        enum nvdp__side side;
        const char *text;
    } row[] = {
        {24.3951, NVDP__UP, "24.4"},
        {24.3951, NVDP__DOWN, "24.39"},
        {4.64297, NVDP__UP, "4.643"},
        {1.45274, NVDP__UP, "1.453"},
        {16, NVDP__UP, "16"},
        {16 * (1 + 1e-12), NVDP__UP, "16"},
        {16.00001, NVDP__UP, "16.01"},
        {0, NVDP__UP, "0"},
        {INFINITY, NVDP__UP, "inf"},
        {12716.2, NVDP__UP, "12720"},
        {1e-7 / 3, NVDP__UP, "3.334e-08"},
        {-1.23456, NVDP__UP, "-1.234"},
        {-1.23456, NVDP__DOWN, "-1.235"},
        {9999.5, NVDP__UP, "10000"},
    };
    char text[NVDP__BOUND_TEXT];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        cr_expect_str_eq(nvdp__bound(text, row[i].value, row[i].side), row[i].text, "%g",
                         row[i].value);
}

Test(bound, known_shares) {
    static const struct {
        double value;
        enum nvdp__side side;
        const char *text;
    } row[] = {
        {.977250, NVDP__UP, "97.8 %"}, {.13786, NVDP__UP, "13.8 %"},
        {.00289, NVDP__UP, "0.3 %"},   {.5, NVDP__UP, "50 %"},
        {.9999, NVDP__UP, "100 %"},    {.9999, NVDP__DOWN, "99.9 %"},
        {1, NVDP__UP, "100 %"},        {2.34e-5, NVDP__UP, "0.0024 %"},
        {0, NVDP__UP, "0 %"},          {.147, NVDP__UP, "14.7 %"},
    };
    char text[NVDP__BOUND_TEXT];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        cr_expect_str_eq(nvdp__share_bound(text, row[i].value, row[i].side), row[i].text, "%g",
                         row[i].value);
}

/* Checks 20,000 values over 40 decades: the text is on the safe side, by less than one unit of
 * its last digit. */
Test(bound, safe_side) {
    srand48(5);
    for (int i = 0; i < 20000; i++) {
        const double value = pow(10, 40 * drand48() - 20);
        char up[NVDP__BOUND_TEXT], down[NVDP__BOUND_TEXT];
        const double above = strtod(nvdp__bound(up, value, NVDP__UP), NULL);
        const double below = strtod(nvdp__bound(down, value, NVDP__DOWN), NULL);
        cr_assert(above >= value * (1 - 1e-9) && above < value * (1 + 1.1e-3), "%.17g %s", value,
                  up);
        cr_assert(below <= value * (1 + 1e-9) && below > value * (1 - 1.1e-3), "%.17g %s", value,
                  down);
    }
}
