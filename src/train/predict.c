/* Leaderboard files: "index<TAB>prediction". */
#include "base/file.h"
#include "train/metrics.h"
#include "train/run.h"

#include <math.h>
#include <stdlib.h>

static nvdp_status write_rows(struct nvdp_context *ctx, const char *path,
                              const struct nvdp_model_info *info,
                              const struct nvdp_dataset *dataset, const float *outputs) {
    nvdp_status status = NVDP_OK;
    struct nvdp__output file = {0};
    NVDP_RETURN_IF_FAILED(nvdp__output_open(ctx, path, &file));
    NVDP_TRY(nvdp__output_printf(&file, "index\tprediction\n"));
    for (size_t i = 0; i < dataset->count; i++) {
        const float *row = outputs + i * info->outputs;
        if (dataset->id != NULL && dataset->id[i] != NULL) {
            NVDP_TRY(nvdp__output_printf(&file, "%s\t", dataset->id[i]));
        } else {
            NVDP_TRY(nvdp__output_printf(&file, "%lld\t", (long long)dataset->index[i]));
        }
        if (info->task.regression) {
            double value = fmin(fmax(row[0], info->task.label_min), info->task.label_max);
            NVDP_TRY(nvdp__output_printf(&file, "%.3f\n", value));
        } else {
            NVDP_TRY(nvdp__output_printf(&file, "%s\n",
                                         info->task.labels[nvdp__argmax(info->outputs, row)]));
        }
    }
    NVDP_TRY(nvdp__output_commit(&file));
cleanup:
    if (status != NVDP_OK) nvdp__output_abort(&file);
    return status;
}

nvdp_status nvdp_predict(struct nvdp_context *ctx, const struct nvdp_config *given,
                         char **written) {
    nvdp_status status = NVDP_OK;
    struct nvdp__run run = {0};
    float *outputs = NULL;
    char *path = NULL;
    struct nvdp__run_options options, *config = &options;
    NVDP_TRY(nvdp__config_open(ctx, given, &nvdp__predict_schema, &options));
    NVDP_TRY(nvdp__run_open(ctx, config, &run));
    path = config->out != NULL
               ? nvdp__strdup(ctx, config->out)
               : nvdp__format(ctx, "%s/predictions_%s.tsv", config->run, config->split);
    outputs = nvdp__calloc(ctx, run.dataset->count * run.model->info.outputs, sizeof *outputs);
    if (path == NULL || outputs == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    NVDP_TRY(
        nvdp_model_predict(ctx, run.model, run.dataset, config->batch, config->seed, 0, outputs));
    NVDP_TRY(write_rows(ctx, path, &run.model->info, run.dataset, outputs));
    if (written != NULL) {
        *written = path;
        path = NULL;
    }
cleanup:
    free(path);
    free(outputs);
    nvdp__run_close(&run);
    return status;
}
