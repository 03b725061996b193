/* nvdp_bench: a trainer without files around it, and a clock. */
#include "train/bench.h"
#include "base/machine.h"
#include "tensor/peak.h"

#include <math.h>
#include <stdlib.h>

/* Steps before the clock starts, and random batches before they come round again. */
enum { WARMUP = 1, MOST_BATCHES = 64, MOST_STEPS = 100000 };

struct nvdp_bench_config nvdp_bench_config_default(void) {
    struct nvdp_bench_config config = {
        .work = NVDP_BENCH_TRAIN, .arch = "base", .train = nvdp_train_config_default(), .steps = 3};
    config.train.dropout = -1;
    return config;
}

struct bench {
    const struct nvdp_bench_config *config;
    struct nvdp__trainer trainer;
    struct nvdp__output batches;
    double *seconds; /* [steps] */
    float *outputs;  /* [batch, outputs] */
    double flops;    /* of the timed steps, forward */
    struct nvdp_bench_result result;
};

static bool trains(const struct bench *bench) {
    return bench->config->work == NVDP_BENCH_TRAIN;
}

/* The trainer's configuration, with what a run has and a benchmark lacks filled in, so that the
 * rest is checked as nvdp_train checks it. */
static nvdp_status take_config(struct bench *bench) {
    const struct nvdp_bench_config *config = bench->config;
    struct nvdp__trainer *t = &bench->trainer;
    t->config = config->train;
    t->config.out = "bench";
    t->config.epochs = 1;
    t->config.eval_batch = config->train.batch;
    if (config->train.data == NULL) {
        t->config.data = "random";
        t->config.task = "sst2";
        if (t->config.model == NULL) t->config.model = "random";
    }
    NVDP_RETURN_IF_FAILED(nvdp_train_config_check(t->ctx, &t->config));
    if (config->arch == NULL && config->train.model == NULL)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "arch: expected a name, or a model, found none");
    if (config->steps >= 1 && config->steps <= MOST_STEPS) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT, "steps: expected 1 to %d, found %zu", MOST_STEPS,
                      config->steps);
}

static nvdp_status find_sizes(struct bench *bench, struct nvdp_bert_config *bert) {
    struct nvdp__trainer *t = &bench->trainer;
    if (bench->config->arch != NULL)
        return nvdp_bert_config_find(t->ctx, bench->config->arch, bert);
    return nvdp_bert_config_read(t->ctx, t->config.model, bert);
}

static nvdp_status open_texts(struct bench *bench, const struct nvdp_bert_config *bert) {
    struct nvdp__trainer *t = &bench->trainer;
    size_t batches = bench->config->steps + WARMUP;
    if (bench->config->train.data == NULL)
        return nvdp__bench_texts(
            t->ctx, t->config.batch * (batches < MOST_BATCHES ? batches : MOST_BATCHES),
            t->config.max_length, bert->vocab_size, t->config.seed, &t->all);
    NVDP_RETURN_IF_FAILED(nvdp_tokenizer_load(t->ctx, t->config.model, &t->tokenizer));
    if (nvdp_tokenizer_size(t->tokenizer) > bert->vocab_size)
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s/vocab.txt: expected at most %zu pieces, found %zu", t->config.model,
                          bert->vocab_size, nvdp_tokenizer_size(t->tokenizer));
    return nvdp__trainer_load_split(t, NVDP_SPLIT_TRAIN, &t->all);
}

static nvdp_status random_weights(struct bench *bench) {
    struct nvdp__trainer *t = &bench->trainer;
    double start = nvdp__now();
    nvdp__model_initialise(t->model, t->config.seed);
    bench->result.weights_seconds = nvdp__now() - start;
    return nvdp__model_initialise_bottleneck(t->model, t->train, t->config.seed);
}

static void start_epoch(struct nvdp__trainer *t) {
    nvdp__epoch_order(t->config.seed, (uint32_t)t->state.epoch, t->train->count, t->order);
}

static nvdp_status open_bench(struct bench *bench) {
    struct nvdp__trainer *t = &bench->trainer;
    struct nvdp_bert_config bert;
    NVDP_RETURN_IF_FAILED(take_config(bench));
    NVDP_RETURN_IF_FAILED(find_sizes(bench, &bert));
    NVDP_RETURN_IF_FAILED(open_texts(bench, &bert));
    t->train = t->all;
    NVDP_RETURN_IF_FAILED(nvdp__trainer_build(t, &bert, trains(bench)));
    nvdp__trainer_count_steps(t);
    t->steps = bench->config->steps + WARMUP;
    NVDP_RETURN_IF_FAILED(nvdp__trainer_allocate(t, trains(bench)));
    NVDP_RETURN_IF_FAILED(random_weights(bench));
    NVDP_RETURN_IF_FAILED(nvdp__trainer_open_prefix(t));
    start_epoch(t);
    bench->seconds = nvdp__calloc(t->ctx, bench->config->steps, sizeof *bench->seconds);
    bench->outputs =
        nvdp__calloc(t->ctx, t->config.batch * t->model->info.outputs, sizeof *bench->outputs);
    if (bench->seconds == NULL || bench->outputs == NULL) return NVDP_ERR_MEMORY;
    if (bench->config->batches == NULL) return NVDP_OK;
    return nvdp__output_open(t->ctx, bench->config->batches, &bench->batches);
}

static void advance(struct nvdp__trainer *t) {
    t->state.step++;
    if (++t->state.epoch_step < t->epoch_steps) return;
    t->state.epoch_step = 0;
    t->state.epoch++;
    start_epoch(t);
}

/* A forward pass, its outputs fetched. */
static nvdp_status encode_step(struct bench *bench) {
    struct nvdp__trainer *t = &bench->trainer;
    const struct nvdp__pass pass = {0};
    struct nvdp__draw draw = nvdp__draw_evaluation(t->config.seed, (uint32_t)t->state.epoch);
    nvdp__trainer_next_batch(t);
    NVDP_RETURN_IF_FAILED(nvdp__model_forward(t->model, t->batch, &pass, &draw, 0));
    nvdp__model_logits(t->model, t->batch->texts, bench->outputs);
    return NVDP_OK;
}

static nvdp_status step(struct bench *bench) {
    struct nvdp__step_report report;
    if (trains(bench)) return nvdp__train_step(&bench->trainer, &report);
    return encode_step(bench);
}

static nvdp_status count_step(struct bench *bench, size_t i, double seconds) {
    const struct nvdp__trainer *t = &bench->trainer;
    struct nvdp_bench_result *r = &bench->result;
    bench->seconds[i] = seconds;
    bench->flops += nvdp__bench_flops(&t->model->info.bert, t->batch);
    r->texts += t->batch->texts;
    r->tokens += t->batch->tokens;
    r->tokens_per_second_best =
        fmax(r->tokens_per_second_best, (double)t->batch->tokens / fmax(seconds, 1e-9));
    if (bench->config->batches == NULL) return NVDP_OK;
    return nvdp__bench_write_batch(&bench->batches, t->batch);
}

static nvdp_status run_steps(struct bench *bench) {
    struct nvdp__trainer *t = &bench->trainer;
    for (size_t i = 0; i < bench->config->steps + WARMUP; i++) {
        if (nvdp__cancelled(t->ctx)) return nvdp__fail(t->ctx, NVDP_ERR_CANCELLED, "interrupted");
        double start = nvdp__now();
        NVDP_RETURN_IF_FAILED(step(bench));
        double seconds = nvdp__now() - start;
        if (i >= WARMUP) NVDP_RETURN_IF_FAILED(count_step(bench, i - WARMUP, seconds));
        advance(t);
    }
    return NVDP_OK;
}

static nvdp_status conclude(struct bench *bench) {
    struct nvdp_bench_result *r = &bench->result;
    const struct nvdp_bert_config *bert = &bench->trainer.model->info.bert;
    const struct nvdp_train_config *config = &bench->trainer.config;
    double layers = (double)bert->num_hidden_layers;
    double trained = trains(bench) ? (layers - (double)config->freeze_layers) / layers : 0;
    double passes = 1 + 2 * trained; /* the two gradients take a product each */
    double d = (double)bert->hidden_size;
    r->step = nvdp__bench_times(bench->config->steps, bench->seconds);
    double seconds = r->step.mean * (double)bench->config->steps;
    r->tokens_per_second = (double)r->tokens / seconds;
    r->flops = passes * bench->flops / seconds;
    r->encoder_flops = passes * 2 * 12 * d * d * layers * r->tokens_per_second;
    if (trains(bench))
        r->dropout = config->dropout >= 0 ? config->dropout : bert->hidden_dropout_prob;
    r->parameters = bench->trainer.model->info.parameters;
    r->peak_rss = nvdp__peak_rss();
    r->precision =
        bench->trainer.model->dev.half != NULL ? NVDP_PRECISION_BF16 : NVDP_PRECISION_F32;
    r->peak_flops = nvdp__gemm_peak(&bench->trainer.model->dev);
    nvdp__processor_name(sizeof r->machine, r->machine);
    return r->peak_flops > 0 ? NVDP_OK : NVDP_ERR_MEMORY;
}

nvdp_status nvdp_bench(struct nvdp_context *ctx, const struct nvdp_bench_config *config,
                       struct nvdp_bench_result *out) {
    nvdp_status status = NVDP_OK;
    struct bench bench = {.config = config, .trainer = {.ctx = ctx}};
    NVDP_TRY(open_bench(&bench));
    bench.result.start_to_first_step_seconds = nvdp__process_age() - bench.result.weights_seconds;
    NVDP_TRY(run_steps(&bench));
    if (config->batches != NULL) NVDP_TRY(nvdp__output_commit(&bench.batches));
    NVDP_TRY(conclude(&bench));
    *out = bench.result;
cleanup:
    nvdp__output_abort(&bench.batches);
    nvdp__trainer_close(&bench.trainer);
    free(bench.seconds);
    free(bench.outputs);
    return status;
}
