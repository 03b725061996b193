/* Implements the reader, a small model that sees only samples, for nvdp reuse and for the public part of an export.
 * The order: creation, memory, batches, passes, directory, labels. */
#include "share/reader.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "encoder/checkpoint.h"
#include "mechanism/bottleneck_options.h"
#include "model/model.h"
#include "text/task.h"
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "reader/1"

enum {
    MAX_DIM = 1 << 16,
    MAX_OUTPUTS = 1 << 16,
    MAX_KAPPA = 1000,
    MAX_CLASSES = 1 << 12,
    QUOTED = 48 /* max. characters of a label in a message */
};
static const size_t LABEL_FILE_LIMIT = (size_t)1 << 30;
static const double INITIAL_SD = 0.02;

/* --- creation --- */

static nvdp_status check_shape(struct nvdp_context *ctx, const struct nvdp__reader_shape *shape) {
    const struct {
        const char *name;
        size_t value, max;
    } sizes[] = {{"dim", shape->dim, MAX_DIM},
                 {"heads", shape->heads, shape->dim},
                 {"inner", shape->inner, MAX_DIM},
                 {"outputs", shape->outputs, MAX_OUTPUTS},
                 {"kappa", (size_t)shape->kappa, MAX_KAPPA}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].value >= 1 && sizes[i].value <= sizes[i].max) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a number from 1 to %zu, found %zu",
                          sizes[i].name, sizes[i].max, sizes[i].value);
    }
    if (shape->dim % shape->heads != 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "heads: expected a divisor of the vectors' width %zu, found %zu",
                          shape->dim, shape->heads);
    return NVDP_OK;
}

nvdp_status nvdp__reader_create(struct nvdp_context *ctx, const struct nvdp__reader_shape *shape,
                                bool with_grad, struct nvdp__reader **out) {
    nvdp__autoptr(nvdp__reader_free) struct nvdp__reader *reader = NULL;
    NVDP_TRY(check_shape(ctx, shape));
    NVDP_TRY(NVDP__NEW(ctx, reader, 1));
    *reader = (struct nvdp__reader){.ctx = ctx,
                                    .dev = nvdp__device_cpu(ctx),
                                    .shape = *shape,
                                    .block = {.dim = shape->dim,
                                              .heads = shape->heads,
                                              .inner = shape->inner,
                                              .act = shape->act,
                                              .eps = (float)shape->eps,
                                              .pool = shape->pool,
                                              .kappa = shape->kappa,
                                              .weights = shape->weights,
                                              .residual = shape->residual}};
    nvdp__params_init(&reader->params, ctx);
    NVDP_TRY(nvdp__block_declare(&reader->block, &reader->params));
    NVDP_TRY(nvdp__declare_dense(&reader->params, "classifier", shape->outputs, shape->dim, 0,
                                 &reader->classifier));
    NVDP_TRY(nvdp__params_allocate(&reader->params, with_grad));
    return NVDP__HAND_OVER(out, reader);
}

static void release_plan(struct nvdp__reader *reader) {
    nvdp__arena_release(&reader->arena);
    free(reader->offset);
    free(reader->host);
    reader->offset = NULL;
    reader->host = NULL;
    reader->max_texts = 0;
    reader->max_rows = 0;
}

void nvdp__reader_free(struct nvdp__reader *reader) {
    if (reader == NULL) return;
    release_plan(reader);
    nvdp__block_release(&reader->block);
    nvdp__params_release(&reader->params);
    free(reader);
}

void nvdp__reader_initialise(struct nvdp__reader *reader, uint64_t seed) {
    nvdp__block_initialize(&reader->block, &reader->dev, &reader->params, INITIAL_SD, seed);
    nvdp__params_normal(&reader->dev, &reader->params, reader->classifier.weight, INITIAL_SD, seed);
    nvdp__params_fill(&reader->dev, &reader->params, reader->classifier.bias, 0);
}

size_t nvdp__reader_adopt(struct nvdp__reader *reader, const struct nvdp__params *from) {
    size_t adopted = 0;
    for (size_t i = 0; i < reader->params.count; i++) {
        const struct nvdp__param *to = &reader->params.entry[i];
        size_t k = nvdp__params_find(from, to->name);
        if (k == SIZE_MAX || from->entry[k].rank != to->rank ||
            memcmp(from->entry[k].shape, to->shape, (size_t)to->rank * sizeof to->shape[0]) != 0)
            continue;
        nvdp__copy(&reader->dev, to->count, nvdp__value(from, k), nvdp__value(&reader->params, i));
        adopted++;
    }
    return adopted;
}

/* --- memory --- */

static nvdp_status carve(struct nvdp__reader *reader, size_t longest) {
    struct nvdp__arena *arena = &reader->arena;
    size_t rows = reader->max_rows, texts = reader->max_texts, dim = reader->shape.dim;
    NVDP_TRY(nvdp__block_plan(&reader->block, &reader->dev, rows, texts, longest, reader->training,
                              arena));
    reader->z = nvdp__arena_take(arena, rows * dim);
    reader->log_pi = nvdp__arena_take(arena, rows);
    reader->logits = nvdp__arena_take(arena, texts * reader->shape.outputs);
    if (reader->training) {
        reader->d_logits = nvdp__arena_take(arena, texts * reader->shape.outputs);
        reader->d_pooled = nvdp__arena_take(arena, texts * dim);
    }
    return NVDP_OK;
}

nvdp_status nvdp__reader_plan(struct nvdp__reader *reader, size_t texts, size_t longest,
                              bool training) {
    size_t rows;
    if (!nvdp__mul(texts, longest, &rows) || rows > INT32_MAX)
        return nvdp__fail(
            reader->ctx, NVDP_ERR_ARGUMENT,
            "batch: %zu texts of %zu rows do not fit into one batch; use a smaller one", texts,
            longest);
    release_plan(reader);
    reader->max_rows = rows;
    reader->max_texts = texts;
    reader->training = training;
    NVDP_TRY(carve(reader, longest));
    NVDP_TRY(nvdp__arena_allocate(reader->ctx, &reader->arena));
    NVDP_TRY(carve(reader, longest));
    NVDP_TRY(nvdp__arena_check(reader->ctx, &reader->arena));
    reader->offset = nvdp__calloc(reader->ctx, texts + 1, sizeof *reader->offset);
    reader->host = nvdp__calloc(reader->ctx, rows * reader->shape.dim, sizeof *reader->host);
    return NVDP__MADE(reader->offset, reader->host);
}

/* --- batches --- */

void nvdp__reader_fill(struct nvdp__reader *reader, const struct nvdp_shared *from, size_t n,
                       const size_t *samples) {
    size_t dim = reader->shape.dim;
    int32_t *offset = reader->offset;
    offset[0] = 0;
    for (size_t i = 0; i < n; i++) {
        offset[i + 1] =
            offset[i] + (int32_t)(from->offset[samples[i] + 1] - from->offset[samples[i]]);
    }
    reader->texts = n;
    reader->rows = (size_t)offset[n];
#pragma omp parallel for num_threads(reader->dev.threads) if (reader->rows * dim > 1 << 14)
    for (size_t i = 0; i < n; i++) {
        nvdp__embeddings_values(from, (size_t)from->offset[samples[i]] * dim,
                                (size_t)(offset[i + 1] - offset[i]) * dim,
                                reader->host + (size_t)offset[i] * dim);
    }
    nvdp__upload(&reader->dev, reader->rows * dim, reader->host, reader->z);
    for (size_t i = 0; i < n; i++) {
        int32_t rows = offset[i + 1] - offset[i];
        float *to = reader->host + offset[i];
        for (int32_t k = 0; k < rows && reader->shape.weights; k++)
            to[k] = from->log_pi[from->offset[samples[i]] + k];
    }
    if (reader->shape.weights)
        nvdp__upload(&reader->dev, reader->rows, reader->host, reader->log_pi);
}

/* --- passes --- */

static struct nvdp__sample batch_sample(const struct nvdp__reader *reader) {
    return (struct nvdp__sample){.texts = reader->texts,
                                 .rows = reader->rows,
                                 .dim = reader->shape.dim,
                                 .offset = reader->offset,
                                 .z = reader->z,
                                 .log_pi = reader->shape.weights ? reader->log_pi : NULL};
}

nvdp_status nvdp__reader_forward(struct nvdp__reader *reader) {
    const struct nvdp__reader_shape *shape = &reader->shape;
    struct nvdp__sample sample = batch_sample(reader);
    NVDP_TRY(nvdp__block_forward(&reader->block, &reader->dev, &reader->params, &sample, NULL,
                                 &reader->pooled));
    struct nvdp__linear dense =
        nvdp__dense_linear(&reader->params, &reader->classifier, reader->texts);
    dense.f32 = true;
    nvdp__dense_forward(&reader->dev, &dense, nvdp__f32(reader->texts, shape->dim, reader->pooled),
                        nvdp__f32(reader->texts, shape->outputs, reader->logits));
    return NVDP_OK;
}

void nvdp__reader_backward(struct nvdp__reader *reader, const float *label, double *loss) {
    const struct nvdp__reader_shape *shape = &reader->shape;
    struct nvdp__sample sample = batch_sample(reader);
    *loss = shape->regression ? nvdp__mean_squared(&reader->dev, reader->texts, reader->logits,
                                                   label, 1, reader->d_logits)
                              : nvdp__cross_entropy(&reader->dev, reader->texts, shape->outputs,
                                                    reader->logits, label, 1, reader->d_logits);
    struct nvdp__linear dense =
        nvdp__dense_linear(&reader->params, &reader->classifier, reader->texts);
    dense.f32 = true;
    nvdp__dense_backward(&reader->dev, &dense, nvdp__f32(reader->texts, shape->dim, reader->pooled),
                         nvdp__f32(reader->texts, shape->outputs, reader->d_logits),
                         nvdp__f32(reader->texts, shape->dim, reader->d_pooled), false);
    nvdp__block_backward(&reader->block, &reader->dev, &reader->params, &sample, reader->d_pooled,
                         NULL, NULL);
}

/* --- its directory: config.json and model.safetensors --- */

nvdp_status nvdp__reader_save(const struct nvdp__reader *reader,
                              const struct nvdp__reader_info *info, const char *directory) {
    const struct nvdp__reader_shape *shape = &reader->shape;
    nvdp__autoptr(json_decref) json_t *config = NULL;
    const struct nvdp__path path = nvdp__path(directory, "config.json");
    NVDP_TRY(nvdp__make_directory(reader->ctx, directory));
    config = json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:s,s:f,s:s,s:b,s:b,s:b,s:s?,s:o,s:s?,s:s?}",
                       "nvdp_format", FORMAT, "nvdp_version", nvdp_version(), "dim",
                       (json_int_t)shape->dim, "heads", (json_int_t)shape->heads, "inner",
                       (json_int_t)shape->inner, "outputs", (json_int_t)shape->outputs, "kappa",
                       (json_int_t)shape->kappa, "hidden_act", nvdp__activation_name(shape->act),
                       "layer_norm_eps", shape->eps, "pool", nvdp__pool_names[shape->pool],
                       "weights", shape->weights, "residual", shape->residual, "regression",
                       shape->regression, "task", info->task, "labels",
                       nvdp__label_names(shape->regression ? NULL : info->labels, shape->outputs),
                       "model_id", info->model_id, "statement", info->statement);
    if (config == NULL)
        return nvdp__fail(reader->ctx, NVDP_ERR_MEMORY,
                          "%s: cannot write JSON: out of memory, or a text that is not UTF-8",
                          path.text);
    NVDP_TRY(nvdp__checkpoint_save(&reader->dev, directory, &reader->params));
    return nvdp__json_write(reader->ctx, path.text, config);
}

nvdp_status nvdp__reader_shape_read(struct nvdp_context *ctx, const char *directory,
                                    struct nvdp__reader_shape *shape) {
    struct nvdp__reader_shape found = {0};
    nvdp__autoptr(json_decref) json_t *config = NULL;
    const char *format = NULL, *act = NULL, *pool = NULL;
    const struct nvdp__path file = nvdp__path(directory, "config.json");
    const char *path = file.text;
    size_t kappa = 0;
    const struct {
        const char *key;
        int64_t max;
        size_t *to;
    } sizes[] = {{"dim", MAX_DIM, &found.dim},
                 {"heads", MAX_DIM, &found.heads},
                 {"inner", MAX_DIM, &found.inner},
                 {"outputs", MAX_OUTPUTS, &found.outputs},
                 {"kappa", MAX_KAPPA, &kappa}};
    NVDP_TRY(nvdp__json_read(ctx, path, &config));
    NVDP_TRY(nvdp__json_string(ctx, path, config, "nvdp_format", "", &format));
    if (strcmp(format, FORMAT) != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'nvdp_format': expected '" FORMAT "', found '%s'", path, format);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t value = 0;
        NVDP_TRY(nvdp__json_int_required(ctx, path, config, sizes[i].key, 1, sizes[i].max, &value));
        *sizes[i].to = (size_t)value;
    }
    found.kappa = (int)kappa;
    NVDP_TRY(nvdp__json_string(ctx, path, config, "hidden_act", "gelu", &act));
    NVDP_TRY(nvdp__activation_find(ctx, path, "hidden_act", act, &found.act));
    NVDP_TRY(nvdp__json_string(ctx, path, config, "pool", "", &pool));
    found.pool = nvdp__pool_find(pool);
    if (found.pool == NVDP_POOL_AUTO)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'pool': expected first, mean or weighted, found '%s'", path,
                          pool);
    NVDP_TRY(nvdp__json_real(ctx, path, config, "layer_norm_eps", 1e-12, 0, 1, &found.eps));
    NVDP_TRY(nvdp__json_bool(ctx, path, config, "residual", false, &found.residual));
    NVDP_TRY(nvdp__json_bool(ctx, path, config, "weights", true, &found.weights));
    NVDP_TRY(nvdp__json_bool(ctx, path, config, "regression", false, &found.regression));
    *shape = found;
    return NVDP_OK;
}

nvdp_status nvdp__reader_load(struct nvdp_context *ctx, const char *directory, size_t outputs,
                              bool with_grad, uint64_t seed, struct nvdp__reader **out) {
    struct nvdp__reader_shape shape;
    nvdp__autoptr(nvdp__reader_free) struct nvdp__reader *stored = NULL, *reader = NULL;
    NVDP_TRY(nvdp__reader_shape_read(ctx, directory, &shape));
    NVDP_TRY(nvdp__reader_create(ctx, &shape, false, &stored));
    NVDP_TRY(nvdp__checkpoint_load(&stored->dev, directory, &stored->params));
    if (outputs > 0) shape.outputs = outputs;
    NVDP_TRY(nvdp__reader_create(ctx, &shape, with_grad, &reader));
    nvdp__reader_initialise(reader, seed);
    nvdp__reader_adopt(reader, &stored->params);
    return NVDP__HAND_OVER(out, reader);
}

/* --- labels --- */

/* Reads the lines of a text file, which are in *bytes, NUL-terminated. */
static nvdp_status read_lines(struct nvdp_context *ctx, const char *path, char **bytes,
                              char ***line, size_t *count) {
    size_t size = 0, capacity = 0;
    NVDP_TRY(nvdp__read_stream(ctx, path, LABEL_FILE_LIMIT, bytes, &size));
    for (char *at = *bytes, *next; at < *bytes + size; at = next) {
        char *end = memchr(at, '\n', (size_t)(*bytes + size - at));
        if (end == NULL) end = *bytes + size;
        next = end + 1;
        if (end > at && end[-1] == '\r') end--;
        *end = '\0';
        NVDP_TRY(NVDP__PUSH(ctx, *line, *count, capacity, at));
    }
    return NVDP_OK;
}

/* Parses a finite number.  Returns false if the text has any other characters. */
static bool parse_number(const char *text, double *out) {
    char *end;
    double value = nvdp__strtod(text, &end);
    while (*end == ' ' || *end == '\t') {
        end++;
    }
    if (end == text || *end != '\0' || !isfinite(value)) return false;
    *out = value;
    return true;
}

static bool is_class(double value) {
    return value >= 0 && value < MAX_CLASSES && value == floor(value);
}

static bool all_classes(char *const *line, size_t count) {
    double value;
    for (size_t i = 0; i < count; i++)
        if (line[i][0] != '\0' && (!parse_number(line[i], &value) || !is_class(value)))
            return false;
    return true;
}

/* Counts the classes: one more than the largest class number, or as many as the reader knows. */
static nvdp_status count_classes(struct nvdp_context *ctx, const char *path,
                                 const struct nvdp__labels *like, struct nvdp__labels *labels) {
    size_t classes = 0;
    for (size_t i = 0; i < labels->count; i++) {
        double value = labels->value[i];
        if (isnan(value)) continue;
        if (!is_class(value))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: label %zu: expected a class number of at least 0, found %g; for "
                              "labels that are scores use {regression}",
                              path, i + 1, value);
        if ((size_t)value >= classes) classes = (size_t)value + 1;
    }
    if (like != NULL && classes > like->classes)
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: expected class numbers below %zu, found %zu",
                          path, like->classes, classes - 1);
    labels->classes = like != NULL ? like->classes : classes;
    return NVDP_OK;
}

static int by_bytes(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Copies the distinct words, sorted, into one block of memory. */
static nvdp_status collect_names(struct nvdp_context *ctx, const char *path, char *const *line,
                                 struct nvdp__labels *labels) {
    nvdp__autofree const char **sorted = NULL;
    size_t count = 0, distinct = 0;
    NVDP_TRY(NVDP__NEW(ctx, sorted, labels->count));
    for (size_t i = 0; i < labels->count; i++)
        if (line[i][0] != '\0') sorted[count++] = line[i];
    NVDP__SORT(sorted, count, NVDP__UP_ITEM(const char *));
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0) sorted[distinct++] = sorted[i];
    if (distinct > MAX_CLASSES)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected at most %d different labels, found %zu", path, MAX_CLASSES,
                          distinct);
    labels->classes = distinct;
    return nvdp__names_select(ctx, distinct, sorted, NULL, &labels->name);
}

static nvdp_status parse_words(struct nvdp_context *ctx, const char *path, char *const *line,
                               const struct nvdp__labels *like, struct nvdp__labels *labels) {
    if (like == NULL) NVDP_TRY(collect_names(ctx, path, line, labels));
    const struct nvdp__labels *names = like != NULL ? like : labels;
    for (size_t i = 0; i < labels->count; i++) {
        labels->value[i] = NAN;
        if (line[i][0] == '\0') continue;
        const char **found =
            bsearch(&line[i], names->name, names->classes, sizeof *names->name, by_bytes);
        if (found == NULL)
            return nvdp__fail(
                ctx, NVDP_ERR_INPUT,
                "%s:%zu: expected a label that the reader was trained with, found '%.*s'", path,
                i + 1, QUOTED, line[i]);
        labels->value[i] = (float)(found - names->name);
    }
    labels->classes = names->classes;
    return NVDP_OK;
}

nvdp_status nvdp__labels_read(struct nvdp_context *ctx, const char *path,
                              const char *embeddings_path, const struct nvdp_shared *embeddings,
                              bool regression, const struct nvdp__labels *like,
                              struct nvdp__labels *out) {
    size_t texts = embeddings->shape.texts;
    bool words = false;
    nvdp__autofree char *bytes = NULL, **line = NULL;
    size_t lines = 0;
    nvdp__auto(nvdp__labels_release) struct nvdp__labels labels = {.count = texts, .classes = 1};
    NVDP_TRY(NVDP__NEW(ctx, labels.value, texts));
    if (path != NULL) {
        NVDP_TRY(read_lines(ctx, path, &bytes, &line, &lines));
        if (lines != texts)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected %zu lines, one per text, found %zu", path, texts,
                              lines);
        words = !regression && (like != NULL ? like->name != NULL : !all_classes(line, texts));
        if (words) NVDP_TRY(parse_words(ctx, path, line, like, &labels));
        for (size_t i = 0; i < texts && !words; i++) {
            double value = NAN;
            if (line[i][0] != '\0' && !parse_number(line[i], &value))
                return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s:%zu: expected a number, found '%.*s'",
                                  path, i + 1, QUOTED, line[i]);
            labels.value[i] = (float)value;
        }
    } else {
        path = embeddings_path;
        if (embeddings->label == NULL)
            return nvdp__fail(
                ctx, NVDP_ERR_INPUT,
                like == NULL
                    ? "%s: dataset 'label' is missing; name a file of labels with {labels}"
                    : "%s: dataset 'label' is missing; name a file of labels with {eval-labels}",
                path);
        memcpy(labels.value, embeddings->label, texts * sizeof *labels.value);
    }
    if (!regression && !words) NVDP_TRY(count_classes(ctx, path, like, &labels));
    return NVDP__HAND_OVER(out, labels);
}

void nvdp__labels_release(struct nvdp__labels *labels) {
    free(labels->name);
    free(labels->value);
    *labels = (struct nvdp__labels){0};
}
