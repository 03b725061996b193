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
    bool global, normed;               /* attends to all tokens; has a first LayerNorm */
    struct nvdp__dense attention_norm; /* if normed */
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

/* ---- configuration ---- */

#define FULL "full_attention"
#define SLIDING "sliding_attention"

/* transformers 5 lists the kind of each layer; every n-th one must attend to all tokens. */
static nvdp_status read_layer_types(struct nvdp_context *ctx, const char *path, const json_t *json,
                                    size_t *every) {
    const json_t *types = json_object_get(json, "layer_types");
    const size_t count = json_array_size(types);
    const json_int_t layers = json_integer_value(json_object_get(json, "num_hidden_layers"));
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
    if (count > 0 && (json_int_t)count < layers)
        return nvdp__fail(ctx, NVDP_ERR_INPUT,
                          "%s: 'layer_types': expected one for each of %lld layers, found %zu",
                          path, (long long)layers, count);
    if (count > 0) *every = n;
    return NVDP_OK;
}

/* transformers 5 has the bases of both kinds of layers in one object. */
static nvdp_status read_rope(struct nvdp_context *ctx, const char *path, const json_t *rope,
                             const char *kind, double *theta) {
    const json_t *of = json_object_get(rope, kind);
    const char *type;
    if (!json_is_object(of)) return NVDP_OK;
    NVDP_TRY(nvdp__json_string(ctx, path, of, "rope_type", "default", &type));
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
        NVDP_TRY(nvdp__json_bool(ctx, path, json, flags[i].key, false, flags[i].flag));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t value;
        NVDP_TRY(nvdp__json_int(ctx, path, json, sizes[i].key, (int64_t)*sizes[i].size, 1,
                                sizes[i].max, &value));
        *sizes[i].size = (size_t)value;
    }
    double *global = &config->global_rope_theta, *local = &config->local_rope_theta;
    NVDP_TRY(nvdp__json_real(ctx, path, json, "global_rope_theta", *global, 1, 1e12, global));
    NVDP_TRY(nvdp__json_real(ctx, path, json, "local_rope_theta", *local, 1, 1e12, local));
    NVDP_TRY(read_rope(ctx, path, rope, FULL, global));
    NVDP_TRY(read_rope(ctx, path, rope, SLIDING, local));
    NVDP_TRY(read_layer_types(ctx, path, json, &config->global_attn_every_n_layers));
    NVDP_TRY(nvdp__json_string(ctx, path, json, "classifier_pooling", "cls", &pooling));
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
                                 const char *prefix, unsigned flags, struct layer *layer) {
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
    for (size_t i = layer->normed ? 0 : 1; i < sizeof table / sizeof *table; i++) {
        char name[NAME_SIZE];
        nvdp__snprintf(name, sizeof name, "%s.%s", prefix, table[i].name);
        NVDP_TRY(table[i].in == 0
                     ? declare_norm(params, name, config, flags, table[i].dense)
                     : declare_layer(params, name, table[i].out, table[i].in, table[i].bias,
                                     flags | NVDP__PARAM_SET, table[i].dense));
    }
    return NVDP_OK;
}

static nvdp_status create_own(struct nvdp_context *ctx, struct nvdp__bert *bert) {
    bert->own = nvdp__calloc(
        ctx, 1, sizeof(struct own) + bert->config.num_hidden_layers * sizeof(struct layer));
    return NVDP__MADE(bert->own);
}

static nvdp_status declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp_bert_config *config = config_of(bert);
    const size_t d = config->hidden_size;
    NVDP_TRY(create_own(params->ctx, bert));
    struct own *own = own_of(bert);
    NVDP_TRY(nvdp__params_add(params, PREFIX ".embeddings.tok_embeddings.weight", 2,
                              config->vocab_size, d, NVDP__PARAM_DECAY | NVDP__PARAM_ROWS,
                              &bert->word));
    NVDP_TRY(declare_norm(params, PREFIX ".embeddings.norm", config, 0, &own->norm));
    for (size_t i = 0; i < config->num_hidden_layers; i++) {
        char prefix[NAME_SIZE];
        nvdp__snprintf(prefix, sizeof prefix, PREFIX ".layers.%zu", i);
        own->layer[i].global = i % config->global_attn_every_n_layers == 0;
        own->layer[i].normed = i > 0;
        NVDP_TRY(declare_parts(params, config, prefix, 0, &own->layer[i]));
    }
    NVDP_TRY(declare_norm(params, PREFIX ".final_norm", config, 0, &own->last_norm));
    if (!bert->has_pooler) return NVDP_OK;
    NVDP_TRY(declare_layer(params, bert->row->names.pooler, d, d, config->classifier_bias,
                           NVDP__PARAM_OPTIONAL, &bert->pooler));
    return declare_norm(params, "head.norm", config, NVDP__PARAM_OPTIONAL, &own->head_norm);
}

static size_t tensors_below(const struct nvdp__bert *bert, size_t layers) {
    const struct own *own = own_of(bert);
    const bool all = layers == config_of(bert)->num_hidden_layers;
    const struct nvdp__dense *last = all ? &own->last_norm : &own->layer[layers - 1].output;
    return (last->bias != NVDP__NO_BIAS ? last->bias : last->weight) + 1;
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
        if (layer->normed) initialize_norm(dev, params, &layer->attention_norm);
        initialize_dense(bert, dev, params, &layer->qkv, seed);
        initialize_dense(bert, dev, params, &layer->attention_output, seed);
        initialize_norm(dev, params, &layer->inner_norm);
        initialize_dense(bert, dev, params, &layer->inner, seed);
        initialize_dense(bert, dev, params, &layer->output, seed);
    }
    initialize_norm(dev, params, &own->last_norm);
    initialize_head(bert, dev, params, seed);
}

/* ---- the additional layer: one like the last, of its kind of attention, and a last LayerNorm ---- */

static nvdp_status declare_extra(struct nvdp__bert *extra, const struct nvdp__bert *below,
                                 const char *prefix, struct nvdp__params *params) {
    char name[NAME_SIZE];
    NVDP_TRY(create_own(params->ctx, extra));
    struct own *own = own_of(extra);
    own->layer[0].global = own_of(below)->layer[config_of(below)->num_hidden_layers - 1].global;
    own->layer[0].normed = true;
    NVDP_TRY(declare_parts(params, config_of(extra), prefix, NVDP__PARAM_OPTIONAL, &own->layer[0]));
    nvdp__snprintf(name, sizeof name, "%s.final_norm", prefix);
    return declare_norm(params, name, config_of(extra), NVDP__PARAM_OPTIONAL, &own->last_norm);
}

static void initialize_extra(const struct nvdp__bert *extra, const struct nvdp__bert *below,
                             const struct nvdp__device *dev, struct nvdp__params *params) {
    const struct layer *from = &own_of(below)->layer[config_of(below)->num_hidden_layers - 1];
    const struct layer *to = &own_of(extra)->layer[0];
    const struct {
        const struct nvdp__dense *from, *to;
    } pairs[] = {{&from->attention_norm, &to->attention_norm},
                 {&from->qkv, &to->qkv},
                 {&from->attention_output, &to->attention_output},
                 {&from->inner_norm, &to->inner_norm},
                 {&from->inner, &to->inner},
                 {&from->output, &to->output},
                 {&own_of(below)->last_norm, &own_of(extra)->last_norm}};
    for (size_t i = from->normed ? 0 : 1; i < sizeof pairs / sizeof *pairs; i++)
        nvdp__dense_copy(dev, params, pairs[i].from, pairs[i].to);
    if (!from->normed) initialize_norm(dev, params, &to->attention_norm);
}

/* ---- plan ----
 *
 * Training keeps what the backward pass reads: per token and layer 8 D + 2 I + heads + 4 floats, of which 6 D + 2 I are
 * bfloat16 numbers on a bfloat16 device, and for per-example gradients I more. In inference, and in frozen layers, all
 * layers share one set of buffers, in which a later step overwrites each buffer after its last read. */

struct activations {
    struct nvdp__tensor attention_in, qkv, context; /* [T,D], [T,3D], [T,D] */
    float *lse;                                     /* [T,heads]; NULL: no backward */
    float *between;                                 /* [T,D] m */
    struct nvdp__tensor inner_in, wide, activated;  /* [T,D] n', [T,2I], [T,I] */
    float *mean[2], *rstd[2];                       /* [T] of n and n' */
};
struct own_cache {
    float *embedded, *mean, *rstd;       /* [T,D] word vectors; [T] */
    float *last, *last_mean, *last_rstd; /* [T,D] h_L; [T] */
    float *zeros;                        /* [D] */
    float *normal; /* [T,D] a LayerNorm's output, if products read a rounded copy; else NULL */
    /* [T, 2I or 3D], [T, I or D]: activations of layers that share them, then gradients */
    struct nvdp__tensor widest, narrow;
    float *cosine[2], *sine[2]; /* [longest, head size / 2] of global and of local layers */
    struct nvdp__relative window;
    float *branch;                /* [T,D] backward */
    struct nvdp__tensor d_branch; /* [T,D] rounded, if products read it; else no tensor */
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

struct plan {
    const struct nvdp__device *dev;
    struct nvdp__arena *arena;
    size_t tokens; /* padded to whole blocks of product rows */
    size_t dim, wide, heads;
    bool rounds; /* products read copies in another type */
};

static float *take(const struct plan *plan, size_t width) {
    return nvdp__arena_take(plan->arena, plan->tokens * width);
}

static struct nvdp__tensor take_product(const struct plan *plan, size_t width) {
    return nvdp__arena_tensor(plan->arena, plan->dev, nvdp__product_type(plan->dev), plan->tokens,
                              width);
}

/* Returns a buffer as a tensor with fewer columns. */
static struct nvdp__tensor columns(struct nvdp__tensor buffer, size_t cols) {
    buffer.cols = buffer.stride = cols;
    return buffer;
}

/* A layer whose activations are kept. */
static void plan_layer(const struct plan *plan, bool per_example, const struct own_cache *own,
                       struct activations *a) {
    a->attention_in = take_product(plan, plan->dim);
    a->qkv = take_product(plan, 3 * plan->dim);
    a->context = take_product(plan, plan->dim);
    a->lse = take(plan, plan->heads);
    a->between = take(plan, plan->dim);
    a->inner_in = take_product(plan, plan->dim);
    a->wide = take_product(plan, 2 * plan->wide);
    a->activated = per_example ? take_product(plan, plan->wide) : columns(own->narrow, plan->wide);
    for (size_t k = 0; k < 2; k++) {
        a->mean[k] = take(plan, 1);
        a->rstd[k] = take(plan, 1);
    }
}

/* The layers whose activations are not kept. */
static void plan_shared(const struct plan *plan, size_t layers, struct own_cache *own) {
    struct activations shared = {.attention_in = take_product(plan, plan->dim),
                                 .qkv = columns(own->widest, 3 * plan->dim),
                                 .context = columns(own->narrow, plan->dim),
                                 .between = take(plan, plan->dim),
                                 .wide = columns(own->widest, 2 * plan->wide),
                                 .activated = columns(own->narrow, plan->wide),
                                 .mean = {take(plan, 1)},
                                 .rstd = {take(plan, 1)}};
    shared.inner_in = shared.attention_in;
    shared.mean[1] = shared.mean[0];
    shared.rstd[1] = shared.rstd[0];
    for (size_t i = 0; i < layers; i++)
        own->layer[i] = shared;
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
    const size_t dim = config->hidden_size, wide = config->intermediate_size;
    const size_t layers = config->num_hidden_layers;
    const size_t kept = cache->training ? cache->frozen : layers; /* the first of these */
    const struct plan plan = {dev,
                              arena,
                              nvdp__padded_rows(dev, tokens),
                              dim,
                              wide,
                              config->num_attention_heads,
                              nvdp__product_type(dev) != NVDP__F32};
    struct own_cache *own = cache->own;
    (void)max_texts;
    if (!cache->above) {
        own->embedded = take(&plan, dim);
        own->mean = take(&plan, 1);
        own->rstd = take(&plan, 1);
        cache->hidden[0] = take(&plan, dim);
    }
    own->last = take(&plan, dim);
    own->last_mean = take(&plan, 1);
    own->last_rstd = take(&plan, 1);
    own->zeros = nvdp__arena_take(arena, dim);
    own->normal = plan.rounds ? take(&plan, dim) : NULL;
    own->widest = take_product(&plan, nvdp__max(2 * wide, 3 * dim));
    own->narrow = take_product(&plan, nvdp__max(wide, dim));
    plan_positions(config, longest, arena, own);
    if (kept > 0) plan_shared(&plan, kept, own);
    for (size_t i = 0; i < layers; i++) {
        const bool apart = i >= kept || cache->keep_hidden;
        cache->hidden[i + 1] = apart ? take(&plan, dim) : cache->hidden[i];
        /* the additional layer does not know whether its gradients will be per example */
        if (i >= kept) plan_layer(&plan, cache->per_example || cache->above, own, &own->layer[i]);
    }
    /* layer 0 reads the embeddings' LayerNorm itself */
    if (!plan.rounds && !own_of(bert)->layer[0].normed)
        own->layer[0].attention_in = nvdp__f32(plan.tokens, dim, cache->hidden[0]);
    if (cache->training) {
        own->branch = take(&plan, dim);
        own->d_branch = plan.rounds ? take_product(&plan, dim) : NVDP__NO_TENSOR;
    }
    cache->scratch =
        nvdp__arena_take(arena, nvdp__attend_scratch(dev, nvdp__product_type(dev), longest, longest,
                                                     dim / plan.heads));
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

/* A planned tensor reduced to the batch's rows. */
static struct nvdp__tensor rows_of(const struct nvdp__encoder_run *run, struct nvdp__tensor x) {
    return nvdp__with_rows(x, run->batch->tokens);
}

static struct nvdp__norm norm_of(const struct nvdp__encoder_run *run,
                                 const struct nvdp__dense *norm, float *mean, float *rstd) {
    struct nvdp__norm made = nvdp__run_norm(run, norm, mean, rstd);
    if (made.beta == NULL) made.beta = cache_of(run)->zeros;
    return made;
}

/* LN(x) for products. */
static void normalize(const struct nvdp__encoder_run *run, const struct nvdp__norm *norm,
                      const float *x, struct nvdp__tensor y) {
    const float *normal = y.type == NVDP__F32 ? y.data : cache_of(run)->normal;
    nvdp__norm_forward(run->dev, norm, nvdp__run_state(run, x), NVDP__NO_TENSOR, NVDP__NO_TENSOR,
                       nvdp__run_state(run, normal), rows_of(run, y));
}

static struct nvdp__attention attention_of(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp_bert_config *config = config_of(run->bert);
    const struct activations *a = &cache_of(run)->layer[index];
    const size_t d = config->hidden_size;
    const size_t width = d / config->num_attention_heads;
    const struct nvdp__tensor qkv = rows_of(run, a->qkv);
    const bool all = own_of(run->bert)->layer[index].global ||
                     run->batch->longest <= config->local_attention / 2;
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
                                    .out = rows_of(run, a->context),
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
    const size_t kind = own_of(run->bert)->layer[index].global ? 0 : 1;
    call(run->dev, config_of(run->bert)->num_attention_heads, run->batch->positions,
         own->cosine[kind], own->sine[kind], x);
}

static enum nvdp__act activation(const struct nvdp__encoder_run *run) {
    return nvdp__act_of(config_of(run->bert)->hidden_act);
}

static struct nvdp__dropout attention_dropout(const struct nvdp__encoder_run *run, size_t index) {
    return nvdp__run_dropout(run, run->pass->attention_dropout, index, SITE_ATTENTION,
                             config_of(run->bert)->hidden_size);
}

static struct nvdp__dropout inner_dropout(const struct nvdp__encoder_run *run, size_t index) {
    return nvdp__run_dropout(run, run->pass->hidden_dropout, index, SITE_INNER, 1);
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
    const size_t size = state_size(run);
    const float *h = run->cache->hidden[index];
    struct nvdp__linear qkv = nvdp__run_dense(run, &layer->qkv);
    struct nvdp__linear mixed = nvdp__run_dense(run, &layer->attention_output);
    struct nvdp__attention attention = attention_of(run, index);
    struct nvdp__dropout drop = attention_dropout(run, index);
    if (layer->normed) {
        struct nvdp__norm norm = norm_of(run, &layer->attention_norm, a->mean[0], a->rstd[0]);
        normalize(run, &norm, h, a->attention_in);
    }
    nvdp__dense_forward(dev, &qkv, rows_of(run, a->attention_in), rows_of(run, a->qkv));
    rotate(run, index, nvdp__rotate, attention.q);
    rotate(run, index, nvdp__rotate, attention.k);
    nvdp__attend_forward(dev, &attention);
    nvdp__dense_forward(dev, &mixed, attention.out, nvdp__run_state(run, a->between));
    nvdp__dropout_apply(dev, &drop, size, a->between);
    nvdp__add(dev, size, h, a->between);

    struct nvdp__norm norm = norm_of(run, &layer->inner_norm, a->mean[1], a->rstd[1]);
    struct nvdp__linear inner = nvdp__run_dense(run, &layer->inner);
    struct nvdp__linear outer = nvdp__run_dense(run, &layer->output);
    float *out = output_of(run, index);
    drop = inner_dropout(run, index);
    normalize(run, &norm, a->between, a->inner_in);
    nvdp__dense_forward(dev, &inner, rows_of(run, a->inner_in), rows_of(run, a->wide));
    nvdp__gated_forward(dev, activation(run), &drop, rows_of(run, a->wide),
                        rows_of(run, a->activated));
    nvdp__dense_forward(dev, &outer, rows_of(run, a->activated), nvdp__run_state(run, out));
    nvdp__add(dev, size, a->between, out);
}

/* Returns a gradient [T, D] for products. */
static struct nvdp__tensor rounded(const struct nvdp__encoder_run *run, const float *d) {
    const struct nvdp__tensor state = nvdp__run_state(run, d);
    const struct nvdp__tensor copy = rows_of(run, cache_of(run)->d_branch);
    if (!nvdp__is_tensor(copy)) return state;
    nvdp__convert(run->dev, state, copy);
    return copy;
}

/* Turns d [T, D], the gradient of the layer's output, into that of hidden[index]. */
static void layer_backward(const struct nvdp__encoder_run *run, size_t index, float *d) {
    const struct nvdp__device *dev = run->dev;
    const struct layer *layer = &own_of(run->bert)->layer[index];
    struct own_cache *own = cache_of(run);
    const struct activations *a = &own->layer[index];
    const size_t width = config_of(run->bert)->hidden_size, size = state_size(run);
    const size_t inner_width = config_of(run->bert)->intermediate_size;
    struct nvdp__norm norm = norm_of(run, &layer->inner_norm, a->mean[1], a->rstd[1]);
    struct nvdp__linear inner = nvdp__run_dense(run, &layer->inner);
    struct nvdp__linear outer = nvdp__run_dense(run, &layer->output);
    struct nvdp__dropout drop = inner_dropout(run, index);
    const struct nvdp__tensor d_wide = rows_of(run, columns(own->widest, 2 * inner_width));
    const struct nvdp__tensor d_activated = rows_of(run, columns(own->narrow, inner_width));
    const struct nvdp__tensor activated = rows_of(run, a->activated);
    struct nvdp__tensor d_in = nvdp__run_state(run, own->branch), d_out = rounded(run, d);
    nvdp__dense_backward(dev, &outer, NVDP__NO_TENSOR, d_out, d_activated, false);
    nvdp__gated_backward(dev, activation(run), &drop, rows_of(run, a->wide), d_activated, d_wide,
                         activated);
    nvdp__dense_backward(dev, &outer, activated, d_out, NVDP__NO_TENSOR, false);
    nvdp__dense_backward(dev, &inner, rows_of(run, a->inner_in), d_wide, d_in, false);
    nvdp__norm_backward(dev, &norm, nvdp__run_state(run, a->between), d_in, NVDP__NO_TENSOR);
    nvdp__add(dev, size, own->branch, d);

    struct nvdp__linear qkv = nvdp__run_dense(run, &layer->qkv);
    struct nvdp__linear mixed = nvdp__run_dense(run, &layer->attention_output);
    struct nvdp__attention attention = attention_of(run, index);
    /* the gradients in these buffers are not read after this */
    const struct nvdp__tensor d_qkv = rows_of(run, columns(own->widest, 3 * width));
    const struct nvdp__attention_gradient gradient = {
        .dout = rows_of(run, columns(own->narrow, width)),
        .dq = nvdp__col_slice(d_qkv, 0, width),
        .dk = nvdp__col_slice(d_qkv, width, width),
        .dv = nvdp__col_slice(d_qkv, 2 * width, width)};
    drop = attention_dropout(run, index);
    if (drop.rate > 0) nvdp__copy(dev, size, d, own->branch);
    nvdp__dropout_apply(dev, &drop, size, own->branch);
    nvdp__dense_backward(dev, &mixed, attention.out, rounded(run, drop.rate > 0 ? own->branch : d),
                         gradient.dout, false);
    nvdp__attend_backward(dev, &attention, &gradient);
    rotate(run, index, nvdp__rotate_backward, gradient.dq);
    rotate(run, index, nvdp__rotate_backward, gradient.dk);
    nvdp__dense_backward(dev, &qkv, rows_of(run, a->attention_in), d_qkv, d_in, false);
    if (layer->normed) {
        norm = norm_of(run, &layer->attention_norm, a->mean[0], a->rstd[0]);
        nvdp__norm_backward(dev, &norm, nvdp__run_state(run, run->cache->hidden[index]), d_in,
                            NVDP__NO_TENSOR);
    }
    nvdp__add(dev, size, own->branch, d);
}

static void embeddings_forward(const struct nvdp__encoder_run *run) {
    struct own_cache *own = cache_of(run);
    const struct nvdp__batch *batch = run->batch;
    struct nvdp__norm norm = norm_of(run, &own_of(run->bert)->norm, own->mean, own->rstd);
    if (batch->words != NULL)
        nvdp__copy(run->dev, state_size(run), batch->words, own->embedded);
    else
        nvdp__rows_gather(run->dev, batch->tokens, config_of(run->bert)->hidden_size, batch->ids,
                          nvdp__value(run->params, run->bert->word), own->embedded);
    nvdp__norm_forward(run->dev, &norm, nvdp__run_state(run, own->embedded), NVDP__NO_TENSOR,
                       NVDP__NO_TENSOR, nvdp__run_state(run, run->cache->hidden[0]),
                       rows_of(run, own->layer[0].attention_in));
}

/* Runs layers [first, end), after the embeddings if first is 0. */
static void layers_forward(const struct nvdp__encoder_run *run, size_t first, size_t end) {
    struct own_cache *own = cache_of(run);
    const size_t layers = config_of(run->bert)->num_hidden_layers;
    nvdp__zero(run->dev, config_of(run->bert)->hidden_size, own->zeros);
    if (first == 0 && !run->cache->above) embeddings_forward(run);
    for (size_t i = first; i < end; i++)
        layer_forward(run, i);
    if (first == layers || end < layers) return;
    struct nvdp__norm norm =
        norm_of(run, &own_of(run->bert)->last_norm, own->last_mean, own->last_rstd);
    nvdp__norm_forward(run->dev, &norm, nvdp__run_state(run, own->last), NVDP__NO_TENSOR,
                       NVDP__NO_TENSOR, nvdp__run_state(run, run->cache->hidden[layers]),
                       NVDP__NO_TENSOR);
}

static void forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    const struct nvdp__encoder_run run = {bert, dev, params, batch, pass, cache};
    layers_forward(&run, pass->first_layer, config_of(bert)->num_hidden_layers);
}

static void prefix_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           size_t layers, struct nvdp__bert_cache *cache) {
    const struct nvdp__pass pass = {.training = false};
    const struct nvdp__encoder_run run = {bert, dev, params, batch, &pass, cache};
    layers_forward(&run, 0, layers);
}

static void embeddings_backward(const struct nvdp__encoder_run *run, float *d) {
    const struct own_cache *own = cache_of(run);
    const struct nvdp__batch *batch = run->batch;
    struct nvdp__norm norm = norm_of(run, &own_of(run->bert)->norm, own->mean, own->rstd);
    struct nvdp__embedding gradients = {
        .ids = batch->ids,
        .word = batch->words == NULL ? nvdp__grad(run->params, run->bert->word) : NULL,
        .offset = batch->offset};
    nvdp__norm_backward(run->dev, &norm, nvdp__run_state(run, own->embedded),
                        nvdp__run_state(run, d), NVDP__NO_TENSOR);
    if (gradients.word == NULL) return;
    nvdp__grad_rows(run->params, batch->tokens, batch->ids);
    nvdp__embed_backward(run->dev, &gradients, nvdp__run_state(run, d));
}

static void backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last) {
    const struct nvdp__encoder_run run = {bert, dev, params, batch, pass, cache};
    const struct own_cache *own = cache_of(&run);
    const size_t layers = config_of(bert)->num_hidden_layers;
    struct nvdp__norm norm =
        norm_of(&run, &own_of(bert)->last_norm, own->last_mean, own->last_rstd);
    if (pass->first_layer == layers) return;
    nvdp__norm_backward(dev, &norm, nvdp__run_state(&run, own->last), nvdp__run_state(&run, d_last),
                        NVDP__NO_TENSOR);
    for (size_t i = layers; i-- > pass->first_layer;) {
        const struct layer *layer = &own_of(bert)->layer[i];
        layer_backward(&run, i, d_last);
        nvdp__grad_complete(params,
                            layer->normed ? layer->attention_norm.weight : layer->qkv.weight);
    }
    if (pass->first_layer == 0 && !cache->above) embeddings_backward(&run, d_last);
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
                                                      .prefix = prefix_forward,
                                                      .backward = backward,
                                                      .declare_extra = declare_extra,
                                                      .initialize_extra = initialize_extra,
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
    .bf16 = true,
    .pooler_activation = NVDP__ACT_GELU,
    .tensors_below = tensors_below,
    .read = read_config,
    .write = write_config,
    .check = check,
    .parameter_count = parameter_count,
    .declare = declare,
    .initialize = initialize,
    .initialize_new = initialize_head,
    .pass = &modern_pass};
