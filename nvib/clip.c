/* The clip set of a posterior (El Zein, Kumar & Henderson 2026), applied before sampling:
 *
 *     |mu|_2  <= R                                      by scaling
 *     logvar  in [logvar_min, logvar_max]               by clamping, per dimension
 *     log a   in [log alpha_min, log alpha_max]         by clamping
 *
 * With bounds on mu, logvar and log a, the divergence of any two texts has a finite bound (docs/proofs.md, 3).
 *
 * Every text gets a posterior, whatever its numbers are, because a refusal would reveal something about the text:
 *
 *     mu       with a NaN or an infinity   becomes 0, the whole vector (under a sequence clip: the whole text)
 *     logvar   NaN                         becomes 0, then clamped
 *     log a    NaN                         becomes 0, then clamped
 *
 * Even without a clip, logvar and log a stay within the ranges that nvdp_posteriors_check() accepts.  Replaced
 * numbers have no gradient. */
#include "nvib/nvib.h"
#include "tensor/vector.h"

/* Return the next float >= x, or <= x, so that rounding never widens a bound. */
static float round_up(double x) {
    float f = (float)x;
    return f < x ? nextafterf(f, INFINITY) : f;
}

static float round_down(double x) {
    float f = (float)x;
    return f > x ? nextafterf(f, -INFINITY) : f;
}

/* Returns the log of an upper bound of a pseudo-count, rounded so that its exp() in double does not exceed the
 * bound. */
static float log_round_up(double alpha) {
    float f = round_up(log(alpha));
    return exp((double)f) < alpha ? nextafterf(f, INFINITY) : f;
}

static float log_round_down(double alpha) {
    float f = round_down(log(alpha));
    return exp((double)f) > alpha ? nextafterf(f, -INFINITY) : f;
}

struct nvdp__clip nvdp__clip_set(const struct nvdp__clip_config *config) {
    return (struct nvdp__clip){
        .radius = isinf(config->mu_radius) ? INFINITY : round_down(config->mu_radius),
        .logvar_min = isinf(config->logvar_min) ? -INFINITY : round_up(config->logvar_min),
        .logvar_max = isinf(config->logvar_max) ? INFINITY : round_down(config->logvar_max),
        .log_alpha_min = config->alpha_min > 0 ? log_round_up(config->alpha_min) : -INFINITY,
        .log_alpha_max = isinf(config->alpha_max) ? INFINITY : log_round_down(config->alpha_max),
        .inward = config->gradient == NVDP__CLIP_GRADIENT_INWARD,
    };
}

/* Raises *low to -limit and lowers *high to limit, unless the range would become empty. */
static void limit_range(float limit, float *low, float *high) {
    *low = fminf(fmaxf(*low, -limit), *high);
    *high = fmaxf(fminf(*high, limit), *low);
}

struct nvdp__clip nvdp__clip_applied(const struct nvdp__clip_config *config) {
    struct nvdp__clip clip = nvdp__clip_set(config);
    limit_range(300, &clip.logvar_min, &clip.logvar_max);
    limit_range(230, &clip.log_alpha_min, &clip.log_alpha_max); /* e^230 < 1e100 */
    return clip;
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
    if (isnan(x)) x = 0;
    return x < low ? low : x > high ? high : x;
}

/* Returns the factor that scales a vector of norm `norm` > `radius` into the ball. The errors, for n <= 2^22 numbers:
 *
 *     norm      double: no sum of squares of floats overflows; relative error at most n 2^-53
 *     factor    rounded to float, 2^-24, or kept in double if float has too few digits (see scale)
 *     products  rounded to float, 2^-24, or 2^-150 for denormal ones
 *
 * The factor 1 - 2^-22 makes up for these errors: the norm of the result is below radius (1 -
 * 2^-23) + 2^-139. */
static double inside(double radius, double norm) {
    return radius / norm * (1 - 0x1p-22);
}

static void scale(size_t n, float *m, double factor) {
    if (factor > 0x1p-64) factor = (float)factor; /* gives the same bits as products of floats */
    for (size_t i = 0; i < n; i++)
        m[i] = (float)(m[i] * factor);
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
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, posterior->rows, dim))
    for (size_t t = 0; t < posterior->rows; t++) {
        float *m = posterior->mu + t * dim;
        float *v = posterior->logvar + t * dim;
        double norm = sqrt(nvdp__dot_f64(dim, m, m));
        before->mu_norm[t] = isfinite(norm) ? (float)norm : NAN;
        if (isnan(before->mu_norm[t])) memset(m, 0, dim * sizeof *m);
        if (before->mu_norm[t] > clip->radius) scale(dim, m, inside(clip->radius, norm));
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

/* The gradient of a number outside the clip set, as training sees the gradient. m = mu/|mu|; dx is the gradient of the
 * clipped number:
 *
 *                clamp                     inward
 *     clamped    0                         dx if descent (-dx) leads inward, else 0
 *     scaled     R/|mu| (I - m m^T) dmu    the same if m.dmu <= 0, else R/|mu| dmu
 *
 * R/|mu| (I - m m^T) is the Jacobian of the projection onto the ball. */

/* True if the gradient of a number passes the clamp: descent moves x by -dx. */
static bool passes(const struct nvdp__clip *clip, float x, float low, float high, float dx) {
    if (x < low) return clip->inward && dx < 0;
    if (x > high) return clip->inward && dx > 0;
    return x == x; /* false for NaN */
}

/* Computes the gradient of a scaled mean m. Across m, the gradient is multiplied by the factor. Along m, it becomes
 * 0, except (if `inward`) the part that leads inward. The gradient is 0 if the mean was replaced (factor NaN) or if
 * the norm of the mean exceeds the range of float. */
static void scaled_gradient(size_t dim, const float *m, float factor, bool inward, float *dm) {
    if (!(factor > 0)) {
        memset(dm, 0, dim * sizeof *dm);
        return;
    }
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
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, posterior->rows, dim))
    for (size_t t = 0; t < posterior->rows; t++) {
        if (!(before->mu_norm[t] <= clip->radius))
            scaled_gradient(dim, posterior->mu + t * dim,
                            (float)inside(clip->radius, before->mu_norm[t]), clip->inward,
                            d->mu + t * dim);
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
 *     dM = (C/|M|) (dM' - M <M, dM'>/|M|^2)   outside the ball: the full derivative of the scaling
 *
 * M' is parallel to M, so the code uses the direction of M'. The radius of the ball is slightly smaller than C, as
 * in inside(). */

double nvdp__sequence_ball(double radius) {
    return radius * (1 - 0x1p-22);
}

void nvdp__clip_sequence_forward(const struct nvdp__device *dev, double radius, size_t texts,
                                 const int32_t *offset, const struct nvdp__posterior *posterior,
                                 float *factor) {
    double ball = nvdp__sequence_ball(radius);
    memset(posterior->logvar, 0, posterior->rows * posterior->dim * sizeof *posterior->logvar);
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, posterior->rows, posterior->dim))
    for (size_t b = 0; b < texts; b++) {
        float *m = posterior->mu + (size_t)offset[b] * posterior->dim;
        size_t n = (size_t)(offset[b + 1] - offset[b]) * posterior->dim;
        double norm = sqrt(nvdp__dot_f64(n, m, m));
        factor[b] = !isfinite(norm) ? NAN : norm > ball ? (float)(ball / norm) : 1;
        if (isnan(factor[b])) memset(m, 0, n * sizeof *m);
        if (factor[b] < 1) scale(n, m, ball / norm);
    }
}

void nvdp__clip_sequence_backward(const struct nvdp__device *dev, size_t texts,
                                  const int32_t *offset, const struct nvdp__posterior *posterior,
                                  const float *factor, const struct nvdp__posterior *d) {
#pragma omp parallel for num_threads(nvdp__matrix_team(dev, posterior->rows, posterior->dim))
    for (size_t b = 0; b < texts; b++) {
        size_t first = (size_t)offset[b] * posterior->dim;
        size_t n = (size_t)(offset[b + 1] - offset[b]) * posterior->dim;
        if (!(factor[b] >= 1))
            scaled_gradient(n, posterior->mu + first, factor[b], false, d->mu + first);
    }
}

/* ---- texts with replaced numbers ---- */

static bool has_nan(size_t n, const float *x) {
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found |= isnan(x[i]);
    return found;
}

size_t nvdp__clip_replaced(const struct nvdp__sample_rows *layout, size_t dim,
                           const struct nvdp__unclipped *before, const float *factor) {
    size_t texts = 0;
    for (size_t b = 0; b < layout->texts; b++) {
        size_t first = (size_t)layout->source_offset[b];
        size_t rows = (size_t)layout->source_offset[b + 1] - first;
        bool replaced = factor != NULL && isnan(factor[b]);
        if (before->mu_norm != NULL)
            replaced |= has_nan(rows, before->mu_norm + first) ||
                        has_nan(rows * dim, before->logvar + first * dim);
        if (before->log_alpha != NULL) replaced |= has_nan(rows, before->log_alpha + first);
        texts += replaced;
    }
    return texts;
}
