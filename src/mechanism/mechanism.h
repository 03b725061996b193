/* The one interface behind which every mechanism stands: hidden states -> posterior -> sample ->
 * pooled vector.  Below it, what mechanisms share: which components a text has, how the rows of a
 * batch's sample lie, the initial map of the means.
 *
 * Order of calls: create (declares parameters) -> [params allocated] -> initialize -> plan (twice:
 * measure, carve) -> per step: forward, backward.  A new mechanism is one file and one row in
 * src/mechanism/members.inc. */
#ifndef NVDP_SRC_MECHANISM_MECHANISM_H
#define NVDP_SRC_MECHANISM_MECHANISM_H

#include "base/random.h"
#include "bert/encoder.h"
#include "mechanism/options.h"

/* ---- the components per text (mechanism.c) ---- */

/* What the posterior and the sample of a text of n tokens are made of, in this order, `kappa`
 * neighboring rows each:
 *
 *     component               mean, log variance     pseudo-count
 *     the prior               0, 0                   prior_alpha              where there are weights
 *     tokens 1..n             of the token           of the token             `single`: one per text
 *     padding n+1..length     0, 0                   pad_alpha                where length > 0 */
struct nvdp__form {
    bool weights;  /* rows have weights, and the prior has a component */
    bool single;   /* one vector per text, not one per token: no length shows; length is 1 */
    size_t length; /* tokens and padding; 0: no padding, the sample shows n */
    int kappa;     /* 1 without weights */
    double prior_alpha;
    double pad_alpha; /* A_p/K, K = length + 1 (docs/nvib.md, Length) */
    double delta;     /* what each token adds to the prior's pseudo-count A_p of its text */
};
enum { NVDP__PRIOR = -1, NVDP__PADDING = -2 };

struct nvdp__form nvdp__form_of(const struct nvdp__nvib_config *config, bool weights, bool single);
/* The same from what posteriors say. */
struct nvdp__form nvdp__form_of_posteriors(const struct nvdp_posteriors *posteriors);
/* Rows of the sample of a text of so many tokens. */
size_t nvdp__form_rows(const struct nvdp__form *form, size_t tokens);
/* What row r of that sample comes from: a token's number in its text, NVDP__PRIOR, NVDP__PADDING. */
int64_t nvdp__form_source(const struct nvdp__form *form, size_t tokens, size_t row);
/* The pseudo-count of a component that is no token. */
double nvdp__form_alpha(const struct nvdp__form *form, int64_t source);

/* ---- the rows of a batch's sample (mechanism.c) ---- */

/* Of a batch; tables on the host.  Sources are the rows of the posterior: tokens, or texts. */
struct nvdp__sample_rows {
    size_t texts, tokens, sources, rows;
    int32_t *offset; /* [texts+1] the rows of each text */
    int32_t *src;    /* [rows] the source, NVDP__PRIOR or NVDP__PADDING */
    /* [texts+1] the sources of each text; the batch's where they are tokens */
    const int32_t *source_offset;
    const uint64_t *key; /* [texts] the batch's */
    /* planned */
    size_t max_texts, max_tokens, max_sources, max_rows;
    size_t offset_capacity, src_capacity;
};
/* For batches of so many tokens and texts; NVDP_ERR_ARGUMENT where rows cannot be numbered. */
nvdp_status nvdp__sample_rows_plan(struct nvdp_context *ctx, const struct nvdp__form *form,
                                   size_t max_tokens, size_t max_texts,
                                   struct nvdp__sample_rows *layout);
/* NVDP_ERR_STATE for a batch beyond the plan, NVDP_ERR_ARGUMENT for a text longer than `length`. */
nvdp_status nvdp__sample_rows_fill(struct nvdp_context *ctx, const struct nvdp__form *form,
                                   const struct nvdp__batch *batch,
                                   struct nvdp__sample_rows *layout);
void nvdp__sample_rows_release(struct nvdp__sample_rows *layout);

/* Gaussians of `rows` sources, and pseudo-counts where there are weights; or gradients of these.
 * Tensor memory. */
struct nvdp__posterior {
    size_t rows, dim;
    float *mu, *logvar; /* [rows, dim] */
    float *log_alpha;   /* [rows]; NULL without weights */
};
/* Its rows into rows [first_row, +rows) of out; NVDP_ERR_ARGUMENT where out is of another kind. */
nvdp_status nvdp__posterior_store(struct nvdp_context *ctx, const struct nvdp__posterior *posterior,
                                  size_t first_row, struct nvdp_posteriors *out);

/* ---- the interface ---- */

/* Where a pass's noise comes from. */
struct nvdp__draw {
    struct nvdp__noise noise;
    enum nvdp__purpose gauss, gamma;
    uint32_t epoch;         /* training: epoch; evaluation: number of the draw */
    const float *eps;       /* given noise [R, p], for tests; NULL: drawn */
    const float *log_gamma; /* given log g [R], for tests; NULL: drawn */
};

/* What is shared of a batch: rows of all texts end to end.  Tensor memory but for `offset`. */
struct nvdp__sample {
    size_t texts;
    size_t rows;           /* R */
    size_t dim;            /* p */
    const int32_t *offset; /* [texts+1] */
    const float *z;        /* [R, p] */
    const float *log_pi;   /* [R]; NULL for mechanisms without weights */
};

/* An encoded batch on its way through a mechanism. */
struct nvdp__encoded {
    const struct nvdp__device *dev;
    const struct nvdp__params *params;
    const struct nvdp__batch *batch;
    const float *hidden; /* [T, D] the encoder's output */
};

/* The regularizers of a step: their weights lambda s_t / texts, and the losses of each text, before
 * weights (host, [texts]), that backward sets. */
struct nvdp__penalty {
    double weight_g, weight_d;
    double *loss_g, *loss_d;
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
                           const struct nvdp_bert_config *bert, struct nvdp__nvib_config *config);
    /* Declares parameters; `bert` outlives the bottleneck. */
    nvdp_status (*create)(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                          const struct nvdp__bert *bert, const struct nvdp__nvib_config *config,
                          struct nvdp__params *params, void **self);
    void (*release)(void *self); /* NULL allowed */
    /* Whether initialize looks at `hidden`; NULL: it does not, and gets none. */
    bool (*wants_hidden)(const void *self);
    /* Initial values (NULL: none); `hidden` [rows, D] is a sample of encoder outputs (tensor).  Only parameters
     * of the bottleneck are set. */
    nvdp_status (*initialize)(void *self, const struct nvdp__device *dev,
                              struct nvdp__params *params, uint64_t seed, size_t rows,
                              const float *hidden);
    nvdp_status (*plan)(void *self, const struct nvdp__device *dev, size_t max_tokens,
                        size_t max_texts, size_t longest, bool training, struct nvdp__arena *arena);
    size_t (*width)(const void *self);           /* of the pooled vector */
    struct nvdp__form (*form)(const void *self); /* private ones */
    /* Posterior, sample, sealed block; *pooled [texts, width] stays until the next call. */
    nvdp_status (*forward)(void *self, const struct nvdp__encoded *in,
                           const struct nvdp__draw *draw, float **pooled);
    /* The posterior alone, without noise: for `posterior`. */
    nvdp_status (*infer)(void *self, const struct nvdp__encoded *in);
    /* The sealed part alone, from a sample (bit-equal to forward's for the same sample).  Inference
     * only. */
    nvdp_status (*forward_sample)(void *self, const struct nvdp__device *dev,
                                  const struct nvdp__params *params,
                                  const struct nvdp__sample *sample, float **pooled);
    /* The last forward's sample. */
    void (*sample)(const void *self, struct nvdp__sample *out);
    /* d_pooled [texts, width] is overwritten; d_hidden [T, D] is SET; the losses are set. */
    void (*backward)(void *self, const struct nvdp__encoded *in,
                     const struct nvdp__penalty *penalty, float *d_pooled, float *d_hidden);
    /* The last forward's or infer's posterior into rows [first_row, +sources) of out. */
    nvdp_status (*posterior)(const void *self, size_t first_row, struct nvdp_posteriors *out);
    /* The number of the last forward's or infer's texts whose posterior has a number replaced, as it was no number
     * (nvib/clip.c). */
    size_t (*replaced)(const void *self);
};

/* ---- initial values of Gaussians (pca.c) ---- */

/* `map` [p, D] (host), rows orthonormal: the leading principal directions of `hidden` [rows, D]
 * (host) about its mean, largest first; a random orthonormal map from `seed` where rows < p. */
nvdp_status nvdp__pca_map(struct nvdp_context *ctx, size_t rows, size_t dim, size_t p,
                          const float *hidden, uint64_t seed, float *map);
/* The layer [p, D] of the means: mu_tau times the identity, bias 0; for p < D the principal
 * directions of `hidden` [rows, D] (tensor), about its mean and scaled by one factor such that the
 * means' coordinates have root mean square mu_tau on it.  With fewer than p rows: mu_tau times a
 * random orthonormal map, bias 0. */
nvdp_status nvdp__means_initialize(struct nvdp_context *ctx, const struct nvdp__device *dev,
                                   struct nvdp__params *params, const struct nvdp__dense *mu,
                                   double mu_tau, uint64_t seed, size_t rows, const float *hidden);
/* 2 log(stdev_tau), moved inside the clip set where there is one: outside of it a clamp has no
 * gradient, and the variance would never move again. */
double nvdp__start_logvar(const struct nvdp__nvib_config *config);

#endif
