/* Training from other programs: nvdp_trainer, a trainer on random weights that writes no files, for benchmarks and
 * tests; the options of a bottleneck in another framework, and the gradient of its Gamma draws. */
#include "base/array.h"

#include "base/json.h"
#include "base/own.h"
#include "base/random.h"
#include "encoder/checkpoint.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include "nvib/nvib.h"
#include "tensor/ops.h"
#include "text/dataset.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include "train/trainer.h"
#include "train/training_options.h"
#include <math.h>
#include <nvdp/bottleneck.h>
#include <nvdp/trainer.h>
#include <stdlib.h>

/* nvdp_trainer: a trainer on random weights that writes no files, for benchmarks and tests.
 * nvdp_trainer_create and nvdp_trainer_step are the core; the functions before them make the
 * texts. */

struct nvdp_trainer {
    struct nvdp__trainer run;
    bool training;
    float *outputs; /* outputs of forward passes, [batch, outputs] */
    struct nvdp_trainer_info info;
    struct nvdp_trainer_step step;
};

/* In BERT's uncased vocabulary [CLS] is 101, [SEP] is 102, and whole words start near 1000. */
enum { CLS = 101, SEP = 102, FIRST_WORD = 1000, CLASSES = 2, MAX_BATCHES = 64 };

/* Makes `count` texts of `length` random tokens in two random classes. [CLS] comes first and
 * [SEP] last if the vocabulary has them. */
static nvdp_status random_texts(struct nvdp_context *ctx, size_t count, size_t length,
                                size_t vocabulary, uint64_t seed, struct nvdp_dataset **out) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *dataset = NULL;
    struct nvdp__noise noise = {.seed = seed};
    size_t first = vocabulary > FIRST_WORD ? FIRST_WORD : 0;
    NVDP_TRY(nvdp__dataset_create(ctx, count, true, &dataset));
    NVDP_TRY(NVDP__ARRAYS(ctx, &nvdp__dataset_storage(dataset)->memory,
                          NVDP__ITEMS(dataset->ids, count * length),
                          NVDP__ITEMS(dataset->types, count * length)));
    for (size_t i = 0; i < count; i++) {
        struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_DEMO, 0, i);
        int32_t *ids = dataset->ids + i * length;
        dataset->index[i] = (int64_t)i;
        dataset->offset[i + 1] = (i + 1) * length;
        dataset->label[i] = (float)nvdp__stream_below(&stream, CLASSES);
        for (size_t t = 0; t < length; t++)
            ids[t] = (int32_t)(first + nvdp__stream_below(&stream, vocabulary - first));
        if (vocabulary <= SEP) continue;
        ids[0] = CLS;
        ids[length - 1] = SEP;
    }
    dataset->longest = length;
    nvdp__dataset_storage(dataset)->task =
        nvdp__task_layout(NVDP_TASK_SST2)->task; /* single texts of two classes */
    return NVDP__HAND_OVER(out, dataset);
}

/* Fills in the options that a run needs but a single step does not need, so that the remaining options are checked as
 * in nvdp_train. */
static nvdp_status take_config(struct nvdp__trainer *t, const struct nvdp_config *config,
                               bool *random) {
    NVDP_TRY(nvdp__config_values(t->ctx, config, &nvdp__train_schema, &t->config));
    *random = t->config.data == NULL;
    t->config.out = "none";
    t->config.epochs = 1;
    t->config.eval_batch = t->config.batch;
    if (*random) {
        t->config.data = "random";
        t->config.task = "sst2";
        if (t->config.model == NULL) t->config.model = "random";
    }
    return nvdp__schema_check(t->ctx, &nvdp__train_schema, &t->config);
}

static nvdp_status open_texts(struct nvdp__trainer *t, const struct nvdp_bert_config *bert) {
    NVDP_TRY(nvdp__method_tokenizer_load(t->ctx, t->config.method, t->config.model, &t->tokenizer));
    size_t pieces = nvdp_tokenizer_size(t->tokenizer);
    if (pieces > bert->vocab_size)
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: vocabulary: expected at most %zu pieces, found %zu", t->config.model,
                          bert->vocab_size, pieces);
    return nvdp__trainer_load_split(t, NVDP_SPLIT_TRAIN, &t->all);
}

static void start_epoch(struct nvdp__trainer *t) {
    nvdp__epoch_order(t->config.seed, (uint32_t)t->job.epoch, t->train->count, t->job.order);
}

nvdp_status nvdp_trainer_create(struct nvdp_context *ctx, const struct nvdp_config *config,
                                const struct nvdp_bert_config *given, bool training, size_t steps,
                                struct nvdp_trainer **out) {
    struct nvdp_bert_config whole, *bert = &whole;
    nvdp__autoptr(nvdp_trainer_free) struct nvdp_trainer *trainer =
        nvdp__calloc(ctx, 1, sizeof *trainer);
    if (trainer == NULL) return NVDP_ERR_MEMORY;
    struct nvdp__trainer *t = &trainer->run;
    trainer->training = training;
    t->ctx = ctx;
    bool random = false;
    NVDP_TRY(nvdp__bert_config_take(ctx, given, &whole));
    NVDP_TRY(take_config(t, config, &random));
    if (!random) {
        NVDP_TRY(open_texts(t, bert));
    } else {
        size_t batches = nvdp__min(steps, MAX_BATCHES);
        if (nvdp__dp_wanted(&t->config.dp)) batches = 1; /* one step may draw all texts */
        NVDP_TRY(random_texts(ctx, t->config.batch * batches, t->config.max_length,
                              bert->vocab_size, t->config.seed, &t->all));
    }
    t->train = t->all;
    NVDP_TRY(nvdp__trainer_build(t, bert, training));
    NVDP_TRY(nvdp__trainer_count_steps(t));
    t->job.steps = steps;
    NVDP_TRY(nvdp__trainer_allocate(t, training));
    NVDP_TRY(nvdp__dp_share(t->job.dp));
    double start = nvdp__now();
    nvdp__model_initialise(t->model, t->config.seed);
    trainer->info = (struct nvdp_trainer_info){
        .bert = &t->model->info.bert,
        .precision = nvdp__device_precision(&t->model->dev),
        .parameters = t->model->info.parameters,
        .weights_seconds = nvdp__now() - start,
    };
    NVDP_TRY(nvdp__model_initialise_bottleneck(t->model, t->job.dp == NULL ? t->train : NULL,
                                               t->config.seed));
    NVDP_TRY(nvdp__trainer_open_prefix(t));
    start_epoch(t);
    NVDP_TRY(NVDP__NEW(ctx, trainer->outputs, t->batch->token_capacity * t->model->info.outputs));
    return NVDP__HAND_OVER(out, trainer);
}

void nvdp_trainer_free(struct nvdp_trainer *trainer) {
    if (trainer == NULL) return;
    nvdp__trainer_close(&trainer->run);
    free(trainer->outputs);
    free(trainer);
}

const struct nvdp_trainer_info *nvdp_trainer_info(const struct nvdp_trainer *trainer) {
    return &trainer->info;
}

nvdp_status nvdp_trainer_step(struct nvdp_trainer *trainer, const struct nvdp_trainer_step **out) {
    struct nvdp__trainer *t = &trainer->run;
    double start = nvdp__now();
    double loss = NAN;
    if (trainer->training) {
        NVDP_TRY(nvdp__job_step(&t->job));
        loss = t->job.last.total;
    } else { /* a forward pass; its outputs are copied to the host */
        const struct nvdp__pass pass = {0};
        struct nvdp__draw draw = nvdp__draw_evaluation(t->config.seed, (uint32_t)t->job.epoch);
        nvdp__trainer_next_batch(t);
        NVDP_TRY(nvdp__model_forward(t->model, t->batch, &pass, &draw, 0));
        nvdp__model_logits(t->model, nvdp__model_heads(t->model, t->batch), trainer->outputs);
    }
    const struct nvdp__batch *batch = t->batch;
    trainer->step = (struct nvdp_trainer_step){
        .texts = batch->texts,
        .tokens = batch->tokens,
        .offset = batch->offset,
        .ids = batch->ids,
        .types = batch->types,
        .label = batch->label,
        .seconds = nvdp__now() - start,
        .loss = loss,
    };
    t->job.step++;
    if (++t->state.epoch_step == t->epoch_steps) {
        t->state.epoch_step = 0;
        t->job.epoch++;
        start_epoch(t);
    }
    *out = &trainer->step;
    return NVDP_OK;
}

nvdp_status nvdp_trainer_peak(const struct nvdp_trainer *trainer, double *out) {
    double peak = nvdp__gemm_peak(&trainer->run.model->dev);
    if (!(peak > 0)) return NVDP_ERR_MEMORY;
    *out = peak;
    return NVDP_OK;
}

/* ==== a bottleneck in another framework ==== */

nvdp_status nvdp_bottleneck_resolve(struct nvdp_context *ctx, const struct nvdp_config *config,
                                    size_t width, size_t heads, struct nvdp_limits *limits,
                                    char **out) {
    const struct nvdp_bert_config encoder = {.hidden_size = width, .num_attention_heads = heads};
    struct nvdp__train_options options;
    const struct nvdp__nvib_config *nvib = &options.nvib;
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__train_schema, &options));
    if (limits != NULL) NVDP_TRY(nvdp__can_give(ctx, limits));
    const struct nvdp__method *row = nvdp__method_row(options.method);
    if (!nvdp_method_is_private(options.method))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {method}: expected a method with a bottleneck, found %s",
                          nvdp_method_name(options.method));
    if (row->words)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {method}: expected a method that reads hidden states, found %s, "
            "whose certificate per word needs texts that nvdp itself splits into words",
            nvdp_method_name(options.method));
    if (row->untrained)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {method}: expected a method to train, found %s",
                          nvdp_method_name(options.method));
    NVDP_TRY(nvdp__train_calibrate(ctx, &options));
    if (options.nvib.length == 0) options.nvib.length = options.max_length;
    NVDP_TRY(nvdp__method_resolve(ctx, options.method, &encoder, &options.nvib));
    const struct nvdp_limits made = nvdp__method_limits(options.method, &options.nvib);
    NVDP_TRY(nvdp__json_text(
        ctx,
        json_pack("{s:s, s:b, s:b, s:b, s:b, s:b, s:f, s:f, s:s, s:f, s:f, s:o}", "method",
                  nvdp_method_name(options.method), "block", row->block, "weights",
                  nvdp__method_weighted(row, nvib), "single", nvdp__method_single(row, nvib),
                  "own_noise", row->own_noise, "trained_noise", row->trained_limits != NULL,
                  "lambda_g", options.lambda_g, "lambda_d", options.lambda_d, "kl_schedule",
                  nvdp__kl_schedule_names[options.kl_schedule], "kl_delay", options.kl_delay,
                  "kl_ramp", options.kl_ramp, "nvib", nvdp__schema_json(&nvdp__nvib_schema, nvib)),
        "bottleneck", out));
    if (limits != NULL) NVDP__GIVE(limits, &made);
    return NVDP_OK;
}

void nvdp_gamma_gradient(size_t n, const double *alpha, const double *log_g, double *out) {
    for (size_t i = 0; i < n; i++)
        out[i] = nvdp__gamma_implicit_log_gradient(alpha[i], log_g[i]);
}
