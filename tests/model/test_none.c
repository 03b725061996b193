/* Tests the trivial mechanism: BERT's pooler as the encoder computes it, and its gradients. */
#include "gradient.h"
#include "model_test.h"

#include "test_context.h"

enum { WIDTH = 8, TEXTS = 2, TOKENS = 5 };

static const struct nvdp__mechanism *none(void) {
    return nvdp__method_row(NVDP_METHOD_BASE)->mechanism;
}

struct fixture {
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

static void build(struct fixture *fixture) {
    *fixture = (struct fixture){.ctx = support_context(), .offset = {0, 3, 5}};
    fixture->dev = nvdp__device_cpu(fixture->ctx);
    struct nvdp_bert_config bert =
        bert_of(.hidden = WIDTH, .layers = 1, .heads = 2, .inner = 16, .pieces = 10, .longest = 8);
    nvdp__params_init(&fixture->params, fixture->ctx);
    ok(nvdp__bert_declare(&fixture->bert, &bert, true, &fixture->params));
    ok(none()->create(NULL, fixture->ctx, &fixture->bert, NULL, &fixture->params, &fixture->self));
    ok(nvdp__params_allocate(&fixture->params, true));
    for (size_t i = 0; i < fixture->params.count; i++)
        nvdp__params_normal(&fixture->dev, &fixture->params, i, 0.4, 5);
    for (int pass = 0; pass < 2; pass++) {
        ok(none()->plan(fixture->self, &fixture->dev, TOKENS, TEXTS, 3, true, &fixture->arena));
        if (pass == 0) ok(nvdp__arena_allocate(fixture->ctx, &fixture->arena));
    }
    fixture->batch = (struct nvdp__batch){
        .texts = TEXTS, .tokens = TOKENS, .longest = 3, .offset = fixture->offset};
    struct nvdp__stream stream = support_stream(12, 0);
    nvdp__stream_normals(&stream, TOKENS * WIDTH, fixture->hidden);
}

static void release(struct fixture *fixture) {
    none()->release(fixture->self);
    nvdp__arena_release(&fixture->arena);
    nvdp__bert_release(&fixture->bert);
    nvdp__params_release(&fixture->params);
}

/* Returns sum_b (1 + i) tanh(W h_first + b)_i in double. */
static double loss(struct fixture *fixture, const double *w, const double *b,
                   const double *hidden) {
    double total = 0;
    for (size_t t = 0; t < TEXTS; t++) {
        for (size_t i = 0; i < WIDTH; i++) {
            double y = b[i];
            for (size_t k = 0; k < WIDTH; k++)
                y += w[i * WIDTH + k] * hidden[(size_t)fixture->offset[t] * WIDTH + k];
            total += (double)(1 + i) * tanh(y);
        }
    }
    return total;
}

struct point {
    struct fixture *fixture;
    double w[WIDTH * WIDTH], b[WIDTH], hidden[TOKENS * WIDTH];
};

static double loss_at(void *user) {
    struct point *at = user;
    return loss(at->fixture, at->w, at->b, at->hidden);
}

Test(none, pooler_and_gradients) {
    nvdp__auto(release) struct fixture fixture;
    build(&fixture);
    const struct nvdp__encoded in = {&fixture.dev, &fixture.params, &fixture.batch, fixture.hidden};
    float *pooled = NULL;
    ok(none()->forward(fixture.self, &in, NULL, &pooled));
    cr_expect_eq(none()->view(fixture.self).width, WIDTH);
    struct point at = {.fixture = &fixture};
    double total = 0;
    for (size_t i = 0; i < WIDTH * WIDTH; i++)
        at.w[i] = nvdp__value(&fixture.params, fixture.bert.pooler.weight)[i];
    for (size_t i = 0; i < WIDTH; i++)
        at.b[i] = nvdp__value(&fixture.params, fixture.bert.pooler.bias)[i];
    double loss_g[TEXTS] = {1, 1}, loss_d[TEXTS] = {1, 1};
    float d_pooled[TEXTS * WIDTH], d_hidden[TOKENS * WIDTH];
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
        at.hidden[i] = fixture.hidden[i];
    for (size_t i = 0; i < TEXTS * WIDTH; i++) {
        d_pooled[i] = (float)(1 + i % WIDTH);
        total += d_pooled[i] * pooled[i];
    }
    near(total, loss_at(&at), 1e-4);
    none()->backward(fixture.self, &in, &(struct nvdp__penalty){0, 0, loss_g, loss_d}, d_pooled,
                     d_hidden);
    cr_expect(loss_g[1] == 0 && loss_d[1] == 0);
    support_expect_gradient("w", loss_at, &at, WIDTH * WIDTH,
                            nvdp__grad(&fixture.params, fixture.bert.pooler.weight), at.w, 1e-5);
    support_expect_gradient("b", loss_at, &at, WIDTH,
                            nvdp__grad(&fixture.params, fixture.bert.pooler.bias), at.b, 1e-5);
    support_expect_gradient("hidden", loss_at, &at, TOKENS * WIDTH, d_hidden, at.hidden, 1e-5);
}

Test(none, has_nothing_private) {
    nvdp__auto(release) struct fixture fixture;
    build(&fixture);
    float *pooled = NULL;
    const struct nvdp__encoded in = {&fixture.dev, &fixture.params, &fixture.batch, fixture.hidden};
    ok(none()->forward(fixture.self, &in, NULL, &pooled));
    const struct nvdp__sample sample = none()->view(fixture.self).sample;
    cr_expect_eq(sample.rows, 0);
    cr_expect_null(none()->view(fixture.self).posterior);
    cr_expect_eq(none()->infer(fixture.self, &in), NVDP_ERR_ARGUMENT);
    cr_expect_str_eq(nvdp_context_error(fixture.ctx), "method base has no posterior");
    cr_expect_eq(
        none()->forward_sample(fixture.self, &fixture.dev, &fixture.params, &sample, &pooled),
        NVDP_ERR_ARGUMENT);
}

/* Without a pooler only the states of words can be read. */
Test(none, needs_the_pooler) {
    struct nvdp__bert bert = {.has_pooler = false};
    struct nvdp__params params;
    struct nvdp__batch batch = {.texts = 1};
    struct nvdp__encoded in = {.batch = &batch};
    struct nvdp__arena arena = {0};
    nvdp__params_init(&params, ctx);
    void *self = NULL;
    float *pooled = NULL;
    ok(none()->create(NULL, ctx, &bert, NULL, &params, &self));
    ok(none()->plan(self, NULL, 1, 1, 1, true, &arena));
    cr_expect_eq(nvdp__arena_floats(&arena), 0);
    cr_expect_eq(none()->forward(self, &in, NULL, &pooled), NVDP_ERR_STATE);
    cr_expect_null(pooled);
    none()->release(self);
}
