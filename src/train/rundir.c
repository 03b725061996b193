/* The run directory: who may write there, run.json, metrics.jsonl, result.json (docs/formats.md). */
#include "train/rundir.h"

#include "base/file.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/outdir.h"
#include "train/trainer.h"

#include <cblas.h>
#include <errno.h>
#include <glob.h>
#include <gsl/gsl_version.h>
#include <math.h>
#include <nvdp/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- what ran where and when --- */

json_t *nvdp__software_json(void) {
    return json_pack("{s:s,s:s,s:s}", "nvdp", nvdp_version(), "openblas", openblas_get_config(),
                     "gsl", GSL_VERSION);
}

json_t *nvdp__hardware_json(const struct nvdp_context *ctx) {
    char name[512];
    nvdp__processor_name(sizeof name, name);
    return json_pack("{s:s,s:i}", "processor", name, "threads", nvdp_context_threads(ctx));
}

/* --- metrics.jsonl --- */

nvdp_status nvdp__metrics_file_open(struct nvdp_context *ctx, const char *directory, uint64_t bytes,
                                    FILE **out) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(ctx, directory, "metrics.jsonl");
    if (path == NULL) return NVDP_ERR_MEMORY;
    FILE *file = fopen(path, "a");
    if (file == NULL || ftruncate(fileno(file), (off_t)bytes) != 0 ||
        fseek(file, 0, SEEK_END) != 0) {
        status = nvdp__fail_errno(ctx, errno, "cannot open %s", path);
        if (file != NULL) fclose(file);
        file = NULL;
    }
    if (status == NVDP_OK) *out = file;
    free(path);
    return status;
}

nvdp_status nvdp__metrics_file_append(struct nvdp_context *ctx, const char *directory, FILE *file,
                                      json_t *line, uint64_t *bytes) {
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(line);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    int written = fprintf(file, "%s\n", text);
    free(text);
    if (written < 0 || fflush(file) != 0)
        return nvdp__fail_errno(ctx, errno, "cannot write %s/metrics.jsonl", directory);
    *bytes += (uint64_t)written;
    return NVDP_OK;
}

/* --- a run's files --- */

/* What a run writes; --overwrite removes exactly these. */
static const char *const run_files[] = {"predictions_*.tsv",
                                        "run.json",
                                        "metrics.jsonl",
                                        "result.json",
                                        "state.ckpt",
                                        "privacy.json",
                                        "model/config.json",
                                        "model/model.safetensors",
                                        "model/vocab.txt",
                                        "model/tokenizer_config.json",
                                        "model"};

nvdp_status nvdp__rundir_check(const struct nvdp__trainer *t) {
    return nvdp__outdir_check(t->ctx, t->config.out, t->config.overwrite);
}

nvdp_status nvdp__rundir_prepare(struct nvdp__trainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__rundir_check(t));
    NVDP_RETURN_IF_FAILED(nvdp__outdir_remove(t->ctx, t->config.out, run_files,
                                              sizeof run_files / sizeof run_files[0]));
    return nvdp__make_directory(t->ctx, t->config.out);
}

nvdp_status nvdp__rundir_read_config(struct nvdp_context *ctx, const char *directory,
                                     struct nvdp__train_options *config, json_t **owner) {
    nvdp_status status = NVDP_OK;
    json_t *root = NULL;
    char *path = nvdp__join(ctx, directory, "run.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__json_read(ctx, path, &root));
    const json_t *object = json_object_get(root, "config");
    if (!json_is_object(object)) {
        status = nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: no 'config' object: not a run of nvdp train",
                            path);
        goto cleanup;
    }
    *config = nvdp__train_defaults();
    NVDP_TRY(nvdp__schema_read(ctx, path, object, &nvdp__train_schema, config));
    *owner = root;
    root = NULL;
cleanup:
    json_decref(root);
    free(path);
    return status;
}

nvdp_status nvdp__rundir_write_run(struct nvdp__trainer *t) {
    char *path = nvdp__join(t->ctx, t->config.out, "run.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    json_t *data =
        json_pack("{s:I,s:I,s:I,s:I}", "train_texts", (json_int_t)t->train->count,
                  "validation_texts", (json_int_t)t->validation->count, "test_texts",
                  (json_int_t)t->test->count, "truncated_texts", (json_int_t)t->all->truncated);
    json_t *root = json_pack("{s:s,s:o,s:o,s:o,s:o,s:I,s:I,s:o}", "nvdp_format", "run/1", "config",
                             nvdp__schema_json(&nvdp__train_schema, &t->config), "software",
                             nvdp__software_json(), "hardware", nvdp__hardware_json(t->ctx), "data",
                             data, "parameters", (json_int_t)t->model->info.parameters, "steps",
                             (json_int_t)t->steps, "created", nvdp__now_json());
    nvdp_status status = root == NULL ? nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory")
                                      : nvdp__json_write(t->ctx, path, root);
    json_decref(root);
    free(path);
    return status;
}

json_t *nvdp__scores_json(const struct nvdp_scores *scores) {
    json_t *metrics = json_object();
    for (int k = 0; k < scores->metrics; k++) {
        json_object_set_new(metrics, nvdp_metric_name(scores->metric[k]),
                            json_pack("{s:o,s:o}", "mean", nvdp__json_number(scores->mean[k]), "sd",
                                      nvdp__json_number(scores->sd[k])));
    }
    json_t *object = json_pack("{s:I,s:I,s:o}", "n", (json_int_t)scores->n, "draws",
                               (json_int_t)scores->draws, "metrics", metrics);
    if (!isnan(scores->majority)) {
        json_object_set_new(object, "majority", json_real(scores->majority));
    }
    return object;
}

nvdp_status nvdp_scores_json(struct nvdp_context *ctx, const struct nvdp_scores *scores,
                             char **out) {
    json_t *object = nvdp__scores_json(scores);
    char *text = json_dumps(object, JSON_REAL_PRECISION(17));
    json_decref(object);
    if (text == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
    *out = text;
    return NVDP_OK;
}

nvdp_status nvdp__rundir_write_result(struct nvdp__trainer *t, const struct nvdp_train_result *r) {
    char *path = nvdp__join(t->ctx, t->config.out, "result.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    json_t *root = json_pack(
        "{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:f,s:b,s:o,s:f,s:f,s:f,s:f}", "task", t->all->task.name,
        "method", nvdp_method_name(t->config.method), "protocol",
        nvdp__protocol_names[t->config.protocol], "metric", nvdp_metric_name(r->test.metric[0]),
        "epochs", (json_int_t)r->epochs_run, "best_epoch", (json_int_t)r->best_epoch, "steps",
        (json_int_t)r->steps, "validation", r->best_validation, "early_stopped", r->early_stopped,
        "test", nvdp__scores_json(&r->test), "loss_g", r->loss_g, "loss_d", r->loss_d, "seconds",
        r->seconds, "tokens_per_second", r->tokens_per_second);
    nvdp_status status = root == NULL ? nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory")
                                      : nvdp__json_write(t->ctx, path, root);
    json_decref(root);
    free(path);
    return status;
}

nvdp_status nvdp__metrics_open(struct nvdp__trainer *t) {
    return nvdp__metrics_file_open(t->ctx, t->config.out, t->state.metrics_bytes, &t->metrics);
}

nvdp_status nvdp__metrics_append(struct nvdp__trainer *t, json_t *line) {
    return nvdp__metrics_file_append(t->ctx, t->config.out, t->metrics, line,
                                     &t->state.metrics_bytes);
}
