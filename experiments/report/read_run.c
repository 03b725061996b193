/* One run directory: run.json, result.json, metrics.jsonl, sweep.json. */
#include "base/file.h"
#include "experiments/report/report.h"
#include "experiments/report/text.h"

#include <math.h>
#include <nvdp/train.h>
#include <stdlib.h>
#include <string.h>

/* Reads DIRECTORY/name as one JSON object. */
static nvdp_status read_object(struct nvdp_context *ctx, const char *directory, const char *name,
                               json_t **out) {
    char *path = nvdp__join(ctx, directory, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__json_read(ctx, path, out);
    free(path);
    return status;
}

/* A text without control characters; "" where the member is missing. */
static nvdp_status take_text(struct nvdp_context *ctx, const struct nvdp__report_run *run,
                             const json_t *from, const char *key, char **out) {
    const char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, run->path, from, key, "", &text));
    *out = nvdp__plain_copy(ctx, text);
    return *out != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

static nvdp_status read_config(struct nvdp_context *ctx, struct nvdp__report_run *run) {
    NVDP_RETURN_IF_FAILED(read_object(ctx, run->path, "run.json", &run->file));
    run->config = json_object_get(run->file, "config");
    if (!json_is_object(run->config))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s/run.json: no 'config' object: not a run of nvdp train", run->path);
    const json_t *config = run->config;
    NVDP_RETURN_IF_FAILED(take_text(ctx, run, config, "task", &run->task));
    NVDP_RETURN_IF_FAILED(take_text(ctx, run, config, "method", &run->method));
    NVDP_RETURN_IF_FAILED(take_text(ctx, run, config, "data", &run->data));
    if (run->task[0] == '\0' || run->method[0] == '\0')
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s/run.json: expected 'task' and 'method' in 'config', found none",
                          run->path);
    run->lambda_g = run->lambda_d = NAN;
    if (!nvdp__is_reference(run->method)) {
        NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, run->path, config, "lambda_g", NAN, -INFINITY,
                                              INFINITY, &run->lambda_g));
        NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, run->path, config, "lambda_d", NAN, -INFINITY,
                                              INFINITY, &run->lambda_d));
    }
    int64_t seed = 0; /* JSON's integers have a sign: the same 64 bits */
    NVDP_RETURN_IF_FAILED(
        nvdp__json_int(ctx, run->path, config, "seed", 0, INT64_MIN, INT64_MAX, &seed));
    run->seed = (uint64_t)seed;
    return nvdp__report_options(ctx, run);
}

/* The order of the task's metrics is that of the file; a later one beyond two is left out. */
static nvdp_status read_scores(struct nvdp_context *ctx, const json_t *metrics,
                               struct nvdp__report_run *run) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)metrics, name, value) {
        if (run->metrics == NVDP__REPORT_METRICS) break;
        int at = run->metrics;
        NVDP_RETURN_IF_FAILED(nvdp__json_real(ctx, run->path, value, "mean", NAN, -INFINITY,
                                              INFINITY, &run->score[at]));
        run->metric[at] = nvdp__plain_copy(ctx, name);
        if (run->metric[at] == NULL) return NVDP_ERR_MEMORY;
        run->metrics++;
    }
    return NVDP_OK;
}

static nvdp_status read_result(struct nvdp_context *ctx, struct nvdp__report_run *run) {
    json_t *root = NULL;
    nvdp_status status = NVDP_OK;
    NVDP_TRY(read_object(ctx, run->path, "result.json", &root));
    const json_t *test = json_object_get(root, "test");
    NVDP_TRY(read_scores(ctx, json_object_get(test, "metrics"), run));
    if (run->metrics == 0 || isnan(run->score[0]))
        NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                            "%s/result.json: expected scores in 'test', 'metrics', found none",
                            run->path));
    NVDP_TRY(nvdp__json_real(ctx, run->path, root, "validation", NAN, -INFINITY, INFINITY,
                             &run->validation));
    NVDP_TRY(nvdp__json_real(ctx, run->path, root, "seconds", NAN, 0, INFINITY, &run->seconds));
    NVDP_TRY(nvdp__json_real(ctx, run->path, test, "majority", NAN, 0, 1, &run->majority));
cleanup:
    json_decref(root);
    return status;
}

/* {"validation": {"metrics": {NAME: {"mean": X}}}} of the first metric. */
static double validation_score(const json_t *line, const struct nvdp__report_run *run) {
    const json_t *metrics = json_object_get(json_object_get(line, "validation"), "metrics");
    const json_t *mean = json_object_get(json_object_get(metrics, run->metric[0]), "mean");
    return json_is_number(mean) ? json_number_value(mean) : NAN;
}

static nvdp_status add_epoch(struct nvdp_context *ctx, const json_t *line,
                             struct nvdp__report_run *run) {
    const char *event = json_string_value(json_object_get(line, "event"));
    if (event == NULL || strcmp(event, "epoch") != 0) return NVDP_OK;
    const json_t *loss = json_object_get(line, "task_loss");
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &run->epoch, &run->epoch_room, run->epochs + 1, sizeof *run->epoch));
    run->epoch[run->epochs++] = (struct nvdp__report_epoch){
        .epoch = (double)json_integer_value(json_object_get(line, "epoch")),
        .validation = validation_score(line, run),
        .task_loss = json_is_number(loss) ? json_number_value(loss) : NAN};
    return NVDP_OK;
}

/* A torn last line, which a killed run leaves, is no error; nor is a missing file. */
static nvdp_status read_metrics(struct nvdp_context *ctx, struct nvdp__report_run *run) {
    nvdp_status status = NVDP_OK;
    char *line = NULL;
    size_t room = 0;
    char *path = nvdp__join(ctx, run->path, "metrics.jsonl");
    if (path == NULL) return NVDP_ERR_MEMORY;
    FILE *file = fopen(path, "rbe");
    free(path);
    if (file == NULL) return NVDP_OK;
    for (ssize_t size; status == NVDP_OK && (size = getline(&line, &room, file)) >= 0;) {
        json_t *entry = json_loadb(line, (size_t)size, 0, NULL);
        status = add_epoch(ctx, entry, run);
        json_decref(entry);
    }
    free(line);
    fclose(file);
    return status;
}

static nvdp_status read_label(struct nvdp_context *ctx, struct nvdp__report_run *run) {
    json_t *root = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_read_optional(ctx, run->path, "sweep.json", &root));
    const char *label = json_string_value(json_object_get(root, "label"));
    bool good = true;
    if (label != NULL && label[0] != '\0') {
        run->label = nvdp__plain_copy(ctx, label);
        good = run->label != NULL;
    }
    json_decref(root);
    return good ? NVDP_OK : NVDP_ERR_MEMORY;
}

nvdp_status nvdp__report_read_run(struct nvdp_context *ctx, const char *path, const char *name,
                                  struct nvdp__report_run *run) {
    for (int k = 0; k < NVDP__QUANTITIES; k++) {
        run->quantity[k] = NAN;
    }
    run->path = nvdp__strdup(ctx, path);
    run->name = nvdp__plain_copy(ctx, name);
    if (run->path == NULL || run->name == NULL) return NVDP_ERR_MEMORY;
    NVDP_RETURN_IF_FAILED(read_config(ctx, run));
    NVDP_RETURN_IF_FAILED(read_result(ctx, run));
    NVDP_RETURN_IF_FAILED(read_metrics(ctx, run));
    NVDP_RETURN_IF_FAILED(read_label(ctx, run));
    run->command = nvdp__report_command(ctx, run);
    return run->command != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

void nvdp__report_run_release(struct nvdp__report_run *run) {
    json_decref(run->file);
    json_decref(run->variant);
    free(run->name);
    free(run->path);
    free(run->task);
    free(run->method);
    free(run->data);
    free(run->label);
    for (int k = 0; k < NVDP__REPORT_METRICS; k++) {
        free(run->metric[k]);
    }
    free(run->epoch);
    free(run->command);
    *run = (struct nvdp__report_run){0};
}
