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
 * where the second term covers underflow; 2^-20 of |c_j|^2/2 and a slightly larger d cover float32's rounding of the
 * score.  A row with score_j - e_j above the smallest score_k + e_k so far is not the nearest; the few others are
 * compared in double.  The farthest row is that of the smallest -score_j.
 *
 * If the processor multiplies 8-bit integers, which is two to four times as fast, batches of at least a few
 * dozen points use these products: z ~ z' = min + step u with u in 0..255 (0..127 if larger sums are not
 * exact), c_j ~ c'_j = step_j q_j with q in -127..127, and
 *
 *     z'.c'_j                =  step_j (step sum_k u_k q_jk + min sum_k q_jk),     the sums exact,
 *     |z.c_j - z'.c'_j|     <=  |z - z'| |c'_j|  +  |z| |c_j - c'_j|               (Cauchy & Schwarz),
 *
 * with four known norms.  The rest is as above with this bound for e_j, plus float32's rounding of the
 * score: 2^-20 of (|min| + step max u) sqrt(d) |c'_j| + |c_j|^2/2 bounds all of them.
 *
 * A table with more than a few numbers keeps neither c nor q: they are made for some rows at a time, which all points
 * of a batch then use. */
#include "dchi/dchi.h"
#include "tensor/bf16.h"
#include "tensor/int8.h"
#include "tensor/ops.h"
#include "tensor/vector.h"

#include <omp.h>
#include <stdlib.h>

enum {
    POINTS = 1024,
    ROWS = 4096,
    GROUP = 64,    /* rows that are skipped together */
    COLUMNS = 256, /* numbers of a row that are read together */
    /* for integers */
    MIN_POINTS = 32,  /* min number of points for which packing the table pays */
    MANY = 2048,      /* points of a pass over the table */
    TOGETHER = 256,   /* points per product */
    TILE = 2048,      /* rows per product; their sums are read while in the cache */
    MAX_DIM = 1 << 16 /* sums fit into 32 bits */
};

/* ---- the table ---- */

void nvdp__coarse_release(struct nvdp__coarse *coarse) {
    free(coarse->q);
    free(coarse->step);
    free(coarse->sum);
    free(coarse->half);
    free(coarse->length);
    free(coarse->rest);
    *coarse = (struct nvdp__coarse){0};
}

static nvdp_status coarse_create(struct nvdp_context *ctx, size_t rows, size_t dim,
                                 struct nvdp__coarse *out) {
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->step, rows));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->sum, rows));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->half, rows));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->length, rows));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->rest, rows));
    return NVDP__NEW(ctx, out->q, rows * dim);
}

/* Quantizes rows [first, first + n) to 8 bits. */
static void quantize(const struct nvdp_vectors *v, int threads, size_t first, size_t n,
                     const struct nvdp__coarse *out) {
    const size_t dim = v->dim;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t j = 0; j < n; j++) {
        double scratch[NVDP__ROW_WIDEST];
        const double *row = nvdp__row(v, first + j, scratch), norm = v->norm[first + j];
        double max = 0, length = 0, rest = 0, total = 0;
        for (size_t k = 0; k < dim; k++)
            max = fmax(max, fabs((row[k] - v->mean[k]) * v->scale));
        out->step[j] = (float)(max / 127);
        for (size_t k = 0; k < dim; k++) {
            const double c = (row[k] - v->mean[k]) * v->scale, step = out->step[j];
            const double q = step > 0 ? fmin(fmax(rint(c / step), -127), 127) : 0;
            out->q[j * dim + k] = (int8_t)q;
            total += q;
            length += q * step * q * step;
            rest += (c - q * step) * (c - q * step);
        }
        out->sum[j] = (float)(out->step[j] * total);
        out->half[j] = (float)(norm * norm / 2);
        out->length[j] = (float)(sqrt(length) * (1 + 1e-6));
        out->rest[j] = (float)(sqrt(rest) * (1 + 1e-6));
    }
}

/* Sums each column in the order of the rows. */
static void find_mean(struct nvdp_vectors *v, int threads) {
    const size_t dim = v->dim, share = nvdp__blocks(dim, (size_t)threads);
    const size_t width = nvdp__min(share, COLUMNS), blocks = nvdp__blocks(dim, width);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t b = 0; b < blocks; b++) {
        const size_t first = b * width, n = nvdp__block_length(dim, width, b);
        double part[COLUMNS];
        for (size_t j = 0; j < v->count; j++) {
            nvdp__vector_row_part(&v->rows, j, first, n, part);
            for (size_t k = 0; k < n; k++)
                v->mean[first + k] += part[k] / (double)v->count;
        }
    }
}

/* z = s (y - mean), rounded, unless z is NULL; returns the norm. */
static double center(const struct nvdp_vectors *vectors, const double *point, float *z) {
    double square = 0;
    for (size_t k = 0; k < vectors->dim; k++) {
        double x = (point[k] - vectors->mean[k]) * vectors->scale;
        if (z != NULL) z[k] = (float)x;
        square += x * x;
    }
    return sqrt(square);
}

nvdp_status nvdp__vectors_center(struct nvdp_context *ctx, struct nvdp_vectors *vectors,
                                 bool keep) {
    const size_t count = vectors->count, dim = vectors->dim;
    const int threads = nvdp__table_threads(ctx, count * dim);
    double max = 0;
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->mean, dim));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->norm, count));
    if (keep) NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, vectors->centered, count * dim));
    if (keep) NVDP_RETURN_IF_FAILED(coarse_create(ctx, count, dim, &vectors->coarse));
    find_mean(vectors, threads);
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : max)
    for (size_t j = 0; j < count; j++) {
        double scratch[NVDP__ROW_WIDEST];
        const double *row = nvdp__row(vectors, j, scratch);
        for (size_t k = 0; k < dim; k++) {
            double size = fabs(row[k] - vectors->mean[k]);
            max = size > max ? size : max;
        }
    }
    vectors->scale = max > 0 ? exp2(-fmax(floor(log2(max)), -1000)) : 1;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t j = 0; j < count; j++) {
        double scratch[NVDP__ROW_WIDEST];
        const double *row = nvdp__row(vectors, j, scratch);
        vectors->norm[j] = center(vectors, row, keep ? vectors->centered + j * dim : NULL);
    }
    if (keep) quantize(vectors, threads, 0, count, &vectors->coarse);
    return NVDP_OK;
}

NVDP__CLONES
static void center_floats(size_t dim, const double *row, const double *mean, double scale,
                          float *c) {
    for (size_t k = 0; k < dim; k++)
        c[k] = (float)((row[k] - mean[k]) * scale);
}

void nvdp__vectors_center_row(const struct nvdp_vectors *vectors, size_t token, float *c) {
    double scratch[NVDP__ROW_WIDEST];
    center_floats(vectors->dim, nvdp__row(vectors, token, scratch), vectors->mean, vectors->scale,
                  c);
}

const float *nvdp__vectors_centered(const struct nvdp_vectors *vectors, int threads, size_t first,
                                    size_t n, float *buffer) {
    const size_t dim = vectors->dim;
    if (vectors->centered != NULL) return vectors->centered + first * dim;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t j = 0; j < n; j++)
        nvdp__vectors_center_row(vectors, first + j, buffer + j * dim);
    return buffer;
}

/* ---- the search ---- */

/* The search state of a point. */
struct nearest {
    float bound;  /* upper bound of the best row's sign times score */
    double value; /* sign times the squared distance to `row`, the best row compared so far */
    double sign;  /* 1: finds the nearest row, -1: the farthest */
    int32_t row, except;
};

/* Compares rows [first, first + n) that could be the best. low [n] has lower bounds of sign times the scores, group the
 * smallest of each group; NULL: all rows could be. */
static void compare(const struct nvdp_vectors *vectors, const double *point, size_t first, size_t n,
                    const float *low, const float *group, struct nearest *best) {
    for (size_t g = 0; g * GROUP < n; g++) {
        if (low != NULL && group[g] > best->bound) continue;
        for (size_t j = g * GROUP; j < n && j < (g + 1) * GROUP; j++) {
            if (low != NULL && low[j] > best->bound) continue;
            if ((int32_t)(first + j) == best->except) continue;
            double scratch[NVDP__ROW_WIDEST];
            const double square =
                nvdp__square_distance(vectors->dim, point, nvdp__row(vectors, first + j, scratch));
            if (best->sign * square >= best->value) continue;
            best->value = best->sign * square;
            best->row = (int32_t)(first + j);
        }
    }
}

/* Keeps the bounds of a row's value v with error e; the minima are those of ordered integers, which vectorize. */
NVDP__INLINE void keep_bounds(float v, float e, float *low, int32_t *min, int32_t *above) {
    const int32_t down = nvdp__ordered_key(v - e), up = nvdp__ordered_key(v + e);
    *low = v - e;
    *min = down < *min ? down : *min;
    *above = up < *above ? up : *above;
}

/* ---- by float32 products ---- */

/* Sizes of the rows of a tile: |c|^2/2, and |c| rounded up. */
struct sizes {
    float half[ROWS], length[ROWS];
};
/* The error of a score is at most `relative` |c_j| + `absolute` + 2^-20 |c_j|^2/2. */
struct slack {
    float sign, relative, absolute;
};

static struct slack slack_of(double sign, size_t dim, double size) {
    const double terms = (double)dim + 16;
    return (struct slack){(float)sign, (float)(1.01 * terms * 0x1p-24 * size),
                          (float)(terms * 0x1p-120 * (1 + size))};
}

/* Bounds sign times the scores of n rows from their products; returns the smallest upper bound. */
NVDP__CLONES
static float bound_floats(size_t n, const struct sizes *of, struct slack e,
                          const float *restrict dot, float *restrict low, float *restrict group) {
    int32_t best = INT32_MAX;
    for (size_t g = 0; g * GROUP < n; g++) {
        const size_t end = n - g * GROUP < GROUP ? n : (g + 1) * GROUP;
        int32_t min = INT32_MAX, above = INT32_MAX;
        for (size_t j = g * GROUP; j < end; j++)
            keep_bounds(e.sign * (of->half[j] - dot[j]),
                        1.0001f *
                            (e.relative * of->length[j] + e.absolute + 0x1p-20f * of->half[j]),
                        &low[j], &min, &above);
        group[g] = nvdp__ordered_float(min);
        best = above < best ? above : best;
    }
    return nvdp__ordered_float(best);
}

/* Searches rows [first, first + n) with products dot [n]. */
static void search(const struct nvdp_vectors *vectors, const double *point, double size,
                   size_t first, size_t n, const struct sizes *of, float *dot,
                   struct nearest *best) {
    float low[ROWS], group[ROWS / GROUP];
    const size_t except = (size_t)best->except - first; /* huge if it is not among them */
    if (!(size < 1e30)) {                               /* float32 products may overflow */
        compare(vectors, point, first, n, NULL, NULL, best);
        return;
    }
    const float own = except < n ? dot[except] : 0;
    if (except < n) dot[except] = (float)(best->sign * -INFINITY);
    const float above =
        bound_floats(n, of, slack_of(best->sign, vectors->dim, size), dot, low, group);
    if (except < n) dot[except] = own;
    best->bound = above < best->bound ? above : best->bound;
    compare(vectors, point, first, n, low, group, best);
}

/* For block [n <= POINTS] of points, with states of `ways` searches each. */
static void search_block(struct nvdp__device *dev, const struct nvdp_vectors *vectors, size_t n,
                         const double *points, size_t ways, struct nearest *best, float *z,
                         double *norm, float *dot, float *rows) {
    const size_t count = vectors->count, dim = vectors->dim;
#pragma omp parallel for schedule(static) num_threads(dev->threads)
    for (size_t i = 0; i < n; i++)
        norm[i] = center(vectors, points + i * dim, z + i * dim);
    for (size_t from = 0; from < count; from += ROWS) {
        const size_t wide = nvdp__min(count - from, ROWS);
        struct sizes of;
        for (size_t j = 0; j < wide; j++) {
            of.half[j] = (float)(vectors->norm[from + j] * vectors->norm[from + j] / 2);
            of.length[j] = (float)(vectors->norm[from + j] * (1 + 1e-6));
        }
        const float *c = nvdp__vectors_centered(vectors, dev->threads, from, wide, rows);
        nvdp__gemm(dev, 1, false, nvdp__f32(n, dim, z), true, nvdp__f32(wide, dim, c), 0,
                   nvdp__f32(n, wide, dot));
#pragma omp parallel for schedule(dynamic, 16) num_threads(dev->threads)
        for (size_t i = 0; i < n; i++)
            for (size_t w = 0; w < ways; w++)
                search(vectors, points + i * dim, norm[i], from, wide, &of, dot + i * wide,
                       &best[i * ways + w]);
    }
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

/* Bounds the scores of n rows from their sums; returns the smallest upper bound. */
NVDP__CLONES
static float bound_integers(size_t n, const struct nvdp__coarse *of, const struct rough *p,
                            const int32_t *restrict sums, float *restrict low,
                            float *restrict group) {
    int32_t best = INT32_MAX;
    for (size_t g = 0; g * GROUP < n; g++) {
        const size_t end = n - g * GROUP < GROUP ? n : (g + 1) * GROUP;
        int32_t min = INT32_MAX, above = INT32_MAX;
        for (size_t j = g * GROUP; j < end; j++)
            keep_bounds(of->half[j] - p->step * of->step[j] * (float)sums[j] - p->min * of->sum[j],
                        1.0001f *
                            (p->a * of->length[j] + p->b * of->rest[j] + 0x1p-20f * of->half[j]),
                        &low[j], &min, &above);
        group[g] = nvdp__ordered_float(min);
        best = above < best ? above : best;
    }
    return nvdp__ordered_float(best);
}

/* The quantized rows [first, first + n): those of the table, or made for them. */
static struct nvdp__coarse coarse_rows(struct nvdp__dchi_scratch *scratch,
                                       const struct nvdp_vectors *v, int threads, size_t first,
                                       size_t n) {
    const struct nvdp__coarse *all = &v->coarse;
    if (all->q != NULL)
        return (struct nvdp__coarse){all->q + first * v->dim, all->step + first,
                                     all->sum + first,        all->half + first,
                                     all->length + first,     all->rest + first};
    quantize(v, threads, first, n, &scratch->coarse);
    nvdp__bf16_weights_changed(scratch->integers);
    return scratch->coarse;
}

/* *done is false if such products are not available. */
static nvdp_status nearest_by_integers(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                       struct nvdp__dchi_scratch *scratch, size_t n,
                                       const double *points, int32_t *nearest, bool *done) {
    nvdp_status status = NVDP_OK;
    const size_t count = vectors->count, dim = vectors->dim, many = nvdp__min(n, MANY);
    const int threads = nvdp_context_threads(ctx), largest = nvdp__int8_largest();
    struct rough *rough = NULL;
    struct nearest *best = NULL;
    uint8_t *u = NULL;
    int32_t *sums = NULL;
    double *z = NULL;
    *done = false;
    if (largest == 0 || n < MIN_POINTS || dim > MAX_DIM) return NVDP_OK;
    if (scratch->integers == NULL) NVDP_TRY(nvdp__int8_products(ctx, &scratch->integers));
    if (vectors->coarse.q == NULL && scratch->coarse.q == NULL)
        NVDP_TRY(coarse_create(ctx, TILE, dim, &scratch->coarse));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_ROUGH, rough, many));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_BEST, best, many));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_BYTES, u,
                           nvdp__blocks(many, TOGETHER) * TOGETHER * dim));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_PRODUCTS, sums, TOGETHER * TILE));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_CENTRED, z, (size_t)threads * dim));
    for (size_t first = 0; first < n; first += many) {
        const size_t now = nvdp__min(n - first, many);
        const double *at = points + first * dim;
#pragma omp parallel for schedule(static) num_threads(threads)
        for (size_t i = 0; i < now; i++) {
            rough[i] = quantize_point(vectors, at + i * dim, largest,
                                      z + (size_t)omp_get_thread_num() * dim, u + i * dim);
            best[i] = (struct nearest){INFINITY, INFINITY, 1, 0, -1};
        }
        for (size_t start = 0; start < count; start += TILE) {
            const size_t rows = nvdp__min(count - start, TILE);
            const struct nvdp__coarse of = coarse_rows(scratch, vectors, threads, start, rows);
            for (size_t from = 0; from < now; from += TOGETHER) {
                const size_t some = nvdp__min(now - from, TOGETHER);
                nvdp__int8_product(scratch->integers, some, dim, rows, u + from * dim, of.q, sums);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
                for (size_t i = 0; i < some; i++) {
                    struct nearest *own = &best[from + i];
                    float low[TILE], group[TILE / GROUP];
                    if (!rough[from + i].usable) continue;
                    const float above =
                        bound_integers(rows, &of, &rough[from + i], sums + i * rows, low, group);
                    own->bound = above < own->bound ? above : own->bound;
                    compare(vectors, at + (from + i) * dim, start, rows, low, group, own);
                }
            }
        }
        NVDP_TRY(nvdp__bf16_status(scratch->integers));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < now; i++) {
            if (!rough[i].usable) compare(vectors, at + i * dim, 0, count, NULL, NULL, &best[i]);
            nearest[first + i] = best[i].row;
        }
    }
    *done = true;
cleanup:
    return status;
}

/* ---- tokens and distances ---- */

/* Processes many points together, so that a block of the table is packed once for all of them. */
nvdp_status nvdp__vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  struct nvdp__dchi_scratch *scratch, size_t n,
                                  const double *points, int32_t *nearest) {
    nvdp_status status = NVDP_OK;
    const size_t dim = vectors->dim;
    const size_t block = nvdp__min(n, POINTS), wide = nvdp__min(vectors->count, ROWS);
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    float *z = NULL, *dot = NULL, *rows = NULL;
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
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_SUMS, norm, block));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_BEST, best, block));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_PRODUCTS, dot, block * wide));
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__SCRATCH_ROWS, rows,
                           vectors->centered != NULL ? 0 : wide * dim));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = nvdp__min(n - first, block);
        for (size_t i = 0; i < now; i++)
            best[i] = (struct nearest){INFINITY, INFINITY, 1, 0, -1};
        search_block(&dev, vectors, now, points + first * dim, 1, best, z, norm, dot, rows);
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

nvdp_status nvdp__vectors_extremes(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t n, const int32_t *tokens, double *nearest,
                                   double *farthest) {
    nvdp_status status = NVDP_OK;
    const size_t dim = vectors->dim;
    const size_t block = nvdp__min(n, POINTS), wide = nvdp__min(vectors->count, ROWS);
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    float *z = NULL, *dot = NULL, *rows = NULL;
    double *norm = NULL, *points = NULL;
    struct nearest *best = NULL;
    NVDP_TRY(NVDP__NEW(ctx, z, block * dim));
    NVDP_TRY(NVDP__NEW(ctx, dot, block * wide));
    NVDP_TRY(NVDP__NEW(ctx, rows, vectors->centered != NULL ? 0 : wide * dim));
    NVDP_TRY(NVDP__NEW(ctx, norm, block));
    NVDP_TRY(NVDP__NEW(ctx, points, block * dim));
    NVDP_TRY(NVDP__NEW(ctx, best, 2 * block));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = nvdp__min(n - first, block);
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
        for (size_t i = 0; i < now; i++) {
            const int32_t x = tokens[first + i];
            nvdp_vectors_row(vectors, (size_t)x, points + i * dim);
            best[2 * i] = (struct nearest){INFINITY, INFINITY, 1, 0, x};
            best[2 * i + 1] = (struct nearest){INFINITY, 0, -1, 0, x};
        }
        search_block(&dev, vectors, now, points, 2, best, z, norm, dot, rows);
        for (size_t i = 0; i < now; i++) {
            nearest[first + i] = sqrt(best[2 * i].value);
            farthest[first + i] = sqrt(-best[2 * i + 1].value);
        }
    }
cleanup:
    free(z);
    free(dot);
    free(rows);
    free(norm);
    free(points);
    free(best);
    return status;
}
