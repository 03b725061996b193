/* An encoder with pooler and classifier for tests (encoder.h): creation, batches, passes, and
 * comparison with expected values. */
#include "encoder.h"
#include "bert_sizes.h"

#include "flat_operations.h"
#include "plain_encoder.h"

struct nvdp_bert_config encoder_config(void) {
    struct nvdp_bert_config config =
        bert_of(.hidden = 12, .layers = 2, .heads = 3, .inner = 20, .pieces = 31, .longest = 17);
    config.type_vocab_size = 2;
    return config;
}

struct nvdp_bert_config encoder_of_type(enum nvdp_model_type type, struct nvdp_bert_config config) {
    config.model_type = type;
    config.pad_token_id = nvdp__encoder_row(type)->pad_token_id % (int64_t)config.vocab_size;
    config.embedding_size = config.hidden_size - 5;
    config.local_attention = 4;
    config.global_attn_every_n_layers = 2;
    return config;
}

int encoder_next_type(int type) {
    do
        type++;
    while (nvdp__encoders[type] != NULL &&
           (nvdp__encoders[type]->over_words != NULL || nvdp__encoders[type]->bare_texts));
    return nvdp__encoders[type] != NULL ? type : -1;
}

struct nvdp_bert_config encoder_bilstm(void) {
    struct nvdp_bert_config config = encoder_config();
    config.hidden_size = 11;
    config =
        nvdp__encoder_find("bilstm")->over_words(&config, &(struct nvdp__over_words){.units = 5});
    config.max_position_embeddings = 17;
    return config;
}

struct encoder *encoder_create(const struct nvdp_bert_config *config, size_t outputs, bool training,
                               bool keep_hidden) {
    return encoder_create_in(NVDP_PRECISION_F32, config, outputs, training, keep_hidden);
}

struct encoder *encoder_create_in(enum nvdp_precision precision,
                                  const struct nvdp_bert_config *config, size_t outputs,
                                  bool training, bool keep_hidden) {
    struct encoder *encoder = support_keep(calloc(1, sizeof *encoder));
    encoder->ctx = support_context();
    nvdp_context_set_precision(encoder->ctx, precision);
    if (precision == NVDP_PRECISION_BF16) support_bf16(encoder->ctx);
    ok(nvdp__bert_device(encoder->ctx, config, &encoder->dev));
    encoder->outputs = outputs;
    nvdp__params_init(&encoder->params, encoder->ctx);
    ok(nvdp__bert_declare(&encoder->bert, config, true, &encoder->params));
    if (outputs > 0)
        ok(nvdp__declare_dense(&encoder->params, nvdp__names(config->model_type)->classifier,
                               outputs, config->hidden_size, NVDP__PARAM_OPTIONAL,
                               &encoder->classifier));
    ok(nvdp__params_allocate(&encoder->params, training));
    ok(nvdp__bert_cache_create(encoder->ctx, &encoder->bert,
                               training      ? NVDP__KEEP_TRAINING
                               : keep_hidden ? NVDP__KEEP_HIDDEN
                                             : NVDP__KEEP_LAST,
                               &encoder->cache));
    return support_keep(encoder);
}

static void take(struct encoder *encoder, size_t texts, size_t longest) {
    size_t dim = encoder->bert.config.hidden_size;
    nvdp__bert_plan(&encoder->bert, &encoder->dev, texts * longest, texts, longest, &encoder->arena,
                    &encoder->cache);
    encoder->logits = nvdp__arena_take(&encoder->arena, texts * encoder->outputs);
    encoder->d_logits = nvdp__arena_take(&encoder->arena, texts * encoder->outputs);
    encoder->d_pooled = nvdp__arena_take(&encoder->arena, texts * dim);
    encoder->d_last =
        nvdp__arena_take(&encoder->arena, nvdp__padded_rows(&encoder->dev, texts * longest) * dim);
}

void encoder_plan(struct encoder *encoder, size_t texts, size_t longest) {
    nvdp__arena_release(&encoder->arena);
    encoder->arena = (struct nvdp__arena){0};
    take(encoder, texts, longest);
    ok(nvdp__arena_allocate(encoder->ctx, &encoder->arena));
    take(encoder, texts, longest);
}

void encoder_randomize(struct encoder *encoder, double sd, uint64_t seed) {
    for (size_t i = 0; i < encoder->params.count; i++) {
        nvdp__params_normal(&encoder->dev, &encoder->params, i, sd, seed);
        if (strcasestr(encoder->params.entry[i].name, "norm.weight") == NULL) continue;
        size_t n = encoder->params.entry[i].count;
        float *value = encoder_download(encoder, n, nvdp__value(&encoder->params, i));
        for (size_t k = 0; k < n; k++) {
            value[k] += 1;
        }
        nvdp__upload(&encoder->dev, n, value, nvdp__value(&encoder->params, i));
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

struct nvdp__batch *encoder_batch(struct encoder *encoder, size_t texts, const size_t *lengths,
                                  uint64_t seed) {
    struct nvdp__batch *batch = NULL;
    size_t longest = encoder->bert.config.max_position_embeddings;
    ok(nvdp__batch_create(encoder->ctx, texts, longest, &batch));
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    for (size_t i = 0; i < texts; i++) {
        for (size_t t = 0; t < lengths[i]; t++) {
            int32_t id = (int32_t)nvdp__stream_below(&stream, encoder->bert.config.vocab_size);
            add_token(batch, id, 2 * t >= lengths[i], (int32_t)t);
        }
        end_text(batch,
                 encoder->outputs > 0 ? (float)nvdp__stream_below(&stream, encoder->outputs) : 0);
    }
    return support_keep(batch);
}

struct nvdp__batch *encoder_one_text(struct encoder *encoder, const struct nvdp__batch *batch,
                                     size_t index) {
    struct nvdp__batch *one = NULL;
    ok(nvdp__batch_create(encoder->ctx, 1, batch->longest, &one));
    for (int32_t t = batch->offset[index]; t < batch->offset[index + 1]; t++) {
        add_token(one, batch->ids[t], batch->types[t], batch->positions[t]);
    }
    end_text(one, batch->label[index]);
    return support_keep(one);
}

struct nvdp__batch *encoder_pack(struct encoder *encoder, size_t texts, size_t width,
                                 const int64_t *ids, const int64_t *types, const int64_t *mask,
                                 const int64_t *label) {
    struct nvdp__batch *batch = NULL;
    ok(nvdp__batch_create(encoder->ctx, texts, width, &batch));
    for (size_t i = 0; i < texts; i++) {
        for (size_t t = 0; t < width; t++) {
            size_t at = i * width + t;
            if (mask[at] != 0) add_token(batch, (int32_t)ids[at], (int32_t)types[at], (int32_t)t);
        }
        end_text(batch, (float)label[i]);
    }
    return support_keep(batch);
}

static double classify(struct encoder *encoder, const struct nvdp__batch *batch, float *d_logits) {
    (encoder->plain ? plain_bert_forward : nvdp__bert_forward)(
        &encoder->bert, &encoder->dev, &encoder->params, batch, &encoder->pass, &encoder->cache);
    (encoder->plain ? plain_pooler_forward : nvdp__pooler_forward)(
        &encoder->bert, &encoder->dev, &encoder->params, batch,
        encoder->cache.hidden[encoder->bert.config.num_hidden_layers], &encoder->cache.pooler);
    nvdp__linear_forward(&encoder->dev, batch->texts, encoder->bert.config.hidden_size,
                         encoder->outputs, encoder->cache.pooler.pooled,
                         nvdp__value(&encoder->params, encoder->classifier.weight),
                         nvdp__value(&encoder->params, encoder->classifier.bias), encoder->logits);
    return nvdp__cross_entropy(&encoder->dev, batch->texts, encoder->outputs, encoder->logits,
                               batch->label, 1, d_logits);
}

double encoder_forward(struct encoder *encoder, const struct nvdp__batch *batch) {
    return classify(encoder, batch, NULL);
}

double encoder_backward(struct encoder *encoder, const struct nvdp__batch *batch) {
    nvdp__zero(&encoder->dev, encoder->params.total, encoder->params.grad);
    return encoder_add_backward(encoder, batch);
}

double encoder_add_backward(struct encoder *encoder, const struct nvdp__batch *batch) {
    double loss = classify(encoder, batch, encoder->d_logits);
    nvdp__linear_backward(&encoder->dev, batch->texts, encoder->bert.config.hidden_size,
                          encoder->outputs, encoder->cache.pooler.pooled,
                          nvdp__value(&encoder->params, encoder->classifier.weight),
                          encoder->d_logits, encoder->d_pooled, false,
                          nvdp__grad(&encoder->params, encoder->classifier.weight),
                          nvdp__grad(&encoder->params, encoder->classifier.bias));
    (encoder->plain ? plain_pooler_backward : nvdp__pooler_backward)(
        &encoder->bert, &encoder->dev, &encoder->params, batch, &encoder->cache.pooler,
        encoder->d_pooled, encoder->d_last);
    (encoder->plain ? plain_bert_backward
                    : nvdp__bert_backward)(&encoder->bert, &encoder->dev, &encoder->params, batch,
                                           &encoder->pass, &encoder->cache, encoder->d_last);
    return loss;
}

float *encoder_download(struct encoder *encoder, size_t n, const float *tensor) {
    float *host = malloc(n * sizeof *host + 1);
    nvdp__download(&encoder->dev, n, tensor, host);
    return support_keep(host);
}

float *encoder_last(struct encoder *encoder, const struct nvdp__batch *batch) {
    return encoder_download(encoder, batch->tokens * encoder->bert.config.hidden_size,
                            encoder->cache.hidden[encoder->bert.config.num_hidden_layers]);
}

double encoder_difference(size_t n, const float *a, const float *b) {
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double difference = fabs((double)a[i] - b[i]);
        if (!(difference <= worst)) worst = difference; /* keeps a NaN */
    }
    return worst;
}

static const struct nvdp__tensor_info *need(const struct nvdp__safetensors *file,
                                            const char *name) {
    const struct nvdp__tensor_info *info = nvdp__safetensors_find(file, name);
    cr_assert_not_null(info, "no tensor %s", name);
    return info;
}

double *encoder_expected(const struct nvdp__safetensors *file, const char *name) {
    const struct nvdp__tensor_info *info = need(file, name);
    double *values = malloc(info->count * sizeof *values);
    support_read_f64(info, values);
    return support_keep(values);
}

int64_t *encoder_expected_i64(const struct nvdp__safetensors *file, const char *name) {
    const struct nvdp__tensor_info *info = need(file, name);
    int64_t *values = malloc(info->count * sizeof *values);
    support_read_i64(info, values);
    return support_keep(values);
}

struct nvdp__safetensors *encoder_open(struct nvdp_context *ctx, const char *path) {
    struct nvdp__safetensors *file = NULL;
    ok(nvdp__safetensors_open(ctx, path, &file));
    return support_keep(file);
}
