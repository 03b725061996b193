/* A second implementation of the mechanism, in double, from the formulas of docs/nvib.md: loops
 * over texts, rows and heads. It shares with the library only the parameter table and psi. The
 * library's gradients are checked against its finite differences. */
#ifndef NVDP_TESTS_NVIB_REFERENCE_H
#define NVDP_TESTS_NVIB_REFERENCE_H

#include "fixture.h"

enum { REFERENCE_ROWS = 64, REFERENCE_DIM = 32, REFERENCE_TOKENS = 32 };

struct reference {
    const struct fixture *f;
    const float *eps;       /* [R, p] */
    const float *log_gamma; /* [R]: log g at the parameters where `slope` was taken */
    /* d log g / d log alpha, and log alpha [tokens], at those parameters. At others log g moves
     * along this line, as a draw of fixed randomness does to first order. */
    double slope[REFERENCE_ROWS];
    double log_alpha[REFERENCE_TOKENS];
    double proj[16 * REFERENCE_DIM]; /* loss = proj . pooled + ... */
    double weight_g, weight_d;
    /* outputs of the last evaluation */
    double pooled[16 * REFERENCE_DIM];
    double loss_g[16], loss_d[16];
};

/* Computes the loss at parameters theta (the layout of params.value) and hidden states x. */
double reference_loss(struct reference *ref, const double *theta, const double *x);
/* Sets slope and log_alpha at theta, x. */
void reference_linearize(struct reference *ref, const double *theta, const double *x);

#endif
