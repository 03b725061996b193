/* The clip set of a posterior (El Zein, Kumar & Henderson 2026): its bounds in float, the projection
 * onto it, what gradients see of it. */
#include "nvib/nvib.h"
#include "tensor/vector.h"

/* The next float at or above, at or below a double: a bound never widens by rounding. */
static float at_least(double x) {
    float f = (float)x;
    return f < x ? nextafterf(f, INFINITY) : f;
}

static float at_most(double x) {
    float f = (float)x;
    return f > x ? nextafterf(f, -INFINITY) : f;
}

/* log of a pseudo-count's bound, such that exp() of it in double does not pass the bound. */
static float log_at_least(double alpha) {
    float f = at_least(log(alpha));
    return exp((double)f) < alpha ? nextafterf(f, INFINITY) : f;
}

static float log_at_most(double alpha) {
    float f = at_most(log(alpha));
    return exp((double)f) > alpha ? nextafterf(f, -INFINITY) : f;
}

struct nvdp__clip nvdp__clip_set(const struct nvdp_clip_config *config) {
    return (struct nvdp__clip){
        .radius = isinf(config->mu_radius) ? INFINITY : at_most(config->mu_radius),
        .logvar_min = isinf(config->logvar_min) ? -INFINITY : at_least(config->logvar_min),
        .logvar_max = isinf(config->logvar_max) ? INFINITY : at_most(config->logvar_max),
        .log_alpha_min = config->alpha_min > 0 ? log_at_least(config->alpha_min) : -INFINITY,
        .log_alpha_max = isinf(config->alpha_max) ? INFINITY : log_at_most(config->alpha_max),
        .inward = config->gradient == NVDP_CLIP_GRADIENT_INWARD,
    };
}

bool nvdp__clips(const struct nvdp_clip_config *config) {
    return !isinf(config->mu_radius) || !isinf(config->logvar_min) || !isinf(config->logvar_max) ||
           config->alpha_min > 0 || !isinf(config->alpha_max);
}

enum { LANES = 8 };

static double lane_sum(const double *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static double dot(size_t n, const float *x, const float *y) {
    double lane[LANES] = {0};
    for (size_t i = 0; i < n; i++) {
        lane[i % LANES] += (double)x[i] * y[i];
    }
    return lane_sum(lane);
}

static float clamp(float x, float low, float high) {
    return x < low ? low : x > high ? high : x; /* NaN stays */
}

/* Scaled by a little less than R/|mu|, so that rounding to float cannot leave the ball. */
static float inside(double radius, double norm) {
    return (float)(radius / norm * (1 - 0x1p-22));
}

void nvdp__clip_forward(const struct nvdp__device *dev, const struct nvdp__clip *clip, size_t rows,
                        size_t dim, float *mu, float *logvar, float *log_alpha, float *mu_norm,
                        float *logvar_in, float *log_alpha_in) {
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t t = 0; t < rows; t++) {
        float *m = mu + t * dim;
        float *v = logvar + t * dim;
        double norm = sqrt(dot(dim, m, m));
        mu_norm[t] = (float)norm;
        if (mu_norm[t] > clip->radius) {
            float factor = inside(clip->radius, norm);
            for (size_t i = 0; i < dim; i++) {
                m[i] *= factor;
            }
        }
        memcpy(logvar_in + t * dim, v, dim * sizeof *v);
        for (size_t i = 0; i < dim; i++) {
            v[i] = clamp(v[i], clip->logvar_min, clip->logvar_max);
        }
        if (log_alpha == NULL) continue;
        log_alpha_in[t] = log_alpha[t];
        log_alpha[t] = clamp(log_alpha[t], clip->log_alpha_min, clip->log_alpha_max);
    }
}

/* Whether a clamped number's gradient passes: descent moves x by -dx. */
static bool passes(const struct nvdp__clip *clip, float x, float low, float high, float dx) {
    if (x < low) return clip->inward && dx < 0;
    if (x > high) return clip->inward && dx > 0;
    return x == x; /* a NaN passes nothing */
}

/* Of a scaled mean m: across it the scale; along it nothing, or what leads inwards. */
static void scaled_gradient(const struct nvdp__clip *clip, size_t dim, const float *m, float norm,
                            float *dm) {
    double along = dot(dim, m, dm) / dot(dim, m, m);
    float factor = inside(clip->radius, norm);
    if (clip->inward && along > 0) along = 0;
    for (size_t i = 0; i < dim; i++) {
        dm[i] = factor * (float)(dm[i] - along * m[i]);
    }
}

void nvdp__clip_backward(const struct nvdp__device *dev, const struct nvdp__clip *clip, size_t rows,
                         size_t dim, const float *mu, const float *mu_norm, const float *logvar_in,
                         const float *log_alpha_in, float *dmu, float *dlogvar, float *dlog_alpha) {
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t t = 0; t < rows; t++) {
        const float *m = mu + t * dim;
        float *dm = dmu + t * dim;
        if (mu_norm[t] > clip->radius) scaled_gradient(clip, dim, m, mu_norm[t], dm);
        for (size_t i = t * dim; i < (t + 1) * dim; i++) {
            if (!passes(clip, logvar_in[i], clip->logvar_min, clip->logvar_max, dlogvar[i]))
                dlogvar[i] = 0;
        }
        if (log_alpha_in != NULL &&
            !passes(clip, log_alpha_in[t], clip->log_alpha_min, clip->log_alpha_max, dlog_alpha[t]))
            dlog_alpha[t] = 0;
    }
}
