/* Implements the reference: the further layer, posteriors, samples, losses. */
#include "reference.h"

#include "reference_kernels.h"

static const double *tensor(const struct reference *ref, const double *theta, const char *name) {
    size_t index = nvdp__params_find(&ref->fixture->params, name);
    cr_assert_neq(index, SIZE_MAX, "no tensor %s", name);
    return theta + ref->fixture->params.entry[index].offset;
}

static void dense(const struct reference *ref, const double *theta, const char *prefix, size_t rows,
                  size_t in, size_t out, const double *x, double *y) {
    char weight[80], bias[80];
    snprintf(weight, sizeof weight, "%s.weight", prefix);
    snprintf(bias, sizeof bias, "%s.bias", prefix);
    ref64_linear_forward(rows, in, out, x, tensor(ref, theta, weight), tensor(ref, theta, bias), y);
}

static void norm(const struct reference *ref, const double *theta, const char *prefix,
                 const double *x, const double *residual, double *y) {
    char weight[80], bias[80];
    double sum[TOKENS * WIDTH], mean[TOKENS], rstd[TOKENS];
    snprintf(weight, sizeof weight, "%s.weight", prefix);
    snprintf(bias, sizeof bias, "%s.bias", prefix);
    ref64_layernorm_forward(TOKENS, WIDTH, 1e-12, x, residual, tensor(ref, theta, weight),
                            tensor(ref, theta, bias), sum, y, mean, rstd);
}

/* Computes BERT's layer (Devlin et al. 2019). */
static void extra_layer(const struct reference *ref, const double *theta, const double *x,
                        double *out) {
    const struct ref_attention att = {.groups = TEXTS,
                                      .heads = HEADS,
                                      .head_dim = WIDTH / HEADS,
                                      .scale = (float)(1 / sqrt((double)WIDTH / HEADS)),
                                      .q_offset = ref->fixture->offset,
                                      .k_offset = ref->fixture->offset,
                                      .q_stride = WIDTH,
                                      .kv_stride = WIDTH,
                                      .out_stride = WIDTH};
    double q[TOKENS * WIDTH], k[TOKENS * WIDTH], v[TOKENS * WIDTH], context[TOKENS * WIDTH];
    double lse[TOKENS * HEADS], inner[TOKENS * INNER], attended[TOKENS * WIDTH];
    dense(ref, theta, "vtdp.attention.self.query", TOKENS, WIDTH, WIDTH, x, q);
    dense(ref, theta, "vtdp.attention.self.key", TOKENS, WIDTH, WIDTH, x, k);
    dense(ref, theta, "vtdp.attention.self.value", TOKENS, WIDTH, WIDTH, x, v);
    ref64_attention_forward(&att, q, k, v, NULL, context, lse);
    dense(ref, theta, "vtdp.attention.output.dense", TOKENS, WIDTH, WIDTH, context, q);
    norm(ref, theta, "vtdp.attention.output.LayerNorm", q, x, attended);
    dense(ref, theta, "vtdp.intermediate.dense", TOKENS, WIDTH, INNER, attended, inner);
    ref64_act_forward(NVDP__ACT_GELU, TOKENS * INNER, inner, inner);
    dense(ref, theta, "vtdp.output.dense", TOKENS, INNER, WIDTH, inner, q);
    norm(ref, theta, "vtdp.output.LayerNorm", q, attended, out);
}

/* Takes the sources from the states. */
static void take_sources(const struct reference *ref, const double *states, double *x) {
    const struct nvdp__vib *vib = ref->fixture->vib;
    const int32_t *offset = ref->fixture->offset;
    if (!vib->gauss.form.single) {
        memcpy(x, states, TOKENS * WIDTH * sizeof *x);
        return;
    }
    memset(x, 0, TEXTS * WIDTH * sizeof *x);
    for (size_t b = 0; b < TEXTS; b++) {
        bool first = vib->gauss.config.pool == NVDP_POOL_FIRST;
        int32_t end = first ? offset[b] + 1 : offset[b + 1];
        for (int32_t t = offset[b]; t < end; t++)
            for (size_t i = 0; i < WIDTH; i++)
                x[b * WIDTH + i] += states[(size_t)t * WIDTH + i] / (double)(end - offset[b]);
    }
}

/* Returns log sigma^2 of dimension i. `rho` is the row of the token under vtdp. */
static double logvar_of(const struct reference *ref, const double *theta, const double *rho,
                        size_t i) {
    const struct nvdp__vib *vib = ref->fixture->vib;
    if (isfinite(vib->gauss.config.clip.sequence)) return 0;
    if (vib->which == NVDP__VIB_FIXED) return 2 * log(vib->gauss.config.vib.sigma);
    double x =
        ref->fixture->vib->which == NVDP__VIB_VTDP ? rho[i] : tensor(ref, theta, "vib.rho")[i];
    return 2 * log(log1p(exp(x)));
}

struct gaussians {
    size_t sources;
    double mu[TOKENS * WIDTH], logvar[TOKENS * WIDTH];
};

/* Scales all means of a text, as one vector, to norm C where it is longer. */
static void clip_sequence(const struct reference *ref, struct gaussians *g) {
    const struct nvdp__vib *vib = ref->fixture->vib;
    size_t p = vib->gauss.dim;
    for (size_t b = 0; b < TEXTS; b++) {
        size_t first = vib->gauss.form.single ? b : (size_t)ref->fixture->offset[b];
        size_t end = vib->gauss.form.single ? b + 1 : (size_t)ref->fixture->offset[b + 1];
        double square = 0;
        for (size_t k = first * p; k < end * p; k++)
            square += g->mu[k] * g->mu[k];
        for (size_t k = first * p; k < end * p; k++)
            g->mu[k] *= fmin(1, vib->gauss.config.clip.sequence / sqrt(square));
    }
}

static void posterior(const struct reference *ref, const double *theta, const double *hidden,
                      struct gaussians *g) {
    const struct nvdp__vib *vib = ref->fixture->vib;
    const struct nvdp__clip_config *clip = &vib->gauss.config.clip;
    bool vtdp = ref->fixture->vib->which == NVDP__VIB_VTDP;
    bool rho_is_trained = vtdp && !isfinite(clip->sequence);
    double states[TOKENS * WIDTH], x[TOKENS * WIDTH], rho[TOKENS * WIDTH] = {0};
    size_t p = vib->gauss.dim;
    if (vtdp)
        extra_layer(ref, theta, hidden, states);
    else
        memcpy(states, hidden, sizeof states);
    take_sources(ref, states, x);
    g->sources = vib->gauss.form.single ? TEXTS : TOKENS;
    dense(ref, theta, "vib.mu", g->sources, WIDTH, p, x, g->mu);
    if (rho_is_trained) dense(ref, theta, "vib.rho", g->sources, WIDTH, p, x, rho);
    for (size_t b = 0; b < TEXTS && vib->gauss.gains; b++) {
        size_t first = (size_t)ref->fixture->offset[b];
        for (size_t k = first * p; k < (size_t)ref->fixture->offset[b + 1] * p; k++)
            g->mu[k] *= tensor(ref, theta, "vib.mu.gain")[k / p - first];
    }
    for (size_t s = 0; s < g->sources; s++) {
        double length = 0;
        for (size_t i = 0; i < p; i++)
            length += g->mu[s * p + i] * g->mu[s * p + i];
        double factor = fmin(1, clip->mu_radius / sqrt(length));
        for (size_t i = 0; i < p; i++) {
            double v = logvar_of(ref, theta, rho + s * p, i);
            g->logvar[s * p + i] = fmin(fmax(v, clip->logvar_min), clip->logvar_max);
            g->mu[s * p + i] *= factor;
        }
    }
    clip_sequence(ref, g);
}

/* Computes z of a text's row r; for padding z is eps itself. */
static double draw(const struct reference *ref, const struct gaussians *g, size_t row, size_t i) {
    const struct nvdp__vib *vib = ref->fixture->vib;
    size_t p = vib->gauss.dim;
    double eps = ref->eps[row * p + i];
    if (vib->gauss.rows.src[row] < 0) return eps;
    size_t at = (size_t)vib->gauss.rows.src[row] * p + i;
    return g->mu[at] + exp(0.5 * g->logvar[at]) * eps;
}

static void pool(struct reference *ref, const struct gaussians *g) {
    const struct nvdp__vib *vib = ref->fixture->vib;
    size_t p = vib->gauss.dim;
    memset(ref->pooled, 0, sizeof ref->pooled);
    for (size_t b = 0; b < TEXTS; b++) {
        size_t first = (size_t)vib->gauss.rows.offset[b];
        size_t end = (size_t)vib->gauss.rows.offset[b + 1];
        if (vib->gauss.form.single || vib->gauss.config.pool == NVDP_POOL_FIRST) end = first + 1;
        for (size_t r = first; r < end; r++)
            for (size_t i = 0; i < p; i++)
                ref->pooled[b * p + i] += draw(ref, g, r, i) / (double)(end - first);
    }
}

/* Computes the losses of docs/vib.md, section "Losses". */
static void losses(struct reference *ref, const struct gaussians *g) {
    const struct nvdp__vib *vib = ref->fixture->vib;
    size_t p = vib->gauss.dim;
    for (size_t b = 0; b < TEXTS; b++) {
        size_t first = vib->gauss.form.single ? b : (size_t)ref->fixture->offset[b];
        size_t end = vib->gauss.form.single ? b + 1 : (size_t)ref->fixture->offset[b + 1];
        bool mean = vib->gauss.config.regularizer == NVDP__REGULARIZER_PUBLISHED;
        ref->loss_g[b] = 0;
        for (size_t k = first * p; k < end * p; k++) {
            double kl = 0.5 * (exp(g->logvar[k]) + g->mu[k] * g->mu[k] - 1 - g->logvar[k]);
            ref->loss_g[b] += kl / (mean ? (double)(end - first) : 1);
        }
    }
}

double reference_loss(struct reference *ref, const double *theta, const double *x) {
    struct gaussians g;
    double loss = 0;
    posterior(ref, theta, x, &g);
    pool(ref, &g);
    losses(ref, &g);
    for (size_t i = 0; i < TEXTS * ref->fixture->vib->gauss.dim; i++)
        loss += ref->proj[i] * ref->pooled[i];
    for (size_t b = 0; b < TEXTS; b++)
        loss += ref->weight * ref->loss_g[b];
    return loss;
}
