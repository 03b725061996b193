/* The texts of an export: splits of the task, or a file of the user's. */
#include "share/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct nvdp_dataset_config dataset_config(const struct nvdp__export *export) {
    struct nvdp_dataset_config config =
        nvdp__run_dataset_config(&export->run, export->options->data);
    config.limit = export->options->limit;
    config.limit_seed = export->options->seed;
    return config;
}

static nvdp_status find_split(struct nvdp_context *ctx, const char *name, enum nvdp_split *out) {
    static const char *const names[] = {"train", "dev", "test", "dev-mismatched",
                                        "test-mismatched"};
    for (int i = 0; i < NVDP__EXPORT_PARTS; i++) {
        if (strcmp(name, names[i]) != 0) continue;
        *out = (enum nvdp_split)i;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "split '%s': expected train, dev, test, dev-mismatched or test-mismatched",
                      name);
}

static nvdp_status load_split(struct nvdp__export *export, const char *name) {
    enum nvdp_split split = NVDP_SPLIT_TRAIN;
    NVDP_RETURN_IF_FAILED(find_split(export->ctx, name, &split));
    for (size_t i = 0; i < export->parts; i++) {
        if (export->part[i].split == (int32_t)split)
            return nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT, "split '%s': named twice", name);
    }
    struct nvdp_dataset_config config = dataset_config(export);
    struct nvdp__export_part *part = &export->part[export->parts];
    NVDP_RETURN_IF_FAILED(nvdp_dataset_load(export->ctx, nvdp_model_tokenizer(export->run.model),
                                            &config, split, &part->data));
    part->split = (int32_t)split;
    export->parts++;
    return NVDP_OK;
}

static nvdp_status load_splits(struct nvdp__export *export) {
    nvdp_status status = NVDP_OK;
    char *rest = NULL;
    char *names = nvdp__strdup(export->ctx, export->options->splits);
    if (names == NULL) return NVDP_ERR_MEMORY;
    for (char *name = strtok_r(names, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        NVDP_TRY(load_split(export, name));
    }
    if (export->parts == 0)
        NVDP_TRY(nvdp__fail(export->ctx, NVDP_ERR_ARGUMENT,
                            "splits: expected at least one, found none"));
cleanup:
    free(names);
    return status;
}

static nvdp_status load_input(struct nvdp__export *export) {
    struct nvdp_dataset_config config = dataset_config(export);
    NVDP_RETURN_IF_FAILED(nvdp_dataset_load_file(export->ctx,
                                                 nvdp_model_tokenizer(export->run.model), &config,
                                                 export->options->input, &export->part[0].data));
    export->parts = 1;
    return NVDP_OK;
}

nvdp_status nvdp__export_load(struct nvdp__export *export) {
    NVDP_RETURN_IF_FAILED(export->options->input != NULL ? load_input(export)
                                                         : load_splits(export));
    bool labelled = false;
    for (size_t i = 0; i < export->parts; i++) {
        export->texts += export->part[i].data->count;
        labelled = labelled || export->part[i].data->label != NULL;
    }
    if (export->options->with_labels && !labelled)
        return nvdp__fail(export->ctx, NVDP_ERR_INPUT,
                          "labels were asked for, but these texts have none");
    return NVDP_OK;
}

/* --- columns --- */

static void fill_columns(const struct nvdp__export *export, float *label, int32_t *split,
                         int64_t *id) {
    size_t k = 0;
    for (size_t p = 0; p < export->parts; p++) {
        const struct nvdp_dataset *data = export->part[p].data;
        for (size_t i = 0; i < data->count; i++, k++) {
            label[k] = data->label != NULL ? data->label[i] : NAN;
            split[k] = export->part[p].split;
            id[k] = data->index[i];
        }
    }
}

nvdp_status nvdp__export_columns(struct nvdp__export *export) {
    nvdp_status status = NVDP_OK;
    size_t texts = export->texts;
    struct nvdp__h5 *file = export->writer.file;
    float *label = nvdp__calloc(export->ctx, texts, sizeof *label);
    int32_t *split = nvdp__calloc(export->ctx, texts, sizeof *split);
    int64_t *id = nvdp__calloc(export->ctx, texts, sizeof *id);
    if (label == NULL || split == NULL || id == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    fill_columns(export, label, split, id);
    NVDP_TRY(nvdp__h5_write(file, "id", NVDP__H5_I64, 1, &texts, id));
    if (export->options->input == NULL)
        NVDP_TRY(nvdp__h5_write(file, "split", NVDP__H5_I32, 1, &texts, split));
    if (export->options->with_labels)
        NVDP_TRY(nvdp__h5_write(file, "label", NVDP__H5_F32, 1, &texts, label));
cleanup:
    free(label);
    free(split);
    free(id);
    return status;
}
