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
 * The pseudo-counts of padding and of the prior belong to every mechanism with weights: mechanism/mechanism.c.
 * Sizes: T token rows, p dims, R sample rows, B texts. */
#ifndef NVDP_NVIB_NVIB_H
#define NVDP_NVIB_NVIB_H

#include "base/exact_normal.h"
#include "mechanism/mechanism.h"

/* Number of lanes in which sums over dimensions run, in double, so that their bits are the same on every processor
 * (clip.c). */
enum { NVDP__LANES = 8 };
double nvdp__lane_sum(const double *lane);
double nvdp__dot_f64(size_t n, const float *x, const float *y);

/* ---- posterior.c ---- */

/* The parameters of the quadratic projection: w2 [dim], w1 [dim], b [1]; or their gradients. */
struct nvdp__quadratic {
    float *w2, *w1, *b;
};
/* Computes log_alpha[t] = w2.(x*x) + w1.x + b. */
void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const struct nvdp__quadratic *w, float *log_alpha);
/* Adds the gradients to dx and dw; skips either if it is NULL. */
void nvdp__quadratic_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *x, const struct nvdp__quadratic *w,
                              const float *dlog_alpha, float *dx, const struct nvdp__quadratic *dw);

/* ---- clip.c ---- */

/* The clip set in float; the bounds are rounded inward. */
struct nvdp__clip {
    float radius;                 /* |mu|_2 <= radius; infinite if mu has no clip */
    float logvar_min, logvar_max; /* -inf and inf if logvar has no clip */
    float log_alpha_min, log_alpha_max;
    bool inward; /* true if gradients that lead back inside pass; false: gradients of clamping */
};
struct nvdp__clip nvdp__clip_set(const struct nvdp__clip_config *config);
/* Returns the clip set restricted to the ranges that nvdp_posteriors allows. Mechanisms apply this set even without
 * a clip. */
struct nvdp__clip nvdp__clip_applied(const struct nvdp__clip_config *config);

/* The values of the posterior before clipping. */
struct nvdp__unclipped {
    float *mu_norm;   /* [rows] |mu|; NaN if mu was replaced by 0 */
    float *logvar;    /* [rows, dim] before clipping */
    float *log_alpha; /* [rows]; NULL if there are no weights */
};
struct nvdp__unclipped nvdp__unclipped_plan(struct nvdp__arena *arena, size_t rows, size_t dim,
                                            bool weights);
/* Clips in place and stores the previous values in `before`. For every input, the result is finite and in the clip
 * set. A scaled mu lies inside the ball by about 2e-7 of its radius, so rounding never moves it outside. */
void nvdp__clip_forward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                        const struct nvdp__posterior *posterior,
                        const struct nvdp__unclipped *before);
/* Turns the gradient d of the clipped posterior, in place, into the gradient of the posterior before clipping. */
void nvdp__clip_backward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                         const struct nvdp__posterior *posterior,
                         const struct nvdp__unclipped *before, const struct nvdp__posterior *d);

/* Returns the radius of the ball into which the sequence clip scales: C minus the room for rounding. */
double nvdp__sequence_ball(double radius);
/* Treats all means of a text (rows offset[b]..offset[b+1]) as one vector M and scales M in place to norm C if M is
 * longer. Sets all log variances to 0. factor [texts] receives the scales; NaN if M was not finite and became 0. The
 * norm of the result, in double, is at most C even after rounding. */
void nvdp__clip_sequence_forward(const struct nvdp__device *dev, double radius, size_t texts,
                                 const int32_t *offset, const struct nvdp__posterior *posterior,
                                 float *factor);
/* Turns the gradient d->mu of the clipped means, in place, into the gradient of the means before the clip: the full
 * derivative of the scaling. */
void nvdp__clip_sequence_backward(const struct nvdp__device *dev, size_t texts,
                                  const int32_t *offset, const struct nvdp__posterior *posterior,
                                  const float *factor, const struct nvdp__posterior *d);
/* Returns the number of texts in which a NaN or an infinity was replaced. `factor` and the arrays of `before` may be
 * NULL. */
size_t nvdp__clip_replaced(const struct nvdp__sample_rows *layout, size_t dim,
                           const struct nvdp__unclipped *before, const float *factor);

/* ---- gamma.c: scalar functions in double ---- */

double nvdp__log_abs_gamma(double x); /* log |Gamma(x)| */
/* Return psi(x) = d log Gamma(x) / dx and psi'(x), for x > 0; NaN if x <= 0 or x is NaN. */
double nvdp__digamma(double x);
double nvdp__trigamma(double x);
/* The remainders for large x, computed without cancellation (x > 0):
 *     log Gamma(x) - x psi(x) + x   and   psi'(x) - 1/x. */
double nvdp__log_gamma_excess(double x);
double nvdp__trigamma_excess(double x);

/* Returns the log of a Gamma(alpha, 1) draw; NaN unless alpha is positive and finite. */
double nvdp__gamma_log_draw(struct nvdp__stream *stream, double alpha);
/* Returns d log g / d log alpha of a Gamma draw g at fixed randomness. The function starts from log g, so it is
 * stable even if g underflows. Accurate for alpha in [1e-5, 1e5]; finite outside. */
double nvdp__gamma_implicit_log_gradient(double alpha, double log_g);

/* ---- release.c: the weights of a release ---- */

/* Draws Dirichlet(alpha) weights and returns log pi in steps of the grid, clamped to [-limit,
 * 0]. `scratch` has nvdp__release_scratch(rows) bytes, aligned for any type. */
size_t nvdp__release_scratch(size_t rows);
void nvdp__release_weights(struct nvdp__digits *digits, const struct nvdp__rounding_grid *grid,
                           size_t rows, const double *alpha, void *scratch, int32_t *out);
/* Returns true if the bound of nvdp__release_distance() holds for these pseudo-counts: all are positive and the sum
 * is at most 2^20. */
bool nvdp__release_takes(size_t rows, const double *alpha);
/* Returns an upper bound of the total variation distance between draws of nvdp__release_weights() and draws in exact
 * arithmetic with unlimited random digits. The bound holds for all pseudo-counts of which the first is prior_alpha. */
double nvdp__release_distance(const struct nvdp__rounding_grid *grid, size_t rows,
                              double prior_alpha);

/* ---- sample.c ---- */

/* Draws the vectors z [R, p]. */
void nvdp__gauss_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                        const struct nvdp__sample_rows *layout,
                        const struct nvdp__posterior *posterior, float *z);
/* Adds the gradients of z to d->mu and d->logvar. */
void nvdp__gauss_sample_backward(const struct nvdp__device *dev,
                                 const struct nvdp__sample_rows *layout,
                                 const struct nvdp__posterior *posterior, const float *z,
                                 const float *dz, const struct nvdp__posterior *d);
/* Draws the weights; log_pi [R] is never -inf. dlogg [R] receives d log g / d log alpha; NULL in inference. */
void nvdp__dirichlet_sample(const struct nvdp__device *dev, const struct nvdp__draw *draw,
                            const struct nvdp__form *form, const struct nvdp__sample_rows *layout,
                            const float *log_alpha, float *log_pi, float *dlogg);
/* Adds the gradient of log_pi to dlog_alpha [T]. */
void nvdp__dirichlet_sample_backward(const struct nvdp__device *dev,
                                     const struct nvdp__sample_rows *layout, const float *log_pi,
                                     const float *dlogg, const float *dlog_pi, float *dlog_alpha);

/* ---- regularizer.c ---- */

/* Computes L_G and L_D of each text (host [texts]; NULL: not computed) over the text's components; the exact L_D
 * includes padding. Adds weight_g dL_G + weight_d dL_D to d; skips this if d is NULL. */
struct nvdp__kl {
    enum nvdp__regularizer which;
    struct nvdp__form of;
    double weight_g, weight_d;
};
void nvdp__kl_losses(const struct nvdp__device *dev, const struct nvdp__kl *kl, size_t texts,
                     const int32_t *token_offset, const struct nvdp__posterior *posterior,
                     const struct nvdp__posterior *d, double *loss_g, double *loss_d);
/* Computes the loss of Gaussians without weights: the sum of D(N(mu, var) || N(0, I)), in nats, over the rows
 * offset[b]..offset[b+1] of a text. The published loss is their mean. Adds the gradient times `weight` to d; skips
 * this if d is NULL. */
void nvdp__gaussian_losses(const struct nvdp__device *dev, enum nvdp__regularizer which,
                           double weight, size_t texts, const int32_t *offset,
                           const struct nvdp__posterior *posterior, const struct nvdp__posterior *d,
                           double *loss);

/* ---- attention.c: the sealed block, which reads only the sample ---- */

/* bias[r] = log_pi[r] - |z[r]|^2 / (2 sqrt(head_dim)): the key bias of denoising attention. If there are no weights,
 * log_pi is NULL: log pi is then the same for all rows and is left out. */
void nvdp__denoise_bias(const struct nvdp__device *dev, size_t rows, size_t dim, size_t head_dim,
                        const float *log_pi, const float *z, float *bias);
/* Sets dlog_pi[r] = dbias[r] (skipped if NULL); subtracts dbias[r] z[r]/sqrt(head_dim) from dz[r]. */
void nvdp__denoise_bias_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 size_t head_dim, const float *z, const float *dbias, float *dz,
                                 float *dlog_pi);

/* Computes y = exp(x), which turns logarithms into weights; x and y may share memory. */
void nvdp__exp(size_t n, const float *x, float *y);
/* Computes y += a * x, elementwise. */
void nvdp__multiply_add(size_t n, const float *a, const float *x, float *y);

struct nvdp__sealed_block {
    size_t dim; /* p, the width of a vector */
    size_t heads;
    size_t inner; /* width of the feed-forward layer */
    enum nvdp_activation act;
    float eps;           /* epsilon of LayerNorm */
    enum nvdp_pool pool; /* first, mean or weighted; "auto" is already resolved */
    int kappa;
    /* true if samples have weights; the component of the prior then comes before those of the tokens */
    bool weights;
    /* true if the query's own row of the sample is added to the attention's output */
    bool residual;
    bool clean_query; /* true if the forward pass receives clean queries */
    float *d_clean;   /* [R, p] receives the gradient of clean queries; NULL if there are none */
    struct nvdp__dense query, key, value, attention_output, attention_norm, intermediate, output,
        output_norm;
    /* activations and index tables: see attention.c */
    struct nvdp__block_cache *cache;
};

/* Declares "nvdp.attention.self.query.weight" and so on. */
nvdp_status nvdp__block_declare(struct nvdp__sealed_block *block, struct nvdp__params *params);
void nvdp__block_release(struct nvdp__sealed_block *block);
/* Initializes weights by Normal(0, sd), and LayerNorm by 1 and 0. */
void nvdp__block_initialize(const struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                            struct nvdp__params *params, double sd, uint64_t seed);
/* Plans memory for at most max_rows sample rows of max_texts texts. */
nvdp_status nvdp__block_plan(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                             size_t max_rows, size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena);
/* Sets *pooled [texts, p]. clean_query [R, p] is only for the leaking comparison variant; NULL if the queries come
 * from z. Fails with NVDP_ERR_ARGUMENT if the sample exceeds the plan or a text is too short for the pool. */
nvdp_status nvdp__block_forward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                                const struct nvdp__params *params,
                                const struct nvdp__sample *sample, const float *clean_query,
                                float **pooled);
/* Computes the gradients; must follow the forward pass of the same sample. Adds to the gradients of the parameters.
 * Sets dz [R, p] and dlog_pi [R]; both are skipped if NULL, and dlog_pi is NULL without weights. */
void nvdp__block_backward(struct nvdp__sealed_block *block, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__sample *sample,
                          const float *d_pooled, float *dz, float *dlog_pi);

/* ---- gauss.c: the parts that all Gaussian mechanisms share ---- */

/* The first member of a mechanism's struct, so that a pointer to the struct can be passed as `self`. S is the number
 * of sources. */
struct nvdp__gauss {
    const struct nvdp__mechanism *mechanism;
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    struct nvdp__nvib_config config; /* "auto" options are already resolved */
    struct nvdp__form form;
    size_t hidden_size, dim; /* D and p: width of the encoder's states and of the latent */
    struct nvdp__dense mu;
    struct nvdp__clip clip;
    /* true to clip each vector; true to clip the means of a text together, with variances 1 */
    bool clips, sequence;
    bool gains;      /* true to multiply the means of each row by the row's gain */
    size_t row_gain; /* parameter [length]: the gains */

    struct nvdp__sample_rows rows;
    struct nvdp__posterior posterior; /* [S,p] after clipping */
    struct nvdp__unclipped before;    /* values before clipping */
    float *factor;                    /* [texts] factors of the sequence clip */
    float *ungained;                  /* [S,p] means before the gains */
    float *z, *log_pi;                /* [R,p], [R]; log_pi is NULL without weights */
    float *pooled;                    /* [texts,p]; NULL if a sealed block pools */
    struct nvdp__posterior d;         /* gradients of the posterior, in training */
    float *d_z;                       /* [R,p] gradient of the sample */
};

/* Makes the struct: `config` is resolved, `of` is as in nvdp__make_form(), and the other members are zero. */
struct nvdp__gauss nvdp__gauss_make(const struct nvdp__mechanism *mechanism,
                                    struct nvdp_context *ctx, const struct nvdp__bert *bert,
                                    const struct nvdp__nvib_config *config, struct nvdp__form of);
/* Frees `self`, a mechanism that owns nothing beyond the arrays of struct nvdp__gauss. */
void nvdp__gauss_release(void *self);
/* Returns true if the latent is narrow: it is then initialized from the principal directions of hidden states. */
bool nvdp__gauss_wants_hidden(const void *self);
struct nvdp__view nvdp__gauss_view(const void *self);
size_t nvdp__gauss_replaced(const void *self);
/* Takes all arrays but `pooled` from the arena. */
nvdp_status nvdp__gauss_plan(struct nvdp__gauss *g, const struct nvdp__device *dev,
                             size_t max_tokens, size_t max_texts, bool training,
                             struct nvdp__arena *arena);
/* Numbers the rows of a batch. */
nvdp_status nvdp__gauss_fill(struct nvdp__gauss *g, const struct nvdp__batch *batch);

/* Declares the layer "NAME" of the means and, if there are gains, the gains "NAME.gain". */
nvdp_status nvdp__means_declare(struct nvdp__gauss *g, struct nvdp__params *params,
                                const char *name);
/* Initializes the layer of the means (mechanism.h), and the gains: the first gain is 1, the others are 1/length. */
nvdp_status nvdp__gauss_initialize(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                                   struct nvdp__params *params, uint64_t seed, size_t rows,
                                   const float *hidden);
/* Sets posterior.mu from the sources x [S, D], before any clip. */
void nvdp__means_forward(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                         const struct nvdp__params *params, struct nvdp__tensor x);
/* Sets dx from d.mu, which is overwritten, and adds to the gradients of the layer and of the gains. */
void nvdp__means_backward(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                          const struct nvdp__params *params, struct nvdp__tensor x,
                          struct nvdp__tensor dx);
/* Applies the clips of the mechanism to the posterior. */
void nvdp__gauss_clip(const struct nvdp__gauss *g, const struct nvdp__device *dev);
void nvdp__gauss_clip_backward(const struct nvdp__gauss *g, const struct nvdp__device *dev);
/* Sets d.mu and d.logvar to the gradients that follow from the gradient d_z [R, p] of the sample. */
void nvdp__gauss_backward(struct nvdp__gauss *g, const struct nvdp__device *dev, const float *d_z);
/* Sets the losses of Gaussians without weights, which have no L_D, and adds the gradients of the losses to d. */
void nvdp__gauss_losses(const struct nvdp__gauss *g, const struct nvdp__device *dev,
                        const struct nvdp__penalty *penalty);

/* ---- nvib.c: the mechanism ---- */

extern const struct nvdp__mechanism nvdp__mechanism_nvdp;

struct nvdp__nvib {
    struct nvdp__gauss gauss;
    struct nvdp__dense logvar; /* unused under a sequence clip */
    /* parameters w1, b, w2; unused without weights */
    size_t alpha_weight, alpha_bias, alpha_quadratic;
    struct nvdp__sealed_block block;
    float *dlogg; /* [R] d log g / d log alpha; NULL without weights and in inference */
    float *clean; /* [R,p] queries without noise; NULL if queries come from z */
    float *d_log_pi, *d_clean; /* in training */
};

/* posterior.c: the forward pass turns hidden states into the clipped posterior; the backward pass turns gauss.d into
 * d_hidden, which it sets. */
void nvdp__nvib_posterior_forward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in);
void nvdp__nvib_posterior_backward(struct nvdp__nvib *nvib, const struct nvdp__encoded *in,
                                   float *d_hidden);
nvdp_status nvdp__nvib_initialize(void *self, const struct nvdp__device *dev,
                                  struct nvdp__params *params, uint64_t seed, size_t rows,
                                  const float *hidden);

#endif
