/* Implements linear readers (linear.h): embeddings of texts by the map of a file, the folder of a reader, texts,
 * outputs. */
#include "train/linear.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "encoder/checkpoint.h"
#include "tensor/vector.h"
#include "text/dataset.h"
#include "text/sentence_folder.h"
#include "text/task.h"
#include "vib/vib.h"
#include <math.h>
#include <nvdp/version.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "linear-reader/1"

enum { MAX_WIDTH = 1 << 16, MAX_CLASSES = 1 << 12 };

/* --- embeddings of texts by the map of a file --- */

/* Fails for vectors that another program computed. */
static nvdp_status check_encoder(struct nvdp_context *ctx, const struct nvdp__query_map *query) {
    if (!query->vectors) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "expected a file that states its encoder, found vectors of another program "
                      "({vectors}): compute the vectors of your texts by that program, and give "
                      "them to nvdp.Reader.predict or nvdp.Shared.search in Python");
}

/* Fails unless the weights in the folder have the digest that the map states. */
static nvdp_status check_weights(struct nvdp_context *ctx, const struct nvdp__query_map *query,
                                 const char *model) {
    nvdp__autoptr(nvdp__weights_close) struct nvdp__weight_files *weights = NULL;
    char found[NVDP__DIGEST_HEX];
    NVDP_TRY(nvdp__model_folder(ctx, model));
    NVDP_TRY(nvdp__weights_open(ctx, model, &weights));
    NVDP_TRY(nvdp__weights_sha256(weights, found));
    if (strcmp(found, query->sha256) != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected the encoder of the file, '%.63s', with weights of SHA-256 "
                          "%.64s, found %s; name it with {model}",
                          model, query->encoder, query->sha256, found);
    return NVDP_OK;
}

nvdp_status nvdp__query_encoder(struct nvdp_context *ctx, const struct nvdp__query_map *query,
                                const char *model, struct nvdp_encoder **out) {
    nvdp__autoptr(nvdp_encoder_free) struct nvdp_encoder *made = NULL;
    struct nvdp_encoder_info info = NVDP_RESULT(struct nvdp_encoder_info);
    const char *name = query->encoder; /* name of a folder, without a path */
    const bool plain = name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL;
    const struct nvdp__path beside = nvdp__path("models", name);
    NVDP_TRY(check_encoder(ctx, query));
    if (model == NULL) {
        model = nvdp__is_directory(beside.text) ? beside.text : name;
        if (!plain || !nvdp__is_directory(model))
            return nvdp__fail(
                ctx, NVDP_ERR_IO,
                "the file's encoder, '%.63s': expected the folder models/%.63s, found "
                "none; name it with {model}",
                name, name);
    }
    NVDP_TRY(check_weights(ctx, query, model));
    NVDP_TRY(nvdp__encoder_open(
        ctx,
        (const char *const[]){"model", model, "pool", query->pool, "normalize", "no", "max-length",
                              nvdp__short_text("%zu", query->max_length).text, NULL},
        &made, &info));
    if (info.vector_size != query->width)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected vectors of width %zu, which the file states, found %zu",
                          model, query->width, info.vector_size);
    return NVDP__HAND_OVER(out, made);
}

bool nvdp__query_direction(const struct nvdp__query_map *query, float *x, float *u) {
    bool there =
        nvdp__sentence_direction(query->width, query->dim, query->center, query->map, x, u);
    for (size_t j = 0; j < query->dim; j++)
        there &= isfinite(u[j]);
    if (!there) memset(u, 0, query->dim * sizeof *u);
    return there;
}

nvdp_status nvdp__query_embed(struct nvdp_context *ctx, const struct nvdp__query_map *query,
                              struct nvdp_encoder *encoder, const struct nvdp_dataset *texts,
                              float *u, bool *there) {
    nvdp__autofree float *vectors = NULL;
    NVDP_TRY(NVDP__NEW(ctx, vectors, texts->count * query->width));
    NVDP_TRY(nvdp_encoder_run(ctx, encoder, texts, NULL, vectors));
    for (size_t i = 0; i < texts->count; i++) {
        float *v = u + i * query->dim;
        there[i] = nvdp__query_direction(query, vectors + i * query->width, v) &&
                   texts->offset[i + 1] - texts->offset[i] > query->empty;
        if (!there[i]) memset(v, 0, query->dim * sizeof *v);
    }
    return NVDP_OK;
}

void nvdp__join_pair(size_t p, const float *second, float *x) {
    double square = 0;
    for (size_t i = 0; i < p; i++) {
        x[p + i] = fabsf(x[i] - second[i]);
        x[i] *= second[i] * sqrtf((float)p);
        square += (double)x[i] * (double)x[i] + (double)x[p + i] * (double)x[p + i];
    }
    for (size_t i = 0; i < 2 * p && square > 0; i++)
        x[i] = (float)((double)x[i] / sqrt(square));
}

/* --- the folder of a reader --- */

/* Returns the width of the reader's input vectors. */
static size_t input_width(const struct nvdp__linear_reader *reader) {
    return (reader->pairs && !reader->joint ? 2 : 1) * reader->query.dim;
}

size_t nvdp__linear_width(const struct nvdp__linear_reader *reader) {
    return reader->task.regression ? 1 : (size_t)reader->task.classes;
}

void nvdp__linear_release(struct nvdp__linear_reader *reader) {
    nvdp__query_map_release(&reader->query);
    free(reader->names);
    free(reader->weight);
    free(reader->bias);
    *reader = (struct nvdp__linear_reader){0};
}

nvdp_status nvdp__linear_set_task(struct nvdp__linear_reader *reader, size_t count,
                                  const char *const *name, double low, double high) {
    const bool scores = count == 0;
    if (!scores) NVDP_TRY(nvdp__names_select(reader->ctx, count, name, NULL, &reader->names));
    reader->answers = count > 2 ? count : 1;
    reader->task = (struct nvdp_task){
        .id = NVDP_TASK_TSV,
        .name = "tsv",
        .regression = scores,
        .classes = scores ? 1 : (int)count,
        .labels = reader->names,
        .label_min = scores ? low : -INFINITY,
        .label_max = scores ? high : INFINITY,
        .metrics = scores ? 2 : 1,
        .metric = {scores ? NVDP_METRIC_PEARSON : NVDP_METRIC_ACCURACY, NVDP_METRIC_SPEARMAN}};
    return NVDP_OK;
}

/* Declares the tensors of a reader: weight, bias, center and, for a reduced map, map. index [4] has their indices. */
static nvdp_status declare(const struct nvdp__linear_reader *reader, struct nvdp__params *params,
                           size_t index[4]) {
    const struct nvdp__query_map *query = &reader->query;
    nvdp__params_init(params, reader->ctx);
    NVDP_TRY(
        nvdp__params_add(params, "weight", 2, reader->answers, input_width(reader), 0, &index[0]));
    NVDP_TRY(nvdp__params_add(params, "bias", 1, reader->answers, 0, 0, &index[1]));
    NVDP_TRY(nvdp__params_add(params, "center", 1, query->width, 0, 0, &index[2]));
    if (query->dim < query->width)
        NVDP_TRY(nvdp__params_add(params, "map", 2, query->dim, query->width, 0, &index[3]));
    return nvdp__params_allocate(params, false);
}

json_t *nvdp__label_names(const char *const *labels, size_t count) {
    if (labels == NULL) return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, json_string(labels[i]));
    }
    return array;
}

nvdp_status nvdp__linear_save(const struct nvdp__linear_reader *reader, const char *statement,
                              const char *directory) {
    const struct nvdp__query_map *query = &reader->query;
    const float *const values[] = {reader->weight, reader->bias, query->center, query->map};
    const struct nvdp__device dev = nvdp__device_cpu(reader->ctx);
    nvdp__auto(nvdp__params_release) struct nvdp__params params = {0};
    size_t index[4];
    NVDP_TRY(declare(reader, &params, index));
    for (size_t i = 0; i < params.count; i++)
        memcpy(nvdp__value(&params, index[i]), values[i],
               params.entry[index[i]].count * sizeof **values);
    nvdp__autoptr(json_decref) json_t *config = json_pack(
        "{s:s, s:s, s:I, s:I}", "nvdp_format", FORMAT, "nvdp_version", nvdp_version(),
        "encoder_width", (json_int_t)query->width, "vector_width", (json_int_t)query->dim);
    json_t *encoder =
        query->vectors
            ? json_pack("{s:s}", "vectors_source", query->source)
            : json_pack("{s:s, s:s, s:s, s:I, s:I}", "encoder", query->encoder, "encoder_sha256",
                        query->sha256, "encoder_pool", query->pool, "encoder_max_length",
                        (json_int_t)query->max_length, "encoder_empty", (json_int_t)query->empty);
    const struct nvdp_task *task = &reader->task;
    json_t *answers =
        task->regression
            ? json_pack("{s:f, s:f}", "low", task->label_min, "high", task->label_max)
            : json_pack("{s:o}", "labels", nvdp__label_names(reader->names, (size_t)task->classes));
    if (reader->pairs)
        json_object_set_new(config, "pair_features",
                            json_string(nvdp__pair_features(reader->joint)));
    if (json_object_update_new(config, encoder) != 0 ||
        json_object_update_new(config, answers) != 0 ||
        json_object_set_new(config, "statement", json_string(statement)) != 0)
        return nvdp__fail(reader->ctx, NVDP_ERR_MEMORY,
                          "%s: cannot write JSON: out of memory, or a name that is not UTF-8",
                          directory);
    NVDP_TRY(nvdp__make_directory(reader->ctx, directory));
    NVDP_TRY(nvdp__checkpoint_save(&dev, directory, &params));
    return nvdp__json_write(reader->ctx, nvdp__path(directory, "config.json").text, config);
}

bool nvdp__linear_is(const char *directory) {
    nvdp__autoptr(json_decref) json_t *config = NULL;
    if (nvdp__json_read_optional(NULL, directory, "config.json", &config) != NVDP_OK) return false;
    const char *format = json_string_value(json_object_get(config, "nvdp_format"));
    return format != NULL && strcmp(format, FORMAT) == 0;
}

/* Reads the names of classes, or the range of scores. */
static nvdp_status read_task(struct nvdp_context *ctx, const char *path, const json_t *config,
                             struct nvdp__linear_reader *reader) {
    const json_t *labels = json_object_get(config, "labels");
    const size_t count = json_array_size(labels);
    nvdp__autofree const char **name = NULL;
    double low = NAN, high = NAN;
    if (labels == NULL) {
        NVDP_TRY(nvdp__json_real(ctx, path, config, "low", NAN, -INFINITY, INFINITY, &low));
        NVDP_TRY(nvdp__json_real(ctx, path, config, "high", NAN, -INFINITY, INFINITY, &high));
        if (!(low < high))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected key 'labels', or 'low' below 'high', found %g and %g",
                              path, low, high);
        return nvdp__linear_set_task(reader, 0, NULL, low, high);
    }
    bool named = count >= 2 && count <= MAX_CLASSES;
    NVDP_TRY(NVDP__NEW(ctx, name, count));
    for (size_t i = 0; i < count; i++) {
        name[i] = json_string_value(json_array_get(labels, i));
        named = named && name[i] != NULL;
    }
    if (!named)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: key 'labels': expected names of 2 to %d classes", path, MAX_CLASSES);
    return nvdp__linear_set_task(reader, count, name, low, high);
}

/* Reads the facts of the encoder. */
static nvdp_status read_query(struct nvdp_context *ctx, const char *path, const json_t *config,
                              struct nvdp__query_map *query) {
    int64_t max_length = 0, empty = 0, width, dim;
    const char *encoder, *sha256, *pool, *source;
    NVDP_TRY(nvdp__json_string(ctx, path, config, "vectors_source", NULL, &source));
    NVDP_TRY(nvdp__json_string(ctx, path, config, "encoder", "", &encoder));
    NVDP_TRY(nvdp__json_string(ctx, path, config, "encoder_sha256", "", &sha256));
    NVDP_TRY(nvdp__json_string(ctx, path, config, "encoder_pool", "mean", &pool));
    if (source == NULL) {
        NVDP_TRY(nvdp__json_int_required(ctx, path, config, "encoder_max_length", 3, MAX_WIDTH,
                                         &max_length));
        NVDP_TRY(nvdp__json_int_required(ctx, path, config, "encoder_empty", 0, MAX_WIDTH, &empty));
    }
    NVDP_TRY(nvdp__json_int_required(ctx, path, config, "encoder_width", 1, MAX_WIDTH, &width));
    NVDP_TRY(nvdp__json_int_required(ctx, path, config, "vector_width", 1, width, &dim));
    *query = (struct nvdp__query_map){.vectors = source != NULL,
                                      .max_length = (size_t)max_length,
                                      .empty = (size_t)empty,
                                      .width = (size_t)width,
                                      .dim = (size_t)dim};
    nvdp__snprintf(query->encoder, sizeof query->encoder, "%s", encoder);
    nvdp__snprintf(query->sha256, sizeof query->sha256, "%s", sha256);
    nvdp__snprintf(query->pool, sizeof query->pool, "%s", pool);
    return NVDP_OK;
}

nvdp_status nvdp__linear_load(struct nvdp_context *ctx, const char *directory,
                              struct nvdp__linear_reader *out) {
    nvdp__auto(nvdp__linear_release) struct nvdp__linear_reader reader = {.ctx = ctx};
    nvdp__auto(nvdp__params_release) struct nvdp__params params = {0};
    nvdp__autoptr(json_decref) json_t *config = NULL;
    const struct nvdp__device dev = nvdp__device_cpu(ctx);
    const struct nvdp__path path = nvdp__path(directory, "config.json");
    float **const values[] = {&reader.weight, &reader.bias, &reader.query.center,
                              &reader.query.map};
    size_t index[4];
    NVDP_TRY(nvdp__json_read(ctx, path.text, &config));
    NVDP_TRY(read_query(ctx, path.text, config, &reader.query));
    const char *pairs;
    NVDP_TRY(nvdp__json_string(ctx, path.text, config, "pair_features", NULL, &pairs));
    reader.pairs = pairs != NULL;
    reader.joint = pairs != NULL && strcmp(pairs, NVDP__PAIR_JOINT) == 0;
    if (pairs != NULL && !reader.joint && strcmp(pairs, NVDP__PAIR_FEATURES) != 0)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "%s: 'pair_features': expected " NVDP__PAIR_FEATURES
                          " or " NVDP__PAIR_JOINT ", found '%.100s'",
                          path.text, pairs);
    NVDP_TRY(read_task(ctx, path.text, config, &reader));
    NVDP_TRY(declare(&reader, &params, index));
    NVDP_TRY(nvdp__checkpoint_load(&dev, directory, &params));
    for (size_t i = 0; i < params.count; i++) {
        const size_t count = params.entry[index[i]].count;
        NVDP_TRY(NVDP__NEW(ctx, *values[i], count));
        memcpy(*values[i], nvdp__value(&params, index[i]), count * sizeof **values[i]);
    }
    return NVDP__HAND_OVER(out, reader);
}

/* --- texts and outputs --- */

void nvdp__linear_input_release(struct nvdp__linear_input *input) {
    nvdp_dataset_free(input->first);
    nvdp_dataset_free(input->second);
    *input = (struct nvdp__linear_input){0};
}

/* Reads one column of texts. */
static nvdp_status read_texts(const struct nvdp__linear_reader *reader,
                              const struct nvdp_encoder *encoder, const char *path,
                              const char *text, const char *pair, const char *label,
                              struct nvdp_dataset **out) {
    struct nvdp_dataset_config config = nvdp__dataset_config_default();
    config.task = NVDP_TASK_TSV;
    config.text_column = text;
    config.text_pair_column = pair;
    config.label_column = label;
    config.max_length = reader->query.max_length;
    config.regression = reader->task.regression;
    config.labels_from = &reader->task;
    NVDP_TRY(nvdp__dataset_load_rows(reader->ctx, nvdp_encoder_tokenizer(encoder), &config,
                                     label != NULL ? NVDP__LABELS_REQUIRED : NVDP__LABELS_IGNORED,
                                     path, NULL, out));
    nvdp__log_truncated(reader->ctx, path, *out);
    return NVDP_OK;
}

nvdp_status nvdp__linear_texts(const struct nvdp__linear_reader *reader,
                               const struct nvdp_encoder *encoder, const char *path,
                               const char *text, const char *pair, const char *label,
                               struct nvdp__linear_input *out) {
    nvdp__auto(nvdp__linear_input_release) struct nvdp__linear_input made = {0};
    if (reader->pairs != (pair != NULL))
        return nvdp__fail(reader->ctx, NVDP_ERR_ARGUMENT,
                          reader->pairs ? "option {text-pair-column} is needed: the reader is of "
                                          "pairs of texts"
                                        : "option {text-pair-column}: expected none, because the "
                                          "reader was trained on single texts");
    NVDP_TRY(
        read_texts(reader, encoder, path, text, reader->joint ? pair : NULL, label, &made.first));
    if (pair != NULL && !reader->joint)
        NVDP_TRY(read_texts(reader, encoder, path, pair, NULL, NULL, &made.second));
    return NVDP__HAND_OVER(out, made);
}

/* Turns the estimates y [answers] of a text into outputs. If no class has a positive estimate, the class with the
 * largest estimate gets probability 1. */
static void set_outputs(const struct nvdp__linear_reader *reader, const double *y, float *outputs) {
    const struct nvdp_task *task = &reader->task;
    const size_t classes = nvdp__linear_width(reader);
    double sum = 0;
    size_t best = 0;
    if (task->regression) {
        outputs[0] =
            (float)(task->label_min + (y[0] + 1) / 2 * (task->label_max - task->label_min));
        return;
    }
    for (size_t c = 0; c < classes; c++) {
        const double share = reader->answers > 1 ? y[c] : (1 + (c == 0 ? -1 : 1) * y[0]) / 2;
        outputs[c] = (float)fmax(0, share);
        sum += fmax(0, share);
        if (reader->answers > 1 && y[c] > y[best]) best = c;
    }
    if (!(sum > 0)) outputs[best] = 1;
    for (size_t c = 0; c < classes; c++)
        outputs[c] = logf(outputs[c]);
}

/* Computes the outputs of n texts with the unit vectors u [n, p] and, for pairs, those of the second texts. */
static nvdp_status apply(const struct nvdp__linear_reader *reader, size_t n, const float *u,
                         const float *second, float *outputs) {
    const size_t p = reader->query.dim, dim = input_width(reader),
                 width = nvdp__linear_width(reader);
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    float *x;
    double *y;
    NVDP_TRY(
        NVDP__ARRAYS(reader->ctx, &memory, NVDP__ITEMS(x, dim), NVDP__ITEMS(y, reader->answers)));
    for (size_t i = 0; i < n; i++) {
        memcpy(x, u + i * p, p * sizeof *x);
        if (second != NULL) nvdp__join_pair(p, second + i * p, x);
        for (size_t k = 0; k < reader->answers; k++)
            y[k] = (double)reader->bias[k] + nvdp__dot_f64(dim, reader->weight + k * dim, x);
        set_outputs(reader, y, outputs + i * width);
    }
    return NVDP_OK;
}

nvdp_status nvdp__linear_outputs(const struct nvdp__linear_reader *reader,
                                 struct nvdp_encoder *encoder,
                                 const struct nvdp__linear_input *input, float *outputs) {
    const struct nvdp_dataset *texts = input->first, *second = input->second;
    const size_t p = reader->query.dim;
    nvdp__auto(nvdp__memory_release) struct nvdp__memory memory = {0};
    float *u, *v;
    bool *there;
    NVDP_TRY(NVDP__ARRAYS(reader->ctx, &memory, NVDP__ITEMS(u, texts->count * p),
                          NVDP__ITEMS(v, second != NULL ? second->count * p : 0),
                          NVDP__ITEMS(there, texts->count)));
    NVDP_TRY(nvdp__query_embed(reader->ctx, &reader->query, encoder, texts, u, there));
    if (second != NULL)
        NVDP_TRY(nvdp__query_embed(reader->ctx, &reader->query, encoder, second, v, there));
    return apply(reader, texts->count, u, second != NULL ? v : NULL, outputs);
}

nvdp_status nvdp__linear_vectors(const struct nvdp__linear_reader *reader, size_t n, float *x,
                                 float *outputs) {
    const struct nvdp__query_map *query = &reader->query;
    nvdp__autofree float *u = NULL;
    NVDP_TRY(NVDP__NEW(reader->ctx, u, n * query->dim));
    for (size_t i = 0; i < n; i++)
        nvdp__query_direction(query, x + i * query->width, u + i * query->dim);
    return apply(reader, n, u, NULL, outputs);
}
