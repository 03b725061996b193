#include "bottleneck/gaussian.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MAX = 8192 }; /* of the hidden states that principal directions are taken from */

/* Mean of the rows' coordinates under `map` into `mean` [p]; returns the root mean square of what
 * they are about it. */
static double spread(size_t rows, size_t d, size_t p, const float *hidden, const float *map,
                     double *mean) {
    double square = 0;
    for (size_t i = 0; i < p; i++) {
        double sum = 0, squares = 0;
        for (size_t r = 0; r < rows; r++) {
            double along = 0;
            for (size_t k = 0; k < d; k++)
                along += (double)map[i * d + k] * (double)hidden[r * d + k];
            sum += along;
            squares += along * along;
        }
        mean[i] = sum / (double)rows;
        square += squares / (double)rows - mean[i] * mean[i];
    }
    return sqrt(fmax(0, square) / (double)p);
}

/* map [p, D] becomes a map of unit spread about the rows' mean: bias [p] takes the mean off.
 * Encoders differ in both by factors, and a latent far narrower than its noise learns nothing. */
static nvdp_status standardise(struct nvdp_context *ctx, size_t rows, size_t d, size_t p,
                               const float *hidden, float *map, float *bias) {
    double *mean = nvdp__calloc(ctx, p, sizeof *mean);
    if (mean == NULL) return NVDP_ERR_MEMORY;
    double scale = spread(rows, d, p, hidden, map, mean);
    for (size_t i = 0; scale > 0 && i < p; i++) {
        bias[i] = (float)(-mean[i] / scale);
        for (size_t k = 0; k < d; k++)
            map[i * d + k] = (float)(map[i * d + k] / scale);
    }
    free(mean);
    return NVDP_OK;
}

nvdp_status nvdp__means_initialise(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden) {
    nvdp_status status = NVDP_OK;
    size_t p = params->entry[mu->weight].shape[0];
    size_t d = params->entry[mu->weight].shape[1];
    if (rows > ROWS_MAX) rows = ROWS_MAX;
    if (hidden == NULL || p == d) rows = 0;
    float *map = nvdp__calloc(ctx, p * d, sizeof *map);
    float *bias = nvdp__calloc(ctx, p, sizeof *bias);
    float *host = nvdp__calloc(ctx, rows * d, sizeof *host);
    if (map == NULL || bias == NULL || host == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    for (size_t i = 0; p == d && i < p; i++) {
        map[i * d + i] = 1;
    }
    if (rows > 0) nvdp__download(dev, rows * d, hidden, host);
    if (p < d) NVDP_TRY(nvdp__principal_map(ctx, rows, d, p, host, seed, map));
    if (p < d && rows >= p) NVDP_TRY(standardise(ctx, rows, d, p, host, map, bias));
    nvdp__upload(dev, p * d, map, nvdp__value(params, mu->weight));
    nvdp__scale(dev, p * d, (float)mu_tau, nvdp__value(params, mu->weight));
    nvdp__upload(dev, p, bias, nvdp__value(params, mu->bias));
    nvdp__scale(dev, p, (float)mu_tau, nvdp__value(params, mu->bias));
cleanup:
    free(map);
    free(bias);
    free(host);
    return status;
}

double nvdp__start_logvar(const struct nvdp_nvib_config *config) {
    const struct nvdp_clip_config *clip = &config->clip;
    double start = 2 * log(config->stdev_tau);
    double room = fmin(0.05, (clip->logvar_max - clip->logvar_min) / 4);
    return fmax(clip->logvar_min + room, fmin(clip->logvar_max - room, start));
}

void nvdp__copy_gaussians(const struct nvdp__device *dev, size_t rows, const float *mu,
                          const float *logvar, float *stage, size_t first_row,
                          struct nvdp_posteriors *out) {
    size_t p = out->dim;
    for (size_t r = 0; r < rows; r++) {
        size_t at = (first_row + r) * p;
        nvdp__download(dev, p, mu + r * p, stage);
        for (size_t i = 0; i < p; i++) {
            out->mu[at + i] = stage[i];
        }
        nvdp__download(dev, p, logvar + r * p, stage);
        for (size_t i = 0; i < p; i++) {
            out->logvar[at + i] = stage[i];
        }
    }
}
