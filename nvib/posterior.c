/* The posterior of the tokens: linear mu and logvar, quadratic log alpha, then the clip set. */
#include "nvib/nvib.h"

void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, const float *hidden) {
    size_t width = nvib->hidden_size;
    nvdp__linear_forward(dev, nvib->tokens, width, nvib->dim, hidden,
                         nvdp__value(params, nvib->mu.weight), nvdp__value(params, nvib->mu.bias),
                         nvib->mu_out);
    nvdp__linear_forward(dev, nvib->tokens, width, nvib->dim, hidden,
                         nvdp__value(params, nvib->logvar.weight),
                         nvdp__value(params, nvib->logvar.bias), nvib->logvar_out);
    nvdp__quadratic_forward(dev, nvib->tokens, width, hidden,
                            nvdp__value(params, nvib->alpha_quadratic),
                            nvdp__value(params, nvib->alpha_weight),
                            nvdp__value(params, nvib->alpha_bias), nvib->log_alpha);
    if (nvib->clips) {
        nvdp__clip_forward(dev, &nvib->clip, nvib->tokens, nvib->dim, nvib->mu_out,
                           nvib->logvar_out, nvib->log_alpha, nvib->mu_norm, nvib->logvar_in,
                           nvib->log_alpha_in);
    }
}

void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                   const struct nvdp__params *params, const float *hidden,
                                   float *d_hidden) {
    size_t width = nvib->hidden_size;
    if (nvib->clips) {
        nvdp__clip_backward(dev, &nvib->clip, nvib->tokens, nvib->dim, nvib->mu_out, nvib->mu_norm,
                            nvib->logvar_in, nvib->log_alpha_in, nvib->d_mu, nvib->d_logvar,
                            nvib->d_log_alpha);
    }
    nvdp__linear_backward(dev, nvib->tokens, width, nvib->dim, hidden,
                          nvdp__value(params, nvib->mu.weight), nvib->d_mu, d_hidden, false,
                          nvdp__grad(params, nvib->mu.weight), nvdp__grad(params, nvib->mu.bias));
    nvdp__linear_backward(dev, nvib->tokens, width, nvib->dim, hidden,
                          nvdp__value(params, nvib->logvar.weight), nvib->d_logvar, d_hidden, true,
                          nvdp__grad(params, nvib->logvar.weight),
                          nvdp__grad(params, nvib->logvar.bias));
    nvdp__quadratic_backward(
        dev, nvib->tokens, width, hidden, nvdp__value(params, nvib->alpha_quadratic),
        nvdp__value(params, nvib->alpha_weight), nvib->d_log_alpha, d_hidden,
        nvdp__grad(params, nvib->alpha_quadratic), nvdp__grad(params, nvib->alpha_weight),
        nvdp__grad(params, nvib->alpha_bias));
}
