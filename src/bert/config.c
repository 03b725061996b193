/* BERT's configuration: defaults, ranges, sizes. */
#include "bert/config.h"

#include <stddef.h>
#include <string.h>

#define SIZE(name, required, max)                                                                  \
    { #name, offsetof(struct nvdp_bert_config, name), required, max }
#define REAL(name, min, max)                                                                       \
    { #name, offsetof(struct nvdp_bert_config, name), min, max }

const struct nvdp__bert_size nvdp__bert_size[NVDP__BERT_SIZES] = {
    SIZE(hidden_size, true, 1 << 16),         SIZE(num_hidden_layers, true, 1 << 10),
    SIZE(num_attention_heads, true, 1 << 16), SIZE(intermediate_size, true, 1 << 20),
    SIZE(vocab_size, true, 1 << 24),          SIZE(max_position_embeddings, false, 1 << 20),
    SIZE(type_vocab_size, false, 1 << 10),
};

const struct nvdp__bert_real nvdp__bert_real[NVDP__BERT_REALS] = {
    REAL(layer_norm_eps, 1e-30, 1),
    REAL(hidden_dropout_prob, 0, 0.99),
    REAL(attention_probs_dropout_prob, 0, 0.99),
    REAL(initializer_range, 0, 10),
};

struct nvdp_bert_config nvdp_bert_config_default(void) {
    return (struct nvdp_bert_config){
        .hidden_size = 768,
        .num_hidden_layers = 12,
        .num_attention_heads = 12,
        .intermediate_size = 3072,
        .vocab_size = 30522,
        .max_position_embeddings = 512,
        .type_vocab_size = 2,
        .layer_norm_eps = 1e-12,
        .hidden_act = NVDP_GELU,
        .hidden_dropout_prob = 0.1,
        .attention_probs_dropout_prob = 0.1,
        .initializer_range = 0.02,
        .pad_token_id = 0,
    };
}

static const struct {
    const char *name;
    size_t hidden_size, layers, heads;
} google[] = {
    {"tiny", 128, 2, 2},   {"mini", 256, 4, 4},     {"small", 512, 4, 8},
    {"base", 768, 12, 12}, {"large", 1024, 24, 16},
};

nvdp_status nvdp_bert_config_find(struct nvdp_context *ctx, const char *name,
                                  struct nvdp_bert_config *out) {
    for (size_t i = 0; i < sizeof google / sizeof google[0]; i++) {
        if (strcmp(name, google[i].name) != 0) continue;
        struct nvdp_bert_config config = nvdp_bert_config_default();
        config.hidden_size = google[i].hidden_size;
        config.num_hidden_layers = google[i].layers;
        config.num_attention_heads = google[i].heads;
        config.intermediate_size = 4 * google[i].hidden_size;
        *out = config;
        return NVDP_OK;
    }
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "arch '%s': expected tiny, mini, small, base or large", name);
}

static nvdp_status check_numbers(struct nvdp_context *ctx, const struct nvdp_bert_config *config) {
    for (int i = 0; i < NVDP__BERT_SIZES; i++) {
        size_t value = nvdp__bert_size_of(config, i);
        if (value < 1 || value > (size_t)nvdp__bert_size[i].max)
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'%s': expected 1 to %lld, found %zu",
                              nvdp__bert_size[i].name, (long long)nvdp__bert_size[i].max, value);
    }
    for (int i = 0; i < NVDP__BERT_REALS; i++) {
        const struct nvdp__bert_real *field = &nvdp__bert_real[i];
        double value = nvdp__bert_real_of(config, i);
        if (!(value >= field->min && value <= field->max)) /* refuses NaN too */
            return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'%s': expected %g to %g, found %g",
                              field->name, field->min, field->max, value);
    }
    return NVDP_OK;
}

nvdp_status nvdp_bert_config_check(struct nvdp_context *ctx,
                                   const struct nvdp_bert_config *config) {
    NVDP_RETURN_IF_FAILED(check_numbers(ctx, config));
    if (config->hidden_size % config->num_attention_heads != 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'num_attention_heads': expected a divisor of 'hidden_size' %zu, found "
                          "%zu",
                          config->hidden_size, config->num_attention_heads);
    if (config->hidden_act != NVDP_GELU && config->hidden_act != NVDP_GELU_NEW)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'hidden_act': expected gelu or gelu_new, found number %d",
                          (int)config->hidden_act);
    if (config->pad_token_id < 0 || config->pad_token_id >= (int64_t)config->vocab_size)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'pad_token_id': expected 0 to %zu, found %lld",
                          config->vocab_size - 1, (long long)config->pad_token_id);
    return NVDP_OK;
}

size_t nvdp_bert_parameter_count(const struct nvdp_bert_config *config) {
    size_t d = config->hidden_size;
    size_t wide = config->intermediate_size;
    size_t rows = config->vocab_size + config->max_position_embeddings + config->type_vocab_size;
    size_t norm = 2 * d;
    size_t square = d * d + d;
    size_t layer = 4 * square + (wide * d + wide) + (d * wide + d) + 2 * norm;
    return rows * d + norm + config->num_hidden_layers * layer + square;
}
