/* Initial values, and the layer that they make. */
#include "bert_sizes.h"
#include "encoder/checkpoint.h"
#include "encoder/row.h"
#include "fixture.h"
#include "flat_operations.h"

#include "test_context.h"

enum { WIDTH = 16, HEADS = 4, INNER = 32, TOKENS = 9 };

/* An encoder of one layer with an nvdp bottleneck on it. */
struct setup {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__bert bert;
    struct nvdp__nvib *nvib;
};

static struct setup *build(const struct nvdp__nvib_config *config) {
    struct setup *setup = support_keep(calloc(1, sizeof *setup));
    setup->ctx = support_context();
    setup->dev = nvdp__device_cpu(setup->ctx);
    struct nvdp_bert_config bert = bert_of(.hidden = WIDTH, .layers = 1, .heads = HEADS,
                                           .inner = INNER, .pieces = 20, .longest = 16);
    nvdp__params_init(&setup->params, setup->ctx);
    ok(nvdp__bert_declare(&setup->bert, &bert, false, &setup->params));
    void *self;
    ok(nvdp__mechanism_nvdp.create(&nvdp__mechanism_nvdp, setup->ctx, &setup->bert, config,
                                   &setup->params, &self));
    setup->nvib = self;
    ok(nvdp__params_allocate(&setup->params, true));
    setup->bert.row->initialize(&setup->bert, &setup->dev, &setup->params, 3);
    return setup;
}

static nvdp_status initialize(struct setup *setup, size_t rows, const float *hidden) {
    return nvdp__mechanism_nvdp.initialize(setup->nvib, &setup->dev, &setup->params, 1, rows,
                                           hidden);
}

/* Checks that rows are orthogonal and of length 1. */
static void orthonormal(size_t rows, size_t dim, const float *map) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j <= i; j++) {
            double dot = 0;
            for (size_t k = 0; k < dim; k++)
                dot += map[i * dim + k] * map[j * dim + k];
            near(dot, i == j, 1e-6);
        }
}

static const float *value(struct setup *setup, const char *name, size_t *count) {
    size_t index = nvdp__params_find(&setup->params, name);
    cr_assert_neq(index, SIZE_MAX, "no tensor %s", name);
    if (count != NULL) *count = setup->params.entry[index].count;
    return nvdp__value(&setup->params, index);
}

Test(init, variance_starts_inside_the_clip_set) {
    struct nvdp__nvib_config config = fixture_config(8);
    config.stdev_tau = 0.1; /* log variance -4.6 */
    config.clip.logvar_min = -2;
    config.clip.logvar_max = 0;
    size_t count;
    struct setup *setup = build(&config);
    ok(initialize(setup, 0, NULL));
    const float *bias = value(setup, "nvib.logvar.bias", &count);
    for (size_t i = 0; i < count; i++)
        near(bias[i], -1.95, 1e-6);
}

Test(init, full_width) {
    struct nvdp__nvib_config config = fixture_config(8);
    config.mu_tau = 0.5;
    struct setup *setup = build(&config);
    ok(initialize(setup, 0, NULL));
    const float *w = value(setup, "nvib.mu.weight", NULL);
    for (size_t i = 0; i < WIDTH * WIDTH; i++)
        cr_expect_eq(w[i], i / WIDTH == i % WIDTH ? 0.5f : 0.0f);
    near(value(setup, "nvib.logvar.bias", NULL)[3], 2 * log(0.1), 1e-6);
    cr_expect_eq(value(setup, "nvib.logvar.weight", NULL)[3], 0);
    cr_expect_eq(value(setup, "nvib.alpha.bias", NULL)[0], -10);
    cr_expect_eq(value(setup, "nvib.alpha.weight", NULL)[0], 0);
    cr_expect_eq(value(setup, "nvib.alpha.quadratic", NULL)[0], 0.25f); /* 1/(2 sqrt(4)) */
    static const char *const copied[] = {"attention.self.query.weight",
                                         "attention.self.key.bias",
                                         "attention.self.value.weight",
                                         "attention.output.dense.weight",
                                         "attention.output.LayerNorm.weight",
                                         "intermediate.dense.weight",
                                         "output.dense.weight",
                                         "output.LayerNorm.bias"};
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        size_t count, other;
        const char *from = support_path("bert.encoder.layer.0.%s", copied[i]);
        const char *to = support_path("nvdp.%s", copied[i]);
        const float *x = value(setup, from, &count);
        const float *y = value(setup, to, &other);
        cr_assert_eq(count, other);
        cr_expect_arr_eq(x, y, count * sizeof *x, "%s", to);
    }
    for (size_t i = 0; i < setup->params.count; i++) {
        const struct nvdp__param *entry = &setup->params.entry[i];
        if (strncmp(entry->name, "nv", 2) != 0) continue;
        cr_expect(entry->flags & NVDP__PARAM_OPTIONAL, "%s", entry->name);
    }
}

/* p < d: rows of W_mu are orthogonal, of one length, and span the directions in which the hidden
 * states vary. The means are centered and of size mu_tau. */
Test(init, principal_directions) {
    enum { P = 4, ROWS = 200 };
    struct nvdp__nvib_config config = fixture_config(8);
    config.latent_dim = P;
    struct setup *setup = build(&config);
    cr_expect_eq(setup->nvib->block.inner, 4 * P);
    /* Rows: a mean, strong factors in 4 random directions, weak noise in the others. */
    nvdp__autofree float *hidden = calloc(ROWS * WIDTH, sizeof *hidden);
    float factor[P * WIDTH], load[P], noise_row[WIDTH];
    struct nvdp__noise noise = {.seed = 2};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    nvdp__stream_normals(&stream, P * WIDTH, factor);
    for (size_t r = 0; r < ROWS; r++) {
        nvdp__stream_normals(&stream, P, load);
        nvdp__stream_normals(&stream, WIDTH, noise_row);
        for (size_t i = 0; i < WIDTH; i++) {
            hidden[r * WIDTH + i] = 10 + 1e-3f * noise_row[i];
            for (size_t k = 0; k < P; k++)
                hidden[r * WIDTH + i] += load[k] * factor[k * WIDTH + i];
        }
    }
    ok(initialize(setup, ROWS, hidden));
    const float *w = value(setup, "nvib.mu.weight", NULL);
    double unit = 1;
    for (size_t i = 0; i < P; i++) {
        for (size_t j = 0; j < P; j++) {
            double dot = 0;
            for (size_t k = 0; k < WIDTH; k++)
                dot += w[i * WIDTH + k] * w[j * WIDTH + k];
            if (i == 0 && j == 0) unit = dot; /* one factor for all rows */
            near(dot / unit, i == j, 1e-5);
        }
    }
    const float *b = value(setup, "nvib.mu.bias", NULL);
    double mean[P] = {0}, square = 0;
    for (size_t i = 0; i < P; i++) {
        for (size_t r = 0; r < ROWS; r++) {
            double mu = b[i];
            for (size_t k = 0; k < WIDTH; k++)
                mu += (double)w[i * WIDTH + k] * (double)hidden[r * WIDTH + k];
            mean[i] += mu / ROWS;
            square += mu * mu / (ROWS * P);
        }
        /* mean of coordinates near 1, from states of mean 10 sqrt(8) */
        near(mean[i], 0, 1e-4);
    }
    near(square, 1, 1e-4);
    for (size_t f = 0; f < P; f++) { /* each factor lies in the span: noise is 1e-3 of it */
        double norm = 0, inside = 0;
        for (size_t i = 0; i < P; i++) {
            double dot = 0;
            for (size_t k = 0; k < WIDTH; k++)
                dot += w[i * WIDTH + k] * factor[f * WIDTH + k];
            inside += dot * dot / unit;
        }
        for (size_t k = 0; k < WIDTH; k++)
            norm += factor[f * WIDTH + k] * factor[f * WIDTH + k];
        near(inside / norm, 1, 1e-4);
    }
    near(value(setup, "nvib.alpha.quadratic", NULL)[0], 0.25 / 2, 1e-7);
    hidden[5 * WIDTH] = NAN;
    fails(initialize(setup, ROWS, hidden), NVDP_ERR_NUMERIC, "row 5");
}

/* A few directions of many are found by iteration: variances 1, 1/2, 1/4, ... along known
 * orthonormal directions (a Hadamard matrix's rows) and 0 along the others, so that the subspace
 * is degenerate too. Tolerance: float32 hidden states. */
Test(init, leading_directions_of_many) {
    enum { DIM = 64, P = 4, ROWS = 128 };
    static float hidden[ROWS * DIM], map[P * DIM];
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t i = 0; i < DIM; i++) {
            hidden[r * DIM + i] = 3;
            for (size_t k = 0; k < 6; k++) { /* loads: +- sd, uncorrelated over the rows */
                double load = exp2(-0.5 * (double)k) * (__builtin_parityll(r & (k + 1)) ? -1 : 1);
                double direction = (__builtin_parityll(i & (5 * k + 3)) ? -1 : 1) / 8.0;
                hidden[r * DIM + i] += (float)(load * direction);
            }
        }
    }
    ok(nvdp__pca_map(ctx, ROWS, DIM, P, hidden, 9, map));
    for (size_t k = 0; k < P; k++) {
        double along = 0;
        for (size_t i = 0; i < DIM; i++)
            along += map[k * DIM + i] * (__builtin_parityll(i & (5 * k + 3)) ? -1 : 1) / 8.0;
        near(fabs(along), 1, 1e-6, "direction %zu: %g", k, along);
    }
    /* Equal rows vary in no direction; the map is still orthonormal. */
    for (size_t i = 0; i < ROWS * DIM; i++)
        hidden[i] = (float)(i % DIM);
    ok(nvdp__pca_map(ctx, ROWS, DIM, P, hidden, 9, map));
    orthonormal(P, DIM, map);
}

/* Too few rows: a random orthonormal map, the same for the same seed. */
Test(init, random_map) {
    enum { P = 5 };
    float hidden[4 * WIDTH] = {0}, map[P * WIDTH], again[P * WIDTH], other[P * WIDTH];
    ok(nvdp__pca_map(ctx, 4, WIDTH, P, hidden, 9, map));
    ok(nvdp__pca_map(ctx, 4, WIDTH, P, hidden, 9, again));
    ok(nvdp__pca_map(ctx, 0, WIDTH, P, NULL, 10, other));
    cr_expect_arr_eq(map, again, sizeof map);
    cr_expect_neq(memcmp(map, other, sizeof map), 0);
    orthonormal(P, WIDTH, map);
}

/* Every allocation of create, plan and initialize may fail, cleanly. */
Test(init, out_of_memory) {
    struct nvdp__nvib_config config = fixture_config(8);
    config.latent_dim = 4;
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    struct nvdp__bert bert = {.config = nvdp__bert_config_default()};
    bert.config.hidden_size = WIDTH;
    bert.config.num_attention_heads = HEADS;
    float hidden[TOKENS * WIDTH] = {0};
    bool done = false;
    for (uint64_t k = 1; !done; k++) {
        nvdp__auto(nvdp__params_release) struct nvdp__params params;
        struct nvdp__arena arena = {0};
        void *self = NULL;
        cr_assert_lt(k, 100);
        nvdp__params_init(&params, ctx);
        nvdp__fail_allocation(ctx, k);
        nvdp_status status =
            nvdp__mechanism_nvdp.create(&nvdp__mechanism_nvdp, ctx, &bert, &config, &params, &self);
        if (status == NVDP_OK) status = nvdp__params_allocate(&params, false);
        if (status == NVDP_OK)
            status = nvdp__mechanism_nvdp.plan(self, &dev, 8, 2, 4, false, &arena);
        if (status == NVDP_OK)
            status = nvdp__mechanism_nvdp.initialize(self, &dev, &params, 1, TOKENS, hidden);
        done = status == NVDP_OK;
        if (!done) cr_expect_eq(status, NVDP_ERR_MEMORY);
        nvdp__fail_allocation(ctx, 0);
        nvdp__mechanism_nvdp.release(self);
    }
}

/* Ordinary attention over the tokens, no residual: the layer that the block becomes (next test). */
static void ordinary(struct setup *setup, size_t n, const float *x, float *u) {
    const struct nvdp__sealed_block *b = &setup->nvib->block;
    const struct nvdp__params *params = &setup->params;
    const struct nvdp__device *dev = &setup->dev;
    float q[TOKENS * WIDTH], k[TOKENS * WIDTH], v[TOKENS * WIDTH], context[TOKENS * WIDTH];
    float lse[TOKENS * HEADS], mean[TOKENS], rstd[TOKENS], wide[TOKENS * INNER];
    const struct nvdp__dense *const dense[3] = {&b->query, &b->key, &b->value};
    float *to[3] = {q, k, v};
    for (size_t i = 0; i < 3; i++)
        nvdp__linear_forward(dev, n, WIDTH, WIDTH, x, nvdp__value(params, dense[i]->weight),
                             nvdp__value(params, dense[i]->bias), to[i]);
    int32_t offset[2] = {0, (int32_t)n};
    nvdp__autofree float *scratch =
        calloc(nvdp__attend_scratch(dev, NVDP__F32, n, n, WIDTH / HEADS), sizeof *scratch);
    struct nvdp__attention att = {.groups = 1,
                                  .heads = HEADS,
                                  .scale = 0.5f,
                                  .q_offset = offset,
                                  .k_offset = offset,
                                  .q = nvdp__f32(n, WIDTH, q),
                                  .k = nvdp__f32(n, WIDTH, k),
                                  .v = nvdp__f32(n, WIDTH, v),
                                  .out = nvdp__f32(n, WIDTH, context),
                                  .lse = lse,
                                  .scratch = scratch};
    nvdp__attend_forward(dev, &att);
    nvdp__linear_forward(dev, n, WIDTH, WIDTH, context,
                         nvdp__value(params, b->attention_output.weight),
                         nvdp__value(params, b->attention_output.bias), q);
    nvdp__layernorm_forward(dev, n, WIDTH, b->eps, q, NULL,
                            nvdp__value(params, b->attention_norm.weight),
                            nvdp__value(params, b->attention_norm.bias), NULL, k, mean, rstd);
    nvdp__linear_forward(dev, n, WIDTH, INNER, k, nvdp__value(params, b->intermediate.weight),
                         nvdp__value(params, b->intermediate.bias), wide);
    nvdp__act_forward(dev, NVDP__ACT_GELU, n * INNER, wide, wide);
    nvdp__linear_forward(dev, n, INNER, WIDTH, wide, nvdp__value(params, b->output.weight),
                         nvdp__value(params, b->output.bias), v);
    nvdp__layernorm_forward(dev, n, WIDTH, b->eps, v, k, nvdp__value(params, b->output_norm.weight),
                            nvdp__value(params, b->output_norm.bias), v, u, mean, rstd);
}

/* With stdev_tau -> 0 and alpha_tau large, z is x, and log pi_j - |z_j|^2/(2 sqrt h) is the same
 * for every token. The block is then BERT's attention without its residual (Fehr & Henderson
 * 2024). Tolerance: with pseudo-counts of at least e^17, the relative standard deviation of a weight
 * is about e^-8.5 = 2e-4. The standard deviation of the Gaussian noise is 1e-6. */
Test(init, the_block_starts_as_ordinary_attention) {
    struct nvdp__nvib_config config = fixture_config(TOKENS);
    config.stdev_tau = 1e-6;
    config.alpha_tau = 17;
    config.length_policy = NVDP_LENGTH_PUBLIC;
    config.pool = NVDP_POOL_FIRST;
    struct setup *setup = build(&config);
    for (size_t i = 0; i < setup->params.count; i++) { /* sharper attention than 0.02 gives */
        const struct nvdp__param *entry = &setup->params.entry[i];
        if (strstr(entry->name, "LayerNorm") == NULL)
            nvdp__params_normal(&setup->dev, &setup->params, i, 0.4, 6);
    }
    ok(initialize(setup, 0, NULL));
    nvdp__auto(nvdp__arena_release) struct nvdp__arena arena = {0};
    for (int pass = 0; pass < 2; pass++) {
        ok(nvdp__mechanism_nvdp.plan(setup->nvib, &setup->dev, TOKENS, 1, TOKENS, false, &arena));
        if (pass == 0) ok(nvdp__arena_allocate(setup->ctx, &arena));
    }
    float x[TOKENS * WIDTH], want[TOKENS * WIDTH];
    struct nvdp__noise noise = {.seed = 12};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
    nvdp__stream_normals(&stream, TOKENS * WIDTH, x);
    int32_t offset[2] = {0, TOKENS};
    uint64_t key[1] = {0};
    struct nvdp__batch batch = {
        .texts = 1, .tokens = TOKENS, .longest = TOKENS, .offset = offset, .key = key};
    struct nvdp__draw draw = fixture_draw(1, 0);
    float *pooled;
    ok(nvdp__mechanism_nvdp.forward(setup->nvib,
                                    &(struct nvdp__encoded){&setup->dev, &setup->params, &batch, x},
                                    &draw, &pooled));
    ordinary(setup, TOKENS, x, want);
    double first[WIDTH];
    for (size_t i = 0; i < WIDTH; i++)
        first[i] = want[i];
    cr_expect_lt(support_norm_error(WIDTH, pooled, first), 1e-3);
}
