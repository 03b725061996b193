/* The one interface behind which every mechanism stands: hidden states -> sample -> pooled vector.
 *
 * Order of calls: create (declares parameters) -> [params allocated] -> initialise -> plan (twice:
 * measure, carve) -> per step: forward, losses, backward.  A new mechanism is one file and one row
 * in src/model/methods.c.  Mechanisms never dereference tensor memory. */
#ifndef NVDP_SRC_MECHANISM_H
#define NVDP_SRC_MECHANISM_H

#include "base/random.h"
#include "bert/encoder.h"
#include <nvdp/method.h>

/* Where a pass's noise comes from. */
struct nvdp__draw {
    struct nvdp__noise noise;
    enum nvdp__purpose gauss, gamma;
    uint32_t epoch;         /* training: epoch; evaluation: number of the draw */
    const float *eps;       /* given noise [R, p], for tests; NULL: drawn */
    const float *log_gamma; /* given log g [R], for tests; NULL: drawn */
};

/* What is shared of a batch: rows of all texts end to end. Tensor memory but for `offset`. */
struct nvdp__sample {
    size_t texts;
    size_t rows;           /* R */
    size_t dim;            /* p */
    const int32_t *offset; /* [texts+1] */
    const float *z;        /* [R, p] */
    const float *log_pi;   /* [R]; NULL for mechanisms without weights */
};

/* What a posterior and its sample are made of. */
struct nvdp__form {
    bool weights; /* pi, and the prior's component before the tokens' */
    bool single;  /* one vector a text, not one a token: no length shows */
};

struct nvdp__bottleneck {
    const struct nvdp__mechanism *mechanism;
    void *self;
};

struct nvdp__mechanism {
    const char *name;
    bool private_; /* has noise, a posterior, an export */
    int variant;   /* tells apart mechanisms that share their functions */
    /* Checks a configuration for an encoder and fills what stands for "auto"; NULL: none is read. */
    nvdp_status (*resolve)(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                           const struct nvdp_bert_config *bert, struct nvdp_nvib_config *config);
    /* Declares parameters; `bert` outlives the bottleneck. */
    nvdp_status (*create)(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp_nvib_config *config,
                          struct nvdp__params *params, void **self);
    void (*release)(void *self); /* NULL allowed */
    /* Whether initialise looks at `hidden`; NULL: it does not, and gets none. */
    bool (*wants_hidden)(const void *self);
    /* Initial values; `hidden` [rows, D] is a sample of encoder outputs (tensor). Only parameters
     * of the bottleneck are set. */
    nvdp_status (*initialise)(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden);
    nvdp_status (*plan)(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training, struct nvdp__arena *arena);
    size_t (*width)(const void *self);           /* of the pooled vector */
    struct nvdp__form (*form)(const void *self); /* private ones */
    /* Posterior, sample, sealed block; *pooled [texts, width] stays until the next call. */
    nvdp_status (*forward)(void *self, const struct nvdp__device *dev,
                           const struct nvdp__params *params, const struct nvdp__batch *batch,
                           const struct nvdp__draw *draw, const float *hidden, float **pooled);
    /* The posterior alone, without noise: for `posterior`. */
    nvdp_status (*infer)(void *self, const struct nvdp__device *dev,
                         const struct nvdp__params *params, const struct nvdp__batch *batch,
                         const float *hidden);
    /* The sealed part alone, from a sample (bit-equal to forward's for the same sample). Inference
     * only. */
    nvdp_status (*forward_sample)(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *sample, float **pooled);
    /* The last forward's sample. */
    void (*sample)(const void *self, struct nvdp__sample *out);
    /* The last forward's losses a text (host), before lambdas. */
    void (*losses)(void *self, const struct nvdp__device *dev, double *loss_g, double *loss_d);
    /* d_pooled [texts, width] is overwritten; d_hidden [T, D] is SET. weight_g, weight_d = lambda
     * s_t / texts. */
    void (*backward)(void *self, const struct nvdp__device *dev, const struct nvdp__params *params,
                     const struct nvdp__batch *batch, const float *hidden, double weight_g,
                     double weight_d, float *d_pooled, float *d_hidden);
    /* The last forward's or infer's posterior into rows [first_row, +tokens) of out. */
    nvdp_status (*posterior)(const void *self, const struct nvdp__device *dev,
                             const struct nvdp__batch *batch, size_t first_row,
                             struct nvdp_posteriors *out);
};

/* ---- what mechanisms with Gaussians share (pca.c) ---- */
/* `map` [p, D] (host), rows orthonormal: the leading principal directions of `hidden`
 * [rows, D] (host) about its mean, largest first; a random orthonormal map from `seed` where rows <
 * p. */
nvdp_status nvdp__pca_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                          const float *hidden, uint64_t seed, float *map);

/* The layer [p, D] of the means: mu_tau times the identity, bias 0; for p < D the principal
 * directions of `hidden` [rows, D] (tensor), about its mean and scaled by one factor such that the
 * means' coordinates have root mean square mu_tau on it.  With fewer than p rows: mu_tau times a
 * random orthonormal map, bias 0. */
nvdp_status nvdp__means_initialise(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden);
/* 2 log(stdev_tau), moved inside the clip set where there is one: outside of it a clamp has no
 * gradient, and the variance would never move again. */
double nvdp__start_logvar(const struct nvdp_nvib_config *config);
/* Rows [0, rows) of mu and logvar [rows, out->dim] (tensor) into rows [first_row, +rows) of out;
 * stage: room for a row (host). */
void nvdp__copy_gaussians(const struct nvdp__device *dev, size_t rows, const float *mu,
                          const float *logvar, float *stage, size_t first_row,
                          struct nvdp_posteriors *out);

#endif
