/* The clip set in float. */
#include "bottleneck/gaussian.h"

#include <math.h>

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
