/* Training options: defaults and ranges. */
#include "train/config.h"
#include "train/ranges.h"

#include <string.h>

struct nvdp_train_config nvdp_train_config_default(void) {
    return (struct nvdp_train_config){
        .task = NULL,
        .method = NVDP_METHOD_NVDP,
        .nvib = nvdp_nvib_config_default(),
        .lambda_g = 1e-2,
        .lambda_d = 1e-2,
        .kl_schedule = NVDP_KL_CONSTANT,
        .kl_delay = 0.2,
        .kl_ramp = 0.5,
        .epochs = 10,
        .batch = 32,
        .max_length = 128,
        .lr = 2e-5,
        .weight_decay = 0.01,
        .warmup = 0.1,
        .clip_norm = 1,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .adam_eps = 1e-8,
        .dropout = 0,
        .classifier_dropout = 0,
        .patience = 3,
        .protocol = NVDP_PROTOCOL_HOLDOUT,
        .holdout = 0.1,
        .eval_batch = 32,
        .eval_draws = 5,
        .seed = 1,
        .log_every = 50,
        .checkpoint_seconds = 300,
    };
}

void nvdp_train_config_imply(struct nvdp_train_config *config) {
    if (config->method == NVDP_METHOD_REG) {
        config->dropout = 0.1;
        config->classifier_dropout = 0.1;
        config->weight_decay = 0.01;
        config->decay_to = NVDP_DECAY_TO_PRETRAINED;
    }
    if (config->nvib.regularizer == NVDP_REGULARIZER_KL) {
        config->kl_schedule = NVDP_KL_WARMUP;
        config->kl_delay = 0.2;
        config->kl_ramp = 0.5;
    }
}

const char *nvdp_protocol_name(enum nvdp_protocol protocol) {
    return protocol == NVDP_PROTOCOL_DEV ? "dev" : "holdout";
}

static nvdp_status check_paths(struct nvdp_context *ctx, const struct nvdp_train_config *c) {
    const struct {
        const char *field, *value;
    } paths[] = {{"task", c->task}, {"data", c->data}, {"model", c->model}, {"out", c->out}};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (paths[i].value == NULL || paths[i].value[0] == '\0') {
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a value, found none",
                              paths[i].field);
        }
    }
    return NVDP_OK;
}

nvdp_status nvdp_train_config_check(struct nvdp_context *ctx,
                                    const struct nvdp_train_config *config) {
    const struct nvdp_train_config *c = config;
    const struct nvdp__range ranges[] = {
        {"lambda_g", c->lambda_g, 0, 1e6},
        {"lambda_d", c->lambda_d, 0, 1e6},
        {"kl_delay", c->kl_delay, 0, 1},
        {"kl_ramp", c->kl_ramp, 0, 1},
        {"epochs", (double)c->epochs, 1, 10000},
        {"batch", (double)c->batch, 1, 65536},
        {"max_length", (double)c->max_length, 3, 4096},
        NVDP__ADAMW_RANGES(c),
        {"dropout", c->dropout < 0 ? 0 : c->dropout, 0, 0.99},
        {"classifier_dropout", c->classifier_dropout, 0, 0.99},
        {"freeze_layers", (double)c->freeze_layers, 0, 1024},
        {"holdout", c->holdout, 1e-4, 0.9},
        {"eval_batch", (double)c->eval_batch, 1, 65536},
        {"eval_draws", (double)c->eval_draws, 1, 10000},
        {"log_every", (double)c->log_every, 1, 1e9},
        {"checkpoint_seconds", c->checkpoint_seconds, 0, 1e9},
    };
    NVDP_RETURN_IF_FAILED(check_paths(ctx, c));
    NVDP_RETURN_IF_FAILED(nvdp__check_ranges(ctx, sizeof ranges / sizeof ranges[0], ranges));
    if (c->resume && c->overwrite) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "resume and overwrite exclude each other");
    }
    return NVDP_OK;
}
