/* Operations of the nonparametric variational information bottleneck on tensor memory.
 * Definitions: docs/nvib.md.  T token rows, p dims, R sample rows (prior, tokens, padding, each
 * kappa times), B texts.  src[r] is the token row that sample row r comes from, -1 for the prior
 * and padding (mu 0, logvar 0).  Rows of one token are neighbours, and a token's rows are in one
 * text. */
#ifndef NVDP_SRC_TENSOR_OPS_NVIB_H
#define NVDP_SRC_TENSOR_OPS_NVIB_H

#include "base/random.h"
#include "tensor/device.h"

/* log_alpha[t] = w2.(x*x) + w1.x + b  (quadratic projection) */
void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const float *w2, const float *w1, const float *b,
                             float *log_alpha);
/* dx added to; dw2, dw1, db added to. */
void nvdp__quadratic_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *x, const float *w2, const float *w1,
                              const float *dlog_alpha, float *dx, float *dw2, float *dw1,
                              float *db);

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
/* logvar = 2 log sigma of sigma = softplus(rho) = log(1 + e^rho). */
void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar);
/* drho is set; it may be dlogvar. */
void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho);

/* Scalars (gamma.c), in double. */
/* d g / d alpha of g ~ Gamma(alpha, 1) at fixed randomness. alpha in [1e-5, 1e5]. */
double nvdp__gamma_implicit_gradient(double alpha, double g);
/* d log g / d log alpha, from log g: stable where g underflows. */
double nvdp__gamma_implicit_log_gradient(double alpha, double log_g);
/* log of a Gamma(alpha, 1) draw (Marsaglia & Tsang 2000; alpha < 1: log G(alpha+1) + log(U)/alpha).
 */
double nvdp__gamma_log_draw(struct nvdp__stream *stream, double alpha);

#endif
