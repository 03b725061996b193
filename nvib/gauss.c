/* The parts that all Gaussian mechanisms share (nvib.c, vib/vib.c, vib/word.c, vib/sentence.c): memory, the layer of
 * the means with the gains of rows and the clips, the sample, and the gradients of the sample. */
#include "nvib/nvib.h"
#include "tensor/per_example.h"
#include "tensor/vector.h"

#include <stdlib.h>
#include <string.h>

/* ---- the rows of a batch's sample ---- */

/* Plans the rows for batches of so many tokens and texts. Fails with NVDP_ERR_ARGUMENT if the rows cannot be
 * numbered. */
static nvdp_status plan_rows(struct nvdp_context *ctx, const struct nvdp__form *form,
                             size_t max_tokens, size_t max_texts,
                             struct nvdp__sample_rows *layout) {
    size_t sources = form->single ? max_texts : max_tokens;
    size_t padded = form->length > 0 ? max_texts * form->length : sources;
    layout->max_texts = max_texts;
    layout->max_tokens = max_tokens;
    layout->max_sources = sources;
    layout->max_rows = ((form->weights ? max_texts : 0) + padded) * (size_t)form->kappa;
    layout->texts = 0;
    if (layout->max_rows > INT32_MAX || max_tokens > INT32_MAX)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "batch: %zu texts: expected at most %d sample rows, found %zu; use a smaller batch",
            max_texts, INT32_MAX, layout->max_rows);
    NVDP_TRY(nvdp__reserve(ctx, &layout->offset, &layout->offset_capacity, max_texts + 1,
                           sizeof *layout->offset));
    return nvdp__reserve(ctx, &layout->src, &layout->src_capacity, layout->max_rows,
                         sizeof *layout->src);
}

/* Numbers the rows of a batch. Fails with NVDP_ERR_STATE for a batch beyond the plan, and with NVDP_ERR_ARGUMENT for
 * a text longer than `length`. */
static nvdp_status fill_rows(struct nvdp_context *ctx, const struct nvdp__form *form,
                             const struct nvdp__batch *batch, struct nvdp__sample_rows *layout) {
    if (batch->texts > layout->max_texts || batch->tokens > layout->max_tokens)
        return nvdp__fail(
            ctx, NVDP_ERR_STATE,
            "batch: %zu texts and %zu tokens exceed the planned maximum of %zu and %zu",
            batch->texts, batch->tokens, layout->max_texts, layout->max_tokens);
    for (size_t b = 0; b < batch->texts && form->length > 0 && !form->single; b++) {
        size_t tokens = (size_t)(batch->offset[b + 1] - batch->offset[b]);
        if (tokens <= form->length) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "text %llu of the data set: expected at most length %zu tokens, found "
                          "%zu; raise length, or shorten the texts",
                          (unsigned long long)batch->key[b], form->length, tokens);
    }
    size_t row = 0;
    for (size_t b = 0; b < batch->texts; b++) {
        int32_t first = form->single ? (int32_t)b : batch->offset[b];
        size_t tokens = form->single ? 1 : (size_t)(batch->offset[b + 1] - first);
        size_t rows = nvdp__form_rows(form, tokens);
        layout->offset[b] = (int32_t)row;
        for (size_t r = 0; r < rows; r++) {
            int64_t source = nvdp__form_source(form, tokens, r);
            layout->src[row++] = (int32_t)(source < 0 ? source : first + source);
        }
    }
    layout->offset[batch->texts] = (int32_t)row;
    layout->texts = batch->texts;
    layout->tokens = batch->tokens;
    layout->sources = form->single ? batch->texts : batch->tokens;
    layout->rows = row;
    layout->source_offset = form->single ? layout->offset : batch->offset;
    layout->key = batch->key;
    return NVDP_OK;
}

/* Returns the sample of the rows of a batch; log_pi is NULL if there are no weights. */
static struct nvdp__sample make_sample(const struct nvdp__sample_rows *layout, size_t dim,
                                       const float *z, const float *log_pi) {
    return (struct nvdp__sample){.texts = layout->texts,
                                 .rows = layout->rows,
                                 .dim = dim,
                                 .offset = layout->offset,
                                 .z = z,
                                 .log_pi = log_pi};
}

/* ---- memory ---- */

struct nvdp__gauss nvdp__gauss_make(const struct nvdp__mechanism *mechanism,
                                    struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    const struct nvdp__nvib_config *config, struct nvdp__form of) {
    const bool sequence = nvdp__clips_sequence(&config->clip);
    return (struct nvdp__gauss){.mechanism = mechanism,
                                .ctx = ctx,
                                .bert = bert,
                                .config = *config,
                                .form = nvdp__make_form(config, of),
                                .hidden_size = bert->config.hidden_size,
                                .dim = config->latent_dim,
                                .clip = nvdp__clip_applied(&config->clip),
                                .clips = of.weights || !sequence,
                                .sequence = sequence,
                                .gains =
                                    !of.single && config->row_index == NVDP__ROW_INDEX_TRAINED};
}

void nvdp__gauss_release(void *self) {
    struct nvdp__gauss *g = self;
    if (g == NULL) return;
    free(g->rows.offset);
    free(g->rows.src);
    free(g);
}

bool nvdp__gauss_wants_hidden(const void *self) {
    const struct nvdp__gauss *g = self;
    return g->dim < g->hidden_size;
}

struct nvdp__view nvdp__gauss_view(const void *self) {
    const struct nvdp__gauss *g = self;
    return (struct nvdp__view){g->dim, g->form, &g->posterior,
                               make_sample(&g->rows, g->dim, g->z, g->log_pi)};
}

size_t nvdp__gauss_replaced(const void *self) {
    const struct nvdp__gauss *g = self;
    return nvdp__clip_replaced(&g->rows, g->dim, &g->before, g->factor);
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

nvdp_status nvdp__gauss_plan(struct nvdp__gauss *g, const struct nvdp__device *dev,
                             size_t max_tokens, size_t max_texts, bool training,
                             struct nvdp__arena *arena) {
    const bool weights = g->form.weights;
    NVDP_TRY(plan_rows(g->ctx, &g->form, max_tokens, max_texts, &g->rows));
    const size_t p = g->dim, sources = nvdp__padded_rows(dev, g->rows.max_sources);
    const size_t rows = nvdp__padded_rows(dev, g->rows.max_rows);
    g->posterior = take_posterior(arena, sources, p, weights);
    if (g->clips) g->before = nvdp__unclipped_plan(arena, sources, p, weights);
    if (g->sequence) g->factor = nvdp__arena_take(arena, max_texts);
    if (g->gains) g->ungained = nvdp__arena_take(arena, sources * p);
    g->z = nvdp__arena_take(arena, rows * p);
    if (weights) g->log_pi = nvdp__arena_take(arena, rows);
    if (!training) return NVDP_OK;
    g->d = take_posterior(arena, sources, p, weights);
    g->d_z = nvdp__arena_take(arena, rows * p);
    return NVDP_OK;
}

nvdp_status nvdp__gauss_fill(struct nvdp__gauss *g, const struct nvdp__batch *batch) {
    NVDP_TRY(fill_rows(g->ctx, &g->form, batch, &g->rows));
    g->posterior.rows = g->rows.sources;
    return NVDP_OK;
}

/* ---- the layer of the means ----
 *
 *     mu_i = g_i (W_mu x_i + b_mu)      g_i the gain of the i-th row of a text, if there are gains
 *
 * The rows of a sample have a public order, so the sender may spend the norm of the sequence clip on a few of them.
 * At the start, the first row gets most of the norm: an equal share of n rows would be only 1/sqrt(n) of the norm,
 * too little to learn from. */

nvdp_status nvdp__means_declare(struct nvdp__gauss *g, struct nvdp__params *params,
                                const char *name) {
    char gain[32];
    nvdp__snprintf(gain, sizeof gain, "%s.gain", name);
    NVDP_TRY(
        nvdp__declare_dense(params, name, g->dim, g->hidden_size, NVDP__PARAM_OPTIONAL, &g->mu));
    if (!g->gains) return NVDP_OK;
    return nvdp__params_add(params, gain, 1, g->form.length, 1, NVDP__PARAM_OPTIONAL, &g->row_gain);
}

nvdp_status nvdp__gauss_initialize(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                                   struct nvdp__params *params, uint64_t seed, size_t rows,
                                   const float *hidden) {
    const float first = 1;
    if (g->gains) {
        nvdp__params_fill(dev, params, g->row_gain, first / (float)g->form.length);
        nvdp__upload(dev, 1, &first, nvdp__value(params, g->row_gain));
    }
    return nvdp__means_initialize(g->ctx, dev, params, &g->mu, g->config.mu_tau, seed, rows,
                                  hidden);
}

/* Computes y_i = g_i x_i; x and y may share memory. */
static void gain_forward(const struct nvdp__device *dev, const struct nvdp__sample_rows *layout,
                         size_t dim, const float *gain, const float *x, float *y) {
    const int32_t *offset = layout->source_offset;
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, (size_t)offset[layout->texts], dim))
    for (size_t b = 0; b < layout->texts; b++) {
        for (int32_t r = offset[b]; r < offset[b + 1]; r++) {
            float g = gain[r - offset[b]];
            for (size_t i = (size_t)r * dim; i < ((size_t)r + 1) * dim; i++)
                y[i] = g * x[i];
        }
    }
}

/* Turns d.mu into the gradient of the means before the gains:
 *     dx_i   = g_i dy_i
 *     dg_i  += sum over texts of dy_i.x_i */
static void gain_backward(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                          const struct nvdp__params *params) {
    const size_t dim = g->dim, length = g->form.length;
    const int32_t *offset = g->rows.source_offset;
    const bool each = dev->per_example != NULL;
    float *d_gain = nvdp__grad(params, g->row_gain);
    if (each) d_gain = nvdp__per_example_vectors(dev, d_gain, length);
    for (size_t b = 0; b < g->rows.texts && d_gain != NULL; b++) {
        float *to = each ? d_gain + b * length : d_gain;
        for (int32_t r = offset[b]; r < offset[b + 1]; r++) {
            size_t at = (size_t)r * dim;
            to[r - offset[b]] += (float)nvdp__dot_f64(dim, g->d.mu + at, g->ungained + at);
        }
    }
    gain_forward(dev, &g->rows, dim, nvdp__value(params, g->row_gain), g->d.mu, g->d.mu);
}

void nvdp__means_forward(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                         const struct nvdp__params *params, struct nvdp__tensor x) {
    struct nvdp__linear mu = nvdp__dense_linear(params, &g->mu, x.rows);
    float *y = g->gains ? g->ungained : g->posterior.mu;
    nvdp__dense_forward(dev, &mu, x, nvdp__f32(x.rows, g->dim, y));
    if (g->gains)
        gain_forward(dev, &g->rows, g->dim, nvdp__value(params, g->row_gain), y, g->posterior.mu);
}

void nvdp__means_backward(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                          const struct nvdp__params *params, struct nvdp__tensor x,
                          struct nvdp__tensor dx) {
    struct nvdp__linear mu = nvdp__dense_linear(params, &g->mu, x.rows);
    mu.offset = g->rows.source_offset;
    if (g->gains) gain_backward(g, dev, params);
    nvdp__dense_backward(dev, &mu, x, nvdp__f32(x.rows, g->dim, g->d.mu), dx, false);
}

/* ---- the clips ---- */

void nvdp__gauss_clip(const struct nvdp__gauss *g, const struct nvdp__device *dev) {
    if (g->sequence)
        nvdp__clip_sequence_forward(dev, g->config.clip.sequence, g->rows.texts,
                                    g->rows.source_offset, &g->posterior, g->factor);
    if (g->clips) nvdp__clip_forward(dev, &g->clip, &g->posterior, &g->before);
}

void nvdp__gauss_clip_backward(const struct nvdp__gauss *g, const struct nvdp__device *dev) {
    if (g->clips) nvdp__clip_backward(dev, &g->clip, &g->posterior, &g->before, &g->d);
    if (g->sequence)
        nvdp__clip_sequence_backward(dev, g->rows.texts, g->rows.source_offset, &g->posterior,
                                     g->factor, &g->d);
}

/* ---- gradients of the sample and of the regularizer ---- */

void nvdp__gauss_backward(struct nvdp__gauss *g, const struct nvdp__device *dev, const float *d_z) {
    g->d.rows = g->rows.sources;
    nvdp__zero(dev, g->d.rows * g->dim, g->d.mu);
    nvdp__zero(dev, g->d.rows * g->dim, g->d.logvar);
    nvdp__gauss_sample_backward(dev, &g->rows, &g->posterior, g->z, d_z, &g->d);
}

void nvdp__gauss_losses(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                        const struct nvdp__penalty *penalty) {
    nvdp__gaussian_losses(dev, g->config.regularizer, penalty->weight_g, g->rows.texts,
                          g->rows.source_offset, &g->posterior, &g->d, penalty->loss_g);
    memset(penalty->loss_d, 0, g->rows.texts * sizeof *penalty->loss_d);
}
