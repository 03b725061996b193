/* Denoising attention's bias and weights, and their gradients. */
#include "fixture.h"

enum { ROWS = 30, DIM = 13 };
static const struct nvdp__device dev = {.threads = 2};

static void fill(size_t n, double scale, double phase, float *x) {
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * sin(1.7 * (double)i + phase));
}

/* bias = log pi - |z|^2/(2 sqrt h), h = 5. */
Test(denoise, bias_and_gradient) {
    float z[ROWS * DIM], log_pi[ROWS], bias[ROWS], dbias[ROWS], dz[ROWS * DIM], dlog_pi[ROWS];
    double want[ROWS], want_dz[ROWS * DIM];
    fill(ROWS * DIM, 3, 0, z);
    fill(ROWS, 40, 1, log_pi);
    fill(ROWS, 1, 2, dbias);
    fill(ROWS * DIM, 1, 3, dz);
    for (size_t r = 0; r < ROWS; r++) {
        want[r] = log_pi[r];
        for (size_t i = 0; i < DIM; i++) {
            double v = z[r * DIM + i];
            want[r] -= v * v / (2 * sqrt(5));
            want_dz[r * DIM + i] = dz[r * DIM + i] - dbias[r] * v / sqrt(5);
        }
    }
    nvdp__denoise_bias(&dev, ROWS, DIM, 5, log_pi, z, bias);
    nvdp__denoise_bias_backward(&dev, ROWS, DIM, 5, z, dbias, dz, dlog_pi);
    cr_expect_lt(support_norm_error(ROWS, bias, want), 1e-6);
    cr_expect_lt(support_norm_error(ROWS * DIM, dz, want_dz), 1e-6);
    for (size_t r = 0; r < ROWS; r++)
        cr_expect_eq(dlog_pi[r], dbias[r]);
}

Test(denoise, weights) {
    float x[ROWS], y[ROWS], a[ROWS], sum[ROWS];
    fill(ROWS, 20, 0, x);
    fill(ROWS, 2, 1, a);
    fill(ROWS, 1, 2, sum);
    x[3] = -1e30f;
    nvdp__exp(ROWS, x, y);
    for (size_t i = 0; i < ROWS; i++) {
        cr_expect_lt(support_relative(y[i], exp((double)x[i]), 1e-30), 1e-6);
        double want = sum[i] + (double)a[i] * y[i];
        nvdp__multiply_add(1, a + i, y + i, sum + i);
        cr_expect_lt(support_relative(sum[i], want, 1), 1e-6);
    }
    nvdp__exp(ROWS, x, x);
    cr_expect_eq(x[5], y[5], "in place");
}
