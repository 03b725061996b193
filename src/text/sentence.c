/* Folders of sentence-transformers (sentence.h): paths, pooling, and the length of texts. */
#include "text/sentence.h"

#include "base/file.h"
#include "base/json.h"
#include <stdlib.h>
#include <string.h>

#define MODULES "modules.json"
enum { MAX_TOKENS = 1 << 20 };

const char *const nvdp__pooling_names[] = {
    [NVDP__POOLING_AUTO] = "auto", [NVDP__POOLING_NONE] = "none", [NVDP__POOLING_MEAN] = "mean",
    [NVDP__POOLING_CLS] = "cls",   [NVDP__POOLING_MAX] = "max",   NULL};

/* ---- modules.json: an array of objects with type and path, in order of computation ---- */

/* The class name without its Python module, which changes between versions; "" if there is none. */
static const char *class_of(const json_t *module) {
    const char *type = json_string_value(json_object_get(module, "type"));
    if (type == NULL) return "";
    const char *dot = strrchr(type, '.');
    return dot != NULL ? dot + 1 : type;
}

static const char *path_of(const json_t *module) {
    const char *path = json_string_value(json_object_get(module, "path"));
    return path != NULL ? path : "";
}

/* *out stays NULL if the file does not exist. */
static nvdp_status read_modules(struct nvdp_context *ctx, const char *directory, json_t **out) {
    char *path = nvdp__join(ctx, directory, MODULES);
    if (path == NULL) return NVDP_ERR_MEMORY;
    nvdp_status status = nvdp__exists(path) ? nvdp__json_read_array(ctx, path, out) : NVDP_OK;
    free(path);
    return status;
}

/* Sets *folder to the path of the Transformer's subfolder, free() it; NULL: there is none. Logs a
 * notice if modules.json cannot be read; fails only without memory. */
static nvdp_status transformer_folder(struct nvdp_context *ctx, const char *directory,
                                      char **folder) {
    json_t *modules = NULL;
    const json_t *module;
    size_t i;
    nvdp_status status = read_modules(ctx, directory, &modules);
    if (status == NVDP_ERR_MEMORY) return status;
    if (status != NVDP_OK) nvdp__log(ctx, NVDP_LOG_NOTICE, "%s", nvdp_context_error(ctx));
    status = NVDP_OK;
    *folder = NULL;
    json_array_foreach(modules, i, module) {
        if (strcmp(class_of(module), "Transformer") != 0) continue;
        if (path_of(module)[0] != '\0') {
            *folder = nvdp__join(ctx, directory, path_of(module));
            if (*folder == NULL) status = NVDP_ERR_MEMORY;
        }
        break;
    }
    json_decref(modules);
    return status;
}

nvdp_status nvdp__model_folder(struct nvdp_context *ctx, const char *directory) {
    if (nvdp__is_directory(directory)) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_IO,
        "%s: no such folder: expected one of this machine (no hub is asked) with config.json, "
        "model.safetensors and vocab.txt, or vocab.json and merges.txt, or tokenizer.json",
        directory);
}

char *nvdp__model_path(struct nvdp_context *ctx, const char *directory, const char *name) {
    char *path = nvdp__join(ctx, directory, name);
    if (path == NULL || nvdp__exists(path)) return path;
    char *folder;
    nvdp_status status = transformer_folder(ctx, directory, &folder);
    if (status == NVDP_OK && folder == NULL)
        return path; /* the error about the missing file names this path */
    free(path);
    path = status == NVDP_OK ? nvdp__join(ctx, folder, name) : NULL;
    if (status == NVDP_OK) free(folder);
    return path;
}

/* ---- pooling ---- */

/* Reads one mode by its name, as newer versions write it, or the flags of older versions. */
static nvdp_status read_mode(struct nvdp_context *ctx, const char *path, const json_t *config,
                             enum nvdp__pooling *out) {
    static const char prefix[] = "pooling_mode_";
    static const char *const suffix[] = {[NVDP__POOLING_MEAN] = "mean_tokens",
                                         [NVDP__POOLING_CLS] = "cls_token",
                                         [NVDP__POOLING_MAX] = "max_tokens"};
    const struct nvdp__naming hint = nvdp__with_options(ctx, "({pool} chooses another)");
    const json_t *mode = json_object_get(config, "pooling_mode");
    enum nvdp__pooling found = NVDP__POOLING_NONE;
    const char *key;
    json_t *value;
    for (int i = NVDP__POOLING_MEAN; mode != NULL && i <= NVDP__POOLING_MAX; i++) {
        if (json_is_string(mode) && strcmp(json_string_value(mode), nvdp__pooling_names[i]) == 0)
            found = (enum nvdp__pooling)i;
    }
    if (mode != NULL && found == NVDP__POOLING_NONE)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'pooling_mode': expected mean, cls or max, found %s %s", path,
                          json_is_string(mode) ? json_string_value(mode) : "several", hint.text);
    /* json_object_foreach accepts no const object but does not change it */
    json_object_foreach((json_t *)(uintptr_t)config, key, value) {
        if (mode != NULL || strncmp(key, prefix, sizeof prefix - 1) != 0 || !json_is_true(value))
            continue;
        enum nvdp__pooling one = NVDP__POOLING_NONE;
        for (int i = NVDP__POOLING_MEAN; i <= NVDP__POOLING_MAX; i++) {
            if (strcmp(key + sizeof prefix - 1, suffix[i]) == 0) one = (enum nvdp__pooling)i;
        }
        if (one == NVDP__POOLING_NONE || found != NVDP__POOLING_NONE)
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s: expected one of pooling_mode_mean_tokens, _cls_token, "
                              "_max_tokens, found also '%s' %s",
                              path, key, hint.text);
        found = one;
    }
    /* the default of sentence-transformers */
    *out = found != NVDP__POOLING_NONE ? found : NVDP__POOLING_MEAN;
    return NVDP_OK;
}

static nvdp_status read_pooling(struct nvdp_context *ctx, const char *directory,
                                const json_t *module, size_t hidden_size, enum nvdp__pooling *out) {
    nvdp_status status = NVDP_OK;
    json_t *config = NULL;
    char *path = NULL;
    char *folder = nvdp__join(ctx, directory, path_of(module));
    if (folder != NULL) path = nvdp__join(ctx, folder, "config.json");
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    NVDP_TRY(nvdp__json_read(ctx, path, &config));
    const char *width = json_object_get(config, "word_embedding_dimension") != NULL
                            ? "word_embedding_dimension"
                            : "embedding_dimension";
    int64_t found;
    NVDP_TRY(nvdp__json_int(ctx, path, config, width, (int64_t)hidden_size, (int64_t)hidden_size,
                            (int64_t)hidden_size, &found));
    NVDP_TRY(read_mode(ctx, path, config, out));
cleanup:
    json_decref(config);
    free(path);
    free(folder);
    return status;
}

/* Logs a notice about a default prompt: sentence-transformers puts it before every text, we do
 * not. */
static nvdp_status log_prompt(struct nvdp_context *ctx, const char *directory) {
    static const char file[] = "config_sentence_transformers.json";
    json_t *config = NULL;
    NVDP_RETURN_IF_FAILED(nvdp__json_read_optional(ctx, directory, file, &config));
    const char *name = json_string_value(json_object_get(config, "default_prompt_name"));
    if (name != NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "%s/%s: its default prompt '%.100s' is not put before the texts", directory, file,
                  name);
    json_decref(config);
    return NVDP_OK;
}

static nvdp_status read_all_modules(struct nvdp_context *ctx, const char *directory,
                                    size_t hidden_size, struct nvdp__sentence *out) {
    static const char *const order[] = {"Transformer", "Pooling", "Normalize"};
    nvdp_status status = NVDP_OK;
    json_t *modules = NULL;
    const json_t *module;
    size_t i;
    NVDP_TRY(read_modules(ctx, directory, &modules));
    json_array_foreach(modules, i, module) {
        if (i >= sizeof order / sizeof *order || strcmp(class_of(module), order[i]) != 0)
            NVDP_TRY(nvdp__fail(ctx, NVDP_ERR_INPUT,
                                "%s/" MODULES ": module %zu: expected %s, found '%.100s' ({pool} "
                                "and {normalize} say what to do instead)",
                                directory, i,
                                i < sizeof order / sizeof *order ? order[i] : "no other",
                                class_of(module)));
        if (i == 1) NVDP_TRY(read_pooling(ctx, directory, module, hidden_size, &out->pooling));
        out->normalize = i == 2;
    }
    if (modules != NULL) NVDP_TRY(log_prompt(ctx, directory));
cleanup:
    json_decref(modules);
    return status;
}

/* ---- length ---- */

/* Reads an integer >= 1 from one of the encoder's files. Leaves *out if file or member is
 * missing, or if the value means "no limit". */
static nvdp_status read_length(struct nvdp_context *ctx, const char *directory, const char *file,
                               const char *key, size_t *out) {
    nvdp_status status = NVDP_OK;
    json_t *config = NULL;
    char *path = nvdp__model_path(ctx, directory, file);
    if (path == NULL) NVDP_TRY(NVDP_ERR_MEMORY);
    if (!nvdp__exists(path)) goto cleanup;
    NVDP_TRY(nvdp__json_read(ctx, path, &config));
    const json_t *value = json_object_get(config, key);
    if (value == NULL || json_is_null(value) || json_number_value(value) > MAX_TOKENS) goto cleanup;
    int64_t length;
    NVDP_TRY(nvdp__json_int(ctx, path, config, key, 0, 1, MAX_TOKENS, &length));
    *out = (size_t)length;
cleanup:
    json_decref(config);
    free(path);
    return status;
}

nvdp_status nvdp__sentence_read(struct nvdp_context *ctx, const char *directory, bool modules,
                                size_t hidden_size, struct nvdp__sentence *out) {
    struct nvdp__sentence sentence = {.pooling = NVDP__POOLING_NONE};
    if (modules) NVDP_RETURN_IF_FAILED(read_all_modules(ctx, directory, hidden_size, &sentence));
    NVDP_RETURN_IF_FAILED(read_length(ctx, directory, "tokenizer_config.json", "model_max_length",
                                      &sentence.max_length));
    NVDP_RETURN_IF_FAILED(read_length(ctx, directory, "sentence_bert_config.json", "max_seq_length",
                                      &sentence.max_length));
    *out = sentence;
    return NVDP_OK;
}
