/* The pretraining model (model.h): BERT with its masked-LM and next-sentence heads, for
 * pretraining and evaluation. In order: parameters, memory, the two heads, a step. */
#include "pretrain/model.h"

#include "bert/checkpoint.h"
#include "bert/row.h"
#include "tensor/per_example.h"
#include <stdlib.h>

enum { BLOCK_FLOATS = 1 << 21, NEXT_CLASSES = 2 };

/* ---- parameters ---- */

static nvdp_status declare_heads(struct nvdp__heads *heads, const struct nvdp_bert_config *config,
                                 struct nvdp__params *params) {
    size_t dim = config->hidden_size;
    NVDP_TRY(nvdp__declare_dense(params, "cls.predictions.transform.dense", dim, dim, 0,
                                 &heads->transform));
    NVDP_TRY(
        nvdp__declare_norm(params, "cls.predictions.transform.LayerNorm", dim, 0, &heads->norm));
    NVDP_TRY(nvdp__params_add(params, "cls.predictions.bias", 1, config->vocab_size, 1, 0,
                              &heads->bias));
    return nvdp__declare_dense(params, "cls.seq_relationship", NEXT_CLASSES, dim, 0, &heads->next);
}

/* Without next-sentence prediction, flags the tensors that only it trains. */
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
    nvdp_status status = NVDP_OK;
    if (!nvdp__encoder_row(config->model_type)->masked_lm)
        return nvdp__fail(ctx, NVDP_ERR_UNSUPPORTED,
                          "masked language model: expected a model of type bert, found %s",
                          nvdp_model_type_name(config->model_type));
    *model =
        (struct nvdp__pretrain_model){.ctx = ctx, .objective = objective, .training = training};
    nvdp__params_init(&model->params, ctx);
    NVDP_TRY_OR_CLEAN(nvdp__bert_device(ctx, config, &model->dev));
    NVDP_TRY_OR_CLEAN(nvdp__bert_declare(&model->bert, config, true, &model->params));
    NVDP_TRY_OR_CLEAN(declare_heads(&model->heads, config, &model->params));
    flag_next(model, NVDP__PARAM_FROZEN);
    if (nvdp__adaptive(objective)) /* for the optimizer one tensor, not rows */
        model->params.entry[model->bert.word].flags = NVDP__PARAM_FROZEN;
    NVDP_TRY_OR_CLEAN(nvdp__params_allocate(&model->params, training));
cleanup:
    if (status != NVDP_OK) nvdp__pretrain_model_release(model);
    return status;
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
    free(model->nll);
    free(model->best);
    free(model->masked_offset);
    free(model->masked_weight);
    *model = (struct nvdp__pretrain_model){0};
}

void nvdp__pretrain_model_initialise(struct nvdp__pretrain_model *model, uint64_t seed) {
    const struct nvdp__device *dev = &model->dev;
    const struct nvdp__heads *heads = &model->heads;
    struct nvdp__params *params = &model->params;
    double sd = model->bert.config.initializer_range;
    nvdp__bert_initialize(&model->bert, dev, params, seed);
    nvdp__params_normal(dev, params, heads->transform.weight, sd, seed);
    nvdp__params_fill(dev, params, heads->transform.bias, 0);
    nvdp__params_fill(dev, params, heads->norm.weight, 1);
    nvdp__params_fill(dev, params, heads->norm.bias, 0);
    nvdp__params_fill(dev, params, heads->bias, 0);
    nvdp__params_normal(dev, params, heads->next.weight, sd, seed);
    nvdp__params_fill(dev, params, heads->next.bias, 0);
}

nvdp_status nvdp__pretrain_model_load(struct nvdp__pretrain_model *model, const char *directory,
                                      bool all) {
    struct nvdp__params *params = &model->params;
    size_t first = nvdp__params_find(params, "bert.pooler.dense.weight"); /* the heads follow */
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
    /* Computes the rows of logits per block, in whole units if the products pad their rows. */
    size_t unit = nvdp__padded_rows(dev, 1);
    size_t units = BLOCK_FLOATS / pieces / unit;
    size_t block = (units > 0 ? units : 1) * unit;
    while (nvdp__padded_rows(dev, block) > block)
        block -= unit;
    /* Per-example gradients need all rows of a text together. */
    heads->block = block < rows && !model->per_example ? block : rows;
    nvdp__bert_plan(&model->bert, dev, texts * longest, texts, longest, arena, &model->cache);
    heads->gathered = nvdp__arena_take(arena, rows * dim);
    heads->inner = nvdp__arena_take(arena, rows * dim);
    heads->activated = nvdp__arena_take(arena, rows * dim);
    heads->normed = nvdp__arena_take(arena, rows * dim);
    heads->d_normed = nvdp__arena_take(arena, rows * dim);
    heads->d_gathered = model->per_example ? nvdp__arena_take(arena, rows * dim)
                                           : heads->normed; /* not read again */
    heads->mean = nvdp__arena_take(arena, rows);
    heads->rstd = nvdp__arena_take(arena, rows);
    heads->logits = nvdp__arena_take(arena, heads->block * pieces);
    nvdp__dense_plan(dev, arena, rows, dim, dim);
    nvdp__dense_plan(dev, arena, heads->block, dim, pieces);
    heads->next_logits = nvdp__arena_take(arena, texts * NEXT_CLASSES);
    heads->d_next = nvdp__arena_take(arena, texts * NEXT_CLASSES);
    heads->d_pooled = nvdp__arena_take(arena, texts * dim);
    if (model->training)
        model->d_last = nvdp__arena_take(arena, nvdp__padded_rows(dev, texts * longest) * dim);
}

nvdp_status nvdp__pretrain_model_plan(struct nvdp__pretrain_model *model, size_t texts,
                                      size_t longest, size_t masked, size_t *floats) {
    nvdp__bert_cache_release(&model->cache);
    nvdp__arena_release(&model->arena);
    NVDP_TRY(
        nvdp__bert_cache_create(model->ctx, &model->bert, model->training, false, &model->cache));
    model->cache.frozen = model->frozen;
    carve(model, texts, longest, masked);
    if (floats != NULL) {
        *floats = nvdp__arena_floats(&model->arena);
        return NVDP_OK;
    }
    nvdp__weights_changed(&model->dev); /* weights were initialized or loaded before */
    NVDP_TRY(nvdp__arena_allocate(model->ctx, &model->arena));
    carve(model, texts, longest, masked);
    NVDP_TRY(nvdp__arena_check(model->ctx, &model->arena));
    free(model->nll);
    free(model->best);
    free(model->masked_offset);
    free(model->masked_weight);
    model->masked_offset = nvdp__calloc(model->ctx, texts + 1, sizeof *model->masked_offset);
    model->masked_weight = nvdp__calloc(model->ctx, masked, sizeof *model->masked_weight);
    model->nll = nvdp__calloc(model->ctx, masked, sizeof *model->nll);
    model->best = nvdp__calloc(model->ctx, masked, sizeof *model->best);
    return NVDP__MADE(model->nll, model->best, model->masked_offset, model->masked_weight);
}

nvdp_status nvdp__pretrain_model_per_example(struct nvdp__pretrain_model *model, size_t texts,
                                             size_t longest, size_t masked,
                                             struct nvdp__per_example **out) {
    return nvdp__per_example_create(&model->dev, &model->params, texts, longest, masked, out);
}

/* ---- the masked-LM head ---- */

static enum nvdp__act activation(const struct nvdp__pretrain_model *model) {
    return nvdp__act_of(model->bert.config.hidden_act);
}

static struct nvdp__norm norm_of(const struct nvdp__pretrain_model *model) {
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
    struct nvdp__norm norm = norm_of(model);
    nvdp__rows_gather(dev, rows, dim, masked->row, model->cache.hidden[config->num_hidden_layers],
                      heads->gathered);
    nvdp__dense_forward(dev, &dense, nvdp__f32(rows, dim, heads->gathered), inner);
    nvdp__activation_forward(dev, activation(model), inner, activated);
    nvdp__norm_forward(dev, &norm, activated, NVDP__NO_TENSOR, NVDP__NO_TENSOR,
                       nvdp__f32(rows, dim, heads->normed), NVDP__NO_TENSOR);
}

/* Propagates heads->d_normed to d_last, to which it adds, and to the transform's parameters. */
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
    struct nvdp__norm norm = norm_of(model);
    nvdp__norm_backward(dev, &norm, nvdp__f32(rows, dim, heads->activated), d, NVDP__NO_TENSOR);
    nvdp__activation_backward(dev, activation(model), nvdp__f32(rows, dim, heads->inner), d, d,
                              NVDP__NO_TENSOR);
    nvdp__dense_backward(dev, &dense, nvdp__f32(rows, dim, heads->gathered), d, d_gathered, false);
    nvdp__rows_scatter_add(dev, rows, dim, masked->row, heads->d_gathered, d_last);
}

/* Finds the masked tokens of each text, and their weights in the text's mean. */
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
        /* May write past the block's end; the next block overwrites these rows. */
        if (scale != 0)
            nvdp__dense_backward(dev, &decoder, normed, logits,
                                 nvdp__f32(rows, dim, heads->d_normed + at * dim), false);
    }
    if (d_last != NULL) transform_backward(model, masked, d_last);
}

/* ---- the next-sentence head ---- */

/* Computes the mean cross-entropy of batch->label and the share of correct predictions. d_last
 * is SET to the gradient; with a divisor, to that of the sum divided by it. */
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
