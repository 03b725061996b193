/* Prepares the start of a run for train.c: the checkpoint, or the model of a base run. The base run is another run
 * (--from-base), or a run in RUN/base (--base-epochs). The middle part records the texts that the initial model has
 * read. */
#include "base/array.h"
#include "base/file.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "model/model.h"
#include "text/task.h"
#include "train/run.h"
#include "train/trainer.h"

#include <stdlib.h>
#include <string.h>

/* --- the base run's model as the start --- */

nvdp_status nvdp__trainer_take_base(struct nvdp__trainer *t) {
    struct nvdp__train_options base = {0};
    nvdp__autoptr(json_decref) json_t *owner = NULL;
    const char *run = t->config.from_base, *given = t->config.model;
    nvdp__autofree char *model = NULL;
    if (run == NULL) return NVDP_OK;
    if (!nvdp__is_directory(run))
        return nvdp__fail(t->ctx, NVDP_ERR_IO, "option {from-base}: %s: no such run directory",
                          run);
    NVDP_TRY(nvdp__run_read_config(t->ctx, run, &base, &owner));
    model = nvdp__join(t->ctx, run, "model");
    NVDP_TRY(NVDP__MADE(model));
    if (nvdp_method_is_private(base.method))
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "option {from-base}: %s: expected a run of base or reg, found %s", run,
                          nvdp_method_name(base.method));
    if (given != NULL && strcmp(given, model) != 0 && strcmp(given, base.model) != 0)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "option {model}: expected no value, or %s, the model from which the run "
                          "of {from-base} was trained, found %s",
                          base.model, given);
    NVDP_TRY(nvdp__outdir_check_ended(t->ctx, run));
    t->config.model = t->base_model = model;
    model = NULL;
    return NVDP_OK;
}

/* Fails if the initial model was trained on the part that scores this fold. Only a run of the same fold was not trained
 * on this part. */
static nvdp_status check_fold(const struct nvdp__trainer *t) {
    struct nvdp__train_options before = {0};
    nvdp__autoptr(json_decref) json_t *owner = NULL;
    if (t->config.folds == 0 || t->config.resume != NULL ||
        !nvdp__lineage_saw(&t->lineage, t->texts))
        return NVDP_OK;
    const struct nvdp__path run = nvdp__path(t->config.model, ".."),
                            record = nvdp__path(t->config.model, "../run.json");
    if (!nvdp__exists(record.text)) return NVDP_OK; /* a pretrained model did not see the labels */
    NVDP_TRY(nvdp__run_read_config(t->ctx, run.text, &before, &owner));
    const bool same_texts = before.limit_train == t->config.limit_train &&
                            (before.limit_train == 0 || before.seed == t->config.seed);
    if (same_texts && before.folds == t->config.folds && before.fold == t->config.fold)
        return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "option {folds}: %s was trained on the texts on which fold %zu is scored; "
                      "start from a run of the same fold, or from a model that has not seen "
                      "these texts ({base-epochs} trains one in each fold)",
                      t->config.from_base != NULL ? t->config.from_base : t->config.model,
                      t->config.fold);
}

/* Adds the words of each sentence of a file with columns. */
static nvdp_status read_sentences(const struct nvdp__trainer *t, const char *path,
                                  struct nvdp__seen_texts *texts) {
    nvdp__auto(nvdp__conll_release) struct nvdp__conll conll = {0};
    nvdp__autofree char *text = NULL;
    size_t capacity = 0, size = 0;
    NVDP_TRY(nvdp__conll_open(t->ctx, path, &conll));
    for (size_t i = 0; i < conll.sentences; i++) {
        NVDP_TRY(nvdp__conll_sentence(t->ctx, &conll, i, &text, &capacity, &size));
        NVDP_TRY(nvdp__seen_texts_add(t->ctx, texts, i, text, size));
    }
    return NVDP_OK;
}

/* Adds all texts of the train file, including texts that this run leaves out, because a file counts as seen as a whole.
 * The file was read before with all messages, so this function logs no messages. */
static nvdp_status read_texts(const struct nvdp__trainer *t, const char *path,
                              struct nvdp__seen_texts *texts) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    nvdp__autofree char *bytes = NULL;
    nvdp__auto(nvdp__rows_release) struct nvdp__rows rows = {0};
    size_t count = 0;
    NVDP_TRY(nvdp_task_find(t->ctx, t->config.task, &config.task));
    if (nvdp__task_layout(config.task)->task.tags) return read_sentences(t, path, texts);
    nvdp__set_columns(&config, &t->config.columns);
    config.skip_bad_rows = t->config.skip_bad_rows;
    nvdp_status status = nvdp__read_stream(NULL, path, NVDP__DATA_LIMIT, &bytes, &count);
    if (status == NVDP_OK)
        status = nvdp__rows_parse(NULL, &config, NVDP__LABELS_REQUIRED, path, bytes, count, &rows);
    if (status != NVDP_OK)
        return nvdp__fail(t->ctx, status, "%s: cannot read the file a second time", path);
    for (size_t i = 0; i < rows.count; i++) {
        const struct nvdp__text_row *row = &rows.row[i];
        const size_t number = (size_t)row->index;
        NVDP_TRY(nvdp__seen_texts_add(t->ctx, texts, number, row->text.text, row->text.size));
        if (rows.task.pair)
            NVDP_TRY(nvdp__seen_texts_add(t->ctx, texts, number, row->pair.text, row->pair.size));
    }
    return NVDP_OK;
}

/* Returns the largest number of examples that a sentence with tags is cut into. */
static size_t parts_of_sentence(const bool *continues, size_t texts) {
    size_t most = 1, parts = 1;
    for (size_t i = 1; i < texts; i++) {
        parts = continues[i] ? parts + 1 : 1;
        most = nvdp__max(most, parts);
    }
    return most;
}

nvdp_status nvdp__trainer_take_lineage(struct nvdp__trainer *t) {
    t->texts_known = t->config.representations == NULL;
    nvdp__auto(nvdp__seen_texts_release) struct nvdp__seen_texts texts = {0};
    nvdp__autofree char *file = NULL; /* the train file, or the representations that replace it */
    if (t->texts_known) {
        enum nvdp_task_id id;
        NVDP_TRY(nvdp_task_find(t->ctx, t->config.task, &id));
        const struct nvdp__layout *layout = nvdp__task_layout(id);
        NVDP_TRY(layout->task.tags
                     ? nvdp__conll_file(t->ctx, t->config.data, NVDP_SPLIT_TRAIN, &file)
                     : nvdp__task_path(t->ctx, layout, t->config.data, NVDP_SPLIT_TRAIN, &file));
    } else {
        file = nvdp__strdup(t->ctx, t->config.representations);
        NVDP_TRY(NVDP__MADE(file));
    }
    NVDP_TRY(nvdp__file_sha256(t->ctx, file, t->texts));
    if (t->texts_known) NVDP_TRY(read_texts(t, file, &texts));
    const struct nvdp__seen seen = {1, (const char(*)[NVDP__DIGEST_HEX]) & t->texts,
                                    (const char *const *)&file, t->texts_known ? &texts : NULL, 0};
    NVDP_TRY(nvdp__lineage_read(t->ctx, t->config.model, &t->lineage));
    NVDP_TRY(check_fold(t));
    if (nvdp__dp_wanted(&t->config.dp))
        NVDP_TRY(nvdp__lineage_promise(t->ctx, &t->lineage, seen, t->config.dp.insecure_seed != 0,
                                       &t->start));
    NVDP_TRY(nvdp__lineage_add(t->ctx, &t->lineage, t->config.out, seen, false));
    const bool *continues = nvdp__dataset_storage(t->all)->continues;
    if (continues != NULL)
        nvdp__lineage_divides(&t->lineage, parts_of_sentence(continues, t->all->count), 0);
    return NVDP_OK;
}

nvdp_status nvdp__trainer_takes_head(struct nvdp__trainer *t, bool tell, bool *takes) {
    struct nvdp__model_info info;
    nvdp__autofree char *owned = NULL;
    nvdp__autofree const char **labels = NULL;
    *takes = true;
    if (t->config.from_base == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__model_info_read(t->ctx, t->config.model, &info, &owned, &labels));
    const struct nvdp_task *a = &info.task, *b = t->all->task;
    bool same =
        strcmp(a->name, b->name) == 0 && a->regression == b->regression && a->classes == b->classes;
    for (int i = 0; same && !a->regression && i < a->classes; i++)
        same = strcmp(a->labels[i], b->labels[i]) == 0;
    if (!same && tell)
        nvdp__log(t->ctx, NVDP_LOG_NOTICE,
                  "option {from-base}: %s is of task %s with %zu outputs, so only its encoder is "
                  "used and the classifier is initialized",
                  t->config.from_base, info.task.name, info.outputs);
    *takes = same && !nvdp_method_is_private(t->config.method);
    return NVDP_OK;
}

nvdp_status nvdp__trainer_start_weights(struct nvdp__trainer *t) {
    bool takes_head;
    nvdp__model_initialise_head(t->model, t->config.seed);
    NVDP_TRY(nvdp__checkpoint_load(&t->model->dev, t->config.model, &t->model->params));
    NVDP_TRY(nvdp__trainer_takes_head(t, true, &takes_head));
    if (!takes_head) nvdp__model_initialise_classifier(t->model, t->config.seed);
    return nvdp__model_initialise_bottleneck(t->model, t->job.dp == NULL ? t->train : NULL,
                                             t->config.seed);
}

/* --- a base run in RUN/base --- */
/* The dropout of a base run, as in method reg. A classifier needs no more dropout, and small data sets need no less. */
static const double BASE_DROPOUT = 0.1;

bool nvdp__base_first(const struct nvdp__train_options *config) {
    return config->base_epochs > 0 && config->from_base == NULL &&
           nvdp_method_is_private(config->method) && !nvdp__dp_wanted(&config->dp);
}

nvdp_status nvdp__base_options(struct nvdp_context *ctx, struct nvdp__train_options *config,
                               struct nvdp__train_options *base) {
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__bert_config_read(ctx, config->model, &bert));
    if (config->freeze_layers == 0) config->freeze_layers = bert.num_hidden_layers;
    *base = *config;
    base->preset = NULL;
    base->method = NVDP_METHOD_BASE;
    base->epochs = config->base_epochs;
    base->base_epochs = base->freeze_layers = 0;
    base->dropout = base->classifier_dropout = BASE_DROPOUT;
    base->lr_bottleneck = base->lr_head = -1;
    base->certified_epsilon = 0;
    base->certified_guess = NULL;
    return NVDP_OK;
}
