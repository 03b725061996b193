/* What a model's mechanism keeps to, whatever the text: the limits that certificates rest on. */
#include "mechanism/method.h"
#include "model/model.h"
#include "nvib/nvib.h"

#include <math.h>
#include <nvdp/certificate.h>
#include <stdlib.h>
#include <string.h>

struct nvdp_limits nvdp__method_limits(enum nvdp_method method,
                                       const struct nvdp__nvib_config *config) {
    const struct nvdp__method *row = nvdp__method_row(method);
    const struct nvdp__clip clip = nvdp__clip_set(&config->clip);
    const bool weights = nvdp__method_weighted(row, config),
               sequence = nvdp__clips_sequence(&config->clip);
    const bool single = nvdp__method_single(row, config);
    const struct nvdp__form form = nvdp__form_of(config, weights, single);
    struct nvdp_limits made = {.struct_size = sizeof made,
                               .noise = row->mechanism->private_,
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
    nvdp__snprintf(made.method, sizeof made.method, "%s", nvdp_method_name(method));
    if (row->limits != NULL) row->limits(config, &made);
    if ((single && made.logvar_min == made.logvar_max) ||
        (made.logvar_min == 0 && made.logvar_max == 0))
        made.same_noise = true;
    return made;
}

nvdp_status nvdp_model_limits(struct nvdp_context *ctx, const struct nvdp_model *model,
                              struct nvdp_limits *out) {
    struct nvdp_limits made = nvdp__method_limits(model->info.method, &model->info.nvib);
    NVDP_RETURN_IF_FAILED(nvdp__can_give(ctx, out));
    const struct nvdp__method *row = nvdp__method_row(model->info.method);
    if (row->trained_limits != NULL)
        NVDP_RETURN_IF_FAILED(row->trained_limits(ctx, &model->dev, &model->params, &made));
    NVDP__GIVE(out, &made);
    return NVDP_OK;
}

nvdp_status nvdp_model_certificate(struct nvdp_context *ctx, const struct nvdp_model *model,
                                   const struct nvdp_config *config, struct nvdp_certificate *out) {
    struct nvdp_limits limits = NVDP_RESULT(struct nvdp_limits);
    NVDP_RETURN_IF_FAILED(nvdp_model_limits(ctx, model, &limits));
    return nvdp_certify(ctx, &limits, config, out);
}
