/* LayerNorm (Ba, Kiros & Hinton 2016) of a sum with a residual, as around every block of a
 * post-LN layer:
 *
 *     s     = drop(x) + residual
 *     mean  = mean over the row of s
 *     rstd  = 1 / sqrt(mean((s - mean)^2) + eps)
 *     h     = (s - mean) rstd
 *     y     = h gamma + beta
 *
 * and in the backward pass, with g = dy gamma:
 *
 *     dbeta  += sum over rows of dy
 *     dgamma += sum over rows of dy h
 *     ds      = rstd (g - mean(g) - h mean(g h))
 *     dx      = drop'(ds)
 *
 * A second pass over the row computes the variance, and sums run in double. y and dx can also be
 * written in bfloat16, while the rows are in the cache. */
#include "tensor/kernels.h"
#include "tensor/per_example.h"

/* ---- one row ---- */

NVDP__CLONES
static void normalize_row(size_t dim, double eps, const float *x, const float *residual,
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
    float center = (float)average;
    float scale = (float)inverse;
    for (size_t i = 0; i < dim; i++)
        y[i] = (x[i] - center) * scale * gamma[i] + beta[i];
    *mean = center;
    *rstd = scale;
}

/* Applies the dropout factors of one row. */
NVDP__CLONES
static void drop_row(struct nvdp__dropout_key key, int32_t threshold, float scale, size_t n,
                     const float *x, float *y) {
#pragma omp simd
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
        int32_t bits = nvdp__dropout_bits(key, j);
        /* a dropped NaN or infinity also becomes 0 */
        y[j] = bits >= threshold ? x[j] * scale : 0.0f;
    }
}

NVDP__CLONES
static void drop_row_bf16(struct nvdp__dropout_key key, int32_t threshold, float scale, size_t n,
                          const float *restrict x, nvdp__bf16 *restrict y) {
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
        int32_t bits = nvdp__dropout_bits(key, j);
        y[j] = nvdp__bfloat16_from_float(bits >= threshold ? x[j] * scale : 0.0f);
    }
}

/* ---- forward ---- */

void nvdp__norm_forward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                        struct nvdp__tensor x, struct nvdp__tensor residual,
                        struct nvdp__tensor sum, struct nvdp__tensor y,
                        struct nvdp__tensor rounded) {
    size_t dim = x.cols;
    bool drops = norm->dropout.rate > 0;
    int32_t threshold = nvdp__dropout_threshold(&norm->dropout);
    float scale = 1.0f / (1.0f - norm->dropout.rate);
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, x.rows, dim)) schedule(static)
    for (size_t r = 0; r < x.rows; r++) {
        size_t at = r * dim;
        const float *from = (const float *)x.data + at;
        const float *other = residual.data != NULL ? (const float *)residual.data + at : NULL;
        float *to = sum.data != NULL ? (float *)sum.data + at : NULL;
        float *normal = (float *)y.data + at;
        if (drops && to != NULL) {
            drop_row(nvdp__dropout_key(&norm->dropout, norm->dropout.first + r), threshold, scale,
                     dim, from, to);
            from = to;
        }
        if (other == NULL && to != NULL && from != to) memcpy(to, from, dim * sizeof *to);
        normalize_row(dim, (double)norm->eps, from, other, norm->gamma, norm->beta, to, normal,
                      norm->mean + r, norm->rstd + r);
        if (rounded.data != NULL && rounded.type == NVDP__BF16)
            nvdp__round_row(dim, normal, (nvdp__bf16 *)rounded.data + at);
    }
    if (rounded.data != NULL && rounded.type == NVDP__F32) nvdp__convert(dev, y, rounded);
}

/* ---- backward ---- */

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
        if (dbeta != NULL) dbeta[c] = (float)((double)dbeta[c] + to_beta[c]);
    }
}

NVDP__CLONES
static void slope_row(size_t dim, const float *restrict sum, const float *restrict gamma,
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

/* Writes row r of d, the gradient of the sum, to d_x after dropout. */
static void store_row(const struct nvdp__norm *norm, size_t r, const float *d,
                      struct nvdp__tensor d_x) {
    size_t dim = d_x.cols;
    bool drops = norm->dropout.rate > 0;
    struct nvdp__dropout_key key = {0};
    if (drops) key = nvdp__dropout_key(&norm->dropout, norm->dropout.first + r);
    int32_t threshold = nvdp__dropout_threshold(&norm->dropout);
    float scale = 1.0f / (1.0f - norm->dropout.rate);
    if (d_x.type == NVDP__BF16) {
        nvdp__bf16 *to = (nvdp__bf16 *)d_x.data + r * dim;
        if (drops)
            drop_row_bf16(key, threshold, scale, dim, d, to);
        else
            nvdp__round_row(dim, d, to);
        return;
    }
    float *to = (float *)d_x.data + r * dim;
    if (drops)
        drop_row(key, threshold, scale, dim, d, to);
    else if (to != d)
        memcpy(to, d, dim * sizeof *to);
}

/* Computes dgamma and dbeta of each text. */
static void param_texts(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                        const float *s, struct nvdp__tensor d) {
    size_t dim = d.cols, blocks = nvdp__blocks(dim, NVDP__COLUMNS);
    bool known = nvdp__per_example_splits(dev, norm->offset, d.rows);
    size_t texts = known ? nvdp__per_example_texts(dev) : 0;
    float *gamma = nvdp__per_example_vectors(dev, norm->dgamma, dim);
    float *beta = nvdp__per_example_vectors(dev, norm->dbeta, dim);
    const float *dy = d.data;
    if (gamma == NULL || (beta == NULL && norm->dbeta != NULL)) return;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, d.rows, dim)) schedule(static)
    for (size_t i = 0; i < texts * blocks; i++) {
        size_t text = i / blocks, column = i % blocks * NVDP__COLUMNS, to = text * dim + column;
        size_t first = norm->offset != NULL ? (size_t)norm->offset[text] : text;
        size_t end = norm->offset != NULL ? (size_t)norm->offset[text + 1] : text + 1;
        size_t at = first * dim + column;
        param_columns(end - first, dim, nvdp__block_length(dim, NVDP__COLUMNS, i % blocks), s + at,
                      norm->mean + first, norm->rstd + first, dy + at, gamma + to,
                      beta != NULL ? beta + to : NULL);
    }
}

void nvdp__norm_backward(const struct nvdp__device *dev, const struct nvdp__norm *norm,
                         struct nvdp__tensor sum, struct nvdp__tensor d, struct nvdp__tensor d_x) {
    size_t rows = d.rows;
    size_t dim = d.cols;
    const float *s = sum.data;
    float *dy = d.data;
    size_t blocks = dev->per_example == NULL ? nvdp__blocks(dim, NVDP__COLUMNS) : 0;
    if (dev->per_example != NULL) param_texts(dev, norm, s, d);
#pragma omp parallel num_threads(nvdp__matrix_team(dev, rows, dim))
    {
/* the threads wait at the end of this loop, because the next loop overwrites d */
#pragma omp for schedule(static)
        for (size_t b = 0; b < blocks; b++) {
            size_t at = b * NVDP__COLUMNS;
            param_columns(rows, dim, nvdp__block_length(dim, NVDP__COLUMNS, b), s + at, norm->mean,
                          norm->rstd, dy + at, norm->dgamma + at,
                          norm->dbeta != NULL ? norm->dbeta + at : NULL);
        }
#pragma omp for schedule(static)
        for (size_t r = 0; r < rows; r++) {
            size_t at = r * dim;
            slope_row(dim, s + at, norm->gamma, norm->mean[r], norm->rstd[r], dy + at, dy + at);
            if (d_x.data != NULL) store_row(norm, r, dy + at, d_x);
        }
    }
}
