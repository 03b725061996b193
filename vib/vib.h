/* Mechanisms of Gaussians without weights (docs/vib.md): hidden states -> sources -> a Gaussian a
 * source -> sample -> pooled vector.
 *
 * Sources [S, D]: of a `single` mechanism one a text, pooled from its tokens' states; else the
 * tokens.  Rows of a text in a sample: one, or 1..n (the tokens) and, under the hidden length
 * policy, n+1..L (padding). */
#ifndef NVDP_VIB_VIB_H
#define NVDP_VIB_VIB_H

#include "bert/extra.h"
#include "nvib/nvib.h"

/* What tells one form from another: whether tokens are noised or a text, whether the encoder has
 * one layer more, where the standard deviations come from. */
enum nvdp__vib_form { NVDP__VIB_FIXED, NVDP__VIB_LEARNED, NVDP__VIB_VTDP, NVDP__VIB_FORMS };

extern const struct nvdp__mechanism nvdp__mechanisms_vib[NVDP__VIB_FORMS];

struct nvdp__vib {
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    enum nvdp__vib_form form;
    struct nvdp_nvib_config config; /* resolved */
    size_t hidden_size, dim;        /* D, p */
    bool single;
    struct nvdp__extra extra; /* vtdp */
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

/* logvar = 2 log sigma of sigma = softplus(rho) = log(1 + e^rho). */
void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar);
/* drho is set; it may be dlogvar. */
void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho);

#endif
