/* The clip set of a posterior (El Zein, Kumar & Henderson 2026), before sampling:
 *
 *     |mu|_2  <= R                                    by scaling
 *     logvar  in [logvar_min, logvar_max]             by clamping, per dimension
 *     log a   in [log alpha_min, log alpha_max]       by clamping
 *
 * With both bounds on all three, the divergence of any two texts has a finite bound
 * (docs/privacy.md).  NaN stays NaN. */
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

struct nvdp__clip nvdp__clip_set(const struct nvdp__clip_config *config) {
    return (struct nvdp__clip){
        .radius = isinf(config->mu_radius) ? INFINITY : at_most(config->mu_radius),
        .logvar_min = isinf(config->logvar_min) ? -INFINITY : at_least(config->logvar_min),
        .logvar_max = isinf(config->logvar_max) ? INFINITY : at_most(config->logvar_max),
        .log_alpha_min = config->alpha_min > 0 ? log_at_least(config->alpha_min) : -INFINITY,
        .log_alpha_max = isinf(config->alpha_max) ? INFINITY : log_at_most(config->alpha_max),
        .inward = config->gradient == NVDP__CLIP_GRADIENT_INWARD,
    };
}

bool nvdp__clips(const struct nvdp__clip_config *config) {
    return !isinf(config->mu_radius) || !isinf(config->logvar_min) || !isinf(config->logvar_max) ||
           config->alpha_min > 0 || !isinf(config->alpha_max);
}

NVDP__CLONES static void dot_lanes(size_t n, const float *x, const float *y, double *lane) {
    for (size_t i = 0; i + NVDP__LANES <= n; i += NVDP__LANES) {
        for (size_t k = 0; k < NVDP__LANES; k++) {
            lane[k] += (double)x[i + k] * y[i + k];
        }
    }
    for (size_t i = n - n % NVDP__LANES; i < n; i++) {
        lane[i % NVDP__LANES] += (double)x[i] * y[i];
    }
}

double nvdp__lane_sum(const double *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

double nvdp__dot_f64(size_t n, const float *x, const float *y) {
    double lane[NVDP__LANES] = {0};
    dot_lanes(n, x, y, lane);
    return nvdp__lane_sum(lane);
}

static float clamp(float x, float low, float high) {
    return x < low ? low : x > high ? high : x; /* NaN stays */
}

/* Scaled by a little less than R/|mu|, so that rounding to float cannot leave the ball. */
static float inside(double radius, double norm) {
    return (float)(radius / norm * (1 - 0x1p-22));
}

struct nvdp__unclipped nvdp__unclipped_plan(struct nvdp__arena *arena, size_t rows, size_t dim,
                                            bool weights) {
    struct nvdp__unclipped before = {.mu_norm = nvdp__arena_take(arena, rows),
                                     .logvar = nvdp__arena_take(arena, rows * dim)};
    if (weights) before.log_alpha = nvdp__arena_take(arena, rows);
    return before;
}

void nvdp__clip_forward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                        const struct nvdp__posterior *posterior,
                        const struct nvdp__unclipped *before) {
    size_t dim = posterior->dim;
    int team = nvdp__team(dev, posterior->rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t t = 0; t < posterior->rows; t++) {
        float *m = posterior->mu + t * dim;
        float *v = posterior->logvar + t * dim;
        double norm = sqrt(nvdp__dot_f64(dim, m, m));
        before->mu_norm[t] = (float)norm;
        if (before->mu_norm[t] > clip->radius) {
            float factor = inside(clip->radius, norm);
            for (size_t i = 0; i < dim; i++) {
                m[i] *= factor;
            }
        }
        memcpy(before->logvar + t * dim, v, dim * sizeof *v);
        for (size_t i = 0; i < dim; i++) {
            v[i] = clamp(v[i], clip->logvar_min, clip->logvar_max);
        }
        if (posterior->log_alpha == NULL) continue;
        float *a = posterior->log_alpha + t;
        before->log_alpha[t] = *a;
        *a = clamp(*a, clip->log_alpha_min, clip->log_alpha_max);
    }
}

/* What training sees of a number outside the set; m = mu/|mu|, dx the gradient of what was clipped:
 *
 *                clamp                         inward
 *     clamped    0                             dx where descent, -dx, leads inwards, else 0
 *     scaled     R/|mu| (I - m m^T) dmu        the same where m.dmu <= 0, else R/|mu| dmu
 *
 * (I - m m^T) R/|mu| is the Jacobian of the projection onto the ball. */

/* Whether a clamped number's gradient passes: descent moves x by -dx. */
static bool passes(const struct nvdp__clip *clip, float x, float low, float high, float dx) {
    if (x < low) return clip->inward && dx < 0;
    if (x > high) return clip->inward && dx > 0;
    return x == x; /* a NaN passes nothing */
}

/* Of a scaled mean m: across it the scale; along it nothing, or what leads inwards. */
static void scaled_gradient(size_t dim, const float *m, float factor, bool inward, float *dm) {
    double along = nvdp__dot_f64(dim, m, dm) / nvdp__dot_f64(dim, m, m);
    if (inward && along > 0) along = 0;
    for (size_t i = 0; i < dim; i++) {
        dm[i] = factor * (float)(dm[i] - along * m[i]);
    }
}

void nvdp__clip_backward(const struct nvdp__device *dev, const struct nvdp__clip *clip,
                         const struct nvdp__posterior *posterior,
                         const struct nvdp__unclipped *before, const struct nvdp__posterior *d) {
    size_t dim = posterior->dim;
    int team = nvdp__team(dev, posterior->rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t t = 0; t < posterior->rows; t++) {
        if (before->mu_norm[t] > clip->radius)
            scaled_gradient(dim, posterior->mu + t * dim, inside(clip->radius, before->mu_norm[t]),
                            clip->inward, d->mu + t * dim);
        for (size_t i = t * dim; i < (t + 1) * dim; i++) {
            if (!passes(clip, before->logvar[i], clip->logvar_min, clip->logvar_max, d->logvar[i]))
                d->logvar[i] = 0;
        }
        if (posterior->log_alpha != NULL && !passes(clip, before->log_alpha[t], clip->log_alpha_min,
                                                    clip->log_alpha_max, d->log_alpha[t]))
            d->log_alpha[t] = 0;
    }
}

/* ---- the sequence clip (docs/nvib.md): all means of a text as one vector M ----
 *
 *     M' = M min(1, C/|M|)
 *     dM = (C/|M|) (dM' - M <M, dM'>/|M|^2)     outside the ball, the full derivative of the scaling
 *
 * M' is parallel to M, so that the direction is read off it.  The ball is slightly smaller than C's,
 * so that the rounding of the factor and of the products, 2^-24 each, stays inside C. */

void nvdp__clip_sequence_forward(const struct nvdp__device *dev, double radius, size_t texts,
                                 const int32_t *offset, const struct nvdp__posterior *posterior,
                                 float *factor) {
    double ball = radius * (1 - 0x1p-22);
    int team = nvdp__team(dev, posterior->rows * posterior->dim);
    memset(posterior->logvar, 0, posterior->rows * posterior->dim * sizeof *posterior->logvar);
#pragma omp parallel for num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        float *m = posterior->mu + (size_t)offset[b] * posterior->dim;
        size_t n = (size_t)(offset[b + 1] - offset[b]) * posterior->dim;
        double norm = sqrt(nvdp__dot_f64(n, m, m));
        factor[b] = norm > ball ? (float)(ball / norm) : 1;
        for (size_t i = 0; i < n && factor[b] < 1; i++) {
            m[i] *= factor[b];
        }
    }
}

void nvdp__clip_sequence_backward(const struct nvdp__device *dev, size_t texts,
                                  const int32_t *offset, const struct nvdp__posterior *posterior,
                                  const float *factor, const struct nvdp__posterior *d) {
    int team = nvdp__team(dev, posterior->rows * posterior->dim);
#pragma omp parallel for num_threads(team)
    for (size_t b = 0; b < texts; b++) {
        size_t first = (size_t)offset[b] * posterior->dim;
        size_t n = (size_t)(offset[b + 1] - offset[b]) * posterior->dim;
        if (factor[b] < 1)
            scaled_gradient(n, posterior->mu + first, factor[b], false, d->mu + first);
    }
}
