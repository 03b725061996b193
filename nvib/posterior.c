/* The posterior of the tokens x_1 ... x_n in R^D (Henderson & Fehr 2023, section 3;
 * docs/nvib.md):
 *
 *     mu_i     = W_mu x_i + b_mu
 *     logvar_i = W_v  x_i + b_v
 *     log a_i  = w2.(x_i * x_i) + w1.x_i + b       the quadratic projection
 *
 * If there is a clip set, the posterior is then projected onto it; or the means of a text are
 * together projected onto a ball, with variances 1 (clip.c). log a_i is summed in double,
 * because its terms are of the size of |x|^2 and cancel. */
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

/* sum_i x_i (w2_i x_i + w1_i), in double. */
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
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
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

/* Some columns of all rows, in row order. */
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
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel num_threads(team)
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

/* ---- gains of rows ----
 *
 *     y_i    = g_i x_i                  i the index of a row in its text
 *     dx_i   = g_i dy_i
 *     dg_i  += sum over texts of dy_i.x_i
 *
 * The rows of a sample have a public order, so the sender may spend the norm of the sequence
 * clip on a few of them. At the start the first row gets most of it: spread over n rows, each
 * would have only 1/sqrt(n) of the norm, too little to learn from. */

nvdp_status nvdp__row_gain_declare(struct nvdp__params *params, const char *name, size_t length,
                                   size_t *index) {
    return nvdp__params_add(params, name, 1, length, 1, NVDP__PARAM_OPTIONAL, index);
}

void nvdp__row_gain_initialize(const struct nvdp__device *dev, struct nvdp__params *params,
                               size_t index) {
    const float first = 1;
    nvdp__params_fill(dev, params, index, first / (float)params->entry[index].count);
    nvdp__upload(dev, 1, &first, nvdp__value(params, index));
}

void nvdp__row_gain_forward(const struct nvdp__device *dev, size_t texts, const int32_t *offset,
                            size_t dim, const float *gain, const float *x, float *y) {
    int team = nvdp__team(dev, (size_t)offset[texts] * dim);
#pragma omp parallel for num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        for (int32_t r = offset[b]; r < offset[b + 1]; r++) {
            float g = gain[r - offset[b]];
            for (size_t i = (size_t)r * dim; i < ((size_t)r + 1) * dim; i++)
                y[i] = g * x[i];
        }
    }
}

void nvdp__row_gain_backward(const struct nvdp__device *dev, size_t texts, const int32_t *offset,
                             size_t dim, size_t length, const float *gain, const float *x,
                             float *dy, float *d_gain) {
    bool each = dev->per_example != NULL;
    if (each) d_gain = nvdp__per_example_vectors(dev, d_gain, length);
    for (size_t b = 0; b < texts && d_gain != NULL; b++) {
        float *to = each ? d_gain + b * length : d_gain;
        for (int32_t r = offset[b]; r < offset[b + 1]; r++) {
            size_t at = (size_t)r * dim;
            to[r - offset[b]] += (float)nvdp__dot_f64(dim, dy + at, x + at);
        }
    }
    nvdp__row_gain_forward(dev, texts, offset, dim, gain, dy, dy);
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
    size_t rows = nvib->rows.sources;
    struct nvdp__posterior *posterior = &nvib->posterior;
    posterior->rows = rows;
    struct nvdp__linear mu = nvdp__dense_linear(in->params, &nvib->mu, rows);
    struct nvdp__tensor x = nvdp__f32(rows, nvib->hidden_size, in->hidden);
    nvdp__dense_forward(dev, &mu, x,
                        nvdp__f32(rows, nvib->dim, nvib->gains ? nvib->ungained : posterior->mu));
    if (nvib->gains)
        nvdp__row_gain_forward(dev, nvib->rows.texts, nvib->rows.source_offset, nvib->dim,
                               nvdp__value(in->params, nvib->row_gain), nvib->ungained,
                               posterior->mu);
    if (nvib->sequence) {
        nvdp__clip_sequence_forward(dev, nvib->config.clip.sequence, nvib->rows.texts,
                                    nvib->rows.source_offset, posterior, nvib->factor);
    } else {
        struct nvdp__linear logvar = nvdp__dense_linear(in->params, &nvib->logvar, rows);
        nvdp__dense_forward(dev, &logvar, x, nvdp__f32(rows, nvib->dim, posterior->logvar));
    }
    if (nvib->form.weights) {
        struct nvdp__quadratic alpha = alpha_weights(nvib, in->params);
        nvdp__quadratic_forward(dev, rows, nvib->hidden_size, in->hidden, &alpha,
                                posterior->log_alpha);
    }
    if (nvib->clips) nvdp__clip_forward(dev, &nvib->clip, posterior, &nvib->before);
}

void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in,
                                   float *d_hidden) {
    const struct nvdp__device *dev = in->dev;
    size_t rows = nvib->rows.sources;
    const struct nvdp__posterior *d = &nvib->d;
    if (nvib->clips) nvdp__clip_backward(dev, &nvib->clip, &nvib->posterior, &nvib->before, d);
    if (nvib->sequence)
        nvdp__clip_sequence_backward(dev, nvib->rows.texts, nvib->rows.source_offset,
                                     &nvib->posterior, nvib->factor, d);
    if (nvib->gains)
        nvdp__row_gain_backward(dev, nvib->rows.texts, nvib->rows.source_offset, nvib->dim,
                                nvib->form.length, nvdp__value(in->params, nvib->row_gain),
                                nvib->ungained, d->mu, nvdp__grad(in->params, nvib->row_gain));
    struct nvdp__linear mu = nvdp__dense_linear(in->params, &nvib->mu, rows);
    mu.offset = nvib->rows.source_offset;
    struct nvdp__tensor x = nvdp__f32(rows, nvib->hidden_size, in->hidden);
    struct nvdp__tensor dx = nvdp__f32(rows, nvib->hidden_size, d_hidden);
    nvdp__dense_backward(dev, &mu, x, nvdp__f32(rows, nvib->dim, d->mu), dx, false);
    if (!nvib->sequence) {
        struct nvdp__linear logvar = nvdp__dense_linear(in->params, &nvib->logvar, rows);
        logvar.offset = nvib->rows.source_offset;
        nvdp__dense_backward(dev, &logvar, x, nvdp__f32(rows, nvib->dim, d->logvar), dx, true);
    }
    if (!nvib->form.weights) return;
    struct nvdp__quadratic alpha = alpha_weights(nvib, in->params);
    const struct nvdp__quadratic d_alpha = {nvdp__grad(in->params, nvib->alpha_quadratic),
                                            nvdp__grad(in->params, nvib->alpha_weight),
                                            nvdp__grad(in->params, nvib->alpha_bias)};
    if (dev->per_example == NULL) {
        nvdp__quadratic_backward(dev, rows, nvib->hidden_size, in->hidden, &alpha, d->log_alpha,
                                 d_hidden, &d_alpha);
        return;
    }
    size_t dim = nvib->hidden_size;
    const struct nvdp__quadratic each = {nvdp__per_example_vectors(dev, d_alpha.w2, dim),
                                         nvdp__per_example_vectors(dev, d_alpha.w1, dim),
                                         nvdp__per_example_vectors(dev, d_alpha.b, 1)};
    for (size_t b = 0; b < nvib->rows.texts; b++) {
        size_t first = (size_t)in->batch->offset[b], next = (size_t)in->batch->offset[b + 1];
        struct nvdp__quadratic own = {0};
        if (each.b != NULL)
            own = (struct nvdp__quadratic){each.w2 + b * dim, each.w1 + b * dim, each.b + b};
        nvdp__quadratic_backward(dev, next - first, dim, in->hidden + first * dim, &alpha,
                                 d->log_alpha + first, d_hidden + first * dim,
                                 each.b != NULL ? &own : NULL);
    }
}

/* ---- initial values ---- */

/* Initializes the block as a copy of the encoder's last layer if that is a layer of BERT's family
 * and fits, else at random. With a residual it is always random: the block then begins as little
 * more than the query's own row, whereas a trained layer would mix the noise of all rows into it. */
static void initialize_block(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                             struct nvdp__params *params, uint64_t seed) {
    struct nvdp__sealed_block *block = &nvib->block;
    const struct nvdp_bert_config *config = &nvib->bert->config;
    if (nvib->dim != nvib->hidden_size || nvib->bert->layer == NULL || block->residual) {
        nvdp__block_initialize(block, dev, params, 0.02, seed);
        return;
    }
    const struct nvdp__bert_layer *last = &nvib->bert->layer[config->num_hidden_layers - 1];
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
    const struct nvdp__nvib_config *config = &nvib->config;
    double d = (double)nvib->hidden_size;
    double p = (double)nvib->dim;
    double head_dim = p / (double)nvib->block.heads;
    NVDP_TRY(nvdp__means_initialize(nvib->ctx, dev, params, &nvib->mu, config->mu_tau, seed, rows,
                                    hidden));
    if (nvib->gains) nvdp__row_gain_initialize(dev, params, nvib->row_gain);
    if (!nvib->sequence) {
        nvdp__params_fill(dev, params, nvib->logvar.weight, 0);
        nvdp__params_fill(dev, params, nvib->logvar.bias, (float)nvdp__start_logvar(config));
    }
    if (nvib->form.weights) {
        double w2 = p / d / (2 * sqrt(head_dim));
        nvdp__params_fill(dev, params, nvib->alpha_quadratic, (float)w2);
        nvdp__params_fill(dev, params, nvib->alpha_weight, 0);
        nvdp__params_fill(dev, params, nvib->alpha_bias, (float)config->alpha_tau);
    }
    initialize_block(nvib, dev, params, seed);
    return NVDP_OK;
}
