/* An orthonormal map from D to p dimensions: principal directions, or random ones. */
#include "mechanism/mechanism.h"
#include "tensor/vector.h"

#include <gsl/gsl_eigen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double dot(size_t n, const double *x, const double *y) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* Gram-Schmidt, twice: what rounding leaves of the earlier rows goes with the second pass.  A row
 * that depends on the earlier ones (fewer varying directions than rows) is replaced by an axis. */
static void orthonormalise(size_t p, size_t dim, double *row) {
    size_t axis = 0;
    for (size_t i = 0; i < p;) {
        double *r = row + i * dim;
        double before = sqrt(dot(dim, r, r));
        for (size_t j = 0; j < 2 * i; j++) {
            const double *other = row + (j % i) * dim;
            double along = dot(dim, r, other);
            for (size_t k = 0; k < dim; k++) {
                r[k] -= along * other[k];
            }
        }
        double norm = sqrt(dot(dim, r, r));
        if (norm > 1e-12 * before) {
            for (size_t k = 0; k < dim; k++) {
                r[k] /= norm;
            }
            i++;
            continue;
        }
        memset(r, 0, dim * sizeof *r); /* then as any row */
        r[axis++] = 1;
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

/* Rows [first, end) of the covariance of centred rows x, up to column end. */
NVDP__CLONES static void covariance_strip(size_t rows, size_t dim, size_t first, size_t end,
                                          const double *restrict x, double *restrict cov) {
    for (size_t r = 0; r < rows; r++) {
        const double *row = x + r * dim;
        for (size_t i = first; i < end; i++) {
            double c = row[i] / (double)rows;
            for (size_t j = 0; j < end; j++) {
                cov[i * dim + j] += c * row[j];
            }
        }
    }
}

/* Covariance about the mean, both triangles; x [rows, dim] is centred in place. */
static void covariance(int threads, size_t rows, size_t dim, double *x, double *mean, double *cov) {
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < dim; i++) {
            mean[i] += x[r * dim + i] / (double)rows;
        }
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < dim; i++) {
            x[r * dim + i] -= mean[i];
        }
    }
    enum { STRIP = 8 }; /* rows of cov that stay in cache while x passes by */
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t first = 0; first < dim; first += STRIP) {
        size_t end = first + STRIP < dim ? first + STRIP : dim;
        covariance_strip(rows, dim, first, end, x, cov);
    }
    for (size_t i = 0; i < dim; i++) {
        for (size_t j = i + 1; j < dim; j++) {
            cov[i * dim + j] = cov[j * dim + i];
        }
    }
}

/* out [q, dim] = basis [q, dim] cov. */
static void apply(int threads, size_t dim, size_t q, const double *basis, const double *cov,
                  double *out) {
#pragma omp parallel for num_threads(threads)
    for (size_t k = 0; k < q; k++) {
        for (size_t i = 0; i < dim; i++) {
            out[k * dim + i] = 0;
        }
        for (size_t j = 0; j < dim; j++) {
            double b = basis[k * dim + j];
            for (size_t i = 0; i < dim; i++) {
                out[k * dim + i] += b * cov[j * dim + i];
            }
        }
    }
}

/* Eigenvectors of the symmetric a [n, n] (overwritten) by falling eigenvalue into columns of
 * vectors [n, n]; line [5 n].  GSL's workspace and matrices are views of the caller's memory: its
 * own allocator would call its error handler, which ends the program. */
static void eigenvectors(size_t n, double *a, double *vectors, double *line) {
    gsl_matrix_view matrix = gsl_matrix_view_array(a, n, n);
    gsl_matrix_view columns = gsl_matrix_view_array(vectors, n, n);
    gsl_vector_view values = gsl_vector_view_array(line, n);
    gsl_eigen_symmv_workspace work = {
        .size = n, .d = line + n, .sd = line + 2 * n, .gc = line + 3 * n, .gs = line + 4 * n};
    gsl_eigen_symmv(&matrix.matrix, &values.vector, &columns.matrix, &work);
    gsl_eigen_symmv_sort(&values.vector, &columns.matrix, GSL_EIGEN_SORT_VAL_DESC);
}

/* map's row k = sum_i vectors[i, k] basis[i] (basis NULL: the axes), signed so that its largest
 * entry is positive. */
static void take_leading(size_t dim, size_t p, size_t q, const double *basis, const double *vectors,
                         double *row, float *map) {
    for (size_t k = 0; k < p; k++) {
        double top = 0;
        for (size_t j = 0; j < dim; j++) {
            row[j] = basis == NULL ? vectors[j * q + k] : 0;
            for (size_t i = 0; basis != NULL && i < q; i++) {
                row[j] += vectors[i * q + k] * basis[i * dim + j];
            }
            if (fabs(row[j]) > fabs(top)) top = row[j];
        }
        for (size_t j = 0; j < dim; j++) {
            map[k * dim + j] = (float)(copysign(1, top) * row[j]);
        }
    }
}

/* All of the spectrum: O(dim^3). */
static nvdp_status by_full_spectrum(struct nvdp_context *ctx, size_t dim, size_t p, double *cov,
                                    float *map) {
    double *room = nvdp__calloc(ctx, dim * dim + 6 * dim, sizeof *room);
    if (room == NULL) return NVDP_ERR_MEMORY;
    double *line = room + dim * dim;
    eigenvectors(dim, cov, room, line);
    take_leading(dim, p, dim, NULL, room, line + 5 * dim, map);
    free(room);
    return NVDP_OK;
}

/* Few of many directions: subspace iteration from a random start (Halko, Martinsson & Tropp 2011,
 * algorithm 4.4), then the small problem in the subspace.  A direction's error falls as
 * (variance outside the q / its own variance)^PASSES. */
enum { SPARE = 8, PASSES = 30 };

static nvdp_status by_iteration(struct nvdp_context *ctx, size_t dim, size_t p, size_t q,
                                uint64_t seed, const double *cov, float *map) {
    double *room = nvdp__calloc(ctx, 2 * q * dim + 2 * q * q + 5 * q + dim, sizeof *room);
    if (room == NULL) return NVDP_ERR_MEMORY;
    double *basis = room;
    double *image = basis + q * dim;
    double *small = image + q * dim;
    double *vectors = small + q * q;
    double *line = vectors + q * q;
    int threads = nvdp_context_threads(ctx);
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_INIT, 0, p);
    nvdp__stream_normals_f64(&stream, q * dim, basis);
    orthonormalise(q, dim, basis);
    for (int pass = 0; pass < PASSES; pass++) {
        apply(threads, dim, q, basis, cov, image);
        double *swapped = basis;
        basis = image;
        image = swapped;
        orthonormalise(q, dim, basis);
    }
    apply(threads, dim, q, basis, cov, image);
    for (size_t i = 0; i < q; i++) {
        for (size_t j = 0; j < q; j++) {
            small[i * q + j] = dot(dim, basis + i * dim, image + j * dim);
        }
    }
    eigenvectors(q, small, vectors, line);
    take_leading(dim, p, q, basis, vectors, line + 5 * q, map);
    free(room);
    return NVDP_OK;
}

static nvdp_status principal(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                             const float *hidden, uint64_t seed, float *map) {
    nvdp_status status = NVDP_OK;
    int threads = nvdp_context_threads(ctx);
    double *x = nvdp__calloc(ctx, rows * dim, sizeof *x);
    double *cov = nvdp__calloc(ctx, (dim + 1) * dim, sizeof *cov);
    if (x == NULL || cov == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    for (size_t i = 0; i < rows * dim; i++) {
        x[i] = hidden[i];
    }
    covariance(threads, rows, dim, x, cov + dim * dim, cov);
    size_t q = p + SPARE;
    status = 2 * q < dim ? by_iteration(ctx, dim, p, q, seed, cov, map)
                         : by_full_spectrum(ctx, dim, p, cov, map);
cleanup:
    free(x);
    free(cov);
    return status;
}

nvdp_status nvdp__pca_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
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
    return principal(ctx, rows, dim, p, hidden, seed, map);
}

enum { ROWS_MAX = 8192 }; /* of the hidden states that principal directions are taken from */

/* Mean of the rows' coordinates under `map` into `mean` [p]; returns the root mean square of what
 * they are about it. */
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

/* map [p, D] becomes a map of unit spread about the rows' mean: bias [p] takes the mean off.
 * Encoders differ in both by factors, and a latent far narrower than its noise learns nothing. */
static nvdp_status standardise(struct nvdp_context *ctx, size_t rows, size_t d, size_t p,
                               const float *hidden, float *map, float *bias) {
    double *mean = nvdp__calloc(ctx, p, sizeof *mean);
    if (mean == NULL) return NVDP_ERR_MEMORY;
    double scale = spread(rows, d, p, hidden, map, mean);
    for (size_t i = 0; scale > 0 && i < p; i++) {
        bias[i] = (float)(-mean[i] / scale);
        for (size_t k = 0; k < d; k++)
            map[i * d + k] = (float)(map[i * d + k] / scale);
    }
    free(mean);
    return NVDP_OK;
}

nvdp_status nvdp__means_initialise(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden) {
    nvdp_status status = NVDP_OK;
    size_t p = params->entry[mu->weight].shape[0];
    size_t d = params->entry[mu->weight].shape[1];
    if (rows > ROWS_MAX) rows = ROWS_MAX;
    if (hidden == NULL || p == d) rows = 0;
    float *map = nvdp__calloc(ctx, p * d, sizeof *map);
    float *bias = nvdp__calloc(ctx, p, sizeof *bias);
    float *host = nvdp__calloc(ctx, rows * d, sizeof *host);
    if (map == NULL || bias == NULL || host == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    for (size_t i = 0; p == d && i < p; i++) {
        map[i * d + i] = 1;
    }
    if (rows > 0) nvdp__download(dev, rows * d, hidden, host);
    if (p < d) NVDP_TRY(nvdp__pca_map(ctx, rows, d, p, host, seed, map));
    if (p < d && rows >= p) NVDP_TRY(standardise(ctx, rows, d, p, host, map, bias));
    nvdp__upload(dev, p * d, map, nvdp__value(params, mu->weight));
    nvdp__scale(dev, p * d, (float)mu_tau, nvdp__value(params, mu->weight));
    nvdp__upload(dev, p, bias, nvdp__value(params, mu->bias));
    nvdp__scale(dev, p, (float)mu_tau, nvdp__value(params, mu->bias));
cleanup:
    free(map);
    free(bias);
    free(host);
    return status;
}

double nvdp__start_logvar(const struct nvdp_nvib_config *config) {
    const struct nvdp_clip_config *clip = &config->clip;
    double start = 2 * log(config->stdev_tau);
    double room = fmin(0.05, (clip->logvar_max - clip->logvar_min) / 4);
    return fmax(clip->logvar_min + room, fmin(clip->logvar_max - room, start));
}
