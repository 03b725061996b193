/* The nearest row of the table: products of 8-bit integers, or of float32, and a check in double.
 *
 * With c_j = s (row_j - mean) and z = s (y - mean), s a power of two,
 *
 *     s^2 |y - row_j|^2 / 2  =  |z|^2/2 + score_j,      score_j = |c_j|^2/2 - z.c_j.
 *
 * z.c_j is a float32 product of z and c_j rounded to float32.  For any order of its terms (Higham 2002,
 * section 3.1; two roundings of operands) its error is at most
 *
 *     e_j  =  (d + 8) 2^-24 |z| |c_j|  +  d 2^-120 (1 + |z|),
 *
 * where the second term covers underflow.  A row with score_j - e_j above the smallest score_k + e_k is
 * not the nearest; the few others are compared in double.
 *
 * If the processor multiplies 8-bit integers, which is two to four times as fast, batches of at least a few
 * dozen points use these products: z ~ z' = min + step u with u in 0..255 (0..127 if larger sums are not
 * exact), c_j ~ c'_j = step_j q_j with q in -127..127, and
 *
 *     z'.c'_j                =  step_j (step sum_k u_k q_jk + min sum_k q_jk),     the sums exact,
 *     |z.c_j - z'.c'_j|     <=  |z - z'| |c'_j|  +  |z| |c_j - c'_j|               (Cauchy & Schwarz),
 *
 * with four known norms.  The rest is as above with this bound for e_j, plus float32's rounding of the
 * score: 2^-20 of (|min| + step max u) sqrt(d) |c'_j| + |c_j|^2/2 bounds all of them. */
#include "dchi/dchi.h"
#include "tensor/bf16.h"
#include "tensor/int8.h"
#include "tensor/ops.h"
#include "tensor/vector.h"

#include <stdlib.h>

enum {
    POINTS = 1024,
    ROWS = 4096,
    CHUNK = 256,
    /* for integers */
    MIN_POINTS = 32,    /* min number of points for which packing the table pays */
    INTEGERS = 1 << 22, /* sums computed together */
    MAX_POINTS = 256,
    TILE = 2048,      /* rows per product; their sums are read while in the cache */
    GROUP = 64,       /* rows that are skipped together */
    MAX_DIM = 1 << 16 /* sums fit into 32 bits */
};

/* Quantizes the table to 8 bits. */
static nvdp_status quantize(struct nvdp_context *ctx, struct nvdp_vectors *v) {
    const size_t count = v->count, dim = v->dim;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, v->q, count * dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, v->step, count));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, v->sum, count));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, v->half, count));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, v->length, count));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, v->rest, count));
    for (size_t j = 0; j < count; j++) {
        const double *row = v->rows + j * dim;
        double max = 0, length = 0, rest = 0, total = 0;
        for (size_t k = 0; k < dim; k++)
            max = fmax(max, fabs((row[k] - v->mean[k]) * v->scale));
        v->step[j] = (float)(max / 127);
        for (size_t k = 0; k < dim; k++) {
            const double c = (row[k] - v->mean[k]) * v->scale, step = v->step[j];
            const double q = step > 0 ? fmin(fmax(rint(c / step), -127), 127) : 0;
            v->q[j * dim + k] = (int8_t)q;
            total += q;
            length += q * step * q * step;
            rest += (c - q * step) * (c - q * step);
        }
        v->sum[j] = (float)(v->step[j] * total);
        v->half[j] = (float)(v->norm[j] * v->norm[j] / 2);
        v->length[j] = (float)(sqrt(length) * (1 + 1e-6));
        v->rest[j] = (float)(sqrt(rest) * (1 + 1e-6));
    }
    return NVDP_OK;
}

nvdp_status nvdp__vectors_center(struct nvdp_context *ctx, struct nvdp_vectors *vectors) {
    const size_t count = vectors->count, dim = vectors->dim;
    double max = 0;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->mean, dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->centered, count * dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->norm, count));
    for (size_t j = 0; j < count; j++)
        for (size_t k = 0; k < dim; k++)
            vectors->mean[k] += vectors->rows[j * dim + k] / (double)count;
    for (size_t j = 0; j < count; j++)
        for (size_t k = 0; k < dim; k++) {
            double size = fabs(vectors->rows[j * dim + k] - vectors->mean[k]);
            max = size > max ? size : max;
        }
    vectors->scale = max > 0 ? exp2(-fmax(floor(log2(max)), -1000)) : 1;
    for (size_t j = 0; j < count; j++) {
        double square = 0;
        for (size_t k = 0; k < dim; k++) {
            double c = (vectors->rows[j * dim + k] - vectors->mean[k]) * vectors->scale;
            vectors->centered[j * dim + k] = (float)c;
            square += c * c;
        }
        vectors->norm[j] = sqrt(square);
    }
    return quantize(ctx, vectors);
}

/* The rounding error of a score is at most `relative` |c_j| + `absolute`, plus `square` for
 * |c_j|^2/2. */
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

/* The search state of a point. */
struct nearest {
    double bound;  /* upper bound of the nearest row's score */
    double square; /* squared distance to `row`, the nearest row compared so far */
    int32_t row;
};

/* Searches rows [first, first + n) with products `dot`; NULL: compares all rows. */
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
static double center(const struct nvdp_vectors *vectors, const double *point, float *z) {
    double square = 0;
    for (size_t k = 0; k < vectors->dim; k++) {
        double x = (point[k] - vectors->mean[k]) * vectors->scale;
        z[k] = (float)x;
        square += x * x;
    }
    return sqrt(square);
}

/* ---- by integer products ---- */

/* A point in 8 bits, and bounds of its errors: e_j = a |c'_j| + b |c_j - c'_j| + 2^-20
 * |c_j|^2/2. */
struct rough {
    float min, step, a, b;
    bool usable; /* false: compare all rows */
};

static struct rough quantize_point(const struct nvdp_vectors *vectors, const double *point,
                                   int largest, double *z, uint8_t *u) {
    const size_t dim = vectors->dim;
    double min = INFINITY, max = -INFINITY, square = 0, rest = 0;
    for (size_t k = 0; k < dim; k++) {
        z[k] = (point[k] - vectors->mean[k]) * vectors->scale;
        min = fmin(min, z[k]);
        max = fmax(max, z[k]);
        square += z[k] * z[k];
    }
    struct rough rough = {.usable = square < 1e30};
    if (!rough.usable) {
        memset(u, 0, dim);
        return rough;
    }
    rough.min = (float)min;
    rough.step = (float)((max - min) / largest);
    for (size_t k = 0; k < dim; k++) {
        const double step = rough.step, from = rough.min;
        const double t = step > 0 ? fmin(fmax(rint((z[k] - from) / step), 0), largest) : 0;
        u[k] = (uint8_t)t;
        rest += (z[k] - from - step * t) * (z[k] - from - step * t);
    }
    const double reach = (fabs(min) + max - min) * sqrt((double)dim);
    rough.a = (float)((sqrt(rest) + 0x1p-20 * reach) * (1 + 1e-6));
    rough.b = (float)(sqrt(square) * (1 + 1e-6));
    return rough;
}

/* The midpoint between the bounds of row j's score; error() is its distance from them. */
NVDP__INLINE float middle(const struct nvdp_vectors *v, const struct rough *p, size_t j,
                          int32_t sum) {
    return v->half[j] - p->step * v->step[j] * (float)sum - p->min * v->sum[j];
}

NVDP__INLINE float error(const struct nvdp_vectors *v, const struct rough *p, size_t j) {
    return 1.0001f * (p->a * v->length[j] + p->b * v->rest[j] + 0x1p-20f * v->half[j]);
}

/* Bounds the scores of rows [first, first + n) from their sums. lower[g] is the smallest lower
 * bound of a group of rows; returns the smallest upper bound. */
NVDP__CLONES
static float bound_rows(const struct nvdp_vectors *v, const struct rough *p, size_t first, size_t n,
                        const int32_t *restrict sums, float *restrict lower) {
    int32_t best = INT32_MAX;
    for (size_t g = 0; g * GROUP < n; g++) {
        const size_t end = n - g * GROUP < GROUP ? n : (g + 1) * GROUP;
        int32_t min = INT32_MAX, above = INT32_MAX; /* as ordered integers: a vector minimum */
        for (size_t i = g * GROUP; i < end; i++) {
            const float score = middle(v, p, first + i, sums[i]), e = error(v, p, first + i);
            const int32_t low = nvdp__ordered_key(score - e), high = nvdp__ordered_key(score + e);
            min = low < min ? low : min;
            above = high < above ? high : above;
        }
        lower[g] = nvdp__ordered_float(min);
        best = above < best ? above : best;
    }
    return nvdp__ordered_float(best);
}

/* Tile t of sums begins at t TILE stride; in it, point i begins at i times the tile's rows. */
static int32_t choose_rough(const struct nvdp_vectors *vectors, const double *point,
                            const struct rough *rough, size_t i, size_t stride, const int32_t *sums,
                            const float *lower, float upper) {
    const size_t count = vectors->count, dim = vectors->dim;
    double min = INFINITY;
    int32_t found = 0;
    if (!rough->usable) {
        struct nearest all = {INFINITY, INFINITY, 0};
        search(vectors, point, 0, count, NULL, (struct slack){0}, &all);
        return all.row;
    }
    for (size_t g = 0; g * GROUP < count; g++) {
        if (lower[g] > upper) continue;
        const size_t first = g * GROUP, end = count - first < GROUP ? count : first + GROUP;
        const size_t tile = first / TILE, start = tile * TILE;
        const size_t rows = nvdp__min(count - start, TILE);
        for (size_t j = first; j < end; j++) {
            const int32_t sum = sums[start * stride + i * rows + (j - start)];
            if (middle(vectors, rough, j, sum) - error(vectors, rough, j) > upper) continue;
            double square = nvdp__square_distance(dim, point, nvdp_vectors_row(vectors, j));
            if (square >= min) continue;
            min = square;
            found = (int32_t)j;
        }
    }
    return found;
}

/* *done is false if such products are not available. */
static nvdp_status nearest_by_integers(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                       struct nvdp__dchi_scratch *scratch, size_t n,
                                       const double *points, int32_t *nearest, bool *done) {
    nvdp_status status = NVDP_OK;
    const size_t count = vectors->count, dim = vectors->dim, groups = nvdp__blocks(count, GROUP);
    const size_t fit = INTEGERS / count < MIN_POINTS ? MIN_POINTS : INTEGERS / count;
    const size_t block = fit > MAX_POINTS ? MAX_POINTS : fit, stride = nvdp__bf16_rows(block);
    const int threads = nvdp_context_threads(ctx), largest = nvdp__int8_largest();
    struct rough *rough = NULL;
    uint8_t *u = NULL;
    int32_t *sums = NULL;
    float *lower = NULL, *upper = NULL;
    double *z = NULL;
    *done = false;
    if (largest == 0 || n < MIN_POINTS || dim > MAX_DIM) return NVDP_OK;
    if (scratch->integers == NULL) NVDP_TRY(nvdp__int8_products(ctx, &scratch->integers));
    struct nvdp__bf16_engine *products = scratch->integers;
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_ROUGH, rough, block));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_BYTES, u, stride * dim));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_INTEGERS, sums,
                           stride * nvdp__blocks(count, TILE) * TILE));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_LOWER, lower, block * groups));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_UPPER, upper, block));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_CENTRED, z, block * dim));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = nvdp__min(n - first, block);
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < now; i++) {
            rough[i] = quantize_point(vectors, points + (first + i) * dim, largest, z + i * dim,
                                      u + i * dim);
            upper[i] = INFINITY;
        }
        for (size_t start = 0; start < count; start += TILE) {
            const size_t rows = nvdp__min(count - start, TILE);
            int32_t *tile = sums + start * stride;
            nvdp__int8_product(products, now, dim, rows, u, vectors->q + start * dim, tile);
#pragma omp parallel for schedule(static) num_threads(threads)
            for (size_t i = 0; i < now; i++) {
                if (!rough[i].usable) continue;
                const float above = bound_rows(vectors, &rough[i], start, rows, tile + i * rows,
                                               lower + i * groups + start / GROUP);
                upper[i] = above < upper[i] ? above : upper[i];
            }
        }
        NVDP_TRY(nvdp__bf16_status(products));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < now; i++)
            nearest[first + i] = choose_rough(vectors, points + (first + i) * dim, &rough[i], i,
                                              stride, sums, lower + i * groups, upper[i]);
    }
    *done = true;
cleanup:
    return status;
}

/* Processes many points together, so that a block of the table is packed once for all of them. */
nvdp_status nvdp__vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  struct nvdp__dchi_scratch *scratch, size_t n,
                                  const double *points, int32_t *nearest) {
    nvdp_status status = NVDP_OK;
    const size_t count = vectors->count, dim = vectors->dim;
    const size_t block = nvdp__min(n, POINTS), wide = nvdp__min(count, ROWS);
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    float *z = NULL, *dot = NULL;
    double *norm = NULL;
    struct nearest *best = NULL;
    for (size_t i = 0; i < n * dim; i++)
        if (!isfinite(points[i]))
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "nearest token: point %zu, dimension %zu: expected a finite number, found %g",
                i / dim, i % dim, points[i]);
    bool done;
    NVDP_TRY(nearest_by_integers(ctx, vectors, scratch, n, points, nearest, &done));
    if (done) return NVDP_OK;
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_FLOATS, z, block * dim));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_UPPER, norm, block));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_ROUGH, best, block));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_PRODUCTS, dot, block * wide));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = nvdp__min(n - first, block);
#pragma omp parallel for schedule(static) num_threads(dev.threads)
        for (size_t i = 0; i < now; i++) {
            norm[i] = center(vectors, points + (first + i) * dim, z + i * dim);
            best[i] = (struct nearest){INFINITY, INFINITY, 0};
        }
        for (size_t from = 0; from < count; from += wide) {
            const size_t rows = nvdp__min(count - from, wide);
            nvdp__gemm(&dev, 1, false, nvdp__f32(now, dim, z), true,
                       nvdp__f32(rows, dim, vectors->centered + from * dim), 0,
                       nvdp__f32(now, rows, dot));
#pragma omp parallel for schedule(dynamic, 16) num_threads(dev.threads)
            for (size_t i = 0; i < now; i++) {
                const double size = norm[i], terms = (double)dim + 8;
                const struct slack e = {.relative = 1.01 * terms * 0x1p-24 * size,
                                        .absolute = terms * 0x1p-120 * (1 + size),
                                        .square = terms * 0x1p-51};
                /* beyond 1e30, float32 products may overflow */
                search(vectors, points + (first + i) * dim, from, rows,
                       size < 1e30 ? dot + i * rows : NULL, e, &best[i]);
            }
        }
        for (size_t i = 0; i < now; i++)
            nearest[first + i] = best[i].row;
    }
cleanup:
    return status;
}

nvdp_status nvdp_vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                 size_t n, const double *points, int32_t *nearest) {
    struct nvdp__dchi_scratch scratch = {0};
    nvdp_status status = nvdp__vectors_nearest(ctx, vectors, &scratch, n, points, nearest);
    nvdp__dchi_scratch_release(&scratch);
    return status;
}
