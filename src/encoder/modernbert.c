/* ModernBERT (Warner et al. 2024): LayerNorm before each half of a layer, rotary positions, gated
 * inner layers, and attention to near tokens in most layers.
 *
 *     h_0 = LN(word[id])
 *     m   = h + drop(W_o attention(rotate(W_q n), rotate(W_k n), W_v n)),  n = LN(h); h_0 in layer 0
 *     h'  = m + W_2 drop(gelu(W_u n') * W_g n'),                           n' = LN(m)
 *
 * and the last state is LN(h_L). Layers 0, k, 2k, ... attend to all tokens of the text. The other layers attend to
 * tokens within local_attention/2, and rotate with another base. The configuration states which parts have biases. */
#include "encoder/transformer.h"

#include "base/json.h"
#include "tensor/per_example.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "model"
enum { NAME_SIZE = 120 };

/* ---- configuration ---- */

#define FULL "full_attention"
#define SLIDING "sliding_attention"

/* Reads layer_types: transformers 5 lists the kind of each layer; every n-th layer must attend to all tokens. */
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

/* Reads rope parameters: transformers 5 has the bases of both kinds of layers in one object. */
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

/* Writes the names that all versions of transformers read. */
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
    /* two norms per layer, except one in layer 0; the norm of the embeddings, and the last norm */
    return config->vocab_size * d + layers * (attention + inner) + (2 * layers + 1) * norm + head;
}

/* ---- parameters ---- */

static nvdp_status declare_norm(struct nvdp__params *params, const char *name,
                                const struct nvdp_bert_config *config, unsigned flags,
                                struct nvdp__dense *norm) {
    return nvdp__declare_part(params, name, config->hidden_size, 0, config->norm_bias, flags, norm);
}

/* Declares a layer; the layer 0 has no first LayerNorm, because the LayerNorm of the embeddings replaces it. */
static nvdp_status declare_layer(struct nvdp__params *params, const struct nvdp_bert_config *config,
                                 const char *prefix, bool first, unsigned flags,
                                 struct nvdp__bert_layer *layer) {
    const size_t d = config->hidden_size, wide = config->intermediate_size;
    const struct nvdp__part_row rows[] = {
        {"attn_norm", d, 0, config->norm_bias, &layer->attention_norm},
        {"attn.Wqkv", 3 * d, d, config->attention_bias, &layer->query},
        {"attn.Wo", d, d, config->attention_bias, &layer->attention_output},
        {"mlp_norm", d, 0, config->norm_bias, &layer->output_norm},
        {"mlp.Wi", 2 * wide, d, config->mlp_bias, &layer->intermediate},
        {"mlp.Wo", d, wide, config->mlp_bias, &layer->output},
    };
    return nvdp__declare_parts(params, prefix, flags, rows + first,
                               sizeof rows / sizeof *rows - first);
}

static nvdp_status declare(struct nvdp__bert *bert, struct nvdp__params *params) {
    const struct nvdp_bert_config *config = &bert->config;
    const size_t d = config->hidden_size;
    NVDP_TRY(NVDP__NEW(params->ctx, bert->layer, config->num_hidden_layers));
    NVDP_TRY(nvdp__params_add(params, PREFIX ".embeddings.tok_embeddings.weight", 2,
                              config->vocab_size, d, NVDP__PARAM_DECAY | NVDP__PARAM_ROWS,
                              &bert->word));
    NVDP_TRY(declare_norm(params, PREFIX ".embeddings.norm", config, 0, &bert->norm));
    for (size_t i = 0; i < config->num_hidden_layers; i++) {
        char prefix[NAME_SIZE];
        nvdp__snprintf(prefix, sizeof prefix, PREFIX ".layers.%zu", i);
        bert->layer[i].local = i % config->global_attn_every_n_layers != 0;
        NVDP_TRY(declare_layer(params, config, prefix, i == 0, 0, &bert->layer[i]));
    }
    NVDP_TRY(declare_norm(params, PREFIX ".final_norm", config, 0, &bert->last_norm));
    if (!bert->has_pooler) return NVDP_OK;
    NVDP_TRY(nvdp__declare_part(params, bert->row->names.pooler, d, d, config->classifier_bias,
                                NVDP__PARAM_OPTIONAL, &bert->pooler));
    return declare_norm(params, "head.norm", config, NVDP__PARAM_OPTIONAL, &bert->head_norm);
}

static size_t tensors_below(const struct nvdp__bert *bert, size_t layers) {
    const bool all = layers == bert->config.num_hidden_layers;
    const struct nvdp__dense *last = all ? &bert->last_norm : &bert->layer[layers - 1].output;
    return (last->bias != NVDP__NO_BIAS ? last->bias : last->weight) + 1;
}

/* Declares a layer with the kind of attention of the last layer, and a last LayerNorm. */
nvdp_status nvdp__pre_norm_declare_extra(struct nvdp__bert *extra, const struct nvdp__bert *below,
                                         const char *prefix, struct nvdp__params *params) {
    char name[NAME_SIZE];
    NVDP_TRY(NVDP__NEW(params->ctx, extra->layer, 1));
    extra->layer->local = below->layer[below->config.num_hidden_layers - 1].local;
    NVDP_TRY(
        declare_layer(params, &extra->config, prefix, false, NVDP__PARAM_OPTIONAL, extra->layer));
    nvdp__snprintf(name, sizeof name, "%s.final_norm", prefix);
    return declare_norm(params, name, &extra->config, NVDP__PARAM_OPTIONAL, &extra->last_norm);
}

/* ---- plan ----
 *
 * Training keeps what the backward pass reads: per token and layer 8 D + 2 I + heads + 4 floats, of which 6 D + 2 I
 * are bfloat16 numbers on a bfloat16 device. Per-example gradients take I more. In inference, and in frozen layers,
 * all layers share one set of buffers, in which a later step overwrites each buffer after its last read. */

/* Plans a layer whose activations are kept. */
static void plan_layer(const struct nvdp__encoder_plan *plan, bool per_example,
                       struct nvdp__tensor activated, struct nvdp__bert_layer_cache *a) {
    const size_t tokens = plan->tokens;
    *a = (struct nvdp__bert_layer_cache){
        .attention_in = nvdp__plan_product(plan, plan->dim),
        .qkv = nvdp__plan_product(plan, 3 * plan->dim),
        .context = nvdp__plan_product(plan, plan->dim),
        .attention_state = nvdp__plan_product(plan, plan->dim),
        .inner = nvdp__plan_product(plan, 2 * plan->wide),
        .activated = per_example ? nvdp__plan_product(plan, plan->wide) : activated};
    NVDP__TAKE(plan->arena, {&a->lse, tokens * plan->heads},
               {&a->attention_sum, tokens * plan->dim}, {&a->attention_mean, tokens},
               {&a->attention_rstd, tokens}, {&a->output_mean, tokens}, {&a->output_rstd, tokens});
}

/* Plans the layers whose activations are not kept. */
static void plan_shared(const struct nvdp__encoder_plan *plan, size_t layers,
                        struct nvdp__bert_cache *cache) {
    struct nvdp__bert_layer_cache shared = {.attention_in = nvdp__plan_product(plan, plan->dim),
                                            .qkv = cache->d_qkv,
                                            .context = cache->d_context,
                                            .attention_sum = nvdp__plan_floats(plan, plan->dim),
                                            .inner = cache->d_wide,
                                            .activated = cache->d_activated,
                                            .attention_mean = nvdp__plan_floats(plan, 1),
                                            .attention_rstd = nvdp__plan_floats(plan, 1)};
    shared.attention_state = shared.attention_in;
    shared.output_mean = shared.attention_mean;
    shared.output_rstd = shared.attention_rstd;
    for (size_t i = 0; i < layers; i++)
        cache->layer[i] = shared;
}

static void plan_positions(const struct nvdp_bert_config *config, size_t longest,
                           struct nvdp__arena *arena, struct nvdp__bert_cache *cache) {
    const size_t heads = config->num_attention_heads, head_dim = config->hidden_size / heads;
    const size_t reach = nvdp__max(longest, 1) - 1;
    const double theta[2] = {config->global_rope_theta, config->local_rope_theta};
    for (size_t k = 0; k < 2; k++) {
        NVDP__TAKE(arena, {&cache->cosine[k], longest * head_dim / 2},
                   {&cache->sine[k], longest * head_dim / 2});
        if (cache->sine[k] != NULL)
            nvdp__rotary_fill(longest, head_dim, theta[k], cache->cosine[k], cache->sine[k]);
    }
    cache->relative = (struct nvdp__relative){.reach = reach};
    cache->relative.bias = nvdp__arena_take(arena, heads * (2 * reach + 1));
    if (cache->relative.bias != NULL)
        nvdp__window_fill(heads, config->local_attention / 2, &cache->relative);
}

void nvdp__pre_norm_plan(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                         size_t tokens, size_t max_texts, size_t longest, struct nvdp__arena *arena,
                         struct nvdp__bert_cache *cache) {
    const struct nvdp_bert_config *config = &bert->config;
    const size_t dim = config->hidden_size, wide = config->intermediate_size;
    const size_t layers = config->num_hidden_layers;
    /* the first layer whose activations are kept */
    const size_t kept = cache->training ? cache->frozen : layers;
    const struct nvdp__encoder_plan plan = nvdp__encoder_plan(config, dev, tokens, arena);
    const size_t rows = plan.tokens;
    (void)max_texts;
    if (!cache->above)
        NVDP__TAKE(arena, {&cache->embedding_sum, rows * dim}, {&cache->embedding_mean, rows},
                   {&cache->embedding_rstd, rows}, {&cache->hidden[0], rows * dim});
    NVDP__TAKE(arena, {&cache->last_sum, rows * dim}, {&cache->last_mean, rows},
               {&cache->last_rstd, rows}, {&cache->zeros, dim});
    cache->normal = plan.rounds ? nvdp__plan_floats(&plan, dim) : NULL;
    /* first the activations of layers that share them, then gradients */
    const struct nvdp__tensor widest = nvdp__plan_product(&plan, nvdp__max(2 * wide, 3 * dim));
    const struct nvdp__tensor narrow = nvdp__plan_product(&plan, nvdp__max(wide, dim));
    cache->d_wide = nvdp__columns(widest, 2 * wide);
    cache->d_qkv = nvdp__columns(widest, 3 * dim);
    cache->d_activated = nvdp__columns(narrow, wide);
    cache->d_context = nvdp__columns(narrow, dim);
    plan_positions(config, longest, arena, cache);
    if (kept > 0) plan_shared(&plan, kept, cache);
    for (size_t i = 0; i < layers; i++) {
        const bool apart = i >= kept || cache->keep_hidden;
        cache->hidden[i + 1] = apart ? nvdp__plan_floats(&plan, dim) : cache->hidden[i];
        /* the additional layer cannot know if its gradients will be per example */
        if (i >= kept)
            plan_layer(&plan, cache->per_example || cache->above, cache->d_activated,
                       &cache->layer[i]);
    }
    /* layer 0 reads the output of the embeddings' LayerNorm directly */
    if (!nvdp__declared(&bert->layer[0].attention_norm)) {
        if (!plan.rounds)
            cache->layer[0].attention_in = nvdp__f32(plan.tokens, dim, cache->hidden[0]);
        cache->states[0] = cache->layer[0].attention_in;
    }
    if (cache->training) {
        cache->branch = nvdp__plan_floats(&plan, dim);
        cache->d_branch = plan.rounds ? nvdp__plan_product(&plan, dim) : NVDP__NO_TENSOR;
    }
    cache->scratch = nvdp__plan_scratch(&plan, longest);
}

/* ---- one pre-LN layer ---- */

/* Sites of dropout. */
enum { SITE_ATTENTION = 2, SITE_INNER = 3 };

static size_t state_size(const struct nvdp__encoder_run *run) {
    return run->batch->tokens * run->bert->config.hidden_size;
}

/* Computes LN(x) for products. */
static void normalize(const struct nvdp__encoder_run *run, const struct nvdp__norm *norm,
                      const float *x, struct nvdp__tensor y) {
    const float *normal = y.type == NVDP__F32 ? y.data : run->cache->normal;
    nvdp__norm_forward(run->dev, norm, nvdp__run_state(run, x), NVDP__NO_TENSOR, NVDP__NO_TENSOR,
                       nvdp__run_state(run, normal), nvdp__run_rows(run, y));
}

static struct nvdp__attention layer_attention(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp__bert_layer_cache *a = &run->cache->layer[index];
    const bool all = !run->bert->layer[index].local ||
                     run->batch->longest <= run->bert->config.local_attention / 2;
    return nvdp__run_attention(run, index, a->qkv, a->context, a->lse,
                               all ? NULL : &run->cache->relative);
}

/* Rotates queries and keys of layer `index`, or rotates their gradients back. */
static void rotate(const struct nvdp__encoder_run *run, size_t index, enum nvdp__rotation rotation,
                   struct nvdp__tensor queries, struct nvdp__tensor keys) {
    const struct nvdp__tensor both[] = {queries, keys};
    const size_t kind = run->bert->layer[index].local ? 1 : 0;
    for (size_t i = 0; i < 2; i++)
        nvdp__rotate(run->dev, rotation, run->bert->config.num_attention_heads,
                     run->batch->positions, run->cache->cosine[kind], run->cache->sine[kind],
                     both[i]);
}

static struct nvdp__dropout attention_dropout(const struct nvdp__encoder_run *run, size_t index) {
    return nvdp__run_dropout(run, run->pass->attention_dropout, index, SITE_ATTENTION,
                             run->bert->config.hidden_size);
}

static struct nvdp__dropout inner_dropout(const struct nvdp__encoder_run *run, size_t index) {
    return nvdp__run_dropout(run, run->pass->hidden_dropout, index, SITE_INNER, 1);
}

void nvdp__pre_norm_forward(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp__device *dev = run->dev;
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *a = &run->cache->layer[index];
    const size_t size = state_size(run);
    const float *h = run->cache->hidden[index];
    struct nvdp__linear qkv = nvdp__run_dense(run, &layer->query);
    struct nvdp__linear mixed = nvdp__run_dense(run, &layer->attention_output);
    struct nvdp__attention attention = layer_attention(run, index);
    struct nvdp__dropout drop = attention_dropout(run, index);
    if (nvdp__declared(&layer->attention_norm)) {
        struct nvdp__norm norm =
            nvdp__run_norm(run, &layer->attention_norm, a->attention_mean, a->attention_rstd);
        normalize(run, &norm, h, a->attention_in);
    }
    nvdp__dense_forward(dev, &qkv, nvdp__run_rows(run, a->attention_in),
                        nvdp__run_rows(run, a->qkv));
    rotate(run, index, NVDP__ROTATE_FORWARD, attention.q, attention.k);
    nvdp__attend_forward(dev, &attention);
    nvdp__dense_forward(dev, &mixed, attention.out, nvdp__run_state(run, a->attention_sum));
    nvdp__dropout_apply(dev, &drop, size, a->attention_sum);
    nvdp__add(dev, size, h, a->attention_sum);

    struct nvdp__norm norm =
        nvdp__run_norm(run, &layer->output_norm, a->output_mean, a->output_rstd);
    struct nvdp__linear inner = nvdp__run_dense(run, &layer->intermediate);
    struct nvdp__linear outer = nvdp__run_dense(run, &layer->output);
    /* the last output is not a hidden state before the last LayerNorm */
    float *out = index + 1 == run->bert->config.num_hidden_layers ? run->cache->last_sum
                                                                  : run->cache->hidden[index + 1];
    drop = inner_dropout(run, index);
    normalize(run, &norm, a->attention_sum, a->attention_state);
    nvdp__dense_forward(dev, &inner, nvdp__run_rows(run, a->attention_state),
                        nvdp__run_rows(run, a->inner));
    nvdp__gated_forward(dev, nvdp__run_activation(run), &drop, nvdp__run_rows(run, a->inner),
                        nvdp__run_rows(run, a->activated));
    nvdp__dense_forward(dev, &outer, nvdp__run_rows(run, a->activated), nvdp__run_state(run, out));
    nvdp__add(dev, size, a->attention_sum, out);
}

/* Returns a gradient [T, D] for products. */
static struct nvdp__tensor rounded(const struct nvdp__encoder_run *run, const float *d) {
    const struct nvdp__tensor state = nvdp__run_state(run, d);
    const struct nvdp__tensor copy = nvdp__run_rows(run, run->cache->d_branch);
    if (!nvdp__is_tensor(copy)) return state;
    nvdp__convert(run->dev, state, copy);
    return copy;
}

void nvdp__pre_norm_backward(const struct nvdp__encoder_run *run, size_t index, float *d) {
    const struct nvdp__device *dev = run->dev;
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    struct nvdp__bert_cache *cache = run->cache;
    const struct nvdp__bert_layer_cache *a = &cache->layer[index];
    const size_t size = state_size(run);
    struct nvdp__norm norm =
        nvdp__run_norm(run, &layer->output_norm, a->output_mean, a->output_rstd);
    struct nvdp__linear inner = nvdp__run_dense(run, &layer->intermediate);
    struct nvdp__linear outer = nvdp__run_dense(run, &layer->output);
    struct nvdp__dropout drop = inner_dropout(run, index);
    const struct nvdp__tensor d_wide = nvdp__run_rows(run, cache->d_wide);
    const struct nvdp__tensor d_activated = nvdp__run_rows(run, cache->d_activated);
    const struct nvdp__tensor activated = nvdp__run_rows(run, a->activated);
    struct nvdp__tensor d_in = nvdp__run_state(run, cache->branch), d_out = rounded(run, d);
    nvdp__dense_backward(dev, &outer, NVDP__NO_TENSOR, d_out, d_activated, false);
    nvdp__gated_backward(dev, nvdp__run_activation(run), &drop, nvdp__run_rows(run, a->inner),
                         d_activated, d_wide, activated);
    nvdp__dense_backward(dev, &outer, activated, d_out, NVDP__NO_TENSOR, false);
    nvdp__dense_backward(dev, &inner, nvdp__run_rows(run, a->attention_state), d_wide, d_in, false);
    nvdp__norm_backward(dev, &norm, nvdp__run_state(run, a->attention_sum), d_in, NVDP__NO_TENSOR);
    nvdp__add(dev, size, cache->branch, d);

    struct nvdp__linear qkv = nvdp__run_dense(run, &layer->query);
    struct nvdp__linear mixed = nvdp__run_dense(run, &layer->attention_output);
    struct nvdp__attention attention = layer_attention(run, index);
    /* the gradients in these buffers are not read after this */
    const struct nvdp__tensor d_qkv = nvdp__run_rows(run, cache->d_qkv);
    const struct nvdp__attention_gradient gradient =
        nvdp__run_attention_gradient(run, d_qkv, cache->d_context);
    drop = attention_dropout(run, index);
    if (drop.rate > 0) nvdp__copy(dev, size, d, cache->branch);
    nvdp__dropout_apply(dev, &drop, size, cache->branch);
    nvdp__dense_backward(dev, &mixed, attention.out,
                         rounded(run, drop.rate > 0 ? cache->branch : d), gradient.dout, false);
    nvdp__attend_backward(dev, &attention, &gradient);
    rotate(run, index, NVDP__ROTATE_BACK, gradient.dq, gradient.dk);
    nvdp__dense_backward(dev, &qkv, nvdp__run_rows(run, a->attention_in), d_qkv, d_in, false);
    if (nvdp__declared(&layer->attention_norm)) {
        norm = nvdp__run_norm(run, &layer->attention_norm, a->attention_mean, a->attention_rstd);
        nvdp__norm_backward(dev, &norm, nvdp__run_state(run, cache->hidden[index]), d_in,
                            NVDP__NO_TENSOR);
    }
    nvdp__add(dev, size, cache->branch, d);
}

/* ---- the row ---- */

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
    .initialize = nvdp__transformer_initialize,
    .initialize_new = nvdp__transformer_initialize_pooler,
    .pass = &nvdp__pre_norm_pass};
