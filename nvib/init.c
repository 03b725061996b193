/* Initial values (docs/nvib.md, section "Initialisation"). */
#include "nvib/nvib.h"

#include <math.h>

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
    nvdp__dense_copy(dev, params, &last->query, &block->query);
    nvdp__dense_copy(dev, params, &last->key, &block->key);
    nvdp__dense_copy(dev, params, &last->value, &block->value);
    nvdp__dense_copy(dev, params, &last->attention_output, &block->attention_output);
    nvdp__dense_copy(dev, params, &last->attention_norm, &block->attention_norm);
    nvdp__dense_copy(dev, params, &last->intermediate, &block->intermediate);
    nvdp__dense_copy(dev, params, &last->output, &block->output);
    nvdp__dense_copy(dev, params, &last->output_norm, &block->output_norm);
}

nvdp_status nvdp__nvib_initialise(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden) {
    struct nvdp__nvib *nvib = self;
    const struct nvdp_nvib_config *config = &nvib->config;
    double d = (double)nvib->hidden_size;
    double p = (double)nvib->dim;
    double head_dim = p / (double)nvib->block.heads;
    NVDP_RETURN_IF_FAILED(nvdp__means_initialise(nvib->ctx, dev, params, &nvib->mu, config->mu_tau,
                                                 seed, rows, hidden));
    nvdp__params_fill(dev, params, nvib->logvar.weight, 0);
    nvdp__params_fill(dev, params, nvib->logvar.bias, (float)nvdp__start_logvar(config));
    /* |mu|^2 is about p/d of |x|^2, and |mu|^2/(2 sqrt(h)) is what attention takes off. */
    nvdp__params_fill(dev, params, nvib->alpha_quadratic, (float)(p / d / (2 * sqrt(head_dim))));
    nvdp__params_fill(dev, params, nvib->alpha_weight, 0);
    nvdp__params_fill(dev, params, nvib->alpha_bias, (float)config->alpha_tau);
    initialise_block(nvib, dev, params, seed);
    return NVDP_OK;
}
