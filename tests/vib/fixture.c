/* Implements the fixture of the vib tests. */
#include "fixture.h"
#include "bert_sizes.h"

const struct kind kinds[KINDS] = {{&nvdp__mechanisms_vib[NVDP__VIB_FIXED], NVDP__VTDP_POOL_LAST},
                                  {&nvdp__mechanisms_vib[NVDP__VIB_LEARNED], NVDP__VTDP_POOL_LAST},
                                  {&nvdp__mechanisms_vib[NVDP__VIB_VTDP], NVDP__VTDP_POOL_LAST},
                                  {&nvdp__mechanisms_vib[NVDP__VIB_VTDP], NVDP__VTDP_POOL_FIRST}};

struct nvdp__nvib_config fixture_config(const struct kind *kind) {
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    config.length = LENGTH;
    config.vib.vtdp_pool = kind->vtdp_pool;
    return config;
}

struct nvdp__nvib_config fixture_sequence(const struct kind *kind, int choice) {
    static const double radius[] = {0.4, 3, 100};
    struct nvdp__nvib_config config = fixture_config(kind);
    config.clip.sequence = radius[choice];
    config.vib.sigma = config.stdev_tau = 1;
    return config;
}

static void random_values(struct fixture *fixture, uint64_t seed) {
    for (size_t i = 0; i < fixture->params.count; i++) {
        nvdp__params_normal(&fixture->dev, &fixture->params, i, 0.3, seed);
        if (strstr(fixture->params.entry[i].name, "LayerNorm.weight") == NULL) continue;
        float *value = nvdp__value(&fixture->params, i);
        for (size_t k = 0; k < fixture->params.entry[i].count; k++)
            value[k] += 1;
    }
}

static void plan(struct fixture *fixture) {
    for (int pass = 0; pass < 2; pass++) {
        ok(fixture->mechanism->plan(fixture->vib, &fixture->dev, TOKENS, TEXTS, LENGTH, true,
                                    &fixture->arena));
        if (pass == 0) ok(nvdp__arena_allocate(fixture->ctx, &fixture->arena));
    }
}

static struct nvdp_bert_config encoder(void) {
    struct nvdp_bert_config config = bert_of(.hidden = WIDTH, .layers = 2, .heads = HEADS,
                                             .inner = INNER, .pieces = 10, .longest = 8);
    return config;
}

struct fixture *fixture_build(const struct kind *kind, const struct nvdp__nvib_config *config,
                              uint64_t seed) {
    struct fixture *fixture = support_keep(malloc(sizeof *fixture));
    *fixture = (struct fixture){.ctx = support_context(),
                                .mechanism = kind->mechanism,
                                .offset = {0, 3, 4, TOKENS},
                                .key = {100, 107, 114}};
    struct nvdp_bert_config sizes = encoder();
    void *self = NULL;
    fixture->dev = nvdp__device_cpu(fixture->ctx);
    nvdp__params_init(&fixture->params, fixture->ctx);
    ok(nvdp__bert_declare(&fixture->bert, &sizes, false, &fixture->params));
    ok(kind->mechanism->create(kind->mechanism, fixture->ctx, &fixture->bert, config,
                               &fixture->params, &self));
    fixture->vib = self;
    ok(nvdp__params_allocate(&fixture->params, true));
    random_values(fixture, seed);
    plan(fixture);
    fixture->batch = (struct nvdp__batch){.texts = TEXTS, .tokens = TOKENS, .longest = 4};
    fixture->batch.offset = fixture->offset;
    fixture->batch.key = fixture->key;
    struct nvdp__stream stream = support_stream(seed, 0);
    nvdp__stream_normals(&stream, TOKENS * WIDTH, fixture->hidden);
    return fixture;
}

static struct nvdp__encoded input(const struct fixture *fixture) {
    return (struct nvdp__encoded){&fixture->dev, &fixture->params, &fixture->batch,
                                  fixture->hidden};
}

nvdp_status fixture_try_forward(struct fixture *fixture, const struct nvdp__draw *draw,
                                float **pooled) {
    struct nvdp__encoded in = input(fixture);
    return fixture->mechanism->forward(fixture->vib, &in, draw, pooled);
}

float *fixture_forward(struct fixture *fixture, const struct nvdp__draw *draw) {
    float *pooled = NULL;
    ok(fixture_try_forward(fixture, draw, &pooled));
    return support_keep(pooled);
}

void fixture_backward(struct fixture *fixture, const struct nvdp__penalty *penalty,
                      float *d_pooled) {
    struct nvdp__encoded in = input(fixture);
    fixture->mechanism->backward(fixture->vib, &in, penalty, d_pooled, fixture->d_hidden);
}

struct nvdp__draw fixture_draw(uint64_t seed, uint32_t epoch) {
    return (struct nvdp__draw){
        .noise = {.seed = seed}, .gauss = NVDP__PURPOSE_GAUSS, .epoch = epoch};
}

float *fixture_value(struct fixture *fixture, const char *name) {
    size_t index = nvdp__params_find(&fixture->params, name);
    cr_assert_neq(index, SIZE_MAX, "no tensor %s", name);
    return nvdp__value(&fixture->params, index);
}
