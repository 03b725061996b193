/* The NVDP mechanism: hidden states -> NVIB posterior -> Dirichlet-weighted Gaussian sample ->
 * sealed block (docs/nvib.md).  This folder in the paper's order: posterior.c, clip.c, gamma.c,
 * sample.c, regularizer.c, attention.c, and nvib.c, which makes a mechanism of them.
 *
 * Sizes: T token rows, p dims, R sample rows, B texts.  Rows of a text in a sample: component 0
 * (the prior), 1..n (the tokens) and, under the hidden length policy, n+1..L (padding); each
 * component has kappa neighbouring rows.  src[r] is the token row that sample row r comes from, -1
 * for the prior and padding (mu 0, logvar 0). */
#ifndef NVDP_NVIB_NVIB_H
#define NVDP_NVIB_NVIB_H

#include "mechanism/mechanism.h"

/* ---- posterior.c: from hidden states to mu, logvar, log alpha ---- */
/* log_alpha[t] = w2.(x*x) + w1.x + b  (quadratic projection) */
void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const float *w2, const float *w1, const float *b,
                             float *log_alpha);
/* dx added to; dw2, dw1, db added to. */
void nvdp__quadratic_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *x, const float *w2, const float *w1,
                              const float *dlog_alpha, float *dx, float *dw2, float *dw1,
                              float *db);

/* ---- clip.c ---- */
/* Clip set (follow-up paper). Off where clip NULL. */
struct nvdp__clip {
    float radius;                 /* |mu|_2 <= radius; infinite: off */
    float logvar_min, logvar_max; /* -inf / inf: off */
    float log_alpha_min, log_alpha_max;
    bool inward; /* gradients that lead back inside pass; else as of a clamp */
};
/* In place; mu_norm [rows] keeps |mu| before scaling, logvar_in [rows,dim] and log_alpha_in [rows]
 * what came in.  Without weights log_alpha, log_alpha_in and dlog_alpha are NULL.  A scaled mu
 * comes to lie inside the ball by some 2e-7 of its radius, never outside by rounding. */
void nvdp__clip_forward(const struct nvdp__device *dev, const struct nvdp__clip *clip, size_t rows,
                        size_t dim, float *mu, float *logvar, float *log_alpha, float *mu_norm,
                        float *logvar_in, float *log_alpha_in);
/* In place on the gradients; mu is the clipped mu.  A clamped number passes nothing on; a scaled mu
 * passes on the Jacobian of the projection, (R/|mu|) (I - m m^T), m = mu/|mu|.  With `inward` a
 * gradient whose descent leads towards the set passes: of a clamped number unchanged, of a scaled
 * mu times R/|mu| where m.dmu > 0. */
void nvdp__clip_backward(const struct nvdp__device *dev, const struct nvdp__clip *clip, size_t rows,
                         size_t dim, const float *mu, const float *mu_norm, const float *logvar_in,
                         const float *log_alpha_in, float *dmu, float *dlogvar, float *dlog_alpha);

/* The clip set in float, its bounds rounded inwards; whether there is one. */
struct nvdp__clip nvdp__clip_set(const struct nvdp_clip_config *config);
bool nvdp__clips(const struct nvdp_clip_config *config);

/* ---- gamma.c: scalars, in double ---- */
/* log |Gamma(x)|; lgamma without its global sign. */
double nvdp__log_gamma(double x);
/* psi(x) = d log Gamma(x) / dx and psi'(x), for x > 0.  NaN for x <= 0 and NaN. */
double nvdp__digamma(double x);
double nvdp__trigamma(double x);

/* What is left of them for large x, without cancellation (x > 0):
 *     log Gamma(x) - x psi(x) + x   and   psi'(x) - 1/x. */
double nvdp__log_gamma_excess(double x);
double nvdp__trigamma_excess(double x);

/* d g / d alpha of g ~ Gamma(alpha, 1) at fixed randomness. alpha in [1e-5, 1e5]. */
double nvdp__gamma_implicit_gradient(double alpha, double g);
/* d log g / d log alpha, from log g: stable where g underflows. */
double nvdp__gamma_implicit_log_gradient(double alpha, double log_g);
/* log of a Gamma(alpha, 1) draw (Marsaglia & Tsang 2000; alpha < 1: log G(alpha+1) + log(U)/alpha).
 */
double nvdp__gamma_log_draw(struct nvdp__stream *stream, double alpha);

/* ---- sample.c ---- */
/* z[r] = mu[src] + exp(logvar[src]/2) eps[r], added in double; eps drawn from a stream a text
 * (key[b], rows offset[b]..offset[b+1]), row i of a text from block i ceil(dim/8) on, or given (eps
 * non-NULL). */
void nvdp__gauss_sample(const struct nvdp__device *dev, const struct nvdp__noise *noise,
                        enum nvdp__purpose purpose, uint32_t epoch, size_t texts,
                        const int32_t *offset, const uint64_t *key, size_t dim, const int32_t *src,
                        const float *mu, const float *logvar, const float *eps, float *z);
/* dmu[src] += dz, dlogvar[src] += dz (z - mu)/2, in row order. */
void nvdp__gauss_sample_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 const int32_t *src, const float *mu, const float *z,
                                 const float *dz, float *dmu, float *dlogvar);

/* Dirichlet weights in log space.  Row r has pseudo-count exp(log_alpha[src[r]])/kappa, or
 * base[r]/kappa (host table) where src[r] < 0.  log g_r ~ log Gamma(.,1) from a stream a text, or
 * given (log_gamma non-NULL); log_pi = log g - logsumexp over the text; never -inf (log g stops at
 * -1e30). dlogg (NULL: inference) [R] keeps d log g / d log alpha (implicit reparameterisation,
 * Figurnov et al. 2018). */
void nvdp__dirichlet_sample(const struct nvdp__device *dev, const struct nvdp__noise *noise,
                            enum nvdp__purpose purpose, uint32_t epoch, size_t texts,
                            const int32_t *offset, const uint64_t *key, double kappa,
                            const int32_t *src, const float *base, const float *log_alpha,
                            const float *log_gamma, float *log_pi, float *dlogg);
/* dlog_alpha[src] += dlogg (dlog_pi - pi sum dlog_pi), in row order. */
void nvdp__dirichlet_sample_backward(const struct nvdp__device *dev, size_t texts,
                                     const int32_t *offset, const int32_t *src, const float *log_pi,
                                     const float *dlogg, const float *dlog_pi, float *dlog_alpha);

/* ---- regularizer.c ---- */
/* The two losses a text, over its real components (prior + tokens, padding never enters). */
enum nvdp__kl_form {
    NVDP__KL_PUBLISHED, /* docs/nvib.md: means over dimensions and over K */
    NVDP__KL_EXACT      /* nats, of the sample from that of an empty text */
};
struct nvdp__kl {
    enum nvdp__kl_form form;
    double prior_alpha, pad_alpha, delta, kappa;
    double weight_g, weight_d; /* gradient weights: lambda s_t / texts */
    /* The exact form under the hidden policy sums over length+1 components; 0: the text's own n+1,
     * and an empty text's pseudo-count is (prior_alpha + delta n)/(n+1) instead of pad_alpha. */
    size_t length;
};
/* loss_g, loss_d: host doubles [texts] (NULL: skip).  Gradients (dmu NULL: skip all) are ADDED to
 * dmu, dlogvar, dlog_alpha. */
void nvdp__kl_losses(const struct nvdp__device *dev, const struct nvdp__kl *kl, size_t texts,
                     const int32_t *token_offset, size_t dim, const float *mu, const float *logvar,
                     const float *log_alpha, double *loss_g, double *loss_d, float *dmu,
                     float *dlogvar, float *dlog_alpha);

/* Gaussians alone: the sum of D(N(mu, var) || N(0, I)), nats, over a text's rows
 * offset[b]..offset[b+1]; in the published form their mean.  Gradients times `weight` (dmu NULL:
 * skip) are ADDED. */
void nvdp__gaussian_losses(const struct nvdp__device *dev, enum nvdp__kl_form form, double weight,
                           size_t texts, const int32_t *offset, size_t dim, const float *mu,
                           const float *logvar, double *loss, float *dmu, float *dlogvar);
/* ---- attention.c: the sealed block.  It reads the sample and nothing else ---- */
/* bias[r] = log_pi[r] - |z[r]|^2 / (2 sqrt(head_dim)): the denoising attention's key bias. */
void nvdp__denoise_bias(const struct nvdp__device *dev, size_t rows, size_t dim, size_t head_dim,
                        const float *log_pi, const float *z, float *bias);
/* dlog_pi[r] = dbias[r]; dz[r] -= dbias[r] z[r]/sqrt(head_dim). */
void nvdp__denoise_bias_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 size_t head_dim, const float *z, const float *dbias, float *dz,
                                 float *dlog_pi);

/* y = exp(x): the weights from their logarithms. x and y may be the same. */
void nvdp__exp(const struct nvdp__device *dev, size_t n, const float *x, float *y);
/* y += a * x, elementwise. */
void nvdp__multiply_add(const struct nvdp__device *dev, size_t n, const float *a, const float *x,
                        float *y);

struct nvdp__block {
    size_t dim; /* p */
    size_t heads;
    size_t inner; /* feed-forward width */
    enum nvdp_activation act;
    float eps;           /* LayerNorm */
    enum nvdp_pool pool; /* resolved: first, mean, weighted */
    int kappa;
    bool clean_query; /* forward is given clean queries */
    float *d_clean;   /* [R, p] where backward sets their gradient, or NULL */
    struct nvdp__dense query, key, value, attention_output, attention_norm, intermediate, output,
        output_norm;
    nvdp__operand *x_room, *dy_room; /* for what products read, rounded: any of its tensors */
    /* activations, index tables: see block.c */
    struct nvdp__block_cache *cache;
};

/* Declares "nvdp.attention.self.query.weight" and so on. */
nvdp_status nvdp__block_declare(struct nvdp__block *block, struct nvdp__params *params);
void nvdp__block_release(struct nvdp__block *block);
/* Normal(0, sd); LayerNorm 1 / 0. */
void nvdp__block_initialise(const struct nvdp__block *block, const struct nvdp__device *dev,
                            struct nvdp__params *params, double sd, uint64_t seed);
/* Room for so many query rows is planned. */
size_t nvdp__block_queries(const struct nvdp__block *block, const struct nvdp__device *dev,
                           size_t max_rows, size_t max_texts);
/* For at most max_rows sample rows of max_texts texts. */
nvdp_status nvdp__block_plan(struct nvdp__block *block, const struct nvdp__device *dev,
                             size_t max_rows, size_t max_texts, size_t longest, bool training,
                             struct nvdp__arena *arena);
/* *pooled [texts, p].  clean_query [R, p] (NULL: from z) is for the leaking comparison variant
 * only. NVDP_ERR_ARGUMENT for a sample outside the plan or with a text too short for its pool. */
nvdp_status nvdp__block_forward(struct nvdp__block *block, const struct nvdp__device *dev,
                                const struct nvdp__params *params,
                                const struct nvdp__sample *sample, const float *clean_query,
                                float **pooled);
/* After the forward of the same sample.  Gradients of parameters are added; dz [R, p] and dlog_pi
 * [R] are set (NULL both: skip). */
void nvdp__block_backward(struct nvdp__block *block, const struct nvdp__device *dev,
                          const struct nvdp__params *params, const struct nvdp__sample *sample,
                          const float *d_pooled, float *dz, float *dlog_pi);

/* ---- nvib.c: the mechanism ---- */
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
