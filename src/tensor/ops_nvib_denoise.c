/* What the sealed block makes of a sample: the key bias of denoising attention, and weights. */
#include "tensor/ops_nvib.h"
#include "tensor/vector.h"

enum { LANES = 8 };

NVDP__CLONES static double denoise_square_norm(size_t n, const float *x) {
    double lane[LANES] = {0};
    size_t whole = n - n % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            lane[k] += (double)x[i + k] * x[i + k];
        }
    }
    for (size_t i = whole; i < n; i++) {
        lane[i - whole] += (double)x[i] * x[i];
    }
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void nvdp__denoise_bias(const struct nvdp__device *dev, size_t rows, size_t dim, size_t head_dim,
                        const float *log_pi, const float *z, float *bias) {
    double scale = 0.5 / sqrt((double)head_dim);
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t r = 0; r < rows; r++) {
        bias[r] = (float)(log_pi[r] - scale * denoise_square_norm(dim, z + r * dim));
    }
}

NVDP__CLONES static void denoise_subtract_row(size_t n, float a, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] -= a * x[i];
    }
}

void nvdp__denoise_bias_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 size_t head_dim, const float *z, const float *dbias, float *dz,
                                 float *dlog_pi) {
    float scale = (float)(1 / sqrt((double)head_dim));
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t r = 0; r < rows; r++) {
        dlog_pi[r] = dbias[r];
        denoise_subtract_row(dim, scale * dbias[r], z + r * dim, dz + r * dim);
    }
}

NVDP__CLONES static void exp_block(size_t n, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] = nvdp__fast_exp(x[i]);
    }
}

/* One value a row at most: too few to start threads for. */
void nvdp__exp(const struct nvdp__device *dev, size_t n, const float *x, float *y) {
    (void)dev;
    exp_block(n, x, y);
}

void nvdp__multiply_add(const struct nvdp__device *dev, size_t n, const float *a, const float *x,
                        float *y) {
    (void)dev;
    for (size_t i = 0; i < n; i++) {
        y[i] += a[i] * x[i];
    }
}
