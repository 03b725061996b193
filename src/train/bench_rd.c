/* nvdp_bench_rd: all ordered pairs of random posteriors. */
#include "base/machine.h"
#include "base/random.h"
#include "train/bench.h"

#include <math.h>
#include <nvdp/rdp.h>
#include <stdlib.h>

enum {
    LEAST_TEXTS = 2,
    MOST_TEXTS = 20000,
    LEAST_COMPONENTS = 2,
    MOST_COMPONENTS = 1 << 16,
    MOST_DIM = 1 << 16,
    MOST_STEPS = 1000
};
static const double mu_sd = 0.3, logvar_sd = 0.1, log_alpha_sd = 0.2;

struct nvdp_bench_rd_config nvdp_bench_rd_config_default(void) {
    return (struct nvdp_bench_rd_config){
        .texts = 408, .components = 129, .dim = 768, .order = 1.1, .steps = 1, .seed = 1};
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_bench_rd_config *c) {
    const struct {
        const char *field;
        size_t value, min, max;
    } ranges[] = {{"texts", c->texts, LEAST_TEXTS, MOST_TEXTS},
                  {"components", c->components, LEAST_COMPONENTS, MOST_COMPONENTS},
                  {"dim", c->dim, 1, MOST_DIM},
                  {"steps", c->steps, 1, MOST_STEPS}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (ranges[i].value >= ranges[i].min && ranges[i].value <= ranges[i].max) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected %zu to %zu, found %zu",
                          ranges[i].field, ranges[i].min, ranges[i].max, ranges[i].value);
    }
    return NVDP_OK; /* the order is nvdp_renyi_pairs' to refuse */
}

static void scaled_normals(struct nvdp__stream *stream, double sd, size_t n, double *out) {
    nvdp__stream_normals_f64(stream, n, out);
    for (size_t i = 0; i < n; i++) {
        out[i] *= sd;
    }
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
    for (size_t i = first; i < first + rows; i++) {
        to->alpha[i] = exp(to->alpha[i]);
    }
}

static nvdp_status make_posteriors(struct nvdp_context *ctx, const struct nvdp_bench_rd_config *c,
                                   struct nvdp_posteriors **out) {
    size_t tokens = c->components - 1; /* the first component is the prior */
    struct nvdp_posteriors *made = NULL;
    size_t rows = 0;
    if (!nvdp__mul(c->texts, tokens, &rows))
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%zu texts of %zu components are too many",
                          c->texts, c->components);
    NVDP_RETURN_IF_FAILED(nvdp_posteriors_create(ctx, c->texts, rows, c->dim, true, &made));
    made->policy = NVDP_LENGTH_HIDDEN;
    made->length = tokens;
    made->pad_alpha = 1 / (double)c->components;
#pragma omp parallel for num_threads(nvdp_context_threads(ctx)) schedule(static)
    for (size_t i = 0; i < c->texts; i++) {
        fill_text(c->seed, i, made);
    }
    *out = made;
    return NVDP_OK;
}

nvdp_status nvdp_bench_rd(struct nvdp_context *ctx, const struct nvdp_bench_rd_config *config,
                          struct nvdp_bench_rd_result *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp_posteriors *posteriors = NULL;
    struct nvdp_pairs_config pairs = nvdp_pairs_config_default();
    struct nvdp_pairs_summary summary = {0};
    struct nvdp_bench_rd_result result = {0};
    double *seconds = NULL;
    pairs.order = config->order;
    NVDP_TRY(check(ctx, config));
    seconds = nvdp__calloc(ctx, config->steps, sizeof *seconds);
    if (seconds == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(make_posteriors(ctx, config, &posteriors));
    for (size_t i = 0; i < config->steps; i++) {
        double start = nvdp__now();
        NVDP_TRY(nvdp_renyi_pairs(ctx, posteriors, &pairs, &summary));
        seconds[i] = nvdp__now() - start;
    }
    result.step = nvdp__bench_times(config->steps, seconds);
    result.pairs = summary.pairs;
    result.sum = summary.sum;
    result.pairs_per_second = (double)summary.pairs / result.step.mean;
    result.pair_elements_per_second =
        result.pairs_per_second * (double)config->components * (double)config->dim;
    result.peak_rss = nvdp__peak_rss();
    nvdp__processor_name(sizeof result.machine, result.machine);
    *out = result;
cleanup:
    nvdp_posteriors_free(posteriors);
    free(seconds);
    return status;
}
