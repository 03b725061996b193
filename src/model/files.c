/* Model directories: Hugging Face layout with an "nvdp" object in config.json. */
#include "base/file.h"
#include "bert/checkpoint.h"
#include "model/model.h"

#include <stdlib.h>

enum { VOCABULARY_LIMIT = 64 << 20 };

/* Copies a file of the source directory where it exists. */
static nvdp_status copy_file(struct nvdp_context *ctx, const char *from, const char *to,
                             const char *name) {
    nvdp_status status = NVDP_OK;
    char *bytes = NULL;
    size_t count = 0;
    char *source = nvdp__join(ctx, from, name);
    char *target = nvdp__join(ctx, to, name);
    if (source == NULL || target == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    if (!nvdp__exists(source)) goto cleanup;
    NVDP_TRY(nvdp__read_file(ctx, source, VOCABULARY_LIMIT, &bytes, &count));
    NVDP_TRY(nvdp__write_file(ctx, target, bytes, count));
cleanup:
    free(bytes);
    free(source);
    free(target);
    return status;
}

nvdp_status nvdp__model_save(const struct nvdp_model *model, const char *directory,
                             const char *vocabulary_from) {
    struct nvdp_context *ctx = model->ctx;
    NVDP_RETURN_IF_FAILED(nvdp__make_directory(ctx, directory));
    NVDP_RETURN_IF_FAILED(copy_file(ctx, vocabulary_from, directory, "vocab.txt"));
    NVDP_RETURN_IF_FAILED(copy_file(ctx, vocabulary_from, directory, "tokenizer_config.json"));
    json_t *extra = json_object();
    json_object_set_new(extra, "nvdp", nvdp__model_info_json(&model->info));
    nvdp_status status = nvdp__bert_config_write(ctx, directory, &model->info.bert,
                                                 "BertForSequenceClassification", extra);
    json_decref(extra);
    if (status != NVDP_OK) return status;
    return nvdp__checkpoint_save(&model->dev, directory, &model->params);
}

/* In a finished model nothing is optional: a missing tensor is an error. */
static void require_all(struct nvdp__params *params) {
    for (size_t i = 0; i < params->count; i++)
        params->entry[i].flags &= ~(unsigned)NVDP__PARAM_OPTIONAL;
}

static nvdp_status fingerprint(struct nvdp_model *model, const char *directory) {
    char *path = nvdp__join(model->ctx, directory, "model.safetensors");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__file_sha256(model->ctx, path, model->info.fingerprint);
    free(path);
    return status;
}

nvdp_status nvdp_model_load(struct nvdp_context *ctx, const char *directory,
                            struct nvdp_model **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_model_info info = {0};
    struct nvdp_model *model = NULL;
    char *owned = NULL;
    const char **labels = NULL;
    NVDP_TRY(nvdp__model_info_read(ctx, directory, &info, &owned, &labels));
    NVDP_TRY(nvdp__model_build(ctx, &info, false, &model));
    model->owned_text = owned;
    model->owned_labels = labels;
    owned = NULL;
    labels = NULL;
    require_all(&model->params);
    NVDP_TRY(nvdp__checkpoint_load(&model->dev, directory, &model->params));
    NVDP_TRY(fingerprint(model, directory));
    NVDP_TRY(nvdp_tokenizer_load(ctx, directory, &model->tokenizer));
    NVDP_TRY(nvdp_bert_check_vocabulary(ctx, directory, &model->info.bert,
                                        nvdp_tokenizer_size(model->tokenizer)));
    *out = model;
    model = NULL;
cleanup:
    nvdp_model_free(model);
    free(owned);
    free(labels);
    return status;
}

const struct nvdp_model_info *nvdp_model_info(const struct nvdp_model *model) {
    return &model->info;
}

const struct nvdp_tokenizer *nvdp_model_tokenizer(const struct nvdp_model *model) {
    return model->tokenizer;
}
