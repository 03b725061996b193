/* The configuration of an NVIB bottleneck: defaults, ranges, what stands for "auto". */
#include "mechanism/options.h"
#include <float.h>
#include <math.h>

struct nvdp_nvib_config nvdp_nvib_config_default(void) {
    struct nvdp_nvib_config config;
    nvdp__schema_default(&nvdp__nvib_schema, &config);
    return config;
}

enum { KAPPA_MAX = 1024, LENGTH_MAX = 1 << 20 };

struct range {
    const char *field;
    double value, low, high; /* closed */
};

static nvdp_status check_ranges(struct nvdp_context *ctx, size_t n, const struct range *range) {
    for (size_t i = 0; i < n; i++) {
        if (range[i].value >= range[i].low && range[i].value <= range[i].high) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a value in [%g, %g], found %g",
                          range[i].field, range[i].low, range[i].high, range[i].value);
    }
    return NVDP_OK;
}

/* Bounds beyond which float or the sampler has nothing sensible to offer; tighter ones are a
 * user's. */
static nvdp_status check_numbers(struct nvdp_context *ctx, const struct nvdp_nvib_config *config) {
    const struct nvdp_clip_config *clip = &config->clip;
    const struct range range[] = {
        {"mu_tau", config->mu_tau, -1e6, 1e6},
        {"stdev_tau", config->stdev_tau, 1e-9, 1e6},
        {"alpha_tau", config->alpha_tau, -40, 40},
        {"prior_alpha", config->prior_alpha, 1e-5, 1e5},
        {"delta", config->delta, 0, 1e5},
        {"kappa", config->kappa, 1, KAPPA_MAX},
        {"vib.sigma", config->vib.sigma, 1e-9, 1e6},
        {"clip.mu_radius", clip->mu_radius, 1e-6, INFINITY},
        {"clip.logvar_max", clip->logvar_max, -DBL_MAX, INFINITY},
        {"clip.logvar_min", clip->logvar_min, -INFINITY, fmin(clip->logvar_max, DBL_MAX)},
        {"clip.alpha_max", clip->alpha_max, 1e-6, INFINITY},
        {"clip.alpha_min", clip->alpha_min, 0, fmin(clip->alpha_max, DBL_MAX)},
    };
    return check_ranges(ctx, sizeof range / sizeof range[0], range);
}

struct choice {
    const char *field;
    int value, count;
};

static nvdp_status check_choices(struct nvdp_context *ctx, const struct nvdp_nvib_config *config) {
    const struct choice choice[] = {
        {"length_policy", (int)config->length_policy, NVDP_LENGTH_PUBLIC + 1},
        {"pool", (int)config->pool, NVDP_POOL_WEIGHTED + 1},
        {"query", (int)config->query, NVDP_QUERY_CLEAN + 1},
        {"regularizer", (int)config->regularizer, NVDP_REGULARIZER_KL + 1},
        {"clip.gradient", (int)config->clip.gradient, NVDP_CLIP_GRADIENT_INWARD + 1},
        {"vib.vtdp_pool", (int)config->vib.vtdp_pool, NVDP_VTDP_POOL_FIRST + 1},
    };
    for (size_t i = 0; i < sizeof choice / sizeof choice[0]; i++) {
        if (choice[i].value >= 0 && choice[i].value < choice[i].count) continue;
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT, "%s: expected a choice in 0..%d, found %d",
                          choice[i].field, choice[i].count - 1, choice[i].value);
    }
    return NVDP_OK;
}

static nvdp_status check_sizes(struct nvdp_context *ctx, const struct nvdp_nvib_config *config,
                               size_t hidden_size, size_t heads) {
    size_t dim = config->latent_dim > 0 ? config->latent_dim : hidden_size;
    if (hidden_size == 0 || heads == 0) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "hidden_size and heads: expected at least 1, found %zu and %zu",
                          hidden_size, heads);
    }
    if (dim < 2 || dim > hidden_size) { /* LayerNorm makes a constant of one number */
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "latent_dim: expected 2 to the encoder's width %zu, found %zu",
                          hidden_size, dim);
    }
    if (config->latent_heads > 0 && dim % config->latent_heads != 0) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "latent_heads: expected a divisor of latent_dim %zu, found %zu", dim,
                          config->latent_heads);
    }
    bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    if (hidden && (config->length < 1 || config->length > LENGTH_MAX)) {
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "length: expected 1 to %d tokens under the hidden length policy, found %zu", LENGTH_MAX,
            config->length);
    }
    return NVDP_OK;
}

nvdp_status nvdp_nvib_config_check(struct nvdp_context *ctx, const struct nvdp_nvib_config *config,
                                   size_t hidden_size, size_t heads) {
    NVDP_RETURN_IF_FAILED(check_choices(ctx, config));
    NVDP_RETURN_IF_FAILED(check_sizes(ctx, config, hidden_size, heads));
    return check_numbers(ctx, config);
}

static size_t largest_divisor(size_t n, size_t limit) {
    size_t divisor = limit < n ? limit : n;
    while (n % divisor != 0) {
        divisor--;
    }
    return divisor;
}

/* One query row a text is enough where the width is the encoder's; a narrow latent does better with
 * all rows, weighed by pi; without hidden padding the papers' mean over tokens is meant. */
static enum nvdp_pool automatic_pool(const struct nvdp_nvib_config *config, size_t hidden_size) {
    if (config->length_policy == NVDP_LENGTH_PUBLIC) return NVDP_POOL_MEAN;
    return config->latent_dim < hidden_size ? NVDP_POOL_WEIGHTED : NVDP_POOL_FIRST;
}

nvdp_status nvdp_nvib_config_resolve(struct nvdp_context *ctx, struct nvdp_nvib_config *config,
                                     size_t hidden_size, size_t heads) {
    NVDP_RETURN_IF_FAILED(nvdp_nvib_config_check(ctx, config, hidden_size, heads));
    if (config->latent_dim == 0) config->latent_dim = hidden_size;
    if (config->latent_heads == 0)
        config->latent_heads = largest_divisor(config->latent_dim, heads);
    if (config->pool == NVDP_POOL_AUTO) config->pool = automatic_pool(config, hidden_size);
    return NVDP_OK;
}

double nvdp_nvib_pad_alpha(const struct nvdp_nvib_config *config) {
    double length = (double)config->length;
    return (config->prior_alpha + config->delta * length) / (length + 1);
}
