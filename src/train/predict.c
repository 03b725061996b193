/* Writes the predictions of a run: for a split, the file of the leaderboard (first part); for
 * new texts, one JSON object per text (second part). */
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "model/model.h"
#include "text/dataset.h"
#include "text/task.h"
#include "train/linear.h"
#include "train/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- predictions: leaderboard files, "index<TAB>prediction" --- */

/* Writes a field with escaped control characters, then `after`. */
static nvdp_status put_field(struct nvdp__output *to, size_t size, const char *text,
                             const char *after) {
    nvdp__autofree char *copy = nvdp__format(to->ctx, "%.*s", (int)size, text);
    NVDP_TRY(NVDP__MADE(copy));
    nvdp__autofree char *field = nvdp__escaped(to->ctx, nvdp__put_tsv, copy);
    NVDP_TRY(NVDP__MADE(field));
    return nvdp__output_printf(to, "%s%s", field, after);
}

static nvdp_status write_rows(struct nvdp_context *ctx, const char *path,
                              const struct nvdp__model_info *info,
                              const struct nvdp_dataset *dataset, const float *outputs) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output file = {0};
    NVDP_TRY(nvdp__output_open(ctx, path, &file));
    NVDP_TRY(nvdp__output_printf(&file, "index\tprediction\n"));
    for (size_t i = 0; i < dataset->count; i++) {
        const float *row = outputs + i * info->outputs;
        if (dataset->id != NULL && dataset->id[i] != NULL)
            NVDP_TRY(put_field(&file, strlen(dataset->id[i]), dataset->id[i], "\t"));
        else
            NVDP_TRY(nvdp__output_printf(&file, "%lld\t", (long long)dataset->index[i]));
        if (info->task.regression) {
            double value = fmin(fmax(row[0], info->task.label_min), info->task.label_max);
            NVDP_TRY(nvdp__output_printf(&file, "%.3f\n", value));
        } else {
            const char *label = info->task.labels[nvdp__argmax(info->outputs, row)];
            NVDP_TRY(put_field(&file, strlen(label), label, "\n"));
        }
    }
    return nvdp__output_commit(&file, true);
}

/* Writes the words of a task with tags: each word, its tag in BIO if the file has tags, and
 * the predicted tag. An empty line separates sentences. */
static nvdp_status write_tags(struct nvdp_context *ctx, const char *path,
                              const struct nvdp__run *run, const char *data, const float *outputs) {
    const struct nvdp_dataset *dataset = run->dataset;
    const struct nvdp__model_info *info = &run->model->info;
    const bool *continues = nvdp__dataset_storage(dataset)->continues;
    nvdp__autofree char *source = NULL;
    nvdp__auto(nvdp__conll_release) struct nvdp__conll conll = {0};
    nvdp__auto(nvdp__output_abort) struct nvdp__output file = {0};
    NVDP_TRY(
        nvdp__conll_file(ctx, data != NULL ? data : run->config.data, dataset->split, &source));
    NVDP_TRY(nvdp__conll_open(ctx, source, &conll));
    NVDP_TRY(nvdp__output_open(ctx, path, &file));
    for (size_t i = 0; i < dataset->count; i++) {
        const struct nvdp__conll_word *word = &conll.word[dataset->index[i]];
        if (i > 0 && !continues[i]) NVDP_TRY(nvdp__output_printf(&file, "\n"));
        for (size_t k = dataset->offset[i]; k < dataset->offset[i + 1]; k++) {
            if (dataset->tag[k] == NVDP_TAG_NONE) continue;
            const char *label = info->task.labels[nvdp__argmax(info->outputs, outputs)];
            NVDP_TRY(put_field(&file, word->text.size, word->text.text, "\t"));
            if (conll.tagged) {
                NVDP_TRY(
                    nvdp__output_printf(&file, "%c%s", word->kind, word->kind == 'O' ? "" : "-"));
                NVDP_TRY(put_field(&file, word->type.size, word->type.text, "\t"));
            }
            NVDP_TRY(put_field(&file, strlen(label), label, "\n"));
            outputs += info->outputs;
            word++;
        }
    }
    return nvdp__output_commit(&file, true);
}

nvdp_status nvdp_predict(struct nvdp_context *ctx, const struct nvdp_config *given,
                         char **written) {
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    nvdp__autofree float *outputs = NULL;
    nvdp__autofree char *path = NULL;
    struct nvdp__run_options options, *config = &options;
    NVDP_TRY(nvdp__config_open(ctx, given, &nvdp__predict_schema, &options));
    if (config->input != NULL)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "option {input}: expected predictions of a split of the task, found new texts in %s",
            config->input);
    if (nvdp__linear_is(config->run))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a run, which has splits, found a reader of a summary; name "
                          "the texts with {input}",
                          config->run);
    NVDP_TRY(nvdp__check_parent_folder(ctx, config->out));
    NVDP_TRY(nvdp__run_open(ctx, config, &run));
    path = config->out != NULL
               ? nvdp__strdup(ctx, config->out)
               : nvdp__format(ctx, "%s/predictions_%s.tsv", config->run, config->split);
    NVDP_TRY(NVDP__MADE(path));
    NVDP_TRY(NVDP__NEW(ctx, outputs, nvdp__dataset_outputs(run.dataset) * run.model->info.outputs));
    NVDP_TRY(
        nvdp__model_predict(run.model, run.dataset, config->batch, config->seed, 0, 1, outputs));
    NVDP_TRY(run.model->info.task.tags
                 ? write_tags(ctx, path, &run, config->data, outputs)
                 : write_rows(ctx, path, &run.model->info, run.dataset, outputs));
    if (written != NULL) NVDP__HAND_OVER(written, path);
    return NVDP_OK;
}

/* --- new texts --- */

/* Texts read from lines; in a task with pairs a tab separates the two texts of a line. */
struct texts {
    size_t count, text_capacity, pair_capacity;
    char **text, **pair;
};

static void release_texts(struct texts *texts) {
    for (size_t i = 0; i < texts->count; i++)
        free(texts->text[i]);
    free(texts->text);
    free(texts->pair);
}

static nvdp_status add_line(struct nvdp_context *ctx, const struct nvdp__lines *lines,
                            const struct nvdp__field *line, bool pair, struct texts *texts) {
    const char *tab = memchr(line->text, '\t', line->size);
    const char *end = line->text + line->size;
    const char *second = tab != NULL ? memchr(tab + 1, '\t', (size_t)(end - tab - 1)) : NULL;
    if (memchr(line->text, '\0', line->size) != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected a text, found a NUL byte",
                          lines->path, lines->line);
    if (pair ? tab == NULL || second != NULL : tab != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s:%zu: expected %s, found %s; the name of a table ends in .tsv, .csv, "
                          ".jsonl or .json",
                          lines->path, lines->line,
                          pair ? "two texts separated by a tab" : "one text without a tab",
                          tab == NULL      ? "no tab"
                          : second != NULL ? "several"
                                           : "one");
    NVDP_TRY(nvdp__reserve(ctx, &texts->text, &texts->text_capacity, texts->count + 1,
                           sizeof *texts->text));
    NVDP_TRY(nvdp__reserve(ctx, &texts->pair, &texts->pair_capacity, texts->count + 1,
                           sizeof *texts->pair));
    char *text = nvdp__format(ctx, "%.*s", (int)line->size, line->text);
    if (text == NULL) return NVDP_ERR_MEMORY;
    if (pair) text[tab - line->text] = '\0';
    texts->text[texts->count] = text;
    texts->pair[texts->count++] = pair ? text + (tab - line->text) + 1 : NULL;
    return NVDP_OK;
}

static nvdp_status read_lines(struct nvdp_context *ctx, const struct nvdp_tokenizer *tokenizer,
                              size_t max_length, bool pair, const char *path,
                              struct nvdp_dataset **out) {
    nvdp__auto(nvdp__lines_close) struct nvdp__lines lines = {0};
    nvdp__auto(release_texts) struct texts texts = {0};
    struct nvdp__field line;
    bool found = false;
    if (nvdp__conll_recognize(ctx, path))
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: expected one text per line, found words with tags; " NVDP__CONLL_HINT, path);
    NVDP_TRY(nvdp__lines_open(ctx, path, &lines));
    for (;;) {
        NVDP_TRY(nvdp__lines_next(&lines, &line, &found));
        if (!found) break;
        NVDP_TRY(add_line(ctx, &lines, &line, pair, &texts));
    }
    if (texts.count == 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected one text per line, found none", path);
    NVDP_TRY(nvdp_dataset_from_texts(ctx, tokenizer, max_length, texts.count,
                                     (const char *const *)texts.text,
                                     pair ? (const char *const *)texts.pair : NULL, out));
    nvdp__log_truncated(ctx, path, *out);
    return NVDP_OK;
}

/* Adds the softmax of one draw's outputs to the classes' probabilities. */
static void add_softmax(size_t classes, const float *outputs, double *probability) {
    const double max_output = outputs[nvdp__argmax(classes, outputs)];
    double sum = 0;
    for (size_t c = 0; c < classes; c++)
        sum += exp(outputs[c] - max_output);
    for (size_t c = 0; c < classes; c++)
        probability[c] += exp(outputs[c] - max_output) / sum;
}

/* A run's model or a reader of a summary: the task, and the number of outputs per text. */
struct predictor {
    const struct nvdp_task *task;
    size_t outputs;
};

/* Returns the prediction for text i from outputs [draws, count, classes]; NULL if out of memory. */
static json_t *prediction(const struct predictor *of, const struct nvdp_dataset *dataset,
                          const struct nvdp__run_options *options, size_t i, const float *outputs,
                          double *probability) {
    const struct nvdp_task *task = of->task;
    const size_t classes = of->outputs, count = dataset->count;
    const size_t draws = options->draws;
    const char *id = dataset->id != NULL ? dataset->id[i] : NULL;
    json_t *object = id != NULL ? json_pack("{s:s}", "id", id)
                                : json_pack("{s:I}", "index", (json_int_t)dataset->index[i]);
    int failed = object == NULL;
    memset(probability, 0, classes * sizeof *probability);
    for (size_t d = 0; d < draws; d++) {
        const float *row = outputs + (d * count + i) * classes;
        if (task->regression)
            probability[0] += fmin(fmax(row[0], task->label_min), task->label_max);
        else
            add_softmax(classes, row, probability);
    }
    size_t best = 0;
    for (size_t c = 0; c < classes; c++) {
        probability[c] /= (double)draws;
        if (probability[c] > probability[best]) best = c;
    }
    json_t *answer = task->regression ? json_pack("{s:f}", "score", probability[0])
                                      : json_pack("{s:s, s:f}", "label", task->labels[best],
                                                  "probability", probability[best]);
    failed |= json_object_update_new(object, answer);
    if (options->probabilities && !task->regression) {
        json_t *all = json_object();
        for (size_t c = 0; c < classes; c++)
            failed |= json_object_set_new(all, task->labels[c], json_real(probability[c]));
        failed |= json_object_set_new(object, "probabilities", all);
    }
    if (failed == 0) return object;
    json_decref(object);
    return NULL;
}

static nvdp_status write_predictions(struct nvdp_context *ctx, const struct predictor *of,
                                     const struct nvdp_dataset *dataset,
                                     const struct nvdp__run_options *options, const float *outputs,
                                     const char *path, FILE *to) {
    nvdp__autofree double *probability = NULL;
    NVDP_TRY(NVDP__NEW(ctx, probability, of->outputs));
    for (size_t i = 0; i < dataset->count; i++) {
        nvdp__autoptr(json_decref) json_t *object =
            prediction(of, dataset, options, i, outputs, probability);
        errno = 0;
        if (object == NULL) return nvdp__fail(ctx, NVDP_ERR_MEMORY, "out of memory");
        if (json_dumpf(object, to, JSON_REAL_PRECISION(9)) != 0 || fputc('\n', to) == EOF)
            return nvdp__fail_errno(ctx, errno, "%s: cannot write", path);
    }
    return fflush(to) == 0 ? NVDP_OK : nvdp__fail_errno(ctx, errno, "%s: cannot write", path);
}

/* Writes the predictions to options->out if it is set, otherwise to the sink. */
static nvdp_status deliver(struct nvdp_context *ctx, const struct predictor *of,
                           const struct nvdp_dataset *dataset,
                           const struct nvdp__run_options *options, const float *outputs,
                           const struct nvdp__writing *sink) {
    nvdp__auto(nvdp__output_abort) struct nvdp__output file = {0};
    nvdp__autoptr(fclose) FILE *to = NULL;
    if (options->out != NULL) {
        NVDP_TRY(nvdp__output_open(ctx, options->out, &file));
        NVDP_TRY(write_predictions(ctx, of, dataset, options, outputs, options->out, file.file));
        return nvdp__output_commit(&file, true);
    }
    to = nvdp__writing_open(ctx, sink);
    if (to == NULL) return NVDP_ERR_MEMORY;
    return write_predictions(ctx, of, dataset, options, outputs, "standard output", to);
}

/* Predicts the texts and writes the predictions. */
static nvdp_status predict_texts(struct nvdp_context *ctx, struct nvdp_model *model,
                                 const struct nvdp_dataset *dataset,
                                 struct nvdp__run_options *options,
                                 const struct nvdp__writing *sink) {
    const struct predictor of = {&model->info.task, model->info.outputs};
    nvdp__autofree float *outputs = NULL;
    size_t values = 0;
    if (!nvdp_method_is_private(model->info.method)) options->draws = 1;
    if (!nvdp__mul(dataset->count * of.outputs, options->draws, &values))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "samples: %zu of %zu texts are too many",
                          options->draws, dataset->count);
    NVDP_TRY(NVDP__NEW(ctx, outputs, values));
    NVDP_TRY(nvdp__model_predict(model, dataset, options->batch, options->seed, 0, options->draws,
                                 outputs));
    return deliver(ctx, &of, dataset, options, outputs, sink);
}

/* Predicts texts with a linear reader, which has no noise, so that one draw is enough. */
static nvdp_status predict_linear(struct nvdp_context *ctx, struct nvdp__run_options *options,
                                  const struct nvdp__writing *sink, size_t *texts) {
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *encoder = NULL;
    nvdp__auto(nvdp__linear_input_release) struct nvdp__linear_input input = {0};
    nvdp__autofree float *outputs = NULL;
    NVDP_TRY(nvdp__linear_load(ctx, options->run, &reader));
    NVDP_TRY(nvdp__query_encoder(ctx, &reader.query, options->model, &encoder));
    if (reader.pairs && !nvdp__is_table(options->input))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {input}: expected a table, whose columns have the two texts of a "
                          "pair, found %s",
                          options->input);
    NVDP_TRY(nvdp__is_table(options->input)
                 ? nvdp__linear_texts(&reader, encoder, options->input, options->text_column,
                                      options->pair_column, NULL, &input)
                 : read_lines(ctx, nvdp_encoder_tokenizer(encoder), reader.query.max_length, false,
                              options->input, &input.first));
    const struct nvdp_dataset *dataset = input.first;
    const struct predictor of = {&reader.task, nvdp__linear_width(&reader)};
    NVDP_TRY(NVDP__NEW(ctx, outputs, dataset->count * of.outputs));
    NVDP_TRY(nvdp__linear_outputs(&reader, encoder, &input, outputs));
    options->draws = 1;
    NVDP_TRY(deliver(ctx, &of, dataset, options, outputs, sink));
    if (texts != NULL) *texts = dataset->count;
    return NVDP_OK;
}

nvdp_status nvdp_predict_vectors(struct nvdp_context *ctx, const struct nvdp_config *config,
                                 size_t n, size_t width, const float *x, nvdp_write_fn write,
                                 void *user) {
    struct nvdp__run_options options;
    const struct nvdp__writing sink = {write, user};
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {0};
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *rows = NULL;
    nvdp__autofree float *copy = NULL, *outputs = NULL;
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__predict_schema, &options));
    if (options.out == NULL && write == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{out}: expected a file, found none");
    if (nvdp__linear_is(options.run)) NVDP_TRY(nvdp__linear_load(ctx, options.run, &reader));
    if (reader.weight == NULL || reader.pairs || width != reader.query.width)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "%s: expected a reader of a summary of single texts and vectors of %zu "
                          "numbers, found %s and %zu numbers",
                          options.run, reader.query.width,
                          reader.weight == NULL ? "another folder"
                          : reader.pairs        ? "a reader of pairs"
                                                : "such a reader",
                          width);
    const struct predictor of = {&reader.task, nvdp__linear_width(&reader)};
    NVDP_TRY(nvdp__dataset_create(ctx, n, false, &rows));
    NVDP_TRY(NVDP__NEW(ctx, copy, n * width));
    NVDP_TRY(NVDP__NEW(ctx, outputs, n * of.outputs));
    memcpy(copy, x, n * width * sizeof *x);
    for (size_t i = 0; i < n; i++)
        rows->index[i] = (int64_t)i;
    NVDP_TRY(nvdp__linear_vectors(&reader, n, copy, outputs));
    options.draws = 1;
    return deliver(ctx, &of, rows, &options, outputs, &sink);
}

nvdp_status nvdp_predict_texts(struct nvdp_context *ctx, const struct nvdp_config *config,
                               nvdp_write_fn write, void *user, size_t *texts) {
    nvdp__auto(nvdp__run_close) struct nvdp__run run = {0};
    struct nvdp__run_options options;
    const struct nvdp__writing sink = {write, user};
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__predict_schema, &options));
    if (options.input == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "option {input}: expected a file, found none");
    if (options.out == NULL && write == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{out}: expected a file, found none");
    NVDP_TRY(nvdp__refuse_same(ctx, "out", options.out, options.input));
    NVDP_TRY(nvdp__check_parent_folder(ctx, options.out));
    if (nvdp__linear_is(options.run)) return predict_linear(ctx, &options, &sink, texts);
    if (options.model != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {model}: %s: expected a reader of a summary, which needs an "
                          "encoder, found another folder",
                          options.run);
    const struct nvdp__run_options bare = {.run = options.run};
    NVDP_TRY(nvdp__run_open(ctx, &bare, &run));
    if (run.model->info.task.tags || run.config.representations != NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          run.config.representations != NULL
                              ? "option {input}: expected a run that reads texts, found a run that "
                                "reads token representations"
                              : "option {input}: expected a run that reads texts, found a run that "
                                "reads words in columns ({data})");
    const struct nvdp_dataset_config data = nvdp__run_dataset_config(&run, NULL);
    NVDP_TRY(nvdp__is_table(options.input)
                 ? nvdp__dataset_load_rows(ctx, nvdp_model_tokenizer(run.model), &data,
                                           NVDP__LABELS_IGNORED, options.input, NULL, &run.dataset)
                 : read_lines(ctx, nvdp_model_tokenizer(run.model), run.model->info.max_length,
                              run.model->info.task.pair, options.input, &run.dataset));
    run.dataset->split = NVDP_SPLIT_TEST; /* so that the noise differs from the noise of training */
    NVDP_TRY(nvdp__run_privatize(ctx, &run));
    NVDP_TRY(predict_texts(ctx, run.model, run.dataset, &options, &sink));
    if (texts != NULL) *texts = run.dataset->count;
    return NVDP_OK;
}

nvdp_status nvdp_predict_dataset(struct nvdp_context *ctx, struct nvdp_model *model,
                                 const struct nvdp_dataset *dataset,
                                 const struct nvdp_config *config, nvdp_write_fn write,
                                 void *user) {
    struct nvdp__run_options options;
    const struct nvdp__writing sink = {write, user};
    NVDP_TRY(nvdp__config_open(ctx, config, &nvdp__predict_schema, &options));
    if (options.out == NULL && write == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "{out}: expected a file, found none");
    if (model->info.task.tags)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "predictions: expected a model that reads texts, found one that tags words");
    if (model->info.task.pair != dataset->task->pair)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "pairs: expected %s, found %s",
                          model->info.task.pair
                              ? "a second text for each text"
                              : "none, as the run reads single texts (in a file: no tab)",
                          dataset->task->pair ? "second texts" : "none");
    return predict_texts(ctx, model, dataset, &options, &sink);
}
