/* Implements the reference: posteriors, clips, samples, the block, losses. */
#include "reference.h"

#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sf_psi.h>

static const double *tensor(const struct fixture *f, const double *theta, const char *prefix,
                            const char *suffix) {
    char name[160];
    snprintf(name, sizeof name, "%s.%s", prefix, suffix);
    size_t index = nvdp__params_find(&f->params, name);
    cr_assert_neq(index, SIZE_MAX);
    return theta + f->params.entry[index].offset;
}

static void dense(const struct fixture *f, const double *theta, const char *prefix, size_t in,
                  size_t out, const double *x, double *y) {
    const double *w = tensor(f, theta, prefix, "weight");
    const double *b = tensor(f, theta, prefix, "bias");
    for (size_t i = 0; i < out; i++) {
        y[i] = b[i];
        for (size_t k = 0; k < in; k++)
            y[i] += w[i * in + k] * x[k];
    }
}

static void layer_norm(const struct fixture *f, const double *theta, const char *prefix, size_t n,
                       double *x) {
    const double *gamma = tensor(f, theta, prefix, "weight");
    const double *beta = tensor(f, theta, prefix, "bias");
    double mean = 0, var = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        var += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] - mean) / sqrt(var + 1e-12) * gamma[i] + beta[i];
}

static double clamp(double x, double low, double high) {
    return fmin(fmax(x, low), high);
}

struct posterior {
    double mu[REFERENCE_DIM], logvar[REFERENCE_DIM], log_alpha;
};

/* The posterior of the token with number i in its text. */
static struct posterior posterior_of(const struct fixture *f, const double *theta, size_t i,
                                     const double *x) {
    struct posterior q = {0};
    size_t d = f->nvib->gauss.hidden_size;
    size_t p = f->nvib->gauss.dim;
    const struct nvdp__clip_config *clip = &f->nvib->gauss.config.clip;
    dense(f, theta, "nvib.mu", d, p, x, q.mu);
    if (!isfinite(clip->sequence)) dense(f, theta, "nvib.logvar", d, p, x, q.logvar);
    bool gains = f->nvib->gauss.config.row_index == NVDP__ROW_INDEX_TRAINED;
    double norm = 0;
    for (size_t k = 0; k < p; k++) {
        if (gains) q.mu[k] *= tensor(f, theta, "nvib.mu", "gain")[i];
        norm += q.mu[k] * q.mu[k];
    }
    double factor = fmin(1, clip->mu_radius / sqrt(norm));
    for (size_t k = 0; k < p; k++) {
        q.mu[k] *= factor;
        q.logvar[k] = clamp(q.logvar[k], clip->logvar_min, clip->logvar_max);
    }
    if (!f->nvib->gauss.form.weights) return q;
    q.log_alpha = tensor(f, theta, "nvib.alpha", "bias")[0];
    for (size_t k = 0; k < d; k++)
        q.log_alpha += tensor(f, theta, "nvib.alpha", "quadratic")[k] * x[k] * x[k] +
                       tensor(f, theta, "nvib.alpha", "weight")[k] * x[k];
    q.log_alpha = clamp(q.log_alpha, log(clip->alpha_min), log(clip->alpha_max));
    return q;
}

/* Scales all means of a text, as one vector, to norm C where it is longer. */
static void clip_sequence(const struct fixture *f, size_t n, struct posterior *q) {
    double square = 0;
    for (size_t k = 0; k < n * f->nvib->gauss.dim; k++)
        square += pow(q[k / f->nvib->gauss.dim].mu[k % f->nvib->gauss.dim], 2);
    for (size_t k = 0; k < n * f->nvib->gauss.dim; k++)
        q[k / f->nvib->gauss.dim].mu[k % f->nvib->gauss.dim] *=
            fmin(1, f->nvib->gauss.config.clip.sequence / sqrt(square));
}

/* Computes the formulas of docs/nvib.md, section "Losses". */
static void losses(const struct fixture *f, size_t n, const struct posterior *q, double *loss_g,
                   double *loss_d) {
    const struct nvdp__nvib_config *config = &f->nvib->gauss.config;
    bool exact = config->regularizer == NVDP__REGULARIZER_KL;
    bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    double kappa = config->kappa;
    bool weights = f->nvib->gauss.form.weights;
    double sum = config->prior_alpha;
    for (size_t i = 0; i < n; i++)
        sum += exp(q[i].log_alpha);
    *loss_g = 0;
    for (size_t i = 0; i < n; i++) {
        double kl = 0;
        for (size_t k = 0; k < f->nvib->gauss.dim; k++)
            kl += 0.5 * (exp(q[i].logvar[k]) + q[i].mu[k] * q[i].mu[k] - 1 - q[i].logvar[k]);
        double share = exp(q[i].log_alpha) / sum / (double)f->nvib->gauss.dim;
        if (!weights) share = 1 / (double)n;
        *loss_g += kappa * kl * (exact ? 1 : share);
    }
    *loss_d = 0;
    if (!weights) return;
    if (!exact) {
        double count = (double)n + 1;
        double prior = config->prior_alpha + config->delta * (count - 1);
        double c = kappa * count;
        *loss_d = (gsl_sf_lngamma(sum) - gsl_sf_lngamma(prior) +
                   (sum - prior) * (gsl_sf_psi(sum / c) - gsl_sf_psi(sum)) +
                   c * (gsl_sf_lngamma(prior / c) - gsl_sf_lngamma(sum / c))) /
                  count;
        return;
    }
    /* Sums over each of the kappa m weights. */
    size_t m = 1 + (hidden ? config->length : n);
    double top = config->prior_alpha + config->delta * (double)(m - 1);
    double a[REFERENCE_ROWS], b[REFERENCE_ROWS];
    double total_a = 0, total_b = 0;
    for (size_t i = 0; i < m; i++) {
        b[i] = (i == 0 ? config->prior_alpha : top / (double)m) / kappa;
        a[i] = i > 0 && i <= n ? exp(q[i - 1].log_alpha) / kappa : b[i];
        total_a += kappa * a[i];
        total_b += kappa * b[i];
    }
    *loss_d = gsl_sf_lngamma(total_a) - gsl_sf_lngamma(total_b);
    for (size_t i = 0; i < m; i++)
        *loss_d += kappa * (gsl_sf_lngamma(b[i]) - gsl_sf_lngamma(a[i]) +
                            (a[i] - b[i]) * (gsl_sf_psi(a[i]) - gsl_sf_psi(total_a)));
}

struct text_sample {
    size_t rows;
    double z[REFERENCE_ROWS][REFERENCE_DIM], log_pi[REFERENCE_ROWS];
    double query[REFERENCE_ROWS][REFERENCE_DIM];
};

static void draw(const struct reference *ref, size_t b, const struct posterior *q,
                 struct text_sample *s) {
    const struct nvdp__nvib *nvib = ref->f->nvib;
    size_t first = (size_t)nvib->gauss.rows.offset[b];
    s->rows = (size_t)nvib->gauss.rows.offset[b + 1] - first;
    double total = 0;
    for (size_t r = 0; r < s->rows; r++) {
        int32_t src = nvib->gauss.rows.src[first + r];
        const struct posterior *from = src >= 0 ? &q[src - ref->f->offset[b]] : NULL;
        for (size_t k = 0; k < nvib->gauss.dim; k++) {
            double eps = ref->eps[(first + r) * nvib->gauss.dim + k];
            s->z[r][k] = from != NULL ? from->mu[k] + exp(from->logvar[k] / 2) * eps : eps;
            s->query[r][k] = s->z[r][k];
            if (nvib->gauss.config.query == NVDP__QUERY_CLEAN)
                s->query[r][k] = from != NULL ? from->mu[k] : 0;
        }
        s->log_pi[r] = nvib->gauss.form.weights ? ref->log_gamma[first + r] : 0;
        if (from != NULL && nvib->gauss.form.weights)
            s->log_pi[r] += ref->slope[first + r] * (from->log_alpha - ref->log_alpha[src]);
        total += exp(s->log_pi[r]);
    }
    for (size_t r = 0; r < s->rows; r++)
        s->log_pi[r] -= log(total);
}

/* Computes u of one query row. */
static void block_row(const struct fixture *f, const double *theta, const struct text_sample *s,
                      size_t i, double *u) {
    size_t p = f->nvib->gauss.dim;
    size_t heads = f->nvib->block.heads;
    size_t h = p / heads;
    size_t inner = f->nvib->block.inner;
    double query[REFERENCE_DIM], key[REFERENCE_ROWS][REFERENCE_DIM];
    double value[REFERENCE_ROWS][REFERENCE_DIM], context[REFERENCE_DIM] = {0};
    dense(f, theta, "nvdp.attention.self.query", p, p, s->query[i], query);
    for (size_t j = 0; j < s->rows; j++) {
        dense(f, theta, "nvdp.attention.self.key", p, p, s->z[j], key[j]);
        dense(f, theta, "nvdp.attention.self.value", p, p, s->z[j], value[j]);
    }
    for (size_t head = 0; head < heads; head++) {
        double weight[REFERENCE_ROWS], total = 0;
        for (size_t j = 0; j < s->rows; j++) {
            double score = 0, square = 0;
            for (size_t k = head * h; k < (head + 1) * h; k++)
                score += query[k] * key[j][k] / sqrt((double)h);
            for (size_t k = 0; k < p; k++)
                square += s->z[j][k] * s->z[j][k];
            weight[j] = exp(score + s->log_pi[j] - square / (2 * sqrt((double)h)));
            total += weight[j];
        }
        for (size_t j = 0; j < s->rows; j++) {
            for (size_t k = head * h; k < (head + 1) * h; k++)
                context[k] += weight[j] / total * value[j][k];
        }
    }
    double y[REFERENCE_DIM], wide[4 * REFERENCE_DIM];
    dense(f, theta, "nvdp.attention.output.dense", p, p, context, y);
    for (size_t k = 0; k < p && f->nvib->gauss.config.row_index == NVDP__ROW_INDEX_TRAINED; k++)
        y[k] += s->query[i][k];
    layer_norm(f, theta, "nvdp.attention.output.LayerNorm", p, y);
    dense(f, theta, "nvdp.intermediate.dense", p, inner, y, wide);
    for (size_t k = 0; k < inner; k++)
        wide[k] = 0.5 * wide[k] * (1 + erf(wide[k] / sqrt(2)));
    dense(f, theta, "nvdp.output.dense", inner, p, wide, u);
    for (size_t k = 0; k < p; k++)
        u[k] += y[k];
    layer_norm(f, theta, "nvdp.output.LayerNorm", p, u);
}

static void pool(const struct fixture *f, const double *theta, const struct text_sample *s,
                 double *pooled) {
    size_t p = f->nvib->gauss.dim;
    size_t prior = f->nvib->gauss.form.weights ? (size_t)f->nvib->gauss.config.kappa : 0;
    memset(pooled, 0, p * sizeof *pooled);
    for (size_t r = 0; r < s->rows; r++) {
        double weight = exp(s->log_pi[r]);
        if (f->nvib->gauss.config.pool == NVDP_POOL_FIRST) weight = r == prior;
        if (f->nvib->gauss.config.pool == NVDP_POOL_MEAN)
            weight = r < prior ? 0 : 1 / (double)(s->rows - prior);
        double u[REFERENCE_DIM];
        block_row(f, theta, s, r, u);
        for (size_t k = 0; k < p; k++)
            pooled[k] += weight * u[k];
    }
}

double reference_loss(struct reference *ref, const double *theta, const double *x) {
    const struct fixture *f = ref->f;
    size_t p = f->nvib->gauss.dim;
    double loss = 0;
    for (size_t b = 0; b < f->batch.texts; b++) {
        struct posterior q[REFERENCE_TOKENS];
        size_t n = (size_t)(f->offset[b + 1] - f->offset[b]);
        for (size_t i = 0; i < n; i++)
            q[i] = posterior_of(f, theta, i,
                                x + ((size_t)f->offset[b] + i) * f->nvib->gauss.hidden_size);
        clip_sequence(f, n, q);
        struct text_sample sample;
        draw(ref, b, q, &sample);
        pool(f, theta, &sample, ref->pooled + b * p);
        losses(f, n, q, &ref->loss_g[b], &ref->loss_d[b]);
        for (size_t k = 0; k < p; k++)
            loss += ref->proj[b * p + k] * ref->pooled[b * p + k];
        loss += ref->weight_g * ref->loss_g[b] + ref->weight_d * ref->loss_d[b];
    }
    return loss;
}

void reference_linearize(struct reference *ref, const double *theta, const double *x) {
    const struct nvdp__nvib *nvib = ref->f->nvib;
    if (!nvib->gauss.form.weights) return;
    for (size_t t = 0; t < nvib->gauss.rows.tokens; t++)
        ref->log_alpha[t] =
            posterior_of(ref->f, theta, 0, x + t * nvib->gauss.hidden_size).log_alpha;
    for (size_t r = 0; r < nvib->gauss.rows.rows; r++) {
        if (nvib->gauss.rows.src[r] < 0) continue;
        double alpha = exp(ref->log_alpha[nvib->gauss.rows.src[r]]) / nvib->gauss.config.kappa;
        ref->slope[r] = nvdp__gamma_implicit_log_gradient(alpha, ref->log_gamma[r]);
    }
}
