/* The trivial mechanism: BERT's pooler as the encoder computes it, and its gradients. */
#include "gradient.h"
#include "model/model.h"
#include "support.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 8, TEXTS = 2, TOKENS = 5 };

static const struct nvdp__mechanism *none(void) {
    return nvdp__method_mechanism(NVDP_METHOD_BASE);
}

struct house {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert;
    struct nvdp__arena arena;
    void *self;
    int32_t offset[TEXTS + 1];
    struct nvdp__batch batch;
    float hidden[TOKENS * WIDTH];
};

static void build(struct house *house) {
    *house = (struct house){.ctx = support_context(), .offset = {0, 3, 5}};
    house->dev = nvdp__device_cpu(house->ctx);
    struct nvdp_bert_config bert = nvdp_bert_config_default();
    bert.hidden_size = WIDTH;
    bert.num_attention_heads = 2;
    bert.intermediate_size = 16;
    bert.num_hidden_layers = 1;
    bert.vocab_size = 10;
    bert.max_position_embeddings = 8;
    nvdp__params_init(&house->params, house->ctx);
    cr_assert_eq(nvdp__bert_declare(&house->bert, &bert, true, &house->params), NVDP_OK);
    cr_assert_eq(none()->create(NULL, house->ctx, &house->bert, NULL, &house->params, &house->self),
                 NVDP_OK);
    cr_assert_eq(nvdp__params_allocate(&house->params, true), NVDP_OK);
    for (size_t i = 0; i < house->params.count; i++) {
        nvdp__params_normal(&house->dev, &house->params, i, 0.4, 5);
    }
    for (int pass = 0; pass < 2; pass++) {
        cr_assert_eq(none()->plan(house->self, &house->dev, TOKENS, TEXTS, 3, true, &house->arena),
                     NVDP_OK);
        if (pass == 0) cr_assert_eq(nvdp__arena_allocate(house->ctx, &house->arena), NVDP_OK);
    }
    house->batch = (struct nvdp__batch){
        .texts = TEXTS, .tokens = TOKENS, .longest = 3, .offset = house->offset};
    struct nvdp__noise noise = {.seed = 12};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    nvdp__stream_normals(&stream, TOKENS * WIDTH, house->hidden);
}

static void demolish(struct house *house) {
    none()->release(house->self);
    nvdp__arena_release(&house->arena);
    nvdp__bert_release(&house->bert);
    nvdp__params_release(&house->params);
    nvdp_context_free(house->ctx);
}

/* sum_b (1 + i) tanh(W h_first + b)_i in double. */
static double loss(struct house *house, const double *w, const double *b, const double *hidden) {
    double total = 0;
    for (size_t t = 0; t < TEXTS; t++) {
        for (size_t i = 0; i < WIDTH; i++) {
            double y = b[i];
            for (size_t k = 0; k < WIDTH; k++) {
                y += w[i * WIDTH + k] * hidden[(size_t)house->offset[t] * WIDTH + k];
            }
            total += (double)(1 + i) * tanh(y);
        }
    }
    return total;
}

struct point {
    struct house *house;
    double w[WIDTH * WIDTH], b[WIDTH], hidden[TOKENS * WIDTH];
};

static double loss_at(void *user) {
    struct point *at = user;
    return loss(at->house, at->w, at->b, at->hidden);
}

Test(none, pooler_and_gradients) {
    struct house house;
    build(&house);
    float *pooled = NULL;
    cr_assert_eq(none()->forward(
                     house.self,
                     &(struct nvdp__encoded){&house.dev, &house.params, &house.batch, house.hidden},
                     NULL, &pooled),
                 NVDP_OK);
    cr_expect_eq(none()->width(house.self), WIDTH);
    struct point at = {.house = &house};
    double total = 0;
    for (size_t i = 0; i < WIDTH * WIDTH; i++) {
        at.w[i] = nvdp__value(&house.params, house.bert.pooler.weight)[i];
    }
    for (size_t i = 0; i < WIDTH; i++) {
        at.b[i] = nvdp__value(&house.params, house.bert.pooler.bias)[i];
    }
    double loss_g[TEXTS] = {1, 1}, loss_d[TEXTS] = {1, 1};
    float d_pooled[TEXTS * WIDTH], d_hidden[TOKENS * WIDTH];
    for (size_t i = 0; i < TOKENS * WIDTH; i++) {
        at.hidden[i] = house.hidden[i];
    }
    for (size_t i = 0; i < TEXTS * WIDTH; i++) {
        d_pooled[i] = (float)(1 + i % WIDTH);
        total += d_pooled[i] * pooled[i];
    }
    cr_expect_float_eq(total, loss_at(&at), 1e-4);
    none()->backward(house.self,
                     &(struct nvdp__encoded){&house.dev, &house.params, &house.batch, house.hidden},
                     &(struct nvdp__penalty){0, 0, loss_g, loss_d}, d_pooled, d_hidden);
    cr_expect(loss_g[1] == 0 && loss_d[1] == 0);
    support_expect_gradient("w", loss_at, &at, WIDTH * WIDTH,
                            nvdp__grad(&house.params, house.bert.pooler.weight), at.w, 1e-5);
    support_expect_gradient("b", loss_at, &at, WIDTH,
                            nvdp__grad(&house.params, house.bert.pooler.bias), at.b, 1e-5);
    support_expect_gradient("hidden", loss_at, &at, TOKENS * WIDTH, d_hidden, at.hidden, 1e-5);
    demolish(&house);
}

Test(none, has_nothing_private) {
    struct house house;
    build(&house);
    float *pooled = NULL;
    struct nvdp__sample sample;
    cr_assert_eq(none()->forward(
                     house.self,
                     &(struct nvdp__encoded){&house.dev, &house.params, &house.batch, house.hidden},
                     NULL, &pooled),
                 NVDP_OK);
    none()->sample(house.self, &sample);
    cr_expect_eq(sample.rows, 0);
    cr_expect_eq(none()->posterior(house.self, 0, NULL), NVDP_ERR_ARGUMENT);
    cr_expect_str_eq(nvdp_context_error(house.ctx), "method base has no posterior");
    cr_expect_eq(none()->forward_sample(house.self, &house.dev, &house.params, &sample, &pooled),
                 NVDP_ERR_ARGUMENT);
    demolish(&house);
}

Test(none, needs_the_pooler) {
    struct nvdp_context *ctx = support_context();
    struct nvdp__bert bert = {.has_pooler = false};
    struct nvdp__params params;
    nvdp__params_init(&params, ctx);
    void *self = NULL;
    cr_expect_eq(none()->create(NULL, ctx, &bert, NULL, &params, &self), NVDP_ERR_STATE);
    cr_expect_null(self);
    nvdp_context_free(ctx);
}
