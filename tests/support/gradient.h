/* Compares gradients with central differences of a loss in double. */
#ifndef NVDP_TESTS_SUPPORT_GRADIENT_H
#define NVDP_TESTS_SUPPORT_GRADIENT_H

#include <stddef.h>

/* Returns d loss(user) / d *place by a central difference. */
double support_difference(double (*loss)(void *user), void *user, double *place, double step);
/* Expects that `got` are the n gradients of the loss at place[0..n), computed with step 1e-5. The
 * error is relative to the norm of the gradients, or to 0.1 if the norm is smaller, because some
 * gradients are 0 up to rounding (softmax is invariant to a shift of all its arguments). */
void support_expect_gradient(const char *name, double (*loss)(void *user), void *user, size_t n,
                             const float *got, double *place, double tolerance);

#endif
