/* Implements the fixture of the nvib tests. */
#include "fixture.h"

struct nvdp__nvib_config fixture_config(size_t length) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    config.length = length;
    return config;
}

struct nvdp__nvib_config fixture_sequence(size_t length, double radius) {
    struct nvdp__nvib_config config = fixture_config(length);
    config.clip.sequence = radius;
    config.stdev_tau = 1;
    config.weights = NVDP__WEIGHTS_CONSTANT;
    return config;
}

struct nvdp__clip_config fixture_clip(double mu_radius, double logvar_min, double logvar_max,
                                      double alpha_min, double alpha_max) {
    return (struct nvdp__clip_config){.sequence = INFINITY,
                                      .word = INFINITY,
                                      .mu_radius = mu_radius,
                                      .logvar_min = logvar_min,
                                      .logvar_max = logvar_max,
                                      .alpha_min = alpha_min,
                                      .alpha_max = alpha_max};
}

static void random_values(struct fixture *f, uint64_t seed) {
    for (size_t i = 0; i < f->params.count; i++) {
        nvdp__params_normal(&f->dev, &f->params, i, 0.3, seed);
        if (strstr(f->params.entry[i].name, "LayerNorm.weight") == NULL) continue;
        float *value = nvdp__value(&f->params, i);
        for (size_t k = 0; k < f->params.entry[i].count; k++)
            value[k] += 1;
    }
}

static void plan_training(struct fixture *f, size_t longest) {
    for (int pass = 0; pass < 2; pass++) {
        ok(nvdp__mechanism_nvdp.plan(f->nvib, &f->dev, f->batch.tokens, f->batch.texts, longest,
                                     true, &f->arena));
        if (pass == 0) ok(nvdp__arena_allocate(f->ctx, &f->arena));
    }
}

struct fixture *fixture_create(const struct nvdp__nvib_config *config, size_t hidden_size,
                               size_t heads, size_t inner, size_t texts, const int32_t *lengths,
                               uint64_t seed) {
    struct fixture *f = support_keep(calloc(1, sizeof *f));
    f->ctx = support_context();
    f->dev = nvdp__device_cpu(f->ctx);
    /* The encoder's parameters are never declared: the mechanism reads only its configuration. */
    f->bert.config = (struct nvdp_bert_config){.hidden_size = hidden_size,
                                               .num_attention_heads = heads,
                                               .intermediate_size = inner,
                                               .layer_norm_eps = 1e-12,
                                               .hidden_act = NVDP_ACTIVATION_GELU};
    nvdp__params_init(&f->params, f->ctx);
    void *self = NULL;
    ok(nvdp__mechanism_nvdp.create(&nvdp__mechanism_nvdp, f->ctx, &f->bert, config, &f->params,
                                   &self));
    f->nvib = self;
    ok(nvdp__params_allocate(&f->params, true));
    random_values(f, seed);
    size_t longest = 0;
    for (size_t b = 0; b < texts; b++) {
        f->offset[b + 1] = f->offset[b] + lengths[b];
        f->key[b] = 100 + 7 * b;
        longest = nvdp__max(longest, (size_t)lengths[b]);
    }
    f->batch = (struct nvdp__batch){.texts = texts,
                                    .tokens = (size_t)f->offset[texts],
                                    .longest = longest,
                                    .offset = f->offset,
                                    .key = f->key};
    plan_training(f, longest);
    f->hidden = calloc(f->batch.tokens * hidden_size, sizeof *f->hidden);
    f->d_hidden = calloc(f->batch.tokens * hidden_size, sizeof *f->d_hidden);
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    nvdp__stream_normals(&stream, f->batch.tokens * hidden_size, f->hidden);
    return f;
}

static struct nvdp__encoded input(const struct fixture *f) {
    return (struct nvdp__encoded){&f->dev, &f->params, &f->batch, f->hidden};
}

nvdp_status fixture_forward(struct fixture *f, const struct nvdp__draw *draw, float **pooled) {
    struct nvdp__encoded in = input(f);
    return nvdp__mechanism_nvdp.forward(f->nvib, &in, draw, pooled);
}

void fixture_backward(struct fixture *f, const struct nvdp__penalty *penalty, float *d_pooled) {
    struct nvdp__encoded in = input(f);
    nvdp__mechanism_nvdp.backward(f->nvib, &in, penalty, d_pooled, f->d_hidden);
}

void fixture_losses(struct fixture *f, double *loss_g, double *loss_d) {
    const struct nvdp__nvib *nvib = f->nvib;
    const struct nvdp__kl kl = {.which = nvib->gauss.config.regularizer, .of = nvib->gauss.form};
    if (!nvib->gauss.form.weights) {
        nvdp__gaussian_losses(&f->dev, kl.which, 0, nvib->gauss.rows.texts,
                              nvib->gauss.rows.source_offset, &nvib->gauss.posterior, NULL, loss_g);
        memset(loss_d, 0, nvib->gauss.rows.texts * sizeof *loss_d);
        return;
    }
    nvdp__kl_losses(&f->dev, &kl, nvib->gauss.rows.texts, nvib->gauss.rows.source_offset,
                    &nvib->gauss.posterior, NULL, loss_g, loss_d);
}

struct nvdp__draw fixture_draw(uint64_t seed, uint32_t epoch) {
    return (struct nvdp__draw){.noise = {.seed = seed},
                               .gauss = NVDP__PURPOSE_GAUSS,
                               .gamma = NVDP__PURPOSE_GAMMA,
                               .epoch = epoch};
}

float *fixture_pooled(struct fixture *f, const struct nvdp__draw *draw) {
    float *pooled = NULL;
    ok(fixture_forward(f, draw, &pooled));
    return pooled;
}

struct nvdp__sample fixture_sample(const struct fixture *f) {
    return nvdp__mechanism_nvdp.view(f->nvib).sample;
}

float *fixture_value(struct fixture *f, const char *name, size_t *count) {
    size_t index = nvdp__params_find(&f->params, name);
    cr_assert_neq(index, SIZE_MAX, "no tensor %s", name);
    if (count != NULL) *count = f->params.entry[index].count;
    return nvdp__value(&f->params, index);
}
