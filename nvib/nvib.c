/* The NVDP mechanism, composed of the other files of nvib/: create, plan, forward, backward,
 * export. The last definition, nvdp__mechanism_nvdp, lists the functions of the mechanism. */
#include "nvib/nvib.h"
#include "mechanism/mechanism.h"

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
        return nvdp__blame_value(
            ctx, clip->alpha_min > 0 ? "clip-alpha-min" : "clip-alpha-max",
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                       "%s: expected no value with weights constant, where no pseudo-counts exist",
                       clip->alpha_min > 0 ? "clip_alpha_min" : "clip_alpha_max"));
    if (constant && config->pool == NVDP_POOL_WEIGHTED)
        return nvdp__blame_value(
            ctx, "pool",
            nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                       "pool: expected auto, first or mean with weights constant, which has no "
                       "weights, found weighted"));
    if (constant && config->kappa != 1)
        return nvdp__blame_value(ctx, "kappa",
                                 nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                            "kappa: expected 1 with weights constant, found %d",
                                            config->kappa));
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
    nvdp__gauss_release(nvib);
}
NVDP__AUTOPTR(struct nvdp__nvib, release)

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    struct nvdp__nvib_config resolved = *config;
    NVDP_TRY(resolve(mechanism, ctx, &bert->config, &resolved));
    nvdp__autoptr(release) struct nvdp__nvib *nvib = nvdp__calloc(ctx, 1, sizeof *nvib);
    if (nvib == NULL) return NVDP_ERR_MEMORY;
    const size_t p = resolved.latent_dim, d = bert->config.hidden_size;
    const unsigned flags = NVDP__PARAM_OPTIONAL;
    const bool weights = resolved.weights == NVDP__WEIGHTS_LEARNED;
    nvib->gauss =
        nvdp__gauss_make(mechanism, ctx, bert, &resolved, (struct nvdp__form){.weights = weights});
    nvib->block =
        (struct nvdp__sealed_block){.dim = p,
                                    .heads = resolved.latent_heads,
                                    .inner = p == d ? bert->config.intermediate_size : 4 * p,
                                    .act = bert->config.hidden_act,
                                    .eps = (float)bert->config.layer_norm_eps,
                                    .pool = resolved.pool,
                                    .kappa = resolved.kappa,
                                    .weights = weights,
                                    .residual = nvib->gauss.gains,
                                    .clean_query = resolved.query == NVDP__QUERY_CLEAN};
    NVDP_TRY(nvdp__means_declare(&nvib->gauss, params, "nvib.mu"));
    if (!nvib->gauss.sequence)
        NVDP_TRY(nvdp__declare_dense(params, "nvib.logvar", p, d, flags, &nvib->logvar));
    if (weights) {
        NVDP_TRY(nvdp__params_add(params, "nvib.alpha.weight", 2, 1, d, flags | NVDP__PARAM_DECAY,
                                  &nvib->alpha_weight));
        NVDP_TRY(nvdp__params_add(params, "nvib.alpha.bias", 1, 1, 1, flags, &nvib->alpha_bias));
        NVDP_TRY(nvdp__params_add(params, "nvib.alpha.quadratic", 2, 1, d,
                                  flags | NVDP__PARAM_DECAY, &nvib->alpha_quadratic));
    }
    NVDP_TRY(nvdp__block_declare(&nvib->block, params));
    return NVDP__HAND_OVER(self, nvib);
}

/* ---- plan ---- */

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct nvdp__nvib *nvib = self;
    struct nvdp__gauss *g = &nvib->gauss;
    const bool clean = nvib->block.clean_query, weights = g->form.weights;
    NVDP_TRY(nvdp__gauss_plan(g, dev, max_tokens, max_texts, training, arena));
    const size_t rows = nvdp__padded_rows(dev, g->rows.max_rows);
    nvdp__dense_plan(dev, arena, max_tokens, g->hidden_size, g->dim);
    if (clean) nvib->clean = nvdp__arena_take(arena, rows * g->dim);
    nvib->dlogg = training && weights ? nvdp__arena_take(arena, rows) : NULL;
    if (training && weights) nvib->d_log_pi = nvdp__arena_take(arena, rows);
    if (training && clean) nvib->d_clean = nvdp__arena_take(arena, rows * g->dim);
    nvib->block.d_clean = nvib->d_clean;
    return nvdp__block_plan(&nvib->block, dev, g->rows.max_rows, max_texts,
                            nvdp__form_rows(&g->form, longest), training, arena);
}

/* ---- forward ---- */

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct nvdp__nvib *nvib = self;
    NVDP_TRY(nvdp__gauss_fill(&nvib->gauss, in->batch));
    nvdp__nvib_posterior_forward(nvib, in);
    return NVDP_OK;
}

static nvdp_status forward(void *self, const struct nvdp__encoded *in,
                           const struct nvdp__draw *draw, float **pooled) {
    struct nvdp__nvib *nvib = self;
    const struct nvdp__gauss *g = &nvib->gauss;
    NVDP_TRY(infer(nvib, in));
    nvdp__gauss_sample(in->dev, draw, &g->rows, &g->posterior, g->z);
    if (g->form.weights)
        nvdp__dirichlet_sample(in->dev, draw, &g->form, &g->rows, g->posterior.log_alpha, g->log_pi,
                               nvib->dlogg);
    const struct nvdp__sample drawn = nvdp__gauss_view(g).sample;
    if (nvib->clean != NULL)
        nvdp__rows_gather(in->dev, g->rows.rows, g->dim, g->rows.src, g->posterior.mu, nvib->clean);
    return nvdp__block_forward(&nvib->block, in->dev, in->params, &drawn, nvib->clean, pooled);
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *given, float **pooled) {
    struct nvdp__nvib *nvib = self;
    if (nvib->block.clean_query)
        return nvdp__fail(
            nvib->gauss.ctx, NVDP_ERR_ARGUMENT,
            "query: expected sampled, found clean: a model with query clean reads un-noised "
            "states, so a sample alone is not enough; train with query sampled");
    return nvdp__block_forward(&nvib->block, dev, params, given, NULL, pooled);
}

/* ---- backward ---- */

/* Propagates gradients through the block to the sample, from sample and regularizers to the
 * posterior, and from the posterior to the encoder. Without weights, L_G is the regularizer of
 * vtdp, in which the terms of tokens have no weights. */
static void backward(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    struct nvdp__nvib *nvib = self;
    struct nvdp__gauss *g = &nvib->gauss;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__sample_rows *layout = &g->rows;
    const struct nvdp__sample drawn = nvdp__gauss_view(g).sample;
    nvdp__block_backward(&nvib->block, dev, in->params, &drawn, d_pooled, g->d_z, nvib->d_log_pi);
    nvdp__gauss_backward(g, dev, g->d_z);
    if (g->form.weights) {
        nvdp__zero(dev, layout->sources, g->d.log_alpha);
        nvdp__dirichlet_sample_backward(dev, layout, g->log_pi, nvib->dlogg, nvib->d_log_pi,
                                        g->d.log_alpha);
    }
    if (nvib->block.clean_query)
        nvdp__rows_scatter_add(dev, layout->rows, g->dim, layout->src, nvib->d_clean, g->d.mu);
    if (g->form.weights) {
        const struct nvdp__kl kl = {.which = g->config.regularizer,
                                    .of = g->form,
                                    .weight_g = penalty->weight_g,
                                    .weight_d = penalty->weight_d};
        nvdp__kl_losses(dev, &kl, layout->texts, layout->source_offset, &g->posterior, &g->d,
                        penalty->loss_g, penalty->loss_d);
    } else {
        nvdp__gauss_losses(g, dev, penalty);
    }
    nvdp__nvib_posterior_backward(nvib, in, d_hidden);
}

const struct nvdp__mechanism nvdp__mechanism_nvdp = {
    .name = "nvdp",
    .private_ = true,
    .resolve = resolve,
    .create = create,
    .release = release,
    .wants_hidden = nvdp__gauss_wants_hidden,
    .initialize = nvdp__nvib_initialize,
    .plan = plan,
    .view = nvdp__gauss_view,
    .forward = forward,
    .infer = infer,
    .forward_sample = forward_sample,
    .backward = backward,
    .replaced = nvdp__gauss_replaced,
};

static const char *const unread[] = {"vtdp-pool", "vib-sigma", NULL};

const struct nvdp__method nvdp__method_row_nvdp = {
    .mechanism = &nvdp__mechanism_nvdp,
    .description = "one Gaussian vector per token and Dirichlet weights over the vectors, each "
                   "with its regularizer",
    .weights = true,
    .unread = unread,
    .block = true};
