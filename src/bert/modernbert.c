/* ModernBERT (Warner et al. 2024): LayerNorm before each half of a layer, rotary positions, gated
 * inner layers, and attention to near tokens in most layers.
 *
 *     h_0 = LN(word[id])
 *     m   = h + drop(W_o attention(rotate(W_q n), rotate(W_k n), W_v n)),  n = LN(h); h_0 in layer 0
 *     h'  = m + W_2 drop(gelu(W_u n') * W_g n'),                           n' = LN(m)
 *
 * and the last state is LN(h_L). Layers 0, k, 2k, ... attend to all tokens of the text; the others
 * to those within local_attention/2, and rotate with another base. The configuration says which
 * layers have biases. */
#include "bert/row.h"
#include "bert/run.h"

#include "base/json.h"
#include "tensor/per_example.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "model"
enum { NAME_SIZE = 120 };

struct layer {
    struct nvdp__dense attention_norm; /* unused in layer 0 */
    struct nvdp__dense qkv, attention_output, inner_norm;
    struct nvdp__dense inner, output; /* inner: W_u, then W_g */
};
struct own {
    struct nvdp__dense norm, last_norm, head_norm;
    struct layer layer[];
};

static const struct nvdp_bert_config *config_of(const struct nvdp__bert *bert) {
    return &bert->config;
}

static struct own *own_of(const struct nvdp__bert *bert) {
    return bert->own;
}

static bool is_global(const struct nvdp_bert_config *config, size_t layer) {
    return layer % config->global_attn_every_n_layers == 0;
}

/* ---- configuration ---- */

#define FULL "full_attention"
#define SLIDING "sliding_attention"

/* transformers 5 lists the kind of each layer; every n-th one must attend to all tokens. */
static nvdp_status read_layer_types(struct nvdp_context *ctx, const char *path, const json_t *types,
                                    size_t *every) {
    const size_t count = json_array_size(types);
    size_t n = 1;
    const char *found = "none";
    while (n < count && strcmp(json_string_value(json_array_get(types, n)) != NULL
                                   ? json_string_value(json_array_get(types, n))
                                   : "",
                               FULL) != 0)
        n++;
    for (size_t i = 0; i < count; i++) {
        found = json_string_value(json_array_get(types, i));
        if (found != NULL && strcmp(found, i % n == 0 ? FULL : SLIDING) == 0) continue;
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'layer_types': expected " FULL
                          " in layers 0, n, 2n, ... and " SLIDING
                          " in the others, found %.100s in layer %zu",
                          path, found != NULL ? found : "no text", i);
    }
    if (count > 0) *every = n;
    return NVDP_OK;
}

/* transformers 5 has the bases of both kinds of layers in one object. */
static nvdp_status read_rope(struct nvdp_context *ctx, const char *path, const json_t *rope,
                             const char *kind, double *theta) {
    const json_t *of = json_object_get(rope, kind);
    const char *type;
    if (!json_is_object(of)) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(nvdp__json_string(ctx, path, of, "rope_type", "default", &type));
    if (strcmp(type, "default") != 0)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'rope_parameters.%s.rope_type': expected default, found '%.100s'",
                          path, kind, type);
    return nvdp__json_real(ctx, path, of, "rope_theta", *theta, 1, 1e12, theta);
}

static nvdp_status read_config(struct nvdp_context *ctx, const char *path, const json_t *json,
                               struct nvdp_bert_config *config) {
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {{"norm_bias", &config->norm_bias},
                 {"attention_bias", &config->attention_bias},
                 {"mlp_bias", &config->mlp_bias},
                 {"classifier_bias", &config->classifier_bias}};
    const struct {
        const char *key;
        size_t *size;
        int64_t max;
    } sizes[] = {{"local_attention", &config->local_attention, 1 << 20},
                 {"global_attn_every_n_layers", &config->global_attn_every_n_layers, 1 << 10}};
    const json_t *rope = json_object_get(json, "rope_parameters");
    const char *pooling;
    config->max_position_embeddings = 8192;
    config->layer_norm_eps = 1e-5;
    config->hidden_dropout_prob = config->attention_probs_dropout_prob = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        NVDP_RETURN_IF_FAILED(nvdp__json_bool(ctx, path, json, flags[i].key, false, flags[i].flag));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t value;
        NVDP_RETURN_IF_FAILED(nvdp__json_int(ctx, path, json, sizes[i].key, (int64_t)*sizes[i].size,
                                             1, sizes[i].max, &value));
        *sizes[i].size = (size_t)value;
    }
    double *global = &config->global_rope_theta, *local = &config->local_rope_theta;
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, path, json, "global_rope_theta", *global, 1, 1e12, global));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_real(ctx, path, json, "local_rope_theta", *local, 1, 1e12, local));
    NVDP_RETURN_IF_FAILED(read_rope(ctx, path, rope, FULL, global));
    NVDP_RETURN_IF_FAILED(read_rope(ctx, path, rope, SLIDING, local));
    NVDP_RETURN_IF_FAILED(read_layer_types(ctx, path, json_object_get(json, "layer_types"),
                                           &config->global_attn_every_n_layers));
    NVDP_RETURN_IF_FAILED(
        nvdp__json_string(ctx, path, json, "classifier_pooling", "cls", &pooling));
    config->classifier_mean = strcmp(pooling, "mean") == 0;
    if (config->classifier_mean || strcmp(pooling, "cls") == 0) return NVDP_OK;
    return nvdp__fail(ctx, NVDP_ERR_INPUT,
                      "%s: 'classifier_pooling': expected cls or mean, found '%.100s'", path,
                      pooling);
}

/* Names that all versions of transformers read. */
static int write_config(json_t *json, const struct nvdp_bert_config *config) {
    json_t *members = json_pack(
        "{s:b, s:b, s:b, s:b, s:I, s:I, s:f, s:f, s:s}", "norm_bias", config->norm_bias,
        "attention_bias", config->attention_bias, "mlp_bias", config->mlp_bias, "classifier_bias",
        config->classifier_bias, "local_attention", (json_int_t)config->local_attention,
        "global_attn_every_n_layers", (json_int_t)config->global_attn_every_n_layers,
        "global_rope_theta", config->global_rope_theta, "local_rope_theta",
        config->local_rope_theta, "classifier_pooling", config->classifier_mean ? "mean" : "cls");
    return members != NULL ? json_object_update_new(json, members) : -1;
}

static nvdp_status check(struct nvdp_context *ctx, const struct nvdp_bert_config *config) {
    const size_t heads = config->num_attention_heads;
    if (config->hidden_size % (2 * heads) != 0)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'num_attention_heads': expected a divisor of half of 'hidden_size' %zu, "
                          "for rotary positions, found %zu",
                          config->hidden_size, heads);
    if (config->local_attention < 1 || config->local_attention > 1 << 20)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'local_attention': expected 1 to 1048576, found %zu",
                          config->local_attention);
    if (config->global_attn_every_n_layers < 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'global_attn_every_n_layers': expected at least 1, found 0");
    if (!(config->global_rope_theta >= 1) || !(config->local_rope_theta >= 1))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "'global_rope_theta' and 'local_rope_theta': expected at least 1, found "
                          "%g and %g",
                          config->global_rope_theta, config->local_rope_theta);
    return NVDP_OK;
}

static size_t parameter_count(const struct nvdp_bert_config *config) {
    const size_t d = config->hidden_size, wide = config->intermediate_size;
    const size_t layers = config->num_hidden_layers;
    const size_t norm = config->norm_bias ? 2 * d : d;
    const size_t attention = 4 * d * d + (config->attention_bias ? 4 * d : 0);
    const size_t inner = 3 * wide * d + (config->mlp_bias ? 2 * wide + d : 0);
    const size_t head = d * d + (config->classifier_bias ? d : 0) + norm;
    /* two norms per layer, one less in layer 0; that of the embeddings, and the last one */
    return config->vocab_size * d + layers * (attention + inner) + (2 * layers + 1) * norm + head;
}

/* ---- parameters ---- */

static nvdp_status declare_layer(struct nvdp__params *params, const char *name, size_t out,
                                 size_t in, bool bias, unsigned flags, struct nvdp__dense *dense) {
    char weight[NAME_SIZE];
    if (bias) return nvdp__declare_dense(params, name, out, in, flags, dense);
    dense->bias = NVDP__NO_BIAS;
    nvdp__snprintf(weight, sizeof weight, "%s.weight", name);
    return nvdp__params_add(params, weight, 2, out, in,
                            flags | NVDP__PARAM_DECAY | NVDP__PARAM_LINEAR, &dense->weight);
}

static nvdp_status declare_norm(struct nvdp__params *params, const char *name,
                                const struct nvdp_bert_config *config, unsigned flags,
                                struct nvdp__dense *norm) {
    char weight[NAME_SIZE];
    if (config->norm_bias)
        return nvdp__declare_norm(params, name, config->hidden_size, flags, norm);
    norm->bias = NVDP__NO_BIAS;
    nvdp__snprintf(weight, sizeof weight, "%s.weight", name);
    return nvdp__params_add(params, weight, 1, config->hidden_size, 1, flags, &norm->weight);
}

static nvdp_status declare_parts(struct nvdp__params *params, const struct nvdp_bert_config *config,
                                 size_t index, struct layer *layer) {
    const size_t d = config->hidden_size, wide = config->intermediate_size;
    const struct {
        const char *name;
        size_t out, in; /* in 0: a LayerNorm */
        bool bias;
        struct nvdp__dense *dense;
    } table[] = {
        {"attn_norm", d, 0, false, &layer->attention_norm},
        {"attn.Wqkv", 3 * d, d, config->attention_bias, &layer->qkv},
        {"attn.Wo", d, d, config->attention_bias, &layer->attention_output},
        {"mlp_norm", d, 0, false, &layer->inner_norm},
        {"mlp.Wi", 2 * wide, d, config->mlp_bias, &layer->inner},
        {"mlp.Wo", d, wide, config->mlp_bias, &layer->output},
    };
    for (size_t i = index == 0 ? 1 : 0; i < sizeof table / sizeof *table; i++) {
        char name[NAME_SIZE];
        nvdp__snprintf(name, sizeof name, PREFIX ".layers.%zu.%s", index, table[i].name);
        NVDP_RETURN_IF_FAILED(table[i].in == 0
                                  ? declare_norm(params, name, config, 0, table[i].dense)
                                  : declare_layer(params, name, table[i].out, table[i].in,
                                                  table[i].bias, NVDP__PARAM_SET, table[i].dense));
    }
    return NVDP_OK;
}

static nvdp_status declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp_bert_config *config = config_of(bert);
    const size_t d = config->hidden_size;
    struct own *own =
        nvdp__calloc(params->ctx, 1, sizeof *own + config->num_hidden_layers * sizeof *own->layer);
    if (own == NULL) return NVDP_ERR_MEMORY;
    bert->own = own;
    NVDP_RETURN_IF_FAILED(nvdp__params_add(params, PREFIX ".embeddings.tok_embeddings.weight", 2,
                                           config->vocab_size, d,
                                           NVDP__PARAM_DECAY | NVDP__PARAM_ROWS, &bert->word));
    NVDP_RETURN_IF_FAILED(declare_norm(params, PREFIX ".embeddings.norm", config, 0, &own->norm));
    for (size_t i = 0; i < config->num_hidden_layers; i++)
        NVDP_RETURN_IF_FAILED(declare_parts(params, config, i, &own->layer[i]));
    NVDP_RETURN_IF_FAILED(declare_norm(params, PREFIX ".final_norm", config, 0, &own->last_norm));
    if (!bert->has_pooler) return NVDP_OK;
    NVDP_RETURN_IF_FAILED(declare_layer(params, bert->row->names.pooler, d, d,
                                        config->classifier_bias, NVDP__PARAM_OPTIONAL,
                                        &bert->pooler));
    return declare_norm(params, "head.norm", config, NVDP__PARAM_OPTIONAL, &own->head_norm);
}

static void initialize_norm(const struct nvdp__device *dev, struct nvdp__params *params,
                            const struct nvdp__dense *norm) {
    nvdp__params_fill(dev, params, norm->weight, 1);
    if (norm->bias != NVDP__NO_BIAS) nvdp__params_fill(dev, params, norm->bias, 0);
}

static void initialize_dense(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                             struct nvdp__params *params, const struct nvdp__dense *dense,
                             uint64_t seed) {
    nvdp__params_normal(dev, params, dense->weight, config_of(bert)->initializer_range, seed);
    if (dense->bias != NVDP__NO_BIAS) nvdp__params_fill(dev, params, dense->bias, 0);
}

static void initialize_head(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                            struct nvdp__params *params, uint64_t seed) {
    if (!bert->has_pooler) return;
    initialize_dense(bert, dev, params, &bert->pooler, seed);
    initialize_norm(dev, params, &own_of(bert)->head_norm);
}

static void initialize(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                       struct nvdp__params *params, uint64_t seed) {
    const struct own *own = own_of(bert);
    nvdp__params_normal(dev, params, bert->word, config_of(bert)->initializer_range, seed);
    initialize_norm(dev, params, &own->norm);
    for (size_t i = 0; i < config_of(bert)->num_hidden_layers; i++) {
        const struct layer *layer = &own->layer[i];
        if (i > 0) initialize_norm(dev, params, &layer->attention_norm);
        initialize_dense(bert, dev, params, &layer->qkv, seed);
        initialize_dense(bert, dev, params, &layer->attention_output, seed);
        initialize_norm(dev, params, &layer->inner_norm);
        initialize_dense(bert, dev, params, &layer->inner, seed);
        initialize_dense(bert, dev, params, &layer->output, seed);
    }
    initialize_norm(dev, params, &own->last_norm);
    initialize_head(bert, dev, params, seed);
}

/* ---- plan: training keeps every layer's activations; in inference the layers share them ---- */

struct activations {
    float *attention_in, *qkv, *context, *lse; /* [T,D], [T,3D], [T,D], [T,heads] */
    float *between, *inner_in;                 /* [T,D] m and n' */
    float *inner, *gate, *activated;           /* [T,I] */
    float *mean[2], *rstd[2];                  /* [T] of n and n' */
};
struct own_cache {
    float *embedded, *mean, *rstd;       /* [T,D] word vectors; [T] */
    float *last, *last_mean, *last_rstd; /* [T,D] h_L; [T] */
    float *zeros;                        /* [D] */
    float *cosine[2], *sine[2]; /* [longest, head size / 2] of global and of local layers */
    struct nvdp__relative window;
    float *branch, *d_qkv, *d_inner, *d_gate; /* backward: [T,D], [T,3D], [T,I], [T,I] */
    struct activations layer[];
};

static nvdp_status create_cache(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                struct nvdp__bert_cache *cache) {
    const size_t layers = config_of(bert)->num_hidden_layers;
    struct own_cache *made =
        nvdp__calloc(ctx, 1, sizeof *made + layers * sizeof(struct activations));
    if (made == NULL) return NVDP_ERR_MEMORY;
    cache->own = made;
    return NVDP_OK;
}

static void plan_layer(const struct nvdp_bert_config *config, size_t tokens, bool training,
                       struct nvdp__arena *arena, struct activations *a) {
    const size_t state = tokens * config->hidden_size, wide = tokens * config->intermediate_size;
    a->attention_in = nvdp__arena_take(arena, state);
    a->qkv = nvdp__arena_take(arena, 3 * state);
    a->context = nvdp__arena_take(arena, state);
    a->lse = training ? nvdp__arena_take(arena, tokens * config->num_attention_heads) : NULL;
    a->between = nvdp__arena_take(arena, state);
    a->inner_in = nvdp__arena_take(arena, state);
    a->inner = nvdp__arena_take(arena, wide);
    a->gate = nvdp__arena_take(arena, wide);
    a->activated = nvdp__arena_take(arena, wide);
    for (size_t k = 0; k < 2; k++) {
        a->mean[k] = nvdp__arena_take(arena, tokens);
        a->rstd[k] = nvdp__arena_take(arena, tokens);
    }
}

static void plan_positions(const struct nvdp_bert_config *config, size_t longest,
                           struct nvdp__arena *arena, struct own_cache *own) {
    const size_t head_dim = config->hidden_size / config->num_attention_heads;
    const size_t reach = nvdp__max(longest, 1) - 1, heads = config->num_attention_heads;
    const double theta[2] = {config->global_rope_theta, config->local_rope_theta};
    for (size_t k = 0; k < 2; k++) {
        own->cosine[k] = nvdp__arena_take(arena, longest * head_dim / 2);
        own->sine[k] = nvdp__arena_take(arena, longest * head_dim / 2);
        if (own->sine[k] != NULL)
            nvdp__rotary_fill(longest, head_dim, theta[k], own->cosine[k], own->sine[k]);
    }
    own->window = (struct nvdp__relative){.reach = reach};
    own->window.bias = nvdp__arena_take(arena, heads * (2 * reach + 1));
    if (own->window.bias != NULL)
        nvdp__window_fill(heads, config->local_attention / 2, &own->window);
}

static void plan(const struct nvdp__bert *bert, const struct nvdp__device *dev, size_t tokens,
                 size_t max_texts, size_t longest, struct nvdp__arena *arena,
                 struct nvdp__bert_cache *cache) {
    const struct nvdp_bert_config *config = config_of(bert);
    const size_t state = tokens * config->hidden_size, wide = tokens * config->intermediate_size;
    const size_t layers = config->num_hidden_layers;
    const bool apart = cache->training || cache->keep_hidden;
    struct own_cache *own = cache->own;
    (void)max_texts;
    own->embedded = nvdp__arena_take(arena, state);
    own->mean = nvdp__arena_take(arena, tokens);
    own->rstd = nvdp__arena_take(arena, tokens);
    own->last = nvdp__arena_take(arena, state);
    own->last_mean = nvdp__arena_take(arena, tokens);
    own->last_rstd = nvdp__arena_take(arena, tokens);
    own->zeros = nvdp__arena_take(arena, config->hidden_size);
    plan_positions(config, longest, arena, own);
    for (size_t i = 0; i <= layers; i++)
        cache->hidden[i] = i == 0 || apart ? nvdp__arena_take(arena, state) : cache->hidden[i - 1];
    for (size_t i = 0; i < layers; i++) {
        if (i == 0 || cache->training)
            plan_layer(config, tokens, cache->training, arena, &own->layer[i]);
        else
            own->layer[i] = own->layer[0];
    }
    if (cache->training) {
        own->branch = nvdp__arena_take(arena, state);
        own->d_qkv = nvdp__arena_take(arena, 3 * state);
        own->d_inner = nvdp__arena_take(arena, nvdp__max(wide, state)); /* and of the context */
        own->d_gate = nvdp__arena_take(arena, wide);
    }
    cache->scratch = nvdp__arena_take(
        arena, nvdp__attend_scratch(dev, NVDP__F32, longest, longest,
                                    config->hidden_size / config->num_attention_heads));
}

/* ---- passes ---- */

/* Sites of dropout. */
enum { SITE_PROBABILITIES = 1, SITE_ATTENTION = 2, SITE_INNER = 3 };

static struct own_cache *cache_of(const struct nvdp__encoder_run *run) {
    return run->cache->own;
}

static size_t state_size(const struct nvdp__encoder_run *run) {
    return run->batch->tokens * config_of(run->bert)->hidden_size;
}

/* [T, I] */
static struct nvdp__tensor wide(const struct nvdp__encoder_run *run, const float *x) {
    return nvdp__f32(run->batch->tokens, config_of(run->bert)->intermediate_size, x);
}

static struct nvdp__linear dense_of(const struct nvdp__encoder_run *run,
                                    const struct nvdp__dense *dense) {
    struct nvdp__linear layer = nvdp__dense_linear(run->params, dense, run->batch->tokens);
    layer.int8 = true;
    layer.offset = run->batch->offset;
    return layer;
}

/* W_u (half 0) or W_g (half 1). */
static struct nvdp__linear half_of(const struct nvdp__encoder_run *run,
                                   const struct nvdp__dense *dense, size_t half) {
    struct nvdp__linear layer = dense_of(run, dense);
    layer.out /= 2;
    layer.w += half * layer.out * layer.in;
    if (layer.b != NULL) layer.b += half * layer.out;
    if (layer.dw != NULL) layer.dw += half * layer.out * layer.in;
    if (layer.db != NULL) layer.db += half * layer.out;
    return layer;
}

static struct nvdp__norm norm_of(const struct nvdp__encoder_run *run,
                                 const struct nvdp__dense *norm, float *mean, float *rstd) {
    struct nvdp__norm made = nvdp__run_norm(run, norm, mean, rstd);
    if (made.beta == NULL) made.beta = cache_of(run)->zeros;
    return made;
}

static struct nvdp__attention attention_of(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp_bert_config *config = config_of(run->bert);
    const struct activations *a = &cache_of(run)->layer[index];
    const size_t d = config->hidden_size;
    const size_t width = d / config->num_attention_heads;
    const struct nvdp__tensor qkv = nvdp__f32(run->batch->tokens, 3 * d, a->qkv);
    const bool all = is_global(config, index) || run->batch->longest <= config->local_attention / 2;
    return (struct nvdp__attention){.groups = run->batch->texts,
                                    .heads = config->num_attention_heads,
                                    .scale = (float)(1 / sqrt((double)width)),
                                    .q_offset = run->batch->offset,
                                    .k_offset = run->batch->offset,
                                    .dropout = nvdp__run_dropout(run, run->pass->attention_dropout,
                                                                 index, SITE_PROBABILITIES, 1),
                                    .q = nvdp__col_slice(qkv, 0, d),
                                    .k = nvdp__col_slice(qkv, d, d),
                                    .v = nvdp__col_slice(qkv, 2 * d, d),
                                    .out = nvdp__run_state(run, a->context),
                                    .relative = all ? NULL : &cache_of(run)->window,
                                    .lse = a->lse,
                                    .scratch = run->cache->scratch};
}

/* Rotates queries and keys of layer `index`, or turns their gradients back. */
static void rotate(const struct nvdp__encoder_run *run, size_t index,
                   void call(const struct nvdp__device *, size_t, const int32_t *, const float *,
                             const float *, struct nvdp__tensor),
                   struct nvdp__tensor x) {
    const struct own_cache *own = cache_of(run);
    const size_t kind = is_global(config_of(run->bert), index) ? 0 : 1;
    call(run->dev, config_of(run->bert)->num_attention_heads, run->batch->positions,
         own->cosine[kind], own->sine[kind], x);
}

static enum nvdp__act activation(const struct nvdp__encoder_run *run) {
    return config_of(run->bert)->hidden_act == NVDP_ACTIVATION_GELU ? NVDP__ACT_GELU
                                                                    : NVDP__ACT_GELU_NEW;
}

/* The input of the attention: layer 0 reads the embeddings' LayerNorm itself. */
static const float *attention_input(const struct nvdp__encoder_run *run, size_t index) {
    return index == 0 ? run->cache->hidden[0] : cache_of(run)->layer[index].attention_in;
}

/* The output of layer `index`; the last one is not a hidden state before its LayerNorm. */
static float *output_of(const struct nvdp__encoder_run *run, size_t index) {
    const bool last = index + 1 == config_of(run->bert)->num_hidden_layers;
    return last ? cache_of(run)->last : run->cache->hidden[index + 1];
}

static void layer_forward(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp__device *dev = run->dev;
    const struct layer *layer = &own_of(run->bert)->layer[index];
    const struct activations *a = &cache_of(run)->layer[index];
    const size_t d = config_of(run->bert)->hidden_size, size = state_size(run);
    const size_t wide_size = run->batch->tokens * config_of(run->bert)->intermediate_size;
    const float *h = run->cache->hidden[index];
    struct nvdp__linear qkv = dense_of(run, &layer->qkv);
    struct nvdp__linear mixed = dense_of(run, &layer->attention_output);
    struct nvdp__attention attention = attention_of(run, index);
    struct nvdp__dropout drop =
        nvdp__run_dropout(run, run->pass->attention_dropout, index, SITE_ATTENTION, d);
    if (index > 0) {
        struct nvdp__norm norm = norm_of(run, &layer->attention_norm, a->mean[0], a->rstd[0]);
        nvdp__norm_forward(dev, &norm, nvdp__run_state(run, h), NVDP__NO_TENSOR, NVDP__NO_TENSOR,
                           nvdp__run_state(run, a->attention_in), NVDP__NO_TENSOR);
    }
    nvdp__dense_forward(dev, &qkv, nvdp__run_state(run, attention_input(run, index)),
                        nvdp__f32(run->batch->tokens, 3 * d, a->qkv));
    rotate(run, index, nvdp__rotate, attention.q);
    rotate(run, index, nvdp__rotate, attention.k);
    nvdp__attend_forward(dev, &attention);
    nvdp__dense_forward(dev, &mixed, attention.out, nvdp__run_state(run, a->between));
    nvdp__dropout_apply(dev, &drop, size, a->between);
    nvdp__add(dev, size, h, a->between);

    struct nvdp__norm norm = norm_of(run, &layer->inner_norm, a->mean[1], a->rstd[1]);
    struct nvdp__linear inner = half_of(run, &layer->inner, 0);
    struct nvdp__linear gate = half_of(run, &layer->inner, 1);
    struct nvdp__linear outer = dense_of(run, &layer->output);
    float *out = output_of(run, index);
    drop = nvdp__run_dropout(run, run->pass->hidden_dropout, index, SITE_INNER,
                             config_of(run->bert)->intermediate_size);
    nvdp__norm_forward(dev, &norm, nvdp__run_state(run, a->between), NVDP__NO_TENSOR,
                       NVDP__NO_TENSOR, nvdp__run_state(run, a->inner_in), NVDP__NO_TENSOR);
    nvdp__dense_forward(dev, &inner, nvdp__run_state(run, a->inner_in), wide(run, a->inner));
    nvdp__dense_forward(dev, &gate, nvdp__run_state(run, a->inner_in), wide(run, a->gate));
    nvdp__activation_forward(dev, activation(run), wide(run, a->inner), wide(run, a->activated));
    nvdp__multiply(dev, wide_size, a->gate, a->activated);
    nvdp__dropout_apply(dev, &drop, wide_size, a->activated);
    nvdp__dense_forward(dev, &outer, wide(run, a->activated), nvdp__run_state(run, out));
    nvdp__add(dev, size, a->between, out);
}

/* Turns d [T, D], the gradient of the layer's output, into that of hidden[index]. */
static void layer_backward(const struct nvdp__encoder_run *run, size_t index, float *d) {
    const struct nvdp__device *dev = run->dev;
    const struct layer *layer = &own_of(run->bert)->layer[index];
    struct own_cache *own = cache_of(run);
    const struct activations *a = &own->layer[index];
    const size_t width = config_of(run->bert)->hidden_size, size = state_size(run);
    const size_t wide_size = run->batch->tokens * config_of(run->bert)->intermediate_size;
    struct nvdp__norm norm = norm_of(run, &layer->inner_norm, a->mean[1], a->rstd[1]);
    struct nvdp__linear inner = half_of(run, &layer->inner, 0);
    struct nvdp__linear gate = half_of(run, &layer->inner, 1);
    struct nvdp__linear outer = dense_of(run, &layer->output);
    struct nvdp__dropout drop = nvdp__run_dropout(run, run->pass->hidden_dropout, index, SITE_INNER,
                                                  config_of(run->bert)->intermediate_size);
    const struct nvdp__tensor d_inner = wide(run, own->d_inner), d_gate = wide(run, own->d_gate);
    nvdp__dense_backward(dev, &outer, wide(run, a->activated), nvdp__run_state(run, d), d_gate,
                         false);
    nvdp__dropout_apply(dev, &drop, wide_size, own->d_gate);
    nvdp__copy(dev, wide_size, own->d_gate, own->d_inner);
    nvdp__multiply(dev, wide_size, a->gate, own->d_inner);
    /* recomputes gelu(inner) in place: inner is not read after this */
    nvdp__activation_backward(dev, activation(run), wide(run, a->inner), d_inner, d_inner,
                              wide(run, a->inner));
    nvdp__multiply(dev, wide_size, a->inner, own->d_gate);
    struct nvdp__tensor d_in = nvdp__run_state(run, own->branch);
    nvdp__dense_backward(dev, &inner, nvdp__run_state(run, a->inner_in), d_inner, d_in, false);
    nvdp__dense_backward(dev, &gate, nvdp__run_state(run, a->inner_in), d_gate, d_in, true);
    nvdp__norm_backward(dev, &norm, nvdp__run_state(run, a->between), d_in, NVDP__NO_TENSOR);
    nvdp__add(dev, size, own->branch, d);

    struct nvdp__linear qkv = dense_of(run, &layer->qkv);
    struct nvdp__linear mixed = dense_of(run, &layer->attention_output);
    struct nvdp__attention attention = attention_of(run, index);
    struct nvdp__tensor d_qkv = nvdp__f32(run->batch->tokens, 3 * width, own->d_qkv);
    float *d_context = own->d_inner; /* its gradients are not read after this */
    drop = nvdp__run_dropout(run, run->pass->attention_dropout, index, SITE_ATTENTION, width);
    nvdp__copy(dev, size, d, own->branch);
    nvdp__dropout_apply(dev, &drop, size, own->branch);
    nvdp__dense_backward(dev, &mixed, attention.out, d_in, nvdp__run_state(run, d_context), false);
    const struct nvdp__attention_gradient gradient = {.dout = nvdp__run_state(run, d_context),
                                                      .dq = nvdp__col_slice(d_qkv, 0, width),
                                                      .dk = nvdp__col_slice(d_qkv, width, width),
                                                      .dv =
                                                          nvdp__col_slice(d_qkv, 2 * width, width)};
    nvdp__attend_backward(dev, &attention, &gradient);
    rotate(run, index, nvdp__rotate_backward, gradient.dq);
    rotate(run, index, nvdp__rotate_backward, gradient.dk);
    nvdp__dense_backward(dev, &qkv, nvdp__run_state(run, attention_input(run, index)), d_qkv, d_in,
                         false);
    if (index > 0) {
        norm = norm_of(run, &layer->attention_norm, a->mean[0], a->rstd[0]);
        nvdp__norm_backward(dev, &norm, nvdp__run_state(run, run->cache->hidden[index]), d_in,
                            NVDP__NO_TENSOR);
    }
    nvdp__add(dev, size, own->branch, d);
}

static void forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    const struct nvdp__encoder_run run = {bert, dev, params, batch, pass, cache};
    struct own_cache *own = cache_of(&run);
    const size_t layers = config_of(bert)->num_hidden_layers, dim = config_of(bert)->hidden_size;
    nvdp__zero(dev, dim, own->zeros);
    if (batch->words != NULL)
        nvdp__copy(dev, state_size(&run), batch->words, own->embedded);
    else
        nvdp__rows_gather(dev, batch->tokens, dim, batch->ids, nvdp__value(params, bert->word),
                          own->embedded);
    struct nvdp__norm norm = norm_of(&run, &own_of(bert)->norm, own->mean, own->rstd);
    nvdp__norm_forward(dev, &norm, nvdp__run_state(&run, own->embedded), NVDP__NO_TENSOR,
                       NVDP__NO_TENSOR, nvdp__run_state(&run, cache->hidden[0]), NVDP__NO_TENSOR);
    for (size_t i = 0; i < layers; i++)
        layer_forward(&run, i);
    norm = norm_of(&run, &own_of(bert)->last_norm, own->last_mean, own->last_rstd);
    nvdp__norm_forward(dev, &norm, nvdp__run_state(&run, own->last), NVDP__NO_TENSOR,
                       NVDP__NO_TENSOR, nvdp__run_state(&run, cache->hidden[layers]),
                       NVDP__NO_TENSOR);
}

static void backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last) {
    const struct nvdp__encoder_run run = {bert, dev, params, batch, pass, cache};
    const struct own_cache *own = cache_of(&run);
    struct nvdp__norm norm =
        norm_of(&run, &own_of(bert)->last_norm, own->last_mean, own->last_rstd);
    nvdp__norm_backward(dev, &norm, nvdp__run_state(&run, own->last), nvdp__run_state(&run, d_last),
                        NVDP__NO_TENSOR);
    for (size_t i = config_of(bert)->num_hidden_layers; i-- > 0;) {
        const struct layer *layer = &own_of(bert)->layer[i];
        layer_backward(&run, i, d_last);
        nvdp__grad_complete(params, i > 0 ? layer->attention_norm.weight : layer->qkv.weight);
    }
    norm = norm_of(&run, &own_of(bert)->norm, own->mean, own->rstd);
    nvdp__norm_backward(dev, &norm, nvdp__run_state(&run, own->embedded),
                        nvdp__run_state(&run, d_last), NVDP__NO_TENSOR);
    struct nvdp__embedding gradients = {
        .ids = batch->ids,
        .word = batch->words == NULL ? nvdp__grad(params, bert->word) : NULL,
        .offset = batch->offset};
    if (gradients.word == NULL) return;
    nvdp__grad_rows(params, batch->tokens, batch->ids);
    nvdp__embed_backward(dev, &gradients, nvdp__run_state(&run, d_last));
}

/* ---- head: LN(gelu(W x + b)), x the first state or the mean of the text's ---- */

static void pooler_plan(const struct nvdp__bert *bert, size_t max_texts, bool training,
                        struct nvdp__arena *arena, struct nvdp__pooler *pooler) {
    const size_t floats = max_texts * config_of(bert)->hidden_size;
    pooler->first = nvdp__arena_take(arena, floats);
    pooler->inner = nvdp__arena_take(arena, floats);
    pooler->normed = nvdp__arena_take(arena, floats);
    pooler->pooled = nvdp__arena_take(arena, floats);
    pooler->mean = nvdp__arena_take(arena, max_texts);
    pooler->rstd = nvdp__arena_take(arena, max_texts);
    pooler->zeros = nvdp__arena_take(arena, config_of(bert)->hidden_size);
    if (training) pooler->d_first = nvdp__arena_take(arena, floats);
}

static struct nvdp__norm head_norm(const struct nvdp__bert *bert, const struct nvdp__params *params,
                                   const struct nvdp__pooler *pooler) {
    struct nvdp__norm made =
        nvdp__dense_norm(params, &own_of(bert)->head_norm, (float)config_of(bert)->layer_norm_eps,
                         pooler->mean, pooler->rstd);
    if (made.beta == NULL) made.beta = pooler->zeros;
    return made;
}

static void pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const float *hidden, const struct nvdp__pooler *pooler) {
    const size_t dim = config_of(bert)->hidden_size, texts = batch->texts;
    struct nvdp__linear dense = nvdp__dense_linear(params, &bert->pooler, texts);
    struct nvdp__norm norm = head_norm(bert, params, pooler);
    const struct nvdp__tensor inner = nvdp__f32(texts, dim, pooler->inner);
    const struct nvdp__tensor normed = nvdp__f32(texts, dim, pooler->normed);
    dense.f32 = true;
    nvdp__zero(dev, dim, pooler->zeros);
    if (config_of(bert)->classifier_mean)
        nvdp__pool_forward(dev, texts, dim, batch->offset, NULL, hidden, pooler->first);
    else
        nvdp__rows_gather(dev, texts, dim, batch->offset, hidden, pooler->first);
    nvdp__dense_forward(dev, &dense, nvdp__f32(texts, dim, pooler->first), inner);
    nvdp__activation_forward(dev, bert->row->pooler_activation, inner, normed);
    nvdp__norm_forward(dev, &norm, normed, NVDP__NO_TENSOR, NVDP__NO_TENSOR,
                       nvdp__f32(texts, dim, pooler->pooled), NVDP__NO_TENSOR);
}

static void pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                            const struct nvdp__params *params, const struct nvdp__batch *batch,
                            const struct nvdp__pooler *pooler, float *d_pooled, float *d_last) {
    const size_t dim = config_of(bert)->hidden_size, texts = batch->texts;
    struct nvdp__linear dense = nvdp__dense_linear(params, &bert->pooler, texts);
    struct nvdp__norm norm = head_norm(bert, params, pooler);
    const struct nvdp__tensor d = nvdp__f32(texts, dim, d_pooled);
    dense.f32 = true;
    nvdp__norm_backward(dev, &norm, nvdp__f32(texts, dim, pooler->normed), d, NVDP__NO_TENSOR);
    nvdp__activation_backward(dev, bert->row->pooler_activation,
                              nvdp__f32(texts, dim, pooler->inner), d, d, NVDP__NO_TENSOR);
    nvdp__dense_backward(dev, &dense, nvdp__f32(texts, dim, pooler->first), d,
                         nvdp__f32(texts, dim, pooler->d_first), false);
    if (config_of(bert)->classifier_mean) {
        nvdp__pool_backward(dev, texts, dim, batch->offset, NULL, NULL, pooler->d_first, d_last,
                            NULL);
        return;
    }
    nvdp__zero(dev, batch->tokens * dim, d_last);
    nvdp__rows_scatter_add(dev, texts, dim, batch->offset, pooler->d_first, d_last);
}

/* ---- the row ---- */

static const struct nvdp__encoder_pass modern_pass = {.cache = create_cache,
                                                      .plan = plan,
                                                      .forward = forward,
                                                      .backward = backward,
                                                      .pooler_plan = pooler_plan,
                                                      .pooler_forward = pooler_forward,
                                                      .pooler_backward = pooler_backward};

static const struct nvdp__config_value only[] = {{"embedding_dropout", "0"},
                                                 {"classifier_activation", "\"gelu\""},
                                                 {"rope_scaling", "null"},
                                                 {NULL, NULL}};

const struct nvdp__encoder_row nvdp__encoder_modernbert = {
    .title = "a ModernBERT",
    .names = {.type = "modernbert",
              .encoder = "ModernBertModel",
              .classification = "ModernBertForSequenceClassification",
              .tagging = "ModernBertForTokenClassification",
              .prefix = PREFIX,
              .layers = "layers",
              .words = "embeddings.tok_embeddings",
              .pooler = "head.dense",
              .classifier = "classifier"},
    .key = {[NVDP__KEY_HIDDEN_SIZE] = "hidden_size",
            [NVDP__KEY_LAYERS] = "num_hidden_layers",
            [NVDP__KEY_HEADS] = "num_attention_heads",
            [NVDP__KEY_INTERMEDIATE_SIZE] = "intermediate_size",
            [NVDP__KEY_VOCAB_SIZE] = "vocab_size",
            [NVDP__KEY_POSITIONS] = "max_position_embeddings",
            [NVDP__KEY_NORM_EPS] = "norm_eps",
            [NVDP__KEY_HIDDEN_DROPOUT] = "mlp_dropout",
            [NVDP__KEY_ATTENTION_DROPOUT] = "attention_dropout",
            [NVDP__KEY_INITIALIZER_RANGE] = "initializer_range",
            [NVDP__KEY_ACTIVATION] = "hidden_activation"},
    .pad_token_id = 50283,
    .only = only,
    .all_layers = true,
    .bottleneck = true,
    .word_vectors = true,
    .per_example = true,
    .pooler_activation = NVDP__ACT_GELU,
    .read = read_config,
    .write = write_config,
    .check = check,
    .parameter_count = parameter_count,
    .declare = declare,
    .initialize = initialize,
    .initialize_new = initialize_head,
    .pass = &modern_pass};
