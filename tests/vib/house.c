#include "house.h"

#include "support.h"
#include <criterion/criterion.h>
#include <string.h>

const struct kind kinds[KINDS] = {{&nvdp__mechanisms_vib[NVDP__VIB_FIXED], NVDP__VTDP_POOL_LAST},
                                  {&nvdp__mechanisms_vib[NVDP__VIB_LEARNED], NVDP__VTDP_POOL_LAST},
                                  {&nvdp__mechanisms_vib[NVDP__VIB_VTDP], NVDP__VTDP_POOL_LAST},
                                  {&nvdp__mechanisms_vib[NVDP__VIB_VTDP], NVDP__VTDP_POOL_FIRST}};

struct nvdp__nvib_config house_config(const struct kind *kind) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    config.length = LENGTH;
    config.vib.vtdp_pool = kind->vtdp_pool;
    return config;
}

static void random_values(struct house *house, uint64_t seed) {
    for (size_t i = 0; i < house->params.count; i++) {
        nvdp__params_normal(&house->dev, &house->params, i, 0.3, seed);
        if (strstr(house->params.entry[i].name, "LayerNorm.weight") == NULL) continue;
        float *value = nvdp__value(&house->params, i);
        for (size_t k = 0; k < house->params.entry[i].count; k++) {
            value[k] += 1;
        }
    }
}

static void plan(struct house *house) {
    for (int pass = 0; pass < 2; pass++) {
        cr_assert_eq(house->mechanism->plan(house->vib, &house->dev, TOKENS, TEXTS, LENGTH, true,
                                            &house->arena),
                     NVDP_OK, "%s", nvdp_context_error(house->ctx));
        if (pass == 0) cr_assert_eq(nvdp__arena_allocate(house->ctx, &house->arena), NVDP_OK);
    }
}

static struct nvdp_bert_config encoder(void) {
    struct nvdp_bert_config config = nvdp_bert_config_default();
    config.hidden_size = WIDTH;
    config.num_attention_heads = HEADS;
    config.intermediate_size = INNER;
    config.num_hidden_layers = 2;
    config.vocab_size = 10;
    config.max_position_embeddings = 8;
    return config;
}

void house_build(struct house *house, const struct kind *kind,
                 const struct nvdp__nvib_config *config, uint64_t seed) {
    *house = (struct house){.ctx = support_context(),
                            .mechanism = kind->mechanism,
                            .offset = {0, 3, 4, TOKENS},
                            .key = {100, 107, 114}};
    struct nvdp_bert_config sizes = encoder();
    void *self = NULL;
    house->dev = nvdp__device_cpu(house->ctx);
    nvdp__params_init(&house->params, house->ctx);
    cr_assert_eq(nvdp__bert_declare(&house->bert, &sizes, false, &house->params), NVDP_OK);
    cr_assert_eq(kind->mechanism->create(kind->mechanism, house->ctx, &house->bert, config,
                                         &house->params, &self),
                 NVDP_OK, "%s", nvdp_context_error(house->ctx));
    house->vib = self;
    cr_assert_eq(nvdp__params_allocate(&house->params, true), NVDP_OK);
    random_values(house, seed);
    plan(house);
    house->batch = (struct nvdp__batch){
        .texts = TEXTS, .tokens = TOKENS, .longest = 4, .offset = house->offset, .key = house->key};
    struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    nvdp__stream_normals(&stream, TOKENS * WIDTH, house->hidden);
}

void house_free(struct house *house) {
    house->mechanism->release(house->vib);
    nvdp__bert_release(&house->bert);
    nvdp__params_release(&house->params);
    nvdp__arena_release(&house->arena);
    nvdp_context_free(house->ctx);
}

static struct nvdp__encoded input(const struct house *house) {
    return (struct nvdp__encoded){&house->dev, &house->params, &house->batch, house->hidden};
}

nvdp_status house_try_forward(struct house *house, const struct nvdp__draw *draw, float **pooled) {
    struct nvdp__encoded in = input(house);
    return house->mechanism->forward(house->vib, &in, draw, pooled);
}

float *house_forward(struct house *house, const struct nvdp__draw *draw) {
    float *pooled = NULL;
    cr_assert_eq(house_try_forward(house, draw, &pooled), NVDP_OK, "%s",
                 nvdp_context_error(house->ctx));
    return pooled;
}

void house_backward(struct house *house, const struct nvdp__penalty *penalty, float *d_pooled) {
    struct nvdp__encoded in = input(house);
    house->mechanism->backward(house->vib, &in, penalty, d_pooled, house->d_hidden);
}

struct nvdp__draw house_draw(uint64_t seed, uint32_t epoch) {
    return (struct nvdp__draw){
        .noise = {.seed = seed}, .gauss = NVDP__PURPOSE_GAUSS, .epoch = epoch};
}

float *house_value(struct house *house, const char *name) {
    size_t index = nvdp__params_find(&house->params, name);
    cr_assert_neq(index, SIZE_MAX, "no tensor %s", name);
    return nvdp__value(&house->params, index);
}
