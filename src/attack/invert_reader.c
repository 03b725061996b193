/* The words of a text, read off the mean vector of its sample (invert.h): ridge regression of the number of each piece,
 *
 *     E n_k  =  r_k + U_k (x - m),     U  =  N'X (X'X + l tr(X'X)/p I)^-1,
 *
 * with X the centered mean vectors of the public texts, N the centered numbers of their pieces, and the penalty l that
 * fits held-out public texts best.  It needs no training, and far fewer pairs than the language model. */
#include "attack/invert.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

static const double PENALTIES[] = {1e-2, 1e-1, 1, 10, 1e4};

nvdp_status nvdp__piece_reader_create(struct nvdp_context *ctx, size_t inputs, size_t pieces,
                                      struct nvdp__piece_reader *out) {
    *out = (struct nvdp__piece_reader){.inputs = inputs, .pieces = pieces};
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->map, pieces * inputs));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->rate, pieces));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->mean, inputs));
    NVDP_RETURN_IF_FAILED(NVDP__NEW(ctx, out->gram, 2 * inputs * inputs));
    return NVDP__NEW(ctx, out->product, 2 * pieces * inputs);
}

void nvdp__piece_reader_release(struct nvdp__piece_reader *r) {
    free(r->map);
    free(r->rate);
    free(r->mean);
    free(r->gram);
    free(r->product);
    *r = (struct nvdp__piece_reader){0};
}

void nvdp__piece_reader_read(const struct nvdp__piece_reader *r, size_t n, const float *x,
                             float *out) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)r->pieces, (int)r->inputs, 1,
                x, (int)r->inputs, r->map, (int)r->inputs, 0, out, (int)r->pieces);
}

/* Sums the vectors' products with each other and with the numbers of pieces. */
static void sum_up(struct nvdp__inverter *v, const struct nvdp__sight *sight, size_t n, float *x,
                   double *wide) {
    struct nvdp__piece_reader *r = &v->reader;
    const size_t p = r->inputs;
    memset(r->gram, 0, p * p * sizeof *r->gram);
    memset(r->product, 0, r->pieces * p * sizeof *r->product);
    memset(r->mean, 0, p * sizeof *r->mean);
    memset(r->rate, 0, r->pieces * sizeof *r->rate);
    for (size_t i = 0; i < n; i++) {
        nvdp__inverter_mean(v, sight, i, x);
        for (size_t d = 0; d < p; d++)
            r->mean[d] += wide[d] = (double)x[d];
        cblas_dsyr(CblasRowMajor, CblasLower, (int)p, 1, wide, 1, r->gram, (int)p);
        const size_t end = v->known->offset[i + 1] - 1;
        for (size_t k = v->known->offset[i] + 1; k < end; k++) {
            const size_t piece = (size_t)v->known->ids[k];
            cblas_daxpy((int)p, 1, wide, 1, r->product + piece * p, 1);
            r->rate[piece]++;
        }
    }
    for (size_t d = 0; d < p; d++)
        r->mean[d] /= (double)n;
    cblas_dsyr(CblasRowMajor, CblasLower, (int)p, -(double)n, r->mean, 1, r->gram, (int)p);
    cblas_dger(CblasRowMajor, (int)r->pieces, (int)p, -1, r->rate, 1, r->mean, 1, r->product,
               (int)p);
    for (size_t k = 0; k < r->pieces; k++)
        r->rate[k] /= (double)n;
    r->least = .5 / (double)n;
}

/* Sets the map for a penalty. */
static bool solve(struct nvdp__piece_reader *r, double penalty) {
    const int p = (int)r->inputs, pieces = (int)r->pieces;
    double *factor = r->gram + r->inputs * r->inputs;
    double *map = r->product + r->pieces * r->inputs;
    memcpy(map, r->product, r->pieces * r->inputs * sizeof *map);
    if (!nvdp__ridge_factor(r->inputs, r->gram, penalty, factor)) return false;
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, pieces, p, 1,
                factor, p, map, p);
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasNoTrans, CblasNonUnit, pieces, p, 1,
                factor, p, map, p);
    for (size_t k = 0; k < r->pieces * r->inputs; k++)
        r->map[k] = (float)map[k];
    return true;
}

/* Returns the squared error on the held-out texts, but for a term that does not depend on the map. */
static double error_of(const struct nvdp__inverter *v, const float *x, float *read) {
    const struct nvdp__piece_reader *r = &v->reader;
    double sum = 0;
    nvdp__piece_reader_read(r, v->held, x, read);
    for (size_t k = 0; k < v->held * r->pieces; k++)
        sum += ((double)read[k] + 2 * r->rate[k % r->pieces]) * (double)read[k];
    for (size_t h = 0, i = v->known->count - v->held; h < v->held; h++, i++) {
        const size_t end = v->known->offset[i + 1] - 1;
        for (size_t k = v->known->offset[i] + 1; k < end; k++)
            sum -= 2 * (double)read[h * r->pieces + (size_t)v->known->ids[k]];
    }
    return sum;
}

nvdp_status nvdp__piece_reader_fit(struct nvdp__inverter *v, const struct nvdp__sight *sight) {
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = v->attack->ctx;
    struct nvdp__piece_reader *r = &v->reader;
    const size_t n = v->known->count - v->held, p = r->inputs;
    float *x = NULL, *read = NULL;
    double *wide = NULL, best = INFINITY, penalty = 0;
    NVDP_TRY(NVDP__NEW(ctx, x, nvdp__max(v->held, 1) * p));
    NVDP_TRY(NVDP__NEW(ctx, read, nvdp__max(v->held, 1) * r->pieces));
    NVDP_TRY(NVDP__NEW(ctx, wide, p));
    sum_up(v, sight, n, x, wide);
    for (size_t h = 0; h < v->held; h++) {
        nvdp__inverter_mean(v, sight, n + h, x + h * p);
        for (size_t d = 0; d < p; d++)
            x[h * p + d] -= (float)r->mean[d];
    }
    for (size_t k = 0; k < sizeof PENALTIES / sizeof *PENALTIES; k++) {
        if (!solve(r, PENALTIES[k])) continue;
        const double found = error_of(v, x, read);
        NVDP_TRY(nvdp__check_cancelled(ctx, "attack: cancelled"));
        if (!(found < best)) continue;
        best = found;
        penalty = PENALTIES[k];
    }
    if (!isfinite(best) || !solve(r, penalty))
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                            "public: expected finite samples, from which words can be read"));
cleanup:
    free(x);
    free(read);
    free(wide);
    return status;
}
