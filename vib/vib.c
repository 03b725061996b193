/* Gaussian mechanisms without weights (docs/vib.md); the same code serves three forms:
 *
 *     vib-fixed    z = mu(x) + sigma eps             one vector per text, sigma given   (NVDP, Eq. 9)
 *     vib-learned  the same                          sigma = softplus(rho), rho trained (NVDP, Eq. 10)
 *     vtdp         z_i = mu(x_i) + sigma(x_i) eps_i, sigma = softplus(rho(x_i))         (NVDP, Eq. 8)
 *
 * vtdp adds one more encoder layer and adds noise to each token or, with `pools first`, to one pooled vector per
 * text. The structs that list the functions of each form are at the end. */
#include "vib/vib.h"
#include "encoder/row.h"
#include "mechanism/mechanism.h"
#include "tensor/per_example.h"
#include "tensor/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- standard deviations as the softplus of a free number ---- */

/*     sigma              = softplus(rho)
 *     logvar             = 2 log sigma
 *     d logvar / d rho   = 2 sigmoid(rho) / softplus(rho):   2 far below, 2/rho far above */

/* Below this, log(1 + e^rho) equals e^rho in float, and the logarithm of e^rho is rho. */
static const double FAR_BELOW = -20;

void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar) {
    int team = nvdp__team(dev, 16 * n); /* an element takes two logarithms and an exponential */
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        logvar[i] = (float)(2 * (x < FAR_BELOW ? x : log(nvdp__softplus(x))));
    }
}

void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho) {
#pragma omp parallel for num_threads(nvdp__team(dev, 16 * n))
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        double slope = x < FAR_BELOW ? 2 : 2 / ((1 + exp(-x)) * nvdp__softplus(x));
        drho[i] = (float)(slope * dlogvar[i]);
    }
}

/* ---- configuration ---- */

static bool is_pooled_first(const struct nvdp__nvib_config *config) {
    return config->vib.vtdp_pool == NVDP__VTDP_POOL_FIRST;
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
    return nvdp__blame_value(
        ctx, "pool",
        nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                   "pool: method %s has no weights: expected auto, first or mean, found weighted",
                   mechanism->name));
}

/* Checks the options of all three forms, resolves "auto", and sets the options that no form has: weights, attention,
 * kappa. */
static nvdp_status resolve(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config) {
    struct nvdp__nvib_config made = nvdp__without_weights(config);
    NVDP_TRY(nvdp__nvib_config_check(ctx, &made, NVDP__LEAST_DIM, bert->hidden_size,
                                     bert->num_attention_heads));
    if (made.latent_dim == 0) made.latent_dim = bert->hidden_size;
    /* With vtdp, the mean reads all shared rows; reading the first token gives no better trade-off. If the means of
     * a text share one norm, a mean over noisy rows loses most of that norm, so the first row is read. */
    bool tokens = mechanism->variant == NVDP__VIB_VTDP && !is_pooled_first(&made);
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

static const struct nvdp__pass extra_pass = {.training = false}; /* no dropout */

static void release(void *self) {
    struct nvdp__vib *vib = self;
    if (vib == NULL) return;
    nvdp__bert_cache_release(&vib->extra.cache);
    nvdp__bert_release(&vib->extra.bert);
    nvdp__gauss_release(vib);
}
NVDP__AUTOPTR(struct nvdp__vib, release)

/* Returns the form whose trained standard deviations are in use; VIB_FIXED if no standard deviations are trained. */
static enum nvdp__vib_form spread(const struct nvdp__vib *vib) {
    return vib->gauss.sequence ? NVDP__VIB_FIXED : vib->which;
}

/* Declares a layer with the encoder's sizes, "<prefix>.attention.self.query.weight" and so on; a checkpoint may lack
 * this layer. */
static nvdp_status declare_extra(struct nvdp__extra *extra, const struct nvdp__bert *below,
                                 const char *prefix, struct nvdp__params *params) {
    if (below->row->pass->declare_extra == NULL)
        return nvdp__fail(
            params->ctx, NVDP_ERR_ARGUMENT,
            "method: expected one without an additional layer of the encoder with %s, "
            "found %s",
            below->row->title, prefix);
    extra->bert.row = below->row;
    extra->bert.config = below->config;
    extra->bert.config.num_hidden_layers = 1;
    NVDP_TRY(nvdp__bert_cache_create(params->ctx, &extra->bert, NVDP__KEEP_LAST, &extra->cache));
    extra->cache.above = true;
    extra->cache.keep_hidden = true; /* keeps the output in a separate buffer */
    return below->row->pass->declare_extra(&extra->bert, below, prefix, params);
}

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self) {
    struct nvdp__nvib_config resolved = *config;
    NVDP_TRY(resolve(mechanism, ctx, &bert->config, &resolved));
    nvdp__autoptr(release) struct nvdp__vib *vib = nvdp__calloc(ctx, 1, sizeof *vib);
    if (vib == NULL) return NVDP_ERR_MEMORY;
    bool tokens = mechanism->variant == NVDP__VIB_VTDP && !is_pooled_first(&resolved);
    vib->gauss =
        nvdp__gauss_make(mechanism, ctx, bert, &resolved, (struct nvdp__form){.single = !tokens});
    vib->which = (enum nvdp__vib_form)mechanism->variant;
    const struct nvdp__gauss *g = &vib->gauss;
    const unsigned flags = NVDP__PARAM_OPTIONAL;
    if (vib->which == NVDP__VIB_VTDP) NVDP_TRY(declare_extra(&vib->extra, bert, "vtdp", params));
    NVDP_TRY(nvdp__means_declare(&vib->gauss, params, "vib.mu"));
    if (spread(vib) == NVDP__VIB_LEARNED)
        NVDP_TRY(nvdp__params_add(params, "vib.rho", 1, g->dim, 1, flags, &vib->rho_vector));
    if (spread(vib) == NVDP__VIB_VTDP)
        NVDP_TRY(nvdp__declare_dense(params, "vib.rho", g->dim, g->hidden_size, flags, &vib->rho));
    return NVDP__HAND_OVER(self, vib);
}

/* Initializes rho such that softplus(rho) = e^(logvar/2); the means start as in NVIB. */
static nvdp_status initialize(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden) {
    struct nvdp__vib *vib = self;
    const struct nvdp__gauss *g = &vib->gauss;
    double sigma = exp(0.5 * nvdp__start_logvar(&g->config));
    float rho = (float)(sigma + log(-expm1(-sigma)));
    if (spread(vib) == NVDP__VIB_LEARNED) nvdp__params_fill(dev, params, vib->rho_vector, rho);
    if (vib->which == NVDP__VIB_VTDP) /* copies the encoder's last layer */
        g->bert->row->pass->initialize_extra(&vib->extra.bert, g->bert, dev, params);
    if (spread(vib) == NVDP__VIB_VTDP) {
        nvdp__params_fill(dev, params, vib->rho.weight, 0);
        nvdp__params_fill(dev, params, vib->rho.bias, rho);
    }
    return nvdp__gauss_initialize(g, dev, params, seed, rows, hidden);
}

/* ---- plan ---- */

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct nvdp__vib *vib = self;
    struct nvdp__gauss *g = &vib->gauss;
    const size_t p = g->dim, d = g->hidden_size;
    NVDP_TRY(nvdp__gauss_plan(g, dev, max_tokens, max_texts, training, arena));
    const size_t sources = nvdp__padded_rows(dev, g->rows.max_sources);
    if (vib->which == NVDP__VIB_VTDP) {
        vib->extra.cache.training = training;
        nvdp__bert_plan(&vib->extra.bert, dev, max_tokens, max_texts, longest, arena,
                        &vib->extra.cache);
    }
    nvdp__dense_plan(dev, arena, sources, d, p);
    if (g->form.single) vib->pooled_states = nvdp__arena_take(arena, sources * d);
    NVDP__TAKE(arena, {&vib->rho_out, spread(vib) == NVDP__VIB_VTDP ? sources * p : p},
               {&g->pooled, max_texts * p});
    if (training && g->form.single) vib->d_x = nvdp__arena_take(arena, sources * d);
    return NVDP_OK;
}

/* ---- one pooled vector per text, from the states of the tokens or from the sample ---- */

void nvdp__pool_rows(const struct nvdp__device *dev, bool first, size_t texts, size_t dim,
                     const int32_t *offset, const float *x, float *y) {
    if (first)
        nvdp__rows_gather(dev, texts, dim, offset, x, y);
    else
        nvdp__pool_forward(dev, texts, dim, offset, NULL, x, y);
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

/* Returns true if the classifier reads only one row of a sample. */
static bool reads_first(const struct nvdp__gauss *g) {
    return g->form.single || g->config.pool == NVDP_POOL_FIRST;
}

/* ---- forward ---- */

/* Computes logvar [S, p] of the sources, before clipping. */
static void logvar_forward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                           const struct nvdp__params *params, struct nvdp__tensor x) {
    size_t sources = x.rows, p = vib->gauss.dim;
    float *logvar = vib->gauss.posterior.logvar;
    if (spread(vib) == NVDP__VIB_VTDP) {
        struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, sources);
        nvdp__dense_forward(dev, &rho, x, nvdp__f32(sources, p, vib->rho_out));
        nvdp__softplus_logvar(dev, sources * p, vib->rho_out, logvar);
        return;
    }
    if (vib->which == NVDP__VIB_LEARNED)
        nvdp__softplus_logvar(dev, p, nvdp__value(params, vib->rho_vector), logvar);
    for (size_t i = 0; i < p && vib->which == NVDP__VIB_FIXED; i++)
        logvar[i] = (float)(2 * log(vib->gauss.config.vib.sigma));
    for (size_t s = 1; s < sources; s++)
        nvdp__copy(dev, p, logvar, logvar + s * p);
}

static nvdp_status infer(void *self, const struct nvdp__encoded *in) {
    struct nvdp__vib *vib = self;
    struct nvdp__gauss *g = &vib->gauss;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__batch *batch = in->batch;
    NVDP_TRY(nvdp__gauss_fill(g, batch));
    vib->states = in->hidden;
    if (vib->which == NVDP__VIB_VTDP) { /* the states have room for nvdp__padded_rows(T) rows */
        /* the backward pass also reads the states */
        vib->extra.cache.hidden[0] = (float *)in->hidden;
        nvdp__bert_forward(&vib->extra.bert, dev, in->params, batch, &extra_pass,
                           &vib->extra.cache);
        vib->states = vib->extra.cache.hidden[1];
    }
    vib->x = g->form.single ? vib->pooled_states : vib->states;
    if (g->form.single)
        nvdp__pool_rows(dev, g->config.pool == NVDP_POOL_FIRST, batch->texts, g->hidden_size,
                        batch->offset, vib->states, vib->pooled_states);
    const struct nvdp__tensor x = nvdp__f32(g->rows.sources, g->hidden_size, vib->x);
    nvdp__means_forward(g, dev, in->params, x);
    if (!g->sequence) logvar_forward(vib, dev, in->params, x);
    nvdp__gauss_clip(g, dev);
    return NVDP_OK;
}

nvdp_status nvdp__pooled_forward(void *self, const struct nvdp__encoded *in,
                                 const struct nvdp__draw *draw, float **pooled) {
    const struct nvdp__gauss *g = self;
    NVDP_TRY(g->mechanism->infer(self, in));
    nvdp__gauss_sample(in->dev, draw, &g->rows, &g->posterior, g->z);
    nvdp__pool_rows(in->dev, reads_first(g), g->rows.texts, g->dim, g->rows.offset, g->z,
                    g->pooled);
    *pooled = g->pooled;
    return NVDP_OK;
}

static nvdp_status check_sample(const struct nvdp__gauss *g, const struct nvdp__sample *sample) {
    if (sample->dim != g->dim)
        return nvdp__fail(g->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected vectors of width %zu, found width %zu", g->dim,
                          sample->dim);
    if (sample->texts > g->rows.max_texts || sample->rows > g->rows.max_rows)
        return nvdp__fail(g->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected at most %zu texts and %zu rows, found %zu and %zu",
                          g->rows.max_texts, g->rows.max_rows, sample->texts, sample->rows);
    for (size_t b = 0; b < sample->texts; b++) {
        int32_t rows = sample->offset[b + 1] - sample->offset[b];
        if (rows == 1 || (rows > 1 && !g->form.single)) continue;
        return nvdp__fail(g->ctx, NVDP_ERR_ARGUMENT,
                          "sample of text %zu: expected %s, found %d rows", b,
                          g->form.single ? "one row" : "at least one row", (int)rows);
    }
    return NVDP_OK;
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *given, float **pooled) {
    const struct nvdp__gauss *g = self;
    (void)params;
    NVDP_TRY(check_sample(g, given));
    nvdp__pool_rows(dev, reads_first(g), given->texts, g->dim, given->offset, given->z, g->pooled);
    *pooled = g->pooled;
    return NVDP_OK;
}

nvdp_status nvdp__single_forward_sample(void *self, const struct nvdp__device *dev,
                                        const struct nvdp__params *params,
                                        const struct nvdp__sample *given, float **pooled) {
    const struct nvdp__gauss *g = self;
    (void)params;
    if (given->dim != g->dim || given->texts > g->rows.max_texts || given->rows != given->texts)
        return nvdp__fail(g->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected one vector of width %zu for each of at most %zu texts, "
                          "found width %zu and %zu vectors for %zu texts",
                          g->dim, g->rows.max_texts, given->dim, given->rows, given->texts);
    nvdp__copy(dev, given->rows * g->dim, given->z, g->pooled);
    *pooled = g->pooled;
    return NVDP_OK;
}

/* ---- backward ---- */

/* Propagates d.logvar [S, p], which is overwritten, to the parameters, and adds to dx [S, D]. */
static void logvar_backward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                            const struct nvdp__params *params, struct nvdp__tensor x,
                            struct nvdp__tensor dx) {
    size_t sources = x.rows, p = vib->gauss.dim;
    float *d_logvar = vib->gauss.d.logvar;
    if (spread(vib) == NVDP__VIB_VTDP) {
        struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, sources);
        rho.offset = vib->gauss.rows.source_offset;
        nvdp__softplus_logvar_backward(dev, sources * p, vib->rho_out, d_logvar, d_logvar);
        nvdp__dense_backward(dev, &rho, x, nvdp__f32(sources, p, d_logvar), dx, true);
    }
    if (spread(vib) != NVDP__VIB_LEARNED) return;
    const float *rho = nvdp__value(params, vib->rho_vector);
    if (dev->per_example != NULL) { /* each source is a text */
        float *d_rho = nvdp__per_example_vectors(dev, nvdp__grad(params, vib->rho_vector), p);
        for (size_t s = 0; s < sources && d_rho != NULL; s++)
            nvdp__softplus_logvar_backward(dev, p, rho, d_logvar + s * p, d_rho + s * p);
        return;
    }
    float *d_rho = vib->rho_out;
    nvdp__zero(dev, p, d_rho);
    for (size_t s = 0; s < sources; s++)
        nvdp__add(dev, p, d_logvar + s * p, d_rho);
    nvdp__softplus_logvar_backward(dev, p, rho, d_rho, d_rho);
    nvdp__add(dev, p, d_rho, nvdp__grad(params, vib->rho_vector));
}

/* Propagates the gradients of the pooled vector and of the regularizer to the posterior before clipping, and from
 * there to the encoder. */
static void backward(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden) {
    struct nvdp__vib *vib = self;
    struct nvdp__gauss *g = &vib->gauss;
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__batch *batch = in->batch;
    const size_t sources = g->rows.sources, d = g->hidden_size;
    const struct nvdp__tensor x = nvdp__f32(sources, d, vib->x),
                              dx = nvdp__f32(sources, d, g->form.single ? vib->d_x : d_hidden);
    pool_rows_backward(dev, reads_first(g), g->rows.texts, g->dim, g->rows.offset, g->z, d_pooled,
                       g->d_z);
    nvdp__gauss_backward(g, dev, g->d_z);
    nvdp__gauss_losses(g, dev, penalty);
    nvdp__gauss_clip_backward(g, dev);
    nvdp__means_backward(g, dev, in->params, x, dx);
    logvar_backward(vib, dev, in->params, x, dx);
    if (g->form.single)
        pool_rows_backward(dev, g->config.pool == NVDP_POOL_FIRST, batch->texts, d, batch->offset,
                           vib->states, vib->d_x, d_hidden);
    if (vib->which == NVDP__VIB_VTDP)
        nvdp__bert_backward(&vib->extra.bert, dev, in->params, batch, &extra_pass,
                            &vib->extra.cache, d_hidden);
}

/* ---- the three forms ---- */

#define VIB(label, which)                                                                          \
    {                                                                                              \
        .name = label, .variant = which, .private_ = true, .resolve = resolve, .create = create,   \
        .release = release, .wants_hidden = nvdp__gauss_wants_hidden, .initialize = initialize,    \
        .plan = plan, .view = nvdp__gauss_view, .forward = nvdp__pooled_forward, .infer = infer,   \
        .forward_sample = forward_sample, .backward = backward, .replaced = nvdp__gauss_replaced   \
    }

const struct nvdp__mechanism nvdp__mechanisms_vib[] = {
    [NVDP__VIB_FIXED] = VIB("vib-fixed", NVDP__VIB_FIXED),
    [NVDP__VIB_LEARNED] = VIB("vib-learned", NVDP__VIB_LEARNED),
    [NVDP__VIB_VTDP] = VIB("vtdp", NVDP__VIB_VTDP),
};

bool nvdp__always_single(const struct nvdp__nvib_config *config) {
    (void)config;
    return true;
}

static void fixed_limits(const struct nvdp__nvib_config *config, struct nvdp_limits *limits) {
    limits->logvar_min = limits->logvar_max = (float)(2 * log(config->vib.sigma));
    limits->same_noise = true;
}

static void learned_limits(const struct nvdp__nvib_config *config, struct nvdp_limits *limits) {
    (void)config;
    limits->same_noise = true;
}

/* The trained variances do not depend on the text, and they stay within their clip. */
static nvdp_status trained_limits(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, struct nvdp_limits *limits) {
    const size_t index = nvdp__params_find(params, "vib.rho");
    const double low = limits->logvar_min, high = limits->logvar_max;
    if (index == SIZE_MAX) return NVDP_OK;
    const size_t n = params->entry[index].count;
    nvdp__autofree float *logvar = NULL;
    NVDP_TRY(NVDP__NEW(ctx, logvar, n));
    nvdp__softplus_logvar(dev, n, nvdp__value(params, index), logvar);
    limits->logvar_min = INFINITY;
    limits->logvar_max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double own = fmin(fmax(isnan(logvar[i]) ? 0 : logvar[i], low), high);
        limits->logvar_min = fmin(limits->logvar_min, own);
        limits->logvar_max = fmax(limits->logvar_max, own);
    }
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
    .single = nvdp__always_single,
    .limits = fixed_limits};
const struct nvdp__method nvdp__method_row_vib_learned = {
    .mechanism = &nvdp__mechanisms_vib[NVDP__VIB_LEARNED],
    .description =
        "one pooled vector per text, with Gaussian noise whose scale is trained for each dimension",
    .own_noise = true,
    .unread = unread_learned,
    .single = nvdp__always_single,
    .limits = learned_limits,
    .trained_limits = trained_limits};
const struct nvdp__method nvdp__method_row_vtdp = {
    .mechanism = &nvdp__mechanisms_vib[NVDP__VIB_VTDP],
    .description = "one Gaussian vector per token, without weights between the vectors",
    .unread = unread_vtdp,
    .single = is_pooled_first};
