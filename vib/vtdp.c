/* vtdp: an encoder layer more, then mu and sigma = softplus(rho) of every token (NVDP paper, Eq.
 * 8), or, pools first, of the one pooled vector. */
#include "vib/vib.h"

static nvdp_status declare(struct nvdp__vib *vib, struct nvdp__params *params) {
    return nvdp__declare_dense(params, "vib.rho", vib->dim, vib->hidden_size, NVDP__PARAM_OPTIONAL,
                               &vib->rho);
}

static void initialise(struct nvdp__vib *vib, const struct nvdp__device *dev,
                       struct nvdp__params *params, double rho) {
    nvdp__extra_initialise(&vib->extra, vib->bert, dev, params);
    nvdp__params_fill(dev, params, vib->rho.weight, 0);
    nvdp__params_fill(dev, params, vib->rho.bias, (float)rho);
}

static void forward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const nvdp__operand *x) {
    struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, vib->sources);
    nvdp__linear_to_float(dev, &rho, x, vib->rho_out);
    nvdp__softplus_logvar(dev, vib->sources * vib->dim, vib->rho_out, vib->logvar_out);
}

static void backward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                     const struct nvdp__params *params, nvdp__operand *x, float *d_x) {
    size_t wide = vib->sources * vib->dim;
    struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, vib->sources);
    nvdp__softplus_logvar_backward(dev, wide, vib->rho_out, vib->d_logvar, vib->d_logvar);
    nvdp__operand *dy = nvdp__rounded(dev, wide, vib->d_logvar, vib->dy_room);
    nvdp__linear_params_backward(dev, &rho, x, dy);
    nvdp__linear_back_to_float(dev, &rho, dy, true, d_x);
}

static bool pools_last(const struct nvdp_nvib_config *config) {
    return config->vib.vtdp_pool == NVDP_VTDP_POOL_LAST;
}

/* The mean reads all that is shared; the first token trades utility for privacy no better. */
static nvdp_status resolve(struct nvdp_context *ctx, const struct nvdp_bert_config *bert,
                           struct nvdp_nvib_config *config) {
    enum nvdp_pool pool = pools_last(config) ? NVDP_POOL_MEAN : NVDP_POOL_FIRST;
    return nvdp__vib_resolve(ctx, bert, "vtdp", pool, config);
}

static nvdp_status create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                          const struct nvdp_nvib_config *config, struct nvdp__params *params,
                          void **self) {
    static const struct nvdp__vib_kind kind = {.resolve = resolve,
                                               .tokens = pools_last,
                                               .extra = true,
                                               .declare = declare,
                                               .initialise = initialise,
                                               .forward = forward,
                                               .backward = backward};
    return nvdp__vib_create(ctx, bert, config, &kind, params, self);
}

const struct nvdp__mechanism nvdp__mechanism_vtdp = {
    .name = "vtdp", .resolve = resolve, .create = create, NVDP__VIB_COMMON};
