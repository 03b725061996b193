/* The trivial mechanism: BERT's pooler as the encoder computes it, and its gradients. */
#include "model/model.h"
#include "support.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 8, TEXTS = 2, TOKENS = 5 };

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
    cr_assert_eq(nvdp__method_mechanism(NVDP_METHOD_BASE)
                     ->create(NULL, house->ctx, &house->bert, NULL, &house->params, &house->self),
                 NVDP_OK);
    cr_assert_eq(nvdp__params_allocate(&house->params, true), NVDP_OK);
    for (size_t i = 0; i < house->params.count; i++) {
        nvdp__params_normal(&house->dev, &house->params, i, 0.4, 5);
    }
    for (int pass = 0; pass < 2; pass++) {
        cr_assert_eq(nvdp__method_mechanism(NVDP_METHOD_BASE)
                         ->plan(house->self, &house->dev, TOKENS, TEXTS, 3, true, &house->arena),
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
    nvdp__method_mechanism(NVDP_METHOD_BASE)->release(house->self);
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

static void compare(struct house *house, double *w, double *b, double *hidden, size_t n,
                    double *place, const float *got) {
    double want[WIDTH * WIDTH];
    for (size_t i = 0; i < n; i++) {
        double here = place[i];
        place[i] = here + 1e-5;
        double up = loss(house, w, b, hidden);
        place[i] = here - 1e-5;
        double down = loss(house, w, b, hidden);
        place[i] = here;
        want[i] = (up - down) / 2e-5;
    }
    cr_expect_lt(support_norm_error(n, got, want), 1e-5); /* float32 */
}

Test(none, pooler_and_gradients) {
    struct house house;
    build(&house);
    float *pooled = NULL;
    cr_assert_eq(nvdp__method_mechanism(NVDP_METHOD_BASE)
                     ->forward(house.self, &house.dev, &house.params, &house.batch, NULL,
                               house.hidden, &pooled),
                 NVDP_OK);
    cr_expect_eq(nvdp__method_mechanism(NVDP_METHOD_BASE)->width(house.self), WIDTH);
    double w[WIDTH * WIDTH], b[WIDTH], hidden[TOKENS * WIDTH], total = 0;
    for (size_t i = 0; i < WIDTH * WIDTH; i++) {
        w[i] = nvdp__value(&house.params, house.bert.pooler.weight)[i];
    }
    for (size_t i = 0; i < WIDTH; i++) {
        b[i] = nvdp__value(&house.params, house.bert.pooler.bias)[i];
    }
    float d_pooled[TEXTS * WIDTH], d_hidden[TOKENS * WIDTH];
    for (size_t i = 0; i < TOKENS * WIDTH; i++) {
        hidden[i] = house.hidden[i];
    }
    for (size_t i = 0; i < TEXTS * WIDTH; i++) {
        d_pooled[i] = (float)(1 + i % WIDTH);
        total += d_pooled[i] * pooled[i];
    }
    cr_expect_float_eq(total, loss(&house, w, b, hidden), 1e-4);
    nvdp__method_mechanism(NVDP_METHOD_BASE)
        ->backward(house.self, &house.dev, &house.params, &house.batch, house.hidden, 0, 0,
                   d_pooled, d_hidden);
    compare(&house, w, b, hidden, WIDTH * WIDTH, w,
            nvdp__grad(&house.params, house.bert.pooler.weight));
    compare(&house, w, b, hidden, WIDTH, b, nvdp__grad(&house.params, house.bert.pooler.bias));
    compare(&house, w, b, hidden, TOKENS * WIDTH, hidden, d_hidden);
    demolish(&house);
}

Test(none, has_nothing_private) {
    struct house house;
    build(&house);
    float *pooled = NULL;
    struct nvdp__sample sample;
    double loss_g[TEXTS] = {1, 1}, loss_d[TEXTS] = {1, 1};
    cr_assert_eq(nvdp__method_mechanism(NVDP_METHOD_BASE)
                     ->forward(house.self, &house.dev, &house.params, &house.batch, NULL,
                               house.hidden, &pooled),
                 NVDP_OK);
    nvdp__method_mechanism(NVDP_METHOD_BASE)->sample(house.self, &sample);
    cr_expect_eq(sample.rows, 0);
    nvdp__method_mechanism(NVDP_METHOD_BASE)->losses(house.self, &house.dev, loss_g, loss_d);
    cr_expect(loss_g[1] == 0 && loss_d[1] == 0);
    cr_expect_eq(nvdp__method_mechanism(NVDP_METHOD_BASE)
                     ->posterior(house.self, &house.dev, &house.batch, 0, NULL),
                 NVDP_ERR_ARGUMENT);
    cr_expect_str_eq(nvdp_context_error(house.ctx), "method base has no posterior");
    cr_expect_eq(nvdp__method_mechanism(NVDP_METHOD_BASE)
                     ->forward_sample(house.self, &house.dev, &house.params, &sample, &pooled),
                 NVDP_ERR_ARGUMENT);
    demolish(&house);
}

Test(none, needs_the_pooler) {
    struct nvdp_context *ctx = support_context();
    struct nvdp__bert bert = {.has_pooler = false};
    struct nvdp__params params;
    nvdp__params_init(&params, ctx);
    void *self = NULL;
    cr_expect_eq(
        nvdp__method_mechanism(NVDP_METHOD_BASE)->create(NULL, ctx, &bert, NULL, &params, &self),
        NVDP_ERR_STATE);
    cr_expect_null(self);
    nvdp_context_free(ctx);
}
