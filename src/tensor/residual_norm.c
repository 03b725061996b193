/* What stands around every block of a post-LN layer: y = LN(drop(branch) + residual), with y once
 * more as an operand; rows are worked on while they are in the cache. */
#include "tensor/operand_access.h"

#include "tensor/dropout.h"
#include "tensor/kernels.h"
#include "tensor/reference.h"

/* The factors of one row, applied in place. */
NVDP__CLONES
static void drop_row(struct nvdp__dropout_key key, int32_t threshold, float scale, size_t n,
                     const float *x, float *y) {
#pragma omp simd
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
        int32_t bits = nvdp__dropout_bits(key, j);
        y[j] = bits >= threshold ? x[j] * scale : 0.0f; /* a dropped NaN or inf is gone too */
    }
}

NVDP__CLONES
static void drop_row_half(struct nvdp__dropout_key key, int32_t threshold, float scale, size_t n,
                          const float *restrict x, nvdp__bf16 *restrict y) {
    for (uint32_t j = 0; j < (uint32_t)n; j++) {
        int32_t bits = nvdp__dropout_bits(key, j);
        y[j] = nvdp__bfloat16_from_float(bits >= threshold ? x[j] * scale : 0.0f);
    }
}

static void forward_row(const struct nvdp__device *dev, const struct nvdp__residual_norm *norm,
                        size_t r, const float *branch, const float *residual, float *sum, float *y,
                        nvdp__operand *y_operand) {
    size_t at = r * norm->dim;
    const float *x = branch + at;
    if (norm->dropout.rate > 0) {
        drop_row(nvdp__dropout_key(&norm->dropout, r), nvdp__dropout_threshold(&norm->dropout),
                 1.0f / (1.0f - norm->dropout.rate), norm->dim, x, sum + at);
        x = sum + at;
    }
    if (residual == NULL && x != sum + at) memcpy(sum + at, x, norm->dim * sizeof *sum);
    nvdp__layernorm_row(norm->dim, (double)norm->eps, x, residual != NULL ? residual + at : NULL,
                        norm->gamma, norm->beta, residual != NULL ? sum + at : NULL, y + at,
                        norm->mean + r, norm->rstd + r);
    if (dev->half != NULL) nvdp__round_row(norm->dim, y + at, nvdp__op_bf16_out(y_operand) + at);
}

/* x after dropout; a dropped NaN is 0 here too. */
static float reference_drop(const struct nvdp__residual_norm *norm, size_t r, size_t i, float x) {
    if (norm->dropout.rate <= 0) return x;
    float factor = nvdp__dropout_factor(nvdp__dropout_key(&norm->dropout, r),
                                        nvdp__dropout_threshold(&norm->dropout),
                                        1.0f / (1.0f - norm->dropout.rate), (uint32_t)i);
    return factor > 0 ? x * factor : 0.0f;
}

static void reference_forward(const struct nvdp__residual_norm *norm, const float *branch,
                              const float *residual, float *sum, float *y) {
    for (size_t r = 0; r < norm->rows; r++)
        for (size_t i = 0; i < norm->dim; i++) {
            size_t at = r * norm->dim + i;
            sum[at] = reference_drop(norm, r, i, branch[at]);
        }
    nvdp__ref_layernorm_forward(norm->rows, norm->dim, (double)norm->eps, sum, residual,
                                norm->gamma, norm->beta, sum, y, norm->mean, norm->rstd);
}

void nvdp__residual_norm_forward(const struct nvdp__device *dev,
                                 const struct nvdp__residual_norm *norm, const float *branch,
                                 const float *residual, float *sum, float *y,
                                 nvdp__operand *y_operand) {
    if (dev->reference) {
        reference_forward(norm, branch, residual, sum, y);
    } else {
        int team = nvdp__team(dev, norm->rows * norm->dim);
#pragma omp parallel for num_threads(team) schedule(static)
        for (size_t r = 0; r < norm->rows; r++)
            forward_row(dev, norm, r, branch, residual, sum, y, y_operand);
    }
    if (dev->half == NULL) nvdp__to_operand(dev, norm->rows * norm->dim, y, y_operand);
}

/* d's row becomes the gradient of the sum; d_branch's that of the branch. */
static void backward_row(const struct nvdp__device *dev, const struct nvdp__residual_norm *norm,
                         size_t r, const float *sum, float *d, nvdp__operand *d_branch) {
    size_t at = r * norm->dim;
    size_t dim = norm->dim;
    bool drops = norm->dropout.rate > 0;
    nvdp__layernorm_row_backward(dim, sum + at, norm->gamma, norm->mean[r], norm->rstd[r], d + at,
                                 d + at);
    struct nvdp__dropout_key key = {0};
    if (drops) key = nvdp__dropout_key(&norm->dropout, r);
    int32_t threshold = nvdp__dropout_threshold(&norm->dropout);
    float scale = 1.0f / (1.0f - norm->dropout.rate);
    if (dev->half != NULL) {
        nvdp__bf16 *to = nvdp__op_bf16_out(d_branch) + at;
        if (drops)
            drop_row_half(key, threshold, scale, dim, d + at, to);
        else
            nvdp__round_row(dim, d + at, to);
        return;
    }
    float *to = nvdp__op_f32_out(d_branch) + at;
    if (drops)
        drop_row(key, threshold, scale, dim, d + at, to);
    else if (to != d + at)
        memcpy(to, d + at, dim * sizeof *to);
}

static void reference_backward(const struct nvdp__residual_norm *norm, const float *sum, float *d,
                               float *d_branch) {
    nvdp__ref_layernorm_backward(norm->rows, norm->dim, sum, norm->gamma, norm->mean, norm->rstd, d,
                                 d, norm->dgamma, norm->dbeta);
    for (size_t r = 0; r < norm->rows; r++)
        for (size_t i = 0; i < norm->dim; i++) {
            size_t at = r * norm->dim + i;
            d_branch[at] = reference_drop(norm, r, i, d[at]);
        }
}

void nvdp__residual_norm_backward(const struct nvdp__device *dev,
                                  const struct nvdp__residual_norm *norm, const float *sum,
                                  float *d, nvdp__operand *d_branch) {
    if (dev->reference) {
        reference_backward(norm, sum, d, nvdp__op_f32_out(d_branch));
        return;
    }
    size_t dim = norm->dim;
    int team = nvdp__team(dev, norm->rows * dim);
    size_t blocks = nvdp__blocks(dim, NVDP__COLUMNS);
#pragma omp parallel num_threads(team)
    {
#pragma omp for schedule(static) /* waits at its end: rows overwrite d */
        for (size_t b = 0; b < blocks; b++) {
            size_t at = b * NVDP__COLUMNS;
            nvdp__layernorm_columns_backward(
                norm->rows, dim, nvdp__block_length(dim, NVDP__COLUMNS, b), sum + at, norm->mean,
                norm->rstd, d + at, norm->dgamma + at, norm->dbeta + at);
        }
#pragma omp for schedule(static)
        for (size_t r = 0; r < norm->rows; r++)
            backward_row(dev, norm, r, sum, d, d_branch);
    }
}
