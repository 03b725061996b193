/* Models and data sets that a grid names, looked at before anything is run. */
#include "base/file.h"
#include "grid.h"
#include "text/task.h"
#include "train/trainer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static nvdp_status check_readable(struct nvdp_context *ctx, const char *directory,
                                  const char *name) {
    char *path = nvdp__join(ctx, directory, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP_OK;
    if (access(path, R_OK) != 0) status = nvdp__fail_errno(ctx, errno, "%s: cannot read", path);
    free(path);
    return status;
}

static nvdp_status check_data(struct nvdp_context *ctx, const struct nvdp_train_config *config) {
    enum nvdp_task_id id;
    const char *dev = NULL;
    NVDP_RETURN_IF_FAILED(nvdp_task_find(ctx, config->task, &id));
    NVDP_RETURN_IF_FAILED(nvdp__task_file(ctx, nvdp__task_layout(id), NVDP_SPLIT_DEV, &dev));
    NVDP_RETURN_IF_FAILED(check_readable(ctx, config->data, "train.tsv"));
    return check_readable(ctx, config->data, dev);
}

static nvdp_status check_model(struct nvdp_context *ctx, const struct nvdp_train_config *config) {
    struct nvdp_bert_config bert;
    NVDP_RETURN_IF_FAILED(nvdp_bert_config_read(ctx, config->model, &bert));
    NVDP_RETURN_IF_FAILED(check_readable(ctx, config->model, "model.safetensors"));
    NVDP_RETURN_IF_FAILED(check_readable(ctx, config->model, "vocab.txt"));
    if (config->freeze_layers > bert.num_hidden_layers)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "key 'freeze_layers': expected at most the model's %zu, found %zu",
                          bert.num_hidden_layers, config->freeze_layers);
    struct nvdp_train_config resolved = *config;
    return nvdp__train_config_resolve(ctx, &bert, &resolved);
}

static bool same_files(const struct nvdp__sweep_run *a, const struct nvdp__sweep_run *b) {
    return strcmp(a->config.task, b->config.task) == 0 &&
           strcmp(a->config.data, b->config.data) == 0;
}

nvdp_status nvdp__grid_check_files(struct nvdp_context *ctx, const char *path,
                                   const struct nvdp__grid *grid) {
    for (size_t i = 0; i < grid->count; i++) {
        const struct nvdp__sweep_run *run = &grid->run[i];
        nvdp_status status = NVDP_OK;
        if (i == 0 || !same_files(run, run - 1)) status = check_data(ctx, &run->config);
        if (status == NVDP_OK) status = check_model(ctx, &run->config);
        if (status == NVDP_OK && run->attack != NULL && access(run->attack, R_OK) != 0)
            status = nvdp__fail_errno(ctx, errno, "key 'attack': %s: cannot read", run->attack);
        if (status == NVDP_OK) continue;
        nvdp__fail_prefix(ctx, status, path);
        return status == NVDP_ERR_MEMORY ? status : NVDP_ERR_INPUT;
    }
    return NVDP_OK;
}
