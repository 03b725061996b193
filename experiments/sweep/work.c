#include "work.h"

#include "base/file.h"
#include "base/json.h"
#include "directory.h"
#include "train/outdir.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* A run at work. */
struct work {
    struct nvdp_context *ctx;
    const char *cache;
    const struct nvdp__grid *grid;
    const struct nvdp__sweep_run *run;
    char *out; /* the run's directory */
};

static char *path_to(const struct work *work, const char *file) {
    return nvdp__join(work->ctx, work->out, file);
}

static bool has(const struct work *work, const char *file) {
    char *path = path_to(work, file);
    bool found = path != NULL && nvdp__exists(path);
    free(path);
    return found;
}

static nvdp_status train(const struct work *work) {
    struct nvdp_train_result result;
    struct nvdp_train_config config = work->run->config;
    if (has(work, "result.json")) return NVDP_OK;
    config.out = work->out;
    config.cache = work->cache;
    config.resume = has(work, "run.json");
    config.overwrite = !config.resume;
    return nvdp_train(work->ctx, &config, &result);
}

/* --- privacy --- */

static nvdp_status write_report(const struct work *work, const struct nvdp_privacy_report *report) {
    nvdp_status status = NVDP_OK;
    struct nvdp__output output = {0};
    char *text = NULL;
    char *path = path_to(work, "privacy.json");
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp_privacy_report_json(work->ctx, report, &text));
    NVDP_TRY(nvdp__output_open(work->ctx, path, &output));
    NVDP_TRY(nvdp__output_printf(&output, "%s\n", text));
    NVDP_TRY(nvdp__output_commit(&output));
cleanup:
    nvdp__output_abort(&output);
    free(text);
    free(path);
    return status;
}

static nvdp_status measure(const struct work *work) {
    nvdp_status status = NVDP_OK;
    struct nvdp_posteriors *posteriors = NULL;
    struct nvdp_privacy_report report;
    struct nvdp_run_config config = work->grid->measured;
    if (!work->run->private_ || has(work, "privacy.json")) return NVDP_OK;
    config.run = work->out;
    NVDP_TRY(nvdp_run_posteriors(work->ctx, &config, &posteriors));
    NVDP_TRY(nvdp_privacy_measure(work->ctx, posteriors, &work->grid->privacy, &report));
    NVDP_TRY(write_report(work, &report));
cleanup:
    nvdp_posteriors_free(posteriors);
    return status;
}

/* --- sharing --- */

static nvdp_status write_reuse(const struct work *work, const char *file,
                               const struct nvdp_reuse_result *result) {
    json_t *object = nvdp__scores_json(&result->scores);
    char *path = path_to(work, file);
    nvdp_status status = NVDP_ERR_MEMORY;
    json_object_set_new(object, "train_texts", json_integer((json_int_t)result->train_texts));
    json_object_set_new(object, "classes", json_integer((json_int_t)result->classes));
    json_object_set_new(object, "best_epoch", json_integer((json_int_t)result->best_epoch));
    json_object_set_new(object, "seconds", json_real(result->seconds));
    if (path != NULL) status = nvdp__json_write(work->ctx, path, object);
    json_decref(object);
    free(path);
    return status;
}

/* A reader of the shared file, for the labels in it or for others. */
static nvdp_status read_shared(const struct work *work, const char *shared, const char *labels,
                               const char *file) {
    struct nvdp_reuse_result result;
    struct nvdp_reuse_config config = work->grid->reuse;
    if (has(work, file)) return NVDP_OK;
    config.file = shared;
    config.labels = labels;
    NVDP_RETURN_IF_FAILED(nvdp_reuse(work->ctx, &config, &result));
    return write_reuse(work, file, &result);
}

static nvdp_status share(const struct work *work) {
    nvdp_status status = NVDP_OK;
    struct nvdp_export_result result;
    struct nvdp_export_config config = work->grid->exported;
    const char *attack = work->run->attack;
    bool wanted = work->grid->share && work->run->private_ &&
                  work->run->config.nvib.query == NVDP_QUERY_SAMPLED;
    if (!wanted || (has(work, "reuse.json") && (attack == NULL || has(work, "attack.json"))))
        return NVDP_OK;
    char *shared = path_to(work, "shared.h5");
    if (shared == NULL) return NVDP_ERR_MEMORY;
    config.run = work->out;
    config.out = shared;
    if (!nvdp__exists(shared)) NVDP_TRY(nvdp_export(work->ctx, &config, &result));
    NVDP_TRY(read_shared(work, shared, NULL, "reuse.json"));
    if (attack != NULL) NVDP_TRY(read_shared(work, shared, attack, "attack.json"));
cleanup:
    free(shared);
    return status;
}

/* --- beginning and end --- */

/* What a killed attempt was writing; nobody else writes here now. */
static nvdp_status sweep_up(const struct work *work) {
    static const char *const names[] = {"*.partial-*", "model/*.partial-*"};
    return nvdp__outdir_remove(work->ctx, work->out, names, sizeof names / sizeof names[0]);
}

static nvdp_status drop(const struct work *work) {
    static const char *const names[] = {"state.ckpt",
                                        "shared.h5",
                                        "model/config.json",
                                        "model/model.safetensors",
                                        "model/vocab.txt",
                                        "model/tokenizer_config.json",
                                        "model"};
    enum { BESIDE_MODEL = 2, NAMES = sizeof names / sizeof names[0] };
    if (work->grid->keep == NVDP__KEEP_ALL) return NVDP_OK;
    size_t count = work->grid->keep == NVDP__KEEP_MODEL ? BESIDE_MODEL : NAMES;
    return nvdp__outdir_remove(work->ctx, work->out, names, count);
}

nvdp_status nvdp__sweep_work(struct nvdp_context *ctx, const char *directory, const char *cache,
                             const struct nvdp__grid *grid, const struct nvdp__sweep_run *run) {
    nvdp_status status = NVDP_OK;
    double started = nvdp__now();
    struct work work = {.ctx = ctx, .cache = cache, .grid = grid, .run = run};
    work.out = nvdp__sweep_run_path(ctx, directory, run->name);
    if (work.out == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY(nvdp__make_directory(ctx, work.out));
    NVDP_TRY(sweep_up(&work));
    NVDP_TRY(nvdp__sweep_write_label(ctx, directory, run));
    NVDP_TRY(train(&work));
    NVDP_TRY(measure(&work));
    NVDP_TRY(share(&work));
    NVDP_TRY(drop(&work));
    NVDP_TRY(nvdp__sweep_write_done(ctx, directory, run->name, nvdp__now() - started));
cleanup:
    free(work.out);
    return status;
}
