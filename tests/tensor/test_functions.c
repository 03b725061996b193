/* Compares the fast elementary functions with libm in double, over sweeps, in the version of the
 * baseline instruction set and in the one chosen for the processor. */
#include "tensor_test.h"

enum { POINTS = 400001 };

static inline float gelu_slope(float x) {
    float slope;
    nvdp__gelu_and_slope(x, &slope);
    return slope;
}

/* Defines NAME_all, which applies a function to an array in the version chosen for the processor, and NAME_one. */
#define VERSIONS(NAME, FUNCTION)                                                                   \
    NVDP__CLONES                                                                                   \
    static void NAME##_all(size_t n, const float *x, float *y) {                                   \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = FUNCTION(x[i]);                                                                 \
    }                                                                                              \
    static float NAME##_one(float x) {                                                             \
        return FUNCTION(x);                                                                        \
    }
VERSIONS(exp, nvdp__fast_exp)
VERSIONS(exp_below, nvdp__fast_exp_below)
VERSIONS(tanh, nvdp__fast_tanh)
VERSIONS(cdf, nvdp__normal_cdf)
VERSIONS(slope, gelu_slope)

static double exact_cdf(double x) {
    return 0.5 * erfc(-x / sqrt(2));
}

static double exact_slope(double x) {
    return exact_cdf(x) + x * exp(-0.5 * x * x) / sqrt(8 * atan(1));
}

/* Returns the largest relative error over [low, high]; below `floor` the error is divided by it
 * instead. */
static double worst(double low, double high, double (*exact)(double), float (*one)(float),
                    void (*all)(size_t n, const float *x, float *y), double floor) {
    float *x = test_zeros(POINTS), *y = test_zeros(POINTS);
    for (size_t i = 0; i < POINTS; i++)
        x[i] = (float)(low + (high - low) * (double)i / (POINTS - 1));
    all(POINTS, x, y);
    double largest = 0;
    for (size_t i = 0; i < POINTS; i++) {
        double want = exact((double)x[i]);
        double unit = fmax(fabs(want), floor);
        largest = fmax(largest, fabs((double)y[i] - want) / unit);
        largest = fmax(largest, fabs((double)one(x[i]) - want) / unit);
    }
    return largest;
}

/* Results below 2^-126 are subnormal: the floor allows for their grid of 2^-149. */
Test(functions, exp_is_within_its_stated_error) {
    cr_expect_lt(worst(-87.3, 88.7, exp, exp_one, exp_all, 0), 2e-7);
    cr_expect_lt(worst(-1, 1, exp, exp_one, exp_all, 0), 2e-7);
    cr_expect_lt(worst(-110, -87.3, exp, exp_one, exp_all, 0x1p-126), 2.5e-7);
    cr_expect_lt(worst(-87.3, 1e-3, exp, exp_below_one, exp_below_all, 0), 2e-7);
    float x[] = {-87.31F, -1e30F, -INFINITY, NAN}, y[4];
    exp_below_all(4, x, y);
    cr_expect(y[0] == 0 && y[1] == 0 && y[2] == 0 && isnan(y[3]));
}

Test(functions, tanh_is_within_its_stated_error) {
    cr_expect_lt(worst(-10, 10, tanh, tanh_one, tanh_all, 0), 2e-7);
    cr_expect_lt(worst(-1, 1, tanh, tanh_one, tanh_all, 0), 2e-7);
    cr_expect_lt(worst(-1e-3, 1e-3, tanh, tanh_one, tanh_all, 0), 2e-7);
}

/* Absolute errors: the polynomial's 7e-8, and the rounding of a sum whose terms reach 1/2. */
Test(functions, normal_cdf_is_within_its_stated_error) {
    cr_expect_lt(worst(-9, 9, exact_cdf, cdf_one, cdf_all, 1), 2e-7);
    cr_expect_lt(worst(-1, 1, exact_cdf, cdf_one, cdf_all, 1), 2e-7);
    cr_expect_lt(worst(-5.3, -5.1, exact_cdf, cdf_one, cdf_all, 1), 2e-7);
    cr_expect_lt(worst(5.1, 5.3, exact_cdf, cdf_one, cdf_all, 1), 2e-7);
    cr_expect_lt(worst(-9, 9, exact_slope, slope_one, slope_all, 1), 3e-7);
}

Test(functions, ends_are_exact) {
    float x[] = {0, -INFINITY, INFINITY, 1e30f, -1e30f, 89, -105, NAN};
    enum { N = sizeof x / sizeof *x };
    const float want_exp[] = {1, 0, INFINITY, INFINITY, 0, INFINITY, 0};
    const float want_odd[] = {0, -1, 1, 1, -1, 1, -1};
    float y[N];
    exp_all(N, x, y);
    test_same("exp", N - 1, y, want_exp);
    cr_expect(isnan(y[N - 1]));
    tanh_all(N, x, y);
    test_same("tanh", N - 1, y, want_odd);
    cr_expect(isnan(y[N - 1]));
    const float want_cdf[] = {0.5F, 0, 1, 1, 0, 1, 0};
    cdf_all(N, x, y);
    test_same("cdf", N - 1, y, want_cdf);
    cr_expect(isnan(y[N - 1]));
}
