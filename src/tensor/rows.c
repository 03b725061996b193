#include "tensor/ops.h"

#include "tensor/reference.h"
#include "tensor/vector.h"

NVDP__CLONES
static void embed_row(size_t dim, const float *restrict word, const float *restrict position,
                      const float *restrict type, float *restrict y) {
    for (size_t i = 0; i < dim; i++)
        y[i] = word[i] + position[i] + type[i];
}

void nvdp__embed_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                         const int32_t *ids, const int32_t *positions, const int32_t *types,
                         const float *word, const float *position, const float *type, float *y) {
    if (dev->reference) {
        nvdp__ref_embed_forward(rows, dim, ids, positions, types, word, position, type, y);
        return;
    }
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < rows; r++)
        embed_row(dim, word + (size_t)ids[r] * dim, position + (size_t)positions[r] * dim,
                  type + (size_t)types[r] * dim, y + r * dim);
}

/* x[index[r]] += y[r] in row order, over `count` columns of rows `stride` long. */
NVDP__CLONES
static void scatter_columns(size_t rows, size_t stride, size_t count, const int32_t *index,
                            const float *restrict y, float *restrict x) {
    for (size_t r = 0; r < rows; r++) {
        if (index[r] < 0) continue;
        float *restrict to = x + (size_t)index[r] * stride;
        const float *restrict from = y + r * stride;
        for (size_t i = 0; i < count; i++)
            to[i] += from[i];
    }
}

/* Parallel over columns, so that rows that meet in one place add up in row order. */
void nvdp__rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const int32_t *index, const float *y, float *x) {
    if (dev->reference) {
        nvdp__ref_rows_scatter_add(rows, dim, index, y, x);
        return;
    }
    int team = nvdp__team(dev, rows * dim);
    size_t blocks = nvdp__blocks(dim, NVDP__COLUMNS);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__COLUMNS;
        scatter_columns(rows, dim, nvdp__block_length(dim, NVDP__COLUMNS, b), index, y + at,
                        x + at);
    }
}

void nvdp__embed_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                          const int32_t *ids, const int32_t *positions, const int32_t *types,
                          const float *dy, float *dword, float *dposition, float *dtype) {
    nvdp__rows_scatter_add(dev, rows, dim, ids, dy, dword);
    nvdp__rows_scatter_add(dev, rows, dim, positions, dy, dposition);
    nvdp__rows_scatter_add(dev, rows, dim, types, dy, dtype);
}

void nvdp__rows_gather(const struct nvdp__device *dev, size_t rows, size_t dim,
                       const int32_t *index, const float *x, float *y) {
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < rows; r++) {
        if (index[r] < 0)
            memset(y + r * dim, 0, dim * sizeof *y);
        else
            memcpy(y + r * dim, x + (size_t)index[r] * dim, dim * sizeof *y);
    }
}

NVDP__CLONES
static void pool_columns(size_t rows, size_t stride, size_t count, const float *restrict weight,
                         const float *restrict x, float *restrict y) {
    double sum[NVDP__COLUMNS] = {0};
    double each = 1 / (double)rows;
    for (size_t r = 0; r < rows; r++) {
        double w = weight != NULL ? (double)weight[r] : each;
        for (size_t i = 0; i < count; i++)
            sum[i] += w * (double)x[r * stride + i];
    }
    for (size_t i = 0; i < count; i++)
        y[i] = (float)sum[i];
}

static void pool_group(size_t rows, size_t dim, const float *weight, const float *x, float *y) {
    size_t blocks = nvdp__blocks(dim, NVDP__COLUMNS);
    for (size_t b = 0; b < blocks; b++) {
        size_t at = b * NVDP__COLUMNS;
        pool_columns(rows, dim, nvdp__block_length(dim, NVDP__COLUMNS, b), weight, x + at, y + at);
    }
}

void nvdp__pool_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                        const int32_t *offset, const float *weight, const float *x, float *y) {
    if (dev->reference) {
        nvdp__ref_pool_forward(groups, dim, offset, weight, x, y);
        return;
    }
    if (groups == 0) return;
    int team = nvdp__team(dev, (size_t)(offset[groups] - offset[0]) * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t g = 0; g < groups; g++) {
        size_t first = (size_t)offset[g];
        pool_group((size_t)offset[g + 1] - first, dim, weight != NULL ? weight + first : NULL,
                   x + first * dim, y + g * dim);
    }
}

NVDP__CLONES
static double dot_row(size_t dim, const float *restrict x, const float *restrict y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < dim; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

NVDP__CLONES
static void scaled_copy_row(size_t dim, float a, const float *restrict x, float *restrict y) {
    for (size_t i = 0; i < dim; i++)
        y[i] = a * x[i];
}

void nvdp__pool_backward(const struct nvdp__device *dev, size_t groups, size_t dim,
                         const int32_t *offset, const float *weight, const float *x,
                         const float *dy, float *dx, float *dweight) {
    if (dev->reference) {
        nvdp__ref_pool_backward(groups, dim, offset, weight, x, dy, dx, dweight);
        return;
    }
    if (groups == 0) return;
    int team = nvdp__team(dev, (size_t)(offset[groups] - offset[0]) * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t g = 0; g < groups; g++) {
        size_t last = (size_t)offset[g + 1];
        float each = 1.0f / (float)(offset[g + 1] - offset[g]);
        for (size_t r = (size_t)offset[g]; r < last; r++) {
            scaled_copy_row(dim, weight != NULL ? weight[r] : each, dy + g * dim, dx + r * dim);
            if (dweight != NULL) dweight[r] = (float)dot_row(dim, x + r * dim, dy + g * dim);
        }
    }
}

void nvdp__row_sqnorm(const struct nvdp__device *dev, size_t rows, size_t dim, const float *x,
                      float *y) {
    if (dev->reference) {
        nvdp__ref_row_sqnorm(rows, dim, x, y);
        return;
    }
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < rows; r++)
        y[r] = (float)dot_row(dim, x + r * dim, x + r * dim);
}

NVDP__CLONES
static void add_scaled_row(size_t dim, float a, const float *restrict x, float *restrict y) {
    for (size_t i = 0; i < dim; i++)
        y[i] += a * x[i];
}

void nvdp__row_sqnorm_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                               const float *x, const float *dy, float *dx) {
    if (dev->reference) {
        nvdp__ref_row_sqnorm_backward(rows, dim, x, dy, dx);
        return;
    }
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team) schedule(static)
    for (size_t r = 0; r < rows; r++)
        add_scaled_row(dim, 2 * dy[r], x + r * dim, dx + r * dim);
}
