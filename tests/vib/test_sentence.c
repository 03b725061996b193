/* Method sentence: the norm of every mean, its direction, and the texts without one. */
#include "encoder/row.h"
#include "nvib/nvib.h"
#include "support.h"
#include "vib/vib.h"

#include "test_context.h"

enum { WIDTH = 24, TEXTS = 40, TOKENS = 5, EMPTY = 2 };

struct made {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__bert bert;
    struct nvdp__params params;
    struct nvdp__arena arena;
    struct nvdp__batch *batch;
    struct nvdp_posteriors *posteriors;
    void *self;
    float hidden[TEXTS * TOKENS * WIDTH];
};
static const struct nvdp__mechanism *const mechanism = &nvdp__mechanism_sentence;

/* Random states; the center is random, and the map too. */
static struct made *build(double clip, size_t dim, enum nvdp_pool pool) {
    struct made *m = support_keep(calloc(1, sizeof *m));
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    m->ctx = support_context();
    ok(nvdp_bert_config_default(m->ctx, &bert));
    bert.hidden_size = WIDTH;
    bert.num_attention_heads = 2;
    bert.intermediate_size = bert.vocab_size = 30;
    bert.num_hidden_layers = 1;
    config.clip.sequence = clip;
    config.stdev_tau = config.length = 1;
    config.latent_dim = dim;
    config.pool = pool;
    ok(nvdp__bert_device(m->ctx, &bert, &m->dev));
    nvdp__params_init(&m->params, m->ctx);
    ok(nvdp__bert_declare(&m->bert, &bert, false, &m->params));
    ok(mechanism->create(mechanism, m->ctx, &m->bert, &config, &m->params, &m->self));
    ok(nvdp__params_allocate(&m->params, false));
    for (size_t i = 0; i < m->params.count; i++)
        nvdp__params_normal(&m->dev, &m->params, i, .1, 7);
    const float empty = EMPTY;
    nvdp__upload(&m->dev, 1, &empty,
                 nvdp__value(&m->params, nvdp__params_find(&m->params, NVDP__SENTENCE_EMPTY)));
    for (int pass = 0; pass < 2; pass++) {
        ok(mechanism->plan(m->self, &m->dev, TEXTS * TOKENS, TEXTS, TOKENS, false, &m->arena));
        if (pass == 0) ok(nvdp__arena_allocate(m->ctx, &m->arena));
    }
    ok(nvdp__batch_create(m->ctx, TEXTS, TOKENS, &m->batch));
    nvdp__batch_clear(m->batch);
    for (size_t i = 0; i < TEXTS; i++) {
        const size_t tokens = i == 0 ? EMPTY : TOKENS;
        for (size_t t = 0; t < tokens; t++)
            nvdp__batch_put(m->batch, 1);
        nvdp__batch_end(m->batch, i);
    }
    struct nvdp__noise noise = {.seed = 3};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_INIT, 0, 0);
    double normal[TEXTS * TOKENS * WIDTH];
    nvdp__stream_normals_f64(&stream, TEXTS * TOKENS * WIDTH, normal);
    for (size_t i = 0; i < TEXTS * TOKENS * WIDTH; i++)
        m->hidden[i] = (float)normal[i];
    ok(nvdp_posteriors_create(m->ctx, TEXTS, TEXTS, dim, false, &m->posteriors));
    for (size_t i = 0; i <= TEXTS; i++)
        m->posteriors->offset[i] = i;
    return m;
}

/* States of text i. */
static float *states(struct made *m, size_t i) {
    return m->hidden + (size_t)m->batch->offset[i] * WIDTH;
}

static const double *infer(struct made *m) {
    const struct nvdp__encoded in = {&m->dev, &m->params, m->batch, m->hidden};
    ok(mechanism->infer(m->self, &in));
    ok(nvdp__posterior_store(m->ctx, mechanism->view(m->self).posterior, 0, m->posteriors));
    return m->posteriors->mu;
}

static double norm(size_t n, const double *x) {
    long double square = 0;
    for (size_t i = 0; i < n; i++)
        square += (long double)x[i] * x[i];
    return (double)sqrtl(square);
}

static void fill(float *x, float value) {
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
        x[i] = value * (float)(i % 7);
}

/* For every text the norm is C, up to the margin of the clip, and never above C. */
Test(sentence, every_norm_is_the_clip) {
    static const double clips[] = {.01, .8330148, 3, 5, 12, 1000};
    for (size_t k = 0; k < sizeof clips / sizeof *clips; k++) {
        for (size_t dim = 4; dim <= WIDTH; dim += WIDTH - 4) {
            struct made *m = build(clips[k], dim, k % 2 ? NVDP_POOL_MEAN : NVDP_POOL_FIRST);
            fill(states(m, 1), 0x1p-100f); /* tiny, large, none, and no numbers */
            fill(states(m, 2), 0x1p100f);
            fill(states(m, 3), 0);
            fill(states(m, 4), NAN);
            fill(states(m, 5), INFINITY);
            fill(states(m, 6), -0x1p-140f);
            const double *mu = infer(m);
            for (size_t i = 0; i < TEXTS; i++) {
                const double found = norm(dim, mu + i * dim);
                cr_assert_leq(found, clips[k], "text %zu: %.17g > %g", i, found, clips[k]);
                if (i == 0 || (i >= 3 && i <= 5))
                    cr_expect_eq(found, 0, "text %zu: %g", i, found);
                else
                    cr_expect_geq(found, clips[k] * (1 - 0x1p-20), "text %zu: %g", i, found);
                for (size_t j = 0; j < dim; j++)
                    cr_assert_eq(m->posteriors->logvar[i * dim + j], 0);
            }
            cr_expect_eq(mechanism->replaced(m->self), 2);
        }
    }
}

/* The direction is that of A (s/|s| - m), in double. */
Test(sentence, direction) {
    struct made *m = build(5, 4, NVDP_POOL_MEAN);
    const float *center =
        nvdp__value(&m->params, nvdp__params_find(&m->params, NVDP__SENTENCE_CENTER));
    const float *map = nvdp__value(&m->params, nvdp__params_find(&m->params, NVDP__SENTENCE_MAP));
    const double *mu = infer(m);
    for (size_t i = 1; i < TEXTS; i++) {
        double s[WIDTH] = {0}, v[4] = {0};
        for (size_t t = 0; t < TOKENS; t++)
            for (size_t d = 0; d < WIDTH; d++)
                s[d] += states(m, i)[t * WIDTH + d] / (double)TOKENS;
        const double length = norm(WIDTH, s);
        for (size_t j = 0; j < 4; j++)
            for (size_t d = 0; d < WIDTH; d++)
                v[j] += (double)map[j * WIDTH + d] * (s[d] / length - center[d]);
        for (size_t j = 0; j < 4; j++) /* rounding of float states and products */
            near(mu[i * 4 + j], 5 * v[j] / norm(4, v), 2e-5);
    }
}

Test(sentence, options) {
    const struct nvdp_bert_config bert = {.hidden_size = WIDTH, .num_attention_heads = 2};
    struct nvdp__nvib_config config = nvdp__nvib_config_default();
    config.stdev_tau = config.length = 1;
    fails(mechanism->resolve(mechanism, ctx, &bert, &config), NVDP_ERR_ARGUMENT, "clip-sequence");
    config.clip.sequence = 3;
    config.latent_dim = WIDTH + 1;
    fails(mechanism->resolve(mechanism, ctx, &bert, &config), NVDP_ERR_ARGUMENT, "--latent-dim");
    config.latent_dim = 0;
    ok(mechanism->resolve(mechanism, ctx, &bert, &config));
    cr_expect_eq(config.latent_dim, WIDTH);
    cr_expect_eq(config.pool, NVDP_POOL_MEAN);
}
