/* Saves and loads model directories for training, prediction and sharing. The layout is that of
 * a Hugging Face model; an "nvdp" object in config.json holds the method, the task and the
 * bottleneck. The first part converts this object, the second part ("directories") saves and
 * loads all files. */
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "mechanism/bottleneck_options.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include "text/sentence_folder.h"
#include "text/task.h"
#include "text/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_VERSION = 1, VOCABULARY_LIMIT = 64 << 20 };

static json_t *info_json(const struct nvdp__model_info *info) {
    json_t *labels = json_array();
    for (int i = 0; info->task.labels != NULL && i < info->task.classes; i++)
        json_array_append_new(labels, json_string(info->task.labels[i]));
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

/* Copies a string to *next, in the block for all strings, so that the copy outlives the JSON. */
static const char *keep_text(char **next, const char *text) {
    if (text == NULL) return NULL;
    char *copy = *next;
    size_t size = strlen(text) + 1;
    memcpy(copy, text, size);
    *next += size;
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

/* Derives the metrics and the range of labels from the task's name; if the task is the user's,
 * from the columns. */
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
                               char **next, struct nvdp_task *task, const char ***labels) {
    if (task->regression) return NVDP_OK;
    if (!json_is_array(array) || json_array_size(array) != (size_t)task->classes) {
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'nvdp.labels': expected %d names, found %zu", path,
                          task->classes, json_array_size(array));
    }
    nvdp__autofree const char **names = NULL;
    NVDP_TRY(NVDP__NEW(ctx, names, (size_t)task->classes));
    for (int i = 0; i < task->classes; i++) {
        const char *text = json_string_value(json_array_get(array, (size_t)i));
        if (text == NULL)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: key 'nvdp.labels': entry %d is not a string", path, i);
        names[i] = keep_text(next, text);
    }
    task->labels = names;
    return NVDP__HAND_OVER(labels, names);
}

static nvdp_status read_object(struct nvdp_context *ctx, const char *path, const json_t *object,
                               struct nvdp__model_info *info, char **next, const char ***labels) {
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
    info->task.name = keep_text(next, task);
    NVDP_TRY(nvdp__json_bool(ctx, path, object, "pair", false, &info->task.pair));
    NVDP_TRY(nvdp__json_bool(ctx, path, object, "regression", false, &info->task.regression));
    const json_t *columns = json_object_get(object, "columns");
    info->columns.text_column =
        keep_text(next, json_string_value(json_object_get(columns, "text")));
    info->columns.text_pair_column =
        keep_text(next, json_string_value(json_object_get(columns, "pair")));
    info->columns.label_column =
        keep_text(next, json_string_value(json_object_get(columns, "label")));
    info->columns.regression = info->task.regression;
    NVDP_TRY(fill_task(ctx, path, task, info));
    if (nvdp_method_is_private(info->method)) {
        info->nvib = nvdp__nvib_config_default();
        NVDP_TRY(nvdp__schema_read(ctx, path, json_object_get(object, "nvib"), &nvdp__nvib_schema,
                                   &info->nvib));
        NVDP_TRY(nvdp__method_resolve(ctx, info->method, &info->bert, &info->nvib));
    }
    return read_labels(ctx, path, json_object_get(object, "labels"), next, &info->task, labels);
}

nvdp_status nvdp__model_info_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp__model_info *out, char **owned,
                                  const char ***labels) {
    struct nvdp__model_info info = {0};
    nvdp__autofree char *text = NULL;
    nvdp__autoptr(json_decref) json_t *root = NULL;
    const struct nvdp__path path = nvdp__path(directory, "config.json");
    NVDP_TRY(nvdp__bert_config_read(ctx, directory, &info.bert));
    NVDP_TRY(nvdp__json_read(ctx, path.text, &root));
    const json_t *object = json_object_get(root, "nvdp");
    if (!json_is_object(object))
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected a model that nvdp train wrote, but the object 'nvdp' is missing",
            path.text);
    NVDP_TRY(NVDP__NEW(ctx, text, text_size(object) + 1));
    char *next = text;
    /* the labels are read last */
    NVDP_TRY(read_object(ctx, path.text, object, &info, &next, labels));
    *out = info;
    return NVDP__HAND_OVER(owned, text);
}

/* ---- directories ---- */

/* Returns the names of the outputs for transformers, which assumes two outputs if there is no
 * id2label. */
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
    for (size_t i = 0; files[i] != NULL; i++) {
        nvdp__autofree char *bytes = NULL;
        size_t count = 0;
        struct nvdp__path source;
        NVDP_TRY(nvdp__model_path(ctx, vocabulary_from, files[i], &source));
        if (!nvdp__exists(source.text)) continue;
        NVDP_TRY(nvdp__read_file(ctx, source.text, VOCABULARY_LIMIT, &bytes, &count));
        NVDP_TRY(nvdp__write_file(ctx, nvdp__path(directory, files[i]).text, bytes, count));
    }
    nvdp__autoptr(json_decref) json_t *extra = json_object();
    json_object_set_new(extra, "nvdp", info_json(&model->info));
    json_object_update_new(extra, outputs_json(&model->info));
    if (class != NULL) json_object_set_new(extra, "tokenizer_class", json_string(class));
    const struct nvdp__names *names = nvdp__names(model->info.bert.model_type);
    NVDP_TRY(nvdp__bert_config_write(ctx, directory, &model->info.bert,
                                     model->info.task.tags ? names->tagging : names->classification,
                                     extra));
    return nvdp__checkpoint_save(&model->dev, directory, &model->params);
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
    NVDP__HAND_OVER(&model->owned_text, owned);
    NVDP__HAND_OVER(&model->owned_labels, labels);
    for (size_t i = 0; i < model->params.count; i++) /* a finished model must not lack a tensor */
        model->params.entry[i].flags &= ~(unsigned)NVDP__PARAM_OPTIONAL;
    NVDP_TRY(nvdp__checkpoint_load(&model->dev, directory, &model->params));
    NVDP_TRY(nvdp__file_sha256(ctx, nvdp__path(directory, "model.safetensors").text,
                               model->info.fingerprint));
    NVDP_TRY(nvdp__method_tokenizer_load(ctx, info.method, directory, &model->tokenizer));
    NVDP_TRY(nvdp__bert_check_rows(ctx, directory, &model->info.bert,
                                   nvdp_tokenizer_size(model->tokenizer)));
    return NVDP__HAND_OVER(out, model);
}
