/* The objective distill: its gradients against central differences of a plain version in double, and what training keeps:
 * the norm of every mean, whatever the map. */
#include "support.h"
#include "train/sentence_run.h"
#include "vib/vib.h"

#include "test_context.h"

enum { N = 6, D = 10, P = 4, VALUES = P * D };

struct case_ {
    struct nvdp_context *ctx;
    struct nvdp__device dev;
    struct nvdp__arena arena;
    struct nvdp__distill step;
    float map[VALUES], decoder[VALUES], d_map[VALUES], d_decoder[VALUES];
};

static void begin(struct case_ *c, double temperature, double cosine) {
    struct nvdp__stream stream = support_stream(5, 0);
    memset(c, 0, sizeof *c);
    c->ctx = support_context();
    c->dev = nvdp__device_cpu(c->ctx);
    c->step = (struct nvdp__distill){.max_texts = N,
                                     .width = D,
                                     .dim = P,
                                     .clip = 3,
                                     .temperature = temperature,
                                     .cosine = cosine};
    for (int pass = 0; pass < 2; pass++) {
        nvdp__distill_plan(&c->step, &c->arena);
        if (pass == 0) ok(nvdp__arena_allocate(c->ctx, &c->arena));
    }
    nvdp__stream_normals(&stream, N * D, c->step.x);
    nvdp__stream_normals(&stream, N * P, c->step.e[0]);
    nvdp__stream_normals(&stream, N * P, c->step.e[1]);
    nvdp__stream_normals(&stream, VALUES, c->map);
    nvdp__stream_normals(&stream, VALUES, c->decoder);
}

static void end(struct case_ *c) {
    nvdp__arena_release(&c->arena);
}

static double norm(size_t n, const double *x) {
    double square = 0;
    for (size_t i = 0; i < n; i++)
        square += x[i] * x[i];
    return sqrt(square);
}

/* The loss in double, text by text, from the parameters [A, G]. */
static double plain(const struct case_ *c, const double *theta) {
    double u[2][N][D], t[N][D], loss = 0;
    for (size_t i = 0; i < N; i++) {
        const float *x = c->step.x + i * D;
        double v[P] = {0};
        for (size_t j = 0; j < P; j++)
            for (size_t k = 0; k < D; k++)
                v[j] += theta[j * D + k] * (double)x[k];
        for (size_t k = 0; k < D; k++)
            t[i][k] = (double)x[k];
        const double length = norm(P, v), size = norm(D, t[i]);
        for (size_t s = 0; s < 2; s++) {
            for (size_t k = 0; k < D; k++) {
                u[s][i][k] = 0;
                for (size_t j = 0; j < P; j++)
                    u[s][i][k] += theta[VALUES + k * P + j] *
                                  (3 * v[j] / length + (double)c->step.e[s][i * P + j]);
            }
            const double by = norm(D, u[s][i]);
            double cosine = 0;
            for (size_t k = 0; k < D; k++) {
                u[s][i][k] /= by;
                cosine += u[s][i][k] * t[i][k] / size;
            }
            loss += c->step.cosine * (1 - cosine) / 2 / N;
        }
    }
    for (size_t i = 0; i < N; i++) {
        double total = 0, own = 0;
        for (size_t j = 0; j < N; j++) {
            double dot = 0;
            for (size_t k = 0; k < D; k++)
                dot += u[0][i][k] * u[1][j][k];
            total += exp(dot / c->step.temperature);
            if (j == i) own = dot / c->step.temperature;
        }
        loss += (log(total) - own) / N;
    }
    return loss;
}

/* Differences with step 1e-5 are accurate to about 1e-9, so float32 dominates. */
Test(distill, gradients) {
    static const double cases[][2] = {{.1, 0}, {.5, 1}, {1, .3}, {.05, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct case_ c;
        double theta[2 * VALUES], expected[2 * VALUES];
        begin(&c, cases[i][0], cases[i][1]);
        for (size_t k = 0; k < 2 * VALUES; k++)
            theta[k] = (double)(k < VALUES ? c.map[k] : c.decoder[k - VALUES]);
        const double loss =
            nvdp__distill_step(&c.dev, &c.step, N, c.map, c.decoder, c.d_map, c.d_decoder);
        near(loss, plain(&c, theta), 1e-5 * (1 + loss));
        cr_expect_eq(loss, nvdp__distill_step(&c.dev, &c.step, N, c.map, c.decoder, NULL, NULL));
        for (size_t k = 0; k < 2 * VALUES; k++) {
            const double at = theta[k];
            theta[k] = at + 1e-5;
            const double above = plain(&c, theta);
            theta[k] = at - 1e-5;
            expected[k] = (above - plain(&c, theta)) / 2e-5;
            theta[k] = at;
        }
        cr_expect_lt(support_norm_error(VALUES, c.d_map, expected), 1e-4);
        cr_expect_lt(support_norm_error(VALUES, c.d_decoder, expected + VALUES), 1e-4);
        end(&c);
    }
}

/* The mean of any text has norm C or 0, whatever a trained map is: 10^4 random maps and embeddings, some of them
 * degenerate or huge. */
Test(distill, the_clip_holds_for_any_map) {
    struct nvdp__stream stream = support_stream(9, 0);
    static const float scale[] = {1, 0, 0x1p-70f, 0x1p60f, 1e-3f, 65504};
    for (size_t i = 0; i < 10000; i++) {
        float x[D], map[VALUES], center[D], v[P];
        nvdp__stream_normals(&stream, D, x);
        nvdp__stream_normals(&stream, VALUES, map);
        nvdp__stream_normals(&stream, D, center);
        for (size_t k = 0; k < VALUES; k++)
            map[k] *= scale[i % 6];
        for (size_t k = 0; k < D; k++) {
            x[k] *= scale[i / 6 % 6];
            center[k] *= i % 5 == 0 ? 0 : 1;
        }
        if (i % 7 == 0) memset(map + D, 0, (VALUES - D) * sizeof *map); /* one direction */
        if (!nvdp__sentence_direction(D, P, center, map, x, v)) continue;
        double wide[P];
        for (size_t j = 0; j < P; j++)
            wide[j] = (double)v[j];
        near(norm(P, wide), 1, 1e-6, "case %zu", i);
    }
}

/* The texts vary in two directions only. Training turns a map that begins with other directions into one that has its whole
 * norm in these two. */
Test(distill, learns_the_directions_that_vary) {
    enum { TEXTS = 400 };
    struct nvdp__stream stream = support_stream(3, 0);
    static float x[TEXTS * D];
    float map[VALUES], decoder[VALUES], again[VALUES], other[VALUES];
    nvdp__stream_normals(&stream, TEXTS * D, x);
    for (size_t i = 0; i < TEXTS * D; i++)
        x[i] *= i % D < 2 ? 1 : .05f;
    struct nvdp__train_options config = nvdp__train_defaults();
    config.epochs = 20;
    config.batch = 64;
    config.adamw.lr = .02;
    config.temperature = .1;
    config.input = "public.txt";
    for (int round = 0; round < 2; round++) {
        struct nvdp_scores scores = NVDP_RESULT(struct nvdp_scores);
        struct nvdp_train_result result = {.struct_size = sizeof result, .test = &scores};
        float *m = round == 0 ? map : again, *g = round == 0 ? decoder : other;
        const struct nvdp__distilled made = {
            .texts = TEXTS, .width = D, .dim = P, .clip = 4, .x = x, .map = m, .decoder = g};
        memset(m, 0, sizeof map);
        for (size_t j = 0; j < P; j++)
            m[j * D + j] = 1;
        ok(nvdp__distill_train(ctx, &config, &made, &result));
        cr_expect_eq(result.steps, 20 * (360 / 32));
        cr_expect_eq(scores.n, 40);
        cr_expect_eq(scores.metric[0], NVDP_METRIC_SPEARMAN);
        cr_expect_gt(scores.mean[0], .6);
        cr_expect_lt(scores.mean[0], 1);
    }
    cr_expect_arr_eq(map, again, sizeof map); /* the same seed, the same bits */
    cr_expect_arr_eq(decoder, other, sizeof decoder);
    struct nvdp_scores scores = NVDP_RESULT(struct nvdp_scores);
    struct nvdp_train_result result = {.struct_size = sizeof result, .test = &scores};
    const struct nvdp__distilled few = {
        .texts = 9, .width = D, .dim = P, .clip = 4, .x = x, .map = map, .decoder = decoder};
    fails(nvdp__distill_train(ctx, &config, &few, &result), NVDP_ERR_INPUT,
          "public.txt: expected at least 10 public texts");
    /* all but one text held out; 11 texts leave the two that training needs */
    struct nvdp__distilled all = few;
    all.texts = 10;
    config.holdout = .9;
    fails(nvdp__distill_train(ctx, &config, &all, &result), NVDP_ERR_INPUT,
          "at least 2 others to train, found 10, 9 and 1");
    all.texts = 11;
    ok(nvdp__distill_train(ctx, &config, &all, &result));
    cr_expect_eq(scores.n, 9);
}
