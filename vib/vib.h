/* Mechanisms of Gaussians without weights (docs/vib.md): hidden states -> sources -> a Gaussian a
 * source -> sample -> pooled vector.
 *
 * Sources [S, D]: of a `single` mechanism one a text, pooled from its tokens' states; else the
 * tokens.  Rows of a text in a sample: one, or 1..n (the tokens) and, under the hidden length
 * policy, n+1..L (padding). */
#ifndef NVDP_VIB_VIB_H
#define NVDP_VIB_VIB_H

#include "bert/extra.h"
#include "bottleneck/gaussian.h"

extern const struct nvdp__mechanism nvdp__mechanism_vib_fixed;   /* vib_fixed.c */
extern const struct nvdp__mechanism nvdp__mechanism_vib_learned; /* vib_learned.c */
extern const struct nvdp__mechanism nvdp__mechanism_vtdp;        /* vtdp.c */

struct nvdp__vib;

/* What tells one mechanism from another: whether tokens are noised or a text, whether the encoder
 * has one layer more, where the standard deviations come from. */
struct nvdp__vib_kind {
    nvdp__resolver *resolve;
    bool (*tokens)(const struct nvdp_nvib_config *config); /* NULL: single */
    bool extra;
    nvdp_status (*declare)(struct nvdp__vib *vib, struct nvdp__params *params); /* NULL: none */
    /* `rho`: softplus of it is the initial standard deviation.  NULL: nothing to do. */
    void (*initialise)(struct nvdp__vib *vib, const struct nvdp__device *dev,
                       struct nvdp__params *params, double rho);
    /* logvar [S, p] from the sources, not yet clipped. */
    void (*forward)(struct nvdp__vib *vib, const struct nvdp__device *dev,
                    const struct nvdp__params *params, const nvdp__operand *x);
    /* d_logvar [S, p] (overwritten) to the parameters; d_x [S, D] is added to.  NULL: nothing. */
    void (*backward)(struct nvdp__vib *vib, const struct nvdp__device *dev,
                     const struct nvdp__params *params, nvdp__operand *x, float *d_x);
};

struct nvdp__vib {
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    const struct nvdp__vib_kind *kind;
    struct nvdp_nvib_config config; /* resolved */
    size_t hidden_size, dim;        /* D, p */
    bool single;
    struct nvdp__extra extra; /* where the kind has it */
    struct nvdp__dense mu;
    struct nvdp__dense rho; /* vtdp */
    size_t rho_vector;      /* vib-learned */
    struct nvdp__clip clip;
    bool clips;

    /* planned */
    bool training;
    size_t max_tokens, max_texts, max_sources, max_rows;
    size_t offset_capacity, src_capacity, same_capacity, stage_capacity;
    int32_t *offset; /* [texts+1] rows of a text (host) */
    int32_t *src;    /* [rows] its source, -1: padding (host) */
    int32_t *same;   /* [S] zeros: all sources have the first row (host) */
    float *stage;    /* [p] (host) */

    /* tensor memory */
    nvdp__operand *x_room, *dy_room; /* what products read, rounded: [S,D] or [S,p] */
    float *pooled_states;            /* [S,D] single */
    float *mu_out, *logvar_out;      /* [S,p] clipped */
    float *rho_out;                  /* [S,p] vtdp */
    float *row, *d_row;              /* [p] the one logvar of vib-fixed, vib-learned */
    float *mu_norm, *logvar_in;      /* where clipped: as it was before */
    float *z, *pooled;               /* [R,p], [texts,p] */
    float *d_mu, *d_logvar, *d_z;    /* training */
    float *d_x;                      /* [S,D] single */

    /* the last forward */
    size_t texts, tokens, sources, rows;
    const float *states;          /* [T,D] the encoder's, or the extra layer's */
    const float *x;               /* [S,D] sources */
    const int32_t *source_offset; /* [texts+1] */
};

/* The parts of a struct nvdp__mechanism that all three have in common: vib.c. */
void nvdp__vib_release(void *self);
nvdp_status nvdp__vib_create(struct nvdp_context *ctx, const struct nvdp__bert *bert,
                             const struct nvdp_nvib_config *config,
                             const struct nvdp__vib_kind *kind, struct nvdp__params *params,
                             void **self);
bool nvdp__vib_wants_hidden(const void *self);
nvdp_status nvdp__vib_initialise(void *self, const struct nvdp__device *dev,
                                 struct nvdp__params *params, uint64_t seed, size_t rows,
                                 const float *hidden);
nvdp_status nvdp__vib_plan(void *self, const struct nvdp__device *dev, size_t max_tokens,
                           size_t max_texts, size_t longest, bool training,
                           struct nvdp__arena *arena);
size_t nvdp__vib_width(const void *self);
struct nvdp__form nvdp__vib_form(const void *self);
nvdp_status nvdp__vib_forward(void *self, const struct nvdp__device *dev,
                              const struct nvdp__params *params, const struct nvdp__batch *batch,
                              const struct nvdp__draw *draw, const float *hidden, float **pooled);
nvdp_status nvdp__vib_infer(void *self, const struct nvdp__device *dev,
                            const struct nvdp__params *params, const struct nvdp__batch *batch,
                            const float *hidden);
nvdp_status nvdp__vib_forward_sample(void *self, const struct nvdp__device *dev,
                                     const struct nvdp__params *params,
                                     const struct nvdp__sample *sample, float **pooled);
void nvdp__vib_sample(const void *self, struct nvdp__sample *out);
void nvdp__vib_losses(void *self, const struct nvdp__device *dev, double *loss_g, double *loss_d);
void nvdp__vib_backward(void *self, const struct nvdp__device *dev,
                        const struct nvdp__params *params, const struct nvdp__batch *batch,
                        const float *hidden, double weight_g, double weight_d, float *d_pooled,
                        float *d_hidden);
nvdp_status nvdp__vib_posterior(const void *self, const struct nvdp__device *dev,
                                const struct nvdp__batch *batch, size_t first_row,
                                struct nvdp_posteriors *out);

#define NVDP__VIB_COMMON                                                                           \
    .private_ = true, .release = nvdp__vib_release, .wants_hidden = nvdp__vib_wants_hidden,        \
    .initialise = nvdp__vib_initialise, .plan = nvdp__vib_plan, .width = nvdp__vib_width,          \
    .form = nvdp__vib_form, .forward = nvdp__vib_forward, .infer = nvdp__vib_infer,                \
    .forward_sample = nvdp__vib_forward_sample, .sample = nvdp__vib_sample,                        \
    .losses = nvdp__vib_losses, .backward = nvdp__vib_backward, .posterior = nvdp__vib_posterior

/* layout.c: fills the tables for a batch. */
nvdp_status nvdp__vib_layout(struct nvdp__vib *vib, const struct nvdp__batch *batch);

/* resolve.c: checks what all three read, fills what stands for "auto" (`pool` where that is the
 * pool) and sets what none of them has: weights, attention, kappa. */
nvdp_status nvdp__vib_resolve(struct nvdp_context *ctx, const struct nvdp_bert_config *bert,
                              const char *method, enum nvdp_pool pool,
                              struct nvdp_nvib_config *config);

#endif
