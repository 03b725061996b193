#include "text/task.h"

#include <math.h>
#include <string.h>

const char *nvdp_metric_name(enum nvdp_metric metric) {
    switch (metric) {
    case NVDP_METRIC_ACCURACY:
        return "accuracy";
    case NVDP_METRIC_F1:
        return "f1";
    case NVDP_METRIC_MATTHEWS:
        return "matthews";
    case NVDP_METRIC_PEARSON:
        return "pearson";
    case NVDP_METRIC_SPEARMAN:
        return "spearman";
    }
    return "unknown";
}

static const char *const zero_one[] = {"0", "1"};
static const char *const entailment[] = {"entailment", "not_entailment"};
static const char *const inference[] = {"entailment", "neutral", "contradiction"};

#define CLASSES(names) .classes = sizeof(names) / sizeof(names)[0], .labels = (names)
#define ACCURACY .metrics = 1, .metric = {NVDP_METRIC_ACCURACY}
#define ACCURACY_F1 .metrics = 2, .metric = {NVDP_METRIC_ACCURACY, NVDP_METRIC_F1}
#define MATTHEWS .metrics = 1, .metric = {NVDP_METRIC_MATTHEWS}
#define CORRELATIONS .metrics = 2, .metric = {NVDP_METRIC_PEARSON, NVDP_METRIC_SPEARMAN}
#define FILES .dev = "dev.tsv", .test = "test.tsv"

static const struct nvdp__layout layouts[] = {
    {.task = {NVDP_TASK_MRPC, "mrpc", .pair = true, CLASSES(zero_one), ACCURACY_F1},
     .text = "#1 String",
     .pair = "#2 String",
     .label = "Quality",
     .id = "index",
     FILES},
    {.task = {NVDP_TASK_STSB, "stsb", .pair = true, .regression = true, .classes = 1,
              .label_min = 0, .label_max = 5, CORRELATIONS},
     .text = "sentence1",
     .pair = "sentence2",
     .label = "score",
     .id = "index",
     FILES},
    {.task = {NVDP_TASK_RTE, "rte", .pair = true, CLASSES(entailment), ACCURACY},
     .text = "sentence1",
     .pair = "sentence2",
     .label = "label",
     .id = "index",
     FILES},
    {.task = {NVDP_TASK_QQP, "qqp", .pair = true, CLASSES(zero_one), ACCURACY_F1},
     .text = "question1",
     .pair = "question2",
     .label = "is_duplicate",
     .id = "id",
     FILES},
    {.task = {NVDP_TASK_QNLI, "qnli", .pair = true, CLASSES(entailment), ACCURACY},
     .text = "question",
     .pair = "sentence",
     .label = "label",
     .id = "index",
     FILES},
    {.task = {NVDP_TASK_SST2, "sst2", CLASSES(zero_one), ACCURACY},
     .text = "sentence",
     .label = "label",
     .id = "index",
     FILES},
    {.task = {NVDP_TASK_COLA, "cola", CLASSES(zero_one), MATTHEWS},
     .text = "sentence",
     .label = "label",
     .id = "index",
     FILES},
    {.task = {NVDP_TASK_MNLI, "mnli", .pair = true, CLASSES(inference), ACCURACY},
     .text = "sentence1",
     .pair = "sentence2",
     .label = "gold_label",
     .id = "index",
     .dev = "dev_matched.tsv",
     .dev_mismatched = "dev_mismatched.tsv",
     .test = "test_matched.tsv",
     .test_mismatched = "test_mismatched.tsv"},
    {.task = {NVDP_TASK_TSV, "tsv", ACCURACY}, .id = "id", FILES},
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

nvdp_status nvdp_task_find(struct nvdp_context *ctx, const char *name, enum nvdp_task_id *out) {
    char known[128] = "";
    for (size_t i = 0; i < LAYOUTS; i++) {
        if (strcmp(name, layouts[i].task.name) == 0) {
            *out = layouts[i].task.id;
            return NVDP_OK;
        }
        if (i > 0) strcat(known, ", ");
        strcat(known, layouts[i].task.name);
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "task '%s': expected one of %s", name, known);
}

const struct nvdp__layout *nvdp__task_layout(enum nvdp_task_id id) {
    for (size_t i = 0; i < LAYOUTS; i++) {
        if (layouts[i].task.id == id) return &layouts[i];
    }
    return NULL;
}

nvdp_status nvdp__task_resolve(struct nvdp_context *ctx, const struct nvdp_dataset_config *config,
                               struct nvdp__layout *out) {
    const struct nvdp__layout *known = nvdp__task_layout(config->task);
    if (known == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "task: expected 0 to %d, found %d", LAYOUTS - 1,
                          (int)config->task);
    struct nvdp__layout layout = *known;
    if (config->task == NVDP_TASK_TSV) {
        if (config->columns.text_column == NULL)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                              "text_column: expected a column's name, found none");
        layout.text = config->columns.text_column;
        layout.pair = config->columns.text_pair_column;
        layout.label = config->columns.label_column;
        layout.task.pair = layout.pair != NULL;
        if (config->columns.regression) {
            layout.task = (struct nvdp_task){.id = NVDP_TASK_TSV,
                                             .name = layout.task.name,
                                             .pair = layout.task.pair,
                                             .regression = true,
                                             .classes = 1,
                                             .label_min = -INFINITY,
                                             .label_max = INFINITY,
                                             CORRELATIONS};
        }
    }
    *out = layout;
    return NVDP_OK;
}

nvdp_status nvdp__task_file(struct nvdp_context *ctx, const struct nvdp__layout *layout,
                            enum nvdp_split split, const char **name) {
    const char *file = NULL;
    switch (split) {
    case NVDP_SPLIT_TRAIN:
        file = "train.tsv";
        break;
    case NVDP_SPLIT_DEV:
        file = layout->dev;
        break;
    case NVDP_SPLIT_TEST:
        file = layout->test;
        break;
    case NVDP_SPLIT_DEV_MISMATCHED:
        file = layout->dev_mismatched;
        break;
    case NVDP_SPLIT_TEST_MISMATCHED:
        file = layout->test_mismatched;
        break;
    }
    if (file == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "split: task %s has no such split (%d)",
                          layout->task.name, (int)split);
    *name = file;
    return NVDP_OK;
}
