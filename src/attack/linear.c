/* Linear maps of attackers: logistic regression for the attackers of pooled.c, which see one vector per text, and the
 * map of an attacker without the victim's encoder. */
#include "attack/invert.h"
#include "attack/texts.h"
#include "rdp/pairs.h"
#include "tensor/symmetric.h"
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 200, POWER_STEPS = 30 };

void nvdp__logistic_apply(size_t n, size_t width, const double *x, size_t outputs,
                          const double *weight, bool softmax, double *out) {
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)outputs, (int)width, 1, x,
                (int)width, weight, (int)width, 0, out, (int)outputs);
    for (size_t i = 0; i < n; i++) {
        double *row = out + i * outputs, top = -INFINITY, sum = 0;
        for (size_t k = 0; k < outputs; k++) {
            top = fmax(top, row[k]);
            if (!softmax) row[k] = 1 / (1 + exp(-row[k]));
        }
        for (size_t k = 0; k < outputs && softmax; k++)
            sum += row[k] = exp(row[k] - top);
        for (size_t k = 0; k < outputs && softmax; k++)
            row[k] /= sum;
    }
}

double nvdp__logistic_loss(size_t n, size_t outputs, const double *p, const double *y,
                           bool softmax) {
    double sum = 0;
    for (size_t i = 0; i < n * outputs; i++) {
        if (y[i] > 0) sum -= y[i] * log(fmax(p[i], 1e-300));
        if (y[i] < 1 && !softmax) sum -= (1 - y[i]) * log(fmax(1 - p[i], 1e-17));
    }
    return sum / (double)n;
}

/* Returns a lower estimate of the largest eigenvalue of x'x / n, by power iteration. */
static double largest(size_t n, size_t width, const double *x, double *v, double *xv) {
    double value = 1;
    for (size_t d = 0; d < width; d++)
        v[d] = 1 + (double)(d % 7);
    for (int k = 0; k < POWER_STEPS; k++) {
        cblas_dscal((int)width, 1 / cblas_dnrm2((int)width, v, 1), v, 1);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n, (int)width, 1, x, (int)width, v, 1, 0, xv,
                    1);
        value = cblas_ddot((int)n, xv, 1, xv, 1) / (double)n;
        cblas_dgemv(CblasRowMajor, CblasTrans, (int)n, (int)width, 1, x, (int)width, xv, 1, 0, v,
                    1);
    }
    return value;
}

nvdp_status nvdp__logistic_fit(struct nvdp_context *ctx, size_t n, size_t width, const double *x,
                               size_t outputs, const double *y, bool softmax, double l2,
                               double *weight) {
    nvdp__autofree double *p = NULL, *ahead = NULL, *gradient = NULL, *before = NULL;
    const size_t size = outputs * width;
    double momentum = 1;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(p, nvdp__max(n * outputs, n + width)),
                          NVDP__ITEMS(ahead, size), NVDP__ITEMS(gradient, size),
                          NVDP__ITEMS(before, size)));
    const double step = 1 / (1.1 * (softmax ? 0.5 : 0.25) * largest(n, width, x, p + n, p) + l2);
    memset(weight, 0, size * sizeof *weight);
    for (int k = 0; k < STEPS; k++) {
        NVDP_TRY(nvdp__check_cancelled(ctx, "attack: cancelled"));
        nvdp__logistic_apply(n, width, x, outputs, ahead, softmax, p);
        cblas_daxpy((int)(n * outputs), -1, y, 1, p, 1);
        cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)outputs, (int)width, (int)n,
                    1 / (double)n, p, (int)outputs, x, (int)width, 0, gradient, (int)width);
        const double next = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        for (size_t i = 0; i < size; i++) {
            const bool bias = i % width == width - 1;
            before[i] = weight[i];
            weight[i] = ahead[i] - step * (gradient[i] + (bias ? 0 : l2 * ahead[i]));
            ahead[i] = weight[i] + (momentum - 1) / next * (weight[i] - before[i]);
        }
        momentum = next;
    }
    return NVDP_OK;
}

/* ---- an alignment of two encoders ---- */

/* The attacker without the victim's encoder (invert.h).  This attacker has another encoder, and a few pairs of texts
 * and samples.  From the pairs, it learns a linear map from samples to vectors of its encoder, by ridge regression,
 *
 *     W  =  (F'F + l tr(F'F)/p I)^-1 F'S,
 *
 * with F the centered mean vectors of the samples, S the centered vectors of the attacker's encoder, and the penalty l
 * that fits a held-out fifth of the pairs best.  The attacker's model learns public texts from vectors of this encoder,
 * with Gaussian noise like the map's error on the held-out pairs, and reads mapped samples. */

enum { HELD_OUT = 5 };
static const double PENALTIES[] = {1e-3, 1e-2, 1e-1, 1, 10};

nvdp_status nvdp__alignment_create(struct nvdp_context *ctx, struct nvdp__memory *memory,
                                   size_t pairs, size_t from, size_t to,
                                   struct nvdp__alignment *out) {
    *out = (struct nvdp__alignment){.pairs = pairs, .from = from, .to = to};
    return NVDP__ARRAYS(ctx, memory, NVDP__ITEMS(out->x, pairs * from),
                        NVDP__ITEMS(out->y, pairs * to), NVDP__ITEMS(out->mean, from + to),
                        NVDP__ITEMS(out->gram, 2 * from * from),
                        NVDP__ITEMS(out->product, from * to), NVDP__ITEMS(out->map, from * to),
                        NVDP__ITEMS(out->error, to), NVDP__ITEMS(out->row, to));
}

bool nvdp__ridge(size_t n, const double *gram, double penalty, bool left, size_t others,
                 const double *product, double *factor, double *map) {
    const size_t rows = left ? n : others, columns = left ? others : n;
    double trace = 0;
    size_t failed;
    memcpy(factor, gram, n * n * sizeof *factor);
    for (size_t d = 0; d < n; d++)
        trace += gram[d * n + d];
    for (size_t d = 0; d < n; d++)
        factor[d * n + d] += fmax(penalty * trace / (double)n, 1e-300);
    if (!nvdp__cholesky(n, factor, &failed)) return false;
    memcpy(map, product, n * others * sizeof *map);
    /* R = L L': divides by L and then by L', or, from the right, in the opposite order. */
    for (int k = 0; k < 2; k++)
        cblas_dtrsm(CblasRowMajor, left ? CblasLeft : CblasRight, CblasLower,
                    (k == 0) == left ? CblasNoTrans : CblasTrans, CblasNonUnit, (int)rows,
                    (int)columns, 1, factor, (int)n, map, (int)columns);
    return true;
}

/* Subtracts the mean of the first `count` rows of x from all rows. */
static void center(size_t rows, size_t count, size_t dim, double *x, double *mean) {
    memset(mean, 0, dim * sizeof *mean);
    for (size_t i = 0; i < count; i++)
        cblas_daxpy((int)dim, 1 / (double)count, x + i * dim, 1, mean, 1);
    for (size_t i = 0; i < rows; i++)
        cblas_daxpy((int)dim, -1, mean, 1, x + i * dim, 1);
}

/* Computes the map for a penalty.  Returns the squared error on the held-out pairs, and sets the mean error per
 * dimension. */
static double fit(struct nvdp__alignment *a, size_t learned, double penalty) {
    const int p = (int)a->from, q = (int)a->to;
    double sum = 0;
    if (!nvdp__ridge(a->from, a->gram, penalty, true, a->to, a->product,
                     a->gram + a->from * a->from, a->map))
        return INFINITY;
    memset(a->error, 0, a->to * sizeof *a->error);
    for (size_t i = learned; i < a->pairs; i++) {
        memcpy(a->row, a->y + i * a->to, a->to * sizeof *a->row);
        cblas_dgemv(CblasRowMajor, CblasTrans, p, q, -1, a->map, q, a->x + i * a->from, 1, 1,
                    a->row, 1);
        for (size_t d = 0; d < a->to; d++) {
            a->error[d] += a->row[d] * a->row[d] / (double)(a->pairs - learned);
            sum += a->row[d] * a->row[d];
        }
    }
    return sum;
}

nvdp_status nvdp__alignment_fit(struct nvdp_context *ctx, struct nvdp__alignment *a) {
    const size_t learned = a->pairs - a->pairs / HELD_OUT;
    const int p = (int)a->from, q = (int)a->to, n = (int)learned;
    double best = INFINITY, penalty = 0;
    center(a->pairs, learned, a->from, a->x, a->mean);
    center(a->pairs, learned, a->to, a->y, a->mean + a->from);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p, p, n, 1, a->x, p, a->x, p, 0, a->gram,
                p);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, p, q, n, 1, a->x, p, a->y, q, 0,
                a->product, q);
    for (size_t k = 0; k < sizeof PENALTIES / sizeof *PENALTIES; k++) {
        const double found = fit(a, learned, PENALTIES[k]);
        if (!(found < best)) continue;
        best = found;
        penalty = PENALTIES[k];
    }
    if (!isfinite(best) || !isfinite(fit(a, learned, penalty)))
        return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                          "{aligned}: expected finite samples, from which a map can be learned");
    return NVDP_OK;
}

void nvdp__alignment_apply(const struct nvdp__alignment *a, double *x, double *out) {
    cblas_daxpy((int)a->from, -1, a->mean, 1, x, 1);
    memcpy(out, a->mean + a->from, a->to * sizeof *out);
    cblas_dgemv(CblasRowMajor, CblasTrans, (int)a->from, (int)a->to, 1, a->map, (int)a->to, x, 1, 1,
                out, 1);
}
