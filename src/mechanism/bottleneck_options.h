/* The options of a bottleneck: tables for every command that trains or reads one. */
#ifndef NVDP_SRC_MECHANISM_BOTTLENECK_OPTIONS_H
#define NVDP_SRC_MECHANISM_BOTTLENECK_OPTIONS_H

#include "options/schema.h"
#include <nvdp/method.h>
#include <nvdp/posteriors.h>

enum nvdp__regularizer {
    /* the losses of the papers: means over dimensions and components */
    NVDP__REGULARIZER_PUBLISHED,
    /* exact KL divergence of the sample from the sample of an empty text, in nats */
    NVDP__REGULARIZER_KL
};
enum nvdp__query {
    NVDP__QUERY_SAMPLED, /* queries from the sampled z: the block is sealed */
    /* queries from the means without noise, which leak: only for comparison, never exported */
    NVDP__QUERY_CLEAN
};

/* The weights of a sample (nvdp). */
enum nvdp__sample_weights {
    /* Dirichlet weights from the pseudo-count of each token, with a component for the prior */
    NVDP__WEIGHTS_LEARNED,
    /* all rows have equal weights: no weights are drawn or shared, and there is no prior */
    NVDP__WEIGHTS_CONSTANT
};
/* The use of a row's index in its text, which is public under the hidden length policy. */
enum nvdp__row_index {
    NVDP__ROW_INDEX_NONE,
    /* each row has a gain for its mean; in nvdp, a query also keeps its own row */
    NVDP__ROW_INDEX_TRAINED
};

/* The gradient of a number outside the clip set; the posterior does not depend on this choice. */
enum nvdp__clip_gradient {
    /* 0, the gradient of a clamp: the number stays outside (the papers' choice) */
    NVDP__CLIP_GRADIENT_CLAMP,
    NVDP__CLIP_GRADIENT_INWARD /* 0 if descent leads outward, unchanged if descent leads inward */
};

/* Clip set of the posterior (El Zein, Kumar & Henderson 2026); off by default. */
struct nvdp__clip_config {
    double mu_radius;              /* R, |mu|_2 <= R; INFINITY if off */
    double logvar_min, logvar_max; /* -INFINITY and INFINITY if off */
    double alpha_min, alpha_max;   /* 0 and INFINITY if off */
    /* C, |M|_2 <= C for all means of a text together, with variances 1; INFINITY if off */
    double sequence;
    double word;   /* c, |v_w|_2 <= c, for methods with a certificate per word; INFINITY if off */
    size_t window; /* r: number of words on either side on which v_w depends */
    enum nvdp__clip_gradient gradient;
};

enum nvdp__vtdp_pool {
    NVDP__VTDP_POOL_LAST, /* every token gets noise and is shared; then the tokens are pooled */
    NVDP__VTDP_POOL_FIRST /* the tokens are pooled; one vector gets noise and is shared */
};

/* Options of the mechanisms without weights (vib-fixed, vib-learned, vtdp; docs/vib.md). */
struct nvdp__vib_config {
    double sigma;                   /* standard deviation of vib-fixed; default 0.55 */
    enum nvdp__vtdp_pool vtdp_pool; /* place of the noise in vtdp; default: last */
};

/* Options of a bottleneck: the options of NVIB, some of which the mechanisms without weights share (latent_dim,
 * mu_tau, stdev_tau, length, pool, regularizer, mu and logvar of the clip set). Units are pseudo-counts and nats. */
struct nvdp__nvib_config {
    size_t latent_dim; /* p; 0: the width of the encoder */
    /* 0: the encoder's number of heads, or the largest divisor of p below it */
    size_t latent_heads;
    double mu_tau;      /* initial scale of the means; default 1 */
    double stdev_tau;   /* initial standard deviation; default 0.1 */
    double alpha_tau;   /* initial shift of the log pseudo-counts; default -10 */
    double prior_alpha; /* pseudo-count of the prior; default 1 */
    /* added to the prior per token; 0 in the published GLUE runs, 1 in the NVIB papers */
    double delta;
    int kappa;                             /* vectors per component; default 1 */
    enum nvdp_length_policy length_policy; /* visibility of a text's length; default: hidden */
    size_t length; /* L under the hidden policy: the number of tokens to which a text is padded */
    enum nvdp_pool pool;
    enum nvdp__query query;
    enum nvdp__sample_weights weights; /* weights of the sample's rows; default: learned */
    enum nvdp__row_index row_index;    /* use of a row's index; default: none */
    enum nvdp__regularizer regularizer;
    struct nvdp__clip_config clip;
    struct nvdp__vib_config vib;
};
struct nvdp__nvib_config nvdp__nvib_config_default(void);
/* Min width of a vector that a LayerNorm reads: with a width of 1, the output would be constant. */
enum { NVDP__LEAST_DIM = 2 };
/* Checks the options. Fails with NVDP_ERR_ARGUMENT; the message has the field, the value and the allowed range. The
 * width of a vector must be at least `least`; hidden_size and heads belong to the encoder. */
nvdp_status nvdp__nvib_config_check(struct nvdp_context *ctx,
                                    const struct nvdp__nvib_config *config, size_t least,
                                    size_t hidden_size, size_t heads);
/* Resolves latent_dim, latent_heads and pool if they are "auto". */
nvdp_status nvdp__nvib_config_resolve(struct nvdp_context *ctx, struct nvdp__nvib_config *config,
                                      size_t hidden_size, size_t heads);
/* Returns true if the means of a text are clipped together, with variances 1. */
bool nvdp__clips_sequence(const struct nvdp__clip_config *clip);
/* Rows of struct nvdp__nvib_config, in two tables, because the regularizer is listed with the options of the loss. */
extern const struct nvdp_option nvdp__bottleneck_options[];
extern const struct nvdp_option nvdp__regularizer_options[];
/* The schema of both tables: the object "nvib" in files. */
extern const struct nvdp__schema nvdp__nvib_schema;

extern const char *const nvdp__method_names[];
extern const char nvdp__method_help[];
extern const char *const nvdp__pool_names[];
/* A row of the option table (options/rows.h). */
/* clang-format off */
#define NVDP__POOL_ROW(...)                                                                        \
    {"pool", NVDP_OPTION_CHOICE, "P", "auto, first, mean or weighted", "auto",                     \
     .choices = nvdp__pool_names, __VA_ARGS__}
/* clang-format on */

#endif
