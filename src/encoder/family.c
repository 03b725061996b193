/* BERT's family, with ELECTRA and MPNet: parameters under the names of Hugging Face checkpoints, initial values, and
 * rows of the table of encoders. Every encoder uses the dense layers and norms of this file. */
#include "encoder/transformer.h"

#include <stdio.h>

enum { NAME_SIZE = 120 };
/* Each weight matrix of a layer is used once per pass. */
enum { LAYER_WEIGHT = NVDP__PARAM_DECAY | NVDP__PARAM_SET | NVDP__PARAM_LINEAR };

static nvdp_status add(struct nvdp__params *params, const char *prefix, const char *suffix,
                       int rank, size_t rows, size_t cols, unsigned flags, size_t *index) {
    char name[NAME_SIZE];
    int length = nvdp__snprintf(name, sizeof name, "%s.%s", prefix, suffix);
    if (length < 0 || (size_t)length >= sizeof name)
        return nvdp__fail(params->ctx, NVDP_ERR_ARGUMENT,
                          "tensor '%s': expected a name of fewer than %d bytes, found %d", prefix,
                          NAME_SIZE, length);
    return nvdp__params_add(params, name, rank, rows, cols, flags, index);
}

nvdp_status nvdp__declare_part(struct nvdp__params *params, const char *prefix, size_t out,
                               size_t in, bool biased, unsigned flags, struct nvdp__dense *part) {
    const unsigned no_decay = flags & ~(unsigned)LAYER_WEIGHT;
    part->bias = NVDP__NO_BIAS;
    NVDP_TRY(in > 0 ? add(params, prefix, "weight", 2, out, in,
                          flags | NVDP__PARAM_DECAY | NVDP__PARAM_LINEAR, &part->weight)
                    : add(params, prefix, "weight", 1, out, 1, no_decay, &part->weight));
    return biased ? add(params, prefix, "bias", 1, out, 1, no_decay, &part->bias) : NVDP_OK;
}

/* Each weight of a dense layer is used once per pass. */
nvdp_status nvdp__declare_parts(struct nvdp__params *params, const char *prefix, unsigned flags,
                                const struct nvdp__part_row *row, size_t rows) {
    for (size_t i = 0; i < rows; i++) {
        char name[2 * NAME_SIZE];
        nvdp__snprintf(name, sizeof name, "%s.%s", prefix, row[i].name);
        NVDP_TRY(nvdp__declare_part(params, name, row[i].out, row[i].in, row[i].biased,
                                    flags | (row[i].in > 0 ? NVDP__PARAM_SET : 0), row[i].part));
    }
    return NVDP_OK;
}

nvdp_status nvdp__declare_dense(struct nvdp__params *params, const char *prefix, size_t out,
                                size_t in, unsigned flags, struct nvdp__dense *dense) {
    return nvdp__declare_part(params, prefix, out, in, true, flags, dense);
}

void nvdp__dense_copy(const struct nvdp__device *dev, struct nvdp__params *params,
                      const struct nvdp__dense *from, const struct nvdp__dense *to) {
    nvdp__copy(dev, params->entry[to->weight].count, nvdp__value(params, from->weight),
               nvdp__value(params, to->weight));
    if (to->bias == NVDP__NO_BIAS) return;
    nvdp__copy(dev, params->entry[to->bias].count, nvdp__value(params, from->bias),
               nvdp__value(params, to->bias));
}

struct nvdp__linear nvdp__dense_linear(const struct nvdp__params *params,
                                       const struct nvdp__dense *dense, size_t rows) {
    const struct nvdp__param *weight = &params->entry[dense->weight];
    const bool biased = dense->bias != NVDP__NO_BIAS;
    return (struct nvdp__linear){.rows = rows,
                                 .in = weight->shape[1],
                                 .out = weight->shape[0],
                                 .w = nvdp__value(params, dense->weight),
                                 .b = biased ? nvdp__value(params, dense->bias) : NULL,
                                 .dw = nvdp__grad(params, dense->weight),
                                 .db = biased ? nvdp__grad(params, dense->bias) : NULL,
                                 .set = (weight->flags & NVDP__PARAM_SET) != 0};
}

struct nvdp__norm nvdp__dense_norm(const struct nvdp__params *params,
                                   const struct nvdp__dense *norm, float eps, float *mean,
                                   float *rstd) {
    const bool biased = norm->bias != NVDP__NO_BIAS;
    return (struct nvdp__norm){.eps = eps,
                               .gamma = nvdp__value(params, norm->weight),
                               .beta = biased ? nvdp__value(params, norm->bias) : NULL,
                               .dgamma = nvdp__grad(params, norm->weight),
                               .dbeta = biased ? nvdp__grad(params, norm->bias) : NULL,
                               .mean = mean,
                               .rstd = rstd};
}

static nvdp_status declare_embeddings(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp_bert_config *config = &bert->config;
    const char *model = bert->row->names.prefix;
    const size_t width = nvdp__word_width(config);
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
        if (!bert->row->token_types && table[i].index == &bert->type) continue;
        nvdp__snprintf(name, sizeof name, "%s.embeddings.%s", model, table[i].name);
        NVDP_TRY(add(params, name, "weight", 2, table[i].rows, width, flags, table[i].index));
    }
    nvdp__snprintf(name, sizeof name, "%s.embeddings.LayerNorm", model);
    NVDP_TRY(nvdp__declare_part(params, name, width, 0, true, 0, &bert->norm));
    bert->has_projection = bert->row->names.projection != NULL && width != config->hidden_size;
    if (!bert->has_projection) return NVDP_OK;
    nvdp__snprintf(name, sizeof name, "%s.%s", model, bert->row->names.projection);
    return nvdp__declare_dense(params, name, config->hidden_size, width, NVDP__PARAM_SET,
                               &bert->projection);
}

/* Declares the weights of query, key and value contiguously, then their biases, so that they form one product with
 * 3D outputs. */
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
        nvdp__snprintf(part, sizeof part, "%s.%s", prefix, table[i % PARTS].name);
        unsigned joined = flags | (i % PARTS > 0 ? NVDP__PARAM_JOINED : 0);
        struct nvdp__dense *dense = table[i % PARTS].dense;
        NVDP_TRY(weight
                     ? add(params, part, "weight", 2, d, d, joined | LAYER_WEIGHT, &dense->weight)
                     : add(params, part, "bias", 1, d, 1, joined, &dense->bias));
    }
    return NVDP_OK;
}

nvdp_status nvdp__layer_declare(struct nvdp__bert *bert, size_t index, const char *prefix,
                                unsigned flags, struct nvdp__params *params) {
    size_t d = bert->config.hidden_size;
    size_t wide = bert->config.intermediate_size;
    struct nvdp__bert_layer *layer = &bert->layer[index];
    const struct nvdp__names *names = &bert->row->names;
    const struct nvdp__part_row rows[] = {
        {names->attention_output, d, d, true, &layer->attention_output},
        {names->attention_norm, d, 0, true, &layer->attention_norm},
        {names->intermediate, wide, d, true, &layer->intermediate},
        {names->output, d, wide, true, &layer->output},
        {names->output_norm, d, 0, true, &layer->output_norm},
    };
    NVDP_TRY(declare_attention(layer, names, prefix, d, flags, params));
    return nvdp__declare_parts(params, prefix, flags, rows, sizeof rows / sizeof *rows);
}

nvdp_status nvdp__transformer_declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp__names *names = &bert->row->names;
    const size_t dim = bert->config.hidden_size, buckets = bert->row->relative_buckets;
    char name[NAME_SIZE];
    NVDP_TRY(NVDP__NEW(params->ctx, bert->layer, bert->config.num_hidden_layers));
    NVDP_TRY(declare_embeddings(bert, params));
    /* The relative position biases come before the layers, so that they are frozen together with the first layer. */
    if (buckets > 0) {
        nvdp__snprintf(name, sizeof name, "%s.%s", names->prefix, names->relative);
        NVDP_TRY(add(params, name, "weight", 2, buckets, bert->config.num_attention_heads,
                     NVDP__PARAM_DECAY | NVDP__PARAM_SHARED, &bert->relative));
    }
    for (size_t i = 0; i < bert->config.num_hidden_layers; i++) {
        nvdp__snprintf(name, sizeof name, "%s.%s.%zu", names->prefix, names->layers, i);
        NVDP_TRY(nvdp__layer_declare(bert, i, name, 0, params));
    }
    if (!bert->has_pooler) return NVDP_OK;
    return nvdp__declare_dense(params, names->pooler, dim, dim, NVDP__PARAM_OPTIONAL,
                               &bert->pooler);
}

void nvdp__dense_initialize(const struct nvdp__device *dev, struct nvdp__params *params,
                            const struct nvdp__dense *dense, double sd, uint64_t seed) {
    if (params->entry[dense->weight].rank == 2)
        nvdp__params_normal(dev, params, dense->weight, sd, seed);
    else
        nvdp__params_fill(dev, params, dense->weight, 1);
    if (dense->bias != NVDP__NO_BIAS) nvdp__params_fill(dev, params, dense->bias, 0);
}

size_t nvdp__transformer_tensors_below(const struct nvdp__bert *bert, size_t layers) {
    return bert->layer[layers - 1].output_norm.bias + 1;
}

void nvdp__transformer_initialize_pooler(const struct nvdp__bert *bert,
                                         const struct nvdp__device *dev,
                                         struct nvdp__params *params, uint64_t seed) {
    const double sd = bert->config.initializer_range;
    if (bert->has_pooler) nvdp__dense_initialize(dev, params, &bert->pooler, sd, seed);
    if (nvdp__declared(&bert->head_norm))
        nvdp__dense_initialize(dev, params, &bert->head_norm, sd, seed);
}

void nvdp__transformer_initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed) {
    double sd = bert->config.initializer_range;
    nvdp__params_normal(dev, params, bert->word, sd, seed);
    if (bert->row->position_vectors) nvdp__params_normal(dev, params, bert->position, sd, seed);
    if (bert->row->token_types) nvdp__params_normal(dev, params, bert->type, sd, seed);
    nvdp__dense_initialize(dev, params, &bert->norm, sd, seed);
    if (bert->has_projection) nvdp__dense_initialize(dev, params, &bert->projection, sd, seed);
    if (bert->row->relative_buckets > 0) nvdp__params_normal(dev, params, bert->relative, sd, seed);
    for (size_t i = 0; i < bert->config.num_hidden_layers; i++) {
        const struct nvdp__dense *part = bert->layer[i].part;
        for (size_t k = 0; k < NVDP__LAYER_PARTS; k++)
            if (nvdp__declared(&part[k])) nvdp__dense_initialize(dev, params, &part[k], sd, seed);
    }
    if (nvdp__declared(&bert->last_norm))
        nvdp__dense_initialize(dev, params, &bert->last_norm, sd, seed);
    nvdp__transformer_initialize_pooler(bert, dev, params, seed);
}

/* ---- the rows ---- */

nvdp_status nvdp__transformer_check(struct nvdp_context *ctx,
                                    const struct nvdp_bert_config *config) {
    if (nvdp__word_width(config) > config->hidden_size)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'embedding_size': expected at most 'hidden_size' %zu, found %zu",
                          config->hidden_size, config->embedding_size);
    if (config->hidden_size % config->num_attention_heads == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "'num_attention_heads': expected a divisor of 'hidden_size' %zu, found "
                      "%zu",
                      config->hidden_size, config->num_attention_heads);
}

size_t nvdp__transformer_parameter_count(const struct nvdp_bert_config *config) {
    const struct nvdp__encoder_row *row = nvdp__encoder_row(config->model_type);
    const bool types = row->token_types;
    size_t d = config->hidden_size, width = nvdp__word_width(config);
    size_t wide = config->intermediate_size;
    size_t rows = config->vocab_size + nvdp__first_position(config) +
                  config->max_position_embeddings + (types ? config->type_vocab_size : 0);
    size_t norm = 2 * d;
    size_t square = d * d + d;
    size_t layer = 4 * square + (wide * d + wide) + (d * wide + d) + 2 * norm;
    size_t projection = width != d ? width * d + d : 0;
    size_t relative = row->relative_buckets * config->num_attention_heads;
    return rows * width + 2 * width + projection + relative + config->num_hidden_layers * layer +
           square;
}

const struct nvdp__encoder_row nvdp__encoder_bert = {
    .title = "a BERT",
    .names = {.type = "bert",
              .encoder = "BertModel",
              .classification = "BertForSequenceClassification",
              .tagging = "BertForTokenClassification",
              .prefix = "bert",
              NVDP__BERT_LAYERS,
              .pooler = "bert.pooler.dense",
              .classifier = "classifier"},
    .key = NVDP__BERT_KEYS,
    .token_types = true,
    .attention_dropout = true,
    .own_pooler = true,
    .masked_lm = true,
    .pooler_activation = NVDP__ACT_TANH,
    NVDP__TRANSFORMER};

/* Sanh et al. (2019): no token types, and a head (pre_classifier) with ReLU. */
const struct nvdp__encoder_row nvdp__encoder_distilbert = {
    .title = "a DistilBERT",
    .names = {.type = "distilbert",
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
    .key = {[NVDP__KEY_HIDDEN_SIZE] = "dim",
            [NVDP__KEY_LAYERS] = "n_layers",
            [NVDP__KEY_HEADS] = "n_heads",
            [NVDP__KEY_INTERMEDIATE_SIZE] = "hidden_dim",
            [NVDP__KEY_VOCAB_SIZE] = "vocab_size",
            [NVDP__KEY_POSITIONS] = "max_position_embeddings",
            [NVDP__KEY_HIDDEN_DROPOUT] = "dropout",
            [NVDP__KEY_ATTENTION_DROPOUT] = "attention_dropout",
            [NVDP__KEY_INITIALIZER_RANGE] = "initializer_range",
            [NVDP__KEY_ACTIVATION] = "activation"},
    .pooler_activation = NVDP__ACT_RELU,
    NVDP__TRANSFORMER};

/* Liu et al. (2019): the pooler is the dense layer of the classification head. */
#define ROBERTA(title_, type_, class)                                                              \
    {                                                                                              \
        .title = title_,                                                                           \
        .names = {.type = type_,                                                                   \
                  .encoder = class "Model",                                                        \
                  .classification = class "ForSequenceClassification",                             \
                  .tagging = class "ForTokenClassification",                                       \
                  .prefix = "roberta",                                                             \
                  NVDP__BERT_LAYERS,                                                               \
                  .pooler = "classifier.dense",                                                    \
                  .classifier = "classifier.out_proj"},                                            \
        .key = NVDP__BERT_KEYS, .pad_token_id = 1, .token_types = true,                            \
        .position_after_pad = true, .attention_dropout = true,                                     \
        .pooler_activation = NVDP__ACT_TANH, NVDP__TRANSFORMER                                     \
    }
const struct nvdp__encoder_row nvdp__encoder_roberta = ROBERTA("a RoBERTa", "roberta", "Roberta");
/* Conneau et al. (2020): RoBERTa over 100 languages. */
const struct nvdp__encoder_row nvdp__encoder_xlm_roberta =
    ROBERTA("an XLM-RoBERTa", "xlm-roberta", "XLMRoberta");

/* ==== ELECTRA (Clark et al. 2020) ==== */

/* BERT's layers over word embeddings that may be narrower than the states; a dense layer then widens the embeddings.
 * The discriminators of ELECTRA are the encoders, without a pooler; the classification head ends in GELU. */

const struct nvdp__encoder_row nvdp__encoder_electra = {
    .title = "an ELECTRA",
    .names = {.type = "electra",
              .encoder = "ElectraModel",
              .classification = "ElectraForSequenceClassification",
              .tagging = "ElectraForTokenClassification",
              .prefix = "electra",
              NVDP__BERT_LAYERS,
              .projection = "embeddings_project",
              .pooler = "classifier.dense",
              .classifier = "classifier.out_proj"},
    .key = {[NVDP__KEY_EMBEDDING_SIZE] = "embedding_size", NVDP__BERT_KEY_NAMES},
    .token_types = true,
    .attention_dropout = true,
    .pooler_activation = NVDP__ACT_GELU,
    NVDP__TRANSFORMER};

/* ==== MPNet (Song et al. 2020) ==== */

/* BERT's layers with relative position biases, which all layers share. Positions are counted as in RoBERTa; there
 * are no token types. */

/* The second half of the buckets is for keys after the query. In each half, the first NEAR buckets are single
 * distances; the sizes of the other buckets grow by sqrt(2) up to distance 128 (Raffel et al. 2020):
 *
 *     bucket(n) = n                              for n < NEAR = 8
 *     bucket(n) = min(15, 8 + floor(2 log2(n/8))) for larger n
 *
 * 2 log2(n/8) = log2(n^2) - 6, whose floor is a number of bits, so there is no rounding. */
enum { BUCKETS = 32, SIDE = BUCKETS / 2, NEAR = SIDE / 2, NEAR_BITS = 6 };

static int32_t bucket(int32_t distance) {
    const int32_t side = distance > 0 ? SIDE : 0;
    const uint64_t n = (uint64_t)(distance > 0 ? distance : -(int64_t)distance);
    if (n < NEAR) return side + (int32_t)n;
    const int32_t bits = 63 - __builtin_clzll(n * n) - NEAR_BITS;
    return side + (bits < SIDE - NEAR ? NEAR + bits : SIDE - 1);
}

/* The library transformers computes with these values, whatever config.json has. */
static const struct nvdp__config_value only[] = {
    {"relative_attention_num_buckets", "32"}, {"pad_token_id", "1"}, {NULL, NULL}};

const struct nvdp__encoder_row nvdp__encoder_mpnet = {
    .title = "an MPNet",
    .names = {.type = "mpnet",
              .encoder = "MPNetModel",
              .classification = "MPNetForSequenceClassification",
              .tagging = "MPNetForTokenClassification",
              .prefix = "mpnet",
              .layers = "encoder.layer",
              .query = "attention.attn.q",
              .key = "attention.attn.k",
              .value = "attention.attn.v",
              .attention_output = "attention.attn.o",
              .attention_norm = "attention.LayerNorm",
              .intermediate = "intermediate.dense",
              .output = "output.dense",
              .output_norm = "output.LayerNorm",
              .relative = "encoder.relative_attention_bias",
              .pooler = "classifier.dense",
              .classifier = "classifier.out_proj"},
    .key = {NVDP__UNTYPED_KEY_NAMES},
    .pad_token_id = 1,
    .only = only,
    .position_after_pad = true,
    .attention_dropout = true,
    .pooler_activation = NVDP__ACT_TANH,
    .relative_buckets = BUCKETS,
    .relative_bucket = bucket,
    NVDP__TRANSFORMER};
