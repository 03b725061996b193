#include "model/prefix.h"

#include "base/cache.h"
#include "model/prefix_store.h"
#include "tensor/rowwise.h"

#include <nvdp/version.h>
#include <stdlib.h>

enum { CHUNK = 1 << 16 }; /* floats that are hashed at a time */

nvdp_status nvdp__prefix_create(struct nvdp_model *model, struct nvdp__prefix **out) {
    const struct nvdp_bert_config *bert = &model->info.bert;
    struct nvdp__prefix *made = nvdp__calloc(model->ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    *made =
        (struct nvdp__prefix){.model = model, .layers = model->frozen_layers, .dev = model->dev};
    size_t widest =
        bert->intermediate_size > bert->hidden_size ? bert->intermediate_size : bert->hidden_size;
    nvdp_status status = NVDP_OK;
    if (model->dev.half == NULL && !model->dev.reference)
        status = nvdp__rowwise_create(&model->dev, widest, &made->dev.rowwise);
    if (status != NVDP_OK) {
        nvdp__prefix_free(made);
        return status;
    }
    *out = made;
    return NVDP_OK;
}

void nvdp__prefix_free(struct nvdp__prefix *prefix) {
    if (prefix == NULL) return;
    nvdp__prefix_store_close(prefix->store);
    nvdp__rowwise_free(prefix->dev.rowwise);
    free(prefix->row);
    free(prefix);
}

static nvdp_status compute(struct nvdp__prefix *prefix, const struct nvdp__batch *batch) {
    struct nvdp_model *model = prefix->model;
    nvdp__bert_prefix(&model->bert, &prefix->dev, &model->params, batch, prefix->layers,
                      &model->cache);
    return nvdp__device_status(&model->dev);
}

/* Every text's states as they were kept, or false. */
static bool recall(struct nvdp__prefix *prefix, const struct nvdp__batch *batch) {
    size_t width = prefix->model->info.bert.hidden_size;
    float *hidden = prefix->model->cache.hidden[prefix->layers];
    for (size_t i = 0; i < batch->texts; i++) {
        size_t first = (size_t)batch->offset[i];
        size_t tokens = (size_t)batch->offset[i + 1] - first;
        if (!nvdp__prefix_store_read(prefix->store, (int64_t)batch->key[i], tokens, prefix->row))
            return false;
        nvdp__upload(&prefix->dev, tokens * width, prefix->row, hidden + first * width);
    }
    return true;
}

nvdp_status nvdp__prefix_fill(struct nvdp__prefix *prefix, const struct nvdp__batch *batch) {
    if (prefix->store != NULL && recall(prefix, batch)) return NVDP_OK;
    return compute(prefix, batch);
}

/* --- what a file is made from --- */

size_t nvdp__prefix_bytes(const struct nvdp_bert_config *bert, const struct nvdp_dataset *dataset) {
    return nvdp__prefix_store_bytes(dataset, bert->hidden_size);
}

/* Frozen weights, through the device. */
static nvdp_status hash_weights(const struct nvdp_model *model, struct nvdp__digest *digest) {
    const struct nvdp__params *params = &model->params;
    float *chunk = nvdp__calloc(model->ctx, CHUNK, sizeof *chunk);
    if (chunk == NULL) return NVDP_ERR_MEMORY;
    for (size_t i = 0; i < params->count; i++) {
        const struct nvdp__param *entry = &params->entry[i];
        if ((entry->flags & NVDP__PARAM_FROZEN) == 0) continue;
        nvdp__digest_text(digest, entry->name);
        nvdp__digest_number(digest, entry->shape[0]);
        nvdp__digest_number(digest, entry->shape[1]);
        for (size_t at = 0; at < entry->count; at += CHUNK) {
            size_t n = entry->count - at < CHUNK ? entry->count - at : CHUNK;
            nvdp__download(&model->dev, n, nvdp__value(params, i) + at, chunk);
            nvdp__digest_bytes(digest, chunk, n * sizeof *chunk);
        }
    }
    free(chunk);
    return NVDP_OK;
}

static void hash_texts(const struct nvdp_dataset *dataset, struct nvdp__digest *digest) {
    size_t n = dataset->count;
    size_t tokens = dataset->offset[n];
    nvdp__digest_bytes(digest, dataset->offset, (n + 1) * sizeof *dataset->offset);
    nvdp__digest_bytes(digest, dataset->index, n * sizeof *dataset->index);
    nvdp__digest_bytes(digest, dataset->ids, tokens * sizeof *dataset->ids);
    nvdp__digest_bytes(digest, dataset->types, tokens * sizeof *dataset->types);
}

static nvdp_status path_of(const struct nvdp__prefix *prefix, const char *directory,
                           const struct nvdp_dataset *dataset, char **path) {
    const struct nvdp_model *model = prefix->model;
    const struct nvdp_bert_config *bert = &model->info.bert;
    char hex[NVDP__DIGEST_HEX];
    struct nvdp__digest digest;
    nvdp__digest_begin(&digest);
    nvdp__digest_text(&digest, NVDP_VERSION);
    nvdp__digest_number(&digest, prefix->layers);
    nvdp__digest_number(&digest, model->dev.half != NULL);
    nvdp__digest_number(&digest, bert->num_attention_heads);
    nvdp__digest_number(&digest, (uint64_t)bert->hidden_act);
    nvdp__digest_bytes(&digest, &bert->layer_norm_eps, sizeof bert->layer_norm_eps);
    NVDP_RETURN_IF_FAILED(hash_weights(model, &digest));
    hash_texts(dataset, &digest);
    nvdp__digest_end(&digest, hex);
    *path = nvdp__cache_path(model->ctx, directory, "prefix", hex);
    return *path == NULL ? NVDP_ERR_MEMORY : NVDP_OK;
}

/* --- making a file --- */

struct making {
    struct nvdp__prefix *prefix;
    const struct nvdp_dataset *dataset;
    struct nvdp__batch *batch;
    float *rows; /* [tokens of a batch, D] */
};

static nvdp_status compute_texts(void *user, size_t first, size_t *texts, const float **rows) {
    struct making *making = user;
    struct nvdp__prefix *prefix = making->prefix;
    struct nvdp__batch *batch = making->batch;
    size_t left = making->dataset->count - first;
    *texts = left < batch->text_capacity ? left : batch->text_capacity;
    nvdp__batch_fill(batch, making->dataset, NULL, first, *texts);
    NVDP_RETURN_IF_FAILED(compute(prefix, batch));
    nvdp__download(&prefix->dev, batch->tokens * prefix->model->info.bert.hidden_size,
                   prefix->model->cache.hidden[prefix->layers], making->rows);
    *rows = making->rows;
    return NVDP_OK;
}

static nvdp_status open_store(struct nvdp__prefix *prefix, const char *path,
                              const struct nvdp_dataset *dataset, size_t batch) {
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = prefix->model->ctx;
    size_t width = prefix->model->info.bert.hidden_size;
    struct making making = {.prefix = prefix, .dataset = dataset};
    NVDP_TRY(nvdp__batch_create(ctx, batch, dataset->longest, &making.batch));
    making.rows = nvdp__calloc(ctx, batch * dataset->longest * width, sizeof *making.rows);
    prefix->row = nvdp__calloc(ctx, dataset->longest * width, sizeof *prefix->row);
    if (making.rows == NULL || prefix->row == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    struct nvdp__prefix_content content = {dataset, width, compute_texts, &making};
    NVDP_TRY(nvdp__prefix_store_open(ctx, path, &content, &prefix->store));
cleanup:
    nvdp__batch_free(making.batch);
    free(making.rows);
    return status;
}

nvdp_status nvdp__prefix_keep(struct nvdp__prefix *prefix, const char *directory,
                              const struct nvdp_dataset *dataset, size_t batch) {
    nvdp_status status = NVDP_OK;
    struct nvdp_context *ctx = prefix->model->ctx;
    char *path = NULL;
    NVDP_TRY(path_of(prefix, directory, dataset, &path));
    if (nvdp__cache_make(ctx, directory) != NVDP_OK) {
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "the frozen layers' states are not kept but computed in each step: %s",
                  nvdp_context_error(ctx));
        goto cleanup;
    }
    NVDP_TRY(open_store(prefix, path, dataset, batch));
    if (prefix->store != NULL)
        nvdp__log(ctx, NVDP_LOG_INFO, "states of %zu texts after %zu frozen layers: %s, %.2f GiB",
                  dataset->count, prefix->layers, path,
                  (double)nvdp__prefix_store_bytes(dataset, prefix->model->info.bert.hidden_size) /
                      (1 << 30));
cleanup:
    free(path);
    return status;
}
