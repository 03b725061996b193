#include "train/metrics.h"
#include "train/trainer.h"

#include <math.h>
#include <stdlib.h>

nvdp_status nvdp__score_model(struct nvdp_context *ctx, struct nvdp_model *model,
                              const struct nvdp_dataset *dataset, size_t batch, uint64_t seed,
                              uint32_t first_draw, size_t draws, struct nvdp_scores *scores) {
    nvdp_status status = NVDP_OK;
    if (dataset->label == NULL) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "this split has no labels: there is nothing to score");
    }
    if (!model->bottleneck.mechanism->private_) draws = 1; /* no noise: every draw is the same */
    size_t size = dataset->count * model->info.outputs;
    float *outputs = nvdp__calloc(ctx, draws * size, sizeof *outputs);
    const float **row = nvdp__calloc(ctx, draws, sizeof *row);
    if (outputs == NULL || row == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    for (size_t d = 0; d < draws; d++) {
        row[d] = outputs + d * size;
        NVDP_TRY(nvdp_model_predict(ctx, model, dataset, batch, seed, first_draw + (uint32_t)d,
                                    outputs + d * size));
    }
    for (size_t i = 0; i < draws * size; i++) {
        if (isfinite(outputs[i])) continue;
        status = nvdp__fail(ctx, NVDP_ERR_NUMERIC, "text %zu: the model's output is %g",
                            i % size / model->info.outputs, (double)outputs[i]);
        goto cleanup;
    }
    nvdp__score(&dataset->task, dataset->count, dataset->label, draws, row, scores);
cleanup:
    free(outputs);
    free(row);
    return status;
}
