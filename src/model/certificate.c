/* What a model's mechanism keeps to, whatever the text: the limits that certificates rest on. */
#include "model/model.h"
#include "vib/vib.h"

#include <math.h>
#include <nvdp/certificate.h>
#include <stdlib.h>
#include <string.h>

static bool is_single(enum nvdp_method method, const struct nvdp__nvib_config *config) {
    return method == NVDP_METHOD_VIB_FIXED || method == NVDP_METHOD_VIB_LEARNED ||
           (method == NVDP_METHOD_VTDP && config->vib.vtdp_pool == NVDP__VTDP_POOL_FIRST);
}

struct nvdp_limits nvdp__method_limits(enum nvdp_method method,
                                       const struct nvdp__nvib_config *config) {
    const struct nvdp__clip clip = nvdp__clip_set(&config->clip);
    const bool weights = method == NVDP_METHOD_NVDP && config->weights == NVDP__WEIGHTS_LEARNED;
    const bool single = is_single(method, config), sequence = nvdp__clips_sequence(&config->clip);
    const struct nvdp__form form = nvdp__form_of(config, weights, single);
    struct nvdp_limits made = {.struct_size = sizeof made,
                               .noise = nvdp_method_is_private(method),
                               .sealed = config->query == NVDP__QUERY_SAMPLED,
                               .rows = form.length,
                               .dim = config->latent_dim,
                               .kappa = form.kappa,
                               .same_noise = sequence,
                               .clip_sequence = config->clip.sequence,
                               .clip_mu = clip.radius,
                               .logvar_min = sequence ? 0 : clip.logvar_min,
                               .logvar_max = sequence ? 0 : clip.logvar_max,
                               .weights = weights,
                               .alpha_min = config->clip.alpha_min,
                               .alpha_max = config->clip.alpha_max,
                               .prior_alpha = form.prior_alpha,
                               .pad_alpha = form.pad_alpha};
    snprintf(made.method, sizeof made.method, "%s", nvdp_method_name(method));
    if (method == NVDP_METHOD_VIB_FIXED)
        made.logvar_min = made.logvar_max = (float)(2 * log(config->vib.sigma));
    if (method == NVDP_METHOD_VIB_LEARNED || (single && made.logvar_min == made.logvar_max) ||
        (made.logvar_min == 0 && made.logvar_max == 0) || method == NVDP_METHOD_VIB_FIXED)
        made.same_noise = true;
    return made;
}

/* vib-learned's, which depend on no text: within their clip. */
static nvdp_status take_trained(struct nvdp_context *ctx, const struct nvdp_model *model,
                                struct nvdp_limits *limits) {
    const size_t index = nvdp__params_find(&model->params, "vib.rho");
    const double low = limits->logvar_min, high = limits->logvar_max;
    if (model->info.method != NVDP_METHOD_VIB_LEARNED || index == SIZE_MAX) return NVDP_OK;
    const size_t n = model->params.entry[index].count;
    float *logvar = nvdp__calloc(ctx, n, sizeof *logvar);
    if (logvar == NULL) return NVDP_ERR_MEMORY;
    nvdp__softplus_logvar(&model->dev, n, nvdp__value(&model->params, index), logvar);
    limits->logvar_min = INFINITY;
    limits->logvar_max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double own = fmin(fmax(isnan(logvar[i]) ? 0 : logvar[i], low), high);
        limits->logvar_min = fmin(limits->logvar_min, own);
        limits->logvar_max = fmax(limits->logvar_max, own);
    }
    free(logvar);
    return NVDP_OK;
}

nvdp_status nvdp_model_limits(struct nvdp_context *ctx, const struct nvdp_model *model,
                              struct nvdp_limits *out) {
    struct nvdp_limits made = nvdp__method_limits(model->info.method, &model->info.nvib);
    NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    NVDP_RETURN_IF_FAILED(take_trained(ctx, model, &made));
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

nvdp_status nvdp_model_certificate(struct nvdp_context *ctx, const struct nvdp_model *model,
                                   const struct nvdp_config *config, struct nvdp_certificate *out) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    NVDP_RETURN_IF_FAILED(nvdp_model_limits(ctx, model, &limits));
    return nvdp_certify(ctx, &limits, config, out);
}
