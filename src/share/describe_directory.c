/* Directories: runs, models, readers. */
#include "base/file.h"
#include "base/json.h"
#include "share/describe.h"
#include <errno.h>
#include <nvdp/bert.h>
#include <nvdp/safetensors.h>
#include <stdlib.h>
#include <string.h>

/* Every string of a value made fit to be shown; a new value. */
static json_t *shown_copy(const json_t *value) {
    if (json_is_string(value)) return nvdp__shown(json_string_value(value));
    if (json_is_array(value)) {
        json_t *array = json_array();
        size_t i;
        const json_t *item;
        json_array_foreach(value, i, item) {
            json_array_append_new(array, shown_copy(item));
        }
        return array;
    }
    if (json_is_object(value)) {
        json_t *object = json_object();
        const char *key;
        json_t *item;
        json_object_foreach((json_t *)value, key, item) {
            json_t *name = nvdp__shown(key);
            if (name != NULL)
                json_object_set_new(object, json_string_value(name), shown_copy(item));
            json_decref(name);
        }
        return object;
    }
    return json_deep_copy(value);
}

/* Member `key` of `from`, where it is there, into `to`. */
static void take(json_t *to, const json_t *from, const char *key) {
    const json_t *value = json_object_get(from, key);
    if (value != NULL) json_object_set_new(to, key, shown_copy(value));
}

/* --- runs --- */

/* Lines of metrics.jsonl, and the last epoch that one of them tells of. */
static nvdp_status read_metrics(struct nvdp_context *ctx, const char *directory, json_t *object) {
    char *line = NULL;
    size_t room = 0;
    json_int_t lines = 0;
    json_int_t epochs = 0;
    char *path = nvdp__join(ctx, directory, "metrics.jsonl");
    if (path == NULL) return NVDP_ERR_MEMORY;
    FILE *file = fopen(path, "rbe");
    free(path);
    if (file == NULL) return NVDP_OK;
    for (ssize_t size; (size = getline(&line, &room, file)) >= 0; lines++) {
        json_t *entry = json_loadb(line, (size_t)size, 0, NULL); /* a torn last line is no error */
        const char *event = json_string_value(json_object_get(entry, "event"));
        if (event != NULL && strcmp(event, "epoch") == 0)
            epochs = json_integer_value(json_object_get(entry, "epoch"));
        json_decref(entry);
    }
    free(line);
    fclose(file);
    json_object_set_new(object, "metrics_lines", json_integer(lines));
    json_object_set_new(object, "epochs_done", json_integer(epochs));
    return NVDP_OK;
}

static nvdp_status describe_run(struct nvdp_context *ctx, const char *path, json_t **out) {
    static const char *const facts[] = {"created", "parameters", "steps",   "data",
                                        "config",  "software",   "hardware"};
    nvdp_status status = NVDP_OK;
    json_t *run = NULL;
    json_t *result = NULL;
    json_t *privacy = NULL;
    json_t *object = json_object();
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "run.json", &run));
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "result.json", &result));
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "privacy.json", &privacy));
    json_object_set_new(object, "kind", json_string("run directory"));
    json_object_set_new(object, "finished", json_boolean(result != NULL));
    NVDP_TRY(read_metrics(ctx, path, object));
    if (result != NULL) json_object_set_new(object, "result", shown_copy(result));
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        take(object, run, facts[i]);
    }
    if (privacy != NULL) json_object_set_new(object, "privacy", shown_copy(privacy));
    *out = object;
    object = NULL;
cleanup:
    json_decref(object);
    json_decref(run);
    json_decref(result);
    json_decref(privacy);
    return status;
}

/* --- models and readers --- */

static nvdp_status count_weights(struct nvdp_context *ctx, const char *directory, json_t *object) {
    nvdp_status status = NVDP_OK;
    struct nvdp_safetensors *file = NULL;
    char fingerprint[65];
    size_t elements = 0;
    char *path = nvdp__join(ctx, directory, "model.safetensors");
    if (path == NULL) return NVDP_ERR_MEMORY;
    if (!nvdp__exists(path)) goto cleanup;
    NVDP_TRY(nvdp_safetensors_open(ctx, path, &file));
    NVDP_TRY(nvdp__file_sha256(ctx, path, fingerprint));
    for (size_t i = 0; i < nvdp_safetensors_count(file); i++) {
        elements += nvdp_safetensors_at(file, i)->count;
    }
    json_object_set_new(object, "tensors", json_integer((json_int_t)nvdp_safetensors_count(file)));
    json_object_set_new(object, "elements", json_integer((json_int_t)elements));
    json_object_set_new(object, "fingerprint", json_string(fingerprint));
cleanup:
    nvdp_safetensors_close(file);
    free(path);
    return status;
}

static nvdp_status count_pieces(struct nvdp_context *ctx, const char *directory, json_t *object) {
    nvdp_status status = NVDP_OK;
    json_t *vocabulary = NULL;
    char *path = nvdp__join(ctx, directory, "vocab.txt");
    if (path == NULL) return NVDP_ERR_MEMORY;
    if (!nvdp__exists(path)) goto cleanup;
    NVDP_TRY(nvdp__describe_file(ctx, path, &vocabulary));
    json_object_set(object, "vocabulary", json_object_get(vocabulary, "pieces"));
cleanup:
    json_decref(vocabulary);
    free(path);
    return status;
}

static nvdp_status describe_model(struct nvdp_context *ctx, const char *path, json_t **out) {
    nvdp_status status = NVDP_OK;
    json_t *config = NULL;
    json_t *object = json_object();
    struct nvdp_bert_config bert;
    NVDP_TRY(nvdp__json_read_optional(ctx, path, "config.json", &config));
    const char *format = json_string_value(json_object_get(config, "nvdp_format"));
    json_object_set_new(object, "kind",
                        format != NULL ? nvdp__shown(format) : json_string("model directory"));
    if (format == NULL) { /* a reader's configuration is its own */
        NVDP_TRY(nvdp_bert_config_read(ctx, path, &bert));
        json_object_set_new(object, "encoder_parameters",
                            json_integer((json_int_t)nvdp_bert_parameter_count(&bert)));
    }
    NVDP_TRY(count_weights(ctx, path, object));
    NVDP_TRY(count_pieces(ctx, path, object));
    json_object_set_new(object, "config", shown_copy(config));
    *out = object;
    object = NULL;
cleanup:
    json_decref(object);
    json_decref(config);
    return status;
}

/* --- which --- */

static bool has(struct nvdp_context *ctx, const char *directory, const char *name) {
    char *path = nvdp__join(ctx, directory, name);
    bool there = path != NULL && nvdp__exists(path);
    free(path);
    return there;
}

nvdp_status nvdp__describe_directory(struct nvdp_context *ctx, const char *path, json_t **out) {
    if (has(ctx, path, "run.json")) return describe_run(ctx, path, out);
    if (has(ctx, path, "config.json")) return describe_model(ctx, path, out);
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: expected a run (run.json), a model or a reader (config.json), found "
                      "neither",
                      path);
}
