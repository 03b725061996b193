/* Mechanisms of Gaussians without weights (docs/vib.md), one code for three forms:
 *
 *     vib-fixed    z = mu(x) + sigma eps      one vector per text, sigma given      (NVDP, Eq. 9)
 *     vib-learned  the same                   sigma = softplus(rho), rho trained    (NVDP, Eq. 10)
 *     vtdp         z_i = mu(x_i) + sigma(x_i) eps_i, sigma = softplus(rho(x_i)), per token, or, pools
 *                  first, of one pooled vector, after one more encoder layer        (NVDP, Eq. 8) */
#include "vib/vib.h"
#include "tensor/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- standard deviations that are the softplus of a free number ---- */

/* Below, log(1 + e^rho) is e^rho in float, and its logarithm rho. */
static const double FAR_BELOW = -20;

static double softplus(double rho) {
    return fmax(rho, 0) + log1p(exp(-fabs(rho)));
}

void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar) {
    int team = nvdp__team(dev, 16 * n); /* two logarithms and an exponential */
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        logvar[i] = (float)(2 * (x < FAR_BELOW ? x : log(softplus(x))));
    }
}

/* d logvar / d rho = 2 sigmoid(rho) / softplus(rho): 2 far below, 2 / rho far above. */
void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho) {
    int team = nvdp__team(dev, 16 * n);
#pragma omp parallel for num_threads(team)
    for (size_t i = 0; i < n; i++) {
        double x = rho[i];
        double slope = x < FAR_BELOW ? 2 : 2 / ((1 + exp(-x)) * softplus(x));
        drho[i] = (float)(slope * dlogvar[i]);
    }
}

/* ---- configuration ---- */

static bool pools_last(const struct nvdp_nvib_config *config) {
    return config->vib.vtdp_pool == NVDP_VTDP_POOL_LAST;
}

/* Checks what all three forms read, fills what stands for "auto" and sets what none of them has:
 * weights, attention, kappa. */
static nvdp_status resolve(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp_nvib_config *config) {
    struct nvdp_nvib_config made = *config;
    made.latent_heads = 0;
    made.kappa = 1;
    made.query = NVDP_QUERY_SAMPLED;
    made.clip.alpha_min = 0;
    made.clip.alpha_max = INFINITY;
    NVDP_RETURN_IF_FAILED(
        nvdp_nvib_config_check(ctx, &made, bert->hidden_size, bert->num_attention_heads));
    if (made.latent_dim == 0) made.latent_dim = bert->hidden_size;
    /* vtdp's mean reads all that is shared; the first token trades utility for privacy no better. */
    bool tokens = mechanism->variant == NVDP__VIB_VTDP && pools_last(&made);
    if (made.pool == NVDP_POOL_AUTO) made.pool = tokens ? NVDP_POOL_MEAN : NVDP_POOL_FIRST;
    if (made.pool == NVDP_POOL_WEIGHTED)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "pool: expected auto, first or mean for method %s, which has no weights, "
                          "found weighted",
                          mechanism->name);
    double logvar = 2 * log(made.vib.sigma);
    if (mechanism->variant == NVDP__VIB_FIXED &&
        !(logvar >= made.clip.logvar_min && logvar <= made.clip.logvar_max))
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "vib.sigma: expected a log variance within the clip set's [%g, %g], "
                          "found %g of %g",
                          made.clip.logvar_min, made.clip.logvar_max, logvar, made.vib.sigma);
    *config = made;
    return NVDP_OK;
}

/* ---- parameters and their initial values ---- */

static void release(void *self) {
    struct nvdp__vib *vib = self;
    if (vib == NULL) return;
    nvdp__extra_release(&vib->extra);
    free(vib->offset);
    free(vib->src);
    free(vib->same);
    free(vib->stage);
    free(vib);
}

static nvdp_status declare(struct nvdp__vib *vib, struct nvdp__params *params) {
    unsigned flags = NVDP__PARAM_OPTIONAL;
    if (vib->form == NVDP__VIB_VTDP)
        NVDP_RETURN_IF_FAILED(nvdp__extra_declare(&vib->extra, vib->bert, "vtdp", params));
    NVDP_RETURN_IF_FAILED(
        nvdp__declare_dense(params, "vib.mu", vib->dim, vib->hidden_size, flags, &vib->mu));
    switch (vib->form) {
    case NVDP__VIB_LEARNED:
        return nvdp__params_add(params, "vib.rho", 1, vib->dim, 1, flags, &vib->rho_vector);
    case NVDP__VIB_VTDP:
        return nvdp__declare_dense(params, "vib.rho", vib->dim, vib->hidden_size, flags, &vib->rho);
    default:
        return NVDP_OK;
    }
}

static nvdp_status create(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp_nvib_config *config,
                          struct nvdp__params *params, void **self) {
    nvdp_status status = NVDP_OK;
    struct nvdp_nvib_config resolved = *config;
    NVDP_RETURN_IF_FAILED(resolve(mechanism, ctx, &bert->config, &resolved));
    struct nvdp__vib *vib = nvdp__calloc(ctx, 1, sizeof *vib);
    if (vib == NULL) return NVDP_ERR_MEMORY;
    vib->ctx = ctx;
    vib->bert = bert;
    vib->form = (enum nvdp__vib_form)mechanism->variant;
    vib->config = resolved;
    vib->hidden_size = bert->config.hidden_size;
    vib->dim = resolved.latent_dim;
    vib->single = vib->form != NVDP__VIB_VTDP || !pools_last(&resolved);
    vib->clip = nvdp__clip_set(&resolved.clip);
    vib->clips = nvdp__clips(&resolved.clip);
    NVDP_TRY(declare(vib, params));
    *self = vib;
    vib = NULL;
cleanup:
    release(vib);
    return status;
}

/* A narrow latent starts from the principal directions of what the encoder says. */
static bool wants_hidden(const void *self) {
    const struct nvdp__vib *vib = self;
    return vib->dim < vib->hidden_size;
}

/* softplus(rho) = e^(logvar/2). */
static double start_rho(const struct nvdp_nvib_config *config) {
    double sigma = exp(0.5 * nvdp__start_logvar(config));
    return sigma + log(-expm1(-sigma));
}

static nvdp_status initialise(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden) {
    struct nvdp__vib *vib = self;
    float rho = (float)start_rho(&vib->config);
    if (vib->form == NVDP__VIB_LEARNED) nvdp__params_fill(dev, params, vib->rho_vector, rho);
    if (vib->form == NVDP__VIB_VTDP) {
        nvdp__extra_initialise(&vib->extra, vib->bert, dev, params);
        nvdp__params_fill(dev, params, vib->rho.weight, 0);
        nvdp__params_fill(dev, params, vib->rho.bias, rho);
    }
    return nvdp__means_initialise(vib->ctx, dev, params, &vib->mu, vib->config.mu_tau, seed, rows,
                                  hidden);
}

/* ---- plan ---- */

static nvdp_status plan_tables(struct nvdp__vib *vib) {
    struct nvdp_context *ctx = vib->ctx;
    NVDP_RETURN_IF_FAILED(nvdp__reserve(ctx, &vib->offset, &vib->offset_capacity,
                                        vib->max_texts + 1, sizeof *vib->offset));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &vib->src, &vib->src_capacity, vib->max_rows, sizeof *vib->src));
    NVDP_RETURN_IF_FAILED(
        nvdp__reserve(ctx, &vib->same, &vib->same_capacity, vib->max_sources, sizeof *vib->same));
    memset(vib->same, 0, vib->max_sources * sizeof *vib->same);
    return nvdp__reserve(ctx, &vib->stage, &vib->stage_capacity, vib->dim, sizeof *vib->stage);
}

static void plan_forward(struct nvdp__vib *vib, struct nvdp__arena *arena) {
    size_t wide = vib->max_sources * vib->dim;
    if (vib->single)
        vib->pooled_states = nvdp__arena_take(arena, vib->max_sources * vib->hidden_size);
    vib->mu_out = nvdp__arena_take(arena, wide);
    vib->logvar_out = nvdp__arena_take(arena, wide);
    if (vib->form == NVDP__VIB_VTDP) {
        vib->rho_out = nvdp__arena_take(arena, wide);
    } else {
        vib->row = nvdp__arena_take(arena, vib->dim);
    }
    if (vib->clips) {
        vib->mu_norm = nvdp__arena_take(arena, vib->max_sources);
        vib->logvar_in = nvdp__arena_take(arena, wide);
    }
    vib->z = nvdp__arena_take(arena, vib->max_rows * vib->dim);
    vib->pooled = nvdp__arena_take(arena, vib->max_texts * vib->dim);
}

static void plan_backward(struct nvdp__vib *vib, struct nvdp__arena *arena) {
    size_t wide = vib->max_sources * vib->dim;
    vib->d_mu = nvdp__arena_take(arena, wide);
    vib->d_logvar = nvdp__arena_take(arena, wide);
    vib->d_row = nvdp__arena_take(arena, vib->dim);
    vib->d_z = nvdp__arena_take(arena, vib->max_rows * vib->dim);
    if (vib->single) vib->d_x = nvdp__arena_take(arena, vib->max_sources * vib->hidden_size);
}

static size_t most_rows(const struct nvdp__vib *vib, size_t tokens, size_t texts) {
    if (vib->single) return texts;
    return vib->config.length_policy == NVDP_LENGTH_HIDDEN ? texts * vib->config.length : tokens;
}

static nvdp_status plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training,
                        struct nvdp__arena *arena) {
    struct nvdp__vib *vib = self;
    vib->training = training;
    vib->max_tokens = max_tokens;
    vib->max_texts = max_texts;
    vib->max_sources = nvdp__operand_rows(dev, vib->single ? max_texts : max_tokens);
    vib->max_rows = most_rows(vib, max_tokens, max_texts);
    vib->texts = 0;
    if (vib->max_rows > INT32_MAX || max_tokens > INT32_MAX) {
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "a batch of %zu texts: expected at most %d sample rows, found %zu",
                          max_texts, INT32_MAX, vib->max_rows);
    }
    NVDP_RETURN_IF_FAILED(plan_tables(vib));
    if (vib->form == NVDP__VIB_VTDP)
        nvdp__extra_plan(&vib->extra, dev, max_tokens, max_texts, longest, training, arena);
    /* Nothing on a float32 device, where products read the tensors themselves. */
    vib->x_room = nvdp__arena_take_copy(arena, dev, vib->max_sources, vib->hidden_size, NULL);
    vib->dy_room = nvdp__arena_take_copy(arena, dev, vib->max_sources, vib->dim, NULL);
    plan_forward(vib, arena);
    if (training) plan_backward(vib, arena);
    return NVDP_OK;
}

static size_t width(const void *self) {
    const struct nvdp__vib *vib = self;
    return vib->dim;
}

static struct nvdp__form form(const void *self) {
    const struct nvdp__vib *vib = self;
    return (struct nvdp__form){.weights = false, .single = vib->single};
}

/* ---- rows of a sample: one; or, of vtdp, [token 1]...[token n][padding up to L] ---- */

static bool hidden_length(const struct nvdp__vib *vib) {
    return !vib->single && vib->config.length_policy == NVDP_LENGTH_HIDDEN;
}

static nvdp_status check_batch(const struct nvdp__vib *vib, const struct nvdp__batch *batch) {
    if (batch->texts > vib->max_texts || batch->tokens > vib->max_tokens) {
        return nvdp__fail(vib->ctx, NVDP_ERR_STATE,
                          "a batch of %zu texts and %zu tokens exceeds the plan of %zu and %zu",
                          batch->texts, batch->tokens, vib->max_texts, vib->max_tokens);
    }
    for (size_t b = 0; b < batch->texts && hidden_length(vib); b++) {
        size_t n = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        if (n <= vib->config.length) continue;
        return nvdp__fail(
            vib->ctx, NVDP_ERR_ARGUMENT,
            "text %llu of the data set: expected at most length %zu tokens, found %zu: raise "
            "length or shorten the texts",
            (unsigned long long)batch->key[b], vib->config.length, n);
    }
    return NVDP_OK;
}

/* Text b's rows from `row` on; returns where they end. */
static size_t put_text(struct nvdp__vib *vib, const struct nvdp__batch *batch, size_t b,
                       size_t row) {
    vib->offset[b] = (int32_t)row;
    if (vib->single) {
        vib->src[row] = (int32_t)b;
        return row + 1;
    }
    for (int32_t t = batch->offset[b]; t < batch->offset[b + 1]; t++) {
        vib->src[row++] = t;
    }
    while (hidden_length(vib) && row < (size_t)vib->offset[b] + vib->config.length) {
        vib->src[row++] = -1;
    }
    return row;
}

static nvdp_status layout(struct nvdp__vib *vib, const struct nvdp__batch *batch) {
    NVDP_RETURN_IF_FAILED(check_batch(vib, batch));
    size_t row = 0;
    for (size_t b = 0; b < batch->texts; b++) {
        row = put_text(vib, batch, b, row);
    }
    vib->offset[batch->texts] = (int32_t)row;
    vib->texts = batch->texts;
    vib->tokens = batch->tokens;
    vib->sources = vib->single ? batch->texts : batch->tokens;
    vib->rows = row;
    vib->source_offset = vib->single ? vib->offset : batch->offset;
    return NVDP_OK;
}

/* ---- forward ---- */

/* hidden [T, D] -> sources [S, D]. */
static void take_sources(struct nvdp__vib *vib, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const float *hidden) {
    size_t d = vib->hidden_size;
    vib->states = vib->form == NVDP__VIB_VTDP
                      ? nvdp__extra_forward(&vib->extra, dev, params, batch, hidden)
                      : hidden;
    vib->x = vib->single ? vib->pooled_states : vib->states;
    if (!vib->single) return;
    if (vib->config.pool == NVDP_POOL_FIRST) {
        nvdp__rows_gather(dev, batch->texts, d, batch->offset, vib->states, vib->pooled_states);
    } else {
        nvdp__pool_forward(dev, batch->texts, d, batch->offset, NULL, vib->states,
                           vib->pooled_states);
    }
}

/* logvar [S, p] of the sources, not yet clipped. */
static void logvar_forward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const nvdp__operand *x) {
    if (vib->form == NVDP__VIB_VTDP) {
        struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, vib->sources);
        nvdp__linear_to_float(dev, &rho, x, vib->rho_out);
        nvdp__softplus_logvar(dev, vib->sources * vib->dim, vib->rho_out, vib->logvar_out);
        return;
    }
    if (vib->form == NVDP__VIB_LEARNED) {
        nvdp__softplus_logvar(dev, vib->dim, nvdp__value(params, vib->rho_vector), vib->row);
    } else {
        for (size_t i = 0; i < vib->dim; i++)
            vib->stage[i] = (float)(2 * log(vib->config.vib.sigma));
        nvdp__upload(dev, vib->dim, vib->stage, vib->row);
    }
    nvdp__rows_gather(dev, vib->sources, vib->dim, vib->same, vib->row, vib->logvar_out);
}

static nvdp_status infer(void *self, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const float *hidden) {
    struct nvdp__vib *vib = self;
    NVDP_RETURN_IF_FAILED(layout(vib, batch));
    take_sources(vib, dev, params, batch, hidden);
    struct nvdp__linear mu = nvdp__dense_linear(params, &vib->mu, vib->sources);
    const nvdp__operand *x =
        nvdp__rounded(dev, vib->sources * vib->hidden_size, vib->x, vib->x_room);
    nvdp__linear_to_float(dev, &mu, x, vib->mu_out);
    logvar_forward(vib, dev, params, x);
    if (vib->clips)
        nvdp__clip_forward(dev, &vib->clip, vib->sources, vib->dim, vib->mu_out, vib->logvar_out,
                           NULL, vib->mu_norm, vib->logvar_in, NULL);
    return NVDP_OK;
}

static void sample(const void *self, struct nvdp__sample *out) {
    const struct nvdp__vib *vib = self;
    *out = (struct nvdp__sample){.texts = vib->texts,
                                 .rows = vib->rows,
                                 .dim = vib->dim,
                                 .offset = vib->offset,
                                 .z = vib->z};
}

/* Whether the classifier reads one row of a sample alone. */
static bool reads_first(const struct nvdp__vib *vib) {
    return vib->single || vib->config.pool == NVDP_POOL_FIRST;
}

/* The sealed part: sample -> pooled [texts, p]. */
static float *read(struct nvdp__vib *vib, const struct nvdp__device *dev,
                   const struct nvdp__sample *sample) {
    if (reads_first(vib)) {
        nvdp__rows_gather(dev, sample->texts, vib->dim, sample->offset, sample->z, vib->pooled);
    } else {
        nvdp__pool_forward(dev, sample->texts, vib->dim, sample->offset, NULL, sample->z,
                           vib->pooled);
    }
    return vib->pooled;
}

static nvdp_status forward(void *self, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__draw *draw, const float *hidden, float **pooled) {
    struct nvdp__vib *vib = self;
    NVDP_RETURN_IF_FAILED(infer(vib, dev, params, batch, hidden));
    nvdp__gauss_sample(dev, &draw->noise, draw->gauss, draw->epoch, vib->texts, vib->offset,
                       batch->key, vib->dim, vib->src, vib->mu_out, vib->logvar_out, draw->eps,
                       vib->z);
    struct nvdp__sample drawn;
    sample(vib, &drawn);
    *pooled = read(vib, dev, &drawn);
    return NVDP_OK;
}

static nvdp_status check_sample(const struct nvdp__vib *vib, const struct nvdp__sample *sample) {
    if (sample->dim != vib->dim)
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected vectors of width %zu, found width %zu", vib->dim,
                          sample->dim);
    if (sample->texts > vib->max_texts || sample->rows > vib->max_rows)
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "sample: expected at most %zu texts and %zu rows, found %zu and %zu",
                          vib->max_texts, vib->max_rows, sample->texts, sample->rows);
    for (size_t b = 0; b < sample->texts; b++) {
        int32_t rows = sample->offset[b + 1] - sample->offset[b];
        if (rows == 1 || (rows > 1 && !vib->single)) continue;
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "sample of text %zu: expected %s, found %d rows", b,
                          vib->single ? "one row" : "at least one row", (int)rows);
    }
    return NVDP_OK;
}

static nvdp_status forward_sample(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *sample, float **pooled) {
    struct nvdp__vib *vib = self;
    (void)params;
    NVDP_RETURN_IF_FAILED(check_sample(vib, sample));
    *pooled = read(vib, dev, sample);
    return NVDP_OK;
}

/* ---- losses and gradients ---- */

static enum nvdp__kl_form form_of(const struct nvdp__vib *vib) {
    return vib->config.regularizer == NVDP_REGULARIZER_KL ? NVDP__KL_EXACT : NVDP__KL_PUBLISHED;
}

static void losses(void *self, const struct nvdp__device *dev, double *loss_g, double *loss_d) {
    struct nvdp__vib *vib = self;
    nvdp__gaussian_losses(dev, form_of(vib), 0, vib->texts, vib->source_offset, vib->dim,
                          vib->mu_out, vib->logvar_out, loss_g, NULL, NULL);
    for (size_t b = 0; b < vib->texts; b++) {
        loss_d[b] = 0;
    }
}

/* Pooled vector and losses to mu and logvar, as they were before clipping. */
static void sample_backward(struct nvdp__vib *vib, const struct nvdp__device *dev, double weight,
                            const float *d_pooled) {
    size_t wide = vib->sources * vib->dim;
    if (reads_first(vib)) {
        nvdp__zero(dev, vib->rows * vib->dim, vib->d_z);
        nvdp__rows_scatter_add(dev, vib->texts, vib->dim, vib->offset, d_pooled, vib->d_z);
    } else {
        nvdp__pool_backward(dev, vib->texts, vib->dim, vib->offset, NULL, vib->z, d_pooled,
                            vib->d_z, NULL);
    }
    nvdp__zero(dev, wide, vib->d_mu);
    nvdp__zero(dev, wide, vib->d_logvar);
    nvdp__gauss_sample_backward(dev, vib->rows, vib->dim, vib->src, vib->mu_out, vib->z, vib->d_z,
                                vib->d_mu, vib->d_logvar);
    nvdp__gaussian_losses(dev, form_of(vib), weight, vib->texts, vib->source_offset, vib->dim,
                          vib->mu_out, vib->logvar_out, NULL, vib->d_mu, vib->d_logvar);
    if (vib->clips)
        nvdp__clip_backward(dev, &vib->clip, vib->sources, vib->dim, vib->mu_out, vib->mu_norm,
                            vib->logvar_in, NULL, vib->d_mu, vib->d_logvar, NULL);
}

/* d_x, the gradient of the sources, to that of the states: set. */
static void sources_backward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                             const struct nvdp__batch *batch, float *d_states) {
    size_t d = vib->hidden_size;
    if (vib->config.pool == NVDP_POOL_FIRST) {
        nvdp__zero(dev, batch->tokens * d, d_states);
        nvdp__rows_scatter_add(dev, batch->texts, d, batch->offset, vib->d_x, d_states);
    } else {
        nvdp__pool_backward(dev, batch->texts, d, batch->offset, NULL, vib->states, vib->d_x,
                            d_states, NULL);
    }
}

/* d_logvar [S, p] (overwritten) to the parameters; d_x [S, D] is added to. */
static void logvar_backward(struct nvdp__vib *vib, const struct nvdp__device *dev,
                            const struct nvdp__params *params, nvdp__operand *x, float *d_x) {
    if (vib->form == NVDP__VIB_VTDP) {
        size_t wide = vib->sources * vib->dim;
        struct nvdp__linear rho = nvdp__dense_linear(params, &vib->rho, vib->sources);
        nvdp__softplus_logvar_backward(dev, wide, vib->rho_out, vib->d_logvar, vib->d_logvar);
        nvdp__operand *dy = nvdp__rounded(dev, wide, vib->d_logvar, vib->dy_room);
        nvdp__linear_params_backward(dev, &rho, x, dy);
        nvdp__linear_back_to_float(dev, &rho, dy, true, d_x);
    }
    if (vib->form == NVDP__VIB_LEARNED) {
        nvdp__zero(dev, vib->dim, vib->d_row);
        nvdp__rows_scatter_add(dev, vib->sources, vib->dim, vib->same, vib->d_logvar, vib->d_row);
        nvdp__softplus_logvar_backward(dev, vib->dim, nvdp__value(params, vib->rho_vector),
                                       vib->d_row, vib->d_row);
        nvdp__add(dev, vib->dim, vib->d_row, nvdp__grad(params, vib->rho_vector));
    }
}

static void backward(void *self, const struct nvdp__device *dev, const struct nvdp__params *params,
                     const struct nvdp__batch *batch, const float *hidden, double weight_g,
                     double weight_d, float *d_pooled, float *d_hidden) {
    struct nvdp__vib *vib = self;
    (void)hidden;
    (void)weight_d;
    sample_backward(vib, dev, weight_g, d_pooled);
    float *d_x = vib->single ? vib->d_x : d_hidden;
    struct nvdp__linear mu = nvdp__dense_linear(params, &vib->mu, vib->sources);
    nvdp__operand *x = nvdp__rounded(dev, vib->sources * vib->hidden_size, vib->x, vib->x_room);
    nvdp__operand *dy = nvdp__rounded(dev, vib->sources * vib->dim, vib->d_mu, vib->dy_room);
    nvdp__linear_params_backward(dev, &mu, x, dy);
    nvdp__linear_back_to_float(dev, &mu, dy, false, d_x);
    logvar_backward(vib, dev, params, x, d_x);
    if (vib->single) sources_backward(vib, dev, batch, d_hidden);
    if (vib->form == NVDP__VIB_VTDP)
        nvdp__extra_backward(&vib->extra, dev, params, batch, d_hidden);
}

/* ---- posterior ---- */

static nvdp_status posterior(const void *self, const struct nvdp__device *dev,
                             const struct nvdp__batch *batch, size_t first_row,
                             struct nvdp_posteriors *out) {
    const struct nvdp__vib *vib = self;
    size_t rows = out->offset[out->texts];
    (void)batch;
    if (out->dim != vib->dim || out->alpha != NULL || first_row > rows ||
        rows - first_row < vib->sources)
        return nvdp__fail(vib->ctx, NVDP_ERR_ARGUMENT,
                          "posteriors: expected no pseudo-counts, width %zu and room for %zu rows "
                          "from row %zu, found width %zu and %zu rows",
                          vib->dim, vib->sources, first_row, out->dim, rows);
    nvdp__copy_gaussians(dev, vib->sources, vib->mu_out, vib->logvar_out, vib->stage, first_row,
                         out);
    return NVDP_OK;
}

#define VIB(label, which)                                                                          \
    {                                                                                              \
        .name = label, .variant = which, .private_ = true, .resolve = resolve, .create = create,   \
        .release = release, .wants_hidden = wants_hidden, .initialise = initialise, .plan = plan,  \
        .width = width, .form = form, .forward = forward, .infer = infer,                          \
        .forward_sample = forward_sample, .sample = sample, .losses = losses,                      \
        .backward = backward, .posterior = posterior                                               \
    }

const struct nvdp__mechanism nvdp__mechanisms_vib[] = {
    [NVDP__VIB_FIXED] = VIB("vib-fixed", NVDP__VIB_FIXED),
    [NVDP__VIB_LEARNED] = VIB("vib-learned", NVDP__VIB_LEARNED),
    [NVDP__VIB_VTDP] = VIB("vtdp", NVDP__VIB_VTDP),
};
