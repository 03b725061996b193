/* The Dirichlet half of a sample, in log space: pi = g / sum g, g_r ~ Gamma(a_r, 1). */
#include "tensor/ops_nvib.h"
#include "tensor/vector.h"

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
static void sample_text(const struct gammas *in, struct nvdp__stream start, size_t first,
                        size_t end, float *log_pi, float *dlogg) {
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
        sample_text(&in, stream, (size_t)offset[b], (size_t)offset[b + 1], log_pi, dlogg);
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
