/* The table of word vectors, and distances to its rows. */
#include "dchi/dchi.h"
#include "tensor/vector.h"

#include <stdlib.h>

nvdp_status nvdp__vectors_adopt(struct nvdp_context *ctx, size_t count, size_t dim, double *rows,
                                struct nvdp_vectors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_vectors *made = NULL;
    for (size_t i = 0; i < count * dim; i++)
        if (!(fabs(rows[i]) <= 1e150)) /* so that its square is finite */
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "word vectors: token %zu, dimension %zu: expected a finite number "
                                "within +-1e150, found %g",
                                i / dim, i % dim, rows[i]));
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    made->count = count;
    made->dim = dim;
    NVDP__HAND_OVER(&made->rows, rows);
    NVDP_TRY(nvdp__vectors_center(ctx, made));
    NVDP__HAND_OVER(out, made);
cleanup:
    free(rows);
    nvdp_vectors_free(made);
    return status;
}

nvdp_status nvdp_vectors_create(struct nvdp_context *ctx, size_t count, size_t dim,
                                const double *values, struct nvdp_vectors **out) {
    double *rows = NULL;
    size_t size;
    if (count < 1 || count > INT32_MAX || dim < 1 || dim > INT32_MAX ||
        !nvdp__mul(count, dim, &size))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "word vectors: expected 1 to %d tokens with 1 to %d dimensions, found "
                          "%zu tokens with %zu dimensions",
                          INT32_MAX, INT32_MAX, count, dim);
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, rows, size));
    memcpy(rows, values, size * sizeof *values);
    return nvdp__vectors_adopt(ctx, count, dim, rows, out);
}

void nvdp_vectors_free(struct nvdp_vectors *vectors) {
    if (vectors == NULL) return;
    free(vectors->rows);
    free(vectors->mean);
    free(vectors->centered);
    free(vectors->norm);
    free(vectors->q);
    free(vectors->step);
    free(vectors->sum);
    free(vectors->half);
    free(vectors->length);
    free(vectors->rest);
    free(vectors);
}

size_t nvdp_vectors_count(const struct nvdp_vectors *vectors) {
    return vectors->count;
}

size_t nvdp_vectors_dim(const struct nvdp_vectors *vectors) {
    return vectors->dim;
}

const double *nvdp_vectors_row(const struct nvdp_vectors *vectors, size_t token) {
    return vectors->rows + token * vectors->dim;
}

/* ---- distances ---- */

NVDP__INLINE double square_distance(size_t dim, const double *a, const double *b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t k = 0; k < dim; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

NVDP__CLONES
static void vectors_distances(size_t count, size_t dim, const double *rows, size_t n,
                              const double *const *a, double *out) {
    for (size_t j = 0; j < count; j++)
        for (size_t i = 0; i < n; i++)
            out[i * count + j] = sqrt(square_distance(dim, a[i], rows + j * dim));
}

void nvdp__vectors_distances(const struct nvdp_vectors *vectors, size_t n, const double *const *a,
                             double *out) {
    vectors_distances(vectors->count, vectors->dim, vectors->rows, n, a, out);
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
