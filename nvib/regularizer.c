/* The regularizers L_G and L_D of a posterior: the terms of NVDP, Eq. 5, per text of n tokens, in nats
 * and in double (docs/nvib.md, section "Losses").
 *
 *     a_0 = a_p           the prior's pseudo-count; mu_0 = 0, var_0 = 1
 *     a_i, mu_i, var_i    values of token i, after clipping (NVDP, Eq. 4);  logvar_i = log var_i
 *     K   = n + 1         components;   kappa vectors of each;   C = kappa K
 *     A   = a_0 + ... + a_n
 *     A_p = a_p + delta n
 *     lnG = log Gamma,    psi its derivative
 *
 * Published (Henderson & Fehr 2023, section 3; Fehr & Henderson 2024; NVDP, section 2.2): means over
 * dimensions and components, without padding:
 *
 *     L_G = kappa/2 sum_i (a_i/A) mean_dims[ var_i + mu_i^2 - 1 - logvar_i ]
 *     L_D = 1/K { lnG(A) - lnG(A_p) + (A - A_p) (psi(A/C) - psi(A)) + C [lnG(A_p/C) - lnG(A/C)] }
 *
 * Exact (this project's; no paper states it): the Kullback-Leibler divergence D(Q, E) of the sample Q
 * from the sample of an empty text E.  E's components are the prior and then padding, with pseudo-counts
 * b = (a_p, a_pad, ..., a_pad), B = sum b.  L_G + L_D is the order-1 limit of the divergence that rdp/
 * measures (NVDP, Eq. 7):
 *
 *     L_G = kappa/2 sum_i sum_dims[ var_i + mu_i^2 - 1 - logvar_i ]
 *     L_D = kappa sum_i [lnG(b_i/kappa) - lnG(a_i/kappa)] + lnG(A) - lnG(B)
 *           + sum_i (a_i - b_i) (psi(a_i/kappa) - psi(A))
 *
 * Under the public length policy, E has n components of pseudo-count A_p/K instead of padding.
 *
 * Domain: a_i > 0, which holds because a_i is an exponential; a_p > 0.  Edges: n = 0 gives L_G = 0; var above
 * e^700 counts as e^700; the exact L_D grows like b_i/a_i as a_i falls to 0; NaN stays NaN. */
#include "nvib/nvib.h"
#include "tensor/vector.h"

/* exp(x) - 1 in double, relative error below 1e-15, for |x| <= 700. Beyond, x is clamped; NaN stays NaN. Uses a Taylor
 * polynomial in r:
 *
 *     x          = n ln 2 + r,   |r| <= 0.347
 *     exp(x) - 1 = 2^n (exp(r) - 1) + (2^n - 1)
 *
 * The function has no branches and no calls, so that loops over it vectorize. */
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

/* Adds the sum over n numbers of var + mu^2 - 1 - logvar to the lanes. */
NVDP__CLONES static void kl_gaussian_lanes(size_t n, const float *mu, const float *logvar,
                                           double *lane) {
    size_t whole = n - n % NVDP__LANES;
    for (size_t i = 0; i < whole; i += NVDP__LANES) {
        for (size_t k = 0; k < NVDP__LANES; k++) {
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
}

/* Returns D(N(mu, var) || N(0, I)) = 1/2 sum[ var + mu^2 - 1 - logvar ], in nats. */
static double gaussian_kl(size_t n, const float *mu, const float *logvar) {
    double lane[NVDP__LANES] = {0};
    kl_gaussian_lanes(n, mu, logvar, lane);
    return 0.5 * nvdp__lane_sum(lane);
}

/* dD/dmu = mu,  dD/dlogvar = (var - 1)/2 */
NVDP__CLONES static void kl_gaussian_backward(size_t n, double weight, const float *mu,
                                              const float *logvar, float *dmu, float *dlogvar) {
    for (size_t i = 0; i < n; i++) {
        dmu[i] += (float)(weight * mu[i]);
        dlogvar[i] += (float)(0.5 * weight * expm1_inline(logvar[i]));
    }
}

/* ---- the rows of one text ---- */

struct text {
    size_t tokens, dim;
    const float *mu, *logvar, *log_alpha;
    float *dmu, *dlogvar, *dlog_alpha; /* NULL if no gradients are wanted */
};

/* Returns the rows of text b, without pseudo-counts. */
static struct text text_at(const struct nvdp__posterior *q, const struct nvdp__posterior *d,
                           const int32_t *offset, size_t b) {
    size_t first = (size_t)offset[b];
    struct text text = {.tokens = (size_t)offset[b + 1] - first,
                        .dim = q->dim,
                        .mu = q->mu + first * q->dim,
                        .logvar = q->logvar + first * q->dim};
    if (d == NULL) return text;
    text.dmu = d->mu + first * q->dim;
    text.dlogvar = d->logvar + first * q->dim;
    return text;
}

/* Returns D(N(mu_i, var_i) || N(0, I)) of token i; adds weight times the gradient. */
static double token_kl(const struct text *text, size_t i, double weight) {
    size_t at = i * text->dim;
    if (text->dmu != NULL)
        kl_gaussian_backward(text->dim, weight, text->mu + at, text->logvar + at, text->dmu + at,
                             text->dlogvar + at);
    return gaussian_kl(text->dim, text->mu + at, text->logvar + at);
}

/* Returns A = a_p + sum_i a_i. */
static double pseudo_counts(const struct text *text, double prior_alpha) {
    double sum = prior_alpha;
    for (size_t i = 0; i < text->tokens; i++) {
        sum += exp((double)text->log_alpha[i]);
    }
    return sum;
}

/* ---- published ---- */

/*     L_G           = sum_i (a_i/A) m_i,   m_i = kappa/2 mean_dims[...],   m_0 = 0 for the prior
 *     dL_G/dlog a_j = (a_j/A) (m_j - L_G) */
static double published_gaussian(const struct nvdp__kl *kl, const struct text *text, double sum) {
    double loss = 0;
    for (size_t i = 0; i < text->tokens; i++) {
        double share = exp((double)text->log_alpha[i]) / sum;
        double weight = kl->weight_g * kl->of.kappa * share / (double)text->dim;
        double mean = kl->of.kappa / (double)text->dim * token_kl(text, i, weight);
        loss += share * mean;
        if (text->dmu != NULL) text->dlog_alpha[i] += (float)(kl->weight_g * share * mean);
    }
    for (size_t i = 0; i < text->tokens && text->dmu != NULL; i++) {
        double share = exp((double)text->log_alpha[i]) / sum;
        text->dlog_alpha[i] -= (float)(kl->weight_g * share * loss);
    }
    return loss;
}

/* In the derivative, the terms with psi cancel:
 *
 *     dL_D/dA = (A - A_p)/K (psi'(A/C)/C - psi'(A))
 *
 * Stable form: A may be e^40, and then the leading terms of lnG and psi' cancel. Both are
 * therefore written with the remainders E(x) = lnG(x) - x psi(x) + x and F(x) = psi'(x) - 1/x:
 *
 *     K L_D     = E(A) - C E(A/C) + A_p (psi(A) - psi(A/C)) - lnG(A_p) + C lnG(A_p/C)
 *     K dL_D/dA = (A - A_p) (F(A/C)/C - F(A)) */
static double published_dirichlet(const struct nvdp__kl *kl, const struct text *text, double sum) {
    double count = (double)text->tokens + 1;
    double vectors = kl->of.kappa * count;
    double prior = kl->of.prior_alpha + kl->of.delta * (count - 1);
    double loss = nvdp__log_gamma_excess(sum) - vectors * nvdp__log_gamma_excess(sum / vectors) +
                  prior * (nvdp__digamma(sum) - nvdp__digamma(sum / vectors)) -
                  nvdp__log_abs_gamma(prior) + vectors * nvdp__log_abs_gamma(prior / vectors);
    if (text->dmu != NULL) {
        double slope =
            (sum - prior) / count *
            (nvdp__trigamma_excess(sum / vectors) / vectors - nvdp__trigamma_excess(sum));
        for (size_t i = 0; i < text->tokens; i++) {
            double a = exp((double)text->log_alpha[i]);
            text->dlog_alpha[i] += (float)(kl->weight_d * slope * a);
        }
    }
    return loss / count;
}

/* ---- exact ---- */

static double exact_gaussian(const struct nvdp__kl *kl, const struct text *text) {
    double loss = 0;
    for (size_t i = 0; i < text->tokens; i++) {
        loss += kl->of.kappa * token_kl(text, i, kl->weight_g * kl->of.kappa);
    }
    return loss;
}

/* The prior and padding have a_i = b_i, so they enter only through A and B.
 *
 *     dL_D/da_j = (a_j - b_j) psi'(a_j/kappa)/kappa - (A - B) psi'(A)
 *
 * Stable form: with E and F as above. The leading terms removed from L_D sum to -(a_p + padding), where `padding` is
 * the sum of the pseudo-counts of padding. The terms removed from dL_D/da_j sum to B/A - b_j/a_j. */
static double exact_dirichlet(const struct nvdp__kl *kl, const struct text *text, double sum) {
    const struct nvdp__form *of = &kl->of;
    double tokens = (double)text->tokens;
    bool padded = of->length > 0;
    double b = padded ? of->pad_alpha : (of->prior_alpha + of->delta * tokens) / (tokens + 1);
    double padding = padded ? ((double)of->length - tokens) * of->pad_alpha : 0;
    double total = sum + padding;
    double empty = of->prior_alpha + tokens * b + padding;
    double excess = sum - (of->prior_alpha + tokens * b);
    double psi_total = nvdp__digamma(total);
    double slope_total = excess * nvdp__trigamma_excess(total);
    double loss = nvdp__log_gamma_excess(total) + empty * psi_total - nvdp__log_abs_gamma(empty) -
                  of->prior_alpha - padding +
                  tokens * of->kappa * nvdp__log_abs_gamma(b / of->kappa);
    for (size_t i = 0; i < text->tokens; i++) {
        double a = exp((double)text->log_alpha[i]);
        double piece = a / of->kappa;
        loss -= of->kappa * nvdp__log_gamma_excess(piece) + b * nvdp__digamma(piece);
        if (text->dmu == NULL) continue;
        double slope = a * ((a - b) * nvdp__trigamma_excess(piece) / of->kappa - slope_total);
        text->dlog_alpha[i] += (float)(kl->weight_d * (slope - b + a / total * empty));
    }
    return loss;
}

/* ---- a batch ---- */

void nvdp__kl_losses(const struct nvdp__device *dev, const struct nvdp__kl *kl, size_t texts,
                     const int32_t *token_offset, const struct nvdp__posterior *posterior,
                     const struct nvdp__posterior *d, double *loss_g, double *loss_d) {
    int team = nvdp__team(dev, 8 * (size_t)token_offset[texts] * posterior->dim);
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        struct text text = text_at(posterior, d, token_offset, b);
        text.log_alpha = posterior->log_alpha + token_offset[b];
        if (d != NULL) text.dlog_alpha = d->log_alpha + token_offset[b];
        double sum = pseudo_counts(&text, kl->of.prior_alpha);
        bool exact = kl->which == NVDP__REGULARIZER_KL;
        double g = exact ? exact_gaussian(kl, &text) : published_gaussian(kl, &text, sum);
        double l = exact ? exact_dirichlet(kl, &text, sum) : published_dirichlet(kl, &text, sum);
        if (loss_g != NULL) loss_g[b] = g;
        if (loss_d != NULL) loss_d[b] = l;
    }
}

void nvdp__gaussian_losses(const struct nvdp__device *dev, enum nvdp__regularizer which,
                           double weight, size_t texts, const int32_t *offset,
                           const struct nvdp__posterior *posterior, const struct nvdp__posterior *d,
                           double *loss) {
#pragma omp parallel for schedule(dynamic)                                                         \
    num_threads(nvdp__matrix_team(dev, 8 * (size_t)offset[texts], posterior->dim))
    for (size_t b = 0; b < texts; b++) {
        struct text text = text_at(posterior, d, offset, b);
        double share =
            which == NVDP__REGULARIZER_PUBLISHED && text.tokens > 0 ? 1 / (double)text.tokens : 1;
        text.dim *= text.tokens; /* the tokens are treated as one long row */
        double sum = token_kl(&text, 0, weight * share);
        if (loss != NULL) loss[b] = share * sum;
    }
}
