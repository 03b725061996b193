/* LayerNorm (Ba, Kiros & Hinton 2016): y = (s - mean(s)) rstd gamma + beta, rstd = 1/sqrt(var(s) +
 * eps), over each row; var is the mean squared deviation, taken in a second pass.  Sums run in
 * double. */
#include "tensor/ops.h"

#include "tensor/kernels.h"
#include "tensor/reference.h"
#include "tensor/vector.h"

NVDP__CLONES
static void forward_row(size_t dim, double eps, const float *x, const float *residual,
                        const float *restrict gamma, const float *restrict beta, float *sum,
                        float *restrict y, float *mean, float *rstd) {
    double total = 0;
    if (residual != NULL) {
#pragma omp simd reduction(+ : total)
        for (size_t i = 0; i < dim; i++) {
            float s = x[i] + residual[i];
            sum[i] = s;
            total += (double)s;
        }
        x = sum;
    } else {
#pragma omp simd reduction(+ : total)
        for (size_t i = 0; i < dim; i++)
            total += (double)x[i];
    }
    double average = total / (double)dim;
    double square = 0;
#pragma omp simd reduction(+ : square)
    for (size_t i = 0; i < dim; i++) {
        double deviation = (double)x[i] - average;
        square += deviation * deviation;
    }
    double inverse = 1 / sqrt(square / (double)dim + eps);
    float centre = (float)average;
    float scale = (float)inverse;
    for (size_t i = 0; i < dim; i++)
        y[i] = (x[i] - centre) * scale * gamma[i] + beta[i];
    *mean = centre;
    *rstd = scale;
}

void nvdp__layernorm_row(size_t dim, double eps, const float *x, const float *residual,
                         const float *gamma, const float *beta, float *sum, float *y, float *mean,
                         float *rstd) {
    forward_row(dim, eps, x, residual, gamma, beta, sum, y, mean, rstd);
}

void nvdp__layernorm_forward(const struct nvdp__device *dev, size_t rows, size_t dim, float eps,
                             const float *x, const float *residual, const float *gamma,
                             const float *beta, float *sum, float *y, float *mean, float *rstd) {
    if (dev->reference) {
        nvdp__ref_layernorm_forward(rows, dim, (double)eps, x, residual, gamma, beta, sum, y, mean,
                                    rstd);
        return;
    }
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < rows; r++) {
        size_t at = r * dim;
        forward_row(dim, (double)eps, x + at, residual != NULL ? residual + at : NULL, gamma, beta,
                    residual != NULL ? sum + at : NULL, y + at, mean + r, rstd + r);
    }
}

/* With h = (s - mean) rstd:  dgamma += sum over rows of dy h,  dbeta += sum over rows of dy. */
NVDP__CLONES
static void param_columns(size_t rows, size_t stride, size_t count, const float *restrict sum,
                          const float *restrict mean, const float *restrict rstd,
                          const float *restrict dy, float *restrict dgamma, float *restrict dbeta) {
    double to_gamma[NVDP__COLUMNS] = {0};
    double to_beta[NVDP__COLUMNS] = {0};
    if (count == NVDP__COLUMNS) {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < NVDP__COLUMNS; c++) {
                float h = (sum[r * stride + c] - mean[r]) * rstd[r];
                to_gamma[c] += (double)(dy[r * stride + c] * h);
                to_beta[c] += (double)dy[r * stride + c];
            }
    } else {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < count; c++) {
                float h = (sum[r * stride + c] - mean[r]) * rstd[r];
                to_gamma[c] += (double)(dy[r * stride + c] * h);
                to_beta[c] += (double)dy[r * stride + c];
            }
    }
    for (size_t c = 0; c < count; c++) {
        dgamma[c] = (float)((double)dgamma[c] + to_gamma[c]);
        dbeta[c] = (float)((double)dbeta[c] + to_beta[c]);
    }
}

/* With g = dy gamma:  ds = rstd (g - mean(g) - h mean(g h)). */
NVDP__CLONES
static void backward_row(size_t dim, const float *restrict sum, const float *restrict gamma,
                         float mean, float rstd, const float *dy, float *dx) {
    double total_g = 0;
    double total_gh = 0;
#pragma omp simd reduction(+ : total_g, total_gh)
    for (size_t i = 0; i < dim; i++) {
        float g = dy[i] * gamma[i];
        total_g += (double)g;
        total_gh += (double)(g * ((sum[i] - mean) * rstd));
    }
    float mean_g = (float)(total_g / (double)dim);
    float mean_gh = (float)(total_gh / (double)dim);
#pragma omp simd
    for (size_t i = 0; i < dim; i++) {
        float h = (sum[i] - mean) * rstd;
        dx[i] = rstd * (dy[i] * gamma[i] - mean_g - h * mean_gh);
    }
}

void nvdp__layernorm_row_backward(size_t dim, const float *sum, const float *gamma, float mean,
                                  float rstd, const float *dy, float *dx) {
    backward_row(dim, sum, gamma, mean, rstd, dy, dx);
}

void nvdp__layernorm_columns_backward(size_t rows, size_t stride, size_t count, const float *sum,
                                      const float *mean, const float *rstd, const float *dy,
                                      float *dgamma, float *dbeta) {
    param_columns(rows, stride, count, sum, mean, rstd, dy, dgamma, dbeta);
}

void nvdp__layernorm_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *sum, const float *gamma, const float *mean,
                              const float *rstd, const float *dy, float *dx, float *dgamma,
                              float *dbeta) {
    if (dev->reference) {
        nvdp__ref_layernorm_backward(rows, dim, sum, gamma, mean, rstd, dy, dx, dgamma, dbeta);
        return;
    }
    int team = nvdp__team(dev, rows * dim);
    size_t blocks = nvdp__blocks(dim, NVDP__COLUMNS);
#pragma omp parallel num_threads(team)
    {
#pragma omp for schedule(static) /* waits at its end: dx may overwrite dy */
        for (size_t b = 0; b < blocks; b++) {
            size_t at = b * NVDP__COLUMNS;
            param_columns(rows, dim, nvdp__block_length(dim, NVDP__COLUMNS, b), sum + at, mean,
                          rstd, dy + at, dgamma + at, dbeta + at);
        }
#pragma omp for schedule(static)
        for (size_t r = 0; r < rows; r++)
            backward_row(dim, sum + r * dim, gamma, mean[r], rstd[r], dy + r * dim, dx + r * dim);
    }
}
