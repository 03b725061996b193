/* The NVDP mechanism: hidden states -> NVIB posterior -> Dirichlet-weighted Gaussian sample ->
 * sealed block (docs/nvib.md). The files, in the paper's order:
 *
 *     posterior.c    mu, logvar, log alpha of each token; initial values
 *     clip.c         the clip set and its gradients
 *     gamma.c        Gamma variables in log space, implicit gradients, special functions
 *     sample.c       vectors z and weights pi, and their gradients
 *     release.c      weights of releases, rounded onto a grid
 *     regularizer.c  L_G and L_D, published and exact
 *     attention.c    the sealed block: denoising attention and a feed-forward layer
 *     gauss.c        the parts that all Gaussian mechanisms share
 *     nvib.c         the mechanism composed of these
 *
 * Sizes: T token rows, p dims, R sample rows, B texts. */
#ifndef NVDP_NVIB_NVIB_H
#define NVDP_NVIB_NVIB_H

#include "base/exact_normal.h"
#include "mechanism/mechanism.h"

/* Sums over dimensions run in double in this many lanes, so their bits are the same on every
 * processor (clip.c). */
enum { NVDP__LANES = 8 };
double nvdp__lane_sum(const double *lane);
double nvdp__dot_f64(size_t n, const float *x, const float *y);

/* ---- posterior.c ---- */

/* The weights of the quadratic projection, [dim], [dim], [1], or their gradients. */
struct nvdp__quadratic {
    float *w2, *w1, *b;
};
/* log_alpha[t] = w2.(x*x) + w1.x + b */
void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const struct nvdp__quadratic *w, float *log_alpha);
/* Adds to dx and dw (NULL: skip). */
void nvdp__quadratic_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *x, const struct nvdp__quadratic *w,
                              const float *dlog_alpha, float *dx, const struct nvdp__quadratic *dw);

/* ---- clip.c ---- */

/* The clip set in float, its bounds rounded inward. */
struct nvdp__clip {
    float radius;                 /* |mu|_2 <= radius; infinite: off */
    float logvar_min, logvar_max; /* -inf / inf: off */
    float log_alpha_min, log_alpha_max;
    bool inward; /* gradients that lead back inside pass; false: as for clamping */
};
struct nvdp__clip nvdp__clip_set(const struct nvdp__clip_config *config);
/* The clip set restricted to the ranges that nvdp_posteriors allows. Mechanisms apply it even
 * without a clip. */
struct nvdp__clip nvdp__clip_applied(const struct nvdp__clip_config *config);

/* The posterior before clipping. */
struct nvdp__unclipped {
    float *mu_norm;   /* [rows] |mu|; NaN: mu was replaced by 0 */
    float *logvar;    /* [rows, dim] */
    float *log_alpha; /* [rows]; NULL without weights */
};
struct nvdp__unclipped nvdp__unclipped_plan(struct nvdp__arena *arena, size_t rows, size_t dim,
                                            bool weights);
/* Clips in place and stores the values before in `before`. Whatever the input, the result is
 * finite and in the clip set. A scaled mu lies inside the ball by about 2e-7 of its radius, so
 * rounding never moves it outside. */
void nvdp__clip_forward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                        const struct nvdp__posterior *posterior,
                        const struct nvdp__unclipped *before);
/* Works in place on the gradient d of the clipped posterior. */
void nvdp__clip_backward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                         const struct nvdp__posterior *posterior,
                         const struct nvdp__unclipped *before, const struct nvdp__posterior *d);

/* Radius of the ball into which the sequence clip scales: C less the room for rounding. */
double nvdp__sequence_ball(double radius);
/* Treats all means of a text (rows offset[b]..offset[b+1]) as one vector M and scales it in
 * place to norm C if it is longer; sets all log variances to 0. factor [texts] receives the
 * scales; NaN: M was not finite and became 0. The norm of the result, in double, is at most C
 * even after rounding. */
void nvdp__clip_sequence_forward(const struct nvdp__device *dev, double radius, size_t texts,
                                 const int32_t *offset, const struct nvdp__posterior *posterior,
                                 float *factor);
/* Works in place on the gradient d->mu of the clipped means: the full derivative of the scaling. */
void nvdp__clip_sequence_backward(const struct nvdp__device *dev, size_t texts,
                                  const int32_t *offset, const struct nvdp__posterior *posterior,
                                  const float *factor, const struct nvdp__posterior *d);
/* Returns the number of texts in which a NaN or infinity was replaced. The arrays of `before`,
 * and factor, may be NULL. */
size_t nvdp__clip_replaced(const struct nvdp__sample_rows *layout, size_t dim,
                           const struct nvdp__unclipped *before, const float *factor);

/* ---- gamma.c: scalar functions in double ---- */

double nvdp__log_abs_gamma(double x); /* log |Gamma(x)| */
/* psi(x) = d log Gamma(x) / dx and psi'(x), for x > 0. NaN if x <= 0 or x is NaN. */
double nvdp__digamma(double x);
double nvdp__trigamma(double x);
/* The remainders for large x, computed without cancellation (x > 0):
 *     log Gamma(x) - x psi(x) + x   and   psi'(x) - 1/x. */
double nvdp__log_gamma_excess(double x);
double nvdp__trigamma_excess(double x);

/* log of a Gamma(alpha, 1) draw; NaN unless alpha is positive and finite. */
double nvdp__gamma_log_draw(struct nvdp__stream *stream, double alpha);
/* d log g / d log alpha of such a draw at fixed randomness, computed from log g and thus stable
 * even if g underflows. Accurate for alpha in [1e-5, 1e5]; finite outside. */
double nvdp__gamma_implicit_log_gradient(double alpha, double log_g);

/* ---- release.c: the weights of a release ---- */

/* Draws Dirichlet(alpha) weights and returns log pi in steps of the grid, clamped to [-limit,
 * 0]. `scratch` has nvdp__release_scratch(rows) bytes, aligned for any type. */
size_t nvdp__release_scratch(size_t rows);
void nvdp__release_weights(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                           size_t rows, const double *alpha, void *scratch, int32_t *out);
/* True if the bound below holds for these pseudo-counts: all are positive and their sum is at
 * most 2^20. */
bool nvdp__release_takes(size_t rows, const double *alpha);
/* Upper bound on the total variation distance between such draws and draws in exact arithmetic
 * with unlimited random digits. Holds for all pseudo-counts of which the first is prior_alpha. */
double nvdp__release_distance(const struct nvdp__rounding_grid *grid, size_t rows,
                              double prior_alpha);

/* ---- sample.c ---- */

/* z [R, p] */
void nvdp__gauss_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                        const struct nvdp__sample_rows *layout,
                        const struct nvdp__posterior *posterior, float *z);
/* Adds to d->mu and d->logvar. */
void nvdp__gauss_sample_backward(const struct nvdp__device *dev,
                                 const struct nvdp__sample_rows *layout,
                                 const struct nvdp__posterior *posterior, const float *z,
                                 const float *dz, const struct nvdp__posterior *d);
/* log_pi [R] is never -inf; dlogg [R] (NULL: inference) receives d log g / d log alpha. */
void nvdp__dirichlet_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                            const struct nvdp__form *form, const struct nvdp__sample_rows *layout,
                            const float *log_alpha, float *log_pi, float *dlogg);
/* Adds to dlog_alpha [T]. */
void nvdp__dirichlet_sample_backward(const struct nvdp__device *dev,
                                     const struct nvdp__sample_rows *layout, const float *log_pi,
                                     const float *dlogg, const float *dlog_pi, float *dlog_alpha);

/* ---- regularizer.c ---- */

/* Computes L_G and L_D of each text (host [texts]; NULL: skip) over its own components; the
 * exact L_D includes padding. Adds weight_g dL_G + weight_d dL_D to d (NULL: skip). */
struct nvdp__kl {
    enum nvdp__regularizer which;
    struct nvdp__form of;
    double weight_g, weight_d;
};
void nvdp__kl_losses(const struct nvdp__device *dev, const struct nvdp__kl *kl, size_t texts,
                     const int32_t *token_offset, const struct nvdp__posterior *posterior,
                     const struct nvdp__posterior *d, double *loss_g, double *loss_d);
/* For Gaussians without weights: the sum of D(N(mu, var) || N(0, I)), nats, over the rows
 * offset[b]..offset[b+1] of a text; published: their mean. Adds the gradient times `weight` to d
 * (NULL: skip). */
void nvdp__gaussian_losses(const struct nvdp__device *dev, enum nvdp__regularizer which,
                           double weight, size_t texts, const int32_t *offset,
                           const struct nvdp__posterior *posterior, const struct nvdp__posterior *d,
                           double *loss);

/* ---- attention.c: the sealed block, which reads only the sample ---- */

/* bias[r] = log_pi[r] - |z[r]|^2 / (2 sqrt(head_dim)): the key bias of denoising attention.
 * Without weights (log_pi NULL), log pi is the same for all rows and is left out. */
void nvdp__denoise_bias(const struct nvdp__device *dev, size_t rows, size_t dim, size_t head_dim,
                        const float *log_pi, const float *z, float *bias);
/* dlog_pi[r] = dbias[r] (NULL: skip); dz[r] -= dbias[r] z[r]/sqrt(head_dim). */
void nvdp__denoise_bias_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 size_t head_dim, const float *z, const float *dbias, float *dz,
                                 float *dlog_pi);

/* y = exp(x): weights from their logarithms. x and y may share memory. */
void nvdp__exp(size_t n, const float *x, float *y);
/* y += a * x, elementwise. */
void nvdp__multiply_add(size_t n, const float *a, const float *x, float *y);

struct nvdp__sealed_block {
    size_t dim; /* p */
    size_t heads;
    size_t inner; /* feed-forward width */
    enum nvdp_activation act;
    float eps;           /* LayerNorm */
    enum nvdp_pool pool; /* resolved: first, mean, weighted */
    int kappa;
    bool weights;     /* samples have weights, and the prior's component comes before the tokens' */
    bool residual;    /* adds the query's own row of the sample to the attention's output */
    bool clean_query; /* forward receives clean queries */
    float *d_clean;   /* [R, p] receives the gradient of clean queries, or NULL */
    struct nvdp__dense query, key, value, attention_output, attention_norm, intermediate, output,
        output_norm;
    /* activations, index tables: see attention.c */
    struct nvdp__block_cache *cache;
};

/* Declares "nvdp.attention.self.query.weight" and so on. */
nvdp_status nvdp__block_declare(struct nvdp__sealed_block *block, struct nvdp__params *params);
void nvdp__block_release(struct nvdp__sealed_block *block);
/* Normal(0, sd); LayerNorm 1 / 0. */
void nvdp__block_initialize(const struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                            struct nvdp__params *params, double sd, uint64_t seed);
/* Plans for at most max_rows sample rows of max_texts texts. */
nvdp_status nvdp__block_plan(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                             size_t max_rows, size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena);
/* Sets *pooled [texts, p]. clean_query [R, p] (NULL: queries from z) is only for the leaking
 * comparison variant. Fails with NVDP_ERR_ARGUMENT if the sample exceeds the plan or a text is
 * too short for the pool. */
nvdp_status nvdp__block_forward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                                const struct nvdp__params *params,
                                const struct nvdp__sample *sample, const float *clean_query,
                                float **pooled);
/* Call after the forward pass of the same sample. Adds to parameter gradients; sets dz [R, p]
 * and dlog_pi [R] (both NULL: skip; dlog_pi is NULL without weights). */
void nvdp__block_backward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__sample *sample,
                          const float *d_pooled, float *dz, float *dlog_pi);

/* ---- gauss.c: what all Gaussian mechanisms share ---- */

/* The first member of a mechanism's struct, so that the struct is passed to the functions that take `self`. S sources. */
struct nvdp__gauss {
    const struct nvdp__mechanism *mechanism;
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    struct nvdp__nvib_config config; /* resolved */
    struct nvdp__form form;
    size_t hidden_size, dim; /* D, p */
    struct nvdp__dense mu;
    struct nvdp__clip clip;
    bool clips, sequence; /* clip each vector; clip the means of a text together with variances 1 */
    bool gains;           /* multiply each row's means by its gain */
    size_t row_gain;      /* [length] */

    struct nvdp__sample_rows rows;
    struct nvdp__posterior posterior; /* [S,p], clipped */
    struct nvdp__unclipped before;    /* values before clipping */
    float *factor;                    /* [texts] of the sequence clip */
    float *ungained;                  /* [S,p] means before their gains */
    float *z, *log_pi;                /* [R,p], [R]; no log_pi without weights */
    float *pooled;                    /* [texts,p]; NULL if a sealed block pools */
    struct nvdp__posterior d;         /* training: gradients */
    float *d_z;                       /* [R,p] */
};

/* `config` is resolved, and `of` is as in nvdp__form_of(); the other members are zero. */
struct nvdp__gauss nvdp__gauss_of(const struct nvdp__mechanism *mechanism, struct nvdp_context *ctx,
                                  const struct nvdp__bert *bert,
                                  const struct nvdp__nvib_config *config, struct nvdp__form of);
/* Frees `self`, a mechanism that owns nothing beyond its struct nvdp__gauss. */
void nvdp__gauss_release(void *self);
/* A narrow latent is initialized from the principal directions of hidden states. */
bool nvdp__gauss_wants_hidden(const void *self);
struct nvdp__view nvdp__gauss_view(const void *self);
size_t nvdp__gauss_replaced(const void *self);
/* Takes all arrays but `pooled` from the arena. */
nvdp_status nvdp__gauss_plan(struct nvdp__gauss *g, const struct nvdp__device *dev,
                             size_t max_tokens, size_t max_texts, bool training,
                             struct nvdp__arena *arena);
/* Numbers the rows of a batch. */
nvdp_status nvdp__gauss_fill(struct nvdp__gauss *g, const struct nvdp__batch *batch);

/* Declares the layer "NAME" of the means, and the gains "NAME.gain" if there are any. */
nvdp_status nvdp__means_declare(struct nvdp__gauss *g, struct nvdp__params *params,
                                const char *name);
/* Initializes the layer of the means (mechanism.h), and the gains: the first is 1, the others are 1/length. */
nvdp_status nvdp__gauss_initialize(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                                   struct nvdp__params *params, uint64_t seed, size_t rows,
                                   const float *hidden);
/* Sets posterior.mu from the sources x [S, D], before any clip. */
void nvdp__means_forward(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                         const struct nvdp__params *params, struct nvdp__tensor x);
/* Sets dx from d.mu, which it overwrites, and adds to the gradients of layer and gains. */
void nvdp__means_backward(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                          const struct nvdp__params *params, struct nvdp__tensor x,
                          struct nvdp__tensor dx);
/* Applies the clips of the mechanism to the posterior. */
void nvdp__gauss_clip(const struct nvdp__gauss *g, const struct nvdp__device *dev);
void nvdp__gauss_clip_backward(const struct nvdp__gauss *g, const struct nvdp__device *dev);
/* Sets d.mu and d.logvar to the gradients that the sample's d_z [R, p] gives. */
void nvdp__gauss_backward(struct nvdp__gauss *g, const struct nvdp__device *dev, const float *d_z);
/* Sets the losses of Gaussians without weights, which have no L_D, and adds their gradients to d. */
void nvdp__gauss_losses(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                        const struct nvdp__penalty *penalty);

/* ---- nvib.c: the mechanism ---- */

extern const struct nvdp__mechanism nvdp__mechanism_nvdp;

struct nvdp__nvib {
    struct nvdp__gauss gauss;
    struct nvdp__dense logvar;                        /* unused under a sequence clip */
    size_t alpha_weight, alpha_bias, alpha_quadratic; /* w1, b, w2; unused without weights */
    struct nvdp__sealed_block block;
    float *dlogg; /* [R] d log g / d log alpha; NULL without weights, and in inference */
    float *clean; /* [R,p] un-noised queries, or NULL */
    float *d_log_pi, *d_clean; /* training */
};

/* posterior.c: forward turns hidden states into the clipped posterior; backward turns gauss.d
 * into d_hidden (set). */
void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in);
void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in,
                                   float *d_hidden);
nvdp_status nvdp__nvib_initialize(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden);

#endif
