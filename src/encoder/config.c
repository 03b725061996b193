/* The configuration of encoders: members of config.json with their ranges, the names of BERT's
 * sizes, reading and writing. */
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/row.h"
#include "options/schema.h"
#include "text/sentence_folder.h"

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/own.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- activations ---- */

/* All names that the library transformers has for the activations of this library; the names of
 * this library come first. */
static const struct {
    const char *name;
    enum nvdp_activation activation;
} activations[] = {
#define ROW(NAME, name) {#name, NVDP_ACTIVATION_##NAME},
    NVDP__ACTIVATIONS(ROW)
#undef ROW
        {"gelu_python", NVDP_ACTIVATION_GELU},
    {"gelu_pytorch_tanh", NVDP_ACTIVATION_GELU_NEW},
    {"gelu_python_tanh", NVDP_ACTIVATION_GELU_NEW},
    {"gelu_fast", NVDP_ACTIVATION_GELU_NEW},
    {"gelu_accurate", NVDP_ACTIVATION_GELU_NEW},
    {"swish", NVDP_ACTIVATION_SILU},
};
enum { ACTIVATION_NAMES = sizeof activations / sizeof activations[0] };
#define ROW(NAME, name)                                                                            \
    _Static_assert((int)NVDP_ACTIVATION_##NAME == (int)NVDP__ACT_##NAME, "one order");
NVDP__ACTIVATIONS(ROW)
#undef ROW
#define EXPECTED_ACTIVATION                                                                        \
    "expected gelu, gelu_new (also as gelu_pytorch_tanh, gelu_fast, gelu_accurate), relu, silu "   \
    "(swish) or quick_gelu, found "

enum nvdp__act nvdp__activation_operation(enum nvdp_activation activation) {
    return (enum nvdp__act)activation;
}

const char *nvdp__activation_name(enum nvdp_activation activation) {
    return activations[activation].name;
}

nvdp_status nvdp__activation_find(struct nvdp_context *ctx, const char *path, const char *key,
                                  const char *name, enum nvdp_activation *out) {
    for (size_t i = 0; i < ACTIVATION_NAMES; i++) {
        if (strcmp(name, activations[i].name) != 0) continue;
        *out = activations[i].activation;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': " EXPECTED_ACTIVATION "'%.100s'", path, key,
                      name);
}

/* ---- the numbers: their names and ranges ---- */

/* The sizes in a configuration. The row of a model type has the type's keys (row.h). */
static const struct size_field {
    const char *name; /* name of the member in this library */
    enum nvdp__config_key member;
    size_t at; /* offset of the size_t in struct nvdp_bert_config */
    bool required;
    bool own;    /* true if the member belongs only to types that have a key for it */
    int64_t max; /* the range is 1 to max; max is so small that no product of sizes overflows */
} sizes[] = {
#define SIZE(member, key, required, own, max)                                                      \
    { #member, key, offsetof(struct nvdp_bert_config, member), required, own, max }
    SIZE(hidden_size, NVDP__KEY_HIDDEN_SIZE, true, false, 1 << 16),
    SIZE(num_hidden_layers, NVDP__KEY_LAYERS, true, false, 1 << 10),
    SIZE(num_attention_heads, NVDP__KEY_HEADS, true, false, 1 << 16),
    SIZE(intermediate_size, NVDP__KEY_INTERMEDIATE_SIZE, true, false, 1 << 20),
    SIZE(vocab_size, NVDP__KEY_VOCAB_SIZE, true, false, 1 << 24),
    SIZE(max_position_embeddings, NVDP__KEY_POSITIONS, false, false, 1 << 20),
    SIZE(type_vocab_size, NVDP__KEY_TYPES, false, false, 1 << 10),
    SIZE(embedding_size, NVDP__KEY_EMBEDDING_SIZE, true, true, 1 << 16),
#undef SIZE
};

static const struct real_field {
    const char *name;
    enum nvdp__config_key member;
    size_t at; /* offset of the double */
    double min, max;
} reals[] = {
#define REAL(member, key, min, max)                                                                \
    { #member, key, offsetof(struct nvdp_bert_config, member), min, max }
    REAL(layer_norm_eps, NVDP__KEY_NORM_EPS, 1e-30, 1),
    REAL(hidden_dropout_prob, NVDP__KEY_HIDDEN_DROPOUT, 0, 0.99),
    REAL(attention_probs_dropout_prob, NVDP__KEY_ATTENTION_DROPOUT, 0, 0.99),
    REAL(initializer_range, NVDP__KEY_INITIALIZER_RANGE, 0, 10),
#undef REAL
};
enum { SIZES = sizeof sizes / sizeof sizes[0], REALS = sizeof reals / sizeof reals[0] };

static size_t size_value(const struct nvdp_bert_config *config, int field) {
    return *(const size_t *)(const void *)((const char *)config + sizes[field].at);
}

static double real_value(const struct nvdp_bert_config *config, int field) {
    return *(const double *)(const void *)((const char *)config + reals[field].at);
}

struct nvdp_bert_config nvdp__bert_config_default(void) {
    return (struct nvdp_bert_config){
        .struct_size = sizeof(struct nvdp_bert_config),
        .hidden_size = 768,
        .num_hidden_layers = 12,
        .num_attention_heads = 12,
        .intermediate_size = 3072,
        .vocab_size = 30522,
        .max_position_embeddings = 512,
        .type_vocab_size = 2,
        .layer_norm_eps = 1e-12,
        .hidden_act = NVDP_ACTIVATION_GELU,
        .hidden_dropout_prob = 0.1,
        .attention_probs_dropout_prob = 0.1,
        .initializer_range = 0.02,
        .pad_token_id = 0,
        .global_rope_theta = 160000,
        .local_rope_theta = 10000,
        .local_attention = 128,
        .global_attn_every_n_layers = 3,
    };
}

nvdp_status nvdp_bert_config_default(struct nvdp_context *ctx, struct nvdp_bert_config *out) {
    const struct nvdp_bert_config made = nvdp__bert_config_default();
    NVDP_TRY(nvdp__can_give(ctx, out));
    return NVDP__GIVE(out, &made);
}

nvdp_status nvdp__bert_config_take(struct nvdp_context *ctx, const struct nvdp_bert_config *given,
                                   struct nvdp_bert_config *out) {
    struct nvdp_bert_config made = nvdp__bert_config_default();
    NVDP_TRY(nvdp__can_give(ctx, given));
    nvdp__give(&made, given, given->struct_size);
    *out = made;
    return NVDP_OK;
}

static const struct {
    const char *name;
    size_t layers, hidden_size;
} named[] = {
#define SIZE(name, layers, hidden_size) {#name, layers, hidden_size},
    NVDP__BERT_SIZES(SIZE)
#undef SIZE
};

nvdp_status nvdp_bert_config_find(struct nvdp_context *ctx, const char *name,
                                  struct nvdp_bert_config *out) {
    NVDP_TRY(nvdp__can_give(ctx, out));
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (strcmp(name, named[i].name) != 0) continue;
        struct nvdp_bert_config config = nvdp__bert_config_default();
        config.hidden_size = named[i].hidden_size;
        config.num_hidden_layers = named[i].layers;
        config.num_attention_heads = named[i].hidden_size / 64;
        config.intermediate_size = 4 * named[i].hidden_size;
        return NVDP__GIVE(out, &config);
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "arch '%s': expected tiny, mini, small, base or large", name);
}

nvdp_status nvdp__bert_config_check(struct nvdp_context *ctx,
                                    const struct nvdp_bert_config *given) {
    struct nvdp_bert_config whole, *config = &whole;
    NVDP_TRY(nvdp__bert_config_take(ctx, given, &whole));
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config->model_type);
    char list[NVDP__ENCODER_LIST];
    if (row == NULL)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'model_type': expected %s, found number %d",
                          nvdp__encoder_list(list), (int)config->model_type);
    for (int i = 0; i < SIZES; i++) {
        size_t value = size_value(config, i);
        if (sizes[i].own && row->key[sizes[i].member] == NULL) continue;
        if (value < 1 || value > (size_t)sizes[i].max)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'%s': expected 1 to %lld, found %zu",
                              sizes[i].name, (long long)sizes[i].max, value);
    }
    for (int i = 0; i < REALS; i++) {
        const struct real_field *field = &reals[i];
        double value = real_value(config, i);
        if (!(value >= field->min && value <= field->max)) /* also refuses NaN */
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'%s': expected %g to %g, found %g",
                              field->name, field->min, field->max, value);
    }
    if (row->check != NULL) NVDP_TRY(row->check(ctx, config));
    if ((unsigned)config->hidden_act >= NVDP__ACT_TANH)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'hidden_act': " EXPECTED_ACTIVATION "number %d",
                          (int)config->hidden_act);
    if (config->pad_token_id < 0 || config->pad_token_id >= (int64_t)config->vocab_size)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'pad_token_id': expected 0 to %zu, found %lld",
                          config->vocab_size - 1, (long long)config->pad_token_id);
    return NVDP_OK;
}

/* ---- config.json ---- */

/* Members of variants that have the same tensor names but compute something else, and the value
 * that this library computes. Other members of the library transformers do not change the states
 * of an encoder (chunk_size_feed_forward, use_cache, tie_word_embeddings, classifier_dropout,
 * ...). */
static const struct {
    const char *key;
    const char *expected; /* a string; NULL stands for false, null, or an empty object or array */
    const char *why;
} variants[] = {
    {"position_embedding_type", "absolute", "positions that attention adds are not computed"},
    {"feed_forward_type", "original", "gated inner layers are not computed"},
    {"is_decoder", NULL, "an encoder reads all tokens of a text"},
    {"is_encoder_decoder", NULL, "an encoder alone is computed"},
    {"add_cross_attention", NULL, "there is no second text to attend to"},
    {"pruned_heads", NULL, "all heads of a layer are needed"},
    {"quantization_config", NULL, "save the model in float32, bfloat16 or float16"},
};

static nvdp_status check_variant(struct nvdp_context *ctx, const char *path, const json_t *json) {
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        const char *key = variants[i].key, *expected = variants[i].expected;
        const json_t *value = json_object_get(json, key);
        const char *text = json_string_value(value);
        const bool none = value == NULL || json_is_null(value);
        const bool empty =
            json_is_false(value) || ((json_is_object(value) || json_is_array(value)) &&
                                     json_object_size(value) == 0 && json_array_size(value) == 0);
        if (none || (expected == NULL ? empty : text != NULL && strcmp(text, expected) == 0))
            continue;
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: '%s': expected %s, found %s%.100s%s (%s)", path,
                          key, expected != NULL ? expected : "false or nothing",
                          text != NULL ? "'" : "", text != NULL ? text : "another value",
                          text != NULL ? "'" : "", variants[i].why);
    }
    /* {"AutoModel": "FILE--CLASS"} */
    const json_t *map = json_object_get(json, "auto_map");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)map, key, value) {
        if (strncmp(key, "AutoModel", 9) == 0)
            return nvdp__fail(
                ctx, NVDP_ERR_INPUT,
                "%s: 'auto_map': expected no model of its own, found %s %.100s: this "
                "model is computed by Python code in its folder, which is not executed",
                path, key, json_is_string(value) ? json_string_value(value) : "in another form");
    }
    return NVDP_OK;
}

/* Refuses other values than those that the row lists for its members. */
static nvdp_status check_only(struct nvdp_context *ctx, const char *path, const json_t *json,
                              const struct nvdp__encoder_row *row) {
    const struct nvdp__config_value *only = row->only;
    for (; only != NULL && only->key != NULL; only++) {
        const json_t *found = json_object_get(json, only->key);
        nvdp__autoptr(json_decref) json_t *expected = json_loads(only->json, JSON_DECODE_ANY, NULL);
        if (expected == NULL)
            return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: the JSON could not be made", path);
        const bool numbers = json_is_number(found) && json_is_number(expected);
        if (found == NULL || json_is_null(found) || json_equal(found, expected) ||
            (numbers && json_number_value(found) == json_number_value(expected)))
            continue;
        nvdp__autofree char *text = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT);
        return nvdp__fail(ctx, text == NULL ? NVDP_ERR_MEMORY : NVDP_ERR_INPUT,
                          "%s: '%s': expected %s with %s, found %.100s", path, only->key,
                          only->json, row->title, text != NULL ? text : "");
    }
    return NVDP_OK;
}

static nvdp_status read_numbers(struct nvdp_context *ctx, const char *path, const json_t *json,
                                struct nvdp_bert_config *config) {
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config->model_type);
    for (int i = 0; i < SIZES; i++) {
        const struct size_field *field = &sizes[i];
        const char *name = row->key[field->member];
        int64_t value;
        if (name == NULL) continue;
        if (field->required) {
            NVDP_TRY(nvdp__json_int_required(ctx, path, json, name, 1, field->max, &value));
        } else {
            NVDP_TRY(nvdp__json_int(ctx, path, json, name, (int64_t)size_value(config, i), 1,
                                    field->max, &value));
        }
        *(size_t *)(void *)((char *)config + field->at) = (size_t)value;
    }
    for (int i = 0; i < REALS; i++) {
        const struct real_field *field = &reals[i];
        const char *name = row->key[field->member];
        double *value = (double *)(void *)((char *)config + field->at);
        if (name == NULL) continue;
        NVDP_TRY(nvdp__json_real(ctx, path, json, name, *value, field->min, field->max, value));
    }
    NVDP_TRY(nvdp__json_int(ctx, path, json, "pad_token_id", config->pad_token_id, 0,
                            (int64_t)config->vocab_size - 1, &config->pad_token_id));
    size_t first = nvdp__first_position(config);
    if (config->max_position_embeddings <= first)
        return nvdp__fail(
            ctx, NVDP_ERR_INPUT,
            "%s: 'max_position_embeddings': expected more than %zu, because positions begin "
            "after 'pad_token_id', found %zu",
            path, first, config->max_position_embeddings);
    config->max_position_embeddings -= first;
    return NVDP_OK;
}

static nvdp_status read_json(struct nvdp_context *ctx, const char *path, const json_t *json,
                             struct nvdp_bert_config *out) {
    struct nvdp_bert_config config = nvdp__bert_config_default();
    const char *const usual = nvdp__encoders[0]->names.type, *found;
    char list[NVDP__ENCODER_LIST];
    NVDP_TRY(nvdp__json_string(ctx, path, json, "model_type", usual, &found));
    if (!nvdp__encoder_type(found, &config.model_type))
        return nvdp__fail(ctx, NVDP_ERR_INPUT, "%s: 'model_type': expected %s, found '%.100s'",
                          path, nvdp__encoder_list(list), found);
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config.model_type);
    const char *const activation = row->key[NVDP__KEY_ACTIVATION];
    config.pad_token_id = row->pad_token_id;
    NVDP_TRY(check_variant(ctx, path, json));
    NVDP_TRY(check_only(ctx, path, json, row));
    if (row->read != NULL) NVDP_TRY(row->read(ctx, path, json, &config));
    if (activation != NULL) {
        NVDP_TRY(nvdp__json_string(ctx, path, json, activation, "gelu", &found));
        NVDP_TRY(nvdp__activation_find(ctx, path, activation, found, &config.hidden_act));
    }
    NVDP_TRY(read_numbers(ctx, path, json, &config));
    if (nvdp__bert_config_check(ctx, &config) != NVDP_OK)
        return nvdp__fail_prefix(ctx, NVDP_ERR_INPUT, path);
    *out = config;
    return NVDP_OK;
}

nvdp_status nvdp__bert_config_read(struct nvdp_context *ctx, const char *directory,
                                   struct nvdp_bert_config *out) {
    nvdp__autoptr(json_decref) json_t *json = NULL;
    struct nvdp__path path;
    NVDP_TRY(nvdp__model_folder(ctx, directory));
    NVDP_TRY(nvdp__model_config(ctx, directory, &path, &json));
    return json != NULL ? read_json(ctx, path.text, json, out)
                        : nvdp__bert_config_read_file(ctx, path.text, out);
}

nvdp_status nvdp__bert_config_read_file(struct nvdp_context *ctx, const char *path,
                                        struct nvdp_bert_config *out) {
    nvdp__autoptr(json_decref) json_t *json = NULL;
    NVDP_TRY(nvdp__json_read(ctx, path, &json));
    return read_json(ctx, path, json, out);
}

nvdp_status nvdp_bert_config_read(struct nvdp_context *ctx, const char *directory,
                                  struct nvdp_bert_config *out) {
    struct nvdp_bert_config made;
    NVDP_TRY(nvdp__can_give(ctx, out));
    NVDP_TRY(nvdp__bert_config_read(ctx, directory, &made));
    return NVDP__GIVE(out, &made);
}

nvdp_status nvdp__bert_check_vocabulary(struct nvdp_context *ctx, const char *directory,
                                        const struct nvdp_bert_config *given,
                                        size_t tokenizer_size) {
    struct nvdp_bert_config whole, *config = &whole;
    NVDP_TRY(nvdp__bert_config_take(ctx, given, &whole));
    if (tokenizer_size == config->vocab_size) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: vocabulary: expected %zu pieces ('vocab_size' in config.json), "
                      "found %zu",
                      directory, config->vocab_size, tokenizer_size);
}

nvdp_status nvdp__bert_check_rows(struct nvdp_context *ctx, const char *directory,
                                  const struct nvdp_bert_config *config, size_t tokenizer_size) {
    if (tokenizer_size <= config->vocab_size) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: vocabulary: expected at most %zu pieces (config.json's 'vocab_size'), "
                      "found %zu",
                      directory, config->vocab_size, tokenizer_size);
}

nvdp_status nvdp__bert_config_write(struct nvdp_context *ctx, const char *directory,
                                    const struct nvdp_bert_config *config, const char *architecture,
                                    json_t *extra) {
    nvdp__autoptr(json_decref) json_t *json = json_object();
    const struct nvdp__path path = nvdp__path(directory, "config.json");
    int failed = 0; /* true if jansson has no memory */
    NVDP_TRY(nvdp__bert_config_check(ctx, config));
    if (architecture != NULL)
        failed |= json_object_set_new(json, "architectures", json_pack("[s]", architecture));
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config->model_type);
    const char *activation = row->key[NVDP__KEY_ACTIVATION];
    struct nvdp_bert_config written = *config;
    written.max_position_embeddings += nvdp__first_position(config);
    failed |= json_object_set_new(json, "model_type", json_string(row->names.type));
    for (int i = 0; i < SIZES; i++) {
        const char *name = row->key[sizes[i].member];
        json_t *value = name != NULL ? json_integer((json_int_t)size_value(&written, i)) : NULL;
        if (name != NULL) failed |= json_object_set_new(json, name, value);
    }
    if (activation != NULL)
        failed |= json_object_set_new(json, activation,
                                      json_string(nvdp__activation_name(config->hidden_act)));
    for (int i = 0; i < REALS; i++) {
        const char *name = row->key[reals[i].member];
        json_t *value = name != NULL ? json_real(real_value(config, i)) : NULL;
        if (name != NULL) failed |= json_object_set_new(json, name, value);
    }
    failed |= json_object_set_new(json, "pad_token_id", json_integer(config->pad_token_id));
    if (row->write != NULL) failed |= row->write(json, config);
    if (row->position_vectors)
        failed |= json_object_set_new(json, "position_embedding_type", json_string("absolute"));
    failed |= json_object_set_new(json, "torch_dtype", json_string("float32"));
    if (extra != NULL) failed |= json_object_update(json, extra);
    if (failed != 0)
        return nvdp__fail(ctx, NVDP_ERR_MEMORY, "%s: cannot make the JSON text: out of memory",
                          path.text);
    return nvdp__json_write(ctx, path.text, json);
}
