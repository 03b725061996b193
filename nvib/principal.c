/* An orthonormal map from D to p dimensions: principal directions, or random ones. */
#include "nvib/nvib.h"

#include <gsl/gsl_eigen.h>
#include <math.h>
#include <stdlib.h>

/* Gram-Schmidt, twice: what rounding leaves of the earlier rows goes with the second pass. */
static void orthonormalise(size_t p, size_t dim, double *row) {
    for (size_t i = 0; i < p; i++) {
        double *r = row + i * dim;
        for (size_t j = 0; j < 2 * i; j++) {
            const double *other = row + (j % i) * dim;
            double along = 0;
            for (size_t k = 0; k < dim; k++) {
                along += r[k] * other[k];
            }
            for (size_t k = 0; k < dim; k++) {
                r[k] -= along * other[k];
            }
        }
        double norm = 0;
        for (size_t k = 0; k < dim; k++) {
            norm += r[k] * r[k];
        }
        norm = sqrt(norm);
        for (size_t k = 0; k < dim; k++) {
            r[k] /= norm;
        }
    }
}

static nvdp_status random_map(struct nvdp_context *ctx, size_t dim, size_t p, uint64_t seed,
                              float *map) {
    double *row = nvdp__calloc(ctx, p * dim, sizeof *row);
    if (row == NULL) return NVDP_ERR_MEMORY;
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_INIT, 0, p);
    nvdp__stream_normals_f64(&stream, p * dim, row);
    orthonormalise(p, dim, row);
    for (size_t i = 0; i < p * dim; i++) {
        map[i] = (float)row[i];
    }
    free(row);
    return NVDP_OK;
}

/* The lower triangle of the covariance, which is what gsl_eigen_symmv reads. */
static void covariance(size_t rows, size_t dim, const float *x, double *mean, double *centred,
                       double *cov) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < dim; i++) {
            mean[i] += x[r * dim + i] / (double)rows;
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < dim; i++) {
            centred[i] = x[r * dim + i] - mean[i];
        }
        for (size_t i = 0; i < dim; i++) {
            for (size_t j = 0; j <= i; j++) {
                cov[i * dim + j] += centred[i] * centred[j];
            }
        }
    }
}

/* Rows of `map`: eigenvectors by falling eigenvalue, signed so that the largest entry is positive.
 */
static void take_leading(size_t dim, size_t p, const gsl_matrix *vectors, float *map) {
    for (size_t k = 0; k < p; k++) {
        double top = 0;
        for (size_t i = 0; i < dim; i++) {
            double v = gsl_matrix_get(vectors, i, k);
            if (fabs(v) > fabs(top)) top = v;
        }
        for (size_t i = 0; i < dim; i++) {
            map[k * dim + i] = (float)(copysign(1, top) * gsl_matrix_get(vectors, i, k));
        }
    }
}

/* GSL's workspace and matrices are views of one checked allocation: its own allocator would call
 * its error handler, which ends the program. */
static nvdp_status principal(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                             const float *x, float *map) {
    size_t square = dim * dim;
    double *room = nvdp__calloc(ctx, 2 * square + 7 * dim, sizeof *room);
    if (room == NULL) return NVDP_ERR_MEMORY;
    double *cov = room;
    double *line = room + 2 * square;
    covariance(rows, dim, x, line, line + dim, cov);
    gsl_matrix_view matrix = gsl_matrix_view_array(cov, dim, dim);
    gsl_matrix_view vectors = gsl_matrix_view_array(room + square, dim, dim);
    gsl_vector_view values = gsl_vector_view_array(line + 2 * dim, dim);
    gsl_eigen_symmv_workspace work = {.size = dim,
                                      .d = line + 3 * dim,
                                      .sd = line + 4 * dim,
                                      .gc = line + 5 * dim,
                                      .gs = line + 6 * dim};
    gsl_eigen_symmv(&matrix.matrix, &values.vector, &vectors.matrix, &work);
    gsl_eigen_symmv_sort(&values.vector, &vectors.matrix, GSL_EIGEN_SORT_VAL_DESC);
    take_leading(dim, p, &vectors.matrix, map);
    free(room);
    return NVDP_OK;
}

nvdp_status nvdp__principal_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                                const float *hidden, uint64_t seed, float *map) {
    if (rows < p) return random_map(ctx, dim, p, seed, map);
    for (size_t i = 0; i < rows * dim; i++) {
        if (!isfinite(hidden[i])) {
            return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                              "principal directions: row %zu of the hidden states: expected finite "
                              "numbers, found %g",
                              i / dim, (double)hidden[i]);
        }
    }
    return principal(ctx, rows, dim, p, hidden, map);
}
