/* A module that Python's tests load: one training pass of a mechanism with given parameters, states
 * and noise, so that other implementations can be compared with it number by number.
 *
 * hook_open, then fill the arrays of hook_array and hook_value, then hook_run, then read. All
 * arrays are float32 and live until hook_close. */
#include "encoder/checkpoint.h"
#include "mechanism/mechanism.h"
#include "nvib/nvib.h"
#include "vib/vib.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define HOOK __attribute__((visibility("default")))

enum array { HIDDEN, D_HIDDEN, EPS, LOG_GAMMA, D_POOLED, POOLED, Z, LOG_PI, ARRAYS };

struct hook {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    const struct nvdp__mechanism *mechanism;
    struct nvdp__bert bert;
    struct nvdp__params params;
    struct nvdp__arena arena;
    struct nvdp__batch batch;
    void *self;
    int32_t *offset;
    uint64_t *key;
    size_t rows, pooled_width;
    float *array[ARRAYS];
    double *loss; /* [2, texts] L_G, then L_D */
};

struct hook *hook_open(const char *method, const char *nvib, size_t width, size_t heads,
                       size_t inner, size_t texts, const int32_t *lengths);
size_t hook_count(const struct hook *h, enum array which);
float *hook_array(struct hook *h, enum array which);
size_t hook_tensors(const struct hook *h);
const char *hook_name(const struct hook *h, size_t i);
size_t hook_size(const struct hook *h, size_t i);
float *hook_value(struct hook *h, size_t i);
float *hook_gradient(struct hook *h, size_t i);
const double *hook_losses(const struct hook *h);
void hook_initialize(struct hook *h, size_t rows, const float *hidden);
int hook_run(struct hook *h, double weight_g, double weight_d);
const char *hook_error(const struct hook *h);
void hook_close(struct hook *h);

HOOK const char *hook_error(const struct hook *h) {
    return nvdp_context_error(h->ctx);
}

/* The encoder of which a mechanism reads the sizes and, for its initial values, the last layer. */
static nvdp_status declare_encoder(struct hook *h, size_t width, size_t heads, size_t inner) {
    struct nvdp_bert_config config = nvdp__bert_config_default();
    config.hidden_size = width;
    config.num_attention_heads = heads;
    config.intermediate_size = inner;
    config.num_hidden_layers = 1;
    config.vocab_size = 10;
    config.max_position_embeddings = 64;
    return nvdp__bert_declare(&h->bert, &config, false, &h->params);
}

static nvdp_status plan(struct hook *h) {
    for (int pass = 0; pass < 2; pass++) {
        NVDP_TRY(h->mechanism->plan(h->self, &h->dev, h->batch.tokens, h->batch.texts,
                                    h->batch.longest, true, &h->arena));
        if (pass == 0) NVDP_TRY(nvdp__arena_allocate(h->ctx, &h->arena));
    }
    return NVDP_OK;
}

static nvdp_status fill(struct hook *h, const struct nvdp__method *row, const char *nvib,
                        size_t width, size_t heads, size_t inner) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    json_t *object = json_loads(nvib, 0, NULL);
    nvdp_status status = nvdp__schema_read(h->ctx, "nvib", object, &nvdp__nvib_schema, &config);
    json_decref(object);
    NVDP_TRY(status);
    h->mechanism = row->mechanism;
    h->dev = nvdp__device_cpu(h->ctx);
    nvdp__params_init(&h->params, h->ctx);
    NVDP_TRY(declare_encoder(h, width, heads, inner));
    NVDP_TRY(h->mechanism->create(h->mechanism, h->ctx, &h->bert, &config, &h->params, &h->self));
    NVDP_TRY(nvdp__params_allocate(&h->params, true));
    NVDP_TRY(plan(h));
    const struct nvdp__form form = h->mechanism->view(h->self).form;
    for (size_t b = 0; b < h->batch.texts; b++)
        h->rows +=
            nvdp__form_rows(&form, form.single ? 1 : (size_t)(h->offset[b + 1] - h->offset[b]));
    h->pooled_width = h->mechanism->view(h->self).width;
    for (enum array i = 0; i < ARRAYS; i++)
        h->array[i] = calloc(hook_count(h, i), sizeof(float));
    h->loss = calloc(2 * h->batch.texts, sizeof *h->loss);
    return NVDP_OK;
}

/* Opens a pass over `texts` texts. nvib: the resolved options, as JSON. NULL: no such method, or
 * its options do not fit. */
HOOK struct hook *hook_open(const char *method, const char *nvib, size_t width, size_t heads,
                            size_t inner, size_t texts, const int32_t *lengths) {
    const struct nvdp__method *row = nvdp__method_named(method);
    struct hook *h = calloc(1, sizeof *h);
    if (row == NULL || nvdp_context_create(&h->ctx) != NVDP_OK) {
        free(h);
        return NULL;
    }
    h->offset = calloc(texts + 1, sizeof *h->offset);
    h->key = calloc(texts, sizeof *h->key);
    h->batch = (struct nvdp__batch){.texts = texts, .offset = h->offset, .key = h->key};
    for (size_t b = 0; b < texts; b++) {
        h->offset[b + 1] = h->offset[b] + lengths[b];
        if ((size_t)lengths[b] > h->batch.longest) h->batch.longest = (size_t)lengths[b];
    }
    h->batch.tokens = (size_t)h->offset[texts];
    if (fill(h, row, nvib, width, heads, inner) == NVDP_OK) return h;
    fprintf(stderr, "hook: %s\n", hook_error(h));
    hook_close(h);
    return NULL;
}

HOOK void hook_close(struct hook *h) {
    if (h->self != NULL) h->mechanism->release(h->self);
    nvdp__bert_release(&h->bert);
    nvdp__params_release(&h->params);
    nvdp__arena_release(&h->arena);
    nvdp_context_free(h->ctx);
    for (enum array i = 0; i < ARRAYS; i++)
        free(h->array[i]);
    free(h->loss);
    free(h->offset);
    free(h->key);
    free(h);
}

HOOK size_t hook_count(const struct hook *h, enum array which) {
    const size_t tokens = h->batch.tokens * h->bert.config.hidden_size;
    const size_t dim = h->pooled_width;
    const size_t count[ARRAYS] = {[HIDDEN] = tokens,
                                  [D_HIDDEN] = tokens,
                                  [EPS] = h->rows * dim,
                                  [LOG_GAMMA] = h->rows,
                                  [D_POOLED] = h->batch.texts * dim,
                                  [POOLED] = h->batch.texts * dim,
                                  [Z] = h->rows * dim,
                                  [LOG_PI] = h->rows};
    return count[which];
}

HOOK float *hook_array(struct hook *h, enum array which) {
    return h->array[which];
}

HOOK size_t hook_tensors(const struct hook *h) {
    return h->params.count;
}

HOOK const char *hook_name(const struct hook *h, size_t i) {
    return h->params.entry[i].name;
}

HOOK size_t hook_size(const struct hook *h, size_t i) {
    return h->params.entry[i].count;
}

HOOK float *hook_value(struct hook *h, size_t i) {
    return nvdp__value(&h->params, i);
}

HOOK float *hook_gradient(struct hook *h, size_t i) {
    return nvdp__grad(&h->params, i);
}

HOOK const double *hook_losses(const struct hook *h) {
    return h->loss;
}

/* Sets initial values from a sample of hidden states [rows, width]. */
HOOK void hook_initialize(struct hook *h, size_t rows, const float *hidden) {
    h->mechanism->initialize(h->self, &h->dev, &h->params, 1, rows, hidden);
}

/* Computes POOLED, Z, LOG_PI, the losses, and the gradients of
 * D_POOLED.POOLED + weight_g sum(L_G) + weight_d sum(L_D). */
HOOK int hook_run(struct hook *h, double weight_g, double weight_d) {
    const struct nvdp__encoded in = {&h->dev, &h->params, &h->batch, h->array[HIDDEN]};
    const struct nvdp__draw draw = {.eps = h->array[EPS], .log_gamma = h->array[LOG_GAMMA]};
    const struct nvdp__penalty penalty = {weight_g, weight_d, h->loss, h->loss + h->batch.texts};
    const size_t n = hook_count(h, POOLED);
    float *pooled = NULL;
    nvdp__zero(&h->dev, h->params.total, h->params.grad);
    nvdp_status status = h->mechanism->forward(h->self, &in, &draw, &pooled);
    if (status != NVDP_OK) return (int)status;
    const struct nvdp__sample sample = h->mechanism->view(h->self).sample;
    memcpy(h->array[POOLED], pooled, n * sizeof *pooled);
    memcpy(h->array[Z], sample.z, hook_count(h, Z) * sizeof *pooled);
    if (sample.log_pi != NULL) memcpy(h->array[LOG_PI], sample.log_pi, h->rows * sizeof *pooled);
    h->mechanism->backward(h->self, &in, &penalty, h->array[D_POOLED], h->array[D_HIDDEN]);
    return NVDP_OK;
}
