#include "base/json.h"
#include "pretrain/config.h"
#include "train/members.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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
