/* Embeddings, gather and scatter of rows, pooling. */
#include "tensor/kernels.h"
#include "tensor/per_example.h"
#include "tensor/vector.h"
#include <math.h>

static const double TINY = 1e-12; /* smaller norms count as this norm */

NVDP__CLONES
static void embed_row(size_t dim, const float *restrict word, const float *restrict position,
                      const float *restrict type, float *restrict y) {
    for (size_t i = 0; i < dim; i++)
        y[i] = word[i] + position[i] + type[i];
}

NVDP__CLONES
static void embed_row_untyped(size_t dim, const float *restrict word,
                              const float *restrict position, float *restrict y) {
    for (size_t i = 0; i < dim; i++)
        y[i] = word[i] + position[i];
}

void nvdp__embed_forward(const struct nvdp__device *dev, const struct nvdp__embedding *tables,
                         struct nvdp__tensor y) {
    size_t dim = y.cols;
    float *to = y.data;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, y.rows, dim)) schedule(static)
    for (size_t r = 0; r < y.rows; r++) {
        const bool given = tables->given != NULL && (!tables->mixed || tables->ids[r] < 0);
        const float *word =
            given ? tables->given + r * dim : tables->word + (size_t)tables->ids[r] * dim;
        const float *position = tables->position + (size_t)tables->positions[r] * dim;
        if (tables->type == NULL)
            embed_row_untyped(dim, word, position, to + r * dim);
        else
            embed_row(dim, word, position, tables->type + (size_t)tables->types[r] * dim,
                      to + r * dim);
    }
}

/* Adds y[r] to x[index[r]] in row order, over `count` columns of rows with stride `stride`. */
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

/* The loop is parallel over columns, so that rows with the same index add up in row order. */
void nvdp__rows_scatter_add(const struct nvdp__device *dev, size_t rows, size_t dim,
                            const int32_t *index, const float *y, float *x) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim)) schedule(static)
    for (size_t at = 0; at < dim; at += NVDP__COLUMNS) {
        scatter_columns(rows, dim, nvdp__min(dim - at, NVDP__COLUMNS), index, y + at, x + at);
    }
}

void nvdp__embed_backward(const struct nvdp__device *dev, const struct nvdp__embedding *gradients,
                          struct nvdp__tensor dy) {
    const struct nvdp__embedding *g = gradients;
    if (dev->per_example != NULL) {
        nvdp__per_example_embedding(dev, g, dy);
        return;
    }
    if (g->word != NULL) nvdp__rows_scatter_add(dev, dy.rows, dy.cols, g->ids, dy.data, g->word);
    if (g->position != NULL)
        nvdp__rows_scatter_add(dev, dy.rows, dy.cols, g->positions, dy.data, g->position);
    if (g->type != NULL) nvdp__rows_scatter_add(dev, dy.rows, dy.cols, g->types, dy.data, g->type);
}

void nvdp__rows_gather(const struct nvdp__device *dev, size_t rows, size_t dim,
                       const int32_t *index, const float *x, float *y) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim)) schedule(static)
    for (size_t r = 0; r < rows; r++) {
        if (index[r] < 0)
            memset(y + r * dim, 0, dim * sizeof *y);
        else
            memcpy(y + r * dim, x + (size_t)index[r] * dim, dim * sizeof *y);
    }
}

void nvdp__rows_place(const struct nvdp__device *dev, size_t rows, size_t dim, const int32_t *index,
                      const double *x, float *y) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim)) schedule(static)
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < dim; i++)
            y[(size_t)index[r] * dim + i] = (float)x[r * dim + i];
}

void nvdp__rows_widen(const struct nvdp__device *dev, size_t rows, size_t dim, const int32_t *index,
                      const float *x, double *y) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim)) schedule(static)
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < dim; i++)
            y[r * dim + i] = (double)x[(size_t)index[r] * dim + i];
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
    for (size_t at = 0; at < dim; at += NVDP__COLUMNS) {
        pool_columns(rows, dim, nvdp__min(dim - at, NVDP__COLUMNS), weight, x + at, y + at);
    }
}

void nvdp__pool_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                        const int32_t *offset, const float *weight, const float *x, float *y) {
    if (groups == 0) return;
#pragma omp parallel for num_threads(                                                              \
    nvdp__matrix_team(dev, (size_t)(offset[groups] - offset[0]), dim)) schedule(static)
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

double nvdp__dot(size_t dim, const float *x, const float *y) {
    return dot_row(dim, x, y);
}

NVDP__CLONES
static void scaled_copy_row(size_t dim, float a, const float *x, float *y) {
    for (size_t i = 0; i < dim; i++)
        y[i] = a * x[i];
}

NVDP__CLONES
static void max_rows(size_t rows, size_t dim, const float *restrict x, float *restrict y) {
    for (size_t i = 0; i < dim; i++)
        y[i] = rows > 0 ? x[i] : 0;
    for (size_t r = 1; r < rows; r++) {
        for (size_t i = 0; i < dim; i++)
            y[i] = x[r * dim + i] > y[i] ? x[r * dim + i] : y[i];
    }
}

void nvdp__pool_max_forward(const struct nvdp__device *dev, size_t groups, size_t dim,
                            const int32_t *offset, const float *x, float *y) {
    if (groups == 0) return;
#pragma omp parallel for num_threads(                                                              \
    nvdp__matrix_team(dev, (size_t)(offset[groups] - offset[0]), dim)) schedule(static)
    for (size_t g = 0; g < groups; g++) {
        size_t first = (size_t)offset[g];
        max_rows((size_t)offset[g + 1] - first, dim, x + first * dim, y + g * dim);
    }
}

void nvdp__rows_scale(const struct nvdp__device *dev, size_t rows, size_t dim, const float *weight,
                      float *x) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim)) schedule(static)
    for (size_t r = 0; r < rows; r++)
        scaled_copy_row(dim, weight[r], x + r * dim, x + r * dim);
}

void nvdp__rows_normalize(const struct nvdp__device *dev, size_t rows, size_t dim, float *x) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim)) schedule(static)
    for (size_t r = 0; r < rows; r++) {
        double norm = sqrt(dot_row(dim, x + r * dim, x + r * dim));
        float scale = (float)(1 / (norm > TINY ? norm : TINY));
        for (size_t i = 0; i < dim; i++)
            x[r * dim + i] *= scale;
    }
}

void nvdp__pool_backward(const struct nvdp__device *dev, size_t groups, size_t dim,
                         const int32_t *offset, const float *weight, const float *x,
                         const float *dy, float *dx, float *dweight) {
    if (groups == 0) return;
#pragma omp parallel for num_threads(                                                              \
    nvdp__matrix_team(dev, (size_t)(offset[groups] - offset[0]), dim)) schedule(static)
    for (size_t g = 0; g < groups; g++) {
        size_t last = (size_t)offset[g + 1];
        float each = 1.0f / (float)(offset[g + 1] - offset[g]);
        for (size_t r = (size_t)offset[g]; r < last; r++) {
            scaled_copy_row(dim, weight != NULL ? weight[r] : each, dy + g * dim, dx + r * dim);
            if (dweight != NULL) dweight[r] = (float)dot_row(dim, x + r * dim, dy + g * dim);
        }
    }
}
