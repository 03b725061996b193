/* Plain hidden states of texts: BERT alone, nothing private, for analysis. */
#include "base/base.h"
#include "base/file.h"
#include "base/hdf5.h"
#include "base/json.h"
#include "bert/checkpoint.h"
#include "bert/encoder.h"
#include "share/encode_input.h"
#include "text/batch.h"
#include <math.h>
#include <nvdp/evaluate.h>
#include <nvdp/method.h>
#include <nvdp/safetensors.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_BATCH = 32, MAX_BATCH = 65536, NAME_ROOM = 32, SHORTEST = 3 };

struct nvdp_encode_config nvdp_encode_config_default(void) {
    return (struct nvdp_encode_config){.batch = DEFAULT_BATCH};
}

/* The encoder, what its checkpoint has above it, and one batch's memory. */
struct encode {
    struct nvdp_context *ctx;
    const struct nvdp_encode_config *options;
    struct nvdp__device dev;
    struct nvdp_bert_config config;
    char fingerprint[65];
    bool has_pooler, has_classifier;
    size_t outputs; /* of the classifier */
    struct nvdp__bert bert;
    struct nvdp__dense classifier;
    struct nvdp__params params;
    struct nvdp__bert_cache cache;
    struct nvdp__arena arena;
    float *logits; /* [texts, outputs] */
    struct nvdp__encode_input input;
    struct nvdp__batch *batch;
    float *host; /* [tokens, d] */
    struct nvdp__h5 *file;
};

/* --- the model --- */

/* A bottleneck's classifier does not read BERT's pooled vector, so its logits cannot be had here.
 */
static nvdp_status refuse_private(struct encode *encode, const char *path) {
    nvdp_status status = NVDP_OK;
    json_t *config = NULL;
    const char *method = NULL;
    NVDP_TRY(nvdp__json_read(encode->ctx, path, &config));
    const json_t *ours = json_object_get(config, "nvdp");
    if (!json_is_object(ours)) goto cleanup;
    NVDP_TRY(nvdp__json_string(encode->ctx, path, ours, "method", "base", &method));
    if (strcmp(method, nvdp_method_name(NVDP_METHOD_BASE)) != 0 &&
        strcmp(method, nvdp_method_name(NVDP_METHOD_REG)) != 0)
        NVDP_TRY(nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                            "%s: expected a plain BERT or a model of method base or reg, found "
                            "method %s: share its texts with export",
                            path, method));
cleanup:
    json_decref(config);
    return status;
}

static bool has_tensor(const struct nvdp_safetensors *weights, const char *name) {
    char prefixed[128];
    snprintf(prefixed, sizeof prefixed, "bert.%s", name);
    return nvdp_safetensors_find(weights, name) != NULL ||
           nvdp_safetensors_find(weights, prefixed) != NULL;
}

static nvdp_status look_for_heads(struct encode *encode, const char *path) {
    nvdp_status status = NVDP_OK;
    struct nvdp_safetensors *weights = NULL;
    NVDP_TRY(nvdp_safetensors_open(encode->ctx, path, &weights));
    encode->has_pooler = has_tensor(weights, "pooler.dense.weight");
    const struct nvdp_tensor_info *head = nvdp_safetensors_find(weights, "classifier.weight");
    if (head == NULL || !encode->has_pooler) goto cleanup;
    if (head->rank != 2 || head->shape[0] < 1 || head->shape[1] != encode->config.hidden_size)
        NVDP_TRY(nvdp__fail(encode->ctx, NVDP_ERR_INPUT,
                            "%s: tensor 'classifier.weight': expected shape [outputs, %zu], found "
                            "rank %d with %zu rows",
                            path, encode->config.hidden_size, head->rank,
                            head->rank > 0 ? head->shape[0] : 0));
    encode->has_classifier = true;
    encode->outputs = head->shape[0];
cleanup:
    nvdp_safetensors_close(weights);
    return status;
}

static nvdp_status load_model(struct encode *encode) {
    nvdp_status status = NVDP_OK;
    const char *directory = encode->options->model;
    char *config = nvdp__join(encode->ctx, directory, "config.json");
    char *weights = nvdp__join(encode->ctx, directory, "model.safetensors");
    if (config == NULL || weights == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp_bert_config_read(encode->ctx, directory, &encode->config));
    NVDP_TRY(nvdp__bert_device(encode->ctx, &encode->config, &encode->dev));
    NVDP_TRY(refuse_private(encode, config));
    NVDP_TRY(look_for_heads(encode, weights));
    NVDP_TRY(nvdp__file_sha256(encode->ctx, weights, encode->fingerprint));
    NVDP_TRY(
        nvdp__bert_declare(&encode->bert, &encode->config, encode->has_pooler, &encode->params));
    if (encode->has_classifier)
        NVDP_TRY(nvdp__declare_dense(&encode->params, "classifier", encode->outputs,
                                     encode->config.hidden_size, 0, &encode->classifier));
    NVDP_TRY(nvdp__params_allocate(&encode->params, false));
    NVDP_TRY(nvdp__checkpoint_load(&encode->dev, directory, &encode->params));
cleanup:
    free(config);
    free(weights);
    return status;
}

/* --- the texts --- */

static nvdp_status read_input(struct encode *encode) {
    const struct nvdp_encode_config *options = encode->options;
    size_t most = encode->config.max_position_embeddings;
    size_t length = options->max_length > 0 ? options->max_length : most;
    if (length < SHORTEST || length > most)
        return nvdp__fail(encode->ctx, NVDP_ERR_ARGUMENT,
                          "max_length: expected %d to %zu, found %zu", SHORTEST, most, length);
    struct nvdp__encode_limits limits = {&encode->config, length, options->model};
    return nvdp__encode_input_read(encode->ctx, options->input, &limits, &encode->input);
}

/* --- memory --- */

static size_t most_tokens(const struct nvdp_dataset *data, size_t batch) {
    size_t most = 0;
    for (size_t first = 0; first < data->count; first += batch) {
        size_t end = first + batch < data->count ? first + batch : data->count;
        size_t tokens = data->offset[end] - data->offset[first];
        if (tokens > most) most = tokens;
    }
    return most;
}

static void plan(struct encode *encode, size_t tokens, size_t texts) {
    nvdp__bert_plan(&encode->bert, &encode->dev, tokens, texts, encode->input.data.longest,
                    &encode->arena, &encode->cache);
    if (encode->has_classifier)
        encode->logits = nvdp__arena_take(&encode->arena, texts * encode->outputs);
}

static nvdp_status allocate(struct encode *encode) {
    const struct nvdp_dataset *data = &encode->input.data;
    size_t batch = encode->options->batch;
    size_t texts = batch < data->count ? batch : data->count;
    size_t tokens = most_tokens(data, batch);
    size_t wide = encode->config.hidden_size;
    size_t room = tokens * wide;
    if (texts * encode->outputs > room) room = texts * encode->outputs;
    NVDP_RETURN_IF_FAILED(nvdp__bert_cache_create(encode->ctx, &encode->bert, false,
                                                  encode->options->all_layers, &encode->cache));
    plan(encode, tokens, texts);
    NVDP_RETURN_IF_FAILED(nvdp__arena_allocate(encode->ctx, &encode->arena));
    plan(encode, tokens, texts);
    NVDP_RETURN_IF_FAILED(nvdp__batch_create(encode->ctx, texts, data->longest, &encode->batch));
    encode->host = nvdp__calloc(encode->ctx, room, sizeof(float));
    return encode->host != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

/* --- the file --- */

static void layer_name(char name[NAME_ROOM], size_t layer) {
    snprintf(name, NAME_ROOM, "hidden_%zu", layer);
}

static nvdp_status write_attributes(struct encode *encode) {
    struct nvdp__h5 *file = encode->file;
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "nvdp_version", nvdp_version()));
    NVDP_RETURN_IF_FAILED(nvdp__h5_set_string(file, "model_fingerprint", encode->fingerprint));
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_set_int(file, "hidden_size", (int64_t)encode->config.hidden_size));
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_set_int(file, "layers", (int64_t)encode->config.num_hidden_layers));
    return nvdp__h5_set_string(
        file, "statement", "Plain hidden states, without noise: not private, not to be shared.");
}

static nvdp_status write_offsets(struct encode *encode) {
    const struct nvdp_dataset *data = &encode->input.data;
    size_t shape = data->count + 1;
    int64_t *offset = nvdp__calloc(encode->ctx, shape, sizeof *offset);
    if (offset == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < shape; i++) {
        offset[i] = (int64_t)data->offset[i];
    }
    nvdp_status status = nvdp__h5_write(encode->file, "offset", NVDP__H5_I64, 1, &shape, offset);
    free(offset);
    return status;
}

static nvdp_status create_file(struct encode *encode) {
    const struct nvdp_dataset *data = &encode->input.data;
    size_t wide = encode->config.hidden_size;
    size_t hidden[] = {data->offset[data->count], wide};
    size_t pooled[] = {data->count, wide};
    size_t logits[] = {data->count, encode->outputs};
    NVDP_RETURN_IF_FAILED(
        nvdp__h5_create(encode->ctx, encode->options->out, "encoding/1", &encode->file));
    NVDP_RETURN_IF_FAILED(write_attributes(encode));
    NVDP_RETURN_IF_FAILED(write_offsets(encode));
    size_t layers = encode->options->all_layers ? encode->config.num_hidden_layers + 1 : 0;
    for (size_t l = 0; l < layers; l++) {
        char name[NAME_ROOM];
        layer_name(name, l);
        NVDP_RETURN_IF_FAILED(nvdp__h5_dataset(encode->file, name, NVDP__H5_F32, 2, hidden));
    }
    if (layers == 0)
        NVDP_RETURN_IF_FAILED(nvdp__h5_dataset(encode->file, "hidden", NVDP__H5_F32, 2, hidden));
    if (encode->has_pooler)
        NVDP_RETURN_IF_FAILED(nvdp__h5_dataset(encode->file, "pooled", NVDP__H5_F32, 2, pooled));
    if (encode->has_classifier)
        NVDP_RETURN_IF_FAILED(nvdp__h5_dataset(encode->file, "logits", NVDP__H5_F32, 2, logits));
    return NVDP_OK;
}

static nvdp_status write_rows(struct encode *encode, const char *name, size_t first, size_t rows,
                              size_t width, const float *tensor) {
    nvdp__download(&encode->dev, rows * width, tensor, encode->host);
    return nvdp__h5_write_rows(encode->file, name, NVDP__H5_F32, first, rows, encode->host);
}

static nvdp_status write_batch(struct encode *encode, size_t first) {
    size_t wide = encode->config.hidden_size;
    size_t layers = encode->config.num_hidden_layers;
    const struct nvdp__batch *batch = encode->batch;
    size_t row = encode->input.data.offset[first];
    for (size_t l = 0; encode->options->all_layers && l <= layers; l++) {
        char name[NAME_ROOM];
        layer_name(name, l);
        NVDP_RETURN_IF_FAILED(
            write_rows(encode, name, row, batch->tokens, wide, encode->cache.hidden[l]));
    }
    if (!encode->options->all_layers)
        NVDP_RETURN_IF_FAILED(
            write_rows(encode, "hidden", row, batch->tokens, wide, encode->cache.hidden[layers]));
    if (encode->has_pooler)
        NVDP_RETURN_IF_FAILED(
            write_rows(encode, "pooled", first, batch->texts, wide, encode->cache.pooled));
    if (encode->has_classifier)
        NVDP_RETURN_IF_FAILED(
            write_rows(encode, "logits", first, batch->texts, encode->outputs, encode->logits));
    return NVDP_OK;
}

/* --- the pass --- */

static nvdp_status forward(struct encode *encode) {
    const struct nvdp__pass pass = {.training = false};
    nvdp__bert_forward(&encode->bert, &encode->dev, &encode->params, encode->batch, &pass,
                       &encode->cache);
    if (encode->has_pooler)
        nvdp__pooler_forward(&encode->bert, &encode->dev, &encode->params, encode->batch,
                             &encode->cache);
    if (encode->has_classifier)
        nvdp__linear_forward(&encode->dev, encode->batch->texts, encode->config.hidden_size,
                             encode->outputs, encode->cache.pooled,
                             nvdp__value(&encode->params, encode->classifier.weight),
                             nvdp__value(&encode->params, encode->classifier.bias), encode->logits);
    return nvdp__device_status(&encode->dev);
}

static nvdp_status encode_all(struct encode *encode) {
    const struct nvdp_dataset *data = &encode->input.data;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, encode->ctx, "encode", "text", 0, data->count);
    for (size_t first = 0; first < data->count; first += encode->options->batch) {
        size_t left = data->count - first;
        size_t n = left < encode->options->batch ? left : encode->options->batch;
        if (nvdp__cancelled(encode->ctx))
            return nvdp__fail(encode->ctx, NVDP_ERR_CANCELLED, "encode: cancelled");
        nvdp__batch_fill(encode->batch, data, NULL, first, n);
        NVDP_RETURN_IF_FAILED(forward(encode));
        NVDP_RETURN_IF_FAILED(write_batch(encode, first));
        nvdp__meter_update(&meter, first + n, (double)data->offset[first + n], "token", NAN);
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

static nvdp_status check_options(struct nvdp_context *ctx,
                                 const struct nvdp_encode_config *options) {
    if (options->model == NULL || options->input == NULL || options->out == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a path, found none",
                          options->model == NULL   ? "model"
                          : options->input == NULL ? "input"
                                                   : "out");
    if (options->batch < 1 || options->batch > MAX_BATCH)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "batch: expected 1 to %d, found %zu", MAX_BATCH,
                          options->batch);
    return NVDP_OK;
}

nvdp_status nvdp_encode(struct nvdp_context *ctx, const struct nvdp_encode_config *config,
                        size_t *texts) {
    NVDP_RETURN_IF_FAILED(check_options(ctx, config));
    nvdp_status status = NVDP_OK;
    struct encode encode = {
        .ctx = ctx,
        .options = config,
    };
    nvdp__params_init(&encode.params, ctx);
    NVDP_TRY(load_model(&encode));
    NVDP_TRY(read_input(&encode));
    NVDP_TRY(allocate(&encode));
    NVDP_TRY(create_file(&encode));
    NVDP_TRY(encode_all(&encode));
    NVDP_TRY(nvdp__h5_commit(encode.file));
    if (texts != NULL) *texts = encode.input.data.count;
cleanup:
    nvdp__h5_free(encode.file);
    free(encode.host);
    nvdp__batch_free(encode.batch);
    nvdp__encode_input_release(&encode.input);
    nvdp__bert_cache_release(&encode.cache);
    nvdp__arena_release(&encode.arena);
    nvdp__bert_release(&encode.bert);
    nvdp__device_release(&encode.dev);
    nvdp__params_release(&encode.params);
    return status;
}
