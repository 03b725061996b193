/* Checks single rows of z of a shared file (verify.h): lengths that the stated noise does not give, rows of zeros, equal rows.
 *
 * The noise of a row has p independent Gaussian numbers whose variances lie between v and V, and its mean has norm at
 * most r. An honest file fails with probability below NVDP__ROW_ALARM: each of the four tests, over all R rows, has a
 * quarter of it.
 *
 * Short rows.  By Anderson's inequality, |mean + noise| is at most s with probability at most P(v chi^2_p <= s^2), and
 * Chernoff's bound is
 *
 *     P(chi^2_p <= p t) <= exp(p/2 (1 - t + ln t)),   t < 1.
 *
 * Long rows.  With probability at least 1 - e^-x (Birge 2001, Lemma 8.1, whose proof bounds moments that rise with V)
 *
 *     |row|^2 <= V (p + l + 2 sqrt((p + 2 l) x) + 2 x),   l = r^2 / V.
 *
 * Cells.  A coordinate's density is at most 1 / sqrt(2 pi v), so a row is rounded to a given point of the grid, whose
 * cells have widths h_i, with probability at most
 *
 *     q = prod_i min(1, h_i / sqrt(2 pi v)).
 *
 * A row of zeros is a fault if R q is small enough, and two equal rows if R^2 q / 2 is: P(two rows at points with
 * q <= c are equal) <= sum over these points of P_1 P_2 <= c. */
#include "share/verify.h"

#include "mechanism/method.h"

#include <float.h>
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

static double square_of(size_t dim, const float *row) {
    double sum = 0;
    for (size_t d = 0; d < dim; d++)
        sum += (double)row[d] * (double)row[d];
    return sum;
}

/* --- the law of a row --- */

/* Returns the largest distance between a row and its rounded form of this norm. */
static double rounding(const struct nvdp__row_law *law, double norm) {
    const double p = (double)law->dim;
    return law->step > 0 ? law->step / 2 * sqrt(p) : 0x1p-11 * norm * 1.01 + 0x1p-25 * sqrt(p);
}

/* Returns the logarithm of the probability that each of four tests may have per row. */
static double log_alarm(const struct nvdp__row_law *law) {
    return log(law->alarm / 4) - log(fmax(law->rows, 1));
}

bool nvdp__row_too_short(const struct nvdp__row_law *law, double square) {
    const double p = (double)law->dim, norm = sqrt(square) + rounding(law, sqrt(square)),
                 t = norm * norm / (law->variance_min * p);
    return law->variance_min > 0 && t < 1 && p / 2 * (1 - t + log(t)) < log_alarm(law);
}

bool nvdp__row_too_long(const struct nvdp__row_law *law, double square) {
    const double p = (double)law->dim, most = law->variance_max, x = -log_alarm(law),
                 l = law->radius * law->radius / most,
                 norm = fmax(sqrt(square) - rounding(law, sqrt(square)), 0);
    return isfinite(most) && isfinite(law->radius) &&
           norm * norm > most * (p + l + 2 * sqrt((p + 2 * l) * x) + 2 * x);
}

/* Returns an upper bound on the logarithm of the probability that a row is rounded to `row`. */
static double log_cell(const struct nvdp__row_law *law, const float *row) {
    const double scale = sqrt(2 * M_PI * law->variance_min);
    double sum = 0;
    for (size_t d = 0; d < law->dim; d++) {
        const double size = fabs((double)row[d]);
        const double width = law->step > 0 ? law->step : fmax(0x1p-10 * size, 0x1p-24);
        if (size < law->limit) sum += fmin(0, log(width / scale)); /* beyond, all values are one */
    }
    return sum;
}

bool nvdp__row_is_fault(const struct nvdp__row_law *law, const float *row, bool pair) {
    const double choices = pair ? log(fmax(law->rows, 1) / 2) : 0;
    return law->variance_min > 0 && log_cell(law, row) + choices < log_alarm(law);
}

/* Takes the law from the limits that the file states.  The rows of prior and padding, with weights, have variance 1. */
static struct nvdp__row_law law_of(const struct nvdp__verify *v) {
    const struct nvdp_limits *limits = &v->facts.limits;
    const bool others = nvdp__method_row(v->info.method)->block;
    struct nvdp__row_law law = {.dim = v->held->shape.dim,
                                .rows = (double)v->held->shape.rows,
                                .radius = fmin(limits->clip_sequence, limits->clip_mu),
                                .variance_min = exp(limits->logvar_min),
                                .variance_max = exp(limits->logvar_max),
                                .step = nvdp__verify_is_whole(v) ? v->held->z_step : 0,
                                .limit = 65504,
                                .alarm = NVDP__ROW_ALARM};
    if (law.step > 0) law.limit = ldexp(v->grids.z.limit, v->held->shape.z_exponent);
    if (others) {
        law.variance_min = fmin(law.variance_min, 1);
        law.variance_max = fmax(law.variance_max, 1);
    }
    return law;
}

/* --- the pass over the file --- */

void nvdp__verify_sum(size_t count, const float *values, void *user) {
    struct nvdp__verify *v = user;
    struct nvdp__rows *rows = &v->rows;
    const size_t dim = v->release.shape.dim;
    if (rows->key == NULL) {
        rows->key = nvdp__calloc(v->ctx, v->release.shape.rows, sizeof *rows->key);
        if (rows->key == NULL) v->status = NVDP_ERR_MEMORY;
        randombytes_buf(rows->secret, sizeof rows->secret);
        rows->shortest = INFINITY;
    }
    for (size_t i = 0; i + dim <= count && rows->key != NULL; i += dim) {
        const float *row = values + i;
        const double square = square_of(dim, row);
        unsigned char hash[crypto_shorthash_BYTES];
        for (size_t d = 0; d < dim; d++)
            v->largest = fmax(v->largest, fabs((double)row[d]));
        v->square += square;
        if (square < rows->shortest) {
            rows->shortest = square;
            rows->shortest_row = rows->count;
        }
        if (square > rows->longest) {
            rows->longest = square;
            rows->longest_row = rows->count;
        }
        (void)crypto_shorthash(hash, (const unsigned char *)row, dim * sizeof *row, rows->secret);
        memcpy(&rows->key[rows->count].hash, hash, sizeof hash);
        rows->key[rows->count].row = rows->count;
        rows->count++;
    }
}

/* --- equal rows --- */

static int by_hash(const void *a, const void *b) {
    const struct nvdp__row_key *p = a, *q = b;
    if (p->hash != q->hash) return p->hash < q->hash ? -1 : 1;
    return p->row < q->row ? -1 : p->row > q->row;
}

/* Reads a row of the file: steps in int32_t, or float. */
static nvdp_status read_row(struct nvdp__verify *v, size_t row, void *buffer, void *out) {
    const size_t unit = nvdp__row_vectors(&v->held->shape), dim = v->held->shape.dim;
    NVDP_TRY(v->release.format->rows(&v->release, row - row % unit, unit, buffer, NULL));
    memcpy(out, (const char *)buffer + row % unit * dim * sizeof(float), dim * sizeof(float));
    return NVDP_OK;
}

/* Finds two equal rows that are a fault.  Rows of one hash are compared themselves. */
static nvdp_status find_equal(struct nvdp__verify *v, const struct nvdp__row_law *law, bool *found,
                              size_t pair[2]) {
    const size_t dim = v->held->shape.dim, unit = nvdp__row_vectors(&v->held->shape);
    struct nvdp__rows *rows = &v->rows;
    nvdp__autofree void *buffer = NULL;
    nvdp__autofree float *values = NULL;
    nvdp__autofree unsigned char *one = NULL, *two = NULL;
    NVDP_TRY(NVDP__NEW(v->ctx, one, dim * sizeof(float)));
    NVDP_TRY(NVDP__NEW(v->ctx, two, dim * sizeof(float)));
    NVDP_TRY(NVDP__NEW(v->ctx, values, dim));
    buffer = nvdp__calloc(v->ctx, unit * dim, sizeof(float));
    NVDP_TRY(NVDP__MADE(buffer));
    if (rows->count > 1) qsort(rows->key, rows->count, sizeof *rows->key, by_hash);
    for (size_t i = 1; i < rows->count && !*found; i++) {
        if (rows->key[i].hash != rows->key[i - 1].hash) continue;
        NVDP_TRY(read_row(v, rows->key[i - 1].row, buffer, one));
        NVDP_TRY(read_row(v, rows->key[i].row, buffer, two));
        if (memcmp(one, two, dim * sizeof(float)) != 0) continue;
        for (size_t d = 0; d < dim; d++) {
            int32_t step;
            memcpy(&step, one + d * sizeof step, sizeof step);
            memcpy(&values[d], one + d * sizeof *values, sizeof *values);
            if (law->step > 0) values[d] = (float)(step * law->step);
        }
        *found = nvdp__row_is_fault(law, values, true);
        pair[0] = rows->key[i - 1].row;
        pair[1] = rows->key[i].row;
    }
    return NVDP_OK;
}

/* --- the check --- */

nvdp_status nvdp__verify_rows(struct nvdp__verify *v) {
    static const char what[] = "every row has noise of its own, of the stated size";
    const struct nvdp__row_law law = law_of(v);
    const struct nvdp__rows *rows = &v->rows;
    bool equal = false;
    size_t pair[2] = {0};
    nvdp__autofree float *zeros = NULL;
    NVDP_TRY(NVDP__NEW(v->ctx, zeros, law.dim));
    if (!(law.variance_min > 0)) {
        nvdp__verify_check(v, NVDP_VERDICT_OPEN, what,
                           "the file states no lower bound of the noise");
        return NVDP_OK;
    }
    NVDP_TRY(find_equal(v, &law, &equal, pair));
    if (rows->shortest == 0 && nvdp__row_is_fault(&law, zeros, false))
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "row %zu, counted from 0, is zero",
                           rows->shortest_row);
    else if (equal)
        nvdp__verify_check(v, NVDP_VERDICT_NO, what, "rows %zu and %zu, counted from 0, are equal",
                           pair[0], pair[1]);
    else if (nvdp__row_too_short(&law, rows->shortest))
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "row %zu, counted from 0, is too short: mean square %.4g",
                           rows->shortest_row, rows->shortest / (double)law.dim);
    else if (nvdp__row_too_long(&law, rows->longest))
        nvdp__verify_check(v, NVDP_VERDICT_NO, what,
                           "row %zu, counted from 0, is too long: mean square %.4g",
                           rows->longest_row, rows->longest / (double)law.dim);
    else
        nvdp__verify_check(v, NVDP_VERDICT_YES, what,
                           "mean squares of single rows from %.4g to %.4g; no two rows are equal",
                           rows->shortest / (double)law.dim, rows->longest / (double)law.dim);
    return NVDP_OK;
}
