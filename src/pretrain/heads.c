#include "pretrain/heads.h"

#include "tensor/operand.h"
#include "tensor/ops_softmax.h"

enum { BLOCK_FLOATS = 1 << 21, NEXT_CLASSES = 2 };

nvdp_status nvdp__heads_declare(struct nvdp__heads *heads, const struct nvdp_bert_config *config,
                                unsigned flags, struct nvdp__params *params) {
    size_t dim = config->hidden_size;
    NVDP_RETURN_IF_FAILED(nvdp__declare_dense(params, "cls.predictions.transform.dense", dim, dim,
                                              flags, &heads->transform));
    NVDP_RETURN_IF_FAILED(nvdp__declare_norm(params, "cls.predictions.transform.LayerNorm", dim,
                                             flags, &heads->norm));
    NVDP_RETURN_IF_FAILED(nvdp__params_add(params, "cls.predictions.bias", 1, config->vocab_size, 1,
                                           flags, &heads->bias));
    return nvdp__declare_dense(params, "cls.seq_relationship", NEXT_CLASSES, dim, flags,
                               &heads->next);
}

void nvdp__heads_initialise(const struct nvdp__heads *heads, const struct nvdp_bert_config *config,
                            const struct nvdp__device *dev, struct nvdp__params *params,
                            uint64_t seed) {
    double sd = config->initializer_range;
    nvdp__params_normal(dev, params, heads->transform.weight, sd, seed);
    nvdp__params_fill(dev, params, heads->transform.bias, 0);
    nvdp__params_fill(dev, params, heads->norm.weight, 1);
    nvdp__params_fill(dev, params, heads->norm.bias, 0);
    nvdp__params_fill(dev, params, heads->bias, 0);
    nvdp__params_normal(dev, params, heads->next.weight, sd, seed);
    nvdp__params_fill(dev, params, heads->next.bias, 0);
}

/* Rows of logits at a time, in whole blocks of rows where products want such. */
static size_t block_rows(const struct nvdp__device *dev, size_t pieces) {
    size_t unit = nvdp__operand_rows(dev, 1);
    size_t units = BLOCK_FLOATS / pieces / unit;
    return (units > 0 ? units : 1) * unit;
}

void nvdp__heads_plan(struct nvdp__heads *heads, const struct nvdp_bert_config *config,
                      const struct nvdp__device *dev, size_t max_masked, size_t max_texts,
                      struct nvdp__arena *arena) {
    size_t dim = config->hidden_size;
    size_t rows = nvdp__operand_rows(dev, max_masked);
    size_t block = block_rows(dev, config->vocab_size);
    heads->block = block < rows ? block : rows;
    heads->gathered = nvdp__arena_take(arena, rows * dim);
    heads->gathered_operand = nvdp__arena_take_copy(arena, dev, rows, dim, heads->gathered);
    heads->inner = nvdp__arena_take(arena, rows * dim);
    heads->activated = nvdp__arena_take(arena, rows * dim);
    heads->normed = nvdp__arena_take(arena, rows * dim);
    heads->normed_operand = nvdp__arena_take_copy(arena, dev, rows, dim, heads->normed);
    heads->d_normed = nvdp__arena_take(arena, rows * dim);
    heads->d_inner = nvdp__arena_take_copy(arena, dev, rows, dim, heads->d_normed);
    heads->mean = nvdp__arena_take(arena, rows);
    heads->rstd = nvdp__arena_take(arena, rows);
    heads->logits = nvdp__arena_take(arena, heads->block * config->vocab_size);
    heads->d_logits =
        nvdp__arena_take_copy(arena, dev, heads->block, config->vocab_size, heads->logits);
    heads->next_logits = nvdp__arena_take(arena, max_texts * NEXT_CLASSES);
    heads->d_next = nvdp__arena_take(arena, max_texts * NEXT_CLASSES);
    heads->d_pooled = nvdp__arena_take(arena, max_texts * dim);
}

static enum nvdp__act activation(const struct nvdp__heads_pass *pass) {
    return pass->bert->config.hidden_act == NVDP_GELU ? NVDP__ACT_GELU : NVDP__ACT_GELU_NEW;
}

/* heads->normed of the masked tokens, and its operand. */
static void transform_forward(struct nvdp__heads *heads, const struct nvdp__heads_pass *pass,
                              const struct nvdp__masked *masked) {
    const struct nvdp_bert_config *config = &pass->bert->config;
    const struct nvdp__device *dev = pass->dev;
    const struct nvdp__params *params = pass->params;
    size_t dim = config->hidden_size;
    size_t rows = masked->count;
    struct nvdp__linear dense = nvdp__dense_linear(params, &heads->transform, rows);
    nvdp__rows_gather(dev, rows, dim, masked->row, pass->cache->hidden[config->num_hidden_layers],
                      heads->gathered);
    nvdp__to_operand(dev, rows * dim, heads->gathered, heads->gathered_operand);
    nvdp__linear_to_float(dev, &dense, heads->gathered_operand, heads->inner);
    nvdp__act_forward(dev, activation(pass), rows * dim, heads->inner, heads->activated);
    nvdp__layernorm_forward(dev, rows, dim, (float)config->layer_norm_eps, heads->activated, NULL,
                            nvdp__value(params, heads->norm.weight),
                            nvdp__value(params, heads->norm.bias), NULL, heads->normed, heads->mean,
                            heads->rstd);
    nvdp__to_operand(dev, rows * dim, heads->normed, heads->normed_operand);
}

/* From heads->d_normed to d_last and the transform's parameters. */
static void transform_backward(struct nvdp__heads *heads, const struct nvdp__heads_pass *pass,
                               const struct nvdp__masked *masked, float *d_last) {
    const struct nvdp__device *dev = pass->dev;
    const struct nvdp__params *params = pass->params;
    size_t dim = pass->bert->config.hidden_size;
    size_t rows = masked->count;
    float *d = heads->d_normed;
    struct nvdp__linear dense = nvdp__dense_linear(params, &heads->transform, rows);
    nvdp__layernorm_backward(dev, rows, dim, heads->activated,
                             nvdp__value(params, heads->norm.weight), heads->mean, heads->rstd, d,
                             d, nvdp__grad(params, heads->norm.weight),
                             nvdp__grad(params, heads->norm.bias));
    nvdp__act_backward(dev, activation(pass), rows * dim, heads->inner, d, d);
    nvdp__to_operand(dev, rows * dim, d, heads->d_inner);
    float *d_gathered = heads->normed; /* which nobody reads any more */
    nvdp__linear_back_to_float(dev, &dense, heads->d_inner, false, d_gathered);
    nvdp__linear_params_backward(dev, &dense, heads->gathered_operand, heads->d_inner);
    nvdp__rows_scatter_add(dev, rows, dim, masked->row, d_gathered, d_last);
}

/* Logits of `rows` masked tokens from `at` on, their losses and, where `scale` is not 0, the
 * gradients. */
static void one_block(struct nvdp__heads *heads, const struct nvdp__heads_pass *pass,
                      const struct nvdp__masked *masked, size_t at, size_t rows, double scale,
                      double *nll, int32_t *best) {
    const struct nvdp__device *dev = pass->dev;
    size_t dim = pass->bert->config.hidden_size;
    size_t pieces = pass->bert->config.vocab_size;
    const struct nvdp__dense tied = {pass->bert->word, heads->bias};
    struct nvdp__linear decoder = nvdp__dense_linear(pass->params, &tied, rows);
    nvdp__operand *normed = nvdp__operand_at(dev, heads->normed_operand, at * dim);
    nvdp__linear_to_float(dev, &decoder, normed, heads->logits);
    nvdp__softmax_loss(dev, rows, pieces, heads->logits, masked->label + at, scale, nll + at,
                       best + at);
    if (scale == 0) return;
    nvdp__to_operand(dev, rows * pieces, heads->logits, heads->d_logits);
    /* May write past the block's end: what lies there is set by the next block. */
    nvdp__linear_back_to_float(dev, &decoder, heads->d_logits, false, heads->d_normed + at * dim);
    nvdp__linear_params_backward(dev, &decoder, normed, heads->d_logits);
}

void nvdp__mlm_loss(struct nvdp__heads *heads, const struct nvdp__heads_pass *pass,
                    const struct nvdp__masked *masked, float *d_last, double *nll, int32_t *best) {
    if (masked->count == 0) return;
    double scale = d_last != NULL ? 1 / (double)masked->count : 0;
    transform_forward(heads, pass, masked);
    for (size_t at = 0; at < masked->count; at += heads->block) {
        size_t left = masked->count - at;
        one_block(heads, pass, masked, at, left < heads->block ? left : heads->block, scale, nll,
                  best);
    }
    if (d_last != NULL) transform_backward(heads, pass, masked, d_last);
}

double nvdp__next_loss(struct nvdp__heads *heads, const struct nvdp__heads_pass *pass,
                       float *d_last, double *accuracy) {
    const struct nvdp__params *params = pass->params;
    const struct nvdp__batch *batch = pass->batch;
    size_t dim = pass->bert->config.hidden_size;
    size_t texts = batch->texts;
    nvdp__pooler_forward(pass->bert, pass->dev, params, batch, pass->cache);
    nvdp__linear_forward(pass->dev, texts, dim, NEXT_CLASSES, pass->cache->pooled,
                         nvdp__value(params, heads->next.weight),
                         nvdp__value(params, heads->next.bias), heads->next_logits);
    double loss = nvdp__cross_entropy(pass->dev, texts, NEXT_CLASSES, heads->next_logits,
                                      batch->label, 1, heads->d_next);
    size_t right = 0;
    for (size_t i = 0; i < texts; i++) {
        float pair[NEXT_CLASSES];
        nvdp__download(pass->dev, NEXT_CLASSES, heads->next_logits + i * NEXT_CLASSES, pair);
        right += (pair[1] > pair[0]) == (batch->label[i] > 0.5F);
    }
    *accuracy = (double)right / (double)texts;
    nvdp__linear_backward(pass->dev, texts, dim, NEXT_CLASSES, pass->cache->pooled,
                          nvdp__value(params, heads->next.weight), heads->d_next, heads->d_pooled,
                          false, nvdp__grad(params, heads->next.weight),
                          nvdp__grad(params, heads->next.bias));
    nvdp__pooler_backward(pass->bert, pass->dev, params, batch, pass->cache, heads->d_pooled,
                          d_last);
    return loss;
}
