/* Reads and checks grid.json (docs/sweep.md): tasks, methods, measurements, and the files that runs need. expand.c
 * handles the training options. sweep_grid_read() is the entry point. */
#include "sweep/sweep.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHERE_SIZE = 512 };

static bool is_string_list(const json_t *list, bool objects) {
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        if (!json_is_string(item) && !(objects && json_is_object(item))) return false;
    }
    return json_array_size(list) > 0;
}

/* --- names --- */

const char *sweep_grid_method(const json_t *method) {
    const char *name = json_string_value(method);
    return name != NULL ? name : json_string_value(json_object_get(method, "method"));
}

const char *sweep_grid_label(const json_t *method) {
    const char *name = json_string_value(json_object_get(method, "name"));
    return name != NULL ? name : sweep_grid_method(method);
}

static nvdp_status check_method(struct nvdp_context *ctx, const char *path, const json_t *methods,
                                size_t at) {
    const json_t *entry = json_array_get(methods, at), *name = json_object_get(entry, "name");
    enum nvdp_method method;
    if (sweep_grid_method(entry) == NULL || (name != NULL && !json_is_string(name)))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: methods[%zu]: expected strings as 'method' and 'name'", path, at);
    if (nvdp_method_find(ctx, sweep_grid_method(entry), &method) != NVDP_OK)
        return nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, path);
    for (size_t i = 0; i < at; i++) {
        if (strcmp(sweep_grid_label(json_array_get(methods, i)), sweep_grid_label(entry)) != 0)
            continue;
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: methods[%zu]: expected a unique 'name', found '%s' twice", path, at,
                          sweep_grid_label(entry));
    }
    return NVDP_OK;
}

static bool is_task(const json_t *root, const char *key) {
    enum nvdp_task_id id;
    (void)root;
    return nvdp_task_find(NULL, key, &id) == NVDP_OK;
}

static bool is_method_or_label(const json_t *root, const char *key) {
    size_t i;
    const json_t *entry;
    enum nvdp_method method;
    json_array_foreach(json_object_get(root, "methods"), i, entry) {
        if (strcmp(sweep_grid_label(entry), key) == 0) return true;
    }
    return nvdp_method_find(NULL, key, &method) == NVDP_OK;
}

/* Checks "per_task" and "per_method": objects of objects of options, under known names. */
static nvdp_status check_overrides(struct nvdp_context *ctx, const char *path, const json_t *root,
                                   const char *key, bool (*known)(const json_t *, const char *),
                                   const char *what) {
    json_t *all = json_object_get(root, key);
    if (all != NULL && !json_is_object(all))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key '%s': expected an object whose keys are %ss", path, key, what);
    const char *name;
    const json_t *options;
    json_object_foreach(all, name, options) {
        if (!known(root, name))
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected a %s, found '%s'", path,
                              key, what, name);
        if (!json_is_object(options))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: key '%s': '%s': expected an object of options", path, key, name);
    }
    return NVDP_OK;
}

/* Checks "data" and "attack": a path, or an object with a path per task. */
static nvdp_status check_paths(struct nvdp_context *ctx, const char *path, const json_t *root,
                               const char *key) {
    json_t *paths = json_object_get(root, key);
    bool fits = paths == NULL || json_is_string(paths) || json_is_object(paths);
    const char *task;
    const json_t *value;
    json_object_foreach(paths, task, value) {
        fits = fits && is_task(root, task) && json_is_string(value);
    }
    if (fits) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_INPUT,
        "%s: key '%s': expected a path, or an object of paths such as {\"rte\": \"glue/RTE\"}",
        path, key);
}

/* --- measurements: "privacy", options of `nvdp privacy`; "share", of `nvdp export` and `nvdp reuse` --- */

/* Sets an option to a value of the file. */
static nvdp_status set_option(struct nvdp_context *ctx, const char *where, const json_t *value,
                              struct nvdp_config *config, const char *name) {
    if (json_is_null(value)) return NVDP_OK;
    nvdp__autofree char *text = json_is_string(value)
                                    ? nvdp__strdup(ctx, json_string_value(value))
                                    : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    NVDP_TRY(NVDP__MADE(text));
    const nvdp_status status = nvdp_config_set(config, name, text);
    return status == NVDP_ERR_ARGUMENT ? nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, where) : status;
}

static nvdp_status read_privacy(struct nvdp_context *ctx, const char *path, const json_t *object,
                                struct sweep_grid *grid) {
    static const char *const texts[] = {"split", "limit", "batch", "seed", NULL};
    nvdp__autoptr(nvdp_config_free) struct nvdp_config *privacy = NULL;
    char where[WHERE_SIZE];
    const char *key;
    const json_t *value;
    if (object != NULL && !json_is_object(object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'privacy': expected an object such as {\"max_pairs\": 100000}",
                          path);
    snprintf(where, sizeof where, "%s: privacy", path);
    /* a configuration whose options are checked without a run. */
    NVDP_TRY(nvdp_config_create(ctx, "privacy", &privacy));
    json_object_foreach((json_t *)object, key, value) {
        size_t i = 0;
        while (texts[i] != NULL && strcmp(texts[i], key) != 0)
            i++;
        if (texts[i] == NULL && nvdp_config_get(privacy, key) == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'", where, key);
        if (texts[i] == NULL) NVDP_TRY(set_option(ctx, where, value, privacy, key));
        NVDP_TRY(set_option(ctx, where, value, grid->measured, key));
    }
    const nvdp_status status = nvdp_config_check(privacy);
    return status == NVDP_ERR_ARGUMENT ? nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, where) : status;
}

static nvdp_status read_share(struct nvdp_context *ctx, const char *path, const json_t *object,
                              struct sweep_grid *grid) {
    struct nvdp_config *export = grid->exported, *reuse = grid->reuse;
    const struct {
        const char *key, *option;
        struct nvdp_config *config;
    } rows[] = {
        {"splits", "split", export}, {"samples", "samples", export},
        {"limit", "limit", export},  {"measure_texts", "measure_texts", export},
        {"epochs", "epochs", reuse}, {"patience", "patience", reuse},
        {"heads", "heads", reuse},   {"lr", "lr", reuse},
        {"seed", "seed", reuse},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    char where[WHERE_SIZE];
    const char *key;
    const json_t *value;
    snprintf(where, sizeof where, "%s: share", path);
    NVDP_TRY(nvdp_config_set(export, "split", "train,dev"));
    NVDP_TRY(nvdp_config_set(export, "with-labels", "true"));
    NVDP_TRY(nvdp_config_set(export, "overwrite", "true"));
    grid->share = json_is_true(object) || json_is_object(object);
    if (object != NULL && !json_is_boolean(object) && !json_is_object(object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'share': expected true, false or an object such as {\"limit\": "
                          "2000}",
                          path);
    json_object_foreach((json_t *)object, key, value) {
        size_t i = 0;
        while (i < ROWS && strcmp(rows[i].key, key) != 0)
            i++;
        if (i == ROWS) return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'", where, key);
        NVDP_TRY(set_option(ctx, where, value, rows[i].config, rows[i].option));
    }
    return NVDP_OK;
}

static nvdp_status check_file(struct nvdp_context *ctx, const char *path, struct sweep_grid *grid) {
    const json_t *tasks = json_object_get(grid->root, "tasks"),
                 *methods = json_object_get(grid->root, "methods");
    static const char *const keeps[] = {"all", "model", "results"};
    enum { KEEPS = sizeof keeps / sizeof *keeps };
    const char *keep = NULL;
    size_t kept = 0;
    enum nvdp_task_id id;
    if (!is_string_list(tasks, false))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'tasks': expected a list of task names, such as [\"rte\"]",
                          path);
    if (!is_string_list(methods, true))
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: key 'methods': expected a list of method names, or of objects such "
            "as {\"name\": \"nvdp-kl\", \"method\": \"nvdp\", \"regularizer\": \"kl\"}",
            path);
    for (size_t i = 0; i < json_array_size(tasks); i++)
        if (nvdp_task_find(ctx, json_string_value(json_array_get(tasks, i)), &id) != NVDP_OK)
            return nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, path);
    for (size_t i = 0; i < json_array_size(methods); i++)
        NVDP_TRY(check_method(ctx, path, methods, i));
    NVDP_TRY(check_overrides(ctx, path, grid->root, "per_task", is_task, "task"));
    NVDP_TRY(check_overrides(ctx, path, grid->root, "per_method", is_method_or_label, "method"));
    NVDP_TRY(check_paths(ctx, path, grid->root, "data"));
    NVDP_TRY(check_paths(ctx, path, grid->root, "attack"));
    NVDP_TRY(nvdp__json_string(ctx, path, grid->root, "keep", "model", &keep));
    while (kept < KEEPS && strcmp(keep, keeps[kept]) != 0)
        kept++;
    if (kept == KEEPS)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'keep': expected all, model or results, found '%s'", path, keep);
    grid->keep = (enum sweep_keep)kept;
    NVDP_TRY(read_privacy(ctx, path, json_object_get(grid->root, "privacy"), grid));
    NVDP_TRY(read_share(ctx, path, json_object_get(grid->root, "share"), grid));
    if (json_object_get(grid->root, "attack") != NULL && !grid->share)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: key 'attack': needs \"share\": true, because the attack reads the shared file",
            path);
    return NVDP_OK;
}

/* --- the file --- */

nvdp_status sweep_grid_read(struct nvdp_context *ctx, const char *path, struct sweep_grid *out) {
    nvdp__auto(sweep_grid_release) struct sweep_grid grid = {0};
    size_t i, k;
    const json_t *task, *method;
    NVDP_TRY(nvdp_config_create(ctx, "run,privacy", &grid.measured));
    NVDP_TRY(nvdp_config_create(ctx, "export", &grid.exported));
    NVDP_TRY(nvdp_config_create(ctx, "reuse", &grid.reuse));
    NVDP_TRY(nvdp__json_read(ctx, path, &grid.root));
    NVDP_TRY(check_file(ctx, path, &grid));
    json_array_foreach(json_object_get(grid.root, "tasks"), i, task) {
        json_array_foreach(json_object_get(grid.root, "methods"), k, method) {
            NVDP_TRY(sweep_grid_expand(ctx, path, json_string_value(task), method, &grid));
        }
    }
    NVDP__SORT(grid.run, grid.count, NVDP__UP(struct sweep_run, round),
               NVDP__UP(struct sweep_run, position));
    for (size_t r = 0; r < grid.count; r++) {
        struct sweep_run *run = &grid.run[r];
        struct stat info;
        bool found =
            stat(nvdp__path(nvdp_config_get(run->config, "data"), "train.tsv").text, &info) == 0;
        run->work = found ? (double)info.st_size * sweep_run_number(run, "epochs") : 0;
    }
    return NVDP__HAND_OVER(out, grid);
}

void sweep_run_release(struct sweep_run *run) {
    nvdp_config_free(run->config);
    free(run->model);
    json_decref(run->varied);
    free(run->name);
    free(run->task);
    free(run->label);
}

void sweep_grid_release(struct sweep_grid *grid) {
    for (size_t i = 0; i < grid->count; i++)
        sweep_run_release(&grid->run[i]);
    free(grid->run);
    nvdp_config_free(grid->exported);
    nvdp_config_free(grid->reuse);
    nvdp_config_free(grid->measured);
    json_decref(grid->root);
}

/* --- models and data sets, checked before any run --- */

nvdp_status sweep_grid_check_files(struct nvdp_context *ctx, const char *path,
                                   const struct sweep_grid *grid) {
    for (size_t i = 0; i < grid->count; i++) {
        const struct sweep_run *run = &grid->run[i];
        nvdp_status status = nvdp_train_check(ctx, run->config);
        if (status == NVDP_OK && run->attack != NULL && access(run->attack, R_OK) != 0)
            status = nvdp__fail_errno(ctx, errno, "key 'attack': %s: cannot read", run->attack);
        if (status != NVDP_OK)
            return nvdp__fail_prefix(ctx, status == NVDP_ERR_MEMORY ? status : NVDP_ERR_INPUT,
                                     path);
    }
    return NVDP_OK;
}
