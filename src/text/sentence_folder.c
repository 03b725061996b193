/* Folders of sentence-transformers (sentence_folder.h): paths, modules, and the length of texts. */
#include "text/sentence_folder.h"

#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include <stdlib.h>
#include <string.h>

#define MODULES "modules.json"
#define MODEL2VEC "model2vec"
enum { MAX_TOKENS = 1 << 20, MODEL2VEC_TOKENS = 512 };

/* The first modules that are supported; their folder has the encoder's files. */
static const struct first {
    const char *class;
    /* model_type of a config.json that states none; NULL: the default of the library transformers */
    const char *model_type;
    /* true if the module gives the mean of the tokens, without a module Pooling */
    bool pools;
} firsts[] = {{.class = "Transformer"},
              {.class = "StaticEmbedding", .model_type = "static-embedding", .pools = true},
              {.class = NULL}};

const char *const nvdp__pooling_names[] = {[NVDP__POOLING_AUTO] = "auto",
                                           [NVDP__POOLING_NONE] = "none",
                                           [NVDP__POOLING_MEAN] = "mean",
                                           [NVDP__POOLING_CLS] = "cls",
                                           [NVDP__POOLING_MAX] = "max",
                                           [NVDP__POOLING_MEAN_SQRT_LEN] = "mean_sqrt_len_tokens",
                                           [NVDP__POOLING_WEIGHTED_MEAN] = "weightedmean",
                                           [NVDP__POOLING_LAST] = "lasttoken",
                                           NULL};

/* ---- modules.json: an array of objects with type and path, in order of computation ---- */

/* Returns the class name without the Python module, which changes between versions; "" if there is none. */
static const char *class_name(const json_t *module) {
    const char *type = json_string_value(json_object_get(module, "type"));
    if (type == NULL) return "";
    const char *dot = strrchr(type, '.');
    return dot != NULL ? dot + 1 : type;
}

static const char *module_path(const json_t *module) {
    const char *path = json_string_value(json_object_get(module, "path"));
    return path != NULL ? path : "";
}

/* Returns the row of `firsts` for the first module of a folder; the last row, whose class is NULL, if the module is not
 * supported. */
static const struct first *first_row(const json_t *module) {
    const struct first *first = firsts;
    while (first->class != NULL && strcmp(first->class, class_name(module)) != 0)
        first++;
    return first;
}

/* Reads modules.json; *out stays NULL if the file does not exist. */
static nvdp_status read_modules(struct nvdp_context *ctx, const char *directory, json_t **out) {
    const struct nvdp__path path = nvdp__path(directory, MODULES);
    return nvdp__exists(path.text) ? nvdp__json_read_array(ctx, path.text, out) : NVDP_OK;
}

nvdp_status nvdp__model_folder(struct nvdp_context *ctx, const char *directory) {
    if (nvdp__is_directory(directory)) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_IO,
        "%s: no such folder: expected one of this machine (no hub is asked) with config.json, "
        "model.safetensors and vocab.txt, or vocab.json and merges.txt, or tokenizer.json",
        directory);
}

nvdp_status nvdp__model_path(struct nvdp_context *ctx, const char *directory, const char *name,
                             struct nvdp__path *out) {
    nvdp__autoptr(json_decref) json_t *modules = NULL;
    const json_t *module;
    size_t i;
    *out = nvdp__path(directory, name);
    if (nvdp__exists(out->text)) return NVDP_OK;
    const nvdp_status status = read_modules(ctx, directory, &modules);
    if (status == NVDP_ERR_MEMORY) return status;
    if (status != NVDP_OK) nvdp__log(ctx, NVDP_LOG_NOTICE, "%s", nvdp_context_error(ctx));
    json_array_foreach(modules, i, module) {
        if (first_row(module)->class == NULL) continue;
        if (module_path(module)[0] != '\0')
            *out = nvdp__path(nvdp__path(directory, module_path(module)).text, name);
        break;
    }
    return NVDP_OK;
}

nvdp_status nvdp__model_config(struct nvdp_context *ctx, const char *directory,
                               struct nvdp__path *path, json_t **out) {
    nvdp__autoptr(json_decref) json_t *modules = NULL, *config = NULL;
    NVDP_TRY(nvdp__model_path(ctx, directory, "config.json", path));
    if (nvdp__exists(path->text)) NVDP_TRY(nvdp__json_read(ctx, path->text, &config));
    if (json_object_get(config, "model_type") ==
        NULL) /* for a file that is not JSON, a notice was already logged */
        (void)read_modules(NULL, directory, &modules);
    const char *type = modules != NULL ? first_row(json_array_get(modules, 0))->model_type : NULL;
    if (type != NULL && config == NULL) config = json_object();
    if (type != NULL && json_object_set_new(config, "model_type", json_string(type)) != 0)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: out of memory", path->text);
    return NVDP__HAND_OVER(out, config);
}

/* ---- pooling ---- */

/* Adds a pooling by its name. */
static nvdp_status add_mode(struct nvdp_context *ctx, const char *path, const json_t *mode,
                            struct nvdp__sentence *out) {
    const char *name = json_string_value(mode);
    int found = NVDP__POOLING_MEAN;
    while (name != NULL && found < NVDP__POOLINGS && strcmp(name, nvdp__pooling_names[found]) != 0)
        found++;
    bool twice = false;
    for (size_t i = 0; i < out->poolings; i++)
        twice |= (int)out->pooling[i] == found;
    if (name == NULL || found == NVDP__POOLINGS || twice)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'pooling_mode': expected mean, cls, max, mean_sqrt_len_tokens, "
                          "weightedmean or lasttoken, or several of these, found %s%s ({pool} "
                          "chooses another)",
                          path, name != NULL ? name : "another type", twice ? " twice" : "");
    out->pooling[out->poolings++] = (enum nvdp__pooling)found;
    return NVDP_OK;
}

/* Reads the flags of older versions. The poolings are concatenated in the order of this table. */
static nvdp_status read_flags(struct nvdp_context *ctx, const char *path, const json_t *config,
                              struct nvdp__sentence *out) {
    static const char prefix[] = "pooling_mode_";
    static const struct {
        const char *suffix;
        enum nvdp__pooling pooling;
    } flags[] = {{"cls_token", NVDP__POOLING_CLS},
                 {"max_tokens", NVDP__POOLING_MAX},
                 {"mean_tokens", NVDP__POOLING_MEAN},
                 {"mean_sqrt_len_tokens", NVDP__POOLING_MEAN_SQRT_LEN},
                 {"weightedmean_tokens", NVDP__POOLING_WEIGHTED_MEAN},
                 {"lasttoken", NVDP__POOLING_LAST}};
    enum { FLAGS = sizeof flags / sizeof flags[0] };
    const char *key;
    json_t *value;
    /* json_object_foreach takes no const object, but does not change the object */
    json_object_foreach((json_t *)(uintptr_t)config, key, value) {
        size_t i = 0;
        if (strncmp(key, prefix, sizeof prefix - 1) != 0 || !json_is_true(value)) continue;
        while (i < FLAGS && strcmp(key + sizeof prefix - 1, flags[i].suffix) != 0)
            i++;
        if (i == FLAGS)
            return nvdp__fail(
                ctx, NVDP_ERR_INPUT,
                "%s: '%.100s': expected no other pooling than pooling_mode_cls_token, "
                "_max_tokens, _mean_tokens, _mean_sqrt_len_tokens, "
                "_weightedmean_tokens and _lasttoken, found true ({pool} chooses "
                "another)",
                path, key);
    }
    for (size_t i = 0; i < FLAGS; i++) {
        char flag[64];
        nvdp__snprintf(flag, sizeof flag, "%s%s", prefix, flags[i].suffix);
        if (json_is_true(json_object_get(config, flag)))
            out->pooling[out->poolings++] = flags[i].pooling;
    }
    return NVDP_OK;
}

/* ---- modules ---- */

/* A module with its own folder; the folder of some modules has no config.json. */
struct module {
    struct nvdp_context *ctx;
    struct nvdp__path folder, path; /* `path` is the path of config.json */
    const json_t *config;
};

/* Reads the poolings by their names, as newer versions write them, or by the flags of older versions. */
static nvdp_status read_pooling(const struct module *module, struct nvdp__sentence *out) {
    struct nvdp_context *ctx = module->ctx;
    const char *path = module->path.text;
    const json_t *config = module->config, *mode = json_object_get(config, "pooling_mode"), *one;
    const char *key = json_object_get(config, "word_embedding_dimension") != NULL
                          ? "word_embedding_dimension"
                          : "embedding_dimension";
    const int64_t width = (int64_t)out->width;
    int64_t found;
    size_t i;
    NVDP_TRY(nvdp__json_int(ctx, path, config, key, width, width, width, &found));
    if (mode == NULL)
        NVDP_TRY(read_flags(ctx, path, config, out));
    else if (json_array_size(mode) == 0)
        NVDP_TRY(add_mode(ctx, path, mode, out));
    json_array_foreach(mode, i, one) NVDP_TRY(add_mode(ctx, path, one, out));
    /* the default of sentence-transformers */
    if (out->poolings == 0) out->pooling[out->poolings++] = NVDP__POOLING_MEAN;
    out->width *= out->poolings;
    return NVDP_OK;
}

/* Fails if a member is present with another value than the implemented value. */
static nvdp_status expect(struct nvdp_context *ctx, const char *path, const json_t *config,
                          const char *key, const char *expected) {
    const char *found;
    NVDP_TRY(nvdp__json_string(ctx, path, config, key, expected, &found));
    if (strcmp(found, expected) == 0) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_INPUT,
        "%s: '%s': expected %s, found '%.100s' ({pool} and {normalize} say what to do "
        "instead)",
        path, key, expected, found);
}

/* Checks the names of input and output: both must be the pooled vector. */
static nvdp_status check_names(const struct module *module) {
    static const char vector[] = "sentence_embedding";
    NVDP_TRY(expect(module->ctx, module->path.text, module->config, "module_input_name", vector));
    return expect(module->ctx, module->path.text, module->config, "module_output_name", vector);
}

/* Reads the activation of a dense layer from the name of its class in PyTorch. */
static nvdp_status read_activation(const struct module *module, struct nvdp__sentence_step *step) {
    static const struct {
        const char *class;
        enum nvdp__act act;
    } known[] = {{"Tanh", NVDP__ACT_TANH},
                 {"ReLU", NVDP__ACT_RELU},
                 {"GELU", NVDP__ACT_GELU},
                 {"SiLU", NVDP__ACT_SILU}};
    const char *name;
    NVDP_TRY(nvdp__json_string(module->ctx, module->path.text, module->config,
                               "activation_function", "torch.nn.modules.activation.Tanh", &name));
    const char *dot = strrchr(name, '.');
    const bool torch = strncmp(name, "torch.nn.", 9) == 0;
    step->identity = torch && strcmp(dot + 1, "Identity") == 0;
    if (step->identity) return NVDP_OK;
    for (size_t i = 0; torch && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(dot + 1, known[i].class) != 0) continue;
        step->act = known[i].act;
        return NVDP_OK;
    }
    return nvdp__fail(
        module->ctx, NVDP_ERR_INPUT,
        "%s: 'activation_function': expected torch.nn's Identity, Tanh, ReLU, GELU or "
        "SiLU, found '%.100s'",
        module->path.text, name);
}

static nvdp_status read_dense(const struct module *module, struct nvdp__sentence *out) {
    enum { WIDEST = 1 << 16 };
    struct nvdp_context *ctx = module->ctx;
    struct nvdp__sentence_step step = {.dense = true};
    const int64_t width = (int64_t)out->width;
    int64_t in, wide;
    NVDP_TRY(nvdp__json_int_required(ctx, module->path.text, module->config, "in_features", width,
                                     width, &in));
    NVDP_TRY(nvdp__json_int_required(ctx, module->path.text, module->config, "out_features", 1,
                                     WIDEST, &wide));
    NVDP_TRY(nvdp__json_bool(ctx, module->path.text, module->config, "bias", true, &step.bias));
    NVDP_TRY(nvdp__json_bool(ctx, module->path.text, module->config, "use_residual", false,
                             &step.residual));
    NVDP_TRY(check_names(module));
    NVDP_TRY(read_activation(module, &step));
    step.in = (size_t)in;
    step.out = out->width = (size_t)wide;
    NVDP_TRY(NVDP__MADE(step.folder = nvdp__strdup(ctx, module->folder.text)));
    out->step[out->steps++] = step;
    return NVDP_OK;
}

/* Reads a module after the first module; a pooling sets *include_prompt. */
static nvdp_status read_module(struct nvdp_context *ctx, const char *directory, size_t index,
                               const json_t *entry, struct nvdp__sentence *out,
                               bool *include_prompt) {
    nvdp__autoptr(json_decref) json_t *config = NULL;
    const char *type = json_string_value(json_object_get(entry, "type"));
    const char *class = class_name(entry);
    const bool own = type != NULL && strncmp(type, "sentence_transformers.", 22) == 0;
    const bool pooled = out->poolings > 0;
    const bool pooling = own && strcmp(class, "Pooling") == 0 && !pooled;
    const bool dense = own && strcmp(class, "Dense") == 0 && pooled;
    const bool normalize = own && strcmp(class, "Normalize") == 0 && pooled;
    /* has an effect only in training */
    if (own && strcmp(class, "Dropout") == 0 && pooled) return NVDP_OK;
    if ((!pooling && !dense && !normalize) ||
        /* two entries must be left: for truncate_dim and {normalize} */
        out->steps == NVDP__SENTENCE_STEPS - 2)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s/" MODULES ": module %zu: expected %s, found '%.100s' ({pool} and "
                          "{normalize} say what to do instead)",
                          directory, index,
                          pooled ? "up to 7 of sentence_transformers' Dense, Normalize, Dropout"
                                 : "sentence_transformers' Pooling",
                          type != NULL ? type : "");
    struct module module = {.ctx = ctx, .folder = nvdp__path(directory, module_path(entry))};
    module.path = nvdp__path(module.folder.text, "config.json");
    if (!normalize || nvdp__exists(module.path.text))
        NVDP_TRY(nvdp__json_read(ctx, module.path.text, &config));
    module.config = config;
    if (dense) return read_dense(&module, out);
    if (pooling) {
        NVDP_TRY(read_pooling(&module, out));
        return nvdp__json_bool(ctx, module.path.text, config, "include_prompt", true,
                               include_prompt);
    }
    NVDP_TRY(check_names(&module));
    out->step[out->steps++] = (struct nvdp__sentence_step){0};
    return NVDP_OK;
}

/* Refuses a Transformer module whose states are not the encoder's last states, or that changes texts to lower case
 * although the tokenizer does not. */
static nvdp_status check_transformer(struct nvdp_context *ctx, const char *directory) {
    nvdp__autoptr(json_decref) json_t *config = NULL, *tokenizer = NULL;
    bool lower = false, lowers = false;
    struct nvdp__path found, tokens, vocabulary;
    const char *const path = found.text;
    NVDP_TRY(nvdp__model_path(ctx, directory, "sentence_bert_config.json", &found));
    NVDP_TRY(nvdp__model_path(ctx, directory, "tokenizer_config.json", &tokens));
    NVDP_TRY(nvdp__model_path(ctx, directory, "vocab.txt", &vocabulary));
    if (!nvdp__exists(path)) return NVDP_OK;
    NVDP_TRY(nvdp__json_read(ctx, path, &config));
    NVDP_TRY(expect(ctx, path, config, "transformer_task", "feature-extraction"));
    NVDP_TRY(expect(ctx, path, config, "module_output_name", "token_embeddings"));
    NVDP_TRY(nvdp__json_bool(ctx, path, config, "do_lower_case", false, &lower));
    if (!lower) return NVDP_OK;
    if (nvdp__exists(tokens.text)) NVDP_TRY(nvdp__json_read(ctx, tokens.text, &tokenizer));
    /* the default of WordPiece */
    NVDP_TRY(nvdp__json_bool(ctx, tokens.text, tokenizer, "do_lower_case",
                             nvdp__exists(vocabulary.text), &lowers));
    if (!lowers)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'do_lower_case': expected false, as the tokenizer keeps case, found "
                          "true; lower-case the texts and set it to false",
                          path);
    return NVDP_OK;
}

/* Adds the cut to 'truncate_dim' numbers. sentence-transformers cuts after all modules, including Normalize. */
static nvdp_status read_cut(struct nvdp_context *ctx, const char *path, const json_t *config,
                            struct nvdp__sentence *out) {
    int64_t width = 0;
    NVDP_TRY(nvdp__json_int(ctx, path, config, "truncate_dim", 0, 1, MAX_TOKENS, &width));
    if (width == 0 || (size_t)width >= out->width) return NVDP_OK;
    out->width = (size_t)width;
    out->step[out->steps++] = (struct nvdp__sentence_step){.out = out->width};
    return NVDP_OK;
}

/* Reads the width to which vectors are cut, and the default prompt. The tokens of a prompt belong to the vector, so
 * a pooling that leaves out the prompt is refused. */
static nvdp_status read_config(struct nvdp_context *ctx, const char *directory, bool pooled,
                               struct nvdp__sentence *out) {
    static const char file[] = "config_sentence_transformers.json";
    nvdp__autoptr(json_decref) json_t *config = NULL;
    NVDP_TRY(nvdp__json_read_optional(ctx, directory, file, &config));
    if (out->poolings > 0) NVDP_TRY(read_cut(ctx, nvdp__path(directory, file).text, config, out));
    const char *name = json_string_value(json_object_get(config, "default_prompt_name"));
    if (name == NULL) return NVDP_OK;
    const char *prompt =
        json_string_value(json_object_get(json_object_get(config, "prompts"), name));
    if (prompt == NULL)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s/%s: 'default_prompt_name': expected a name with a text in 'prompts', "
                          "found '%.100s'",
                          directory, file, name);
    if (prompt[0] == '\0') return NVDP_OK;
    if (!pooled)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: 'include_prompt' of the Pooling module: expected true, as the default "
            "prompt '%.100s' is put before each text, found false ({pool} pools without "
            "a prompt)",
            directory, name);
    return NVDP__MADE(out->prompt = nvdp__strdup(ctx, prompt));
}

const char *nvdp__pooling_text(const struct nvdp__sentence *sentence,
                               char text[NVDP__POOLING_TEXT]) {
    size_t used = 0;
    nvdp__snprintf(text, NVDP__POOLING_TEXT, "%s", nvdp__pooling_names[NVDP__POOLING_NONE]);
    for (size_t i = 0; i < sentence->poolings; i++)
        used += (size_t)nvdp__snprintf(text + used, NVDP__POOLING_TEXT - used, "%s%s",
                                       i > 0 ? "+" : "", nvdp__pooling_names[sentence->pooling[i]]);
    return text;
}

bool nvdp__sentence_normalizes(const struct nvdp__sentence *sentence) {
    if (sentence->steps == 0) return false;
    const struct nvdp__sentence_step *last = &sentence->step[sentence->steps - 1];
    return !last->dense && last->out == 0;
}

void nvdp__sentence_pool(struct nvdp__sentence *sentence, enum nvdp__pooling pooling,
                         size_t hidden_size) {
    const size_t max_length = sentence->max_length;
    nvdp__sentence_release(sentence);
    *sentence = (struct nvdp__sentence){.pooling = {pooling},
                                        .poolings = pooling == NVDP__POOLING_NONE ? 0 : 1,
                                        .width = hidden_size,
                                        .max_length = max_length};
}

void nvdp__sentence_normalize(struct nvdp__sentence *sentence, bool normalize) {
    while (!normalize && nvdp__sentence_normalizes(sentence))
        sentence->steps--;
    if (normalize && !nvdp__sentence_normalizes(sentence))
        sentence->step[sentence->steps++] = (struct nvdp__sentence_step){0};
}

void nvdp__sentence_release(struct nvdp__sentence *sentence) {
    for (size_t i = 0; i < sentence->steps; i++)
        free(sentence->step[i].folder);
    free(sentence->prompt);
    *sentence = (struct nvdp__sentence){0};
}

/* ---- length ---- */

/* Reads an integer >= 1 from one of the encoder's files, or from the object `section` in it. Leaves *out unchanged
 * if the file or the member is missing, or if the value means "no limit". */
static nvdp_status read_length(struct nvdp_context *ctx, const char *directory, const char *file,
                               const char *section, const char *key, size_t *out) {
    nvdp__autoptr(json_decref) json_t *config = NULL;
    struct nvdp__path path;
    NVDP_TRY(nvdp__model_path(ctx, directory, file, &path));
    if (!nvdp__exists(path.text)) return NVDP_OK;
    NVDP_TRY(nvdp__json_read(ctx, path.text, &config));
    const json_t *from = section != NULL ? json_object_get(config, section) : config;
    const json_t *value = json_object_get(from, key);
    if (value == NULL || json_is_null(value) || json_number_value(value) > MAX_TOKENS)
        return NVDP_OK;
    int64_t length;
    NVDP_TRY(nvdp__json_int(ctx, path.text, from, key, 0, 1, MAX_TOKENS, &length));
    *out = (size_t)length;
    return NVDP_OK;
}

/* Reads the length at which a text is cut. A table of vectors reads whole texts, unless tokenizer.json has a length;
 * for Model2Vec, unless config.json has one. */
static nvdp_status read_lengths(struct nvdp_context *ctx, const char *directory,
                                const json_t *config, size_t *out) {
    const char *type = json_string_value(json_object_get(config, "model_type"));
    if (type != NULL && strcmp(type, MODEL2VEC) == 0) {
        *out = json_object_get(config, "max_length") == NULL ? MODEL2VEC_TOKENS : 0;
        return read_length(ctx, directory, "config.json", NULL, "max_length", out);
    }
    if (type != NULL && strcmp(type, firsts[1].model_type) == 0)
        return read_length(ctx, directory, "tokenizer.json", "truncation", "max_length", out);
    NVDP_TRY(read_length(ctx, directory, "tokenizer_config.json", NULL, "model_max_length", out));
    return read_length(ctx, directory, "sentence_bert_config.json", NULL, "max_seq_length", out);
}

/* Adds the mean of a Model2Vec folder, whose config.json states if the mean is scaled to unit length. */
static nvdp_status read_model2vec(struct nvdp_context *ctx, const char *path, const json_t *config,
                                  struct nvdp__sentence *out) {
    const char *type = json_string_value(json_object_get(config, "model_type"));
    bool unit = false;
    if (type == NULL || strcmp(type, MODEL2VEC) != 0) return NVDP_OK;
    NVDP_TRY(nvdp__json_bool(ctx, path, config, "normalize", false, &unit));
    if (out->poolings == 0) out->pooling[out->poolings++] = NVDP__POOLING_MEAN;
    if (unit) nvdp__sentence_normalize(out, true);
    return NVDP_OK;
}

nvdp_status nvdp__sentence_read(struct nvdp_context *ctx, const char *directory, bool modules,
                                size_t hidden_size, struct nvdp__sentence *out) {
    nvdp__autoptr(json_decref) json_t *list = NULL, *model = NULL;
    struct nvdp__path path;
    const json_t *entry;
    bool include_prompt = true;
    size_t i;
    nvdp__auto(nvdp__sentence_release) struct nvdp__sentence sentence = {.width = hidden_size};
    if (modules) NVDP_TRY(read_modules(ctx, directory, &list));
    json_array_foreach(list, i, entry) {
        const char *type = json_string_value(json_object_get(entry, "type"));
        const struct first *first = first_row(entry);
        if (i == 0 && (type == NULL || strncmp(type, "sentence_transformers.", 22) != 0 ||
                       first->class == NULL))
            return nvdp__fail(ctx, NVDP_ERR_INPUT,
                              "%s/" MODULES ": module 0: expected sentence_transformers' "
                              "Transformer or StaticEmbedding, found '%.100s' ({pool} and "
                              "{normalize} say what to do instead)",
                              directory, type != NULL ? type : "");
        if (i == 0 && first->pools) sentence.pooling[sentence.poolings++] = NVDP__POOLING_MEAN;
        if (i > 0) NVDP_TRY(read_module(ctx, directory, i, entry, &sentence, &include_prompt));
    }
    if (list != NULL) NVDP_TRY(check_transformer(ctx, directory));
    NVDP_TRY(nvdp__model_config(ctx, directory, &path, &model));
    if (modules) NVDP_TRY(read_model2vec(ctx, path.text, model, &sentence));
    if (list != NULL) NVDP_TRY(read_config(ctx, directory, include_prompt, &sentence));
    NVDP_TRY(read_lengths(ctx, directory, model, &sentence.max_length));
    return NVDP__HAND_OVER(out, sentence);
}
