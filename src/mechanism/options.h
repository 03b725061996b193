/* The options of a bottleneck: rows for every kind of work that trains or reads one. */
#ifndef NVDP_SRC_MECHANISM_OPTIONS_H
#define NVDP_SRC_MECHANISM_OPTIONS_H

#include "options/schema.h"
#include <nvdp/method.h>
#include <nvdp/posteriors.h>

enum nvdp__regularizer {
    NVDP__REGULARIZER_PUBLISHED, /* the papers' losses: means over dimensions and components */
    NVDP__REGULARIZER_KL         /* exact KL of the sample from an empty text's, in nats */
};
enum nvdp__query {
    NVDP__QUERY_SAMPLED, /* queries from the sampled z: sealed */
    NVDP__QUERY_CLEAN    /* from the un-noised posterior means: leaks; for comparison only, never
                           exported */
};

/* Whether a sample has weights (nvdp). */
enum nvdp__sample_weights {
    NVDP__WEIGHTS_LEARNED, /* Dirichlet, of each token's pseudo-count, and the prior's component */
    NVDP__WEIGHTS_CONSTANT /* all rows alike: nothing is drawn or shared, there is no prior */
};
/* What is made of a row's number in its text, which is public under the hidden length policy. */
enum nvdp__row_index {
    NVDP__ROW_INDEX_NONE,
    NVDP__ROW_INDEX_TRAINED /* a gain a row on the means; nvdp: a query keeps its own row */
};

/* What training sees of a number outside the clip set; the posterior is the same. */
enum nvdp__clip_gradient {
    NVDP__CLIP_GRADIENT_CLAMP, /* a clamp's: none, so it stays outside (the papers') */
    NVDP__CLIP_GRADIENT_INWARD /* none outwards, all of it where the loss falls inwards */
};

/* Clip set of the posterior (El Zein, Kumar & Henderson 2026); off by default. */
struct nvdp__clip_config {
    double mu_radius;              /* |mu|_2 <= R; INFINITY: off */
    double logvar_min, logvar_max; /* -INFINITY, INFINITY: off */
    double alpha_min, alpha_max;   /* 0, INFINITY: off */
    double sequence; /* |M|_2 <= C of all means of a text, each variance 1; INFINITY: off */
    enum nvdp__clip_gradient gradient;
};

enum nvdp__vtdp_pool {
    NVDP__VTDP_POOL_LAST, /* every token is noised and shared; then they are pooled */
    NVDP__VTDP_POOL_FIRST /* the tokens are pooled; the one vector is noised and shared */
};

/* What the mechanisms without weights (vib-fixed, vib-learned, vtdp; docs/vib.md) have of their
 * own. */
struct nvdp__vib_config {
    double sigma;                   /* 0.55: the standard deviation of vib-fixed */
    enum nvdp__vtdp_pool vtdp_pool; /* last */
};

/* A bottleneck: NVIB's, and with it what the mechanisms without weights share (latent_dim, mu_tau,
 * stdev_tau, length, pool, regularizer, the clip set's mu and logvar).  Units: pseudo-counts and
 * nats. */
struct nvdp__nvib_config {
    size_t latent_dim;   /* p; 0: the encoder's width */
    size_t latent_heads; /* 0: the encoder's, or the largest divisor of p below it */
    double mu_tau;       /* 1 */
    double stdev_tau;    /* 0.1 */
    double alpha_tau;    /* -10 */
    double prior_alpha;  /* 1 */
    double delta;        /* 0 as in the published GLUE runs, 1 in the NVIB papers */
    int kappa;           /* vectors a component, 1 */
    enum nvdp_length_policy length_policy; /* hidden */
    size_t length; /* L under the hidden policy: tokens a text is padded to */
    enum nvdp_pool pool;
    enum nvdp__query query;
    enum nvdp__sample_weights weights; /* learned */
    enum nvdp__row_index row_index;    /* none */
    enum nvdp__regularizer regularizer;
    struct nvdp__clip_config clip;
    struct nvdp__vib_config vib;
};
struct nvdp__nvib_config nvdp__nvib_config_default(void);
/* NVDP_ERR_ARGUMENT naming the field, the value, the allowed range; hidden_size and heads are the
 * encoder's. */
nvdp_status nvdp__nvib_config_check(struct nvdp_context *ctx,
                                    const struct nvdp__nvib_config *config, size_t hidden_size,
                                    size_t heads);
/* Fills latent_dim, latent_heads, pool where they stand for "auto". */
nvdp_status nvdp__nvib_config_resolve(struct nvdp_context *ctx, struct nvdp__nvib_config *config,
                                      size_t hidden_size, size_t heads);
/* Whether the means of a text are clipped together, and variances are 1. */
bool nvdp__clips_sequence(const struct nvdp__clip_config *clip);
/* Rows of struct nvdp__nvib_config, in two tables: its regularizer stands with the loss's options. */
extern const struct nvdp_option nvdp__bottleneck_options[];
extern const struct nvdp_option nvdp__regularizer_options[];
/* Both: the object "nvib" in files. */
extern const struct nvdp__schema nvdp__nvib_schema;

extern const char *const nvdp__method_names[];
extern const char *const nvdp__pool_names[];
/* Row as in options/rows.h. */
/* clang-format off */
#define NVDP__POOL_ROW(...)                                                                        \
    {"pool", NVDP_OPTION_CHOICE, "P", "auto, first, mean or weighted", "auto",                     \
     .choices = nvdp__pool_names, __VA_ARGS__}
/* clang-format on */

#endif
