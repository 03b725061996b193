/* config.json in and out. */
#include "bert/checkpoint.h"
#include "bert/config.h"

#include "base/file.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

static const char *const activation_name[] = {[NVDP_GELU] = "gelu", [NVDP_GELU_NEW] = "gelu_new"};

/* A member that is there must have the one value this encoder computes. */
static nvdp_status expect_string(struct nvdp_context *ctx, const char *path, const json_t *json,
                                 const char *key, const char *expected) {
    const char *found;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, json, key, expected, &found));
    if (strcmp(found, expected) == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected '%s', found '%.100s'", path, key,
                      expected, found);
}

static nvdp_status expect_false(struct nvdp_context *ctx, const char *path, const json_t *json,
                                const char *key) {
    bool found;
    NVDP_RETURN_IF_FAILED(nvdp__json_bool(ctx, path, json, key, false, &found));
    if (!found) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected false, found true", path, key);
}

/* Variants that share BERT's tensor names but compute something else. */
static nvdp_status check_variant(struct nvdp_context *ctx, const char *path, const json_t *json) {
    NVDP_RETURN_IF_FAILED(expect_string(ctx, path, json, "model_type", "bert"));
    NVDP_RETURN_IF_FAILED(expect_string(ctx, path, json, "position_embedding_type", "absolute"));
    NVDP_RETURN_IF_FAILED(expect_false(ctx, path, json, "is_decoder"));
    return expect_false(ctx, path, json, "add_cross_attention");
}

static nvdp_status read_activation(struct nvdp_context *ctx, const char *path, const json_t *json,
                                   enum nvdp_activation *out) {
    const char *name;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, json, "hidden_act", "gelu", &name));
    for (int act = NVDP_GELU; act <= NVDP_GELU_NEW; act++) {
        if (strcmp(name, activation_name[act]) != 0) continue;
        *out = (enum nvdp_activation)act;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: 'hidden_act': expected gelu or gelu_new, found '%.100s'", path, name);
}

static nvdp_status read_numbers(struct nvdp_context *ctx, const char *path, const json_t *json,
                                struct nvdp_bert_config *config) {
    for (int i = 0; i < NVDP__BERT_SIZES; i++) {
        const struct nvdp__bert_size *field = &nvdp__bert_size[i];
        int64_t value;
        if (field->required) {
            NVDP_RETURN_IF_FAILED(
                nvdp__json_int_required(ctx, path, json, field->name, 1, field->max, &value));
        } else {
            NVDP_RETURN_IF_FAILED(nvdp__json_int(ctx, path, json, field->name,
                                                 (int64_t)nvdp__bert_size_of(config, i), 1,
                                                 field->max, &value));
        }
        *(size_t *)(void *)((char *)config + field->at) = (size_t)value;
    }
    for (int i = 0; i < NVDP__BERT_REALS; i++) {
        const struct nvdp__bert_real *field = &nvdp__bert_real[i];
        double *value = (double *)(void *)((char *)config + field->at);
        NVDP_RETURN_IF_FAILED(
            nvdp__json_real(ctx, path, json, field->name, *value, field->min, field->max, value));
    }
    return nvdp__json_int(ctx, path, json, "pad_token_id", 0, 0, (int64_t)config->vocab_size - 1,
                          &config->pad_token_id);
}

nvdp_status nvdp__bert_config_read_file(struct nvdp_context *ctx, const char *path,
                                        struct nvdp_bert_config *out) {
    nvdp_status status = NVDP_OK;
    json_t *json = NULL;
    struct nvdp_bert_config config = nvdp_bert_config_default();
    NVDP_TRY(nvdp__json_read(ctx, path, &json));
    NVDP_TRY(check_variant(ctx, path, json));
    NVDP_TRY(read_activation(ctx, path, json, &config.hidden_act));
    NVDP_TRY(read_numbers(ctx, path, json, &config));
    if (nvdp_bert_config_check(ctx, &config) != NVDP_OK)
        NVDP_TRY(nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, path));
    *out = config;
cleanup:
    json_decref(json);
    return status;
}

nvdp_status nvdp_bert_config_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_bert_config *out) {
    char *path = nvdp__join(ctx, directory, "config.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__bert_config_read_file(ctx, path, out);
    free(path);
    return status;
}

nvdp_status nvdp_bert_check_vocabulary(struct nvdp_context *ctx, const char *directory,
                                       const struct nvdp_bert_config *config,
                                       size_t tokenizer_size) {
    if (tokenizer_size == config->vocab_size) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: vocab.txt: expected %zu pieces as config.json's 'vocab_size' says, "
                      "found %zu",
                      directory, config->vocab_size, tokenizer_size);
}

/* 0, or -1 where jansson has no memory. */
static int fill(json_t *json, const struct nvdp_bert_config *config, const char *architecture) {
    int failed = 0;
    if (architecture != NULL)
        failed |= json_object_set_new(json, "architectures", json_pack("[s]", architecture));
    failed |= json_object_set_new(json, "model_type", json_string("bert"));
    for (int i = 0; i < NVDP__BERT_SIZES; i++) {
        json_t *value = json_integer((json_int_t)nvdp__bert_size_of(config, i));
        failed |= json_object_set_new(json, nvdp__bert_size[i].name, value);
    }
    failed |=
        json_object_set_new(json, "hidden_act", json_string(activation_name[config->hidden_act]));
    for (int i = 0; i < NVDP__BERT_REALS; i++) {
        json_t *value = json_real(nvdp__bert_real_of(config, i));
        failed |= json_object_set_new(json, nvdp__bert_real[i].name, value);
    }
    failed |= json_object_set_new(json, "pad_token_id", json_integer(config->pad_token_id));
    failed |= json_object_set_new(json, "position_embedding_type", json_string("absolute"));
    failed |= json_object_set_new(json, "torch_dtype", json_string("float32"));
    return failed;
}

nvdp_status nvdp__bert_config_write(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp_bert_config *config, const char *architecture,
                                    json_t *extra) {
    nvdp_status status = NVDP_OK;
    char *path = NULL;
    json_t *json = json_object();
    NVDP_TRY(nvdp_bert_config_check(ctx, config));
    path = nvdp__join(ctx, directory, "config.json");
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (fill(json, config, architecture) != 0 ||
        (extra != NULL && json_object_update(json, extra) != 0))
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: the JSON could not be made", path));
    NVDP_TRY(nvdp__json_write(ctx, path, json));
cleanup:
    json_decref(json);
    free(path);
    return status;
}
