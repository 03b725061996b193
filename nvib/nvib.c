/* The mechanism's life: create, plan, forward, losses, backward, export. */
#include "nvib/nvib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- rows of a sample: [prior][token 1]...[token n][padding up to L], kappa rows each --- */

size_t nvdp__nvib_rows(const struct nvdp_nvib_config *config, size_t tokens, size_t texts) {
    bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    size_t components = hidden ? texts * (config->length + 1) : tokens + texts;
    return components * (size_t)config->kappa;
}

static nvdp_status check_batch(const struct nvdp__nvib *nvib, const struct nvdp__batch *batch) {
    if (batch->texts > nvib->max_texts || batch->tokens > nvib->max_tokens) {
        return nvdp__fail(nvib->ctx, NVDP_ERR_STATE,
                          "a batch of %zu texts and %zu tokens exceeds the plan of %zu and %zu",
                          batch->texts, batch->tokens, nvib->max_texts, nvib->max_tokens);
    }
    for (size_t b = 0; b < batch->texts; b++) {
        size_t n = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        bool hidden = nvib->config.length_policy == NVDP_LENGTH_HIDDEN;
        if (hidden && n > nvib->config.length) {
            return nvdp__fail(
                nvib->ctx, NVDP_ERR_ARGUMENT,
                "text %llu of the data set: expected at most length %zu tokens, found %zu: raise "
                "length or shorten the texts",
                (unsigned long long)batch->key[b], nvib->config.length, n);
        }
    }
    return NVDP_OK;
}

/* One component's kappa rows. */
static void put(struct nvdp__nvib *nvib, size_t *row, int32_t src, double base) {
    for (int k = 0; k < nvib->config.kappa; k++) {
        nvib->src[*row] = src;
        nvib->base[*row] = (float)base;
        (*row)++;
    }
}

static nvdp_status layout(struct nvdp__nvib *nvib, const struct nvdp__batch *batch) {
    NVDP_RETURN_IF_FAILED(check_batch(nvib, batch));
    bool hidden = nvib->config.length_policy == NVDP_LENGTH_HIDDEN;
    double pad_alpha = nvdp_nvib_pad_alpha(&nvib->config);
    size_t row = 0;
    for (size_t b = 0; b < batch->texts; b++) {
        nvib->offset[b] = (int32_t)row;
        put(nvib, &row, -1, nvib->config.prior_alpha);
        for (int32_t t = batch->offset[b]; t < batch->offset[b + 1]; t++) {
            put(nvib, &row, t, 0);
        }
        size_t n = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        for (size_t i = n; hidden && i < nvib->config.length; i++) {
            put(nvib, &row, -1, pad_alpha);
        }
    }
    nvib->offset[batch->texts] = (int32_t)row;
    nvib->texts = batch->texts;
    nvib->tokens = batch->tokens;
    nvib->rows = row;
    nvib->token_offset = batch->offset;
    return NVDP_OK;
}

static void release(void *self) {
    struct nvdp__nvib *nvib = self;
    if (nvib == NULL) return;
    nvdp__block_release(&nvib->block);
    free(nvib->offset);
    free(nvib->src);
    free(nvib->base);
    free(nvib->stage);
    free(nvib);
}

static nvdp_status declare(struct nvdp__nvib *nvib, struct nvdp__params *params) {
    size_t d = nvib->hidden_size;
    unsigned flags = NVDP__PARAM_OPTIONAL;
    NVDP_RETURN_IF_FAILED(nvdp__declare_dense(params, "nvib.mu", nvib->dim, d, flags, &nvib->mu));
    NVDP_RETURN_IF_FAILED(
        nvdp__declare_dense(params, "nvib.logvar", nvib->dim, d, flags, &nvib->logvar));
    NVDP_RETURN_IF_FAILED(nvdp__params_add(params, "nvib.alpha.weight", 2, 1, d,
                                           flags | NVDP__PARAM_DECAY, &nvib->alpha_weight));
    NVDP_RETURN_IF_FAILED(
        nvdp__params_add(params, "nvib.alpha.bias", 1, 1, 1, flags, &nvib->alpha_bias));
    NVDP_RETURN_IF_FAILED(nvdp__params_add(params, "nvib.alpha.quadratic", 2, 1, d,
                                           flags | NVDP__PARAM_DECAY, &nvib->alpha_quadratic));
    return nvdp__block_declare(&nvib->block, params);
}

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp_nvib_config *config,
                          struct nvdp__params *params, void **self) {
    (void)mechanism;
    nvdp_status status = NVDP_OK;
    struct nvdp_nvib_config resolved = *config;
    size_t d = bert->config.hidden_size;
    NVDP_RETURN_IF_FAILED(
        nvdp_nvib_config_resolve(ctx, &resolved, d, bert->config.num_attention_heads));
    struct nvdp__nvib *nvib = nvdp__calloc(ctx, 1, sizeof *nvib);
    if (nvib == NULL) return NVDP_ERR_MEMORY;
    size_t p = resolved.latent_dim;
    nvib->ctx = ctx;
    nvib->bert = bert;
    nvib->config = resolved;
    nvib->hidden_size = d;
    nvib->dim = p;
    nvib->clip = nvdp__clip_set(&resolved.clip);
    nvib->clips = nvdp__clips(&resolved.clip);
    nvib->block = (struct nvdp__block){.dim = p,
                                       .heads = resolved.latent_heads,
                                       .inner = p == d ? bert->config.intermediate_size : 4 * p,
                                       .act = bert->config.hidden_act,
                                       .eps = (float)bert->config.layer_norm_eps,
                                       .pool = resolved.pool,
                                       .kappa = resolved.kappa,
                                       .clean_query = resolved.query == NVDP_QUERY_CLEAN};
    NVDP_TRY(declare(nvib, params));
    *self = nvib;
    nvib = NULL;
cleanup:
    release(nvib);
    return status;
}

static nvdp_status plan_tables(struct nvdp__nvib *nvib) {
    struct nvdp_context *ctx = nvib->ctx;
    NVDP_RETURN_IF_FAILED(nvdp__reserve(ctx, &nvib->offset, &nvib->offset_capacity,
                                        nvib->max_texts + 1, sizeof *nvib->offset));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &nvib->src, &nvib->src_capacity, nvib->max_rows, sizeof *nvib->src));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &nvib->base, &nvib->base_capacity, nvib->max_rows, sizeof *nvib->base));
    return nvdp__reserve(ctx, &nvib->stage, &nvib->stage_capacity, nvib->dim, sizeof *nvib->stage);
}

static void plan_forward(struct nvdp__nvib *nvib, struct nvdp__arena *arena) {
    size_t wide = nvib->max_tokens * nvib->dim;
    nvib->mu_out = nvdp__arena_take(arena, wide);
    nvib->logvar_out = nvdp__arena_take(arena, wide);
    nvib->log_alpha = nvdp__arena_take(arena, nvib->max_tokens);
    if (nvib->clips) {
        nvib->mu_norm = nvdp__arena_take(arena, nvib->max_tokens);
        nvib->logvar_in = nvdp__arena_take(arena, wide);
        nvib->log_alpha_in = nvdp__arena_take(arena, nvib->max_tokens);
    }
    nvib->z = nvdp__arena_take(arena, nvib->max_rows * nvib->dim);
    nvib->log_pi = nvdp__arena_take(arena, nvib->max_rows);
    if (nvib->block.clean_query) nvib->clean = nvdp__arena_take(arena, nvib->max_rows * nvib->dim);
}

static void plan_backward(struct nvdp__nvib *nvib, struct nvdp__arena *arena) {
    size_t wide = nvib->max_tokens * nvib->dim;
    nvib->dlogg = nvdp__arena_take(arena, nvib->max_rows);
    nvib->d_mu = nvdp__arena_take(arena, wide);
    nvib->d_logvar = nvdp__arena_take(arena, wide);
    nvib->d_log_alpha = nvdp__arena_take(arena, nvib->max_tokens);
    nvib->d_z = nvdp__arena_take(arena, nvib->max_rows * nvib->dim);
    nvib->d_log_pi = nvdp__arena_take(arena, nvib->max_rows);
    if (nvib->block.clean_query)
        nvib->d_clean = nvdp__arena_take(arena, nvib->max_rows * nvib->dim);
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* Nothing on a float32 device, where products read the tensors themselves. */
static void plan_rounding(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                          struct nvdp__arena *arena) {
    size_t queries = nvdp__block_queries(&nvib->block, dev, nvib->max_rows, nvib->max_texts);
    size_t room = larger(nvib->max_tokens * larger(nvib->hidden_size, nvib->dim),
                         larger(nvib->max_rows * nvib->dim, queries * nvib->block.inner));
    nvib->x_room = nvdp__arena_take_copy(arena, dev, room, 1, NULL);
    nvib->dy_room = nvdp__arena_take_copy(arena, dev, room, 1, NULL);
    nvib->block.x_room = nvib->x_room;
    nvib->block.dy_room = nvib->dy_room;
}

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct nvdp__nvib *nvib = self;
    bool hidden = nvib->config.length_policy == NVDP_LENGTH_HIDDEN;
    size_t components = 1 + (hidden ? nvib->config.length : longest);
    nvib->training = training;
    nvib->max_tokens = nvdp__operand_rows(dev, max_tokens);
    nvib->max_texts = max_texts;
    nvib->max_rows = nvdp__operand_rows(dev, nvdp__nvib_rows(&nvib->config, max_tokens, max_texts));
    nvib->texts = 0;
    if (nvib->max_rows > INT32_MAX || max_tokens > INT32_MAX) {
        return nvdp__fail(nvib->ctx, NVDP_ERR_ARGUMENT,
                          "a batch of %zu texts: expected at most %d sample rows, found %zu",
                          max_texts, INT32_MAX, nvib->max_rows);
    }
    NVDP_RETURN_IF_FAILED(plan_tables(nvib));
    plan_rounding(nvib, dev, arena);
    plan_forward(nvib, arena);
    nvib->dlogg = NULL;
    if (training) plan_backward(nvib, arena);
    nvib->block.d_clean = nvib->d_clean;
    return nvdp__block_plan(&nvib->block, dev, nvib->max_rows, max_texts,
                            components * (size_t)nvib->config.kappa, training, arena);
}

static size_t width(const void *self) {
    const struct nvdp__nvib *nvib = self;
    return nvib->dim;
}

static void sample(const void *self, struct nvdp__sample *out) {
    const struct nvdp__nvib *nvib = self;
    *out = (struct nvdp__sample){.texts = nvib->texts,
                                 .rows = nvib->rows,
                                 .dim = nvib->dim,
                                 .offset = nvib->offset,
                                 .z = nvib->z,
                                 .log_pi = nvib->log_pi};
}

static nvdp_status forward(void *self, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__draw *draw, const float *hidden, float **pooled) {
    struct nvdp__nvib *nvib = self;
    NVDP_RETURN_IF_FAILED(layout(nvib, batch));
    nvdp__nvib_posterior_forward(nvib, dev, params, hidden);
    nvdp__gauss_sample(dev, &draw->noise, draw->gauss, draw->epoch, nvib->texts, nvib->offset,
                       batch->key, nvib->dim, nvib->src, nvib->mu_out, nvib->logvar_out, draw->eps,
                       nvib->z);
    nvdp__dirichlet_sample(dev, &draw->noise, draw->gamma, draw->epoch, nvib->texts, nvib->offset,
                           batch->key, nvib->config.kappa, nvib->src, nvib->base, nvib->log_alpha,
                           draw->log_gamma, nvib->log_pi, nvib->dlogg);
    struct nvdp__sample drawn;
    sample(nvib, &drawn);
    const float *clean = NULL;
    if (nvib->block.clean_query) {
        nvdp__rows_gather(dev, nvib->rows, nvib->dim, nvib->src, nvib->mu_out, nvib->clean);
        clean = nvib->clean;
    }
    return nvdp__block_forward(&nvib->block, dev, params, &drawn, clean, pooled);
}

static nvdp_status infer(void *self, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const float *hidden) {
    struct nvdp__nvib *nvib = self;
    NVDP_RETURN_IF_FAILED(layout(nvib, batch));
    nvdp__nvib_posterior_forward(nvib, dev, params, hidden);
    return NVDP_OK;
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *given, float **pooled) {
    struct nvdp__nvib *nvib = self;
    if (nvib->block.clean_query) {
        return nvdp__fail(nvib->ctx, NVDP_ERR_ARGUMENT,
                          "query clean: such a model reads past the bottleneck, so a sample alone "
                          "is not enough for it; train with query sampled");
    }
    return nvdp__block_forward(&nvib->block, dev, params, given, NULL, pooled);
}

static struct nvdp__kl kl_of(const struct nvdp__nvib *nvib, double weight_g, double weight_d) {
    const struct nvdp_nvib_config *config = &nvib->config;
    bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    return (struct nvdp__kl){
        .form = config->regularizer == NVDP_REGULARIZER_KL ? NVDP__KL_EXACT : NVDP__KL_PUBLISHED,
        .prior_alpha = config->prior_alpha,
        .pad_alpha = nvdp_nvib_pad_alpha(config),
        .delta = config->delta,
        .kappa = config->kappa,
        .weight_g = weight_g,
        .weight_d = weight_d,
        .length = hidden ? config->length : 0,
    };
}

static void losses(void *self, const struct nvdp__device *dev, double *loss_g, double *loss_d) {
    struct nvdp__nvib *nvib = self;
    struct nvdp__kl kl = kl_of(nvib, 0, 0);
    nvdp__kl_losses(dev, &kl, nvib->texts, nvib->token_offset, nvib->dim, nvib->mu_out,
                    nvib->logvar_out, nvib->log_alpha, loss_g, loss_d, NULL, NULL, NULL);
}

/* Sample and losses to the posterior. */
static void sample_backward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                            double weight_g, double weight_d) {
    size_t wide = nvib->tokens * nvib->dim;
    nvdp__zero(dev, wide, nvib->d_mu);
    nvdp__zero(dev, wide, nvib->d_logvar);
    nvdp__zero(dev, nvib->tokens, nvib->d_log_alpha);
    nvdp__gauss_sample_backward(dev, nvib->rows, nvib->dim, nvib->src, nvib->mu_out, nvib->z,
                                nvib->d_z, nvib->d_mu, nvib->d_logvar);
    nvdp__dirichlet_sample_backward(dev, nvib->texts, nvib->offset, nvib->src, nvib->log_pi,
                                    nvib->dlogg, nvib->d_log_pi, nvib->d_log_alpha);
    if (nvib->block.clean_query)
        nvdp__rows_scatter_add(dev, nvib->rows, nvib->dim, nvib->src, nvib->d_clean, nvib->d_mu);
    struct nvdp__kl kl = kl_of(nvib, weight_g, weight_d);
    nvdp__kl_losses(dev, &kl, nvib->texts, nvib->token_offset, nvib->dim, nvib->mu_out,
                    nvib->logvar_out, nvib->log_alpha, NULL, NULL, nvib->d_mu, nvib->d_logvar,
                    nvib->d_log_alpha);
}

static void backward(void *self, const struct nvdp__device *dev, const struct nvdp__params *params,
                     const struct nvdp__batch *batch, const float *hidden, double weight_g,
                     double weight_d, float *d_pooled, float *d_hidden) {
    struct nvdp__nvib *nvib = self;
    (void)batch;
    struct nvdp__sample drawn;
    sample(nvib, &drawn);
    nvdp__block_backward(&nvib->block, dev, params, &drawn, d_pooled, nvib->d_z, nvib->d_log_pi);
    sample_backward(nvib, dev, weight_g, weight_d);
    nvdp__nvib_posterior_backward(nvib, dev, params, hidden, d_hidden);
}

static nvdp_status check_posteriors(const struct nvdp__nvib *nvib, size_t first_row,
                                    const struct nvdp_posteriors *out) {
    size_t rows = out->offset[out->texts];
    if (out->dim == nvib->dim && out->alpha != NULL && first_row <= rows &&
        rows - first_row >= nvib->tokens)
        return NVDP_OK;
    return nvdp__fail(
        nvib->ctx, NVDP_ERR_ARGUMENT,
        "posteriors: expected pseudo-counts, width %zu and room for %zu rows from row "
        "%zu, found width %zu and %zu rows",
        nvib->dim, nvib->tokens, first_row, out->dim, rows);
}

static nvdp_status posterior(const void *self, const struct nvdp__device *dev,
                             const struct nvdp__batch *batch, size_t first_row,
                             struct nvdp_posteriors *out) {
    const struct nvdp__nvib *nvib = self;
    (void)batch;
    NVDP_RETURN_IF_FAILED(check_posteriors(nvib, first_row, out));
    for (size_t t = 0; t < nvib->tokens; t++) {
        float log_alpha;
        nvdp__download(dev, 1, nvib->log_alpha + t, &log_alpha);
        out->alpha[first_row + t] = exp((double)log_alpha);
    }
    nvdp__copy_gaussians(dev, nvib->tokens, nvib->mu_out, nvib->logvar_out, nvib->stage, first_row,
                         out);
    return NVDP_OK;
}

static nvdp_status resolve(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp_nvib_config *config) {
    (void)mechanism;
    return nvdp_nvib_config_resolve(ctx, config, bert->hidden_size, bert->num_attention_heads);
}

static struct nvdp__form form(const void *self) {
    (void)self;
    return (struct nvdp__form){.weights = true};
}

/* A narrow latent starts from the principal directions of what the encoder says. */
static bool wants_hidden(const void *self) {
    const struct nvdp__nvib *nvib = self;
    return nvib->dim < nvib->hidden_size;
}

const struct nvdp__mechanism nvdp__mechanism_nvdp = {
    .name = "nvdp",
    .private_ = true,
    .resolve = resolve,
    .create = create,
    .release = release,
    .wants_hidden = wants_hidden,
    .initialise = nvdp__nvib_initialise,
    .plan = plan,
    .width = width,
    .form = form,
    .forward = forward,
    .infer = infer,
    .forward_sample = forward_sample,
    .sample = sample,
    .losses = losses,
    .backward = backward,
    .posterior = posterior,
};
