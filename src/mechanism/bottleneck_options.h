/* The options of a bottleneck: tables for every command that trains or reads one. */
#ifndef NVDP_SRC_MECHANISM_BOTTLENECK_OPTIONS_H
#define NVDP_SRC_MECHANISM_BOTTLENECK_OPTIONS_H

#include "options/schema.h"
#include <nvdp/method.h>
#include <nvdp/posteriors.h>

enum nvdp__regularizer {
    NVDP__REGULARIZER_PUBLISHED, /* the papers' losses: means over dimensions and components */
    NVDP__REGULARIZER_KL /* exact KL divergence of the sample from that of an empty text, in nats */
};
enum nvdp__query {
    NVDP__QUERY_SAMPLED, /* queries from the sampled z: sealed */
    /* queries from the means without noise: leaks; only for comparison, never exported */
    NVDP__QUERY_CLEAN
};

/* The weights of a sample (nvdp). */
enum nvdp__sample_weights {
    /* Dirichlet, from each token's pseudo-count, with a component for the prior */
    NVDP__WEIGHTS_LEARNED,
    /* all rows equal: no weights are drawn or shared, and there is no prior */
    NVDP__WEIGHTS_CONSTANT
};
/* The use of a row's index in its text, which is public under the hidden length policy. */
enum nvdp__row_index {
    NVDP__ROW_INDEX_NONE,
    NVDP__ROW_INDEX_TRAINED /* one gain per row on the means; nvdp: a query keeps its own row */
};

/* The gradient of a number outside the clip set; the posterior is the same. */
enum nvdp__clip_gradient {
    /* that of a clamp, 0: the number stays outside (the papers' choice) */
    NVDP__CLIP_GRADIENT_CLAMP,
    NVDP__CLIP_GRADIENT_INWARD /* 0 if descent leads outward, unchanged if it leads inward */
};

/* Clip set of the posterior (El Zein, Kumar & Henderson 2026); off by default. */
struct nvdp__clip_config {
    double mu_radius;              /* |mu|_2 <= R; INFINITY: off */
    double logvar_min, logvar_max; /* -INFINITY, INFINITY: off */
    double alpha_min, alpha_max;   /* 0, INFINITY: off */
    double sequence; /* |M|_2 <= C for all means of a text together, variances 1; INFINITY: off */
    double word;     /* methods with a certificate per word: |v_w|_2 <= c; INFINITY: off */
    size_t window;   /* words on either side that v_w depends on: r */
    enum nvdp__clip_gradient gradient;
};

enum nvdp__vtdp_pool {
    NVDP__VTDP_POOL_LAST, /* every token is noised and shared, then pooled */
    NVDP__VTDP_POOL_FIRST /* the tokens are pooled; one vector is noised and shared */
};

/* Options of the mechanisms without weights (vib-fixed, vib-learned, vtdp; docs/vib.md). */
struct nvdp__vib_config {
    double sigma;                   /* 0.55: the standard deviation of vib-fixed */
    enum nvdp__vtdp_pool vtdp_pool; /* last */
};

/* Options of a bottleneck: those of NVIB, some of which the mechanisms without weights share
 * (latent_dim, mu_tau, stdev_tau, length, pool, regularizer, the clip set's mu and logvar).
 * Units: pseudo-counts and nats. */
struct nvdp__nvib_config {
    size_t latent_dim;   /* p; 0: the encoder's width */
    size_t latent_heads; /* 0: the encoder's, or the largest divisor of p below it */
    double mu_tau;       /* 1 */
    double stdev_tau;    /* 0.1 */
    double alpha_tau;    /* -10 */
    double prior_alpha;  /* 1 */
    double delta;        /* 0 as in the published GLUE runs, 1 in the NVIB papers */
    int kappa;           /* vectors per component, 1 */
    enum nvdp_length_policy length_policy; /* hidden */
    size_t length; /* L under the hidden policy: tokens to which a text is padded */
    enum nvdp_pool pool;
    enum nvdp__query query;
    enum nvdp__sample_weights weights; /* learned */
    enum nvdp__row_index row_index;    /* none */
    enum nvdp__regularizer regularizer;
    struct nvdp__clip_config clip;
    struct nvdp__vib_config vib;
};
struct nvdp__nvib_config nvdp__nvib_config_default(void);
/* Least width of a vector where a LayerNorm reads it: one number would become a constant. */
enum { NVDP__LEAST_DIM = 2 };
/* NVDP_ERR_ARGUMENT names the field, its value and the allowed range; `least` is that of the width of a vector,
 * hidden_size and heads are the encoder's. */
nvdp_status nvdp__nvib_config_check(struct nvdp_context *ctx,
                                    const struct nvdp__nvib_config *config, size_t least,
                                    size_t hidden_size, size_t heads);
/* Resolves latent_dim, latent_heads and pool if they are "auto". */
nvdp_status nvdp__nvib_config_resolve(struct nvdp_context *ctx, struct nvdp__nvib_config *config,
                                      size_t hidden_size, size_t heads);
/* True if the means of a text are clipped together, with variances 1. */
bool nvdp__clips_sequence(const struct nvdp__clip_config *clip);
/* Rows of struct nvdp__nvib_config, in two tables: the regularizer is listed with the options of
 * the loss. */
extern const struct nvdp_option nvdp__bottleneck_options[];
extern const struct nvdp_option nvdp__regularizer_options[];
/* Both tables: the object "nvib" in files. */
extern const struct nvdp__schema nvdp__nvib_schema;

extern const char *const nvdp__method_names[];
extern const char nvdp__method_help[];
extern const char *const nvdp__pool_names[];
/* Row as in options/rows.h. */
/* clang-format off */
#define NVDP__POOL_ROW(...)                                                                        \
    {"pool", NVDP_OPTION_CHOICE, "P", "auto, first, mean or weighted", "auto",                     \
     .choices = nvdp__pool_names, __VA_ARGS__}
/* clang-format on */

#endif
