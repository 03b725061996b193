#include "share/release.h"

#include "base/f16.h"
#include "nvib/nvib.h"
#include <math.h>

enum { BLOCK_NORMALS = 8 }; /* normals in one block of a stream */
static const double LARGEST_HALF = 65504;

size_t nvdp__release_sample_rows(const struct nvdp_posteriors *posteriors, bool weights,
                                 size_t own) {
    size_t length = posteriors->policy == NVDP_LENGTH_HIDDEN ? posteriors->length : own;
    return weights ? (1 + length) * (size_t)posteriors->kappa : length;
}

size_t nvdp__release_rows(const struct nvdp_posteriors *posteriors, size_t i) {
    return nvdp__release_sample_rows(posteriors, posteriors->alpha != NULL,
                                     posteriors->offset[i + 1] - posteriors->offset[i]);
}

/* The posterior's row behind row r of text i's sample; SIZE_MAX for the prior and for padding. */
static size_t source_row(const struct nvdp_posteriors *posteriors, size_t i, size_t r) {
    size_t own = posteriors->offset[i + 1] - posteriors->offset[i];
    size_t component = r;
    if (posteriors->alpha != NULL) {
        component = r / (size_t)posteriors->kappa;
        if (component == 0) return SIZE_MAX;
        component--;
    }
    return component < own ? posteriors->offset[i] + component : SIZE_MAX;
}

/* z = mu + exp(logvar/2) eps, eps ~ N(0, I); the prior and padding have mu 0, logvar 0.  As in the
 * mechanism every row starts at a block of its own. */
static void draw_vectors(const struct nvdp__release *release, size_t i, uint64_t key, size_t rows,
                         double *z) {
    const struct nvdp_posteriors *posteriors = release->posteriors;
    size_t dim = posteriors->dim;
    size_t blocks = (dim + BLOCK_NORMALS - 1) / BLOCK_NORMALS;
    struct nvdp__stream stream =
        nvdp__stream_open(&release->noise, NVDP__PURPOSE_EVAL_GAUSS, release->sample, key);
    for (size_t r = 0; r < rows; r++) {
        double *row = z + r * dim;
        nvdp__stream_seek(&stream, (uint32_t)(r * blocks));
        nvdp__stream_normals_f64(&stream, dim, row);
        size_t source = source_row(posteriors, i, r);
        if (source == SIZE_MAX) continue;
        const double *mu = posteriors->mu + source * dim;
        const double *logvar = posteriors->logvar + source * dim;
        for (size_t d = 0; d < dim; d++) {
            row[d] = mu[d] + exp(0.5 * logvar[d]) * row[d];
        }
    }
}

static double pseudo_count(const struct nvdp_posteriors *posteriors, size_t i, size_t r) {
    size_t source = source_row(posteriors, i, r);
    double alpha = posteriors->pad_alpha;
    if (r < (size_t)posteriors->kappa) alpha = posteriors->prior_alpha;
    if (source != SIZE_MAX) alpha = posteriors->alpha[source];
    return alpha / posteriors->kappa;
}

/* pi = g / sum g, g_r ~ Gamma(a_r / kappa, 1), in log space: no weight is exactly zero. */
static void draw_weights(const struct nvdp__release *release, size_t i, uint64_t key, size_t rows,
                         double *log_pi) {
    struct nvdp__stream stream =
        nvdp__stream_open(&release->noise, NVDP__PURPOSE_EVAL_GAMMA, release->sample, key);
    double top = -INFINITY;
    double sum = 0;
    for (size_t r = 0; r < rows; r++) {
        log_pi[r] = nvdp__gamma_log_draw(&stream, pseudo_count(release->posteriors, i, r));
        top = fmax(top, log_pi[r]);
    }
    for (size_t r = 0; r < rows; r++) {
        sum += exp(log_pi[r] - top);
    }
    double total = top + log(sum);
    for (size_t r = 0; r < rows; r++) {
        log_pi[r] -= total;
    }
}

void nvdp__release_draw(const struct nvdp__release *release, size_t i, uint64_t key, double *z,
                        double *log_pi) {
    size_t rows = nvdp__release_rows(release->posteriors, i);
    draw_vectors(release, i, key, rows, z);
    if (release->posteriors->alpha != NULL) draw_weights(release, i, key, rows, log_pi);
}

static float on_grid(double value, double low, double high) {
    return nvdp__f16_to_float(nvdp__f16_from_float((float)fmin(fmax(value, low), high)));
}

void nvdp__grid_vectors(size_t n, const double *z, float *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = on_grid(z[i], -LARGEST_HALF, LARGEST_HALF);
    }
}

void nvdp__grid_log_weights(size_t n, const double *log_pi, float *out) {
    for (size_t i = 0; i < n; i++) {
        out[i] = on_grid(log_pi[i], -LARGEST_HALF, 0);
    }
}
