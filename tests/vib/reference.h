/* A second implementation of the mechanisms, in double, from the formulas of docs/vib.md: the
 * layer from the plain operations instantiated for double, the rest by loops. The library's
 * gradients are checked against its finite differences. */
#ifndef NVDP_TESTS_VIB_REFERENCE_H
#define NVDP_TESTS_VIB_REFERENCE_H

#include "fixture.h"

enum { REFERENCE_ROWS = TEXTS * LENGTH };

struct reference {
    const struct fixture *fixture;
    const float *eps;           /* [R, p] */
    double proj[TEXTS * WIDTH]; /* loss = proj . pooled + weight L_G */
    double weight;
    /* outputs of the last evaluation */
    double pooled[TEXTS * WIDTH];
    double loss_g[TEXTS];
};

/* Computes the loss at parameters theta (the layout of params.value) and hidden states x. */
double reference_loss(struct reference *ref, const double *theta, const double *x);

#endif
