/* The objective distill: a linear map and a linear decoder between which the geometry of sentence embeddings survives
 * the noise of method sentence. No labels; the texts are public. */
#ifndef NVDP_VIB_DISTILL_H
#define NVDP_VIB_DISTILL_H

#include "tensor/tensor.h"

/* One step over n texts. */
struct nvdp__distill {
    size_t max_texts, width, dim;  /* D, p */
    double clip;                   /* C */
    double temperature, cosine;    /* tau; weight of the cosine */
    float *x, *target;             /* [n, D] s/|s| - m, set by the caller; t = x/|x| */
    float *e[2];                   /* [n, p] standard normals, set by the caller */
    float *u[2], *du[2];           /* [n, D] y/|y|; gradients of u, then of y */
    float *z[2], *dz[2];           /* [n, p] */
    float *mu, *d_mu;              /* [n, p] v/|v|; gradients of M, then of v */
    float *length_v, *length_y[2]; /* [n] */
    float *logits;                 /* [n, n] */
    float *label;                  /* [n] */
};

/* Takes the arrays from the arena (tensor.h). */
void nvdp__distill_plan(struct nvdp__distill *step, struct nvdp__arena *arena);
/* Returns y [n, D] of one sample of each of the first n texts, with the noise e[0]. */
const float *nvdp__distill_decode(const struct nvdp__device *dev, struct nvdp__distill *step,
                                  size_t n, const float *map, const float *decoder);
/* Returns the loss of the first n texts, and sets the gradients of map [p, D] and decoder [D, p]. NULL: no gradients. */
double nvdp__distill_step(const struct nvdp__device *dev, struct nvdp__distill *step, size_t n,
                          const float *map, const float *decoder, float *d_map, float *d_decoder);

#endif
