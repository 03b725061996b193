/* vib-learned: z = mu(x) + sigma eps of one vector a text, sigma = softplus(rho) trained, the same
 * for all texts (NVDP paper, Eq. 10). */
#include "vib/vib.h"

static nvdp_status declare(struct nvdp__vib *vib, struct nvdp__params *params) {
    return nvdp__params_add(params, "vib.rho", 1, vib->dim, 1, NVDP__PARAM_OPTIONAL,
                            &vib->rho_vector);
}

static void initialise(struct nvdp__vib *vib, const struct nvdp__device *dev,
                       struct nvdp__params *params, double rho) {
    nvdp__params_fill(dev, params, vib->rho_vector, (float)rho);
}

static void forward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const nvdp__operand *x) {
    (void)x;
    nvdp__softplus_logvar(dev, vib->dim, nvdp__value(params, vib->rho_vector), vib->row);
    nvdp__rows_gather(dev, vib->sources, vib->dim, vib->same, vib->row, vib->logvar_out);
}

static void backward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                     const struct nvdp__params *params, nvdp__operand *x, float *d_x) {
    (void)x;
    (void)d_x;
    nvdp__zero(dev, vib->dim, vib->d_row);
    nvdp__rows_scatter_add(dev, vib->sources, vib->dim, vib->same, vib->d_logvar, vib->d_row);
    nvdp__softplus_logvar_backward(dev, vib->dim, nvdp__value(params, vib->rho_vector), vib->d_row,
                                   vib->d_row);
    nvdp__add(dev, vib->dim, vib->d_row, nvdp__grad(params, vib->rho_vector));
}

static nvdp_status resolve(struct nvdp_context *ctx, const struct nvdp_bert_config *bert,
                           struct nvdp_nvib_config *config) {
    return nvdp__vib_resolve(ctx, bert, "vib-learned", NVDP_POOL_FIRST, config);
}

static nvdp_status create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                          const struct nvdp_nvib_config *config, struct nvdp__params *params,
                          void **self) {
    static const struct nvdp__vib_kind kind = {.resolve = resolve,
                                               .declare = declare,
                                               .initialise = initialise,
                                               .forward = forward,
                                               .backward = backward};
    return nvdp__vib_create(ctx, bert, config, &kind, params, self);
}

const struct nvdp__mechanism nvdp__mechanism_vib_learned = {
    .name = "vib-learned", .resolve = resolve, .create = create, NVDP__VIB_COMMON};
