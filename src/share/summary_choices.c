/* Completes the options of a summary by public facts (export.h): the file, the columns and the answers of a task, and the
 * number of directions. */
#include "base/array.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "encoder/checkpoint.h"
#include "encoder/encode.h"
#include "share/export.h"
#include "share/summarize.h"
#include "text/task.h"
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

/* --- a task --- */

/* Returns the layout of the task; NULL for other files of the caller, and if there is no task. */
static const struct nvdp__layout *task_layout(const struct nvdp__export *export) {
    const char *task = export->options->summary.task;
    enum nvdp_task_id id;
    if (task == NULL || nvdp_task_find(NULL, task, &id) != NVDP_OK || id == NVDP_TASK_TSV)
        return NULL;
    return nvdp__task_layout(id);
}

void nvdp__summary_set_task(const struct nvdp__export *export, struct nvdp_dataset_config *config) {
    const struct nvdp__layout *layout = task_layout(export);
    if (layout != NULL && !layout->task.pair) config->task = layout->task.id;
}

/* Refuses options that contradict the task's facts. */
static nvdp_status check_task(const struct nvdp__export *export) {
    const struct nvdp__export_options *options = export->options;
    const struct {
        const char *name;
        bool given;
    } facts[] = {{"text-column", options->own_column},
                 {"text-pair-column", options->summary.pair != NULL},
                 {"label-column", options->summary.label != NULL},
                 {"classes", options->summary.classes != NULL},
                 {"range", options->summary.range != NULL}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].given)
            return nvdp__fail_option(export->ctx, NVDP_ERR_ARGUMENT, facts[i].name,
                                     ": expected no such option with {task} %s, which has its own "
                                     "columns and answers; name its file with {input} instead",
                                     options->summary.task);
    return NVDP_OK;
}

/* Copies a string into the memory of the export. */
static nvdp_status keep(struct nvdp__export *export, const char *text, const char **out) {
    char *copy;
    NVDP_TRY(NVDP__ARRAYS(export->ctx, &export->memory, NVDP__ITEMS(copy, strlen(text) + 1)));
    memcpy(copy, text, strlen(text) + 1);
    *out = copy;
    return NVDP_OK;
}

/* Sets the file, columns and answers of the task. */
static nvdp_status take_task(struct nvdp__export *export) {
    struct nvdp__export_options *options = &export->chosen;
    enum nvdp_task_id id;
    nvdp__autofree char *path = NULL;
    char answers[256] = "";
    struct nvdp__writer to = {.out = answers, .size = sizeof answers};
    if (options->summary.task == NULL) return NVDP_OK;
    NVDP_TRY(nvdp_task_find(export->ctx, options->summary.task, &id));
    NVDP_TRY(nvdp__task_path(export->ctx, nvdp__task_layout(id), options->data, NVDP_SPLIT_TRAIN,
                             &path));
    NVDP_TRY(keep(export, path, &options->input));
    NVDP_TRY(nvdp__export_check_center(export->ctx, options));
    const struct nvdp__layout *layout = task_layout(export);
    if (layout == NULL) return NVDP_OK;
    NVDP_TRY(check_task(export));
    options->text_column = layout->text;
    options->summary.pair = layout->pair;
    options->summary.label = layout->label;
    if (layout->task.regression)
        nvdp__append(&to, "%g,%g", layout->task.label_min, layout->task.label_max);
    for (int k = 0; layout->task.labels != NULL && k < layout->task.classes; k++)
        nvdp__append(&to, k > 0 ? ",%s" : "%s", layout->task.labels[k]);
    return keep(export, answers,
                layout->task.regression ? &options->summary.range : &options->summary.classes);
}

/* Finds whether the encoder is that of a run whose task is pairs: it reads both texts of a pair together. */
static nvdp_status find_joint(struct nvdp__export *export) {
    struct nvdp__export_options *options = &export->chosen;
    nvdp__autoptr(json_decref) json_t *record = NULL;
    enum nvdp_task_id id = NVDP_TASK_TSV;
    if (options->summary.pair == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__json_read_optional(export->ctx, nvdp__path(options->model, "..").text,
                                      "run.json", &record));
    const json_t *config = json_object_get(record, "config");
    const char *task = json_string_value(json_object_get(config, "task"));
    if (task != NULL) (void)nvdp_task_find(NULL, task, &id);
    options->summary.joint =
        nvdp__task_layout(id)->task.pair ||
        json_is_string(json_object_get(json_object_get(config, "columns"), "pair"));
    if (options->summary.joint)
        nvdp__log(export->ctx, NVDP_LOG_NOTICE,
                  "%s is the encoder of a run on pairs: it reads both texts of a pair together",
                  options->model);
    return NVDP_OK;
}

/* --- directions --- */

nvdp_status nvdp__summary_rows(const struct nvdp__export *export, struct nvdp__row_chunks **out) {
    const struct nvdp__export_options *options = export->options;
    const enum nvdp__label_use use =
        nvdp__export_answers(options) == NULL ? NVDP__LABELS_FOUND : NVDP__LABELS_IGNORED;
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    enum nvdp__table_format format;
    config.task = NVDP_TASK_TSV;
    config.text_column = options->text_column;
    config.text_pair_column = options->summary.pair;
    config.id_column = options->person;
    nvdp__summary_set_task(export, &config);
    NVDP_TRY(nvdp__rows_format(NULL, &config, use, options->input, &format));
    return nvdp__row_chunks_open(NULL, &config, use, options->input, NULL, format, out);
}

void nvdp__summary_reduce(struct nvdp__export *export, size_t units, size_t public, size_t width) {
    struct nvdp__export_options *options = &export->chosen;
    const size_t parts = options->summary.pair != NULL && !options->summary.joint ? 2 : 1;
    const char *comma = options->summary.classes;
    size_t answers = comma != NULL || options->summary.range != NULL;
    struct nvdp__summary plan;
    for (size_t names = 1; comma != NULL && (comma = strchr(comma, ',')) != NULL; comma++)
        if (++names > 2) answers = names;
    if (options->own_reduce ||
        nvdp__summary_plan(NULL, units, width * parts, answers, options->summary.epsilon,
                           options->summary.delta, &plan) != NVDP_OK)
        return; /* the plan of the summary has the message */
    const size_t best = nvdp__max(nvdp__summary_directions(&plan) / parts, 1);
    const bool fewer = best < width && best < public;
    options->reduce = fewer ? best : 0;
    nvdp__log(export->ctx, NVDP_LOG_NOTICE,
              "%s: %zu %ss at epsilon %g carry %zu of the %zu numbers of an embedding; %s%s",
              nvdp__as_option(export->ctx, "reduce").text, units,
              options->person != NULL ? "person" : "row", options->summary.epsilon,
              nvdp__min(best, width), width,
              fewer ? "the principal directions of the public texts are kept" : "all are kept",
              best < width && !fewer ? ", because there are too few public texts for directions"
                                     : "");
}

/* Counts the rows, and hashes the persons' names, if `name` is not NULL. */
static nvdp_status read_units(const struct nvdp__export *export, size_t *count,
                              nvdp__text_hash **name) {
    nvdp__autoptr(nvdp__row_chunks_close) struct nvdp__row_chunks *chunks = NULL;
    const struct nvdp__rows *rows;
    size_t capacity = 0;
    *count = 0;
    NVDP_TRY(nvdp__summary_rows(export, &chunks));
    do {
        NVDP_TRY(nvdp__row_chunks_next(chunks, &rows));
        const size_t all = *count + rows->count;
        if (name != NULL) NVDP_TRY(nvdp__reserve(export->ctx, name, &capacity, all, sizeof **name));
        for (size_t i = 0; name != NULL && i < rows->count; i++) {
            nvdp__autofree char *text = strndup(
                rows->row[i].id.text != NULL ? rows->row[i].id.text : "", rows->row[i].id.size);
            NVDP_TRY(NVDP__MADE(text));
            NVDP_TRY(
                nvdp__name_hash(export->ctx, NULL, NVDP__LEDGER_PERSON, text, (*name)[*count + i]));
        }
        *count = all;
    } while (rows->count > 0);
    return NVDP_OK;
}

/* Counts the units of the input, which is read a further time. *units is 0 if it can be read only once. */
static nvdp_status count_units(const struct nvdp__export *export, size_t *units) {
    const struct nvdp__export_options *options = export->options;
    nvdp__autofree nvdp__text_hash *name = NULL;
    nvdp__autofree bool *chosen = NULL;
    struct stat info;
    size_t count = 0, named = 0;
    *units = 0;
    if (stat(options->input, &info) != 0 || !S_ISREG(info.st_mode)) return NVDP_OK;
    if (read_units(export, &count, options->person != NULL ? &name : NULL) != NVDP_OK)
        return NVDP_OK; /* refused later */
    *units = options->limit > 0 ? nvdp__min(count, options->limit) : count;
    if (name == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__choose_rows(export->ctx, options->seed, count, options->limit, &chosen));
    for (size_t i = 0; i < count; i++) /* a row without a name is a person */
        if (chosen[i] && !sodium_is_zero(name[i], sizeof *name))
            memmove(name[named++], name[i], sizeof *name);
    *units -= named;
    const struct nvdp__key by_bytes = {.size = sizeof *name, .kind = NVDP__KEY_MEMORY};
    nvdp__sort(name, named, sizeof *name, &by_bytes, 1);
    for (size_t i = 0; i < named; i++)
        *units += i == 0 || memcmp(name[i], name[i - 1], sizeof *name) != 0;
    return NVDP_OK;
}

/* Chooses the number of directions of texts. A run that exists keeps the directions of its map. */
static nvdp_status choose_directions(struct nvdp__export *export) {
    struct nvdp__export_options *options = &export->chosen;
    nvdp__autoptr(json_decref) json_t *record = NULL;
    nvdp__auto(nvdp__encode_input_release) struct nvdp__encode_input public = {0};
    struct nvdp_bert_config bert;
    size_t units;
    if (options->own_reduce || options->vectors != NULL) return NVDP_OK;
    NVDP_TRY(nvdp__json_read_optional(export->ctx, options->run, "run.json", &record));
    const json_t *dim = json_object_get(json_object_get(record, "sentence"), "dim");
    if (json_is_integer(dim)) {
        options->reduce = (size_t)json_integer_value(dim);
        nvdp__log(export->ctx, NVDP_LOG_NOTICE, "%s: %zu directions, those of %s",
                  nvdp__as_option(export->ctx, "reduce").text, options->reduce, options->run);
        return NVDP_OK;
    }
    NVDP_TRY(nvdp__bert_config_read(export->ctx, options->model, &bert));
    NVDP_TRY(count_units(export, &units));
    if (units == 0) return NVDP_OK;
    const struct nvdp__encode_limits limits = {.config = &bert,
                                               .max_length = NVDP__MIN_PAIR,
                                               .directory = options->model,
                                               .text_column = options->text_column,
                                               .text_pair_column =
                                                   nvdp__export_sentence(options).pair_column};
    NVDP_TRY(nvdp__encode_input_read(export->ctx, options->center, &limits, &public));
    nvdp__summary_reduce(export, units, public.data.count, bert.hidden_size);
    return NVDP_OK;
}

nvdp_status nvdp__summary_choose(struct nvdp__export *export) {
    NVDP_TRY(take_task(export));
    NVDP_TRY(find_joint(export));
    return choose_directions(export);
}
