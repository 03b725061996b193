/* The matrix of a summary: the plan, exact sums of integers, and the noise. summary.h has the theorems. */
#include "base/array.h"
#include "base/own.h"
#include "summary/summary.h"
#include "tensor/vector.h"

#include <nvdp/rdp.h>

enum {
    MOST_BITS = 20, /* a finer grid of z would not change vectors in float32 */
    LEAST_BITS = 8,
    STEP_BITS = 24, /* the output has at most 2^24 steps, so that float32 holds it exactly */
    TAIL = 16,      /* the output has room for this many standard deviations of the noise */
    MOST_WIDTH = 1 << 15
};
static const double MOST_EPSILON = 1e6;

/* Exceeds the rounding errors of mu and sigma, which take few operations. */
static const double MARGIN = 0x1p-40;

nvdp_status nvdp__summary_plan(struct nvdp_context *ctx, size_t units, size_t dim, size_t answers,
                               double epsilon, double delta, struct nvdp__summary *out) {
    const bool constant = answers < 2;
    const double alpha2 = constant ? .1 : 0, share = answers > 0 ? (1 - alpha2) / 2 : 1 - alpha2;
    if (!(epsilon > 0 && isfinite(epsilon) && delta > 0 && delta < 1))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "summary: expected epsilon above 0 and delta between 0 and 1, found %g and "
            "%g",
            epsilon, delta);
    if (epsilon > MOST_EPSILON)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "summary: expected epsilon of at most %g, found %g", MOST_EPSILON,
                          epsilon);
    if (units < 1 || dim < 1 || dim > MOST_WIDTH || answers > MOST_WIDTH - dim)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "summary: expected at least one row of 1 to %d numbers, found %zu rows of "
            "%zu numbers and %zu answers",
            MOST_WIDTH, units, dim, answers);
    const double mu = nvdp_gdp_mu(epsilon, delta) * (1 - 2 * MARGIN);
    const double sigma = M_SQRT2 / mu * (1 + MARGIN / 4);
    /* the step 2^(32 - 2 bits) of the output leaves room for the sum and its noise */
    const int exponent = ilogb((double)units + TAIL * sigma) + 1 - STEP_BITS;
    const int fit = (NVDP__MEAN_BITS - exponent) / 2; /* negative if there are too many rows */
    const int bits = fit < MOST_BITS ? fit : MOST_BITS;
    *out = (struct nvdp__summary){
        .units = units,
        .dim = dim,
        .answers = answers,
        .alpha = sqrt(alpha2),
        .beta = sqrt(share),
        .tau = answers > 0 ? sqrt(share) : 0,
        .width = constant + dim + answers,
        .bits = bits,
        .sigma = sigma,
        .sigma_off = sigma * M_SQRT1_2 * (1 + MARGIN / 4),
        .grid = {.exponent = NVDP__MEAN_BITS - 2 * bits, .limit = (1 << STEP_BITS) - 1},
    };
    out->mu =
        M_SQRT2 / fmin(out->sigma, M_SQRT2 * out->sigma_off * (1 - MARGIN / 4)) * (1 + MARGIN / 4);
    if (bits >= LEAST_BITS && nvdp__grid_takes(&out->grid, out->sigma_off)) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "summary: %zu rows at epsilon %g and delta %g, with noise of standard deviation "
        "%.3g, are more than the grid of the output holds; choose a larger epsilon, or "
        "fewer rows",
        units, epsilon, delta, sigma);
}

/* Noise per signal that the reader bears; chosen on questions about public texts (docs/summary.md). */
static const double DIRECTIONS = 8;

size_t nvdp__summary_directions(const struct nvdp__summary *plan) {
    const double noise = plan->sigma_off / ((double)plan->units * plan->beta * plan->beta);
    return (size_t)fmin(pow(DIRECTIONS / noise, 2. / 3), MOST_WIDTH);
}

/* Returns the factor that scales a vector to a norm of at most 1. */
static double clip(size_t n, const float *x) {
    double square = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) square += (double)x[i] * (double)x[i];
    return square > 1 ? 1 / sqrt(square) : 1;
}

static void put(size_t n, const float *x, double factor, int32_t *z) {
    for (size_t i = 0; i < n; i++)
        z[i] = isfinite(x[i]) ? (int32_t)(factor * (double)x[i]) : 0;
}

void nvdp__summary_row(const struct nvdp__summary *of, size_t rows, const float *x, const float *y,
                       int32_t *z) {
    const uint64_t square_of_unit = UINT64_C(1) << (2 * of->bits);
    const int64_t most = rows > 0 ? (int64_t)(square_of_unit / rows) : 0;
    const double scale = ldexp(1, of->bits) / sqrt((double)rows);
    const size_t constant = of->alpha > 0;
    if (most == 0) { /* there is no room for a single step */
        memset(z, 0, of->width * sizeof *z);
        return;
    }
    if (constant) z[0] = (int32_t)(of->alpha * scale);
    put(of->dim, x, of->beta * scale * clip(of->dim, x), z + constant);
    if (of->answers > 0)
        put(of->answers, y, of->tau * scale * clip(of->answers, y), z + constant + of->dim);
    /* the rounded factors can give a norm above 1: then the row is shrunk, not refused */
    for (;;) {
        int64_t square = 0;
        for (size_t i = 0; i < of->width; i++)
            square += (int64_t)z[i] * z[i];
        if (square <= most) return;
        const double factor = sqrt((double)most / (double)square) * (1 - MARGIN);
        for (size_t i = 0; i < of->width; i++)
            z[i] = (int32_t)(factor * z[i]);
    }
}

/* --- the sum --- */

enum { GROUP = 4 }; /* number of rows of the matrix that share a pass over the z */

/* Adds to the entries [i, i..D) of the matrix, for the rows i of a group. */
NVDP__CLONES
static void summary_group(size_t count, size_t width, size_t first, size_t group, const int32_t *z,
                          int64_t *const *row) {
    for (size_t r = 0; r < count; r++) {
        const int32_t *of = z + r * width;
        for (size_t g = 0; g < group; g++) {
            const int64_t factor = of[first + g];
            int64_t *to = row[g];
            for (size_t j = first + g; j < width; j++)
                to[j] += factor * of[j];
        }
    }
}

void nvdp__summary_add(const struct nvdp__summary *of, int threads, size_t count, const int32_t *z,
                       int64_t *sum) {
    const size_t width = of->width, groups = (width + GROUP - 1) / GROUP;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t k = 0; k < groups; k++) {
        int64_t *row[GROUP];
        const size_t first = k * GROUP, group = nvdp__min(GROUP, width - first);
        for (size_t g = 0; g < group; g++) { /* row[g][j] is then entry (first + g, j) */
            const size_t i = first + g;
            row[g] = sum + i * width - i * (i + 1) / 2;
        }
        summary_group(count, width, first, group, z, row);
    }
}

/* --- the noise --- */

nvdp_status nvdp__summary_draw(struct nvdp_context *ctx, const struct nvdp__summary *of,
                               const struct nvdp__noise *noise, const int64_t *sum, int32_t *out) {
    const size_t width = of->width;
    struct nvdp__digits digits;
    const struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_SUMMARY, 0, 0);
    nvdp__autofree double *sigma = NULL;
    NVDP_TRY(NVDP__NEW(ctx, sigma, width));
    for (size_t j = 0; j < width; j++)
        sigma[j] = j == 0 ? of->sigma : of->sigma_off;
    nvdp__digits_open(&stream, &digits);
    for (size_t i = 0, at = 0; i < width; at += width - i, i++)
        nvdp__grid_draw(&digits, &of->grid, width - i, sum + at, sigma, out + at);
    nvdp__digits_wipe(&digits);
    return NVDP_OK;
}

/* --- guesses --- */

double nvdp__summary_guess(const struct nvdp__summary *of, size_t answers) {
    const double above = 1 + MARGIN, m = (double)answers, d = (double)of->width;
    if (answers == 1) return 0;
    double square = (1 - 1 / d) / 2;
    if (of->alpha == 0 && of->answers > 1)
        square = fmin(
            square,
            (1 - pow(of->beta, 4) / (double)of->dim - pow(of->tau, 4) / (double)of->answers) / 2);
    if (answers > 0) square = fmin(square, (m - 1) / (2 * m));
    return of->mu * sqrt(square) * above;
}
