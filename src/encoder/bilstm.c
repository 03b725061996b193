/* A bidirectional LSTM instead of BERT (Hochreiter & Schmidhuber 1997; on privatized text:
 * Feyisetan et al. 2020, Qu et al. 2021): fixed word embeddings, dropout, layers of both
 * directions.
 *
 * Parameters have torch.nn.LSTM's names and layout, gates i, f, g, o. PyTorch adds two biases; only the first bias
 * is stored here. */
#include "encoder/row.h"

#include "tensor/per_example.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PREFIX "bilstm"
enum { NAME_SIZE = 120, DIRECTIONS = 2, GATES = 4 };
enum { WEIGHT = NVDP__PARAM_OPTIONAL | NVDP__PARAM_DECAY | NVDP__PARAM_SET | NVDP__PARAM_LINEAR };

/* Parameter indices of the tensors of a layer, in forward and backward direction; `own` of struct nvdp__bert points
 * to these structs. */
struct lstm_layer {
    size_t input[DIRECTIONS], recurrent[DIRECTIONS],
        bias[DIRECTIONS]; /* [4H, inputs] W, [4H, H] U, [4H] b */
};

static const struct lstm_layer *layer_at(const struct nvdp__bert *bert, size_t layer) {
    return (const struct lstm_layer *)bert->own + layer;
}

/* Returns H, the number of units per direction. */
static size_t units_in(const struct nvdp_bert_config *config) {
    return config->hidden_size / DIRECTIONS;
}

static size_t input_width(const struct nvdp__bert *bert, size_t layer) {
    return layer == 0 ? bert->config.embedding_size : bert->config.hidden_size;
}

/* Returns the configuration of two layers with how->units per direction over the word embeddings of `from`. */
static struct nvdp_bert_config over_words(const struct nvdp_bert_config *from,
                                          const struct nvdp__over_words *how) {
    enum { LAYERS = 2 };
    struct nvdp_bert_config config = *from;
    config.model_type = NVDP_MODEL_BILSTM;
    config.embedding_size = nvdp__word_width(from);
    config.hidden_size = DIRECTIONS * how->units;
    config.num_hidden_layers = LAYERS;
    config.max_position_embeddings = NVDP__ANY_LENGTH; /* positions have no vectors */
    config.type_vocab_size = 2;                        /* both types are treated alike */
    return config;
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_bert_config *config) {
    if (config->hidden_size % DIRECTIONS == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                      "'hidden_size': expected an even number, for two directions, found %zu",
                      config->hidden_size);
}

static size_t parameter_count(const struct nvdp_bert_config *config) {
    size_t d = config->hidden_size, units = units_in(config), count = 0;
    for (size_t i = 0; i < config->num_hidden_layers; i++) {
        size_t in = i == 0 ? config->embedding_size : d;
        count += DIRECTIONS * GATES * units * (in + units + 1);
    }
    return config->vocab_size * config->embedding_size + count;
}

/* ---- parameters ---- */

/* Adds a tensor of each direction, the second after the first. */
static nvdp_status add(struct nvdp__params *params, const char *what, size_t layer, int rank,
                       size_t rows, size_t cols, unsigned flags, bool joined,
                       size_t index[DIRECTIONS]) {
    for (size_t d = 0; d < DIRECTIONS; d++) {
        char name[NAME_SIZE];
        unsigned after = d > 0 && joined ? NVDP__PARAM_JOINED : 0;
        nvdp__snprintf(name, sizeof name, PREFIX ".lstm.%s_l%zu%s", what, layer,
                       d > 0 ? "_reverse" : "");
        NVDP_TRY(nvdp__params_add(params, name, rank, rows, cols, flags | after, &index[d]));
    }
    return NVDP_OK;
}

static nvdp_status declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    static const char name[] = PREFIX ".embeddings.word_embeddings.weight";
    const struct nvdp_bert_config *config = &bert->config;
    size_t units = units_in(&bert->config), wide = GATES * units;
    struct lstm_layer *layers = NULL;
    NVDP_TRY(NVDP__NEW(params->ctx, layers, config->num_hidden_layers));
    bert->own = layers;
    NVDP_TRY(nvdp__params_add(params, name, 2, config->vocab_size, config->embedding_size,
                              NVDP__PARAM_FROZEN, &bert->word));
    for (size_t i = 0; i < config->num_hidden_layers; i++) {
        struct lstm_layer *layer = &layers[i];
        NVDP_TRY(
            add(params, "weight_ih", i, 2, wide, input_width(bert, i), WEIGHT, true, layer->input));
        NVDP_TRY(add(params, "weight_hh", i, 2, wide, units, WEIGHT, false, layer->recurrent));
        NVDP_TRY(add(params, "bias_ih", i, 1, wide, 1, NVDP__PARAM_OPTIONAL, true, layer->bias));
    }
    return NVDP_OK;
}

/* Initializes the layers; the embeddings come from a checkpoint. The variance is the same as in torch.nn.LSTM, which
 * draws uniform(-1/sqrt(H), 1/sqrt(H)). Forget gates are initially open, with bias 1 (Gers et al. 2000; Jozefowicz
 * et al. 2015). */
static void initialize_layers(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed) {
    size_t units = units_in(&bert->config);
    double sd = 1 / sqrt(3 * (double)units);
    for (size_t i = 0; i < bert->config.num_hidden_layers; i++)
        for (size_t d = 0; d < DIRECTIONS; d++) {
            const struct lstm_layer *layer = layer_at(bert, i);
            nvdp__params_normal(dev, params, layer->input[d], sd, seed);
            nvdp__params_normal(dev, params, layer->recurrent[d], sd, seed);
            nvdp__params_fill(dev, params, layer->bias[d], 0);
            nvdp__params_fill_part(dev, params, layer->bias[d], units, units, 1);
        }
}

static void initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       struct nvdp__params *params, uint64_t seed) {
    nvdp__params_normal(dev, params, bert->word, bert->config.initializer_range, seed);
    initialize_layers(bert, dev, params, seed);
}

/* ---- plan: training keeps gates, cells and states of each layer ---- */

struct lstm_cache {
    struct nvdp__steps steps;
    int32_t *ids;             /* [T] in the order of `steps`, as the arrays below */
    float *embedded;          /* [T, E] word embeddings */
    float *scratch, *earlier; /* scratch buffer for the kernels; [T, H] scratch buffer */
    float *d_out;             /* [T, 2H] gradient of the last states */
    /* [T, 8H] gradients of the gates in the order of the batch, for per-example gradients */
    float *by_text;
    struct {
        float *gates, *cell, *out; /* [T, 8H], [T, 2H], [T, 2H] gates, cells and states */
        float *read;               /* [T, E or 2H] inputs of products, in the order of the batch */
        float *before[DIRECTIONS]; /* [T, H] states before each token, in the order of the batch */
    } layer[];
};

static nvdp_status create_cache(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                struct nvdp__bert_cache *cache) {
    const struct lstm_cache *made;
    cache->own =
        nvdp__calloc(ctx, 1, sizeof *made + bert->config.num_hidden_layers * sizeof made->layer[0]);
    return NVDP__MADE(cache->own);
}

static void plan(const struct nvdp__bert *bert, const struct nvdp__device *dev, size_t max_tokens,
                 size_t max_texts, size_t longest, struct nvdp__arena *arena,
                 struct nvdp__bert_cache *cache) {
    struct lstm_cache *lstm = cache->own;
    size_t wide = bert->config.hidden_size, layers = bert->config.num_hidden_layers;
    (void)dev;
    nvdp__steps_plan(arena, max_tokens, longest, &lstm->steps);
    NVDP__TAKE(arena, {&lstm->ids, max_tokens},
               {&lstm->embedded, max_tokens * bert->config.embedding_size},
               {&lstm->scratch, nvdp__lstm_scratch(wide / DIRECTIONS, max_texts)});
    for (size_t i = 0; i < layers; i++) {
        /* all layers share the memory of layer 0, except in training */
        if (i > 0) lstm->layer[i] = lstm->layer[0];
        if (cache->training || i == 0)
            NVDP__TAKE(arena, {&lstm->layer[i].gates, max_tokens * GATES * wide},
                       {&lstm->layer[i].cell, max_tokens * wide});
        lstm->layer[i].out = nvdp__arena_take(arena, max_tokens * wide);
    }
    cache->hidden[layers] = nvdp__arena_take(arena, max_tokens * wide);
    if (!cache->training) return;
    NVDP__TAKE(arena, {&lstm->earlier, max_tokens * wide / DIRECTIONS},
               {&lstm->d_out, max_tokens * wide});
    if (!cache->per_example) return;
    lstm->by_text = nvdp__arena_take(arena, max_tokens * GATES * wide);
    for (size_t i = 0; i < layers; i++) {
        lstm->layer[i].read = nvdp__arena_take(arena, max_tokens * input_width(bert, i));
        for (size_t d = 0; d < DIRECTIONS; d++)
            lstm->layer[i].before[d] = nvdp__arena_take(arena, max_tokens * wide / DIRECTIONS);
    }
}

/* ---- passes ---- */

/* Returns W of both directions as one layer, in float32 on every device because the recurrence is in float32. */
static struct nvdp__linear input_linear(const struct nvdp__bert *bert,
                                        const struct nvdp__params *params, size_t layer,
                                        size_t rows) {
    const struct lstm_layer *at = layer_at(bert, layer);
    struct nvdp__linear linear =
        nvdp__dense_linear(params, &(struct nvdp__dense){at->input[0], at->bias[0]}, rows);
    linear.out *= DIRECTIONS;
    linear.f32 = true;
    return linear;
}

static struct nvdp__lstm layer_lstm(const struct nvdp__bert *bert,
                                    const struct nvdp__params *params,
                                    const struct lstm_cache *cache, size_t layer) {
    const size_t *recurrent = layer_at(bert, layer)->recurrent;
    return (struct nvdp__lstm){
        .steps = &cache->steps,
        .units = units_in(&bert->config),
        .u = {nvdp__value(params, recurrent[0]), nvdp__value(params, recurrent[1])},
        .gates = cache->layer[layer].gates,
        .cell = cache->layer[layer].cell,
        .out = cache->layer[layer].out,
        .scratch = cache->scratch};
}

static struct nvdp__tensor input_to(const struct nvdp__bert *bert, const struct lstm_cache *cache,
                                    size_t layer) {
    return nvdp__f32(cache->steps.rows, input_width(bert, layer),
                     layer == 0 ? cache->embedded : cache->layer[layer - 1].out);
}

static struct nvdp__tensor gate_tensor(const struct nvdp__bert *bert,
                                       const struct lstm_cache *cache, size_t layer) {
    return nvdp__f32(cache->steps.rows, GATES * bert->config.hidden_size,
                     cache->layer[layer].gates);
}

static void forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    struct lstm_cache *lstm = cache->own;
    struct nvdp__dropout drop = {.rate = pass->training ? pass->hidden_dropout : 0,
                                 .seed = pass->seed,
                                 .step = pass->step,
                                 .first = pass->part.tokens * bert->config.embedding_size};
    size_t layers = bert->config.num_hidden_layers, wide = bert->config.hidden_size;
    size_t in = bert->config.embedding_size;
    nvdp__steps_fill(batch->texts, batch->offset, &lstm->steps);
    for (size_t r = 0; r < batch->tokens; r++)
        lstm->ids[r] = batch->ids[lstm->steps.row[r]];
    if (batch->words != NULL)
        nvdp__rows_gather(dev, batch->tokens, in, lstm->steps.row, batch->words, lstm->embedded);
    else
        nvdp__rows_gather(dev, batch->tokens, in, lstm->ids, nvdp__value(params, bert->word),
                          lstm->embedded);
    nvdp__dropout_apply(dev, &drop, batch->tokens * in, lstm->embedded);
    for (size_t i = 0; i < layers; i++) {
        struct nvdp__linear input = input_linear(bert, params, i, batch->tokens);
        struct nvdp__lstm layer = layer_lstm(bert, params, lstm, i);
        nvdp__dense_forward(dev, &input, input_to(bert, lstm, i), gate_tensor(bert, lstm, i));
        nvdp__lstm_forward(dev, &layer);
    }
    nvdp__rows_gather(dev, batch->tokens, wide, lstm->steps.place, lstm->layer[layers - 1].out,
                      cache->hidden[layers]);
}

/* Adds per-example gradients, which need the rows of each text together. U is a linear map of
 * the previous states. */
static void examples_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                              const struct nvdp__params *params, const struct nvdp__batch *batch,
                              const struct lstm_cache *lstm, size_t layer) {
    const struct nvdp__steps *steps = &lstm->steps;
    size_t units = units_in(&bert->config), wide = GATES * units, in = input_width(bert, layer);
    struct nvdp__tensor dy = nvdp__f32(steps->rows, DIRECTIONS * wide, lstm->by_text);
    struct nvdp__linear input = input_linear(bert, params, layer, steps->rows);
    nvdp__rows_gather(dev, steps->rows, DIRECTIONS * wide, steps->place, lstm->layer[layer].gates,
                      lstm->by_text);
    nvdp__rows_gather(dev, steps->rows, in, steps->place, input_to(bert, lstm, layer).data,
                      lstm->layer[layer].read);
    input.offset = batch->offset;
    nvdp__per_example_linear(dev, &input, nvdp__f32(steps->rows, in, lstm->layer[layer].read), dy);
    for (size_t d = 0; d < DIRECTIONS; d++) {
        float *before = lstm->layer[layer].before[d];
        const struct nvdp__linear recurrent = {
            .rows = steps->rows,
            .in = units,
            .out = wide,
            .dw = nvdp__grad(params, layer_at(bert, layer)->recurrent[d]),
            .set = true,
            .f32 = true,
            .offset = batch->offset};
        nvdp__rows_gather(dev, steps->rows, units, steps->before[d], lstm->layer[layer].out,
                          lstm->earlier);
        nvdp__rows_gather(dev, steps->rows, units, steps->place, lstm->earlier, before);
        nvdp__per_example_linear(dev, &recurrent, nvdp__f32(steps->rows, units, before),
                                 nvdp__col_slice(dy, d * wide, wide));
    }
}

static void backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last) {
    const struct lstm_cache *lstm = cache->own;
    const bool each = dev->per_example != NULL;
    (void)pass;
    size_t wide = bert->config.hidden_size;
    nvdp__rows_gather(dev, batch->tokens, wide, lstm->steps.row, d_last, lstm->d_out);
    for (size_t i = bert->config.num_hidden_layers; i-- > 0;) {
        struct nvdp__linear input = input_linear(bert, params, i, batch->tokens);
        struct nvdp__lstm layer = layer_lstm(bert, params, lstm, i);
        nvdp__lstm_backward(dev, &layer, lstm->d_out);
        if (each) examples_backward(bert, dev, params, batch, lstm, i);
        for (size_t d = 0; d < DIRECTIONS && !each; d++)
            nvdp__lstm_backward_weight(dev, &layer, d, lstm->earlier,
                                       nvdp__grad(params, layer_at(bert, i)->recurrent[d]));
        struct nvdp__tensor below =
            i > 0 ? nvdp__f32(batch->tokens, wide, lstm->d_out) : NVDP__NO_TENSOR;
        nvdp__dense_backward(dev, &input, each ? NVDP__NO_TENSOR : input_to(bert, lstm, i),
                             gate_tensor(bert, lstm, i), below, false);
    }
}

/* ---- pooler: the last token's forward state and the first token's backward state ---- */

/* Returns row indices into `hidden`, which is read as [2T, H]. */
static const int32_t *set_ends(const struct nvdp__batch *batch, const struct nvdp__pooler *pooler) {
    for (size_t b = 0; b < batch->texts; b++) {
        pooler->ends[DIRECTIONS * b] = DIRECTIONS * (batch->offset[b + 1] - 1);
        pooler->ends[DIRECTIONS * b + 1] = DIRECTIONS * batch->offset[b] + 1;
    }
    return pooler->ends;
}

static void pooler_plan(const struct nvdp__bert *bert, size_t max_texts, bool training,
                        struct nvdp__arena *arena, struct nvdp__pooler *pooler) {
    (void)training;
    NVDP__TAKE(arena, {&pooler->ends, DIRECTIONS * max_texts},
               {&pooler->pooled, max_texts * bert->config.hidden_size});
}

static void pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const float *hidden, const struct nvdp__pooler *pooler) {
    (void)params;
    nvdp__rows_gather(dev, DIRECTIONS * batch->texts, units_in(&bert->config),
                      set_ends(batch, pooler), hidden, pooler->pooled);
}

static void pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                            const struct nvdp__params *params, const struct nvdp__batch *batch,
                            const struct nvdp__pooler *pooler, float *d_pooled, float *d_last) {
    (void)params;
    nvdp__zero(dev, batch->tokens * bert->config.hidden_size, d_last);
    nvdp__rows_scatter_add(dev, DIRECTIONS * batch->texts, units_in(&bert->config),
                           set_ends(batch, pooler), d_pooled, d_last);
}

/* ---- the row ---- */

static const struct nvdp__encoder_pass lstm_pass = {.cache = create_cache,
                                                    .plan = plan,
                                                    .forward = forward,
                                                    .backward = backward,
                                                    .pooler_plan = pooler_plan,
                                                    .pooler_forward = pooler_forward,
                                                    .pooler_backward = pooler_backward};

const struct nvdp__encoder_row nvdp__encoder_bilstm = {
    .title = "a BiLSTM",
    .names = {.type = "bilstm",
              .encoder = "BiLSTM",
              .classification = "BiLSTMForSequenceClassification",
              .tagging = "BiLSTMForTokenClassification",
              .prefix = PREFIX,
              .classifier = "classifier"},
    .key = {[NVDP__KEY_HIDDEN_SIZE] = "hidden_size",
            [NVDP__KEY_LAYERS] = "num_hidden_layers",
            [NVDP__KEY_VOCAB_SIZE] = "vocab_size",
            [NVDP__KEY_POSITIONS] = "max_position_embeddings",
            [NVDP__KEY_EMBEDDING_SIZE] = "embedding_size",
            [NVDP__KEY_HIDDEN_DROPOUT] = "hidden_dropout_prob",
            [NVDP__KEY_INITIALIZER_RANGE] = "initializer_range"},
    .token_types = true, /* token types of a data set's pairs; both types are treated alike */
    .word_vectors = true,
    .per_example = true,
    .over_words = over_words,
    .units = units_in,
    .check = check,
    .parameter_count = parameter_count,
    .declare = declare,
    .initialize = initialize,
    .initialize_new = initialize_layers,
    .pass = &lstm_pass};
