/* Without noise the mechanisms are plain models. */
#include "fixture.h"

static const int32_t ids[TOKENS] = {1, 5, 2, 3, 4, 4, 9, 6};
static const int32_t positions[TOKENS] = {0, 1, 2, 0, 0, 1, 2, 3};
static const int32_t types[TOKENS] = {0};

/* Runs a plain encoder with `layers` layers on the fixture's texts and returns its last hidden
 * states. Its tensors are the fixture's; the layer above the fixture's own is the mechanism's. */
static void encode(struct fixture *fixture, size_t layers, float *out) {
    nvdp__auto(nvdp__params_release) struct nvdp__params params;
    struct nvdp__bert bert = {0};
    nvdp__auto(nvdp__bert_cache_release) struct nvdp__bert_cache cache = {0};
    struct nvdp__arena arena = {0};
    struct nvdp_bert_config config = fixture->bert.config;
    const struct nvdp__pass pass = {.training = false};
    struct nvdp__batch batch = fixture->batch;
    batch.ids = (int32_t *)ids;
    batch.positions = (int32_t *)positions;
    batch.types = (int32_t *)types;
    config.num_hidden_layers = layers;
    nvdp__params_init(&params, fixture->ctx);
    ok(nvdp__bert_declare(&bert, &config, false, &params));
    ok(nvdp__params_allocate(&params, false));
    for (size_t i = 0; i < params.count; i++) {
        const char *name = params.entry[i].name;
        const char *own = "bert.encoder.layer.2.";
        bool above = strncmp(name, own, strlen(own)) == 0;
        const char *other = support_path("vtdp.%s", above ? name + strlen(own) : "");
        memcpy(nvdp__value(&params, i), fixture_value(fixture, above ? other : name),
               params.entry[i].count * sizeof(float));
    }
    ok(nvdp__bert_cache_create(fixture->ctx, &bert, NVDP__KEEP_LAST, &cache));
    for (int pass_over = 0; pass_over < 2; pass_over++) {
        nvdp__bert_plan(&bert, &fixture->dev, TOKENS, TEXTS, LENGTH, &arena, &cache);
        if (pass_over == 0) ok(nvdp__arena_allocate(fixture->ctx, &arena));
    }
    nvdp__bert_forward(&bert, &fixture->dev, &params, &batch, &pass, &cache);
    memcpy(out, cache.hidden[layers], TOKENS * WIDTH * sizeof *out);
    nvdp__bert_release(&bert);
    nvdp__arena_release(&arena);
}

/* Computes W x + b in double. */
static void means_of(struct fixture *fixture, const float *x, double *out) {
    const float *w = fixture_value(fixture, "vib.mu.weight");
    const float *b = fixture_value(fixture, "vib.mu.bias");
    for (size_t i = 0; i < WIDTH; i++) {
        out[i] = b[i];
        for (size_t k = 0; k < WIDTH; k++)
            out[i] += (double)w[i * WIDTH + k] * x[k];
    }
}

/* Computes the vectors that a model without noise would give its classifier. */
static void plain(struct fixture *fixture, const float *states, double *out) {
    memset(out, 0, TEXTS * WIDTH * sizeof *out);
    for (size_t b = 0; b < TEXTS; b++) {
        size_t first = (size_t)fixture->offset[b], end = (size_t)fixture->offset[b + 1];
        if (fixture->vib->gauss.config.pool == NVDP_POOL_FIRST) end = first + 1;
        for (size_t t = first; t < end; t++) {
            double mu[WIDTH];
            means_of(fixture, states + t * WIDTH, mu);
            for (size_t i = 0; i < WIDTH; i++)
                out[b * WIDTH + i] += mu[i] / (double)(end - first);
        }
    }
}

static void silence(struct fixture *fixture) {
    for (size_t i = 0; i < fixture->params.count; i++) {
        const char *name = fixture->params.entry[i].name;
        if (strncmp(name, "vib.rho", 7) != 0) continue;
        bool weight = strstr(name, "weight") != NULL;
        nvdp__params_fill(&fixture->dev, &fixture->params, i, weight ? 0 : -60);
    }
}

/* For sigma -> 0, vtdp is an encoder with one layer more and vib the plain pooled classifier.
 * Tolerance 1e-5: two float32 layers with the same order of operations. */
Test(equivalence, without_noise_a_plain_model) {
    for (size_t k = 0; k < KINDS; k++) {
        for (enum nvdp_pool pool = NVDP_POOL_FIRST; pool <= NVDP_POOL_MEAN; pool++) {
            struct nvdp__nvib_config config = fixture_config(&kinds[k]);
            config.pool = pool;
            config.vib.sigma = 1e-9;
            config.length_policy = NVDP_LENGTH_PUBLIC; /* padding is noise for every sigma */
            struct fixture *fixture = fixture_build(&kinds[k], &config, 70 + k);
            silence(fixture);
            float states[TOKENS * WIDTH];
            double want[TEXTS * WIDTH];
            encode(fixture, 2, fixture->hidden);
            encode(fixture, fixture->vib->which == NVDP__VIB_VTDP ? 3 : 2, states);
            plain(fixture, states, want);
            struct nvdp__draw draw = fixture_draw(3, 0);
            float *pooled = fixture_forward(fixture, &draw);
            cr_expect_lt(support_norm_error(TEXTS * WIDTH, pooled, want), 1e-5, "%s, pool %d",
                         fixture->mechanism->name, (int)pool);
        }
    }
}

/* At first, means are the encoder's states, sigma is stdev_tau, and the further layer equals the
 * encoder's last. */
Test(equivalence, initial_values) {
    for (size_t k = 0; k < KINDS; k++) {
        struct nvdp__nvib_config config = fixture_config(&kinds[k]);
        config.mu_tau = 0.5;
        config.stdev_tau = 0.3;
        struct fixture *fixture = fixture_build(&kinds[k], &config, 80);
        ok(fixture->mechanism->initialize(fixture->vib, &fixture->dev, &fixture->params, 1, 0,
                                          NULL));
        const float *w = fixture_value(fixture, "vib.mu.weight");
        for (size_t i = 0; i < WIDTH * WIDTH; i++)
            cr_expect_eq(w[i], i % (WIDTH + 1) == 0 ? 0.5f : 0);
        struct nvdp__draw draw = fixture_draw(3, 0);
        fixture_forward(fixture, &draw);
        bool fixed = fixture->vib->which == NVDP__VIB_FIXED;
        for (size_t i = 0; i < fixture->vib->gauss.rows.sources * WIDTH; i++) {
            near(fixture->vib->gauss.posterior.logvar[i], 2 * log(fixed ? 0.55 : 0.3), 1e-6);
        }
        if (fixture->vib->which == NVDP__VIB_VTDP) {
            const char *const parts[] = {"attention.self.query.weight", "output.dense.bias",
                                         "output.LayerNorm.weight", "attention.self.value.bias"};
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
                const char *from = support_path("bert.encoder.layer.1.%s", parts[i]);
                const char *to = support_path("vtdp.%s", parts[i]);
                cr_expect_eq(memcmp(fixture_value(fixture, from), fixture_value(fixture, to),
                                    WIDTH * sizeof(float)),
                             0, "%s", to);
            }
        }
    }
}

/* The classical mechanism takes an embedding f of norm c at most and adds noise sigma = 2c/mu,
 * calibrated to (epsilon, delta). In units of sigma it is vib-fixed with its initial values.
 * Tolerance 2e-6: floats, and the ball's margin. */
Test(equivalence, the_gaussian_mechanism_of_an_embedding) {
    static const double norms[] = {0.5, 2, 1e3}; /* all, some, no texts are clipped */
    const double mu = nvdp_gdp_mu(8, 1e-5);
    for (size_t k = 0; k < 6; k++) {
        const double c = norms[k / 2], sigma = 2 * c / mu;
        struct nvdp__nvib_config config = fixture_sequence(&kinds[0], 0);
        config.clip.sequence = mu / 2;
        config.mu_tau = 1 / sigma;
        config.pool = k % 2 == 0 ? NVDP_POOL_MEAN : NVDP_POOL_FIRST;
        struct fixture *fixture = fixture_build(&kinds[0], &config, 82);
        ok(fixture->mechanism->initialize(fixture->vib, &fixture->dev, &fixture->params, 1, 0,
                                          NULL));
        float eps[TEXTS * WIDTH];
        const struct nvdp__noise noise = {.seed = 4};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, 0);
        nvdp__stream_normals(&stream, TEXTS * WIDTH, eps);
        struct nvdp__draw draw = fixture_draw(3, 0);
        draw.eps = eps;
        const float *z = fixture_forward(fixture, &draw);
        double want[TEXTS * WIDTH], f[WIDTH];
        for (size_t b = 0; b < TEXTS; b++) {
            const size_t first = (size_t)fixture->offset[b];
            const size_t n = k % 2 == 0 ? (size_t)fixture->offset[b + 1] - first : 1;
            double square = 0;
            for (size_t i = 0; i < WIDTH; i++) {
                f[i] = 0;
                for (size_t t = 0; t < n; t++)
                    f[i] += fixture->hidden[(first + t) * WIDTH + i] / (double)n;
                square += f[i] * f[i];
            }
            for (size_t i = 0; i < WIDTH; i++) {
                const double clipped = f[i] * fmin(1, c / sqrt(square));
                want[b * WIDTH + i] = (clipped + sigma * eps[b * WIDTH + i]) / sigma;
            }
        }
        cr_expect_lt(support_norm_error(TEXTS * WIDTH, z, want), 2e-6, "c %g", c);
    }
}

/* The matrix form has all rows of a text in one Frobenius norm, in coordinates in which the
 * noise is isotropic. Column scales W are noise of column covariance W^-2, gains of rows g of
 * row covariance diag(g)^-2. */
Test(equivalence, the_matrix_gaussian_mechanism) {
    for (int gains = 0; gains < 2; gains++) {
        struct nvdp__nvib_config config = fixture_sequence(&kinds[2], 1);
        config.row_index = gains == 1 ? NVDP__ROW_INDEX_TRAINED : NVDP__ROW_INDEX_NONE;
        struct fixture *fixture = fixture_build(&kinds[2], &config, 83);
        float *w = fixture_value(fixture, "vib.mu.weight");
        nvdp__zero(&fixture->dev, WIDTH * WIDTH, w);
        nvdp__zero(&fixture->dev, WIDTH, fixture_value(fixture, "vib.mu.bias"));
        for (size_t i = 0; i < WIDTH; i++)
            w[i * (WIDTH + 1)] = 0.3f + 0.2f * (float)i;
        const struct nvdp__draw draw = fixture_draw(3, 0);
        fixture_forward(fixture, &draw);
        const float *x = fixture->vib->x, *m = fixture->vib->gauss.posterior.mu;
        const float *g = gains == 1 ? fixture_value(fixture, "vib.mu.gain") : NULL;
        double want[TOKENS * WIDTH];
        size_t clipped = 0;
        for (size_t b = 0; b < TEXTS; b++) {
            double square = 0;
            const size_t first = (size_t)fixture->offset[b], end = (size_t)fixture->offset[b + 1];
            for (size_t k = first * WIDTH; k < end * WIDTH; k++) {
                const double gain = g != NULL ? g[k / WIDTH - first] : 1;
                want[k] = gain * x[k] * w[k % WIDTH * (WIDTH + 1)]; /* U^(-1/2) X V^(-1/2) */
                square += want[k] * want[k];
            }
            clipped += sqrt(square) > 3;
            for (size_t k = first * WIDTH; k < end * WIDTH; k++)
                want[k] *= fmin(1, 3 / sqrt(square));
        }
        cr_expect(clipped > 0 || gains == 1);
        cr_expect_lt(support_norm_error(TOKENS * WIDTH, m, want), 2e-6);
    }
}

/* An initial value outside the clip set is moved inside it, where the clamp has a gradient. */
Test(equivalence, initial_deviation_is_inside_the_clip_set) {
    struct nvdp__nvib_config config = fixture_config(&kinds[2]);
    config.clip.logvar_min = -1.5;
    config.clip.logvar_max = 0;
    config.stdev_tau = 0.1;
    struct fixture *fixture = fixture_build(&kinds[2], &config, 81);
    ok(fixture->mechanism->initialize(fixture->vib, &fixture->dev, &fixture->params, 1, 0, NULL));
    struct nvdp__draw draw = fixture_draw(3, 0);
    fixture_forward(fixture, &draw);
    near(fixture->vib->gauss.posterior.logvar[0], -1.45, 1e-5);
}
