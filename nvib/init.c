/* Initial values (docs/nvib.md, section "Initialisation"). */
#include "nvib/nvib.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_MAX = 8192 }; /* of the hidden states that principal directions are taken from */

/* mu_tau times the identity, or times principal directions. */
static nvdp_status initialise_mu(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                 struct nvdp__params *params, uint64_t seed, size_t rows,
                                 const float *hidden) {
    nvdp_status status = NVDP_OK;
    size_t d = nvib->hidden_size;
    size_t p = nvib->dim;
    if (rows > ROWS_MAX) rows = ROWS_MAX;
    if (hidden == NULL || p == d) rows = 0;
    float *map = nvdp__calloc(nvib->ctx, p * d, sizeof *map);
    float *host = nvdp__calloc(nvib->ctx, rows * d, sizeof *host);
    if (map == NULL || host == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    for (size_t i = 0; p == d && i < p; i++) {
        map[i * d + i] = 1;
    }
    if (rows > 0) nvdp__download(dev, rows * d, hidden, host);
    if (p < d) NVDP_TRY(nvdp__principal_map(nvib->ctx, rows, d, p, host, seed, map));
    nvdp__upload(dev, p * d, map, nvdp__value(params, nvib->mu.weight));
    nvdp__scale(dev, p * d, (float)nvib->config.mu_tau, nvdp__value(params, nvib->mu.weight));
    nvdp__params_fill(dev, params, nvib->mu.bias, 0);
cleanup:
    free(map);
    free(host);
    return status;
}

static void copy_dense(const struct nvdp__device *dev, struct nvdp__params *params,
                       const struct nvdp__dense *from, const struct nvdp__dense *to) {
    nvdp__copy(dev, params->entry[to->weight].count, nvdp__value(params, from->weight),
               nvdp__value(params, to->weight));
    nvdp__copy(dev, params->entry[to->bias].count, nvdp__value(params, from->bias),
               nvdp__value(params, to->bias));
}

/* BERT's last layer where it fits, else random. */
static void initialise_block(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                             struct nvdp__params *params, uint64_t seed) {
    struct nvdp__block *block = &nvib->block;
    const struct nvdp_bert_config *config = &nvib->bert->config;
    if (nvib->dim != nvib->hidden_size || config->num_hidden_layers == 0) {
        nvdp__block_initialise(block, dev, params, 0.02, seed);
        return;
    }
    const struct nvdp__bert_layer *last = &nvib->bert->layer[config->num_hidden_layers - 1];
    copy_dense(dev, params, &last->query, &block->query);
    copy_dense(dev, params, &last->key, &block->key);
    copy_dense(dev, params, &last->value, &block->value);
    copy_dense(dev, params, &last->attention_output, &block->attention_output);
    copy_dense(dev, params, &last->attention_norm, &block->attention_norm);
    copy_dense(dev, params, &last->intermediate, &block->intermediate);
    copy_dense(dev, params, &last->output, &block->output);
    copy_dense(dev, params, &last->output_norm, &block->output_norm);
}

/* 2 log(stdev_tau), moved inside the clip set where there is one: outside of it a clamp has no
 * gradient, and the variance would never move again. */
static double start_logvar(const struct nvdp_nvib_config *config) {
    const struct nvdp_clip_config *clip = &config->clip;
    double start = 2 * log(config->stdev_tau);
    double room = fmin(0.05, (clip->logvar_max - clip->logvar_min) / 4);
    return fmax(clip->logvar_min + room, fmin(clip->logvar_max - room, start));
}

nvdp_status nvdp__nvib_initialise(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden) {
    struct nvdp__nvib *nvib = self;
    const struct nvdp_nvib_config *config = &nvib->config;
    double d = (double)nvib->hidden_size;
    double p = (double)nvib->dim;
    double head_dim = p / (double)nvib->block.heads;
    NVDP_RETURN_IF_FAILED(initialise_mu(nvib, dev, params, seed, rows, hidden));
    nvdp__params_fill(dev, params, nvib->logvar.weight, 0);
    nvdp__params_fill(dev, params, nvib->logvar.bias, (float)start_logvar(config));
    /* |mu|^2 is about p/d of |x|^2, and |mu|^2/(2 sqrt(h)) is what attention takes off. */
    nvdp__params_fill(dev, params, nvib->alpha_quadratic, (float)(p / d / (2 * sqrt(head_dim))));
    nvdp__params_fill(dev, params, nvib->alpha_weight, 0);
    nvdp__params_fill(dev, params, nvib->alpha_bias, (float)config->alpha_tau);
    initialise_block(nvib, dev, params, seed);
    return NVDP_OK;
}
