/* The sealed block: denoising attention (Henderson & Fehr 2023, section 3.2, without its
 * residual), a feed-forward layer, and pooling (NVDP, section 3.1), over the query rows i that
 * the pool needs:
 *
 *     s_ij   = (W_q z_i + b_q).(W_k z_j + b_k)/sqrt(h) + log pi_j - |z_j|^2/(2 sqrt(h))
 *     y_i    = LN(W_o [softmax_j(s_ij) (W_v z_j + b_v)]_heads + b_o)      `residual`: + z_i inside LN
 *     u_i    = LN(W_2 gelu(W_1 y_i + b_1) + b_2 + y_i)
 *     pooled = u of the first token's first row | mean_i u_i without the prior's rows | sum_i pi_i u_i
 *
 * h is the width of a head; |z_j|^2 runs over all p dimensions and is the same for every head. The only input is the
 * sample (pi, z). Start with nvdp__block_forward(). */
#include "nvib/nvib.h"
#include "tensor/vector.h"

#include <stdlib.h>

/* ---- the key bias b_r = log pi_r - |z_r|^2/(2 sqrt(h)), computed in double ----
 *
 *     dlog pi_r  = db_r
 *     dz_r      -= db_r z_r / sqrt(h) */

void nvdp__denoise_bias(const struct nvdp__device *dev, size_t rows, size_t dim, size_t head_dim,
                        const float *log_pi, const float *z, float *bias) {
    double scale = 0.5 / sqrt((double)head_dim);
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim))
    for (size_t r = 0; r < rows; r++) {
        double weight = log_pi != NULL ? log_pi[r] : 0;
        bias[r] = (float)(weight - scale * nvdp__dot_f64(dim, z + r * dim, z + r * dim));
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
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim))
    for (size_t r = 0; r < rows; r++) {
        if (dlog_pi != NULL) dlog_pi[r] = dbias[r];
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

/* ---- the layer's parameters and activations ---- */

/* Tensors for the largest batch; a pass uses the first rows of each tensor. */
struct nvdp__block_cache {
    size_t max_rows, max_texts, longest;
    size_t index_capacity, offset_capacity;
    int32_t *index;    /* [Q] row of the sample of each query row (on the host) */
    int32_t *q_offset; /* [texts+1] first query row of each text (on the host) */
    size_t queries;    /* number of query rows of the last forward pass */

    struct nvdp__tensor input;       /* [Q,p] gathered queries; unused if all rows are queries */
    struct nvdp__tensor query_input; /* `input`, or the z of the sample */
    struct nvdp__tensor query, key, value;      /* [Q,p] queries, [R,p] keys, [R,p] values */
    struct nvdp__tensor context;                /* [Q,p] output of the attention */
    struct nvdp__tensor attended, attended_out; /* [Q,p] before and after the first LayerNorm */
    struct nvdp__tensor inner, activated;       /* [Q,inner] before and after the activation */
    struct nvdp__tensor sum, out;               /* [Q,p] before and after the second LayerNorm */
    /* [R] bias of each key; [Q,heads] log-sum-exp; scratch buffer of the attention */
    float *bias, *lse, *scratch;
    float *mean, *rstd, *out_mean, *out_rstd; /* [Q] statistics of the two LayerNorms */
    float *weight;                            /* [R] pi, for the weighted pool */
    float *pooled;                            /* [texts,p], for mean and weighted */

    struct nvdp__tensor d_residual; /* [Q,p] gradient of the residual */
    /* [Q,p], [Q,p], [Q,inner] gradients of rows, and of the inner layer */
    struct nvdp__tensor d_row, d_other, d_wide;
    struct nvdp__tensor d_key, d_value; /* [R,p] gradients of keys and values */
    /* [R] gradients of the key bias and of the pool's weights */
    float *d_bias, *d_weight;
};

nvdp_status nvdp__block_declare(struct nvdp__sealed_block *block, struct nvdp__params *params) {
    struct {
        const char *prefix;
        size_t out, in; /* sizes of a dense layer; `in` is 0 for a LayerNorm */
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
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        NVDP_TRY(nvdp__declare_part(params, table[i].prefix, table[i].out, table[i].in, true,
                                    NVDP__PARAM_OPTIONAL, table[i].dense));
    return NVDP__NEW(params->ctx, block->cache, 1);
}

void nvdp__block_release(struct nvdp__sealed_block *block) {
    if (block->cache == NULL) return;
    free(block->cache->index);
    free(block->cache->q_offset);
    free(block->cache);
    block->cache = NULL;
}

void nvdp__block_initialize(const struct nvdp__sealed_block *block, const struct nvdp__device *dev,
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

/* Returns the number of rows of the prior, which come before the tokens' rows in a sample. */
static size_t prior_row_count(const struct nvdp__sealed_block *block) {
    return block->weights ? (size_t)block->kappa : 0;
}

/* True if the queries must be gathered because not every row of z is a query. */
static bool gathers(const struct nvdp__sealed_block *block) {
    return block->pool != NVDP_POOL_WEIGHTED;
}

nvdp_status nvdp__block_plan(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                             size_t max_rows, size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena) {
    struct nvdp__block_cache *c = block->cache;
    bool first = block->pool == NVDP_POOL_FIRST, weighted = block->pool == NVDP_POOL_WEIGHTED;
    size_t p = block->dim, q = first ? max_texts : max_rows;
    NVDP_TRY(nvdp__reserve(dev->ctx, &c->index, &c->index_capacity, q, sizeof *c->index));
    NVDP_TRY(nvdp__reserve(dev->ctx, &c->q_offset, &c->offset_capacity, max_texts + 1,
                           sizeof *c->q_offset));
    c->max_rows = max_rows;
    c->max_texts = max_texts;
    c->longest = longest;
    nvdp__dense_plan(dev, arena, max_rows, p, p);
    nvdp__dense_plan(dev, arena, q, p, block->inner);
    nvdp__dense_plan(dev, arena, q, block->inner, p);
    struct {
        struct nvdp__tensor *tensor;
        size_t rows, cols;
        bool wanted;
    } const tensors[] = {
        {&c->input, q, p, gathers(block)},
        {&c->query, q, p, true},
        {&c->key, max_rows, p, true},
        {&c->value, max_rows, p, true},
        {&c->context, q, p, true},
        {&c->attended, q, p, true},
        {&c->attended_out, q, p, true},
        {&c->inner, q, block->inner, true},
        {&c->activated, q, block->inner, true},
        {&c->sum, q, p, true},
        {&c->out, q, p, true},
        {&c->d_row, q, p, training},
        {&c->d_residual, q, p, training && block->residual},
        {&c->d_other, q, p, training},
        {&c->d_wide, q, block->inner, training},
        {&c->d_key, max_rows, p, training},
        {&c->d_value, max_rows, p, training},
    };
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        *tensors[i].tensor = NVDP__NO_TENSOR;
        if (tensors[i].wanted)
            *tensors[i].tensor =
                nvdp__arena_tensor(arena, dev, NVDP__F32, tensors[i].rows, tensors[i].cols);
    }
    const size_t scratch =
        nvdp__attend_scratch(dev, NVDP__F32, first ? 1 : longest, longest, p / block->heads);
    NVDP__TAKE(arena, {&c->bias, max_rows}, {&c->lse, q * block->heads}, {&c->scratch, scratch},
               {&c->mean, q}, {&c->rstd, q}, {&c->out_mean, q}, {&c->out_rstd, q});
    if (weighted) c->weight = nvdp__arena_take(arena, max_rows);
    if (!first) c->pooled = nvdp__arena_take(arena, max_texts * p);
    if (training) c->d_bias = nvdp__arena_take(arena, max_rows);
    if (training && weighted) c->d_weight = nvdp__arena_take(arena, max_rows);
    return NVDP_OK;
}

/* ---- forward ---- */

static nvdp_status check_sample(const struct nvdp__sealed_block *block,
                                const struct nvdp__device *dev, const struct nvdp__sample *sample) {
    const struct nvdp__block_cache *c = block->cache;
    if (sample->dim != block->dim || (sample->log_pi != NULL) != block->weights) {
        return nvdp__fail(dev->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected %svectors of width %zu, found %swidth %zu",
                          block->weights ? "weights and " : "", block->dim,
                          sample->log_pi != NULL ? "weights and " : "", sample->dim);
    }
    if (sample->texts > c->max_texts || sample->rows > c->max_rows) {
        return nvdp__fail(dev->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected at most %zu texts and %zu rows, found %zu and %zu",
                          c->max_texts, c->max_rows, sample->texts, sample->rows);
    }
    size_t kappa = (size_t)block->kappa;
    size_t min_rows = block->pool == NVDP_POOL_WEIGHTED ? kappa : prior_row_count(block) + kappa;
    for (size_t b = 0; b < sample->texts; b++) {
        size_t rows = (size_t)(sample->offset[b + 1] - sample->offset[b]);
        if (rows >= min_rows && rows <= c->longest && rows % kappa == 0) continue;
        return nvdp__fail(
            dev->ctx, NVDP_ERR_ARGUMENT,
            "sample of text %zu: expected %zu to %zu rows, a multiple of %zu, found %zu", b,
            min_rows, c->longest, kappa, rows);
    }
    return NVDP_OK;
}

/* Chooses the query rows. The choice depends only on the shape of the sample. */
static void choose_queries(const struct nvdp__sealed_block *block,
                           const struct nvdp__sample *sample) {
    struct nvdp__block_cache *c = block->cache;
    size_t q = 0;
    for (size_t b = 0; b < sample->texts; b++) {
        c->q_offset[b] = (int32_t)q;
        size_t first = (size_t)sample->offset[b];
        size_t end = (size_t)sample->offset[b + 1];
        if (block->pool != NVDP_POOL_WEIGHTED) first += prior_row_count(block);
        if (block->pool == NVDP_POOL_FIRST) end = first + 1;
        for (size_t r = first; r < end; r++) {
            c->index[q++] = (int32_t)r;
        }
    }
    c->q_offset[sample->texts] = (int32_t)q;
    c->queries = q;
}

/* Returns views of the cache for the attention over this sample. */
static struct nvdp__attention make_attention(const struct nvdp__sealed_block *block,
                                             const struct nvdp__sample *sample) {
    const struct nvdp__block_cache *c = block->cache;
    size_t head_dim = block->dim / block->heads;
    return (struct nvdp__attention){
        .groups = sample->texts,
        .heads = block->heads,
        .scale = (float)(1 / sqrt((double)head_dim)),
        .q_offset = c->q_offset,
        .k_offset = sample->offset,
        .q = nvdp__with_rows(c->query, c->queries),
        .k = nvdp__with_rows(c->key, sample->rows),
        .v = nvdp__with_rows(c->value, sample->rows),
        .out = nvdp__with_rows(c->context, c->queries),
        .bias = c->bias,
        .lse = c->lse,
        .scratch = c->scratch,
    };
}

static struct nvdp__norm make_norm(const struct nvdp__sealed_block *block,
                                   const struct nvdp__params *params,
                                   const struct nvdp__dense *norm, float *mean, float *rstd) {
    struct nvdp__norm made = nvdp__dense_norm(params, norm, block->eps, mean, rstd);
    made.offset = block->cache->q_offset;
    return made;
}

static void dense(const struct nvdp__device *dev, const struct nvdp__params *params,
                  const struct nvdp__dense *index, struct nvdp__tensor x, struct nvdp__tensor y) {
    struct nvdp__linear layer = nvdp__dense_linear(params, index, x.rows);
    nvdp__dense_forward(dev, &layer, x, nvdp__with_rows(y, x.rows));
}

nvdp_status nvdp__block_forward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                                const struct nvdp__params *params,
                                const struct nvdp__sample *sample, const float *clean_query,
                                float **pooled) {
    struct nvdp__block_cache *c = block->cache;
    size_t p = block->dim;
    NVDP_TRY(check_sample(block, dev, sample));
    choose_queries(block, sample);
    size_t q = c->queries;
    struct nvdp__tensor z = nvdp__f32(sample->rows, p, sample->z);
    c->query_input = nvdp__f32(sample->rows, p, clean_query != NULL ? clean_query : sample->z);
    if (gathers(block)) {
        nvdp__rows_gather(dev, q, p, c->index, c->query_input.data, c->input.data);
        c->query_input = nvdp__with_rows(c->input, q);
    }
    dense(dev, params, &block->query, c->query_input, c->query);
    dense(dev, params, &block->key, z, c->key);
    dense(dev, params, &block->value, z, c->value);
    nvdp__denoise_bias(dev, sample->rows, p, p / block->heads, sample->log_pi, sample->z, c->bias);
    struct nvdp__attention att = make_attention(block, sample);
    nvdp__attend_forward(dev, &att);

    struct nvdp__norm norm = make_norm(block, params, &block->attention_norm, c->mean, c->rstd);
    struct nvdp__tensor y = nvdp__with_rows(c->attended_out, q);
    dense(dev, params, &block->attention_output, att.out, c->attended);
    struct nvdp__tensor attended = nvdp__with_rows(c->attended, q), none = NVDP__NO_TENSOR;
    nvdp__norm_forward(dev, &norm, attended, block->residual ? c->query_input : none,
                       block->residual ? attended : none, y, none);
    dense(dev, params, &block->intermediate, y, c->inner);
    nvdp__activation_forward(dev, nvdp__activation_operation(block->act),
                             nvdp__with_rows(c->inner, q), nvdp__with_rows(c->activated, q));
    dense(dev, params, &block->output, nvdp__with_rows(c->activated, q), c->sum);
    norm = make_norm(block, params, &block->output_norm, c->out_mean, c->out_rstd);
    struct nvdp__tensor sum = nvdp__with_rows(c->sum, q);
    nvdp__norm_forward(dev, &norm, sum, y, sum, nvdp__with_rows(c->out, q), NVDP__NO_TENSOR);

    *pooled = c->out.data;
    if (block->pool == NVDP_POOL_FIRST) return NVDP_OK;
    bool weighted = block->pool == NVDP_POOL_WEIGHTED;
    if (weighted) nvdp__exp(sample->rows, sample->log_pi, c->weight);
    nvdp__pool_forward(dev, sample->texts, p, c->q_offset, weighted ? c->weight : NULL, c->out.data,
                       c->pooled);
    *pooled = c->pooled;
    return NVDP_OK;
}

/* ---- backward ---- */

/* Sets dx (no tensor: skips dx) or adds to dx; adds to the gradients of the parameters. `offset` has the first row
 * of each text. */
static void dense_backward(const struct nvdp__device *dev, const struct nvdp__params *params,
                           const struct nvdp__dense *index, const int32_t *offset,
                           struct nvdp__tensor x, struct nvdp__tensor dy, struct nvdp__tensor dx,
                           bool add) {
    struct nvdp__linear layer = nvdp__dense_linear(params, index, x.rows);
    layer.offset = offset;
    nvdp__dense_backward(dev, &layer, x, nvdp__with_rows(dy, x.rows), nvdp__with_rows(dx, x.rows),
                         add);
}

/* Adds the gradient of the queries to their rows of dz [R, p] (no tensor: skips dz), or sets d_clean if the queries
 * are clean. */
static void query_backward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                           const struct nvdp__params *params, struct nvdp__tensor dz) {
    struct nvdp__block_cache *c = block->cache;
    struct nvdp__tensor x = c->query_input, to = dz;
    if (block->clean_query) to = nvdp__f32(dz.rows, block->dim, block->d_clean);
    bool wanted = nvdp__is_tensor(to);
    if (wanted && !gathers(block)) {
        dense_backward(dev, params, &block->query, c->q_offset, x, c->d_row, to,
                       !block->clean_query);
        return;
    }
    dense_backward(dev, params, &block->query, c->q_offset, x, c->d_row, wanted ? c->d_other : to,
                   false);
    if (!wanted) return;
    if (block->clean_query) nvdp__zero(dev, to.rows * block->dim, to.data);
    nvdp__rows_scatter_add(dev, c->queries, block->dim, c->index, c->d_other.data, to.data);
}

void nvdp__block_backward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__sample *sample,
                          const float *d_pooled, float *dz, float *dlog_pi) {
    struct nvdp__block_cache *c = block->cache;
    size_t p = block->dim, q = c->queries;
    bool weighted = block->pool == NVDP_POOL_WEIGHTED;
    struct nvdp__tensor d = nvdp__with_rows(c->d_row, q), d_wide = nvdp__with_rows(c->d_wide, q);
    if (block->pool == NVDP_POOL_FIRST)
        nvdp__copy(dev, q * p, d_pooled, d.data);
    else
        nvdp__pool_backward(dev, sample->texts, p, c->q_offset, weighted ? c->weight : NULL,
                            c->out.data, d_pooled, d.data, weighted ? c->d_weight : NULL);

    struct nvdp__norm norm =
        make_norm(block, params, &block->output_norm, c->out_mean, c->out_rstd);
    nvdp__norm_backward(dev, &norm, nvdp__with_rows(c->sum, q), d, NVDP__NO_TENSOR);
    dense_backward(dev, params, &block->output, c->q_offset, nvdp__with_rows(c->activated, q), d,
                   d_wide, false);
    nvdp__activation_backward(dev, nvdp__activation_operation(block->act),
                              nvdp__with_rows(c->inner, q), d_wide, d_wide, NVDP__NO_TENSOR);
    dense_backward(dev, params, &block->intermediate, c->q_offset,
                   nvdp__with_rows(c->attended_out, q), d_wide, d,
                   true); /* d already contains the gradient of the residual */
    norm = make_norm(block, params, &block->attention_norm, c->mean, c->rstd);
    nvdp__norm_backward(dev, &norm, nvdp__with_rows(c->attended, q), d, NVDP__NO_TENSOR);
    if (block->residual) nvdp__copy(dev, q * p, d.data, c->d_residual.data);
    dense_backward(dev, params, &block->attention_output, c->q_offset,
                   nvdp__with_rows(c->context, q), d, c->d_other, false);

    struct nvdp__attention att = make_attention(block, sample);
    struct nvdp__tensor z = nvdp__f32(sample->rows, p, sample->z);
    struct nvdp__tensor d_z = nvdp__f32(sample->rows, p, dz);
    const struct nvdp__attention_gradient gradient = {
        nvdp__with_rows(c->d_other, q), d, nvdp__with_rows(c->d_key, sample->rows),
        nvdp__with_rows(c->d_value, sample->rows), c->d_bias};
    nvdp__attend_backward(dev, &att, &gradient);
    dense_backward(dev, params, &block->key, sample->offset, z, c->d_key, d_z, false);
    dense_backward(dev, params, &block->value, sample->offset, z, c->d_value, d_z, true);
    query_backward(block, dev, params, d_z);
    if (dz == NULL) return;
    if (block->residual && gathers(block))
        nvdp__rows_scatter_add(dev, q, p, c->index, c->d_residual.data, dz);
    else if (block->residual)
        nvdp__add(dev, q * p, c->d_residual.data, dz);
    nvdp__denoise_bias_backward(dev, sample->rows, p, p / block->heads, sample->z, c->d_bias, dz,
                                dlog_pi);
    if (weighted) nvdp__multiply_add(sample->rows, c->weight, c->d_weight, dlog_pi);
}
