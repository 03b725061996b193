/* Gaussian mechanisms without weights (docs/vib.md); the same code serves three forms:
 *
 *     vib-fixed    z = mu(x) + sigma eps             one vector per text, sigma given   (NVDP, Eq. 9)
 *     vib-learned  the same                          sigma = softplus(rho), rho trained (NVDP, Eq. 10)
 *     vtdp         z_i = mu(x_i) + sigma(x_i) eps_i, sigma = softplus(rho(x_i))         (NVDP, Eq. 8)
 *
 * vtdp adds one more encoder layer and treats each token, or with `pools first` one pooled
 * vector per text. The rows of functions are at the end. */
#include "vib/vib.h"
#include "mechanism/method.h"
#include "tensor/per_example.h"
#include "tensor/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- standard deviations as the softplus of a free number ---- */

/*     sigma              = softplus(rho)
 *     logvar             = 2 log sigma
 *     d logvar / d rho   = 2 sigmoid(rho) / softplus(rho):   2 far below, 2/rho far above */

/* Below this, log(1 + e^rho) equals e^rho in float, and its logarithm equals rho. */
static const double FAR_BELOW = -20;

void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar) {
    int team = nvdp__team(dev, 16 * n); /* two logarithms and an exponential */
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        logvar[i] = (float)(2 * (x < FAR_BELOW ? x : log(nvdp__softplus(x))));
    }
}

void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho) {
    int team = nvdp__team(dev, 16 * n);
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        double slope = x < FAR_BELOW ? 2 : 2 / ((1 + exp(-x)) * nvdp__softplus(x));
        drho[i] = (float)(slope * dlogvar[i]);
    }
}

/* ---- configuration ---- */

static bool pools_last(const struct nvdp__nvib_config *config) {
    return config->vib.vtdp_pool == NVDP__VTDP_POOL_LAST;
}

struct nvdp__nvib_config nvdp__without_weights(const struct nvdp__nvib_config *config) {
    struct nvdp__nvib_config made = *config;
    made.latent_heads = 0;
    made.kappa = 1;
    made.query = NVDP__QUERY_SAMPLED;
    made.clip.alpha_min = 0;
    made.clip.alpha_max = INFINITY;
    return made;
}

nvdp_status nvdp__check_pool(struct nvdp_context *ctx, const struct nvdp__mechanism *mechanism,
                             enum nvdp_pool pool) {
    if (pool != NVDP_POOL_WEIGHTED) return NVDP_OK;
    return nvdp__fail(
        ctx, NVDP_ERR_ARGUMENT,
        "pool: method %s has no weights: expected auto, first or mean, found weighted",
        mechanism->name);
}

/* Checks the options of all three forms, resolves "auto", and sets the options that none of the
 * forms has: weights, attention, kappa. */
static nvdp_status resolve(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config) {
    struct nvdp__nvib_config made = nvdp__without_weights(config);
    NVDP_TRY(nvdp__nvib_config_check(ctx, &made, NVDP__LEAST_DIM, bert->hidden_size,
                                     bert->num_attention_heads));
    if (made.latent_dim == 0) made.latent_dim = bert->hidden_size;
    /* The mean of vtdp reads all shared rows; reading the first token gives no better trade-off.
     * But if the means of a text share one norm, a mean over noisy rows loses most of it. */
    bool tokens = mechanism->variant == NVDP__VIB_VTDP && pools_last(&made);
    bool mean = tokens && !nvdp__clips_sequence(&made.clip);
    if (made.pool == NVDP_POOL_AUTO) made.pool = mean ? NVDP_POOL_MEAN : NVDP_POOL_FIRST;
    NVDP_TRY(nvdp__check_pool(ctx, mechanism, made.pool));
    if (mechanism->variant == NVDP__VIB_FIXED && nvdp__clips_sequence(&made.clip) &&
        made.vib.sigma != 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{vib-sigma}: expected 1 with {clip-sequence} %g, which sets the "
                          "variances to 1, found %g",
                          made.clip.sequence, made.vib.sigma);
    double logvar = 2 * log(made.vib.sigma);
    if (mechanism->variant == NVDP__VIB_FIXED &&
        !(logvar >= made.clip.logvar_min && logvar <= made.clip.logvar_max))
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{vib-sigma}: expected a log variance in the clip range [%g, %g], found %g "
            "for {vib-sigma} %g",
            made.clip.logvar_min, made.clip.logvar_max, logvar, made.vib.sigma);
    *config = made;
    return NVDP_OK;
}

/* ---- parameters and their initial values ---- */

static void release(void *self) {
    struct nvdp__vib *vib = self;
    if (vib == NULL) return;
    nvdp__extra_release(&vib->extra);
    nvdp__sample_rows_release(&vib->rows);
    free(vib);
}
NVDP__AUTOPTR(struct nvdp__vib, release)

/* The form whose trained standard deviations are in use; VIB_FIXED: none are trained. */
static enum nvdp__vib_form spread(const struct nvdp__vib *vib) {
    return vib->sequence ? NVDP__VIB_FIXED : vib->which;
}

static nvdp_status declare(struct nvdp__vib *vib, struct nvdp__params *params) {
    unsigned flags = NVDP__PARAM_OPTIONAL;
    size_t p = vib->dim, d = vib->hidden_size;
    if (vib->which == NVDP__VIB_VTDP)
        NVDP_TRY(nvdp__extra_declare(&vib->extra, vib->bert, "vtdp", params));
    NVDP_TRY(nvdp__declare_dense(params, "vib.mu", p, d, flags, &vib->mu));
    if (vib->gains)
        NVDP_TRY(nvdp__row_gain_declare(params, "vib.mu.gain", vib->form.length, &vib->row_gain));
    if (spread(vib) == NVDP__VIB_LEARNED)
        return nvdp__params_add(params, "vib.rho", 1, p, 1, flags, &vib->rho_vector);
    if (spread(vib) == NVDP__VIB_VTDP)
        return nvdp__declare_dense(params, "vib.rho", p, d, flags, &vib->rho);
    return NVDP_OK;
}

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    struct nvdp__nvib_config resolved = *config;
    NVDP_TRY(resolve(mechanism, ctx, &bert->config, &resolved));
    nvdp__autoptr(release) struct nvdp__vib *vib = nvdp__calloc(ctx, 1, sizeof *vib);
    if (vib == NULL) return NVDP_ERR_MEMORY;
    bool tokens = mechanism->variant == NVDP__VIB_VTDP && pools_last(&resolved);
    *vib = (struct nvdp__vib){.ctx = ctx,
                              .bert = bert,
                              .which = (enum nvdp__vib_form)mechanism->variant,
                              .config = resolved,
                              .form = nvdp__form_of(&resolved, false, !tokens),
                              .hidden_size = bert->config.hidden_size,
                              .dim = resolved.latent_dim,
                              .clip = nvdp__clip_applied(&resolved.clip),
                              .clips = !nvdp__clips_sequence(&resolved.clip),
                              .sequence = nvdp__clips_sequence(&resolved.clip),
                              .gains = tokens && resolved.row_index == NVDP__ROW_INDEX_TRAINED};
    NVDP_TRY(declare(vib, params));
    NVDP__HAND_OVER(self, vib);
    return NVDP_OK;
}

/* A narrow latent is initialized from the principal directions of hidden states. */
static bool wants_hidden(const void *self) {
    const struct nvdp__vib *vib = self;
    return vib->dim < vib->hidden_size;
}

/* Initially softplus(rho) = e^(logvar/2); the means start as in NVIB. */
static nvdp_status initialize(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden) {
    struct nvdp__vib *vib = self;
    double sigma = exp(0.5 * nvdp__start_logvar(&vib->config));
    float rho = (float)(sigma + log(-expm1(-sigma)));
    if (spread(vib) == NVDP__VIB_LEARNED) nvdp__params_fill(dev, params, vib->rho_vector, rho);
    if (vib->gains) nvdp__row_gain_initialize(dev, params, vib->row_gain);
    if (vib->which == NVDP__VIB_VTDP) nvdp__extra_initialize(&vib->extra, vib->bert, dev, params);
    if (spread(vib) == NVDP__VIB_VTDP) {
        nvdp__params_fill(dev, params, vib->rho.weight, 0);
        nvdp__params_fill(dev, params, vib->rho.bias, rho);
    }
    return nvdp__means_initialize(vib->ctx, dev, params, &vib->mu, vib->config.mu_tau, seed, rows,
                                  hidden);
}

static struct nvdp__view view(const void *self) {
    const struct nvdp__vib *vib = self;
    return (struct nvdp__view){vib->dim, vib->form, &vib->posterior,
                               nvdp__sample_of(&vib->rows, vib->dim, vib->z, NULL)};
}

/* ---- plan ---- */

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct nvdp__vib *vib = self;
    bool single = vib->form.single;
    size_t p = vib->dim, d = vib->hidden_size;
    NVDP_TRY(nvdp__sample_rows_plan(vib->ctx, &vib->form, max_tokens, max_texts, &vib->rows));
    size_t rows = vib->rows.max_rows;
    size_t sources = nvdp__padded_rows(dev, vib->rows.max_sources);
    if (vib->which == NVDP__VIB_VTDP)
        nvdp__extra_plan(&vib->extra, dev, max_tokens, max_texts, longest, training, arena);
    nvdp__dense_plan(dev, arena, sources, d, p);
    if (single) vib->pooled_states = nvdp__arena_take(arena, sources * d);
    vib->posterior = (struct nvdp__posterior){.dim = p,
                                              .mu = nvdp__arena_take(arena, sources * p),
                                              .logvar = nvdp__arena_take(arena, sources * p)};
    vib->rho_out = nvdp__arena_take(arena, spread(vib) == NVDP__VIB_VTDP ? sources * p : p);
    if (vib->clips) vib->before = nvdp__unclipped_plan(arena, sources, p, false);
    if (vib->sequence) vib->factor = nvdp__arena_take(arena, max_texts);
    if (vib->gains) vib->ungained = nvdp__arena_take(arena, sources * p);
    vib->z = nvdp__arena_take(arena, rows * p);
    vib->pooled = nvdp__arena_take(arena, max_texts * p);
    if (!training) return NVDP_OK;
    vib->d = (struct nvdp__posterior){.dim = p,
                                      .mu = nvdp__arena_take(arena, sources * p),
                                      .logvar = nvdp__arena_take(arena, sources * p)};
    vib->d_z = nvdp__arena_take(arena, rows * p);
    if (single) vib->d_x = nvdp__arena_take(arena, sources * d);
    return NVDP_OK;
}

/* ---- one pooled vector per text, from its tokens' states or from its sample ---- */

static void pool_rows(const struct nvdp__device *dev, bool first, size_t texts, size_t dim,
                      const int32_t *offset, const float *x, float *y) {
    if (first) {
        nvdp__rows_gather(dev, texts, dim, offset, x, y);
    } else {
        nvdp__pool_forward(dev, texts, dim, offset, NULL, x, y);
    }
}

/* Sets dx [rows of all texts, dim]. */
static void pool_rows_backward(const struct nvdp__device *dev, bool first, size_t texts, size_t dim,
                               const int32_t *offset, const float *x, const float *dy, float *dx) {
    if (first) {
        nvdp__zero(dev, (size_t)offset[texts] * dim, dx);
        nvdp__rows_scatter_add(dev, texts, dim, offset, dy, dx);
    } else {
        nvdp__pool_backward(dev, texts, dim, offset, NULL, x, dy, dx, NULL);
    }
}

/* True if the classifier reads only one row of a sample. */
static bool reads_first(const struct nvdp__vib *vib) {
    return vib->form.single || vib->config.pool == NVDP_POOL_FIRST;
}

/* ---- forward ---- */

/* logvar [S, p] of the sources, before clipping. */
static void logvar_forward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                           const struct nvdp__params *params, struct nvdp__tensor x) {
    size_t sources = vib->rows.sources, p = vib->dim;
    float *logvar = vib->posterior.logvar;
    if (spread(vib) == NVDP__VIB_VTDP) {
        struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, sources);
        nvdp__dense_forward(dev, &rho, x, nvdp__f32(sources, p, vib->rho_out));
        nvdp__softplus_logvar(dev, sources * p, vib->rho_out, logvar);
        return;
    }
    if (vib->which == NVDP__VIB_LEARNED)
        nvdp__softplus_logvar(dev, p, nvdp__value(params, vib->rho_vector), logvar);
    for (size_t i = 0; i < p && vib->which == NVDP__VIB_FIXED; i++)
        logvar[i] = (float)(2 * log(vib->config.vib.sigma));
    for (size_t s = 1; s < sources; s++)
        nvdp__copy(dev, p, logvar, logvar + s * p);
}

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct nvdp__vib *vib = self;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__batch *batch = in->batch;
    size_t d = vib->hidden_size;
    NVDP_TRY(nvdp__sample_rows_fill(vib->ctx, &vib->form, batch, &vib->rows));
    vib->states = in->hidden;
    if (vib->which == NVDP__VIB_VTDP)
        vib->states = nvdp__extra_forward(&vib->extra, dev, in->params, batch, in->hidden);
    vib->x = vib->form.single ? vib->pooled_states : vib->states;
    if (vib->form.single)
        pool_rows(dev, vib->config.pool == NVDP_POOL_FIRST, batch->texts, d, batch->offset,
                  vib->states, vib->pooled_states);
    vib->posterior.rows = vib->rows.sources;
    struct nvdp__linear mu = nvdp__dense_linear(in->params, &vib->mu, vib->rows.sources);
    struct nvdp__tensor x = nvdp__f32(vib->rows.sources, d, vib->x);
    nvdp__dense_forward(
        dev, &mu, x, nvdp__f32(x.rows, vib->dim, vib->gains ? vib->ungained : vib->posterior.mu));
    if (vib->gains)
        nvdp__row_gain_forward(dev, batch->texts, batch->offset, vib->dim,
                               nvdp__value(in->params, vib->row_gain), vib->ungained,
                               vib->posterior.mu);
    if (!vib->sequence) logvar_forward(vib, dev, in->params, x);
    if (vib->clips) nvdp__clip_forward(dev, &vib->clip, &vib->posterior, &vib->before);
    if (vib->sequence)
        nvdp__clip_sequence_forward(dev, vib->config.clip.sequence, vib->rows.texts,
                                    vib->rows.source_offset, &vib->posterior, vib->factor);
    return NVDP_OK;
}

static nvdp_status forward(void *self, const struct nvdp__encoded *in,
                           const struct nvdp__draw *draw, float **pooled) {
    struct nvdp__vib *vib = self;
    NVDP_TRY(infer(vib, in));
    nvdp__gauss_sample(in->dev, draw, &vib->rows, &vib->posterior, vib->z);
    pool_rows(in->dev, reads_first(vib), vib->rows.texts, vib->dim, vib->rows.offset, vib->z,
              vib->pooled);
    *pooled = vib->pooled;
    return NVDP_OK;
}

static nvdp_status check_sample(const struct nvdp__vib *vib, const struct nvdp__sample *sample) {
    if (sample->dim != vib->dim)
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected vectors of width %zu, found width %zu", vib->dim,
                          sample->dim);
    if (sample->texts > vib->rows.max_texts || sample->rows > vib->rows.max_rows)
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected at most %zu texts and %zu rows, found %zu and %zu",
                          vib->rows.max_texts, vib->rows.max_rows, sample->texts, sample->rows);
    for (size_t b = 0; b < sample->texts; b++) {
        int32_t rows = sample->offset[b + 1] - sample->offset[b];
        if (rows == 1 || (rows > 1 && !vib->form.single)) continue;
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "sample of text %zu: expected %s, found %d rows", b,
                          vib->form.single ? "one row" : "at least one row", (int)rows);
    }
    return NVDP_OK;
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *given, float **pooled) {
    struct nvdp__vib *vib = self;
    (void)params;
    NVDP_TRY(check_sample(vib, given));
    pool_rows(dev, reads_first(vib), given->texts, vib->dim, given->offset, given->z, vib->pooled);
    *pooled = vib->pooled;
    return NVDP_OK;
}

/* ---- backward ---- */

/* Propagates d.logvar [S, p] (overwritten) to the parameters, and adds to dx [S, D]. */
static void logvar_backward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                            const struct nvdp__params *params, struct nvdp__tensor x,
                            struct nvdp__tensor dx) {
    size_t sources = vib->rows.sources, p = vib->dim;
    float *d_logvar = vib->d.logvar;
    if (spread(vib) == NVDP__VIB_VTDP) {
        struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, sources);
        rho.offset = vib->rows.source_offset;
        nvdp__softplus_logvar_backward(dev, sources * p, vib->rho_out, d_logvar, d_logvar);
        nvdp__dense_backward(dev, &rho, x, nvdp__f32(sources, p, d_logvar), dx, true);
    }
    if (spread(vib) == NVDP__VIB_LEARNED && dev->per_example != NULL) { /* each source is a text */
        float *d_rho = nvdp__per_example_vectors(dev, nvdp__grad(params, vib->rho_vector), p);
        for (size_t s = 0; s < sources && d_rho != NULL; s++)
            nvdp__softplus_logvar_backward(dev, p, nvdp__value(params, vib->rho_vector),
                                           d_logvar + s * p, d_rho + s * p);
    } else if (spread(vib) == NVDP__VIB_LEARNED) {
        float *d_rho = vib->rho_out;
        nvdp__zero(dev, p, d_rho);
        for (size_t s = 0; s < sources; s++)
            nvdp__add(dev, p, d_logvar + s * p, d_rho);
        nvdp__softplus_logvar_backward(dev, p, nvdp__value(params, vib->rho_vector), d_rho, d_rho);
        nvdp__add(dev, p, d_rho, nvdp__grad(params, vib->rho_vector));
    }
}

/* Propagates the gradients of pooled vector and regularizer to the posterior before clipping,
 * and from there to the encoder. */
static void backward(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    struct nvdp__vib *vib = self;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__batch *batch = in->batch;
    const struct nvdp__sample_rows *layout = &vib->rows;
    size_t sources = layout->sources, p = vib->dim, d = vib->hidden_size;
    pool_rows_backward(dev, reads_first(vib), layout->texts, p, layout->offset, vib->z, d_pooled,
                       vib->d_z);
    vib->d.rows = sources;
    nvdp__zero(dev, sources * p, vib->d.mu);
    nvdp__zero(dev, sources * p, vib->d.logvar);
    nvdp__gauss_sample_backward(dev, layout, &vib->posterior, vib->z, vib->d_z, &vib->d);
    bool exact = vib->config.regularizer == NVDP__REGULARIZER_KL;
    nvdp__gaussian_losses(dev, exact ? NVDP__KL_EXACT : NVDP__KL_PUBLISHED, penalty->weight_g,
                          layout->texts, layout->source_offset, &vib->posterior, &vib->d,
                          penalty->loss_g);
    /* L_D does not exist without weights */
    memset(penalty->loss_d, 0, layout->texts * sizeof *penalty->loss_d);
    if (vib->clips) nvdp__clip_backward(dev, &vib->clip, &vib->posterior, &vib->before, &vib->d);
    if (vib->sequence)
        nvdp__clip_sequence_backward(dev, layout->texts, layout->source_offset, &vib->posterior,
                                     vib->factor, &vib->d);
    if (vib->gains)
        nvdp__row_gain_backward(dev, batch->texts, batch->offset, p, vib->form.length,
                                nvdp__value(in->params, vib->row_gain), vib->ungained, vib->d.mu,
                                nvdp__grad(in->params, vib->row_gain));
    float *d_x = vib->form.single ? vib->d_x : d_hidden;
    struct nvdp__linear mu = nvdp__dense_linear(in->params, &vib->mu, sources);
    mu.offset = layout->source_offset;
    struct nvdp__tensor x = nvdp__f32(sources, d, vib->x), dx = nvdp__f32(sources, d, d_x);
    nvdp__dense_backward(dev, &mu, x, nvdp__f32(sources, p, vib->d.mu), dx, false);
    logvar_backward(vib, dev, in->params, x, dx);
    if (vib->form.single)
        pool_rows_backward(dev, vib->config.pool == NVDP_POOL_FIRST, batch->texts, d, batch->offset,
                           vib->states, d_x, d_hidden);
    if (vib->which == NVDP__VIB_VTDP)
        nvdp__extra_backward(&vib->extra, dev, in->params, batch, d_hidden);
}

static size_t replaced(const void *self) {
    const struct nvdp__vib *vib = self;
    return nvdp__clip_replaced(&vib->rows, vib->dim, &vib->before, vib->factor);
}

/* ---- the three forms ---- */

#define VIB(label, which)                                                                          \
    {                                                                                              \
        .name = label, .variant = which, .private_ = true, .resolve = resolve, .create = create,   \
        .release = release, .wants_hidden = wants_hidden, .initialize = initialize, .plan = plan,  \
        .view = view, .forward = forward, .infer = infer, .forward_sample = forward_sample,        \
        .backward = backward, .replaced = replaced                                                 \
    }

const struct nvdp__mechanism nvdp__mechanisms_vib[] = {
    [NVDP__VIB_FIXED] = VIB("vib-fixed", NVDP__VIB_FIXED),
    [NVDP__VIB_LEARNED] = VIB("vib-learned", NVDP__VIB_LEARNED),
    [NVDP__VIB_VTDP] = VIB("vtdp", NVDP__VIB_VTDP),
};

static bool always(const struct nvdp__nvib_config *config) {
    (void)config;
    return true;
}

static bool is_pooled_first(const struct nvdp__nvib_config *config) {
    return config->vib.vtdp_pool == NVDP__VTDP_POOL_FIRST;
}

static void fixed_limits(const struct nvdp__nvib_config *config, struct nvdp_limits *limits) {
    limits->logvar_min = limits->logvar_max = (float)(2 * log(config->vib.sigma));
    limits->same_noise = true;
}

static void learned_limits(const struct nvdp__nvib_config *config, struct nvdp_limits *limits) {
    (void)config;
    limits->same_noise = true;
}

/* The trained variances do not depend on the text; they stay within their clip. */
static nvdp_status trained_limits(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, struct nvdp_limits *limits) {
    const size_t index = nvdp__params_find(params, "vib.rho");
    const double low = limits->logvar_min, high = limits->logvar_max;
    if (index == SIZE_MAX) return NVDP_OK;
    const size_t n = params->entry[index].count;
    float *logvar = nvdp__calloc(ctx, n, sizeof *logvar);
    if (logvar == NULL) return NVDP_ERR_MEMORY;
    nvdp__softplus_logvar(dev, n, nvdp__value(params, index), logvar);
    limits->logvar_min = INFINITY;
    limits->logvar_max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double own = fmin(fmax(isnan(logvar[i]) ? 0 : logvar[i], low), high);
        limits->logvar_min = fmin(limits->logvar_min, own);
        limits->logvar_max = fmax(limits->logvar_max, own);
    }
    free(logvar);
    return NVDP_OK;
}

/* Options of weights and of attention, which resolve() sets. */
#define NO_WEIGHTS                                                                                 \
    "latent-heads", "kappa", "query", "weights", "alpha-tau", "prior-alpha", "delta",              \
        "clip-alpha-min", "clip-alpha-max"
static const char *const unread_fixed[] = {NO_WEIGHTS, "row-index", "vtdp-pool", NULL};
static const char *const unread_learned[] = {NO_WEIGHTS, "row-index", "vtdp-pool", "vib-sigma",
                                             NULL};
static const char *const unread_vtdp[] = {NO_WEIGHTS, "vib-sigma", NULL};

const struct nvdp__method nvdp__method_row_vib_fixed = {
    .mechanism = &nvdp__mechanisms_vib[NVDP__VIB_FIXED],
    .description = "one pooled vector per text, with Gaussian noise of a fixed scale",
    .own_noise = true,
    .unread = unread_fixed,
    .single = always,
    .limits = fixed_limits};
const struct nvdp__method nvdp__method_row_vib_learned = {
    .mechanism = &nvdp__mechanisms_vib[NVDP__VIB_LEARNED],
    .description =
        "one pooled vector per text, with Gaussian noise whose scale is trained for each dimension",
    .own_noise = true,
    .unread = unread_learned,
    .single = always,
    .limits = learned_limits,
    .trained_limits = trained_limits};
const struct nvdp__method nvdp__method_row_vtdp = {
    .mechanism = &nvdp__mechanisms_vib[NVDP__VIB_VTDP],
    .description = "one Gaussian vector per token, without weights between the vectors",
    .unread = unread_vtdp,
    .single = is_pooled_first};
