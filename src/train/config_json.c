#include "base/json.h"
#include "model/model.h"
#include "train/config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Fields by kind: one table serves writing and reading. */
#define REAL(name)                                                                                 \
    { #name, offsetof(struct nvdp_train_config, name) }
static const struct field {
    const char *key;
    size_t offset;
} reals[] = {REAL(lambda_g),
             REAL(lambda_d),
             REAL(kl_delay),
             REAL(kl_ramp),
             REAL(lr),
             REAL(weight_decay),
             REAL(warmup),
             REAL(clip_norm),
             REAL(beta1),
             REAL(beta2),
             REAL(adam_eps),
             REAL(dropout),
             REAL(holdout),
             REAL(classifier_dropout),
             REAL(checkpoint_seconds)},
  sizes[] = {REAL(epochs),      REAL(batch),      REAL(max_length),
             REAL(patience),    REAL(eval_batch), REAL(eval_draws),
             REAL(limit_train), REAL(log_every),  REAL(freeze_layers)},
  strings[] = {REAL(task), REAL(data), REAL(model), REAL(out)};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const schedule_name[] = {"constant", "warmup", "decay"};

static const void *at(const struct nvdp_train_config *config, size_t offset) {
    return (const char *)config + offset;
}

static void *into(struct nvdp_train_config *config, size_t offset) {
    return (char *)config + offset;
}

static json_t *columns_json(const struct nvdp_task_options *columns) {
    return json_pack("{s:s?,s:s?,s:s?,s:b}", "text", columns->text_column, "pair",
                     columns->text_pair_column, "label", columns->label_column, "regression",
                     columns->regression);
}

json_t *nvdp__train_config_json(const struct nvdp_train_config *config) {
    json_t *object = json_object();
    for (size_t i = 0; i < COUNT(strings); i++) {
        const char *const *text = at(config, strings[i].offset);
        json_object_set_new(object, strings[i].key,
                            *text == NULL ? json_null() : json_string(*text));
    }
    json_object_set_new(object, "method", json_string(nvdp_method_name(config->method)));
    for (size_t i = 0; i < COUNT(reals); i++) {
        json_object_set_new(object, reals[i].key,
                            json_real(*(const double *)at(config, reals[i].offset)));
    }
    for (size_t i = 0; i < COUNT(sizes); i++) {
        json_object_set_new(
            object, sizes[i].key,
            json_integer((json_int_t) * (const size_t *)at(config, sizes[i].offset)));
    }
    json_object_set_new(object, "protocol", json_string(nvdp_protocol_name(config->protocol)));
    json_object_set_new(object, "kl_schedule", json_string(schedule_name[config->kl_schedule]));
    json_object_set_new(object, "precision", json_string(nvdp_precision_name(config->precision)));
    json_object_set_new(object, "seed", json_integer((json_int_t)config->seed));
    json_object_set_new(object, "skip_bad_rows", json_boolean(config->skip_bad_rows));
    json_object_set_new(object, "columns", columns_json(&config->columns));
    json_object_set_new(object, "nvib", nvdp__nvib_config_json(&config->nvib));
    return object;
}

static nvdp_status read_precision(struct nvdp_context *ctx, const char *path, const json_t *object,
                                  struct nvdp_train_config *config) {
    const char *name = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "precision", "f32", &name));
    config->precision = NVDP_PRECISION_F32;
    if (strcmp(name, nvdp_precision_name(NVDP_PRECISION_F32)) == 0) return NVDP_OK;
    config->precision = NVDP_PRECISION_BF16;
    if (strcmp(name, nvdp_precision_name(NVDP_PRECISION_BF16)) == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key 'precision': expected f32 or bf16, found '%s'",
                      path, name);
}

static nvdp_status read_enums(struct nvdp_context *ctx, const char *path, const json_t *object,
                              struct nvdp_train_config *config) {
    const char *method = NULL, *protocol = NULL, *schedule = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "method", "nvdp", &method));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "protocol", "holdout", &protocol));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_string(ctx, path, object, "kl_schedule", "constant", &schedule));
    NVDP_RETURN_IF_FAILED(nvdp_method_find(ctx, method, &config->method));
    NVDP_RETURN_IF_FAILED(read_precision(ctx, path, object, config));
    config->protocol = strcmp(protocol, "dev") == 0 ? NVDP_PROTOCOL_DEV : NVDP_PROTOCOL_HOLDOUT;
    for (size_t i = 0; i < COUNT(schedule_name); i++) {
        if (strcmp(schedule, schedule_name[i]) != 0) continue;
        config->kl_schedule = (enum nvdp_kl_schedule)i;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key 'kl_schedule': unknown value '%s'", path,
                      schedule);
}

static nvdp_status read_numbers(struct nvdp_context *ctx, const char *path, const json_t *object,
                                struct nvdp_train_config *config) {
    int64_t value = 0;
    for (size_t i = 0; i < COUNT(reals); i++) {
        double *to = into(config, reals[i].offset);
        NVDP_RETURN_IF_FAILED(
            nvdp__json_real(ctx, path, object, reals[i].key, *to, -1e30, 1e30, to));
    }
    for (size_t i = 0; i < COUNT(sizes); i++) {
        size_t *to = into(config, sizes[i].offset);
        NVDP_RETURN_IF_FAILED(
            nvdp__json_int(ctx, path, object, sizes[i].key, (int64_t)*to, 0, INT64_MAX, &value));
        *to = (size_t)value;
    }
    NVDP_RETURN_IF_FAILED(
        nvdp__json_int(ctx, path, object, "seed", 1, INT64_MIN, INT64_MAX, &value));
    config->seed = (uint64_t)value;
    return nvdp__json_bool(ctx, path, object, "skip_bad_rows", false, &config->skip_bad_rows);
}

nvdp_status nvdp__train_config_from_json(struct nvdp_context *ctx, const char *path,
                                         const json_t *object, struct nvdp_train_config *out) {
    struct nvdp_train_config config = nvdp_train_config_default();
    for (size_t i = 0; i < COUNT(strings); i++) {
        const char **to = into(&config, strings[i].offset);
        NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, strings[i].key, NULL, to));
    }
    NVDP_RETURN_IF_FAILED(read_enums(ctx, path, object, &config));
    NVDP_RETURN_IF_FAILED(read_numbers(ctx, path, object, &config));
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
