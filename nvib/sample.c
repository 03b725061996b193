/* A text's sample: Gaussian vectors z and Dirichlet weights pi, and their gradients. */
#include "nvib/nvib.h"
#include "tensor/vector.h"

/* ---- vectors: z = mu + exp(logvar/2) eps, reparameterised (Kingma & Welling 2014) ---- */

enum { CHUNK = 256, BLOCK_NORMALS = 8 };

/* Noise of full double precision is added in double; one rounding, at the end (Mironov 2012). */
NVDP__CLONES static void gauss_shift_row(size_t n, const float *mu, const float *logvar,
                                         const double *eps, float *z) {
    for (size_t i = 0; i < n; i++) {
        double sd = nvdp__fast_exp(0.5f * logvar[i]);
        z[i] = (float)(mu[i] + sd * eps[i]);
    }
}

static void finish(size_t n, const float *mu, const float *logvar, const double *eps, float *z) {
    if (mu != NULL) {
        gauss_shift_row(n, mu, logvar, eps, z);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        z[i] = (float)eps[i];
    }
}

static void drawn_row(struct nvdp__stream *stream, size_t dim, const float *mu, const float *logvar,
                      float *z) {
    double eps[CHUNK];
    for (size_t first = 0; first < dim; first += CHUNK) {
        size_t n = dim - first < CHUNK ? dim - first : CHUNK;
        nvdp__stream_normals_f64(stream, n, eps);
        finish(n, mu != NULL ? mu + first : NULL, mu != NULL ? logvar + first : NULL, eps,
               z + first);
    }
}

static void given_row(size_t dim, const float *mu, const float *logvar, const float *given,
                      float *z) {
    double eps[CHUNK];
    for (size_t first = 0; first < dim; first += CHUNK) {
        size_t n = dim - first < CHUNK ? dim - first : CHUNK;
        for (size_t i = 0; i < n; i++) {
            eps[i] = given[first + i];
        }
        finish(n, mu != NULL ? mu + first : NULL, mu != NULL ? logvar + first : NULL, eps,
               z + first);
    }
}

/* The text that a row lies in. */
static size_t text_of(size_t texts, const int32_t *offset, size_t row) {
    size_t low = 0;
    size_t high = texts;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((size_t)offset[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

void nvdp__gauss_sample(const struct nvdp__device *dev, const struct nvdp__noise *noise,
                        enum nvdp__purpose purpose, uint32_t epoch, size_t texts,
                        const int32_t *offset, const uint64_t *key, size_t dim, const int32_t *src,
                        const float *mu, const float *logvar, const float *eps, float *z) {
    size_t rows = (size_t)offset[texts];
    size_t blocks = nvdp__blocks(dim, BLOCK_NORMALS); /* of the stream, a row */
    int team = nvdp__team(dev, 8 * rows * dim);       /* a normal is some 8 operations */
#pragma omp parallel for num_threads(team)
    for (size_t r = 0; r < rows; r++) {
        const float *m = src[r] >= 0 ? mu + (size_t)src[r] * dim : NULL;
        const float *v = src[r] >= 0 ? logvar + (size_t)src[r] * dim : NULL;
        if (eps != NULL) {
            given_row(dim, m, v, eps + r * dim, z + r * dim);
            continue;
        }
        size_t b = text_of(texts, offset, r);
        struct nvdp__stream stream = nvdp__stream_open(noise, purpose, epoch, key[b]);
        nvdp__stream_seek(&stream, (uint32_t)((r - (size_t)offset[b]) * blocks));
        drawn_row(&stream, dim, m, v, z + r * dim);
    }
}

NVDP__CLONES static void gauss_backward_row(size_t n, const float *mu, const float *z,
                                            const float *dz, float *dmu, float *dlogvar) {
    for (size_t i = 0; i < n; i++) {
        dmu[i] += dz[i];
        dlogvar[i] += 0.5f * dz[i] * (z[i] - mu[i]);
    }
}

void nvdp__gauss_sample_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                                 const int32_t *src, const float *mu, const float *z,
                                 const float *dz, float *dmu, float *dlogvar) {
    int team = nvdp__team(dev, rows * dim);
    /* A token's rows are neighbours: whoever comes on the first of them takes them all. */
#pragma omp parallel for num_threads(team)
    for (size_t first = 0; first < rows; first++) {
        if (src[first] < 0 || (first > 0 && src[first - 1] == src[first])) continue;
        size_t t = (size_t)src[first] * dim;
        for (size_t r = first; r < rows && src[r] == src[first]; r++) {
            gauss_backward_row(dim, mu + t, z + r * dim, dz + r * dim, dmu + t, dlogvar + t);
        }
    }
}

/* ---- weights, in log space: pi = g / sum g, g_r ~ Gamma(a_r, 1) ---- */

/* Gammas of one text. */
struct gammas {
    double kappa;
    const int32_t *src;
    const float *base, *log_alpha, *given;
};

static double log_pseudo_count(const struct gammas *in, size_t r) {
    double log_a = in->src[r] >= 0 ? in->log_alpha[in->src[r]] : log((double)in->base[r]);
    return in->kappa == 1 ? log_a : log_a - log(in->kappa);
}

/* Pseudo-counts below 1e-29 could draw below float's range; the floor keeps log pi finite. */
static double log_draw(const struct gammas *in, size_t r, double alpha,
                       struct nvdp__stream *stream) {
    double log_g = in->given != NULL ? in->given[r] : nvdp__gamma_log_draw(stream, alpha);
    return log_g < -1e30 ? -1e30 : log_g;
}

static float log_gradient(double alpha, double log_g) {
    double y = nvdp__gamma_implicit_log_gradient(alpha, log_g);
    return y > 1e30 ? 1e30f : (float)y;
}

/* Two passes over the same stream, for the sum and for the weights, so that every log g enters in
 * double and none is kept. */
static void weigh_text(const struct gammas *in, struct nvdp__stream start, size_t first, size_t end,
                       float *log_pi, float *dlogg) {
    struct nvdp__stream stream = start;
    double top = -INFINITY;
    double sum = 0;
    for (size_t r = first; r < end; r++) {
        double log_g = log_draw(in, r, exp(log_pseudo_count(in, r)), &stream);
        if (log_g > top) {
            sum = sum * exp(top - log_g) + 1;
            top = log_g;
        } else {
            sum += exp(log_g - top);
        }
    }
    double total = top + log(sum);
    stream = start;
    for (size_t r = first; r < end; r++) {
        double alpha = exp(log_pseudo_count(in, r));
        double log_g = log_draw(in, r, alpha, &stream);
        log_pi[r] = (float)(log_g - total);
        if (dlogg != NULL) dlogg[r] = in->src[r] >= 0 ? log_gradient(alpha, log_g) : 0;
    }
}

void nvdp__dirichlet_sample(const struct nvdp__device *dev, const struct nvdp__noise *noise,
                            enum nvdp__purpose purpose, uint32_t epoch, size_t texts,
                            const int32_t *offset, const uint64_t *key, double kappa,
                            const int32_t *src, const float *base, const float *log_alpha,
                            const float *log_gamma, float *log_pi, float *dlogg) {
    const struct gammas in = {kappa, src, base, log_alpha, log_gamma};
    int team = nvdp__team(dev, 128 * (size_t)offset[texts]); /* a draw is some 128 operations */
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        struct nvdp__stream stream = {0};
        if (log_gamma == NULL) stream = nvdp__stream_open(noise, purpose, epoch, key[b]);
        weigh_text(&in, stream, (size_t)offset[b], (size_t)offset[b + 1], log_pi, dlogg);
    }
}

void nvdp__dirichlet_sample_backward(const struct nvdp__device *dev, size_t texts,
                                     const int32_t *offset, const int32_t *src, const float *log_pi,
                                     const float *dlogg, const float *dlog_pi, float *dlog_alpha) {
    int team = nvdp__team(dev, 8 * (size_t)offset[texts]);
    /* d log pi_i / d log g_j = delta_ij - pi_j, then d log g_j / d log alpha_j. */
#pragma omp parallel for num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        double total = 0;
        for (int32_t r = offset[b]; r < offset[b + 1]; r++) {
            total += dlog_pi[r];
        }
        for (int32_t r = offset[b]; r < offset[b + 1]; r++) {
            if (src[r] < 0) continue;
            double dlog_g = dlog_pi[r] - exp((double)log_pi[r]) * total;
            dlog_alpha[src[r]] += (float)(dlogg[r] * dlog_g);
        }
    }
}
