/* The two losses of a posterior, published and exact (docs/nvib.md, section "Losses"). */
#include "nvib/nvib.h"
#include "tensor/vector.h"

enum { LANES = 8 };

/* exp(x) - 1 in double, relative error below 1e-15, for |x| <= 700 (beyond: as at the end; NaN
 * stays). x = n ln 2 + r; a Taylor polynomial for r, |r| <= 0.347; exp(x) - 1 = 2^n (exp(r) - 1) +
 * (2^n - 1). Without branches and calls, so that loops over it become vectors. */
NVDP__INLINE double expm1_inline(double x) {
    const double round = 0x1.8p52;
    x = x > 700 ? 700 : x;
    x = x < -700 ? -700 : x;
    double shifted = x * 1.4426950408889634 + round;
    double n = shifted - round;
    double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
    double p = 1.0 / 6227020800;
    p = p * r + 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r * r + r;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return power * p + (power - 1);
}

NVDP__CLONES static double kl_gaussian_sum(size_t n, const float *mu, const float *logvar) {
    double lane[LANES] = {0};
    size_t whole = n - n % LANES;
    for (size_t i = 0; i < whole; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            double m = mu[i + k];
            double v = logvar[i + k];
            lane[k] += (expm1_inline(v) - v) + m * m;
        }
    }
    for (size_t i = whole; i < n; i++) {
        double m = mu[i];
        double v = logvar[i];
        lane[i - whole] += (expm1_inline(v) - v) + m * m;
    }
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* D(N(mu, var) || N(0, I)) = 1/2 sum var + mu^2 - 1 - log var, nats. */
static double gaussian_kl(size_t n, const float *mu, const float *logvar) {
    return 0.5 * kl_gaussian_sum(n, mu, logvar);
}

NVDP__CLONES static void kl_gaussian_backward(size_t n, double weight, const float *mu,
                                              const float *logvar, float *dmu, float *dlogvar) {
    for (size_t i = 0; i < n; i++) {
        dmu[i] += (float)(weight * mu[i]);
        dlogvar[i] += (float)(0.5 * weight * expm1_inline(logvar[i]));
    }
}

/* One text's rows of the batch. */
struct text {
    size_t tokens, dim;
    const float *mu, *logvar, *log_alpha;
    float *dmu, *dlogvar, *dlog_alpha; /* NULL: no gradients */
};

/* A_q: the pseudo-counts of the real components. */
static double pseudo_counts(const struct text *text, double prior_alpha) {
    double sum = prior_alpha;
    for (size_t i = 0; i < text->tokens; i++) {
        sum += exp((double)text->log_alpha[i]);
    }
    return sum;
}

/* L_G = kappa/2 sum_i (a_i/A) mean_dims[var + mu^2 - 1 - log var]; the prior's term is 0.
 * dL_G/d log a_j = (a_j/A) (kappa m_j - L_G), m_j the j-th mean over dimensions, halved. */
static double published_gaussian(const struct nvdp__kl *kl, const struct text *text, double sum) {
    double loss = 0;
    for (size_t i = 0; i < text->tokens; i++) {
        size_t at = i * text->dim;
        double share = exp((double)text->log_alpha[i]) / sum;
        double mean = kl->kappa / (double)text->dim *
                      gaussian_kl(text->dim, text->mu + at, text->logvar + at);
        loss += share * mean;
        if (text->dmu == NULL) continue;
        kl_gaussian_backward(text->dim, kl->weight_g * kl->kappa * share / (double)text->dim,
                             text->mu + at, text->logvar + at, text->dmu + at, text->dlogvar + at);
        text->dlog_alpha[i] += (float)(kl->weight_g * share * mean);
    }
    for (size_t i = 0; i < text->tokens && text->dmu != NULL; i++) {
        double share = exp((double)text->log_alpha[i]) / sum;
        text->dlog_alpha[i] -= (float)(kl->weight_g * share * loss);
    }
    return loss;
}

/* Henderson & Fehr (2023), with C = kappa K, K = n+1, A_p = a_p + delta (K-1):
 *     L_D = 1/K { lnG(A_q) - lnG(A_p) + (A_q - A_p)(psi(A_q/C) - psi(A_q)) + C [lnG(A_p/C) -
 * lnG(A_q/C)] } dL_D/dA_q = (A_q - A_p)/K (psi'(A_q/C)/C - psi'(A_q)): the first-order terms
 * cancel.  Written with what log Gamma and psi' exceed their leading terms by, since those cancel
 * too: A_q may be e^40. */
static double published_dirichlet(const struct nvdp__kl *kl, const struct text *text, double sum) {
    double count = (double)text->tokens + 1;
    double pieces = kl->kappa * count;
    double prior = kl->prior_alpha + kl->delta * (count - 1);
    double loss = nvdp__log_gamma_excess(sum) - pieces * nvdp__log_gamma_excess(sum / pieces) +
                  prior * (nvdp__digamma(sum) - nvdp__digamma(sum / pieces)) -
                  nvdp__log_gamma(prior) + pieces * nvdp__log_gamma(prior / pieces);
    if (text->dmu != NULL) {
        double slope = (sum - prior) / count *
                       (nvdp__trigamma_excess(sum / pieces) / pieces - nvdp__trigamma_excess(sum));
        for (size_t i = 0; i < text->tokens; i++) {
            double a = exp((double)text->log_alpha[i]);
            text->dlog_alpha[i] += (float)(kl->weight_d * slope * a);
        }
    }
    return loss / count;
}

/* The sum over components of kappa Gaussians each, in nats. */
static double exact_gaussian(const struct nvdp__kl *kl, const struct text *text) {
    double loss = 0;
    for (size_t i = 0; i < text->tokens; i++) {
        size_t at = i * text->dim;
        loss += kl->kappa * gaussian_kl(text->dim, text->mu + at, text->logvar + at);
        if (text->dmu == NULL) continue;
        kl_gaussian_backward(text->dim, kl->weight_g * kl->kappa, text->mu + at, text->logvar + at,
                             text->dmu + at, text->dlogvar + at);
    }
    return loss;
}

/* KL of Dirichlets over kappa weights a component, a_i/kappa each, from an empty text's b_i/kappa:
 *     kappa sum_i [lnG(b_i/kappa) - lnG(a_i/kappa)] + lnG(A) - lnG(B)
 *         + sum_i (a_i - b_i)(psi(a_i/kappa) - psi(A)).
 * The prior and padding have a_i = b_i: they enter through A and B alone.
 *     dL_D/da_j = (a_j - b_j) psi'(a_j/kappa)/kappa - (A - B) psi'(A).
 * Both are written with what log Gamma and psi' exceed their leading terms by: those sum to a_p +
 * padding and to B/A - b_j/a_j. */
static double exact_dirichlet(const struct nvdp__kl *kl, const struct text *text, double sum) {
    double tokens = (double)text->tokens;
    double b =
        kl->length > 0 ? kl->pad_alpha : (kl->prior_alpha + kl->delta * tokens) / (tokens + 1);
    double padding = kl->length > 0 ? ((double)kl->length - tokens) * kl->pad_alpha : 0;
    double total = sum + padding;
    double empty = kl->prior_alpha + tokens * b + padding;
    double excess = sum - (kl->prior_alpha + tokens * b);
    double psi_total = nvdp__digamma(total);
    double slope_total = excess * nvdp__trigamma_excess(total);
    double loss = nvdp__log_gamma_excess(total) + empty * psi_total - nvdp__log_gamma(empty) -
                  kl->prior_alpha - padding + tokens * kl->kappa * nvdp__log_gamma(b / kl->kappa);
    for (size_t i = 0; i < text->tokens; i++) {
        double a = exp((double)text->log_alpha[i]);
        double piece = a / kl->kappa;
        loss -= kl->kappa * nvdp__log_gamma_excess(piece) + b * nvdp__digamma(piece);
        if (text->dmu == NULL) continue;
        double slope = a * ((a - b) * nvdp__trigamma_excess(piece) / kl->kappa - slope_total);
        text->dlog_alpha[i] += (float)(kl->weight_d * (slope - b + a / total * empty));
    }
    return loss;
}

void nvdp__kl_losses(const struct nvdp__device *dev, const struct nvdp__kl *kl, size_t texts,
                     const int32_t *token_offset, size_t dim, const float *mu, const float *logvar,
                     const float *log_alpha, double *loss_g, double *loss_d, float *dmu,
                     float *dlogvar, float *dlog_alpha) {
    int team = nvdp__team(dev, 8 * (size_t)token_offset[texts] * dim);
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        size_t first = (size_t)token_offset[b];
        struct text text = {.tokens = (size_t)token_offset[b + 1] - first,
                            .dim = dim,
                            .mu = mu + first * dim,
                            .logvar = logvar + first * dim,
                            .log_alpha = log_alpha + first,
                            .dmu = dmu != NULL ? dmu + first * dim : NULL,
                            .dlogvar = dmu != NULL ? dlogvar + first * dim : NULL,
                            .dlog_alpha = dmu != NULL ? dlog_alpha + first : NULL};
        double sum = pseudo_counts(&text, kl->prior_alpha);
        bool exact = kl->form == NVDP__KL_EXACT;
        double g = exact ? exact_gaussian(kl, &text) : published_gaussian(kl, &text, sum);
        double d = exact ? exact_dirichlet(kl, &text, sum) : published_dirichlet(kl, &text, sum);
        if (loss_g != NULL) loss_g[b] = g;
        if (loss_d != NULL) loss_d[b] = d;
    }
}

void nvdp__gaussian_losses(const struct nvdp__device *dev, enum nvdp__kl_form form, double weight,
                           size_t texts, const int32_t *offset, size_t dim, const float *mu,
                           const float *logvar, double *loss, float *dmu, float *dlogvar) {
    int team = nvdp__team(dev, 8 * (size_t)offset[texts] * dim);
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        size_t first = (size_t)offset[b] * dim;
        size_t rows = (size_t)(offset[b + 1] - offset[b]);
        double share = form == NVDP__KL_PUBLISHED && rows > 0 ? 1 / (double)rows : 1;
        if (loss != NULL) loss[b] = share * gaussian_kl(rows * dim, mu + first, logvar + first);
        if (dmu == NULL) continue;
        kl_gaussian_backward(rows * dim, weight * share, mu + first, logvar + first, dmu + first,
                             dlogvar + first);
    }
}
