/* The posterior of the tokens: linear mu and logvar, quadratic log alpha, then the clip set; their
 * initial values (docs/nvib.md, section "Initialisation"). */
#include "nvib/nvib.h"
#include "tensor/vector.h"

enum { LANES = 8 };

static double lane_sum(const double *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

NVDP__CLONES static void quadratic_lanes(size_t n, const float *x, const float *w2, const float *w1,
                                         double *lane) {
    for (size_t i = 0; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            double v = x[i + k];
            lane[k] += v * (w2[i + k] * v + w1[i + k]);
        }
    }
}

/* sum_i x_i (w2_i x_i + w1_i), in double. */
static double quadratic(size_t n, const float *x, const float *w2, const float *w1) {
    double lane[LANES] = {0};
    quadratic_lanes(n, x, w2, w1, lane);
    for (size_t i = n - n % LANES; i < n; i++) {
        lane[0] += (double)x[i] * ((double)w2[i] * x[i] + w1[i]);
    }
    return lane_sum(lane);
}

void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const float *w2, const float *w1, const float *b,
                             float *log_alpha) {
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t t = 0; t < rows; t++) {
        log_alpha[t] = (float)(quadratic(dim, x + t * dim, w2, w1) + b[0]);
    }
}

NVDP__CLONES static void quadratic_dx(size_t n, float dy, const float *x, const float *w2,
                                      const float *w1, float *dx) {
    for (size_t i = 0; i < n; i++) {
        dx[i] += dy * (2 * w2[i] * x[i] + w1[i]);
    }
}

/* A strip of columns over all rows, in row order. */
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
                              const float *x, const float *w2, const float *w1,
                              const float *dlog_alpha, float *dx, float *dw2, float *dw1,
                              float *db) {
    double bias = 0;
    for (size_t t = 0; t < rows; t++) {
        bias += dlog_alpha[t];
    }
    db[0] += (float)bias;
    size_t strips = nvdp__blocks(dim, NVDP__COLUMNS);
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel num_threads(team)
    {
#pragma omp for nowait
        for (size_t t = 0; t < rows; t++) {
            quadratic_dx(dim, dlog_alpha[t], x + t * dim, w2, w1, dx + t * dim);
        }
#pragma omp for
        for (size_t s = 0; s < strips; s++) {
            size_t first = s * NVDP__COLUMNS;
            size_t width = nvdp__block_length(dim, NVDP__COLUMNS, s);
            double sum2[NVDP__COLUMNS] = {0};
            double sum1[NVDP__COLUMNS] = {0};
            quadratic_dw(rows, dim, width, x + first, dlog_alpha, sum2, sum1);
            for (size_t i = 0; i < width; i++) {
                dw2[first + i] += (float)sum2[i];
                dw1[first + i] += (float)sum1[i];
            }
        }
    }
}

void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, const float *hidden) {
    size_t width = nvib->hidden_size;
    struct nvdp__linear mu = nvdp__dense_linear(params, &nvib->mu, nvib->tokens);
    struct nvdp__linear logvar = nvdp__dense_linear(params, &nvib->logvar, nvib->tokens);
    const nvdp__operand *x = nvdp__rounded(dev, nvib->tokens * width, hidden, nvib->x_room);
    nvdp__linear_to_float(dev, &mu, x, nvib->mu_out);
    nvdp__linear_to_float(dev, &logvar, x, nvib->logvar_out);
    nvdp__quadratic_forward(dev, nvib->tokens, width, hidden,
                            nvdp__value(params, nvib->alpha_quadratic),
                            nvdp__value(params, nvib->alpha_weight),
                            nvdp__value(params, nvib->alpha_bias), nvib->log_alpha);
    if (nvib->clips) {
        nvdp__clip_forward(dev, &nvib->clip, nvib->tokens, nvib->dim, nvib->mu_out,
                           nvib->logvar_out, nvib->log_alpha, nvib->mu_norm, nvib->logvar_in,
                           nvib->log_alpha_in);
    }
}

void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                   const struct nvdp__params *params, const float *hidden,
                                   float *d_hidden) {
    size_t width = nvib->hidden_size;
    if (nvib->clips) {
        nvdp__clip_backward(dev, &nvib->clip, nvib->tokens, nvib->dim, nvib->mu_out, nvib->mu_norm,
                            nvib->logvar_in, nvib->log_alpha_in, nvib->d_mu, nvib->d_logvar,
                            nvib->d_log_alpha);
    }
    struct nvdp__linear mu = nvdp__dense_linear(params, &nvib->mu, nvib->tokens);
    struct nvdp__linear logvar = nvdp__dense_linear(params, &nvib->logvar, nvib->tokens);
    nvdp__operand *x = nvdp__rounded(dev, nvib->tokens * width, hidden, nvib->x_room);
    nvdp__operand *dy = nvdp__rounded(dev, nvib->tokens * nvib->dim, nvib->d_mu, nvib->dy_room);
    nvdp__linear_params_backward(dev, &mu, x, dy);
    nvdp__linear_back_to_float(dev, &mu, dy, false, d_hidden);
    dy = nvdp__rounded(dev, nvib->tokens * nvib->dim, nvib->d_logvar, nvib->dy_room);
    nvdp__linear_params_backward(dev, &logvar, x, dy);
    nvdp__linear_back_to_float(dev, &logvar, dy, true, d_hidden);
    nvdp__quadratic_backward(
        dev, nvib->tokens, width, hidden, nvdp__value(params, nvib->alpha_quadratic),
        nvdp__value(params, nvib->alpha_weight), nvib->d_log_alpha, d_hidden,
        nvdp__grad(params, nvib->alpha_quadratic), nvdp__grad(params, nvib->alpha_weight),
        nvdp__grad(params, nvib->alpha_bias));
}

/* BERT's last layer where it fits, else random. */
static void initialise_block(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                             struct nvdp__params *params, uint64_t seed) {
    struct nvdp__block *block = &nvib->block;
    const struct nvdp_bert_config *config = &nvib->bert->config;
    if (nvib->dim != nvib->hidden_size || config->num_hidden_layers == 0) {
        nvdp__block_initialise(block, dev, params, 0.02, seed);
        return;
    }
    const struct nvdp__bert_layer *last = &nvib->bert->layer[config->num_hidden_layers - 1];
    nvdp__dense_copy(dev, params, &last->query, &block->query);
    nvdp__dense_copy(dev, params, &last->key, &block->key);
    nvdp__dense_copy(dev, params, &last->value, &block->value);
    nvdp__dense_copy(dev, params, &last->attention_output, &block->attention_output);
    nvdp__dense_copy(dev, params, &last->attention_norm, &block->attention_norm);
    nvdp__dense_copy(dev, params, &last->intermediate, &block->intermediate);
    nvdp__dense_copy(dev, params, &last->output, &block->output);
    nvdp__dense_copy(dev, params, &last->output_norm, &block->output_norm);
}

nvdp_status nvdp__nvib_initialise(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden) {
    struct nvdp__nvib *nvib = self;
    const struct nvdp_nvib_config *config = &nvib->config;
    double d = (double)nvib->hidden_size;
    double p = (double)nvib->dim;
    double head_dim = p / (double)nvib->block.heads;
    NVDP_RETURN_IF_FAILED(nvdp__means_initialise(nvib->ctx, dev, params, &nvib->mu, config->mu_tau,
                                                 seed, rows, hidden));
    nvdp__params_fill(dev, params, nvib->logvar.weight, 0);
    nvdp__params_fill(dev, params, nvib->logvar.bias, (float)nvdp__start_logvar(config));
    /* |mu|^2 is about p/d of |x|^2, and |mu|^2/(2 sqrt(h)) is what attention takes off. */
    nvdp__params_fill(dev, params, nvib->alpha_quadratic, (float)(p / d / (2 * sqrt(head_dim))));
    nvdp__params_fill(dev, params, nvib->alpha_weight, 0);
    nvdp__params_fill(dev, params, nvib->alpha_bias, (float)config->alpha_tau);
    initialise_block(nvib, dev, params, seed);
    return NVDP_OK;
}
