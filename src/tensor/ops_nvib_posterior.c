/* From hidden states to a posterior: the quadratic projection to log alpha, and the clip set. */
#include "tensor/ops_nvib.h"
#include "tensor/vector.h"

enum { LANES = 8 };

static double lane_sum(const double *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

NVDP__CLONES static void quadratic_lanes(size_t n, const float *x, const float *w2, const float *w1,
                                         double *lane) {
    for (size_t i = 0; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            double v = x[i + k];
            lane[k] += v * (w2[i + k] * v + w1[i + k]);
        }
    }
}

/* sum_i x_i (w2_i x_i + w1_i), in double. */
static double quadratic(size_t n, const float *x, const float *w2, const float *w1) {
    double lane[LANES] = {0};
    quadratic_lanes(n, x, w2, w1, lane);
    for (size_t i = n - n % LANES; i < n; i++) {
        lane[0] += (double)x[i] * ((double)w2[i] * x[i] + w1[i]);
    }
    return lane_sum(lane);
}

void nvdp__quadratic_forward(const struct nvdp__device *dev, size_t rows, size_t dim,
                             const float *x, const float *w2, const float *w1, const float *b,
                             float *log_alpha) {
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel for num_threads(team)
    for (size_t t = 0; t < rows; t++) {
        log_alpha[t] = (float)(quadratic(dim, x + t * dim, w2, w1) + b[0]);
    }
}

NVDP__CLONES static void quadratic_dx(size_t n, float dy, const float *x, const float *w2,
                                      const float *w1, float *dx) {
    for (size_t i = 0; i < n; i++) {
        dx[i] += dy * (2 * w2[i] * x[i] + w1[i]);
    }
}

/* A strip of columns over all rows, in row order. */
NVDP__CLONES static void quadratic_dw(size_t rows, size_t dim, size_t width, const float *x,
                                      const float *dy, double *sum2, double *sum1) {
    for (size_t t = 0; t < rows; t++) {
        double g = dy[t];
        const float *row = x + t * dim;
        for (size_t i = 0; i < width; i++) {
            double v = row[i];
            sum1[i] += g * v;
            sum2[i] += g * v * v;
        }
    }
}

void nvdp__quadratic_backward(const struct nvdp__device *dev, size_t rows, size_t dim,
                              const float *x, const float *w2, const float *w1,
                              const float *dlog_alpha, float *dx, float *dw2, float *dw1,
                              float *db) {
    double bias = 0;
    for (size_t t = 0; t < rows; t++) {
        bias += dlog_alpha[t];
    }
    db[0] += (float)bias;
    size_t strips = nvdp__blocks(dim, NVDP__COLUMNS);
    int team = nvdp__team(dev, rows * dim);
#pragma omp parallel num_threads(team)
    {
#pragma omp for nowait
        for (size_t t = 0; t < rows; t++) {
            quadratic_dx(dim, dlog_alpha[t], x + t * dim, w2, w1, dx + t * dim);
        }
#pragma omp for
        for (size_t s = 0; s < strips; s++) {
            size_t first = s * NVDP__COLUMNS;
            size_t width = nvdp__block_length(dim, NVDP__COLUMNS, s);
            double sum2[NVDP__COLUMNS] = {0};
            double sum1[NVDP__COLUMNS] = {0};
            quadratic_dw(rows, dim, width, x + first, dlog_alpha, sum2, sum1);
            for (size_t i = 0; i < width; i++) {
                dw2[first + i] += (float)sum2[i];
                dw1[first + i] += (float)sum1[i];
            }
        }
    }
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
