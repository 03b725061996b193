/* The NVDP mechanism, composed of the other files of nvib/: create, plan, forward, backward,
 * export. Its row of functions, nvdp__mechanism_nvdp, is at the end. */
#include "nvib/nvib.h"
#include "mechanism/method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

/* Rejects options that conflict with constant weights, a sequence clip or row biases. */
static nvdp_status check_weights(struct nvdp_context *ctx, const struct nvdp__nvib_config *config) {
    const struct nvdp__clip_config *clip = &config->clip;
    bool constant = config->weights == NVDP__WEIGHTS_CONSTANT;
    bool bounded = clip->alpha_min > 0 && !isinf(clip->alpha_max);
    if (constant && (clip->alpha_min > 0 || !isinf(clip->alpha_max)))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "%s: expected no value with weights constant, where no pseudo-counts exist",
            clip->alpha_min > 0 ? "clip_alpha_min" : "clip_alpha_max");
    if (constant && config->pool == NVDP_POOL_WEIGHTED)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pool: expected auto, first or mean with weights constant, which has no "
                          "weights, found weighted");
    if (constant && config->kappa != 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "kappa: expected 1 with weights constant, found %d", config->kappa);
    if (!constant && nvdp__clips_sequence(clip) && !bounded)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{weights}: with {clip-sequence} %g expected constant, or learned with "
            "{clip-alpha-min} and {clip-alpha-max}, found learned without these bounds",
            clip->sequence);
    return NVDP_OK;
}

static nvdp_status resolve(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config) {
    (void)mechanism;
    NVDP_TRY(check_weights(ctx, config));
    return nvdp__nvib_config_resolve(ctx, config, bert->hidden_size, bert->num_attention_heads);
}

static void release(void *self) {
    struct nvdp__nvib *nvib = self;
    if (nvib == NULL) return;
    nvdp__block_release(&nvib->block);
    nvdp__sample_rows_release(&nvib->rows);
    free(nvib);
}
NVDP__AUTOPTR(struct nvdp__nvib, release)

static nvdp_status declare(struct nvdp__nvib *nvib, struct nvdp__params *params) {
    size_t d = nvib->hidden_size;
    unsigned flags = NVDP__PARAM_OPTIONAL;
    NVDP_TRY(nvdp__declare_dense(params, "nvib.mu", nvib->dim, d, flags, &nvib->mu));
    if (nvib->gains)
        NVDP_TRY(
            nvdp__row_gain_declare(params, "nvib.mu.gain", nvib->form.length, &nvib->row_gain));
    if (!nvib->sequence)
        NVDP_TRY(nvdp__declare_dense(params, "nvib.logvar", nvib->dim, d, flags, &nvib->logvar));
    if (!nvib->form.weights) return nvdp__block_declare(&nvib->block, params);
    NVDP_TRY(nvdp__params_add(params, "nvib.alpha.weight", 2, 1, d, flags | NVDP__PARAM_DECAY,
                              &nvib->alpha_weight));
    NVDP_TRY(nvdp__params_add(params, "nvib.alpha.bias", 1, 1, 1, flags, &nvib->alpha_bias));
    NVDP_TRY(nvdp__params_add(params, "nvib.alpha.quadratic", 2, 1, d, flags | NVDP__PARAM_DECAY,
                              &nvib->alpha_quadratic));
    return nvdp__block_declare(&nvib->block, params);
}

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    struct nvdp__nvib_config resolved = *config;
    size_t d = bert->config.hidden_size;
    NVDP_TRY(resolve(mechanism, ctx, &bert->config, &resolved));
    nvdp__autoptr(release) struct nvdp__nvib *nvib = nvdp__calloc(ctx, 1, sizeof *nvib);
    if (nvib == NULL) return NVDP_ERR_MEMORY;
    size_t p = resolved.latent_dim;
    bool weights = resolved.weights == NVDP__WEIGHTS_LEARNED;
    *nvib = (struct nvdp__nvib){.ctx = ctx,
                                .bert = bert,
                                .config = resolved,
                                .form = nvdp__form_of(&resolved, weights, false),
                                .hidden_size = d,
                                .dim = p,
                                .clip = nvdp__clip_applied(&resolved.clip),
                                .clips = weights || !nvdp__clips_sequence(&resolved.clip),
                                .sequence = nvdp__clips_sequence(&resolved.clip),
                                .gains = resolved.row_index == NVDP__ROW_INDEX_TRAINED};
    nvib->block =
        (struct nvdp__sealed_block){.dim = p,
                                    .heads = resolved.latent_heads,
                                    .inner = p == d ? bert->config.intermediate_size : 4 * p,
                                    .act = bert->config.hidden_act,
                                    .eps = (float)bert->config.layer_norm_eps,
                                    .pool = resolved.pool,
                                    .kappa = resolved.kappa,
                                    .weights = weights,
                                    .residual = nvib->gains,
                                    .clean_query = resolved.query == NVDP__QUERY_CLEAN};
    NVDP_TRY(declare(nvib, params));
    NVDP__HAND_OVER(self, nvib);
    return NVDP_OK;
}

/* A narrow latent is initialized from the principal directions of hidden states. */
static bool wants_hidden(const void *self) {
    const struct nvdp__nvib *nvib = self;
    return nvib->dim < nvib->hidden_size;
}

static struct nvdp__view view(const void *self) {
    const struct nvdp__nvib *nvib = self;
    return (struct nvdp__view){nvib->dim, nvib->form, &nvib->posterior,
                               nvdp__sample_of(&nvib->rows, nvib->dim, nvib->z, nvib->log_pi)};
}

/* ---- plan ---- */

static struct nvdp__posterior take_posterior(struct nvdp__arena *arena, size_t rows, size_t dim,
                                             bool weights) {
    return (struct nvdp__posterior){.rows = rows,
                                    .dim = dim,
                                    .mu = nvdp__arena_take(arena, rows * dim),
                                    .logvar = nvdp__arena_take(arena, rows * dim),
                                    .log_alpha = weights ? nvdp__arena_take(arena, rows) : NULL};
}

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct nvdp__nvib *nvib = self;
    size_t p = nvib->dim;
    bool clean = nvib->block.clean_query, weights = nvib->form.weights;
    NVDP_TRY(nvdp__sample_rows_plan(nvib->ctx, &nvib->form, max_tokens, max_texts, &nvib->rows));
    size_t tokens = nvdp__padded_rows(dev, max_tokens);
    size_t rows = nvdp__padded_rows(dev, nvib->rows.max_rows);
    nvdp__dense_plan(dev, arena, max_tokens, nvib->hidden_size, p);
    nvib->posterior = take_posterior(arena, tokens, p, weights);
    if (nvib->clips) nvib->before = nvdp__unclipped_plan(arena, tokens, p, weights);
    if (nvib->sequence) nvib->factor = nvdp__arena_take(arena, max_texts);
    nvib->ungained = nvib->gains ? nvdp__arena_take(arena, tokens * p) : NULL;
    nvib->z = nvdp__arena_take(arena, rows * p);
    if (weights) nvib->log_pi = nvdp__arena_take(arena, rows);
    if (clean) nvib->clean = nvdp__arena_take(arena, rows * p);
    nvib->dlogg = NULL;
    if (training) {
        if (weights) nvib->dlogg = nvdp__arena_take(arena, rows);
        nvib->d = take_posterior(arena, tokens, p, weights);
        nvib->d_z = nvdp__arena_take(arena, rows * p);
        if (weights) nvib->d_log_pi = nvdp__arena_take(arena, rows);
        if (clean) nvib->d_clean = nvdp__arena_take(arena, rows * p);
    }
    nvib->block.d_clean = nvib->d_clean;
    return nvdp__block_plan(&nvib->block, dev, nvib->rows.max_rows, max_texts,
                            nvdp__form_rows(&nvib->form, longest), training, arena);
}

/* ---- forward ---- */

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct nvdp__nvib *nvib = self;
    NVDP_TRY(nvdp__sample_rows_fill(nvib->ctx, &nvib->form, in->batch, &nvib->rows));
    nvdp__nvib_posterior_forward(nvib, in);
    return NVDP_OK;
}

static nvdp_status forward(void *self, const struct nvdp__encoded *in,
                           const struct nvdp__draw *draw, float **pooled) {
    struct nvdp__nvib *nvib = self;
    const struct nvdp__sample_rows *layout = &nvib->rows;
    NVDP_TRY(infer(nvib, in));
    nvdp__gauss_sample(in->dev, draw, layout, &nvib->posterior, nvib->z);
    if (nvib->form.weights)
        nvdp__dirichlet_sample(in->dev, draw, &nvib->form, layout, nvib->posterior.log_alpha,
                               nvib->log_pi, nvib->dlogg);
    const struct nvdp__sample drawn = view(nvib).sample;
    if (nvib->clean != NULL)
        nvdp__rows_gather(in->dev, layout->rows, nvib->dim, layout->src, nvib->posterior.mu,
                          nvib->clean);
    return nvdp__block_forward(&nvib->block, in->dev, in->params, &drawn, nvib->clean, pooled);
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *given, float **pooled) {
    struct nvdp__nvib *nvib = self;
    if (nvib->block.clean_query)
        return nvdp__fail(
            nvib->ctx, NVDP_ERR_ARGUMENT,
            "query: expected sampled, found clean: a model with query clean reads un-noised "
            "states, so a sample alone is not enough; train with query sampled");
    return nvdp__block_forward(&nvib->block, dev, params, given, NULL, pooled);
}

/* ---- backward ---- */

/* Without weights, L_G is that of vtdp: the tokens' terms have no weights. */
static void losses(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                   const struct nvdp__penalty *penalty) {
    const struct nvdp__sample_rows *layout = &nvib->rows;
    bool exact = nvib->config.regularizer == NVDP__REGULARIZER_KL;
    const struct nvdp__kl kl = {.which = exact ? NVDP__KL_EXACT : NVDP__KL_PUBLISHED,
                                .of = nvib->form,
                                .weight_g = penalty->weight_g,
                                .weight_d = penalty->weight_d};
    if (nvib->form.weights) {
        nvdp__kl_losses(dev, &kl, layout->texts, layout->source_offset, &nvib->posterior, &nvib->d,
                        penalty->loss_g, penalty->loss_d);
        return;
    }
    nvdp__gaussian_losses(dev, kl.which, kl.weight_g, layout->texts, layout->source_offset,
                          &nvib->posterior, &nvib->d, penalty->loss_g);
    /* L_D does not exist without weights */
    memset(penalty->loss_d, 0, layout->texts * sizeof *penalty->loss_d);
}

/* Propagates gradients through the block to the sample, from sample and regularizers to the
 * posterior, and from the posterior to the encoder. */
static void backward(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    struct nvdp__nvib *nvib = self;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__sample_rows *layout = &nvib->rows;
    struct nvdp__posterior *d = &nvib->d;
    const struct nvdp__sample drawn = view(nvib).sample;
    nvdp__block_backward(&nvib->block, dev, in->params, &drawn, d_pooled, nvib->d_z,
                         nvib->d_log_pi);
    d->rows = layout->sources;
    nvdp__zero(dev, d->rows * d->dim, d->mu);
    nvdp__zero(dev, d->rows * d->dim, d->logvar);
    nvdp__gauss_sample_backward(dev, layout, &nvib->posterior, nvib->z, nvib->d_z, d);
    if (nvib->form.weights) {
        nvdp__zero(dev, d->rows, d->log_alpha);
        nvdp__dirichlet_sample_backward(dev, layout, nvib->log_pi, nvib->dlogg, nvib->d_log_pi,
                                        d->log_alpha);
    }
    if (nvib->block.clean_query)
        nvdp__rows_scatter_add(dev, layout->rows, nvib->dim, layout->src, nvib->d_clean, d->mu);
    losses(nvib, dev, penalty);
    nvdp__nvib_posterior_backward(nvib, in, d_hidden);
}

static size_t replaced(const void *self) {
    const struct nvdp__nvib *nvib = self;
    return nvdp__clip_replaced(&nvib->rows, nvib->dim, &nvib->before, nvib->factor);
}

const struct nvdp__mechanism nvdp__mechanism_nvdp = {
    .name = "nvdp",
    .private_ = true,
    .resolve = resolve,
    .create = create,
    .release = release,
    .wants_hidden = wants_hidden,
    .initialize = nvdp__nvib_initialize,
    .plan = plan,
    .view = view,
    .forward = forward,
    .infer = infer,
    .forward_sample = forward_sample,
    .backward = backward,
    .replaced = replaced,
};

static const char *const unread[] = {"vtdp-pool", "vib-sigma", NULL};

const struct nvdp__method nvdp__method_row_nvdp = {
    .mechanism = &nvdp__mechanism_nvdp,
    .description = "one Gaussian vector per token and Dirichlet weights over the vectors, each "
                   "with its regularizer",
    .weights = true,
    .unread = unread,
    .block = true};
