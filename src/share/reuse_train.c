/* The epochs of a reader, and its scores. */
#include "base/base.h"
#include "share/reuse.h"
#include "text/batch.h"
#include "train/metrics.h"
#include <math.h>
#include <stdlib.h>

/* --- scoring --- */

/* Outputs of every text for its sample number s. */
static nvdp_status predict(struct nvdp__reuse *reuse, const struct nvdp__reuse_texts *texts,
                           size_t s, float *outputs) {
    struct nvdp__reader *reader = reuse->reader;
    const struct nvdp__dropout none = {0};
    size_t width = reader->shape.outputs;
    for (size_t first = 0; first < texts->count; first += reuse->batch) {
        size_t left = texts->count - first;
        size_t n = left < reuse->batch ? left : reuse->batch;
        if (nvdp__cancelled(reuse->ctx))
            return nvdp__fail(reuse->ctx, NVDP_ERR_CANCELLED, "reuse: cancelled");
        for (size_t i = 0; i < n; i++) {
            reuse->samples[i] = texts->row[first + i] * texts->file->shape.samples + s;
        }
        nvdp__reader_fill(reader, texts->file, n, reuse->samples);
        NVDP_RETURN_IF_FAILED(nvdp__reader_forward(reader, &none));
        nvdp__download(&reader->dev, n * width, reader->logits, outputs + first * width);
    }
    return NVDP_OK;
}

nvdp_status nvdp__reuse_score(struct nvdp__reuse *reuse, const struct nvdp__reuse_texts *texts,
                              struct nvdp_scores *scores) {
    nvdp_status status = NVDP_OK;
    size_t draws = texts->file->shape.samples;
    size_t size = texts->count * reuse->reader->shape.outputs;
    float *outputs = nvdp__calloc(reuse->ctx, draws * size, sizeof *outputs);
    float *label = nvdp__calloc(reuse->ctx, texts->count, sizeof *label);
    const float **of_draw = nvdp__calloc(reuse->ctx, draws, sizeof *of_draw);
    if (outputs == NULL || label == NULL || of_draw == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    for (size_t s = 0; s < draws; s++) {
        of_draw[s] = outputs + s * size;
        NVDP_TRY(predict(reuse, texts, s, outputs + s * size));
    }
    for (size_t i = 0; i < texts->count; i++) {
        label[i] = texts->labels->value[texts->row[i]];
    }
    nvdp__score(&reuse->task, texts->count, label, draws, of_draw, scores);
cleanup:
    free(outputs);
    free(label);
    free(of_draw);
    return status;
}

/* --- training --- */

/* The sample that an epoch sees of a text. */
static size_t pick_sample(const struct nvdp__reuse *reuse, uint32_t epoch, size_t text) {
    size_t samples = reuse->file->shape.samples;
    const struct nvdp__noise noise = {.seed = reuse->options->seed};
    struct nvdp__stream stream = nvdp__stream_open(&noise, NVDP__PURPOSE_READER, epoch, text);
    return text * samples + (samples > 1 ? nvdp__stream_below(&stream, samples) : 0);
}

static nvdp_status step(struct nvdp__reuse *reuse, uint32_t epoch, size_t first, size_t n,
                        uint64_t number, uint64_t total, double *loss) {
    struct nvdp__reader *reader = reuse->reader;
    const struct nvdp__dropout dropout = {
        .rate = 0, .seed = reuse->options->seed, .step = (uint32_t)number};
    double norm;
    for (size_t i = 0; i < n; i++) {
        size_t text = reuse->train.row[reuse->order[first + i]];
        reuse->samples[i] = pick_sample(reuse, epoch, text);
        reuse->target[i] = reuse->labels.value[text];
    }
    nvdp__reader_fill(reader, reuse->file, n, reuse->samples);
    NVDP_RETURN_IF_FAILED(nvdp__reader_forward(reader, &dropout));
    nvdp__zero(&reader->dev, reader->params.total, reader->params.grad);
    nvdp__reader_backward(reader, &dropout, reuse->target, loss);
    if (!isfinite(*loss))
        return nvdp__fail(reuse->ctx, NVDP_ERR_NUMERIC,
                          "reuse: the loss is %g in step %llu; a smaller lr may help", *loss,
                          (unsigned long long)number + 1);
    return nvdp__optimizer_step(&reuse->optimizer, &reader->dev, &reader->params,
                                nvdp__lr_factor(number, total, reuse->options->warmup), &norm);
}

static nvdp_status train_epoch(struct nvdp__reuse *reuse, uint32_t epoch, struct nvdp__meter *meter,
                               uint64_t *number, uint64_t total) {
    size_t count = reuse->train.count;
    double loss = 0;
    nvdp__epoch_order(reuse->options->seed, epoch, count, reuse->order);
    for (size_t first = 0; first < count; first += reuse->batch) {
        size_t n = count - first < reuse->batch ? count - first : reuse->batch;
        if (nvdp__cancelled(reuse->ctx))
            return nvdp__fail(reuse->ctx, NVDP_ERR_CANCELLED, "reuse: cancelled");
        NVDP_RETURN_IF_FAILED(step(reuse, epoch, first, n, *number, total, &loss));
        (*number)++;
        nvdp__meter_update(meter, *number, (double)*number * (double)reuse->batch, "text", loss);
    }
    return NVDP_OK;
}

/* Keeps the parameters of the best epoch so far. */
static nvdp_status judge(struct nvdp__reuse *reuse, size_t epoch) {
    struct nvdp_scores scores;
    const struct nvdp__params *params = &reuse->reader->params;
    NVDP_RETURN_IF_FAILED(nvdp__reuse_score(reuse, &reuse->validation, &scores));
    nvdp__log(reuse->ctx, NVDP_LOG_INFO, "epoch %zu: validation %s %.4f", epoch,
              nvdp_metric_name(scores.metric[0]), scores.mean[0]);
    if (reuse->best_epoch > 0 && !(scores.mean[0] > reuse->best_value)) return NVDP_OK;
    reuse->best_epoch = epoch;
    reuse->best_value = scores.mean[0];
    nvdp__copy(&reuse->reader->dev, params->total, params->value, reuse->best);
    return NVDP_OK;
}

nvdp_status nvdp__reuse_train(struct nvdp__reuse *reuse) {
    const struct nvdp_reuse_config *options = reuse->options;
    struct nvdp__params *params = &reuse->reader->params;
    size_t steps = (reuse->train.count + reuse->batch - 1) / reuse->batch;
    uint64_t total = (uint64_t)steps * options->epochs;
    uint64_t number = 0;
    struct nvdp__meter meter;
    nvdp__meter_begin(&meter, reuse->ctx, "reuse", "step", 0, total);
    for (size_t epoch = 1; epoch <= options->epochs; epoch++) {
        NVDP_RETURN_IF_FAILED(train_epoch(reuse, (uint32_t)epoch - 1, &meter, &number, total));
        NVDP_RETURN_IF_FAILED(judge(reuse, epoch));
        if (options->patience > 0 && epoch - reuse->best_epoch >= options->patience) break;
    }
    nvdp__meter_end(&meter);
    nvdp__copy(&reuse->reader->dev, params->total, reuse->best, params->value);
    return NVDP_OK;
}
