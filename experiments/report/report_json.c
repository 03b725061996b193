/* The report as one JSON object. */
#include "experiments/report/numbers.h"
#include "experiments/report/tables.h"

#include <math.h>
#include <stdlib.h>

/* Every setter steals `value` and tolerates NULL, so that one check at the end is enough. */
static void set(json_t *object, const char *key, json_t *value, bool *good) {
    if (json_object_set_new(object, key, value) != 0) *good = false;
}

/* NaN, which stands for "there is none", is null. */
static json_t *number(double value) {
    return isnan(value) ? json_null() : nvdp__json_number(value);
}

static json_t *stat(const struct nvdp__stat *from) {
    return json_pack("{s:I, s:o, s:o}", "n", (json_int_t)from->n, "mean", number(from->mean), "sd",
                     number(from->sd));
}

static json_t *quantities(const struct nvdp__group *group, bool *good) {
    json_t *object = json_object();
    for (int k = 0; k < NVDP__QUANTITIES; k++) {
        if (group->quantity[k].n == 0) continue;
        set(object, nvdp__quantity_name((enum nvdp__quantity)k), stat(&group->quantity[k]), good);
    }
    return object;
}

static json_t *scores(const struct nvdp__group *group, bool *good) {
    json_t *object = json_object();
    for (int k = 0; k < group->best->metrics; k++) {
        json_t *one = stat(&group->score[k]);
        set(one, "best_seed", number(group->best->score[k]), good);
        set(object, group->best->metric[k], one, good);
    }
    return object;
}

static json_t *runs(const struct nvdp__group *group, bool *good) {
    json_t *array = json_array();
    for (size_t i = 0; i < group->runs; i++) {
        const struct nvdp__report_run *run = group->run[i];
        json_t *one = json_pack("{s:s, s:I, s:o, s:o, s:s}", "run", run->name, "seed",
                                (json_int_t)run->seed, "validation", number(run->validation),
                                "score", number(run->score[0]), "command", run->command);
        if (json_array_append_new(array, one) != 0) *good = false;
    }
    return array;
}

static json_t *group_json(const struct nvdp_report *report, const struct nvdp__group *group,
                          bool *good) {
    const struct nvdp__task_rows *task = &report->task[group->task];
    const struct nvdp__family *family = &report->family[group->family];
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:b}", "task", task->task, "data",
                               task->data, "method", family->method, "label", family->label,
                               "lambda_g", number(group->lambda_g), "lambda_d",
                               number(group->lambda_d), "selected", group->selected);
    if (object == NULL) *good = false;
    set(object, "best_run", json_string(group->best->name), good);
    set(object, "validation", stat(&group->validation), good);
    set(object, "scores", scores(group, good), good);
    set(object, "quantities", quantities(group, good), good);
    set(object, "runs", runs(group, good), good);
    return object;
}

static json_t *groups(const struct nvdp_report *report, bool *good) {
    json_t *array = json_array();
    for (size_t i = 0; i < report->groups; i++) {
        if (json_array_append_new(array, group_json(report, &report->group[i], good)) != 0)
            *good = false;
    }
    return array;
}

static json_t *comparisons(const struct nvdp_report *report, size_t count,
                           const struct nvdp__comparison *list, bool *good) {
    json_t *array = json_array();
    for (size_t k = 0; k < count; k++) {
        const struct nvdp__comparison *pair = &list[k];
        json_t *one = json_pack(
            "{s:s, s:s, s:s, s:I, s:o, s:[o,o], s:o, s:o, s:o}", "task",
            report->task[pair->task].label, "method", report->family[pair->a].label, "against",
            report->family[pair->b].label, "seeds", (json_int_t)pair->seeds, "difference",
            number(pair->mean), "interval", number(pair->low), number(pair->high), "t",
            number(pair->t), "p", number(pair->p), "p_holm", number(pair->holm));
        if (json_array_append_new(array, one) != 0) *good = false;
    }
    return array;
}

static json_t *notes(const struct nvdp_report *report, bool *good) {
    json_t *array = json_array();
    for (size_t i = 0; i < report->notes; i++) {
        json_t *one =
            json_pack("{s:s, s:s}", "run", report->note[i].name, "note", report->note[i].text);
        if (json_array_append_new(array, one) != 0) *good = false;
    }
    return array;
}

nvdp_status nvdp_report_json(struct nvdp_context *ctx, const struct nvdp_report *report,
                             char **out) {
    bool good = true;
    size_t count = 0;
    struct nvdp__comparison *list = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__compare(ctx, report, &list, &count));
    json_t *root = json_pack("{s:s, s:s, s:s, s:I}", "nvdp_format", "report/1", "directory",
                             report->directory, "units", "nats", "runs", (json_int_t)report->runs);
    set(root, "groups", groups(report, &good), &good);
    set(root, "significance", comparisons(report, count, list, &good), &good);
    set(root, "not_counted", notes(report, &good), &good);
    char *text =
        root != NULL && good ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(root);
    free(list);
    if (text == NULL)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: the report's JSON could not be made",
                          report->directory);
    *out = text;
    return NVDP_OK;
}
