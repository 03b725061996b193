/* The nearest row of the table: float32 products, and a check in double.
 *
 * With c_j = s (row_j - mean) and z = s (y - mean), s a power of two,
 *
 *     s^2 |y - row_j|^2 / 2  =  |z|^2/2 + score_j,    score_j = |c_j|^2/2 - z.c_j.
 *
 * z.c_j is a float32 product of z and c_j rounded to float32; however its terms are ordered (Higham
 * 2002, section 3.1; two roundings of operands) it is off by at most
 *
 *     e_j  =  (d + 8) 2^-24 |z| |c_j|  +  d 2^-120 (1 + |z|),
 *
 * the second term for what underflows.  A row whose score_j - e_j is above the least score_k + e_k is
 * not the nearest; the few others are compared in double. */
#include "dchi/dchi.h"
#include "tensor/ops.h"
#include "tensor/vector.h"

#include <stdlib.h>

enum { POINTS = 1024, ROWS = 4096, CHUNK = 256 };

nvdp_status nvdp__vectors_centre(struct nvdp_context *ctx, struct nvdp_vectors *vectors) {
    const size_t count = vectors->count, dim = vectors->dim;
    double most = 0;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->mean, dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->centred, count * dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->norm, count));
    for (size_t j = 0; j < count; j++)
        for (size_t k = 0; k < dim; k++)
            vectors->mean[k] += vectors->rows[j * dim + k] / (double)count;
    for (size_t j = 0; j < count; j++)
        for (size_t k = 0; k < dim; k++) {
            double size = fabs(vectors->rows[j * dim + k] - vectors->mean[k]);
            most = size > most ? size : most;
        }
    vectors->scale = most > 0 ? exp2(-fmax(floor(log2(most)), -1000)) : 1;
    for (size_t j = 0; j < count; j++) {
        double square = 0;
        for (size_t k = 0; k < dim; k++) {
            double c = (vectors->rows[j * dim + k] - vectors->mean[k]) * vectors->scale;
            vectors->centred[j * dim + k] = (float)c;
            square += c * c;
        }
        vectors->norm[j] = sqrt(square);
    }
    return NVDP_OK;
}

/* How far rounding may put a score off: `relative` |c_j| + `absolute`, and that of |c_j|^2/2. */
struct slack {
    double relative, absolute, square;
};

NVDP__CLONES
static double nearest_upper(size_t n, const float *dot, const double *norm, struct slack e) {
    double best = INFINITY;
    for (size_t j = 0; j < n; j++) {
        double half = norm[j] * norm[j] / 2;
        double upper = half * (1 + e.square) - (double)dot[j] + e.relative * norm[j] + e.absolute;
        best = upper < best ? upper : best;
    }
    return best;
}

NVDP__CLONES
static double nearest_lower(size_t n, const float *dot, const double *norm, struct slack e) {
    double best = INFINITY;
    for (size_t j = 0; j < n; j++) {
        double half = norm[j] * norm[j] / 2;
        double lower = half * (1 - e.square) - (double)dot[j] - e.relative * norm[j] - e.absolute;
        best = lower < best ? lower : best;
    }
    return best;
}

/* What is known of a point's nearest row. */
struct nearest {
    double bound;  /* its score is at most this */
    double square; /* of the distance to `row`, the nearest of those that were compared */
    int32_t row;
};

/* Rows [first, first + n), whose products are `dot`; NULL: all are compared. */
static void search(const struct nvdp_vectors *vectors, const double *point, size_t first, size_t n,
                   const float *dot, struct slack e, struct nearest *best) {
    const double *norm = vectors->norm + first;
    if (dot != NULL) best->bound = fmin(best->bound, nearest_upper(n, dot, norm, e));
    for (size_t from = 0; from < n; from += CHUNK) {
        size_t end = n - from < CHUNK ? n : from + CHUNK;
        if (dot != NULL && nearest_lower(end - from, dot + from, norm + from, e) > best->bound)
            continue;
        for (size_t j = from; j < end; j++) {
            if (dot != NULL && nearest_lower(1, dot + j, norm + j, e) > best->bound) continue;
            double square =
                nvdp__square_distance(vectors->dim, point, nvdp_vectors_row(vectors, first + j));
            if (square >= best->square) continue;
            best->square = square;
            best->row = (int32_t)(first + j);
        }
    }
}

/* z = s (y - mean), rounded; returns its norm. */
static double centre(const struct nvdp_vectors *vectors, const double *point, float *z) {
    double square = 0;
    for (size_t k = 0; k < vectors->dim; k++) {
        double x = (point[k] - vectors->mean[k]) * vectors->scale;
        z[k] = (float)x;
        square += x * x;
    }
    return sqrt(square);
}

/* Many points at a time, so that a block of the table is packed for a product once for all of them. */
nvdp_status nvdp_vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                 size_t n, const double *points, int32_t *nearest) {
    nvdp_status status = NVDP_OK;
    const size_t count = vectors->count, dim = vectors->dim;
    const size_t block = n < POINTS ? n : POINTS, wide = count < ROWS ? count : ROWS;
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    float *z = NULL, *dot = NULL;
    double *norm = NULL;
    struct nearest *best = NULL;
    for (size_t i = 0; i < n * dim; i++)
        if (!isfinite(points[i]))
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "nearest token: point %zu, dimension %zu is %g, expected a finite number", i / dim,
                i % dim, points[i]);
    NVDP_TRY(NVDP__NEW(ctx, z, block * dim));
    NVDP_TRY(NVDP__NEW(ctx, norm, block));
    NVDP_TRY(NVDP__NEW(ctx, best, block));
    NVDP_TRY(NVDP__NEW(ctx, dot, block * wide));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = n - first < block ? n - first : block;
#pragma omp parallel for schedule(static) num_threads(dev.threads)
        for (size_t i = 0; i < now; i++) {
            norm[i] = centre(vectors, points + (first + i) * dim, z + i * dim);
            best[i] = (struct nearest){INFINITY, INFINITY, 0};
        }
        for (size_t from = 0; from < count; from += wide) {
            const size_t rows = count - from < wide ? count - from : wide;
            nvdp__gemm(&dev, 1, false, nvdp__f32(now, dim, z), true,
                       nvdp__f32(rows, dim, vectors->centred + from * dim), 0,
                       nvdp__f32(now, rows, dot));
#pragma omp parallel for schedule(dynamic, 16) num_threads(dev.threads)
            for (size_t i = 0; i < now; i++) {
                const double size = norm[i], terms = (double)dim + 8;
                const struct slack e = {.relative = 1.01 * terms * 0x1p-24 * size,
                                        .absolute = terms * 0x1p-120 * (1 + size),
                                        .square = terms * 0x1p-51};
                /* Beyond 1e30 products of float32 may overflow. */
                search(vectors, points + (first + i) * dim, from, rows,
                       size < 1e30 ? dot + i * rows : NULL, e, &best[i]);
            }
        }
        for (size_t i = 0; i < now; i++)
            nearest[first + i] = best[i].row;
    }
cleanup:
    free(z);
    free(norm);
    free(best);
    free(dot);
    return status;
}
