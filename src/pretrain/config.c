/* Pretraining options: defaults, sizes by name, ranges. */
#include "pretrain/config.h"

#include "train/ranges.h"

#include <string.h>

enum {
    HEAD_SIZE = 64,
    WIDENING = 4,
    LEAST_POSITIONS = 128,
    LEAST_ALPHABET = 100,
    ALPHABET_PART = 64
};

static const double MUON_LR = 3e-3, ADAMW_LR = 5e-4;

const char *nvdp_objective_name(enum nvdp_objective objective) {
    return objective == NVDP_OBJECTIVE_MLM_NSP ? "mlm+nsp" : "mlm";
}

const char *nvdp_optimizer_name(enum nvdp_optimizer optimizer) {
    return optimizer == NVDP_OPTIMIZER_MUON ? "muon" : "adamw";
}

const char *nvdp_start_name(enum nvdp_start start) {
    return start == NVDP_START_NEIGHBOURS ? "neighbours" : "normal";
}

struct nvdp_pretrain_config nvdp_pretrain_config_default(void) {
    return (struct nvdp_pretrain_config){
        .vocab_size = 8192,
        .hidden = 256,
        .layers = 4,
        .objective = NVDP_OBJECTIVE_MLM,
        .mask_prob = 0.15,
        .steps = 10000,
        .batch = 64,
        .length = 128,
        .start = NVDP_START_NEIGHBOURS,
        .optimizer = NVDP_OPTIMIZER_MUON,
        .warmup = 0.05,
        .weight_decay = 0.01,
        .clip_norm = 1,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .adam_eps = 1e-6,
        .momentum = 0.95,
        .dropout = 0,
        .dtype = NVDP_F32,
        .seed = 1,
        .log_every = 50,
        .eval_limit = 2000,
        .checkpoint_seconds = 300,
    };
}

nvdp_status nvdp_pretrain_arch(struct nvdp_context *ctx, const char *name,
                               struct nvdp_pretrain_config *config) {
    static const struct {
        const char *name;
        size_t layers, hidden;
    } arch[] = {{"tiny", 2, 128}, {"mini", 4, 256}, {"small", 4, 512}, {"base", 12, 768}};
    for (size_t i = 0; i < sizeof arch / sizeof arch[0]; i++) {
        if (strcmp(name, arch[i].name) != 0) continue;
        config->layers = arch[i].layers;
        config->hidden = arch[i].hidden;
        config->heads = arch[i].hidden / HEAD_SIZE;
        config->intermediate = WIDENING * arch[i].hidden;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "arch: expected tiny, mini, small or base, found '%s'", name);
}

void nvdp__pretrain_config_resolve(struct nvdp_pretrain_config *c) {
    if (c->heads == 0) c->heads = c->hidden > HEAD_SIZE ? c->hidden / HEAD_SIZE : 1;
    if (c->lr == 0) c->lr = c->optimizer == NVDP_OPTIMIZER_MUON ? MUON_LR : ADAMW_LR;
    if (c->stop_after == 0 || c->stop_after > c->steps) c->stop_after = c->steps;
    if (c->intermediate == 0) c->intermediate = WIDENING * c->hidden;
    if (c->max_positions == 0)
        c->max_positions = c->length > LEAST_POSITIONS ? c->length : LEAST_POSITIONS;
    if (c->alphabet == 0) {
        size_t part = c->vocab_size / ALPHABET_PART;
        c->alphabet = part > LEAST_ALPHABET ? part : LEAST_ALPHABET;
    }
}

struct nvdp_bert_config nvdp__pretrain_bert(const struct nvdp_pretrain_config *config,
                                            size_t pieces) {
    struct nvdp_bert_config bert = nvdp_bert_config_default();
    bert.hidden_size = config->hidden;
    bert.num_hidden_layers = config->layers;
    bert.num_attention_heads = config->heads;
    bert.intermediate_size = config->intermediate;
    bert.max_position_embeddings = config->max_positions;
    bert.vocab_size = pieces;
    return bert;
}

static nvdp_status check_choices(struct nvdp_context *ctx, const struct nvdp_pretrain_config *c) {
    if (c->texts == 0 || c->text == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "text: expected one file or more, found none");
    if (c->out == NULL || c->out[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "out: expected a directory, found none");
    if (c->init != NULL && c->vocab != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "init and vocab exclude each other: a model comes with its vocabulary");
    if (c->resume && c->overwrite)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "resume and overwrite exclude each other");
    if (c->dtype != NVDP_F32 && c->dtype != NVDP_F16 && c->dtype != NVDP_BF16)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "dtype: expected F32, F16 or BF16");
    if (c->objective != NVDP_OBJECTIVE_MLM && c->objective != NVDP_OBJECTIVE_MLM_NSP)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "objective: expected mlm or mlm+nsp");
    if (c->optimizer != NVDP_OPTIMIZER_ADAMW && c->optimizer != NVDP_OPTIMIZER_MUON)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "optimizer: expected adamw or muon");
    if (c->start != NVDP_START_NORMAL && c->start != NVDP_START_NEIGHBOURS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "start: expected normal or neighbours");
    return NVDP_OK;
}

nvdp_status nvdp_pretrain_config_check(struct nvdp_context *ctx,
                                       const struct nvdp_pretrain_config *config) {
    const struct nvdp_pretrain_config *c = config;
    const double least_length = c->objective == NVDP_OBJECTIVE_MLM_NSP ? 8 : 4;
    const struct nvdp__range ranges[] = {
        {"vocab_size", (double)c->vocab_size, 6, 1 << 24},
        {"alphabet", (double)c->alphabet, 0, 1 << 20},
        {"mask_prob", c->mask_prob, 0.001, 0.9},
        {"steps", (double)c->steps, 0, 4e9},
        {"stop_after", (double)c->stop_after, 0, 4e9},
        {"batch", (double)c->batch, 1, 65536},
        {"length", (double)c->length, least_length, 4096},
        NVDP__ADAMW_RANGES(c),
        {"momentum", c->momentum, 0, 0.999999},
        {"dropout", c->dropout, 0, 0.99},
        {"log_every", (double)c->log_every, 1, 1e9},
        {"checkpoint_seconds", c->checkpoint_seconds, 0, 1e9},
    };
    NVDP_RETURN_IF_FAILED(check_choices(ctx, c));
    NVDP_RETURN_IF_FAILED(nvdp__check_ranges(ctx, sizeof ranges / sizeof ranges[0], ranges));
    struct nvdp_pretrain_config resolved = *c;
    nvdp__pretrain_config_resolve(&resolved);
    struct nvdp_bert_config bert = nvdp__pretrain_bert(&resolved, resolved.vocab_size);
    if (c->init == NULL) NVDP_RETURN_IF_FAILED(nvdp_bert_config_check(ctx, &bert));
    if (c->init == NULL && c->length > resolved.max_positions)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "length: expected at most max_positions %zu, found %zu",
                          resolved.max_positions, c->length);
    return NVDP_OK;
}
