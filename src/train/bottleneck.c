/* Resolves the options of a bottleneck in another framework, and computes the gradient of its Gamma draws. */
#include "base/json.h"
#include "mechanism/method.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "train/options.h"

#include <nvdp/bottleneck.h>

static json_t *pack(const struct nvdp__train_options *options) {
    const struct nvdp__method *row = nvdp__method_row(options->method);
    const struct nvdp__nvib_config *nvib = &options->nvib;
    return json_pack("{s:s, s:b, s:b, s:b, s:b, s:b, s:f, s:f, s:s, s:f, s:f, s:o}", "method",
                     nvdp_method_name(options->method), "block", row->block, "weights",
                     nvdp__method_weighted(row, nvib), "single", nvdp__method_single(row, nvib),
                     "own_noise", row->own_noise, "trained_noise", row->trained_limits != NULL,
                     "lambda_g", options->lambda_g, "lambda_d", options->lambda_d, "kl_schedule",
                     nvdp__kl_schedule_names[options->kl_schedule], "kl_delay", options->kl_delay,
                     "kl_ramp", options->kl_ramp, "nvib",
                     nvdp__schema_json(&nvdp__nvib_schema, nvib));
}

nvdp_status nvdp_bottleneck_resolve(struct nvdp_context *ctx, const struct nvdp_config *config,
                                    size_t width, size_t heads, struct nvdp_limits *limits,
                                    char **out) {
    const struct nvdp_bert_config encoder = {.hidden_size = width, .num_attention_heads = heads};
    struct nvdp__train_options options;
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__train_schema, &options));
    if (limits != NULL) NVDP_TRY(nvdp__can_give(ctx, limits));
    if (!nvdp_method_is_private(options.method))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {method}: expected a method with a bottleneck, found %s",
                          nvdp_method_name(options.method));
    if (nvdp__method_row(options.method)->words)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {method}: expected a method that reads hidden states, found %s, "
            "whose certificate per word needs texts that nvdp itself splits into words",
            nvdp_method_name(options.method));
    if (nvdp__method_row(options.method)->untrained)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {method}: expected a method to train, found %s",
                          nvdp_method_name(options.method));
    NVDP_TRY(nvdp__train_calibrate(ctx, &options));
    if (options.nvib.length == 0) options.nvib.length = options.max_length;
    NVDP_TRY(nvdp__method_resolve(ctx, options.method, &encoder, &options.nvib));
    const struct nvdp_limits made = nvdp__method_limits(options.method, &options.nvib);
    NVDP_TRY(nvdp__json_text(ctx, pack(&options), "bottleneck", out));
    if (limits != NULL) NVDP__GIVE(limits, &made);
    return NVDP_OK;
}

void nvdp_gamma_gradient(size_t n, const double *alpha, const double *log_g, double *out) {
    for (size_t i = 0; i < n; i++)
        out[i] = nvdp__gamma_implicit_log_gradient(alpha[i], log_g[i]);
}
