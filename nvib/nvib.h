/* The NVDP mechanism: hidden states -> NVIB posterior -> Dirichlet-weighted Gaussian sample ->
 * sealed block (docs/nvib.md).
 *
 * Rows of a text in a sample: component 0 (the prior), 1..n (the tokens) and, under the hidden
 * length policy, n+1..L (padding); each component has kappa neighbouring rows. */
#ifndef NVDP_NVIB_NVIB_H
#define NVDP_NVIB_NVIB_H

#include "bottleneck/gaussian.h"
#include "nvib/block.h"

extern const struct nvdp__mechanism nvdp__mechanism_nvdp;

struct nvdp__nvib {
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    struct nvdp_nvib_config config; /* resolved */
    size_t hidden_size, dim;        /* D, p */
    struct nvdp__dense mu, logvar;
    size_t alpha_weight, alpha_bias, alpha_quadratic; /* w1, b, w2 */
    struct nvdp__block block;
    struct nvdp__clip clip;
    bool clips;

    /* planned */
    bool training;
    size_t max_tokens, max_texts, max_rows;
    size_t offset_capacity, src_capacity, base_capacity, stage_capacity;
    int32_t *offset; /* [texts+1] rows of a text (host) */
    int32_t *src;    /* [rows] token row, -1: prior, padding (host) */
    float *base;     /* [rows] pseudo-count of a row without a token (host) */
    float *stage;    /* [p] a downloaded row (host) */

    /* tensor memory */
    nvdp__operand *x_room, *dy_room; /* what products read, rounded: any [T,D], [T,p], [R,p] */
    float *mu_out, *logvar_out, *log_alpha;    /* [T,p], [T,p], [T]: clipped */
    float *mu_norm, *logvar_in, *log_alpha_in; /* where clipped: as it was before */
    float *z, *log_pi, *dlogg;                 /* [R,p], [R], [R] */
    float *clean;                              /* [R,p] un-noised queries, or NULL */
    float *d_mu, *d_logvar, *d_log_alpha;      /* training */
    float *d_z, *d_log_pi, *d_clean;

    /* the last forward */
    size_t texts, tokens, rows;
    const int32_t *token_offset; /* the batch's; valid as long as the batch is */
};

/* layout.c: fills the tables for a batch. */
nvdp_status nvdp__nvib_layout(struct nvdp__nvib *nvib, const struct nvdp__batch *batch);
/* Rows of a sample of `texts` texts with `tokens` tokens in all, at most. */
size_t nvdp__nvib_rows(const struct nvdp_nvib_config *config, size_t tokens, size_t texts);

/* posterior.c: hidden [T, D] -> mu, logvar, log alpha, clipped; and back: d_hidden is set. */
void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                  const struct nvdp__params *params, const float *hidden);
void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__device *dev,
                                   const struct nvdp__params *params, const float *hidden,
                                   float *d_hidden);

/* init.c: initial values of projections and block. */
nvdp_status nvdp__nvib_initialise(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden);

#endif
