/* The posterior of the tokens x_1 ... x_n in R^D (Henderson & Fehr 2023, section 3;
 * docs/nvib.md):
 *
 *     mu_i     = W_mu x_i + b_mu
 *     logvar_i = W_v  x_i + b_v
 *     log a_i  = w2.(x_i * x_i) + w1.x_i + b       the quadratic projection
 *
 * A clip set then projects the posterior; a sequence clip projects the means of a text together onto a ball, with
 * variances 1 (clip.c). log a_i is summed in double, because its terms are of the size of |x|^2 and cancel. */
#include "nvib/nvib.h"
#include "tensor/per_example.h"
#include "tensor/vector.h"

NVDP__CLONES static void quadratic_lanes(size_t n, const float *x, const float *w2, const float *w1,
                                         double *lane) {
    for (size_t i = 0; i + NVDP__LANES <= n; i += NVDP__LANES) {
        for (size_t k = 0; k < NVDP__LANES; k++) {
            double v = x[i + k];
            lane[k] += v * (w2[i + k] * v + w1[i + k]);
        }
    }
}

/* Returns sum_i x_i (w2_i x_i + w1_i), in double. */
static double quadratic(size_t n, const float *x, const float *w2, const float *w1) {
    double lane[NVDP__LANES] = {0};
    quadratic_lanes(n, x, w2, w1, lane);
    for (size_t i = n - n % NVDP__LANES; i < n; i++) {
        lane[0] += (double)x[i] * ((double)w2[i] * x[i] + w1[i]);
    }
    return nvdp__lane_sum(lane);
}

void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const struct nvdp__quadratic *w, float *log_alpha) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, rows, dim))
    for (size_t t = 0; t < rows; t++) {
        log_alpha[t] = (float)(quadratic(dim, x + t * dim, w->w2, w->w1) + w->b[0]);
    }
}

/* With g = dL/d log a of a row:
 *     dx  += g (2 w2 * x + w1)
 *     dw2 += g x * x
 *     dw1 += g x
 *     db  += g */
NVDP__CLONES static void quadratic_dx(size_t n, float dy, const float *x, const float *w2,
                                      const float *w1, float *dx) {
    for (size_t i = 0; i < n; i++) {
        dx[i] += dy * (2 * w2[i] * x[i] + w1[i]);
    }
}

/* Computes some columns of all rows, in row order. */
NVDP__CLONES static void quadratic_dw(size_t rows, size_t dim, size_t width, const float *x,
                                      const float *dy, double *sum2, double *sum1) {
    for (size_t t = 0; t < rows; t++) {
        double g = dy[t];
        const float *row = x + t * dim;
        for (size_t i = 0; i < width; i++) {
            double v = row[i];
            sum1[i] += g * v;
            sum2[i] += g * v * v;
        }
    }
}

void nvdp__quadratic_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *x, const struct nvdp__quadratic *w,
                              const float *dlog_alpha, float *dx,
                              const struct nvdp__quadratic *dw) {
    double bias = 0;
    for (size_t t = 0; t < rows; t++) {
        bias += dlog_alpha[t];
    }
    if (dw != NULL) dw->b[0] += (float)bias;
    size_t strips = dw != NULL ? nvdp__blocks(dim, NVDP__COLUMNS) : 0;
#pragma omp parallel num_threads(nvdp__matrix_team(dev, rows, dim))
    {
#pragma omp for nowait
        for (size_t t = 0; t < rows; t++) {
            quadratic_dx(dim, dlog_alpha[t], x + t * dim, w->w2, w->w1, dx + t * dim);
        }
#pragma omp for
        for (size_t s = 0; s < strips; s++) {
            size_t first = s * NVDP__COLUMNS;
            size_t width = nvdp__block_length(dim, NVDP__COLUMNS, s);
            double sum2[NVDP__COLUMNS] = {0};
            double sum1[NVDP__COLUMNS] = {0};
            quadratic_dw(rows, dim, width, x + first, dlog_alpha, sum2, sum1);
            for (size_t i = 0; i < width; i++) {
                dw->w2[first + i] += (float)sum2[i];
                dw->w1[first + i] += (float)sum1[i];
            }
        }
    }
}

/* ---- mu, logvar and log alpha, clipped ---- */

static struct nvdp__quadratic alpha_weights(const struct nvdp__nvib *nvib,
                                            const struct nvdp__params *params) {
    return (struct nvdp__quadratic){nvdp__value(params, nvib->alpha_quadratic),
                                    nvdp__value(params, nvib->alpha_weight),
                                    nvdp__value(params, nvib->alpha_bias)};
}

void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in) {
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__gauss *g = &nvib->gauss;
    const struct nvdp__tensor x = nvdp__f32(g->rows.sources, g->hidden_size, in->hidden);
    nvdp__means_forward(g, dev, in->params, x);
    if (!g->sequence) {
        struct nvdp__linear logvar = nvdp__dense_linear(in->params, &nvib->logvar, x.rows);
        nvdp__dense_forward(dev, &logvar, x, nvdp__f32(x.rows, g->dim, g->posterior.logvar));
    }
    if (g->form.weights) {
        struct nvdp__quadratic alpha = alpha_weights(nvib, in->params);
        nvdp__quadratic_forward(dev, x.rows, g->hidden_size, in->hidden, &alpha,
                                g->posterior.log_alpha);
    }
    nvdp__gauss_clip(g, dev);
}

void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in,
                                   float *d_hidden) {
    const struct nvdp__device *dev = in->dev;
    const struct nvdp__gauss *g = &nvib->gauss;
    const size_t rows = g->rows.sources, dim = g->hidden_size;
    const struct nvdp__tensor x = nvdp__f32(rows, dim, in->hidden),
                              dx = nvdp__f32(rows, dim, d_hidden);
    nvdp__gauss_clip_backward(g, dev);
    nvdp__means_backward(g, dev, in->params, x, dx);
    if (!g->sequence) {
        struct nvdp__linear logvar = nvdp__dense_linear(in->params, &nvib->logvar, rows);
        logvar.offset = g->rows.source_offset;
        nvdp__dense_backward(dev, &logvar, x, nvdp__f32(rows, g->dim, g->d.logvar), dx, true);
    }
    if (!g->form.weights) return;
    struct nvdp__quadratic alpha = alpha_weights(nvib, in->params);
    const struct nvdp__quadratic d_alpha = {nvdp__grad(in->params, nvib->alpha_quadratic),
                                            nvdp__grad(in->params, nvib->alpha_weight),
                                            nvdp__grad(in->params, nvib->alpha_bias)};
    if (dev->per_example == NULL) {
        nvdp__quadratic_backward(dev, rows, dim, in->hidden, &alpha, g->d.log_alpha, d_hidden,
                                 &d_alpha);
        return;
    }
    const struct nvdp__quadratic each = {nvdp__per_example_vectors(dev, d_alpha.w2, dim),
                                         nvdp__per_example_vectors(dev, d_alpha.w1, dim),
                                         nvdp__per_example_vectors(dev, d_alpha.b, 1)};
    for (size_t b = 0; b < g->rows.texts; b++) {
        size_t first = (size_t)in->batch->offset[b], next = (size_t)in->batch->offset[b + 1];
        struct nvdp__quadratic own = {0};
        if (each.b != NULL)
            own = (struct nvdp__quadratic){each.w2 + b * dim, each.w1 + b * dim, each.b + b};
        nvdp__quadratic_backward(dev, next - first, dim, in->hidden + first * dim, &alpha,
                                 g->d.log_alpha + first, d_hidden + first * dim,
                                 each.b != NULL ? &own : NULL);
    }
}

/* ---- initial values ---- */

/* Initializes the block as a copy of the encoder's last layer if that layer belongs to BERT's family and has the
 * right sizes; else at random. With a residual, the initial values are always random. The block then begins as
 * little more than the query's own row, whereas a trained layer would mix the noise of all rows into that row. */
static void initialize_block(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                             struct nvdp__params *params, uint64_t seed) {
    struct nvdp__sealed_block *block = &nvib->block;
    const struct nvdp__gauss *g = &nvib->gauss;
    const struct nvdp__bert_layer *last =
        g->bert->layer != NULL ? &g->bert->layer[g->bert->config.num_hidden_layers - 1] : NULL;
    if (g->dim != g->hidden_size || last == NULL || !nvdp__declared(&last->key) ||
        block->residual) {
        nvdp__block_initialize(block, dev, params, 0.02, seed);
        return;
    }
    const struct nvdp__dense *copy[][2] = {
        {&last->query, &block->query},
        {&last->key, &block->key},
        {&last->value, &block->value},
        {&last->attention_output, &block->attention_output},
        {&last->attention_norm, &block->attention_norm},
        {&last->intermediate, &block->intermediate},
        {&last->output, &block->output},
        {&last->output_norm, &block->output_norm},
    };
    for (size_t i = 0; i < sizeof copy / sizeof copy[0]; i++)
        nvdp__dense_copy(dev, params, copy[i][0], copy[i][1]);
}

/*     W_mu = mu_tau I, or for p < D the principal directions of the encoder's outputs, scaled
 *     W_v  = 0,  b_v = 2 log stdev_tau, moved inside the clip set
 *     w2   = (p/D) / (2 sqrt h),  w1 = 0,  b = alpha_tau
 * |mu|^2 is about p/D of |x|^2, so log a_i begins near |mu|^2/(2 sqrt h) + alpha_tau, and denoising
 * attention subtracts |z|^2/(2 sqrt h). */
nvdp_status nvdp__nvib_initialize(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden) {
    struct nvdp__nvib *nvib = self;
    const struct nvdp__gauss *g = &nvib->gauss;
    const struct nvdp__nvib_config *config = &g->config;
    double d = (double)g->hidden_size;
    double p = (double)g->dim;
    double head_dim = p / (double)nvib->block.heads;
    NVDP_TRY(nvdp__gauss_initialize(g, dev, params, seed, rows, hidden));
    if (!g->sequence) {
        nvdp__params_fill(dev, params, nvib->logvar.weight, 0);
        nvdp__params_fill(dev, params, nvib->logvar.bias, (float)nvdp__start_logvar(config));
    }
    if (g->form.weights) {
        double w2 = p / d / (2 * sqrt(head_dim));
        nvdp__params_fill(dev, params, nvib->alpha_quadratic, (float)w2);
        nvdp__params_fill(dev, params, nvib->alpha_weight, 0);
        nvdp__params_fill(dev, params, nvib->alpha_bias, (float)config->alpha_tau);
    }
    initialize_block(nvib, dev, params, seed);
    return NVDP_OK;
}
