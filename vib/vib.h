/* Gaussian mechanisms without weights (docs/vib.md): hidden states -> sources -> one Gaussian
 * per source -> sample -> pooled vector.
 *
 * Sources are [S, D]. A `single` mechanism has one source per text, pooled from its tokens'
 * states; the others have one per token. The sample of a text has one row, or rows 1..n (the
 * tokens) and, under the hidden length policy, rows n+1..L (padding). */
#ifndef NVDP_VIB_VIB_H
#define NVDP_VIB_VIB_H

#include "bert/encoder.h"
#include "nvib/nvib.h"

#include <math.h>

/* The forms differ in what gets noise (tokens, or one vector per text), in an additional encoder
 * layer, and in the origin of the standard deviations. */
enum nvdp__vib_form { NVDP__VIB_FIXED, NVDP__VIB_LEARNED, NVDP__VIB_VTDP, NVDP__VIB_FORMS };

extern const struct nvdp__mechanism nvdp__mechanisms_vib[NVDP__VIB_FORMS];

struct nvdp__vib {
    struct nvdp_context *ctx;
    const struct nvdp__bert *bert;
    enum nvdp__vib_form which;
    struct nvdp__nvib_config config; /* resolved */
    struct nvdp__form form;
    size_t hidden_size, dim;  /* D, p */
    struct nvdp__extra extra; /* vtdp */
    struct nvdp__dense mu;
    struct nvdp__dense rho; /* vtdp */
    size_t rho_vector;      /* vib-learned */
    struct nvdp__clip clip;
    bool clips, sequence; /* clip each vector; clip the means of a text together with variances 1 */
    bool gains;           /* vtdp: multiply each row's means by its gain */
    size_t row_gain;      /* [length] */

    struct nvdp__sample_rows rows;
    float *pooled_states;             /* [S,D] single */
    struct nvdp__posterior posterior; /* [S,p], clipped */
    struct nvdp__unclipped before;    /* values before clipping */
    float *factor;                    /* [texts] of the sequence clip */
    float *ungained;                  /* [S,p] means before their gains */
    float *rho_out;                   /* [S,p] vtdp, [p] vib-learned: gradients */
    float *z, *pooled;                /* [R,p], [texts,p] */
    struct nvdp__posterior d;         /* training: gradients */
    float *d_z, *d_x;                 /* [R,p]; [S,D] single */

    /* the last forward */
    const float *states; /* [T,D] states of the encoder or of the additional layer */
    const float *x;      /* [S,D] sources */
};

/* Returns the configuration without the parts of weights, which these mechanisms do not have. */
struct nvdp__nvib_config nvdp__without_weights(const struct nvdp__nvib_config *config);
/* Refuses a pooling by weights. */
nvdp_status nvdp__check_pool(struct nvdp_context *ctx, const struct nvdp__mechanism *mechanism,
                             enum nvdp_pool pool);

/* log(1 + e^x) */
static inline double nvdp__softplus(double x) {
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}
/* logvar = 2 log sigma with sigma = softplus(rho). */
void nvdp__softplus_logvar(const struct nvdp__device *dev, size_t n, const float *rho,
                           float *logvar);
/* Sets drho, which may share memory with dlogvar. */
void nvdp__softplus_logvar_backward(const struct nvdp__device *dev, size_t n, const float *rho,
                                    const float *dlogvar, float *drho);

#endif
