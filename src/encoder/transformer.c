/* The pass of BERT's family (Devlin et al. 2019) over packed batches: memory of activations,
 * embeddings, layers, lanes, the pooler, and the additional layer of some mechanisms. */
#include "encoder/transformer.h"

#include "tensor/per_example.h"

#include <math.h>
#include <omp.h>

/* ---- plan ----
 *
 * Training keeps what the backward pass reads. A layer needs, per token: in float32 8 D + I +
 * heads + 4 floats; in bfloat16 2 D + heads + 4 floats (the inputs of LayerNorm) and 6 D + I
 * bfloat16 numbers, because the float32 hidden states use buffers that the layers share. The
 * activated inner state is never kept: the backward pass recomputes it.
 *
 * Inference and frozen layers share one set of buffers, 5 D + I + heads + 2 floats per token in
 * total. A later step overwrites each buffer after its last read, including the hidden state. */

/* Returns memory for a hidden state. If products read a copy, only the copy is kept, and the state itself uses
 * `shared`. */
static float *take_state(const struct nvdp__encoder_plan *plan, float *shared) {
    return plan->rounds ? shared : nvdp__plan_floats(plan, plan->dim);
}

static struct nvdp__tensor take_copy(const struct nvdp__encoder_plan *plan, float *state) {
    return plan->rounds ? nvdp__plan_product(plan, plan->dim)
                        : nvdp__f32(plan->tokens, plan->dim, state);
}

static void plan_training_layer(const struct nvdp__encoder_plan *plan, float *shared,
                                struct nvdp__tensor activated,
                                struct nvdp__bert_layer_cache *layer) {
    const size_t tokens = plan->tokens, state = tokens * plan->dim;
    *layer = (struct nvdp__bert_layer_cache){.qkv = nvdp__plan_product(plan, 3 * plan->dim),
                                             .context = nvdp__plan_product(plan, plan->dim),
                                             .attention_out = take_state(plan, shared),
                                             .inner = nvdp__plan_product(plan, plan->wide),
                                             .activated = activated};
    layer->attention_state = take_copy(plan, layer->attention_out);
    NVDP__TAKE(plan->arena, {&layer->lse, tokens * plan->heads}, {&layer->attention_sum, state},
               {&layer->attention_mean, tokens}, {&layer->attention_rstd, tokens},
               {&layer->output_sum, state}, {&layer->output_mean, tokens},
               {&layer->output_rstd, tokens});
}

/* Plans the embeddings and the first `layers` layers, whose activations are not kept. hidden[0] is already planned. */
static void plan_shared(const struct nvdp__encoder_plan *plan, size_t layers,
                        struct nvdp__bert_cache *cache) {
    float *wide = nvdp__plan_floats(plan, 3 * plan->dim);
    size_t state = plan->tokens * plan->dim;
    struct nvdp__bert_layer_cache shared = {
        .qkv = nvdp__f32(plan->tokens, 3 * plan->dim, wide),
        .context = nvdp__plan_product(plan, plan->dim),
        .attention_mean = nvdp__plan_floats(plan, 1),
        .attention_rstd = nvdp__plan_floats(plan, 1),
        .inner = nvdp__plan_product(plan, plan->wide),
        /* query, key and value are not needed after the attention */
        .attention_sum = wide,
        .attention_out = wide != NULL ? wide + state : NULL,
        .output_sum = wide != NULL ? wide + 2 * state : NULL};
    shared.qkv.type = nvdp__product_type(plan->dev);
    shared.attention_state = take_copy(plan, shared.attention_out);
    shared.activated = shared.inner;
    shared.output_mean = shared.attention_mean;
    shared.output_rstd = shared.attention_rstd;
    cache->embedding_sum = wide;
    cache->embedded = shared.attention_out;
    cache->embedding_mean = shared.attention_mean;
    cache->embedding_rstd = shared.attention_rstd;
    if (!cache->above) cache->states[0] = take_copy(plan, cache->hidden[0]);
    for (size_t i = 0; i < layers; i++) {
        /* a layer reads hidden[i] for the last time before it writes hidden[i + 1] */
        cache->hidden[i + 1] =
            cache->keep_hidden ? nvdp__plan_floats(plan, plan->dim) : cache->hidden[i];
        cache->states[i + 1] = plan->rounds
                                   ? cache->states[0]
                                   : nvdp__f32(plan->tokens, plan->dim, cache->hidden[i + 1]);
        cache->layer[i] = shared;
    }
}

static void plan_training(const struct nvdp__bert *bert, const struct nvdp__encoder_plan *plan,
                          struct nvdp__bert_cache *cache) {
    /* if products read copies, a layer reads one hidden state while it writes the next, and has one state between */
    float *state[2] = {NULL, NULL}, *between = NULL;
    const size_t one = plan->tokens * plan->dim;
    if (plan->rounds) NVDP__TAKE(plan->arena, {&state[0], one}, {&state[1], one}, {&between, one});
    /* Holds, one after the other, the activated inner state of the forward pass, the gradients of a layer's inner
     * state, and the gradients of the layer's queries, keys and values. */
    size_t widest = nvdp__max(plan->wide, 3 * plan->dim);
    struct nvdp__tensor widest_buffer = nvdp__plan_product(plan, widest);
    if (cache->frozen > 0) {
        cache->hidden[0] = nvdp__plan_floats(plan, plan->dim);
        plan_shared(plan, cache->frozen, cache);
    } else if (!cache->above) {
        const size_t width = plan->tokens * nvdp__word_width(&bert->config);
        NVDP__TAKE(plan->arena, {&cache->embedding_sum, width},
                   {&cache->embedding_mean, plan->tokens}, {&cache->embedding_rstd, plan->tokens});
        if (bert->has_projection)
            NVDP__TAKE(plan->arena, {&cache->embedded, width}, {&cache->d_embedded, one});
        cache->hidden[0] = take_state(plan, state[0]);
        cache->states[0] = take_copy(plan, cache->hidden[0]);
    }
    for (size_t i = cache->frozen; i < bert->config.num_hidden_layers; i++) {
        plan_training_layer(plan, between, nvdp__columns(widest_buffer, plan->wide),
                            &cache->layer[i]);
        cache->hidden[i + 1] = take_state(plan, state[(i + 1) % 2]);
        if (!cache->above) cache->states[i + 1] = take_copy(plan, cache->hidden[i + 1]);
    }
    cache->d_branch = nvdp__plan_product(plan, plan->dim);
    cache->d_wide = nvdp__columns(widest_buffer, plan->wide);
    cache->d_qkv = nvdp__columns(widest_buffer, 3 * plan->dim);
    cache->d_context = nvdp__plan_product(plan, plan->dim);
}

/* Plans the relative position biases for texts of at most `longest` tokens. */
static void plan_relative(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                          size_t max_texts, size_t longest, struct nvdp__arena *arena,
                          struct nvdp__bert_cache *cache) {
    const struct nvdp__encoder_row *row = bert->row;
    if (row->relative_buckets == 0) return;
    const size_t heads = bert->config.num_attention_heads, reach = nvdp__max(longest, 1) - 1;
    const size_t width = 2 * reach + 1;
    struct nvdp__relative made = {.reach = reach, .buckets = row->relative_buckets};
    NVDP__TAKE(arena, {&made.bucket, width}, {&made.bias, heads * width});
    for (size_t d = 0; made.bucket != NULL && d < width; d++)
        made.bucket[d] = row->relative_bucket((int32_t)d - (int32_t)reach);
    if (cache->training) {
        NVDP__TAKE(arena, {&made.sums, 2 * (size_t)dev->threads * width}, /* room for doubles */
                   {&cache->d_relative, max_texts * made.buckets * heads});
    }
    cache->relative = made;
}

static void take_positions(const struct nvdp__bert *bert, size_t tokens, struct nvdp__arena *arena,
                           struct nvdp__bert_cache *cache) {
    if (bert->row->position_after_pad) NVDP__TAKE(arena, {&cache->positions, tokens});
}

/* Plans the buffers of the lanes, except the hidden states. Each lane gets a share of the tokens, plus half a text
 * at either end. */
static void plan_lanes(const struct nvdp__bert *bert, size_t max_tokens, size_t max_texts,
                       size_t longest, struct nvdp__arena *arena, struct nvdp__bert_cache *cache) {
    const size_t tokens = nvdp__min(max_tokens / cache->lanes + 1 + longest, max_tokens);
    for (size_t l = 0; l < cache->lanes; l++) {
        struct nvdp__lane *lane = &cache->lane[l];
        struct nvdp__encoder_plan plan =
            nvdp__encoder_plan(&bert->config, &lane->dev, tokens, arena);
        plan_shared(&plan, bert->config.num_hidden_layers, &lane->cache);
        take_positions(bert, tokens, arena, &lane->cache);
        lane->cache.scratch = nvdp__plan_scratch(&plan, longest);
        NVDP__TAKE(arena, {&lane->offset, max_texts + 1});
    }
}

static void plan_pass(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                      size_t max_tokens, size_t max_texts, size_t longest,
                      struct nvdp__arena *arena, struct nvdp__bert_cache *cache) {
    const struct nvdp_bert_config *config = &bert->config;
    struct nvdp__encoder_plan plan = nvdp__encoder_plan(config, dev, max_tokens, arena);
    plan_relative(bert, dev, max_texts, longest, arena, cache);
    take_positions(bert, max_tokens, arena, cache);
    if (cache->training) {
        plan_training(bert, &plan, cache);
        cache->scratch = nvdp__plan_scratch(&plan, longest);
    } else {
        if (!cache->above) cache->hidden[0] = nvdp__plan_floats(&plan, plan.dim);
        size_t start = arena->used;
        plan_shared(&plan, config->num_hidden_layers, cache);
        cache->scratch = nvdp__plan_scratch(&plan, longest);
        size_t whole = arena->used;
        /* a batch uses either the lanes' buffers or the buffers of the whole batch */
        arena->used = start;
        if (cache->lanes > 0 && max_texts >= cache->lanes)
            plan_lanes(bert, max_tokens, max_texts, longest, arena, cache);
        arena->used = nvdp__max(arena->used, whole);
    }
    if (cache->above) nvdp__dense_plan(dev, arena, max_tokens, config->hidden_size, 0);
}

/* ---- arguments of a pass ---- */

/* Sites of dropout. */
enum { SITE_EMBEDDINGS = 0, SITE_ATTENTION = 2, SITE_OUTPUT = 3 };

/* Returns a declared LayerNorm with the dropout before it. */
static struct nvdp__norm dropout_norm(const struct nvdp__encoder_run *run,
                                      const struct nvdp__dense *norm, float *mean, float *rstd,
                                      struct nvdp__dropout dropout) {
    struct nvdp__norm made = nvdp__run_norm(run, norm, mean, rstd);
    made.dropout = dropout;
    return made;
}

/* ---- embeddings: e = drop(LN(word[id] + position[place] + type[segment])), without the last
 * term if the row has no token types. RoBERTa's positions begin after the id of its padding, and do not count the
 * padding tokens of a text: these have the position of that id. h_0 = e, or W e + b if there is a projection; the
 * projection is in float32 ---- */

/* Sets the row of the position table for each token. */
static void count_positions(const struct nvdp__encoder_run *run) {
    const int32_t pad = (int32_t)run->bert->config.pad_token_id, *offset = run->batch->offset;
    for (size_t b = 0; b < run->batch->texts; b++)
        for (int32_t t = offset[b], next = pad; t < offset[b + 1]; t++)
            run->cache->positions[t] = run->batch->ids[t] == pad ? pad : ++next;
}

/* Returns true for layers with a LayerNorm before each half, and one after the last layer (modernbert.c). */
static bool is_pre_norm(const struct nvdp__encoder_run *run) {
    return nvdp__declared(&run->bert->last_norm);
}

/* Returns the dropout of the embeddings; pre-LN encoders have none. */
static struct nvdp__dropout embedding_dropout(const struct nvdp__encoder_run *run) {
    float rate = is_pre_norm(run) ? 0 : run->pass->hidden_dropout;
    struct nvdp__dropout drop = nvdp__run_dropout(run, rate, 0, SITE_EMBEDDINGS, 1);
    drop.first *= nvdp__word_width(&run->bert->config);
    return drop;
}

/* Returns x as a tensor [T, E]. */
static struct nvdp__tensor word_tensor(const struct nvdp__encoder_run *run, const float *x) {
    return nvdp__f32(run->batch->tokens, nvdp__word_width(&run->bert->config), x);
}

static struct nvdp__linear projection_linear(const struct nvdp__encoder_run *run) {
    struct nvdp__linear layer =
        nvdp__dense_linear(run->params, &run->bert->projection, run->batch->tokens);
    layer.f32 = true;
    layer.offset = run->batch->offset;
    layer.keep = run->cache->d_embedded;
    return layer;
}

/* Returns the LayerNorm of the embeddings. Dropout is applied to the output of this LayerNorm, not to the input. */
static struct nvdp__norm embedding_norm(const struct nvdp__encoder_run *run) {
    return dropout_norm(run, &run->bert->norm, run->cache->embedding_mean,
                        run->cache->embedding_rstd, (struct nvdp__dropout){0});
}

static struct nvdp__embedding embedding(const struct nvdp__encoder_run *run,
                                        float *of(const struct nvdp__params *, size_t)) {
    const struct nvdp__encoder_row *row = run->bert->row;
    return (struct nvdp__embedding){
        .ids = run->batch->ids,
        .positions = row->position_after_pad ? run->cache->positions : run->batch->positions,
        .types = run->batch->types,
        .word = of(run->params, run->bert->word),
        .given = run->batch->words,
        .mixed = run->batch->mixed,
        .position = row->position_vectors ? of(run->params, run->bert->position) : NULL,
        .type = row->token_types ? of(run->params, run->bert->type) : NULL,
        .offset = run->batch->offset};
}

static void embeddings_forward(const struct nvdp__encoder_run *run) {
    struct nvdp__bert_cache *cache = run->cache;
    const bool projects = run->bert->has_projection;
    struct nvdp__tensor sum = word_tensor(run, cache->embedding_sum);
    struct nvdp__tensor embedded = word_tensor(run, projects ? cache->embedded : cache->hidden[0]);
    struct nvdp__tensor hidden = nvdp__run_state(run, cache->hidden[0]);
    struct nvdp__tensor rounded = nvdp__run_rows(run, cache->states[0]);
    struct nvdp__embedding tables = embedding(run, nvdp__value);
    struct nvdp__norm norm = embedding_norm(run);
    struct nvdp__dropout drop = embedding_dropout(run);
    if (run->bert->row->position_after_pad) count_positions(run);
    if (tables.position != NULL)
        nvdp__embed_forward(run->dev, &tables, sum);
    else if (tables.given != NULL)
        nvdp__copy(run->dev, sum.rows * sum.cols, tables.given, sum.data);
    else
        nvdp__rows_gather(run->dev, sum.rows, sum.cols, tables.ids, tables.word, sum.data);
    nvdp__norm_forward(run->dev, &norm, sum, NVDP__NO_TENSOR, sum, embedded,
                       projects ? NVDP__NO_TENSOR : rounded);
    nvdp__dropout_apply(run->dev, &drop, embedded.rows * embedded.cols, embedded.data);
    if (projects) {
        struct nvdp__linear projection = projection_linear(run);
        nvdp__dense_forward(run->dev, &projection, embedded, hidden);
    }
    if (projects || drop.rate > 0) nvdp__convert(run->dev, hidden, rounded);
}

/* Replaces d [T, D], the gradient of hidden[0], by the gradient of the sum of the embeddings [T, E]. */
static void embeddings_backward(const struct nvdp__encoder_run *run, float *d) {
    struct nvdp__tensor dy = word_tensor(run, d);
    struct nvdp__embedding gradients = embedding(run, nvdp__grad);
    struct nvdp__norm norm = embedding_norm(run);
    struct nvdp__dropout drop = embedding_dropout(run);
    if (run->bert->has_projection) {
        struct nvdp__linear projection = projection_linear(run);
        struct nvdp__tensor d_hidden = nvdp__run_state(run, run->cache->d_embedded);
        nvdp__convert(run->dev, nvdp__run_state(run, d), d_hidden);
        nvdp__dense_backward(run->dev, &projection, word_tensor(run, run->cache->embedded),
                             d_hidden, dy, false);
    }
    nvdp__dropout_apply(run->dev, &drop, dy.rows * dy.cols, d);
    nvdp__norm_backward(run->dev, &norm, word_tensor(run, run->cache->embedding_sum), dy,
                        NVDP__NO_TENSOR);
    if (run->batch->words != NULL && !run->batch->mixed) gradients.word = NULL;
    if (gradients.word != NULL) nvdp__grad_rows(run->params, run->batch->tokens, run->batch->ids);
    nvdp__embed_backward(run->dev, &gradients, dy);
}

/* ---- relative position biases, which all layers share ---- */

/* Begins the gradients of the biases, to which each layer adds. */
static void relative_begin(const struct nvdp__encoder_run *run) {
    struct nvdp__relative *relative = &run->cache->relative;
    const size_t n = relative->buckets * run->bert->config.num_attention_heads;
    if (n == 0) return;
    float *grad = nvdp__grad(run->params, run->bert->relative);
    relative->gradient = grad == NULL ? NULL
                         : run->dev->per_example != NULL
                             ? nvdp__per_example_shared(run->dev, grad, n)
                             : run->cache->d_relative;
    if (relative->gradient == run->cache->d_relative && grad != NULL)
        nvdp__zero(run->dev, run->batch->texts * n, relative->gradient);
}

/* ---- one post-LN layer (Devlin et al. 2019; Vaswani et al. 2017) ----
 *
 *     a  = LN(h + drop(W_o attention(W_q h, W_k h, W_v h)))
 *     h' = LN(a + drop(W_2 act(W_1 a)))
 *
 * with softmax(q k^T / sqrt(head size)) over the tokens of the same text, and dropout of the probabilities. */

/* Returns query, key and value as one layer. */
static struct nvdp__linear qkv_linear(const struct nvdp__encoder_run *run, size_t index) {
    struct nvdp__linear layer = nvdp__run_dense(run, &run->bert->layer[index].query);
    layer.out *= 3;
    return layer;
}

static struct nvdp__attention layer_attention(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    return nvdp__run_attention(run, index, cache->qkv, cache->context, cache->lse,
                               run->bert->row->relative_buckets > 0 ? &run->cache->relative : NULL);
}

/* Returns the LayerNorm after the attention. DistilBERT has no dropout here. */
static struct nvdp__norm attention_norm(const struct nvdp__encoder_run *run, size_t index) {
    float rate = run->bert->row->attention_dropout ? run->pass->hidden_dropout : 0;
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    return dropout_norm(run, &run->bert->layer[index].attention_norm, cache->attention_mean,
                        cache->attention_rstd,
                        nvdp__run_dropout(run, rate, index, SITE_ATTENTION, 1));
}

static struct nvdp__norm output_norm(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    return dropout_norm(run, &run->bert->layer[index].output_norm, cache->output_mean,
                        cache->output_rstd,
                        nvdp__run_dropout(run, run->pass->hidden_dropout, index, SITE_OUTPUT, 1));
}

/* Computes hidden[index + 1] from hidden[index]. */
static void layer_forward(const struct nvdp__encoder_run *run, size_t index) {
    const struct nvdp__device *dev = run->dev;
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    struct nvdp__tensor h = nvdp__run_state(run, run->cache->hidden[index]);
    struct nvdp__tensor a = nvdp__run_state(run, cache->attention_out);
    struct nvdp__tensor sum = nvdp__run_state(run, cache->attention_sum);
    struct nvdp__tensor a_rounded = nvdp__run_rows(run, cache->attention_state);

    struct nvdp__linear qkv = qkv_linear(run, index);
    struct nvdp__linear mixed = nvdp__run_dense(run, &layer->attention_output);
    struct nvdp__attention attention = layer_attention(run, index);
    struct nvdp__norm norm = attention_norm(run, index);
    nvdp__dense_forward(dev, &qkv, nvdp__run_rows(run, run->cache->states[index]),
                        nvdp__run_rows(run, cache->qkv));
    nvdp__attend_forward(dev, &attention);
    nvdp__dense_forward(dev, &mixed, attention.out, sum);
    nvdp__norm_forward(dev, &norm, sum, h, sum, a, a_rounded);

    struct nvdp__linear inner = nvdp__run_dense(run, &layer->intermediate);
    struct nvdp__linear outer = nvdp__run_dense(run, &layer->output);
    struct nvdp__tensor wide = nvdp__run_rows(run, cache->inner);
    struct nvdp__tensor activated = nvdp__run_rows(run, cache->activated);
    norm = output_norm(run, index);
    sum = nvdp__run_state(run, cache->output_sum);
    nvdp__dense_forward(dev, &inner, a_rounded, wide);
    nvdp__activation_forward(dev, nvdp__run_activation(run), wide, activated);
    nvdp__dense_forward(dev, &outer, activated, sum);
    nvdp__norm_forward(dev, &norm, sum, a, sum, nvdp__run_state(run, run->cache->hidden[index + 1]),
                       nvdp__run_rows(run, run->cache->states[index + 1]));
}

/* The lowest 1/RECOMPUTED_PART of the trained layers store the per-example gradient of their inner state in the
 * memory of the activated state. The activated state is then recomputed, which costs a ninth of the layer's
 * products. Separate gradients would take a sixth of a step's memory in float32 (BERT-base, 32 x 128). In bfloat16,
 * the gradients are half as large and are stored separately. */
enum { RECOMPUTED_PART = 4 };

static bool recomputes_inner(const struct nvdp__encoder_run *run, size_t index) {
    const size_t trained = run->bert->config.num_hidden_layers - run->cache->frozen;
    return run->dev->per_example != NULL && nvdp__product_type(run->dev) == NVDP__F32 &&
           RECOMPUTED_PART * (index - run->cache->frozen) < trained;
}

/* Turns d [T, D], the gradient of hidden[index + 1], into the gradient of hidden[index]. */
static void layer_backward(const struct nvdp__encoder_run *run, size_t index, float *gradient) {
    const struct nvdp__device *dev = run->dev;
    const struct nvdp__bert_layer *layer = &run->bert->layer[index];
    const struct nvdp__bert_layer_cache *cache = &run->cache->layer[index];
    struct nvdp__tensor d = nvdp__run_state(run, gradient);
    struct nvdp__tensor d_branch = nvdp__run_rows(run, run->cache->d_branch);

    struct nvdp__linear inner = nvdp__run_dense(run, &layer->intermediate);
    struct nvdp__linear outer = nvdp__run_dense(run, &layer->output);
    struct nvdp__tensor wide = nvdp__run_rows(run, cache->inner);
    struct nvdp__tensor d_wide = nvdp__run_rows(run, run->cache->d_wide);
    struct nvdp__norm norm = output_norm(run, index);
    const struct nvdp__recompute recompute = {&inner, nvdp__run_activation(run),
                                              nvdp__run_rows(run, cache->attention_state), d_wide};
    outer.keep = cache->output_sum; /* output_sum is not read after this */
    if (recomputes_inner(run, index)) {
        outer.recompute = &recompute;
        inner.keep = wide.data;
    }
    nvdp__norm_backward(dev, &norm, nvdp__run_state(run, cache->output_sum), d, d_branch);
    nvdp__dense_backward(dev, &outer, NVDP__NO_TENSOR, d_branch, d_wide, false);
    /* recomputes gelu(inner) in place, because `inner` is not read after this */
    nvdp__activation_backward(dev, nvdp__run_activation(run), wide, d_wide, d_wide, wide);
    nvdp__dense_backward(dev, &outer, wide, d_branch, NVDP__NO_TENSOR, false);
    nvdp__dense_backward(dev, &inner, nvdp__run_rows(run, cache->attention_state), d_wide, d, true);

    struct nvdp__linear qkv = qkv_linear(run, index);
    struct nvdp__linear mixed = nvdp__run_dense(run, &layer->attention_output);
    struct nvdp__attention attention = layer_attention(run, index);
    struct nvdp__tensor d_qkv = nvdp__run_rows(run, run->cache->d_qkv);
    const struct nvdp__attention_gradient d_attention =
        nvdp__run_attention_gradient(run, d_qkv, run->cache->d_context);
    norm = attention_norm(run, index);
    mixed.keep = cache->attention_sum;
    qkv.keep = cache->qkv.data;
    nvdp__norm_backward(dev, &norm, nvdp__run_state(run, cache->attention_sum), d, d_branch);
    nvdp__dense_backward(dev, &mixed, attention.out, d_branch, d_attention.dout, false);
    nvdp__attend_backward(dev, &attention, &d_attention);
    nvdp__dense_backward(dev, &qkv, nvdp__run_rows(run, run->cache->states[index]), d_qkv, d, true);
}

/* ---- lanes: threads that synchronize once per batch ---- */

/* Max share of a lane relative to the mean. A lane with a larger share would cost as much as synchronizing at each
 * operation. */
static const double MAX_UNEVEN = 1.12;

/* Divides the texts of the batch in order, at the text that begins nearest to each cut. Returns true if the largest
 * share is close to the mean. */
static bool split_batch(const struct nvdp__batch *batch, const struct nvdp__bert_cache *cache) {
    const double mean = (double)batch->tokens / (double)cache->lanes;
    size_t next = 0, largest = 0;
    if (cache->lane->offset == NULL) return false; /* the plan was for fewer texts than lanes */
    for (size_t l = 0; l < cache->lanes; l++) {
        const double end = mean * (double)(l + 1);
        const size_t first = next;
        while (next < batch->texts &&
               (double)batch->offset[next] + (double)batch->offset[next + 1] <= 2 * end)
            next++;
        cache->lane[l].first = first;
        cache->lane[l].texts = next - first;
        largest = nvdp__max(largest, (size_t)(batch->offset[next] - batch->offset[first]));
    }
    return (double)largest <= MAX_UNEVEN * mean;
}

static struct nvdp__norm last_norm(const struct nvdp__encoder_run *run) {
    return nvdp__run_norm(run, &run->bert->last_norm, run->cache->last_mean, run->cache->last_rstd);
}

static void layers_forward(const struct nvdp__encoder_run *run) {
    const size_t first = run->pass->first_layer, end = run->pass->layers > 0
                                                           ? run->pass->layers
                                                           : run->bert->config.num_hidden_layers;
    const size_t layers = run->bert->config.num_hidden_layers;
    const bool pre_norm = is_pre_norm(run);
    if (pre_norm) nvdp__zero(run->dev, run->bert->config.hidden_size, run->cache->zeros);
    if (run->cache->above) /* the dense layer that reads this rounds it */
        run->cache->states[0] = nvdp__run_state(run, run->cache->hidden[0]);
    else if (first == 0)
        embeddings_forward(run);
    else if (!pre_norm)
        nvdp__convert(run->dev, nvdp__run_state(run, run->cache->hidden[first]),
                      nvdp__run_rows(run, run->cache->states[first]));
    for (size_t i = first; i < end; i++)
        (pre_norm ? nvdp__pre_norm_forward : layer_forward)(run, i);
    if (!pre_norm || first == layers || end < layers) return;
    const struct nvdp__norm norm = last_norm(run);
    nvdp__norm_forward(run->dev, &norm, nvdp__run_state(run, run->cache->last_sum), NVDP__NO_TENSOR,
                       NVDP__NO_TENSOR, nvdp__run_state(run, run->cache->hidden[layers]),
                       NVDP__NO_TENSOR);
}

/* Runs a lane, which writes its rows of the shared hidden state. */
static void lane_forward(const struct nvdp__encoder_run *run, struct nvdp__lane *lane) {
    const size_t dim = run->bert->config.hidden_size;
    if (lane->texts == 0) return;
    const struct nvdp__batch part =
        nvdp__batch_part(run->batch, lane->first, lane->texts, dim, lane->offset);
    const struct nvdp__encoder_run own = {run->bert, &lane->dev, run->params,
                                          &part,     run->pass,  &lane->cache};
    lane->cache.relative = run->cache->relative;
    float *hidden = run->cache->hidden[0] + (size_t)run->batch->offset[lane->first] * dim;
    for (size_t i = 0; i <= run->bert->config.num_hidden_layers; i++) {
        lane->cache.hidden[i] = hidden;
        if (lane->dev.bf16 == NULL) lane->cache.states[i] = nvdp__f32(part.tokens, dim, hidden);
    }
    layers_forward(&own);
}

static void lanes_forward(const struct nvdp__encoder_run *run) {
    const int lanes = (int)run->cache->lanes;
#pragma omp parallel for num_threads(lanes) schedule(static, 1)
    for (int l = 0; l < lanes; l++) {
        omp_set_num_threads(1); /* for the libraries that this library calls, in this region */
        lane_forward(run, &run->cache->lane[l]);
    }
}

/* ---- passes ---- */

static void forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const struct nvdp__batch *batch,
                    const struct nvdp__pass *pass, struct nvdp__bert_cache *cache) {
    const struct nvdp__encoder_run run = {bert, dev, params, batch, pass, cache};
    if (bert->row->relative_buckets > 0)
        nvdp__relative_fill(dev, bert->config.num_attention_heads,
                            nvdp__value(params, bert->relative), &cache->relative);
    if (cache->lanes > 0 && pass->layers == 0 && dev->rowwise == NULL && split_batch(batch, cache))
        lanes_forward(&run);
    else
        layers_forward(&run);
}

static void backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                     const struct nvdp__params *params, const struct nvdp__batch *batch,
                     const struct nvdp__pass *pass, struct nvdp__bert_cache *cache, float *d_last) {
    const struct nvdp__encoder_run run = {bert, dev, params, batch, pass, cache};
    const size_t layers = bert->config.num_hidden_layers;
    const bool pre_norm = is_pre_norm(&run);
    relative_begin(&run);
    if (pre_norm && pass->first_layer < layers) {
        const struct nvdp__norm norm = last_norm(&run);
        nvdp__norm_backward(dev, &norm, nvdp__run_state(&run, cache->last_sum),
                            nvdp__run_state(&run, d_last), NVDP__NO_TENSOR);
    }
    for (size_t i = layers; i-- > pass->first_layer;) {
        const struct nvdp__bert_layer *layer = &bert->layer[i];
        const bool norm_first = pre_norm && nvdp__declared(&layer->attention_norm);
        (pre_norm ? nvdp__pre_norm_backward : layer_backward)(&run, i, d_last);
        nvdp__grad_complete(params, (norm_first ? &layer->attention_norm : &layer->query)->weight);
    }
    if (dev->per_example == NULL && cache->relative.gradient != NULL)
        nvdp__relative_add(dev, batch->texts, bert->config.num_attention_heads, &cache->relative,
                           nvdp__grad(params, bert->relative));
    if (pass->first_layer == 0 && !cache->above) embeddings_backward(&run, d_last);
}

/* ---- pooler: tanh(W h_first + b); with ReLU in DistilBERT (pre_classifier) and GELU in ELECTRA;
 * in RoBERTa and similar encoders the dense layer of the classification head; in ModernBERT LN(gelu(W x + b)), with
 * x the first state or the mean of the text's states ---- */

/* Returns true if the derivative is computed from the input, false if it is computed from the output. */
static bool needs_input(enum nvdp__act act) {
    return act != NVDP__ACT_TANH && act != NVDP__ACT_RELU;
}

static void pooler_plan(const struct nvdp__bert *bert, size_t max_texts, bool training,
                        struct nvdp__arena *arena, struct nvdp__pooler *pooler) {
    const size_t floats = max_texts * bert->config.hidden_size;
    const bool normed = nvdp__declared(&bert->head_norm);
    NVDP__TAKE(arena, {&pooler->first, floats}, {&pooler->pooled, floats});
    if (normed)
        NVDP__TAKE(arena, {&pooler->normed, floats}, {&pooler->mean, max_texts},
                   {&pooler->rstd, max_texts}, {&pooler->zeros, bert->config.hidden_size});
    if (training) pooler->d_first = nvdp__arena_take(arena, floats);
    if (normed || (training && needs_input(bert->row->pooler_activation)))
        pooler->inner = nvdp__arena_take(arena, floats);
}

static struct nvdp__norm head_norm(const struct nvdp__bert *bert, const struct nvdp__params *params,
                                   const struct nvdp__pooler *pooler) {
    struct nvdp__norm made = nvdp__dense_norm(
        params, &bert->head_norm, (float)bert->config.layer_norm_eps, pooler->mean, pooler->rstd);
    if (made.beta == NULL) made.beta = pooler->zeros;
    return made;
}

static void pooler_forward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const float *hidden, const struct nvdp__pooler *pooler) {
    const size_t dim = bert->config.hidden_size, texts = batch->texts;
    struct nvdp__linear dense = nvdp__dense_linear(params, &bert->pooler, texts);
    const struct nvdp__tensor pooled = nvdp__f32(texts, dim, pooler->pooled);
    const struct nvdp__tensor inner =
        pooler->inner != NULL ? nvdp__f32(texts, dim, pooler->inner) : pooled;
    const struct nvdp__tensor activated =
        pooler->normed != NULL ? nvdp__f32(texts, dim, pooler->normed) : pooled;
    dense.f32 = true;
    if (bert->config.classifier_mean)
        nvdp__pool_forward(dev, texts, dim, batch->offset, NULL, hidden, pooler->first);
    else
        nvdp__rows_gather(dev, texts, dim, batch->offset, hidden, pooler->first);
    nvdp__dense_forward(dev, &dense, nvdp__f32(texts, dim, pooler->first), inner);
    nvdp__activation_forward(dev, bert->row->pooler_activation, inner, activated);
    if (pooler->normed == NULL) return;
    const struct nvdp__norm norm = head_norm(bert, params, pooler);
    nvdp__zero(dev, dim, pooler->zeros);
    nvdp__norm_forward(dev, &norm, activated, NVDP__NO_TENSOR, NVDP__NO_TENSOR, pooled,
                       NVDP__NO_TENSOR);
}

static void pooler_backward(const struct nvdp__bert *bert, const struct nvdp__device *dev,
                            const struct nvdp__params *params, const struct nvdp__batch *batch,
                            const struct nvdp__pooler *pooler, float *d_pooled, float *d_last) {
    const size_t dim = bert->config.hidden_size, texts = batch->texts;
    struct nvdp__linear dense = nvdp__dense_linear(params, &bert->pooler, texts);
    const struct nvdp__tensor kept =
        nvdp__f32(texts, dim, pooler->inner != NULL ? pooler->inner : pooler->pooled);
    const struct nvdp__tensor d = nvdp__f32(texts, dim, d_pooled);
    dense.f32 = true;
    if (pooler->normed != NULL) {
        const struct nvdp__norm norm = head_norm(bert, params, pooler);
        nvdp__norm_backward(dev, &norm, nvdp__f32(texts, dim, pooler->normed), d, NVDP__NO_TENSOR);
    }
    nvdp__activation_backward(dev, bert->row->pooler_activation, kept, d, d, NVDP__NO_TENSOR);
    nvdp__dense_backward(dev, &dense, nvdp__f32(texts, dim, pooler->first), d,
                         nvdp__f32(texts, dim, pooler->d_first), false);
    if (bert->config.classifier_mean) {
        nvdp__pool_backward(dev, texts, dim, batch->offset, NULL, NULL, pooler->d_first, d_last,
                            NULL);
        return;
    }
    nvdp__zero(dev, batch->tokens * dim, d_last);
    nvdp__rows_scatter_add(dev, texts, dim, batch->offset, pooler->d_first, d_last);
}

/* ---- the additional layer ---- */

static nvdp_status declare_extra(struct nvdp__bert *extra, const struct nvdp__bert *below,
                                 const char *prefix, struct nvdp__params *params) {
    extra->relative = below->relative; /* the encoder and the additional layer share these biases */
    NVDP_TRY(NVDP__NEW(params->ctx, extra->layer, 1));
    return nvdp__layer_declare(extra, 0, prefix, NVDP__PARAM_OPTIONAL, params);
}

/* A part that the last layer lacks is the first LayerNorm of a pre-LN encoder with one layer. */
static void initialize_extra(const struct nvdp__bert *extra, const struct nvdp__bert *below,
                             const struct nvdp__device *dev, struct nvdp__params *params) {
    const struct nvdp__bert_layer *from = &below->layer[below->config.num_hidden_layers - 1];
    const struct nvdp__bert_layer *to = extra->layer;
    for (size_t i = 0; i < NVDP__LAYER_PARTS; i++)
        if (nvdp__declared(&to->part[i]) && nvdp__declared(&from->part[i]))
            nvdp__dense_copy(dev, params, &from->part[i], &to->part[i]);
        else if (nvdp__declared(&to->part[i]))
            nvdp__dense_initialize(dev, params, &to->part[i], 0, 0);
    if (nvdp__declared(&extra->last_norm))
        nvdp__dense_copy(dev, params, &below->last_norm, &extra->last_norm);
}

#define SHARED_PASS                                                                                \
    .forward = forward, .backward = backward, .initialize_extra = initialize_extra,                \
    .pooler_plan = pooler_plan, .pooler_forward = pooler_forward,                                  \
    .pooler_backward = pooler_backward

const struct nvdp__encoder_pass nvdp__transformer_pass = {
    .lanes = true, .plan = plan_pass, .declare_extra = declare_extra, SHARED_PASS};
const struct nvdp__encoder_pass nvdp__pre_norm_pass = {
    .plan = nvdp__pre_norm_plan, .declare_extra = nvdp__pre_norm_declare_extra, SHARED_PASS};
