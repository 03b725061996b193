/* vib-fixed: z = mu(x) + sigma eps of one vector a text, sigma given (NVDP paper, Eq. 9). */
#include "vib/vib.h"

#include <math.h>

static void forward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const nvdp__operand *x) {
    (void)params;
    (void)x;
    for (size_t i = 0; i < vib->dim; i++) {
        vib->stage[i] = (float)(2 * log(vib->config.vib.sigma));
    }
    nvdp__upload(dev, vib->dim, vib->stage, vib->row);
    nvdp__rows_gather(dev, vib->sources, vib->dim, vib->same, vib->row, vib->logvar_out);
}

static nvdp_status resolve(struct nvdp_context *ctx, const struct nvdp_bert_config *bert,
                           struct nvdp_nvib_config *config) {
    struct nvdp_nvib_config made = *config;
    NVDP_RETURN_IF_FAILED(nvdp__vib_resolve(ctx, bert, "vib-fixed", NVDP_POOL_FIRST, &made));
    double logvar = 2 * log(made.vib.sigma);
    if (!(logvar >= made.clip.logvar_min && logvar <= made.clip.logvar_max))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "vib.sigma: expected a log variance within the clip set's [%g, %g], "
                          "found %g of %g",
                          made.clip.logvar_min, made.clip.logvar_max, logvar, made.vib.sigma);
    *config = made;
    return NVDP_OK;
}

static nvdp_status create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                          const struct nvdp_nvib_config *config, struct nvdp__params *params,
                          void **self) {
    static const struct nvdp__vib_kind kind = {.resolve = resolve, .forward = forward};
    return nvdp__vib_create(ctx, bert, config, &kind, params, self);
}

const struct nvdp__mechanism nvdp__mechanism_vib_fixed = {
    .name = "vib-fixed", .resolve = resolve, .create = create, NVDP__VIB_COMMON};
