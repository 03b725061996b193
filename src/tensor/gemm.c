#include "tensor/ops.h"

#include "tensor/gemm_onednn.h"
#include "tensor/kernels.h"
#include "tensor/reference.h"
#include "tensor/vector.h"
#include <cblas.h>

static void scale_matrix(size_t m, size_t n, float beta, float *c, size_t ldc) {
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++)
            c[i * ldc + j] = beta == 0 ? 0 : beta * c[i * ldc + j];
}

void nvdp__gemm(const struct nvdp__device *dev, bool trans_a, bool trans_b, size_t m, size_t n,
                size_t k, float alpha, const float *a, size_t lda, const float *b, size_t ldb,
                float beta, float *c, size_t ldc) {
    if (dev->reference) {
        nvdp__ref_gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
        return;
    }
    if (m == 0 || n == 0) return;
    if (k == 0) { /* an empty sum; BLAS would refuse the strides of empty matrices */
        scale_matrix(m, n, beta, c, ldc);
        return;
    }
    if (nvdp__onednn_gemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) return;
    cblas_sgemm(CblasRowMajor, trans_a ? CblasTrans : CblasNoTrans,
                trans_b ? CblasTrans : CblasNoTrans, (blasint)m, (blasint)n, (blasint)k, alpha, a,
                (blasint)lda, b, (blasint)ldb, beta, c, (blasint)ldc);
}

static void repeat_row(const struct nvdp__device *dev, size_t rows, size_t dim, const float *row,
                       float *y) {
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < rows; r++)
        memcpy(y + r * dim, row, dim * sizeof *y);
}

void nvdp__linear_forward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                          const float *x, const float *w, const float *b, float *y) {
    if (dev->reference) {
        nvdp__ref_linear_forward(rows, in, out, x, w, b, y);
        return;
    }
    if (b != NULL) repeat_row(dev, rows, out, b, y);
    nvdp__gemm(dev, false, true, rows, out, in, 1, x, in, w, in, b != NULL ? 1.0f : 0.0f, y, out);
}

NVDP__CLONES
static void column_sums(size_t rows, size_t stride, size_t count, const float *restrict x,
                        float *restrict to) {
    double sum[NVDP__COLUMNS] = {0};
    if (count == NVDP__COLUMNS) { /* a length the compiler knows */
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < NVDP__COLUMNS; c++)
                sum[c] += (double)x[r * stride + c];
    } else {
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < count; c++)
                sum[c] += (double)x[r * stride + c];
    }
    for (size_t c = 0; c < count; c++)
        to[c] = (float)((double)to[c] + sum[c]);
}

void nvdp__column_sums(size_t rows, size_t stride, size_t count, const float *x, float *sum) {
    column_sums(rows, stride, count, x, sum);
}

static void add_column_sums(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const float *dy, float *db) {
    int team = nvdp__team(dev, rows * dim);
    size_t blocks = nvdp__blocks(dim, NVDP__COLUMNS);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__COLUMNS;
        column_sums(rows, dim, nvdp__block_length(dim, NVDP__COLUMNS, b), dy + at, db + at);
    }
}

void nvdp__linear_backward(const struct nvdp__device *dev, size_t rows, size_t in, size_t out,
                           const float *x, const float *w, const float *dy, float *dx,
                           bool accumulate, float *dw, float *db) {
    if (dev->reference) {
        nvdp__ref_linear_backward(rows, in, out, x, w, dy, dx, accumulate, dw, db);
        return;
    }
    if (dw != NULL) nvdp__gemm(dev, true, false, out, in, rows, 1, dy, out, x, in, 1, dw, in);
    if (db != NULL) add_column_sums(dev, rows, out, dy, db);
    if (dx != NULL)
        nvdp__gemm(dev, false, false, rows, in, out, 1, dy, out, w, in, accumulate ? 1.0f : 0.0f,
                   dx, in);
}
