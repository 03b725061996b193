/* Private training: options, who is in a step, clipping, noise. */
#include "train/dp.h"

#include <math.h>
#include <stdlib.h>

/* --- options --- */

#define AT(member) NVDP_OPTION_AT(struct nvdp__dp_options, member)

const struct nvdp_option nvdp__dp_rows[] = {
    {"dp-batch", NVDP_OPTION_INTEGER, "B",
     "train with differential privacy: a step draws every training example with probability B/N, "
     "so B on average; --batch is then how many are worked on at a time; implies select last, "
     "patience 0, clip-norm 0; 0: see dp-sample-rate",
     "0", AT(batch), .unit = "texts", .max = 1e9,
     .group = "Differential privacy of the training texts:"},
    {"dp-sample-rate", NVDP_OPTION_REAL, "Q", "the same by the probability itself; 0: see dp-batch",
     "0", AT(sample_rate), .max = 1},
    {"dp-noise", NVDP_OPTION_REAL, "SIGMA",
     "standard deviation of the noise on a step's sum, in units of dp-clip", "0", AT(noise),
     .max = 1e6},
    {"dp-clip", NVDP_OPTION_REAL, "C",
     "norm that each example's gradient over all parameters is clipped to", "1", AT(clip),
     .min = 1e-9, .max = INFINITY},
    {"insecure-seed", NVDP_OPTION_SEED, "N",
     "draw examples and noise from this seed, for experiments: whoever knows it takes the noise "
     "off; 0: from the operating system, never the same twice",
     "0", AT(insecure_seed)},
    {0},
};

nvdp_status nvdp__dp_check(struct nvdp_context *ctx, const struct nvdp__dp_options *options) {
    bool clips = !isinf(options->clip);
    if (!nvdp__dp_wanted(options)) {
        if (options->noise == 0) return NVDP_OK;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option --dp-noise: expected --dp-batch or --dp-sample-rate beside it, "
                          "found neither");
    }
    if (options->batch > 0 && options->sample_rate > 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "options --dp-batch and --dp-sample-rate exclude each other");
    if (clips && !(options->noise > 0))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option --dp-noise: expected above 0, found %g (0, which is not private, "
                          "goes with --dp-clip inf only)",
                          options->noise);
    if (!clips && options->noise > 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option --dp-clip: expected a number with --dp-noise %g, found inf: no "
                          "noise hides what is not bounded",
                          options->noise);
    return NVDP_OK;
}

/* --- a run --- */

nvdp_status nvdp__dp_create(struct nvdp_context *ctx, const struct nvdp__dp_options *options,
                            size_t examples, size_t texts, struct nvdp__dp **out) {
    nvdp_status status = NVDP_OK;
    if (options->batch > examples)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option --dp-batch: expected at most the %zu training examples, found "
                          "%zu",
                          examples, options->batch);
    struct nvdp__dp *made = nvdp__calloc(ctx, 1, sizeof *made);
    if (made == NULL) return NVDP_ERR_MEMORY;
    *made = (struct nvdp__dp){.ctx = ctx,
                              .noise = options->noise,
                              .clip = options->clip,
                              .rate = options->batch > 0 ? (double)options->batch / (double)examples
                                                         : options->sample_rate,
                              .examples = examples,
                              .source = {.seed = options->insecure_seed}};
    made->divisor =
        options->batch > 0 ? (double)options->batch : options->sample_rate * (double)examples;
    if (options->insecure_seed == 0) {
        NVDP_TRY(nvdp__release_key_create(ctx, &made->key));
        made->source.release = &made->key;
    }
    made->norm = nvdp__calloc(ctx, texts, sizeof *made->norm);
    made->weight = nvdp__calloc(ctx, texts, sizeof *made->weight);
    NVDP_TRY(NVDP__MADE(made->norm, made->weight));
    *out = made;
    made = NULL;
cleanup:
    nvdp__dp_free(made);
    return status;
}

void nvdp__dp_free(struct nvdp__dp *dp) {
    if (dp == NULL) return;
    nvdp__release_key_wipe(&dp->key);
    nvdp__examples_free(dp->grads);
    free(dp->norm);
    free(dp->weight);
    free(dp);
}

uint64_t nvdp__dp_epoch_steps(const struct nvdp__dp *dp) {
    return (uint64_t)fmax(1, round(1 / dp->rate));
}

/* --- a step --- */

size_t nvdp__dp_draw(const struct nvdp__dp *dp, uint64_t step, int64_t *rows) {
    struct nvdp__stream stream =
        nvdp__stream_open(&dp->source, NVDP__PURPOSE_DP_SAMPLE, (uint32_t)step, step >> 32);
    size_t drawn = 0;
    for (size_t i = 0; i < dp->examples; i++)
        if (nvdp__stream_uniform(&stream) < dp->rate) rows[drawn++] = (int64_t)i;
    return drawn;
}

void nvdp__dp_begin(const struct nvdp__dp *dp, struct nvdp__device *dev, size_t texts) {
    nvdp__examples_begin(dp->grads, texts);
    dev->examples = dp->grads;
}

/* min(1, C / |g|), never above by rounding; 0 for a gradient that is no number. */
static float clip_weight(double clip, double norm) {
    if (isinf(clip) || norm <= clip) return 1;
    float weight = isfinite(norm) ? (float)(clip / norm) : 0;
    return (double)weight * norm > clip ? nextafterf(weight, 0) : weight;
}

nvdp_status nvdp__dp_clip(const struct nvdp__dp *dp, struct nvdp__device *dev, bool first) {
    size_t texts = nvdp__examples_texts(dev);
    nvdp_status status = nvdp__examples_norms(dev, NULL, dp->norm);
    for (size_t i = 0; i < texts && status == NVDP_OK; i++)
        dp->weight[i] = clip_weight(dp->clip / dp->divisor, dp->norm[i]);
    if (status == NVDP_OK) nvdp__examples_add(dev, dp->weight, first);
    dev->examples = NULL;
    return status;
}

void nvdp__dp_noise(const struct nvdp__dp *dp, const struct nvdp__device *dev,
                    const struct nvdp__params *params, uint64_t step) {
    if (dp->noise > 0)
        nvdp__gradient_noise(dev, params, &dp->source, step, dp->noise * dp->clip / dp->divisor);
}
