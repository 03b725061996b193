/* The words of a text, read off the mean vector of its sample (invert.h): ridge regression of the number of each piece,
 *
 *     E n_k  =  r_k + U_k (x - m),     U  =  N'X (X'X + l tr(X'X)/p I)^-1,
 *
 * with X the centered mean vectors of the public texts, N the centered numbers of their pieces, and the penalty l that
 * fits held-out public texts best.  It needs no training, and far fewer pairs than the language model.  Texts with
 * similar vectors tell more: their numbers, and what the map says about the difference,
 *
 *     E n_k  =  sum_i w_i (n_ik + U_k (x - x_i)),     w_i  ~  exp(-|x - x_i|^2 / (2 p h)),
 *
 * with the width h that fits held-out public texts best.  An infinite one gives the regression. */
#include "attack/invert.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

/* texts that are compared with each sample */
enum { MAX_TEXTS = 100000 };
static const double PENALTIES[] = {1e-2, 1e-1, 1, 10, 1e4};
static const double WIDTHS[] = {INFINITY, .5, .2, .1, .05, .02};
static const double LEAST_WEIGHT = 1e-4; /* of the nearest text's one */

nvdp_status nvdp__piece_reader_create(struct nvdp_context *ctx, size_t inputs, size_t pieces,
                                      const struct nvdp_dataset *known,
                                      struct nvdp__piece_reader *out) {
    *out = (struct nvdp__piece_reader){.inputs = inputs, .pieces = pieces, .known = known};
    out->texts = nvdp__min(known->count, MAX_TEXTS);
    NVDP_TRY(NVDP__NEW(ctx, out->vector, out->texts * inputs));
    NVDP_TRY(NVDP__NEW(ctx, out->between, inputs));
    NVDP_TRY(NVDP__NEW(ctx, out->near, out->texts));
    NVDP_TRY(NVDP__NEW(ctx, out->map, pieces * inputs));
    NVDP_TRY(NVDP__NEW(ctx, out->rate, pieces));
    NVDP_TRY(NVDP__NEW(ctx, out->mean, inputs));
    NVDP_TRY(NVDP__NEW(ctx, out->gram, 2 * inputs * inputs));
    return NVDP__NEW(ctx, out->product, 2 * pieces * inputs);
}

void nvdp__piece_reader_release(struct nvdp__piece_reader *r) {
    free(r->map);
    free(r->rate);
    free(r->mean);
    free(r->gram);
    free(r->product);
    free(r->vector);
    free(r->between);
    free(r->near);
    *r = (struct nvdp__piece_reader){0};
}

void nvdp__piece_reader_read(const struct nvdp__piece_reader *r, size_t n, const float *x,
                             float *out) {
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)n, (int)r->pieces, (int)r->inputs, 1,
                x, (int)r->inputs, r->map, (int)r->inputs, 0, out, (int)r->pieces);
}

/* --- texts with similar vectors --- */

static int by_distance(const void *a, const void *b) {
    const struct nvdp__near *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

void nvdp__piece_reader_compare(struct nvdp__piece_reader *r, const float *x) {
    for (size_t i = 0; i < r->texts; i++) {
        const float *of = r->vector + i * r->inputs;
        double sum = 0;
        for (size_t d = 0; d < r->inputs; d++)
            sum += (double)((x[d] - of[d]) * (x[d] - of[d]));
        r->near[i] = (struct nvdp__near){.distance = sum / (double)r->inputs, .text = i};
    }
    qsort(r->near, r->texts, sizeof *r->near, by_distance);
}

/* Sets the weights of texts; returns how many are not 0. */
static size_t weigh(struct nvdp__piece_reader *r) {
    double sum = 0;
    size_t n = 0;
    for (; n < r->texts; n++) {
        struct nvdp__near *one = &r->near[n];
        one->weight = exp((r->near->distance - one->distance) / (2 * r->width));
        if (one->weight < LEAST_WEIGHT) break;
        sum += one->weight;
    }
    for (size_t k = 0; k < n; k++)
        r->near[k].weight /= sum;
    return n;
}

void nvdp__piece_reader_expect(struct nvdp__piece_reader *r, const float *x, float *read) {
    const bool all = isinf(r->width);
    const size_t n = all ? 0 : weigh(r);
    memcpy(r->between, x, r->inputs * sizeof *x);
    for (size_t k = 0; k < n; k++)
        cblas_saxpy((int)r->inputs, -(float)r->near[k].weight,
                    r->vector + r->near[k].text * r->inputs, 1, r->between, 1);
    nvdp__piece_reader_read(r, 1, r->between, read);
    for (size_t k = 0; all && k < r->pieces; k++)
        read[k] += (float)r->rate[k];
    for (size_t k = 0; k < n; k++) {
        const size_t *offset = r->known->offset + r->near[k].text;
        for (size_t at = offset[0] + 1; at + 1 < offset[1]; at++)
            read[r->known->ids[at]] += (float)r->near[k].weight;
    }
}

void nvdp__piece_reader_tell(struct nvdp__piece_reader *r, float *x, float *read) {
    for (size_t d = 0; d < r->inputs; d++)
        x[d] -= (float)r->mean[d];
    nvdp__piece_reader_compare(r, x);
    nvdp__piece_reader_expect(r, x, read);
}

/* --- the map --- */

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
        if (i < r->texts) memcpy(r->vector + i * p, x, p * sizeof *x);
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
    for (size_t k = 0; k < r->texts * p; k++)
        r->vector[k] -= (float)r->mean[k % p];
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

/* Returns the squared error of the numbers for held-out text h, but for a term that does not depend on them. */
static double error_of(const struct nvdp__inverter *v, size_t h, const float *read) {
    const size_t *offset = v->known->offset + v->known->count - v->held + h;
    double sum = 0;
    for (size_t k = 0; k < v->reader.pieces; k++)
        sum += (double)read[k] * (double)read[k];
    for (size_t k = offset[0] + 1; k + 1 < offset[1]; k++)
        sum -= 2 * (double)read[v->known->ids[k]];
    return sum;
}

/* Returns the errors of the map for all held-out texts. */
static double error_of_map(struct nvdp__inverter *v, const float *x, float *read) {
    double sum = 0;
    v->reader.width = INFINITY;
    for (size_t h = 0; h < v->held; h++) {
        nvdp__piece_reader_expect(&v->reader, x + h * v->reader.inputs, read);
        sum += error_of(v, h, read);
    }
    return sum;
}

/* Chooses the width of the kernel. */
static nvdp_status choose_width(struct nvdp__inverter *v, const float *x, float *read) {
    enum { COUNT = sizeof WIDTHS / sizeof *WIDTHS };
    struct nvdp__piece_reader *r = &v->reader;
    double error[COUNT] = {0};
    size_t best = 0;
    for (size_t h = 0; h < v->held; h++) {
        nvdp__piece_reader_compare(r, x + h * r->inputs);
        for (size_t k = 0; k < COUNT; k++) {
            r->width = WIDTHS[k];
            nvdp__piece_reader_expect(r, x + h * r->inputs, read);
            error[k] += error_of(v, h, read);
        }
        NVDP_TRY(nvdp__check_cancelled(v->attack->ctx, "attack: cancelled"));
    }
    for (size_t k = 1; k < COUNT; k++)
        if (error[k] < error[best]) best = k;
    r->width = WIDTHS[best];
    return NVDP_OK;
}

nvdp_status nvdp__piece_reader_fit(struct nvdp__inverter *v, const struct nvdp__sight *sight) {
    struct nvdp_context *ctx = v->attack->ctx;
    struct nvdp__piece_reader *r = &v->reader;
    const size_t n = v->known->count - v->held, p = r->inputs;
    nvdp__autofree float *x = NULL, *read = NULL;
    nvdp__autofree double *wide = NULL;
    double best = INFINITY, penalty = 0;
    NVDP_TRY(NVDP__NEW(ctx, x, nvdp__max(v->held, 1) * p));
    NVDP_TRY(NVDP__NEW(ctx, read, r->pieces));
    NVDP_TRY(NVDP__NEW(ctx, wide, p));
    r->texts = nvdp__min(n, MAX_TEXTS);
    sum_up(v, sight, n, x, wide);
    for (size_t h = 0; h < v->held; h++) {
        nvdp__inverter_mean(v, sight, n + h, x + h * p);
        for (size_t d = 0; d < p; d++)
            x[h * p + d] -= (float)r->mean[d];
    }
    for (size_t k = 0; k < sizeof PENALTIES / sizeof *PENALTIES; k++) {
        if (!solve(r, PENALTIES[k])) continue;
        const double found = error_of_map(v, x, read);
        NVDP_TRY(nvdp__check_cancelled(ctx, "attack: cancelled"));
        if (!(found < best)) continue;
        best = found;
        penalty = PENALTIES[k];
    }
    if (!isfinite(best) || !solve(r, penalty))
        return nvdp__fail(ctx, NVDP_ERR_NUMERIC,
                          "{public}: expected finite samples, from which words can be read");
    return choose_width(v, x, read);
}
