/* Draws the samples of a release, for exports and measurements: first in double, then exactly on fixed grids.  Read
 * sampler.h first. */
#include "share/sampler.h"
#include "rdp/pairs.h"

#include "base/f16.h"
#include "base/own.h"
#include "nvib/nvib.h"
#include "rdp/likelihood.h"
#include <math.h>
#include <stdlib.h>

enum { BLOCK_NORMALS = 8 }; /* normals in one block of a stream */

static size_t row_count(const struct nvdp_posteriors *posteriors, size_t i) {
    return posteriors->offset[i + 1] - posteriors->offset[i];
}

/* Draws z = mu + exp(logvar/2) eps, eps ~ N(0, I); the prior and padding have mu 0, logvar 0.  As in the mechanism,
 * every row starts at a new block. */
static void draw_vectors(const struct nvdp__sampler *sampler, size_t i, uint64_t key, size_t rows,
                         double *z) {
    const struct nvdp_posteriors *posteriors = sampler->posteriors;
    struct nvdp__form form = nvdp__form_of_posteriors(posteriors);
    size_t dim = posteriors->dim, blocks = (dim + BLOCK_NORMALS - 1) / BLOCK_NORMALS;
    struct nvdp__stream stream =
        nvdp__stream_open(&sampler->noise, NVDP__PURPOSE_EVAL_GAUSS, sampler->sample, key);
    for (size_t r = 0; r < rows; r++) {
        double *row = z + r * dim;
        nvdp__stream_seek(&stream, (uint32_t)(r * blocks));
        nvdp__stream_normals_f64(&stream, dim, row);
        int64_t source = nvdp__form_source(&form, row_count(posteriors, i), r);
        if (source < 0) continue;
        size_t at = (posteriors->offset[i] + (size_t)source) * dim;
        const double *mu = posteriors->mu + at, *logvar = posteriors->logvar + at;
        for (size_t d = 0; d < dim; d++) {
            row[d] = mu[d] + exp(0.5 * logvar[d]) * row[d];
        }
    }
}

static double pseudo_count(const struct nvdp_posteriors *posteriors, size_t i, size_t r) {
    struct nvdp__form form = nvdp__form_of_posteriors(posteriors);
    int64_t source = nvdp__form_source(&form, row_count(posteriors, i), r);
    double alpha = source >= 0 ? posteriors->alpha[posteriors->offset[i] + (size_t)source]
                               : nvdp__form_alpha(&form, source);
    return alpha / form.kappa;
}

/* Draws pi = g / sum g, g_r ~ Gamma(a_r / kappa, 1), in log space so that no weight is exactly zero. */
static void draw_weights(const struct nvdp__sampler *sampler, size_t i, uint64_t key, size_t rows,
                         double *log_pi) {
    struct nvdp__stream stream =
        nvdp__stream_open(&sampler->noise, NVDP__PURPOSE_EVAL_GAMMA, sampler->sample, key);
    for (size_t r = 0; r < rows; r++)
        log_pi[r] = nvdp__gamma_log_draw(&stream, pseudo_count(sampler->posteriors, i, r));
    const double total = nvdp__log_sum(rows, log_pi);
    for (size_t r = 0; r < rows; r++)
        log_pi[r] -= total;
}

void nvdp__sampler_draw(const struct nvdp__sampler *sampler, size_t i, uint64_t key, size_t vectors,
                        double *z, double *log_pi) {
    size_t rows = nvdp__release_rows(sampler->posteriors, i);
    draw_vectors(sampler, i, key, nvdp__min(vectors, rows), z);
    if (sampler->posteriors->alpha != NULL) draw_weights(sampler, i, key, rows, log_pi);
}

void nvdp__round_f16(size_t n, const double *values, double high, float *out) {
    for (size_t i = 0; i < n; i++) {
        const double near = fmin(fmax(values[i], -NVDP__LARGEST_F16), high);
        out[i] = nvdp__f16_to_float(nvdp__f16_from_float((float)near));
    }
}

/* --- exact samples on fixed grids --- */

/* More than the rounding error of a norm of 2^21 values. */
static const double CLIP_MARGIN = 0x1p-30;

struct nvdp__release_grids nvdp__release_grids(double clip_sequence) {
    bool clipped =
        clip_sequence > 0 &&
        clip_sequence <= 16; /* leaves at least 16 standard deviations to the end of the grid */
    return (struct nvdp__release_grids){
        .type = clipped ? NVDP__H5_I16 : NVDP__H5_I32,
        .z = clipped ? (struct nvdp__rounding_grid){-10, INT16_MAX}
                     : (struct nvdp__rounding_grid){-12, INT32_MAX},
        .log_pi = {-8, INT16_MAX},
    };
}

static nvdp_status check_deviation(struct nvdp_context *ctx,
                                   const struct nvdp__release_grids *grids, double logvar) {
    const double sigma = exp(0.5 * logvar);
    if (nvdp__grid_takes(&grids->z, sigma)) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "grid fixed: expected standard deviations from %g to %g, found %g; use grid float16",
        ldexp(1, grids->z.exponent - NVDP__GRID_RANGE),
        ldexp(1, grids->z.exponent + NVDP__GRID_RANGE), sigma);
}

static nvdp_status check_total(struct nvdp_context *ctx, double total) {
    if (nvdp__release_takes(1, &total)) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "grid fixed: expected pseudo-counts with a sum of at most 2^20, found %g; use grid float16",
        total);
}

nvdp_status nvdp__release_fits_limits(struct nvdp_context *ctx, const struct nvdp_limits *limits,
                                      const struct nvdp__release_grids *grids) {
    NVDP_TRY(check_deviation(ctx, grids, limits->logvar_min));
    if (isfinite(
            limits
                ->logvar_max)) /* otherwise, the theorem requires variances that no text changes */
        NVDP_TRY(check_deviation(ctx, grids, limits->logvar_max));
    const double largest = fmax(limits->alpha_max, limits->pad_alpha);
    return limits->weights ? check_total(ctx, limits->prior_alpha + largest * (double)limits->rows)
                           : NVDP_OK;
}

nvdp_status nvdp__release_fits(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                               const struct nvdp__release_grids *grids) {
    for (size_t i = 0; i < posteriors->texts; i++) {
        size_t first = posteriors->offset[i] * posteriors->dim;
        size_t end = posteriors->offset[i + 1] * posteriors->dim;
        for (size_t k = first; k < end; k++)
            NVDP_TRY(check_deviation(ctx, grids, posteriors->logvar[k]));
        double total = posteriors->prior_alpha + posteriors->pad_alpha * (double)posteriors->length;
        for (size_t r = posteriors->offset[i];
             posteriors->alpha != NULL && r < posteriors->offset[i + 1]; r++) {
            total += posteriors->alpha[r];
        }
        if (posteriors->alpha != NULL) NVDP_TRY(check_total(ctx, total));
    }
    return NVDP_OK;
}

double nvdp__release_factor(const struct nvdp_posteriors *posteriors, size_t i) {
    double square = 0;
    if (!(posteriors->clip_sequence > 0)) return 1;
    for (size_t r = posteriors->offset[i]; r < posteriors->offset[i + 1]; r++) {
        /* Sum per row: errors grow with rows plus width, not with rows times width. */
        double sum = 0;
        for (size_t d = 0; d < posteriors->dim; d++) {
            sum +=
                posteriors->mu[r * posteriors->dim + d] * posteriors->mu[r * posteriors->dim + d];
        }
        square += sum;
    }
    double limit = posteriors->clip_sequence * (1 - CLIP_MARGIN);
    return sqrt(square) > limit ? limit / sqrt(square) : 1;
}

size_t nvdp__sampler_bytes(size_t rows, size_t dim) {
    return nvdp__release_scratch(rows) + rows * sizeof(double) +
           dim * (sizeof(int64_t) + sizeof(double));
}

void nvdp__sampler_draw_fixed(const struct nvdp__sampler *sampler,
                              const struct nvdp__release_grids *grids, size_t i, uint64_t key,
                              void *scratch, int32_t *z, int32_t *log_pi) {
    const struct nvdp_posteriors *posteriors = sampler->posteriors;
    struct nvdp__form form = nvdp__form_of_posteriors(posteriors);
    size_t rows = nvdp__release_rows(posteriors, i), dim = posteriors->dim;
    char *after = (char *)scratch + nvdp__release_scratch(rows);
    double *alpha = (double *)(void *)after, *sigma = alpha + rows;
    int64_t *mean = (int64_t *)(void *)(sigma + dim);
    double factor = nvdp__release_factor(posteriors, i);
    bool unit = posteriors->clip_sequence > 0;
    struct nvdp__digits digits;
    struct nvdp__stream stream =
        nvdp__stream_open(&sampler->noise, NVDP__PURPOSE_EXACT, sampler->sample, key);
    nvdp__digits_open(&stream, &digits);
    for (size_t r = 0; r < rows; r++) {
        int64_t source = nvdp__form_source(&form, row_count(posteriors, i), r);
        size_t at = source < 0 ? 0 : (posteriors->offset[i] + (size_t)source) * dim;
        for (size_t d = 0; d < dim; d++) {
            mean[d] = source < 0 ? 0 : nvdp__grid_mean(&grids->z, factor * posteriors->mu[at + d]);
            sigma[d] = source < 0 ? 1 : exp(0.5 * posteriors->logvar[at + d]);
        }
        nvdp__grid_draw(&digits, &grids->z, dim, mean, unit ? NULL : sigma, z + r * dim);
    }
    if (posteriors->alpha != NULL) {
        for (size_t r = 0; r < rows; r++)
            alpha[r] = pseudo_count(posteriors, i, r);
        nvdp__release_weights(&digits, &grids->log_pi, rows, alpha, scratch, log_pi);
    }
    nvdp__digits_wipe(&digits);
}

/* ---- re-identification on a set of posteriors ---- */

enum { TRIALS = 1000 };

void nvdp__linkage_draw(const void *release, size_t i, size_t sample, size_t vectors, double *z,
                        double *log_pi) {
    struct nvdp__sampler one = *(const struct nvdp__sampler *)release;
    one.sample = (uint32_t)sample;
    nvdp__sampler_draw(&one, i, i, vectors, z, log_pi);
}

nvdp_status nvdp_linkage_measure(struct nvdp_context *ctx, const struct nvdp_posteriors *posteriors,
                                 int releases, size_t texts, uint64_t seed,
                                 struct nvdp_linkage *out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *part = NULL;
    struct nvdp_linkage made;
    nvdp__autofree size_t *index = NULL;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp_posteriors_check(ctx, posteriors, ""));
    if (posteriors->texts < 2 || texts == 1 || releases < 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "linkage: expected at least 2 texts and 1 sample per text, found %zu "
                          "of %zu texts and %d samples",
                          texts, posteriors->texts, releases);
    if (texts > 0 && texts < posteriors->texts) {
        NVDP_TRY(NVDP__NEW(ctx, index, texts));
        NVDP_TRY(nvdp__posteriors_draw(ctx, posteriors, texts, seed, index, &part));
    }
    const struct nvdp_posteriors *set = part != NULL ? part : posteriors;
    const struct nvdp__sampler release = {.posteriors = set, .noise = {.seed = seed}};
    const struct nvdp__sample_source source = {nvdp__linkage_draw, &release, -INFINITY};
    NVDP_TRY(
        nvdp__linkage(ctx, set, &source, releases, (TRIALS + set->texts - 1) / set->texts, &made));
    made.of_texts = posteriors->texts;
    return NVDP__GIVE(out, &made);
}
