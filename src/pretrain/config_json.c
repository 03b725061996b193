#include "base/json.h"
#include "pretrain/config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Fields by kind: one table serves writing and reading. */
#define FIELD(name)                                                                                \
    { #name, offsetof(struct nvdp_pretrain_config, name) }
static const struct field {
    const char *key;
    size_t offset;
} reals[] = {FIELD(mask_prob), FIELD(lr),
             FIELD(warmup),    FIELD(weight_decay),
             FIELD(clip_norm), FIELD(beta1),
             FIELD(beta2),     FIELD(adam_eps),
             FIELD(dropout),   FIELD(checkpoint_seconds)},
  sizes[] = {FIELD(vocab_size), FIELD(alphabet),     FIELD(hidden),        FIELD(layers),
             FIELD(heads),      FIELD(intermediate), FIELD(max_positions), FIELD(batch),
             FIELD(length),     FIELD(log_every),    FIELD(save_every),    FIELD(eval_every),
             FIELD(eval_limit)},
  wholes[] = {FIELD(steps), FIELD(seed)}, flags[] = {FIELD(cased), FIELD(whole_word)},
  strings[] = {FIELD(out), FIELD(init), FIELD(vocab)};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const void *at(const struct nvdp_pretrain_config *config, size_t offset) {
    return (const char *)config + offset;
}

static void *into(struct nvdp_pretrain_config *config, size_t offset) {
    return (char *)config + offset;
}

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
    for (size_t i = 0; i < COUNT(strings); i++) {
        const char *const *text = at(config, strings[i].offset);
        json_object_set_new(object, strings[i].key,
                            *text == NULL ? json_null() : json_string(*text));
    }
    json_object_set_new(object, "objective", json_string(nvdp_objective_name(config->objective)));
    json_object_set_new(object, "dtype", json_string(nvdp_dtype_name(config->dtype)));
    json_object_set_new(object, "precision", json_string(nvdp_precision_name(config->precision)));
    for (size_t i = 0; i < COUNT(sizes); i++) {
        size_t value = *(const size_t *)at(config, sizes[i].offset);
        json_object_set_new(object, sizes[i].key, json_integer((json_int_t)value));
    }
    for (size_t i = 0; i < COUNT(wholes); i++) {
        uint64_t value = *(const uint64_t *)at(config, wholes[i].offset);
        json_object_set_new(object, wholes[i].key, json_integer((json_int_t)value));
    }
    for (size_t i = 0; i < COUNT(reals); i++) {
        json_object_set_new(object, reals[i].key,
                            json_real(*(const double *)at(config, reals[i].offset)));
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        json_object_set_new(object, flags[i].key,
                            json_boolean(*(const bool *)at(config, flags[i].offset)));
    }
    return object;
}

static nvdp_status read_names(struct nvdp_context *ctx, const char *path, const json_t *object,
                              struct nvdp_pretrain_config *config) {
    const char *objective = NULL, *dtype = NULL, *precision = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "objective", "mlm", &objective));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "dtype", "F32", &dtype));
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, "precision", "f32", &precision));
    config->precision = strcmp(precision, "bf16") == 0 ? NVDP_PRECISION_BF16 : NVDP_PRECISION_F32;
    config->objective =
        strcmp(objective, "mlm+nsp") == 0 ? NVDP_OBJECTIVE_MLM_NSP : NVDP_OBJECTIVE_MLM;
    config->dtype = strcmp(dtype, "F16") == 0    ? NVDP_F16
                    : strcmp(dtype, "BF16") == 0 ? NVDP_BF16
                                                 : NVDP_F32;
    for (size_t i = 0; i < COUNT(strings); i++) {
        const char **to = into(config, strings[i].offset);
        NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, object, strings[i].key, NULL, to));
    }
    return NVDP_OK;
}

static nvdp_status read_numbers(struct nvdp_context *ctx, const char *path, const json_t *object,
                                struct nvdp_pretrain_config *config) {
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
    for (size_t i = 0; i < COUNT(wholes); i++) {
        uint64_t *to = into(config, wholes[i].offset);
        NVDP_RETURN_IF_FAILED(nvdp__json_int(ctx, path, object, wholes[i].key, (int64_t)*to,
                                             INT64_MIN, INT64_MAX, &value));
        *to = (uint64_t)value;
    }
    for (size_t i = 0; i < COUNT(flags); i++) {
        bool *to = into(config, flags[i].offset);
        NVDP_RETURN_IF_FAILED(nvdp__json_bool(ctx, path, object, flags[i].key, *to, to));
    }
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
    NVDP_TRY(read_numbers(ctx, path, object, &read));
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
