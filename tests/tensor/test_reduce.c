#include "tensor_test.h"

/* 3e6 elements: chunks of more than one block. */
static const size_t lengths[] = {0, 1, 7, 17, 4096, 4097, 40000, 3000001};

/* Double sums of n products of order 1: rounding about n^(1/2) 1e-16, relative to the sum of
 * squares. */
Test(reduce, sums_match_double_and_do_not_depend_on_threads) {
    for (size_t l = 0; l < 8; l++) {
        size_t n = lengths[l];
        float *x = test_floats(n, 1);
        float *y = test_floats(n, 1);
        double *x64 = test_widen(n, x);
        double *y64 = test_widen(n, y);
        double squares = test_dot(n, x64, x64);
        double dot = test_dot(n, x64, y64);
        for (size_t d = 0; d < DEVICES; d++) {
            cr_expect_float_eq(nvdp__sum_squares(&test_devices[d], n, x), squares,
                               1e-12 * (squares + 1));
            cr_expect_float_eq(nvdp__dot(&test_devices[d], n, x, y), dot, 1e-12 * (squares + 1));
        }
        cr_expect_eq(nvdp__dot(&test_devices[FAST_ONE], n, x, y),
                     nvdp__dot(&test_devices[FAST_TWO], n, x, y));
        test_free();
    }
}

Test(reduce, all_finite_finds_one_bad_number_anywhere) {
    for (size_t d = 0; d < DEVICES; d++)
        for (size_t l = 1; l < 7; l++) {
            size_t n = lengths[l];
            float *x = test_floats(n, 1e38);
            cr_expect(nvdp__all_finite(&test_devices[d], n, x));
            cr_expect(nvdp__all_finite(&test_devices[d], 0, x));
            const size_t places[] = {0, n / 2, n - 1};
            const float bad[] = {INFINITY, -INFINITY, NAN};
            for (size_t p = 0; p < 3; p++) {
                float kept = x[places[p]];
                x[places[p]] = bad[p];
                cr_expect_not(nvdp__all_finite(&test_devices[d], n, x));
                x[places[p]] = kept;
            }
            test_free();
        }
}
