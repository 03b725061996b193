/* The attacker without the victim's encoder (invert.h): it has an encoder of its own and few pairs of texts and
 * samples.  From the pairs it learns a linear map from samples to its own vectors, by ridge regression,
 *
 *     W  =  (F'F + l tr(F'F)/p I)^-1 F'S,
 *
 * with F the centered mean vectors of the samples, S the centered vectors of its encoder, and the penalty l that fits
 * a fifth of the pairs best, which is held out.  Its model learns public texts from its own vectors, with Gaussian noise
 * of the map's error on the held-out pairs, and reads mapped samples. */
#include "attack/invert.h"
#include "rdp/pairs.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { HELD_OUT = 5 };
static const double PENALTIES[] = {1e-3, 1e-2, 1e-1, 1, 10};

nvdp_status nvdp__alignment_create(struct nvdp_context *ctx, size_t pairs, size_t from, size_t to,
                                   struct nvdp__alignment *out) {
    *out = (struct nvdp__alignment){.pairs = pairs, .from = from, .to = to};
    NVDP_TRY(NVDP__NEW(ctx, out->x, pairs * from));
    NVDP_TRY(NVDP__NEW(ctx, out->y, pairs * to));
    NVDP_TRY(NVDP__NEW(ctx, out->mean, from + to));
    NVDP_TRY(NVDP__NEW(ctx, out->gram, 2 * from * from));
    NVDP_TRY(NVDP__NEW(ctx, out->product, from * to));
    NVDP_TRY(NVDP__NEW(ctx, out->map, 2 * from * to));
    NVDP_TRY(NVDP__NEW(ctx, out->error, 2 * to));
    return NVDP__NEW(ctx, out->row, to);
}

void nvdp__alignment_release(struct nvdp__alignment *a) {
    free(a->x);
    free(a->y);
    free(a->mean);
    free(a->gram);
    free(a->product);
    free(a->map);
    free(a->error);
    free(a->row);
    *a = (struct nvdp__alignment){0};
}

bool nvdp__ridge_factor(size_t n, const double *gram, double penalty, double *factor) {
    double trace = 0;
    size_t failed;
    memcpy(factor, gram, n * n * sizeof *factor);
    for (size_t d = 0; d < n; d++)
        trace += gram[d * n + d];
    for (size_t d = 0; d < n; d++)
        factor[d * n + d] += fmax(penalty * trace / (double)n, 1e-300);
    return nvdp__cholesky(n, factor, &failed);
}

/* Subtracts the mean of the first `count` rows of x from all rows. */
static void center(size_t rows, size_t count, size_t dim, double *x, double *mean) {
    memset(mean, 0, dim * sizeof *mean);
    for (size_t i = 0; i < count; i++)
        cblas_daxpy((int)dim, 1 / (double)count, x + i * dim, 1, mean, 1);
    for (size_t i = 0; i < rows; i++)
        cblas_daxpy((int)dim, -1, mean, 1, x + i * dim, 1);
}

/* Computes a map for a penalty.  Returns the mean squared error on the held-out pairs, by dimension in `error`. */
static double fit(struct nvdp__alignment *a, size_t learned, double penalty, double *map,
                  double *error) {
    const int p = (int)a->from, q = (int)a->to;
    double *factor = a->gram + a->from * a->from, sum = 0;
    if (!nvdp__ridge_factor(a->from, a->gram, penalty, factor)) return INFINITY;
    memcpy(map, a->product, a->from * a->to * sizeof *map);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, p, q, 1, factor,
                p, map, q);
    cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, p, q, 1, factor, p,
                map, q);
    memset(error, 0, a->to * sizeof *error);
    for (size_t i = learned; i < a->pairs; i++) {
        memcpy(a->row, a->y + i * a->to, a->to * sizeof *a->row);
        cblas_dgemv(CblasRowMajor, CblasTrans, p, q, -1, map, q, a->x + i * a->from, 1, 1, a->row,
                    1);
        for (size_t d = 0; d < a->to; d++) {
            error[d] += a->row[d] * a->row[d] / (double)(a->pairs - learned);
            sum += a->row[d] * a->row[d];
        }
    }
    return sum;
}

nvdp_status nvdp__alignment_fit(struct nvdp_context *ctx, struct nvdp__alignment *a) {
    const size_t learned = a->pairs - a->pairs / HELD_OUT;
    const int p = (int)a->from, q = (int)a->to, n = (int)learned;
    double *trial = a->map + a->from * a->to, *error = a->error + a->to, best = INFINITY;
    center(a->pairs, learned, a->from, a->x, a->mean);
    center(a->pairs, learned, a->to, a->y, a->mean + a->from);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p, p, n, 1, a->x, p, a->x, p, 0, a->gram,
                p);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p, q, n, 1, a->x, p, a->y, q, 0,
                a->product, q);
    for (size_t k = 0; k < sizeof PENALTIES / sizeof *PENALTIES; k++) {
        const double found = fit(a, learned, PENALTIES[k], trial, error);
        if (!(found < best)) continue;
        best = found;
        memcpy(a->map, trial, a->from * a->to * sizeof *trial);
        memcpy(a->error, error, a->to * sizeof *error);
    }
    return isfinite(best)
               ? NVDP_OK
               : nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                            "{aligned}: expected finite samples, from which a map can be learned");
}

void nvdp__alignment_apply(const struct nvdp__alignment *a, double *x, double *out) {
    cblas_daxpy((int)a->from, -1, a->mean, 1, x, 1);
    memcpy(out, a->mean + a->from, a->to * sizeof *out);
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)a->from, (int)a->to, 1, a->map, (int)a->to, x, 1, 1,
                out, 1);
}
