/* The life of a mechanism without weights: create, plan, forward, losses, backward, export. */
#include "vib/vib.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void nvdp__vib_release(void *self) {
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
    if (vib->kind->extra)
        NVDP_RETURN_IF_FAILED(nvdp__extra_declare(&vib->extra, vib->bert, "vtdp", params));
    NVDP_RETURN_IF_FAILED(nvdp__declare_dense(params, "vib.mu", vib->dim, vib->hidden_size,
                                              NVDP__PARAM_OPTIONAL, &vib->mu));
    return vib->kind->declare != NULL ? vib->kind->declare(vib, params) : NVDP_OK;
}

nvdp_status nvdp__vib_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                             const struct nvdp_nvib_config *config,
                             const struct nvdp__vib_kind *kind, struct nvdp__params *params,
                             void **self) {
    nvdp_status status = NVDP_OK;
    struct nvdp_nvib_config resolved = *config;
    NVDP_RETURN_IF_FAILED(kind->resolve(ctx, &bert->config, &resolved));
    struct nvdp__vib *vib = nvdp__calloc(ctx, 1, sizeof *vib);
    if (vib == NULL) return NVDP_ERR_MEMORY;
    vib->ctx = ctx;
    vib->bert = bert;
    vib->kind = kind;
    vib->config = resolved;
    vib->hidden_size = bert->config.hidden_size;
    vib->dim = resolved.latent_dim;
    vib->single = kind->tokens == NULL || !kind->tokens(&resolved);
    vib->clip = nvdp__clip_set(&resolved.clip);
    vib->clips = nvdp__clips(&resolved.clip);
    NVDP_TRY(declare(vib, params));
    *self = vib;
    vib = NULL;
cleanup:
    nvdp__vib_release(vib);
    return status;
}

/* A narrow latent starts from the principal directions of what the encoder says. */
bool nvdp__vib_wants_hidden(const void *self) {
    const struct nvdp__vib *vib = self;
    return vib->dim < vib->hidden_size;
}

/* softplus(rho) = e^(logvar/2). */
static double start_rho(const struct nvdp_nvib_config *config) {
    double sigma = exp(0.5 * nvdp__start_logvar(config));
    return sigma + log(-expm1(-sigma));
}

nvdp_status nvdp__vib_initialise(void *self, const struct nvdp__device *dev,
                                 struct nvdp__params *params, uint64_t seed, size_t rows,
                                 const float *hidden) {
    struct nvdp__vib *vib = self;
    if (vib->kind->initialise != NULL)
        vib->kind->initialise(vib, dev, params, start_rho(&vib->config));
    return nvdp__means_initialise(vib->ctx, dev, params, &vib->mu, vib->config.mu_tau, seed, rows,
                                  hidden);
}

/* --- plan --- */

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
    if (vib->kind->extra) {
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

nvdp_status nvdp__vib_plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
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
    if (vib->kind->extra)
        nvdp__extra_plan(&vib->extra, dev, max_tokens, max_texts, longest, training, arena);
    /* Nothing on a float32 device, where products read the tensors themselves. */
    vib->x_room = nvdp__arena_take_copy(arena, dev, vib->max_sources, vib->hidden_size, NULL);
    vib->dy_room = nvdp__arena_take_copy(arena, dev, vib->max_sources, vib->dim, NULL);
    plan_forward(vib, arena);
    if (training) plan_backward(vib, arena);
    return NVDP_OK;
}

size_t nvdp__vib_width(const void *self) {
    const struct nvdp__vib *vib = self;
    return vib->dim;
}

struct nvdp__form nvdp__vib_form(const void *self) {
    const struct nvdp__vib *vib = self;
    return (struct nvdp__form){.weights = false, .single = vib->single};
}

/* --- forward --- */

/* hidden [T, D] -> sources [S, D]. */
static void take_sources(struct nvdp__vib *vib, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const float *hidden) {
    size_t d = vib->hidden_size;
    vib->states =
        vib->kind->extra ? nvdp__extra_forward(&vib->extra, dev, params, batch, hidden) : hidden;
    vib->x = vib->single ? vib->pooled_states : vib->states;
    if (!vib->single) return;
    if (vib->config.pool == NVDP_POOL_FIRST) {
        nvdp__rows_gather(dev, batch->texts, d, batch->offset, vib->states, vib->pooled_states);
    } else {
        nvdp__pool_forward(dev, batch->texts, d, batch->offset, NULL, vib->states,
                           vib->pooled_states);
    }
}

nvdp_status nvdp__vib_infer(void *self, const struct nvdp__device *dev,
                            const struct nvdp__params *params, const struct nvdp__batch *batch,
                            const float *hidden) {
    struct nvdp__vib *vib = self;
    NVDP_RETURN_IF_FAILED(nvdp__vib_layout(vib, batch));
    take_sources(vib, dev, params, batch, hidden);
    struct nvdp__linear mu = nvdp__dense_linear(params, &vib->mu, vib->sources);
    const nvdp__operand *x =
        nvdp__rounded(dev, vib->sources * vib->hidden_size, vib->x, vib->x_room);
    nvdp__linear_to_float(dev, &mu, x, vib->mu_out);
    vib->kind->forward(vib, dev, params, x);
    if (vib->clips)
        nvdp__clip_forward(dev, &vib->clip, vib->sources, vib->dim, vib->mu_out, vib->logvar_out,
                           NULL, vib->mu_norm, vib->logvar_in, NULL);
    return NVDP_OK;
}

void nvdp__vib_sample(const void *self, struct nvdp__sample *out) {
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

nvdp_status nvdp__vib_forward(void *self, const struct nvdp__device *dev,
                              const struct nvdp__params *params, const struct nvdp__batch *batch,
                              const struct nvdp__draw *draw, const float *hidden, float **pooled) {
    struct nvdp__vib *vib = self;
    NVDP_RETURN_IF_FAILED(nvdp__vib_infer(vib, dev, params, batch, hidden));
    nvdp__gauss_sample(dev, &draw->noise, draw->gauss, draw->epoch, vib->texts, vib->offset,
                       batch->key, vib->dim, vib->src, vib->mu_out, vib->logvar_out, draw->eps,
                       vib->z);
    struct nvdp__sample drawn;
    nvdp__vib_sample(vib, &drawn);
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

nvdp_status nvdp__vib_forward_sample(void *self, const struct nvdp__device *dev,
                                     const struct nvdp__params *params,
                                     const struct nvdp__sample *sample, float **pooled) {
    struct nvdp__vib *vib = self;
    (void)params;
    NVDP_RETURN_IF_FAILED(check_sample(vib, sample));
    *pooled = read(vib, dev, sample);
    return NVDP_OK;
}

/* --- losses and gradients --- */

static enum nvdp__kl_form form_of(const struct nvdp__vib *vib) {
    return vib->config.regularizer == NVDP_REGULARIZER_KL ? NVDP__KL_EXACT : NVDP__KL_PUBLISHED;
}

void nvdp__vib_losses(void *self, const struct nvdp__device *dev, double *loss_g, double *loss_d) {
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

void nvdp__vib_backward(void *self, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const float *hidden, double weight_g, double weight_d, float *d_pooled,
                        float *d_hidden) {
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
    if (vib->kind->backward != NULL) vib->kind->backward(vib, dev, params, x, d_x);
    if (vib->single) sources_backward(vib, dev, batch, d_hidden);
    if (vib->kind->extra) nvdp__extra_backward(&vib->extra, dev, params, batch, d_hidden);
}

/* --- posterior --- */

nvdp_status nvdp__vib_posterior(const void *self, const struct nvdp__device *dev,
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
