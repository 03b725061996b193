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
 * score. A row with score_j - e_j above the smallest score_k + e_k so far, or above the best score in double, is not
 * the nearest; the few remaining rows are compared in double. The farthest row has the smallest -score_j.
 *
 * If the processor multiplies 8-bit integers, which is two to four times as fast, batches of at least a few
 * dozen points use these products: z ~ z' = min + step u with u in 0..255, c_j ~ c'_j = step_j q_j with q in
 * -127..127 (u in 0..127 and q in -64..64 with AVX2 alone, tensor/int8.c), and
 *
 *     z'.c'_j                =  step_j (step sum_k u_k q_jk + min sum_k q_jk),     the sums exact,
 *     |z.c_j - z'.c'_j|     <=  |z - z'| |c'_j|  +  |z| |c_j - c'_j|               (Cauchy & Schwarz),
 *
 * with four known norms.  The rest is as above with this bound for e_j, plus float32's rounding of the
 * score: 2^-20 of (|min| + step max u) sqrt(d) |c'_j| + |c_j|^2/2 bounds all of them.
 *
 * A large table keeps neither c nor q: both are computed for some rows at a time, which all points of a batch then
 * use. */
#include "dchi/dchi.h"
#include "tensor/bf16.h"
#include "tensor/int8.h"
#include "tensor/ops.h"
#include "tensor/vector.h"

#include <float.h>
#include <omp.h>
#include <stdlib.h>

enum {
    POINTS = 1024,
    ROWS = 4096,
    GROUP = 64,    /* number of rows that are skipped together */
    COLUMNS = 256, /* number of numbers of a row that are read together */
    /* for products of integers */
    MIN_POINTS = 32, /* min number of points for which packing the table pays */
    MANY = 1 << 14,  /* max points per pass over the table */
    TOGETHER = 256,  /* points per product */
    TILE = 2048,     /* rows per product, so that the sums are read while in the cache */
    PART = 1024,     /* rows per product of bytes, which each thread computes alone */
    PACKED = NVDP__BYTE_ROWS,
    MAX_DIM = NVDP__ROW_WIDEST
};

/* ---- the table ---- */

void nvdp__coarse_release(struct nvdp__coarse *coarse) {
    nvdp__memory_release(&coarse->memory);
    *coarse = (struct nvdp__coarse){0};
}

/* Returns true if products of bytes are used, that is, unless the processor has faster products of 8-bit integers. */
static bool by_bytes(void) {
    return nvdp__int8_largest() != 255 && nvdp__byte_products();
}

/* Returns the bytes of q for so many rows. */
static size_t coarse_size(size_t rows, size_t dim) {
    return by_bytes() ? nvdp__blocks(rows, PACKED) * PACKED * nvdp__byte_width(dim) : rows * dim;
}

static nvdp_status coarse_create(struct nvdp_context *ctx, size_t rows, size_t dim,
                                 struct nvdp__coarse *out) {
    return NVDP__ARRAYS(ctx, &out->memory, NVDP__ITEMS(out->step, rows),
                        NVDP__ITEMS(out->sum, rows), NVDP__ITEMS(out->half, rows),
                        NVDP__ITEMS(out->length, rows), NVDP__ITEMS(out->rest, rows),
                        NVDP__ITEMS(out->q, coarse_size(rows, dim)));
}

/* The sums of a quantized row, and the error of quantization. */
struct coarse_row {
    float step, rest;
    int32_t total, square; /* sums of q and of q^2 */
};

/* Quantizes a row c to -largest..largest. */
NVDP__CLONES
static struct coarse_row quantize_row(size_t dim, const float *c, int largest, int8_t *q) {
    const float round = 0x1.8p23f; /* adding this number rounds to an integer */
    int32_t max = 0;               /* the bits of |c|, which have the same order as |c| */
    struct coarse_row row = {0};
    for (size_t k = 0; k < dim; k++) {
        const int32_t bits = (int32_t)(nvdp__float_bits(c[k]) & INT32_MAX);
        max = bits > max ? bits : max;
    }
    row.step = nvdp__bits_float((uint32_t)max) / (float)largest;
    const float per_step = row.step > FLT_MIN ? 1 / row.step : 0;
    float rest = 0;
#pragma omp simd reduction(+ : rest)
    for (size_t k = 0; k < dim; k++) {
        const float t = (c[k] * per_step + round) - round, left = c[k] - t * row.step;
        rest += left * left;
        q[k] = (int8_t)(int32_t)t;
    }
    for (size_t k = 0; k < dim; k++) {
        row.total += q[k];
        row.square += q[k] * q[k];
    }
    row.rest = rest;
    return row;
}

/* Quantizes row j of the table into row `to` of the coarse rows. The bounds cover the rounding of c to float32 and
 * of sums in float32: the relative error of a sum is below (d + 16) 2^-23, and squares below 2^-126 may vanish. */
static void quantize(const struct nvdp_vectors *v, size_t j, int largest,
                     const struct nvdp__coarse *out, size_t to, float *c, int8_t *q) {
    const size_t dim = v->dim;
    const double norm = v->norm[j];
    nvdp__vectors_center_row(v, j, c);
    const struct coarse_row row = quantize_row(dim, c, largest, q);
    const double over = 1 + ((double)dim + 16) * 0x1p-23;
    out->step[to] = row.step;
    out->sum[to] = row.step * (float)row.total;
    out->half[to] = (float)(norm * norm / 2);
    out->length[to] = (float)((double)row.step * sqrt((double)row.square) * (1 + 1e-6));
    out->rest[to] = (float)((sqrt((double)row.rest) * over + 0x1p-20 * norm) * (1 + 1e-6) + 1e-17);
}

/* Quantizes rows [first, first + n). */
static void quantize_rows(const struct nvdp_vectors *v, int threads, size_t first, size_t n,
                          const struct nvdp__coarse *out) {
    const size_t dim = v->dim, blocks = nvdp__blocks(n, PACKED);
    const bool bytes = by_bytes();
    const int largest = bytes ? NVDP__BYTE_LARGEST_Q : 127;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t b = 0; b < blocks; b++) {
        int8_t q[PACKED * NVDP__ROW_WIDEST];
        float c[NVDP__ROW_WIDEST];
        const size_t length = nvdp__block_length(n, PACKED, b), from = b * PACKED;
        int8_t *to = bytes ? q : out->q + from * dim;
        for (size_t j = 0; j < length; j++)
            quantize(v, first + from + j, largest, out, from + j, c, to + j * dim);
        if (bytes) nvdp__byte_pack_rows(length, dim, q, out->q + from * nvdp__byte_width(dim));
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

/* Computes z = s (y - mean), rounded, unless z is NULL; returns the norm of z. */
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
    NVDP_TRY(NVDP__ARRAYS(ctx, &vectors->memory, NVDP__ITEMS(vectors->mean, dim),
                          NVDP__ITEMS(vectors->norm, count),
                          NVDP__ITEMS(vectors->centered, keep ? count * dim : 0)));
    if (!keep) vectors->centered = NULL;
    if (keep && dim <= MAX_DIM) NVDP_TRY(coarse_create(ctx, count, dim, &vectors->coarse));
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
    if (keep && dim <= MAX_DIM) quantize_rows(vectors, threads, 0, count, &vectors->coarse);
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

/* Returns c_j of rows [first, first + n): a pointer into the table, or to buffer [n, dim], which all threads fill. */
static const float *centered_rows(const struct nvdp_vectors *vectors, int threads, size_t first,
                                  size_t n, float *buffer) {
    const size_t dim = vectors->dim;
    if (vectors->centered != NULL) return vectors->centered + first * dim;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t j = 0; j < n; j++)
        nvdp__vectors_center_row(vectors, first + j, buffer + j * dim);
    return buffer;
}

/* ---- the search ---- */

/* The state of one point's search. */
struct nearest {
    float bound;  /* upper bound of sign times the score of the best row */
    double value; /* sign times the squared distance to `row`, the best row compared so far */
    double sign;  /* 1 to find the nearest row, -1 to find the farthest row */
    int32_t row, except;
    double own; /* |z|^2 of the point */
};

/* Compares the rows of [first, first + n) that could be the best. low [n] has lower bounds of sign times the scores,
 * and `group` has the smallest lower bound of each group. NULL: compares all rows. */
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
            /* the score in double, plus far more than the rounding errors of both sides */
            const double scaled = square * vectors->scale * vectors->scale;
            const float bound =
                (float)(best->sign * (scaled - best->own) / 2 + 0x1p-22 * (scaled + best->own));
            best->bound = bound < best->bound ? bound : best->bound;
        }
    }
}

/* Stores the bounds v - e and v + e of a row. The minima are computed on ordered integers, which vectorize. */
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

/* Bounds sign times the scores of n rows, from the products of the rows; returns the smallest upper bound. */
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
    /* a huge number if the excepted row is not in the range */
    const size_t except = (size_t)best->except - first;
    if (!(size < 1e30)) { /* float32 products may overflow */
        compare(vectors, point, first, n, NULL, NULL, best);
        return;
    }
    const float own = except < n ? dot[except] : 0;
    if (except < n) dot[except] = (float)(best->sign * -INFINITY);
    const double terms = (double)vectors->dim + 16;
    const struct slack e = {(float)best->sign, (float)(1.01 * terms * 0x1p-24 * size),
                            (float)(terms * 0x1p-120 * (1 + size))};
    const float above = bound_floats(n, of, e, dot, low, group);
    if (except < n) dot[except] = own;
    best->bound = above < best->bound ? above : best->bound;
    compare(vectors, point, first, n, low, group, best);
}

/* Searches for a block [n <= POINTS] of points, with the states of `ways` searches for each point. */
static void search_block(struct nvdp__device *dev, const struct nvdp_vectors *vectors, size_t n,
                         const double *points, size_t ways, struct nearest *best, float *z,
                         double *norm, float *dot, float *rows) {
    const size_t count = vectors->count, dim = vectors->dim;
#pragma omp parallel for schedule(static) num_threads(dev->threads)
    for (size_t i = 0; i < n; i++) {
        norm[i] = center(vectors, points + i * dim, z + i * dim);
        for (size_t w = 0; w < ways; w++)
            best[i * ways + w].own = norm[i] * norm[i];
    }
    for (size_t from = 0; from < count; from += ROWS) {
        const size_t wide = nvdp__min(count - from, ROWS);
        struct sizes of;
        for (size_t j = 0; j < wide; j++) {
            of.half[j] = (float)(vectors->norm[from + j] * vectors->norm[from + j] / 2);
            of.length[j] = (float)(vectors->norm[from + j] * (1 + 1e-6));
        }
        const float *c = centered_rows(vectors, dev->threads, from, wide, rows);
        nvdp__gemm(dev, 1, NVDP__TRANSPOSE_B, nvdp__f32(n, dim, z), nvdp__f32(wide, dim, c), 0,
                   nvdp__f32(n, wide, dot));
#pragma omp parallel for schedule(dynamic, 16) num_threads(dev->threads)
        for (size_t i = 0; i < n; i++)
            for (size_t w = 0; w < ways; w++)
                search(vectors, points + i * dim, norm[i], from, wide, &of, dot + i * wide,
                       &best[i * ways + w]);
    }
}

/* ---- by integer products ---- */

/* A point in 8 bits, and the bounds of its errors: e_j = a |c'_j| + b |c_j - c'_j| + 2^-20 |c_j|^2/2. */
struct rough {
    float min, step, a, b;
    double square; /* |z|^2 of the point */
    bool usable;   /* false if all rows must be compared */
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
    struct rough rough = {.square = square, .usable = square < 1e30};
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

/* Bounds sign times the scores of n rows, from the integer sums; returns the smallest upper bound. */
NVDP__CLONES
static float bound_integers(size_t n, const struct nvdp__coarse *of, const struct rough *p,
                            float sign, const int32_t *restrict sums, float *restrict low,
                            float *restrict group) {
    int32_t best = INT32_MAX;
    for (size_t g = 0; g * GROUP < n; g++) {
        const size_t end = n - g * GROUP < GROUP ? n : (g + 1) * GROUP;
        int32_t min = INT32_MAX, above = INT32_MAX;
        for (size_t j = g * GROUP; j < end; j++)
            keep_bounds(
                sign * (of->half[j] - p->step * of->step[j] * (float)sums[j] - p->min * of->sum[j]),
                1.0001f * (p->a * of->length[j] + p->b * of->rest[j] + 0x1p-20f * of->half[j]),
                &low[j], &min, &above);
        group[g] = nvdp__ordered_float(min);
        best = above < best ? above : best;
    }
    return nvdp__ordered_float(best);
}

static struct nvdp__coarse coarse_from(const struct nvdp__coarse *of, size_t first, size_t bytes) {
    return (struct nvdp__coarse){{0},
                                 of->q + bytes,
                                 of->step + first,
                                 of->sum + first,
                                 of->half + first,
                                 of->length + first,
                                 of->rest + first};
}

/* Returns the quantized rows [first, first + n), with first a multiple of PACKED: rows of the table, or rows
 * computed now. */
static struct nvdp__coarse coarse_rows(struct nvdp__dchi_scratch *scratch,
                                       const struct nvdp_vectors *v, int threads, size_t first,
                                       size_t n) {
    if (v->coarse.q != NULL) return coarse_from(&v->coarse, first, coarse_size(first, v->dim));
    quantize_rows(v, threads, first, n, &scratch->coarse);
    if (scratch->integers != NULL) nvdp__bf16_weights_changed(scratch->integers);
    return scratch->coarse;
}

/* The searches of n points with products of integers. */
struct searches {
    const struct nvdp_vectors *vectors;
    const double *points;      /* [n, dim] the points */
    const struct rough *rough; /* [n] the points in 8 bits */
    size_t ways;               /* number of searches per point */
    struct nearest *best;      /* [n, ways] states of the searches */
};

/* Continues the searches of point i in rows [first, first + n), n <= TILE, given the sums of the point. */
static void search_integers(const struct searches *of, size_t i, size_t first, size_t n,
                            const struct nvdp__coarse *rows, const int32_t *sums) {
    const struct rough *rough = &of->rough[i];
    const double *point = of->points + i * of->vectors->dim;
    float low[TILE], group[TILE / GROUP];
    if (!rough->usable) return;
    for (size_t w = 0; w < of->ways; w++) {
        struct nearest *best = &of->best[i * of->ways + w];
        best->own = rough->square;
        /* the rows before and after the excepted row, which would have the smallest bound of all */
        const size_t except = nvdp__min((size_t)best->except - first, n);
        for (size_t from = 0, end = except; from < n; from = end + 1, end = n) {
            const struct nvdp__coarse part = coarse_from(rows, from, 0);
            const float above = bound_integers(end - from, &part, rough, (float)best->sign,
                                               sums + from, low, group);
            best->bound = above < best->bound ? above : best->bound;
            compare(of->vectors, point, first + from, end - from, low, group, best);
        }
    }
}

/* Searches n points in a tile of rows, by products of bytes; sums [threads, NVDP__BYTE_POINTS, PART] is a scratch
 * buffer. */
static void search_bytes(const struct searches *of, int threads, size_t n, const uint8_t *u,
                         size_t start, size_t rows, const struct nvdp__coarse *tile,
                         int32_t *sums) {
    const size_t width = nvdp__byte_width(of->vectors->dim);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (size_t from = 0; from < n; from += NVDP__BYTE_POINTS) {
        int32_t *own = sums + (size_t)omp_get_thread_num() * NVDP__BYTE_POINTS * PART;
        const size_t some = nvdp__min(n - from, NVDP__BYTE_POINTS);
        for (size_t first = 0; first < rows; first += PART) {
            const size_t length = nvdp__min(rows - first, PART);
            const size_t stride = nvdp__blocks(length, PACKED) * PACKED;
            const struct nvdp__coarse part = coarse_from(tile, first, first * width);
            nvdp__byte_product(of->vectors->dim, stride, u + from * width, part.q, own);
            for (size_t i = 0; i < some; i++)
                search_integers(of, from + i, start + first, length, &part, own + i * stride);
        }
    }
}

/* Searches n points in a tile of rows, by products of 8-bit integers; sums [TOGETHER, TILE] is a scratch buffer. */
static void search_int8(const struct searches *of, int threads, size_t n, uint8_t *u, size_t start,
                        size_t rows, const struct nvdp__coarse *tile,
                        struct nvdp__bf16_engine *integers, int32_t *sums) {
    const size_t dim = of->vectors->dim;
    for (size_t from = 0; from < n; from += TOGETHER) {
        const size_t some = nvdp__min(n - from, TOGETHER);
        nvdp__int8_product(integers, some, dim, rows, u + from * dim, tile->q, sums);
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
        for (size_t i = 0; i < some; i++)
            search_integers(of, from + i, start, rows, tile, sums + i * rows);
    }
}

/* Quantizes n points. */
static nvdp_status quantize_points(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   struct nvdp__dchi_scratch *scratch, size_t n,
                                   const double *points, struct rough *rough, uint8_t *u) {
    const size_t dim = vectors->dim, width = nvdp__byte_width(dim), each = NVDP__BYTE_POINTS;
    const int threads = nvdp_context_threads(ctx);
    const bool bytes = by_bytes();
    const int largest = bytes ? NVDP__BYTE_LARGEST_U : nvdp__int8_largest();
    double *z = NULL;
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(CENTRED, z, (size_t)threads * dim)));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t b = 0; b < nvdp__blocks(n, each); b++) {
        uint8_t own[NVDP__BYTE_POINTS * MAX_DIM];
        const size_t some = nvdp__block_length(n, each, b);
        uint8_t *to = bytes ? own : u + b * each * dim;
        for (size_t i = 0; i < some; i++)
            rough[b * each + i] =
                quantize_point(vectors, points + (b * each + i) * dim, largest,
                               z + (size_t)omp_get_thread_num() * dim, to + i * dim);
        if (bytes) nvdp__byte_pack_points(some, dim, own, u + b * each * width);
    }
    return NVDP_OK;
}

/* Completes `ways` searches of each of n points: best [n, ways]. *done is false if the processor has no products of
 * integers. */
static nvdp_status search_by_integers(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                      struct nvdp__dchi_scratch *scratch, size_t n,
                                      const double *points, size_t ways, struct nearest *best,
                                      bool *done) {
    const size_t count = vectors->count, dim = vectors->dim, many = nvdp__min(n, MANY);
    const int threads = nvdp_context_threads(ctx);
    const bool bytes = by_bytes();
    struct rough *rough = NULL;
    uint8_t *u = NULL;
    int32_t *sums = NULL;
    *done = false;
    if ((!bytes && nvdp__int8_largest() == 0) || n < MIN_POINTS || dim > MAX_DIM) return NVDP_OK;
    if (!bytes && scratch->integers == NULL) NVDP_TRY(nvdp__int8_products(ctx, &scratch->integers));
    if (vectors->coarse.q == NULL && scratch->coarse.q == NULL)
        NVDP_TRY(coarse_create(ctx, TILE, dim, &scratch->coarse));
    NVDP_TRY(NVDP__SCRATCH(
        ctx, scratch, NVDP__IN_BLOCK(ROUGH, rough, many),
        NVDP__IN_BLOCK(BYTES, u, nvdp__blocks(many, TOGETHER) * TOGETHER * nvdp__byte_width(dim)),
        NVDP__IN_BLOCK(PRODUCTS, sums,
                       bytes ? (size_t)threads * NVDP__BYTE_POINTS * PART : TOGETHER * TILE)));
    for (size_t first = 0; first < n; first += many) {
        const size_t now = nvdp__min(n - first, many);
        const struct searches of = {vectors, points + first * dim, rough, ways,
                                    best + first * ways};
        NVDP_TRY(quantize_points(ctx, vectors, scratch, now, of.points, rough, u));
        for (size_t start = 0; start < count; start += TILE) {
            const size_t rows = nvdp__min(count - start, TILE);
            const struct nvdp__coarse tile = coarse_rows(scratch, vectors, threads, start, rows);
            NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
            if (bytes)
                search_bytes(&of, threads, now, u, start, rows, &tile, sums);
            else
                search_int8(&of, threads, now, u, start, rows, &tile, scratch->integers, sums);
        }
        if (!bytes) NVDP_TRY(nvdp__bf16_status(scratch->integers));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
        for (size_t i = 0; i < now; i++)
            for (size_t w = 0; w < ways && !rough[i].usable; w++)
                compare(vectors, of.points + i * dim, 0, count, NULL, NULL, &of.best[i * ways + w]);
    }
    *done = true;
    return NVDP_OK;
}

/* ---- tokens and distances ---- */

/* Completes `ways` searches of each of n points: best [n, ways]. Processes many points together, so that a block of the
 * table is packed once for all of them. */
static nvdp_status search_all(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                              struct nvdp__dchi_scratch *scratch, size_t n, const double *points,
                              size_t ways, struct nearest *best) {
    const size_t dim = vectors->dim;
    const size_t block = nvdp__min(n, POINTS), wide = nvdp__min(vectors->count, ROWS);
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    float *z = NULL, *dot = NULL, *rows = NULL;
    double *norm = NULL;
    bool done;
    NVDP_TRY(search_by_integers(ctx, vectors, scratch, n, points, ways, best, &done));
    if (done) return NVDP_OK;
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(FLOATS, z, block * dim),
                           NVDP__IN_BLOCK(SUMS, norm, block),
                           NVDP__IN_BLOCK(PRODUCTS, dot, block * wide),
                           NVDP__IN_BLOCK(ROWS, rows, vectors->centered != NULL ? 0 : wide * dim)));
    for (size_t first = 0; first < n; first += block) {
        NVDP_TRY(nvdp__check_cancelled(ctx, "cancelled"));
        search_block(&dev, vectors, nvdp__min(n - first, block), points + first * dim, ways,
                     best + first * ways, z, norm, dot, rows);
    }
    return NVDP_OK;
}

nvdp_status nvdp__vectors_nearest_reusing(struct nvdp_context *ctx,
                                          const struct nvdp_vectors *vectors,
                                          struct nvdp__dchi_scratch *scratch, size_t n,
                                          const double *points, int32_t *nearest) {
    struct nearest *best = NULL;
    for (size_t i = 0; i < n * vectors->dim; i++)
        if (!isfinite(points[i]))
            return nvdp__fail(
                ctx, NVDP_ERR_ARGUMENT,
                "nearest token: point %zu, dimension %zu: expected a finite number, found %g",
                i / vectors->dim, i % vectors->dim, points[i]);
    NVDP_TRY(NVDP__SCRATCH(ctx, scratch, NVDP__IN_BLOCK(BEST, best, n)));
    for (size_t i = 0; i < n; i++)
        best[i] = (struct nearest){INFINITY, INFINITY, 1, 0, -1, 0};
    NVDP_TRY(search_all(ctx, vectors, scratch, n, points, 1, best));
    for (size_t i = 0; i < n; i++)
        nearest[i] = best[i].row;
    return NVDP_OK;
}

nvdp_status nvdp__vectors_nearest(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                  size_t n, const double *points, int32_t *nearest) {
    nvdp__auto(nvdp__dchi_scratch_release) struct nvdp__dchi_scratch scratch = {0};
    return nvdp__vectors_nearest_reusing(ctx, vectors, &scratch, n, points, nearest);
}

nvdp_status nvdp__vectors_extremes(struct nvdp_context *ctx, const struct nvdp_vectors *vectors,
                                   size_t n, const int32_t *tokens, double *nearest,
                                   double *farthest) {
    const size_t dim = vectors->dim, block = nvdp__min(n, POINTS);
    nvdp__auto(nvdp__dchi_scratch_release) struct nvdp__dchi_scratch scratch = {0};
    nvdp__autofree double *points = NULL;
    nvdp__autofree struct nearest *best = NULL;
    NVDP_TRY(
        NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(points, block * dim), NVDP__ITEMS(best, 2 * block)));
    for (size_t first = 0; first < n; first += block) {
        const size_t now = nvdp__min(n - first, block);
        for (size_t i = 0; i < now; i++) {
            const int32_t x = tokens[first + i];
            nvdp__vectors_row(vectors, (size_t)x, points + i * dim);
            best[2 * i] = (struct nearest){INFINITY, INFINITY, 1, 0, x, 0};
            best[2 * i + 1] = (struct nearest){INFINITY, 0, -1, 0, x, 0};
        }
        NVDP_TRY(search_all(ctx, vectors, &scratch, now, points, 2, best));
        for (size_t i = 0; i < now; i++) {
            nearest[first + i] = sqrt(best[2 * i].value);
            farthest[first + i] = sqrt(-best[2 * i + 1].value);
        }
    }
    return NVDP_OK;
}
