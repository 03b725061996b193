#include "base/json.h"
#include "model/model.h"
#include "train/config.h"
#include "train/members.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER(name, kind) NVDP__MEMBER(struct nvdp_train_config, name, kind)
static const struct nvdp__member members[] = {MEMBER(task, TEXT),
                                              MEMBER(data, TEXT),
                                              MEMBER(model, TEXT),
                                              MEMBER(out, TEXT),
                                              MEMBER(lambda_g, REAL),
                                              MEMBER(lambda_d, REAL),
                                              MEMBER(kl_delay, REAL),
                                              MEMBER(kl_ramp, REAL),
                                              MEMBER(lr, REAL),
                                              MEMBER(weight_decay, REAL),
                                              MEMBER(warmup, REAL),
                                              MEMBER(clip_norm, REAL),
                                              MEMBER(beta1, REAL),
                                              MEMBER(beta2, REAL),
                                              MEMBER(adam_eps, REAL),
                                              MEMBER(dropout, REAL),
                                              MEMBER(holdout, REAL),
                                              MEMBER(classifier_dropout, REAL),
                                              MEMBER(checkpoint_seconds, REAL),
                                              MEMBER(epochs, SIZE),
                                              MEMBER(batch, SIZE),
                                              MEMBER(max_length, SIZE),
                                              MEMBER(patience, SIZE),
                                              MEMBER(eval_batch, SIZE),
                                              MEMBER(eval_draws, SIZE),
                                              MEMBER(limit_train, SIZE),
                                              MEMBER(log_every, SIZE),
                                              MEMBER(freeze_layers, SIZE),
                                              MEMBER(seed, WHOLE),
                                              MEMBER(skip_bad_rows, FLAG)};
enum { MEMBERS = sizeof members / sizeof members[0], WORDS_ROOM = 128 };

static const char *const schedule_name[] = {"constant", "warmup", "decay", NULL};
static const char *const anchor_name[] = {"zero", "pretrained", NULL};
static const char *const protocol_name[] = {"holdout", "dev", NULL};
static const char *const precision_name[] = {"f32", "bf16", NULL};

static json_t *columns_json(const struct nvdp_task_options *columns) {
    return json_pack("{s:s?,s:s?,s:s?,s:b}", "text", columns->text_column, "pair",
                     columns->text_pair_column, "label", columns->label_column, "regression",
                     columns->regression);
}

json_t *nvdp__train_config_json(const struct nvdp_train_config *config) {
    json_t *object = json_object();
    nvdp__members_write(object, config, MEMBERS, members);
    json_object_set_new(object, "method", json_string(nvdp_method_name(config->method)));
    json_object_set_new(object, "protocol", json_string(nvdp_protocol_name(config->protocol)));
    json_object_set_new(object, "kl_schedule", json_string(schedule_name[config->kl_schedule]));
    json_object_set_new(object, "decay_to", json_string(anchor_name[config->decay_to]));
    json_object_set_new(object, "precision", json_string(nvdp_precision_name(config->precision)));
    json_object_set_new(object, "columns", columns_json(&config->columns));
    json_object_set_new(object, "nvib", nvdp__nvib_config_json(&config->nvib));
    return object;
}

/* A word of a NULL-ended list as its index; the first one where the key is missing. */
static nvdp_status read_word(struct nvdp_context *ctx, const char *path, const json_t *object,
                             const char *key, const char *const *words, size_t *index) {
    const char *text = NULL;
    char known[WORDS_ROOM] = "";
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, key, words[0], &text));
    for (size_t i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            *index = i;
            return NVDP_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected one of %s, found '%s'", path,
                      key, known, text);
}

static nvdp_status read_enums(struct nvdp_context *ctx, const char *path, const json_t *object,
                              struct nvdp_train_config *config) {
    const char *method = NULL;
    size_t schedule = 0, decay_to = 0, protocol = 0, precision = 0;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "method", "nvdp", &method));
    NVDP_RETURN_IF_FAILED(read_word(ctx, path, object, "kl_schedule", schedule_name, &schedule));
    NVDP_RETURN_IF_FAILED(read_word(ctx, path, object, "decay_to", anchor_name, &decay_to));
    NVDP_RETURN_IF_FAILED(read_word(ctx, path, object, "protocol", protocol_name, &protocol));
    NVDP_RETURN_IF_FAILED(read_word(ctx, path, object, "precision", precision_name, &precision));
    NVDP_RETURN_IF_FAILED(nvdp_method_find(ctx, method, &config->method));
    config->kl_schedule = (enum nvdp_kl_schedule)schedule;
    config->decay_to = (enum nvdp_decay_to)decay_to;
    config->protocol = (enum nvdp_protocol)protocol;
    config->precision = (enum nvdp_precision)precision;
    return NVDP_OK;
}

nvdp_status nvdp__train_config_from_json(struct nvdp_context *ctx, const char *path,
                                         const json_t *object, struct nvdp_train_config *out) {
    struct nvdp_train_config config = nvdp_train_config_default();
    NVDP_RETURN_IF_FAILED(nvdp__members_read(ctx, path, object, &config, MEMBERS, members));
    NVDP_RETURN_IF_FAILED(read_enums(ctx, path, object, &config));
    const json_t *columns = json_object_get(object, "columns");
    config.columns.text_column = json_string_value(json_object_get(columns, "text"));
    config.columns.text_pair_column = json_string_value(json_object_get(columns, "pair"));
    config.columns.label_column = json_string_value(json_object_get(columns, "label"));
    config.columns.regression = json_is_true(json_object_get(columns, "regression"));
    NVDP_RETURN_IF_FAILED(
        nvdp__nvib_config_from_json(ctx, path, json_object_get(object, "nvib"), &config.nvib));
    *out = config;
    return NVDP_OK;
}

nvdp_status nvdp_train_config_json(struct nvdp_context *ctx, const struct nvdp_train_config *config,
                                   char **out) {
    json_t *object = nvdp__train_config_json(config);
    char *text =
        object == NULL ? NULL : json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    *out = text;
    return NVDP_OK;
}
