/* The initial map of the means from D to p dimensions: principal component analysis (PCA) of the encoder's outputs, or
 * a random orthonormal map. The computation is in double, with products by BLAS.
 *
 *     C = 1/n sum_r (x_r - m)(x_r - m)^T,   m the mean of the n rows
 *     map = the p leading eigenvectors of C, each with the sign that makes its largest entry positive */
#include "base/array.h"
#include "mechanism/mechanism.h"
#include "tensor/symmetric.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Orthonormalizes by Gram-Schmidt, twice: the second pass removes rounding errors of the first. A row that depends
 * on earlier rows (fewer varying directions than rows) is replaced by an axis. */
static void orthonormalize(int p, int dim, double *row) {
    size_t axis = 0;
    for (int i = 0; i < p;) {
        double *r = row + (size_t)i * (size_t)dim;
        double before = cblas_dnrm2(dim, r, 1);
        for (int j = 0; j < 2 * i; j++) {
            const double *other = row + (size_t)(j % i) * (size_t)dim;
            cblas_daxpy(dim, -cblas_ddot(dim, r, 1, other, 1), other, 1, r, 1);
        }
        double norm = cblas_dnrm2(dim, r, 1);
        if (norm > 1e-12 * before) {
            cblas_dscal(dim, 1 / norm, r, 1);
            i++;
            continue;
        }
        memset(r, 0, (size_t)dim * sizeof *r); /* the axis is processed next, as any row */
        r[axis++] = 1;
    }
}

/* Draws random orthonormal rows [rows, dim], from normals of a stream that depends on p. */
static void random_rows(uint64_t seed, size_t p, size_t rows, size_t dim, double *out) {
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_INIT, 0, p);
    nvdp__stream_normals_f64(&stream, rows * dim, out);
    orthonormalize((int)rows, (int)dim, out);
}

/* Computes C [dim, dim], both triangles; centers x [rows, dim] in place. */
static void covariance(int rows, int dim, double *x, double *mean, double *cov) {
    for (int r = 0; r < rows; r++)
        cblas_daxpy(dim, 1.0 / rows, x + (size_t)r * (size_t)dim, 1, mean, 1);
    for (int r = 0; r < rows; r++)
        cblas_daxpy(dim, -1, mean, 1, x + (size_t)r * (size_t)dim, 1);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, dim, dim, rows, 1.0 / rows, x, dim, x, dim,
                0, cov, dim);
}

/* Computes row k of map = sum_i vectors[i, k] basis[i]; scratch [p, dim]. */
static void take_leading(int dim, int p, int q, const double *basis, const double *vectors,
                         double *scratch, float *map) {
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p, dim, q, 1, vectors, q, basis, dim, 0,
                scratch, dim);
    for (int k = 0; k < p; k++) {
        const double *row = scratch + (size_t)k * (size_t)dim;
        double sign = copysign(1, row[cblas_idamax(dim, row, 1)]);
        for (int j = 0; j < dim; j++)
            map[(size_t)k * (size_t)dim + (size_t)j] = (float)(sign * row[j]);
    }
}

/* Uses subspace iteration from a random start for few of many directions (Halko, Martinsson & Tropp 2011, algorithm
 * 4.4), then solves the small problem in the subspace. The error of a direction decreases as (variance outside the q
 * directions / variance of the direction)^PASSES. For many directions, q = dim: the subspace is the whole space and
 * needs no iteration; O(dim^3). */
enum { SPARE = 8, PASSES = 30 };

static nvdp_status eigenmap(struct nvdp_context *ctx, size_t dim, size_t p, uint64_t seed,
                            const double *cov, float *map) {
    size_t q = 2 * (p + SPARE) < dim ? p + SPARE : dim;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *basis, *image, *small, *vectors, *line;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(basis, q * dim), NVDP__ITEMS(image, q * dim),
                          NVDP__ITEMS(small, q * q), NVDP__ITEMS(vectors, q * q),
                          NVDP__ITEMS(line, 5 * q)));
    int d = (int)dim, n = (int)q;
    if (q < dim) {
        random_rows(seed, p, q, dim, basis);
        for (int pass = 0; pass <= PASSES; pass++) {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, d, d, 1, basis, d, cov, d, 0,
                        image, d);
            if (pass == PASSES) break;
            memcpy(basis, image, q * dim * sizeof *basis);
            orthonormalize(n, d, basis);
        }
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, n, d, 1, basis, d, image, d, 0,
                    small, n);
    } else {
        for (size_t i = 0; i < dim; i++)
            basis[i * dim + i] = 1;
        memcpy(small, cov, dim * dim * sizeof *small);
    }
    nvdp__eigenvectors(q, small, vectors, line);
    take_leading(d, (int)p, n, basis, vectors, image, map);
    return NVDP_OK;
}

nvdp_status nvdp__pca_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                          const float *hidden, uint64_t seed, float *map) {
    if (rows < p) { /* too few rows: a random orthonormal map */
        nvdp__autofree double *row = NULL;
        NVDP_TRY(NVDP__NEW(ctx, row, p * dim));
        random_rows(seed, p, p, dim, row);
        for (size_t i = 0; i < p * dim; i++)
            map[i] = (float)row[i];
        return NVDP_OK;
    }
    for (size_t i = 0; i < rows * dim; i++) {
        if (!isfinite(hidden[i])) {
            return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                              "principal directions: row %zu of the hidden states: expected finite "
                              "numbers, found %g",
                              i / dim, (double)hidden[i]);
        }
    }
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    double *x, *mean, *cov;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(x, rows * dim), NVDP__ITEMS(mean, dim),
                          NVDP__ITEMS(cov, dim * dim)));
    for (size_t i = 0; i < rows * dim; i++)
        x[i] = hidden[i];
    int before = nvdp__threads_set(nvdp_context_threads(ctx));
    covariance((int)rows, (int)dim, x, mean, cov);
    const nvdp_status status = eigenmap(ctx, dim, p, seed, cov, map);
    nvdp__threads_restore(before);
    return status;
}

enum { MAX_ROWS = 8192 }; /* max hidden states from which principal directions are computed */

/* Computes the mean of the rows' coordinates under `map` into mean [p]; returns the root mean square of the
 * deviations from this mean. */
static double spread(size_t rows, size_t d, size_t p, const float *hidden, const float *map,
                     double *mean) {
    double square = 0;
    for (size_t i = 0; i < p; i++) {
        double sum = 0, squares = 0;
        for (size_t r = 0; r < rows; r++) {
            double along = 0;
            for (size_t k = 0; k < d; k++)
                along += (double)map[i * d + k] * (double)hidden[r * d + k];
            sum += along;
            squares += along * along;
        }
        mean[i] = sum / (double)rows;
        square += squares / (double)rows - mean[i] * mean[i];
    }
    return sqrt(fmax(0, square) / (double)p);
}

nvdp_status nvdp__means_initialize(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden) {
    size_t p = params->entry[mu->weight].shape[0];
    size_t d = params->entry[mu->weight].shape[1];
    if (rows > MAX_ROWS) rows = MAX_ROWS;
    if (hidden == NULL || p == d) rows = 0;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    float *map, *bias, *host;
    double *mean;
    NVDP_TRY(NVDP__ARRAYS(ctx, &memory, NVDP__ITEMS(map, p * d), NVDP__ITEMS(bias, p),
                          NVDP__ITEMS(host, rows * d), NVDP__ITEMS(mean, p)));
    for (size_t i = 0; p == d && i < p; i++) {
        map[i * d + i] = 1;
    }
    if (rows > 0) nvdp__download(dev, rows * d, hidden, host);
    if (p < d) NVDP_TRY(nvdp__pca_map(ctx, rows, d, p, host, seed, map));
    /* Scales the map so that the rows have unit spread about their mean, which the bias subtracts. Encoders differ
     * by factors in mean and spread, and a latent far narrower than its noise learns nothing. */
    const double scale = p < d && rows >= p ? spread(rows, d, p, host, map, mean) : 0;
    for (size_t i = 0; scale > 0 && i < p; i++) {
        bias[i] = (float)(-mean[i] / scale);
        for (size_t k = 0; k < d; k++)
            map[i * d + k] = (float)(map[i * d + k] / scale);
    }
    nvdp__upload(dev, p * d, map, nvdp__value(params, mu->weight));
    nvdp__scale(dev, p * d, (float)mu_tau, nvdp__value(params, mu->weight));
    nvdp__upload(dev, p, bias, nvdp__value(params, mu->bias));
    nvdp__scale(dev, p, (float)mu_tau, nvdp__value(params, mu->bias));
    return NVDP_OK;
}

double nvdp__start_logvar(const struct nvdp__nvib_config *config) {
    const struct nvdp__clip_config *clip = &config->clip;
    double start = 2 * log(config->stdev_tau);
    double inside = fmin(0.05, (clip->logvar_max - clip->logvar_min) / 4);
    return fmax(clip->logvar_min + inside, fmin(clip->logvar_max - inside, start));
}
