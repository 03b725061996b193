/* The table of word vectors, distances to its rows, and scratch buffers that one call reuses. */
#include "base/own.h"

#include "base/random.h"
#include "dchi/dchi.h"
#include "options/schema.h"
#include "tensor/ops.h"
#include "tensor/vector.h"
#include <omp.h>
#include <stdlib.h>

/* Finds the first number that is too large, if there is any. Numbers of text files are checked while they are read. */
static nvdp_status check_numbers(struct nvdp_context *ctx, const struct nvdp__vector_rows *rows) {
    const size_t dim = rows->dim;
    const int threads = nvdp__table_threads(ctx, rows->count * dim);
    size_t bad = rows->count * dim;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : bad)
    for (size_t j = 0; j < rows->count; j++) {
        double scratch[NVDP__ROW_WIDEST];
        if (rows->form[j] < NVDP__ROW_FLOATS || bad < j * dim) continue;
        const double *row = nvdp__vector_row(rows, j, scratch);
        for (size_t k = dim; k-- > 0;)
            /* the square of an accepted number is finite */
            if (!(fabs(row[k]) <= 1e150)) bad = j * dim + k;
    }
    if (bad == rows->count * dim) return NVDP_OK;
    double scratch[NVDP__ROW_WIDEST];
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "word vectors: token %zu, dimension %zu: expected a finite number within "
                      "+-1e150, found %g",
                      bad / dim, bad % dim, nvdp__vector_row(rows, bad / dim, scratch)[bad % dim]);
}

nvdp_status nvdp__vectors_adopt(struct nvdp_context *ctx, struct nvdp__vector_rows *rows,
                                size_t few, struct nvdp_vectors **out) {
    nvdp__auto(nvdp__vector_rows_release) struct nvdp__vector_rows own = *rows;
    nvdp__autoptr(nvdp_vectors_free) struct nvdp_vectors *made = NULL;
    const bool keep = own.count <= few / own.dim;
    *rows = (struct nvdp__vector_rows){0};
    NVDP_TRY(check_numbers(ctx, &own));
    if (keep) NVDP_TRY(nvdp__vector_rows_expand(&own));
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    *made = (struct nvdp_vectors){.count = own.count, .dim = own.dim};
    NVDP__HAND_OVER(&made->rows, own);
    NVDP_TRY(nvdp__vectors_center(ctx, made, keep));
    return NVDP__HAND_OVER(out, made);
}

nvdp_status nvdp_vectors_create(struct nvdp_context *ctx, size_t count, size_t dim,
                                const double *values, struct nvdp_vectors **out) {
    nvdp__auto(nvdp__vector_rows_release) struct nvdp__vector_rows rows = {.ctx = ctx, .dim = dim};
    size_t size;
    if (count < 1 || count > INT32_MAX || dim < 1 || dim > INT32_MAX ||
        !nvdp__mul(count, dim, &size))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "word vectors: expected 1 to %d tokens with 1 to %d dimensions, found "
                          "%zu tokens with %zu dimensions",
                          INT32_MAX, INT32_MAX, count, dim);
    for (size_t j = 0; j < count; j++)
        NVDP_TRY(nvdp__vector_rows_add_doubles(&rows, values + j * dim));
    return nvdp__vectors_adopt(ctx, &rows, NVDP__FEW_NUMBERS, out);
}

void nvdp_vectors_free(struct nvdp_vectors *vectors) {
    if (vectors == NULL) return;
    nvdp__vector_rows_release(&vectors->rows);
    nvdp__memory_release(&vectors->memory);
    nvdp__coarse_release(&vectors->coarse);
    free(vectors);
}

size_t nvdp_vectors_count(const struct nvdp_vectors *vectors) {
    return vectors->count;
}

size_t nvdp_vectors_dim(const struct nvdp_vectors *vectors) {
    return vectors->dim;
}

void nvdp__vectors_row(const struct nvdp_vectors *vectors, size_t token, double *out) {
    nvdp__vector_row_part(&vectors->rows, token, 0, vectors->dim, out);
}

/* ---- distances ---- */

NVDP__INLINE double square_distance(size_t dim, const double *a, const double *b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < dim; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

/* Computes four distances at a time, each with the sums of square_distance(), because each addition waits for the
 * one before. */
NVDP__CLONES
static void vectors_distances(size_t dim, const double *row, size_t n, const double *const *a,
                              size_t stride, double *out) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const double *a0 = a[i], *a1 = a[i + 1], *a2 = a[i + 2], *a3 = a[i + 3];
        double sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
#pragma omp simd reduction(+ : sum0, sum1, sum2, sum3)
        for (size_t k = 0; k < dim; k++) {
            sum0 += (a0[k] - row[k]) * (a0[k] - row[k]);
            sum1 += (a1[k] - row[k]) * (a1[k] - row[k]);
            sum2 += (a2[k] - row[k]) * (a2[k] - row[k]);
            sum3 += (a3[k] - row[k]) * (a3[k] - row[k]);
        }
        out[i * stride] = sqrt(sum0);
        out[(i + 1) * stride] = sqrt(sum1);
        out[(i + 2) * stride] = sqrt(sum2);
        out[(i + 3) * stride] = sqrt(sum3);
    }
    for (; i < n; i++)
        out[i * stride] = sqrt(square_distance(dim, a[i], row));
}

void nvdp__distances(size_t dim, const double *from, size_t n, const double *const *a,
                     double *out) {
    vectors_distances(dim, from, n, a, 1, out);
}

void nvdp__vectors_distances(const struct nvdp_vectors *vectors, size_t n, const double *const *a,
                             double *out) {
    double scratch[NVDP__ROW_WIDEST];
    for (size_t j = 0; j < vectors->count; j++)
        vectors_distances(vectors->dim, nvdp__row(vectors, j, scratch), n, a, vectors->count,
                          out + j);
}

NVDP__CLONES
static double vectors_square(size_t dim, const double *a, const double *b) {
    return square_distance(dim, a, b);
}

double nvdp__square_distance(size_t dim, const double *a, const double *b) {
    return vectors_square(dim, a, b);
}

double nvdp__distance(size_t dim, const double *a, const double *b) {
    return sqrt(vectors_square(dim, a, b));
}

double nvdp__distance_from(const struct nvdp_vectors *vectors, const double *point, size_t token) {
    double scratch[NVDP__ROW_WIDEST];
    return nvdp__distance(vectors->dim, point, nvdp__row(vectors, token, scratch));
}

/* ==== scratch buffers that one call reuses from batch to batch ==== */

nvdp_status nvdp__dchi_scratch(struct nvdp_context *ctx, struct nvdp__dchi_scratch *scratch,
                               const struct nvdp__scratch_array *array, size_t arrays) {
    for (size_t i = 0; i < arrays; i++) {
        const struct nvdp__array *of = &array[i].array;
        void **at = &scratch->block[array[i].block].at;
        size_t *have = &scratch->block[array[i].block].bytes, bytes;
        const bool fits = nvdp__mul(of->count, of->size, &bytes) && bytes <= *have;
        if (*at == NULL || !fits) {
            free(*at);
            *at = nvdp__calloc(ctx, of->count, of->size);
            *have = *at != NULL ? bytes : 0;
        }
        if (*at == NULL) return NVDP_ERR_MEMORY;
        memcpy(of->pointer, at, sizeof *at); /* copies a pointer of any type */
    }
    return NVDP_OK;
}

void nvdp__dchi_scratch_release(struct nvdp__dchi_scratch *scratch) {
    for (int i = 0; i < NVDP__SCRATCH_BLOCKS; i++)
        free(scratch->block[i].at);
    nvdp__bf16_free(scratch->integers);
    nvdp__coarse_release(&scratch->coarse);
    *scratch = (struct nvdp__dchi_scratch){0};
}
