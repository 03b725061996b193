/* The options of a bottleneck (docs/nvib.md, docs/vib.md). */
#include "mechanism/options.h"

#include <float.h>
#include <math.h>

enum { DIM_MOST = 1 << 20, HEADS_MOST = 1 << 12, KAPPA_MOST = 1024, LENGTH_MOST = 1 << 20 };

const char *const nvdp__method_names[] = {
    [NVDP_METHOD_BASE] = "base",
    [NVDP_METHOD_REG] = "reg",
    [NVDP_METHOD_VIB_FIXED] = "vib-fixed",
    [NVDP_METHOD_VIB_LEARNED] = "vib-learned",
    [NVDP_METHOD_VTDP] = "vtdp",
    [NVDP_METHOD_NVDP] = "nvdp",
    NULL,
};
const char *const nvdp__pool_names[] = {
    [NVDP_POOL_AUTO] = "auto",
    [NVDP_POOL_FIRST] = "first",
    [NVDP_POOL_MEAN] = "mean",
    [NVDP_POOL_WEIGHTED] = "weighted",
    NULL,
};
static const char *const policies[] = {
    [NVDP_LENGTH_HIDDEN] = "hidden", [NVDP_LENGTH_PUBLIC] = "public", NULL};
static const char *const queries[] = {
    [NVDP_QUERY_SAMPLED] = "sampled", [NVDP_QUERY_CLEAN] = "clean", NULL};
static const char *const vtdp_pools[] = {
    [NVDP_VTDP_POOL_LAST] = "last", [NVDP_VTDP_POOL_FIRST] = "first", NULL};
static const char *const clip_gradients[] = {
    [NVDP_CLIP_GRADIENT_CLAMP] = "clamp", [NVDP_CLIP_GRADIENT_INWARD] = "inward", NULL};
static const char *const regularizers[] = {
    [NVDP_REGULARIZER_PUBLISHED] = "published", [NVDP_REGULARIZER_KL] = "kl", NULL};

#define AT(member) NVDP_OPTION_AT(struct nvdp_nvib_config, member)

const struct nvdp_option nvdp__bottleneck_options[] = {
    {"latent-dim", NVDP_OPTION_INTEGER, "N", "width of a vector of the sample; 0: the encoder's",
     "0", AT(latent_dim), .max = DIM_MOST, .group = "Bottleneck:", .traits = NVDP_TRAIT_BOTTLENECK},
    {"latent-heads", NVDP_OPTION_INTEGER, "N", "attention heads over the sample; 0: the encoder's",
     "0", AT(latent_heads), .max = HEADS_MOST, .traits = NVDP_TRAIT_BOTTLENECK},
    {"mu-tau", NVDP_OPTION_REAL, "X", "initial scale of the means", "1", AT(mu_tau), .min = -1e6,
     .max = 1e6, .traits = NVDP_TRAIT_BOTTLENECK},
    {"stdev-tau", NVDP_OPTION_REAL, "X", "initial scale of the standard deviations", "0.1",
     AT(stdev_tau), .min = 1e-9, .max = 1e6, .traits = NVDP_TRAIT_BOTTLENECK},
    {"alpha-tau", NVDP_OPTION_REAL, "X", "initial shift of the log pseudo-counts", "-10",
     AT(alpha_tau), .unit = "log pseudo-counts", .min = -40, .max = 40,
     .traits = NVDP_TRAIT_BOTTLENECK},
    {"prior-alpha", NVDP_OPTION_REAL, "X", "pseudo-count of the prior component", "1",
     AT(prior_alpha), .unit = "pseudo-counts", .min = 1e-5, .max = 1e5,
     .traits = NVDP_TRAIT_BOTTLENECK},
    {"delta", NVDP_OPTION_REAL, "X", "pseudo-counts a token adds to the conditional prior", "0",
     AT(delta), .unit = "pseudo-counts", .max = 1e5, .traits = NVDP_TRAIT_BOTTLENECK},
    {"kappa", NVDP_OPTION_INTEGER, "N", "vectors drawn a component", "1", AT(kappa), .min = 1,
     .max = KAPPA_MOST, .traits = NVDP_TRAIT_BOTTLENECK},
    {"length-policy", NVDP_OPTION_CHOICE, "P",
     "pad every text to L components (hidden) or release n (public)", "hidden", AT(length_policy),
     .choices = policies, .traits = NVDP_TRAIT_BOTTLENECK},
    {"length", NVDP_OPTION_INTEGER, "L",
     "hidden policy: tokens a text is padded to; 0: --max-length", "0", AT(length),
     .unit = "tokens", .max = LENGTH_MOST, .traits = NVDP_TRAIT_BOTTLENECK},
    {"pool", NVDP_OPTION_CHOICE, "P", "auto, first, mean or weighted", "auto", AT(pool),
     .choices = nvdp__pool_names, .traits = NVDP_TRAIT_BOTTLENECK},
    {"query", NVDP_OPTION_CHOICE, "Q",
     "queries from the sample (sampled) or from un-noised means (clean: leaks)", "sampled",
     AT(query), .choices = queries, .traits = NVDP_TRAIT_BOTTLENECK},
    {"vib-sigma", NVDP_OPTION_REAL, "X", "vib-fixed: standard deviation of the noise", "0.55",
     AT(vib.sigma), .min = 1e-9, .max = 1e6, .traits = NVDP_TRAIT_BOTTLENECK},
    {"vtdp-pool", NVDP_OPTION_CHOICE, "P",
     "vtdp: pool the noised tokens (last) or noise one pooled vector (first)", "last",
     AT(vib.vtdp_pool), .choices = vtdp_pools, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-mu", NVDP_OPTION_REAL, "R", "clip |mu| to R", "inf", AT(clip.mu_radius), .min = 1e-6,
     .max = INFINITY, .key = "clip_mu_radius", .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-logvar-min", NVDP_OPTION_REAL, "X", "least log variance", "-inf", AT(clip.logvar_min),
     .min = -INFINITY, .max = DBL_MAX, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-logvar-max", NVDP_OPTION_REAL, "X", "largest log variance", "inf", AT(clip.logvar_max),
     .min = -DBL_MAX, .max = INFINITY, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-alpha-min", NVDP_OPTION_REAL, "X", "least pseudo-count", "0", AT(clip.alpha_min),
     .unit = "pseudo-counts", .max = DBL_MAX, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-alpha-max", NVDP_OPTION_REAL, "X", "largest pseudo-count", "inf", AT(clip.alpha_max),
     .unit = "pseudo-counts", .min = 1e-6, .max = INFINITY, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-gradient", NVDP_OPTION_CHOICE, "G",
     "of what is clipped: none (clamp), or only what leads back inside (inward)", "clamp",
     AT(clip.gradient), .choices = clip_gradients, .traits = NVDP_TRAIT_BOTTLENECK},
    {0},
};

const struct nvdp_option nvdp__regularizer_options[] = {
    {"regularizer", NVDP_OPTION_CHOICE, "R", "published (the papers' means) or kl (exact, in nats)",
     "published", AT(regularizer), .choices = regularizers, .traits = NVDP_TRAIT_BOTTLENECK},
    {0},
};

static const struct nvdp__section sections[] = {
    {nvdp__bottleneck_options, 0, NULL},
    {nvdp__regularizer_options, 0, NULL},
};
const struct nvdp__schema nvdp__nvib_schema = {.kind = "nvib",
                                               .size = sizeof(struct nvdp_nvib_config),
                                               .section = sections,
                                               .sections = sizeof sections / sizeof *sections};
