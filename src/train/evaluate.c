/* Scores and posteriors of a finished run. */
#include "train/run.h"
#include "train/trainer.h"

#include <stdio.h>

struct nvdp_run_config nvdp_run_config_default(void) {
    return (struct nvdp_run_config){.split = "dev", .draws = 5, .batch = 32, .seed = 1};
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_run_config *config) {
    if (config->split == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "split: expected a name, found none");
    if (config->draws < 1 || config->draws > 10000) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "draws: expected 1 to 10000, found %zu",
                          config->draws);
    }
    if (config->batch < 1 || config->batch > 65536) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "batch: expected 1 to 65536, found %zu",
                          config->batch);
    }
    return NVDP_OK;
}

nvdp_status nvdp_evaluate(struct nvdp_context *ctx, const struct nvdp_run_config *config,
                          struct nvdp_evaluation *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__run run = {0};
    struct nvdp_evaluation result = {0};
    NVDP_RETURN_IF_FAILED(check(ctx, config));
    NVDP_TRY(nvdp__run_open(ctx, config, &run));
    NVDP_TRY(nvdp__score_model(ctx, run.model, run.dataset, config->batch, config->seed, 0,
                               config->draws, &result.scores));
    const struct nvdp_model_info *info = nvdp_model_info(run.model);
    snprintf(result.task, sizeof result.task, "%s", info->task.name);
    snprintf(result.method, sizeof result.method, "%s", nvdp_method_name(info->method));
    snprintf(result.split, sizeof result.split, "%s", config->split);
    snprintf(result.protocol, sizeof result.protocol, "%s",
             nvdp_protocol_name(run.config.protocol));
    *out = result;
cleanup:
    nvdp__run_close(&run);
    return status;
}

nvdp_status nvdp_run_posteriors(struct nvdp_context *ctx, const struct nvdp_run_config *config,
                                struct nvdp_posteriors **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__run run = {0};
    NVDP_RETURN_IF_FAILED(check(ctx, config));
    NVDP_TRY(nvdp__run_open(ctx, config, &run));
    NVDP_TRY(nvdp_model_posteriors(ctx, run.model, run.dataset, config->batch, out));
cleanup:
    nvdp__run_close(&run);
    return status;
}
