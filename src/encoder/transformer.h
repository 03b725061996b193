/* Transformers in the table of encoders. If an encoder computes as BERT does, under other names or without some
 * parts, its row ends in NVDP__TRANSFORMER. ModernBERT shares embeddings, passes and pooler with this family; its
 * layers have a LayerNorm before each half. */
#ifndef NVDP_SRC_BERT_TRANSFORMER_H
#define NVDP_SRC_BERT_TRANSFORMER_H

#include "encoder/encoder.h"
#include "encoder/row.h"
#include <math.h>

struct nvdp__encoder_run;
extern const struct nvdp__encoder_pass nvdp__transformer_pass, nvdp__pre_norm_pass;
/* modernbert.c: the plan, one layer, and the additional layer of nvdp__pre_norm_pass. The backward pass of a layer
 * turns d [T, D], the gradient of the layer's output, into the gradient of hidden[index]. */
void nvdp__pre_norm_plan(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         size_t tokens, size_t max_texts, size_t longest, struct nvdp__arena *arena,
                         struct nvdp__bert_cache *cache);
void nvdp__pre_norm_forward(const struct nvdp__encoder_run *run, size_t index);
void nvdp__pre_norm_backward(const struct nvdp__encoder_run *run, size_t index, float *d);
nvdp_status nvdp__pre_norm_declare_extra(struct nvdp__bert *extra, const struct nvdp__bert *below,
                                         const char *prefix, struct nvdp__params *params);

nvdp_status nvdp__transformer_check(struct nvdp_context *ctx,
                                    const struct nvdp_bert_config *config);
size_t nvdp__transformer_parameter_count(const struct nvdp_bert_config *config);
size_t nvdp__transformer_tensors_below(const struct nvdp__bert *bert, size_t layers);
nvdp_status nvdp__transformer_declare(struct nvdp__bert *bert, struct nvdp__params *params);
void nvdp__transformer_initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed);
void nvdp__transformer_initialize_pooler(const struct nvdp__bert *bert,
                                         const struct nvdp__device *dev,
                                         struct nvdp__params *params, uint64_t seed);

/* The functions and capabilities of the family. */
#define NVDP__TRANSFORMER                                                                          \
    .position_vectors = true, .word_states = true, .all_layers = true, .bottleneck = true,         \
    .word_vectors = true, .per_example = true, .bf16 = true,                                       \
    .tensors_below = nvdp__transformer_tensors_below, .check = nvdp__transformer_check,            \
    .parameter_count = nvdp__transformer_parameter_count, .declare = nvdp__transformer_declare,    \
    .initialize = nvdp__transformer_initialize,                                                    \
    .initialize_new = nvdp__transformer_initialize_pooler, .pass = &nvdp__transformer_pass

/* BERT's names of layers, for `names`, and BERT's keys of config.json, with and without token types. */
#define NVDP__BERT_LAYERS                                                                          \
    .layers = "encoder.layer", .query = "attention.self.query", .key = "attention.self.key",       \
    .value = "attention.self.value", .attention_output = "attention.output.dense",                 \
    .attention_norm = "attention.output.LayerNorm", .intermediate = "intermediate.dense",          \
    .output = "output.dense", .output_norm = "output.LayerNorm"
#define NVDP__BERT_KEY_NAMES [NVDP__KEY_TYPES] = "type_vocab_size", NVDP__UNTYPED_KEY_NAMES
#define NVDP__BERT_KEYS                                                                            \
    { NVDP__BERT_KEY_NAMES }
#define NVDP__UNTYPED_KEY_NAMES                                                                    \
    [NVDP__KEY_POSITIONS] = "max_position_embeddings", NVDP__LAYER_KEY_NAMES
/* The keys without positions. */
#define NVDP__LAYER_KEY_NAMES                                                                      \
    [NVDP__KEY_HIDDEN_SIZE] = "hidden_size", [NVDP__KEY_LAYERS] = "num_hidden_layers",             \
    [NVDP__KEY_HEADS] = "num_attention_heads",                                                     \
    [NVDP__KEY_INTERMEDIATE_SIZE] = "intermediate_size", [NVDP__KEY_VOCAB_SIZE] = "vocab_size",    \
    [NVDP__KEY_NORM_EPS] = "layer_norm_eps", [NVDP__KEY_HIDDEN_DROPOUT] = "hidden_dropout_prob",   \
    [NVDP__KEY_ATTENTION_DROPOUT] = "attention_probs_dropout_prob",                                \
    [NVDP__KEY_INITIALIZER_RANGE] = "initializer_range", [NVDP__KEY_ACTIVATION] = "hidden_act"

/* Declares layer `index` of bert->layer as "<prefix>.attention.self.query.weight" and so on,
 * with the row's names. */
nvdp_status nvdp__layer_declare(struct nvdp__bert *bert, size_t index, const char *prefix,
                                unsigned flags, struct nvdp__params *params);

/* ==== passes ==== */

/* The arguments of a forward or backward pass, which the functions of an encoder pass on. */
struct nvdp__encoder_run {
    const struct nvdp__bert *bert;
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
    const struct nvdp__batch *batch;
    const struct nvdp__pass *pass;
    struct nvdp__bert_cache *cache;
};

/* The sizes and memory that the parts of a plan share. */
struct nvdp__encoder_plan {
    const struct nvdp__device *dev;
    struct nvdp__arena *arena;
    size_t tokens; /* padded to whole blocks of product rows */
    size_t dim, wide, heads;
    bool rounds; /* true if products read copies in another type */
};
static inline struct nvdp__encoder_plan nvdp__encoder_plan(const struct nvdp_bert_config *config,
                                                           const struct nvdp__device *dev,
                                                           size_t tokens,
                                                           struct nvdp__arena *arena) {
    return (struct nvdp__encoder_plan){dev,
                                       arena,
                                       nvdp__padded_rows(dev, tokens),
                                       config->hidden_size,
                                       config->intermediate_size,
                                       config->num_attention_heads,
                                       nvdp__product_type(dev) != NVDP__F32};
}

/* Take floats [tokens, width], a tensor [tokens, width] for products, and the scratch buffer of attention. */
static inline float *nvdp__plan_floats(const struct nvdp__encoder_plan *plan, size_t width) {
    return nvdp__arena_take(plan->arena, plan->tokens * width);
}
static inline struct nvdp__tensor nvdp__plan_product(const struct nvdp__encoder_plan *plan,
                                                     size_t width) {
    return nvdp__arena_tensor(plan->arena, plan->dev, nvdp__product_type(plan->dev), plan->tokens,
                              width);
}
static inline float *nvdp__plan_scratch(const struct nvdp__encoder_plan *plan, size_t longest) {
    return nvdp__arena_take(plan->arena,
                            nvdp__attend_scratch(plan->dev, nvdp__product_type(plan->dev), longest,
                                                 longest, plan->dim / plan->heads));
}

/* Returns a buffer as a tensor with fewer columns. */
static inline struct nvdp__tensor nvdp__columns(struct nvdp__tensor buffer, size_t cols) {
    buffer.cols = buffer.stride = cols;
    return buffer;
}

/* Dropout sites: 0 for the embeddings, then three per layer (struct nvdp__pass), of which the first is for the
 * probabilities of attention. */
enum { NVDP__SITES_PER_LAYER = 3, NVDP__SITE_PROBABILITIES = 1 };

/* Returns the dropout of a layer. `site` is 1 to 3. `width` is the numbers per row for masks of elements, and 1 for
 * masks of rows. */
static inline struct nvdp__dropout nvdp__run_dropout(const struct nvdp__encoder_run *run,
                                                     float rate, size_t layer, uint32_t site,
                                                     size_t width) {
    return (struct nvdp__dropout){.rate = run->pass->training ? rate : 0,
                                  .seed = run->pass->seed,
                                  .step = run->pass->step,
                                  .site = (uint32_t)layer * NVDP__SITES_PER_LAYER + site,
                                  .first = run->pass->part.tokens * width};
}

/* Returns a declared LayerNorm over the tokens of the batch. */
static inline struct nvdp__norm nvdp__run_norm(const struct nvdp__encoder_run *run,
                                               const struct nvdp__dense *norm, float *mean,
                                               float *rstd) {
    struct nvdp__norm made =
        nvdp__dense_norm(run->params, norm, (float)run->bert->config.layer_norm_eps, mean, rstd);
    made.offset = run->batch->offset;
    if (made.beta == NULL) made.beta = run->cache->zeros;
    return made;
}

/* Returns a declared dense layer over the tokens of the batch, which int8 encoding quantizes. */
static inline struct nvdp__linear nvdp__run_dense(const struct nvdp__encoder_run *run,
                                                  const struct nvdp__dense *dense) {
    struct nvdp__linear layer = nvdp__dense_linear(run->params, dense, run->batch->tokens);
    layer.int8 = true;
    layer.offset = run->batch->offset;
    return layer;
}

/* Returns the activation of inner layers. */
static inline enum nvdp__act nvdp__run_activation(const struct nvdp__encoder_run *run) {
    return nvdp__activation_operation(run->bert->config.hidden_act);
}

/* Returns a planned tensor reduced to the batch's rows. */
static inline struct nvdp__tensor nvdp__run_rows(const struct nvdp__encoder_run *run,
                                                 struct nvdp__tensor x) {
    return nvdp__with_rows(x, run->batch->tokens);
}

/* Returns the attention of layer `index` over the batch. Query, key and value are adjacent in the rows of qkv, which
 * have 3D numbers. */
static inline struct nvdp__attention nvdp__run_attention(const struct nvdp__encoder_run *run,
                                                         size_t index, struct nvdp__tensor qkv,
                                                         struct nvdp__tensor out, float *lse,
                                                         const struct nvdp__relative *relative) {
    const struct nvdp_bert_config *config = &run->bert->config;
    const size_t d = config->hidden_size, heads = config->num_attention_heads;
    const size_t head_dim = d / heads;
    const struct nvdp__tensor rows = nvdp__run_rows(run, qkv);
    return (struct nvdp__attention){.groups = run->batch->texts,
                                    .heads = heads,
                                    .scale = (float)(1 / sqrt((double)head_dim)),
                                    .q_offset = run->batch->offset,
                                    .k_offset = run->batch->offset,
                                    .dropout =
                                        nvdp__run_dropout(run, run->pass->attention_dropout, index,
                                                          NVDP__SITE_PROBABILITIES, 1),
                                    .q = nvdp__col_slice(rows, 0, d),
                                    .k = nvdp__col_slice(rows, d, d),
                                    .v = nvdp__col_slice(rows, 2 * d, d),
                                    .out = nvdp__run_rows(run, out),
                                    .relative = relative,
                                    .lse = lse,
                                    .scratch = run->cache->scratch};
}
/* Returns the gradients of attention; the gradients of query, key and value are in one buffer [T,3D]. */
static inline struct nvdp__attention_gradient
nvdp__run_attention_gradient(const struct nvdp__encoder_run *run, struct nvdp__tensor d_qkv,
                             struct nvdp__tensor d_out) {
    const size_t d = run->bert->config.hidden_size;
    return (struct nvdp__attention_gradient){.dout = nvdp__run_rows(run, d_out),
                                             .dq = nvdp__col_slice(d_qkv, 0, d),
                                             .dk = nvdp__col_slice(d_qkv, d, d),
                                             .dv = nvdp__col_slice(d_qkv, 2 * d, d)};
}

/* Returns x as the states of all tokens: [T, D] float32. */
static inline struct nvdp__tensor nvdp__run_state(const struct nvdp__encoder_run *run,
                                                  const float *x) {
    return nvdp__f32(run->batch->tokens, run->bert->config.hidden_size, x);
}

#endif
