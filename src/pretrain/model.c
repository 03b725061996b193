/* The pretraining model (model.h): BERT with masked-LM and next-sentence heads, for pretraining
 * and evaluation. The file has, in this order, parameters, memory, the two heads, a step, and
 * initial weights by which attention heads attend to neighbors. */
#include "pretrain/model.h"

#include "base/array.h"
#include "encoder/checkpoint.h"
#include "encoder/encoder.h"
#include "encoder/row.h"
#include "tensor/per_example.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_FLOATS = 1 << 21, NEXT_CLASSES = 2 };

/* ---- parameters ---- */

/* If there is no next-sentence prediction, flags the tensors that only this objective trains. */
static void flag_next(struct nvdp__pretrain_model *model, unsigned flag) {
    const size_t tensor[] = {model->bert.pooler.weight, model->bert.pooler.bias,
                             model->heads.next.weight, model->heads.next.bias};
    for (size_t i = 0; !nvdp__next_sentence(model->objective) && i < 4; i++)
        model->params.entry[tensor[i]].flags |= flag;
}

nvdp_status nvdp__pretrain_model_create(struct nvdp_context *ctx,
                                        const struct nvdp_bert_config *config,
                                        enum nvdp__objective objective, bool training,
                                        struct nvdp__pretrain_model *model) {
    struct nvdp__params *params = &model->params;
    struct nvdp__heads *heads = &model->heads;
    const size_t dim = config->hidden_size;
    if (!nvdp__encoder_row(config->model_type)->masked_lm)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "masked language model: expected a model of type bert, found %s",
                          nvdp__model_type_name(config->model_type));
    *model =
        (struct nvdp__pretrain_model){.ctx = ctx, .objective = objective, .training = training};
    nvdp__params_init(params, ctx);
    NVDP_TRY(nvdp__bert_device(ctx, config, &model->dev));
    NVDP_TRY(nvdp__bert_declare(&model->bert, config, true, params));
    NVDP_TRY(nvdp__declare_dense(params, "cls.predictions.transform.dense", dim, dim, 0,
                                 &heads->transform));
    NVDP_TRY(nvdp__declare_part(params, "cls.predictions.transform.LayerNorm", dim, 0, true, 0,
                                &heads->norm));
    NVDP_TRY(nvdp__params_add(params, "cls.predictions.bias", 1, config->vocab_size, 1, 0,
                              &heads->bias));
    NVDP_TRY(
        nvdp__declare_dense(params, "cls.seq_relationship", NEXT_CLASSES, dim, 0, &heads->next));
    flag_next(model, NVDP__PARAM_FROZEN);
    if (nvdp__adaptive(objective)) /* the optimizer sees one frozen tensor, not rows */
        params->entry[model->bert.word].flags = NVDP__PARAM_FROZEN;
    return nvdp__params_allocate(params, training);
}

void nvdp__pretrain_model_freeze(struct nvdp__pretrain_model *model, size_t layers) {
    nvdp__bert_freeze(&model->bert, layers, &model->params);
    model->frozen = layers;
}

void nvdp__pretrain_model_release(struct nvdp__pretrain_model *model) {
    nvdp__bert_cache_release(&model->cache);
    nvdp__bert_release(&model->bert);
    nvdp__params_release(&model->params);
    nvdp__arena_release(&model->arena);
    nvdp__device_release(&model->dev);
    nvdp__memory_release(&model->memory);
    *model = (struct nvdp__pretrain_model){0};
}

void nvdp__pretrain_model_initialise(struct nvdp__pretrain_model *model, uint64_t seed) {
    const struct nvdp__device *dev = &model->dev;
    const struct nvdp__heads *heads = &model->heads;
    struct nvdp__params *params = &model->params;
    double sd = model->bert.config.initializer_range;
    model->bert.row->initialize(&model->bert, dev, params, seed);
    nvdp__dense_initialize(dev, params, &heads->transform, sd, seed);
    nvdp__dense_initialize(dev, params, &heads->norm, sd, seed);
    nvdp__params_fill(dev, params, heads->bias, 0);
    nvdp__dense_initialize(dev, params, &heads->next, sd, seed);
}

nvdp_status nvdp__pretrain_model_load(struct nvdp__pretrain_model *model, const char *directory,
                                      bool all) {
    struct nvdp__params *params = &model->params;
    /* index of the first tensor of the heads, which follow the encoder */
    size_t first = nvdp__params_find(params, "bert.pooler.dense.weight");
    for (size_t i = first; i < params->count; i++) {
        if (all)
            params->entry[i].flags &= ~(unsigned)NVDP__PARAM_OPTIONAL;
        else
            params->entry[i].flags |= NVDP__PARAM_OPTIONAL;
    }
    flag_next(model, NVDP__PARAM_OPTIONAL);
    return nvdp__checkpoint_load(&model->dev, directory, params);
}

/* ---- memory ---- */

static void carve(struct nvdp__pretrain_model *model, size_t texts, size_t longest, size_t masked) {
    const struct nvdp__device *dev = &model->dev;
    struct nvdp__heads *heads = &model->heads;
    struct nvdp__arena *arena = &model->arena;
    size_t dim = model->bert.config.hidden_size;
    size_t pieces = model->bert.config.vocab_size;
    size_t rows = nvdp__padded_rows(dev, masked);
    /* Computes the rows of logits per block: whole units if the products pad their rows. */
    size_t unit = nvdp__padded_rows(dev, 1);
    size_t units = BLOCK_FLOATS / pieces / unit;
    size_t block = (units > 0 ? units : 1) * unit;
    while (nvdp__padded_rows(dev, block) > block)
        block -= unit;
    /* Per-example gradients need all rows of a text together. */
    heads->block = block < rows && !model->per_example ? block : rows;
    nvdp__bert_plan(&model->bert, dev, texts * longest, texts, longest, arena, &model->cache);
    NVDP__TAKE(arena, {&heads->gathered, rows * dim}, {&heads->inner, rows * dim},
               {&heads->activated, rows * dim}, {&heads->normed, rows * dim},
               {&heads->d_normed, rows * dim});
    heads->d_gathered = model->per_example ? nvdp__arena_take(arena, rows * dim)
                                           : heads->normed; /* this buffer is not read again */
    NVDP__TAKE(arena, {&heads->mean, rows}, {&heads->rstd, rows},
               {&heads->logits, heads->block * pieces});
    nvdp__dense_plan(dev, arena, rows, dim, dim);
    nvdp__dense_plan(dev, arena, heads->block, dim, pieces);
    NVDP__TAKE(arena, {&heads->next_logits, texts * NEXT_CLASSES},
               {&heads->d_next, texts * NEXT_CLASSES}, {&heads->d_pooled, texts * dim});
    if (model->training)
        model->d_last = nvdp__arena_take(arena, nvdp__padded_rows(dev, texts * longest) * dim);
}

nvdp_status nvdp__pretrain_model_plan(struct nvdp__pretrain_model *model, size_t texts,
                                      size_t longest, size_t masked, size_t *floats) {
    nvdp__bert_cache_release(&model->cache);
    nvdp__arena_release(&model->arena);
    NVDP_TRY(nvdp__bert_cache_create(model->ctx, &model->bert,
                                     model->training ? NVDP__KEEP_TRAINING : NVDP__KEEP_LAST,
                                     &model->cache));
    model->cache.frozen = model->frozen;
    carve(model, texts, longest, masked);
    if (floats != NULL) {
        *floats = nvdp__arena_floats(&model->arena);
        return NVDP_OK;
    }
    nvdp__weights_changed(&model->dev); /* weights may have been initialized or loaded */
    NVDP_TRY(nvdp__arena_allocate(model->ctx, &model->arena));
    carve(model, texts, longest, masked);
    NVDP_TRY(nvdp__arena_check(model->ctx, &model->arena));
    nvdp__memory_release(&model->memory);
    return NVDP__ARRAYS(model->ctx, &model->memory, NVDP__ITEMS(model->masked_offset, texts + 1),
                        NVDP__ITEMS(model->masked_weight, masked), NVDP__ITEMS(model->nll, masked),
                        NVDP__ITEMS(model->best, masked));
}

/* ---- the masked-LM head ---- */

static struct nvdp__norm head_norm(const struct nvdp__pretrain_model *model) {
    const struct nvdp__heads *heads = &model->heads;
    struct nvdp__norm made =
        nvdp__dense_norm(&model->params, &heads->norm, (float)model->bert.config.layer_norm_eps,
                         heads->mean, heads->rstd);
    made.offset = model->masked_offset;
    return made;
}

/* Computes heads->normed of the masked tokens. */
static void transform_forward(struct nvdp__pretrain_model *model,
                              const struct nvdp__masked *masked) {
    const struct nvdp_bert_config *config = &model->bert.config;
    const struct nvdp__device *dev = &model->dev;
    struct nvdp__heads *heads = &model->heads;
    size_t dim = config->hidden_size;
    size_t rows = masked->count;
    struct nvdp__tensor inner = nvdp__f32(rows, dim, heads->inner);
    struct nvdp__tensor activated = nvdp__f32(rows, dim, heads->activated);
    struct nvdp__linear dense = nvdp__dense_linear(&model->params, &heads->transform, rows);
    struct nvdp__norm norm = head_norm(model);
    nvdp__rows_gather(dev, rows, dim, masked->row, model->cache.hidden[config->num_hidden_layers],
                      heads->gathered);
    nvdp__dense_forward(dev, &dense, nvdp__f32(rows, dim, heads->gathered), inner);
    nvdp__activation_forward(dev, nvdp__activation_operation(config->hidden_act), inner, activated);
    nvdp__norm_forward(dev, &norm, activated, NVDP__NO_TENSOR, NVDP__NO_TENSOR,
                       nvdp__f32(rows, dim, heads->normed), NVDP__NO_TENSOR);
}

/* Propagates heads->d_normed: adds to d_last and to the gradients of the transform's parameters. */
static void transform_backward(struct nvdp__pretrain_model *model,
                               const struct nvdp__masked *masked, float *d_last) {
    const struct nvdp__device *dev = &model->dev;
    struct nvdp__heads *heads = &model->heads;
    size_t dim = model->bert.config.hidden_size;
    size_t rows = masked->count;
    struct nvdp__tensor d = nvdp__f32(rows, dim, heads->d_normed);
    struct nvdp__tensor d_gathered = nvdp__f32(rows, dim, heads->d_gathered);
    struct nvdp__linear dense = nvdp__dense_linear(&model->params, &heads->transform, rows);
    dense.offset = model->masked_offset;
    struct nvdp__norm norm = head_norm(model);
    nvdp__norm_backward(dev, &norm, nvdp__f32(rows, dim, heads->activated), d, NVDP__NO_TENSOR);
    nvdp__activation_backward(dev, nvdp__activation_operation(model->bert.config.hidden_act),
                              nvdp__f32(rows, dim, heads->inner), d, d, NVDP__NO_TENSOR);
    nvdp__dense_backward(dev, &dense, nvdp__f32(rows, dim, heads->gathered), d, d_gathered, false);
    nvdp__rows_scatter_add(dev, rows, dim, masked->row, heads->d_gathered, d_last);
}

/* Finds the masked tokens of each text, and the weight of each token in the mean of its text. */
static void find_texts(struct nvdp__pretrain_model *model, const struct nvdp__batch *batch,
                       const struct nvdp__masked *masked) {
    size_t at = 0;
    for (size_t i = 0; i < batch->texts; i++) {
        size_t first = at;
        model->masked_offset[i] = (int32_t)at;
        while (at < masked->count && masked->row[at] < batch->offset[i + 1])
            at++;
        for (size_t k = first; k < at; k++)
            model->masked_weight[k] = 1 / (float)(at - first);
    }
    model->masked_offset[batch->texts] = (int32_t)at;
}

/* Computes model->nll and model->best of the masked tokens. If d_last is not NULL, adds the
 * gradient of the mean nll to d_last and to the parameters' gradients. */
static void mlm_loss(struct nvdp__pretrain_model *model, const struct nvdp__masked *masked,
                     const struct nvdp__pass *pass, float *d_last) {
    const struct nvdp__device *dev = &model->dev;
    struct nvdp__heads *heads = &model->heads;
    size_t dim = model->bert.config.hidden_size;
    size_t pieces = model->bert.config.vocab_size;
    const struct nvdp__dense tied = {model->bert.word, heads->bias};
    if (masked->count == 0) return;
    const size_t all = pass->part.all_heads > 0 ? pass->part.all_heads : masked->count;
    bool each = d_last != NULL && pass->divisor > 0;
    double scale = d_last == NULL ? 0 : 1 / (each ? pass->divisor : (double)all);
    transform_forward(model, masked);
    for (size_t at = 0; at < masked->count; at += heads->block) {
        size_t left = masked->count - at;
        size_t rows = nvdp__min(left, heads->block);
        struct nvdp__linear decoder = nvdp__dense_linear(&model->params, &tied, rows);
        decoder.offset = model->masked_offset;
        struct nvdp__tensor normed = nvdp__f32(rows, dim, heads->normed + at * dim);
        struct nvdp__tensor logits = nvdp__f32(rows, pieces, heads->logits);
        nvdp__dense_forward(dev, &decoder, normed, logits);
        nvdp__softmax_loss(dev, rows, pieces, heads->logits, masked->labels,
                           masked->label + at * masked->labels, scale, model->nll + at,
                           model->best + at);
        if (scale != 0 && each)
            nvdp__rows_scale(dev, rows, pieces, model->masked_weight + at, heads->logits);
        /* The product may write past the end of the block; the next block overwrites these rows. */
        if (scale != 0)
            nvdp__dense_backward(dev, &decoder, normed, logits,
                                 nvdp__f32(rows, dim, heads->d_normed + at * dim), false);
    }
    if (d_last != NULL) transform_backward(model, masked, d_last);
}

/* ---- the next-sentence head ---- */

/* Computes the mean cross-entropy of batch->label and the share of correct predictions. d_last
 * is SET to the gradient; if there is a divisor, to the gradient of the sum divided by the
 * divisor. */
static void next_loss(struct nvdp__pretrain_model *model, const struct nvdp__batch *batch,
                      const struct nvdp__pass *pass, float *d_last,
                      struct nvdp__pretrain_losses *losses) {
    const struct nvdp__device *dev = &model->dev;
    const struct nvdp__params *params = &model->params;
    struct nvdp__heads *heads = &model->heads;
    size_t dim = model->bert.config.hidden_size;
    size_t texts = batch->texts;
    const size_t all = pass->part.all_texts > 0 ? pass->part.all_texts : texts;
    const double scale = (double)texts / (pass->divisor > 0 ? pass->divisor : (double)all);
    size_t right = 0;
    const struct nvdp__pooler *pooler = &model->cache.pooler;
    struct nvdp__tensor pooled = nvdp__f32(texts, dim, pooler->pooled);
    struct nvdp__linear dense = nvdp__dense_linear(params, &heads->next, texts);
    dense.f32 = true;
    nvdp__pooler_forward(&model->bert, dev, params, batch,
                         model->cache.hidden[model->bert.config.num_hidden_layers], pooler);
    nvdp__dense_forward(dev, &dense, pooled, nvdp__f32(texts, NEXT_CLASSES, heads->next_logits));
    losses->next = nvdp__cross_entropy(dev, texts, NEXT_CLASSES, heads->next_logits, batch->label,
                                       scale, heads->d_next);
    for (size_t i = 0; i < texts; i++) {
        float pair[NEXT_CLASSES];
        nvdp__download(dev, NEXT_CLASSES, heads->next_logits + i * NEXT_CLASSES, pair);
        right += (pair[1] > pair[0]) == (batch->label[i] > 0.5F);
    }
    losses->next_accuracy = (double)right / (double)texts;
    nvdp__dense_backward(dev, &dense, pooled, nvdp__f32(texts, NEXT_CLASSES, heads->d_next),
                         nvdp__f32(texts, dim, heads->d_pooled), false);
    nvdp__pooler_backward(&model->bert, dev, params, batch, pooler, heads->d_pooled, d_last);
}

/* ---- a step ---- */

nvdp_status nvdp__pretrain_model_step(struct nvdp__pretrain_model *model,
                                      const struct nvdp__batch *batch,
                                      const struct nvdp__masked *masked,
                                      const struct nvdp__pass *pass,
                                      struct nvdp__pretrain_losses *losses) {
    const struct nvdp__device *dev = &model->dev;
    bool training = pass->training;
    float *d_last = training ? model->d_last : NULL;
    struct nvdp__pass above = *pass;
    above.first_layer = training ? model->frozen : 0;
    *losses = (struct nvdp__pretrain_losses){0};
    if (training && pass->divisor == 0) {
        nvdp__grad_begin(dev, &model->params);
        nvdp__grad_rows(&model->params, 0, NULL); /* the decoder reads every row of the table */
    }
    if (training && model->frozen > 0)
        nvdp__bert_prefix(&model->bert, dev, &model->params, batch, model->frozen, &model->cache);
    nvdp__bert_forward(&model->bert, dev, &model->params, batch, &above, &model->cache);
    if (training && nvdp__next_sentence(model->objective)) {
        next_loss(model, batch, pass, d_last, losses);
    } else if (training) {
        nvdp__zero(dev, batch->tokens * model->bert.config.hidden_size, d_last);
    }
    find_texts(model, batch, masked);
    mlm_loss(model, masked, pass, d_last);
    for (size_t i = 0; i < masked->count; i++) {
        losses->nll += model->nll[i];
        for (size_t k = 0; k < masked->labels; k++)
            losses->right +=
                (model->best[i] == masked->label[i * masked->labels + k]) / (double)masked->labels;
    }
    if (training)
        nvdp__bert_backward(&model->bert, dev, &model->params, batch, &above, &model->cache,
                            d_last);
    return nvdp__device_status(dev);
}

/* ==== heads that predict neighbors ==== */

/* Initial weights with which attention looks at neighboring tokens. The comment derives them;
 * the code below follows it.
 *
 * With small normal weights, masked-LM training first learns how frequent pieces are. Then the loss
 * stalls until some heads have learned about positions, one pair of positions at a time. With the
 * weights here, heads have this knowledge from the start (initializing by imitation: Trockman &
 * Kolter 2023). Position embeddings are sinusoids in the last 2K dimensions, in which word
 * embeddings begin at 0. In the dimensions of wave k
 *   p_t = a (cos w_k t, sin w_k t),   k < K,
 * so that a shift by d positions is a rotation by w_k d (Vaswani et al. 2017, section 3.5). Suppose
 * that the query of a head rotates the waves by d, and the key of this head copies the waves, each
 * with gain g. Then the score of token u for token t is
 *   s(t, u) = g^2 a'^2 / sqrt(D_h)  sum_k cos w_k (t + d - u)
 *          <= g^2 a'^2 K / sqrt(D_h),                 with equality at u = t + d,
 * and about 0 elsewhere, as the frequencies have no common period: the head attends to the token
 * d positions ahead. a' is the amplitude after the embeddings' LayerNorm. With words of standard
 * deviation sd in the other dimensions and r = 2K / D
 *   a'  = a / sqrt((1 - r) sd^2 + r a^2 / 2),
 *   g^2 = SCORE sqrt(D_h) / (K a'^2).
 * Only initial values differ: the model is an ordinary BERT, and everything is trained. For the
 * gain see experiments/results/pretraining.md. */

enum { LAYERS = 2, HEADS = 4 };
/* Relative positions to which the heads attend. */
static const int offset[LAYERS][HEADS] = {{-1, 1, -2, 2}, {-1, 1, -3, 3}};
/* Amplitude of a position, in units of the standard deviation of word embeddings. */
static const double AMPLITUDE = 2.5;
/* Score of the position to which a head attends; all other positions have scores of about 0. */
static const double SCORE = 6;
/* Factor for the normal part of the heads' queries and keys. */
static const float KEPT = 0.3F;

struct setting {
    const struct nvdp__bert *bert;
    const struct nvdp__device *dev;
    struct nvdp__params *params;
    float *stage; /* host memory for the largest tensor */
    uint64_t seed;
    size_t dim, head, waves; /* D, D/heads, K */
};

static float *fetch(const struct setting *s, size_t index) {
    nvdp__download(s->dev, s->params->entry[index].count, nvdp__value(s->params, index), s->stage);
    return s->stage;
}

static void store(const struct setting *s, size_t index) {
    nvdp__upload(s->dev, s->params->entry[index].count, s->stage, nvdp__value(s->params, index));
}

/* Returns one of K frequencies that fill (0, pi) evenly and have no common period: frac((k+1)
 * phi) pi. */
static double frequency(size_t k) {
    const double golden = 0.6180339887498949;
    double x = (double)(k + 1) * golden;
    return M_PI * (x - floor(x));
}

/* Sets the dimensions of the positions in a table to 0. */
static void place_words(const struct setting *s, size_t index) {
    size_t own = s->dim - 2 * s->waves;
    float *table = fetch(s, index);
    for (size_t r = 0; r < s->params->entry[index].shape[0]; r++)
        memset(table + r * s->dim + own, 0, 2 * s->waves * sizeof *table);
    store(s, index);
}

static void place_positions(const struct setting *s, double amplitude) {
    size_t own = s->dim - 2 * s->waves;
    float *table = fetch(s, s->bert->position);
    for (size_t t = 0; t < s->params->entry[s->bert->position].shape[0]; t++) {
        float *row = table + t * s->dim;
        memset(row, 0, own * sizeof *row);
        for (size_t k = 0; k < s->waves; k++) {
            double angle = frequency(k) * (double)t;
            row[own + k] = (float)(amplitude * cos(angle));
            row[own + s->waves + k] = (float)(amplitude * sin(angle));
        }
    }
    store(s, s->bert->position);
}

/* Adds gain * (waves of the positions, each rotated by `shift` positions) to the head's rows of
 * a projection. */
static void add_waves(const struct setting *s, size_t index, size_t head, int shift, double gain) {
    size_t own = s->dim - 2 * s->waves;
    float *weight = fetch(s, index) + head * s->head * s->dim;
    for (size_t i = 0; i < s->head * s->dim; i++)
        weight[i] *= KEPT;
    for (size_t k = 0; k < s->waves; k++) {
        float *even = weight + k * s->dim + own + k;
        float *odd = weight + (s->waves + k) * s->dim + own + k;
        float c = (float)(gain * cos(frequency(k) * shift));
        float d = (float)(gain * sin(frequency(k) * shift));
        even[0] += c;
        even[s->waves] -= d;
        odd[0] += d;
        odd[s->waves] += c;
    }
    store(s, index);
}

static void place_heads(const struct setting *s, size_t number, double gain) {
    const struct nvdp__bert_layer *layer = &s->bert->layer[number];
    size_t heads = s->bert->config.num_attention_heads;
    for (size_t h = 0; h < heads && h < HEADS; h++) {
        add_waves(s, layer->query.weight, h, offset[number][h], gain);
        add_waves(s, layer->key.weight, h, 0, gain);
    }
    double sd = 1 / sqrt((double)s->dim);
    nvdp__params_normal(s->dev, s->params, layer->value.weight, sd, s->seed);
    nvdp__params_normal(s->dev, s->params, layer->attention_output.weight, sd, s->seed);
}

/* Also sets the values and outputs of these heads to normals with variance 1/D. */
nvdp_status nvdp__initialize_neighbor_heads(const struct nvdp__bert *bert,
                                            const struct nvdp__device *dev,
                                            struct nvdp__params *params, uint64_t seed) {
    const struct nvdp_bert_config *config = &bert->config;
    struct setting s = {.bert = bert, .dev = dev, .params = params, .seed = seed};
    s.dim = config->hidden_size;
    s.head = s.dim / config->num_attention_heads;
    s.waves = s.head / 2 < s.dim / 4 ? s.head / 2 : s.dim / 4;
    size_t rows = config->vocab_size > config->max_position_embeddings
                      ? config->vocab_size
                      : config->max_position_embeddings;
    NVDP_TRY(NVDP__NEW(dev->ctx, s.stage, nvdp__max(rows, s.dim) * s.dim));
    double sd = config->initializer_range, amplitude = AMPLITUDE * sd;
    double share = 2 * (double)s.waves / (double)s.dim;
    double normed = amplitude / sqrt((1 - share) * sd * sd + share * amplitude * amplitude / 2);
    double gain = sqrt(SCORE * sqrt((double)s.head) / ((double)s.waves * normed * normed));
    place_words(&s, bert->word);
    place_words(&s, bert->type);
    place_positions(&s, amplitude);
    for (size_t i = 0; i < LAYERS && i < config->num_hidden_layers; i++)
        place_heads(&s, i, gain);
    free(s.stage);
    return NVDP_OK;
}
