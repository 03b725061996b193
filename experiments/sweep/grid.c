#include "grid.h"

#include "base/file.h"
#include "base/json.h"
#include "text/task.h"
#include <stdlib.h>
#include <string.h>

static bool is_list_of(const json_t *list, bool objects) {
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        if (!json_is_string(item) && !(objects && json_is_object(item))) return false;
    }
    return json_array_size(list) > 0;
}

static nvdp_status check_lists(struct nvdp_context *ctx, const char *path, const json_t *root) {
    if (!is_list_of(json_object_get(root, "tasks"), false))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'tasks': expected a list of task names, such as [\"rte\"]",
                          path);
    if (!is_list_of(json_object_get(root, "methods"), true))
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: key 'methods': expected a list of method names, or of objects such "
            "as {\"name\": \"nvdp-kl\", \"method\": \"nvdp\", \"regularizer\": \"kl\"}",
            path);
    return NVDP_OK;
}

/* --- names --- */

static nvdp_status check_tasks(struct nvdp_context *ctx, const char *path, const json_t *tasks) {
    size_t i;
    const json_t *task;
    enum nvdp_task_id id;
    json_array_foreach(tasks, i, task) {
        nvdp_status status = nvdp_task_find(ctx, json_string_value(task), &id);
        if (status == NVDP_OK) continue;
        nvdp__fail_prefix(ctx, status, path);
        return NVDP_ERR_INPUT;
    }
    return NVDP_OK;
}

const char *nvdp__grid_method(const json_t *method) {
    const char *name = json_string_value(method);
    return name != NULL ? name : json_string_value(json_object_get(method, "method"));
}

const char *nvdp__grid_label(const json_t *method) {
    const char *name = json_string_value(json_object_get(method, "name"));
    return name != NULL ? name : nvdp__grid_method(method);
}

static nvdp_status check_method(struct nvdp_context *ctx, const char *path, const json_t *methods,
                                size_t at) {
    const json_t *entry = json_array_get(methods, at);
    const json_t *name = json_object_get(entry, "name");
    enum nvdp_method method;
    if (nvdp__grid_method(entry) == NULL || (name != NULL && !json_is_string(name)))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: methods[%zu]: expected texts as 'method' and 'name'", path, at);
    nvdp_status status = nvdp_method_find(ctx, nvdp__grid_method(entry), &method);
    if (status != NVDP_OK) {
        nvdp__fail_prefix(ctx, status, path);
        return NVDP_ERR_INPUT;
    }
    for (size_t i = 0; i < at; i++) {
        if (strcmp(nvdp__grid_label(json_array_get(methods, i)), nvdp__grid_label(entry)) != 0)
            continue;
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: methods[%zu]: expected a 'name' of its own, found '%s' twice", path,
                          at, nvdp__grid_label(entry));
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
        if (strcmp(nvdp__grid_label(entry), key) == 0) return true;
    }
    return nvdp_method_find(NULL, key, &method) == NVDP_OK;
}

/* "per_task" and "per_method": objects of objects of options, under names that mean something. */
static nvdp_status check_overrides(struct nvdp_context *ctx, const char *path, const json_t *root,
                                   const char *key, bool (*known)(const json_t *, const char *),
                                   const char *what) {
    json_t *all = json_object_get(root, key);
    if (all != NULL && !json_is_object(all))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected an object with %ss as keys",
                          path, key, what);
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

/* "data" and "attack": a path, or an object with one a task. */
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
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: key '%s': expected a path, or an object of paths such as {\"rte\": "
                      "\"glue/RTE\"}",
                      path, key);
}

static nvdp_status read_keep(struct nvdp_context *ctx, const char *path, struct nvdp__grid *grid) {
    static const char *const names[] = {"all", "model", "results"};
    const char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, grid->root, "keep", "model", &text));
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        grid->keep = (enum nvdp__keep)i;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: key 'keep': expected all, model or results, found '%s'", path, text);
}

static nvdp_status check_file(struct nvdp_context *ctx, const char *path, struct nvdp__grid *grid) {
    const json_t *methods = json_object_get(grid->root, "methods");
    NVDP_RETURN_IF_FAILED(check_lists(ctx, path, grid->root));
    NVDP_RETURN_IF_FAILED(check_tasks(ctx, path, json_object_get(grid->root, "tasks")));
    for (size_t i = 0; i < json_array_size(methods); i++) {
        NVDP_RETURN_IF_FAILED(check_method(ctx, path, methods, i));
    }
    NVDP_RETURN_IF_FAILED(check_overrides(ctx, path, grid->root, "per_task", is_task, "task"));
    NVDP_RETURN_IF_FAILED(
        check_overrides(ctx, path, grid->root, "per_method", is_method_or_label, "method"));
    NVDP_RETURN_IF_FAILED(check_paths(ctx, path, grid->root, "data"));
    NVDP_RETURN_IF_FAILED(check_paths(ctx, path, grid->root, "attack"));
    NVDP_RETURN_IF_FAILED(read_keep(ctx, path, grid));
    return nvdp__grid_measures(ctx, path, grid);
}

/* --- the file --- */

static int by_round(const void *a, const void *b) {
    const struct nvdp__sweep_run *x = a, *y = b;
    if (x->round != y->round) return x->round < y->round ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static nvdp_status expand(struct nvdp_context *ctx, const char *path, struct nvdp__grid *grid) {
    size_t i, k;
    const json_t *task, *method;
    json_array_foreach(json_object_get(grid->root, "tasks"), i, task) {
        json_array_foreach(json_object_get(grid->root, "methods"), k, method) {
            NVDP_RETURN_IF_FAILED(
                nvdp__grid_expand(ctx, path, json_string_value(task), method, grid));
        }
    }
    qsort(grid->run, grid->count, sizeof *grid->run, by_round);
    return NVDP_OK;
}

nvdp_status nvdp__grid_read(struct nvdp_context *ctx, const char *path, struct nvdp__grid *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__grid grid = {.measured = nvdp_run_config_default(),
                              .privacy = nvdp_privacy_config_default(),
                              .exported = nvdp_export_config_default(),
                              .reuse = nvdp_reuse_config_default()};
    NVDP_TRY(nvdp__json_read(ctx, path, &grid.root));
    NVDP_TRY(check_file(ctx, path, &grid));
    NVDP_TRY(expand(ctx, path, &grid));
    *out = grid;
    grid = (struct nvdp__grid){0};
cleanup:
    nvdp__grid_release(&grid);
    return status;
}

void nvdp__sweep_run_release(struct nvdp__sweep_run *run) {
    json_decref(run->object);
    json_decref(run->varied);
    free(run->name);
    free(run->label);
}

void nvdp__grid_release(struct nvdp__grid *grid) {
    for (size_t i = 0; i < grid->count; i++) {
        nvdp__sweep_run_release(&grid->run[i]);
    }
    free(grid->run);
    json_decref(grid->root);
}
