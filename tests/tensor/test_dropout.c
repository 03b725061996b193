/* Dropout's masks: stability, rate, independence. */
#include "tensor_test.h"

static float *ones(size_t n) {
    float *x = test_zeros(n);
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    return x;
}

Test(dropout, rate_zero_reads_nothing) {
    struct nvdp__dropout off = {0};
    for (size_t d = 0; d < DEVICES; d++)
        op_dropout_apply(&test_devices[d], &off, 1000, NULL);
}

Test(dropout, every_device_drops_the_same_elements) {
    struct nvdp__dropout drop = {.rate = 0.1f, .seed = 5, .step = 3, .site = 2};
    const size_t lengths[] = {0, 1, 17, 4096, 4097, 50000};
    for (size_t l = 0; l < 6; l++) {
        size_t n = lengths[l];
        float *x = test_floats(n, 1);
        float *y[DEVICES];
        for (size_t d = 0; d < DEVICES; d++) {
            y[d] = test_copy(n, x);
            op_dropout_apply(&test_devices[d], &drop, n, y[d]);
            test_same("dropout", n, y[d], y[0]);
        }
        for (size_t i = 0; i < n; i++)
            cr_assert(y[0][i] == 0 || fabsf(y[0][i] - x[i] / 0.9f) <= 2e-7f);
    }
}

/* Dropping an element does not depend on how many follow it, and a dropped NaN becomes 0. */
Test(dropout, prefix_is_stable_and_dropped_is_zero) {
    struct nvdp__dropout drop = {.rate = 0.5f, .seed = 1};
    float *whole = ones(9000), *part = ones(5000);
    op_dropout_apply(&test_devices[0], &drop, 9000, whole);
    op_dropout_apply(&test_devices[0], &drop, 5000, part);
    test_same("prefix", 5000, whole, part);
    float *nans = test_zeros(5000);
    for (size_t i = 0; i < 5000; i++)
        nans[i] = NAN;
    op_dropout_apply(&test_devices[0], &drop, 5000, nans);
    for (size_t i = 0; i < 5000; i++)
        cr_assert_eq(nans[i] == 0, part[i] == 0);
}

/* Seeds are fixed; the bounds are five standard deviations of the binomial count: a correct
 * generator would fail one of them for about one seed in 10^6. */
Test(dropout, drops_at_its_rate_and_without_correlation) {
    enum { N = 1 << 20 };
    const float rates[] = {0.01f, 0.1f, 0.5f, 0.9f};
    for (uint32_t r = 0; r < 4; r++) {
        double p = (double)rates[r];
        struct nvdp__dropout drop = {.rate = rates[r], .seed = 11, .step = 7, .site = 1};
        float *x = ones(N), *next_site = ones(N), *next_step = ones(N);
        op_dropout_apply(&test_devices[1], &drop, N, x);
        drop.site++;
        op_dropout_apply(&test_devices[1], &drop, N, next_site);
        drop.site--, drop.step++;
        op_dropout_apply(&test_devices[1], &drop, N, next_step);
        double dropped = 0, both_lag = 0, both_row = 0, both_site = 0, both_step = 0;
        for (size_t i = 0; i < N; i++) {
            bool here = x[i] == 0;
            dropped += here;
            both_lag += here && x[(i + 1) % N] == 0;
            both_row += here && x[(i + 4096) % N] == 0;
            both_site += here && next_site[i] == 0;
            both_step += here && next_step[i] == 0;
        }
        double spread = 5 * sqrt(N * p * (1 - p));
        double pair_spread = 5 * sqrt(N * p * p * (1 - p * p) * 3); /* pairs overlap */
        near(dropped, N * p, spread, "rate %g", p);
        near(both_lag, N * p * p, pair_spread, "rate %g, neighbours", p);
        near(both_row, N * p * p, pair_spread, "rate %g, blocks", p);
        near(both_site, N * p * p, pair_spread, "rate %g, sites", p);
        near(both_step, N * p * p, pair_spread, "rate %g, steps", p);
    }
}
