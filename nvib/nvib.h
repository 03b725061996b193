/* The NVDP mechanism: hidden states -> NVIB posterior -> Dirichlet-weighted Gaussian sample ->
 * sealed block (docs/nvib.md).  This folder in the paper's order:
 *
 *     posterior.c      mu, logvar, log alpha of each token; initial values
 *     clip.c           the clip set and its gradients
 *     gamma.c          Gamma variables in log space, implicit gradients, special functions
 *     sample.c         vectors z and weights pi, and their gradients
 *     regularizer.c    L_G and L_D, published and exact
 *     attention.c      the sealed block: denoising attention and a feed-forward layer
 *     nvib.c           the mechanism that these make
 *
 * Sizes: T token rows, p dims, R sample rows, B texts. */
#ifndef NVDP_NVIB_NVIB_H
#define NVDP_NVIB_NVIB_H

#include "base/exact_normal.h"
#include "mechanism/mechanism.h"

/* Sums over dimensions run in double, in so many lanes: the same bits on every processor (clip.c). */
enum { NVDP__LANES = 8 };
double nvdp__lane_sum(const double *lane);
double nvdp__dot_f64(size_t n, const float *x, const float *y);

/* ---- posterior.c ---- */

/* The quadratic projection's weights [dim], [dim], [1]; or their gradients. */
struct nvdp__quadratic {
    float *w2, *w1, *b;
};
/* log_alpha[t] = w2.(x*x) + w1.x + b */
void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const struct nvdp__quadratic *w, float *log_alpha);
/* dx and dw (NULL: skip) are added to. */
void nvdp__quadratic_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *x, const struct nvdp__quadratic *w,
                              const float *dlog_alpha, float *dx, const struct nvdp__quadratic *dw);

/* Gains of rows: those of the i-th row of each text. */
nvdp_status nvdp__row_gain_declare(struct nvdp__params *params, const char *name, size_t length,
                                   size_t *index);
/* 1 for the first row, 1/length for the others. */
void nvdp__row_gain_initialize(const struct nvdp__device *dev, struct nvdp__params *params,
                               size_t index);
/* y = gain_i x; x and y [rows, dim]. */
void nvdp__row_gain_forward(const struct nvdp__device *dev, size_t texts, const int32_t *offset,
                            size_t dim, const float *gain, const float *x, float *y);
/* dy becomes dx; d_gain [length] is added to. */
void nvdp__row_gain_backward(const struct nvdp__device *dev, size_t texts, const int32_t *offset,
                             size_t dim, size_t length, const float *gain, const float *x,
                             float *dy, float *d_gain);

/* ---- clip.c ---- */

/* The clip set in float, its bounds rounded inwards. */
struct nvdp__clip {
    float radius;                 /* |mu|_2 <= radius; infinite: off */
    float logvar_min, logvar_max; /* -inf / inf: off */
    float log_alpha_min, log_alpha_max;
    bool inward; /* gradients that lead back inside pass; else as of a clamp */
};
struct nvdp__clip nvdp__clip_set(const struct nvdp__clip_config *config);
/* The clip set within the ranges of struct nvdp_posteriors: what mechanisms apply, with or without a clip. */
struct nvdp__clip nvdp__clip_applied(const struct nvdp__clip_config *config);

/* The posterior as it was before it was clipped. */
struct nvdp__unclipped {
    float *mu_norm;   /* [rows] |mu|; NaN: replaced by 0 */
    float *logvar;    /* [rows, dim] */
    float *log_alpha; /* [rows]; NULL without weights */
};
struct nvdp__unclipped nvdp__unclipped_plan(struct nvdp__arena *arena, size_t rows, size_t dim,
                                            bool weights);
/* In place; `before` is set.  What comes out is finite and in the clip set, whatever went in: a scaled mu lies
 * inside the ball by some 2e-7 of its radius, never outside by rounding. */
void nvdp__clip_forward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                        const struct nvdp__posterior *posterior,
                        const struct nvdp__unclipped *before);
/* In place on the gradient d of the clipped posterior. */
void nvdp__clip_backward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                         const struct nvdp__posterior *posterior,
                         const struct nvdp__unclipped *before, const struct nvdp__posterior *d);

/* All means of a text (rows offset[b]..offset[b+1]) as one vector M, in place scaled to norm C where
 * it is longer; every log variance becomes 0.  factor [texts] is set; NaN: M was not finite and became 0.
 * The norm of what comes out, in double, is at most C, never above by rounding. */
void nvdp__clip_sequence_forward(const struct nvdp__device *dev, double radius, size_t texts,
                                 const int32_t *offset, const struct nvdp__posterior *posterior,
                                 float *factor);
/* In place on the gradient d->mu of the clipped means: the scaling's full derivative. */
void nvdp__clip_sequence_backward(const struct nvdp__device *dev, size_t texts,
                                  const int32_t *offset, const struct nvdp__posterior *posterior,
                                  const float *factor, const struct nvdp__posterior *d);
/* The number of texts of which a number was replaced, as it was no number.  `before` may have no arrays, factor
 * may be NULL. */
size_t nvdp__clip_replaced(const struct nvdp__sample_rows *layout, size_t dim,
                           const struct nvdp__unclipped *before, const float *factor);

/* ---- gamma.c: scalars, in double ---- */

double nvdp__log_abs_gamma(double x); /* log |Gamma(x)| */
/* psi(x) = d log Gamma(x) / dx and psi'(x), for x > 0.  NaN for x <= 0 and NaN. */
double nvdp__digamma(double x);
double nvdp__trigamma(double x);
/* What is left of them for large x, without cancellation (x > 0):
 *     log Gamma(x) - x psi(x) + x   and   psi'(x) - 1/x. */
double nvdp__log_gamma_excess(double x);
double nvdp__trigamma_excess(double x);

/* log of a Gamma(alpha, 1) draw; NaN where alpha is not positive and finite. */
double nvdp__gamma_log_draw(struct nvdp__stream *stream, double alpha);
/* d log g / d log alpha of such a draw at fixed randomness, from log g: stable where g underflows.
 * alpha in [1e-5, 1e5]; finite outside. */
double nvdp__gamma_implicit_log_gradient(double alpha, double log_g);

/* ---- release.c: the weights of what is given away ---- */

/* log pi of a Dirichlet(alpha) draw in steps of the grid, -limit to 0; `scratch` has
 * nvdp__release_scratch(rows) bytes, aligned for any type. */
size_t nvdp__release_scratch(size_t rows);
void nvdp__release_weights(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                           size_t rows, const double *alpha, void *scratch, int32_t *out);
/* Whether the bound below holds of these pseudo-counts: positive, and 2^20 at most together. */
bool nvdp__release_takes(size_t rows, const double *alpha);
/* Total variation distance, at most, of such draws from those that exact arithmetic and endless digits
 * would give, for any pseudo-counts of which the first is prior_alpha. */
double nvdp__release_distance(const struct nvdp__rounding_grid *grid, size_t rows,
                              double prior_alpha);

/* ---- sample.c ---- */

/* z [R, p] */
void nvdp__gauss_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                        const struct nvdp__sample_rows *layout,
                        const struct nvdp__posterior *posterior, float *z);
/* d->mu, d->logvar are added to. */
void nvdp__gauss_sample_backward(const struct nvdp__device *dev,
                                 const struct nvdp__sample_rows *layout,
                                 const struct nvdp__posterior *posterior, const float *z,
                                 const float *dz, const struct nvdp__posterior *d);
/* log_pi [R], never -inf; dlogg [R] (NULL: inference) keeps d log g / d log alpha. */
void nvdp__dirichlet_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                            const struct nvdp__form *form, const struct nvdp__sample_rows *layout,
                            const float *log_alpha, float *log_pi, float *dlogg);
/* dlog_alpha [T] is added to. */
void nvdp__dirichlet_sample_backward(const struct nvdp__device *dev,
                                     const struct nvdp__sample_rows *layout, const float *log_pi,
                                     const float *dlogg, const float *dlog_pi, float *dlog_alpha);

/* ---- regularizer.c ---- */

enum nvdp__kl_form {
    NVDP__KL_PUBLISHED, /* the papers': means over dimensions and over components */
    NVDP__KL_EXACT      /* nats, of the sample from that of an empty text */
};
/* L_G and L_D of each text (host [texts]; NULL: skip) over its own components, and the exact L_D
 * over padding too.  weight_g dL_G + weight_d dL_D is added to d (NULL: skip). */
struct nvdp__kl {
    enum nvdp__kl_form which;
    struct nvdp__form of;
    double weight_g, weight_d;
};
void nvdp__kl_losses(const struct nvdp__device *dev, const struct nvdp__kl *kl, size_t texts,
                     const int32_t *token_offset, const struct nvdp__posterior *posterior,
                     const struct nvdp__posterior *d, double *loss_g, double *loss_d);
/* Gaussians alone: the sum of D(N(mu, var) || N(0, I)), nats, over a text's rows
 * offset[b]..offset[b+1]; published: their mean.  The gradient times `weight` is added to d (NULL:
 * skip). */
void nvdp__gaussian_losses(const struct nvdp__device *dev, enum nvdp__kl_form which, double weight,
                           size_t texts, const int32_t *offset,
                           const struct nvdp__posterior *posterior, const struct nvdp__posterior *d,
                           double *loss);

/* ---- attention.c: the sealed block.  It reads the sample and nothing else ---- */

/* bias[r] = log_pi[r] - |z[r]|^2 / (2 sqrt(head_dim)): the denoising attention's key bias.  Without
 * weights (log_pi NULL) log pi is the same for all rows, and left out. */
void nvdp__denoise_bias(const struct nvdp__device *dev, size_t rows, size_t dim, size_t head_dim,
                        const float *log_pi, const float *z, float *bias);
/* dlog_pi[r] = dbias[r] (NULL: skip); dz[r] -= dbias[r] z[r]/sqrt(head_dim). */
void nvdp__denoise_bias_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 size_t head_dim, const float *z, const float *dbias, float *dz,
                                 float *dlog_pi);

/* y = exp(x): the weights from their logarithms. x and y may be the same. */
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
    bool weights;     /* samples have weights, and the prior's component before the tokens' */
    bool residual;    /* of the query's own row of the sample, round the attention */
    bool clean_query; /* forward is given clean queries */
    float *d_clean;   /* [R, p] where backward sets their gradient, or NULL */
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
/* For at most max_rows sample rows of max_texts texts. */
nvdp_status nvdp__block_plan(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                             size_t max_rows, size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena);
/* *pooled [texts, p].  clean_query [R, p] (NULL: from z) is for the leaking comparison variant
 * only. NVDP_ERR_ARGUMENT for a sample outside the plan or with a text too short for its pool. */
nvdp_status nvdp__block_forward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                                const struct nvdp__params *params,
                                const struct nvdp__sample *sample, const float *clean_query,
                                float **pooled);
/* After the forward of the same sample.  Gradients of parameters are added; dz [R, p] and dlog_pi
 * [R] are set (NULL both: skip; dlog_pi NULL without weights). */
void nvdp__block_backward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__sample *sample,
                          const float *d_pooled, float *dz, float *dlog_pi);

/* ---- nvib.c: the mechanism ---- */

extern const struct nvdp__mechanism nvdp__mechanism_nvdp;

struct nvdp__nvib {
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    struct nvdp__nvib_config config; /* resolved */
    struct nvdp__form form;
    size_t hidden_size, dim; /* D, p */
    struct nvdp__dense mu;
    struct nvdp__dense logvar;                        /* none under a sequence clip */
    size_t alpha_weight, alpha_bias, alpha_quadratic; /* w1, b, w2; none without weights */
    struct nvdp__sealed_block block;
    struct nvdp__clip clip;
    bool clips, sequence; /* each vector is clipped; a text's means together, variances 1 */
    bool gains;           /* a row's means have its gain */
    size_t row_gain;      /* [length] */

    struct nvdp__sample_rows rows;
    struct nvdp__posterior posterior; /* [T,p], clipped */
    struct nvdp__unclipped before;    /* where clipped */
    float *factor;                    /* [texts] of the sequence clip */
    float *ungained;                  /* [T,p] means before their gains */
    float *z, *log_pi, *dlogg;        /* [R,p], [R], [R]; no log_pi and dlogg without weights */
    float *clean;                     /* [R,p] un-noised queries, or NULL */
    struct nvdp__posterior d;         /* training: gradients */
    float *d_z, *d_log_pi, *d_clean;
};

/* posterior.c: hidden -> the posterior, clipped; and back from nvib->d: d_hidden is set. */
void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in);
void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in,
                                   float *d_hidden);
nvdp_status nvdp__nvib_initialize(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden);

#endif
