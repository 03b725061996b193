/* Tasks by name; their labels, metrics and files. */
#include "text_support.h"

#include "test_context.h"

Test(task, names) {
    static const char *const name[] = {"mrpc", "stsb", "rte",  "qqp", "qnli",
                                       "sst2", "cola", "mnli", "tsv"};
    for (int i = 0; i <= NVDP_TASK_TSV; i++) {
        enum nvdp_task_id id = NVDP_TASK_MRPC;
        ok(nvdp_task_find(ctx, name[i], &id));
        cr_assert_eq((int)id, i);
        cr_assert_str_eq(nvdp__task_layout(id)->task.name, name[i]);
        cr_assert_eq(nvdp__task_layout(id)->task.id, id);
    }
    enum nvdp_task_id id = NVDP_TASK_RTE;
    text_error(
        ctx, nvdp_task_find(ctx, "imdb", &id), NVDP_ERR_ARGUMENT,
        "task 'imdb': expected one of mrpc, stsb, rte, qqp, qnli, sst2, cola, mnli, tsv, ner");
    cr_assert_eq(id, NVDP_TASK_RTE);
    cr_assert_null(nvdp__task_layout((enum nvdp_task_id)99));
}

Test(task, metrics) {
    cr_assert_str_eq(nvdp_metric_name(NVDP_METRIC_ACCURACY), "accuracy");
    cr_assert_str_eq(nvdp_metric_name(NVDP_METRIC_F1), "f1");
    cr_assert_str_eq(nvdp_metric_name(NVDP_METRIC_MATTHEWS), "matthews");
    cr_assert_str_eq(nvdp_metric_name(NVDP_METRIC_PEARSON), "pearson");
    cr_assert_str_eq(nvdp_metric_name(NVDP_METRIC_SPEARMAN), "spearman");
    cr_assert_str_eq(nvdp_metric_name((enum nvdp_metric)99), "unknown");
    cr_assert_eq(nvdp__task_layout(NVDP_TASK_COLA)->task.metric[0], NVDP_METRIC_MATTHEWS);
    cr_assert_eq(nvdp__task_layout(NVDP_TASK_STSB)->task.metric[0], NVDP_METRIC_PEARSON);
    cr_assert_eq(nvdp__task_layout(NVDP_TASK_STSB)->task.metric[1], NVDP_METRIC_SPEARMAN);
    const enum nvdp_task_id both[] = {NVDP_TASK_MRPC, NVDP_TASK_QQP}; /* accuracy selects */
    for (size_t i = 0; i < 2; i++) {
        const struct nvdp_task *task = &nvdp__task_layout(both[i])->task;
        cr_assert_eq(task->metrics, 2);
        cr_assert_eq(task->metric[0], NVDP_METRIC_ACCURACY);
        cr_assert_eq(task->metric[1], NVDP_METRIC_F1);
    }
    cr_assert_eq(nvdp__task_layout(NVDP_TASK_QNLI)->task.metrics, 1);
}

Test(task, classes) {
    const struct nvdp_task *task = &nvdp__task_layout(NVDP_TASK_RTE)->task;
    cr_assert_eq(task->classes, 2);
    cr_assert_str_eq(task->labels[0], "entailment");
    cr_assert_str_eq(task->labels[1], "not_entailment");
    task = &nvdp__task_layout(NVDP_TASK_MNLI)->task;
    cr_assert_eq(task->classes, 3);
    cr_assert_str_eq(task->labels[1], "neutral");
    task = &nvdp__task_layout(NVDP_TASK_STSB)->task;
    cr_assert(task->regression && task->pair && task->labels == NULL);
    cr_assert_eq(task->classes, 1);
    cr_assert_eq(task->label_max, 5);
}

Test(task, splits) {
    const char *name = NULL;
    const struct nvdp__layout *mnli = nvdp__task_layout(NVDP_TASK_MNLI);
    ok(nvdp__task_file(ctx, mnli, NVDP_SPLIT_TRAIN, &name));
    cr_assert_str_eq(name, "train.tsv");
    ok(nvdp__task_file(ctx, mnli, NVDP_SPLIT_DEV, &name));
    cr_assert_str_eq(name, "dev_matched.tsv");
    ok(nvdp__task_file(ctx, mnli, NVDP_SPLIT_DEV_MISMATCHED, &name));
    cr_assert_str_eq(name, "dev_mismatched.tsv");
    ok(nvdp__task_file(ctx, mnli, NVDP_SPLIT_TEST, &name));
    cr_assert_str_eq(name, "test_matched.tsv");
    ok(nvdp__task_file(ctx, mnli, NVDP_SPLIT_TEST_MISMATCHED, &name));
    cr_assert_str_eq(name, "test_mismatched.tsv");
    const struct nvdp__layout *rte = nvdp__task_layout(NVDP_TASK_RTE);
    ok(nvdp__task_file(ctx, rte, NVDP_SPLIT_TEST, &name));
    cr_assert_str_eq(name, "test.tsv");
    text_error(ctx, nvdp__task_file(ctx, rte, NVDP_SPLIT_DEV_MISMATCHED, &name), NVDP_ERR_ARGUMENT,
               "split: task rte has no split dev-mismatched");
    text_error(ctx, nvdp__task_file(ctx, rte, (enum nvdp_split)5, &name), NVDP_ERR_ARGUMENT,
               "split: expected one in 0..4, found 5");
}

Test(task, own_columns) {
    struct nvdp_dataset_config config = text_config(NVDP_TASK_TSV);
    struct nvdp__layout layout;
    text_error(ctx, nvdp__task_resolve(ctx, &config, &layout), NVDP_ERR_ARGUMENT,
               "--text-column: expected a column's name, found none");
    nvdp__set_columns(&config, &(struct nvdp__columns){"t", NULL, "y", false});
    ok(nvdp__task_resolve(ctx, &config, &layout));
    cr_assert(!layout.task.pair && !layout.task.regression);
    nvdp__set_columns(&config, &(struct nvdp__columns){"t", "u", "y", true});
    ok(nvdp__task_resolve(ctx, &config, &layout));
    cr_assert(layout.task.pair && layout.task.regression && isinf(layout.task.label_max));
    cr_assert_eq(layout.task.metric[0], NVDP_METRIC_PEARSON);
    config.task = (enum nvdp_task_id)99;
    text_error(ctx, nvdp__task_resolve(ctx, &config, &layout), NVDP_ERR_ARGUMENT,
               "task: expected 0 to 9, found 99");
}
