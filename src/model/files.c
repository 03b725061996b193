/* Saves and loads model directories for training, prediction and sharing. The layout is that of
 * Hugging Face; an "nvdp" object in config.json holds the method, the task and the bottleneck.
 * The first part converts this object, the second part ("directories") saves and loads all
 * files. */
#include "base/file.h"
#include "base/json.h"
#include "base/outdir.h"
#include "base/own.h"
#include "bert/checkpoint.h"
#include "mechanism/method.h"
#include "mechanism/options.h"
#include "model/model.h"
#include "text/sentence.h"
#include "text/task.h"
#include "text/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_VERSION = 1, VOCABULARY_LIMIT = 64 << 20 };

static json_t *info_json(const struct nvdp__model_info *info) {
    json_t *labels = json_array();
    for (int i = 0; info->task.labels != NULL && i < info->task.classes; i++) {
        json_array_append_new(labels, json_string(info->task.labels[i]));
    }
    json_t *object =
        json_pack("{s:i,s:s,s:s,s:b,s:b,s:I,s:I,s:o}", "version", CONFIG_VERSION, "method",
                  nvdp_method_name(info->method), "task", info->task.name, "pair", info->task.pair,
                  "regression", info->task.regression, "outputs", (json_int_t)info->outputs,
                  "max_length", (json_int_t)info->max_length, "labels", labels);
    if (object == NULL) return NULL;
    if (info->task.id == NVDP_TASK_TSV) {
        json_object_set_new(object, "columns",
                            json_pack("{s:s?,s:s?,s:s?}", "text", info->columns.text_column, "pair",
                                      info->columns.text_pair_column, "label",
                                      info->columns.label_column));
    }
    if (nvdp_method_is_private(info->method)) {
        json_object_set_new(object, "nvib", nvdp__schema_json(&nvdp__nvib_schema, &info->nvib));
    }
    return object;
}

/* Copies of text that outlive the JSON, packed into one block. */
struct text_pool {
    char *next;
};

static const char *keep(struct text_pool *pool, const char *text) {
    if (text == NULL) return NULL;
    char *copy = pool->next;
    size_t size = strlen(text) + 1;
    memcpy(copy, text, size);
    pool->next += size;
    return copy;
}

static size_t text_size(const json_t *value) {
    size_t size = json_is_string(value) ? json_string_length(value) + 1 : 0;
    size_t index;
    json_t *item;
    const char *key;
    if (json_is_array(value)) json_array_foreach(value, index, item) size += text_size(item);
    if (json_is_object(value))
        json_object_foreach((json_t *)value, key, item) size += text_size(item);
    return size;
}

/* Derives metrics and label range from the task's name, or from the columns if the task is the
 * user's own. */
static nvdp_status fill_task(struct nvdp_context *ctx, const char *path, const char *name,
                             struct nvdp__model_info *info) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    struct nvdp__layout layout;
    if (nvdp_task_find(ctx, name, &config.task) != NVDP_OK) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: key 'nvdp.task': unknown task '%s'", path,
                          name);
    }
    nvdp__set_columns(&config, &info->columns);
    NVDP_TRY(nvdp__task_resolve(ctx, &config, &layout));
    struct nvdp_task *task = &info->task;
    task->id = layout.task.id;
    task->label_min = layout.task.label_min;
    task->label_max = layout.task.label_max;
    task->metrics = layout.task.metrics;
    memcpy(task->metric, layout.task.metric, sizeof task->metric);
    task->tags = layout.task.tags;
    return NVDP_OK;
}

static nvdp_status read_labels(struct nvdp_context *ctx, const char *path, const json_t *array,
                               struct text_pool *pool, struct nvdp_task *task,
                               const char ***labels) {
    if (task->regression) return NVDP_OK;
    if (!json_is_array(array) || json_array_size(array) != (size_t)task->classes) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'nvdp.labels': expected %d names, found %zu", path,
                          task->classes, json_array_size(array));
    }
    const char **names = nvdp__calloc(ctx, (size_t)task->classes, sizeof *names);
    if (names == NULL) return NVDP_ERR_MEMORY;
    for (int i = 0; i < task->classes; i++) {
        const char *text = json_string_value(json_array_get(array, (size_t)i));
        if (text == NULL) {
            free(names);
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: key 'nvdp.labels': entry %d is not a string", path, i);
        }
        names[i] = keep(pool, text);
    }
    task->labels = names;
    *labels = names;
    return NVDP_OK;
}

static nvdp_status read_object(struct nvdp_context *ctx, const char *path, const json_t *object,
                               struct nvdp__model_info *info, struct text_pool *pool,
                               const char ***labels) {
    int64_t version = 0, outputs = 0, max_length = 0;
    NVDP_TRY(nvdp__json_int_required(ctx, path, object, "version", 1, CONFIG_VERSION, &version));
    NVDP_TRY(nvdp__json_int_required(ctx, path, object, "outputs", 1, 1 << 16, &outputs));
    NVDP_TRY(nvdp__json_int_required(ctx, path, object, "max_length", 3, 1 << 16, &max_length));
    const char *method = NULL, *task = NULL;
    NVDP_TRY(nvdp__json_string(ctx, path, object, "method", nvdp_method_name(NVDP_METHOD_BASE),
                               &method));
    NVDP_TRY(nvdp__json_string(ctx, path, object, "task", "tsv", &task));
    NVDP_TRY(nvdp_method_find(ctx, method, &info->method));
    info->outputs = (size_t)outputs;
    info->max_length = (size_t)max_length;
    info->task.classes = (int)outputs;
    info->task.name = keep(pool, task);
    NVDP_TRY(nvdp__json_bool(ctx, path, object, "pair", false, &info->task.pair));
    NVDP_TRY(nvdp__json_bool(ctx, path, object, "regression", false, &info->task.regression));
    const json_t *columns = json_object_get(object, "columns");
    info->columns.text_column = keep(pool, json_string_value(json_object_get(columns, "text")));
    info->columns.text_pair_column =
        keep(pool, json_string_value(json_object_get(columns, "pair")));
    info->columns.label_column = keep(pool, json_string_value(json_object_get(columns, "label")));
    info->columns.regression = info->task.regression;
    NVDP_TRY(fill_task(ctx, path, task, info));
    if (nvdp_method_is_private(info->method)) {
        info->nvib = nvdp__nvib_config_default();
        NVDP_TRY(nvdp__schema_read(ctx, path, json_object_get(object, "nvib"), &nvdp__nvib_schema,
                                   &info->nvib));
        NVDP_TRY(nvdp__method_resolve(ctx, info->method, &info->bert, &info->nvib));
    }
    return read_labels(ctx, path, json_object_get(object, "labels"), pool, &info->task, labels);
}

nvdp_status nvdp__model_info_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__model_info *out, char **owned,
                                  const char ***labels) {
    nvdp_status status = NVDP_OK;
    struct nvdp__model_info info = {0};
    const char **names = NULL;
    char *text = NULL;
    json_t *root = NULL;
    char *path = nvdp__join(ctx, directory, "config.json");
    if (path == NULL) return NVDP_ERR_MEMORY;
    NVDP_TRY_OR_CLEAN(nvdp__bert_config_read(ctx, directory, &info.bert));
    NVDP_TRY_OR_CLEAN(nvdp__json_read(ctx, path, &root));
    const json_t *object = json_object_get(root, "nvdp");
    if (!json_is_object(object)) {
        status = nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected a model that nvdp train wrote, but the object 'nvdp' is missing", path);
        goto cleanup;
    }
    text = nvdp__calloc(ctx, text_size(object) + 1, 1);
    if (text == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    struct text_pool pool = {text};
    NVDP_TRY_OR_CLEAN(read_object(ctx, path, object, &info, &pool, &names));
    *out = info;
    *owned = text;
    *labels = names;
    text = NULL;
    names = NULL;
cleanup:
    free(text);
    free(names);
    free(path);
    json_decref(root);
    return status;
}

/* ---- directories ---- */

/* Copies a file of the source directory if it exists. */
static nvdp_status copy_file(struct nvdp_context *ctx, const char *from, const char *to,
                             const char *name) {
    nvdp_status status = NVDP_OK;
    char *bytes = NULL;
    size_t count = 0;
    char *source = nvdp__model_path(ctx, from, name);
    char *target = nvdp__join(ctx, to, name);
    if (source == NULL || target == NULL) {
        status = NVDP_ERR_MEMORY;
        goto cleanup;
    }
    if (!nvdp__exists(source)) goto cleanup;
    NVDP_TRY_OR_CLEAN(nvdp__read_file(ctx, source, VOCABULARY_LIMIT, &bytes, &count));
    NVDP_TRY_OR_CLEAN(nvdp__write_file(ctx, target, bytes, count));
cleanup:
    free(bytes);
    free(source);
    free(target);
    return status;
}

/* Names the outputs as transformers expects; without id2label it assumes two outputs. */
static json_t *outputs_json(const struct nvdp__model_info *info) {
    json_t *names = json_object(), *ids = json_object();
    for (size_t i = 0; i < info->outputs; i++) {
        char id[24], name[40];
        nvdp__snprintf(id, sizeof id, "%zu", i);
        nvdp__snprintf(name, sizeof name, "LABEL_%zu", i);
        const char *label = info->task.labels != NULL ? info->task.labels[i] : name;
        json_object_set_new(names, id, json_string(label));
        json_object_set_new(ids, label, json_integer((json_int_t)i));
    }
    json_t *object = json_pack("{s:o, s:o}", "id2label", names, "label2id", ids);
    if (!info->task.tags)
        json_object_set_new(
            object, "problem_type",
            json_string(info->task.regression ? "regression" : "single_label_classification"));
    return object;
}

nvdp_status nvdp__model_save(const struct nvdp_model *model, const char *directory,
                             const char *vocabulary_from) {
    struct nvdp_context *ctx = model->ctx;
    NVDP_TRY(nvdp__make_directory(ctx, directory));
    const char *files[NVDP__TOKENIZER_FILES + 1], *class;
    NVDP_TRY(nvdp__tokenizer_files(ctx, vocabulary_from, files, &class));
    for (size_t i = 0; files[i] != NULL; i++)
        NVDP_TRY(copy_file(ctx, vocabulary_from, directory, files[i]));
    json_t *extra = json_object();
    json_object_set_new(extra, "nvdp", info_json(&model->info));
    json_object_update_new(extra, outputs_json(&model->info));
    if (class != NULL) json_object_set_new(extra, "tokenizer_class", json_string(class));
    const struct nvdp__names *names = nvdp__names(model->info.bert.model_type);
    nvdp_status status = nvdp__bert_config_write(
        ctx, directory, &model->info.bert,
        model->info.task.tags ? names->tagging : names->classification, extra);
    json_decref(extra);
    if (status != NVDP_OK) return status;
    return nvdp__checkpoint_save(&model->dev, directory, &model->params);
}

/* Makes every tensor required: a finished model must not lack one. */
static void require_all(struct nvdp__params *params) {
    for (size_t i = 0; i < params->count; i++)
        params->entry[i].flags &= ~(unsigned)NVDP__PARAM_OPTIONAL;
}

static nvdp_status fingerprint(struct nvdp_model *model, const char *directory) {
    char *path = nvdp__join(model->ctx, directory, "model.safetensors");
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__file_sha256(model->ctx, path, model->info.fingerprint);
    free(path);
    return status;
}

nvdp_status nvdp_model_load(struct nvdp_context *ctx, const char *directory,
                            struct nvdp_model **out) {
    struct nvdp__model_info info = {0};
    nvdp__autoptr(nvdp_model_free) struct nvdp_model *model = NULL;
    nvdp__autofree char *owned = NULL;
    nvdp__autofree const char **labels = NULL;
    NVDP_TRY(nvdp__outdir_check_model(ctx, directory));
    NVDP_TRY(nvdp__model_info_read(ctx, directory, &info, &owned, &labels));
    NVDP_TRY(nvdp__model_build(ctx, &info, false, &model));
    model->owned_text = owned;
    model->owned_labels = labels;
    owned = NULL;
    labels = NULL;
    require_all(&model->params);
    NVDP_TRY(nvdp__checkpoint_load(&model->dev, directory, &model->params));
    NVDP_TRY(fingerprint(model, directory));
    NVDP_TRY(nvdp__method_tokenizer_load(ctx, info.method, directory, &model->tokenizer));
    NVDP_TRY(nvdp__bert_check_rows(ctx, directory, &model->info.bert,
                                   nvdp_tokenizer_size(model->tokenizer)));
    NVDP__HAND_OVER(out, model);
    return NVDP_OK;
}
