/* Benchmarks for `nvdp bench`, one part each: steps of training and encoding, all pairs of
 * posteriors, text privatization, noise. */
#include "bench/bench.h"

#include "base/array.h"
#include "base/base.h"
#include "base/exact_normal.h"
#include "base/file.h"
#include "base/own.h"
#include "base/sentence.h"

#include <math.h>
#include <nvdp/privacy.h>
#include <nvdp/trainer.h>
#include <stdlib.h>

/* Sorts the seconds and summarizes them. */
static struct bench_times summarize_times(size_t count, double *seconds) {
    double sum = 0;
    qsort(seconds, count, sizeof *seconds, nvdp__by_double);
    for (size_t i = 0; i < count; i++)
        sum += seconds[i];
    return (struct bench_times){
        .count = count,
        .min = seconds[0],
        .median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2,
        .mean = sum / (double)count,
    };
}

/* --- steps of training and encoding --- */

/* Number of untimed steps before the timed steps. */
enum { WARMUP = 1, MAX_STEPS = 100000 };

const struct bench_config bench_config_default = {.work = BENCH_TRAIN, .arch = "base", .steps = 3};

static nvdp_status find_sizes(struct nvdp_context *ctx, const struct bench_config *config,
                              struct nvdp_bert_config *bert) {
    const char *model = nvdp_config_get(config->train, "model");
    if (config->arch == NULL && model == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{arch}: expected an architecture or a model, found neither");
    if (config->steps < 1 || config->steps > MAX_STEPS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{steps}: expected 1 to %d, found %zu", MAX_STEPS,
                          config->steps);
    if (config->arch != NULL) return nvdp_bert_config_find(ctx, config->arch, bert);
    return nvdp_bert_config_read(ctx, model, bert);
}

/* Returns the encoder's floating-point operations in a forward pass over the batch: twice the
 * multiply-adds,
 *   2 layers (T (4 D^2 + 2 D I) + 2 D sum_i n_i^2)
 * for T tokens in texts of n_i tokens, width D, inner width I. The terms are the dense products and
 * the two products of attention. */
static double forward_flops(const struct nvdp_bert_config *bert,
                            const struct nvdp_trainer_step *batch) {
    double d = (double)bert->hidden_size;
    double dense = 4 * d * d + 2 * d * (double)bert->intermediate_size; /* per token */
    double squares = 0;
    for (size_t i = 0; i < batch->texts; i++) {
        double n = (double)(batch->offset[i + 1] - batch->offset[i]);
        squares += n * n;
    }
    double layer = (double)batch->tokens * dense + 2 * squares * d;
    return 2 * (double)bert->num_hidden_layers * layer;
}

static nvdp_status write_ids(struct nvdp__output *file, const char *key,
                             const struct nvdp_trainer_step *batch, const int32_t *ids) {
    NVDP_TRY(nvdp__output_printf(file, "\"%s\": [", key));
    for (size_t i = 0; i < batch->texts; i++) {
        int32_t first = batch->offset[i];
        for (int32_t t = first; t < batch->offset[i + 1]; t++) {
            const char *before = t > first ? ", " : i > 0 ? "], [" : "[";
            NVDP_TRY(nvdp__output_printf(file, "%s%d", before, ids[t]));
        }
    }
    return nvdp__output_printf(file, "]], ");
}

/* Appends a batch as a line {"input_ids", "token_type_ids", "labels"}. */
static nvdp_status write_batch(struct nvdp__output *file, const struct nvdp_trainer_step *batch) {
    NVDP_TRY(nvdp__output_printf(file, "{"));
    NVDP_TRY(write_ids(file, "input_ids", batch, batch->ids));
    NVDP_TRY(write_ids(file, "token_type_ids", batch, batch->types));
    NVDP_TRY(nvdp__output_printf(file, "\"labels\": ["));
    for (size_t i = 0; i < batch->texts; i++) {
        NVDP_TRY(nvdp__output_printf(file, "%s%.9g", i > 0 ? ", " : "", (double)batch->label[i]));
    }
    return nvdp__output_printf(file, "]}\n");
}

/* Computes the result from the steps' times; `flops` is the sum over forward passes. */
static void conclude(const struct bench_config *config, const struct nvdp_trainer_info *info,
                     double *seconds, double flops, struct bench_result *r) {
    const struct nvdp_bert_config *bert = info->bert;
    bool trains = config->work == BENCH_TRAIN;
    double layers = (double)bert->num_hidden_layers, d = (double)bert->hidden_size;
    double frozen = strtod(nvdp_config_get(config->train, "freeze-layers"), NULL);
    double dropout = strtod(nvdp_config_get(config->train, "dropout"), NULL);
    double trained = trains ? (layers - frozen) / layers : 0;
    double passes = 1 + 2 * trained; /* the gradients of inputs and weights take one product each */
    const struct bench_times step = summarize_times(config->steps, seconds);
    const double total = step.mean * (double)config->steps, rate = (double)r->tokens / total;
    *r = (struct bench_result){
        .step = step,
        .texts = r->texts,
        .tokens = r->tokens,
        .tokens_per_second = rate,
        .tokens_per_second_best = r->tokens_per_second_best,
        .gflops = passes * flops / total / 1e9,
        .encoder_gflops = passes * 2 * 12 * d * d * layers * rate / 1e9,
        .precision = info->precision,
        .dropout = !trains        ? 0
                   : dropout >= 0 ? dropout
                                  : bert->hidden_dropout_prob,
        .parameters = info->parameters,
        .peak_rss = nvdp__peak_rss(),
        .start_to_first_step_seconds = r->start_to_first_step_seconds,
        .weights_seconds = info->weights_seconds,
    };
    nvdp__processor_name(sizeof r->machine, r->machine);
}

nvdp_status run_bench(struct nvdp_context *ctx, const struct bench_config *config,
                      struct bench_result *out) {
    struct nvdp_bert_config bert = NVDP_RESULT(struct nvdp_bert_config);
    nvdp__autoptr(nvdp_trainer_free) struct nvdp_trainer *trainer = NULL;
    nvdp__auto(nvdp__output_abort) struct nvdp__output batches = {0};
    struct bench_result result = {0};
    nvdp__autofree double *seconds = NULL;
    double flops = 0;
    NVDP_TRY(find_sizes(ctx, config, &bert));
    NVDP_TRY(NVDP__NEW(ctx, seconds, config->steps));
    NVDP_TRY(nvdp_trainer_create(ctx, config->train, &bert, config->work == BENCH_TRAIN,
                                 config->steps + WARMUP, &trainer));
    if (config->batches != NULL) NVDP_TRY(nvdp__output_open(ctx, config->batches, &batches));
    const struct nvdp_trainer_info *info = nvdp_trainer_info(trainer);
    result.start_to_first_step_seconds = nvdp__process_age() - info->weights_seconds;
    for (size_t i = 0; i < config->steps + WARMUP; i++) {
        const struct nvdp_trainer_step *step;
        if (nvdp_context_cancelled(ctx)) return nvdp__fail(ctx, NVDP_ERR_CANCELLED, "interrupted");
        NVDP_TRY(nvdp_trainer_step(trainer, &step));
        if (i < WARMUP) continue;
        seconds[i - WARMUP] = step->seconds;
        flops += forward_flops(info->bert, step);
        result.texts += step->texts;
        result.tokens += step->tokens;
        result.tokens_per_second_best =
            fmax(result.tokens_per_second_best, (double)step->tokens / fmax(step->seconds, 1e-9));
        if (config->batches != NULL) NVDP_TRY(write_batch(&batches, step));
    }
    if (config->batches != NULL) NVDP_TRY(nvdp__output_commit(&batches, true));
    conclude(config, info, seconds, flops, &result);
    NVDP_TRY(nvdp_trainer_peak(trainer, &result.peak_flops));
    result.fraction_of_gemm_peak = 1e9 * result.gflops / result.peak_flops;
    *out = result;
    return NVDP_OK;
}

/* --- all pairs of random posteriors --- */

enum {
    MIN_TEXTS = 2,
    MAX_TEXTS = 20000,
    MIN_COMPONENTS = 2,
    MAX_COMPONENTS = 1 << 16,
    MAX_DIM = 1 << 16,
    MAX_RD_STEPS = 1000,
    MAX_TABLE = 1 << 28,
    MAX_TOKENS = 1 << 24
};
static const double mu_sd = 0.3, logvar_sd = 0.1, log_alpha_sd = 0.2;

const struct bench_rd_config bench_rd_config_default = {
    .texts = 408, .components = 129, .dim = 768, .order = 1.1, .steps = 1, .seed = 1};

static nvdp_status check_rd(struct nvdp_context *ctx, const struct bench_rd_config *c) {
    const struct {
        const char *field;
        size_t value, min, max;
    } ranges[] = {{"texts", c->texts, MIN_TEXTS, MAX_TEXTS},
                  {"components", c->components, MIN_COMPONENTS, MAX_COMPONENTS},
                  {"dim", c->dim, 1, MAX_DIM},
                  {"steps", c->steps, 1, MAX_RD_STEPS}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].value >= ranges[i].min && ranges[i].value <= ranges[i].max) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected %zu to %zu, found %zu",
                          ranges[i].field, ranges[i].min, ranges[i].max, ranges[i].value);
    }
    return NVDP_OK; /* nvdp_renyi_pairs checks the order */
}

static void scaled_normals(struct nvdp__stream *stream, double sd, size_t n, double *out) {
    nvdp__stream_normals_f64(stream, n, out);
    for (size_t i = 0; i < n; i++)
        out[i] *= sd;
}

static void fill_text(uint64_t seed, size_t text, struct nvdp_posteriors *to) {
    const struct nvdp__noise noise = {.seed = seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, text);
    size_t rows = to->length;
    size_t first = text * rows;
    to->offset[text + 1] = first + rows;
    scaled_normals(&stream, mu_sd, rows * to->dim, to->mu + first * to->dim);
    scaled_normals(&stream, logvar_sd, rows * to->dim, to->logvar + first * to->dim);
    scaled_normals(&stream, log_alpha_sd, rows, to->alpha + first);
    for (size_t i = first; i < first + rows; i++)
        to->alpha[i] = exp(to->alpha[i]);
}

static nvdp_status make_posteriors(struct nvdp_context *ctx, const struct bench_rd_config *c,
                                   struct nvdp_posteriors **out) {
    size_t tokens = c->components - 1; /* the first component is the prior */
    struct nvdp_posteriors *made = NULL;
    size_t rows = 0;
    if (!nvdp__mul(c->texts, tokens, &rows))
        return nvdp__fail(ctx, NVDP_ERR_MEMORY,
                          "texts x components: expected fewer, found %zu texts of %zu components",
                          c->texts, c->components);
    NVDP_TRY(nvdp_posteriors_create(ctx, c->texts, rows, c->dim, true, &made));
    made->policy = NVDP_LENGTH_HIDDEN;
    made->length = tokens;
    made->pad_alpha = 1 / (double)c->components;
#pragma omp parallel for num_threads(nvdp_context_threads(ctx)) schedule(static)
    for (size_t i = 0; i < c->texts; i++)
        fill_text(c->seed, i, made);
    *out = made;
    return NVDP_OK;
}

nvdp_status bench_rd(struct nvdp_context *ctx, const struct bench_rd_config *config,
                     struct bench_rd_result *out) {
    nvdp__autoptr(nvdp_posteriors_free) struct nvdp_posteriors *posteriors = NULL;
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *measure = NULL;
    struct nvdp_pairs_summary summary = NVDP_RESULT(struct nvdp_pairs_summary);
    nvdp__autofree double *seconds = NULL;
    NVDP_TRY(check_rd(ctx, config));
    NVDP_TRY(nvdp_config_create(ctx, "privacy", &measure));
    NVDP_TRY(nvdp_config_set(measure, "order", nvdp__short_text("%.17g", config->order).text));
    NVDP_TRY(NVDP__NEW(ctx, seconds, config->steps));
    NVDP_TRY(make_posteriors(ctx, config, &posteriors));
    for (size_t i = 0; i < config->steps; i++) {
        double start = nvdp__now();
        NVDP_TRY(nvdp_renyi_pairs(ctx, posteriors, measure, NULL, &summary));
        seconds[i] = nvdp__now() - start;
    }
    const struct bench_times step = summarize_times(config->steps, seconds);
    const double rate = (double)summary.pairs / step.mean;
    struct bench_rd_result result = {
        .step = step,
        .pairs = summary.pairs,
        .pairs_per_second = rate,
        .pair_elements_per_second = rate * (double)config->components * (double)config->dim,
        .peak_rss = nvdp__peak_rss(),
        .sum = summary.sum,
    };
    nvdp__processor_name(sizeof result.machine, result.machine);
    *out = result;
    return NVDP_OK;
}

/* ---- text privatization ---- */

const struct bench_sanitize_config bench_sanitize_config_default = {
    .vocabulary = 30522, .dim = 768, .texts = 256, .length = 32, .steps = 3, .seed = 1};

/* The table of vectors and the mechanism: from the sanitizer, or a random normal table. */
struct drawing {
    struct nvdp_sanitizer *sanitizer;
    struct nvdp_vectors *vectors;
    struct nvdp_dchi *own;
    struct nvdp_dchi *dchi;
};

static void release_drawing(struct drawing *drawing) {
    nvdp_dchi_free(drawing->own);
    nvdp_vectors_free(drawing->vectors);
    nvdp_sanitizer_free(drawing->sanitizer);
}

static nvdp_status make_table(struct nvdp_context *ctx, const struct bench_sanitize_config *c,
                              struct drawing *out) {
    const struct nvdp_config *config = c->sanitizer;
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    const char *mechanism = nvdp_config_get(config, "mechanism");
    size_t size;
    nvdp__autofree double *rows = NULL;
    if (nvdp_config_get(config, "model") != NULL || nvdp_config_get(config, "vectors") != NULL) {
        NVDP_TRY(nvdp_sanitizer_create(ctx, config, &out->sanitizer));
        out->dchi = nvdp_sanitizer_dchi(out->sanitizer);
        return out->dchi != NULL
                   ? NVDP_OK
                   : nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                "{sensitive-from-data}, {vocabulary-from}: these options "
                                "need texts, but the benchmark has none");
    }
    if (nvdp_text_mechanism_describe(ctx, mechanism, &info) != NVDP_OK || info.mechanism < 0 ||
        info.uses_p)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{mechanism}: expected laplace, laplace-nearest, santext or random, which "
            "work with a random table, found %s",
            mechanism);
    if (!nvdp__mul(c->vocabulary, c->dim, &size) || size == 0 || size > MAX_TABLE)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "vocabulary x dim: expected 1 to %d numbers, found %zu x %zu", MAX_TABLE,
                          c->vocabulary, c->dim);
    const struct nvdp__noise noise = {.seed = c->seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 0, 0);
    NVDP_TRY(NVDP__NEW(ctx, rows, size));
    scaled_normals(&stream, 1 / sqrt((double)c->dim), size, rows);
    NVDP_TRY(nvdp_vectors_create(ctx, c->vocabulary, c->dim, rows, &out->vectors));
    NVDP_TRY(nvdp_dchi_create(ctx, out->vectors, (enum nvdp_dchi_mechanism)info.mechanism,
                              strtod(nvdp_config_get(config, "eta"), NULL), 0, NULL, &out->own));
    out->dchi = out->own;
    return NVDP_OK;
}

nvdp_status bench_sanitize(struct nvdp_context *ctx, const struct bench_sanitize_config *config,
                           struct bench_sanitize_result *out) {
    struct bench_sanitize_result result = {0};
    nvdp__auto(release_drawing) struct drawing drawing = {0};
    nvdp__autofree size_t *offset = NULL;
    nvdp__autofree int32_t *tokens = NULL, *drawn = NULL;
    nvdp__autofree double *seconds = NULL, *points = NULL;
    double start = nvdp__now();
    size_t changed = 0;
    struct nvdp_text_mechanism_info info = NVDP_RESULT(struct nvdp_text_mechanism_info);
    if (config->texts < 1 || config->length < 1 || config->steps < 1 ||
        config->texts > MAX_TOKENS || config->length > MAX_TOKENS / config->texts ||
        config->steps > MAX_RD_STEPS)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "texts x length: expected at most %d tokens and 1 to %d steps, found %zu "
                          "x %zu tokens and %zu steps",
                          MAX_TOKENS, MAX_RD_STEPS, config->texts, config->length, config->steps);
    NVDP_TRY(
        nvdp_text_mechanism_describe(ctx, nvdp_config_get(config->sanitizer, "mechanism"), &info));
    NVDP_TRY(make_table(ctx, config, &drawing));
    result.table_seconds = nvdp__now() - start;
    const struct nvdp_vectors *table =
        drawing.sanitizer != NULL ? nvdp_sanitizer_vectors(drawing.sanitizer) : drawing.vectors;
    result.vocabulary = nvdp_vectors_count(table);
    result.dim = nvdp_vectors_dim(table);
    const bool vectors = info.gives_vectors;
    result.tokens = config->texts * config->length;
    NVDP_TRY(NVDP__ARRAYS(ctx, NULL, NVDP__ITEMS(offset, config->texts + 1),
                          NVDP__ITEMS(tokens, result.tokens), NVDP__ITEMS(drawn, result.tokens),
                          NVDP__ITEMS(points, vectors ? result.tokens * result.dim : 0),
                          NVDP__ITEMS(seconds, config->steps)));
    for (size_t i = 0; i <= config->texts; i++)
        offset[i] = i * config->length;
    for (size_t step = 0; step <= config->steps; step++) { /* the first is not timed */
        const struct nvdp__noise noise = {.seed = config->seed};
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_MEASURE, 1, step);
        for (size_t i = 0; i < result.tokens; i++)
            tokens[i] = (int32_t)nvdp__stream_below(&stream, result.vocabulary);
        start = nvdp__now();
        NVDP_TRY(vectors ? nvdp_dchi_perturb(ctx, drawing.dchi, config->texts, offset, tokens,
                                             &config->seed, step * config->texts, points)
                         : nvdp_dchi_sample(ctx, drawing.dchi, config->texts, offset, tokens,
                                            &config->seed, step * config->texts, drawn));
        if (step == 0) continue;
        seconds[step - 1] = nvdp__now() - start;
        for (size_t i = 0; i < result.tokens; i++)
            changed += drawn[i] != tokens[i];
    }
    result.step = summarize_times(config->steps, seconds);
    result.tokens_per_second = (double)result.tokens / result.step.mean;
    result.changed = vectors ? NAN : (double)changed / (double)(result.tokens * config->steps);
    result.peak_rss = nvdp__peak_rss();
    nvdp__processor_name(sizeof result.machine, result.machine);
    *out = result;
    return NVDP_OK;
}

/* ---- noise ---- */

enum { NOISE_CHUNK = 1 << 12 }; /* values of one stream */

const struct bench_noise_config bench_noise_config_default = {.values = 1 << 22, .steps = 3};

/* Draws one chunk.  Returns the sum of the values, so that the compiler does not remove the draws. */
static double draw_noise(const struct nvdp__noise *noise, size_t chunk, bool exact) {
    static const struct nvdp__rounding_grid grid = {-10, INT16_MAX};
    double sum = 0;
    if (exact) {
        int64_t mean[NOISE_CHUNK] = {0};
        int32_t out[NOISE_CHUNK];
        struct nvdp__digits digits;
        struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_EXACT, 0, chunk);
        nvdp__digits_open(&stream, &digits);
        nvdp__grid_draw(&digits, &grid, NOISE_CHUNK, mean, NULL, out);
        for (int i = 0; i < NOISE_CHUNK; i++)
            sum += out[i];
    } else {
        double out[NOISE_CHUNK];
        struct nvdp__stream stream = nvdp__stream_open(noise, NVDP__PURPOSE_EVAL_GAUSS, 0, chunk);
        nvdp__stream_normals_f64(&stream, NOISE_CHUNK, out);
        for (int i = 0; i < NOISE_CHUNK; i++)
            sum += out[i];
    }
    return sum;
}

static nvdp_status time_noise(struct nvdp_context *ctx, const struct bench_noise_config *config,
                              bool exact, double *seconds, struct bench_noise_speed *out) {
    const size_t chunks = (config->values + NOISE_CHUNK - 1) / NOISE_CHUNK;
    struct nvdp__release_key key;
    NVDP_TRY(nvdp__release_key_create(ctx, &key));
    const struct nvdp__noise noise = {.release = &key};
    for (size_t step = 0; step <= config->steps; step++) { /* the first is not timed */
        double start = nvdp__now(), sum = 0;
#pragma omp parallel for num_threads(nvdp_context_threads(ctx)) reduction(+ : sum)
        for (size_t chunk = 0; chunk < chunks; chunk++)
            sum += draw_noise(&noise, step * chunks + chunk, exact);
        if (step > 0) seconds[step - 1] = isfinite(sum) ? nvdp__now() - start : NAN;
    }
    nvdp__release_key_wipe(&key);
    out->step = summarize_times(config->steps, seconds);
    out->values_per_second = (double)config->values / out->step.mean;
    return NVDP_OK;
}

nvdp_status bench_noise(struct nvdp_context *ctx, const struct bench_noise_config *config,
                        struct bench_noise_result *out) {
    struct bench_noise_result result = {0};
    nvdp__autofree double *seconds = NULL;
    if (config->values < 1 || config->values > MAX_TABLE || config->steps < 1 ||
        config->steps > MAX_RD_STEPS)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "expected 1 to %d values and 1 to %d steps, found %zu values and %zu steps", MAX_TABLE,
            MAX_RD_STEPS, config->values, config->steps);
    NVDP_TRY(NVDP__NEW(ctx, seconds, config->steps));
    NVDP_TRY(time_noise(ctx, config, true, seconds, &result.exact));
    NVDP_TRY(time_noise(ctx, config, false, seconds, &result.in_double));
    nvdp__processor_name(sizeof result.machine, result.machine);
    *out = result;
    return NVDP_OK;
}
