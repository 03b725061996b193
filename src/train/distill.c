/* Training for the objective distill. In order: texts for training and scoring, neighbours, scores, steps, the whole
 * training.
 *
 * Half of a batch are texts in the order of the epoch. The other half has one neighbour of each of these texts, whose
 * rank is log-uniform. So training learns to distinguish similar texts, and not only texts on different subjects. */
#include "train/sentence_run.h"

#include "base/array.h"
#include "job/optimizer.h"
#include "nvib/nvib.h"
#include "text/batch.h"
#include "train/run.h"
#include "vib/vib.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEWEST = 10,
    MOST_SCORED = 1000,
    POOL = 4096,    /* number of texts among which neighbours are searched */
    NEIGHBOURS = 32 /* number of neighbours that are kept */
};

static const char interrupted_text[] =
    "interrupted; continue with: nvdp train --resume RUN, which starts again from the embeddings";

struct distiller {
    struct nvdp_context *ctx;
    const struct nvdp__train_options *config;
    const struct nvdp__distilled *made;
    struct nvdp__device dev;
    struct nvdp__params params;
    struct nvdp__optimizer optimizer;
    struct nvdp__arena arena;
    struct nvdp__distill step;
    size_t map, decoder; /* parameters */
    size_t train, held, batch;
    int64_t *order; /* [train] */
    size_t *row;    /* [train + held] training texts, then held-out texts */
    /* [train, neighbours] numbers of each training text's neighbours, nearest first. */
    int32_t *neighbour;
    size_t neighbours;
    size_t *near;          /* [held] number of the nearest other held-out text */
    float *y, *x, *cosine; /* [held, D], [held, D], [held, held] for scores */
    double *of[3]; /* cosines of samples [2 held], cosines of texts [2 held], scratch [4 held] */
    struct nvdp__memory memory;
};

static void release(struct distiller *t) {
    nvdp__memory_release(&t->memory);
    nvdp__optimizer_release(&t->optimizer);
    nvdp__params_release(&t->params);
    nvdp__arena_release(&t->arena);
}

/* --- texts --- */

/* Holds out texts at equal distances, which are the same texts for every seed. */
static void divide(struct distiller *t) {
    const size_t n = t->made->texts;
    size_t train = 0, held = 0;
    for (size_t i = 0; i < n; i++) {
        const bool keep = (size_t)((double)(i + 1) * t->config->holdout) >
                          (size_t)((double)i * t->config->holdout);
        if (keep && held < t->held)
            t->row[t->train + held++] = i;
        else
            t->row[train++] = i;
    }
}

static size_t held_out_count(const struct nvdp__train_options *config, size_t texts) {
    return nvdp__min((size_t)((double)texts * config->holdout), MOST_SCORED);
}

nvdp_status nvdp__distill_check(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                size_t texts) {
    const size_t held = held_out_count(config, texts), train = texts - held;
    if (texts >= FEWEST && held >= 3 && train >= 2) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "option {input}: %s: expected at least %d public texts, at least 3 among the "
                      "share that {holdout} keeps for the score, and at least 2 others to train, "
                      "found %zu, %zu and %zu",
                      config->input, FEWEST, texts, held, train);
}

static nvdp_status allocate(struct distiller *t) {
    struct nvdp_context *ctx = t->ctx;
    const struct nvdp__distilled *made = t->made;
    const size_t n = made->texts, d = made->width, p = made->dim;
    NVDP_TRY(nvdp__distill_check(ctx, t->config, n));
    t->held = held_out_count(t->config, n);
    t->train = n - t->held;
    t->batch = nvdp__max(nvdp__min(t->config->batch, t->train) / 2 * 2, 2);
    t->neighbours = nvdp__min(NEIGHBOURS, t->train - 1);
    t->step = (struct nvdp__distill){.max_texts = t->batch,
                                     .width = d,
                                     .dim = p,
                                     .clip = made->clip,
                                     .temperature = t->config->temperature,
                                     .cosine = t->config->cosine_weight};
    NVDP_TRY(NVDP__ARRAYS(
        ctx, &t->memory, NVDP__ITEMS(t->order, t->train), NVDP__ITEMS(t->row, n),
        NVDP__ITEMS(t->near, t->held), NVDP__ITEMS(t->neighbour, t->train * t->neighbours),
        NVDP__ITEMS(t->y, t->held * d), NVDP__ITEMS(t->x, t->held * d),
        NVDP__ITEMS(t->cosine, t->held * t->held), NVDP__ITEMS(t->of[0], 2 * t->held),
        NVDP__ITEMS(t->of[1], 2 * t->held), NVDP__ITEMS(t->of[2], 4 * t->held)));
    NVDP_TRY(nvdp__params_add(&t->params, "map", 2, p, d, NVDP__PARAM_LINEAR, &t->map));
    NVDP_TRY(nvdp__params_add(&t->params, "decoder", 2, d, p, NVDP__PARAM_LINEAR, &t->decoder));
    NVDP_TRY(nvdp__params_allocate(&t->params, true));
    for (int pass = 0; pass < 2; pass++) {
        nvdp__distill_plan(&t->step, &t->arena);
        if (pass == 0) NVDP_TRY(nvdp__arena_allocate(ctx, &t->arena));
    }
    NVDP_TRY(nvdp__arena_check(ctx, &t->arena));
    /* Training starts with the given map, and with the transpose of the map as the decoder. */
    float *map = nvdp__value(&t->params, t->map), *decoder = nvdp__value(&t->params, t->decoder);
    memcpy(map, made->map, p * d * sizeof *map);
    for (size_t j = 0; j < p; j++)
        for (size_t i = 0; i < d; i++)
            decoder[i * p + j] = map[j * d + i];
    t->optimizer.adamw = t->config->adamw;
    return nvdp__optimizer_create(ctx, &t->params, &t->optimizer);
}

/* --- neighbours --- */

/* Keeps the nearest of the candidates first, first + 1, ..., where `cosine` has their cosines with text i. */
static void keep_nearest(struct distiller *t, size_t i, size_t first, size_t n,
                         const float *cosine) {
    int32_t *kept = t->neighbour + i * t->neighbours;
    size_t count = 0;
    for (size_t j = 0; j < n; j++) {
        if (first + j == i) continue;
        if (count == t->neighbours && cosine[j] <= cosine[(size_t)kept[count - 1] - first])
            continue;
        size_t at = count < t->neighbours ? count++ : count - 1;
        for (; at > 0 && cosine[(size_t)kept[at - 1] - first] < cosine[j]; at--)
            kept[at] = kept[at - 1];
        kept[at] = (int32_t)(first + j);
    }
    for (size_t k = count; k < t->neighbours; k++) /* the last pool may be small */
        kept[k] = count > 0 ? kept[k % count] : (int32_t)i;
}

static nvdp_status find_neighbours(struct distiller *t) {
    enum { ROWS = 256 };
    const size_t d = t->made->width;
    nvdp__autofree float *pool = NULL, *cosine = NULL;
    struct nvdp__meter meter;
    NVDP_TRY(NVDP__ARRAYS(t->ctx, NULL, NVDP__ITEMS(pool, (size_t)POOL * d),
                          NVDP__ITEMS(cosine, (size_t)ROWS * POOL)));
    nvdp__meter_begin(&meter, t->ctx, "neighbours", "text", 0, t->train);
    for (size_t first = 0; first < t->train; first += POOL) {
        const size_t n = nvdp__min(POOL, t->train - first);
        for (size_t i = 0; i < n; i++)
            memcpy(pool + i * d, t->made->x + t->row[first + i] * d, d * sizeof *pool);
        nvdp__rows_normalize(&t->dev, n, d, pool);
        for (size_t i = 0; i < n; i += ROWS) {
            const size_t rows = nvdp__min(ROWS, n - i);
            NVDP_TRY(nvdp__check_cancelled(t->ctx, interrupted_text));
            nvdp__gemm(&t->dev, 1, NVDP__TRANSPOSE_B, nvdp__f32(rows, d, pool + i * d),
                       nvdp__f32(n, d, pool), 0, nvdp__f32(rows, n, cosine));
            for (size_t r = 0; r < rows; r++)
                keep_nearest(t, first + i + r, first, n, cosine + r * n);
            nvdp__meter_update(&meter, first + i + rows, (double)(first + i + rows), "text", NAN);
        }
    }
    nvdp__meter_end(&meter);
    return NVDP_OK;
}

/* --- scores --- */

static double vector_cosine(size_t d, const float *a, const float *b) {
    const double norm = sqrt(nvdp__dot_f64(d, a, a) * nvdp__dot_f64(d, b, b));
    return norm > 0 ? nvdp__dot_f64(d, a, b) / norm : 0;
}

/* Finds the nearest neighbours among held-out texts, and the cosines of the pairs. */
static void pair_up(struct distiller *t) {
    const size_t d = t->made->width, n = t->held;
    for (size_t i = 0; i < n; i++)
        memcpy(t->x + i * d, t->made->x + t->row[t->train + i] * d, d * sizeof *t->x);
    memcpy(t->y, t->x, n * d * sizeof *t->y);
    nvdp__rows_normalize(&t->dev, n, d, t->y);
    nvdp__gemm(&t->dev, 1, NVDP__TRANSPOSE_B, nvdp__f32(n, d, t->y), nvdp__f32(n, d, t->y), 0,
               nvdp__f32(n, n, t->cosine));
    for (size_t i = 0; i < n; i++) {
        size_t best = (i + 1) % n;
        for (size_t j = 0; j < n; j++)
            if (j != i && t->cosine[i * n + j] > t->cosine[i * n + best]) best = j;
        t->near[i] = best;
        t->of[1][2 * i] = t->cosine[i * n + best];
        t->of[1][2 * i + 1] = t->cosine[i * n + (i + 1) % n];
    }
}

/* Decodes one sample of each held-out text into y.  Returns the factor that brings the decoder's output closest to x.
 * */
static double decode(struct distiller *t, uint32_t draw) {
    const size_t d = t->made->width, p = t->made->dim, n = t->held;
    const float *map = nvdp__value(&t->params, t->map),
                *decoder = nvdp__value(&t->params, t->decoder);
    const struct nvdp__noise noise = {.seed = t->config->seed};
    double along = 0, square = 0;
    for (size_t first = 0; first < n; first += t->batch) {
        const size_t m = nvdp__min(t->batch, n - first);
        struct nvdp__stream stream =
            nvdp__stream_open(&noise, NVDP__PURPOSE_EVAL_GAUSS, draw, first);
        memcpy(t->step.x, t->x + first * d, m * d * sizeof *t->x);
        nvdp__stream_normals(&stream, m * p, t->step.e[0]);
        const float *y = nvdp__distill_decode(&t->dev, &t->step, m, map, decoder);
        memcpy(t->y + first * d, y, m * d * sizeof *y);
    }
    for (size_t i = 0; i < n; i++) {
        along += nvdp__dot_f64(d, t->y + i * d, t->x + i * d);
        square += nvdp__dot_f64(d, t->y + i * d, t->y + i * d);
    }
    return square > 0 ? along / square : 1;
}

static double score_draw(struct distiller *t, uint32_t draw) {
    const size_t d = t->made->width, n = t->held;
    decode(t, draw);
    for (size_t i = 0; i < n; i++) {
        t->of[0][2 * i] = vector_cosine(d, t->y + i * d, t->y + t->near[i] * d);
        t->of[0][2 * i + 1] = vector_cosine(d, t->y + i * d, t->y + (i + 1) % n * d);
    }
    return gsl_stats_spearman(t->of[0], 1, t->of[1], 1, 2 * n, t->of[2]);
}

static void score(struct distiller *t, struct nvdp_scores *out) {
    const size_t draws = t->config->eval_draws;
    double sum = 0, square = 0;
    for (size_t k = 0; k < draws; k++) {
        const double made = score_draw(t, 1 + (uint32_t)k);
        sum += made;
        square += made * made;
    }
    const double mean = sum / (double)draws;
    *out = (struct nvdp_scores){.struct_size = sizeof *out,
                                .kind = &nvdp__scores_kind,
                                .metrics = 1,
                                .metric = {NVDP_METRIC_SPEARMAN},
                                .mean = {mean},
                                .majority = NAN,
                                .n = t->held,
                                .draws = draws,
                                .low = {NAN},
                                .high = {NAN}};
    if (draws > 1)
        out->sd[0] = sqrt(fmax(0, square - (double)draws * mean * mean) / (double)(draws - 1));
}

/* --- steps --- */

static nvdp_status one_step(struct distiller *t, uint64_t at, uint64_t steps, const int64_t *chosen,
                            double *loss) {
    const size_t d = t->made->width, p = t->made->dim, n = t->batch;
    const struct nvdp__noise noise = {.seed = t->config->seed};
    struct nvdp__stream ranks = nvdp__stream_open(&noise, NVDP__PURPOSE_SHUFFLE, UINT32_MAX, at);
    double norm;
    for (size_t i = 0; i < n; i++) {
        size_t text = (size_t)chosen[i / 2];
        if (i % 2 == 1) {
            const double rank = pow((double)t->neighbours, nvdp__stream_uniform(&ranks)) - 1;
            text = (size_t)t->neighbour[text * t->neighbours + (size_t)rank];
        }
        memcpy(t->step.x + i * d, t->made->x + t->row[text] * d, d * sizeof *t->step.x);
    }
    for (uint32_t k = 0; k < 2; k++) {
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_GAUSS, k, at);
        nvdp__stream_normals(&stream, n * p, t->step.e[k]);
    }
    *loss = nvdp__distill_step(&t->dev, &t->step, n, nvdp__value(&t->params, t->map),
                               nvdp__value(&t->params, t->decoder), nvdp__grad(&t->params, t->map),
                               nvdp__grad(&t->params, t->decoder));
    return nvdp__optimizer_step(&t->optimizer, &t->dev, &t->params,
                                nvdp__lr_factor(at, steps, t->config->adamw.warmup), &norm);
}

static nvdp_status run_epochs(struct distiller *t, struct nvdp_train_result *result) {
    const size_t per_epoch = t->train / (t->batch / 2), epochs = t->config->epochs;
    const uint64_t steps = (uint64_t)per_epoch * epochs;
    struct nvdp__meter meter;
    uint64_t at = 0;
    nvdp__meter_begin(&meter, t->ctx, "distill", "step", 0, steps);
    for (size_t epoch = 0; epoch < epochs; epoch++) {
        double sum = 0, loss = 0;
        nvdp__epoch_order(t->config->seed, (uint32_t)epoch, t->train, t->order);
        for (size_t s = 0; s < per_epoch; s++) {
            NVDP_TRY(nvdp__check_cancelled(t->ctx, interrupted_text));
            NVDP_TRY(one_step(t, at++, steps, t->order + s * (t->batch / 2), &loss));
            sum += loss;
            nvdp__meter_update(&meter, at, (double)(at * t->batch), "text", loss);
        }
        result->best_validation = score_draw(t, 0);
        nvdp__log(t->ctx, NVDP_LOG_INFO, "epoch %zu/%zu: loss %.4f, validation spearman %.4f",
                  epoch + 1, epochs, sum / (double)per_epoch, result->best_validation);
    }
    nvdp__meter_end(&meter);
    result->steps = steps;
    result->epochs_run = result->best_epoch = epochs;
    return NVDP_OK;
}

/* --- the whole --- */

nvdp_status nvdp__distill_train(struct nvdp_context *ctx, const struct nvdp__train_options *config,
                                const struct nvdp__distilled *made,
                                struct nvdp_train_result *result) {
    nvdp__auto(release) struct distiller t = {
        .ctx = ctx, .config = config, .made = made, .dev = nvdp__device_cpu(ctx)};
    const size_t values = made->dim * made->width;
    nvdp__params_init(&t.params, ctx);
    NVDP_TRY(allocate(&t));
    divide(&t);
    pair_up(&t);
    NVDP_TRY(find_neighbours(&t));
    nvdp__log(ctx, NVDP_LOG_INFO, "%zu texts to train, %zu held out; spearman of the start %.4f",
              t.train, t.held, score_draw(&t, 0));
    const double begun = nvdp__now();
    NVDP_TRY(run_epochs(&t, result));
    result->seconds = nvdp__now() - begun;
    const double ended = nvdp__now(), factor = decode(&t, 0);
    score(&t, result->test);
    result->score_seconds = nvdp__now() - ended;
    memcpy(made->map, nvdp__value(&t.params, t.map), values * sizeof *made->map);
    for (size_t i = 0; i < values; i++)
        made->decoder[i] = (float)(factor * nvdp__value(&t.params, t.decoder)[i]);
    return NVDP_OK;
}
