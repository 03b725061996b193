/* A reader's directory: config.json and model.safetensors. */
#include "base/file.h"
#include "base/json.h"
#include "bert/checkpoint.h"
#include "share/pool.h"
#include "share/reader.h"
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "reader/1"

static const char *const act_name[] = {[NVDP_GELU] = "gelu", [NVDP_GELU_NEW] = "gelu_new"};

/* --- writing --- */

static json_t *labels_json(const struct nvdp__reader_shape *shape, const char *const *labels) {
    if (labels == NULL || shape->regression) return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < shape->outputs; i++) {
        json_array_append_new(array, json_string(labels[i]));
    }
    return array;
}

static json_t *config_json(const struct nvdp__reader_shape *shape,
                           const struct nvdp__reader_story *story) {
    return json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:s,s:f,s:s,s:b,s:s?,s:o,s:s?,s:s?}",
                     "nvdp_format", FORMAT, "nvdp_version", nvdp_version(), "dim",
                     (json_int_t)shape->dim, "heads", (json_int_t)shape->heads, "inner",
                     (json_int_t)shape->inner, "outputs", (json_int_t)shape->outputs, "kappa",
                     (json_int_t)shape->kappa, "hidden_act", act_name[shape->act], "layer_norm_eps",
                     shape->eps, "pool", nvdp__pool_name(shape->pool), "regression",
                     shape->regression, "task", story->task, "labels",
                     labels_json(shape, story->labels), "model_fingerprint", story->fingerprint,
                     "statement", story->statement);
}

nvdp_status nvdp__reader_save(const struct nvdp__reader *reader,
                              const struct nvdp__reader_story *story, const char *directory) {
    nvdp_status status = NVDP_OK;
    json_t *config = NULL;
    char *path = nvdp__join(reader->ctx, directory, "config.json");
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__make_directory(reader->ctx, directory));
    config = config_json(&reader->shape, story);
    if (config == NULL)
        NVDP_TRY(nvdp__fail(reader->ctx, NVDP_ERR_MEMORY, "%s: the JSON could not be made", path));
    NVDP_TRY(nvdp__checkpoint_save(&reader->dev, directory, &reader->params));
    NVDP_TRY(nvdp__json_write(reader->ctx, path, config));
cleanup:
    json_decref(config);
    free(path);
    return status;
}

/* --- reading --- */

struct source {
    struct nvdp_context *ctx;
    const char *path;
    const json_t *object;
};

static nvdp_status read_size(const struct source *from, const char *key, int64_t max, size_t *out) {
    int64_t value = 0;
    NVDP_RETURN_IF_FAILED(
        nvdp__json_int_required(from->ctx, from->path, from->object, key, 1, max, &value));
    *out = (size_t)value;
    return NVDP_OK;
}

static nvdp_status read_act(const struct source *from, enum nvdp_activation *out) {
    const char *text = NULL;
    NVDP_RETURN_IF_FAILED(
        nvdp__json_string(from->ctx, from->path, from->object, "hidden_act", "gelu", &text));
    *out = strcmp(text, act_name[NVDP_GELU_NEW]) == 0 ? NVDP_GELU_NEW : NVDP_GELU;
    if (strcmp(text, act_name[*out]) == 0) return NVDP_OK;
    return nvdp__fail(from->ctx, NVDP_ERR_INPUT,
                      "%s: 'hidden_act': expected gelu or gelu_new, found '%s'", from->path, text);
}

static nvdp_status read_shape(const struct source *from, struct nvdp__reader_shape *shape) {
    size_t kappa = 0;
    const char *pool = NULL;
    NVDP_RETURN_IF_FAILED(read_size(from, "dim", 1 << 16, &shape->dim));
    NVDP_RETURN_IF_FAILED(read_size(from, "heads", 1 << 16, &shape->heads));
    NVDP_RETURN_IF_FAILED(read_size(from, "inner", 1 << 16, &shape->inner));
    NVDP_RETURN_IF_FAILED(read_size(from, "outputs", 1 << 16, &shape->outputs));
    NVDP_RETURN_IF_FAILED(read_size(from, "kappa", 1000, &kappa));
    NVDP_RETURN_IF_FAILED(read_act(from, &shape->act));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_string(from->ctx, from->path, from->object, "pool", "", &pool));
    shape->pool = nvdp__pool_find(pool);
    if (shape->pool == NVDP_POOL_AUTO)
        return nvdp__fail(from->ctx, NVDP_ERR_INPUT,
                          "%s: 'pool': expected first, mean or weighted, found '%s'", from->path,
                          pool);
    NVDP_RETURN_IF_FAILED(nvdp__json_real(from->ctx, from->path, from->object, "layer_norm_eps",
                                          1e-12, 0, 1, &shape->eps));
    shape->kappa = (int)kappa;
    return nvdp__json_bool(from->ctx, from->path, from->object, "regression", false,
                           &shape->regression);
}

nvdp_status nvdp__reader_shape_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__reader_shape *shape) {
    nvdp_status status = NVDP_OK;
    struct nvdp__reader_shape found = {0};
    json_t *config = NULL;
    const char *format = NULL;
    char *path = nvdp__join(ctx, directory, "config.json");
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__json_read(ctx, path, &config));
    NVDP_TRY(nvdp__json_string(ctx, path, config, "nvdp_format", "", &format));
    if (strcmp(format, FORMAT) != 0)
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "%s: 'nvdp_format': expected '" FORMAT "', found '%s'", path, format));
    struct source from = {ctx, path, config};
    NVDP_TRY(read_shape(&from, &found));
    *shape = found;
cleanup:
    json_decref(config);
    free(path);
    return status;
}

nvdp_status nvdp__reader_load(struct nvdp_context *ctx, const char *directory, size_t outputs,
                              bool with_grad, uint64_t seed, struct nvdp__reader **out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__reader_shape shape;
    struct nvdp__reader *stored = NULL;
    struct nvdp__reader *reader = NULL;
    NVDP_TRY(nvdp__reader_shape_read(ctx, directory, &shape));
    NVDP_TRY(nvdp__reader_create(ctx, &shape, false, &stored));
    NVDP_TRY(nvdp__checkpoint_load(&stored->dev, directory, &stored->params));
    if (outputs > 0) shape.outputs = outputs;
    NVDP_TRY(nvdp__reader_create(ctx, &shape, with_grad, &reader));
    nvdp__reader_initialise(reader, seed);
    nvdp__reader_adopt(reader, &stored->params);
    *out = reader;
    reader = NULL;
cleanup:
    nvdp__reader_free(stored);
    nvdp__reader_free(reader);
    return status;
}
