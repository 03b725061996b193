/* Scores and posteriors of a finished run. */
#include "train/run.h"
#include "train/trainer.h"

#include <stdio.h>

nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_config *config,
                          struct nvdp_evaluation *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__run run = {0};
    struct nvdp__run_options options;
    struct nvdp_evaluation result = NVDP_RESULT(struct nvdp_evaluation);
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__evaluate_schema, &options));
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__run_open(ctx, &options, &run));
    NVDP_TRY(nvdp__score_model(ctx, run.model, run.dataset, options.batch, options.seed, 0,
                               options.draws, &result.scores));
    const struct nvdp_model_info *info = nvdp_model_info(run.model);
    snprintf(result.task, sizeof result.task, "%s", info->task.name);
    snprintf(result.method, sizeof result.method, "%s", nvdp_method_name(info->method));
    snprintf(result.split, sizeof result.split, "%s", options.split);
    snprintf(result.protocol, sizeof result.protocol, "%s",
             nvdp__protocol_names[run.config.protocol]);
    NVDP__GIVE(out, &result);
cleanup:
    nvdp__run_close(&run);
    return status;
}

nvdp_status nvdp__run_posteriors(struct nvdp_context *ctx, const struct nvdp__run_options *options,
                                 struct nvdp_posteriors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__run run = {0};
    NVDP_TRY(nvdp__run_open(ctx, options, &run));
    NVDP_TRY(nvdp_model_posteriors(ctx, run.model, run.dataset, options->batch, out));
cleanup:
    nvdp__run_close(&run);
    return status;
}

nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                struct nvdp_posteriors **out) {
    struct nvdp__run_options options;
    NVDP_RETURN_IF_FAILED(nvdp__config_open(ctx, config, &nvdp__run_schema, &options));
    return nvdp__run_posteriors(ctx, &options, out);
}
