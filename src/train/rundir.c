/* The run directory: run.json, metrics.jsonl, result.json (docs/formats.md). */
#include "base/file.h"
#include "base/json.h"
#include "train/config.h"
#include "train/trainer.h"

#include <cblas.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <gsl/gsl_version.h>
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* What a run writes; --overwrite removes exactly these. */
static const char *const run_files[] = {"run.json",
                                        "metrics.jsonl",
                                        "result.json",
                                        "state.ckpt",
                                        "privacy.json",
                                        "model/config.json",
                                        "model/model.safetensors",
                                        "model/vocab.txt",
                                        "model/tokenizer_config.json",
                                        "model"};

static nvdp_status remove_one(struct nvdp_context *ctx, const char *path) {
    if (remove(path) == 0 || errno == ENOENT) return NVDP_OK;
    return nvdp__fail_errno(ctx, errno, "cannot remove %s", path);
}

static nvdp_status remove_matching(struct nvdp_context *ctx, const char *directory,
                                   const char *pattern) {
    nvdp_status status = NVDP_OK;
    glob_t found = {0};
    char *path = nvdp__join(ctx, directory, pattern);
    if (path == NULL) return NVDP_ERR_MEMORY;
    if (glob(path, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && status == NVDP_OK; i++) {
            status = remove_one(ctx, found.gl_pathv[i]);
        }
    }
    globfree(&found);
    free(path);
    return status;
}

static nvdp_status empty_run(struct nvdp_context *ctx, const char *directory) {
    NVDP_RETURN_IF_FAILED(remove_matching(ctx, directory, "predictions_*.tsv"));
    for (size_t i = 0; i < sizeof run_files / sizeof run_files[0]; i++) {
        char *path = nvdp__join(ctx, directory, run_files[i]);
        if (path == NULL) return NVDP_ERR_MEMORY;
        nvdp_status status = remove_one(ctx, path);
        free(path);
        NVDP_RETURN_IF_FAILED(status);
    }
    return NVDP_OK;
}

nvdp_status nvdp__rundir_check(const struct nvdp__trainer *t) {
    const char *out = t->config.out;
    if (nvdp__exists(out) && !nvdp__is_directory(out))
        return nvdp__fail_errno(t->ctx, ENOTDIR, "%s: cannot write a run there", out);
    if (t->config.overwrite || !nvdp__exists(out) || nvdp__directory_empty(out)) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "%s: the output directory is not empty; use --resume or --overwrite", out);
}

nvdp_status nvdp__rundir_prepare(struct nvdp__trainer *t) {
    NVDP_RETURN_IF_FAILED(nvdp__rundir_check(t));
    const char *out = t->config.out;
    if (nvdp__exists(out) && !nvdp__directory_empty(out))
        NVDP_RETURN_IF_FAILED(empty_run(t->ctx, out));
    return nvdp__make_directory(t->ctx, out);
}

nvdp_status nvdp__rundir_read_config(struct nvdp_context *ctx, const char *directory,
                                     struct nvdp_train_config *config, json_t **owner) {
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
    NVDP_TRY(nvdp__train_config_from_json(ctx, path, object, config));
    *owner = root;
    root = NULL;
cleanup:
    json_decref(root);
    free(path);
    return status;
}

/* "model name" of the first processor, or the machine's architecture. */
static json_t *processor_name(void) {
    char line[512];
    json_t *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && name == NULL && fgets(line, sizeof line, file) != NULL) {
        char *value = strchr(line, ':');
        if (value == NULL || strncmp(line, "model name", 10) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        name = json_string(value + 2);
    }
    if (file != NULL) fclose(file);
    struct utsname system;
    if (name == NULL && uname(&system) == 0) name = json_string(system.machine);
    return name == NULL ? json_string("unknown") : name;
}

static json_t *now_text(void) {
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

nvdp_status nvdp__rundir_write_run(struct nvdp__trainer *t) {
    char *path = nvdp__join(t->ctx, t->config.out, "run.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    json_t *software = json_pack("{s:s,s:s,s:s}", "nvdp", nvdp_version(), "openblas",
                                 openblas_get_config(), "gsl", GSL_VERSION);
    json_t *hardware = json_pack("{s:o,s:i}", "processor", processor_name(), "threads",
                                 nvdp_context_threads(t->ctx));
    json_t *data =
        json_pack("{s:I,s:I,s:I,s:I}", "train_texts", (json_int_t)t->train->count,
                  "validation_texts", (json_int_t)t->validation->count, "test_texts",
                  (json_int_t)t->test->count, "truncated_texts", (json_int_t)t->all->truncated);
    json_t *root =
        json_pack("{s:s,s:o,s:o,s:o,s:o,s:I,s:I,s:o}", "nvdp_format", "run/1", "config",
                  nvdp__train_config_json(&t->config), "software", software, "hardware", hardware,
                  "data", data, "parameters", (json_int_t)t->model->info.parameters, "steps",
                  (json_int_t)t->steps, "created", now_text());
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

nvdp_status nvdp__rundir_write_result(struct nvdp__trainer *t, const struct nvdp_train_result *r) {
    char *path = nvdp__join(t->ctx, t->config.out, "result.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    json_t *root = json_pack(
        "{s:s,s:s,s:s,s:I,s:I,s:I,s:f,s:b,s:o,s:f,s:f,s:f,s:f}", "task", t->all->task.name,
        "method", nvdp_method_name(t->config.method), "protocol",
        nvdp_protocol_name(t->config.protocol), "epochs", (json_int_t)r->epochs_run, "best_epoch",
        (json_int_t)r->best_epoch, "steps", (json_int_t)r->steps, "validation", r->best_validation,
        "early_stopped", r->early_stopped, "test", nvdp__scores_json(&r->test), "loss_g", r->loss_g,
        "loss_d", r->loss_d, "seconds", r->seconds, "tokens_per_second", r->tokens_per_second);
    nvdp_status status = root == NULL ? nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory")
                                      : nvdp__json_write(t->ctx, path, root);
    json_decref(root);
    free(path);
    return status;
}

nvdp_status nvdp__metrics_open(struct nvdp__trainer *t) {
    nvdp_status status = NVDP_OK;
    char *path = nvdp__join(t->ctx, t->config.out, "metrics.jsonl");
    if (path == NULL) return NVDP_ERR_MEMORY;
    t->metrics = fopen(path, "a");
    if (t->metrics == NULL || ftruncate(fileno(t->metrics), (off_t)t->state.metrics_bytes) != 0 ||
        fseek(t->metrics, 0, SEEK_END) != 0) {
        status = nvdp__fail_errno(t->ctx, errno, "cannot open %s", path);
    }
    free(path);
    return status;
}

nvdp_status nvdp__metrics_append(struct nvdp__trainer *t, json_t *line) {
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(line);
    if (text == NULL) return nvdp__fail(t->ctx, NVDP_ERR_MEMORY, "out of memory");
    int written = fprintf(t->metrics, "%s\n", text);
    free(text);
    if (written < 0 || fflush(t->metrics) != 0) {
        return nvdp__fail_errno(t->ctx, errno, "cannot write %s/metrics.jsonl", t->config.out);
    }
    t->state.metrics_bytes += (uint64_t)written;
    return NVDP_OK;
}
