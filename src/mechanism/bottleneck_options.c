/* The options of a bottleneck (docs/nvib.md, docs/vib.md): tables, defaults, and checks across
 * options. */
#include "mechanism/bottleneck_options.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_DIM = 1 << 20, MAX_HEADS = 1 << 12, MAX_KAPPA = 1024, MAX_LENGTH = 1 << 20 };

#ifndef METHODS /* a test adds a method */
#define METHODS "mechanism/members.inc"
#endif

const char *const nvdp__method_names[] = {
#define NVDP__MEMBER(id, name) name,
#include METHODS
#undef NVDP__MEMBER
    NULL,
};
const char nvdp__method_help[] = "one of"
#define NVDP__MEMBER(id, name) " " name
#include METHODS
#undef NVDP__MEMBER
    ;
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
    [NVDP__QUERY_SAMPLED] = "sampled", [NVDP__QUERY_CLEAN] = "clean", NULL};
static const char *const weights[] = {
    [NVDP__WEIGHTS_LEARNED] = "learned", [NVDP__WEIGHTS_CONSTANT] = "constant", NULL};
static const char *const row_indices[] = {
    [NVDP__ROW_INDEX_NONE] = "none", [NVDP__ROW_INDEX_TRAINED] = "trained", NULL};
static const char *const vtdp_pools[] = {
    [NVDP__VTDP_POOL_LAST] = "last", [NVDP__VTDP_POOL_FIRST] = "first", NULL};
static const char *const clip_gradients[] = {
    [NVDP__CLIP_GRADIENT_CLAMP] = "clamp", [NVDP__CLIP_GRADIENT_INWARD] = "inward", NULL};
static const char *const regularizers[] = {
    [NVDP__REGULARIZER_PUBLISHED] = "published", [NVDP__REGULARIZER_KL] = "kl", NULL};

#define AT(member) NVDP_OPTION_AT(struct nvdp__nvib_config, member)

const struct nvdp_option nvdp__bottleneck_options[] = {
    {"latent-dim", NVDP_OPTION_INTEGER, "N",
     "width of a vector of the sample; 0: the width of the encoder. With method word: the numbers "
     "per text, whose norm is clipped as a whole; 0: 2",
     "0", AT(latent_dim), .max = MAX_DIM, .group = "Bottleneck:", .traits = NVDP_TRAIT_BOTTLENECK},
    {"latent-heads", NVDP_OPTION_INTEGER, "N",
     "attention heads over the sample; 0: as many as the encoder has", "0", AT(latent_heads),
     .max = MAX_HEADS, .traits = NVDP_TRAIT_BOTTLENECK},
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
    {"delta", NVDP_OPTION_REAL, "X", "pseudo-counts that each token adds to the conditional prior",
     "0", AT(delta), .unit = "pseudo-counts", .max = 1e5, .traits = NVDP_TRAIT_BOTTLENECK},
    {"kappa", NVDP_OPTION_INTEGER, "N", "number of vectors drawn per component", "1", AT(kappa),
     .min = 1, .max = MAX_KAPPA, .traits = NVDP_TRAIT_BOTTLENECK},
    {"length-policy", NVDP_OPTION_CHOICE, "P",
     "release L components for every text, with padding (hidden), or n components for a text of n "
     "tokens (public)",
     "hidden", AT(length_policy), .choices = policies, .traits = NVDP_TRAIT_BOTTLENECK},
    {"length", NVDP_OPTION_INTEGER, "L",
     "hidden policy: length in tokens to which texts are padded; 0: --max-length", "0", AT(length),
     .unit = "tokens", .max = MAX_LENGTH, .traits = NVDP_TRAIT_BOTTLENECK},
    NVDP__POOL_ROW(AT(pool), .traits = NVDP_TRAIT_BOTTLENECK),
    {"query", NVDP_OPTION_CHOICE, "Q",
     "compute attention queries from the sample (sampled) or from un-noised means (clean, which "
     "leaks)",
     "sampled", AT(query), .choices = queries, .traits = NVDP_TRAIT_BOTTLENECK},
    {"weights", NVDP_OPTION_CHOICE, "W",
     "nvdp: release Dirichlet weights (learned) or only vectors (constant, implied by "
     "clip-sequence)",
     "learned", AT(weights), .choices = weights, .traits = NVDP_TRAIT_BOTTLENECK},
    {"row-index", NVDP_OPTION_CHOICE, "I",
     "trained: learn a gain per row for the means, initially 1 for the first token and 1/L for the "
     "others, and let each query of nvdp see its own row (a residual of the sample); none: neither "
     "of these",
     "none", AT(row_index), .choices = row_indices, .traits = NVDP_TRAIT_BOTTLENECK},
    {"vib-sigma", NVDP_OPTION_REAL, "X", "vib-fixed: standard deviation of the noise", "0.55",
     AT(vib.sigma), .min = 1e-9, .max = 1e6, .traits = NVDP_TRAIT_BOTTLENECK},
    {"vtdp-pool", NVDP_OPTION_CHOICE, "P",
     "vtdp: pool the noisy tokens (last), or add noise to one pooled vector (first)", "last",
     AT(vib.vtdp_pool), .choices = vtdp_pools, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-mu", NVDP_OPTION_REAL, "R", "clip |mu| to R", "inf", AT(clip.mu_radius), .min = 1e-6,
     .max = INFINITY, .key = "clip_mu_radius", .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-logvar-min", NVDP_OPTION_REAL, "X", "minimum log variance", "-inf", AT(clip.logvar_min),
     .min = -INFINITY, .max = DBL_MAX, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-logvar-max", NVDP_OPTION_REAL, "X", "maximum log variance", "inf", AT(clip.logvar_max),
     .min = -DBL_MAX, .max = INFINITY, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-alpha-min", NVDP_OPTION_REAL, "X", "minimum pseudo-count", "0", AT(clip.alpha_min),
     .unit = "pseudo-counts", .max = DBL_MAX, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-alpha-max", NVDP_OPTION_REAL, "X", "maximum pseudo-count", "inf", AT(clip.alpha_max),
     .unit = "pseudo-counts", .min = 1e-6, .max = INFINITY, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-sequence", NVDP_OPTION_REAL, "C",
     "clip all means of a text together to norm C, which gives a bound over all texts; the "
     "variances are 1; implies lambda 0, vib-sigma 1 and stdev-tau 1",
     "inf", AT(clip.sequence), .min = 1e-6, .max = INFINITY,
     .traits = NVDP_TRAIT_BASIC | NVDP_TRAIT_BOTTLENECK},
    {"clip-word", NVDP_OPTION_REAL, "C",
     "word: clip the vector of each word to norm C, which gives a bound per word", "inf",
     AT(clip.word), .min = 1e-6, .max = INFINITY, .traits = NVDP_TRAIT_BOTTLENECK},
    {"word-window", NVDP_OPTION_INTEGER, "R",
     "word: words on either side of a word that its vector depends on; one word then moves 2 R + 1 "
     "vectors, so word-epsilon allows each a smaller norm",
     "0", AT(clip.window), .unit = "words", .max = 16, .traits = NVDP_TRAIT_BOTTLENECK},
    {"clip-gradient", NVDP_OPTION_CHOICE, "G",
     "gradient of clipped values: none (clamp), or only the part that leads back into the range "
     "(inward)",
     "clamp", AT(clip.gradient), .choices = clip_gradients, .traits = NVDP_TRAIT_BOTTLENECK},
    {0},
};

const struct nvdp_option nvdp__regularizer_options[] = {
    {"regularizer", NVDP_OPTION_CHOICE, "R",
     "regularizers as published (of the papers' means) or exact, in nats (kl)", "published",
     AT(regularizer), .choices = regularizers, .traits = NVDP_TRAIT_BOTTLENECK},
    {0},
};

static const struct nvdp__section sections[] = {
    {.row = nvdp__bottleneck_options},
    {.row = nvdp__regularizer_options},
};
const struct nvdp__schema nvdp__nvib_schema = {.kind = "nvib",
                                               .size = sizeof(struct nvdp__nvib_config),
                                               .section = sections,
                                               .sections = sizeof sections / sizeof *sections};

struct nvdp__nvib_config nvdp__nvib_config_default(void) {
    struct nvdp__nvib_config config;
    nvdp__schema_default(&nvdp__nvib_schema, &config);
    return config;
}

/* ---- checks, and resolving "auto" ---- */

bool nvdp__clips_sequence(const struct nvdp__clip_config *clip) {
    return !isinf(clip->sequence);
}

static nvdp_status check_sizes(struct nvdp_context *ctx, const struct nvdp__nvib_config *config,
                               size_t least, size_t hidden_size, size_t heads) {
    size_t dim = config->latent_dim > 0 ? config->latent_dim : hidden_size;
    if (hidden_size == 0 || heads == 0) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "hidden_size and heads: expected at least 1, found %zu and %zu",
                          hidden_size, heads);
    }
    if (dim < least || dim > hidden_size) {
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{latent-dim}: expected a number from %zu to %zu, the width of the encoder, found %zu",
            least, hidden_size, dim);
    }
    if (config->latent_heads > 0 && dim % config->latent_heads != 0) {
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{latent-heads}: expected a divisor of {latent-dim} %zu, found %zu", dim,
                          config->latent_heads);
    }
    bool hidden = config->length_policy == NVDP_LENGTH_HIDDEN;
    if (hidden && (config->length < 1 || config->length > MAX_LENGTH)) {
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{length}: expected 1 to %d tokens with {length-policy} hidden, found %zu", MAX_LENGTH,
            config->length);
    }
    return NVDP_OK;
}

/* Checks the conditions of a sequence clip. The bound of the clip covers one sample of rows with
 * variances 1, whose number is the same for every text, and readers must see nothing else. */
static nvdp_status check_sequence(struct nvdp_context *ctx,
                                  const struct nvdp__nvib_config *config) {
    const struct nvdp__clip_config *clip = &config->clip;
    if (!nvdp__clips_sequence(clip)) return NVDP_OK;
    const char *option = !isinf(clip->mu_radius)    ? "clip-mu"
                         : !isinf(clip->logvar_min) ? "clip-logvar-min"
                         : !isinf(clip->logvar_max) ? "clip-logvar-max"
                                                    : NULL;
    if (option != NULL)
        return nvdp__fail_option(ctx, NVDP_ERR_ARGUMENT, option,
                                 ": expected %sinf (no clip) with {clip-sequence} %g, which "
                                 "already clips all means together and sets the variances to 1",
                                 strcmp(option, "clip-logvar-min") == 0 ? "-" : "", clip->sequence);
    if (config->stdev_tau != 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {stdev-tau}: expected 1 with {clip-sequence} %g, which sets the "
                          "variances to 1, found %g",
                          clip->sequence, config->stdev_tau);
    if (config->kappa != 1)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {kappa}: expected 1 with {clip-sequence} %g, because every "
                          "further draw of a mean reveals more, found %d",
                          clip->sequence, config->kappa);
    if (config->query != NVDP__QUERY_SAMPLED)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {query}: expected sampled with {clip-sequence} %g, found clean, "
                          "which reads un-noised means",
                          clip->sequence);
    if (config->length_policy != NVDP_LENGTH_HIDDEN)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "option {length-policy}: expected hidden with {clip-sequence} %g, whose "
                          "bound covers texts of any length, found public",
                          clip->sequence);
    return NVDP_OK;
}

static nvdp_status check_choices(struct nvdp_context *ctx, const struct nvdp__nvib_config *config) {
    struct nvdp__place place;
    for (size_t i = 0; nvdp__schema_row(&nvdp__nvib_schema, i, &place); i++) {
        int value, last = 0;
        if (place.row->type != NVDP_OPTION_CHOICE) continue;
        memcpy(&value, (const char *)config + place.offset, sizeof value);
        while (place.row->choices[last + 1] != NULL)
            last++;
        if (value >= 0 && value <= last) continue;
        return nvdp__blame_value(ctx, place.row->name,
                                 nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                                            "%s: expected a choice from 0 to %d, found %d",
                                            place.key, last, value));
    }
    return NVDP_OK;
}

nvdp_status nvdp__nvib_config_check(struct nvdp_context *ctx,
                                    const struct nvdp__nvib_config *config, size_t least,
                                    size_t hidden_size, size_t heads) {
    const struct nvdp__clip_config *clip = &config->clip;
    NVDP_TRY(check_choices(ctx, config));
    NVDP_TRY(check_sizes(ctx, config, least, hidden_size, heads));
    NVDP_TRY(nvdp__schema_check(ctx, &nvdp__nvib_schema, config));
    if (config->row_index != NVDP__ROW_INDEX_NONE && config->length_policy != NVDP_LENGTH_HIDDEN)
        return nvdp__fail(
            ctx, NVDP_ERR_ARGUMENT,
            "{row-index}: expected none with {length-policy} public, where the number of "
            "rows varies, found trained");
    if (clip->logvar_min > clip->logvar_max)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{clip-logvar-min}: expected at most {clip-logvar-max} %g, found %g",
                          clip->logvar_max, clip->logvar_min);
    if (clip->alpha_min > clip->alpha_max)
        return nvdp__fail(ctx, NVDP_ERR_ARGUMENT,
                          "{clip-alpha-min}: expected at most {clip-alpha-max} %g, found %g",
                          clip->alpha_max, clip->alpha_min);
    return check_sequence(ctx, config);
}

static size_t largest_divisor(size_t n, size_t limit) {
    size_t divisor = nvdp__min(limit, n);
    while (n % divisor != 0) {
        divisor--;
    }
    return divisor;
}

/* Resolves the pool "auto". If the width is the encoder's, one query row per text suffices. A
 * narrow latent does better with all rows, weighted by pi. Without hidden padding, "auto" is the
 * papers' mean over tokens. */
static enum nvdp_pool automatic_pool(const struct nvdp__nvib_config *config, size_t hidden_size) {
    if (config->length_policy == NVDP_LENGTH_PUBLIC) return NVDP_POOL_MEAN;
    if (config->weights == NVDP__WEIGHTS_CONSTANT) return NVDP_POOL_FIRST;
    return config->latent_dim < hidden_size ? NVDP_POOL_WEIGHTED : NVDP_POOL_FIRST;
}

nvdp_status nvdp__nvib_config_resolve(struct nvdp_context *ctx, struct nvdp__nvib_config *config,
                                      size_t hidden_size, size_t heads) {
    NVDP_TRY(nvdp__nvib_config_check(ctx, config, NVDP__LEAST_DIM, hidden_size, heads));
    if (config->latent_dim == 0) config->latent_dim = hidden_size;
    if (config->latent_heads == 0)
        config->latent_heads = largest_divisor(config->latent_dim, heads);
    if (config->pool == NVDP_POOL_AUTO) config->pool = automatic_pool(config, hidden_size);
    return NVDP_OK;
}
