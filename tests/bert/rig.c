#include "rig.h"

#include "support.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

struct nvdp_bert_config rig_config(void) {
    struct nvdp_bert_config config = nvdp_bert_config_default();
    config.hidden_size = 12;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 3;
    config.intermediate_size = 20;
    config.vocab_size = 31;
    config.max_position_embeddings = 17;
    config.type_vocab_size = 2;
    return config;
}

struct rig *rig_create(const struct nvdp_bert_config *config, size_t outputs, bool training,
                       bool keep_hidden) {
    return rig_create_in(NVDP_PRECISION_F32, config, outputs, training, keep_hidden);
}

struct rig *rig_create_in(enum nvdp_precision precision, const struct nvdp_bert_config *config,
                          size_t outputs, bool training, bool keep_hidden) {
    struct rig *rig = calloc(1, sizeof *rig);
    rig->ctx = support_context();
    nvdp_context_set_precision(rig->ctx, precision);
    cr_assert_eq(nvdp__bert_device(rig->ctx, config, &rig->dev), NVDP_OK);
    rig->outputs = outputs;
    nvdp__params_init(&rig->params, rig->ctx);
    cr_assert_eq(nvdp__bert_declare(&rig->bert, config, true, &rig->params), NVDP_OK, "%s",
                 nvdp_context_error(rig->ctx));
    if (outputs > 0)
        cr_assert_eq(nvdp__declare_dense(&rig->params, "classifier", outputs, config->hidden_size,
                                         NVDP__PARAM_OPTIONAL, &rig->classifier),
                     NVDP_OK);
    cr_assert_eq(nvdp__params_allocate(&rig->params, training), NVDP_OK);
    cr_assert_eq(nvdp__bert_cache_create(rig->ctx, &rig->bert, training, keep_hidden, &rig->cache),
                 NVDP_OK);
    return rig;
}

static void take(struct rig *rig, size_t texts, size_t longest) {
    size_t dim = rig->bert.config.hidden_size;
    nvdp__bert_plan(&rig->bert, &rig->dev, texts * longest, texts, longest, &rig->arena,
                    &rig->cache);
    rig->logits = nvdp__arena_take(&rig->arena, texts * rig->outputs);
    rig->d_logits = nvdp__arena_take(&rig->arena, texts * rig->outputs);
    rig->d_pooled = nvdp__arena_take(&rig->arena, texts * dim);
    rig->d_last =
        nvdp__arena_take(&rig->arena, nvdp__operand_rows(&rig->dev, texts * longest) * dim);
}

void rig_plan(struct rig *rig, size_t texts, size_t longest) {
    nvdp__arena_release(&rig->arena);
    rig->arena = (struct nvdp__arena){0};
    take(rig, texts, longest);
    cr_assert_eq(nvdp__arena_allocate(rig->ctx, &rig->arena), NVDP_OK);
    take(rig, texts, longest);
}

void rig_free(struct rig *rig) {
    nvdp__bert_cache_release(&rig->cache);
    nvdp__bert_release(&rig->bert);
    nvdp__params_release(&rig->params);
    nvdp__device_release(&rig->dev);
    nvdp__arena_release(&rig->arena);
    nvdp_context_free(rig->ctx);
    free(rig);
}

void rig_randomise(struct rig *rig, double sd, uint64_t seed) {
    for (size_t i = 0; i < rig->params.count; i++) {
        nvdp__params_normal(&rig->dev, &rig->params, i, sd, seed);
        if (strstr(rig->params.entry[i].name, "LayerNorm.weight") == NULL) continue;
        size_t n = rig->params.entry[i].count;
        float *value = rig_download(rig, n, nvdp__value(&rig->params, i));
        for (size_t k = 0; k < n; k++) {
            value[k] += 1;
        }
        nvdp__upload(&rig->dev, n, value, nvdp__value(&rig->params, i));
        free(value);
    }
}

static void add_token(struct nvdp__batch *batch, int32_t id, int32_t type, int32_t position) {
    batch->ids[batch->tokens] = id;
    batch->types[batch->tokens] = type;
    batch->positions[batch->tokens] = position;
    batch->tokens++;
}

static void end_text(struct nvdp__batch *batch, float label) {
    size_t length = batch->tokens - (size_t)batch->offset[batch->texts];
    batch->label[batch->texts] = label;
    batch->key[batch->texts] = batch->texts;
    batch->texts++;
    batch->offset[batch->texts] = (int32_t)batch->tokens;
    if (length > batch->longest) batch->longest = length;
}

struct nvdp__batch *rig_batch(struct rig *rig, size_t texts, const size_t *lengths, uint64_t seed) {
    struct nvdp__batch *batch = NULL;
    size_t longest = rig->bert.config.max_position_embeddings;
    cr_assert_eq(nvdp__batch_create(rig->ctx, texts, longest, &batch), NVDP_OK);
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    for (size_t i = 0; i < texts; i++) {
        for (size_t t = 0; t < lengths[i]; t++) {
            int32_t id = (int32_t)nvdp__stream_below(&stream, rig->bert.config.vocab_size);
            add_token(batch, id, 2 * t >= lengths[i], (int32_t)t);
        }
        end_text(batch, rig->outputs > 0 ? (float)nvdp__stream_below(&stream, rig->outputs) : 0);
    }
    return batch;
}

struct nvdp__batch *rig_one_text(struct rig *rig, const struct nvdp__batch *batch, size_t index) {
    struct nvdp__batch *one = NULL;
    cr_assert_eq(nvdp__batch_create(rig->ctx, 1, batch->longest, &one), NVDP_OK);
    for (int32_t t = batch->offset[index]; t < batch->offset[index + 1]; t++) {
        add_token(one, batch->ids[t], batch->types[t], batch->positions[t]);
    }
    end_text(one, batch->label[index]);
    return one;
}

struct nvdp__batch *rig_pack(struct rig *rig, size_t texts, size_t width, const int64_t *ids,
                             const int64_t *types, const int64_t *mask, const int64_t *label) {
    struct nvdp__batch *batch = NULL;
    cr_assert_eq(nvdp__batch_create(rig->ctx, texts, width, &batch), NVDP_OK);
    for (size_t i = 0; i < texts; i++) {
        for (size_t t = 0; t < width; t++) {
            size_t at = i * width + t;
            if (mask[at] != 0) add_token(batch, (int32_t)ids[at], (int32_t)types[at], (int32_t)t);
        }
        end_text(batch, (float)label[i]);
    }
    return batch;
}

static double classify(struct rig *rig, const struct nvdp__batch *batch, float *d_logits) {
    nvdp__bert_forward(&rig->bert, &rig->dev, &rig->params, batch, &rig->pass, &rig->cache);
    nvdp__pooler_forward(&rig->bert, &rig->dev, &rig->params, batch, &rig->cache);
    nvdp__linear_forward(&rig->dev, batch->texts, rig->bert.config.hidden_size, rig->outputs,
                         rig->cache.pooled, nvdp__value(&rig->params, rig->classifier.weight),
                         nvdp__value(&rig->params, rig->classifier.bias), rig->logits);
    return nvdp__cross_entropy(&rig->dev, batch->texts, rig->outputs, rig->logits, batch->label, 1,
                               d_logits);
}

double rig_forward(struct rig *rig, const struct nvdp__batch *batch) {
    return classify(rig, batch, NULL);
}

double rig_backward(struct rig *rig, const struct nvdp__batch *batch) {
    nvdp__zero(&rig->dev, rig->params.total, rig->params.grad);
    return rig_add_backward(rig, batch);
}

double rig_add_backward(struct rig *rig, const struct nvdp__batch *batch) {
    double loss = classify(rig, batch, rig->d_logits);
    nvdp__linear_backward(&rig->dev, batch->texts, rig->bert.config.hidden_size, rig->outputs,
                          rig->cache.pooled, nvdp__value(&rig->params, rig->classifier.weight),
                          rig->d_logits, rig->d_pooled, false,
                          nvdp__grad(&rig->params, rig->classifier.weight),
                          nvdp__grad(&rig->params, rig->classifier.bias));
    nvdp__pooler_backward(&rig->bert, &rig->dev, &rig->params, batch, &rig->cache, rig->d_pooled,
                          rig->d_last);
    nvdp__bert_backward(&rig->bert, &rig->dev, &rig->params, batch, &rig->pass, &rig->cache,
                        rig->d_last);
    return loss;
}

float *rig_download(struct rig *rig, size_t n, const float *tensor) {
    float *host = malloc(n * sizeof *host + 1);
    nvdp__download(&rig->dev, n, tensor, host);
    return host;
}

float *rig_last(struct rig *rig, const struct nvdp__batch *batch) {
    return rig_download(rig, batch->tokens * rig->bert.config.hidden_size,
                        rig->cache.hidden[rig->bert.config.num_hidden_layers]);
}

double rig_difference(size_t n, const float *a, const float *b) {
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - b[i]);
        if (!(difference <= worst)) worst = difference; /* keeps a NaN */
    }
    return worst;
}

static const struct nvdp_tensor_info *need(const struct nvdp_safetensors *file, const char *name) {
    const struct nvdp_tensor_info *info = nvdp_safetensors_find(file, name);
    cr_assert_not_null(info, "no tensor %s", name);
    return info;
}

double *rig_expected(const struct nvdp_safetensors *file, const char *name) {
    const struct nvdp_tensor_info *info = need(file, name);
    double *values = malloc(info->count * sizeof *values);
    nvdp_safetensors_read_f64(info, values);
    return values;
}

int64_t *rig_expected_i64(const struct nvdp_safetensors *file, const char *name) {
    const struct nvdp_tensor_info *info = need(file, name);
    int64_t *values = malloc(info->count * sizeof *values);
    nvdp_safetensors_read_i64(info, values);
    return values;
}

struct nvdp_safetensors *rig_open(struct nvdp_context *ctx, const char *path) {
    struct nvdp_safetensors *file = NULL;
    cr_assert_eq(nvdp_safetensors_open(ctx, path, &file), NVDP_OK, "%s", nvdp_context_error(ctx));
    return file;
}
