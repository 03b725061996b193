/* grid.json read and checked (docs/sweep.md): the lists, the names, what is measured of a run, the
 * files that it needs.  What it says of options is expand.c's. */
#include "internal.h"

#include "base/file.h"
#include "base/json.h"
#include "text/task.h"
#include "train/trainer.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WHERE_SIZE = 512 };

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

/* --- what is measured: "privacy", options of `nvdp privacy`; "share", of `nvdp export` and `nvdp
 * reuse` --- */

static const char *const privacy_keys[] = {"split",      "limit",     "batch",    "seed",
                                           "max_pairs",  "order",     "delta",    "gamma",
                                           "arithmetic", "adjacency", "releases", NULL};
static const char *const share_keys[] = {"splits",   "samples", "limit", "measure_texts", "epochs",
                                         "patience", "heads",   "lr",    "seed",          NULL};

static nvdp_status check_keys(struct nvdp_context *ctx, const char *where, const json_t *object,
                              const char *const *keys) {
    const char *key;
    const json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0)
            i++;
        if (keys[i] == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: unknown key '%s'", where, key);
    }
    return NVDP_OK;
}

static nvdp_status read_size(struct nvdp_context *ctx, const char *where, const json_t *object,
                             const char *key, size_t *out) {
    int64_t whole = 0;
    NVDP_RETURN_IF_FAILED(
        nvdp__json_int(ctx, where, object, key, (int64_t)*out, 0, INT64_MAX, &whole));
    *out = (size_t)whole;
    return NVDP_OK;
}

static nvdp_status read_seed(struct nvdp_context *ctx, const char *where, const json_t *object,
                             uint64_t *out) {
    int64_t whole = 0;
    NVDP_RETURN_IF_FAILED(
        nvdp__json_int(ctx, where, object, "seed", (int64_t)*out, INT64_MIN, INT64_MAX, &whole));
    *out = (uint64_t)whole;
    return NVDP_OK;
}

/* One of two words. */
static nvdp_status read_choice(struct nvdp_context *ctx, const char *where, const json_t *object,
                               const char *key, const char *const names[2], int *out) {
    const char *text = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, where, object, key, names[*out], &text));
    for (int i = 0; i < 2; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *out = i;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key '%s': expected %s or %s, found '%s'", where,
                      key, names[0], names[1], text);
}

static nvdp_status read_pairs(struct nvdp_context *ctx, const char *where, const json_t *object,
                              struct nvdp_pairs_config *pairs) {
    static const char *const adjacencies[] = {
        [NVDP_ADJACENT_ALL] = "all", [NVDP_ADJACENT_SAME_LENGTH] = "same-length"};
    static const char *const arithmetics[] = {
        [NVDP_PAIRS_FAST] = "fast", [NVDP_PAIRS_EXACT] = "exact"};
    int64_t most = 0;
    int adjacency = (int)pairs->adjacency, arithmetic = (int)pairs->arithmetic;
    NVDP_RETURN_IF_FAILED(nvdp__json_int(ctx, where, object, "max_pairs", (int64_t)pairs->max_pairs,
                                         0, INT64_MAX, &most));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, where, object, "order", pairs->order, 1e-6, INFINITY, &pairs->order));
    NVDP_RETURN_IF_FAILED(read_choice(ctx, where, object, "adjacency", adjacencies, &adjacency));
    NVDP_RETURN_IF_FAILED(read_choice(ctx, where, object, "arithmetic", arithmetics, &arithmetic));
    pairs->max_pairs = (size_t)most;
    pairs->adjacency = (enum nvdp_adjacency)adjacency;
    pairs->arithmetic = (enum nvdp_pairs_arithmetic)arithmetic;
    return NVDP_OK;
}

static nvdp_status read_privacy(struct nvdp_context *ctx, const char *path, const json_t *object,
                                struct nvdp__grid *grid) {
    char where[WHERE_SIZE];
    struct nvdp_bdp_config *bdp = &grid->privacy.bdp;
    struct nvdp__run_options *measured = &grid->measured;
    int64_t releases = 0;
    snprintf(where, sizeof where, "%s: privacy", path);
    if (object != NULL && !json_is_object(object))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'privacy': expected an object such as {\"max_pairs\": 100000}",
                          path);
    NVDP_RETURN_IF_FAILED(check_keys(ctx, where, object, privacy_keys));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_string(ctx, where, object, "split", measured->split, &measured->split));
    NVDP_RETURN_IF_FAILED(read_size(ctx, where, object, "limit", &measured->limit));
    NVDP_RETURN_IF_FAILED(read_size(ctx, where, object, "batch", &measured->batch));
    NVDP_RETURN_IF_FAILED(read_seed(ctx, where, object, &measured->seed));
    NVDP_RETURN_IF_FAILED(read_pairs(ctx, where, object, &grid->privacy.pairs));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, where, object, "delta", bdp->delta, 1e-300, 1, &bdp->delta));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, where, object, "gamma", bdp->gamma, 1e-300, 1, &bdp->gamma));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_int(ctx, where, object, "releases", bdp->releases, 1, INT32_MAX, &releases));
    bdp->releases = (int)releases;
    grid->privacy.pairs.seed = grid->measured.seed;
    return NVDP_OK;
}

/* Gives an option the value of a key, where the object has it. */
static nvdp_status set_option(struct nvdp_context *ctx, const char *where, const json_t *object,
                              const char *key, struct nvdp_config *config, const char *name) {
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value)) return NVDP_OK;
    char *text = json_is_string(value)
                     ? nvdp__strdup(ctx, json_string_value(value))
                     : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    if (text == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp_config_set(config, name, text);
    free(text);
    return status == NVDP_ERR_ARGUMENT ? nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, where) : status;
}

static nvdp_status read_share(struct nvdp_context *ctx, const char *path, const json_t *value,
                              struct nvdp__grid *grid) {
    static const char *const of_reader[] = {"epochs", "patience", "heads", "lr", "seed"};
    static const char *const of_release[] = {"samples", "limit", "measure_texts"};
    char where[WHERE_SIZE];
    snprintf(where, sizeof where, "%s: share", path);
    NVDP_RETURN_IF_FAILED(nvdp_config_set(grid->exported, "split", "train,dev"));
    NVDP_RETURN_IF_FAILED(nvdp_config_set(grid->exported, "with-labels", "true"));
    NVDP_RETURN_IF_FAILED(nvdp_config_set(grid->exported, "overwrite", "true"));
    grid->share = json_is_true(value) || json_is_object(value);
    if (value != NULL && !json_is_boolean(value) && !json_is_object(value))
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'share': expected true, false or an object such as {\"limit\": "
                          "2000}",
                          path);
    if (!json_is_object(value)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(check_keys(ctx, where, value, share_keys));
    NVDP_RETURN_IF_FAILED(set_option(ctx, where, value, "splits", grid->exported, "split"));
    for (size_t i = 0; i < sizeof of_release / sizeof of_release[0]; i++) {
        NVDP_RETURN_IF_FAILED(
            set_option(ctx, where, value, of_release[i], grid->exported, of_release[i]));
    }
    for (size_t i = 0; i < sizeof of_reader / sizeof of_reader[0]; i++) {
        NVDP_RETURN_IF_FAILED(
            set_option(ctx, where, value, of_reader[i], grid->reuse, of_reader[i]));
    }
    return NVDP_OK;
}

static nvdp_status read_measures(struct nvdp_context *ctx, const char *path,
                                 struct nvdp__grid *grid) {
    NVDP_RETURN_IF_FAILED(read_privacy(ctx, path, json_object_get(grid->root, "privacy"), grid));
    NVDP_RETURN_IF_FAILED(read_share(ctx, path, json_object_get(grid->root, "share"), grid));
    if (json_object_get(grid->root, "attack") != NULL && !grid->share)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'attack': needs \"share\": true, as it reads the shared file",
                          path);
    return NVDP_OK;
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
    return read_measures(ctx, path, grid);
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
    for (size_t r = 0; r < grid->count; r++) {
        struct nvdp__sweep_run *run = &grid->run[r];
        struct stat info;
        char *train = nvdp__join(ctx, run->config.data, "train.tsv");
        if (train == NULL) return NVDP_ERR_MEMORY;
        bool found = stat(train, &info) == 0;
        run->work = found ? (double)info.st_size * (double)run->config.epochs : 0;
        free(train);
    }
    return NVDP_OK;
}

nvdp_status nvdp__grid_read(struct nvdp_context *ctx, const char *path, struct nvdp__grid *out) {
    nvdp_status status = NVDP_OK;
    struct nvdp__grid grid = {.privacy = nvdp_privacy_config_default()};
    nvdp__schema_default(&nvdp__run_schema, &grid.measured);
    NVDP_TRY(nvdp_export_config_create(ctx, &grid.exported));
    NVDP_TRY(nvdp_reuse_config_create(ctx, &grid.reuse));
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
    nvdp_config_free(grid->exported);
    nvdp_config_free(grid->reuse);
    json_decref(grid->root);
}

/* --- models and data sets, looked at before anything is run --- */

static nvdp_status check_readable(struct nvdp_context *ctx, const char *directory,
                                  const char *name) {
    char *path = nvdp__join(ctx, directory, name);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = NVDP_OK;
    if (access(path, R_OK) != 0) status = nvdp__fail_errno(ctx, errno, "%s: cannot read", path);
    free(path);
    return status;
}

static nvdp_status check_data(struct nvdp_context *ctx, const struct nvdp__train_options *config) {
    enum nvdp_task_id id;
    const char *dev = NULL;
    NVDP_RETURN_IF_FAILED(nvdp_task_find(ctx, config->task, &id));
    NVDP_RETURN_IF_FAILED(nvdp__task_file(ctx, nvdp__task_layout(id), NVDP_SPLIT_DEV, &dev));
    NVDP_RETURN_IF_FAILED(check_readable(ctx, config->data, "train.tsv"));
    return check_readable(ctx, config->data, dev);
}

static nvdp_status check_model(struct nvdp_context *ctx, const struct nvdp__train_options *config) {
    struct nvdp_bert_config bert;
    NVDP_RETURN_IF_FAILED(nvdp_bert_config_read(ctx, config->model, &bert));
    NVDP_RETURN_IF_FAILED(check_readable(ctx, config->model, "model.safetensors"));
    NVDP_RETURN_IF_FAILED(check_readable(ctx, config->model, "vocab.txt"));
    if (config->freeze_layers > bert.num_hidden_layers)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "key 'freeze_layers': expected at most the model's %zu, found %zu",
                          bert.num_hidden_layers, config->freeze_layers);
    struct nvdp__train_options resolved = *config;
    return nvdp__train_config_resolve(ctx, &bert, &resolved);
}

static bool same_files(const struct nvdp__sweep_run *a, const struct nvdp__sweep_run *b) {
    return strcmp(a->config.task, b->config.task) == 0 &&
           strcmp(a->config.data, b->config.data) == 0;
}

nvdp_status nvdp__grid_check_files(struct nvdp_context *ctx, const char *path,
                                   const struct nvdp__grid *grid) {
    for (size_t i = 0; i < grid->count; i++) {
        const struct nvdp__sweep_run *run = &grid->run[i];
        nvdp_status status = NVDP_OK;
        if (i == 0 || !same_files(run, run - 1)) status = check_data(ctx, &run->config);
        if (status == NVDP_OK) status = check_model(ctx, &run->config);
        if (status == NVDP_OK && run->attack != NULL && access(run->attack, R_OK) != 0)
            status = nvdp__fail_errno(ctx, errno, "key 'attack': %s: cannot read", run->attack);
        if (status == NVDP_OK) continue;
        nvdp__fail_prefix(ctx, status, path);
        return status == NVDP_ERR_MEMORY ? status : NVDP_ERR_INPUT;
    }
    return NVDP_OK;
}
