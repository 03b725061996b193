/* Pretraining options: defaults, sizes by name, ranges, and their form on disk (pretrain.json's
 * "config"). */
#include "base/json.h"
#include "pretrain/trainer.h"
#include "train/members.h"
#include "train/ranges.h"

#include <stddef.h>
#include <stdlib.h>
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

/* ---- on disk ---- */

#define MEMBER(name, kind) NVDP__MEMBER(struct nvdp_pretrain_config, name, kind)
static const struct nvdp__member members[] = {
    MEMBER(out, TEXT),          MEMBER(init, TEXT),
    MEMBER(vocab, TEXT),        MEMBER(vocab_size, SIZE),
    MEMBER(alphabet, SIZE),     MEMBER(hidden, SIZE),
    MEMBER(layers, SIZE),       MEMBER(heads, SIZE),
    MEMBER(intermediate, SIZE), MEMBER(max_positions, SIZE),
    MEMBER(batch, SIZE),        MEMBER(length, SIZE),
    MEMBER(log_every, SIZE),    MEMBER(save_every, SIZE),
    MEMBER(eval_every, SIZE),   MEMBER(eval_limit, SIZE),
    MEMBER(steps, WHOLE),       MEMBER(seed, WHOLE),
    MEMBER(mask_prob, REAL),    MEMBER(lr, REAL),
    MEMBER(warmup, REAL),       MEMBER(weight_decay, REAL),
    MEMBER(clip_norm, REAL),    MEMBER(beta1, REAL),
    MEMBER(beta2, REAL),        MEMBER(adam_eps, REAL),
    MEMBER(dropout, REAL),      MEMBER(checkpoint_seconds, REAL),
    MEMBER(momentum, REAL),     MEMBER(stop_after, WHOLE),
    MEMBER(cased, FLAG),        MEMBER(whole_word, FLAG)};
enum { MEMBERS = sizeof members / sizeof members[0] };

static json_t *list_json(const char *const *text, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_string(text[i]));
    }
    return list;
}

json_t *nvdp__pretrain_config_json(const struct nvdp_pretrain_config *config) {
    json_t *object = json_object();
    json_object_set_new(object, "text", list_json(config->text, config->texts));
    json_object_set_new(object, "eval_text", list_json(config->eval_text, config->eval_texts));
    json_object_set_new(object, "objective", json_string(nvdp_objective_name(config->objective)));
    json_object_set_new(object, "start", json_string(nvdp_start_name(config->start)));
    json_object_set_new(object, "optimizer", json_string(nvdp_optimizer_name(config->optimizer)));
    json_object_set_new(object, "dtype", json_string(nvdp_dtype_name(config->dtype)));
    json_object_set_new(object, "precision", json_string(nvdp_precision_name(config->precision)));
    nvdp__members_write(object, config, MEMBERS, members);
    return object;
}

static nvdp_status read_names(struct nvdp_context *ctx, const char *path, const json_t *object,
                              struct nvdp_pretrain_config *config) {
    const char *objective = NULL, *dtype = NULL, *precision = NULL, *optimizer = NULL,
               *start = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "objective", "mlm", &objective));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "dtype", "F32", &dtype));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "precision", "f32", &precision));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "optimizer", "adamw", &optimizer));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "start", "normal", &start));
    config->start = strcmp(start, "neighbours") == 0 ? NVDP_START_NEIGHBOURS : NVDP_START_NORMAL;
    config->optimizer = strcmp(optimizer, "muon") == 0 ? NVDP_OPTIMIZER_MUON : NVDP_OPTIMIZER_ADAMW;
    config->precision = strcmp(precision, "bf16") == 0 ? NVDP_PRECISION_BF16 : NVDP_PRECISION_F32;
    config->objective =
        strcmp(objective, "mlm+nsp") == 0 ? NVDP_OBJECTIVE_MLM_NSP : NVDP_OBJECTIVE_MLM;
    config->dtype = strcmp(dtype, "F16") == 0    ? NVDP_F16
                    : strcmp(dtype, "BF16") == 0 ? NVDP_BF16
                                                 : NVDP_F32;
    return NVDP_OK;
}

/* The texts of a list, if there is one. */
static nvdp_status read_list(struct nvdp_context *ctx, const char *path, const json_t *object,
                             const char *key, const char **list, size_t *count) {
    const json_t *array = json_object_get(object, key);
    *count = json_array_size(array);
    for (size_t i = 0; i < *count; i++) {
        list[i] = json_string_value(json_array_get(array, i));
        if (list[i] == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected a list of strings", path,
                              key);
    }
    return NVDP_OK;
}

nvdp_status nvdp__pretrain_config_from_json(struct nvdp_context *ctx, const char *path,
                                            const json_t *object,
                                            struct nvdp_pretrain_config *config,
                                            const char ***lists) {
    nvdp_status status = NVDP_OK;
    struct nvdp_pretrain_config read = nvdp_pretrain_config_default();
    size_t room = json_array_size(json_object_get(object, "text")) +
                  json_array_size(json_object_get(object, "eval_text"));
    const char **list = nvdp__calloc(ctx, room, sizeof *list);
    if (list == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(read_list(ctx, path, object, "text", list, &read.texts));
    NVDP_TRY(read_list(ctx, path, object, "eval_text", list + read.texts, &read.eval_texts));
    read.text = list;
    read.eval_text = list + read.texts;
    NVDP_TRY(read_names(ctx, path, object, &read));
    NVDP_TRY(nvdp__members_read(ctx, path, object, &read, MEMBERS, members));
    *config = read;
    *lists = list;
    list = NULL;
cleanup:
    free(list);
    return status;
}

nvdp_status nvdp_pretrain_config_json(struct nvdp_context *ctx,
                                      const struct nvdp_pretrain_config *config, char **out) {
    struct nvdp_pretrain_config resolved = *config;
    nvdp__pretrain_config_resolve(&resolved);
    json_t *object = nvdp__pretrain_config_json(&resolved);
    char *text =
        object == NULL ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    *out = text;
    return NVDP_OK;
}
