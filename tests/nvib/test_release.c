/* The distribution of a release's weights. */
#include "fixture.h"
#include <gsl/gsl_cdf.h>

static const struct nvdp__rounding_grid GRID = {-8, INT16_MAX};

static struct nvdp__digits seeded(uint64_t text) {
    static const struct nvdp__noise noise = {.seed = 4711};
    struct nvdp__digits digits;
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_EXACT, 0, text);
    nvdp__digits_open(&stream, &digits);
    return digits;
}

/* The first of two weights is Beta(a, b): a chi-square test over cells of some steps of its
 * logarithm, as Wilson & Hilferty's deviate; above 4.2 with chance 2e-5 each. */
static void check_beta(double a, double b, uint64_t text) {
    enum { N = 20000, CELLS = 40 };
    struct nvdp__digits digits = seeded(text);
    double found[CELLS + 1] = {0}, chi = 0, degrees = -1, before = 0;
    int32_t bound[CELLS], out[2];
    void *scratch = calloc(1, nvdp__release_scratch(2));
    for (int k = 0; k < CELLS; k++) { /* cells end at quantiles, on the grid's edges */
        double low = -200, high = 0;
        for (int i = 0; i < 60; i++) {
            double middle = (low + high) / 2;
            bool below = gsl_cdf_beta_P(exp(middle), a, b) < (k + 1.0) / (CELLS + 1);
            *(below ? &low : &high) = middle;
        }
        bound[k] = (int32_t)fmax(-GRID.limit, floor(low * 256));
    }
    for (int i = 0; i < N; i++) {
        nvdp__release_weights(&digits, &GRID, 2, (double[]){a, b}, scratch, out);
        int k = 0;
        while (k < CELLS && out[0] > bound[k])
            k++;
        found[k]++;
    }
    for (int k = 0; k <= CELLS; k++) {
        double end = k == CELLS ? 1 : gsl_cdf_beta_P(exp((bound[k] + 0.5) / 256), a, b);
        double expected = N * (end - before);
        before = end;
        if (expected < 5) continue;
        chi += pow(found[k] - expected, 2) / expected;
        degrees++;
    }
    cr_assert_gt(degrees, 2);
    double scale = 2 / (9 * degrees), deviate = (cbrt(chi / degrees) - (1 - scale)) / sqrt(scale);
    cr_assert_lt(fabs(deviate), 4.2, "Beta(%g, %g): %g", a, b, deviate);
    free(scratch);
}

Test(release, weights_are_a_dirichlets) {
    check_beta(1, 1, 1);
    check_beta(0.3, 2, 2);
    check_beta(0.02, 0.05, 3);
    check_beta(5, 0.7, 4);
    check_beta(40, 200, 5);
}

Test(release, weights_stay_on_the_grid_and_sum_to_one) {
    enum { ROWS = 129 };
    double alpha[ROWS];
    int32_t out[ROWS];
    struct nvdp__digits digits = seeded(6);
    void *scratch = calloc(1, nvdp__release_scratch(ROWS));
    for (int r = 0; r < ROWS; r++)
        alpha[r] = exp(-20 + 22.0 * r / ROWS);
    for (int i = 0; i < 50; i++) {
        double sum = 0;
        nvdp__release_weights(&digits, &GRID, ROWS, alpha, scratch, out);
        for (int r = 0; r < ROWS; r++) {
            cr_assert(out[r] <= 0 && out[r] >= -GRID.limit);
            sum += exp(out[r] / 256.0);
        }
        cr_assert_lt(fabs(sum - 1), 0.002); /* half a step, 2^-9 */
        cr_assert_eq(out[0], -GRID.limit);  /* e^-20: its logarithm is near -10^8 */
    }
    free(scratch);
}

/* Checks the stated distance for 129 weights, and that it grows with its arguments. */
Test(release, distance_is_small_and_grows) {
    double usual = nvdp__release_distance(&GRID, 129, 1);
    cr_assert(usual > 0 && usual < 1e-19, "%g", usual);
    cr_assert_gt(nvdp__release_distance(&GRID, 2000, 1), usual);
    cr_assert_gt(nvdp__release_distance(&GRID, 129, 1e-4), usual);
    cr_assert(nvdp__release_takes(2, (double[]){1, 1e6}));
    cr_assert_not(nvdp__release_takes(2, (double[]){1e6, 1e6}));
    cr_assert_not(nvdp__release_takes(1, (double[]){0}));
    cr_assert_not(nvdp__release_takes(1, (double[]){NAN}));
}
