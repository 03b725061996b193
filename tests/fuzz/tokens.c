/* Reads bytes as a cached data set: the first byte is the task, the rest is the file without its
 * header. */
#include "fuzz.h"

enum { VOCABULARY = 100 };

static void check(const struct nvdp_dataset *dataset, size_t max_length) {
    for (size_t i = 0; i < dataset->count; i++) {
        size_t length = dataset->offset[i + 1] - dataset->offset[i];
        if (length == 0 || length > max_length || length > dataset->longest) abort();
        if (dataset->label != NULL && !dataset->task->regression &&
            !(dataset->label[i] >= 0 && dataset->label[i] < (float)dataset->task->classes))
            abort();
    }
    for (size_t t = 0; t < dataset->offset[dataset->count]; t++) {
        if (dataset->ids[t] < 0 || dataset->ids[t] >= VOCABULARY) abort();
        if (dataset->types[t] != 0 && dataset->types[t] != 1) abort();
    }
}

nvdp_status fuzz_use(struct fuzz_input in) {
    if (in.size < 1) return NVDP_OK;
    struct nvdp_dataset *dataset = NULL;
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    config.task = (enum nvdp_task_id)(in.data[0] % (NVDP_TASK_TSV + 1));
    nvdp__set_columns(&config, &(struct nvdp__columns){.text_column = "t", .label_column = "y"});
    if (nvdp__tokens_unpack(NULL, (const char *)in.data + 1, in.size - 1, VOCABULARY, &config,
                            &dataset) == NVDP_OK &&
        dataset != NULL)
        check(dataset, config.max_length);
    nvdp_dataset_free(dataset);
    return NVDP_OK;
}
