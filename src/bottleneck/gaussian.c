#include "bottleneck/gaussian.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MAX = 8192 }; /* of the hidden states that principal directions are taken from */

nvdp_status nvdp__means_initialise(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden) {
    nvdp_status status = NVDP_OK;
    size_t p = params->entry[mu->weight].shape[0];
    size_t d = params->entry[mu->weight].shape[1];
    if (rows > ROWS_MAX) rows = ROWS_MAX;
    if (hidden == NULL || p == d) rows = 0;
    float *map = nvdp__calloc(ctx, p * d, sizeof *map);
    float *host = nvdp__calloc(ctx, rows * d, sizeof *host);
    if (map == NULL || host == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    for (size_t i = 0; p == d && i < p; i++) {
        map[i * d + i] = 1;
    }
    if (rows > 0) nvdp__download(dev, rows * d, hidden, host);
    if (p < d) NVDP_TRY(nvdp__principal_map(ctx, rows, d, p, host, seed, map));
    nvdp__upload(dev, p * d, map, nvdp__value(params, mu->weight));
    nvdp__scale(dev, p * d, (float)mu_tau, nvdp__value(params, mu->weight));
    nvdp__params_fill(dev, params, mu->bias, 0);
cleanup:
    free(map);
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
