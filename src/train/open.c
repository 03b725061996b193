/* Opens a run for train.c, plan.c and bare_trainer.c: data sets and splits, the model, the
 * optimizer's memory, and the frozen layers with their cache. nvdp__trainer_open and
 * nvdp__trainer_allocate are called in this order. */
#include "base/base.h"
#include "base/file.h"
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/row.h"
#include "mechanism/mechanism.h"
#include "model/model.h"
#include "text/dataset.h"
#include "text/sentence_folder.h"
#include "text/task.h"
#include "text/tokenizer.h"
#include "train/run.h"
#include "train/trainer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- data and model --- */

nvdp_status nvdp__trainer_load_split(struct nvdp__trainer *t, enum nvdp_split split,
                                     struct nvdp_dataset **out) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    if (t->given != NULL)
        return nvdp__token_file_texts(t->ctx, t->given, t->tokenizer, t->config.max_length, split,
                                      split == NVDP_SPLIT_TRAIN ? t->config.limit_train
                                                                : t->config.limit_dev,
                                      split == NVDP_SPLIT_TRAIN ? t->config.seed : 0, out);
    NVDP_TRY(nvdp_task_find(t->ctx, t->config.task, &config.task));
    config.directory = t->config.data;
    nvdp__set_columns(&config, &t->config.columns);
    config.max_length = t->config.max_length;
    config.skip_bad_rows = t->config.skip_bad_rows;
    config.cache = t->config.cache;
    const bool held = split != NVDP_SPLIT_TRAIN;
    if (held && t->config.folds == 0) {
        config.labels_from = t->all->task;
        config.limit = t->config.limit_dev;
        return nvdp__dataset_load(t->ctx, t->tokenizer, &config, split,
                                  nvdp__token_noise_public(t->noise), out);
    }
    config.limit = t->config.limit_train;
    config.limit_seed = t->config.seed;
    NVDP_TRY(nvdp__dataset_load(t->ctx, t->tokenizer, &config, NVDP_SPLIT_TRAIN,
                                nvdp__token_noise_public(t->noise), out));
    return nvdp__dataset_keep_fold(t->ctx, t->config.folds, t->config.fold, held, out);
}

/* Returns whether this run privatizes the texts, as users would. */
static bool privatizes(const struct nvdp__trainer *t) {
    return t->config.noise.mechanism != NVDP__NOISE_NONE && !t->plan;
}

static nvdp_status load_data(struct nvdp__trainer *t) {
    const struct nvdp__token_row *noise = nvdp__token_row(t->config.noise.mechanism);
    if (t->config.representations != NULL)
        NVDP_TRY(nvdp__token_file_open(t->ctx, &t->config, t->tokenizer, &t->given, &t->noise));
    if (privatizes(t))
        NVDP_TRY(nvdp__token_noise_create(t->ctx, &t->config.noise, t->config.seed, t->config.model,
                                          t->tokenizer, &t->noise));
    NVDP_TRY(nvdp__trainer_load_split(t, NVDP_SPLIT_TRAIN, &t->all));
    NVDP_TRY(nvdp__trainer_load_split(t, NVDP_SPLIT_DEV, &t->test));
    if (t->all->task->tags && noise->on_sequence)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "{token-noise}: task %s labels every word and needs a mechanism that "
                          "privatizes tokens, found %s",
                          t->config.task, nvdp__text_noise_names[t->config.noise.mechanism]);
    if (privatizes(t)) {
        /* The texts become the representations that their owners send. No text may be among the public texts. */
        const struct nvdp__public_texts *public = nvdp__token_noise_public(t->noise);
        if (public != NULL) NVDP_TRY(nvdp__public_texts_check(public, "{sensitive-from}"));
        NVDP_TRY(nvdp__token_noise_texts(t->noise, t->all, t->config.cache));
        NVDP_TRY(nvdp__token_noise_texts(t->noise, t->test, t->config.cache));
    }
    if (!nvdp__dataset_labeled(t->all) || !nvdp__dataset_labeled(t->test)) {
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: training needs labels in train and dev, found texts without labels",
                          t->given != NULL ? t->config.representations : t->config.data);
    }
    if (t->config.protocol == NVDP_PROTOCOL_DEV) {
        t->train = t->all;
        t->validation = t->test;
        return NVDP_OK;
    }
    return nvdp__train_holdout(t->ctx, &t->config, t->all, &t->train, &t->validation);
}

size_t nvdp__trainer_longest(const struct nvdp__trainer *t) {
    return nvdp__max(t->all->longest, t->test != NULL ? t->test->longest : 0);
}

/* Checks the options that depend on the model, and resolves config->nvib for it. */
static nvdp_status resolve(struct nvdp_context *ctx, const struct nvdp_bert_config *bert,
                           struct nvdp__train_options *config) {
    const struct nvdp__encoder_row *row = nvdp__encoder_row(bert->model_type);
    if (config->max_length > bert->max_position_embeddings) {
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{max-length}: expected at most %zu, the model's max_position_embeddings%s, found %zu",
            bert->max_position_embeddings,
            row->position_after_pad
                ? " (without the positions of config.json that are reserved for padding)"
                : "",
            config->max_length);
    }
    NVDP_TRY(nvdp__train_calibrate(ctx, config));
    if (!nvdp_method_is_private(config->method)) return NVDP_OK;
    if (config->nvib.length == 0) config->nvib.length = config->max_length;
    if (config->nvib.length_policy == NVDP_LENGTH_HIDDEN &&
        config->nvib.length < config->max_length) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{length}: expected at least %zu, the value of {max-length}, found %zu",
                          config->max_length, config->nvib.length);
    }
    return nvdp__method_resolve(ctx, config->method, bert, &config->nvib);
}

/* Fails if the options need a feature that the encoder does not offer. */
static nvdp_status check_encoder(const struct nvdp__trainer *t,
                                 const struct nvdp__encoder_row *row) {
    const struct nvdp__train_options *config = &t->config;
    if (!row->word_vectors &&
        (t->given != NULL || nvdp__token_row(config->noise.mechanism)->gives_vectors))
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "%s: %s accepts only its own word vectors; leave out representations and "
                          "{token-noise} laplace",
                          config->model, row->title);
    if (!row->per_example && nvdp__dp_wanted(&config->dp))
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "%s: %s has no per-example gradients, so it cannot be trained privately; "
                          "leave out dp-batch and dp-sample-rate",
                          config->model, row->title);
    return NVDP_OK;
}

nvdp_status nvdp__trainer_build(struct nvdp__trainer *t, const struct nvdp_bert_config *bert,
                                bool with_grad) {
    const struct nvdp__encoder_row *row = nvdp__encoder_row(bert->model_type);
    const struct nvdp__token_row *noise = nvdp__token_row(t->config.noise.mechanism);
    NVDP_TRY(resolve(t->ctx, bert, &t->config));
    NVDP_TRY(check_encoder(t, row));
    if (t->all->task->pair && bert->type_vocab_size < 2 && row->token_types &&
        t->tokenizer != NULL && t->tokenizer->types)
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: pairs of texts need a model with 2 token types, found %zu",
                          t->config.model, bert->type_vocab_size);
    const struct nvdp_task *task = t->all->task;
    const struct nvdp__model_info info = {.bert = *bert,
                                          .method = t->config.method,
                                          .nvib = t->config.nvib,
                                          .task = *task,
                                          .columns = t->config.columns,
                                          .max_length = t->config.max_length,
                                          .outputs = task->regression ? 1 : (size_t)task->classes};
    enum nvdp_precision callers = nvdp__context_precision(t->ctx);
    nvdp_context_set_precision(t->ctx, t->config.precision);
    nvdp_status status = nvdp__model_build(t->ctx, &info, with_grad, &t->model);
    nvdp_context_set_precision(t->ctx, callers);
    NVDP_TRY(status);
    t->model->noise = t->noise;
    if (t->config.freeze_words || t->given != NULL || noise->gives_vectors)
        nvdp__model_freeze_words(t->model);
    if (noise->on_sequence) t->config.freeze_layers = bert->num_hidden_layers;
    return t->config.freeze_layers > 0 ? nvdp__model_freeze(t->model, t->config.freeze_layers)
                                       : NVDP_OK;
}

nvdp_status nvdp__trainer_count_steps(struct nvdp__trainer *t) {
    if (nvdp__dp_wanted(&t->config.dp)) {
        const struct nvdp_dp_guarantee before[NVDP__DP_BEFORE] = {[NVDP__DP_START] = t->start};
        NVDP_TRY(nvdp__dp_create(t->ctx, &t->config.dp, t->train->count, t->config.epochs, 0,
                                 t->config.batch, before, &t->job.dp));
    }
    t->model->per_example = t->job.dp != NULL;
    t->epoch_steps = t->job.dp != NULL ? nvdp__dp_epoch_steps(t->job.dp)
                                       : (t->train->count + t->config.batch - 1) / t->config.batch;
    t->job.steps = t->job.dp != NULL ? t->job.dp->steps : t->epoch_steps * t->config.epochs;
    return NVDP_OK;
}

/* Reads one number per class. */
static nvdp_status read_weights(struct nvdp__trainer *t, size_t classes) {
    const char *at = t->config.class_weights;
    bool any = false;
    for (size_t c = 0; c < classes; c++) {
        char *end;
        t->class_weight[c] = nvdp__strtod(at, &end);
        const bool last = c + 1 == classes;
        if (end == at || *end != (last ? '\0' : ',') || !(t->class_weight[c] >= 0) ||
            t->class_weight[c] > 1e6)
            return nvdp__fail(
                t->ctx, NVDP_ERR_ARGUMENT,
                "{class-weights}: expected none, balanced or %zu numbers from 0 to 1e6 "
                "separated by commas (for the classes %s to %s), found %s",
                classes, t->all->task->labels[0], t->all->task->labels[classes - 1],
                t->config.class_weights);
        at = end + 1;
        any = any || t->class_weight[c] > 0;
    }
    if (any) return NVDP_OK;
    return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                      "{class-weights}: expected at least one number above 0, found %s",
                      t->config.class_weights);
}

/* Gives each class the inverse of its number of training texts, or words. */
static void balance(struct nvdp__trainer *t, size_t classes) {
    const struct nvdp_dataset *train = t->train;
    double all = 0, *count = t->class_weight;
    for (size_t i = 0; train->tag == NULL && i < train->count; i++)
        count[(size_t)train->label[i]]++;
    for (size_t k = 0; train->tag != NULL && k < train->offset[train->count]; k++)
        if (train->tag[k] >= 0) count[train->tag[k]]++;
    for (size_t c = 0; c < classes; c++)
        all += count[c];
    for (size_t c = 0; c < classes; c++)
        count[c] = count[c] > 0 ? all / ((double)classes * count[c]) : 0;
}

/* Sets the class weights. In private training, clipping would undo a weight on a text's loss.
 * The clipped gradients are weighted instead, by at most 1, so that no text contributes more to
 * the sum than without weights. */
static nvdp_status weigh_classes(struct nvdp__trainer *t) {
    const char *how = t->config.class_weights;
    const struct nvdp_task *task = t->all->task;
    const size_t classes = (size_t)task->classes;
    const bool balanced = strcmp(how, "balanced") == 0, private = nvdp__dp_wanted(&t->config.dp);
    if (strcmp(how, "none") == 0) return NVDP_OK;
    if (task->regression)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "{class-weights}: expected none, because the labels are scores, found %s",
                          how);
    if (balanced && private)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "{class-weights}: expected none or numbers in private training, because "
                          "balanced counts the texts of each class, found balanced");
    NVDP_TRY(NVDP__NEW(t->ctx, t->class_weight, classes));
    if (balanced)
        balance(t, classes);
    else
        NVDP_TRY(read_weights(t, classes));
    if (!private || task->tags) {
        t->model->class_weight = t->class_weight;
        return NVDP_OK;
    }
    double largest = 0;
    for (size_t c = 0; c < classes; c++)
        largest = fmax(largest, t->class_weight[c]);
    for (size_t c = 0; c < classes; c++)
        t->class_weight[c] /= largest;
    return NVDP_OK;
}

/* Reads the configuration of the model, or of the encoder that replaces the model's encoder. */
static nvdp_status read_encoder(struct nvdp__trainer *t, struct nvdp_bert_config *bert) {
    const struct nvdp__train_options *options = &t->config;
    NVDP_TRY(nvdp__bert_config_read(t->ctx, options->model, bert));
    const struct nvdp__encoder_row *row = nvdp__encoder_row(bert->model_type);
    const struct nvdp__encoder_row *wanted = nvdp__encoder_choice(options->encoder);
    const struct nvdp__method *method = nvdp__method_row(options->method);
    const size_t window = options->nvib.clip.window, least = window > 0 ? 1 : 0;
    const struct nvdp__over_words how = {.units = options->lstm_hidden,
                                         .window = window,
                                         .layers = nvdp__max(options->word_layers, least)};
    if (method->encoder != NULL && wanted == NULL)
        wanted = nvdp__encoder_find(how.layers > 0 ? method->window_encoder : method->encoder);
    if (row->over_words != NULL) {
        const size_t units = row->units != NULL ? row->units(bert) : 0;
        const bool layers = how.layers == bert->num_hidden_layers || options->word_layers == 0;
        if (wanted == row && layers && (row->units == NULL || options->lstm_hidden == units))
            return NVDP_OK;
        if (row->units == NULL)
            return nvdp__fail(
                t->ctx, NVDP_ERR_INPUT,
                "%s: the model is %s: expected the method, {word-window} and "
                "{word-layers} that made it, found {method} %s, {word-window} %zu and "
                "{word-layers} %zu",
                options->model, row->title, nvdp_method_name(options->method), window,
                options->word_layers);
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: the model is %s with %zu units per direction: expected {encoder} "
                          "%s {lstm-hidden} %zu",
                          options->model, row->title, units, row->names.type, units);
    }
    if (row->bare_texts && method->encoder == NULL)
        return nvdp__fail(t->ctx, NVDP_ERR_INPUT,
                          "%s: the model is %s: expected {method} word, found %s; the model serves "
                          "nvdp encode and nvdp export --model, too",
                          options->model, row->title, nvdp_method_name(options->method));
    if (wanted == NULL) return NVDP_OK;
    if (how.layers > bert->num_hidden_layers)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "option {word-layers}: expected at most %zu, the number of layers of %s, "
                          "found %zu",
                          bert->num_hidden_layers, options->model, how.layers);
    *bert = wanted->over_words(bert, &how);
    return nvdp__bert_config_check(t->ctx, bert);
}

nvdp_status nvdp__trainer_open(struct nvdp__trainer *t) {
    struct nvdp_bert_config bert;
    if (t->config.folds > 0 && t->config.fold == 0)
        return nvdp__fail(t->ctx, NVDP_ERR_ARGUMENT,
                          "option {fold}: expected 1 to %zu, the value of {folds}, found 0",
                          t->config.folds);
    nvdp_status status =
        nvdp__method_tokenizer_load(t->ctx, t->config.method, t->config.model, &t->tokenizer);
    if (status == NVDP_OK && t->config.noise.mechanism != NVDP__NOISE_NONE)
        nvdp__tokenizer_read_names_as_text(t->tokenizer);
    NVDP_TRY(nvdp__rank_agree(t->ctx, status));
    NVDP__RANK_0_FIRST(t->ctx, status, load_data(t));
    NVDP_TRY(status);
    NVDP_TRY(read_encoder(t, &bert));
    NVDP_TRY(
        nvdp__bert_check_rows(t->ctx, t->config.model, &bert, nvdp_tokenizer_size(t->tokenizer)));
    NVDP_TRY(nvdp__trainer_build(t, &bert, true));
    NVDP_TRY(weigh_classes(t));
    NVDP_TRY(nvdp__trainer_take_lineage(t));
    return nvdp__trainer_count_steps(t);
}

/* Reads the optimizer's anchor. The anchor must be the same in every part of a resumed run; records.c compares the
 * digests. */
static nvdp_status read_anchor(struct nvdp__trainer *t) {
    struct nvdp__optimizer *optimizer = &t->job.optimizer;
    const struct nvdp__params *params = &t->model->params;
    const struct nvdp__dense *head = &t->model->classifier;
    bool takes_head;
    if (t->config.decay_to == NVDP__DECAY_TO_ZERO) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(t->ctx, optimizer->anchor, params->total));
    NVDP_TRY(
        nvdp__checkpoint_values(&t->model->dev, t->config.model, params, false, optimizer->anchor));
    NVDP_TRY(nvdp__trainer_takes_head(t, false, &takes_head));
    for (size_t i = head->weight; i <= head->bias && !takes_head; i++)
        memset(optimizer->anchor + params->entry[i].offset, 0,
               params->entry[i].count * sizeof *optimizer->anchor);
    struct nvdp__digest digest = nvdp__digest_begin();
    nvdp__digest_bytes(&digest, optimizer->anchor, params->total * sizeof *optimizer->anchor);
    nvdp__digest_end(&digest, t->anchor);
    return NVDP_OK;
}

/* Returns the learning rate of a part of the model. */
static double own_rate(const struct nvdp__trainer *t, double lr) {
    return lr < 0 ? t->config.adamw.lr : lr;
}

nvdp_status nvdp__trainer_allocate(struct nvdp__trainer *t, bool training) {
    enum { FIRST_SAMPLE = 32 }; /* texts of the bottleneck's initial sample */
    const size_t longest = nvdp__trainer_longest(t);
    const size_t batch = t->job.dp != NULL ? t->config.batch /* texts at a time */
                                           : nvdp__rank_max(t->ctx, t->config.batch);
    const size_t texts = nvdp__max(nvdp__max(batch, t->config.eval_batch), FIRST_SAMPLE);
    t->job = (struct nvdp__job){
        .ctx = t->ctx,
        .kind = &nvdp__train_kind,
        .run = t,
        .state = &t->state,
        .dev = &t->model->dev,
        .params = &t->model->params,
        .optimizer = {.adamw = t->config.adamw,
                      .kind = t->config.optimizer,
                      .momentum = t->config.momentum,
                      .rate = {{.tensor = t->model->above,
                                .lr = own_rate(t, t->config.lr_bottleneck)},
                               {.tensor = t->model->classifier.weight,
                                .lr = own_rate(t, t->config.lr_head)}},
                      .rates = NVDP__RATES},
        .dp = t->job.dp,
        .lock = t->job.lock,
        .batch = t->config.batch,
        /* Otherwise the losses are weighted. */
        .class_weight = t->model->class_weight == NULL ? t->class_weight : NULL,
        .sums = &t->losses.task,
        .seed = t->config.seed,
        .steps = t->job.steps,
        .schedule = t->job.steps,
        .checkpoint_seconds = t->config.checkpoint_seconds,
        .out = t->config.out,
    };
    if (training) {
        NVDP_TRY(nvdp__optimizer_create(t->ctx, &t->model->params, &t->job.optimizer));
        NVDP_TRY(read_anchor(t));
    }
    NVDP_TRY(nvdp__model_plan(t->model, texts, longest, training));
    if (t->job.dp != NULL && training)
        NVDP_TRY(nvdp__model_per_example(t->model, batch, &t->job.dp->grads));
    if (training)
        NVDP_TRY(nvdp__grad_sum_create(t->ctx, &t->model->params, t->config.batch * longest,
                                       &t->job.sum));
    NVDP_TRY(nvdp__batch_create(t->ctx, batch, longest, &t->batch));
    t->job.label = t->batch->label;
    return NVDP__NEW(t->ctx, t->job.order, t->train->count);
}

void nvdp__trainer_close(struct nvdp__trainer *t) {
    nvdp__prefix_free(t->prefix);
    nvdp__prefix_free(t->test_prefix);
    nvdp__job_close(&t->job);
    nvdp__batch_free(t->batch);
    nvdp_model_free(t->model);
    free(t->class_weight);
    nvdp__token_noise_free(t->noise);
    nvdp__token_file_close(t->given);
    if (t->train != t->all) nvdp_dataset_free(t->train);
    if (t->validation != t->test) nvdp_dataset_free(t->validation);
    nvdp_dataset_free(t->all);
    nvdp_dataset_free(t->test);
    nvdp_tokenizer_free(t->tokenizer);
    json_decref(t->config_owner);
    nvdp__lineage_release(&t->lineage);
    free(t->base_model);
    free(t->base_run);
}

/* --- frozen layers --- */

static nvdp_status open_prefix(struct nvdp__trainer *t, const struct nvdp_dataset *dataset,
                               struct nvdp__prefix **out) {
    NVDP_TRY(nvdp__prefix_create(t->model, out));
    if (t->config.cache == NULL || t->config.no_prefix_cache) return NVDP_OK;
    nvdp_status status = NVDP_OK;
    NVDP__RANK_0_FIRST(t->ctx, status,
                       nvdp__prefix_keep(*out, t->config.cache, dataset, t->config.eval_batch));
    if (status != NVDP_ERR_CANCELLED) return status;
    return nvdp__fail(t->ctx, status, "%s; continue with: nvdp train --resume %s",
                      nvdp_context_error(t->ctx), t->config.out);
}

nvdp_status nvdp__trainer_open_prefix(struct nvdp__trainer *t) {
    if (t->config.freeze_layers == 0) return NVDP_OK;
    NVDP_TRY(open_prefix(t, t->all, &t->prefix));
    /* Validation texts come from the train file, except with the dev protocol, where they are
     * another file. */
    if (t->validation != NULL && t->validation == t->test) NVDP_TRY(nvdp__trainer_test_prefix(t));
    t->model->prefix = t->prefix;
    return NVDP_OK;
}

nvdp_status nvdp__trainer_test_prefix(struct nvdp__trainer *t) {
    if (t->config.freeze_layers == 0) return NVDP_OK;
    if (t->test_prefix == NULL) NVDP_TRY(open_prefix(t, t->test, &t->test_prefix));
    t->model->prefix = t->test_prefix;
    return NVDP_OK;
}

/* --- before a run --- */

static nvdp_status check_readable(struct nvdp_context *ctx, const char *path) {
    return access(path, R_OK) == 0 ? NVDP_OK : nvdp__cannot_read(ctx, path, errno);
}

static nvdp_status check_weights(struct nvdp_context *ctx, const char *directory) {
    nvdp__autofree char *path = NULL;
    NVDP_TRY(nvdp__weights_find(ctx, directory, &path));
    return check_readable(ctx, path);
}

static nvdp_status check_split(struct nvdp__trainer *t, const struct nvdp__layout *layout,
                               enum nvdp_split split) {
    nvdp__autofree char *path = NULL;
    if (layout->task.tags) return nvdp__conll_file(t->ctx, t->config.data, split, &path);
    NVDP_TRY(nvdp__task_path(t->ctx, layout, t->config.data, split, &path));
    return check_readable(t->ctx, path);
}

nvdp_status nvdp_train_check(struct nvdp_context *ctx, const struct nvdp_config *config) {
    nvdp__auto(nvdp__trainer_close) struct nvdp__trainer t = {.ctx = ctx};
    struct nvdp__train_options *options = &t.config;
    struct nvdp_bert_config bert;
    enum nvdp_task_id id;
    const char *files[NVDP__TOKENIZER_FILES + 1] = {0}, *class;
    NVDP_TRY(nvdp__config_values(ctx, config, &nvdp__train_schema, options));
    if (options->objective == NVDP__TRAIN_DISTILL)
        return nvdp__exists(options->input)
                   ? check_weights(ctx, options->model)
                   : nvdp__fail(ctx, NVDP_ERR_IO, "option {input}: %s: no such file",
                                options->input);
    NVDP_TRY(nvdp_task_find(ctx, options->task, &id));
    if (options->representations == NULL) {
        NVDP_TRY(check_split(&t, nvdp__task_layout(id), NVDP_SPLIT_TRAIN));
        if (options->folds == 0) NVDP_TRY(check_split(&t, nvdp__task_layout(id), NVDP_SPLIT_DEV));
    }
    NVDP_TRY(nvdp__trainer_take_base(&t));
    NVDP_TRY(read_encoder(&t, &bert));
    NVDP_TRY(check_weights(ctx, options->model));
    NVDP_TRY(nvdp__tokenizer_files(ctx, options->model, files, &class));
    for (size_t i = 0; files[i] != NULL; i++) {
        struct nvdp__path path;
        NVDP_TRY(nvdp__model_path(ctx, options->model, files[i], &path));
        NVDP_TRY(check_readable(ctx, path.text));
    }
    if (options->freeze_layers > bert.num_hidden_layers)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "key 'freeze_layers': expected at most %zu, the number of layers of the "
                          "model, found %zu",
                          bert.num_hidden_layers, options->freeze_layers);
    return resolve(ctx, &bert, options);
}
