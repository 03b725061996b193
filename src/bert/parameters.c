/* BERT's parameters, and its kin's, under Hugging Face's names, their initial values, and the device
 * they suit. */
#include "bert/bilstm.h"
#include "bert/encoder.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_SIZE = 120 };
/* A layer's weight matrices are used once a pass. */
enum { LAYER_WEIGHT = NVDP__PARAM_DECAY | NVDP__PARAM_SET | NVDP__PARAM_LINEAR };

/* RoBERTa's layers have BERT's names. */
#define BERT_LAYERS                                                                                \
    .layers = "encoder.layer", .query = "attention.self.query", .key = "attention.self.key",       \
    .value = "attention.self.value", .attention_output = "attention.output.dense",                 \
    .attention_norm = "attention.output.LayerNorm", .intermediate = "intermediate.dense",          \
    .output = "output.dense", .output_norm = "output.LayerNorm"

const struct nvdp__names *nvdp__names(enum nvdp_model_type type) {
    static const struct nvdp__names names[] = {
        [NVDP_MODEL_BERT] = {.type = "bert",
                             .encoder = "BertModel",
                             .classification = "BertForSequenceClassification",
                             .tagging = "BertForTokenClassification",
                             .prefix = "bert",
                             BERT_LAYERS,
                             .pooler = "bert.pooler.dense",
                             .classifier = "classifier"},
        [NVDP_MODEL_DISTILBERT] = {.type = "distilbert",
                                   .encoder = "DistilBertModel",
                                   .classification = "DistilBertForSequenceClassification",
                                   .tagging = "DistilBertForTokenClassification",
                                   .prefix = "distilbert",
                                   .layers = "transformer.layer",
                                   .query = "attention.q_lin",
                                   .key = "attention.k_lin",
                                   .value = "attention.v_lin",
                                   .attention_output = "attention.out_lin",
                                   .attention_norm = "sa_layer_norm",
                                   .intermediate = "ffn.lin1",
                                   .output = "ffn.lin2",
                                   .output_norm = "output_layer_norm",
                                   .pooler = "pre_classifier",
                                   .classifier = "classifier"},
        [NVDP_MODEL_ROBERTA] = {.type = "roberta",
                                .encoder = "RobertaModel",
                                .classification = "RobertaForSequenceClassification",
                                .tagging = "RobertaForTokenClassification",
                                .prefix = "roberta",
                                BERT_LAYERS,
                                .pooler = "classifier.dense",
                                .classifier = "classifier.out_proj"},
        [NVDP_MODEL_BILSTM] = {.type = "bilstm",
                               .encoder = "BiLSTM",
                               .classification = "BiLSTMForSequenceClassification",
                               .tagging = "BiLSTMForTokenClassification",
                               .prefix = "bilstm",
                               .classifier = "classifier"},
    };
    return &names[type];
}

static nvdp_status add(struct nvdp__params *params, const char *prefix, const char *suffix,
                       int rank, size_t rows, size_t cols, unsigned flags, size_t *index) {
    char name[NAME_SIZE];
    int length = snprintf(name, sizeof name, "%s.%s", prefix, suffix);
    if (length < 0 || (size_t)length >= sizeof name)
        return nvdp__fail(params->ctx, NVDP_ERR_ARGUMENT,
                          "tensor '%s': expected a name of fewer than %d bytes, found %d", prefix,
                          NAME_SIZE, length);
    return nvdp__params_add(params, name, rank, rows, cols, flags, index);
}

nvdp_status nvdp__declare_dense(struct nvdp__params *params, const char *prefix, size_t out,
                                size_t in, unsigned flags, struct nvdp__dense *dense) {
    unsigned no_decay = flags & ~(unsigned)LAYER_WEIGHT;
    NVDP_RETURN_IF_FAILED(add(params, prefix, "weight", 2, out, in,
                              flags | NVDP__PARAM_DECAY | NVDP__PARAM_LINEAR, &dense->weight));
    return add(params, prefix, "bias", 1, out, 1, no_decay, &dense->bias);
}

void nvdp__dense_copy(const struct nvdp__device *dev, struct nvdp__params *params,
                      const struct nvdp__dense *from, const struct nvdp__dense *to) {
    nvdp__copy(dev, params->entry[to->weight].count, nvdp__value(params, from->weight),
               nvdp__value(params, to->weight));
    nvdp__copy(dev, params->entry[to->bias].count, nvdp__value(params, from->bias),
               nvdp__value(params, to->bias));
}

nvdp_status nvdp__declare_norm(struct nvdp__params *params, const char *prefix, size_t dim,
                               unsigned flags, struct nvdp__dense *norm) {
    unsigned no_decay = flags & ~(unsigned)LAYER_WEIGHT;
    NVDP_RETURN_IF_FAILED(add(params, prefix, "weight", 1, dim, 1, no_decay, &norm->weight));
    return add(params, prefix, "bias", 1, dim, 1, no_decay, &norm->bias);
}

static nvdp_status declare_embeddings(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp_bert_config *config = &bert->config;
    const char *model = nvdp__names(config->model_type)->prefix;
    char name[NAME_SIZE];
    struct {
        const char *name;
        size_t rows;
        size_t *index;
    } table[] = {
        {"word_embeddings", config->vocab_size, &bert->word},
        {"position_embeddings", nvdp__first_position(config) + config->max_position_embeddings,
         &bert->position},
        {"token_type_embeddings", config->type_vocab_size, &bert->type},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        unsigned flags = NVDP__PARAM_DECAY | (i == 0 ? NVDP__PARAM_ROWS : 0);
        if (config->model_type == NVDP_MODEL_DISTILBERT && table[i].index == &bert->type) continue;
        snprintf(name, sizeof name, "%s.embeddings.%s", model, table[i].name);
        NVDP_RETURN_IF_FAILED(add(params, name, "weight", 2, table[i].rows, config->hidden_size,
                                  flags, table[i].index));
    }
    snprintf(name, sizeof name, "%s.embeddings.LayerNorm", model);
    return nvdp__declare_norm(params, name, config->hidden_size, 0, &bert->norm);
}

/* The weights of query, key and value end to end, then their biases: one product of 3D outputs. */
static nvdp_status declare_attention(struct nvdp__bert_layer *layer,
                                     const struct nvdp__names *names, const char *prefix, size_t d,
                                     unsigned flags, struct nvdp__params *params) {
    struct {
        const char *name;
        struct nvdp__dense *dense;
    } table[] = {
        {names->query, &layer->query}, {names->key, &layer->key}, {names->value, &layer->value}};
    enum { PARTS = sizeof table / sizeof table[0] };
    for (size_t i = 0; i < 2 * PARTS; i++) {
        bool weight = i < PARTS;
        char part[2 * NAME_SIZE];
        snprintf(part, sizeof part, "%s.%s", prefix, table[i % PARTS].name);
        unsigned joined = flags | (i % PARTS > 0 ? NVDP__PARAM_JOINED : 0);
        struct nvdp__dense *dense = table[i % PARTS].dense;
        NVDP_RETURN_IF_FAILED(
            weight ? add(params, part, "weight", 2, d, d, joined | LAYER_WEIGHT, &dense->weight)
                   : add(params, part, "bias", 1, d, 1, joined, &dense->bias));
    }
    return NVDP_OK;
}

nvdp_status nvdp__layer_declare(struct nvdp__bert_layer *layer,
                                const struct nvdp_bert_config *config, const char *prefix,
                                unsigned flags, struct nvdp__params *params) {
    size_t d = config->hidden_size;
    size_t wide = config->intermediate_size;
    const struct nvdp__names *names = nvdp__names(config->model_type);
    struct {
        const char *name;
        size_t out, in; /* in 0: a LayerNorm */
        struct nvdp__dense *dense;
    } table[] = {
        {names->attention_output, d, d, &layer->attention_output},
        {names->attention_norm, d, 0, &layer->attention_norm},
        {names->intermediate, wide, d, &layer->intermediate},
        {names->output, d, wide, &layer->output},
        {names->output_norm, d, 0, &layer->output_norm},
    };
    NVDP_RETURN_IF_FAILED(declare_attention(layer, names, prefix, d, flags, params));
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char part[2 * NAME_SIZE];
        snprintf(part, sizeof part, "%s.%s", prefix, table[i].name);
        NVDP_RETURN_IF_FAILED(
            table[i].in > 0
                ? nvdp__declare_dense(params, part, table[i].out, table[i].in,
                                      flags | NVDP__PARAM_SET, table[i].dense)
                : nvdp__declare_norm(params, part, table[i].out, flags, table[i].dense));
    }
    return NVDP_OK;
}

static nvdp_status declare_layers(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp__names *names = nvdp__names(bert->config.model_type);
    for (size_t i = 0; i < bert->config.num_hidden_layers; i++) {
        char prefix[NAME_SIZE];
        snprintf(prefix, sizeof prefix, "%s.%s.%zu", names->prefix, names->layers, i);
        NVDP_RETURN_IF_FAILED(
            nvdp__layer_declare(&bert->layer[i], &bert->config, prefix, 0, params));
    }
    return NVDP_OK;
}

nvdp_status nvdp__bert_declare(struct nvdp__bert *bert, const struct nvdp_bert_config *config,
                               bool with_pooler, struct nvdp__params *params) {
    NVDP_RETURN_IF_FAILED(nvdp_bert_config_check(params->ctx, config));
    *bert = (struct nvdp__bert){.config = *config, .has_pooler = with_pooler};
    if (config->model_type == NVDP_MODEL_BILSTM) {
        nvdp_status declared = nvdp__bilstm_declare(bert, params);
        if (declared != NVDP_OK) nvdp__bert_release(bert);
        return declared;
    }
    NVDP_RETURN_IF_FAILED(NVDP__NEW(params->ctx, bert->layer, config->num_hidden_layers));
    nvdp_status status = declare_embeddings(bert, params);
    if (status == NVDP_OK) status = declare_layers(bert, params);
    if (status == NVDP_OK && with_pooler)
        status = nvdp__declare_dense(params, nvdp__names(config->model_type)->pooler,
                                     config->hidden_size, config->hidden_size, NVDP__PARAM_OPTIONAL,
                                     &bert->pooler);
    if (status != NVDP_OK) nvdp__bert_release(bert);
    return status;
}

void nvdp__bert_release(struct nvdp__bert *bert) {
    free(bert->layer);
    free(bert->lstm);
    *bert = (struct nvdp__bert){0};
}

static void initialise_dense(const struct nvdp__device *dev, struct nvdp__params *params,
                             const struct nvdp__dense *dense, double sd, uint64_t seed) {
    nvdp__params_normal(dev, params, dense->weight, sd, seed);
    nvdp__params_fill(dev, params, dense->bias, 0);
}

static void initialise_norm(const struct nvdp__device *dev, struct nvdp__params *params,
                            const struct nvdp__dense *norm) {
    nvdp__params_fill(dev, params, norm->weight, 1);
    nvdp__params_fill(dev, params, norm->bias, 0);
}

/* Tensors are declared from the embeddings upwards, the pooler last. */
void nvdp__bert_freeze(const struct nvdp__bert *bert, size_t layers, struct nvdp__params *params) {
    for (size_t i = 0; i <= bert->layer[layers - 1].output_norm.bias; i++)
        params->entry[i].flags |= (unsigned)NVDP__PARAM_FROZEN;
}

void nvdp__bert_initialise(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           struct nvdp__params *params, uint64_t seed) {
    double sd = bert->config.initializer_range;
    nvdp__params_normal(dev, params, bert->word, sd, seed);
    if (bert->lstm != NULL) {
        nvdp__bilstm_initialise(bert, dev, params, seed);
        return;
    }
    nvdp__params_normal(dev, params, bert->position, sd, seed);
    if (bert->config.model_type != NVDP_MODEL_DISTILBERT)
        nvdp__params_normal(dev, params, bert->type, sd, seed);
    initialise_norm(dev, params, &bert->norm);
    for (size_t i = 0; i < bert->config.num_hidden_layers; i++) {
        const struct nvdp__bert_layer *layer = &bert->layer[i];
        initialise_dense(dev, params, &layer->query, sd, seed);
        initialise_dense(dev, params, &layer->key, sd, seed);
        initialise_dense(dev, params, &layer->value, sd, seed);
        initialise_dense(dev, params, &layer->attention_output, sd, seed);
        initialise_norm(dev, params, &layer->attention_norm);
        initialise_dense(dev, params, &layer->intermediate, sd, seed);
        initialise_dense(dev, params, &layer->output, sd, seed);
        initialise_norm(dev, params, &layer->output_norm);
    }
    nvdp__bert_initialise_pooler(bert, dev, params, seed);
}

void nvdp__bert_initialise_pooler(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed) {
    if (bert->lstm != NULL)
        nvdp__bilstm_initialise(bert, dev, params, seed);
    else if (bert->has_pooler)
        initialise_dense(dev, params, &bert->pooler, bert->config.initializer_range, seed);
}

nvdp_status nvdp__bert_device(struct nvdp_context *ctx, const struct nvdp_bert_config *config,
                              struct nvdp__device *dev) {
    size_t head = config->hidden_size / config->num_attention_heads;
    NVDP_RETURN_IF_FAILED(nvdp__device_create(ctx, dev));
    bool lstm = config->model_type == NVDP_MODEL_BILSTM;
    if (dev->bf16 == NULL || (!lstm && nvdp__attention_fits_bf16(head))) return NVDP_OK;
    nvdp__device_without_bf16(dev);
    if (lstm)
        nvdp__log(ctx, NVDP_LOG_NOTICE, "precision bf16: a BiLSTM is computed in f32");
    else if (dev->int8 == NULL)
        nvdp__log(ctx, NVDP_LOG_NOTICE,
                  "precision bf16: expected heads of a multiple of 32 dimensions, found %zu; "
                  "computing in f32",
                  head);
    return NVDP_OK;
}
