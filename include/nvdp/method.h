/* Methods and the configuration of their bottlenecks. */
#ifndef NVDP_METHOD_H
#define NVDP_METHOD_H

#include <nvdp/export.h>
#include <nvdp/posteriors.h>

NVDP_BEGIN_DECLS

enum nvdp_method {
    NVDP_METHOD_BASE,        /* BERT + classifier, nothing private */
    NVDP_METHOD_REG,         /* base with dropout and decay towards the pretrained weights */
    NVDP_METHOD_VIB_FIXED,   /* pooled embedding + Gaussian noise of fixed scale */
    NVDP_METHOD_VIB_LEARNED, /* the scale is trained, a dimension */
    NVDP_METHOD_VTDP,        /* a Gaussian a token, no weights */
    NVDP_METHOD_NVDP
};
const char *nvdp_method_name(enum nvdp_method method); /* "base", "reg", "vib-fixed", ... */
nvdp_status nvdp_method_find(struct nvdp_context *ctx, const char *name, enum nvdp_method *out);

enum nvdp_regularizer {
    NVDP_REGULARIZER_PUBLISHED, /* the papers' losses: means over dimensions and components */
    NVDP_REGULARIZER_KL         /* exact KL of the sample from an empty text's, in nats */
};
enum nvdp_pool { NVDP_POOL_AUTO, NVDP_POOL_FIRST, NVDP_POOL_MEAN, NVDP_POOL_WEIGHTED };
enum nvdp_query {
    NVDP_QUERY_SAMPLED, /* queries from the sampled z: sealed */
    NVDP_QUERY_CLEAN    /* from the un-noised posterior means: leaks; for comparison only, never
                           exported */
};

/* What training sees of a number outside the clip set; the posterior is the same. */
enum nvdp_clip_gradient {
    NVDP_CLIP_GRADIENT_CLAMP, /* a clamp's: none, so it stays outside (the papers') */
    NVDP_CLIP_GRADIENT_INWARD /* none outwards, all of it where the loss falls inwards */
};

/* Clip set of the posterior (El Zein, Kumar & Henderson 2026); off by default. */
struct nvdp_clip_config {
    double mu_radius;              /* |mu|_2 <= R; INFINITY: off */
    double logvar_min, logvar_max; /* -INFINITY, INFINITY: off */
    double alpha_min, alpha_max;   /* 0, INFINITY: off */
    enum nvdp_clip_gradient gradient;
};

enum nvdp_vtdp_pool {
    NVDP_VTDP_POOL_LAST, /* every token is noised and shared; then they are pooled */
    NVDP_VTDP_POOL_FIRST /* the tokens are pooled; the one vector is noised and shared */
};

/* What the mechanisms without weights (vib-fixed, vib-learned, vtdp; docs/vib.md) have of their
 * own. */
struct nvdp_vib_config {
    double sigma;                  /* 0.55: the standard deviation of vib-fixed */
    enum nvdp_vtdp_pool vtdp_pool; /* last */
};

/* A bottleneck: NVIB's, and with it what the mechanisms without weights share (latent_dim, mu_tau,
 * stdev_tau, length, pool, regularizer, the clip set's mu and logvar).  Units: pseudo-counts and
 * nats. */
struct nvdp_nvib_config {
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
    enum nvdp_query query;
    enum nvdp_regularizer regularizer;
    struct nvdp_clip_config clip;
    struct nvdp_vib_config vib;
};
struct nvdp_nvib_config nvdp_nvib_config_default(void);
/* NVDP_ERR_ARGUMENT naming the field, the value, the allowed range; hidden_size and heads are the
 * encoder's. */
nvdp_status nvdp_nvib_config_check(struct nvdp_context *ctx, const struct nvdp_nvib_config *config,
                                   size_t hidden_size, size_t heads);
/* Fills latent_dim, latent_heads, pool where they stand for "auto". */
nvdp_status nvdp_nvib_config_resolve(struct nvdp_context *ctx, struct nvdp_nvib_config *config,
                                     size_t hidden_size, size_t heads);
/* Pseudo-count of a padding component: A_p/K, K = L+1 (docs/nvib.md, Length). */
double nvdp_nvib_pad_alpha(const struct nvdp_nvib_config *config);

NVDP_END_DECLS
#endif
