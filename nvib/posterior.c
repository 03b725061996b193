/* The posterior of the tokens: linear mu and logvar, quadratic log alpha, then the clip set. */
#include "nvib/nvib.h"

void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, const float *hidden) {
    size_t width = nvib->hidden_size;
    struct nvdp__linear mu = nvdp__dense_linear(params, &nvib->mu, nvib->tokens);
    struct nvdp__linear logvar = nvdp__dense_linear(params, &nvib->logvar, nvib->tokens);
    const nvdp__operand *x = nvdp__rounded(dev, nvib->tokens * width, hidden, nvib->x_room);
    nvdp__linear_to_float(dev, &mu, x, nvib->mu_out);
    nvdp__linear_to_float(dev, &logvar, x, nvib->logvar_out);
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
    struct nvdp__linear mu = nvdp__dense_linear(params, &nvib->mu, nvib->tokens);
    struct nvdp__linear logvar = nvdp__dense_linear(params, &nvib->logvar, nvib->tokens);
    nvdp__operand *x = nvdp__rounded(dev, nvib->tokens * width, hidden, nvib->x_room);
    nvdp__operand *dy = nvdp__rounded(dev, nvib->tokens * nvib->dim, nvib->d_mu, nvib->dy_room);
    nvdp__linear_params_backward(dev, &mu, x, dy);
    nvdp__linear_back_to_float(dev, &mu, dy, false, d_hidden);
    dy = nvdp__rounded(dev, nvib->tokens * nvib->dim, nvib->d_logvar, nvib->dy_room);
    nvdp__linear_params_backward(dev, &logvar, x, dy);
    nvdp__linear_back_to_float(dev, &logvar, dy, true, d_hidden);
    nvdp__quadratic_backward(
        dev, nvib->tokens, width, hidden, nvdp__value(params, nvib->alpha_quadratic),
        nvdp__value(params, nvib->alpha_weight), nvib->d_log_alpha, d_hidden,
        nvdp__grad(params, nvib->alpha_quadratic), nvdp__grad(params, nvib->alpha_weight),
        nvdp__grad(params, nvib->alpha_bias));
}
