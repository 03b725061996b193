/* Denoising attention (Henderson & Fehr 2023, section 3.2, without its residual) and a
 * feed-forward layer, over the query rows that the pool consumes:
 *     s_ij = (W_q z_i + b_q).(W_k z_j + b_k)/sqrt(h) + log pi_j - |z_j|^2/(2 sqrt(h))
 *     y_i = LN(W_o [softmax_j(s_ij) (W_v z_j + b_v)]_heads + b_o)
 *     u_i = LN(W_2 gelu(W_1 y_i + b_1) + b_2 + y_i) */
#include "nvib/nvib.h"
#include "tensor/vector.h"

#include <stdlib.h>

void nvdp__denoise_bias(const struct nvdp__device *dev, size_t rows, size_t dim, size_t head_dim,
                        const float *log_pi, const float *z, float *bias) {
    double scale = 0.5 / sqrt((double)head_dim);
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t r = 0; r < rows; r++) {
        bias[r] = (float)(log_pi[r] - scale * nvdp__dot_f64(dim, z + r * dim, z + r * dim));
    }
}

NVDP__CLONES static void denoise_subtract_row(size_t n, float a, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] -= a * x[i];
    }
}

void nvdp__denoise_bias_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 size_t head_dim, const float *z, const float *dbias, float *dz,
                                 float *dlog_pi) {
    float scale = (float)(1 / sqrt((double)head_dim));
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t r = 0; r < rows; r++) {
        dlog_pi[r] = dbias[r];
        denoise_subtract_row(dim, scale * dbias[r], z + r * dim, dz + r * dim);
    }
}

NVDP__CLONES static void exp_block(size_t n, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] = nvdp__fast_exp(x[i]);
    }
}

void nvdp__exp(size_t n, const float *x, float *y) {
    exp_block(n, x, y);
}

void nvdp__multiply_add(size_t n, const float *a, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) {
        y[i] += a[i] * x[i];
    }
}

struct nvdp__block_cache {
    bool training;
    size_t max_rows, max_texts, max_queries, longest;
    size_t index_capacity, offset_capacity;
    int32_t *index;    /* [Q] sample row of a query row (host) */
    int32_t *q_offset; /* [texts+1] query rows of a text (host) */
    size_t queries;    /* of the last forward */

    float *input;                   /* [Q,p] what queries come from; NULL where it is z itself */
    const float *query_input;       /* input, or the sample's z */
    float *query, *key, *value;     /* [Q,p], [R,p], [R,p] */
    float *bias, *lse, *scratch;    /* [R], [Q,heads] */
    float *context;                 /* [Q,p] */
    float *attended, *attended_out; /* [Q,p] before and after the first LayerNorm */
    float *mean, *rstd;             /* [Q] */
    float *inner, *activated;       /* [Q,inner] */
    float *sum, *out;               /* [Q,p] before and after the second LayerNorm */
    float *out_mean, *out_rstd;     /* [Q] */
    float *weight;                  /* [R] pi, for the weighted pool */
    float *pooled;                  /* [texts,p], for mean and weighted */

    float *d_row, *d_other, *d_wide; /* [Q,p], [Q,p], [Q,inner] */
    float *d_key, *d_value;          /* [R,p] */
    float *d_bias, *d_weight;        /* [R] */
};

nvdp_status nvdp__block_declare(struct nvdp__block *block, struct nvdp__params *params) {
    struct {
        const char *prefix;
        size_t out, in; /* in 0: a LayerNorm */
        struct nvdp__dense *dense;
    } table[] = {
        {"nvdp.attention.self.query", block->dim, block->dim, &block->query},
        {"nvdp.attention.self.key", block->dim, block->dim, &block->key},
        {"nvdp.attention.self.value", block->dim, block->dim, &block->value},
        {"nvdp.attention.output.dense", block->dim, block->dim, &block->attention_output},
        {"nvdp.attention.output.LayerNorm", block->dim, 0, &block->attention_norm},
        {"nvdp.intermediate.dense", block->inner, block->dim, &block->intermediate},
        {"nvdp.output.dense", block->dim, block->inner, &block->output},
        {"nvdp.output.LayerNorm", block->dim, 0, &block->output_norm},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        NVDP_RETURN_IF_FAILED(
            table[i].in > 0 ? nvdp__declare_dense(params, table[i].prefix, table[i].out,
                                                  table[i].in, NVDP__PARAM_OPTIONAL, table[i].dense)
                            : nvdp__declare_norm(params, table[i].prefix, table[i].out,
                                                 NVDP__PARAM_OPTIONAL, table[i].dense));
    }
    block->cache = nvdp__calloc(params->ctx, 1, sizeof *block->cache);
    return block->cache != NULL ? NVDP_OK : NVDP_ERR_MEMORY;
}

void nvdp__block_release(struct nvdp__block *block) {
    if (block->cache == NULL) return;
    free(block->cache->index);
    free(block->cache->q_offset);
    free(block->cache);
    block->cache = NULL;
}

void nvdp__block_initialise(const struct nvdp__block *block, const struct nvdp__device *dev,
                            struct nvdp__params *params, double sd, uint64_t seed) {
    const struct nvdp__dense *dense[] = {&block->query,        &block->key,
                                         &block->value,        &block->attention_output,
                                         &block->intermediate, &block->output};
    const struct nvdp__dense *norm[] = {&block->attention_norm, &block->output_norm};
    for (size_t i = 0; i < sizeof dense / sizeof dense[0]; i++) {
        nvdp__params_normal(dev, params, dense[i]->weight, sd, seed);
        nvdp__params_fill(dev, params, dense[i]->bias, 0);
    }
    for (size_t i = 0; i < sizeof norm / sizeof norm[0]; i++) {
        nvdp__params_fill(dev, params, norm[i]->weight, 1);
        nvdp__params_fill(dev, params, norm[i]->bias, 0);
    }
}

/* Queries are gathered unless every row of z is one. */
static bool gathers(const struct nvdp__block *block) {
    return block->pool != NVDP_POOL_WEIGHTED;
}

static void plan_forward(const struct nvdp__block *block, const struct nvdp__device *dev,
                         struct nvdp__arena *arena) {
    struct nvdp__block_cache *c = block->cache;
    size_t q = c->max_queries;
    size_t longest_q = block->pool == NVDP_POOL_FIRST ? 1 : c->longest;
    c->input = gathers(block) ? nvdp__arena_take(arena, q * block->dim) : NULL;
    c->query = nvdp__arena_take(arena, q * block->dim);
    c->key = nvdp__arena_take(arena, c->max_rows * block->dim);
    c->value = nvdp__arena_take(arena, c->max_rows * block->dim);
    c->bias = nvdp__arena_take(arena, c->max_rows);
    c->lse = nvdp__arena_take(arena, q * block->heads);
    c->scratch = nvdp__arena_take(
        arena, nvdp__attention_scratch(dev, longest_q, c->longest, block->dim / block->heads));
    c->context = nvdp__arena_take(arena, q * block->dim);
    c->attended = nvdp__arena_take(arena, q * block->dim);
    c->attended_out = nvdp__arena_take(arena, q * block->dim);
    c->mean = nvdp__arena_take(arena, q);
    c->rstd = nvdp__arena_take(arena, q);
    c->inner = nvdp__arena_take(arena, q * block->inner);
    c->activated = nvdp__arena_take(arena, q * block->inner);
    c->sum = nvdp__arena_take(arena, q * block->dim);
    c->out = nvdp__arena_take(arena, q * block->dim);
    c->out_mean = nvdp__arena_take(arena, q);
    c->out_rstd = nvdp__arena_take(arena, q);
    if (block->pool == NVDP_POOL_WEIGHTED) c->weight = nvdp__arena_take(arena, c->max_rows);
    if (block->pool != NVDP_POOL_FIRST)
        c->pooled = nvdp__arena_take(arena, c->max_texts * block->dim);
}

static void plan_backward(const struct nvdp__block *block, struct nvdp__arena *arena) {
    struct nvdp__block_cache *c = block->cache;
    c->d_row = nvdp__arena_take(arena, c->max_queries * block->dim);
    c->d_other = nvdp__arena_take(arena, c->max_queries * block->dim);
    c->d_wide = nvdp__arena_take(arena, c->max_queries * block->inner);
    c->d_key = nvdp__arena_take(arena, c->max_rows * block->dim);
    c->d_value = nvdp__arena_take(arena, c->max_rows * block->dim);
    c->d_bias = nvdp__arena_take(arena, c->max_rows);
    if (block->pool == NVDP_POOL_WEIGHTED) c->d_weight = nvdp__arena_take(arena, c->max_rows);
}

size_t nvdp__block_queries(const struct nvdp__block *block, const struct nvdp__device *dev,
                           size_t max_rows, size_t max_texts) {
    return nvdp__operand_rows(dev, block->pool == NVDP_POOL_FIRST ? max_texts : max_rows);
}

nvdp_status nvdp__block_plan(struct nvdp__block *block, const struct nvdp__device *dev,
                             size_t max_rows, size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena) {
    struct nvdp__block_cache *c = block->cache;
    size_t queries = nvdp__block_queries(block, dev, max_rows, max_texts);
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(dev->ctx, &c->index, &c->index_capacity, queries, sizeof *c->index));
    NVDP_RETURN_IF_FAILED(nvdp__reserve(dev->ctx, &c->q_offset, &c->offset_capacity, max_texts + 1,
                                        sizeof *c->q_offset));
    c->training = training;
    c->max_rows = max_rows;
    c->max_texts = max_texts;
    c->max_queries = queries;
    c->longest = longest;
    plan_forward(block, dev, arena);
    if (training) plan_backward(block, arena);
    return NVDP_OK;
}

static nvdp_status check_sample(const struct nvdp__block *block, const struct nvdp__device *dev,
                                const struct nvdp__sample *sample) {
    const struct nvdp__block_cache *c = block->cache;
    if (sample->dim != block->dim || sample->log_pi == NULL) {
        return nvdp__fail(dev->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected weights and vectors of width %zu, found width %zu",
                          block->dim, sample->dim);
    }
    if (sample->texts > c->max_texts || sample->rows > c->max_rows) {
        return nvdp__fail(dev->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected at most %zu texts and %zu rows, found %zu and %zu",
                          c->max_texts, c->max_rows, sample->texts, sample->rows);
    }
    size_t kappa = (size_t)block->kappa;
    size_t least = block->pool == NVDP_POOL_WEIGHTED ? kappa : 2 * kappa;
    for (size_t b = 0; b < sample->texts; b++) {
        size_t rows = (size_t)(sample->offset[b + 1] - sample->offset[b]);
        if (rows >= least && rows <= c->longest && rows % kappa == 0) continue;
        return nvdp__fail(
            dev->ctx, NVDP_ERR_ARGUMENT,
            "sample of text %zu: expected %zu to %zu rows, a multiple of %zu, found %zu", b, least,
            c->longest, kappa, rows);
    }
    return NVDP_OK;
}

/* Which rows are queried, from the sample's own shape alone. */
static void choose_queries(const struct nvdp__block *block, const struct nvdp__sample *sample) {
    struct nvdp__block_cache *c = block->cache;
    size_t kappa = (size_t)block->kappa;
    size_t q = 0;
    for (size_t b = 0; b < sample->texts; b++) {
        c->q_offset[b] = (int32_t)q;
        size_t first = (size_t)sample->offset[b];
        size_t end = (size_t)sample->offset[b + 1];
        if (block->pool != NVDP_POOL_WEIGHTED) first += kappa; /* past the prior */
        if (block->pool == NVDP_POOL_FIRST) end = first + 1;
        for (size_t r = first; r < end; r++) {
            c->index[q++] = (int32_t)r;
        }
    }
    c->q_offset[sample->texts] = (int32_t)q;
    c->queries = q;
}

static struct nvdp__attention attention_of(const struct nvdp__block *block,
                                           const struct nvdp__sample *sample) {
    size_t head_dim = block->dim / block->heads;
    return (struct nvdp__attention){.groups = sample->texts,
                                    .heads = block->heads,
                                    .head_dim = head_dim,
                                    .scale = (float)(1 / __builtin_sqrt((double)head_dim)),
                                    .q_offset = block->cache->q_offset,
                                    .k_offset = sample->offset,
                                    .q_stride = block->dim,
                                    .kv_stride = block->dim,
                                    .out_stride = block->dim};
}

/* A tensor as products read it; the next one takes its place. */
static nvdp__operand *operand(const struct nvdp__block *block, const struct nvdp__device *dev,
                              size_t rows, size_t width, const float *x) {
    return nvdp__rounded(dev, rows * width, x, block->x_room);
}

static void dense(const struct nvdp__device *dev, const struct nvdp__params *params,
                  const struct nvdp__dense *index, size_t rows, const nvdp__operand *x, float *y) {
    struct nvdp__linear layer = nvdp__dense_linear(params, index, rows);
    nvdp__linear_to_float(dev, &layer, x, y);
}

/* z, log pi -> context [Q, p]. */
static void attend(struct nvdp__block *block, const struct nvdp__device *dev,
                   const struct nvdp__params *params, const struct nvdp__sample *sample,
                   const float *clean_query) {
    struct nvdp__block_cache *c = block->cache;
    size_t p = block->dim;
    const float *from = clean_query != NULL ? clean_query : sample->z;
    c->query_input = from;
    if (gathers(block)) {
        nvdp__rows_gather(dev, c->queries, p, c->index, from, c->input);
        c->query_input = c->input;
    }
    dense(dev, params, &block->query, c->queries,
          operand(block, dev, c->queries, p, c->query_input), c->query);
    const nvdp__operand *z = operand(block, dev, sample->rows, p, sample->z);
    dense(dev, params, &block->key, sample->rows, z, c->key);
    dense(dev, params, &block->value, sample->rows, z, c->value);
    nvdp__denoise_bias(dev, sample->rows, p, p / block->heads, sample->log_pi, sample->z, c->bias);
    struct nvdp__attention att = attention_of(block, sample);
    nvdp__attention_forward(dev, &att, c->query, c->key, c->value, c->bias, c->context, c->lse,
                            c->scratch);
}

static enum nvdp__act act_of(const struct nvdp__block *block) {
    return block->act == NVDP_GELU_NEW ? NVDP__ACT_GELU_NEW : NVDP__ACT_GELU;
}

/* context -> out [Q, p]. */
static void transform(struct nvdp__block *block, const struct nvdp__device *dev,
                      const struct nvdp__params *params) {
    struct nvdp__block_cache *c = block->cache;
    size_t q = c->queries;
    size_t p = block->dim;
    dense(dev, params, &block->attention_output, q, operand(block, dev, q, p, c->context),
          c->attended);
    nvdp__layernorm_forward(
        dev, q, p, block->eps, c->attended, NULL, nvdp__value(params, block->attention_norm.weight),
        nvdp__value(params, block->attention_norm.bias), NULL, c->attended_out, c->mean, c->rstd);
    dense(dev, params, &block->intermediate, q, operand(block, dev, q, p, c->attended_out),
          c->inner);
    nvdp__act_forward(dev, act_of(block), q * block->inner, c->inner, c->activated);
    dense(dev, params, &block->output, q, operand(block, dev, q, block->inner, c->activated),
          c->sum);
    nvdp__layernorm_forward(dev, q, p, block->eps, c->sum, c->attended_out,
                            nvdp__value(params, block->output_norm.weight),
                            nvdp__value(params, block->output_norm.bias), c->sum, c->out,
                            c->out_mean, c->out_rstd);
}

static float *pool(struct nvdp__block *block, const struct nvdp__device *dev,
                   const struct nvdp__sample *sample) {
    struct nvdp__block_cache *c = block->cache;
    if (block->pool == NVDP_POOL_FIRST) return c->out;
    bool weighted = block->pool == NVDP_POOL_WEIGHTED;
    if (weighted) nvdp__exp(sample->rows, sample->log_pi, c->weight);
    nvdp__pool_forward(dev, sample->texts, block->dim, c->q_offset, weighted ? c->weight : NULL,
                       c->out, c->pooled);
    return c->pooled;
}

nvdp_status nvdp__block_forward(struct nvdp__block *block, const struct nvdp__device *dev,
                                const struct nvdp__params *params,
                                const struct nvdp__sample *sample, const float *clean_query,
                                float **pooled) {
    NVDP_RETURN_IF_FAILED(check_sample(block, dev, sample));
    choose_queries(block, sample);
    attend(block, dev, params, sample, clean_query);
    transform(block, dev, params);
    *pooled = pool(block, dev, sample);
    return NVDP_OK;
}

/* dx (NULL: skip) set, or added to; the parameters' gradients added to. */
static void dense_backward(const struct nvdp__block *block, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__dense *index,
                           size_t rows, nvdp__operand *x, const float *dy, float *dx,
                           bool accumulate) {
    struct nvdp__linear layer = nvdp__dense_linear(params, index, rows);
    nvdp__operand *from = nvdp__rounded(dev, rows * layer.out, dy, block->dy_room);
    nvdp__linear_params_backward(dev, &layer, x, from);
    if (dx != NULL) nvdp__linear_back_to_float(dev, &layer, from, accumulate, dx);
}

static void norm_backward(const struct nvdp__device *dev, const struct nvdp__params *params,
                          const struct nvdp__dense *index, size_t rows, size_t dim,
                          const float *sum, const float *mean, const float *rstd, float *d) {
    nvdp__layernorm_backward(dev, rows, dim, sum, nvdp__value(params, index->weight), mean, rstd, d,
                             d, nvdp__grad(params, index->weight), nvdp__grad(params, index->bias));
}

/* d_pooled -> d_row, the gradient of out [Q, p], and d_weight. */
static void pool_backward(struct nvdp__block *block, const struct nvdp__device *dev,
                          const struct nvdp__sample *sample, const float *d_pooled) {
    struct nvdp__block_cache *c = block->cache;
    if (block->pool == NVDP_POOL_FIRST) {
        nvdp__copy(dev, c->queries * block->dim, d_pooled, c->d_row);
        return;
    }
    bool weighted = block->pool == NVDP_POOL_WEIGHTED;
    nvdp__pool_backward(dev, sample->texts, block->dim, c->q_offset, weighted ? c->weight : NULL,
                        c->out, d_pooled, c->d_row, weighted ? c->d_weight : NULL);
}

/* d_row: from the gradient of out to that of context. */
static void transform_backward(struct nvdp__block *block, const struct nvdp__device *dev,
                               const struct nvdp__params *params) {
    struct nvdp__block_cache *c = block->cache;
    size_t q = c->queries;
    size_t p = block->dim;
    norm_backward(dev, params, &block->output_norm, q, p, c->sum, c->out_mean, c->out_rstd,
                  c->d_row);
    dense_backward(block, dev, params, &block->output, q,
                   operand(block, dev, q, block->inner, c->activated), c->d_row, c->d_wide, false);
    nvdp__act_backward(dev, act_of(block), q * block->inner, c->inner, c->d_wide, c->d_wide);
    dense_backward(block, dev, params, &block->intermediate, q,
                   operand(block, dev, q, p, c->attended_out), c->d_wide, c->d_row,
                   true); /* d_row already is the residual's gradient */
    norm_backward(dev, params, &block->attention_norm, q, p, c->attended, c->mean, c->rstd,
                  c->d_row);
    dense_backward(block, dev, params, &block->attention_output, q,
                   operand(block, dev, q, p, c->context), c->d_row, c->d_other, false);
}

/* The queries' gradient goes to their rows of z, or to the clean queries. */
static void query_backward(struct nvdp__block *block, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__sample *sample,
                           const float *d_query, float *dz) {
    struct nvdp__block_cache *c = block->cache;
    size_t p = block->dim;
    float *to = block->clean_query ? block->d_clean : dz;
    nvdp__operand *x = operand(block, dev, c->queries, p, c->query_input);
    bool fresh = block->clean_query && to != NULL; /* d_clean is set, dz added to */
    if (to == NULL || gathers(block)) {
        dense_backward(block, dev, params, &block->query, c->queries, x, d_query,
                       to != NULL ? c->d_other : NULL, false);
        if (fresh) nvdp__zero(dev, sample->rows * p, to);
        if (to != NULL) nvdp__rows_scatter_add(dev, c->queries, p, c->index, c->d_other, to);
        return;
    }
    dense_backward(block, dev, params, &block->query, c->queries, x, d_query, to, !fresh);
}

void nvdp__block_backward(struct nvdp__block *block, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__sample *sample,
                          const float *d_pooled, float *dz, float *dlog_pi) {
    struct nvdp__block_cache *c = block->cache;
    size_t p = block->dim;
    pool_backward(block, dev, sample, d_pooled);
    transform_backward(block, dev, params);
    struct nvdp__attention att = attention_of(block, sample);
    nvdp__attention_backward(dev, &att, c->query, c->key, c->value, c->bias, c->context, c->lse,
                             c->d_other, c->d_row, c->d_key, c->d_value, c->d_bias, c->scratch);
    nvdp__operand *z = operand(block, dev, sample->rows, p, sample->z);
    dense_backward(block, dev, params, &block->key, sample->rows, z, c->d_key, dz, false);
    dense_backward(block, dev, params, &block->value, sample->rows, z, c->d_value, dz, true);
    query_backward(block, dev, params, sample, c->d_row, dz);
    if (dz == NULL) return;
    nvdp__denoise_bias_backward(dev, sample->rows, p, p / block->heads, sample->z, c->d_bias, dz,
                                dlog_pi);
    if (block->pool == NVDP_POOL_WEIGHTED)
        nvdp__multiply_add(sample->rows, c->weight, c->d_weight, dlog_pi);
}
