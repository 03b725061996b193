/* A toy encoder, written as a new encoder would be: one file with its row. A token's state is W
 * e + b, where e is the word's embedding; the head reads the mean of the states. */
#include "encoder/row.h"

struct toy {
    struct nvdp__dense dense; /* W, b */
};
struct toy_cache {
    float *embedded, *d_embedded; /* [T, D] */
};

static const struct nvdp__dense *dense_of(const struct nvdp__bert *bert) {
    return &((const struct toy *)bert->own)->dense;
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_bert_config *config) {
    if (config->num_hidden_layers == 1) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "'layers': expected 1, found %zu",
                      config->num_hidden_layers);
}

static size_t parameter_count(const struct nvdp_bert_config *config) {
    return (config->vocab_size + config->hidden_size + 1) * config->hidden_size;
}

static nvdp_status declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    const size_t dim = bert->config.hidden_size;
    struct toy *toy = NULL;
    NVDP_TRY(NVDP__NEW(params->ctx, toy, 1));
    bert->own = toy;
    NVDP_TRY(nvdp__params_add(params, "toy.embeddings.word_embeddings.weight", 2,
                              bert->config.vocab_size, dim, NVDP__PARAM_DECAY, &bert->word));
    return nvdp__declare_dense(params, "toy.dense", dim, dim, 0, &toy->dense);
}

static void initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       struct nvdp__params *params, uint64_t seed) {
    nvdp__params_normal(dev, params, bert->word, bert->config.initializer_range, seed);
    nvdp__params_normal(dev, params, dense_of(bert)->weight, bert->config.initializer_range, seed);
}

/* Does nothing because a checkpoint has all tensors. */
static void initialize_new(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           struct nvdp__params *params, uint64_t seed) {
    (void)bert, (void)dev, (void)params, (void)seed;
}

static nvdp_status create_cache(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                struct nvdp__bert_cache *cache) {
    struct toy_cache *made = NULL;
    (void)bert;
    NVDP_TRY(NVDP__NEW(ctx, made, 1));
    cache->own = made;
    return NVDP_OK;
}

static void plan(const struct nvdp__bert *bert, const struct nvdp__device *dev, size_t max_tokens,
                 size_t max_texts, size_t longest, struct nvdp__arena *arena,
                 struct nvdp__bert_cache *cache) {
    const size_t floats = max_tokens * bert->config.hidden_size;
    struct toy_cache *toy = cache->own;
    (void)dev, (void)max_texts, (void)longest;
    toy->embedded = nvdp__arena_take(arena, floats);
    cache->hidden[1] = nvdp__arena_take(arena, floats);
    if (cache->training) toy->d_embedded = nvdp__arena_take(arena, floats);
}

static void forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    const size_t tokens = batch->tokens, dim = bert->config.hidden_size;
    const struct toy_cache *toy = cache->own;
    struct nvdp__linear dense = nvdp__dense_linear(params, dense_of(bert), tokens);
    (void)pass;
    nvdp__rows_gather(dev, tokens, dim, batch->ids, nvdp__value(params, bert->word), toy->embedded);
    nvdp__dense_forward(dev, &dense, nvdp__f32(tokens, dim, toy->embedded),
                        nvdp__f32(tokens, dim, cache->hidden[1]));
}

static void backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last) {
    const size_t tokens = batch->tokens, dim = bert->config.hidden_size;
    const struct toy_cache *toy = cache->own;
    struct nvdp__linear dense = nvdp__dense_linear(params, dense_of(bert), tokens);
    (void)pass;
    nvdp__dense_backward(dev, &dense, nvdp__f32(tokens, dim, toy->embedded),
                         nvdp__f32(tokens, dim, d_last), nvdp__f32(tokens, dim, toy->d_embedded),
                         false);
    nvdp__rows_scatter_add(dev, tokens, dim, batch->ids, toy->d_embedded,
                           nvdp__grad(params, bert->word));
}

static void pooler_plan(const struct nvdp__bert *bert, size_t max_texts, bool training,
                        struct nvdp__arena *arena, struct nvdp__pooler *pooler) {
    (void)training;
    pooler->pooled = nvdp__arena_take(arena, max_texts * bert->config.hidden_size);
}

static void pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const float *hidden, const struct nvdp__pooler *pooler) {
    (void)params;
    nvdp__pool_forward(dev, batch->texts, bert->config.hidden_size, batch->offset, NULL, hidden,
                       pooler->pooled);
}

static void pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                            const struct nvdp__params *params, const struct nvdp__batch *batch,
                            const struct nvdp__pooler *pooler, float *d_pooled, float *d_last) {
    (void)params, (void)pooler;
    nvdp__pool_backward(dev, batch->texts, bert->config.hidden_size, batch->offset, NULL, NULL,
                        d_pooled, d_last, NULL);
}

static const struct nvdp__encoder_pass toy_pass = {.cache = create_cache,
                                                   .plan = plan,
                                                   .forward = forward,
                                                   .backward = backward,
                                                   .pooler_plan = pooler_plan,
                                                   .pooler_forward = pooler_forward,
                                                   .pooler_backward = pooler_backward};

const struct nvdp__encoder_row nvdp__encoder_toy = {
    .title = "a toy",
    .names = {.type = "toy",
              .encoder = "ToyModel",
              .classification = "ToyForSequenceClassification",
              .tagging = "ToyForTokenClassification",
              .prefix = "toy",
              .classifier = "classifier"},
    .key = {[NVDP__KEY_HIDDEN_SIZE] = "width",
            [NVDP__KEY_LAYERS] = "layers",
            [NVDP__KEY_VOCAB_SIZE] = "words",
            [NVDP__KEY_INITIALIZER_RANGE] = "initializer_range"},
    .token_types = true,
    .check = check,
    .parameter_count = parameter_count,
    .declare = declare,
    .initialize = initialize,
    .initialize_new = initialize_new,
    .pass = &toy_pass};
