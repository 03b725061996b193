/* Makes runs of method sentence (sentence_run.h): the mean m and the principal directions A of public texts' sentence
 * embeddings become the parameters of the mechanism, in float16, so that a file can state them exactly. The objective
 * distill trains A from these directions, together with a decoder, which the run stores in a separate file.
 *
 * The order of this file: the embedding, public texts, parameters, records, the run. */
#include "train/sentence_run.h"

#include "base/array.h"
#include "base/base.h"
#include "base/cache.h"
#include "base/f16.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include "base/sentence.h"
#include "encoder/checkpoint.h"
#include "encoder/encode.h"
#include "encoder/row.h"
#include "encoder/safetensors.h"
#include "job/job.h"
#include "job/lineage.h"
#include "mechanism/mechanism.h"
#include "options/result.h"
#include "rdp/options.h"
#include "text/sentence_folder.h"
#include "text/task.h"
#include "train/run.h"
#include "train/trainer.h"
#include "train/training_options.h"
#include "vib/vib.h"
#include <errno.h>
#include <math.h>
#include <nvdp/encoder.h>
#include <stdlib.h>
#include <string.h>

#define RECORD "sentence" /* key of run.json */
#define TEXTS "center"    /* key of the record: path of the public texts */
#define DECODER "decoder" /* tensor of RUN/decoder.safetensors, [D, p] */
#define VECTORS "vectors" /* kind of the public texts' embeddings in the cache, [n, D] */

struct maker {
    struct nvdp_context *ctx;
    const struct nvdp__sentence_options *options;
    const char *run;
    struct nvdp_bert_config bert;
    struct nvdp__sentence sentence;
    struct nvdp_encoder *encoder;
    struct nvdp_encoder_info info;
    struct nvdp__encode_input input; /* the public texts */
    struct nvdp__train_options config;
    size_t width, dim, empty;
    float *center, *map; /* [D], [p, D] */
    float *decoder;      /* [D, p]; NULL if there is none */
    struct nvdp_model *model;
    json_t *record;
};

static void release(struct maker *maker) {
    nvdp__encode_input_release(&maker->input);
    nvdp_encoder_free(maker->encoder);
    nvdp__sentence_release(&maker->sentence);
    nvdp_model_free(maker->model);
    json_decref(maker->record);
    free(maker->center);
    free(maker->map);
    free(maker->decoder);
}

/* Returns the name of the option with the public texts. */
static const char *texts_option(const struct maker *maker) {
    return maker->options->distill != NULL ? "input" : "center";
}

/* --- the embedding --- */

static const char *pool_name(const struct maker *maker) {
    return maker->sentence.pooling[0] == NVDP__POOLING_CLS ? "cls" : "mean";
}

/* Reads how the encoder makes its sentence embedding. A folder that does not state this uses the mean. */
static nvdp_status read_embedding(struct maker *maker) {
    struct nvdp_context *ctx = maker->ctx;
    const char *model = maker->options->model;
    struct nvdp__sentence *sentence = &maker->sentence;
    NVDP_TRY(nvdp__bert_config_read(ctx, model, &maker->bert));
    maker->width = maker->bert.hidden_size;
    NVDP_TRY(nvdp__sentence_read(ctx, model, true, maker->width, sentence));
    if (sentence->poolings == 0) nvdp__sentence_pool(sentence, NVDP__POOLING_MEAN, maker->width);
    bool dense = false;
    for (size_t i = 0; i < sentence->steps; i++)
        dense |= sentence->step[i].dense || sentence->step[i].out > 0;
    const bool known = sentence->poolings == 1 && (sentence->pooling[0] == NVDP__POOLING_MEAN ||
                                                   sentence->pooling[0] == NVDP__POOLING_CLS);
    char pooling[NVDP__POOLING_TEXT];
    if (!known || dense || sentence->prompt != NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: expected a sentence embedding by pooling mean or cls, without dense "
                          "layers, truncate_dim and a prompt, found pooling %s%s%s",
                          model, nvdp__pooling_text(sentence, pooling),
                          dense ? " and dense layers or truncate_dim" : "",
                          sentence->prompt != NULL ? " and a prompt" : "");
    return NVDP_OK;
}

/* Fails for the model of a run: shared files would state a digest of weights, which can confirm a guess about the texts
 * on which the weights were trained. Only warns for a model of nvdp pretrain, which the owner may have published. */
static nvdp_status check_public(const struct maker *maker) {
    const char *model = maker->options->model;
    nvdp__auto(nvdp__lineage_release) struct nvdp__lineage lineage = {0};
    const struct nvdp__path record = nvdp__path(model, "../run.json");
    if (nvdp__exists(record.text) && !maker->options->trained)
        return nvdp__fail(maker->ctx, NVDP_ERR_ARGUMENT,
                          "option {model}: %s: expected a public encoder, because whoever "
                          "searches the file needs it; found the model of a run that was trained "
                          "on texts",
                          model);
    NVDP_TRY(nvdp__lineage_read(maker->ctx, model, &lineage));
    if (json_array_size(lineage.list) > 0)
        nvdp__log(maker->ctx, NVDP_LOG_WARNING,
                  "%s: nvdp trained this encoder on texts; whoever searches the file needs the "
                  "encoder, and the file states a digest of its weights, so it must be public",
                  model);
    return NVDP_OK;
}

static nvdp_status load_encoder(struct maker *maker) {
    NVDP_TRY(nvdp__encoder_open(
        maker->ctx,
        (const char *const[]){"model", maker->options->model, "pool", pool_name(maker), "normalize",
                              "no", "batch", nvdp__short_text("%zu", maker->options->batch).text,
                              NULL},
        &maker->encoder, &maker->info));
    if (nvdp__encoder_row(maker->bert.model_type)
            ->bare_texts) /* the encoder has no maximum length */
        maker->info.max_length = nvdp__min(maker->info.max_length, NVDP__TEXT_TOKENS);
    return NVDP_OK;
}

/* --- public texts --- */

static void round_f16(size_t n, float *values) {
    for (size_t i = 0; i < n; i++)
        values[i] = nvdp__f16_to_float(nvdp__f16_from_float(values[i]));
}

/* Gives the vectors [n, D] unit length and sets the center to their mean. */
static nvdp_status find_center(struct maker *maker, size_t n, float *vectors) {
    const size_t d = maker->width;
    nvdp__autofree double *sum = NULL;
    NVDP_TRY(NVDP__NEW(maker->ctx, sum, d));
    for (size_t i = 0; i < n; i++) {
        float *x = vectors + i * d;
        double square = 0;
        for (size_t k = 0; k < d; k++)
            square += (double)x[k] * x[k];
        for (size_t k = 0; square > 0 && k < d; k++) {
            x[k] = (float)(x[k] / sqrt(square));
            sum[k] += x[k];
        }
    }
    bool finite = true;
    for (size_t k = 0; k < d; k++) {
        maker->center[k] = (float)(sum[k] / (double)n);
        finite &= isfinite(maker->center[k]);
    }
    round_f16(d, maker->center);
    return finite ? NVDP_OK
                  : nvdp__fail_option(maker->ctx, NVDP_ERR_NUMERIC, texts_option(maker),
                                      ": %s: expected finite embeddings, found NaN or infinity",
                                      maker->options->center);
}

/* Reads one tensor [rows, cols] of a file in the run's folder. */
static nvdp_status read_tensor(struct nvdp_context *ctx, const char *run, const char *file,
                               const char *name, size_t rows, size_t cols, float **out) {
    nvdp__auto(nvdp__params_release) struct nvdp__params params = {0};
    struct nvdp__device dev = nvdp__device_cpu(ctx);
    nvdp__autofree float *made = NULL;
    size_t index;
    const struct nvdp__path path = nvdp__path(run, file);
    nvdp__params_init(&params, ctx);
    NVDP_TRY(nvdp__params_add(&params, name, 2, rows, cols, 0, &index));
    NVDP_TRY(nvdp__params_allocate(&params, false));
    NVDP_TRY(nvdp__checkpoint_load_file(&dev, path.text, &params));
    NVDP_TRY(NVDP__NEW(ctx, made, rows * cols));
    memcpy(made, nvdp__value(&params, index), rows * cols * sizeof *made);
    return NVDP__HAND_OVER(out, made);
}

static const char DECODER_FILE[] = "decoder.safetensors";

/* Computes the public texts' embeddings [n, D]. Training stores these embeddings in the cache. */
static nvdp_status embed_public(struct maker *maker, const struct nvdp_dataset *data,
                                float **vectors) {
    struct nvdp_context *ctx = maker->ctx;
    const char *cache = maker->options->distill != NULL ? maker->config.cache : NULL;
    const size_t size = data->count * maker->width * sizeof **vectors;
    nvdp__autofree char *path = NULL, *kept = NULL;
    size_t bytes = 0;
    if (cache != NULL) {
        struct nvdp__digest digest = nvdp__digest_begin();
        nvdp__digest_text(&digest, maker->info.fingerprint);
        nvdp__digest_text(&digest, pool_name(maker));
        nvdp__digest_number(&digest, (uint64_t)nvdp__context_precision(ctx));
        nvdp__digest_bytes(&digest, data->offset, (data->count + 1) * sizeof *data->offset);
        nvdp__digest_bytes(&digest, data->ids, data->offset[data->count] * sizeof *data->ids);
        path = nvdp__cache_digest_path(ctx, cache, VECTORS, &digest);
        NVDP_TRY(NVDP__MADE(path));
        NVDP_TRY(nvdp__cache_read(ctx, path, VECTORS, 1, &kept, &bytes));
    }
    NVDP_TRY(NVDP__NEW(ctx, *vectors, data->count * maker->width));
    if (kept != NULL && bytes == size) {
        memcpy(*vectors, kept, size);
        return NVDP_OK;
    }
    NVDP_TRY(nvdp_encoder_run(ctx, maker->encoder, data, NULL, *vectors));
    if (cache == NULL) return NVDP_OK;
    NVDP_TRY(nvdp__cache_make(ctx, cache));
    return nvdp__cache_write(ctx, path, VECTORS, 1, (const char *)*vectors, size);
}

/* Trains the map and the decoder on the vectors [n, D] of unit length. */
static nvdp_status distill(struct maker *maker, size_t n, float *vectors) {
    const size_t d = maker->width, p = maker->dim;
    for (size_t i = 0; i < n * d; i++)
        vectors[i] -= maker->center[i % d];
    NVDP_TRY(NVDP__NEW(maker->ctx, maker->decoder, d * p));
    const struct nvdp__distilled made = {.texts = n,
                                         .width = d,
                                         .dim = p,
                                         .clip = maker->config.nvib.clip.sequence,
                                         .x = vectors,
                                         .map = maker->map,
                                         .decoder = maker->decoder};
    NVDP_TRY(nvdp__distill_train(maker->ctx, &maker->config, &made, maker->options->result));
    round_f16(d * p, maker->decoder);
    return NVDP_OK;
}

/* Fails if there are fewer public texts than the map needs. */
static nvdp_status check_count(const struct maker *maker, size_t n) {
    const size_t d = maker->width, p = maker->dim, fewest = p < d ? p + 1 : 2;
    const struct nvdp__naming width = nvdp__with_options(
        maker->ctx, maker->options->distill != NULL ? ", one more than {latent-dim}"
                                                    : ", one more than {reduce}");
    if (n >= fewest) return NVDP_OK;
    return nvdp__fail_option(maker->ctx, NVDP_ERR_INPUT, texts_option(maker),
                             ": %s: expected at least %zu public texts%s, found %zu",
                             maker->options->center, fewest, p < d ? width.text : "", n);
}

/* Reads the public texts. */
static nvdp_status read_public(struct maker *maker) {
    struct nvdp_context *ctx = maker->ctx;
    const struct nvdp__sentence_options *options = maker->options;
    const struct nvdp__encode_limits limits = {.config = &maker->bert,
                                               .max_length = maker->info.max_length,
                                               .directory = options->model,
                                               .text_column = options->text_column,
                                               .text_pair_column = options->pair_column};
    NVDP_TRY(nvdp__encode_input_read(ctx, options->center, &limits, &maker->input));
    const size_t n = maker->input.data.count;
    NVDP_TRY(check_count(maker, n));
    return options->distill != NULL ? nvdp__distill_check(ctx, options->distill, n) : NVDP_OK;
}

/* Computes m and A from the public texts' vectors [n, D]. */
static nvdp_status measure_vectors(struct maker *maker, size_t n, float *vectors) {
    struct nvdp_context *ctx = maker->ctx;
    const size_t d = maker->width, p = maker->dim;
    NVDP_TRY(NVDP__NEW(ctx, maker->center, d));
    NVDP_TRY(find_center(maker, n, vectors));
    if (p == d) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(ctx, maker->map, p * d));
    NVDP_TRY(nvdp__pca_map(ctx, n, d, p, vectors, 0, maker->map));
    if (maker->options->distill != NULL) NVDP_TRY(distill(maker, n, vectors));
    round_f16(p * d, maker->map);
    return NVDP_OK;
}

static nvdp_status measure_public(struct maker *maker) {
    nvdp__autofree float *vectors = NULL;
    NVDP_TRY(embed_public(maker, &maker->input.data, &vectors));
    return measure_vectors(maker, maker->input.data.count, vectors);
}

/* Counts the tokens of an empty text, which are special tokens. */
static nvdp_status count_empty(struct maker *maker) {
    nvdp__autoptr(nvdp_dataset_free) struct nvdp_dataset *data = NULL;
    static const char *const nothing[] = {""};
    NVDP_TRY(nvdp_dataset_from_texts(maker->ctx, nvdp_encoder_tokenizer(maker->encoder),
                                     maker->info.max_length, 1, nothing, NULL, &data));
    maker->empty = data->offset[1];
    return NVDP_OK;
}

/* --- parameters --- */

static void set_parameter(struct nvdp_model *model, const char *name, size_t n, const float *from) {
    const size_t index = nvdp__params_find(&model->params, name);
    if (index != SIZE_MAX) nvdp__upload(&model->dev, n, from, nvdp__value(&model->params, index));
}

static nvdp_status build(struct maker *maker) {
    struct nvdp_context *ctx = maker->ctx;
    const struct nvdp__train_options *config = &maker->config;
    struct nvdp__model_info info = {.bert = maker->bert,
                                    .method = config->method,
                                    .nvib = config->nvib,
                                    .columns = config->columns,
                                    .max_length = config->max_length,
                                    .outputs = 1};
    struct nvdp_dataset_config data = nvdp__dataset_config_default();
    struct nvdp__layout layout;
    data.task = NVDP_TASK_TSV;
    nvdp__set_columns(&data, &config->columns);
    NVDP_TRY(nvdp__task_resolve(ctx, &data, &layout));
    info.task = layout.task;
    NVDP_TRY(nvdp__model_build(ctx, &info, false, &maker->model));
    struct nvdp_model *model = maker->model;
    nvdp__model_initialise_head(model, 0);
    if (maker->options->model != NULL)
        NVDP_TRY(nvdp__checkpoint_values(&model->dev, maker->options->model, &model->params, false,
                                         model->params.value));
    const float empty = (float)maker->empty;
    set_parameter(model, NVDP__SENTENCE_CENTER, maker->width, maker->center);
    set_parameter(model, NVDP__SENTENCE_MAP, maker->dim * maker->width, maker->map);
    set_parameter(model, NVDP__SENTENCE_EMPTY, 1, &empty);
    return NVDP_OK;
}

/* --- records --- */

/* Sets the options of the run, as run.json stores them. */
static nvdp_status configure(struct maker *maker) {
    const struct nvdp__sentence_options *options = maker->options;
    struct nvdp__train_options *config = &maker->config;
    if (options->distill != NULL) {
        *config = *options->distill;
    } else {
        *config = nvdp__train_defaults();
        config->task = "tsv";
    }
    config->columns =
        (struct nvdp__columns){.text_column = options->text_column, .regression = true};
    config->model = options->model;
    config->out = maker->run;
    for (size_t i = 0; i < nvdp__method_count(); i++)
        if (nvdp__method_row((enum nvdp_method)i)->untrained) config->method = (enum nvdp_method)i;
    config->max_length = maker->info.max_length;
    config->certified_releases = options->releases;
    config->certified_epsilon = options->epsilon;
    if (options->clip > 0) config->nvib.clip.sequence = options->clip;
    config->nvib.stdev_tau = 1;
    config->nvib.latent_dim = options->reduce;
    config->nvib.length = config->max_length;
    config->nvib.pool =
        maker->sentence.pooling[0] == NVDP__POOLING_CLS ? NVDP_POOL_FIRST : NVDP_POOL_MEAN;
    NVDP_TRY(nvdp__train_calibrate(maker->ctx, config));
    NVDP_TRY(nvdp__method_resolve(maker->ctx, config->method, &maker->bert, &config->nvib));
    maker->dim = config->nvib.latent_dim;
    return NVDP_OK;
}

/* Builds the record that identifies a run. */
static nvdp_status identify(struct maker *maker) {
    struct nvdp_context *ctx = maker->ctx;
    const struct nvdp__sentence_options *options = maker->options;
    char center[NVDP__DIGEST_HEX];
    nvdp__autofree char *path = realpath(options->model, NULL);
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    NVDP_TRY(nvdp__file_sha256(ctx, options->center, center));
    const struct nvdp__path columns = nvdp__path_format(
        options->pair_column != NULL ? "%s, %s" : "%s", options->text_column, options->pair_column);
    maker->record = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:I, s:f}", "encoder",
        slash != NULL ? slash + 1 : options->model, "encoder_sha256", maker->info.fingerprint,
        "pool", pool_name(maker), "max_length", (json_int_t)maker->info.max_length, "empty",
        (json_int_t)maker->empty, "center_sha256", center, "text_column", columns.text, "dim",
        (json_int_t)maker->dim, "clip_sequence", maker->config.nvib.clip.sequence);
    if (maker->record != NULL && options->distill != NULL)
        json_object_set_new(maker->record, DECODER, json_true());
    if (maker->record == NULL)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", maker->run);
    return NVDP_OK;
}

/* Compares the record of an existing run. */
static nvdp_status compare(struct maker *maker) {
    nvdp__autoptr(json_decref) json_t *root = NULL;
    json_t *value;
    const char *key;
    NVDP_TRY(nvdp__json_read_optional(maker->ctx, maker->run, "run.json", &root));
    const json_t *found = json_object_get(root, RECORD);
    json_object_foreach(maker->record, key, value) {
        json_t *other = json_object_get(found, key);
        if (json_equal(value, other)) continue;
        nvdp__autofree char *a = json_dumps(value, JSON_ENCODE_ANY),
                            *b = json_dumps(other, JSON_ENCODE_ANY);
        return nvdp__fail(maker->ctx, NVDP_ERR_ARGUMENT,
                          "%s: the folder holds another run: expected %s %s, found %s; use the "
                          "options of this run, or give another folder as the first argument, such "
                          "as %s-2, whose ledger counts only its own samples unless {ledger} names "
                          "the ledger of this one",
                          maker->run, key, a != NULL ? a : "", b != NULL ? b : "none", maker->run);
    }
    return NVDP_OK;
}

/* Stores the absolute path of the public texts in a record, so that an export in another folder finds the file. Only
 * the digest of the file identifies the run, because the file may have another path later. */
static nvdp_status record_path(const struct maker *maker, json_t *record, bool *changed) {
    const char *texts = maker->options->center,
               *before = json_string_value(json_object_get(record, TEXTS));
    nvdp__autofree char *path = realpath(texts, NULL);
    if (path == NULL) return nvdp__fail_errno(maker->ctx, errno, "%s: cannot read", texts);
    *changed =
        nvdp__is_utf8(path, strlen(path)) && /* JSON cannot store a path in another encoding */
        (before == NULL || strcmp(before, path) != 0);
    if (*changed && json_object_set_new(record, TEXTS, json_string(path)) != 0)
        return nvdp__fail(maker->ctx, NVDP_ERR_MEMORY, "%s: out of memory", maker->run);
    return NVDP_OK;
}

static nvdp_status write_run(const struct maker *maker) {
    bool changed = false;
    const size_t trained = maker->options->distill != NULL ? 2 * maker->dim * maker->width : 0;
    const struct nvdp_train_result *result = maker->options->result;
    NVDP_TRY(record_path(maker, maker->record, &changed));
    return nvdp__run_json_write(
        maker->ctx, maker->run, "run.json",
        json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:o, s:O}", "nvdp_format", "run/1", "config",
                  nvdp__schema_json(&nvdp__train_schema, &maker->config), "software",
                  nvdp__software_json(), "hardware", nvdp__hardware_json(maker->ctx), "parameters",
                  (json_int_t)trained, "steps", (json_int_t)(result != NULL ? result->steps : 0),
                  "created", nvdp__now_json(), RECORD, maker->record));
}

/* Writes the new path of the public texts to run.json if the file at the old path is missing or changed. */
static nvdp_status rewrite_path(const struct maker *maker) {
    nvdp__autoptr(json_decref) json_t *before = NULL, *root = NULL;
    nvdp__autoptr(nvdp__outdir_unlock) DIR *lock = NULL;
    bool changed = false, same = false;
    NVDP_TRY(nvdp__json_read_optional(maker->ctx, maker->run, "run.json", &before));
    const json_t *record = json_object_get(before, RECORD);
    const char *path = json_string_value(json_object_get(record, TEXTS)),
               *digest = json_string_value(json_object_get(record, "center_sha256"));
    if (path != NULL && digest != NULL &&
        nvdp__file_is(maker->ctx, path, digest, &same) == NVDP_OK && same)
        return NVDP_OK;
    NVDP_TRY(nvdp__outdir_lock(maker->ctx, maker->run, &lock));
    NVDP_TRY(nvdp__json_read_optional(maker->ctx, maker->run, "run.json", &root));
    NVDP_TRY(record_path(maker, json_object_get(root, RECORD), &changed));
    return changed ? nvdp__run_json_write(maker->ctx, maker->run, "run.json", json_incref(root))
                   : NVDP_OK;
}

/* Rewrites the path in a run that is used again. The folder of the run may be read-only. */
static nvdp_status update_path(const struct maker *maker) {
    const nvdp_status status = rewrite_path(maker);
    if (status == NVDP_OK || status == NVDP_ERR_MEMORY) return status;
    nvdp__log(maker->ctx, NVDP_LOG_NOTICE, "%s; the run names the former path of its public texts",
              nvdp_context_error(maker->ctx));
    return NVDP_OK;
}

static nvdp_status write_records(struct maker *maker) {
    struct nvdp_context *ctx = maker->ctx;
    const struct nvdp__tensor_source decoder = {.name = DECODER,
                                                .dtype = NVDP__DTYPE_F32,
                                                .rank = 2,
                                                .shape = {maker->width, maker->dim},
                                                .data = maker->decoder};
    struct nvdp_certificate proven;
    const struct nvdp__path directory = nvdp__path(maker->run, "model");
    nvdp__autoptr(nvdp__outdir_unlock) DIR *lock = NULL;
    NVDP_TRY(nvdp__train_certify(&maker->config, maker->model, maker->options->result, &proven));
    if (maker->options->trainer == NULL) NVDP_TRY(nvdp__outdir_lock(ctx, maker->run, &lock));
    NVDP_TRY(write_run(maker));
    NVDP_TRY(nvdp__model_save(maker->model, directory.text, maker->options->model));
    if (maker->decoder != NULL)
        NVDP_TRY(nvdp__safetensors_write(ctx, nvdp__path(maker->run, DECODER_FILE).text, 1,
                                         &decoder, NULL));
    const struct nvdp_train_result *result = maker->options->result;
    const bool trained = result != NULL;
    nvdp__autoptr(json_decref) json_t *root =
        json_pack("{s:s, s:s, s:s*, s:s*}", "task", trained ? maker->config.task : "tsv", "method",
                  nvdp_method_name(maker->config.method), "objective", trained ? "distill" : NULL,
                  "metric", trained ? nvdp_metric_name(result->test->metric[0]) : NULL);
    const bool good =
        root != NULL &&
        (!trained || json_object_update_new(
                         root, nvdp__result_json(&nvdp__result_train, "file", result)) == 0) &&
        json_object_set_new(root, "certified", nvdp__certificate_summary(&proven)) == 0;
    return nvdp__run_json_write(ctx, maker->run, "result.json", good ? json_incref(root) : NULL);
}

/* --- the run --- */

nvdp_status nvdp__sentence_run(struct nvdp_context *ctx,
                               const struct nvdp__sentence_options *options, const char *run) {
    nvdp__auto(release) struct maker maker = {.ctx = ctx, .options = options, .run = run};
    const bool trains = options->distill != NULL;
    const bool exists = trains ? options->distill->resume != NULL : !nvdp__directory_empty(run);
    if (exists && nvdp__outdir_check_run(ctx, run) != NVDP_OK)
        return ctx == NULL || trains
                   ? NVDP_ERR_INPUT
                   : nvdp__fail(ctx, NVDP_ERR_INPUT, "%s; name another folder as RUN",
                                nvdp_context_error(ctx));
    const bool ended = exists && nvdp__outdir_check_ended(NULL, run) == NVDP_OK;
    if (trains && ended)
        return nvdp__fail(ctx, NVDP_ERR_STATE, "%s: the run has ended; there is nothing to resume",
                          run);
    NVDP_TRY(read_embedding(&maker));
    NVDP_TRY(check_public(&maker));
    NVDP_TRY(load_encoder(&maker));
    NVDP_TRY(configure(&maker));
    NVDP_TRY(count_empty(&maker));
    NVDP_TRY(identify(&maker));
    if (exists) NVDP_TRY(compare(&maker));
    if (ended) return update_path(&maker);
    if (trains && maker.dim == maker.width)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {latent-dim}: expected less than %zu, the width of the "
                          "embeddings, with {objective} distill, found %zu",
                          maker.width, maker.dim);
    NVDP_TRY(read_public(&maker));
    if (trains && !exists) {
        NVDP_TRY(nvdp__trainer_prepare_directory(options->trainer));
        NVDP_TRY(write_run(&maker));
    }
    NVDP_TRY(measure_public(&maker));
    NVDP_TRY(build(&maker));
    return write_records(&maker);
}

nvdp_status nvdp__sentence_vectors(struct nvdp_context *ctx,
                                   const struct nvdp__sentence_options *options, size_t n,
                                   size_t width, float *x, struct nvdp__run *run,
                                   struct nvdp__query_map *query) {
    nvdp__auto(release) struct maker maker = {
        .ctx = ctx,
        .options = options,
        .bert = {.struct_size = sizeof maker.bert, .hidden_size = width, .num_attention_heads = 1},
        .info = {.max_length = 1},
        .width = width};
    nvdp__sentence_pool(&maker.sentence, NVDP__POOLING_CLS, width);
    NVDP_TRY(configure(&maker));
    NVDP_TRY(check_count(&maker, n));
    NVDP_TRY(measure_vectors(&maker, n, x));
    NVDP_TRY(build(&maker));
    *query = (struct nvdp__query_map){.vectors = true,
                                      .width = width,
                                      .dim = maker.dim,
                                      .center = maker.center,
                                      .map = maker.map};
    run->config = maker.config;
    run->model = maker.model;
    maker.center = maker.map = NULL;
    maker.model = NULL;
    return NVDP_OK;
}

nvdp_status nvdp__distill_run(struct nvdp__trainer *trainer, struct nvdp_train_result *result) {
    const struct nvdp__train_options *config = &trainer->config;
    const char *column = config->columns.text_column;
    const struct nvdp__sentence_options options = {.model = config->model,
                                                   .center = config->input,
                                                   .text_column = column != NULL ? column : "text",
                                                   .reduce = config->nvib.latent_dim,
                                                   .clip = config->nvib.clip.sequence,
                                                   .epsilon = config->certified_epsilon,
                                                   .releases = config->certified_releases,
                                                   .batch = config->eval_batch,
                                                   .distill = config,
                                                   .trainer = trainer,
                                                   .result = result};
    return nvdp__sentence_run(trainer->ctx, &options, config->out);
}

void nvdp__query_map_release(struct nvdp__query_map *map) {
    free(map->texts);
    free(map->center);
    free(map->map);
    free(map->decoder);
    *map = (struct nvdp__query_map){0};
}

static nvdp_status download(const struct nvdp_model *model, const char *name, size_t n,
                            float **out) {
    const size_t index = nvdp__params_find(&model->params, name);
    if (index == SIZE_MAX) return NVDP_OK;
    NVDP_TRY(NVDP__NEW(model->ctx, *out, n));
    nvdp__download(&model->dev, n, nvdp__value(&model->params, index), *out);
    return NVDP_OK;
}

nvdp_status nvdp__sentence_query_map(struct nvdp_context *ctx, const char *run,
                                     const struct nvdp_model *model, struct nvdp__query_map *out) {
    nvdp__auto(nvdp__query_map_release) struct nvdp__query_map made = {
        .max_length = model->info.max_length,
        .width = model->info.bert.hidden_size,
        .dim = model->info.nvib.latent_dim};
    nvdp__autoptr(json_decref) json_t *root = NULL;
    int64_t empty = 0;
    const char *encoder = NULL, *sha256 = NULL, *pool = NULL, *texts = NULL, *digest = NULL;
    const struct nvdp__path path = nvdp__path(run, "run.json");
    NVDP_TRY(nvdp__json_read(ctx, path.text, &root));
    const json_t *record = json_object_get(root, RECORD);
    NVDP_TRY(nvdp__json_int_required(ctx, path.text, record, "empty", 0, 1 << 16, &empty));
    NVDP_TRY(nvdp__json_string(ctx, path.text, record, "encoder", "", &encoder));
    NVDP_TRY(nvdp__json_string(ctx, path.text, record, "encoder_sha256", "", &sha256));
    NVDP_TRY(nvdp__json_string(ctx, path.text, record, "pool", "mean", &pool));
    NVDP_TRY(nvdp__json_string(ctx, path.text, record, "center_sha256", "", &digest));
    NVDP_TRY(nvdp__json_string(ctx, path.text, record, TEXTS, NULL, &texts));
    made.empty = (size_t)empty;
    nvdp__snprintf(made.encoder, sizeof made.encoder, "%s", encoder);
    nvdp__snprintf(made.sha256, sizeof made.sha256, "%s", sha256);
    nvdp__snprintf(made.pool, sizeof made.pool, "%s", pool);
    nvdp__snprintf(made.texts_sha256, sizeof made.texts_sha256, "%s", digest);
    if (texts != NULL) NVDP_TRY(NVDP__MADE(made.texts = nvdp__strdup(ctx, texts)));
    NVDP_TRY(download(model, NVDP__SENTENCE_CENTER, made.width, &made.center));
    NVDP_TRY(download(model, NVDP__SENTENCE_MAP, made.dim * made.width, &made.map));
    if (json_is_true(json_object_get(record, DECODER)))
        NVDP_TRY(read_tensor(ctx, run, DECODER_FILE, DECODER, made.width, made.dim, &made.decoder));
    return NVDP__HAND_OVER(out, made);
}
