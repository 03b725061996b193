/* Logistic regression, for the attackers of pooled.c, which see one vector per text; the Cholesky factor of others. */
#include "attack/texts.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 200, POWER_STEPS = 30 };

bool nvdp__cholesky(size_t n, double *a, size_t *failed) {
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++)
            a[i * n + j] -= cblas_ddot((int)j, a + i * n, 1, a + j * n, 1);
        *failed = j;
        if (!(a[j * n + j] > 0)) return false;
        cblas_dscal((int)(n - j), 1 / sqrt(a[j * n + j]), a + j * n + j, (int)n);
    }
    return true;
}

void nvdp__logistic_apply(size_t n, size_t width, const double *x, size_t outputs,
                          const double *weight, bool softmax, double *out) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)outputs, (int)width, 1, x,
                (int)width, weight, (int)width, 0, out, (int)outputs);
    for (size_t i = 0; i < n; i++) {
        double *row = out + i * outputs, top = -INFINITY, sum = 0;
        for (size_t k = 0; k < outputs; k++) {
            top = fmax(top, row[k]);
            if (!softmax) row[k] = 1 / (1 + exp(-row[k]));
        }
        for (size_t k = 0; k < outputs && softmax; k++)
            sum += row[k] = exp(row[k] - top);
        for (size_t k = 0; k < outputs && softmax; k++)
            row[k] /= sum;
    }
}

double nvdp__logistic_loss(size_t n, size_t outputs, const double *p, const double *y,
                           bool softmax) {
    double sum = 0;
    for (size_t i = 0; i < n * outputs; i++) {
        if (y[i] > 0) sum -= y[i] * log(fmax(p[i], 1e-300));
        if (y[i] < 1 && !softmax) sum -= (1 - y[i]) * log(fmax(1 - p[i], 1e-17));
    }
    return sum / (double)n;
}

/* Returns a lower estimate of the largest eigenvalue of x'x / n, by power iteration. */
static double largest(size_t n, size_t width, const double *x, double *v, double *xv) {
    double value = 1;
    for (size_t d = 0; d < width; d++)
        v[d] = 1 + (double)(d % 7);
    for (int k = 0; k < POWER_STEPS; k++) {
        cblas_dscal((int)width, 1 / cblas_dnrm2((int)width, v, 1), v, 1);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n, (int)width, 1, x, (int)width, v, 1, 0, xv,
                    1);
        value = cblas_ddot((int)n, xv, 1, xv, 1) / (double)n;
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)n, (int)width, 1, x, (int)width, xv, 1, 0, v,
                    1);
    }
    return value;
}

nvdp_status nvdp__logistic_fit(struct nvdp_context *ctx, size_t n, size_t width, const double *x,
                               size_t outputs, const double *y, bool softmax, double l2,
                               double *weight) {
    nvdp__autofree double *p = NULL, *ahead = NULL, *gradient = NULL, *before = NULL;
    const size_t size = outputs * width;
    double momentum = 1;
    NVDP_TRY(NVDP__NEW(ctx, p, n * outputs > n + width ? n * outputs : n + width));
    NVDP_TRY(NVDP__NEW(ctx, ahead, size));
    NVDP_TRY(NVDP__NEW(ctx, gradient, size));
    NVDP_TRY(NVDP__NEW(ctx, before, size));
    const double step = 1 / (1.1 * (softmax ? 0.5 : 0.25) * largest(n, width, x, p + n, p) + l2);
    memset(weight, 0, size * sizeof *weight);
    for (int k = 0; k < STEPS; k++) {
        NVDP_TRY(nvdp__check_cancelled(ctx, "attack: cancelled"));
        nvdp__logistic_apply(n, width, x, outputs, ahead, softmax, p);
        cblas_daxpy((int)(n * outputs), -1, y, 1, p, 1);
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)outputs, (int)width, (int)n,
                    1 / (double)n, p, (int)outputs, x, (int)width, 0, gradient, (int)width);
        const double next = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        for (size_t i = 0; i < size; i++) {
            const bool bias = i % width == width - 1;
            before[i] = weight[i];
            weight[i] = ahead[i] - step * (gradient[i] + (bias ? 0 : l2 * ahead[i]));
            ahead[i] = weight[i] + (momentum - 1) / next * (weight[i] - before[i]);
        }
        momentum = next;
    }
    return NVDP_OK;
}
